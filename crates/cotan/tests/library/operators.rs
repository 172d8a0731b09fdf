//! Reductions, scans and reductions by index with operators of one's own: values against plain loops,
//! derivatives, zeros in products, corners, errors.

use crate::support::{check, check_rough};
use cotan::prelude::*;

/// Lengths around the powers of two, at which trees differ.
const LENGTHS: [usize; 9] = [1, 2, 3, 4, 5, 7, 8, 9, 13];

fn numbers(n: usize) -> Tensor<f64> {
    Tensor::from((0..n).map(|k| 0.5 + ((k * 7 + 3) % 11) as f64 / 8.0).collect::<Vec<_>>())
}

/// `a + b + a b`: associative, with the neutral element 0.
fn joined<T: Float>(a: Arr<T>, b: Arr<T>) -> Arr<T> {
    a + b + a * b
}

/// Affine maps, the first applied first: associative, and not commutative.
fn affine((a, b): (Arr<f64>, Arr<f64>), (c, d): (Arr<f64>, Arr<f64>)) -> (Arr<f64>, Arr<f64>) {
    (a * c, b * c + d)
}

#[test]
fn reductions_are_loops() {
    for n in LENGTHS {
        let x = numbers(n);
        let tree = jit(|x: Arr<f64>| reduce(0.0, x, joined)).call(&x).unwrap();
        let looped = x.iter().fold(0.0, |a, b| a + b + a * b);
        assert!((tree.item().unwrap() - looped).abs() < 1e-12 * looped.abs(), "{n}");
        check(|x: Arr<f64>| reduce(0.0, x, joined), &x);
        let pair = |x: Arr<f64>| {
            let (a, b) = reduce((1.0, 0.0), (x, x * x), affine);
            a + b * b
        };
        check(pair, &x);
        let found = jit(pair).call(&x).unwrap().item().unwrap();
        let (a, b) = x.iter().fold((1.0, 0.0), |(a, b), c| (a * c, b * c + c * c));
        assert!((found - (a + b * b)).abs() <= 1e-12 * found.abs(), "{n}");
    }
}

#[test]
fn scans_are_loops_in_both_directions() {
    for n in LENGTHS {
        let x = numbers(n);
        let found = jit(|x: Arr<f64>| associative_scan((x, x * x), affine).1).call(&x).unwrap();
        let mut state = (1.0, 0.0);
        for (found, c) in found.iter().zip(x.iter()) {
            state = (state.0 * c, state.1 * c + c * c);
            assert!((found - state.1).abs() <= 1e-12 * found.abs(), "{n}");
        }
        let back =
            jit(|x: Arr<f64>| associative_scan_reverse((x, x * x), affine).1).call(&x).unwrap();
        let mut state = (1.0, 0.0);
        for (found, c) in back.iter().zip(x.iter()).collect::<Vec<_>>().into_iter().rev() {
            // The element comes before those after it.
            state = (c * state.0, c * c * state.0 + state.1);
            assert!((found - state.1).abs() <= 1e-12 * found.abs(), "{n}");
        }
        check(|x: Arr<f64>| associative_scan((x, x * x), affine).1, &x);
        check(|x: Arr<f64>| associative_scan_reverse((x, x * x), affine).1, &x);
        check(|x: Arr<f64>| associative_scan(x, |a, b| a * b), &x);
        check_rough(|x: Arr<f64>| associative_scan_reverse(x, |a, b| a.maximum(b)), &x);
    }
}

/// The derivative by a factor is the product of the others, whether some of them are 0 or not.
#[test]
fn zeros_in_products() {
    let product = |x: Arr<f64>| reduce(1.0, x, |a, b| a * b);
    let slope = |x: [f64; 4]| grad(product).call(x).unwrap().to_vec();
    assert_eq!(slope([2.0, 0.0, 3.0, 5.0]), [0.0, 30.0, 0.0, 0.0]);
    assert_eq!(slope([2.0, 0.0, 3.0, 0.0]), [0.0; 4]);
    assert_eq!(
        grad(|x: Arr<f64>| x.prod()).call([2.0, 0.0, 3.0]).unwrap().to_vec(),
        [0.0, 6.0, 0.0]
    );
    // Second derivatives of two zeros are the product of the others.
    let h = hessian(product).call([2.0, 0.0, 3.0, 0.0]).unwrap();
    assert_eq!((h.get(&[1, 3]), h.get(&[0, 1])), (Some(6.0), Some(0.0)));
    let by_index = |x: Arr<f64>| reduce_by_index(1.0, 2, constant([0, 1, 0, 0]), x, |a, b| a * b);
    let weighted = move |x: Arr<f64>| (by_index(x) * constant([1.0, 10.0])).sum();
    let slope = grad(weighted).call([0.0, 0.0, 3.0, 5.0]).unwrap();
    assert_eq!(slope.to_vec(), [15.0, 10.0, 0.0, 0.0]);
    let running = |x: Arr<f64>| associative_scan(x, |a, b| a * b).sum();
    assert_eq!(grad(running).call([2.0, 0.0, 3.0]).unwrap().to_vec(), [1.0, 8.0, 0.0]);
}

#[test]
fn extremes_go_to_the_first_of_equals() {
    let largest = |x: Arr<f64>| reduce(f64::NEG_INFINITY, x, |a, b| a.maximum(b));
    assert_eq!(grad(largest).call([1.0, 4.0, 4.0]).unwrap().to_vec(), [0.0, 1.0, 0.0]);
    let rows = |x: Arr<f64>| reduce(full(2, f64::INFINITY), x, |a, b| a.minimum(b));
    let x = [[3.0, 1.0], [2.0, 5.0], [2.0, 1.0]];
    assert_eq!(jit(rows).call(x).unwrap().to_vec(), [2.0, 1.0]);
    let slope = grad(move |x: Arr<f64>| rows(x).sum()).call(x).unwrap();
    assert_eq!(slope.to_vec(), [0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
}

#[test]
fn reductions_by_index_are_loops() {
    let ids = [2i64, 0, 2, 7, 0, -1, 2];
    let x = numbers(7);
    let general = move |x: Arr<f64>| reduce_by_index(0.0, 4, constant(ids), x, joined);
    let found = jit(general).call(&x).unwrap();
    let mut bins = [0.0; 4];
    for (&id, c) in ids.iter().zip(x.iter()) {
        if let Some(bin) = usize::try_from(id).ok().and_then(|id| bins.get_mut(id)) {
            *bin = *bin + c + *bin * c;
        }
    }
    assert_eq!(found.to_vec(), bins);
    check(general, &x);
    check(move |x: Arr<f64>| reduce_by_index(1.0, 4, constant(ids), x, |a, b| a * b), &x);
    check(move |x: Arr<f64>| reduce_by_index(0.0, 4, constant(ids), x, |a, b| a + b), &x);
    // Structures: sums and largest elements at once, of vectors.
    let both = move |x: Arr<f64>| {
        let rows = build([7, 2], |[i, j]| x.at(i) * (j + 1).cast::<f64>());
        let (sums, largest) = reduce_by_index(
            (zeros(2), full(2, 0.0)),
            4,
            constant(ids),
            (rows, rows),
            |(a, b), (c, d)| (a + c, b.maximum(d)),
        );
        sums * largest
    };
    check_rough(both, &x);
}

#[test]
fn operators_capture_and_nest() {
    // Under `build`, with a captured parameter, and in a loop.
    let f = |x: Arr<f64>, y: Arr<f64>| {
        build(3, |i| reduce(0.0, x, |a, b| a + b + y.at(i) * a * b)).sum()
    };
    let x = Tensor::from([0.5, 0.25, 1.0, 2.0]);
    let y = Tensor::from([1.0, 2.0, 0.5]);
    let (dx, dy) = grad(f).wrt(AllArgs).call((&x, &y)).unwrap();
    let value = |x: &[f64], y: &[f64]| -> f64 {
        y.iter().map(|y| x.iter().fold(0.0, |a, b| a + b + y * a * b)).sum()
    };
    let (x, y) = (x.to_vec(), y.to_vec());
    for (k, slope) in dx.iter().enumerate() {
        let at = |h: f64| {
            value(
                &x.iter()
                    .enumerate()
                    .map(|(n, v)| if n == k { v + h } else { *v })
                    .collect::<Vec<_>>(),
                &y,
            )
        };
        assert!(((at(1e-5) - at(-1e-5)) / 2e-5 - slope).abs() < 1e-6 * slope.abs(), "{k}");
    }
    assert_eq!(dy.size(), 3);
}

#[test]
fn corners_and_errors() {
    let none: Tensor<f64> = Tensor::full([0], 0.0).unwrap();
    assert_eq!(jit(|x: Arr<f64>| reduce(7.0, x, joined)).call(&none).unwrap(), 7.0);
    assert_eq!(jit(|x: Arr<f64>| associative_scan(x, joined)).call(&none).unwrap().size(), 0);
    let bins = jit(|x: Arr<f64>| reduce_by_index(7.0, 2, iota(0), x, joined)).call(&none).unwrap();
    assert_eq!(bins.to_vec(), [7.0, 7.0]);
    let text = |error: cotan::Error| error.to_string();
    let wrong = compile(|x: Arr<f64>| reduce(0.0, x, |a, b| a.replicate(2) + b), [3]);
    assert!(text(wrong.unwrap_err()).contains("the combination of two f64 is [2]f64"));
    let lengths = compile(|x: Arr<f64>, y: Arr<f64>| associative_scan((x, y), affine), ([3], [2]));
    assert!(text(lengths.unwrap_err()).contains("different lengths"));
    let ids = compile(|x: Arr<f64>| reduce_by_index(0.0, 2, iota(4), x, joined), [3]);
    assert!(text(ids.unwrap_err()).contains("ids [4]i64 for 3 elements"));
    assert!(compile(|x: Arr<f64>| reduce(0.0, x, joined), ()).is_err());
}
