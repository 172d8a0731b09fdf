//! Loops as long as a condition holds. The condition is never differentiated: it is a truth value.
//!
//! With $s_{k+1}, y_k = f(s_k, c)$ for $k = 0, \ldots, n - 1$, forward mode is the loop over states
//! and tangents $(s, ds)$ with the condition of the primal. The transpose is the loop
//! $\bar s_k, \bar c \mathrel{+}= J_f(s_k, c)^\top (\bar s_{k+1}, \bar y_k)$ with a counter $k$ from
//! $n - 1$ down to 0, where $n$ is counted by the primal.
//!
//! **Where $s_k$ comes from.** A loop with a bound saves what $J_f(s_k, c)$ needs of each step
//! (`linear.rs`). One without does not know how many steps there will be, so it is run again once
//! that is known: see `while_transpose.rs`.

use std::sync::Arc;

use cotan_array::{Array, Dtype};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Extracted, Output, Program, Result, Scopes, TermId, Type, While};

use crate::activity::active_in_loop;
use crate::algebra::Algebra;
use crate::delta::{Delta, DeltaId};
use crate::dual::{Dual, DualArray};
use crate::linear::Linear;
use crate::map_accum::{Writer, input_types, marked, or_zero, tangent_step};
use crate::step::Step;
use crate::tangent::{Tangent, TangentArray};

/// The arguments of a `while`.
#[derive(Clone, Debug)]
pub struct WhileLoop<T> {
    /// The most steps.
    pub bound: Option<usize>,
    /// The initial states.
    pub init: Vec<T>,
    /// What condition and step use from outside.
    pub captures: Vec<T>,
    /// From states and captures to whether there is another step.
    pub condition: Arc<Program>,
    /// From states and captures to next states and outputs; it steps through no arrays.
    pub step: Arc<Step>,
}

/// The derivative of a `while`; its results are read by [`Delta::Result`].
pub struct DeltaWhile<A: Algebra + ?Sized> {
    /// The primal loop.
    pub primal: WhileLoop<A::T>,
    /// The derivative of the step.
    pub linear: Arc<Linear>,
    /// With a bound, what that needs of each step.
    pub saved: Vec<A::T>,
    /// With a bound, what it reads of what the step captures.
    pub captures: Vec<A::T>,
    /// The number of steps there were, an `i64`.
    pub count: A::T,
    /// The derivatives of initial states and captures.
    pub deltas: Vec<Option<DeltaId>>,
    /// Which states and captures have a derivative inside the loop.
    pub active_inputs: Vec<bool>,
    /// Which next states and outputs have a derivative.
    pub active_outputs: Vec<bool>,
    /// The types of the loop's results.
    pub result_types: Vec<Type>,
}

impl<A: Algebra + ?Sized> DeltaWhile<A> {
    /// The arrays that it mentions: what was saved, or what it takes to run the loop again.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = &A::T> {
        let (init, captures) = match self.primal.bound {
            Some(_) => (&self.saved, &self.captures),
            None => (&self.primal.init, &self.primal.captures),
        };
        std::iter::once(&self.count).chain(init).chain(captures)
    }
}

/// Condition and step of a loop as programs of their own, and the terms their captures stand for.
pub(crate) fn extract_while(
    program: &Program,
    scopes: &Scopes,
    w: &While,
) -> Result<(Arc<Program>, Arc<Step>, Vec<TermId>)> {
    let Extracted { program, captures } = Extracted::new(program, scopes, w.step)?;
    let part = |condition: bool| -> Result<Program> {
        let mut b = Builder::new();
        let inputs = declare(&mut b, &program)?;
        let mut results = b.inline(&program, &inputs)?;
        let rest = results.split_off(results.len().min(1));
        finish(b, if condition { results } else { rest })
    };
    let step = Step { program: part(false)?, states: w.init.len(), inputs: 0 };
    Ok((Arc::new(part(true)?), Arc::new(step), captures))
}

fn declare(b: &mut Builder, program: &Program) -> Result<Vec<TermId>> {
    let inputs = program.inputs().iter();
    inputs.map(|input| b.input(input.name.clone(), input.ty.clone())).collect()
}

fn finish(b: Builder, terms: Vec<TermId>) -> Result<Program> {
    b.finish(terms.into_iter().map(|term| Output { name: String::new(), term }).collect())
}

pub(crate) fn counter_type() -> Type {
    Type::scalar(Dtype::I64)
}

/// A condition on inputs of the given types, some of which it has, by number.
pub(crate) fn condition_on(
    types: &[Type],
    condition: &Program,
    has: &[usize],
) -> Result<Arc<Program>> {
    let mut w = Writer::default();
    let inputs = w.inputs(types)?;
    let given: Vec<TermId> = has.iter().map(|&k| inputs[k]).collect();
    let results = w.staged.b.inline(condition, &given)?;
    Ok(Arc::new(finish(w.staged.b, results)?))
}

/// A condition that compares two of the inputs, of the given types, or one with zero.
pub(crate) fn comparison(
    types: &[Type],
    op: Op,
    left: usize,
    right: Option<usize>,
) -> Result<Arc<Program>> {
    let mut w = Writer::default();
    let inputs = w.inputs(types)?;
    let b = &mut w.staged.b;
    let right = match right {
        Some(k) => inputs[k],
        None => b.scalar(0i64)?,
    };
    let result = b.op(op, &[inputs[left], right])?;
    Ok(Arc::new(finish(w.staged.b, vec![result])?))
}

/// A loop being written whose first state counts.
pub(crate) struct Counting {
    pub(crate) w: Writer,
    pub(crate) types: Vec<Type>,
    /// Its inputs: the counter, the other states, the captures.
    pub(crate) inputs: Vec<TermId>,
}

impl Counting {
    pub(crate) fn new(states: &[Type], captures: &[Type]) -> Result<Counting> {
        let types: Vec<Type> =
            std::iter::once(&counter_type()).chain(states).chain(captures).cloned().collect();
        let mut w = Writer::default();
        let inputs = w.inputs(&types)?;
        Ok(Counting { w, types, inputs })
    }

    pub(crate) fn b(&mut self) -> &mut Builder {
        &mut self.w.staged.b
    }

    /// The elements of saved states at a position.
    pub(crate) fn saved_at(&mut self, saved: &[TermId], at: TermId) -> Result<Vec<TermId>> {
        saved.iter().map(|&t| self.b().index(t, &[at])).collect()
    }

    /// The counter and a number, combined.
    pub(crate) fn count(&mut self, op: Op, number: i64) -> Result<TermId> {
        let number = self.b().scalar(number)?;
        let counter = self.inputs[0];
        self.b().op(op, &[counter, number])
    }
}

/// `(s, n; c) -> (s', n + 1; y)`
fn counted_step(step: &Step) -> Result<(Vec<Type>, Arc<Step>)> {
    let types = input_types(step);
    let (states, captures) = types.split_at(step.states);
    let types = [states, &[counter_type()], captures].concat();
    let mut w = Writer::default();
    let inputs = w.inputs(&types)?;
    let b = &mut w.staged.b;
    let given = [&inputs[..step.states], &inputs[step.states + 1..]].concat();
    let mut results = b.inline(&step.program, &given)?;
    let one = b.scalar(1i64)?;
    let next = b.op(Op::Add, &[inputs[step.states], one])?;
    results.insert(step.states, next);
    Ok((types, w.finish(results, step.states + 1, 0)?))
}

impl<A: Algebra> Dual<'_, A> {
    /// `D[while]`: the primal with its steps counted and, with a bound, what the derivative needs of
    /// them saved; and a Delta for the whole loop.
    pub(crate) fn dual_while(&mut self, w: &WhileLoop<DualArray<A>>) -> Result<Vec<DualArray<A>>> {
        let primals =
            |ts: &[DualArray<A>]| -> Vec<A::T> { ts.iter().map(|t| t.primal.clone()).collect() };
        let deltas: Vec<Option<DeltaId>> =
            w.init.iter().chain(&w.captures).map(|t| t.delta).collect();
        let primal = WhileLoop {
            bound: w.bound,
            init: primals(&w.init),
            captures: primals(&w.captures),
            condition: w.condition.clone(),
            step: w.step.clone(),
        };
        let start: Vec<bool> = deltas.iter().map(|d| d.is_some()).collect();
        let (active_inputs, active_outputs) = active_in_loop(&w.step, &start);
        if !active_outputs.contains(&true) {
            let results = self.a.while_accum(&primal)?;
            return Ok(results.into_iter().map(|t| self.lift(t)).collect());
        }
        let states = w.step.states;
        let linear = Arc::new(Linear::new(&w.step, &active_inputs)?);
        let (types, step) = match w.bound {
            Some(_) => counted_step(&*linear.saving_step()?)?,
            None => counted_step(&w.step)?,
        };
        let has: Vec<usize> = (0..types.len()).filter(|&k| k != states).collect();
        let mut init = primal.init.clone();
        init.push(self.a.constant(&Array::scalar(0i64))?);
        let mut results = self.a.while_accum(&WhileLoop {
            bound: w.bound,
            init,
            captures: primal.captures.clone(),
            condition: condition_on(&types, &w.condition, &has)?,
            step,
        })?;
        let count = results.remove(states);
        let saved = results.split_off(w.step.program.outputs().len());
        let result_types: Vec<Type> = results.iter().map(|t| self.a.ty(t)).collect();
        let delta = Delta::While(Box::new(DeltaWhile {
            captures: linear.reads(states, &primal.captures).cloned().collect(),
            primal,
            linear,
            saved,
            count,
            deltas,
            active_inputs,
            active_outputs: active_outputs.clone(),
            result_types,
        }));
        self.several(delta, results, &active_outputs)
    }
}

/// The tangents of a loop's results, from those of initial states and captures.
pub(crate) fn forward_while<A: Algebra>(
    a: &mut A,
    w: &DeltaWhile<A>,
    tangents: &[Option<A::T>],
) -> Result<Vec<Option<A::T>>> {
    let step = &w.primal.step;
    let states = step.states;
    let count = step.program.outputs().len();
    let active_states = marked(&w.active_inputs[..states]);
    let outputs: Vec<usize> = (states..count).filter(|&k| w.active_outputs[k]).collect();
    let moving: Vec<usize> = active_states.iter().chain(&outputs).copied().collect();
    if w.primal.bound.is_none() {
        // The states were not saved: run the loop again with its tangents.
        let moved = run_with_tangents(a, &w.primal, tangents, &active_states, &outputs)?;
        let mut results = vec![None; count];
        for (&k, t) in moving.iter().zip(moved.tangents) {
            results[k] = Some(t);
        }
        return Ok(results);
    }
    let types = input_types(step);
    let tangent = |k: usize| tangents.get(k).cloned().flatten();
    let captures: Vec<usize> = (states..types.len()).filter(|&k| tangent(k).is_some()).collect();
    let forward = w.linear.forward(&active_states, &[], &captures, &outputs)?;

    // (k, ds; n, r, c, dc) -> (k + 1, ds'; dy)
    let mut outside = vec![w.count.clone()];
    outside.extend(w.saved.iter().chain(&w.captures).cloned());
    outside.extend(captures.iter().filter_map(|&k| tangent(k)));
    let ds_types: Vec<Type> = active_states.iter().map(|&k| types[k].clone()).collect();
    let mut made = Counting::new(&ds_types, &types_of(a, &outside))?;
    let limit = 1 + active_states.len();
    let condition = comparison(&made.types, Op::Lt, 0, Some(limit))?;
    let inputs = made.inputs.clone();
    let (ds, given) = inputs[1..].split_at(active_states.len());
    let (saved, rest) = given[1..].split_at(w.saved.len());
    let r = made.saved_at(saved, inputs[0])?;
    let mut written = vec![made.count(Op::Add, 1)?];
    written.extend(made.b().inline(&forward.program, &[ds, &r, rest].concat())?);
    let program = made.w.finish(written, limit, 0)?;

    let mut init = vec![a.constant(&Array::scalar(0i64))?];
    for &k in &active_states {
        init.push(or_zero(a, tangent(k), &types[k])?);
    }
    let out = a.while_accum(&WhileLoop {
        bound: w.primal.bound,
        init,
        captures: outside,
        condition,
        step: program,
    })?;
    let mut results = vec![None; count];
    for (&k, t) in moving.iter().zip(out.into_iter().skip(1)) {
        results[k] = Some(t);
    }
    Ok(results)
}

/// The results of a loop and the tangents of those that move, final states first.
struct Moved<T> {
    primals: Vec<T>,
    tangents: Vec<T>,
}

pub(crate) fn types_of<A: Algebra>(a: &A, ts: &[A::T]) -> Vec<Type> {
    ts.iter().map(|t| a.ty(t)).collect()
}

/// One loop over states and their tangents.
fn run_with_tangents<A: Algebra>(
    a: &mut A,
    w: &WhileLoop<A::T>,
    tangents: &[Option<A::T>],
    active_states: &[usize],
    outputs: &[usize],
) -> Result<Moved<A::T>> {
    let step = &w.step;
    let states = step.states;
    let types = input_types(step);
    let tangent = |k: usize| tangents.get(k).cloned().flatten();
    let captures: Vec<usize> = (states..types.len()).filter(|&k| tangent(k).is_some()).collect();
    let program = tangent_step(step, active_states, &[], &captures, outputs)?;
    let carried = states + active_states.len();
    let has: Vec<usize> = (0..states).chain(carried..carried + types.len() - states).collect();
    let condition = condition_on(&input_types(&program), &w.condition, &has)?;
    let mut init = w.init.clone();
    for &k in active_states {
        init.push(or_zero(a, tangent(k), &types[k])?);
    }
    let mut outside = w.captures.clone();
    outside.extend(captures.iter().filter_map(|&k| tangent(k)));
    let mut out = a.while_accum(&WhileLoop {
        bound: w.bound,
        init,
        captures: outside,
        condition,
        step: program,
    })?;
    // s', ds', y, dy
    let dy = out.split_off(carried + step.outputs());
    let ys = out.split_off(carried);
    let mut tangents = out.split_off(states);
    tangents.extend(dy);
    out.extend(ys);
    Ok(Moved { primals: out, tangents })
}

impl<A: Algebra> Tangent<'_, A> {
    /// One loop over states and their tangents.
    pub(crate) fn tangent_while(
        &mut self,
        w: &WhileLoop<TangentArray<A>>,
    ) -> Result<Vec<TangentArray<A>>> {
        let primals =
            |ts: &[TangentArray<A>]| -> Vec<A::T> { ts.iter().map(|t| t.primal.clone()).collect() };
        let tangents: Vec<Option<A::T>> =
            w.init.iter().chain(&w.captures).map(|t| t.tangent.clone()).collect();
        let start: Vec<bool> = tangents.iter().map(|t| t.is_some()).collect();
        let (active_inputs, active_outputs) = active_in_loop(&w.step, &start);
        let states = w.step.states;
        let count = w.step.program.outputs().len();
        let active_states = marked(&active_inputs[..states]);
        let outputs: Vec<usize> = (states..count).filter(|&k| active_outputs[k]).collect();
        let primal = WhileLoop {
            bound: w.bound,
            init: primals(&w.init),
            captures: primals(&w.captures),
            condition: w.condition.clone(),
            step: w.step.clone(),
        };
        let moved = run_with_tangents(self.a, &primal, &tangents, &active_states, &outputs)?;
        let mut tangents = moved.tangents.into_iter();
        Ok(moved
            .primals
            .into_iter()
            .enumerate()
            .map(|(k, primal)| {
                let moves = if k < states { active_inputs[k] } else { active_outputs[k] };
                TangentArray { primal, tangent: if moves { tangents.next() } else { None } }
            })
            .collect())
    }
}
