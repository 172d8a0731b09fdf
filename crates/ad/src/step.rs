//! Step functions of `map_accum` as closed programs: what they capture becomes more inputs.

use cotan_ir::{Builder, Copier, MapAccum, Output, Program, Result, Scopes, TermId};

use crate::fault::{Point, faulty};

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
    let region = program.region(m.step);
    let scope = scopes.region(m.step);
    let mut b = Builder::new();
    let mut copier = Copier::new(program, scopes);
    let params = region.params().iter().enumerate();
    for (n, &p) in params {
        let name = if n < m.init.len() { format!("s{n}") } else { format!("x{n}") };
        copier.set(p, b.input(name, program.ty(p).clone())?);
    }
    for (n, &t) in scope.captures().iter().enumerate() {
        copier.set(t, b.input(format!("c{n}"), program.ty(t).clone())?);
    }
    copier.scope(&mut b, scope)?;
    let mut outputs = Vec::with_capacity(region.results().len());
    for &t in region.results() {
        outputs.push(Output { name: String::new(), term: copier.image(t)? });
    }
    let step = Step { program: b.finish(outputs)?, states: m.init.len(), inputs: m.inputs.len() };
    Ok((step, scope.captures().to_vec()))
}

/// The step that also returns the states it was given: `(s, x) -> (s', y, s)`.
pub(crate) fn save_states(step: &Step) -> Result<Step> {
    let program = &step.program;
    let scopes = Scopes::new(program);
    let mut b = Builder::new();
    let mut copier = Copier::new(program, &scopes);
    copier.inputs(&mut b)?;
    copier.scope(&mut b, scopes.top())?;
    let mut outputs = Vec::new();
    for output in program.outputs() {
        outputs.push(Output { name: String::new(), term: copier.image(output.term)? });
    }
    let mut inputs = Vec::new();
    for t in b.terms() {
        if let cotan_ir::Node::Input(k) = b.node(t)
            && (*k as usize) < step.states
        {
            inputs.push((*k, t));
        }
    }
    inputs.sort_unstable();
    if faulty(Point::LoopSavesNextStates) {
        for ((_, t), next) in inputs.iter_mut().zip(&outputs) {
            *t = next.term;
        }
    }
    outputs.extend(inputs.into_iter().map(|(_, term)| Output { name: String::new(), term }));
    Ok(Step { program: b.finish(outputs)?, states: step.states, inputs: step.inputs })
}
