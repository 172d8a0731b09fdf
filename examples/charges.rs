//! Charges in the plane that repel each other, in a bowl: the picture at the top of the README.
//!
//! The energy is
//!
//! $$ E(x) = \sum_{i < j} \frac 1 {\lVert x_i - x_j \rVert} + \sum_i \lVert x_i \rVert^2 $$
//!
//! and the force on a charge is the gradient by its position, with the sign changed. L-BFGS moves them
//! along until nothing pulls any more.

#[path = "pictures/mod.rs"]
mod pictures;

use std::error::Error;

use cotan::optim::Lbfgs;
use cotan::prelude::*;
use cotan::random::Key;
use pictures::Plot;

const CHARGES: usize = 30;
const ACROSS: usize = 6;

/// The energy.
pub fn energy(x: Arr<f64>) -> Arr<f64> {
    let n = x.len();
    let pairs = build([n, n], |[i, j]| select(i.lt(j), 1.0 / (x.at(i) - x.at(j)).norm(), 0.0));
    pairs.sum() + x.square().sum()
}

fn pairs(x: &Tensor<f64>) -> Vec<[f64; 2]> {
    x.to_vec().chunks(2).map(|row| [row[0], row[1]]).collect()
}

/// Draws them before and after.
pub fn main() -> Result<(), Box<dyn Error>> {
    // Near the points of a grid.
    let jitter = Key::new(9).uniform_in::<f64>([CHARGES, 2], -0.2, 0.2)?;
    let grid = Tensor::from_fn([CHARGES, 2], |ix| {
        let place = if ix[1] == 0 { ix[0] % ACROSS } else { ix[0] / ACROSS };
        0.6 * (place as f64 - 2.25)
    })?;
    let start = &grid + &jitter;
    let objective = value_and_grad(energy);
    let (before, slope) = objective.call(&start)?;
    let minimiser = Lbfgs { gradient_tolerance: 1e-6, ..Lbfgs::new() };
    let found = minimiser.minimize(|x| objective.call(x), start.clone())?;
    let (after, rest) = objective.call(&found.point)?;
    let largest = rest.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let [before, after] = [before, after].map(|energy| energy.item().unwrap_or(f64::NAN));
    println!("energy {before:.2} at first, {after:.2} at rest, {} steps", found.iterations);
    println!("the largest force at rest is {largest:.0e}");

    let plot = || Plot::new([-3.4, 3.4], [-3.4, 3.4], 340.0, 340.0);
    let mut left = plot().title("positions and forces");
    for (at, slope) in pairs(&start).into_iter().zip(pairs(&slope)) {
        // Strong forces are drawn shorter.
        let size = slope[0].hypot(slope[1]);
        let part = -0.3 * size.ln_1p() / size;
        left = left.arrow(at, [part * slope[0], part * slope[1]], "#cf222e");
    }
    let left = left.points(pairs(&start), "#0969da");
    let right = plot().title("at rest").points(pairs(&found.point), "#0969da");
    Plot::write("charges.svg", &[left, right])?;

    if largest.is_nan() || largest > 1e-4 {
        return Err(format!("a force of {largest} is left").into());
    }
    Ok(())
}
