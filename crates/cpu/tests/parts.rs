//! Results that are a part of a larger array: a concatenation, a stack, a column. Whatever computes
//! them, for blocks, by chunks of threads, as products of matrices or step by step, the rest of the
//! array is left as it is. Memory is full of NaN and of large numbers before each run.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use common::{gives, interpreted, size};
use cotan_array::{Array, Dtype, Shape};
use cotan_cpu::{Engine, Executable, RunLimits, Unsupported};
use cotan_interp::Value;
use cotan_ir::Program;
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_syntax::{instantiate, load_text};
use cotan_testkit::{Equality, first_difference};

/// The definition `main` of a text without size parameters.
fn source(text: &str) -> Program {
    let modules = load_text("test.ct", text).unwrap();
    instantiate(&modules, "main", &[], &[], &Default::default()).unwrap().program
}

/// A program as it is run.
fn planned(program: &Program) -> Program {
    Pipeline::new(&[Pass::BULK, Pass::OPTIMISE]).run(program).unwrap()
}

/// Small integers for the inputs of a program, positions of `bins` for those of integers.
fn inputs(program: &Program, bins: i64) -> Vec<Array> {
    let input = |shape: &Shape, dtype: Dtype| {
        let numbers = (0..shape.numel() as i64).map(|k| k * 7 % 11 - 4);
        let shape = shape.clone();
        match dtype {
            Dtype::I64 => Array::from_vec(shape, numbers.map(|k| (k + 4) % bins).collect()),
            Dtype::F32 => Array::from_vec(shape, numbers.map(|k| k as f32).collect()),
            _ => Array::from_vec(shape, numbers.map(|k| k as f64).collect()),
        }
    };
    let ty = |i: &cotan_ir::Input| input(&i.ty.shape, i.ty.dtype).unwrap();
    program.inputs().iter().map(ty).collect()
}

type Plan = fn(&Program) -> Result<Executable, Unsupported>;

/// Every plan of a program gives what the interpreter does. In the order of the machine the sign of a
/// zero may be another: 0 times -1 is -0 where `scale(0, -1)` has become a product.
fn check(program: &Program) {
    let program = planned(program);
    let inputs = inputs(&program, 13);
    let plans: [(Plan, Equality); 5] = [
        (|p| Executable::planned(p, false, Engine::Native), Equality::Values),
        (|p| Executable::planned(p, false, Engine::Machine), Equality::Values),
        (|p| Executable::in_tiny_blocks(p, false, Engine::Native), Equality::Values),
        (|p| Executable::in_tiny_blocks(p, false, Engine::Machine), Equality::Values),
        (|p| Executable::in_tiny_blocks(p, true, Engine::Native), Equality::Bits),
    ];
    let expected = interpreted(&program, &inputs);
    for (plan, equality) in plans {
        gives(&program, &inputs, (&expected, equality), &plan(&program).unwrap());
    }
}

/// The same of a program and its gradient, whose numbers are as small.
fn check_with_gradient(text: &str) {
    let program = source(text);
    check(&program);
    check(&derive(&program, Derivative::Vjp, None).unwrap());
}

/// Shapes of which sums over the rows are taken in parts.
fn shapes() -> Vec<(usize, usize)> {
    let all = [(65536, 1), (43690, 3), (9000, 40), (300, 600)];
    all.into_iter().map(|(n, d)| (size(n, 12), size(d, 3))).collect()
}

#[test]
fn the_sum_of_a_dear_function_beside_another() {
    for (n, d) in [(65536, 1), (43690, 3), (300_000, 2)] {
        let (n, d) = (size(n, 20), size(d, 2));
        let program = planned(&source(&format!(
            "def main(a: [{n}, {d}]f64, z: [{d}]f64) =
               let x = tanh(z)
               in (sum(x), concat(sum(tanh(a), axis = 0), x))"
        )));
        let inputs = inputs(&program, 1);
        let expected = interpreted(&program, &inputs);
        for engine in [Engine::Native, Engine::Machine] {
            let executable = Executable::planned(&program, false, engine).unwrap();
            for threads in [1, 2] {
                let limits = RunLimits { threads: Some(threads), ..RunLimits::default() };
                let executable = executable.clone().with_stale_memory(0xff);
                let found = executable.run(&inputs, &limits).unwrap();
                let found: Vec<Value> = found.iter().map(Value::from).collect();
                let difference = first_difference(&expected, &found, Equality::ScaledUlps(1 << 16));
                assert!(difference.is_none(), "{n} x {d}, {engine:?}: {difference:?}");
            }
        }
    }
}

#[test]
fn sums_in_every_place_of_a_concatenation() {
    for (n, d) in shapes() {
        for parts in [
            "concat(sum(max(a, 0.0), axis = 0), x)",
            "concat(x, sum(max(a, 0.0), axis = 0))",
            "concat(x, sum(abs(a), axis = 0), sum(a, axis = 0), x)",
            "concat([1.0], sum(abs(a), axis = 0), x)",
            "stack(sum(abs(a), axis = 0), x)",
            "transpose(stack(x, sum(abs(a), axis = 0), sum(a, axis = 0)))",
            "reverse(concat(sum(abs(a), axis = 0), x))",
            "concat(full([2], sum(abs(a))), x)",
        ] {
            check_with_gradient(&format!(
                "def main(a: [{n}, {d}]f64, z: [{d}]f64) =
                   let x = abs(z)
                   in (sum(x), {parts})"
            ));
        }
    }
}

#[test]
fn largest_and_smallest_elements() {
    for (n, d) in shapes() {
        for parts in [
            "concat(max(a, axis = 0), x)",
            "concat(x, min(abs(a), axis = 0), max(a, axis = 0))",
            "transpose(stack(x, max(abs(a), axis = 0)))",
        ] {
            check(&source(&format!(
                "def main(a: [{n}, {d}]f64, z: [{d}]f64) =
                   let x = abs(z)
                   in (sum(x), {parts})"
            )));
        }
    }
}

#[test]
fn products_of_matrices() {
    for (n, m, k) in [(4096, 8, 5), (500, 32, 24)] {
        let (n, m, k) = (size(n, 9), size(m, 3), size(k, 2));
        for parts in [
            "concat(matmul(transpose(a), b), c)",
            "concat(c, matmul(transpose(max(a, 0.0)), b), c, axis = 1)",
            "stack(c, matmul(transpose(a), abs(b)))",
        ] {
            check_with_gradient(&format!(
                "def main(a: [{n}, {m}]f64, b: [{n}, {k}]f64, z: [{m}, {k}]f64) =
                   let c = abs(z)
                   in (sum(c), {parts})"
            ));
        }
    }
}

#[test]
fn scatters() {
    let n = size(70_000, 30);
    for parts in [
        "concat(scatter(a, [13], i => [ids[i]]), x)",
        "transpose(stack(x, scatter(a, [13], i => [ids[i]])))",
        "concat(x, scatter(abs(a), [13], i => [i % 13]))",
        "scatter(concat(x, [sum(abs(a))]), [40], i => [2 * i + 1])",
    ] {
        check_with_gradient(&format!(
            "def main(a: [{n}]f64, z: [13]f64, ids: [{n}]i64) =
               let x = abs(z)
               in (sum(x), {parts})"
        ));
    }
}

/// A scatter that is a product of matrices fills a part of its zeros only.
#[test]
fn products_that_are_scattered() {
    let (n, m, k) = (size(3000, 9), size(12, 3), size(8, 2));
    check_with_gradient(&format!(
        "def main(a: [{n}, {m}]f64, b: [{n}, {k}]f64) =
           let p = build ({n}, {m}, {k}) ((r, i, j) => a[r, i] * b[r, j])
           in scatter(p, [{}, {k}], (r, i, j) => [2 * i + 1, j])",
        2 * m + 3
    ));
}

#[test]
fn pairs_of_which_half_count() {
    let n = size(600, 12);
    for parts in [
        "concat(sum(p, axis = 0), x)",
        "concat(x, sum(p, axis = 1))",
        "transpose(stack(sum(p, axis = 0), x, sum(p, axis = 1)))",
    ] {
        check_with_gradient(&format!(
            "def main(y: [{n}]f64, z: [{n}]f64) =
               let x = abs(z)
               let p = build ({n}, {n}) ((i, j) => if i < j then y[i] * y[j] else 0.0)
               in (sum(x), {parts})"
        ));
    }
}

#[test]
fn states_and_what_loops_collect() {
    for (n, d) in [(40_000, 2), (3000, 24)] {
        let (n, d) = (size(n, 9), size(d, 2));
        for parts in [
            "fold(concat(x, x), [1.0, -1.0, 2.0], (s, r) =>
               concat(sum(a * r, axis = 0), min(max(s[:{d}], -9.0), 9.0)))",
            "scan(x, [1.0, -1.0, 2.0], (s, r) => min(max(s + sum(abs(a), axis = 0) * r, -9.0), 9.0))",
            "map_accum(x, [1.0, -1.0, 2.0], (s, r) =>
               let y = concat(s, sum(abs(a) * r, axis = 0), sum(a, axis = 0))
               in (min(max(y[{d}:{}], -3.0), 3.0), y)).1",
            "map_accum(a, [1.0, -1.0, 2.0], (s, r) =>
               (min(max(s * r, -3.0), 3.0), concat(x, sum(abs(s) * r, axis = 0)))).1",
        ] {
            let parts = parts.replace("{d}", &d.to_string()).replace("{}", &(2 * d).to_string());
            check(&source(&format!(
                "def main(a: [{n}, {d}]f64, z: [{d}]f64) =
                   let x = abs(z)
                   in (sum(x), {parts})"
            )));
        }
    }
}

/// Which products look for zeros depends on arrays that are complete, not on what memory holds.
#[test]
fn relaxed_products_of_a_part() {
    let n = size(400, 8);
    check_with_gradient(&format!(
        "def main(y: [{n}]f64, z: [{n}]f64) =
           let x = abs(z)
           let d = build ({n}, {n}) ((i, j) => (y[i] - x[j]) * (y[i] + x[j]))
           in concat(x, sum(max(d, 0.0), axis = 0), max(x - y, 0.0))"
    ));
}
