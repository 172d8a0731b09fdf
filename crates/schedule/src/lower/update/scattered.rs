//! Scatters that are added to a version of a state.
//!
//! $$s'_j = v_j + \sum_{k \,:\, p_k = j} c_k$$
//!
//! As it comes, the sum over $k$ is an array of its own, which is zeroed, added to and read at every
//! position. The $c_k$ are added to $s'$ itself instead, once it has the $v_j$: if these change few
//! elements, so does all of it, however many $k$ there are. Sums are rounded in another order then.

use cotan_array::Shape;
use cotan_ir::Type;
use cotan_ir::scalar::Op;
use cotan_nest::{BufferId, Component, Instr, Nest, Role, Step, Val, Write};
use smallvec::SmallVec;

use super::super::Lowering;
use super::super::part::needed;
use super::regional::row_major;
use super::{touches, writes};

impl Lowering<'_> {
    /// Adds what is scattered where it is added, wherever a step of a loop adds it to an array as
    /// large. What is `kept` is needed after the step.
    pub(super) fn scatter_in_place(&mut self, kept: &[BufferId], steps: &mut Vec<Step<Nest>>) {
        let mut at = 0;
        while at < steps.len() {
            let summand = self.scattered_summand(at, steps);
            let summand = summand.filter(|(summand, _)| !kept.contains(summand));
            let moved =
                summand.and_then(|(summand, rest)| self.add_where_it_is(at, summand, rest, steps));
            // The nest may have another such summand.
            at = moved.unwrap_or(at + 1);
        }
    }

    /// An array that a nest adds up with others, all of it, and which is there for nothing else: it is
    /// zeroed and scattered to. With the nest that has all but this summand.
    fn scattered_summand(&self, at: usize, steps: &[Step<Nest>]) -> Option<(BufferId, Nest)> {
        let Step::Compute(nest) = &steps[at] else { return None };
        let Write::Store(place) = &nest.write else { return None };
        if nest.reduced > 0 || !nest.also.is_empty() {
            return None;
        }
        let positions = nest.extents.iter().fold(1usize, |n, &k| n.saturating_mul(k));
        let numel = |b: BufferId| self.buffers[b.index()].shape.numel();
        if positions != numel(nest.target) {
            return None;
        }
        let mut uses = vec![0usize; nest.instrs.len()];
        nest.for_each_written(|v| uses[v.index()] += 1);
        for instr in &nest.instrs {
            instr.for_each_operand(|v| uses[v.index()] += 1);
        }
        // The sums that lead to the value and are used for nothing else.
        let mut sums: SmallVec<[Val; 8]> = SmallVec::from_slice(&[nest.value]);
        while let Some(sum) = sums.pop() {
            let Instr::Op(Op::Add, args) = &nest.instrs[sum.index()] else { continue };
            if uses[sum.index()] != 1 {
                continue;
            }
            for (summand, other) in [(args[0], args[1]), (args[1], args[0])] {
                if let Instr::Load { buffer, at: read, checks } = &nest.instrs[summand.index()]
                    && read == place
                    && checks.is_empty()
                    && uses[summand.index()] == 1
                    && numel(*buffer) == positions
                    && is_scattered(*buffer, at, steps)
                    && matches!(self.buffers[buffer.index()].role, Role::Temporary(_))
                {
                    let rest = without(nest, sum, other);
                    if !rest.reads(|b| b == *buffer) {
                        return Some((*buffer, rest));
                    }
                }
            }
            sums.extend(args.iter().copied());
        }
        None
    }

    /// Lets the nests that scatter to a summand scatter to the sum, after the nest without it, whose
    /// place it gives. Changes nothing where that cannot be.
    fn add_where_it_is(
        &mut self,
        at: usize,
        summand: BufferId,
        rest: Nest,
        steps: &mut Vec<Step<Nest>>,
    ) -> Option<usize> {
        let target = rest.target;
        let mut places: SmallVec<[(usize, Option<Vec<Nest>>); 2]> = SmallVec::new();
        for (n, step) in steps[..at].iter().enumerate() {
            match step {
                Step::Zero(b) if *b == summand => places.push((n, None)),
                Step::Compute(nest) if nest.target == summand => {
                    places.push((n, Some(self.scattered_to(nest, target)?)));
                }
                _ => {}
            }
        }
        // What scatters comes right after the rest of the sum, what it needs stays where it was.
        let mut after: Vec<Nest> = Vec::new();
        let mut edits: Vec<(usize, Vec<Step<Nest>>)> = Vec::new();
        for (n, nests) in places {
            let mut before = nests.unwrap_or_default();
            after.extend(before.pop());
            let before = before.into_iter().map(|nest| Step::Compute(Box::new(nest)));
            edits.push((n, before.collect()));
        }
        let place = at + edits.iter().map(|edit| edit.1.len()).sum::<usize>() - edits.len();
        let all = std::iter::once(rest).chain(after);
        edits.push((at, all.map(|nest| Step::Compute(Box::new(nest))).collect()));
        for (n, made) in edits.into_iter().rev() {
            steps.splice(n..=n, made);
        }
        Some(place)
    }

    /// A nest that scatters, to another array of the same size: nests that compute what it adds and
    /// where, if that is read from an array of that size, and last the one that adds. Between the two
    /// a state may change, which all versions of it share the memory of.
    fn scattered_to(&mut self, nest: &Nest, target: BufferId) -> Option<Vec<Nest>> {
        if nest.reduced > 0 || !nest.also.is_empty() {
            return None;
        }
        let numel = |b: BufferId| self.buffers[b.index()].shape.numel();
        let sized: Vec<bool> = nest
            .instrs
            .iter()
            .map(|instr| match instr {
                Instr::Load { buffer, .. } | Instr::LoadAt { buffer, .. } => {
                    numel(*buffer) == numel(target)
                }
                Instr::Const(_) | Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => false,
            })
            .collect();
        let place = row_major(&nest.extents)?;
        let shape = Shape::new("part", &nest.extents).ok()?;
        let mut adding = Nest { target, ..nest.clone() };
        let mut nests = Vec::new();
        let mut before = |this: &mut Self, adding: &mut Nest, v: Val| {
            let dtype = nest.dtypes[v.index()];
            let to = this.temporary(&Type::new(dtype, shape.clone()));
            let computed =
                Nest { value: v, target: to, write: Write::Store(place.clone()), ..nest.clone() };
            nests.push(computed.without_dead());
            adding.instrs.push(Instr::Load { buffer: to, at: place.clone(), checks: Vec::new() });
            adding.dtypes.push(dtype);
            Val((adding.instrs.len() - 1) as u32)
        };
        if depends(nest, nest.value, &sized) {
            adding.value = before(self, &mut adding, nest.value);
        }
        let write = match &nest.write {
            Write::AddAt(index) => {
                let mut moved: Vec<Component> = index.clone();
                for component in moved.iter_mut().filter(|c| depends(nest, c.value, &sized)) {
                    component.value = before(self, &mut adding, component.value);
                }
                Write::AddAt(moved)
            }
            other => other.clone(),
        };
        adding.write = write;
        nests.push(adding.without_dead());
        Some(nests)
    }
}

/// Whether an array is made by zeroing it and adding to places of it, before a step that is all there
/// is to read it.
fn is_scattered(buffer: BufferId, reader: usize, steps: &[Step<Nest>]) -> bool {
    let (mut zeroed, mut added) = (false, false);
    for (n, step) in
        steps.iter().enumerate().filter(|(n, step)| *n != reader && touches(step, buffer))
    {
        match step {
            Step::Zero(b) if *b == buffer && !zeroed && !added => zeroed = true,
            Step::Compute(nest)
                if zeroed
                    && n < reader
                    && writes(step, buffer)
                    && matches!(nest.write, Write::Add { .. } | Write::AddAt(_))
                    && !nest.reads(|b| b == buffer) =>
            {
                added = true;
            }
            _ => return false,
        }
    }
    zeroed && added
}

/// The nest with one operand of a sum in the place of the sum.
fn without(nest: &Nest, sum: Val, operand: Val) -> Nest {
    let mut rest = nest.clone();
    for instr in &mut rest.instrs {
        instr.for_each_operand_mut(|v| {
            if *v == sum {
                *v = operand;
            }
        });
    }
    if rest.value == sum {
        rest.value = operand;
    }
    rest.without_dead()
}

/// Whether a value depends on one of the marked instructions.
fn depends(nest: &Nest, v: Val, marked: &[bool]) -> bool {
    let needed = needed(nest, std::iter::once(v));
    needed.iter().zip(marked).any(|(&needed, &marked)| needed && marked)
}

/// Whether a step adds to places of an array, where it lies.
pub(super) fn adds_to_places(step: &Step<Nest>, buffer: BufferId) -> bool {
    match step {
        Step::Compute(nest) => nest.target == buffer && nest.write.scatters(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use cotan_array::Dtype;
    use cotan_nest::Affine;

    use super::*;

    #[test]
    fn a_summand_is_taken_out_of_a_sum() {
        let load = |b: u32| Instr::Load {
            buffer: BufferId(b),
            at: Affine::index(0, 1),
            checks: Vec::new(),
        };
        let op = |op, a: u32, b: u32| Instr::Op(op, SmallVec::from_slice(&[Val(a), Val(b)]));
        let nest = Nest {
            extents: vec![8],
            reduced: 0,
            // (a + b) + a * a
            instrs: vec![load(0), load(1), op(Op::Add, 0, 1), op(Op::Mul, 0, 0), op(Op::Add, 2, 3)],
            dtypes: vec![Dtype::F64; 5],
            value: Val(4),
            target: BufferId(2),
            write: Write::Store(Affine::index(0, 1)),
            also: Vec::new(),
            source: None,
        };
        let rest = without(&nest, Val(2), Val(0));
        assert_eq!(rest.instrs, [load(0), op(Op::Mul, 0, 0), op(Op::Add, 0, 1)]);
        let marked = [false, true, false, false, false];
        assert!(depends(&nest, Val(4), &marked) && !depends(&nest, Val(3), &marked));
    }
}
