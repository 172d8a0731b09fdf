//! What can go wrong, where, and what to do about it.

use std::fmt;
use std::panic::Location;

use cotan_array::ArrayError;
use cotan_interp::{Failure, InterpError};

/// What sort of fault an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Shapes, element types or structures do not fit.
    Type,
    /// An array was used where it has no meaning: outside its closure, in another function.
    Scope,
    /// A value was asked for that is not known while a function is staged.
    NotKnown,
    /// A limit on nodes, elements, bytes, axes or nesting was exceeded.
    Limit,
    /// A file or a conversion from other data failed.
    Data,
    /// Stopped by a cancel token or a deadline.
    Stopped,
    /// A broken invariant: a fault of this library.
    Internal,
}

/// The result of what can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// An error: the operation, what is wrong, where it was written, and what to do.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = |a: Arr<f64>, b: Arr<f64>| a + b;
/// let error = compile(f, ([2], [3])).unwrap_err();
/// let text = error.to_string();
/// assert!(text.contains("add: shapes that do not fit: [2]f64 and [3]f64"), "{text}");
/// assert!(text.contains(file!()), "{text}");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    op: String,
    message: String,
    hint: Option<String>,
    location: Option<&'static Location<'static>>,
}

/// The message of [`Error::recorded`].
const RECORDED: &str = "an earlier error";

impl Error {
    /// An error of an operation.
    pub fn new(kind: ErrorKind, op: impl Into<String>, message: impl Into<String>) -> Error {
        let (op, message) = (op.into(), message.into());
        Error(Box::new(Inner { kind, op, message, hint: None, location: None }))
    }

    /// Types do not fit.
    pub(crate) fn type_error(op: impl Into<String>, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Type, op, message)
    }

    /// A broken invariant.
    pub(crate) fn internal(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Internal, "internal", message)
    }

    /// Stands for the error that the stage has recorded.
    pub(crate) fn recorded() -> Error {
        Error::internal(RECORDED)
    }

    /// Whether it stands for the error that the stage has recorded.
    pub(crate) fn is_recorded(&self) -> bool {
        self.0.kind == ErrorKind::Internal && self.0.message == RECORDED
    }

    /// The same with advice, unless it has some.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// The same with a place, unless it has one.
    pub(crate) fn at(mut self, location: &'static Location<'static>) -> Error {
        self.0.location.get_or_insert(location);
        self
    }

    /// The same as an error of another operation: the one that the caller knows.
    pub(crate) fn renamed(mut self, op: impl Into<String>) -> Error {
        self.0.op = op.into();
        self
    }

    /// The same as an error of the library function `name`, which used the operation.
    pub(crate) fn inside(mut self, name: &'static str) -> Error {
        let used = std::mem::replace(&mut self.0.op, name.to_owned());
        self.0.message = format!("{} (in {used})", self.0.message);
        self
    }

    /// What sort of fault it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The operation that could not be done.
    pub fn op(&self) -> &str {
        &self.0.op
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The line of Rust that asked for it.
    pub fn location(&self) -> Option<&'static Location<'static>> {
        self.0.location
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.op, self.0.message)?;
        if let Some(location) = self.0.location {
            write!(f, "\n  at {}:{}:{}", location.file(), location.line(), location.column())?;
        }
        if let Some(hint) = &self.0.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    /// As [`Display`](fmt::Display), so that `unwrap` and `main` show something readable.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for Error {}

impl From<cotan_ir::Error> for Error {
    fn from(error: cotan_ir::Error) -> Error {
        use cotan_ir::ErrorKind as Ir;
        let kind = match error.kind() {
            Ir::Type => ErrorKind::Type,
            Ir::Limit => ErrorKind::Limit,
            Ir::Cancelled | Ir::Deadline => ErrorKind::Stopped,
            _ => ErrorKind::Internal,
        };
        let converted = Error::new(kind, error.op(), error.message());
        match error.hint() {
            Some(hint) => converted.with_hint(hint),
            None => converted,
        }
    }
}

impl From<ArrayError> for Error {
    fn from(error: ArrayError) -> Error {
        let text = error.to_string();
        let (op, message) = text.split_once(": ").unwrap_or(("array", &text));
        let kind = match error {
            ArrayError::TooLarge { .. }
            | ArrayError::RankTooLarge { .. }
            | ArrayError::OutOfMemory { .. } => ErrorKind::Limit,
            _ => ErrorKind::Data,
        };
        Error::new(kind, op, message)
    }
}

impl From<InterpError> for Error {
    fn from(error: InterpError) -> Error {
        let kind = match error.failure() {
            Failure::Cancelled | Failure::Deadline => ErrorKind::Stopped,
            Failure::Internal { .. } => ErrorKind::Internal,
            _ => ErrorKind::Limit,
        };
        Error::new(kind, "run", error.to_string())
    }
}
