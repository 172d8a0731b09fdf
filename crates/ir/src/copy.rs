//! Copying terms from one program into a builder, and programs up to renaming.

use crate::build::Builder;
use crate::error::{Error, Result};
use crate::limits::{CancelToken, Limits};
use crate::term::{
    Arena, Args, Custom, MapAccum, Node, Output, Param, Program, RegionId, TermId, While,
};
use crate::term_map::TermMap;
use crate::walk::{Scope, Scopes};

impl Builder {
    /// Declares the inputs of a program, in order. The node of each there, if it has one, and the one
    /// here that stands for it.
    pub fn inputs_of(&mut self, source: &Arena) -> Result<Vec<(TermId, TermId)>> {
        let mut declared = Vec::with_capacity(source.inputs().len());
        for input in source.inputs() {
            declared.push(self.input(input.name.clone(), input.ty.clone())?);
        }
        let node = |t| match source.node(t) {
            Node::Input(k) => declared.get(*k as usize).map(|&input| (t, input)),
            _ => None,
        };
        Ok(source.terms().filter_map(node).collect())
    }
}

/// Copies terms of a source program into a builder, renaming variables to their new nesting.
///
/// A pass that changes some nodes and keeps the rest overrides [`Copier::set`] for the former and
/// lets [`Copier::copy`] do the latter.
pub struct Copier<'a> {
    source: &'a Arena,
    scopes: &'a Scopes,
    images: TermMap<TermId>,
}

impl<'a> Copier<'a> {
    /// A copier that has copied nothing yet.
    pub fn new(source: &'a Arena, scopes: &'a Scopes) -> Copier<'a> {
        Copier { source, scopes, images: TermMap::new() }
    }

    /// Declares the inputs of the source in the builder, in order.
    pub fn inputs(&mut self, b: &mut Builder) -> Result<()> {
        for (t, input) in b.inputs_of(self.source)? {
            self.set(t, input);
        }
        Ok(())
    }

    /// Lets `image` stand for `t` from now on.
    pub fn set(&mut self, t: TermId, image: TermId) {
        self.images.insert(t, image);
    }

    /// What stands for `t`.
    pub fn image(&self, t: TermId) -> Result<TermId> {
        self.images
            .get(t)
            .copied()
            .ok_or_else(|| Error::internal(format!("node {} was not copied", t.index())))
    }

    /// Whether something stands for `t`.
    pub fn has(&self, t: TermId) -> bool {
        self.images.contains(t)
    }

    /// Copies every node of a scope that has no image yet.
    pub fn scope(&mut self, b: &mut Builder, scope: &Scope) -> Result<()> {
        for &t in scope.order() {
            if !self.has(t) {
                let image = self.copy(b, t)?;
                self.set(t, image);
            }
        }
        Ok(())
    }

    /// Copies one node; its operands and the captures of its region have images.
    pub fn copy(&mut self, b: &mut Builder, t: TermId) -> Result<TermId> {
        let source = self.source;
        let before = b.set_span(source.span(t));
        let node = source.node(t);
        let region = node.region().map(|r| self.region(b, r)).transpose();
        let made = region.and_then(|region| b.remake(node, region, |u| self.image(u)));
        b.set_span(before);
        made
    }

    /// Copies a region; its captures have images. Recursive over the nesting of regions only.
    pub fn region(&mut self, b: &mut Builder, r: RegionId) -> Result<RegionId> {
        let (source, scopes) = (self.source, self.scopes);
        let region = source.region(r);
        let params: Vec<Param> = region
            .params()
            .iter()
            .filter_map(|&p| match source.node(p) {
                Node::Var { param, .. } => Some((**param).clone()),
                _ => None,
            })
            .collect();
        b.lambda(&params, |b, vars| {
            for (&p, &var) in region.params().iter().zip(vars) {
                self.set(p, var);
            }
            self.scope(b, scopes.region(r))?;
            let results = region.results().iter().map(|&t| self.image(t)).collect();
            // Another region may use the same nodes with other variables.
            for &t in scopes.region(r).order().iter().chain(region.params()) {
                self.images.remove(t);
            }
            results
        })
    }
}

impl Builder {
    /// A node like `node`, of other operands and another region.
    pub fn remake(
        &mut self,
        node: &Node,
        region: Option<RegionId>,
        image: impl Fn(TermId) -> Result<TermId>,
    ) -> Result<TermId> {
        let images = |ts: &[TermId]| ts.iter().map(|&t| image(t)).collect::<Result<Args>>();
        let region = || region.ok_or_else(|| Error::internal("a binder without a region"));
        match node {
            Node::Const(c) => self.literal(c.clone()),
            Node::Input(_) | Node::Var { .. } => {
                Err(Error::internal("an input or variable has no image"))
            }
            Node::Cond(p, u, v) => self.cond(image(*p)?, image(*u)?, image(*v)?),
            Node::Op(op, args) => self.op(*op, &images(args)?),
            Node::Index(t, ix) => self.index(image(*t)?, &images(ix)?),
            Node::SumOuter(t) => self.sum_outer(image(*t)?),
            Node::Gather(t, _) => self.gather(image(*t)?, region()?),
            Node::Scatter(sh, t, _) => self.scatter(sh.dims(), image(*t)?, region()?),
            Node::Stack(ts) => self.stack(&images(ts)?),
            Node::Replicate(k, t) => self.replicate(*k, image(*t)?),
            Node::Transpose(perm, t) => {
                let perm: Vec<usize> = perm.iter().map(|&k| usize::from(k)).collect();
                self.transpose(&perm, image(*t)?)
            }
            Node::Reshape(sh, t) => self.reshape(sh.dims(), image(*t)?),
            Node::Build1(_) => self.build1(region()?),
            Node::Iota(k) => self.iota(*k),
            Node::OneHot(sh, v, ix) => self.one_hot(sh.dims(), image(*v)?, &images(ix)?),
            Node::ArgExtreme(extreme, t) => self.arg_extreme(*extreme, image(*t)?),
            Node::ArgSort(t) => self.arg_sort(image(*t)?),
            Node::SegmentArg(extreme, k, t, ids) => {
                self.segment_arg(*extreme, *k, image(*t)?, image(*ids)?)
            }
            Node::Routine(routine, ts) => self.routine(*routine, &images(ts)?),
            Node::MapAccum(m) => self.map_accum(MapAccum {
                length: m.length,
                reverse: m.reverse,
                init: images(&m.init)?.into_boxed_slice(),
                inputs: images(&m.inputs)?.into_boxed_slice(),
                step: region()?,
            }),
            Node::While(w) => self.while_accum(While {
                bound: w.bound,
                init: images(&w.init)?.into_boxed_slice(),
                step: region()?,
            }),
            Node::Custom(c) => self.custom(Custom {
                kind: c.kind,
                args: images(&c.args)?.into_boxed_slice(),
                outputs: c.outputs,
                region: region()?,
            }),
            Node::Result(t, k) => self.result(image(*t)?, *k as usize),
        }
    }
}

impl Program {
    /// The same program without dead nodes, in the order of a depth-first walk from the outputs,
    /// with variables named by actual nesting. Programs equal up to renaming become identical.
    pub fn normalised(&self) -> Result<Program> {
        let scopes = Scopes::new(self);
        let unlimited = Limits { max_nodes: usize::MAX, deadline: None };
        let mut b = Builder::with_limits(unlimited, CancelToken::new());
        b.reserve(self.len());
        let mut copier = Copier::new(self, &scopes);
        copier.inputs(&mut b)?;
        copier.scope(&mut b, scopes.top())?;
        let mut outputs = Vec::with_capacity(self.outputs.len());
        for output in &self.outputs {
            outputs.push(Output { name: output.name.clone(), term: copier.image(output.term)? });
        }
        b.finish_with_sources(outputs, self.sources.clone())
    }
}

/// Equality up to the names of bound variables, the order of nodes, dead nodes and spans.
impl PartialEq for Program {
    fn eq(&self, other: &Program) -> bool {
        let (Ok(a), Ok(b)) = (self.normalised(), other.normalised()) else { return false };
        a.arena.nodes == b.arena.nodes
            && a.arena.regions == b.arena.regions
            && a.arena.inputs == b.arena.inputs
            && a.outputs == b.outputs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Op;
    use crate::term::Type;
    use cotan_array::{Dtype, Shape};

    fn vector(b: &mut Builder, k: usize) -> TermId {
        b.input("a", Type::new(Dtype::F64, Shape::new("test", &[k]).unwrap())).unwrap()
    }

    #[test]
    fn equal_up_to_order_and_dead_nodes() {
        let program = |swap: bool| {
            let mut b = Builder::new();
            let a = vector(&mut b, 3);
            if swap {
                b.op(Op::Cos, &[a]).unwrap();
            }
            let (first, second) = if swap { (Op::Exp, Op::Sin) } else { (Op::Sin, Op::Exp) };
            b.op(first, &[a]).unwrap();
            b.op(second, &[a]).unwrap();
            let (s, e) = (b.op(Op::Sin, &[a]).unwrap(), b.op(Op::Exp, &[a]).unwrap());
            let t = b.op(Op::Sub, &[s, e]).unwrap();
            b.finish_one(t).unwrap()
        };
        assert_eq!(program(false), program(true));
        assert_eq!(program(true).normalised().unwrap().len(), 4);
    }

    #[test]
    fn equal_up_to_the_depth_a_lambda_was_written_at() {
        // build 2 (i => build 3 (j => a[j])) : the inner lambda does not use i.
        let mut b = Builder::new();
        let a = vector(&mut b, 3);
        let nested = b.build(2, |b, _| b.build(3, |b, j| b.index(a, &[j]))).unwrap();
        let nested = b.finish_one(nested).unwrap();
        let mut b = Builder::new();
        let a = vector(&mut b, 3);
        let inner = b.build(3, |b, j| b.index(a, &[j])).unwrap();
        let hoisted = b.build(2, |_, _| Ok(inner)).unwrap();
        let hoisted = b.finish_one(hoisted).unwrap();
        assert_eq!(nested, hoisted);
    }

    #[test]
    fn different_programs_differ() {
        let program = |k: usize, op: Op| {
            let mut b = Builder::new();
            let a = vector(&mut b, k);
            let t = b.op(op, &[a]).unwrap();
            b.finish_one(t).unwrap()
        };
        assert_ne!(program(3, Op::Sin), program(3, Op::Cos));
        assert_ne!(program(3, Op::Sin), program(2, Op::Sin));
    }

    #[test]
    fn sibling_lambdas_with_one_body_are_copied_apart() {
        // The same open term under a build and under a gather's index function.
        let mut b = Builder::new();
        let a = vector(&mut b, 3);
        let indices = b.build(3, |b, i| b.op(Op::Mul, &[i, i])).unwrap();
        let f = b.index_function(&[3], |b, is| Ok(vec![b.op(Op::Mul, &[is[0], is[0]])?])).unwrap();
        let g = b.gather(a, f).unwrap();
        let sum = b.sum_outer(indices).unwrap();
        let at = b.index(g, &[sum]).unwrap();
        let p = b.finish_one(at).unwrap();
        assert_eq!(p, p.normalised().unwrap());
    }
}
