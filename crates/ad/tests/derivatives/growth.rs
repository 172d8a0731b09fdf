//! How large derivatives get: linear in the program, whatever is shared, nested or read in it.

use std::time::Instant;

use cotan_ad::{grad, jvp, value_and_grad, vjp};
use cotan_array::{Dtype, Shape};
use cotan_interp::{Interp, Value};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, MapAccum, Node, Param, Program, Result, TermId, Type};
use cotan_testkit::{Config, for_each_case};

use crate::support::*;

/// Nodes of a reverse derivative for each node of the program, with a few to start with.
const REVERSE_GROWTH: usize = 8;
const START: usize = 40;
/// .. and more for a factorisation of a matrix, whose derivative is a formula of many products.
const ROUTINE_GROWTH: usize = 80;

/// The number of nodes that are used.
fn size(program: &Program) -> usize {
    program.normalised().expect("a program").len()
}

fn is_routine(program: &Program, t: TermId) -> bool {
    matches!(program.node(t), Node::Routine(..))
}

fn scalar_input(b: &mut Builder) -> TermId {
    b.input("x", Type::scalar(Dtype::F64)).expect("an input")
}

/// A function of one number in which each value is made from the one before.
fn chain(n: usize, step: impl Fn(&mut Builder, TermId) -> Result<TermId>) -> Program {
    let mut b = Builder::new();
    let mut t = scalar_input(&mut b);
    for _ in 0..n {
        t = step(&mut b, t).expect("a step");
    }
    one(b, t)
}

/// `x + x` and `x * x` again and again: exponential without sharing.
#[test]
fn shared_values_are_differentiated_once() {
    let n = 100_000;
    let doubled = chain(n, |b, x| b.op(Op::Add, &[x, x]));
    let (forward, reverse) = (jvp(&doubled, None).unwrap(), vjp(&doubled, None).unwrap());
    assert!(reverse.len() <= 2 * n + START && forward.len() <= 2 * n + START);
    let squared = chain(n, |b, x| b.op(Op::Mul, &[x, x]));
    assert!(value_and_grad(&squared, None).unwrap().len() <= 5 * n + START);
    // A value shared by many, as in a wide sum.
    let mut b = Builder::new();
    let x = scalar_input(&mut b);
    let y = b.op(Op::Sin, &[x]).unwrap();
    let mut sum = x;
    for k in 0..n {
        let c = b.scalar(k as f64).unwrap();
        let term = b.op(Op::Mul, &[c, y]).unwrap();
        sum = b.op(Op::Add, &[sum, term]).unwrap();
    }
    assert!(vjp(&one(b, sum), None).unwrap().len() <= 5 * n + START);
}

#[test]
fn derivatives_of_random_programs_grow_linearly() {
    let mut worst = 0.0f64;
    for_each_case("growth", 300, |rng| {
        let property = |program: &Program, _: &mut cotan_testkit::Rng| {
            let program = bulked(program)?;
            let (before, after) = (size(&program), size(&vjp(&program, None).map_err(text)?));
            let routines = program.terms().filter(|&t| is_routine(&program, t)).count();
            if after > REVERSE_GROWTH * before + ROUTINE_GROWTH * routines + START {
                return Err(format!("{before} nodes become {after}\n{program}"));
            }
            Ok(())
        };
        let program =
            cotan_testkit::generate(&Config::default(), &mut rng.clone()).map_err(text)?;
        let program = bulked(&program)?;
        let after = size(&vjp(&program, None).map_err(text)?);
        if size(&program) > START {
            worst = worst.max(after as f64 / size(&program) as f64);
        }
        on_random_program(&Config::default(), rng, property)
    });
    println!("at most {worst:.2} nodes for each");
}

/// Every operation, in a chain of its own: what its partial derivatives add.
#[test]
fn derivatives_of_every_operation_grow_linearly() {
    let n = 200;
    let mut worst = (0.0f64, Op::Add);
    for op in Op::all() {
        for types in op.typings() {
            let floats = types.iter().all(|&d| d == Dtype::F64);
            if !floats || op.result_dtype(&types) != Some(Dtype::F64) {
                continue;
            }
            let mut b = Builder::new();
            let x = scalar_input(&mut b);
            let mut y = b.op(Op::Sin, &[x]).unwrap();
            for k in 0..n {
                let other = b.scalar(k as f64).unwrap();
                let other = b.op(Op::Mul, &[other, x]).unwrap();
                y = b.op(op, &[y, other][..op.arity()]).unwrap();
            }
            let program = one(b, y);
            let (before, after) = (size(&program), size(&vjp(&program, None).unwrap()));
            assert!(after <= REVERSE_GROWTH * before + START, "{op}: {before} to {after}");
            let ratio = after as f64 / before as f64;
            worst = if ratio > worst.0 { (ratio, op) } else { worst };
        }
    }
    println!("at most {:.2} nodes for each, for {}", worst.0, worst.1);
}

/// `depth` folds inside each other, over a vector of two.
pub fn nested_folds(depth: usize) -> Program {
    fn nest(b: &mut Builder, xs: TermId, state: TermId, depth: usize) -> Result<TermId> {
        let scalar = || Param::Value(Type::scalar(Dtype::F64));
        let step = b.lambda(&[scalar(), scalar()], |b, vars| {
            let inner = if depth > 1 { nest(b, xs, vars[0], depth - 1)? } else { vars[0] };
            let tan = b.op(Op::Tan, &[vars[1]])?;
            Ok(vec![b.op(Op::Add, &[inner, tan])?])
        })?;
        let t = b.map_accum(MapAccum {
            length: 2,
            reverse: false,
            init: vec![state].into(),
            inputs: vec![xs].into(),
            step,
        })?;
        b.result(t, 0)
    }
    let mut b = Builder::new();
    let x = scalar_input(&mut b);
    let xs = b.replicate(2, x).expect("a vector");
    let t = nest(&mut b, xs, x, depth).expect("folds");
    one(b, t)
}

#[test]
fn nested_folds_do_not_blow_up() {
    let mut before = 0;
    for depth in 1..=8 {
        let program = nested_folds(depth);
        let gradient = checked(grad(&program, None)).unwrap();
        let length = gradient.to_string().len();
        println!("{depth} folds: {} -> {length} characters", program.to_string().len());
        // Far below doubling with each level: 15-fold growth is what others report.
        assert!(depth <= 3 || 2 * length < 4 * before, "{length} after {before}");
        assert!(length < 2000 * depth * depth, "{length}");
        before = length;
    }
    let found = numbers_of(grad(&nested_folds(3), None), &[Value::scalar(1e-4)]);
    // 1 + 2 + 4 + 8 tangents of x and x itself.
    let slope = 1.0 + (2.0 + 4.0 + 8.0) * (1.0 + 1e-4f64.tan().powi(2));
    assert!((found[0][0] - slope).abs() < 1e-9, "{found:?} {slope}");
}

/// The states of a loop, each made from the next: activity travels through all of them.
#[test]
fn loops_of_many_states_and_many_loops_take_linear_time() {
    let states = 2000;
    let mut b = Builder::new();
    let x = scalar_input(&mut b);
    let zero = b.scalar(0.0).unwrap();
    let mut init = vec![zero; states];
    init[states - 1] = x;
    let params = vec![Param::Value(Type::scalar(Dtype::F64)); states];
    let step = b.lambda(&params, |b, vars| {
        let mut next = vars[1..].to_vec();
        next.push(b.op(Op::Mul, &[vars[states - 1], vars[states - 1]])?);
        Ok(next)
    });
    let (init, inputs) = (init.into(), Vec::new().into());
    let step = step.unwrap();
    let m = MapAccum { length: 3, reverse: false, init, inputs, step };
    let t = b.map_accum(m).unwrap();
    let y = b.result(t, states - 3).unwrap();
    let program = one(b, y);
    let started = Instant::now();
    assert_eq!(numbers_of(grad(&program, None), &[Value::scalar(3.0)]), [[6.0]]);
    assert!(started.elapsed().as_secs() < 30);

    let loops = 2000;
    let mut b = Builder::new();
    let mut y = scalar_input(&mut b);
    for _ in 0..loops {
        let step = b.lambda(&params[..1], |b, vars| Ok(vec![b.op(Op::Sin, &[vars[0]])?]));
        let (init, inputs) = (vec![y].into(), Vec::new().into());
        let m = MapAccum { length: 1, reverse: false, init, inputs, step: step.unwrap() };
        let t = b.map_accum(m).unwrap();
        y = b.result(t, 0).unwrap();
    }
    let gradient = grad(&one(b, y), None).unwrap();
    assert!(size(&gradient) < 30 * loops, "{}", size(&gradient));
}

/// Reading every element of an array one by one is transposed to one scatter, not to as many arrays.
#[test]
fn many_reads_of_an_array_are_transposed_together() {
    let n = 3000;
    let mut b = Builder::new();
    let ty = Type::new(Dtype::F64, Shape::new("test", &[n]).unwrap());
    let x = b.input("x", ty).unwrap();
    let mut sum = b.scalar(0.0).unwrap();
    for k in 0..n {
        let k = b.scalar(k as i64).unwrap();
        let element = b.index(x, &[k]).unwrap();
        let square = b.op(Op::Mul, &[element, element]).unwrap();
        sum = b.op(Op::Add, &[sum, square]).unwrap();
    }
    let program = one(b, sum);
    let gradient = value_and_grad(&program, None).unwrap();
    let input = vector(&(0..n).map(|k| k as f64).collect::<Vec<_>>());
    let run = |p: &Program| Interp::new(p).run(std::slice::from_ref(&input)).unwrap();
    let (primal, both) = (run(&program), run(&gradient));
    assert!(both.counts.scalar_ops <= 5 * primal.counts.scalar_ops);
    assert!(both.counts.writes <= 20 * primal.counts.writes, "{:?}", both.counts);
    assert_eq!(floats(&both.outputs[1]), (0..n).map(|k| 2.0 * k as f64).collect::<Vec<_>>());
}

/// Many inputs and outputs, and derivatives by all of them.
#[test]
fn many_inputs_and_outputs_take_linear_time() {
    let n = 20_000;
    let mut b = Builder::new();
    let mut outputs = Vec::new();
    for k in 0..n {
        let x = b.input(format!("x{k}"), Type::scalar(Dtype::F64)).unwrap();
        outputs.push(b.op(Op::Sin, &[x]).unwrap());
    }
    let program = b.finish(unnamed(outputs)).unwrap();
    let started = Instant::now();
    assert_eq!(vjp(&program, None).unwrap().outputs().len(), 2 * n);
    assert_eq!(jvp(&program, None).unwrap().inputs().len(), 2 * n);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

/// A million operations on a stack of 2 MiB; both modes, and twice.
#[test]
fn a_deep_chain_fits_a_small_stack() {
    let work = || {
        let sines = |n| chain(n, |b, x| b.op(Op::Sin, &[x]));
        let reverse = value_and_grad(&sines(1_000_000), None).unwrap();
        assert!(reverse.len() < 4_000_100, "{}", reverse.len());
        drop(reverse);
        assert!(jvp(&sines(200_000), None).unwrap().len() < 800_100);
        let twice = grad(&grad(&sines(30_000), None).unwrap(), None).unwrap();
        let values = Interp::new(&twice).run(&[Value::scalar(0.5)]).unwrap();
        assert!(floats(&values.outputs[0])[0].is_finite());
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap();
    thread.join().unwrap();
}
