//! Derivatives of derivatives: every order of modes, every way of writing a Hessian.

use cotan_ad::{grad, hessian, hvp, jacrev, jvp, value_and_grad, vjp};
use cotan_interp::{Mode, Value};
use cotan_ir::scalar::{Fp, Op, Scalar};
use cotan_ir::{Builder, Program, Type};
use cotan_testkit::{
    Config, Equality, InputKind, Rng, first_difference, for_each_case, fuzz_targets::reads_back,
};

use crate::exact;
use crate::support::*;
use crate::ways::*;

/// A scalar function of a program's inputs that depends on every element of its float outputs: their
/// sum with weights 1, 2, 3 and so on.
pub fn objective(program: &Program) -> cotan_ir::Result<Program> {
    let mut b = Builder::new();
    let inputs = declare(&mut b, program)?;
    let outputs = inline(&mut b, program, &inputs)?;
    let mut total = b.scalar(0.0)?;
    for (n, t) in outputs.into_iter().enumerate() {
        if !b.dtype(t).is_float() {
            continue;
        }
        let count = b.shape(t).numel();
        let flat = b.reshape(&[count], t)?;
        let flat = b.op(Op::ToF64, &[flat])?;
        let first = b.scalar(1 + n as i64)?;
        let first = b.replicate(count, first)?;
        let weights = b.iota(count)?;
        let weights = b.op(Op::Add, &[weights, first])?;
        let weights = b.op(Op::ToF64, &[weights])?;
        let weighted = b.op(Op::Mul, &[flat, weights])?;
        let sum = b.sum_outer(weighted)?;
        total = b.op(Op::Add, &[total, sum])?;
    }
    b.finish_one(total)
}

/// The positions of float inputs.
fn float_positions(program: &Program) -> Vec<usize> {
    let types = input_types(program);
    (0..types.len()).filter(|&k| types[k].dtype.is_float()).collect()
}

fn equal(what: &str, left: &[Value], right: &[Value]) -> Checked {
    match first_difference(left, right, Equality::Values) {
        None => Ok(()),
        Some(difference) => Err(format!("{what}: {difference}")),
    }
}

/// The rows of a Hessian of `count` inputs times the tangents, in the field.
fn contract(blocks: &[Value], tangents: &[Value], types: &[Type]) -> Vec<Value> {
    let field = |x: &Scalar| match x.into_field() {
        Scalar::Fp(x) => x,
        other => panic!("{other:?}"),
    };
    let count = tangents.len();
    let mut rows = Vec::new();
    for (a, ty) in types.iter().enumerate() {
        let mut row = vec![Fp::ZERO; ty.shape.numel()];
        for (b, v) in tangents.iter().enumerate() {
            let block = blocks[a * count + b].elements();
            let width = v.elements().len();
            for (i, sum) in row.iter_mut().enumerate() {
                for (j, v) in v.elements().iter().enumerate() {
                    *sum = *sum + field(&block[i * width + j]) * field(v);
                }
            }
        }
        rows.push(
            Value::new(ty.clone(), row.into_iter().map(Scalar::Fp).collect()).expect("a row"),
        );
    }
    rows
}

/// The Hessian times a vector in five ways, and the symmetry of the Hessian.
fn hessians(source: &Program, rng: &mut Rng) -> Checked {
    let f = bulked(&objective(source).map_err(text)?)?;
    let mode = Mode::Field;
    let point = Point::random(&f, rng, InputKind::Field)?;
    let wrt = float_positions(&f);
    let types: Vec<Type> = wrt.iter().map(|&k| f.inputs()[k].ty.clone()).collect();
    let gradient = checked(grad(&f, None))?;

    let over_gradient = Point { cotangents: point.tangents.clone(), ..point.clone() };
    let expected = forward_by_scalars(&gradient, &over_gradient, mode)?;
    let with_tangents = [&point.inputs[..], &point.tangents].concat();

    let product = checked(hvp(&f, None))?;
    equal("hvp", &expected, &run(&product, &with_tangents, mode)?)?;

    let twice = checked(vjp(&gradient, None))?;
    let values = run(&twice, &with_tangents, mode)?;
    equal("reverse over reverse", &expected, &values[types.len()..])?;

    let tangent = checked(jvp(&f, None))?;
    let mixed = checked(vjp(&tangent, Some(&wrt)))?;
    let mut inputs = with_tangents.clone();
    inputs.extend([Value::scalar(0.0), Value::scalar(1.0)]);
    equal("reverse over forward", &expected, &run(&mixed, &inputs, mode)?[2..])?;

    let blocks = checked(hessian(&f, None))?;
    let blocks = run(&blocks, &point.inputs, mode)?;
    equal("Hessian times vector", &expected, &contract(&blocks, &point.tangents, &types))?;
    let by_rows = checked(jacrev(&gradient, None))?;
    equal("Hessian by rows", &blocks, &run(&by_rows, &point.inputs, mode)?)?;
    symmetric(&blocks, &types)
}

fn symmetric(blocks: &[Value], types: &[Type]) -> Checked {
    let sizes: Vec<usize> = types.iter().map(|ty| ty.shape.numel()).collect();
    for (a, &rows) in sizes.iter().enumerate() {
        for (b, &columns) in sizes.iter().enumerate() {
            let (left, right) = (&blocks[a * sizes.len() + b], &blocks[b * sizes.len() + a]);
            for i in 0..rows {
                for j in 0..columns {
                    let (x, y) = (left.elements()[i * columns + j], right.elements()[j * rows + i]);
                    if !x.into_field().same(y.into_field()) {
                        return Err(format!("hess.{a}.{b} at {i}, {j} is {x:?} against {y:?}"));
                    }
                }
            }
        }
    }
    Ok(())
}

fn small() -> Config {
    Config { max_elements: 6, max_rank: 2, max_inputs: 3, ..exact::ring().nodes(14) }
}

#[test]
fn hessians_agree_on_random_programs() {
    for_each_case("hessians", 150, |rng| on_random_program(&small(), rng, hessians));
    let updates = Config { updates: 50, ..small() };
    for_each_case("hessians of updates", 60, |rng| on_random_program(&updates, rng, hessians));
}

/// Derivative programs are programs: they print and parse back, go through the bulk-operation
/// transform, and stand under a `build`, where every lane is a derivative of its own.
fn under_build(source: &Program, rng: &mut Rng) -> Checked {
    let bulk = bulked(source)?;
    for derivative in [checked(vjp(&bulk, None))?, checked(jvp(&bulk, None))?] {
        reads_back(&derivative)?;
        let lanes = 3;
        let mut b = Builder::new();
        let mut batched = Vec::new();
        for input in derivative.inputs() {
            let dims = [&[lanes], input.ty.shape.dims()].concat();
            let shape = cotan_array::Shape::new("batch", &dims).map_err(text)?;
            let ty = Type::new(input.ty.dtype, shape);
            batched.push(b.input(input.name.clone(), ty).map_err(text)?);
        }
        let mut outputs = Vec::new();
        for n in 0..derivative.outputs().len() {
            let lane = b.build(lanes, |b, i| {
                let inputs: cotan_ir::Result<Vec<_>> =
                    batched.iter().map(|&t| b.index(t, &[i])).collect();
                Ok(inline(b, &derivative, &inputs?)?[n])
            });
            outputs.push(lane.map_err(text)?);
        }
        let vmapped = checked(b.finish(unnamed(outputs)))?;
        let in_bulk = checked(Ok(bulked(&vmapped)?))?;
        let point = Point::random(&vmapped, rng, InputKind::Field)?;
        let expected = run(&vmapped, &point.inputs, Mode::Field)?;
        equal("vmap", &expected, &run(&in_bulk, &point.inputs, Mode::Field)?)?;
    }
    Ok(())
}

#[test]
fn derivatives_read_back_and_stand_under_build() {
    for_each_case("under build", 150, |rng| on_random_program(&small(), rng, under_build));
}

/// The n-th derivative of a function of one number, by reverse mode again and again.
pub fn nth_derivative(
    n: usize,
    f: impl Fn(&mut Builder, cotan_ir::TermId) -> cotan_ir::Result<cotan_ir::TermId>,
    x: f64,
) -> f64 {
    let mut b = Builder::new();
    let input = b.input("x", Type::scalar(cotan_array::Dtype::F64)).expect("input");
    let y = f(&mut b, input).expect("a term");
    let mut program = one(b, y);
    for _ in 0..n {
        program = checked(grad(&program, None)).expect("a gradient");
    }
    let values = run(&program, &[Value::scalar(x)], Mode::Ieee).expect("a run");
    floats(&values[0])[0]
}

#[test]
fn higher_derivatives_have_their_closed_forms() {
    let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-11 * (1.0 + b.abs()), "{a} {b}");
    let x = 0.7f64;
    for n in 0..5 {
        let factorial = |k: usize| (1..=k).product::<usize>() as f64;
        near(nth_derivative(n, |b, x| b.op(Op::Exp, &[x]), x), x.exp());
        near(
            nth_derivative(n, |b, x| b.op(Op::Sin, &[x]), x),
            (x + n as f64 * std::f64::consts::FRAC_PI_2).sin(),
        );
        let power = |b: &mut Builder, x| {
            let five = b.scalar(5i64)?;
            b.op(Op::Powi, &[x, five])
        };
        near(nth_derivative(n, power, x), factorial(5) / factorial(5 - n) * x.powi(5 - n as i32));
        let power = |b: &mut Builder, x| {
            let c = b.scalar(2.5)?;
            b.op(Op::Pow, &[x, c])
        };
        let falling: f64 = (0..n).map(|k| 2.5 - k as f64).product();
        near(nth_derivative(n, power, x), falling * x.powf(2.5 - n as f64));
        if n > 0 {
            let sign = if n % 2 == 1 { 1.0 } else { -1.0 };
            let expected = sign * factorial(n - 1) / x.powi(n as i32);
            near(nth_derivative(n, |b, x| b.op(Op::Log, &[x]), x), expected);
        }
    }
    // (tanh)''' = (1 - t^2) (6 t^2 - 2)
    let t = x.tanh();
    near(nth_derivative(3, |b, x| b.op(Op::Tanh, &[x]), x), (1.0 - t * t) * (6.0 * t * t - 2.0));
}

/// A derivative may be taken of a program that has the names of derivatives already.
#[test]
fn names_stay_apart_however_often_one_differentiates() {
    let mut b = Builder::new();
    let x = b.input("x", Type::scalar(cotan_array::Dtype::F64)).unwrap();
    let y = b.op(Op::Sin, &[x]).unwrap();
    let program = one(b, y);
    let names = |p: &Program| -> Vec<String> {
        let inputs = p.inputs().iter().map(|i| i.name.clone());
        inputs.chain(p.outputs().iter().map(|o| o.name.clone())).collect()
    };
    let twice = value_and_grad(&value_and_grad(&program, None).unwrap(), None).unwrap();
    assert_eq!(names(&twice), ["x", "result0", "grad.x", "grad.x'"]);
    let twice = jvp(&jvp(&program, None).unwrap(), None).unwrap();
    let expected =
        ["x", "d.x", "d.x'", "d.d.x", "result0", "d.result0", "d.result0'", "d.d.result0"];
    assert_eq!(names(&twice), expected);
    let mixed = vjp(&jvp(&vjp(&program, None).unwrap(), None).unwrap(), None).unwrap();
    reads_back(&mixed).unwrap();
    let mut all = names(&mixed);
    all.sort();
    let count = all.len();
    all.dedup();
    assert_eq!(all.len(), count);
}
