//! Large programs, absurd sizes and limits: a plan is made in linear time, and what cannot run says
//! so.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::time::Instant;

use cotan_array::{Array, Dtype, Shape};
use cotan_cpu::{Engine, Executable, RunLimits, Stop};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, CancelToken, Output, Param, Program, Result, TermId, Type, While};

fn vector(n: usize) -> Type {
    Type::new(Dtype::F64, Shape::new("test", &[n]).unwrap())
}

fn finish(b: Builder, results: Vec<TermId>) -> Program {
    let output = |term| Output { name: String::new(), term };
    b.finish(results.into_iter().map(output).collect()).unwrap()
}

/// The first elements of the results.
fn run(program: &Program, inputs: &[Array]) -> Vec<f64> {
    let begin = Instant::now();
    let executable = Executable::new(program).unwrap();
    let planned = begin.elapsed();
    let found = executable.run(inputs, &RunLimits::default()).unwrap();
    println!("planned in {planned:?}, run in {:?}", begin.elapsed() - planned);
    found.iter().map(|a| a.as_slice::<f64>().unwrap()[0]).collect()
}

fn ones(n: usize) -> Array {
    Array::full(Shape::new("test", &[n]).unwrap(), 1.0).unwrap()
}

#[test]
fn a_long_chain() {
    let mut b = Builder::new();
    let x = b.input("x", vector(3)).unwrap();
    let mut y = x;
    for _ in 0..500_000 {
        let z = b.op(Op::Add, &[y, x]).unwrap();
        y = b.op(Op::Neg, &[z]).unwrap();
    }
    assert_eq!(run(&finish(b, vec![y]), &[ones(3)]), [1.0]);
}

#[test]
fn many_temporaries_that_live_together() {
    let n = 100_000;
    let mut b = Builder::new();
    let x = b.input("x", vector(2)).unwrap();
    let parts: Vec<TermId> = (0..n)
        .map(|k| {
            let k = b.scalar(f64::from(k)).unwrap();
            let k = b.replicate(2, k).unwrap();
            let product = b.op(Op::Mul, &[x, k]).unwrap();
            b.sum_outer(product).unwrap()
        })
        .collect();
    let all = b.stack(&parts).unwrap();
    let total = b.sum_outer(all).unwrap();
    let expected = 2.0 * (0..n).map(f64::from).sum::<f64>();
    assert_eq!(run(&finish(b, vec![total]), &[ones(2)]), [expected]);
}

#[test]
fn many_inputs_and_results() {
    let n = 5_000;
    let mut b = Builder::new();
    let xs: Vec<TermId> = (0..n).map(|k| b.input(format!("x{k}"), vector(1)).unwrap()).collect();
    let ys = xs.iter().map(|&x| b.op(Op::Add, &[x, x]).unwrap()).collect();
    let found = run(&finish(b, ys), &vec![ones(1); n]);
    assert!(found.len() == n && found.iter().all(|&y| y == 2.0));
}

/// A link of a chain inside an index function: from one array of integers to the next.
type Link = fn(&mut Builder, TermId) -> Result<TermId>;

/// On a stack as small as that of a thread, also without optimisation.
#[test]
fn deep_index_functions_have_no_plan() {
    let links: [Link; 4] = [
        |b, row| b.op(Op::Mul, &[row, row]),
        |b, row| b.reshape(if b.shape(row).rank() == 1 { &[2, 2] } else { &[4] }, row),
        |b, row| {
            let r = b.index_function(&[4], |b, is| Ok(vec![b.op(Op::Mul, &[is[0], is[0]])?]))?;
            b.gather(row, r)
        },
        |b, row| {
            b.build(4, |b, i| {
                let i = b.op(Op::Mul, &[i, i])?;
                b.index(row, &[i])
            })
        },
    ];
    for link in links {
        let mut b = Builder::new();
        let x = b.input("x", vector(9)).unwrap();
        let r = b.index_function(&[9], |b, is| {
            let mut row = b.replicate(4, is[0])?;
            for _ in 0..20_000 {
                row = link(b, row)?;
            }
            Ok(vec![b.index(row, &[is[0]])?])
        });
        let y = b.gather(x, r.unwrap()).unwrap();
        assert!(Executable::new(&finish(b, vec![y])).is_err());
    }
}

/// `build`s inside an index function, each of which reads the one before at two places.
#[test]
fn index_functions_do_not_blow_up() {
    let mut b = Builder::new();
    let x = b.input("x", vector(9)).unwrap();
    let three = b.scalar(3i64).unwrap();
    let r = b
        .index_function(&[9], |b, is| {
            let mut row = b.build(4, |b, i| b.op(Op::Add, &[i, is[0]]))?;
            for _ in 0..40 {
                row = b.build(4, |b, i| {
                    let j = b.op(Op::Mul, &[i, three])?;
                    let k = b.op(Op::Add, &[i, three])?;
                    let (j, k) = (b.index(row, &[j])?, b.index(row, &[k])?);
                    b.op(Op::Add, &[j, k])
                })?;
            }
            Ok(vec![b.index(row, &[is[0]])?])
        })
        .unwrap();
    let y = b.gather(x, r).unwrap();
    // Written out it would have 2^40 reads: it is refused before that.
    let plan = Executable::new(&finish(b, vec![y]));
    assert!(plan.is_err_and(|e| format!("{e:?}").contains("too long")));
}

#[test]
fn absurd_sizes_are_errors() {
    let most = 1usize << 33;
    let mut b = Builder::new();
    let x = b.input("x", vector(1)).unwrap();
    let zero = b.scalar(0i64).unwrap();
    let x0 = b.index(x, &[zero]).unwrap();
    // Results and temporaries of a tebibyte.
    let results: Vec<TermId> = (0..16)
        .map(|k| {
            let k = b.scalar(f64::from(k)).unwrap();
            let k = b.op(Op::Add, &[x0, k]).unwrap();
            b.replicate(most, k).unwrap()
        })
        .collect();
    let sorted: Vec<TermId> = results.iter().map(|&y| b.arg_sort(y).unwrap()).collect();
    for results in [results, sorted] {
        let found = Executable::new(&finish(b.clone(), results))
            .unwrap()
            .run(&[ones(1)], &RunLimits::default());
        assert_eq!(found.err(), Some(Stop::Memory));
    }
}

#[test]
fn arrays_without_elements_may_have_many_rows() {
    let rows = 1usize << 58;
    let ty = Type::new(Dtype::F64, Shape::new("test", &[rows, 0]).unwrap());
    let x = Array::zeros(Dtype::F64, ty.shape.clone()).unwrap();
    let mut b = Builder::new();
    let t = b.input("x", ty).unwrap();
    let (sorted, sum) = (b.arg_sort(t).unwrap(), b.sum_outer(t).unwrap());
    let r = b.index_function(&[7, 0], |b, is| {
        let square = b.op(Op::Mul, &[is[0], is[0]])?;
        Ok(vec![square, is[1]])
    });
    let read = b.gather(t, r.unwrap()).unwrap();
    let program = finish(b, vec![sorted, sum, read]);
    let found = Executable::new(&program).unwrap().run(&[x], &RunLimits::default()).unwrap();
    assert!(found.iter().all(|a| a.numel() == 0));
}

#[test]
fn cancelling_stops_programs_of_many_small_steps_and_endless_loops() {
    let cancel = CancelToken::new();
    cancel.cancel();
    let limits = RunLimits { cancel, ..RunLimits::default() };

    let mut b = Builder::new();
    let mut x = b.input("x", vector(3)).unwrap();
    for _ in 0..200_000 {
        x = b.op(Op::Sin, &[x]).unwrap();
        x = b.op(Op::Add, &[x, x]).unwrap();
    }
    let chain = finish(b, vec![x]);

    let mut b = Builder::new();
    let x = b.input("x", vector(3)).unwrap();
    let step = b.lambda(&[Param::Value(vector(3))], |b, vars| {
        let always = b.scalar(true)?;
        Ok(vec![always, vars[0]])
    });
    let w = While { bound: None, init: Box::new([x]), step: step.unwrap() };
    let w = b.while_accum(w).unwrap();
    let y = b.result(w, 0).unwrap();
    let endless = finish(b, vec![y]);

    for program in [chain, endless] {
        let executable = Executable::new(&program).unwrap();
        assert_eq!(executable.run(&[ones(3)], &limits).err(), Some(Stop::Limit));
    }
}

/// `while true` of one state, inside `depth` loops of one step.
fn endless(b: &mut Builder, x: TermId, depth: usize) -> TermId {
    let param = Param::Value(b.ty(x).clone());
    let vars = b.open(&[param]).unwrap();
    let always = b.scalar(true).unwrap();
    let (results, bound) = match depth {
        0 => (vec![always, vars[0]], None),
        _ => (vec![always, endless(b, vars[0], depth - 1)], Some(1)),
    };
    let step = b.close(&results).unwrap();
    let w = b.while_accum(While { bound, init: Box::new([x]), step }).unwrap();
    b.result(w, 0).unwrap()
}

/// A branch that may never end is run only if it is taken.
#[test]
fn endless_loops_in_branches() {
    for depth in 0..3 {
        let mut b = Builder::new();
        let x = b.input("x", vector(3)).unwrap();
        let p = b.input("p", Type::scalar(Dtype::Bool)).unwrap();
        let q = b.input("q", Type::scalar(Dtype::Bool)).unwrap();
        let y = endless(&mut b, x, depth);
        let z = b.op(Op::Neg, &[y]).unwrap();
        let (chosen, both) = (b.cond(p, z, x).unwrap(), b.cond(p, z, y).unwrap());
        let (twice, inner) = (b.cond(p, y, x).unwrap(), b.cond(q, y, x).unwrap());
        let nested = b.cond(p, inner, x).unwrap();
        let no = Array::scalar(false);
        for results in [vec![chosen], vec![chosen, twice], vec![nested], vec![nested, chosen]] {
            let program = finish(b.clone(), results.clone());
            let found = run(&program, &[ones(3), no.clone(), no.clone()]);
            assert_eq!(found, vec![1.0; results.len()]);
        }
        // If neither condition holds, nothing needs it: no step knows.
        assert!(Executable::new(&finish(b.clone(), vec![chosen, inner])).is_err());
        // It has to end in any case here.
        for results in [vec![chosen, y], vec![both]] {
            assert!(Executable::new(&finish(b.clone(), results)).is_ok());
        }
    }
}

/// Conditions in conditions in conditions, each with a loop that the others do not need.
#[test]
fn deeply_nested_branches() {
    let mut b = Builder::new();
    let x = b.input("x", vector(3)).unwrap();
    let p = b.input("p", Type::scalar(Dtype::Bool)).unwrap();
    let mut y = x;
    for k in 0..2_000 {
        let k = b.scalar(f64::from(k)).unwrap();
        let first = b.scalar(0i64).unwrap();
        let first = b.index(y, &[first]).unwrap();
        let less = b.op(Op::Lt, &[first, k]).unwrap();
        let sorted = b.arg_sort(y).unwrap();
        let sorted = b.op(Op::ToF64, &[sorted]).unwrap();
        let sum = b.op(Op::Add, &[sorted, y]).unwrap();
        let here = b.op(Op::And, &[less, p]).unwrap();
        y = b.cond(here, sum, x).unwrap();
    }
    let program = finish(b, vec![y]);
    for p in [true, false] {
        assert_eq!(run(&program, &[ones(3), Array::scalar(p)]), [1.0]);
    }
}

/// Positions and sizes are counted in 64 bits by everything that runs a nest.
#[test]
fn spaces_may_have_more_than_two_to_the_32_positions() {
    let (n, last) = ((1usize << 32) + 100, (1i64 << 32) + 7);
    let mut b = Builder::new();
    let x = b.input("x", Type::scalar(Dtype::F64)).unwrap();
    let xs = b
        .build(n, |b, i| {
            let (last, small) = (b.scalar(last)?, b.scalar(0.0)?);
            let found = b.op(Op::Eq, &[i, last])?;
            b.op(Op::Select, &[found, x, small])
        })
        .unwrap();
    let sum = b.sum_outer(xs).unwrap();
    let program = finish(b, vec![sum]);
    // The tile machine takes minutes without optimisation.
    let executable = Executable::planned(&program, false, Engine::Native).unwrap();
    assert!(executable.workspace_bytes() < 1 << 20);
    let found = executable.run(&[Array::scalar(2.5)], &RunLimits::default()).unwrap();
    assert_eq!(found, [Array::scalar(2.5)]);
}
