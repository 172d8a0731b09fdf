//! Linear systems of which the matrix is a function, by Krylov methods.

use cotan_ir::{Builder, Extracted, Result, TermId};
use cotan_pipeline::Derivative;

use super::equation::solution;
use super::{Closed, Packing, Stop, call, dot, length, run_while, terms, unless_failed};
use crate::context::Context;
use crate::products::matrix_product;
use crate::term::Term;

/// A method for linear systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Krylov {
    /// Conjugate gradients, for symmetric positive definite matrices.
    Cg,
    /// Stabilised biconjugate gradients.
    Bicgstab,
    /// The smallest residual among so many directions, then again.
    Gmres(usize),
}

impl Krylov {
    fn name(self) -> &'static str {
        match self {
            Krylov::Cg => "cg",
            Krylov::Bicgstab => "bicgstab",
            Krylov::Gmres(_) => "gmres",
        }
    }

    fn solved<'c>(
        self,
        c: &'c Context,
        product: &dyn Fn(Term<'c>) -> Term<'c>,
        right: Term<'c>,
        stop: Stop,
    ) -> Term<'c> {
        let border = length(right) * stop.tolerance(right.dtype());
        let at_most = stop.at_most(right.size().saturating_mul(10).max(100));
        let x = match self {
            Krylov::Cg => conjugate_gradients(c, product, right, border, at_most),
            Krylov::Bicgstab => bicgstab(c, product, right, border, at_most),
            Krylov::Gmres(directions) => {
                gmres(c, product, right, border, (at_most, directions.max(1)))
            }
        };
        // The residual of the method drifts; this is the residual of what it found.
        let residual = length(right - product(x));
        unless_failed(residual.le(border * 10.0), x)
    }
}

fn conjugate_gradients<'c>(
    c: &'c Context,
    product: &dyn Fn(Term<'c>) -> Term<'c>,
    right: Term<'c>,
    border: Term<'c>,
    at_most: usize,
) -> Term<'c> {
    let zero = right.zeros();
    let init = [zero, right, right, dot(right, right)];
    run_while(c, at_most, &init, |s| {
        let (x, r, p, size) = (s[0], s[1], s[2], s[3]);
        let q = product(p);
        let far = size / dot(p, q);
        let r_next = r - q * far;
        let next = dot(r_next, r_next);
        (size.sqrt().gt(border), vec![x + p * far, r_next, r_next + p * (next / size), next])
    })[0]
}

fn bicgstab<'c>(
    c: &'c Context,
    product: &dyn Fn(Term<'c>) -> Term<'c>,
    right: Term<'c>,
    border: Term<'c>,
    at_most: usize,
) -> Term<'c> {
    let zero = right.zeros();
    let init = [zero, right, right, dot(right, right)];
    run_while(c, at_most, &init, |s| {
        let (x, r, p, rho) = (s[0], s[1], s[2], s[3]);
        let q = product(p);
        let far = rho / dot(right, q);
        let half = r - q * far;
        let t = product(half);
        let size = dot(t, t);
        // Half a step was enough.
        let omega = size.gt(0.0).choose(dot(t, half) / size, 0.0);
        let r_next = half - t * omega;
        let next = dot(right, r_next);
        let beta = omega.ne(0.0).choose((next / rho) * (far / omega), 0.0);
        let p_next = r_next + (p - q * omega) * beta;
        (length(r).gt(border), vec![x + p * far + half * omega, r_next, p_next, next])
    })[0]
}

/// Products of the directions are kept orthonormal, and the directions with them, so the smallest
/// residual is a projection. The next direction is the residual or, where that did not become smaller,
/// the last product, so there is no breakdown.
fn gmres<'c>(
    c: &'c Context,
    product: &dyn Fn(Term<'c>) -> Term<'c>,
    right: Term<'c>,
    border: Term<'c>,
    (at_most, directions): (usize, usize),
) -> Term<'c> {
    let zero = right.zeros();
    let none = zero.replicate_all(&[directions]);
    let init = [zero, right, right, none, none, c.int(0)];
    run_while(c, at_most, &init, |s| {
        let (x, r, v, ps, qs, k) = (s[0], s[1], s[2], s[3], s[4], s[5]);
        let fresh = k.eq(0i64);
        let (ps, qs) = (fresh.choose(none, ps), fresh.choose(none, qs));
        let v = fresh.choose(r, v);
        let v = v / length(v);
        // Orthogonal, twice for the rounding.
        let mut pair = (v, product(v));
        for _ in 0..2 {
            let parts = matrix_product(qs, pair.1);
            pair = (pair.0 - matrix_product(parts, ps), pair.1 - matrix_product(parts, qs));
        }
        let size = length(pair.1);
        let (p, q) = (pair.0 / size, pair.1 / size);
        let far = dot(q, r);
        let r_next = r - q * far;
        let place = c.iota(directions).eq(k).column(1);
        let better = length(r_next).le(length(r) * 0.9);
        let next = (k + 1i64) % directions;
        let next_v = better.choose(r_next, q);
        let next_states =
            vec![x + p * far, r_next, next_v, place.choose(p, ps), place.choose(q, qs), next];
        (length(r).gt(border), next_states)
    })[0]
}

/// The `x` with `a(x) = b`, where `a` is linear. NaN where the method does not converge, and at once
/// where there are NaNs. Derivatives solve systems with `a` and with its transpose, which is derived.
pub fn linear_solve(
    b: &mut Builder,
    method: Krylov,
    a: &Extracted,
    right: &[TermId],
    stop: Stop,
) -> Result<Vec<TermId>> {
    call(b, method.name(), |c| {
        let right = terms(c, right);
        let packing = Packing::new(c, &right);
        let a = Closed::packed(c, a, &[], &packing, Some(&packing))?;
        let backward = a.derived(c, Derivative::Vjp, &[0])?;
        let right = packing.pack(c, &right);
        let product = |v| a.at(c, &[v]);
        let x = solution(
            c,
            right,
            || method.solved(c, &product, right, stop),
            |x| product(x) - right,
            |_, r| method.solved(c, &product, r, stop),
            |x, r| match method {
                Krylov::Cg => method.solved(c, &product, r, stop),
                _ => method.solved(c, &|v| backward.along(c, &[x], &[v]), r, stop),
            },
        );
        Some(packing.unpack(x))
    })
}
