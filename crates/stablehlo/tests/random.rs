//! Random programs and their derivatives: XLA against the reference interpreter.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod common;

use common::{apart, arrays, optimised, written};
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_ir::scalar::Scalar;
use cotan_pipeline::Derivative;
use cotan_testkit::exact::never_rounds;
use cotan_testkit::xla::Server;
use cotan_testkit::{
    Config, Equality, InputKind, Rng, bulk, derived, first_difference, for_each_case, generate,
    inputs_for, run_program,
};

/// The program as it is, in bulk operations, its derivative, or one of these optimised.
fn stage(program: Program, rng: &mut Rng) -> Result<Program, String> {
    let staged = match rng.below(8) {
        0 => return Ok(program),
        1 | 2 => bulk(&program)?,
        3 => derived(&program, Derivative::Jvp)?,
        _ => derived(&program, Derivative::Vjp)?,
    };
    if rng.chance(50) { optimised(&staged) } else { Ok(staged) }
}

/// How a case ended.
#[derive(PartialEq)]
enum Outcome {
    Agrees,
    /// The results differ by no more than rounding may change them by.
    LostToRounding,
}

/// How many times the largest change by noise two results may differ by.
const NOISE_FACTOR: f64 = 8.0;

/// Whether two results are as close as results of the interpreter under the noise of rounding are.
/// Programs such as `sin(cosh(exp(x)))` have no better answer.
fn lost_to_rounding(
    program: &Program,
    inputs: &[Value],
    expected: &[Value],
    found: &[Value],
) -> Result<bool, String> {
    let mut far: Vec<Vec<f64>> = expected.iter().map(|x| vec![0.0; x.elements().len()]).collect();
    for seed in 0..8 {
        let noisy = run_program(program, inputs, Mode::Noisy(seed)).map_err(|e| e.to_string())?;
        for (far, (x, y)) in far.iter_mut().zip(expected.iter().zip(&noisy)) {
            let pairs = x.elements().iter().zip(y.elements());
            for (far, (x, y)) in far.iter_mut().zip(pairs) {
                *far = distance(x, y).map_or(*far, |d| far.max(d));
            }
        }
    }
    let mut results = far.iter().zip(expected.iter().zip(found));
    Ok(results.all(|(far, (x, y))| {
        // As for the first comparison, an element may be off by what the largest one is.
        let allowed = NOISE_FACTOR * far.iter().copied().fold(0.0, f64::max);
        let mut pairs = x.elements().iter().zip(y.elements());
        pairs.all(|(x, y)| x.same(*y) || distance(x, y).is_some_and(|d| d <= allowed))
    }))
}

/// How far two floats are apart; nothing for other elements, and for what is not finite.
fn distance(x: &Scalar, y: &Scalar) -> Option<f64> {
    let distance = match (x, y) {
        (Scalar::F64(x), Scalar::F64(y)) => (x - y).abs(),
        (Scalar::F32(x), Scalar::F32(y)) => f64::from((x - y).abs()),
        _ => return None,
    };
    distance.is_finite().then_some(distance)
}

/// XLA solves triangular systems by products with inverses of blocks, so a NaN or infinity on the way
/// makes more of a column NaN than substitution does (docs/xla.md). There the results are those of the
/// interpreter.
fn without_spread(program: &Program, expected: &[Value], found: Vec<Value>) -> Vec<Value> {
    let odd = |x: &Scalar| real(x).is_some_and(f64::is_nan);
    let spreads = expected.iter().any(|x| x.elements().iter().any(odd))
        && program.to_string().contains("solve_");
    if !spreads {
        return found;
    }
    let kept = |(x, y): (&Value, Value)| {
        let pairs = x.elements().iter().zip(y.elements());
        let elements = pairs.map(|(x, y)| if odd(y) { *x } else { *y }).collect();
        Value::new(y.ty().clone(), elements).unwrap_or(y)
    };
    expected.iter().zip(found).map(kept).collect()
}

fn real(x: &Scalar) -> Option<f64> {
    match x {
        Scalar::F64(x) => Some(*x),
        Scalar::F32(x) => Some(f64::from(*x)),
        _ => None,
    }
}

fn agrees(
    server: &mut Server,
    rng: &mut Rng,
    program: &Program,
    inputs: &[Value],
    exact: bool,
) -> Result<Outcome, String> {
    let expected = run_program(program, inputs, Mode::Ieee).map_err(|e| e.to_string())?;
    let module = written(program, if rng.chance(70) { 0 } else { 512 })?;
    let found = server.run("xla", &module, &arrays(inputs))?;
    let found: Vec<Value> = found.iter().map(Value::from).collect();
    let found = without_spread(program, &expected, found);
    let difference = match exact {
        true => first_difference(&expected, &found, Equality::Values).map(|d| d.to_string()),
        false => expected.iter().zip(&found).find_map(|(x, y)| apart(program, x, y)),
    };
    match difference {
        None => Ok(Outcome::Agrees),
        Some(_) if !exact && lost_to_rounding(program, inputs, &expected, &found)? => {
            Ok(Outcome::LostToRounding)
        }
        Some(difference) => Err(format!("{difference}\nof\n{program}\n{module}")),
    }
}

/// Where nothing rounds, everything is the same but the signs of zeros.
#[test]
fn integers_are_exact() {
    let Some(mut server) = Server::start("integers") else { return };
    for_each_case("xla, integers", 150, |rng| {
        let program = generate(&Config::integers(), rng).map_err(|e| e.to_string())?;
        let program = stage(program, rng)?;
        let inputs =
            inputs_for(&program, rng, InputKind::SmallIntegers).map_err(|e| e.to_string())?;
        agrees(&mut server, rng, &program, &inputs, never_rounds(&program)).map(drop)
    });
}

/// Smooth programs of all operations agree up to rounding.
#[test]
fn floats_are_close() {
    let Some(mut server) = Server::start("floats") else { return };
    let (mut cases, mut lost) = (0, 0);
    for_each_case("xla, floats", 150, |rng| {
        let program = generate(&Config { spectra: false, ..Config::smooth() }, rng)
            .map_err(|e| e.to_string())?;
        let program = stage(program, rng)?;
        let inputs = inputs_for(&program, rng, InputKind::Generic).map_err(|e| e.to_string())?;
        let outcome = agrees(&mut server, rng, &program, &inputs, false)?;
        cases += 1;
        lost += usize::from(outcome == Outcome::LostToRounding);
        Ok(())
    });
    assert!(lost <= 1 + cases / 50, "{lost} of {cases} results are lost to rounding");
}
