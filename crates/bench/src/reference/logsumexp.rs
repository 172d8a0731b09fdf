//! The sum of the logarithms of the sums of exponentials of rows: three passes over a row, which
//! stays in the first cache.

use super::{Gradient, lanes};
use crate::Result;
use crate::inputs::Inputs;

pub(super) struct LogSumExp {
    x: Vec<f64>,
    columns: usize,
    dx: Vec<f64>,
}

impl LogSumExp {
    pub(super) fn new(inputs: &Inputs) -> Result<LogSumExp> {
        let x = inputs.elements::<f64>("X")?;
        let columns = inputs.sizes("X")?.last().copied().unwrap_or(1);
        Ok(LogSumExp { dx: vec![0.0; x.len()], x, columns })
    }
}

impl Gradient for LogSumExp {
    fn run(&mut self) -> f64 {
        let columns = self.columns;
        let mut value = 0.0;
        for (row, dx) in self.x.chunks_exact(columns).zip(self.dx.chunks_exact_mut(columns)) {
            let top = lanes::largest(row);
            let sum = lanes::exponentials(row, top, dx);
            let scale = 1.0 / sum;
            for dx in dx {
                *dx *= scale;
            }
            value += top + sum.ln();
        }
        value
    }

    fn derivatives(&self) -> Vec<(&'static str, Vec<usize>, &[f64])> {
        vec![("X", vec![self.x.len() / self.columns, self.columns], &self.dx)]
    }
}
