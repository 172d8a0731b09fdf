//! The Lennard-Jones energy: each pair once, and its force to both of its particles.

use super::Gradient;
use crate::Result;
use crate::inputs::Inputs;

pub(super) struct LennardJones {
    pos: Vec<f64>,
    /// Coordinates and forces, an array for each axis.
    axes: [Vec<f64>; 3],
    forces: [Vec<f64>; 3],
    d_pos: Vec<f64>,
}

impl LennardJones {
    pub(super) fn new(inputs: &Inputs) -> Result<LennardJones> {
        let pos = inputs.elements::<f64>("pos")?;
        let axis = || vec![0.0; pos.len() / 3];
        let (axes, forces) = ([axis(), axis(), axis()], [axis(), axis(), axis()]);
        Ok(LennardJones { d_pos: vec![0.0; pos.len()], axes, forces, pos })
    }
}

impl Gradient for LennardJones {
    fn run(&mut self) -> f64 {
        let n = self.pos.len() / 3;
        for c in 0..3 {
            for i in 0..n {
                self.axes[c][i] = self.pos[3 * i + c];
            }
            self.forces[c].fill(0.0);
        }
        let [x, y, z] = &self.axes;
        let [fx, fy, fz] = &mut self.forces;
        let mut energy = 0.0;
        for i in 0..n {
            let (xi, yi, zi) = (x[i], y[i], z[i]);
            let rest = n - i - 1;
            let (x, y, z) = (&x[i + 1..][..rest], &y[i + 1..][..rest], &z[i + 1..][..rest]);
            let (own_x, fx) = fx[i..].split_at_mut(1);
            let (own_y, fy) = fy[i..].split_at_mut(1);
            let (own_z, fz) = fz[i..].split_at_mut(1);
            let (fx, fy, fz) = (&mut fx[..rest], &mut fy[..rest], &mut fz[..rest]);
            let mut sums = [[0.0; 16]; 4];
            let mut pair = |j: usize, k: usize| {
                let (dx, dy, dz) = (xi - x[j], yi - y[j], zi - z[j]);
                let inverse = 1.0 / dx.mul_add(dx, dy.mul_add(dy, dz * dz));
                let s6 = inverse * inverse * inverse;
                // The derivative of 4 (s6^2 - s6) by the squared distance is -f / 2.
                let f = 24.0 * s6 * inverse * (1.0 - 2.0 * s6);
                fx[j] -= f * dx;
                fy[j] -= f * dy;
                fz[j] -= f * dz;
                sums[0][k] += f * dx;
                sums[1][k] += f * dy;
                sums[2][k] += f * dz;
                sums[3][k] += s6.mul_add(s6, -s6);
            };
            let whole = rest / 16 * 16;
            let mut at = 0;
            while at < whole {
                for k in 0..16 {
                    pair(at + k, k);
                }
                at += 16;
            }
            for j in whole..rest {
                pair(j, 0);
            }
            own_x[0] += sums[0].iter().sum::<f64>();
            own_y[0] += sums[1].iter().sum::<f64>();
            own_z[0] += sums[2].iter().sum::<f64>();
            energy += sums[3].iter().sum::<f64>();
        }
        for c in 0..3 {
            for i in 0..n {
                self.d_pos[3 * i + c] = self.forces[c][i];
            }
        }
        4.0 * energy
    }

    fn derivatives(&self) -> Vec<(&'static str, Vec<usize>, &[f64])> {
        vec![("pos", vec![self.pos.len() / 3, 3], &self.d_pos)]
    }
}
