//! Programs from files, from standard input, and from those that come with the command.

use std::cell::Cell;
use std::io;
use std::path::Path;

use cotan_syntax::{FileLoader, Loader, Modules, load, load_expression, read_text};

use crate::args::{ImportArgs, SourceArgs};
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

    /// A regular file, or standard input for `-`.
    pub fn read(path: &Path) -> Outcome<Text> {
        let name = path.display().to_string();
        if name == "-" {
            let name = "standard input".to_owned();
            let text = read_text(io::stdin().lock()).map_err(|e| cannot_read(&name, &e))?;
            return Ok(Text { name, text });
        }
        let read = cotan_array::open_file(path).and_then(read_text);
        let text = read.map_err(|e| {
            let failure = cannot_read(&format!("`{name}`"), &e);
            if path.is_dir() {
                failure.hint(format_args!("name the files in it: {}", path.join("*.ct").display()))
            } else if path.exists() && !path.is_file() {
                failure.hint("read from a pipe with `-`: cotan check - < FILE")
            } else if e.kind() == io::ErrorKind::NotFound && examples::find(&name).is_ok() {
                failure
                    .hint(format_args!("for the program that comes with cotan: --example {name}"))
            } else if name.ends_with(".npy") || name.ends_with(".npz") {
                failure.hint("arrays are given with --arg NAME=@FILE.npy or --npz FILE.npz")
            } else {
                failure
            }
        })?;
        Ok(Text { name, text })
    }

    fn load_expression(&self, terminal: &Terminal) -> Outcome<Modules> {
        load_expression(EXPRESSION, &self.text)
            .map_err(|messages| terminal.program_failure(&messages))
    }

    /// The text as a file: an expression is the body of `main`.
    pub fn as_file(&self, terminal: &Terminal) -> Outcome<Text> {
        if self.name == EXPRESSION {
            self.load_expression(terminal)?;
            return Ok(Text { text: format!("def main() = {}\n", self.text), ..self.clone() });
        }
        Ok(self.clone())
    }

    /// Loads the program and what it imports.
    pub fn load(self, imports: &ImportArgs, terminal: &Terminal) -> Outcome<Modules> {
        if self.name == EXPRESSION {
            return self.load_expression(terminal);
        }
        let mut files = FileLoader::new(&self.name);
        for folder in &imports.allow_imports {
            files = files.allow(folder).map_err(|e| {
                Failure::data(format_args!("--allow-imports {}: {e}", folder.display()))
            })?;
        }
        for folder in &imports.include {
            files = files
                .include(folder)
                .map_err(|e| Failure::data(format_args!("--include {}: {e}", folder.display())))?;
        }
        files = with_path(files)?;
        let name = self.name.clone();
        let loader = WithEntry { name: self.name, text: Cell::new(self.text), files };
        load(&name, &loader).map_err(|messages| match cotan_ir::look("load") {
            Ok(()) => terminal.program_failure(&messages),
            Err(_) => Failure::limit(
                "error: reading the program took longer than the time limit\n  hint: raise it with --timeout",
            ),
        })
    }
}

/// With the folders that the environment names. Those that are not there are none of a program's
/// business.
pub fn with_path(mut files: FileLoader) -> Outcome<FileLoader> {
    let path = std::env::var_os("COTAN_PATH").unwrap_or_default();
    for folder in std::env::split_paths(&path).filter(|folder| folder.is_dir()) {
        files = files
            .include(&folder)
            .map_err(|e| Failure::data(format_args!("COTAN_PATH, {}: {e}", folder.display())))?;
    }
    Ok(files)
}

fn cannot_read(what: &str, error: &io::Error) -> Failure {
    Failure::data(format_args!("cannot read {what}: {error}"))
}

/// The file system, with the entry file read already: it may be standard input.
struct WithEntry {
    name: String,
    /// Handed on once: a long text is in memory once.
    text: Cell<String>,
    files: FileLoader,
}

impl Loader for WithEntry {
    fn resolve(&self, from: Option<&str>, path: &str) -> String {
        match from {
            None => path.to_owned(),
            Some(from) => self.files.resolve(Some(from), path),
        }
    }

    fn read(&self, file: &str) -> Result<String, String> {
        if file == self.name {
            return Ok(self.text.take());
        }
        self.files.read(file)
    }

    fn hint(&self, file: &str) -> &str {
        match Path::new(file).exists() && !self.files.allows(file) {
            true => "`--allow-imports DIR` allows imports from another folder",
            false => self.files.hint(file),
        }
    }
}
