//! `scale` is a product where the arrays that its second factor is made of are of moderate size, and
//! what it means where they are not. The results are those of the reference interpreter.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod common;

use common::{agrees, array, numbers, planned, program, size};
use cotan_array::{Array, Dtype};
use cotan_cpu::{Engine, Executable, RunLimits};
use cotan_interp::{Mode, Value};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Program, Result, TermId};
use cotan_pipeline::{Pass, Pipeline};
use cotan_testkit::{
    Config, Equality, Former, InputKind, Rng, first_difference, for_each_case, generate,
    inputs_for, run_program,
};

const ROWS: usize = size(700, 6);
const COLUMNS: usize = size(130, 5);

/// What no plain product may be made of, and a number that one may.
const NUMBERS: [f64; 6] = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300, -1e250, 2.0];

/// For all $i$, $\sum_j \mathrm{scale}(\mathrm{scale}(g_{ij}, (x_j - y_i)^2), x_j y_i)$.
fn scaled(b: &mut Builder, ts: &[TermId]) -> Result<Vec<TermId>> {
    products(b, ts, Op::Scale)
}

/// The same with `strong_mul`.
fn strong(b: &mut Builder, ts: &[TermId]) -> Result<Vec<TermId>> {
    products(b, ts, Op::StrongMul)
}

fn products(b: &mut Builder, ts: &[TermId], op: Op) -> Result<Vec<TermId>> {
    let [g, x, y] = ts else { return Ok(Vec::new()) };
    let x = b.replicate(ROWS, *x)?;
    let y = b.replicate(COLUMNS, *y)?;
    let y = b.transpose(&[1, 0], y)?;
    let (difference, product) = (b.op(Op::Sub, &[x, y])?, b.op(Op::Mul, &[x, y])?);
    let square = b.op(Op::Mul, &[difference, difference])?;
    let first = b.op(op, &[*g, square])?;
    let second = b.op(op, &[first, product])?;
    let turned = b.transpose(&[1, 0], second)?;
    Ok(vec![b.sum_outer(turned)?])
}

fn in_all_ways(program: &Program) -> Vec<Executable> {
    let tiny = |engine| Executable::in_tiny_blocks(program, false, engine);
    let mut all: Vec<Executable> =
        [Engine::Native, Engine::Machine].into_iter().filter_map(|e| tiny(e).ok()).collect();
    all.extend(Executable::new(program));
    all
}

/// Compares with the interpreter; the sign of a zero may be another.
fn agree(
    program: &Program,
    all: &[Executable],
    inputs: &[Array],
) -> std::result::Result<(), String> {
    let values: Vec<Value> = inputs.iter().map(Value::from).collect();
    let Ok(expected) = run_program(program, &values, Mode::Ieee) else { return Ok(()) };
    for (n, executable) in all.iter().enumerate() {
        let found = executable.run(inputs, &RunLimits::default()).unwrap();
        let found: Vec<Value> = found.iter().map(Value::from).collect();
        if let Some(difference) = first_difference(&expected, &found, Equality::Values) {
            return Err(format!("{difference} in way {n}\nof\n{program}"));
        }
    }
    Ok(())
}

/// An array with another number at a place.
fn changed(x: &Array, at: usize, number: f64) -> Array {
    let mut elements = x.to_vec::<f64>().unwrap();
    elements[at] = number;
    array(x.shape().dims(), &elements)
}

#[test]
fn zeros_annihilate_whatever_is_read() {
    annihilates("scaled", scaled);
}

#[test]
fn zeros_of_either_factor_annihilate() {
    annihilates("strong", strong);
}

fn annihilates(name: &str, made: fn(&mut Builder, &[TermId]) -> Result<Vec<TermId>>) {
    let [g, x, y] = [numbers(&[ROWS, COLUMNS]), numbers(&[COLUMNS]), numbers(&[ROWS])];
    let program = program(&[g.clone(), x.clone(), y.clone()], made);
    let all = in_all_ways(&program);
    planned(name, &program);
    for number in NUMBERS {
        for at in [0, 1, COLUMNS / 2, COLUMNS - 1] {
            let inputs = [g.clone(), changed(&x, at, number), y.clone()];
            agree(&program, &all, &inputs).unwrap_or_else(|m| panic!("{number} in x[{at}]: {m}"));
            let inputs = [g.clone(), x.clone(), changed(&y, at, number)];
            agree(&program, &all, &inputs).unwrap_or_else(|m| panic!("{number} in y[{at}]: {m}"));
        }
        // A column of zeros meets it, and nothing else.
        let inputs = [
            array(&[ROWS, COLUMNS], &vec![0.0; ROWS * COLUMNS]),
            changed(&x, COLUMNS / 3, number),
            changed(&y, ROWS / 3, number),
        ];
        agree(&program, &all, &inputs).unwrap_or_else(|m| panic!("{number} with zeros: {m}"));
        // It meets zeros on the other side.
        let inputs = [
            changed(&g, COLUMNS + 1, number),
            array(&[COLUMNS], &vec![0.0; COLUMNS]),
            changed(&y, 2, number),
        ];
        agree(&program, &all, &inputs).unwrap_or_else(|m| panic!("{number} before zeros: {m}"));
    }
}

/// The same in single precision, where less is of moderate size.
#[test]
fn zeros_annihilate_in_single_precision() {
    let single = |x: &Array| {
        let elements: Vec<f32> = x.to_vec::<f64>().unwrap().iter().map(|&x| x as f32).collect();
        array(x.shape().dims(), &elements)
    };
    let [g, x, y] = [numbers(&[ROWS, COLUMNS]), numbers(&[COLUMNS]), numbers(&[ROWS])];
    let program = program(&[single(&g), single(&x), single(&y)], scaled);
    let all = in_all_ways(&program);
    planned("scaled_single", &program);
    let none = array(&[ROWS, COLUMNS], &vec![0.0; ROWS * COLUMNS]);
    for number in [f64::INFINITY, f64::NAN, 1e30, -1e20, 2.0] {
        for g in [&g, &none] {
            let inputs = [single(g), single(&changed(&x, 3, number)), single(&y)];
            agree(&program, &all, &inputs).unwrap_or_else(|m| panic!("{number} in x: {m}"));
            let inputs = [single(g), single(&x), single(&changed(&y, 1, number))];
            agree(&program, &all, &inputs).unwrap_or_else(|m| panic!("{number} in y: {m}"));
        }
    }
}

/// Where every bit is to be that of the interpreter, 0 scaled by what is negative is 0, not -0.
#[test]
fn zeros_have_their_sign_in_order() {
    let inputs = [numbers(&[ROWS, COLUMNS]), numbers(&[COLUMNS])];
    let program = program(&inputs, |b, ts| {
        let copies = b.replicate(ROWS, ts[1])?;
        Ok(vec![b.op(Op::Scale, &[ts[0], copies])?])
    });
    agrees(&program, &inputs, &Executable::in_order(&program).unwrap());
    let tiny = Executable::in_tiny_blocks(&program, true, Engine::Native).unwrap();
    agrees(&program, &inputs, &tiny);
}

/// What is divided by, or written meanwhile, may be anything: these factors stay as they are.
#[test]
fn factors_of_unknown_size_are_looked_at() {
    let [g, x] = [numbers(&[ROWS, COLUMNS]), numbers(&[COLUMNS])];
    let program = program(&[g.clone(), x.clone()], |b, ts| {
        let one = b.scalar(1.0)?;
        let ones = b.replicate(COLUMNS, one)?;
        // The numbers have zeros among them.
        let inverse = b.op(Op::Div, &[ones, ts[1]])?;
        let copies = b.replicate(ROWS, inverse)?;
        let product = b.op(Op::Scale, &[ts[0], copies])?;
        let turned = b.transpose(&[1, 0], product)?;
        Ok(vec![b.sum_outer(turned)?])
    });
    agree(&program, &in_all_ways(&program), &[g, x]).unwrap();
}

/// Elementwise programs, as sums of what is not finite may be taken in steps.
#[test]
fn random_programs_of_numbers_that_are_not_finite() {
    use Former::{Gather, Index, Op, Replicate, Reshape, Stack, Transpose};
    let formers = vec![Op, Op, Op, Replicate, Transpose, Gather, Index, Reshape, Stack];
    let config = Config { formers, phrases: 30, ..Config::ring() };
    for_each_case("exec.relaxed", size(2000, 20), |rng| {
        let program = generate(&config, rng).map_err(|e| e.to_string())?;
        let program = Pipeline::new(&[Pass::BULK]).run(&program).map_err(|e| e.to_string())?;
        if program.terms().any(|t| matches!(program.node(t), cotan_ir::Node::SumOuter(_))) {
            return Ok(());
        }
        let values = inputs_for(&program, rng, InputKind::SmallIntegers).unwrap();
        let inputs: Vec<Array> =
            values.iter().map(|v| strange(&v.to_array().unwrap(), rng)).collect();
        agree(&program, &in_all_ways(&program), &inputs)
    });
}

/// An array with some other numbers among its floats.
fn strange(x: &Array, rng: &mut Rng) -> Array {
    if x.dtype() != Dtype::F64 {
        return x.clone();
    }
    let mut elements = x.to_vec::<f64>().unwrap();
    for x in &mut elements {
        if rng.chance(20) {
            *x = *rng.pick(&[f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0, 0.0]);
        }
    }
    array(x.shape().dims(), &elements)
}

/// A factor that the same nests make of inputs by what may be infinite.
#[test]
fn factors_that_are_made_meanwhile_are_looked_at() {
    let [g, x] = [numbers(&[ROWS, COLUMNS]), numbers(&[ROWS, COLUMNS])];
    let program = program(&[g.clone(), x.clone()], |b, ts| {
        let one = b.scalar(1.0)?;
        let ones = b.replicate(COLUMNS, one)?;
        let ones = b.replicate(ROWS, ones)?;
        // Used twice, and so dear that it is kept for a block of rows.
        let mut inverse = b.op(Op::Div, &[ones, ts[1]])?;
        for _ in 0..4 {
            let exp = b.op(Op::Exp, &[inverse])?;
            let log = b.op(Op::Log, &[exp])?;
            inverse = b.op(Op::Round, &[log])?;
        }
        let first = b.op(Op::Scale, &[ts[0], inverse])?;
        let turned = b.transpose(&[1, 0], first)?;
        let by_rows = b.sum_outer(turned)?;
        let second = b.op(Op::Scale, &[ts[1], inverse])?;
        Ok(vec![by_rows, b.sum_outer(second)?])
    });
    let all = in_all_ways(&program);
    planned("factors_made_meanwhile", &program);
    agree(&program, &all, &[g, x]).unwrap();
}

/// What chooses between factors may be anything, also what the same nests make: only what is chosen
/// has to be of moderate size.
#[test]
fn conditions_of_factors_are_not_looked_at() {
    const N: usize = size(70, 4);
    const M: usize = size(30, 3);
    const K: usize = size(64, 3);
    let [h, x, y, z] = [numbers(&[N, M]), numbers(&[M, K]), numbers(&[K]), numbers(&[K])];
    let program = program(&[h.clone(), x.clone(), y.clone(), z.clone()], |b, ts| {
        // So dear that it is kept for a block of rows.
        let mut dear = ts[0];
        for _ in 0..4 {
            let exp = b.op(Op::Exp, &[dear])?;
            let log = b.op(Op::Log, &[exp])?;
            dear = b.op(Op::Round, &[log])?;
        }
        let copies = b.replicate(K, dear)?;
        let copies = b.transpose(&[1, 2, 0], copies)?;
        let x = b.replicate(N, ts[1])?;
        let [y, z] = [ts[2], ts[3]].map(|t| b.replicate(M, t).and_then(|t| b.replicate(N, t)));
        let (y, z) = (y?, z?);
        let less = b.op(Op::Lt, &[copies, y])?;
        let factor = b.op(Op::Select, &[less, y, z])?;
        let product = b.op(Op::Scale, &[x, factor])?;
        let turned = b.transpose(&[2, 1, 0], product)?;
        let once = b.sum_outer(turned)?;
        Ok(vec![b.sum_outer(once)?])
    });
    let all = in_all_ways(&program);
    planned("conditions_of_factors", &program);
    for number in NUMBERS {
        let inputs = [changed(&h, M, number), x.clone(), y.clone(), z.clone()];
        agree(&program, &all, &inputs).unwrap_or_else(|m| panic!("{number} chooses: {m}"));
        let inputs = [h.clone(), x.clone(), y.clone(), changed(&z, 1, number)];
        agree(&program, &all, &inputs).unwrap_or_else(|m| panic!("{number} is chosen: {m}"));
    }
}
