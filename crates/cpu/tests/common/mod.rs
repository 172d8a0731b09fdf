//! Programs run in every way, against the reference interpreter.
#![allow(dead_code, reason = "each test needs a part of it")]

use cotan_array::{Array, Dtype, Element, Shape};
use cotan_cpu::{Engine, Executable, RunLimits};
use cotan_interp::{Mode, Value};
use cotan_ir::{Builder, Output, Param, Program, Result, TermId, Type};
use cotan_schedule::{Schedule, Target, lower};
use cotan_testkit::{Equality, first_difference, run_program};

pub fn shape(dims: &[usize]) -> Shape {
    Shape::new("test", dims).unwrap()
}

/// A size, or number, for a test; the checker of undefined behaviour, which takes a thousand times as
/// long, has its own.
pub const fn size(usual: usize, checked: usize) -> usize {
    if cfg!(miri) { checked } else { usual }
}

/// Small integers of either sign, so that sums are exact in any order.
pub fn numbers(dims: &[usize]) -> Array {
    let n = shape(dims).numel();
    let elements = (0..n).map(|k| f64::from((k * 7 % 11) as i32 - 4)).collect();
    Array::from_vec(shape(dims), elements).unwrap()
}

/// An array of elements.
pub fn array<T: Element>(dims: &[usize], elements: &[T]) -> Array {
    Array::from_slice(shape(dims), elements).unwrap()
}

/// A program of the given inputs, with the results that `body` gives.
pub fn program(
    inputs: &[Array],
    body: impl FnOnce(&mut Builder, &[TermId]) -> Result<Vec<TermId>>,
) -> Program {
    let mut b = Builder::new();
    let names = (0..inputs.len()).map(|n| format!("x{n}"));
    let xs: Vec<TermId> =
        inputs.iter().zip(names).map(|(x, name)| b.input(name, Type::of(x)).unwrap()).collect();
    let results = body(&mut b, &xs).unwrap();
    let outputs = results.into_iter().map(|term| Output { name: String::new(), term }).collect();
    b.finish(outputs).unwrap()
}

/// Runs a program by the machine, in both orders of sums, in large and in tiny blocks, and by the
/// interpreter.
pub fn same(
    inputs: &[Array],
    body: impl FnOnce(&mut Builder, &[TermId]) -> Result<Vec<TermId>>,
) -> Program {
    let program = program(inputs, body);
    let tiny = |in_order| Executable::in_tiny_blocks(&program, in_order, Engine::Native);
    agrees(&program, inputs, &tiny(true).unwrap());
    agrees(&program, inputs, &tiny(false).unwrap());
    let usual = Executable::new(&program).unwrap();
    // What the checker runs is small enough that these have nothing more.
    if !cfg!(miri) {
        agrees(&program, inputs, &usual);
        agrees(&program, inputs, &Executable::in_order(&program).unwrap());
    }
    program
}

/// Compares the plan of a program and its schedule, both for the portable target, with those of the
/// file `tests/plans/NAME.nest`. With `COTAN_BLESS=1` in the environment they are written there.
pub fn planned(name: &str, program: &Program) {
    if cfg!(miri) {
        return;
    }
    let target = Target::portable();
    let plan = lower(program, false, &target).unwrap();
    let schedule = Schedule::of(program, false, &target).unwrap();
    let schedule = schedule.to_string();
    let decided = schedule.lines().filter(|line| !line.starts_with('#'));
    let found = format!("{plan}\n{}\n", decided.collect::<Vec<_>>().join("\n"));
    let path = format!("{}/tests/plans/{name}.nest", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("COTAN_BLESS").is_some() {
        return std::fs::write(path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(found == expected, "{name}:\n{found}\ninstead of\n{expected}");
}

/// Runs a plan of a program, and the program by the interpreter: every bit is the same. Before that
/// it runs with other numbers, which nothing may be left of, and then with memory full of NaN and of
/// large numbers, on one thread and on several.
pub fn agrees(program: &Program, inputs: &[Array], executable: &Executable) {
    gives(program, inputs, (&interpreted(program, inputs), Equality::Bits), executable);
}

/// What the interpreter gives.
pub fn interpreted(program: &Program, inputs: &[Array]) -> Vec<Value> {
    let values: Vec<Value> = inputs.iter().map(Value::from).collect();
    run_program(program, &values, Mode::Ieee).unwrap()
}

/// As [`agrees`], if it is known what the interpreter gives, and how far a plan has to agree with it.
/// All runs of the plan agree with each other to the last bit.
pub fn gives(
    program: &Program,
    inputs: &[Array],
    (expected, equality): (&[Value], Equality),
    executable: &Executable,
) {
    let others: Vec<Array> = inputs.iter().map(other).collect();
    let mut found = executable.run(&others, &RunLimits::default()).unwrap_or_default();
    executable.run_into(inputs, &mut found, &RunLimits::default()).unwrap();
    let equal = |expected: &[Value], found: &[Array], equality: Equality, how: &str| {
        let found: Vec<Value> = found.iter().map(Value::from).collect();
        if let Some(difference) = first_difference(expected, &found, equality) {
            panic!("{how}: {difference}\nof\n{program}");
        }
        found
    };
    let first = equal(expected, &found, equality, "after another run");
    for (byte, threads) in [(0xff, 1), (0x7e, 3)] {
        let stale = executable.clone().with_stale_memory(byte);
        let limits = RunLimits { threads: Some(threads), ..RunLimits::default() };
        let found = stale.run(inputs, &limits).unwrap();
        equal(&first, &found, Equality::Bits, &format!("{threads} threads, {byte:#x}"));
    }
}

/// An array of the same type with other floats.
fn other(x: &Array) -> Array {
    if x.dtype() != Dtype::F64 {
        return x.clone();
    }
    let elements = x.to_vec::<f64>().unwrap().iter().map(|x| 5.0 - 3.0 * x).collect();
    Array::from_vec(x.shape().clone(), elements).unwrap()
}

/// A parameter of a step.
pub fn value(dtype: Dtype, dims: &[usize]) -> Param {
    Param::Value(Type::new(dtype, shape(dims)))
}
