//! What is written, as text; and what is refused.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use cotan_c::{Function, emit, plan};
use cotan_ir::{Limits, Program};
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_syntax::{ArgSpec, MemoryLoader, instantiate, load};

fn program(text: &str, sizes: &[(&str, usize)]) -> Program {
    let loader = MemoryLoader::new().with("model.ct", text);
    let modules = load("model.ct", &loader).unwrap();
    let count = modules.interface("f").unwrap().params.len();
    let args = vec![ArgSpec::Declared; count];
    instantiate(&modules, "f", &args, sizes, &Limits::default()).unwrap().program
}

fn optimised(program: &Program) -> Program {
    Pipeline::new(&[Pass::BULK, Pass::OPTIMISE]).run(program).unwrap()
}

/// A small function and its gradient: names, places in the source, the workspace, sums.
#[test]
fn a_small_function() {
    let source =
        program("def f(w: [n]f64, x: [n]f64) = sum((w - x) ** 2) + sum(exp(w))", &[("n", 4)]);
    let gradient = optimised(&derive(&source, Derivative::ValueAndGrad, Some(&[0])).unwrap());
    let value = optimised(&source);
    let plans = [plan(&value, true).unwrap(), plan(&gradient, true).unwrap()];
    let function = |name: &str, program, plan| Function {
        name: name.into(),
        program,
        plan,
        in_order: true,
        doc: String::from("An example."),
    };
    let files = emit(
        "model",
        &[function("f", &value, &plans[0]), function("f_grad", &gradient, &plans[1])],
    )
    .unwrap();
    insta::assert_snapshot!("header", files.header);
    // Without the runtime, which is long.
    let own = files.source.find("/* model.ct").unwrap();
    insta::assert_snapshot!("source", &files.source[own..]);
}

#[test]
fn names_are_refused_with_a_reason() {
    let program = optimised(&program("def f(x: f64) = x + 1.0", &[]));
    let plan = plan(&program, false).unwrap();
    let written = |names: &[&str]| {
        let function = |name: &&str| Function {
            name: (*name).into(),
            program: &program,
            plan: &plan,
            in_order: false,
            doc: String::new(),
        };
        let functions: Vec<Function<'_>> = names.iter().map(function).collect();
        emit("file", &functions).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(written(&["f", "g"]), Ok(()));
    for (names, part) in [
        (&["while"][..], "a word of C"),
        (&["class"], "a word of C or C++"),
        (&["main"], "where a C program begins"),
        (&["a b"], "no identifier"),
        (&["cotan_exp"], "reserved"),
        (&["f", "f"], "two functions are called `f`"),
    ] {
        let message = written(names).unwrap_err();
        assert!(message.contains(part), "{names:?}: {message}");
    }
}

/// Constants of every kind and size, infinities and NaN among them, names that are words of C, and
/// functions that need no workspace or no arguments, compile without warnings by both compilers.
#[test]
fn odd_programs_compile() {
    let texts = [
        "def f(double: f64, int: [3]f64) = double * sum(int)",
        "def f() = [1.0, -inf, inf, nan, -0.0, 1e-300]",
        "def f(x: [0]f64) = sum(x)",
        "def f(s: f64, l: [4]f64, j: [4]f64, row: [4]f64) = (s * sum(l * j), max(row))",
        "def f(x: [5]f64, k: i64) = (x[k], argmax(x), sort(x))",
        "def f(x: f32) = lgamma(x) + digamma(x) + sin(x)",
    ];
    for text in texts {
        let program = optimised(&program(text, &[]));
        for in_order in [true, false] {
            let plan = plan(&program, in_order).unwrap();
            let name = String::from("f0");
            let function =
                Function { name, program: &program, plan: &plan, in_order, doc: String::new() };
            let files = emit("batch", &[function]).unwrap();
            let main = "#include \"batch.h\"\nint main(void)\n{\n    return 0;\n}\n";
            for compiler in ["gcc", "clang"].into_iter().filter(|c| common::has(c)) {
                let folder = common::Folder::new();
                let built = common::build(&folder.0, &files, main, compiler, &["-O2"]);
                assert!(built.is_ok(), "{text}: {}", built.unwrap_err());
            }
        }
    }
}
