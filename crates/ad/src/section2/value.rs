//! First-order values: what programs take and give.

use std::fmt;
use std::rc::Rc;

use cotan_ir::scalar::Scalar;

use super::delta::Delta;
use super::extent::{Both, Extent};
use super::types::Type;

/// A value without functions in it.
#[derive(Clone, Debug)]
pub enum Value {
    /// `r`
    Real(f64),
    /// `k`
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// `(x, y)`
    Pair(Rc<Both<Value>>),
    /// A Delta term, only in the target language.
    Delta(Rc<Delta<f64>>),
    /// Deeper or larger than the limits.
    TooLarge,
}

impl Value {
    /// `(x, y)`
    pub fn pair(x: Value, y: Value) -> Value {
        Both::of(x, y, Value::extent).map_or(Value::TooLarge, Value::Pair)
    }

    fn extent(&self) -> Extent {
        match self {
            Value::Real(_) | Value::Int(_) | Value::Bool(_) | Value::Delta(_) => Extent::LEAF,
            Value::Pair(both) => both.extent(),
            Value::TooLarge => Extent::TOO_LARGE,
        }
    }

    /// Its type.
    pub fn ty(&self) -> Type {
        match self {
            Value::Real(_) => Type::Real,
            Value::Int(_) => Type::Int,
            Value::Bool(_) => Type::Bool,
            Value::Pair(both) => Type::pair(both.left().ty(), both.right().ty()),
            Value::Delta(_) => Type::Delta,
            Value::TooLarge => Type::TooLarge,
        }
    }

    /// The scalar, if it is one.
    pub(super) fn scalar(&self) -> Option<Scalar> {
        match self {
            Value::Real(r) => Some(Scalar::F64(*r)),
            Value::Int(k) => Some(Scalar::I64(*k)),
            Value::Bool(b) => Some(Scalar::Bool(*b)),
            Value::Pair(_) | Value::Delta(_) | Value::TooLarge => None,
        }
    }
}

impl From<f64> for Value {
    fn from(r: f64) -> Value {
        Value::Real(r)
    }
}

impl From<i64> for Value {
    fn from(k: i64) -> Value {
        Value::Int(k)
    }
}

impl<S: Into<Value>, T: Into<Value>> From<(S, T)> for Value {
    fn from((x, y): (S, T)) -> Value {
        Value::pair(x.into(), y.into())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Real(r) => write!(f, "{r:?}"),
            Value::Int(k) => write!(f, "{k}"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Pair(both) => write!(f, "({}, {})", both.left(), both.right()),
            Value::Delta(d) => write!(f, "{d}"),
            Value::TooLarge => f.write_str("(too large)"),
        }
    }
}
