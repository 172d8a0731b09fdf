//! The regions outside of which a nest gives an array as it is.
//!
//! Every value of a nest is looked at, operands first: outside of some regions it is the element of
//! the array at this place, or 0, or neither. A selection by a mask that holds in a region only is
//! what it selects elsewhere; adding what is 0 elsewhere changes nothing there; a choice between two
//! is what both are.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_nest::{Affine, BufferId, Instr, Nest, Val, Write};
use smallvec::{SmallVec, smallvec};

use super::super::part::needed;
use super::super::product::{DimSet, dims_of};
use crate::target::Search;

/// Neighbouring positions along an axis: so many from a value, if there is one, and a number on.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct AxisRange {
    pub base: Option<Val>,
    pub number: i64,
    pub length: usize,
}

/// A part of an array: the axes of which it does not have all positions.
pub(super) type ArrayRegion = SmallVec<[(usize, AxisRange); 2]>;

type Regions = SmallVec<[ArrayRegion; 2]>;

/// The regions outside of which a nest gives an array as it is.
pub(super) struct Update {
    pub regions: Regions,
    /// Whether 0 is added elsewhere.
    pub adds: bool,
    /// Whether something that may be $-0$ takes the place of an element.
    pub sets: bool,
}

/// What a value is outside of some regions.
#[derive(Clone, Copy, PartialEq)]
enum OutsideKind {
    /// The element at this place.
    Same,
    Zero,
    /// The former where a condition that does not depend on the place is as said, else the latter.
    SameIf(Val, bool),
}

#[derive(Clone)]
struct OutsideValue {
    kind: OutsideKind,
    regions: Regions,
    adds: bool,
    sets: bool,
}

impl OutsideValue {
    fn everywhere(kind: OutsideKind) -> OutsideValue {
        OutsideValue { kind, regions: Regions::new(), adds: false, sets: false }
    }

    /// Another kind, outside of the regions of two.
    fn join(&self, kind: OutsideKind, other: &OutsideValue) -> OutsideValue {
        let mut both = self.within(&other.regions);
        both.kind = kind;
        both.adds |= other.adds;
        both.sets |= other.sets;
        both
    }

    /// The same outside of more regions.
    fn within(&self, more: &[ArrayRegion]) -> OutsideValue {
        let mut all = self.clone();
        for region in more {
            if !all.regions.contains(region) {
                all.regions.push(region.clone());
            }
        }
        all
    }
}

impl Update {
    /// A nest as updates of parts of an array. It may fill a part of the whole.
    pub(super) fn of(nest: &Nest, array: BufferId, search: &Search) -> Option<Update> {
        let Write::Store(place) = &nest.write else { return None };
        if nest.reduced > 0 || !nest.also.is_empty() {
            return None;
        }
        let (dims, most) = (dims_of(nest), search.max_mask_operations);
        let masks = Masks { nest, dims, looked: std::cell::Cell::new(0), most };
        let needed = needed(nest, std::iter::once(nest.value));
        let mut found: Vec<Option<OutsideValue>> = vec![None; nest.instrs.len()];
        for n in (0..found.len()).filter(|&n| needed[n]) {
            let outside = match &nest.instrs[n] {
                Instr::Load { buffer, at, checks }
                    if *buffer == array && at == place && checks.is_empty() =>
                {
                    Some(OutsideValue::everywhere(OutsideKind::Same))
                }
                Instr::Op(op, args) => masks.outside(*op, args, &found),
                _ => masks.nonzero(Val(n as u32)).map(|regions| OutsideValue {
                    regions,
                    ..OutsideValue::everywhere(OutsideKind::Zero)
                }),
            };
            found[n] = outside.filter(|outside| outside.regions.len() <= search.max_regions);
        }
        let OutsideValue { kind, regions, adds, sets } = found.swap_remove(nest.value.index())?;
        (kind == OutsideKind::Same).then_some(Update { regions, adds, sets })
    }

    /// A nest that gives a part of an array, whatever it was before.
    pub(super) fn whole(nest: &Nest) -> Option<Update> {
        let stores = matches!(nest.write, Write::Store(_)) && nest.also.is_empty();
        let regions = smallvec![ArrayRegion::new()];
        stores.then_some(Update { regions, adds: false, sets: true })
    }

    /// The elements of all regions of a nest.
    pub(super) fn elements(&self, nest: &Nest) -> usize {
        let elements = |region: &ArrayRegion| {
            let sizes = nest.extents.iter().enumerate().map(|(dim, &k)| {
                let restricted = region.iter().find(|(axis, _)| *axis == dim);
                restricted.map_or(k, |(_, span)| span.length)
            });
            sizes.fold(1usize, usize::saturating_mul)
        };
        self.regions.iter().map(elements).fold(0, usize::saturating_add)
    }
}

/// Where conditions in a nest hold.
struct Masks<'a> {
    nest: &'a Nest,
    dims: Vec<DimSet>,
    looked: std::cell::Cell<usize>,
    /// .. and how many may be.
    most: usize,
}

/// What a comparison says of an index: at least, below, or exactly a value and a number.
#[derive(Clone, Copy)]
enum Bound {
    From(Option<Val>, i64),
    To(Option<Val>, i64),
    At(Option<Val>, i64),
}

impl Masks<'_> {
    fn instr(&self, v: Val) -> &Instr {
        &self.nest.instrs[v.index()]
    }

    /// What an operation gives outside of some regions, if that is known of what it is given.
    fn outside(
        &self,
        op: Op,
        args: &[Val],
        found: &[Option<OutsideValue>],
    ) -> Option<OutsideValue> {
        let of = |n: usize| found[args[n].index()].as_ref();
        match op {
            Op::Select => {
                let (x, y) = (of(1), of(2));
                // What is selected inside, and everywhere else.
                let inside = |v: Val, other: &OutsideValue, regions: &[ArrayRegion]| OutsideValue {
                    sets: other.sets || self.may_be_negative(v),
                    ..other.within(regions)
                };
                if let (Some(y), Some(regions)) = (y, self.regions(args[0], true)) {
                    return Some(inside(args[1], y, &regions));
                }
                if let (Some(x), Some(regions)) = (x, self.regions(args[0], false)) {
                    return Some(inside(args[2], x, &regions));
                }
                let (x, y) = (x?, y?);
                let fixed = self.dims[args[0].index()] == 0;
                let kind = match (x.kind, y.kind) {
                    (one, other) if one == other => one,
                    (OutsideKind::Same, OutsideKind::Zero) if fixed => {
                        OutsideKind::SameIf(args[0], true)
                    }
                    (OutsideKind::Zero, OutsideKind::Same) if fixed => {
                        OutsideKind::SameIf(args[0], false)
                    }
                    _ => return None,
                };
                Some(x.join(kind, y))
            }
            Op::Add | Op::Sub => {
                let (x, y) = (of(0)?, of(1)?);
                let kind = match (x.kind, y.kind) {
                    (kind, OutsideKind::Zero) => kind,
                    (OutsideKind::Zero, kind) if op == Op::Add => kind,
                    (OutsideKind::SameIf(b, holds), OutsideKind::SameIf(c, other))
                        if op == Op::Add && b == c && holds != other =>
                    {
                        OutsideKind::Same
                    }
                    _ => return None,
                };
                let mut sum = x.join(kind, y);
                sum.adds |= op == Op::Add && kind != OutsideKind::Zero;
                Some(sum)
            }
            // Zeros annihilate. The result may be -0, so adding it may change the sign of a zero.
            Op::Neg | Op::Scale => of(0)
                .filter(|x| x.kind == OutsideKind::Zero)
                .map(|x| OutsideValue { adds: true, ..x.clone() }),
            _ => None,
        }
    }

    /// Whether a value may be -0.
    fn may_be_negative(&self, v: Val) -> bool {
        match self.instr(v) {
            Instr::Const(bits) => match self.nest.dtypes[v.index()] {
                Dtype::F64 => *bits == (-0.0f64).to_bits(),
                Dtype::F32 => *bits == u64::from((-0.0f32).to_bits()),
                Dtype::I64 | Dtype::Bool => false,
            },
            _ => true,
        }
    }

    /// Regions outside of which a number or an element that is read is 0.
    fn nonzero(&self, v: Val) -> Option<Regions> {
        match self.instr(v) {
            Instr::Const(0) => Some(Regions::new()),
            // Reads out of range are 0.
            Instr::LoadAt { index, .. } => {
                let mut region = ArrayRegion::new();
                for c in index {
                    let Some((axis, base, more)) = self.offset(c.value) else { continue };
                    // i = base - more + j for 0 <= j < size
                    let known = region.iter().any(|(a, _)| *a == axis);
                    if !known && c.size < self.nest.extents[axis] {
                        let number = more.checked_neg()?;
                        region.push((axis, AxisRange { base, number, length: c.size }));
                    }
                }
                self.closed(region)
            }
            _ => None,
        }
    }

    /// Regions outside of which a condition is not `holds`.
    fn regions(&self, mask: Val, holds: bool) -> Option<Regions> {
        self.looked.set(self.looked.get() + 1);
        if self.looked.get() > self.most {
            return None;
        }
        match self.instr(mask) {
            Instr::Op(Op::Not, args) => self.regions(args[0], !holds),
            // All of several conditions.
            Instr::Op(Op::And, _) if holds => self.all_of(mask, Op::And, true),
            Instr::Op(Op::Or, _) if !holds => self.all_of(mask, Op::Or, false),
            // One of two.
            Instr::Op(Op::Or | Op::And, args) => {
                let mut found = self.regions(args[0], holds)?;
                found.extend(self.regions(args[1], holds)?);
                Some(found)
            }
            _ => self.region(&[(mask, holds)]),
        }
    }

    /// Regions outside of which not all conditions of a conjunction are as wanted. What says nothing
    /// of the position is left out.
    fn all_of(&self, mask: Val, joined: Op, holds: bool) -> Option<Regions> {
        let mut open: SmallVec<[Val; 8]> = smallvec![mask];
        let mut conditions: SmallVec<[(Val, bool); 8]> = SmallVec::new();
        while let Some(v) = open.pop() {
            match self.instr(v) {
                Instr::Op(op, args) if *op == joined => open.extend(args.iter().copied()),
                _ => conditions.push((v, holds)),
            }
            if conditions.len() + open.len() > self.most {
                return None;
            }
        }
        let simple = self.region(&conditions);
        let mut others = conditions.iter().filter_map(|&(v, holds)| match self.instr(v) {
            Instr::Op(Op::And | Op::Or | Op::Not, _) => self.regions(v, holds),
            _ => None,
        });
        simple.or_else(|| others.next())
    }

    /// The region outside of which one of some comparisons fails.
    fn region(&self, comparisons: &[(Val, bool)]) -> Option<Regions> {
        let bounds: SmallVec<[(usize, Bound); 4]> =
            comparisons.iter().filter_map(|&(v, holds)| self.bound(v, holds)).collect();
        let mut region = ArrayRegion::new();
        for &(axis, bound) in &bounds {
            let span = match bound {
                Bound::At(base, number) => Some(AxisRange { base, number, length: 1 }),
                Bound::From(base, number) => {
                    bounds.iter().find_map(|&(other, bound)| match bound {
                        Bound::To(end, to) if other == axis && end == base => {
                            let length = usize::try_from(to.checked_sub(number)?).ok()?;
                            Some(AxisRange { base, number, length })
                        }
                        _ => None,
                    })
                }
                Bound::To(..) => None,
            };
            if let Some(span) = span
                && !region.iter().any(|(known, _)| *known == axis)
            {
                region.push((axis, span));
            }
        }
        self.closed(region)
    }

    /// A region whose positions depend on none of the axes that it restricts.
    fn closed(&self, region: ArrayRegion) -> Option<Regions> {
        let restricted = region.iter().fold(0, |dims, (axis, _)| dims | 1 << axis);
        let free = |span: &AxisRange| match span.base {
            Some(k) => self.dims[k.index()] & restricted == 0,
            None => true,
        };
        let all = region.iter().all(|(_, span)| free(span));
        (!region.is_empty() && all).then(|| smallvec![region])
    }

    /// What a comparison says of an index, if it is or is not to hold.
    fn bound(&self, v: Val, holds: bool) -> Option<(usize, Bound)> {
        let Instr::Op(op, args) = self.instr(v) else { return None };
        let (x, y) = match args[..] {
            [x, y] => (x, y),
            _ => return None,
        };
        let op = match (op, holds) {
            (Op::Eq, true) | (Op::Ne, false) => Op::Eq,
            (Op::Lt, true) | (Op::Ge, false) => Op::Lt,
            (Op::Le, true) | (Op::Gt, false) => Op::Le,
            (Op::Gt, true) | (Op::Le, false) => Op::Gt,
            (Op::Ge, true) | (Op::Lt, false) => Op::Ge,
            _ => return None,
        };
        let (op, side, other) = match (self.offset(x), self.offset(y)) {
            (Some(side), None) => (op, side, y),
            (None, Some(side)) => {
                let op = match op {
                    Op::Lt => Op::Gt,
                    Op::Le => Op::Ge,
                    Op::Gt => Op::Lt,
                    Op::Ge => Op::Le,
                    op => op,
                };
                (op, side, x)
            }
            _ => return None,
        };
        // i - base + more  op  other, of which only one may have a value that is not known.
        let (axis, base, more) = side;
        let (k, number) = match base {
            None => self.sum(other),
            Some(_) => (base, self.known(other)?),
        };
        let number = number.checked_sub(more)?;
        let next = number.checked_add(1);
        Some((
            axis,
            match op {
                Op::Eq => Bound::At(k, number),
                Op::Lt => Bound::To(k, number),
                Op::Le => Bound::To(k, next?),
                Op::Gt => Bound::From(k, next?),
                _ => Bound::From(k, number),
            },
        ))
    }

    /// An integer that does not depend on the indices and is known.
    fn known(&self, v: Val) -> Option<i64> {
        match self.instr(v) {
            Instr::Affine(affine) => affine.known(),
            _ => None,
        }
    }

    /// A value as another, if there is one, and a known number that is added to it.
    fn sum(&self, v: Val) -> (Option<Val>, i64) {
        if let Some(number) = self.known(v) {
            return (None, number);
        }
        let Instr::Op(op, args) = self.instr(v) else { return (Some(v), 0) };
        let parts = match (op, &args[..]) {
            (Op::Add, &[x, y]) => {
                self.known(x).map(|c| (y, c)).or_else(|| self.known(y).map(|c| (x, c)))
            }
            (Op::Sub, &[x, y]) => self.known(y).and_then(i64::checked_neg).map(|c| (x, c)),
            _ => None,
        };
        parts.map_or((Some(v), 0), |(v, number)| (Some(v), number))
    }

    /// A value as the index of a dimension, less one that does not depend on it, and a number.
    fn offset(&self, v: Val) -> Option<(usize, Option<Val>, i64)> {
        match self.instr(v) {
            Instr::Affine(affine) => {
                let (axis, more) = the_index(affine)?;
                Some((axis, None, more))
            }
            Instr::Op(Op::Sub, args) => {
                let Instr::Affine(affine) = self.instr(args[0]) else { return None };
                let (axis, more) = the_index(affine)?;
                (self.dims[args[1].index()] & 1 << axis == 0).then_some((axis, Some(args[1]), more))
            }
            _ => None,
        }
    }
}

/// The dimension of which this is the index and a number.
fn the_index(affine: &Affine) -> Option<(usize, i64)> {
    let dim = affine.coeffs.iter().position(|&c| c != 0)?;
    let mut index = Affine::index(dim, affine.coeffs.len());
    index.constant = affine.constant;
    (*affine == index).then_some((dim, affine.constant))
}
