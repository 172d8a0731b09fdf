//! Every scalar operation at special values: the derivatives are those of a committed table, and a
//! cotangent of 0 gives exactly 0.
//!
//! `boundary.txt` holds the derivatives for the cotangent 1, to be read by people: a line for each
//! operation, argument and value of the other argument, with an entry for each special value.
//! `COTAN_BLESS=1` writes it anew.

use std::fmt::Write;
use std::path::Path;

use cotan_ad::vjp;
use cotan_array::{Dtype, Shape};
use cotan_interp::{Mode, Value};
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{Builder, Program, Type};

use crate::support::*;

const ULP: f64 = f64::EPSILON;

/// Zeros, ones and their neighbours, subnormal numbers, ordinary numbers, the edges of `exp`, the
/// largest numbers, infinities, NaN.
const SPECIAL: [f64; 24] = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    f64::MIN_POSITIVE,
    0.5,
    -0.5,
    1.0,
    -1.0,
    1.0 + ULP,
    1.0 - ULP / 2.0,
    -1.0 - ULP,
    -1.0 + ULP / 2.0,
    2.0,
    -2.0,
    3.5,
    -2.5,
    710.0,
    -745.5,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// For arguments that are integers.
const INTEGERS: [i64; 6] = [0, 1, 2, 3, -1, -2];

const COTANGENTS: [f64; 5] = [1.0, 0.0, -1.0, f64::INFINITY, f64::NAN];

/// The float operations of one or two arguments that have a derivative, with their typings.
fn operations() -> Vec<(Op, Vec<Dtype>)> {
    let mut all = Vec::new();
    for op in Op::all() {
        let wide = |types: &Vec<Dtype>| {
            op.result_dtype(types) == Some(Dtype::F64)
                && types.contains(&Dtype::F64)
                && types.iter().all(|d| matches!(d, Dtype::F64 | Dtype::I64))
        };
        if op != Op::Select {
            all.extend(op.typings().into_iter().filter(wide).map(|types| (op, types)));
        }
    }
    all
}

/// All combinations of special values, the last argument running fastest.
fn points(types: &[Dtype]) -> Vec<Vec<Scalar>> {
    let mut points = vec![Vec::new()];
    for dtype in types {
        let values: Vec<Scalar> = match dtype {
            Dtype::I64 => INTEGERS.map(Scalar::I64).to_vec(),
            _ => SPECIAL.map(Scalar::F64).to_vec(),
        };
        let extend = |p: Vec<Scalar>| -> Vec<Vec<Scalar>> {
            values.iter().map(|&x| [&p[..], &[x]].concat()).collect()
        };
        points = points.into_iter().flat_map(extend).collect();
    }
    points
}

/// The gradient of an operation at points, for each cotangent: `[cotangent][float argument][point]`.
fn derivatives(op: Op, types: &[Dtype], points: &[Vec<Scalar>]) -> Vec<Vec<Vec<f64>>> {
    let shape = Shape::new("test", &[points.len()]).unwrap();
    let mut b = Builder::new();
    let args: Vec<_> = types
        .iter()
        .enumerate()
        .map(|(k, &d)| b.input(format!("x{k}"), Type::new(d, shape.clone())).unwrap())
        .collect();
    let y = b.op(op, &args).unwrap();
    let program: Program = checked(vjp(&one(b, y), None)).unwrap();
    let mut inputs: Vec<Value> = (0..types.len())
        .map(|k| {
            let column = points.iter().map(|p| p[k]).collect();
            Value::new(Type::new(types[k], shape.clone()), column).unwrap()
        })
        .collect();
    let all = COTANGENTS.iter().map(|&c| {
        inputs.truncate(types.len());
        inputs.push(vector(&vec![c; points.len()]));
        run(&program, &inputs, Mode::Ieee).unwrap()[1..].iter().map(floats).collect()
    });
    all.collect()
}

fn show(x: Scalar) -> String {
    match x {
        Scalar::F64(x) => number(x),
        Scalar::I64(n) => n.to_string(),
        other => format!("{other:?}"),
    }
}

/// Short, and exact.
fn number(x: f64) -> String {
    let (plain, scientific) = (format!("{x}"), format!("{x:e}"));
    if plain.len() <= scientific.len() { plain } else { scientific }
}

fn table() -> String {
    let mut text = String::from(
        "# The derivatives of scalar operations at special values, for the cotangent 1.\n\
         # A line holds the derivative by one argument, `a` or `b`, for the last argument running\n\
         # through the values of the header (integers through those of the second).\n",
    );
    let header: Vec<String> = SPECIAL.iter().map(|&x| number(x)).collect();
    writeln!(text, "# {}", header.join(" ")).unwrap();
    writeln!(text, "# {}", INTEGERS.map(|n| n.to_string()).join(" ")).unwrap();
    for (op, types) in operations() {
        let points = points(&types);
        let with_one = derivatives(op, &types, &points).swap_remove(0);
        let width = if types.last() == Some(&Dtype::I64) { INTEGERS.len() } else { SPECIAL.len() };
        let floats = (0..types.len()).filter(|&k| types[k] == Dtype::F64);
        for (argument, column) in floats.zip(&with_one) {
            for (row, values) in column.chunks(width).enumerate() {
                let first = &points[row * width];
                let at =
                    if types.len() == 2 { format!(" a={}", show(first[0])) } else { "".into() };
                let by = ["a", "b"][argument];
                let values: Vec<String> = values.iter().map(|&x| number(x)).collect();
                writeln!(text, "{} d{by}{at}: {}", op.name(), values.join(" ")).unwrap();
            }
        }
    }
    text
}

#[test]
fn derivatives_at_special_values_are_those_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/derivatives/boundary.txt");
    let found = table();
    if std::env::var_os("COTAN_BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    for (found, expected) in found.lines().zip(expected.lines()) {
        assert_eq!(found, expected, "COTAN_BLESS=1 accepts the new table");
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}

/// A cotangent of 0 gives exactly 0 whatever the partial derivative is; every other one is multiplied
/// with the derivative for the cotangent 1.
#[test]
fn cotangents_multiply_and_zero_annihilates() {
    for (op, types) in operations() {
        let points = points(&types);
        let all = derivatives(op, &types, &points);
        for (c, found) in COTANGENTS.iter().zip(&all) {
            for (argument, column) in found.iter().enumerate() {
                for (n, &x) in column.iter().enumerate() {
                    let unit = all[0][argument][n];
                    let constant = all.iter().all(|f| f[argument].iter().all(|&x| x == 0.0));
                    // Zeros of factors that may be derivatives annihilate, and an argument that
                    // is not chosen gets nothing.
                    let annihilated = match op {
                        Op::Scale => argument == 1 && unit == 0.0,
                        Op::StrongMul | Op::Min | Op::Max => unit == 0.0,
                        _ => false,
                    };
                    let zero = *c == 0.0 || constant || annihilated;
                    let expected = if zero { 0.0 } else { c * unit };
                    let same = x == expected || x.is_nan() && expected.is_nan();
                    assert!(same, "{op} at {:?} with {c}: {x}, not {expected}", points[n]);
                }
            }
        }
    }
}
