//! Every row of the scalar table at every typing, on special values: XLA against the interpreter.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod common;

use common::text;
use cotan_array::{Array, Dtype, Shape};
use cotan_interp::{Mode, Value};
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{Builder, Type};
use cotan_testkit::xla::Server;
use cotan_testkit::{TypedOp, run_program};

const FLOATS: [f64; 27] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    0.25,
    1.5,
    -1.5,
    2.0,
    -2.5,
    3.0,
    -3.0,
    7.25,
    -7.75,
    1e-3,
    -1e-3,
    30.0,
    -30.0,
    1e5,
    -1e10,
    9.3e18,
    -9.3e18,
    1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

const INTEGERS: [i64; 16] =
    [0, 1, -1, 2, -2, 3, -7, 8, 63, -63, 64, -64, 65, 1 << 40, i64::MAX, i64::MIN];

fn samples(dtype: Dtype) -> Vec<Scalar> {
    match dtype {
        Dtype::F64 => FLOATS.map(Scalar::F64).to_vec(),
        Dtype::F32 => FLOATS.map(|x| Scalar::F32(x as f32)).to_vec(),
        Dtype::I64 => INTEGERS.map(Scalar::I64).to_vec(),
        Dtype::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
    }
}

/// All combinations of samples, an array for each argument.
fn grid(dtypes: &[Dtype]) -> Vec<Value> {
    let samples: Vec<Vec<Scalar>> = dtypes.iter().map(|&d| samples(d)).collect();
    let count: usize = samples.iter().map(Vec::len).product();
    let ty = |dtype| Type::new(dtype, Shape::new("grid", &[count]).unwrap());
    let mut stride = 1;
    let column = |(n, &dtype): (usize, &Dtype)| {
        let of = &samples[n];
        let column = (0..count).map(|k| of[(k / stride) % of.len()]).collect();
        stride *= of.len();
        Value::new(ty(dtype), column).unwrap()
    };
    dtypes.iter().enumerate().map(column).collect()
}

/// How far a result may be off, relative to its size: elementary functions are XLA's.
fn tolerance(op: Op, dtype: Dtype) -> f64 {
    let unit = if dtype == Dtype::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    match op {
        Op::Lgamma | Op::Digamma | Op::Polygamma => 2e4 * unit,
        Op::Pow | Op::Powi | Op::Exp2 | Op::Sin | Op::Cos | Op::Tan => 64.0 * unit,
        _ => 16.0 * unit,
    }
}

/// XLA's argument reduction gives up on large arguments of these.
fn beyond(op: Op, args: &[Scalar]) -> bool {
    let large = |x: &Scalar, limit: f64| match x {
        Scalar::F64(x) => x.abs() > limit,
        Scalar::F32(x) => f64::from(x.abs()) > limit,
        _ => false,
    };
    match op {
        Op::Sin | Op::Cos | Op::Tan => args.iter().any(|x| large(x, 1e4)),
        Op::Digamma | Op::Lgamma | Op::Polygamma => args.iter().any(|x| large(x, 1e4)),
        _ => false,
    }
}

fn agree(op: Op, expected: Scalar, found: Scalar) -> bool {
    let (x, y, unit) = match (expected, found) {
        (Scalar::F64(x), Scalar::F64(y)) => (x, y, tolerance(op, Dtype::F64)),
        (Scalar::F32(x), Scalar::F32(y)) => (f64::from(x), f64::from(y), tolerance(op, Dtype::F32)),
        _ => return expected.same(found),
    };
    let smallest = if matches!(expected, Scalar::F32(_)) { 1.2e-38 } else { 2.3e-308 };
    // Near its zeros at 1 and 2 the logarithm of the gamma function has an absolute error.
    let size = if op == Op::Lgamma { x.abs().max(1.0) } else { x.abs() };
    x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= unit * size + smallest
}

#[test]
fn every_operation_at_every_type() {
    let Some(mut server) = Server::start("scalars") else { return };
    let mut wrong: Vec<String> = Vec::new();
    for TypedOp { op, args, .. } in TypedOp::all() {
        let mut b = Builder::new();
        let inputs = grid(&args);
        let names = ["a", "b", "c"];
        let terms: Vec<_> = inputs
            .iter()
            .zip(names)
            .map(|(v, name)| b.input(name, v.ty().clone()).unwrap())
            .collect();
        let y = b.op(op, &terms).unwrap();
        let program = b.finish_one(y).unwrap();
        check(&mut server, op, &program, &inputs, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn operations_by_constants() {
    let Some(mut server) = Server::start("constants") else { return };
    let mut wrong: Vec<String> = Vec::new();
    let by_integer = [Op::Powi, Op::IntPow, Op::ShiftLeft, Op::ShiftRight, Op::ShiftRightZero];
    let by_integer = by_integer.into_iter().chain([Op::FloorDiv, Op::Rem]);
    for n in [-65, -3, -1, 0, 1, 2, 3, 5, 64, 70] {
        for op in by_integer.clone() {
            let dtype = if op == Op::Powi { Dtype::F64 } else { Dtype::I64 };
            let inputs = grid(&[dtype]);
            let mut b = Builder::new();
            let x = b.input("x", inputs[0].ty().clone()).unwrap();
            let n = b.constant(&full(n, x, &b)).unwrap();
            let y = b.op(op, &[x, n]).unwrap();
            let program = b.finish_one(y).unwrap();
            check(&mut server, op, &program, &inputs, &mut wrong);
        }
        if (-1..=3).contains(&n) {
            for dtype in [Dtype::F64, Dtype::F32] {
                let inputs = grid(&[dtype]);
                let mut b = Builder::new();
                let x = b.input("x", inputs[0].ty().clone()).unwrap();
                let n = b.constant(&full(n, x, &b)).unwrap();
                let y = b.op(Op::Polygamma, &[n, x]).unwrap();
                let program = b.finish_one(y).unwrap();
                check(&mut server, Op::Polygamma, &program, &inputs, &mut wrong);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn full(n: i64, like: cotan_ir::TermId, b: &Builder) -> Array {
    Array::full(b.shape(like).clone(), n).unwrap()
}

fn check(
    server: &mut Server,
    op: Op,
    program: &cotan_ir::Program,
    inputs: &[Value],
    wrong: &mut Vec<String>,
) {
    let expected = run_program(program, inputs, Mode::Ieee).unwrap().remove(0);
    let module = text(program).unwrap();
    let found = match server.run("xla", &module, &common::arrays(inputs)) {
        Ok(mut found) => Value::from(&found.remove(0)),
        Err(message) => return wrong.push(format!("{op}: {message}")),
    };
    for (k, (&x, &y)) in expected.elements().iter().zip(found.elements()).enumerate() {
        let args: Vec<Scalar> = inputs.iter().map(|v| v.elements()[k]).collect();
        if !agree(op, x, y) && !beyond(op, &args) {
            wrong.push(format!("{op} of {args:?} is {x:?}, XLA gives {y:?}"));
        }
    }
}
