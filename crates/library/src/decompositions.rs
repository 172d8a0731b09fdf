//! Factorisations of matrices and what is made of them: numerical routines of the core language, with
//! derivatives of closed form.
//!
//! Matrices are on the last two axes, what is before them is a batch.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Extreme, Param, Routine, Type, While, negligible};

use crate::arrange::concatenated;
use crate::context::{Context, Fact};
use crate::function::functions;
use crate::products::matrix_product;
use crate::reduce::{largest, over, product, root, total};
use crate::term::Term;

/// The sizes of matrices, or an error.
fn sizes(a: Term<'_>) -> Option<(usize, usize)> {
    match a.dims()[..] {
        [.., n, k] => Some((n, k)),
        _ => {
            let hint = "matrices are on the last two axes, and what is before them is a batch";
            a.context().note(Fact::Blame(vec![0]));
            a.context().wrong(format!("a matrix is needed, not {}", a.shown()), hint);
            None
        }
    }
}

/// The size of square matrices, or an error.
fn square(a: Term<'_>) -> Option<usize> {
    let (n, k) = sizes(a)?;
    if n == k {
        return Some(n);
    }
    let c = a.context();
    c.note(Fact::UnlessEqual(vec![(n, k)]));
    c.note(Fact::Blame(vec![0]));
    c.wrong(format!("a square matrix is needed, not {}", a.shown()), "");
    None
}

fn turned(a: Term<'_>) -> Term<'_> {
    let mut order: Vec<usize> = (0..a.rank()).collect();
    if let [.., i, j] = &mut order[..] {
        std::mem::swap(i, j);
    }
    a.permute(&order)
}

fn routine<'c>(routine: Routine, operands: &[Term<'c>]) -> Term<'c> {
    let ids: Option<Vec<_>> = operands.iter().map(|x| x.id()).collect();
    operands[0].map(|b, _| b.routine(routine, &ids.unwrap_or_default()))
}

/// Axes of size 1 after the others, for what is beside matrices.
fn beside(x: Term<'_>) -> Term<'_> {
    x.column(2)
}

fn nothing(a: Term<'_>, count: usize) -> Vec<Term<'_>> {
    vec![a.nothing(); count]
}

// ---- factorisations --------------------------------------------------------------------------------

fn lu_of<'c>(c: &'c Context, a: Term<'c>) -> Vec<Term<'c>> {
    let Some(n) = square(a) else { return nothing(a, 3) };
    let (factors, rows) = (routine(Routine::LuFactors, &[a]), routine(Routine::LuRows, &[a]));
    let (i, j) = (c.iota(n).column(1), c.iota(n));
    let (zero, one) = (a.number(0.0), a.number(1.0));
    let lower = i.gt(j).choose(factors, i.eq(j).choose(one, zero));
    let upper = i.le(j).choose(factors, zero);
    let mut dims = rows.dims();
    let last = dims.len().saturating_sub(1);
    dims.insert(last, 1);
    let permutation = rows.reshape(&dims).eq(i).cast(a.dtype());
    vec![permutation, lower, upper]
}

fn qr_of<'c>(a: Term<'c>) -> Vec<Term<'c>> {
    let Some((n, k)) = sizes(a) else { return nothing(a, 2) };
    if n >= k {
        return vec![routine(Routine::QrQ, &[a]), routine(Routine::QrR, &[a])];
    }
    // The columns that are left are combinations of those of `q`.
    let axis = a.rank() - 1;
    let (first, rest) = (a.along(axis, n, |j| j), a.along(axis, k - n, |j| j + n));
    let (q, r) = (routine(Routine::QrQ, &[first]), routine(Routine::QrR, &[first]));
    let right = matrix_product(turned(q), rest);
    vec![q, concatenated(a.context(), &[r, right], -1)]
}

/// `u`, the singular values, and `v`.
fn svd_of<'c>(a: Term<'c>) -> Option<[Term<'c>; 3]> {
    let (n, k) = sizes(a)?;
    let tall = if n >= k { a } else { turned(a) };
    let [u, s, v] = [Routine::SvdLeft, Routine::SvdValues, Routine::SvdRight]
        .map(|part| routine(part, &[tall]));
    Some(if n >= k { [u, s, v] } else { [v, s, u] })
}

fn singular_values(a: Term<'_>) -> Term<'_> {
    match sizes(a) {
        Some((n, k)) => routine(Routine::SvdValues, &[if n >= k { a } else { turned(a) }]),
        None => a.nothing(),
    }
}

// ---- systems ---------------------------------------------------------------------------------------

fn pinv_of<'c>(a: Term<'c>) -> Term<'c> {
    let Some((n, k)) = sizes(a) else { return a.nothing() };
    if n < k {
        return turned(pinv_of(turned(a)));
    }
    // Its derivative is that of the matrix, not those of the factors.
    let still = a.stop_gradient();
    let Some([u, s, v]) = svd_of(still) else { return a.nothing() };
    routine(Routine::Pseudoinverse, &[a, u, s, v])
}

fn lstsq_of<'c>(c: &'c Context, a: Term<'c>, b: Term<'c>) -> Term<'c> {
    let Some((n, k)) = sizes(a) else { return a.nothing() };
    let rows = match b.dims()[..] {
        [rows] | [.., rows, _] => rows,
        [] => 0,
    };
    if rows != n || b.rank() == 0 {
        c.note(Fact::UnlessEqual(vec![(n, rows)]));
        c.note(Fact::Blame(vec![0, 1]));
        let message = format!("a system {} with the right sides {}", a.shown(), b.shown());
        let hint = "right sides are a vector, or the columns of matrices with as many rows; leading \
                    axes are broadcast";
        return c.wrong(message, hint);
    }
    let solved = |t: Term<'c>, b: Term<'c>, lower: bool| match (t.id(), b.id()) {
        (Some(t), Some(right)) => c.make(|b| b.solve_triangular(t, right, lower)),
        _ => a.nothing(),
    };
    if n >= k {
        let (q, r) = (routine(Routine::QrQ, &[a]), routine(Routine::QrR, &[a]));
        return solved(r, matrix_product(turned(q), b), false);
    }
    // The smallest solution is one of the rows of `a`.
    let a = turned(a);
    let (q, r) = (routine(Routine::QrQ, &[a]), routine(Routine::QrR, &[a]));
    matrix_product(q, solved(turned(r), b, true))
}

// ---- determinants ---------------------------------------------------------------------------------

/// Up to so many rows determinants are polynomials of the elements. Those of larger matrices are
/// products of pivots, whose derivatives are infinite where the matrix is singular.
const POLYNOMIAL: usize = 3;

fn det_of<'c>(c: &'c Context, a: Term<'c>) -> Term<'c> {
    let (Some(n), Some(id)) = (square(a), a.id()) else { return a.nothing() };
    let value = c.make(|b| b.det(id));
    if n <= POLYNOMIAL {
        return value;
    }
    let singular = value.eq(0.0);
    c.build(&value.dims(), |is| {
        let pivots = by_largest_pivots(c, a.at(is), n);
        match (singular.at(is).id(), pivots.id(), value.at(is).id()) {
            (Some(p), Some(u), Some(v)) => c.make(|b| b.cond(p, u, v)),
            _ => a.nothing(),
        }
    })
}

/// The determinant of one matrix: the product of the pivots of an elimination that takes the largest
/// element left, wherever it is. A pivot of 0 means that all that is left is 0, so also where the
/// matrix is singular the derivative of the product is that of the determinant.
fn by_largest_pivots<'c>(c: &'c Context, a: Term<'c>, n: usize) -> Term<'c> {
    let made = Term::run_loop(false, &[a], &[c.iota(n)], |state, x| {
        let ([a], [k]) = (state, x) else { return Vec::new() };
        let (a, k) = (*a, *k);
        let size = c.build(&[n, n], |is| (is[0].ge(k) & is[1].ge(k)).choose(a.at(is).abs(), -1.0));
        let place = size.reshape(&[n * n]).arg_extreme(Extreme::Max);
        let (row, column) = (place / n, place % n);
        let swapped = |i: Term<'c>, with: Term<'c>| i.eq(k).choose(with, i.eq(with).choose(k, i));
        let a = c.build(&[n, n], |is| a.at(&[swapped(is[0], row), swapped(is[1], column)]));
        let pivot = a.at(&[k, k]);
        let divisor = pivot.eq(0.0).choose(pivot.number(1.0), pivot);
        let next = c.build(&[n, n], |is| {
            let cleared = a.at(is) - a.at(&[is[0], k]) * a.at(&[k, is[1]]) / divisor;
            is[0].gt(k).choose(cleared, a.at(is))
        });
        let even = row.eq(k).eq(column.eq(k));
        vec![next, even.choose(pivot, -pivot)]
    });
    made.get(1).map_or(a.nothing(), |&pivots| over(pivots, &[0], product))
}

// ---- norms -----------------------------------------------------------------------------------------

/// The last axis, or the last two.
fn last(a: Term<'_>, count: usize) -> Vec<usize> {
    (a.rank().saturating_sub(count)..a.rank()).collect()
}

fn outermost<'c>(values: Term<'c>, extreme: Extreme) -> Term<'c> {
    over(values, &last(values, 1), |front| crate::reduce::extreme(front, extreme))
}

fn matrix_norm_of<'c>(a: Term<'c>, p: &str) -> Term<'c> {
    let Some((n, k)) = sizes(a) else { return a.nothing() };
    let sums = |axis: usize| over(a.abs(), &[a.rank() - 2 + axis], total);
    let empty = n == 0 || k == 0;
    let zeros = || {
        let dims = a.dims();
        a.number(0.0).replicate_all(dims.get(..dims.len() - 2).unwrap_or_default())
    };
    match p {
        "fro" => root(over(a.square(), &last(a, 2), total)),
        "nuc" => {
            let values = singular_values(a);
            over(values, &last(values, 1), total)
        }
        "1" | "-1" | "inf" | "-inf" | "2" | "-2" if empty => zeros(),
        "1" => outermost(sums(0), Extreme::Max),
        "-1" => outermost(sums(0), Extreme::Min),
        "inf" => outermost(sums(1), Extreme::Max),
        "-inf" => outermost(sums(1), Extreme::Min),
        "2" => outermost(singular_values(a), Extreme::Max),
        "-2" => outermost(singular_values(a), Extreme::Min),
        _ => {
            let hint = "there are fro, nuc, 2, -2, 1, -1, inf and -inf";
            a.context().wrong(format!("a norm of matrices `{p}`"), hint)
        }
    }
}

fn cond_of<'c>(c: &'c Context, a: Term<'c>, p: &str) -> Term<'c> {
    if matches!(p, "2" | "-2") {
        let (large, small) = (matrix_norm_of(a, "2"), matrix_norm_of(a, "-2"));
        return if p == "2" { large / small } else { small / large };
    }
    if square(a).is_none() {
        return a.nothing();
    }
    let inverse = a.id().map_or(a.nothing(), |a| c.make(|b| b.inverse(a)));
    matrix_norm_of(a, p) * matrix_norm_of(inverse, p)
}

fn rank_of(a: Term<'_>) -> Term<'_> {
    let Some((n, k)) = sizes(a) else { return a.nothing() };
    let values = singular_values(a);
    let most =
        over(
            values,
            &last(values, 1),
            |front| {
                if n.min(k) == 0 { total(front) } else { largest(front) }
            },
        );
    let bound = most * negligible(a.dtype(), n, k);
    let counts = values.gt(bound.column(1)).cast(Dtype::I64);
    over(counts, &last(counts, 1), total)
}

// ---- exponentials ----------------------------------------------------------------------------------

/// The coefficients of the numerator of Padé's approximation of degree 13.
const PADE: [f64; 14] = [
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
];

/// Up to this sum of absolute values of a column, the approximation is exact to `f64`.
const EXACT: f64 = 5.371920351148152;

/// So many squarings at most; what is needed of each is saved for derivatives.
const SQUARINGS: usize = 16;

/// `exp(a) = exp(a / 2^s)^(2^s)`, by an approximation whose numerator is `v + u` and whose denominator
/// is `v - u` (Higham).
fn expm_of<'c>(c: &'c Context, a: Term<'c>) -> Term<'c> {
    let Some(n) = square(a) else { return a.nothing() };
    if n == 0 {
        return a;
    }
    let dtype = a.dtype();
    let size = matrix_norm_of(a, "1").stop_gradient();
    let halvings = Term::op(Op::Ceil, &[Term::op(Op::Log2, &[size / EXACT])]);
    let halvings = size.gt(EXACT).choose(halvings, 0.0);
    let beyond = !halvings.le(SQUARINGS as f64);
    let halvings = beyond.choose(halvings.number(0.0), halvings);
    let scaled = a * beside(Term::op(Op::Exp2, &[-halvings]));
    let identity = c.iota(n).column(1).eq(c.iota(n)).cast(dtype);
    let two = matrix_product(scaled, scaled);
    let four = matrix_product(two, two);
    let six = matrix_product(two, four);
    // The powers that `six` is still to be multiplied with, and the others.
    let high = |k: usize| six * PADE[k + 12] + four * PADE[k + 10] + two * PADE[k + 8];
    let low =
        |k: usize| six * PADE[k + 6] + four * PADE[k + 4] + two * PADE[k + 2] + identity * PADE[k];
    let even = matrix_product(six, high(0)) + low(0);
    let odd = matrix_product(scaled, matrix_product(six, high(1)) + low(1));
    let start = match ((even - odd).id(), (even + odd).id()) {
        (Some(below), Some(above)) => c.make(|b| b.solve(below, above)),
        _ => a.nothing(),
    };
    let squared = squared(c, start, halvings);
    beside(beyond).choose(a.number(f64::NAN), squared)
}

/// Each matrix squared so many times.
fn squared<'c>(c: &'c Context, start: Term<'c>, times: Term<'c>) -> Term<'c> {
    let (Some(init), Some(counts)) = (start.id(), times.id()) else { return start.nothing() };
    let (ty, count_ty) = c
        .change(|b| Ok((b.ty(init).clone(), b.ty(counts).clone())))
        .unwrap_or_else(|| (Type::scalar(Dtype::F64), Type::scalar(Dtype::F64)));
    let region = c.region(&[Param::Value(ty), Param::Value(count_ty)], |vars| {
        let [x, left] = *vars else { return Vec::new() };
        let more = left.gt(0.0);
        let any =
            over(more.cast(Dtype::I64), &(0..more.rank()).collect::<Vec<_>>(), total).gt(0i64);
        let next = beside(more).choose(matrix_product(x, x), x);
        vec![any, next, left - 1.0]
    });
    let Some(step) = region else { return start.nothing() };
    c.make(|b| {
        let w = While { bound: Some(SQUARINGS), init: [init, counts].into(), step };
        let node = b.while_accum(w)?;
        b.result(node, 0)
    })
}

functions! { Linear TABLE:
    /// The determinant of a square matrix; of one without rows, 1.
    ///
    /// Its first derivative is right also where it is 0.
    det(a: Float) "det([[1.0, 2.0], [3.0, 4.0]])" = |c| det_of(c, a);
    /// The permutation matrix `p`, the lower triangular `l` with ones on its diagonal and the upper
    /// triangular `u` with `a = p l u`, by elimination with row pivots.
    ///
    /// Of a singular matrix `u` has a 0 on its diagonal, and the derivatives are infinite or NaN.
    lu(a: Float) "lu([[1.0, 4.0], [2.0, 6.0]])" = |c| lu_of(c, a);
    /// `q` and `r` with `a = q r`: `q` has orthonormal columns, `r` is upper triangular with a diagonal
    /// that is not negative. For an `m` by `n` matrix, `q` has `min(m, n)` columns.
    ///
    /// Where the columns of `a` (the first ones, if there are more columns than rows) are linearly
    /// dependent, there is an orthonormal `q` all the same, but derivatives are infinite or NaN.
    qr(a: Float) "qr([[2.0, 1.0], [0.0, 3.0]])" = |c| qr_of(a);
    /// The eigenvalues of a symmetric matrix in ascending order, and the matrix whose columns are their
    /// eigenvectors. Only the lower triangle of `a` is read.
    ///
    /// Columns have length 1, and the first of their elements that are at least 9/10 of the largest in
    /// absolute value is positive. Where eigenvalues are equal, vectors have no derivative: the terms
    /// of their differences count as 0, so that functions of the values alone have the derivatives
    /// that they should. NaN if an element that is read is not finite.
    eigh(a: Float) "eigh([[2.0, 0.0], [0.0, 1.0]])"
        = |c| match square(a) {
            Some(_) => {
                vec![routine(Routine::EighValues, &[a]), routine(Routine::EighVectors, &[a])]
            }
            None => nothing(a, 2),
        };
    /// The eigenvalues of a symmetric matrix in ascending order; see `eigh`.
    eigvalsh(a: Float) "eigvalsh([[2.0, 0.0], [0.0, 1.0]])"
        = |c| match square(a) {
            Some(_) => routine(Routine::EighValues, &[a]),
            None => a.nothing(),
        };
    /// `u`, the singular values `s` in descending order, and `vt`, with `a = matmul(u * s, vt)`. An `m`
    /// by `n` matrix has `min(m, n)` of each.
    ///
    /// The signs are those of eigenvectors (`eigh`) for the rows of `vt`, or for the columns of `u` if
    /// `a` has more columns than rows. Where values are equal or 0, vectors have no derivative: the
    /// terms of differences and inverses count as 0. NaN if an element is not finite.
    svd(a: Float) "svd([[3.0, 0.0], [0.0, 4.0]])"
        = |c| match svd_of(a) {
            Some([u, s, v]) => vec![u, s, turned(v)],
            None => nothing(a, 3),
        };
    /// The singular values in descending order; see `svd`.
    svdvals(a: Float) "svdvals([[3.0, 0.0], [0.0, 4.0]])" = |c| singular_values(a);
    /// The Moore-Penrose pseudoinverse. Singular values up to `max(m, n)` times the machine
    /// epsilon times the largest count as 0.
    ///
    /// The derivative is that for matrices of the same rank; where the rank changes there is none.
    pinv(a: Float) "pinv([[3.0, 0.0], [0.0, 4.0]])" = |c| pinv_of(a);
    /// The least-squares solution: the `x` for which `a x` is nearest to `b`, a vector or the columns
    /// of a matrix; the smallest such `x` if `a` has more columns than rows. Leading axes are batch
    /// axes and are broadcast.
    ///
    /// The columns of `a` (or its rows, if there are fewer) must be linearly independent, else there
    /// are infinities or NaN: `matmul(pinv(a), b)` has a result then.
    lstsq(a: Float, b: Float) "lstsq([[2.0], [0.0]], [6.0, 1.0])"
        = |c| lstsq_of(c, a, b);
    /// A matrix norm: `fro`, the square root of the sum of squares; `nuc`, the sum of the singular
    /// values; `2` and `-2`, the largest and smallest singular value; `1` and `-1`, the largest and
    /// smallest sum of absolute values in a column; `inf` and `-inf`, in a row. 0 for empty matrices.
    matrix_norm(a: Float, p: Word = "fro") "matrix_norm([[3.0, 0.0], [0.0, 4.0]], nuc)"
        = |c| matrix_norm_of(a, &p);
    /// The condition number: the norm of `a` times the norm of its inverse. For `2` it is the
    /// largest singular value divided by the smallest, and `a` need not be square. Infinite or NaN
    /// for singular matrices.
    cond_number(a: Float, p: Word = "2") "cond_number([[3.0, 0.0], [0.0, 6.0]])"
        = |c| cond_of(c, a, &p);
    /// The rank: the number of singular values above `max(m, n)` times the machine epsilon times
    /// the largest.
    matrix_rank(a: Float) "matrix_rank([[1.0, 2.0], [2.0, 4.0]])" = |c| rank_of(a);
    /// The exponential of a square matrix, `I + a + a a / 2 + ..`. NaN where the 1-norm is above
    /// 350000.
    expm(a: Float) "expm([[0.0, 1.0], [0.0, 0.0]])" = |c| expm_of(c, a);
}
