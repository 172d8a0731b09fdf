//! What reverse mode keeps of a program.

use cotan_ad::{Residual, vjp};
use cotan_bot::bulk;
use cotan_ir::{Program, Result};

/// The arrays that the gradient of a program by its float inputs keeps between the forward and the
/// reverse pass, the largest first, as the optimised program has them. What is cheap to compute from
/// others the executor may compute again.
pub fn residuals(program: &Program) -> Result<Vec<Residual>> {
    let (bulk, _) = bulk(program, &cotan_bot::Options::default())?;
    let gradient = vjp(&bulk, None)?;
    let (gradient, _) = cotan_opt::optimise(&gradient, &cotan_opt::Options::default())?;
    Ok(cotan_ad::residuals(&bulk, &gradient))
}
