//! The optimised program does hardly more work than the source, most often less, and the optimiser
//! takes time linear in the program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod common;

use std::time::Instant;

use common::configs;
use cotan_array::{Dtype, Shape};
use cotan_interp::{Interp, Options as Run};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Program, TermId, Type};
use cotan_opt::{Options, optimise};
use cotan_pipeline::Derivative;
use cotan_testkit::families::FAMILIES;
use cotan_testkit::{InputKind, Rng, bulk, derived, generate, inputs_for, scaled};

/// The most work of the result in that of the source: masks and windows. The interpreter makes every
/// view that a mask is made of; the machine makes none.
const FACTOR: f64 = 5.0;
/// What is not counted: the nodes that even an empty program has.
const FREE: f64 = 200.0;

fn work(program: &Program, rng: &Rng) -> f64 {
    let inputs = inputs_for(program, &mut rng.clone(), InputKind::SmallIntegers).unwrap();
    let options = Run { strict: true, ..Run::default() };
    Interp::new(program).with_options(options).run(&inputs).unwrap().counts.work() as f64
}

#[test]
fn work_does_not_grow_in_random_programs() {
    let configs = configs();
    let mut worst = (0.0, String::new());
    let (mut before, mut after) = (0.0, 0.0);
    for n in 0..scaled(1500) {
        let rng = &mut Rng::new(3_000_000 + n as u64);
        let program = generate(&configs[n % configs.len()], rng).unwrap();
        let program = derived(&program, Derivative::Vjp).unwrap();
        let (result, _) = optimise(&program, &Options::default()).unwrap();
        let (source, made) = (work(&program, rng), work(&result, rng));
        (before, after) = (before + source, after + made);
        let ratio = made / (source + FREE);
        if ratio > worst.0 {
            worst = (ratio, format!("seed {}\n{program}became\n{result}", 3_000_000 + n));
        }
    }
    println!("{:.2} of the work, at most {:.2} times", after / before, worst.0);
    assert!(worst.0 <= FACTOR, "{} times the work\n{}", worst.0, worst.1);
    assert!(after < 0.8 * before, "{} of the work", after / before);
}

#[test]
fn programs_do_not_grow() {
    for family in FAMILIES {
        let program = bulk(&family.program(600).unwrap()).unwrap();
        let (result, _) = optimise(&program, &Options::default()).unwrap();
        println!("{:40} {} nodes become {}", family.name, program.len(), result.len());
        assert!(result.len() <= program.len() + 50, "{}", family.name);
    }
}

fn vector() -> Type {
    Type::new(Dtype::F64, Shape::new("test", &[3]).unwrap())
}

fn times(b: &mut Builder, t: TermId, c: f64) -> TermId {
    let c = b.scalar(c).unwrap();
    let c = b.replicate(3, c).unwrap();
    b.op(Op::Mul, &[t, c]).unwrap()
}

/// For each number another term of `x`.
fn wave(b: &mut Builder, x: TermId, k: usize) -> TermId {
    let moved = times(b, x, 1e6 + k as f64);
    b.op(Op::Sin, &[moved]).unwrap()
}

/// Chains in which rules fire all the time, of `n` nodes and more.
fn chains(n: usize) -> [(&'static str, Program); 10] {
    let chain = |step: fn(&mut Builder, TermId, TermId, usize) -> TermId| {
        let mut b = Builder::new();
        let x = b.input("x", vector()).unwrap();
        let mut t = x;
        for k in 0..n {
            t = step(&mut b, t, x, k);
        }
        b.finish_one(t).unwrap()
    };
    [
        ("negations", chain(|b, t, _, _| b.op(Op::Neg, &[t]).unwrap())),
        ("sums", chain(|b, t, _, _| b.op(Op::Add, &[t, t]).unwrap())),
        (
            "scatters",
            chain(|b, t, x, k| {
                let f = b.index_function(&[3], |b, is| {
                    let shift = b.scalar(k as i64 % 2)?;
                    Ok(vec![b.op(Op::Add, &[is[0], shift])?])
                });
                let moved = b.scatter(&[3], t, f.unwrap()).unwrap();
                b.op(Op::Mul, &[moved, x]).unwrap()
            }),
        ),
        (
            "sums of copies",
            chain(|b, t, x, _| {
                let copies = b.replicate(4, t).unwrap();
                let sum = b.sum_outer(copies).unwrap();
                b.op(Op::Sub, &[sum, x]).unwrap()
            }),
        ),
        ("multiples", chain(|b, t, x, _| b.op(Op::Add, &[t, x]).unwrap())),
        (
            "multiples among others",
            chain(|b, t, x, k| {
                let (other, op) = match k % 3 {
                    0 => (wave(b, x, k), Op::Sub),
                    1 => (times(b, x, 0.75), Op::Add),
                    _ => (x, Op::Add),
                };
                b.op(op, &[t, other]).unwrap()
            }),
        ),
        ("constants", chain(|b, t, _, k| times(b, t, [3.0, 0.3, -7.0, 1e-3][k % 4]))),
        (
            "products of multiples",
            chain(|b, t, x, k| {
                let wave = wave(b, x, k);
                let multiple = times(b, wave, [3.0, 0.3, -7.0, 1e-3][k % 4]);
                let args = if k % 2 == 0 { [t, multiple] } else { [multiple, t] };
                b.op(if k % 3 == 0 { Op::Scale } else { Op::Mul }, &args).unwrap()
            }),
        ),
        (
            "sums of multiples",
            chain(|b, t, x, k| {
                let multiple = times(b, t, [3.0, 0.3, -7.0, 1e-3][k % 4]);
                let copies = b.replicate(3, multiple).unwrap();
                let wave = wave(b, x, k);
                let waves = b.replicate(3, wave).unwrap();
                let turned = b.transpose(&[1, 0], waves).unwrap();
                let products = b.op(Op::Mul, &[copies, turned]).unwrap();
                b.sum_outer(products).unwrap()
            }),
        ),
        (
            "choices by one condition",
            chain(|b, t, x, k| {
                let condition = b.op(Op::Lt, &[x, t]).unwrap();
                let zero = b.scalar(0.0).unwrap();
                let zero = b.replicate(3, zero).unwrap();
                let wave = wave(b, x, k);
                let first = b.op(Op::Select, &[condition, wave, zero]).unwrap();
                let second = b.op(Op::Select, &[condition, x, zero]).unwrap();
                b.op(Op::Add, &[first, second]).unwrap()
            }),
        ),
    ]
}

#[test]
fn time_is_linear() {
    let families = FAMILIES
        .iter()
        .map(|family| (family.name, bulk(&family.program(100_000).unwrap()).unwrap()));
    for (name, program) in chains(100_000).into_iter().chain(families) {
        let begin = Instant::now();
        let (result, _) = optimise(&program, &Options::default()).unwrap();
        let time = begin.elapsed();
        println!("{name:40} {} nodes become {} in {time:?}", program.len(), result.len());
        // Far more than it takes, as tests run beside each other.
        assert!(time.as_secs() < 30, "{name}: {time:?}");
    }
}
