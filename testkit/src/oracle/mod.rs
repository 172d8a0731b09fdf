//! Comparing two programs that should mean the same, and transformations that should keep the
//! meaning.

mod equality;
mod transform;

use std::fmt;

use cotan_interp::{Interp, Mode, Options, Value};
use cotan_ir::Program;

pub use equality::{Difference, Equality, first_difference, ulps_apart};
pub use transform::check_transform;

use crate::{InputKind, Rng, exact, inputs_for};

/// More work than any program of the tests should need.
const MAX_WORK: u64 = 50_000_000;

/// One way of running two programs against each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// What to give them.
    pub inputs: InputKind,
    /// Which numbers stand for floats.
    pub mode: Mode,
    /// When their results count as equal.
    pub equality: Equality,
}

/// A list of trials that two equal programs must pass.
#[derive(Clone, Debug)]
pub struct Oracle {
    trials: Vec<Trial>,
}

impl Oracle {
    /// These trials.
    pub fn new(trials: &[Trial]) -> Oracle {
        Oracle { trials: trials.to_vec() }
    }

    /// Without tolerance: over the field, on random elements and on small integers; and over floats
    /// on small integers where both programs provably never round ([`exact::never_rounds`]).
    ///
    /// The sign of a zero may differ: rewriting `0 - x` or reading a zero out of range before or
    /// after a negation changes it.
    pub fn exact() -> Oracle {
        let trial = |inputs, mode| Trial { inputs, mode, equality: Equality::Values };
        Oracle::new(&[
            trial(InputKind::Field, Mode::Field),
            trial(InputKind::SmallIntegers, Mode::Field),
            trial(InputKind::SmallIntegers, Mode::Ieee),
        ])
    }

    /// To the last bit on every kind of input: for transformations that keep every operation.
    pub fn bitwise() -> Oracle {
        let trial = |inputs| Trial { inputs, mode: Mode::Ieee, equality: Equality::Bits };
        Oracle::new(&[
            trial(InputKind::SmallIntegers),
            trial(InputKind::Generic),
            trial(InputKind::Special),
            Trial { inputs: InputKind::Field, mode: Mode::Field, equality: Equality::Bits },
        ])
    }

    /// With a tolerance, on moderate floats: for programs of transcendental operations.
    pub fn close(ulps: u64) -> Oracle {
        let equality = Equality::ScaledUlps(ulps);
        Oracle::new(&[Trial { inputs: InputKind::Generic, mode: Mode::Ieee, equality }])
    }

    /// Runs both programs on the same inputs, once for each trial.
    pub fn compare(&self, left: &Program, right: &Program, rng: &mut Rng) -> Result<(), Mismatch> {
        for &trial in &self.trials {
            let inputs = inputs_for(left, rng, trial.inputs).map_err(|e| Mismatch {
                trial,
                inputs: Vec::new(),
                fault: Fault::Run(format!("inputs: {e}")),
            })?;
            if !trial.applies(left) || !trial.applies(right) {
                continue;
            }
            if let Some(fault) = trial.fault(left, right, &inputs) {
                return Err(Mismatch { trial, inputs, fault });
            }
        }
        Ok(())
    }
}

impl Trial {
    /// Comparing floats without tolerance needs programs that never round.
    fn applies(self, program: &Program) -> bool {
        let exact = matches!(self.equality, Equality::Values);
        let floats = self.mode != Mode::Field;
        !(exact && floats && self.inputs == InputKind::SmallIntegers)
            || exact::never_rounds(program)
    }

    fn fault(self, left: &Program, right: &Program, inputs: &[Value]) -> Option<Fault> {
        let run = |program: &Program, side: &str| {
            run_program(program, inputs, self.mode).map_err(|e| Fault::Run(format!("{side}: {e}")))
        };
        match (run(left, "left"), run(right, "right")) {
            (Ok(l), Ok(r)) => first_difference(&l, &r, self.equality).map(Fault::Difference),
            (Err(fault), _) | (_, Err(fault)) => Some(fault),
        }
    }
}

/// The results of a program, with the limits of the tests.
pub fn run_program(
    program: &Program,
    inputs: &[Value],
    mode: Mode,
) -> Result<Vec<Value>, cotan_interp::InterpError> {
    let options = Options { mode, max_work: MAX_WORK, ..Options::default() };
    Ok(Interp::new(program).with_options(options).run(inputs)?.outputs)
}

/// What went wrong in a trial.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The results differ.
    Difference(Difference),
    /// A program did not run.
    Run(String),
}

/// Two programs do not agree.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// The trial that showed it.
    pub trial: Trial,
    /// What was given to both.
    pub inputs: Vec<Value>,
    /// What went wrong.
    pub fault: Fault,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            Fault::Difference(difference) => write!(f, "{difference}")?,
            Fault::Run(message) => write!(f, "{message}")?,
        }
        write!(f, "\n  on {:?} inputs, {:?} numbers", self.trial.inputs, self.trial.mode)?;
        for (n, value) in self.inputs.iter().enumerate() {
            write!(f, "\n  input {n}: {value}")?;
        }
        Ok(())
    }
}
