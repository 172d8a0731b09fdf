//! Addresses, masks of checks, and loads.

use cotan_array::Dtype;
use cotan_nest::{Affine, BufferId, Component, Instr};
use smallvec::SmallVec;

use super::isa::VectorIsa;
use super::lir::{Address, Ins, Int, IntCompare, LaneAddresses, Start, Two, V, ValueKind};
use super::lower::{BodyCopy, NestEmission, kind_of};

/// Addresses reach so far from their base.
pub(super) const REACH: i64 = 1 << 30;

/// Affine forms with these coefficients, times a number, from a buffer or from 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct AddressTerms {
    pub buffer: Option<BufferId>,
    pub scale: i64,
    pub offset: i64,
    pub coeffs: SmallVec<[i64; 4]>,
}

impl NestEmission<'_> {
    fn group(&mut self, group: AddressTerms) -> Option<Int> {
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

    pub(super) fn lane_step(&self, affine: &Affine) -> i64 {
        self.order.lane.map_or(0, |lane| affine.coeffs[lane])
    }

    /// An affine form at one of the positions that are done side by side.
    fn at(&self, affine: &Affine, copy: BodyCopy) -> Option<Affine> {
        let mut affine = affine.clone();
        if let Some(jam) = self.order.jam {
            let ahead = affine.coeffs[jam].checked_mul(copy.jam as i64)?;
            affine.constant = affine.constant.checked_add(ahead)?;
            affine.coeffs[jam] = 0;
        }
        Some(affine)
    }

    /// The address of an affine place for the first lane of a copy.
    pub(super) fn address(
        &mut self,
        buffer: BufferId,
        affine: &Affine,
        size: usize,
        copy: BodyCopy,
    ) -> Option<Address> {
        let affine = &self.at(affine, copy)?;
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
        let lanes = (copy.vector * self.lir.lanes) as i64;
        let ahead = lane_step.checked_mul(lanes)?.checked_mul(scale)?;
        let reach = rest.checked_add(ahead).filter(|at| at.abs() < 2 * REACH - 1)?;
        let base = self.group(AddressTerms { buffer: Some(buffer), scale, offset, coeffs })?;
        Some(Address {
            base,
            offset: i32::try_from(reach).ok()?,
            along: along.then_some(size as u8),
            row: None,
        })
    }

    /// An affine form as a vector of integers.
    pub(super) fn ramp(&mut self, affine: &Affine, kind: ValueKind, copy: BodyCopy) -> Option<V> {
        let affine = &self.at(affine, copy)?;
        if let Some(known) = affine.known() {
            return Some(self.lir.constant(kind, known as u64));
        }
        let coeffs = affine.coeffs.clone();
        let from = self.group(AddressTerms { buffer: None, scale: 1, offset: 0, coeffs })?;
        let step = self.lane_step(affine);
        let ahead = step.wrapping_mul((copy.vector * self.lir.lanes) as i64);
        let first = self.lir.splat(kind, from, affine.constant.wrapping_add(ahead));
        if step == 0 {
            return Some(first);
        }
        let steps = self.lir.table(kind, |k| step.wrapping_mul(k as i64) as u64);
        Some(self.lir.two(Two::IntAdd, first, steps))
    }

    /// The mask of a check.
    pub(super) fn check(&mut self, n: usize, copy: BodyCopy) -> Option<V> {
        let (affine, size) = self.shape.checks[n].clone();
        let (lo, hi) = affine.range(&self.order.nest.extents)?;
        let kind = self.unit();
        let steepest = affine.coeffs.iter().map(|c| c.saturating_abs()).max().unwrap_or(0);
        let reach = steepest.saturating_mul((self.lir.lanes * 8) as i64);
        let far = i64::from(i32::MAX) - 1;
        if kind == ValueKind::Narrow && (lo.min(-reach) < -far || hi.max(reach).max(size) > far / 2)
        {
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

    /// Where all checks hold.
    pub(super) fn checked(
        &mut self,
        checks: &[(Affine, i64)],
        copy: BodyCopy,
    ) -> Option<Option<V>> {
        let mut all = None;
        for check in checks {
            let n = self.shape.number(check)?;
            let at = self.number(self.shape.check_same[n], copy);
            let mask = *self.masks[n].get(at)?;
            all = self.lir.both(all, Some(mask));
        }
        Some(all)
    }

    pub(super) fn gather(&mut self, dtype: Dtype, address: Address, place: V, mask: V) -> V {
        let kind = kind_of(dtype);
        let to = self.lir.value(kind);
        if dtype == Dtype::Bool {
            self.lir.code.push(Ins::LoadLanes(
                to,
                1,
                address,
                LaneAddresses::At(place),
                Some(mask),
            ));
        } else {
            let mask = self.lir.fit(mask, kind);
            self.lir.code.push(Ins::Gather(to, address, place, mask));
        }
        to
    }

    pub(super) fn load(
        &mut self,
        buffer: BufferId,
        dtype: Dtype,
        place: &Affine,
        mask: Option<V>,
        copy: BodyCopy,
    ) -> Option<V> {
        let (size, kind) = (dtype.size(), kind_of(dtype));
        let address = self.address(buffer, place, size, copy)?;
        let step = self.lane_step(place);
        let apart = step.checked_mul(size as i64)?;
        // The lanes of a vector are not too far apart for an instruction.
        apart.checked_mul(self.lir.lanes as i64).filter(|far| far.abs() < REACH)?;
        let bool = dtype == Dtype::Bool;
        if !bool && step != 1 && (mask.is_some() || step != 0) {
            let inserted =
                self.lir.isa == VectorIsa::Avx2 && kind == ValueKind::Wide && mask.is_none();
            if !inserted {
                let places = self.lir.table(self.unit(), |k| step.wrapping_mul(k as i64) as u64);
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
            (_, _, mask) => {
                Ins::LoadLanes(to, size as u8, address, LaneAddresses::Apart(apart), mask)
            }
        };
        self.lir.code.push(ins);
        Some(to)
    }

    /// Whether the lanes of computed places are neighbours: the row is looked up, and the lanes go
    /// along it.
    pub(super) fn goes_along_rows(&self, index: &[Component]) -> bool {
        let mut steps = 0i64;
        for component in index {
            let n = component.value.index();
            steps = match &self.order.nest.instrs[n] {
                _ if self.shape.same[n].lanes => steps,
                Instr::Affine(affine) => {
                    steps.wrapping_add(self.lane_step(affine).wrapping_mul(component.stride))
                }
                _ => return false,
            };
        }
        steps == 1
    }

    /// The address of neighbouring elements from a computed place on, and where they exist.
    pub(super) fn row(
        &mut self,
        (buffer, dtype): (BufferId, Dtype),
        index: &[Component],
        copy: BodyCopy,
        strip: Option<V>,
    ) -> Option<(Address, V)> {
        let (place, within) = self.place(index, copy, true)?;
        let mask = self.lir.both(Some(within), strip)?;
        let zero = Affine::constant(0, self.order.nest.extents.len());
        let address = self.address(buffer, &zero, dtype.size(), BodyCopy::FIRST)?;
        let row = Some((place, dtype.size() as u8));
        Some((Address { row, ..address }, self.lir.fit(mask, kind_of(dtype))))
    }

    /// The place of a computed index, in elements, and where it is within. Lanes that do not exist
    /// count as within for `rows`: the caller leaves them out.
    pub(super) fn place(
        &mut self,
        index: &[Component],
        copy: BodyCopy,
        rows: bool,
    ) -> Option<(V, V)> {
        let nest = self.order.nest;
        let mut indices: SmallVec<[V; 4]> = SmallVec::new();
        for component in index {
            indices.push(self.value(component.value.index(), copy)?);
        }
        let always = |component: &Component| match &nest.instrs[component.value.index()] {
            Instr::Affine(affine) if rows => affine.range(&nest.extents).is_some_and(|(lo, hi)| {
                lo >= 0 && usize::try_from(hi).is_ok_and(|hi| hi < component.size)
            }),
            _ => false,
        };
        let lir = &mut self.lir;
        let mut mask = None;
        for (component, &i) in index.iter().zip(&indices).filter(|(c, _)| !always(c)) {
            let below = lir.constant(ValueKind::Wide, -1i64 as u64);
            let size = i64::try_from(component.size).ok()?;
            let end = lir.constant(ValueKind::Wide, size as u64);
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
        for (component, &i) in index.iter().zip(&indices) {
            let scaled = if component.stride == 1 {
                i
            } else {
                // Both factors are below 2^32 where it matters: lanes out of range read nothing.
                let stride = u32::try_from(component.stride).ok()?;
                u32::try_from(component.size).ok()?;
                let stride = lir.constant(ValueKind::Wide, u64::from(stride));
                lir.two(Two::MulLow, i, stride)
            };
            place = Some(match place {
                Some(place) => lir.two(Two::IntAdd, place, scaled),
                None => scaled,
            });
        }
        let place = match place {
            Some(place) => place,
            None => lir.constant(ValueKind::Wide, 0),
        };
        Some((place, mask))
    }
}
