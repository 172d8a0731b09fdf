//! Gradient descent.

use super::{Optimizer, Schedule, expect_fit, steps, zeros_like};
use crate::error::Result;
use crate::structure::{Arrays, zip_tensors};
use crate::tensor::Tensor;
use cotan_derive::Arrays;

/// Gradient descent, with momentum, Nesterov's step and weight decay if asked for.
///
/// With gradient $g$, parameters $p$, learning rate $\eta$, momentum $\mu$ and weight decay
/// $\lambda$: $g \leftarrow g + \lambda p$, $v \leftarrow \mu v + g$, $p \leftarrow p - \eta v$; with
/// Nesterov's step $p \leftarrow p - \eta (g + \mu v)$.
///
/// ```
/// use cotan::optim::{Optimizer, Sgd};
/// use cotan::Tensor;
///
/// let sgd = Sgd { momentum: 0.5, ..Sgd::new(0.25) };
/// let (p, g) = (Tensor::from([1.0, 2.0]), Tensor::from([1.0, 0.0]));
/// let mut state = sgd.init(&p)?;
/// let p = sgd.step(&mut state, &p, &g)?;
/// assert_eq!(p.to_vec(), [0.75, 2.0]);
/// let p = sgd.step(&mut state, &p, &g)?;
/// assert_eq!(p.to_vec(), [0.375, 2.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sgd {
    /// The learning rate $\eta$.
    pub rate: Schedule,
    /// How much of the last step goes into the next, $\mu$.
    pub momentum: f64,
    /// Whether to take Nesterov's step.
    pub nesterov: bool,
    /// The weight decay $\lambda$: the gradient of $\frac\lambda2 |p|^2$ is added.
    pub weight_decay: f64,
}

impl Sgd {
    /// Plain gradient descent.
    pub fn new(rate: impl Into<Schedule>) -> Sgd {
        Sgd { rate: rate.into(), momentum: 0.0, nesterov: false, weight_decay: 0.0 }
    }
}

/// What [`Sgd`] remembers.
#[derive(Arrays, Clone, Debug, PartialEq)]
#[arrays(crate = crate)]
pub struct SgdState<P, N = Tensor<i64>> {
    /// How many steps were taken.
    pub step: N,
    /// The velocity $v$.
    pub velocity: P,
}

impl<P: Arrays<Concrete = P>> Optimizer<P> for Sgd {
    type State = SgdState<P>;

    fn init(&self, params: &P) -> Result<SgdState<P>> {
        Ok(SgdState { step: 0.into(), velocity: zeros_like(params)? })
    }

    fn step(&self, state: &mut SgdState<P>, params: &P, gradient: &P) -> Result<P> {
        expect_fit(params, gradient, &state.velocity)?;
        let (rate, momentum) = (self.rate.at(steps(&state.step)?), self.momentum);
        let g = zip_tensors(gradient, params, |g, p| g + self.weight_decay * p)?;
        let velocity = zip_tensors(&state.velocity, &g, |v, g| momentum * v + g)?;
        let stepped = match self.nesterov {
            false => zip_tensors(params, &velocity, |p, v| p - rate * v)?,
            true => {
                let ahead = zip_tensors(&g, &velocity, |g, v| g + momentum * v)?;
                zip_tensors(params, &ahead, |p, d| p - rate * d)?
            }
        };
        *state = SgdState { step: &state.step + 1, velocity };
        Ok(stepped)
    }
}
