//! What benchmarks run on: made from seeds, or read from files.

mod adbench;
mod kinds;
mod random;

use std::path::Path;

use cotan_array::{Array, Dtype, Element, Shape, npz};

use crate::Result;
use crate::suite::{Benchmark, Case};
use random::Random;

/// The arrays of a case by name, in the order they were made.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// What the objective is differentiated by.
    pub params: Vec<(String, Array)>,
    /// What it takes besides.
    pub data: Vec<(String, Array)>,
}

impl Inputs {
    /// The array of a name.
    pub fn find(&self, name: &str) -> Option<&Array> {
        let mut all = self.params.iter().chain(&self.data);
        all.find(|(n, _)| n == name).map(|(_, array)| array)
    }

    /// The elements of the array of a name.
    pub fn elements<T: Element>(&self, name: &str) -> Result<Vec<T>> {
        let array = self.find(name).ok_or_else(|| format!("there is no input `{name}`"))?;
        Ok(array.to_vec::<T>()?)
    }

    /// The sizes of the array of a name.
    pub fn sizes(&self, name: &str) -> Result<&[usize]> {
        let array = self.find(name).ok_or_else(|| format!("there is no input `{name}`"))?;
        Ok(array.shape().dims())
    }

    /// Reads a file whose arrays are named `p_NAME` and `d_NAME`.
    pub fn read(path: &Path) -> Result<Inputs> {
        let mut inputs = Inputs::default();
        for (name, array) in npz::read_file(path)? {
            if let Some(name) = name.strip_prefix("p_") {
                inputs.params.push((name.to_owned(), array));
            } else if let Some(name) = name.strip_prefix("d_") {
                inputs.data.push((name.to_owned(), array));
            } else {
                let path = path.display();
                return Err(format!("{path}: `{name}` is neither `p_NAME` nor `d_NAME`").into());
            }
        }
        Ok(inputs)
    }

    /// Writes such a file.
    pub fn write(&self, path: &Path) -> Result<()> {
        let params = self.params.iter().map(|(name, array)| (format!("p_{name}"), array.clone()));
        let data = self.data.iter().map(|(name, array)| (format!("d_{name}"), array.clone()));
        let all: Vec<(String, Array)> = params.chain(data).collect();
        Ok(npz::write_file(path, &all)?)
    }

    fn param(&mut self, name: &str, array: Array) {
        self.params.push((name.to_owned(), array));
    }

    fn datum(&mut self, name: &str, array: Array) {
        self.data.push((name.to_owned(), array));
    }
}

/// The inputs of a case, made from the seed of the benchmark.
///
/// The shapes and distributions are those of the suites that the benchmarks come from; the numbers
/// are our own, so that the suite needs no files.
pub fn generate(benchmark: &Benchmark, case: &Case) -> Result<Inputs> {
    let size = |name: &str| case.size(name);
    let mut made = Inputs::default();
    match benchmark.name {
        "dot" => {
            let mut r = Random::new(41);
            made.param("a", r.normal(&[size("n")], 1.0)?);
            made.param("b", r.normal(&[size("n")], 1.0)?);
        }
        "selfrev" => made.param("a", Random::new(42).normal(&[size("n")], 1.0)?),
        "matmul" => {
            let (mut r, n) = (Random::new(43), size("n"));
            made.param("A", r.normal(&[n, n], 1.0)?);
            made.param("B", r.normal(&[n, n], 1.0)?);
        }
        "stencil" => made.param("u", Random::new(44).normal(&[size("n"), size("n")], 1.0)?),
        "binmax" => {
            let (mut r, n) = (Random::new(48), size("n"));
            made.datum("idx", r.integers(&[n], size("bins"))?);
            made.param("v", r.normal(&[n], 1.0)?);
        }
        "histogram" => {
            let (mut r, n) = (Random::new(45), size("n"));
            made.datum("idx", r.integers(&[n], size("bins"))?);
            made.param("v", r.normal(&[n], 1.0)?);
        }
        "lj" => made.param("pos", lattice(size("side"))?),
        "kmeans" => {
            let (mut r, d) = (Random::new(47), size("d"));
            made.datum("x", r.normal(&[size("n"), d], 1.0)?);
            made.param("c", r.normal(&[size("k"), d], 1.0)?);
        }
        "logsumexp" => made.param("X", Random::new(49).normal(&[size("m"), size("n")], 1.0)?),
        "conv1d" => {
            let mut r = Random::new(50);
            made.param("x", r.normal(&[size("n")], 1.0)?);
            made.param("w", r.normal(&[size("k")], 1.0)?);
        }
        "mlp" => mlp(&mut made, size)?,
        "cnn" => cnn(&mut made, size)?,
        "rnn" => rnn(&mut made, size)?,
        "hessian_logreg" => {
            let (mut r, n, d) = (Random::new(62), size("n"), size("d"));
            made.datum("X", r.normal(&[n, d], 0.1)?);
            made.datum("y", r.integers(&[n], 2)?.cast(Dtype::F64)?);
            made.param("w", r.normal(&[d], 1.0)?);
        }
        "gmm" | "hvp_gmm" => {
            adbench::gmm(&mut made, size)?;
            if benchmark.name == "hvp_gmm" {
                let mut r = Random::new(61);
                for (name, array) in made.params.clone() {
                    made.datum(&format!("v_{name}"), r.normal(array.shape().dims(), 1.0)?);
                }
            }
        }
        "lse" => made.param("x", Random::new(71).normal(&[size("n")], 1.0)?),
        "llsq" => made.param("x", Random::new(72).normal(&[size("m")], 1.0)?),
        "lstm" => adbench::lstm(&mut made, size)?,
        "ba" | "ba_grad" => adbench::ba(&mut made, size)?,
        "hand" | "hand_grad" => adbench::hand(&mut made, size)?,
        "wavenet" => kinds::wavenet(&mut made, size)?,
        "mobile" => kinds::mobile(&mut made, size)?,
        "autoencoder" => kinds::autoencoder(&mut made, size)?,
        "graph_attention" => kinds::graph_attention(&mut made, size)?,
        "skipgram" => kinds::skipgram(&mut made, size)?,
        "alignment" => kinds::alignment(&mut made, size)?,
        "filters" => kinds::filters(&mut made, size)?,
        "warp" => kinds::warp(&mut made, size)?,
        other => return Err(format!("no inputs are known for `{other}`").into()),
    }
    Ok(made)
}

/// Points of a cubic lattice of spacing 1.2, each moved by up to 0.1 in every direction.
fn lattice(side: usize) -> Result<Array> {
    let mut r = Random::new(46);
    let moved = |n: usize, r: &mut Random| 1.2 * n as f64 + 0.2 * r.unit() - 0.1;
    let mut elements = Vec::with_capacity(3 * side.pow(3));
    for n in 0..side.pow(3) {
        for at in [n / (side * side), n / side % side, n % side] {
            elements.push(moved(at, &mut r));
        }
    }
    Ok(Array::from_vec(Shape::new("lattice", &[side.pow(3), 3])?, elements)?)
}

fn f32s(array: Array) -> Result<Array> {
    Ok(array.cast(Dtype::F32)?)
}

fn mlp(made: &mut Inputs, size: impl Fn(&str) -> usize) -> Result<()> {
    let mut r = Random::new(31);
    let batch = size("batch");
    made.datum("x", f32s(r.uniform(&[batch, size("i")])?)?);
    made.datum("y", r.integers(&[batch], size("o"))?);
    let widths = [size("i"), size("h"), size("g"), size("o")];
    for (k, pair) in widths.windows(2).enumerate() {
        let &[from, to] = pair else { continue };
        let spread = (2.0 / from as f64).sqrt();
        made.param(&format!("W{k}"), f32s(r.normal(&[from, to], spread)?)?);
        made.param(&format!("b{k}"), f32s(r.normal(&[to], 0.01)?)?);
    }
    Ok(())
}

fn cnn(made: &mut Inputs, size: impl Fn(&str) -> usize) -> Result<()> {
    let mut r = Random::new(32);
    let (batch, c, e) = (size("batch"), size("c"), size("e"));
    // What two convolutions and poolings leave of an image.
    let (s, t) = (size("s"), size("t"));
    made.datum("x", f32s(r.uniform(&[batch, 4 * s + 12, 4 * t + 12])?)?);
    made.datum("y", r.integers(&[batch], 10)?);
    made.param("k1", f32s(r.normal(&[c, 1, 5, 5], 0.2)?)?);
    made.param("b1", f32s(r.normal(&[c], 0.01)?)?);
    made.param("k2", f32s(r.normal(&[e, c, 5, 5], 0.07)?)?);
    made.param("b2", f32s(r.normal(&[e], 0.01)?)?);
    made.param("W", f32s(r.normal(&[e * s * t, 10], 0.06)?)?);
    made.param("b", f32s(r.normal(&[10], 0.01)?)?);
    Ok(())
}

fn rnn(made: &mut Inputs, size: impl Fn(&str) -> usize) -> Result<()> {
    let mut r = Random::new(33);
    let (batch, i, h) = (size("batch"), size("i"), size("h"));
    made.datum("x", f32s(r.uniform(&[size("steps"), batch, i])?)?);
    made.datum("y", r.integers(&[batch], 10)?);
    made.param("Wx", f32s(r.normal(&[i, h], 0.1)?)?);
    made.param("Wh", f32s(r.normal(&[h, h], 0.08)?)?);
    made.param("bh", f32s(r.normal(&[h], 0.01)?)?);
    made.param("Wo", f32s(r.normal(&[h, 10], 0.1)?)?);
    made.param("bo", f32s(r.normal(&[10], 0.01)?)?);
    Ok(())
}
