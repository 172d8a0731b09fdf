//! Nests over regions of an array.

use cotan_array::Shape;
use cotan_ir::Type;
use cotan_ir::scalar::Op;
use cotan_nest::{Affine, Body, BufferId, Component, Instr, Nest, Val, Write};
use smallvec::SmallVec;

use super::super::Lowering;
use super::super::part::needed;
use super::regions::{ArrayRegion, AxisRange, Update};

impl Lowering<'_> {
    /// The nests that compute the regions, and those that store them. The latter come last, so they
    /// must not read states.
    pub(super) fn in_regions(
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
            if whole.constant != 0 {
                let size = usize::try_from(whole.constant).ok()?.checked_add(1)?;
                let value = regional.body.affine(Affine::constant(whole.constant, extents.len()));
                index.push(Component { value, size, stride: 1 });
            }
            if regional.reads(value, states) {
                value = before(&mut regional, value);
            }
            stored.push(regional.nest(value, state, Write::StoreAt(index)));
        }
        Some((computed, stored))
    }
}

/// The places of an array that lies row by row.
pub(super) fn row_major(extents: &[usize]) -> Option<Affine> {
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
    fn new(nest: &'a Nest, region: &ArrayRegion, sizes: &'a [usize]) -> Option<Regional<'a>> {
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
            if let Some(AxisRange { base, number, .. }) = span(dim) {
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
