//! Switches of the transform.

use cotan_ir::{CancelToken, Limits};

/// How to transform. The defaults are what users want; the switches exist so that tests can compare
/// the transform with each group of rules off.
#[derive(Clone, Debug)]
pub struct Options {
    /// Push `index` into computations (Fig. bot-rules-index). Off: they are read from memory.
    pub push_index: bool,
    /// Keep what does not depend on a build's index out of it where a rule would copy it.
    pub keep_invariants: bool,
    /// Normalise affine index terms.
    pub normalise_affine: bool,
    /// Drop guards that repeat what an out-of-range read does anyway.
    pub drop_guards: bool,
    /// Write simple index terms into index functions. Off: they are read from memory.
    pub inline_indices: bool,
    /// Record every firing.
    pub trace: bool,
    /// Limits on the result.
    pub limits: Limits,
    /// Stops the work.
    pub cancel: CancelToken,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            push_index: true,
            keep_invariants: true,
            normalise_affine: true,
            drop_guards: true,
            inline_indices: true,
            trace: false,
            limits: Limits::default(),
            cancel: CancelToken::new(),
        }
    }
}
