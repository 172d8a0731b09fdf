//! Runs that are told to stop, stop soon. That they look often enough is tested without a clock, in
//! `src/polls.rs`; here is how long it takes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use std::time::{Duration, Instant};

use common::value;
use cotan_array::{Array, Dtype, Shape};
use cotan_cpu::{Executable, RunLimits, Stop};
use cotan_interp::{Interp, Options};
use cotan_ir::scalar::Op;
use cotan_ir::{
    Builder, CancelToken, Extreme, MapAccum, Output, Program, RegionId, Result, TermId, Type,
};

/// A program of one result, of arrays of any size.
fn program(body: impl FnOnce(&mut Builder) -> Result<TermId>) -> Program {
    let mut b = Builder::new();
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
        ("scatter into 10^9", |b| {
            let n = 1_000_000_000;
            let x = floats(b, &[n])?;
            let f = squares(b, n, 1_000_000_000)?;
            b.scatter(&[n], x, f)
        }),
        ("sort of 4 columns of 5 * 10^6", |b| {
            let x = floats(b, &[5_000_000, 4])?;
            let x = b.op(Op::Sin, &[x])?;
            b.arg_sort(x)
        }),
        ("extremes of 10^8 in 5 * 10^7 segments", |b| {
            let n = 100_000_000;
            let (x, f) = (floats(b, &[n])?, squares(b, n, 50_000_000)?);
            let numbers = b.iota(50_000_000)?;
            let ids = b.gather(numbers, f)?;
            b.segment_arg(Extreme::Max, 50_000_000, x, ids)
        }),
        ("sums of 0 elements, 10^9 of them", |b| {
            let x = floats(b, &[0, 1_000_000_000])?;
            b.sum_outer(x)
        }),
        ("sum of 1000 rows of 10^6 and their sums", |b| {
            let x = floats(b, &[1000, 1_000_000])?;
            let x = b.op(Op::Sin, &[x])?;
            let columns = b.sum_outer(x)?;
            let turned = b.transpose(&[1, 0], x)?;
            let rows = b.sum_outer(turned)?;
            let (rows, columns) = (b.sum_outer(rows)?, b.sum_outer(columns)?);
            b.op(Op::Add, &[rows, columns])
        }),
        ("4 rows by a matrix of 30000 x 20000, packed", |b| {
            let (m, n, k) = (4, 30_000, 20_000);
            let (x, y) = (floats(b, &[m, k])?, floats(b, &[n, k])?);
            let (x, y) = (b.op(Op::Sin, &[x])?, b.op(Op::Neg, &[y])?);
            let left = b.index_function(&[k, m, n], |_, is| Ok(vec![is[1], is[0]]))?;
            let right = b.index_function(&[k, m, n], |_, is| Ok(vec![is[2], is[0]]))?;
            let (x, y) = (b.gather(x, left)?, b.gather(y, right)?);
            let products = b.op(Op::Mul, &[x, y])?;
            b.sum_outer(products)
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

/// Programs that begin with long copies of an input that does not lie in order, or read one.
fn long_with_inputs() -> Vec<(&'static str, Program, Vec<Array>)> {
    let of = |name: &'static str,
              dims: &[usize],
              view: fn(&Array) -> Array,
              body: fn(&mut Builder, TermId) -> Result<TermId>| {
        wanted(name).then(|| {
            let shape = Shape::new("test", dims).unwrap();
            let x = view(&Array::full(shape, 1.5).unwrap());
            let mut b = Builder::new();
            let input = b.input("x", Type::of(&x)).unwrap();
            let term = body(&mut b, input).unwrap();
            let program = b.finish(vec![Output { name: String::new(), term }]).unwrap();
            (name, program, vec![x])
        })
    };
    [
        of(
            "copy of an input of 20000 x 20000",
            &[20_000, 20_000],
            |x| x.transpose(&[1, 0]).unwrap(),
            |b, x| b.sum_outer(x),
        ),
        of("100 searches among 2 * 10^7", &[20_000_000], Array::clone, |b, x| {
            let step = b.lambda(&[value(Dtype::I64, &[])], |b, vars| {
                let by = b.op(Op::ToF64, &[vars[0]])?;
                let by = b.replicate(20_000_000, by)?;
                let moved = b.op(Op::Add, &[x, by])?;
                Ok(vec![b.arg_extreme(Extreme::Max, moved)?])
            })?;
            let (init, inputs) = (vec![b.scalar(0i64)?].into(), Vec::new().into());
            let done = b.map_accum(MapAccum { length: 100, reverse: false, init, inputs, step })?;
            b.result(done, 0)
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Programs that the interpreter takes long for.
fn interpreted() -> Vec<(&'static str, Program)> {
    type Body = fn(&mut Builder) -> Result<TermId>;
    let bodies: Vec<(&'static str, Body)> = vec![
        ("interpreter: array of 10^9", |b| {
            let x = floats(b, &[1_000_000_000])?;
            b.op(Op::Sin, &[x])
        }),
        ("interpreter: zeros of a loop, 10^9", |b| {
            let step = b.lambda(&[value(Dtype::F64, &[])], |_, vars| Ok(vec![vars[0], vars[0]]))?;
            let (init, inputs) = (vec![b.scalar(1.0)?].into(), Vec::new().into());
            let length = 1_000_000_000;
            let done = b.map_accum(MapAccum { length, reverse: false, init, inputs, step })?;
            b.result(done, 1)
        }),
    ];
    bodies.into_iter().map(|(name, body)| (name, program(body))).collect()
}

/// The processor time that a thread of this process has used, in milliseconds, if the system tells.
fn processor_time(task: &str) -> Option<f64> {
    let path = format!("/proc/self/task/{task}/schedstat");
    let said = std::fs::read_to_string(path).ok()?;
    Some(said.split(' ').next()?.parse::<f64>().ok()? / 1e6)
}

/// The number by which the system knows this thread.
fn this_task() -> Option<String> {
    let link = std::fs::read_link("/proc/thread-self").ok()?;
    Some(link.file_name()?.to_str()?.to_owned())
}

/// How long after the given time a run comes back that is to stop then, in milliseconds: by the clock
/// and, if it is told to by a token, in processor time of the caller, which does not count what other
/// programs take.
fn late(
    run: &dyn Fn(&RunLimits) -> bool,
    deadline: bool,
    threads: usize,
    after: Duration,
) -> (bool, f64, Option<f64>) {
    let cancel = CancelToken::new();
    let at = Instant::now() + after;
    let limits = RunLimits {
        deadline: deadline.then_some(at),
        cancel: cancel.clone(),
        threads: Some(threads),
        ..RunLimits::default()
    };
    let task = this_task();
    std::thread::scope(|scope| {
        let told = (!deadline).then(|| {
            scope.spawn(|| {
                std::thread::sleep(at.saturating_duration_since(Instant::now()));
                let used = task.as_deref().and_then(processor_time);
                let told = Instant::now();
                cancel.cancel();
                (told, used)
            })
        });
        let stopped = run(&limits);
        let (back, used) = (Instant::now(), task.as_deref().and_then(processor_time));
        let (told, before) = told.map_or((at, None), |told| told.join().unwrap());
        let used = used.zip(before).map(|(after, before)| after - before);
        (stopped, back.saturating_duration_since(told).as_secs_f64() * 1e3, used)
    })
}

/// The least, the median and the most of ten times.
fn spread(mut times: Vec<f64>) -> String {
    times.sort_by(f64::total_cmp);
    match times[..] {
        [least, _, _, _, a, b, _, _, _, most] => {
            format!("{least:.1}, {:.1}, {most:.1}", (a + b) / 2.0)
        }
        _ => "unknown".to_owned(),
    }
}

/// Prints how late runs stop that are told to, at ten different times.
fn measure(name: &str, ways: &[(bool, usize)], run: &dyn Fn(&RunLimits) -> bool) {
    let mut columns = Vec::new();
    for &(deadline, threads) in ways {
        let (mut clock, mut processor) = (Vec::new(), Vec::new());
        for n in 0..10 {
            let after = Duration::from_millis(200 + 37 * n);
            let (stopped, late, used) = late(run, deadline, threads, after);
            assert!(stopped, "{name} ended before");
            clock.push(late);
            processor.extend(used);
        }
        columns.push(spread(clock));
        if !deadline && threads == 1 {
            columns.push(spread(processor));
        }
    }
    println!("| {name} | {} |", columns.join(" | "));
}

/// Whether a measurement was asked for by name.
fn wanted(name: &str) -> bool {
    std::env::var("COTAN_TIMES").map_or(true, |part| name.contains(&part))
}

#[test]
#[ignore = "a measurement: cargo test -p cotan-cpu --test cancel -- --ignored --nocapture"]
fn times() {
    let ways = [(false, 1), (true, 1), (false, 2)];
    for (name, program) in long().into_iter().filter(|(name, _)| wanted(name)) {
        let executable = Executable::new(&program).unwrap();
        measure(name, &ways, &|limits| executable.run(&[], limits).err() == Some(Stop::Limit));
    }
    for (name, program, inputs) in long_with_inputs() {
        let executable = Executable::new(&program).unwrap();
        measure(name, &ways, &|limits| executable.run(&inputs, limits).err() == Some(Stop::Limit));
    }
    for (name, program) in interpreted().into_iter().filter(|(name, _)| wanted(name)) {
        measure(name, &ways[..2], &|limits| {
            let RunLimits { deadline, cancel, .. } = limits.clone();
            let options = Options { deadline, cancel, ..Options::default() };
            Interp::new(&program).with_options(options).run_arrays(&[]).is_err()
        });
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

/// A run that leaves much behind stops, and the next, which needs as much, finds it free and runs.
#[test]
fn a_large_run_after_one_that_was_stopped() {
    let n = 10_000_000;
    let large = program(|b| {
        let x = floats(b, &[n])?;
        b.op(Op::Neg, &[x])
    });
    let executable = Executable::new(&large).unwrap();
    for _ in 0..3 {
        let cancel = CancelToken::new();
        let limits = RunLimits { cancel: cancel.clone(), ..RunLimits::default() };
        cancel.cancel();
        assert_eq!(executable.run(&[], &limits).err(), Some(Stop::Limit));
        // Not even waiting for memory goes on after a deadline.
        let past = RunLimits { deadline: Some(Instant::now()), ..RunLimits::default() };
        assert_eq!(executable.run(&[], &past).err(), Some(Stop::Limit));
        let found = executable.run(&[], &RunLimits::default()).unwrap();
        assert_eq!(found[0].get::<f64>(&[n - 1]), Some(-(n as f64 - 1.0)));
    }
}
