//! Running programs: by the machine where it has a plan, otherwise by the reference interpreter.

use std::time::Instant;

use cotan_array::Array;
use cotan_exec::{Engine, Executable, RunLimits, Stop};
use cotan_interp::Value;
use cotan_ir::{ErrorKind, Limits, Program, Span, Type};
use cotan_syntax::{Code, Diagnostic};

use crate::args::{Backend, LimitArgs};
use crate::failure::{Failure, Outcome};
use crate::progress::watched;
use crate::results;
use crate::run::{interpret, out_of_time};
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
    program: &Program,
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
    let deadline = limits.timeout.and_then(|time| begin.checked_add(time));
    let planned = match engine {
        Some(engine) => watched(terminal, "compiling", || Planned::new(program, engine, deadline))
            .map_err(|error| match error.kind() {
                ErrorKind::Deadline => out_of_time(limits),
                _ => Failure::internal(error),
            })?,
        None => None,
    };
    let Some(planned) = planned else {
        let values: Vec<Value> = inputs.iter().map(Value::from).collect();
        return results::arrays(&interpret(program, &values, limits, begin, terminal)?);
    };
    planned.check_memory(limits, terminal)?;
    let within = RunLimits { deadline, ..RunLimits::default() };
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

/// A program and its plan.
struct Planned {
    program: Program,
    executable: Executable,
}

impl Planned {
    /// Optimises and plans a program; none if the machine cannot run it.
    fn new(
        program: &Program,
        engine: Engine,
        deadline: Option<Instant>,
    ) -> cotan_ir::Result<Option<Planned>> {
        // Most arrays in bulk operations are never made, so their sizes mean nothing yet.
        let limits =
            Limits { max_bytes: u64::MAX, max_elements: u64::MAX, deadline, ..Limits::default() };
        let options = cotan_bot::Options { limits, ..cotan_bot::Options::default() };
        let bulk = match cotan_bot::bulk(program, &options) {
            Ok((bulk, _)) => bulk,
            Err(error) if error.kind() == ErrorKind::Limit => return Ok(None),
            Err(error) => return Err(error),
        };
        let options = cotan_opt::Options { deadline, ..cotan_opt::Options::default() };
        let program = cotan_opt::optimise(&bulk, &options)?.0;
        let plan = Executable::planned(&program, false, engine).ok();
        Ok(plan.map(|executable| Planned { program, executable }))
    }

    /// The bytes that inputs, results and what is in between take at once.
    fn bytes(&self) -> u64 {
        let size = |ty: &Type| ty.shape.bytes(ty.dtype);
        let inputs = self.program.inputs().iter().map(|input| size(&input.ty));
        let outputs = self.program.outputs().iter().map(|o| size(self.program.ty(o.term)));
        let kept = inputs.chain(outputs).fold(0, u64::saturating_add);
        kept.saturating_add(self.executable.workspace_bytes() as u64)
    }

    /// The memory that a run takes, in words.
    fn needs(&self) -> String {
        let all = show_bytes(self.bytes());
        match self.executable.largest() {
            Some((ty, _)) => format!("{all} of values at once, the largest of type {ty}"),
            None => format!("{all} of values at once"),
        }
    }

    /// Refuses to run a program that takes more memory than it may.
    fn check_memory(&self, limits: &LimitArgs, terminal: &Terminal) -> Outcome {
        if self.bytes() <= limits.limit_bytes {
            return Ok(());
        }
        let limit = show_bytes(limits.limit_bytes);
        Err(self.refusal(
            format!("this run needs memory for {}; the limit is {limit}", self.needs()),
            "raise the limit with --limit-bytes, or use smaller arrays",
            terminal,
        ))
    }

    /// A failure at the place of the largest array.
    fn refusal(&self, message: String, hint: &str, terminal: &Terminal) -> Failure {
        let term = self.executable.largest().and_then(|(_, term)| term);
        let span = term.map_or(Span::NONE, |t| self.program.span(t));
        let diagnostic = Diagnostic::new(Code::LimitExceeded, span, message).hint(hint);
        Failure::limit(terminal.render(&diagnostic.into(), self.program.sources()))
    }
}
