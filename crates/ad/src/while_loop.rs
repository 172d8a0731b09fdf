//! Loops as long as a condition holds. The condition is never differentiated: it is a truth value.
//!
//! With $s_{k+1}, y_k = f(s_k, c)$ for $k = 0, \ldots, n - 1$, forward mode is the loop over states
//! and tangents $(s, ds)$ with the condition of the primal. The transpose is the loop
//! $\bar s_k, \bar c \mathrel{+}= J_f(s_k, c)^\top (\bar s_{k+1}, \bar y_k)$ with a counter $k$ from
//! $n - 1$ down to 0, where $n$ is counted by the primal.
//!
//! **Where $s_k$ comes from.** A loop with a bound saves the states of each step. One without does
//! not know how many there will be: once $n$ is known it is run again in [`CHECKPOINTS`] chunks of
//! $\lceil n / K \rceil$ steps each, the state at the start of each chunk is saved, and the transpose
//! runs the loop from there to step $k$. Up to $K$ steps a chunk is one step and nothing is run
//! twice for it; beyond, each step costs $n / 2K$ more on average. A bound avoids that.

use std::sync::Arc;

use cotan_array::{Array, Dtype};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Extracted, Output, Program, Result, Scopes, TermId, Type, While};

use crate::activity::active_in_loop;
use crate::algebra::{Algebra, element};
use crate::delta::{Delta, DeltaId};
use crate::dual::{Dual, DualArray};
use crate::fault::{Point, faulty};
use crate::map_accum::{
    Transposed, Writer, forward_step, input_types, marked, or_zero, tangent_step, transposed_step,
};
use crate::step::Step;
use crate::tangent::{Tangent, TangentArray};

/// How many states of a loop without a bound are saved for its transpose.
pub const CHECKPOINTS: usize = 1024;

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
    /// With a bound, the states that each step was given.
    pub saved: Vec<A::T>,
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

fn counter_type() -> Type {
    Type::scalar(Dtype::I64)
}

/// A condition on inputs of the given types, some of which it has, by number.
fn condition_on(types: &[Type], condition: &Program, has: &[usize]) -> Result<Arc<Program>> {
    let mut w = Writer::default();
    let inputs = w.inputs(types)?;
    let given: Vec<TermId> = has.iter().map(|&k| inputs[k]).collect();
    let results = w.staged.b.inline(condition, &given)?;
    Ok(Arc::new(finish(w.staged.b, results)?))
}

/// A condition that compares two of the inputs, of the given types, or one with zero.
fn comparison(types: &[Type], op: Op, left: usize, right: Option<usize>) -> Result<Arc<Program>> {
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
struct Counting {
    w: Writer,
    types: Vec<Type>,
    /// Its inputs: the counter, the other states, the captures.
    inputs: Vec<TermId>,
}

impl Counting {
    fn new(states: &[Type], captures: &[Type]) -> Result<Counting> {
        let types: Vec<Type> =
            std::iter::once(&counter_type()).chain(states).chain(captures).cloned().collect();
        let mut w = Writer::default();
        let inputs = w.inputs(&types)?;
        Ok(Counting { w, types, inputs })
    }

    fn b(&mut self) -> &mut Builder {
        &mut self.w.staged.b
    }

    /// The counter and a number, combined.
    fn count(&mut self, op: Op, number: i64) -> Result<TermId> {
        let number = self.b().scalar(number)?;
        let counter = self.inputs[0];
        self.b().op(op, &[counter, number])
    }
}

/// The loop that makes as many steps as its first capture says, whatever the condition: of states
/// and captures of the given step. Its first state is the number of steps made.
fn repeat(step: &Step) -> Result<(Arc<Program>, Arc<Step>)> {
    let types = input_types(step);
    let (states, captures) = types.split_at(step.states);
    let captures: Vec<Type> = std::iter::once(&counter_type()).chain(captures).cloned().collect();
    let mut made = Counting::new(states, &captures)?;
    let limit = 1 + step.states;
    let condition = comparison(&made.types, Op::Lt, 0, Some(limit))?;
    let given = [&made.inputs[1..limit], &made.inputs[limit + 1..]].concat();
    let mut results = vec![made.count(Op::Add, 1)?];
    let mut next = made.b().inline(&step.program, &given)?;
    next.truncate(step.states);
    results.extend(next);
    Ok((condition, made.w.finish(results, limit, 0)?))
}

/// `(s, n; c) -> (s', n + 1; y)`, and the `s` it was given if they are to be saved.
fn counted_step(step: &Step, save: bool) -> Result<(Vec<Type>, Arc<Step>)> {
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
    if save {
        let from = if faulty(Point::WhileSavesNextStates) { &results } else { &inputs };
        let saved = from[..step.states].to_vec();
        results.extend(saved);
    }
    results.insert(step.states, next);
    Ok((types, w.finish(results, step.states + 1, 0)?))
}

impl<A: Algebra> Dual<'_, A> {
    /// `D[while]`: the primal with its steps counted and, with a bound, its states saved; and a
    /// Delta for the whole loop.
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
        let (types, step) = counted_step(&w.step, w.bound.is_some())?;
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
            primal,
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

/// Saved states of a loop, and how many steps lie between two of them: one if not given.
struct Saved<T> {
    states: Vec<T>,
    chunk: Option<T>,
}

/// The states of a loop without a bound at the start of each chunk.
fn checkpoints<A: Algebra>(a: &mut A, w: &DeltaWhile<A>) -> Result<Saved<A::T>> {
    let step = &w.primal.step;
    // max(1, ceil(n / K))
    let slots = a.constant(&Array::scalar(CHECKPOINTS as i64))?;
    let one = a.constant(&Array::scalar(1i64))?;
    let more = a.constant(&Array::scalar(CHECKPOINTS as i64 - 1))?;
    let rounded = a.op(Op::Add, &[w.count.clone(), more])?;
    let chunk = a.op(Op::FloorDiv, &[rounded, slots])?;
    let chunk = a.op(Op::Max, &[chunk, one])?;

    // (i, s; n, chunk, c) -> (i + chunk, s after min(chunk, n - i) steps; s)
    let types = input_types(step);
    let (states, captures) = types.split_at(step.states);
    let captures = [&[counter_type(), counter_type()], captures].concat();
    let mut made = Counting::new(states, &captures)?;
    let (first, limit) = (made.inputs[0], 1 + step.states);
    let condition = comparison(&made.types, Op::Lt, 0, Some(limit))?;
    let (count, size) = (made.inputs[limit], made.inputs[limit + 1]);
    let (s, c) = (made.inputs[1..limit].to_vec(), made.inputs[limit + 2..].to_vec());
    let rest = made.b().op(Op::Sub, &[count, first])?;
    let steps = made.b().op(Op::Min, &[size, rest])?;
    let next = made.b().op(Op::Add, &[first, size])?;
    let mut results = vec![next];
    results.extend(replay(&mut made, step, &s, steps, &c)?);
    results.extend(&s);
    let program = made.w.finish(results, limit, 0)?;

    let mut init = vec![a.constant(&Array::scalar(0i64))?];
    init.extend(w.primal.init.iter().cloned());
    let mut captures = vec![w.count.clone(), chunk.clone()];
    captures.extend(w.primal.captures.iter().cloned());
    let mut out = a.while_accum(&WhileLoop {
        bound: Some(CHECKPOINTS),
        init,
        captures,
        condition,
        step: program,
    })?;
    Ok(Saved { states: out.split_off(limit), chunk: Some(chunk) })
}

/// The states some steps after `s`.
fn replay(
    made: &mut Counting,
    step: &Step,
    s: &[TermId],
    steps: TermId,
    c: &[TermId],
) -> Result<Vec<TermId>> {
    let (condition, step) = repeat(step)?;
    let mut init = vec![made.b().scalar(0i64)?];
    init.extend(s);
    let captures = [&[steps], c].concat();
    let inner = WhileLoop { bound: None, init, captures, condition, step };
    Ok(made.w.staged.while_accum(&inner)?.split_off(1))
}

/// The states given to step `k`, the counter, from saved ones.
fn states_at(
    made: &mut Counting,
    step: &Step,
    saved: &[TermId],
    chunk: Option<TermId>,
    c: &[TermId],
) -> Result<Vec<TermId>> {
    let k = made.inputs[0];
    let at = match chunk {
        Some(chunk) => made.b().op(Op::FloorDiv, &[k, chunk])?,
        None => k,
    };
    let mut states = Vec::with_capacity(saved.len());
    for &t in saved {
        states.push(made.b().index(t, &[at])?);
    }
    match chunk {
        Some(chunk) => {
            let mut steps = made.b().op(Op::Rem, &[k, chunk])?;
            if faulty(Point::WhileReplaysNothing) {
                steps = made.b().scalar(0i64)?;
            }
            replay(made, step, &states, steps, c)
        }
        None => Ok(states),
    }
}

fn types_of<A: Algebra>(a: &A, ts: &[A::T]) -> Vec<Type> {
    ts.iter().map(|t| a.ty(t)).collect()
}

/// The cotangents of initial states and captures, from those of a loop's results.
pub(crate) fn transpose_while<A: Algebra>(
    a: &mut A,
    w: &DeltaWhile<A>,
    results: &[Option<A::T>],
) -> Result<Vec<Option<A::T>>> {
    let step = &w.primal.step;
    let states = step.states;
    let types = input_types(step);
    let result = |k: usize| results.get(k).cloned().flatten();
    let active_states = marked(&w.active_inputs[..states]);
    let active_captures: Vec<usize> =
        (states..types.len()).filter(|&k| w.active_inputs[k] && w.deltas[k].is_some()).collect();
    let seeded: Vec<usize> = (states..step.program.outputs().len())
        .filter(|&k| w.active_outputs[k] && result(k).is_some())
        .filter(|_| !faulty(Point::WhileIgnoresOutputs))
        .collect();
    let seeded_types: Vec<Type> = seeded.iter().map(|&k| element(&w.result_types[k])).collect();
    let transposed = transposed_step(&Transposed {
        step,
        active_inputs: &w.active_inputs,
        states: &active_states,
        elements: &[],
        captures: &active_captures,
        seeded: &seeded,
        seeded_types: &seeded_types,
    })?;
    let saved = match w.primal.bound {
        Some(_) => Saved { states: w.saved.clone(), chunk: None },
        None => checkpoints(a, w)?,
    };

    // (k, s_bar, c_bar; saved, y_bar, chunk, c) -> (k - 1, s_bar', c_bar')
    let carried: Vec<usize> = active_states.iter().chain(&active_captures).copied().collect();
    let mut outside = saved.states.clone();
    outside.extend(seeded.iter().filter_map(|&k| result(k)));
    outside.extend(saved.chunk.clone());
    outside.extend(w.primal.captures.iter().cloned());
    let carried_types: Vec<Type> = carried.iter().map(|&k| types[k].clone()).collect();
    let mut made = Counting::new(&carried_types, &types_of(a, &outside))?;
    let condition = comparison(&made.types, Op::Ge, 0, None)?;
    let inputs = made.inputs.clone();
    let (bars, given) = inputs[1..].split_at(carried.len());
    let (saved_here, given) = given.split_at(states);
    let (y_bars, given) = given.split_at(seeded.len());
    let (chunk, c) = given.split_at(usize::from(saved.chunk.is_some()));
    let s = states_at(&mut made, step, saved_here, chunk.first().copied(), c)?;
    let mut arguments = [bars, &s].concat();
    for &t in y_bars {
        arguments.push(made.b().index(t, &[inputs[0]])?);
    }
    arguments.extend(c);
    let mut written = vec![made.count(Op::Sub, 1)?];
    written.extend(made.b().inline(&transposed.program, &arguments)?);
    let program = made.w.finish(written, 1 + carried.len(), 0)?;

    let last = if faulty(Point::WhileStartsLate) { 2i64 } else { 1 };
    let last = a.constant(&Array::scalar(last))?;
    let mut init = vec![a.op(Op::Sub, &[w.count.clone(), last])?];
    for &k in &active_states {
        let given = result(k).filter(|_| !faulty(Point::WhileIgnoresFinalStates));
        init.push(or_zero(a, given, &types[k])?);
    }
    for &k in &active_captures {
        init.push(a.number(0.0, &types[k])?);
    }
    let out = a.while_accum(&WhileLoop {
        bound: w.primal.bound,
        init,
        captures: outside,
        condition,
        step: program,
    })?;
    let mut contributions: Vec<Option<A::T>> = vec![None; types.len()];
    for (&k, t) in carried.iter().zip(out.into_iter().skip(1)) {
        contributions[k] = Some(t);
    }
    if faulty(Point::WhileLosesCaptures) {
        contributions[states..].fill(None);
    }
    Ok(contributions)
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
    let forward = forward_step(step, &active_states, &[], &captures, &outputs)?;

    // (k, ds; n, saved, c, dc) -> (k + 1, ds'; dy)
    let mut outside = vec![w.count.clone()];
    outside.extend(w.saved.iter().chain(&w.primal.captures).cloned());
    outside.extend(captures.iter().filter_map(|&k| tangent(k)));
    let ds_types: Vec<Type> = active_states.iter().map(|&k| types[k].clone()).collect();
    let mut made = Counting::new(&ds_types, &types_of(a, &outside))?;
    let limit = 1 + active_states.len();
    let condition = comparison(&made.types, Op::Lt, 0, Some(limit))?;
    let inputs = made.inputs.clone();
    let (ds, given) = inputs[1..].split_at(active_states.len());
    let (saved, rest) = given[1..].split_at(states);
    let s = states_at(&mut made, step, saved, None, &[])?;
    let mut written = vec![made.count(Op::Add, 1)?];
    written.extend(made.b().inline(&forward.program, &[ds, &s, rest].concat())?);
    let program = made.w.finish(written, limit, 0)?;

    let first = i64::from(faulty(Point::WhileForwardStartsLate));
    let mut init = vec![a.constant(&Array::scalar(first))?];
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
    let captures: Vec<usize> = (states..types.len())
        .filter(|&k| tangent(k).is_some() && !faulty(Point::WhileTangentLosesCaptures))
        .collect();
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
