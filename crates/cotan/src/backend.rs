//! What runs programs.

use std::sync::LazyLock;

use cotan_array::Array;
use cotan_exec::{Engine, Executable, RunLimits, Stop};
use cotan_interp::{Interp, Value};
use cotan_ir::Program;

use crate::compile::RunOptions;
use crate::error::{Error, ErrorKind, Result};

/// What runs a compiled function.
///
/// The environment variable `COTAN_BACKEND`, read once, chooses: `jit` (the default), `vm` or
/// `interp`. The first two give the same results to the last bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// Loop nests in machine code, in memory that was planned: fastest. Where the instructions or
    /// executable memory are missing, the tile machine runs them.
    Native,
    /// Loop nests over tiles of elements, in the same memory.
    Machine,
    /// The reference interpreter, element by element: slow. It also runs what the machine cannot.
    Interpreter,
}

static CHOSEN: LazyLock<Backend> = LazyLock::new(|| match std::env::var("COTAN_BACKEND") {
    Ok(name) if name == "interp" => Backend::Interpreter,
    Ok(name) if name == "vm" => Backend::Machine,
    _ => Backend::Native,
});

/// A program's way of running.
#[derive(Clone, Debug)]
pub(crate) struct Runner(Option<Executable>);

impl Runner {
    pub(crate) fn new(program: &Program) -> Runner {
        match *CHOSEN {
            Backend::Native => Runner(Executable::planned(program, false, Engine::Native).ok()),
            Backend::Machine => Runner(Executable::planned(program, false, Engine::Machine).ok()),
            Backend::Interpreter => Runner(None),
        }
    }

    pub(crate) fn executable(&self) -> Option<&Executable> {
        self.0.as_ref()
    }

    pub(crate) fn backend(&self) -> Backend {
        if self.0.is_some() { *CHOSEN } else { Backend::Interpreter }
    }

    pub(crate) fn run(
        &self,
        program: &Program,
        options: &RunOptions,
        inputs: &[Array],
        outputs: &mut Vec<Array>,
    ) -> Result<()> {
        let Some(executable) = &self.0 else {
            *outputs = interpret(program, options, inputs)?;
            return Ok(());
        };
        let limits = RunLimits {
            deadline: options.deadline,
            cancel: options.cancel.clone(),
            threads: options.threads,
        };
        executable.run_into(inputs, outputs, &limits).map_err(|stop| match stop {
            Stop::Limit => Error::new(ErrorKind::Stopped, "run", "cancelled, or out of time"),
            Stop::Memory => {
                let bytes = executable.workspace_bytes();
                let message = format!("no memory for the results and {bytes} bytes in between");
                Error::new(ErrorKind::Limit, "run", message)
            }
            Stop::Input(k) => Error::internal(format!("input {k} is of another type")),
        })
    }
}

/// Plans and runs a program once.
pub(crate) fn run_program(
    program: &Program,
    options: &RunOptions,
    inputs: &[Array],
) -> Result<Vec<Array>> {
    let mut outputs = Vec::new();
    Runner::new(program).run(program, options, inputs, &mut outputs)?;
    Ok(outputs)
}

fn interpret(program: &Program, options: &RunOptions, inputs: &[Array]) -> Result<Vec<Array>> {
    let values: Vec<Value> = inputs.iter().map(Value::from).collect();
    let how = cotan_interp::Options {
        deadline: options.deadline,
        cancel: options.cancel.clone(),
        ..cotan_interp::Options::default()
    };
    let run = Interp::new(program).with_options(how).run(&values)?;
    run.outputs.iter().map(|value| value.to_array().map_err(Error::from)).collect()
}
