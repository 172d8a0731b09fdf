//! A program at every stage, with where everything comes from.

use std::sync::Arc;
use std::time::Duration;

use cotan_ad::Residual;
use cotan_array::Array;
use cotan_cpu::{Executable, RunLimits};
use cotan_ir::provenance::{self, Record};
use cotan_ir::{Output, Program, Result, SourceMap, Span};
use cotan_pipeline::{Cost, Derivative, derive};
use cotan_schedule::Schedule;

use crate::profile::Part;
use crate::{kernels, listing};

/// A node, a Delta term or a kernel.
#[derive(Clone, Debug)]
pub struct Line {
    /// What it is called: `bulk:12`, `delta:3`, `kernel:2`.
    pub id: String,
    /// The name of its former.
    pub former: &'static str,
    /// What it computes.
    pub text: String,
    /// Its type.
    pub ty: String,
    /// Where it comes from; the record of the story says what that stands for.
    pub span: Span,
    /// What it costs.
    pub cost: Cost,
    /// How many regions it is in.
    pub depth: usize,
    /// The lines of the same stage that it needs.
    pub uses: Vec<usize>,
    /// The results of the program that it is.
    pub results: Vec<String>,
    /// Whether it is an input.
    pub given: bool,
}

/// A stage of compilation.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Its name: `core`, `bulk`, `delta`, `gradient`, `value`, `optimised`, `kernel`.
    pub name: &'static str,
    /// What it is, for people.
    pub title: &'static str,
    /// Its lines, operands first.
    pub lines: Vec<Line>,
}

/// A program at every stage.
#[derive(Debug)]
pub struct Story {
    /// What the places of lines stand for.
    pub record: Record,
    /// The texts that they point into.
    pub sources: Arc<SourceMap>,
    /// The stages, in their order.
    pub stages: Vec<Stage>,
    /// What is kept for the reverse pass, the largest first.
    pub residuals: Vec<Residual>,
    /// The arrays in memory.
    pub memory: String,
    /// Why there are no derivatives, if there are none.
    pub no_derivative: Option<&'static str>,
    /// Why there are no kernels, if there are none.
    pub no_kernels: Option<&'static str>,
    /// Where the time of the program that runs goes, if that was asked for.
    pub profile: Option<Part>,
}

/// How the program that runs is measured.
#[derive(Clone, Copy)]
pub struct Measure<'a> {
    /// For how long.
    pub time: Duration,
    /// What it is run on; nothing if it is not to be run.
    pub arguments: &'a dyn Fn(&Program) -> Option<Vec<Array>>,
    /// When to stop.
    pub limits: &'a RunLimits,
}

/// How a story is told.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// The rules of the optimiser.
    pub rules: cotan_opt::Options,
    /// The options of the transform.
    pub bulk: cotan_bot::Options,
    /// Whether the program that runs is measured.
    pub measure: Option<Measure<'a>>,
}

impl Story {
    /// The story of a program that `core` makes. Everything in it is recorded, so it must be made
    /// there and not before.
    pub fn of<E: From<cotan_ir::Error>>(
        core: impl FnOnce() -> std::result::Result<Program, E>,
        options: &Options<'_>,
    ) -> std::result::Result<Story, E> {
        let (story, record) = provenance::record(|| {
            provenance::stage("core");
            let core = core()?;
            Ok::<Story, E>(tell(&core, options)?)
        });
        Ok(Story { record, ..story? })
    }

    /// A stage by its name.
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.name == name)
    }

    /// The lines of the source, from 1, that a place begins on: of the given file or of any.
    pub fn source_lines(&self, span: Span) -> Vec<(cotan_ir::FileId, u32)> {
        let places = self.record.places(span);
        let line = |span: &Span| Some((span.file, self.sources.position(*span)?.line));
        let mut lines: Vec<_> = places.iter().filter_map(line).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}

fn tell(core: &Program, options: &Options<'_>) -> Result<Story> {
    let mut stages = vec![Stage {
        name: "core",
        title: "The core language: functions inlined, sizes known",
        lines: listing::lines(core, "core:"),
    }];
    provenance::stage("bulk");
    let (bulk, _) = cotan_bot::bulk(core, &options.bulk)?;
    stages.push(Stage {
        name: "bulk",
        title: "Bulk operations: no build is left",
        lines: listing::lines(&bulk, "bulk:"),
    });
    let no_derivative = no_derivative(&bulk);
    let mut residuals = Vec::new();
    let last = if no_derivative.is_none() {
        provenance::stage("delta");
        stages.push(delta(&bulk)?);
        provenance::stage("gradient");
        let derivative = if is_scalar(&bulk) { Derivative::ValueAndGrad } else { Derivative::Vjp };
        let gradient = derive(&bulk, derivative, None)?;
        stages.push(Stage {
            name: "gradient",
            title: "Value and gradient",
            lines: listing::lines(&gradient, "gradient:"),
        });
        gradient
    } else {
        bulk.clone()
    };
    provenance::stage("optimised");
    let (optimised, _) = cotan_opt::optimise(&last, &options.rules)?;
    if no_derivative.is_none() {
        provenance::stage("residuals");
        residuals = cotan_pipeline::residuals(&bulk)?;
    }
    stages.push(Stage {
        name: "optimised",
        title: "Optimised: the program that runs",
        lines: listing::lines(&optimised, "optimised:"),
    });
    provenance::stage("kernel");
    let (lines, memory, no_kernels) = match Schedule::of(&optimised, false, &cotan_cpu::host()) {
        Ok(schedule) => {
            let lines = kernels::lines(&optimised, &schedule.list());
            (lines, schedule.memory(&optimised), None)
        }
        Err(why) => (Vec::new(), String::new(), Some(why.0)),
    };
    stages.push(Stage { name: "kernel", title: "Kernels, in the order they run", lines });
    let (record, sources) = (Record::default(), core.sources().clone());
    let name = if no_derivative.is_some() { "value" } else { "value and gradient" };
    let profile = options.measure.and_then(|measure| measured(name, &optimised, measure));
    Ok(Story { record, sources, stages, residuals, memory, no_derivative, no_kernels, profile })
}

/// A program with its profile, if it runs.
fn measured(name: &'static str, program: &Program, measure: Measure<'_>) -> Option<Part> {
    let executable = Executable::new(program).ok()?;
    let arguments = (measure.arguments)(program)?;
    let profile = executable.profile(&arguments, measure.limits, measure.time).ok()?;
    Some(Part::new(name, program, profile))
}

/// The Delta terms of a program.
fn delta(bulk: &Program) -> Result<Stage> {
    let dual = cotan_ad::dual(bulk, None)?;
    let line = |(n, line): (usize, &cotan_ad::DeltaLine)| Line {
        id: format!("delta:{n}"),
        former: "delta",
        text: line.text.clone(),
        ty: line.ty.to_string(),
        span: line.span,
        cost: Cost::default(),
        depth: 0,
        uses: mentioned(&line.text, n),
        results: Vec::new(),
        given: line.text.starts_with("Input "),
    };
    let lines = dual.deltas.iter().enumerate().map(line).collect();
    Ok(Stage {
        name: "delta",
        title: "Delta terms: the derivative, before it is transposed",
        lines,
    })
}

/// The terms before the `n`th that a Delta term mentions, `d3`.
fn mentioned(text: &str, n: usize) -> Vec<usize> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    let number = |word: &str| word.strip_prefix('d')?.parse().ok().filter(|&k: &usize| k < n);
    let mut found: Vec<usize> = words.filter_map(number).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn is_scalar(program: &Program) -> bool {
    program.outputs().first().is_some_and(|output| {
        program.shape(output.term).rank() == 0 && program.dtype(output.term).is_float()
    })
}

fn no_derivative(program: &Program) -> Option<&'static str> {
    let float = |output: &Output| program.dtype(output.term).is_float();
    if !program.inputs().iter().any(|input| input.ty.dtype.is_float()) {
        return Some("no parameter is a float");
    }
    (!program.outputs().iter().any(float)).then_some("no result is a float")
}
