//! $\sum_i \min_k |x_i - c_k|^2$: the gradient needs how many points each centre has, and their sum.

use super::Gradient;
use crate::Result;
use crate::inputs::Inputs;

/// So many coordinates at a time.
const WIDTH: usize = 8;

pub(super) struct KMeans {
    c: Vec<f64>,
    x: Vec<f64>,
    d: usize,
    /// Centres, whose coordinates are filled up with zeros to a multiple of `WIDTH`.
    centres: Vec<[f64; WIDTH]>,
    sums: Vec<[f64; WIDTH]>,
    point: Vec<[f64; WIDTH]>,
    counts: Vec<f64>,
    dc: Vec<f64>,
}

impl KMeans {
    pub(super) fn new(inputs: &Inputs) -> Result<KMeans> {
        let (c, x) = (inputs.elements::<f64>("c")?, inputs.elements("x")?);
        let &[k, d] = inputs.sizes("c")? else { return Err("`c` is not a matrix".into()) };
        let parts = d.div_ceil(WIDTH);
        let zeros = |n: usize| vec![[0.0; WIDTH]; n];
        let (centres, sums, point) = (zeros(k * parts), zeros(k * parts), zeros(parts));
        Ok(KMeans { dc: vec![0.0; c.len()], counts: vec![0.0; k], c, x, d, centres, sums, point })
    }
}

/// Copies rows of `d` numbers to rows of whole parts.
fn pad(rows: &[f64], d: usize, parts: usize, to: &mut [[f64; WIDTH]]) {
    for (row, to) in rows.chunks_exact(d).zip(to.chunks_exact_mut(parts)) {
        for (part, to) in row.chunks(WIDTH).zip(to) {
            to[..part.len()].copy_from_slice(part);
        }
    }
}

impl Gradient for KMeans {
    fn run(&mut self) -> f64 {
        let (d, parts) = (self.d, self.point.len());
        pad(&self.c, d, parts, &mut self.centres);
        self.sums.fill([0.0; WIDTH]);
        self.counts.fill(0.0);
        let mut value = 0.0;
        for row in self.x.chunks_exact(d) {
            pad(row, d, parts, &mut self.point);
            let (mut least, mut nearest) = (f64::INFINITY, 0);
            for (k, centre) in self.centres.chunks_exact(parts).enumerate() {
                let mut squares = [0.0; WIDTH];
                for (x, c) in self.point.iter().zip(centre) {
                    for l in 0..WIDTH {
                        let apart = x[l] - c[l];
                        squares[l] = apart.mul_add(apart, squares[l]);
                    }
                }
                let distance = squares.iter().sum::<f64>();
                if distance < least {
                    (least, nearest) = (distance, k);
                }
            }
            value += least;
            self.counts[nearest] += 1.0;
            for (sum, x) in self.sums[nearest * parts..][..parts].iter_mut().zip(&self.point) {
                for l in 0..WIDTH {
                    sum[l] += x[l];
                }
            }
        }
        for (k, count) in self.counts.iter().enumerate() {
            let sums = self.sums[k * parts..][..parts].as_flattened();
            let rows = self.c[k * d..][..d].iter().zip(sums);
            for (dc, (c, sum)) in self.dc[k * d..][..d].iter_mut().zip(rows) {
                *dc = 2.0 * (count * c - sum);
            }
        }
        value
    }

    fn derivatives(&self) -> Vec<(&'static str, Vec<usize>, &[f64])> {
        vec![("c", vec![self.counts.len(), self.d], &self.dc)]
    }
}
