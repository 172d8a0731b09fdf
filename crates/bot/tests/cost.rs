//! The transformed program does at most [`FACTOR`] times the work of the source.
//!
//! Work is what the interpreter counts: operations, elements read and written, steps, nodes. Both
//! programs run strictly, for inside a build both branches of a conditional are computed anyway.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod common;

use common::configs;
use cotan_array::{Dtype, Shape};
use cotan_bot::{Options, bulk, normal_form};
use cotan_interp::{Interp, Options as Run};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Param, Program, Result, TermId, Type, While};
use cotan_testkit::families::FAMILIES;
use cotan_testkit::{Former, InputKind, Rng, generate, inputs_for, scaled};

/// The most work of the result, in that of the source: see the crate's documentation.
const FACTOR: f64 = 10.0;
/// What is not counted: the nodes that even an empty program has.
const FREE: f64 = 200.0;

fn work(program: &Program, rng: &Rng) -> f64 {
    let inputs = inputs_for(program, &mut rng.clone(), InputKind::SmallIntegers).unwrap();
    let options = Run { strict: true, ..Run::default() };
    let run = Interp::new(program).with_options(options).run(&inputs).unwrap();
    run.counts.work() as f64
}

/// The work of the result in that of the source, and the result.
fn ratio(program: &Program, rng: &Rng) -> (f64, Program) {
    let (result, _) = bulk(program, &Options::default()).unwrap();
    normal_form(&result).unwrap();
    (work(&result, rng) / (work(program, rng) + FREE), result)
}

#[test]
fn work_is_bounded_in_random_programs() {
    // Lanes of a `while` that end at different times wait for the last: no bound holds for these.
    let configs = configs().into_iter().map(|config| config.without(&[Former::While]));
    let configs: Vec<_> = configs.collect();
    let mut worst = (0.0, String::new());
    for n in 0..scaled(3000) {
        let rng = &mut Rng::new(9_000_000 + n as u64);
        let program = generate(&configs[n % configs.len()], rng).unwrap();
        let (ratio, result) = ratio(&program, rng);
        if ratio > worst.0 {
            worst = (ratio, format!("seed {}\n{program}became\n{result}", 9_000_000 + n));
        }
    }
    println!("at most {:.2} times the work", worst.0);
    assert!(worst.0 <= FACTOR, "{} times the work\n{}", worst.0, worst.1);
}

#[test]
fn work_is_bounded_in_families() {
    for family in FAMILIES {
        let (ratio, _) = ratio(&family.program(600).unwrap(), &Rng::new(1));
        println!("{:40} {ratio:.2} times the work", family.name);
        assert!(ratio <= FACTOR, "{}: {ratio}", family.name);
    }
}

/// The sizes of the arrays of the cases below: large, so that only what grows with them counts.
const K: usize = 40;
const M: usize = 30;

/// A term over rows of `M` numbers, a vector, a table of indices and 0.
type Case = fn(&mut Builder, [TermId; 4]) -> Result<TermId>;

/// Cases in which a transform might do something again for each element.
const CASES: &[(&str, Case)] = &[
    ("an index of eight operations, used for each element of a row", |b, [rows, _, _, _]| {
        b.build(K, |b, i| {
            let mut at = i;
            for c in [3, 5, 7, 11] {
                let c = b.scalar(c)?;
                at = b.op(Op::Mul, &[at, i])?;
                at = b.op(Op::Rem, &[at, c])?;
            }
            let f = b.index_function(&[M], |_, js| Ok(vec![at, js[0]]))?;
            b.gather(rows, f)
        })
    }),
    ("an index of eight operations, used by many reads", |b, [rows, a, _, _]| {
        b.build(K, |b, i| {
            let mut at = i;
            for c in [13, 17, 19, 23] {
                let c = b.scalar(c)?;
                at = b.op(Op::Mul, &[at, i])?;
                at = b.op(Op::Rem, &[at, c])?;
            }
            let mut sum = b.index(a, &[at])?;
            for column in 0..20 {
                let column = b.scalar(column)?;
                let x = b.index(rows, &[at, column])?;
                sum = b.op(Op::Add, &[sum, x])?;
            }
            Ok(sum)
        })
    }),
    ("a while of as many steps for each row", |b, [rows, _, table, _]| {
        b.build(K, |b, i| {
            let (row, at) = (b.index(rows, &[i])?, b.index(table, &[i])?);
            let (zero, steps, one) = (b.scalar(0i64)?, b.scalar(9i64)?, b.scalar(1i64)?);
            let params = [row, zero].map(|t| Param::Value(b.ty(t).clone()));
            let step = b.lambda(&params, |b, s| {
                // A condition of each row's own, although all make 9 steps.
                let (same, below) = (b.op(Op::Eq, &[at, at])?, b.op(Op::Lt, &[s[1], steps])?);
                let running = b.op(Op::And, &[same, below])?;
                let next = b.op(Op::Mul, &[s[0], s[0]])?;
                Ok(vec![running, next, b.op(Op::Add, &[s[1], one])?])
            })?;
            let looped = b.while_accum(While { bound: None, init: [row, zero].into(), step })?;
            b.result(looped, 0)
        })
    }),
    ("a row read at an unknown place", |b, [rows, _, table, _]| {
        b.build(K, |b, i| {
            let copies = b.replicate(3, rows)?;
            let (at, two) = (b.index(table, &[i])?, b.scalar(2i64)?);
            b.index(copies, &[two, at])
        })
    }),
    ("a whole matrix under a mask", |b, [rows, _, table, _]| {
        b.build(K, |b, i| {
            let copies = b.replicate(3, rows)?;
            let at = b.index(table, &[i])?;
            b.index(copies, &[at])
        })
    }),
    ("reshaped rows", |b, [rows, _, table, _]| {
        let flat = b.reshape(&[M, K], rows)?;
        b.build(M, |b, i| {
            let row = b.index(flat, &[i])?;
            let (at, x) = (b.index(table, &[i])?, b.sum_outer(row)?);
            let y = b.index(row, &[at])?;
            b.op(Op::Mul, &[x, y])
        })
    }),
    ("guarded reads on both sides", |b, [_, a, _, _]| {
        b.build(K, |b, i| {
            let one = b.scalar(1i64)?;
            let (left, right) = (b.op(Op::Sub, &[i, one])?, b.op(Op::Add, &[i, one])?);
            let (x, y) = (b.index(a, &[left])?, b.index(a, &[right])?);
            b.op(Op::Add, &[x, y])
        })
    }),
    ("a matrix product", |b, [rows, _, _, _]| {
        b.build(K, |b, i| {
            b.build(K, |b, j| {
                let products = b.build(M, |b, k| {
                    let (x, y) = (b.index(rows, &[i, k])?, b.index(rows, &[j, k])?);
                    b.op(Op::Mul, &[x, y])
                })?;
                b.sum_outer(products)
            })
        })
    }),
    ("a conditional of rows", |b, [rows, a, _, zero]| {
        b.build(K, |b, i| {
            let x = b.index(a, &[i])?;
            let positive = b.op(Op::Gt, &[x, zero])?;
            let row = b.index(rows, &[i])?;
            let other = b.op(Op::Neg, &[row])?;
            b.cond(positive, row, other)
        })
    }),
    ("what does not depend on the index", |b, [rows, a, _, _]| {
        b.build(K, |b, i| {
            let exp = b.op(Op::Exp, &[rows])?;
            let sum = b.sum_outer(exp)?;
            let (sum, x) = (b.sum_outer(sum)?, b.index(a, &[i])?);
            b.op(Op::Mul, &[x, sum])
        })
    }),
];

#[test]
fn work_is_bounded_where_it_might_be_done_again() {
    for (name, make) in CASES {
        let mut b = Builder::new();
        let input = |b: &mut Builder, name: &str, dtype, dims: &[usize]| {
            b.input(name, Type::new(dtype, Shape::new("test", dims).unwrap())).unwrap()
        };
        let rows = input(&mut b, "rows", Dtype::F64, &[K, M]);
        let a = input(&mut b, "a", Dtype::F64, &[K]);
        let table = input(&mut b, "table", Dtype::I64, &[K]);
        let zero = b.scalar(0.0).unwrap();
        let t = make(&mut b, [rows, a, table, zero]).unwrap();
        let (ratio, result) = ratio(&b.finish_one(t).unwrap(), &Rng::new(1));
        println!("{name:62} {ratio:.2} times the work");
        assert!(ratio <= FACTOR, "{name}: {ratio}\n{result}");
    }
}
