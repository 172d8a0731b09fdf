//! Arranging and indexing: values against plain Rust, derivatives against the oracles.

mod batches;
mod eager;
mod errors;
mod gathering;
mod grids;
mod joining;
mod padding;
mod segments;
mod shapes;
mod slicing;

use crate::support::check;
use cotan::prelude::*;
use cotan_testkit::Rng;

/// A function of one array.
type Unary = fn(Arr<f64>) -> Arr<f64>;

/// A random array.
fn random(rng: &mut Rng, dims: &[usize]) -> Tensor<f64> {
    Tensor::from_fn(dims, |_| 4.0 * rng.unit() - 2.0).unwrap()
}

/// Random positions from `lo` to (excluding) `hi`.
fn positions(rng: &mut Rng, dims: &[usize], lo: i64, hi: i64) -> Tensor<i64> {
    Tensor::from_fn(dims, |_| rng.between(lo, hi - 1)).unwrap()
}

/// Shapes of ranks from `least` to 4, with sizes from 0.
fn shapes(rng: &mut Rng, least: usize) -> Vec<Vec<usize>> {
    let mut shapes: Vec<Vec<usize>> = (least..=4)
        .flat_map(|rank| [vec![1; rank], (0..rank).map(|axis| 2 + (axis + rank) % 2).collect()])
        .collect();
    for _ in 0..6 {
        let rank = least + rng.below(5 - least);
        shapes.push((0..rank).map(|_| rng.below(4)).collect());
    }
    shapes
}

/// The array of the given shape whose elements are those of `x` where `from` says, or 0.
fn rearranged(
    x: &Tensor<f64>,
    dims: &[usize],
    from: impl Fn(&[usize]) -> Option<Vec<usize>>,
) -> Tensor<f64> {
    Tensor::from_fn(dims, |is| from(is).map_or(0.0, |ix| x.get(&ix).unwrap())).unwrap()
}

/// Checks the values and the derivatives of a function.
#[track_caller]
fn expect(f: impl Fn(Arr<f64>) -> Arr<f64>, x: &Tensor<f64>, expected: &Tensor<f64>) {
    let compiled = compile_like::<_, Unary>(&f, x).unwrap_or_else(|error| panic!("{error}"));
    let y = compiled.call(x).unwrap();
    assert_eq!(y.shape(), expected.shape());
    assert_eq!(&y, expected, "{y} instead of {expected}");
    check::<_, Unary>(&f, x);
}
