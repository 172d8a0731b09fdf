//! Pairs of elements of which only some count: nests that share their positions are one nest, and
//! blocks of rows leave out the columns that have nothing for them. The results are those of the
//! reference interpreter.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use common::{array, numbers, planned, same, size};
use cotan_array::{Array, Element};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Result, TermId};

/// Enough elements that blocks of rows leave out columns.
const N: usize = size(400, 10);

/// Which pairs count: those whose indices compare so, after a shift of the first.
#[derive(Clone, Copy, Debug)]
struct Counted {
    op: Op,
    shift: i64,
}

/// Each element of an array, so many times beside itself.
fn along_rows(b: &mut Builder, x: TermId, n: usize) -> Result<TermId> {
    let copies = b.replicate(n, x)?;
    b.transpose(&[1, 0], copies)
}

fn filled<T: Element>(b: &mut Builder, [n, m]: [usize; 2], x: T) -> Result<TermId> {
    let x = b.scalar(x)?;
    let row = b.replicate(m, x)?;
    b.replicate(n, row)
}

/// 2 for pairs that count, 0 for others.
fn mask(b: &mut Builder, sizes: [usize; 2], counted: Counted) -> Result<TermId> {
    let (i, j) = (b.iota(sizes[0])?, b.iota(sizes[1])?);
    let (i, j) = (along_rows(b, i, sizes[1])?, b.replicate(sizes[0], j)?);
    let shift = filled(b, sizes, counted.shift)?;
    let i = b.op(Op::Add, &[i, shift])?;
    let holds = b.op(counted.op, &[i, j])?;
    let (two, zero) = (filled(b, sizes, 2.0)?, filled(b, sizes, 0.0)?);
    b.op(Op::Select, &[holds, two, zero])
}

/// Differences of all pairs, and their weights: their squares where they count, and 0 elsewhere.
fn weights(b: &mut Builder, xs: &[TermId], counted: Counted) -> Result<(TermId, TermId)> {
    // Dear enough to be computed once for all sums, which are exact.
    weights_of(b, xs, counted, 7)
}

/// So many operations on integers.
fn operations(b: &mut Builder, mut x: TermId, sizes: [usize; 2], count: usize) -> Result<TermId> {
    let sixteen = filled(b, sizes, 16.0)?;
    for _ in 0..count {
        let sin = b.op(Op::Sin, &[x])?;
        let product = b.op(Op::Mul, &[sin, sixteen])?;
        x = b.op(Op::Floor, &[product])?;
    }
    Ok(x)
}

/// Differences of all pairs, and their weights, of so many operations.
fn weights_of(
    b: &mut Builder,
    xs: &[TermId],
    counted: Counted,
    count: usize,
) -> Result<(TermId, TermId)> {
    let sizes = [xs[0], xs[1]].map(|x| b.shape(x).dims()[0]);
    let (rows, columns) = (along_rows(b, xs[0], sizes[1])?, b.replicate(sizes[0], xs[1])?);
    let difference = b.op(Op::Sub, &[rows, columns])?;
    let square = b.op(Op::Mul, &[difference, difference])?;
    let dear = operations(b, square, sizes, count)?;
    let mask = mask(b, sizes, counted)?;
    Ok((difference, b.op(Op::Scale, &[mask, dear])?))
}

/// Sums of the weights, of all, of rows and of columns, and of their products with differences.
fn sums(b: &mut Builder, xs: &[TermId], counted: Counted) -> Result<Vec<TermId>> {
    let (difference, weight) = weights(b, xs, counted)?;
    let force = b.op(Op::Scale, &[weight, difference])?;
    let force = b.op(Op::Neg, &[force])?;
    let columns = b.sum_outer(force)?;
    let turned = b.transpose(&[1, 0], force)?;
    let rows = b.sum_outer(turned)?;
    let total = b.sum_outer(weight)?;
    let total = b.sum_outer(total)?;
    Ok(vec![total, rows, columns])
}

/// What is made of arrays of moderate size for pairs that count, and two sums that read it as it is:
/// both go where it is made, also where it is made without a look for zeros.
#[test]
fn what_is_made_without_a_look_is_read_where_it_is_made() {
    let summed = |b: &mut Builder, xs: &[TermId]| {
        let sizes = [xs[0], xs[1]].map(|x| b.shape(x).dims()[0]);
        let (rows, columns) = (along_rows(b, xs[0], sizes[1])?, b.replicate(sizes[0], xs[1])?);
        let mut dear = b.op(Op::Sub, &[rows, columns])?;
        let (most, least) = (filled(b, sizes, 5.0)?, filled(b, sizes, -7.0)?);
        // So dear that it is kept, and finite.
        for _ in 0..15 {
            let more = b.op(Op::Add, &[dear, columns])?;
            let less = b.op(Op::Min, &[more, most])?;
            dear = b.op(Op::Max, &[less, least])?;
        }
        let mask = mask(b, sizes, Counted { op: Op::Lt, shift: 0 })?;
        let weight = b.op(Op::Scale, &[mask, dear])?;
        let turned = b.transpose(&[1, 0], weight)?;
        Ok(vec![b.sum_outer(weight)?, b.sum_outer(turned)?])
    };
    for n in [size(40, 5), size(400, 6)] {
        let mut inputs = [numbers(&[n]), numbers(&[n])];
        let program = same(&inputs, summed);
        if n == 400 {
            planned("pairs_without_a_look", &program);
        }
        // Without a number that is not of moderate size, and with one.
        let mut elements = inputs[0].to_vec::<f64>().unwrap();
        elements[1] = 1e300;
        inputs[0] = Array::from_vec(inputs[0].shape().clone(), elements).unwrap();
        same(&inputs, summed);
    }
}

const COMPARISONS: [Op; 4] = [Op::Lt, Op::Le, Op::Gt, Op::Ge];

#[test]
fn pairs_that_count_by_their_order() {
    let sizes = [(7, 7), (1, 1), (9, 5), (5, 21), (40, 9)];
    for (n, m) in sizes.into_iter().take(size(sizes.len(), 1)) {
        for op in COMPARISONS {
            for shift in [2, 0, -3, -30].into_iter().take(size(4, 1)) {
                let counted = Counted { op, shift };
                same(&[numbers(&[n]), numbers(&[m])], |b, xs| sums(b, xs, counted));
            }
        }
    }
}

#[test]
fn large_blocks_leave_out_what_does_not_count() {
    // Not all comparisons are of an order.
    for (op, name) in [(Op::Lt, "pairs_below"), (Op::Ge, "pairs_above"), (Op::Ne, "pairs_apart")] {
        let counted = Counted { op, shift: 1 };
        planned(name, &same(&[numbers(&[N]), numbers(&[N])], |b, xs| sums(b, xs, counted)));
    }
}

#[test]
fn what_does_not_count_may_be_anything() {
    let mut elements = vec![1.0; N];
    (elements[3], elements[N / 6], elements[N - 3]) = (f64::INFINITY, f64::NAN, f64::NEG_INFINITY);
    let x: Array = array(&[N], &elements);
    let counted = |op| Counted { op, shift: 0 };
    same(&[x.clone(), numbers(&[N])], |b, xs| sums(b, xs, counted(Op::Lt)));
    same(&[numbers(&[N]), x], |b, xs| sums(b, xs, counted(Op::Ge)));
}

#[test]
fn all_of_a_result_is_there() {
    // The weights are wanted themselves, with their zeros.
    let counted = Counted { op: Op::Lt, shift: 0 };
    same(&[numbers(&[N]), numbers(&[N])], |b, xs| {
        let (difference, weight) = weights(b, xs, counted)?;
        let force = b.op(Op::Scale, &[weight, difference])?;
        let turned = b.transpose(&[1, 0], force)?;
        Ok(vec![weight, b.sum_outer(force)?, b.sum_outer(turned)?])
    });
}

#[test]
fn readers_that_go_elsewhere() {
    // One sum takes the pairs in order and the other those that are not, of what is made once; or
    // one takes all of them.
    for (op, other) in [(Op::Lt, Op::Gt), (Op::Gt, Op::Lt), (Op::Lt, Op::Lt)] {
        same(&[numbers(&[N]), numbers(&[N])], |b, xs| {
            let (_, weight) = weights(b, xs, Counted { op: Op::Ne, shift: 0 })?;
            let mut sums = Vec::new();
            for (n, op) in [op, other].into_iter().enumerate() {
                let mask = mask(b, [N, N], Counted { op, shift: 3 })?;
                let counted = b.op(Op::Scale, &[mask, weight])?;
                let counted = if n == 0 { counted } else { b.transpose(&[1, 0], counted)? };
                sums.push(b.sum_outer(counted)?);
            }
            Ok(sums)
        });
    }
    same(&[numbers(&[N]), numbers(&[N])], |b, xs| {
        let (difference, weight) = weights(b, xs, Counted { op: Op::Lt, shift: 0 })?;
        let more = b.op(Op::Add, &[weight, difference])?;
        let force = b.op(Op::Scale, &[weight, difference])?;
        let turned = b.transpose(&[1, 0], force)?;
        Ok(vec![b.sum_outer(more)?, b.sum_outer(force)?, b.sum_outer(turned)?])
    });
}

#[test]
fn totals_are_taken_with_what_comes_later() {
    // The total comes first, over columns and then rows, or over rows and then columns: its nest
    // begins the group of the others. The weights are cheap, and still computed only once.
    for turned in [false, true] {
        for n in [6, 300].into_iter().take(size(2, 1)) {
            let counted = Counted { op: Op::Lt, shift: 0 };
            let program = same(&[numbers(&[n]), numbers(&[n])], |b, xs| {
                let (difference, weight) = weights_of(b, xs, counted, 1)?;
                let first = if turned { b.transpose(&[1, 0], weight)? } else { weight };
                let total = b.sum_outer(first)?;
                let total = b.sum_outer(total)?;
                let dear = operations(b, weight, [n, n], 6)?;
                let force = b.op(Op::Scale, &[dear, difference])?;
                let turned = b.transpose(&[1, 0], force)?;
                Ok(vec![total, b.sum_outer(force)?, b.sum_outer(turned)?])
            });
            if n == 300 {
                planned(if turned { "total_of_columns" } else { "total_of_rows" }, &program);
            }
        }
    }
}

#[test]
fn a_total_and_an_array_in_one_nest() {
    let (n, m) = (size(100, 6), size(80, 5));
    let program = same(&[numbers(&[n, m])], |b, xs| {
        let square = b.op(Op::Mul, &[xs[0], xs[0]])?;
        let total = b.sum_outer(square)?;
        let total = b.sum_outer(total)?;
        Ok(vec![total, b.op(Op::Neg, &[xs[0]])?])
    });
    planned("total_and_array", &program);
    // What waits for the total does not go with it.
    same(&[numbers(&[n, m])], |b, xs| {
        let rows = b.sum_outer(xs[0])?;
        let total = b.sum_outer(rows)?;
        let copies = b.replicate(m, total)?;
        let copies = b.replicate(n, copies)?;
        Ok(vec![total, b.op(Op::Sub, &[xs[0], copies])?])
    });
}

#[test]
fn copies_of_what_is_read_anyway() {
    // The gradient of a product of vectors is the other vector, which its value goes through.
    // Nothing goes through the last input.
    let program = same(&[numbers(&[5000]), numbers(&[5000]), numbers(&[70])], |b, xs| {
        let product = b.op(Op::Mul, &[xs[0], xs[1]])?;
        Ok(vec![b.sum_outer(product)?, xs[1], xs[0], xs[1], xs[2]])
    });
    planned("copies_beside_a_sum", &program);
}
