//! How to run: which numbers, and how long.

use std::time::Instant;

use cotan_array::Dtype;
use cotan_ir::CancelToken;
use cotan_ir::scalar::{Op, Scalar, cast, eval};

/// Which numbers stand for the floats of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// Those that its types say.
    #[default]
    Ieee,
    /// `f32` everywhere: inputs and constants are rounded to it, each operation rounds to it, and
    /// outputs of type `f64` are widened again.
    F32,
    /// The field with `2^61 - 1` elements everywhere: exact arithmetic, for comparing programs
    /// without tolerances. Operations without a meaning in a field are arbitrary fixed functions.
    Field,
}

impl Mode {
    /// A scalar as this mode has it.
    pub(crate) fn admit(self, x: Scalar) -> Scalar {
        match self {
            Mode::Ieee => x,
            Mode::F32 => match x {
                Scalar::F64(x) => Scalar::F32(x as f32),
                Scalar::F32(_) | Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => x,
            },
            Mode::Field => x.into_field(),
        }
    }

    /// A scalar of this mode as an element of an output of type `dtype`.
    pub(crate) fn release(self, x: Scalar, dtype: Dtype) -> Scalar {
        match self {
            Mode::F32 => cast(x, dtype),
            Mode::Ieee | Mode::Field => x,
        }
    }

    /// Zero, or `false`.
    pub(crate) fn zero(self, dtype: Dtype) -> Scalar {
        self.admit(Scalar::zero(dtype, false))
    }

    /// One operation on scalars of this mode; `None` when they do not fit it.
    pub(crate) fn eval(self, op: Op, args: &[Scalar]) -> Option<Scalar> {
        // By way of f64 an integer would be rounded twice.
        let op = if self == Mode::F32 && op == Op::ToF64 { Op::ToF32 } else { op };
        let result = match (self, op, args) {
            // The bits of the same number in f64, the only type that the operation takes.
            (Mode::F32, Op::ToBits, &[x]) => eval(op, &[cast(x, Dtype::F64)]),
            _ => eval(op, args),
        };
        result.map(|y| self.admit(y))
    }
}

/// How to run a program.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which numbers stand for its floats.
    pub mode: Mode,
    /// The most [`work`](crate::Counts::work).
    pub max_work: u64,
    /// The most bytes of values held at once. An element takes 24 bytes, whatever its type.
    pub max_bytes: u64,
    /// Evaluate both branches of every `cond`: the cost of a selection.
    pub strict: bool,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Asks for an end from another thread.
    pub cancel: CancelToken,
}

impl Default for Options {
    /// IEEE numbers, 64 GiB, and no other limits.
    fn default() -> Options {
        Options {
            mode: Mode::Ieee,
            max_work: u64::MAX,
            max_bytes: 64 << 30,
            strict: false,
            deadline: None,
            cancel: CancelToken::new(),
        }
    }
}
