//! The programs of the test files and examples: XLA against the reference interpreter. The smaller
//! ones also by the interpreter of StableHLO, and by IREE where it is installed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod common;

use std::path::Path;

use common::{apart, arrays, text};
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_pipeline::Derivative;
use cotan_syntax::parse_program;
use cotan_testkit::files::test_files;
use cotan_testkit::xla::Server;
use cotan_testkit::{InputKind, Rng, bulk, derived, inputs_for, run_program};

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
        Err(message) if message.contains("StableHLO has no operation for") => return Ok(()),
        module => module?,
    };
    let found =
        server.run(engine, &module, &arrays(&inputs)).map_err(|e| format!("{name}: {e}"))?;
    let found: Vec<Value> = found.iter().map(Value::from).collect();
    match expected.iter().zip(&found).find_map(|(x, y)| apart(program, x, y)) {
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

/// Where a zero of a gradient meets an infinity in a matrix product the product is 0, at the top of a
/// program and in the steps of a loop.
#[test]
fn zeros_annihilate_infinities() {
    let Some(mut server) = Server::start("infinities") else { return };
    for text in [
        "def main(c: [6, 6]f64, a: [6, 6]f64, b: [6, 6]f64) = sum(c * matmul(a, b))",
        "def main(c: [6, 6]f64, a: [6, 6]f64, b: [6, 6]f64) =
          sum(fold(a, (), (s, _) => matmul(s * c, b), length = 6))",
    ] {
        let program = parse_program(text).unwrap_or_else(|_| panic!("{text} does not parse"));
        let program = derived(&program, Derivative::ValueAndGrad).unwrap();
        let infinite = |n: usize| if n % 7 == 3 { f64::INFINITY } else { n as f64 };
        let patterns: [&dyn Fn(usize) -> f64; 3] = [&|_| 0.0, &|n| n as f64 - 9.0, &infinite];
        let inputs: Vec<Value> = patterns
            .iter()
            .map(|pattern| {
                let shape = cotan_array::Shape::new("test", &[6, 6]).unwrap();
                let elements = (0..36).map(pattern).collect();
                Value::from(&cotan_array::Array::from_vec(shape, elements).unwrap())
            })
            .collect();
        let expected = run_program(&program, &inputs, Mode::Ieee).unwrap();
        let module = common::text(&program).unwrap();
        assert!(module.contains("dot_general") && module.contains("stablehlo.if"), "{module}");
        let found = server.run("xla", &module, &arrays(&inputs)).unwrap();
        for (x, y) in expected.iter().zip(&found) {
            assert_eq!(apart(&program, x, &Value::from(y)), None, "{program}\n{module}");
        }
    }
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
