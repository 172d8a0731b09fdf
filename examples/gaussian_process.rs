//! A Gaussian process whose length scales are learnt.
//!
//! Values $y_i$ are seen at points $x_i$ of three coordinates, of which one matters much, one little,
//! one not at all. The prior says that values are jointly normal with the covariance
//!
//! $$ K_{ij} = a^2 \exp\Bigl( -\frac12 \sum_d \frac{(x_{id} - x_{jd})^2}{l_d^2} \Bigr)
//!    + s^2 [i = j]. $$
//!
//! The amplitude $a$, the noise $s$ and a length scale $l_d$ for each coordinate are those that make
//! the values most likely: with $K = L L^T$, they minimise
//!
//! $$ \frac12 \lVert L^{-1} y \rVert^2 + \sum_i \log L_{ii} + \frac n2 \log 2 \pi. $$
//!
//! The gradient passes through the Cholesky decomposition. All parameters are kept as logarithms. A
//! coordinate that does not matter gets a long scale.

use std::error::Error;
use std::f64::consts::TAU;

use cotan::optim::Lbfgs;
use cotan::prelude::*;
use cotan::random::Key;

const POINTS: usize = 80;
const OTHERS: usize = 200;
const NOISE: f64 = 0.1;

/// Logarithms of the parameters.
#[derive(Arrays, Clone, Copy, Debug)]
pub struct Kernel<A> {
    /// Of the amplitude $a$.
    pub amplitude: A,
    /// Of the length scales $l$, one for each coordinate.
    pub scales: A,
    /// Of the standard deviation of the noise, $s$.
    pub noise: A,
}

/// The covariances of the values at the rows of `x` with those at the rows of `z`, without noise.
fn covariance(k: Kernel<Arr<f64>>, x: Arr<f64>, z: Arr<f64>) -> Arr<f64> {
    let scales = k.scales.exp();
    build([x.len(), z.len()], |[i, j]| {
        let distance = ((x.at(i) - z.at(j)) / scales).square().sum();
        (2.0 * k.amplitude - 0.5 * distance).exp()
    })
}

/// The factor $L$ of the covariances of what is seen.
fn factor(k: Kernel<Arr<f64>>, x: Arr<f64>) -> Arr<f64> {
    (covariance(k, x, x) + (2.0 * k.noise).exp() * eye(x.len())).cholesky()
}

/// Minus the logarithm of the likelihood.
pub fn loss(k: Kernel<Arr<f64>>, x: Arr<f64>, y: Arr<f64>) -> Arr<f64> {
    let l = factor(k, x);
    let white = l.solve_triangular(y, true);
    0.5 * white.square().sum() + l.diagonal(0).log().sum() + 0.5 * y.len() as f64 * TAU.ln()
}

/// The mean and the standard deviation of the values at other points.
fn predict(
    k: Kernel<Arr<f64>>,
    x: Arr<f64>,
    y: Arr<f64>,
    others: Arr<f64>,
) -> (Arr<f64>, Arr<f64>) {
    let l = factor(k, x);
    let cross = l.solve_triangular(covariance(k, x, others), true);
    let mean = cross.transpose().matmul(l.solve_triangular(y, true));
    let variance = (2.0 * k.amplitude).exp() - cross.square().sum_axis(0);
    (mean, variance.sqrt())
}

/// The function that is to be found, at the rows of `x`; the last coordinate does not matter.
fn truth(x: Arr<f64>) -> Arr<f64> {
    build(x.len(), |i| (3.0 * x.at((i, 0))).sin() + 0.3 * x.at((i, 1)))
}

/// Learns from some points, and predicts others.
pub fn main() -> Result<(), Box<dyn Error>> {
    let [points, noise, others] = Key::new(0).split_into();
    let x = points.uniform_in::<f64>([POINTS, 3], -1.0, 1.0)?;
    let others = others.uniform_in::<f64>([OTHERS, 3], -1.0, 1.0)?;
    let y = &jit(truth).call(&x)? + &(NOISE * &noise.normal::<f64>([POINTS])?);

    let start = Kernel {
        amplitude: Tensor::from(0.0),
        scales: Tensor::from([0.0, 0.0, 0.0]),
        noise: Tensor::from(-1.0),
    };
    let objective = value_and_grad(loss);
    let minimiser = Lbfgs { gradient_tolerance: 1e-4, max_iterations: 100, ..Lbfgs::new() };
    let found = minimiser.minimize(|k| objective.call((k, &x, &y)), start)?;
    let scales = found.point.scales.map(f64::exp);
    println!("minus log likelihood {:.3} after {} steps", found.value, found.iterations);
    let noise = found.point.noise.item().map_or(f64::NAN, f64::exp);
    println!("length scales {:.2?}, noise {noise:.3}", scales.to_vec());

    let (mean, deviation) = jit(predict).call((&found.point, &x, &y, &others))?;
    let exact = jit(truth).call(&others)?;
    let error = (&mean - &exact).map(|e| e * e).mean().sqrt();
    let within = mean.iter().zip(deviation.iter()).zip(exact.iter());
    let within = within.filter(|((m, d), e)| (m - e).abs() <= 2.0 * d).count();
    println!("error at other points {error:.4} (root of the mean square)");
    println!(
        "{:.1} % of them within two standard deviations",
        100.0 * within as f64 / OTHERS as f64
    );

    let found_scales = scales.to_vec();
    if error > 0.1 || !(found_scales[0] < found_scales[1] && found_scales[1] < found_scales[2]) {
        return Err("the function was not found".into());
    }
    Ok(())
}
