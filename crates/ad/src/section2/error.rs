//! Why a term has no type, no derivative or no value.

use std::fmt;

use cotan_ir::scalar::Op;

use super::syntax::{Name, Prim};
use super::types::Type;

/// What went wrong with a term.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A variable that nothing binds.
    Unbound(Name),
    /// A part of another type than its place needs.
    Mismatch {
        /// The place.
        what: &'static str,
        /// The type it needs.
        expected: Type,
        /// The type of the part.
        got: Type,
    },
    /// An argument of another type than its operation needs.
    Argument {
        /// The operation.
        op: Op,
        /// The position of the argument, from 1.
        position: usize,
        /// The type it needs.
        expected: Type,
        /// The type of the argument.
        got: Type,
    },
    /// A projection of something that is no pair.
    NotAPair {
        /// The projection.
        what: &'static str,
        /// What it is.
        got: Type,
    },
    /// An application of something that is no function.
    NotAFunction(Type),
    /// An operation at types, or on a number of arguments, that it does not have.
    Operation(Prim),
    /// A result that contains functions.
    NotFirstOrder(Type),
    /// A term that is already of the target language: its derivative is not defined.
    NotSource,
    /// A term, type or value beyond the limits.
    TooLarge,
    /// A program that takes more steps than the limit.
    TooManySteps(u64),
    /// A broken invariant: a fault of ours.
    Internal(&'static str),
}

/// The result of something on terms.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unbound(x) => {
                write!(f, "`{x}` is not bound; bind it by a let, a lambda or the inputs")
            }
            Error::Mismatch { what, expected, got } => {
                write!(f, "{what} must be of type {expected}, but is of type {got}")
            }
            Error::Argument { op, position, expected, got } => {
                write!(f, "argument {position} of {op} must be of type {expected}, not {got}")
            }
            Error::NotAPair { what, got } => write!(f, "{what} needs a pair, not {got}"),
            Error::NotAFunction(got) => write!(f, "only functions can be applied, not {got}"),
            Error::Operation(Prim { op, args }) => {
                let signature = op.signature();
                write!(f, "{op} takes {signature} (of f64, i64, bool), not {args:?}")
            }
            Error::NotFirstOrder(ty) => {
                write!(f, "inputs and result must not contain functions, but there is {ty}")
            }
            Error::NotSource => f.write_str(
                "the term is of the target language already; only source terms have a derivative",
            ),
            Error::TooLarge => f.write_str(
                "a term, type or value is nested too deep or too large; use `let` and functions",
            ),
            Error::TooManySteps(limit) => {
                write!(f, "more than {limit} steps; does the recursion end?")
            }
            Error::Internal(message) => write!(f, "internal error: {message}"),
        }
    }
}

impl std::error::Error for Error {}
