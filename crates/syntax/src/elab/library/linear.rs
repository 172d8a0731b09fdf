//! Linear systems and what is made of their factors.

use cotan_ir::{Builder, Routine, TermId};

use super::{Call, Row};
use crate::elab::value::Value;
use crate::elab::{Elab, R};

pub(super) const LINEAR: &[Row] = &[
    (
        "solve(a, b)",
        |e, c| made(e, c, |b, ts| b.solve(ts[0], ts[1])),
        "The solution `x` of `a x = b`, for a vector or the columns of a matrix `b`; leading axes are a batch, and broadcast. Infinities or nan where `a` is singular.",
        "solve([[0.0, 2.0], [4.0, 0.0]], [2.0, 12.0])",
    ),
    (
        "solve_triangular(a, b, lower = true)",
        solve_triangular,
        "The same for a triangle of `a`; the rest is not read.",
        "solve_triangular([[2.0, 9.0], [1.0, 4.0]], [2.0, 9.0])",
    ),
    (
        "cholesky_solve(l, b)",
        |e, c| made(e, c, |b, ts| b.cholesky_solve(ts[0], ts[1])),
        "The solution `x` of `a x = b`, given `l = cholesky(a)`.",
        "cholesky_solve([[2.0, 0.0], [1.0, 3.0]], [8.0, 22.0])",
    ),
    (
        "inverse(a)",
        |e, c| made(e, c, |b, ts| b.inverse(ts[0])),
        "The inverse of a square matrix; to solve systems, `solve` is faster and more accurate.",
        "inverse([[2.0, 0.0], [0.0, 4.0]])",
    ),
    (
        "slogdet(a)",
        slogdet,
        "The sign of the determinant and the logarithm of its absolute value, a pair: these do not overflow.",
        "slogdet([[1.0, 2.0], [3.0, 4.0]])",
    ),
];

/// What a function of the builder makes of the arguments.
fn made(
    elab: &mut Elab<'_>,
    call: &Call,
    f: fn(&mut Builder, &[TermId]) -> cotan_ir::Result<TermId>,
) -> R<Value> {
    let terms = terms(elab, call)?;
    let made = f(&mut elab.b, &terms);
    elab.lift(made, call.span).map(Value::Term)
}

fn terms(elab: &mut Elab<'_>, call: &Call) -> R<Vec<TermId>> {
    let values = elab.all_values(call);
    values.iter().map(|(value, span)| elab.term(value, *span)).collect()
}

/// A former of the core language.
pub(super) fn routine(elab: &mut Elab<'_>, call: &Call, routine: Routine) -> R<Value> {
    let terms = terms(elab, call)?;
    let made = elab.b.routine(routine, &terms);
    elab.lift(made, call.span).map(Value::Term)
}

fn solve_triangular(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let (a, b) = (elab.term_at(call, 0)?, elab.term_at(call, 1)?);
    let lower = call.arg(2).is_none() || elab.flag_at(call, 2)?;
    let made = elab.b.solve_triangular(a, b, lower);
    elab.lift(made, call.span).map(Value::Term)
}

fn slogdet(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let a = elab.term_at(call, 0)?;
    let made = elab.b.slogdet(a);
    let (sign, log) = elab.lift(made, call.span)?;
    let pair = Value::tuple(vec![Value::Term(sign), Value::Term(log)]);
    elab.bounded(pair, call.span)
}
