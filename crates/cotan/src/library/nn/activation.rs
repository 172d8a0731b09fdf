//! Activations: scalar functions, element by element.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};

use super::parts::chosen;
use crate::arr::{Arr, Operand};
use crate::element::Float;
use crate::error::Error;
use crate::library::axes::{failed, fronted, restored, type_text as shown};
use crate::ops::select;
use crate::sizes::Axes;
use crate::stage::operation;

/// The constants of `selu`: with them, means of 0 and variances of 1 are kept from layer to layer
/// (Klambauer et al., Self-Normalizing Neural Networks, 2017).
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;

impl<T: Float> Arr<T> {
    /// $\max(0, x)$. Its derivative at 0 is 0; NaN stays NaN.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let (y, dx) = value_and_grad(|x: Arr<f64>| x.relu().sum()).call([-1.0, 0.0, 2.0])?;
    /// assert_eq!((y.item(), dx.to_vec()), (Some(2.0), vec![0.0, 0.0, 1.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn relu(self) -> Arr<T> {
        // Of equals the first is the maximum: at 0 the constant, which has no derivative.
        T::default().operand().maximum(self)
    }

    /// `x` above 0, `slope * x` elsewhere. Its derivative at 0 is the slope.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.leaky_relu(0.5));
    /// assert_eq!(f.call([-2.0, 0.0, 2.0])?.to_vec(), [-1.0, 0.0, 2.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn leaky_relu(self, slope: impl Operand<T>) -> Arr<T> {
        let slope = slope.operand();
        operation("leaky_relu", || select(self.gt(T::default()), self, self * slope))
    }

    /// `x` above 0, $\alpha (e^x - 1)$ elsewhere. Its derivative at 0 is $\alpha$.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = jit(|x: Arr<f64>| x.elu(2.0));
    /// assert_eq!(f.call([f64::NEG_INFINITY, 0.0, 3.0])?.to_vec(), [-2.0, 0.0, 3.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn elu(self, alpha: impl Operand<T>) -> Arr<T> {
        let alpha = alpha.operand();
        operation("elu", || select(self.gt(T::default()), self, self.expm1() * alpha))
    }

    /// The scaled exponential linear unit: $\lambda\,\mathrm{elu}_\alpha(x)$ with the constants
    /// that keep means of 0 and variances of 1.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let y = jit(|x: Arr<f64>| x.selu()).call([0.0, 1.0])?.to_vec();
    /// assert!(y[0] == 0.0 && (y[1] - 1.0507).abs() < 1e-4);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn selu(self) -> Arr<T> {
        operation("selu", || self.elu(T::of(SELU_ALPHA)) * T::of(SELU_SCALE))
    }

    /// $x\,\Phi(x)$, where $\Phi$ is the distribution function of the normal distribution; precise
    /// also far below 0. At $-\infty$ it is NaN.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let y = jit(|x: Arr<f64>| x.gelu()).call([0.0, 1.0])?.to_vec();
    /// assert!(y[0] == 0.0 && (y[1] - 0.841345).abs() < 1e-6);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn gelu(self) -> Arr<T> {
        operation("gelu", || self * T::of(0.5) * (self * T::of(-FRAC_1_SQRT_2)).erfc())
    }

    /// The approximation of [`gelu`](Arr::gelu) by
    /// $\frac x2 (1 + \tanh(\sqrt{2/\pi}\,(x + 0.044715\,x^3)))$.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let y = jit(|x: Arr<f64>| x.gelu_tanh()).call([0.0, 1.0])?.to_vec();
    /// assert!(y[0] == 0.0 && (y[1] - 0.841192).abs() < 1e-6);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn gelu_tanh(self) -> Arr<T> {
        // The square root of 2 / pi.
        let root = T::of(FRAC_2_SQRT_PI / SQRT_2);
        operation("gelu_tanh", || {
            let inner = (self + self * self * self * T::of(0.044_715)) * root;
            self * T::of(0.5) * (inner.tanh() + T::ONE)
        })
    }

    /// $x\,\sigma(x)$, also called swish. At $-\infty$ it is NaN.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// assert_eq!(grad(|x: Arr<f64>| x.silu()).call(0.0)?, 0.5);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn silu(self) -> Arr<T> {
        operation("silu", || self * self.logistic())
    }

    /// $\log(1 + e^x)$, without overflow, precise far below 0. Its derivative is
    /// [`sigmoid`](Arr::sigmoid).
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let (y, dx) = value_and_grad(|x: Arr<f64>| x.softplus().sum()).call([0.0, 1000.0])?;
    /// assert_eq!(y.item(), Some(2f64.ln() + 1000.0));
    /// assert_eq!(dx.to_vec(), [0.5, 1.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn softplus(self) -> Arr<T> {
        // By |x| it would be shorter, but have a kink at 0.
        operation("softplus", || {
            let above = self + (-self).exp().log1p();
            select(self.gt(T::default()), above, self.exp().log1p())
        })
    }

    /// $x / (1 + |x|)$; at infinity NaN.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// assert_eq!(jit(|x: Arr<f64>| x.softsign()).call([-1.0, 3.0])?.to_vec(), [-0.5, 0.75]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn softsign(self) -> Arr<T> {
        operation("softsign", || self / (self.abs() + T::ONE))
    }

    /// `x` cut to what lies between -1 and 1. Its derivative at -1 and 1 is 1.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// assert_eq!(jit(|x: Arr<f64>| x.hard_tanh()).call([-2.0, 0.5])?.to_vec(), [-1.0, 0.5]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn hard_tanh(self) -> Arr<T> {
        operation("hard_tanh", || self.clamp(T::of(-1.0), T::ONE))
    }

    /// $\sigma(x) = 1 / (1 + e^{-x})$: another name of [`logistic`](Arr::logistic).
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// assert_eq!(jit(|x: Arr<f64>| x.sigmoid()).call([0.0, 1000.0])?.to_vec(), [0.5, 1.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn sigmoid(self) -> Arr<T> {
        self.logistic()
    }

    /// $\log \sigma(x)$, without underflow.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let y = jit(|x: Arr<f64>| x.log_sigmoid()).call([0.0, -1000.0])?;
    /// assert_eq!(y.to_vec(), [-2f64.ln(), -1000.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn log_sigmoid(self) -> Arr<T> {
        operation("log_sigmoid", || -(-self).softplus())
    }

    /// $x \tanh(\log(1 + e^x))$. At $-\infty$ it is NaN.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// assert_eq!(jit(|x: Arr<f64>| x.mish()).call([0.0, 1000.0])?.to_vec(), [0.0, 1000.0]);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn mish(self) -> Arr<T> {
        operation("mish", || self * self.softplus().tanh())
    }

    /// The gated linear unit: the first half along an axis, times the sigmoid of the second.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// assert_eq!(jit(|x: Arr<f64>| x.glu(0)).call([3.0, 4.0, 0.0, 0.0])?.to_vec(), [1.5, 2.0]);
    /// assert!(compile(|x: Arr<f64>| x.glu(0), [3]).is_err());
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn glu(self, axis: impl Axes) -> Arr<T> {
        operation("glu", || {
            let [axis] = chosen("glu", self, axis)[..] else {
                return failed(Error::type_error("glu", "it halves one axis"));
            };
            let front = fronted(self, axis);
            let mut dims = front.shape();
            let (half, odd) = match dims.first() {
                Some(k) => (k / 2, k % 2 == 1),
                None => return Arr::nothing(),
            };
            if odd {
                let message = format!("axis {axis} of {} cannot be halved", shown(self));
                let hint = "its size must be even: the values and their gates";
                return failed(Error::type_error("glu", message).with_hint(hint));
            }
            dims.splice(..1, [2, half]);
            let halves = front.reshape(&dims);
            restored(halves.at(0) * halves.at(1).logistic(), axis)
        })
    }
}
