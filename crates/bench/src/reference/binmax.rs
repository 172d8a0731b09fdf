//! The largest elements by bin: $\frac12 \sum_b h_b^2$ with $h_b$ the largest in bin $b$.

use super::Gradient;
use crate::Result;
use crate::inputs::Inputs;

pub(super) struct BinMax {
    v: Vec<f64>,
    idx: Vec<i64>,
    /// The largest element of each bin so far, and its position.
    best: Vec<(f64, usize)>,
    dv: Vec<f64>,
}

impl BinMax {
    pub(super) fn new(inputs: &Inputs, bins: usize) -> Result<BinMax> {
        let v = inputs.elements::<f64>("v")?;
        let idx = inputs.elements("idx")?;
        let dv = vec![0.0; v.len()];
        Ok(BinMax { v, idx, best: vec![(f64::NEG_INFINITY, 0); bins], dv })
    }
}

impl Gradient for BinMax {
    fn run(&mut self) -> f64 {
        self.best.fill((f64::NEG_INFINITY, 0));
        for (n, (&x, &at)) in self.v.iter().zip(&self.idx).enumerate() {
            if let Some(best) = self.best.get_mut(at as usize)
                && x > best.0
            {
                *best = (x, n);
            }
        }
        self.dv.fill(0.0);
        let mut value = 0.0;
        for &(x, n) in self.best.iter().filter(|best| best.0 > f64::NEG_INFINITY) {
            value += x * x;
            self.dv[n] = x;
        }
        0.5 * value
    }

    fn derivatives(&self) -> Vec<(&'static str, Vec<usize>, &[f64])> {
        vec![("v", vec![self.dv.len()], &self.dv)]
    }
}
