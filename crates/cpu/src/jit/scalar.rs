//! Loops over scalars: all steps in one function, with the states in registers.
//!
//! The nests of a step have one position each. What they hand to each other, and to the next step, are
//! values like those of one nest; only what is collected goes to memory, and the states at the end.

use cotan_array::Dtype;
use cotan_nest::{Affine, Buffer, BufferId, Instr, Loop, Nest, Step, Val, Write};
use cotan_schedule::Unrolling;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::isa::VectorIsa;
use super::lir::{Ins, Lir, Start, Trips, Two, V, ValueKind};
use super::lower::{BodyCopy, NestEmission, Stepping, kind_of};
use super::shape::Order;
use crate::compiled::{CompiledGroup, Member};
use crate::vm::Code;

/// Loops of more instructions are left to their kernels.
const MOST: usize = 512;

/// A part of a step.
#[derive(Clone, Copy)]
enum StepPart<'a> {
    Nest(&'a Nest),
    /// From a buffer to another.
    Copy(BufferId, BufferId),
}

/// The parts of a step in their order, if all are copies, or nests that have one position and store
/// what they compute.
fn parts(l: &Loop<CompiledGroup>) -> Option<Vec<StepPart<'_>>> {
    let mut parts = Vec::new();
    let mut length = 0;
    for step in &l.steps {
        let group = match step {
            Step::Compute(group) => group,
            &Step::Copy { from, to } => {
                parts.push(StepPart::Copy(from, to));
                continue;
            }
            _ => return None,
        };
        if group.extent > 1 || !group.locals.is_empty() || !group.partials.is_empty() {
            return None;
        }
        if group.relaxed.is_some() {
            // Which members are run depends on what is in memory.
            return None;
        }
        for member in &group.members {
            let Member::Nest(kernel) = member else { return None };
            let nest = &kernel.nest;
            let stores = matches!(nest.write, Write::Store(_));
            if !stores || nest.extents.iter().any(|&k| k != 1) {
                return None;
            }
            parts.push(StepPart::Nest(nest));
            length += super::lower::length(nest);
        }
    }
    (length <= MOST).then_some(parts)
}

/// What a loop is made of, while its code is.
struct Scalars<'a, 'b> {
    lowering: NestEmission<'a>,
    l: &'b Loop<CompiledGroup>,
    buffers: &'b [Buffer],
    /// The values of buffers of one element that have been made in this step.
    made: FxHashMap<BufferId, V>,
    /// What was read before the loop.
    invariant: FxHashMap<(BufferId, i64), V>,
    /// What a step writes.
    written: FxHashSet<BufferId>,
}

/// The vector code of a loop over scalars, for a range of its steps; `None` if it is none.
///
/// The states are read from their own memory and put there.
pub(super) fn lower(
    l: &Loop<CompiledGroup>,
    buffers: &[Buffer],
    isa: VectorIsa,
) -> Option<(Lir, Vec<Code>)> {
    let parts = parts(l)?;
    let around = Nest {
        extents: vec![l.length],
        reduced: 0,
        instrs: Vec::new(),
        dtypes: Vec::new(),
        value: Val(0),
        target: BufferId(0),
        write: Write::Store(Affine::constant(0, 1)),
        also: Vec::new(),
        source: None,
    };
    let order = Order {
        nest: &around,
        dims: &[0],
        lane: None,
        first_reduced: 1,
        block: 0,
        product: None,
        jam: None,
        unrolling: Unrolling::VECTOR_REGISTERS,
    };
    let mut written: FxHashSet<BufferId> = FxHashSet::default();
    for part in &parts {
        match *part {
            StepPart::Nest(nest) => {
                written.insert(nest.target);
                written.extend(nest.also.iter().map(|also| also.target));
            }
            StepPart::Copy(_, to) => drop(written.insert(to)),
        }
    }
    written.extend(l.states.iter().map(|&(_, state, _)| state));
    let mut scalars = Scalars {
        lowering: NestEmission::around(order, isa),
        l,
        buffers,
        made: FxHashMap::default(),
        invariant: FxHashMap::default(),
        written,
    };
    let states = scalars.begin(&parts)?;
    let counter = scalars.lowering.lir.int(Start { buffer: None, offset: 0, per_first: 0 });
    let k = scalars.lowering.enter(Trips::Run(counter), Stepping::of(0));
    scalars.made.extend(l.states.iter().map(|&(_, state, _)| state).zip(states.iter().copied()));
    for part in &parts {
        match *part {
            StepPart::Nest(nest) => scalars.nest(nest)?,
            StepPart::Copy(from, to) => scalars.copied(from, to)?,
        }
    }
    scalars.finish(&states)?;
    scalars.lowering.lir.code.push(Ins::Leave(k));
    for (&(_, state, _), &v) in l.states.iter().zip(&states) {
        let dtype = buffers[state.index()].dtype;
        let at = Affine::constant(0, 1);
        scalars.lowering.store(v, dtype, (state, &at), BodyCopy::FIRST, None)?;
    }
    scalars.lowering.follow()?;
    Some((scalars.lowering.lir, scalars.lowering.codes))
}

impl Scalars<'_, '_> {
    fn elements(&self, b: BufferId) -> usize {
        self.buffers[b.index()].shape.numel()
    }

    /// The array that a view steps through.
    fn whole(&self, part: BufferId) -> Option<BufferId> {
        let mut views = self.l.inputs.iter().chain(&self.l.collected);
        views.find(|&&(_, view)| view == part).map(|&(whole, _)| whole)
    }

    /// The place of an element of the part of a step.
    fn stepped(&self, part: BufferId, at: i64) -> Option<Affine> {
        let size = i64::try_from(self.elements(part)).ok()?;
        let last = i64::try_from(self.l.length).ok()?.checked_sub(1)?;
        let (first, step) =
            if self.l.reverse { (last.checked_mul(size)?, -size) } else { (0, size) };
        Some(Affine { constant: first.checked_add(at)?, coeffs: SmallVec::from_slice(&[step]) })
    }

    /// Reads what no step changes, and the states.
    fn begin(&mut self, parts: &[StepPart]) -> Option<Vec<V>> {
        for part in parts {
            let nest = match *part {
                StepPart::Nest(nest) => nest,
                StepPart::Copy(from, _) => {
                    self.read_before(from, 0, self.buffers[from.index()].dtype)?;
                    continue;
                }
            };
            for (instr, &dtype) in nest.instrs.iter().zip(&nest.dtypes) {
                let Instr::Load { buffer, at, checks } = instr else { continue };
                if checks.iter().all(within) {
                    self.read_before(*buffer, at.constant, dtype)?;
                }
            }
        }
        let others = self.l.outputs.iter().map(|&(part, _)| part);
        for b in others.chain(self.l.states.iter().map(|&(_, _, next)| next)) {
            self.read_before(b, 0, self.buffers[b.index()].dtype)?;
        }
        let mut states = Vec::with_capacity(self.l.states.len());
        for &(_, state, _) in &self.l.states {
            if self.elements(state) != 1 {
                return None;
            }
            let (at, dtype) = (Affine::constant(0, 1), self.buffers[state.index()].dtype);
            let from = self.lowering.load(state, dtype, &at, None, BodyCopy::FIRST)?;
            // A value of its own, which every step gives anew.
            let v = self.lowering.lir.value(kind_of(dtype));
            self.copy(v, from);
            states.push(v);
        }
        Some(states)
    }

    fn read_before(&mut self, b: BufferId, at: i64, dtype: Dtype) -> Option<()> {
        if self.written.contains(&b) || self.whole(b).is_some() {
            return Some(());
        }
        if !self.invariant.contains_key(&(b, at)) {
            let place = Affine::constant(at, 1);
            let v = self.lowering.load(b, dtype, &place, None, BodyCopy::FIRST)?;
            self.invariant.insert((b, at), v);
        }
        Some(())
    }

    /// An element of a buffer, as it is at this moment of a step.
    fn read(&mut self, b: BufferId, at: i64, dtype: Dtype) -> Option<V> {
        if let Some(&v) = self.made.get(&b) {
            return Some(v).filter(|_| at == 0);
        }
        if let Some(&v) = self.invariant.get(&(b, at)) {
            return Some(v);
        }
        // What a step writes is not read before.
        let whole = self.whole(b).filter(|_| !self.written.contains(&b))?;
        let place = self.stepped(b, at)?;
        self.lowering.load(whole, dtype, &place, None, BodyCopy::FIRST)
    }

    fn write(&mut self, b: BufferId, at: i64, dtype: Dtype, v: V) -> Option<()> {
        if self.elements(b) == 1 {
            self.made.insert(b, v);
        }
        match self.whole(b) {
            Some(whole) => {
                let place = self.stepped(b, at)?;
                self.lowering.store(v, dtype, (whole, &place), BodyCopy::FIRST, None)
            }
            None => (self.elements(b) == 1).then_some(()),
        }
    }

    /// The instructions of a nest.
    fn nest(&mut self, nest: &Nest) -> Option<()> {
        let mut values: Vec<V> = Vec::with_capacity(nest.instrs.len());
        for (n, (instr, &dtype)) in nest.instrs.iter().zip(&nest.dtypes).enumerate() {
            let v = match instr {
                Instr::Affine(at) => self.lowering.number_of(dtype, at.constant as u64),
                Instr::Load { buffer, at, checks } => match checks.iter().all(within) {
                    true => self.read(*buffer, at.constant, dtype)?,
                    false => self.lowering.number_of(dtype, 0),
                },
                Instr::LoadAt { .. } => return None,
                Instr::Const(_) | Instr::Op(..) | Instr::MulAdd { .. } => {
                    self.lowering.computed(nest, n, |_, v| values.get(v.index()).copied())?
                }
            };
            values.push(v);
        }
        for also in &nest.also {
            let (n, at) = (also.value.index(), also.at.constant);
            self.write(also.target, at, nest.dtypes[n], values[n])?;
        }
        let Write::Store(at) = &nest.write else { return None };
        let n = nest.value.index();
        self.write(nest.target, at.constant, nest.dtypes[n], values[n])
    }

    fn copied(&mut self, from: BufferId, to: BufferId) -> Option<()> {
        if self.elements(from) != 1 || self.elements(to) != 1 {
            return None;
        }
        let dtype = self.buffers[from.index()].dtype;
        let v = self.read(from, 0, dtype)?;
        self.write(to, 0, dtype, v)
    }

    /// Outputs go to memory, the next states become the states.
    fn finish(&mut self, states: &[V]) -> Option<()> {
        for &(part, whole) in &self.l.outputs {
            if self.elements(part) != 1 {
                return None;
            }
            let dtype = self.buffers[part.index()].dtype;
            let v = self.read(part, 0, dtype)?;
            let place = self.stepped(part, 0)?;
            self.lowering.store(v, dtype, (whole, &place), BodyCopy::FIRST, None)?;
        }
        // All of them are read before any is changed.
        let mut copies: SmallVec<[(V, V); 4]> = SmallVec::new();
        for (&(_, state, next), &v) in self.l.states.iter().zip(states) {
            let dtype = self.buffers[state.index()].dtype;
            let made = self.read(next, 0, dtype)?;
            if made == v {
                continue;
            }
            let between = match states.contains(&made) {
                true => {
                    let between = self.lowering.lir.value(kind_of(dtype));
                    self.copy(between, made);
                    between
                }
                false => made,
            };
            copies.push((v, between));
        }
        for (v, made) in copies {
            self.copy(v, made);
        }
        Some(())
    }

    fn copy(&mut self, to: V, from: V) {
        let lir = &mut self.lowering.lir;
        let copy = match lir.kind(to) {
            // Masks may have registers of their own.
            ValueKind::Mask | ValueKind::HalfMask => Ins::Two(Two::And, to, from, from),
            ValueKind::Wide | ValueKind::Narrow => Ins::Copy(to, from),
        };
        lir.code.push(copy);
    }
}

/// Whether a check holds at the only position.
fn within((affine, size): &(Affine, i64)) -> bool {
    (0..*size).contains(&affine.constant)
}
