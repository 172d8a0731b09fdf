//! Bayesian logistic regression by Hamiltonian Monte Carlo.
//!
//! Labels $t_i$ of 1 and 0 have the probabilities $\sigma(w \cdot x_i)$ and its complement, and the
//! weights $w$ a normal prior with standard deviation 2. Samples of the posterior are drawn by
//! following the equations of motion
//!
//! $$ \dot w = p, \qquad \dot p = \nabla \log \pi(w) $$
//!
//! from a random momentum $p$, by the leapfrog method. A trajectory, with a gradient in each of its
//! steps, is one program; what stays outside are random numbers and the decision whether the end of the
//! trajectory is accepted. The size of the steps is adapted until about 80 % are.
//!
//! The means and standard deviations are compared with those of the normal distribution at the most
//! likely weights, whose covariance is the inverse of a Hessian.

use std::error::Error;

use cotan::prelude::*;
use cotan::random::Key;

const POINTS: usize = 300;
const WEIGHTS: [f64; 4] = [1.5, -1.0, 0.5, 0.0];
const PRIOR: f64 = 2.0;
const LEAPS: usize = 10;
const WARM_UP: u64 = 300;
const SAMPLES: u64 = 2000;

/// The logarithm of the posterior density, up to a constant.
pub fn log_posterior(w: Arr<f64>, x: Arr<f64>, labels: Arr<f64>) -> Arr<f64> {
    let unlikely = nn::binary_cross_entropy_with_logits(x.matmul(w), labels);
    -unlikely.sum() - 0.5 * (w / PRIOR).square().sum()
}

/// The end of a trajectory, and the probability that it is accepted.
pub fn trajectory(
    w: Arr<f64>,
    p: Arr<f64>,
    size: Arr<f64>,
    x: Arr<f64>,
    labels: Arr<f64>,
) -> (Arr<f64>, Arr<f64>) {
    let slope = |w| grad(log_posterior).at((w, x, labels));
    let energy = |w, p: Arr<f64>| 0.5 * p.square().sum() - log_posterior(w, x, labels);
    let (end, q) = for_loop(LEAPS, (w, p), |_, (w, p)| {
        let p = p + 0.5 * size * slope(w);
        let w = w + size * p;
        (w, p + 0.5 * size * slope(w))
    });
    (end, (energy(w, p) - energy(end, q)).exp().minimum(1.0))
}

/// The most likely weights by Newton's method, and standard deviations from the Hessian there.
fn laplace(x: &Tensor<f64>, labels: &Tensor<f64>) -> cotan::Result<(Tensor<f64>, Tensor<f64>)> {
    let step = jit(|w: Arr<f64>, x: Arr<f64>, labels: Arr<f64>| {
        let curvature = -hessian(log_posterior).at((w, x, labels));
        let next = w + curvature.solve(grad(log_posterior).at((w, x, labels)));
        (next, curvature.inverse().diagonal(0).sqrt())
    });
    let mut w = Tensor::zeros([WEIGHTS.len()])?;
    let mut deviations = w.clone();
    for _ in 0..10 {
        (w, deviations) = step.call((&w, x, labels))?;
    }
    Ok((w, deviations))
}

/// Draws samples, and compares them with the normal approximation.
pub fn main() -> Result<(), Box<dyn Error>> {
    let [points, chances, chain] = Key::new(1).split_into();
    let x = points.normal::<f64>([POINTS, WEIGHTS.len()])?;
    let draw = |x: Arr<f64>, chance: Arr<f64>| {
        x.matmul(constant(WEIGHTS)).sigmoid().gt(chance).cast::<f64>()
    };
    let labels = jit(draw).call((&x, chances.uniform::<f64>([POINTS])?))?;

    let run = jit(trajectory);
    let (mut w, mut size, mut accepted) = (Tensor::zeros([WEIGHTS.len()])?, 0.05, 0);
    let mut samples = Vec::new();
    for n in 0..WARM_UP + SAMPLES {
        let [momentum, chance] = chain.fold_in(n).split_into();
        let p = momentum.normal::<f64>([WEIGHTS.len()])?;
        let (end, odds) = run.call((&w, &p, size, &x, &labels))?;
        let odds = odds.item().unwrap_or(0.0);
        let taken = chance.uniform::<f64>([1])?[[0]] < odds;
        if taken {
            w = end;
        }
        if n < WARM_UP {
            size *= (0.1 * (odds - 0.8)).exp();
        } else {
            accepted += u64::from(taken);
            samples.push(w.clone());
        }
    }

    let samples = Tensor::stack(&samples, 0)?;
    let (means, deviations) = (samples.mean_axis(0)?, samples.std_axis(0, 1)?);
    let (likely, spread) = laplace(&x, &labels)?;
    println!("{:.0} % accepted, steps of {size:.3}", 100.0 * accepted as f64 / SAMPLES as f64);
    println!("truth           {WEIGHTS:.3?}");
    println!("posterior means {:.3?}", means.to_vec());
    println!("          and standard deviations {:.3?}", deviations.to_vec());
    println!("normal approximation  {:.3?} and {:.3?}", likely.to_vec(), spread.to_vec());

    // The two differ by what is not normal, and by the number of samples.
    let apart =
        (&means - &likely).map(f64::abs).max().max((&deviations - &spread).map(f64::abs).max());
    println!("they differ by at most {apart:.3}");
    if apart > 0.06 { Err("the chain has not converged".into()) } else { Ok(()) }
}
