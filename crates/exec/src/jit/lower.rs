//! From a nest to vector code: loops, addresses, loads and writes.

use cotan_array::Dtype;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::isa::Isa;
use super::lir::{
    Add, Address, Fused, Ins, Int, IntCompare, Kind, Lir, One, Places, Start, Trips, Turns, Two, V,
};
use super::shape::{Item, Order, Shape, is_narrow, known_exponent, used};
use crate::nest::{Affine, BufferId, Component, Instr, Nest, Write};
use crate::vm::Code;

/// The bytes of the accumulators of a sum along the lanes, whatever the machine.
const ACCUMULATORS: usize = 128;
/// Addresses reach so far from their base.
const REACH: i64 = 1 << 30;

/// Affine forms with these coefficients, times a number, from a buffer or from 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Group {
    buffer: Option<BufferId>,
    scale: i64,
    offset: i64,
    coeffs: SmallVec<[i64; 4]>,
}

/// The vectors that a turn of the lane loop takes.
#[derive(Clone, Debug)]
struct Strip {
    copies: usize,
    /// The lanes that exist, where not all do.
    masks: Vec<Option<V>>,
}

/// What a loop steps over: for the groups that have to follow.
struct Stepping {
    dim: usize,
    /// How far a turn goes.
    step: i64,
    /// How far to go back at the end.
    back: Back,
}

/// How far the integers of a loop go back at its end.
#[derive(Clone, Copy)]
enum Back {
    By(i64),
    /// By the indices of the run, or by its lanes that are done.
    Run,
}

/// How to arrange the copies of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unroll {
    /// How many vectors a turn takes, unless lanes are reduced: then it takes all accumulators.
    pub copies: usize,
    /// Whether a copy ends before the next begins.
    pub one_by_one: bool,
}

pub(super) struct Lowering<'a> {
    pub lir: Lir,
    pub order: Order<'a>,
    /// The functions of the tile machine that the code calls.
    pub codes: Vec<Code>,
    shape: Shape,
    unroll: Unroll,
    values: Vec<SmallVec<[V; 4]>>,
    masks: Vec<SmallVec<[V; 4]>>,
    groups: FxHashMap<Group, Int>,
    stepping: Vec<Stepping>,
    sums: Vec<V>,
}

/// The vector code of a kernel; `None` if it has something that there is no code for.
pub(super) fn lower(order: Order, isa: Isa, unroll: Unroll) -> Option<(Lir, Vec<Code>)> {
    let nest = order.nest;
    if nest.extents.contains(&0) {
        return None;
    }
    let shape = Shape::new(&order);
    let narrow = is_narrow(nest, &used(&order), super::ops::is_native);
    let mut lowering = Lowering {
        lir: Lir::new(isa, if narrow { 4 } else { 8 }),
        order,
        codes: Vec::new(),
        unroll,
        values: vec![SmallVec::new(); nest.instrs.len()],
        masks: vec![SmallVec::new(); shape.checks.len()],
        shape,
        groups: FxHashMap::default(),
        stepping: Vec::new(),
        sums: Vec::new(),
    };
    lowering.level(0, &Strip { copies: 1, masks: vec![None] })?;
    lowering.follow()?;
    Some((lowering.lir, lowering.codes))
}

/// About how many instructions the body of a nest has.
pub(super) fn length(nest: &Nest) -> usize {
    let one = |instr: &Instr| match instr {
        Instr::Op(op, _) => super::math::length(*op),
        Instr::Load { checks, .. } => 1 + 4 * checks.len(),
        Instr::LoadAt { index, .. } => 1 + 6 * index.len(),
        Instr::Const(_) | Instr::Affine(_) | Instr::MulAdd { .. } => 1,
    };
    nest.instrs.iter().map(one).sum()
}

pub(super) fn kind_of(dtype: Dtype) -> Kind {
    match dtype {
        Dtype::F64 | Dtype::I64 => Kind::Wide,
        Dtype::F32 => Kind::Narrow,
        Dtype::Bool => Kind::Mask,
    }
}

impl Lowering<'_> {
    fn lanes(&self) -> usize {
        self.order.lane.map_or(1, |lane| self.order.nest.extents[lane])
    }

    fn lanes_reduced(&self) -> bool {
        let parallel = self.order.nest.extents.len() - self.order.nest.reduced;
        self.order.lane.is_some_and(|lane| lane >= parallel)
    }

    /// The kind of the largest lanes.
    fn unit(&self) -> Kind {
        if self.lir.unit == 8 { Kind::Wide } else { Kind::Narrow }
    }

    // ---- loops --------------------------------------------------------------------------------

    fn level(&mut self, depth: usize, strip: &Strip) -> Option<()> {
        self.items(depth, strip)?;
        let sum = matches!(self.order.nest.write, Write::Sum(_));
        let begins = sum && depth == self.order.first_reduced;
        if begins {
            self.begin_sum(strip);
        }
        match self.order.dims.get(depth) {
            None => self.write(strip)?,
            Some(&dim) if Some(dim) == self.order.lane => self.lane_loop(depth)?,
            Some(&dim) => {
                let counter = self.lir.int(Start { buffer: None, offset: 0, per_first: 0 });
                let extent = self.order.nest.extents[dim];
                let (trips, back) = if depth == self.order.block {
                    (Trips::Run(counter), if depth == 0 { Back::By(0) } else { Back::Run })
                } else {
                    (Trips::Count(counter, extent), Back::By(i64::try_from(extent).ok()?))
                };
                let k = self.enter(trips, Stepping { dim, step: 1, back });
                self.level(depth + 1, strip)?;
                self.lir.code.push(Ins::Leave(k));
            }
        }
        if begins {
            self.end_sum(strip)?;
        }
        Some(())
    }

    fn enter(&mut self, trips: Trips, stepping: Stepping) -> usize {
        let per_run = matches!(stepping.back, Back::Run);
        self.lir.loops.push(Turns { trips, steps: Vec::new(), reset: Vec::new(), per_run });
        self.stepping.push(stepping);
        let k = self.lir.loops.len() - 1;
        self.lir.code.push(Ins::Enter(k));
        k
    }

    fn lane_loop(&mut self, depth: usize) -> Option<()> {
        let dim = self.order.lane?;
        let (lanes, width) = (self.lanes(), self.lir.lanes);
        let all = lanes.div_ceil(width);
        let copies = if self.lanes_reduced() { self.sums.len() } else { self.unroll.copies };
        let copies = copies.min(all).max(1);
        let step = copies * width;
        let whole = |copies: usize| Strip { copies, masks: vec![None; copies] };
        let turn = |step: usize, back: Back| Stepping { dim, step: step as i64, back };
        if depth == self.order.block {
            self.lir.code.push(Ins::FirstLane(true));
            if lanes >= step {
                let k = self.enter(Trips::RunLanes { step }, turn(step, Back::By(0)));
                self.level(depth + 1, &whole(copies))?;
                self.lir.code.push(Ins::Leave(k));
            }
            let rest = if self.lanes_reduced() { copies } else { 1 };
            let back = if depth == 0 { Back::By(0) } else { Back::Run };
            let step = rest * width;
            let k = self.enter(Trips::RunRest { step }, turn(step, back));
            let strip = self.partial(rest, |l, copy| {
                let to = l.lir.value(l.unit());
                l.lir.code.push(Ins::SplatRest(to, -((copy * width) as i64)));
                Some(to)
            });
            self.level(depth + 1, &strip)?;
            self.lir.code.push(Ins::Leave(k));
            return Some(());
        }
        self.lir.code.push(Ins::FirstLane(false));
        let end = lanes / step * step;
        let rest = lanes - end;
        if end > 0 {
            // What comes after the last turn begins where that ends.
            let back = Back::By(if rest == 0 { end as i64 } else { 0 });
            let k = self.enter(Trips::Lanes { step, end }, turn(step, back));
            self.level(depth + 1, &whole(copies))?;
            self.lir.code.push(Ins::Leave(k));
        }
        if rest > 0 {
            let copies = rest.div_ceil(width);
            let k = self.enter(Trips::Once, turn(0, Back::By(end as i64)));
            let strip = self.partial(copies, |l, copy| {
                let left = rest - copy * width;
                (left < width).then(|| l.lir.constant(l.unit(), left as u64))
            });
            self.level(depth + 1, &strip)?;
            self.lir.code.push(Ins::Leave(k));
        }
        Some(())
    }

    /// A strip of which each copy has only so many lanes as `left` says.
    fn partial(
        &mut self,
        copies: usize,
        left: impl Fn(&mut Self, usize) -> Option<V>,
    ) -> Strip {
        let masks = (0..copies)
            .map(|copy| {
                let left = left(self, copy)?;
                let iota = self.lir.table(self.unit(), |k| k as u64);
                Some(self.lir.compare_int(IntCompare::Greater, left, iota))
            })
            .collect();
        Strip { copies, masks }
    }

    /// Makes the groups follow the loops.
    fn follow(&mut self) -> Option<()> {
        let mut groups: Vec<(&Group, Int)> = self.groups.iter().map(|(g, &i)| (g, i)).collect();
        groups.sort_by_key(|&(_, i)| i);
        for (turns, stepping) in self.lir.loops.iter_mut().zip(&self.stepping) {
            for &(group, i) in &groups {
                let by = group.coeffs[stepping.dim].checked_mul(group.scale)?;
                let step = by.checked_mul(stepping.step)?;
                if step != 0 {
                    turns.steps.push((i, step));
                }
                let back = match stepping.back {
                    Back::By(far) => by.checked_mul(far)?.checked_neg()?,
                    Back::Run => by.checked_neg()?,
                };
                if back != 0 {
                    turns.reset.push((i, back));
                }
            }
        }
        Some(())
    }

    // ---- addresses ----------------------------------------------------------------------------

    fn group(&mut self, group: Group) -> Option<Int> {
        if let Some(&i) = self.groups.get(&group) {
            return Some(i);
        }
        let per_first = match self.order.dims.get(self.order.block) {
            Some(&dim) => group.coeffs[dim].checked_mul(group.scale)?,
            None => 0,
        };
        let buffer = group.buffer.map(|b| b.0);
        let i = self.lir.int(Start { buffer, offset: group.offset, per_first });
        self.groups.insert(group, i);
        Some(i)
    }

    fn lane_step(&self, affine: &Affine) -> i64 {
        self.order.lane.map_or(0, |lane| affine.coeffs[lane])
    }

    /// The address of an affine place for the first lane of a copy.
    fn address(
        &mut self,
        buffer: BufferId,
        affine: &Affine,
        size: usize,
        copy: usize,
    ) -> Option<Address> {
        let scale = size as i64;
        let lane_step = self.lane_step(affine);
        let mut coeffs = affine.coeffs.clone();
        let along = lane_step == 1;
        if let (true, Some(lane)) = (along, self.order.lane) {
            coeffs[lane] = 0;
        }
        let constant = affine.constant.checked_mul(scale)?;
        let near = constant.abs() < REACH;
        let (offset, rest) = if near { (0, constant) } else { (constant, 0) };
        let ahead = lane_step.checked_mul((copy * self.lir.lanes) as i64)?.checked_mul(scale)?;
        let reach = rest.checked_add(ahead).filter(|at| at.abs() < 2 * REACH - 1)?;
        let base = self.group(Group { buffer: Some(buffer), scale, offset, coeffs })?;
        Some(Address {
            base,
            offset: i32::try_from(reach).ok()?,
            along: along.then_some(size as u8),
        })
    }

    /// An affine form as a vector of integers.
    fn ramp(&mut self, affine: &Affine, kind: Kind, copy: usize) -> Option<V> {
        if let Some(known) = affine.known() {
            return Some(self.lir.constant(kind, known as u64));
        }
        let coeffs = affine.coeffs.clone();
        let from = self.group(Group { buffer: None, scale: 1, offset: 0, coeffs })?;
        let step = self.lane_step(affine);
        let ahead = step.wrapping_mul((copy * self.lir.lanes) as i64);
        let first = self.lir.splat(kind, from, affine.constant.wrapping_add(ahead));
        if step == 0 {
            return Some(first);
        }
        let steps = self.lir.table(kind, |k| step.wrapping_mul(k as i64) as u64);
        Some(self.lir.two(Two::IntAdd, first, steps))
    }

    // ---- values -------------------------------------------------------------------------------

    fn items(&mut self, depth: usize, strip: &Strip) -> Option<()> {
        let items = self.shape.levels[depth].clone();
        let (rounds, per_round) =
            if self.unroll.one_by_one { (strip.copies, 1) } else { (1, strip.copies) };
        for round in 0..rounds {
            for &item in &items {
                let uniform = match item {
                    Item::Check(n) => self.shape.check_uniform[n],
                    Item::Value(n) => self.shape.uniform[n],
                };
                let copies = if uniform {
                    if round == 0 { 0..1 } else { 0..0 }
                } else {
                    round * per_round..(round + 1) * per_round
                };
                for copy in copies {
                    self.item(item, copy, strip)?;
                }
            }
        }
        Some(())
    }

    fn item(&mut self, item: Item, copy: usize, strip: &Strip) -> Option<()> {
        let (v, list) = match item {
            Item::Check(n) => (self.check(n, copy)?, &mut self.masks[n]),
            Item::Value(n) => (self.instruction(n, copy, strip)?, &mut self.values[n]),
        };
        // Copies come in order; those of another strip are over.
        list.truncate(copy);
        list.push(v);
        Some(())
    }

    /// The mask of a check.
    fn check(&mut self, n: usize, copy: usize) -> Option<V> {
        let (affine, size) = self.shape.checks[n].clone();
        let (lo, hi) = affine.range(&self.order.nest.extents)?;
        let kind = self.unit();
        let reach = (self.lir.lanes * 8) as i64 * affine.coeffs.iter().map(|c| c.abs()).max()?;
        let far = i64::from(i32::MAX) - 1;
        if kind == Kind::Narrow && (lo.min(-reach) < -far || hi.max(reach).max(size) > far / 2) {
            return None;
        }
        let at = self.ramp(&affine, kind, copy)?;
        let mut mask = None;
        if lo < 0 {
            let below = self.lir.constant(kind, -1i64 as u64);
            mask = Some(self.lir.compare_int(IntCompare::Greater, at, below));
        }
        if hi >= size {
            let end = self.lir.constant(kind, size as u64);
            let less = self.lir.compare_int(IntCompare::Greater, end, at);
            mask = self.lir.both(mask, Some(less));
        }
        Some(match mask {
            Some(mask) => mask,
            None => self.lir.fixed(true),
        })
    }

    /// A value for a copy: one that is the same for all is there once.
    fn value(&self, n: usize, copy: usize) -> Option<V> {
        let at = if self.shape.uniform[n] { 0 } else { copy };
        self.values[n].get(at).copied()
    }

    /// Where all checks hold.
    fn checked(&mut self, checks: &[(Affine, i64)], copy: usize) -> Option<Option<V>> {
        let mut all = None;
        for check in checks {
            let n = self.shape.number(check)?;
            let at = if self.shape.check_uniform[n] { 0 } else { copy };
            let mask = *self.masks[n].get(at)?;
            all = self.lir.both(all, Some(mask));
        }
        Some(all)
    }

    fn instruction(&mut self, n: usize, copy: usize, strip: &Strip) -> Option<V> {
        let nest = self.order.nest;
        let dtype = nest.dtypes[n];
        match &nest.instrs[n] {
            Instr::Const(bits) if dtype == Dtype::Bool => Some(self.lir.fixed(*bits != 0)),
            Instr::Const(bits) => Some(self.lir.constant(kind_of(dtype), *bits)),
            Instr::Affine(affine) => self.ramp(affine, Kind::Wide, copy),
            Instr::Load { buffer, at, checks } => {
                let mut mask = self.checked(checks, copy)?;
                if self.lane_step(at) != 0 {
                    mask = self.lir.both(mask, strip.masks[copy]);
                }
                self.load(*buffer, dtype, at, mask, copy)
            }
            Instr::LoadAt { buffer, index } => {
                let (place, mask) = self.place(index, copy)?;
                let size = dtype.size();
                let zero = Affine::constant(0, nest.extents.len());
                let address = self.address(*buffer, &zero, size, 0)?;
                Some(self.gather(dtype, address, place, mask))
            }
            Instr::Op(op, args) => {
                let exponent = known_exponent(nest, n);
                let count = if exponent.is_some() { 1 } else { args.len() };
                let mut operands: SmallVec<[(V, Dtype); 3]> = SmallVec::new();
                for v in args.iter().take(count) {
                    operands.push((self.value(v.index(), copy)?, nest.dtypes[v.index()]));
                }
                self.op(*op, &operands, dtype, exponent)
            }
            Instr::MulAdd { args, minus_product, minus_addend } => {
                let [a, b, c] = args.map(|v| self.value(v.index(), copy));
                let (a, b, c) = (a?, b?, c?);
                let op = match (minus_product, minus_addend) {
                    (false, false) => Fused::MulAdd,
                    (false, true) => Fused::MulSub,
                    (true, false) => Fused::NegMulAdd,
                    (true, true) => Fused::NegMulSub,
                };
                Some(self.lir.fused(op, a, b, c))
            }
        }
    }

    fn gather(&mut self, dtype: Dtype, address: Address, place: V, mask: V) -> V {
        let kind = kind_of(dtype);
        let to = self.lir.value(kind);
        if dtype == Dtype::Bool {
            self.lir.code.push(Ins::LoadLanes(to, 1, address, Places::At(place), Some(mask)));
        } else {
            let mask = self.lir.fit(mask, kind);
            self.lir.code.push(Ins::Gather(to, address, place, mask));
        }
        to
    }

    fn load(
        &mut self,
        buffer: BufferId,
        dtype: Dtype,
        place: &Affine,
        mask: Option<V>,
        copy: usize,
    ) -> Option<V> {
        let (size, kind) = (dtype.size(), kind_of(dtype));
        let address = self.address(buffer, place, size, copy)?;
        let step = self.lane_step(place);
        let apart = step.checked_mul(size as i64)?;
        // The lanes of a vector are not too far apart for an instruction.
        apart.checked_mul(self.lir.lanes as i64).filter(|far| far.abs() < REACH)?;
        let bool = dtype == Dtype::Bool;
        if !bool && step != 1 && (mask.is_some() || step != 0) {
            let inserted = self.lir.isa == Isa::Avx2 && kind == Kind::Wide && mask.is_none();
            if !inserted {
                let places =
                    self.lir.table(self.unit(), |k| step.wrapping_mul(k as i64) as u64);
                let mask = match mask {
                    Some(mask) => mask,
                    None => self.lir.fixed(true),
                };
                return Some(self.gather(dtype, address, places, mask));
            }
        }
        let to = self.lir.value(kind);
        let ins = match (step, bool, mask) {
            (0, false, _) => Ins::Broadcast(to, address),
            (0, true, None) => Ins::BroadcastBool(to, address),
            (1, false, mask) => {
                let mask = mask.map(|mask| self.lir.fit(mask, kind));
                Ins::Load(to, address, mask)
            }
            (1, true, None) => Ins::LoadBools(to, address),
            (_, _, mask) => Ins::LoadLanes(to, size as u8, address, Places::Apart(apart), mask),
        };
        self.lir.code.push(ins);
        Some(to)
    }

    /// The place of a computed index, in elements, and where it is within.
    fn place(&mut self, index: &[Component], copy: usize) -> Option<(V, V)> {
        let lir = &mut self.lir;
        let mut mask = None;
        for component in index {
            let at = if self.shape.uniform[component.value.index()] { 0 } else { copy };
            let i = *self.values[component.value.index()].get(at)?;
            let below = lir.constant(Kind::Wide, -1i64 as u64);
            let size = i64::try_from(component.size).ok()?;
            let end = lir.constant(Kind::Wide, size as u64);
            let above = lir.compare_int(IntCompare::Greater, i, below);
            let less = lir.compare_int(IntCompare::Greater, end, i);
            let both = lir.two(Two::And, above, less);
            mask = lir.both(mask, Some(both));
        }
        let mask = match mask {
            Some(mask) => mask,
            None => lir.fixed(true),
        };
        let mut place = None;
        for component in index {
            let at = if self.shape.uniform[component.value.index()] { 0 } else { copy };
            let i = *self.values[component.value.index()].get(at)?;
            let scaled = if component.stride == 1 {
                i
            } else {
                // Both factors are below 2^32 where it matters.
                let stride = u32::try_from(component.stride).ok()?;
                u32::try_from(component.size).ok()?;
                let inside = lir.keep(mask, i);
                let stride = lir.constant(Kind::Wide, u64::from(stride));
                lir.two(Two::MulLow, inside, stride)
            };
            place = Some(match place {
                Some(place) => lir.two(Two::IntAdd, place, scaled),
                None => scaled,
            });
        }
        let place = match place {
            Some(place) => place,
            None => lir.constant(Kind::Wide, 0),
        };
        Some((place, mask))
    }

    // ---- writes -------------------------------------------------------------------------------

    fn begin_sum(&mut self, strip: &Strip) {
        let nest = self.order.nest;
        let dtype = nest.dtypes[nest.value.index()];
        let kind = kind_of(dtype);
        let count = if self.lanes_reduced() {
            // Accumulators that no lane is added to are left out.
            let all = ACCUMULATORS / self.lir.bytes(kind);
            all.min(self.lanes().div_ceil(self.lir.lanes))
        } else {
            strip.copies
        };
        self.sums = (0..count)
            .map(|_| {
                let sum = self.lir.value(kind);
                self.lir.code.push(Ins::Zero(sum));
                sum
            })
            .collect();
    }

    fn end_sum(&mut self, strip: &Strip) -> Option<()> {
        let nest = self.order.nest;
        let Write::Sum(at) = &nest.write else { return None };
        let dtype = nest.dtypes[nest.value.index()];
        let sums = std::mem::take(&mut self.sums);
        if !self.lanes_reduced() {
            for (copy, &sum) in sums.iter().enumerate() {
                self.store(sum, dtype, at, copy, strip.masks[copy])?;
            }
            return Some(());
        }
        let sum = self.fold(&sums, dtype)?;
        let address = self.address(nest.target, at, dtype.size(), 0)?;
        self.lir.code.push(Ins::StoreFirst(sum, address));
        Some(())
    }

    /// The sum of all accumulators: the upper half is added to the lower until one is left.
    fn fold(&mut self, sums: &[V], dtype: Dtype) -> Option<V> {
        let op = if dtype == Dtype::I64 { Two::IntAdd } else { Two::Add };
        let bytes = self.lir.bytes(kind_of(dtype));
        let mut sums: Vec<V> = sums.to_vec();
        let mut half = ACCUMULATORS / bytes / 2;
        while half >= 1 {
            for k in half..sums.len().min(2 * half) {
                sums[k - half] = self.lir.two(op, sums[k - half], sums[k]);
            }
            sums.truncate(half);
            half /= 2;
        }
        let mut sum = *sums.first()?;
        let mut left = bytes;
        while left > dtype.size() {
            let upper = self.lir.one(One::Upper(left as u8), sum);
            sum = self.lir.two(op, sum, upper);
            left /= 2;
        }
        Some(sum)
    }

    fn store(
        &mut self,
        v: V,
        dtype: Dtype,
        at: &Affine,
        copy: usize,
        mask: Option<V>,
    ) -> Option<()> {
        let (size, kind) = (dtype.size(), kind_of(dtype));
        let address = self.address(self.order.nest.target, at, size, copy)?;
        let step = self.lane_step(at);
        let apart = step.checked_mul(size as i64)?;
        apart.checked_mul(self.lir.lanes as i64).filter(|far| far.abs() < REACH)?;
        let ins = match (step, dtype == Dtype::Bool, mask) {
            (0, _, _) if self.lanes() == 1 => Ins::StoreFirst(v, address),
            // Lanes that all go to one place: that is no way to store.
            (0, _, _) => return None,
            (1, false, mask) => {
                let mask = mask.map(|mask| self.lir.fit(mask, kind));
                Ins::Store(v, address, mask)
            }
            (1, true, None) => Ins::StoreBools(v, address),
            (_, _, mask) => Ins::StoreLanes(v, size as u8, address, Places::Apart(apart), mask),
        };
        self.lir.code.push(ins);
        Some(())
    }

    fn write(&mut self, strip: &Strip) -> Option<()> {
        let nest = self.order.nest;
        let n = nest.value.index();
        let dtype = nest.dtypes[n];
        for copy in 0..strip.copies {
            let mask = strip.masks[copy];
            if let Some((a, b)) = self.order.product {
                let (mut a, mut b) = (self.value(a.index(), copy)?, self.value(b.index(), copy)?);
                if let (true, Some(mask)) = (self.lanes_reduced(), mask) {
                    (a, b) = (self.lir.keep(mask, a), self.lir.keep(mask, b));
                }
                let sum = *self.sums.get(copy)?;
                self.lir.code.push(Ins::MulAddTo(sum, a, b));
                continue;
            }
            let v = self.value(n, copy)?;
            match &nest.write {
                Write::Store(at) => self.store(v, dtype, at, copy, mask)?,
                Write::Sum(_) => {
                    let v = match mask {
                        Some(mask) if self.lanes_reduced() => self.lir.keep(mask, v),
                        _ => v,
                    };
                    let sum = *self.sums.get(copy)?;
                    self.lir.code.push(Ins::AddTo(sum, v, dtype == Dtype::I64));
                }
                Write::Add { at, checks } => {
                    let checked = self.checked(checks, copy)?;
                    let mask = self.existing(checked, mask);
                    let address = self.address(nest.target, at, dtype.size(), copy)?;
                    let apart = self.lane_step(at).checked_mul(dtype.size() as i64)?;
                    apart.checked_mul(self.lir.lanes as i64).filter(|f| f.abs() < REACH)?;
                    let add = add_of(dtype)?;
                    if apart == dtype.size() as i64 {
                        // Every lane has a place of its own.
                        let mask = mask.map(|mask| self.lir.fit(mask, kind_of(dtype)));
                        let before = self.lir.value(kind_of(dtype));
                        self.lir.code.push(Ins::Load(before, address, mask));
                        let op = if add == Add::I64 { Two::IntAdd } else { Two::Add };
                        let after = self.lir.two(op, before, v);
                        self.lir.code.push(Ins::Store(after, address, mask));
                    } else {
                        let places = Places::Apart(apart);
                        self.lir.code.push(Ins::AddLanes(v, add, address, places, mask));
                    }
                }
                Write::AddAt(index) => {
                    let (place, within) = self.place(index, copy)?;
                    let mask = self.existing(Some(within), mask);
                    let zero = Affine::constant(0, nest.extents.len());
                    let address = self.address(nest.target, &zero, dtype.size(), 0)?;
                    let places = Places::At(place);
                    self.lir.code.push(Ins::AddLanes(v, add_of(dtype)?, address, places, mask));
                }
            }
        }
        Some(())
    }

    /// A mask without the lanes that are not there.
    fn existing(&mut self, mask: Option<V>, strip: Option<V>) -> Option<V> {
        let mut mask = self.lir.both(mask, strip);
        if self.order.lane.is_none() {
            // There is one position and a vector of lanes.
            let unit = self.unit();
            let (one, iota) =
                (self.lir.constant(unit, 1), self.lir.table(unit, |k| k as u64));
            let first = self.lir.compare_int(IntCompare::Greater, one, iota);
            mask = self.lir.both(mask, Some(first));
        }
        mask
    }
}

fn add_of(dtype: Dtype) -> Option<Add> {
    match dtype {
        Dtype::F64 => Some(Add::F64),
        Dtype::F32 => Some(Add::F32),
        Dtype::I64 => Some(Add::I64),
        Dtype::Bool => None,
    }
}
