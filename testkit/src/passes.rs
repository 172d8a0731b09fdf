//! The passes as tests of random programs apply them, with errors in words.

use cotan_ir::Program;
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};

/// A program in bulk operations.
pub fn bulk(program: &Program) -> Result<Program, String> {
    Pipeline::new(&[Pass::BULK]).run(program).map_err(|e| e.to_string())
}

/// The derivative of a program by all its floats; the program in bulk operations where there is none.
pub fn derived(program: &Program, kind: Derivative) -> Result<Program, String> {
    let floats = program.inputs().iter().any(|input| input.ty.dtype.is_float());
    let results = program.outputs().iter().any(|o| program.dtype(o.term).is_float());
    if !floats || !results {
        return bulk(program);
    }
    derive(program, kind, None).map_err(|e| e.to_string())
}
