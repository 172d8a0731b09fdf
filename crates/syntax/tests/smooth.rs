//! The gradient of every builtin function against central differences, at random shapes and points.
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::Rng;
use cotan_interp::{Interp, Value};
use cotan_ir::Program;
use cotan_ir::scalar::{Domain, Op, Rule, Scalar};
use cotan_syntax::{Group, builtins, instantiate, load_text};

/// A builtin, parameters, and an array that depends on them by way of it. Sizes are drawn anew for
/// each run; floats lie between 0.5 and 2.
const CASES: &[(&str, &str, &str)] = &[
    ("zeros", "x: [n]f64", "x * zeros([n])"),
    ("ones", "x: [n]f64", "x * ones([n])"),
    ("full", "x: f64, y: [n]f64", "full([2], x) * full([2], sum(y))"),
    ("full", "y: [n]f64", "full([2], y)"),
    ("eye", "x: [n, n]f64", "x * eye(n)"),
    ("len", "x: [n]f64", "x * len(x)"),
    ("shape", "x: [m, n]f64", "x * shape(x, 1)"),
    ("size", "x: [m, n]f64", "x / size(x)"),
    ("broadcast", "x: [m, 1]f64", "broadcast(x, [2, m, 3])"),
    ("flatten", "x: [m, n]f64", "flatten(x)"),
    ("concat", "x: [m, n]f64, y: [m, k]f64", "concat(x, y, x, axis = 1)"),
    ("reverse", "x: [m, n]f64", "reverse(x, axis = -1) * x"),
    ("concatenate", "x: [n]f64, y: [k]f64", "concatenate(x, y, x)"),
    ("flip", "x: [n]f64", "flip(x) * x"),
    ("overwrite", "x: [n]f64, y: [m, 2]f64", "overwrite(x, y, (i, j) => [(i + j) // 2]) * x[0]"),
    (
        "tree_map",
        "x: [n]f64, y: f64",
        "tree_map((a, b) => sum(a * b), {a = x, b = y}, {b = x, a = y}).b",
    ),
    ("take", "x: [n]f64", "take(x, [0, 2, 0, 9])"),
    ("sum", "x: [m, n, k]f64", "sum(x * x, axis = (0, 2))"),
    ("mean", "x: [m, n]f64", "mean(x * x, axis = 0)"),
    ("prod", "x: [m, n]f64", "prod(x, axis = 1)"),
    ("max", "x: [m, n]f64", "max(x, axis = 0)"),
    ("max", "x: [m, n]f64, y: [n]f64", "max(x, y)"),
    ("min", "x: [m, n]f64", "min(x)"),
    ("logsumexp", "x: [m, n]f64", "logsumexp(x, axis = 1)"),
    ("softmax", "x: [m, n]f64", "softmax(x, axis = 0)"),
    ("norm", "x: [m, n]f64", "norm(x, axis = 0)"),
    ("cumsum", "x: [m, n]f64", "cumsum(x * x, axis = 1)"),
    ("cumprod", "x: [m, n]f64", "cumprod(x, axis = 0)"),
    ("segment_sum", "x: [n, m]f64", "segment_sum(x * x, iota(n) % 2, 3)"),
    ("segment_mean", "x: [n, m]f64", "segment_mean(x * x, iota(n) % 2, 1)"),
    ("segment_max", "x: [n, m]f64", "max(segment_max(x, 1 - iota(n) // 2, 3), 0.0)"),
    ("segment_min", "x: [n]f64", "min(segment_min(x, iota(n) % 2, 2), 9.0)"),
    ("segment_argmax", "x: [n]f64", "take(x, segment_argmax(x, iota(n) // 2, 3))"),
    ("segment_argmin", "x: [n]f64", "take(x, segment_argmin(x, iota(n) // 2, 3))"),
    ("argmax", "x: [n]f64", "x[argmax(x)]"),
    ("argmin", "x: [n]f64", "x[argmin(x)]"),
    ("sort", "x: [m, n]f64", "sort(x, axis = 0) * f64(iota(n))"),
    ("argsort", "x: [n]f64", "take(x, argsort(x))"),
    ("dot", "x: [n]f64, y: [n]f64", "dot(x, y)"),
    ("matmul", "x: [m, k]f64, y: [2, k, n]f64", "matmul(x, y)"),
    ("map", "x: [m, n]f64", "map(row => row / sum(row), x)"),
    ("fold", "x: [n]f64, y: f64", "fold(y, x, (s, c) => sin(s) * c + y)"),
    (
        "fold",
        "x: [n]f64, y: f64",
        "fold(y, x, (s, c) => sin(s) * c + y, length = i64(2.5 + 0.0 * y))",
    ),
    (
        "fold",
        "x: [n]f64, y: f64",
        "fold(y, x, (s, c) => sin(s) * c, length = i64(2.5 + 0.0 * y), reverse = true)",
    ),
    ("scan", "x: [n]f64, y: f64", "scan(y, x, (s, c) => sin(s) * c, length = i64(1.5 + 0.0 * y))"),
    ("scan", "x: [n]f64, y: f64", "scan(y, x, (s, c) => sin(s) * c, reverse = true)"),
    ("map_accum", "x: [n]f64", "map_accum(1.0, x, (s, c) => (s * c, s + c)).1"),
    (
        "while_loop",
        "x: [n]f64, y: f64",
        "while_loop((i, s) => i < n, (i, s) => (i + 1, sin(s) * x[i] + y), (0, y)).1",
    ),
    (
        "while_loop",
        "x: [n]f64",
        "while_loop(s => sum(s * s) > 0.3, s => 0.9 * s * x / (1.0 + x), x)",
    ),
    (
        "while_loop",
        "x: f64, y: f64",
        "while_loop((i, s) => i < 7, (i, s) => (i + 1, sin(s) * x + y), (0, y), at_most = 9, checkpoint = 2).1",
    ),
    (
        "while_accum",
        "x: [n]f64, y: f64",
        "while_accum((0, y), ((i, s)) => (i < n, (i + 1, sin(s) * x[i]), s * y), at_most = 4).1",
    ),
    ("grad", "x: [n]f64", "grad(y => sum(y * y * y) * x[0])(x)"),
    ("value_and_grad", "x: [n]f64", "let (v, g) = value_and_grad(y => sum(y * y * y))(x) in v * g"),
    ("vjp", "x: [n]f64", "vjp(y => sin(y))(x, x).1"),
    ("jvp", "x: [n]f64", "jvp(y => sin(y))(x, x).1"),
    ("linearize", "x: [n]f64", "(let (y, df) = linearize(y => sin(y), x) in y * df(x))"),
    ("jacobian", "x: [n]f64", "jacobian(y => sin(y) * sum(y))(x)"),
    ("jacrev", "x: [n]f64", "jacrev(y => build n (i => y[i] * y[n - 1 - i]))(x)"),
    ("jacfwd", "x: [n]f64", "jacfwd(y => build n (i => y[i] * y[n - 1 - i]))(x)"),
    ("hvp", "x: [n]f64", "hvp(y => sum(exp(y)) * y[0])(x, x)"),
    ("hessian", "x: [n]f64", "hessian(y => sum(build n (i => y[i] * y[n - 1 - i] * y[i])))(x)"),
    ("custom_vjp", "x: [n]f64", "custom_vjp(x => x * x, (x, ct) => 2.0 * x * ct, x)"),
    ("custom_jvp", "x: [n]f64", "custom_jvp(x => x * x, (x, dx) => 2.0 * x * dx, x)"),
    (
        "with_vjp",
        "x: [n]f64",
        "with_vjp((x,), (x,), ((x,), (ct,)) => ((x * x,), (2.0 * x * ct,))).0",
    ),
    (
        "with_jvp",
        "x: [n]f64",
        "with_jvp((x,), (x,), ((x,), (dx,)) => ((x * x,), (2.0 * x * dx,))).0",
    ),
    ("f64", "x: [n]f64", "f64(x) * x"),
    ("clamp", "x: [n]f64", "clamp(x, 0.8, 1.6) * x"),
    ("square", "x: [n]f64", "square(x)"),
    ("clip", "x: [n]f64", "clip(x, 0.8, 1.6) * x"),
    ("relu", "x: [n]f64", "relu(x - 1.0) * x"),
    ("sigmoid", "x: [n]f64", "sigmoid(x)"),
    ("maximum", "x: [n]f64, y: f64", "maximum(x, y)"),
    ("minimum", "x: [n]f64, y: f64", "minimum(x, y)"),
    ("pi", "x: [n]f64", "sin(pi * x)"),
    ("cond", "x: f64, y: f64", "cond(x > y, x * y, y)"),
    ("sum_outer", "x: [m, n]f64", "sum_outer(x * x)"),
    ("segment_argmax_outer", "x: [n]f64", "take(x, segment_argmax_outer(x, iota(n) // 2, 3))"),
    ("segment_argmin_outer", "x: [n]f64", "take(x, segment_argmin_outer(x, iota(n) // 2, 3))"),
    ("gather", "x: [n]f64", "gather(x, [2, n], (i, j) => [j - i])"),
    ("scatter", "x: [m, n]f64", "scatter(x, [3], (i, j) => [(i + j) // 2])"),
    ("stack", "x: [n]f64, y: [n]f64", "stack(x, y, x * y)"),
    ("replicate", "x: [n]f64", "replicate(x, 3)"),
    ("transpose", "x: [m, n, k]f64", "transpose(x, [2, 0, 1])"),
    ("reshape", "x: [m, n]f64", "reshape(x, [n, m])"),
    ("iota", "x: [n]f64", "x * f64(iota(n))"),
    ("one_hot", "x: [n]f64", "one_hot(x, [2, 3], [1, 2])"),
    ("argmax_outer", "x: [n]f64", "x[argmax_outer(x)]"),
    ("argmin_outer", "x: [n]f64", "x[argmin_outer(x)]"),
    ("argsort_outer", "x: [n]f64", "take(x, argsort_outer(x))"),
];

/// Builtins whose results have no derivatives, or none to speak of.
const DISCRETE: [(&str, &str); 6] = [
    ("any", "of truth values"),
    ("all", "of truth values"),
    ("i64", "to integers"),
    ("bool", "to truth values"),
    ("f32", "differences in single precision say little"),
    ("empty", "without elements"),
];

fn program(text: &str, function: &str, sizes: &[(&str, usize)]) -> Program {
    let modules = load_text("smooth.ct", text).unwrap_or_else(|e| panic!("{text}\n{e}"));
    let made = instantiate(&modules, function, &[], sizes, &Default::default());
    made.unwrap_or_else(|e| panic!("{text}\n{e}")).program
}

fn run(program: &Program, inputs: &[Value]) -> Vec<Value> {
    Interp::new(program).run(inputs).expect("the program runs").outputs
}

fn real(x: Scalar) -> f64 {
    match x {
        Scalar::F64(x) => x,
        other => panic!("{other:?}"),
    }
}

/// Holds the gradient of `sum(sin(body))` by all parameters against differences.
fn check(params: &str, body: &str, sizes: &[(&str, usize)], mut draw: impl FnMut(usize) -> f64) {
    // What stands before a colon: types have none.
    let before: Vec<&str> = params.split(": ").collect();
    let names: Vec<&str> =
        before[..before.len() - 1].iter().filter_map(|part| part.split(' ').next_back()).collect();
    let all = names.join(", ");
    let text = format!(
        "def loss({params}): f64 = sum(sin({body}))\ndef it({params}) = grad(loss)({all})\n"
    );
    let used: Vec<(&str, usize)> = sizes
        .iter()
        .copied()
        .filter(|(name, _)| {
            let inside = |part: &str| part.split([',', ' ']).any(|word| word == *name);
            params.split(['[', ']']).skip(1).step_by(2).any(inside)
        })
        .collect();
    let (loss, gradient) = (program(&text, "loss", &used), program(&text, "it", &used));
    let types: Vec<_> = loss.inputs().iter().map(|input| input.ty.clone()).collect();
    let inputs: Vec<Value> = types
        .iter()
        .enumerate()
        .map(|(k, ty)| Value::from_fn(ty.clone(), |_| Scalar::F64(draw(k))).expect("a value"))
        .collect();
    let value = |inputs: &[Value]| real(run(&loss, inputs)[0].elements()[0]);
    let found = run(&gradient, &inputs);
    assert_eq!(found.len(), inputs.len(), "{text}");
    for (k, slope) in found.iter().enumerate() {
        for n in 0..inputs[k].elements().len() {
            let at = |h: f64| {
                let mut moved = inputs.clone();
                let mut elements = inputs[k].elements().to_vec();
                elements[n] = Scalar::F64(real(elements[n]) + h);
                moved[k] = Value::new(types[k].clone(), elements).expect("a value");
                value(&moved)
            };
            let difference = |h: f64| (at(h) - at(-h)) / (2.0 * h);
            let h = 1e-4;
            let expected = (4.0 * difference(h / 2.0) - difference(h)) / 3.0;
            let slope = real(slope.elements()[n]);
            assert!(
                (slope - expected).abs() <= 1e-7 * expected.abs().max(1.0),
                "{text}sizes {used:?}: by {} at {n}: {slope}, but differences give {expected}",
                names[k]
            );
        }
    }
}

#[test]
fn every_builtin_is_differentiated_as_differences_say() {
    let mut rng = Rng::new(7);
    for (name, params, body) in CASES {
        assert!(body.contains(name), "{name}");
        for _ in 0..4 {
            let sizes = ["m", "n", "k"].map(|size| (size, 1 + rng.below(4)));
            check(params, body, &sizes, |_| {
                0.5 + 1.5 * rng.below(1 << 20) as f64 / (1 << 20) as f64
            });
        }
    }
}

#[test]
fn the_table_names_every_builtin() {
    for builtin in builtins().iter().filter(|b| b.group != Group::Scalar) {
        let tested = CASES.iter().any(|(name, ..)| *name == builtin.name);
        let discrete = DISCRETE.iter().any(|(name, _)| *name == builtin.name);
        assert!(tested != discrete, "{}", builtin.name);
    }
}

#[test]
fn every_scalar_operation_is_differentiated_as_differences_say() {
    let mut rng = Rng::new(11);
    for op in Op::all() {
        let floats: &[bool] = match op.row().rule {
            Rule::Real1(..) | Rule::Numeric1(..) | Rule::Cast(cotan_array::Dtype::F64) => &[true],
            Rule::Real2(..) | Rule::Numeric2(..) => &[true, true],
            Rule::RealInt(..) => &[true, false],
            Rule::IntReal(_) => &[false, true],
            Rule::Select
            | Rule::Compare(_)
            | Rule::Logic1(..)
            | Rule::Logic2(..)
            | Rule::Int1(_)
            | Rule::Int2(_)
            | Rule::ToBits
            | Rule::FromBits
            | Rule::Cast(_) => {
                continue;
            }
        };
        // Constant by definition.
        if op == Op::StopGradient {
            continue;
        }
        let names = ["a", "b"];
        let params: Vec<String> = names
            .iter()
            .zip(floats)
            .filter(|(_, float)| **float)
            .map(|(n, _)| format!("{n}: [n]f64"))
            .collect();
        let args: Vec<&str> =
            names.iter().zip(floats).map(|(name, float)| if *float { name } else { "2" }).collect();
        let domains: Vec<Domain> = op
            .row()
            .domains
            .iter()
            .zip(floats)
            .filter(|(_, float)| **float)
            .map(|(d, _)| *d)
            .collect();
        let body = format!("{}({})", op.name(), args.join(", "));
        for _ in 0..3 {
            check(&params.join(", "), &body, &[("n", 3)], |k| {
                let unit = rng.below(1 << 20) as f64 / (1 << 20) as f64;
                let sign = if rng.below(2) == 0 { 1.0 } else { -1.0 };
                match domains[k] {
                    Domain::Any => 4.0 * unit - 2.0,
                    Domain::Positive | Domain::SmallNatural => 0.5 + 1.5 * unit,
                    Domain::NonZero => sign * (0.5 + 1.5 * unit),
                    Domain::Unit => 1.6 * unit - 0.8,
                    Domain::AboveOne => 1.2 + unit,
                    Domain::BetweenSteps => sign * (0.1 + 0.3 * unit + rng.below(3) as f64),
                }
            });
        }
    }
}
