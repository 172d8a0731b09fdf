//! The programs of the modules: formatted, without errors, and with the results that they promise.

use std::path::PathBuf;
use std::process::Command;

use crate::promised::{alike, promised};

fn programs() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/gradbench");
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    assert_eq!(all.len(), 13);
    all
}

fn cotan(command: &str, options: &[&str], path: &PathBuf) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_cotan"))
        .arg(command)
        .args(options)
        .arg(path)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    assert!(output.status.success(), "{}: {}", path.display(), text(output.stderr));
    text(output.stdout)
}

#[test]
fn programs_are_formatted_and_without_errors() {
    for path in programs() {
        cotan("fmt", &["--check"], &path);
        cotan("check", &[], &path);
    }
}

#[test]
fn results_are_the_promised_ones() {
    for path in programs() {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# "), "{} says what it is", path.display());
        let promised = promised(&text);
        assert_eq!(cotan("run", &["--backend", "interp"], &path), promised, "{}", path.display());
        let found = cotan("run", &[], &path);
        assert!(alike(&found, &promised), "{}: {found}", path.display());
    }
}
