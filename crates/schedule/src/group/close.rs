//! The kernels of a group, its memory and its blocks.

use cotan_nest::{Buffer, BufferId, Draft, Nest, Role, Step};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::join::{GroupItem, Open, SharedDims};
use super::merge::{Shared, merge};
use super::relax::{Relaxed, Relaxing};
use super::rows::compact;
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

impl Scheduler<'_> {
    /// Plans the kernels of a group. `filled` tells arrays that are complete before it is run.
    pub(super) fn close(&mut self, open: Open, filled: Filled) -> R<Step<Ordered>> {
        let Open { mut items, ways, touched, .. } = open;
        let mut buffers: Vec<BufferId> = touched.into_iter().collect();
        buffers.sort_unstable();
        if items.len() == 1
            && let Some(item) = items.pop()
        {
            return match item {
                GroupItem::Nest(nest) => {
                    Ok(Step::Compute(Box::new(self.alone(nest, buffers, filled))))
                }
                GroupItem::Draft(draft) => self.whole(*draft),
            };
        }
        let Some(way) = self.best(ways, &items) else {
            return Ok(Step::Compute(Box::new(Group::default())));
        };
        let mut group = Group { buffers, extent: way.extent, ..Group::default() };
        self.find_locals(&items, &way, &mut group);
        self.make_partial(&mut items, &way, &mut group);
        let local = group.locals.iter().map(|local| local.buffer).collect();
        let items = merge(
            items.into_iter().zip(way.dims.iter().copied()).collect(),
            &local,
            &self.cost_of(),
            &self.target.search,
        );
        forget_untouched(&mut group, &items);
        let wedges = self.wedges(&items, &group);
        // Nests are simplified, but for the dimension that is shared.
        let mut dims: SmallVec<[Option<usize>; 4]> = SmallVec::new();
        let items: Vec<GroupItem> = items
            .into_iter()
            .zip(&wedges)
            .map(|((item, dim), wedge)| match item {
                GroupItem::Nest(nest) if wedge.is_none() => {
                    let (nest, dim) = nest.collapse(Some(dim));
                    dims.push(dim);
                    GroupItem::Nest(nest)
                }
                item => {
                    dims.push(Some(dim));
                    item
                }
            })
            .collect();
        size::choose(&mut group, &items, &dims, self.buffers, self.in_order, self.target);
        size::spare(&mut group, wedges.iter().any(Option::is_some), &self.target.gains);
        let mut members: Vec<(GroupItem, usize, Option<Wedge>)> = Vec::with_capacity(items.len());
        for ((mut item, dim), wedge) in items.into_iter().zip(dims).zip(wedges) {
            let Some(dim) = dim else { continue };
            for local in &group.locals {
                let Some(&rows) = way.rows.get(&local.buffer) else { continue };
                let compact = |nest: &mut Nest| compact(nest, local.buffer, dim, rows, group.block);
                match &mut item {
                    GroupItem::Nest(nest) => compact(nest),
                    GroupItem::Draft(draft) => draft.nests_mut().for_each(compact),
                }
            }
            members.push((item, dim, wedge));
        }
        group.relaxed = self.relaxed(&members, &group, filled);
        for (item, dim, wedge) in members {
            let seldom = group.relaxed.is_some();
            let member = match item {
                GroupItem::Nest(nest) => self.kernel(nest, dim, wedge, &group, seldom),
                GroupItem::Draft(draft) => self.contraction(*draft, dim, &mut group)?,
            };
            group.members.push(member);
        }
        self.lay_out(&mut group);
        Ok(Step::Compute(Box::new(group)))
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

    /// The wedges of the nests of a group, if that spares enough.
    fn wedges(&self, items: &[Shared], group: &Ordered) -> Vec<Option<Wedge>> {
        let local = group.locals.iter().map(|local| local.buffer).collect();
        let parts = group.partials.iter().map(|partial| partial.parts).collect();
        let wedges = wedges(items, &local, &parts);
        let positions = |((item, _), wedge): (&Shared, &Option<Wedge>)| match wedge {
            Some(_) => item.positions(),
            None => 0,
        };
        let spared = items.iter().zip(&wedges).map(positions).fold(0, usize::saturating_add);
        if spared < self.target.thresholds.min_wedge_positions {
            vec![None; items.len()]
        } else {
            wedges
        }
    }

    /// The members of a group for arrays of moderate size, if that spares enough. Only arrays that
    /// are complete are looked at: what is not there yet must not decide.
    fn relaxed(
        &self,
        members: &[(GroupItem, usize, Option<Wedge>)],
        group: &Ordered,
        filled: Filled,
    ) -> Option<Relaxed<LoopOrder>> {
        if self.in_order {
            // Every bit is to be that of the interpreter, also the sign of a zero.
            return None;
        }
        let mut written: FxHashSet<BufferId> = members.iter().map(|(i, ..)| i.target()).collect();
        let nests = || {
            members.iter().map(|(item, ..)| match item {
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
        let kernel =
            |(nest, (item, dim, wedge)): (Option<Nest>, &(GroupItem, usize, Option<Wedge>))| {
                let nest = nest.or_else(|| match item {
                    GroupItem::Nest(nest) if wedge.is_some() => Some(nest.clone()),
                    _ => None,
                })?;
                Some(self.kernel(nest, *dim, *wedge, group, false))
            };
        let members = nests.into_iter().zip(members).map(kernel).collect();
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
    pub(super) fn alone(&mut self, nest: Nest, buffers: Vec<BufferId>, filled: Filled) -> Ordered {
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
        let extent = match block {
            Some(dim) => nest.extents[dim],
            None => nest.extents.first().copied().unwrap_or(1),
        };
        let mut group = Group { buffers, extent, serial, ..Group::default() };
        let mut items = [item];
        if let Some(dim) = block {
            let dims = SmallVec::from_slice(&[dim]);
            let way = SharedDims { extent, dims, rows: FxHashMap::default() };
            self.make_partial(&mut items, &way, &mut group);
        }
        size::choose(&mut group, &items, &[block], self.buffers, self.in_order, self.target);
        let [item] = items;
        if let Some(dim) = block {
            let item = [(item, dim)];
            let wedge = self.wedges(&item, &group).into_iter().next().flatten();
            size::spare(&mut group, wedge.is_some(), &self.target.gains);
            let [(item, dim)] = item;
            let member = [(item, dim, wedge)];
            group.relaxed = self.relaxed(&member, &group, filled);
            if let [(GroupItem::Nest(nest), dim, wedge)] = member {
                let seldom = group.relaxed.is_some();
                group.members.push(self.kernel(nest, dim, wedge, &group, seldom));
            }
        } else if let GroupItem::Nest(nest) = item {
            let kernel = LoopOrder::new(nest, self.in_order, None, self.target);
            if !serial {
                // In one piece.
                (group.extent, group.block) = (kernel.positions(), kernel.positions().max(1));
            }
            group.members.push(Member::Nest(Box::new(kernel)));
        }
        self.lay_out(&mut group);
        group
    }

    /// Makes room for what the blocks of a group hold and sum.
    fn lay_out(&mut self, group: &mut Ordered) {
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
    }

    /// Finds buffers that nobody else touches: they need memory for a block only.
    fn find_locals(&self, items: &[GroupItem], way: &SharedDims, group: &mut Ordered) {
        let mut inside: FxHashMap<BufferId, u32> = FxHashMap::default();
        for item in items {
            item.for_each_buffer(&mut |b| *inside.entry(b).or_default() += 1);
        }
        for &b in &group.buffers {
            let Some(rows) = way.rows.get(&b) else { continue };
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
                row: buffer.shape.numel() / way.extent.max(1) * size,
                fixed: 0,
            });
        }
        let locals: FxHashSet<BufferId> = group.locals.iter().map(|local| local.buffer).collect();
        group.buffers.retain(|b| !locals.contains(b));
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
