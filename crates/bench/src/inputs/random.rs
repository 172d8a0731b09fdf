//! Random arrays, the same for a seed on every platform up to the rounding of `ln` and `cos`.

use std::f64::consts::TAU;

use cotan_array::{Array, Shape};

use crate::Result;

/// A stream of random numbers.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The next bits: a counter, thoroughly mixed.
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to (excluding) 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Normally distributed numbers around 0.
    pub(super) fn normal(&mut self, sizes: &[usize], spread: f64) -> Result<Array> {
        self.fill(sizes, |r| {
            let radius = (-2.0 * (1.0 - r.unit()).ln()).sqrt();
            spread * radius * (TAU * r.unit()).cos()
        })
    }

    /// Numbers from 0 to (excluding) 1.
    pub(super) fn uniform(&mut self, sizes: &[usize]) -> Result<Array> {
        self.fill(sizes, Random::unit)
    }

    /// Integers from 0 to (excluding) `end`.
    pub(super) fn integers(&mut self, sizes: &[usize], end: usize) -> Result<Array> {
        self.fill(sizes, |r| ((u128::from(r.bits()) * end as u128) >> 64) as i64)
    }

    fn fill<T: cotan_array::Element>(
        &mut self,
        sizes: &[usize],
        mut next: impl FnMut(&mut Random) -> T,
    ) -> Result<Array> {
        let shape = Shape::new("random", sizes)?;
        let elements = (0..shape.numel()).map(|_| next(self)).collect();
        Ok(Array::from_vec(shape, elements)?)
    }
}
