//! Sparse derivatives against dense ones, on named and on random programs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed unwrap is a failed test"
)]

use cotan_array::Array;
use cotan_interp::{Mode as Numbers, Value};
use cotan_ir::Program;
use cotan_pipeline::{Derivative, derive};
use cotan_sparse::{Kind, Mode, Plan, SparseDerivative};
use cotan_syntax::{instantiate, load_text};
use cotan_testkit::{Config, InputKind, Rng, for_each_case, generate, run_program, value_of};

fn function(text: &str) -> Program {
    let modules = load_text("test.ct", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    instantiate(&modules, "f", &[], &[], &Default::default()).unwrap().program
}

fn run(program: &Program, inputs: &[Array]) -> Vec<Array> {
    let inputs: Vec<Value> = inputs.iter().map(Value::from).collect();
    let outputs = run_program(program, &inputs, Numbers::Ieee).unwrap();
    outputs.iter().map(|v| v.to_array().unwrap()).collect()
}

fn floats(array: &Array) -> Vec<f64> {
    match array.to_vec::<f64>() {
        Ok(xs) => xs,
        Err(_) => array.to_vec::<f32>().unwrap().into_iter().map(f64::from).collect(),
    }
}

fn vector(xs: &[f64]) -> Array {
    Array::from_vec(cotan_array::Shape::new("x", &[xs.len()]).unwrap(), xs.to_vec()).unwrap()
}

/// The matrix in full, by the plan.
fn expanded(plan: &Plan, inputs: &[Array]) -> Vec<f64> {
    let all: Vec<Array> = inputs.iter().chain(&plan.extra).cloned().collect();
    let (_, entries) = plan.assemble(run(&plan.program, &all)).unwrap();
    let shape = plan.pattern.shape();
    let mut dense = vec![0.0; shape.rows * shape.columns];
    let (rows, columns) = (plan.pattern.row_indices(), plan.pattern.column_indices());
    for ((r, c), x) in rows.into_iter().zip(columns).zip(floats(&entries)) {
        dense[r as usize * shape.columns + *c as usize] = x;
    }
    dense
}

/// The matrix by the dense derivative, whose blocks lie side by side.
fn dense(program: &Program, kind: Kind, inputs: &[Array]) -> Vec<f64> {
    let derivative = match kind {
        Kind::Jacobian => Derivative::Jacobian,
        Kind::Hessian => Derivative::Hessian,
    };
    let blocks = run(&derive(program, derivative, None).unwrap(), inputs);
    let widths: Vec<usize> = program
        .inputs()
        .iter()
        .filter(|i| i.ty.dtype.is_float())
        .map(|i| i.ty.shape.numel())
        .collect();
    let mut all = Vec::new();
    for row_of_blocks in blocks.chunks(widths.len().max(1)) {
        let parts: Vec<Vec<f64>> = row_of_blocks.iter().map(floats).collect();
        let total: usize = parts.iter().map(Vec::len).sum();
        let rows = total / widths.iter().sum::<usize>().max(1);
        for r in 0..rows {
            for (part, &width) in parts.iter().zip(&widths) {
                all.extend_from_slice(&part[r * width..(r + 1) * width]);
            }
        }
    }
    all
}

fn plan(text: &str, kind: Kind, inputs: &[Array]) -> Plan {
    SparseDerivative::new(&function(text), kind, None).unwrap().plan(inputs).unwrap()
}

/// The plan for a program, whose matrix is that of the dense derivative.
fn checked(text: &str, kind: Kind, inputs: &[Array]) -> Plan {
    let plan = plan(text, kind, inputs);
    let (found, expected) = (expanded(&plan, inputs), dense(&function(text), kind, inputs));
    assert_eq!(found.len(), expected.len());
    for (k, (x, y)) in found.iter().zip(&expected).enumerate() {
        assert!((x - y).abs() <= 1e-12 * y.abs().max(1.0), "{k}: {x} and {y}\n{text}");
    }
    plan
}

fn ramp(n: usize) -> Array {
    vector(&(0..n).map(|k| 0.3 + 0.1 * k as f64).collect::<Vec<_>>())
}

#[test]
fn a_stencil_takes_three_products() {
    let text = "def f(x: [40]f64) = build 40 (i => sin(x[i - 1]) * x[i] + x[i + 1])";
    let plan = checked(text, Kind::Jacobian, &[ramp(40)]);
    assert_eq!((plan.colors, plan.mode), (3, Mode::Forward));
    assert_eq!(plan.pattern.bandwidths(), (1, 1));
}

/// A full row: columns would need as many colours as there are, rows need two.
#[test]
fn a_full_row_is_done_in_reverse() {
    let text = "def f(x: [30]f64) = build 30 (i => if i == 0 then sum(x * x) else x[i] * x[i])";
    let plan = checked(text, Kind::Jacobian, &[ramp(30)]);
    assert_eq!((plan.colors, plan.mode), (2, Mode::Reverse));
}

#[test]
fn hessians_of_chains_and_arrows() {
    let chain = "def f(x: [30]f64) = sum(build 29 (i => square(x[i + 1] - square(x[i]))))";
    let plan = checked(chain, Kind::Hessian, &[ramp(30)]);
    assert_eq!((plan.colors, plan.mode), (3, Mode::Symmetric));
    let arrow = "def f(x: [30]f64) = sum(build 29 (i => sin(x[0] * x[i + 1])))";
    assert_eq!(checked(arrow, Kind::Hessian, &[ramp(30)]).colors, 2);
}

/// Blocks of several arguments and results lie side by side and below each other.
#[test]
fn several_arguments_and_results() {
    let text = "def f(x: [5]f64, y: [3]f64) =
        (build 3 (i => x[i] * y[i]), build 5 (i => x[i] * x[i]), 2)";
    let inputs = [ramp(5), ramp(3)];
    let plan = checked(text, Kind::Jacobian, &inputs);
    assert_eq!(plan.pattern.entries(), 11);
    let text = "def f(x: [5]f64, y: [3]f64) = sum(build 3 (i => x[i] * y[i] * y[i]))";
    checked(text, Kind::Hessian, &inputs);
    // Reverse mode with several arguments, whose entries have to be put in order.
    let text = "def f(x: [9]f64, y: [9]f64) =
        build 9 (i => if i == 0 then sum(x * y) else x[i] * y[i])";
    assert_eq!(checked(text, Kind::Jacobian, &[ramp(9), ramp(9)]).mode, Mode::Reverse);
}

#[test]
fn index_arrays_decide_the_pattern() {
    let text = "def f(x: [4]f64, p: [3]i64) = build 3 (i => sin(x[p[i]]))";
    let positions = |p: [i64; 3]| {
        Array::from_vec(cotan_array::Shape::new("p", &[3]).unwrap(), p.to_vec()).unwrap()
    };
    let inputs = [ramp(4), positions([3, 0, 3])];
    let plan = checked(text, Kind::Jacobian, &inputs);
    assert_eq!(plan.decided_by().collect::<Vec<_>>(), [1]);
    assert!(plan.holds_at(&[vector(&[9.0; 4]), positions([3, 0, 3])]));
    assert!(!plan.holds_at(&[ramp(4), positions([3, 1, 3])]));
}

#[test]
fn nothing_is_an_ordinary_case() {
    let text = "def f(x: [0]f64) = x * x";
    assert_eq!(checked(text, Kind::Jacobian, &[vector(&[])]).pattern.entries(), 0);
    let text = "def f(x: [3]f64) = build 2 (i => 1.0)";
    assert_eq!(checked(text, Kind::Jacobian, &[ramp(3)]).pattern.entries(), 0);
}

#[test]
fn what_has_no_derivative_is_refused() {
    let refused = |text: &str, kind, wrt: Option<&[usize]>| {
        SparseDerivative::new(&function(text), kind, wrt).unwrap_err().to_string()
    };
    let integers = "def f(x: [3]i64) = x + 1";
    assert!(refused(integers, Kind::Jacobian, None).contains("no result of floats"));
    let message = refused("def f(x: [3]i64, y: f64) = f64(x) * y", Kind::Jacobian, Some(&[0]));
    assert!(message.contains("cannot differentiate by `x`"), "{message}");
    let message = refused("def f(x: [3]f64) = x", Kind::Hessian, None);
    assert!(message.contains("scalar"), "{message}");
}

/// Smooth programs with few elements.
fn agrees_on(program: &Program, rng: &mut Rng) -> Result<bool, String> {
    let count = |types: &mut dyn Iterator<Item = usize>| -> usize { types.sum() };
    let columns = count(&mut program.inputs().iter().map(|i| i.ty.shape.numel()));
    let outputs = program.outputs().iter().map(|o| program.ty(o.term).clone());
    let outputs: Vec<_> = outputs.collect();
    let rows = count(&mut outputs.iter().map(|ty| ty.shape.numel()));
    let floats_only = outputs.iter().all(|ty| ty.dtype == cotan_array::Dtype::F64);
    if columns * rows > 600 || !floats_only || columns == 0 {
        return Ok(false);
    }
    let mut inputs = Vec::new();
    for input in program.inputs() {
        let value = value_of(&input.ty, rng, InputKind::Generic).map_err(|e| e.to_string())?;
        inputs.push(value.to_array().map_err(|e| e.to_string())?);
    }
    let plan = match SparseDerivative::new(program, Kind::Jacobian, None) {
        Ok(made) => made.plan(&inputs).map_err(|e| e.to_string())?,
        Err(_) => return Ok(false),
    };
    let (found, expected) = (expanded(&plan, &inputs), dense(program, Kind::Jacobian, &inputs));
    if found.len() != expected.len() {
        return Err(format!("{} elements, not {}", found.len(), expected.len()));
    }
    let finite = expected.iter().filter(|y| y.is_finite());
    let scale = finite.fold(1.0, |m: f64, y| m.max(y.abs()));
    for (x, y) in found.iter().zip(&expected) {
        let same = x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= 1e-9 * scale;
        if !same && expected.iter().all(|y| y.is_finite()) {
            return Err(format!("{x}, not {y}"));
        }
    }
    Ok(true)
}

#[test]
fn random_programs_agree_with_dense_jacobians() {
    let config = Config { max_elements: 12, max_rank: 2, ..Config::default().nodes(16) };
    let compared = std::sync::atomic::AtomicUsize::new(0);
    for_each_case("sparse", 2000, |rng| {
        let program = generate(&config, rng).map_err(|e| e.to_string())?;
        if agrees_on(&program, rng).map_err(|e| format!("{e}\n{program}"))? {
            compared.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        Ok(())
    });
    let compared = compared.into_inner();
    println!("{compared} Jacobians were compared");
    assert!(compared > 0);
}
