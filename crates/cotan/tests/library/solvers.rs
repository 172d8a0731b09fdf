//! Functions that solve something: closed forms, derivatives of both modes and of higher order, and
//! what does not converge.

#![allow(clippy::panic, reason = "a panic is a failed test")]

use cotan::prelude::*;
use cotan::{
    Krylov, Method, Ode, Stop, fixed_point, gauss_legendre, linear_solve, minimize, odeint,
    quadrature, root,
};

const STOP: Stop = Stop { tolerance: None, at_most: None };

#[track_caller]
fn close(x: f64, y: f64, accuracy: f64) {
    assert!((x - y).abs() <= accuracy * (1.0 + y.abs()), "{x} against {y}");
}

#[track_caller]
fn assert_close(found: &[f64], wanted: &[f64], accuracy: f64) {
    assert_eq!(found.len(), wanted.len());
    found.iter().zip(wanted).for_each(|(&x, &y)| close(x, y, accuracy));
}

fn item(x: Tensor<f64>) -> f64 {
    x.item().unwrap_or_else(|| panic!("no scalar"))
}

/// Value and the first three derivatives of a scalar function, the second and third by two mixtures of
/// modes.
fn check_orders(f: impl Fn(Arr<f64>) -> Arr<f64> + Copy, x: f64, wanted: [f64; 4], accuracy: f64) {
    close(item(jit(f).call(x).unwrap()), wanted[0], accuracy);
    close(item(grad(f).call(x).unwrap()), wanted[1], accuracy);
    let push = move |x: Arr<f64>| jvp(f).at((x, constant(1.0))).1;
    close(item(jit(push).call(x).unwrap()), wanted[1], accuracy);
    close(item(grad(push).call(x).unwrap()), wanted[2], accuracy);
    close(item(grad(grad(f)).call(x).unwrap()), wanted[2], accuracy);
    close(item(hessian(push).call(x).unwrap()), wanted[3], accuracy);
}

#[test]
fn roots_have_derivatives_of_any_order() {
    // x^3 = a at a = 8.
    let f = |a: Arr<f64>| root(constant(1.0), STOP, |x: Arr<f64>| x * x * x - a);
    check_orders(f, 8.0, [2.0, 1.0 / 12.0, -1.0 / 144.0, 5.0 / 3456.0], 1e-9);
    // A structure: u v = a, u - v = 1, so v = (sqrt(1 + 4 a) - 1) / 2.
    let f = |a: Arr<f64>| {
        let start = (constant(3.0), constant([1.0]));
        let (_, v) = root(start, STOP, |(u, v): (Arr<f64>, Arr<f64>)| {
            (u * v.at(0) - a, (u - v - 1.0) * 2.0)
        });
        v.at(0)
    };
    let (y, dy) = value_and_grad(f).call(6.0).unwrap();
    close(item(y), 2.0, 1e-9);
    close(item(dy), 0.2, 1e-9);
    // Under `build`, every lane for itself.
    let all = |a: Arr<f64>| build(3, |i| f(a.at(i))).sum();
    assert_close(
        &grad(all).call([6.0, 2.0, 12.0]).unwrap().to_vec(),
        &[0.2, 1.0 / 3.0, 1.0 / 7.0],
        1e-9,
    );
}

#[test]
fn fixed_points_and_minima_have_derivatives_of_any_order() {
    // x = (x + a / x) / 2 at a = 4.
    let f = |a: Arr<f64>| fixed_point(constant(1.0), STOP, |x: Arr<f64>| (x + a / x) * 0.5);
    check_orders(f, 4.0, [2.0, 0.25, -1.0 / 32.0, 3.0 / 256.0], 1e-8);
    // The minimum of x^4/4 - a x, x = a^(1/3).
    let f = |a: Arr<f64>| minimize(constant(1.0), STOP, |x: Arr<f64>| x * x * x * x * 0.25 - a * x);
    check_orders(f, 8.0, [2.0, 1.0 / 12.0, -1.0 / 144.0, 5.0 / 3456.0], 1e-8);
    // Rosenbrock's valley.
    let valley = jit(|x: Arr<f64>| {
        minimize(x, STOP, |x: Arr<f64>| {
            let (u, v) = (x.at(0), x.at(1));
            (u - 1.0).square() + (v - u * u).square() * 100.0
        })
    });
    assert_close(&valley.call([-1.2, 1.0]).unwrap().to_vec(), &[1.0, 1.0], 1e-9);
}

#[test]
fn what_has_no_solution_is_nan() {
    let is_nan = |f: &dyn Fn(Arr<f64>) -> Arr<f64>, x: f64| {
        assert!(item(jit(|x: Arr<f64>| f(x)).call(x).unwrap()).is_nan());
    };
    is_nan(&|a| root(constant(1.0), STOP, |x: Arr<f64>| x * x + a), 1.0);
    is_nan(&|a| root(a, STOP, |x: Arr<f64>| x * x - 1.0), f64::NAN);
    is_nan(&|a| fixed_point(constant(1.0), STOP, |x: Arr<f64>| x * a), 2.0);
    is_nan(&|a| minimize(constant(1.0), STOP, |x: Arr<f64>| x * a), 1.0);
    is_nan(&|a| linear_solve(Krylov::Cg, constant(1.0), STOP, |x: Arr<f64>| x * a), 0.0);
    is_nan(&|a| linear_solve(Krylov::Gmres(3), constant(1.0), STOP, |x: Arr<f64>| x * a), 0.0);
    // y' = y^2 is infinite at 1.
    let ode = Ode { method: Method::Dopri5, stop: STOP, continuous: false };
    is_nan(&|a| odeint(a, constant([0.0, 2.0]), ode, |_: Arr<f64>, y: Arr<f64>| y * y).at(1), 1.0);
    let few = Stop { tolerance: None, at_most: Some(3) };
    is_nan(&|a| quadrature(constant(0.0), a, few, |x: Arr<f64>| x.log()), 1.0);
    // A Jacobian that is singular at the solution.
    let double = |a: Arr<f64>| root(constant(0.0), STOP, |x: Arr<f64>| x * x - a);
    assert!(!item(grad(double).call(0.0).unwrap()).is_finite());
}

#[test]
fn krylov_methods_solve_and_are_differentiated() {
    const N: usize = 6;
    for method in [Krylov::Cg, Krylov::Bicgstab, Krylov::Gmres(3), Krylov::Gmres(20)] {
        let skew = if method == Krylov::Cg { 0.0 } else { 0.5 };
        // A tridiagonal matrix, as products and dense.
        let f = move |(d, b): (Arr<f64>, Arr<f64>)| {
            let x = linear_solve(method, b, STOP, |x: Arr<f64>| {
                build(N, |i| {
                    let (before, after) = (x.at_or_zero(i - 1), x.at_or_zero(i + 1));
                    d.at(i) * x.at(i) - before * (1.0 - skew) - after * (1.0 + skew)
                })
            });
            (x * x * b).sum()
        };
        let g = move |(d, b): (Arr<f64>, Arr<f64>)| {
            let a = build((N, N), |(i, j)| {
                let sides = select(j.eq(i + 1), constant(-1.0 - skew), constant(0.0));
                let sides = select(i.eq(j + 1), constant(skew - 1.0), sides);
                select(i.eq(j), d.at(i), sides)
            });
            let x = a.solve(b);
            (x * x * b).sum()
        };
        let (d, b) = ([4.0, 5.0, 3.0, 6.0, 4.5, 5.5], [1.0, -2.0, 0.5, 3.0, 1.5, -1.0]);
        let (x, y) = (grad(f).call((d, b)).unwrap(), grad(g).call((d, b)).unwrap());
        assert_close(&x.0.to_vec(), &y.0.to_vec(), 1e-8);
        assert_close(&x.1.to_vec(), &y.1.to_vec(), 1e-8);
        let second = (hessian(f).call((d, b)).unwrap(), hessian(g).call((d, b)).unwrap());
        assert_close(&second.0.0.0.to_vec(), &second.1.0.0.to_vec(), 1e-7);
        assert_close(&second.0.0.1.to_vec(), &second.1.0.1.to_vec(), 1e-7);
    }
}

#[test]
fn differential_equations_are_solved_and_differentiated() {
    let methods = [
        (Method::Euler(20_000), 1e-3),
        (Method::Rk4(40), 1e-6),
        (Method::Dopri5, 1e-6),
        (Method::Rosenbrock, 1e-4),
    ];
    for (method, accuracy) in methods {
        for continuous in [false, true] {
            let stop = Stop { tolerance: Some(1e-8), at_most: Some(5000) };
            if continuous && matches!(method, Method::Euler(_)) {
                continue;
            }
            let ode = Ode { method, stop, continuous };
            // y = y0 exp(-a t^2 / 2) at 1 and 2.
            let f = move |(y0, a, end): (Arr<f64>, Arr<f64>, Arr<f64>)| {
                let times = stack(&[constant(0.0), constant(1.0), end], 0);
                let ys = odeint(y0, times, ode, |t: Arr<f64>, y: Arr<f64>| -(a * t * y));
                ys.at(2) + ys.at(1) * 3.0
            };
            let (y0, a, end) = (1.5f64, 0.7f64, 2.0f64);
            let (one, two) = ((-a / 2.0).exp(), (-2.0 * a).exp());
            let (y, dy) = value_and_grad(f).call((y0, a, end)).unwrap();
            close(item(y), y0 * (two + 3.0 * one), accuracy);
            close(item(dy.0), two + 3.0 * one, accuracy);
            close(item(dy.1), -y0 * (2.0 * two + 1.5 * one), accuracy);
            close(item(dy.2), -y0 * a * end * two, accuracy * 10.0);
        }
    }
}

#[test]
fn stiff_equations_take_few_steps() {
    // Fast decay to a slow curve: 423 steps, of which an explicit method would need more than
    // 10^4 to be stable.
    let stop = Stop { tolerance: Some(1e-4), at_most: Some(500) };
    let solved = |method| {
        let ode = Ode { method, stop, continuous: false };
        let f = jit(move |rate: Arr<f64>| {
            odeint(constant(0.0), constant([0.0, 10.0]), ode, |t: Arr<f64>, y: Arr<f64>| {
                (t.cos() - y) * rate
            })
            .at(1)
        });
        item(f.call(1e4).unwrap())
    };
    close(solved(Method::Rosenbrock), 10f64.cos() + 1e-4 * 10f64.sin(), 1e-4);
    assert!(solved(Method::Dopri5).is_nan());
}

#[test]
fn derivatives_of_what_was_not_found_are_nan() {
    let ode = |method, continuous| Ode { method, stop: Stop::default(), continuous };
    let beyond = grad(move |a: Arr<f64>| {
        let method = ode(Method::Dopri5, false);
        odeint(a, constant([0.0, 2.0]), method, |_: Arr<f64>, y: Arr<f64>| y * y).at(1)
    });
    assert!(item(beyond.call(1.0).unwrap()).is_nan());
    // What decays fast cannot be followed backwards.
    let stiff = |continuous: bool| {
        let end = grad(move |p: Arr<f64>| {
            let method = ode(Method::Rosenbrock, continuous);
            let slope = |_: Arr<f64>, y: Arr<f64>| (p - y) * 1000.0;
            odeint(constant(0.0), constant([0.0, 1.0]), method, slope).at(1)
        });
        item(end.call(2.0).unwrap())
    };
    close(stiff(false), 1.0, 1e-6);
    assert!(stiff(true).is_nan());
}

#[test]
fn integrals_are_differentiated_by_limits_and_parameters() {
    let f = |(a, b, p): (Arr<f64>, Arr<f64>, Arr<f64>)| {
        quadrature(a, b, STOP, |x: Arr<f64>| (p * x).exp())
    };
    let (a, b, p) = (-0.5f64, 2.0f64, 1.3f64);
    let whole = |b: f64| (p * b).exp() / p;
    let moment = |b: f64| (p * b).exp() * (b / p - 1.0 / (p * p));
    let (y, dy) = value_and_grad(f).call((a, b, p)).unwrap();
    close(item(y), whole(b) - whole(a), 1e-12);
    close(item(dy.0), -(p * a).exp(), 1e-10);
    close(item(dy.1), (p * b).exp(), 1e-10);
    close(item(dy.2), moment(b) - moment(a), 1e-10);
    // A peak that the first rule does not see.
    let peak = jit(|w: Arr<f64>| {
        quadrature(constant(-1.0), constant(2.0), STOP, |x: Arr<f64>| w / (x * x + w * w))
    });
    close(item(peak.call(1e-3).unwrap()), 1e3f64.atan() + 2e3f64.atan(), 1e-9);
    // Exact to degree 2 n - 1, not beyond.
    let power = |points: usize, degree: i32| {
        let f = jit(move |b: Arr<f64>| {
            gauss_legendre(constant(0.0), b, points, |x: Arr<f64>| x.powi(degree))
        });
        (item(f.call(1.0).unwrap()) - 1.0 / f64::from(degree + 1)).abs()
    };
    for points in [1, 2, 5, 20] {
        assert!(power(points, 2 * points as i32 - 1) < 1e-14);
    }
    assert!(power(2, 4) > 1e-3);
}
