//! Normalisation, dropout, attention and embedding against plain Rust.

use crate::nn_support::{close, error_text, random};
use crate::support::check;
use cotan::nn;
use cotan::prelude::*;
use cotan_testkit::Rng;

/// The mean, and the mean of the squares of what is left.
fn moments(x: &[f64]) -> (f64, f64) {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    (mean, x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64)
}

#[test]
fn layer_norm_normalises_the_last_axes() {
    let mut rng = Rng::new(21);
    for (shape, inner) in [(vec![4], 1), (vec![3, 4], 1), (vec![2, 3, 2], 2), (vec![2, 0, 3], 1)] {
        let x = random(&mut rng, &shape, -2.0, 2.0);
        let last = &shape[shape.len() - inner..];
        let (scale, bias) = (random(&mut rng, last, 0.5, 2.0), random(&mut rng, last, -1.0, 1.0));
        let width: usize = last.iter().product();
        let mut expected = Vec::new();
        for row in x.to_vec().chunks(width) {
            let (mean, variance) = moments(row);
            for ((x, s), b) in row.iter().zip(scale.iter()).zip(bias.iter()) {
                expected.push((x - mean) / (variance + 0.1).sqrt() * s + b);
            }
        }
        let f = |x: Arr<f64>, s: Arr<f64>, b: Arr<f64>| nn::layer_norm(x, s, b, 0.1);
        close("layer_norm", &jit(f).call((&x, &scale, &bias)).unwrap().to_vec(), &expected);
        check(f, (&x, &scale, &bias));

        let mut expected = Vec::new();
        for row in x.to_vec().chunks(width) {
            let square = row.iter().map(|x| x * x).sum::<f64>() / width as f64;
            expected
                .extend(row.iter().zip(scale.iter()).map(|(x, s)| x / (square + 0.1).sqrt() * s));
        }
        let f = |x: Arr<f64>, s: Arr<f64>| nn::rms_norm(x, s, 0.1);
        close("rms_norm", &jit(f).call((&x, &scale)).unwrap().to_vec(), &expected);
        check(f, (&x, &scale));
    }
    check(|x: Arr<f64>| nn::standardize(x, [0, 2], 1e-3), random(&mut rng, &[3, 2, 2], -1.0, 1.0));
}

#[test]
fn batch_norm_normalises_each_channel() {
    let mut rng = Rng::new(22);
    for shape in [vec![4, 3], vec![2, 3, 2], vec![2, 2, 2, 3], vec![1, 1, 1]] {
        let x = random(&mut rng, &shape, -2.0, 2.0);
        let channels = shape[1];
        let vector = |rng: &mut Rng| random(rng, &[channels], 0.5, 2.0);
        let (scale, bias) = (vector(&mut rng), vector(&mut rng));
        let of = |c: usize| -> Vec<f64> {
            let mut elements = Vec::new();
            let _ = Tensor::from_fn(&shape, |ix| {
                if ix[1] == c {
                    elements.push(x.get(ix).unwrap());
                }
                0.0
            });
            elements
        };
        let stats: Vec<(f64, f64)> = (0..channels).map(|c| moments(&of(c))).collect();
        let expected = |stats: &[(f64, f64)]| {
            let y = Tensor::from_fn(&shape, |ix| {
                let (c, (mean, variance)) = (ix[1], stats[ix[1]]);
                let normal = (x.get(ix).unwrap() - mean) / (variance + 0.1).sqrt();
                normal * scale.get(&[c]).unwrap() + bias.get(&[c]).unwrap()
            });
            y.unwrap().to_vec()
        };
        let f = |x: Arr<f64>, s: Arr<f64>, b: Arr<f64>| nn::batch_norm(x, s, b, 0.1);
        let (y, mean, variance) = jit(f).call((&x, &scale, &bias)).unwrap();
        assert_eq!(y.shape(), shape);
        close("batch_norm", &y.to_vec(), &expected(&stats));
        close("mean", &mean.to_vec(), &stats.iter().map(|s| s.0).collect::<Vec<_>>());
        close("variance", &variance.to_vec(), &stats.iter().map(|s| s.1).collect::<Vec<_>>());
        check(f, (&x, &scale, &bias));

        let (mean, variance) = (vector(&mut rng), vector(&mut rng));
        let given: Vec<(f64, f64)> = mean.iter().zip(variance.iter()).collect();
        let f = |x: Arr<f64>, m: Arr<f64>, v: Arr<f64>, s: Arr<f64>, b: Arr<f64>| {
            nn::batch_norm_with(x, m, v, s, b, 0.1)
        };
        let args = (&x, &mean, &variance, &scale, &bias);
        close("batch_norm_with", &jit(f).call(args).unwrap().to_vec(), &expected(&given));
        check(f, args);
    }
}

#[test]
fn dropout_keeps_what_the_mask_says() {
    let (x, keep) =
        (Tensor::from([[1.0, 2.0], [3.0, 4.0]]), Tensor::from([[true, false], [false, true]]));
    let at = |rate: f64| jit(move |x: Arr<f64>, k: Arr<bool>| nn::dropout(x, k, rate));
    assert_eq!(at(0.75).call((&x, &keep)).unwrap().to_vec(), [4.0, 0.0, 0.0, 16.0]);
    assert_eq!(at(1.0).call((&x, &keep)).unwrap().to_vec(), [0.0; 4]);
    // A mask for whole columns.
    assert_eq!(at(0.5).call((&x, [true, false])).unwrap().to_vec(), [2.0, 0.0, 6.0, 0.0]);
    let (_, dx) = value_and_grad(|x: Arr<f64>, k: Arr<bool>| nn::dropout(x, k, 0.5).sum())
        .call(([f64::INFINITY, 1.0], [false, true]))
        .unwrap();
    assert_eq!(dx.to_vec(), [0.0, 2.0]);
    check(|x: Arr<f64>, k: Arr<bool>| nn::dropout(x, k, 0.5), (&x, &keep));
}

/// Attention of one head by loops.
fn plain_attention(
    q: &Tensor<f64>,
    k: &Tensor<f64>,
    v: &Tensor<f64>,
    mask: impl Fn(usize, usize) -> bool,
) -> Vec<f64> {
    let (m, d, n, e) = (q.shape()[0], q.shape()[1], k.shape()[0], v.shape()[1]);
    let mut out = Vec::new();
    for i in 0..m {
        let weight = |j: usize| -> f64 {
            let score: f64 =
                (0..d).map(|c| q.get(&[i, c]).unwrap() * k.get(&[j, c]).unwrap()).sum();
            if mask(i, j) { (score / (d as f64).sqrt()).exp() } else { 0.0 }
        };
        let total: f64 = (0..n).map(weight).sum();
        for c in 0..e {
            let sum: f64 = (0..n).map(|j| weight(j) * v.get(&[j, c]).unwrap()).sum();
            out.push(if total == 0.0 { 0.0 } else { sum / total });
        }
    }
    out
}

#[test]
fn attention_is_the_plain_loop() {
    let mut rng = Rng::new(23);
    for (m, n, d, e) in [(2, 3, 4, 2), (1, 1, 1, 1), (3, 2, 1, 3), (0, 2, 2, 2)] {
        let q = random(&mut rng, &[m, d], -1.0, 1.0);
        let (k, v) = (random(&mut rng, &[n, d], -1.0, 1.0), random(&mut rng, &[n, e], -1.0, 1.0));
        let f = |q: Arr<f64>, k: Arr<f64>, v: Arr<f64>| nn::attention(q, k, v, None);
        let y = jit(f).call((&q, &k, &v)).unwrap();
        assert_eq!(y.shape(), [m, e]);
        close("attention", &y.to_vec(), &plain_attention(&q, &k, &v, |_, _| true));
        check(f, (&q, &k, &v));

        // Masked so that, where there are fewer keys, the first query sees none.
        let masked = move |q: Arr<f64>, k: Arr<f64>, v: Arr<f64>| {
            nn::attention(q, k, v, Some(nn::causal_mask(m, n)))
        };
        let causal = |i: usize, j: usize| j + m <= i + n;
        let y = jit(masked).call((&q, &k, &v)).unwrap();
        close("masked", &y.to_vec(), &plain_attention(&q, &k, &v, causal));
        let finite = grad(move |q: Arr<f64>, k: Arr<f64>, v: Arr<f64>| masked(q, k, v).sum());
        assert!(finite.call((&q, &k, &v)).unwrap().iter().all(f64::is_finite));
    }
}

#[test]
fn attention_has_leading_axes_that_fit() {
    let mut rng = Rng::new(24);
    let q = random(&mut rng, &[2, 3, 2, 4], -1.0, 1.0);
    let (k, v) =
        (random(&mut rng, &[3, 5, 4], -1.0, 1.0), random(&mut rng, &[2, 1, 5, 2], -1.0, 1.0));
    let f = |q: Arr<f64>, k: Arr<f64>, v: Arr<f64>| nn::attention(q, k, v, None);
    let y = jit(f).call((&q, &k, &v)).unwrap();
    assert_eq!(y.shape(), [2, 3, 2, 2]);
    let part = |x: &Tensor<f64>, front: &[usize], sizes: [usize; 2]| {
        Tensor::from_fn(sizes, |ix| x.get(&[front, ix].concat()).unwrap()).unwrap()
    };
    let mut expected = Vec::new();
    for b in 0..2 {
        for h in 0..3 {
            let (q, k, v) =
                (part(&q, &[b, h], [2, 4]), part(&k, &[h], [5, 4]), part(&v, &[b, 0], [5, 2]));
            expected.extend(plain_attention(&q, &k, &v, |_, _| true));
        }
    }
    close("attention", &y.to_vec(), &expected);
}

#[test]
fn embedding_reads_rows() {
    let mut rng = Rng::new(25);
    let table = random(&mut rng, &[4, 3], -1.0, 1.0);
    let f = |t: Arr<f64>, ids: Arr<i64>| nn::embedding(t, ids);
    let ids = Tensor::from([[0i64, 3], [3, -1], [4, 1]]);
    let y = jit(f).call((&table, &ids)).unwrap();
    assert_eq!(y.shape(), [3, 2, 3]);
    let row = |id: i64, c: usize| {
        usize::try_from(id).ok().and_then(|r| table.get(&[r, c])).unwrap_or(0.0)
    };
    let expected: Vec<f64> = ids.iter().flat_map(|id| (0..3).map(move |c| row(id, c))).collect();
    close("embedding", &y.to_vec(), &expected);
    check(f, (&table, &ids));
    check(f, (&table, 2i64));
}

#[test]
fn errors_say_what_to_do() {
    let norm = |x: Arr<f64>, s: Arr<f64>, b: Arr<f64>| nn::layer_norm(x, s, b, 0.0);
    assert_eq!(
        error_text(compile(norm, ([2, 3], [2], [2]))),
        "layer_norm: a scale [2]f64 for the last axes of [2, 3]f64\n  at HERE\n  hint: the \
         parameters have the shape of the axes that are normalised"
    );
    assert_eq!(
        error_text(compile(norm, ([2, 3], [3], [1, 3]))),
        "layer_norm: a bias [1, 3]f64 for the last axes of [2, 3]f64\n  at HERE\n  hint: the \
         parameters have the shape of the axes that are normalised"
    );
    let norm = |x: Arr<f64>, s: Arr<f64>, b: Arr<f64>| nn::batch_norm(x, s, b, 0.0);
    assert_eq!(
        error_text(compile(norm, ([2, 3], [3], [2]))),
        "batch_norm: a bias [2]f64 for the channels of [2, 3]f64\n  at HERE\n  hint: one number for \
         each channel, which is axis 1"
    );
    assert_eq!(
        error_text(compile(norm, ([2], [3], [2]))),
        "batch_norm: axes of batch and channel are needed, of [2]f64\n  at HERE"
    );
    assert_eq!(
        error_text(compile(|x: Arr<f64>| nn::dropout(x, true, 1.5), [2])),
        "dropout: a rate of 1.5\n  at HERE\n  hint: it is the part that is dropped: between 0 and 1"
    );
    let attend = |q: Arr<f64>, k: Arr<f64>, v: Arr<f64>| nn::attention(q, k, v, None);
    assert_eq!(
        error_text(compile(attend, ([2, 3], [4, 3], [5, 3]))),
        "attention: queries [2, 3]f64, keys [4, 3]f64 and values [5, 3]f64 do not fit\n  at HERE\n  \
         hint: they are [.., m, d], [.., n, d] and [.., n, e]"
    );
}
