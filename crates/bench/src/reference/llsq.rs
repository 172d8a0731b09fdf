//! A polynomial fitted by least squares: many points at a time, up for the value and down for the
//! gradient.

use super::Gradient;
use crate::Result;
use crate::inputs::Inputs;

/// So many points at a time.
const WIDTH: usize = 32;

pub(super) struct LeastSquares {
    x: Vec<f64>,
    points: usize,
    /// The derivatives by each coefficient, for each of the points that are taken at a time.
    sums: Vec<[f64; WIDTH]>,
    dx: Vec<f64>,
}

impl LeastSquares {
    pub(super) fn new(inputs: &Inputs, points: usize) -> Result<LeastSquares> {
        let x = inputs.elements::<f64>("x")?;
        let sums = vec![[0.0; WIDTH]; x.len()];
        Ok(LeastSquares { dx: vec![0.0; x.len()], x, points, sums })
    }
}

impl Gradient for LeastSquares {
    fn run(&mut self) -> f64 {
        let n = self.points;
        let step = 2.0 / (n as f64 - 1.0);
        self.sums.fill([0.0; WIDTH]);
        let mut squares = [0.0; WIDTH];
        for begin in (0..n).step_by(WIDTH) {
            let t: [f64; WIDTH] = std::array::from_fn(|k| (begin + k) as f64 * step - 1.0);
            let mut y = [0.0f64; WIDTH];
            for &x in self.x.iter().rev() {
                for k in 0..WIDTH {
                    y[k] = y[k].mul_add(t[k], x);
                }
            }
            // What is beyond the last point has no error.
            let mut power: [f64; WIDTH] = std::array::from_fn(|k| {
                let sign = if t[k] > 0.0 {
                    1.0
                } else if t[k] < 0.0 {
                    -1.0
                } else {
                    0.0
                };
                if begin + k < n { y[k] - sign } else { 0.0 }
            });
            for k in 0..WIDTH {
                squares[k] = power[k].mul_add(power[k], squares[k]);
            }
            for sums in &mut self.sums {
                for k in 0..WIDTH {
                    sums[k] += power[k];
                    power[k] *= t[k];
                }
            }
        }
        for (dx, sums) in self.dx.iter_mut().zip(&self.sums) {
            *dx = sums.iter().sum();
        }
        0.5 * squares.iter().sum::<f64>()
    }

    fn derivatives(&self) -> Vec<(&'static str, Vec<usize>, &[f64])> {
        vec![("x", vec![self.x.len()], &self.dx)]
    }
}
