//! What the tests share: passes and runs with readable errors, and points to differentiate at.

use std::fmt::Display;

use cotan_bot::{Options, bulk};
use cotan_interp::{Mode, Value};
use cotan_ir::scalar::Scalar;
use cotan_ir::{Builder, Copier, Node, Output, Program, Scopes, TermId, Type};
use cotan_syntax::{instantiate, load_text};
use cotan_testkit::{Config, InputKind, Rng, generate, run_program, shrink, value_of};

/// What a test says when it fails.
pub type Checked<T = ()> = Result<T, String>;

/// An error as text.
pub fn text(error: impl Display) -> String {
    error.to_string()
}

/// The program without `build`.
pub fn bulked(program: &Program) -> Checked<Program> {
    let (made, _) = bulk(program, &Options::default()).map_err(text)?;
    Ok(made)
}

/// The program, if it is well formed.
pub fn checked(program: cotan_ir::Result<Program>) -> Checked<Program> {
    let program = program.map_err(text)?;
    match program.check() {
        Ok(()) => Ok(program),
        Err(error) => Err(format!("{error}\n{program}")),
    }
}

/// The results of a program.
pub fn run(program: &Program, inputs: &[Value], mode: Mode) -> Checked<Vec<Value>> {
    run_program(program, inputs, mode).map_err(|e| format!("{e}\n{program}"))
}

/// The elements of a value.
pub fn elements(value: &Value) -> Vec<Scalar> {
    value.elements().to_vec()
}

/// The elements of a value of floats.
pub fn floats(value: &Value) -> Vec<f64> {
    value
        .elements()
        .iter()
        .map(|x| match *x {
            Scalar::F64(x) => x,
            Scalar::F32(x) => f64::from(x),
            Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => panic!("{x:?} is no float"),
        })
        .collect()
}

/// Zeros of a type.
pub fn zeros(ty: &Type, mode: Mode) -> Value {
    let zero = Scalar::zero(ty.dtype, mode == Mode::Field);
    Value::from_fn(ty.clone(), |_| zero).expect("zeros")
}

/// The types of a program's outputs.
pub fn output_types(program: &Program) -> Vec<Type> {
    program.outputs().iter().map(|o| program.ty(o.term).clone()).collect()
}

/// The types of a program's inputs.
pub fn input_types(program: &Program) -> Vec<Type> {
    program.inputs().iter().map(|i| i.ty.clone()).collect()
}

/// Where and along what to differentiate a program.
#[derive(Clone)]
pub struct Point {
    /// A value for each input.
    pub inputs: Vec<Value>,
    /// A tangent for each float input.
    pub tangents: Vec<Value>,
    /// A cotangent for each float output.
    pub cotangents: Vec<Value>,
}

impl Point {
    /// A random point.
    pub fn random(program: &Program, rng: &mut Rng, kind: InputKind) -> Checked<Point> {
        let mut values = |types: Vec<Type>, floats: bool| -> Checked<Vec<Value>> {
            let wanted = types.iter().filter(|ty| !floats || ty.dtype.is_float());
            wanted.map(|ty| value_of(ty, rng, kind).map_err(text)).collect()
        };
        Ok(Point {
            inputs: values(input_types(program), false)?,
            tangents: values(input_types(program), true)?,
            cotangents: values(output_types(program), true)?,
        })
    }
}

/// The body of `program` in `b`, with terms for its inputs: the images of its outputs.
pub fn inline(
    b: &mut Builder,
    program: &Program,
    inputs: &[TermId],
) -> cotan_ir::Result<Vec<TermId>> {
    let scopes = Scopes::new(program);
    let mut copier = Copier::new(program, &scopes);
    for t in program.terms() {
        if let Node::Input(k) = program.node(t) {
            copier.set(t, inputs[*k as usize]);
        }
    }
    copier.scope(b, scopes.top())?;
    program.outputs().iter().map(|o| copier.image(o.term)).collect()
}

/// Declares the inputs of `program` in `b`.
pub fn declare(b: &mut Builder, program: &Program) -> cotan_ir::Result<Vec<TermId>> {
    program.inputs().iter().map(|i| b.input(i.name.clone(), i.ty.clone())).collect()
}

/// A program with one output.
pub fn one(b: Builder, term: TermId) -> Program {
    b.finish_one(term).expect("a program")
}

/// Outputs without names.
pub fn unnamed(terms: impl IntoIterator<Item = TermId>) -> Vec<Output> {
    terms.into_iter().map(|term| Output { name: String::new(), term }).collect()
}

/// Generates a program and checks a property of it; what fails is shrunk.
pub fn on_random_program(
    config: &Config,
    rng: &mut Rng,
    property: impl Fn(&Program, &mut Rng) -> Checked,
) -> Checked {
    let program = generate(config, rng).map_err(text)?;
    let data = rng.fork();
    if property(&program, &mut data.clone()).is_ok() {
        return Ok(());
    }
    let smallest = shrink(&program, 2000, |p| property(p, &mut data.clone()).is_err());
    property(&smallest, &mut data.clone()).map_err(|e| format!("{e}\nin\n{smallest}"))
}

/// The function `f` of a text at given sizes, as a program of bulk operations.
pub fn function(text: &str, sizes: &[(&str, usize)]) -> Program {
    let modules = load_text("test.ct", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let made = instantiate(&modules, "f", &[], sizes, &Default::default());
    bulked(&made.unwrap_or_else(|e| panic!("{e}\n{text}")).program).expect("bulk operations")
}

/// A vector.
pub fn vector(xs: &[f64]) -> Value {
    Value::of(&[xs.len()], xs.to_vec()).expect("a vector")
}

/// The results of a derivative of a program over floats, each as a list of numbers.
pub fn numbers_of(program: cotan_ir::Result<Program>, inputs: &[Value]) -> Vec<Vec<f64>> {
    let program = checked(program).expect("a derivative");
    run(&program, inputs, Mode::Ieee).expect("a run").iter().map(floats).collect()
}
