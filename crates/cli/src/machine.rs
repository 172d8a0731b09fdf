//! Running programs: by the machine where it has a plan, otherwise by the reference interpreter.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use cotan_array::Array;
use cotan_cpu::{Executable, RunLimits, Stop};
use cotan_interp::Value;
use cotan_ir::{ErrorKind, Program, SourceMap, Span, Spans};
use cotan_pipeline::{CompileOptions, Compiled, compile};
use cotan_syntax::{Code, Diagnostic};

use crate::args::{Backend, LimitArgs};
use crate::failure::{Failure, Outcome};
use crate::limits::{not_made, out_of_time, raise_to};
use crate::progress::watched;
use crate::results;
use crate::run::interpret;
use crate::terminal::Terminal;
use crate::units::show_bytes;

impl Backend {
    /// The one that the command line says, or the environment, or the fastest.
    pub fn chosen(said: Option<Backend>) -> Outcome<Backend> {
        use cotan_pipeline::Backend as Chosen;
        if let Some(backend) = said {
            return Ok(backend);
        }
        match Chosen::chosen() {
            Ok(Chosen::Native) => Ok(Backend::Jit),
            Ok(Chosen::Machine) => Ok(Backend::Vm),
            Ok(_) => Ok(Backend::Interp),
            Err(name) => Err(Failure::usage(format_args!("{} is {name:?}", Chosen::VARIABLE))
                .hint("set it to jit, vm or interp, or use --backend")),
        }
    }
}

/// The results of a program, within limits that began to count at `begin`.
pub fn compute(
    program: Program,
    inputs: &[Array],
    backend: Backend,
    limits: &LimitArgs,
    begin: Instant,
    terminal: &Terminal,
) -> Outcome<Vec<Array>> {
    Prepared::new(program, backend, limits, terminal)?.run(inputs, limits, begin, terminal)
}

/// A program that is ready to run.
pub enum Prepared {
    /// By the machine.
    Planned(Box<Planned>),
    /// By the interpreter.
    Interpreted(Box<Program>),
}

impl Prepared {
    /// Compiles a program, if the machine can run it.
    pub fn new(
        program: Program,
        backend: Backend,
        limits: &LimitArgs,
        terminal: &Terminal,
    ) -> Outcome<Prepared> {
        let backend = match backend {
            Backend::Jit => cotan_pipeline::Backend::Native,
            Backend::Vm => cotan_pipeline::Backend::Machine,
            Backend::Interp => cotan_pipeline::Backend::Interpreter,
        };
        let sources = program.sources().clone();
        let planned = watched(terminal, "compiling", || Planned::new(program, backend))
            .map_err(|error| not_made(&error, &sources, limits, terminal))?;
        Ok(match planned {
            Ok(planned) => Prepared::Planned(Box::new(planned)),
            Err(program) => Prepared::Interpreted(Box::new(program)),
        })
    }

    /// The results.
    pub fn run(
        &self,
        inputs: &[Array],
        limits: &LimitArgs,
        begin: Instant,
        terminal: &Terminal,
    ) -> Outcome<Vec<Array>> {
        let planned = match self {
            Prepared::Planned(planned) => planned,
            Prepared::Interpreted(program) => {
                let values: Vec<Value> = inputs.iter().map(Value::from).collect();
                return results::arrays(&interpret(program, &values, limits, begin, terminal)?);
            }
        };
        planned.check_memory(limits, terminal)?;
        let within = RunLimits {
            deadline: limits.deadline(begin),
            cancel: terminal.cancel().clone(),
            ..RunLimits::default()
        };
        watched(terminal, "running", || planned.executable.run(inputs, &within)).map_err(|stop| {
            match stop {
                Stop::Limit => out_of_time(limits),
                Stop::Memory => planned.refusal(
                    format!("there is no memory for {}", planned.needs()),
                    "use smaller arrays, or a machine with more memory",
                    terminal,
                ),
                Stop::Input(k) => Failure::internal(format_args!("input {k} is of another type")),
            }
        })
    }
}

/// A compiled program, and what is said about the memory that it needs.
pub struct Planned {
    executable: Executable,
    /// Where the terms of its program come from.
    spans: Spans,
    sources: Arc<SourceMap>,
    /// The bytes that inputs, results and what is in between take at once.
    bytes: u64,
}

/// A program of at least so many nodes is not kept while it is compiled, in case that it has to be
/// interpreted instead: then that is done with the one that was compiled.
const LONG: usize = 1 << 16;

impl Planned {
    /// Compiles a program. Gives one to interpret if the machine cannot run it.
    fn new(
        program: Program,
        backend: cotan_pipeline::Backend,
    ) -> cotan_ir::Result<Result<Planned, Program>> {
        if backend == cotan_pipeline::Backend::Interpreter {
            return Ok(Err(program));
        }
        let options = CompileOptions { outline: true, ..CompileOptions::new(backend) };
        let (compiled, source) = if program.len() < LONG {
            (compile(Cow::Borrowed(&program), &options), Some(program))
        } else {
            (compile(Cow::Owned(program), &options), None)
        };
        let Compiled { program, executable, .. } = match (compiled, source) {
            // What the passes make too large, the interpreter may still run.
            (Err(error), Some(source)) if error.kind() == ErrorKind::Limit => {
                return Ok(Err(source));
            }
            (Err(error), _) => return Err(error),
            (Ok(Compiled { executable: None, .. }), Some(source)) => return Ok(Err(source)),
            (Ok(compiled), _) => compiled,
        };
        let Some(executable) = executable else { return Ok(Err(program)) };
        let bytes = executable.peak_bytes(&program);
        let (sources, spans) = (program.sources().clone(), program.into_spans());
        Ok(Ok(Planned { executable, spans, sources, bytes }))
    }

    /// The memory that a run takes, in words.
    fn needs(&self) -> String {
        let all = show_bytes(self.bytes);
        match self.executable.largest() {
            Some((ty, _)) => format!("{all} of values at once, the largest of type {ty}"),
            None => format!("{all} of values at once"),
        }
    }

    /// Refuses to run a program that takes more memory than it may.
    fn check_memory(&self, limits: &LimitArgs, terminal: &Terminal) -> Outcome {
        if self.bytes <= limits.limit_bytes {
            return Ok(());
        }
        let limit = show_bytes(limits.limit_bytes);
        Err(self.refusal(
            format!("this run needs memory for {}; the limit is {limit}", self.needs()),
            &raise_to(self.bytes),
            terminal,
        ))
    }

    /// A failure at the place of the largest array.
    fn refusal(&self, message: String, hint: &str, terminal: &Terminal) -> Failure {
        let largest = self.executable.largest().and_then(|(_, term)| term);
        let span = largest.map_or(Span::NONE, |t| self.spans.near(t));
        let diagnostic = Diagnostic::new(Code::LimitExceeded, span, message).hint(hint);
        Failure::limit(terminal.render(&diagnostic.into(), &self.sources))
    }
}
