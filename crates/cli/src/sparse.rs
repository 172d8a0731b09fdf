//! `cotan grad --sparse`: Jacobians and Hessians by their entries.

use cotan_array::{Array, Shape};
use cotan_ir::Program;
use cotan_pipeline::Derivative;
use cotan_sparse::{Kind, Mode, Plan, SparseDerivative};

use crate::args::{Backend, GradArgs};
use crate::failure::{Failure, Outcome};
use crate::inputs::{Inputs, Within};
use crate::limits::not_made;
use crate::machine::compute;
use crate::progress::watched;
use crate::results::{self, Destination};

/// Computes a sparse derivative and shows or writes its three arrays.
pub fn sparse(
    args: &GradArgs,
    program: Program,
    wrt: &[usize],
    inputs: &Inputs,
    within: &Within<'_>,
) -> Outcome {
    let Within { limits, begin, terminal } = *within;
    let kind = match args.mode {
        Derivative::Jacobian | Derivative::JacFwd | Derivative::JacRev => Kind::Jacobian,
        Derivative::Hessian => Kind::Hessian,
        other => {
            let message = format!("--sparse has no meaning with --mode {}", other.name());
            return Err(Failure::usage(message)
                .hint("use it with --mode jacobian or --mode hessian, which give matrices"));
        }
    };
    let arrays = inputs.for_program(&program)?;
    let sources = program.sources().clone();
    let plan = watched(terminal, "finding the pattern", || {
        SparseDerivative::new(&program, kind, Some(wrt))?.plan(&arrays)
    })
    .map_err(|error| not_made(&error, &sources, limits, terminal))?;
    terminal.complain(&summary(&plan));
    let destination = match &args.out {
        Some(path) => Some(Destination::new(path, NAMES.len())?),
        None => None,
    };
    let all: Vec<Array> = arrays.into_iter().chain(plan.extra.iter().cloned()).collect();
    let backend = Backend::chosen(args.backend.backend)?;
    let outputs = compute(plan.program.clone(), &all, backend, limits, begin, terminal)?;
    let (_, values) = plan.assemble(outputs).map_err(Failure::internal)?;
    let made = arrays_of(&plan, values).map_err(Failure::internal)?;
    let names = NAMES.iter().map(|&name| name.to_owned()).collect();
    results::deliver(&results::named(names, made), destination, terminal)
}

/// What is delivered: the arrays of compressed rows, as SciPy's `csr_array` takes them, and the shape.
const NAMES: [&str; 4] = ["data", "indices", "indptr", "shape"];

fn arrays_of(plan: &Plan, values: Array) -> Result<Vec<Array>, cotan_array::ArrayError> {
    let integers = |all: Vec<i64>| Array::from_vec(Shape::new("sparse", &[all.len()])?, all);
    let shape = plan.pattern.shape();
    Ok(vec![
        values,
        integers(plan.pattern.column_indices().iter().map(|&c| i64::from(c)).collect())?,
        integers(plan.pattern.row_starts().iter().map(|&k| k as i64).collect())?,
        integers(vec![shape.rows as i64, shape.columns as i64])?,
    ])
}

/// One line about pattern and colours.
fn summary(plan: &Plan) -> String {
    let mode = match plan.mode {
        Mode::Forward => "in forward mode",
        Mode::Reverse => "in reverse mode",
        Mode::Symmetric => "with the Hessian",
    };
    format!("{}; {} products {mode}", plan.pattern, plan.colors)
}
