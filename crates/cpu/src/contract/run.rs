//! Running a contraction: blocks of the result that fit the caches, tile by tile.

use std::mem::MaybeUninit;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicBool, Ordering};

use cotan_array::Dtype;
use cotan_schedule::{Axis, Contraction, Extents, Operand, PlaceForm, Product};
use smallvec::SmallVec;

use super::pack::{Pack, RangeCheck, Source, is_unit};
use super::tile::{HasTiles, MOST_COLUMNS, MOST_ROWS, TileFunctions, TileJob};
use crate::isa::{self, Isa};
use crate::limits::RunLimits;
use crate::threads;
use crate::vector::Real;
use crate::vm::{Frame, Kernel, POLL};

/// An element may be packed from far, and that takes as long as so many multiplications.
const PACKED: usize = 16;

/// As long as so many it takes to read an element and to look whether it is finite.
const READ: usize = 4;

/// Products of operands that are read where they lie are added up so many at a time.
const DEEP: usize = 1 << 18;

/// Where the target and the operands of a contraction begin.
pub(super) struct ProductPointers {
    target: *mut u8,
    left: *mut u8,
    right: *mut u8,
}

// SAFETY: threads read the operands, and write different blocks of the target.
unsafe impl Sync for ProductPointers {}

/// The scratch memory of a thread.
#[derive(Clone, Copy)]
struct Scratch(*mut u8);

// SAFETY: a thread uses its own only.
unsafe impl Sync for Scratch {}

/// How many pieces each thread gets on average, so that none waits long for another: of blocks that
/// share nothing, and of such as pack the same operand again.
const PIECES: usize = 8;
const PIECES_PACKED: usize = 2;

/// Looks at the limits of a run from time to time.
struct Poll<'a> {
    limits: &'a RunLimits,
    work: usize,
}

impl Poll<'_> {
    /// Notes so many multiplications; gives `false` when a limit was reached.
    fn go_on(&mut self, work: usize) -> bool {
        self.work = self.work.saturating_add(work);
        if self.work < POLL {
            return true;
        }
        self.work = 0;
        !self.limits.reached()
    }
}

/// Tables of offsets, one after the other.
struct Tables<'a>(&'a mut [i64]);

impl<'a> Tables<'a> {
    fn take(&mut self, n: usize) -> &'a mut [i64] {
        let (table, rest) = std::mem::take(&mut self.0).split_at_mut(n);
        self.0 = rest;
        table
    }
}

/// The offsets of an operand's elements in a block: along one axis and along the depth, for its
/// place and for each of its checks.
struct Offsets<'a> {
    operand: &'a Operand,
    axis: Axis,
    along: &'a mut [i64],
    deep: &'a mut [i64],
    count: usize,
    depth: usize,
}

impl<'a> Offsets<'a> {
    fn new(
        operand: &'a Operand,
        axis: Axis,
        most: (usize, usize),
        tables: &mut Tables<'a>,
    ) -> Offsets<'a> {
        let forms = 1 + operand.checks.len();
        let (along, deep) = (tables.take(forms * most.0), tables.take(forms * most.1));
        Offsets { operand, axis, along, deep, count: 0, depth: 0 }
    }

    fn forms(operand: &Operand) -> impl Iterator<Item = &PlaceForm> {
        std::iter::once(&operand.place).chain(operand.checks.iter().map(|(form, _)| form))
    }

    fn set_along(&mut self, extents: &Extents, range: Range<usize>) {
        self.count = range.len();
        let tables = self.along.chunks_mut(self.count);
        for (form, to) in Self::forms(self.operand).zip(tables) {
            form.fill(extents, self.axis, range.start, to);
        }
    }

    fn set_deep(&mut self, extents: &Extents, range: Range<usize>) {
        self.depth = range.len();
        let tables = self.deep.chunks_mut(self.depth);
        for (form, to) in Self::forms(self.operand).zip(tables) {
            form.fill(extents, Axis::Depth, range.start, to);
        }
    }

    /// Packs the elements of the block, at one position of the batch.
    ///
    /// # Safety
    /// `from` is the first element of the operand's buffer; there is room for the panels.
    unsafe fn pack<E>(
        &self,
        extents: &Extents,
        batch: usize,
        from: *const E,
        pack: Pack<E>,
        to: *mut E,
    ) {
        let (along, deep) = (&*self.along, &*self.deep);
        let table = |n: usize| {
            (&along[n * self.count..][..self.count], &deep[n * self.depth..][..self.depth])
        };
        let (rows, depth) = table(0);
        let checks: SmallVec<[RangeCheck; 6]> = self
            .operand
            .checks
            .iter()
            .enumerate()
            .map(|(n, (form, size))| {
                let (rows, depth) = table(n + 1);
                RangeCheck { base: form.base(extents, batch), rows, depth, size: *size }
            })
            .collect();
        let from = from.wrapping_offset(self.operand.place.base(extents, batch) as isize);
        // SAFETY: by the contract; places are within the buffer over the whole iteration space, or
        // checked.
        unsafe { pack(&Source { from, rows, depth, checks: &checks }, to) }
    }
}

/// A matrix product with the instructions that it is made for.
#[derive(Clone, Copy)]
pub(super) struct Tiled<'a> {
    pub product: &'a Product,
    isa: Isa,
    /// The columns of a block: those of the schedule, or fewer where threads share the product.
    column_block: usize,
}

impl Deref for Tiled<'_> {
    type Target = Product;

    fn deref(&self) -> &Product {
        self.product
    }
}

impl<'a> Tiled<'a> {
    /// A product of a schedule for this machine: its vectors say by which instructions it is run.
    pub(super) fn new(product: &'a Product) -> Tiled<'a> {
        let isa = match product.lanes * product.dtype.size() {
            64 => Isa::Avx512,
            32 => Isa::Avx2,
            _ => Isa::Plain,
        };
        Tiled { product, isa, column_block: product.blocking.column_block }
    }

    /// The same product in blocks of fewer columns, where there are too few blocks for so many
    /// threads. A block keeps at least as many columns as rows, so that packing the columns takes no
    /// longer than packing the rows. An element is the same sum in every block.
    fn shared_by(self, threads: usize) -> Tiled<'a> {
        let wanted = threads.saturating_mul(PIECES_PACKED);
        if self.direct || self.blocks() >= wanted {
            return self;
        }
        let strips = wanted.div_ceil((self.count(Axis::Batch) * self.grid().0).max(1));
        let columns = self.count(Axis::Columns).div_ceil(strips).max(self.blocking.row_block);
        let columns = columns.max(1).next_multiple_of(self.blocking.columns);
        Tiled { column_block: columns.min(self.column_block), ..self }
    }

    /// How many blocks of the result there are, which can be made in any order.
    pub(super) fn blocks(&self) -> usize {
        let (rows, columns) = self.grid();
        self.count(Axis::Batch) * rows * columns
    }

    /// How many blocks there are along the rows and along the columns.
    fn grid(&self) -> (usize, usize) {
        let rows = self.count(Axis::Rows).div_ceil(self.blocking.row_block);
        let columns = self.count(Axis::Columns).div_ceil(self.column_block);
        (rows, if self.direct { 1 } else { columns })
    }

    /// The blocks of which pieces are made, and the number of pieces. If there are enough columns,
    /// blocks that share packed ones stay together.
    fn cuts(&self, threads: usize) -> (usize, usize) {
        let (row_blocks, blocks) = (self.grid().0.max(1), self.blocks());
        let most = threads.saturating_mul(if self.direct { PIECES } else { PIECES_PACKED });
        let together = !self.direct && blocks / row_blocks >= most;
        let unit = if together { row_blocks } else { 1 };
        (unit, (blocks / unit).min(most).max(1))
    }

    /// Where the target and the operands begin, so many elements further.
    pub(super) fn places(&self, pointers: &[*mut u8], start: [i64; 3]) -> ProductPointers {
        let size = self.dtype.size() as i64;
        let place = |b: cotan_nest::BufferId, start: i64| {
            pointers[b.index()].wrapping_offset(start.wrapping_mul(size) as isize)
        };
        ProductPointers {
            target: place(self.target, start[0]),
            left: place(self.left.buffer, start[1]),
            right: place(self.right.buffer, start[2]),
        }
    }

    /// Makes some of the blocks; gives `false` when a limit was reached.
    ///
    /// # Safety
    /// The places are those of the buffers it was made for, none of which overlaps the target;
    /// `scratch` has [`cotan_schedule::Contraction::scratch_bytes`], aligned as elements, and is used by no one
    /// else. Operands that must be finite are.
    pub(super) unsafe fn run_blocks(
        &self,
        blocks: Range<usize>,
        places: &ProductPointers,
        scratch: *mut u8,
        limits: &RunLimits,
    ) -> bool {
        let poll = &mut Poll { limits, work: 0 };
        // SAFETY: by the contract.
        unsafe {
            match (self.dtype, self.direct) {
                (Dtype::F32, true) => self.direct::<f32>(blocks, places, poll),
                (Dtype::F32, false) => self.packed::<f32>(blocks, places, scratch, poll),
                (_, true) => self.direct::<f64>(blocks, places, poll),
                (_, false) => self.packed::<f64>(blocks, places, scratch, poll),
            }
        }
    }

    /// Blocks of packed operands.
    ///
    /// # Safety
    /// As [`Tiled::run_blocks`].
    unsafe fn packed<E: HasTiles>(
        &self,
        blocks: Range<usize>,
        places: &ProductPointers,
        scratch: *mut u8,
        poll: &mut Poll,
    ) -> bool {
        let (machine, sizes, extents) = (E::machine(self.isa), &self.blocking, &self.extents);
        let [m, n, k] = [Axis::Rows, Axis::Columns, Axis::Depth].map(|group| self.count(group));
        let (row_blocks, column_blocks) = self.grid();
        // SAFETY: the scratch memory has all of this, one after the other.
        let (left_to, right_to, tables) = unsafe {
            let tables = scratch.add(sizes.left + sizes.right);
            let count = (sizes.bytes - sizes.left - sizes.right) / size_of::<i64>();
            std::ptr::write_bytes(tables, 0, count * size_of::<i64>());
            let tables = std::slice::from_raw_parts_mut(tables.cast::<i64>(), count);
            (scratch.cast::<E>(), scratch.add(sizes.left).cast::<E>(), tables)
        };
        let mut tables = Tables(tables);
        let most = (sizes.row_block, sizes.depth_block);
        let mut left = Offsets::new(&self.left, Axis::Rows, most, &mut tables);
        let most = (sizes.column_block, sizes.depth_block);
        let mut right = Offsets::new(&self.right, Axis::Columns, most, &mut tables);
        let (to_rows, to_columns) = (tables.take(sizes.row_block), tables.take(sizes.column_block));
        let mut block = blocks.start;
        while block < blocks.end {
            // Blocks of the same columns share what is packed of the right operand.
            let group = block / row_blocks;
            let end = ((group + 1) * row_blocks).min(blocks.end);
            let (batch, first) = (group / column_blocks, group % column_blocks * self.column_block);
            let columns = first..(first + self.column_block).min(n);
            let to_columns = &mut to_columns[..columns.len()];
            self.place.fill(extents, Axis::Columns, columns.start, to_columns);
            right.set_along(extents, columns);
            let to = places.target.cast::<E>();
            let to = to.wrapping_offset(self.place.base(extents, batch) as isize);
            for deep in (0..k).step_by(sizes.depth_block) {
                let depth = deep..(deep + sizes.depth_block).min(k);
                left.set_deep(extents, depth.clone());
                right.set_deep(extents, depth.clone());
                let from = places.right.cast::<E>();
                // SAFETY: there is room for a block of the right operand.
                unsafe { right.pack(extents, batch, from, machine.pack_columns, right_to) };
                if !poll.go_on(packed(to_columns.len(), depth.len())) {
                    return false;
                }
                for block in block..end {
                    let first = block % row_blocks * sizes.row_block;
                    let rows = first..(first + sizes.row_block).min(m);
                    let to_rows = &mut to_rows[..rows.len()];
                    self.place.fill(extents, Axis::Rows, rows.start, to_rows);
                    left.set_along(extents, rows);
                    let from = places.left.cast::<E>();
                    let product = BlockProduct {
                        depth: depth.len(),
                        left: left_to,
                        right: right_to,
                        to,
                        to_rows,
                        to_columns,
                        accumulate: deep > 0,
                        factor: E::of(self.factor),
                    };
                    // SAFETY: there is room for a block of the left operand; the offsets are
                    // those of elements of the target.
                    unsafe {
                        left.pack(extents, batch, from, machine.pack_rows, left_to);
                        product.run(machine);
                    }
                    let products = to_rows.len() * to_columns.len() * depth.len();
                    if !poll.go_on(products + packed(to_rows.len(), depth.len())) {
                        return false;
                    }
                }
            }
            block = end;
        }
        true
    }

    /// Blocks of operands that lie in a good order.
    ///
    /// # Safety
    /// As [`Tiled::run_blocks`].
    unsafe fn direct<E: HasTiles>(
        &self,
        blocks: Range<usize>,
        places: &ProductPointers,
        poll: &mut Poll,
    ) -> bool {
        let (machine, sizes, extents) = (E::machine(self.isa), &self.blocking, &self.extents);
        let [m, n, k] = [Axis::Rows, Axis::Columns, Axis::Depth].map(|group| self.count(group));
        let (row_blocks, _) = self.grid();
        let (left_row, left_depth) =
            (self.left.place.step(Axis::Rows), self.left.place.step(Axis::Depth));
        let right_depth = self.right.place.step(Axis::Depth);
        let (to_row, to_column) = (self.place.step(Axis::Rows), self.place.step(Axis::Columns));
        let to_rows: [i64; MOST_ROWS] = std::array::from_fn(|r| to_row.wrapping_mul(r as i64));
        let full = machine.columns(m.min(sizes.rows));
        let place = |begin: *mut u8, form: &PlaceForm, batch: usize| {
            begin.cast::<E>().wrapping_offset(form.base(extents, batch) as isize)
        };
        for block in blocks {
            let batch = block / row_blocks;
            let left = place(places.left, &self.left.place, batch);
            let right = place(places.right, &self.right.place, batch);
            let to = place(places.target, &self.place, batch);
            let first = block % row_blocks * sizes.row_block;
            let last = (first + sizes.row_block).min(m);
            for column in (0..n).step_by(full) {
                let columns = (n - column).min(full);
                for row in (first..last).step_by(sizes.rows) {
                    let rows = (last - row).min(sizes.rows);
                    let (tile, tail) = machine.tile(rows, columns);
                    let at = to_row * row as i64 + to_column * column as i64;
                    for deep in (0..k).step_by(DEEP) {
                        let depth = (k - deep).min(DEEP);
                        let along = left_row * row as i64 + left_depth * deep as i64;
                        let job = TileJob {
                            depth,
                            left: left.wrapping_offset(along as isize),
                            left_row,
                            left_depth,
                            right: right
                                .wrapping_add(column)
                                .wrapping_offset((right_depth * deep as i64) as isize),
                            right_depth,
                            to: to.wrapping_offset(at as isize),
                            to_rows: to_rows.as_ptr(),
                            tail,
                            accumulate: deep > 0,
                            factor: E::of(self.factor),
                        };
                        // SAFETY: places are within the buffers over the whole iteration space,
                        // and the columns of the right operand are neighbours.
                        unsafe {
                            if to_column == 1 || columns == 1 {
                                tile(&job);
                            } else {
                                let step = |v: usize| to_column.wrapping_mul(v as i64);
                                scattered(job, tile, rows, columns, step);
                            }
                        }
                        if !poll.go_on(rows * columns * depth) {
                            return false;
                        }
                    }
                }
            }
        }
        true
    }
}

/// Contractions, run.
pub(crate) trait RunContraction {
    /// How many multiplications it takes.
    fn work(&self) -> usize;

    /// Into how many pieces some threads share it among each other.
    fn pieces(&self, threads: usize) -> usize;

    /// Runs all of it on a thread for each frame; gives `false` when a limit was reached. The
    /// buffers of the first frame are those that it was made for.
    fn run_shared(&self, frames: &mut [Frame], limits: &RunLimits) -> bool;

    /// Runs all of it; gives `false` when a limit was reached. The buffers of the frame are those
    /// that it was made for.
    fn run(&self, frame: &mut Frame, limits: &RunLimits) -> bool;

    /// Runs it for a range of the dimension that it is cut by: a block, or the last one. One that
    /// is not cut has a single position.
    fn run_range(&self, frame: &mut Frame, range: Range<usize>, limits: &RunLimits) -> bool;
}

impl RunContraction for Contraction<Kernel> {
    fn work(&self) -> usize {
        [Axis::Batch, Axis::Rows, Axis::Columns, Axis::Depth]
            .into_iter()
            .fold(1, |work, group| work.saturating_mul(self.product.count(group)))
    }

    fn pieces(&self, threads: usize) -> usize {
        Tiled::new(&self.product).shared_by(threads).cuts(threads).1
    }

    fn run_shared(&self, frames: &mut [Frame], limits: &RunLimits) -> bool {
        let threads = frames.len();
        let scratch: SmallVec<[Scratch; 16]> =
            frames.iter().map(|frame| Scratch(frame.local())).collect();
        let Some(frame) = frames.first_mut() else { return true };
        let tiled = Tiled::new(&self.product).shared_by(threads);
        if let Some(fallback) = &self.fallback {
            match operands_are_finite(self.finite, tiled, &frame.pointers, [0; 3], limits) {
                None => return false,
                Some(false) => return fallback.run_all(frame, limits),
                Some(true) => {}
            }
        }
        let places = tiled.places(&frame.pointers, [0; 3]);
        let (unit, pieces) = tiled.cuts(threads);
        let units = tiled.blocks() / unit;
        let stopped = AtomicBool::new(false);
        let done = threads::share(threads, pieces, &|thread, piece| {
            let cut = |n: usize| n * units / pieces * unit;
            let Scratch(scratch) = scratch[thread];
            // SAFETY: the buffers are those of the plan, every thread has scratch memory of its
            // own, which is as large as it says, and pieces are different blocks.
            let whole = || unsafe {
                tiled.run_blocks(cut(piece)..cut(piece + 1), &places, scratch, limits)
            };
            if !stopped.load(Ordering::Relaxed) && !whole() {
                stopped.store(true, Ordering::Relaxed);
            }
        });
        if stopped.into_inner() {
            return false;
        }
        // A kernel does not panic; if one did, its results must not pass for right.
        assert!(done, "a contraction has panicked");
        self.after.as_ref().is_none_or(|(after, _)| after.run_all(frame, limits))
    }

    fn run(&self, frame: &mut Frame, limits: &RunLimits) -> bool {
        self.run_range(frame, 0..1, limits)
    }

    fn run_range(&self, frame: &mut Frame, range: Range<usize>, limits: &RunLimits) -> bool {
        let (core, steps) = match &self.ranged {
            None => (&self.product, [0; 3]),
            Some(ranged) if range.len() == ranged.positions => (&self.product, ranged.steps),
            Some(ranged) => (ranged.rest.as_deref().unwrap_or(&self.product), ranged.steps),
        };
        let core = Tiled::new(core);
        let [to, a, b] = steps.map(|step| step.wrapping_mul(range.start as i64));
        let [left, right] = core.operands([a, b]);
        let start = [to, left, right];
        if let Some(fallback) = &self.fallback {
            match (
                operands_are_finite(self.finite, core, &frame.pointers, start, limits),
                &self.ranged,
            ) {
                (None, _) => return false,
                (Some(false), None) => return fallback.run_all(frame, limits),
                (Some(false), Some(_)) => return fallback.run(frame, range, limits),
                (Some(true), _) => {}
            }
        }
        let scratch = self.scratch.map_or(frame.local(), |b| frame.pointers[b.index()]);
        let places = core.places(&frame.pointers, start);
        // SAFETY: the buffers are those of the plan, and the scratch memory is as large as it says.
        let done = unsafe { core.run_blocks(0..core.blocks(), &places, scratch, limits) };
        done && match &self.after {
            None => true,
            Some((after, true)) => after.run(frame, range, limits),
            Some((after, false)) => after.run_all(frame, limits),
        }
    }
}

/// Whether the operands that must be finite are, so many elements further, for one of the
/// blocks; `None` when a limit was reached.
fn operands_are_finite(
    needed: [bool; 2],
    core: Tiled,
    pointers: &[*mut u8],
    start: [i64; 3],
    limits: &RunLimits,
) -> Option<bool> {
    let places = core.places(pointers, start);
    let operands = [(&core.left, places.left), (&core.right, places.right)];
    let poll = &mut Poll { limits, work: 0 };
    for ((operand, from), _) in
        operands.into_iter().zip(core.operands(needed)).filter(|(_, needed)| *needed)
    {
        let (first, last) = operand.ends;
        // SAFETY: these elements are in the buffer.
        let finite = unsafe {
            match core.dtype {
                Dtype::F32 => all_finite(from.cast::<f32>().add(first), last - first + 1, poll),
                _ => all_finite(from.cast::<f64>().add(first), last - first + 1, poll),
            }
        };
        if finite != Some(true) {
            return finite;
        }
    }
    Some(true)
}

/// The product of a block of packed rows and a block of packed columns.
struct BlockProduct<'a, E> {
    depth: usize,
    left: *const E,
    right: *const E,
    to: *mut E,
    to_rows: &'a [i64],
    to_columns: &'a [i64],
    accumulate: bool,
    factor: E,
}

impl<E: Real> BlockProduct<'_, E> {
    /// # Safety
    /// The operands are packed for the machine; the offsets are those of elements of the target.
    unsafe fn run(&self, machine: &TileFunctions<E>) {
        let (full_rows, full_columns) = (machine.rows, machine.columns(machine.rows));
        for (panel, to_columns) in self.to_columns.chunks(full_columns).enumerate() {
            let columns = to_columns.len();
            let unit = is_unit(to_columns);
            for (strip, to_rows) in self.to_rows.chunks(full_rows).enumerate() {
                let (tile, tail) = machine.tile(to_rows.len(), columns);
                let job = TileJob {
                    depth: self.depth,
                    left: self.left.wrapping_add(strip * full_rows * self.depth),
                    left_row: 1,
                    left_depth: full_rows as i64,
                    right: self.right.wrapping_add(panel * full_columns * self.depth),
                    right_depth: full_columns as i64,
                    to: self.to.wrapping_offset(to_columns[0] as isize),
                    to_rows: to_rows.as_ptr(),
                    tail,
                    accumulate: self.accumulate,
                    factor: self.factor,
                };
                // SAFETY: by the contract.
                unsafe {
                    if unit {
                        tile(&job);
                    } else {
                        let begin = to_columns[0];
                        let step = |v: usize| to_columns[v].wrapping_sub(begin);
                        scattered(job, tile, to_rows.len(), columns, step);
                    }
                }
            }
        }
    }
}

/// Makes a tile whose columns are no neighbours in the target: `step` says how far from the first
/// they are.
///
/// # Safety
/// As the tile, but for the columns.
pub(crate) unsafe fn scattered<E: Real>(
    job: TileJob<E>,
    tile: unsafe fn(&TileJob<E>),
    rows: usize,
    columns: usize,
    step: impl Fn(usize) -> i64,
) {
    let mut room = [MaybeUninit::<E>::uninit(); MOST_ROWS * MOST_COLUMNS];
    let to_rows: [i64; MOST_ROWS] = std::array::from_fn(|r| (r * MOST_COLUMNS) as i64);
    let (to, places, accumulate) = (job.to, job.to_rows, job.accumulate);
    let room: *mut E = room.as_mut_ptr().cast();
    // SAFETY: the room has the rows and columns of the largest tile; the tile writes all of those
    // that are read here.
    unsafe {
        tile(&TileJob { to: room, to_rows: to_rows.as_ptr(), accumulate: false, ..job });
        for r in 0..rows {
            for v in 0..columns {
                let x = room.add(r * MOST_COLUMNS + v).read();
                let to = to.wrapping_offset((places.add(r).read() + step(v)) as isize);
                to.write(if accumulate { to.read() + x } else { x });
            }
        }
    }
}

/// What it takes to pack so many elements, in multiplications.
fn packed(count: usize, depth: usize) -> usize {
    count * depth * PACKED
}

/// Whether all of `n` elements are finite; `None` when a limit was reached.
///
/// # Safety
/// There are so many.
unsafe fn all_finite<E: Real>(from: *const E, n: usize, poll: &mut Poll) -> Option<bool> {
    // SAFETY: by the contract.
    let elements = unsafe { std::slice::from_raw_parts(from, n) };
    for piece in elements.chunks(POLL / READ) {
        if !poll.go_on(piece.len() * READ) {
            return None;
        }
        if !are_finite(piece) {
            return Some(false);
        }
    }
    Some(true)
}

fn are_finite<E: Real>(elements: &[E]) -> bool {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2<E: Real>(elements: &[E]) -> bool {
        vanish_times_zero(elements)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx2,fma")]
    unsafe fn avx512<E: Real>(elements: &[E]) -> bool {
        vanish_times_zero(elements)
    }

    match isa::best() {
        // SAFETY: the instructions are there.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512(elements) },
        // SAFETY: the instructions are there.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { avx2(elements) },
        _ => vanish_times_zero(elements),
    }
}

/// Whether all elements are 0 when multiplied by 0, as the finite ones are.
#[inline(always)]
fn vanish_times_zero<E: Real>(elements: &[E]) -> bool {
    // 0 times anything that is not finite is not 0. Several sums, so that vectors can be used.
    const SUMS: usize = 16;
    let mut sums = [E::ZERO; SUMS];
    let (chunks, rest) = elements.as_chunks::<SUMS>();
    for chunk in chunks {
        for (sum, &x) in sums.iter_mut().zip(chunk) {
            *sum = *sum + x * E::ZERO;
        }
    }
    for (sum, &x) in sums.iter_mut().zip(rest) {
        *sum = *sum + x * E::ZERO;
    }
    sums.iter().all(|&sum| sum == E::ZERO)
}
