//! Step functions of loops as closed programs: what they capture becomes more inputs.

use cotan_ir::{Extracted, MapAccum, Program, Result, Scopes, TermId, Type};

/// The step of a loop: a program from states, elements of the inputs and captures to next states
/// and outputs.
#[derive(Clone, Debug)]
pub struct Step {
    /// The program.
    pub program: Program,
    /// How many of its first inputs and outputs are states.
    pub states: usize,
    /// How many inputs after those are elements of the arrays stepped through.
    pub inputs: usize,
}

impl Step {
    /// The number of captures, its last inputs.
    pub fn captures(&self) -> usize {
        self.program.inputs().len() - self.states - self.inputs
    }

    /// The type of an output, by number after the next states.
    pub fn output_type(&self, n: usize) -> &Type {
        self.program.ty(self.program.outputs()[self.states + n].term)
    }

    /// The number of outputs after the next states.
    pub fn outputs(&self) -> usize {
        self.program.outputs().len() - self.states
    }
}

/// The step of a loop as a program of its own, and the terms its captures stand for.
pub(crate) fn extract_step(
    program: &Program,
    scopes: &Scopes,
    m: &MapAccum,
) -> Result<(Step, Vec<TermId>)> {
    let Extracted { program, captures } = Extracted::new(program, scopes, m.step)?;
    Ok((Step { program, states: m.init.len(), inputs: m.inputs.len() }, captures))
}
