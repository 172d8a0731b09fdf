//! `gmm`, from the definitions of the densities.

use serde_json::{Value, json};

use super::complex::{Number, gradient, sum, value};
use super::eval::{Eval, Numbers, agree};

struct Case {
    d: usize,
    k: usize,
    x: Vec<Vec<f64>>,
    m: usize,
    gamma: f64,
}

/// The gamma function at half of a positive integer.
fn gamma_of_half(n: usize) -> f64 {
    match n {
        1 => std::f64::consts::PI.sqrt(),
        2 => 1.0,
        _ => (n as f64 / 2.0 - 1.0) * gamma_of_half(n - 2),
    }
}

impl Case {
    /// The factor of the precision matrix of a component, column by column.
    fn factor<N: Number>(&self, q: &[N], l: &[N]) -> Vec<Vec<N>> {
        let mut rows = vec![vec![N::from(0.0); self.d]; self.d];
        let mut below = l.iter();
        for j in 0..self.d {
            rows[j][j] = q[j].exp();
            for row in rows.iter_mut().skip(j + 1) {
                row[j] = *below.next().unwrap();
            }
        }
        rows
    }

    /// The logarithm of the posterior; `p` holds alpha, mu, q and l, one after the other.
    fn posterior<N: Number>(&self, p: &[N]) -> N {
        let (d, k) = (self.d, self.k);
        let triangle = d * (d - 1) / 2;
        let (alpha, p) = p.split_at(k);
        let (mu, p) = p.split_at(k * d);
        let (q, l) = p.split_at(k * d);
        let two_pi = 2.0 * std::f64::consts::PI;
        let all = sum(alpha.iter().map(|a| a.exp()));
        let degrees = d + self.m + 1;
        // The density of Wishart's distribution with V = I / gamma^2.
        let normal = 2f64.powf((degrees * d) as f64 / 2.0)
            * self.gamma.powi(-2).powf((degrees * d) as f64 / 2.0)
            * std::f64::consts::PI.powf((d * d.saturating_sub(1)) as f64 / 4.0)
            * (0..d).map(|j| gamma_of_half(degrees - j)).product::<f64>();
        let mut likelihoods = vec![N::from(0.0); self.x.len()];
        let mut prior = N::from(0.0);
        for c in 0..k {
            let factor = self.factor(&q[c * d..][..d], &l[c * triangle..][..triangle]);
            let determinant = (0..d).fold(N::from(1.0), |p, j| p * factor[j][j]);
            let trace = sum(factor.iter().flatten().map(|x| x.square()));
            let density = determinant.square().ln() * N::from(self.m as f64 / 2.0)
                - N::from(self.gamma * self.gamma / 2.0) * trace;
            prior = prior + density - N::from(normal.ln());
            for (likelihood, x) in likelihoods.iter_mut().zip(&self.x) {
                let centred: Vec<N> = (0..d).map(|j| N::from(x[j]) - mu[c * d + j]).collect();
                let white = factor
                    .iter()
                    .map(|row| sum(row.iter().zip(&centred).map(|(f, x)| *f * *x)).square());
                let density = (N::from(-0.5) * sum(white)).exp() * determinant
                    / N::from(two_pi.powf(d as f64 / 2.0));
                *likelihood = *likelihood + alpha[c].exp() / all * density;
            }
        }
        sum(likelihoods.iter().map(|l| l.ln())) + prior
    }
}

fn rows(list: &[f64], count: usize) -> Value {
    match list.len() / count.max(1) {
        0 => json!(vec![Vec::<f64>::new(); count]),
        n => json!(list.chunks(n).collect::<Vec<_>>()),
    }
}

#[test]
fn posteriors_and_their_gradients() {
    let mut eval = Eval::of("gmm");
    for (d, k, n, m, gamma) in [
        (1, 1, 1, 0, 1.0),
        (2, 1, 3, 0, 1.0),
        (2, 3, 5, 2, 0.5),
        (3, 2, 10, 1, 2.0),
        (5, 4, 7, 0, 1.0),
    ] {
        let mut numbers = Numbers::new((d * 100 + k) as u64);
        let case = Case { d, k, x: numbers.matrix(n, d), m, gamma };
        let triangle = d * (d - 1) / 2;
        let (alpha, mu) = (numbers.list(k), numbers.list(k * d));
        let (q, l) = (numbers.list(k * d), numbers.list(k * triangle));
        let input = json!({
            "d": d, "k": k, "n": n, "x": case.x, "m": m, "gamma": gamma, "alpha": alpha,
            "mu": rows(&mu, k), "q": rows(&q, k), "l": rows(&l, k), "min_runs": 1, "min_seconds": 0,
        });
        let p = [alpha, mu, q, l].concat();
        let expected = json!(value(&p, |p| case.posterior(p)));
        agree(&eval.output("gmm", "objective", &input), &expected, 1e-11);
        let g = gradient(&p, |p| case.posterior(p));
        let (alpha, g) = g.split_at(k);
        let (mu, g) = g.split_at(k * d);
        let (q, l) = g.split_at(k * d);
        let expected = json!({"alpha": alpha, "mu": rows(mu, k), "q": rows(q, k), "l": rows(l, k)});
        agree(&eval.output("gmm", "jacobian", &input), &expected, 1e-11);
    }
}

#[test]
fn sizes_that_do_not_agree_are_an_error() {
    let mut eval = Eval::of("gmm");
    let mut input = json!({
        "d": 2, "k": 1, "n": 1, "x": [[1.0, 2.0]], "m": 0, "gamma": 1.0, "alpha": [0.0],
        "mu": [[0.0, 0.0]], "q": [[0.0, 0.0]], "l": [[0.0]],
    });
    eval.output("gmm", "objective", &input);
    input["n"] = json!(2);
    let error = eval.error("gmm", "objective", &input);
    assert!(error.contains("`n`"), "{error}");
    input["n"] = json!(1);
    input["l"] = json!([[0.0, 0.0]]);
    eval.error("gmm", "jacobian", &input);
    input["l"] = json!([[0.5]]);
    eval.output("gmm", "jacobian", &input);
}
