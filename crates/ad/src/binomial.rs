//! The transpose of a loop of known length that keeps few states: binomial checkpointing.
//!
//! The $n$ steps are transposed from the last to the first. The state that a step starts with is
//! found by running the loop again from the nearest state that is kept. With room for $s$ states,
//! the one the loop starts with among them, and no step run more than $r$ times for this,
//!
//! $$ \beta(s, r) = \binom{s + r}{s} = \beta(s, r - 1) + \beta(s - 1, r) $$
//!
//! steps can be transposed: the first $\beta(s, r - 1)$ are run to reach the next state to keep, and
//! transposed last, when its room is free again. So for $m$ steps the next state to keep is, with the
//! least $r$ with $\beta(s, r) \ge m$, after
//!
//! $$ k = \min(\beta(s, r - 1),\ m - \beta(s - 1, r - 1)) $$
//!
//! of them, which needs the fewest runs of all (A. Griewank, A. Walther, Algorithm 799, 2000).
//!
//! In the program that is one loop over the steps, whose state has an array of kept states and the
//! numbers of their steps, a loop in it that goes on to the next state to keep, and one in that over
//! single steps: their number is the same for any lengths and numbers of states.

use cotan_array::{Array, Shape};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Result, TermId, Type};

use crate::algebra::{Algebra, Loop, element};
use crate::delta::DeltaLoop;
use crate::map_accum::{Writer, input_types};
use crate::step::Step;
use crate::while_loop::{Counting, WhileLoop, comparison, counter_type, types_of};

/// The most states that are kept: so many are enough for millions of steps that are run twice.
const MOST_STATES: usize = 1 << 12;

/// What it takes to run a loop again.
#[derive(Clone, Debug)]
pub struct Rerun<T> {
    /// The initial states.
    pub init: Vec<T>,
    /// The arrays stepped through.
    pub inputs: Vec<T>,
    /// What the step captures.
    pub captures: Vec<T>,
    /// How many states are kept at a time.
    pub count: usize,
}

impl<T> Rerun<T> {
    pub(crate) fn arrays(&self) -> impl Iterator<Item = &T> {
        self.init.iter().chain(&self.inputs).chain(&self.captures)
    }
}

/// The results of the loop `(s_bar, c_bar; r, x, y_bar; c) -> (s_bar', c_bar'; x_bar)` from the last
/// step to the first, of which `r` is computed again.
pub(crate) fn transpose_again<A: Algebra>(
    a: &mut A,
    m: &DeltaLoop<A>,
    again: &Rerun<A::T>,
    transposed: &Step,
    bars: Vec<A::T>,
    y_bars: Vec<A::T>,
) -> Result<Vec<A::T>> {
    let count = again.count.clamp(1, MOST_STATES.min(m.length.max(1)));
    let of_bars = (types_of(a, &bars), y_bars.iter().map(|t| element(&a.ty(t))).collect());
    let whole = types_of(a, &again.inputs);
    let writing = Writing { m, transposed, count, whole: &whole };
    let step = writing.step(&of_bars)?;

    // p, held, top, slots, bars
    let first = a.constant(&Array::scalar(m.length as i64 - 1))?;
    let held =
        a.constant(&Array::zeros(cotan_array::Dtype::I64, Shape::new("held", &[count])?)?)?;
    let mut init = vec![first, held, a.constant(&Array::scalar(1i64))?];
    for s in &again.init {
        init.push(a.replicate(count, s)?);
    }
    let skipped = init.len();
    init.extend(bars);
    let inputs = again.inputs.iter().cloned().chain(y_bars).collect();
    let captures = again.inputs.iter().chain(&again.captures).cloned().collect();
    let (length, reverse) = (m.length, !m.reverse);
    let step = std::sync::Arc::new(step);
    let mut out = a.map_accum(&Loop { length, reverse, init, inputs, captures, step })?;
    Ok(out.split_off(skipped))
}

/// The step of the loop over the steps, being written.
struct Writing<'a, A: Algebra> {
    m: &'a DeltaLoop<A>,
    transposed: &'a Step,
    count: usize,
    /// The types of the arrays stepped through.
    whole: &'a [Type],
}

impl<A: Algebra> Writing<'_, A> {
    fn states(&self) -> Vec<Type> {
        let mut types = input_types(&self.m.step);
        types.truncate(self.m.step.states);
        types
    }

    /// The arrays stepped through, as a whole, then the captures.
    fn outside(&self) -> Vec<Type> {
        let step = &self.m.step;
        let captures = input_types(step).split_off(step.states + step.inputs);
        [self.whole, &captures].concat()
    }

    /// `(p, held, top, slots, bars; x, y_bar; xs, c) -> (p - 1, held', top', slots', bars'; x_bar)`
    fn step(&self, (bars, y_bars): &(Vec<Type>, Vec<Type>)) -> Result<Step> {
        let step = &self.m.step;
        let (types, states) = (input_types(step), self.states());
        let mut w = Writer::default();
        let slots = kept_types(&states, self.count)?;
        let p = w.input(&counter_type())?;
        let mut kept = w.inputs(&held_types(self.count)?)?;
        kept.extend(w.inputs(&slots)?);
        let bar_terms = w.inputs(bars)?;
        let x = w.inputs(&types[step.states..step.states + step.inputs])?;
        let y_bar = w.inputs(y_bars)?;
        let outside = w.inputs(&self.outside())?;

        // From the last state that is kept.
        let b = &mut w.staged.b;
        let (held, top) = (kept[0], kept[1]);
        let one = b.scalar(1i64)?;
        let last = b.op(Op::Sub, &[top, one])?;
        let q = b.index(held, &[last])?;
        let mut init = vec![q, top, held];
        init.extend_from_slice(&kept[2..]);
        for &slot in &kept[2..] {
            init.push(b.index(slot, &[last])?);
        }
        let captures = [&[p], &outside[..]].concat();
        let reached = self.towards()?.of(init, captures);
        let mut reached = w.staged.while_accum(&reached)?;
        let s = reached.split_off(3 + states.len());
        let (mut top, held) = (reached[1], reached[2]);
        let slots = reached.split_off(3);

        // What the derivative needs of the step, and its transpose.
        let c = &outside[self.whole.len()..];
        let b = &mut w.staged.b;
        let saving = self.m.linear.saving_step()?;
        let mut r = b.inline(&saving.program, &[&s, &x, c].concat())?;
        let r = r.split_off(step.program.outputs().len());
        let reads = |first: usize, ts: &[TermId]| -> Vec<TermId> {
            self.m.linear.reads(first, ts).copied().collect()
        };
        let (x, c) = (reads(step.states, &x), reads(step.states + step.inputs, c));
        let given = [bar_terms, r, x, y_bar, c].concat();
        let results = b.inline(&self.transposed.program, &given)?;
        // A state that is not needed any more gives its room back.
        let last = b.op(Op::Sub, &[top, one])?;
        let at = b.index(held, &[last])?;
        let done = b.op(Op::Eq, &[at, p])?;
        top = b.op(Op::Select, &[done, last, top])?;
        let mut written = vec![b.op(Op::Sub, &[p, one])?, held, top];
        written.extend(slots);
        written.extend(results);
        let states = 3 + states.len() + bars.len();
        let inputs = step.inputs + y_bars.len();
        let step = w.finish(written, states, inputs)?;
        Ok(std::sync::Arc::unwrap_or_clone(step))
    }

    /// The loop that goes on until step `p`, and keeps states on the way:
    /// `(q, top, held, slots, s; p, xs, c) -> (q', top', held', slots', s')` while `q < p`.
    fn towards(&self) -> Result<Written> {
        let states = self.states();
        let slots = kept_types(&states, self.count)?;
        let [held, top] = held_types(self.count)?;
        let own = [&[top, held], &slots[..], &states].concat();
        let captures = [&[counter_type()], &self.outside()[..]].concat();
        let mut made = Counting::new(&own, &captures)?;
        let condition = comparison(&made.types, Op::Lt, 0, Some(1 + own.len()))?;
        let inputs = made.inputs.clone();
        let (q, top, held) = (inputs[0], inputs[1], inputs[2]);
        let (slots, rest) = inputs[3..].split_at(states.len());
        let (s, given) = rest.split_at(states.len());
        let (p, outside) = (given[0], &given[1..]);
        let b = made.b();
        let one = b.scalar(1i64)?;
        let size = b.scalar(self.count as i64)?;
        let free = b.op(Op::Sub, &[size, top])?;
        let left = b.op(Op::Sub, &[p, q])?;
        let steps = b.op(Op::Add, &[left, one])?;
        let ahead = self.ahead(b, free, left, steps)?;
        let goal = b.op(Op::Add, &[q, ahead])?;
        let advance = self.advance()?;
        let init = [&[q], s].concat();
        let captures = [&[goal], outside].concat();
        let mut s = made.w.staged.while_accum(&advance.of(init, captures))?;
        s.remove(0);
        // Kept, if there is room and it is not the state that was asked for. Past the end of the
        // slots there is no place.
        let b = made.b();
        let zero = b.scalar(0i64)?;
        let room = b.op(Op::Gt, &[free, zero])?;
        let before = b.op(Op::Lt, &[goal, p])?;
        let keeps = b.op(Op::And, &[room, before])?;
        let place = b.op(Op::Select, &[keeps, top, size])?;
        let more = b.op(Op::Add, &[top, one])?;
        let top = b.op(Op::Select, &[keeps, more, top])?;
        let mut written = vec![goal, top, self.put(b, held, place, goal)?];
        for (&slot, &s) in slots.iter().zip(&s) {
            written.push(self.put(b, slot, place, s)?);
        }
        written.extend(s);
        let count = written.len();
        Ok(Written { condition, step: made.w.finish(written, count, 0)? })
    }

    /// How many steps to go on before the next state is kept, of `steps` that are to be transposed,
    /// the last of which begins after `left`: all if there is no room.
    fn ahead(&self, b: &mut Builder, free: TermId, left: TermId, steps: TermId) -> Result<TermId> {
        if self.count < 2 {
            return Ok(left);
        }
        let (rows, columns) = (self.count + 1, repetitions(self.count, self.m.length) + 1);
        let table = binomials(rows, columns, self.m.length);
        let table =
            b.constant(&Array::from_vec(Shape::new("binomials", &[rows, columns])?, table)?)?;
        let (zero, one) = (b.scalar(0i64)?, b.scalar(1i64)?);
        let here = b.op(Op::Add, &[free, one])?;
        let (row, below) = (b.index(table, &[here])?, b.index(table, &[free])?);
        let all = b.replicate(columns, steps)?;
        let less = b.op(Op::Lt, &[row, all])?;
        let (zeros, ones) = (b.replicate(columns, zero)?, b.replicate(columns, one)?);
        let less = b.op(Op::Select, &[less, ones, zeros])?;
        let r = b.sum_outer(less)?;
        let before = b.op(Op::Sub, &[r, one])?;
        let (first, rest) = (b.index(row, &[before])?, b.index(below, &[before])?);
        let rest = b.op(Op::Sub, &[steps, rest])?;
        let first = b.op(Op::Min, &[first, rest])?;
        let room = b.op(Op::Gt, &[free, zero])?;
        let ahead = b.op(Op::Select, &[room, first, left])?;
        // Always on, and not too far: whatever lanes of a `build` that wait for others have here.
        let ahead = b.op(Op::Max, &[ahead, one])?;
        b.op(Op::Min, &[ahead, left])
    }

    /// The loop over single steps: `(q, s; goal, xs, c) -> (q + 1, s')` while `q < goal`.
    fn advance(&self) -> Result<Written> {
        let (step, states) = (&self.m.step, self.states());
        let captures = [&[counter_type()], &self.outside()[..]].concat();
        let mut made = Counting::new(&states, &captures)?;
        let condition = comparison(&made.types, Op::Lt, 0, Some(1 + states.len()))?;
        let inputs = made.inputs.clone();
        let (s, given) = inputs[1..].split_at(states.len());
        let (xs, c) = given[1..].split_at(self.whole.len());
        let at = match self.m.reverse {
            false => inputs[0],
            true => {
                let last = made.b().scalar(self.m.length as i64 - 1)?;
                made.b().op(Op::Sub, &[last, inputs[0]])?
            }
        };
        let x = made.saved_at(xs, at)?;
        let mut written = vec![made.count(Op::Add, 1)?];
        let next = made.b().inline(&step.program, &[s, &x, c].concat())?;
        written.extend(&next[..step.states]);
        let count = written.len();
        Ok(Written { condition, step: made.w.finish(written, count, 0)? })
    }

    /// The array with `value` at a place of its first axis, if that is there.
    fn put(&self, b: &mut Builder, array: TermId, place: TermId, value: TermId) -> Result<TermId> {
        let dims = b.shape(value).dims().to_vec();
        let numbers = b.iota(self.count)?;
        let place = b.replicate(self.count, place)?;
        let mut mask = b.op(Op::Eq, &[numbers, place])?;
        for &k in dims.iter().rev() {
            mask = b.replicate(k, mask)?;
        }
        if !dims.is_empty() {
            let perm: Vec<usize> = std::iter::once(dims.len()).chain(0..dims.len()).collect();
            mask = b.transpose(&perm, mask)?;
        }
        let values = b.replicate(self.count, value)?;
        b.op(Op::Select, &[mask, values, array])
    }
}

/// Condition and step of a loop.
struct Written {
    condition: std::sync::Arc<cotan_ir::Program>,
    step: std::sync::Arc<Step>,
}

impl Written {
    fn of(self, init: Vec<TermId>, captures: Vec<TermId>) -> WhileLoop<TermId> {
        let Written { condition, step } = self;
        WhileLoop { bound: None, init, captures, condition, step }
    }
}

/// The numbers of the steps whose states are kept, and how many are.
fn held_types(count: usize) -> Result<[Type; 2]> {
    let held = Type::new(counter_type().dtype, Shape::new("held", &[count])?);
    Ok([held, counter_type()])
}

/// So many states.
fn kept_types(states: &[Type], count: usize) -> Result<Vec<Type>> {
    let kept = |ty: &Type| Ok(Type::new(ty.dtype, ty.shape.cons("kept", count)?));
    states.iter().map(kept).collect()
}

/// How often a step has to be run at most to transpose so many with so many states kept.
fn repetitions(count: usize, steps: usize) -> usize {
    let (mut r, mut reached) = (0u128, 1u128);
    while reached < steps as u128 {
        r += 1;
        reached = reached * (count as u128 + r) / r;
    }
    r as usize
}

/// `beta(s, r)` for `s` below `rows` and `r` below `columns`, as far as it is not more than needed.
fn binomials(rows: usize, columns: usize, most: usize) -> Vec<i64> {
    let mut table = vec![1i64; rows * columns];
    for s in 1..rows {
        for r in 1..columns {
            let sum = table[s * columns + r - 1].saturating_add(table[(s - 1) * columns + r]);
            table[s * columns + r] = sum.min(most as i64 + 1);
        }
    }
    table
}
