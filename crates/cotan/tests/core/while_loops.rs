//! Loops as long as a condition holds: values, derivatives in all modes, lanes, errors.

use crate::support::check;
use cotan::prelude::*;
use cotan::{CancelToken, Error, ErrorKind, RunOptions, eager};

/// $x^k$ with the least $k$ for which it is at least `limit`, and $k$.
fn power(x: Arr<f64>, limit: Arr<f64>) -> (Arr<f64>, Arr<i64>) {
    while_loop((x, constant(1i64)), |(y, _)| y.lt(limit), |(y, k)| (y * x, k + 1))
}

fn plain_power(x: f64, limit: f64) -> (f64, i64) {
    let (mut y, mut k) = (x, 1);
    while y < limit {
        y *= x;
        k += 1;
    }
    (y, k)
}

#[test]
fn steps_depend_on_the_data() -> Result<(), Error> {
    let f = jit(power);
    let derivative = grad(|x: Arr<f64>, limit: Arr<f64>| power(x, limit).0);
    for (x, limit) in [(1.5, 10.0), (1.1, 100.0), (3.0, 1.0), (2.0, 2.0), (2.0, 2.0000001)] {
        let (y, k) = plain_power(x, limit);
        let (found, steps) = f.call((x, limit))?;
        assert_eq!((found.item(), steps.item()), (Some(y), Some(k)));
        let slope = derivative.call((x, limit))?.item().unwrap_or(f64::NAN);
        let exact = k as f64 * y / x;
        assert!((slope - exact).abs() <= 1e-12 * exact.abs(), "{slope} is not {exact}");
    }
    Ok(())
}

#[test]
fn all_derivatives_agree() {
    let unbounded = |x: Arr<f64>, w: Arr<f64>| {
        while_loop(x * w, |y| y.square().sum().lt(50.0), |y| (y * w).sin() + y + 1.0)
    };
    let bounded = |x: Arr<f64>, w: Arr<f64>| {
        while_at_most(7, x * w, |y| y.square().sum().lt(50.0), |y| (y * w).sin() + y + 1.0)
    };
    let chunked = |x: Arr<f64>, w: Arr<f64>| {
        while_checkpointed(7, 3, x * w, |y| y.square().sum().lt(50.0), |y| (y * w).sin() + y + 1.0)
    };
    let at = ([0.3, -0.2, 0.9], [0.5, 0.25, -0.75]);
    check(unbounded, at);
    check(bounded, at);
    check(chunked, at);
}

#[test]
fn every_lane_stops_by_itself() -> Result<(), Error> {
    let all = |xs: Arr<f64>| build(xs.len(), |i| power(xs.at(i), constant(20.0)));
    let xs = [1.5, 30.0, 1.05, 2.0];
    let (ys, ks) = jit(all).call(xs)?;
    for (n, &x) in xs.iter().enumerate() {
        let (y, k) = plain_power(x, 20.0);
        assert_eq!((ys.get(&[n]), ks.get(&[n])), (Some(y), Some(k)));
    }
    let slopes = grad(move |xs: Arr<f64>| all(xs).0.sum()).call(xs)?;
    for (slope, &x) in slopes.iter().zip(&xs) {
        let (y, k) = plain_power(x, 20.0);
        let exact = k as f64 * y / x;
        assert!((slope - exact).abs() <= 1e-12 * exact, "{slope} is not {exact}");
    }
    // A map of gradients of loops.
    let each = vmap(grad(|x: Arr<f64>| power(x, constant(20.0)).0)).call(xs)?;
    assert_eq!(each, slopes);
    Ok(())
}

#[test]
fn loops_nest() -> Result<(), Error> {
    // The outer loop doubles what the inner loop has brought below 1. (Over the field, where the
    // oracles run it, too, only the limit ends it.)
    let nested = |x: Arr<f64>| {
        while_at_most(
            5,
            (x, constant(0i64)),
            |(_, n)| n.lt(3),
            |(y, n)| {
                let small = while_at_most(20, y, |z| z.gt(1.0), |z| z * 0.5);
                (small * 2.0 + x, n + 1)
            },
        )
        .0
    };
    check(nested, 5.3);
    let second = grad(grad(move |x: Arr<f64>| nested(x).square())).call(5.3)?;
    let first = grad(nested).call(5.3)?.item().unwrap_or(0.0);
    assert_eq!(second.item(), Some(2.0 * first * first));
    Ok(())
}

#[test]
fn gradients_inside_and_around() -> Result<(), Error> {
    // Gradient descent inside a loop, to convergence, differentiated by what it minimises:
    // argmin of (y - x)^2 + y^2 is x / 2.
    let minimum = |x: Arr<f64>| {
        let slope = grad(move |y: Arr<f64>| (y - x).square() + y.square());
        while_at_most(200, x, |y| slope.at(y).abs().gt(1e-13), |y| y - 0.2 * slope.at(y))
    };
    let (y, dy) = value_and_grad(minimum).call(3.0)?;
    assert!((y.item().unwrap_or(0.0) - 1.5).abs() < 1e-12);
    assert!((dy.item().unwrap_or(0.0) - 0.5).abs() < 1e-12);
    let (_, along) = jvp(minimum).call((3.0, 2.0))?;
    assert!((along.item().unwrap_or(0.0) - 1.0).abs() < 1e-12);
    Ok(())
}

#[test]
fn staged_loops_are_those_of_rust() -> Result<(), Error> {
    let staged = |x: Arr<f64>| while_loop(x, |y| y.lt(100.0), |y| y * y + 1.0);
    let own = |x: Arr<f64>| -> cotan::Result<Arr<f64>> {
        let mut y = x;
        while y.item()? < 100.0 {
            y = y * y + 1.0;
        }
        Ok(y)
    };
    for x in [0.0, 1.0, -3.0, 250.0] {
        let (value, slope) = eager::value_and_grad(own, x)?;
        assert_eq!(value_and_grad(staged).call(x)?, (value.clone(), slope.clone()));
        assert_eq!(eager::value_and_grad(staged, x)?, (value, slope));
    }
    Ok(())
}

#[test]
fn no_steps_and_long_loops() -> Result<(), Error> {
    let f = |x: Arr<f64>| while_loop(x, |_| constant(false), |y| y * 0.0);
    let (y, dy) = value_and_grad(f).call(3.0)?;
    assert_eq!((y.item(), dy.item()), (Some(3.0), Some(1.0)));
    assert_eq!(
        jit(|x: Arr<f64>| while_at_most(0, x, |_| constant(true), |y| y + 1.0)).call(3.0)?,
        3.0
    );
    // More steps than states are kept.
    let long = |x: Arr<f64>| {
        while_loop((x, constant(0i64)), |(_, n)| n.lt(1500), |(y, n)| (y * 0.999 + x, n + 1)).0
    };
    let slope = grad(long).call(1.0)?.item().unwrap_or(0.0);
    let exact: f64 = (0..=1500).map(|n| 0.999f64.powi(n)).sum();
    assert!((slope - exact).abs() < 1e-9 * exact, "{slope} is not {exact}");
    Ok(())
}

#[test]
fn endless_loops_are_cancelled() -> Result<(), Error> {
    let f = compile(|x: Arr<f64>| while_loop(x, |_| constant(true), |y| y + 1.0), ())?;
    let deadline = std::time::Instant::now() + std::time::Duration::from_millis(50);
    let options = RunOptions { deadline: Some(deadline), ..RunOptions::default() };
    assert_eq!(f.call_with(&options, 1.0).unwrap_err().kind(), ErrorKind::Stopped);
    let cancel = CancelToken::new();
    cancel.cancel();
    let options = RunOptions { cancel, ..RunOptions::default() };
    assert_eq!(f.call_with(&options, 1.0).unwrap_err().kind(), ErrorKind::Stopped);
    Ok(())
}

#[test]
fn misuse_is_explained() {
    let f = |x: Arr<f64>| while_loop(x, |y| y.lt(1.0), |y| y.sum());
    let text = compile(f, [2]).unwrap_err().to_string();
    assert!(text.contains("the condition must be a scalar"), "{text}");
    let f = |x: Arr<f64>| while_loop(x, |y| y.sum().lt(1.0), |y| y.sum());
    let text = compile(f, [2]).unwrap_err().to_string();
    assert!(text.contains("[2]f64 at first, and f64 after a step"), "{text}");
    assert!(text.contains(file!()), "{text}");
    let f = |x: Arr<f64>| while_checkpointed(5, 0, x, |y| y.lt(1.0), |y| y + 1.0);
    let text = compile(f, ()).unwrap_err().to_string();
    assert!(text.contains("chunks of no steps"), "{text}");
}

#[test]
fn a_branch_that_would_never_end_is_not_taken() -> Result<(), Error> {
    let f = |x: Arr<f64>| cond(x.gt(0.0), || while_loop(x, |y| y.lt(10.0), |y| y + x), || x);
    assert_eq!(jit(f).call(3.0)?, 12.0);
    assert_eq!(jit(f).call(-3.0)?, -3.0);
    // Nor in reverse mode, where it is run for its states, with a limit or without one.
    let limited =
        |x: Arr<f64>| cond(x.gt(0.0), || while_at_most(50, x, |y| y.lt(10.0), |y| y + x), || x);
    for (x, slope) in [(3.0, 4.0), (-3.0, 1.0)] {
        assert_eq!(grad(f).call(x)?, slope);
        assert_eq!(grad(limited).call(x)?, slope);
    }
    // Values of the loop are factors of derivatives, and branches are in each other.
    let product = |x: Arr<f64>| {
        let loops = || while_loop(x, |y: Arr<f64>| y.lt(10.0), |y| y + x);
        cond(x.gt(0.0), || cond(x.lt(5.0), || loops() * x, || x) * loops(), || x)
    };
    // 16 x^3, 2 x^2 and x.
    for (x, slope, bend) in [(3.0, 432.0, 288.0), (6.0, 24.0, 4.0), (-3.0, 1.0, 0.0)] {
        assert_eq!(grad(product).call(x)?, slope);
        assert_eq!(grad(grad(product)).call(x)?, bend);
    }
    Ok(())
}

/// A call that is stopped keeps nothing of what it was given, and can be made again.
#[test]
fn large_calls_that_are_stopped() -> Result<(), Error> {
    let n = 9_000_000;
    let f = compile(|x: Arr<f64>| x * 2.0, [n])?;
    let x = Tensor::full([n], 1.5)?;
    let mut out = f.call(&x)?;
    for owned in [true, false] {
        let cancel = CancelToken::new();
        cancel.cancel();
        let stop = RunOptions { cancel, ..RunOptions::default() };
        let stopped = match owned {
            true => f.call_into(&stop, Tensor::full([n], 0.5)?, &mut out),
            false => f.call_into(&stop, &x, &mut out),
        };
        assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Stopped);
        f.call_into(&RunOptions::default(), &x, &mut out)?;
        assert_eq!((out.size(), out.get(&[n - 1])), (n, Some(3.0)));
    }
    Ok(())
}
