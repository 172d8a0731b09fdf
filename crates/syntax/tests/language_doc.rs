//! `docs/language.md` and `docs/from-futhark.md` are true: their examples run, their messages are those
//! shown, the table of builtin functions is the table; `docs/errors.md` has all error codes.
//!
//! * A ```` ```ct ```` block is a file. It must pass the checker, and every `#> expression` in it must
//!   have the value on the `#=` line below.
//! * ```` ```ct file=name ```` can be imported by the blocks after it.
//! * ```` ```ct check ```` passes, but not for all sizes; the ```` ```text ```` block after it is what
//!   is said.
//! * ```` ```ct error ```` must not pass; the ```` ```text ```` block after it is what is said.
//! * Between `<!-- builtins -->` and `<!-- /builtins -->` stands what the table of builtins gives.
//!
//! With `UPDATE_DOCS=1` in the environment the values, messages and table are written anew.
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::evaluate::{value, value_with};
use cotan_syntax::{Code, Failure, Group, MemoryLoader, Severity, builtins, check, load};

/// Compares a document with what it should be, or writes it.
fn agrees(name: &str, made: impl Fn(&str) -> String) {
    let path = format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let expected = made(&text);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &expected).expect("the document is written");
        return;
    }
    for (number, (is, should)) in text.lines().zip(expected.lines()).enumerate() {
        assert_eq!(is, should, "line {} of docs/{name}", number + 1);
    }
    assert_eq!(text, expected, "docs/{name}");
}

#[test]
fn the_language_document_is_true() {
    agrees("language.md", rewritten);
}

#[test]
fn the_document_for_futhark_is_true() {
    agrees("from-futhark.md", rewritten);
}

#[test]
fn the_index_of_errors_is_complete() {
    agrees("errors.md", |_| {
        let mut out = String::from(
            "# Error codes\n\nEvery message of the checker has a code, which never changes its meaning. \
             `cotan error E0204` shows what is below for one of them. This page is made by a test, \
             `UPDATE_DOCS=1 cargo test -p cotan-syntax --test language_doc`.\n",
        );
        for code in Code::ALL {
            let title = code.title().trim_end_matches('.');
            out += &format!("\n## {code}: {title}\n\n{}", code.explanation());
        }
        out
    });
}

/// The document with everything that can be computed computed.
fn rewritten(text: &str) -> String {
    let mut files = MemoryLoader::new();
    let mut out: Vec<String> = Vec::new();
    let mut lines = text.lines();
    let mut message: Option<String> = None;
    while let Some(line) = lines.next() {
        out.push(line.to_owned());
        if line == "<!-- builtins -->" {
            lines.by_ref().find(|line| *line == "<!-- /builtins -->").expect("an end of the table");
            out.extend(builtin_table());
            out.push("<!-- /builtins -->".to_owned());
        }
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match info {
            "ct" => out.extend(example(&block, &files)),
            "ct error" | "ct check" => {
                let failure = checked(&block.join("\n"), &files);
                let (errors, wanted) = (failure.diagnostics.has_errors(), info == "ct error");
                assert!(errors == wanted, "{}\n{failure}", block.join("\n"));
                message = Some(failure.to_string());
                out.extend(block.iter().map(|line| (*line).to_owned()));
            }
            "text" => out.push(message.take().expect("a message before this block")),
            _ => {
                let name = info
                    .strip_prefix("ct file=")
                    .unwrap_or_else(|| panic!("what is a {info} block?"));
                files = files.with(name, block.join("\n"));
                out.extend(example(&block, &files));
            }
        }
        out.push("```".to_owned());
    }
    out.join("\n") + "\n"
}

/// What is said about a text.
fn checked(text: &str, files: &MemoryLoader) -> Failure {
    match load("example.ct", &files.clone().with("example.ct", text)) {
        Ok(modules) => {
            let diagnostics = check(&modules, &Default::default());
            Failure { diagnostics, sources: modules.sources().clone() }
        }
        Err(failure) => failure,
    }
}

/// A block with the values of its expressions.
fn example(block: &[&str], files: &MemoryLoader) -> Vec<String> {
    let text = block.join("\n");
    let said = checked(&text, files);
    let passes = said.diagnostics.iter().all(|d| d.severity() == Severity::Note);
    assert!(passes, "{text}\n{said}");
    let mut out = Vec::new();
    for line in block.iter().filter(|line| !line.starts_with("#=")) {
        out.push((*line).to_owned());
        if let Some(expr) = line.strip_prefix("#> ") {
            let shown = value_with(&text, expr, files.clone());
            assert!(!shown.contains('\n'), "{expr}\n{shown}");
            out.push(format!("#= {shown}"));
        }
    }
    out
}

fn builtin_table() -> Vec<String> {
    let mut lines = Vec::new();
    let mut group = None;
    for builtin in builtins() {
        if group != Some(builtin.group) {
            group = Some(builtin.group);
            let title = match builtin.group {
                Group::Making => "Making arrays",
                Group::Sizes => "Sizes",
                Group::Arranging => "Rearranging",
                Group::Reducing => "Reductions",
                Group::Sorting => "Searching and sorting",
                Group::Linear => "Linear algebra",
                Group::Fourier => "Fourier transforms",
                Group::Loops => "Loops",
                Group::Solvers => "Equations, differential equations and integrals",
                Group::Derivatives => "Derivatives",
                Group::Elementwise => "Conversions and small formulas",
                Group::Neural => "Neural networks",
                Group::Losses => "Losses",
                Group::Core => "The core language",
                Group::Scalar => "Scalar operations, elementwise on arrays",
            };
            let head = match builtin.group {
                Group::Scalar => ["| function | |", "|---|---|"],
                _ => ["| function | | example | value |", "|---|---|---|---|"],
            };
            lines.push(format!("\n### {title}\n"));
            lines.extend(head.map(str::to_owned));
        }
        let (signature, doc, example) = (&builtin.signature, &builtin.doc, builtin.example);
        lines.push(match builtin.group {
            Group::Scalar => format!("| `{signature}` | {doc} |"),
            _ => format!("| `{signature}` | {doc} | `{example}` | `{}` |", value("", example)),
        });
    }
    lines.push(String::new());
    lines.join("\n").split('\n').map(str::to_owned).collect()
}
