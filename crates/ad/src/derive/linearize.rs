//! Linearisation: a program at a point, and the linear program of its derivative there, or of the
//! transpose of that.

use cotan_ir::{Builder, Copier, Error, Node, Output, Program, Result, Scopes, Span, TermId, Type};
use rustc_hash::FxHashSet;

use super::{Names, chosen, declare_inputs, dual_inputs, named_outputs, output_name};
use crate::algebra::{Algebra, interpret};
use crate::dual::Dual;
use crate::forward::forward_pass;
use crate::staged::Staged;

/// A program split into what depends on the point only and what is linear in a direction there.
#[derive(Clone, Debug)]
pub struct Linearized {
    /// The inputs of the program to its outputs, then the residuals `res0, res1, ..`.
    pub primal: Program,
    /// The residuals, then the tangents `d.NAME` of the chosen inputs, to the tangents of the float
    /// outputs; or, of [`split_vjp`], the cotangents `ct.NAME` of these to those of the inputs. Linear
    /// in the tangents or cotangents.
    pub linear: Program,
}

/// The program at a point and its derivative there as a linear program, to be run many times.
pub fn linearize(program: &Program, wrt: Option<&[usize]>) -> Result<Linearized> {
    let wrt = chosen(program, wrt)?;
    let mut b = Builder::new();
    let inputs = declare_inputs(program, &mut b)?;
    let mut tangents = vec![None; inputs.len()];
    let mut names = Names::of_inputs(program);
    for &k in &wrt {
        let input = &program.inputs()[k];
        let name = names.fresh(format!("d.{}", input.name));
        tangents[k] = Some(b.input(name, input.ty.clone())?);
    }
    let mut staged = Staged::new(b);
    let mut dual = Dual::new(&mut staged);
    let duals = dual_inputs(&mut dual, &inputs, &wrt);
    let results = interpret(program, &duals, &mut dual)?;
    let deltas = dual.deltas;
    let values = forward_pass(&deltas, &tangents, &mut staged)?;
    let mut outputs = named_outputs(program, results.iter().map(|t| t.primal));
    let mut names = Names::of_outputs(&outputs);
    for (k, result) in results.iter().enumerate() {
        let ty = program.ty(program.outputs()[k].term);
        if ty.dtype.is_float() {
            let term = match result.delta.and_then(|d| values[d.index()]) {
                Some(term) => term,
                None => staged.number(0.0, ty)?,
            };
            let name = names.fresh(format!("d.{}", output_name(program, k)));
            outputs.push(Output { name, term });
        }
    }
    let both = staged.b.finish_with_sources(outputs, program.sources().clone())?;
    split(&both, program.inputs().len(), program.outputs().len())
}

/// The program that [`vjp`](super::vjp) makes of `program`, simplified since or not, as two: the
/// program at a point, and what makes gradients of cotangents there without computing it again.
pub fn split_vjp(program: &Program, vjp: &Program) -> Result<Linearized> {
    split(vjp, program.inputs().len(), program.outputs().len())
}

/// What the late part of a program reads of the early one, which depends on the first `early_inputs`
/// only; and which nodes are late. Constants are repeated instead.
fn between(
    program: &Program,
    scopes: &Scopes,
    early_inputs: usize,
    early_outputs: usize,
) -> (Vec<TermId>, Vec<bool>) {
    let order = scopes.top().order();
    let mut late = vec![false; program.len()];
    for &t in order {
        late[t.index()] = match program.node(t) {
            Node::Input(k) => *k as usize >= early_inputs,
            _ => {
                let mut any = false;
                scopes.for_each_dependency(program, t, |u| any |= late[u.index()]);
                any
            }
        };
    }
    let mut residuals: Vec<TermId> = Vec::new();
    let mut seen: FxHashSet<TermId> = FxHashSet::default();
    let mut needed: Vec<TermId> = Vec::new();
    for &t in order.iter().filter(|t| late[t.index()]) {
        scopes.for_each_dependency(program, t, |u| needed.push(u));
    }
    needed.extend(program.outputs()[early_outputs..].iter().map(|output| output.term));
    for t in needed {
        if !late[t.index()] && !is_constant(program, t) && seen.insert(t) {
            residuals.push(t);
        }
    }
    (residuals, late)
}

fn is_constant(program: &Program, t: TermId) -> bool {
    matches!(program.node(t), Node::Const(_) | Node::Iota(_))
}

/// An array that is kept between the forward and the reverse pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Residual {
    /// Its type.
    pub ty: Type,
    /// The operation that makes it.
    pub op: &'static str,
    /// Where that was written.
    pub span: Span,
    /// Of an argument, its number: it is there anyway.
    pub input: Option<usize>,
}

/// What the program that [`vjp`](super::vjp) makes of `program`, simplified since or not, keeps of
/// the forward pass until the reverse pass reads it, the largest first. Of what is only another view
/// of an array, that array.
pub fn residuals(program: &Program, vjp: &Program) -> Vec<Residual> {
    let scopes = Scopes::new(vjp);
    let (found, _) = between(vjp, &scopes, program.inputs().len(), program.outputs().len());
    let mut seen: FxHashSet<TermId> = FxHashSet::default();
    let mut residuals = Vec::new();
    for mut t in found {
        while let Node::Transpose(_, u) | Node::Reshape(_, u) | Node::Replicate(_, u) = vjp.node(t)
        {
            t = *u;
        }
        if is_constant(vjp, t) || !seen.insert(t) {
            continue;
        }
        let (op, input) = match vjp.node(t) {
            Node::Input(k) => ("input", Some(*k as usize)),
            Node::Result(u, _) => (vjp.node(*u).name(), None),
            node => (node.name(), None),
        };
        residuals.push(Residual { ty: vjp.ty(t).clone(), op, span: vjp.span(t), input });
    }
    let size = |r: &Residual| r.ty.shape.bytes(r.ty.dtype);
    residuals.sort_by_key(|r| std::cmp::Reverse(size(r)));
    residuals
}

/// Splits a program in two: the first `early_outputs` from the first `early_inputs`, and the rest
/// from the remaining inputs and from residuals, which the first part also returns.
fn split(program: &Program, early_inputs: usize, early_outputs: usize) -> Result<Linearized> {
    let scopes = Scopes::new(program);
    let order = scopes.top().order();
    let (residuals, late) = between(program, &scopes, early_inputs, early_outputs);
    if residuals.iter().any(|&t| program.result_types(t).is_some()) {
        return Err(Error::internal("a loop without a chosen result is a residual"));
    }

    let mut b = Builder::new();
    let mut copier = Copier::new(program, &scopes);
    copy_inputs(program, &mut b, &mut copier, 0..early_inputs)?;
    copy_some(order, &mut b, &mut copier, |t| !late[t.index()])?;
    let mut outputs = Vec::new();
    for output in &program.outputs()[..early_outputs] {
        outputs.push(Output { name: output.name.clone(), term: copier.image(output.term)? });
    }
    let mut names = Names::of_outputs(&outputs);
    for (n, &t) in residuals.iter().enumerate() {
        let name = names.fresh(format!("res{n}"));
        outputs.push(Output { name, term: copier.image(t)? });
    }
    let primal = b.finish_with_sources(outputs, program.sources().clone())?;

    let mut b = Builder::new();
    let mut copier = Copier::new(program, &scopes);
    let mut names = Names::of_inputs(program);
    for (n, &t) in residuals.iter().enumerate() {
        copier.set(t, b.input(names.fresh(format!("res{n}")), program.ty(t).clone())?);
    }
    copy_inputs(program, &mut b, &mut copier, early_inputs..program.inputs().len())?;
    copy_some(order, &mut b, &mut copier, |t| late[t.index()] || is_constant(program, t))?;
    let mut outputs = Vec::new();
    for output in &program.outputs()[early_outputs..] {
        outputs.push(Output { name: output.name.clone(), term: copier.image(output.term)? });
    }
    let linear = b.finish_with_sources(outputs, program.sources().clone())?;
    Ok(Linearized { primal, linear })
}

/// Declares some of the inputs, used or not.
fn copy_inputs(
    program: &Program,
    b: &mut Builder,
    copier: &mut Copier<'_>,
    which: std::ops::Range<usize>,
) -> Result<()> {
    let mut terms = vec![None; program.inputs().len()];
    for t in program.terms() {
        if let Node::Input(k) = program.node(t) {
            terms[*k as usize] = Some(t);
        }
    }
    for k in which {
        let input = &program.inputs()[k];
        let image = b.input(input.name.clone(), input.ty.clone())?;
        if let Some(t) = terms[k] {
            copier.set(t, image);
        }
    }
    Ok(())
}

/// Copies those nodes of a scope that `wanted` accepts and that have no image yet.
fn copy_some(
    order: &[TermId],
    b: &mut Builder,
    copier: &mut Copier<'_>,
    wanted: impl Fn(TermId) -> bool,
) -> Result<()> {
    for &t in order {
        if wanted(t) && !copier.has(t) {
            let image = copier.copy(b, t)?;
            copier.set(t, image);
        }
    }
    Ok(())
}
