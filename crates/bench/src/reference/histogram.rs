//! A weighted histogram: $\frac12 \sum_b h_b^2$ with $h_b$ the sum of the weights in bin $b$.

use super::Gradient;
use crate::Result;
use crate::inputs::Inputs;

/// So many histograms are filled in turn, since equal bins that follow each other wait for each
/// other.
const COPIES: usize = 4;

pub(super) struct Histogram {
    v: Vec<f64>,
    idx: Vec<i64>,
    bins: Vec<[f64; COPIES]>,
    h: Vec<f64>,
    dv: Vec<f64>,
}

impl Histogram {
    pub(super) fn new(inputs: &Inputs, bins: usize) -> Result<Histogram> {
        let v = inputs.elements::<f64>("v")?;
        let idx = inputs.elements("idx")?;
        let dv = vec![0.0; v.len()];
        Ok(Histogram { v, idx, bins: vec![[0.0; COPIES]; bins], h: vec![0.0; bins], dv })
    }
}

impl Gradient for Histogram {
    fn run(&mut self) -> f64 {
        self.bins.fill([0.0; COPIES]);
        let bins = &mut self.bins[..];
        let mut add = |at: i64, copy: usize, v: f64| {
            if let Some(bin) = bins.get_mut(at as usize) {
                bin[copy] += v;
            }
        };
        let (ats, at_rest) = self.idx.as_chunks::<COPIES>();
        let (vs, v_rest) = self.v.as_chunks::<COPIES>();
        for (ats, vs) in ats.iter().zip(vs) {
            for copy in 0..COPIES {
                add(ats[copy], copy, vs[copy]);
            }
        }
        for (&at, &v) in at_rest.iter().zip(v_rest) {
            add(at, 0, v);
        }
        let mut value = 0.0;
        for (h, bin) in self.h.iter_mut().zip(&self.bins) {
            *h = bin.iter().sum();
            value += *h * *h;
        }
        for (dv, &at) in self.dv.iter_mut().zip(&self.idx) {
            *dv = self.h.get(at as usize).copied().unwrap_or(0.0);
        }
        0.5 * value
    }

    fn derivatives(&self) -> Vec<(&'static str, Vec<usize>, &[f64])> {
        vec![("v", vec![self.dv.len()], &self.dv)]
    }
}
