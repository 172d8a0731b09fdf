//! Derivatives of one program, checked against each other and against differences.

use cotan_interp::{Mode, Value};
use cotan_ir::scalar::{Fp, Scalar};
use cotan_ir::{Program, Type};
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};

use crate::{Equality, InputKind, Rng, fail, first_difference, run_program, value_of};

/// How far a float derivative may be from the extrapolated difference, relative to its size.
const DIFFERENCE_TOLERANCE: f64 = 1e-5;

/// Checks a program at inputs, of which the floats are differentiated:
///
/// * in bulk operations it gives the same, exactly over the field and to a few ulps over floats;
/// * reverse and forward mode are transposes of each other, $\langle \bar y, J \dot x \rangle =
///   \langle J^T \bar y, \dot x \rangle$, exactly over the field;
/// * both are the same over floats, up to rounding;
/// * if `smooth`, the directional derivative is that of extrapolated central differences.
pub fn check_gradients(
    program: &Program,
    inputs: &[Value],
    smooth: bool,
    rng: &mut Rng,
) -> Result<(), String> {
    let text = |what: &str| format!("{what}\nof\n{program}");
    let bulk = Pipeline::new(&[Pass::BULK]).run(program).map_err(|e| text(&e.to_string()))?;
    let run = |program: &Program, inputs: &[Value], mode: Mode| {
        run_program(program, inputs, mode).map_err(|e| text(&e.to_string()))
    };
    let field: Vec<Value> = inputs.iter().map(|v| v.clone().into_field()).collect();
    for (mode, inputs, equality) in [
        (Mode::Field, &field[..], Equality::Values),
        (Mode::Ieee, inputs, Equality::ScaledUlps(64)),
    ] {
        let (left, right) = (run(program, inputs, mode)?, run(&bulk, inputs, mode)?);
        if let Some(difference) = first_difference(&left, &right, equality) {
            return Err(text(&format!("bulk operations differ, {mode:?}: {difference}")));
        }
    }

    let wrt: Vec<usize> =
        (0..inputs.len()).filter(|&k| program.inputs()[k].ty.dtype.is_float()).collect();
    let results: Vec<Type> =
        program.outputs().iter().map(|output| program.ty(output.term).clone()).collect();
    if wrt.is_empty() || !results.iter().any(|ty| ty.dtype.is_float()) {
        return Ok(());
    }
    let derivative = |kind| derive(program, kind, Some(&wrt)).map_err(|e| text(&e.to_string()));
    let (forward, reverse) = (derivative(Derivative::Jvp)?, derivative(Derivative::Vjp)?);
    let directions = |kind: InputKind, rng: &mut Rng| -> Result<(Vec<Value>, Vec<Value>), String> {
        let make = |ty: &Type, rng: &mut Rng| value_of(ty, rng, kind).map_err(|e| e.to_string());
        let tangents: Result<Vec<Value>, String> =
            wrt.iter().map(|&k| make(&program.inputs()[k].ty, rng)).collect();
        let floats = results.iter().filter(|ty| ty.dtype.is_float());
        let cotangents: Result<Vec<Value>, String> = floats.map(|ty| make(ty, rng)).collect();
        Ok((tangents?, cotangents?))
    };

    let (dx, y_bar) = directions(InputKind::Field, rng)?;
    let dy = run(&forward, &[&field[..], &dx].concat(), Mode::Field)?.split_off(results.len());
    let x_bar =
        run(&reverse, &[&field[..], &y_bar].concat(), Mode::Field)?.split_off(results.len());
    let (along, back) = (field_dot(&y_bar, &dy), field_dot(&x_bar, &dx));
    if along != back {
        let message = format!("reverse and forward mode differ over the field: {back:?} {along:?}");
        return Err(text(&message));
    }

    let (dx, y_bar) = directions(InputKind::Generic, rng)?;
    let dy = run(&forward, &[inputs, &dx].concat(), Mode::Ieee)?.split_off(results.len());
    let x_bar = run(&reverse, &[inputs, &y_bar].concat(), Mode::Ieee)?.split_off(results.len());
    let (along, back) = (dot(&y_bar, &dy), dot(&x_bar, &dx));
    if (along.0 - back.0).abs() > 1e-8 * (along.1 + back.1 + 1e-30) && along.0.is_finite() {
        let message = format!("reverse mode gives {}, forward mode {}", back.0, along.0);
        return Err(text(&message));
    }
    if !smooth {
        return Ok(());
    }
    let at = |h: f64| -> Result<Vec<Value>, String> {
        let mut moved = inputs.to_vec();
        for (&k, dx) in wrt.iter().zip(&dx) {
            moved[k] = shifted(&inputs[k], dx, h);
        }
        run(program, &moved, Mode::Ieee)
    };
    let central = |h: f64| -> Result<Vec<Vec<f64>>, String> {
        let (after, before) = (floats(&at(h)?), floats(&at(-h)?));
        let pairs = after.iter().zip(&before);
        Ok(pairs
            .map(|(a, b)| a.iter().zip(b).map(|(a, b)| (a - b) / (2.0 * h)).collect())
            .collect())
    };
    let h = 1e-3 / (1.0 + largest(&dx));
    let (coarse, fine) = (central(h)?, central(h / 2.0)?);
    for (n, (dy, (coarse, fine))) in floats(&dy).iter().zip(coarse.iter().zip(&fine)).enumerate() {
        for (at, (&dy, (&c, &f))) in dy.iter().zip(coarse.iter().zip(fine)).enumerate() {
            let extrapolated = (4.0 * f - c) / 3.0;
            let size = dy.abs().max(extrapolated.abs()).max(1.0);
            let close = (dy - extrapolated).abs() <= DIFFERENCE_TOLERANCE * size;
            if !close {
                return Err(text(&format!(
                    "element {at} of float result {n}: derivative {dy}, difference {extrapolated}"
                )));
            }
        }
    }
    Ok(())
}

/// The sum of products of two lists of arrays, over the field.
pub fn field_dot(xs: &[Value], ys: &[Value]) -> Fp {
    let field = |x: &Scalar| match x.into_field() {
        Scalar::Fp(x) => x,
        other => fail(&format!("{other:?} is no element of the field")),
    };
    let elements = |vs: &[Value]| -> Vec<Fp> {
        vs.iter().flat_map(|v| v.elements().iter().map(field)).collect()
    };
    let (xs, ys) = (elements(xs), elements(ys));
    assert_eq!(xs.len(), ys.len(), "lists of different sizes");
    xs.iter().zip(&ys).fold(Fp::ZERO, |sum, (&x, &y)| sum + x * y)
}

fn as_f64(x: Scalar) -> f64 {
    match x {
        Scalar::F64(x) => x,
        Scalar::F32(x) => f64::from(x),
        Scalar::I64(x) => x as f64,
        Scalar::Bool(x) => f64::from(u8::from(x)),
        Scalar::Fp(_) => f64::NAN,
    }
}

/// The product, and the sum of the absolute values of its terms.
fn dot(a: &[Value], b: &[Value]) -> (f64, f64) {
    let pairs = a.iter().zip(b).flat_map(|(a, b)| a.elements().iter().zip(b.elements()));
    pairs.fold((0.0, 0.0), |(sum, size), (&x, &y)| {
        let term = as_f64(x) * as_f64(y);
        (sum + term, size + term.abs())
    })
}

/// The elements of the float values.
fn floats(values: &[Value]) -> Vec<Vec<f64>> {
    let floats = values.iter().filter(|v| v.dtype().is_float());
    floats.map(|v| v.elements().iter().map(|&x| as_f64(x)).collect()).collect()
}

fn largest(values: &[Value]) -> f64 {
    floats(values).iter().flatten().fold(0.0, |most, x| x.abs().max(most))
}

/// `x + h * dx`.
fn shifted(x: &Value, dx: &Value, h: f64) -> Value {
    let pairs = x.elements().iter().zip(dx.elements());
    let moved = pairs.map(|(&x, &d)| match x {
        Scalar::F32(x) => Scalar::F32((f64::from(x) + h * as_f64(d)) as f32),
        other => Scalar::F64(as_f64(other) + h * as_f64(d)),
    });
    Value::new(x.ty().clone(), moved.collect()).unwrap_or_else(|_| x.clone())
}
