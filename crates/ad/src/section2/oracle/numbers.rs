//! The second components of dual numbers: Delta terms for reverse mode, tangents for forward mode.

use std::marker::PhantomData;
use std::rc::Rc;

use cotan_array::Dtype;
use cotan_ir::scalar::{Fp, Scalar};

use crate::section2::delta::{Delta, IdGen, Real};

/// A real that stands for the floats of a program.
pub(super) trait Number: Real {
    /// A scalar of the run that is a real; `None` for integers, booleans and foreign numbers.
    fn of(x: Scalar) -> Option<Self>;
    /// The scalar of a float type.
    fn into_scalar(self, dtype: Dtype) -> Scalar;
    /// A scalar brought into the numbers of the run.
    fn admit(x: Scalar) -> Scalar;
}

impl Number for f64 {
    fn of(x: Scalar) -> Option<f64> {
        match x {
            Scalar::F64(x) => Some(x),
            Scalar::F32(x) => Some(f64::from(x)),
            Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => None,
        }
    }

    fn into_scalar(self, dtype: Dtype) -> Scalar {
        if dtype == Dtype::F32 { Scalar::F32(self as f32) } else { Scalar::F64(self) }
    }

    fn admit(x: Scalar) -> Scalar {
        x
    }
}

impl Number for Fp {
    fn of(x: Scalar) -> Option<Fp> {
        match x {
            Scalar::Fp(x) => Some(x),
            Scalar::F64(_) | Scalar::F32(_) | Scalar::I64(_) | Scalar::Bool(_) => None,
        }
    }

    fn into_scalar(self, _: Dtype) -> Scalar {
        Scalar::Fp(self)
    }

    fn admit(x: Scalar) -> Scalar {
        x.into_field()
    }
}

/// What is paired with the primals.
pub(super) trait Derivative {
    type R: Number;
    /// The derivative of one number.
    type D: Clone;

    /// That of a constant.
    fn zero(&self) -> Self::D;

    /// Whether it is known to be that of a constant.
    fn is_zero(d: &Self::D) -> bool;

    /// That of an operation: `r1 d1 + (r2 d2 + ..)`, the partial derivatives `r` times those of
    /// the arguments that are no constants. A partial derivative of `None` is 1.
    fn combine(&mut self, terms: Vec<(Option<Self::R>, Self::D)>) -> Self::D;
}

/// `(R, Delta)`: Fig. dn-ad-terms.
pub(super) struct Reverse<R> {
    ids: IdGen,
    zero: Rc<Delta<R>>,
}

impl<R: Number> Reverse<R> {
    pub(super) fn new() -> Reverse<R> {
        Reverse { ids: IdGen::new(), zero: Rc::new(Delta::Zero) }
    }
}

impl<R: Number> Derivative for Reverse<R> {
    type R = R;
    type D = Rc<Delta<R>>;

    fn zero(&self) -> Rc<Delta<R>> {
        Rc::clone(&self.zero)
    }

    fn is_zero(d: &Rc<Delta<R>>) -> bool {
        matches!(**d, Delta::Zero)
    }

    // D[op(t1, .., tn)] = .. Share id (Add (Scale r1 d1) (Add .. (Scale rn dn)))
    fn combine(&mut self, terms: Vec<(Option<R>, Rc<Delta<R>>)>) -> Rc<Delta<R>> {
        let scaled = terms.into_iter().map(|(r, d)| match r {
            Some(r) => Rc::new(Delta::Scale(r, d)),
            None => d,
        });
        match scaled.rev().reduce(|sum, d| Rc::new(Delta::Add(d, sum))) {
            Some(sum) => Rc::new(Delta::Share(self.ids.fresh(), sum)),
            None => self.zero(),
        }
    }
}

/// `(R, R)`: a number and its derivative in one direction.
pub(super) struct Forward<R>(PhantomData<R>);

impl<R: Number> Forward<R> {
    pub(super) fn new() -> Forward<R> {
        Forward(PhantomData)
    }
}

impl<R: Number> Derivative for Forward<R> {
    type R = R;
    type D = R;

    fn zero(&self) -> R {
        R::ZERO
    }

    fn is_zero(dx: &R) -> bool {
        *dx == R::ZERO
    }

    fn combine(&mut self, terms: Vec<(Option<R>, R)>) -> R {
        let scaled = terms.into_iter().map(|(r, dx)| r.map_or(dx, |r| dx.times(r)));
        scaled.rev().reduce(|sum, dx| dx.plus(sum)).unwrap_or(R::ZERO)
    }
}
