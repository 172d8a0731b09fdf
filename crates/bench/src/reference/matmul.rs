//! $\frac12 |A B|^2$: three matrix products, of packed panels.

use super::{Gradient, lanes};
use crate::Result;
use crate::inputs::Inputs;

/// A block of the result is so many rows by so many columns, and stays in registers.
#[cfg(target_feature = "avx512f")]
const TILE: (usize, usize) = (8, 24);
#[cfg(not(target_feature = "avx512f"))]
const TILE: (usize, usize) = (4, 12);
const ROWS: usize = TILE.0;
const COLUMNS: usize = TILE.1;
/// So many products are added before the block is written; a panel of B then stays in the first
/// cache.
const DEPTH: usize = 192;
/// So many rows of A are packed at once, for the second cache.
const HEIGHT: usize = 96;

/// A matrix in memory: elements, and the distances between rows and between columns.
#[derive(Clone, Copy)]
struct Matrix<'a> {
    elements: &'a [f64],
    row: usize,
    column: usize,
}

impl Matrix<'_> {
    fn transposed(self) -> Self {
        Matrix { row: self.column, column: self.row, ..self }
    }
}

/// Room for packed panels.
#[derive(Default)]
struct Panels {
    a: Vec<[f64; ROWS]>,
    b: Vec<[f64; COLUMNS]>,
}

/// Packs the columns `from..to` of the rows `at..`, `N` rows a panel; zeros beyond `end`.
fn pack<const N: usize>(
    m: Matrix<'_>,
    (at, end): (usize, usize),
    depth: std::ops::Range<usize>,
    to: &mut [[f64; N]],
) {
    for (to, k) in to.iter_mut().zip(depth) {
        for (r, x) in to.iter_mut().enumerate() {
            let row = at + r;
            *x = if row < end { m.elements[row * m.row + k * m.column] } else { 0.0 };
        }
    }
}

/// The product of two panels.
#[inline(always)]
fn product(a: &[[f64; ROWS]], b: &[[f64; COLUMNS]]) -> [[f64; COLUMNS]; ROWS] {
    let mut sums = [[0.0; COLUMNS]; ROWS];
    for (a, b) in a.iter().zip(b) {
        for i in 0..ROWS {
            for j in 0..COLUMNS {
                sums[i][j] = a[i].mul_add(b[j], sums[i][j]);
            }
        }
    }
    sums
}

/// `c = a b` for matrices of `m` by `k` and `k` by `n`.
fn multiply(
    a: Matrix<'_>,
    b: Matrix<'_>,
    (m, k, n): (usize, usize, usize),
    c: &mut [f64],
    panels: &mut Panels,
) {
    c.fill(0.0);
    for begin in (0..k).step_by(DEPTH) {
        let depth = begin..(begin + DEPTH).min(k);
        let length = depth.len();
        panels.b.resize(n.div_ceil(COLUMNS) * length, [0.0; COLUMNS]);
        for (p, to) in panels.b.chunks_exact_mut(length).enumerate() {
            pack(b.transposed(), (p * COLUMNS, n), depth.clone(), to);
        }
        for top in (0..m).step_by(HEIGHT) {
            let bottom = (top + HEIGHT).min(m);
            panels.a.resize((bottom - top).div_ceil(ROWS) * length, [0.0; ROWS]);
            for (p, to) in panels.a.chunks_exact_mut(length).enumerate() {
                pack(a, (top + p * ROWS, bottom), depth.clone(), to);
            }
            for (q, b) in panels.b.chunks_exact(length).enumerate() {
                for (p, a) in panels.a.chunks_exact(length).enumerate() {
                    let sums = product(a, b);
                    let width = COLUMNS.min(n - q * COLUMNS);
                    let first = top + p * ROWS;
                    for (row, sums) in (first..bottom.min(first + ROWS)).zip(&sums) {
                        let c = &mut c[row * n + q * COLUMNS..][..width];
                        for (c, sum) in c.iter_mut().zip(sums) {
                            *c += sum;
                        }
                    }
                }
            }
        }
    }
}

pub(super) struct MatMul {
    a: Vec<f64>,
    b: Vec<f64>,
    sizes: (usize, usize, usize),
    c: Vec<f64>,
    da: Vec<f64>,
    db: Vec<f64>,
    panels: Panels,
}

impl MatMul {
    pub(super) fn new(inputs: &Inputs) -> Result<MatMul> {
        let (a, b) = (inputs.elements::<f64>("A")?, inputs.elements("B")?);
        let (&[m, k], &[_, n]) = (inputs.sizes("A")?, inputs.sizes("B")?) else {
            return Err("`A` and `B` are not matrices".into());
        };
        let zeros = |n: usize| vec![0.0; n];
        let (c, da, db) = (zeros(m * n), zeros(m * k), zeros(k * n));
        Ok(MatMul { a, b, sizes: (m, k, n), c, da, db, panels: Panels::default() })
    }
}

impl Gradient for MatMul {
    fn run(&mut self) -> f64 {
        let (m, k, n) = self.sizes;
        let a = Matrix { elements: &self.a, row: k, column: 1 };
        let b = Matrix { elements: &self.b, row: n, column: 1 };
        multiply(a, b, (m, k, n), &mut self.c, &mut self.panels);
        let c = Matrix { elements: &self.c, row: n, column: 1 };
        multiply(c, b.transposed(), (m, n, k), &mut self.da, &mut self.panels);
        multiply(a.transposed(), c, (k, m, n), &mut self.db, &mut self.panels);
        0.5 * lanes::sum_of_squares(&self.c)
    }

    fn derivatives(&self) -> Vec<(&'static str, Vec<usize>, &[f64])> {
        let (m, k, n) = self.sizes;
        vec![("A", vec![m, k], &self.da), ("B", vec![k, n], &self.db)]
    }
}
