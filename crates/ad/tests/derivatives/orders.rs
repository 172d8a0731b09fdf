//! Derivatives of orders up to 4, in all mixtures of modes, at exact zeros and ones among others,
//! against jets; and branches that are not taken, which contribute exactly nothing at any order.

use cotan_ad::with_slots;
use cotan_ad::{grad, hessian, hvp, jacfwd, jacrev, jvp};
use cotan_array::Array;
use cotan_interp::{Mode, Value};
use cotan_ir::scalar::{Fp, Op, Scalar};
use cotan_ir::{Builder, Program, TermId};
use cotan_testkit::{Rng, for_each_case};

use crate::jets::{Expression, Jet, Number};
use crate::support::*;
use crate::ways::{forward_ways, reverse_ways};

/// Ways from a scalar function of a vector to its derivative along one vector, or two.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Jvp,
    Grad,
    JacFwd,
    JacRev,
    Hvp,
    Hessian,
}

impl How {
    fn orders(self) -> usize {
        match self {
            How::Jvp | How::Grad | How::JacFwd | How::JacRev => 1,
            How::Hvp | How::Hessian => 2,
        }
    }
}

/// $\langle t, v \rangle$ along the last axis.
fn dot(b: &mut Builder, t: TermId, v: &[f64]) -> cotan_ir::Result<TermId> {
    let rank = b.shape(t).rank();
    let last: Vec<usize> = std::iter::once(rank - 1).chain(0..rank - 1).collect();
    let mut t = b.transpose(&last, t)?;
    let mut sum = None;
    for (k, &v) in v.iter().enumerate() {
        let (at, v) = (b.scalar(k as i64)?, b.scalar(v)?);
        let element = b.index(t, &[at])?;
        let dims = b.shape(element).dims().to_vec();
        let mut factor = v;
        for &k in dims.iter().rev() {
            factor = b.replicate(k, factor)?;
        }
        let term = b.op(Op::Mul, &[element, factor])?;
        sum = Some(match sum {
            None => term,
            Some(sum) => b.op(Op::Add, &[sum, term])?,
        });
    }
    t = sum.expect("a direction");
    Ok(t)
}

/// The derivative of a function of one vector along some: again such a function.
fn along(f: &Program, how: How, directions: &[Vec<f64>]) -> Checked<Program> {
    let derivative = match how {
        How::Jvp => jvp(f, None),
        How::Grad => grad(f, None),
        How::JacFwd => jacfwd(f, None),
        How::JacRev => jacrev(f, None),
        How::Hvp => hvp(f, None),
        How::Hessian => hessian(f, None),
    };
    let derivative = checked(derivative)?;
    let make = || {
        let mut b = Builder::new();
        let mut inputs = declare(&mut b, f)?;
        if derivative.inputs().len() > inputs.len() {
            let shape = f.inputs()[0].ty.shape.clone();
            inputs.push(b.constant(&Array::from_vec(shape, directions[0].clone())?)?);
        }
        let mut t = *inline(&mut b, &derivative, &inputs)?.last().expect("an output");
        for v in directions.iter().rev().take(b.shape(t).rank()) {
            t = dot(&mut b, t, v)?;
        }
        b.finish_one(t)
    };
    bulked(&checked(make())?)
}

/// All ways of the last derivative, at a point.
fn last(f: &Program, x: &[f64], v: &[f64], mode: Mode) -> Checked<Vec<(String, Scalar)>> {
    let point = Point {
        inputs: vec![vector(x)],
        tangents: vec![vector(v)],
        cotangents: vec![Value::scalar(1.0)],
    };
    let mut found = Vec::new();
    for (name, values) in forward_ways(f, &point, mode)? {
        found.push((name.to_string(), values[0].elements()[0]));
    }
    for (name, values) in reverse_ways(f, &point, mode)? {
        let products = values[0].elements().iter().zip(v).map(|(&g, &v)| times(g, v));
        let sum = products.reduce(plus).expect("elements");
        found.push((name.to_string(), sum));
    }
    Ok(found)
}

fn times(g: Scalar, v: f64) -> Scalar {
    match g {
        Scalar::Fp(g) => Scalar::Fp(g * Fp::from_f64(v)),
        Scalar::F64(g) => Scalar::F64(g * v),
        other => panic!("{other:?}"),
    }
}

fn plus(a: Scalar, b: Scalar) -> Scalar {
    match (a, b) {
        (Scalar::Fp(a), Scalar::Fp(b)) => Scalar::Fp(a + b),
        (Scalar::F64(a), Scalar::F64(b)) => Scalar::F64(a + b),
        other => panic!("{other:?}"),
    }
}

/// A function of a vector as a text and on jets.
struct Case {
    form: usize,
    expression: Expression,
}

const SIZE: usize = 3;

impl Case {
    fn random(exact: bool, rng: &mut Rng) -> Case {
        let steps = 2 + rng.below(6);
        Case { form: rng.below(4), expression: Expression::random(3, steps, exact, rng) }
    }

    fn text(&self) -> String {
        let names = |names: [&str; 3]| names.map(String::from);
        let body = match self.form {
            0 => self.expression.text(&names(["x[0]", "x[1]", "x[2]"])),
            1 => {
                let lane = names(["x[i]", "x[(i + 1) % 3]", "x[0]"]);
                format!("sum(build 3 (i => {}))", self.expression.text(&lane))
            }
            2 => {
                let step = self.expression.text(&names(["s", "v", "x[1]"]));
                format!("fold(x[0], x, (s, v) => {step})")
            }
            _ => {
                let step = self.expression.text(&names(["s", "x[0]", "x[2]"]));
                format!("while_loop((i, s) => i < 2, (i, s) => (i + 1, {step}), (0, x[1])).1")
            }
        };
        format!("def f(x: [{SIZE}]f64) = {body}")
    }

    /// The jet of the result, and all on the way to it.
    fn jets<R: Number>(&self, x: &[Jet<R>], order: usize) -> Vec<Jet<R>> {
        let mut all = Vec::new();
        let mut run = |variables: [&Jet<R>; 3]| {
            let jets = self.expression.jets(&variables.map(Clone::clone), order);
            all.extend(jets);
            all[all.len() - 1].clone()
        };
        let result = match self.form {
            0 => run([&x[0], &x[1], &x[2]]),
            1 => {
                let lanes: Vec<Jet<R>> =
                    (0..3).map(|i| run([&x[i], &x[(i + 1) % 3], &x[0]])).collect();
                lanes[0].plus(&lanes[1]).plus(&lanes[2])
            }
            2 => x.iter().fold(x[0].clone(), |s, v| run([&s, v, &x[1]])),
            _ => (0..2).fold(x[1].clone(), |s, _| run([&s, &x[0], &x[2]])),
        };
        all.push(result);
        all
    }
}

fn random_vector(rng: &mut Rng) -> Vec<f64> {
    (0..SIZE).map(|_| *rng.pick(&[0.0, 0.0, 0.0, 1.0, 1.0, -1.0, 2.0, 0.5])).collect()
}

/// The derivative of a random order in a random mixture of modes is the Taylor coefficient.
fn check(exact: bool, rng: &mut Rng) -> Checked<bool> {
    let case = Case::random(exact, rng);
    let order = 2 + rng.below(3);
    let x = random_vector(rng);
    let directions: Vec<Vec<f64>> = (0..order).map(|_| random_vector(rng)).collect();
    let seeds = |k: usize| -> Vec<f64> { directions.iter().map(|v| v[k]).collect() };
    let floats: Option<Vec<Jet<f64>>> = (!exact).then(|| {
        let variables: Vec<Jet<f64>> = (0..SIZE).map(|k| Jet::variable(x[k], &seeds(k))).collect();
        case.jets(&variables, order)
    });
    let largest = floats.iter().flatten().fold(1.0, |most: f64, jet| {
        if jet.largest().is_nan() { f64::INFINITY } else { most.max(jet.largest()) }
    });
    if largest > 1e6 {
        return Ok(false);
    }
    let text = case.text();
    let mut f = function(&text, &[]);
    let (mut done, mut ways) = (0, Vec::new());
    while done < order - 1 {
        let all = [How::Jvp, How::Grad, How::JacFwd, How::JacRev, How::Hvp, How::Hessian];
        let how = *rng.pick(if done + 2 < order { &all } else { &all[..4] });
        f = along(&f, how, &directions[done..done + how.orders()])?;
        done += how.orders();
        ways.push(how);
    }
    let mode = if exact { Mode::Field } else { Mode::Ieee };
    let expected = match &floats {
        Some(jets) => Scalar::F64(jets[jets.len() - 1].last()),
        None => {
            let variables: Vec<Jet<Fp>> =
                (0..SIZE).map(|k| Jet::variable(x[k], &seeds(k))).collect();
            Scalar::Fp(case.jets(&variables, order).last().expect("a result").last())
        }
    };
    for (name, found) in last(&f, &x, &directions[order - 1], mode)? {
        let same = match (found, expected) {
            (Scalar::F64(a), Scalar::F64(b)) => (a - b).abs() <= 1e-9 * largest * largest,
            (a, b) => a.same(b),
        };
        if !same {
            return Err(format!(
                "{ways:?}, then {name}: {found:?}, not {expected:?}\nat {x:?} along \
                 {directions:?}\n{text}"
            ));
        }
    }
    Ok(true)
}

fn compared(name: &str, cases: usize, exact: bool) {
    let (mut all, mut compared) = (0, 0);
    for_each_case(name, cases, |rng| {
        all += 1;
        // Few slots are enough for loops of two steps; each derivative has all of them once more.
        compared += usize::from(with_slots(4, || check(exact, rng))?);
        Ok(())
    });
    assert!(2 * compared >= all, "{compared} of {all}");
}

/// Polynomials and choices, without rounding.
#[test]
fn derivatives_in_the_field_are_taylor_coefficients() {
    compared("orders, exact", 150, true);
}

#[test]
fn derivatives_are_taylor_coefficients() {
    compared("orders", 500, false);
}

/// Every mixture of forward and reverse mode, of an order.
fn mixtures(order: usize) -> Vec<Vec<How>> {
    let how = |n: usize, k: usize| if n >> k & 1 == 0 { How::Jvp } else { How::Grad };
    (0..1 << order).map(|n| (0..order).map(|k| how(n, k)).collect()).collect()
}

/// The derivatives of a function of one number at `x` along the vectors of ones, of each order from
/// 1 on, in every mixture.
fn derivatives(text: &str, x: f64, orders: usize) -> Vec<Vec<(Vec<How>, f64)>> {
    let f = function(text, &[]);
    let of_order = |order: usize| {
        let found = mixtures(order).into_iter().map(|mixture| {
            let mut f = f.clone();
            for &how in &mixture {
                f = along(&f, how, &[vec![1.0]]).unwrap_or_else(|e| panic!("{e}\n{text}"));
            }
            let values = run(&f, &[vector(&[x])], Mode::Ieee).expect("a run");
            (mixture, floats(&values[0])[0])
        });
        found.collect()
    };
    (1..=orders).map(of_order).collect()
}

fn assert_derivatives(text: &str, x: f64, expected: &[f64]) {
    let found = derivatives(text, x, expected.len());
    for (all, &expected) in found.iter().zip(expected) {
        for (mixture, found) in all {
            let near = (found - expected).abs() <= 1e-12 * (1.0 + expected.abs());
            assert!(near, "{mixture:?}: {found}, not {expected}, at {x} of {text}");
        }
    }
}

#[test]
fn zeros_and_ones_are_points_like_others() {
    let of = |body: &str| format!("def f(x: [1]f64) = let x = x[0] in {body}");
    assert_derivatives(&of("x * x * x"), 0.0, &[0.0, 0.0, 6.0, 0.0]);
    assert_derivatives(&of("x * x * x * x"), 0.0, &[0.0, 0.0, 0.0, 24.0]);
    assert_derivatives(&of("x ** 3.0"), 0.0, &[0.0, 0.0, 6.0, 0.0]);
    assert_derivatives(&of("x ** 4.0"), 1.0, &[4.0, 12.0, 24.0, 24.0]);
    assert_derivatives(&of("powi(x, 4)"), 0.0, &[0.0, 0.0, 0.0, 24.0]);
    assert_derivatives(&of("exp(x * x)"), 0.0, &[0.0, 2.0, 0.0, 12.0]);
    assert_derivatives(&of("sin(x * x)"), 0.0, &[0.0, 2.0, 0.0, 0.0]);
    assert_derivatives(&of("cos(x * x)"), 0.0, &[0.0, 0.0, 0.0, -12.0]);
    assert_derivatives(&of("tanh(x) * tanh(x)"), 0.0, &[0.0, 2.0, 0.0, -16.0]);
    assert_derivatives(&of("log(1.0 + x * x)"), 0.0, &[0.0, 2.0, 0.0, -12.0]);
    assert_derivatives(&of("x * sin(x)"), 0.0, &[0.0, 2.0, 0.0, -4.0]);
    assert_derivatives(&of("1.0 / (1.0 + x * x)"), 0.0, &[0.0, -2.0, 0.0, 24.0]);
    assert_derivatives(&of("sum(build 3 (i => x * x * x * to_f64(i)))"), 0.0, &[0.0, 0.0, 18.0]);
    assert_derivatives(&of("fold(x, iota(3), (s, _) => s * x)"), 0.0, &[0.0, 0.0, 0.0, 24.0]);
    let power = "while_loop((i, s) => i < 3, (i, s) => (i + 1, s * x), (0, x)).1";
    assert_derivatives(&of(power), 0.0, &[0.0, 0.0, 0.0, 24.0]);
    // Rosenbrock's function along x at (1, 1).
    let rosenbrock = of("let u = 1.0 - x in let v = 1.0 - x * x in u * u + 100.0 * v * v");
    assert_derivatives(&rosenbrock, 1.0, &[0.0, 802.0, 2400.0, 2400.0]);
}

/// What is not taken, at a point where it and its derivatives are infinite or NaN.
const NOT_TAKEN: &[(&str, f64)] = &[
    ("where(x > 0.0, log(x), 0.0)", 0.0),
    ("where(x > 0.0, log(x), 0.0)", -1.0),
    ("where(x > 0.0, log(x), 0.0)", f64::NAN),
    ("where(x > 0.0, sqrt(x), 0.0)", 0.0),
    ("where(x > 0.0, sqrt(x), 0.0)", -0.0),
    ("where(x > 0.0, x ** 1.5, 0.0)", 0.0),
    ("where(x > 0.0, x ** 2.5, 0.0)", 0.0),
    ("where(x > 0.0, x ** x, 0.0)", 0.0),
    ("where(x != 0.0, 1.0 / x, 0.0)", 0.0),
    ("where(x != 0.0, sin(x) / x, 1.0)", 0.0),
    ("where(x < 1.0, asin(x), 0.0)", 1.0),
    ("where(x < 700.0, exp(x * x), 0.0)", f64::INFINITY),
    ("where(x < 700.0, sin(x) * x, 0.0)", f64::INFINITY),
    ("where(x > 0.0, sin(sqrt(x)) * x, 0.0)", 0.0),
    ("where(x > 0.0, exp(1.0 / x) * log(x), 0.0)", 0.0),
    ("where(x > 0.0, where(x > 1.0, 1.0 / x, log(x)), 0.0)", 0.0),
    ("where(x > 0.0, where(x > -1.0, 1.0 / x, log(x)), 0.0)", 0.0),
    ("if x > 0.0 then log(x) else 0.0", 0.0),
    ("if x > 0.0 then (if x > 1.0 then sqrt(x) else log(x) * x) else 0.0", 0.0),
    ("cos(where(x > 0.0, log(x), 0.0))", 0.0),
    ("exp(where(x > 0.0, sqrt(x), 0.0))", 0.0),
    ("where(x > 0.0, log(x), 0.0) * where(x > 0.0, sqrt(x), 2.0)", 0.0),
    ("max(1.0, sqrt(x))", 0.0),
    ("min(-1.0, -sqrt(x)) + max(2.0, x ** 1.5)", 0.0),
    ("sum(build 3 (i => if x > 0.0 then log(x) * to_f64(i) else 0.0))", 0.0),
    ("sum(build 3 (i => where(x > to_f64(i), log(x) * x, 1.0)))", 0.0),
    ("sum(where([x > 0.0, x > 0.0], [1.0 / x, log(x)], [0.0, 0.0]))", 0.0),
    ("fold(1.0, iota(2), (s, i) => s * where(x > 0.0, log(x) * s, 2.0))", 0.0),
    ("fold(x, iota(2), (s, i) => if s > 0.0 then sqrt(s) else 0.0)", 0.0),
    ("while_loop((i, s) => i < 2, (i, s) => (i + 1, where(x > 0.0, sqrt(x), s)), (0, 1.0)).1", 0.0),
    ("if x > 0.0 then while_loop(s => s > 0.0, s => sqrt(s), x) else 1.0", 0.0),
    (
        "sum(build 3 (k => while_loop((i, s) => i < k, (i, s) => \
         (i + 1, where(x > 0.0, log(x) * s, s)), (0, 1.0)).1))",
        0.0,
    ),
];

#[test]
fn branches_not_taken_contribute_nothing_at_any_order() {
    for (body, x) in NOT_TAKEN {
        let text = format!("def f(x: [1]f64) = let x = x[0] in {body}");
        let orders = if body.contains("while_loop") { 3 } else { 4 };
        for (mixture, found) in derivatives(&text, *x, orders).into_iter().flatten() {
            assert_eq!(found, 0.0, "{mixture:?} at {x} of {body}");
        }
        // Beside what is taken, and times it.
        if x.is_finite() && *x >= 0.0 {
            let text =
                format!("def f(x: [1]f64) = let x = x[0] in let y = {body} in x * x + y * 0.5");
            assert_derivatives(&text, *x, &[2.0 * x, 2.0, 0.0]);
        }
    }
}

/// The second derivatives along x at (0, 0), where the gradient by z is infinite, of a function of x
/// in a branch that is not taken.
pub fn dead_beside_infinite() -> [f64; 2] {
    let f = function("def f(x: f64, z: f64) = sqrt(z * where(x > 0.0, log(x), 2.0))", &[]);
    let at = [0.0, 0.0, 1.0, 0.0].map(Value::scalar);
    let found = numbers_of(hvp(&f, None), &at);
    [found[0][0], found[1][0]]
}

/// A derivative that is dead stays so beside an infinite one: zeros of both factors annihilate.
#[test]
fn infinite_derivatives_leave_dead_ones_alone() {
    assert_eq!(dead_beside_infinite(), [0.0, 0.0]);
    // By z infinite; by x nothing but what is not taken.
    let f = function("def f(x: f64, z: f64) = sqrt(z) * where(x > 0.0, log(x), 2.0)", &[]);
    let at = [Value::scalar(0.0), Value::scalar(0.0)];
    let blocks = numbers_of(hessian(&f, None), &at);
    assert_eq!((blocks[0][0], blocks[1][0], blocks[2][0]), (0.0, 0.0, 0.0), "{blocks:?}");
    let third = grad(&grad(&along_x(&f), Some(&[0])).expect("twice"), Some(&[0]));
    assert_eq!(numbers_of(third, &at), [[0.0]]);
}

/// The derivative by the first of two numbers.
fn along_x(f: &Program) -> Program {
    checked(grad(f, Some(&[0]))).expect("a gradient")
}

/// A map that is linear has the same derivative everywhere, also at 0 where it is infinite.
#[test]
fn the_derivative_of_a_tangent_does_not_depend_on_it() {
    let f = function("def f(x: f64) = sqrt(x)", &[]);
    let tangent = jvp(&f, None).expect("a tangent");
    for v in [0.0, 1.0, -2.0] {
        let by_v = cotan_ad::vjp(&tangent, Some(&[1]));
        let at = [0.0, v, 0.0, 1.0].map(Value::scalar);
        assert_eq!(numbers_of(by_v, &at)[2], [f64::INFINITY], "{v}");
    }
}

/// Hessians of tangents are symmetric, at zero tangents too.
#[test]
fn hessians_of_tangents_are_symmetric() {
    let f = function("def f(x: f64) = x * x * x", &[]);
    let tangent = jvp(&f, None).expect("a tangent");
    let mut b = Builder::new();
    let inputs = declare(&mut b, &tangent).expect("inputs");
    let outputs = inline(&mut b, &tangent, &inputs).expect("outputs");
    let tangent = one(b, outputs[1]);
    for (x, v) in [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (2.0, -1.0)] {
        let found = numbers_of(hessian(&tangent, None), &[Value::scalar(x), Value::scalar(v)]);
        assert_eq!(found.concat(), [6.0 * v, 6.0 * x, 6.0 * x, 0.0], "{x} {v}");
    }
}
