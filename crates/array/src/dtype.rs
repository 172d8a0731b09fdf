//! Element types.

use std::fmt;

/// The element types of the language. Every other type converts at the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dtype {
    /// IEEE 754 binary64.
    F64,
    /// IEEE 754 binary32.
    F32,
    /// Two's complement, wrapping.
    I64,
    /// `false` or `true`.
    Bool,
}

impl Dtype {
    /// All element types, in declaration order.
    pub const ALL: [Dtype; 4] = [Dtype::F64, Dtype::F32, Dtype::I64, Dtype::Bool];

    /// The name used in types: `f64`, `f32`, `i64`, `bool`.
    pub const fn name(self) -> &'static str {
        match self {
            Dtype::F64 => "f64",
            Dtype::F32 => "f32",
            Dtype::I64 => "i64",
            Dtype::Bool => "bool",
        }
    }

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Dtype::F64 | Dtype::I64 => 8,
            Dtype::F32 => 4,
            Dtype::Bool => 1,
        }
    }

    /// `f64` or `f32`: the types that carry derivatives.
    pub const fn is_float(self) -> bool {
        matches!(self, Dtype::F64 | Dtype::F32)
    }

    /// Everything but `bool`: the types that can be added.
    pub const fn is_numeric(self) -> bool {
        !matches!(self, Dtype::Bool)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
