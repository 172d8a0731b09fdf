//! Derivatives as program transformations (Fig. restaging-wrapper).
//!
//! Each takes a program without `build1` to a program that computes the values and the derivatives,
//! sharing the primal part. The result is an ordinary program: it prints, runs, and can be
//! differentiated again.

mod forward;
mod jacobian;
mod jet;
mod kept;
mod linearize;
mod reverse;

use cotan_ir::{Builder, Copier, Error, Output, Program, Result, Scopes, TermId};

use rustc_hash::FxHashSet;

use crate::algebra::Algebra;
use crate::dual::{Dual, DualArray};

pub use forward::{hvp, jvp};
pub use jacobian::{hessian, jacfwd, jacobian, jacrev};
pub use jet::{MOST_ORDER, jet, laplacian};
pub use linearize::{Linearized, Residual, linearize, residuals, split_vjp};
pub use reverse::{grad, value_and_grad, vjp};

/// The inputs that can be differentiated by: those of a float type, by position.
fn float_inputs(program: &Program) -> Vec<usize> {
    let inputs = program.inputs().iter().enumerate();
    inputs.filter(|(_, input)| input.ty.dtype.is_float()).map(|(k, _)| k).collect()
}

/// Checks a choice of inputs; `None` is all that can be differentiated by.
pub(crate) fn chosen(program: &Program, wrt: Option<&[usize]>) -> Result<Vec<usize>> {
    let Some(wrt) = wrt else { return Ok(float_inputs(program)) };
    let mut seen = vec![false; program.inputs().len()];
    for &k in wrt {
        let Some(input) = program.inputs().get(k) else {
            let message =
                format!("there is no input {k}: the program has {}", program.inputs().len());
            return Err(Error::type_error("gradient", message));
        };
        if !input.ty.dtype.is_float() {
            let message =
                format!("cannot differentiate by `{}`, which is {}", input.name, input.ty);
            return Err(Error::type_error("gradient", message)
                .with_hint("only f64 and f32 inputs have derivatives"));
        }
        if std::mem::replace(&mut seen[k], true) {
            let message = format!("input `{}` is named twice", input.name);
            return Err(Error::type_error("gradient", message));
        }
    }
    Ok(wrt.to_vec())
}

/// The name of an output, or its position.
pub(crate) fn output_name(program: &Program, k: usize) -> String {
    let output = &program.outputs()[k];
    if output.name.is_empty() { format!("result{k}") } else { output.name.clone() }
}

/// Names that are taken. Derivatives of derivatives meet their own names again.
#[derive(Default)]
struct Names(FxHashSet<String>);

impl Names {
    fn of_inputs(program: &Program) -> Names {
        Names(program.inputs().iter().map(|input| input.name.clone()).collect())
    }

    fn of_outputs(outputs: &[Output]) -> Names {
        Names(outputs.iter().map(|output| output.name.clone()).collect())
    }

    /// The name, with as many strokes as make it a new one.
    fn fresh(&mut self, mut name: String) -> String {
        while self.0.contains(&name) {
            name.push('\'');
        }
        self.0.insert(name.clone());
        name
    }
}

/// The inputs of a program as dual arrays, those of `wrt` with a derivative.
pub(crate) fn dual_inputs<A: Algebra>(
    dual: &mut Dual<'_, A>,
    inputs: &[A::T],
    wrt: &[usize],
) -> Vec<DualArray<A>> {
    let mut duals: Vec<_> = inputs.iter().map(|t| dual.lift(t.clone())).collect();
    for &k in wrt {
        if let Some(t) = inputs.get(k) {
            duals[k] = dual.input(k, t.clone());
        }
    }
    duals
}

pub(crate) fn declare_inputs(program: &Program, b: &mut Builder) -> Result<Vec<TermId>> {
    // The values of the program will be there, and more.
    b.reserve(program.len());
    program.inputs().iter().map(|input| b.input(input.name.clone(), input.ty.clone())).collect()
}

pub(crate) fn named_outputs(program: &Program, terms: impl Iterator<Item = TermId>) -> Vec<Output> {
    let name = |k| output_name(program, k);
    terms.enumerate().map(|(k, term)| Output { name: name(k), term }).collect()
}

/// The program with only those of its outputs that `keep` accepts, by position.
pub(crate) fn select_outputs(program: &Program, keep: impl Fn(usize) -> bool) -> Result<Program> {
    let kept = program.outputs().iter().enumerate().filter(|(k, _)| keep(*k));
    let kept: Vec<Output> = kept.map(|(_, output)| output.clone()).collect();
    let scopes = Scopes::of(program, &kept);
    let mut b = Builder::new();
    let mut copier = Copier::new(program, &scopes);
    copier.inputs(&mut b)?;
    copier.scope(&mut b, scopes.top())?;
    let mut outputs = Vec::with_capacity(kept.len());
    for output in kept {
        outputs.push(Output { name: output.name, term: copier.image(output.term)? });
    }
    b.finish_with_sources(outputs, program.sources().clone())
}
