//! Model-predictive control: a pendulum that is swung up by a motor that is too weak to lift it.
//!
//! The pendulum hangs at the angle $\pi$; the motor turns it with at most a third of what is
//! needed to hold it at $\pi / 2$. At each step the controller plans: it minimises, by the torques of
//! the next 40 steps, what the model predicts,
//!
//! $$ \sum_k (1 - \cos \theta_k) + 0.05 \, \omega_k^2 + 0.001 \, \tau_k^2, $$
//!
//! applies the first torque, and plans again from where that led to, with the rest of the plan as the
//! first guess. The plan is kept within the limits by $\tau = \tau_{\max} \tanh z$. The gradient goes
//! back through the model's time steps; one program does for every plan.

#[path = "pictures/mod.rs"]
mod pictures;

use std::error::Error;
use std::f64::consts::PI;

use cotan::optim::Lbfgs;
use cotan::prelude::*;
use pictures::Plot;

const HORIZON: usize = 40;
const STEPS: usize = 160;
const DT: f64 = 0.05;
const GRAVITY: f64 = 9.81;
const STRONGEST: f64 = GRAVITY / 3.0;

/// Angle and speed after a time step with a torque (of a pendulum of length and mass 1).
pub fn advance(state: (Arr<f64>, Arr<f64>), torque: Arr<f64>) -> (Arr<f64>, Arr<f64>) {
    let (angle, speed) = state;
    let speed = speed + DT * (GRAVITY * angle.sin() + torque - 0.05 * speed);
    (angle + DT * speed, speed)
}

/// What is minimised by a plan, for the state at its beginning.
pub fn cost(plan: Arr<f64>, state: (Arr<f64>, Arr<f64>)) -> Arr<f64> {
    let torques = STRONGEST * plan.tanh();
    let (_, total) = fold((state, constant(0.0)), torques, |(state, total), torque| {
        let (angle, speed) = advance(state, torque);
        let step = (1.0 - angle.cos()) + 0.05 * speed * speed + 0.001 * torque * torque;
        ((angle, speed), total + step)
    });
    total
}

/// Swings it up.
pub fn main() -> Result<(), Box<dyn Error>> {
    let objective = value_and_grad(cost);
    let model =
        jit(|angle: Arr<f64>, speed: Arr<f64>, torque: Arr<f64>| advance((angle, speed), torque));
    let planner = Lbfgs { max_iterations: 30, gradient_tolerance: 1e-3, ..Lbfgs::new() };

    // At rest, at the bottom; a little off, as its mirror image is just as good.
    let (mut angle, mut speed) = (PI - 0.01, 0.0);
    let mut plan = Tensor::zeros([HORIZON])?;
    let (mut angles, mut torques) = (Vec::new(), Vec::new());
    for step in 0..STEPS {
        plan = planner.minimize(|plan| objective.call((plan, (angle, speed))), plan)?.point;
        let torque = STRONGEST * plan[[0]].tanh();
        let (next, faster) = model.call((angle, speed, torque))?;
        (angle, speed) = (next.item().unwrap_or(f64::NAN), faster.item().unwrap_or(f64::NAN));
        let time = step as f64 * DT;
        angles.push([time, angle]);
        torques.push([time, torque]);
        // The plan, one step later.
        plan = Tensor::concat(&[&plan.slice(s![1..])?, &Tensor::zeros([1])?], 0)?;
    }

    // Turns that were made on the way do not matter.
    let off = |angle: f64| 1.0 - angle.cos();
    let upright = angles.iter().rposition(|[_, angle]| off(*angle) > 0.01).map_or(0, |k| k + 1);
    println!("upright after {:.2} s", upright as f64 * DT);
    println!("at the end: 1 - cos(angle) is {:.1e}, the speed {speed:.1e}", off(angle));

    let time = [0.0, STEPS as f64 * DT];
    let swing = Plot::new(time, [-8.0, 8.0], 400.0, 200.0).title("angle: 0 is upright");
    let push = Plot::new(time, [-5.0, 5.0], 400.0, 200.0).title("torque");
    Plot::write("pendulum.svg", &[swing.curve(angles, "#0969da"), push.curve(torques, "#cf222e")])?;

    if off(angle) > 1e-3 || speed.is_nan() || speed.abs() > 0.05 {
        return Err("the pendulum does not stand".into());
    }
    Ok(())
}
