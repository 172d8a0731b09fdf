//! `cotan explain --line` and `--why`: where things come from.

use std::time::Instant;

use cotan_ir::FileId;
use cotan_view::{Options, Story, line_report, why};

use crate::args::{ExplainArgs, LimitArgs};
use crate::failure::{Failure, Outcome};
use crate::function::Function;
use crate::inputs::Inputs;
use crate::limits::not_made;
use crate::progress::watched;
use crate::terminal::Terminal;

/// Answers what was asked of a function.
pub fn answer(
    args: &ExplainArgs,
    function: &Function<'_>,
    inputs: &Inputs,
    source: &str,
    begin: Instant,
    terminal: &Terminal,
) -> Outcome {
    let story = story(function, inputs, &args.limits, begin, terminal)?;
    let mut text = String::new();
    if let Some(line) = args.line {
        let name = |file: &FileId| story.sources.name(*file) == source;
        let file = story.sources.files().find(name).unwrap_or(FileId(0));
        text += &line_report(&story, file, line).map_err(Failure::usage)?;
    }
    if let Some(node) = &args.why {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &why(&story, node).map_err(Failure::usage)?;
    }
    terminal.write(&text)
}

/// A function at every stage, with where everything comes from.
pub fn story(
    function: &Function<'_>,
    inputs: &Inputs,
    limits: &LimitArgs,
    begin: Instant,
    terminal: &Terminal,
) -> Outcome<Story> {
    let deadline = limits.deadline(begin);
    let options = Options {
        rules: cotan_opt::Options { deadline, ..cotan_opt::Options::default() },
        bulk: cotan_bot::Options { limits: limits.making(begin), ..cotan_bot::Options::default() },
    };
    let mut sources = None;
    let told = watched(terminal, "compiling", || {
        Story::of(
            || {
                let made = function.instantiate(inputs, limits, begin, terminal);
                let core = made.map_err(Told::Refused)?.program;
                sources = Some(core.sources().clone());
                Ok(core)
            },
            &options,
        )
    });
    told.map_err(|why| match (why, sources) {
        (Told::Refused(failure), _) => failure,
        (Told::Error(error), sources) => {
            not_made(&error, &sources.unwrap_or_default(), limits, terminal)
        }
    })
}

/// Why there is no story.
enum Told {
    Refused(Failure),
    Error(cotan_ir::Error),
}

impl From<cotan_ir::Error> for Told {
    fn from(error: cotan_ir::Error) -> Told {
        Told::Error(error)
    }
}
