//! Running a program: inputs in, outputs and a report out.

use cotan_array::Array;
use cotan_ir::scalar::Scalar;
use cotan_ir::{Node, Program, Scopes, Type};

use crate::error::{Failure, Result};
use crate::machine::Machine;
use crate::options::{Mode, Options};
use crate::position::index;
use crate::report::{Poisoned, Run};
use crate::tensor::Tensor;
use crate::value::{Value, to_array};

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
        self.check_inputs(inputs.iter().map(|value| (value.ty().clone(), value.is_field())))?;
        let mut machine =
            self.machine(|machine, k| inputs.get(k).map(|value| machine.admit(value)).transpose())?;
        let (mut outputs, mut poisoned) = (Vec::new(), Vec::new());
        for (n, output) in self.program.outputs().iter().enumerate() {
            let tensor = machine.value(output.term)?;
            let mut elements = Vec::with_capacity(tensor.entries.len());
            machine.in_parts(tensor.entries.len(), |part| {
                elements.extend(part.map(|k| self.release(&tensor, k)));
            })?;
            outputs.push(Value::trusted(tensor.ty.clone(), elements));
            poisoned.extend(find_poison(&machine, n, &tensor)?);
        }
        let mut counts = machine.counts;
        counts.peak_bytes = machine.peak_bytes();
        let out_of_range = std::mem::take(&mut machine.out_of_range).into_values().collect();
        Ok(Run { outputs, counts, out_of_range, poisoned })
    }

    /// Runs the program on arrays, to arrays: without a report, and without a copy as [`Value`]s.
    pub fn run_arrays(&self, inputs: &[Array]) -> Result<Vec<Array>> {
        self.check_inputs(inputs.iter().map(|array| (Type::of(array), false)))?;
        let machine = self.machine(|machine, k| {
            inputs.get(k).map(|array| machine.admit_array(array)).transpose()
        })?;
        let outputs = self.program.outputs().iter().map(|output| {
            let tensor = machine.value(output.term)?;
            to_array(&tensor.ty, &|k| self.release(&tensor, k), &mut |n, f| machine.in_parts(n, f))
        });
        outputs.collect()
    }

    /// The machine after it has run, on inputs by their position.
    fn machine(
        &self,
        mut admit: impl FnMut(&mut Machine<'_>, usize) -> Result<Option<Tensor>>,
    ) -> Result<Machine<'_>> {
        let mut machine = Machine::new(self.program, &self.scopes, &self.options);
        for t in self.program.terms() {
            if let Node::Input(k) = self.program.node(t)
                && let Some(value) = admit(&mut machine, *k as usize)?
            {
                machine.define(t, value);
            }
        }
        let terms: Vec<_> = self.program.outputs().iter().map(|o| o.term).collect();
        machine.demand(&terms)?;
        Ok(machine)
    }

    /// Checks the types of inputs, each with whether it is of the test field.
    fn check_inputs(&self, inputs: impl ExactSizeIterator<Item = (Type, bool)>) -> Result<()> {
        let declared = self.program.inputs();
        if declared.len() != inputs.len() {
            let names: Vec<&str> = declared.iter().map(|i| i.name.as_str()).collect();
            let (expected, got) = (declared.len(), inputs.len());
            return Err(Failure::WrongInputCount { expected, got, names: names.join(", ") }.into());
        }
        for (position, (input, (got, is_field))) in declared.iter().zip(inputs).enumerate() {
            let name = input.name.clone();
            if input.ty != got {
                let expected = input.ty.clone();
                return Err(Failure::WrongInputType { position, name, expected, got }.into());
            }
            if is_field && self.options.mode != Mode::Field {
                return Err(Failure::FieldInput { position, name }.into());
            }
        }
        Ok(())
    }

    /// An element of a tensor of the run, as one of its type.
    fn release(&self, tensor: &Tensor, k: usize) -> Scalar {
        self.options.mode.release(tensor.entries[k].value, tensor.ty.dtype)
    }
}

/// The elements of an output that depend on an out-of-range read.
fn find_poison(machine: &Machine, output: usize, tensor: &Tensor) -> Result<Option<Poisoned>> {
    let (mut elements, mut at) = (0, None);
    machine.in_parts(tensor.entries.len(), |part| {
        for k in part.filter(|&k| tensor.entries[k].poisoned) {
            elements += 1;
            at.get_or_insert(k);
        }
    })?;
    let first = at.and_then(|at| index(tensor.dims(), at));
    Ok(first.map(|first| Poisoned { output, first, elements }))
}
