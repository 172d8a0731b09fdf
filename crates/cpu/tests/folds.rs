//! Loops that find the largest or smallest run as reductions, whatever the data: the plans are files
//! in `crates/pipeline/tests/plans`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use common::{agrees, array, numbers, program, same, shape, size, value};
use cotan_array::{Array, Dtype, Element};
use cotan_cpu::{Engine, Executable, RunLimits};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Extreme, MapAccum, Result, TermId};

/// The loop `s = op(s, row)` over the rows of an array.
fn fold(b: &mut Builder, op: Op, init: TermId, rows: TermId) -> Result<TermId> {
    let (length, ty) = (b.shape(rows).dims()[0], b.ty(init).clone());
    let params = [value(ty.dtype, ty.shape.dims()), value(ty.dtype, ty.shape.dims())];
    let step = b.lambda(&params, |b, vars| Ok(vec![b.op(op, vars)?]))?;
    let (init, inputs) = (vec![init].into(), vec![rows].into());
    let found = b.map_accum(MapAccum { length, reverse: false, init, inputs, step })?;
    b.result(found, 0)
}

/// The largest and smallest of all rows.
fn extremes(b: &mut Builder, rows: TermId) -> Result<Vec<TermId>> {
    let zero = b.scalar(0i64)?;
    let first = b.index(rows, &[zero])?;
    Ok(vec![fold(b, Op::Max, first, rows)?, fold(b, Op::Min, first, rows)?])
}

/// Elements of either sign, none of them twice.
fn different<T: Element>(dims: &[usize], of: impl Fn(i64) -> T) -> Array {
    let n = shape(dims).numel() as i64;
    let elements: Vec<T> = (0..n).map(|k| of(k * 7919 % 10007 - 5000)).collect();
    array(dims, &elements)
}

#[test]
fn the_largest_and_smallest_of_rows() {
    let (long, some) = (size(2000, 40), size(40, 9));
    let vectors = [&[1][..], &[5], &[size(300, 20)], &[long]];
    let others = [&[7, some][..], &[some, 7], &[3, 5, some / 4], &[6, 0], &[1, 3]];
    for dims in vectors.into_iter().chain(others) {
        let arrays =
            [different(dims, |k| k as f64), different(dims, |k| k as f32), different(dims, |k| k)];
        for x in arrays {
            same(&[x], |b, xs| extremes(b, xs[0]));
        }
    }
}

#[test]
fn along_an_axis_inside() {
    same(&[different(&[6, size(50, 10), 3], |k| k as f64)], |b, xs| {
        let turned = b.transpose(&[1, 0, 2], xs[0])?;
        extremes(b, turned)
    });
}

/// With the first of 0 and -0, and NaN, as the interpreter has it.
#[test]
fn special_values_in_order() {
    let specials = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0, -0.0, 0.0];
    for first in 0..specials.len() {
        for count in (1..=specials.len()).step_by(size(1, 7)) {
            let rows: Vec<f64> =
                (0..count * 2).map(|k| specials[(first + k) % specials.len()]).collect();
            let x = array(&[count, 2], &rows);
            let p = program(std::slice::from_ref(&x), |b, xs| extremes(b, xs[0]));
            for engine in [Engine::Machine, Engine::Native] {
                let plan = Executable::planned(&p, true, engine).unwrap();
                agrees(&p, std::slice::from_ref(&x), &plan);
            }
        }
    }
}

#[test]
fn one_nan_is_enough() {
    for n in [1, 16, 100, 1000].into_iter().take(size(4, 2)) {
        for at in [0, n / 2, n - 1] {
            let mut elements: Vec<f64> = (0..n).map(f64::from).collect();
            elements[at as usize] = f64::NAN;
            same(&[array(&[n as usize], &elements)], |b, xs| extremes(b, xs[0]));
        }
    }
}

/// A fold that begins with something else compares with that, too.
#[test]
fn a_beginning_that_is_no_row() {
    for begin in [f64::NEG_INFINITY, f64::INFINITY, 0.0, 3.5, f64::NAN] {
        same(&[different(&[size(100, 12), 3], |k| k as f64)], |b, xs| {
            let begin = b.scalar(begin)?;
            let begin = b.replicate(3, begin)?;
            Ok(vec![fold(b, Op::Max, begin, xs[0])?, fold(b, Op::Min, begin, xs[0])?])
        });
    }
}

/// What is reduced is computed where it is needed.
#[test]
fn what_is_reduced_is_not_in_memory() {
    let x = numbers(&[400, 300]);
    let p = program(&[x], |b, xs| {
        let e = b.op(Op::Exp, &[xs[0]])?;
        let zero = b.scalar(0i64)?;
        let first = b.index(e, &[zero])?;
        Ok(vec![fold(b, Op::Max, first, e)?])
    });
    let plan = Executable::new(&p).unwrap();
    assert!(plan.workspace_bytes() < 100_000, "{}\n{}", plan.workspace_bytes(), plan.kernels(&p));
}

/// Steps that do something else are steps.
#[test]
fn other_loops_stay() {
    same(&[numbers(&[5, 3])], |b, xs| {
        let zero = b.scalar(0i64)?;
        let first = b.index(xs[0], &[zero])?;
        let params = [value(Dtype::F64, &[3]), value(Dtype::F64, &[3])];
        let step = b.lambda(&params, |b, vars| {
            let doubled = b.op(Op::Add, &[vars[0], vars[0]])?;
            Ok(vec![b.op(Op::Max, &[doubled, vars[1]])?])
        })?;
        let (init, inputs) = (vec![first].into(), vec![xs[0]].into());
        let found = b.map_accum(MapAccum { length: 5, reverse: false, init, inputs, step })?;
        Ok(vec![b.result(found, 0)?])
    });
}

/// A long one is found in parts, which threads share.
#[test]
fn a_long_one_in_parts() {
    let x = different(&[size(100_000, 100)], |k| k as f64);
    same(&[x], |b, xs| extremes(b, xs[0]));
}

/// The largest of each of 1000 rows of 1000, by a search and a read, and by a fold.
#[test]
#[ignore = "a measurement: cargo test -p cotan-cpu --test folds -- --ignored --nocapture"]
fn times() {
    let (m, n) = (1000, 1000);
    let arrays = [different(&[m, n], |k| k as f64), different(&[m, n], |k| k as f32)];
    for (x, name) in arrays.into_iter().zip(["f64", "f32"]) {
        let inputs = [x];
        let searched = program(&inputs, |b, xs| {
            let rows = b.transpose(&[1, 0], xs[0])?;
            let position = b.arg_extreme(Extreme::Max, rows)?;
            let f = b.index_function(&[m], |b, is| Ok(vec![is[0], b.index(position, is)?]))?;
            Ok(vec![b.gather(xs[0], f)?])
        });
        let folded = program(&inputs, |b, xs| {
            let rows = b.transpose(&[1, 0], xs[0])?;
            extremes(b, rows).map(|both| vec![both[0]])
        });
        let plans = [&searched, &folded].map(|p| Executable::new(p).unwrap());
        let mut least = [f64::INFINITY; 2];
        // In turns; what disturbs the machine is in the longer ones.
        for _ in 0..200 {
            for (plan, least) in plans.iter().zip(&mut least) {
                let limits = RunLimits { threads: Some(1), ..RunLimits::default() };
                let begin = std::time::Instant::now();
                plan.run(&inputs, &limits).unwrap();
                *least = least.min(begin.elapsed().as_secs_f64() * 1e3);
            }
        }
        println!("{name}: {:.3} ms by a search, {:.3} ms by a fold", least[0], least[1]);
    }
}
