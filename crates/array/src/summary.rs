//! A large array in one line.

use std::fmt;

use crate::array::with_element;
use crate::{Array, Dtype, Element, Shape};

/// What there is to say about an array too large to show.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The shape.
    pub shape: Shape,
    /// The element type.
    pub dtype: Dtype,
    /// The smallest element as a scalar, NaNs apart; `None` when there is none.
    pub min: Option<Array>,
    /// The largest element as a scalar, NaNs apart; `None` when there is none.
    pub max: Option<Array>,
    /// The mean of the finite elements (of booleans, the fraction that is true); `None` when
    /// there is none.
    pub mean: Option<f64>,
    /// The number of NaNs.
    pub nans: usize,
    /// The number of infinities of either sign.
    pub infinities: usize,
}

impl Array {
    /// Smallest, largest and mean element, and the number of NaNs and infinities.
    pub fn summary(&self) -> Summary {
        with_element!(self.dtype(), T => self.summary_of::<T>())
    }

    fn summary_of<T: Element>(&self) -> Summary {
        let mut bounds: Option<(T, T)> = None;
        let (mut nans, mut infinities, mut sum) = (0, 0, 0.0);
        let elements = || self.iter::<T>().into_iter().flatten();
        for x in elements() {
            let value = x.to_f64();
            if value.is_nan() {
                nans += 1;
                continue;
            }
            let (min, max) = bounds.unwrap_or((x, x));
            bounds = Some((if x < min { x } else { min }, if x > max { x } else { max }));
            if value.is_infinite() {
                infinities += 1;
            } else {
                sum += value;
            }
        }
        let finite = (self.numel() - nans - infinities) as f64;
        let mut mean = sum / finite;
        if !sum.is_finite() {
            // Finite elements whose sum is not: divide before adding.
            mean = elements().map(T::to_f64).filter(|x| x.is_finite()).map(|x| x / finite).sum();
        }
        Summary {
            shape: self.shape().clone(),
            dtype: self.dtype(),
            min: bounds.map(|(min, _)| Array::scalar(min)),
            max: bounds.map(|(_, max)| Array::scalar(max)),
            mean: (finite > 0.0).then_some(mean),
            nans,
            infinities,
        }
    }
}

/// For example `f64[1000, 8]: min -1.5, max 2.0, mean 0.25, 3 NaN, 1 infinite`.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}:", self.dtype, self.shape)?;
        match (&self.min, &self.max) {
            (Some(min), Some(max)) => write!(f, " min {min}, max {max}")?,
            _ if self.nans == 0 => write!(f, " no elements")?,
            _ => write!(f, " no numbers")?,
        }
        if let Some(mean) = self.mean {
            write!(f, ", mean {mean:?}")?;
        }
        if self.nans > 0 {
            write!(f, ", {} NaN", self.nans)?;
        }
        if self.infinities > 0 {
            write!(f, ", {} infinite", self.infinities)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary<T: Element>(xs: &[T]) -> String {
        let sh = Shape::new("t", &[xs.len()]).unwrap();
        Array::from_slice(sh, xs).unwrap().summary().to_string()
    }

    #[test]
    fn numbers_are_told_from_the_rest() {
        let xs = [2.0, f64::NAN, -1.0, f64::INFINITY, 5.0];
        assert_eq!(summary(&xs), "f64[5]: min -1.0, max inf, mean 2.0, 1 NaN, 1 infinite");
        assert_eq!(summary(&[f32::NAN]), "f32[1]: no numbers, 1 NaN");
        assert_eq!(summary::<f64>(&[]), "f64[0]: no elements");
        assert_eq!(summary(&[true, false]), "bool[2]: min false, max true, mean 0.5");
    }

    #[test]
    fn integers_stay_exact_and_huge_floats_have_a_mean() {
        let s = summary(&[i64::MAX, i64::MAX - 1]);
        assert!(s.starts_with("i64[2]: min 9223372036854775806, max 9223372036854775807"), "{s}");
        assert_eq!(summary(&[1e308, 1e308]), "f64[2]: min 1e308, max 1e308, mean 1e308");
    }
}
