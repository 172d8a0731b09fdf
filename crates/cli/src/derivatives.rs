//! A function at a point, its values there and around, and its derivatives in several ways.

use std::cell::OnceCell;

use cotan_ad::section2::oracle::{Options as ScalarOptions, gradient_by_scalars};
use cotan_array::Dtype;
use cotan_interp::{Interp, InterpError, Options, Value};
use cotan_ir::scalar::Scalar;
use cotan_ir::{CustomKind, ErrorKind, Node, Program, RegionId, Scopes, Type};
use cotan_pipeline::{Derivative, derive};

use crate::failure::{Failure, Outcome};

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
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
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

/// A function with its derivatives in both modes.
///
/// Solvers end within a tolerance, on which the ways to compute a derivative need not agree, nor
/// differences of values: solutions are corrected in all programs but one.
pub struct Function {
    /// As it was written, `build`s and all.
    program: Program,
    vjp: Program,
    jvp: Program,
    /// With the solutions that the solvers give, if there are some.
    plain: Option<Program>,
    /// The reverse mode of the program without `stop_gradient`, made when it is asked for.
    unstopped: OnceCell<Option<Program>>,
    options: Options,
}

/// One element of an input.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Which input, and which of those that are floats.
    pub input: usize,
    pub float: usize,
    pub element: usize,
}

impl Function {
    pub fn new(program: Program, options: Options) -> Outcome<Function> {
        let failed = |error: cotan_ir::Error| match error.kind() {
            ErrorKind::Deadline | ErrorKind::Cancelled => {
                Failure::limit("error: differentiating took too long")
            }
            _ => Failure::internal(error),
        };
        let corrected = |program: &Program| program.corrected().map_err(failed);
        let vjp = derive(&program, Derivative::Vjp, None).map_err(failed)?;
        let jvp = derive(&program, Derivative::Jvp, None).map_err(failed)?;
        let unstopped = OnceCell::new();
        Ok(match program.has_equations() {
            false => Function { program, vjp, jvp, plain: None, unstopped, options },
            true => Function {
                program: corrected(&program)?,
                jvp: corrected(&jvp)?,
                vjp: corrected(&vjp)?,
                plain: Some(vjp),
                unstopped,
                options,
            },
        })
    }

    /// The elements of the float inputs.
    pub fn entries(&self) -> Vec<Entry> {
        let mut entries = Vec::new();
        let inputs = self.program.inputs().iter().enumerate();
        let floats = inputs.filter(|(_, input)| input.ty.dtype.is_float());
        for (float, (input, declared)) in floats.enumerate() {
            let elements = 0..declared.ty.shape.numel();
            entries.extend(elements.map(|element| Entry { input, float, element }));
        }
        entries
    }

    /// `w[1, 2]`
    pub fn place(&self, entry: Entry) -> String {
        match self.program.inputs().get(entry.input) {
            Some(input) => place(&input.name, &input.ty, entry.element),
            None => String::new(),
        }
    }

    /// The types and names of the float outputs.
    fn float_outputs(&self) -> impl Iterator<Item = (&str, &Type)> {
        let outputs = self.program.outputs().iter();
        outputs
            .map(|output| (output.name.as_str(), self.program.ty(output.term)))
            .filter(|(_, ty)| ty.dtype.is_float())
    }

    /// How many numbers the float outputs are.
    pub fn numbers(&self) -> usize {
        self.float_outputs().map(|(_, ty)| ty.shape.numel()).sum()
    }

    /// `y[2]`, of the numbers of the float outputs.
    pub fn output_place(&self, number: usize) -> String {
        let mut rest = number;
        for (name, ty) in self.float_outputs() {
            if rest < ty.shape.numel() {
                let name = match name {
                    "" => "result",
                    name => name,
                };
                return place(name, ty, rest);
            }
            rest -= ty.shape.numel();
        }
        String::new()
    }

    /// The numbers of the float outputs.
    pub fn values(&self, inputs: &[Value]) -> Outcome<Vec<f64>> {
        let outputs = self.run(&self.program, inputs)?;
        let floats = outputs.iter().filter(|value| value.ty().dtype.is_float());
        Ok(floats.flat_map(|value| value.elements()).map(real).collect())
    }

    /// The derivatives of the float outputs, weighted, by the float inputs: reverse mode.
    pub fn gradient(&self, inputs: &[Value], weights: &[f64]) -> Outcome<Vec<Vec<f64>>> {
        self.gradient_by(&self.vjp, inputs, weights)
    }

    /// The same at the solutions that the solvers give; `None` if there are none to be corrected.
    pub fn plain_gradient(
        &self,
        inputs: &[Value],
        weights: &[f64],
    ) -> Outcome<Option<Vec<Vec<f64>>>> {
        let plain = self.plain.as_ref();
        plain.map(|vjp| self.gradient_by(vjp, inputs, weights)).transpose()
    }

    /// The same without `stop_gradient`; `None` if there is none in the program, or no derivative
    /// without it.
    pub fn unstopped_gradient(
        &self,
        inputs: &[Value],
        weights: &[f64],
    ) -> Outcome<Option<Vec<Vec<f64>>>> {
        let made = self.unstopped.get_or_init(|| {
            let unstopped = self.program.has_stops().then(|| self.program.unstopped().ok());
            derive(&unstopped.flatten()?, Derivative::Vjp, None).ok()
        });
        made.as_ref().map(|vjp| self.gradient_by(vjp, inputs, weights)).transpose()
    }

    /// Whether a derivative comes from a rule with a loop that ends by a condition, such as the
    /// adjoint of a differential equation, which is solved to a tolerance of its own.
    pub fn iterates(&self) -> bool {
        let scopes = Scopes::new(&self.program);
        self.program.terms().any(|t| match self.program.node(t) {
            Node::Custom(c) => {
                let rule = matches!(c.kind, CustomKind::Vjp | CustomKind::Jvp);
                rule && has_while(&self.program, &scopes, c.region)
            }
            _ => false,
        })
    }

    fn gradient_by(
        &self,
        vjp: &Program,
        inputs: &[Value],
        weights: &[f64],
    ) -> Outcome<Vec<Vec<f64>>> {
        let inputs: Vec<Value> = inputs.iter().cloned().chain(self.cotangents(weights)?).collect();
        let outputs = self.run(vjp, &inputs)?;
        let gradient = outputs.iter().skip(self.program.outputs().len());
        Ok(gradient.map(|value| value.elements().iter().map(real).collect()).collect())
    }

    /// The same by the algorithm on scalars, unless that takes too much.
    pub fn gradient_by_scalars(
        &self,
        inputs: &[Value],
        weights: &[f64],
    ) -> Outcome<Option<Vec<Vec<f64>>>> {
        let mut given = self.cotangents(weights)?.into_iter();
        let outputs = self.program.outputs().iter();
        let seeds: Vec<Option<Vec<Scalar>>> = outputs
            .map(|output| {
                let float = self.program.dtype(output.term).is_float();
                float.then(|| given.next()).flatten().map(|c| c.elements().to_vec())
            })
            .collect();
        let inputs: Vec<Vec<Scalar>> = inputs.iter().map(|v| v.elements().to_vec()).collect();
        let options = ScalarOptions::default();
        let found = gradient_by_scalars(&self.program, &inputs, &seeds, &options).ok();
        Ok(found.map(|found| {
            let floats = found.gradients.iter().flatten();
            floats.map(|gradient| gradient.iter().map(real).collect()).collect()
        }))
    }

    /// The derivatives of the numbers of the float outputs by one entry: forward mode.
    pub fn tangents(&self, inputs: &[Value], entry: Entry) -> Outcome<Vec<f64>> {
        let mut inputs = inputs.to_vec();
        for (k, input) in self.jvp.inputs().iter().skip(inputs.len()).enumerate() {
            let unit = |n: usize| if k == entry.float && n == entry.element { 1.0 } else { 0.0 };
            let numbers = (0..input.ty.shape.numel()).map(unit);
            inputs.push(numbers_of(&input.ty, numbers)?);
        }
        let outputs = self.run(&self.jvp, &inputs)?;
        let tangents = outputs.iter().skip(self.program.outputs().len());
        Ok(tangents.flat_map(|value| value.elements()).map(real).collect())
    }

    /// Numbers as cotangents of the float outputs.
    fn cotangents(&self, weights: &[f64]) -> Outcome<Vec<Value>> {
        let mut weights = weights.iter().copied();
        let take = |(_, ty): (&str, &Type)| {
            numbers_of(ty, weights.by_ref().take(ty.shape.numel()).collect::<Vec<_>>())
        };
        self.float_outputs().map(take).collect()
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

/// Whether a region has a loop that ends by a condition. Recursive over the nesting of regions only.
fn has_while(program: &Program, scopes: &Scopes, region: RegionId) -> bool {
    scopes.region(region).order().iter().any(|&t| match program.node(t) {
        Node::While(_) => true,
        node => node.region().is_some_and(|inner| has_while(program, scopes, inner)),
    })
}

/// The inputs with one entry as it can be represented near `to`, and that number.
pub fn moved(inputs: &[Value], entry: Entry, to: f64) -> Outcome<(Vec<Value>, f64)> {
    let mut inputs = inputs.to_vec();
    let mut moved = to;
    if let Some(value) = inputs.get_mut(entry.input) {
        let mut elements = value.elements().to_vec();
        if let Some(element) = elements.get_mut(entry.element) {
            *element = number(to, value.ty().dtype);
            moved = real(element);
        }
        *value = Value::new(value.ty().clone(), elements).map_err(Failure::internal)?;
    }
    Ok((inputs, moved))
}

/// The number at an entry.
pub fn at(inputs: &[Value], entry: Entry) -> f64 {
    let element = inputs.get(entry.input).and_then(|value| value.elements().get(entry.element));
    element.map_or(f64::NAN, real)
}

/// The inputs with every float changed to what `change` gives, in the type `dtype` says.
pub fn mapped(inputs: &[Value], mut change: impl FnMut(f64) -> f64) -> Outcome<Vec<Value>> {
    let change = |value: &Value| match value.ty().dtype.is_float() {
        true => numbers_of(value.ty(), value.elements().iter().map(real).map(&mut change)),
        false => Ok(value.clone()),
    };
    inputs.iter().map(change).collect()
}

/// The inputs with `f64` in place of `f32`.
pub fn widened(inputs: &[Value]) -> Outcome<Vec<Value>> {
    let wide = |value: &Value| match value.ty().dtype {
        Dtype::F32 => {
            let ty = Type::new(Dtype::F64, value.ty().shape.clone());
            numbers_of(&ty, value.elements().iter().map(real))
        }
        Dtype::F64 | Dtype::I64 | Dtype::Bool => Ok(value.clone()),
    };
    inputs.iter().map(wide).collect()
}

fn numbers_of(ty: &Type, numbers: impl IntoIterator<Item = f64>) -> Outcome<Value> {
    let elements = numbers.into_iter().map(|x| number(x, ty.dtype)).collect();
    Value::new(ty.clone(), elements).map_err(Failure::internal)
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
