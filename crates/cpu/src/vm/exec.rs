//! Running a kernel: the loops, the loads and the writes.

use std::ops::Range;
use std::sync::Arc;

use cotan_array::Dtype;
use cotan_nest::{Affine, BufferId, Component, Instr, Reduction, Val, Write};
use smallvec::SmallVec;

use super::tile::{self, Code};
use super::{Kernel, Planned, TILE};
use super::{extremes, sums};
use crate::limits::RunLimits;
use crate::memory::AlignedMemory;

/// After how much work, of all kernels together, the limits of a run are looked at: in additions of
/// elements, a millisecond or so.
pub(crate) const POLL: usize = 1 << 22;

/// What it costs to begin a kernel, in additions.
#[cfg(target_arch = "x86_64")]
const BEGIN: usize = 256;

/// What it costs to write one element alone.
const PER_STORE: usize = 32;

/// The memory that kernels run in: where each buffer lies, and room for tiles.
pub(crate) struct Frame {
    /// The first byte of each buffer.
    pub pointers: Vec<*mut u8>,
    /// The bytes of each buffer.
    pub sizes: Arc<[usize]>,
    /// Memory for a block of a group, or for what a contraction packs.
    local: AlignedMemory,
    /// What was done since the limits were looked at.
    unpolled: usize,
    tiles: Vec<TileBytes>,
    values: Vec<*const u8>,
    /// What is left of each loop.
    left: Vec<usize>,
    indices: Vec<i64>,
    /// The first index that is out of the range of the lanes.
    lanes_end: usize,
}

/// Room for the elements of a tile, of any type.
#[repr(C, align(64))]
#[derive(Clone)]
struct TileBytes([u64; TILE]);

impl Frame {
    pub(crate) fn new(pointers: Vec<*mut u8>, sizes: Arc<[usize]>, local: AlignedMemory) -> Frame {
        Frame {
            pointers,
            sizes,
            local,
            unpolled: 0,
            tiles: Vec::new(),
            values: Vec::new(),
            left: Vec::new(),
            indices: Vec::new(),
            lanes_end: 0,
        }
    }

    /// Notes work that is about to be done; gives `false` when a limit was reached, which is looked
    /// at from time to time.
    pub(crate) fn go_on(&mut self, work: usize, limits: &RunLimits) -> bool {
        self.unpolled = self.unpolled.saturating_add(work);
        if self.unpolled < POLL {
            return true;
        }
        self.unpolled = 0;
        !limits.reached()
    }

    /// Begins to count anew.
    pub(crate) fn has_looked(&mut self) {
        self.unpolled = 0;
    }

    /// The first byte of the memory for a block, or for a contraction.
    pub(crate) fn local(&self) -> *mut u8 {
        self.local.start()
    }

    /// The byte of a buffer at an element, if the element is within.
    pub(super) fn element(&self, buffer: BufferId, at: i64, size: usize) -> Option<*mut u8> {
        let offset = usize::try_from(at).ok()?.checked_mul(size)?;
        let end = offset.checked_add(size)?;
        if end > self.sizes[buffer.index()] {
            return None;
        }
        // Of a buffer that holds a block only the first byte may lie outside.
        Some(self.pointers[buffer.index()].wrapping_add(offset))
    }

    /// The first byte of `n` elements that lie `step` apart, if all of them are within the buffer:
    /// when both ends are, and the way from one to the other does not wrap.
    fn elements(
        &self,
        buffer: BufferId,
        first: i64,
        step: i64,
        n: usize,
        size: usize,
    ) -> Option<*mut u8> {
        let way = step.checked_mul(i64::try_from(n.checked_sub(1)?).ok()?)?;
        self.element(buffer, first.checked_add(way)?, size)?;
        self.element(buffer, first, size)
    }
}

/// The value of an affine form at the first lane, and its step from lane to lane. Integers wrap.
fn at(affine: &Affine, indices: &[i64], lane: Option<usize>) -> (i64, i64) {
    let terms = affine.coeffs.iter().zip(indices).map(|(c, &i)| c.wrapping_mul(i));
    let sum = terms.fold(affine.constant, i64::wrapping_add);
    (sum, lane.map_or(0, |lane| affine.coeffs[lane]))
}

impl Kernel {
    /// Runs the whole nest.
    pub(crate) fn run_all(&self, frame: &mut Frame, limits: &RunLimits) -> bool {
        self.run(frame, 0..self.positions(), limits)
    }

    /// Runs the nest for a range of the dimension that it is blocked by; gives `false` when a limit
    /// was reached. The buffers of the frame are those that it was planned for.
    pub(crate) fn run(&self, frame: &mut Frame, range: Range<usize>, limits: &RunLimits) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let Some(native) = &self.native {
            if range.is_empty() {
                return true;
            }
            let mut start = range.start;
            while start < range.end {
                let end = range.end.min(start.saturating_add(self.piece));
                let work = self.weight.saturating_mul(end - start).saturating_add(BEGIN);
                if !frame.go_on(work, limits) {
                    return false;
                }
                // SAFETY: the buffers are those that the code was made for, and the range is not
                // empty.
                unsafe { (native.entry)(frame.pointers.as_ptr(), start, end) };
                start = end;
            }
            return true;
        }
        let nest = &self.nest;
        let parallel = nest.extents.len() - nest.reduced;
        if nest.extents[..parallel].contains(&0) {
            return true;
        }
        if range.is_empty() && self.block < self.first_reduced {
            return true;
        }
        if nest.extents[parallel..].contains(&0) {
            return self.sum_of_nothing(frame, &range, limits);
        }
        if range.is_empty() {
            return true;
        }
        // A sum has one more, a search two.
        let tiles = self.registers + 2;
        if frame.tiles.len() < tiles {
            frame.tiles.resize(tiles, TileBytes([0; TILE]));
        }
        frame.values.clear();
        frame.values.resize(nest.instrs.len(), std::ptr::null());
        frame.indices.clear();
        frame.indices.resize(nest.extents.len(), 0);
        if let Some(&dim) = self.dims.get(self.block) {
            frame.indices[dim] = range.start as i64;
        }
        frame.lanes_end = if self.lane_loop == Some(self.block) { range.end } else { self.lanes };
        frame.left.clear();
        frame.left.extend((0..self.loops.len()).map(|k| self.rounds(k, &range)));
        self.begin_sum(frame);
        self.level(0, frame);
        let mut changed = 0;
        loop {
            if !frame.go_on(self.tile_weight, limits) {
                return false;
            }
            for level in changed + 1..=self.loops.len() {
                self.level(level, frame);
            }
            self.write(frame);
            let Some(next) = self.outermost_change(frame) else { break };
            if next < self.first_reduced {
                self.end_sum(frame);
                self.begin_sum(frame);
            }
            changed = next;
            self.advance(frame, next, &range);
        }
        self.end_sum(frame);
        true
    }

    /// How often a loop goes round.
    fn rounds(&self, k: usize, range: &Range<usize>) -> usize {
        match (k == self.block, Some(k) == self.lane_loop) {
            (false, _) => self.loops[k],
            (true, false) => range.len(),
            (true, true) => range.len().div_ceil(self.width),
        }
    }

    /// The outermost loop that changes in the next position, if there is one.
    fn outermost_change(&self, frame: &Frame) -> Option<usize> {
        frame.left.iter().rposition(|&left| left > 1)
    }

    /// Goes on in a loop, and begins those inside of it again.
    fn advance(&self, frame: &mut Frame, from: usize, range: &Range<usize>) {
        let step = if Some(from) == self.lane_loop { self.width } else { 1 };
        frame.left[from] -= 1;
        frame.indices[self.dims[from]] += step as i64;
        for k in from + 1..self.loops.len() {
            frame.left[k] = self.rounds(k, range);
            frame.indices[self.dims[k]] = if k == self.block { range.start as i64 } else { 0 };
        }
    }

    /// The lanes of the tile at hand.
    fn count(&self, frame: &Frame) -> usize {
        match self.lane() {
            Some(lane) => (frame.lanes_end - frame.indices[lane] as usize).min(self.width),
            None => 1,
        }
    }

    fn lane(&self) -> Option<usize> {
        self.lane_loop.map(|k| self.dims[k])
    }

    /// The first byte of a register.
    ///
    /// It comes from the pointer to all tiles and not from a reference to them: values of the other
    /// registers are pointers too, and must outlive it.
    fn register(frame: &mut Frame, register: usize) -> *mut u8 {
        debug_assert!(register < frame.tiles.len(), "a register that is not there");
        // SAFETY: `run` has made a tile for each register and two more.
        unsafe { frame.tiles.as_mut_ptr().add(register).cast() }
    }

    fn level(&self, level: usize, frame: &mut Frame) {
        let count = self.count(frame);
        for planned in &self.levels[level] {
            self.instruction(planned, count, frame);
        }
    }

    fn instruction(&self, planned: &Planned, count: usize, frame: &mut Frame) {
        let register = Self::register(frame, planned.register as usize);
        let n = if planned.uniform { 1 } else { count };
        let mut value: *const u8 = register;
        let operate = |args: &[Val], frame: &Frame| {
            let operand =
                |k: usize| args.get(k).map_or(std::ptr::null(), |v| frame.values[v.index()]);
            let Some(code) = planned.code else { return };
            // SAFETY: operands are registers or runs of memory with at least `n` elements of the
            // types that the code was chosen for.
            unsafe { tile::run(code, register, operand(0), operand(1), operand(2), n) };
        };
        match &self.nest.instrs[planned.val.index()] {
            Instr::Const(bits) => {
                // SAFETY: a register holds at least one element of eight bytes.
                unsafe { tile::put(planned.dtype, register, *bits) };
            }
            Instr::Affine(affine) => {
                let (first, step) = at(affine, &frame.indices, self.lane());
                // SAFETY: a register holds `TILE` integers, and `n` is at most that.
                unsafe { tile::ramp(register.cast(), first, step, n) };
            }
            Instr::Load { buffer, at: place, checks } => {
                value = self.load(planned, *buffer, place, checks, n, register, frame);
            }
            Instr::LoadAt { buffer, index } => {
                let size = planned.dtype.size();
                for k in 0..n {
                    let from =
                        self.place(index, k, frame).and_then(|at| frame.element(*buffer, at, size));
                    // SAFETY: `from` is an element of the buffer, and `k` is below `TILE`.
                    unsafe { tile::put_element(register, k, from, size) };
                }
            }
            Instr::Op(_, args) => operate(args, frame),
            Instr::MulAdd { args, .. } => operate(args, frame),
        }
        if planned.uniform && planned.spread {
            // SAFETY: the value is one element; the register has room for the tile.
            unsafe { tile::spread(planned.dtype, register, value, self.width) };
            value = register;
        }
        frame.values[planned.val.index()] = value;
    }

    /// Elements from affine places: in memory as they lie, or copied to the register.
    #[allow(clippy::too_many_arguments, reason = "the parts of one instruction")]
    fn load(
        &self,
        planned: &Planned,
        buffer: BufferId,
        place: &Affine,
        checks: &[(Affine, i64)],
        n: usize,
        register: *mut u8,
        frame: &Frame,
    ) -> *const u8 {
        let (first, step) = at(place, &frame.indices, self.lane());
        let (lo, hi) = self.checked_lanes(checks, n, frame);
        let size = planned.dtype.size();
        let whole = lo == 0 && hi == n as i64;
        if !whole {
            // SAFETY: a register holds `TILE` elements.
            unsafe { tile::zero(register, n * size) };
            if lo >= hi {
                return register;
            }
        }
        // The place of a lane that is out of range may wrap; on the way to one that is in range it
        // wraps back.
        let from = first.wrapping_add(step.wrapping_mul(lo));
        let Some(begin) = frame.elements(buffer, from, step, (hi - lo) as usize, size) else {
            debug_assert!(false, "an unchecked load outside its buffer");
            // SAFETY: as above.
            unsafe { tile::zero(register, n * size) };
            return register;
        };
        if whole && (step == 1 || n == 1) {
            return begin;
        }
        // SAFETY: lanes `lo..hi` of the register; elements of the buffer.
        unsafe {
            let to = register.add(lo as usize * size);
            tile::strided(planned.dtype, to, begin, step, (hi - lo) as usize);
        }
        register
    }

    /// The lanes at which no check fails: they are next to each other.
    fn checked_lanes(&self, checks: &[(Affine, i64)], n: usize, frame: &Frame) -> (i64, i64) {
        checks.iter().fold((0, n as i64), |(lo, hi), (affine, size)| {
            let (a, b) = at(affine, &frame.indices, self.lane());
            let (from, to) = valid_lanes(a, b, *size, n as i64);
            (lo.max(from), hi.min(to))
        })
    }

    /// The place of a computed index at a lane.
    fn place(&self, index: &[Component], lane: usize, frame: &Frame) -> Option<i64> {
        let mut at = 0i64;
        for component in index {
            let values = frame.values[component.value.index()].cast::<i64>();
            // SAFETY: an integer value has an element for each lane, or one when it is uniform and
            // so is everything that reads it.
            let i = unsafe { values.add(lane).read_unaligned() };
            if i < 0 || i as u64 >= component.size as u64 {
                return None;
            }
            // Of an array without elements strides may be anything.
            at = at.wrapping_add(i.wrapping_mul(component.stride));
        }
        Some(at)
    }

    // ---- writes -------------------------------------------------------------------------------

    fn value(&self, frame: &Frame) -> (*const u8, Dtype) {
        let v: Val = self.nest.value;
        (frame.values[v.index()], self.nest.dtypes[v.index()])
    }

    fn write(&self, frame: &mut Frame) {
        let n = self.count(frame);
        for also in &self.nest.also {
            let value = frame.values[also.value.index()];
            let dtype = self.nest.dtypes[also.value.index()];
            let (first, step) = at(&also.at, &frame.indices, self.lane());
            store(frame, also.target, value, dtype, (first, step), n);
        }
        let (value, dtype) = self.value(frame);
        let size = dtype.size();
        match &self.nest.write {
            Write::Store(place) => {
                let place = at(place, &frame.indices, self.lane());
                store(frame, self.nest.target, value, dtype, place, n);
            }
            Write::Sum(_) => {
                let sum = Self::register(frame, self.registers);
                let value = |v: Val| frame.values[v.index()];
                // SAFETY: all have `n` elements of the type; the sum is in a register of its own.
                unsafe {
                    match self.product {
                        Some((a, b)) => {
                            let factors = (value(a), value(b));
                            sums::add_products(dtype, sum, factors, n, self.lanes_reduced);
                        }
                        None => {
                            sums::add(dtype, sum, value(self.nest.value), n, self.lanes_reduced)
                        }
                    }
                }
            }
            Write::Best { largest, .. } => {
                let best = Self::register(frame, self.registers);
                let how = (Reduction::best(*largest), self.lanes_reduced);
                // SAFETY: as of a sum.
                unsafe { sums::combine(dtype, best, value, n, how) };
            }
            Write::Extreme { largest, .. } => {
                let parallel = self.nest.extents.len() - self.nest.reduced;
                let first = frame.indices.get(parallel).copied().unwrap_or(0);
                let step = i64::from(self.lanes_reduced);
                let champions = Self::champions(self, frame);
                let how = (*largest, self.lanes_reduced);
                // SAFETY: `n` lanes of the type; the champions are in registers of their own.
                unsafe {
                    extremes::search_lanes(dtype, champions, value, (first, step), n, how);
                }
            }
            Write::Add { at: place, checks } => {
                let (first, step) = at(place, &frame.indices, self.lane());
                let (lo, hi) = self.checked_lanes(checks, n, frame);
                if lo >= hi {
                    return;
                }
                // A place that wraps wraps back, as in `load`.
                let first = first.wrapping_add(step.wrapping_mul(lo));
                let n = (hi - lo) as usize;
                let Some(begin) = frame.elements(self.nest.target, first, step, n, size) else {
                    debug_assert!(false, "an addition outside its buffer");
                    return;
                };
                // SAFETY: lanes `lo..hi` of the value; elements of the target.
                unsafe {
                    let from = value.add(lo as usize * size);
                    tile::add_strided(dtype, begin, step, from, n);
                }
            }
            Write::AddAt(index) => {
                let add = Code::add(dtype);
                for k in 0..n {
                    let Some(place) = self.place(index, k, frame) else { continue };
                    let Some(to) = frame.element(self.nest.target, place, size) else { continue };
                    // SAFETY: `to` is an element of the target, `k` a lane of the value.
                    unsafe {
                        let from = value.add(k * size);
                        tile::run(add, to, to, from, std::ptr::null(), 1);
                    }
                }
            }
            Write::StoreAt(index) => {
                for k in 0..n {
                    let Some(place) = self.place(index, k, frame) else { continue };
                    let Some(to) = frame.element(self.nest.target, place, size) else { continue };
                    // SAFETY: `to` is an element of the target, `k` a lane of the value.
                    unsafe { std::ptr::copy_nonoverlapping(value.add(k * size), to, size) };
                }
            }
        }
    }

    /// Where the best elements and their positions are.
    fn champions(&self, frame: &mut Frame) -> (*mut u8, *mut i64) {
        let at = Self::register(frame, self.registers + 1).cast();
        (Self::register(frame, self.registers), at)
    }

    fn begin_sum(&self, frame: &mut Frame) {
        if let Write::Extreme { .. } = self.nest.write {
            let (_, at) = self.champions(frame);
            // SAFETY: a register holds `TILE` integers.
            unsafe { extremes::begin(at) };
        }
        if let Write::Sum(_) = self.nest.write {
            let sum = Self::register(frame, self.registers);
            // SAFETY: a register holds `TILE` elements of eight bytes.
            unsafe { tile::zero(sum, self.width.max(sums::ACCUMULATOR_BYTES / 8) * 8) };
        }
        if let Write::Best { largest, .. } = self.nest.write {
            let (_, dtype) = self.value(frame);
            let best = Self::register(frame, self.registers);
            let worst = sums::worst(dtype, largest);
            // SAFETY: a register holds `TILE` elements, which are more than the accumulators.
            unsafe {
                tile::put(dtype, best, worst);
                tile::spread(dtype, best, best, self.width.max(sums::accumulators(dtype)));
            }
        }
    }

    /// Stores the sum of the parallel position that is left, whose indices are still set.
    fn end_sum(&self, frame: &mut Frame) {
        let (_, mut dtype) = self.value(frame);
        let mut sum = Self::register(frame, self.registers);
        let place = match &self.nest.write {
            Write::Sum(place) => {
                if self.lanes_reduced {
                    // SAFETY: the register holds the accumulators.
                    unsafe { sums::fold(Reduction::Sum, dtype, sum) };
                }
                place
            }
            Write::Best { at: place, largest } => {
                if self.lanes_reduced {
                    // SAFETY: the register holds the accumulators.
                    unsafe { sums::fold(Reduction::best(*largest), dtype, sum) };
                }
                place
            }
            Write::Extreme { at: place, largest } => {
                let champions = self.champions(frame);
                if self.lanes_reduced {
                    // SAFETY: the registers hold champions, and there was a lane.
                    unsafe { extremes::end(dtype, champions, *largest) };
                }
                (sum, dtype) = (champions.1.cast(), Dtype::I64);
                place
            }
            Write::Store(_) => return,
            Write::Add { .. } | Write::AddAt(_) | Write::StoreAt(_) => return,
        };
        if self.lanes_reduced {
            let (first, _) = at(place, &frame.indices, None);
            store(frame, self.nest.target, sum, dtype, (first, 0), 1);
        } else {
            let place = at(place, &frame.indices, self.lane());
            let n = self.count(frame);
            store(frame, self.nest.target, sum, dtype, place, n);
        }
    }

    /// Zeros at every parallel position: the target may be a part of a larger array.
    fn sum_of_nothing(&self, frame: &mut Frame, range: &Range<usize>, limits: &RunLimits) -> bool {
        let nest = &self.nest;
        let Some(place) = nest.write.place() else { return true };
        let dtype = match nest.write {
            Write::Extreme { .. } => Dtype::I64,
            _ => nest.dtypes[nest.value.index()],
        };
        let parallel = nest.extents.len() - nest.reduced;
        // Only what the run is restricted to: of a block there may be no more in memory.
        let blocked = self.dims.get(self.block).copied();
        let bounds: SmallVec<[(i64, i64); 8]> = (0..parallel)
            .map(|dim| match Some(dim) == blocked {
                true => (range.start as i64, range.end as i64),
                false => (0, nest.extents[dim] as i64),
            })
            .collect();
        let mut indices = vec![0i64; nest.extents.len()];
        indices.iter_mut().zip(&bounds).for_each(|(index, &(start, _))| *index = start);
        let zero = 0u64;
        loop {
            if !frame.go_on(PER_STORE, limits) {
                return false;
            }
            let (first, _) = at(place, &indices, None);
            store(frame, nest.target, std::ptr::from_ref(&zero).cast(), dtype, (first, 0), 1);
            let next = |dim: &usize| indices[*dim] + 1 < bounds[*dim].1;
            let Some(dim) = (0..parallel).rev().find(next) else { return true };
            indices[dim] += 1;
            for inner in dim + 1..parallel {
                indices[inner] = bounds[inner].0;
            }
        }
    }
}

/// Stores lanes of a value at places that have a first one and lie a step apart.
fn store(
    frame: &Frame,
    target: BufferId,
    value: *const u8,
    dtype: Dtype,
    (first, step): (i64, i64),
    n: usize,
) {
    let Some(begin) = frame.elements(target, first, step, n, dtype.size()) else {
        debug_assert!(false, "a store outside its buffer");
        return;
    };
    // SAFETY: `n` lanes of the value; elements of the target.
    unsafe { tile::store(dtype, begin, step, value, n) };
}

/// The lanes from 0 to `n` at which `a + b * lane` is from 0 to `size`, as a half-open range. All
/// are so far below the largest integer that their sum is, too.
fn valid_lanes(a: i64, b: i64, size: i64, n: i64) -> (i64, i64) {
    match b {
        0 if a >= 0 && a < size => (0, n),
        0 => (0, 0),
        b if b > 0 => {
            let lo = if a >= 0 { 0 } else { (-a + b - 1) / b };
            let hi = if a >= size { 0 } else { (size - a + b - 1) / b };
            (lo.min(n), hi.clamp(0, n))
        }
        b => {
            let c = -b;
            let lo = if a < size { 0 } else { (a - size) / c + 1 };
            let hi = if a < 0 { 0 } else { a / c + 1 };
            (lo.min(n), hi.clamp(0, n))
        }
    }
}
