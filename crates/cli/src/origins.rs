//! `cotan explain --line` and `--why`, `--html`: where things come from.

use std::fs;
use std::time::{Duration, Instant};

use cotan_array::Array;
use cotan_cpu::RunLimits;
use cotan_ir::{FileId, Program};
use cotan_view::{Measure, Options, Story, line_report, page, why};

use crate::args::{ExplainArgs, LimitArgs};
use crate::derivatives::Rng;
use crate::failure::{Failure, Outcome};
use crate::function::Function;
use crate::inputs::Inputs;
use crate::limits::not_made;
use crate::progress::watched;
use crate::terminal::Terminal;

/// Where made-up floats lie.
const RANGE: (f64, f64) = (0.5, 1.5);

/// Answers what was asked of a function.
pub fn answer(
    args: &ExplainArgs,
    function: &Function<'_>,
    inputs: &Inputs,
    source: &str,
    begin: Instant,
    terminal: &Terminal,
) -> Outcome {
    let measure = args.html.as_ref().map(|_| args.measure).filter(|time| !time.is_zero());
    let story = story(function, inputs, measure, &args.limits, begin, terminal)?;
    let mut text = String::new();
    let name = |file: &FileId| story.sources.name(*file) == source;
    let file = story.sources.files().find(name).unwrap_or(FileId(0));
    if let Some(to) = &args.html {
        fs::write(to, page(&story, file))
            .map_err(|error| Failure::data(format_args!("{}: {error}", to.display())))?;
    }
    if let Some(line) = args.line {
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
    measure: Option<Duration>,
    limits: &LimitArgs,
    begin: Instant,
    terminal: &Terminal,
) -> Outcome<Story> {
    let deadline = limits.deadline(begin);
    let arguments = |program: &Program| -> Option<Vec<Array>> {
        let mut rng = Rng(1);
        let value = |input: &cotan_ir::Input| {
            let given = inputs.value(&input.name);
            given.or_else(|| rng.value(&input.ty, RANGE).ok())?.to_array().ok()
        };
        let bytes = program.inputs().iter().map(|input| input.ty.shape.bytes(input.ty.dtype));
        let fits = bytes.fold(0, u64::saturating_add) <= limits.limit_bytes;
        if fits { program.inputs().iter().map(value).collect() } else { None }
    };
    let within = RunLimits { deadline, cancel: terminal.cancel().clone(), ..RunLimits::default() };
    let measure = measure.map(|time| Measure { time, arguments: &arguments, limits: &within });
    let options = Options {
        measure,
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
