//! Deep programs in a small stack.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

use cotan_bot::{Options, bulk, normal_form};
use cotan_ir::Program;
use cotan_testkit::families::FAMILIES;

/// Runs a test in a stack of 2 MiB, which no recursion over a million nodes survives.
fn in_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    thread.spawn(test).expect("a thread").join().expect("the test");
}

fn transform(name: &str, n: usize) -> Program {
    let family = FAMILIES.iter().find(|family| family.name == name).expect("a family");
    let program = family.program(n).expect("a program");
    let (result, _) = bulk(&program, &Options::default()).expect("a result");
    normal_form(&result).expect("a normal form");
    result
}

#[test]
fn a_chain_of_a_million_nodes_inside_a_build() {
    in_small_stack(|| {
        let result = transform("chain inside a build", 1_000_000);
        assert!(result.len() >= 1_000_000);
    });
}

#[test]
fn diamonds_100_000_deep() {
    in_small_stack(|| {
        let result = transform("diamonds", 100_000);
        assert!((100_000..200_000).contains(&result.len()));
    });
}

#[test]
fn an_index_travels_through_100_000_operations() {
    in_small_stack(|| {
        let result = transform("index at the end of a chain", 100_000);
        assert!((100_000..600_000).contains(&result.len()));
        transform("a chain of gathers", 100_000);
        transform("a chain of transpositions", 100_000);
    });
}

#[test]
fn a_chain_inside_a_loop_inside_a_build() {
    in_small_stack(|| {
        transform("a chain inside a loop inside a build", 100_000);
    });
}
