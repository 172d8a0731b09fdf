//! Eager mode: values at hand, control flow on them, and every mix with staged code.

use cotan::prelude::*;
use cotan::{ErrorKind, Result, eager};

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{a} is not {b}");
}

/// Newton's method for $x^2 = a$, as far as it takes.
fn newton_sqrt(a: Arr<f64>) -> Result<Arr<f64>> {
    let mut x = a;
    while ((x * x - a).abs() / a).item()? > 1e-14 {
        x = 0.5 * (x + a / x);
    }
    Ok(x)
}

/// $x^n$ by recursion on a value.
fn power(x: Arr<f64>, n: Arr<i64>) -> Result<Arr<f64>> {
    Ok(match n.item()? {
        0 => x * 0.0 + 1.0,
        k if k % 2 == 0 => power(x * x, n / 2)?,
        _ => x * power(x, n - 1)?,
    })
}

#[test]
fn loops_run_until_convergence() {
    for a in [0.3, 2.0, 1e6] {
        let (y, dy) = eager::value_and_grad(newton_sqrt, a).unwrap();
        close(y.item().unwrap(), a.sqrt());
        close(dy.item().unwrap(), 0.5 / a.sqrt());
        let (_, along) = eager::jvp(newton_sqrt, a, 3.0).unwrap();
        close(along.item().unwrap(), 1.5 / a.sqrt());
    }
}

#[test]
fn recursion_on_values() {
    for n in 0..9i64 {
        let (y, dx) = eager::value_and_grad(power, (1.5, n)).unwrap();
        close(y.item().unwrap(), 1.5f64.powi(n as i32));
        close(dx.item().unwrap(), n as f64 * 1.5f64.powi(n as i32 - 1));
    }
}

#[test]
fn branches_taken_are_differentiated() {
    let f = |x: Arr<f64>| -> Result<Arr<f64>> {
        if x.sum().item()? > 0.0 { Ok((x * x).sum()) } else { Ok(-x.at(0)) }
    };
    assert_eq!(eager::grad(f, [1.0, 2.0]).unwrap().to_vec(), [2.0, 4.0]);
    assert_eq!(eager::grad(f, [-1.0, -2.0]).unwrap().to_vec(), [-1.0, 0.0]);
}

#[test]
fn the_same_functions_as_staged() {
    let f = |a: Arr<f64>, w: Arr<f64>| {
        let n = a.len();
        (build(n, |i| a.at(i) * a.at(n - 1 - i) * w.at(i % 2)).sin().sum(), a * 2.0)
    };
    let (a, w) = ([0.5, 1.5, -1.0], [2.0, 3.0]);
    let staged = jit(f).call((a, w)).unwrap();
    assert_eq!(eager::run(f, (a, w)).unwrap(), staged);
    let scalar = move |a: Arr<f64>, w: Arr<f64>| f(a, w).0;
    let expected = grad(scalar).wrt(AllArgs).call((a, w)).unwrap();
    let (_, found) = eager::value_and_grad_wrt(AllArgs, scalar, (a, w)).unwrap();
    assert_eq!(found, expected);
    let (value, dx) = eager::vjp(f, (a, w), (1.0, [1.0, 0.0, -1.0])).unwrap();
    let (staged_value, staged_dx) = vjp(f).call(((a, w), (1.0, [1.0, 0.0, -1.0]))).unwrap();
    assert_eq!((value, dx), (staged_value, staged_dx));
}

#[test]
fn a_gradient_inside_an_eager_function_of_values() {
    // d/dx of (d/dy of y^n sqrt(y) at y = x), where both the power and the root decide by values.
    let inner = |y: Arr<f64>| -> Result<Arr<f64>> { Ok(power(y, constant(3))? * newton_sqrt(y)?) };
    let outer = |x: Arr<f64>| -> Result<Arr<f64>> {
        let slope = grad(inner).at(x);
        // Asking for the value of a gradient, and deciding by it.
        if slope.item()? > 0.0 { Ok(slope * slope) } else { Ok(slope) }
    };
    let x = 1.7f64;
    let (first, second) = (3.5 * x.powf(2.5), 3.5 * 2.5 * x.powf(1.5));
    let (y, dy) = eager::value_and_grad(outer, x).unwrap();
    close(y.item().unwrap(), first * first);
    close(dy.item().unwrap(), 2.0 * first * second);
}

#[test]
fn inner_functions_capture_outer_values() {
    // The gradient of y -> x y^2 at y = 3, times x, by x: d/dx (6 x^2).
    let f = |x: Arr<f64>| -> Result<Arr<f64>> {
        let slope = grad(move |y: Arr<f64>| -> Result<Arr<f64>> {
            assert_eq!(x.item()?, 2.0, "outer values are known inside");
            assert_eq!(y.item()?, 3.0);
            Ok(x * y * y)
        });
        Ok(x * slope.at(constant(3.0)))
    };
    assert_eq!(eager::grad(f, 2.0).unwrap(), 24.0);
    // Three levels: the innermost uses all.
    let f = |x: Arr<f64>| -> Result<Arr<f64>> {
        Ok(grad(move |y: Arr<f64>| -> Result<Arr<f64>> {
            let z = grad(move |z: Arr<f64>| -> Result<Arr<f64>> {
                if x.item()? + y.item()? + z.item()? > 0.0 {
                    Ok(x * y * y * z * z * z)
                } else {
                    Ok(z)
                }
            });
            Ok(z.at(y))
        })
        .at(x))
    };
    // d/dz: 3 x y^2 z^2 at z = y: 3 x y^4; d/dy: 12 x y^3 at y = x: 12 x^4; d/dx: 48 x^3.
    assert_eq!(eager::grad(f, 2.0).unwrap(), 384.0);
}

#[test]
fn compiled_functions_inside() {
    let slope = grad(|x: Arr<f64>| (x * x * x).sum()).compile([2]).unwrap();
    let f = move |x: Arr<f64>| -> Result<Arr<f64>> {
        let s = slope.apply(x)?;
        Ok(if s.sum().item()? > 0.0 { s.sum() } else { x.sum() })
    };
    assert_eq!(eager::grad(f, [1.0, 2.0]).unwrap().to_vec(), [6.0, 12.0]);
}

#[test]
fn gradients_under_build_are_symbolic() {
    let f = |x: Arr<f64>| -> Result<Arr<f64>> {
        let n = if x.at(0).item()? > 0.0 { x.len() } else { 1 };
        Ok(build(n, |i| grad(|y: Arr<f64>| y * y * y).at(x.at(i))).sum())
    };
    assert_eq!(eager::grad(f, [1.0, 2.0]).unwrap().to_vec(), [6.0, 12.0]);
}

#[test]
fn long_runs_are_linear() {
    // 3000 pieces of a few operations.
    let f = |x: Arr<f64>| -> Result<Arr<f64>> {
        let mut y = x;
        for _ in 0..3000 {
            y = y * 0.999 + 0.001;
            if y.item()? < 0.0 {
                break;
            }
        }
        Ok(y)
    };
    let (_, dy) = eager::value_and_grad(f, 2.0).unwrap();
    close(dy.item().unwrap(), 0.999f64.powi(3000));
}

#[test]
fn values_are_refused_where_there_are_none() {
    let f = |x: Arr<f64>| -> Result<Arr<f64>> { if x.item()? > 0.0 { Ok(x) } else { Ok(-x) } };
    let error = jit(f).call(1.0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotKnown);
    assert!(error.to_string().contains("cotan::eager"), "{error}");
    let inside = |x: Arr<f64>| -> Result<Arr<f64>> {
        let mut found = Ok(0.0);
        let y = build(3, |i| {
            found = (x * i.cast::<f64>()).item();
            x
        });
        found?;
        Ok(y.sum())
    };
    let error = eager::run(inside, 1.0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotKnown);
    let kept = std::cell::Cell::new(None);
    let keep = |x: Arr<f64>| {
        kept.set(Some(x));
        x
    };
    eager::run(keep, 1.0).unwrap();
    assert_eq!(kept.get().unwrap().item().unwrap_err().kind(), ErrorKind::Scope);
    let error = eager::run(
        |x: Arr<f64>| -> Result<Arr<f64>> {
            x.item()?;
            Ok(x)
        },
        [1.0, 2.0],
    );
    assert!(error.unwrap_err().to_string().contains("2 elements"));
}

#[test]
fn errors_of_eager_functions() {
    let error = eager::grad(|x: Arr<f64>, y: Arr<f64>| (x + y).sum(), ([1.0, 2.0], [1.0; 3]));
    assert!(error.unwrap_err().to_string().contains("[2]f64 and [3]f64"));
    let error = eager::grad(|x: Arr<f64>| x, [1.0, 2.0]).unwrap_err();
    assert!(error.to_string().contains("float scalar"), "{error}");
    let error = eager::vjp(|x: Arr<f64>| x, [1.0, 2.0], [1.0; 3]).unwrap_err();
    assert!(error.to_string().contains("a cotangent [3]f64"), "{error}");
    // An error inside an inner function.
    let f = |x: Arr<f64>| grad(|y: Arr<f64>| (y + constant([1.0, 2.0, 3.0])).sum()).at(x).sum();
    let error = eager::run(f, [1.0, 2.0]).unwrap_err();
    assert!(error.to_string().contains("[2]f64 and [3]f64"), "{error}");
}
