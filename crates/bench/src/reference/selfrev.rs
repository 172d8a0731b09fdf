//! $\sum_i a_i a_{n-1-i}$: each pair of elements is read once.

use super::{Gradient, lanes};
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
        let n = self.a.len();
        let half = n / 2;
        let (low, high) = self.a.split_at(half);
        let (d_low, d_high) = self.da.split_at_mut(half);
        // With an odd number of elements the one in the middle is its own partner.
        let odd = n % 2;
        let mut value = 0.0;
        if odd == 1 {
            d_high[0] = 2.0 * high[0];
            value = high[0] * high[0];
        }
        let (high, d_high) = (&high[odd..odd + half], &mut d_high[odd..odd + half]);
        let (low, d_low) = (&low[..half], &mut d_low[..half]);
        value
            + 2.0
                * lanes::sum(half, |i| {
                    let (x, y) = (low[i], high[half - 1 - i]);
                    d_low[i] = 2.0 * y;
                    d_high[half - 1 - i] = 2.0 * x;
                    x * y
                })
    }

    fn derivatives(&self) -> Vec<(&'static str, Vec<usize>, &[f64])> {
        vec![("a", vec![self.a.len()], &self.da)]
    }
}
