//! Taylor mode: coefficients times factorials are the derivatives of nested forward modes, exactly in
//! the field; zeros and branches that are not taken contribute nothing.

use cotan_ad::{hessian, jet, jvp, laplacian};
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_ir::scalar::{Fp, Scalar};
use cotan_testkit::{Config, InputKind, Rng, for_each_case};

use crate::exact::{everything, ring};
use crate::support::*;

const ORDER: usize = 3;

/// Values, then the derivatives of orders 1 to [`ORDER`] of all float outputs.
fn nested(source: &Program, point: &Point) -> Checked<Vec<Vec<Value>>> {
    let floats: Vec<usize> =
        (0..source.inputs().len()).filter(|&k| source.inputs()[k].ty.dtype.is_float()).collect();
    let outputs = output_types(source);
    let mut own: Vec<usize> = (0..outputs.len()).filter(|&k| outputs[k].dtype.is_float()).collect();
    let (mut f, mut inputs) = (source.clone(), point.inputs.clone());
    let mut orders = Vec::new();
    for _ in 0..ORDER {
        let before = output_types(&f);
        f = checked(jvp(&f, Some(&floats)))?;
        inputs.extend(point.tangents.iter().cloned());
        let all = run(&f, &inputs, Mode::Field)?;
        // The derivative of the output that was the last derivative.
        let place =
            |k: &usize| before.len() + before[..*k].iter().filter(|ty| ty.dtype.is_float()).count();
        own = own.iter().map(place).collect();
        orders.push(own.iter().map(|&k| all[k].clone()).collect());
    }
    Ok(orders)
}

fn check(source: &Program, rng: &mut Rng) -> Checked {
    let point = Point::random(source, rng, InputKind::Field)?;
    let source = &bulked(source)?;
    let made = match jet(source, None, ORDER) {
        Err(error) if error.op() == "jet" => return Ok(()),
        made => checked(made)?,
    };
    let inputs = [point.inputs.clone(), point.tangents.clone()].concat();
    let found = run(&made, &inputs, Mode::Field)?;
    let found = &found[source.outputs().len()..];
    let mut factorial = Fp::ONE;
    for (n, expected) in nested(source, &point)?.into_iter().enumerate() {
        factorial = factorial * Fp::from_i64(n as i64 + 1);
        for (found, expected) in found.iter().zip(&expected) {
            let size = expected.elements().len();
            let found = &found.elements()[n * size..(n + 1) * size];
            for (x, y) in found.iter().zip(expected.elements()) {
                let same = match (*x, *y) {
                    (Scalar::Fp(x), Scalar::Fp(y)) => x * factorial == y,
                    _ => false,
                };
                if !same {
                    return Err(format!("order {}: {x:?} times {factorial:?}, not {y:?}", n + 1));
                }
            }
        }
    }
    Ok(())
}

fn compared(name: &str, cases: usize, config: &Config) {
    for_each_case(name, cases, |rng| on_random_program(config, rng, check));
}

#[test]
fn jets_are_nested_derivatives_of_rational_programs() {
    compared("jets, ring", 300, &ring().nodes(20));
}

#[test]
fn jets_are_nested_derivatives_of_all_programs() {
    compared("jets, everything", 300, &everything().nodes(16));
}

/// The coefficients of a function of one number along 1.
fn coefficients(text: &str, x: f64, order: usize) -> Vec<f64> {
    let f = function(text, &[]);
    let scalar = |x: f64| Value::of(&[], vec![x]).expect("a number");
    numbers_of(jet(&f, None, order), &[scalar(x), scalar(1.0)]).swap_remove(1)
}

#[test]
fn known_series() {
    let mut factorial = 1.0;
    let exp = coefficients("def f(x: f64) = exp(x)", 0.0, 12);
    let log = coefficients("def f(x: f64) = log(x)", 1.0, 12);
    let sin = coefficients("def f(x: f64) = sin(x)", 0.0, 12);
    let power = coefficients("def f(x: f64) = x ** 5.0", 2.0, 7);
    for n in 1..=12 {
        factorial *= n as f64;
        let sign = if n % 2 == 1 { 1.0 } else { -1.0 };
        assert!((exp[n - 1] * factorial - 1.0).abs() < 1e-14, "{exp:?}");
        assert!((log[n - 1] - sign / n as f64).abs() < 1e-14, "{log:?}");
        let of_sin = if n % 2 == 0 {
            0.0
        } else if n % 4 == 1 {
            1.0
        } else {
            -1.0
        };
        assert!((sin[n - 1] * factorial - of_sin).abs() < 1e-14, "{sin:?}");
    }
    for (found, expected) in power.iter().zip([80.0, 80.0, 40.0, 10.0, 1.0, 0.0, 0.0]) {
        assert!((found - expected).abs() < 1e-12, "{power:?}");
    }
    // tanh x = x - x^3 / 3 + 2 x^5 / 15 - 17 x^7 / 315
    let tanh = coefficients("def f(x: f64) = tanh(x)", 0.0, 7);
    let expected = [1.0, 0.0, -1.0 / 3.0, 0.0, 2.0 / 15.0, 0.0, -17.0 / 315.0];
    for (found, expected) in tanh.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-15, "{tanh:?}");
    }
}

#[test]
fn branches_not_taken_contribute_nothing() {
    let text = "def f(x: f64) = if x > 0.0 then x * x else sqrt(x) / x";
    assert_eq!(coefficients(text, 3.0, 4), [6.0, 1.0, 0.0, 0.0]);
    let text = "def f(x: f64) = where(x == 0.0, x * x * x, log(x * x))";
    assert_eq!(coefficients(text, 0.0, 4), [0.0, 0.0, 1.0, 0.0]);
}

/// Nested derivatives double with each order; a series costs about its square.
#[test]
fn programs_grow_with_the_square_of_the_order() {
    let text = "def f(x: [8]f64, w: [8][8]f64) = sum(tanh(matmul(w, tanh(matmul(w, x)))))";
    let f = function(text, &[]);
    let size = |order: usize| jet(&f, Some(&[0]), order).expect("a jet").len() as f64;
    assert!(size(16) < 6.0 * size(8), "{} and {}", size(16), size(8));
}

#[test]
fn laplacians_are_traces_of_hessians() {
    let text = "def f(x: [3]f64, w: [3][3]f64) = \
                sum(tanh(matmul(w, x)) * exp(x[0] * x[2])) + fold(x[1], x, (s, v) => s * v)";
    let f = function(text, &[]);
    let w: Vec<f64> = (0..9).map(|k| f64::from(k) / 5.0 - 0.7).collect();
    let inputs = [vector(&[0.3, -0.8, 0.5]), Value::of(&[3, 3], w).expect("a matrix")];
    let hessian = numbers_of(hessian(&f, Some(&[0])), &inputs);
    let second = hessian.last().expect("a Hessian");
    let trace: f64 = (0..3).map(|k| second[4 * k]).sum();
    let made = laplacian(&f, Some(&[0])).map_err(crate::support::text).and_then(|p| bulked(&p));
    let found = run(&made.expect("a Laplacian"), &inputs, Mode::Ieee).expect("a run");
    let found = floats(&found[0])[0];
    assert!((found - trace).abs() < 1e-13 * trace.abs().max(1.0), "{found} and {trace}");
}

/// The sum of twice the second coefficients along all unit vectors, exactly in the field.
fn is_a_sum_of_second_derivatives(source: &Program, rng: &mut Rng) -> Checked {
    let point = Point::random(source, rng, InputKind::Field)?;
    let source = &bulked(source)?;
    let made = match (jet(source, None, 2), laplacian(source, None)) {
        (Err(error), Err(_)) if error.op() == "jet" => return Ok(()),
        (series, found) => (checked(series)?, bulked(&found.map_err(crate::support::text)?)?),
    };
    let found = run(&made.1, &point.inputs, Mode::Field)?;
    let mut sums: Vec<Vec<Fp>> =
        found.iter().map(|value| vec![Fp::from_i64(0); value.elements().len()]).collect();
    let number = |x: i64| Scalar::Fp(Fp::from_i64(x));
    for (k, tangent) in point.tangents.iter().enumerate() {
        for e in 0..tangent.elements().len() {
            let unit = |n: usize, like: &Value| {
                let at = |m: usize| number(i64::from(n == k && m == e));
                let elements = (0..like.elements().len()).map(at).collect();
                Value::new(like.ty().clone(), elements).map_err(crate::support::text)
            };
            let units = point.tangents.iter().enumerate().map(|(n, like)| unit(n, like));
            let inputs = [point.inputs.clone(), units.collect::<Checked<_>>()?].concat();
            let all = run(&made.0, &inputs, Mode::Field)?;
            for (sum, series) in sums.iter_mut().zip(&all[source.outputs().len()..]) {
                let second = &series.elements()[sum.len()..];
                for (sum, x) in sum.iter_mut().zip(second) {
                    let Scalar::Fp(x) = x else { return Err(format!("{x:?} in the field")) };
                    *sum = *sum + *x + *x;
                }
            }
        }
    }
    for (found, expected) in found.iter().zip(&sums) {
        let same = found.elements().iter().zip(expected).all(|(x, y)| *x == Scalar::Fp(*y));
        if !same {
            return Err(format!("{found:?}, not {expected:?}"));
        }
    }
    Ok(())
}

#[test]
fn laplacians_are_sums_of_second_derivatives_of_random_programs() {
    let compared = |name: &str, cases: usize, config: &Config| {
        for_each_case(name, cases, |rng| {
            on_random_program(config, rng, is_a_sum_of_second_derivatives)
        });
    };
    compared("laplacians, ring", 150, &ring().nodes(20));
    compared("laplacians, everything", 150, &everything().nodes(16));
}

/// What is of the second order is computed once, not for each direction.
#[test]
fn laplacians_have_one_product_of_matrices_for_each_layer() {
    let text = "def f(x: [8]f64, w: [8][8]f64) = sum(tanh(matmul(w, tanh(matmul(w, x)))))";
    let f = function(text, &[]);
    let size = laplacian(&f, Some(&[0])).expect("a Laplacian").len() as f64;
    let value = f.len() as f64;
    assert!(size < 8.0 * value, "{size} nodes for {value}");
}

#[test]
fn orders_out_of_range_and_factors_that_move_are_refused() {
    let f = function("def f(x: f64) = exp(x)", &[]);
    for order in [0, 65] {
        let message = jet(&f, None, order).expect_err("an order out of range").to_string();
        assert!(message.contains("from 1 to 64"), "{message}");
    }
    let f = function("def f(x: [2][2]f64) = cholesky(x)", &[]);
    let message = jet(&f, None, 2).expect_err("a factor that moves").to_string();
    assert!(message.contains("`cholesky` of what moves"), "{message}");
}
