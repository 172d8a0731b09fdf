//! Arithmetic on tensors, beside what staged functions give.

use std::panic::catch_unwind;

use cotan::prelude::*;
use cotan::{ErrorKind, Result};

fn failed<T: std::fmt::Debug>(result: Result<T>) -> cotan::Error {
    result.unwrap_err()
}

/// Tensors of shapes that fit in all ways, with zeros, signs and special values; some are views.
fn operands<T: Element>(values: &[T]) -> Vec<(Tensor<T>, Tensor<T>)> {
    let filled = |dims: &[usize], shift: usize| {
        let mut n = shift;
        Tensor::from_fn(dims, |_| {
            n += 1;
            values[n % values.len()]
        })
        .unwrap()
    };
    let shapes: [(&[usize], &[usize]); 9] = [
        (&[], &[]),
        (&[3], &[]),
        (&[], &[2, 3]),
        (&[2, 3], &[2, 3]),
        (&[2, 3], &[3]),
        (&[2, 1], &[1, 3]),
        (&[4, 1, 3], &[2, 1]),
        (&[0, 3], &[1]),
        (&[1, 1], &[5]),
    ];
    let mut pairs: Vec<_> = shapes
        .into_iter()
        .enumerate()
        .map(|(n, (a, b))| (filled(a, n), filled(b, 3 * n + 1)))
        .collect();
    pairs.push((filled(&[3, 2], 1).transpose(), filled(&[2, 3], 5)));
    pairs.push((filled(&[2, 3], 2).flip(1).unwrap(), filled(&[3, 2], 7).transpose()));
    pairs
}

fn same<T: Element>(name: &str, a: &Tensor<T>, b: &Tensor<T>) {
    assert_eq!(a.shape(), b.shape(), "{name}");
    // NaNs have other signs and payloads elsewhere, but are where they are.
    let bits = |x: T| if x.to_f64().is_nan() { 1 } else { x.bits() };
    assert!(a.iter().map(bits).eq(b.iter().map(bits)), "{name}: {a} and {b}");
}

macro_rules! arithmetic_is_that_of_programs {
    ($($test:ident $t:ty: $values:expr;)*) => { $(
        #[test]
        fn $test() {
            for (a, b) in operands::<$t>(&$values) {
                let staged = |f: fn(Arr<$t>, Arr<$t>) -> Arr<$t>| jit(f).call((&a, &b)).unwrap();
                same("+", &(&a + &b), &staged(|a, b| a + b));
                same("-", &(&a - &b), &staged(|a, b| a - b));
                same("*", &(&a * &b), &staged(|a, b| a * b));
                same("/", &(&a / &b), &staged(|a, b| a / b));
                same("%", &(&a % &b), &staged(|a, b| a % b));
                let staged = |f: fn(Arr<$t>, Arr<$t>) -> Arr<bool>| jit(f).call((&a, &b)).unwrap();
                same("<", &a.lt(&b).unwrap(), &staged(|a, b| a.lt(b)));
                same("<=", &a.le(&b).unwrap(), &staged(|a, b| a.le(b)));
                same(">", &a.gt(&b).unwrap(), &staged(|a, b| a.gt(b)));
                same(">=", &a.ge(&b).unwrap(), &staged(|a, b| a.ge(b)));
                same("==", &a.equal(&b).unwrap(), &staged(|a, b| a.eq(b)));
                same("!=", &a.not_equal(&b).unwrap(), &staged(|a, b| a.ne(b)));
                same("neg", &-&a, &jit(|a: Arr<$t>| -a).call(&a).unwrap());
                let all = jit(|a: Arr<$t>, b: Arr<$t>| select(a.lt(b), a, b)).call((&a, &b));
                same("select", &a.lt(&b).unwrap().select(&a, &b).unwrap(), &all.unwrap());
            }
        }
    )* };
}

arithmetic_is_that_of_programs! {
    floats_are_as_in_programs f64:
        [0.0, -0.0, 1.5, -2.5, 3.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310, 7.25];
    singles_are_as_in_programs f32: [0.0, -0.0, 1.5, -2.5, 3.0, f32::INFINITY, f32::NAN, 7.25];
    integers_are_as_in_programs i64: [0, 1, -1, 2, -3, 7, -7, i64::MAX, i64::MIN, 10];
}

#[test]
fn reductions_are_as_in_programs() {
    let special = [1.0, -2.0, 4.0, 4.0, 0.5, -8.0];
    for (x, _) in operands::<f64>(&special) {
        macro_rules! compare {
            ($($name:ident $axis:ident $keep:ident ($($arg:expr),*);)*) => { $(
                let all = jit(|x: Arr<f64>| x.$name($($arg),*)).call(&x).unwrap();
                // Sums may be taken in another order.
                let found = Tensor::from(x.$name($($arg),*) as f64);
                let expected = all.cast::<f64>();
                let close = |a: &Tensor<f64>, b: &Tensor<f64>| {
                    let same = |(a, b): (f64, f64)| (a - b).abs() < 1e-12 || a == b || a.is_nan() && b.is_nan();
                    a.shape() == b.shape() && a.iter().zip(b.iter()).all(same)
                };
                assert!(close(&found, &expected), "{found} and {expected}");
                for axis in 0..x.rank() {
                    let along = jit(|x: Arr<f64>| x.$axis(axis, $($arg),*)).call(&x).unwrap();
                    assert!(close(&x.$axis(axis, $($arg),*).unwrap().cast(), &along.cast()));
                    let kept = jit(|x: Arr<f64>| x.$keep(axis, $($arg),*)).call(&x).unwrap();
                    assert!(close(&x.$keep(axis, $($arg),*).unwrap().cast(), &kept.cast()));
                }
                if x.rank() > 1 {
                    let along = jit(|x: Arr<f64>| x.$axis([-1, 0], $($arg),*)).call(&x).unwrap();
                    assert!(close(&x.$axis([-1, 0], $($arg),*).unwrap().cast(), &along.cast()));
                }
            )* };
        }
        compare! {
            sum sum_axis sum_keep ();
            prod prod_axis prod_keep ();
            mean mean_axis mean_keep ();
            var var_axis var_keep (1);
            std std_axis std_keep (0);
            max max_axis max_keep ();
            min min_axis min_keep ();
            argmax argmax_axis argmax_keep ();
            argmin argmin_axis argmin_keep ();
            count_nonzero count_nonzero_axis count_nonzero_keep ();
        }
    }
    let nan = Tensor::from([1.0, f64::NAN, 3.0, f64::NAN]);
    assert!(nan.max().is_nan() && nan.min().is_nan());
    assert_eq!((nan.argmax(), nan.argmin()), (1, 1));
    let none = Tensor::<i64>::zeros([0, 2]).unwrap();
    assert_eq!((none.max(), none.min(), none.sum(), none.prod()), (i64::MIN, i64::MAX, 0, 1));
    assert_eq!(none.sum_axis(0).unwrap(), Tensor::from([0, 0]));
    assert_eq!(none.sum_axis(1).unwrap().shape(), [0]);
}

#[test]
fn arrangements_are_as_in_programs() {
    let x = Tensor::arange(0.0, 24.0, 1.0).unwrap().reshape([2, 3, 4]).unwrap();
    for x in [x.clone(), x.transpose(), x.flip([0, 2]).unwrap(), x.slice(s![.., 1..]).unwrap()] {
        let [a, b, c] = [0, 1, 2].map(|axis| x.shape()[axis]);
        macro_rules! compare {
            ($($method:ident($($arg:expr),*);)*) => { $(
                let staged = jit(|x: Arr<f64>| x.$method($($arg),*)).call(&x).unwrap();
                assert_eq!(x.$method($($arg),*).unwrap(), staged, stringify!($method($($arg),*)));
            )* };
        }
        compare! {
            slice(s![0]);
            slice(s![.., -1]);
            slice(s![..; -1, 1.., ..-1]);
            slice(s![..., ..; 2]);
            slice(s![.., Slice::NewAxis, 0]);
            slice(s![1..1]);
            slice(s![-1, -1, -1]);
            slice(s![..; -2, 0..1, ..; -1]);
            permute([1, 2, 0]);
            move_axis(0, -1);
            move_axis(2, 0);
            flip(1);
            flip([0, -1]);
            expand_dims(0);
            expand_dims([1, -1]);
            broadcast_to([2, a, b, c]);
            reshape([a * b, c]);
        }
        for axis in 0..3 {
            let positions = Tensor::from([[1, 0], [0, 0]]);
            let staged = jit(|x: Arr<f64>, i: Arr<i64>| x.take(i, axis)).call((&x, &positions));
            assert_eq!(x.take(&positions, axis).unwrap(), staged.unwrap());
            let staged = jit(|x: Arr<f64>| concat(&[x, x], axis)).call(&x).unwrap();
            assert_eq!(Tensor::concat(&[&x, &x], axis).unwrap(), staged);
            let staged = jit(|x: Arr<f64>| stack(&[x, x, x], axis)).call(&x).unwrap();
            assert_eq!(Tensor::stack(&[&x, &x, &x], axis).unwrap(), staged);
            let k = x.shape()[axis];
            let staged = jit(|x: Arr<f64>| x.split([1, k - 1], axis)).call(&x).unwrap();
            assert_eq!(x.split([1, k - 1], axis).unwrap(), staged);
        }
        assert_eq!(x.transpose(), jit(|x: Arr<f64>| x.transpose()).call(&x).unwrap());
        assert_eq!(x.flatten(), jit(|x: Arr<f64>| x.flatten()).call(&x).unwrap());
    }
}

#[test]
fn rows_and_blocks_go_through_the_outermost_axis() {
    let x = Tensor::arange(0, 10, 1).unwrap().reshape([5, 2]).unwrap();
    let rows: Vec<Vec<i64>> = x.rows().map(|row| row.to_vec()).collect();
    assert_eq!(rows, [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]);
    let blocks: Vec<Vec<usize>> = x.chunks(2).map(|block| block.shape().to_vec()).collect();
    assert_eq!(blocks, [[2, 2], [2, 2], [1, 2]]);
    assert_eq!(Tensor::concat(&x.chunks(3).collect::<Vec<_>>(), 0).unwrap(), x);
    assert_eq!(x.chunks(usize::MAX).count(), 1);
    assert_eq!(x.chunks(0).len(), 5);
    let scalar = Tensor::from(1.5);
    assert_eq!((scalar.len(), scalar.rows().collect::<Vec<_>>()), (1, vec![scalar.clone()]));
    assert_eq!(scalar.chunks(4).collect::<Vec<_>>(), [scalar]);
    let none = Tensor::<f64>::zeros([0, 2]).unwrap();
    assert_eq!((none.rows().len(), none.chunks(2).len(), none.is_empty()), (0, 0, true));
}

#[test]
fn positions_come_in_many_forms() {
    let x = Tensor::from([[1, 2], [3, 4], [5, 6]]);
    let expected = Tensor::from([[5, 6], [1, 2]]);
    let order = vec![2usize, 0];
    for taken in [
        x.take([2, 0], 0),
        x.take([2usize, 0], 0),
        x.take([2i64, 0], 0),
        x.take(vec![2u8, 0], 0),
        x.take(&order, 0),
        x.take(&[2usize, 0][..], 0),
        x.take(Tensor::from([2, 0]), 0),
    ] {
        assert_eq!(taken.unwrap(), expected);
    }
    assert_eq!(x.take(1..3, 0).unwrap(), x.slice(s![1..3]).unwrap());
    assert_eq!(x.take(Tensor::from(1), 0).unwrap(), x.row(1).unwrap());
    assert_eq!(x.take(Tensor::<i64>::zeros(0).unwrap(), 1).unwrap().shape(), [3, 0]);
}

#[test]
fn errors_say_both_shapes() {
    let (a, b) = (Tensor::<f64>::zeros([2, 3]).unwrap(), Tensor::<f64>::zeros(4).unwrap());
    let texts = [
        failed(a.try_add(&b)),
        failed(a.try_rem(&b)),
        failed(a.lt(&b)),
        failed(a.zip(&Tensor::from([true; 2]), |x, _| x)),
        failed(a.gt(0.0).unwrap().select(&b, &a)),
        failed(b.gt(0.0).unwrap().select(&a, &a)),
        failed(a.reshape([4, 2])),
        failed(a.broadcast_to([3])),
        failed(a.squeeze(0)),
        failed(a.permute([0])),
        failed(a.sum_axis(2)),
        failed(a.mean_keep([0, 0])),
        failed(a.move_axis(0, 5)),
        failed(Tensor::concat(&[&a, &b], 0)),
        failed(Tensor::concat::<Tensor<f64>>(&[], 0)),
        failed(Tensor::stack(&[&a, &b], 0)),
        failed(a.split(2, 1)),
        failed(a.row(2)),
        failed(Tensor::from(1.0).row(0)),
        failed(a.slice(s![.., 3])),
        failed(a.slice(s![0, 0, 0])),
        failed(a.take([0, -1], 1)),
        failed(a.take([0, 7], 1)),
        failed(a.filter(&Tensor::from([true; 3]))),
        failed(Tensor::arange(0.0, 1.0, 0.0)),
        failed(Vec::<Vec<f64>>::try_from(&b)),
    ];
    insta::assert_snapshot!(texts.map(|error| error.to_string()).join("\n"));
    let staged = failed(
        jit(|i: Arr<i64>| Tensor::from([1, 2]).slice(s![i]).map(|part| constant(part))).call(0),
    );
    assert_eq!(staged.kind(), ErrorKind::Scope);
}

#[test]
fn operators_that_do_not_fit_panic_with_both_shapes() {
    let (a, b) = (Tensor::from([1.0, 2.0]), Tensor::from([1.0, 2.0, 3.0]));
    let text = |f: &(dyn Fn() + std::panic::RefUnwindSafe)| {
        let payload = catch_unwind(f).unwrap_err();
        payload.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    let message = "shapes that do not fit: [2]f64 and [3]f64";
    assert!(text(&|| drop(&a + &b)).starts_with(&format!("add: {message}")));
    assert!(text(&|| drop(a.clone() / &b)).starts_with(&format!("div: {message}")));
    assert!(
        text(&|| {
            let mut sum = a.clone();
            sum += &b;
        })
        .starts_with(&format!("add_assign: {message}"))
    );
    assert_eq!(text(&|| _ = a[2]), "there is no element [2] in a tensor of shape [2]");
    assert_eq!(text(&|| _ = a[[0, 0]]), "there is no element [0, 0] in a tensor of shape [2]");
    assert_eq!(text(&|| a.clone()[[2]] = 1.0), "there is no element [2] in a tensor of shape [2]");
}

#[test]
fn operators_take_numbers_and_references_on_both_sides() {
    let x = Tensor::from([1.0, 2.0]);
    let expected = Tensor::from([2.5, 3.0]);
    for y in [&x / 2.0 + 2.0, 2.0 + &x / 2.0, 2.0 + 0.5 * x.clone(), -(x.clone() / -2.0 - 2.0)] {
        assert_eq!(y, expected);
    }
    assert_eq!(x.clone() + x.clone(), 2.0 * &x);
    assert_eq!(x.clone() - &x, Tensor::from([0.0, 0.0]));
    assert_eq!(&x * x.clone(), x.map(|x| x * x));
    assert_eq!(7 % Tensor::from([4, -4]), Tensor::from([3, -1]));
    let mask = x.gt(1.5).unwrap();
    assert_eq!(!&mask ^ &mask | false, Tensor::from([true, true]));
    assert!(!(mask.clone() & !mask).any());
}

#[test]
fn changes_are_seen_by_nobody_else() {
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let mut y = x.transpose();
    y[[0, 1]] = 9.0;
    y += 1.0;
    y *= Tensor::from([1.0, 2.0]);
    y -= &x;
    y /= 2.0;
    y %= 3.0;
    assert_eq!(x, Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
    // ([[1, 9], [2, 4]] + 1) * [1, 2] - x, halved, by 3.
    assert_eq!(y, Tensor::from([[0.5, 0.0], [0.0, 0.0]]));
    let mut row = x.row(1).unwrap();
    row[0] = 0.0;
    assert_eq!((x[[1, 0]], row.to_vec()), (3.0, vec![0.0, 4.0]));
}

#[test]
fn closeness_has_relative_and_absolute_parts() {
    let close = |x: f64, y: f64, r, a| Tensor::from(x).all_close(&Tensor::from(y), r, a);
    assert!(close(1.0, 1.0 + 1e-9, 1e-8, 0.0) && !close(1.0, 1.0 + 1e-7, 1e-8, 0.0));
    assert!(close(0.0, 1e-9, 0.0, 1e-8) && !close(0.0, 1e-9, 1e-8, 0.0));
    assert!(close(f64::INFINITY, f64::INFINITY, 0.0, 0.0));
    assert!(!close(f64::INFINITY, 1.0, 1.0, 1.0) && !close(f64::NAN, f64::NAN, 1.0, 1.0));
    assert!(!Tensor::from([1.0]).all_close(&Tensor::from(1.0), 1.0, 1.0));
}

#[test]
fn collections_become_tensors_and_come_back() {
    let rows = vec![[1, 2], [3, 4], [5, 6]];
    let x = Tensor::from(rows.clone());
    assert_eq!(x, Tensor::from(rows.as_slice()));
    assert_eq!(Vec::<Vec<i64>>::try_from(&x.transpose()).unwrap(), [[1, 3, 5], [2, 4, 6]]);
    assert_eq!(Vec::<i64>::from(x.transpose()), [1, 3, 5, 2, 4, 6]);
    let cube = Tensor::from([[[1, 2]], [[3, 4]]]);
    assert_eq!(Vec::<Vec<Vec<i64>>>::try_from(&cube).unwrap(), [[[1, 2]], [[3, 4]]]);
    assert_eq!(x.iter().collect::<Tensor<i64>>(), x.flatten());
    let mut sum = 0;
    for element in &x {
        sum += element;
    }
    assert_eq!(sum, x.sum());
    assert_eq!(Tensor::<f64>::eye(2).unwrap(), Tensor::from([[1.0, 0.0], [0.0, 1.0]]));
    let staged = jit(|x: Arr<f64>| x + linspace(1.0, 2.0, 7)).call(0.0).unwrap();
    assert!(Tensor::linspace(1.0, 2.0, 7).unwrap().all_close(&staged, 1e-15, 0.0));
    assert_eq!(Tensor::linspace(1.0, 2.0, 1).unwrap(), Tensor::from([1.0]));
}
