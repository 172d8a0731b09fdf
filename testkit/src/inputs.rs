//! Inputs for a program, of several kinds.

use cotan_array::Dtype;
use cotan_interp::{InterpError, Value};
use cotan_ir::scalar::{Fp, Scalar};
use cotan_ir::{Program, Type};

use crate::generate::{Data, float, integer};
use crate::{Rng, exact};

/// Which inputs to make. Integers are small in every kind, so that they can serve as indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Small integers, exact in floats: see [`exact`].
    SmallIntegers,
    /// Random elements of the field of the tests in place of floats.
    Field,
    /// Moderate floats of both signs.
    Generic,
    /// Zeros of both signs, infinities, NaN, subnormal and extreme numbers, among others.
    Special,
}

impl InputKind {
    /// All kinds.
    pub const ALL: [InputKind; 4] =
        [InputKind::SmallIntegers, InputKind::Field, InputKind::Generic, InputKind::Special];
}

/// A value for each input of a program.
pub fn inputs_for(
    program: &Program,
    rng: &mut Rng,
    kind: InputKind,
) -> Result<Vec<Value>, InterpError> {
    program.inputs().iter().map(|input| value_of(&input.ty, rng, kind)).collect()
}

/// A value of a type.
pub fn value_of(ty: &Type, rng: &mut Rng, kind: InputKind) -> Result<Value, InterpError> {
    Value::from_fn(ty.clone(), |_| scalar(ty.dtype, rng, kind))
}

fn scalar(dtype: Dtype, rng: &mut Rng, kind: InputKind) -> Scalar {
    let data = match kind {
        InputKind::SmallIntegers | InputKind::Field => Data::SmallIntegers,
        InputKind::Generic => Data::Moderate,
        InputKind::Special => Data::Special,
    };
    let real = |rng: &mut Rng| match kind {
        InputKind::SmallIntegers => {
            let bound = exact::INPUT_BOUND as i64;
            rng.between(-bound, bound) as f64
        }
        InputKind::Field | InputKind::Generic | InputKind::Special => float(rng, data),
    };
    match dtype {
        Dtype::F64 | Dtype::F32 if kind == InputKind::Field => Scalar::Fp(Fp::from_u64(rng.bits())),
        Dtype::F64 => Scalar::F64(real(rng)),
        Dtype::F32 => Scalar::F32(real(rng) as f32),
        Dtype::I64 => Scalar::I64(integer(rng, data)),
        Dtype::Bool => Scalar::Bool(rng.chance(50)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotan_array::Shape;

    fn floats(kind: InputKind) -> Vec<f64> {
        let ty = Type::new(Dtype::F64, Shape::new("test", &[1000]).unwrap());
        let value = value_of(&ty, &mut Rng::new(1), kind).unwrap();
        let float = |x: &Scalar| if let Scalar::F64(x) = x { Some(*x) } else { None };
        value.elements().iter().filter_map(float).collect()
    }

    #[test]
    fn every_kind_holds_what_it_says() {
        let small = floats(InputKind::SmallIntegers);
        assert_eq!(small.len(), 1000);
        assert!(small.iter().all(|x| x.fract() == 0.0 && x.abs() <= exact::INPUT_BOUND));
        assert!(floats(InputKind::Field).is_empty());
        assert!(floats(InputKind::Generic).iter().all(|x| x.is_finite() && x.abs() <= 8.0));
        let special = floats(InputKind::Special);
        let has = |what: fn(&f64) -> bool| special.iter().any(what);
        assert!(has(|x| x.is_nan()) && has(|x| x.is_infinite()) && has(|x| x.is_subnormal()));
        assert!(has(|x| x.to_bits() == (-0.0f64).to_bits()) && has(|x| x.to_bits() == 0));
    }

    #[test]
    fn integers_can_serve_as_indices() {
        let ty = Type::new(Dtype::I64, Shape::new("test", &[1000]).unwrap());
        let value = value_of(&ty, &mut Rng::new(1), InputKind::SmallIntegers).unwrap();
        let all: Vec<i64> = value.elements().iter().filter_map(|x| x.as_i64()).collect();
        assert_eq!((all.iter().min(), all.iter().max()), (Some(&-2), Some(&6)));
    }
}
