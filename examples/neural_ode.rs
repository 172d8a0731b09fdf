//! A neural ordinary differential equation: the right side is a network, learnt from trajectories.
//!
//! Points that spiral inwards are seen at 10 times each. The network $f$ with two inputs, 48 hidden
//! units and two outputs is to move them likewise,
//!
//! $$ \dot y = f(y), $$
//!
//! so that the solution passes near what was seen. `odeint` solves the equation inside the loss, and its
//! gradient is that of the solution. All trajectories are one state, so a single call solves all. Then
//! a trajectory is followed for three times as long, from a start that was never seen.

#[path = "pictures/mod.rs"]
mod pictures;

use std::error::Error;

use cotan::optim::{Adam, Optimizer, Schedule};
use cotan::prelude::*;
use cotan::random::Key;
use cotan::{Method, Ode, Stop, odeint};
use cotan_train::layers::Dense;
use pictures::Plot;

const TRAJECTORIES: usize = 24;
const TIMES: usize = 10;
const STEPS: usize = 1500;

/// The right side.
#[derive(Arrays, Clone, Copy, Debug)]
pub struct Net<A> {
    /// To the hidden units.
    pub hidden: Dense<A>,
    /// From them.
    pub last: Dense<A>,
}

fn ode(steps: usize) -> Ode {
    Ode { method: Method::Rk4(steps), stop: Stop::default(), continuous: false }
}

/// The states at the times, from many starts at once: `[times, starts, 2]`.
pub fn trajectories(net: Net<Arr<f64>>, start: Arr<f64>, times: Arr<f64>) -> Arr<f64> {
    odeint(start, times, ode(2), |_, y| net.last.apply(net.hidden.apply(y).tanh()))
}

/// The mean squared distance from what was seen.
pub fn loss(net: Net<Arr<f64>>, start: Arr<f64>, times: Arr<f64>, seen: Arr<f64>) -> Arr<f64> {
    (trajectories(net, start, times) - seen).square().mean()
}

/// What is to be learnt: a spiral, faster far outside.
fn spiral(start: Arr<f64>, times: Arr<f64>) -> Arr<f64> {
    odeint(start, times, ode(10), |_, y| {
        let turned = y.matmul(constant([[-0.3, -1.5], [1.5, -0.3]]));
        turned * (0.7 + 0.3 * y.square().sum_keep(1))
    })
}

fn rows(x: &Tensor<f64>) -> Vec<[f64; 2]> {
    x.to_vec().chunks(2).map(|row| [row[0], row[1]]).collect()
}

/// Learns from trajectories, and follows a new one.
pub fn main() -> Result<(), Box<dyn Error>> {
    let [starts, first, second] = Key::new(0).split_into();
    let start = starts.uniform_in::<f64>([TRAJECTORIES, 2], -1.0, 1.0)?;
    let times = Tensor::linspace(0.0, 1.5, TIMES)?;
    let seen = jit(spiral).call((&start, &times))?;

    let mut net = Net { hidden: Dense::init(first, 2, 48)?, last: Dense::init(second, 48, 2)? };
    let objective = value_and_grad(loss);
    let adam = Adam::new(Schedule::Cosine { rate: 0.03, end: 0.0, steps: STEPS as u64 });
    let mut state = adam.init(&net)?;
    let mut last = f64::NAN;
    for step in 0..STEPS {
        let (value, gradient) = objective.call((&net, &start, &times, &seen))?;
        last = value.item().unwrap_or(f64::NAN);
        if step % 250 == 0 {
            println!("step {step:3}: loss {last:.3e}");
        }
        net = adam.step(&mut state, &net, &gradient)?;
    }
    println!("loss after {STEPS} steps: {last:.3e}");

    // A start between those that were seen, for three times as long.
    let (start, times) = (Tensor::from([[1.0, 0.2]]), Tensor::linspace(0.0, 4.5, 90)?);
    let exact = jit(spiral).call((&start, &times))?;
    let found = jit(trajectories).call((&net, &start, &times))?;
    let apart = (&found - &exact).map(f64::abs).max();
    println!("a new trajectory, for three times as long, is off by at most {apart:.3}");
    let plot = Plot::new([-1.4, 1.4], [-1.4, 1.4], 340.0, 340.0);
    let plot = plot.title("blue: learnt, dots: the truth").points(rows(&exact), "#d0d7de");
    Plot::write("neural_ode.svg", &[plot.curve(rows(&found), "#0969da")])?;

    if last.is_nan() || last > 3e-3 || apart > 0.3 {
        return Err("the equation was not learnt".into());
    }
    Ok(())
}
