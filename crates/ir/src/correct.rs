//! Programs of which values and derivatives can be compared closely: solutions of equations are
//! corrected, or `stop_gradient` is left out.

use crate::build::Builder;
use crate::error::{Error, Result};
use crate::limits::{CancelToken, Limits};
use crate::scalar::Op;
use crate::term::{Custom, CustomKind, Node, Output, Param, Program, RegionId, TermId};
use crate::term_map::{TermMap, TermSet};
use crate::walk::{Scope, Scopes};

/// The steps of Newton's method that are added to a solution: each squares its error.
const STEPS: usize = 2;

impl Program {
    /// Whether a part of it is the solution of an equation.
    pub fn has_equations(&self) -> bool {
        self.terms().any(|t| is_equation(self.node(t)))
    }

    /// The same program with better solutions of its equations ([`CustomKind::Implicit`]).
    ///
    /// A solver ends within its tolerance. What stands beside an equation $ g(x) = 0 $ for its
    /// derivative is what a step of Newton's method needs, $ x - g'(x)^{-1} g(x) $, which squares
    /// the error of $ x $; and the derivative of that step, if it is taken like that of any other
    /// expression, is the derivative of the solution up to the error of $ x $. So values and
    /// derivatives of the corrected program are known to their last places, not to the tolerance.
    pub fn corrected(&self) -> Result<Program> {
        self.revised(Revision { equations: true, stops: false })
    }

    /// Whether a part of it is a constant to derivatives by `stop_gradient`.
    pub fn has_stops(&self) -> bool {
        self.terms().any(|t| matches!(self.node(t), Node::Op(Op::StopGradient, _)))
    }

    /// The same program without `stop_gradient`: its derivative is what differences of its values
    /// show.
    pub fn unstopped(&self) -> Result<Program> {
        self.revised(Revision { equations: false, stops: true })
    }

    fn revised(&self, revision: Revision) -> Result<Program> {
        let scopes = Scopes::new(self);
        let unlimited = Limits { max_nodes: usize::MAX, deadline: None };
        let mut b = Builder::with_limits(unlimited, CancelToken::new());
        b.reserve(self.len());
        let mut inputs = Vec::with_capacity(self.inputs().len());
        for input in self.inputs() {
            inputs.push(b.input(input.name.clone(), input.ty.clone())?);
        }
        let mut correction =
            Correction { source: self, scopes: &scopes, revision, inputs, images: TermMap::new() };
        correction.scope(&mut b, scopes.top())?;
        let mut outputs = Vec::with_capacity(self.outputs().len());
        for output in self.outputs() {
            let term = correction.image(output.term)?;
            outputs.push(Output { name: output.name.clone(), term });
        }
        b.finish_with_sources(outputs, self.sources().clone())
    }
}

fn is_equation(node: &Node) -> bool {
    matches!(node, Node::Custom(c) if c.kind == CustomKind::Implicit)
}

/// What is written otherwise.
#[derive(Clone, Copy)]
struct Revision {
    /// Solutions of equations are corrected.
    equations: bool,
    /// `stop_gradient` is left out.
    stops: bool,
}

struct Correction<'a> {
    source: &'a Program,
    scopes: &'a Scopes,
    revision: Revision,
    inputs: Vec<TermId>,
    images: TermMap<TermId>,
}

impl Correction<'_> {
    fn image(&self, t: TermId) -> Result<TermId> {
        let image = self.images.get(t).copied();
        image.ok_or_else(|| Error::internal(format!("node {} was not corrected", t.index())))
    }

    fn all(&self, ts: &[TermId]) -> Result<Vec<TermId>> {
        ts.iter().map(|&t| self.image(t)).collect()
    }

    fn scope(&mut self, b: &mut Builder, scope: &Scope) -> Result<()> {
        scope.order().iter().try_for_each(|&t| self.make(b, t))
    }

    fn make(&mut self, b: &mut Builder, t: TermId) -> Result<()> {
        if !self.images.contains(t) {
            let before = b.set_span(self.source.span(t));
            let image = self.node(b, t);
            b.set_span(before);
            self.images.insert(t, image?);
        }
        Ok(())
    }

    fn node(&mut self, b: &mut Builder, t: TermId) -> Result<TermId> {
        let source = self.source;
        match source.node(t) {
            Node::Input(k) => {
                let input = self.inputs.get(*k as usize).copied();
                input.ok_or_else(|| Error::internal("an input that is not declared"))
            }
            Node::Op(Op::StopGradient, args) if self.revision.stops => match args[..] {
                [t] => self.image(t),
                _ => Err(Error::internal("`stop_gradient` of several arrays")),
            },
            node => {
                let equation = match node {
                    Node::Custom(c) if self.revision.equations && is_equation(node) => Some(&**c),
                    _ => None,
                };
                let region = node.region().map(|r| self.region(b, r, equation)).transpose()?;
                b.remake(node, region, |u| self.image(u))
            }
        }
    }

    /// The region again; its captures have images. Recursive over the nesting of regions only.
    fn region(
        &mut self,
        b: &mut Builder,
        r: RegionId,
        equation: Option<&Custom>,
    ) -> Result<RegionId> {
        let (source, scopes) = (self.source, self.scopes);
        let region = source.region(r);
        let mut params = Vec::with_capacity(region.params().len());
        for &p in region.params() {
            match source.node(p) {
                Node::Var { param, .. } => params.push(Param::clone(param)),
                _ => return Err(Error::internal("a parameter that is no variable")),
            }
        }
        b.lambda(&params, |b, vars| {
            for (&p, &var) in region.params().iter().zip(vars) {
                self.images.insert(p, var);
            }
            self.scope(b, scopes.region(r))?;
            let mut results = self.all(region.results())?;
            if let Some(c) = equation {
                let solution = self.solution(b, r, c, &results[..c.outputs])?;
                results.splice(..c.outputs, solution);
            }
            // Another region may use the same nodes with other variables.
            for &t in scopes.region(r).order().iter().chain(region.params()) {
                self.images.remove(t);
            }
            Ok(results)
        })
    }

    /// The solution of an equation, corrected.
    fn solution(
        &mut self,
        b: &mut Builder,
        r: RegionId,
        c: &Custom,
        found: &[TermId],
    ) -> Result<Vec<TermId>> {
        let mut solution = found.to_vec();
        for _ in 0..STEPS {
            let point = [&solution[..], &solution].concat();
            let residual = self.beside(b, r, c, 1, &point)?;
            let point = [&solution[..], &residual].concat();
            let step = self.beside(b, r, c, 2, &point)?;
            for (x, step) in solution.iter_mut().zip(step) {
                *x = b.op(Op::Sub, &[*x, step])?;
            }
        }
        Ok(solution)
    }

    /// What stands beside an equation, at an unknown and a right side: the residual (1), or the
    /// solution of the linear system (2).
    fn beside(
        &mut self,
        b: &mut Builder,
        r: RegionId,
        c: &Custom,
        part: usize,
        point: &[TermId],
    ) -> Result<Vec<TermId>> {
        let (scopes, region) = (self.scopes, self.source.region(r));
        let scope = scopes.region(r);
        let wanted = region.results().get(part * c.outputs..(part + 1) * c.outputs);
        let wanted = wanted.ok_or_else(|| Error::internal("an equation without its parts"))?;
        let own = scope.order().iter().chain(region.params());
        let before: Vec<(TermId, TermId)> =
            own.filter_map(|&t| self.images.remove(t).map(|image| (t, image))).collect();
        let params = region.params().iter().skip(c.args.len());
        for (&p, &t) in params.zip(point) {
            self.images.insert(p, t);
        }
        let mut needed = TermSet::new();
        let mut stack = wanted.to_vec();
        while let Some(t) = stack.pop() {
            if !self.images.contains(t) && needed.insert(t) {
                scopes.for_each_dependency(self.source, t, |u| stack.push(u));
            }
        }
        for &t in scope.order().iter().filter(|t| needed.contains(**t)) {
            self.make(b, t)?;
        }
        let results = self.all(wanted)?;
        for &t in scope.order() {
            self.images.remove(t);
        }
        for (t, image) in before {
            self.images.insert(t, image);
        }
        Ok(results)
    }
}
