//! A mixture of Gaussians, fitted to points by Adam.
//!
//! Component $k$ has the weight $\operatorname{softmax}(\alpha)_k$, the mean $\mu_k$ and the inverse
//! covariance $Q_k^T Q_k$, where $Q_k$ is lower triangular with the positive diagonal $e^{q_k}$. Its
//! determinant is then $e^{\sum q_k}$, and nothing needs to be inverted or constrained. The
//! likelihood of $n$ points of $d$ coordinates is
//!
//! $$ \ell = -\frac{n d}{2} \log 2 \pi + \sum_i \log \sum_k \exp\Bigl( \alpha_k + \sum q_k
//!    - \frac12 \lVert Q_k (x_i - \mu_k) \rVert^2 \Bigr) - n \log \sum_k e^{\alpha_k}. $$
//!
//! What is maximised is $\ell$ and the logarithm of a Wishart density of each $Q_k^T Q_k$, up to a
//! constant, $m \sum q_k - \frac{\gamma^2}{2} \lVert Q_k \rVert^2$. It keeps a component from
//! collapsing to a single point, where the likelihood is infinite.
//!
//! The parameters are those of the GMM problem of the ADBench suite: the diagonal of $Q_k$ and then
//! its part below, column by column, are row $k$ of one array.

use std::error::Error;
use std::f64::consts::TAU;

use cotan::optim::{Adam, Optimizer};
use cotan::prelude::*;
use cotan::random::Key;

/// The mixture that the points are drawn from.
const CENTRES: [[f64; 2]; 3] = [[-2.0, 0.0], [2.0, 0.5], [0.5, 4.0]];
const SPREAD: f64 = 0.4;
const PER_CENTRE: usize = 20;

const GAMMA: f64 = 0.1;
const M: f64 = 0.0;
const STEPS: usize = 120;
const RATE: f64 = 0.1;

/// The parameters of $K$ components.
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct Mixture<A> {
    /// The logarithms of the weights, up to a constant: `[K]`.
    pub alphas: A,
    /// `[K, d]`.
    pub means: A,
    /// The diagonals $q_k$ as logarithms, and what is below them: `[K, d (d + 1) / 2]`.
    pub factors: A,
}

/// The matrices $Q$, `[K, d, d]`, element by element.
pub fn factor_matrices(factors: Arr<f64>, d: usize) -> Arr<f64> {
    build([factors.len(), d, d], |[k, i, j]| {
        // The columns before number j hold d - 1, d - 2, .. elements.
        let before = j * (2 * d - 1 - j) / 2;
        let below = factors.at((k, d + before + i - j - 1));
        let diagonal = factors.at((k, i)).exp();
        select(i.eq(j), diagonal, select(i.gt(j), below, 0.0))
    })
}

/// The logarithm of the likelihood of the points, $\ell$.
pub fn log_likelihood(p: Mixture<Arr<f64>>, x: Arr<f64>) -> Arr<f64> {
    let [n, d] = x.dims();
    let q = factor_matrices(p.factors, d);
    // One number for each point and component, written as in the formula.
    let terms = build([n, p.alphas.len()], |[i, k]| {
        let from_mean = q.at(k).matmul(x.at(i) - p.means.at(k));
        let log_det = p.factors.at(k).slice(s![..d]).sum();
        p.alphas.at(k) + log_det - 0.5 * from_mean.square().sum()
    });
    let constant = -0.5 * (n * d) as f64 * TAU.ln();
    constant + terms.logsumexp_axis(1).sum() - n as f64 * p.alphas.logsumexp()
}

/// The logarithm of the prior density of the factors, up to a constant.
pub fn log_prior(p: Mixture<Arr<f64>>) -> Arr<f64> {
    let [_, d] = p.means.dims();
    let log_det = p.factors.slice(s![.., ..d]).sum();
    M * log_det - 0.5 * GAMMA * GAMMA * factor_matrices(p.factors, d).square().sum()
}

/// What is minimised, per point so that its size does not depend on how many there are.
pub fn loss(p: Mixture<Arr<f64>>, x: Arr<f64>) -> Arr<f64> {
    -(log_likelihood(p, x) + log_prior(p)) / x.len() as f64
}

/// Points around the centres.
pub fn data(key: Key) -> cotan::Result<Tensor<f64>> {
    let noise = key.normal::<f64>([CENTRES.len(), PER_CENTRE, 2])?;
    let points = |noise: Arr<f64>| {
        (constant(CENTRES).expand_dims(1) + SPREAD * noise).reshape([CENTRES.len() * PER_CENTRE, 2])
    };
    jit(points).call(noise)
}

/// The distance from each of the true centres to the nearest mean.
fn distances(means: &Tensor<f64>) -> cotan::Result<Tensor<f64>> {
    let nearest = |means: Arr<f64>| {
        build(CENTRES.len(), |c| (means - constant(CENTRES).at(c)).norm_axis(1).min())
    };
    jit(nearest).call(means)
}

/// Fits a mixture, and looks for the true centres among its means.
pub fn main() -> Result<(), Box<dyn Error>> {
    let x = data(Key::new(3))?;

    // Equal weights, unit matrices, and means that are merely different.
    let mut p = Mixture {
        alphas: Tensor::zeros([3])?,
        means: Tensor::from([[-1.0, -1.0], [1.0, -1.0], [0.0, 1.0]]),
        factors: Tensor::zeros([3, 3])?,
    };
    let objective = value_and_grad(loss).compile_like((&p, &x))?;
    let adam = Adam::new(RATE);
    let mut state = adam.init(&p)?;
    for step in 0..STEPS {
        let (value, gradient) = objective.call((&p, &x))?;
        if step % 20 == 0 {
            println!("step {step:3}: loss {:.5}", value.item().unwrap_or(f64::NAN));
        }
        p = adam.step(&mut state, &p, &gradient)?;
    }

    println!("means:\n{}", p.means);
    let weights = jit(|alphas: Arr<f64>| alphas.softmax(0)).call(&p.alphas)?;
    println!("weights: {:.3?}", weights.to_vec());
    let distances = distances(&p.means)?;
    println!("distances of the true centres from the nearest mean: {:.3?}", distances.to_vec());

    // The mean of 20 points with spread 0.4 is rarely farther than 0.3 from their centre.
    match distances.iter().find(|&d| d.is_nan() || d > 0.3) {
        Some(d) => Err(format!("no mean is nearer than {d} to a centre").into()),
        None => Ok(()),
    }
}
