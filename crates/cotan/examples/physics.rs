//! A ball thrown against the drag of the air, and how to throw it so that it lands where it should.
//!
//! With the position $p$ and the velocity $v$ of the ball, gravity $g$ and drag $k$,
//!
//! $$ \dot p = v, \qquad \dot v = -g \, e_y - k \lVert v \rVert v, $$
//!
//! in steps of the midpoint rule until the ball is below the ground. How many steps that takes depends
//! on the throw, so it is a `while_loop`, and the gradient passes back through the steps that were
//! taken. Where the ball crosses the ground is found on the line between its last two places: so the
//! range $R$ changes continuously where the number of steps jumps.
//!
//! The throw, a velocity, is adjusted by the smallest change that hits the target $T$ to first order,
//! $\delta = (T - R) \, \nabla R / \lVert \nabla R \rVert^2$, which is Newton's method for one equation
//! of two unknowns.

use std::error::Error;

use cotan::prelude::*;
use cotan::structure::{dot_tensors, zip_tensors};

const GRAVITY: f64 = 9.81;
const DRAG: f64 = 0.01;
/// Seconds in a step.
const H: f64 = 0.05;
/// The height of the hand, and where to hit the ground, in metres.
const HAND: f64 = 1.8;
const TARGET: f64 = 30.0;

const MAX_THROWS: usize = 10;
/// A millimetre is close enough.
const TOLERANCE: f64 = 1e-3;

/// Where the ball is and how it moves: two coordinates each, along the ground and upwards.
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct Ball<A> {
    /// In metres.
    pub position: A,
    /// In metres per second.
    pub velocity: A,
}

fn acceleration(velocity: Arr<f64>) -> Arr<f64> {
    constant([0.0, -GRAVITY]) - DRAG * velocity.norm() * velocity
}

/// One step of the midpoint rule. The acceleration does not depend on the position.
fn advance(ball: Ball<Arr<f64>>) -> Ball<Arr<f64>> {
    let halfway = ball.velocity + 0.5 * H * acceleration(ball.velocity);
    Ball {
        position: ball.position + H * halfway,
        velocity: ball.velocity + H * acceleration(halfway),
    }
}

/// How far the ball flies that is thrown with a velocity, and how many steps that takes.
pub fn flight(velocity: Arr<f64>) -> (Arr<f64>, Arr<i64>) {
    let start = Ball { position: constant([0.0, HAND]), velocity };
    // The ball before the last step, after it, and the number of steps.
    let (before, after, steps) = while_loop(
        (start, start, constant(0)),
        |(_, ball, _)| ball.position.at(1).ge(0.0),
        |(_, ball, steps)| (ball, advance(ball), steps + 1),
    );
    let (from, to) = (before.position, after.position);
    let part = from.at(1) / (from.at(1) - to.at(1));
    (from.at(0) + part * (to.at(0) - from.at(0)), steps)
}

/// Throws, sees how far it was, and throws again.
pub fn main() -> Result<(), Box<dyn Error>> {
    let mut throw = Tensor::from([12.0, 8.0]);
    // The number of steps has no derivative: it is an auxiliary result.
    let flight = value_and_grad_aux(flight).compile_like(&throw)?;
    for count in 1..=MAX_THROWS {
        let ((range, steps), slope) = flight.call(&throw)?;
        let range = range.item().unwrap_or(f64::NAN);
        println!(
            "throw {count}: {:.3?} m/s lands at {range:.3} m after {} steps",
            throw.to_vec(),
            steps.item().unwrap_or(0),
        );
        let miss = TARGET - range;
        if miss.abs() <= TOLERANCE {
            return Ok(());
        }
        let part = miss / dot_tensors(&slope, &slope)?;
        throw = zip_tensors(&throw, &slope, |x, s| x + part * s)?;
    }
    Err(format!("{MAX_THROWS} throws have missed the target").into())
}
