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

mod rows;
mod size;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::nest::{BufferId, Instr, Nest, Write};
use crate::plan::{Branches, Buffer, Compute, Loop, Role, Step, WhileStep};
use crate::vm::Kernel;
use rows::{Rows, aligned, aligned_components, compact};
pub(crate) use size::Tuning;

/// A group has at most so many nests.
const LARGEST: usize = 24;

/// How many groups a nest is tried with.
const TRIES: usize = 4;

/// Nests that are run block by block.
#[derive(Debug)]
pub(crate) struct Group {
    pub kernels: Vec<Kernel>,
    /// How many positions the shared dimension has.
    pub extent: usize,
    /// How many positions a block has.
    pub block: usize,
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
}

/// A buffer that holds a block only.
#[derive(Debug)]
pub(crate) struct Local {
    pub buffer: BufferId,
    /// The bytes from an element to that of the next position.
    pub stride: usize,
    /// The bytes of all elements of a position.
    row: usize,
}

/// A sum over the shared dimension: what each block gives, and what it gives together.
#[derive(Debug)]
pub(crate) struct Partial {
    pub parts: BufferId,
    pub target: BufferId,
}

impl Group {
    /// How many blocks there are.
    pub(crate) fn blocks(&self) -> usize {
        self.extent.div_ceil(self.block.max(1)).max(1)
    }
}

impl Compute for Group {
    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        self.partials.iter().for_each(|partial| f(partial.target));
        self.buffers.iter().copied().for_each(f);
    }
}

/// Groups the nests of a plan. Gives the bytes that each thread needs for itself, too.
pub(crate) fn schedule(
    steps: Vec<Step<Nest>>,
    buffers: &mut Vec<Buffer>,
    in_order: bool,
    tuning: Tuning,
) -> (Vec<Step<Group>>, usize) {
    let mut touches: FxHashMap<BufferId, u32> = FxHashMap::default();
    for step in &steps {
        step.for_each_buffer(&mut |b| *touches.entry(b).or_default() += 1);
    }
    let mut scheduler = Scheduler { buffers, touches, in_order, tuning, local: 0 };
    let steps = scheduler.list(steps);
    (steps, scheduler.local)
}

struct Scheduler<'a> {
    buffers: &'a mut Vec<Buffer>,
    /// How often buffers are named in the whole plan.
    touches: FxHashMap<BufferId, u32>,
    in_order: bool,
    tuning: Tuning,
    /// The bytes that a thread needs for itself so far.
    local: usize,
}

/// A group in the making.
struct Open {
    nests: Vec<Nest>,
    /// Ways to share a dimension that are left.
    ways: Vec<Way>,
    touched: FxHashSet<BufferId>,
    /// Sums over the shared dimension, which are not there before the end.
    closed: FxHashSet<BufferId>,
}

/// A dimension of each nest that is shared by all.
#[derive(Clone)]
struct Way {
    extent: usize,
    dims: SmallVec<[usize; 4]>,
    /// The rows of the buffers that are written.
    rows: FxHashMap<BufferId, Rows>,
}

enum Slot {
    Open(Box<Open>),
    Other(Step<Group>),
}

impl Scheduler<'_> {
    /// Groups the nests of a list of steps. A nest goes to the first group that may take it and
    /// comes after what it needs; other steps keep their order.
    fn list(&mut self, steps: Vec<Step<Nest>>) -> Vec<Step<Group>> {
        let mut slots: Vec<Slot> = Vec::new();
        let mut written: FxHashMap<BufferId, usize> = FxHashMap::default();
        let mut read: FxHashMap<BufferId, usize> = FxHashMap::default();
        for step in steps {
            let at = match step {
                Step::Compute(nest) => {
                    let target = nest.target;
                    // The first slot that it may be in, if it fits there.
                    let mut earliest = read.get(&target).copied().unwrap_or(0);
                    nest.for_each_buffer(&mut |b| {
                        earliest = earliest.max(written.get(&b).copied().unwrap_or(0));
                    });
                    let mut sources: SmallVec<[BufferId; 8]> = SmallVec::new();
                    nest.for_each_buffer(&mut |b| sources.push(b));
                    let at = self.place(*nest, earliest, &mut slots);
                    for &b in &sources[1..] {
                        let last = read.entry(b).or_default();
                        *last = (*last).max(at);
                    }
                    let last = written.entry(target).or_default();
                    *last = (*last).max(at);
                    continue;
                }
                Step::Loop(l) => Slot::Other(Step::Loop(Box::new(self.repeated(*l)))),
                Step::While(w) => {
                    let before = self.list(w.before);
                    let body = self.repeated(w.body);
                    let (bound, condition) = (w.bound, w.condition);
                    let w = WhileStep { bound, before, condition, body };
                    Slot::Other(Step::While(Box::new(w)))
                }
                Step::If(branches) => {
                    let Branches { condition, then, otherwise } = *branches;
                    let (then, otherwise) = (self.list(then), self.list(otherwise));
                    let branches = Branches { condition, then, otherwise };
                    Slot::Other(Step::If(Box::new(branches)))
                }
                Step::Contract(contraction) => Slot::Other(Step::Contract(contraction)),
                Step::Zero(b) => Slot::Other(Step::Zero(b)),
                Step::Copy { from, to } => Slot::Other(Step::Copy { from, to }),
                Step::ArgSort { from, to } => Slot::Other(Step::ArgSort { from, to }),
            };
            if let Slot::Other(step) = &at {
                let n = slots.len();
                step.for_each_buffer(&mut |b| {
                    written.insert(b, n);
                });
            }
            slots.push(at);
        }
        let mut done = Vec::with_capacity(slots.len());
        for slot in slots {
            done.push(match slot {
                Slot::Other(step) => step,
                Slot::Open(open) => Step::Compute(Box::new(self.close(*open))),
            });
        }
        done
    }

    fn repeated(&mut self, l: Loop<Nest>) -> Loop<Group> {
        let steps = self.list(l.steps);
        let Loop { length, reverse, states, exchanged, inputs, outputs, .. } = l;
        Loop { length, reverse, states, exchanged, inputs, outputs, steps }
    }

    /// Puts a nest into a slot from `earliest` on, and says which.
    fn place(&self, nest: Nest, earliest: usize, slots: &mut Vec<Slot>) -> usize {
        let large = nest.extents.iter().product::<usize>() >= self.tuning.small;
        if large && !matches!(nest.write, Write::Add { .. } | Write::AddAt(_)) {
            let end = slots.len().min(earliest + TRIES);
            for (at, slot) in slots.iter_mut().enumerate().take(end).skip(earliest) {
                if let Slot::Open(open) = slot
                    && let Some(ways) = self.ways_together(open, &nest)
                {
                    open.take(nest, ways);
                    return at;
                }
            }
        }
        // A group of its own: what it needs is in slots before.
        let ways = if large { self.ways_alone(&nest) } else { Vec::new() };
        let mut open = Open {
            nests: Vec::new(),
            ways: Vec::new(),
            touched: FxHashSet::default(),
            closed: FxHashSet::default(),
        };
        open.take(nest, ways);
        slots.push(Slot::Open(Box::new(open)));
        slots.len() - 1
    }

    /// The parallel dimensions by which a nest may be cut into blocks.
    fn ways_alone(&self, nest: &Nest) -> Vec<Way> {
        let parallel = nest.extents.len() - nest.reduced;
        let mut ways = Vec::new();
        for dim in (0..parallel).filter(|&dim| nest.extents[dim] > 1) {
            let way = Way {
                extent: nest.extents[dim],
                dims: SmallVec::new(),
                rows: FxHashMap::default(),
            };
            ways.extend(way.with(nest, dim));
        }
        ways
    }

    /// The ways of a group that are left when a nest joins it, if there are any, and if they have
    /// something in common.
    fn ways_together(&self, open: &Open, nest: &Nest) -> Option<Vec<Way>> {
        if open.ways.is_empty() || open.nests.len() >= LARGEST {
            return None;
        }
        let known = |way: &Way| way.rows.contains_key(&nest.target);
        if open.touched.contains(&nest.target) && !open.ways.iter().all(known) {
            return None;
        }
        let (mut common, mut waits) = (false, false);
        nest.for_each_buffer(&mut |b| {
            common |=
                open.touched.contains(&b) && self.buffers[b.index()].bytes() >= self.tuning.small;
            waits |= open.closed.contains(&b);
        });
        if !common || waits {
            return None;
        }
        let parallel = nest.extents.len() - nest.reduced;
        let positions: usize = nest.extents.iter().product();
        let few =
            self.buffers[nest.target.index()].shape.numel() * 4 * self.tuning.parts < positions;
        // Sums over the shared dimension must be small, and wait for the last block.
        let sum = matches!(nest.write, Write::Sum(_));
        let partial = sum && !self.in_order && few && !open.touched.contains(&nest.target);
        let dims = if partial { nest.extents.len() } else { parallel };
        let mut ways = Vec::new();
        for way in &open.ways {
            for dim in (0..dims).filter(|&dim| nest.extents[dim] == way.extent) {
                ways.extend(way.clone().with(nest, dim));
            }
        }
        // Either all of the ways that are left sum over the shared dimension, or none.
        let reduced = |way: &Way| way.dims.last().is_some_and(|&dim| dim >= parallel);
        if ways.iter().any(|way| !reduced(way)) {
            ways.retain(|way| !reduced(way));
        }
        (!ways.is_empty()).then_some(ways)
    }

    /// Plans the kernels of a group.
    fn close(&mut self, open: Open) -> Group {
        let Open { mut nests, mut ways, touched, .. } = open;
        let mut buffers: Vec<BufferId> = touched.into_iter().collect();
        buffers.sort_unstable();
        if nests.len() == 1
            && let Some(nest) = nests.pop()
        {
            return self.alone(nest, buffers);
        }
        // Of several ways the one with the most positions, the first of equals.
        ways.sort_by_key(|way| std::cmp::Reverse(way.extent));
        let Some(way) = ways.into_iter().next() else { return self.empty() };
        let mut group = Group { buffers, extent: way.extent, ..self.empty() };
        self.find_locals(&nests, &way, &mut group);
        self.make_partial(&mut nests, &way, &mut group);
        let nests: Vec<(Nest, Option<usize>)> =
            nests.into_iter().zip(&way.dims).map(|(n, &dim)| n.collapse(Some(dim))).collect();
        self.cut(&mut group, &nests);
        for (mut nest, dim) in nests {
            for local in &group.locals {
                if let (Some(dim), Some(&rows)) = (dim, way.rows.get(&local.buffer)) {
                    compact(&mut nest, local.buffer, dim, rows, group.block);
                }
            }
            group.kernels.push(Kernel::new(nest, self.in_order, dim));
        }
        group
    }

    fn empty(&self) -> Group {
        Group {
            kernels: Vec::new(),
            extent: 1,
            block: 1,
            serial: false,
            locals: Vec::new(),
            partials: Vec::new(),
            buffers: Vec::new(),
            cost: 0,
        }
    }

    /// The group of a single nest.
    fn alone(&mut self, nest: Nest, buffers: Vec<BufferId>) -> Group {
        let (nest, _) = nest.collapse(None);
        let parallel = nest.extents.len() - nest.reduced;
        let positions: usize = nest.extents.iter().fold(1, |n, &k| n.saturating_mul(k));
        let serial = matches!(nest.write, Write::Add { .. } | Write::AddAt(_));
        let longest = |dims: std::ops::Range<usize>| dims.max_by_key(|&dim| nest.extents[dim]);
        let sum = matches!(nest.write, Write::Sum(_));
        let summed = sum && !self.in_order && positions >= self.tuning.long_sum;
        let block = match longest(0..parallel) {
            _ if serial => None,
            Some(dim) if !summed || nest.extents[dim] >= 8 => Some(dim),
            _ if summed && positions / parallel_size(&nest).max(1) >= self.tuning.long_sum => {
                longest(parallel..nest.extents.len())
            }
            other => other,
        };
        let extent = match block {
            Some(dim) => nest.extents[dim],
            None => nest.extents.first().copied().unwrap_or(1),
        };
        let mut group = Group { buffers, extent, serial, ..self.empty() };
        let mut nests = vec![nest];
        if let Some(dim) = block {
            let dims = SmallVec::from_slice(&[dim]);
            let way = Way { extent, dims, rows: FxHashMap::default() };
            self.make_partial(&mut nests, &way, &mut group);
        }
        let nests: Vec<(Nest, Option<usize>)> =
            nests.into_iter().map(|nest| (nest, block)).collect();
        self.cut(&mut group, &nests);
        for (nest, block) in nests {
            let kernel = Kernel::new(nest, self.in_order, block);
            if block.is_none() && !serial {
                // In one piece.
                (group.extent, group.block) = (kernel.positions(), kernel.positions().max(1));
            }
            group.kernels.push(kernel);
        }
        group
    }

    /// Chooses the size of blocks, and makes room for what each of them holds and sums.
    fn cut(&mut self, group: &mut Group, nests: &[(Nest, Option<usize>)]) {
        size::choose(group, nests, self.buffers, self.in_order, &self.tuning);
        let blocks = group.blocks();
        for partial in &group.partials {
            let numel = self.buffers[partial.target.index()].shape.numel();
            self.buffers[partial.parts.index()].shape = size::vector(blocks * numel);
        }
        let mut bytes = 0;
        for local in &group.locals {
            self.buffers[local.buffer.index()].role = Role::Local(bytes);
            bytes += (local.row * group.block).next_multiple_of(64);
        }
        self.local = self.local.max(bytes);
    }

    /// Finds buffers that nobody else touches: they need memory for a block only.
    fn find_locals(&self, nests: &[Nest], way: &Way, group: &mut Group) {
        let mut inside: FxHashMap<BufferId, u32> = FxHashMap::default();
        for nest in nests {
            nest.for_each_buffer(&mut |b| *inside.entry(b).or_default() += 1);
        }
        for &b in &group.buffers {
            let Some(rows) = way.rows.get(&b) else { continue };
            let buffer = &self.buffers[b.index()];
            let own = inside.get(&b) == self.touches.get(&b);
            if !own || !matches!(buffer.role, Role::Temporary(_)) {
                continue;
            }
            let size = buffer.dtype.size();
            group.locals.push(Local {
                buffer: b,
                stride: rows.stride as usize * size,
                row: buffer.shape.numel() / way.extent.max(1) * size,
            });
        }
        let locals: FxHashSet<BufferId> = group.locals.iter().map(|local| local.buffer).collect();
        group.buffers.retain(|b| !locals.contains(b));
    }

    /// Lets sums over the shared dimension be taken block by block.
    fn make_partial(&mut self, nests: &mut [Nest], way: &Way, group: &mut Group) {
        for (nest, &dim) in nests.iter_mut().zip(&way.dims) {
            let target = nest.target;
            if dim < nest.extents.len() - nest.reduced {
                continue;
            }
            let dtype = self.buffers[target.index()].dtype;
            let (shape, role) = (size::vector(0), Role::Temporary(0));
            self.buffers.push(Buffer { dtype, shape, role });
            let parts = BufferId((self.buffers.len() - 1) as u32);
            nest.target = parts;
            group.partials.push(Partial { parts, target });
            group.buffers.retain(|&b| b != target);
            group.buffers.push(parts);
        }
    }
}

fn parallel_size(nest: &Nest) -> usize {
    nest.extents[..nest.extents.len() - nest.reduced].iter().product()
}

impl Open {
    fn take(&mut self, nest: Nest, ways: Vec<Way>) {
        let parallel = nest.extents.len() - nest.reduced;
        if ways.iter().any(|way| way.dims.last().is_some_and(|&dim| dim >= parallel)) {
            self.closed.insert(nest.target);
        }
        nest.for_each_buffer(&mut |b| {
            self.touched.insert(b);
        });
        self.ways = ways;
        self.nests.push(nest);
    }
}

impl Way {
    /// The way with one more nest, of which a dimension is shared, if the nest reads and writes the
    /// rows at hand only.
    fn with(mut self, nest: &Nest, dim: usize) -> Option<Way> {
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
            let (Write::Store(at) | Write::Sum(at) | Write::Extreme { at, .. }) = &nest.write
            else {
                return None;
            };
            let rows = Rows { stride: at.coeffs[dim], count: self.extent as i64 };
            if rows.stride <= 0 || !aligned(at, dim, &nest.extents, rows) {
                return None;
            }
            if *self.rows.entry(nest.target).or_insert(rows) != rows {
                return None;
            }
        }
        self.dims.push(dim);
        Some(self)
    }
}
