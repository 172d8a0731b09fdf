//! The limits of the command line, and what is said when one is reached.

use std::time::Instant;

use cotan_ir::{Error, ErrorKind, Limits, SourceMap, Watch};
use cotan_syntax::{Code, Diagnostic};

use crate::args::LimitArgs;
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::units::enough_bytes;

/// No machine has so much memory.
const UNTHINKABLE: u64 = 1 << 50;

impl LimitArgs {
    /// When work that began at `begin` has to end.
    pub fn deadline(&self, begin: Instant) -> Option<Instant> {
        self.timeout.and_then(|time| begin.checked_add(time))
    }

    /// The limits of making programs. Memory is none of them: it is limited where arrays are made.
    pub fn making(&self, begin: Instant) -> Limits {
        Limits { deadline: self.deadline(begin), ..Limits::default() }
    }

    /// When transforming, differentiating and planning have to end.
    pub fn watch(&self, begin: Instant) -> Watch {
        Watch { deadline: self.deadline(begin), ..Watch::default() }
    }
}

/// The failure of making, transforming or differentiating a program.
pub fn not_made(
    error: &Error,
    sources: &SourceMap,
    limits: &LimitArgs,
    terminal: &Terminal,
) -> Failure {
    match error.kind() {
        ErrorKind::Deadline | ErrorKind::Cancelled => out_of_time(limits),
        ErrorKind::Limit => {
            let message = format!("`{}`: {}", error.op(), error.message());
            let mut diagnostic = Diagnostic::new(Code::LimitExceeded, error.span(), message);
            if let Some(hint) = error.hint() {
                diagnostic = diagnostic.hint(hint);
            }
            Failure::limit(terminal.render(&diagnostic.into(), sources))
        }
        ErrorKind::Type => {
            let failure = Failure::program(format!("error: {}", error.message()));
            match error.hint() {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        }
        _ => Failure::internal(error),
    }
}

/// The failure of a command that took too long.
pub fn out_of_time(limits: &LimitArgs) -> Failure {
    let time = limits.timeout.map(|time| format!(" of {time:?}")).unwrap_or_default();
    Failure::limit(format!(
        "error: the run did not finish within the time limit{time}\n  hint: raise it with --timeout"
    ))
}

/// What to do about a limit on memory that a plan exceeds.
pub fn raise_to(needed: u64) -> String {
    if needed >= UNTHINKABLE {
        return "use smaller arrays".to_owned();
    }
    let enough = enough_bytes(needed);
    format!("raise the limit with --limit-bytes {enough}, or use smaller arrays")
}
