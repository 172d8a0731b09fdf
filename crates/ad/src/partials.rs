//! The partial derivatives of scalar operations as arrays of an algebra.

use std::sync::OnceLock;

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, ScalarExpr, ScalarTarget};
use cotan_ir::{Error, Result, Type};

use crate::algebra::Algebra;

/// The derivative of an operation by one argument.
pub(crate) enum Partial {
    /// None.
    Zero,
    /// That of the argument.
    One,
    /// That of the argument where a condition holds, or where it does not, and nothing elsewhere: an
    /// argument that was not chosen is a branch that was not taken.
    Where(ScalarExpr, bool),
    /// A factor, multiplied by `scale`.
    Times(ScalarExpr),
    /// A factor that is a derivative itself, multiplied by `strong_mul`.
    TimesDerivative(ScalarExpr),
}

/// The partial derivatives of an operation by each argument, parsed once.
pub(crate) fn partials(op: Op) -> Result<&'static [Partial]> {
    static TABLE: OnceLock<Vec<Option<Vec<Partial>>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let of = |op: Op| {
            let exprs = op.partials().ok()?.into_iter().enumerate();
            Some(exprs.map(|(k, expr)| Partial::new(op, k, expr)).collect())
        };
        Op::all().map(of).collect()
    });
    match table.get(op as usize) {
        Some(Some(partials)) => Ok(partials),
        _ => Err(Error::internal(format!("the derivative of {op} does not parse"))),
    }
}

impl Partial {
    fn new(op: Op, argument: usize, expr: ScalarExpr) -> Partial {
        if expr.is_number(0.0) {
            return Partial::Zero;
        }
        if expr.is_number(1.0) {
            return Partial::One;
        }
        if let Some((condition, holds)) = expr.as_choice() {
            return Partial::Where(condition, holds);
        }
        match (op, argument) {
            // The algebra of products of derivatives, which is closed under differentiation:
            //
            //   D[scale a b]      = scale da b + strong_mul a db
            //   D[strong_mul a b] = strong_mul da b + strong_mul a db
            //
            // The first factor of `scale` is a derivative, the second one is none: see
            // docs/semantics.md, "Products of derivatives".
            (Op::Scale, 1) | (Op::StrongMul, _) => Partial::TimesDerivative(expr),
            _ => Partial::Times(expr),
        }
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

/// What a partial derivative is made of, for an operation with the given arguments and result: a
/// factor, or a condition.
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
