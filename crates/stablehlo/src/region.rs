//! Index functions at all positions at once: an array for each component.

use cotan_ir::scalar::Scalar;
use cotan_ir::{Node, Param, RegionId, Result, TermId};
use rustc_hash::FxHashMap;

use crate::affine;
use crate::emit::Emitter;
use crate::read::affine_read;
use crate::scalar::elementwise;
use crate::value::Val;

impl Emitter<'_> {
    /// The components of an index function but for the last ones, each an array over the values of
    /// all variables but as many last ones; and the sizes of these arrays.
    pub(crate) fn index_arrays(
        &mut self,
        r: RegionId,
        without: usize,
    ) -> Result<(Vec<usize>, Vec<Val>)> {
        let mut sizes = self.program.index_sizes(r).to_vec();
        sizes.truncate(sizes.len() - without);
        let results = self.program.region(r).results();
        let results = &results[..results.len() - without];
        if !self.runs_at_once(r) {
            let found = self.tabulated(r, &sizes, results)?;
            return Ok((sizes, found));
        }
        let mut found: FxHashMap<TermId, Val> = FxHashMap::default();
        for t in self.needed_with_variables(r, results) {
            let value = self.at_all_positions(r, t, &sizes, &found)?;
            found.insert(t, value);
        }
        let arrays = results.iter().map(|&t| self.spread(t, &sizes, &found)).collect::<Result<_>>();
        Ok((sizes, arrays?))
    }

    /// How many of the last components can be left out, since whole sub-arrays are read or written.
    pub(crate) fn whole_axes(&self, r: RegionId, dims: &[usize]) -> usize {
        if self.runs_at_once(r) { affine::whole_axes(self.program, r, dims) } else { 0 }
    }

    /// Whether a lambda of indices consists of operations on scalars and reads of arrays from outside.
    fn runs_at_once(&self, r: RegionId) -> bool {
        let level = self.program.region(r).level();
        let fits = |&t: &TermId| match self.program.node(t) {
            Node::Var { param, .. } if matches!(**param, Param::Index(_)) => true,
            Node::Op(..) | Node::Cond(..) => self.program.shape(t).rank() == 0,
            Node::Index(u, _) => {
                self.program.shape(t).rank() == 0 && !self.program.free(*u).contains(level)
            }
            Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Iota(_) => false,
            Node::SumOuter(_) | Node::Gather(..) | Node::Scatter(..) | Node::Stack(_) => false,
            Node::Replicate(..) | Node::Transpose(..) | Node::Reshape(..) => false,
            Node::Build1(_) | Node::OneHot(..) | Node::ArgExtreme(..) | Node::ArgSort(_) => false,
            Node::SegmentArg(..) | Node::Routine(..) => false,
            Node::MapAccum(_) | Node::While(_) | Node::Custom(_) | Node::Result(..) => false,
        };
        self.scopes.region(r).order().iter().all(fits)
    }

    /// A scalar of the lambda at all positions.
    fn at_all_positions(
        &mut self,
        r: RegionId,
        t: TermId,
        sizes: &[usize],
        found: &FxHashMap<TermId, Val>,
    ) -> Result<Val> {
        Ok(match self.program.node(t) {
            Node::Var { position, .. } => self.w.iota(*position as usize, sizes),
            Node::Op(op, args) => {
                let args: Vec<Val> =
                    args.iter().map(|&u| self.spread(u, sizes, found)).collect::<Result<_>>()?;
                elementwise(&mut self.w, *op, &args)?
            }
            Node::Cond(p, u, v) => {
                let [p, u, v] = [*p, *u, *v].map(|u| self.spread(u, sizes, found));
                self.w.select(&p?, &u?, &v?)
            }
            Node::Index(u, ix) => {
                let source = self.value(*u)?;
                if let Some(forms) = affine::forms_of(self.program, r, ix) {
                    let ty = source.ty.with_dims(sizes);
                    if let Some(y) = affine_read(&mut self.w, &source, &forms, sizes, &ty) {
                        return Ok(y);
                    }
                }
                let at: Vec<Val> =
                    ix.iter().map(|&i| self.spread(i, sizes, found)).collect::<Result<_>>()?;
                if source.ty.is_empty() {
                    return Ok(self.w.fill(Scalar::zero(source.ty.dtype, false), sizes));
                }
                let ranges: Vec<bool> = ix
                    .iter()
                    .zip(&source.ty.dims)
                    .map(|(&i, &k)| self.program.bounds(i).within(k))
                    .collect();
                self.read_at(&source, &at, sizes, &ranges)
            }
            other => {
                let message = format!("`{}` in an index function at once", other.name());
                return Err(cotan_ir::Error::internal(message));
            }
        })
    }

    /// A scalar of the lambda, or one from outside, at all positions.
    fn spread(
        &mut self,
        t: TermId,
        sizes: &[usize],
        found: &FxHashMap<TermId, Val>,
    ) -> Result<Val> {
        if let Some(value) = found.get(&t) {
            return Ok(value.clone());
        }
        let value = self.value(t)?;
        Ok(match value.known {
            Some(x) => self.w.fill(x, sizes),
            None => self.w.broadcast(&value, &[], sizes),
        })
    }
}
