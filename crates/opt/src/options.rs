//! Switches of the optimiser.

use std::time::Instant;

use cotan_ir::CancelToken;

/// Which groups of rules to use. The defaults are what users want; the switches exist so that tests
/// can compare programs with each group off, and that a doubtful result can be traced to a group.
#[derive(Clone, Debug)]
pub struct Options {
    /// Identities of operations, choices that are known, constants.
    pub algebra: bool,
    /// Compute operations on floating-point constants when the program is made. The rounding is the
    /// one of the run, but the field that stands for the real numbers in tests knows no rounding.
    pub fold_floats: bool,
    /// Views and reads: transpositions, replicates, gathers that are views.
    pub views: bool,
    /// Scatters that are views, masked reads or sums of reads.
    pub scatters: bool,
    /// Factors that are joined or taken out of products and sums.
    pub factors: bool,
    /// Sums.
    pub sums: bool,
    /// Loops: states and results that nothing needs, states that do not change.
    pub loops: bool,
    /// What takes fewer operations an element than this is computed again by a loop that needs what
    /// another has computed; what takes more is stored, as far as the memory for it is no more than a
    /// small multiple of what the loop reads. `u64::MAX` stores nothing, and takes the least memory.
    pub recompute: u64,
    /// Record every firing.
    pub trace: bool,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Stops the work.
    pub cancel: CancelToken,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            algebra: true,
            fold_floats: true,
            views: true,
            scatters: true,
            factors: true,
            sums: true,
            loops: true,
            recompute: 64,
            trace: false,
            deadline: None,
            cancel: CancelToken::new(),
        }
    }
}

impl Options {
    /// No rules at all.
    pub fn none() -> Options {
        Options {
            algebra: false,
            fold_floats: false,
            views: false,
            scatters: false,
            factors: false,
            sums: false,
            loops: false,
            ..Options::default()
        }
    }
}
