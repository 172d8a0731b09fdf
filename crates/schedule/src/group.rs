//! Groups: nests that run block by block over a dimension that they share.
//!
//! The transform to bulk operations makes many arrays of the same rows. Nests that compute row $i$
//! of one from row $i$ of others need not wait for each other's last row: they are run for a block
//! of rows, then for the next. What they hand to each other is then still in the cache, and if
//! nobody else reads it, there is memory only for the block at hand. Blocks are also what threads
//! share among each other.
//!
//! The blocks depend on shapes alone, and sums over the shared dimension are taken for each block
//! and then added up in the order of the blocks: results do not depend on the number of threads.

mod close;
mod join;
mod merge;
mod partial;
mod relax;
mod rows;
mod size;
mod stream;
mod wedge;

use cotan_nest::{
    Branches, Buffer, BufferId, Compute, Instr, Loop, Nest, Packed, Step, Touches, Val, WhileStep,
    Write,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::contract::Contraction;
use crate::lower::{R, Unsupported, look, row_major};
use crate::order::LoopOrder;
use crate::target::Target;
pub(crate) use close::GROUP_PASSES;
use join::{GroupItem, Joining, Open, SharedDims};
pub use partial::{Partial, Spread};
pub use relax::{Relaxed, largest};
pub use wedge::{Wedge, Wedged};

/// Nests that are run block by block, by kernels of some kind.
#[derive(Debug)]
pub struct Group<K> {
    /// What is run for each block, in this order.
    pub members: Vec<Member<K>>,
    /// How many positions the shared dimension has.
    pub extent: usize,
    /// How many positions a block has.
    pub block: usize,
    /// How many blocks are run one after the other, and add their sums to each other's.
    pub per_chunk: usize,
    /// Whether the blocks must be run in order, by one thread.
    pub serial: bool,
    /// Buffers that hold a block only.
    pub locals: Vec<Local>,
    /// Sums over the shared dimension.
    pub partials: Vec<Partial>,
    /// Every buffer that the nests touch.
    pub buffers: Vec<BufferId>,
    /// What a position costs, in element operations.
    pub cost: usize,
    /// What to run instead where the arrays allow it.
    pub relaxed: Option<Relaxed<K>>,
}

/// What is run for each block.
#[derive(Debug)]
pub enum Member<K> {
    /// A nest.
    Nest(Box<K>),
    /// A sum of products.
    Contraction(Box<Contraction<K>>),
    /// A nest of which only the positions of a wedge count.
    Wedged(Box<Wedged<K>>),
}

impl<K> Member<K> {
    /// The same with other kernels.
    pub fn map<L>(self, f: &mut impl FnMut(K) -> L) -> Member<L> {
        match self {
            Member::Nest(kernel) => Member::Nest(Box::new(f(*kernel))),
            Member::Contraction(contraction) => Member::Contraction(Box::new(contraction.map(f))),
            Member::Wedged(wedged) => Member::Wedged(Box::new(wedged.map(f))),
        }
    }
}

/// A buffer that every thread has for itself.
#[derive(Debug)]
pub struct Local {
    /// The buffer.
    pub buffer: BufferId,
    /// The bytes from an element to that of the next position.
    pub stride: usize,
    /// The bytes of all elements of a position.
    row: usize,
    /// Bytes besides.
    fixed: usize,
}

impl Local {
    /// How many bytes it has for blocks of so many positions.
    pub(crate) fn bytes(&self, block: usize) -> usize {
        self.row * block + self.fixed
    }
}

impl<K> Default for Group<K> {
    fn default() -> Group<K> {
        Group {
            members: Vec::new(),
            extent: 1,
            block: 1,
            per_chunk: 1,
            serial: false,
            locals: Vec::new(),
            partials: Vec::new(),
            buffers: Vec::new(),
            cost: 0,
            relaxed: None,
        }
    }
}

impl<K> Group<K> {
    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.extent.div_ceil(self.block.max(1)).max(1)
    }

    /// How many chunks of blocks there are.
    pub fn chunks(&self) -> usize {
        self.blocks().div_ceil(self.per_chunk)
    }

    /// The same with other kernels.
    pub fn map<L>(self, f: &mut impl FnMut(K) -> L) -> Group<L> {
        let Group { extent, block, per_chunk, serial, locals, partials, buffers, cost, .. } = self;
        let members = self.members.into_iter().map(|member| member.map(f)).collect();
        let relaxed = self.relaxed.map(|Relaxed { moderate, members }| {
            let members = members.into_iter().map(|member| member.map(|member| member.map(f)));
            Relaxed { moderate, members: members.collect() }
        });
        Group {
            members,
            extent,
            block,
            per_chunk,
            serial,
            locals,
            partials,
            buffers,
            cost,
            relaxed,
        }
    }
}

impl Compute for Group<LoopOrder> {
    type Contract = Contraction<LoopOrder>;
    type Scalars = Packed;
    type LoopSchedule = LoopSchedule;
}

/// How a loop is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoopSchedule {
    /// If all steps are run for some rows before others: how many rows. There is one group then.
    pub stream: Option<usize>,
}

impl<K> Touches for Group<K> {
    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        self.partials.iter().for_each(|partial| f(partial.target));
        self.buffers.iter().copied().for_each(f);
    }
}

/// A group whose nests have the order of their loops.
pub(crate) type Ordered = Group<LoopOrder>;

/// Groups the nests of a plan. Gives the bytes that each thread needs for itself, too.
pub(crate) fn group_nests(
    steps: Vec<Step<Nest>>,
    buffers: &mut Vec<Buffer>,
    in_order: bool,
    target: &Target,
) -> R<(Vec<Step<Ordered>>, usize)> {
    let (mut touches, mut outside) = (vec![0u32; buffers.len()], vec![false; buffers.len()]);
    for step in &steps {
        let packed = matches!(step, Step::Scalars(_));
        step.for_each_buffer(&mut |b| {
            touches[b.index()] += 1;
            outside[b.index()] |= !packed;
        });
    }
    let mut scheduler = Scheduler { buffers, touches, outside, in_order, target, local: 0 };
    let steps = scheduler.list(steps)?;
    Ok((steps, scheduler.local))
}

struct Scheduler<'a> {
    buffers: &'a mut Vec<Buffer>,
    /// How often buffers are named in the whole plan.
    touches: Vec<u32>,
    /// Which of them other steps than packed operations name.
    outside: Vec<bool>,
    in_order: bool,
    target: &'a Target,
    /// The bytes that a thread needs for itself so far.
    local: usize,
}

enum Slot {
    Open(Box<Open>),
    Other(Step<Ordered>),
}

/// The steps of a list in their new order.
///
/// Slot $s$ is place $2s + 1$, and what is run before it is place $2s$: small nests that nothing
/// holds up, so that what needs them can still join a group that was there before them.
#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    before: FxHashMap<usize, Vec<Step<Ordered>>>,
    /// The last place where each buffer is written, and where it is read.
    written: FxHashMap<BufferId, usize>,
    read: FxHashMap<BufferId, usize>,
}

impl Slots {
    /// The first place for an item: where what it needs was written, and where what it writes was
    /// read for the last time.
    fn earliest(&self, item: &GroupItem) -> usize {
        let mut earliest = self.read.get(&item.target()).copied().unwrap_or(0);
        item.for_each_buffer(&mut |b| {
            earliest = earliest.max(self.written.get(&b).copied().unwrap_or(0));
        });
        earliest
    }

    /// Puts an item to the group of a slot, and says at which place that is.
    fn take(&mut self, item: GroupItem, (slot, ways): (usize, Vec<SharedDims>)) -> usize {
        if let Slot::Open(open) = &mut self.slots[slot] {
            open.take(item, ways);
        }
        2 * slot + 1
    }

    /// Notes at which place the buffers of an item are touched.
    fn note(&mut self, buffers: &[BufferId], target: BufferId, place: usize) {
        for &b in buffers.iter().filter(|&&b| b != target) {
            let last = self.read.entry(b).or_default();
            *last = (*last).max(place);
        }
        let last = self.written.entry(target).or_default();
        *last = (*last).max(place);
    }
}

impl Scheduler<'_> {
    /// Groups the nests of a list of steps. A nest goes to the first group that may take it and
    /// comes after what it needs; other steps keep their order.
    fn list(&mut self, steps: Vec<Step<Nest>>) -> R<Vec<Step<Ordered>>> {
        let mut slots = Slots::default();
        for step in steps {
            look()?;
            let other = match step {
                // What stores several things keeps its place.
                Step::Compute(nest) if !nest.also.is_empty() => {
                    let mut touched = Vec::new();
                    nest.for_each_buffer(&mut |b| touched.push(b));
                    touched.sort_unstable();
                    touched.dedup();
                    Step::Compute(Box::new(self.alone(*nest, touched, &|_| false)?))
                }
                Step::Compute(nest) => {
                    self.item(GroupItem::Nest(*nest), &mut slots)?;
                    continue;
                }
                Step::Contract(draft) => {
                    self.item(GroupItem::Draft(draft), &mut slots)?;
                    continue;
                }
                Step::Loop(l) => {
                    let mut l = self.repeated(*l)?;
                    l.schedule.stream = self.stream(&l);
                    Step::Loop(Box::new(l))
                }
                Step::While(w) => {
                    let before = self.list(w.before)?;
                    let body = self.repeated(w.body)?;
                    let (bound, condition) = (w.bound, w.condition);
                    Step::While(Box::new(WhileStep { bound, before, condition, body }))
                }
                Step::If(branches) => {
                    let Branches { condition, then, otherwise } = *branches;
                    let (then, otherwise) = (self.list(then)?, self.list(otherwise)?);
                    Step::If(Box::new(Branches { condition, then, otherwise }))
                }
                Step::Scalars(packed) => Step::Scalars(packed),
                Step::Zero(b) => Step::Zero(b),
                Step::Copy { from, to } => {
                    if self.copy_along(from, to, &mut slots) {
                        continue;
                    }
                    Step::Copy { from, to }
                }
                Step::ArgSort { from, to, room } => Step::ArgSort { from, to, room },
                Step::SegmentArg(step) => Step::SegmentArg(step),
                Step::Routine(step) => Step::Routine(step),
            };
            let place = 2 * slots.slots.len() + 1;
            // What only packed operations touch is in nobody's way, and there may be very much of it.
            let packed = matches!(other, Step::Scalars(_));
            other.for_each_buffer(&mut |b| {
                if !packed || self.outside[b.index()] {
                    slots.written.insert(b, place);
                }
            });
            slots.slots.push(Slot::Other(other));
        }
        let Slots { slots, mut before, written, .. } = slots;
        let mut done = Vec::with_capacity(slots.len());
        for (n, slot) in slots.into_iter().enumerate() {
            look()?;
            done.append(&mut before.remove(&n).unwrap_or_default());
            done.push(match slot {
                Slot::Other(step) => step,
                Slot::Open(open) => {
                    // Other parts of an array may be written later.
                    let filled = |b| written.get(&b).is_none_or(|&place| place < 2 * n + 1);
                    self.close(*open, &filled)?
                }
            });
        }
        Ok(done)
    }

    fn repeated(&mut self, l: Loop<Nest>) -> R<Loop<Ordered>> {
        let steps = self.list(l.steps)?;
        let schedule = LoopSchedule::default();
        let Loop { length, reverse, states, exchanged, inputs, outputs, collected, .. } = l;
        Ok(Loop { length, reverse, states, exchanged, inputs, outputs, collected, steps, schedule })
    }

    /// Puts an item to its place.
    fn item(&mut self, item: GroupItem, slots: &mut Slots) -> R<()> {
        // Every array is countable, but a sum inside a sum may go through more than one array has.
        if i64::try_from(item.positions()).is_err() {
            return Err(Unsupported("a loop nest of more positions than can be counted"));
        }
        let mut buffers: SmallVec<[BufferId; 8]> = SmallVec::new();
        item.for_each_buffer(&mut |b| buffers.push(b));
        let (target, earliest) = (item.target(), slots.earliest(&item));
        let place = self.place(item, earliest, slots)?;
        slots.note(&buffers, target, place);
        Ok(())
    }

    /// Lets a group copy an array that goes through it anyway, if there is one.
    fn copy_along(&self, from: BufferId, to: BufferId, slots: &mut Slots) -> bool {
        let [source, target] = [from, to].map(|b| &self.buffers[b.index()]);
        if source.shape != target.shape || source.dtype != target.dtype {
            return false;
        }
        let dims = source.shape.dims();
        let at = row_major(dims, 0..dims.len(), dims.len());
        let nest = Nest {
            extents: dims.to_vec(),
            reduced: 0,
            instrs: vec![Instr::Load { buffer: from, at: at.clone(), checks: Vec::new() }],
            dtypes: vec![source.dtype],
            value: Val(0),
            target: to,
            write: Write::Store(at),
            also: Vec::new(),
            source: None,
        };
        let item = GroupItem::Nest(nest);
        let earliest = slots.earliest(&item);
        let Some(group) = self.group_for(&item, earliest, slots) else { return false };
        let place = slots.take(item, group);
        slots.note(&[to, from], to, place);
        true
    }

    /// The first group from `earliest` on that may take an item: its slot, and the ways that are left.
    fn group_for(
        &self,
        item: &GroupItem,
        earliest: usize,
        slots: &Slots,
    ) -> Option<(usize, Vec<SharedDims>)> {
        let joining = self.joining();
        let near =
            slots.slots.iter().enumerate().skip(earliest / 2).take(self.target.search.group_tries);
        near.filter_map(|(n, slot)| match slot {
            Slot::Open(open) => Some((n, joining.together(open, item)?)),
            Slot::Other(_) => None,
        })
        .next()
    }

    fn joining(&self) -> Joining<'_> {
        Joining { buffers: self.buffers, in_order: self.in_order, target: self.target }
    }

    /// Puts an item to a place from `earliest` on, and says which.
    fn place(&mut self, item: GroupItem, earliest: usize, slots: &mut Slots) -> R<usize> {
        let large = item.positions() >= self.target.thresholds.min_group_positions;
        let adds = item.main().write.scatters();
        if large
            && !adds
            && let Some(group) = self.group_for(&item, earliest, slots)
        {
            return Ok(slots.take(item, group));
        }
        let joining = self.joining();
        // A group of its own: what it needs is in slots before.
        let ways = if large { joining.alone(&item) } else { Vec::new() };
        let next = earliest.div_ceil(2);
        let cost = item.positions().saturating_mul(item.main().instrs.len());
        let mut open = Open::default();
        open.take(item, ways);
        if cost <= self.target.thresholds.max_early_operations && next < slots.slots.len() && !adds
        {
            let step = self.close(open, &|_| false)?;
            slots.before.entry(next).or_default().push(step);
            return Ok(2 * next);
        }
        slots.slots.push(Slot::Open(Box::new(open)));
        Ok(2 * slots.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use cotan_array::{Dtype, Shape};
    use cotan_nest::{Affine, Role};

    use super::*;

    /// The sum of ones over a space, as a plan.
    fn planned(extents: &[usize]) -> R<usize> {
        let shape = Shape::scalar();
        let mut buffers = vec![Buffer::new(Dtype::F64, shape, Role::Output)];
        let nest = Nest {
            extents: extents.to_vec(),
            reduced: extents.len(),
            instrs: vec![Instr::Const(1.0f64.to_bits())],
            dtypes: vec![Dtype::F64],
            value: Val(0),
            target: BufferId(0),
            write: Write::Sum(Affine::constant(0, extents.len())),
            also: Vec::new(),
            source: None,
        };
        let steps = vec![Step::Compute(Box::new(nest))];
        group_nests(steps, &mut buffers, false, &Target::portable()).map(|(steps, _)| steps.len())
    }

    #[test]
    fn a_space_that_cannot_be_counted_has_no_plan() {
        assert_eq!(planned(&[1 << 31, 1 << 31]), Ok(1));
        assert_eq!(planned(&[1 << 40, 1 << 40, 0]), Ok(1));
        assert!(planned(&[1 << 40, 1 << 40]).is_err());
    }
}
