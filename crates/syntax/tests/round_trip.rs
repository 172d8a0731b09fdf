//! Printed programs read back as the same programs.
#![allow(clippy::panic, reason = "tests")]

use cotan_array::{Array, Dtype, Shape};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Program, Type};
use cotan_syntax::parse_program;
use cotan_testkit::{Config, Rng, generate};

fn reads_back(program: &Program) {
    let text = program.to_string();
    let read = parse_program(&text).unwrap_or_else(|failure| panic!("{text}\n{failure}"));
    assert_eq!(read.check(), Ok(()), "{text}");
    assert!(read == *program, "{text}\n--- read back as\n{read}");
}

#[test]
fn random_programs() {
    for seed in 0..3000 {
        let mut rng = Rng::new(seed);
        let config = match seed % 4 {
            0 => Config::default(),
            1 => Config::smooth(),
            2 => Config::default().nodes(120),
            _ => Config::ring(),
        };
        let program = generate(&config, &mut rng).unwrap();
        reads_back(&program);
    }
}

#[test]
fn every_operation_at_every_typing() {
    for op in Op::all() {
        for typing in op.typings() {
            let mut b = Builder::new();
            let mut inputs = Vec::new();
            let mut literals = Vec::new();
            for (k, &dtype) in typing.iter().enumerate() {
                inputs.push(b.input(format!("x{k}"), Type::scalar(dtype)).unwrap());
                let one = Array::full(Shape::scalar(), true).unwrap().cast(dtype).unwrap();
                literals.push(b.constant(&one).unwrap());
            }
            // On inputs, on literals, and on a literal first or last.
            let mut outputs = vec![b.op(op, &inputs).unwrap(), b.op(op, &literals).unwrap()];
            for mixed in 0..typing.len() {
                let mut args = inputs.clone();
                args[mixed] = literals[mixed];
                outputs.push(b.op(op, &args).unwrap());
            }
            let outputs = outputs
                .into_iter()
                .map(|term| cotan_ir::Output { name: String::new(), term })
                .collect();
            reads_back(&b.finish(outputs).unwrap());
        }
    }
}

#[test]
fn inputs_with_the_names_of_builtins_keywords_and_paths() {
    let mut b = Builder::new();
    let mut terms = Vec::new();
    for name in ["sin", "sum_outer", "let", "p.w", "größe", "x1", "i", "true"] {
        let shape = Shape::new("test", &[3]).unwrap();
        terms.push(b.input(name, Type::new(Dtype::F64, shape)).unwrap());
    }
    let sin = b.op(Op::Sin, &[terms[0]]).unwrap();
    let sum = b.sum_outer(terms[1]).unwrap();
    let both = b.build(3, |b, i| b.index(terms[6], &[i])).unwrap();
    let mut outputs = vec![sin, sum, both];
    outputs.extend(terms);
    let names = ["a.b", "c", "def", "d", "e", "f", "g", "h", "i", "j", "k"];
    let outputs = outputs
        .into_iter()
        .zip(names)
        .map(|(term, name)| cotan_ir::Output { name: name.into(), term })
        .collect();
    reads_back(&b.finish(outputs).unwrap());
}

#[test]
fn special_numbers() {
    let mut b = Builder::new();
    let floats = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, f64::MAX, 0.1];
    let narrow: Vec<f32> = floats.iter().map(|&x| x as f32).chain([f32::MAX, 1e-45]).collect();
    let ints = [0, -1, i64::MIN, i64::MAX];
    let mut terms = Vec::new();
    for x in floats {
        terms.push(b.scalar(x).unwrap());
    }
    for &x in &narrow {
        terms.push(b.scalar(x).unwrap());
    }
    for x in ints {
        terms.push(b.scalar(x).unwrap());
    }
    terms.push(
        b.constant(&Array::from_vec(Shape::new("t", &[2, 4]).unwrap(), floats.to_vec()).unwrap())
            .unwrap(),
    );
    terms.push(
        b.constant(&Array::from_vec(Shape::new("t", &[10]).unwrap(), narrow).unwrap()).unwrap(),
    );
    terms.push(
        b.constant(&Array::from_vec(Shape::new("t", &[4, 1]).unwrap(), ints.to_vec()).unwrap())
            .unwrap(),
    );
    terms.push(
        b.constant(&Array::zeros(Dtype::Bool, Shape::new("t", &[3, 0, 2]).unwrap()).unwrap())
            .unwrap(),
    );
    terms.push(
        b.constant(&Array::zeros(Dtype::F32, Shape::new("t", &[0]).unwrap()).unwrap()).unwrap(),
    );
    let outputs =
        terms.into_iter().map(|term| cotan_ir::Output { name: String::new(), term }).collect();
    reads_back(&b.finish(outputs).unwrap());
}

#[test]
fn no_outputs() {
    reads_back(&Builder::new().finish(Vec::new()).unwrap());
}
