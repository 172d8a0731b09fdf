//! Random programs with long axes, planned with thresholds drawn at random: sizes, blocks, parts and
//! chunks of all proportions meet. Every way to run a program is compared with the reference
//! interpreter, or with the others where the order of its sums is the machine's.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use cotan_array::Array;
use cotan_cpu::{Engine, Executable, RunLimits};
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_testkit::{
    Config, Data, Equality, InputKind, Rng, exact, first_difference, for_each_case, generate,
    inputs_for, run_program, shrink,
};

/// Runs a plan twice in the same memory, with other numbers first, which nothing may be left of.
fn run(executable: &Executable, inputs: &[Array], threads: usize) -> Result<Vec<Value>, String> {
    let limits = RunLimits { threads: Some(threads), ..RunLimits::default() };
    let others: Vec<Array> = inputs.iter().map(other).collect();
    let mut found = executable.run(&others, &limits).map_err(|stop| format!("{stop:?}"))?;
    executable.run_into(inputs, &mut found, &limits).map_err(|stop| format!("{stop:?}"))?;
    Ok(found.iter().map(Value::from).collect())
}

/// An array of the same type with other elements.
fn other(x: &Array) -> Array {
    if let Ok(elements) = x.to_vec::<f64>() {
        let moved = elements.iter().map(|x| 5.0 - 3.0 * x).collect();
        return Array::from_vec(x.shape().clone(), moved).unwrap();
    }
    if let Ok(elements) = x.to_vec::<f32>() {
        let moved = elements.iter().map(|x| 5.0 - 3.0 * x).collect();
        return Array::from_vec(x.shape().clone(), moved).unwrap();
    }
    x.clone()
}

/// Compares all ways to run a program; an error says which two differ and where.
fn compare(program: &Program, kind: InputKind, mut rng: Rng) -> Result<(), String> {
    let Ok(inputs) = inputs_for(program, &mut rng, kind) else { return Ok(()) };
    let Ok(expected) = run_program(program, &inputs, Mode::Ieee) else { return Ok(()) };
    let arrays: Vec<Array> = inputs.iter().map(|v| v.to_array().unwrap()).collect();
    let seed = rng.bits();
    let threads = 1 + rng.below(3);
    let differ = |what: &str, wanted: &[Value], found: &[Value], equality: Equality| {
        let difference = first_difference(wanted, found, equality);
        let text =
            |d| format!("{what}, {threads} threads, blocks {seed}, {kind:?}: {d}\nof\n{program}");
        difference.map_or(Ok(()), |d| Err(text(d)))
    };
    let mut found = Vec::new();
    for (in_order, engine) in [
        (true, Engine::Native),
        (true, Engine::Machine),
        (false, Engine::Native),
        (false, Engine::Machine),
    ] {
        let executable = Executable::in_drawn_blocks(program, in_order, engine, seed);
        let Ok(executable) = executable else { return Ok(()) };
        found.push(run(&executable, &arrays, threads)?);
    }
    differ("machine code in order", &expected, &found[0], Equality::Bits)?;
    differ("the tile machine in order", &expected, &found[1], Equality::Bits)?;
    differ("machine code and the tile machine", &found[3], &found[2], Equality::Bits)?;
    if kind == InputKind::SmallIntegers && exact::never_rounds(program) {
        differ("machine code", &expected, &found[2], Equality::Values)?;
        if let Ok(usual) = Executable::new(program) {
            differ("usual blocks", &expected, &run(&usual, &arrays, threads)?, Equality::Values)?;
        }
    }
    Ok(())
}

/// What of a random program is run: it, or a derivative of it, as it is or optimised.
fn made(source: &Program, which: usize) -> Option<Program> {
    let program = match which % 4 {
        0 | 1 => Pipeline::new(&[Pass::BULK]).run(source).ok()?,
        2 => derive(source, Derivative::Vjp, None).ok()?,
        _ => derive(source, Derivative::Jvp, None).ok()?,
    };
    if which < 4 { Some(program) } else { Pipeline::new(&[Pass::OPTIMISE]).run(&program).ok() }
}

fn check(name: &str, count: usize, config: &Config, kinds: &[InputKind]) {
    for_each_case(name, count, |rng| {
        // A program that is too large for memory is no failure.
        let Ok(source) = generate(config, rng) else { return Ok(()) };
        let (which, kind) = (rng.below(8), *rng.pick(kinds));
        let data = rng.fork();
        let outcome = |source: &Program| {
            let Some(program) = made(source, which) else { return Ok(()) };
            compare(&program, kind, data.clone())
        };
        outcome(&source).map_err(|first| {
            let smallest = shrink(&source, 1000, |p| outcome(p).is_err());
            outcome(&smallest).err().unwrap_or(first)
        })
    });
}

const KINDS: [InputKind; 3] = [InputKind::SmallIntegers, InputKind::Generic, InputKind::Special];

#[test]
fn short_axes() {
    check("exec.scaled.short", 400, &Config { phrases: 30, ..Config::default() }, &KINDS);
}

#[test]
fn axes_of_tens() {
    let config = Config { phrases: 30, ..Config::default() }.large(40);
    check("exec.scaled.tens", 200, &config, &KINDS);
}

#[test]
fn axes_of_thousands() {
    let config = Config { phrases: 30, ..Config::default() }.large(3000);
    check("exec.scaled.thousands", 40, &config, &KINDS);
}

#[test]
fn exact_sums_over_long_axes() {
    let kinds = [InputKind::SmallIntegers];
    let config = Config { data: Data::SmallIntegers, phrases: 30, ..Config::integers() };
    check("exec.scaled.integers.tens", 200, &config.clone().large(40), &kinds);
    check("exec.scaled.integers.thousands", 30, &config.large(5000), &kinds);
}

/// With the usual thresholds sums are taken in parts only from tens of thousands of elements on.
#[test]
fn exact_sums_in_the_usual_blocks() {
    let kinds = [InputKind::SmallIntegers];
    let config = Config { data: Data::SmallIntegers, phrases: 30, ..Config::integers() };
    let config = Config { max_nodes: 20, ..config.large(80_000) };
    check("exec.scaled.integers.usual", 4, &config, &kinds);
}
