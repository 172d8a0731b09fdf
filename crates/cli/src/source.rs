//! Programs from files, from standard input, and from those that come with the command.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use cotan_syntax::{FileLoader, Loader, Modules, load, load_expression};

use crate::args::SourceArgs;
use crate::examples;
use crate::failure::{Failure, Outcome};
use crate::terminal::Terminal;

/// What messages call an expression of the command line. No file is called so.
const EXPRESSION: &str = "the expression";

/// The text of a program, and the name that messages show.
#[derive(Clone)]
pub struct Text {
    pub name: String,
    pub text: String,
}

impl Text {
    /// The program that the command line names.
    pub fn of(args: &SourceArgs) -> Outcome<Text> {
        if let Some(expr) = &args.expr {
            return Ok(Text { name: EXPRESSION.to_owned(), text: expr.clone() });
        }
        match (&args.file, &args.example) {
            (_, Some(name)) => {
                let example = examples::find(name)?;
                let name = format!("{}.ct", example.name);
                Ok(Text { name, text: example.text.to_owned() })
            }
            (Some(path), None) => Text::read(path),
            (None, None) => Err(Failure::usage("name a program, or `--example NAME`")),
        }
    }

    /// A file, or standard input for `-`.
    pub fn read(path: &Path) -> Outcome<Text> {
        let name = path.display().to_string();
        if name == "-" {
            let mut bytes = Vec::new();
            let read = io::stdin().lock().read_to_end(&mut bytes);
            read.map_err(|e| Failure::data(format_args!("cannot read standard input: {e}")))?;
            return Text::decode("standard input", bytes);
        }
        let cannot = |e: io::Error| {
            let failure = Failure::data(format_args!("cannot read `{name}`: {e}"));
            if path.is_dir() {
                failure.hint(format_args!("name the files in it: {}", path.join("*.ct").display()))
            } else if e.kind() == io::ErrorKind::NotFound && examples::find(&name).is_ok() {
                failure
                    .hint(format_args!("for the program that comes with cotan: --example {name}"))
            } else {
                failure
            }
        };
        Text::decode(&name, fs::read(path).map_err(cannot)?)
    }

    fn decode(name: &str, bytes: Vec<u8>) -> Outcome<Text> {
        let text = String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            let failure =
                Failure::data(format_args!("`{name}` is not text: byte {at} is not UTF-8"));
            if name.ends_with(".npy") || name.ends_with(".npz") {
                failure.hint("arrays are given with --arg NAME=@FILE.npy or --npz FILE.npz")
            } else {
                failure
            }
        })?;
        Ok(Text { name: name.to_owned(), text })
    }

    /// The text as a file: an expression is the body of `main`.
    pub fn as_file(&self, terminal: &Terminal) -> Outcome<Text> {
        if self.name == EXPRESSION {
            self.clone().load(terminal)?;
            return Ok(Text { text: format!("def main() = {}\n", self.text), ..self.clone() });
        }
        Ok(self.clone())
    }

    /// Loads the program and what it imports.
    pub fn load(self, terminal: &Terminal) -> Outcome<Modules> {
        if self.name == EXPRESSION {
            return load_expression(EXPRESSION, &self.text)
                .map_err(|messages| terminal.program_failure(&messages));
        }
        let name = self.name.clone();
        load(&name, &WithEntry(self)).map_err(|messages| terminal.program_failure(&messages))
    }
}

/// The file system, with the entry file read already: it may be a pipe, which is read once only.
struct WithEntry(Text);

impl Loader for WithEntry {
    fn resolve(&self, from: Option<&str>, path: &str) -> String {
        match from {
            None => path.to_owned(),
            Some(from) => FileLoader.resolve(Some(from), path),
        }
    }

    fn read(&self, file: &str) -> Result<String, String> {
        if file == self.0.name { Ok(self.0.text.clone()) } else { FileLoader.read(file) }
    }
}
