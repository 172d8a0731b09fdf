//! Programs whose plans must hold contractions, with their values compared to the interpreter's.

use cotan_array::{Array, Dtype, Element};
use cotan_interp::{Mode, Value};
use cotan_ir::Program;
use cotan_nest::Step;
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_schedule::{Group, LoopOrder, Member, Schedule};
use cotan_syntax::{instantiate, load_text};
use cotan_testkit::{Equality, first_difference, run_program};

use crate::{Executable, RunLimits, host};

/// The definition `main` of a text, whose types have no size parameters, in bulk operations.
pub(super) fn program(text: &str) -> Program {
    let modules = load_text("test.ct", text).unwrap();
    let instance = instantiate(&modules, "main", &[], &[], &Default::default()).unwrap();
    Pipeline::new(&[Pass::BULK]).run(&instance.program).unwrap()
}

/// The contractions of a plan.
pub(super) fn count(plan: &Schedule) -> usize {
    let in_step = |step: &Step<Group<LoopOrder>>| match step {
        Step::Contract(_) => 1,
        Step::Compute(group) => {
            group.members.iter().filter(|member| matches!(member, Member::Contraction(_))).count()
        }
        _ => 0,
    };
    plan.steps.iter().map(in_step).sum()
}

/// How many contractions the plan of a program has. Its values must be those of the interpreter on
/// small integers.
fn contractions(program: &Program) -> usize {
    fn numbers<T: Element>(n: usize, of: impl Fn(i32) -> T) -> Vec<T> {
        (0..n).map(|k| of((k * 7 % 5) as i32 - 2)).collect()
    }
    let inputs: Vec<Array> = program
        .inputs()
        .iter()
        .map(|input| {
            let (shape, n) = (input.ty.shape.clone(), input.ty.shape.numel());
            match input.ty.dtype {
                Dtype::F32 => Array::from_vec(shape, numbers(n, |x| x as f32)).unwrap(),
                _ => Array::from_vec(shape, numbers(n, f64::from)).unwrap(),
            }
        })
        .collect();
    let values: Vec<Value> = inputs.iter().map(Value::from).collect();
    let expected = run_program(program, &values, Mode::Ieee).unwrap();
    let found = Executable::new(program).unwrap().run(&inputs, &RunLimits::default()).unwrap();
    let found: Vec<Value> = found.iter().map(Value::from).collect();
    if let Some(difference) = first_difference(&expected, &found, Equality::Bits) {
        panic!("{difference}\nof\n{program}");
    }
    let in_order = count(&Schedule::of(program, true, &host()).unwrap());
    assert_eq!(in_order, 0, "sums in order are no contractions");
    let found = count(&Schedule::of(program, false, &host()).unwrap());
    println!("{found} contractions in\n{program}");
    found
}

const PRODUCT: &str = "
def product(a: [m, k]f64, b: [k, n]f64): [m, n]f64 =
  build (m, n) ((i, j) => sum(build k (l => a[i, l] * b[l, j])))
";

#[test]
fn a_product_of_matrices() {
    let text = format!("{PRODUCT}def main(a: [9, 12]f64, b: [12, 7]f64) = product(a, b)");
    let value = program(&text);
    assert_eq!(contractions(&value), 1);
    // The value, and a product for each factor.
    assert_eq!(contractions(&derive(&value, Derivative::Vjp, None).unwrap()), 3);
    let text = format!(
        "{PRODUCT}def main(a: [9, 12]f64, b: [12, 7]f64, w: [9, 7]f64) = sum(sum(w * product(a, b)))"
    );
    let gradient = derive(&program(&text), Derivative::ValueAndGrad, Some(&[0, 1])).unwrap();
    assert_eq!(contractions(&gradient), 3);
}

#[test]
fn a_batched_product_in_single_precision() {
    let value = program(
        "def main(a: [5, 6, 8]f32, b: [5, 8, 10]f32): [5, 6, 10]f32 =
           build (5, 6, 10) ((p, i, j) => sum(build 8 (l => a[p, i, l] * b[p, l, j])))",
    );
    assert_eq!(contractions(&value), 1);
    assert_eq!(contractions(&derive(&value, Derivative::Vjp, None).unwrap()), 3);
}

#[test]
fn a_convolution_of_images() {
    let value = program(
        "def main(x: [3, 10, 11]f64, w: [4, 3, 3, 3]f64): [4, 8, 9]f64 =
           build (4, 8, 9) ((o, y, z) =>
             sum(build (3, 3, 3) ((c, p, q) => w[o, c, p, q] * x[c, y + p, z + q])))",
    );
    assert_eq!(contractions(&value), 1);
    assert_eq!(contractions(&derive(&value, Derivative::Vjp, None).unwrap()), 3);
}

#[test]
fn a_product_with_differences() {
    // The inner term of a mixture of Gaussians: Q_k (x_n - mu_k).
    let value = program(
        "def main(q: [5, 8, 8]f64, x: [20, 8]f64, mu: [5, 8]f64): [20, 5, 8]f64 =
           build (20, 5, 8) ((n, k, i) => sum(build 8 (j => q[k, i, j] * (x[n, j] - mu[k, j]))))",
    );
    assert_eq!(contractions(&value), 1);
    assert!(contractions(&derive(&value, Derivative::Vjp, None).unwrap()) >= 3);
}

#[test]
fn a_product_of_three_factors() {
    // The Hessian of a logistic regression: X' diag(w) X.
    let value = program(
        "def main(x: [40, 9]f64, w: [40]f64): [9, 9]f64 =
           build (9, 9) ((i, j) => sum(build 40 (n => x[n, i] * w[n] * x[n, j])))",
    );
    assert_eq!(contractions(&value), 1);
}

#[test]
fn factors_outside_of_the_sum() {
    let value = program(
        "def main(a: [9, 12]f64, b: [12, 7]f64, u: [9]f64, v: [7]f64): [9, 7]f64 =
           build (9, 7) ((i, j) =>
             sum(build 12 (l => -(u[i] * a[i, l]) * (b[l, j] * (v[j] + 1.0)) * 2.0)))",
    );
    assert_eq!(contractions(&value), 1);
    assert!(contractions(&derive(&value, Derivative::Vjp, None).unwrap()) >= 3);
}

#[test]
fn what_is_no_contraction() {
    for text in [
        // Everything depends on everything.
        "def main(x: [20, 9]f64, y: [30, 9]f64): [20, 30]f64 =
           build (20, 30) ((i, j) => sum(build 9 (k => (x[i, k] - y[j, k]) * (x[i, k] - y[j, k]))))",
        // Products of an array with itself, element by element.
        "def main(x: [20, 30]f64): [20]f64 = build 20 (i => sum(build 30 (j => x[i, j] * x[i, j])))",
        // An array of pairs would be made for a vector.
        "def main(x: [40]f64, q: [40]f64): [40]f64 =
           build 40 (i => sum(build 40 (j => (x[i] - x[j]) * q[j])))",
        // Integers.
        "def main(a: [9, 12]f64): [9, 9]f64 =
           build (9, 9) ((i, j) => f64(sum(build 12 (l => i64(a[i, l]) * i64(a[j, l])))))",
    ] {
        assert_eq!(contractions(&program(text)), 0, "{text}");
    }
}

/// A last block of one position may have its operands the other way round than the blocks before it.
#[test]
fn a_last_block_of_few_positions() {
    for rows in [4096, 4094, 1821] {
        let value = program(&format!(
            "def main(a: [{rows}, 8]f64, b: [{rows}, 5]f64) = matmul(transpose(a), abs(b))"
        ));
        let gradient = derive(&value, Derivative::Vjp, None).unwrap();
        assert_eq!(contractions(&gradient), 3, "{rows} rows");
    }
}
