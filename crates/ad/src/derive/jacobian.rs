//! Jacobians as builds of one-hots: row by row in reverse mode, column by column in forward mode.
//!
//! The results contain `build1`; the bulk-operation transform turns them into bulk operations.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Output, Param, Program, Result, TermId, Type};

use super::{Names, chosen, declare_inputs, dual_inputs, grad, output_name};
use crate::algebra::{Algebra, interpret};
use crate::dual::{Dual, DualArray};
use crate::forward::forward_pass;
use crate::staged::Staged;
use crate::transpose::reverse_pass;

/// The Jacobian of every float output by every chosen input, in reverse mode: outputs
/// `jac.OUTPUT.INPUT` of shape `shape(output) ++ shape(input)` and the element type of the output.
/// For few outputs and many inputs.
pub fn jacrev(program: &Program, wrt: Option<&[usize]>) -> Result<Program> {
    let wrt = chosen(program, wrt)?;
    let mut b = Builder::new();
    let inputs = declare_inputs(program, &mut b)?;
    let mut staged = Staged::new(b);
    let mut dual = Dual::new(&mut staged);
    let duals = dual_inputs(&mut dual, &inputs, &wrt);
    let rank = program.outputs().iter().map(|o| program.shape(o.term).rank()).max();
    let results = interpret_under(program, &duals, &mut dual, rank.unwrap_or(0))?;
    let deltas = dual.deltas;
    let mut outputs = Vec::new();
    let mut names = Names::default();
    for (n, output) in program.outputs().iter().enumerate() {
        let ty = program.ty(output.term);
        if !ty.dtype.is_float() {
            continue;
        }
        let rows = for_each_position(&mut staged, ty, |staged, seed| {
            let seeds: Vec<_> = results[n].delta.map(|d| (d, seed)).into_iter().collect();
            let gradient = reverse_pass(&deltas, &seeds, inputs.len(), staged)?;
            let cast = if ty.dtype == Dtype::F32 { Op::ToF32 } else { Op::ToF64 };
            wrt.iter()
                .map(|&k| {
                    let row_ty = Type::new(ty.dtype, program.inputs()[k].ty.shape.clone());
                    match gradient[k] {
                        Some(row) if staged.ty(&row).dtype == ty.dtype => Ok(row),
                        Some(row) => staged.op(cast, &[row]),
                        None => staged.number(0.0, &row_ty),
                    }
                })
                .collect()
        })?;
        for (&k, term) in wrt.iter().zip(rows) {
            outputs.push(Output { name: names.fresh(jacobian_name(program, n, k)), term });
        }
    }
    staged.b.finish_with_sources(outputs, program.sources().clone())
}

/// The Jacobian of every float output by every chosen input, in forward mode: the same outputs as
/// [`jacrev`]. For few inputs and many outputs.
pub fn jacfwd(program: &Program, wrt: Option<&[usize]>) -> Result<Program> {
    let wrt = chosen(program, wrt)?;
    let mut b = Builder::new();
    let inputs = declare_inputs(program, &mut b)?;
    let mut staged = Staged::new(b);
    let mut dual = Dual::new(&mut staged);
    let duals = dual_inputs(&mut dual, &inputs, &wrt);
    let rank = wrt.iter().map(|&k| program.inputs()[k].ty.shape.rank()).max();
    let results = interpret_under(program, &duals, &mut dual, rank.unwrap_or(0))?;
    let deltas = dual.deltas;
    let float = |k: &usize| program.dtype(program.outputs()[*k].term).is_float();
    let wanted: Vec<usize> = (0..program.outputs().len()).filter(float).collect();
    let mut columns = Vec::with_capacity(wrt.len());
    for &k in &wrt {
        let ty = program.inputs()[k].ty.clone();
        columns.push(for_each_position(&mut staged, &ty, |staged, seed| {
            let mut tangents = vec![None; inputs.len()];
            tangents[k] = Some(seed);
            let values = forward_pass(&deltas, &tangents, staged)?;
            let tangent = |n: &usize| results[*n].delta.and_then(|d| values[d.index()]);
            wanted
                .iter()
                .map(|n| match tangent(n) {
                    Some(column) => Ok(column),
                    None => staged.number(0.0, program.ty(program.outputs()[*n].term)),
                })
                .collect()
        })?);
    }
    let mut outputs = Vec::new();
    let mut names = Names::default();
    for (position, &n) in wanted.iter().enumerate() {
        for (&k, column) in wrt.iter().zip(&columns) {
            // From [input.., output..] to [output.., input..].
            let inner = program.inputs()[k].ty.shape.rank();
            let rank = staged.b.shape(column[position]).rank();
            let perm: Vec<usize> = (inner..rank).chain(0..inner).collect();
            let term = staged.b.transpose(&perm, column[position])?;
            outputs.push(Output { name: names.fresh(jacobian_name(program, n, k)), term });
        }
    }
    staged.b.finish_with_sources(outputs, program.sources().clone())
}

/// The Jacobian in the mode that needs fewer passes: forward when the chosen inputs have no more
/// elements than the float outputs, else reverse.
pub fn jacobian(program: &Program, wrt: Option<&[usize]>) -> Result<Program> {
    let chosen = chosen(program, wrt)?;
    let columns: usize = chosen.iter().map(|&k| program.inputs()[k].ty.shape.numel()).sum();
    let float = |t: &TermId| program.dtype(*t).is_float();
    let rows: usize = program
        .outputs()
        .iter()
        .map(|output| output.term)
        .filter(float)
        .map(|t| program.shape(t).numel())
        .sum();
    if columns <= rows { jacfwd(program, wrt) } else { jacrev(program, wrt) }
}

/// The Hessian of a scalar program by the chosen inputs, forward over reverse: outputs `hess.A.B` of
/// shape `shape(A) ++ shape(B)`.
pub fn hessian(program: &Program, wrt: Option<&[usize]>) -> Result<Program> {
    let wrt = chosen(program, wrt)?;
    let gradient = grad(program, Some(&wrt))?;
    let mut hessian = jacfwd(&gradient, Some(&wrt))?;
    let name = |k: usize| &program.inputs()[k].name;
    let pairs = wrt.iter().flat_map(|&a| wrt.iter().map(move |&b| (a, b)));
    let mut names = Names::default();
    let fresh = |(a, b)| names.fresh(format!("hess.{}.{}", name(a), name(b)));
    hessian.rename_outputs(pairs.map(fresh));
    Ok(hessian)
}

fn jacobian_name(program: &Program, output: usize, input: usize) -> String {
    format!("jac.{}.{}", output_name(program, output), program.inputs()[input].name)
}

/// The program in dual arrays, whose lambdas can be used under so many `build`s: the derivatives
/// made there read and write with the index functions of the primal.
fn interpret_under(
    program: &Program,
    inputs: &[DualArray<Staged>],
    dual: &mut Dual<'_, Staged>,
    builds: usize,
) -> Result<Vec<DualArray<Staged>>> {
    for _ in 0..builds {
        dual.a.b.open(&[Param::Index(1)])?;
    }
    let results = interpret(program, inputs, dual);
    (0..builds).for_each(|_| dual.a.b.abandon());
    results
}

/// For each result of `body` the array of it over all one-hots of a type.
fn for_each_position(
    staged: &mut Staged,
    ty: &Type,
    body: impl FnOnce(&mut Staged, TermId) -> Result<Vec<TermId>>,
) -> Result<Vec<TermId>> {
    let dims = ty.shape.dims();
    let open = |b: &mut Builder| -> Result<Vec<TermId>> {
        let mut vars = Vec::with_capacity(dims.len());
        for &k in dims {
            vars.extend(b.open(&[Param::Index(k)])?);
        }
        Ok(vars)
    };
    let position = open(&mut staged.b)?;
    let one = staged.number(1.0, &Type::scalar(ty.dtype))?;
    let seed = staged.b.one_hot(dims, one, &position)?;
    let results = body(staged, seed)?;
    let b = &mut staged.b;
    let mut built = Vec::with_capacity(results.len());
    for (n, mut t) in results.into_iter().enumerate() {
        if n > 0 {
            // The same variables again: what was made above is in scope.
            open(b)?;
        }
        for _ in dims {
            let region = b.close(&[t])?;
            t = b.build1(region)?;
        }
        built.push(t);
    }
    if built.is_empty() {
        dims.iter().for_each(|_| b.abandon());
    }
    Ok(built)
}
