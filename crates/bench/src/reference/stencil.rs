//! Steps of heat conduction. A step is linear, so the gradient of $\frac12 |A^t u|^2$ is
//! $(A^T)^t A^t u$ and needs no intermediate states.

use super::{Gradient, lanes};
use crate::Result;
use crate::inputs::Inputs;

pub(super) struct Stencil {
    u: Vec<f64>,
    sizes: [usize; 2],
    steps: usize,
    now: Vec<f64>,
    next: Vec<f64>,
}

impl Stencil {
    pub(super) fn new(inputs: &Inputs, steps: usize) -> Result<Stencil> {
        let u = inputs.elements::<f64>("u")?;
        let &[m, n] = inputs.sizes("u")? else { return Err("`u` is not a matrix".into()) };
        if m < 3 || n < 3 {
            return Err("there is nothing inside of the border".into());
        }
        Ok(Stencil { now: u.clone(), next: u.clone(), u, sizes: [m, n], steps })
    }
}

/// The inner elements of a row: $0.6\,u_j + 0.1\,(\text{neighbours})$.
#[inline(always)]
fn inner(above: &[f64], row: &[f64], below: &[f64], to: &mut [f64]) {
    let n = row.len();
    let (above, below, to) = (&above[..n], &below[..n], &mut to[..n]);
    for j in 1..n - 1 {
        to[j] = 0.6f64.mul_add(row[j], 0.1 * (above[j] + below[j] + (row[j - 1] + row[j + 1])));
    }
}

/// One step; the border stays.
fn step(u: &[f64], n: usize, to: &mut [f64]) {
    let last = u.len() - n;
    to[..n].copy_from_slice(&u[..n]);
    to[last..].copy_from_slice(&u[last..]);
    for at in (n..last).step_by(n) {
        let (row, to) = (&u[at..at + n], &mut to[at..at + n]);
        inner(&u[at - n..at], row, &u[at + n..at + 2 * n], to);
        (to[0], to[n - 1]) = (row[0], row[n - 1]);
    }
}

/// The transpose of a step: what is on the border has given 0.1 of the inner neighbour's cotangent
/// to it, and has got nothing.
fn step_transposed(v: &[f64], n: usize, to: &mut [f64]) {
    let last = v.len() - n;
    for (border, inside) in [(0, n), (last, last - n)] {
        let (row, inside) = (&v[border..border + n], &v[inside..inside + n]);
        let to = &mut to[border..border + n];
        to.copy_from_slice(row);
        for j in 1..n - 1 {
            to[j] += 0.1 * inside[j];
        }
    }
    for at in (n..last).step_by(n) {
        let (above, row, below) = (&v[at - n..at], &v[at..at + n], &v[at + n..at + 2 * n]);
        let to = &mut to[at..at + n];
        inner(above, row, below, to);
        // Cotangents of the border do not flow inwards.
        for j in 1..n - 1 {
            if at == n {
                to[j] -= 0.1 * above[j];
            }
            if at + n == last {
                to[j] -= 0.1 * below[j];
            }
        }
        to[1] -= 0.1 * row[0];
        to[n - 2] -= 0.1 * row[n - 1];
        to[0] = 0.1f64.mul_add(row[1], row[0]);
        to[n - 1] = 0.1f64.mul_add(row[n - 2], row[n - 1]);
    }
}

impl Gradient for Stencil {
    fn run(&mut self) -> f64 {
        let [_, n] = self.sizes;
        for t in 0..self.steps {
            let from = if t == 0 { &self.u } else { &self.now };
            step(from, n, &mut self.next);
            std::mem::swap(&mut self.now, &mut self.next);
        }
        if self.steps == 0 {
            self.now.copy_from_slice(&self.u);
        }
        let value = 0.5 * lanes::sum_of_squares(&self.now);
        for _ in 0..self.steps {
            step_transposed(&self.now, n, &mut self.next);
            std::mem::swap(&mut self.now, &mut self.next);
        }
        value
    }

    fn derivatives(&self) -> Vec<(&'static str, Vec<usize>, &[f64])> {
        vec![("u", self.sizes.to_vec(), &self.now)]
    }
}
