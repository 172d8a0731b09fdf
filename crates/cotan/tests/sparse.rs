//! Sparse derivatives of functions of the Rust library.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed unwrap is a failed test"
)]

use cotan::prelude::*;

/// The residual of -laplace(u) = exp(u) on a grid, with zeros around it.
fn bratu(u: Arr<f64>) -> Arr<f64> {
    let (n, m) = (u.shape()[0], u.shape()[1]);
    build([n, m], |[i, j]| {
        let around = u.at_or_zero([i - 1, j]) + u.at_or_zero([i + 1, j]);
        let around = around + u.at_or_zero([i, j - 1]) + u.at_or_zero([i, j + 1]);
        4.0 * u.at([i, j]) - around - 0.01 * u.at([i, j]).exp()
    })
}

fn grid(n: usize) -> Tensor<f64> {
    Tensor::new([n, n], (0..n * n).map(|k| 0.1 + (k as f64 * 0.7).sin()).collect()).unwrap()
}

#[test]
fn a_grid_agrees_with_the_dense_jacobian() {
    let u = grid(5);
    let (value, j) = sparse_jacobian(bratu).value_and_call(&u).unwrap();
    assert_eq!(value, jit(bratu).call(&u).unwrap());
    let dense = jacobian(bratu).call(&u).unwrap().to_vec();
    assert_eq!(j.to_dense().unwrap().to_vec(), dense);
    assert_eq!(j.values().len(), 5 * 25 - 4 * 5);
    // Products with the matrix are those with the dense one.
    let x: Vec<f64> = (0..25).map(f64::from).collect();
    let expected: Vec<f64> =
        dense.chunks(25).map(|r| r.iter().zip(&x).map(|(a, b)| a * b).sum()).collect();
    for (a, b) in j.times(&x).unwrap().iter().zip(&expected) {
        assert!((a - b).abs() < 1e-12);
    }
    assert!(j.times(&[1.0]).unwrap_err().to_string().contains("25 elements"));
}

/// A large one: the number of products does not grow.
#[test]
fn a_hundred_thousand_unknowns_take_few_products() {
    let u = grid(317);
    let jacobian = sparse_jacobian(bratu);
    let explained = jacobian.explain(&u).unwrap();
    assert!(explained.colors <= 7, "{explained}");
    let j = jacobian.call(&u).unwrap();
    assert_eq!(j.shape(), [317 * 317; 2]);
    assert_eq!(j.get(0, 1), Some(-1.0));
    assert_eq!(j.get(0, 2), Some(0.0));
    assert_eq!(j.get(0, 317 * 317), None);
}

#[test]
fn patterns_follow_index_arrays() {
    let f = |x: Arr<f64>, p: Arr<i64>| build(p.len(), |i| x.at(p.at(i)) * x.at(p.at(i)));
    let jacobian = sparse_jacobian(f);
    let x = Tensor::from([1.0, 2.0, 3.0]);
    let at = |p: [i64; 2]| jacobian.call((&x, p)).unwrap();
    assert_eq!(at([0, 2]).columns(), [0, 2]);
    assert_eq!(at([0, 2]).values(), [2.0, 6.0]);
    assert_eq!(at([1, 1]).columns(), [1, 1]);
    assert_eq!(jacobian.explain((&x, [0, 1])).unwrap().decided_by, [1]);
}

/// Where the pattern depends on the values, each call looks again.
#[test]
fn patterns_follow_values() {
    let f = |x: Arr<f64>| build(2, |i| x.at(x.argmax()) * x.at(i));
    let jacobian = sparse_jacobian(f);
    assert_eq!(jacobian.call([1.0, 2.0, 9.0]).unwrap().columns(), [0, 2, 1, 2]);
    assert_eq!(jacobian.call([8.0, 2.0, 1.0]).unwrap().columns(), [0, 0, 1]);
}

#[test]
fn several_arguments_and_types() {
    let f = |x: Arr<f32>, y: Arr<f32>| build(3, |i| x.at(i) * y.at(i));
    let args = ([1.0f32, 2.0, 3.0], [4.0f32, 5.0, 6.0]);
    let j = sparse_jacobian(f).wrt(AllArgs).call(args).unwrap();
    assert_eq!(j.shape(), [3, 6]);
    assert_eq!(j.values(), [4.0, 1.0, 5.0, 2.0, 6.0, 3.0]);
    let j = sparse_jacobian(f).wrt(Arg::<1>).call(args).unwrap();
    assert_eq!(j.values(), [1.0, 2.0, 3.0]);
}

#[test]
fn mistakes_are_errors_with_the_line() {
    let error = sparse_hessian(|x: Arr<f64>| x * x).call([1.0, 2.0]).unwrap_err().to_string();
    assert!(error.contains("scalar") && error.contains("sparse.rs"), "{error}");
    let f = |x: Arr<f64>, n: Arr<i64>| x * n.cast::<f64>();
    let error = sparse_jacobian(f).wrt(Arg::<1>).call(([1.0], [2])).unwrap_err().to_string();
    assert!(error.contains("cannot differentiate by"), "{error}");
    let f = |x: Arr<f64>| (x * x).sum();
    let error = sparse_hessian(f).value_and_call([1.0]).unwrap_err().to_string();
    assert!(error.contains("only a Jacobian"), "{error}");
}
