//! The posterior density of a mixture of Gaussians, by blocks of points that lie on lanes.
//!
//! With $y_{ik} = Q_k (x_i - \mu_k)$ and $w_{ik}$ the share of component $k$ in point $i$, the
//! likelihood has the derivatives $\sum_i w_{ik}$ by $\alpha_k$ and by $\log\det Q_k$,
//! $-\sum_i w_{ik} y_{ik} (x_i - \mu_k)^T$ by $Q_k$, and $Q_k^T \sum_i w_{ik} y_{ik}$ by $\mu_k$.

use std::f64::consts::{LN_2, PI};

use super::{Gradient, lanes};
use crate::Result;
use crate::inputs::Inputs;

/// So many points at a time.
const WIDTH: usize = 16;
type Lanes = [f64; WIDTH];

pub(super) struct Gmm {
    alphas: Vec<f64>,
    means: Vec<f64>,
    icf: Vec<f64>,
    x: Vec<f64>,
    gamma: f64,
    m: f64,
    d: usize,
    /// The factors as full matrices, and the derivatives by them.
    q: Vec<f64>,
    dq: Vec<f64>,
    /// The logarithms of the determinants of the factors.
    log_dets: Vec<f64>,
    /// $\sum_i w_{ik}$ and $\sum_i w_{ik} y_{ik}$.
    shares: Vec<f64>,
    shared: Vec<f64>,
    block: Block,
    d_alphas: Vec<f64>,
    d_means: Vec<f64>,
    d_icf: Vec<f64>,
}

/// What is computed of some points.
struct Block {
    /// Coordinates on lanes, and those from a mean.
    x: Vec<Lanes>,
    centred: Vec<Lanes>,
    /// Coordinates from a mean, a row for each point.
    rows: Vec<f64>,
    y: Vec<Lanes>,
    /// The terms of the sum over components, then the shares.
    terms: Vec<Lanes>,
}

impl Gmm {
    pub(super) fn new(inputs: &Inputs) -> Result<Gmm> {
        let &[k, d] = inputs.sizes("means")? else { return Err("`means` is no matrix".into()) };
        let icf = inputs.elements::<f64>("icf")?;
        let scalar = |name: &str| -> Result<f64> {
            Ok(inputs.elements::<f64>(name)?.first().copied().unwrap_or(f64::NAN))
        };
        let (zeros, lanes) = (|n: usize| vec![0.0; n], |n: usize| vec![[0.0; WIDTH]; n]);
        Ok(Gmm {
            alphas: inputs.elements("alphas")?,
            means: inputs.elements("means")?,
            x: inputs.elements("x")?,
            gamma: scalar("gamma")?,
            m: scalar("m")?,
            d,
            q: zeros(k * d * d),
            dq: zeros(k * d * d),
            log_dets: zeros(k),
            shares: zeros(k),
            shared: zeros(k * d),
            block: Block {
                x: lanes(d),
                centred: lanes(d),
                rows: zeros(WIDTH * d),
                y: lanes(k * d),
                terms: lanes(k),
            },
            d_alphas: zeros(k),
            d_means: zeros(k * d),
            d_icf: zeros(icf.len()),
            icf,
        })
    }

    fn component(&self, k: usize) -> &[f64] {
        let length = self.d * (self.d + 1) / 2;
        &self.icf[k * length..][..length]
    }

    /// Fills the matrices $Q$.
    fn factors(&mut self) {
        let d = self.d;
        for k in 0..self.alphas.len() {
            let mut below = d;
            self.log_dets[k] = self.component(k)[..d].iter().sum();
            for j in 0..d {
                self.q[(k * d + j) * d + j] = self.component(k)[j].exp();
                for i in j + 1..d {
                    self.q[(k * d + i) * d + j] = self.component(k)[below];
                    below += 1;
                }
            }
        }
    }

    /// The likelihood of the points from `begin` on, and what they add to derivatives.
    fn points(&mut self, begin: usize) -> f64 {
        let (d, count) = (self.d, self.alphas.len());
        let n = self.x.len() / d;
        let present = WIDTH.min(n - begin);
        let block = &mut self.block;
        for c in 0..d {
            // Lanes without a point repeat the last; their shares are then 0.
            block.x[c] = std::array::from_fn(|l| self.x[(begin + l.min(present - 1)) * d + c]);
        }
        for k in 0..count {
            let mean = &self.means[k * d..][..d];
            for ((centred, x), mean) in block.centred.iter_mut().zip(&block.x).zip(mean) {
                *centred = x.map(|x| x - mean);
            }
            let mut squares = [0.0; WIDTH];
            for r in 0..d {
                let row = &self.q[(k * d + r) * d..][..r + 1];
                let mut y = [0.0; WIDTH];
                for (q, x) in row.iter().zip(&block.centred) {
                    for l in 0..WIDTH {
                        y[l] = q.mul_add(x[l], y[l]);
                    }
                }
                for l in 0..WIDTH {
                    squares[l] = y[l].mul_add(y[l], squares[l]);
                }
                block.y[k * d + r] = y;
            }
            let constant = self.alphas[k] + self.log_dets[k];
            block.terms[k] = squares.map(|s| constant - 0.5 * s);
        }
        let value = self.shares_of_points(present);
        for k in 0..count {
            self.add_derivatives(k, begin, present);
        }
        value
    }

    /// Turns terms into shares; gives the sum of the logarithms of their sums.
    fn shares_of_points(&mut self, present: usize) -> f64 {
        let mut tops = [f64::NEG_INFINITY; WIDTH];
        for terms in &self.block.terms {
            for l in 0..WIDTH {
                tops[l] = if terms[l] > tops[l] { terms[l] } else { tops[l] };
            }
        }
        let mut sums = [0.0; WIDTH];
        for terms in &mut self.block.terms {
            for l in 0..WIDTH {
                terms[l] = lanes::exp(terms[l] - tops[l]);
                sums[l] += terms[l];
            }
        }
        let scales: Lanes = std::array::from_fn(|l| if l < present { 1.0 / sums[l] } else { 0.0 });
        for terms in &mut self.block.terms {
            for l in 0..WIDTH {
                terms[l] *= scales[l];
            }
        }
        (0..present).map(|l| tops[l] + sums[l].ln()).sum()
    }

    fn add_derivatives(&mut self, k: usize, begin: usize, present: usize) {
        let d = self.d;
        let shares = self.block.terms[k];
        self.shares[k] += shares.iter().sum::<f64>();
        let mean = &self.means[k * d..][..d];
        let points = self.x[begin * d..][..present * d].chunks_exact(d);
        for (to, point) in self.block.rows.chunks_exact_mut(d).zip(points) {
            for ((to, x), mean) in to.iter_mut().zip(point).zip(mean) {
                *to = x - mean;
            }
        }
        for r in 0..d {
            let y = &self.block.y[k * d + r];
            let weighted: Lanes = std::array::from_fn(|l| shares[l] * y[l]);
            self.shared[k * d + r] += weighted.iter().sum::<f64>();
            let row = &mut self.dq[(k * d + r) * d..][..r + 1];
            // Four points at a time: the row is then loaded and stored a quarter as often.
            for (points, w) in self.block.rows.chunks_exact(4 * d).zip(weighted.as_chunks::<4>().0)
            {
                let (a, rest) = points.split_at(d);
                let (b, rest) = rest.split_at(d);
                let (c, e) = rest.split_at(d);
                let (a, b) = (&a[..row.len()], &b[..row.len()]);
                let (c, e) = (&c[..row.len()], &e[..row.len()]);
                for j in 0..row.len() {
                    let first = w[0].mul_add(a[j], w[1] * b[j]);
                    row[j] -= w[2].mul_add(c[j], w[3].mul_add(e[j], first));
                }
            }
        }
    }

    /// The prior, and the derivatives from those by the factors.
    fn finish(&mut self) -> f64 {
        let (d, count) = (self.d, self.alphas.len());
        let (gamma, m) = (self.gamma, self.m);
        let length = d * (d + 1) / 2;
        let mut squares = 0.0;
        for k in 0..count {
            let q = &self.q[k * d * d..][..d * d];
            let dq = &self.dq[k * d * d..][..d * d];
            let to = &mut self.d_icf[k * length..][..length];
            let mut below = d;
            for j in 0..d {
                let diagonal = q[j * d + j];
                squares += diagonal * diagonal;
                let by_factor = gamma * gamma * diagonal + dq[j * d + j];
                to[j] = self.shares[k] - m + diagonal * by_factor;
                for i in j + 1..d {
                    let x = q[i * d + j];
                    squares += x * x;
                    to[below] = dq[i * d + j] + gamma * gamma * x;
                    below += 1;
                }
            }
            let d_mean = &mut self.d_means[k * d..][..d];
            d_mean.fill(0.0);
            for r in 0..d {
                let shared = self.shared[k * d + r];
                for (to, q) in d_mean.iter_mut().zip(&q[r * d..][..r + 1]) {
                    *to += shared * q;
                }
            }
        }
        let freedom = d as f64 + m + 1.0;
        let gammas: f64 = (0..d).map(|j| libm::lgamma(0.5 * (freedom - j as f64))).sum();
        let log_gamma = 0.25 * (d * (d - 1)) as f64 * PI.ln() + gammas;
        let constant = freedom * d as f64 * (gamma.ln() - 0.5 * LN_2) - log_gamma;
        0.5 * gamma * gamma * squares
            - m * self.log_dets.iter().sum::<f64>()
            - count as f64 * constant
    }
}

impl Gradient for Gmm {
    fn run(&mut self) -> f64 {
        let n = self.x.len() / self.d;
        self.factors();
        self.dq.fill(0.0);
        self.shares.fill(0.0);
        self.shared.fill(0.0);
        let points: f64 = (0..n).step_by(WIDTH).map(|begin| self.points(begin)).sum();
        let top = lanes::largest(&self.alphas);
        let sum = lanes::exponentials(&self.alphas, top, &mut self.d_alphas);
        for (to, share) in self.d_alphas.iter_mut().zip(&self.shares) {
            *to = share - n as f64 * *to / sum;
        }
        let scale = -0.5 * (n * self.d) as f64 * (2.0 * PI).ln();
        scale + points - n as f64 * (top + sum.ln()) + self.finish()
    }

    fn derivatives(&self) -> Vec<(&'static str, Vec<usize>, &[f64])> {
        let (k, d) = (self.alphas.len(), self.d);
        vec![
            ("alphas", vec![k], &self.d_alphas),
            ("means", vec![k, d], &self.d_means),
            ("icf", vec![k, d * (d + 1) / 2], &self.d_icf),
        ]
    }
}
