//! Evaluators of Delta terms, from the obvious one to reverse mode: `eval_0` to `eval_3`.

use super::delta::{DVarName, Id};

/// A node that an evaluator visits, for following its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// What is under the `Share` with this id.
    Share(Id),
    /// An input.
    Input(DVarName),
}
