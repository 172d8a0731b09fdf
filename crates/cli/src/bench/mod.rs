//! `cotan bench`

pub mod roofline;

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use cotan_array::Array;
use cotan_interp::Value;
use cotan_ir::Program;
use cotan_pipeline::{
    Backend as Passes, CompileOptions, CompilePass, Cost, Form, compile_to, derive,
};
use serde_json::json;

use crate::args::{Backend, BenchArgs, FunctionArgs};
use crate::derivatives::Rng;
use crate::explain::{differentiable, gradient_of};
use crate::failure::{Failure, Outcome};
use crate::function::Function;
use crate::inputs::{Inputs, Within};
use crate::limits::not_made;
use crate::machine::Prepared;
use crate::progress::watched;
use crate::source::Text;
use crate::terminal::Terminal;
use roofline::Limits;

/// More turns say nothing more.
const TURNS: usize = 10_000;
/// Where made-up floats lie.
const RANGE: (f64, f64) = (0.5, 1.5);

/// Measures the value and the gradient of a function, and of another program's beside it.
pub fn bench(args: &BenchArgs, terminal: &Terminal) -> Outcome {
    let begin = Instant::now();
    let mut texts = vec![Text::of(&args.call.source)?];
    if let Some(other) = &args.other {
        texts.push(Text::read(Path::new(other))?);
    }
    let names: Vec<String> = texts.iter().map(|text| text.name.clone()).collect();
    let mut subjects = Vec::new();
    for text in texts {
        subjects.push(Subject::new(text, args, begin, terminal)?);
    }
    let limits = Limits::of_machine(args.measure_limits, &args.limits, terminal)?;
    watched(terminal, "measuring", || race(&mut subjects, args, begin, terminal))?;
    let text = match args.json {
        true => as_json(&names, &subjects, limits),
        false => as_table(&names, &subjects, limits),
    };
    terminal.write(&text)
}

/// A program that is measured.
struct Contender {
    prepared: Prepared,
    inputs: Vec<Array>,
    /// The scalar operations of the program as it runs.
    operations: u64,
    /// What has to be read and written at least: its inputs and its results.
    bytes: u64,
    /// The fastest turn, in seconds.
    least: f64,
}

/// A function, with its gradient if it has one.
struct Subject {
    value: Contender,
    gradient: Option<Contender>,
}

impl Subject {
    fn new(text: Text, args: &BenchArgs, begin: Instant, terminal: &Terminal) -> Outcome<Subject> {
        let within = Within { limits: &args.limits, begin, terminal };
        let modules = text.load(&args.call.imports, terminal)?;
        let mut sized = FunctionArgs {
            function: args.call.function.function.clone(),
            sizes: args.call.function.sizes.clone(),
        };
        let name = Function::of(&modules, &sized, terminal)?.name.to_owned();
        let interface =
            modules.interface(&name).map_err(|messages| terminal.program_failure(&messages))?;
        // Arrays that are given have their own sizes.
        if args.call.inputs.args.is_empty() && args.call.inputs.npz.is_none() {
            let length = i64::try_from(args.length).unwrap_or(i64::MAX);
            for size in &interface.sizes {
                if !sized.sizes.iter().any(|(known, _)| known == size) {
                    sized.sizes.push((size.clone(), length));
                }
            }
        }
        let function = Function::of(&modules, &sized, terminal)?;
        let inputs = Inputs::read(&args.call.inputs, &function, &within)?;
        let program = function.instantiate(&inputs, &args.limits, begin, terminal)?.program;
        let mut rng = Rng(1);
        let mut arrays = Vec::new();
        for input in program.inputs() {
            let value = match inputs.value(&input.name) {
                Some(value) => value,
                None => rng.value(&input.ty, RANGE)?,
            };
            arrays.push(value.to_array().map_err(Failure::internal)?);
        }
        let gradient = match differentiable(&program) {
            Err(_) => None,
            Ok(()) => {
                let derived = watched(terminal, "differentiating", || {
                    derive(&program, gradient_of(&program), None)
                });
                let derived = derived
                    .map_err(|error| not_made(&error, program.sources(), &args.limits, terminal))?;
                let mut all = arrays.clone();
                for cotangent in derived.inputs().get(arrays.len()..).unwrap_or_default() {
                    let value: Value = rng.value(&cotangent.ty, RANGE)?;
                    all.push(value.to_array().map_err(Failure::internal)?);
                }
                Some(Contender::new(derived, all, args, begin, terminal)?)
            }
        };
        Ok(Subject { value: Contender::new(program, arrays, args, begin, terminal)?, gradient })
    }

    fn contenders(&mut self) -> impl Iterator<Item = &mut Contender> {
        std::iter::once(&mut self.value).chain(&mut self.gradient)
    }

    /// How many times as long as the value the gradient takes.
    fn ratio(&self) -> Option<f64> {
        Some(self.gradient.as_ref()?.least / self.value.least)
    }
}

impl Contender {
    fn new(
        program: Program,
        inputs: Vec<Array>,
        args: &BenchArgs,
        begin: Instant,
        terminal: &Terminal,
    ) -> Outcome<Contender> {
        let bytes = |ty: &cotan_ir::Type| (ty.shape.numel() * ty.dtype.size()) as u64;
        let read: u64 = program.inputs().iter().map(|input| bytes(&input.ty)).sum();
        let written: u64 = program.outputs().iter().map(|o| bytes(program.ty(o.term))).sum();
        let options = CompileOptions::new(Passes::Native);
        let last = Some(CompilePass::OPTIMISE.name);
        let optimised = compile_to(Cow::Borrowed(&program), &options, last)
            .map_err(|error| not_made(&error, program.sources(), &args.limits, terminal))?;
        let operations = match &optimised {
            Form::Program(program) => Cost::of(program).operations,
            _ => Cost::of(&program).operations,
        };
        let backend = Backend::chosen(args.backend.backend)?;
        let prepared = Prepared::new(program, backend, &args.limits, terminal)?;
        // Once, so that what does not run is told before anything is measured.
        prepared.run(&inputs, &args.limits, begin, terminal)?;
        Ok(Contender { prepared, inputs, operations, bytes: read + written, least: f64::INFINITY })
    }

    /// Operations and bytes a second.
    fn rates(&self) -> (f64, f64) {
        (self.operations as f64 / self.least, self.bytes as f64 / self.least)
    }
}

/// Lets all of them take turns, so that what disturbs the machine disturbs them alike.
fn race(
    subjects: &mut [Subject],
    args: &BenchArgs,
    begin: Instant,
    terminal: &Terminal,
) -> Outcome {
    let count = subjects.iter_mut().map(|subject| subject.contenders().count()).sum::<usize>();
    let (started, time) = (Instant::now(), args.time * u32::try_from(count).unwrap_or(1));
    for turn in 0..TURNS {
        if turn >= 3 && started.elapsed() >= time {
            break;
        }
        for contender in subjects.iter_mut().flat_map(Subject::contenders) {
            let now = Instant::now();
            let run = contender.prepared.run(&contender.inputs, &args.limits, begin, terminal)?;
            contender.least = contender.least.min(now.elapsed().as_secs_f64().max(1e-9));
            drop(run);
        }
    }
    Ok(())
}

/// One line of the table: what, and a figure for each program.
type Row = (&'static str, Vec<Option<f64>>, fn(f64) -> String);

fn rows(subjects: &[Subject], limits: Limits) -> Vec<Row> {
    let each = |figure: &dyn Fn(&Subject) -> Option<f64>| subjects.iter().map(figure).collect();
    let of_gradient = |figure: fn(&Contender) -> f64| {
        move |subject: &Subject| subject.gradient.as_ref().map(figure)
    };
    let count: fn(f64) -> String = |x| format!("{x:.0}");
    let giga: fn(f64) -> String = |x| format!("{:.3} G/s", x / 1e9);
    let share: fn(f64) -> String = |x| format!("{:.1} %", 100.0 * x);
    vec![
        ("value", each(&|s| Some(s.value.least)), seconds),
        ("value and gradient", each(&of_gradient(|g| g.least)), seconds),
        ("ratio", each(&Subject::ratio), |x| format!("{x:.2}")),
        ("operations of the value", each(&|s| Some(s.value.operations as f64)), count),
        ("  a second", each(&|s| Some(s.value.rates().0)), giga),
        ("  of the machine", each(&|s| Some(s.value.rates().0 / limits.operations)), share),
        ("  bytes a second", each(&|s| Some(s.value.rates().1)), giga),
        ("  of the machine", each(&|s| Some(s.value.rates().1 / limits.bytes)), share),
        ("operations with gradient", each(&of_gradient(|g| g.operations as f64)), count),
        ("  a second", each(&of_gradient(|g| g.rates().0)), giga),
        (
            "  of the machine",
            each(&|s| Some(s.gradient.as_ref()?.rates().0 / limits.operations)),
            share,
        ),
        ("  bytes a second", each(&of_gradient(|g| g.rates().1)), giga),
        ("  of the machine", each(&|s| Some(s.gradient.as_ref()?.rates().1 / limits.bytes)), share),
    ]
}

fn as_table(names: &[String], subjects: &[Subject], limits: Limits) -> String {
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(14) + 2;
    let mut text = format!("{:26}", "");
    for name in names {
        let _ = write!(text, "{name:>width$}");
    }
    text += if subjects.len() == 2 { "    second/first\n" } else { "\n" };
    for (what, figures, show) in rows(subjects, limits) {
        // What has no gradient has no figures of it.
        if figures.iter().all(Option::is_none) {
            continue;
        }
        let _ = write!(text, "{what:26}");
        for figure in &figures {
            let shown = figure.map_or_else(|| "-".to_owned(), show);
            let _ = write!(text, "{shown:>width$}");
        }
        if let [Some(first), Some(second)] = figures.as_slice() {
            let _ = write!(text, "{:>16.2}", second / first);
        }
        text.push('\n');
    }
    let interpreted = |c: &Contender| matches!(c.prepared, Prepared::Interpreted(_));
    for (name, subject) in names.iter().zip(subjects) {
        if interpreted(&subject.value) || subject.gradient.as_ref().is_some_and(interpreted) {
            let _ = writeln!(text, "{name}: interpreted");
        }
    }
    let _ = writeln!(
        text,
        "The machine: {:.1} G operations/s, {:.1} GB/s. Bytes are those of arguments and results.",
        limits.operations / 1e9,
        limits.bytes / 1e9
    );
    text
}

fn as_json(names: &[String], subjects: &[Subject], limits: Limits) -> String {
    let contender = |c: &Contender| {
        let (operations, bytes) = c.rates();
        json!({
            "seconds": c.least,
            "operations": c.operations,
            "bytes": c.bytes,
            "operations_share": operations / limits.operations,
            "bytes_share": bytes / limits.bytes,
        })
    };
    let programs: Vec<_> = names
        .iter()
        .zip(subjects)
        .map(|(name, s)| {
            json!({
                "program": name,
                "value": contender(&s.value),
                "gradient": s.gradient.as_ref().map(contender),
                "ratio": s.ratio(),
            })
        })
        .collect();
    let machine = json!({"operations": limits.operations, "bytes": limits.bytes});
    format!("{:#}\n", json!({"machine": machine, "programs": programs}))
}

/// A time in the unit that fits.
fn seconds(x: f64) -> String {
    match x {
        x if x < 1e-6 => format!("{:.0} ns", x * 1e9),
        x if x < 1e-3 => format!("{:.2} us", x * 1e6),
        x if x < 1.0 => format!("{:.2} ms", x * 1e3),
        x => format!("{x:.2} s"),
    }
}
