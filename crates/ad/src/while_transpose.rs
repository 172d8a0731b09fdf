//! The transpose of a `while`: a loop from the last step to the first over what the steps were given.
//!
//! **With a bound** what the derivative needs of each step was saved, and it is one loop.
//!
//! **Without** one shapes leave room for a fixed number of states, and the loop is run again for the
//! others. The $n$ steps are cut into at most $K$ = [`CHECKPOINTS`] segments, each of them into at
//! most $K$ smaller ones, and so on for [`LEVELS`] levels, down to single steps. To transpose a
//! segment, run it and save the states where its parts begin; then transpose the parts, the last one
//! first. A level is a loop in the loop of the level above, so there are $K$ states of each level at a
//! time, and each level runs a step once more:
//!
//! | steps | each is run, beside the transposed step |
//! |---|---|
//! | up to $K = 512$ | twice: to count them, and to save their states |
//! | up to $K^2 = 262\,144$ | three times |
//! | more | $n / 2 K^2$ times more, from the nearest saved state on |
//!
//! A third level would have room for more steps, but each level is a loop around the step in the
//! program, and derivatives of derivatives have such loops around each of those.
//!
//! Segments are as small as possible from the bottom up: a level that is not needed has one segment,
//! and runs nothing. The last part of a segment is not run either, as nothing begins after it.

use std::sync::Arc;

use cotan_array::Array;
use cotan_ir::scalar::Op;
use cotan_ir::{Program, Result, TermId, Type};

use crate::algebra::{Algebra, element, interpret};
use crate::fault::{Point, faulty, slots};
use crate::map_accum::{Transposed, Writer, input_types, marked, or_zero, transposed_step};
use crate::staged::Staged;
use crate::step::Step;
use crate::while_loop::{Counting, DeltaWhile, WhileLoop, comparison, counter_type, types_of};

/// How many states of a loop without a bound are saved at a time for its transpose, on each level.
pub const CHECKPOINTS: usize = 512;

/// How many times the steps of such a loop are cut into segments.
const LEVELS: usize = 2;

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
    let transposed = Transposed {
        step,
        active_inputs: &w.active_inputs,
        states: &active_states,
        elements: &[],
        captures: &active_captures,
        seeded: &seeded,
        seeded_types: &seeded_types,
    };
    let carried: Vec<usize> = active_states.iter().chain(&active_captures).copied().collect();
    let bar_types: Vec<Type> = carried.iter().map(|&k| types[k].clone()).collect();
    let mut bars = Vec::with_capacity(carried.len());
    for &k in &active_states {
        let given = result(k).filter(|_| !faulty(Point::WhileIgnoresFinalStates));
        bars.push(or_zero(a, given, &types[k])?);
    }
    for &k in &active_captures {
        bars.push(a.number(0.0, &types[k])?);
    }
    let mut count = w.count.clone();
    if faulty(Point::WhileStartsLate) {
        let one = a.constant(&Array::scalar(1i64))?;
        count = a.op(Op::Sub, &[count, one])?;
    }
    let bars = match w.primal.bound {
        Some(_) => {
            let y_bars: Vec<A::T> = seeded.iter().filter_map(|&k| result(k)).collect();
            over_saved(a, w, &*w.linear.transposed(&transposed)?, &bar_types, count, bars, &y_bars)?
        }
        None => {
            let transposed = transposed_step(&transposed)?;
            let nest = Nest { step, transposed: &transposed, bars: &bar_types, slots: slots() };
            nest.run(a, w, count, bars)?
        }
    };
    let mut contributions: Vec<Option<A::T>> = vec![None; types.len()];
    for (&k, t) in carried.iter().zip(bars) {
        contributions[k] = Some(t);
    }
    if faulty(Point::WhileLosesCaptures) {
        contributions[states..].fill(None);
    }
    Ok(contributions)
}

/// One loop over what was saved: `(k, s_bar, c_bar; r, y_bar, c) -> (k - 1, s_bar', c_bar')`.
fn over_saved<A: Algebra>(
    a: &mut A,
    w: &DeltaWhile<A>,
    transposed: &Step,
    bar_types: &[Type],
    count: A::T,
    bars: Vec<A::T>,
    y_bars: &[A::T],
) -> Result<Vec<A::T>> {
    let captures: Vec<A::T> = w.saved.iter().chain(y_bars).chain(&w.captures).cloned().collect();
    let mut made = Counting::new(bar_types, &types_of(a, &captures))?;
    let inputs = made.inputs.clone();
    let (bars_here, given) = inputs[1..].split_at(bar_types.len());
    let (saved, given) = given.split_at(w.saved.len());
    let (y_bars, c) = given.split_at(y_bars.len());
    let r = made.saved_at(saved, inputs[0])?;
    let y_bars = made.saved_at(y_bars, inputs[0])?;
    let results = made.b().inline(&transposed.program, &[bars_here, &r, &y_bars, c].concat())?;
    let one = a.constant(&Array::scalar(1i64))?;
    let last = a.op(Op::Sub, &[count, one])?;
    let w = downwards(made, results, w.primal.bound, last, bars, captures)?;
    Ok(a.while_accum(&w)?.split_off(1))
}

/// A loop whose counter goes down from `last` to 0, and whose other states become `results`.
fn downwards<T>(
    mut made: Counting,
    results: Vec<TermId>,
    bound: Option<usize>,
    last: T,
    states: Vec<T>,
    captures: Vec<T>,
) -> Result<WhileLoop<T>> {
    let condition = comparison(&made.types, Op::Ge, 0, None)?;
    let mut written = vec![made.count(Op::Sub, 1)?];
    written.extend(results);
    let count = written.len();
    let step = made.w.finish(written, count, 0)?;
    let init = std::iter::once(last).chain(states).collect();
    Ok(WhileLoop { bound, init, captures, condition, step })
}

/// The loops that transpose a loop without a bound.
struct Nest<'a> {
    /// The primal step.
    step: &'a Step,
    /// `(s_bar, c_bar, s, c) -> (s_bar', c_bar')`
    transposed: &'a Step,
    /// The types of the cotangents.
    bars: &'a [Type],
    /// How many states are saved on each level.
    slots: usize,
}

impl Nest<'_> {
    /// The cotangents before all steps.
    fn run<A: Algebra>(
        &self,
        a: &mut A,
        w: &DeltaWhile<A>,
        count: A::T,
        bars: Vec<A::T>,
    ) -> Result<Vec<A::T>> {
        let sizes = self.sizes(a, &count)?;
        let mut inputs = vec![count];
        inputs.extend(w.primal.init.iter().cloned());
        inputs.extend(bars);
        inputs.extend(sizes);
        inputs.extend(w.primal.captures.iter().cloned());
        interpret(&self.segment(LEVELS)?, &inputs, a)
    }

    /// The steps of a part of a segment, for each level from the lowest on: a power of the number of
    /// slots, or more if there are more steps than that makes room for.
    fn sizes<A: Algebra>(&self, a: &mut A, count: &A::T) -> Result<Vec<A::T>> {
        let mut sizes = Vec::with_capacity(LEVELS);
        let mut whole = count.clone();
        let slots = a.constant(&Array::scalar(self.slots as i64))?;
        let more = a.constant(&Array::scalar(self.slots as i64 - 1))?;
        for level in (0..LEVELS as u32).rev() {
            let least = a.constant(&Array::scalar((self.slots as i64).pow(level)))?;
            let rounded = a.op(Op::Add, &[whole, more.clone()])?;
            let needed = a.op(Op::FloorDiv, &[rounded, slots.clone()])?;
            whole = a.op(Op::Max, &[needed, least])?;
            sizes.push(whole.clone());
        }
        sizes.reverse();
        Ok(sizes)
    }

    /// The types of the captures of the primal step.
    fn captures(&self) -> Vec<Type> {
        input_types(self.step).split_off(self.step.states)
    }

    fn states(&self) -> Vec<Type> {
        let mut types = input_types(self.step);
        types.truncate(self.step.states);
        types
    }

    /// The transpose of a segment of some level:
    /// `(length, s, s_bar, c_bar, sizes, c) -> (s_bar', c_bar')`.
    fn segment(&self, level: usize) -> Result<Program> {
        let mut w = Writer::default();
        let length = w.input(&counter_type())?;
        let s = w.inputs(&self.states())?;
        let bars = w.inputs(self.bars)?;
        let sizes = w.inputs(&vec![counter_type(); LEVELS])?;
        let c = w.inputs(&self.captures())?;
        let size = sizes[level - 1];
        let saved = self.saved(&mut w.staged, length, &s, size, &c)?;
        let captures = [&saved[..], &[length], &sizes, &c].concat();
        let b = &mut w.staged.b;
        let types: Vec<Type> = captures.iter().map(|&t| b.ty(t).clone()).collect();
        let one = b.scalar(1i64)?;
        let last = b.op(Op::Sub, &[length, one])?;
        let made = Counting::new(self.bars, &types)?;
        let inner = if level == 1 {
            let (made, results) = self.one_step(made)?;
            downwards(made, results, None, last, bars, captures)?
        } else {
            let last = b.op(Op::FloorDiv, &[last, size])?;
            let (made, results) = self.one_part(made, level)?;
            downwards(made, results, Some(self.slots), last, bars, captures)?
        };
        let bars = w.staged.while_accum(&inner)?.split_off(1);
        Ok(w.finish(bars, 0, 0)?.program.clone())
    }

    /// What a loop over a segment is given: cotangents, saved states, the length, sizes, captures.
    fn given<'t>(&self, inputs: &'t [TermId]) -> [&'t [TermId]; 5] {
        let (bars, rest) = inputs[1..].split_at(self.bars.len());
        let (saved, rest) = rest.split_at(self.step.states);
        let (length, rest) = rest.split_at(1);
        let (sizes, c) = rest.split_at(LEVELS);
        [bars, saved, length, sizes, c]
    }

    /// A step of the loop over the parts of a segment.
    fn one_part(&self, mut made: Counting, level: usize) -> Result<(Counting, Vec<TermId>)> {
        let inputs = made.inputs.clone();
        let [bars, saved, length, sizes, c] = self.given(&inputs);
        let size = sizes[level - 1];
        let s = made.saved_at(saved, inputs[0])?;
        let first = made.b().op(Op::Mul, &[inputs[0], size])?;
        let rest = made.b().op(Op::Sub, &[length[0], first])?;
        let length = made.b().op(Op::Min, &[size, rest])?;
        // Lanes of a `build` that wait for others, with a counter of -1, have no steps to run.
        let none = made.b().scalar(0i64)?;
        let more = made.b().op(Op::Ge, &[inputs[0], none])?;
        let length = made.b().op(Op::Select, &[more, length, none])?;
        let given = [&[length], &s[..], bars, sizes, c].concat();
        let results = made.b().inline(&self.segment(level - 1)?, &given)?;
        Ok((made, results))
    }

    /// A step of the loop over the steps of a smallest segment, whose parts are single steps unless
    /// there are more steps than slots of all levels together.
    fn one_step(&self, mut made: Counting) -> Result<(Counting, Vec<TermId>)> {
        let inputs = made.inputs.clone();
        let [bars, saved, _, sizes, c] = self.given(&inputs);
        let at = made.b().op(Op::FloorDiv, &[inputs[0], sizes[0]])?;
        let mut more = made.b().op(Op::Rem, &[inputs[0], sizes[0]])?;
        if faulty(Point::WhileReplaysNothing) {
            more = made.b().scalar(0i64)?;
        }
        let s = made.saved_at(saved, at)?;
        let s = self.advance(&mut made.w.staged, &s, more, c)?;
        let results = made.b().inline(&self.transposed.program, &[bars, &s, c].concat())?;
        Ok((made, results))
    }

    /// The states at the start of each part of a segment.
    fn saved(
        &self,
        staged: &mut Staged,
        length: TermId,
        s: &[TermId],
        size: TermId,
        c: &[TermId],
    ) -> Result<Vec<TermId>> {
        // (first, s; length, size, c) -> (first + size, s after the part unless it is the last; s)
        let captures = [vec![counter_type(); 2], self.captures()].concat();
        let mut made = Counting::new(&self.states(), &captures)?;
        let states = 1 + self.step.states;
        let condition = comparison(&made.types, Op::Lt, 0, Some(states))?;
        let inputs = made.inputs.clone();
        let (here, given) = inputs[1..].split_at(self.step.states);
        let next = made.b().op(Op::Add, &[inputs[0], given[1]])?;
        let more = made.b().op(Op::Lt, &[next, given[0]])?;
        let none = made.b().scalar(0i64)?;
        let steps = made.b().op(Op::Select, &[more, given[1], none])?;
        let mut results = vec![next];
        results.extend(self.advance(&mut made.w.staged, here, steps, &given[2..])?);
        results.extend(here);
        let step = made.w.finish(results, states, 0)?;
        let init = [&[staged.b.scalar(0i64)?], s].concat();
        let captures = [&[length, size], c].concat();
        let bound = Some(self.slots);
        let w = WhileLoop { bound, init, captures, condition, step };
        Ok(staged.while_accum(&w)?.split_off(states))
    }

    /// The states some steps after `s`, whatever the condition of the loop.
    fn advance(
        &self,
        staged: &mut Staged,
        s: &[TermId],
        steps: TermId,
        c: &[TermId],
    ) -> Result<Vec<TermId>> {
        // (k, s; steps, c) -> (k + 1, s')
        let captures = [vec![counter_type()], self.captures()].concat();
        let mut made = Counting::new(&self.states(), &captures)?;
        let states = 1 + self.step.states;
        let condition = comparison(&made.types, Op::Lt, 0, Some(states))?;
        let given = [&made.inputs[1..states], &made.inputs[states + 1..]].concat();
        let mut results = vec![made.count(Op::Add, 1)?];
        results.extend(made.b().inline(&self.step.program, &given)?);
        results.truncate(states);
        let step: Arc<Step> = made.w.finish(results, states, 0)?;
        let init = [&[staged.b.scalar(0i64)?], s].concat();
        let captures = [&[steps], c].concat();
        let w = WhileLoop { bound: None, init, captures, condition, step };
        Ok(staged.while_accum(&w)?.split_off(1))
    }
}
