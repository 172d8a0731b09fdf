//! Runs the test files: first every fault ever found, then one file for each feature and error.

use std::path::Path;

use cotan_syntax::{Builtin, Code, Group, builtins};
use cotan_testkit::files::{Verdict, run_file, test_files};

/// Runs all files of a folder of `tests`; returns how many there are and how many are left out.
fn run_folder(folder: &str, failures: &mut Vec<String>) -> (usize, usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests").join(folder);
    let files = test_files(&path).unwrap_or_default();
    let mut skipped = 0;
    for file in &files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        match run_file(file) {
            Verdict::Passed(_) => {}
            Verdict::Skipped(reason) => {
                println!("{folder}/{name} is left out: {reason}");
                skipped += 1;
            }
            Verdict::Failed(message) => failures.push(format!("{folder}/{name}: {message}")),
        }
    }
    (files.len(), skipped)
}

#[test]
fn all_files_do_what_they_say() {
    let mut failures = Vec::new();
    let (_, skipped_regressions) = run_folder("regressions", &mut failures);
    let (files, skipped) = run_folder("files", &mut failures);
    assert!(failures.is_empty(), "{} files fail\n\n{}", failures.len(), failures.join("\n\n"));
    assert!(files >= 120, "only {files} files");
    assert_eq!(skipped + skipped_regressions, 0, "files are left out");
}

/// The texts of all test files.
fn all_texts() -> String {
    let folder = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests").join(name);
    let files = ["files", "regressions"].map(|name| test_files(&folder(name)).unwrap_or_default());
    files.concat().iter().filter_map(|file| std::fs::read_to_string(file).ok()).collect()
}

#[test]
fn every_message_is_expected_by_some_file() {
    /// Messages that no small file can show.
    const EXCEPTIONS: [(Code, &str); 2] =
        [(Code::FileTooLarge, "needs 4 GiB"), (Code::Internal, "should be impossible")];
    let texts = all_texts();
    let excepted = |code: &&Code| !EXCEPTIONS.iter().any(|(c, _)| c == *code);
    let missing: Vec<String> = Code::ALL
        .iter()
        .filter(excepted)
        .map(Code::to_string)
        .filter(|code| !texts.contains(&format!(": {code}")))
        .collect();
    assert!(missing.is_empty(), "no file expects {missing:?}");
}

#[test]
fn every_builtin_is_used_by_some_file() {
    let texts = all_texts();
    // Scalar operations and functions of the standard library are tested from their tables.
    let tested = builtins().iter().filter(|b| b.group != Group::Scalar && !b.is_standard());
    let used = |builtin: &&Builtin| match builtin.is_constant() {
        true => texts.contains(&format!(" {} ", builtin.name)),
        false => texts.contains(&format!("{}(", builtin.name)),
    };
    let missing: Vec<&str> = tested.filter(|b| !used(b)).map(|b| b.name).collect();
    assert!(missing.is_empty(), "no file uses {missing:?}");
}

#[test]
fn files_that_are_wrong_fail() {
    // Each differs from a right file in one place.
    let wrong = [
        ("value", "# run: f(1.0)\n# expect: 3.0\ndef f(x: f64) = x + x\n"),
        ("type", "# run: f(1.0)\n# expect: 2\ndef f(x: f64) = x + x\n"),
        ("shape", "# run: f(1.0)\n# expect: [2.0]\ndef f(x: f64) = x + x\n"),
        ("count", "# run: f(1.0)\n# expect: (2.0, 2.0)\ndef f(x: f64) = x + x\n"),
        ("text", "# run: f(1.0)\n# prints: def main(x: f64) = x\ndef f(x: f64) = x + x\n"),
        ("code", "# run: f(1.0)\n# error: E0102\ndef f(x: f64) = y\n"),
        ("line", "# run: f(1.0)\n# error: E0101 2\ndef f(x: f64) = y\n"),
        ("column", "# run: f(1.0)\n# error: E0101 3:1\ndef f(x: f64) = y\n"),
        ("words", "# run: f(1.0)\n# error: E0101 3 purple\ndef f(x: f64) = y\n"),
        ("unexpected error", "# run: f(1.0)\n# expect: 1.0\ndef f(x: f64) = y\n"),
        ("missing error", "# run: f(1.0)\n# error: E0101\ndef f(x: f64) = x\n"),
        ("error of loading", "# run: f(1.0)\n# expect: 1.0\ndef f(x: f64) = (x\n"),
        ("no expectation", "# run: f(1.0)\ndef f(x: f64) = x\n"),
        ("no run", "# expect: 1.0\ndef f() = 1.0\n"),
        ("nothing", "def f() = 1.0\n"),
        ("reason", "# skip:\ndef f() = 1.0\n"),
    ];
    let folder = std::env::temp_dir().join(format!("cotan-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in wrong {
        let file = folder.join("wrong.ct");
        std::fs::write(&file, text).unwrap();
        let verdict = run_file(&file);
        assert!(matches!(verdict, Verdict::Failed(_)), "wrong {name}: {verdict:?}");
    }
    std::fs::write(folder.join("right.ct"), "# skip: a reason\n").unwrap();
    assert_eq!(run_file(&folder.join("right.ct")), Verdict::Skipped("a reason".into()));
    std::fs::remove_dir_all(&folder).unwrap();
}
