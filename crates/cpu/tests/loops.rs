//! What loops do not do in every step: copies of what they collect, and what is the same in each.
//! The results are those of the reference interpreter.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use common::{array, numbers, planned, same, size, value};
use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, MapAccum, Result, TermId};

fn results(b: &mut Builder, m: MapAccum, count: usize) -> Result<Vec<TermId>> {
    let m = b.map_accum(m)?;
    (0..count).map(|n| b.result(m, n)).collect()
}

#[test]
fn outputs_are_written_where_they_are_collected() {
    // The next state is collected, twice; so are a sum, the state, an input, and what no step changes.
    for (length, reverse) in [(5, false), (4, true), (1, false), (0, true)] {
        let inputs = [numbers(&[3]), numbers(&[length, 3]), array(&[3], &[2.0, -1.0, 4.0])];
        let program = same(&inputs, |b, xs| {
            let row = || value(Dtype::F64, &[3]);
            let fixed = b.op(Op::Neg, &[xs[2]])?;
            let step = b.lambda(&[row(), row()], |b, vars| {
                let sum = b.op(Op::Add, &[vars[0], vars[1]])?;
                let next = b.op(Op::Sub, &[sum, xs[2]])?;
                let total = b.sum_outer(next)?;
                Ok(vec![next, next, total, vars[0], next, vars[1], fixed])
            })?;
            let (init, inputs) = ([xs[0]].into(), [xs[1]].into());
            results(b, MapAccum { length, reverse, init, inputs, step }, 7)
        });
        if length > 0 {
            planned(&format!("collected_by_{length}_steps"), &program);
        }
    }
}

#[test]
fn states_that_lie_in_what_is_collected_outlive_the_loop() {
    // The last state is read after the loop, and begins another.
    same(&[numbers(&[4]), numbers(&[3, 4])], |b, xs| {
        let row = || value(Dtype::F64, &[4]);
        let step = b.lambda(&[row(), row()], |b, vars| {
            let next = b.op(Op::Sub, &[vars[1], vars[0]])?;
            Ok(vec![next, next])
        })?;
        let loop_ = |init: TermId, inputs: TermId| MapAccum {
            length: 3,
            reverse: false,
            init: [init].into(),
            inputs: [inputs].into(),
            step,
        };
        let first = results(b, loop_(xs[0], xs[1]), 2)?;
        let second = results(b, loop_(first[0], first[1]), 2)?;
        Ok([first, second].concat())
    });
}

#[test]
fn loops_that_collect_in_loops() {
    same(&[numbers(&[3, 2, 4]), numbers(&[4])], |b, xs| {
        let row = || value(Dtype::F64, &[4]);
        let outer = b.lambda(&[row(), value(Dtype::F64, &[2, 4])], |b, vars| {
            let inner = b.lambda(&[row(), row()], |b, inside| {
                let next = b.op(Op::Sub, &[inside[1], inside[0]])?;
                Ok(vec![next, next, b.op(Op::Mul, &[next, vars[0]])?])
            })?;
            let (init, inputs) = ([vars[0]].into(), [vars[1]].into());
            let m = MapAccum { length: 2, reverse: true, init, inputs, step: inner };
            results(b, m, 3)
        })?;
        let (init, inputs) = ([xs[1]].into(), [xs[0]].into());
        results(b, MapAccum { length: 3, reverse: false, init, inputs, step: outer }, 3)
    });
}

#[test]
fn states_are_read_where_they_begin() {
    // Two states begin as the same input, which stays as it is, and end where they belong.
    for length in 0..5 {
        let inputs = [numbers(&[5]), numbers(&[length, 5])];
        let before = inputs[0].to_vec::<f64>().unwrap();
        same(&inputs, |b, xs| {
            let row = || value(Dtype::F64, &[5]);
            let step = b.lambda(&[row(), row(), row()], |b, vars| {
                let from_the_end = b.index_function(&[5], |b, i| {
                    let last = b.scalar(4i64)?;
                    Ok(vec![b.op(Op::Sub, &[last, i[0]])?])
                })?;
                let turned = b.gather(vars[0], from_the_end)?;
                let sum = b.op(Op::Add, &[turned, vars[2]])?;
                let difference = b.op(Op::Sub, &[vars[1], sum])?;
                Ok(vec![difference, sum])
            })?;
            let (init, inputs) = ([xs[0], xs[0]].into(), [xs[1]].into());
            let last = results(b, MapAccum { length, reverse: false, init, inputs, step }, 2)?;
            let after = b.op(Op::Sub, &[last[0], xs[0]])?;
            Ok(vec![last[0], last[1], after])
        });
        assert_eq!(inputs[0].to_vec::<f64>().unwrap(), before);
    }
}

#[test]
fn operands_are_turned_before_the_loop() {
    // A product with a transposed matrix that no step changes.
    let (rows, n, length) = (size(64, 4), size(96, 6), 3);
    same(&[numbers(&[rows, n]), numbers(&[n, n])], |b, xs| {
        let step = b.lambda(&[value(Dtype::F64, &[rows, n])], |b, vars| {
            let state = b.replicate(n, vars[0])?;
            let state = b.transpose(&[2, 1, 0], state)?;
            let matrix = b.replicate(rows, xs[1])?;
            let matrix = b.transpose(&[2, 0, 1], matrix)?;
            let products = b.op(Op::Mul, &[state, matrix])?;
            let sum = b.sum_outer(products)?;
            let some = b.scalar(0.125)?;
            let some = b.replicate(n, some)?;
            let some = b.replicate(rows, some)?;
            // Small integers, so that sums are exact.
            let scaled = b.op(Op::Mul, &[sum, some])?;
            let whole = b.op(Op::Floor, &[scaled])?;
            let sixteen = b.op(Op::Recip, &[some])?;
            Ok(vec![b.op(Op::Rem, &[whole, sixteen])?])
        })?;
        let (init, inputs) = ([xs[0]].into(), [].into());
        results(b, MapAccum { length, reverse: false, init, inputs, step }, 1)
    });
}

#[test]
fn what_is_made_of_indices_is_stored_before_a_loop() {
    // Powers of numbers that are quotients of indices, element by element.
    let n = size(5000, 20);
    same(&[array(&[3], &[1.0, -2.0, 4.0])], |b, xs| {
        let one = b.scalar(1.0)?;
        let (indices, eight) = (b.iota(n)?, b.scalar(8.0)?);
        let (indices, eight) = (b.op(Op::ToF64, &[indices])?, b.replicate(n, eight)?);
        let quotients = b.op(Op::Div, &[indices, eight])?;
        let ones = b.replicate(n, one)?;
        let points = b.op(Op::Sub, &[quotients, ones])?;
        let step = b.lambda(&[value(Dtype::F64, &[n]), value(Dtype::F64, &[])], |b, vars| {
            let product = b.op(Op::Mul, &[vars[0], points])?;
            let coefficient = b.replicate(n, vars[1])?;
            Ok(vec![b.op(Op::Add, &[product, coefficient])?])
        })?;
        let zero = b.scalar(0.0)?;
        let (init, inputs) = ([b.replicate(n, zero)?].into(), [xs[0]].into());
        results(b, MapAccum { length: 3, reverse: true, init, inputs, step }, 1)
    });
}

/// `s' = s x + c`, row by row, over arrays with `n` rows; gives the last state, and of every step
/// the state before, the state after, and the sum of the latter.
fn horner(b: &mut Builder, xs: &[TermId], dims: &[usize], reverse: bool) -> Result<Vec<TermId>> {
    let [start, points, coefficients] = xs else { return Ok(Vec::new()) };
    let length = b.shape(*coefficients).dims()[0];
    let step = b.lambda(&[value(Dtype::F64, dims), value(Dtype::F64, &[])], |b, vars| {
        let product = b.op(Op::Mul, &[vars[0], *points])?;
        let coefficient = dims.iter().rev().try_fold(vars[1], |c, &k| b.replicate(k, c))?;
        let sum = b.op(Op::Sub, &[product, coefficient])?;
        // Small integers, so that sums are exact.
        let eight = b.scalar(8.0)?;
        let eight = dims.iter().rev().try_fold(eight, |c, &k| b.replicate(k, c))?;
        let next = b.op(Op::Rem, &[sum, eight])?;
        let total = dims.iter().try_fold(next, |t, _| b.sum_outer(t))?;
        Ok(vec![next, vars[0], next, total])
    })?;
    let (init, inputs) = ([*start].into(), [*coefficients].into());
    results(b, MapAccum { length, reverse, init, inputs, step }, 4)
}

#[test]
fn rows_that_do_not_wait_for_each_other_between_steps() {
    let (few, some) = (size(40, 9), size(17, 5));
    for dims in [&[some, 3][..], &[few], &[5000]].into_iter().take(size(3, 2)) {
        for (length, reverse) in [(5, true), (4, false), (2, true)].into_iter().take(size(3, 2)) {
            let inputs = [numbers(dims), numbers(dims), numbers(&[length])];
            let choices = [&[0][..], &[0, 1, 2, 3], &[0, 3], &[0, 1], &[2, 3]];
            for outputs in choices.into_iter().take(size(5, 2)) {
                same(&inputs, |b, xs| {
                    let all = horner(b, xs, dims, reverse)?;
                    Ok(outputs.iter().map(|&n| all[n]).collect())
                });
            }
        }
    }
}

#[test]
fn rows_that_depend_on_their_neighbours_wait() {
    let n = size(6000, 12);
    same(&[numbers(&[n])], |b, xs| {
        let step = b.lambda(&[value(Dtype::F64, &[n])], |b, vars| {
            let before = b.index_function(&[n], |b, i| {
                let one = b.scalar(1i64)?;
                Ok(vec![b.op(Op::Sub, &[i[0], one])?])
            })?;
            let shifted = b.gather(vars[0], before)?;
            Ok(vec![b.op(Op::Sub, &[shifted, vars[0]])?])
        })?;
        let (init, inputs) = ([xs[0]].into(), [].into());
        results(b, MapAccum { length: 3, reverse: false, init, inputs, step }, 1)
    });
}
