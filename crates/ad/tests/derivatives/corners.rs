//! Corner cases: zeros that annihilate, nothing to differentiate, empty arrays and loops, repeated
//! and out-of-range indices, choices of inputs, and what is refused.

use cotan_ad::{grad, hessian, hvp, jacfwd, jacobian, jacrev, jvp, linearize, value_and_grad, vjp};
use cotan_array::Dtype;
use cotan_interp::{Mode, Value};
use cotan_ir::scalar::Scalar;
use cotan_ir::{Builder, Program, Type};
use cotan_testkit::{InputKind, Rng};

use crate::exact;
use crate::support::*;
use crate::ways::{forward_ways, reverse_ways};

const GUARDED_LOG: &str = "def f(x: f64) = where(x > 0.0, log(x), 0.0)";

/// The first three derivatives of the guarded logarithm at 0: the branch not taken adds nothing.
fn guarded_log_at_zero() -> [f64; 3] {
    let mut program = function(GUARDED_LOG, &[]);
    std::array::from_fn(|_| {
        program = grad(&program, None).expect("a gradient");
        numbers_of(Ok(program.clone()), &[Value::scalar(0.0)])[0][0]
    })
}

/// The second derivative of the guarded logarithm at 0, forward over reverse.
fn guarded_log_twice() -> f64 {
    let along = [Value::scalar(0.0), Value::scalar(1.0)];
    numbers_of(hvp(&function(GUARDED_LOG, &[]), None), &along)[0][0]
}

#[test]
fn a_branch_not_taken_contributes_exactly_nothing_at_any_order() {
    assert_eq!(guarded_log_at_zero(), [0.0; 3]);
    let at = |text: &str, x: f64| numbers_of(grad(&function(text, &[]), None), &[Value::scalar(x)]);
    for text in [
        "def f(x: f64) = where(x > 0.0, sqrt(x), 0.0)",
        "def f(x: f64) = where(x != 0.0, sin(x) / x, 1.0)",
        "def f(x: f64) = where(x != 0.0, x ** 0.5, 0.0)",
        "def f(x: f64) = if x > 0.0 then log(x) else 0.0",
        "def f(x: f64) = sum(build 3 (i => if x > 0.0 then log(x) * to_f64(i) else 0.0))",
        "def f(x: f64) = sum(where([x > 0.0, x > 0.0], [1.0 / x, log(x)], [0.0, 0.0]))",
    ] {
        assert_eq!(at(text, 0.0), [[0.0]], "{text}");
    }
    // The same by Hessian-vector products and Hessians.
    let program = function(GUARDED_LOG, &[]);
    assert_eq!(guarded_log_twice(), 0.0);
    assert_eq!(numbers_of(hessian(&program, None), &[Value::scalar(0.0)]), [[0.0]]);
}

#[test]
fn kinks_have_the_derivatives_of_the_documentation() {
    let at = |text: &str, x: f64| {
        numbers_of(grad(&function(text, &[]), None), &[Value::scalar(x)])[0][0]
    };
    assert_eq!(at("def f(x: f64) = abs(x)", 0.0), 0.0);
    assert_eq!(at("def f(x: f64) = max(0.0, x)", 0.0), 0.0);
    assert_eq!(at("def f(x: f64) = max(x, 0.0)", 0.0), 1.0);
    assert_eq!(at("def f(x: f64) = min(x, 0.0)", 0.0), 1.0);
    assert_eq!(at("def f(x: f64) = floor(x) * x", 2.5), 2.0);
    // A maximum goes to the first among equals.
    let program = function("def f(x: [3]f64) = max(x)", &[]);
    assert_eq!(numbers_of(grad(&program, None), &[vector(&[1.0, 7.0, 7.0])]), [[0.0, 1.0, 0.0]]);
}

/// The second derivatives of a power are symmetric also where the exponent is 0.
#[test]
fn powers_have_symmetric_second_derivatives() {
    let program = function("def f(a: f64, b: f64) = a ** b", &[]);
    for (a, b) in [(2.0f64, 0.0f64), (3.0, 1.0), (0.5, -2.0)] {
        let found = numbers_of(hessian(&program, None), &[Value::scalar(a), Value::scalar(b)]);
        let mixed = a.powf(b - 1.0) * (1.0 + b * a.ln());
        let expected = [b * (b - 1.0) * a.powf(b - 2.0), mixed, mixed, a.powf(b) * a.ln() * a.ln()];
        for (x, y) in found.iter().zip(expected) {
            assert!((x[0] - y).abs() < 1e-12 * (1.0 + y.abs()), "{found:?} {expected:?}");
        }
    }
    let at_zero = |x: f64, n: &str| {
        let text = format!("def f(x: f64) = x ** {n}");
        numbers_of(grad(&function(&text, &[]), None), &[Value::scalar(x)])[0][0]
    };
    assert_eq!(at_zero(0.0, "2.0"), 0.0);
    assert_eq!(at_zero(0.0, "1.0"), 1.0);
    assert_eq!(at_zero(0.0, "0.0"), 0.0);
    assert_eq!(at_zero(-3.0, "3.0"), 27.0);
}

#[test]
fn a_gradient_that_is_zero_is_zeros_of_the_right_type() {
    let text = "def f(x: [2, 3]f64, y: [4]f32, z: f64) = z * to_f64(argmax(y))";
    let program = checked(grad(&function(text, &[]), None)).unwrap();
    let types: Vec<String> = output_types(&program).iter().map(|t| t.to_string()).collect();
    assert_eq!(types, ["[2, 3]f64", "[4]f32", "f64"]);
    let mut rng = Rng::new(1);
    let point = Point::random(&program, &mut rng, InputKind::Generic).unwrap();
    let values = run(&program, &point.inputs, Mode::Ieee).unwrap();
    assert_eq!(floats(&values[0]), [0.0; 6]);
    assert_eq!(floats(&values[1]), [0.0; 4]);
    let tangents = checked(jvp(&function("def f(x: [3]f64) = floor(x)", &[]), None)).unwrap();
    let inputs = [vector(&[1.5, 2.5, 3.5]), vector(&[1.0, 1.0, 1.0])];
    assert_eq!(floats(&run(&tangents, &inputs, Mode::Ieee).unwrap()[1]), [0.0; 3]);
}

#[test]
fn stop_gradient_and_integers_pass_nothing() {
    let at = |text: &str, x: f64| numbers_of(grad(&function(text, &[]), None), &[Value::scalar(x)]);
    assert_eq!(at("def f(x: f64) = x * stop_gradient(x)", 3.0), [[3.0]]);
    assert_eq!(at("def f(x: f64) = stop_gradient(x * x)", 3.0), [[0.0]]);
    assert_eq!(at("def f(x: f64) = x * to_f64(to_i64(x))", 3.5), [[3.0]]);
    // An integer input is data: the gradient has no entry for it.
    let program = function("def f(n: i64, x: f64) = x * to_f64(n)", &[]);
    let names: Vec<String> =
        grad(&program, None).unwrap().outputs().iter().map(|o| o.name.clone()).collect();
    assert_eq!(names, ["grad.x"]);
}

/// Integers and truth values have no tangents and no cotangents in any of the derivatives, on either
/// side, but stay inputs and outputs of what has values.
#[test]
fn integers_and_truth_values_are_data_everywhere() {
    let text = "def f(n: i64, x: f64, p: bool, w: [2]f32) =
      {y = if p then x * x * to_f64(n) + to_f64(sum(w)) else x, more = n + 1, odd = n % 2 == 1}";
    let program = function(text, &[]);
    let interface = |made: cotan_ir::Result<Program>| -> [Vec<String>; 2] {
        let made = checked(made).unwrap();
        let inputs = made.inputs().iter().map(|i| i.name.clone());
        [inputs.collect(), made.outputs().iter().map(|o| o.name.clone()).collect()]
    };
    let primal = ["n", "x", "p", "w"];
    let with = |more: &[&'static str]| [&primal[..], more].concat();
    let values = ["y", "more", "odd"];
    let found = interface(vjp(&program, None));
    assert_eq!(found[0], with(&["ct.y"]));
    assert_eq!(found[1], [&values[..], &["grad.x", "grad.w"]].concat());
    assert_eq!(interface(grad(&program, None))[1], ["grad.x", "grad.w"]);
    let found = interface(jvp(&program, None));
    assert_eq!(found[0], with(&["d.x", "d.w"]));
    assert_eq!(found[1], [&values[..], &["d.y"]].concat());
    let found = interface(hvp(&program, None));
    assert_eq!(found[0], with(&["d.x", "d.w"]));
    assert_eq!(found[1].len(), 2);
    let found = linearize(&program, None).unwrap();
    assert_eq!(interface(Ok(found.primal.clone()))[0], primal);
    let linear = interface(Ok(found.linear.clone()));
    let tangents: Vec<&String> = linear[0].iter().filter(|name| name.starts_with("d.")).collect();
    assert_eq!(tangents, ["d.x", "d.w"]);
    assert_eq!(linear[1], ["d.y"]);
    for jacobian in [jacrev, jacfwd, jacobian] {
        let [inputs, outputs] = interface(jacobian(&program, None));
        assert_eq!((inputs, outputs.len()), (primal.map(String::from).to_vec(), 2));
    }
    assert_eq!(interface(hessian(&program, None))[1].len(), 4);

    let ints = [Value::scalar(3i64), Value::scalar(2.0), Value::scalar(true)];
    let w = Value::of(&[2], vec![1.0f32, 2.0]).unwrap();
    let tangents = [Value::scalar(1.0), Value::of(&[2], vec![10.0f32, 100.0]).unwrap()];
    let at: Vec<Value> = ints.into_iter().chain([w]).chain(tangents).collect();
    let values = run(&checked(jvp(&program, None)).unwrap(), &at, Mode::Ieee).unwrap();
    assert_eq!(elements(&values[1]), elements(&Value::scalar(4i64)));
    assert_eq!(elements(&values[2]), elements(&Value::scalar(true)));
    assert_eq!(floats(&values[3]), [12.0 + 110.0]);
    for derivative in [vjp, jvp, jacrev, jacfwd, jacobian, hvp, hessian] {
        let message = derivative(&program, Some(&[0])).expect_err("an integer").to_string();
        assert!(message.contains("cannot differentiate by `n`, which is i64"), "{message}");
    }
}

#[test]
fn any_choice_of_inputs_can_be_differentiated_by() {
    let program = function("def f(x: f64, y: f64, z: f64) = x * y * y * z * z * z", &[]);
    let inputs = [2.0, 3.0, 5.0].map(Value::scalar);
    let all = [9.0 * 125.0, 2.0 * 2.0 * 3.0 * 125.0, 2.0 * 9.0 * 3.0 * 25.0];
    for wrt in [vec![], vec![0], vec![2], vec![0, 2], vec![2, 0], vec![1, 2, 0]] {
        let expected: Vec<Vec<f64>> = wrt.iter().map(|&k| vec![all[k]]).collect();
        let derivative = value_and_grad(&program, Some(&wrt));
        assert_eq!(numbers_of(derivative, &inputs)[1..], expected, "{wrt:?}");
        let rows = numbers_of(jacrev(&program, Some(&wrt)), &inputs);
        assert_eq!(rows, expected, "{wrt:?}");
    }
}

/// Several outputs, of several types: cotangents of the float ones.
#[test]
fn cotangents_are_for_the_float_outputs() {
    let text = "def f(x: [3]f64) = {a = sum(x), top = argmax(x), b = to_f32(x * x)}";
    let program = checked(vjp(&function(text, &[]), None)).unwrap();
    let inputs: Vec<&str> = program.inputs().iter().map(|i| &*i.name).collect();
    let outputs: Vec<&str> = program.outputs().iter().map(|o| &*o.name).collect();
    assert_eq!(inputs, ["x", "ct.a", "ct.b"]);
    assert_eq!(outputs, ["a", "top", "b", "grad.x"]);
    assert_eq!(program.inputs()[2].ty.to_string(), "[3]f32");
    let ct = Value::of(&[3], vec![1.0f32, 0.0, 10.0]).unwrap();
    let inputs = [vector(&[1.0, 2.0, 3.0]), Value::scalar(100.0), ct];
    let values = run(&program, &inputs, Mode::Ieee).unwrap();
    assert_eq!(floats(&values[3]), [102.0, 100.0, 160.0]);
}

/// Programs in which every array or loop may be empty, and every index repeated or out of range.
const CORNERS: &[&str] = &[
    // Reads and writes that repeat and leave the array.
    "def f(x: [4]f64) = gather(x, [7], i => [i - 2])",
    "def f(x: [4]f64) = gather(x * x, [5], i => [i // 2])",
    "def f(x: [4]f64) = scatter(x * x, [3], i => [i - 1])",
    "def f(x: [4]f64) = scatter(x, [2], i => [0]) * 3.0",
    "def f(x: [3]f64, y: f64) = one_hot(y, [3], [5]) * x + one_hot(y * y, [3], [1])",
    "def f(x: [3]f64) = x[-1i64] + x[1] * x[1] + x[3]",
    // Many reads of one array, of elements and of rows.
    "def f(x: [3, 2]f64) = x[0, 0] * x[1, 1] + x[2, 0] * x[0, 0] * x[5, 0] + sum(x[1] * x[2] * x[0] * x[1])",
    "def f(x: [4]f64, i: i64) = x[i] * x[i + 1] * x[i + 2] * x[i] + x[0] * x[0]",
    // A permutation that is not its own inverse.
    "def f(x: [2, 2, 2]f64, y: [2, 2, 2]f64) = transpose(x * x, [1, 2, 0]) * y",
    // What counts as a constant.
    "def f(x: [3]f64) = x * stop_gradient(x * x)",
    // Sizes 0 and 1.
    "def f(x: [0]f64, y: f64) = sum(x * y) + y * y",
    "def f(x: [0, 3]f64) = sum(x, axis = 0)",
    "def f(x: [3, 0]f64, y: f64) = [sum(x) * y, y]",
    "def f(x: [1]f64) = [x[0] * x[0], x[0]]",
    // Extremes and sorting are reads at places that are constant.
    "def f(x: [5]f64) = max(x) * min(x)",
    "def f(x: [5]f64) = sort(x) * to_f64(iota(5))",
    "def f(x: [2, 3]f64) = x[argmax(x[0]), argmin(x[1])] * x[0, 0]",
    // Conversions.
    "def f(x: [3]f32) = to_f64(x) * to_f64(x)",
    "def f(x: [3]f64, y: f32) = sum(to_f32(x)) * y",
    // Loops: directions, no steps, constant starts, captures, discrete states, unused results.
    "def f(x: [4]f64) = fold(1.0, x, (s, v) => s * v + s)",
    "def f(x: [4]f64) = fold(1.0, x, (s, v) => s * v + s, reverse = true)",
    "def f(x: [0]f64, y: f64) = fold(y, x, (s, v) => s * v)",
    "def f(x: [0]f64, y: f64) = scan(y, x, (s, v) => s * v)",
    "def f(x: [4]f64, c: f64) = scan(0.0, x, (s, v) => s * c + v * c)",
    "def f(x: [4]f64, c: [4]f64) = scan(0.0, x, (s, v) => s * v + dot(c, c) * c[1], reverse = true)",
    "def f(x: [4]f64) = fold((1.0, 0), x, ((s, n), v) => (s * v + x[n], n + 1)).0",
    "def f(x: [4]f64) = fold((1.0, 0), x, ((s, n), v) => (s * v, n + 1)).1",
    "def f(x: [4]f64) = map_accum((1.0, 2.0), x, ((s, t), v) => ((t * v, s), (s + v, t)))",
    "def f(x: [4]f64) = map_accum(1.0, x, (s, v) => (s * v, s)).1",
    "def f(x: f64) = fold((x, 0.0, 0.0, 0.0), iota(3), ((a, b, c, d), _) => (a, a * b + 1.0, b, c)).3",
    // Loops in loops, three deep.
    "def f(x: [3]f64, y: f64) = fold(y, x, (s, v) => fold(s, x, (t, w) => t * w + v))",
    "def f(x: [2]f64, y: f64) = fold(y, x, (s, v) => fold(s, x, (t, w) => fold(t, x, (u, z) => u * z + w * v + s * y, reverse = true)))",
    "def f(x: [2, 3]f64) = scan(1.0, x, (s, row) => fold(s, row, (t, v) => t * v + s))",
    // Conditionals.
    "def f(x: f64, y: f64, p: bool) = if p then x * y else y * y",
    "def f(x: [3]f64, p: [3]bool) = where(p, x * x, 2.0 * x)",
    "def f(x: [3]f64) = fold(1.0, x, (s, v) => if v > s then s * v else s + v)",
];

#[test]
fn all_ways_agree_in_the_corners() {
    for text in CORNERS {
        let program = function(text, &[]);
        for seed in 0..8 {
            let outcome = exact::check(&program, &mut Rng::new(seed));
            outcome.unwrap_or_else(|e| panic!("{e}\nin {text}\n{program}"));
        }
    }
}

/// The scalar algorithm has no derivative either where it gives up.
#[test]
fn factors_that_do_not_exist_have_no_derivatives() {
    let infinite = f64::INFINITY;
    for (text, elements) in [
        ("def f(a: [2, 2]f64) = cholesky(a)", [[1.0, 2.0], [2.0, 1.0]]),
        ("def f(a: [2, 2]f64) = svd_values(a)", [[infinite, 2.0], [2.0, 1.0]]),
        ("def f(a: [2, 2]f64) = eigh_values(a)", [[infinite, 2.0], [2.0, 1.0]]),
    ] {
        let program = function(text, &[]);
        let element = |ix: &[usize]| Scalar::F64(elements[ix[0]][ix[1]]);
        let a = Value::from_fn(input_types(&program)[0].clone(), element).unwrap();
        let ones = |ty: &Type| Value::from_fn(ty.clone(), |_| Scalar::F64(1.0)).unwrap();
        let out = program.ty(program.outputs()[0].term).clone();
        let point =
            Point { tangents: vec![ones(a.ty())], cotangents: vec![ones(&out)], inputs: vec![a] };
        let reverse = reverse_ways(&program, &point, Mode::Ieee).unwrap();
        for (name, derivatives) in reverse {
            let found = floats(&derivatives[0]);
            let read = [0, 2, 3].iter().all(|&k| found[k].is_nan());
            assert!(read, "{text}, {name}: {found:?}");
        }
        for (name, derivatives) in forward_ways(&program, &point, Mode::Ieee).unwrap() {
            let found = floats(&derivatives[0]);
            assert!(found.iter().any(|x| x.is_nan()), "{text}, {name}: {found:?}");
        }
    }
}

/// The last pivot of a singular matrix is divided by nowhere.
#[test]
fn factors_of_singular_matrices_have_derivatives() {
    for (text, dims) in [
        ("def f(a: [2, 2]f64) = lu_factors(a)", 2),
        ("def f(a: [4, 4]f64) = lu_factors(a)", 4),
        ("def f(a: [4, 4]f64) = det(a)", 4),
    ] {
        let program = function(text, &[]);
        // The last row is the sum of those before, exactly.
        let above = |i: usize, j: usize| if i == j { 8.0 } else { (i + 2 * j) as f64 / 4.0 };
        let element = |ix: &[usize]| match ix[0] + 1 == dims {
            true => Scalar::F64((0..dims - 1).map(|i| above(i, ix[1])).sum()),
            false => Scalar::F64(above(ix[0], ix[1])),
        };
        let a = Value::from_fn(input_types(&program)[0].clone(), element).unwrap();
        let one = |_: &[usize]| Scalar::F64(1.0);
        let tangent = Value::from_fn(a.ty().clone(), one).unwrap();
        let out = program.ty(program.outputs()[0].term).clone();
        let cotangent = Value::from_fn(out, one).unwrap();
        let point = Point { inputs: vec![a], tangents: vec![tangent], cotangents: vec![cotangent] };
        for ways in [
            reverse_ways(&program, &point, Mode::Ieee).unwrap(),
            forward_ways(&program, &point, Mode::Ieee).unwrap(),
        ] {
            let expected = floats(&ways[0].1[0]);
            assert!(expected.iter().all(|x| x.is_finite()), "{text}: {expected:?}");
            for (name, derivatives) in &ways {
                let found = floats(&derivatives[0]);
                let close = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-9 * (1.0 + y.abs());
                assert!(found.iter().zip(&expected).all(close), "{name}: {found:?}, {expected:?}");
            }
        }
    }
}

fn refused(program: &Program, wrt: Option<&[usize]>) -> String {
    value_and_grad(program, wrt).map(|p| p.to_string()).expect_err("should be refused").to_string()
}

#[test]
fn what_cannot_be_differentiated_is_refused_with_a_reason() {
    let program = function("def f(n: i64, x: [3]f64) = x * to_f64(n)", &[]);
    let message = refused(&program, None);
    assert!(message.contains("the first output must be a float scalar, not [3]f64"), "{message}");
    let sum = function("def f(n: i64, x: [3]f64) = sum(x * to_f64(n))", &[]);
    let message = refused(&sum, Some(&[0]));
    assert!(message.contains("cannot differentiate by `n`, which is i64"), "{message}");
    let message = refused(&sum, Some(&[2]));
    assert!(message.contains("there is no input 2: the program has 2"), "{message}");
    let message = refused(&sum, Some(&[1, 1]));
    assert!(message.contains("input `x` is named twice"), "{message}");
    let message = refused(&function("def f(x: f64) = to_i64(x)", &[]), None);
    assert!(message.contains("the first output must be a float scalar, not i64"), "{message}");
    let message = refused(&Builder::new().finish(Vec::new()).unwrap(), None);
    assert!(message.contains("the program has no output"), "{message}");
    let mut b = Builder::new();
    let x = b.input("x", Type::scalar(Dtype::F64)).unwrap();
    let built = b.build(3, |_, _| Ok(x)).unwrap();
    let sum = b.sum_outer(built).unwrap();
    let message = refused(&one(b, sum), None);
    assert!(message.contains("the bulk-operation transform comes first"), "{message}");
}
