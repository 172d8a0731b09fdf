//! What the tests of neural functions share.

#![allow(dead_code, reason = "each test binary uses a part")]

use cotan::{Compiled, Error, Tensor};
use cotan_testkit::Rng;

/// Shapes of ranks 0 to 4, with sizes 0 and 1 among them.
pub fn shapes() -> Vec<Vec<usize>> {
    vec![
        vec![],
        vec![1],
        vec![5],
        vec![0],
        vec![2, 3],
        vec![3, 0],
        vec![1, 4],
        vec![2, 1, 3],
        vec![2, 2, 1, 3],
    ]
}

/// Random numbers between two.
pub fn random(rng: &mut Rng, shape: &[usize], low: f64, high: f64) -> Tensor<f64> {
    Tensor::from_fn(shape, |_| low + (high - low) * rng.unit()).unwrap()
}

/// Checks that numbers are equal up to rounding.
#[track_caller]
pub fn close(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (x, y)) in found.iter().zip(expected).enumerate() {
        let same = x == y || (x.is_nan() && y.is_nan());
        assert!(
            same || (x - y).abs() <= 1e-11 * (1.0 + y.abs()),
            "{what}, element {k}: {x}, not {y}"
        );
    }
}

/// The text of an error, with its place as `HERE`.
#[track_caller]
pub fn error_text<A, R>(result: Result<Compiled<A, R>, Error>) -> String {
    let error = match result {
        Ok(_) => panic!("no error"),
        Err(error) => error,
    };
    let place = error.location().expect("a place").to_string();
    assert!(place.contains("tests"), "blames {place}");
    error.to_string().replace(&place, "HERE")
}
