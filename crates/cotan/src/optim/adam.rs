//! Adam, and its form with decoupled weight decay.

use super::{Optimizer, Schedule, expect_fit, steps, zeros_like};
use crate::error::Result;
use crate::structure::{Arrays, zip_tensors};
use crate::tensor::Tensor;
use cotan_derive::Arrays;

/// Adam (Kingma and Ba, 2015): steps of about the learning rate in every coordinate.
///
/// With gradient $g$ in step $t = 1, 2, \dots$: $m \leftarrow \beta_1 m + (1 - \beta_1) g$,
/// $v \leftarrow \beta_2 v + (1 - \beta_2) g^2$, and
/// $p \leftarrow p - \eta\, \hat m / (\sqrt{\hat v} + \epsilon)$ with $\hat m = m / (1 - \beta_1^t)$ and
/// $\hat v = v / (1 - \beta_2^t)$.
///
/// ```
/// use cotan::optim::{Adam, Optimizer};
/// use cotan::Tensor;
///
/// let adam = Adam::new(0.5);
/// let p = Tensor::from([1.0, 2.0]);
/// let mut state = adam.init(&p)?;
/// // The first step is the learning rate, against the sign of the gradient.
/// let p: Vec<f64> = adam.step(&mut state, &p, &Tensor::from([3.0, -0.01]))?.to_vec();
/// assert!((p[0] - 0.5).abs() < 1e-5 && (p[1] - 2.5).abs() < 1e-5);
/// # Ok::<(), cotan::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    /// The learning rate $\eta$.
    pub rate: Schedule,
    /// How slowly the mean of gradients changes, $\beta_1$.
    pub beta1: f64,
    /// How slowly the mean of their squares changes, $\beta_2$.
    pub beta2: f64,
    /// What keeps from a division by 0, $\epsilon$.
    pub epsilon: f64,
}

impl Adam {
    /// With $\beta_1 = 0.9$, $\beta_2 = 0.999$, $\epsilon = 10^{-8}$.
    pub fn new(rate: impl Into<Schedule>) -> Adam {
        Adam { rate: rate.into(), beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }

    /// The direction of a step, and the state after it.
    fn direction<P>(&self, state: &AdamState<P>, gradient: &P) -> Result<(P, AdamState<P>)>
    where
        P: Arrays<Concrete = P>,
    {
        let &Adam { beta1, beta2, epsilon, .. } = self;
        let mean = zip_tensors(&state.mean, gradient, |m, g| beta1 * m + (1.0 - beta1) * g)?;
        let square =
            zip_tensors(&state.square, gradient, |v, g| beta2 * v + (1.0 - beta2) * g * g)?;
        let t = (steps(&state.step)? + 1) as f64;
        let (low, low_square) = (1.0 - libm::pow(beta1, t), 1.0 - libm::pow(beta2, t));
        let direction =
            zip_tensors(&mean, &square, |m, v| m / low / (libm::sqrt(v / low_square) + epsilon))?;
        Ok((direction, AdamState { step: &state.step + 1, mean, square }))
    }
}

/// What [`Adam`] and [`AdamW`] remember.
#[derive(Arrays, Clone, Debug, PartialEq)]
#[arrays(crate = crate)]
pub struct AdamState<P, N = Tensor<i64>> {
    /// How many steps were taken.
    pub step: N,
    /// The mean of gradients, $m$.
    pub mean: P,
    /// The mean of their squares, $v$.
    pub square: P,
}

impl<P: Arrays<Concrete = P>> Optimizer<P> for Adam {
    type State = AdamState<P>;

    fn init(&self, params: &P) -> Result<AdamState<P>> {
        Ok(AdamState { step: 0.into(), mean: zeros_like(params)?, square: zeros_like(params)? })
    }

    fn step(&self, state: &mut AdamState<P>, params: &P, gradient: &P) -> Result<P> {
        expect_fit(params, gradient, &state.mean)?;
        let rate = self.rate.at(steps(&state.step)?);
        let (direction, next) = self.direction(state, gradient)?;
        let stepped = zip_tensors(params, &direction, |p, d| p - rate * d)?;
        *state = next;
        Ok(stepped)
    }
}

/// [`Adam`] with decoupled weight decay (Loshchilov and Hutter, 2019):
/// $p \leftarrow p - \eta\,(\hat m / (\sqrt{\hat v} + \epsilon) + \lambda p)$.
///
/// ```
/// use cotan::optim::{AdamW, Optimizer};
/// use cotan::Tensor;
///
/// let method = AdamW::new(0.5, 0.1);
/// let p = Tensor::from([1.0]);
/// let mut state = method.init(&p)?;
/// // Without a gradient, only the decay is left.
/// assert_eq!(method.step(&mut state, &p, &Tensor::from([0.0]))?.to_vec(), [0.95]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AdamW {
    /// All but the decay.
    pub adam: Adam,
    /// The weight decay $\lambda$.
    pub weight_decay: f64,
}

impl AdamW {
    /// With the constants of [`Adam::new`].
    pub fn new(rate: impl Into<Schedule>, weight_decay: f64) -> AdamW {
        AdamW { adam: Adam::new(rate), weight_decay }
    }
}

impl<P: Arrays<Concrete = P>> Optimizer<P> for AdamW {
    type State = AdamState<P>;

    fn init(&self, params: &P) -> Result<AdamState<P>> {
        self.adam.init(params)
    }

    fn step(&self, state: &mut AdamState<P>, params: &P, gradient: &P) -> Result<P> {
        expect_fit(params, gradient, &state.mean)?;
        let (rate, decay) = (self.adam.rate.at(steps(&state.step)?), self.weight_decay);
        let (direction, next) = self.adam.direction(state, gradient)?;
        let stepped = zip_tensors(params, &direction, |p, d| p - rate * (d + decay * p))?;
        *state = next;
        Ok(stepped)
    }
}
