//! Writes: stores, sums, and additions to what is there.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_nest::{Affine, BufferId, Write};

use super::access::REACH;
use super::lir::{Add, Address, Ins, IntCompare, LaneAddresses, One, Two, V};
use super::lower::{BodyCopy, NestEmission, Strip, kind_of};
use crate::vm::ACCUMULATOR_BYTES;

impl NestEmission<'_> {
    pub(super) fn begin_sum(&mut self, strip: &Strip) -> Option<()> {
        let nest = self.order.nest;
        let dtype = nest.dtypes[nest.value.index()];
        let kind = kind_of(dtype);
        if let Write::Extreme { largest, .. } = nest.write {
            return self.begin_search(strip, dtype, largest);
        }
        let count = if self.lanes_reduced() {
            // Accumulators that no lane is added to are left out.
            let all = ACCUMULATOR_BYTES / self.lir.bytes(kind);
            all.min(self.lanes().div_ceil(self.lir.lanes))
        } else {
            strip.copies
        };
        let worst = match nest.write {
            Write::Best { largest, .. } => Some(self.worst(dtype, largest)?),
            _ => None,
        };
        self.sums = (0..count * self.order.jammed())
            .map(|_| {
                let sum = self.lir.value(kind);
                self.lir.code.push(match worst {
                    Some(worst) => Ins::Copy(sum, worst),
                    None => Ins::Zero(sum),
                });
                sum
            })
            .collect();
        Some(())
    }

    pub(super) fn end_sum(&mut self, strip: &Strip) -> Option<()> {
        let nest = self.order.nest;
        let at = match &nest.write {
            Write::Sum(at) | Write::Best { at, .. } => at,
            Write::Extreme { at, largest } => return self.end_search(strip, at, *largest),
            Write::Store(_) => return None,
            Write::Add { .. } | Write::AddAt(_) | Write::StoreAt(_) => return None,
        };
        let dtype = nest.dtypes[nest.value.index()];
        let sums = std::mem::take(&mut self.sums);
        let jammed = self.order.jammed();
        if !self.lanes_reduced() {
            for (n, &sum) in sums.iter().enumerate() {
                let copy = BodyCopy { vector: n / jammed, jam: n % jammed };
                self.store(sum, dtype, (nest.target, at), copy, strip.masks[copy.vector])?;
            }
            return Some(());
        }
        for jam in 0..jammed {
            let own: Vec<V> = sums.iter().copied().skip(jam).step_by(jammed).collect();
            let sum = self.fold(&own, dtype)?;
            let address =
                self.address(nest.target, at, dtype.size(), BodyCopy { vector: 0, jam })?;
            self.lir.code.push(Ins::StoreFirst(sum, address));
        }
        Some(())
    }

    /// Two parts of a sum together, or the better of two.
    fn combined(&mut self, a: V, b: V, dtype: Dtype) -> Option<V> {
        let best = |largest| if largest { Op::Max } else { Op::Min };
        match self.order.nest.write {
            Write::Best { largest, .. } => {
                self.op(best(largest), &[(a, dtype), (b, dtype)], dtype, None)
            }
            _ if dtype == Dtype::I64 => Some(self.lir.two(Two::IntAdd, a, b)),
            _ => Some(self.lir.two(Two::Add, a, b)),
        }
    }

    /// What all accumulators give together: the upper half goes to the lower until one is left.
    fn fold(&mut self, sums: &[V], dtype: Dtype) -> Option<V> {
        let bytes = self.lir.bytes(kind_of(dtype));
        let mut sums: Vec<V> = sums.to_vec();
        let mut half = ACCUMULATOR_BYTES / bytes / 2;
        while half >= 1 {
            for k in half..sums.len().min(2 * half) {
                sums[k - half] = self.combined(sums[k - half], sums[k], dtype)?;
            }
            sums.truncate(half);
            half /= 2;
        }
        let mut sum = *sums.first()?;
        let mut left = bytes;
        while left > dtype.size() {
            let upper = self.lir.one(One::Upper(left as u8), sum);
            sum = self.combined(sum, upper, dtype)?;
            left /= 2;
        }
        Some(sum)
    }

    pub(super) fn store(
        &mut self,
        v: V,
        dtype: Dtype,
        (target, at): (BufferId, &Affine),
        copy: BodyCopy,
        mask: Option<V>,
    ) -> Option<()> {
        let (size, kind) = (dtype.size(), kind_of(dtype));
        let address = self.address(target, at, size, copy)?;
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
            (_, _, mask) => {
                Ins::StoreLanes(v, size as u8, address, LaneAddresses::Apart(apart), mask)
            }
        };
        self.lir.code.push(ins);
        Some(())
    }

    /// Writes the value of a copy.
    pub(super) fn write(&mut self, strip: &Strip, copy: BodyCopy) -> Option<()> {
        let nest = self.order.nest;
        let n = nest.value.index();
        let dtype = nest.dtypes[n];
        let mask = strip.masks[copy.vector];
        let number = copy.vector * self.order.jammed() + copy.jam;
        for also in &nest.also {
            let v = self.value(also.value.index(), copy)?;
            let dtype = nest.dtypes[also.value.index()];
            self.store(v, dtype, (also.target, &also.at), copy, mask)?;
        }
        if let Some((a, b)) = self.order.product {
            let (mut a, mut b) = (self.value(a.index(), copy)?, self.value(b.index(), copy)?);
            if let (true, Some(mask)) = (self.lanes_reduced(), mask) {
                (a, b) = (self.lir.keep(mask, a), self.lir.keep(mask, b));
            }
            let sum = *self.sums.get(number)?;
            self.lir.code.push(Ins::MulAddTo(sum, a, b));
            return Some(());
        }
        let v = self.value(n, copy)?;
        match &nest.write {
            Write::Store(at) => self.store(v, dtype, (nest.target, at), copy, mask)?,
            Write::Sum(_) => {
                let v = match mask {
                    Some(mask) if self.lanes_reduced() => self.lir.keep(mask, v),
                    _ => v,
                };
                let sum = *self.sums.get(number)?;
                self.lir.code.push(Ins::AddTo(sum, v, dtype == Dtype::I64));
            }
            Write::Best { largest, .. } => {
                let best = *self.sums.get(number)?;
                let v = match mask {
                    Some(mask) if self.lanes_reduced() => {
                        let worst = self.worst(dtype, *largest)?;
                        self.lir.choose(mask, v, worst)
                    }
                    _ => v,
                };
                self.take_better(best, v, dtype, *largest);
            }
            Write::Extreme { largest, .. } => self.search(v, copy, mask, *largest)?,
            Write::Add { at, checks } => {
                let checked = self.checked(checks, copy)?;
                let mask = self.existing(checked, mask);
                let address = self.address(nest.target, at, dtype.size(), copy)?;
                let apart = self.lane_step(at).checked_mul(dtype.size() as i64)?;
                apart.checked_mul(self.lir.lanes as i64).filter(|f| f.abs() < REACH)?;
                if apart == dtype.size() as i64 {
                    // Every lane has a place of its own.
                    let mask = mask.map(|mask| self.lir.fit(mask, kind_of(dtype)));
                    self.add(v, dtype, address, mask)?;
                } else {
                    let places = LaneAddresses::Apart(apart);
                    self.lir.code.push(Ins::AddLanes(v, add_of(dtype)?, address, places, mask));
                }
            }
            Write::AddAt(index) if self.goes_along_rows(index) && dtype != Dtype::Bool => {
                let (address, mask) = self.row((nest.target, dtype), index, copy, mask)?;
                self.add(v, dtype, address, Some(mask))?;
            }
            Write::AddAt(index) => {
                let (place, within) = self.place(index, copy, false)?;
                let mask = self.existing(Some(within), mask);
                let zero = Affine::constant(0, nest.extents.len());
                let address = self.address(nest.target, &zero, dtype.size(), BodyCopy::FIRST)?;
                let places = LaneAddresses::At(place);
                self.lir.code.push(Ins::AddLanes(v, add_of(dtype)?, address, places, mask));
            }
            Write::StoreAt(index) if self.goes_along_rows(index) && dtype != Dtype::Bool => {
                let (address, mask) = self.row((nest.target, dtype), index, copy, mask)?;
                self.lir.code.push(Ins::Store(v, address, Some(mask)));
            }
            Write::StoreAt(index) => {
                let (place, within) = self.place(index, copy, false)?;
                let mask = self.existing(Some(within), mask);
                let zero = Affine::constant(0, nest.extents.len());
                let size = dtype.size();
                let address = self.address(nest.target, &zero, size, BodyCopy::FIRST)?;
                let places = LaneAddresses::At(place);
                self.lir.code.push(Ins::StoreLanes(v, size as u8, address, places, mask));
            }
        }
        Some(())
    }

    /// Adds lanes to neighbouring elements: each has a place of its own.
    fn add(&mut self, v: V, dtype: Dtype, address: Address, mask: Option<V>) -> Option<()> {
        let before = self.lir.value(kind_of(dtype));
        self.lir.code.push(Ins::Load(before, address, mask));
        let op = if add_of(dtype)? == Add::I64 { Two::IntAdd } else { Two::Add };
        let after = self.lir.two(op, before, v);
        self.lir.code.push(Ins::Store(after, address, mask));
        Some(())
    }

    /// A mask without the lanes that are not there.
    fn existing(&mut self, mask: Option<V>, strip: Option<V>) -> Option<V> {
        let mut mask = self.lir.both(mask, strip);
        if self.order.lane.is_none() {
            // There is one position and a vector of lanes.
            let unit = self.unit();
            let (one, iota) = (self.lir.constant(unit, 1), self.lir.table(unit, |k| k as u64));
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
