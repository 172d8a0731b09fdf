//! `cotan test`

use std::time::Instant;

use cotan_array::Dtype;
use cotan_interp::{Options, Value};
use cotan_ir::{Limits, Program};
use cotan_syntax::sample;

use crate::args::TestArgs;
use crate::differences::{Entry, Point, Rng};
use crate::failure::{Failure, Outcome};
use crate::function::Function;
use crate::inputs::{Inputs, Within};
use crate::source::Text;
use crate::terminal::Terminal;

/// Where made-up floats lie: around zero, or else where logarithms and roots are defined.
const RANGES: [(f64, f64); 2] = [(-1.5, 1.5), (0.5, 1.5)];

/// Checks the derivatives of one function or of all.
pub fn test(args: &TestArgs, terminal: &Terminal) -> Outcome {
    let begin = Instant::now();
    let within = Within { limits: &args.limits, begin, terminal };
    let modules = Text::of(&args.call.source)?.load(&args.call.imports, terminal)?;
    let chosen = args.call.function.function.is_some()
        || !args.call.function.sizes.is_empty()
        || !args.call.inputs.args.is_empty()
        || args.call.inputs.npz.is_some();
    let mut failed = Vec::new();
    if chosen {
        let function = Function::of(&modules, &args.call.function, terminal)?;
        let inputs = Inputs::read(&args.call.inputs, &function, &within)?;
        let asked = !args.call.function.sizes.is_empty()
            || function.leaves().any(|l| inputs.ty(&l.path).is_some());
        let made = if asked { None } else { sample(&modules, function.name, &Limits::default()) };
        let program = match made {
            Some(instance) => instance.program,
            None => {
                function.instantiate(|path| inputs.ty(path), &args.limits, begin, terminal)?.program
            }
        };
        let verdict = verdict(&program, args, Some(&inputs), begin)?;
        verdict.report(function.name, terminal, &mut failed)?;
    } else {
        for info in modules.functions() {
            let verdict = match sample(&modules, info.name, &Limits::default()) {
                Some(instance) => verdict(&instance.program, args, None, begin)?,
                None => Verdict::Skipped("no sample of sizes and static values fits it"),
            };
            verdict.report(info.name, terminal, &mut failed)?;
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::program(failed.join("\n")).hint(
            "differences err at kinks and jumps: another --seed tells; everything else is a fault of a rule of your own, or of cotan",
        )),
    }
}

/// What became of a function.
enum Verdict {
    Skipped(&'static str),
    Compared(Vec<Entry>),
}

/// Compares the derivatives of a program at a point.
fn verdict(
    program: &Program,
    args: &TestArgs,
    given: Option<&Inputs>,
    begin: Instant,
) -> Outcome<Verdict> {
    let float = |t| program.dtype(t).is_float();
    if !program.inputs().iter().any(|input| input.ty.dtype.is_float()) {
        return Ok(Verdict::Skipped("no parameter is a float"));
    }
    if !program.outputs().iter().any(|output| float(output.term)) {
        return Ok(Verdict::Skipped("no result is a float"));
    }
    let options = Options {
        max_bytes: args.limits.limit_bytes,
        deadline: args.limits.timeout.and_then(|time| begin.checked_add(time)),
        ..Options::default()
    };
    let mut rng = Rng(args.seed);
    for range in RANGES {
        let inputs = program.inputs().iter().map(|input| {
            match given.and_then(|inputs| inputs.value(&input.name)) {
                Some(value) => Ok(value),
                None => rng.value(&input.ty, range),
            }
        });
        let inputs = inputs.collect::<Outcome<Vec<Value>>>()?;
        let outputs = program.outputs().iter().map(|output| output.term).filter(|&t| float(t));
        let cotangents = outputs.map(|t| rng.value(program.ty(t), RANGES[1]));
        let cotangents = cotangents.collect::<Outcome<Vec<Value>>>()?;
        let point = Point { program, inputs, cotangents, options: options.clone() };
        if point.is_finite()? {
            return Ok(Verdict::Compared(point.entries()?));
        }
    }
    Ok(Verdict::Skipped(
        "values or gradient are not finite at the points tried; give others by --arg",
    ))
}

/// The error of a comparison that is still accepted, relative to the gradient.
fn tolerance(dtype: Dtype, by_differences: bool) -> f64 {
    match (dtype, by_differences) {
        (Dtype::F32, false) => 1e-4,
        (Dtype::F32, true) => 5e-2,
        (_, false) => 1e-10,
        (_, true) => 1e-6,
    }
}

/// A derivative in reverse mode, held against another way to compute it.
#[derive(Clone, Copy)]
struct Comparison<'e> {
    entry: &'e Entry,
    way: &'static str,
    other: f64,
    /// Relative to the size of the gradient.
    error: f64,
    /// How much error is accepted, and how much more because values were rounded.
    tolerance: f64,
    noise: f64,
}

impl Comparison<'_> {
    /// The error as a part of what is accepted.
    fn excess(&self) -> f64 {
        self.error / (self.tolerance + self.noise)
    }
}

impl Entry {
    /// Each comparison of this entry in a gradient of the given size.
    fn comparisons(&self, scale: f64) -> impl Iterator<Item = Comparison<'_>> {
        let ways = [
            ("forward", Some(self.forward), 0.0),
            ("scalars", self.scalar, 0.0),
            ("differences", Some(self.differences), self.noise / scale),
        ];
        ways.into_iter().filter_map(move |(way, other, noise)| {
            let other = other?;
            let error = match (other - self.reverse).abs() / scale {
                error if error.is_nan() => f64::INFINITY,
                error => error,
            };
            let tolerance = tolerance(self.dtype, way == "differences");
            Some(Comparison { entry: self, way, other, error, tolerance, noise })
        })
    }
}

impl Verdict {
    /// Says what was found; failures are also collected.
    fn report(&self, name: &str, terminal: &Terminal, failed: &mut Vec<String>) -> Outcome {
        let entries = match self {
            Verdict::Skipped(why) => return terminal.write(&format!("{name}: skipped: {why}\n")),
            Verdict::Compared(entries) => entries,
        };
        // Errors are relative to the largest entry: small ones come from the cancellation of large ones.
        let scale = entries.iter().map(|e| e.reverse.abs()).fold(1.0, f64::max);
        let mut worst: Vec<Comparison<'_>> = Vec::new();
        let mut bad: Option<Comparison<'_>> = None;
        for found in entries.iter().flat_map(|entry| entry.comparisons(scale)) {
            match worst.iter_mut().find(|before| before.way == found.way) {
                Some(before) if before.error >= found.error => {}
                Some(before) => *before = found,
                None => worst.push(found),
            }
            if found.excess() > bad.map_or(1.0, |before| before.excess()) {
                bad = Some(found);
            }
        }
        let shown = |c: &Comparison<'_>| {
            let hidden = c.error > c.tolerance && c.excess() <= 1.0;
            let remark = if hidden { " (within rounding)" } else { "" };
            format!("{} {:.1e}{remark}", c.way, c.error)
        };
        let errors: Vec<String> = worst.iter().map(shown).collect();
        let count = match entries.len() {
            1 => "1 derivative".to_owned(),
            n => format!("{n} derivatives"),
        };
        let word = if bad.is_none() { "ok" } else { "FAILED" };
        terminal
            .write(&format!("{name}: {word}: {count}; largest errors: {}\n", errors.join(", ")))?;
        if let Some(Comparison { entry, way, other, error, tolerance, noise }) = bad {
            failed.push(format!(
                "error: `{name}` by {}: {} in reverse mode, {other} by {way}; the error {error:.1e} \
                 is beyond {:.0e}",
                entry.place,
                entry.reverse,
                tolerance + noise
            ));
        }
        Ok(())
    }
}
