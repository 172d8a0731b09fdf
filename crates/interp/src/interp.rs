//! Running a program: inputs in, outputs and a report out.

use cotan_ir::scalar::Scalar;
use cotan_ir::{Node, Program, Scopes};

use crate::error::{Failure, Result};
use crate::machine::Machine;
use crate::options::{Mode, Options};
use crate::position::{advance, first};
use crate::report::{Poisoned, Run};
use crate::tensor::Tensor;
use crate::value::Value;

/// A program ready to run, any number of times.
#[derive(Clone, Debug)]
pub struct Interp<'a> {
    program: &'a Program,
    scopes: Scopes,
    options: Options,
}

impl<'a> Interp<'a> {
    /// A program with default options.
    pub fn new(program: &'a Program) -> Interp<'a> {
        Interp { program, scopes: Scopes::new(program), options: Options::default() }
    }

    /// The same with other options.
    pub fn with_options(mut self, options: Options) -> Interp<'a> {
        self.options = options;
        self
    }

    /// The same with other numbers in place of floats.
    pub fn with_mode(mut self, mode: Mode) -> Interp<'a> {
        self.options.mode = mode;
        self
    }

    /// Runs the program: one value for each declared input, in order, of the declared type.
    pub fn run(&self, inputs: &[Value]) -> Result<Run> {
        self.check_inputs(inputs)?;
        let mut machine = Machine::new(self.program, &self.scopes, &self.options);
        for t in self.program.terms() {
            if let Node::Input(k) = self.program.node(t)
                && let Some(value) = inputs.get(*k as usize)
            {
                let value = machine.admit(value)?;
                machine.define(t, value);
            }
        }
        let terms: Vec<_> = self.program.outputs().iter().map(|o| o.term).collect();
        machine.demand(&terms)?;
        let (mut outputs, mut poisoned) = (Vec::new(), Vec::new());
        for (n, &t) in terms.iter().enumerate() {
            let tensor = machine.value(t)?;
            outputs.push(self.release(&tensor));
            poisoned.extend(find_poison(n, &tensor));
        }
        let mut counts = machine.counts;
        counts.peak_bytes = machine.peak_bytes();
        let out_of_range = std::mem::take(&mut machine.out_of_range).into_values().collect();
        Ok(Run { outputs, counts, out_of_range, poisoned })
    }

    fn check_inputs(&self, inputs: &[Value]) -> Result<()> {
        let declared = self.program.inputs();
        if declared.len() != inputs.len() {
            let names: Vec<&str> = declared.iter().map(|i| i.name.as_str()).collect();
            let (expected, got) = (declared.len(), inputs.len());
            return Err(Failure::WrongInputCount { expected, got, names: names.join(", ") }.into());
        }
        for (position, (input, value)) in declared.iter().zip(inputs).enumerate() {
            let name = input.name.clone();
            if input.ty != *value.ty() {
                let (expected, got) = (input.ty.clone(), value.ty().clone());
                return Err(Failure::WrongInputType { position, name, expected, got }.into());
            }
            if value.is_field() && self.options.mode != Mode::Field {
                return Err(Failure::FieldInput { position, name }.into());
            }
        }
        Ok(())
    }

    /// A tensor of the run as a value of its type.
    fn release(&self, tensor: &Tensor) -> Value {
        let release = |x: Scalar| self.options.mode.release(x, tensor.ty.dtype);
        let elements = tensor.entries.iter().map(|x| release(x.value)).collect();
        Value::trusted(tensor.ty.clone(), elements)
    }
}

/// The elements of an output that depend on an out-of-range read.
fn find_poison(output: usize, tensor: &Tensor) -> Option<Poisoned> {
    let elements = tensor.entries.iter().filter(|x| x.poisoned).count();
    let at = tensor.entries.iter().position(|x| x.poisoned)?;
    let dims = tensor.dims();
    let mut ix = first(dims)?;
    for _ in 0..at {
        advance(&mut ix, dims);
    }
    Some(Poisoned { output, first: ix, elements })
}
