//! Equations: roots, fixed points, stationary points.

use cotan_ir::{Builder, Custom, CustomKind, Extracted, Param, Result, TermId};
use cotan_pipeline::Derivative;

use super::{
    Closed, Packing, Stop, call, dot, epsilon, length, lu, run_while, terms, transposed,
    unless_failed,
};
use crate::context::Context;
use crate::term::Term;

/// The solution of an equation for a vector like `like`: how it was found, the residual, and the
/// solutions of the linearised system and of its transpose at an unknown and a right side.
pub(super) fn solution<'c>(
    c: &'c Context,
    like: Term<'c>,
    found: impl FnOnce() -> Term<'c>,
    residual: impl FnOnce(Term<'c>) -> Term<'c>,
    solve: impl FnOnce(Term<'c>, Term<'c>) -> Term<'c>,
    solve_transposed: impl FnOnce(Term<'c>, Term<'c>) -> Term<'c>,
) -> Term<'c> {
    let Some(ty) = like.ty() else { return like };
    let region = c.region(&[Param::Value(ty.clone()), Param::Value(ty)], |vars| match *vars {
        [x, r] => vec![found(), residual(x), solve(x, r), solve_transposed(x, r)],
        _ => Vec::new(),
    });
    let Some(region) = region else { return like.nothing() };
    c.make(|b| {
        let kind = CustomKind::Implicit;
        let node = b.custom(Custom { kind, args: Box::new([]), outputs: 1, region })?;
        b.result(node, 0)
    })
}

/// Whether a step is too small to change anything.
fn is_still<'c>(step: Term<'c>, x: Term<'c>) -> Term<'c> {
    step.le(length(x) * (4.0 * epsilon(x.dtype())))
}

/// Newton's method: a step that does not bring the residual down is halved, at most ten times.
fn newton<'c>(c: &'c Context, f: &Closed, jacobian: &Closed, x0: Term<'c>, stop: Stop) -> Term<'c> {
    let tolerance = stop.tolerance(x0.dtype());
    let init = [x0, f.at(c, &[x0]), x0.number(f64::INFINITY)];
    let last = run_while(c, stop.at_most(100), &init, |s| {
        let (x, g, moved) = (s[0], s[1], s[2]);
        let goes_on = length(g).gt(tolerance) & !is_still(moved, x);
        let step = lu(jacobian.at(c, &[x]), g);
        let before = length(g);
        let full = x - step;
        let tried = [x.number(1.0), full, f.at(c, &[full])];
        let taken = run_while(c, 10, &tried, |s| {
            let again = !length(s[2]).lt(before);
            let shorter = s[0] * 0.5;
            let x = x - step * shorter;
            (again, vec![shorter, x, f.at(c, &[x])])
        });
        (goes_on, vec![taken[1], taken[2], length(step)])
    });
    let found = length(last[1]).le(tolerance)
        | is_still(last[2], last[0]) & length(last[1]).lt(f64::INFINITY);
    unless_failed(found, last[0])
}

/// The `x` with `f(x) = 0`, from `x0` on, by Newton's method. NaN where it does not converge, and
/// where `x0` or what `f` gives has NaNs; derivatives are infinite or NaN where the Jacobian is
/// singular. The derivative by `x0` is 0.
pub fn root(b: &mut Builder, f: &Extracted, x0: &[TermId], stop: Stop) -> Result<Vec<TermId>> {
    call(b, "root", |c| {
        let x0 = terms(c, x0);
        let packing = Packing::new(c, &x0);
        let f = Closed::packed(c, f, &[], &packing, Some(&packing))?;
        let jacobian = f.derived(c, Derivative::JacFwd, &[0])?;
        let x0 = packing.pack(c, &x0).stop_gradient();
        let x = solution(
            c,
            x0,
            || newton(c, &f, &jacobian, x0, stop),
            |x| f.at(c, &[x]),
            |x, r| lu(jacobian.at(c, &[x]), r),
            |x, r| lu(transposed(jacobian.at(c, &[x])), r),
        );
        Some(packing.unpack(x))
    })
}

/// The limit of `x = step(x)`; NaN where there is none after so many steps.
fn iterated<'c>(
    c: &'c Context,
    x0: Term<'c>,
    stop: Stop,
    step: impl FnOnce(Term<'c>) -> Term<'c>,
) -> Term<'c> {
    let tolerance = stop.tolerance(x0.dtype());
    let near = |change: Term<'c>, x: Term<'c>| change.le((length(x) + 1.0) * tolerance);
    let init = [x0, x0.number(f64::INFINITY)];
    let last = run_while(c, stop.at_most(1000), &init, |s| {
        let next = step(s[0]);
        (s[1].eq(s[1]) & !near(s[1], s[0]), vec![next, length(next - s[0])])
    });
    let found = near(last[1], last[0]) & length(last[0]).lt(f64::INFINITY);
    unless_failed(found, last[0])
}

/// The `x` with `x = f(x)`, from `x0` on by `x = f(x)`, and its derivative by the same iteration of the
/// linearised `f`. NaN where it does not converge.
pub fn fixed_point(
    b: &mut Builder,
    f: &Extracted,
    x0: &[TermId],
    stop: Stop,
) -> Result<Vec<TermId>> {
    call(b, "fixed_point", |c| {
        let x0 = terms(c, x0);
        let packing = Packing::new(c, &x0);
        let f = Closed::packed(c, f, &[], &packing, Some(&packing))?;
        let (forward, backward) =
            (f.derived(c, Derivative::Jvp, &[0])?, f.derived(c, Derivative::Vjp, &[0])?);
        let x0 = packing.pack(c, &x0).stop_gradient();
        let x = solution(
            c,
            x0,
            || iterated(c, x0, stop, |x| f.at(c, &[x])),
            |x| x - f.at(c, &[x]),
            |x, r| iterated(c, r, stop, |v| r + forward.along(c, &[x], &[v])),
            |x, r| iterated(c, r, stop, |v| r + backward.along(c, &[x], &[v])),
        );
        Some(packing.unpack(x))
    })
}

/// Newton's method for a stationary point: along the gradient where that of Newton does not go down,
/// and half as far until the value comes down enough.
fn descent<'c>(
    c: &'c Context,
    (f, gradient, hessian): (&Closed, &Closed, &Closed),
    x0: Term<'c>,
    stop: Stop,
) -> Term<'c> {
    let dtype = x0.dtype();
    let tolerance = stop.tolerance(dtype);
    let init = [x0, gradient.at(c, &[x0]), x0.number(f64::INFINITY)];
    let last = run_while(c, stop.at_most(200), &init, |s| {
        let (x, g, moved) = (s[0], s[1], s[2]);
        let goes_on = length(g).gt(tolerance) & !is_still(moved, x);
        let step = lu(hessian.at(c, &[x]), g);
        let down = dot(step, g).gt(0.0) & dot(step, step).lt(f64::INFINITY);
        let step = down.choose(step, g);
        let (slope, before) = (dot(step, g), f.at(c, &[x]));
        let rounding = before.abs() * (4.0 * epsilon(dtype));
        let tried = [x.number(1.0), x - step];
        let taken = run_while(c, 40, &tried, |s| {
            let enough = before - s[0] * slope * 1e-4 + rounding;
            let again = !f.at(c, &[s[1]]).le(enough);
            let shorter = s[0] * 0.5;
            (again, vec![shorter, x - step * shorter])
        });
        (goes_on, vec![taken[1], gradient.at(c, &[taken[1]]), length(step)])
    });
    let size = length(last[1]);
    let found = size.le(tolerance) | is_still(last[2], last[0]) & size.lt(f64::INFINITY);
    unless_failed(found, last[0])
}

/// An `x` at which the gradient of the scalar function `f` is 0, from `x0` on downwards. NaN where it
/// does not converge.
pub fn minimize(b: &mut Builder, f: &Extracted, x0: &[TermId], stop: Stop) -> Result<Vec<TermId>> {
    call(b, "minimize", |c| {
        let x0 = terms(c, x0);
        let packing = Packing::new(c, &x0);
        let f = Closed::packed(c, f, &[], &packing, None)?;
        let scalar = f.0.program.outputs().iter().all(|o| {
            let ty = f.0.program.ty(o.term);
            ty.dtype == packing.dtype && ty.shape.rank() == 0
        });
        if f.0.program.outputs().len() != 1 || !scalar {
            let hint = "sum it, and convert it to the element type of the unknown";
            c.wrong("the function to minimise must give one scalar", hint);
            return None;
        }
        let gradient = f.derived(c, Derivative::Grad, &[0])?;
        let hessian = gradient.derived(c, Derivative::JacFwd, &[0])?;
        let x0 = packing.pack(c, &x0).stop_gradient();
        let x = solution(
            c,
            x0,
            || descent(c, (&f, &gradient, &hessian), x0, stop),
            |x| gradient.at(c, &[x]),
            |x, r| lu(hessian.at(c, &[x]), r),
            |x, r| lu(hessian.at(c, &[x]), r),
        );
        Some(packing.unpack(x))
    })
}
