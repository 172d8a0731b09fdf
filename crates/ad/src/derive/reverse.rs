//! Reverse mode: gradients and vector-Jacobian products.

use cotan_ir::{Builder, Error, Output, Program, Result, TermId};

use super::{
    Names, chosen, declare_inputs, dual_inputs, named_outputs, output_name, select_outputs,
};
use crate::algebra::{Algebra, interpret};
use crate::dual::Dual;
use crate::staged::Staged;
use crate::transpose::reverse_pass;

/// Values and gradients of a program, given cotangents of its float outputs.
///
/// The result has one more input `ct.NAME` for each float output, and after the outputs one more
/// `grad.NAME` for each chosen input (all float ones by default).
pub fn vjp(program: &Program, wrt: Option<&[usize]>) -> Result<Program> {
    let mut b = Builder::new();
    let inputs = declare_inputs(program, &mut b)?;
    let mut seeds = Vec::new();
    let mut names = Names::of_inputs(program);
    for (k, output) in program.outputs().iter().enumerate() {
        let ty = program.ty(output.term);
        if ty.dtype.is_float() {
            let name = names.fresh(format!("ct.{}", output_name(program, k)));
            seeds.push((k, b.input(name, ty.clone())?));
        }
    }
    reverse(program, wrt, Staged::new(b), &inputs, &seeds)
}

/// Values and gradient of a program whose first output is a float scalar: the one to differentiate.
/// Further outputs are auxiliary.
///
/// The result has after the outputs one more `grad.NAME` for each chosen input (all float ones by
/// default).
pub fn value_and_grad(program: &Program, wrt: Option<&[usize]>) -> Result<Program> {
    let Some(output) = program.outputs().first() else {
        return Err(Error::type_error("gradient", "the program has no output"));
    };
    let ty = program.ty(output.term).clone();
    if !ty.dtype.is_float() || ty.shape.rank() > 0 {
        let message = format!("the first output must be a float scalar, not {ty}");
        return Err(Error::type_error("gradient", message)
            .with_hint("sum it, or ask for a Jacobian or a vector-Jacobian product"));
    }
    let mut b = Builder::new();
    let inputs = declare_inputs(program, &mut b)?;
    let mut staged = Staged::new(b);
    let one = staged.number(1.0, &ty)?;
    reverse(program, wrt, staged, &inputs, &[(0, one)])
}

/// The gradient alone: like [`value_and_grad`] without the outputs of the program.
pub fn grad(program: &Program, wrt: Option<&[usize]>) -> Result<Program> {
    let both = value_and_grad(program, wrt)?;
    select_outputs(&both, |k| k >= program.outputs().len())
}

fn reverse(
    program: &Program,
    wrt: Option<&[usize]>,
    mut staged: Staged,
    inputs: &[TermId],
    seeds: &[(usize, TermId)],
) -> Result<Program> {
    let wrt = chosen(program, wrt)?;
    let mut dual = Dual::new(&mut staged);
    let duals = dual_inputs(&mut dual, inputs, &wrt);
    let results = interpret(program, &duals, &mut dual)?;
    let deltas = dual.deltas;
    let seeds: Vec<_> =
        seeds.iter().filter_map(|&(k, c)| results[k].delta.map(|d| (d, c))).collect();
    let gradient = reverse_pass(&deltas, &seeds, inputs.len(), &mut staged)?;
    let mut outputs = named_outputs(program, results.iter().map(|t| t.primal));
    let mut names = Names::of_outputs(&outputs);
    for k in wrt {
        let input = &program.inputs()[k];
        let term = match gradient[k] {
            Some(term) => term,
            None => staged.number(0.0, &input.ty)?,
        };
        outputs.push(Output { name: names.fresh(format!("grad.{}", input.name)), term });
    }
    staged.b.finish_with_sources(outputs, program.sources().clone())
}
