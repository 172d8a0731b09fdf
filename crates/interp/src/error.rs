//! Why a run did not give a result.

use cotan_array::{ArrayError, Shape};
use cotan_ir::{Span, Type};

/// What went wrong with a value or a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The number of elements and the shape disagree.
    #[error(
        "value: {got} elements do not fill shape {shape}, which has {} elements", .shape.numel()
    )]
    WrongCount {
        /// The shape.
        shape: Shape,
        /// Elements given.
        got: usize,
    },
    /// An element is not of the element type.
    #[error("value: element {position} is not of the element type of {ty}")]
    WrongElement {
        /// The type of the value.
        ty: Type,
        /// The position of the element in row-major order.
        position: usize,
    },
    /// A value cannot be written as an array.
    #[error("value: {0}")]
    Array(ArrayError),
    /// More or fewer inputs than the program declares.
    #[error("the program takes {expected} inputs ({names}), but {got} were given")]
    WrongInputCount {
        /// Inputs declared.
        expected: usize,
        /// Inputs given.
        got: usize,
        /// The declared names.
        names: String,
    },
    /// An input of another type than the declared one.
    #[error("input {position}, `{name}`, is declared {expected}, but {got} was given")]
    WrongInputType {
        /// The position among the inputs, from 0.
        position: usize,
        /// The declared name.
        name: String,
        /// The declared type.
        expected: Type,
        /// The type given.
        got: Type,
    },
    /// An input holds elements of the test field although the run is over floats.
    #[error("input {position}, `{name}`, holds elements of the test field; run with Mode::Field")]
    FieldInput {
        /// The position among the inputs, from 0.
        position: usize,
        /// The declared name.
        name: String,
    },
    /// The work limit was reached.
    #[error("{op}: the run needs more than {limit} units of work; raise `max_work`")]
    Work {
        /// The former that reached it.
        op: &'static str,
        /// Where it was written.
        span: Span,
        /// The limit.
        limit: u64,
    },
    /// The memory limit would be exceeded.
    #[error(
        "{op}: a value of type {ty} would bring the memory in use to {needed} bytes; \
             the limit is {limit}, raise `max_bytes`"
    )]
    Memory {
        /// The former that asked for it.
        op: &'static str,
        /// Where it was written.
        span: Span,
        /// The type of the value.
        ty: Type,
        /// Bytes in use with it.
        needed: u64,
        /// The limit.
        limit: u64,
    },
    /// The allocator gave no memory, although the limit allowed it.
    #[error("{op}: no memory for a value of type {ty}")]
    OutOfMemory {
        /// The former that asked for it.
        op: &'static str,
        /// Where it was written.
        span: Span,
        /// The type of the value.
        ty: Type,
    },
    /// Stopped by the [`cotan_ir::CancelToken`].
    #[error("cancelled")]
    Cancelled,
    /// Stopped by the deadline.
    #[error("out of time")]
    Deadline,
    /// A broken invariant: a fault of ours, not of the program. `Program::check` finds such faults.
    #[error("internal error at {op}: {message}")]
    Internal {
        /// The former.
        op: &'static str,
        /// What is broken.
        message: &'static str,
    },
}

/// An error of making a value or of a run. No run fails because of the elements of its inputs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct InterpError(Box<Failure>);

impl From<Failure> for InterpError {
    fn from(failure: Failure) -> InterpError {
        InterpError(Box::new(failure))
    }
}

impl From<ArrayError> for InterpError {
    fn from(error: ArrayError) -> InterpError {
        Failure::Array(error).into()
    }
}

impl InterpError {
    /// What went wrong.
    pub fn failure(&self) -> &Failure {
        &self.0
    }

    /// The place in the source of the former that could not be evaluated, or [`Span::NONE`].
    pub fn span(&self) -> Span {
        match &*self.0 {
            Failure::Work { span, .. }
            | Failure::Memory { span, .. }
            | Failure::OutOfMemory { span, .. } => *span,
            Failure::WrongCount { .. }
            | Failure::WrongElement { .. }
            | Failure::Array(_)
            | Failure::WrongInputCount { .. }
            | Failure::WrongInputType { .. }
            | Failure::FieldInput { .. }
            | Failure::Cancelled
            | Failure::Deadline
            | Failure::Internal { .. } => Span::NONE,
        }
    }
}

/// The result of a run.
pub type Result<T> = std::result::Result<T, InterpError>;
