//! Which nests share the rows of a group.

use cotan_nest::{Affine, Buffer, BufferId, Draft, Instr, Nest, Touches};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::rows::{Rows, aligned, aligned_components};
use crate::contract::{Cut, Cuts};
use crate::target::Target;

/// What a group consists of.
#[derive(Clone)]
pub(super) enum GroupItem {
    Nest(Nest),
    Draft(Box<Draft>),
}

impl GroupItem {
    /// The nest whose dimensions it has.
    pub(super) fn main(&self) -> &Nest {
        match self {
            GroupItem::Nest(nest) => nest,
            GroupItem::Draft(draft) => &draft.core,
        }
    }

    pub(super) fn target(&self) -> BufferId {
        match self {
            GroupItem::Nest(nest) => nest.target,
            GroupItem::Draft(draft) => draft.target(),
        }
    }

    /// The nest that says what it fills in the end.
    pub(super) fn whole(&self) -> &Nest {
        match self {
            GroupItem::Nest(nest) => nest,
            GroupItem::Draft(draft) => &draft.whole,
        }
    }

    /// Lets it fill another buffer, at places by the dimensions that are not reduced.
    pub(super) fn move_target(&mut self, to: BufferId, at: &Affine) {
        match self {
            GroupItem::Nest(nest) => nest.move_target(to, at),
            GroupItem::Draft(draft) => draft.move_target(to, at),
        }
    }

    /// The buffers that it touches, the one that it fills in the end first.
    pub(super) fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        match self {
            GroupItem::Nest(nest) => nest.for_each_buffer(f),
            GroupItem::Draft(draft) => draft.for_each_buffer(f),
        }
    }

    /// How many of its dimensions are not reduced.
    pub(super) fn parallel(&self) -> usize {
        let nest = self.main();
        nest.extents.len() - nest.reduced
    }

    /// How many elements it gives.
    pub(super) fn results(&self) -> usize {
        let all = self.main().extents[..self.parallel()].iter();
        all.fold(1, |n, &k| n.saturating_mul(k))
    }

    pub(super) fn positions(&self) -> usize {
        self.main().extents.iter().fold(1, |n, &k| n.saturating_mul(k))
    }
}

/// A group in the making.
#[derive(Default)]
pub(super) struct Open {
    pub items: Vec<GroupItem>,
    /// Ways to share a dimension that are left.
    pub ways: Vec<SharedDims>,
    pub touched: FxHashSet<BufferId>,
    /// Sums over the shared dimension, which are not there before the end.
    closed: FxHashSet<BufferId>,
}

impl Open {
    pub(super) fn take(&mut self, item: GroupItem, ways: Vec<SharedDims>) {
        let parallel = item.parallel();
        if ways.iter().any(|way| way.dims.last().is_some_and(|&dim| dim >= parallel)) {
            self.closed.insert(item.target());
        }
        item.for_each_buffer(&mut |b| {
            self.touched.insert(b);
        });
        self.ways = ways;
        self.items.push(item);
    }
}

/// A dimension of each nest that is shared by all.
#[derive(Clone)]
pub(super) struct SharedDims {
    pub extent: usize,
    pub dims: SmallVec<[usize; 4]>,
    /// The rows of the buffers that are written.
    pub rows: FxHashMap<BufferId, Rows>,
}

impl SharedDims {
    /// The way with one more item, of which a dimension is shared, if it reads and writes the rows
    /// at hand only.
    fn with(mut self, item: &GroupItem, dim: usize) -> Option<SharedDims> {
        match item {
            GroupItem::Nest(nest) => self.check(nest, dim)?,
            GroupItem::Draft(draft) => {
                let parallel = item.parallel();
                for nest in draft.nests() {
                    if nest.reduced > 0 || dim < parallel {
                        self.check(nest, dim)?;
                    } else if nest.reads(|b| self.rows.contains_key(&b)) {
                        // What is done with the sums does not have the reduced dimensions: it would
                        // need all rows.
                        return None;
                    }
                }
            }
        }
        self.dims.push(dim);
        Some(self)
    }

    /// Whether a nest reads and writes the rows at hand only; notes those that it writes.
    fn check(&mut self, nest: &Nest, dim: usize) -> Option<()> {
        for instr in &nest.instrs {
            let here = match instr {
                Instr::Load { buffer, at, .. } => {
                    self.rows.get(buffer).is_none_or(|&rows| aligned(at, dim, &nest.extents, rows))
                }
                Instr::LoadAt { buffer, index } => self
                    .rows
                    .get(buffer)
                    .is_none_or(|&rows| aligned_components(nest, index, dim, rows)),
                Instr::Const(_) | Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => true,
            };
            if !here {
                return None;
            }
        }
        if dim < nest.extents.len() - nest.reduced {
            let at = nest.write.place()?;
            let rows = Rows { stride: at.coeffs[dim], count: self.extent as i64 };
            if rows.stride <= 0 || !aligned(at, dim, &nest.extents, rows) {
                return None;
            }
            if *self.rows.entry(nest.target).or_insert(rows) != rows {
                return None;
            }
        }
        Some(())
    }
}

/// Decides what may be in a group.
pub(super) struct Joining<'a> {
    pub buffers: &'a [Buffer],
    pub in_order: bool,
    pub target: &'a Target,
}

impl Joining<'_> {
    /// The dimensions by which an item may be cut into blocks: the parallel ones, or those of a sum
    /// over everything.
    pub(super) fn alone(&self, item: &GroupItem) -> Vec<SharedDims> {
        let nest = item.main();
        let mut ways = Vec::new();
        let total = matches!(item, GroupItem::Nest(_)) && self.sums_to_few(item);
        let dims = match nest.extents[..item.parallel()].iter().all(|&k| k == 1) && total {
            true => item.parallel()..nest.extents.len(),
            false => 0..item.parallel(),
        };
        for dim in dims.filter(|&dim| nest.extents[dim] > 1) {
            let way = SharedDims {
                extent: nest.extents[dim],
                dims: SmallVec::new(),
                rows: FxHashMap::default(),
            };
            if self.may_be_cut(item, dim) {
                ways.extend(way.with(item, dim));
            }
        }
        ways
    }

    /// Whether an item sums so much that there may be a sum for each chunk of a group: adding the
    /// parts up is then little work beside the sums, and their memory is bounded.
    fn sums_to_few(&self, item: &GroupItem) -> bool {
        let few =
            item.results().saturating_mul(4 * self.target.thresholds.max_parts) < item.positions();
        item.main().write.reduction().is_some() && !self.in_order && few && self.parts_fit(item)
    }

    /// Whether the parts of a sum take no more memory than the arrays that the item goes through, or
    /// one of them stays in the cache beside a block. What a plan needs then at most doubles.
    pub(super) fn parts_fit(&self, item: &GroupItem) -> bool {
        let bytes = |b: BufferId| self.buffers[b.index()].bytes();
        let size = self.buffers[item.target().index()].dtype.size();
        let part = item.results().saturating_mul(size);
        let mut touched: FxHashSet<BufferId> = FxHashSet::default();
        item.for_each_buffer(&mut |b| {
            touched.insert(b);
        });
        let touched = touched.into_iter().map(bytes).fold(0, usize::saturating_add);
        part <= self.target.thresholds.block_bytes
            || part.saturating_mul(self.target.thresholds.max_parts) <= touched
    }

    /// Whether an item may be run for blocks of a dimension without much to read again.
    fn may_be_cut(&self, item: &GroupItem, dim: usize) -> bool {
        let GroupItem::Draft(draft) = item else { return true };
        let length = |b: BufferId| self.buffers[b.index()].shape.numel();
        let cut = Cut { dim, block: self.target.thresholds.min_block_products };
        let most = match draft.is_direct(cut, self.target, length) {
            true => self.target.thresholds.max_reread_direct,
            false => self.target.thresholds.max_reread_packed,
        };
        draft.read_again(dim, length).is_some_and(|elements| elements <= most)
    }

    /// The ways of a group that are left when an item joins it, if there are any, and if they have
    /// something in common.
    pub(super) fn together(&self, open: &Open, item: &GroupItem) -> Option<Vec<SharedDims>> {
        if open.ways.is_empty() || open.items.len() >= self.target.search.max_group_nests {
            return None;
        }
        let target = item.target();
        let known = |way: &SharedDims| way.rows.contains_key(&target);
        if open.touched.contains(&target) && !open.ways.iter().all(known) {
            return None;
        }
        // A contraction is better off in one piece, unless that saves memory.
        let is_product = |item: &GroupItem| matches!(item, GroupItem::Draft(_));
        if is_product(item) && open.ways.iter().all(|way| way.rows.is_empty()) {
            // Nothing but sums is made there, so nothing need not be kept.
            return None;
        }
        let products = is_product(item) || open.items.iter().all(is_product);
        let worth = if products {
            self.target.thresholds.min_blocked_bytes
        } else {
            self.target.thresholds.min_group_positions
        };
        let (mut common, mut waits) = (false, false);
        item.for_each_buffer(&mut |b| {
            common |= open.touched.contains(&b) && self.buffers[b.index()].bytes() >= worth;
            waits |= open.closed.contains(&b);
        });
        if !common || waits {
            return None;
        }
        let (nest, parallel) = (item.main(), item.parallel());
        // Sums over the shared dimension must be small, and wait for the last block.
        let partial = self.sums_to_few(item) && !open.touched.contains(&target);
        let dims = if partial { nest.extents.len() } else { parallel };
        let mut ways = Vec::new();
        for way in &open.ways {
            for dim in (0..dims).filter(|&dim| nest.extents[dim] == way.extent) {
                if self.may_be_cut(item, dim) {
                    ways.extend(way.clone().with(item, dim));
                }
            }
        }
        // Either all of the ways that are left sum over the shared dimension, or none.
        let reduced = |way: &SharedDims| way.dims.last().is_some_and(|&dim| dim >= parallel);
        if ways.iter().any(|way| !reduced(way)) {
            ways.retain(|way| !reduced(way));
        }
        (!ways.is_empty()).then_some(ways)
    }
}
