//! What runs programs.

use std::ffi::OsString;
use std::sync::LazyLock;

use cotan_array::Array;
use cotan_exec::{Engine, Executable, RunLimits, Stop, Unsupported};
use cotan_interp::Interp;
use cotan_ir::Program;

use crate::compile::RunOptions;
use crate::error::{Error, ErrorKind, Result};

/// What runs a compiled function.
///
/// The environment variable `COTAN_BACKEND`, read once, chooses: `jit` (the default), `vm` or
/// `interp`. The first two give the same results to the last bit. With any other value nothing
/// compiles.
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

/// The environment variable that chooses.
const VARIABLE: &str = "COTAN_BACKEND";

/// What it says: a backend, or something that is none.
static CHOSEN: LazyLock<std::result::Result<Backend, OsString>> =
    LazyLock::new(|| match std::env::var_os(VARIABLE) {
        None => Ok(Backend::Native),
        Some(name) => match name.to_str() {
            Some("jit") => Ok(Backend::Native),
            Some("vm") => Ok(Backend::Machine),
            Some("interp") => Ok(Backend::Interpreter),
            _ => Err(name),
        },
    });

fn chosen() -> Result<Backend> {
    CHOSEN.clone().map_err(|name| {
        let message = format!("the environment variable {VARIABLE} is {name:?}");
        Error::new(ErrorKind::Data, "compile", message).with_hint("set it to jit, vm or interp")
    })
}

fn stopped(op: &'static str) -> Error {
    Error::new(ErrorKind::Stopped, op, "cancelled, or out of time")
}

/// A program's way of running.
#[derive(Clone, Debug)]
pub(crate) struct Runner {
    /// None if the interpreter runs it.
    executable: Option<Executable>,
    backend: Backend,
    peak_bytes: u64,
}

impl Runner {
    pub(crate) fn new(program: &Program) -> Result<Runner> {
        let chosen = chosen()?;
        let planned = |engine| match Executable::planned(program, false, engine) {
            Ok(executable) => Ok(Some(executable)),
            Err(Unsupported::STOPPED) => Err(stopped("compile")),
            // The interpreter runs everything.
            Err(_) => Ok(None),
        };
        let executable = match chosen {
            Backend::Native => planned(Engine::Native)?,
            Backend::Machine => planned(Engine::Machine)?,
            Backend::Interpreter => None,
        };
        let backend = if executable.is_some() { chosen } else { Backend::Interpreter };
        let peak_bytes = match &executable {
            Some(executable) => executable.peak_bytes(program),
            None => cotan_pipeline::peak_bytes(program),
        };
        Ok(Runner { executable, backend, peak_bytes })
    }

    /// The bytes of inputs, results and what is in between that a run needs at once.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    pub(crate) fn executable(&self) -> Option<&Executable> {
        self.executable.as_ref()
    }

    pub(crate) fn backend(&self) -> Backend {
        self.backend
    }

    pub(crate) fn run(
        &self,
        program: &Program,
        options: &RunOptions,
        inputs: &[Array],
        outputs: &mut Vec<Array>,
    ) -> Result<()> {
        if let Some(limit) = options.max_bytes
            && self.peak_bytes > limit
        {
            let needed = self.peak_bytes;
            let message = format!("the call needs {needed} bytes at once; the limit is {limit}");
            return Err(Error::new(ErrorKind::Limit, "call", message)
                .with_hint("raise `max_bytes`, or call it with smaller arrays"));
        }
        let Some(executable) = &self.executable else {
            *outputs = interpret(program, options, inputs)?;
            return Ok(());
        };
        let limits = RunLimits {
            deadline: options.deadline,
            cancel: options.cancel.clone(),
            threads: options.threads,
        };
        executable.run_into(inputs, outputs, &limits).map_err(|stop| match stop {
            Stop::Limit => stopped("run"),
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
    Runner::new(program)?.run(program, options, inputs, &mut outputs)?;
    Ok(outputs)
}

fn interpret(program: &Program, options: &RunOptions, inputs: &[Array]) -> Result<Vec<Array>> {
    let defaults = cotan_interp::Options::default();
    let how = cotan_interp::Options {
        max_bytes: options.max_bytes.unwrap_or(defaults.max_bytes),
        deadline: options.deadline,
        cancel: options.cancel.clone(),
        ..defaults
    };
    Ok(Interp::new(program).with_options(how).run_arrays(inputs)?)
}
