//! Results: shown to people, or written to files.

use std::fmt::Write;
use std::path::Path;

use cotan_array::{Array, file_destination, npy, npz};
use cotan_interp::Run;
use cotan_ir::Type;
use cotan_syntax::TypeTree;

use crate::failure::{Failure, Outcome};
use crate::terminal::Terminal;

/// Above this many elements a result is shown by its statistics and its edges.
const LARGE: usize = 1000;

/// A result by name: its path, or empty when the function gives a single array.
pub type Named = (String, Array);

/// The names of the arrays of a result: `w`, `b.0`; nothing for a single array.
pub fn names(result: &TypeTree) -> Vec<String> {
    result.leaves("").into_iter().map(|(name, _)| name).collect()
}

/// What the interpreter gave, as arrays.
pub fn arrays(run: &Run) -> Outcome<Vec<Array>> {
    run.outputs.iter().map(|value| value.to_array().map_err(Failure::internal)).collect()
}

/// Results under their names.
pub fn named(names: Vec<String>, outputs: Vec<Array>) -> Vec<Named> {
    names.into_iter().zip(outputs).collect()
}

/// Writes results where they should go, or shows them.
pub fn deliver(
    results: &[Named],
    destination: Option<Destination<'_>>,
    terminal: &Terminal,
) -> Outcome {
    match destination {
        Some(destination) => destination.write(results),
        None => Ok(terminal.write(&show(results))?),
    }
}

/// The results as text: a single one by itself, several with their names and types.
pub fn show(results: &[Named]) -> String {
    let mut text = String::new();
    for (name, array) in results {
        let mut shown = array.to_string();
        if array.numel() > LARGE {
            shown = format!("# {}\n{shown}", array.summary());
        }
        let _ = match name.as_str() {
            "" => writeln!(text, "{shown}"),
            name if shown.contains('\n') => {
                writeln!(text, "{name}: {} =\n{shown}", Type::of(array))
            }
            name => writeln!(text, "{name}: {} = {shown}", Type::of(array)),
        };
    }
    if results.is_empty() {
        text += "()\n";
    }
    text
}

/// How results are written to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Npy,
    Npz,
}

/// Where to write results, checked before anything runs.
pub struct Destination<'p> {
    path: &'p Path,
    format: Format,
}

impl<'p> Destination<'p> {
    /// The file that the command line names, for a function with this many results.
    pub fn new(path: &'p Path, results: usize) -> Outcome<Destination<'p>> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let format = match extension {
            Some("npz") => Format::Npz,
            Some("npy") if results == 1 => Format::Npy,
            Some("npy") => {
                return Err(Failure::usage(format_args!(
                    "a .npy file holds one array, and there are {results} results"
                ))
                .hint(format_args!("--out {}", path.with_extension("npz").display())));
            }
            Some(_) | None => {
                return Err(Failure::usage(format_args!(
                    "`{}` is neither a .npz nor a .npy file",
                    path.display()
                )));
            }
        };
        match path.parent() {
            Some(folder) if folder != Path::new("") && !folder.is_dir() => Err(Failure::data(
                format_args!("there is no folder `{}` for --out", folder.display()),
            )),
            _ => match file_destination(path) {
                Ok(_) => Ok(Destination { path, format }),
                Err(e) => Err(Failure::data(format_args!("--out {}: {e}", path.display()))),
            },
        }
    }

    /// Writes the results, whole or not at all. Those without a name are `result`, `result.0`, ...
    pub fn write(&self, results: &[Named]) -> Outcome {
        match (self.format, results) {
            (Format::Npy, [(_, array)]) => npy::write_file(self.path, array).map_err(Failure::data),
            (Format::Npy | Format::Npz, results) => {
                npz::write_file(self.path, &members(results)).map_err(Failure::data)
            }
        }
    }
}

fn members(results: &[Named]) -> Vec<Named> {
    let member = |(name, array): &Named| {
        let name = match name.as_str() {
            "" => "result".to_owned(),
            name if name.starts_with(|c: char| c.is_ascii_digit()) => format!("result.{name}"),
            name => name.to_owned(),
        };
        (name, array.clone())
    };
    results.iter().map(member).collect()
}
