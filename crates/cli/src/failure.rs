//! Why a command failed, and the exit code that says so to other programs.

use std::fmt;
use std::io;

use cotan_syntax::abbreviated;

use crate::terminal::Terminal;

/// What a command gives.
pub type Outcome<T = ()> = Result<T, Failure>;

/// What sort of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The program has errors.
    Program,
    /// The command line makes no sense.
    Usage,
    /// A file cannot be read or written, or holds what it should not.
    Data,
    /// A limit was reached.
    Limit,
    /// A fault of ours.
    Internal,
    /// Whoever reads our output has seen enough.
    Closed,
}

/// Why a command failed, as text to be shown.
#[derive(Debug)]
pub struct Failure {
    kind: Kind,
    text: String,
}

impl Failure {
    fn new(kind: Kind, message: impl fmt::Display) -> Failure {
        Failure { kind, text: format!("error: {}", abbreviated(message.to_string())) }
    }

    /// The program has errors, shown already or in `rendered`.
    pub fn program(rendered: impl Into<String>) -> Failure {
        Failure { kind: Kind::Program, text: rendered.into() }
    }

    /// The command line makes no sense.
    pub fn usage(message: impl fmt::Display) -> Failure {
        Failure::new(Kind::Usage, message)
    }

    /// A file cannot be read or written, or holds what it should not.
    pub fn data(message: impl fmt::Display) -> Failure {
        Failure::new(Kind::Data, message)
    }

    /// A limit was reached; the message is shown as it is.
    pub fn limit(rendered: impl Into<String>) -> Failure {
        Failure { kind: Kind::Limit, text: rendered.into() }
    }

    /// A fault of ours.
    pub fn internal(message: impl fmt::Display) -> Failure {
        let failure = Failure::new(Kind::Internal, format_args!("internal error: {message}"));
        failure.hint(format_args!(
            "nothing is wrong with your program; please report this with the program, its inputs \
             and this command:\n        {}",
            command_line()
        ))
    }

    /// Adds a fact.
    pub fn note(mut self, note: impl fmt::Display) -> Failure {
        self.text = format!("{}\n  note: {note}", self.text.trim_end());
        self
    }

    /// Adds what to do.
    pub fn hint(mut self, hint: impl fmt::Display) -> Failure {
        self.text = format!("{}\n  hint: {hint}", self.text.trim_end());
        self
    }

    /// Whether a limit was reached.
    pub fn is_limit(&self) -> bool {
        self.kind == Kind::Limit
    }

    /// The exit code, as documented in `cotan --help`.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Closed => 0,
            Kind::Program => 1,
            Kind::Usage => 2,
            Kind::Data => 3,
            Kind::Limit => 4,
            Kind::Internal => 70,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Errors of writing our output; those of named files are made where the name is known.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure { kind: Kind::Closed, text: String::new() },
            _ => Failure::data(format_args!("cannot write the output: {error}")),
        }
    }
}

/// Does something to each of several things, all of them, and says what went wrong with each; the
/// first failure decides about the exit code.
pub fn for_each<T>(items: &[T], terminal: &Terminal, work: impl Fn(&T) -> Outcome) -> Outcome {
    let mut first = None;
    for failure in items.iter().filter_map(|item| work(item).err()) {
        terminal.complain(&failure.text);
        first.get_or_insert(Failure { kind: failure.kind, text: String::new() });
    }
    first.map_or(Ok(()), Err)
}

fn command_line() -> String {
    let words = std::env::args_os().map(|word| {
        let word = word.to_string_lossy().into_owned();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:@".contains(c);
        if !word.is_empty() && word.chars().all(plain) { word } else { format!("{word:?}") }
    });
    words.collect::<Vec<_>>().join(" ")
}
