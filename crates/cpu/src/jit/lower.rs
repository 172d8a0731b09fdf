//! From a nest to vector code: loops, the copies that they take at a time, and instructions.

use std::ops::Range;

use cotan_array::Dtype;
use cotan_nest::{Affine, Instr, Nest, Val, Write};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::access::AddressTerms;
use super::isa::VectorIsa;
use super::lir::{FusedOp, Ins, Int, IntCompare, Lir, Start, Trips, Turns, V, ValueKind};
use super::shape::{LoopItem, LoopShape, Order, Same, is_narrow, known_exponent, used};
use crate::vm::Code;

/// The vectors that a turn of the lane loop takes.
#[derive(Clone, Debug)]
pub(super) struct Strip {
    pub copies: usize,
    /// The lanes that exist, where not all do.
    pub masks: Vec<Option<V>>,
}

/// One of the copies of a body: of which vector of the strip, and which of the positions that are
/// done side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyCopy {
    pub vector: usize,
    pub jam: usize,
}

impl BodyCopy {
    pub(super) const FIRST: BodyCopy = BodyCopy { vector: 0, jam: 0 };
}

/// What a loop steps over: for the groups that have to follow.
pub(super) struct Stepping {
    dim: usize,
    /// How far a turn goes.
    step: i64,
    /// How far to go back at the end.
    back: Back,
}

impl Stepping {
    /// One by one, and not back at the end.
    pub(super) fn of(dim: usize) -> Stepping {
        Stepping { dim, step: 1, back: Back::By(0) }
    }
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
    /// How many copies are computed side by side; those after them begin when they have ended.
    pub together: usize,
}

pub(super) struct NestEmission<'a> {
    pub lir: Lir,
    pub order: Order<'a>,
    /// The functions of the tile machine that the code calls.
    pub codes: Vec<Code>,
    pub shape: LoopShape,
    unroll: Unroll,
    /// The copies of each value, and of each mask of checks.
    pub values: Vec<SmallVec<[V; 4]>>,
    pub masks: Vec<SmallVec<[V; 4]>>,
    pub groups: FxHashMap<AddressTerms, Int>,
    stepping: Vec<Stepping>,
    pub sums: Vec<V>,
    /// The positions of the champions of a search, which are in `sums`.
    pub positions: Vec<V>,
}

/// The vector code of a kernel; `None` if it has something that there is no code for.
pub(super) fn lower(order: Order, isa: VectorIsa, unroll: Unroll) -> Option<(Lir, Vec<Code>)> {
    let nest = order.nest;
    if nest.extents.contains(&0) {
        return None;
    }
    let shape = LoopShape::new(&order);
    let narrow = is_narrow(nest, &used(&order), super::ops::is_native);
    let mut lowering = NestEmission {
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
        positions: Vec::new(),
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

pub(super) fn kind_of(dtype: Dtype) -> ValueKind {
    match dtype {
        Dtype::F64 | Dtype::I64 => ValueKind::Wide,
        Dtype::F32 => ValueKind::Narrow,
        Dtype::Bool => ValueKind::Mask,
    }
}

impl<'a> NestEmission<'a> {
    /// A beginning without instructions, with the loops of an order around what is to come.
    pub(super) fn around(order: Order<'a>, isa: VectorIsa) -> NestEmission<'a> {
        NestEmission {
            lir: Lir::new(isa, 8),
            order,
            codes: Vec::new(),
            unroll: Unroll { copies: 1, together: 1 },
            values: Vec::new(),
            masks: Vec::new(),
            shape: LoopShape::default(),
            groups: FxHashMap::default(),
            stepping: Vec::new(),
            sums: Vec::new(),
            positions: Vec::new(),
        }
    }
}

impl NestEmission<'_> {
    pub(super) fn lanes(&self) -> usize {
        self.order.lane.map_or(1, |lane| self.order.nest.extents[lane])
    }

    pub(super) fn lanes_reduced(&self) -> bool {
        self.order.lanes_reduced()
    }

    /// The kind of the largest lanes.
    pub(super) fn unit(&self) -> ValueKind {
        if self.lir.unit == 8 { ValueKind::Wide } else { ValueKind::Narrow }
    }

    // ---- loops --------------------------------------------------------------------------------

    fn level(&mut self, depth: usize, strip: &Strip) -> Option<()> {
        let innermost = depth == self.order.dims.len();
        if !innermost {
            self.items(depth, strip, 0..strip.copies)?;
        }
        let reduces = match self.order.nest.write {
            Write::Sum(_) | Write::Best { .. } | Write::Extreme { .. } => true,
            Write::Store(_) => false,
            Write::Add { .. } | Write::AddAt(_) | Write::StoreAt(_) => false,
        };
        let begins = reduces && depth == self.order.first_reduced;
        if begins {
            self.begin_sum(strip)?;
        }
        match self.order.dims.get(depth) {
            None => {
                let together = self.unroll.together;
                for first in (0..strip.copies).step_by(together) {
                    let copies = first..strip.copies.min(first + together);
                    self.items(depth, strip, copies.clone())?;
                    for vector in copies {
                        for jam in 0..self.order.jammed() {
                            self.write(strip, BodyCopy { vector, jam })?;
                        }
                    }
                }
            }
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

    pub(super) fn enter(&mut self, trips: Trips, stepping: Stepping) -> usize {
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
        let sums = self.sums.len() / self.order.jammed();
        let copies = if self.lanes_reduced() { sums } else { self.unroll.copies };
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
    fn partial(&mut self, copies: usize, left: impl Fn(&mut Self, usize) -> Option<V>) -> Strip {
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
    pub(super) fn follow(&mut self) -> Option<()> {
        let mut groups: Vec<(&AddressTerms, Int)> =
            self.groups.iter().map(|(g, &i)| (g, i)).collect();
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

    // ---- values -------------------------------------------------------------------------------

    /// The number of a copy among those of a value that has something in common.
    pub(super) fn number(&self, same: Same, copy: BodyCopy) -> usize {
        let vector = if same.lanes { 0 } else { copy.vector };
        if same.jam { vector } else { vector * self.order.jammed() + copy.jam }
    }

    /// Computes the items of a level for some vectors, and what is the same for all with the first.
    fn items(&mut self, depth: usize, strip: &Strip, vectors: Range<usize>) -> Option<()> {
        for k in 0..self.shape.levels[depth].len() {
            let item = self.shape.levels[depth][k];
            let same = match item {
                LoopItem::Check(n) => self.shape.check_same[n],
                LoopItem::Value(n) => self.shape.same[n],
            };
            let vectors = match same.lanes {
                true if vectors.start == 0 => 0..1,
                true => 0..0,
                false => vectors.clone(),
            };
            let positions = if same.jam { 1 } else { self.order.jammed() };
            for vector in vectors {
                for jam in 0..positions {
                    self.item(item, same, BodyCopy { vector, jam }, strip)?;
                }
            }
        }
        Some(())
    }

    fn item(&mut self, item: LoopItem, same: Same, copy: BodyCopy, strip: &Strip) -> Option<()> {
        let at = self.number(same, copy);
        let (v, list) = match item {
            LoopItem::Check(n) => (self.check(n, copy)?, &mut self.masks[n]),
            LoopItem::Value(n) => (self.instruction(n, copy, strip)?, &mut self.values[n]),
        };
        // Copies come in order; those of another strip are over.
        list.truncate(at);
        list.push(v);
        Some(())
    }

    /// A value for a copy: one that is the same for all is there once.
    pub(super) fn value(&self, n: usize, copy: BodyCopy) -> Option<V> {
        self.values[n].get(self.number(self.shape.same[n], copy)).copied()
    }

    fn instruction(&mut self, n: usize, copy: BodyCopy, strip: &Strip) -> Option<V> {
        let nest = self.order.nest;
        let dtype = nest.dtypes[n];
        match &nest.instrs[n] {
            Instr::Affine(affine) => self.ramp(affine, ValueKind::Wide, copy),
            Instr::Load { buffer, at, checks } => {
                let mut mask = self.checked(checks, copy)?;
                if self.lane_step(at) != 0 {
                    mask = self.lir.both(mask, strip.masks[copy.vector]);
                }
                self.load(*buffer, dtype, at, mask, copy)
            }
            Instr::LoadAt { buffer, index }
                if dtype != Dtype::Bool && self.goes_along_rows(index) =>
            {
                let strip = strip.masks[copy.vector];
                let (address, mask) = self.row((*buffer, dtype), index, copy, strip)?;
                let to = self.lir.value(kind_of(dtype));
                self.lir.code.push(Ins::Load(to, address, Some(mask)));
                Some(to)
            }
            Instr::LoadAt { buffer, index } => {
                let (place, mut mask) = self.place(index, copy, false)?;
                if !self.shape.same[n].lanes {
                    // Lanes after the last are in range of the array, but not of the rows that a
                    // block of it holds.
                    mask = self.lir.both(Some(mask), strip.masks[copy.vector])?;
                }
                let size = dtype.size();
                let zero = Affine::constant(0, nest.extents.len());
                let address = self.address(*buffer, &zero, size, BodyCopy::FIRST)?;
                Some(self.gather(dtype, address, place, mask))
            }
            Instr::Const(_) | Instr::Op(..) | Instr::MulAdd { .. } => {
                self.computed(nest, n, |l, v| l.value(v.index(), copy))
            }
        }
    }

    /// A number, or what an instruction makes of operands.
    pub(super) fn computed(
        &mut self,
        nest: &Nest,
        n: usize,
        operand: impl Fn(&Self, Val) -> Option<V>,
    ) -> Option<V> {
        let dtype = nest.dtypes[n];
        match &nest.instrs[n] {
            Instr::Const(bits) => Some(self.number_of(dtype, *bits)),
            Instr::Op(op, args) => {
                let exponent = known_exponent(nest, n);
                let count = if exponent.is_some() { 1 } else { args.len() };
                let mut operands: SmallVec<[(V, Dtype); 3]> = SmallVec::new();
                for &v in args.iter().take(count) {
                    operands.push((operand(self, v)?, nest.dtypes[v.index()]));
                }
                self.op(*op, &operands, dtype, exponent)
            }
            Instr::MulAdd { args, minus_product, minus_addend } => {
                let [a, b, c] = args.map(|v| operand(self, v));
                let op = match (minus_product, minus_addend) {
                    (false, false) => FusedOp::MulAdd,
                    (false, true) => FusedOp::MulSub,
                    (true, false) => FusedOp::NegMulAdd,
                    (true, true) => FusedOp::NegMulSub,
                };
                Some(self.lir.fused(op, a?, b?, c?))
            }
            Instr::Affine(_) | Instr::Load { .. } | Instr::LoadAt { .. } => None,
        }
    }

    /// A number of a type, as bits.
    pub(super) fn number_of(&mut self, dtype: Dtype, bits: u64) -> V {
        match dtype {
            Dtype::Bool => self.lir.fixed(bits != 0),
            Dtype::F64 | Dtype::F32 | Dtype::I64 => self.lir.constant(kind_of(dtype), bits),
        }
    }
}
