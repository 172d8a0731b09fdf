//! Derivatives inside loops inside derivatives: every nesting gives what calculus says.

use crate::support::check;
use crate::support::plain::assert_close;
use cotan::prelude::*;
use cotan::{Result, eager};
use cotan_testkit::Rng;

/// Compares a scalar with what it should be.
#[track_caller]
fn is(found: Result<Tensor<f64>>, wanted: f64) {
    assert_close(&found.unwrap().to_vec(), &[wanted]);
}

/// Numbers from 0.5 to 1.5.
fn points(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = Rng::new(seed);
    (0..n).map(|_| 0.5 + rng.unit()).collect()
}

/// $x^k$ with the least $k$ for which it is at least 20, or at most 20; $k$ is 1 at least.
fn power(x: Arr<f64>) -> Arr<f64> {
    while_at_most(20, x, |y| y.lt(20.0), |y| y * x)
}

/// The exponent that [`power`] arrives at.
fn exponent(x: f64) -> i32 {
    (1..=20).find(|&k| x.powi(k) >= 20.0).unwrap_or(21)
}

/// The root of $y^2 = a$ by Newton's method to convergence, with the slope of each step by `grad`.
fn newton_root(a: Arr<f64>) -> Arr<f64> {
    let error = move |y: Arr<f64>| y * y - a;
    while_at_most(
        60,
        a + 1.0,
        |y| error(y).abs().gt(1e-14 * a),
        |y| y - error(y) / grad(error).at(y),
    )
}

#[test]
fn gradients_of_gradients() {
    // The derivatives of sin, which come round again.
    let sin = |x: Arr<f64>| x.sin();
    for x in points(3, 1) {
        is(grad(sin).call(x), x.cos());
        is(grad(grad(sin)).call(x), -x.sin());
        is(grad(grad(grad(sin))).call(x), -x.cos());
        is(grad(grad(grad(grad(sin)))).call(x), x.sin());
        // The same by forward over reverse, and reverse over forward.
        let (_, forward) = jvp(grad(sin)).call((x, 1.0)).unwrap();
        is(Ok(forward), -x.sin());
        is(grad(move |x: Arr<f64>| jvp(sin).at((x, constant(1.0))).1).call(x), -x.sin());
    }
    // A gradient of a norm of a gradient: d/dx sum (3 x^2)^2 = 36 x^3.
    let penalty = |x: Arr<f64>| grad(|x: Arr<f64>| (x * x * x).sum()).at(x).square().sum();
    let at = points(4, 2);
    let expected: Vec<f64> = at.iter().map(|x| 36.0 * x.powi(3)).collect();
    assert_close(&grad(penalty).call(&at).unwrap().to_vec(), &expected);
    check(penalty, &at);
    assert_close(&eager::grad(penalty, &at).unwrap().to_vec(), &expected);
}

#[test]
fn builds_of_gradients() {
    // Row i is the gradient of the i-th component: the Jacobian, one row at a time.
    let f = |x: Arr<f64>| build(x.len(), |i| x.at(i) * x.sin().sum());
    let row_by_row =
        move |x: Arr<f64>| build(x.len(), |i| grad(move |x: Arr<f64>| f(x).at(i)).at(x));
    for n in [0, 1, 4] {
        let at = points(n, 3);
        let found = jit(row_by_row).call(&at).unwrap();
        assert_close(&found.to_vec(), &jacobian(f).call(&at).unwrap().to_vec());
        let sines: f64 = at.iter().map(|x| x.sin()).sum();
        let element = |i: usize, j: usize| at[i] * at[j].cos() + if i == j { sines } else { 0.0 };
        let expected: Vec<f64> =
            (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| element(i, j)).collect();
        assert_close(&found.to_vec(), &expected);
    }
    check(row_by_row, points(3, 4));
    // The sum of the diagonal of the Hessian under a gradient: Laplace's operator of sum x^4 is
    // sum 12 x^2.
    let laplacian = |x: Arr<f64>| {
        let slope = grad(|x: Arr<f64>| x.powi(4).sum());
        build(x.len(), |i| grad(|y: Arr<f64>| slope.at(y).at(i)).at(x).at(i)).sum()
    };
    let at = points(3, 5);
    let expected: Vec<f64> = at.iter().map(|x| 24.0 * x).collect();
    assert_close(&grad(laplacian).call(&at).unwrap().to_vec(), &expected);
    assert_close(&eager::grad(laplacian, &at).unwrap().to_vec(), &expected);
}

#[test]
fn gradients_through_loops_through_gradients() {
    for a in [0.3, 2.0, 1000.0] {
        let (y, dy) = value_and_grad(newton_root).call(a).unwrap();
        is(Ok(y), a.sqrt());
        is(Ok(dy), 0.5 / a.sqrt());
        is(grad(grad(newton_root)).call(a), -0.25 * a.powf(-1.5));
        let (_, along) = jvp(newton_root).call((a, 3.0)).unwrap();
        is(Ok(along), 1.5 / a.sqrt());
        is(eager::grad(newton_root, a), 0.5 / a.sqrt());
    }
    check(newton_root, 2.0);
}

#[test]
fn loops_without_a_limit_nest_as_well() {
    // The slope of the inner loop, taken in each step of the outer one.
    let tower = |x: Arr<f64>| {
        let inner = move |y: Arr<f64>| while_loop(y, |z| z.lt(3.0), |z| z * x);
        while_loop((x, constant(0)), |(_, n)| n.lt(2), |(y, n)| (y + grad(inner).at(y), n + 1)).0
    };
    // From x = 1.5: the inner loop takes 1.5 to 3.375 in two steps, so the slope is x^2; then 3.75 is
    // beyond the limit at once, and the slope is 1. So it is x + x^2 + 1 nearby.
    let x = 1.5;
    let (y, dy) = value_and_grad(tower).call(x).unwrap();
    is(Ok(y), x + x * x + 1.0);
    is(Ok(dy), 1.0 + 2.0 * x);
    is(grad(grad(tower)).call(x), 2.0);
    is(eager::grad(tower, x), 1.0 + 2.0 * x);
}

#[test]
fn maps_of_gradients_of_loops() {
    let xs = [1.5, 30.0, 1.2, 0.9, 2.0];
    let slopes: Vec<f64> = xs
        .iter()
        .map(|&x: &f64| {
            let k = exponent(x);
            f64::from(k) * x.powi(k - 1)
        })
        .collect();
    assert_close(&vmap(grad(power)).call(xs).unwrap().to_vec(), &slopes);
    let curvatures: Vec<f64> = xs
        .iter()
        .map(|&x| {
            let k = exponent(x);
            f64::from(k * (k - 1)) * x.powi(k - 2)
        })
        .collect();
    assert_close(&vmap(grad(grad(power))).call(xs).unwrap().to_vec(), &curvatures);
    // A gradient of a map of gradients of loops, staged and eager.
    let total = |xs: Arr<f64>| vmap(grad(power)).at(xs).sum();
    assert_close(&grad(total).call(xs).unwrap().to_vec(), &curvatures);
    assert_close(&eager::grad(total, xs).unwrap().to_vec(), &curvatures);
    // Lanes of loops with gradients in their steps.
    let roots = vmap(grad(newton_root)).call([0.3, 2.0, 1000.0]).unwrap();
    let expected = [0.3f64, 2.0, 1000.0].map(|a| 0.5 / a.sqrt());
    assert_close(&roots.to_vec(), &expected);
}

#[test]
fn jacobians_of_eager_functions_that_call_compiled_ones() {
    // Compiled once: the gradient of a cubic. The eager function decides by its value.
    let slope = grad(|x: Arr<f64>| (x * x * x).sum()).compile([3]).unwrap();
    let f = move |x: Arr<f64>| -> Result<Arr<f64>> {
        let s = slope.apply(x)?;
        Ok(if s.sum().item()? > 10.0 { s * x.sum() } else { x })
    };
    // s_i = 3 x_i^2 and t = sum x: d(s_i t)/dx_j = 3 x_i^2 + 6 x_i t where i = j.
    let jacobian_at = |x: [f64; 3]| -> Vec<f64> {
        let total: f64 = x.iter().sum();
        let large = x.iter().map(|x| 3.0 * x * x).sum::<f64>() > 10.0;
        let element = |i: usize, j: usize| match (large, i == j) {
            (true, same) => 3.0 * x[i] * x[i] + if same { 6.0 * x[i] * total } else { 0.0 },
            (false, same) => f64::from(u8::from(same)),
        };
        (0..9).map(|k| element(k / 3, k % 3)).collect()
    };
    for x in [[1.0, 2.0, 3.0], [0.1, 0.2, 0.3]] {
        for found in [
            eager::run(|x: Arr<f64>| jacobian(&f).at(x), x),
            eager::run(|x: Arr<f64>| jacrev(&f).at(x), x),
            eager::run(|x: Arr<f64>| jacfwd(&f).at(x), x),
        ] {
            assert_close(&found.unwrap().to_vec(), &jacobian_at(x));
        }
        // Row by row and column by column, from outside.
        for k in 0..3 {
            let unit: [f64; 3] = std::array::from_fn(|n| if n == k { 1.0 } else { 0.0 });
            let (_, row) = eager::vjp(&f, x, unit).unwrap();
            assert_close(&row.to_vec(), &jacobian_at(x)[3 * k..3 * k + 3]);
            let (_, column) = eager::jvp(&f, x, unit).unwrap();
            let expected: Vec<f64> = (0..3).map(|i| jacobian_at(x)[3 * i + k]).collect();
            assert_close(&column.to_vec(), &expected);
        }
    }
}

#[test]
fn eager_functions_around_loops_and_maps() {
    // Rust's loop around staged ones: roots of roots, until they are small.
    let f = |x: Arr<f64>| -> Result<Arr<f64>> {
        let mut y = x;
        while y.sum().item()? > 4.0 {
            y = vmap(newton_root).at(y);
        }
        Ok(y.sum())
    };
    // Three rounds, at sums of 97, 13 and 5.
    let (y, dy) = eager::value_and_grad(f, [16.0, 81.0]).unwrap();
    is(Ok(y), 16f64.powf(0.125) + 81f64.powf(0.125));
    let expected = [16f64, 81.0].map(|x| 0.125 * x.powf(-0.875));
    assert_close(&dy.to_vec(), &expected);
}
