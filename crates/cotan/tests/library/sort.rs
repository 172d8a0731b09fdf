//! Sorting and cumulative operations: values against plain Rust, derivatives, corners, errors.

use crate::support::plain::{SHAPES, along, assert_close, scattered, text};
use crate::support::{check, check_rough};
use cotan::prelude::*;
use cotan_testkit::Rng;

/// Checks a function along each axis of each shape.
fn everywhere(f: fn(Arr<f64>, i32) -> Arr<f64>, plain: impl Fn(&[f64]) -> Vec<f64>, smooth: bool) {
    let mut rng = Rng::new(23);
    for shape in SHAPES {
        for axis in 0..shape.len() {
            let x = scattered(shape, &mut rng);
            let wanted = along(&x, axis, &plain);
            for axis in [axis as i32, axis as i32 - shape.len() as i32] {
                let found = jit(move |x: Arr<f64>| f(x, axis)).call(&x).unwrap();
                if x.size() > 0 {
                    assert_eq!(found.shape(), wanted.shape());
                }
                assert_close(&found.to_vec(), &wanted.to_vec());
            }
            let f = move |x: Arr<f64>| f(x, axis as i32);
            if smooth { check(f, &x) } else { check_rough(f, &x) }
        }
    }
}

/// The running values of a combination.
fn running(f: fn(f64, f64) -> f64) -> impl Fn(&[f64]) -> Vec<f64> {
    move |v| (1..=v.len()).map(|n| v[..n].iter().copied().reduce(f).unwrap()).collect()
}

fn reversed(f: impl Fn(&[f64]) -> Vec<f64>) -> impl Fn(&[f64]) -> Vec<f64> {
    move |v| {
        let mut back: Vec<f64> = v.iter().rev().copied().collect();
        back = f(&back);
        back.reverse();
        back
    }
}

#[test]
fn cumulative_operations() {
    everywhere(Arr::cumsum, running(|a, b| a + b), true);
    everywhere(Arr::cumsum_reverse, reversed(running(|a, b| a + b)), true);
    everywhere(Arr::cumprod, running(|a, b| a * b), true);
    everywhere(Arr::cumprod_reverse, reversed(running(|a, b| a * b)), true);
    everywhere(Arr::cummax, running(f64::max), true);
    everywhere(Arr::cummax_reverse, reversed(running(f64::max)), true);
    everywhere(Arr::cummin, running(f64::min), true);
    everywhere(Arr::cummin_reverse, reversed(running(f64::min)), true);
    let log_add = |a: f64, b: f64| (a.exp() + b.exp()).ln();
    everywhere(Arr::cumlogsumexp, running(log_add), true);
    everywhere(Arr::cumlogsumexp_reverse, reversed(running(log_add)), true);
    everywhere(Arr::diff, |v| v.windows(2).map(|w| w[1] - w[0]).collect(), true);
}

#[test]
fn cumulative_corners() {
    let f = |x: Arr<f64>| x.cumprod(0).sum();
    assert_eq!(grad(f).call([2.0, 0.0, 5.0]).unwrap().to_vec(), [1.0, 12.0, 0.0]);
    let inf = f64::INFINITY;
    let f = |x: Arr<f64>| x.cumlogsumexp(0);
    assert_eq!(jit(f).call([-inf, -inf, 1.0, inf]).unwrap().to_vec(), [-inf, -inf, 1.0, inf]);
    let f = |x: Arr<f64>| x.cumlogsumexp(0).at(2);
    assert_eq!(grad(f).call([-inf, -inf, 1.0]).unwrap().to_vec(), [0.0, 0.0, 1.0]);
    let f = jit(|x: Arr<i64>| (x.cumsum(0), x.cummax(0), x.diff(0)));
    let (sum, max, diff) = f.call([3, 1, 4]).unwrap();
    assert_eq!((sum.to_vec(), max.to_vec()), (vec![3, 4, 8], vec![3, 3, 4]));
    assert_eq!(diff.to_vec(), [-2, 3]);
}

#[test]
fn sorting() {
    let ascending = |v: &[f64]| {
        let mut v = v.to_vec();
        v.sort_by(f64::total_cmp);
        v
    };
    let descending = move |v: &[f64]| ascending(v).into_iter().rev().collect::<Vec<_>>();
    everywhere(Arr::sort, ascending, true);
    everywhere(Arr::sort_descending, descending, true);
    let order = |v: &[f64]| {
        let mut places: Vec<usize> = (0..v.len()).collect();
        places.sort_by(|&a, &b| v[a].total_cmp(&v[b]));
        places
    };
    everywhere(
        |x, axis| x.argsort(axis).cast(),
        move |v| order(v).into_iter().map(|k| k as f64).collect(),
        false,
    );
    everywhere(
        |x, axis| x.argsort_descending(axis).cast(),
        move |v| order(v).into_iter().rev().map(|k| k as f64).collect(),
        false,
    );
    // By the distance from 1.
    everywhere(
        |x, axis| x.sort_by_key((x - 1.0).abs(), axis),
        |v| {
            let mut v = v.to_vec();
            v.sort_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs()));
            v
        },
        false,
    );
}

#[test]
fn sorting_is_stable_and_puts_nan_last() {
    let nan = f64::NAN;
    let f = jit(|x: Arr<f64>| (x.argsort(0), x.argsort_descending(0)));
    let (up, down) = f.call([nan, 2.0, -0.0, 0.0, 2.0]).unwrap();
    assert_eq!(up.to_vec(), [2, 3, 1, 4, 0]);
    assert_eq!(down.to_vec(), [1, 4, 2, 3, 0]);
    let f = jit(|x: Arr<i64>| x.sort_descending(0));
    let extremes = [0, i64::MIN, i64::MAX, -1];
    assert_eq!(f.call(extremes).unwrap().to_vec(), [i64::MAX, 0, -1, i64::MIN]);
}

#[test]
fn the_largest_few() {
    let x = [[3.0, 1.0, 2.0], [1.0, f64::NAN, 1.0]];
    let (values, places) = jit(|x: Arr<f64>| x.top_k(2, -1)).call(x).unwrap();
    assert_eq!((values.shape(), values.to_vec()), (&[2, 2][..], vec![3.0, 2.0, 1.0, 1.0]));
    assert_eq!(places.to_vec(), [0, 2, 0, 2]);
    let (values, places) = jit(|x: Arr<f64>| x.top_k(1, 0)).call(x).unwrap();
    assert_eq!((values.shape(), places.to_vec()), (&[1, 3][..], vec![0, 0, 0]));
    let (values, _) = jit(|x: Arr<f64>| x.top_k(0, 1)).call(x).unwrap();
    assert_eq!(values.shape(), [2, 0]);
    let mut rng = Rng::new(3);
    check(|x: Arr<f64>| x.top_k(2, 0).0, scattered(&[4, 3], &mut rng));
}

#[test]
fn errors_say_what_to_do() {
    let many = compile(|x: Arr<f64>| x.top_k(4, 1), [2, 3]);
    assert_eq!(
        text(many, file!()),
        "top_k: 4 elements of [2, 3]f64 along axis 1\n  at FILE:LINE\n  hint: there are 3"
    );
    let keys = compile(|x: Arr<f64>, k: Arr<i64>| x.sort_by_key(k, 0), ([2, 3], [2]));
    assert_eq!(
        text(keys, file!()),
        "sort_by_key: [2, 3]f64 by keys [2]i64\n  at FILE:LINE\n  \
         hint: every element needs a key: the shapes must be equal"
    );
    let scalar = compile(|x: Arr<f64>| x.cumsum(0), ());
    assert_eq!(
        text(scalar, file!()),
        "cumsum: there is no axis 0 in 0 axes\n  at FILE:LINE\n  hint: a scalar has none"
    );
}
