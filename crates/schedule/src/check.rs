//! Whether a schedule is one: what machines rely on besides what holds for its plan.
//!
//! * **Loops.** Their order is a permutation of the dimensions, parallel ones around reduced ones, the
//!   lanes innermost among their own; each instruction is within the loops that it depends on.
//! * **Blocks.** They cover the shared dimension, which is as long in every member; what writes in the
//!   order of the indices is run by one thread.
//! * **Locals.** Buffers of a thread lie apart, and within the memory that a thread has.
//! * **Parts.** There is one for each chunk of blocks, of as many elements as the sum has, and the
//!   places of these are in the array that they go to.

use std::ops::Range;

use cotan_nest::{Buffer, BufferId, Instr, Nest, Role, Step};

use crate::contract::Contraction;
use crate::group::{Group, Local, Member, Partial};
use crate::order::LoopOrder;
use crate::routine::routine_room;
use crate::schedule::Schedule;

type R<T> = Result<T, String>;

impl Schedule {
    /// Whether the schedule keeps all invariants but those of memory plans.
    pub fn check(&self) -> R<()> {
        let checker = Checker { buffers: &self.buffers, local: self.local };
        checker.steps(&self.steps)
    }
}

struct Checker<'a> {
    buffers: &'a [Buffer],
    /// The bytes of a thread.
    local: usize,
}

/// An error unless something holds.
fn ensure(holds: bool, what: impl FnOnce() -> String) -> R<()> {
    if holds { Ok(()) } else { Err(what()) }
}

impl Checker<'_> {
    /// It recurses over the nesting of loops and branches.
    fn steps(&self, steps: &[Step<Group<LoopOrder>>]) -> R<()> {
        for (n, step) in steps.iter().enumerate() {
            let checked = match step {
                Step::Compute(group) => self.group(group),
                Step::Contract(contraction) => self.contraction(contraction, None),
                Step::Loop(l) => self.steps(&l.steps),
                Step::While(w) => self.steps(&w.before).and_then(|()| self.steps(&w.body.steps)),
                Step::If(branches) => {
                    self.steps(&branches.then).and_then(|()| self.steps(&branches.otherwise))
                }
                Step::Scalars(_) | Step::Zero(_) | Step::Copy { .. } => Ok(()),
                Step::ArgSort { .. } | Step::SegmentArg(_) => Ok(()),
                Step::Routine(step) => {
                    let needed = routine_room(step.routine, step.rows, step.columns);
                    ensure(step.needed >= needed, || format!("a routine without room: {needed}"))
                }
            };
            checked.map_err(|what| format!("step {}: {what}", n + 1))?;
        }
        Ok(())
    }

    fn buffer(&self, b: BufferId) -> R<&Buffer> {
        self.buffers.get(b.index()).ok_or_else(|| format!("there is no buffer {}", b.0))
    }

    fn group(&self, group: &Group<LoopOrder>) -> R<()> {
        let Group { extent, block, per_chunk, .. } = *group;
        ensure(block >= 1 && block <= extent.max(1), || {
            format!("blocks of {block} positions, of {extent}")
        })?;
        ensure(per_chunk >= 1, || "chunks of no blocks".to_owned())?;
        ensure(per_chunk == 1 || !group.partials.is_empty(), || {
            "chunks of several blocks without sums".to_owned()
        })?;
        ensure(!group.serial || group.partials.is_empty(), || {
            "parts of sums in a group that one thread runs".to_owned()
        })?;
        let shared = group.members.len() > 1 || block < extent;
        for member in &group.members {
            self.member(member, group, shared)?;
        }
        if let Some(relaxed) = &group.relaxed {
            ensure(relaxed.members.len() == group.members.len(), || {
                "there is not one relaxed member, or none, for each".to_owned()
            })?;
            for member in relaxed.members.iter().flatten() {
                self.member(member, group, shared)?;
            }
            relaxed.moderate.iter().try_for_each(|&b| self.buffer(b).map(drop))?;
        }
        let mut taken: Vec<(Range<usize>, u32)> = Vec::new();
        for local in &group.locals {
            taken.push((self.place(local, block)?, local.buffer.0));
        }
        for partial in &group.partials {
            self.partial(partial, group)?;
            if per_chunk > 1 {
                let size = self.buffer(partial.parts)?.dtype.size();
                let bytes = partial.spread.numel().saturating_mul(size);
                taken.push((partial.local..partial.local.saturating_add(bytes), partial.parts.0));
            }
        }
        taken.retain(|(range, _)| !range.is_empty());
        taken.sort_by_key(|(range, _)| range.start);
        for pair in taken.windows(2) {
            ensure(pair[0].0.end <= pair[1].0.start, || {
                format!("buffers {} and {} of a thread overlap", pair[0].1, pair[1].1)
            })?;
        }
        let end = taken.iter().map(|(range, _)| range.end).max().unwrap_or(0);
        ensure(end <= self.local, || format!("a thread needs {end} bytes, and has {}", self.local))
    }

    /// The bytes of a local buffer.
    fn place(&self, local: &Local, block: usize) -> R<Range<usize>> {
        let buffer = self.buffer(local.buffer)?;
        let Role::Local(at) = buffer.role else {
            return Err(format!("buffer {} is local, but has another role", local.buffer.0));
        };
        ensure(at % 8 == 0, || {
            format!("buffer {} of a thread begins at byte {at}", local.buffer.0)
        })?;
        Ok(at..at.saturating_add(local.bytes(block)))
    }

    fn partial(&self, partial: &Partial, group: &Group<LoopOrder>) -> R<()> {
        let (parts, target) = (self.buffer(partial.parts)?, self.buffer(partial.target)?);
        let (numel, chunks) = (partial.spread.numel(), group.chunks());
        ensure(parts.dtype == target.dtype, || "parts of a sum of another type".to_owned())?;
        ensure(parts.shape.numel() == chunks.saturating_mul(numel), || {
            format!("{chunks} parts of {numel} elements in {}", parts.shape.numel())
        })?;
        let ends = partial.spread.ends();
        ensure(numel == 0 || ends.0 >= 0 && ends.1 < target.shape.numel() as i128, || {
            format!("a sum goes to elements {} to {} of {}", ends.0, ends.1, target.shape.numel())
        })?;
        // Somebody makes them.
        let made = group.members.iter().any(|member| match member {
            Member::Nest(order) => order.nest.target == partial.parts,
            Member::Wedged(wedged) => {
                wedged.kernels.iter().all(|order| order.nest.target == partial.parts)
            }
            Member::Contraction(contraction) => {
                let after = contraction.after.as_ref().map(|after| after.0.nest.target);
                [Some(contraction.product.target), after].contains(&Some(partial.parts))
            }
        });
        ensure(made, || format!("nothing makes the parts in buffer {}", partial.parts.0))
    }

    fn member(&self, member: &Member<LoopOrder>, group: &Group<LoopOrder>, shared: bool) -> R<()> {
        let extent = |order: &LoopOrder| {
            let own = order.positions();
            ensure(!shared || own == group.extent, || {
                format!("a nest of {own} positions in a group of {}", group.extent)
            })
        };
        match member {
            Member::Nest(order) => {
                self.order(order)?;
                ensure(group.serial || !order.nest.write.scatters() || !shared, || {
                    "blocks of a nest that writes in the order of its indices".to_owned()
                })?;
                extent(order)
            }
            Member::Wedged(wedged) => {
                ensure(!wedged.kernels.is_empty(), || "a wedge without panels".to_owned())?;
                for order in &wedged.kernels {
                    self.order(order)?;
                    extent(order)?;
                }
                Ok(())
            }
            Member::Contraction(contraction) => self.contraction(contraction, Some(group.block)),
        }
    }

    /// A contraction, as a whole or for blocks.
    fn contraction(&self, contraction: &Contraction<LoopOrder>, block: Option<usize>) -> R<()> {
        let Contraction { finite, fallback, after, ranged, .. } = contraction;
        ensure(!finite.contains(&true) || fallback.is_some(), || {
            "a contraction of factors that may not be finite, and no other way".to_owned()
        })?;
        fallback.iter().try_for_each(|order| self.order(order))?;
        after.iter().try_for_each(|(order, _)| self.order(order))?;
        let positions = ranged.as_ref().map(|ranged| ranged.positions);
        ensure(positions.is_none_or(|positions| Some(positions) == block), || {
            format!("a contraction for {positions:?} positions in blocks of {block:?}")
        })
    }

    /// The order of a nest's loops.
    fn order(&self, order: &LoopOrder) -> R<()> {
        let LoopOrder { nest, dims, first_reduced, levels, .. } = order;
        let rank = nest.extents.len();
        let parallel = rank.saturating_sub(nest.reduced);
        let mut sorted = dims.clone();
        sorted.sort_unstable();
        ensure(sorted.iter().copied().eq(0..rank), || {
            format!("loops over dimensions {dims:?}, of {rank}")
        })?;
        let kinds =
            dims.iter().enumerate().all(|(n, &dim)| (n >= *first_reduced) == (dim >= parallel));
        ensure(kinds && *first_reduced == parallel, || {
            format!("loops {dims:?}, of which those from {first_reduced} on reduce")
        })?;
        let innermost = |lane: usize| lane + 1 == *first_reduced || lane + 1 == rank;
        ensure(order.lane_loop.is_none_or(innermost), || {
            format!("lanes in loop {:?} of {rank}, {parallel} parallel", order.lane_loop)
        })?;
        // In order, nothing that is summed over is on lanes.
        ensure(parallel == 0 || order.lane_loop.is_some(), || "loops without lanes".to_owned())?;
        ensure(order.block < rank.max(1), || format!("blocks of loop {}", order.block))?;
        self.levels(nest, dims, levels)?;
        let Some((a, b)) = order.product else { return Ok(()) };
        let float = nest.dtypes[nest.value.index()].is_float();
        let known = a.index() < nest.instrs.len() && b.index() < nest.instrs.len();
        ensure(float && known, || "a product that is none".to_owned())
    }

    /// Each instruction is within the loops that it depends on.
    fn levels(&self, nest: &Nest, dims: &[usize], levels: &[usize]) -> R<()> {
        ensure(levels.len() == nest.instrs.len(), || {
            "there is not one level for each instruction".to_owned()
        })?;
        for (n, instr) in nest.instrs.iter().enumerate() {
            let within = |at: &cotan_nest::Affine| {
                dims.iter().enumerate().all(|(k, &dim)| at.coeffs[dim] == 0 || levels[n] > k)
            };
            let mut holds = match instr {
                Instr::Affine(at) => within(at),
                Instr::Load { at, checks, .. } => {
                    within(at) && checks.iter().all(|(check, _)| within(check))
                }
                Instr::Const(_) | Instr::LoadAt { .. } | Instr::Op(..) | Instr::MulAdd { .. } => {
                    true
                }
            };
            instr.for_each_operand(|v| holds &= levels[v.index()] <= levels[n]);
            ensure(holds && levels[n] <= dims.len(), || {
                format!("%{n} is in {} loops, and depends on others", levels[n])
            })?;
        }
        Ok(())
    }
}
