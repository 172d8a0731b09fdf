//! Derivatives of the solutions of equations (the implicit function theorem).
//!
//! Of $ g(x, p) = 0 $ follows $ g_x \, dx = -g_p \, dp $, so
//!
//! $$ dx = -g_x^{-1} g_p \, dp, \qquad \bar p = -g_p^T \, g_x^{-T} \, \bar x. $$
//!
//! Both are solutions of equations again, $ g_x v - b = 0 $ and $ g_x^T v - b = 0 $, with the same two
//! ways to solve linear systems beside them, in turn. So a derivative of a solution has what the next
//! derivative needs, and there is one to any order, without a derivative of the loop that found the
//! solution. What is linear is derived from the residual here; nobody writes it.

use std::sync::Arc;

use cotan_ir::scalar::Op;
use cotan_ir::{Builder, CustomKind, Output, Program, Result, TermId, Type};

use crate::algebra::{Algebra, interpret};
use crate::custom::CustomFunction;
use crate::derive::{jvp, select_outputs, vjp};

/// Which of two linear systems.
#[derive(Clone, Copy, PartialEq, Eq)]
enum System {
    /// `g_x v = b`
    Tangent,
    /// `g_x^T v = b`
    Cotangent,
}

impl CustomFunction {
    /// The number of parts of the solution.
    fn parts(&self) -> usize {
        self.function.outputs().len()
    }

    /// The residual, of all inputs of the rule.
    fn residual(&self) -> Result<Program> {
        select_outputs(&self.rule, |k| k < self.parts())
    }

    /// The derivative of the residual by some inputs of the rule, without the residual.
    fn derived(&self, system: System, wrt: &[usize]) -> Result<Program> {
        let residual = self.residual()?;
        let both = match system {
            System::Tangent => jvp(&residual, Some(wrt))?,
            System::Cotangent => vjp(&residual, Some(wrt))?,
        };
        select_outputs(&both, |k| k >= self.parts())
    }

    /// The linear system as an equation for `v`, of `b`, then the inputs and the solution of this
    /// equation.
    fn system(&self, system: System) -> Result<CustomFunction> {
        let (inputs, parts) = (self.function.inputs().len(), self.parts());
        let at = |k: usize| inputs + k;
        let unknowns: Vec<usize> = (0..parts).map(at).collect();
        let product = self.derived(system, &unknowns)?;
        let (own, other) = match system {
            System::Tangent => (1, 2),
            System::Cotangent => (2, 1),
        };
        let solution =
            |n: usize| select_outputs(&self.rule, |k| n * parts <= k && k < (n + 1) * parts);
        let (own, other) = (solution(own)?, solution(other)?);

        let types = |range: std::ops::Range<usize>| -> Vec<Type> {
            self.rule.inputs()[range].iter().map(|input| input.ty.clone()).collect()
        };
        let (point, solved) = (types(0..at(parts)), types(at(0)..at(parts)));
        let function = closed(&[&solved, &point], |b, terms| {
            let (right, point) = terms.split_at(parts);
            b.inline(&own, &[point, right].concat())
        })?;
        let rule = closed(&[&solved, &point, &solved, &solved], |b, terms| {
            let (right, rest) = terms.split_at(parts);
            let (point, rest) = rest.split_at(at(parts));
            let (unknown, other_right) = rest.split_at(parts);
            // The right side of the rule, on which the residual does not depend, is anything.
            let products = b.inline(&product, &[point, right, unknown].concat())?;
            let mut results = Vec::with_capacity(3 * parts);
            for (&t, &r) in products.iter().zip(right) {
                results.push(b.op(Op::Sub, &[t, r])?);
            }
            for solver in [&own, &other] {
                results.extend(b.inline(solver, &[point, other_right].concat())?);
            }
            Ok(results)
        })?;
        Ok(CustomFunction { kind: CustomKind::Implicit, function, rule, args: 0 })
    }

    /// Tangents of the solution from those of all float inputs; `point` is the inputs, then the
    /// solution.
    pub(crate) fn push_solution<A: Algebra>(
        &self,
        a: &mut A,
        point: &[A::T],
        tangents: Vec<A::T>,
    ) -> Result<Vec<Option<A::T>>> {
        let derived = self.derived(System::Tangent, &self.float_args())?;
        let moved = interpret(&derived, &self.with_right_side(point, tangents), a)?;
        let mut operands = negatives(a, &moved)?;
        operands.extend_from_slice(point);
        let solution = a.custom(&Arc::new(self.system(System::Tangent)?), &operands)?;
        Ok(solution.into_iter().map(Some).collect())
    }

    /// Cotangents of all float inputs from those of the solution.
    pub(crate) fn pull_solution<A: Algebra>(
        &self,
        a: &mut A,
        point: &[A::T],
        cotangents: Vec<A::T>,
    ) -> Result<Vec<Option<A::T>>> {
        let operands: Vec<A::T> = cotangents.iter().chain(point).cloned().collect();
        let multipliers = a.custom(&Arc::new(self.system(System::Cotangent)?), &operands)?;
        let seeds = negatives(a, &multipliers)?;
        let derived = self.derived(System::Cotangent, &self.float_args())?;
        let sums = interpret(&derived, &self.with_right_side(point, seeds), a)?;
        Ok(sums.into_iter().map(Some).collect())
    }

    /// The inputs of a derivative of the residual, which does not depend on the right side: that is
    /// the solution once more.
    fn with_right_side<T: Clone>(&self, point: &[T], directions: Vec<T>) -> Vec<T> {
        let right = &point[self.function.inputs().len()..];
        point.iter().chain(right).cloned().chain(directions).collect()
    }
}

fn negatives<A: Algebra>(a: &mut A, ts: &[A::T]) -> Result<Vec<A::T>> {
    ts.iter().map(|t| a.op(Op::Neg, std::slice::from_ref(t))).collect()
}

/// A program of inputs of the given types.
fn closed(
    types: &[&[Type]],
    f: impl FnOnce(&mut Builder, &[TermId]) -> Result<Vec<TermId>>,
) -> Result<Program> {
    let mut b = Builder::new();
    let mut terms = Vec::new();
    for (n, ty) in types.iter().copied().flatten().enumerate() {
        terms.push(b.input(format!("x{n}"), ty.clone())?);
    }
    let results = f(&mut b, &terms)?;
    b.finish(results.into_iter().map(|term| Output { name: String::new(), term }).collect())
}
