//! Products of vectors and matrices.

use cotan_ir::broadcast_dims;

use crate::axes::axes_of;
use crate::context::{Context, Fact};
use crate::contract::{Label, Labelled, Labels, batched, contract};
use crate::einsum::summed_by;
use crate::function::functions;
use crate::reduce::{over, total};
use crate::term::Term;

/// The error of two arrays that do not fit.
fn mismatch<'c>(a: Term<'c>, b: Term<'c>, hint: &str) -> Term<'c> {
    let c = a.context();
    c.note(Fact::Blame(vec![0, 1]));
    c.wrong(format!("{} and {}", a.shown(), b.shown()), hint)
}

const LEADING: &str = "leading axes fit when, from the last back, sizes are equal, 1 or missing";

fn unfit_leading<'c>(a: Term<'c>, b: Term<'c>, own: usize) -> Term<'c> {
    let leading = |x: Term<'c>| {
        let mut dims = x.dims();
        dims.truncate(dims.len().saturating_sub(own));
        dims
    };
    a.context().note(Fact::UnlessBroadcast(leading(a), leading(b)));
    mismatch(a, b, LEADING)
}

pub(crate) fn matrix_product<'c>(a: Term<'c>, b: Term<'c>) -> Term<'c> {
    let hint = "the last size of the first must be the last but one of the second, the only one of \
                a vector";
    let mut all = Labels::default();
    let (k, rows) = match a.dims()[..] {
        [k] => (k, None),
        [.., m, k] => (k, Some(m)),
        [] => return mismatch(a, b, "multiply scalars by `*`"),
    };
    let (other_k, columns) = match b.dims()[..] {
        [k] => (k, None),
        [.., k, n] => (k, Some(n)),
        [] => return mismatch(a, b, "multiply scalars by `*`"),
    };
    if k != other_k {
        a.context().note(Fact::UnlessEqual(vec![(k, other_k)]));
        return mismatch(a, b, hint);
    }
    let summed = all.fresh(k);
    let rows = rows.map(|m| all.fresh(m));
    let columns = columns.map(|n| all.fresh(n));
    let left: Vec<Label> = rows.into_iter().chain([summed]).collect();
    let right: Vec<Label> = std::iter::once(summed).chain(columns).collect();
    let out: Vec<Label> = rows.into_iter().chain(columns).collect();
    batched((a, &left), (b, &right), &out, all).unwrap_or_else(|| unfit_leading(a, b, 2))
}

/// Sums over pairs of axes.
fn over_axes<'c>(
    c: &'c Context,
    (a, a_axes): (Term<'c>, &[usize]),
    (b, b_axes): (Term<'c>, &[usize]),
) -> Term<'c> {
    let mut all = Labels::default();
    let (a_dims, b_dims) = (a.dims(), b.dims());
    let a_labels = all.fresh_all(&a_dims);
    let mut b_labels = all.fresh_all(&b_dims);
    let others = |axes: &[usize], labels: &[Label]| -> Vec<Label> {
        let kept = labels.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
        kept.map(|(_, &label)| label).collect()
    };
    let out = [others(a_axes, &a_labels), others(b_axes, &b_labels)].concat();
    if a_axes.len() != b_axes.len() {
        let message =
            format!("{} axes of the first and {} of the second", a_axes.len(), b_axes.len());
        return c.wrong(message, "axes are summed in pairs");
    }
    for (&i, &j) in a_axes.iter().zip(b_axes) {
        if a_dims[i] != b_dims[j] {
            c.note(Fact::UnlessEqual(vec![(a_dims[i], b_dims[j])]));
            let hint =
                format!("axis {i} of the first and axis {j} of the second must be of one size");
            return mismatch(a, b, &hint);
        }
        b_labels[j] = a_labels[i];
    }
    let operands = vec![Labelled { x: a, labels: a_labels }, Labelled { x: b, labels: b_labels }];
    contract(c, operands, &out, &all)
}

fn dot_of<'c>(a: Term<'c>, b: Term<'c>) -> Term<'c> {
    match (a.rank(), b.rank()) {
        (0, _) | (_, 0) => a * b,
        (m, n) => over_axes(a.context(), (a, &[m - 1]), (b, &[n.saturating_sub(2)])),
    }
}

fn vecdot_of<'c>(a: Term<'c>, b: Term<'c>) -> Term<'c> {
    let mut all = Labels::default();
    match (a.dims().last(), b.dims().last()) {
        (Some(&k), Some(&other_k)) if k == other_k => {
            let own = [all.fresh(k)];
            batched((a, &own), (b, &own), &[], all).unwrap_or_else(|| unfit_leading(a, b, 1))
        }
        (Some(&k), Some(&other_k)) => {
            a.context().note(Fact::UnlessEqual(vec![(k, other_k)]));
            mismatch(a, b, "the last sizes must be equal")
        }
        _ => mismatch(a, b, "the last sizes must be equal"),
    }
}

/// Axes of `a` and `b` in turn: size `a` and 1, 1 and size `b`.
fn kronecker<'c>(a: Term<'c>, b: Term<'c>) -> Term<'c> {
    let rank = a.rank().max(b.rank());
    let padded = |x: Term<'c>| -> Vec<usize> {
        std::iter::repeat_n(1, rank - x.rank()).chain(x.dims()).collect()
    };
    let (a_dims, b_dims) = (padded(a), padded(b));
    let rows: Vec<usize> = a_dims.iter().flat_map(|&k| [k, 1]).collect();
    let blocks: Vec<usize> = b_dims.iter().flat_map(|&k| [1, k]).collect();
    let sizes: Vec<usize> = a_dims.iter().zip(&b_dims).map(|(a, b)| a.saturating_mul(*b)).collect();
    for (&a_size, &b_size) in a_dims.iter().zip(&b_dims) {
        a.context().note(Fact::Product(vec![a_size, b_size]));
    }
    (a.reshape(&rows) * b.reshape(&blocks)).reshape(&sizes)
}

fn cross_product<'c>(a: Term<'c>, b: Term<'c>) -> Term<'c> {
    let (a_dims, b_dims) = (a.dims(), b.dims());
    if a_dims.last() != Some(&3) || b_dims.last() != Some(&3) {
        return mismatch(a, b, "the last axes must have size 3");
    }
    if broadcast_dims(&a_dims, &b_dims).is_none() {
        return unfit_leading(a, b, 1);
    }
    let (a, b) = (a.fronted(a_dims.len() - 1), b.fronted(b_dims.len() - 1));
    let component = |i: usize, j: usize| a.nth(i) * b.nth(j) - a.nth(j) * b.nth(i);
    let components = [component(1, 2), component(2, 0), component(0, 1)];
    let stacked = crate::arrange::stacked(a.context(), &components);
    stacked.restored(stacked.rank().saturating_sub(1))
}

fn power<'c>(x: Term<'c>, n: i64) -> Term<'c> {
    let (c, dims) = (x.context(), x.dims());
    let (rows, columns) = match dims[..] {
        [.., rows, columns] => (rows, columns),
        _ => (0, 1),
    };
    let Ok(mut rest) = u32::try_from(n) else {
        return c
            .wrong(format!("a power of {n}"), "powers are 0 at least: invert the matrix first");
    };
    if rows != columns {
        c.note(Fact::UnlessEqual(vec![(rows, columns)]));
        return c.wrong(format!("a square matrix is needed, not {}", x.shown()), "");
    }
    let (mut result, mut square) = (None, x);
    while rest > 0 {
        if rest % 2 == 1 {
            result = Some(result.map_or(square, |result| matrix_product(result, square)));
        }
        rest /= 2;
        if rest > 0 {
            square = matrix_product(square, square);
        }
    }
    let identity = || c.iota(rows).column(1).eq(c.iota(rows)).cast(x.dtype()).fit("it", &dims);
    result.unwrap_or_else(identity)
}

fn flat(x: Term<'_>, after: usize) -> Term<'_> {
    x.context().note(Fact::Product(x.dims()));
    x.reshape(&[&[x.size()][..], &vec![1; after]].concat())
}

functions! { Linear TABLE:
    /// The matrix product. A vector is a row on the left and a column on the right; leading axes are
    /// batch axes and are broadcast.
    matmul(a: Number, b: Number) "matmul([[1.0, 2.0], [3.0, 4.0]], [[1.0], [1.0]])"
        = |c| matrix_product(a, b);
    /// The scalar product of vectors, the product of matrices, the product with a scalar; in general
    /// the sum of products along the last axis of `a` and the second-to-last of `b`.
    dot(a: Number, b: Number) "dot([1.0, 2.0], [3.0, 4.0])" = |c| dot_of(a, b);
    /// The scalar products along the last axis; leading axes are broadcast.
    vecdot(a: Number, b: Number) "vecdot([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0])"
        = |c| vecdot_of(a, b);
    /// The scalar products along the last axis of every row of `a` with every row of `b`.
    inner(a: Number, b: Number) "inner([[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0]])"
        = |c| match (a.rank(), b.rank()) {
            (0, _) | (_, 0) => a * b,
            (m, n) => over_axes(c, (a, &[m - 1]), (b, &[n - 1])),
        };
    /// The outer product: the matrix of products of all pairs of elements.
    outer(a: Number, b: Number) "outer([1.0, 2.0], [3.0, 4.0])" = |c| flat(a, 1) * flat(b, 0);
    /// The Kronecker product: each element of `a` replaced by its product with all of `b`.
    kron(a: Number, b: Number) "kron([1.0, 2.0], [1.0, 1.0])" = |c| kronecker(a, b);
    /// The cross product along the last axis, which has size 3.
    cross(a: Number, b: Number) "cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])"
        = |c| cross_product(a, b);
    /// The sums of products over pairs of axes, one of each array.
    tensordot(a: Number, b: Number, a_axes: Axes, b_axes: Axes)
        "tensordot([[1.0, 2.0]], [[3.0, 4.0]], [0, 1], [0, 1])"
        = |c| {
            let a_axes = axes_of(c, a_axes.as_deref(), a.rank());
            let b_axes = axes_of(c, b_axes.as_deref(), b.rank());
            match c.failed() {
                true => a.nothing(),
                false => over_axes(c, (a, &a_axes), (b, &b_axes)),
            }
        };
    /// A square matrix to an integer power; the identity matrix for `n = 0`.
    matrix_power(a: Number, n: Whole) "matrix_power([[1.0, 1.0], [0.0, 1.0]], 3)"
        = |c| power(a, n);
    /// Sums of products in Einstein notation: axes with the same letter are iterated together, and
    /// letters missing from the result are summed over; `...` stands for axes that are broadcast.
    einsum(subscripts: Word, a: Numbers) "einsum(`ij,jk->ik`, [[1.0, 2.0]], [[3.0], [4.0]])"
        = |c| summed_by(c, &subscripts, &a);
    /// The sum of the diagonal of the matrices on the last two axes.
    trace(a: Number) "trace([[1.0, 2.0], [3.0, 4.0]])"
        = |c| {
            let diagonal = crate::arrange::diagonal_of(a, 0);
            over(diagonal, &[diagonal.rank().saturating_sub(1)], total)
        };
}
