//! What derivatives cost to run: value and gradient at most five times the program.

use std::path::Path;

use cotan_ad::{jvp, vjp};
use cotan_interp::Interp;
use cotan_ir::Program;
use cotan_syntax::{FileLoader, instantiate, load};
use cotan_testkit::{InputKind, Rng};

use crate::support::*;

/// Operations of value and gradient for each operation of the program. (Forward mode may need one
/// more: it adds tangents where reverse mode adds cotangents of what is shared.)
const BOUND: f64 = 5.0;

/// The name of an example, a function of it, and its sizes.
type Example = (&'static str, &'static str, &'static [(&'static str, usize)]);

/// The functions of the examples that can be differentiated, with sizes to try them at.
const EXAMPLES: &[Example] = &[
    ("dot", "inner", &[("n", 20)]),
    ("linear_recurrence", "account", &[("n", 20)]),
    ("linear_recurrence", "filter", &[("k", 3), ("n", 20)]),
    ("matmul", "product", &[("m", 4), ("k", 5), ("n", 6)]),
    ("moving_average", "smooth", &[("width", 3), ("n", 20)]),
    ("moving_average", "inside", &[("width", 3), ("n", 20)]),
    ("nearest", "distance", &[("d", 5)]),
    ("nearest", "distances", &[("n", 6), ("d", 3)]),
    ("parameters", "loss", &[("m", 3), ("n", 4), ("k", 2), ("count", 5)]),
    ("self_convolution", "mirrored", &[("n", 20)]),
    ("self_convolution", "convolution", &[("n", 12)]),
    ("softmax", "log_sum_exp", &[("n", 20)]),
    ("softmax", "probabilities", &[("n", 20)]),
    ("softmax", "cross_entropy", &[("n", 6), ("classes", 5)]),
];

/// Functions of other kinds.
const OTHERS: &[&str] = &[
    "def f(x: [40]f64) = sum(sin(x) * exp(x) + tanh(x))",
    "def f(x: [40]f64) = sum(logistic(x) * x ** 2.0)",
    "def f(x: [40]f64, y: [40]f64) = sum(atan2(x, y) + x / y)",
    "def f(x: [6, 6]f64) = sum(matmul(matmul(x, x), x))",
    "def f(x: [40]f64) = sum(sort(x) * to_f64(iota(40)))",
    "def f(x: [30]f64, k: [5]f64) = sum(square(build 26 (i => sum(build 5 (j => x[i + j] * k[j])))))",
    "def f(x: [40]f64) = fold(0.5, x, (s, v) => sin(s * v) + s)",
    "def f(x: [8, 8]f64) = fold(0.5, x, (s, row) => fold(s, row, (t, v) => t * v + sin(t)))",
    "def f(x: [10]f64) = x[0] * x[1] * x[2] * x[3] * x[4] * x[5] * x[6] * x[7] * x[8] * x[9]",
];

fn ops(program: &Program, rng: &mut Rng) -> u64 {
    let point = Point::random(program, rng, InputKind::Generic).unwrap();
    Interp::new(program).run(&point.inputs).unwrap().counts.scalar_ops
}

/// Ratios of reverse and forward mode.
fn ratios(program: &Program) -> (f64, f64) {
    let rng = &mut Rng::new(1);
    let primal = ops(program, rng) as f64;
    let reverse = ops(&checked(vjp(program, None)).unwrap(), rng) as f64;
    let forward = ops(&checked(jvp(program, None)).unwrap(), rng) as f64;
    (reverse / primal, forward / primal)
}

#[test]
fn value_and_gradient_cost_at_most_five_programs() {
    let mut worst = Vec::new();
    let mut check = |name: &str, program: &Program| {
        let (reverse, forward) = ratios(program);
        println!("{name}: reverse {reverse:.2}, forward {forward:.2}");
        if reverse > BOUND || forward > BOUND + 1.0 {
            worst.push(format!("{name}: reverse {reverse:.2}, forward {forward:.2}\n{program}"));
        }
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (file, name, sizes) in EXAMPLES {
        let path = folder.join(format!("{file}.ct"));
        let modules = load(&path.to_string_lossy(), &FileLoader::new(&path)).expect(file);
        let made = instantiate(&modules, name, &[], sizes, &Default::default()).expect(name);
        check(&format!("{file}.{name}"), &bulked(&made.program).unwrap());
    }
    for text in OTHERS {
        check(text, &function(text, &[]));
    }
    assert!(worst.is_empty(), "{}", worst.join("\n"));
}
