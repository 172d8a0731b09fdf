//! A conversation: a line of an eval, a line of ours.

use std::io::{self, BufRead, Write};

use crate::tool::Tool;

/// How functions run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The number of threads.
    pub threads: usize,
}

impl Default for Options {
    /// One thread.
    fn default() -> Options {
        Options { threads: 1 }
    }
}

impl Options {
    /// With so many threads, at least one.
    pub fn with_threads(threads: usize) -> Options {
        Options { threads: threads.max(1) }
    }
}

/// Answers every line of an eval with a line, until there are no more. What goes wrong with one
/// message is the answer to it; errors are only those of reading and writing.
pub fn serve(mut input: impl BufRead, mut output: impl Write, options: &Options) -> io::Result<()> {
    let mut tool = Tool::new(options);
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let answer = tool.answer(&line);
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
}
