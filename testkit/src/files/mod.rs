//! Test files: programs with what is expected of them in their comments.
//!
//! ```text
//! # The sum of products.
//! # run: dot([1.0, 2.0], [3.0, 4.0])
//! # expect: 11.0
//! # run: dot([1.0, 2.0], [3.0])
//! # error: E0204 5 `n` is 2
//! def dot(a: [n]f64, b: [n]f64): f64 = sum(a * b)
//! ```
//!
//! * `run: f(args)` makes the program of `f` at the types of the arguments and runs it; sizes can
//!   be given as `f[n = 3](..)`, arguments known when the program is made as `static 3`;
//! * `expect: value` is its result, to the last bit but for the signs of zeros and NaNs; `near
//!   1e-12: value` allows for a relative error;
//! * `prints: text` is the printed program, over several such lines if need be;
//! * `error: code line:column words` and `warning: ..` are messages of the last run, or of loading
//!   the file when they stand before all runs: all of them, in order;
//! * `check:` checks the whole file, and is followed by all that this says, also as `note: ..`;
//!   `check: d = 64` fixes sizes;
//! * `skip: reason` leaves a file out.
//!
//! Every program made on the way is also checked, and printed and parsed again.

mod datum;
mod header;

use std::path::{Path, PathBuf};

use cotan_interp::{Mode, Value};
use cotan_ir::{Limits, SourceMap};
use cotan_syntax::{
    ArgSpec, Diagnostics, Failure, FileLoader, Instance, Modules, check_at, instantiate, load,
};

pub use datum::{Call, Datum};
use header::{Directive, Message, directives};

use crate::fuzz_targets::reads_back;
use crate::{Equality, first_difference, run_program};

/// What became of a test file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All expectations hold; this many were checked.
    Passed(usize),
    /// Left out, with the reason.
    Skipped(String),
    /// An expectation does not hold.
    Failed(String),
}

/// All `.ct` files of a folder, by name. Folders inside hold files that others import.
pub fn test_files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "ct") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Runs one test file.
pub fn run_file(path: &Path) -> Verdict {
    let outcome = std::fs::read_to_string(path)
        .map_err(|e| e.to_string())
        .and_then(|text| run_text(path, &text));
    match outcome {
        Ok(verdict) => verdict,
        Err(message) => Verdict::Failed(message),
    }
}

fn run_text(path: &Path, text: &str) -> Result<Verdict, String> {
    let all = directives(text)?;
    if let Some((_, Directive::Skip(reason))) =
        all.iter().find(|(_, d)| matches!(d, Directive::Skip(_)))
    {
        return Ok(Verdict::Skipped(reason.clone()));
    }
    if all.is_empty() {
        return Err("nothing is expected of this file".into());
    }
    let first_run = all.iter().position(|(_, d)| is_run(d)).unwrap_or(all.len());
    let (before, runs) = all.split_at(first_run);
    let modules = match load(&path.to_string_lossy(), &FileLoader::new(path)) {
        Ok(modules) => {
            expect_messages(&messages(before), &Diagnostics::new(), &SourceMap::new())?;
            modules
        }
        Err(Failure { diagnostics, sources }) => {
            expect_messages(&messages(before), &diagnostics, &sources)?;
            return Ok(Verdict::Passed(before.len()));
        }
    };
    if runs.is_empty() {
        return Err("nothing is run".into());
    }
    for group in runs.chunk_by(|_, (_, next)| !is_run(next)) {
        let Some(((line, asked), expected)) = group.split_first() else { continue };
        let outcome = match asked {
            Directive::Check(sizes) => {
                let sizes: Vec<(&str, usize)> = sizes.iter().map(|(n, k)| (&**n, *k)).collect();
                let found = check_at(&modules, &sizes, &Limits::default());
                expect_messages(&messages(expected), &found, modules.sources())
            }
            Directive::Run(call) => run_call(&modules, call, expected),
            _ => Ok(()),
        };
        outcome.map_err(|e| format!("asked in line {line}: {e}"))?;
    }
    Ok(Verdict::Passed(all.len() - runs.iter().filter(|(_, d)| is_run(d)).count()))
}

fn is_run(directive: &Directive) -> bool {
    matches!(directive, Directive::Run(_) | Directive::Check(_))
}

/// The messages among some expectations.
fn messages(directives: &[(usize, Directive)]) -> Vec<&Message> {
    directives
        .iter()
        .filter_map(|(_, d)| if let Directive::Message(m) = d { Some(m) } else { None })
        .collect()
}

/// Makes and runs the program of a call and compares it with what is expected.
fn run_call(modules: &Modules, call: &Call, expected: &[(usize, Directive)]) -> Result<(), String> {
    if expected.is_empty() {
        return Err("nothing is expected of it".into());
    }
    let spec = |datum: &Datum| match datum {
        Datum::Static(value) => ArgSpec::Static(*value),
        other => ArgSpec::Leaves(other.leaves().iter().map(|v| v.ty().clone()).collect()),
    };
    let args: Vec<ArgSpec> = call.args.iter().map(spec).collect();
    let sizes: Vec<(&str, usize)> = call.sizes.iter().map(|(n, k)| (n.as_str(), *k)).collect();
    let made = instantiate(modules, &call.function, &args, &sizes, &Limits::default());
    let instance = match made {
        Ok(instance) => instance,
        Err(Failure { diagnostics, sources }) => {
            return expect_messages(&messages(expected), &diagnostics, &sources);
        }
    };
    expect_messages(&messages(expected), &instance.warnings, modules.sources())?;
    check_program(&instance)?;
    let inputs: Vec<Value> =
        call.args.iter().flat_map(|d| d.leaves().into_iter().cloned()).collect();
    let outputs = run_program(&instance.program, &inputs, Mode::Ieee).map_err(|e| e.to_string())?;
    for (line, directive) in expected {
        match directive {
            Directive::Expect { value, tolerance } => compare(&outputs, value, *tolerance)
                .map_err(|e| format!("{e}, expected in line {line}"))?,
            Directive::Prints(text) => {
                let printed = instance.program.to_string();
                if printed.trim_end() != text.trim_end() {
                    return Err(format!("prints\n{printed}instead of line {line}"));
                }
            }
            Directive::Run(_)
            | Directive::Check(_)
            | Directive::Message(_)
            | Directive::Skip(_) => {}
        }
    }
    Ok(())
}

/// The program is sound, and its text means the same program.
fn check_program(instance: &Instance) -> Result<(), String> {
    let program = &instance.program;
    program.check().map_err(|e| format!("{e}\n{program}"))?;
    reads_back(program)
}

fn compare(outputs: &[Value], expected: &Datum, tolerance: f64) -> Result<(), String> {
    let expected: Vec<Value> = expected.leaves().into_iter().cloned().collect();
    // A relative error as a number of ulps of the largest element.
    let equality = match tolerance {
        0.0 => Equality::Values,
        t => Equality::ScaledUlps((t / f64::EPSILON).ceil() as u64),
    };
    let shown =
        |values: &[Value]| values.iter().map(|v| v.to_string()).collect::<Vec<_>>().join("; ");
    match first_difference(outputs, &expected, equality) {
        None => Ok(()),
        Some(difference) => Err(format!(
            "{difference}\n  got      {}\n  expected {}",
            shown(outputs),
            shown(&expected)
        )),
    }
}

/// The messages are the expected ones, in order.
fn expect_messages(
    expected: &[&Message],
    found: &Diagnostics,
    sources: &SourceMap,
) -> Result<(), String> {
    let shown = || {
        let text =
            cotan_syntax::render::render_all(found, sources, cotan_syntax::render::Style::Plain);
        if text.is_empty() { "no message".to_owned() } else { format!("\n{text}") }
    };
    if expected.len() != found.iter().count() {
        return Err(format!("{} messages expected, found {}", expected.len(), shown()));
    }
    for (want, have) in expected.iter().zip(found.iter()) {
        let position = sources.position(have.primary.span);
        let at = |wanted: Option<usize>, got: Option<usize>| wanted.is_none() || wanted == got;
        let labels = have.secondary.iter().chain([&have.primary]).map(|label| label.text.as_str());
        let words = labels
            .chain([have.message.as_str()])
            .chain(have.notes.iter().chain(&have.hints).map(String::as_str));
        let fits = have.code.to_string() == want.code
            && at(want.line, position.map(|p| p.line as usize))
            && at(want.column, position.map(|p| p.column as usize))
            && words.clone().any(|text| text.contains(&want.words));
        if !fits {
            return Err(format!("{want:?} expected, found {}", shown()));
        }
    }
    Ok(())
}
