//! The programs of the test files and examples, and their gradients, as C; and sums of products.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::path::Path;

use common::{Case, has, run};
use cotan_array::{Array, Dtype, Shape};
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_nest::Step;
use cotan_pipeline::{Derivative, Pass, Pipeline};
use cotan_syntax::parse_program;
use cotan_testkit::files::test_files;
use cotan_testkit::{
    Equality, InputKind, Rng, bulk, derived, first_difference, inputs_for, run_program,
};

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

#[test]
fn files_and_examples_agree() {
    if !has("gcc") {
        return;
    }
    let (mut cases, mut expected, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for folder in ["tests/files", "tests/regressions", "examples"] {
        for (name, program) in programs(folder) {
            let inputs = inputs_for(&program, &mut Rng::new(7), InputKind::Generic).unwrap();
            let Ok(results) = run_program(&program, &inputs, Mode::Ieee) else { continue };
            let Ok(plan) = cotan_c::plan(&program, true) else { continue };
            cases.push(Case { program, plan, in_order: true, inputs: vec![inputs] });
            expected.push(results);
            names.push(name);
        }
    }
    assert!(cases.len() >= 80, "only {} programs", cases.len());
    for ((cases, expected), names) in
        cases.chunks(40).zip(expected.chunks(40)).zip(names.chunks(40))
    {
        let found = run(cases, "gcc", &["-O1"]).unwrap();
        for ((name, expected), found) in names.iter().zip(expected).zip(&found) {
            let difference = first_difference(expected, &found[0], Equality::Bits);
            assert!(difference.is_none(), "{name}: {}", difference.unwrap());
        }
    }
}

/// Small integers, so that sums are exact in any order.
fn integers(dims: &[usize], dtype: Dtype) -> Value {
    let shape = Shape::new("test", dims).unwrap();
    let number = |k: usize| f64::from((k * 7 % 11) as i32 - 4);
    let numel = shape.numel();
    let array = match dtype {
        Dtype::F32 => Array::from_vec(shape, (0..numel).map(|k| number(k) as f32).collect()),
        _ => Array::from_vec(shape, (0..numel).map(number).collect()),
    };
    Value::from(&array.unwrap())
}

/// Products of many shapes: whole tiles and rests, blocks of the depth, transposed and batched ones,
/// convolutions with borders, factors, and gradients, in both precisions.
#[test]
fn sums_of_products_are_tiled_and_right() {
    if !has("gcc") {
        return;
    }
    let texts = [
        "def main(a: [7, 9]T, b: [9, 5]T) = matmul(a, b)",
        "def main(a: [12, 300]T, b: [300, 33]T) = matmul(a, b)",
        "def main(a: [24, 16]T, b: [32, 16]T) = build (24, 32) ((i, j) => sum(build 16 (k => a[i, k] * b[j, k])))",
        "def main(a: [20, 13]T, b: [20, 17]T) = build (17, 13) ((i, j) => sum(build 20 (k => a[k, j] * b[k, i])))",
        "def main(a: [3, 8, 20]T, b: [3, 20, 24]T) = build 3 (n => matmul(a[n], b[n]))",
        "def main(x: [6, 4, 9, 9]T, w: [8, 4, 3, 3]T) = build (6, 8, 9, 9) ((n, o, i, j) => sum(build (4, 3, 3) ((c, u, v) => x[n, c, i + u - 1, j + v - 1] * w[o, c, u, v])))",
        "def main(a: [10, 40]T, b: [40, 20]T, c: [10, 20]T) = build (10, 20) ((i, j) => 0.5 * c[i, j] * sum(build 40 (k => a[i, k] * b[k, j])))",
    ];
    let (mut cases, mut expected, mut tiled) = (Vec::new(), Vec::new(), 0);
    for text in texts {
        for (name, dtype) in [("f64", Dtype::F64), ("f32", Dtype::F32)] {
            let source = parse_program(&text.replace('T', name)).unwrap();
            let optimise =
                |p: &Program| Pipeline::new(&[Pass::BULK, Pass::OPTIMISE]).run(p).unwrap();
            let gradient = derived(&source, Derivative::Vjp).unwrap();
            for program in [optimise(&source), optimise(&gradient)] {
                let inputs: Vec<Value> = program
                    .inputs()
                    .iter()
                    .map(|input| integers(input.ty.shape.dims(), dtype))
                    .collect();
                expected.push(run_program(&program, &inputs, Mode::Ieee).unwrap());
                let plan = cotan_c::plan(&program, false).unwrap();
                tiled += plan.steps.iter().filter(|s| matches!(s, Step::Contract(_))).count();
                cases.push(Case { program, plan, in_order: false, inputs: vec![inputs] });
            }
        }
    }
    assert!(tiled >= 30, "only {tiled} contractions");
    for flags in [&["-O2", "-march=native"][..], &["-O1", "-fsanitize=address,undefined"]] {
        let found = run(&cases, "gcc", flags).unwrap();
        for ((case, expected), found) in cases.iter().zip(&expected).zip(&found) {
            let difference = first_difference(expected, &found[0], Equality::Values);
            assert!(difference.is_none(), "{}\nof\n{}", difference.unwrap(), case.program);
        }
    }
}
