//! Forward mode: Jacobian-vector and Hessian-vector products.

use cotan_ir::{Builder, Output, Program, Result};

use super::{Names, chosen, declare_inputs, grad, named_outputs, output_name, select_outputs};
use crate::algebra::{Algebra, interpret};
use crate::staged::Staged;
use crate::tangent::{Tangent, TangentArray};

/// Values and tangents of a program, given tangents of the chosen inputs (all float ones by default).
///
/// The result has one more input `d.NAME` for each chosen input, and after the outputs one more
/// `d.NAME` for each float output.
pub fn jvp(program: &Program, wrt: Option<&[usize]>) -> Result<Program> {
    let wrt = chosen(program, wrt)?;
    let mut b = Builder::new();
    let inputs = declare_inputs(program, &mut b)?;
    let mut arguments: Vec<TangentArray<Staged>> =
        inputs.iter().map(|&primal| TangentArray { primal, tangent: None }).collect();
    let mut names = Names::of_inputs(program);
    for &k in &wrt {
        let input = &program.inputs()[k];
        let name = names.fresh(format!("d.{}", input.name));
        arguments[k].tangent = Some(b.input(name, input.ty.clone())?);
    }
    let mut staged = Staged::new(b);
    let results = interpret(program, &arguments, &mut Tangent::new(&mut staged))?;
    let mut outputs = named_outputs(program, results.iter().map(|t| t.primal));
    let mut names = Names::of_outputs(&outputs);
    for (k, result) in results.iter().enumerate() {
        let ty = program.ty(program.outputs()[k].term);
        if ty.dtype.is_float() {
            let term = match result.tangent {
                Some(term) => term,
                None => staged.number(0.0, ty)?,
            };
            let name = names.fresh(format!("d.{}", output_name(program, k)));
            outputs.push(Output { name, term });
        }
    }
    staged.b.finish_with_sources(outputs, program.sources().clone())
}

/// Gradient and Hessian-vector product of a scalar program, forward over reverse: one more input
/// `d.NAME` for each chosen input, and the outputs `hvp.NAME`.
pub fn hvp(program: &Program, wrt: Option<&[usize]>) -> Result<Program> {
    let wrt = chosen(program, wrt)?;
    let gradient = grad(program, Some(&wrt))?;
    let both = jvp(&gradient, Some(&wrt))?;
    let mut product = select_outputs(&both, |k| k >= wrt.len())?;
    let names = wrt.iter().map(|&k| format!("hvp.{}", program.inputs()[k].name));
    product.rename_outputs(names);
    Ok(product)
}
