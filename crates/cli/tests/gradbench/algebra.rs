//! `det`.

use serde_json::json;

use super::complex::{Complex, Number, gradient, value};
use super::eval::{Eval, Numbers, agree};

/// The determinant by elimination, largest pivots first.
fn determinant(n: usize, a: &[Complex]) -> Complex {
    let mut rows: Vec<Vec<Complex>> = a.chunks(n).map(<[Complex]>::to_vec).collect();
    let mut product = Complex::from(1.0);
    for k in 0..n {
        let best = (k..n).max_by(|i, j| rows[*i][k].re().abs().total_cmp(&rows[*j][k].re().abs()));
        let best = best.unwrap();
        if best != k {
            rows.swap(best, k);
            product = -product;
        }
        product = product * rows[k][k];
        let pivot = rows[k].clone();
        for row in &mut rows[k + 1..] {
            let factor = row[k] / pivot[k];
            for (x, p) in row.iter_mut().zip(&pivot) {
                *x = *x - factor * *p;
            }
        }
    }
    product
}

#[test]
fn determinants() {
    let mut eval = Eval::of("det");
    for ell in 1..=8 {
        let a = Numbers::new(ell as u64).list(ell * ell);
        let input = json!({"A": a, "ell": ell, "min_runs": 1, "min_seconds": 0});
        let expected = json!(value(&a, |a| determinant(ell, a)));
        agree(&eval.output("det", "primal", &input), &expected, 1e-13);
        let expected = json!(gradient(&a, |a| determinant(ell, a)));
        agree(&eval.output("det", "gradient", &input), &expected, 1e-12);
    }
}

#[test]
fn a_singular_matrix_has_a_gradient() {
    let mut eval = Eval::of("det");
    let input = json!({"A": [1.0, 2.0, 2.0, 4.0], "ell": 2});
    assert_eq!(eval.output("det", "primal", &input), json!(0.0));
    agree(&eval.output("det", "gradient", &input), &json!([4.0, -2.0, -2.0, 1.0]), 0.0);
    let error = eval.error("det", "primal", &json!({"A": [1.0, 2.0, 3.0], "ell": 2}));
    assert!(error.contains("`ell = 2` is given"), "{error}");
}
