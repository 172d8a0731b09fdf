//! $\sum_i a_i b_i$: one pass that reads two arrays and writes two.

use super::Gradient;
use super::lanes::{self, LANES};
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
        let (a, a_rest) = self.a.as_chunks::<LANES>();
        let (b, b_rest) = self.b.as_chunks::<LANES>();
        let (da, da_rest) = self.da.as_chunks_mut::<LANES>();
        let (db, db_rest) = self.db.as_chunks_mut::<LANES>();
        let mut sums = [0.0; LANES];
        for ((a, b), (da, db)) in a.iter().zip(b).zip(da.iter_mut().zip(db)) {
            (*da, *db) = (*b, *a);
            for k in 0..LANES {
                sums[k] = a[k].mul_add(b[k], sums[k]);
            }
        }
        da_rest.copy_from_slice(b_rest);
        db_rest.copy_from_slice(a_rest);
        lanes::fold(sums) + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
    }

    fn derivatives(&self) -> Vec<(&'static str, Vec<usize>, &[f64])> {
        let n = self.a.len();
        vec![("a", vec![n], &self.da), ("b", vec![n], &self.db)]
    }
}
