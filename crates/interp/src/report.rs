//! What a run reports beside its outputs.

use std::fmt;

use cotan_array::Shape;
use cotan_ir::{Span, TermId};

use crate::value::Value;

/// A finished run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The outputs, of the declared types.
    pub outputs: Vec<Value>,
    /// What it cost.
    pub counts: Counts,
    /// Every node that read or scattered out of range, in the order of the nodes.
    pub out_of_range: Vec<OutOfRange>,
    /// Every output with an element that depends on an out-of-range read, in order.
    pub poisoned: Vec<Poisoned>,
}

/// What a run cost, in a machine that makes each array it meets.
///
/// The counts are a property of program, inputs and mode alone. A node is counted each time it is
/// evaluated: once per run of the scope it belongs to, never if nothing demands it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// Scalar operations:
    /// one per element of an elementwise operation, conversions and selections included;
    /// one per element added by `sumOuter` (the first is added to 0) and by `scatter` (dropped
    /// elements are not added);
    /// `k - 1` per `argmax` or `argmin` of `k > 0` elements;
    /// one per element of `segmentArgmax` or `segmentArgmin`;
    /// those of the elimination for a routine, one addition and one multiplication at a time;
    /// `k * ceil(log2 k)` per `argsort` of `k > 0` elements, the comparisons of a merge sort.
    pub scalar_ops: u64,
    /// Elements taken from arrays: by every former from its operands, where it is in range, and
    /// from the results of a lambda by the binder that collects them. `cond` and `result` take
    /// nothing, they pass an array on.
    pub reads: u64,
    /// Elements of the arrays made, other than inputs, constants and variables.
    pub writes: u64,
    /// Runs of lambda bodies.
    pub steps: u64,
    /// Evaluations of nodes.
    pub nodes: u64,
    /// The most bytes of values held at once.
    pub peak_bytes: u64,
}

impl Counts {
    /// All that takes time: scalar operations, reads, writes, steps and nodes.
    pub fn work(&self) -> u64 {
        [self.scalar_ops, self.reads, self.writes, self.steps, self.nodes]
            .into_iter()
            .fold(0, u64::saturating_add)
    }
}

/// What an out-of-range index did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// A read gave zeros.
    Read,
    /// A scattered sub-array was dropped, or a `oneHot` stayed zero.
    Write,
}

/// A node that used indices out of range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// The node.
    pub term: TermId,
    /// Its former.
    pub op: &'static str,
    /// Where it was written.
    pub span: Span,
    /// Whether it read or wrote.
    pub access: Access,
    /// The first index out of range.
    pub first: Vec<i64>,
    /// The shape it was used on.
    pub shape: Shape,
    /// How many times it happened.
    pub count: u64,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let effect = match self.access {
            Access::Read => "read as zero",
            Access::Write => "dropped",
        };
        write!(
            f,
            "{}: index {:?} is outside shape {} ({effect}; {} in all)",
            self.op, self.first, self.shape, self.count
        )
    }
}

/// An output with elements that depend on an out-of-range read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poisoned {
    /// The position of the output.
    pub output: usize,
    /// The index of the first such element.
    pub first: Vec<usize>,
    /// How many there are.
    pub elements: usize,
}
