//! Results do not depend on how many threads there are, or on who else calls.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use cotan_array::{Array, Dtype, Shape};
use cotan_cpu::{Engine, Executable, RunLimits};
use cotan_interp::Value;
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Output, Program, Type};
use cotan_nest::{Nest, Step};
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_schedule::{Target, Thresholds, lower};
use cotan_testkit::{
    Config, Equality, InputKind, first_difference, for_each_case, generate, inputs_for,
};

fn run(executable: &Executable, inputs: &[Array], threads: usize) -> Vec<Value> {
    let limits = RunLimits { threads: Some(threads), ..RunLimits::default() };
    // Other memory for other numbers of threads, in which nothing may count.
    let executable = executable.clone().with_stale_memory([0xff, 0x7e][threads % 2]);
    executable.run(inputs, &limits).unwrap().iter().map(Value::from).collect()
}

fn same_for_all(executable: &Executable, inputs: &[Array]) -> Result<(), String> {
    let alone = run(executable, inputs, 1);
    for threads in [2, 3, 7] {
        let together = run(executable, inputs, threads);
        if let Some(difference) = first_difference(&alone, &together, Equality::Bits) {
            return Err(format!("{threads} threads: {difference}"));
        }
    }
    Ok(())
}

#[test]
fn random_programs() {
    let check = |program: &Program, inputs: &[Array]| {
        for engine in [Engine::Machine, Engine::Native] {
            let Ok(executable) = Executable::in_tiny_blocks(program, false, engine) else {
                return Ok(());
            };
            same_for_all(&executable, inputs).map_err(|e| format!("{e}\nin\n{program}"))?;
        }
        Ok::<(), String>(())
    };
    for_each_case("exec.threads", 300, |rng| {
        let program = generate(&Config::default(), rng).map_err(|e| e.to_string())?;
        let Ok(bulk) = Pipeline::new(&[Pass::BULK]).run(&program) else { return Ok(()) };
        let Ok(gradient) = derive(&program, Derivative::Vjp, None) else { return Ok(()) };
        for program in [&bulk, &gradient] {
            let Ok(inputs) = inputs_for(program, rng, InputKind::Generic) else { continue };
            let arrays: Vec<Array> = inputs.iter().map(|v| v.to_array().unwrap()).collect();
            check(program, &arrays)?;
        }
        Ok(())
    });
}

/// The rows of a matrix, each divided by the sum of its exponentials, and the sum of all.
fn rows(m: usize, n: usize) -> Program {
    let mut b = Builder::new();
    let shape = Shape::new("test", &[m, n]).unwrap();
    let x = b.input("x", Type::new(Dtype::F64, shape)).unwrap();
    let e = b.op(Op::Exp, &[x]).unwrap();
    let turned = b.transpose(&[1, 0], e).unwrap();
    let sums = b.sum_outer(turned).unwrap();
    let spread = b.replicate(n, sums).unwrap();
    let spread = b.transpose(&[1, 0], spread).unwrap();
    let shares = b.op(Op::Div, &[e, spread]).unwrap();
    let weighted = b.op(Op::Mul, &[shares, x]).unwrap();
    let total = b.sum_outer(weighted).unwrap();
    let total = b.sum_outer(total).unwrap();
    let output = |name: &str, term| Output { name: name.into(), term };
    b.finish(vec![output("shares", shares), output("total", total)]).unwrap()
}

#[test]
fn large_groups() {
    for (m, n) in [(1000, 300), (3, 100_000), (100_000, 3)] {
        let executable = Executable::new(&rows(m, n)).unwrap();
        let shape = Shape::new("test", &[m, n]).unwrap();
        let x = Array::from_fn(shape, |ix| ((ix[0] * 7 + ix[1] * 3) % 11) as f64 * 0.3).unwrap();
        same_for_all(&executable, &[x]).unwrap();
    }
}

/// The products of `batch` pairs of matrices, by `op`; if so wished also multiplied by a vector, so
/// that another nest goes with them.
fn products(op: Op, dtype: Dtype, batch: usize, [m, k, n]: [usize; 3], more: bool) -> Program {
    let mut b = Builder::new();
    let ty = |dims: &[usize]| Type::new(dtype, Shape::new("test", dims).unwrap());
    let x = b.input("x", ty(&[batch, m, k])).unwrap();
    let y = b.input("y", ty(&[batch, k, n])).unwrap();
    let v = b.input("v", ty(&[n])).unwrap();
    // Over the depth, the batch, the rows and the columns.
    let left = b.replicate(n, x).unwrap();
    let left = b.transpose(&[3, 1, 2, 0], left).unwrap();
    let right = b.replicate(m, y).unwrap();
    let right = b.transpose(&[2, 1, 0, 3], right).unwrap();
    let product = b.op(op, &[left, right]).unwrap();
    let sums = b.sum_outer(product).unwrap();
    let copies = b.replicate(m, v).unwrap();
    let copies = b.replicate(batch, copies).unwrap();
    let scaled = b.op(Op::Mul, &[sums, copies]).unwrap();
    let output = |name: &str, term| Output { name: name.into(), term };
    let mut outputs = vec![output("sums", sums)];
    outputs.extend(more.then(|| output("scaled", scaled)));
    b.finish(outputs).unwrap()
}

/// Contractions of several blocks of rows and of columns, of a batch, and such as read operands
/// where they lie; a factor that is not finite where it must be.
#[test]
fn contractions() {
    let sizes = [
        (1, [300, 70, 50]),
        (1, [20, 40, 2100]),
        (1, [150, 64, 500]),
        (3, [90, 30, 40]),
        (1, [500, 300, 8]),
    ];
    for (batch, [m, k, n]) in sizes {
        let kinds = [
            (Op::Mul, Dtype::F64, true),
            (Op::Scale, Dtype::F64, false),
            (Op::Mul, Dtype::F32, false),
        ];
        for (op, dtype, more) in kinds {
            let program = products(op, dtype, batch, [m, k, n], more);
            let executable = Executable::in_tiny_blocks(&program, false, Engine::Native).unwrap();
            let target = Target::portable().with_thresholds(Thresholds::TINY);
            let plan = lower(&program, false, &target).unwrap();
            let contracts = |step: &Step<Nest>| matches!(step, Step::Contract(_));
            assert!(plan.steps.iter().any(contracts), "no contraction in\n{plan}");
            let array = |dims: &[usize], infinite: bool| {
                let shape = Shape::new("test", dims).unwrap();
                let number = move |ix: &[usize]| {
                    let n = ix.iter().fold(3, |n, i| (n * 31 + i * 7) % 1009);
                    if infinite && n == 5 { f64::INFINITY } else { n as f64 * 0.37 - 170.0 }
                };
                match dtype {
                    Dtype::F32 => Array::from_fn(shape, |ix| number(ix) as f32).unwrap(),
                    _ => Array::from_fn(shape, number).unwrap(),
                }
            };
            for infinite in [false, true] {
                let inputs = [
                    array(&[batch, m, k], false),
                    array(&[batch, k, n], infinite),
                    array(&[n], false),
                ];
                same_for_all(&executable, &inputs).unwrap();
            }
        }
    }
}

#[test]
fn many_callers_of_one_executable() {
    let executable = Executable::new(&rows(64, 64)).unwrap();
    std::thread::scope(|scope| {
        for caller in 0..4 {
            let executable = &executable;
            scope.spawn(move || {
                let shape = Shape::new("test", &[64, 64]).unwrap();
                let x = Array::full(shape, f64::from(caller)).unwrap();
                for _ in 0..50 {
                    let found = executable.run(std::slice::from_ref(&x), &RunLimits::default());
                    let total = found.unwrap()[1].item::<f64>().unwrap();
                    // Every share is 1/64.
                    assert!((total - 64.0 * f64::from(caller)).abs() < 1e-9, "{total}");
                }
            });
        }
    });
}

#[test]
fn results_go_where_earlier_ones_were() {
    let executable = Executable::new(&rows(8, 8)).unwrap();
    let x = Array::full(Shape::new("test", &[8, 8]).unwrap(), 1.0).unwrap();
    let mut out = Vec::new();
    executable.run_into(std::slice::from_ref(&x), &mut out, &RunLimits::default()).unwrap();
    let place = |out: &[Array]| out[0].as_slice::<f64>().unwrap().as_ptr();
    let first = place(&out);
    executable.run_into(std::slice::from_ref(&x), &mut out, &RunLimits::default()).unwrap();
    assert_eq!(place(&out), first, "new memory, though nobody else held the old");
    let held = out.clone();
    executable.run_into(&[x], &mut out, &RunLimits::default()).unwrap();
    assert_ne!(place(&out), first, "written over what somebody else holds");
    assert_eq!(held[0].to_vec::<f64>().unwrap(), out[0].to_vec::<f64>().unwrap());
}

#[test]
fn results_do_not_go_where_they_do_not_fit() {
    let executable = Executable::new(&rows(8, 8)).unwrap();
    let shape = |dims: &[usize]| Shape::new("test", dims).unwrap();
    let x = Array::full(shape(&[8, 8]), 1.0).unwrap();
    let wanted = run(&executable, std::slice::from_ref(&x), 1);
    // Too small, too large, of another shape, of another type, and one too many.
    for dims in [&[2, 8][..], &[8, 80], &[64], &[]] {
        for dtype in [Dtype::F64, Dtype::F32] {
            // Each held by nobody else.
            let other = |_| Array::full(shape(dims), 0.5).unwrap().cast(dtype).unwrap();
            let mut out: Vec<Array> = (0..3).map(other).collect();
            executable.run_into(std::slice::from_ref(&x), &mut out, &RunLimits::default()).unwrap();
            let found: Vec<Value> = out.iter().map(Value::from).collect();
            assert_eq!(first_difference(&wanted, &found, Equality::Bits), None, "{dims:?}");
        }
    }
}
