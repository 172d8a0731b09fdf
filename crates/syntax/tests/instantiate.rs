//! Functions at given types.
#![allow(clippy::expect_used, reason = "tests")]

mod common;

use common::evaluate::run;
use cotan_array::{Dtype, Shape};
use cotan_interp::Value;
use cotan_ir::Type;
use cotan_ir::scalar::Scalar;
use cotan_syntax::{ArgSpec, Failure, Instance, TypeTree, instantiate, load_text};

const TEXT: &str = "
    type Params[n] = {w: [n]f64, b: f64}
    # The loss of one example.
    def loss(p: Params[n], data: ([n]f64, f64)) =
      let e = dot(p.w, data.0) + p.b - data.1
      in {loss = e * e, aux = (e, n)}
    def double(a: [2 * n]f64) = 2 * a[:n]
    def power(x: f64, n: i64): f64 = if n == 0 then 1.0 else x * power(x, n - 1)
    def pair(x: f64) = (x, (x + 1, x))
    def apply(f: f64 -> f64) = f(1.0)
    def adder(x: f64) = y => x + y";

fn make(function: &str, args: &[ArgSpec], sizes: &[(&str, usize)]) -> Result<Instance, Failure> {
    let modules = load_text("test.ct", TEXT).expect("it loads");
    instantiate(&modules, function, args, sizes, &Default::default())
}

fn vector(k: usize) -> Type {
    Type::new(Dtype::F64, Shape::new("test", &[k]).expect("a shape"))
}

fn code(result: Result<Instance, Failure>) -> String {
    match result {
        Ok(_) => "ok".into(),
        Err(failure) => {
            failure.diagnostics.iter().map(|d| d.code.to_string()).collect::<Vec<_>>().join(" ")
        }
    }
}

#[test]
fn inputs_and_outputs_are_named_by_their_paths() {
    let loss = make("loss", &[], &[("n", 2)]).expect("it is made");
    let inputs: Vec<String> =
        loss.program.inputs().iter().map(|i| format!("{}: {}", i.name, i.ty)).collect();
    assert_eq!(inputs, ["p.w: [2]f64", "p.b: f64", "data.0: [2]f64", "data.1: f64"]);
    let outputs: Vec<&str> = loss.program.outputs().iter().map(|o| o.name.as_str()).collect();
    assert_eq!(outputs, ["loss", "aux.0", "aux.1"]);
    assert_eq!(loss.params[0].0, "p");
    assert_eq!(loss.params[0].1.to_string(), "{w: [2]f64, b: f64}");
    assert_eq!(loss.result.to_string(), "{loss: f64, aux: (f64, i64)}");
    let args = [
        Value::of(&[2], vec![1.0, 2.0]).expect("a vector"),
        Value::scalar(0.5),
        Value::of(&[2], vec![3.0, 4.0]).expect("a vector"),
        Value::scalar(10.0),
    ];
    assert_eq!(run(&loss, &args), "{loss = 2.25, aux = (1.5, 2)}");
    // Without a record anywhere, outputs have no names.
    let pair = make("pair", &[], &[]).expect("it is made");
    assert!(pair.program.outputs().iter().all(|o| o.name.is_empty()));
    assert_eq!(pair.program.outputs().len(), 3);
}

#[test]
fn sizes_follow_from_types_or_are_given() {
    let params = TypeTree::Record(vec![
        ("b".into(), TypeTree::Array(Type::scalar(Dtype::F64))),
        ("w".into(), TypeTree::Array(vector(3))),
    ]);
    let data = ArgSpec::Leaves(vec![vector(3), Type::scalar(Dtype::F64)]);
    let loss = make("loss", &[ArgSpec::Tree(params.clone()), data], &[]).expect("it is made");
    assert_eq!(loss.result.to_string(), "{loss: f64, aux: (f64, i64)}");
    let double = make("double", &[], &[("n", 4)]).expect("it is made");
    assert_eq!(double.program.inputs()[0].ty, vector(8));

    let wrong = ArgSpec::Leaves(vec![vector(4), Type::scalar(Dtype::F64)]);
    assert_eq!(code(make("loss", &[ArgSpec::Tree(params), wrong], &[])), "E0204");
    assert_eq!(code(make("loss", &[], &[])), "E0205");
    assert_eq!(code(make("loss", &[], &[("m", 3)])), "E0218");
    assert_eq!(code(make("loss", &[ArgSpec::Declared], &[("n", 3)])), "E0207");
    assert_eq!(code(make("double", &[ArgSpec::Leaves(vec![vector(5)])], &[("n", 2)])), "E0204");
    assert_eq!(
        code(make("loss", &[ArgSpec::Leaves(vec![]), ArgSpec::Declared], &[("n", 3)])),
        "E0207"
    );
}

#[test]
fn static_arguments_are_no_inputs() {
    let three = ArgSpec::Static(Scalar::I64(3));
    let cube = make("power", &[ArgSpec::Declared, three], &[]).expect("it is made");
    assert_eq!(cube.program.inputs().len(), 1);
    assert_eq!(run(&cube, &[Value::scalar(2.0)]), "8.0");
    assert_eq!(code(make("power", &[], &[])), "E0216");
}

#[test]
fn functions_stay_inside() {
    assert_eq!(code(make("apply", &[], &[])), "E0218");
    assert_eq!(code(make("adder", &[], &[])), "E0218");
    assert_eq!(code(make("nothing", &[], &[])), "E0218");
}

#[test]
fn functions_are_listed() {
    let modules = load_text("test.ct", TEXT).expect("it loads");
    let loss = modules.functions().next().expect("one function");
    assert_eq!((loss.name, loss.doc), ("loss", Some("The loss of one example.")));
    assert_eq!(loss.signature, "def loss(p: Params[n], data: ([n]f64, f64))");
    assert_eq!(loss.params, [("p", "Params[n]"), ("data", "([n]f64, f64)")]);
    assert_eq!(modules.functions().count(), 6);
}
