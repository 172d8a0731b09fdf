//! Elementwise functions made of others: what kind of float it is, and sums without overflow.

use super::call::library;
use crate::arr::{Arr, Operand};
use crate::element::Float;

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
        library!("is_nan", is_nan(x = self))
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
        library!("is_inf", is_inf(x = self))
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
        library!("is_finite", is_finite(x = self))
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
        library!("hypot", hypot(x = self, y = other))
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
        library!("logaddexp", logaddexp(x = self, y = other))
    }
}
