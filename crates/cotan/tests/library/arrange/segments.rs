//! Reductions of segments.

use super::*;
use crate::support::check_rough;

/// The elements of a column of the parts with an id.
fn members(x: &Tensor<f64>, ids: &[i64], id: usize, rest: &[usize]) -> Vec<f64> {
    let parts = ids.iter().enumerate().filter(|&(_, &i)| i == id as i64);
    parts.map(|(part, _)| x.get(&[&[part], rest].concat()).unwrap()).collect()
}

#[test]
fn segments_are_reduced() {
    let mut rng = Rng::new(51);
    for dims in shapes(&mut rng, 1) {
        for n in [0, 1, 3] {
            // Few different values: ties are common.
            let x = Tensor::from_fn(&dims, |_| rng.between(-2, 2) as f64).unwrap();
            let ids: Vec<i64> = (0..dims[0]).map(|_| rng.between(-1, 3)).collect();
            let sizes = [&[n], &dims[1..]].concat();
            let expected = |f: &dyn Fn(Vec<f64>) -> f64| {
                Tensor::from_fn(&sizes, |is| f(members(&x, &ids, is[0], &is[1..]))).unwrap()
            };
            let reduce = move |x: Arr<f64>, ids: Arr<i64>| {
                (x.segment_sum(ids, n), x.segment_max(ids, n), x.segment_min(ids, n))
            };
            let (sum, max, min) = jit(reduce).call((&x, &ids)).unwrap();
            assert_eq!(sum, expected(&|xs| xs.iter().sum()));
            assert_eq!(max, expected(&|xs| xs.into_iter().fold(f64::NEG_INFINITY, f64::max)));
            assert_eq!(min, expected(&|xs| xs.into_iter().fold(f64::INFINITY, f64::min)));
            assert_eq!(max.shape(), sizes);
            check_rough(reduce, (&x, &ids));
            check(move |x: Arr<f64>, ids: Arr<i64>| x.segment_sum(ids, n), (&x, &ids));
            let means = jit(move |x: Arr<f64>, ids: Arr<i64>| x.segment_mean(ids, n));
            let mean = means.call((&x, &ids)).unwrap();
            let wanted = expected(&|xs| xs.iter().sum::<f64>() / xs.len() as f64);
            let same = |(a, b): (f64, f64)| a == b || (a.is_nan() && b.is_nan());
            assert!(mean.iter().zip(wanted.iter()).all(same), "{mean} instead of {wanted}");
        }
    }
}

#[test]
fn positions_of_extremes_are_found() {
    let f = jit(|x: Arr<f64>, i: Arr<i64>| (x.segment_argmax(i, 3), x.segment_argmin(i, 3)));
    let x = [[1.0, 6.0], [1.0, 6.0], [0.5, 7.0], [9.0, 9.0]];
    let (max, min) = f.call((x, [2, 2, 2, -1])).unwrap();
    assert_eq!(max, Tensor::from([[4, 4], [4, 4], [0, 2]]));
    assert_eq!(min, Tensor::from([[4, 4], [4, 4], [2, 0]]));
    let f = jit(|x: Arr<bool>, i: Arr<i64>| x.segment_argmax(i, 2));
    assert_eq!(f.call(([false, true, false], [0, 1, 0])).unwrap(), Tensor::from([0, 1]));
}

#[test]
fn means_have_derivatives() {
    let f = |x: Arr<f64>, ids: Arr<i64>| x.segment_mean(ids, 2);
    check(f, ([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], [1, 0, 1]));
}

#[test]
fn the_first_among_equals_gets_the_derivative() {
    let ids = || constant([0, 1, 0, 0, 1]);
    let weights = || constant([10.0, 20.0]);
    let largest = grad(move |x: Arr<f64>| (x.segment_max(ids(), 2) * weights()).sum());
    let x = [1.0, 4.0, 2.0, 2.0, 4.0];
    assert_eq!(largest.call(x).unwrap(), Tensor::from([0.0, 20.0, 10.0, 0.0, 0.0]));
    let smallest = grad(move |x: Arr<f64>| (x.segment_min(ids(), 2) * weights()).sum());
    assert_eq!(smallest.call(x).unwrap(), Tensor::from([10.0, 20.0, 0.0, 0.0, 0.0]));
}

#[test]
fn extremes_are_nan_where_there_is_one() {
    let f = jit(|x: Arr<f64>, i: Arr<i64>| (x.segment_max(i, 2), x.segment_min(i, 2)));
    let (max, min) = f.call(([1.0, f64::NAN, -1.0, 2.0], [0, 0, 0, 1])).unwrap();
    assert!(max.get(&[0]).unwrap().is_nan() && min.get(&[0]).unwrap().is_nan());
    assert_eq!((max.get(&[1]), min.get(&[1])), (Some(2.0), Some(2.0)));
}

#[test]
fn extremes_of_integers_reach_the_ends() {
    let f = jit(|x: Arr<i64>, i: Arr<i64>| (x.segment_max(i, 3), x.segment_min(i, 3)));
    let x = [i64::MIN, 5, i64::MAX, i64::MIN];
    let (max, min) = f.call((x, [0, 0, 1, 1])).unwrap();
    assert_eq!(max, Tensor::from([5, i64::MAX, i64::MIN]));
    assert_eq!(min, Tensor::from([i64::MIN, i64::MIN, i64::MAX]));
}
