//! Large and deep programs: linear time, constant stack.
#![allow(clippy::expect_used, reason = "tests")]

mod common;

use common::{evaluate, on_small_stack};
use cotan_ir::Limits;
use cotan_syntax::{instantiate, load_text, parse_program};

#[test]
fn a_million_lets() {
    on_small_stack(|| {
        let mut text = String::from("def main(x0: f64) =\n");
        for k in 0..1_000_000 {
            text += &format!("  let x{} = sin(x{k}) + x{k}\n", k + 1);
        }
        text += "  in x1000000\n";
        let program = parse_program(&text).expect("it reads");
        assert_eq!(program.len(), 2_000_001);
    });
}

#[test]
fn the_derivative_of_a_long_chain() {
    on_small_stack(|| {
        let mut text = String::from("def f(x0: f64) =\n");
        for k in 0..20_000 {
            text += &format!("  let x{} = sin(x{k}) + x{k}\n", k + 1);
        }
        text += "  in x20000\ndef main(x: f64) = (grad(f)(x), grad(grad(f))(x))\n";
        let modules = load_text("chain.ct", &text).expect("it loads");
        let made = instantiate(&modules, "main", &[], &[], &Limits::default()).expect("it is made");
        let size = made.program.normalised().expect("it is a program").len();
        assert!(size < 40 * 20_000, "{size}");
    });
}

#[test]
fn a_sum_of_a_hundred_thousand_terms() {
    on_small_stack(|| {
        let terms = vec!["x"; 100_000].join(" + ");
        let program = parse_program(&format!("def main(x: f64) = {terms}")).expect("it reads");
        assert_eq!(program.len(), 100_000);
    });
}

#[test]
fn the_deepest_nesting_that_parses() {
    on_small_stack(|| {
        let text = format!("{}x{}", "sin(".repeat(250), ")".repeat(250));
        parse_program(&format!("def main(x: f64) = {text}")).expect("it reads");
        let nested = format!("{}x{}", "(y => (x => ".repeat(60), ")(x))(x)".repeat(60));
        parse_program(&format!("def main(x: f64) = {nested}")).expect("it reads");
    });
}

#[test]
fn deep_recursion_that_ends() {
    on_small_stack(|| {
        let text =
            "def count(n: i64): i64 = if n == 0 then 0 else 1 + (1 + (1 + (1 + count(n - 1))))";
        assert_eq!(evaluate::value(text, "count(900)"), "3600");
    });
}

#[test]
fn recursion_without_end_is_an_error() {
    on_small_stack(|| {
        assert_eq!(evaluate::code("def f(x: f64): f64 = f(x) + f(x)", "f(1.0)"), "E0216");
        assert_eq!(
            evaluate::code(
                "def f(x: f64): f64 = if x > 0.0 then f(x - 1) else x",
                "sum(map(f, [1.0]))"
            ),
            "E0216"
        );
        // Few nodes, but exponentially many calls.
        let text = "def f(n: i64, x: f64): f64 = if n == 0 then x else f(n - 1, x) + f(n - 1, x)";
        let modules = load_text("test.ct", &format!("{text} def main(x: f64) = f(100, x)"))
            .expect("it loads");
        let limits = Limits { max_nodes: 100_000, ..Limits::default() };
        let failure = instantiate(&modules, "main", &[], &[], &limits).expect_err("too many steps");
        assert_eq!(failure.diagnostics.error_count(), 1);
        assert_eq!(failure.diagnostics.iter().next().expect("one").code.to_string(), "E0217");
    });
}

#[test]
fn growing_structures_are_stopped() {
    on_small_stack(|| {
        let chain = |step: &str| {
            let mut text = String::from("let t0 = 1.0 ");
            for k in 0..20_000 {
                text += &format!("let t{} = {} ", k + 1, step.replace('@', &format!("t{k}")));
            }
            text + "in 0.0"
        };
        for step in ["(@,)", "(@, @)", "{a = @}", "x => (@, x)", "x => @"] {
            assert_eq!(evaluate::code("", &chain(step)), "E0217", "{step}");
        }
        let mut types = String::from("type T0 = f64 ");
        for k in 0..40 {
            types += &format!("type T{} = (T{k}, T{k}) ", k + 1);
        }
        assert_eq!(evaluate::code(&types, "let x: T40 = 1.0 in x"), "E0217");
        assert_eq!(evaluate::code("type A = B type B = (A, A)", "let x: A = 1.0 in x"), "E0107");
    });
}
