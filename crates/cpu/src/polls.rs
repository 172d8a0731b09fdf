//! Tests that every kind of work looks at the limits of a run often enough, and stops where it is
//! told to. They count looks, not time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use std::cell::Cell;

use cotan_array::{Array, Dtype, Shape};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Extreme, MapAccum, Output, Param, Program, Result, TermId, Type};

use crate::limits::{RunLimits, Stop};
use crate::run::{Engine, Executable};
use crate::vm::POLL;

thread_local! {
    /// How often this thread has looked, and at which look a limit is reached.
    static LOOKS: Cell<(usize, usize)> = const { Cell::new((0, usize::MAX)) };
}

/// Notes a look; says whether a limit is reached.
pub(crate) fn look() -> bool {
    LOOKS.with(|looks| {
        let (count, last) = looks.get();
        looks.set((count + 1, last));
        count + 1 >= last
    })
}

/// Runs on this thread until the given look; gives the number of looks.
fn run(
    executable: &Executable,
    inputs: &[Array],
    last: usize,
) -> (std::result::Result<Vec<Array>, Stop>, usize) {
    LOOKS.with(|looks| looks.set((0, last)));
    let limits = RunLimits { threads: Some(1), ..RunLimits::default() };
    let found = executable.run(inputs, &limits);
    (found, LOOKS.with(|looks| looks.replace((0, usize::MAX))).0)
}

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

/// Looks at limits at least once for so many elements, wherever it stops, and runs again afterwards.
fn looks_often(name: &str, elements: usize, in_order: bool, program: &Program) {
    looks_often_on(&[], name, elements, in_order, program);
}

fn looks_often_on(
    inputs: &[Array],
    name: &str,
    elements: usize,
    in_order: bool,
    program: &Program,
) {
    let executable = Executable::planned(program, in_order, Engine::Native).unwrap();
    let (found, looks) = run(&executable, inputs, usize::MAX);
    let found = found.unwrap();
    println!("{name}: {looks} looks, {} elements each", elements / looks);
    assert!(looks >= elements / POLL, "{name}: {looks} looks for {elements} elements");
    for last in [1, looks / 2, looks] {
        let (stopped, looks) = run(&executable, inputs, last.max(1));
        assert_eq!((stopped.err(), looks), (Some(Stop::Limit), last.max(1)), "{name}");
    }
    assert_eq!(run(&executable, inputs, usize::MAX).0.unwrap(), found, "{name}");
}

#[test]
fn a_long_sum() {
    let n = 1 << 25;
    let sum = program(|b| {
        let x = floats(b, &[n])?;
        b.sum_outer(x)
    });
    looks_often("sum", n, false, &sum);
}

/// Few sums, each of them long.
#[test]
fn long_sums() {
    let (rows, n) = (8, 5 << 20);
    let sums = program(|b| {
        let x = floats(b, &[n, rows])?;
        b.sum_outer(x)
    });
    looks_often("sums", rows * n, false, &sums);
    let sums = program(|b| {
        let x = floats(b, &[rows, n])?;
        let x = b.transpose(&[1, 0], x)?;
        b.sum_outer(x)
    });
    looks_often("sums of rows", rows * n, false, &sums);
}

#[test]
fn a_large_array() {
    let n = 3000;
    let array = program(|b| {
        let x = floats(b, &[n])?;
        let columns = b.replicate(n, x)?;
        let rows = b.transpose(&[1, 0], columns)?;
        b.op(Op::Mul, &[rows, columns])
    });
    looks_often("array", n * n, false, &array);
}

#[test]
fn a_contraction() {
    let (n, deep) = (96, 1024);
    let product = program(|b| {
        let (x, y) = (floats(b, &[deep, n, 1])?, floats(b, &[deep, 1, n])?);
        let (x, y) = (b.reshape(&[deep, n], x)?, b.reshape(&[deep, n], y)?);
        let x = b.transpose(&[1, 0], x)?;
        let x = b.replicate(n, x)?;
        let y = b.transpose(&[1, 0], y)?;
        let y = b.replicate(n, y)?;
        let y = b.transpose(&[1, 0, 2], y)?;
        let products = b.op(Op::Mul, &[x, y])?;
        let products = b.transpose(&[2, 0, 1], products)?;
        b.sum_outer(products)
    });
    looks_often("contraction", n * n * deep, false, &product);
}

/// Of so many products that one tile of the result takes long.
#[test]
fn a_deep_contraction() {
    let (n, deep) = (2, 3 << 20);
    let product = program(|b| {
        let (x, y) = (floats(b, &[deep, n])?, floats(b, &[deep, n])?);
        let f = |swap: bool| {
            move |_: &mut Builder, is: &[TermId]| Ok(vec![is[0], if swap { is[2] } else { is[1] }])
        };
        let left = b.index_function(&[deep, n, n], f(false))?;
        let right = b.index_function(&[deep, n, n], f(true))?;
        let (x, y) = (b.gather(x, left)?, b.gather(y, right)?);
        let products = b.op(Op::Mul, &[x, y])?;
        b.sum_outer(products)
    });
    looks_often("deep contraction", n * n * deep, false, &product);
}

#[test]
fn a_sort() {
    let n = 1 << 17;
    let sorted = program(|b| {
        let x = floats(b, &[n])?;
        let x = b.op(Op::Sin, &[x])?;
        b.arg_sort(x)
    });
    // Each is moved for each digit.
    looks_often("sort", n * 64, false, &sorted);
}

#[test]
fn extremes_by_segment() {
    let n = 1 << 20;
    let found = program(|b| {
        let x = floats(b, &[n])?;
        let x = b.op(Op::Sin, &[x])?;
        let numbers = b.iota(n)?;
        b.segment_arg(Extreme::Max, n, x, numbers)
    });
    looks_often("extremes by segment", n * 8, false, &found);
}

#[test]
fn a_search_that_takes_no_part_of_another() {
    let n = 28 << 20;
    let found = program(|b| {
        let x = floats(b, &[n])?;
        b.arg_extreme(Extreme::Max, x)
    });
    looks_often("search", n, false, &found);
}

#[test]
fn a_sum_in_order() {
    let n = 70 << 20;
    let sum = program(|b| {
        let x = floats(b, &[n])?;
        b.sum_outer(x)
    });
    looks_often("sum in order", n, true, &sum);
}

/// Places `i * i % places` of `i`.
fn squares(b: &mut Builder, n: usize, places: usize) -> Result<cotan_ir::RegionId> {
    b.index_function(&[n], |b, is| {
        let (square, size) = (b.op(Op::Mul, &[is[0], is[0]])?, b.scalar(places as i64)?);
        Ok(vec![b.op(Op::Rem, &[square, size])?])
    })
}

#[test]
fn a_scatter() {
    let n = 3 << 20;
    let scattered = program(|b| {
        let (x, f) = (floats(b, &[n])?, squares(b, n, 1000)?);
        b.scatter(&[1000], x, f)
    });
    looks_often("scatter", n * 2, false, &scattered);
}

#[test]
fn a_gather() {
    let n = 3 << 20;
    let gathered = program(|b| {
        let x = floats(b, &[n])?;
        let x = b.op(Op::Sin, &[x])?;
        let f = squares(b, n, n)?;
        b.gather(x, f)
    });
    looks_often("gather", n * 2, false, &gathered);
}

#[test]
fn small_steps() {
    let length = 1 << 16;
    let looped = program(|b| {
        let x = floats(b, &[3])?;
        let param = Param::Value(Type::new(Dtype::F64, Shape::new("test", &[3])?));
        let step = b.lambda(&[param], |b, vars| {
            let (sin, exp) = (b.op(Op::Sin, &[vars[0]])?, b.op(Op::Cos, &[vars[0]])?);
            Ok(vec![b.op(Op::Sub, &[sin, exp])?])
        })?;
        let (init, inputs) = (vec![x].into(), Vec::new().into());
        let done = b.map_accum(MapAccum { length, reverse: false, init, inputs, step })?;
        b.result(done, 0)
    });
    looks_often("steps", length, false, &looped);
}

/// States of a loop that are copied, and zeros.
#[test]
fn copies_and_zeros() {
    let n = 3 << 20;
    let looped = program(|b| {
        let x = floats(b, &[n])?;
        let param = Param::Value(Type::new(Dtype::F64, Shape::new("test", &[n])?));
        let step = b.lambda(&[param.clone(), param], |_, vars| Ok(vec![vars[1], vars[0]]))?;
        let y = b.op(Op::Neg, &[x])?;
        let (init, inputs) = (vec![x, y].into(), Vec::new().into());
        let done = b.map_accum(MapAccum { length: 3, reverse: false, init, inputs, step })?;
        b.result(done, 0)
    });
    looks_often("copies", n * 8, false, &looped);
}

/// A program of one input.
fn on(x: &Array, body: impl FnOnce(&mut Builder, TermId) -> Result<Vec<TermId>>) -> Program {
    let mut b = Builder::new();
    let input = b.input("x", Type::of(x)).unwrap();
    let terms = body(&mut b, input).unwrap();
    let outputs = terms.into_iter().map(|term| Output { name: String::new(), term });
    b.finish(outputs.collect()).unwrap()
}

fn ones(dims: &[usize]) -> Array {
    Array::full(Shape::new("test", dims).unwrap(), 1.0).unwrap()
}

/// An input that does not lie in order is copied first, a part at a time.
#[test]
fn a_copy_of_an_input() {
    let (rows, columns) = (1500, 2000);
    let x = ones(&[rows, columns]).transpose(&[1, 0]).unwrap();
    let sums = on(&x, |b, x| Ok(vec![b.sum_outer(x)?]));
    let elements = rows * columns / Array::AT_A_TIME * POLL;
    looks_often_on(&[x], "copied input", elements, false, &sums);
}

/// Searches among no elements give zeros, one after the other, and each of them once.
#[test]
fn searches_of_nothing() {
    let n = 3 << 20;
    let x = ones(&[0, n]);
    let zeros = on(&x, |b, x| Ok(vec![b.arg_extreme(Extreme::Max, x)?]));
    looks_often_on(std::slice::from_ref(&x), "searches of nothing", n * 32, false, &zeros);
    let executable = Executable::planned(&zeros, false, Engine::Native).unwrap();
    let (found, looks) = run(&executable, &[x], usize::MAX);
    assert_eq!(
        found.unwrap(),
        [Array::zeros(Dtype::I64, Shape::new("test", &[n]).unwrap()).unwrap()]
    );
    assert!(looks < 2 * n * 32 / POLL, "{looks} looks");
}

/// Columns are sorted one after the other.
#[test]
fn a_sort_of_columns() {
    let (n, columns) = (1 << 15, 3);
    let sorted = program(|b| {
        let x = floats(b, &[n, columns])?;
        let x = b.op(Op::Sin, &[x])?;
        b.arg_sort(x)
    });
    // Each is moved for each digit.
    looks_often("sort of columns", n * columns * 64, false, &sorted);
}

/// Many products, each of which takes less than what is looked after.
#[test]
fn small_contractions() {
    let (n, count) = (128, 48);
    let products = program(|b| {
        let x = floats(b, &[n, n])?;
        let x = b.op(Op::Sin, &[x])?;
        (0..count).try_fold(x, |y, _| {
            let left = b.index_function(&[n; 3], |_, is| Ok(vec![is[1], is[0]]))?;
            let right = b.index_function(&[n; 3], |_, is| Ok(vec![is[0], is[2]]))?;
            let (left, right) = (b.gather(x, left)?, b.gather(y, right)?);
            let products = b.op(Op::Mul, &[left, right])?;
            b.sum_outer(products)
        })
    });
    looks_often("small products", n * n * n * count / 4, false, &products);
}

/// Few rows times many columns: what takes long is to pack these.
#[test]
fn packing() {
    let (m, n, k) = (4, 4096, 2048);
    let product = program(|b| {
        let (x, y) = (floats(b, &[m, k])?, floats(b, &[n, k])?);
        let (x, y) = (b.op(Op::Sin, &[x])?, b.op(Op::Cos, &[y])?);
        let left = b.index_function(&[k, m, n], |_, is| Ok(vec![is[1], is[0]]))?;
        let right = b.index_function(&[k, m, n], |_, is| Ok(vec![is[2], is[0]]))?;
        let (x, y) = (b.gather(x, left)?, b.gather(y, right)?);
        let products = b.op(Op::Mul, &[x, y])?;
        b.sum_outer(products)
    });
    // Of both operands, and the products.
    looks_often("packing", n * k * 34, false, &product);
}

/// A loop that stops while it begins leaves its states where they belong: the next run does not write
/// to what the one before began with.
#[test]
fn a_loop_that_stops_while_it_begins() {
    let n = 3 << 20;
    let inputs = [ones(&[8]), ones(&[n])];
    let mut b = Builder::new();
    let x = b.input("x", Type::of(&inputs[0])).unwrap();
    let y = b.input("y", Type::of(&inputs[1])).unwrap();
    let counts = floats(&mut b, &[n]).unwrap();
    let params = inputs.each_ref().map(|input| Param::Value(Type::of(input)));
    let step = b.lambda(&params, |b, vars| {
        // The first is made anew and exchanges its memory; the second is copied.
        let three = b.scalar(3i64)?;
        let one = b.index(vars[1], &[three])?;
        let (one, sin) = (b.replicate(8, one)?, b.op(Op::Sin, &[vars[0]])?);
        Ok(vec![b.op(Op::Add, &[sin, one])?, y])
    });
    let (init, inner, step) = (vec![x, counts].into(), Vec::new().into(), step.unwrap());
    let looped = MapAccum { length: 2, reverse: false, init, inputs: inner, step };
    let done = b.map_accum(looped).unwrap();
    let outputs = [0, 1].map(|n| {
        // No result itself, which would have another place in each run.
        let state = b.result(done, n).unwrap();
        let term = b.op(Op::Neg, &[state]).unwrap();
        Output { name: String::new(), term }
    });
    let looped = b.finish(outputs.into()).unwrap();
    let executable = Executable::planned(&looped, false, Engine::Native).unwrap();
    let (found, looks) = run(&executable, &inputs, usize::MAX);
    let found = found.unwrap();
    for last in 1..=looks {
        assert_eq!(run(&executable, &inputs, last).0.err(), Some(Stop::Limit));
        assert_eq!(run(&executable, &inputs, usize::MAX).0.unwrap(), found, "stopped at {last}");
        assert_eq!(inputs[0], ones(&[8]), "stopped at {last}");
    }
}
