//! Linearisation: a function at a point, and its derivative there as a linear function, which can be
//! applied to many tangents without computing the function again.

use std::marker::PhantomData;

use cotan_array::Array;
use cotan_ir::{Param, Program};
use cotan_pipeline::{Pass, Pipeline};

use crate::backend::{Runner, run_program};
use crate::compile::{Compiled, RunOptions};
use crate::derive::program_at;
use crate::error::{Error, Result};
use crate::function::Function;
use crate::stage::{self, Raw, emit_all};
use crate::structure::{Arrays, Feed, Leaves, Tree, raws, recovered};

/// What [`linearize`] gives: a function to be linearised at arguments.
pub struct Linearizer<F, M> {
    f: F,
    marker: PhantomData<fn(M)>,
}

impl<F, M> std::fmt::Debug for Linearizer<F, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Linearizer")
    }
}

/// The derivative at a point, as a function of tangents of all arguments.
#[derive(Clone)]
pub struct Linear<A, R> {
    program: Program,
    runner: Runner,
    residuals: Vec<Array>,
    args: Tree,
    out: Tree,
    types: PhantomData<fn(A) -> R>,
}

impl<A, R> std::fmt::Debug for Linear<A, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Linear({} -> {})", self.args, self.out)
    }
}

/// The derivative at a point inside a function that is being staged.
#[derive(Clone)]
pub struct Linearized<A, R> {
    /// None after an error.
    program: Option<Program>,
    residuals: Vec<Raw>,
    args: Tree,
    out: Tree,
    types: PhantomData<fn(A) -> R>,
}

impl<A, R> std::fmt::Debug for Linearized<A, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Linearized({} -> {})", self.args, self.out)
    }
}

/// The function at a point and its derivative there: `call` gives the value and a [`Linear`] function
/// from tangents of the arguments (a tuple of several) to tangents of the result; inside another
/// function, `at` does.
///
/// ```
/// use cotan::prelude::*;
///
/// let (y, push) = linearize(|x: Arr<f64>| x * x).call([1.0, 2.0])?;
/// assert_eq!(y.to_vec(), [1.0, 4.0]);
/// assert_eq!(push.call([1.0, 0.0])?.to_vec(), [2.0, 0.0]);
/// assert_eq!(push.call([1.0, 10.0])?.to_vec(), [2.0, 40.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn linearize<F: Function<M>, M>(f: F) -> Linearizer<F, M> {
    Linearizer { f, marker: PhantomData }
}

/// The program at a point, and the linear one, by the first inputs.
fn split(program: &Program, inputs: usize) -> Result<cotan_ad::Linearized> {
    let bulk = Pipeline::new(&[Pass::BULK]).run(program)?;
    let wrt: Vec<usize> = (0..inputs).collect();
    Ok(cotan_ad::linearize(&bulk, Some(&wrt))?.without_views(program.outputs().len())?)
}

/// Checks that all leaves are floats.
fn expect_floats(what: &str, tree: &Tree) -> Result<()> {
    match tree.leaves("").iter().find(|(_, ty)| !ty.dtype.is_float()) {
        None => Ok(()),
        Some((path, ty)) => {
            let part = if path.is_empty() { String::new() } else { format!(" `{path}`") };
            let message = format!("the {what}{part} is {ty}");
            let hint = "only f64 and f32 have derivatives: capture it, or convert it";
            Err(Error::type_error("linearize", message).with_hint(hint))
        }
    }
}

/// Checks that tangents are like the arguments.
fn expect_tangents(args: &Tree, given: &Tree) -> Result<()> {
    match args.difference(given, "") {
        None => Ok(()),
        Some((_, wanted, found)) => {
            let message = format!("a tangent {found} for an argument that is {wanted}");
            Err(Error::type_error("linearize", message))
        }
    }
}

impl<F: Function<M>, M> Linearizer<F, M> {
    /// The value at concrete arguments, and the linear function.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let (y, push) = linearize(|x: Arr<f64>, y: Arr<f64>| x * y).call((3.0, 4.0))?;
    /// assert_eq!(y, 12.0);
    /// assert_eq!(push.call((1.0, 10.0))?, 34.0);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    #[allow(clippy::type_complexity, reason = "a pair of the value and the linear function")]
    pub fn call(
        &self,
        args: impl Feed<F::Args>,
    ) -> Result<(<F::Out as Arrays>::Concrete, Linear<F::Args, F::Out>)> {
        let location = std::panic::Location::caller();
        let fed = args.feed();
        let run = || {
            expect_floats("argument", &fed.tree)?;
            let compiled = Compiled::<F::Args, F::Out>::new(&self.f, fed.tree.clone())?;
            let out = compiled.out().clone();
            expect_floats("result", &out)?;
            let parts = split(compiled.source(), fed.arrays.len())?;
            let mut values = run_program(&parts.primal, &RunOptions::default(), &fed.arrays)?;
            let residuals = values.split_off(out.leaf_count().min(values.len()));
            let value =
                <F::Out as Arrays>::Concrete::unflatten(&out, &mut Leaves::concrete(values))?;
            let (program, runner) = Runner::compile(&parts.linear, cotan_opt::Options::default())?;
            let args = fed.tree.clone();
            Ok((value, Linear { program, runner, residuals, args, out, types: PhantomData }))
        };
        run().map_err(|error: Error| error.at(location))
    }

    /// The value at arguments inside another function, and the linear function there.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// // Two directional derivatives with one evaluation of the function.
    /// let f = jit(|x: Arr<f64>| {
    ///     let (_, push) = linearize(|x: Arr<f64>| x.sin()).at(x);
    ///     (push.at(constant(1.0)), push.at(x))
    /// });
    /// let (a, b) = f.call(0.0)?;
    /// assert_eq!((a.item(), b.item()), (Some(1.0), Some(0.0)));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn at(&self, args: F::Args) -> (F::Out, Linearized<F::Args, F::Out>) {
        stage::operation("linearize", || match self.staged(&args) {
            Ok(pair) => pair,
            Err(error) => {
                stage::fail(error);
                let (args, out) = (Tree::numbered([]), Tree::numbered([]));
                let (residuals, types) = (Vec::new(), PhantomData);
                (F::Out::nothing(), Linearized { program: None, residuals, args, out, types })
            }
        })
    }

    #[allow(clippy::type_complexity, reason = "a pair of the value and the linear function")]
    fn staged(&self, args: &F::Args) -> Result<(F::Out, Linearized<F::Args, F::Out>)> {
        let tree = args.tree();
        expect_floats("argument", &tree)?;
        let params: Vec<Param> =
            tree.leaves("").into_iter().map(|(_, ty)| Param::Value(ty)).collect();
        let at = raws(args);
        let (out, program, captures) = program_at("linearize", &at, &params, &mut |vars| {
            let args = F::Args::unflatten(&tree, &mut Leaves::staged(vars.to_vec()))?;
            let value = stage::user_code(|| self.f.apply(args))?;
            Ok((value.tree(), raws(&value)))
        })?;
        expect_floats("result", &out)?;

        let parts = split(&program, at.len())?;
        let operands: Vec<Raw> = at.into_iter().chain(captures).collect();
        let made = emit_all("linearize", &operands, |b, ts| b.inline(&parts.primal, ts));
        let mut values = made.ok_or_else(Error::recorded)?;
        let residuals = values.split_off(out.leaf_count().min(values.len()));
        let value = F::Out::unflatten(&out, &mut Leaves::staged(values))?;
        let (args, types) = (tree, PhantomData);
        Ok((value, Linearized { program: Some(parts.linear), residuals, args, out, types }))
    }
}

impl<A: Arrays, R: Arrays> Linear<A, R> {
    /// The tangent of the result for tangents of the arguments. See [`linearize`].
    #[track_caller]
    pub fn call(&self, tangents: impl Feed<A>) -> Result<R::Concrete> {
        let location = std::panic::Location::caller();
        let fed = tangents.feed();
        expect_tangents(&self.args, &fed.tree).map_err(|error| error.at(location))?;
        let inputs: Vec<Array> = self.residuals.iter().chain(&fed.arrays).cloned().collect();
        let mut values = Vec::new();
        self.runner.run(&self.program, &RunOptions::default(), &inputs, &mut values)?;
        R::Concrete::unflatten(&self.out, &mut Leaves::concrete(values))
    }

    /// The linear program: residuals, then tangents, to the tangent of the result.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let (_, push) = linearize(|x: Arr<f64>| x.sin()).call(0.0)?;
    /// // The cosine was computed once and for all.
    /// assert!(!push.program().to_string().contains("cos"));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn program(&self) -> &Program {
        &self.program
    }
}

impl<A: Arrays, R: Arrays> Linearized<A, R> {
    /// The tangent of the result for tangents of the arguments. See [`Linearizer::at`].
    #[track_caller]
    pub fn at(&self, tangents: A) -> R {
        stage::operation("linearize", || {
            let Some(program) = self.program.as_ref().filter(|_| !stage::failed()) else {
                return R::nothing();
            };
            recovered(expect_tangents(&self.args, &tangents.tree()).and_then(|()| {
                let operands: Vec<Raw> =
                    self.residuals.iter().copied().chain(raws(&tangents)).collect();
                let made = emit_all("linearize", &operands, |b, ts| b.inline(program, ts));
                R::unflatten(&self.out, &mut Leaves::staged(made.ok_or_else(Error::recorded)?))
            }))
        })
    }
}
