//! Derivatives as program transformations (Fig. restaging-wrapper).
//!
//! Each takes a program without `build1` to a program that computes the values and the derivatives,
//! sharing the primal part. The result is an ordinary program: it prints, runs, and can be
//! differentiated again.

use cotan_ir::{Builder, Error, Output, Program, Result, TermId};

use crate::algebra::{Algebra, interpret};
use crate::dual::Dual;
use crate::staged::Staged;
use crate::tangent::{Tangent, TangentArray};
use crate::transpose::reverse_pass;

/// The inputs that can be differentiated by: those of a float type, by position.
fn float_inputs(program: &Program) -> Vec<usize> {
    let inputs = program.inputs().iter().enumerate();
    inputs.filter(|(_, input)| input.ty.dtype.is_float()).map(|(k, _)| k).collect()
}

/// Checks a choice of inputs; `None` is all that can be differentiated by.
fn chosen(program: &Program, wrt: Option<&[usize]>) -> Result<Vec<usize>> {
    let Some(wrt) = wrt else { return Ok(float_inputs(program)) };
    for (n, &k) in wrt.iter().enumerate() {
        let Some(input) = program.inputs().get(k) else {
            let message = format!("there is no input {k}: the program has {}", program.inputs().len());
            return Err(Error::type_error("gradient", message));
        };
        if !input.ty.dtype.is_float() {
            let message = format!("cannot differentiate by `{}`, which is {}", input.name, input.ty);
            return Err(Error::type_error("gradient", message)
                .with_hint("only f64 and f32 inputs have derivatives"));
        }
        if wrt[..n].contains(&k) {
            let message = format!("input `{}` is named twice", input.name);
            return Err(Error::type_error("gradient", message));
        }
    }
    Ok(wrt.to_vec())
}

/// The name of an output, or its position.
fn output_name(program: &Program, k: usize) -> String {
    let output = &program.outputs()[k];
    if output.name.is_empty() { format!("result{k}") } else { output.name.clone() }
}

/// A name that no input of the builder has yet.
fn fresh(b: &Builder, name: String) -> String {
    let mut name = name;
    while b.inputs().iter().any(|input| input.name == name) {
        name.push('\'');
    }
    name
}

fn declare_inputs(program: &Program, b: &mut Builder) -> Result<Vec<TermId>> {
    program.inputs().iter().map(|input| b.input(input.name.clone(), input.ty.clone())).collect()
}

/// Values and gradients of a program, given cotangents of its float outputs.
///
/// The result has one more input `ct.NAME` for each float output, and after the outputs one more
/// `grad.NAME` for each chosen input (all float ones by default).
pub fn vjp(program: &Program, wrt: Option<&[usize]>) -> Result<Program> {
    let mut b = Builder::new();
    let inputs = declare_inputs(program, &mut b)?;
    let mut seeds = Vec::new();
    for (k, output) in program.outputs().iter().enumerate() {
        let ty = program.ty(output.term);
        if ty.dtype.is_float() {
            let name = fresh(&b, format!("ct.{}", output_name(program, k)));
            seeds.push((k, b.input(name, ty.clone())?));
        }
    }
    reverse(program, wrt, b, &inputs, &seeds)
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
    let one = Staged { b: &mut b }.number(1.0, &ty)?;
    reverse(program, wrt, b, &inputs, &[(0, one)])
}

fn reverse(
    program: &Program,
    wrt: Option<&[usize]>,
    mut b: Builder,
    inputs: &[TermId],
    seeds: &[(usize, TermId)],
) -> Result<Program> {
    let wrt = chosen(program, wrt)?;
    let mut staged = Staged { b: &mut b };
    let mut dual = Dual::new(&mut staged);
    let duals: Vec<_> = inputs
        .iter()
        .enumerate()
        .map(|(k, &t)| if wrt.contains(&k) { dual.input(k, t) } else { dual.lift(t) })
        .collect();
    let results = interpret(program, &duals, &mut dual)?;
    let deltas = dual.deltas;
    let seeds: Vec<_> =
        seeds.iter().filter_map(|&(k, c)| results[k].delta.map(|d| (d, c))).collect();
    let gradient = reverse_pass(&deltas, &seeds, inputs.len(), &mut staged)?;
    let mut outputs = named_outputs(program, results.iter().map(|t| t.primal));
    for k in wrt {
        let input = &program.inputs()[k];
        let term = match gradient[k] {
            Some(term) => term,
            None => staged.number(0.0, &input.ty)?,
        };
        outputs.push(Output { name: format!("grad.{}", input.name), term });
    }
    b.finish_with_sources(outputs, program.sources().clone())
}

fn named_outputs(program: &Program, terms: impl Iterator<Item = TermId>) -> Vec<Output> {
    let name = |k| output_name(program, k);
    terms.enumerate().map(|(k, term)| Output { name: name(k), term }).collect()
}

/// Values and tangents of a program, given tangents of the chosen inputs (all float ones by default).
///
/// The result has one more input `d.NAME` for each chosen input, and after the outputs one more
/// `d.NAME` for each float output.
pub fn jvp(program: &Program, wrt: Option<&[usize]>) -> Result<Program> {
    let wrt = chosen(program, wrt)?;
    let mut b = Builder::new();
    let inputs = declare_inputs(program, &mut b)?;
    let mut arguments: Vec<TangentArray<Staged<'_>>> =
        inputs.iter().map(|&primal| TangentArray { primal, tangent: None }).collect();
    for &k in &wrt {
        let input = &program.inputs()[k];
        let name = fresh(&b, format!("d.{}", input.name));
        arguments[k].tangent = Some(b.input(name, input.ty.clone())?);
    }
    let mut staged = Staged { b: &mut b };
    let results = interpret(program, &arguments, &mut Tangent::new(&mut staged))?;
    let mut outputs = named_outputs(program, results.iter().map(|t| t.primal));
    for (k, result) in results.iter().enumerate() {
        let ty = program.ty(program.outputs()[k].term);
        if ty.dtype.is_float() {
            let term = match result.tangent {
                Some(term) => term,
                None => staged.number(0.0, ty)?,
            };
            outputs.push(Output { name: format!("d.{}", output_name(program, k)), term });
        }
    }
    b.finish_with_sources(outputs, program.sources().clone())
}
