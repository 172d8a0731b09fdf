//! An inverse problem: how warm a plate was, from how warm it is now.
//!
//! The temperature $u$ of a plate that is kept at 0 along its edges follows the equation of heat, here
//! in steps of Euler's method,
//!
//! $$ u_{ij} \leftarrow u_{ij} + \kappa \, (u_{i-1,j} + u_{i+1,j} + u_{i,j-1} + u_{i,j+1} - 4 u_{ij}). $$
//!
//! What is seen is $u$ after 60 steps, with some noise: nothing but a blur. Among all temperatures $u_0$
//! at the beginning, those are looked for that minimise
//!
//! $$ \frac12 \lVert \mathrm{heat}(u_0) - \mathrm{seen} \rVert^2 + \alpha \, \mathrm{TV}(u_0), $$
//!
//! where the second term, the total variation, prefers flat pieces with few edges; without it the noise
//! would grow without bound. The gradient by all 1,600 temperatures goes back through the 60 steps.

#[path = "pictures/mod.rs"]
mod pictures;

use std::error::Error;

use cotan::optim::Lbfgs;
use cotan::prelude::*;
use cotan::random::Key;

const SIZE: usize = 40;
const TIME_STEPS: usize = 60;
const KAPPA: f64 = 0.2;
const NOISE: f64 = 0.002;
const ALPHA: f64 = 1e-5;

/// The plate some time later.
pub fn heat(start: Arr<f64>) -> Arr<f64> {
    for_loop(TIME_STEPS, start, |_, u| {
        let [n, m] = u.dims();
        build([n, m], |[i, j]| {
            // Outside of the plate there is 0.
            let around = u.at_or_zero((i - 1, j))
                + u.at_or_zero((i + 1, j))
                + u.at_or_zero((i, j - 1))
                + u.at_or_zero((i, j + 1));
            u.at((i, j)) + KAPPA * (around - 4.0 * u.at((i, j)))
        })
    })
}

/// The sum of the slopes everywhere, rounded off where they are near 0.
fn total_variation(u: Arr<f64>) -> Arr<f64> {
    let [n, m] = u.dims();
    build([n - 1, m - 1], |[i, j]| {
        let (down, across) = (u.at((i + 1, j)) - u.at((i, j)), u.at((i, j + 1)) - u.at((i, j)));
        (down * down + across * across + 1e-4).sqrt()
    })
    .sum()
}

/// What is minimised.
pub fn loss(start: Arr<f64>, seen: Arr<f64>) -> Arr<f64> {
    0.5 * (heat(start) - seen).square().sum() + ALPHA * total_variation(start)
}

/// A warm disc and a hot bar on a cold plate.
fn truth() -> cotan::Result<Tensor<f64>> {
    Tensor::from_fn([SIZE, SIZE], |ix| {
        let (i, j) = (ix[0] as f64, ix[1] as f64);
        let disc = (i - 12.0).hypot(j - 13.0) < 6.5;
        let bar = (22.0..31.0).contains(&i) && (17.0..33.0).contains(&j);
        if bar {
            1.0
        } else if disc {
            0.6
        } else {
            0.0
        }
    })
}

fn error(found: &Tensor<f64>, exact: &Tensor<f64>) -> f64 {
    let norm = |x: &Tensor<f64>| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    norm(&(found - exact)) / norm(exact)
}

/// Lets a plate cool, and goes back.
pub fn main() -> Result<(), Box<dyn Error>> {
    let exact = truth()?;
    let noise = Key::new(0).normal::<f64>([SIZE, SIZE])?;
    let seen = &jit(heat).call(&exact)? + &(NOISE * &noise);

    let objective = value_and_grad(loss);
    let minimiser = Lbfgs { max_iterations: 400, gradient_tolerance: 1e-7, ..Lbfgs::new() };
    let found = minimiser.minimize(|u| objective.call((u, &seen)), Tensor::zeros([SIZE, SIZE])?)?;

    let (blurred, sharp) = (error(&seen, &exact), error(&found.point, &exact));
    println!("{} steps of L-BFGS, loss {:.3e}", found.iterations, found.value);
    println!("what is seen differs from the truth by {:.1} %", 100.0 * blurred);
    println!("what was found differs from the truth by {:.1} %", 100.0 * sharp);
    println!("left to right: the truth, what is seen, what was found");
    pictures::write_png("heat.png", &[&exact, &seen, &found.point], [0.0, 1.0])?;

    if sharp > 0.5 * blurred { Err("the plate was not found".into()) } else { Ok(()) }
}
