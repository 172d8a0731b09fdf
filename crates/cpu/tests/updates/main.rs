//! Loops that change parts of their states take time and memory for the parts only: value, gradient,
//! tangent and second derivative of loops of a hundred thousand steps over as many elements.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

#[path = "../common/mod.rs"]
mod common;
mod programs;
mod random;

use cotan_array::{Array, Dtype, Shape};
use cotan_cpu::{Executable, RunLimits};
use cotan_ir::Program;
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_syntax::{instantiate, load_text};
use programs::{PROGRAMS, VALUES};

fn source(text: &str, sizes: &[(&str, usize)]) -> Program {
    let modules = load_text("test.ct", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let made = instantiate(&modules, "f", &[], sizes, &Default::default());
    made.unwrap_or_else(|e| panic!("{e}\n{text}")).program
}

fn optimised(program: &Program) -> Program {
    Pipeline::new(&[Pass::BULK, Pass::OPTIMISE]).run(program).unwrap()
}

/// What is compared: the value, its gradient, a tangent, and a Hessian times a vector.
fn derivatives(program: &Program) -> Vec<(&'static str, Program)> {
    let derived = |d| derive(program, d, None).unwrap();
    vec![
        ("value", optimised(program)),
        ("gradient", optimised(&derived(Derivative::ValueAndGrad))),
        ("tangent", optimised(&derived(Derivative::Jvp))),
        ("Hessian times vector", optimised(&derived(Derivative::Hvp))),
    ]
}

fn inputs(program: &Program) -> Vec<Array> {
    let number = |n: usize, k: usize| ((n * 7 + k * 3) % 11) as f64 / 16.0 + 0.25;
    let of = |(k, input): (usize, &cotan_ir::Input)| {
        assert_eq!(input.ty.dtype, Dtype::F64);
        let numbers = (0..input.ty.shape.numel()).map(|n| number(n, k)).collect();
        Array::from_vec(Shape::new("test", input.ty.shape.dims()).unwrap(), numbers).unwrap()
    };
    program.inputs().iter().enumerate().map(of).collect()
}

/// The steps of a loop in the text of a plan. One without a limit has the steps of the program, or
/// it is over blocks of these: then there is one.
fn steps_of(line: &str, contains: &str) -> Option<usize> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["loop", "of", steps, ..] | ["while", _, "at", "most", steps, ..] => steps.parse().ok(),
        ["while", ..] => Some(if contains.contains("while ") { 1 } else { LOOP }),
        _ => None,
    }
}

/// The lines after one that are further to the right, or go on with it.
fn inside<'t>(kernels: &'t str, line: &str) -> &'t str {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let start = line.as_ptr() as usize - kernels.as_ptr() as usize + line.len();
    let rest = &kernels[start..];
    let mut end = 0;
    for next in rest.split_inclusive('\n').skip(1) {
        if depth(next) <= depth(line) && next.trim() != "do:" {
            break;
        }
        end += next.len();
    }
    &rest[..(1 + end).min(rest.len())]
}

/// The operations and elements written of a plan, by its text: those of a loop in every step.
fn work(kernels: &str) -> usize {
    let mut loops: Vec<(usize, usize)> = Vec::new();
    let mut work = 0;
    for line in kernels.lines() {
        let depth = line.len() - line.trim_start().len();
        let words: Vec<&str> = line.split_whitespace().collect();
        let goes_on = words == ["do:"];
        loops.retain(|&(at, _)| at < depth || goes_on && at == depth);
        let times: usize = loops.iter().map(|&(_, steps)| steps).product();
        if let Some(steps) = steps_of(line, inside(kernels, line)) {
            loops.push((depth, steps));
        }
        match words[..] {
            ["kernel", _, operations, ..] => {
                work += times * (1 + operations.parse::<usize>().unwrap())
            }
            // Copies and zeros; what a loop begins with is copied once.
            [_, "begins", .., elements, "elements"] => {
                let own = loops.last().map_or(1, |&(_, steps)| steps);
                work += times / own * elements.parse::<usize>().unwrap();
            }
            [.., elements, "elements"] => work += times * elements.parse::<usize>().unwrap(),
            ["for", _, "<", k] | ["sum", "over", _, "<", k] => {
                work += times * k.parse::<usize>().unwrap();
            }
            _ => {}
        }
    }
    work
}

/// The steps of a loop, and the elements of its state.
const LOOP: usize = 100_000;

#[test]
fn memory_and_work_are_linear() {
    let all = PROGRAMS.iter().map(|row| (row, true)).chain(VALUES.iter().map(|row| (row, false)));
    for ((name, cells, text), with_derivatives) in all {
        let program = source(text, &[("n", LOOP)]);
        let programs = match with_derivatives {
            true => derivatives(&program),
            false => vec![("value", optimised(&program))],
        };
        for (what, program) in programs {
            let plan = Executable::new(&program).unwrap();
            let arrays = plan.workspace_bytes() / (8 * LOOP * cells);
            assert!(arrays <= 30, "{name}, {what}: {arrays} arrays");
            let kernels = plan.kernels(&program);
            let each = work(&kernels) / (LOOP * cells);
            assert!(each <= 800, "{name}, {what}: {each} operations an element\n{kernels}");
            plan.run(&inputs(&program), &RunLimits::default()).unwrap();
        }
    }
}

/// Compares what a plan gives with the interpreter, to the last bit if it keeps the order of
/// everything, else as nearly as rounding allows.
fn compare(name: &str, program: &Program, tolerance: f64) {
    let arrays = inputs(program);
    let in_order = Executable::in_order(program).unwrap();
    common::agrees(program, &arrays, &in_order);
    let expected = in_order.run(&arrays, &RunLimits::default()).unwrap();
    let usual = Executable::new(program).unwrap();
    let found = usual.run(&arrays, &RunLimits::default()).unwrap();
    for (x, y) in expected.iter().zip(&found) {
        for (x, y) in x.iter::<f64>().unwrap().zip(y.iter::<f64>().unwrap()) {
            let near = (x - y).abs() <= tolerance * (1.0 + x.abs());
            assert!(near || !x.is_finite() && !y.is_finite(), "{name}: {x} {y}\n{program}");
        }
    }
}

#[test]
fn values_are_those_of_the_interpreter() {
    for (name, _, text) in PROGRAMS.iter().chain(VALUES) {
        for (what, program) in derivatives(&source(text, &[("n", 40)])) {
            compare(&format!("{name}, {what}"), &program, 1e-9);
        }
    }
}
