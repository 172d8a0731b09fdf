//! Over floats, on smooth random programs: against the scalar algorithm, and against differences.

use cotan_array::Dtype;
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_ir::scalar::{Op, Scalar};
use cotan_testkit::{Config, InputKind, Rng, for_each_case, generate, scaled};

use crate::rounding;
use crate::support::*;
use crate::ways::*;

fn all_floats(values: &[Value]) -> Vec<f64> {
    values.iter().flat_map(floats).collect()
}

fn dot(xs: &[f64], ys: &[f64]) -> f64 {
    assert_eq!(xs.len(), ys.len());
    xs.iter().zip(ys).map(|(x, y)| x * y).sum()
}

/// The largest magnitude.
fn norm(xs: &[f64]) -> f64 {
    xs.iter().fold(0.0, |m, x| m.max(x.abs()))
}

/// How a case ended.
enum Outcome {
    /// Both derivatives are there; whether they are other than 0.
    Compared { moving: bool },
    /// The point is no good: the derivative is not finite, or lost to rounding there.
    Skipped,
}

/// The point moved by `h` along its tangents.
fn moved(program: &Program, point: &Point, h: f64) -> Vec<Value> {
    let mut tangents = point.tangents.iter();
    let types = input_types(program);
    let moved = types.iter().zip(&point.inputs).map(|(ty, x)| {
        if !ty.dtype.is_float() {
            return x.clone();
        }
        let tangent = tangents.next().expect("a tangent").elements().iter();
        let elements = x.elements().iter().zip(tangent);
        let elements = elements.map(|(x, d)| match (x, d) {
            (Scalar::F64(x), Scalar::F64(d)) => Scalar::F64(x + h * d),
            other => panic!("{other:?}"),
        });
        Value::new(ty.clone(), elements.collect()).expect("a value")
    });
    moved.collect()
}

/// Reverse, forward and scalar derivatives agree up to the rounding of sums.
fn agree_closely(source: &Program, rng: &mut Rng) -> Result<Outcome, String> {
    let point = Point::random(source, rng, InputKind::Generic)?;
    let reverse = reverse_ways(source, &point, Mode::Ieee)?;
    let forward = forward_ways(source, &point, Mode::Ieee)?;
    // What a change in the last digits of the inputs does to the derivative tells how far rounding
    // may be seen in it.
    let nearby = Point { inputs: moved(source, &point, 1e-13), ..point.clone() };
    for (ways, again) in [
        (&reverse, reverse_by_scalars(source, &nearby, Mode::Ieee)?),
        (&forward, forward_by_scalars(source, &nearby, Mode::Ieee)?),
    ] {
        let (expected, again) = (all_floats(&ways[0].1), all_floats(&again));
        let scale = norm(&expected).max(1.0);
        let unsteady = expected.iter().zip(&again).any(|(x, y)| !((x - y).abs() <= 1e-11 * scale));
        if unsteady || !scale.is_finite() {
            return Ok(Outcome::Skipped);
        }
        for (name, values) in &ways[1..] {
            let values = all_floats(values);
            assert_eq!(values.len(), expected.len());
            for (x, y) in expected.iter().zip(&values) {
                if (x - y).abs() > 1e-10 * scale || x.is_nan() != y.is_nan() {
                    return Err(format!("{x} by scalars, {y} {name}"));
                }
            }
        }
    }
    let left = dot(&all_floats(&point.cotangents), &all_floats(&forward[0].1));
    let right = dot(&all_floats(&reverse[0].1), &all_floats(&point.tangents));
    let scale = norm(&all_floats(&forward[0].1)).max(norm(&all_floats(&reverse[0].1))).max(1.0);
    if (left - right).abs() > 1e-9 * scale * 100.0 {
        return Err(format!("{left} forward, {right} reverse"));
    }
    Ok(Outcome::Compared { moving: left != 0.0 })
}

/// The rounds of Ridders' method, and a step shorter than all of them.
const ROUNDS: usize = 8;
const SHORTEST: f64 = 1.0 / 2000.0;

/// Ridders' method: central differences extrapolated to step 0, with an estimate of the error.
fn derivative_at_zero(f: impl Fn(f64) -> f64) -> (f64, f64) {
    let (mut h, shrink) = (1.0 / 64.0, 1.6f64);
    let mut best = (f64::NAN, f64::INFINITY);
    let mut before: Vec<f64> = Vec::new();
    for _ in 0..ROUNDS {
        let mut row = vec![(f(h) - f(-h)) / (2.0 * h)];
        let mut factor = shrink * shrink;
        for (k, old) in before.iter().enumerate() {
            let better = (row[k] * factor - old) / (factor - 1.0);
            let error = (better - row[k]).abs().max((better - old).abs());
            if error < best.1 {
                best = (better, error);
            }
            row.push(better);
            factor *= shrink * shrink;
        }
        before = row;
        h /= shrink;
    }
    best
}

/// The derivative of the paired outputs along the tangents, against differences.
fn agree_with_differences(source: &Program, rng: &mut Rng) -> Result<Outcome, String> {
    judged_by_differences(source, rng, |found| found)
}

/// The same of what is claimed in place of the derivative.
fn judged_by_differences(
    source: &Program,
    rng: &mut Rng,
    claimed: impl Fn(f64) -> f64,
) -> Result<Outcome, String> {
    let mut point = Point::random(source, rng, InputKind::Generic)?;
    for values in [&mut point.tangents, &mut point.cotangents] {
        for value in values.iter_mut() {
            let ty = value.ty().clone();
            let unit = |_: &[usize]| Scalar::F64(rng.between(-8, 8) as f64 / 8.0);
            *value = Value::from_fn(ty, unit).map_err(text)?;
        }
    }
    let bulk = bulked(source)?;
    let float_outputs = |inputs: &[Value]| -> Checked<Vec<f64>> {
        let values = run(source, inputs, Mode::Ieee)?;
        Ok(all_floats(&values.into_iter().filter(|v| v.dtype().is_float()).collect::<Vec<_>>()))
    };
    let cotangents = all_floats(&point.cotangents);
    let at = |h: f64| match float_outputs(&moved(source, &point, h)) {
        Ok(values) => dot(&cotangents, &values),
        Err(_) => f64::NAN,
    };
    let (expected, error) = derivative_at_zero(at);
    let scale = 1.0f64.max(expected.abs());
    // Rounding hides small changes, in the results and anywhere on the way to them.
    let paired = |values: &[Value]| {
        let floats: Vec<Value> = values.iter().filter(|v| v.dtype().is_float()).cloned().collect();
        dot(&cotangents, &all_floats(&floats))
    };
    let values = float_outputs(&point.inputs)?;
    let largest = cotangents.iter().zip(values).map(|(c, x)| (c * x).abs()).sum::<f64>();
    let rounding = rounding::of(source, &point.inputs, rng, paired)? + f64::EPSILON * largest;
    let noise = rounding / SHORTEST;
    if !(error <= 1e-8 * scale && noise <= 1e-7 * scale) {
        return Ok(Outcome::Skipped);
    }
    let gradient = reverse_staged(&bulk, &point, Mode::Ieee)?;
    // Differences do not see what turns within a step, where a derivative is of any size.
    let nearby = Point { inputs: moved(source, &point, 1e-13), ..point.clone() };
    let (here, near) =
        (all_floats(&gradient), all_floats(&reverse_staged(&bulk, &nearby, Mode::Ieee)?));
    if here.iter().zip(&near).any(|(x, y)| (x - y).abs() > 1e-7 * norm(&here).max(1.0)) {
        return Ok(Outcome::Skipped);
    }
    let found = claimed(dot(&all_floats(&gradient), &all_floats(&point.tangents)));
    if (found - expected).abs() > 1e-6 * scale || found.is_nan() {
        return Err(format!("{found} by reverse mode, {expected} by differences (+- {error:e})"));
    }
    Ok(Outcome::Compared { moving: expected != 0.0 })
}

/// Programs whose derivatives may be compared.
fn config() -> Config {
    let mut config = Config { dtypes: vec![Dtype::F64; 4], ..Config::smooth().nodes(25) };
    // Differences of f32 say little, and do not stop at `stop_gradient`.
    config.ops.retain(|row| {
        let narrow = row.result == Dtype::F32 || row.args.contains(&Dtype::F32);
        !narrow && row.op != Op::StopGradient
    });
    config
}

/// Runs cases, of which at least the given share has to be compared.
fn mostly_compared(
    name: &str,
    count: usize,
    least_percent: usize,
    property: impl Fn(&Program, &mut Rng) -> Result<Outcome, String>,
) {
    let config = config();
    let (mut compared, mut nonzero, mut all) = (0, 0, 0);
    for_each_case(name, count, |rng| {
        let program = generate(&config, rng).map_err(text)?;
        if program.inputs().iter().all(|i| i.ty.dtype.is_float() && i.ty.shape.numel() == 0) {
            return Ok(());
        }
        all += 1;
        match property(&program, rng).map_err(|e| format!("{e}\nin\n{program}"))? {
            Outcome::Compared { moving } => {
                compared += 1;
                nonzero += usize::from(moving);
            }
            Outcome::Skipped => {}
        }
        Ok(())
    });
    println!("{name}: {compared} of {all} points compared, {nonzero} with a derivative not 0");
    assert!(compared * 100 >= all * least_percent, "{compared} of {all}");
    assert!(nonzero * 3 >= all, "{nonzero} of {all}");
}

#[test]
fn all_ways_agree_closely() {
    mostly_compared("floats agree", 500, 70, agree_closely);
}

#[test]
fn gradients_agree_with_differences() {
    mostly_compared("differences", 500, 60, agree_with_differences);
}

/// What differences leave undecided is not whatever is wrong: a derivative that is off by little is
/// refused at most points.
#[test]
fn differences_refuse_wrong_derivatives() {
    let config = config();
    let all = scaled(200) as u64;
    for off in [1e-4, -1e-2, 1.0] {
        let wrong = |found: f64| found + off * (1.0 + found.abs());
        let refused = |seed: &u64| {
            let rng = &mut Rng::new(*seed);
            let program = generate(&config, rng).expect("a program");
            judged_by_differences(&program, rng, wrong).is_err()
        };
        let count = (0..all).filter(refused).count() as u64;
        println!("{count} of {all} derivatives refused that are off by {off}");
        assert!(count * 10 >= all * 6, "{off}: {count} of {all}");
    }
}
