//! The same networks, one element at a time: what each number is, and nothing about how arrays are
//! arranged.

use cotan::prelude::*;
use cotan_train::layers::{Dense, Gru, Norm};

use super::models::{
    CLASSES, Convolutional, Dense2, FEATURES, HEADS, HIDDEN, PATCH, PATCHES, Recurrent, SIZE,
    Transformer,
};

type A = Arr<f32>;
type I = Arr<i64>;

/// Output `j` of a dense layer with `inputs` inputs.
fn neuron(layer: Dense<A>, inputs: usize, input: impl Fn(I) -> A, j: I) -> A {
    build(inputs, |k| input(k) * layer.weights.at([k, j])).sum() + layer.bias.at(j)
}

pub fn dense(net: Dense2<A>, x: A) -> A {
    let n = x.len();
    let hidden = build([n, HIDDEN], |[n, j]| {
        let pixel = |k: I| x.at([n, k / SIZE as i64, k % SIZE as i64]);
        neuron(net.hidden, SIZE * SIZE, pixel, j).relu()
    });
    build([n, CLASSES], |[n, j]| neuron(net.last, HIDDEN, |k| hidden.at([n, k]), j))
}

pub fn conv(net: Convolutional<A>, x: A) -> A {
    let n = x.len();
    let first = build([n, 8, 24, 24], |[n, c, i, j]| {
        let window = build([5, 5], |[a, b]| {
            x.at([n, i + a, j + b]) * net.first.kernel.at([c, constant(0), a, b])
        });
        (window.sum() + net.first.bias.at(c)).relu()
    });
    let first = halved(first, [n, 8, 12, 12]);
    let second = build([n, 16, 8, 8], |[n, c, i, j]| {
        let window = build([8, 5, 5], |[d, a, b]| {
            first.at([n, d, i + a, j + b]) * net.second.kernel.at([c, d, a, b])
        });
        (window.sum() + net.second.bias.at(c)).relu()
    });
    let second = halved(second, [n, 16, 4, 4]);
    build([n, CLASSES], |[n, j]| {
        let input = |k: I| second.at([n, k / 16, k / 4 % 4, k % 4]);
        neuron(net.last, 16 * 4 * 4, input, j)
    })
}

/// The largest of each four neighbours.
fn halved(x: A, sizes: [usize; 4]) -> A {
    build(sizes, |[n, c, i, j]| {
        let at = |a: i64, b: i64| x.at([n, c, 2 * i + a, 2 * j + b]);
        at(0, 0).maximum(at(0, 1)).maximum(at(1, 0)).maximum(at(1, 1))
    })
}

pub fn recurrent(net: Recurrent<A>, x: A) -> A {
    let n = x.len();
    let Gru { input, recurrent, bias } = net.rows;
    let rows = iota(SIZE);
    let state = fold(zeros([n, HIDDEN]), rows, |h: A, row: I| {
        build([n, HIDDEN], |[n, j]| {
            let of_x = |gate: i64| {
                let j = j + gate * HIDDEN as i64;
                build(SIZE, |k| x.at([n, row, k]) * input.at([k, j])).sum() + bias.at(j)
            };
            let of_h = |gate: i64| {
                let j = j + gate * HIDDEN as i64;
                build(HIDDEN, |k| h.at([n, k]) * recurrent.at([k, j])).sum()
            };
            let (r, z) = ((of_x(0) + of_h(0)).sigmoid(), (of_x(1) + of_h(1)).sigmoid());
            let new = (of_x(2) + r * of_h(2)).tanh();
            (1.0 - z) * new + z * h.at([n, j])
        })
    });
    build([n, CLASSES], |[n, j]| neuron(net.last, HIDDEN, |k| state.at([n, k]), j))
}

pub fn transformer(net: Transformer<A>, x: A) -> A {
    let n = x.len();
    let (side, patch) = ((SIZE / PATCH) as i64, PATCH as i64);
    let x = build([n, PATCHES, FEATURES], |[n, p, j]| {
        let pixel = |k: I| x.at([n, p / side * patch + k / patch, p % side * patch + k % patch]);
        neuron(net.embed, PATCH * PATCH, pixel, j) + net.positions.at([p, j])
    });

    let normed = normalized(net.before, x, n);
    let part = |layer: Dense<A>| {
        build([n, PATCHES, FEATURES], |[n, p, j]| {
            neuron(layer, FEATURES, |k| normed.at([n, p, k]), j)
        })
    };
    let (query, key, value) =
        (part(net.attention.query), part(net.attention.key), part(net.attention.value));
    let size = FEATURES / HEADS;
    let weights = build([n, HEADS, PATCHES, PATCHES], |[n, head, p, q]| {
        let feature = |d: I| head * size as i64 + d;
        let products = build(size, |d| query.at([n, p, feature(d)]) * key.at([n, q, feature(d)]));
        (products.sum() / (size as f32).sqrt()).exp()
    });
    let answers = build([n, PATCHES, FEATURES], |[n, p, j]| {
        let weight = |q: I| weights.at([n, j / size as i64, p, q]);
        build(PATCHES, |q| weight(q) * value.at([n, q, j])).sum() / build(PATCHES, weight).sum()
    });
    let x = build([n, PATCHES, FEATURES], |[n, p, j]| {
        x.at([n, p, j]) + neuron(net.attention.out, FEATURES, |k| answers.at([n, p, k]), j)
    });

    let normed = normalized(net.between, x, n);
    let wide = build([n, PATCHES, 2 * FEATURES], |[n, p, j]| {
        neuron(net.wide, FEATURES, |k| normed.at([n, p, k]), j).relu()
    });
    let x = build([n, PATCHES, FEATURES], |[n, p, j]| {
        x.at([n, p, j]) + neuron(net.narrow, 2 * FEATURES, |k| wide.at([n, p, k]), j)
    });
    build([n, CLASSES], |[n, j]| {
        let mean = |k: I| build(PATCHES, |p| x.at([n, p, k])).sum() / PATCHES as f32;
        neuron(net.last, FEATURES, mean, j)
    })
}

/// Each piece with mean 0 and variance 1.
fn normalized(norm: Norm<A>, x: A, n: usize) -> A {
    let mean =
        build([n, PATCHES], |[n, p]| build(FEATURES, |k| x.at([n, p, k])).sum() / FEATURES as f32);
    let variance = build([n, PATCHES], |[n, p]| {
        build(FEATURES, |k| (x.at([n, p, k]) - mean.at([n, p])).square()).sum() / FEATURES as f32
    });
    build([n, PATCHES, FEATURES], |[n, p, k]| {
        let z = (x.at([n, p, k]) - mean.at([n, p])) / (variance.at([n, p]) + 1e-5).sqrt();
        z * norm.scale.at(k) + norm.bias.at(k)
    })
}
