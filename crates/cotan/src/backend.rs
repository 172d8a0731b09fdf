//! What runs programs.

use std::borrow::Cow;

use cotan_array::Array;
use cotan_cpu::{Executable, RunLimits, Stop};
use cotan_interp::Interp;
use cotan_ir::Program;
pub use cotan_pipeline::Backend;
use cotan_pipeline::{CompileOptions, Compiled};

use crate::compile::RunOptions;
use crate::error::{Error, ErrorKind, Result};

fn chosen() -> Result<Backend> {
    Backend::chosen().map_err(|name| {
        let message = format!("the environment variable {} is {name:?}", Backend::VARIABLE);
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
    /// Optimises a program by some rules and makes it ready to run. Gives the program that runs, too.
    pub(crate) fn compile(
        program: &Program,
        rules: cotan_opt::Options,
    ) -> Result<(Program, Runner)> {
        let chosen = chosen()?;
        let options = CompileOptions { rules, ..CompileOptions::new(chosen) };
        let compiled = cotan_pipeline::compile(Cow::Borrowed(program), &options);
        let Compiled { program, executable, .. } = compiled.map_err(|error| match error.op() {
            "plan" => stopped("compile"),
            _ => error.into(),
        })?;
        let backend = if executable.is_some() { chosen } else { Backend::Interpreter };
        let peak_bytes = match &executable {
            Some(executable) => executable.peak_bytes(&program),
            None => cotan_pipeline::peak_bytes(&program),
        };
        Ok((program, Runner { executable, backend, peak_bytes }))
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

    /// Runs the program for about so long, and says where the time goes.
    pub(crate) fn profile(
        &self,
        options: &RunOptions,
        inputs: &[Array],
        time: std::time::Duration,
    ) -> Result<cotan_cpu::Profile> {
        let Some(executable) = &self.executable else {
            let message = "there are no kernels to measure: the interpreter runs this";
            return Err(Error::new(ErrorKind::Limit, "profile", message));
        };
        let limits = RunLimits {
            deadline: options.deadline,
            cancel: options.cancel.clone(),
            threads: options.threads,
            marker: None,
        };
        executable.profile(inputs, &limits, time).map_err(|stop| match stop {
            Stop::Limit => stopped("profile"),
            Stop::Memory => Error::new(ErrorKind::Limit, "profile", "no memory for the results"),
            Stop::Input(k) => Error::internal(format!("input {k} is of another type")),
        })
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
            marker: None,
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

/// Compiles and runs a program once.
pub(crate) fn run_program(
    program: &Program,
    options: &RunOptions,
    inputs: &[Array],
) -> Result<Vec<Array>> {
    let mut outputs = Vec::new();
    let (program, runner) = Runner::compile(program, cotan_opt::Options::default())?;
    runner.run(&program, options, inputs, &mut outputs)?;
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
