//! `hello`, `lse`, `llsq`, `kmeans`.

use serde_json::json;

use super::complex::{Number, gradient, sum, value};
use super::eval::{Eval, Numbers, agree};

#[test]
fn hello() {
    let mut eval = Eval::of("hello");
    let mut x = json!(1.0);
    for expected in [1.0, 2.0, 4.0, 8.0, 64.0, 128.0] {
        let function = if [1.0, 4.0, 64.0].contains(&expected) { "square" } else { "double" };
        x = eval.output("hello", function, &x);
        assert_eq!(x, json!(expected));
    }
    // A whole number is a number.
    assert_eq!(eval.output("hello", "square", &json!(3)), json!(9.0));
    eval.end();
}

fn lse<N: Number>(x: &[N]) -> N {
    sum(x.iter().map(|x| x.exp())).ln()
}

#[test]
fn logarithms_of_sums_of_exponentials() {
    let mut eval = Eval::of("lse");
    for n in [1, 2, 7, 300] {
        let x: Vec<f64> = Numbers::new(n as u64).list(n).iter().map(|x| 10.0 * x).collect();
        let input = json!({"x": x, "min_runs": 2, "min_seconds": 0.0});
        agree(&eval.output("lse", "primal", &input), &json!(value(&x, lse)), 1e-13);
        agree(&eval.output("lse", "gradient", &input), &json!(gradient(&x, lse)), 1e-13);
    }
    // Without overflow, at the largest element and all of it.
    let input = json!({"x": [1e4, 0.0, 1e4]});
    agree(&eval.output("lse", "primal", &input), &json!(1e4 + 2f64.ln()), 1e-15);
    agree(&eval.output("lse", "gradient", &input), &json!([0.5, 0.0, 0.5]), 1e-15);
}

fn llsq<N: Number>(n: usize, x: &[N]) -> N {
    let point = |i: usize| -1.0 + i as f64 * 2.0 / (n as f64 - 1.0);
    let sign = |t: f64| if t == 0.0 { 0.0 } else { t.signum() };
    let value = |t: f64| sum(x.iter().enumerate().map(|(j, x)| *x * N::from(t.powi(j as i32))));
    let error = |i: usize| (N::from(sign(point(i))) - value(point(i))).square();
    sum((0..n).map(error)) / N::from(2.0)
}

#[test]
fn least_squares() {
    let mut eval = Eval::of("llsq");
    for (n, m) in [(2, 1), (5, 3), (8, 20), (33, 4)] {
        let x = Numbers::new((n * m) as u64).list(m);
        let input = json!({"x": x, "n": n});
        agree(&eval.output("llsq", "primal", &input), &json!(value(&x, |x| llsq(n, x))), 1e-12);
        let expected = json!(gradient(&x, |x| llsq(n, x)));
        agree(&eval.output("llsq", "gradient", &input), &expected, 1e-12);
    }
}

#[test]
fn clusters() {
    let mut eval = Eval::of("kmeans");
    for (k, n, d) in [(1, 1, 1), (1, 6, 2), (3, 10, 1), (4, 40, 3), (5, 5, 4)] {
        let points = Numbers::new((100 * k + n) as u64).matrix(n, d);
        let centroids: Vec<Vec<f64>> =
            points[n - k..].iter().map(|p| p.iter().map(|x| 0.9 * x).collect()).collect();
        let distance =
            |p: &[f64], c: &[f64]| -> f64 { p.iter().zip(c).map(|(p, c)| (p - c) * (p - c)).sum() };
        // The gradient is twice the sum of the differences, the Hessian twice the number of points.
        let (mut cost, mut sums) = (0.0, vec![vec![0.0; d]; k]);
        let mut sizes = vec![0.0; k];
        for p in &points {
            let all: Vec<f64> = centroids.iter().map(|c| distance(p, c)).collect();
            let nearest = (0..k).min_by(|a, b| all[*a].total_cmp(&all[*b])).unwrap();
            cost += all[nearest];
            sizes[nearest] += 1.0;
            for (s, (p, c)) in sums[nearest].iter_mut().zip(p.iter().zip(&centroids[nearest])) {
                *s += c - p;
            }
        }
        assert!(sizes.iter().all(|size| *size > 0.0), "an empty cluster has no direction");
        let divided = sums.iter().zip(&sizes).map(|(s, n)| s.iter().map(|s| s / n).collect());
        let expected: Vec<Vec<f64>> = divided.collect();
        let input = json!({"points": points, "centroids": centroids});
        agree(&eval.output("kmeans", "cost", &input), &json!(cost), 1e-13);
        agree(&eval.output("kmeans", "dir", &input), &json!(expected), 1e-13);
    }
}
