//! Optimisers: from parameters and gradients to better parameters.
//!
//! Parameters are any structure of tensors, and gradients come in the same structure. The first-order
//! methods ([`Sgd`], [`Adam`], [`AdamW`], [`RmsProp`]) take a step for each gradient, which may be of
//! another part of the data each time; [`Lbfgs`] minimises a fixed function to full precision.
//!
//! ```
//! use cotan::optim::{Adam, Optimizer};
//! use cotan::prelude::*;
//!
//! // A line through points.
//! let loss = |(a, b): (Arr<f64>, Arr<f64>), x: Arr<f64>, y: Arr<f64>| (a * x + b - y).square().sum();
//! let gradient = grad(loss);
//! let (x, y) = (Tensor::from([0.0, 1.0, 2.0]), Tensor::from([1.0, 3.0, 5.0]));
//!
//! let adam = Adam::new(0.1);
//! let mut p = (Tensor::from(0.0), Tensor::from(0.0));
//! let mut state = adam.init(&p)?;
//! for _ in 0..500 {
//!     let dp = gradient.call((&p, &x, &y))?;
//!     p = adam.step(&mut state, &p, &dp)?;
//! }
//! let (a, b) = (p.0.item().unwrap_or(0.0), p.1.item().unwrap_or(0.0));
//! assert!((a - 2.0).abs() < 1e-3 && (b - 1.0).abs() < 1e-3);
//! # Ok::<(), cotan::Error>(())
//! ```
//!
//! States are structures as the parameters are, and are saved and loaded in the same way: see
//! [`load_npz`](crate::load_npz). A gradient that is not finite makes parameters that are not
//! finite: ask [`all_finite`](crate::structure::all_finite) where that may happen.

mod adam;
mod clip;
mod lbfgs;
mod line_search;
mod rmsprop;
mod schedule;
mod sgd;

pub use adam::{Adam, AdamState, AdamW};
pub use clip::{clip_by_norm, clip_by_value};
pub use lbfgs::{Lbfgs, Minimum, Progress, Stop};
pub use rmsprop::{RmsProp, RmsPropState};
pub use schedule::Schedule;
pub use sgd::{Sgd, SgdState};

use crate::error::{Error, ErrorKind, Result};
use crate::structure::{Arrays, expect_same, map_tensors};
use crate::tensor::Tensor;

/// A method that takes a step for each gradient.
///
/// ```
/// use cotan::optim::{Optimizer, Sgd};
/// use cotan::{Result, Tensor};
///
/// /// Minimises `x * x`, by whatever method.
/// fn descend(method: impl Optimizer<Tensor<f64>>) -> Result<Tensor<f64>> {
///     let mut x = Tensor::from(1.0);
///     let mut state = method.init(&x)?;
///     for _ in 0..3 {
///         let dx = 2.0 * &x;
///         x = method.step(&mut state, &x, &dx)?;
///     }
///     Ok(x)
/// }
/// assert_eq!(descend(Sgd::new(0.25))?, 0.125);
/// # Ok::<(), cotan::Error>(())
/// ```
pub trait Optimizer<P> {
    /// What it remembers from step to step: a structure, which can be saved and loaded.
    type State: Arrays<Concrete = Self::State>;

    /// The state before the first step.
    fn init(&self, params: &P) -> Result<Self::State>;

    /// The parameters after a step. The gradient has the shapes of the parameters; after an error
    /// the state is as before.
    fn step(&self, state: &mut Self::State, params: &P, gradient: &P) -> Result<P>;
}

/// Checks that a gradient and a part of the state have the shapes of the parameters.
fn expect_fit<P: Arrays>(params: &P, gradient: &P, state: &P) -> Result<()> {
    expect_same("step", params, gradient)?;
    expect_same("step", params, state)
}

/// How many steps a state has taken; one that was loaded may say anything.
fn steps(step: &Tensor<i64>) -> Result<u64> {
    let count = step.item().filter(|_| step.rank() == 0);
    count.and_then(|step| u64::try_from(step).ok()).ok_or_else(|| {
        let message = format!("a state whose number of steps is {step:?}");
        Error::new(ErrorKind::Data, "step", message).with_hint("`init` makes a state")
    })
}

/// Zeros in the shapes of parameters.
fn zeros_like<P: Arrays<Concrete = P>>(params: &P) -> Result<P> {
    map_tensors(params, |_| 0.0)
}
