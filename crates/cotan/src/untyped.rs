//! Arrays whose element types are known at run time only: for front ends that are not Rust.
//!
//! An [`AnyArr`] is an [`Arr`] whose element type is a value. It is a structure of arrays, so `fold`,
//! `cond` and all others that take structures take a `Vec` of these; the functions for one element
//! type are reached by [`AnyArr::typed`]. What depends on types in the functions of this crate
//! ([`stage`], [`derivative`]) takes lists of named arrays here.
//!
//! ```
//! use cotan::untyped::{self, AnyArr};
//! use cotan_array::{Array, Dtype, Shape};
//! use cotan_ir::{Type, scalar::Op};
//!
//! let inputs = [("x".to_owned(), Type::new(Dtype::F64, Shape::new("example", &[2])?))];
//! let program = untyped::stage(&inputs, &mut |x: &[AnyArr]| {
//!     Ok(vec![("y".to_owned(), untyped::elementwise(Op::Mul, &[x[0], x[0]]))])
//! })?;
//! assert_eq!(program.to_string(), "def main(x: [2]f64) = {y = x * x}\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use cotan_array::{Array, Dtype, Shape};
use cotan_ir::scalar::Op;
use cotan_ir::{Program, Type};
use cotan_pipeline::{Derivative, Pass, Pipeline, Taylor};

use crate::arr::Arr;
use crate::derive::apply_untyped;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::library::call::{In, call_all};
use crate::ops;
use crate::stage::{self, Raw, emit, emit_all};
use crate::structure::{Arrays, Entries, Leaf, LeafKind, Leaves, Tree};

/// An array in a function that is staged, of an element type that is known at run time.
#[derive(Clone, Copy, Debug)]
pub struct AnyArr {
    raw: Raw,
    dtype: Dtype,
}

/// A concrete array of an element type that is known at run time.
#[derive(Clone, Debug)]
pub struct AnyTensor(pub Array);

/// An array with the name that programs and messages show.
pub type Named = (String, AnyArr);

/// A function from arrays to arrays with names.
pub type Body<'a> = &'a mut dyn FnMut(&[AnyArr]) -> Result<Vec<Named>>;

impl<T: Element> From<Arr<T>> for AnyArr {
    fn from(x: Arr<T>) -> AnyArr {
        AnyArr { raw: x.raw, dtype: T::DTYPE }
    }
}

impl AnyArr {
    fn of(raw: Raw) -> AnyArr {
        let dtype = stage::type_of(raw).map_or(Dtype::F64, |ty| ty.dtype);
        AnyArr { raw, dtype }
    }

    /// The element type.
    pub fn dtype(self) -> Dtype {
        self.dtype
    }

    /// The type; `None` if its function is not being staged on this thread any more.
    pub fn ty(self) -> Option<Type> {
        stage::type_of(self.raw)
    }

    /// The array, if its element type is `T`.
    pub fn typed<T: Element>(self) -> Option<Arr<T>> {
        (self.dtype == T::DTYPE).then(|| Arr::from_raw(self.raw))
    }

    /// The elements converted, as by [`Arr::cast`].
    #[track_caller]
    pub fn cast(self, dtype: Dtype) -> AnyArr {
        let op = match dtype {
            _ if dtype == self.dtype => return self,
            Dtype::F64 => Op::ToF64,
            Dtype::F32 => Op::ToF32,
            Dtype::I64 => Op::ToI64,
            Dtype::Bool => Op::ToBool,
        };
        AnyArr { raw: emit("cast", &[self.raw], |b, ts| b.op(op, ts)), dtype }
    }
}

fn leaf_type(tree: &Tree) -> Result<&Type> {
    match tree {
        Tree::Leaf(ty) => Ok(ty),
        other => Err(Error::type_error("arguments", format!("an array, not {other}"))),
    }
}

impl Arrays for AnyArr {
    type Staged = AnyArr;
    type Concrete = AnyTensor;
    type Of<W: Arrays> = W;

    fn tree(&self) -> Tree {
        Tree::Leaf(self.ty().unwrap_or_else(|| Type::new(self.dtype, Shape::scalar())))
    }

    fn flatten(&self, leaves: &mut Vec<Leaf>) {
        leaves.push(Leaf(LeafKind::Staged(self.raw)));
    }

    fn unflatten(tree: &Tree, leaves: &mut Leaves) -> Result<Self> {
        let dtype = leaf_type(tree)?.dtype;
        match leaves.next()?.0 {
            LeafKind::Staged(raw) => Ok(AnyArr { raw, dtype }),
            LeafKind::Concrete(_) => Err(Error::internal("a concrete leaf in a staged structure")),
        }
    }

    fn nothing() -> Self {
        AnyArr { raw: Raw::default(), dtype: Dtype::F64 }
    }

    fn tree_in(entries: &Entries<'_>) -> Result<Tree> {
        Ok(entries.leaf(Dtype::F64))
    }
}

impl Arrays for AnyTensor {
    type Staged = AnyArr;
    type Concrete = AnyTensor;
    type Of<W: Arrays> = W;

    fn tree(&self) -> Tree {
        Tree::Leaf(Type::of(&self.0))
    }

    fn flatten(&self, leaves: &mut Vec<Leaf>) {
        leaves.push(Leaf(LeafKind::Concrete(self.0.clone())));
    }

    fn unflatten(tree: &Tree, leaves: &mut Leaves) -> Result<Self> {
        leaf_type(tree)?;
        match leaves.next()?.0 {
            LeafKind::Concrete(array) => Ok(AnyTensor(array)),
            LeafKind::Staged(_) => Err(Error::internal("a staged leaf in a concrete structure")),
        }
    }

    fn nothing() -> Self {
        AnyTensor(Array::scalar(0.0))
    }

    fn tree_in(entries: &Entries<'_>) -> Result<Tree> {
        Ok(entries.leaf(Dtype::F64))
    }
}

/// Whether a function is being staged on this thread.
pub fn is_staging() -> bool {
    stage::is_staging()
}

/// Takes back the error that the function being staged has recorded, so that staging can go on: for
/// front ends that have exceptions.
pub fn take_error() -> Option<Error> {
    stage::take_error()
}

/// Makes the function being staged fail.
pub fn fail(error: Error) {
    stage::fail(error);
}

/// The array that has the given elements, whatever the arguments are.
#[track_caller]
pub fn constant(elements: &Array) -> AnyArr {
    let raw = emit("constant", &[], |b, _| b.constant(elements));
    AnyArr { raw, dtype: elements.dtype() }
}

/// A scalar operation, element by element, on arrays whose shapes fit.
#[track_caller]
pub fn elementwise(op: Op, operands: &[AnyArr]) -> AnyArr {
    AnyArr::of(ops::elementwise(op, &raws_of(operands)))
}

pub use cotan_library::{Arg, Function as LibraryFunction, Kind, find as library_function};

/// An argument of a function of the standard library.
#[derive(Clone, Debug)]
pub enum LibraryArg {
    /// An array.
    Array(AnyArr),
    /// Several arrays.
    Arrays(Vec<AnyArr>),
    /// What is known while staging: an axis, a size, a mode.
    Known(Arg),
}

/// The arrays that a function of the standard library makes of arguments by the names of its
/// parameters; those that are not given have their defaults.
///
/// ```
/// # use cotan::untyped::{self, Arg, LibraryArg};
/// # use cotan_array::{Dtype, Shape};
/// # use cotan_ir::Type;
/// let inputs = [("x".to_owned(), Type::new(Dtype::F64, Shape::new("example", &[2, 3])?))];
/// let program = untyped::stage(&inputs, &mut |x| {
///     let sum = untyped::library_function("sum").expect("a row of the table");
///     let axis = LibraryArg::Known(Arg::Int(0));
///     let made = untyped::library(sum, vec![("x", LibraryArg::Array(x[0])), ("axis", axis)])?;
///     Ok(vec![("y".to_owned(), made[0])])
/// })?;
/// assert_eq!(program.to_string(), "def main(x: [2, 3]f64) = {y = sum_outer(x)}\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn library(
    function: &'static LibraryFunction,
    args: Vec<(&'static str, LibraryArg)>,
) -> Result<Vec<AnyArr>> {
    let args = args.into_iter().map(|(name, arg)| {
        let arg = match arg {
            LibraryArg::Array(x) => In::Array(x.raw),
            LibraryArg::Arrays(xs) => In::Arrays(raws_of(&xs)),
            LibraryArg::Known(arg) => In::Known(arg),
        };
        (name, arg)
    });
    let made = call_all(function.name, function, args.collect());
    Ok(any(made.ok_or_else(Error::recorded)?))
}

/// The results of a program at arrays.
#[track_caller]
pub fn inline(program: &Program, arguments: &[AnyArr]) -> Result<Vec<AnyArr>> {
    let program = stage::of_text(program);
    let made = emit_all("apply", &raws_of(arguments), |b, ts| b.inline(&program, ts));
    Ok(any(made.ok_or_else(Error::recorded)?))
}

/// The program of a function from arrays with the given names and types.
pub fn stage(inputs: &[(String, Type)], body: Body<'_>) -> Result<Program> {
    let staged = stage::stage(inputs, &mut |given| outputs(body(&any(given.to_vec()))?));
    Ok(staged?.1)
}

/// What a derivative gives inside the function being staged.
pub struct Derived {
    /// The types of the results of the function.
    pub results: Vec<Type>,
    /// What the derivative consists of, in the order of [`cotan_pipeline::derive`].
    pub parts: Vec<AnyArr>,
}

/// A derivative of a function by the `chosen` ones of its arguments, inside the function being
/// staged; `directions` are the cotangents or tangents that it takes.
pub fn derivative(
    name: &'static str,
    derivative: Derivative,
    args: &[Named],
    chosen: &[usize],
    directions: &[AnyArr],
    body: Body<'_>,
) -> Result<Derived> {
    derived((name, derivative, None), args, chosen, directions, body)
}

/// As [`derivative`], by series: the parts are the results and their coefficients along the
/// directions ([`Taylor::Jet`]), or a Laplacian for each result, without directions.
pub fn series(
    name: &'static str,
    taylor: Taylor,
    args: &[Named],
    chosen: &[usize],
    directions: &[AnyArr],
    body: Body<'_>,
) -> Result<Derived> {
    // What takes the same directions and asks for the same results.
    let like = match taylor {
        Taylor::Jet(_) => Derivative::Jvp,
        Taylor::Laplacian => Derivative::JacFwd,
    };
    derived((name, like, Some(taylor)), args, chosen, directions, body)
}

fn derived(
    which: (&'static str, Derivative, Option<Taylor>),
    args: &[Named],
    chosen: &[usize],
    directions: &[AnyArr],
    body: Body<'_>,
) -> Result<Derived> {
    let tree = tree_of(args);
    let leaves: Vec<Raw> = args.iter().map(|(_, x)| x.raw).collect();
    let point = tree_of(&chosen.iter().filter_map(|&k| args.get(k).cloned()).collect::<Vec<_>>());
    let (out, parts) = apply_untyped(
        which,
        (&tree, &leaves),
        (&point, chosen),
        &raws_of(directions),
        &mut |given| outputs(body(&any(given.to_vec()))?),
    )?;
    let results = out.leaves("").into_iter().map(|(_, ty)| ty).collect();
    Ok(Derived { results, parts: any(parts) })
}

/// Programs for a function at a point and its derivative there.
pub struct Split {
    /// The inputs to the outputs, then what the other program needs of them.
    pub primal: Program,
    /// What the first program gave it, then directions, to the derivative in these directions.
    pub linear: Program,
}

/// A program as two, of which the second can be run many times: the program at a point, and the
/// tangents of its results for tangents of all inputs; or, `transposed`, the cotangents of the inputs
/// for those of the results that are floats.
///
/// ```
/// # use cotan::untyped;
/// # use cotan_array::{Dtype, Shape};
/// # use cotan_ir::{Type, scalar::Op};
/// let inputs = [("x".to_owned(), Type::new(Dtype::F64, Shape::scalar()))];
/// let program = untyped::stage(&inputs, &mut |x| {
///     Ok(vec![("y".to_owned(), untyped::elementwise(Op::Sin, &[x[0]]))])
/// })?;
/// let split = untyped::linearized(&program, true)?;
/// assert!(split.primal.to_string().contains("cos") && !split.linear.to_string().contains("cos"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn linearized(program: &Program, transposed: bool) -> Result<Split> {
    let wrt: Vec<usize> = (0..program.inputs().len()).collect();
    let parts = if transposed {
        let vjp = cotan_pipeline::derive(program, Derivative::Vjp, Some(&wrt))?;
        cotan_ad::split_vjp(program, &vjp)?
    } else {
        let bulk = Pipeline::new(&[Pass::BULK]).run(program)?;
        cotan_ad::linearize(&bulk, Some(&wrt))?
    };
    let parts = parts.without_views(program.outputs().len())?;
    Ok(Split { primal: parts.primal, linear: parts.linear })
}

fn raws_of(arrays: &[AnyArr]) -> Vec<Raw> {
    arrays.iter().map(|x| x.raw).collect()
}

fn any(raws: Vec<Raw>) -> Vec<AnyArr> {
    raws.into_iter().map(AnyArr::of).collect()
}

fn tree_of(named: &[Named]) -> Tree {
    Tree::Node(named.iter().map(|(name, x)| (name.clone(), x.tree())).collect())
}

fn outputs(named: Vec<Named>) -> Result<(Tree, Vec<Raw>)> {
    let tree = tree_of(&named);
    Ok((tree, named.into_iter().map(|(_, x)| x.raw).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prepared;

    fn vector(n: usize) -> Type {
        Type::new(Dtype::F64, Shape::new("test", &[n]).unwrap())
    }

    /// What a matrix product leaves for its derivative are its factors, not their repetitions.
    #[test]
    fn what_is_kept_has_no_repeated_elements() {
        let matrix = Type::new(Dtype::F64, Shape::new("test", &[5, 5]).unwrap());
        let program = stage(&[("x".to_owned(), matrix)], &mut |x| {
            let x = x[0].typed::<f64>().unwrap();
            Ok(vec![("y".to_owned(), x.matmul(x).matmul(x).into())])
        })
        .unwrap();
        for transposed in [false, true] {
            let split = linearized(&program, transposed).unwrap();
            let kept = &split.primal.outputs()[1..];
            assert!(!kept.is_empty(), "{}", split.primal);
            for output in kept {
                assert!(split.primal.shape(output.term).numel() <= 25, "{}", split.primal);
            }
        }
    }

    #[test]
    fn derivatives_name_their_arguments_and_errors_can_be_taken_back() {
        let inputs = [("a".to_owned(), vector(2)), ("b".to_owned(), vector(2))];
        let program = stage(&inputs, &mut |x| {
            let wrong = elementwise(Op::And, x);
            assert!(take_error().is_some_and(|error| error.op() == "logical_and"));
            assert!(wrong.ty().is_none() && take_error().is_none());
            let args = [("a".to_owned(), x[0]), ("b".to_owned(), x[1])];
            let derived = derivative("grad", Derivative::Grad, &args, &[1], &[], &mut |x| {
                let product = elementwise(Op::Mul, x).typed::<f64>().unwrap();
                Ok(vec![("y".to_owned(), product.sum().into())])
            })?;
            assert_eq!(derived.results.len(), 1);
            Ok(vec![("g".to_owned(), derived.parts[0])])
        })
        .unwrap();
        let arrays = [vec![1.0, 2.0], vec![3.0, 4.0]]
            .map(|x| Array::from_vec(Shape::new("test", &[2]).unwrap(), x).unwrap());
        let results = Prepared::new(&program).unwrap().call(&arrays).unwrap();
        assert_eq!(results[0].to_vec::<f64>().unwrap(), [1.0, 2.0]);
    }
}
