//! Constants that are moved do not change how large numbers become on the way: what neither overflows
//! nor underflows in the source does neither in the result.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail so")]

use cotan_array::{Array, Dtype, Shape};
use cotan_interp::{Mode, Value};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Program, Result, TermId, Type};
use cotan_opt::{Options, optimise};
use cotan_testkit::run_program;

fn shape(dims: &[usize]) -> Shape {
    Shape::new("test", dims).unwrap()
}

/// Copies of a number.
fn full(dtype: Dtype, dims: &[usize], x: f64) -> Array {
    let n = shape(dims).numel();
    match dtype {
        Dtype::F32 => Array::from_vec(shape(dims), vec![x as f32; n]).unwrap(),
        _ => Array::from_vec(shape(dims), vec![x; n]).unwrap(),
    }
}

fn times(b: &mut Builder, t: TermId, c: f64) -> Result<TermId> {
    let ty = b.ty(t).clone();
    let c = match ty.dtype {
        Dtype::F32 => b.scalar(c as f32)?,
        _ => b.scalar(c)?,
    };
    let c = ty.shape.dims().iter().rev().try_fold(c, |c, &k| b.replicate(k, c))?;
    b.op(Op::Mul, &[t, c])
}

fn values(program: &Program, inputs: &[Value]) -> Vec<f64> {
    let results = run_program(program, inputs, Mode::Ieee).unwrap();
    let array = results[0].to_array().unwrap();
    match array.dtype() {
        Dtype::F32 => array.to_vec::<f32>().unwrap().into_iter().map(f64::from).collect(),
        _ => array.to_vec::<f64>().unwrap(),
    }
}

/// The largest relative difference between the results of a program and of what it becomes.
fn difference(
    inputs: &[Array],
    body: impl FnOnce(&mut Builder, &[TermId]) -> Result<TermId>,
) -> f64 {
    let mut b = Builder::new();
    let xs: Vec<TermId> = inputs
        .iter()
        .enumerate()
        .map(|(n, x)| b.input(format!("x{n}"), Type::of(x)).unwrap())
        .collect();
    let result = body(&mut b, &xs).unwrap();
    let program = b.finish_one(result).unwrap();
    let (optimised, _) = optimise(&program, &Options::default()).unwrap();
    let inputs: Vec<Value> = inputs.iter().map(Value::from).collect();
    let (before, after) = (values(&program, &inputs), values(&optimised, &inputs));
    let differences = before.iter().zip(&after).map(|(x, y)| ((x - y) / x).abs());
    differences.fold(0.0, |most, d| if d > most || d.is_nan() { d } else { most })
}

/// $\prod_k c\,x_k$ with $c\,x_k = 1$.
#[test]
fn products_of_many_multiples() {
    for (dtype, n, rounding) in [(Dtype::F32, 40, 1e-5), (Dtype::F64, 400, 1e-12)] {
        for c in [10_000.0, 1e-4, 65536.0, -3000.0, 7.0] {
            let inputs: Vec<Array> = (0..n).map(|_| full(dtype, &[2], 1.0 / c)).collect();
            for nested_left in [true, false] {
                let difference = difference(&inputs, |b, xs| {
                    let mut product = times(b, xs[0], c)?;
                    for &x in &xs[1..] {
                        let next = times(b, x, c)?;
                        let args = if nested_left { [product, next] } else { [next, product] };
                        product = b.op(Op::Mul, &args)?;
                    }
                    Ok(product)
                });
                assert!(difference < rounding, "{dtype:?}, {c}: {difference}");
            }
        }
    }
}

/// Steps $v \mapsto c\,A\,v$ with matrices of which all elements are $1 / (3 c)$.
#[test]
fn many_sums_of_products() {
    for (dtype, n, rounding) in [(Dtype::F32, 40, 1e-4), (Dtype::F64, 200, 1e-12)] {
        for (c, outside) in [(1e4, true), (1e4, false), (1e-4, true), (1e-4, false), (6e4, true)] {
            let matrix = full(dtype, &[3, 3], 1.0 / (3.0 * c));
            let vector = full(dtype, &[3], 1.0);
            let difference = difference(&[matrix, vector], |b, xs| {
                let mut v = xs[1];
                for _ in 0..n {
                    if !outside {
                        v = times(b, v, c)?;
                    }
                    let rows = b.replicate(3, v)?;
                    let products = b.op(Op::Mul, &[xs[0], rows])?;
                    let columns = b.transpose(&[1, 0], products)?;
                    v = b.sum_outer(columns)?;
                    if outside {
                        v = times(b, v, c)?;
                    }
                }
                Ok(v)
            });
            assert!(difference < rounding, "{dtype:?}, {c}, {outside}: {difference}");
        }
    }
}
