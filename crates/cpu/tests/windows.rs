//! Convolutions of what is computed, with all kinds of windows, and lookups and sums by index of rows:
//! programs and their gradients, run in every way, against the interpreter. Numbers are small
//! integers, so that every sum is exact.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use cotan_array::{Array, Dtype, Shape};
use cotan_cpu::{Engine, Executable, RunLimits};
use cotan_interp::{Mode, Value};
use cotan_ir::{Limits, Program, Type};
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_syntax::{ArgSpec, MemoryLoader, instantiate, load};
use cotan_testkit::{Equality, Rng, first_difference, run_program};

/// What of a program is run: its value and gradient, by all arguments that are floats.
fn gradient(text: &str, inputs: &[Array]) -> Program {
    let modules = load("test.ct", &MemoryLoader::new().with("test.ct", text)).unwrap();
    let spec = |x: &Array| ArgSpec::Leaves(vec![Type::of(x)]);
    let args: Vec<ArgSpec> = inputs.iter().map(spec).collect();
    let objective = instantiate(&modules, "objective", &args, &[], &Limits::default()).unwrap();
    let derived = derive(&objective.program, Derivative::ValueAndGrad, None).unwrap();
    Pipeline::new(&[Pass::OPTIMISE]).run(&derived).unwrap()
}

/// Small integers, as elements of a type.
fn numbers(rng: &mut Rng, dtype: Dtype, dims: &[usize]) -> Array {
    let shape = Shape::new("test", dims).unwrap();
    let elements = (0..shape.numel()).map(|_| rng.below(5) as f64 - 2.0).collect();
    Array::from_vec(shape, elements).unwrap().cast(dtype).unwrap()
}

/// Positions, some of them out of range.
fn positions(rng: &mut Rng, count: usize, size: usize) -> Array {
    let shape = Shape::new("test", &[count]).unwrap();
    let elements = (0..count).map(|_| rng.below(size + 2) as i64 - 1).collect();
    Array::from_vec(shape, elements).unwrap()
}

/// Runs a program in every way; gives the kernels in the order of the machine.
fn check(text: &str, inputs: &[Array], seed: u64) -> String {
    let program = gradient(text, inputs);
    let values: Vec<Value> = inputs.iter().map(Value::from).collect();
    let expected = run_program(&program, &values, Mode::Ieee).unwrap();
    let drawn = |in_order, engine| Executable::in_drawn_blocks(&program, in_order, engine, seed);
    let usual = Executable::new(&program).unwrap();
    let ways = [
        ("usual", usual.clone()),
        ("in order", drawn(true, Engine::Native).unwrap()),
        ("tile machine in order", drawn(true, Engine::Machine).unwrap()),
        ("drawn", drawn(false, Engine::Native).unwrap()),
        ("tile machine", drawn(false, Engine::Machine).unwrap()),
    ];
    for (name, executable) in ways {
        for (byte, threads) in [(0xff, 1), (0x7e, 3)] {
            let limits = RunLimits { threads: Some(threads), ..RunLimits::default() };
            let found = executable.clone().with_stale_memory(byte).run(inputs, &limits).unwrap();
            let found: Vec<Value> = found.iter().map(Value::from).collect();
            let difference = first_difference(&expected, &found, Equality::Values);
            if let Some(difference) = difference {
                panic!("{name}, seed {seed}, {threads} threads: {difference}\n{text}\n{program}");
            }
        }
    }
    usual.kernels(&program)
}

/// Two convolutions with something between them.
fn convolutions(dtype: Dtype, between: &str, (step, apart, edge): (usize, usize, usize)) -> String {
    let ty = if dtype == Dtype::F32 { "f32" } else { "f64" };
    let place = |i: char, u: char| format!("{step} * {i} + {apart} * {u} - {edge}");
    let (row, column) = (place('i', 'u'), place('j', 'v'));
    format!(
        "def conv(x: [b, c, h, w]{ty}, k: [o, c, p, q]{ty}): [b, o, h // {step}, w // {step}]{ty} =\n  \
         build (b, o, h // {step}, w // {step}) ((n, f, i, j) => sum(build (c, p, q) ((m, u, v) =>\n    \
         x[n, m, {row}, {column}] * k[f, m, u, v])))\n\
         def objective(x: [b, c, h, w]{ty}, k: [o, c, p, q]{ty}, l: [a, o, s, t]{ty}): {ty} =\n  \
         let y = conv(x, k) in sum(conv({between}, l))\n"
    )
}

#[test]
fn convolutions_of_all_kinds() {
    let mut rng = Rng::new(7);
    let between = ["max(y, 0)", "y * y", "y + 1", "min(y, 3 - y)", "where(y > 1, y, 2 * y)"];
    let count = if cfg!(miri) { 1 } else { 40 };
    for seed in 0..count {
        let dtype = *rng.pick(&[Dtype::F64, Dtype::F32]);
        let kind = (1 + rng.below(2), 1 + rng.below(2), rng.below(3));
        let text = convolutions(dtype, between[rng.below(between.len())], kind);
        let mut size = |most: usize| 1 + rng.below(most);
        let (b, c, h, w) = (size(3), size(4), 3 + size(7), 3 + size(9));
        let (o, p, q, a, s, t) = (size(9), size(3), size(3), size(5), size(3), size(3));
        let inputs = [[b, c, h, w], [o, c, p, q], [a, o, s, t]];
        let inputs = inputs.map(|dims| numbers(&mut rng, dtype, &dims));
        check(&text, &inputs, seed);
    }
}

#[test]
fn windows_are_stored_once() {
    let mut rng = Rng::new(8);
    let text = convolutions(Dtype::F64, "max(y, 0)", (1, 1, 1));
    let text = text.replace("sum(conv(max(y, 0), l))", "sum(conv(max(y, 0), l) ** 2)");
    let inputs = [[2, 4, 12, 12], [16, 4, 3, 3], [16, 16, 3, 3]];
    let inputs = inputs.map(|dims| numbers(&mut rng, Dtype::F64, &dims));
    let program = gradient(&text, &inputs);
    let kernels = Executable::new(&program).unwrap().kernels(&program);
    let products = kernels.lines().filter(|line| line.contains("multiplications")).count();
    assert_eq!(products, 6, "{kernels}");
    // An array with an axis for each index of a window would take a fifth loop.
    assert!(!kernels.contains("for i4"), "{kernels}");
    assert!(!kernels.contains("logical_and"), "a mask of what is 0 anyway:\n{kernels}");
}

#[test]
fn rows_are_looked_up_and_added() {
    let mut rng = Rng::new(9);
    let text = "\
def objective(x: [n, d]f64, w: [e]f64, from: [e]i64, to: [e]i64): f64 =
  let y = max(x * 2 - 1, x)
  let z = scatter(build e (k => w[k] * y[from[k]]), [n], k => [to[k]])
  in sum(z * x)
";
    for seed in 0..if cfg!(miri) { 1 } else { 20 } {
        let (n, e, d) = (1 + rng.below(9), 1 + rng.below(40), 1 + rng.below(37));
        let f64s = |rng: &mut Rng, dims: &[usize]| numbers(rng, Dtype::F64, dims);
        let inputs = [
            f64s(&mut rng, &[n, d]),
            f64s(&mut rng, &[e]),
            positions(&mut rng, e, n),
            positions(&mut rng, e, n),
        ];
        check(text, &inputs, seed);
        let narrow = text.replace("f64", "f32");
        let inputs =
            inputs.map(|x| if x.dtype() == Dtype::F64 { x.cast(Dtype::F32).unwrap() } else { x });
        check(&narrow, &inputs, seed);
    }
}
