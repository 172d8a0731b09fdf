//! Functions that solve something given as functions: structures are taken apart here, the rest is
//! the library's.

use cotan_array::Dtype;
use cotan_ir::{Builder, Extracted, Param, Scopes, Span, TermId, Type};
use cotan_library::solve::{self, Krylov, Method, Ode, Stop};
use cotan_library::{Arg as Given, Kind};

use super::loops::same_state;
use super::standard::known;
use super::{Call, Row};
use crate::diagnostic::{Code, Diagnostic};
use crate::elab::call::Applied;
use crate::elab::ops::Operand;
use crate::elab::value::Value;
use crate::elab::{Elab, R};

pub(super) const SOLVERS: &[Row] = &[
    (
        "root(f, x0, tolerance = 1e-10, at_most = 100)",
        |e, c| equation(e, c, solve::root),
        "The `x`, a structure like `x0`, with `f(x) = 0`, by Newton's method from `x0` on; nan where it does not converge. Derivatives are those of the solution by all that `f` uses, of any order; by `x0` they are 0.",
        "root(x => x * x - 2.0, 1.0)",
    ),
    (
        "fixed_point(f, x0, tolerance = 1e-10, at_most = 1000)",
        |e, c| equation(e, c, solve::fixed_point),
        "The `x` with `x = f(x)`, by `x = f(x)` from `x0` on; nan where it does not converge. Derivatives as of `root`, by the same iteration of the linearised `f`.",
        "fixed_point(x => 0.5 * (x + 2.0 / x), 1.0)",
    ),
    (
        "minimize(f, x0, tolerance = 1e-10, at_most = 200)",
        minimize,
        "An `x` where the gradient of the scalar function `f` is 0, by Newton's method with a line search downwards from `x0`; nan where it does not converge. Derivatives as of `root`.",
        "minimize(x => (x - 3.0) * (x - 3.0) + 1.0, 0.0)",
    ),
    (
        "cg(a, b, tolerance = 1e-10, at_most = 10 n)",
        |e, c| linear(e, c, Krylov::Cg, 2),
        "The `x` with `a(x) = b`, where the function `a` is linear, symmetric and positive definite, by conjugate gradients; nan where they do not converge to the tolerance relative to `b`. Derivatives solve such systems again, of any order.",
        "cg(x => 2.0 * x, [2.0, 4.0])",
    ),
    (
        "bicgstab(a, b, tolerance = 1e-10, at_most = 10 n)",
        |e, c| linear(e, c, Krylov::Bicgstab, 2),
        "As `cg`, where `a` need not be symmetric, by stabilised biconjugate gradients.",
        "bicgstab(x => 2.0 * x, [2.0, 4.0])",
    ),
    (
        "gmres(a, b, restart = 20, tolerance = 1e-10, at_most = 10 n)",
        gmres,
        "As `cg`, where `a` need not be symmetric, by the smallest residual among `restart` directions, and again.",
        "gmres(x => 2.0 * x, [2.0, 4.0])",
    ),
    (
        "odeint(f, y0, times, method = dopri5, adjoint = discrete, steps = 10, tolerance = 1e-8, at_most = 1000)",
        odeint,
        "The solution of `y' = f(t, y)` at the times, `y0` at the first of them, with one more outermost axis. `dopri5` and, for stiff equations, `rosenbrock` choose their steps for the tolerance, at most so many from one time to the next, nan after that; `rk4` and `euler` make `steps` from one time to the next. Derivatives go through the steps, or with `continuous` come from the adjoint equation, which keeps the values at the times only; they are nan where a solution is, and where the way back does not find these values, as for stiff equations between times that lie far apart. The tolerance is that of values: where these change fast, derivatives may need a smaller one.",
        "odeint((t, y) => -y, 1.0, [0.0, 1.0, 2.0])",
    ),
    (
        "quadrature(f, a, b, tolerance = 1e-10, at_most = 50)",
        quadrature,
        "The integral of `f` from `a` to `b`, by Kronrod's rule on intervals that are bisected at most so many times; nan where that is not enough. Differentiable by the limits and by what `f` uses.",
        "quadrature(x => exp(x), 0.0, 1.0)",
    ),
    (
        "gauss_legendre(f, a, b, points = 20)",
        gauss_legendre,
        "The integral of `f` from `a` to `b` by Gauss' rule of so many points, exact for polynomials of a degree below twice that.",
        "gauss_legendre(x => x * x, 0.0, 3.0)",
    ),
];

/// A structure with other terms at its leaves, in order.
fn refill(elab: &mut Elab<'_>, (value, span): &Operand, terms: &[TermId]) -> R<Value> {
    let mut terms = terms.iter().copied();
    elab.map_leaves(value, *span, &mut |elab, _| {
        terms.next().ok_or_else(|| elab.internal("too few terms"))
    })
}

/// An unknown of floats: literals become such.
fn unknown(elab: &mut Elab<'_>, call: &Call, slot: usize) -> R<Operand> {
    let (value, span) = elab.value_at(call, slot);
    match elab.floats(&value, None) {
        Ok(value) => Ok((value, span)),
        Err((_, found)) => {
            let message = format!("floats are needed here, not {found}");
            let hint = "convert it: `f64(…)`";
            Err(elab.report(Diagnostic::new(Code::TypeMismatch, span, message).hint(hint)))
        }
    }
}

/// The tolerance and the most steps at two parameters.
fn stop(elab: &mut Elab<'_>, call: &Call, slot: usize) -> R<Stop> {
    let tolerance = match call.arg(slot) {
        None => None,
        Some(arg) => match known(elab, arg, Kind::Real)? {
            Given::Real(x) if x > 0.0 && x < 1.0 => Some(x),
            Given::Int(_) | Given::Real(_) => {
                let message = "a tolerance lies between 0 and 1";
                let span = elab.arg_span(arg);
                return Err(elab.report(Diagnostic::new(Code::WrongArguments, span, message)));
            }
            _ => return Err(elab.internal("a tolerance that is no number")),
        },
    };
    let at_most = match elab.int_at(call, slot + 1)? {
        Some((k, place)) => Some(elab.size_from(k, place)?),
        None => None,
    };
    Ok(Stop { tolerance, at_most })
}

/// The word at a parameter.
fn word(elab: &mut Elab<'_>, call: &Call, slot: usize, default: &str, words: &[&str]) -> R<String> {
    let Some(arg) = call.arg(slot) else { return Ok(default.to_owned()) };
    match known(elab, arg, Kind::Word)? {
        Given::Word(word) if words.contains(&&*word) => Ok(word),
        _ => {
            let listed: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            let message = format!("one of {} is needed here", listed.join(", "));
            let span = elab.arg_span(arg);
            Err(elab.report(Diagnostic::new(Code::WrongArguments, span, message)))
        }
    }
}

/// A function as a program of some inputs and its captures. `body` gives its result.
fn extracted(
    elab: &mut Elab<'_>,
    types: Vec<Type>,
    span: Span,
    body: impl FnOnce(&mut Elab<'_>, &[TermId]) -> R<Value>,
) -> R<(Extracted, Value)> {
    let params: Vec<Param> = types.into_iter().map(Param::Value).collect();
    let mut result = Value::Error;
    let region = elab.region(&params, span, |elab, vars| {
        result = body(elab, vars)?;
        elab.leaves(&result, span)
    })?;
    let made = Extracted::new(&elab.b, &Scopes::of_region(&elab.b, region), region);
    Ok((elab.lift(made, span)?, result))
}

/// The types of the leaves of a structure.
fn types(elab: &mut Elab<'_>, (value, span): &Operand) -> R<Vec<Type>> {
    let leaves = elab.leaves(value, *span)?;
    Ok(leaves.into_iter().map(|t| elab.b.ty(t).clone()).collect())
}

/// A function of a structure to one like it.
fn endomorphism(elab: &mut Elab<'_>, f: &Applied, x: &Operand, span: Span) -> R<Extracted> {
    let types = types(elab, x)?;
    let (made, _) = extracted(elab, types, span, |elab, vars| {
        let at = refill(elab, x, vars)?;
        let result = elab.apply(f, vec![(at.clone(), x.1)], span)?;
        same_state(elab, &at, result, x.1, span)
    })?;
    Ok(made)
}

type Solver = fn(&mut Builder, &Extracted, &[TermId], Stop) -> cotan_ir::Result<Vec<TermId>>;

fn equation(elab: &mut Elab<'_>, call: &Call, solver: Solver) -> R<Value> {
    let f = elab.function_arg(call, 0)?;
    let x0 = unknown(elab, call, 1)?;
    let stop = stop(elab, call, 2)?;
    let f = endomorphism(elab, &f, &x0, call.span)?;
    let leaves = elab.leaves(&x0.0, x0.1)?;
    let made = solver(&mut elab.b, &f, &leaves, stop);
    let made = elab.lift(made, call.span)?;
    refill(elab, &x0, &made)
}

fn minimize(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let f = elab.function_arg(call, 0)?;
    let x0 = unknown(elab, call, 1)?;
    let stop = stop(elab, call, 2)?;
    let types = types(elab, &x0)?;
    let (f, _) = extracted(elab, types, call.span, |elab, vars| {
        let at = refill(elab, &x0, vars)?;
        elab.apply(&f, vec![(at, x0.1)], call.span)
    })?;
    let leaves = elab.leaves(&x0.0, x0.1)?;
    let made = solve::minimize(&mut elab.b, &f, &leaves, stop);
    let made = elab.lift(made, call.span)?;
    refill(elab, &x0, &made)
}

fn gmres(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let restart = match elab.int_at(call, 2)? {
        Some((k, place)) => elab.size_from(k, place)?,
        None => 20,
    };
    linear(elab, call, Krylov::Gmres(restart), 3)
}

fn linear(elab: &mut Elab<'_>, call: &Call, method: Krylov, options: usize) -> R<Value> {
    let a = elab.function_arg(call, 0)?;
    let right = unknown(elab, call, 1)?;
    let stop = stop(elab, call, options)?;
    let a = endomorphism(elab, &a, &right, call.span)?;
    let leaves = elab.leaves(&right.0, right.1)?;
    let made = solve::linear_solve(&mut elab.b, method, &a, &leaves, stop);
    let made = elab.lift(made, call.span)?;
    refill(elab, &right, &made)
}

/// The array at a parameter, a literal at an element type.
fn at_type(elab: &mut Elab<'_>, call: &Call, slot: usize, dtype: Dtype) -> R<TermId> {
    let (value, span) = unknown(elab, call, slot)?;
    let t = elab.term(&value, span)?;
    let literal = matches!(elab.value_at(call, slot).0, Value::Known(_));
    if literal && elab.b.dtype(t) != dtype {
        let op = if dtype == Dtype::F32 {
            cotan_ir::scalar::Op::ToF32
        } else {
            cotan_ir::scalar::Op::ToF64
        };
        let made = elab.b.op(op, &[t]);
        return elab.lift(made, span);
    }
    Ok(t)
}

fn odeint(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let f = elab.function_arg(call, 0)?;
    let y0 = unknown(elab, call, 1)?;
    let own = types(elab, &y0)?;
    let dtype = own.first().map_or(Dtype::F64, |ty| ty.dtype);
    let times = at_type(elab, call, 2, dtype)?;
    let methods = ["euler", "rk4", "dopri5", "rosenbrock"];
    let method = word(elab, call, 3, "dopri5", &methods)?;
    let continuous = word(elab, call, 4, "discrete", &["discrete", "continuous"])? == "continuous";
    let steps = match elab.int_at(call, 5)? {
        Some((k, place)) => elab.size_from(k, place)?.max(1),
        None => 10,
    };
    let stop = stop(elab, call, 6)?;
    let Some(method) = Method::from_name(&method, steps) else {
        return Err(elab.internal("a method without a name"));
    };
    let all: Vec<Type> = std::iter::once(Type::scalar(dtype)).chain(own).collect();
    let (f, _) = extracted(elab, all, call.span, |elab, vars| {
        let Some((&t, y)) = vars.split_first() else { return Err(elab.internal("no time")) };
        let at = refill(elab, &y0, y)?;
        let args = vec![(Value::Term(t), y0.1), (at.clone(), y0.1)];
        let result = elab.apply(&f, args, call.span)?;
        same_state(elab, &at, result, y0.1, call.span)
    })?;
    let leaves = elab.leaves(&y0.0, y0.1)?;
    let ode = Ode { method, stop, continuous };
    let made = solve::odeint(&mut elab.b, &f, &leaves, times, ode);
    let made = elab.lift(made, call.span)?;
    refill(elab, &y0, &made)
}

/// Integrand and limits.
fn integral(elab: &mut Elab<'_>, call: &Call) -> R<(Extracted, Operand, (TermId, TermId))> {
    let f = elab.function_arg(call, 0)?;
    let (a, b) = (unknown(elab, call, 1)?, unknown(elab, call, 2)?);
    let (a, b) = (elab.term(&a.0, a.1)?, elab.term(&b.0, b.1)?);
    let scalar = Type::scalar(elab.b.dtype(a));
    let (f, result) = extracted(elab, vec![scalar], call.span, |elab, vars| {
        let args = vars.iter().map(|&x| (Value::Term(x), call.span)).collect();
        let result = elab.apply(&f, args, call.span)?;
        let floats = elab.floats(&result, None);
        floats.or(Ok(result))
    })?;
    Ok((f, (result, call.span), (a, b)))
}

fn quadrature(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let stop = stop(elab, call, 3)?;
    let (f, like, limits) = integral(elab, call)?;
    let made = solve::quadrature(&mut elab.b, &f, limits, stop);
    let made = elab.lift(made, call.span)?;
    refill(elab, &like, &made)
}

fn gauss_legendre(elab: &mut Elab<'_>, call: &Call) -> R<Value> {
    let points = match elab.int_at(call, 3)? {
        Some((k, place)) => elab.size_from(k, place)?,
        None => 20,
    };
    let (f, like, limits) = integral(elab, call)?;
    let made = solve::gauss_legendre(&mut elab.b, &f, limits, points);
    let made = elab.lift(made, call.span)?;
    refill(elab, &like, &made)
}
