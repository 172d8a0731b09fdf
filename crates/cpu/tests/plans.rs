//! What plans leave out: arrays between two sums, copies into larger arrays, and the parts of states
//! that a step does not change. The results are those of the reference interpreter; the plans
//! themselves are files in `crates/pipeline/tests/plans`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use common::{array, numbers, same, value};
use cotan_array::{Array, Dtype};
use cotan_cpu::Executable;
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Extreme, MapAccum, Result, TermId};

/// $\sum_b w_{bv} \sum_j p_{jv} q_{jxb}$ for 16 of $v$, 6 of $b$, 4 of $j$, and some of $x$.
fn sum_of_sums(b: &mut Builder, ts: &[TermId], xs: usize, scaled: bool) -> Result<Vec<TermId>> {
    let [w, p, q] = ts else { return Ok(Vec::new()) };
    let p = b.replicate(6, *p)?;
    let p = b.replicate(xs, p)?;
    let p = b.transpose(&[2, 0, 3, 1], p)?;
    let q = b.replicate(16, *q)?;
    let q = b.transpose(&[1, 2, 0, 3], q)?;
    let op = if scaled { Op::Scale } else { Op::Mul };
    let products = b.op(op, &[p, q])?;
    let inner = b.sum_outer(products)?;
    let inner = b.transpose(&[2, 0, 1], inner)?;
    let w = b.replicate(xs, *w)?;
    let w = b.transpose(&[1, 0, 2], w)?;
    let weighted = b.op(op, &[inner, w])?;
    Ok(vec![b.sum_outer(weighted)?])
}

#[test]
fn a_sum_that_is_a_factor_of_summed_products() {
    for scaled in [false, true] {
        let inputs = |xs| [numbers(&[6, 16]), numbers(&[4, 16]), numbers(&[4, xs, 6])];
        same(&inputs(32), |b, ts| sum_of_sums(b, ts, 32, scaled));
        // The operand of one product would be larger than the inner sum.
        same(&inputs(3), |b, ts| sum_of_sums(b, ts, 3, scaled));
    }
}

#[test]
fn an_infinite_factor_of_a_sum_without_effect() {
    let mut w = vec![1.0; 96];
    w[5] = f64::INFINITY;
    let (w, p) = (array(&[6, 16], &w), array(&[4, 16], &[0.0; 64]));
    same(&[w, p, numbers(&[4, 32, 6])], |b, ts| sum_of_sums(b, ts, 32, true));
}

/// Neither copies of ids nor numbers of rows are made for extremes by segment.
#[test]
fn views_that_are_read_where_they_lie() {
    let ids: Vec<i64> = (0..40).map(|n| n * n % 9 - 1).collect();
    for numbered in [false, true] {
        same(&[numbers(&[40, 3]), array(&[40], &ids)], |b, ts| {
            let rows = b.iota(40)?;
            let spread = |b: &mut Builder, t: TermId| {
                let copies = b.replicate(3, t)?;
                b.transpose(&[1, 0], copies)
            };
            let (ids, rows) = (spread(b, ts[1])?, spread(b, rows)?);
            let keys = if numbered { rows } else { ts[0] };
            Ok(vec![b.segment_arg(Extreme::Max, 7, keys, ids)?])
        });
    }
}

/// Adds to the row `positions[n]` of a state in step `n`, and gives the states before.
fn rows_added(b: &mut Builder, init: TermId, xs: &[TermId], reverse: bool) -> Result<Vec<TermId>> {
    let params = [
        value(Dtype::F64, &[9, 2]),
        value(Dtype::F64, &[]),
        value(Dtype::I64, &[]),
        value(Dtype::F64, &[2]),
    ];
    let step = b.lambda(&params, |b, vars| {
        let [state, last, at, row] = vars else { return Ok(Vec::new()) };
        let from = b.scalar(7i64)?;
        let other = b.index(*state, &[from])?;
        let sum = b.op(Op::Add, &[*row, other])?;
        let change = b.one_hot(&[9], sum, &[*at])?;
        let next = b.op(Op::Add, &[*state, change])?;
        let first = b.scalar(0i64)?;
        let corner = b.index(*state, &[from, first])?;
        Ok(vec![next, b.op(Op::Add, &[*last, corner])?, *state])
    })?;
    let zero = b.scalar(0.0)?;
    let (init, inputs) = (Box::new([init, zero]), Box::new([xs[0], xs[1]]));
    let m = b.map_accum(MapAccum { length: 6, reverse, init, inputs, step })?;
    (0..3).map(|n| b.result(m, n)).collect()
}

#[test]
fn loops_that_change_a_part_of_a_state() {
    let positions = array(&[6], &[3i64, 7, -1, 7, 9, 0]);
    let inputs = [positions, numbers(&[6, 2]), numbers(&[9, 2])];
    for reverse in [false, true] {
        same(&inputs, |b, xs| {
            let zero = b.scalar(0.0)?;
            let row = b.replicate(2, zero)?;
            let init = b.replicate(9, row)?;
            rows_added(b, init, xs, reverse)
        });
        // It may begin with negative zeros.
        same(&inputs, |b, xs| rows_added(b, xs[2], xs, reverse));
    }
}

#[test]
fn negative_zeros_of_a_state_stay_what_they_are() {
    let negative = Array::from_vec(common::shape(&[9, 2]), vec![-0.0; 18]).unwrap();
    let inputs = [array(&[6], &[3i64, 3, -1, 4, 9, 0]), numbers(&[6, 2]), negative];
    let program = common::program(&inputs, |b, xs| rows_added(b, xs[2], xs, false));
    common::agrees(&program, &inputs, &Executable::in_order(&program).unwrap());
}

#[test]
fn parts_of_arrays_are_computed_where_they_belong() {
    // Rows as a stack of columns, and stacks of stacks.
    same(&[numbers(&[5]), numbers(&[5])], |b, xs| {
        let (x, y) = (xs[0], xs[1]);
        let (sum, product) = (b.op(Op::Add, &[x, y])?, b.op(Op::Mul, &[x, y])?);
        let columns = b.stack(&[sum, product, x])?;
        let rows = b.transpose(&[1, 0], columns)?;
        let other = b.op(Op::Neg, &[rows])?;
        let both = b.stack(&[rows, other])?;
        Ok(vec![b.reshape(&[30], both)?])
    });
}

/// A sum of products over the rows of a group, multiplied by an array that the group makes row by
/// row: all of it is needed, so the product must wait for the last row.
#[test]
fn a_factor_of_a_sum_over_rows_that_are_being_made() {
    same(&[numbers(&[48, 48])], |b, xs| {
        let two = b.scalar(2.0)?;
        let two = b.replicate(48, two)?;
        let two = b.replicate(48, two)?;
        // More than a view, and used often enough to be stored: rows of squares, and their sums.
        let u = b.op(Op::Mul, &[xs[0], xs[0]])?;
        let u = b.op(Op::Sub, &[u, two])?;
        let turned = b.transpose(&[1, 0], u)?;
        let c = b.sum_outer(turned)?;
        // Over p, j and k: u[p, j], u[p, k] and c[j].
        let copies = b.replicate(48, u)?;
        let (x, y) = (b.transpose(&[1, 2, 0], copies)?, b.transpose(&[1, 0], copies)?);
        let factor = b.replicate(48, c)?;
        let factor = b.transpose(&[1, 0], factor)?;
        let factor = b.replicate(48, factor)?;
        let product = b.op(Op::Mul, &[x, y])?;
        let product = b.op(Op::Mul, &[factor, product])?;
        let products = b.sum_outer(product)?;
        Ok(vec![products])
    });
}

#[test]
fn a_search_of_nothing_beside_other_parts() {
    // It is written where it belongs, and nothing else is.
    same(&[array(&[3], &[5i64, 6, 7]), array::<f64>(&[0, 3], &[])], |b, xs| {
        let searched = b.arg_extreme(Extreme::Max, xs[1])?;
        let sums = b.sum_outer(xs[1])?;
        let sums = b.op(Op::ToI64, &[sums])?;
        let other = b.op(Op::Mul, &[xs[0], xs[0]])?;
        Ok(vec![b.stack(&[other, searched, sums, xs[0]])?])
    });
}

/// The product of two square matrices.
fn matrix_product(b: &mut Builder, x: TermId, y: TermId, n: usize) -> Result<TermId> {
    let x = b.replicate(n, x)?;
    let x = b.transpose(&[2, 1, 0], x)?;
    let y = b.replicate(n, y)?;
    let y = b.transpose(&[1, 0], y)?;
    let products = b.op(Op::Mul, &[x, y])?;
    b.sum_outer(products)
}

/// The sum of the squares of a product, and what its derivatives are made of.
fn squares_of_product(b: &mut Builder, ts: &[TermId], n: usize) -> Result<Vec<TermId>> {
    let product = matrix_product(b, ts[0], ts[1], n)?;
    let squares = b.op(Op::Mul, &[product, product])?;
    let rows = b.sum_outer(squares)?;
    let total = b.sum_outer(rows)?;
    let (left, right) = (b.transpose(&[1, 0], ts[0])?, b.transpose(&[1, 0], ts[1])?);
    let first = matrix_product(b, product, right, n)?;
    Ok(vec![total, first, matrix_product(b, left, product, n)?])
}

#[test]
fn products_do_not_join_groups_of_sums() {
    same(&[numbers(&[12, 12]), numbers(&[12, 12])], |b, ts| squares_of_product(b, ts, 12));
}
