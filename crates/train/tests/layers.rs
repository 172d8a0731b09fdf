//! Layers against the same functions written one element at a time.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use cotan::nn::Conv;
use cotan::prelude::*;
use cotan::random::Key;
use cotan::structure::flat_floats;
use cotan_train::layers::{
    BatchNorm, Convolution, Dense, Embedding, Gru, Lstm, Norm, RmsNorm, SelfAttention, Statistics,
};

/// Compares values and gradients of two functions of a layer and an input, by both.
fn same<L, F, G>(layer: L::Concrete, x: &Tensor<f64>, f: F, g: G)
where
    L: Arrays<Staged = L>,
    F: Fn(L, Arr<f64>) -> Arr<f64>,
    G: Fn(L, Arr<f64>) -> Arr<f64>,
    for<'a> (&'a L::Concrete, &'a Tensor<f64>): cotan::Feed<(L, Arr<f64>)>,
    L::Concrete: Arrays<Staged = L, Concrete = L::Concrete>,
{
    // Weighted, so that each element of the result counts by itself.
    let weighted = |y: Arr<f64>| {
        let n = y.size();
        let y = y.flatten();
        build(n, move |i| y.at(i) * (1.0 + i.cast::<f64>()).sin()).sum()
    };
    let first = value_and_grad(|layer: L, x: Arr<f64>| weighted(f(layer, x))).wrt(AllArgs);
    let second = value_and_grad(|layer: L, x: Arr<f64>| weighted(g(layer, x))).wrt(AllArgs);
    let (found, wanted) = (first.call((&layer, x)).unwrap(), second.call((&layer, x)).unwrap());
    let (found, wanted) = (flat_floats(&found), flat_floats(&wanted));
    assert_eq!(found.len(), wanted.len());
    for (a, b) in found.iter().zip(&wanted) {
        assert!((a - b).abs() <= 1e-10 * (1.0 + b.abs()), "{a} {b}");
    }
    assert!(wanted.iter().any(|x| x.abs() > 1e-3));
}

fn random(seed: u64, sizes: &[usize]) -> Tensor<f64> {
    Key::new(seed).normal(sizes.to_vec()).unwrap()
}

#[test]
fn dense() {
    let mut layer = Dense::init(Key::new(1), 5, 3).unwrap();
    layer.bias = random(2, &[3]);
    let by_elements = |layer: Dense<Arr<f64>>, x: Arr<f64>| {
        build([4, 3], |[n, j]| {
            build(5, |k| x.at([n, k]) * layer.weights.at([k, j])).sum() + layer.bias.at(j)
        })
    };
    same(layer, &random(3, &[4, 5]), |layer: Dense<Arr<f64>>, x| layer.apply(x), by_elements);
}

#[test]
fn convolution() {
    let mut layer = Convolution::init(Key::new(1), 2, 3, [3, 2]).unwrap();
    layer.bias = random(2, &[3]);
    let by_elements = |layer: Convolution<Arr<f64>>, x: Arr<f64>| {
        build([2, 3, 4, 5], |[n, o, i, j]| {
            let window = build([2, 3, 2], |[c, a, b]| {
                x.at([n, c, i + a, j + b]) * layer.kernel.at([o, c, a, b])
            });
            window.sum() + layer.bias.at(o)
        })
    };
    let bulk = |layer: Convolution<Arr<f64>>, x| layer.apply(x, Conv::<2>::new());
    same(layer, &random(3, &[2, 2, 6, 6]), bulk, by_elements);
}

#[test]
fn recurrent() {
    let (time, batch, inputs, hidden) = (4, 2, 3, 5);
    let x = random(3, &[time, batch, inputs]);
    let lstm = Lstm::init(Key::new(1), inputs, hidden).unwrap();
    let lstm_by_elements = move |layer: Lstm<Arr<f64>>, x: Arr<f64>| {
        let (mut h, mut c): (Arr<f64>, Arr<f64>) = (zeros([batch, hidden]), zeros([batch, hidden]));
        let mut states = Vec::new();
        for t in 0..time {
            let gate = |k: usize| {
                build([batch, hidden], |[n, j]| {
                    let j = j + k * hidden;
                    let x = build(inputs, |i| {
                        x.at([constant(t as i64), n, i]) * layer.input.at([i, j])
                    })
                    .sum();
                    x + build(hidden, |i| h.at([n, i]) * layer.recurrent.at([i, j])).sum()
                        + layer.bias.at(j)
                })
            };
            c = gate(1).sigmoid() * c + gate(0).sigmoid() * gate(2).tanh();
            h = gate(3).sigmoid() * c.tanh();
            states.push(h);
        }
        stack(&states, 0)
    };
    same(lstm, &x, |layer: Lstm<Arr<f64>>, x| layer.apply(x), lstm_by_elements);

    let mut gru = Gru::init(Key::new(1), inputs, hidden).unwrap();
    gru.bias = random(2, &[3 * hidden]);
    let gru_by_elements = move |layer: Gru<Arr<f64>>, x: Arr<f64>| {
        let mut h: Arr<f64> = zeros([batch, hidden]);
        let mut states = Vec::new();
        for t in 0..time {
            let of_x = |k: usize| {
                build([batch, hidden], |[n, j]| {
                    let j = j + k * hidden;
                    build(inputs, |i| x.at([constant(t as i64), n, i]) * layer.input.at([i, j]))
                        .sum()
                        + layer.bias.at(j)
                })
            };
            let of_h = |k: usize| {
                build([batch, hidden], |[n, j]| {
                    build(hidden, |i| h.at([n, i]) * layer.recurrent.at([i, j + k * hidden])).sum()
                })
            };
            let (r, z) = ((of_x(0) + of_h(0)).sigmoid(), (of_x(1) + of_h(1)).sigmoid());
            let n = (of_x(2) + r * of_h(2)).tanh();
            h = (1.0 - z) * n + z * h;
            states.push(h);
        }
        stack(&states, 0)
    };
    same(gru, &x, |layer: Gru<Arr<f64>>, x| layer.apply(x), gru_by_elements);
}

#[test]
fn attention() {
    let (batch, positions, features, heads) = (2, 4, 6, 2);
    let layer = SelfAttention::init(Key::new(1), features).unwrap();
    let by_elements = move |layer: SelfAttention<Arr<f64>>, x: Arr<f64>| {
        let (q, k, v) = (layer.query.apply(x), layer.key.apply(x), layer.value.apply(x));
        let size = features / heads;
        let answers = build([batch, positions, features], |[b, i, f]| {
            let head = f / size as i64 * size as i64;
            let score = |j: Arr<i64>| {
                let products = build(size, |d| q.at([b, i, head + d]) * k.at([b, j, head + d]));
                (products.sum() / (size as f64).sqrt()).exp()
            };
            // Only positions up to this one.
            let weight = |j: Arr<i64>| select(j.le(i), score(j), 0.0);
            let total = build(positions, weight).sum();
            build(positions, |j| weight(j) * v.at([b, j, f])).sum() / total
        });
        layer.out.apply(answers)
    };
    let causal = move |layer: SelfAttention<Arr<f64>>, x| layer.apply_causal(x, heads);
    same(layer, &random(3, &[batch, positions, features]), causal, by_elements);
}

#[test]
fn norms() {
    let layer = Norm { scale: random(1, &[4]), bias: random(2, &[4]) };
    let by_elements = |layer: Norm<Arr<f64>>, x: Arr<f64>| {
        build([3, 4], |[n, j]| {
            let mean = build(4, |k| x.at([n, k])).sum() / 4.0;
            let variance = build(4, |k| (x.at([n, k]) - mean).square()).sum() / 4.0;
            (x.at([n, j]) - mean) / (variance + 1e-5).sqrt() * layer.scale.at(j) + layer.bias.at(j)
        })
    };
    same(layer, &random(3, &[3, 4]), |layer: Norm<Arr<f64>>, x| layer.apply(x), by_elements);

    let layer = RmsNorm { scale: random(1, &[4]) };
    let by_elements = |layer: RmsNorm<Arr<f64>>, x: Arr<f64>| {
        build([3, 4], |[n, j]| {
            let square = build(4, |k| x.at([n, k]).square()).sum() / 4.0;
            x.at([n, j]) / (square + 1e-5).sqrt() * layer.scale.at(j)
        })
    };
    same(layer, &random(3, &[3, 4]), |layer: RmsNorm<Arr<f64>>, x| layer.apply(x), by_elements);

    // With the statistics of the batch, inference computes what training does.
    let layer = BatchNorm { scale: random(1, &[2]), bias: random(2, &[2]) };
    let trained = |layer: BatchNorm<Arr<f64>>, x: Arr<f64>| layer.apply(x).0;
    let inferred = |layer: BatchNorm<Arr<f64>>, x: Arr<f64>| {
        let (_, Statistics { mean, variance }) = layer.apply(x);
        layer.apply_with(x, Statistics { mean, variance })
    };
    same(layer, &random(3, &[5, 2, 3]), trained, inferred);
}

#[test]
fn embedding() {
    let layer = Embedding::<Tensor<f64>>::init(Key::new(1), 10, 3).unwrap();
    let f = jit(|layer: Embedding<Arr<f64>>, ids: Arr<i64>| layer.apply(ids));
    let y = f.call((&layer, [[3i64, 9], [0, 12]])).unwrap();
    assert_eq!(y.shape(), [2, 2, 3]);
    assert_eq!(y.slice(s![0, 1]).unwrap(), layer.table.row(9).unwrap());
    assert_eq!(y.slice(s![1, 1]).unwrap().to_vec(), [0.0; 3]);
}

#[test]
fn sizes_that_do_not_fit_are_errors() {
    let layer = Dense::<Tensor<f64>>::init(Key::new(1), 5, 3).unwrap();
    let f = jit(|layer: Dense<Arr<f64>>, x: Arr<f64>| layer.apply(x));
    let error = f.call((&layer, [1.0, 2.0])).unwrap_err().to_string();
    assert!(error.contains("[2]f64") && error.contains("[5, 3]f64"), "{error}");
    let layer = SelfAttention::<Tensor<f64>>::init(Key::new(1), 6).unwrap();
    for heads in [0, 4, 7] {
        let f = jit(move |layer: SelfAttention<Arr<f64>>, x: Arr<f64>| layer.apply(x, heads, None));
        assert!(f.call((&layer, Tensor::zeros([1, 2, 6]).unwrap())).is_err(), "{heads}");
    }
    let lstm = Lstm::<Tensor<f64>>::init(Key::new(1), 5, 3).unwrap();
    let f = jit(|layer: Lstm<Arr<f64>>, x: Arr<f64>| layer.apply(x));
    assert!(f.call((&lstm, Tensor::zeros([2, 5]).unwrap())).is_err());
    assert!(f.call((&lstm, Tensor::zeros([2, 5, 4]).unwrap())).is_err());
    assert_eq!(f.call((&lstm, Tensor::zeros([0, 5, 5]).unwrap())).unwrap().shape(), [0, 5, 3]);
}
