//! Functions made into programs, once, to be called many times.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use cotan_array::Array;
use cotan_ir::{CancelToken, Program, Watch};
use cotan_pipeline::{Pass, Pipeline};

use crate::backend::{Backend, Runner};
use crate::error::{Error, Result};
use crate::function::Function;
use crate::stage;
use crate::structure::{Arrays, Fed, Feed, Leaves, Shapes, Tree, raws};

/// Makes a program of a function for arguments of the given shapes.
///
/// ```
/// use cotan::prelude::*;
///
/// let dot = compile(|a: Arr<f64>, b: Arr<f64>| (a * b).sum(), ([3], [3]))?;
/// assert_eq!(dot.call(([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]))?, 32.0);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn compile<F, M>(f: F, shapes: impl Shapes<F::Args>) -> Result<Compiled<F::Args, F::Out>>
where
    F: Function<M>,
{
    let location = std::panic::Location::caller();
    shapes.tree().and_then(|tree| Compiled::new(&f, tree)).map_err(|error| error.at(location))
}

/// Makes a program of a function for arguments like the given ones.
///
/// ```
/// use cotan::prelude::*;
///
/// let (w, x) = (Tensor::from([0.5, 1.5]), Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
/// let f = compile_like(|w: Arr<f64>, x: Arr<f64>| (x * w).sum_axis(1), (&w, &x))?;
/// assert_eq!(f.call((&w, &x))?.to_vec(), [3.5, 7.5]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn compile_like<F, M>(f: F, args: impl Feed<F::Args>) -> Result<Compiled<F::Args, F::Out>>
where
    F: Function<M>,
{
    let location = std::panic::Location::caller();
    Compiled::new(&f, args.feed().tree).map_err(|error| error.at(location))
}

/// A program with the structures of its arguments and results: compiled once, called many times,
/// from any number of threads.
pub struct Compiled<A, R> {
    source: Arc<Program>,
    /// The same as the source, if that has no element-level code.
    program: Arc<Program>,
    optimised: Arc<Program>,
    args: Tree,
    out: Tree,
    several: bool,
    cost: Cost,
    runner: Runner,
    types: PhantomData<fn(A) -> R>,
}

/// What one call of a compiled function costs, counted from its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// Scalar operations, if every branch is taken.
    pub operations: u64,
    /// Bytes of all the arrays made.
    pub bytes: u64,
    /// Bytes of arrays alive at once, at most: arguments, results and what is in between.
    pub peak_bytes: u64,
}

impl Cost {
    pub(crate) fn of(program: &Program, runner: &Runner) -> Cost {
        let cotan_pipeline::Cost { operations, bytes, .. } = cotan_pipeline::Cost::of(program);
        Cost { operations, bytes, peak_bytes: runner.peak_bytes() }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cost { operations, bytes, peak_bytes } = self;
        write!(f, "{operations} operations, {bytes} bytes of arrays made, {peak_bytes} at once")
    }
}

impl<A, R> Clone for Compiled<A, R> {
    fn clone(&self) -> Self {
        Compiled {
            source: self.source.clone(),
            program: self.program.clone(),
            optimised: self.optimised.clone(),
            args: self.args.clone(),
            out: self.out.clone(),
            several: self.several,
            cost: self.cost,
            runner: self.runner.clone(),
            types: PhantomData,
        }
    }
}

impl<A, R> fmt::Debug for Compiled<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compiled({} -> {})", self.args, self.out)
    }
}

/// Which rules a program is optimised by before it runs; all of them by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileOptions {
    /// Identities of operations, choices that are known, constants.
    pub algebra: bool,
    /// Views and reads of views.
    pub views: bool,
    /// Scatters that are views, masked reads or sums of reads.
    pub scatters: bool,
    /// Factors that are joined or taken out of products and sums; these may change how results are
    /// rounded.
    pub factors: bool,
    /// Sums; these may change the order in which they are rounded.
    pub sums: bool,
    /// What loops need not compute.
    pub loops: bool,
    /// Loops store what others would have to compute again, if that is dear: reverse passes then take
    /// less time and more memory, which [`Compiled::cost`] tells.
    pub store: bool,
}

impl Default for CompileOptions {
    fn default() -> CompileOptions {
        CompileOptions {
            algebra: true,
            views: true,
            scatters: true,
            factors: true,
            sums: true,
            loops: true,
            store: true,
        }
    }
}

impl CompileOptions {
    /// No rules.
    pub fn none() -> CompileOptions {
        CompileOptions {
            algebra: false,
            views: false,
            scatters: false,
            factors: false,
            sums: false,
            loops: false,
            store: false,
        }
    }
}

/// How to run a compiled function.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// When to give up. A call that is running then comes back within 50 milliseconds on a machine
    /// that has time for it, with an error of the kind [`ErrorKind::Stopped`](crate::ErrorKind::Stopped); the function can be
    /// called again.
    pub deadline: Option<Instant>,
    /// Asks for an end from another thread: as soon as at a deadline.
    pub cancel: CancelToken,
    /// The most bytes that arrays may take at once. A function whose [`Compiled::cost`] predicts
    /// more is refused before it runs; the interpreter, which takes more for an element, also looks
    /// whenever it makes an array.
    pub max_bytes: Option<u64>,
    /// How many threads may work on the call; by default as many as the environment variable
    /// `COTAN_THREADS` says, or as the machine has. The results do not depend on it.
    pub threads: Option<usize>,
}

impl RunOptions {
    /// When making a program has to end.
    pub(crate) fn watch(&self) -> Watch {
        Watch { deadline: self.deadline, cancel: self.cancel.clone(), ..Watch::default() }
    }
}

impl<A: Arrays, R: Arrays> Compiled<A, R> {
    pub(crate) fn new<F, M>(f: &F, args: Tree) -> Result<Compiled<A, R>>
    where
        F: Function<M, Args = A, Out = R>,
    {
        let (out, source) = staged(f, &args)?;
        let source = Arc::new(source);
        // A long program is in memory as few times as possible.
        let program = match Pipeline::new(&[Pass::BULK]).run(&source)? {
            program if program.is_same(&source) => source.clone(),
            program => Arc::new(program),
        };
        let (optimised, runner) = Runner::compile(&program, cotan_opt::Options::default())?;
        let (cost, optimised) = (Cost::of(&optimised, &runner), Arc::new(optimised));
        let (several, types) = (F::SEVERAL, PhantomData);
        Ok(Compiled { source, program, optimised, args, out, several, cost, runner, types })
    }

    /// The same function, optimised by some rules only: to find out what one of them does.
    ///
    /// ```
    /// use cotan::{CompileOptions, prelude::*};
    ///
    /// let dot = compile(|a: Arr<f64>, b: Arr<f64>| (a * b).sum(), ([3], [3]))?;
    /// let plain = dot.recompiled(CompileOptions::none())?;
    /// assert_eq!(plain.call(([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]))?, 32.0);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn recompiled(&self, options: CompileOptions) -> Result<Compiled<A, R>> {
        let CompileOptions { algebra, views, scatters, factors, sums, loops, store } = options;
        let defaults = cotan_opt::Options::default();
        let rules = cotan_opt::Options {
            algebra,
            fold_floats: algebra,
            factors,
            views,
            scatters,
            sums,
            loops,
            recompute: if store { defaults.recompute } else { u64::MAX },
            ..defaults
        };
        let (optimised, runner) = Runner::compile(&self.program, rules)?;
        let (cost, optimised) = (Cost::of(&optimised, &runner), Arc::new(optimised));
        Ok(Compiled { optimised, cost, runner, ..self.clone() })
    }

    /// The results at arguments.
    #[track_caller]
    pub fn call(&self, args: impl Feed<A>) -> Result<R::Concrete> {
        // Nobody has its token, so that one serves all.
        static DEFAULT: LazyLock<RunOptions> = LazyLock::new(RunOptions::default);
        self.call_with(&DEFAULT, args)
    }

    /// The results at arguments, with a deadline, a cancel token or a limit on memory.
    #[track_caller]
    pub fn call_with(&self, options: &RunOptions, args: impl Feed<A>) -> Result<R::Concrete> {
        let location = std::panic::Location::caller();
        self.call_fed(options, args.feed()).map_err(|error| error.at(location))
    }

    /// The results at arguments, in the place of earlier ones: their memory is used again, unless
    /// somebody else holds it too. If the call fails, `out` has any values.
    #[track_caller]
    pub fn call_into(
        &self,
        options: &RunOptions,
        args: impl Feed<A>,
        out: &mut R::Concrete,
    ) -> Result<()> {
        let location = std::panic::Location::caller();
        let mut leaves = Vec::new();
        out.flatten(&mut leaves);
        let mut arrays: Vec<Array> =
            leaves.into_iter().filter_map(|leaf| leaf.concrete()).collect();
        // Now only `arrays` holds the memory.
        *out = R::Concrete::nothing();
        let done = self.run_fed(options, args.feed(), &mut arrays);
        if done.is_err() {
            leave(arrays);
            return done.map_err(|error| error.at(location));
        }
        *out = R::Concrete::unflatten(&self.out, &mut Leaves::concrete(arrays))?;
        Ok(())
    }

    pub(crate) fn call_fed(&self, options: &RunOptions, fed: Fed) -> Result<R::Concrete> {
        let mut arrays = Vec::new();
        self.run_fed(options, fed, &mut arrays)?;
        R::Concrete::unflatten(&self.out, &mut Leaves::concrete(arrays))
    }

    fn run_fed(&self, options: &RunOptions, fed: Fed, arrays: &mut Vec<Array>) -> Result<()> {
        self.check("call", &fed.tree)?;
        let done = self.runner.run(&self.optimised, options, &fed.arrays, arrays);
        if done.is_err() {
            leave(fed.arrays);
        }
        done
    }

    /// Checks that arguments are those it was compiled for.
    pub(crate) fn check(&self, op: &'static str, given: &Tree) -> Result<()> {
        if self.args == *given {
            return Ok(());
        }
        let root = if self.several { "the arguments" } else { "the argument" };
        let Some((path, wanted, found)) = self.args.difference(given, "") else { return Ok(()) };
        let place = match path.trim_start_matches('.') {
            "" => root.to_owned(),
            path if self.several => format!("argument {path}"),
            path => format!("`{path}` of the argument"),
        };
        let message = format!("{place}: compiled for {wanted}, called with {found}");
        let hint = "compile it again for what it is called with, or use `jit`, which does so when \
                    needed";
        Err(Error::type_error(op, message).with_hint(hint))
    }

    /// The function inside another one that is being staged or run eagerly.
    #[track_caller]
    pub fn apply(&self, args: A) -> Result<R> {
        let location = std::panic::Location::caller();
        self.check("apply", &args.tree()).map_err(|error| error.at(location))?;
        let made = stage::emit_all("apply", &raws(&args), |b, ts| b.inline(&self.source, ts));
        let made = made.ok_or_else(Error::recorded)?;
        R::unflatten(&self.out, &mut Leaves::staged(made))
    }

    /// The program as it was staged, one element at a time.
    pub fn source(&self) -> &Program {
        &self.source
    }

    /// The program in bulk operations.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The program that runs as a module of StableHLO, which XLA and other compilers for accelerators
    /// read: a function `main` of the leaves of the arguments, in order, that gives those of the
    /// results. With a sharding in the options the module says how arrays lie on many devices.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let dot = compile(|a: Arr<f64>, b: Arr<f64>| (a * b).sum(), ([3], [3]))?;
    /// let module = dot.stablehlo(&Default::default())?;
    /// assert!(module.contains("stablehlo.multiply %arg0, %arg1 : tensor<3xf64>"));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn stablehlo(&self, options: &cotan_stablehlo::Options) -> Result<String> {
        Ok(cotan_stablehlo::export(&self.optimised, options)?)
    }

    /// The program that runs as C: the texts of a source file `NAME.c` and a header `NAME.h`, without
    /// dependencies and without allocation. The function takes the leaves of the arguments and gives
    /// those of the results, in order, as the header says; see docs/c.md.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let dot = compile(|a: Arr<f64>, b: Arr<f64>| (a * b).sum(), ([3], [3]))?;
    /// let files = dot.to_c("dot")?;
    /// assert!(files.header.contains("void dot(const double *COTAN_RESTRICT"));
    /// assert!(files.source.contains("#include \"dot.h\""));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn to_c(&self, name: &str) -> Result<cotan_c::Files> {
        let plan = cotan_c::plan(&self.optimised, false).map_err(|why| {
            Error::type_error("to_c", format!("it cannot be written as C: it has {}", why.0))
        })?;
        let function = cotan_c::Function {
            name: name.to_owned(),
            program: &self.optimised,
            plan: &plan,
            in_order: false,
            doc: format!("A function of {}.", self.args),
        };
        cotan_c::emit(name, &[function])
            .map_err(|error| Error::type_error("to_c", error.to_string()))
    }

    /// The program that runs: in bulk operations, optimised.
    pub fn optimised(&self) -> &Program {
        &self.optimised
    }

    /// What runs it.
    pub fn backend(&self) -> Backend {
        self.runner.backend()
    }

    /// The kernels that run it, as loop nests; nothing if it is interpreted.
    pub fn kernels(&self) -> String {
        self.runner.executable().map_or(String::new(), |e| e.kernels(&self.optimised))
    }

    /// The arrays in memory while it runs, step by step; nothing if it is interpreted.
    pub fn memory(&self) -> String {
        self.runner.executable().map_or(String::new(), |e| e.memory(&self.optimised))
    }

    /// What the arguments are.
    pub fn args(&self) -> &Tree {
        &self.args
    }

    /// What the results are.
    pub fn out(&self) -> &Tree {
        &self.out
    }

    pub(crate) fn runner(&self) -> &Runner {
        &self.runner
    }

    /// What one call costs, counted from the program.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// Every stage, readable: the program as staged, in bulk operations, optimised, and what it costs.
    pub fn explain(&self) -> Explanation {
        Explanation {
            signature: format!("{} -> {}", self.args, self.out),
            source: self.source.to_string(),
            program: self.program.to_string(),
            optimised: self.optimised.to_string(),
            cost: self.cost(),
        }
    }
}

/// The stages of a compiled function. Displays as text.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The structures of arguments and results.
    pub signature: String,
    /// The program as it was staged.
    pub source: String,
    /// The program in bulk operations.
    pub program: String,
    /// The program that runs.
    pub optimised: String,
    /// What one call costs.
    pub cost: Cost,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}\n", self.signature)?;
        writeln!(f, "# as staged\n{}", self.source)?;
        writeln!(f, "# in bulk operations\n{}", self.program)?;
        writeln!(f, "# optimised\n{}", self.optimised)?;
        writeln!(f, "# cost of a call: {}", self.cost)
    }
}

/// A function of arguments like these as a program, with the structure of its result.
pub(crate) fn staged<F: Function<M>, M>(f: &F, args: &Tree) -> Result<(Tree, Program)> {
    stage::stage(&named_leaves(args, F::SEVERAL), &mut |given| {
        let args = F::Args::unflatten(args, &mut Leaves::staged(given.iter().copied()))?;
        let result = f.apply(args)?;
        Ok((result.tree(), raws(&result)))
    })
}

/// The leaves of arguments with the names that programs show: `x`, or `x0`, `x1` of several.
fn named_leaves(args: &Tree, several: bool) -> Vec<(String, cotan_ir::Type)> {
    match args {
        Tree::Node(parts) if several => parts
            .iter()
            .enumerate()
            .flat_map(|(n, (_, part))| part.leaves(&format!("x{n}")))
            .collect(),
        _ => args.leaves("x"),
    }
}

/// Drops the arrays of a call that was stopped, without keeping the caller.
fn leave(arrays: Vec<Array>) {
    let bytes = |array: &Array| array.shape().bytes(array.dtype());
    let bytes = arrays.iter().map(bytes).fold(0, u64::saturating_add);
    cotan_array::release::release(arrays, usize::try_from(bytes).unwrap_or(usize::MAX));
}
