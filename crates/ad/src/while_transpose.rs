//! The transpose of a `while`: a loop from the last step to the first over what the steps were given.
//!
//! **With a bound** what the derivative needs of each step was saved, and it is one loop.
//!
//! **Without** one shapes leave room for a fixed number of arrays, and the loop is run again for the
//! others. The $n$ steps are cut into blocks of $B$. To transpose a block, run it and save what the
//! derivative needs of each step; then go over that as if it were a loop with a bound. The blocks are
//! transposed from the last to the first, and begin with states that were saved before, at the start
//! of every block if there are at most $C$ of them, else of every so many.
//!
//! | steps | each is run, beside the transposed step |
//! |---|---|
//! | up to $B$ | twice: to count them, and to save what is needed of them |
//! | up to $B C = K^2 = 262\,144$ | three times |
//! | more | $n / 2 K^2$ times more, from the nearest saved state on |
//!
//! If a step needs $r$ numbers and the states are $s$, that is room for $B r + C s$ numbers, the least
//! for $B r = C s$. So a loop that needs its states has $B = C = K$ = [`CHECKPOINTS`], and one that
//! changes an element of a large array has longer blocks and fewer states. Segments of segments would
//! have room for more steps, but each level is a loop around the step in the program, and derivatives
//! of derivatives have such loops around each of those.

use std::sync::Arc;

use cotan_array::Array;
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Program, Result, TermId, Type};

use crate::algebra::{Algebra, element, interpret};
use crate::linear::Linear;
use crate::map_accum::{Transposed, Writer, input_types, marked, or_zero};
use crate::slots::slots;
use crate::staged::Staged;
use crate::step::Step;
use crate::while_loop::{Counting, DeltaWhile, WhileLoop, comparison, counter_type, types_of};

/// How many states of a loop without a bound are saved at a time for its transpose, and of how many
/// steps what is needed, if both are of the same size.
pub const CHECKPOINTS: usize = 512;

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
        .collect();
    let seeded_types: Vec<Type> = seeded.iter().map(|&k| element(&w.result_types[k])).collect();
    let transposed = w.linear.transposed(&Transposed {
        states: &active_states,
        elements: &[],
        captures: &active_captures,
        seeded: &seeded,
        seeded_types: &seeded_types,
    })?;
    let carried: Vec<usize> = active_states.iter().chain(&active_captures).copied().collect();
    let mut bars = Vec::with_capacity(carried.len());
    for &k in &active_states {
        bars.push(or_zero(a, result(k), &types[k])?);
    }
    for &k in &active_captures {
        bars.push(a.number(0.0, &types[k])?);
    }
    let count = w.count.clone();
    let bars = match w.primal.bound {
        Some(bound) => {
            let y_bars: Vec<A::T> = seeded.iter().filter_map(|&k| result(k)).collect();
            let saved = [&w.saved[..], &y_bars].concat();
            over_saved(a, (&transposed, bound), count, bars, (&saved, &w.captures))?
        }
        None => {
            let blocks = Blocks::new(step, &w.linear, &transposed)?;
            blocks.run(a, w, count, bars)?
        }
    };
    let mut contributions: Vec<Option<A::T>> = vec![None; types.len()];
    for (&k, t) in carried.iter().zip(bars) {
        contributions[k] = Some(t);
    }
    Ok(contributions)
}

/// One loop over what was saved of at most so many steps:
/// `(k, s_bar, c_bar; r, y_bar, c) -> (k - 1, s_bar', c_bar')`.
fn over_saved<A: Algebra>(
    a: &mut A,
    (transposed, bound): (&Step, usize),
    count: A::T,
    bars: Vec<A::T>,
    (saved, c): (&[A::T], &[A::T]),
) -> Result<Vec<A::T>> {
    let captures = [saved, c].concat();
    let mut made = Counting::new(&types_of(a, &bars), &types_of(a, &captures))?;
    let inputs = made.inputs.clone();
    let (bars_here, given) = inputs[1..].split_at(bars.len());
    let (saved, c) = given.split_at(saved.len());
    let r = made.saved_at(saved, inputs[0])?;
    let results = made.b().inline(&transposed.program, &[bars_here, &r, c].concat())?;
    let one = a.constant(&Array::scalar(1i64))?;
    let last = a.op(Op::Sub, &[count, one])?;
    let w = downwards(made, results, Some(bound), last, bars, captures)?;
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

/// The loops that transpose a loop without a bound, block by block.
struct Blocks<'a> {
    /// The primal step.
    step: &'a Step,
    /// `(s; c) -> (s'; r)`, the step that also gives what its derivative needs.
    saving: Arc<Step>,
    /// Which captures that needs, too.
    linear: &'a Linear,
    /// `(s_bar, c_bar; r; c) -> (s_bar', c_bar')`
    transposed: &'a Step,
    /// The steps of a block.
    block: usize,
    /// How many states are saved.
    checkpoints: usize,
}

impl<'a> Blocks<'a> {
    fn new(step: &'a Step, linear: &'a Linear, transposed: &'a Step) -> Result<Blocks<'a>> {
        let saving = linear.saving_step()?;
        let size = |ty: &Type| ty.shape.numel();
        let states: usize = input_types(step)[..step.states].iter().map(size).sum();
        let needed: usize = (0..saving.outputs()).map(|n| size(saving.output_type(n))).sum();
        let (block, checkpoints) = division(slots(), states, needed);
        Ok(Blocks { step, saving, linear, transposed, block, checkpoints })
    }

    /// The cotangents before all steps.
    fn run<A: Algebra>(
        &self,
        a: &mut A,
        w: &DeltaWhile<A>,
        count: A::T,
        bars: Vec<A::T>,
    ) -> Result<Vec<A::T>> {
        let bar_types = types_of(a, &bars);
        let mut inputs = vec![count];
        inputs.extend(w.primal.init.iter().cloned());
        inputs.extend(bars);
        inputs.extend(w.primal.captures.iter().cloned());
        interpret(&self.program(&bar_types)?, &inputs, a)
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

    /// `(count, s, s_bar, c_bar, c) -> (s_bar', c_bar')`
    fn program(&self, bar_types: &[Type]) -> Result<Program> {
        let mut w = Writer::default();
        let count = w.input(&counter_type())?;
        let s = w.inputs(&self.states())?;
        let bars = w.inputs(bar_types)?;
        let c = w.inputs(&self.captures())?;
        // The blocks from one saved state to the next.
        let b = &mut w.staged.b;
        let blocks = quotient_above(b, count, self.block)?;
        let one = b.scalar(1i64)?;
        let every = quotient_above(b, blocks, self.checkpoints)?;
        let every = b.op(Op::Max, &[every, one])?;
        let last = b.op(Op::Sub, &[blocks, one])?;
        let saved = self.saved(&mut w.staged, count, &s, every, &c)?;
        let captures = [&saved[..], &[count, every], &c].concat();
        let made = Counting::new(bar_types, &types_of(&w.staged, &captures))?;
        let (made, results) = self.one_block(made, bar_types.len())?;
        let blocks = downwards(made, results, None, last, bars, captures)?;
        let bars = w.staged.while_accum(&blocks)?.split_off(1);
        Ok(w.finish(bars, 0, 0)?.program.clone())
    }

    /// The states at the start of every so many blocks.
    fn saved(
        &self,
        staged: &mut Staged,
        count: TermId,
        s: &[TermId],
        every: TermId,
        c: &[TermId],
    ) -> Result<Vec<TermId>> {
        // (first, s; count, distance, c) -> (first + distance, s there unless nothing begins; s)
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
        let block = staged.b.scalar(self.block as i64)?;
        let distance = staged.b.op(Op::Mul, &[every, block])?;
        let init = [&[staged.b.scalar(0i64)?], s].concat();
        let captures = [&[count, distance], c].concat();
        let bound = Some(self.checkpoints);
        let w = WhileLoop { bound, init, captures, condition, step };
        Ok(staged.while_accum(&w)?.split_off(states))
    }

    /// A step of the loop over the blocks:
    /// `(k, s_bar, c_bar; saved, count, every, c) -> (s_bar', c_bar')`.
    fn one_block(&self, mut made: Counting, bars: usize) -> Result<(Counting, Vec<TermId>)> {
        let inputs = made.inputs.clone();
        let (bars, given) = inputs[1..].split_at(bars);
        let (saved, given) = given.split_at(self.step.states);
        let (count, every, c) = (given[0], given[1], &given[2..]);
        let b = made.b();
        let block = b.scalar(self.block as i64)?;
        let none = b.scalar(0i64)?;
        // Lanes of a `build` that wait for others, with a counter of -1, have no steps to run.
        let runs = b.op(Op::Ge, &[inputs[0], none])?;
        let mut steps = |op: Op, x: TermId, y: TermId, limit: TermId| -> Result<TermId> {
            let n = b.op(op, &[x, y])?;
            let n = b.op(Op::Min, &[n, limit])?;
            b.op(Op::Select, &[runs, n, none])
        };
        let first = steps(Op::Mul, inputs[0], block, count)?;
        let length = steps(Op::Sub, count, first, block)?;
        let at = b.op(Op::FloorDiv, &[inputs[0], every])?;
        let passed = b.op(Op::Mul, &[at, every])?;
        let begins = b.op(Op::Mul, &[passed, block])?;
        let before = b.op(Op::Sub, &[first, begins])?;
        let s = made.saved_at(saved, at)?;
        let staged = &mut made.w.staged;
        let s = self.advance(staged, &s, before, c)?;
        let states = 1 + self.step.states;
        let w = self.counted(&mut staged.b, &self.saving, Some(self.block), &s, length, c)?;
        let r = staged.while_accum(&w)?.split_off(states);
        let read: Vec<TermId> = self.linear.reads(self.step.states, c).copied().collect();
        let transposed = (self.transposed, self.block);
        let results = over_saved(staged, transposed, length, bars.to_vec(), (&r, &read))?;
        Ok((made, results))
    }

    /// The states some steps after `s`, whatever the condition of the loop.
    fn advance(
        &self,
        staged: &mut Staged,
        s: &[TermId],
        steps: TermId,
        c: &[TermId],
    ) -> Result<Vec<TermId>> {
        let w = self.counted(&mut staged.b, self.step, None, s, steps, c)?;
        let mut results = staged.while_accum(&w)?;
        results.truncate(1 + self.step.states);
        Ok(results.split_off(1))
    }

    /// The loop of so many steps from `s` on: `(k, s; steps, c) -> (k + 1, s'; y)`.
    fn counted(
        &self,
        b: &mut Builder,
        step: &Step,
        bound: Option<usize>,
        s: &[TermId],
        steps: TermId,
        c: &[TermId],
    ) -> Result<WhileLoop<TermId>> {
        let captures = [vec![counter_type()], self.captures()].concat();
        let mut made = Counting::new(&self.states(), &captures)?;
        let states = 1 + self.step.states;
        let condition = comparison(&made.types, Op::Lt, 0, Some(states))?;
        let given = [&made.inputs[1..states], &made.inputs[states + 1..]].concat();
        let mut results = vec![made.count(Op::Add, 1)?];
        results.extend(made.b().inline(&step.program, &given)?);
        let step = made.w.finish(results, states, 0)?;
        let init = [&[b.scalar(0i64)?], s].concat();
        let captures = [&[steps], c].concat();
        Ok(WhileLoop { bound, init, captures, condition, step })
    }
}

/// The steps of a block and the number of saved states: about `slots` each, and more of what is
/// smaller, such that both take as much memory.
fn division(slots: usize, states: usize, needed: usize) -> (usize, usize) {
    let ratio = (states / needed.max(1)).max(1);
    let factor = 1 << (ratio.ilog2() / 2);
    let block = (slots * factor).min((slots * slots).div_ceil(2));
    (block, (slots * slots).div_ceil(block))
}

/// The least integer that is not below the quotient of a count and a number.
fn quotient_above(b: &mut Builder, count: TermId, number: usize) -> Result<TermId> {
    let less = b.scalar(number as i64 - 1)?;
    let number = b.scalar(number as i64)?;
    let rounded = b.op(Op::Add, &[count, less])?;
    b.op(Op::FloorDiv, &[rounded, number])
}

#[cfg(test)]
mod tests {
    use super::{CHECKPOINTS, division};

    #[test]
    fn blocks_and_states_take_as_much_memory() {
        assert_eq!(division(CHECKPOINTS, 3, 3), (512, 512));
        assert_eq!(division(CHECKPOINTS, 3, 2), (512, 512));
        assert_eq!(division(CHECKPOINTS, 2, 0), (512, 512));
        for (states, needed) in [(100_000, 1), (100_000, 3), (1000, 20), (1 << 40, 1), (1, 0)] {
            let (block, checkpoints) = division(CHECKPOINTS, states, needed);
            assert!(checkpoints >= 2 && block * checkpoints >= CHECKPOINTS * CHECKPOINTS);
            let memory = block * needed + checkpoints * states;
            let least = 2.0 * CHECKPOINTS as f64 * ((states * needed.max(1)) as f64).sqrt();
            let limit = (1.5 * least).max(2.0 * states as f64 + (block * needed) as f64);
            assert!(memory as f64 <= limit, "{states} {needed}: {memory}");
        }
    }
}
