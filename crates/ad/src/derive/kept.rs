//! What the derivative at a point keeps of the function there: arrays, not views of arrays.
//!
//! The derivative of a matrix product reads both factors repeated along the third axis. As they stand
//! in the program, these are arrays of $n^3$ elements; the $n^2$ elements of which they are views are
//! kept in their place, and viewed where they are read.

use cotan_ir::{Builder, Copier, Node, Output, Program, Result, Scopes, TermId};

use super::Names;
use super::linearize::Linearized;

impl Linearized {
    /// The same two programs of a function with so many results, where nothing that the second reads of
    /// the first is a mere view: of a repetition, transpose, reshape or read at known positions it
    /// gets what that is a view of, unless that has more elements.
    pub fn without_views(self, results: usize) -> Result<Linearized> {
        let (primal, linear) = (&self.primal, &self.linear);
        let scopes = Scopes::new(primal);
        let (values, residuals) = primal.outputs().split_at(results.min(primal.outputs().len()));
        let chains: Vec<Vec<TermId>> =
            residuals.iter().map(|output| views(primal, &scopes, output.term)).collect();
        if chains.iter().all(|chain| chain.len() == 1) {
            return Ok(self);
        }

        // Each array once, however many views of it there are.
        let mut bases: Vec<TermId> = Vec::new();
        for base in chains.iter().filter_map(|chain| chain.last()) {
            if !bases.contains(base) {
                bases.push(*base);
            }
        }
        let mut outputs = values.to_vec();
        let mut names = Names::of_outputs(&outputs);
        for (n, &term) in bases.iter().enumerate() {
            outputs.push(Output { name: names.fresh(format!("res{n}")), term });
        }
        let mut b = Builder::new();
        let mut copier = Copier::new(primal, &scopes);
        copier.inputs(&mut b)?;
        copier.scope(&mut b, scopes.top())?;
        let kept = finished(b, &copier, outputs, primal)?;

        let mut b = Builder::new();
        let mut names = Names::of_inputs(linear);
        let mut copier = Copier::new(primal, &scopes);
        for (n, &base) in bases.iter().enumerate() {
            let input = b.input(names.fresh(format!("kept{n}")), primal.ty(base).clone())?;
            copier.set(base, input);
        }
        let mut images = Vec::with_capacity(linear.inputs().len());
        for input in &linear.inputs()[chains.len()..] {
            images.push(b.input(input.name.clone(), input.ty.clone())?);
        }
        let mut views = Vec::with_capacity(chains.len());
        for chain in &chains {
            for &t in chain.iter().rev().filter(|t| !bases.contains(t)) {
                scopes.for_each_dependency(primal, t, |u| views.push(u));
                for u in views.drain(..) {
                    if !copier.has(u) {
                        let image = copier.copy(&mut b, u)?;
                        copier.set(u, image);
                    }
                }
                if !copier.has(t) {
                    let image = copier.copy(&mut b, t)?;
                    copier.set(t, image);
                }
            }
        }
        let viewed = chains.iter().map(|chain| copier.image(chain[0]));
        let viewed = viewed.collect::<Result<Vec<TermId>>>()?;
        images.splice(0..0, viewed);
        let own = Scopes::new(linear);
        let mut copier = Copier::new(linear, &own);
        for t in linear.terms() {
            if let Node::Input(k) = linear.node(t) {
                copier.set(t, images[*k as usize]);
            }
        }
        copier.scope(&mut b, own.top())?;
        let linear = finished(b, &copier, linear.outputs().to_vec(), linear)?;
        Ok(Linearized { primal: kept, linear })
    }
}

/// A program with the images of outputs.
fn finished(
    b: Builder,
    copier: &Copier<'_>,
    mut outputs: Vec<Output>,
    of: &Program,
) -> Result<Program> {
    for output in &mut outputs {
        output.term = copier.image(output.term)?;
    }
    b.finish_with_sources(outputs, of.sources().clone())
}

/// A term, what it is a view of, what that is a view of, and so on. None has more elements than the one
/// before, and all that a view needs besides are constants.
fn views(program: &Program, scopes: &Scopes, t: TermId) -> Vec<TermId> {
    let mut chain = vec![t];
    let mut t = t;
    loop {
        let u = match *program.node(t) {
            Node::Replicate(_, u) | Node::Transpose(_, u) | Node::Reshape(_, u) => u,
            Node::Gather(u, _) => u,
            _ => return chain,
        };
        let mut closed = program.shape(u).numel() <= program.shape(t).numel();
        scopes.for_each_dependency(program, t, |other| {
            let constant = matches!(program.node(other), Node::Const(_) | Node::Iota(_));
            closed &= other == u || constant;
        });
        if !closed || matches!(program.node(u), Node::Const(_) | Node::Iota(_)) {
            return chain;
        }
        chain.push(u);
        t = u;
    }
}
