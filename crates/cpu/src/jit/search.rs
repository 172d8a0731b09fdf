//! Searches: the largest or smallest elements, and their positions.
//!
//! Each lane has a champion with its position; what is better takes their places. The result does
//! not depend on the order, since of equals the first position counts, and of NaNs the first.

use cotan_array::Dtype;
use cotan_nest::Affine;

use super::lir::{Ins, IntCompare, One, Two, V, ValueKind};
use super::lower::{BodyCopy, NestEmission, Strip, kind_of};
use super::ops::UNORDERED;

/// Predicates: not less or equal, not greater or equal (both hold for NaN), and neither is NaN.
const NOT_LESS_OR_EQUAL: u8 = 0x16;
const NOT_GREATER_OR_EQUAL: u8 = 0x19;
const ORDERED: u8 = 0x07;

/// Champions that are searched for at a time, when lanes are reduced.
const CHAMPIONS: usize = 4;

impl NestEmission<'_> {
    /// What nothing is worse than.
    pub(super) fn worst(&mut self, dtype: Dtype, largest: bool) -> Option<V> {
        let kind = kind_of(dtype);
        Some(match (dtype, largest) {
            (Dtype::F64 | Dtype::F32, true) => self.lir.float(kind, f64::NEG_INFINITY),
            (Dtype::F64 | Dtype::F32, false) => self.lir.float(kind, f64::INFINITY),
            (Dtype::I64, true) => self.lir.constant(kind, i64::MIN as u64),
            (Dtype::I64, false) => self.lir.constant(kind, i64::MAX as u64),
            (Dtype::Bool, _) => return None,
        })
    }

    /// Lets values that are better take the place of the best so far: the operation of the table, in
    /// place.
    pub(super) fn take_better(&mut self, best: V, v: V, dtype: Dtype, largest: bool) {
        let lir = &mut self.lir;
        if dtype == Dtype::I64 {
            let (above, below) = if largest { (v, best) } else { (best, v) };
            let better = lir.compare_int(IntCompare::Greater, above, below);
            lir.code.push(Ins::Choose(best, better, v, best));
            return;
        }
        // The best so far if they are equal or if it is NaN, but also if the value is.
        let chosen = lir.two(if largest { Two::Max } else { Two::Min }, v, best);
        let nan = lir.compare_alike(UNORDERED, v, v);
        lir.code.push(Ins::Choose(best, nan, v, chosen));
    }

    /// Champions that nothing is worse than, at position 0.
    pub(super) fn begin_search(
        &mut self,
        strip: &Strip,
        dtype: Dtype,
        largest: bool,
    ) -> Option<()> {
        let (kind, worst) = (kind_of(dtype), self.worst(dtype, largest)?);
        let count = if self.lanes_reduced() {
            CHAMPIONS.min(self.lanes().div_ceil(self.lir.lanes))
        } else {
            strip.copies
        };
        self.sums.clear();
        self.positions.clear();
        for _ in 0..count {
            let (best, at) = (self.lir.value(kind), self.lir.value(ValueKind::Wide));
            self.lir.code.push(Ins::Copy(best, worst));
            self.lir.code.push(Ins::Zero(at));
            self.sums.push(best);
            self.positions.push(at);
        }
        Some(())
    }

    /// Where `x` is better than `y`.
    fn better(&mut self, x: V, y: V, dtype: Dtype, largest: bool) -> V {
        let lir = &mut self.lir;
        match (dtype, largest) {
            (Dtype::I64 | Dtype::Bool, true) => lir.compare_int(IntCompare::Greater, x, y),
            (Dtype::I64 | Dtype::Bool, false) => lir.compare_int(IntCompare::Greater, y, x),
            (Dtype::F64 | Dtype::F32, _) => {
                let predicate = if largest { NOT_LESS_OR_EQUAL } else { NOT_GREATER_OR_EQUAL };
                let beyond = lir.compare(predicate, x, y);
                let open = lir.compare(ORDERED, y, y);
                lir.two(Two::And, beyond, open)
            }
        }
    }

    /// Compares values with the champions of a copy.
    pub(super) fn search(
        &mut self,
        v: V,
        copy: BodyCopy,
        mask: Option<V>,
        largest: bool,
    ) -> Option<()> {
        let nest = self.order.nest;
        let dtype = nest.dtypes[nest.value.index()];
        let (best, at) = (*self.sums.get(copy.vector)?, *self.positions.get(copy.vector)?);
        let parallel = nest.extents.len() - nest.reduced;
        let index = match nest.reduced {
            0 => Affine::constant(0, nest.extents.len()),
            _ => Affine::index(parallel, nest.extents.len()),
        };
        let here = self.ramp(&index, ValueKind::Wide, copy)?;
        let mut better = self.better(v, best, dtype, largest);
        if let (true, Some(mask)) = (self.lanes_reduced(), mask) {
            better = self.lir.two(Two::And, better, mask);
        }
        let fitting = self.lir.fit(better, kind_of(dtype));
        self.lir.code.push(Ins::Choose(best, fitting, v, best));
        self.lir.code.push(Ins::Choose(at, better, here, at));
        Some(())
    }

    /// Stores the positions of the champions, or that of the champion of all lanes.
    pub(super) fn end_search(&mut self, strip: &Strip, at: &Affine, largest: bool) -> Option<()> {
        let nest = self.order.nest;
        let (bests, positions) =
            (std::mem::take(&mut self.sums), std::mem::take(&mut self.positions));
        if !self.lanes_reduced() {
            for (vector, &position) in positions.iter().enumerate() {
                let copy = BodyCopy { vector, jam: 0 };
                self.store(position, Dtype::I64, (nest.target, at), copy, strip.masks[vector])?;
            }
            return Some(());
        }
        let dtype = nest.dtypes[nest.value.index()];
        let mut pairs = bests.into_iter().zip(positions);
        let mut champion = pairs.next()?;
        for pair in pairs {
            champion = self.best_of(champion, pair, dtype, largest);
        }
        let mut lanes = self.lir.lanes;
        while lanes > 1 {
            let upper =
                |l: &mut Self, v: V, size: usize| l.lir.one(One::Upper((lanes * size) as u8), v);
            let rival = (upper(self, champion.0, dtype.size()), upper(self, champion.1, 8));
            champion = self.best_of(champion, rival, dtype, largest);
            lanes /= 2;
        }
        let address = self.address(nest.target, at, 8, BodyCopy::FIRST)?;
        self.lir.code.push(Ins::StoreFirst(champion.1, address));
        Some(())
    }

    /// The better of two champions, of equals the earlier.
    fn best_of(&mut self, a: (V, V), b: (V, V), dtype: Dtype, largest: bool) -> (V, V) {
        let (b_wins, a_wins) =
            (self.better(b.0, a.0, dtype, largest), self.better(a.0, b.0, dtype, largest));
        let lir = &mut self.lir;
        let earlier = lir.compare_int(IntCompare::Greater, a.1, b.1);
        let earlier = lir.two(Two::AndNot, a_wins, earlier);
        let b_wins = lir.two(Two::Or, b_wins, earlier);
        (lir.choose(b_wins, b.0, a.0), lir.choose(b_wins, b.1, a.1))
    }
}
