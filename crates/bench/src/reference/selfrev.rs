//! $\sum_i a_i a_{n-1-i}$: each pair of elements is read once.

use super::Gradient;
use super::lanes::{self, LANES};
use crate::Result;
use crate::inputs::Inputs;

pub(super) struct SelfReversed {
    a: Vec<f64>,
    da: Vec<f64>,
}

impl SelfReversed {
    pub(super) fn new(inputs: &Inputs) -> Result<SelfReversed> {
        let a = inputs.elements::<f64>("a")?;
        Ok(SelfReversed { da: vec![0.0; a.len()], a })
    }
}

impl Gradient for SelfReversed {
    fn run(&mut self) -> f64 {
        let half = self.a.len() / 2;
        let odd = self.a.len() % 2;
        let (low, rest) = self.a.split_at(half);
        let (middle, high) = rest.split_at(odd);
        let (d_low, d_rest) = self.da.split_at_mut(half);
        let (d_middle, d_high) = d_rest.split_at_mut(odd);
        // With an odd number of elements the one in the middle is its own partner.
        let mut value = 0.0;
        for (x, dx) in middle.iter().zip(d_middle) {
            *dx = 2.0 * x;
            value = x * x;
        }
        let (low, low_rest) = low.as_chunks::<LANES>();
        let (high_rest, high) = high.as_rchunks::<LANES>();
        let (d_low, d_low_rest) = d_low.as_chunks_mut::<LANES>();
        let (d_high_rest, d_high) = d_high.as_rchunks_mut::<LANES>();
        let mut sums = [0.0; LANES];
        let ends = high.iter().zip(d_high).rev();
        for ((x, dx), (y, dy)) in low.iter().zip(d_low).zip(ends) {
            for k in 0..LANES {
                dx[k] = 2.0 * y[LANES - 1 - k];
                dy[k] = 2.0 * x[LANES - 1 - k];
                sums[k] = x[k].mul_add(y[LANES - 1 - k], sums[k]);
            }
        }
        let ends = high_rest.iter().zip(d_high_rest).rev();
        for ((x, dx), (y, dy)) in low_rest.iter().zip(d_low_rest).zip(ends) {
            (*dx, *dy) = (2.0 * y, 2.0 * x);
            value += 2.0 * x * y;
        }
        value + 2.0 * lanes::fold(sums)
    }

    fn derivatives(&self) -> Vec<(&'static str, Vec<usize>, &[f64])> {
        vec![("a", vec![self.a.len()], &self.da)]
    }
}
