//! Expressions to values: elaborated, run by the interpreter, and shown on one line.

use cotan_interp::{Interp, Value};
use cotan_ir::scalar::Scalar;
use cotan_syntax::{Failure, Instance, Loader, Modules, TypeTree, instantiate, load_text};

/// The value of an expression among the declarations of `text`, on one line; or the messages.
pub fn value(text: &str, expr: &str) -> String {
    match load_text("test.ct", &with_it(text, expr)).and_then(|modules| it(&modules)) {
        Ok(instance) => run(&instance, &[]),
        Err(failure) => failure.to_string(),
    }
}

/// The value of an expression among the declarations of `text`, which may import files.
pub fn value_with(text: &str, expr: &str, files: cotan_syntax::MemoryLoader) -> String {
    let loader: &dyn Loader = &files.with("test.ct", with_it(text, expr));
    match cotan_syntax::load("test.ct", loader).and_then(|modules| it(&modules)) {
        Ok(instance) => run(&instance, &[]),
        Err(failure) => failure.to_string(),
    }
}

/// The first code among the messages about an expression, or `ok`.
pub fn code(text: &str, expr: &str) -> String {
    match load_text("test.ct", &with_it(text, expr)).and_then(|modules| it(&modules)) {
        Ok(_) => "ok".to_owned(),
        Err(failure) => {
            failure.diagnostics.iter().next().map_or("?".into(), |d| d.code.to_string())
        }
    }
}

/// The program of an expression.
pub fn program(text: &str, expr: &str) -> String {
    match load_text("test.ct", &with_it(text, expr)).and_then(|modules| it(&modules)) {
        Ok(instance) => instance.program.to_string(),
        Err(failure) => failure.to_string(),
    }
}

fn with_it(text: &str, expr: &str) -> String {
    format!("{text}\ndef it() = {expr}\n")
}

fn it(modules: &Modules) -> Result<Instance, Failure> {
    instantiate(modules, "it", &[], &[], &Default::default())
}

/// The result of a program at the given inputs, on one line.
pub fn run(instance: &Instance, inputs: &[Value]) -> String {
    assert_eq!(instance.program.check(), Ok(()), "{}", instance.program);
    let run = Interp::new(&instance.program).run(inputs).expect("the program runs");
    show(&instance.result, &mut run.outputs.iter())
}

fn show<'v>(tree: &TypeTree, leaves: &mut impl Iterator<Item = &'v Value>) -> String {
    match tree {
        TypeTree::Array(_) => {
            leaves.next().map_or("?".into(), |v| array(v.shape().dims(), v.elements()))
        }
        TypeTree::Tuple(items) => {
            let items: Vec<String> = items.iter().map(|item| show(item, leaves)).collect();
            format!("({})", items.join(", "))
        }
        TypeTree::Record(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, field)| format!("{name} = {}", show(field, leaves)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
    }
}

fn array(dims: &[usize], elements: &[Scalar]) -> String {
    let Some((&k, inner)) = dims.split_first() else {
        return match elements.first() {
            Some(Scalar::F64(x)) => format!("{x:?}"),
            Some(Scalar::F32(x)) => format!("{x:?}f32"),
            Some(Scalar::I64(x)) => x.to_string(),
            Some(Scalar::Bool(x)) => x.to_string(),
            other => format!("{other:?}"),
        };
    };
    let part = inner.iter().product::<usize>();
    let parts: Vec<String> = (0..k)
        .map(|i| array(inner, elements.get(i * part..(i + 1) * part).unwrap_or(&[])))
        .collect();
    format!("[{}]", parts.join(", "))
}
