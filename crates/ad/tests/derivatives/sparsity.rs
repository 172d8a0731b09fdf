//! Sparsity patterns: none lacks an entry, and where positions are known none has one too many.

use cotan_ad::pattern::{DEFAULT_ENTRIES, Dependences, Rows, dependences};
use cotan_ad::{grad, jacfwd};
use cotan_array::Array;
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_ir::scalar::Scalar;
use cotan_testkit::{Config, InputKind, Rng, for_each_case};

use crate::exact::everything;
use crate::support::*;

fn arrays(values: &[Value]) -> Vec<Array> {
    values.iter().map(|v| v.to_array().expect("an array")).collect()
}

/// The pattern by all float inputs.
fn pattern(bulk: &Program, inputs: &[Value]) -> Checked<Dependences> {
    let types = input_types(bulk);
    let wrt: Vec<usize> = (0..types.len()).filter(|&k| types[k].dtype.is_float()).collect();
    dependences(bulk, &arrays(inputs), &wrt, DEFAULT_ENTRIES).map_err(text)
}

fn is_zero(x: &Scalar) -> bool {
    matches!(x, Scalar::F64(x) if *x == 0.0) || matches!(x, Scalar::F32(x) if *x == 0.0)
}

/// Every entry of the Jacobian that is not 0 is in the pattern.
fn covers(source: &Program, rng: &mut Rng) -> Checked {
    let point = Point::random(source, rng, InputKind::Generic)?;
    let bulk = bulked(source)?;
    let found = pattern(&bulk, &point.inputs)?;
    let jacobian = run(&checked(jacfwd(&bulk, None))?, &point.inputs, Mode::Ieee)?;
    let inputs: Vec<usize> = input_types(source)
        .iter()
        .filter(|ty| ty.dtype.is_float())
        .map(|ty| ty.shape.numel())
        .collect();
    let outputs = output_types(source);
    let floats = outputs.iter().zip(&found.results).filter(|(ty, _)| ty.dtype.is_float());
    let mut blocks = jacobian.iter();
    for (n, (ty, rows)) in floats.enumerate() {
        let mut first = 0;
        for &columns in &inputs {
            let block = blocks.next().ok_or("a Jacobian is missing")?;
            for r in 0..ty.shape.numel() {
                for c in 0..columns {
                    let column = (first + c) as u32;
                    let entry = &block.elements()[r * columns + c];
                    if !is_zero(entry) && rows.row(r).binary_search(&column).is_err() {
                        return Err(format!("output {n}: no entry ({r}, {column}) for {entry:?}"));
                    }
                }
            }
            first += columns;
        }
    }
    Ok(())
}

#[test]
fn random_programs_have_no_entry_outside_their_pattern() {
    let config = everything();
    for_each_case("sparsity", 400, |rng| on_random_program(&config, rng, covers));
    let config = Config { updates: 50, ..everything().nodes(24) };
    for_each_case("sparsity, updates", 100, |rng| on_random_program(&config, rng, covers));
}

/// The rows of the first result of a program in the text language, and who decides them.
fn rows(source: &str, inputs: &[Value]) -> (Vec<Vec<u32>>, Vec<bool>) {
    rows_of(&function(source, &[]), inputs)
}

fn rows_of(bulk: &Program, inputs: &[Value]) -> (Vec<Vec<u32>>, Vec<bool>) {
    let found = pattern(bulk, inputs).expect("a pattern");
    let rows: &Rows = &found.results[0];
    ((0..rows.len()).map(|k| rows.row(k).to_vec()).collect(), found.decided_by)
}

#[test]
fn a_stencil_is_banded() {
    let source = "def f(x: [4]f64) = build 4 (i => x[i - 1] - 2.0 * x[i] * x[i] + x[i + 1])";
    let (rows, decided) = rows(source, &[vector(&[1.0; 4])]);
    assert_eq!(rows, [vec![0, 1], vec![0, 1, 2], vec![1, 2, 3], vec![2, 3]]);
    assert_eq!(decided, [false]);
}

/// A mask of positions decides, one of values does not.
#[test]
fn conditions_on_positions_are_exact() {
    let source = "def f(x: [3]f64) = build 3 (i => if i == 1 then x[0] * x[2] else x[i])";
    assert_eq!(rows(source, &[vector(&[1.0; 3])]).0, [vec![0], vec![0, 2], vec![2]]);
    let source = "def f(x: [3]f64) = build 3 (i => if x[i] > 0.0 then x[0] else 1.0)";
    assert_eq!(rows(source, &[vector(&[-1.0; 3])]).0, [vec![0], vec![0], vec![0]]);
}

#[test]
fn index_arrays_decide() {
    let source = "def f(x: [4]f64, p: [3]i64) = build 3 (i => sin(x[p[i]]))";
    let p = Value::of(&[3], vec![3i64, 0, 7]).expect("positions");
    let (rows, decided) = rows(source, &[vector(&[1.0; 4]), p]);
    assert_eq!(rows, [vec![3], vec![0], vec![]]);
    assert_eq!(decided, [false, true]);
}

/// The position of the largest element depends on all of them, and its value on one.
#[test]
fn values_decide_where_positions_depend_on_them() {
    let source = "def f(x: [4]f64) = build 2 (i => x[argmax(x)] * f64(i + 1))";
    let (rows, decided) = rows(source, &[vector(&[1.0, 5.0, 2.0, 0.0])]);
    assert_eq!(rows, [vec![1], vec![1]]);
    assert_eq!(decided, [true]);
}

#[test]
fn loops_pass_on_what_their_steps_do() {
    let source = "def f(x: [4]f64) = scan(0.0, x, (s, e) => s + sin(e))";
    let expected = [vec![0], vec![0, 1], vec![0, 1, 2], vec![0, 1, 2, 3]];
    assert_eq!(rows(source, &[vector(&[1.0; 4])]).0, expected);
}

/// What rounds has no derivative, and neither has what is stopped.
#[test]
fn what_has_no_derivative_has_no_entry() {
    let source = "def f(x: [2]f64) = build 2 (i => floor(x[0]) + stop_gradient(x[1]) + x[i])";
    assert_eq!(rows(source, &[vector(&[1.0; 2])]).0, [vec![0], vec![1]]);
}

/// The Hessian of a sum over a chain is tridiagonal.
#[test]
fn hessians_are_patterns_of_gradients() {
    let source = "def f(x: [4]f64) = sum(build 3 (i => square(x[i + 1] - x[i] * x[i])))";
    let bulk = function(source, &[]);
    let gradient = bulked(&grad(&bulk, None).expect("a gradient")).expect("a program");
    let (rows, _) = rows_of(&gradient, &[vector(&[1.0; 4])]);
    assert_eq!(rows, [vec![0, 1], vec![0, 1, 2], vec![1, 2, 3], vec![2, 3]]);
}

#[test]
fn rules_of_ones_own_have_their_own_patterns() {
    for rule in [
        "custom_vjp(x => flip(x), (x, ct) => 2.0 * flip(ct), x * x)",
        "custom_jvp(x => flip(x), (x, dx) => 2.0 * flip(dx), x * x)",
    ] {
        let source = format!("def f(x: [3]f64) = {rule}");
        assert_eq!(rows(&source, &[vector(&[1.0; 3])]).0, [vec![2], vec![1], vec![0]], "{rule}");
    }
}

#[test]
fn a_pattern_that_is_too_large_is_an_error() {
    let source = "def f(x: [40]f64) = build (40, 40) ((i, j) => sum(x) * x[i] * x[j])";
    let bulk = function(source, &[]);
    let inputs = [vector(&[0.0; 40]).to_array().expect("an array")];
    let error = dependences(&bulk, &inputs, &[0], 1000).expect_err("a dense pattern");
    assert!(error.to_string().contains("more than 1000 entries"), "{error}");
}
