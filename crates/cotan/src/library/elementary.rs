//! Elementwise functions made of others: what kind of float it is, and sums without overflow.

use super::cumulative::log_add_exp;
use super::reduce::root;
use crate::arr::{Arr, Operand};
use crate::element::Float;
use crate::ops::select;
use crate::stage;

impl<T: Float> Arr<T> {
    /// Where it is NaN.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let y = jit(|x: Arr<f64>| x.is_nan()).call([1.0, f64::NAN, f64::INFINITY])?;
    /// assert_eq!(y.to_vec(), [false, true, false]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn is_nan(self) -> Arr<bool> {
        stage::operation("is_nan", || self.ne(self))
    }

    /// Where it is inf or -inf.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let y = jit(|x: Arr<f64>| x.is_inf()).call([1.0, f64::NAN, f64::NEG_INFINITY])?;
    /// assert_eq!(y.to_vec(), [false, false, true]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn is_inf(self) -> Arr<bool> {
        stage::operation("is_inf", || self.abs().eq(T::MOST))
    }

    /// Where it is neither infinite nor NaN.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let y = jit(|x: Arr<f64>| x.is_finite()).call([1.0, f64::NAN, f64::INFINITY])?;
    /// assert_eq!(y.to_vec(), [true, false, false]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn is_finite(self) -> Arr<bool> {
        stage::operation("is_finite", || self.abs().lt(T::MOST))
    }

    /// `sqrt(x * x + y * y)`, where neither square overflows or vanishes; NaN if either is. The
    /// derivative at the origin is 0.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let large = 2f64.powi(600);
    /// let f = |x: Arr<f64>, y: Arr<f64>| x.hypot(y);
    /// assert_eq!(jit(f).call((3.0 * large, 4.0 * large))?, 5.0 * large);
    /// assert_eq!(grad(f).call((2.0, 0.0))?, 1.0);
    /// assert_eq!(grad(f).call((0.0, 0.0))?, 0.0);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn hypot(self, other: impl Operand<T>) -> Arr<T> {
        let other = other.operand();
        stage::operation("hypot", || {
            // The value does not depend on the scale, which is a constant for the derivative.
            let largest = self.abs().maximum(other.abs());
            let usable = largest.gt(T::default()) & largest.lt(T::MOST);
            let scale = select(usable, largest, T::ONE).stop_gradient();
            scale * root((self / scale).square() + (other / scale).square())
        })
    }

    /// `log(exp(x) + exp(y))` without overflow. Where both are -inf it is -inf, with derivative 0.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>| x.logaddexp(1000.0);
    /// let (y, dx) = value_and_grad(f).call(1000.0)?;
    /// assert_eq!((y.item(), dx.item()), (Some(1000.0 + 2f64.ln()), Some(0.5)));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn logaddexp(self, other: impl Operand<T>) -> Arr<T> {
        let other = other.operand();
        stage::operation("logaddexp", || log_add_exp(self, other))
    }
}
