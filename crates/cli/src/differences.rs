//! Derivatives of a program computed in four ways, entry by entry.

use cotan_ad::section2::oracle::{Options as ScalarOptions, gradient_by_scalars};
use cotan_array::Dtype;
use cotan_interp::{Interp, InterpError, Options, Value};
use cotan_ir::scalar::Scalar;
use cotan_ir::{Program, Type};
use cotan_pipeline::{Derivative, derive};

use crate::failure::{Failure, Outcome};

/// The most entries of a gradient that are checked one by one; larger ones are sampled.
const MAX_ENTRIES: usize = 256;

/// A small generator of numbers (splitmix64).
pub struct Rng(pub u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number between two.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A value of a type: floats between the bounds, small integers, either truth value.
    pub fn value(&mut self, ty: &Type, (low, high): (f64, f64)) -> Outcome<Value> {
        let element = |rng: &mut Rng| match ty.dtype {
            Dtype::F64 => Scalar::F64(rng.between(low, high)),
            Dtype::F32 => Scalar::F32(rng.between(low, high) as f32),
            Dtype::I64 => Scalar::I64((rng.next() % 3) as i64),
            Dtype::Bool => Scalar::Bool(rng.next().is_multiple_of(2)),
        };
        let elements = (0..ty.shape.numel()).map(|_| element(self)).collect();
        Value::new(ty.clone(), elements).map_err(Failure::internal)
    }
}

/// One entry of the gradient of the outputs' sum, weighted by random cotangents.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The input and the index in it: `w[1, 2]`.
    pub place: String,
    pub dtype: Dtype,
    /// By reverse mode: the one that is checked.
    pub reverse: f64,
    /// By forward mode.
    pub forward: f64,
    /// By the algorithm on scalars, unless that takes too much.
    pub scalar: Option<f64>,
    /// By extrapolated central differences.
    pub differences: f64,
    /// How far the rounding of large values may have moved these differences.
    pub noise: f64,
}

/// A function to be differentiated in several ways at a point.
pub struct Point<'a> {
    /// As it was written, `build`s and all.
    pub program: &'a Program,
    pub inputs: Vec<Value>,
    /// Cotangents of the float outputs, in order.
    pub cotangents: Vec<Value>,
    pub options: Options,
}

impl Point<'_> {
    /// Whether values and gradient are finite here.
    pub fn is_finite(&self) -> Outcome<bool> {
        let finite = |values: &[Value]| values.iter().all(|v| v.elements().iter().all(finite));
        let outputs = self.run(self.program, &self.inputs)?;
        Ok(finite(&outputs) && finite(&self.gradient()?))
    }

    /// The entries of the gradient, at most [`MAX_ENTRIES`] evenly spread.
    pub fn entries(&self) -> Outcome<Vec<Entry>> {
        let gradient = self.gradient()?;
        let scalars = self.scalar_gradient();
        let jvp = derive(self.program, Derivative::Jvp, None).map_err(Failure::internal)?;
        let magnitude = self.magnitude()?;
        let total: usize = gradient.iter().map(|g| g.elements().len()).sum();
        let stride = total.div_ceil(MAX_ENTRIES).max(1);
        let mut entries = Vec::new();
        let (mut number, mut float) = (0, 0);
        for (k, input) in self.program.inputs().iter().enumerate() {
            if !input.ty.dtype.is_float() {
                continue;
            }
            let by_scalars = scalars.as_ref().and_then(|s| s.get(k)).and_then(|s| s.as_ref());
            for n in 0..input.ty.shape.numel() {
                number += 1;
                if !(number - 1usize).is_multiple_of(stride) {
                    continue;
                }
                let reverse = gradient.get(float).and_then(|g| g.elements().get(n));
                let (differences, noise) = self.extrapolated(k, n, magnitude)?;
                entries.push(Entry {
                    place: place(&input.name, &input.ty, n),
                    dtype: input.ty.dtype,
                    reverse: reverse.map_or(f64::NAN, real),
                    forward: self.directional(&jvp, float, n)?,
                    scalar: by_scalars.and_then(|s| s.get(n)).map(real),
                    differences,
                    noise,
                });
            }
            float += 1;
        }
        Ok(entries)
    }

    /// The cotangents of the float inputs, in reverse mode.
    fn gradient(&self) -> Outcome<Vec<Value>> {
        let vjp = derive(self.program, Derivative::Vjp, None).map_err(Failure::internal)?;
        let inputs: Vec<Value> = self.inputs.iter().chain(&self.cotangents).cloned().collect();
        let mut outputs = self.run(&vjp, &inputs)?;
        Ok(outputs.split_off(self.program.outputs().len().min(outputs.len())))
    }

    fn scalar_gradient(&self) -> Option<Vec<Option<Vec<Scalar>>>> {
        let inputs: Vec<Vec<Scalar>> = self.inputs.iter().map(|v| v.elements().to_vec()).collect();
        let mut given = self.cotangents.iter();
        let seeds: Vec<Option<Vec<Scalar>>> = self
            .program
            .outputs()
            .iter()
            .map(|output| {
                let float = self.program.dtype(output.term).is_float();
                float.then(|| given.next()).flatten().map(|c| c.elements().to_vec())
            })
            .collect();
        let options = ScalarOptions::default();
        gradient_by_scalars(self.program, &inputs, &seeds, &options).ok().map(|g| g.gradients)
    }

    /// The derivative of the weighted sum along one entry of a float input, in forward mode.
    fn directional(&self, jvp: &Program, float: usize, entry: usize) -> Outcome<f64> {
        let mut inputs = self.inputs.clone();
        for (k, input) in jvp.inputs().iter().skip(self.inputs.len()).enumerate() {
            let unit = |n: usize| if k == float && n == entry { 1.0 } else { 0.0 };
            let elements =
                (0..input.ty.shape.numel()).map(|n| number(unit(n), input.ty.dtype)).collect();
            inputs.push(Value::new(input.ty.clone(), elements).map_err(Failure::internal)?);
        }
        let outputs = self.run(jvp, &inputs)?;
        let tangents = outputs.get(self.program.outputs().len()..).unwrap_or_default();
        Ok(weighted(tangents.iter(), &self.cotangents))
    }

    /// Central differences at two widths, and the limit that they point to: Richardson's
    /// extrapolation $(4 D_{h/2} - D_h) / 3$. And what rounding may do to it: a difference of sums of
    /// this magnitude is off by some units in their last place, divided by the width.
    fn extrapolated(&self, input: usize, entry: usize, magnitude: f64) -> Outcome<(f64, f64)> {
        let Some(at) = self.inputs.get(input).and_then(|v| v.elements().get(entry)).map(real)
        else {
            return Err(Failure::internal("an entry that is not there"));
        };
        let single = self.inputs.iter().any(|value| value.ty().dtype == Dtype::F32);
        let h = at.abs().max(1.0) * if single { 0.0625 } else { 1e-3 };
        let (wide, narrow) =
            (self.central(input, entry, at, h)?, self.central(input, entry, at, h / 2.0)?);
        let last_place = if single { f64::from(f32::EPSILON) } else { f64::EPSILON };
        Ok(((4.0 * narrow - wide) / 3.0, 8.0 * last_place * magnitude / h))
    }

    /// The sum of the sizes of what the weighted sum adds up.
    fn magnitude(&self) -> Outcome<f64> {
        let outputs = self.run(self.program, &self.inputs)?;
        let floats = outputs.iter().filter(|value| value.ty().dtype.is_float());
        Ok(products(floats, &self.cotangents).map(f64::abs).sum())
    }

    fn central(&self, input: usize, entry: usize, at: f64, h: f64) -> Outcome<f64> {
        let above = self.moved(input, entry, at + h)?;
        let below = self.moved(input, entry, at - h)?;
        // What was really moved, after rounding.
        Ok((above.1 - below.1) / (above.0 - below.0))
    }

    /// An entry as it can be represented near `to`, and the weighted sum of the outputs there.
    fn moved(&self, input: usize, entry: usize, to: f64) -> Outcome<(f64, f64)> {
        let mut inputs = self.inputs.clone();
        let mut moved = to;
        if let Some(value) = inputs.get_mut(input) {
            let mut elements = value.elements().to_vec();
            if let Some(element) = elements.get_mut(entry) {
                *element = number(to, value.ty().dtype);
                moved = real(element);
            }
            *value = Value::new(value.ty().clone(), elements).map_err(Failure::internal)?;
        }
        let outputs = self.run(self.program, &inputs)?;
        let floats = outputs.iter().filter(|value| value.ty().dtype.is_float());
        Ok((moved, weighted(floats, &self.cotangents)))
    }

    fn run(&self, program: &Program, inputs: &[Value]) -> Outcome<Vec<Value>> {
        let run = Interp::new(program).with_options(self.options.clone()).run(inputs);
        run.map(|run| run.outputs).map_err(|error: InterpError| {
            Failure::limit(format!(
                "error: {error}\n  hint: use smaller sizes, or raise the limits"
            ))
        })
    }
}

/// The sum of products of all elements.
fn weighted<'v>(values: impl Iterator<Item = &'v Value>, weights: &'v [Value]) -> f64 {
    products(values, weights).sum()
}

fn products<'v>(
    values: impl Iterator<Item = &'v Value>,
    weights: &'v [Value],
) -> impl Iterator<Item = f64> {
    let pairs = values.zip(weights).flat_map(|(v, w)| v.elements().iter().zip(w.elements()));
    pairs.map(|(x, w)| real(x) * real(w))
}

fn real(x: &Scalar) -> f64 {
    match x {
        Scalar::F64(x) => *x,
        Scalar::F32(x) => f64::from(*x),
        Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => f64::NAN,
    }
}

fn number(x: f64, dtype: Dtype) -> Scalar {
    match dtype {
        Dtype::F32 => Scalar::F32(x as f32),
        Dtype::F64 | Dtype::I64 | Dtype::Bool => Scalar::F64(x),
    }
}

fn finite(x: &Scalar) -> bool {
    match x {
        Scalar::F64(x) => x.is_finite(),
        Scalar::F32(x) => x.is_finite(),
        Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => true,
    }
}

/// `w[1, 2]`, from the position in row-major order.
fn place(name: &str, ty: &Type, position: usize) -> String {
    let mut rest = position;
    let mut index: Vec<String> = Vec::new();
    for &size in ty.shape.dims().iter().rev() {
        index.push((rest % size.max(1)).to_string());
        rest /= size.max(1);
    }
    index.reverse();
    match index.is_empty() {
        true => name.to_owned(),
        false => format!("{name}[{}]", index.join(", ")),
    }
}
