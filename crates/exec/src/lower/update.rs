//! States of loops of which a step changes a part.
//!
//! $$s'_{i \dots} = s_{i \dots} + [i = k]\, v_{\dots}$$
//!
//! is an addition to part $k$ of the state, where it lies: the rest is neither read nor written. The
//! sign of a zero is kept if the state begins without negative zeros, as a sum is $-0$ only if both
//! summands are.

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{TermId, Type};
use smallvec::{SmallVec, smallvec};

use super::Lowering;
use super::part::Part;
use super::product::{Dims, dims_of};
use crate::nest::{Affine, BufferId, Component, Instr, Nest, Val, Write};
use crate::plan::{Role, Step};

/// A state has at least so many parts for each that is changed.
const PARTS: usize = 8;

/// Where each state begins, where it is, and where the step puts the next.
type States = [(BufferId, BufferId, BufferId)];

/// A sum of the state and of something that is 0 but for a part of it.
struct Update {
    /// The axes along which the part is at one position, and these positions.
    at: SmallVec<[(usize, Val); 2]>,
    value: Val,
}

impl Lowering<'_> {
    /// Changes states where they lie, wherever a step adds to a part of them. What a step gives of
    /// such a state besides is copied before.
    pub(super) fn update_in_place(
        &mut self,
        states: &mut States,
        init: &[TermId],
        outputs: &mut [(BufferId, BufferId)],
        steps: &mut Vec<Step<Nest>>,
    ) {
        let all: SmallVec<[BufferId; 4]> = states.iter().map(|s| s.1).collect();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (k, &init) in init.iter().enumerate() {
            let (_, state, next) = states[k];
            let elsewhere = outputs.iter().any(|o| o.0 == next)
                || states.iter().filter(|s| s.0 == next || s.2 == next).count() != 1;
            let made = matches!(self.buffers[next.index()].role, Role::Temporary(_));
            if state == next || elsewhere || !made || self.in_order && !self.begins_positive(init) {
                continue;
            }
            let Some(place) = only_user(steps, next) else { continue };
            let Step::Compute(nest) = &steps[place] else { continue };
            let Some(update) = Update::of(nest, state) else { continue };
            let Some((part, add)) = self.parts_of(nest, &update, state, &all) else { continue };
            match part {
                Some(part) => steps[place] = Step::Compute(Box::new(part)),
                None => drop(steps.remove(place)),
            }
            after.push(Step::Compute(Box::new(add)));
            states[k].2 = state;
            for output in outputs.iter_mut().filter(|o| o.0 == state) {
                let copy = self.buffers[state.index()].clone();
                self.buffers.push(copy);
                output.0 = BufferId((self.buffers.len() - 1) as u32);
                before.push(Step::Copy { from: state, to: output.0 });
            }
        }
        steps.splice(0..0, before);
        steps.extend(after);
    }

    /// Whether an array is known to have no negative zeros.
    fn begins_positive(&self, t: TermId) -> bool {
        match self.uniform(t) {
            Some(Scalar::F64(x)) => x != 0.0 || x.is_sign_positive(),
            Some(Scalar::F32(x)) => x != 0.0 || x.is_sign_positive(),
            Some(_) => true,
            None => false,
        }
    }

    /// The nest that computes what is added, unless it is a read, and the nest that adds it. The
    /// latter comes last, so it must not read states.
    fn parts_of(
        &mut self,
        nest: &Nest,
        update: &Update,
        state: BufferId,
        states: &[BufferId],
    ) -> Option<(Option<Nest>, Nest)> {
        let Write::Store(place) = &nest.write else { return None };
        let fixed = |dim: &usize| update.at.iter().any(|(axis, _)| axis == dim);
        let dims: Vec<usize> = (0..nest.extents.len()).filter(|dim| !fixed(dim)).collect();
        let extents: Vec<usize> = dims.iter().map(|&dim| nest.extents[dim]).collect();
        let dtype = nest.dtypes[nest.value.index()];
        let positions = update.at.iter().map(|p| p.1);
        let read = match &nest.instrs[update.value.index()] {
            Instr::Load { buffer, .. } => !states.contains(buffer),
            _ => false,
        };
        let values = positions.clone().chain(read.then_some(update.value));
        let mut add = Part::new(nest.source);
        let mut values = add.take(nest, &dims, values)?;
        if add.reads(states) {
            return None;
        }
        let mut part = None;
        if !read {
            let mut at = Affine::constant(0, dims.len());
            let mut stride = 1i64;
            for (n, &k) in extents.iter().enumerate().rev() {
                at.coeffs[n] = stride;
                stride = stride.checked_mul(i64::try_from(k).ok()?)?;
            }
            let shape = cotan_array::Shape::new("part", &extents).ok()?;
            let to = self.temporary(&Type::new(dtype, shape));
            let mut compute = Part::new(nest.source);
            let computed = compute.take(nest, &dims, std::iter::once(update.value))?;
            let value = *computed.first()?;
            part = Some(compute.finish(extents.clone(), value, to, Write::Store(at.clone())));
            let load = Instr::Load { buffer: to, at, checks: Vec::new() };
            values.push(add.push(load, dtype));
        }
        let value = values.pop()?;
        let mut index: Vec<Component> = Vec::with_capacity(nest.extents.len());
        for (&(axis, _), &value) in update.at.iter().zip(&values) {
            index.push(Component { value, size: nest.extents[axis], stride: place.coeffs[axis] });
        }
        for (n, &dim) in dims.iter().enumerate() {
            let own = add.push(Instr::Affine(Affine::index(n, dims.len())), Dtype::I64);
            let (size, stride) = (nest.extents[dim], place.coeffs[dim]);
            index.push(Component { value: own, size, stride });
        }
        Some((part, add.finish(extents, value, state, Write::AddAt(index))))
    }
}

/// The only step that touches a buffer.
fn only_user(steps: &[Step<Nest>], buffer: BufferId) -> Option<usize> {
    let touches = |step: &Step<Nest>| {
        let mut found = false;
        step.for_each_buffer(&mut |b| found |= b == buffer);
        found
    };
    let mut users = steps.iter().enumerate().filter(|(_, step)| touches(step)).map(|(n, _)| n);
    users.next().filter(|_| users.next().is_none())
}

impl Update {
    /// A nest as an addition to parts of a state.
    fn of(nest: &Nest, state: BufferId) -> Option<Update> {
        let Write::Store(place) = &nest.write else { return None };
        let instr = |v: Val| &nest.instrs[v.index()];
        let is_state = |v: Val| match instr(v) {
            Instr::Load { buffer, at, checks } => {
                *buffer == state && at == place && checks.is_empty()
            }
            _ => false,
        };
        let Instr::Op(Op::Add, args) = instr(nest.value) else { return None };
        let change = match args[..] {
            [x, y] if is_state(x) => y,
            [x, y] if is_state(y) => x,
            _ => return None,
        };
        let Instr::Op(Op::Select, args) = instr(change) else { return None };
        let &[mask, value, other] = &args[..] else { return None };
        if !matches!(instr(other), Instr::Const(0)) || place.constant != 0 {
            return None;
        }
        let dims: Vec<Dims> = dims_of(nest);
        let mut at: SmallVec<[(usize, Val); 2]> = SmallVec::new();
        let mut open: SmallVec<[Val; 4]> = smallvec![mask];
        while let Some(p) = open.pop() {
            match instr(p) {
                Instr::Op(Op::And, args) if open.len() < nest.extents.len() => {
                    open.extend(args.iter().copied())
                }
                Instr::Op(Op::Eq, args) => {
                    let index = |v: Val| match instr(v) {
                        Instr::Affine(affine) => the_index(affine),
                        _ => None,
                    };
                    let (axis, position) = match args[..] {
                        [i, k] if index(i).is_some() && dims[k.index()] == 0 => (index(i)?, k),
                        [k, i] if index(i).is_some() && dims[k.index()] == 0 => (index(i)?, k),
                        _ => return None,
                    };
                    if at.iter().any(|known| known.0 == axis) {
                        return None;
                    }
                    at.push((axis, position));
                }
                _ => return None,
            }
        }
        let parts = at.iter().fold(1usize, |n, p| n.saturating_mul(nest.extents[p.0]));
        (parts >= PARTS).then_some(Update { at, value })
    }
}

/// The dimension whose index this is.
fn the_index(affine: &Affine) -> Option<usize> {
    let dim = affine.coeffs.iter().position(|&c| c != 0)?;
    (*affine == Affine::index(dim, affine.coeffs.len())).then_some(dim)
}
