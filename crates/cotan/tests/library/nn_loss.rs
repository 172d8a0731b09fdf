//! Losses: values against plain Rust, derivatives against the oracles.

use crate::nn_support::{close, error_text, random, shapes};
use crate::support::{check, check_rough};
use cotan::nn;
use cotan::prelude::*;
use cotan_testkit::Rng;

type Loss = fn(Arr<f64>, Arr<f64>) -> Arr<f64>;
type Plain = fn(f64, f64) -> f64;

fn plain_huber(r: f64, delta: f64) -> f64 {
    if r.abs() <= delta { 0.5 * r * r } else { delta * (r.abs() - 0.5 * delta) }
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn cross(p: f64, t: f64) -> f64 {
    -t * p.ln() - (1.0 - t) * (1.0 - p).ln()
}

#[test]
fn losses_of_elements() {
    // Arguments between 0.1 and 0.9 suit all of them.
    let losses: &[(&str, bool, Loss, Plain)] = &[
        ("squared_error", true, |x, t| nn::squared_error(x, t), |x, t| (x - t).powi(2)),
        ("absolute_error", false, |x, t| nn::absolute_error(x, t), |x, t| (x - t).abs()),
        ("huber", false, |x, t| nn::huber(x, t, 0.2), |x, t| plain_huber(x - t, 0.2)),
        ("smooth_l1", false, |x, t| nn::smooth_l1(x, t, 0.2), |x, t| plain_huber(x - t, 0.2) / 0.2),
        ("smooth_l1 of 0", false, |x, t| nn::smooth_l1(x, t, 0.0), |x, t| (x - t).abs()),
        ("hinge", false, |x, t| nn::hinge(x, t), |x, t| (1.0 - x * t).max(0.0)),
        (
            "binary_cross_entropy_with_logits",
            true,
            |x, t| nn::binary_cross_entropy_with_logits(x, t),
            |x, t| cross(logistic(x), t),
        ),
        ("binary_cross_entropy", true, |x, t| nn::binary_cross_entropy(x, t), cross),
    ];
    let mut rng = Rng::new(31);
    for &(name, smooth, f, plain) in losses {
        for shape in shapes() {
            let (x, t) = (random(&mut rng, &shape, 0.1, 0.9), random(&mut rng, &shape, 0.1, 0.9));
            let expected: Vec<f64> = x.iter().zip(t.iter()).map(|(x, t)| plain(x, t)).collect();
            close(name, &jit(f).call((&x, &t)).unwrap().to_vec(), &expected);
            if smooth { check(f, (&x, &t)) } else { check_rough(f, (&x, &t)) }
        }
    }
}

#[test]
fn means_of_errors() {
    let mut rng = Rng::new(32);
    for shape in [vec![], vec![3], vec![2, 3]] {
        let (x, t) = (random(&mut rng, &shape, -1.0, 1.0), random(&mut rng, &shape, -1.0, 1.0));
        let n = x.size() as f64;
        let pairs = || x.iter().zip(t.iter());
        let square = pairs().map(|(x, t)| (x - t).powi(2)).sum::<f64>() / n;
        let absolute = pairs().map(|(x, t)| (x - t).abs()).sum::<f64>() / n;
        let mse = |x: Arr<f64>, t: Arr<f64>| nn::mse(x, t);
        close("mse", &jit(mse).call((&x, &t)).unwrap().to_vec(), &[square]);
        check(mse, (&x, &t));
        let mae = |x: Arr<f64>, t: Arr<f64>| nn::mae(x, t);
        close("mae", &jit(mae).call((&x, &t)).unwrap().to_vec(), &[absolute]);
        check_rough(mae, (&x, &t));
    }
    let none = Tensor::<f64>::zeros([0]).unwrap();
    assert!(jit(|x: Arr<f64>| nn::mse(x, 0.0)).call(&none).unwrap().item().unwrap().is_nan());
}

#[test]
fn kinks_have_the_derivatives_that_are_documented() {
    let at = |f: Loss, x: f64, t: f64| grad(f).call((x, t)).unwrap().item().unwrap();
    assert_eq!(at(|x, t| nn::absolute_error(x, t), 2.0, 2.0), 0.0);
    assert_eq!(at(|x, t| nn::hinge(x, t), 1.0, 1.0), 0.0);
    assert_eq!(at(|x, t| nn::huber(x, t, 0.5), 1.5, 1.0), 0.5);
    assert_eq!(at(|x, t| nn::huber(x, t, 0.5), -3.0, 1.0), -0.5);
    // Precise where a probability of 1 or 0 would have no logarithm.
    assert_eq!(at(|x, t| nn::binary_cross_entropy_with_logits(x, t), -800.0, 1.0), -1.0);
    let tail = jit(|x: Arr<f64>| nn::binary_cross_entropy_with_logits(x, 1.0)).call(50.0).unwrap();
    close(
        "tail",
        &tail.to_vec().iter().map(|x| x * 1e20).collect::<Vec<_>>(),
        &[(-50f64).exp() * 1e20],
    );
}

/// The logarithms of the softmax of rows.
fn log_softmax(row: &[f64]) -> Vec<f64> {
    let total: f64 = row.iter().map(|x| x.exp()).sum();
    row.iter().map(|x| x - total.ln()).collect()
}

#[test]
fn losses_of_classes() {
    let mut rng = Rng::new(33);
    for (examples, classes) in
        [(vec![], 3), (vec![4], 2), (vec![2, 3], 4), (vec![0], 2), (vec![2], 1)]
    {
        let shape = [&examples[..], &[classes]].concat();
        let x = random(&mut rng, &shape, -2.0, 2.0);
        // One label lies outside.
        let labels = Tensor::from_fn(&examples, |_| rng.below(classes + 1) as i64).unwrap();
        let rows: Vec<Vec<f64>> = x.to_vec().chunks(classes).map(<[f64]>::to_vec).collect();
        let picked = |row: &[f64], label: i64| row.get(label as usize).copied().unwrap_or(0.0);

        let expected: Vec<f64> =
            rows.iter().zip(labels.iter()).map(|(r, l)| -picked(&log_softmax(r), l)).collect();
        let f = |x: Arr<f64>, l: Arr<i64>| nn::cross_entropy(x, l);
        let y = jit(f).call((&x, &labels)).unwrap();
        assert_eq!(y.shape(), examples);
        close("cross_entropy", &y.to_vec(), &expected);
        check(f, (&x, &labels));

        let expected: Vec<f64> =
            rows.iter().zip(labels.iter()).map(|(r, l)| -picked(r, l)).collect();
        let f = |x: Arr<f64>, l: Arr<i64>| nn::nll(x, l);
        close("nll", &jit(f).call((&x, &labels)).unwrap().to_vec(), &expected);
        check(f, (&x, &labels));

        let p = random(&mut rng, &shape, 0.1, 1.0);
        let weights: Vec<Vec<f64>> = p.to_vec().chunks(classes).map(<[f64]>::to_vec).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let expected: Vec<f64> =
            rows.iter().zip(&weights).map(|(r, p)| -dot(p, &log_softmax(r))).collect();
        let f = |x: Arr<f64>, p: Arr<f64>| nn::cross_entropy_with_probabilities(x, p);
        close("with probabilities", &jit(f).call((&x, &p)).unwrap().to_vec(), &expected);
        check(f, (&x, &p));

        let q = random(&mut rng, &shape, 0.1, 1.0);
        let expected: Vec<f64> = p
            .to_vec()
            .chunks(classes)
            .zip(q.to_vec().chunks(classes))
            .map(|(p, q)| p.iter().zip(q).map(|(p, q)| p * (p / q).ln()).sum())
            .collect();
        let f = |p: Arr<f64>, q: Arr<f64>| nn::kl_divergence(p, q);
        close("kl_divergence", &jit(f).call((&p, &q)).unwrap().to_vec(), &expected);
        check(f, (&p, &q));
    }
}

#[test]
fn cosine_similarity_is_that_of_directions() {
    let mut rng = Rng::new(34);
    let (a, b) = (random(&mut rng, &[2, 3], -1.0, 1.0), random(&mut rng, &[2, 3], -1.0, 1.0));
    let f = |a: Arr<f64>, b: Arr<f64>| nn::cosine_similarity(a, b, -1, 1e-8);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let expected: Vec<f64> = a
        .to_vec()
        .chunks(3)
        .zip(b.to_vec().chunks(3))
        .map(|(a, b)| dot(a, b) / (dot(a, a) * dot(b, b)).sqrt())
        .collect();
    close("cosine", &jit(f).call((&a, &b)).unwrap().to_vec(), &expected);
    check(f, (&a, &b));
    // Against one vector, along the other axis, and at zero.
    check(f, (&a, random(&mut rng, &[3], -1.0, 1.0)));
    check(|a: Arr<f64>, b: Arr<f64>| nn::cosine_similarity(a, b, 0, 1e-8), (&a, &b));
    let dx = grad(|a: Arr<f64>, b: Arr<f64>| nn::cosine_similarity(a, b, 0, 0.5))
        .call(([0.0, 0.0], [2.0, 0.0]));
    assert_eq!(dx.unwrap().to_vec(), [2.0, 0.0]);
}

#[test]
fn errors_say_what_to_do() {
    let f = |x: Arr<f64>, l: Arr<i64>| nn::cross_entropy(x, l);
    assert_eq!(
        error_text(compile(f, ([2, 3], [3]))),
        "cross_entropy: labels [3]i64 for [2, 3]f64\n  at HERE\n  hint: one label for each example: \
         the shape without the last axis, that of classes"
    );
    assert_eq!(
        error_text(compile(f, ((), ()))),
        "cross_entropy: f64 has no axis of classes\n  at HERE\n  hint: classes lie along the last axis"
    );
    let text = error_text(compile(|x: Arr<f64>, t: Arr<f64>| nn::mse(x, t), ([2], [3])));
    assert!(text.starts_with("mse: shapes that do not fit: [2]f64 and [3]f64"), "{text}");
    assert_eq!(
        error_text(compile(|x: Arr<f64>| nn::cosine_similarity(x, x, 0, 0.0), [2])),
        "cosine_similarity: an epsilon of 0\n  at HERE\n  hint: it keeps a vector of zeros from a \
         division by 0: give a small number"
    );
}
