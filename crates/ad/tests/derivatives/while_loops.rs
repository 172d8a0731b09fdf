//! Loops as long as a condition holds: how many steps there are is known only when they run.

use cotan_ad::with_slots;
use cotan_ad::{CHECKPOINTS, grad, hvp, jvp, value_and_grad};
use cotan_interp::{Interp, Value};
use cotan_ir::Program;
use cotan_syntax::{instantiate, load_text};
use cotan_testkit::{Former, Rng, for_each_case};

use crate::exact;
use crate::support::*;

/// The function `f` of a text as it was written.
fn source(text: &str) -> Program {
    let modules = load_text("test.ct", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let made = instantiate(&modules, "f", &[], &[], &Default::default());
    made.unwrap_or_else(|e| panic!("{e}\n{text}")).program
}

fn gradient(text: &str, inputs: &[Value]) -> Vec<Vec<f64>> {
    numbers_of(grad(&function(text, &[]), None), inputs)
}

/// All eight ways give the same elements of a field, wherever a loop stands.
#[test]
fn all_ways_agree_on_loops_in_loops() {
    let power = "def power(x: f64, n: i64) = while_loop((i, s) => i < n, (i, s) => (i + 1, s * x + x), (0, x)).1\n";
    for body in [
        // Without steps, with one, with several.
        "def f(x: f64) = power(x, 0)",
        "def f(x: f64) = power(x, 1)",
        "def f(x: f64) = power(x, 5)",
        // Two loops, one inside the other; the inner one has as many steps as the outer one made.
        "def f(x: f64) = while_loop((i, s) => i < 4, (i, s) => (i + 1, power(s * x, i)), (0, x)).1",
        "def f(x: f64) = while_loop((i, s) => i < 9, (i, s) => (i + 1, power(s * x, i)), (0, x), at_most = 3).1",
        // In a fold, and around one.
        "def f(x: [3]f64) = fold(x[0], (x, [2, 0, 3]), (s, (c, n)) => power(s * c, n))",
        "def f(x: [3]f64) = while_loop((i, s) => i < 3, (i, s) => (i + 1, fold(s, x, (s, c) => s * c + x[i])), (0, x[0])).1",
        // Lanes that end at different times.
        "def f(x: [4]f64) = build 4 (i => power(x[i], i))",
        "def f(x: [4]f64) = build 4 (i => power(x[i], [3, 0, 1, 2][i]))",
        "def f(x: [3]f64) = while_loop((i, s) => i < 3, (i, s) => (i + 1, build 3 (j => power(s[j], j) * x[i])), (0, x)).1",
        // Outputs, their rows beyond the last step, and an output that captures only.
        "def f(x: [3]f64) = while_accum((0, x[1]), ((i, s)) => (i < 3, (i + 1, s * x[i]), (s * s, x)), at_most = 5)",
        "def f(x: [3]f64) = build 3 (j => while_accum((0, x[j]), ((i, s)) => (i < j, (i + 1, s * x[i]), s * x[0]), at_most = 2).1)",
        // In chunks that fit and that do not.
        "def f(x: f64) = while_loop((i, s) => i < 5, (i, s) => (i + 1, s * x + x), (0, x), at_most = 6, checkpoint = 2).1",
        "def f(x: f64) = while_loop((i, s) => i < 9, (i, s) => (i + 1, s * x + x), (0, x), at_most = 7, checkpoint = 3).1",
        // Only integers change, the rest is captured.
        "def f(x: [3]f64) = x[while_loop(i => i * i < 4, i => i + 1, 0)]",
        // States that trade places: what has a derivative spreads.
        "def f(x: f64) = while_loop((i, a, b) => i < 3, (i, a, b) => (i + 1, b + a, a * x), (0, 1.0, 2.0))",
        // A derivative inside a loop, and a loop inside a derivative.
        "def f(x: f64) = while_loop((i, s) => i < 2, (i, s) => (i + 1, grad(y => power(y, 2) * x)(s)), (0, x)).1",
        "def f(x: [3]f64) = build 3 (i => grad(y => power(y, i) * x[i])(x[i]))",
        "def f(x: f64) = grad(grad(y => power(y, 3)))(x)",
        "def f(x: f64) = jvp(grad(y => power(y, 3)))(x, x).1",
        "def f(x: f64) = grad(y => jvp(z => power(z, 3))(y, y).1)(x)",
    ] {
        let check = || exact::check(&source(&format!("{power}{body}")), &mut Rng::new(7));
        // All steps in one block, and with blocks of few steps and few states.
        for slots in [16, 2] {
            with_slots(slots, check).unwrap_or_else(|e| panic!("{e}\n{body} with {slots} slots"));
        }
    }
}

/// Random loops, all in blocks, wherever they stand.
#[test]
fn all_ways_agree_on_random_loops_in_blocks() {
    let config = exact::everything().nodes(16);
    let config = config.without(&[Former::ArgSort, Former::Scatter, Former::OneHot]);
    for_each_case("while in blocks", 200, |rng| {
        with_slots(2, || on_random_program(&config, rng, exact::check))
    });
}

#[test]
fn gradients_are_those_of_the_steps_that_were_made() {
    let at = |text: &str, x: f64| gradient(text, &[Value::scalar(x)])[0][0];
    // x doubled until it is 100: 2^k.
    let doubling = "def f(x: f64) = while_loop(s => s < 100.0, s => 2.0 * s, x)";
    assert_eq!(at(doubling, 3.0), 64.0);
    assert_eq!(at(doubling, 200.0), 1.0);
    let bounded = "def f(x: f64) = while_loop(s => s < 100.0, s => 2.0 * s, x, at_most = 4)";
    assert_eq!(at(bounded, 3.0), 16.0);
    let never = "def f(x: f64) = while_loop(s => s < 100.0, s => 2.0 * s, x, at_most = 0)";
    assert_eq!(at(never, 3.0), 1.0);
    // NaN is not less than anything: no steps.
    assert_eq!(at(doubling, f64::NAN), 1.0);
    // Newton's method, through its steps.
    let root = "def f(a: f64) = while_loop(s => abs(s * s - a) > 1e-12, s => 0.5 * (s + a / s), a)";
    assert!((at(root, 9.0) - 1.0 / 6.0).abs() < 1e-9);
    // A condition has no derivative.
    let count =
        "def f(x: f64) = to_f64(while_loop(i => to_f64(i) < x, i => i + 1, 0)) * 1.0 + 0.0 * x";
    assert_eq!(at(count, 2.5), 0.0);
}

/// A loop of `n` steps without a bound, one with, and one in chunks.
fn three_loops(n: usize) -> [String; 3] {
    // Every step is another, and all of them count.
    let next = "s + 0.01 * x * sin(0.1 * f64(i) + s)";
    let body = format!("(i, s) => i < {n}, (i, s) => (i + 1, {next}), (0, x)");
    let every = n.isqrt();
    [
        format!("def f(x: f64) = while_loop({body}).1"),
        format!("def f(x: f64) = while_loop({body}, at_most = {}).1", n + 3),
        format!("def f(x: f64) = while_loop({body}, at_most = {}, checkpoint = {every}).1", n + 3),
    ]
}

#[test]
fn long_loops_have_the_gradient_of_bounded_ones() {
    let at = [Value::scalar(0.9)];
    let compare = |n: usize| {
        let [unbounded, bounded, chunks] = three_loops(n).map(|text| gradient(&text, &at));
        assert_eq!(unbounded, bounded, "{n} steps");
        assert!((chunks[0][0] / bounded[0][0] - 1.0).abs() < 1e-12, "{chunks:?} {bounded:?}");
    };
    for n in [1, 5, CHECKPOINTS - 1, CHECKPOINTS, CHECKPOINTS + 1, 2 * CHECKPOINTS + 7] {
        compare(n);
    }
    // With few slots, up to many more steps than there is room for.
    for slots in [2, 3, 5] {
        for n in (1..=28).chain([200]) {
            with_slots(slots, || compare(n));
        }
    }
    // The same for second derivatives, forward over reverse.
    let at = [0.9, 1.0].map(Value::scalar);
    for n in [3, 8, 9, 30] {
        let [unbounded, bounded, _] = three_loops(n).map(|text| function(&text, &[]));
        let second = |f: &Program| numbers_of(hvp(f, None), &at);
        assert_eq!(with_slots(2, || second(&unbounded)), second(&bounded), "{n} steps");
    }
}

/// Operations and memory of the gradient of a loop without a bound, for each step.
fn cost_of_steps(n: usize) -> (f64, u64) {
    let [unbounded, _, _] = three_loops(n);
    let program = value_and_grad(&function(&unbounded, &[]), None).expect("a gradient");
    let counts = Interp::new(&program).run(&[Value::scalar(0.9)]).expect("a run").counts;
    (counts.scalar_ops as f64 / n as f64, counts.peak_bytes)
}

/// Lanes of a `build` that have ended run no blocks while they wait for the others.
#[test]
fn lanes_that_wait_run_no_steps() {
    let lanes = |steps: &str| {
        let text = format!(
            "def lane(x: f64, n: i64) = while_loop((i, s) => i < n, (i, s) => (i + 1, s * x + x), (0, x)).1
             def f(x: [3]f64) = sum(build 3 (i => lane(x[i], {steps}[i])))"
        );
        let program = value_and_grad(&function(&text, &[]), None).expect("a gradient");
        let x = Value::of(&[3], vec![0.5, 0.6, 0.7]).expect("three numbers");
        Interp::new(&program).run(&[x]).expect("a run").counts.scalar_ops
    };
    for slots in [2, CHECKPOINTS] {
        let (different, alike) = with_slots(slots, || (lanes("[1, 40, 7]"), lanes("[39, 40, 38]")));
        assert!(5 * different < 6 * alike, "{different} operations, {alike} of similar lanes");
    }
}

/// Saving states and what is needed of a block run a step once more each, whatever the number of steps.
#[test]
fn gradients_of_long_loops_take_time_in_proportion() {
    let (short, bytes) = cost_of_steps(CHECKPOINTS / 2);
    let (middle, _) = cost_of_steps(20 * CHECKPOINTS);
    let (long, more_bytes) = cost_of_steps(200 * CHECKPOINTS);
    assert!(middle < 1.6 * short, "{middle} operations a step, {short} in a short loop");
    assert!(long < 1.6 * short, "{long} operations a step, {short} in a short loop");
    assert!(more_bytes < bytes + 4096, "{more_bytes} bytes, {bytes} for a short loop");
    // Beyond all levels a step costs n / 2 K^2 more: here log2(n) is much more.
    for (slots, n) in [(8, 512), (16, 4096), (4, 64), (8, 1000)] {
        let (ops, _) = with_slots(slots, || cost_of_steps(n));
        assert!(ops < short * (n as f64).log2(), "{ops} operations a step of {n}");
    }
}

/// Chunks save memory, for one more run of the steps.
#[test]
fn chunks_need_less_memory() {
    let at = [Value::scalar(0.9)];
    let [_, bounded, chunks] = three_loops(400).map(|text| {
        let program = value_and_grad(&function(&text, &[]), None).expect("a gradient");
        Interp::new(&program).run(&at).expect("a run")
    });
    for (x, y) in bounded.outputs.iter().zip(&chunks.outputs) {
        assert!((floats(x)[0] / floats(y)[0] - 1.0).abs() < 1e-12);
    }
    let (whole, less) = (bounded.counts.peak_bytes, chunks.counts.peak_bytes);
    assert!(4 * less < whole, "{less} bytes in chunks, {whole} without");
    let (whole, more) = (bounded.counts.scalar_ops, chunks.counts.scalar_ops);
    assert!(more < 2 * whole, "{more} operations in chunks, {whole} without");
}

/// A tangent of a loop follows its states.
#[test]
fn forward_mode_is_one_loop() {
    let text = "def f(x: f64) = while_loop(s => s < 100.0, s => s * s, x)";
    let program = jvp(&function(text, &[]), None).expect("a derivative");
    let loops = program.terms().filter(|&t| program.node(t).name() == "while_accum").count();
    assert_eq!(loops, 1);
    let out = run(&program, &[3.0, 1.0].map(Value::scalar), Default::default()).expect("a run");
    // x^8 at 3.
    assert_eq!(out.iter().map(floats).collect::<Vec<_>>(), [[6561.0], [8.0 * 2187.0]]);
}
