//! Distributions of real numbers.

use cotan_array::Dtype;

use super::{Key, bad_parameter};
use crate::element::{Element, Float};
use crate::error::Result;
use crate::sizes::Sizes;
use crate::tensor::Tensor;

/// How often a draw by rejection is tried. Every try succeeds with a probability above two thirds,
/// so the last is never reached.
const ATTEMPTS: u8 = 120;

/// A number from 0 to (excluding) 1 with as many binary digits as `T` has.
fn unit<T: Element>(bits: u64) -> f64 {
    let digits = if T::DTYPE == Dtype::F32 { 24 } else { 53 };
    (bits >> (64 - digits)) as f64 / (1u64 << digits) as f64
}

/// A number from (excluding) 0 to 1.
fn positive_unit(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// Two independent normal numbers: the method of Box and Muller.
///
/// With $u, v$ uniform, $\sqrt{-2 \log u}$ is the radius and $2 \pi v$ the angle of a point whose
/// coordinates are normal.
fn normal_pair([u, v]: [u64; 2]) -> [f64; 2] {
    let radius = libm::sqrt(-2.0 * libm::log(positive_unit(u)));
    let angle = std::f64::consts::TAU * unit::<f64>(v);
    [radius * libm::cos(angle), radius * libm::sin(angle)]
}

impl Key {
    /// Uniform numbers from 0 to (excluding) 1: multiples of $2^{-53}$, of `f32` $2^{-24}$.
    ///
    /// ```
    /// use cotan::random::Key;
    ///
    /// let u = Key::new(1).uniform::<f64>([2, 3])?;
    /// assert!(u.iter().all(|x| (0.0..1.0).contains(&x)));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn uniform<T: Float>(self, sizes: impl Sizes) -> Result<Tensor<T>> {
        self.tensor(sizes, |i| T::of(unit::<T>(self.bits(i))))
    }

    /// Uniform numbers from `low` to (excluding) `high`.
    ///
    /// ```
    /// use cotan::random::Key;
    ///
    /// let u = Key::new(1).uniform_in::<f32>([5], -2.0, -1.0)?;
    /// assert!(u.iter().all(|x| (-2.0..-1.0).contains(&x)));
    /// assert!(Key::new(1).uniform_in::<f32>([5], 1.0, 1.0).is_err());
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn uniform_in<T: Float>(self, sizes: impl Sizes, low: f64, high: f64) -> Result<Tensor<T>> {
        let (least, bound) = (T::of(low), T::of(high));
        let width = high - low;
        // Also NaN is not below.
        if !(least < bound && width.is_finite()) {
            let message = format!("no numbers lie from {low} to {high}");
            return Err(bad_parameter(
                "uniform_in",
                message,
                "low must be below high, both finite",
            ));
        }
        self.tensor(sizes, |i| {
            let x = T::of(low + width * unit::<T>(self.bits(i)));
            // Rounding may have reached the bound.
            if x < bound { x } else { least }
        })
    }

    /// Normal numbers of mean 0 and variance 1, by the method of Box and Muller. An `f32` is the
    /// `f64` rounded.
    ///
    /// ```
    /// use cotan::random::Key;
    ///
    /// let x = Key::new(1).normal::<f64>([10_000])?;
    /// assert!((x.iter().sum::<f64>() / 1e4).abs() < 0.05);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn normal<T: Float>(self, sizes: impl Sizes) -> Result<Tensor<T>> {
        self.tensor(sizes, |i| T::of(self.normal_at(0, i)))
    }

    /// A normal number for an element; two share a block.
    fn normal_at(self, attempt: u8, index: u64) -> f64 {
        normal_pair(self.pair(attempt, index / 2))[(index % 2) as usize]
    }

    /// Normal numbers of mean 0 and variance 1 on condition that they lie between `-bound` and
    /// `bound`, by rejection.
    ///
    /// ```
    /// use cotan::random::Key;
    ///
    /// let x = Key::new(1).truncated_normal::<f64>([100], 2.0)?;
    /// assert!(x.iter().all(|x| x.abs() <= 2.0));
    /// assert!(Key::new(1).truncated_normal::<f64>([100], 0.5).is_err());
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn truncated_normal<T: Float>(self, sizes: impl Sizes, bound: f64) -> Result<Tensor<T>> {
        if bound.is_nan() || bound < 1.0 {
            let message = format!("a bound of {bound:?}");
            let hint = "numbers beyond the bound are drawn again: it must be 1 at least";
            return Err(bad_parameter("truncated_normal", message, hint));
        }
        self.tensor(sizes, |i| {
            let draws = (0..ATTEMPTS).map(|attempt| self.normal_at(attempt, i));
            let mut inside = draws.filter(|x| T::of(x.abs()) <= T::of(bound));
            T::of(inside.next().unwrap_or(0.0))
        })
    }

    /// Exponential numbers of mean 1: $-\log u$.
    ///
    /// ```
    /// use cotan::random::Key;
    ///
    /// assert!(Key::new(1).exponential::<f64>([100])?.iter().all(|x| x >= 0.0));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn exponential<T: Float>(self, sizes: impl Sizes) -> Result<Tensor<T>> {
        self.tensor(sizes, |i| T::of(-libm::log(positive_unit(self.bits(i)))))
    }

    /// Numbers of the gamma distribution with shape $\alpha$ and scale 1: the method of Marsaglia
    /// and Tsang (*A Simple Method for Generating Gamma Variables*, 2000).
    ///
    /// ```
    /// use cotan::random::Key;
    ///
    /// let x = Key::new(1).gamma::<f64>([10_000], 3.0)?;
    /// assert!((x.iter().sum::<f64>() / 1e4 - 3.0).abs() < 0.1);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn gamma<T: Float>(self, sizes: impl Sizes, alpha: f64) -> Result<Tensor<T>> {
        if !(alpha > 0.0 && alpha.is_finite()) {
            let message = format!("a shape of {alpha}");
            return Err(bad_parameter("gamma", message, "it must be above 0, and finite"));
        }
        self.tensor(sizes, |i| T::of(self.gamma_at(i, alpha)))
    }

    fn gamma_at(self, index: u64, alpha: f64) -> f64 {
        // Below 1: a number of shape alpha + 1, times u^(1 / alpha).
        if alpha < 1.0 {
            let [u, _] = self.pair(2 * ATTEMPTS, index);
            let boost = libm::pow(positive_unit(u), 1.0 / alpha);
            return self.gamma_at(index, alpha + 1.0) * boost;
        }
        let d = alpha - 1.0 / 3.0;
        let c = 1.0 / libm::sqrt(9.0 * d);
        for attempt in 0..ATTEMPTS {
            let [x, _] = normal_pair(self.pair(2 * attempt, index));
            let [u, _] = self.pair(2 * attempt + 1, index);
            let cube = (1.0 + c * x) * (1.0 + c * x) * (1.0 + c * x);
            let accepted = cube > 0.0
                && libm::log(positive_unit(u)) < 0.5 * x * x + d * (1.0 - cube + libm::log(cube));
            if accepted {
                return d * cube;
            }
        }
        d
    }
}
