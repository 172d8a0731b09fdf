//! Convolutions and products of several arrays, with their derivatives: XLA against the reference
//! interpreter, on integers, where nothing rounds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod common;

use common::{arrays, optimised, text};
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_pipeline::Derivative;
use cotan_syntax::parse_program;
use cotan_testkit::xla::Server;
use cotan_testkit::{
    Equality, InputKind, Rng, bulk, derived, first_difference, inputs_for, run_program,
};

/// Windows of all kinds: past both ends, by steps, with gaps, backwards, over several axes, with several
/// channels or none, and beside axes of one position.
const CONVOLUTIONS: [&str; 9] = [
    "def main(x: [7]f64, w: [3]f64) = build 9 (i => sum(build 3 (j => x[i - j] * w[j])))",
    "def main(x: [7]f64, w: [3]f64) = build 5 (i => sum(build 3 (j => x[i + j] * w[j])))",
    "def main(x: [9]f64, w: [3]f64) = build 4 (i => sum(build 3 (j => x[2 * i + 2 * j - 1] * w[j])))",
    "def main(x: [9]f64, w: [3]f64) = build 4 (i => sum(build 3 (j => x[6 - 2 * i + j] * w[j])))",
    "def main(x: [9]f64, w: [4]f64) = build 3 (i => sum(build 4 (j => x[i + j + 2] * w[3 - j])))",
    "def main(x: [2, 3, 6, 5]f64, k: [4, 3, 3, 2]f64) =
       build (2, 4, 4, 4) ((n, f, i, j) =>
         sum(build (3, 3, 2) ((l, p, q) => x[n, l, i + p, j + q] * k[f, l, p, q])))",
    "def main(x: [2, 1, 6, 5]f64, k: [4, 1, 3, 2]f64) =
       build (2, 4, 4, 4) ((n, f, i, j) =>
         sum(build (1, 3, 2) ((l, p, q) => x[n, l, i + p, j + q] * k[f, l, p, q])))",
    "def main(x: [2, 3, 6]f64, k: [2, 3, 2]f64) =
       build 7 (i => sum(build (2, 3, 2) ((l, m, p) => x[l, m, i + p - 1] * k[l, m, p])))",
    "def main(x: [2, 3, 6]f64, k: [4, 2, 2]f64) =
       build (4, 2, 2, 3, 5) ((f, g, a, b, i) => sum(build 2 (p => x[a, b, i + p] * k[f, g, p])))",
];

const PRODUCTS: [&str; 3] = [
    "def main(w: [5, 3]f64, m: [3, 9, 2]f64, p: [5, 2]f64) =
       build (5, 9) ((v, k) => sum(build 3 (b => w[v, b] * sum(build 2 (j => m[b, k, j] * p[v, j])))))",
    "def main(a: [4, 3]f64, b: [3, 5]f64, c: [5, 2]f64) =
       build (4, 2) ((i, l) => sum(build 5 (k => sum(build 3 (j => a[i, j] * b[j, k])) * c[k, l])))",
    "def main(a: [4]f64, b: [4, 5]f64, c: [5]f64, d: [5, 6]f64) =
       build 6 (l => sum(build (4, 5) ((i, k) => a[i] * b[i, k] * (c[k] * d[k, l]))))",
];

fn agree(server: &mut Server, program: &Program, inputs: &[Value]) {
    let module = text(program).unwrap();
    let expected = run_program(program, inputs, Mode::Ieee).unwrap();
    let found = server.run("xla", &module, &arrays(inputs)).unwrap();
    let found: Vec<Value> = found.iter().map(Value::from).collect();
    if let Some(difference) = first_difference(&expected, &found, Equality::Values) {
        panic!("{difference}\nof\n{program}\n{module}");
    }
}

fn values_and_derivatives(name: &str, texts: &[&str]) {
    let Some(mut server) = Server::start(name) else { return };
    let mut rng = Rng::new(7);
    for text in texts {
        let program = parse_program(text).unwrap_or_else(|_| panic!("{text} does not parse"));
        let derivatives = [Derivative::Jvp, Derivative::Vjp];
        let derived = derivatives.map(|which| derived(&program, which).unwrap());
        for program in [bulk(&program).unwrap()].iter().chain(&derived) {
            let program = optimised(program).unwrap();
            let inputs = inputs_for(&program, &mut rng, InputKind::SmallIntegers).unwrap();
            agree(&mut server, &program, &inputs);
        }
    }
}

#[test]
fn convolutions() {
    values_and_derivatives("convolutions", &CONVOLUTIONS);
}

#[test]
fn products_of_several_arrays() {
    values_and_derivatives("products", &PRODUCTS);
}

/// How many operations of a kind the main function has.
fn count(program: &Program, operation: &str) -> usize {
    let module = text(program).unwrap();
    let main = module.split("func.func private").next().unwrap();
    main.matches(operation).count()
}

/// The value, and the derivatives by both factors.
#[test]
fn all_three_are_convolutions() {
    for text in &CONVOLUTIONS[..2] {
        let program = parse_program(text).unwrap_or_else(|_| panic!("{text} does not parse"));
        let value = optimised(&bulk(&program).unwrap()).unwrap();
        let pullback = optimised(&derived(&program, Derivative::Vjp).unwrap()).unwrap();
        assert_eq!(count(&value, "stablehlo.convolution"), 1, "{text}");
        assert_eq!(count(&pullback, "stablehlo.convolution"), 3, "{text}");
        assert_eq!(count(&pullback, "stablehlo.gather"), 0, "{text}");
    }
}

/// Weights and positions are multiplied first, for all of the long axis.
#[test]
fn the_cheapest_order() {
    let text = "def main(w: [50, 8]f64, m: [8, 30, 4]f64, p: [50, 4]f64) =
       build (50, 30) ((v, k) => sum(build 8 (b => w[v, b] * sum(build 4 (j => m[b, k, j] * p[v, j])))))";
    let program = parse_program(text).unwrap_or_else(|_| panic!("{text} does not parse"));
    let program = optimised(&bulk(&program).unwrap()).unwrap();
    assert_eq!(count(&program, "stablehlo.dot_general"), 1);
    assert_eq!(count(&program, "tensor<50x8x30"), 0);
}
