//! What modules look like: the operations that programs become, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod common;

use common::optimised;
use cotan_ir::Program;
use cotan_pipeline::Derivative;
use cotan_stablehlo::{Options, Sharding, export};
use cotan_syntax::parse_program;
use cotan_testkit::{bulk, derived};

fn program(text: &str) -> Program {
    let program = parse_program(text).unwrap_or_else(|_| panic!("{text} does not parse"));
    optimised(&bulk(&program).unwrap()).unwrap()
}

fn gradient(text: &str) -> Program {
    let program = parse_program(text).unwrap_or_else(|_| panic!("{text} does not parse"));
    optimised(&derived(&program, Derivative::ValueAndGrad).unwrap()).unwrap()
}

fn module(program: &Program) -> String {
    export(program, &Options::default()).unwrap()
}

#[test]
fn a_module() {
    insta::assert_snapshot!(module(&program(
        "def main(x: [3]f64, y: [3]f64) =\n  sum(build 3 (i => x[i] * exp(y[2 - i])))"
    )), @r#"
    module @cotan {
      func.func public @main(
        %arg0: tensor<3xf64>, // x
        %arg1: tensor<3xf64> // y
      ) -> (tensor<f64>) {
        %1 = stablehlo.constant dense<2> : tensor<i64> // program:2:34
        %2 = stablehlo.reverse %arg1, dims = [0] : tensor<3xf64> // program:2:32
        %3 = stablehlo.exponential %2 : tensor<3xf64> // program:2:28
        %4 = stablehlo.multiply %arg0, %3 : tensor<3xf64> // program:2:21
        %5 = stablehlo.constant dense<0.0e0> : tensor<f64> // program:2:3
        %6 = stablehlo.reduce(%4 init: %5) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64> // program:2:3
        return %6 : tensor<f64>
      }
    }
    "#);
}

#[test]
fn the_gradient_of_a_matrix_product() {
    let text = "def main(a: [4, 5]f64, b: [5, 6]f64, c: [4, 6]f64) =
        sum(build (4, 6) ((i, j) => c[i, j] * sum(build 5 (k => a[i, k] * b[k, j]))))";
    let products = |options: &Options| {
        let module = export(&gradient(text), options).unwrap();
        (module.matches("dot_general").count(), module.matches("stablehlo.if").count())
    };
    // Of so few products none is worth a call of its own, nor a look through its result.
    assert_eq!(products(&Options::default()), (0, 0));
    // The second function has the product of the value.
    let all = Options { small_products: 0, ..Options::default() };
    assert_eq!(products(&all), (4, 1));
    assert_eq!(products(&Options { assume_finite: true, ..all }), (3, 0));
}

#[test]
fn sums_of_products_fall_apart() {
    let text = "def main(a: [14, 15]f64, b: [15, 16]f64, c: [14, 15]f64, d: [15, 16]f64) =
        build (14, 16) ((i, j) => sum(build 15 (k => a[i, k] * b[k, j] - c[i, k] * d[k, j])))";
    let module = module(&program(text));
    assert_eq!(module.matches("dot_general").count(), 2, "{module}");
    assert!(!module.contains("stablehlo.reduce"), "{module}");
}

#[test]
fn folds_are_reductions() {
    let folded = module(&program("def main(x: [7, 30]f64) = build 7 (i => logsumexp(x[i]))"));
    assert!(!folded.contains("stablehlo.while"), "{folded}");
    assert!(folded.contains("applies stablehlo.maximum"), "{folded}");
}

#[test]
fn rows_at_positions_are_read_and_written_whole() {
    let text = "def main(x: [9, 3]f64, k: [4]i64) = sum(build (4, 3) ((i, j) => exp(x[k[i], j])))";
    let gradient = module(&gradient(text));
    assert!(gradient.contains("slice_sizes = array<i64: 1, 3>"), "{gradient}");
    assert!(gradient.contains("update_window_dims = [1]"), "{gradient}");
}

#[test]
fn affine_reads_are_views() {
    let views = |text: &str, wanted: &[&str]| {
        let module = module(&program(text));
        assert!(!module.contains("stablehlo.gather\""), "{module}");
        for operation in wanted {
            assert!(module.contains(operation), "no {operation} in\n{module}");
        }
    };
    views("def main(x: [9]f64) = build 4 (i => x[2 * i + 1])", &["slice %arg0 [1:8:2]"]);
    views("def main(x: [9]f64) = build 9 (i => x[8 - i])", &["reverse"]);
    views("def main(x: [9]f64) = build 9 (i => x[i - 1])", &["pad", "low = [1]"]);
    views("def main(x: [2, 3]f64) = build (3, 2) ((i, j) => x[j, i])", &["transpose"]);
    views("def main(x: [3]f64) = build (2, 3) ((i, j) => x[j])", &["broadcast_in_dim"]);
    views("def main(x: [6]f64) = build (2, 3) ((i, j) => x[3 * i + j])", &["reshape"]);
    views("def main(x: [9]f64) = build (7, 3) ((i, j) => x[i + j])", &["concatenate"]);
}

#[test]
fn gradients_of_affine_reads_are_padded() {
    for text in [
        "def main(x: [9]f64) = sum(build 4 (i => exp(x[2 * i + 1])))",
        "def main(x: [9]f64) = sum(build (7, 3) ((i, j) => exp(x[i + j])))",
        "def main(x: [3, 4]f64) = sum(build 3 (i => exp(x[i, 2])))",
    ] {
        let parsed = parse_program(text).unwrap_or_else(|_| panic!("{text} does not parse"));
        let module = module(&derived(&parsed, Derivative::ValueAndGrad).unwrap());
        assert!(!module.contains("stablehlo.scatter\""), "{module}");
    }
}

#[test]
fn shardings_are_written_and_checked() {
    let text = "def main(x: [8, 3]f64, w: [3]f64) = sum(x * w, axis = 1)";
    let with = |mesh: &[(&str, usize)], arrays: &[(&str, &[(&str, usize)])]| {
        let own = |cuts: &[(&str, usize)]| -> Vec<(String, usize)> {
            cuts.iter().map(|&(axis, k)| (axis.to_owned(), k)).collect()
        };
        let arrays = arrays.iter().map(|&(name, cuts)| (name.to_owned(), own(cuts))).collect();
        let sharding = Sharding { mesh: own(mesh), arrays, replicate_rest: false };
        let options = Options { sharding: Some(sharding), ..Options::default() };
        export(&program(text), &options).map_err(|e| e.to_string())
    };
    let module = with(&[("batch", 4)], &[("x", &[("batch", 0)])]).unwrap();
    assert!(module.contains("sdy.mesh @mesh = <[\"batch\"=4]>"), "{module}");
    assert!(
        module.contains(
            "%arg0: tensor<8x3xf64> {sdy.sharding = #sdy.sharding<@mesh, [{\"batch\"}, {}]>}"
        ),
        "{module}"
    );
    assert!(module.contains("%arg1: tensor<3xf64> //"), "{module}");
    for (mesh, array, message) in [
        (("batch", 3), ("x", ("batch", 0)), "cannot be cut into 3 parts"),
        (("batch", 4), ("x", ("model", 0)), "no axis `model`"),
        (("batch", 4), ("x", ("batch", 2)), "`x` has no axis 2"),
        (("batch", 4), ("y", ("batch", 0)), "no input or output `y`"),
        (("batch", 0), ("x", ("batch", 0)), "no axis of a mesh"),
    ] {
        let error = with(&[mesh], &[(array.0, &[array.1])]).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}

/// Of the distances to all centres the gradient needs those to the nearest: these are computed of the
/// points and centres at their positions, and no array of all differences is kept for it. The nearest
/// distance itself has been found with its position.
#[test]
fn few_elements_are_read_of_the_operands() {
    let module = module(&gradient(
        "def main(c: [3, 8]f64, x: [100, 8]f64) =
  sum(build 100 (i => min(build 3 (j => sum(build 8 (l => (x[i, l] - c[j, l]) ** 2))))))",
    ));
    let gathers: Vec<&str> =
        module.lines().filter(|line| line.contains("stablehlo.gather")).collect();
    assert!(!gathers.is_empty(), "{module}");
    for line in gathers {
        assert!(line.contains(": (tensor<3x8xf64>, "), "{line}");
    }
}

/// A chain of operations is a loop here, not a recursion, and so are conditions within conditions.
#[test]
fn deep_programs_need_no_stack() {
    let mut b = cotan_ir::Builder::new();
    let ty = cotan_ir::Type::scalar(cotan_array::Dtype::F64);
    let x = b.input("x", ty).unwrap();
    let mut y = x;
    for _ in 0..20_000 {
        let holds = b.op(cotan_ir::scalar::Op::Lt, &[y, x]).unwrap();
        let next = b.op(cotan_ir::scalar::Op::Sin, &[y]).unwrap();
        y = b.cond(holds, next, x).unwrap();
    }
    let program = b.finish_one(y).unwrap();
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let text = small.spawn(move || module(&program)).unwrap().join().unwrap();
    assert!(text.lines().count() > 60_000);
}
