//! Taylor coefficients along a line.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Error, ErrorKind, Node, Output, Param, Program, Result, TermId, Type};

use super::{Names, chosen, declare_inputs, named_outputs, output_name};
use crate::algebra::{Algebra, interpret};
use crate::laplace::{Beside, Laplace};
use crate::series::Series;
use crate::staged::Staged;

/// The largest order: programs grow with its square.
pub const MOST_ORDER: usize = 64;

/// Values of a program and their Taylor coefficients along a line: those of `t` to the powers 1 to
/// `order` of $f(x + t\,v)$, given directions `v` of the chosen inputs (all float ones by default).
///
/// The result has one more input `d.NAME` for each chosen input, and after the outputs one more
/// `jet.NAME` for each float output, with the coefficients on a new outermost axis.
pub fn jet(program: &Program, wrt: Option<&[usize]>, order: usize) -> Result<Program> {
    if order == 0 || order > MOST_ORDER {
        let message = format!("the order is {order}, and must be from 1 to {MOST_ORDER}");
        return Err(Error::new(ErrorKind::Type, "jet", message));
    }
    let wrt = chosen(program, wrt)?;
    let mut b = Builder::new();
    let inputs = declare_inputs(program, &mut b)?;
    let mut moved = vec![Vec::new(); inputs.len()];
    let mut names = Names::of_inputs(program);
    for &k in &wrt {
        let input = &program.inputs()[k];
        let name = names.fresh(format!("d.{}", input.name));
        moved[k].push(Some(b.input(name, input.ty.clone())?));
    }
    let mut staged = Staged::new(b);
    let mut series = Series::new(&mut staged, order);
    let arguments: Vec<_> =
        inputs.into_iter().zip(moved).map(|(x, rest)| series.series(x, rest)).collect();
    let results = interpret(program, &arguments, &mut series)?;
    let values: Vec<_> = results.iter().map(|&y| *series.value(y)).collect();
    let mut coefficients = Vec::with_capacity(results.len());
    for &y in &results {
        coefficients.push(series.coefficients(y)?);
    }
    let mut outputs = named_outputs(program, values.into_iter());
    let mut names = Names::of_outputs(&outputs);
    for (k, coefficients) in coefficients.into_iter().enumerate() {
        let ty = program.ty(program.outputs()[k].term);
        if !ty.dtype.is_float() {
            continue;
        }
        let mut rows = Vec::with_capacity(order);
        for c in coefficients {
            rows.push(match c {
                Some(c) => c,
                None => staged.number(0.0, ty)?,
            });
        }
        let term = staged.stack(&rows)?;
        let name = names.fresh(format!("jet.{}", output_name(program, k)));
        outputs.push(Output { name, term });
    }
    staged.b.finish_with_sources(outputs, program.sources().clone())
}

/// The Laplacian of each float output: the sum of its second derivatives by all elements of the chosen
/// inputs (all float ones by default). The outputs are called `laplacian.NAME`.
///
/// It is found in one pass, beside the derivatives along all unit vectors. In programs
/// with loops, routines or derivatives of their own, a series of order 2 along each unit vector has half
/// of a second derivative; the result has `build`s over the unit vectors, which share what does not
/// depend on them.
pub fn laplacian(program: &Program, wrt: Option<&[usize]>) -> Result<Program> {
    let wrt = chosen(program, wrt)?;
    let steps = |t| {
        let node = program.node(t);
        matches!(node, Node::MapAccum(_) | Node::While(_) | Node::Custom(_) | Node::Routine(..))
    };
    let along = match program.terms().any(steps) {
        true => Some(jet(program, Some(&wrt), 2)?),
        false => None,
    };
    let mut b = Builder::new();
    let inputs = declare_inputs(program, &mut b)?;
    let floats: Vec<usize> = (0..program.outputs().len())
        .filter(|&k| program.ty(program.outputs()[k].term).dtype.is_float())
        .collect();
    let mut sums: Vec<Option<TermId>> = vec![None; floats.len()];
    let mut staged = Staged::new(b);
    for &k in &wrt {
        let size = program.inputs()[k].ty.shape.numel();
        let made = match &along {
            None => in_one_pass(&mut staged, program, &inputs, k, &floats)?,
            Some(along) => {
                let b = &mut staged.b;
                let halves = along_unit_vectors(b, program, along, &inputs, (&wrt, k), size)?;
                let twice = halves.into_iter().map(|half| b.op(Op::Add, &[half, half]).map(Some));
                twice.collect::<Result<_>>()?
            }
        };
        for (sum, own) in sums.iter_mut().zip(made) {
            *sum = staged.plus(*sum, own)?;
        }
    }
    let mut outputs = Vec::with_capacity(floats.len());
    for (&k, sum) in floats.iter().zip(sums) {
        let ty = program.ty(program.outputs()[k].term);
        let term = match sum {
            Some(sum) => sum,
            None => staged.number(0.0, ty)?,
        };
        outputs.push(Output { name: format!("laplacian.{}", output_name(program, k)), term });
    }
    staged.b.finish_with_sources(outputs, program.sources().clone())
}

/// The sums of the second derivatives of some outputs by the elements of an input; none is zero.
fn in_one_pass(
    staged: &mut Staged,
    program: &Program,
    inputs: &[TermId],
    moved: usize,
    outputs: &[usize],
) -> Result<Vec<Option<TermId>>> {
    let ty = &program.inputs()[moved].ty;
    let size = ty.shape.numel();
    let vars = staged.b.open(&[Param::Index(size)])?;
    let unit = unit_vector(&mut staged.b, ty, vars[0]);
    let region = match unit {
        Ok(unit) => staged.b.close(&[unit])?,
        Err(error) => {
            staged.b.abandon();
            return Err(error);
        }
    };
    let slopes = staged.b.build1(region)?;
    let mut arguments: Vec<Beside> = inputs.iter().map(|&x| Beside::fixed(x)).collect();
    arguments[moved].slopes = Some(slopes);
    let made = interpret(program, &arguments, &mut Laplace::new(staged, size))?;
    Ok(outputs.iter().map(|&k| made[k].sum).collect())
}

/// The unit vector of an element, in the shape of a type.
fn unit_vector(b: &mut Builder, ty: &Type, at: TermId) -> Result<TermId> {
    let one = match ty.dtype {
        Dtype::F32 => b.scalar(1f32)?,
        _ => b.scalar(1.0)?,
    };
    let flat = b.one_hot(&[ty.shape.numel()], one, &[at])?;
    b.reshape(ty.shape.dims(), flat)
}

/// The sums of the second coefficients of all float outputs along the unit vectors of an input.
fn along_unit_vectors(
    b: &mut Builder,
    program: &Program,
    along: &Program,
    inputs: &[TermId],
    (wrt, moved): (&[usize], usize),
    size: usize,
) -> Result<Vec<TermId>> {
    let outputs = program.outputs().len();
    let count = along.outputs().len() - outputs;
    let mut sums = Vec::with_capacity(count);
    for n in 0..count {
        // Equal bodies are one: what they share is computed once.
        let vars = b.open(&[Param::Index(size)])?;
        let row = second_coefficient(b, program, along, inputs, (wrt, moved), vars[0], outputs + n);
        let region = match row {
            Ok(row) => b.close(&[row])?,
            Err(error) => {
                b.abandon();
                return Err(error);
            }
        };
        let rows = b.build1(region)?;
        sums.push(b.sum_outer(rows)?);
    }
    Ok(sums)
}

fn second_coefficient(
    b: &mut Builder,
    program: &Program,
    along: &Program,
    inputs: &[TermId],
    (wrt, moved): (&[usize], usize),
    at: TermId,
    output: usize,
) -> Result<TermId> {
    let mut all = inputs.to_vec();
    for &k in wrt {
        let ty = &program.inputs()[k].ty;
        all.push(match k == moved {
            true => unit_vector(b, ty, at)?,
            false => {
                let zero = match ty.dtype {
                    Dtype::F32 => b.scalar(0f32)?,
                    _ => b.scalar(0.0)?,
                };
                b.broadcast_to(zero, ty.shape.dims())?
            }
        });
    }
    let made = b.inline(along, &all)?;
    let second = b.scalar(1i64)?;
    b.index(made[output], &[second])
}
