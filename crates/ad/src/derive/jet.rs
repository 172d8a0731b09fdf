//! Taylor coefficients along a line.

use cotan_ir::{Builder, Error, ErrorKind, Output, Program, Result};

use super::{Names, chosen, declare_inputs, named_outputs, output_name};
use crate::algebra::{Algebra, interpret};
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
    if order > MOST_ORDER {
        let message = format!("order {order} is above {MOST_ORDER}, the largest");
        return Err(Error::new(ErrorKind::Limit, "jet", message));
    }
    let wrt = chosen(program, wrt)?;
    let mut b = Builder::new();
    let inputs = declare_inputs(program, &mut b)?;
    let mut moved = vec![Vec::new(); inputs.len()];
    let mut names = Names::of_inputs(program);
    for &k in &wrt {
        let input = &program.inputs()[k];
        let name = names.fresh(format!("d.{}", input.name));
        let direction = b.input(name, input.ty.clone())?;
        if order > 0 {
            moved[k].push(Some(direction));
        }
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
        if !ty.dtype.is_float() || order == 0 {
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
