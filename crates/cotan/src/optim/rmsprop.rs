//! Gradients over the root of the mean of their squares.

use super::{Optimizer, Schedule, expect_fit, steps, zeros_like};
use crate::error::Result;
use crate::structure::{Arrays, zip_tensors};
use crate::tensor::Tensor;
use cotan_derive::Arrays;

/// RMSProp (Hinton, 2012): $s \leftarrow \rho s + (1 - \rho) g^2$,
/// $v \leftarrow \mu v + g / (\sqrt s + \epsilon)$, $p \leftarrow p - \eta v$.
///
/// ```
/// use cotan::optim::{Optimizer, RmsProp};
/// use cotan::Tensor;
///
/// let method = RmsProp { decay: 0.75, epsilon: 0.0, ..RmsProp::new(0.5) };
/// let p = Tensor::from([1.0]);
/// let mut state = method.init(&p)?;
/// assert_eq!(method.step(&mut state, &p, &Tensor::from([4.0]))?.to_vec(), [0.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RmsProp {
    /// The learning rate $\eta$.
    pub rate: Schedule,
    /// How slowly the mean of squares changes, $\rho$.
    pub decay: f64,
    /// How much of the last step goes into the next, $\mu$.
    pub momentum: f64,
    /// What keeps from a division by 0, $\epsilon$.
    pub epsilon: f64,
}

impl RmsProp {
    /// With $\rho = 0.9$, no momentum, $\epsilon = 10^{-8}$.
    pub fn new(rate: impl Into<Schedule>) -> RmsProp {
        RmsProp { rate: rate.into(), decay: 0.9, momentum: 0.0, epsilon: 1e-8 }
    }
}

/// What [`RmsProp`] remembers.
#[derive(Arrays, Clone, Debug, PartialEq)]
#[arrays(crate = crate)]
pub struct RmsPropState<P, N = Tensor<i64>> {
    /// How many steps were taken.
    pub step: N,
    /// The mean of the squares of gradients, $s$.
    pub square: P,
    /// The velocity $v$.
    pub velocity: P,
}

impl<P: Arrays<Concrete = P>> Optimizer<P> for RmsProp {
    type State = RmsPropState<P>;

    fn init(&self, params: &P) -> Result<RmsPropState<P>> {
        Ok(RmsPropState {
            step: 0.into(),
            square: zeros_like(params)?,
            velocity: zeros_like(params)?,
        })
    }

    fn step(&self, state: &mut RmsPropState<P>, params: &P, gradient: &P) -> Result<P> {
        expect_fit(params, gradient, &state.velocity)?;
        let &RmsProp { decay, momentum, epsilon, .. } = self;
        let rate = self.rate.at(steps(&state.step)?);
        let square =
            zip_tensors(&state.square, gradient, |s, g| decay * s + (1.0 - decay) * g * g)?;
        let direction = zip_tensors(gradient, &square, |g, s| g / (libm::sqrt(s) + epsilon))?;
        let velocity = zip_tensors(&state.velocity, &direction, |v, d| momentum * v + d)?;
        let stepped = zip_tensors(params, &velocity, |p, v| p - rate * v)?;
        *state = RmsPropState { step: &state.step + 1, square, velocity };
        Ok(stepped)
    }
}
