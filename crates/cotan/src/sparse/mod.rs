//! Sparse Jacobians and Hessians of functions.

mod matrix;

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use cotan_array::{Array, Dtype};
use cotan_sparse::{Kind, Mode, Pattern, Plan, SparseDerivative};

use crate::compile::{RunOptions, staged};
use crate::error::{Error, Result};
use crate::function::{Arg, Choice, Function};
use crate::prepared::Prepared;
use crate::structure::{Arrays, Fed, Feed, Leaves, Tree};
pub use matrix::SparseMatrix;

/// A sparse Jacobian or Hessian of a function: what [`sparse_jacobian`] and [`sparse_hessian`] give.
///
/// At the first call, pattern, colours and program are made for the shapes of the arguments. Later
/// calls only run the program, as long as shapes and what decides the pattern stay the same: index
/// arrays, as a rule. Where positions depend on the arguments that are differentiated by (an argmax, a
/// sort), the pattern is looked up in each call.
pub struct Sparse<F, M, W = Arg<0>> {
    f: F,
    kind: Kind,
    last: Mutex<Option<Arc<Made>>>,
    types: PhantomData<fn(M, W)>,
}

/// A plan for arguments of some shapes.
struct Made {
    args: Tree,
    out: Tree,
    plan: Plan,
    pattern: Arc<Pattern>,
    prepared: Prepared,
}

/// What a sparse derivative computes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SparseExplanation {
    /// Where the matrix has entries.
    pub pattern: Arc<Pattern>,
    /// The number of products with the Jacobian or the Hessian.
    pub colors: usize,
    /// How the products are computed.
    pub mode: Mode,
    /// The arguments whose values decide the pattern, numbered by their arrays.
    pub decided_by: Vec<usize>,
}

impl fmt::Display for SparseExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.mode {
            Mode::Forward => "in forward mode, for columns that share no row",
            Mode::Reverse => "in reverse mode, for rows that share no column",
            Mode::Symmetric => "with the Hessian, for columns of a star colouring",
        };
        write!(f, "{}; {} products {mode}", self.pattern, self.colors)?;
        if !self.decided_by.is_empty() {
            write!(f, "; the pattern depends on the values of the arrays {:?}", self.decided_by)?;
        }
        Ok(())
    }
}

/// The Jacobian of a function by its first argument (see [`Sparse::wrt`]), as a sparse matrix.
///
/// Which element of the result depends on which element of the argument follows from the indices of the
/// program; columns that share no row are computed together. Rows number the elements of the results,
/// columns those of the argument, one array after the other.
///
/// ```
/// use cotan::prelude::*;
///
/// // Differences of neighbours: two entries a row, two products for any number of them.
/// let f = |x: Arr<f64>| build(x.len() - 1, |i| x.at(i + 1) * x.at(i + 1) - x.at(i));
/// let jacobian = sparse_jacobian(f);
/// let j = jacobian.call([1.0, 2.0, 3.0, 4.0])?;
/// assert_eq!(j.shape(), [3, 4]);
/// assert_eq!(j.values(), [-1.0, 4.0, -1.0, 6.0, -1.0, 8.0]);
/// assert_eq!(j.columns(), [0, 1, 1, 2, 2, 3]);
/// assert_eq!(jacobian.explain([1.0, 2.0, 3.0, 4.0])?.colors, 2);
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn sparse_jacobian<F, M>(f: F) -> Sparse<F, M>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>, // say the types of arguments: |x: Arr<f64>|
{
    Sparse::new(f, Kind::Jacobian)
}

/// The Hessian of a function to a float scalar by its first argument (see [`Sparse::wrt`]), as a sparse
/// matrix.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = |x: Arr<f64>| build(x.len() - 1, |i| x.at(i) * x.at(i) * x.at(i + 1)).sum();
/// let h = sparse_hessian(f).call([1.0, 2.0, 3.0])?;
/// assert_eq!(h.to_dense()?, hessian(f).call([1.0, 2.0, 3.0])?);
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn sparse_hessian<F, M>(f: F) -> Sparse<F, M>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>, // say the types of arguments: |x: Arr<f64>|
{
    Sparse::new(f, Kind::Hessian)
}

impl<F, M, W> Sparse<F, M, W> {
    fn new(f: F, kind: Kind) -> Sparse<F, M, W> {
        Sparse { f, kind, last: Mutex::new(None), types: PhantomData }
    }
}

impl<F, M, W> Sparse<F, M, W>
where
    F: Function<M>,
    W: Choice<F, M>,
{
    /// The same derivative by other arguments than the first: `Arg::<1>`, a tuple of several, or
    /// [`AllArgs`](crate::AllArgs).
    pub fn wrt<V: Choice<F, M>>(self, _choice: V) -> Sparse<F, M, V> {
        Sparse::new(self.f, self.kind)
    }

    /// The matrix at arguments.
    #[track_caller]
    pub fn call(&self, args: impl Feed<F::Args>) -> Result<SparseMatrix> {
        let location = std::panic::Location::caller();
        let made = self.run(&RunOptions::default(), args.feed());
        made.map(|(_, _, matrix)| matrix).map_err(|error| error.at(location))
    }

    /// The matrix at arguments, with a deadline, a cancel token or a limit on memory.
    #[track_caller]
    pub fn call_with(
        &self,
        options: &RunOptions,
        args: impl Feed<F::Args>,
    ) -> Result<SparseMatrix> {
        let location = std::panic::Location::caller();
        let made = cotan_ir::within(options.watch(), || self.run(options, args.feed()));
        made.map(|(_, _, matrix)| matrix).map_err(|error| error.at(location))
    }

    /// The value of the function and its Jacobian. (A Hessian has no value beside it.)
    #[track_caller]
    pub fn value_and_call(
        &self,
        args: impl Feed<F::Args>,
    ) -> Result<(<F::Out as Arrays>::Concrete, SparseMatrix)> {
        let location = std::panic::Location::caller();
        let made = self.run(&RunOptions::default(), args.feed()).and_then(|(out, values, j)| {
            if self.kind == Kind::Hessian {
                let message = "only a Jacobian comes with the value of the function";
                let hint = "call the function itself, or take `value_and_grad`";
                return Err(Error::type_error("sparse_hessian", message).with_hint(hint));
            }
            let value =
                <F::Out as Arrays>::Concrete::unflatten(&out, &mut Leaves::concrete(values))?;
            Ok((value, j))
        });
        made.map_err(|error| error.at(location))
    }

    /// The pattern and how the matrix is computed, for arguments like these.
    #[track_caller]
    pub fn explain(&self, args: impl Feed<F::Args>) -> Result<SparseExplanation> {
        let location = std::panic::Location::caller();
        let made = self.made(args.feed().tree_and_arrays()).map_err(|error| error.at(location))?;
        Ok(SparseExplanation {
            pattern: made.pattern.clone(),
            colors: made.plan.colors,
            mode: made.plan.mode,
            decided_by: made.plan.decided_by().collect(),
        })
    }

    fn run(&self, options: &RunOptions, fed: Fed) -> Result<(Tree, Vec<Array>, SparseMatrix)> {
        let made = self.made(fed.tree_and_arrays())?;
        let mut inputs = fed.arrays;
        inputs.extend(made.plan.extra.iter().cloned());
        let mut outputs = Vec::new();
        made.prepared.call_into(options, &inputs, &mut outputs)?;
        let (values, entries) = made.plan.assemble(outputs)?;
        let entries = match entries.dtype() {
            Dtype::F32 => entries.to_vec::<f32>()?.into_iter().map(f64::from).collect(),
            _ => entries.into_vec::<f64>()?,
        };
        Ok((made.out.clone(), values, SparseMatrix::new(made.pattern.clone(), entries)))
    }

    /// The plan for arguments: the last one, if it serves.
    fn made(&self, (tree, arrays): (&Tree, &[Array])) -> Result<Arc<Made>> {
        let lock = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let last = lock().clone();
        if let Some(last) = last.filter(|last| last.args == *tree && last.plan.holds_at(arrays)) {
            return Ok(last);
        }
        let (out, source) = staged(&self.f, tree)?;
        let (_, chosen) = W::of(tree);
        let derivative = SparseDerivative::new(&source, self.kind, Some(&chosen))?;
        let plan = derivative.plan(arrays)?;
        let prepared = Prepared::new(&plan.program)?;
        let pattern = Arc::new(plan.pattern.clone());
        let made = Arc::new(Made { args: tree.clone(), out, plan, pattern, prepared });
        *lock() = Some(made.clone());
        Ok(made)
    }
}

impl<F, M, W> fmt::Debug for Sparse<F, M, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sparse {:?} of {}", self.kind, std::any::type_name::<F>())
    }
}
