//! Elementwise functions made of others: values against plain Rust, derivatives, corner cases.

use crate::support::plain::{SHAPES, assert_close, scattered, text};
use crate::support::{check, check_rough};
use cotan::prelude::*;
use cotan_testkit::Rng;

const SPECIAL: [f64; 8] =
    [0.0, -0.0, 1.5, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

#[test]
fn kinds_of_floats() {
    let kinds = jit(|x: Arr<f64>| (x.is_nan(), x.is_inf(), x.is_finite()));
    let (nan, inf, finite) = kinds.call(SPECIAL).unwrap();
    assert_eq!(nan.to_vec(), SPECIAL.map(f64::is_nan));
    assert_eq!(inf.to_vec(), SPECIAL.map(f64::is_infinite));
    assert_eq!(finite.to_vec(), SPECIAL.map(f64::is_finite));
    let singles = [f32::MAX, f32::NEG_INFINITY, f32::NAN];
    let finite = jit(|x: Arr<f32>| x.is_finite()).call(singles).unwrap();
    assert_eq!(finite.to_vec(), [true, false, false]);
}

#[test]
fn hypotenuses_and_sums_of_exponentials() {
    let mut rng = Rng::new(5);
    for shape in SHAPES {
        let (x, y) = (scattered(shape, &mut rng), scattered(shape, &mut rng));
        let pairs = || x.iter().zip(y.iter());
        let hypot = |x: Arr<f64>, y: Arr<f64>| x.hypot(y);
        let wanted: Vec<f64> = pairs().map(|(x, y)| x.hypot(y)).collect();
        assert_close(&jit(hypot).call((&x, &y)).unwrap().to_vec(), &wanted);
        check(hypot, (&x, &y));

        let logaddexp = |x: Arr<f64>, y: Arr<f64>| x.logaddexp(y);
        let wanted: Vec<f64> = pairs().map(|(x, y)| (x.exp() + y.exp()).ln()).collect();
        assert_close(&jit(logaddexp).call((&x, &y)).unwrap().to_vec(), &wanted);
        check(logaddexp, (&x, &y));
    }
    // Shapes stretch.
    let f = |x: Arr<f64>, y: Arr<f64>| x.hypot(y) + x.logaddexp(y);
    check(f, ([[0.5], [-2.0]], [1.0, 3.0, -4.0]));
}

#[test]
fn neither_overflows_nor_vanishes() {
    let hypot = jit(|x: Arr<f64>, y: Arr<f64>| x.hypot(y));
    for (x, y) in [(3e300, 4e300), (3e-300, -4e-300), (0.0, -2.0), (f64::INFINITY, 1.0)] {
        assert_close(&hypot.call((x, y)).unwrap().to_vec(), &[x.hypot(y)]);
    }
    assert!(hypot.call((3e-300, 4e-300)).unwrap().item().unwrap() > 4.9e-300);
    assert!(hypot.call((f64::NAN, 1.0)).unwrap().item().unwrap().is_nan());
    // Twice the same, and the origin.
    let slope = grad(|x: Arr<f64>, y: Arr<f64>| x.hypot(y)).wrt(AllArgs);
    let (dx, dy) = slope.call((0.0, 0.0)).unwrap();
    assert_eq!((dx.item(), dy.item()), (Some(0.0), Some(0.0)));
    check_rough(|x: Arr<f64>| x.hypot(x), [2.0, 0.0, -1.0]);

    let sum = |x: Arr<f64>, y: Arr<f64>| x.logaddexp(y);
    let none = f64::NEG_INFINITY;
    let cases = [(none, none, none), (none, 3.0, 3.0), (f64::INFINITY, 0.0, f64::INFINITY)];
    for (x, y, wanted) in cases {
        assert_eq!(jit(sum).call((x, y)).unwrap(), wanted);
    }
    assert_eq!(grad(sum).call((none, none)).unwrap(), 0.0);
    assert_eq!(grad(sum).call((none, 3.0)).unwrap(), 0.0);
}

#[test]
fn misfits_are_reported() {
    let (x, y) = ([1.0, 2.0], [1.0, 2.0, 3.0]);
    let hint = "hint: shapes fit when, from the last axis back, sizes are equal, 1 or missing";
    let rest = format!("shapes that do not fit: [2]f64 and [3]f64\n  at FILE:LINE\n  {hint}");
    let wrong = jit(|x: Arr<f64>, y: Arr<f64>| x.hypot(y)).call((x, y));
    assert_eq!(text(wrong, file!()), format!("hypot: {rest}"));
    let wrong = jit(|x: Arr<f64>, y: Arr<f64>| x.logaddexp(y)).call((x, y));
    assert_eq!(text(wrong, file!()), format!("logaddexp: {rest}"));
}
