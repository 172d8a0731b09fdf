//! Gradients of the programs that people write: no scatter is left that need not be, and the work
//! goes down.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod common;

use common::{exact, optimised};
use cotan_interp::{Interp, Options as Run};
use cotan_ir::{Node, Program};
use cotan_opt::Options;
use cotan_pipeline::{Derivative, derive};
use cotan_syntax::parse_program;
use cotan_testkit::{InputKind, Oracle, Rng, inputs_for};

/// What a gradient is made of.
struct Expected {
    scatters: usize,
    /// The most work in that of the gradient before.
    work: f64,
}

fn count(program: &Program, is: impl Fn(&Node) -> bool) -> usize {
    program.terms().filter(|&t| is(program.node(t))).count()
}

fn work(program: &Program) -> f64 {
    let inputs = inputs_for(program, &mut Rng::new(1), InputKind::SmallIntegers).unwrap();
    let options = Run { strict: true, ..Run::default() };
    Interp::new(program).with_options(options).run(&inputs).unwrap().counts.work() as f64
}

/// The optimised gradient of a program, checked.
fn gradient(name: &str, text: &str, expected: &Expected) -> Program {
    let program = parse_program(text).unwrap_or_else(|_| panic!("{name} does not parse"));
    let before = derive(&program, Derivative::ValueAndGrad, None).unwrap();
    let after = optimised(&before, &Options::default()).unwrap();
    let sound = optimised(&before, &exact()).unwrap();
    let compared = Oracle::exact().compare(&before, &sound, &mut Rng::new(2));
    compared.unwrap_or_else(|m| panic!("{m}\n{before}became\n{sound}"));
    let compared = Oracle::close(1 << 10).compare(&before, &after, &mut Rng::new(3));
    compared.unwrap_or_else(|m| panic!("{m}\n{before}became\n{after}"));
    let scatters = count(&after, |node| matches!(node, Node::Scatter(..)));
    let ratio = work(&after) / work(&before);
    println!("{name:20} {scatters} scatters, {ratio:.2} of the work");
    assert_eq!(scatters, expected.scatters, "{name}\n{after}");
    assert!(ratio <= expected.work, "{name}: {ratio}\n{after}");
    after
}

#[test]
fn gradients_without_scatters() {
    let programs: [(&str, &str, f64); 13] = [
        ("dot", "def main(a: [80]f64, b: [80]f64) = sum(build 80 (i => a[i] * b[i]))", 0.4),
        ("self-convolution", "def main(a: [80]f64) = sum(build 80 (i => a[i] * a[79 - i]))", 0.6),
        (
            "matrix product",
            "def main(a: [8, 9]f64, b: [9, 7]f64) = sum(build (8, 7) ((i, j) => square(sum(build 9 (k => a[i, k] * b[k, j])))))",
            0.9,
        ),
        (
            "convolution",
            "def main(x: [80]f64, w: [5]f64) = sum(build 76 (i => square(sum(build 5 (j => x[i + j] * w[j])))))",
            1.2,
        ),
        (
            "convolution, 2-d",
            "def main(x: [12, 12]f64, w: [3, 3]f64) = sum(build (10, 10) ((i, j) => square(sum(build (3, 3) ((k, l) => x[i + k, j + l] * w[k, l])))))",
            1.4,
        ),
        (
            "stencil",
            "def main(u: [9, 9]f64) = sum(fold(u, (), (u, _) => build (9, 9) ((i, j) => 0.2 * (u[i, j] + u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])), length = 10))",
            0.9,
        ),
        (
            "pairwise energies",
            "def main(p: [12, 3]f64) = sum(build (12, 12) ((i, j) => exp(-sum(square(p[i] - p[j])))))",
            0.8,
        ),
        ("logsumexp", "def main(x: [80]f64) = log(sum(build 80 (i => exp(x[i]))))", 0.9),
        (
            "recurrent network",
            "def main(w: [4, 4]f64, u: [4, 3]f64, xs: [7, 3]f64) = sum(fold(zeros([4]), xs, (h, x) => build 4 (i => tanh(sum(build 4 (j => w[i, j] * h[j])) + sum(build 3 (k => u[i, k] * x[k]))))))",
            // Outer products over all steps, whose views the interpreter makes.
            1.05,
        ),
        (
            "reversal and slice",
            "def main(x: [80]f64) = sum(build 40 (i => square(x[60 - i])))",
            1.1,
        ),
        ("diagonal", "def main(x: [30, 30]f64) = sum(build 30 (i => square(x[i, i])))", 12.0),
        (
            "nearest centre, few",
            "def main(x: [50, 2]f64, c: [3, 2]f64) = sum(build 50 (i => let d = build 3 (j => sum(square(x[i] - c[j]))) in d[argmin(d)]))",
            0.9,
        ),
        ("every second", "def main(x: [80]f64) = sum(build 40 (i => square(x[2 * i + 1])))", 1.6),
    ];
    for (name, text, work) in programs {
        gradient(name, text, &Expected { scatters: 0, work });
    }
}

/// What depends on data stays a scatter, one.
#[test]
fn gradients_with_scatters() {
    let programs: [(&str, &str, usize, f64); 3] = [
        (
            "histogram",
            "def main(x: [80]f64, v: [80]f64) = sum(square(scatter(v, [9], i => [i64(floor(x[i]))])))",
            1,
            1.0,
        ),
        (
            "table look-up",
            "def main(t: [30]f64, x: [80]i64) = sum(build 80 (i => square(t[x[i]])))",
            1,
            0.9,
        ),
        (
            "nearest centre, many",
            "def main(x: [50, 2]f64, c: [20, 2]f64) = sum(build 50 (i => let d = build 20 (j => sum(square(x[i] - c[j]))) in d[argmin(d)]))",
            1,
            0.7,
        ),
    ];
    for (name, text, scatters, work) in programs {
        gradient(name, text, &Expected { scatters, work });
    }
}

/// The reverse pass of a linear loop needs no states: none are saved.
#[test]
fn a_linear_loop_saves_nothing() {
    let text = "def main(u: [9]f64) = sum(fold(u, (), (u, _) => build 9 (i => 0.5 * (u[i] + u[i - 1])), length = 10))";
    let after = gradient("linear loop", text, &Expected { scatters: 0, work: 0.9 });
    for t in after.terms() {
        if let Node::MapAccum(m) = after.node(t) {
            assert_eq!((m.init.len(), m.inputs.len()), (1, 0), "{after}");
            assert_eq!(after.region(m.step).results().len(), 1, "{after}");
        }
    }
}

/// Factors leave sums, and sums are taken where they are small.
#[test]
fn sums_of_products_are_products_of_sums() {
    let text = "def main(x: [50]f64, y: [40]f64) = sum(build (50, 40) ((i, j) => x[i] * y[j]))";
    let after = gradient("product of sums", text, &Expected { scatters: 0, work: 0.1 });
    let largest = after.terms().map(|t| after.shape(t).numel()).max().unwrap();
    assert_eq!(largest, 50, "{after}");
}

/// How many products of matrices and vectors of 40 elements the loops of a program have.
fn products(program: &Program) -> usize {
    count(program, |node| match node {
        Node::SumOuter(u) => program.shape(*u).numel() == 1600,
        _ => false,
    })
}

/// The reverse pass of a network reads the activations, unless memory is to be spared.
#[test]
fn dear_terms_of_a_step_are_stored_for_the_reverse_pass() {
    let text = "def main(w: [40, 40]f64, xs: [7, 40]f64) = sum(fold(zeros([40]), xs, (h, x) => build 40 (i => tanh(sum(build 40 (j => w[i, j] * h[j])) + x[i]))))";
    let stored = gradient("recurrent network", text, &Expected { scatters: 0, work: 1.05 });
    let program = parse_program(text).unwrap();
    let before = derive(&program, Derivative::ValueAndGrad, None).unwrap();
    let again = Options { recompute: u64::MAX, ..Options::default() };
    let again = optimised(&before, &again).unwrap();
    // There and back; the second time with the activations once more.
    assert_eq!((products(&stored), products(&again)), (2, 3), "{stored}{again}");
    let inputs = |program: &Program| {
        let loops = program.terms().filter_map(|t| match program.node(t) {
            Node::MapAccum(m) => Some(m.inputs.len()),
            _ => None,
        });
        loops.sum::<usize>()
    };
    // In place of the saved state and the input, from which it was computed.
    assert!(inputs(&stored) <= inputs(&again), "{stored}{again}");
}

/// What takes few operations is computed again.
#[test]
fn cheap_terms_of_a_step_are_not_stored() {
    let text = "def main(xs: [7, 40]f64) = sum(fold(zeros([40]), xs, (h, x) => h * h + x * h))";
    let after = gradient("quadratic loop", text, &Expected { scatters: 0, work: 1.01 });
    let outputs = |program: &Program| {
        let loops = program.terms().filter_map(|t| match program.node(t) {
            Node::MapAccum(m) => Some(program.result_count(t).unwrap() - m.init.len()),
            _ => None,
        });
        loops.collect::<Vec<_>>()
    };
    // The states, and the cotangents of the inputs.
    assert_eq!(outputs(&after), [1, 1], "{after}");
}
