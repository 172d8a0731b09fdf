//! Functions with derivatives of their own: the rule takes the place of the derivative.
//!
//! A rule that takes cotangents is run as it is by the reverse pass; one that takes tangents is run
//! as it is by forward mode. The other direction is its transpose: a rule is linear in what it
//! takes, so its own derivative by that is the rule itself, and the reverse pass transposes it.
//! What is the solution of an equation has the derivatives of `implicit.rs`.

use std::sync::Arc;

use cotan_ir::{
    Builder, Copier, Custom, CustomKind, Error, Output, Param, Program, Result, Scopes, TermId,
    Type,
};
use rustc_hash::FxHashSet;

use crate::algebra::{Algebra, interpret};
use crate::checkpoint::CheckpointPart;
use crate::delta::Delta;
use crate::dual::{Dual, DualArray};
use crate::staged::Staged;
use crate::tangent::{Tangent, TangentArray};
use crate::transpose::reverse_pass;

/// A function and its rule as closed programs. What they capture are further arguments, by which
/// there is no derivative.
#[derive(Clone, Debug)]
pub struct CustomFunction {
    /// What the rule takes and gives.
    pub kind: CustomKind,
    /// From arguments, then captures, to results.
    pub function: Program,
    /// From arguments, captures and what the rule takes, to what it gives.
    pub rule: Program,
    /// The number of arguments; the other inputs of the function are captures.
    pub args: usize,
}

impl CustomFunction {
    /// Function and rule of a node.
    pub(crate) fn extract(
        program: &Program,
        scopes: &Scopes,
        c: &Custom,
    ) -> Result<CustomFunction> {
        let results = program.region(c.region).results();
        let (outputs, given) = results.split_at(c.outputs);
        Ok(CustomFunction {
            kind: c.kind,
            function: part(program, scopes, c, outputs, false)?,
            rule: part(program, scopes, c, given, true)?,
            args: c.args.len(),
        })
    }

    /// The positions of the inputs by which there is a derivative: the float arguments, and of an
    /// equation or a checkpoint what is captured, too.
    pub(crate) fn float_args(&self) -> Vec<usize> {
        let float = |k: &usize| self.function.inputs()[*k].ty.dtype.is_float();
        let inputs = match self.kind {
            CustomKind::Vjp | CustomKind::Jvp => self.args,
            CustomKind::Implicit | CustomKind::Checkpoint(_) => self.function.inputs().len(),
        };
        (0..inputs).filter(float).collect()
    }

    /// The positions of the float results.
    pub(crate) fn float_results(&self) -> Vec<usize> {
        let outputs = self.function.outputs();
        let float = |k: &usize| self.function.dtype(outputs[*k].term).is_float();
        (0..outputs.len()).filter(float).collect()
    }

    /// The type of a result.
    pub(crate) fn result_type(&self, k: usize) -> &Type {
        self.function.ty(self.function.outputs()[k].term)
    }

    /// Where its derivative is taken: the inputs, and of an equation its solution.
    fn point<T: Clone>(&self, mut inputs: Vec<T>, results: &[T]) -> Vec<T> {
        match self.kind {
            CustomKind::Vjp | CustomKind::Jvp | CustomKind::Checkpoint(_) => {}
            CustomKind::Implicit => inputs.extend_from_slice(results),
        }
        inputs
    }

    /// Cotangents of the float arguments from those of the float results, at a point.
    pub(crate) fn pull<A: Algebra>(
        &self,
        a: &mut A,
        inputs: &[A::T],
        cotangents: Vec<A::T>,
    ) -> Result<Vec<Option<A::T>>> {
        match self.kind {
            CustomKind::Vjp => self.run(a, inputs, cotangents),
            CustomKind::Jvp => self.run_transposed(a, inputs, cotangents),
            CustomKind::Implicit => self.pull_solution(a, inputs, cotangents),
            CustomKind::Checkpoint(_) => Err(Error::internal("a checkpoint without its Deltas")),
        }
    }

    /// Tangents of the float results from those of the float arguments.
    pub(crate) fn push<A: Algebra>(
        &self,
        a: &mut A,
        inputs: &[A::T],
        tangents: Vec<A::T>,
    ) -> Result<Vec<Option<A::T>>> {
        match self.kind {
            CustomKind::Jvp => self.run(a, inputs, tangents),
            CustomKind::Vjp => self.run_transposed(a, inputs, tangents),
            CustomKind::Implicit => self.push_solution(a, inputs, tangents),
            CustomKind::Checkpoint(_) => Err(Error::internal("a checkpoint without its Deltas")),
        }
    }

    fn run<A: Algebra>(
        &self,
        a: &mut A,
        inputs: &[A::T],
        taken: Vec<A::T>,
    ) -> Result<Vec<Option<A::T>>> {
        let all: Vec<A::T> = inputs.iter().cloned().chain(taken).collect();
        Ok(interpret(&self.rule, &all, a)?.into_iter().map(Some).collect())
    }

    /// The transpose of the rule, which is linear: its derivative at zero, transposed.
    fn run_transposed<A: Algebra>(
        &self,
        a: &mut A,
        inputs: &[A::T],
        seeds: Vec<A::T>,
    ) -> Result<Vec<Option<A::T>>> {
        let taken = &self.rule.inputs()[inputs.len()..];
        let mut zeros = Vec::with_capacity(taken.len());
        for input in taken {
            zeros.push(a.number(0.0, &input.ty)?);
        }
        let count = zeros.len();
        let mut dual = Dual::new(a);
        let mut all: Vec<_> = inputs.iter().map(|t| dual.lift(t.clone())).collect();
        for (k, zero) in zeros.into_iter().enumerate() {
            let input = dual.input(k, zero);
            all.push(input);
        }
        let results = interpret(&self.rule, &all, &mut dual)?;
        let deltas = dual.deltas;
        let seeds: Vec<_> = results
            .iter()
            .zip(seeds)
            .filter_map(|(result, c)| result.delta.map(|d| (d, c)))
            .collect();
        reverse_pass(&deltas, &seeds, count, a)
    }
}

/// The Delta of a function with a derivative of its own; its results are read by
/// [`Delta::Result`].
pub struct DeltaCustom<A: Algebra + ?Sized> {
    /// The function and its rule.
    pub custom: Arc<CustomFunction>,
    /// The arguments, then the captures, then of an equation the solution.
    pub inputs: Vec<A::T>,
    /// The derivatives of the float arguments.
    pub deltas: Vec<Option<crate::delta::DeltaId>>,
    /// Of a checkpoint, what computes again; then what is kept for that is among the inputs, last.
    pub part: Option<Arc<CheckpointPart>>,
}

impl<A: Algebra> DeltaCustom<A> {
    /// The cotangents of the float arguments from those of the results, missing ones being zero.
    pub(crate) fn transpose(
        &self,
        a: &mut A,
        results: &[Option<A::T>],
    ) -> Result<Vec<Option<A::T>>> {
        if let Some(part) = &self.part {
            return self.transpose_part(a, part, results);
        }
        let mut cotangents = Vec::new();
        for k in self.custom.float_results() {
            cotangents.push(match results.get(k).cloned().flatten() {
                Some(c) => c,
                None => a.number(0.0, self.custom.result_type(k))?,
            });
        }
        self.custom.pull(a, &self.inputs, cotangents)
    }

    /// The tangents of all results from those of the float arguments, missing ones being zero.
    pub(crate) fn forward(
        &self,
        a: &mut A,
        tangents: &[Option<A::T>],
    ) -> Result<Vec<Option<A::T>>> {
        if self.part.is_some() {
            return self.forward_part(a, tangents);
        }
        tangents_of_results(a, &self.custom, &self.inputs, tangents)
    }
}

/// The tangents of all results, none for discrete ones.
fn tangents_of_results<A: Algebra>(
    a: &mut A,
    custom: &CustomFunction,
    inputs: &[A::T],
    tangents: &[Option<A::T>],
) -> Result<Vec<Option<A::T>>> {
    let mut given = Vec::with_capacity(tangents.len());
    for (&k, tangent) in custom.float_args().iter().zip(tangents) {
        given.push(match tangent {
            Some(t) => t.clone(),
            None => a.number(0.0, &custom.function.inputs()[k].ty)?,
        });
    }
    let moved = custom.push(a, inputs, given)?;
    let mut results = vec![None; custom.function.outputs().len()];
    for (k, tangent) in custom.float_results().into_iter().zip(moved) {
        results[k] = tangent;
    }
    Ok(results)
}

impl<A: Algebra> Dual<'_, A> {
    /// `D` of a function with a derivative of its own: the function, and a Delta that is its rule.
    pub(crate) fn dual_custom(
        &mut self,
        custom: &Arc<CustomFunction>,
        args: &[DualArray<A>],
    ) -> Result<Vec<DualArray<A>>> {
        if let CustomKind::Checkpoint(checkpoint) = custom.kind {
            return self.dual_checkpoint(custom, checkpoint.keep, args);
        }
        let inputs: Vec<A::T> = args.iter().map(|t| t.primal.clone()).collect();
        let results = self.a.custom(custom, &inputs)?;
        let deltas: Vec<_> = custom.float_args().into_iter().map(|k| args[k].delta).collect();
        if deltas.iter().all(|d| d.is_none()) {
            return Ok(results.into_iter().map(|t| self.lift(t)).collect());
        }
        let inputs = custom.point(inputs, &results);
        let delta = DeltaCustom { custom: custom.clone(), inputs, deltas, part: None };
        let ty = Type::scalar(cotan_array::Dtype::F64);
        let whole = self.deltas.push(Delta::Custom(Box::new(delta)), ty);
        let mut duals = Vec::with_capacity(results.len());
        for (n, primal) in results.into_iter().enumerate() {
            let ty = self.a.ty(&primal);
            let float = ty.dtype.is_float();
            let delta = float.then(|| self.deltas.push(Delta::Result(whole, n), ty));
            duals.push(DualArray { primal, delta });
        }
        Ok(duals)
    }
}

impl<A: Algebra> Tangent<'_, A> {
    /// The function and, along the direction, its rule.
    pub(crate) fn tangent_custom(
        &mut self,
        custom: &Arc<CustomFunction>,
        args: &[TangentArray<A>],
    ) -> Result<Vec<TangentArray<A>>> {
        if let CustomKind::Checkpoint(_) = custom.kind {
            return self.tangent_checkpoint(custom, args);
        }
        let inputs: Vec<A::T> = args.iter().map(|t| t.primal.clone()).collect();
        let results = self.a.custom(custom, &inputs)?;
        let tangents: Vec<Option<A::T>> =
            custom.float_args().into_iter().map(|k| args[k].tangent.clone()).collect();
        let moved = match tangents.iter().any(|t| t.is_some()) {
            true => {
                let inputs = custom.point(inputs, &results);
                tangents_of_results(self.a, custom, &inputs, &tangents)?
            }
            false => vec![None; results.len()],
        };
        let pairs = results.into_iter().zip(moved);
        Ok(pairs.map(|(primal, tangent)| TangentArray { primal, tangent }).collect())
    }
}

impl Staged {
    /// The node again, its captures in the terms at hand.
    pub(crate) fn staged_custom(
        &mut self,
        custom: &CustomFunction,
        args: &[TermId],
    ) -> Result<Vec<TermId>> {
        let (own, captures) = args.split_at(custom.args);
        let taken = &custom.rule.inputs()[args.len()..];
        let mut params: Vec<Param> =
            own.iter().map(|&t| Param::Value(self.b.ty(t).clone())).collect();
        params.extend(taken.iter().map(|input| Param::Value(input.ty.clone())));
        let vars = self.b.open(&params)?;
        let made = self.function_and_rule(custom, &vars, captures);
        let region = match made {
            Ok(results) => self.b.close(&results)?,
            Err(error) => {
                self.b.abandon();
                return Err(error);
            }
        };
        let outputs = custom.function.outputs().len();
        let t = self.b.custom(Custom { kind: custom.kind, args: own.into(), outputs, region })?;
        (0..outputs).map(|n| self.b.result(t, n)).collect()
    }

    fn function_and_rule(
        &mut self,
        custom: &CustomFunction,
        vars: &[TermId],
        captures: &[TermId],
    ) -> Result<Vec<TermId>> {
        let (own, taken) = vars.split_at(custom.args);
        let inputs = [own, captures].concat();
        let mut results = interpret(&custom.function, &inputs, self)?;
        results.extend(interpret(&custom.rule, &[&inputs, taken].concat(), self)?);
        Ok(results)
    }
}

/// The function or the rule as a program.
fn part(
    program: &Program,
    scopes: &Scopes,
    c: &Custom,
    results: &[TermId],
    rule: bool,
) -> Result<Program> {
    let region = program.region(c.region);
    let scope = scopes.region(c.region);
    let (own, taken) = region.params().split_at(c.args.len());
    let mut b = Builder::new();
    let mut copier = Copier::new(program, scopes);
    let inputs = own.iter().chain(scope.captures()).chain(if rule { taken } else { &[] });
    for (n, &t) in inputs.enumerate() {
        copier.set(t, b.input(format!("x{n}"), program.ty(t).clone())?);
    }
    // The function's results do not depend on what only the rule is given.
    let mut needed: FxHashSet<TermId> = FxHashSet::default();
    let mut stack = results.to_vec();
    while let Some(t) = stack.pop() {
        if !copier.has(t) && needed.insert(t) {
            scopes.for_each_dependency(program, t, |u| stack.push(u));
        }
    }
    for &t in scope.order().iter().filter(|t| needed.contains(t)) {
        let image = copier.copy(&mut b, t)?;
        copier.set(t, image);
    }
    let mut outputs = Vec::with_capacity(results.len());
    for &t in results {
        outputs.push(Output { name: String::new(), term: copier.image(t)? });
    }
    b.finish(outputs)
}
