//! Tests that every stretch of a run looks whether to stop, often enough. They count looks, not time.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::cell::Cell;

use cotan_array::{Array, Dtype, Shape};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Extreme, MapAccum, Output, Param, Result, TermId, Type, While};

use crate::machine::PART;
use crate::{Failure, Interp, Value};

thread_local! {
    /// How often this thread has looked, and at which look it is to stop.
    static LOOKS: Cell<(usize, usize)> = const { Cell::new((0, usize::MAX)) };
}

/// Notes a look; says whether to stop.
pub(crate) fn look() -> bool {
    LOOKS.with(|looks| {
        let (count, last) = looks.get();
        looks.set((count + 1, last));
        count + 1 >= last
    })
}

/// Looks taken by a run that stops at the given one.
fn looks<T>(last: usize, run: impl FnOnce() -> crate::Result<T>) -> (crate::Result<T>, usize) {
    LOOKS.with(|looks| looks.set((0, last)));
    let done = run();
    (done, LOOKS.with(|looks| looks.replace((0, usize::MAX))).0)
}

/// So many parts the arrays of these tests have.
const PARTS: usize = 24;
const N: usize = PARTS * PART;

/// A program of an input of [`N`] integers looks once for every part in each of so many stretches,
/// and little more; it stops wherever it is told to.
fn stretches(name: &str, wanted: usize, body: impl FnOnce(&mut Builder, TermId) -> Result<TermId>) {
    let mut b = Builder::new();
    let x = b.input("x", ty(&[N])).unwrap();
    let term = body(&mut b, x).unwrap();
    let program = b.finish(vec![Output { name: String::new(), term }]).unwrap();
    let elements = (0..N as i64).map(|k| k * 7919 % 10_007).collect();
    let array = Array::from_vec(Shape::new("test", &[N]).unwrap(), elements).unwrap();
    let value = Value::from(&array);
    let interp = Interp::new(&program);
    let values = |last| {
        let (done, count) = looks(last, || interp.run(std::slice::from_ref(&value)));
        (done.map(|run| run.outputs[0].clone()), count)
    };
    let arrays = |last| {
        let (done, count) = looks(last, || interp.run_arrays(std::slice::from_ref(&array)));
        (done.map(|arrays| Value::from(&arrays[0])), count)
    };
    let (found, count) = values(usize::MAX);
    let found = found.unwrap();
    let expected = wanted * PARTS..wanted * PARTS + PARTS / 2;
    assert!(expected.contains(&count), "{name}: {count} looks, not {expected:?}");
    // A run on arrays makes no report, which is a look for every part of the result.
    let report = if found.shape().numel() == N { PARTS } else { found.shape().numel() };
    let (same, fewer) = arrays(usize::MAX);
    assert!(same.unwrap().same(&found), "{name}");
    assert_eq!(fewer, count - report, "{name}");
    for (run, all) in [(&values as &dyn Fn(usize) -> _, count), (&arrays, fewer)] {
        for last in [1, PARTS, all / 2, all] {
            let (stopped, count) = run(last);
            let failure = stopped.map_err(|e: crate::InterpError| e.failure().clone());
            assert_eq!((failure.err(), count), (Some(Failure::Cancelled), last), "{name}");
        }
    }
}

fn ty(dims: &[usize]) -> Type {
    Type::new(Dtype::I64, Shape::new("test", dims).unwrap())
}

/// The input is taken in, and what comes out is given and looked through: three stretches.
const IN: usize = 1;
const OUT: usize = 2;

#[test]
fn inputs_and_outputs() {
    stretches("as it is", IN + OUT, |_, x| Ok(x));
}

#[test]
fn constants() {
    let c = Array::full(Shape::new("test", &[N]).unwrap(), 3i64).unwrap();
    stretches("constant", IN + 1 + OUT, |b, _| b.constant(&c));
}

/// The column that is searched is read (and counted, at once), then searched.
#[test]
fn searches() {
    stretches("search", IN + 2, |b, x| b.arg_extreme(Extreme::Max, x));
}

/// Read, sorted in parts, merged five times, looked through, and written.
#[test]
fn sorts() {
    assert_eq!(PARTS.next_power_of_two().trailing_zeros(), 5);
    stretches("sort", IN + 1 + 1 + 5 + 1 + 1 + OUT, |b, x| b.arg_sort(x));
}

/// A row is read at an index that is out of range, as the choice of a branch: what it chooses is a
/// copy.
#[test]
fn what_depends_on_a_read_out_of_range() {
    stretches("choice", IN + 1 + OUT, |b, x| {
        let (far, zero) = (b.scalar(-1i64)?, b.scalar(0i64)?);
        let read = b.index(x, &[far])?;
        let condition = b.op(Op::Eq, &[read, zero])?;
        let other = b.op(Op::Neg, &[x])?;
        b.cond(condition, x, other)
    });
}

/// Zeros, the elements (each a step of the function, some reads and an addition), and the mark of an
/// index that was out of range itself.
#[test]
fn scatters() {
    let scatter = |poisoned: bool| {
        move |b: &mut Builder, x: TermId| {
            let far = b.scalar(-1i64)?;
            let read = b.index(x, &[far])?;
            let f = b.index_function(&[1], |b, is| {
                Ok(vec![if poisoned { b.op(Op::Add, &[is[0], read])? } else { is[0] }])
            })?;
            let rows = b.reshape(&[1, N], x)?;
            let sums = b.scatter(&[1], rows, f)?;
            b.reshape(&[N], sums)
        }
    };
    // The rows as an array of one and back: each twice, a read and a write for each element. Each
    // element is then read and added.
    let plain = IN + 2 + 1 + 2 + 2 + OUT;
    stretches("scatter", plain, scatter(false));
    stretches("scatter to anywhere", plain + 1, scatter(true));
}

/// What a loop collects is zero first; each step then writes a row, which is counted at once, of
/// which there is one.
#[test]
fn loops() {
    stretches("loop", IN + 1 + 1 + 2 + OUT, |b, x| {
        let step = b.lambda(&[Param::Value(ty(&[N]))], |_, vars| Ok(vec![vars[0], vars[0]]))?;
        let (init, inputs) = (vec![x].into(), Vec::new().into());
        let done = b.map_accum(MapAccum { length: 1, reverse: false, init, inputs, step })?;
        let rows = b.result(done, 1)?;
        b.reshape(&[N], rows)
    });
}

/// A loop whose end depends on a read out of range marks its states.
#[test]
fn loops_that_end_anywhere() {
    stretches("while", IN + 1 + OUT, |b, x| {
        let (far, zero) = (b.scalar(-1i64)?, b.scalar(0i64)?);
        let read = b.index(x, &[far])?;
        let step = b.lambda(&[Param::Value(ty(&[N]))], |b, vars| {
            Ok(vec![b.op(Op::Lt, &[read, zero])?, vars[0]])
        })?;
        let done = b.while_accum(While { bound: None, init: vec![x].into(), step })?;
        b.result(done, 0)
    });
}
