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
    /// The components of an index function, each an array over its positions.
    pub(crate) fn index_arrays(&mut self, r: RegionId) -> Result<Vec<Val>> {
        let sizes = self.program.index_sizes(r).to_vec();
        if !self.runs_at_once(r) {
            return self.tabulated(r, &sizes);
        }
        let mut found: FxHashMap<TermId, Val> = FxHashMap::default();
        let order = self.scopes.region(r).order().to_vec();
        for t in order {
            let value = self.at_all_positions(r, t, &sizes, &found)?;
            found.insert(t, value);
        }
        let results = self.program.region(r).results();
        results.iter().map(|&t| self.spread(t, &sizes, &found)).collect()
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
            Node::SegmentArg(..) => false,
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
