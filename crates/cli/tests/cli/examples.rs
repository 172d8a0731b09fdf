//! The programs that come with the command: formatted, right, and the same in bulk operations.

use super::promised::{alike, promised};
use super::session::{Session, examples};

/// The examples: name, text, and the result that the lines `#>` promise.
fn all() -> Vec<(String, String, String)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(examples()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ct") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let promised = promised(&text);
        all.push((path.file_stem().unwrap().to_str().unwrap().to_owned(), text, promised));
    }
    assert!(all.len() >= 8);
    all
}

#[test]
fn results_are_the_promised_ones() {
    let session = Session::new();
    for (name, _, promised) in all() {
        session.cotan(&format!("run --backend interp --example {name}")).gives(&promised);
        let ran = session.cotan(&format!("run --example {name}")).succeeds();
        assert!(alike(&ran.out, &promised), "{name}: {}", ran.out);
    }
}

#[test]
fn bulk_operations_give_the_same_results() {
    let session = Session::new();
    for (name, _, promised) in all() {
        session.cotan(&format!("run --bulk --example {name}")).gives(&promised);
    }
}

#[test]
fn each_is_formatted_and_without_errors() {
    let session = Session::new();
    for (name, text, _) in all() {
        session.cotan_with(&["fmt", "--check", "-"], &text, &[]).gives("");
        let ran = session.cotan_with(&["check", "-"], &text, &[]).succeeds();
        assert_eq!(ran.out, "standard input: no errors\n");
        // Some need arrays with elements, and say so in notes.
        assert!(!ran.err.contains("warning["), "{}", ran.err);
        session.cotan(&format!("examples {name}")).gives(&text);
    }
}

#[test]
fn stages_are_programs_with_the_same_result() {
    let session = Session::new();
    for (name, _, promised) in all() {
        for stage in ["source", "core", "bot"] {
            let program = session.cotan(&format!("explain --example {name} --stage {stage}"));
            let program = program.succeeds().out;
            let ran = session.cotan_with(&["run", "-"], &program, &[]).succeeds();
            assert!(alike(&ran.out, &promised), "{name}, {stage}: {}", ran.out);
        }
    }
}

#[test]
fn the_list_names_them() {
    let session = Session::new();
    let list = session.cotan("examples").succeeds().out;
    for (name, text, _) in all() {
        let title = text.lines().next().unwrap().trim_start_matches("# ");
        assert!(
            list.lines().any(|line| line.starts_with(&name) && line.ends_with(title)),
            "{name}"
        );
    }
    session.cotan("examples nope").fails(2, &["no example `nope`", "the examples are dot, "]);
    session.cotan("run --example nope").fails(2, &["no example `nope`"]);
    session.cotan("run dot").fails(3, &["cannot read `dot`", "--example dot"]);
    session.cotan("run dot.ct --example dot").fails(2, &["cannot be used with"]);
}
