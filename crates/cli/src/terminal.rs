//! Standard output and standard error.

use std::io::{self, IsTerminal, Write};

use cotan_ir::{CancelToken, SourceMap};
use cotan_syntax::render::{Style, render_all};
use cotan_syntax::{Code, Diagnostics, Failure as Messages, Severity};

use crate::args::When;
use crate::failure::{Failure, Outcome};

/// Where results and messages go.
#[derive(Clone)]
pub struct Terminal {
    style: Style,
    watched: bool,
    /// Cancelled when whoever sits there has had enough.
    cancel: CancelToken,
}

impl Terminal {
    /// Colours are for messages, which go to standard error.
    pub fn new(color: When) -> Terminal {
        let watched = io::stderr().is_terminal();
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colours = match color {
            When::Always => true,
            When::Never => false,
            When::Auto => watched && !set("NO_COLOR") && !dumb,
        };
        let style = if colours { Style::Colour } else { Style::Plain };
        Terminal { style, watched, cancel: CancelToken::new() }
    }

    /// The same, for one evaluation that can be cancelled.
    #[cfg(feature = "repl")]
    pub fn cancelled_by(&self, cancel: CancelToken) -> Terminal {
        Terminal { cancel, ..self.clone() }
    }

    /// What ends the work at hand early.
    pub fn cancel(&self) -> &CancelToken {
        &self.cancel
    }

    /// Whether to use colours.
    #[cfg(feature = "repl")]
    pub fn has_colours(&self) -> bool {
        matches!(self.style, Style::Colour)
    }

    /// Whether someone watches standard error.
    pub fn is_watched(&self) -> bool {
        self.watched
    }

    /// Writes to standard output.
    pub fn write(&self, text: &str) -> Outcome {
        let mut output = io::stdout().lock();
        output.write_all(text.as_bytes())?;
        Ok(output.flush()?)
    }

    /// Writes a message to standard error, where nothing can be done if that fails.
    pub fn complain(&self, text: &str) {
        let text = text.trim_end();
        if !text.is_empty() {
            let _ = writeln!(io::stderr().lock(), "{text}");
        }
    }

    /// Shows messages about a program.
    pub fn show(&self, diagnostics: &Diagnostics, sources: &SourceMap) {
        self.complain(&self.render(diagnostics, sources));
    }

    /// Messages about a program, as they look here.
    pub fn render(&self, diagnostics: &Diagnostics, sources: &SourceMap) -> String {
        render_all(diagnostics, sources, self.style)
    }

    /// The failure that consists of messages about a program.
    pub fn program_failure(&self, messages: &Messages) -> Failure {
        self.diagnosed(&messages.diagnostics, &messages.sources)
    }

    /// The same, with its parts apart. If nothing is wrong but that a limit was reached, the failure
    /// is one of limits.
    pub fn diagnosed(&self, diagnostics: &Diagnostics, sources: &SourceMap) -> Failure {
        let rendered = self.render(diagnostics, sources);
        match is_limit(diagnostics) {
            true => Failure::limit(rendered),
            false => Failure::program(rendered),
        }
    }
}

/// Whether the only errors are that limits were reached.
pub fn is_limit(diagnostics: &Diagnostics) -> bool {
    let mut errors = diagnostics.iter().filter(|d| d.severity() == Severity::Error).peekable();
    errors.peek().is_some() && errors.all(|error| error.code == Code::LimitExceeded)
}
