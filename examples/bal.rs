//! Bundle adjustment of a problem in the BAL format ("bundle adjustment in the large") by Gauss and
//! Newton's method with a sparse Jacobian.
//!
//! ```text
//! cargo run --release -p cotan-examples --example bal               # the small problem that is shipped
//! cargo run --release -p cotan-examples --example bal -- FILE       # another one, unpacked
//! ```
//!
//! A camera of BAL has nine parameters: a rotation vector, a translation $t$, a focal length $f$ and
//! two coefficients of distortion. It sees the point $X$ at
//!
//! $$ f \, (1 + k_1 |p|^2 + k_2 |p|^4) \, p, \qquad p = -(P_1, P_2) / P_3, \quad P = R X + t. $$
//!
//! The residuals are written observation by observation. `sparse_jacobian` finds from their indices that
//! each depends on 12 numbers, and computes the Jacobian $J$ with few products. Steps solve
//! $(J^T J + \lambda D) \, \delta = -J^T r$, $D$ the diagonal of $J^T J$, by conjugate gradients: these
//! need products with $J$ and its transpose only. $\lambda$ is lowered after each step that helps, and
//! raised after one that does not.

use std::error::Error;
use std::path::PathBuf;

use cotan::SparseMatrix;
use cotan::prelude::*;

const MAX_STEPS: usize = 30;

/// A problem as it is in the file.
pub struct Problem {
    /// Cameras and points, `[cameras, 9]` and `[points, 3]`.
    pub unknowns: (Tensor<f64>, Tensor<f64>),
    /// The camera and the point of each observation.
    pub seen: (Tensor<i64>, Tensor<i64>),
    /// Where it is in the image, `[observations, 2]`.
    pub at: Tensor<f64>,
}

/// Reads the format: three counts, a line for each observation, then all parameters.
pub fn read(text: &str) -> Result<Problem, Box<dyn Error>> {
    let mut words = text.split_ascii_whitespace();
    let mut number = |what: &str| -> Result<f64, String> {
        let word = words.next().ok_or(format!("the file ends where {what} should be"))?;
        word.parse().map_err(|_| format!("`{word}` should be {what}"))
    };
    let counts =
        [number("the number of cameras")?, number("of points")?, number("of observations")?];
    if counts.iter().any(|count| !(1.0..1e9).contains(count)) {
        return Err(format!("{counts:?} cameras, points and observations?").into());
    }
    let [cameras, points, observations] = counts.map(|count| count as usize);
    let (mut camera, mut point, mut at) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..observations {
        let (c, p) = (number("a camera")?, number("a point")?);
        if !(0.0..counts[0]).contains(&c) || !(0.0..counts[1]).contains(&p) {
            return Err(format!("an observation of point {p} by camera {c}").into());
        }
        camera.push(c as i64);
        point.push(p as i64);
        at.extend([number("a coordinate")?, number("a coordinate")?]);
    }
    let mut parameters =
        |count| (0..count).map(|_| number("a parameter")).collect::<Result<_, _>>();
    let unknowns = (
        Tensor::new([cameras, 9], parameters(9 * cameras)?)?,
        Tensor::new([points, 3], parameters(3 * points)?)?,
    );
    let seen = (Tensor::new([observations], camera)?, Tensor::new([observations], point)?);
    Ok(Problem { unknowns, seen, at: Tensor::new([observations, 2], at)? })
}

/// `x` turned about the axis `r` by its length, by Rodrigues' formula.
fn rotate(r: Arr<f64>, x: Arr<f64>) -> Arr<f64> {
    let angle = r.norm();
    let axis = r / select(angle.gt(0.0), angle, 1.0);
    let turned =
        x * angle.cos() + axis.cross(x) * angle.sin() + axis * (axis.dot(x) * (1.0 - angle.cos()));
    select(angle.gt(0.0), turned, x + r.cross(x))
}

/// Where cameras see points, less where they were seen: `[observations, 2]`.
pub fn residuals(
    unknowns: (Arr<f64>, Arr<f64>),
    seen: (Arr<i64>, Arr<i64>),
    at: Arr<f64>,
) -> Arr<f64> {
    let (cameras, points) = unknowns;
    build(at.len(), |o| {
        let (camera, point) = (cameras.at(seen.0.at(o)), points.at(seen.1.at(o)));
        let from_camera = rotate(camera.slice(s![..3]), point) + camera.slice(s![3..6]);
        let p = -from_camera.slice(s![..2]) / from_camera.at(2);
        let squared = p.square().sum();
        let distortion = 1.0 + camera.at(7) * squared + camera.at(8) * squared * squared;
        camera.at(6) * distortion * p - at.at(o)
    })
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solves `(J^T J + lambda D) x = -J^T r` by conjugate gradients, preconditioned by the diagonal.
fn step(j: &SparseMatrix, r: &[f64], lambda: f64) -> cotan::Result<Vec<f64>> {
    let mut diagonal = vec![0.0; j.shape()[1]];
    for (_, column, value) in j.triplets() {
        diagonal[column] += value * value;
    }
    let mut x = vec![0.0; diagonal.len()];
    let mut rest: Vec<f64> = j.transposed_times(r)?.iter().map(|g| -g).collect();
    let scaled = |rest: &[f64]| -> Vec<f64> {
        rest.iter().zip(&diagonal).map(|(r, d)| r / ((1.0 + lambda) * d + 1e-12)).collect()
    };
    let mut z = scaled(&rest);
    let mut direction = z.clone();
    let (mut size, first) = (dot(&rest, &z), dot(&rest, &z));
    for _ in 0..500 {
        if size <= 1e-16 * first {
            break;
        }
        let mut image = j.transposed_times(&j.times(&direction)?)?;
        for ((y, d), x) in image.iter_mut().zip(&diagonal).zip(&direction) {
            *y += lambda * d * x;
        }
        let length = size / dot(&direction, &image);
        for (x, d) in x.iter_mut().zip(&direction) {
            *x += length * d;
        }
        for (rest, y) in rest.iter_mut().zip(&image) {
            *rest -= length * y;
        }
        z = scaled(&rest);
        let (before, now) = (size, dot(&rest, &z));
        size = now;
        for (d, z) in direction.iter_mut().zip(&z) {
            *d = z + now / before * *d;
        }
    }
    Ok(x)
}

/// Reads a problem, and solves it.
pub fn main() -> Result<(), Box<dyn Error>> {
    let shipped = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/data/small.bal"));
    let file = std::env::args().nth(1).filter(|_| cfg!(not(test))).map_or(shipped, PathBuf::from);
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let Problem { mut unknowns, seen, at } = read(&text)?;

    let jacobian = sparse_jacobian(residuals);
    let plain = jit(residuals);
    println!("{}", jacobian.explain((&unknowns, &seen, &at))?);
    let mut lambda = 1e-3;
    let pixels = |r: &[f64]| (dot(r, r) / (r.len() as f64 / 2.0)).sqrt();
    let (mut first, mut last) = (None, f64::NAN);
    for count in 0..MAX_STEPS {
        let (r, j) = jacobian.value_and_call((&unknowns, &seen, &at))?;
        let r = r.to_vec();
        last = pixels(&r);
        first.get_or_insert(last);
        println!("step {count:2}: {last:.6} pixels, lambda {lambda:.0e}");
        let delta = step(&j, &r, lambda)?;
        let (cameras, points) = delta.split_at(unknowns.0.size());
        let next = (
            &unknowns.0 + &Tensor::new(unknowns.0.shape(), cameras.to_vec())?,
            &unknowns.1 + &Tensor::new(unknowns.1.shape(), points.to_vec())?,
        );
        let after = pixels(&plain.call((&next, &seen, &at))?.to_vec());
        if after < last {
            unknowns = next;
            lambda = (lambda / 10.0).max(1e-12);
            if after > last * (1.0 - 1e-6) {
                last = after;
                break;
            }
        } else {
            lambda *= 10.0;
        }
    }
    println!(
        "root of the mean square: {:.3} pixels before, {last:.3} after",
        first.unwrap_or(last)
    );
    // The shipped problem has noise of half a pixel in each coordinate.
    if file.ends_with("data/small.bal") && !(0.3..0.8).contains(&last) {
        return Err("the cameras were not found".into());
    }
    Ok(())
}
