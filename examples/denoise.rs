//! An image without its noise, by total variation.
//!
//! Rudin, Osher and Fatemi's model: the image $u$ that minimises
//!
//! $$ \frac12 \lVert u - f \rVert^2 + \lambda \sum_{ij} \sqrt{ |\nabla u|_{ij}^2 + \epsilon^2 } $$
//!
//! is near the noisy image $f$ and has small slopes, but for edges, which cost no more if they are
//! sharp. Written pixel by pixel, minimised by L-BFGS.

#[path = "pictures/mod.rs"]
mod pictures;

use std::error::Error;

use cotan::optim::Lbfgs;
use cotan::prelude::*;
use cotan::random::Key;

const SIZE: usize = 64;
const NOISE: f64 = 0.15;
const LAMBDA: f64 = 0.16;

/// What is minimised.
pub fn loss(u: Arr<f64>, noisy: Arr<f64>) -> Arr<f64> {
    let [n, m] = u.dims();
    // At the last row and column there is no next pixel, and no slope.
    let slopes = build([n, m], |[i, j]| {
        let down = select(i.lt(n - 1), u.at_or_zero((i + 1, j)) - u.at((i, j)), 0.0);
        let across = select(j.lt(m - 1), u.at_or_zero((i, j + 1)) - u.at((i, j)), 0.0);
        (down * down + across * across + 1e-6).sqrt()
    });
    0.5 * (u - noisy).square().sum() + LAMBDA * slopes.sum()
}

/// Rings, a square and a ramp.
fn image() -> cotan::Result<Tensor<f64>> {
    Tensor::from_fn([SIZE, SIZE], |ix| {
        let (i, j) = (ix[0] as f64, ix[1] as f64);
        let from_centre = (i - 24.0).hypot(j - 24.0);
        if from_centre < 18.0 {
            if ((from_centre / 6.0) as usize).is_multiple_of(2) { 0.9 } else { 0.3 }
        } else if (36.0..56.0).contains(&i) && (36.0..56.0).contains(&j) {
            0.7
        } else {
            0.5 * j / SIZE as f64
        }
    })
}

/// The ratio of signal and noise in decibels, for values from 0 to 1.
fn psnr(found: &Tensor<f64>, exact: &Tensor<f64>) -> f64 {
    -10.0 * (found - exact).map(|e| e * e).mean().log10()
}

/// Makes noise, and takes it away.
pub fn main() -> Result<(), Box<dyn Error>> {
    let exact = image()?;
    let noisy = &exact + &(NOISE * &Key::new(3).normal::<f64>([SIZE, SIZE])?);
    let objective = value_and_grad(loss);
    let minimiser = Lbfgs { max_iterations: 300, gradient_tolerance: 1e-4, ..Lbfgs::new() };
    let found = minimiser.minimize(|u| objective.call((u, &noisy)), noisy.clone())?;

    let (before, after) = (psnr(&noisy, &exact), psnr(&found.point, &exact));
    println!("{} steps of L-BFGS, loss {:.4}", found.iterations, found.value);
    println!("signal to noise: {before:.1} dB before, {after:.1} dB after");
    println!("left to right: the image, with noise, without");
    pictures::write_png("denoise.png", &[&exact, &noisy, &found.point], [0.0, 1.0])?;

    if after < before + 8.0 { Err("too much noise is left".into()) } else { Ok(()) }
}
