//! Running programs: by the machine where it has a plan, otherwise by the reference interpreter.

use std::sync::Arc;
use std::time::Instant;

use cotan_array::Array;
use cotan_cpu::{Engine, Executable, Planning, RunLimits, Stop, Unsupported};
use cotan_interp::Value;
use cotan_ir::{ErrorKind, Node, Program, SourceMap, Span};
use cotan_syntax::{Code, Diagnostic};

use crate::args::{Backend, LimitArgs};
use crate::failure::{Failure, Outcome};
use crate::limits::{not_made, out_of_time, raise_to};
use crate::progress::watched;
use crate::results;
use crate::run::interpret;
use crate::terminal::Terminal;
use crate::units::show_bytes;

/// The environment variable that chooses where the command line does not.
const VARIABLE: &str = "COTAN_BACKEND";

impl Backend {
    /// The one that the command line says, or the environment, or the fastest.
    pub fn chosen(said: Option<Backend>) -> Outcome<Backend> {
        let name = match (said, std::env::var_os(VARIABLE)) {
            (Some(backend), _) => return Ok(backend),
            (None, None) => return Ok(Backend::Jit),
            (None, Some(name)) => name,
        };
        match name.to_str() {
            Some("jit") => Ok(Backend::Jit),
            Some("vm") => Ok(Backend::Vm),
            Some("interp") => Ok(Backend::Interp),
            _ => Err(Failure::usage(format_args!("{VARIABLE} is {name:?}"))
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
    let engine = match backend {
        Backend::Jit => Some(Engine::Native),
        Backend::Vm => Some(Engine::Machine),
        Backend::Interp => None,
    };
    let sources = program.sources().clone();
    let planned = match engine {
        Some(engine) => watched(terminal, "compiling", || Planned::new(program, engine))
            .map_err(|error| not_made(&error, &sources, limits, terminal))?,
        None => Err(program),
    };
    let planned = match planned {
        Ok(planned) => planned,
        Err(program) => {
            let values: Vec<Value> = inputs.iter().map(Value::from).collect();
            return results::arrays(&interpret(&program, &values, limits, begin, terminal)?);
        }
    };
    planned.check_memory(limits, terminal)?;
    let within = RunLimits { deadline: limits.deadline(begin), ..RunLimits::default() };
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

/// The plan of a program, and what is said about the memory that it needs.
struct Planned {
    executable: Executable,
    /// The bytes that inputs, results and what is in between take at once.
    bytes: u64,
    /// Where the largest array comes from.
    largest: Span,
    sources: Arc<SourceMap>,
}

/// A program of at least so many nodes is not kept while its plan is made, in case that it has to be
/// interpreted instead.
const LONG: usize = 1 << 16;

impl Planned {
    /// Optimises and plans a program. Gives one to interpret if the machine cannot run it.
    ///
    /// A long program takes much memory in every form, so none is kept longer than it is needed.
    fn new(program: Program, engine: Engine) -> cotan_ir::Result<Result<Planned, Program>> {
        let elementwise = |t| matches!(program.node(t), Node::Build1(_) | Node::Index(..));
        let (bulk, source) = if program.terms().any(elementwise) {
            match cotan_bot::bulk(&program, &cotan_bot::Options::default()) {
                Ok((bulk, _)) => (bulk, Some(program)),
                // What the transform makes too large, the interpreter may still run.
                Err(error) if error.kind() == ErrorKind::Limit => return Ok(Err(program)),
                Err(error) => return Err(error),
            }
        } else {
            (program, None)
        };
        let program = cotan_opt::optimise_owned(bulk, &cotan_opt::Options::default())?.0;
        let stopped = || cotan_ir::Error::new(ErrorKind::Deadline, "plan", "out of time");
        let planning = match Planning::of(&program) {
            Ok(planning) => planning,
            Err(Unsupported::STOPPED) => return Err(stopped()),
            Err(_) => return Ok(Err(source.unwrap_or(program))),
        };
        let kept = (program.len() < LONG).then(|| source.unwrap_or_else(|| program.clone()));
        let (sources, spans) = (program.sources().clone(), program.into_spans());
        let (executable, bytes) = match (planning.finish(engine), kept) {
            (Ok(planned), _) => planned,
            (Err(Unsupported::STOPPED), _) => return Err(stopped()),
            (Err(_), Some(program)) => return Ok(Err(program)),
            (Err(error), None) => {
                return Err(cotan_ir::Error::new(ErrorKind::Limit, "plan", error.0));
            }
        };
        let largest = executable.largest().and_then(|(_, term)| term);
        let largest = largest.map_or(Span::NONE, |t| spans.near(t));
        Ok(Ok(Planned { executable, bytes, largest, sources }))
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
        let diagnostic = Diagnostic::new(Code::LimitExceeded, self.largest, message).hint(hint);
        Failure::limit(terminal.render(&diagnostic.into(), &self.sources))
    }
}
