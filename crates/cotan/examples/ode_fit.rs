//! Parameters of an ordinary differential equation, fitted to observations by gradient descent.
//!
//! Hares $u$ and lynxes $v$ live together by the equations of Lotka and Volterra,
//!
//! $$ \dot u = a u - b u v, \qquad \dot v = - c v + d u v, $$
//!
//! which are integrated by the classical method of Runge and Kutta with step $h$: from the state $s$,
//!
//! $$ s + \frac h 6 (k_1 + 2 k_2 + 2 k_3 + k_4), \quad k_1 = f(s),\; k_2 = f(s + \tfrac h2 k_1),\;
//!    k_3 = f(s + \tfrac h2 k_2),\; k_4 = f(s + h k_3). $$
//!
//! The gradient of the distance to what was observed passes backwards through all steps. The rates
//! are kept as logarithms: then they are positive, and a step of the descent changes each by a part
//! of itself.

use std::error::Error;

use cotan::optim::{Adam, Optimizer, Schedule};
use cotan::prelude::*;
use cotan::structure::{flat_floats, map_tensors, zip_tensors};

const OBSERVATIONS: usize = 12;
/// Steps of the integration from one observation to the next, and their length.
const SUBSTEPS: usize = 2;
const H: f64 = 0.2;
const START: [f64; 2] = [1.0, 0.5];

const STEPS: usize = 150;

/// The rates $a, b, c, d$, or their logarithms.
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct Rates<A> {
    /// How fast hares multiply, $a$.
    pub birth: A,
    /// How fast they are eaten where both meet, $b$.
    pub hunted: A,
    /// How fast lynxes die, $c$.
    pub death: A,
    /// How fast they multiply where both meet, $d$.
    pub hunting: A,
}

/// The right side of the equations.
fn change(r: Rates<Arr<f64>>, s: Arr<f64>) -> Arr<f64> {
    let (hares, lynxes) = (s.at(0), s.at(1));
    let meetings = hares * lynxes;
    stack(&[r.birth * hares - r.hunted * meetings, r.hunting * meetings - r.death * lynxes], 0)
}

/// One step of Runge and Kutta.
fn advance(r: Rates<Arr<f64>>, s: Arr<f64>) -> Arr<f64> {
    let k1 = change(r, s);
    let k2 = change(r, s + 0.5 * H * k1);
    let k3 = change(r, s + 0.5 * H * k2);
    let k4 = change(r, s + H * k3);
    s + H / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
}

/// The states at the times of observation, `[OBSERVATIONS, 2]`.
///
/// A loop of steps in a loop of observations: the rates are captured by both, and their derivatives
/// add up over all steps.
pub fn trajectory(log_rates: Rates<Arr<f64>>) -> Arr<f64> {
    let r = Rates {
        birth: log_rates.birth.exp(),
        hunted: log_rates.hunted.exp(),
        death: log_rates.death.exp(),
        hunting: log_rates.hunting.exp(),
    };
    scan(constant(START), iota(OBSERVATIONS), |s, _| for_loop(SUBSTEPS, s, |_, s| advance(r, s)))
}

/// The mean squared distance of the trajectory from what was observed.
pub fn loss(log_rates: Rates<Arr<f64>>, observed: Arr<f64>) -> Arr<f64> {
    (trajectory(log_rates) - observed).square().sum_axis(1).mean()
}

fn rates([birth, hunted, death, hunting]: [f64; 4]) -> Rates<Tensor<f64>> {
    Rates {
        birth: birth.into(),
        hunted: hunted.into(),
        death: death.into(),
        hunting: hunting.into(),
    }
}

/// Makes observations of known rates, and finds the rates again.
pub fn main() -> Result<(), Box<dyn Error>> {
    let truth = rates([1.1, 0.8, 0.9, 0.6]);
    let observed = jit(trajectory).call(map_tensors(&truth, f64::ln)?)?;

    // All that is known at first is the order of magnitude.
    let mut p = map_tensors(&truth, |_| 0.0)?;
    let objective = value_and_grad(loss).compile_like((&p, &observed))?;
    let adam = Adam::new(Schedule::Cosine { rate: 0.2, end: 0.0, steps: STEPS as u64 });
    let mut state = adam.init(&p)?;
    let mut last = f64::INFINITY;
    for step in 0..STEPS {
        let (value, gradient) = objective.call((&p, &observed))?;
        last = value.item().unwrap_or(f64::NAN);
        if step % 20 == 0 {
            println!("step {step:3}: loss {last:.3e}");
        }
        p = adam.step(&mut state, &p, &gradient)?;
    }

    let fitted = map_tensors(&p, f64::exp)?;
    println!("loss at the end: {last:.3e}");
    println!("truth:  {:.4?}", flat_floats(&truth));
    println!("fitted: {:.4?}", flat_floats(&fitted));
    let errors = flat_floats(&zip_tensors(&fitted, &truth, |f, t| (f / t - 1.0).abs())?);
    match errors.iter().find(|&&e| e.is_nan() || e > 0.01) {
        Some(error) => Err(format!("a rate is wrong by {:.1} %", 100.0 * error).into()),
        None => Ok(()),
    }
}
