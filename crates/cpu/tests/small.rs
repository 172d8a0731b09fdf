//! Small programs that together use every step and every write of a plan, against the reference
//! interpreter.
//!
//! They are small enough for a checker of undefined behaviour to run them all in a few minutes:
//! `cargo +nightly miri test -p cotan-cpu --test small`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use common::{array, numbers, same, value};
use cotan_array::{Array, Dtype};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Custom, CustomKind, Extreme, MapAccum, Result, TermId, While};

#[test]
fn elements_of_every_type() {
    let (x, k) = (numbers(&[5]), array(&[5], &[3i64, -1, 0, 7, 2]));
    let (y, p) = (x.cast(Dtype::F32).unwrap(), array(&[5], &[true, false, true, true, false]));
    same(&[x, y, k, p], |b, xs| {
        let [x, y, k, p] = xs else { return Ok(Vec::new()) };
        let one = b.scalar(1.5)?;
        let one = b.replicate(5, one)?;
        let (sum, inverse) = (b.op(Op::Add, &[*x, one])?, b.op(Op::Abs, &[*y])?);
        let inverse = b.op(Op::Recip, &[inverse])?;
        let (square, not) = (b.op(Op::Mul, &[*k, *k])?, b.op(Op::Not, &[*p])?);
        let less = b.op(Op::Lt, &[*x, one])?;
        let both = b.op(Op::And, &[not, less])?;
        let chosen = b.op(Op::Select, &[both, sum, *x])?;
        let (tanh, narrow) = (b.op(Op::Tanh, &[*x])?, b.op(Op::ToF32, &[*k])?);
        Ok(vec![sum, inverse, square, both, chosen, tanh, narrow])
    });
}

#[test]
fn tiles_that_are_full_and_one_that_is_not() {
    same(&[numbers(&[520]), numbers(&[2, 260])], |b, xs| {
        let y = b.op(Op::Mul, &[xs[0], xs[0]])?;
        let turned = b.transpose(&[1, 0], xs[1])?;
        let (total, rows) = (b.sum_outer(y)?, b.sum_outer(xs[1])?);
        let columns = b.sum_outer(turned)?;
        Ok(vec![y, turned, total, rows, columns])
    });
}

#[test]
fn sums_of_rows_columns_nothing_and_everything() {
    same(&[numbers(&[3, 4]), numbers(&[0, 3]), numbers(&[3, 0])], |b, xs| {
        let rows = b.sum_outer(xs[0])?;
        let all = b.sum_outer(rows)?;
        let none = b.sum_outer(xs[1])?;
        let empty = b.sum_outer(xs[2])?;
        Ok(vec![rows, all, none, empty])
    });
}

#[test]
fn long_sums_inside_of_short_ones() {
    // The long sum is part of the short one, which then cannot be written out where it is used.
    same(&[numbers(&[9, 3, 2])], |b, xs| {
        let long = b.sum_outer(xs[0])?;
        let turned = b.transpose(&[1, 0], long)?;
        let (short, straight) = (b.sum_outer(turned)?, b.sum_outer(long)?);
        Ok(vec![b.op(Op::Neg, &[short])?, b.op(Op::Abs, &[straight])?])
    });
    same(&[numbers(&[9, 3, 2])], |b, xs| {
        let long = b.sum_outer(xs[0])?;
        let short = b.sum_outer(long)?;
        Ok(vec![b.op(Op::Neg, &[short])?])
    });
}

#[test]
fn lanes_that_are_not_there_count_for_nothing() {
    // Beyond the last element a vector holds zeros, whose inverses are larger than any number, and
    // no number times zero.
    let powers = array(&[5], &[2.0, -0.5, 4.0, 1.0, -0.25]);
    for dtype in [Dtype::F64, Dtype::F32] {
        let inputs = [numbers(&[5]), powers.clone()].map(|x| x.cast(dtype).unwrap());
        for order in [[0, 1], [1, 0]] {
            same(&inputs, |b, xs| {
                let factors = [xs[0], b.op(Op::Recip, &[xs[1]])?];
                let product = b.op(Op::Mul, &order.map(|n| factors[n]))?;
                Ok(vec![b.sum_outer(product)?])
            });
        }
        same(&inputs[1..], |b, xs| {
            let inverse = b.op(Op::Recip, &[xs[0]])?;
            Ok(vec![b.sum_outer(inverse)?])
        });
        for extreme in [Extreme::Max, Extreme::Min] {
            same(&inputs[1..], |b, xs| {
                let inverse = b.op(Op::Recip, &[xs[0]])?;
                Ok(vec![b.arg_extreme(extreme, inverse)?])
            });
        }
    }
}

#[test]
fn rows_that_must_wait_for_others() {
    // The next row, the rows of another axis, and a sum over all rows are not there before the last
    // block of what makes them.
    let dear = |b: &mut Builder, x: TermId| {
        let sixteen = b.constant(&Array::full(b.shape(x).clone(), 16.0).unwrap())?;
        b.op(Op::Rem, &[x, sixteen])
    };
    same(&[numbers(&[8])], |b, xs| {
        let y = dear(b, xs[0])?;
        let after = b.index_function(&[8], |b, i| {
            let one = b.scalar(1i64)?;
            Ok(vec![b.op(Op::Add, &[i[0], one])?])
        })?;
        let next = b.gather(y, after)?;
        let both = b.op(Op::Add, &[y, next])?;
        Ok(vec![both, b.op(Op::Mul, &[y, next])?])
    });
    same(&[numbers(&[6, 6])], |b, xs| {
        let y = dear(b, xs[0])?;
        let turned = b.transpose(&[1, 0], y)?;
        Ok(vec![b.op(Op::Sub, &[y, turned])?, b.op(Op::Mul, &[y, turned])?])
    });
    // In the array without its axes the last column is followed by the first one of the next row.
    same(&[numbers(&[3, 8])], |b, xs| {
        let y = b.op(Op::Abs, &[xs[0]])?;
        let flat = b.reshape(&[24], y)?;
        let after = b.index_function(&[2, 8], |b, i| {
            let (width, one) = (b.scalar(8i64)?, b.scalar(1i64)?);
            let row = b.op(Op::Mul, &[i[0], width])?;
            let place = b.op(Op::Add, &[row, i[1]])?;
            Ok(vec![b.op(Op::Add, &[place, one])?])
        })?;
        let next = b.gather(flat, after)?;
        Ok(vec![y, b.op(Op::Neg, &[next])?])
    });
    // A sum that is taken block by block, and so many rows that it is.
    same(&[numbers(&[30])], |b, xs| {
        let y = dear(b, xs[0])?;
        let all = b.sum_outer(y)?;
        let spread = b.replicate(30, all)?;
        Ok(vec![b.op(Op::Sub, &[y, spread])?, b.op(Op::Mul, &[y, spread])?])
    });
}

#[test]
fn affine_reads_with_checks_at_both_ends() {
    same(&[numbers(&[6])], |b, xs| {
        let mut results = Vec::new();
        for (factor, offset) in [(1i64, -2i64), (-1, 7), (2, -3), (-2, 9), (0, 3), (0, 6)] {
            let r = b.index_function(&[8], |b, is| {
                let (factor, offset) = (b.scalar(factor)?, b.scalar(offset)?);
                let scaled = b.op(Op::Mul, &[is[0], factor])?;
                Ok(vec![b.op(Op::Add, &[scaled, offset])?])
            })?;
            results.push(b.gather(xs[0], r)?);
        }
        Ok(results)
    });
}

#[test]
fn computed_reads_and_additions_at_computed_places() {
    let places = array(&[5], &[2i64, -1, 2, 9, 0]);
    same(&[numbers(&[4, 3]), places, numbers(&[5, 3])], |b, xs| {
        let r = b.index_function(&[5], |b, is| Ok(vec![b.index(xs[1], &[is[0]])?]))?;
        let rows = b.gather(xs[0], r)?;
        let added = b.scatter(&[4], xs[2], r)?;
        let r = b.index_function(&[5], |b, is| Ok(vec![b.op(Op::Mul, &[is[0], is[0]])?]))?;
        let squares = b.scatter(&[12], xs[2], r)?;
        Ok(vec![rows, added, squares])
    });
}

#[test]
fn stacks_reshapes_and_one_hots() {
    same(&[numbers(&[2, 3]), numbers(&[3])], |b, xs| {
        let flat = b.reshape(&[6], xs[0])?;
        let back = b.reshape(&[3, 2], flat)?;
        let turned = b.transpose(&[1, 0], back)?;
        let shuffled = b.reshape(&[6], turned)?;
        let stacked = b.stack(&[xs[1], xs[1]])?;
        let (one, out) = (b.scalar(1i64)?, b.scalar(4i64)?);
        let hot = b.one_hot(&[4], xs[1], &[one])?;
        let cold = b.one_hot(&[4], xs[1], &[out])?;
        Ok(vec![shuffled, stacked, hot, cold])
    });
}

#[test]
fn searches() {
    let special = [f64::NAN, 0.0, -0.0, f64::INFINITY, 2.0, f64::NEG_INFINITY];
    let truths = array(&[4], &[false, true, false, true]);
    same(&[numbers(&[4, 2]), array(&[6], &special), truths, numbers(&[0, 2])], |b, xs| {
        let mut results = Vec::new();
        for &x in xs {
            results.push(b.arg_sort(x)?);
            results.push(b.arg_extreme(Extreme::Max, x)?);
            results.push(b.arg_extreme(Extreme::Min, x)?);
        }
        Ok(results)
    });
}

/// Keys and ids that lie in memory as they are, are views of something smaller or turned, are
/// computed, and are the numbers of rows.
#[test]
fn extremes_by_segment() {
    let special = [f64::NAN, 0.0, -0.0, f64::INFINITY, 2.0, f64::NEG_INFINITY];
    let inputs = [
        array(&[2, 3], &special),
        array(&[2, 3], &[1i64, 0, -1, 1, 2, 1]),
        array(&[2], &[1i64, 1]),
        array(&[2, 3], &[true, false, true, true, false, false]),
        array(&[3, 2], &[0i64, 0, 1, 1, 5, 0]),
    ];
    same(&inputs, |b, xs| {
        let &[x, ids, row_ids, truths, turned_ids] = xs else { unreachable!() };
        let turned = b.transpose(&[1, 0], x)?;
        let copies = b.replicate(3, row_ids)?;
        let copies = b.transpose(&[1, 0], copies)?;
        let numbers = b.iota(3)?;
        let numbers = b.replicate(2, numbers)?;
        let row_numbers = b.transpose(&[1, 0], numbers)?;
        let computed = b.op(Op::Mul, &[x, x])?;
        let (deep, deep_ids) = (b.replicate(2, x)?, b.replicate(2, ids)?);
        let (deep, deep_ids) = (b.transpose(&[1, 2, 0], deep)?, b.transpose(&[1, 2, 0], deep_ids)?);
        let mut results = Vec::new();
        for extreme in [Extreme::Max, Extreme::Min] {
            for segments in [0, 1, 2, 7] {
                for (t, ids) in [
                    (x, ids),
                    (x, copies),
                    (turned, turned_ids),
                    (truths, ids),
                    (computed, ids),
                    (row_numbers, turned_ids),
                    (numbers, numbers),
                    (turned_ids, row_numbers),
                    (deep, deep_ids),
                ] {
                    results.push(b.segment_arg(extreme, segments, t, ids)?);
                }
            }
        }
        Ok(results)
    });
}

/// Extremes by segment in the steps of a loop, of what the loop changes and of what it does not.
#[test]
fn extremes_by_segment_in_loops() {
    let inputs = [numbers(&[5]), array(&[5], &[0i64, 1, 0, 2, 1])];
    same(&inputs, |b, xs| {
        let (x, ids) = (xs[0], xs[1]);
        let rows = b.replicate(2, x)?;
        let rows = b.transpose(&[1, 0], rows)?;
        let row_ids = b.replicate(2, ids)?;
        let row_ids = b.transpose(&[1, 0], row_ids)?;
        let state = value(Dtype::I64, &[5]);
        let step = b.lambda(&[state, value(Dtype::F64, &[])], |b, vars| {
            let factors = b.broadcast_to(vars[1], &[5])?;
            let scaled = b.op(Op::Mul, &[x, factors])?;
            let first = b.segment_arg(Extreme::Max, 5, scaled, vars[0])?;
            let second = b.segment_arg(Extreme::Min, 3, rows, row_ids)?;
            let one = b.scalar(1i64)?;
            let second = b.index(second, &[one, one])?;
            let second = b.broadcast_to(second, &[5])?;
            let next = b.op(Op::Sub, &[first, second])?;
            Ok(vec![next, first])
        })?;
        let (init, inputs) = (vec![ids].into(), vec![x].into());
        let m = MapAccum { length: 5, reverse: false, init, inputs, step };
        let done = b.map_accum(m)?;
        Ok(vec![b.result(done, 0)?, b.result(done, 1)?])
    });
}

/// States that exchange places, an input that is passed on, an output that is a state.
fn exchange(b: &mut Builder, xs: &[TermId], length: usize, reverse: bool) -> Result<Vec<TermId>> {
    let row = || value(Dtype::F64, &[2]);
    let step = b.lambda(&[row(), row(), row()], |b, vars| {
        let sum = b.op(Op::Add, &[vars[0], vars[2]])?;
        Ok(vec![vars[1], vars[0], vars[2], sum, vars[0]])
    })?;
    // The states are the first two results; the others are collected.
    let (init, inputs) = (Box::new([xs[0], xs[1]]), Box::new([xs[2]]));
    let m = b.map_accum(MapAccum { length, reverse, init, inputs, step })?;
    (0..5).map(|n| b.result(m, n)).collect()
}

#[test]
fn loops_whose_states_exchange_places() {
    for (length, reverse) in [(3, false), (3, true), (0, false)] {
        let inputs = [numbers(&[2]), array(&[2], &[10.0, 20.0]), numbers(&[length, 2])];
        same(&inputs, |b, xs| exchange(b, xs, length, reverse));
    }
}

#[test]
fn loops_in_loops() {
    same(&[numbers(&[3, 4]), array(&[], &[1.0])], |b, xs| {
        let (row, one) = (value(Dtype::F64, &[4]), || value(Dtype::F64, &[]));
        let outer = b.lambda(&[one(), row], |b, vars| {
            let inner = b.lambda(&[one(), one()], |b, inside| {
                let sum = b.op(Op::Add, &[inside[0], inside[1]])?;
                Ok(vec![b.op(Op::Sub, &[sum, vars[0]])?, sum])
            })?;
            let (init, inputs) = (Box::new([vars[0]]), Box::new([vars[1]]));
            let m = MapAccum { length: 4, reverse: false, init, inputs, step: inner };
            let m = b.map_accum(m)?;
            Ok(vec![b.result(m, 0)?, b.result(m, 1)?])
        })?;
        let (init, inputs) = (Box::new([xs[1]]), Box::new([xs[0]]));
        let m = MapAccum { length: 3, reverse: false, init, inputs, step: outer };
        let m = b.map_accum(m)?;
        Ok(vec![b.result(m, 0)?, b.result(m, 1)?])
    });
}

#[test]
fn loops_as_long_as_a_condition_holds() {
    for (bound, least) in [(Some(4), 100.0), (Some(4), -100.0), (Some(0), 100.0), (None, 50.0)] {
        same(&[numbers(&[2]), array(&[], &[least])], |b, xs| {
            let params = [value(Dtype::F64, &[2]), value(Dtype::F64, &[2])];
            let step = b.lambda(&params, |b, vars| {
                let sum = b.op(Op::Add, &[vars[0], vars[1]])?;
                let size = b.op(Op::Abs, &[sum])?;
                let size = b.sum_outer(size)?;
                let holds = b.op(Op::Lt, &[size, xs[1]])?;
                let mut results = vec![holds, sum, vars[0]];
                results.extend(bound.map(|_| sum));
                Ok(results)
            })?;
            let w = b.while_accum(While { bound, init: Box::new([xs[0], xs[0]]), step })?;
            (0..2 + usize::from(bound.is_some())).map(|n| b.result(w, n)).collect()
        });
    }
}

#[test]
fn functions_with_rules_of_their_own() {
    same(&[numbers(&[3])], |b, xs| {
        let param = || value(Dtype::F64, &[3]);
        let region = b.lambda(&[param(), param()], |b, vars| {
            let square = b.op(Op::Mul, &[vars[0], vars[0]])?;
            Ok(vec![square, b.op(Op::Scale, &[vars[1], vars[0]])?])
        })?;
        let custom = Custom { kind: CustomKind::Vjp, args: Box::new([xs[0]]), outputs: 1, region };
        let custom = b.custom(custom)?;
        let square = b.result(custom, 0)?;
        Ok(vec![square, b.op(Op::Add, &[square, xs[0]])?])
    });
}

#[test]
fn results_that_share_a_buffer_inputs_and_constants() {
    let turned = numbers(&[3, 2]).transpose(&[1, 0]).unwrap();
    same(&[turned.clone(), numbers(&[])], |b, xs| {
        let c = b.constant(&turned)?;
        let (sum, one) = (b.op(Op::Add, &[xs[0], c])?, b.scalar(1.0)?);
        let twice = b.op(Op::Add, &[sum, sum])?;
        let p = b.op(Op::Lt, &[xs[1], one])?;
        let chosen = b.cond(p, sum, twice)?;
        Ok(vec![sum, sum, xs[0], c, one, twice, xs[1], p, chosen])
    });
}

#[test]
fn index_arithmetic_wraps() {
    // A tile and a part of one, or what the checker runs in a minute.
    let n = if cfg!(miri) { 6 } else { 300 };
    same(&[numbers(&[6])], |b, xs| {
        let mut results = Vec::new();
        let (huge, most) = (1i64 << 62, i64::MAX);
        for (factor, offset) in
            [(huge, 0), (huge, 1), (-huge, 3), (most, 2), (1, most), (most, most)]
        {
            let (factor, offset) = (b.scalar(factor)?, b.scalar(offset)?);
            let place = |b: &mut Builder, i: TermId| {
                let scaled = b.op(Op::Mul, &[i, factor])?;
                b.op(Op::Add, &[scaled, offset])
            };
            results.push(b.build(n, place)?);
            let r = b.index_function(&[n], |b, is| Ok(vec![place(b, is[0])?]))?;
            results.push(b.gather(xs[0], r)?);
        }
        Ok(results)
    });
}

#[test]
fn places_of_a_scatter_may_wrap() {
    // Indices i * 2^62 and i * 2^62 + i: 0, 2^62, -2^63, .. of which few are in range.
    for step in [1i64 << 62, (1 << 62) + 1, i64::MAX, -(1 << 61)] {
        same(&[numbers(&[9])], |b, xs| {
            let region = b.index_function(&[9], |b, is| {
                let far = b.scalar(step)?;
                Ok(vec![b.op(Op::Mul, &[is[0], far])?])
            })?;
            Ok(vec![b.scatter(&[4], xs[0], region)?, b.gather(xs[0], region)?])
        });
    }
}

/// `sum over 3 steps of x`, and the last `x * step`: two results of one loop.
fn a_loop(b: &mut Builder, x: TermId) -> Result<[TermId; 2]> {
    let zero = b.op(Op::Sub, &[x, x])?;
    let steps = b.iota(3)?;
    let params = [value(Dtype::F64, &[4]), value(Dtype::F64, &[4]), value(Dtype::I64, &[])];
    let step = b.lambda(&params, |b, vars| {
        let k = b.op(Op::ToF64, &[vars[2]])?;
        let k = b.replicate(4, k)?;
        let product = b.op(Op::Mul, &[x, k])?;
        Ok(vec![b.op(Op::Add, &[vars[0], x])?, product])
    })?;
    let m = MapAccum {
        length: 3,
        reverse: false,
        init: Box::new([zero, zero]),
        inputs: Box::new([steps]),
        step,
    };
    let m = b.map_accum(m)?;
    Ok([b.result(m, 0)?, b.result(m, 1)?])
}

#[test]
fn branches_with_loops() {
    for taken in [true, false] {
        let inputs = [numbers(&[4]), Array::scalar(taken), Array::scalar(!taken)];
        // Two results of one loop, of which one side has both and the other has one.
        same(&inputs, |b, xs| {
            let [sum, product] = a_loop(b, xs[0])?;
            let other = b.op(Op::Neg, &[xs[0]])?;
            let (u, v) = (b.cond(xs[1], sum, other)?, b.cond(xs[1], product, sum)?);
            Ok(vec![u, v])
        });
        // A loop in a branch in a branch; what the outer condition shares; a condition that is
        // the branch of another one, and needed besides.
        same(&inputs, |b, xs| {
            let [sum, product] = a_loop(b, xs[0])?;
            let square = b.op(Op::Mul, &[product, product])?;
            let inner = b.cond(xs[2], sum, square)?;
            let outer = b.cond(xs[1], inner, xs[0])?;
            let last = b.cond(xs[1], xs[0], inner)?;
            Ok(vec![outer, last, b.op(Op::Add, &[inner, outer])?])
        });
        // The first of two conditions on the same truth value is needed by a branch of the second,
        // through something that both sides need.
        same(&inputs, |b, xs| {
            let [sum, product] = a_loop(b, xs[0])?;
            let first = b.cond(xs[1], sum, xs[0])?;
            let between = b.op(Op::Sin, &[first])?;
            let [again, _] = a_loop(b, between)?;
            let more = b.op(Op::Add, &[again, product])?;
            let second = b.cond(xs[1], more, between)?;
            Ok(vec![second, between])
        });
    }
}

#[test]
fn branches_in_loops() {
    let inputs = [numbers(&[4]), Array::scalar(3i64)];
    // In each step one side or the other, in condition and step of the loop.
    same(&inputs, |b, xs| {
        let zero = b.scalar(0i64)?;
        let params = [value(Dtype::F64, &[4]), value(Dtype::I64, &[])];
        let step = b.lambda(&params, |b, vars| {
            let two = b.scalar(2i64)?;
            let rem = b.op(Op::Rem, &[vars[1], two])?;
            let even = b.op(Op::Eq, &[rem, zero])?;
            let [sum, product] = a_loop(b, vars[0])?;
            let chosen = b.cond(even, sum, product)?;
            let total = b.sum_outer(chosen)?;
            let bound = b.scalar(1e6)?;
            let small = b.op(Op::Lt, &[total, bound])?;
            let early = b.op(Op::Lt, &[vars[1], xs[1]])?;
            let more = b.op(Op::And, &[small, early])?;
            let one = b.scalar(1i64)?;
            let next = b.cond(even, chosen, vars[0])?;
            Ok(vec![more, next, b.op(Op::Add, &[vars[1], one])?])
        })?;
        let w = While { bound: None, init: Box::new([xs[0], zero]), step };
        let w = b.while_accum(w)?;
        Ok(vec![b.result(w, 0)?, b.result(w, 1)?])
    });
}

/// What is found among no elements, block by block, by a group that needs no more than a block of it.
#[test]
fn searches_among_nothing_in_blocks() {
    for dims in [&[0, 50][..], &[0, 7, 30], &[0]] {
        same(&[array::<f64>(dims, &[])], |b, xs| {
            let position = b.arg_extreme(Extreme::Max, xs[0])?;
            let x = b.op(Op::ToF64, &[position])?;
            Ok(vec![b.op(Op::Cos, &[x])?])
        });
    }
}

/// A square and 0 are the square; other products, and other numbers, are added.
#[test]
fn squares_beside_numbers() {
    let x = array(&[6], &[-0.0, 0.0, 1.5, -3.0, f64::INFINITY, 1e200]);
    let y = array(&[6], &[2.0, -0.0, -0.0, 0.0, 1.0, 1e-300]);
    for number in [0.0, -0.0, 2.0] {
        for op in [Op::Add, Op::Sub] {
            for square in [true, false] {
                same(&[x.clone(), y.clone()], |b, xs| {
                    let number = b.scalar(number)?;
                    let numbers = b.replicate(6, number)?;
                    let other = if square { xs[0] } else { xs[1] };
                    let product = b.op(Op::Mul, &[xs[0], other])?;
                    Ok(vec![b.op(op, &[numbers, product])?])
                });
            }
        }
    }
}
