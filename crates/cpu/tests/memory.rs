//! What runs need besides inputs and results: gradients of products take memory for a few matrices,
//! not for parts of sums. The plans are made for large matrices and not run.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use cotan_cpu::Executable;
use cotan_ir::Program;
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_syntax::{instantiate, load_text};

fn source(text: &str) -> Program {
    let modules = load_text("test.ct", text).unwrap();
    instantiate(&modules, "main", &[], &[], &Default::default()).unwrap().program
}

#[test]
fn gradients_of_products() {
    let (n, m) = (1500, 1200);
    for body in [
        "sum(matmul(a, a))",
        "sum(tanh(matmul(a, a)))",
        "sum(matmul(a, transpose(a)))",
        "sum(matmul(a, transpose(a)) * matmul(a, transpose(a)))",
        "sum(square(matmul(transpose(a), a)))",
        "sum(square(matmul(a, a)))",
        "sum(matmul(matmul(a, a), a))",
        "dot(v, matmul(a, v))",
        "dot(v, matmul(transpose(a), matmul(a, v)))",
        "sum(square(matmul(a, matmul(a, v)) - v))",
        "sum(square(matmul(a, b) - c))",
        "sum(square(matmul(transpose(b), matmul(a, b))))",
        "sum(build (1500, 1500) ((i, j) => square(dot(a[i], a[j]))))",
        "sum(build (1500, 1500) ((i, j) => exp(-dot(a[i] - a[j], a[i] - a[j]))))",
    ] {
        let program = source(&format!(
            "def main(a: [{n}, {n}]f64, b: [{n}, {m}]f64, c: [{n}, {m}]f64, v: [{n}]f64) = {body}"
        ));
        for kind in [Derivative::ValueAndGrad, Derivative::Vjp] {
            let gradient = derive(&program, kind, None).unwrap();
            for passes in [&[Pass::BULK][..], &[Pass::BULK, Pass::OPTIMISE]] {
                let planned = Pipeline::new(passes).run(&gradient).unwrap();
                let needed = Executable::new(&planned).unwrap().workspace_bytes();
                // The product, its cotangent, the two terms of a gradient, an operand in another order.
                assert!(
                    needed <= 5 * 8 * n * n,
                    "{} MB for {body}:\n{planned}{}",
                    needed / 1_000_000,
                    Executable::new(&planned).unwrap().kernels(&planned)
                );
            }
        }
    }
}
