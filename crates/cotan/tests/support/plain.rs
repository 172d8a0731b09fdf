//! Arrays in plain Rust, to compare with.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed unwrap is a failed test")]

use cotan::{Error, Tensor};
use cotan_testkit::Rng;

/// Shapes with sizes 0 and 1, of ranks 0 to 4.
pub const SHAPES: &[&[usize]] =
    &[&[], &[0], &[1], &[5], &[2, 3], &[0, 3], &[2, 0], &[3, 1, 2], &[2, 2, 3], &[2, 1, 2, 2]];

/// Elements of both signs, in no order, that differ by about 0.3 from each other and from 0.
pub fn scattered(shape: &[usize], rng: &mut Rng) -> Tensor<f64> {
    let count: usize = shape.iter().product();
    let mut places: Vec<i32> = (0..count as i32).map(|k| k - count as i32 / 2).collect();
    rng.shuffle(&mut places);
    let elements = places.iter().map(|&k| 0.37 * f64::from(k) + 0.15 + 0.02 * rng.unit()).collect();
    Tensor::new(shape.to_vec(), elements).unwrap()
}

/// The indices of a shape in row-major order.
pub fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &size in shape {
        all = all
            .iter()
            .flat_map(|ix: &Vec<usize>| (0..size).map(|i| [&ix[..], &[i]].concat()))
            .collect();
    }
    all
}

/// Every choice of axes.
pub fn choices(rank: usize) -> Vec<Vec<usize>> {
    (0..1usize << rank)
        .map(|bits| (0..rank).filter(|axis| bits >> axis & 1 == 1).collect())
        .collect()
}

/// The sizes that remain without `axes`, and for each index of these the elements along `axes`.
pub fn groups(x: &Tensor<f64>, axes: &[usize]) -> (Vec<usize>, Vec<Vec<f64>>) {
    let rest: Vec<usize> = (0..x.rank()).filter(|axis| !axes.contains(axis)).collect();
    let sizes: Vec<usize> = rest.iter().map(|&axis| x.shape()[axis]).collect();
    let along: Vec<usize> = axes.iter().map(|&axis| x.shape()[axis]).collect();
    let group = |outer: &Vec<usize>| {
        let element = |inner: Vec<usize>| {
            let mut ix = vec![0; x.rank()];
            rest.iter().zip(outer).for_each(|(&axis, &i)| ix[axis] = i);
            axes.iter().zip(&inner).for_each(|(&axis, &i)| ix[axis] = i);
            x.get(&ix).unwrap()
        };
        indices(&along).into_iter().map(element).collect()
    };
    let all = indices(&sizes).iter().map(group).collect();
    (sizes, all)
}

/// The array of the same shape whose lines along an axis are those of `x` through `f`.
pub fn along(x: &Tensor<f64>, axis: usize, f: impl Fn(&[f64]) -> Vec<f64>) -> Tensor<f64> {
    let (_, lines) = groups(x, &[axis]);
    let lines: Vec<Vec<f64>> = lines.iter().map(|line| f(line)).collect();
    let length = lines.first().map_or(0, Vec::len);
    let mut shape = x.shape().to_vec();
    shape[axis] = length;
    let inner: usize = shape[axis + 1..].iter().product();
    Tensor::from_fn(shape, |ix| {
        let outer = ix[..axis].iter().zip(x.shape()).fold(0, |n, (&i, &k)| n * k + i);
        let after = ix[axis + 1..].iter().zip(&x.shape()[axis + 1..]);
        lines[outer * inner + after.fold(0, |n, (&i, &k)| n * k + i)][ix[axis]]
    })
    .unwrap()
}

/// Whether two numbers are equal but for rounding; NaN is NaN.
pub fn close(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-11 * a.abs().max(b.abs()).max(1.0)
}

/// Compares elements.
#[track_caller]
pub fn assert_close(found: &[f64], wanted: &[f64]) {
    let equal = found.len() == wanted.len() && found.iter().zip(wanted).all(|(&a, &b)| close(a, b));
    assert!(equal, "{found:?} is not {wanted:?}");
}

/// The text of an error, with its place as `FILE:LINE`; the place must be in the file of the test.
#[track_caller]
pub fn text<T>(result: cotan::Result<T>, file: &str) -> String {
    let error: Error = result.err().expect("an error");
    let location = error.location().expect("a place");
    assert_eq!(location.file(), file, "{error}");
    let place = format!("{}:{}:{}", location.file(), location.line(), location.column());
    error.to_string().replace(&place, "FILE:LINE")
}
