//! Extremes by segment: positions, and what is read there.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Extreme, Result, TermId, Type};

use super::{Generator, array_type};

impl Generator<'_> {
    pub(super) fn extreme(&mut self) -> Extreme {
        if self.rng.chance(50) { Extreme::Max } else { Extreme::Min }
    }

    /// Positions of a type, whose outermost axis are the segments.
    pub(super) fn segment_arg(&mut self, ty: &Type, size: usize) -> Result<TermId> {
        let Some((&segments, inner)) = ty.shape.dims().split_first() else {
            return self.leaf(ty);
        };
        let sizes = self.more_axes(1, inner);
        if sizes.is_empty() {
            return self.leaf(ty);
        }
        let source = array_type(self.ordered_dtype(), &sizes, inner)?;
        let t = self.term(&source, size / 2)?;
        let ids = self.ids(segments, &[&sizes, inner].concat(), size / 2)?;
        let extreme = self.extreme();
        self.b.segment_arg(extreme, segments, t, ids)
    }

    /// Ids of segments, most of them in range: an array of a shape, or a vector repeated.
    fn ids(&mut self, segments: usize, dims: &[usize], size: usize) -> Result<TermId> {
        let repeated = dims.len() > 1 && self.rng.chance(50);
        let own = if repeated { &dims[..1] } else { dims };
        let mut ids = self.term(&array_type(Dtype::I64, own, &[])?, size)?;
        if self.rng.chance(70) && self.config.allows(Op::Rem, &[Dtype::I64, Dtype::I64]) {
            let modulus = self.b.scalar(segments as i64)?;
            let modulus = self.b.broadcast_to(modulus, own)?;
            ids = self.b.op(Op::Rem, &[ids, modulus])?;
        }
        if !repeated {
            return Ok(ids);
        }
        // The vector lies along the outermost axis, and copies are made along new outermost ones.
        let copies: Vec<usize> = dims[1..].iter().chain(&dims[..1]).copied().collect();
        let copied = self.b.broadcast_to(ids, &copies)?;
        let last = copies.len() - 1;
        let order: Vec<usize> = std::iter::once(last).chain(0..last).collect();
        self.b.transpose(&order, copied)
    }

    /// The largest or smallest elements by segment, or those that are first or last.
    pub(super) fn best_by_segment(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let dims = ty.shape.dims().to_vec();
        let Some((&segments, inner)) = dims.split_first() else { return Ok(None) };
        let n = 1 + self.rng.below(8);
        let rows = array_type(ty.dtype, &[n], inner)?;
        let fits = rows.shape.numel() <= self.config.max_elements && self.may_open(n);
        if !fits || !ty.dtype.is_numeric() {
            return Ok(None);
        }
        let t = self.term(&rows, size / 2)?;
        let ids = self.ids(segments, rows.shape.dims(), size / 2)?;
        let smooth = self.config.smooth && ty.dtype.is_float();
        let key = if smooth || self.rng.chance(30) { self.row_numbers(n, inner)? } else { t };
        let extreme = self.extreme();
        let position = self.b.segment_arg(extreme, segments, key, ids)?;
        let f = self.b.index_function(&dims, |b, is| {
            let at = b.index(position, is)?;
            Ok(std::iter::once(at).chain(is.iter().skip(1).copied()).collect())
        })?;
        self.b.gather(t, f).map(Some)
    }

    /// At each place the number of its row.
    fn row_numbers(&mut self, n: usize, inner: &[usize]) -> Result<TermId> {
        let numbers = self.b.iota(n)?;
        let copied = self.b.broadcast_to(numbers, &[inner, &[n]].concat())?;
        let order: Vec<usize> = std::iter::once(inner.len()).chain(0..inner.len()).collect();
        self.b.transpose(&order, copied)
    }
}
