//! What the tests of the interpreter share.
#![allow(dead_code, reason = "no test uses all of it")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use cotan_array::{Dtype, Shape};
use cotan_interp::{Interp, Run, Value};
use cotan_ir::scalar::Scalar;
use cotan_ir::{Builder, Output, Program, Result, TermId, Type};

/// A type.
pub fn ty(dtype: Dtype, dims: &[usize]) -> Type {
    Type::new(dtype, Shape::new("test", dims).unwrap())
}

/// A checked program with inputs of the given types, called `x0`, `x1`, ...
pub fn program(
    types: &[Type],
    body: impl FnOnce(&mut Builder, &[TermId]) -> Result<Vec<TermId>>,
) -> Program {
    let mut b = Builder::new();
    let mut inputs = Vec::new();
    for (n, ty) in types.iter().enumerate() {
        inputs.push(b.input(format!("x{n}"), ty.clone()).unwrap());
    }
    let outputs = body(&mut b, &inputs).unwrap();
    let unnamed = |term| Output { name: String::new(), term };
    let program = b.finish(outputs.into_iter().map(unnamed).collect()).unwrap();
    program.check().unwrap();
    program
}

/// Runs a program with inputs of the types of `values`.
pub fn run(
    values: &[Value],
    body: impl FnOnce(&mut Builder, &[TermId]) -> Result<Vec<TermId>>,
) -> Run {
    let types: Vec<Type> = values.iter().map(|v| v.ty().clone()).collect();
    Interp::new(&program(&types, body)).run(values).unwrap()
}

/// The only output of a program with inputs of the types of `values`.
pub fn eval(
    values: &[Value],
    body: impl FnOnce(&mut Builder, &[TermId]) -> Result<TermId>,
) -> Value {
    run(values, |b, xs| Ok(vec![body(b, xs)?])).outputs.remove(0)
}

/// An `f64` array given by its elements.
pub fn floats(xs: &[f64]) -> Value {
    Value::of(&[xs.len()], xs.to_vec()).unwrap()
}

/// An `i64` array given by its elements.
pub fn ints(xs: &[i64]) -> Value {
    Value::of(&[xs.len()], xs.to_vec()).unwrap()
}

/// The `f64` array with this function from index to element.
pub fn tabulate(dims: &[usize], f: impl Fn(&[usize]) -> f64) -> Value {
    Value::from_fn(ty(Dtype::F64, dims), |ix| Scalar::F64(f(ix))).unwrap()
}

/// The `i64` array with this function from index to element.
pub fn tabulate_ints(dims: &[usize], f: impl Fn(&[usize]) -> i64) -> Value {
    Value::from_fn(ty(Dtype::I64, dims), |ix| Scalar::I64(f(ix))).unwrap()
}

#[track_caller]
pub fn assert_same(got: &Value, expected: &Value) {
    assert!(got.same(expected), "got {got}\nexpected {expected}");
}

/// All shapes of ranks 0 to `rank` with the given sizes.
pub fn shapes(rank: usize, sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![vec![]];
    let mut last = all.clone();
    for _ in 0..rank {
        let longer = |sh: &Vec<usize>| -> Vec<Vec<usize>> {
            sizes.iter().map(|&k| [&sh[..], &[k]].concat()).collect()
        };
        last = last.iter().flat_map(longer).collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// All permutations of `0 .. n`.
pub fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![vec![]];
    }
    let insert = |p: &Vec<usize>| -> Vec<Vec<usize>> {
        (0..n).map(|k| [&p[..k], &[n - 1], &p[k..]].concat()).collect()
    };
    permutations(n - 1).iter().flat_map(insert).collect()
}

/// All indices within the sizes.
pub fn indices(dims: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &k in dims {
        let longer = |ix: &Vec<usize>| -> Vec<Vec<usize>> {
            (0..k).map(|i| [&ix[..], &[i]].concat()).collect()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}
