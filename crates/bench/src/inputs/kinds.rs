//! Inputs of the programs of other kinds.

use cotan_array::{Array, Shape};

use super::random::Random;
use super::{Inputs, f32s};
use crate::Result;

pub(super) fn wavenet(made: &mut Inputs, size: impl Fn(&str) -> usize) -> Result<()> {
    let (mut r, c) = (Random::new(81), size("c"));
    let spread = (0.5 / c as f64).sqrt();
    made.param("w", f32s(r.normal(&[3, c, c, 2], spread)?)?);
    made.param("v", f32s(r.normal(&[3, c, c, 2], spread)?)?);
    made.datum("x", f32s(r.normal(&[size("b"), c, size("t")], 1.0)?)?);
    Ok(())
}

pub(super) fn mobile(made: &mut Inputs, size: impl Fn(&str) -> usize) -> Result<()> {
    let (mut r, [b, c, o, p]) = (Random::new(82), ["b", "c", "o", "p"].map(&size));
    made.param("k1", f32s(r.normal(&[c, 3, 3], 0.3)?)?);
    made.param("m1", f32s(r.normal(&[o, c], (2.0 / c as f64).sqrt())?)?);
    made.param("k2", f32s(r.normal(&[o, 3, 3], 0.3)?)?);
    made.param("m2", f32s(r.normal(&[p, o], (2.0 / o as f64).sqrt())?)?);
    made.datum("x", f32s(r.normal(&[b, c, size("h"), size("w")], 1.0)?)?);
    made.datum("y", r.integers(&[b], p)?);
    Ok(())
}

pub(super) fn autoencoder(made: &mut Inputs, size: impl Fn(&str) -> usize) -> Result<()> {
    let (mut r, c, o) = (Random::new(83), size("c"), size("o"));
    made.param("k1", r.normal(&[o, c, 3, 3], 0.1)?);
    made.param("k2", r.normal(&[c, o, 3, 3], 0.1)?);
    made.datum("x", r.normal(&[size("b"), c, size("h"), size("w")], 1.0)?);
    Ok(())
}

pub(super) fn graph_attention(made: &mut Inputs, size: impl Fn(&str) -> usize) -> Result<()> {
    let (mut r, [n, e, d]) = (Random::new(84), ["n", "e", "d"].map(&size));
    made.param("w", r.normal(&[d, d], (1.0 / d as f64).sqrt())?);
    made.param("a", r.normal(&[d], 0.3)?);
    made.param("b", r.normal(&[d], 0.3)?);
    made.datum("h", r.normal(&[n, d], 1.0)?);
    made.datum("src", r.integers(&[e], n)?);
    made.datum("dst", r.integers(&[e], n)?);
    Ok(())
}

pub(super) fn skipgram(made: &mut Inputs, size: impl Fn(&str) -> usize) -> Result<()> {
    let (mut r, [words, d, p]) = (Random::new(85), ["words", "d", "p"].map(&size));
    made.param("U", f32s(r.normal(&[words, d], 0.3)?)?);
    made.param("V", f32s(r.normal(&[words, d], 0.3)?)?);
    made.datum("word", r.integers(&[p], words)?);
    made.datum("near", r.integers(&[p], words)?);
    made.datum("other", r.integers(&[p, size("k")], words)?);
    Ok(())
}

pub(super) fn alignment(made: &mut Inputs, size: impl Fn(&str) -> usize) -> Result<()> {
    let (mut r, letters) = (Random::new(86), size("letters"));
    made.param("table", r.normal(&[letters, letters], 1.0)?);
    made.param("gap", Array::from_vec(Shape::new("gap", &[])?, vec![1.5])?);
    made.datum("s", r.integers(&[size("n")], letters)?);
    made.datum("t", r.integers(&[size("m")], letters)?);
    Ok(())
}

pub(super) fn filters(made: &mut Inputs, size: impl Fn(&str) -> usize) -> Result<()> {
    let mut r = Random::new(87);
    made.param("b", r.normal(&[4, 3], 0.4)?);
    // Poles within the unit circle.
    made.param("a", r.normal(&[4, 2], 0.2)?);
    made.datum("x", r.normal(&[size("t"), size("c")], 1.0)?);
    Ok(())
}

pub(super) fn warp(made: &mut Inputs, size: impl Fn(&str) -> usize) -> Result<()> {
    let (mut r, h, w) = (Random::new(88), size("h"), size("w"));
    let mut map = [0.9, 0.05, 1.0, -0.02, 0.9, 5.0];
    map.iter_mut().for_each(|x| *x += 0.001 * r.unit());
    made.param("map", Array::from_vec(Shape::new("map", &[2, 3])?, map.to_vec())?);
    made.param("moving", r.normal(&[h, w], 1.0)?);
    made.datum("fixed", r.normal(&[h, w], 1.0)?);
    Ok(())
}
