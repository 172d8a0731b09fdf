//! The corner cases of `docs/semantics.md`, one test each.

mod common;

use common::*;
use cotan_array::Dtype;
use cotan_interp::Value;
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{Extreme, MapAccum, Param};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

#[test]
fn a_read_out_of_range_is_zero_of_its_type() {
    for i in [-1, 3, i64::MIN, i64::MAX] {
        for (array, zero) in [
            (floats(&[5.0; 3]), Value::scalar(0.0f64)),
            (Value::of(&[3], vec![5.0f32; 3]).unwrap(), Value::scalar(0.0f32)),
            (ints(&[5; 3]), Value::scalar(0i64)),
            (Value::of(&[3], vec![true; 3]).unwrap(), Value::scalar(false)),
        ] {
            let got = run(&[array, Value::scalar(i)], |b, xs| {
                let r = b.index_function(&[2], |_, _| Ok(vec![xs[1]]))?;
                let gathered = b.gather(xs[0], r)?;
                let zero = b.scalar(0i64)?;
                Ok(vec![b.index(xs[0], &[xs[1]])?, b.index(gathered, &[zero])?])
            });
            assert_same(&got.outputs[0], &zero);
            assert_same(&got.outputs[1], &zero);
        }
    }
}

/// A component out of range makes the whole index so, though the flat position would exist.
#[test]
fn one_component_out_of_range_is_enough() {
    let a = tabulate(&[2, 3], |ix| (10 * ix[0] + ix[1]) as f64);
    let got =
        eval(&[a, Value::scalar(0i64), Value::scalar(4i64)], |b, xs| b.index(xs[0], &xs[1..]));
    assert_same(&got, &Value::scalar(0.0));
}

#[test]
fn a_scatter_out_of_range_is_dropped() {
    let got = eval(&[floats(&[1.0, 2.0, 4.0, 8.0]), ints(&[0, -1, 2, 1])], |b, xs| {
        let r = b.index_function(&[4], |b, is| Ok(vec![b.index(xs[1], is)?]))?;
        b.scatter(&[2], xs[0], r)
    });
    assert_same(&got, &floats(&[1.0, 8.0]));
}

/// `<gather x, y> = <x, scatter y>` for indices that leave the array on both sides.
#[test]
fn gather_and_scatter_are_transposes() {
    let x = floats(&[3.0, 5.0, 7.0]);
    let y = floats(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
    let got = run(&[x, y, ints(&[2, 0, 3, -1, 0, 2])], |b, xs| {
        let r = b.index_function(&[6], |b, is| Ok(vec![b.index(xs[2], is)?]))?;
        let (gathered, scattered) = (b.gather(xs[0], r)?, b.scatter(&[3], xs[1], r)?);
        let left = b.op(Op::Mul, &[gathered, xs[1]])?;
        let right = b.op(Op::Mul, &[xs[0], scattered])?;
        Ok(vec![b.sum_outer(left)?, b.sum_outer(right)?])
    });
    assert_same(&got.outputs[0], &Value::scalar(7.0 + 6.0 + 48.0 + 224.0));
    assert_same(&got.outputs[1], &got.outputs[0]);
}

#[test]
fn integers_wrap_and_divide_by_zero_to_zero() {
    let inputs = [ints(&[i64::MAX, 7, -7]), ints(&[1, 0, 0])];
    let got = run(&inputs, |b, xs| {
        let ops = [Op::Add, Op::FloorDiv, Op::Rem];
        let mut outputs = ops.map(|op| b.op(op, xs)).into_iter().collect::<Result<Vec<_>, _>>()?;
        let both = b.stack(&[xs[0], xs[1]])?;
        outputs.push(b.sum_outer(both)?);
        Ok(outputs)
    });
    assert_same(&got.outputs[0], &ints(&[i64::MIN, 7, -7]));
    assert_same(&got.outputs[1], &ints(&[i64::MAX, 0, 0]));
    assert_same(&got.outputs[2], &ints(&[0, 0, 0]));
    assert_same(&got.outputs[3], &ints(&[i64::MIN, 7, -7]));
}

#[test]
fn conversions_saturate_and_nan_is_zero() {
    let x = floats(&[2.9, -2.9, 1e300, -INF, NAN, -0.0]);
    let got = run(&[x], |b, xs| {
        let i = b.op(Op::ToI64, &[xs[0]])?;
        Ok(vec![i, b.op(Op::ToBool, &[xs[0]])?, b.op(Op::ToF64, &[i])?])
    });
    assert_same(&got.outputs[0], &ints(&[2, -2, i64::MAX, i64::MIN, 0, 0]));
    let truths = vec![true, true, true, true, true, false];
    assert_same(&got.outputs[1], &Value::of(&[6], truths).unwrap());
    let back = [2.0, -2.0, 9223372036854775808.0, -9223372036854775808.0, 0.0, 0.0];
    assert_same(&got.outputs[2], &floats(&back));
}

#[test]
fn a_sum_starts_at_positive_zero_and_runs_from_left_to_right() {
    let sum = |x: Value| eval(&[x], |b, xs| b.sum_outer(xs[0]));
    assert_same(&sum(floats(&[])), &Value::scalar(0.0));
    assert_same(&sum(floats(&[-0.0, -0.0])), &Value::scalar(0.0));
    // From the right, or in pairs, the ones would survive.
    assert_same(&sum(floats(&[1.0, 1e100, 1.0, -1e100])), &Value::scalar(0.0));
    assert_same(&sum(floats(&[1e100, -1e100, 1.0, 1.0])), &Value::scalar(2.0));
    let big = Value::of(&[3], vec![16777216.0f32, 1.0, 1.0]).unwrap();
    assert_same(&sum(big), &Value::scalar(16777216.0f32));
    assert_same(&sum(ints(&[])), &Value::scalar(0i64));
}

#[test]
fn a_scatter_adds_in_the_order_of_its_source() {
    let scatter = |x: &[f64]| {
        eval(&[floats(x)], |b, xs| {
            let zero = b.scalar(0i64)?;
            let r = b.index_function(&[x.len()], |_, _| Ok(vec![zero]))?;
            b.scatter(&[1], xs[0], r)
        })
    };
    assert_same(&scatter(&[1.0, 1e100, 1.0, -1e100]), &floats(&[0.0]));
    assert_same(&scatter(&[1e100, -1e100, 1.0, 1.0]), &floats(&[2.0]));
    assert_same(&scatter(&[-0.0]), &floats(&[0.0]));
}

/// `oneHot` places an element, it does not add it.
#[test]
fn one_hot_keeps_negative_zero() {
    let got =
        eval(&[Value::scalar(-0.0), Value::scalar(1i64)], |b, xs| b.one_hot(&[2], xs[0], &xs[1..]));
    assert_same(&got, &floats(&[0.0, -0.0]));
}

#[test]
fn extremes_of_ties_zeros_nans_and_nothing() {
    let arg = |extreme, x: Value| eval(&[x], |b, xs| b.arg_extreme(extreme, xs[0]));
    let both = |x: Value| {
        let [max, min] = [Extreme::Max, Extreme::Min].map(|e| arg(e, x.clone()).elements()[0]);
        (max, min)
    };
    let at = |max, min| (Scalar::I64(max), Scalar::I64(min));
    assert_eq!(both(floats(&[])), at(0, 0));
    assert_eq!(both(floats(&[1.0, 3.0, 3.0, 1.0])), at(1, 0));
    assert_eq!(both(floats(&[-0.0, 0.0])), at(0, 0));
    assert_eq!(both(floats(&[1.0, NAN, INF, NAN])), at(1, 1));
    assert_eq!(both(floats(&[NAN, -INF])), at(0, 0));
    assert_eq!(both(floats(&[-INF, -INF, NAN])), at(2, 2));
    assert_eq!(both(ints(&[i64::MIN, i64::MAX])), at(1, 0));
    assert_eq!(both(Value::of(&[3], vec![true, false, true]).unwrap()), at(0, 1));
}

#[test]
fn extremes_by_segment_of_ties_zeros_nans_and_nothing() {
    let found = |x: Value, ids: &[i64], segments: usize| {
        [Extreme::Max, Extreme::Min].map(|extreme| {
            let inputs = [x.clone(), ints(ids)];
            eval(&inputs, |b, xs| b.segment_arg(extreme, segments, xs[0], xs[1]))
        })
    };
    let same = |[max, min]: [Value; 2], expected: [&[i64]; 2]| {
        assert_same(&max, &ints(expected[0]));
        assert_same(&min, &ints(expected[1]));
    };
    let x = floats(&[2.0, 1.0, 2.0, NAN, NAN, -INF]);
    same(found(x, &[0, 1, 0, 1, 1, 0], 3), [&[0, 3, 6], &[5, 3, 6]]);
    same(found(floats(&[-0.0, 0.0, -INF]), &[1, 1, -1], 2), [&[3, 0], &[3, 0]]);
    same(found(floats(&[1.0, 2.0]), &[i64::MIN, i64::MAX], 2), [&[2, 2], &[2, 2]]);
    same(found(floats(&[]), &[], 2), [&[0, 0], &[0, 0]]);
    same(found(floats(&[1.0]), &[0], 0), [&[], &[]]);
    same(found(ints(&[i64::MIN, i64::MAX]), &[0, 0], 1), [&[1], &[0]]);
    let truths = Value::of(&[3], vec![true, false, true]).unwrap();
    same(found(truths, &[1, 1, 1], 2), [&[3, 0], &[3, 1]]);
}

/// So the maximum of nothing, written with `argmax`, is a read out of range.
#[test]
fn the_largest_of_nothing_reads_zero() {
    let got = eval(&[floats(&[])], |b, xs| {
        let k = b.arg_extreme(Extreme::Max, xs[0])?;
        b.index(xs[0], &[k])
    });
    assert_same(&got, &Value::scalar(0.0));
}

#[test]
fn sorting_is_stable_with_nans_last() {
    let sort = |x: Value| eval(&[x], |b, xs| b.arg_sort(xs[0]));
    let x = floats(&[NAN, 0.0, INF, -0.0, NAN, -INF, 0.0]);
    assert_same(&sort(x), &ints(&[5, 1, 3, 6, 2, 0, 4]));
    assert_same(&sort(ints(&[3, -1, 3, 2])), &ints(&[1, 3, 0, 2]));
    let truths = Value::of(&[3], vec![true, false, true]).unwrap();
    assert_same(&sort(truths), &ints(&[1, 0, 2]));
    assert_same(&sort(floats(&[])), &ints(&[]));
}

#[test]
fn what_is_not_taken_does_not_show() {
    let got = run(&[Value::scalar(true), Value::scalar(0.0)], |b, xs| {
        let log = b.op(Op::Log, &[xs[1]])?;
        let nan = b.op(Op::Sub, &[log, log])?;
        Ok(vec![b.cond(xs[0], xs[1], nan)?, b.op(Op::Select, &[xs[0], xs[1], nan])?])
    });
    assert_same(&got.outputs[0], &Value::scalar(0.0));
    assert_same(&got.outputs[1], &Value::scalar(0.0));
}

#[test]
fn min_and_max_take_the_first_of_equals_and_nan() {
    let inputs = [floats(&[0.0, -0.0, NAN, 1.0]), floats(&[-0.0, 0.0, 1.0, NAN])];
    let got = run(&inputs, |b, xs| Ok(vec![b.op(Op::Min, xs)?, b.op(Op::Max, xs)?]));
    for output in &got.outputs {
        assert_same(output, &floats(&[0.0, -0.0, NAN, NAN]));
    }
}

#[test]
fn a_loop_of_no_steps_returns_its_states() {
    let got = run(&[Value::scalar(7.0), floats(&[])], |b, xs| {
        let scalar = Param::Value(ty(Dtype::F64, &[]));
        let step = b.lambda(&[scalar.clone(), scalar], |b, v| {
            let sum = b.op(Op::Add, v)?;
            Ok(vec![sum, sum])
        })?;
        let (init, inputs) = ([xs[0]].into(), [xs[1]].into());
        let m = b.map_accum(MapAccum { length: 0, reverse: false, init, inputs, step })?;
        Ok(vec![b.result(m, 0)?, b.result(m, 1)?])
    });
    assert_same(&got.outputs[0], &Value::scalar(7.0));
    assert_same(&got.outputs[1], &floats(&[]));
}

/// A float array without elements is not confused with its neighbours.
#[test]
fn arrays_without_elements_keep_their_shape() {
    let empty = |dims: &[usize]| tabulate(dims, |_| 0.0);
    let got = run(&[empty(&[0, 3]), empty(&[2, 0])], |b, xs| {
        Ok(vec![
            b.sum_outer(xs[0])?,
            b.sum_outer(xs[1])?,
            b.transpose(&[1, 0], xs[0])?,
            b.arg_sort(xs[0])?,
        ])
    });
    assert_same(&got.outputs[0], &floats(&[0.0; 3]));
    assert_same(&got.outputs[1], &floats(&[]));
    assert_same(&got.outputs[2], &empty(&[3, 0]));
    assert_same(&got.outputs[3], &tabulate_ints(&[0, 3], |_| 0));
}

#[test]
fn zeros_are_strong_in_scale_and_strong_mul() {
    let inputs =
        [floats(&[0.0, -0.0, 0.0, 2.0, INF, NAN]), floats(&[INF, NAN, 3.0, INF, 0.0, -0.0])];
    let got = run(&inputs, |b, xs| {
        [Op::Mul, Op::Scale, Op::StrongMul].iter().map(|&op| b.op(op, xs)).collect()
    });
    assert_same(&got.outputs[0], &floats(&[NAN, NAN, 0.0, INF, NAN, NAN]));
    assert_same(&got.outputs[1], &floats(&[0.0, 0.0, 0.0, INF, NAN, NAN]));
    assert_same(&got.outputs[2], &floats(&[0.0, 0.0, 0.0, INF, 0.0, 0.0]));
}
