//! Activations: scalar functions, element by element.

use crate::arr::{Arr, Operand};
use crate::element::Float;
use crate::library::call::library;
use crate::sizes::Axes;

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
        library!("relu", relu(x = self))
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
        library!("leaky_relu", leaky_relu(x = self, slope = slope.operand()))
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
        library!("elu", elu(x = self, alpha = alpha.operand()))
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
        library!("selu", selu(x = self))
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
        library!("gelu", gelu(x = self))
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
        library!("gelu_tanh", gelu_tanh(x = self))
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
        library!("silu", silu(x = self))
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
        library!("softplus", softplus(x = self))
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
        library!("softsign", softsign(x = self))
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
        library!("hard_tanh", hard_tanh(x = self))
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
        library!("log_sigmoid", log_sigmoid(x = self))
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
        library!("mish", mish(x = self))
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
        library!("glu", glu(x = self, axis = axis.axes()))
    }
}
