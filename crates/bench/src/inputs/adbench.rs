//! Inputs for the problems of ADBench.

use cotan_array::{Array, Dtype, Element, Shape};

use super::Inputs;
use super::random::Random;
use crate::Result;

fn array<T: Element>(sizes: &[usize], elements: Vec<T>) -> Result<Array> {
    Ok(Array::from_vec(Shape::new("inputs", sizes)?, elements)?)
}

/// A row, so many times.
fn repeated(row: &[f64], times: usize) -> Result<Array> {
    array(&[times, row.len()], row.repeat(times))
}

pub(super) fn gmm(made: &mut Inputs, size: impl Fn(&str) -> usize) -> Result<()> {
    let mut r = Random::new(11);
    let (n, d, k) = (size("n"), size("d"), size("k"));
    made.param("alphas", r.normal(&[k], 1.0)?);
    made.param("means", r.uniform(&[k, d])?);
    made.param("icf", r.normal(&[k, d * (d + 1) / 2], 1.0)?);
    made.datum("x", r.normal(&[n, d], 1.0)?);
    made.datum("gamma", Array::scalar(1.0));
    made.datum("m", Array::scalar(0.0));
    Ok(())
}

pub(super) fn lstm(made: &mut Inputs, size: impl Fn(&str) -> usize) -> Result<()> {
    let mut r = Random::new(12);
    let (l, c, b) = (size("l"), size("c"), size("b"));
    made.param("main", r.uniform(&[2 * l, 4 * b])?);
    made.param("extra", r.uniform(&[3, b])?);
    made.datum("state", r.uniform(&[2 * l, b])?);
    // A quarter of the bits is set.
    let bits = (0..c * b).map(|_| f64::from(u8::from(r.unit() < 0.25))).collect();
    made.datum("seq", array(&[c, b], bits)?);
    Ok(())
}

/// All cameras are alike, and so are points, weights and what is seen.
pub(super) fn ba(made: &mut Inputs, size: impl Fn(&str) -> usize) -> Result<()> {
    let mut r = Random::new(13);
    let (n, m, p) = (size("n"), size("m"), size("p"));
    let mut between = |low: f64, high: f64| low + (high - low) * r.unit();
    // The camera is far before the points and looks at them.
    let mut cam: Vec<f64> = (0..3).map(|_| between(-0.3, 0.3)).collect();
    cam.extend([between(0.0, 8.0), between(0.0, 8.0), between(-60.0, -40.0)]);
    cam.push(between(300.0, 500.0));
    cam.extend((0..2).map(|_| between(-10.0, 10.0)));
    cam.extend((0..2).map(|_| between(0.0, 0.1)));
    let point: Vec<f64> = (0..3).map(|_| between(0.0, 8.0)).collect();
    let feature: Vec<f64> = (0..2).map(|_| between(200.0, 900.0)).collect();
    made.param("cams", repeated(&cam, n)?);
    made.param("X", repeated(&point, m)?);
    made.param("w", array(&[p], vec![between(0.0, 1.0); p])?);
    let seen = (0..p).flat_map(|i| [(i % n) as i64, (i % m) as i64]).collect();
    made.datum("obs", array(&[p, 2], seen)?);
    made.datum("feats", repeated(&feature, p)?);
    Ok(())
}

/// The number of bones: a wrist, five fingers of four, and one that does not move.
const BONES: usize = 22;

type Transform = [[f64; 4]; 4];

fn product(a: &Transform, b: &Transform) -> Transform {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..4).map(|k| a[i][k] * b[k][j]).sum()))
}

/// A turn around one axis, and a shift along all.
fn rigid(axis: usize, angle: f64, shift: [f64; 3]) -> Transform {
    let mut t: Transform = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(i == j)));
    let (p, q) = ((axis + 1) % 3, (axis + 2) % 3);
    let (s, c) = angle.sin_cos();
    (t[p][p], t[p][q], t[q][p], t[q][q]) = (c, -s, s, c);
    for (row, x) in t.iter_mut().zip(shift) {
        row[3] = x;
    }
    t
}

/// The inverse of a rotation followed by a shift.
fn inverse(t: &Transform) -> Transform {
    let shift = |i: usize| -(0..3).map(|k| t[k][i] * t[k][3]).sum::<f64>();
    std::array::from_fn(|i| {
        std::array::from_fn(|j| match (i, j) {
            (3, _) => f64::from(j == 3),
            (_, 3) => shift(i),
            _ => t[j][i],
        })
    })
}

fn transforms(all: &[Transform]) -> Result<Array> {
    array(&[all.len(), 4, 4], all.iter().flatten().flatten().copied().collect())
}

pub(super) fn hand(made: &mut Inputs, size: impl Fn(&str) -> usize) -> Result<()> {
    let mut r = Random::new(14);
    let (c, v, t) = (size("c"), size("v"), size("t"));
    let parent = |bone: usize| match bone {
        0 => -1,
        bone if (bone - 1) % 4 == 0 => 0,
        bone => bone as i64 - 1,
    };
    let parents: Vec<i64> = (0..BONES).map(parent).collect();
    let (mut relative, mut absolute) = (Vec::new(), Vec::<Transform>::new());
    for (bone, &parent) in parents.iter().enumerate() {
        let shift = [0.04 * r.unit() - 0.02, 0.05 * r.unit(), 0.04 * r.unit() - 0.02];
        let own = rigid(bone % 3, 2.0 * r.unit() - 1.0, shift);
        let placed = usize::try_from(parent).ok().and_then(|p| absolute.get(p));
        absolute.push(placed.map_or(own, |placed| product(placed, &own)));
        relative.push(own);
    }
    let inverses: Vec<Transform> = absolute.iter().map(inverse).collect();
    if t > 0 {
        let us = r.uniform(&[c, 2])?.to_vec::<f64>()?.iter().map(|u| 0.5 * u).collect();
        made.param("us", array(&[c, 2], us)?);
    }
    made.param("theta", r.normal(&[26], 1.0)?);
    made.datum("corr", r.integers(&[c], if t > 0 { t } else { v })?);
    made.datum("points", r.normal(&[c, 3], 1.0)?);
    made.datum("parents", array(&[BONES], parents)?);
    made.datum("base_rel", transforms(&relative)?);
    made.datum("inv_abs", transforms(&inverses)?);
    let place = |r: &mut Random| {
        let mut at = [0.0; 3].map(|_| 0.4 * r.unit() - 0.2).to_vec();
        at.push(1.0);
        at
    };
    made.datum("base_pos", array(&[v, 4], (0..v).flat_map(|_| place(&mut r)).collect())?);
    made.datum("weights", weights(&mut r, v)?);
    if t > 0 {
        made.datum("triangles", r.integers(&[t, 3], v)?.cast(Dtype::I64)?);
    }
    Ok(())
}

/// Each vertex moves with four bones; the weights of all bones are 1 together.
fn weights(r: &mut Random, v: usize) -> Result<Array> {
    let mut all = vec![0.0; v * BONES];
    for row in all.chunks_exact_mut(BONES) {
        for _ in 0..4 {
            row[(r.unit() * BONES as f64) as usize] += r.unit();
        }
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|w| *w /= sum);
    }
    array(&[v, BONES], all)
}
