//! The programs of the test files and examples: XLA against the reference interpreter. The smaller
//! ones also by the interpreter of StableHLO, and by IREE where it is installed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod common;

use std::path::Path;

use common::{apart, arrays, bulk, derived, text};
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_pipeline::Derivative;
use cotan_syntax::parse_program;
use cotan_testkit::files::test_files;
use cotan_testkit::xla::Server;
use cotan_testkit::{InputKind, Rng, inputs_for, run_program};

/// The programs of a folder that need no sizes, in bulk operations, and those of their gradients.
fn programs(folder: &str) -> Vec<(String, Program)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut found = Vec::new();
    for file in test_files(&path).unwrap() {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let Ok(program) = parse_program(&text) else { continue };
        found.push((name.clone(), bulk(&program).unwrap()));
        if let Ok(gradient) = derived(&program, Derivative::Vjp) {
            found.push((format!("the derivative of {name}"), gradient));
        }
    }
    found
}

fn compare(server: &mut Server, engine: &str, name: &str, program: &Program) -> Result<(), String> {
    let inputs = inputs_for(program, &mut Rng::new(7), InputKind::Generic).unwrap();
    let Ok(expected) = run_program(program, &inputs, Mode::Ieee) else { return Ok(()) };
    let module = match text(program) {
        Err(message) if message.contains("polygamma") => return Ok(()),
        module => module?,
    };
    let found =
        server.run(engine, &module, &arrays(&inputs)).map_err(|e| format!("{name}: {e}"))?;
    let found: Vec<Value> = found.iter().map(Value::from).collect();
    match expected.iter().zip(&found).find_map(|(x, y)| apart(x, y)) {
        Some(difference) => Err(format!("{name}, by {engine}: {difference}\n{module}")),
        None => Ok(()),
    }
}

#[test]
fn files_and_examples_agree() {
    let Some(mut server) = Server::start("files") else { return };
    let mut count = 0;
    let mut wrong = Vec::new();
    for folder in ["tests/files", "tests/regressions", "examples"] {
        for (name, program) in programs(folder) {
            wrong.extend(compare(&mut server, "xla", &name, &program).err());
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {count}\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(count >= 90, "only {count} programs");
}

/// The interpreter that defines StableHLO says the same of programs that it can run in a moment.
#[test]
fn the_reference_interpreter_agrees() {
    let Some(mut server) = Server::start("reference") else { return };
    let mut wrong = Vec::new();
    for (name, program) in programs("tests/files").into_iter().filter(|(_, p)| p.len() < 60) {
        wrong.extend(compare(&mut server, "reference", &name, &program).err());
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n\n"));
}

/// A second compiler reads the same text.
#[test]
fn iree_agrees() {
    let Some(mut server) = Server::start("iree") else { return };
    let mut wrong = Vec::new();
    let small = programs("tests/files").into_iter().filter(|(_, p)| p.len() < 40);
    for (name, program) in small.step_by(4) {
        match compare(&mut server, "iree", &name, &program) {
            Err(message) if message.contains("ModuleNotFoundError") => {
                eprintln!("iree_agrees is skipped: IREE is not installed");
                return;
            }
            outcome => wrong.extend(outcome.err()),
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n\n"));
}
