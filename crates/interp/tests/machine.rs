//! How programs are run: order, laziness, depth, counts, limits, and the three kinds of numbers.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::slice::from_ref;
use std::time::{Duration, Instant};

use common::*;
use cotan_array::Dtype;
use cotan_interp::{Counts, Failure, Interp, Mode, Options, Value};
use cotan_ir::scalar::{Fp, Op, Scalar};
use cotan_ir::{
    Builder, CancelToken, Extreme, FileId, MAX_NESTING, MapAccum, Param, Program, Result, Span,
    TermId, While,
};

// ---- order ------------------------------------------------------------------------------------

#[test]
fn a_long_chain_takes_no_stack() {
    let chain = || {
        let p = program(&[ty(Dtype::F64, &[])], |b, xs| {
            let one = b.scalar(1.0)?;
            let mut x = xs[0];
            for _ in 0..1_000_000 {
                x = b.op(Op::Add, &[x, one])?;
            }
            Ok(vec![x])
        });
        let run = Interp::new(&p).run(&[Value::scalar(0.0)]).unwrap();
        assert_same(&run.outputs[0], &Value::scalar(1e6));
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(chain).unwrap().join().unwrap();
}

#[test]
fn a_strict_run_evaluates_both_branches() {
    let p = program(&[ty(Dtype::F64, &[3])], |b, xs| {
        let (yes, no) = (b.op(Op::Exp, &[xs[0]])?, b.op(Op::Neg, &[xs[0]])?);
        let condition = b.scalar(true)?;
        Ok(vec![b.cond(condition, yes, no)?])
    });
    let inputs = [floats(&[0.0, 0.0, 0.0])];
    let lazy = Interp::new(&p).run(&inputs).unwrap();
    let options = Options { strict: true, ..Options::default() };
    let strict = Interp::new(&p).with_options(options).run(&inputs).unwrap();
    assert_same(&lazy.outputs[0], &strict.outputs[0]);
    assert_eq!((lazy.counts.scalar_ops, strict.counts.scalar_ops), (3, 6));
}

/// A chain inside a lambda, and one of conditionals.
#[test]
fn long_chains_elsewhere_take_no_stack() {
    let chain = || {
        let p = program(&[ty(Dtype::I64, &[])], |b, xs| {
            let built = b.build(2, |b, i| {
                let mut x = i;
                for _ in 0..50_000 {
                    x = b.op(Op::Add, &[x, xs[0]])?;
                }
                Ok(x)
            })?;
            let mut x = xs[0];
            let condition = b.op(Op::Eq, &[x, x])?;
            for _ in 0..50_000 {
                let next = b.op(Op::Add, &[x, xs[0]])?;
                x = b.cond(condition, next, xs[0])?;
            }
            Ok(vec![built, x])
        });
        let run = Interp::new(&p).run(&[Value::scalar(1i64)]).unwrap();
        assert_same(&run.outputs[0], &ints(&[50_000, 50_001]));
        assert_same(&run.outputs[1], &Value::scalar(50_001i64));
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(chain).unwrap().join().unwrap();
}

/// The sum over all `i1, .., in` of `x + i1 + .. + in`, where three of the indices are 0 or 1 and
/// the others only 0.
#[test]
fn lambdas_nest_as_deep_as_they_may() {
    fn nest(b: &mut Builder, x: TermId, depth: usize, deepest: usize) -> Result<TermId> {
        if depth == deepest {
            return Ok(x);
        }
        let forks = [0, deepest / 2, deepest - 1].contains(&depth);
        let inner = b.build(1 + usize::from(forks), |b, i| {
            let x = b.op(Op::Add, &[x, i])?;
            nest(b, x, depth + 1, deepest)
        })?;
        b.sum_outer(inner)
    }
    let deep = || {
        for deepest in [40, MAX_NESTING] {
            let p = program(&[ty(Dtype::I64, &[])], |b, xs| Ok(vec![nest(b, xs[0], 0, deepest)?]));
            let run = Interp::new(&p).run(&[Value::scalar(5i64)]).unwrap();
            assert_same(&run.outputs[0], &Value::scalar(8 * 5i64 + 12));
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(deep).unwrap().join().unwrap();
}

/// Both lambdas have the same variable and share the node `i * i`; so do the inner ones.
#[test]
fn lambdas_of_one_depth_do_not_disturb_each_other() {
    let got = eval(&[ints(&[10, 20, 30])], |b, xs| {
        let squares = b.build(3, |b, i| b.op(Op::Mul, &[i, i]))?;
        let table = b.build(3, |b, i| {
            let square = b.op(Op::Mul, &[i, i])?;
            let left = b.build(2, |b, j| b.op(Op::Add, &[square, j]))?;
            let right = b.build(2, |b, j| {
                let x = b.op(Op::Add, &[square, j])?;
                let y = b.index(xs[0], &[i])?;
                b.op(Op::Add, &[x, y])
            })?;
            let (left, right) = (b.sum_outer(left)?, b.sum_outer(right)?);
            b.op(Op::Sub, &[right, left])
        })?;
        b.op(Op::Add, &[squares, table])
    });
    assert_same(&got, &ints(&[20, 41, 64]));
}

#[test]
fn a_branch_not_taken_is_not_evaluated() {
    let p = program(&[ty(Dtype::Bool, &[]), ty(Dtype::F64, &[100])], |b, xs| {
        let small = b.scalar(1.0)?;
        let exps = b.op(Op::Exp, &[xs[1]])?;
        let large = b.sum_outer(exps)?;
        Ok(vec![b.cond(xs[0], small, large)?])
    });
    let ops = |truth: bool| {
        let inputs = [Value::scalar(truth), tabulate(&[100], |_| 0.0)];
        Interp::new(&p).run(&inputs).unwrap().counts.scalar_ops
    };
    assert_eq!(ops(true), 0);
    assert_eq!(ops(false), 200);
}

/// A conditional inside a lambda takes its branch anew in each run of it.
#[test]
fn branches_inside_a_lambda_are_chosen_each_time() {
    let run = run(&[floats(&[1.0, 2.0, 3.0, 4.0])], |b, xs| {
        let two = b.scalar(2i64)?;
        Ok(vec![b.build(4, |b, i| {
            let early = b.op(Op::Lt, &[i, two])?;
            let x = b.index(xs[0], &[i])?;
            let (neg, exp) = (b.op(Op::Neg, &[x])?, b.op(Op::Sub, &[x, x])?);
            b.cond(early, neg, exp)
        })?])
    });
    assert_same(&run.outputs[0], &floats(&[-1.0, -2.0, 0.0, 0.0]));
    // Each time one comparison and one branch.
    assert_eq!(run.counts.scalar_ops, 8);
}

#[test]
fn what_does_not_depend_on_the_index_is_computed_once() {
    let run = run(&[Value::scalar(1.0)], |b, xs| {
        Ok(vec![b.build(50, |b, i| {
            let invariant = b.op(Op::Exp, &[xs[0]])?;
            let x = b.op(Op::ToF64, &[i])?;
            b.op(Op::Mul, &[invariant, x])
        })?])
    });
    assert_eq!(run.counts.scalar_ops, 1 + 2 * 50);
}

#[test]
fn values_of_a_lambda_are_given_back() {
    let run = run(&[floats(&[1.0; 100])], |b, xs| {
        let built = b.build(200, |b, i| {
            let factor = b.op(Op::ToF64, &[i])?;
            let factors = b.replicate(100, factor)?;
            let scaled = b.op(Op::Mul, &[xs[0], factors])?;
            b.sum_outer(scaled)
        })?;
        Ok(vec![built])
    });
    // The input, the result, and what one run of the lambda holds: not 200 times that.
    let elements = 100 + 200 + (1 + 1 + 100 + 100 + 1);
    assert_eq!(run.counts.peak_bytes, 24 * elements);
}

// ---- counts -----------------------------------------------------------------------------------

#[test]
fn counts_are_what_they_say() {
    let count = |values: &[Value], body: fn(&mut Builder, &[TermId]) -> Result<TermId>| {
        let Counts { scalar_ops, reads, writes, steps, nodes, .. } =
            run(values, |b, xs| Ok(vec![body(b, xs)?])).counts;
        [scalar_ops, reads, writes, steps, nodes]
    };
    let a = tabulate(&[5, 2], |ix| ix[0] as f64);
    let i = Value::scalar(1i64);
    assert_eq!(count(from_ref(&a), |_, xs| Ok(xs[0])), [0, 0, 0, 0, 0]);
    assert_eq!(count(from_ref(&a), |b, xs| b.op(Op::Neg, xs)), [10, 10, 10, 0, 1]);
    assert_eq!(count(from_ref(&a), |b, xs| b.op(Op::Mul, &[xs[0], xs[0]])), [10, 20, 10, 0, 1]);
    assert_eq!(count(from_ref(&a), |b, xs| b.sum_outer(xs[0])), [10, 10, 2, 0, 1]);
    assert_eq!(count(&[a.clone(), i], |b, xs| b.index(xs[0], &xs[1..])), [0, 3, 2, 0, 1]);
    assert_eq!(count(from_ref(&a), |b, xs| b.arg_extreme(Extreme::Min, xs[0])), [8, 10, 2, 0, 1]);
    assert_eq!(count(from_ref(&a), |b, xs| b.arg_sort(xs[0])), [30, 10, 10, 0, 1]);
    assert_eq!(count(from_ref(&a), |b, xs| b.transpose(&[1, 0], xs[0])), [0, 10, 10, 0, 1]);
    assert_eq!(count(from_ref(&a), |b, xs| b.reshape(&[10], xs[0])), [0, 10, 10, 0, 1]);
    assert_eq!(count(from_ref(&a), |b, xs| b.stack(&[xs[0], xs[0]])), [0, 20, 20, 0, 1]);
    assert_eq!(count(&[], |b, _| b.iota(5)), [0, 0, 5, 0, 1]);
    // Three of the five rows are in range: their index is read, then they are.
    let gather = count(from_ref(&a), |b, xs| {
        let two = b.scalar(2i64)?;
        let r = b.index_function(&[5], |b, is| Ok(vec![b.op(Op::Add, &[is[0], two])?]))?;
        b.gather(xs[0], r)
    });
    assert_eq!(gather, [5, 5 * 2 + 5 + 3 * 2, 5 + 10, 5, 1 + 5 + 1]);
    // Three of the five rows are added to zeros.
    let scatter = count(&[a], |b, xs| {
        let two = b.scalar(2i64)?;
        let r = b.index_function(&[5], |b, is| Ok(vec![b.op(Op::Add, &[is[0], two])?]))?;
        b.scatter(&[5], xs[0], r)
    });
    assert_eq!(scatter, [5 + 6, 5 * 2 + 5 + 6, 5 + 10, 5, 1 + 5 + 1]);
    let build = count(&[], |b, _| b.build(4, |b, i| b.op(Op::Neg, &[i])));
    assert_eq!(build, [4, 4 + 4, 4 + 4, 4, 1 + 4]);
}

// ---- limits -----------------------------------------------------------------------------------

/// `n` steps in constant memory.
fn long_loop(n: usize) -> Program {
    program(&[ty(Dtype::F64, &[])], |b, xs| {
        let before = b.set_span(Span::new(FileId(0), 3, 7));
        let step = b.lambda(&[Param::Value(ty(Dtype::F64, &[]))], |b, v| {
            Ok(vec![b.op(Op::Add, &[v[0], xs[0]])?])
        })?;
        b.set_span(before);
        let (init, inputs) = ([xs[0]].into(), [].into());
        let m = b.map_accum(MapAccum { length: n, reverse: false, init, inputs, step })?;
        Ok(vec![b.result(m, 0)?])
    })
}

fn failure(p: &Program, options: Options, inputs: &[Value]) -> cotan_interp::InterpError {
    Interp::new(p).with_options(options).run(inputs).unwrap_err()
}

#[test]
fn the_limit_of_work_is_exact() {
    let p = long_loop(10);
    let inputs = [Value::scalar(1.0)];
    let work = Interp::new(&p).run(&inputs).unwrap().counts.work();
    let enough = Options { max_work: work, ..Options::default() };
    assert!(Interp::new(&p).with_options(enough).run(&inputs).is_ok());
    let error = failure(&p, Options { max_work: 6, ..Options::default() }, &inputs);
    assert_eq!(error.to_string(), "add: the run needs more than 6 units of work; raise `max_work`");
    assert_eq!(error.span(), Span::new(FileId(0), 3, 7));
    let error = failure(&p, Options { max_work: work - 1, ..Options::default() }, &inputs);
    assert!(matches!(error.failure(), Failure::Work { op: "result", .. }), "{error}");
}

#[test]
fn the_limit_of_memory_is_exact() {
    let p = program(&[ty(Dtype::F64, &[10])], |b, xs| Ok(vec![b.replicate(3, xs[0])?]));
    let inputs = [floats(&[1.0; 10])];
    let peak = Interp::new(&p).run(&inputs).unwrap().counts.peak_bytes;
    assert_eq!(peak, 40 * 24);
    let enough = Options { max_bytes: peak, ..Options::default() };
    assert!(Interp::new(&p).with_options(enough).run(&inputs).is_ok());
    let error = failure(&p, Options { max_bytes: peak - 1, ..Options::default() }, &inputs);
    assert_eq!(
        error.to_string(),
        "replicate: a value of type [3, 10]f64 would bring the memory in use to 960 bytes; \
         the limit is 959, raise `max_bytes`"
    );
    let error = failure(&p, Options { max_bytes: 100, ..Options::default() }, &inputs);
    assert!(matches!(error.failure(), Failure::Memory { op: "input", .. }), "{error}");
}

#[test]
fn huge_arrays_are_refused_before_they_are_made() {
    let p = program(&[], |b, _| Ok(vec![b.iota(1 << 33)?]));
    let error = failure(&p, Options::default(), &[]);
    assert!(matches!(error.failure(), Failure::Memory { op: "iota", .. }), "{error}");
}

/// Lambdas that run without making elements are work too.
#[test]
fn empty_work_is_limited() {
    let p = program(&[ty(Dtype::F64, &[0])], |b, xs| {
        Ok(vec![b.build(1 << 40, |b, i| {
            let row = b.replicate(0, i)?;
            let floats = b.op(Op::ToF64, &[row])?;
            b.op(Op::Add, &[floats, xs[0]])
        })?])
    });
    let options = Options { max_work: 10_000, ..Options::default() };
    assert!(matches!(failure(&p, options, &[floats(&[])]).failure(), Failure::Work { .. }));
}

#[test]
fn a_run_can_be_cancelled() {
    let p = long_loop(1 << 50);
    let cancel = CancelToken::new();
    let options = Options { cancel: cancel.clone(), ..Options::default() };
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        cancel.cancel();
    });
    let error = failure(&p, options, &[Value::scalar(1.0)]);
    assert_eq!(*error.failure(), Failure::Cancelled);
    canceller.join().unwrap();
}

#[test]
fn a_deadline_ends_a_run() {
    let p = long_loop(1 << 50);
    let deadline = Some(Instant::now() + Duration::from_millis(20));
    let error = failure(&p, Options { deadline, ..Options::default() }, &[Value::scalar(1.0)]);
    assert_eq!(*error.failure(), Failure::Deadline);
    // One that has passed ends even the shortest.
    let p = long_loop(1);
    let deadline = Some(Instant::now());
    let error = failure(&p, Options { deadline, ..Options::default() }, &[Value::scalar(1.0)]);
    assert_eq!(*error.failure(), Failure::Deadline);
}

/// `while b(x): x = x + x` from the input, for a condition on states.
fn endless(condition: impl FnOnce(&mut Builder, TermId) -> Result<TermId>) -> Program {
    program(&[ty(Dtype::F64, &[])], |b, xs| {
        let step = b.lambda(&[Param::Value(ty(Dtype::F64, &[]))], |b, v| {
            let running = condition(b, v[0])?;
            Ok(vec![running, b.op(Op::Add, &[v[0], v[0]])?])
        })?;
        let w = b.while_accum(While { bound: None, init: [xs[0]].into(), step })?;
        Ok(vec![b.result(w, 0)?])
    })
}

#[test]
fn a_loop_that_does_not_end_is_stopped() {
    let p = endless(|b, _| b.scalar(true));
    let inputs = [Value::scalar(1.0)];
    let error = failure(&p, Options { max_work: 10_000, ..Options::default() }, &inputs);
    assert!(matches!(error.failure(), Failure::Work { .. }), "{error}");
    let deadline = Some(Instant::now() + Duration::from_millis(20));
    let error = failure(&p, Options { deadline, ..Options::default() }, &inputs);
    assert_eq!(*error.failure(), Failure::Deadline);
    let cancel = CancelToken::new();
    cancel.cancel();
    let error = failure(&p, Options { cancel, ..Options::default() }, &inputs);
    assert_eq!(*error.failure(), Failure::Cancelled);
}

/// A step is not run for states whose condition fails.
#[test]
fn the_step_after_the_last_is_not_run() {
    let p = endless(|b, x| {
        let limit = b.scalar(100.0)?;
        b.op(Op::Lt, &[x, limit])
    });
    for (x, doubled, value) in [(1.0, 7, 128.0), (100.0, 0, 100.0)] {
        let run = Interp::new(&p).run(&[Value::scalar(x)]).unwrap();
        assert_same(&run.outputs[0], &Value::scalar(value));
        assert_eq!(run.counts.scalar_ops, doubled + doubled + 1);
        assert_eq!(run.counts.steps, doubled + 1);
    }
    // No comparison with NaN holds.
    let run = Interp::new(&p).run(&[Value::scalar(f64::NAN)]).unwrap();
    assert_eq!(run.counts.steps, 1);
}

// ---- inputs -----------------------------------------------------------------------------------

#[test]
fn wrong_inputs_are_named() {
    let p = program(&[ty(Dtype::F64, &[2]), ty(Dtype::I64, &[])], |_, xs| Ok(xs.to_vec()));
    let error = |inputs: &[Value]| failure(&p, Options::default(), inputs).to_string();
    assert_eq!(error(&[]), "the program takes 2 inputs (x0, x1), but 0 were given");
    let two = floats(&[1.0, 2.0]);
    assert_eq!(
        error(&[two.clone(), Value::scalar(1.0)]),
        "input 1, `x1`, is declared i64, but f64 was given"
    );
    assert_eq!(
        error(&[floats(&[1.0]), Value::scalar(1i64)]),
        "input 0, `x0`, is declared [2]f64, but [1]f64 was given"
    );
    assert_eq!(
        error(&[two.into_field(), Value::scalar(1i64)]),
        "input 0, `x0`, holds elements of the test field; run with Mode::Field"
    );
}

#[test]
fn an_interpreter_runs_many_times() {
    let p = program(&[ty(Dtype::F64, &[])], |b, xs| Ok(vec![b.op(Op::Exp, xs)?]));
    let interp = Interp::new(&p);
    let first = interp.run(&[Value::scalar(1.0)]).unwrap();
    interp.run(&[Value::scalar(2.0)]).unwrap();
    let again = interp.run(&[Value::scalar(1.0)]).unwrap();
    assert_same(&first.outputs[0], &again.outputs[0]);
    assert_eq!(first.counts, again.counts);
}

// ---- numbers ----------------------------------------------------------------------------------

#[test]
fn the_field_computes_exactly() {
    let p = program(&[ty(Dtype::F64, &[3]), ty(Dtype::F32, &[3])], |b, xs| {
        let y = b.op(Op::ToF64, &[xs[1]])?;
        let sum = b.op(Op::Add, &[xs[0], y])?;
        let square = b.op(Op::Mul, &[sum, sum])?;
        let difference = b.op(Op::Sub, &[xs[0], y])?;
        let other = b.op(Op::Mul, &[difference, difference])?;
        let four_products = b.op(Op::Sub, &[square, other])?;
        let product = b.op(Op::Mul, &[xs[0], y])?;
        Ok(vec![four_products, product, b.sum_outer(xs[0])?])
    });
    // Floats would lose the small parts.
    let inputs = [floats(&[1e17, 0.5, 3.0]), Value::of(&[3], vec![1.0f32, -2.5, 1e-20]).unwrap()];
    let run = Interp::new(&p).with_mode(Mode::Field).run(&inputs).unwrap();
    let four = Fp::from_i64(4);
    for (&left, &product) in run.outputs[0].elements().iter().zip(run.outputs[1].elements()) {
        let Scalar::Fp(product) = product else { panic!("{product:?} is not of the field") };
        assert_eq!(left, Scalar::Fp(four * product));
    }
    let sum = Fp::from_f64(1e17) + Fp::from_f64(0.5) + Fp::from_i64(3);
    assert_eq!(run.outputs[2].elements(), [Scalar::Fp(sum)]);
    assert_eq!(run.outputs[2].dtype(), Dtype::F64);
    // Values of the field are inputs too, and constants and conversions end up in it.
    let inputs = inputs.map(Value::into_field);
    let again = Interp::new(&p).with_mode(Mode::Field).run(&inputs).unwrap();
    assert_same(&again.outputs[0], &run.outputs[0]);
}

#[test]
fn the_field_takes_in_constants_conversions_and_zeros() {
    let p = program(&[ty(Dtype::I64, &[])], |b, xs| {
        let half = b.scalar(0.5)?;
        let x = b.op(Op::ToF64, &[xs[0]])?;
        let product = b.op(Op::Mul, &[half, x])?;
        let seven = b.iota(7)?;
        let far = b.index(seven, &[xs[0]])?;
        let back = b.op(Op::ToI64, &[product])?;
        let row = b.replicate(2, product)?;
        Ok(vec![product, far, back, b.index(row, &[xs[0]])?])
    });
    let run = Interp::new(&p).with_mode(Mode::Field).run(&[Value::scalar(12i64)]).unwrap();
    let got: Vec<Scalar> = run.outputs.iter().map(|v| v.elements()[0]).collect();
    let six = Scalar::Fp(Fp::from_i64(6));
    assert_eq!(got, [six, Scalar::I64(0), Scalar::I64(6), Scalar::Fp(Fp::ZERO)]);
}

#[test]
fn single_precision_rounds_every_float() {
    let p = program(&[ty(Dtype::F64, &[2]), ty(Dtype::I64, &[])], |b, xs| {
        let tenth = b.scalar(0.1)?;
        Ok(vec![b.sum_outer(xs[0])?, tenth, b.op(Op::ToF64, &[xs[1]])?])
    });
    // Just above the tie between two f32 values: rounded by way of f64 it would go to even.
    let tie = (1i64 << 60) + (1 << 36) + 1;
    let inputs = [floats(&[16777216.0, 1.0]), Value::scalar(tie)];
    let run = Interp::new(&p).with_mode(Mode::F32).run(&inputs).unwrap();
    assert_same(&run.outputs[0], &Value::scalar(16777216.0));
    assert_same(&run.outputs[1], &Value::scalar(f64::from(0.1f32)));
    assert_same(&run.outputs[2], &Value::scalar(f64::from(tie as f32)));
}
