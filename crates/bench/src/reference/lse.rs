//! The logarithm of a sum of exponentials: its gradient is the exponentials over their sum.

use super::{Gradient, lanes};
use crate::Result;
use crate::inputs::Inputs;

pub(super) struct Lse {
    x: Vec<f64>,
    dx: Vec<f64>,
}

impl Lse {
    pub(super) fn new(inputs: &Inputs) -> Result<Lse> {
        let x = inputs.elements::<f64>("x")?;
        Ok(Lse { dx: vec![0.0; x.len()], x })
    }
}

impl Gradient for Lse {
    fn run(&mut self) -> f64 {
        let top = lanes::largest(&self.x);
        let sum = lanes::exponentials(&self.x, top, &mut self.dx);
        let scale = 1.0 / sum;
        self.dx.iter_mut().for_each(|dx| *dx *= scale);
        top + sum.ln()
    }

    fn derivatives(&self) -> Vec<(&'static str, Vec<usize>, &[f64])> {
        vec![("x", vec![self.x.len()], &self.dx)]
    }
}
