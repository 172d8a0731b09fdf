//! `Staged`: the algebra whose arrays are terms. Interpreting into it emits nodes.

use std::sync::Arc;

use cotan_array::Array;
use cotan_ir::magnitude::Magnitudes;
use cotan_ir::scalar::Op;
use cotan_ir::{
    Builder, Copier, Error, Extreme, MapAccum, Node, Param, RegionId, Result, Routine, Span,
    TermId, Type, While, provenance,
};

use crate::algebra::{Algebra, Lambda, Loop, element, interpret};
use crate::custom::CustomFunction;
use crate::while_loop::WhileLoop;

/// Emits terms into a builder.
#[derive(Clone, Debug, Default)]
pub struct Staged {
    /// Where the terms go.
    pub b: Builder,
    magnitudes: Magnitudes,
}

impl Staged {
    /// Terms that go into a builder.
    pub fn new(b: Builder) -> Staged {
        Staged { b, magnitudes: Magnitudes::default() }
    }
}

impl Algebra for Staged {
    type T = TermId;
    type F = RegionId;

    fn at(&mut self, span: Span) {
        if self.follows_places() && !span.is_none() {
            self.b.set_span(span);
        }
    }

    /// Only for records: places take memory, and what a derivative makes is found by what came before.
    fn follows_places(&self) -> bool {
        provenance::is_recording()
    }

    fn ty(&self, t: &TermId) -> Type {
        self.b.ty(*t).clone()
    }

    fn constant(&mut self, c: &Array) -> Result<TermId> {
        self.b.constant(c)
    }

    fn cond(&mut self, p: &TermId, u: &TermId, v: &TermId) -> Result<TermId> {
        // A branch that asks the same again is known there.
        let u = match self.b.node(*u) {
            Node::Cond(q, inner, _) if q == p => *inner,
            _ => *u,
        };
        let v = match self.b.node(*v) {
            Node::Cond(q, _, inner) if q == p => *inner,
            _ => *v,
        };
        self.b.cond(*p, u, v)
    }

    fn identity(&self, t: &TermId) -> Option<usize> {
        Some(t.index())
    }

    fn op(&mut self, op: Op, args: &[TermId]) -> Result<TermId> {
        self.b.op(op, args)
    }

    fn index(&mut self, t: &TermId, ix: &[TermId]) -> Result<TermId> {
        self.b.index(*t, ix)
    }

    fn sum_outer(&mut self, t: &TermId) -> Result<TermId> {
        self.b.sum_outer(*t)
    }

    fn index_function(&mut self, f: Lambda<'_>, captures: &[(TermId, TermId)]) -> Result<RegionId> {
        let mut copier = Copier::new(f.program, f.scopes);
        for &(t, image) in captures {
            copier.set(t, image);
        }
        copier.region(&mut self.b, f.region)
    }

    fn index_table(&mut self, tables: &[TermId]) -> Result<RegionId> {
        let k = tables.first().and_then(|&t| self.b.shape(t).dims().first().copied());
        let k = k.ok_or_else(|| Error::internal("an index function without components"))?;
        self.b.index_function(&[k], |b, is| tables.iter().map(|&t| b.index(t, is)).collect())
    }

    fn index_rank(&self, f: &RegionId) -> usize {
        self.b.region(*f).results().len()
    }

    fn gather(&mut self, t: &TermId, f: &RegionId) -> Result<TermId> {
        self.b.gather(*t, *f)
    }

    fn scatter(&mut self, outer: &[usize], t: &TermId, f: &RegionId) -> Result<TermId> {
        self.b.scatter(outer, *t, *f)
    }

    fn stack(&mut self, ts: &[TermId]) -> Result<TermId> {
        self.b.stack(ts)
    }

    fn replicate(&mut self, k: usize, t: &TermId) -> Result<TermId> {
        self.b.replicate(k, *t)
    }

    fn transpose(&mut self, perm: &[usize], t: &TermId) -> Result<TermId> {
        self.b.transpose(perm, *t)
    }

    fn reshape(&mut self, dims: &[usize], t: &TermId) -> Result<TermId> {
        self.b.reshape(dims, *t)
    }

    fn iota(&mut self, k: usize) -> Result<TermId> {
        self.b.iota(k)
    }

    fn one_hot(&mut self, outer: &[usize], v: &TermId, ix: &[TermId]) -> Result<TermId> {
        self.b.one_hot(outer, *v, ix)
    }

    fn arg_extreme(&mut self, extreme: Extreme, t: &TermId) -> Result<TermId> {
        self.b.arg_extreme(extreme, *t)
    }

    fn arg_sort(&mut self, t: &TermId) -> Result<TermId> {
        self.b.arg_sort(*t)
    }

    fn segment_arg(
        &mut self,
        extreme: Extreme,
        k: usize,
        t: &TermId,
        ids: &TermId,
    ) -> Result<TermId> {
        self.b.segment_arg(extreme, k, *t, *ids)
    }

    fn routine(&mut self, routine: Routine, operands: &[TermId]) -> Result<TermId> {
        self.b.routine(routine, operands)
    }

    fn map_accum(&mut self, m: &Loop<TermId>) -> Result<Vec<TermId>> {
        let mut params: Vec<Param> = Vec::with_capacity(m.init.len() + m.inputs.len());
        params.extend(m.init.iter().map(|&s| Param::Value(self.b.ty(s).clone())));
        params.extend(m.inputs.iter().map(|&x| Param::Value(element(self.b.ty(x)))));
        let mut inputs = self.b.open(&params)?;
        inputs.extend(&m.captures);
        let step = match interpret(&m.step.program, &inputs, self) {
            Ok(results) => self.b.close(&results)?,
            Err(error) => {
                self.b.abandon();
                return Err(error);
            }
        };
        let t = self.b.map_accum(MapAccum {
            length: m.length,
            reverse: m.reverse,
            init: m.init.clone().into(),
            inputs: m.inputs.clone().into(),
            step,
        })?;
        (0..m.step.program.outputs().len()).map(|n| self.b.result(t, n)).collect()
    }

    fn while_accum(&mut self, w: &WhileLoop<TermId>) -> Result<Vec<TermId>> {
        let params: Vec<Param> =
            w.init.iter().map(|&s| Param::Value(self.b.ty(s).clone())).collect();
        let mut inputs = self.b.open(&params)?;
        inputs.extend(&w.captures);
        let made = interpret(&w.condition, &inputs, self).and_then(|mut results| {
            results.extend(interpret(&w.step.program, &inputs, self)?);
            Ok(results)
        });
        let step = match made {
            Ok(results) => self.b.close(&results)?,
            Err(error) => {
                self.b.abandon();
                return Err(error);
            }
        };
        let t = self.b.while_accum(While { bound: w.bound, init: w.init.clone().into(), step })?;
        (0..w.step.program.outputs().len()).map(|n| self.b.result(t, n)).collect()
    }

    fn custom(&mut self, c: &Arc<CustomFunction>, args: &[TermId]) -> Result<Vec<TermId>> {
        self.staged_custom(c, args)
    }

    fn is_finite(&mut self, t: &TermId) -> bool {
        self.magnitudes.is_finite(&self.b, *t)
    }
}
