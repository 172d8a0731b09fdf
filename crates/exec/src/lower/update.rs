//! States of loops of which a step changes a part.
//!
//! $$s'_{i \dots} = \begin{cases} v_{\dots} & i = k \\ s_{i \dots} & \text{otherwise} \end{cases}
//! \qquad\text{or}\qquad s'_{i \dots} = s_{i \dots} + [i = k]\, v_{\dots}$$
//!
//! and any composition of such updates: outside of a few *regions*, a position along some axes or a
//! slice of known length, the next state is the state. So the nest is run for the regions only, and
//! what it gives is stored where the state lies: the rest is neither read nor written. Regions may
//! overlap, and be larger than what is changed, as what is stored is what the whole nest gives at
//! that place. They are computed from the old state before any of them is stored.
//!
//! Adding 0 elsewhere makes $-0$ to $0$, which is not done here: where every bit counts a state that
//! is added to has to begin without negative zeros, and must not be assigned to, as only then it
//! has none later.

use cotan_array::Shape;
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{TermId, Type};
use smallvec::{SmallVec, smallvec};

use super::Lowering;
use super::part::needed;
use super::product::{Dims, dims_of};
use crate::body::Body;
use crate::nest::{Affine, BufferId, Component, Instr, Nest, Val, Write};
use crate::plan::{Role, Step};

/// A state has at least so many elements for each that is computed.
const PARTS: usize = 8;

/// Masks of more operations are not looked through.
const MOST: usize = 64;

/// More regions of one state are computed as a whole: each takes the operations of all.
const REGIONS: usize = 12;

/// Where each state begins, where it is, and where the step puts the next.
type States = [(BufferId, BufferId, BufferId)];

/// Neighbouring positions along an axis: so many from a value, if there is one, and a number on.
#[derive(Clone, Copy, PartialEq)]
struct Span {
    base: Option<Val>,
    number: i64,
    length: usize,
}

/// A part of a state: the axes of which it does not have all positions.
type Region = SmallVec<[(usize, Span); 2]>;

/// The regions outside of which a nest gives the state as it is.
struct Update {
    regions: SmallVec<[Region; 2]>,
    /// Whether 0 is added elsewhere, and whether something takes the place of the state somewhere.
    adds: bool,
    sets: bool,
}

impl Lowering<'_> {
    /// Changes states where they lie, wherever a step changes parts of them. What a step gives of
    /// such a state besides is copied before.
    pub(super) fn update_in_place(
        &mut self,
        states: &mut States,
        init: &[TermId],
        outputs: &mut [(BufferId, BufferId)],
        steps: &mut Vec<Step<Nest>>,
    ) {
        let all: SmallVec<[BufferId; 4]> = states.iter().map(|s| s.1).collect();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (k, &init) in init.iter().enumerate() {
            let (_, state, next) = states[k];
            let elsewhere = outputs.iter().any(|o| o.0 == next)
                || states.iter().filter(|s| s.0 == next || s.2 == next).count() != 1;
            let made = matches!(self.buffers[next.index()].role, Role::Temporary(_));
            if state == next || elsewhere || !made {
                continue;
            }
            let Some(place) = only_user(steps, next) else { continue };
            let Step::Compute(nest) = &steps[place] else { continue };
            let Some(update) = Update::of(nest, state) else { continue };
            let keeps_zeros = !update.adds || !update.sets && self.begins_positive(init);
            if self.in_order && !keeps_zeros {
                continue;
            }
            let Some((computed, stored)) = self.in_regions(nest, &update, state, &all) else {
                continue;
            };
            let boxed = |nest: Nest| Step::Compute(Box::new(nest));
            steps.splice(place..=place, computed.into_iter().map(boxed));
            after.extend(stored.into_iter().map(boxed));
            states[k].2 = state;
            for output in outputs.iter_mut().filter(|o| o.0 == state) {
                let copy = self.buffers[state.index()].clone();
                self.buffers.push(copy);
                output.0 = BufferId((self.buffers.len() - 1) as u32);
                before.push(Step::Copy { from: state, to: output.0 });
            }
        }
        steps.splice(0..0, before);
        steps.extend(after);
    }

    /// Whether an array is known to have no negative zeros.
    fn begins_positive(&self, t: TermId) -> bool {
        match self.uniform(t) {
            Some(Scalar::F64(x)) => x != 0.0 || x.is_sign_positive(),
            Some(Scalar::F32(x)) => x != 0.0 || x.is_sign_positive(),
            Some(_) => true,
            None => false,
        }
    }

    /// The nests that compute the regions, and those that store them. The latter come last, so they
    /// must not read states.
    fn in_regions(
        &mut self,
        nest: &Nest,
        update: &Update,
        state: BufferId,
        states: &[BufferId],
    ) -> Option<(Vec<Nest>, Vec<Nest>)> {
        let Write::Store(whole) = &nest.write else { return None };
        let size = |instr: &Instr| match instr {
            Instr::Load { buffer, .. } => self.buffers[buffer.index()].shape.numel(),
            _ => 0,
        };
        let sizes: Vec<usize> = nest.instrs.iter().map(size).collect();
        let (mut computed, mut stored) = (Vec::new(), Vec::new());
        for region in &update.regions {
            let mut regional = Regional::new(nest, region, &sizes)?;
            let mut value = regional.value(nest.value)?;
            let extents = regional.body.extents.clone();
            let (shape, place) = (Shape::new("part", &extents).ok()?, row_major(&extents)?);
            // What reads states is computed before any of them changes.
            let mut before = |regional: &mut Regional<'_>, v: Val| {
                let dtype = regional.body.dtype(v);
                let to = self.temporary(&Type::new(dtype, shape.clone()));
                computed.push(regional.nest(v, to, Write::Store(place.clone())));
                let load = Instr::Load { buffer: to, at: place.clone(), checks: Vec::new() };
                regional.body.push(load, dtype)
            };
            let mut index = Vec::with_capacity(nest.extents.len());
            for (axis, &size) in nest.extents.iter().enumerate() {
                let mut position = regional.positions[axis];
                if regional.reads(position, states) {
                    position = before(&mut regional, position);
                }
                index.push(Component { value: position, size, stride: whole.coeffs[axis] });
            }
            if regional.reads(value, states) {
                value = before(&mut regional, value);
            }
            stored.push(regional.nest(value, state, Write::StoreAt(index)));
        }
        Some((computed, stored))
    }
}

/// The only step that touches a buffer.
fn only_user(steps: &[Step<Nest>], buffer: BufferId) -> Option<usize> {
    let touches = |step: &Step<Nest>| {
        let mut found = false;
        step.for_each_buffer(&mut |b| found |= b == buffer);
        found
    };
    let mut users = steps.iter().enumerate().filter(|(_, step)| touches(step)).map(|(n, _)| n);
    users.next().filter(|_| users.next().is_none())
}

/// The places of an array that lies row by row.
fn row_major(extents: &[usize]) -> Option<Affine> {
    let mut at = Affine::constant(0, extents.len());
    let mut stride = 1i64;
    for (n, &k) in extents.iter().enumerate().rev() {
        at.coeffs[n] = stride;
        stride = stride.checked_mul(i64::try_from(k).ok()?)?;
    }
    Some(at)
}

/// The body of a nest over a region.
struct Regional<'a> {
    nest: &'a Nest,
    body: Body,
    /// Which dimension of the region an index is the index of, if it is the same there.
    straight: Vec<Option<usize>>,
    /// The position along each axis of the state.
    positions: SmallVec<[Val; 4]>,
    /// The values of the nest so far.
    moved: Vec<Option<Val>>,
    /// The sizes of the buffers that instructions read.
    sizes: &'a [usize],
}

impl<'a> Regional<'a> {
    fn new(nest: &'a Nest, region: &Region, sizes: &'a [usize]) -> Option<Regional<'a>> {
        let span = |dim: usize| region.iter().find(|(axis, _)| *axis == dim).map(|(_, span)| *span);
        // The dimensions that stay; those of slices are shorter.
        let (mut own, mut extents) = (vec![None; nest.extents.len()], Vec::new());
        for (dim, &k) in nest.extents.iter().enumerate() {
            let length = span(dim).map_or(k, |span| span.length);
            if span(dim).is_none() || length != 1 {
                own[dim] = Some(extents.len());
                extents.push(length);
            }
        }
        let mut regional = Regional {
            nest,
            body: Body::new(extents),
            straight: (0..own.len()).map(|dim| own[dim].filter(|_| span(dim).is_none())).collect(),
            positions: SmallVec::new(),
            moved: vec![None; nest.instrs.len()],
            sizes,
        };
        for (dim, index) in own.iter().enumerate() {
            let mut offset = Affine::constant(0, regional.body.extents.len());
            if let Some(n) = *index {
                offset.coeffs[n] = 1;
            }
            let mut position = None;
            if let Some(Span { base, number, .. }) = span(dim) {
                offset.constant = number;
                position = base.map(|k| regional.value(k).ok_or(())).transpose().ok()?;
            }
            let offset = regional.body.affine(offset);
            regional.positions.push(match position {
                Some(base) => regional.body.op(Op::Add, &[base, offset])?,
                None => offset,
            });
        }
        Some(regional)
    }

    /// A value of the nest, where its indices are the positions. Those of restricted axes have to
    /// be known if it depends on them.
    fn value(&mut self, v: Val) -> Option<Val> {
        let nest = self.nest;
        let needed = needed(nest, std::iter::once(v));
        for (n, instr) in nest.instrs.iter().enumerate().filter(|(n, _)| needed[*n]) {
            if self.moved[n].is_some() {
                continue;
            }
            let now = |v: Val| self.moved[v.index()];
            let dtype = nest.dtypes[n];
            let made = match instr {
                Instr::Const(bits) => self.body.push(Instr::Const(*bits), dtype),
                Instr::Affine(affine) => self.affine(affine)?,
                Instr::Load { buffer, at, checks } => {
                    let stays = |affine: &Affine| self.as_it_is(affine);
                    let kept = checks.iter().map(|(check, size)| Some((stays(check)?, *size)));
                    let read = match (stays(at), kept.collect::<Option<Vec<_>>>()) {
                        (Some(at), Some(checks)) => Instr::Load { buffer: *buffer, at, checks },
                        _ => {
                            // A place that a check keeps within the buffer, and checks that are
                            // components which do not move it.
                            let value = self.affine(at)?;
                            let size = self.sizes[n];
                            let mut index = vec![Component { value, size, stride: 1 }];
                            for (check, size) in checks {
                                let value = self.affine(check)?;
                                let size = usize::try_from(*size).ok()?;
                                index.push(Component { value, size, stride: 0 });
                            }
                            Instr::LoadAt { buffer: *buffer, index }
                        }
                    };
                    self.body.push(read, dtype)
                }
                Instr::LoadAt { buffer, index } => {
                    let mut index = index.clone();
                    for c in &mut index {
                        c.value = now(c.value)?;
                    }
                    self.body.push(Instr::LoadAt { buffer: *buffer, index }, dtype)
                }
                Instr::Op(op, args) => {
                    let args = args.iter().map(|&v| now(v));
                    let args: SmallVec<[Val; 3]> = args.collect::<Option<_>>()?;
                    self.body.op(*op, &args)?
                }
                // Formed when kernels are planned.
                Instr::MulAdd { .. } => return None,
            };
            self.moved[n] = Some(made);
        }
        self.moved[v.index()]
    }

    /// An affine form of the positions.
    fn affine(&mut self, affine: &Affine) -> Option<Val> {
        let dims = self.body.extents.len();
        let mut known = Affine::constant(affine.constant, dims);
        for (&c, n) in affine.coeffs.iter().zip(&self.straight) {
            if let Some(n) = *n {
                known.coeffs[n] = c;
            }
        }
        let mut sum = self.body.affine(known);
        for (dim, &c) in affine.coeffs.iter().enumerate() {
            if c == 0 || self.straight[dim].is_some() {
                continue;
            }
            let factor = self.body.affine(Affine::constant(c, dims));
            let position = *self.positions.get(dim)?;
            let term = match c {
                1 => position,
                _ => self.body.op(Op::Mul, &[position, factor])?,
            };
            let nothing = self.body.as_affine(sum) == Some(&Affine::constant(0, dims));
            sum = if nothing { term } else { self.body.op(Op::Add, &[sum, term])? };
        }
        Some(sum)
    }

    /// An affine form that depends only on indices that are the same.
    fn as_it_is(&self, affine: &Affine) -> Option<Affine> {
        let mut same = Affine::constant(affine.constant, self.body.extents.len());
        for (&c, n) in affine.coeffs.iter().zip(&self.straight) {
            match n {
                Some(n) => same.coeffs[*n] = c,
                None if c == 0 => {}
                None => return None,
            }
        }
        Some(same)
    }

    /// A nest over the region that writes one of the values.
    fn nest(&self, value: Val, target: BufferId, write: Write) -> Nest {
        let Body { extents, instrs, dtypes, .. } = &self.body;
        let nest = Nest {
            extents: extents.clone(),
            reduced: 0,
            instrs: instrs.clone(),
            dtypes: dtypes.clone(),
            value,
            target,
            write,
            also: Vec::new(),
            source: self.nest.source,
        };
        nest.without_dead()
    }

    /// Whether a value depends on one of some buffers.
    fn reads(&self, v: Val, buffers: &[BufferId]) -> bool {
        let zero = Write::Store(Affine::constant(0, self.body.extents.len()));
        self.nest(v, BufferId(0), zero).reads(|b| buffers.contains(&b))
    }
}

impl Update {
    /// A nest as updates of parts of a state.
    fn of(nest: &Nest, state: BufferId) -> Option<Update> {
        let Write::Store(place) = &nest.write else { return None };
        if place.constant != 0 || nest.reduced > 0 || !nest.also.is_empty() {
            return None;
        }
        let masks = Masks { nest, dims: dims_of(nest), looked: std::cell::Cell::new(0) };
        let instr = |v: Val| &nest.instrs[v.index()];
        let mut update = Update { regions: SmallVec::new(), adds: false, sets: false };
        let mut v = nest.value;
        loop {
            let found = match instr(v) {
                Instr::Load { buffer, at, checks } => {
                    let own = *buffer == state && at == place && checks.is_empty();
                    return (own && update.is_small(nest)).then_some(update);
                }
                Instr::Op(Op::Select, args) => {
                    update.sets = true;
                    match (masks.regions(args[0], true), masks.regions(args[0], false)) {
                        (Some(found), _) => {
                            v = args[2];
                            found
                        }
                        (None, Some(found)) => {
                            v = args[1];
                            found
                        }
                        (None, None) => return None,
                    }
                }
                Instr::Op(op @ (Op::Add | Op::Sub), args) => {
                    update.adds |= *op == Op::Add;
                    let (x, y) = (args[0], args[1]);
                    match (masks.nonzero(y), masks.nonzero(x)) {
                        (Some(found), _) => {
                            v = x;
                            found
                        }
                        (None, Some(found)) if *op == Op::Add => {
                            v = y;
                            found
                        }
                        _ => return None,
                    }
                }
                _ => return None,
            };
            for region in found {
                if !update.regions.contains(&region) {
                    update.regions.push(region);
                }
            }
            if update.regions.len() > REGIONS {
                return None;
            }
        }
    }

    /// Whether the regions are a small part of the state.
    fn is_small(&self, nest: &Nest) -> bool {
        let elements = |region: &Region| {
            let sizes = nest.extents.iter().enumerate().map(|(dim, &k)| {
                let restricted = region.iter().find(|(axis, _)| *axis == dim);
                restricted.map_or(k, |(_, span)| span.length)
            });
            sizes.fold(1usize, usize::saturating_mul)
        };
        let all = nest.extents.iter().fold(1usize, |n, &k| n.saturating_mul(k));
        let few = self.regions.iter().map(elements).fold(0, usize::saturating_add);
        !self.regions.is_empty() && few.saturating_mul(PARTS) <= all
    }
}

/// Where conditions in a nest hold.
struct Masks<'a> {
    nest: &'a Nest,
    dims: Vec<Dims>,
    looked: std::cell::Cell<usize>,
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

    /// Regions outside of which a value is 0.
    fn nonzero(&self, v: Val) -> Option<SmallVec<[Region; 2]>> {
        let zero = |v: Val| matches!(self.instr(v), Instr::Const(0));
        match self.instr(v) {
            Instr::Op(Op::Select, args) if zero(args[2]) => self.regions(args[0], true),
            Instr::Op(Op::Select, args) if zero(args[1]) => self.regions(args[0], false),
            // Reads out of range are 0.
            Instr::LoadAt { index, .. } => {
                let mut region = Region::new();
                for c in index {
                    let Some((axis, base, more)) = self.offset(c.value) else { continue };
                    // i = base - more + j for 0 <= j < size
                    let known = region.iter().any(|(a, _)| *a == axis);
                    if !known && c.size < self.nest.extents[axis] {
                        let number = more.checked_neg()?;
                        region.push((axis, Span { base, number, length: c.size }));
                    }
                }
                self.closed(region)
            }
            _ => None,
        }
    }

    /// Regions outside of which a condition is not `holds`.
    fn regions(&self, mask: Val, holds: bool) -> Option<SmallVec<[Region; 2]>> {
        self.looked.set(self.looked.get() + 1);
        if self.looked.get() > MOST {
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
    fn all_of(&self, mask: Val, joined: Op, holds: bool) -> Option<SmallVec<[Region; 2]>> {
        let mut open: SmallVec<[Val; 8]> = smallvec![mask];
        let mut conditions: SmallVec<[(Val, bool); 8]> = SmallVec::new();
        while let Some(v) = open.pop() {
            match self.instr(v) {
                Instr::Op(op, args) if *op == joined => open.extend(args.iter().copied()),
                _ => conditions.push((v, holds)),
            }
            if conditions.len() + open.len() > MOST {
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
    fn region(&self, comparisons: &[(Val, bool)]) -> Option<SmallVec<[Region; 2]>> {
        let bounds: SmallVec<[(usize, Bound); 4]> =
            comparisons.iter().filter_map(|&(v, holds)| self.bound(v, holds)).collect();
        let mut region = Region::new();
        for &(axis, bound) in &bounds {
            let span = match bound {
                Bound::At(base, number) => Some(Span { base, number, length: 1 }),
                Bound::From(base, number) => {
                    bounds.iter().find_map(|&(other, bound)| match bound {
                        Bound::To(end, to) if other == axis && end == base => {
                            let length = usize::try_from(to.checked_sub(number)?).ok()?;
                            Some(Span { base, number, length })
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
    fn closed(&self, region: Region) -> Option<SmallVec<[Region; 2]>> {
        let restricted = region.iter().fold(0, |dims, (axis, _)| dims | 1 << axis);
        let free = |span: &Span| match span.base {
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
