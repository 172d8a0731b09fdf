//! The first program of the README, which shows all below this line.

use cotan::prelude::*;

/// The energy of charges in the plane: they repel each other, and a bowl holds them together.
pub fn energy(x: Arr<f64>) -> Arr<f64> {
    let n = x.len();
    let pairs = build([n, n], |[i, j]| select(i.lt(j), 1.0 / (x.at(i) - x.at(j)).norm(), 0.0));
    pairs.sum() + x.square().sum()
}

fn main() -> cotan::Result<()> {
    let (value, gradient) = value_and_grad(energy).call([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])?;
    println!("energy {value}, gradient\n{gradient}");
    Ok(())
}
