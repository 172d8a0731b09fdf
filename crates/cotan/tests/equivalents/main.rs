//! `docs/from-horde-ad.md` and `docs/from-jax.md` are true: every entry of their tables is compiled,
//! and entries of the two languages in one row have the same value. (Their examples in Rust are
//! doctests of the library.)
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod names;
mod tables;
mod vars;

use std::cell::RefCell;

use cotan::prelude::*;
use cotan_interp::Interp;
use cotan_syntax::{Modules, builtins, instantiate, load_text};
use vars::{Concrete, FUNCTIONS, PARAMETERS, Same, Staged};

/// The tables as Rust.
#[allow(clippy::all, unused, reason = "made of the documents")]
mod entries {
    use crate::vars::{Concrete, Same, Staged, Vars, f, g};
    use cotan::optim::Optimizer as _;
    use cotan::prelude::*;
    use cotan::{eager, optim, random, structure};

    pub mod horde_ad {
        use super::*;
        include!("from-horde-ad.in");
    }

    pub mod jax {
        use super::*;
        include!("from-jax.in");
    }
}

/// A document, with the functions made of it.
struct Document {
    text: &'static str,
    path: &'static str,
    made: &'static str,
    inside: fn(Staged, &mut Same),
    outside: fn(Concrete) -> cotan::Result<()>,
}

const HORDE_AD: Document = Document {
    text: include_str!("../../../../docs/from-horde-ad.md"),
    path: "docs/from-horde-ad.md",
    made: "from-horde-ad.in",
    inside: entries::horde_ad::inside,
    outside: entries::horde_ad::outside,
};

const JAX: Document = Document {
    text: include_str!("../../../../docs/from-jax.md"),
    path: "docs/from-jax.md",
    made: "from-jax.in",
    inside: entries::jax::inside,
    outside: entries::jax::outside,
};

#[test]
fn the_entries_are_those_of_the_documents() {
    for document in [HORDE_AD, JAX] {
        let path = format!("{}/tests/equivalents/{}", env!("CARGO_MANIFEST_DIR"), document.made);
        let made = tables::as_rust(document.text, document.path);
        if std::env::var_os("COTAN_BLESS").is_some() {
            std::fs::write(&path, &made).unwrap();
            continue;
        }
        let held = std::fs::read_to_string(&path).unwrap();
        assert!(held == made, "{path} is out of date, run with COTAN_BLESS=1");
    }
}

/// The shape and the elements of an array.
#[derive(Debug)]
struct Elements(Vec<usize>, Vec<f64>);

impl Elements {
    /// Equal but for rounding.
    fn agree(&self, other: &Elements) -> bool {
        let close = |(a, b): (&f64, &f64)| {
            a == b || (a - b).abs() <= 1e-12 * a.abs().max(b.abs()) || a.is_nan() && b.is_nan()
        };
        self.0 == other.0 && self.1.iter().zip(&other.1).all(close)
    }
}

impl<T: Element> From<&Tensor<T>> for Elements {
    fn from(tensor: &Tensor<T>) -> Elements {
        let elements = tensor.iter().map(|x| {
            let any: &dyn std::any::Any = &x;
            let float = any.downcast_ref::<f64>().copied();
            let single = any.downcast_ref::<f32>().map(|&x| f64::from(x));
            let integer = any.downcast_ref::<i64>().map(|&x| x as f64);
            let truth = any.downcast_ref::<bool>().map(|&x| f64::from(u8::from(x)));
            float.or(single).or(integer).or(truth).expect("an element type")
        });
        Elements(tensor.shape().to_vec(), elements.collect())
    }
}

/// The expressions of the text language with the values that Rust gives them.
fn rust_values(document: &Document) -> Vec<(&'static str, Vec<Elements>)> {
    let texts = RefCell::new(Vec::new());
    let all = |vars: Staged| {
        let mut same = Same::default();
        (document.inside)(vars, &mut same);
        texts.replace(same.texts);
        same.arrays
    };
    let values = jit(all).call(&vars::concrete().unwrap()).unwrap_or_else(|e| panic!("{e}"));
    let mut values = values.iter().map(Elements::from);
    let texts = texts.into_inner();
    texts.into_iter().map(|(text, n)| (text, values.by_ref().take(n).collect())).collect()
}

/// The functions of the tables, others, and an expression as `main`.
fn modules(others: &str, expression: &str) -> Modules {
    let main =
        format!("def main({PARAMETERS}) =\n  let p = (x, a)\n  let q = (y, b)\n  in {expression}");
    let text = format!("{FUNCTIONS}{others}\n{main}\n");
    load_text("entry.ct", &text).unwrap_or_else(|e| panic!("{e}"))
}

/// The value of an expression of the text language.
fn text_value(others: &str, expression: &str) -> Vec<Elements> {
    let modules = modules(others, expression);
    let instance = instantiate(&modules, "main", &[], &[], &Default::default());
    let program = instance.unwrap_or_else(|e| panic!("{e}")).program;
    let inputs = vars::arrays(&vars::concrete().unwrap());
    let run = Interp::new(&program).run(&inputs).unwrap();
    let elements = |value: &cotan_interp::Value| {
        let array = value.to_array().unwrap();
        let float = Tensor::<f64>::from_array(array.clone()).map(|t| Elements::from(&t));
        let single = Tensor::<f32>::from_array(array.clone()).map(|t| Elements::from(&t));
        let integer = Tensor::<i64>::from_array(array.clone()).map(|t| Elements::from(&t));
        let truth = Tensor::<bool>::from_array(array).map(|t| Elements::from(&t));
        float.or(single).or(integer).or(truth).unwrap()
    };
    run.outputs.iter().map(elements).collect()
}

#[test]
fn the_two_columns_have_the_same_values() {
    let mut compared = 0;
    for document in [HORDE_AD, JAX] {
        for (text, rust) in rust_values(&document) {
            compared += 1;
            let value = text_value("", text);
            let agree = value.len() == rust.len();
            let agree = agree && value.iter().zip(&rust).all(|(a, b)| a.agree(b));
            assert!(agree, "{}: `{text}` is {value:?}, in Rust {rust:?}", document.path);
        }
    }
    assert!(compared > 100, "only {compared} entries found");
}

#[test]
fn entries_outside_of_functions_run() {
    for document in [HORDE_AD, JAX] {
        let ran = (document.outside)(vars::concrete().unwrap());
        ran.unwrap_or_else(|e| panic!("{}: {e}", document.path));
    }
}

#[test]
fn entries_of_the_text_language_are_expressions_of_its_builtins() {
    let mut entries = 0;
    for row in tables::rows(HORDE_AD.text) {
        for text in row.text {
            text_value("", &text);
            entries += 1;
            for name in tables::called(&text) {
                let known = builtins().iter().any(|builtin| builtin.name == name);
                assert!(known || ["f", "g"].contains(&name), "`{name}` in `{text}`");
            }
        }
    }
    assert!(entries > 100, "only {entries} entries found");
}

#[test]
fn examples_of_the_text_language_have_the_values_shown() {
    let mut examples = 0;
    for document in [HORDE_AD, JAX] {
        for block in tables::blocks(document.text, "ct") {
            let lines = block.lines();
            for (line, next) in lines.clone().zip(lines.skip(1)) {
                let Some(expression) = line.strip_prefix("#> ") else { continue };
                let shown = next.strip_prefix("#= ").unwrap_or_else(|| panic!("{block}"));
                let (is, should) = (text_value(block, expression), text_value("", shown));
                let agree = is.iter().zip(&should).all(|(a, b)| a.agree(b));
                assert!(agree && is.len() == should.len(), "{expression} is {is:?}, not {shown}");
                examples += 1;
            }
        }
    }
    assert!(examples > 0);
}

#[test]
fn every_operation_of_horde_ad_is_listed() {
    let rows = tables::rows(HORDE_AD.text);
    let listed: Vec<String> = rows
        .iter()
        .flat_map(|row| &row.theirs)
        .flat_map(|name| tables::written_out(name))
        .collect();
    for name in names::exported() {
        assert!(listed.contains(&name), "`{name}` is missing");
    }
    for name in &listed {
        let times = listed.iter().filter(|other| *other == name).count();
        assert_eq!(times, 1, "`{name}` is listed more than once");
    }
}
