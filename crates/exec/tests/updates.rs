//! Loops that change parts of their states take time and memory for the parts only: value, gradient,
//! tangent and second derivative of loops of a hundred thousand steps over as many elements.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use cotan_array::{Array, Dtype, Shape};
use cotan_exec::{Executable, RunLimits};
use cotan_ir::Program;
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_syntax::{instantiate, load_text};

const SET: &str =
    "def set(x: [n]f64, i: i64, v: f64) = build n (j => if j == i then v else x[j])\n";

/// What is done, and how.
const PROGRAMS: &[(&str, &str)] = &[
    (
        "one element a step",
        "def f(x: [n]f64) = sum(fold(x, iota(n), (s, i) => set(s, i, sin(s[i - 1]) + s[i])))",
    ),
    (
        "prefix sums, half of them out of range",
        "def f(x: [n]f64) = let y = fold(x, iota(n), (s, i) => set(s, 2 * i, s[2 * i] + s[2 * i - 1] * 0.5)) in sum(y * y)",
    ),
    (
        "the Thomas algorithm",
        "def f(a: [n]f64, b: [n]f64, c: [n]f64, d: [n]f64) =
          let fwd = fold((c, d), iota(n), (s, i) =>
            let m = 1.0 / (b[i] + 4.0 - a[i] * s.0[i - 1])
            in (set(s.0, i, s.0[i] * m), set(s.1, i, (s.1[i] - a[i] * s.1[i - 1]) * m)))
          let x = fold(fwd.1, iota(n), (x, k) => let i = n - 1 - k in set(x, i, x[i] - fwd.0[i] * x[i + 1]))
          in sum(x * x)",
    ),
    (
        "swaps",
        "def f(x: [n]f64) =
          let y = fold(x, iota(n), (s, i) =>
            let j = (7 * i + 3) % n
            in build n (k => if k == i then s[j] else if k == j then s[i] else s[k]))
          in sum(build n (i => sin(y[i]) * to_f64(i)))",
    ),
    (
        "additions at computed places",
        "def f(x: [n]f64) =
          let y = fold(x, (x, iota(n)), (s, (v, i)) =>
            let j = i * i % n
            in build n (k => s[k] + (if k == j then v * s[i] else 0.0)))
          in sum(y * y)",
    ),
    (
        "slices of three",
        "def f(x: [n]f64) =
          let y = fold(x, iota(n), (s, i) =>
            let a = 3 * i % n
            let v = build 3 (j => s[a + j] * s[a + 1])
            in build n (k => if k >= a and k < a + 3 then v[k - a] else s[k]))
          in sum(y)",
    ),
];

fn source(text: &str, sizes: &[(&str, usize)]) -> Program {
    let text = format!("{SET}{text}");
    let modules = load_text("test.ct", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
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

/// The operations and elements written of a plan, by its text: those of a loop in every step.
fn work(kernels: &str) -> usize {
    let mut loops: Vec<(usize, usize)> = Vec::new();
    let mut work = 0;
    for line in kernels.lines() {
        let depth = line.len() - line.trim_start().len();
        let words: Vec<&str> = line.split_whitespace().collect();
        loops.retain(|&(at, _)| at < depth);
        let times: usize = loops.iter().map(|&(_, steps)| steps).product();
        match words[..] {
            ["loop", "of", steps, ..] => loops.push((depth, steps.parse().unwrap())),
            ["kernel", _, operations, ..] => {
                work += times * (1 + operations.parse::<usize>().unwrap())
            }
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
    for (name, text) in PROGRAMS {
        for (what, program) in derivatives(&source(text, &[("n", LOOP)])) {
            let plan = Executable::new(&program).unwrap();
            let arrays = plan.workspace_bytes() / (8 * LOOP);
            assert!(arrays <= 30, "{name}, {what}: {arrays} arrays");
            let kernels = plan.kernels(&program);
            let each = work(&kernels) / LOOP;
            assert!(each <= 600, "{name}, {what}: {each} operations a step\n{kernels}");
            plan.run(&inputs(&program), &RunLimits::default()).unwrap();
        }
    }
}

#[test]
fn values_are_those_of_the_interpreter() {
    for (name, text) in PROGRAMS {
        for (what, program) in derivatives(&source(text, &[("n", 40)])) {
            let arrays = inputs(&program);
            let in_order = Executable::in_order(&program).unwrap();
            common::agrees(&program, &arrays, &in_order);
            let expected = in_order.run(&arrays, &RunLimits::default()).unwrap();
            let usual = Executable::new(&program).unwrap();
            let found = usual.run(&arrays, &RunLimits::default()).unwrap();
            for (x, y) in expected.iter().zip(&found) {
                for (x, y) in x.iter::<f64>().unwrap().zip(y.iter::<f64>().unwrap()) {
                    assert!((x - y).abs() <= 1e-9 * (1.0 + x.abs()), "{name}, {what}: {x} {y}");
                }
            }
        }
    }
}
