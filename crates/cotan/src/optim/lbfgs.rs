//! The method of Broyden, Fletcher, Goldfarb and Shanno with limited memory.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::line_search::{Search, Trial, search};
use crate::error::{Error, Result};
use crate::structure::{Arrays, ScalarValue, expect_same, flat_floats, with_floats};

/// How many steps may bring nothing, where no tolerance says otherwise.
const PATIENCE: usize = 10;

/// L-BFGS (Liu and Nocedal, 1989): minimises a smooth function by steps of approximately Newton's
/// method, with a Hessian made of the last few changes of the gradient.
///
/// ```
/// use cotan::optim::{Lbfgs, Stop};
/// use cotan::prelude::*;
///
/// let rosenbrock = |x: Arr<f64>| {
///     let (a, b) = (x.at(0), x.at(1));
///     (1.0 - a).square() + 100.0 * (b - a * a).square()
/// };
/// let f = value_and_grad(rosenbrock);
/// let found = Lbfgs::new().minimize(|x| f.call(x), Tensor::from([-1.2, 1.0]))?;
/// assert_eq!(found.stop, Stop::Gradient);
/// assert!(found.point.iter().all(|x| (x - 1.0).abs() < 1e-6));
/// # Ok::<(), cotan::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Lbfgs {
    /// How many changes of the gradient are kept.
    pub memory: usize,
    /// The most iterations.
    pub max_iterations: usize,
    /// It ends when no element of the gradient is larger.
    pub gradient_tolerance: f64,
    /// It ends when a step decreases the value by no more, relative to its size (or to 1, if that is
    /// larger). With 0, when 10 steps one after the other decrease neither the value nor the
    /// smallest gradient so far.
    pub value_tolerance: f64,
}

impl Default for Lbfgs {
    fn default() -> Lbfgs {
        Lbfgs { memory: 10, max_iterations: 1000, gradient_tolerance: 1e-8, value_tolerance: 0.0 }
    }
}

/// Why a minimisation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The gradient is as small as asked.
    Gradient,
    /// The value does not decrease as much as asked.
    Value,
    /// As many iterations as allowed.
    Iterations,
    /// No step along the direction of descent is good enough: the gradient is wrong, or rounding
    /// leaves nothing to gain.
    LineSearch,
    /// The value or the gradient is infinite or NaN: at the start, or at all steps that were tried.
    NotFinite,
    /// The callback asked for it.
    Asked,
}

/// What a minimisation found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Minimum<P> {
    /// The best point.
    pub point: P,
    /// The value there.
    pub value: f64,
    /// The gradient there.
    pub gradient: P,
    /// How many steps were taken.
    pub iterations: usize,
    /// How often the function was evaluated.
    pub evaluations: usize,
    /// Why it ended.
    pub stop: Stop,
}

/// Where a minimisation stands after an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// How many steps were taken.
    pub iteration: usize,
    /// How often the function was evaluated.
    pub evaluations: usize,
    /// The value.
    pub value: f64,
    /// The largest absolute value in the gradient.
    pub gradient: f64,
    /// The length of the step, as a part of the direction.
    pub step: f64,
}

impl Lbfgs {
    /// The default: 10 changes, 1000 iterations, a gradient of 1e-8.
    pub fn new() -> Lbfgs {
        Lbfgs::default()
    }

    /// Minimises a function that gives its value and gradient, from a point on. The value is a float
    /// or a tensor of one, the gradient has the shapes of the point; what
    /// [`value_and_grad`](crate::value_and_grad) gives will do.
    ///
    /// An error of the function ends it; numbers that are not finite do not: steps to them are made
    /// shorter.
    pub fn minimize<P, V>(
        &self,
        f: impl FnMut(&P) -> Result<(V, P)>,
        start: P,
    ) -> Result<Minimum<P>>
    where
        P: Arrays<Concrete = P>,
        V: ScalarValue,
    {
        self.minimize_with(f, start, |_| ControlFlow::Continue(()))
    }

    /// The same, with a function that is told of the progress after each iteration, and can end it.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use cotan::Tensor;
    /// use cotan::optim::{Lbfgs, Stop};
    ///
    /// let f = |x: &Tensor<f64>| Ok((x.iter().map(f64::cosh).sum::<f64>(), x.map(f64::sinh)));
    /// let found = Lbfgs::new().minimize_with(f, Tensor::from([1.0, 2.0]), |progress| {
    ///     if progress.value < 2.1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    /// })?;
    /// assert!(found.stop == Stop::Asked && found.value < 2.1);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn minimize_with<P, V>(
        &self,
        mut f: impl FnMut(&P) -> Result<(V, P)>,
        start: P,
        mut progress: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Minimum<P>>
    where
        P: Arrays<Concrete = P>,
        V: ScalarValue,
    {
        let evaluations = Cell::new(0);
        let mut evaluate = |point: Vec<f64>| -> Result<(f64, Vec<f64>, Vec<f64>)> {
            evaluations.set(evaluations.get() + 1);
            let at = with_floats(&start, &point)?;
            let (value, gradient) = f(&at)?;
            expect_same("minimize", &start, &gradient)?;
            let value = value.value().ok_or_else(|| {
                let message = "the value of the function is not a scalar";
                Error::type_error("minimize", message).with_hint("give its sum or mean")
            })?;
            Ok((value, flat_floats(&gradient), point))
        };
        let (value, gradient, point) = evaluate(flat_floats(&start))?;
        let mut here = Trial { step: 0.0, value, slope: 0.0, point, gradient };
        let mut changes = Changes { memory: self.memory, pairs: VecDeque::new() };
        let mut iterations = 0;
        // The smallest gradient so far, and how many steps have brought nothing.
        let (mut smallest, mut idle) = (f64::INFINITY, 0);
        let stop = loop {
            if !(here.value.is_finite() && here.gradient.iter().all(|g| g.is_finite())) {
                break Stop::NotFinite;
            }
            if largest(&here.gradient) <= self.gradient_tolerance {
                break Stop::Gradient;
            }
            if iterations >= self.max_iterations {
                break Stop::Iterations;
            }
            let mut direction = changes.direction(&here.gradient);
            here.slope = dot(&direction, &here.gradient);
            if !(here.slope < 0.0 && here.slope.is_finite()) {
                // Rounding has spoilt the Hessian: begin anew.
                changes.pairs.clear();
                direction = here.gradient.iter().map(|g| -g).collect();
                here.slope = dot(&direction, &here.gradient);
            }
            // Without a Hessian, the length of the direction says nothing.
            let first = match changes.pairs.is_empty() {
                true => (1.0 / norm(&direction)).min(1.0),
                false => 1.0,
            };
            let found = search(&here, first, |step| {
                let moved = here.point.iter().zip(&direction).map(|(x, d)| x + step * d);
                let (value, gradient, point) = evaluate(moved.collect())?;
                let slope = dot(&direction, &gradient);
                Ok(Trial { step, value, slope, point, gradient })
            })?;
            let next = match found {
                Search::Found(next) => next,
                Search::Failed { not_finite: true } => break Stop::NotFinite,
                Search::Failed { not_finite: false } => break Stop::LineSearch,
            };
            iterations += 1;
            changes.push(&here, &next);
            let gain = here.value - next.value;
            let gained = gain > self.value_tolerance * next.value.abs().max(1.0);
            let largest = largest(&next.gradient);
            // Where the value changes by rounding alone, the gradient may still become smaller.
            let nearer = self.value_tolerance == 0.0 && largest < smallest;
            smallest = largest.min(smallest);
            idle = if gained || nearer { 0 } else { idle + 1 };
            let report = Progress {
                iteration: iterations,
                evaluations: evaluations.get(),
                value: next.value,
                gradient: largest,
                step: next.step,
            };
            here = Trial { step: 0.0, ..next };
            if progress(&report).is_break() {
                break Stop::Asked;
            }
            let patience = if self.value_tolerance == 0.0 { PATIENCE } else { 1 };
            if idle >= patience && largest > self.gradient_tolerance {
                break Stop::Value;
            }
        };
        Ok(Minimum {
            point: with_floats(&start, &here.point)?,
            value: here.value,
            gradient: with_floats(&start, &here.gradient)?,
            iterations,
            evaluations: evaluations.get(),
            stop,
        })
    }
}

/// A step, and the change of the gradient that it made.
struct Change {
    step: Vec<f64>,
    change: Vec<f64>,
    /// Their product, the curvature along the step.
    curvature: f64,
}

/// The last changes of the gradient, which stand for the Hessian.
struct Changes {
    memory: usize,
    pairs: VecDeque<Change>,
}

impl Changes {
    fn push(&mut self, before: &Trial, after: &Trial) {
        let step = difference(&after.point, &before.point);
        let change = difference(&after.gradient, &before.gradient);
        let curvature = dot(&step, &change);
        // The Hessian stays positive definite; where the function is not convex, the step says
        // nothing.
        if curvature > f64::EPSILON * dot(&change, &change) {
            self.pairs.push_back(Change { step, change, curvature });
        }
        while self.pairs.len() > self.memory {
            self.pairs.pop_front();
        }
    }

    /// Minus the inverse of the Hessian times the gradient: the two-loop recursion.
    fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut parts = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let part = dot(&pair.step, &q) / pair.curvature;
            add(&mut q, -part, &pair.change);
            parts.push(part);
        }
        if let Some(last) = self.pairs.back() {
            let scale = last.curvature / dot(&last.change, &last.change);
            q.iter_mut().for_each(|x| *x *= scale);
        }
        for (pair, part) in self.pairs.iter().zip(parts.into_iter().rev()) {
            let back = dot(&pair.change, &q) / pair.curvature;
            add(&mut q, part - back, &pair.step);
        }
        q
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn norm(a: &[f64]) -> f64 {
    libm::sqrt(dot(a, a))
}

fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |most, x| x.abs().max(most))
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(x, y)| x - y).collect()
}

/// `a += factor * b`.
fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(x, y)| *x += factor * y);
}
