//! The Lennard-Jones energy: each pair once, and its force to both of its particles.

use super::Gradient;
use crate::Result;
use crate::inputs::Inputs;

/// So many pairs at a time.
const WIDTH: usize = 16;

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

/// The derivative of the energy of a pair by the place of its first particle, and a quarter of the
/// energy.
#[inline(always)]
fn pair(a: [f64; 3], b: [f64; 3]) -> ([f64; 3], f64) {
    let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let inverse = 1.0 / d[0].mul_add(d[0], d[1].mul_add(d[1], d[2] * d[2]));
    let s6 = inverse * inverse * inverse;
    // Twice the derivative of 4 (s6^2 - s6) by the squared distance.
    let f = 24.0 * s6 * inverse * (-2.0f64).mul_add(s6, 1.0);
    ([f * d[0], f * d[1], f * d[2]], s6.mul_add(s6, -s6))
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
            let at = [x[i], y[i], z[i]];
            let (own_x, fx) = fx[i..].split_at_mut(1);
            let (own_y, fy) = fy[i..].split_at_mut(1);
            let (own_z, fz) = fz[i..].split_at_mut(1);
            let mut sums = [[0.0; WIDTH]; 4];
            let (x, x_rest) = x[i + 1..].as_chunks::<WIDTH>();
            let (y, y_rest) = y[i + 1..].as_chunks::<WIDTH>();
            let (z, z_rest) = z[i + 1..].as_chunks::<WIDTH>();
            let (fx, fx_rest) = fx.as_chunks_mut::<WIDTH>();
            let (fy, fy_rest) = fy.as_chunks_mut::<WIDTH>();
            let (fz, fz_rest) = fz.as_chunks_mut::<WIDTH>();
            let places = x.iter().zip(y).zip(z);
            let forces = fx.iter_mut().zip(fy).zip(fz);
            for (((x, y), z), ((fx, fy), fz)) in places.zip(forces) {
                for k in 0..WIDTH {
                    let (force, energy) = pair(at, [x[k], y[k], z[k]]);
                    fx[k] -= force[0];
                    fy[k] -= force[1];
                    fz[k] -= force[2];
                    sums[0][k] += force[0];
                    sums[1][k] += force[1];
                    sums[2][k] += force[2];
                    sums[3][k] += energy;
                }
            }
            for k in 0..x_rest.len() {
                let (force, energy) = pair(at, [x_rest[k], y_rest[k], z_rest[k]]);
                fx_rest[k] -= force[0];
                fy_rest[k] -= force[1];
                fz_rest[k] -= force[2];
                sums[0][0] += force[0];
                sums[1][0] += force[1];
                sums[2][0] += force[2];
                sums[3][0] += energy;
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
