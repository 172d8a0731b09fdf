//! Scalar operations: one row of one table each.
//!
//! A row gives the operation's names, typing, evaluation, partial derivatives, behaviour at
//! zero, sample domain and documentation. Parser, printer, checker, interpreter, derivative,
//! generator and boundary tests derive from it: a new operation is one row in `table.rs`.

mod eval;
mod expr;
mod fp;
mod special;
mod table;

use cotan_array::Dtype;
use cotan_math::{Binary, Unary};

pub use eval::{Scalar, canonical_bits, cast, eval};
pub use expr::{ScalarExpr, ScalarExprError, ScalarTarget, Step};
pub use fp::Fp;
pub use special::cot_polynomial;
pub use table::Op;

/// How arguments and result of an operation are typed, and how it is evaluated.
///
/// Floats are evaluated in `f64`; an `f32` operation is the `f64` operation rounded once, except
/// for elementary functions that have a formula of their own in `f32`. (For `+ - * /` and `sqrt`
/// rounding once equals the native `f32` operation.)
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// `T -> T` for `f64`, `f32`, `i64`.
    Numeric1(fn(f64) -> f64, fn(i64) -> i64, Field1),
    /// `T, T -> T` for `f64`, `f32`, `i64`.
    Numeric2(fn(f64, f64) -> f64, fn(i64, i64) -> i64, Field2),
    /// `T -> T` for `f64`, `f32`.
    Real1(Real1, Field1),
    /// `T, T -> T` for `f64`, `f32`.
    Real2(Real2, Field2),
    /// `T, i64 -> T` for `f64`, `f32`.
    RealInt(fn(f64, i64) -> f64, fn(Fp, i64) -> Option<Fp>),
    /// `i64, T -> T` for `f64`, `f32`.
    IntReal(fn(i64, f64) -> f64),
    /// `T, T -> bool` for every element type; the argument is `None` when a NaN is compared.
    Compare(fn(Option<std::cmp::Ordering>) -> bool),
    /// `T -> T` for `bool` and (bitwise) `i64`.
    Logic1(fn(bool) -> bool, fn(i64) -> i64),
    /// `T, T -> T` for `bool` and (bitwise) `i64`.
    Logic2(fn(bool, bool) -> bool, fn(i64, i64) -> i64),
    /// `i64 -> i64`.
    Int1(fn(i64) -> i64),
    /// `i64, i64 -> i64`.
    Int2(fn(i64, i64) -> i64),
    /// `f64 -> i64`: the bits of a float.
    ToBits,
    /// `i64 -> f64`: the float of these bits.
    FromBits,
    /// `bool, T, T -> T` for every element type.
    Select,
    /// `T -> D` for every element type `T` and the given `D`.
    Cast(Dtype),
}

/// How a function of one float is evaluated.
#[derive(Clone, Copy, Debug)]
pub enum Real1 {
    /// By a function of `f64`.
    Rounded(fn(f64) -> f64),
    /// By an elementary function, which every executor has as a formula.
    Elementary(Unary),
}

/// How a function of two floats is evaluated.
#[derive(Clone, Copy, Debug)]
pub enum Real2 {
    /// By a function of `f64`.
    Rounded(fn(f64, f64) -> f64),
    /// By an elementary function, which every executor has as a formula.
    Elementary(Binary),
}

impl Real1 {
    /// The value at an `f64`.
    pub fn f64(self, a: f64) -> f64 {
        match self {
            Real1::Rounded(f) => f(a),
            Real1::Elementary(f) => f.f64(a),
        }
    }

    /// The value at an `f32`.
    pub fn f32(self, a: f32) -> f32 {
        match self {
            Real1::Rounded(f) => f(f64::from(a)) as f32,
            Real1::Elementary(f) => f.f32(a),
        }
    }
}

impl Real2 {
    /// The value at two `f64`.
    pub fn f64(self, a: f64, b: f64) -> f64 {
        match self {
            Real2::Rounded(f) => f(a, b),
            Real2::Elementary(f) => f.f64(a, b),
        }
    }

    /// The value at two `f32`.
    pub fn f32(self, a: f32, b: f32) -> f32 {
        match self {
            Real2::Rounded(f) => f(f64::from(a), f64::from(b)) as f32,
            Real2::Elementary(f) => f.f32(a, b),
        }
    }
}

/// Evaluation of a unary operation in the test field.
#[derive(Clone, Copy, Debug)]
pub enum Field1 {
    /// A meaning that respects the field operations.
    Exact(fn(Fp) -> Fp),
    /// Some fixed function without meaning ([`Fp::opaque`]).
    Opaque,
}

/// Evaluation of a binary operation in the test field.
#[derive(Clone, Copy, Debug)]
pub enum Field2 {
    /// A meaning that respects the field operations.
    Exact(fn(Fp, Fp) -> Fp),
    /// Some fixed function without meaning ([`Fp::opaque`]).
    Opaque,
}

/// From where tests draw an argument so that the operation is smooth and finite around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Any moderate number.
    Any,
    /// Strictly positive.
    Positive,
    /// Away from zero, either sign.
    NonZero,
    /// Strictly between -1 and 1.
    Unit,
    /// Strictly above 1.
    AboveOne,
    /// Not an integer and not half an integer: away from the jumps of rounding.
    BetweenSteps,
    /// A small non-negative integer, for arguments of type `i64`.
    SmallNatural,
}

/// How an operation stands in infix or prefix notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// Only as a call, `name(a, b)`.
    Call,
    /// `a text b`, with a binding strength: higher binds tighter.
    Infix(&'static str, u8),
    /// `text a`, with a binding strength.
    Prefix(&'static str, u8),
}

/// Binding strengths of the notations, loosest first.
pub mod precedence {
    /// `or`
    pub const OR: u8 = 1;
    /// `xor`
    pub const XOR: u8 = 2;
    /// `and`
    pub const AND: u8 = 3;
    /// `not`
    pub const NOT: u8 = 4;
    /// `== != < <= > >=`, which do not associate
    pub const COMPARE: u8 = 5;
    /// `+ -`
    pub const ADD: u8 = 6;
    /// `* / // %`
    pub const MUL: u8 = 7;
    /// unary `-`
    pub const NEG: u8 = 8;
    /// `**`, which associates to the right
    pub const POW: u8 = 9;
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The operation.
    pub op: Op,
    /// Its name as a function.
    pub name: &'static str,
    /// Its notation as an operator.
    pub notation: Notation,
    /// Typing and evaluation.
    pub rule: Rule,
    /// The partial derivative by each argument, as text over the arguments `a`, `b`, `c` and the
    /// result `y` (see [`ScalarExpr`]). Empty when the result is discrete; `"0"` for an argument
    /// on which the result does not depend smoothly.
    pub partials: &'static [&'static str],
    /// Whether the operation maps zeros (and `false`) to zero (or `false`), for every typing.
    pub preserves_zero: bool,
    /// From where tests draw each argument.
    pub domains: &'static [Domain],
    /// About what an element costs in vector code, in additions. A small power is a few products.
    pub cost: u32,
    /// What it computes, and what it does where that is in doubt.
    pub doc: &'static str,
}

impl Op {
    /// The row of this operation.
    pub fn row(self) -> &'static Row {
        &table::ROWS[self as usize]
    }

    /// Every operation, in table order.
    pub fn all() -> impl Iterator<Item = Op> {
        table::ROWS.iter().map(|row| row.op)
    }

    /// The operation called `name`.
    pub fn from_name(name: &str) -> Option<Op> {
        table::ROWS.iter().find(|row| row.name == name).map(|row| row.op)
    }

    /// About what an element costs in vector code, in additions.
    pub fn cost(self) -> u32 {
        self.row().cost
    }

    /// Its name as a function.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The number of arguments.
    pub fn arity(self) -> usize {
        match self.row().rule {
            Rule::Numeric1(..) | Rule::Real1(..) | Rule::Logic1(..) | Rule::Cast(_) => 1,
            Rule::Numeric2(..) | Rule::Real2(..) | Rule::RealInt(..) | Rule::IntReal(..) => 2,
            Rule::Int1(_) | Rule::ToBits | Rule::FromBits => 1,
            Rule::Compare(_) | Rule::Logic2(..) | Rule::Int2(_) => 2,
            Rule::Select => 3,
        }
    }

    /// The element type of the result, or `None` when the arguments do not fit.
    pub fn result_dtype(self, args: &[Dtype]) -> Option<Dtype> {
        match (self.row().rule, args) {
            (Rule::Numeric1(..), &[t]) if t.is_numeric() => Some(t),
            (Rule::Numeric2(..), &[t, u]) if t == u && t.is_numeric() => Some(t),
            (Rule::Real1(..), &[t]) if t.is_float() => Some(t),
            (Rule::Real2(..), &[t, u]) if t == u && t.is_float() => Some(t),
            (Rule::RealInt(..), &[t, Dtype::I64]) if t.is_float() => Some(t),
            (Rule::IntReal(..), &[Dtype::I64, t]) if t.is_float() => Some(t),
            (Rule::Compare(_), &[t, u]) if t == u => Some(Dtype::Bool),
            (Rule::Logic1(..), &[t]) if !t.is_float() => Some(t),
            (Rule::Logic2(..), &[t, u]) if t == u && !t.is_float() => Some(t),
            (Rule::Int1(_), &[Dtype::I64]) => Some(Dtype::I64),
            (Rule::Int2(_), &[Dtype::I64, Dtype::I64]) => Some(Dtype::I64),
            (Rule::ToBits, &[Dtype::F64]) => Some(Dtype::I64),
            (Rule::FromBits, &[Dtype::I64]) => Some(Dtype::F64),
            (Rule::Select, &[Dtype::Bool, t, u]) if t == u => Some(t),
            (Rule::Cast(d), &[_]) => Some(d),
            _ => None,
        }
    }

    /// The argument types that fit, in words, for error messages.
    pub fn signature(self) -> &'static str {
        match self.row().rule {
            Rule::Numeric1(..) => "one argument of type f64, f32 or i64",
            Rule::Numeric2(..) => "two arguments of the same type f64, f32 or i64",
            Rule::Real1(..) => "one argument of type f64 or f32",
            Rule::Real2(..) => "two arguments of the same type f64 or f32",
            Rule::RealInt(..) => "an argument of type f64 or f32 and one of type i64",
            Rule::IntReal(..) => "an argument of type i64 and one of type f64 or f32",
            Rule::Compare(_) => "two arguments of the same type",
            Rule::Logic1(..) => "one argument of type bool or i64",
            Rule::Logic2(..) => "two arguments of the same type bool or i64",
            Rule::Int1(_) | Rule::FromBits => "one argument of type i64",
            Rule::Int2(_) => "two arguments of type i64",
            Rule::ToBits => "one argument of type f64",
            Rule::Select => "an argument of type bool and two of the same type",
            Rule::Cast(_) => "one argument",
        }
    }

    /// Every list of argument types that fits.
    pub fn typings(self) -> Vec<Vec<Dtype>> {
        let mut fits = Vec::new();
        for n in 0..Dtype::ALL.len().pow(self.arity() as u32) {
            let args: Vec<Dtype> =
                (0..self.arity()).map(|k| Dtype::ALL[(n >> (2 * k)) & 3]).collect();
            if self.result_dtype(&args).is_some() {
                fits.push(args);
            }
        }
        fits
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
