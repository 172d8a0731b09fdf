//! The partial derivatives of scalar operations as arrays of an algebra.

use std::sync::OnceLock;

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, ScalarExpr, ScalarTarget};
use cotan_ir::{Error, Result, Type};

use crate::algebra::Algebra;
use crate::fault::{Point, faulty};

/// The partial derivatives of an operation by each argument, parsed once.
pub(crate) fn partials(op: Op) -> Result<&'static [ScalarExpr]> {
    static TABLE: OnceLock<Vec<Option<Vec<ScalarExpr>>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| Op::all().map(|op| op.partials().ok()).collect());
    match table.get(op as usize) {
        Some(Some(partials)) => Ok(partials),
        _ => Err(Error::internal(format!("the derivative of {op} does not parse"))),
    }
}

/// Emits scalar expressions elementwise, at one shape.
struct Elementwise<'a, A: Algebra> {
    algebra: &'a mut A,
    ty: Type,
}

impl<A: Algebra> ScalarTarget for Elementwise<'_, A> {
    type Value = A::T;
    type Error = Error;

    fn number(&mut self, x: f64, dtype: Dtype) -> Result<A::T> {
        let ty = Type::new(dtype, self.ty.shape.clone());
        self.algebra.number(x, &ty)
    }

    fn dtype(&self, x: &A::T) -> Dtype {
        self.algebra.ty(x).dtype
    }

    fn apply(&mut self, op: Op, args: &[A::T]) -> Result<A::T> {
        self.algebra.op(op, args)
    }
}

/// A partial derivative of an operation with the given arguments and result.
pub(crate) fn emit<A: Algebra>(
    algebra: &mut A,
    partial: &ScalarExpr,
    args: &[A::T],
    result: &A::T,
) -> Result<A::T> {
    let ty = algebra.ty(result);
    let float = ty.dtype;
    let value = partial.emit(&mut Elementwise { algebra, ty }, args, result, float)?;
    value.ok_or_else(|| Error::internal("a derivative that does not fit its operation"))
}

/// Where the derivative by an argument counts at all, when that is not everywhere: where the first
/// factor of `scale` is not 0. It annihilates the other factor and so all its derivatives, also
/// infinite ones, which the product with the partial derivative alone would turn into NaN.
pub(crate) fn nonzero_factor<A: Algebra>(
    algebra: &mut A,
    op: Op,
    argument: usize,
    args: &[A::T],
) -> Result<Option<A::T>> {
    let [factor, _] = args else { return Ok(None) };
    if (op, argument) != (Op::Scale, 1) || faulty(Point::WeakZeroFactor) {
        return Ok(None);
    }
    let ty = algebra.ty(factor);
    let zero = algebra.number(0.0, &ty)?;
    Ok(Some(algebra.op(Op::Ne, &[factor.clone(), zero])?))
}
