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
    /// As [`Mode::Ieee`], but each result of an operation on floats is off by up to two units in
    /// its last place, by a hash of it and this seed: how far the results of several seeds are
    /// apart says what rounding may do to them.
    Noisy(u32),
}

/// The most that [`Mode::Noisy`] changes a float by, in units of the last place of 1.
const NOISE_UNITS: f64 = 2.0;

impl Mode {
    /// A scalar as this mode has it.
    pub(crate) fn admit(self, x: Scalar) -> Scalar {
        match self {
            Mode::Ieee | Mode::Noisy(_) => x,
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
            Mode::Ieee | Mode::Field | Mode::Noisy(_) => x,
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
        let result = result.map(|y| self.admit(y))?;
        Some(match self {
            // What chooses between its arguments does not round.
            Mode::Noisy(seed) if !args.contains(&result) => disturbed(result, seed),
            _ => result,
        })
    }
}

/// `x`, if it is a float, times a factor near 1 that depends on it and the seed alone.
fn disturbed(x: Scalar, seed: u32) -> Scalar {
    let noise = |bits: u64| {
        // The finaliser of SplitMix64.
        let mut h = bits ^ (u64::from(seed) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h = (h ^ (h >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        h = (h ^ (h >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        NOISE_UNITS * ((h >> 32) as i32 as f64) / f64::from(1u32 << 31)
    };
    match x {
        Scalar::F64(x) => Scalar::F64(x * (1.0 + f64::EPSILON * noise(x.to_bits()))),
        Scalar::F32(x) => {
            let off = f64::from(f32::EPSILON) * noise(u64::from(x.to_bits()));
            Scalar::F32((f64::from(x) * (1.0 + off)) as f32)
        }
        Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What loses digits shows it, and what loses none does not.
    #[test]
    fn noise_shows_cancellation() {
        let off = |f: &dyn Fn(Mode) -> Scalar| {
            let values = (0..8).map(|seed| match f(Mode::Noisy(seed)) {
                Scalar::F64(x) => x,
                other => unreachable!("{other:?}"),
            });
            let (low, high) = values.fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(x), h.max(x)));
            (high - low) / low.abs()
        };
        let eval = |mode: Mode, op, args: &[f64]| {
            let args: Vec<Scalar> = args.iter().map(|&x| Scalar::F64(x)).collect();
            match mode.eval(op, &args) {
                Some(Scalar::F64(y)) => y,
                other => unreachable!("{other:?}"),
            }
        };
        let good = off(&|mode| Scalar::F64(eval(mode, Op::Exp, &[1.5])));
        assert!(good > 0.0 && good < 1e-14, "{good}");
        let bad = off(&|mode| {
            let big = eval(mode, Op::Add, &[1e8, 1.0]);
            Scalar::F64(eval(mode, Op::Sub, &[big, 1e8]))
        });
        assert!(bad > 1e-10, "{bad}");
        assert_eq!(eval(Mode::Noisy(3), Op::Max, &[2.5, 1.5]), 2.5);
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
