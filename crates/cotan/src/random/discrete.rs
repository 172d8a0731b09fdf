//! Distributions of integers and truth values, and permutations.

use std::ops::Range;

use super::{Key, bad_parameter};
use crate::error::Result;
use crate::sizes::Sizes;
use crate::tensor::Tensor;

impl Key {
    /// Integers of a range, each as likely as the others, exactly: the method of Lemire (*Fast
    /// Random Integer Generation in an Interval*, 2019), which draws again where a multiplication
    /// would favour some.
    ///
    /// ```
    /// use cotan::random::Key;
    ///
    /// let dice = Key::new(1).integers([100], 1..7)?;
    /// assert!(dice.iter().all(|x| (1..7).contains(&x)));
    /// assert!(Key::new(1).integers([1], 3..3).is_err());
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn integers(self, sizes: impl Sizes, range: Range<i64>) -> Result<Tensor<i64>> {
        if range.is_empty() {
            let message = format!("no integers lie in {range:?}");
            return Err(bad_parameter("integers", message, "the end must be above the start"));
        }
        let count = range.end.abs_diff(range.start);
        self.tensor(sizes, |i| range.start.wrapping_add_unsigned(self.below(i, count)))
    }

    /// A number below `n`, which is not 0, for an element.
    fn below(self, index: u64, n: u64) -> u64 {
        // Of the 2^64 products, those with a low half below 2^64 mod n are too many.
        let threshold = n.wrapping_neg() % n;
        let tries = (0..=u8::MAX).flat_map(|attempt| self.pair(attempt, index));
        let products = tries.map(|bits| u128::from(bits) * u128::from(n));
        // Each is accepted with a probability above one half.
        let mut accepted = products.filter(|&product| product as u64 >= threshold);
        accepted.next().map_or(0, |product| (product >> 64) as u64)
    }

    /// `true` with probability `p`.
    ///
    /// ```
    /// use cotan::random::Key;
    ///
    /// assert!(Key::new(1).bernoulli([5], 1.0)?.iter().all(|x| x));
    /// assert!(Key::new(1).bernoulli([5], 0.0)?.iter().all(|x| !x));
    /// assert!(Key::new(1).bernoulli([5], 1.5).is_err());
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn bernoulli(self, sizes: impl Sizes, p: f64) -> Result<Tensor<bool>> {
        if !(0.0..=1.0).contains(&p) {
            let message = format!("a probability of {p}");
            return Err(bad_parameter("bernoulli", message, "it lies between 0 and 1"));
        }
        self.tensor(sizes, |i| (self.bits(i) >> 11) as f64 / ((1u64 << 53) as f64) < p)
    }

    /// Positions in `weights`, each as likely as its weight. The weights need not sum to 1.
    ///
    /// ```
    /// use cotan::random::Key;
    ///
    /// let x = Key::new(1).categorical([50], &[1.0, 0.0, 3.0])?;
    /// assert!(x.iter().all(|x| x == 0 || x == 2));
    /// assert!(Key::new(1).categorical([50], &[0.0, 0.0]).is_err());
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn categorical(self, sizes: impl Sizes, weights: &[f64]) -> Result<Tensor<i64>> {
        if let Some((k, w)) =
            weights.iter().enumerate().find(|(_, w)| !(0.0..f64::INFINITY).contains(*w))
        {
            let message = format!("weight {k} is {w}");
            return Err(bad_parameter(
                "categorical",
                message,
                "weights are finite and not negative",
            ));
        }
        let sums: Vec<f64> = weights
            .iter()
            .scan(0.0, |sum, w| {
                *sum += w;
                Some(*sum)
            })
            .collect();
        let total = sums.last().copied().unwrap_or(0.0);
        if !(total > 0.0 && total.is_finite()) {
            let message = format!("weights with the sum {total}");
            return Err(bad_parameter("categorical", message, "one at least must be above 0"));
        }
        // The last that can be drawn, should rounding reach the total.
        let last = weights.iter().rposition(|&w| w > 0.0).unwrap_or(0);
        self.tensor(sizes, |i| {
            let place = total * ((self.bits(i) >> 11) as f64 / (1u64 << 53) as f64);
            sums.partition_point(|&sum| sum <= place).min(last) as i64
        })
    }

    /// The numbers below `n` in a random order, each order as likely as the others: the shuffle of
    /// Fisher and Yates.
    ///
    /// ```
    /// use cotan::random::Key;
    ///
    /// let mut order = Key::new(1).permutation(10)?.to_vec();
    /// order.sort();
    /// assert!(order.into_iter().eq(0..10));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn permutation(self, n: usize) -> Result<Tensor<i64>> {
        let ordered = self.tensor(n, |i| i as i64).map_err(|error| error.renamed("permutation"))?;
        let mut order = ordered.to_vec();
        for place in (1..n).rev() {
            let other = self.below(place as u64, place as u64 + 1);
            order.swap(place, other as usize);
        }
        Tensor::new([n], order)
    }
}
