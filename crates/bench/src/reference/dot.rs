//! $\sum_i a_i b_i$: one pass that reads two arrays and writes two.

use super::{Gradient, lanes};
use crate::Result;
use crate::inputs::Inputs;

pub(super) struct Dot {
    a: Vec<f64>,
    b: Vec<f64>,
    da: Vec<f64>,
    db: Vec<f64>,
}

impl Dot {
    pub(super) fn new(inputs: &Inputs) -> Result<Dot> {
        let (a, b) = (inputs.elements::<f64>("a")?, inputs.elements("b")?);
        Ok(Dot { da: vec![0.0; a.len()], db: vec![0.0; a.len()], a, b })
    }
}

impl Gradient for Dot {
    fn run(&mut self) -> f64 {
        let n = self.a.len();
        let (a, b) = (&self.a[..n], &self.b[..n]);
        let (da, db) = (&mut self.da[..n], &mut self.db[..n]);
        lanes::sum(n, |i| {
            da[i] = b[i];
            db[i] = a[i];
            a[i] * b[i]
        })
    }

    fn derivatives(&self) -> Vec<(&'static str, Vec<usize>, &[f64])> {
        let n = self.a.len();
        vec![("a", vec![n], &self.da), ("b", vec![n], &self.db)]
    }
}
