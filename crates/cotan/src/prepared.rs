//! Programs of the core language, made ready to run.

use cotan_array::Array;
use cotan_ir::Program;

use crate::backend::{Backend, Runner};
use crate::compile::{Cost, RunOptions};
use crate::error::{Error, Result};

/// A program ready to run any number of times, from any number of threads: what
/// [`compile`](crate::compile()) makes of a function, for programs that come from elsewhere, such as
/// the text language.
///
/// ```
/// use cotan::Prepared;
/// use cotan_array::{Array, Dtype, Shape};
/// use cotan_ir::{Builder, Type, scalar::Op};
///
/// let mut b = Builder::new();
/// let x = b.input("x", Type::new(Dtype::F64, Shape::scalar()))?;
/// let square = b.op(Op::Mul, &[x, x])?;
/// let program = Prepared::new(&b.finish_one(square)?)?;
/// assert_eq!(program.call(&[Array::scalar(3.0)])?, [Array::scalar(9.0)]);
/// assert_eq!(program.cost().operations, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Prepared {
    program: Program,
    runner: Runner,
}

impl Prepared {
    /// Prepares a program, which may contain `build`s.
    pub fn new(source: &Program) -> Result<Prepared> {
        let (program, runner) = Runner::compile(source, cotan_opt::Options::default())?;
        Ok(Prepared { program, runner })
    }

    /// The results for arrays of the types of the inputs.
    pub fn call(&self, inputs: &[Array]) -> Result<Vec<Array>> {
        let mut outputs = Vec::new();
        self.call_into(&RunOptions::default(), inputs, &mut outputs)?;
        Ok(outputs)
    }

    /// The results in the place of earlier ones: their memory is used again, unless somebody else
    /// holds it too. If the call fails, `outputs` has any values.
    pub fn call_into(
        &self,
        options: &RunOptions,
        inputs: &[Array],
        outputs: &mut Vec<Array>,
    ) -> Result<()> {
        let wanted = self.program.inputs();
        if inputs.len() != wanted.len() {
            let message = format!("{} inputs, not {}", wanted.len(), inputs.len());
            return Err(Error::type_error("call", message));
        }
        for (input, array) in wanted.iter().zip(inputs) {
            if input.ty.dtype != array.dtype() || input.ty.shape != *array.shape() {
                let (name, ty) = (&input.name, &input.ty);
                let given = format!("{}{}", array.shape(), array.dtype());
                let message = format!("`{name}` is {ty}, but {given} is given");
                return Err(Error::type_error("call", message));
            }
        }
        self.runner.run(&self.program, options, inputs, outputs)
    }

    /// What one call costs, counted from the program.
    pub fn cost(&self) -> Cost {
        Cost::of(&self.program, &self.runner)
    }

    /// What runs it.
    pub fn backend(&self) -> Backend {
        self.runner.backend()
    }

    /// The program that runs, in bulk operations and optimised.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The program that runs as a module of StableHLO; see
    /// [`Compiled::stablehlo`](crate::Compiled::stablehlo).
    pub fn stablehlo(&self, options: &cotan_stablehlo::Options) -> Result<String> {
        Ok(cotan_stablehlo::export(&self.program, options)?)
    }

    /// The kernels that run it, as loop nests; nothing if it is interpreted.
    pub fn kernels(&self) -> String {
        self.runner.executable().map_or(String::new(), |e| e.kernels(&self.program))
    }
}
