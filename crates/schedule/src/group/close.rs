//! The schedule of a group: what its nests are run as, its memory and its blocks.

use cotan_nest::{Buffer, BufferId, Draft, Nest, Role, Step};
use rustc_hash::{FxHashMap, FxHashSet};

use super::join::{GroupItem, Open, SharedDims};
use super::merge::{Shared, merge};
use super::relax::{Relaxed, Relaxing};
use super::rows::{Rows, compact};
use super::wedge::{PanelShape, Wedge, Wedged, wedges};
use super::{Group, Local, Member, Ordered, Scheduler, size};
use crate::contract::{Cut, Cuts};
use crate::lower::{R, Unsupported};
use crate::order::{LoopOrder, least_cost};
use crate::target::Gains;

/// A draft is made of what is a contraction, and stays one when it is cut: places of fewer positions
/// are within the buffers if all are. The nest that it stands for would be no way out, as what that
/// reads may not be kept.
const NO_CONTRACTION: Unsupported = Unsupported("a contraction that was none in the end");

/// Whether an array is complete before a group is run.
pub(super) type Filled<'a> = &'a dyn Fn(BufferId) -> bool;

/// A group whose nests are known and share a dimension, while its schedule is being filled.
pub(super) struct Closing<'a> {
    /// What is run for each block, and the dimension of each that is shared.
    pub items: Vec<Shared>,
    /// The rows of the buffers that are written.
    pub rows: FxHashMap<BufferId, Rows>,
    /// The positions that count of each item, where that is not all of them.
    pub wedges: Vec<Option<Wedge>>,
    /// The schedule.
    pub group: Ordered,
    filled: Filled<'a>,
}

/// A pass that decides something about a group.
pub(crate) struct GroupPass {
    /// What it decides, in one line.
    pub name: &'static str,
    run: fn(&mut Scheduler<'_>, &mut Closing<'_>) -> R<()>,
}

/// All passes over a group, in their order.
pub(crate) const GROUP_PASSES: &[GroupPass] = &[
    GroupPass { name: "which buffers hold a block only", run: |s, c| s.find_locals(c) },
    GroupPass { name: "which sums are taken in parts", run: |s, c| s.make_partial(c) },
    GroupPass { name: "which nests become one", run: |s, c| s.merge_nests(c) },
    GroupPass { name: "which nests leave out positions", run: |s, c| s.find_wedges(c) },
    GroupPass { name: "which dimensions become one", run: |s, c| s.collapse(c) },
    GroupPass { name: "how many positions a block has", run: |s, c| s.choose_block(c) },
    GroupPass { name: "where the rows of a block lie", run: |s, c| s.compact_rows(c) },
    GroupPass { name: "what runs if arrays are of moderate size", run: |s, c| s.relax(c) },
    GroupPass { name: "orders of loops and of contractions", run: |s, c| s.order_loops(c) },
    GroupPass { name: "the memory of a thread", run: |s, c| s.lay_out(c) },
];

impl Scheduler<'_> {
    /// Schedules a group. `filled` tells arrays that are complete before it is run.
    pub(super) fn close(&mut self, open: Open, filled: Filled) -> R<Step<Ordered>> {
        let Open { mut items, ways, touched, .. } = open;
        let mut buffers: Vec<BufferId> = touched.into_iter().collect();
        buffers.sort_unstable();
        if items.len() == 1
            && let Some(item) = items.pop()
        {
            return match item {
                GroupItem::Nest(nest) => {
                    Ok(Step::Compute(Box::new(self.alone(nest, buffers, filled)?)))
                }
                GroupItem::Draft(draft) => self.whole(*draft),
            };
        }
        let Some(way) = self.best(ways, &items) else {
            return Ok(Step::Compute(Box::new(Group::default())));
        };
        let group = Group { buffers, extent: way.extent, ..Group::default() };
        let items = items.into_iter().zip(way.dims).collect();
        let group = self.scheduled(group, items, way.rows, filled)?;
        Ok(Step::Compute(Box::new(group)))
    }

    /// The schedule of a group, by all passes.
    fn scheduled(
        &mut self,
        group: Ordered,
        items: Vec<Shared>,
        rows: FxHashMap<BufferId, Rows>,
        filled: Filled,
    ) -> R<Ordered> {
        let mut closing = Closing { items, rows, wedges: Vec::new(), group, filled };
        for pass in GROUP_PASSES {
            (pass.run)(self, &mut closing)?;
        }
        Ok(closing.group)
    }

    /// Lets nests that go through the same space be one.
    fn merge_nests(&mut self, closing: &mut Closing) -> R<()> {
        if closing.items.len() > 1 {
            let local = closing.locals();
            let items = std::mem::take(&mut closing.items);
            closing.items = merge(items, &local, &self.cost_of(), &self.target.search);
            forget_untouched(&mut closing.group, &closing.items);
        }
        Ok(())
    }

    /// Finds the wedges of nests, if that spares enough.
    fn find_wedges(&mut self, closing: &mut Closing) -> R<()> {
        let Closing { items, group, .. } = &*closing;
        let parts = group.partials.iter().map(|partial| partial.parts).collect();
        let mut wedges = wedges(items, &closing.locals(), &parts);
        let positions = |((item, _), wedge): (&Shared, &Option<Wedge>)| match wedge {
            Some(_) => item.positions(),
            None => 0,
        };
        let spared = items.iter().zip(&wedges).map(positions).fold(0, usize::saturating_add);
        if spared < self.target.thresholds.min_wedge_positions {
            wedges.fill(None);
        }
        closing.wedges = wedges;
        Ok(())
    }

    /// Simplifies the nests without wedges, but for the dimension that is shared.
    fn collapse(&mut self, closing: &mut Closing) -> R<()> {
        for ((item, dim), wedge) in closing.items.iter_mut().zip(&closing.wedges) {
            if let (GroupItem::Nest(nest), None) = (&mut *item, wedge) {
                let (collapsed, kept) = nest.clone().collapse(Some(*dim));
                *nest = collapsed;
                *dim = kept.unwrap_or(*dim);
            }
        }
        Ok(())
    }

    fn choose_block(&mut self, closing: &mut Closing) -> R<()> {
        let Closing { items, wedges, group, .. } = closing;
        let items = items.iter().map(|(item, dim)| (item, Some(*dim)));
        size::choose(group, items, self.buffers, self.in_order, self.target);
        size::spare(group, wedges.iter().any(Option::is_some), &self.target.gains);
        Ok(())
    }

    /// Lets the rows of buffers that hold a block only lie in that block.
    fn compact_rows(&mut self, closing: &mut Closing) -> R<()> {
        let Closing { items, rows, group, .. } = closing;
        for local in &group.locals {
            let Some(&rows) = rows.get(&local.buffer) else { continue };
            for (item, dim) in items.iter_mut() {
                let compact =
                    |nest: &mut Nest| compact(nest, local.buffer, *dim, rows, group.block);
                match item {
                    GroupItem::Nest(nest) => compact(nest),
                    GroupItem::Draft(draft) => draft.nests_mut().for_each(compact),
                }
            }
        }
        Ok(())
    }

    fn relax(&mut self, closing: &mut Closing) -> R<()> {
        closing.group.relaxed = self.relaxed(closing);
        Ok(())
    }

    fn order_loops(&mut self, closing: &mut Closing) -> R<()> {
        let Closing { items, wedges, group, .. } = closing;
        let seldom = group.relaxed.is_some();
        for ((item, dim), wedge) in items.drain(..).zip(wedges) {
            let member = match item {
                GroupItem::Nest(nest) => self.kernel(nest, dim, *wedge, group, seldom),
                GroupItem::Draft(draft) => self.contraction(*draft, dim, group)?,
            };
            group.members.push(member);
        }
        Ok(())
    }

    /// About how many cycles a nest takes for each position.
    fn cost_of(&self) -> impl Fn(&Nest) -> f64 {
        |nest| least_cost(nest, self.in_order, &self.target.costs)
    }

    /// Of several ways one with the most positions, and of these the one whose nests are the least
    /// work when they are merged; the first of equals.
    fn best(&self, mut ways: Vec<SharedDims>, items: &[GroupItem]) -> Option<SharedDims> {
        let most = ways.iter().map(|way| way.extent).max()?;
        ways.retain(|way| way.extent == most);
        if ways.len() == 1 {
            return ways.pop();
        }
        let work = |way: &SharedDims| {
            let items = items.iter().cloned().zip(way.dims.iter().copied()).collect();
            let nests = merge(items, &FxHashSet::default(), &self.cost_of(), &self.target.search);
            let work = |(item, _): &Shared| (self.cost_of())(item.main()) * item.positions() as f64;
            nests.iter().map(work).sum::<f64>()
        };
        ways.truncate(self.target.search.group_ways);
        let all = ways.into_iter().map(|way| (work(&way), way));
        all.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, way)| way)
    }

    /// The members of a group for arrays of moderate size, if that spares enough. Only arrays that
    /// are complete are looked at: what is not there yet must not decide.
    fn relaxed(&self, closing: &Closing) -> Option<Relaxed<LoopOrder>> {
        if self.in_order {
            // Every bit is to be that of the interpreter, also the sign of a zero.
            return None;
        }
        let Closing { items, wedges, group, filled, .. } = closing;
        let mut written: FxHashSet<BufferId> = items.iter().map(|(i, _)| i.target()).collect();
        let nests = || {
            items.iter().map(|(item, _)| match item {
                GroupItem::Nest(nest) => Some(nest),
                GroupItem::Draft(_) => None,
            })
        };
        nests().flatten().for_each(|nest| written.extend(nest.also.iter().map(|a| a.target)));
        written.extend(group.locals.iter().map(|local| local.buffer));
        let Relaxing { nests, moderate, .. } = {
            let relaxing = Relaxing::new(
                nests(),
                |b| !written.contains(&b) && filled(b),
                self.target.gains.min_relaxed_uses,
            );
            let elements = relaxing.moderate.iter().map(|b| self.buffers[b.index()].shape.numel());
            let elements = elements.fold(0, usize::saturating_add);
            relaxing
                .pays(elements, self.target.thresholds.min_relaxed_positions)
                .then_some(relaxing)?
        };
        // What some leave out others must not read: those of a wedge are all made anew.
        let kernel = |((nest, (item, dim)), wedge): ((Option<Nest>, &Shared), &Option<Wedge>)| {
            let nest = nest.or_else(|| match item {
                GroupItem::Nest(nest) if wedge.is_some() => Some(nest.clone()),
                _ => None,
            })?;
            Some(self.kernel(nest, *dim, *wedge, group, false))
        };
        let members = nests.into_iter().zip(items).zip(wedges).map(kernel).collect();
        Some(Relaxed { moderate, members })
    }

    /// A nest of a group, for the positions of a wedge if it has one.
    fn kernel(
        &self,
        nest: Nest,
        dim: usize,
        wedge: Option<Wedge>,
        group: &Ordered,
        seldom: bool,
    ) -> Member<LoopOrder> {
        let order = |nest: Nest| LoopOrder::new(nest, self.in_order, Some(dim), self.target);
        let Some(wedge) = wedge else {
            return Member::Nest(Box::new(order(nest)));
        };
        let zeroed = self.left_out(&nest, wedge, group);
        let Gains { wedge_panels, seldom_wedge_panels, .. } = self.target.gains;
        let shape = PanelShape {
            count: if seldom { seldom_wedge_panels } else { wedge_panels },
            most: wedge_panels,
            line: self.target.caches.line_bytes / 4,
        };
        Member::Wedged(Box::new(Wedged::new(&nest, (dim, wedge), zeroed, shape, order)))
    }

    /// The bytes of the part that a nest sums to that it has to set to 0 before: all if a wedge leaves
    /// some out.
    fn left_out(&self, nest: &Nest, wedge: Wedge, group: &Ordered) -> usize {
        let partial = group.partials.iter().find(|partial| partial.parts == nest.target);
        match partial {
            Some(partial) if wedge.dim < nest.extents.len() - nest.reduced => {
                partial.spread.numel() * self.buffers[partial.parts.index()].dtype.size()
            }
            _ => 0,
        }
    }

    /// A contraction in one piece.
    fn whole(&mut self, draft: Draft) -> R<Step<Ordered>> {
        let buffers = &*self.buffers;
        let length = |b: BufferId| buffers[b.index()].shape.numel();
        let contraction = draft.finish(None, self.target, length).ok_or(NO_CONTRACTION)?;
        // Every thread has scratch memory of its own.
        self.local = self.local.max(contraction.scratch_bytes());
        Ok(Step::Contract(Box::new(contraction)))
    }

    /// A contraction for the blocks of a group.
    fn contraction(
        &mut self,
        draft: Draft,
        dim: usize,
        group: &mut Ordered,
    ) -> R<Member<LoopOrder>> {
        let cut = Cut { dim, block: group.block };
        let (buffers, extent, block) = (&*self.buffers, group.extent.max(1), group.block);
        let rows: FxHashSet<BufferId> =
            group.locals.iter().filter(|l| l.row > 0).map(|l| l.buffer).collect();
        let length = |b: BufferId| match (buffers[b.index()].shape.numel(), rows.contains(&b)) {
            (elements, true) => elements / extent * block,
            (elements, false) => elements,
        };
        let mut contraction = draft.finish(Some(cut), self.target, length).ok_or(NO_CONTRACTION)?;
        let bytes = contraction.scratch_bytes();
        if bytes > 0 {
            let scratch = self.bytes(bytes);
            contraction.scratch = Some(scratch);
            group.locals.push(Local { buffer: scratch, stride: 0, row: 0, fixed: bytes });
        }
        Ok(Member::Contraction(Box::new(contraction)))
    }

    /// A new buffer of so many bytes, in units of eight.
    fn bytes(&mut self, bytes: usize) -> BufferId {
        let shape = size::vector(bytes.div_ceil(8));
        self.temporary(Buffer::new(cotan_array::Dtype::F64, shape, Role::Temporary(0)))
    }

    pub(super) fn temporary(&mut self, buffer: Buffer) -> BufferId {
        self.buffers.push(buffer);
        BufferId((self.buffers.len() - 1) as u32)
    }

    /// The group of a single nest.
    pub(super) fn alone(
        &mut self,
        nest: Nest,
        buffers: Vec<BufferId>,
        filled: Filled,
    ) -> R<Ordered> {
        let (nest, _) = nest.collapse(None);
        let parallel = nest.extents.len() - nest.reduced;
        let positions: usize = nest.extents.iter().fold(1, |n, &k| n.saturating_mul(k));
        let serial = nest.write.scatters();
        // Of equals the outermost: its rows lie one after the other.
        let longest =
            |dims: std::ops::Range<usize>| dims.rev().max_by_key(|&dim| nest.extents[dim]);
        let sums = nest.write.reduction().is_some();
        let summed = sums && !self.in_order && positions >= self.target.thresholds.min_parted_sum;
        let item = GroupItem::Nest(nest.clone());
        let in_parts = positions / item.results().max(1) >= self.target.thresholds.min_parted_sum
            && self.joining().parts_fit(&item);
        let block = match longest(0..parallel) {
            _ if serial => None,
            // Enough positions to share, and none of them longer than threads and users wait.
            Some(dim)
                if !summed
                    || nest.extents[dim] >= self.target.gains.min_shared_positions
                        && positions / nest.extents[dim] <= self.target.operations_per_look =>
            {
                Some(dim)
            }
            _ if summed && in_parts => longest(parallel..nest.extents.len()),
            other => other,
        };
        if let Some(dim) = block {
            let group = Group { buffers, extent: nest.extents[dim], serial, ..Group::default() };
            return self.scheduled(group, vec![(item, dim)], FxHashMap::default(), filled);
        }
        let extent = nest.extents.first().copied().unwrap_or(1);
        let mut group = Group { buffers, extent, serial, ..Group::default() };
        let items = std::iter::once((&item, None));
        size::choose(&mut group, items, self.buffers, self.in_order, self.target);
        let kernel = LoopOrder::new(nest, self.in_order, None, self.target);
        if !serial {
            // In one piece.
            (group.extent, group.block) = (kernel.positions(), kernel.positions().max(1));
        }
        group.members.push(Member::Nest(Box::new(kernel)));
        Ok(group)
    }

    /// Makes room for what the blocks of a group hold and sum.
    fn lay_out(&mut self, Closing { group, .. }: &mut Closing) -> R<()> {
        let (chunks, line) = (group.chunks(), self.target.caches.line_bytes);
        let mut bytes = 0;
        let mut take = |size: usize| {
            let at = bytes;
            bytes += size.next_multiple_of(line);
            at
        };
        for local in &group.locals {
            let size = local.bytes(group.block);
            self.buffers[local.buffer.index()].role = Role::Local(take(size));
        }
        for partial in &mut group.partials {
            let (numel, parts) = (partial.spread.numel(), &mut self.buffers[partial.parts.index()]);
            parts.shape = size::vector(chunks * numel);
            if group.per_chunk > 1 {
                partial.local = take(numel * parts.dtype.size());
            }
        }
        self.local = self.local.max(bytes);
        Ok(())
    }

    /// Finds buffers that nobody else touches: they need memory for a block only.
    fn find_locals(&mut self, closing: &mut Closing) -> R<()> {
        let Closing { items, rows, group, .. } = closing;
        let mut inside: FxHashMap<BufferId, u32> = FxHashMap::default();
        for (item, _) in &*items {
            item.for_each_buffer(&mut |b| *inside.entry(b).or_default() += 1);
        }
        for &b in &group.buffers {
            let Some(rows) = rows.get(&b) else { continue };
            let buffer = &self.buffers[b.index()];
            let own = inside.get(&b) == self.touches.get(b.index());
            // Rows of which there are some more, or fewer, are not all there is.
            let whole = rows.all_of(buffer.shape.numel());
            if !own || !whole || !matches!(buffer.role, Role::Temporary(_)) {
                continue;
            }
            let size = buffer.dtype.size();
            group.locals.push(Local {
                buffer: b,
                stride: rows.stride as usize * size,
                row: buffer.shape.numel() / group.extent.max(1) * size,
                fixed: 0,
            });
        }
        let locals: FxHashSet<BufferId> = group.locals.iter().map(|local| local.buffer).collect();
        group.buffers.retain(|b| !locals.contains(b));
        Ok(())
    }
}

impl Closing<'_> {
    /// The buffers that hold a block only.
    fn locals(&self) -> FxHashSet<BufferId> {
        self.group.locals.iter().map(|local| local.buffer).collect()
    }
}

/// Drops the buffers that only held what merged nests handed to each other.
fn forget_untouched(group: &mut Ordered, items: &[Shared]) {
    let mut touched: FxHashSet<BufferId> = FxHashSet::default();
    for (item, _) in items {
        item.for_each_buffer(&mut |b| {
            touched.insert(b);
        });
    }
    group.locals.retain(|local| local.row == 0 || touched.contains(&local.buffer));
}
