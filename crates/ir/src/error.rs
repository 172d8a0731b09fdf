//! Errors of making and checking programs.

use std::fmt;

use cotan_array::ArrayError;

use crate::Span;

/// What sort of fault an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The types do not fit.
    Type,
    /// A limit on nodes, elements, bytes, axes or nesting was exceeded.
    Limit,
    /// Stopped by a [`crate::CancelToken`].
    Cancelled,
    /// Stopped by the deadline.
    Deadline,
    /// A broken invariant: a fault of ours, not of the program.
    Internal,
}

/// Why a term or program could not be made. Says which operation, what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    op: String,
    message: String,
    hint: Option<String>,
    span: Span,
}

/// The result of making a term or program.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of the operation `op`.
    pub fn new(kind: ErrorKind, op: impl Into<String>, message: impl Into<String>) -> Error {
        Error(Box::new(Inner {
            kind,
            op: op.into(),
            message: message.into(),
            hint: None,
            span: Span::NONE,
        }))
    }

    /// A type error of the operation `op`.
    pub fn type_error(op: impl Into<String>, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Type, op, message)
    }

    /// A broken invariant.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Internal, "internal", message)
    }

    /// The same with advice.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same with a place, unless it already has one.
    pub fn with_span(mut self, span: Span) -> Error {
        if self.0.span.is_none() {
            self.0.span = span;
        }
        self
    }

    /// What sort of fault it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The operation that could not be made.
    pub fn op(&self) -> &str {
        &self.0.op
    }

    /// What is wrong, without operation and hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The place in the source, or [`Span::NONE`].
    pub fn span(&self) -> Span {
        self.0.span
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.op, self.0.message)?;
        if let Some(hint) = &self.0.hint {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<ArrayError> for Error {
    fn from(error: ArrayError) -> Error {
        let text = error.to_string();
        let (op, message) = text.split_once(": ").unwrap_or(("array", &text));
        Error::new(ErrorKind::Limit, op, message)
    }
}
