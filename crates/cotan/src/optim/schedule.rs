//! Learning rates that change from step to step.

/// A learning rate for each step, the first of which is number 0. A number is a constant one.
///
/// ```
/// use cotan::optim::{Schedule, Sgd};
///
/// let rate = Schedule::Cosine { rate: 0.1, end: 0.0, steps: 90 }.after_warmup(10);
/// assert_eq!((rate.at(0), rate.at(9), rate.at(10), rate.at(55)), (0.01, 0.1, 0.1, 0.05));
/// assert!(rate.at(100) < 1e-16 && rate.at(1000) < 1e-16);
/// let sgd = Sgd::new(rate);
/// # let _ = sgd;
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Schedule {
    /// Always the same.
    Constant(f64),
    /// `rate`, multiplied by `factor` after every `every` steps.
    Step {
        /// At first.
        rate: f64,
        /// What it is multiplied by.
        factor: f64,
        /// After how many steps.
        every: u64,
    },
    /// `rate`, multiplied by `factor` in the course of every `steps` steps.
    Exponential {
        /// At first.
        rate: f64,
        /// What it is multiplied by.
        factor: f64,
        /// In how many steps.
        steps: u64,
    },
    /// From `rate` along a straight line to `end`, where it stays.
    Linear {
        /// At first.
        rate: f64,
        /// At last.
        end: f64,
        /// In how many steps.
        steps: u64,
    },
    /// From `rate` along half a period of the cosine to `end`, where it stays.
    Cosine {
        /// At first.
        rate: f64,
        /// At last.
        end: f64,
        /// In how many steps.
        steps: u64,
    },
    /// From 0 along a straight line to where `then` begins, and on with that.
    Warmup {
        /// In how many steps.
        steps: u64,
        /// What comes after.
        then: Box<Schedule>,
    },
}

impl From<f64> for Schedule {
    fn from(rate: f64) -> Schedule {
        Schedule::Constant(rate)
    }
}

impl Schedule {
    /// The same after a warmup of so many steps.
    pub fn after_warmup(self, steps: u64) -> Schedule {
        Schedule::Warmup { steps, then: Box::new(self) }
    }

    /// The rate of a step.
    pub fn at(&self, step: u64) -> f64 {
        match *self {
            Schedule::Constant(rate) => rate,
            Schedule::Step { rate, factor, every } => {
                rate * libm::pow(factor, (step / every.max(1)) as f64)
            }
            Schedule::Exponential { rate, factor, steps } => {
                rate * libm::pow(factor, step as f64 / steps.max(1) as f64)
            }
            Schedule::Linear { rate, end, steps } => rate + (end - rate) * part(step, steps),
            Schedule::Cosine { rate, end, steps } => {
                let angle = std::f64::consts::PI * part(step, steps);
                end + (rate - end) * 0.5 * (1.0 + libm::cos(angle))
            }
            Schedule::Warmup { steps, ref then } => match step.checked_sub(steps) {
                Some(step) => then.at(step),
                None => then.at(0) * (step + 1) as f64 / steps as f64,
            },
        }
    }
}

/// What part of the steps are done: from 0 to 1.
fn part(step: u64, steps: u64) -> f64 {
    if step >= steps { 1.0 } else { step as f64 / steps as f64 }
}
