//! What the rules of `CompileOptions` change: time and memory, but no result.

use cotan::{CompileOptions, Compiled, RunOptions, Tensor, prelude::*};

/// The size of a state.
const N: usize = 64;
const STEPS: usize = 20;

/// States that products with a matrix make of each other; elements are small, so they stay so.
fn recurrent(w: Arr<f64>, xs: Arr<f64>) -> Arr<f64> {
    let last = fold(zeros([N]), xs, |h: Arr<f64>, x: Arr<f64>| (w.matmul(h) + x).tanh());
    (last * last).sum()
}

fn arguments() -> (Tensor<f64>, Tensor<f64>) {
    let some = |n: usize| ((n * 7919 % 1009) as f64 - 504.0) / 5000.0;
    let w = Tensor::from_fn([N, N], |i| some(N * i[0] + i[1])).unwrap();
    let xs = Tensor::from_fn([STEPS, N], |i| some(31 * i[0] + 3 * i[1])).unwrap();
    (w, xs)
}

type Gradient = Compiled<(Arr<f64>, Arr<f64>), (Arr<f64>, Arr<f64>)>;

/// Whether two functions give the same, up to the rounding of sums.
fn assert_same(one: &Gradient, other: &Gradient) {
    let ((a, u), (b, v)) = (one.call(arguments()).unwrap(), other.call(arguments()).unwrap());
    let pairs = [(a.to_vec(), b.to_vec()), (u.to_vec(), v.to_vec())];
    assert!(pairs[1].0.iter().any(|x| x.abs() > 1e-3), "nothing to compare");
    for (a, b) in pairs.iter().flat_map(|(a, b)| a.iter().zip(b)) {
        assert!((a - b).abs() <= 1e-12 * (1.0 + a.abs()), "{a} and {b}");
    }
}

#[test]
fn what_loops_store_costs_memory_and_spares_operations() {
    let stored: Gradient = value_and_grad(recurrent).compile(([N, N], [STEPS, N])).unwrap();
    let defaults = CompileOptions::default();
    assert!(defaults.store && !CompileOptions::none().store);
    let again = stored.recompiled(CompileOptions { store: false, ..defaults }).unwrap();
    assert_same(&stored, &again);
    assert_same(&stored, &stored.recompiled(CompileOptions::none()).unwrap());
    assert_eq!(stored.recompiled(defaults).unwrap().cost(), stored.cost());
    // A product with the matrix for each step: one operation each to multiply and to add.
    let (cost, without) = (stored.cost(), again.cost());
    let spared = (2 * STEPS * N * N) as u64;
    assert!(cost.operations + spared * 9 / 10 <= without.operations, "{cost}; {without}");
    // A vector for each step, and little besides; the interpreter's peak is elsewhere.
    if std::env::var("COTAN_BACKEND").is_ok_and(|backend| backend == "interp") {
        return;
    }
    let states = (STEPS * N * size_of::<f64>()) as u64;
    let more = cost.peak_bytes.saturating_sub(without.peak_bytes);
    assert!((states / 2..=2 * states).contains(&more), "{cost}; {without}");
}

/// Whether a machine with a plan of its memory runs functions here.
fn is_planned() -> bool {
    !std::env::var("COTAN_BACKEND").is_ok_and(|backend| backend == "interp")
}

#[test]
fn products_of_large_matrices_take_the_memory_of_matrices() {
    for n in [2100, 3000, 100_000] {
        let product =
            compile(|a: Arr<f64>, b: Arr<f64>| a.matmul(b), ([n, n], [n, n])).unwrap().cost();
        let gradient = grad(|a: Arr<f64>, b: Arr<f64>| a.matmul(b).sum());
        let gradient = gradient.compile(([n, n], [n, n])).unwrap().cost();
        let matrix = (n * n * size_of::<f64>()) as u64;
        if is_planned() {
            assert!(product.peak_bytes < 4 * matrix, "{n}: {product}");
            assert!(gradient.peak_bytes < 6 * matrix, "{n}: {gradient}");
        }
    }
}

#[test]
fn memory_is_limited_before_anything_is_made() {
    let rows = 1 << 36;
    let rows_of = compile(|x: Arr<f64>| x.broadcast_to([rows]), ()).unwrap();
    let limit = RunOptions { max_bytes: Some(1 << 30), ..RunOptions::default() };
    let error = rows_of.call_with(&limit, 1.0).unwrap_err();
    let needed =
        format!("needs {} bytes at once; the limit is 1073741824", rows_of.cost().peak_bytes);
    assert!(error.message().contains(&needed), "{error}");
    assert_eq!(error.hint(), Some("raise `max_bytes`, or call it with smaller arrays"));
}
