//! Runs that are told to stop, stop soon. That they look often enough is tested without a clock, in
//! `src/polls.rs`; here is how long it takes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use std::time::{Duration, Instant};

use common::value;
use cotan_array::Dtype;
use cotan_exec::{Executable, RunLimits, Stop};
use cotan_ir::scalar::Op;
use cotan_ir::{
    Builder, CancelToken, Extreme, Limits, MapAccum, Output, Program, RegionId, Result, TermId,
};

/// A program of one result, of arrays of any size.
fn program(body: impl FnOnce(&mut Builder) -> Result<TermId>) -> Program {
    let limits = Limits { max_elements: u64::MAX, max_bytes: u64::MAX, ..Limits::default() };
    let mut b = Builder::with_limits(limits, CancelToken::new());
    let term = body(&mut b).unwrap();
    b.finish(vec![Output { name: String::new(), term }]).unwrap()
}

fn floats(b: &mut Builder, dims: &[usize]) -> Result<TermId> {
    let flat = b.iota(dims.iter().product())?;
    let flat = b.op(Op::ToF64, &[flat])?;
    b.reshape(dims, flat)
}

/// Places `i * i % places` of `i`.
fn squares(b: &mut Builder, n: usize, places: i64) -> Result<RegionId> {
    b.index_function(&[n], |b, is| {
        let (square, size) = (b.op(Op::Mul, &[is[0], is[0]])?, b.scalar(places)?);
        Ok(vec![b.op(Op::Rem, &[square, size])?])
    })
}

/// Programs that take seconds, each of one kind of work.
fn long() -> Vec<(&'static str, Program)> {
    type Body = fn(&mut Builder) -> Result<TermId>;
    let bodies: Vec<(&'static str, Body)> = vec![
        ("sum of 10^10", |b| {
            let x = floats(b, &[100_000, 100_000])?;
            let once = b.sum_outer(x)?;
            b.sum_outer(once)
        }),
        ("8 sums of 10^9", |b| {
            let x = floats(b, &[8, 1_000_000_000])?;
            let turned = b.transpose(&[1, 0], x)?;
            b.sum_outer(turned)
        }),
        ("sum of lgamma over 10^9", |b| {
            let x = floats(b, &[1_000_000_000])?;
            let x = b.op(Op::Lgamma, &[x])?;
            b.sum_outer(x)
        }),
        ("array of 20000 x 20000", |b| {
            let x = floats(b, &[20_000])?;
            let columns = b.replicate(20_000, x)?;
            let rows = b.transpose(&[1, 0], columns)?;
            let sum = b.op(Op::Add, &[rows, columns])?;
            b.op(Op::Sin, &[sum])
        }),
        ("product of 4000 x 4000", |b| {
            let (x, y) = (floats(b, &[4000, 4000])?, floats(b, &[4000, 4000])?);
            let (x, y) = (b.op(Op::Sin, &[x])?, b.op(Op::Cos, &[y])?);
            let left = b.index_function(&[4000; 3], |_, is| Ok(vec![is[1], is[0]]))?;
            let right = b.index_function(&[4000; 3], |_, is| Ok(vec![is[0], is[2]]))?;
            let (x, y) = (b.gather(x, left)?, b.gather(y, right)?);
            let products = b.op(Op::Mul, &[x, y])?;
            b.sum_outer(products)
        }),
        ("sort of 2 * 10^7", |b| {
            let x = floats(b, &[20_000_000])?;
            let x = b.op(Op::Sin, &[x])?;
            b.arg_sort(x)
        }),
        ("search among 4 * 10^9", |b| {
            let x = floats(b, &[4_000_000_000])?;
            let x = b.op(Op::Sin, &[x])?;
            b.arg_extreme(Extreme::Max, x)
        }),
        ("scatter of 10^9", |b| {
            let n = 1_000_000_000;
            let x = floats(b, &[n])?;
            let f = squares(b, n, 50_000_000)?;
            b.scatter(&[50_000_000], x, f)
        }),
        ("gather of 2 * 10^8", |b| {
            let n = 200_000_000;
            let x = floats(b, &[50_000_000])?;
            let x = b.op(Op::Sin, &[x])?;
            let f = squares(b, n, 50_000_000)?;
            b.gather(x, f)
        }),
        ("loop of 10^9 small steps", |b| {
            let x = floats(b, &[3])?;
            let step = b.lambda(&[value(Dtype::F64, &[3])], |b, vars| {
                Ok(vec![b.op(Op::Sin, &[vars[0]])?])
            })?;
            let (init, inputs) = (vec![x].into(), Vec::new().into());
            let length = 1_000_000_000;
            let done = b.map_accum(MapAccum { length, reverse: false, init, inputs, step })?;
            b.result(done, 0)
        }),
        ("loop that exchanges states of 10^8", |b| {
            let (x, y) = (floats(b, &[100_000_000])?, floats(b, &[100_000_000])?);
            let y = b.op(Op::Neg, &[y])?;
            let params = [value(Dtype::F64, &[100_000_000]), value(Dtype::F64, &[100_000_000])];
            let step = b.lambda(&params, |_, vars| Ok(vec![vars[1], vars[0]]))?;
            let (init, inputs) = (vec![x, y].into(), Vec::new().into());
            let done = b.map_accum(MapAccum { length: 100, reverse: false, init, inputs, step })?;
            b.result(done, 0)
        }),
    ];
    bodies.into_iter().map(|(name, body)| (name, program(body))).collect()
}

/// How long after the given time a run comes back that is to stop then.
fn late(executable: &Executable, deadline: bool, threads: usize) -> (Option<Stop>, Duration) {
    let cancel = CancelToken::new();
    let at = Instant::now() + Duration::from_millis(400);
    let limits = RunLimits {
        deadline: deadline.then_some(at),
        cancel: cancel.clone(),
        threads: Some(threads),
    };
    std::thread::scope(|scope| {
        if !deadline {
            scope.spawn(|| {
                std::thread::sleep(at - Instant::now());
                cancel.cancel();
            });
        }
        let stopped = executable.run(&[], &limits).err();
        (stopped, at.elapsed())
    })
}

#[test]
#[ignore = "a measurement: cargo test -p cotan-exec --test cancel -- --ignored --nocapture"]
fn times() {
    for (name, program) in long() {
        let executable = Executable::new(&program).unwrap();
        let times = [(false, 1), (true, 1), (false, 2)].map(|(deadline, threads)| {
            let (stopped, late) = late(&executable, deadline, threads);
            assert_eq!(stopped, Some(Stop::Limit), "{name} ended before");
            format!("{:.1}", late.as_secs_f64() * 1e3)
        });
        println!(
            "{name:36} {} ms after it was told to, deadline and two threads",
            times.join(", ")
        );
    }
}

/// A deadline that has passed, or a token that was cancelled before: nothing is begun.
#[test]
fn what_is_stopped_before_is_not_begun() {
    let sum = program(|b| {
        let x = floats(b, &[1000])?;
        b.sum_outer(x)
    });
    let executable = Executable::new(&sum).unwrap();
    let cancel = CancelToken::new();
    cancel.cancel();
    let past = RunLimits { deadline: Some(Instant::now()), ..RunLimits::default() };
    for limits in [past, RunLimits { cancel, ..RunLimits::default() }] {
        assert_eq!(executable.run(&[], &limits).err(), Some(Stop::Limit));
    }
    assert!(executable.run(&[], &RunLimits::default()).is_ok());
}
