//! How long small kernels and their gradients take, in nanoseconds an element.
//!
//! Run it with `--release`, and with `COTAN_BACKEND=interp` for the reference interpreter. Each
//! figure is the least of the calls that fit into a third of a second, at least three; arrays are
//! made for every call, so it is the time that a caller sees.

use std::error::Error;
use std::time::{Duration, Instant};

use cotan::prelude::*;
use cotan::random::Key;

/// A function to a scalar.
type Kernel = fn(Arr<f64>) -> Arr<f64>;

/// $\sum_i \tanh(2 x_i + 1) e^{-x_i^2}$
fn chain(x: Arr<f64>) -> Arr<f64> {
    ((2.0 * x + 1.0).tanh() * (-(x * x)).exp()).sum()
}

/// $\sum_i (2 x_i + 1) x_i - 3 x_i$
fn cheap(x: Arr<f64>) -> Arr<f64> {
    ((2.0 * x + 1.0) * x - 3.0 * x).sum()
}

/// $\sum_i x_i x_{n-1-i}$
fn self_convolution(x: Arr<f64>) -> Arr<f64> {
    let n = x.len();
    build(n, |i| x.at(i) * x.at(n - 1 - i)).sum()
}

/// $\sum_i (x_{i-1} - 2 x_i + x_{i+1})^2$ with zeros outside.
fn stencil(x: Arr<f64>) -> Arr<f64> {
    build(x.len(), |i| (x.at(i - 1) - 2.0 * x.at(i) + x.at(i + 1)).square()).sum()
}

/// The logarithm of the sum of exponentials of each of 1000 rows, added up.
fn logsumexp_rows(x: Arr<f64>) -> Arr<f64> {
    let n = x.len() / 1000;
    x.reshape([n, 1000]).logsumexp_axis(1).sum()
}

/// The least time of a call, in seconds.
fn least(mut call: impl FnMut() -> cotan::Result<()>) -> cotan::Result<f64> {
    let begin = Instant::now();
    let (mut best, mut calls) = (f64::INFINITY, 0);
    while calls < 3 || begin.elapsed() < Duration::from_millis(330) {
        let started = Instant::now();
        call()?;
        best = best.min(started.elapsed().as_secs_f64());
        calls += 1;
    }
    Ok(best)
}

fn main() -> Result<(), Box<dyn Error>> {
    let kernels: [(&str, Kernel); 5] = [
        ("chain", chain),
        ("cheap", cheap),
        ("self-convolution", self_convolution),
        ("stencil", stencil),
        ("logsumexp of rows", logsumexp_rows),
    ];
    println!("| kernel | elements | backend | value | value and gradient | ratio |");
    println!("|---|---|---|---|---|---|");
    for (name, f) in kernels {
        for n in [1000, 100_000] {
            let x = Key::new(7).normal::<f64>([n])?;
            let value = jit(f).compile([n])?;
            let both = value_and_grad(f).compile([n])?;
            let primal = least(|| value.call(&x).map(drop))?;
            let gradient = least(|| both.call(&x).map(drop))?;
            let each = |seconds: f64| seconds * 1e9 / n as f64;
            println!(
                "| {name} | {n} | {:?} | {:.2} | {:.2} | {:.1} |",
                both.backend(),
                each(primal),
                each(gradient),
                gradient / primal
            );
        }
    }
    Ok(())
}
