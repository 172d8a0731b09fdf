//! Random programs and their derivatives as C, against the reference interpreter.
//!
//! With sums in order every bit is the same, whatever the data and the compiler. In the order that suits
//! machines sums of small integers are the same, because they are exact.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{Case, has, run};
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_testkit::{
    Config, Data, Equality, InputKind, Rng, exact, first_difference, for_each_case, generate,
    inputs_for, run_program,
};

const ALL: [InputKind; 3] = [InputKind::SmallIntegers, InputKind::Generic, InputKind::Special];

/// Functions of one file: compilers take longest to begin.
const BATCH: usize = 40;

/// A program with inputs and what the interpreter makes of them, if it has a plan.
fn case(
    program: &Program,
    in_order: bool,
    kinds: &[InputKind],
    rng: &mut Rng,
) -> Option<(Case, Vec<Vec<Value>>)> {
    let plan = cotan_c::plan(program, in_order).ok()?;
    let (mut inputs, mut expected) = (Vec::new(), Vec::new());
    for &kind in kinds {
        let given = inputs_for(program, rng, kind).ok()?;
        let Ok(results) = run_program(program, &given, Mode::Ieee) else { continue };
        inputs.push(given);
        expected.push(results);
    }
    Some((Case { program: program.clone(), plan, in_order, inputs }, expected))
}

struct Check<'a> {
    compiler: &'a str,
    flags: &'a [&'a str],
    in_order: bool,
    config: &'a Config,
    kinds: &'a [InputKind],
}

impl Check<'_> {
    /// Compares what `make` makes of random programs.
    fn run(&self, name: &str, count: usize, make: impl Fn(&Program) -> Option<Program>) {
        if !has(self.compiler) {
            return;
        }
        let mut ran = 0;
        for_each_case(name, count.div_ceil(BATCH), |rng| {
            let (mut cases, mut all) = (Vec::new(), Vec::new());
            for _ in 0..BATCH {
                let program = generate(self.config, rng).map_err(|e| e.to_string())?;
                let mut data = rng.fork();
                let Some(made) = make(&program) else { continue };
                if let Some((one, expected)) = case(&made, self.in_order, self.kinds, &mut data) {
                    cases.push(one);
                    all.push(expected);
                }
            }
            ran += cases.len();
            let equality = if self.in_order { Equality::Bits } else { Equality::Values };
            let found = run(&cases, self.compiler, self.flags)?;
            for ((case, expected), found) in cases.iter().zip(&all).zip(&found) {
                for (n, (expected, found)) in expected.iter().zip(found).enumerate() {
                    if let Some(difference) = first_difference(expected, found, equality) {
                        let (program, inputs) = (&case.program, &case.inputs[n]);
                        let text = alone(case);
                        return Err(format!("{difference}\nof\n{program}\nat {inputs:?}\n{text}"));
                    }
                }
            }
            Ok(())
        });
        println!("{name}: {ran} functions ran");
        assert!(ran > 0, "nothing ran");
    }
}

/// The code of one case, for messages.
fn alone(case: &Case) -> String {
    let plan = cotan_c::plan(&case.program, case.in_order).unwrap();
    let copy = Case { program: case.program.clone(), plan, inputs: Vec::new(), ..*case };
    common::written(&[copy]).source
}

fn bulk(program: &Program) -> Option<Program> {
    Pipeline::new(&[Pass::BULK]).run(program).ok()
}

fn optimised(program: &Program) -> Option<Program> {
    Pipeline::new(&[Pass::BULK, Pass::OPTIMISE]).run(program).ok()
}

fn gradient(program: &Program) -> Option<Program> {
    derive(program, Derivative::Vjp, None).ok()
}

#[test]
fn programs_give_the_bits_of_the_interpreter() {
    let config = Config::default();
    let (compiler, flags) = ("gcc", &["-O1"][..]);
    let check = Check { compiler, flags, in_order: true, config: &config, kinds: &ALL };
    check.run("c.bulk", 400, bulk);
    check.run("c.optimised", 200, optimised);
}

#[test]
fn derivatives_give_the_bits_of_the_interpreter() {
    let config = Config::default();
    let (compiler, flags) = ("gcc", &["-O1"][..]);
    let check = Check { compiler, flags, in_order: true, config: &config, kinds: &ALL };
    check.run("c.vjp", 240, gradient);
    check.run("c.jvp", 80, |p| derive(p, Derivative::Jvp, None).ok());
}

#[test]
fn phrases_and_updates_give_the_bits_of_the_interpreter() {
    let config = Config { phrases: 60, ..Config::default() };
    let (compiler, flags) = ("gcc", &["-O1"][..]);
    let check = Check { compiler, flags, in_order: true, config: &config, kinds: &ALL };
    check.run("c.phrases", 120, bulk);
    let config = Config { updates: 50, max_nodes: 24, ..Config::default() };
    let check = Check { config: &config, ..check };
    check.run("c.updates", 120, bulk);
    check.run("c.updates.vjp", 80, gradient);
}

#[test]
fn optimising_compilers_change_no_bit() {
    let config = Config::default();
    let check = Check { compiler: "gcc", flags: &[], in_order: true, config: &config, kinds: &ALL };
    let fast = Check { flags: &["-O3", "-march=native"], ..check };
    fast.run("c.gcc.fast", 40, gradient);
    // Another dialect, in which compilers fuse products unless they are told.
    let gnu = Check { flags: &["-O2", "-march=native", "-std=gnu11"], ..fast };
    gnu.run("c.gcc.gnu", 40, bulk);
    let clang = Check { compiler: "clang", flags: &["-O2", "-march=native"], ..gnu };
    clang.run("c.clang", 40, gradient);
}

#[test]
fn sums_in_the_order_of_machines_are_exact_on_integers() {
    let config = Config { data: Data::SmallIntegers, ..Config::default() };
    let kinds = &[InputKind::SmallIntegers];
    let (compiler, flags) = ("gcc", &["-O2", "-march=native"][..]);
    let check = Check { compiler, flags, in_order: false, config: &config, kinds };
    check.run("c.sums", 160, |p| bulk(p).filter(exact::never_rounds));
    check.run("c.sums.vjp", 160, |p| gradient(p).filter(exact::never_rounds));
    let config = Config { data: Data::SmallIntegers, ..Config::default().large(40) };
    let check = Check { config: &config, ..check };
    check.run("c.sums.large", 80, |p| gradient(p).filter(exact::never_rounds));
}

#[test]
fn sanitizers_find_nothing() {
    let config = Config::default();
    let flags = &["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"][..];
    let check = Check { compiler: "gcc", flags, in_order: true, config: &config, kinds: &ALL };
    check.run("c.sanitized", 40, gradient);
    let config = Config { updates: 50, max_nodes: 24, ..Config::default() };
    let check = Check { config: &config, in_order: true, ..check };
    check.run("c.sanitized.updates", 40, bulk);
    let config = Config { data: Data::SmallIntegers, ..Config::default().large(40) };
    let kinds = &[InputKind::SmallIntegers];
    let check = Check { config: &config, kinds, in_order: false, ..check };
    check.run("c.sanitized.sums", 40, |p| gradient(p).filter(exact::never_rounds));
}
