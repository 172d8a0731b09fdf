//! The scalar algorithm on array programs: an independent oracle for the array algorithm.
//!
//! An array program is also a program on scalars: its arrays are tuples, its formers shuffle their
//! components, and once in a while it performs some computation on numbers. So the algorithm of
//! the section applies as it is. A program is run element by element, `build` by `build`, as it was
//! written and before any pass; every float is a dual number of a primal and
//!
//! * a [`Delta`] with ids for reverse mode ([`gradient_by_scalars`]), walked backwards by
//!   [`reverse_pass_from`]; or
//! * a tangent for forward mode ([`jvp_by_scalars`]).
//!
//! Integers and booleans are plain. All that is shared with the array algorithm is the scalar
//! table, from which the partial derivatives come. It is slow, needs memory in proportion to the
//! number of scalar operations, and is meant for tests.
//!
//! # Meaning of the corner cases
//!
//! * A cotangent (or tangent) of 0 annihilates an infinite or undefined partial derivative. So do
//!   zeros of the first factor of `scale`, and of both of `strong_mul`.
//! * `cond` and `where` hand the derivative of the branch taken through, and nothing of the other; so
//!   do `min` and `max`.
//! * Reads out of range are the constant 0, writes out of range are dropped.
//! * Cotangents and tangents of `f32` values are carried in `f64`; the partial derivatives are
//!   evaluated in the type of the operation.
//!
//! ```
//! use cotan_ad::section2::oracle::{Options, gradient_by_scalars, jvp_by_scalars};
//! use cotan_array::{Dtype, Shape};
//! use cotan_ir::{Builder, Type, scalar::{Op, Scalar}};
//!
//! // sum (build 3 (\i -> a[i] * a[2 - i]))
//! let mut b = Builder::new();
//! let a = b.input("a", Type::new(Dtype::F64, Shape::new("example", &[3])?))?;
//! let two = b.scalar(2i64)?;
//! let products = b.build(3, |b, i| {
//!     let j = b.op(Op::Sub, &[two, i])?;
//!     let (x, y) = (b.index(a, &[i])?, b.index(a, &[j])?);
//!     b.op(Op::Mul, &[x, y])
//! })?;
//! let sum = b.sum_outer(products)?;
//! let program = b.finish_one(sum)?;
//!
//! let f64s = |xs: &[f64]| xs.iter().map(|&x| Scalar::F64(x)).collect::<Vec<_>>();
//! let (inputs, options) = ([f64s(&[1.0, 2.0, 5.0])], Options::default());
//! let reverse = gradient_by_scalars(&program, &inputs, &[Some(f64s(&[1.0]))], &options)?;
//! assert_eq!(reverse.outputs[0], f64s(&[14.0]));
//! assert_eq!(reverse.gradients[0], Some(f64s(&[10.0, 4.0, 2.0])));
//! let forward = jvp_by_scalars(&program, &inputs, &[Some(f64s(&[0.0, 0.0, 1.0]))], &options)?;
//! assert_eq!(forward.tangents[0], Some(f64s(&[2.0])));
//! # Ok::<(), cotan_ir::Error>(())
//! ```

mod formers;
mod machine;
mod numbers;
mod routine;
mod spectral;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use cotan_array::Dtype;
use cotan_ir::scalar::{Fp, Scalar};
use cotan_ir::{Error, Program, Result, Scopes, Type};

use super::delta::{DVarName, Delta};
use super::reverse_pass::reverse_pass_from;
use machine::{Dual, Elements, Machine};
use numbers::{Derivative, Forward, Number, Reverse};

/// Which numbers stand for the floats of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Numbers {
    /// Those that its types say.
    #[default]
    Ieee,
    /// The field with `2^61 - 1` elements ([`Scalar::Fp`]): exact arithmetic. Floats given are put
    /// into it.
    Field,
}

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Which numbers stand for floats.
    pub numbers: Numbers,
    /// The most elements made and operations performed. One may take some 200 bytes.
    pub max_work: u64,
}

impl Default for Options {
    /// IEEE numbers; `2^23` units of work.
    fn default() -> Options {
        Options { numbers: Numbers::Ieee, max_work: 1 << 23 }
    }
}

impl Options {
    /// Exact arithmetic in the field, with the default limit.
    pub fn field() -> Options {
        Options { numbers: Numbers::Field, ..Options::default() }
    }
}

/// The elements of arrays in row-major order, one list for each. `None` stands for zeros where it
/// is given, and for no derivative (an integer or boolean array) where it is returned.
pub type Seeds = [Option<Vec<Scalar>>];

/// The results of [`gradient_by_scalars`].
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// The elements of each output.
    pub outputs: Vec<Vec<Scalar>>,
    /// The cotangent of each float input.
    pub gradients: Vec<Option<Vec<Scalar>>>,
}

/// The results of [`jvp_by_scalars`].
#[derive(Clone, Debug, PartialEq)]
pub struct Jvp {
    /// The elements of each output.
    pub outputs: Vec<Vec<Scalar>>,
    /// The tangent of each float output.
    pub tangents: Vec<Option<Vec<Scalar>>>,
}

/// The cotangent of each float input at `inputs`, given those of the outputs: reverse mode.
///
/// `inputs` holds the elements of each input in row-major order, `cotangents` those of the
/// cotangent of each output.
pub fn gradient_by_scalars(
    program: &Program,
    inputs: &[Vec<Scalar>],
    cotangents: &Seeds,
    options: &Options,
) -> Result<Gradient> {
    match options.numbers {
        Numbers::Ieee => gradient::<f64>(program, inputs, cotangents, options),
        Numbers::Field => gradient::<Fp>(program, inputs, cotangents, options),
    }
}

/// The tangent of each float output at `inputs`, given those of the inputs: forward mode.
///
/// `inputs` holds the elements of each input in row-major order, `tangents` those of the tangent
/// of each input.
pub fn jvp_by_scalars(
    program: &Program,
    inputs: &[Vec<Scalar>],
    tangents: &Seeds,
    options: &Options,
) -> Result<Jvp> {
    match options.numbers {
        Numbers::Ieee => jvp::<f64>(program, inputs, tangents, options),
        Numbers::Field => jvp::<Fp>(program, inputs, tangents, options),
    }
}

fn gradient<R: Number>(
    program: &Program,
    inputs: &[Vec<Scalar>],
    cotangents: &Seeds,
    options: &Options,
) -> Result<Gradient> {
    let types: Vec<&Type> = program.outputs().iter().map(|o| program.ty(o.term)).collect();
    let cotangents = seeds::<R>("cotangent", &types, cotangents)?;
    let declared = program.inputs();
    // Every element has a name, also those of integers: the place in the list of all.
    let mut first_names = Vec::with_capacity(declared.len());
    let mut names: DVarName = 0;
    for input in declared {
        first_names.push(names);
        names = names.saturating_add(input.ty.shape.numel());
    }
    let name = |input: usize, n: usize| first_names.get(input).map_or(n, |first| first + n);
    let outputs = run(program, inputs, options, Reverse::<R>::new(), |k, n| {
        Rc::new(Delta::Input(name(k, n)))
    })?;
    let results = outputs.iter().zip(&cotangents).flat_map(|(output, seed)| {
        output.iter().zip(seed.iter().flatten()).map(|(dual, &c)| (c, &*dual.d))
    });
    let grad = reverse_pass_from(results, &mut |_| {});
    let cotangent = |(k, input): (usize, &cotan_ir::Input)| {
        let Type { dtype, shape } = &input.ty;
        let element = |n| grad.get(&name(k, n)).copied().unwrap_or(R::ZERO).into_scalar(*dtype);
        dtype.is_float().then(|| (0..shape.numel()).map(element).collect())
    };
    let gradients = declared.iter().enumerate().map(cotangent).collect();
    Ok(Gradient { outputs: outputs.iter().map(primals).collect(), gradients })
}

fn jvp<R: Number>(
    program: &Program,
    inputs: &[Vec<Scalar>],
    tangents: &Seeds,
    options: &Options,
) -> Result<Jvp> {
    let types: Vec<&Type> = program.inputs().iter().map(|i| &i.ty).collect();
    let seeds = seeds::<R>("tangent", &types, tangents)?;
    let seed = |k: usize, n: usize| {
        let element = seeds.get(k).and_then(|s| s.as_ref()).and_then(|s| s.get(n));
        element.copied().unwrap_or(R::ZERO)
    };
    let outputs = run(program, inputs, options, Forward::<R>::new(), seed)?;
    let tangent = |(output, elements): (&cotan_ir::Output, &Elements<R>)| {
        let dtype = program.dtype(output.term);
        dtype.is_float().then(|| elements.iter().map(|dual| dual.d.into_scalar(dtype)).collect())
    };
    let tangents = program.outputs().iter().zip(&outputs).map(tangent).collect();
    Ok(Jvp { outputs: outputs.iter().map(primals).collect(), tangents })
}

fn primals<D>(elements: &Elements<D>) -> Vec<Scalar> {
    elements.iter().map(|dual| dual.x).collect()
}

/// Runs a program on dual numbers; `seed` gives the second component of each float element of each
/// input.
fn run<M: Derivative>(
    program: &Program,
    inputs: &[Vec<Scalar>],
    options: &Options,
    mode: M,
    seed: impl Fn(usize, usize) -> M::D,
) -> Result<Vec<Elements<M::D>>> {
    let declared = program.inputs();
    if declared.len() != inputs.len() {
        let message = format!("{} inputs for {} declared ones", inputs.len(), declared.len());
        return Err(Error::type_error("input", message));
    }
    let scopes = Scopes::new(program);
    let zero = mode.zero();
    let mut machine = Machine::new(program, &scopes, mode, options.max_work);
    let mut duals = Vec::with_capacity(inputs.len());
    for (k, (input, elements)) in declared.iter().zip(inputs).enumerate() {
        let what = || format!("input `{}`", input.name);
        let xs = admit::<M::R>(&what, &input.ty, elements)?;
        let float = input.ty.dtype.is_float();
        let dual = |(n, x)| Dual { x, d: if float { seed(k, n) } else { zero.clone() } };
        duals.push(xs.into_iter().enumerate().map(dual).collect());
    }
    machine.define_inputs(duals)?;
    machine.run()
}

/// Elements given from outside, checked against a type and brought into the numbers of the run.
fn admit<R: Number>(
    what: &dyn Fn() -> String,
    ty: &Type,
    elements: &[Scalar],
) -> Result<Vec<Scalar>> {
    if elements.len() != ty.shape.numel() {
        let message = format!("{} elements given for {ty}", elements.len());
        return Err(Error::type_error(what(), message));
    }
    let fits = |x: &Scalar| match x {
        Scalar::F64(_) => ty.dtype == Dtype::F64,
        Scalar::F32(_) => ty.dtype == Dtype::F32,
        Scalar::I64(_) => ty.dtype == Dtype::I64,
        Scalar::Bool(_) => ty.dtype == Dtype::Bool,
        Scalar::Fp(_) => ty.dtype.is_float() && R::of(*x).is_some(),
    };
    match elements.iter().position(|x| !fits(x)) {
        Some(n) => {
            let message = format!("element {n} is not of type {}: {:?}", ty.dtype, elements[n]);
            let hint = "elements of the test field need Numbers::Field";
            Err(Error::type_error(what(), message).with_hint(hint))
        }
        None => Ok(elements.iter().map(|&x| R::admit(x)).collect()),
    }
}

/// Cotangents or tangents given from outside, checked against the types they belong to.
fn seeds<R: Number>(what: &str, types: &[&Type], seeds: &Seeds) -> Result<Vec<Option<Vec<R>>>> {
    if types.len() != seeds.len() {
        let message = format!("{} given where {} are needed", seeds.len(), types.len());
        return Err(Error::type_error(what, message).with_hint("`None` stands for zeros"));
    }
    let mut checked = Vec::with_capacity(seeds.len());
    for (n, (ty, seed)) in types.iter().zip(seeds).enumerate() {
        let Some(elements) = seed else {
            checked.push(None);
            continue;
        };
        let name = || format!("{what} {n}");
        if !ty.dtype.is_float() {
            let message = format!("there are no {what}s of type {ty}");
            return Err(Error::type_error(name(), message).with_hint("give `None`"));
        }
        let xs = admit::<R>(&name, ty, elements)?;
        checked.push(Some(xs.into_iter().filter_map(R::of).collect()));
    }
    Ok(checked)
}
