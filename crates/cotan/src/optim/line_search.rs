//! How far to go: a line search for the strong conditions of Wolfe.
//!
//! Along a direction of descent, $\phi(\alpha)$ is the function at the step $\alpha$. A step is taken
//! that decreases it enough, $\phi(\alpha) \le \phi(0) + c_1 \alpha \phi'(0)$, to where it is flat
//! enough, $|\phi'(\alpha)| \le c_2 |\phi'(0)|$: first a bracket is found by longer and longer steps,
//! then made smaller by cubic interpolation (Nocedal and Wright, *Numerical Optimization*, 2nd
//! edition, algorithms 3.5 and 3.6).

use crate::error::Result;

const DECREASE: f64 = 1e-4;
const FLATNESS: f64 = 0.9;
/// Values that differ by less, relative to their size, differ by rounding: then slopes decide alone
/// (the approximate conditions of Hager and Zhang).
const ROUNDING: f64 = 4.0 * f64::EPSILON;
const EVALUATIONS: usize = 40;

/// The function at a step.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) step: f64,
    pub(super) value: f64,
    pub(super) slope: f64,
    pub(super) point: Vec<f64>,
    pub(super) gradient: Vec<f64>,
}

/// What a search ends with.
pub(super) enum Search {
    Found(Trial),
    /// No step was good enough; whether on the way something was not finite.
    Failed {
        not_finite: bool,
    },
}

struct Searching<'a, F> {
    start: &'a Trial,
    evaluate: F,
    left: usize,
    not_finite: bool,
}

/// A step from `start`, whose slope is negative, along which `evaluate` gives the function.
pub(super) fn search(
    start: &Trial,
    first: f64,
    evaluate: impl FnMut(f64) -> Result<Trial>,
) -> Result<Search> {
    let mut searching = Searching { start, evaluate, left: EVALUATIONS, not_finite: false };
    Ok(match searching.bracket(first)? {
        Some(trial) => Search::Found(trial),
        None => Search::Failed { not_finite: searching.not_finite },
    })
}

impl<F: FnMut(f64) -> Result<Trial>> Searching<'_, F> {
    fn evaluate(&mut self, step: f64) -> Result<Option<Trial>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let trial = (self.evaluate)(step)?;
        self.not_finite |= !(trial.value.is_finite() && trial.slope.is_finite());
        Ok(Some(trial))
    }

    /// Whether the function has decreased enough. What is not finite has not.
    fn decreased(&self, trial: &Trial) -> bool {
        let Trial { value, slope, .. } = *self.start;
        let enough = trial.value <= value + DECREASE * trial.step * slope;
        let same = trial.value <= value + ROUNDING * value.abs();
        let near = trial.slope <= (2.0 * DECREASE - 1.0) * slope;
        trial.slope.is_finite() && (enough || same && near)
    }

    fn flat(&self, trial: &Trial) -> bool {
        trial.slope.abs() <= FLATNESS * self.start.slope.abs()
    }

    /// Whether a trial lies higher than another, not by rounding alone.
    fn higher(&self, trial: &Trial, other: &Trial) -> bool {
        trial.value > other.value + ROUNDING * other.value.abs()
    }

    fn bracket(&mut self, first: f64) -> Result<Option<Trial>> {
        let mut before = self.start.clone();
        let mut step = first;
        while let Some(trial) = self.evaluate(step)? {
            if !self.decreased(&trial) || self.higher(&trial, &before) {
                return self.zoom(before, trial);
            }
            if self.flat(&trial) {
                return Ok(Some(trial));
            }
            if trial.slope >= 0.0 {
                return self.zoom(trial, before);
            }
            before = trial;
            step *= 2.0;
        }
        Ok(None)
    }

    /// A good step between `low`, which has decreased enough and is the lowest known, and `high`.
    fn zoom(&mut self, mut low: Trial, mut high: Trial) -> Result<Option<Trial>> {
        while (high.step - low.step).abs() > f64::EPSILON * low.step.abs() {
            let Some(trial) = self.evaluate(between(&low, &high))? else { break };
            if !self.decreased(&trial) || self.higher(&trial, &low) {
                high = trial;
                continue;
            }
            if self.flat(&trial) {
                return Ok(Some(trial));
            }
            if trial.slope * (high.step - low.step) >= 0.0 {
                high = low;
            }
            low = trial;
        }
        // Not flat, but lower: better than nothing.
        Ok((low.step > 0.0 && low.value < self.start.value).then_some(low))
    }
}

/// The minimum of the cubic through two trials, kept away from both; the middle where there is none.
fn between(low: &Trial, high: &Trial) -> f64 {
    let (a, b) = (low.step, high.step);
    let middle = 0.5 * (a + b);
    let secant = low.slope + high.slope - 3.0 * (low.value - high.value) / (a - b);
    let discriminant = secant * secant - low.slope * high.slope;
    let root = (b - a).signum() * libm::sqrt(discriminant);
    let step = b - (b - a) * (high.slope + root - secant) / (high.slope - low.slope + 2.0 * root);
    let margin = 0.1 * (b - a).abs();
    let inside = step >= a.min(b) + margin && step <= a.max(b) - margin;
    if inside { step } else { middle }
}
