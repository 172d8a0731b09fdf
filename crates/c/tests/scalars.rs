//! Every scalar operation as C, against the table, bit by bit: at special values, at the edges of
//! formulas, and at random.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail so")]

mod common;

use common::{Case, has, run};
use cotan_array::{Array, Dtype, Shape};
use cotan_interp::{Mode, Value};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Output, Program, TermId, Type};
use cotan_testkit::{Equality, Rng, first_difference, run_program, scaled};

/// Elements of an argument.
const COUNT: usize = 2000;

fn program(op: Op, types: &[Dtype]) -> Program {
    let mut b = Builder::new();
    let shape = Shape::new("test", &[COUNT]).unwrap();
    let input = |(n, &dtype): (usize, &Dtype)| {
        b.input(format!("x{n}"), Type::new(dtype, shape.clone())).unwrap()
    };
    let args: Vec<TermId> = types.iter().enumerate().map(input).collect();
    let term = b.op(op, &args).unwrap();
    b.finish(vec![Output { name: String::new(), term }]).unwrap()
}

/// A float: special, an integer, at an edge, of any size, or moderate.
fn float(rng: &mut Rng) -> f64 {
    const SPECIAL: [f64; 16] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        1e16,
        -1e16,
        9.223372036854776e18,
        1073741825.5,
    ];
    match rng.below(6) {
        0 => *rng.pick(&SPECIAL),
        1 => rng.between(-40, 40) as f64 / 2.0,
        2 => f64::from_bits(rng.bits()),
        3 => (rng.unit() - 0.5) * 1e12,
        4 => (rng.unit() - 0.5) * 3.0,
        _ => (rng.unit() - 0.5) * 100.0,
    }
}

fn integer(rng: &mut Rng) -> i64 {
    match rng.below(4) {
        0 => *rng.pick(&[i64::MIN, i64::MAX, 0, 1, -1, 63, 64, 65, -64, 1 << 62]),
        1 => rng.bits() as i64,
        _ => rng.between(-9, 9),
    }
}

fn argument(dtype: Dtype, rng: &mut Rng) -> Value {
    let shape = Shape::new("test", &[COUNT]).unwrap();
    let array = match dtype {
        Dtype::F64 => Array::from_vec(shape, (0..COUNT).map(|_| float(rng)).collect()),
        Dtype::F32 => Array::from_vec(shape, (0..COUNT).map(|_| float(rng) as f32).collect()),
        Dtype::I64 => Array::from_vec(shape, (0..COUNT).map(|_| integer(rng)).collect()),
        Dtype::Bool => Array::from_vec(shape, (0..COUNT).map(|_| rng.chance(50)).collect()),
    };
    Value::from(&array.unwrap())
}

fn cases(rng: &mut Rng) -> (Vec<Case>, Vec<Vec<Value>>) {
    let (mut cases, mut expected) = (Vec::new(), Vec::new());
    for op in Op::all() {
        for types in op.typings() {
            let program = program(op, &types);
            let inputs: Vec<Value> = types.iter().map(|&dtype| argument(dtype, rng)).collect();
            expected.push(run_program(&program, &inputs, Mode::Ieee).unwrap());
            let plan = cotan_c::plan(&program, true).unwrap();
            cases.push(Case { program, plan, in_order: true, inputs: vec![inputs] });
        }
    }
    (cases, expected)
}

fn check(compiler: &str, flags: &[&str], rounds: usize) {
    if !has(compiler) {
        return;
    }
    let mut rng = Rng::new(31);
    for _ in 0..rounds {
        let (cases, expected) = cases(&mut rng);
        let found = run(&cases, compiler, flags).unwrap();
        for ((case, expected), found) in cases.iter().zip(&expected).zip(&found) {
            if let Some(difference) = first_difference(expected, &found[0], Equality::Bits) {
                panic!("{compiler} {flags:?}: {difference}\nof\n{}", case.program);
            }
        }
    }
}

#[test]
fn operations_have_the_bits_of_the_table() {
    check("gcc", &["-O1"], scaled(2));
    check("gcc", &["-O3", "-march=native"], 1);
}

/// Without instructions for fused multiplication and for square roots they are done in integers.
#[test]
fn machines_without_fused_multiplication_give_the_same() {
    check("gcc", &["-O2", "-mno-fma"], 1);
    check("clang", &["-O2", "-mno-fma"], 1);
}

#[test]
fn operations_have_no_undefined_behaviour() {
    let flags = ["-O1", "-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all"];
    check("gcc", &flags, 1);
}
