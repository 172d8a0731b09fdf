//! Functions that are compiled when they are called, for each shape once.

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use crate::compile::{Compiled, RunOptions};
use crate::error::Result;
use crate::function::{Function, HasArg};
use crate::structure::{Arrays, Feed, Shapes, Tree, recovered};

/// How many programs a function keeps unless told otherwise.
const DEFAULT_CAPACITY: usize = 16;

/// A function that is compiled when it is called, once for each structure and shape of arguments.
///
/// ```
/// use cotan::prelude::*;
///
/// let mean = jit(|x: Arr<f64>| x.sum() / x.size() as f64);
/// assert_eq!(mean.call([1.0, 2.0, 6.0])?, 3.0);
/// assert_eq!(mean.call([[1.0, 3.0], [5.0, 7.0]])?, 4.0);
/// assert_eq!(mean.call([2.0, 2.0, 2.0])?, 2.0);
/// let info = mean.cache();
/// assert_eq!((info.hits, info.misses, info.entries.len()), (1, 2, 2));
/// # Ok::<(), cotan::Error>(())
/// ```
pub struct Jit<F: Function<M>, M> {
    pub(crate) f: F,
    cache: Mutex<Programs<F::Args, F::Out>>,
    marker: PhantomData<fn(M)>,
}

/// The programs that a [`Jit`] holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CacheInfo {
    /// What it was compiled for, the last used first.
    pub entries: Vec<Tree>,
    /// Calls that found a program.
    pub hits: u64,
    /// Calls that had to compile.
    pub misses: u64,
    /// Programs that were dropped for newer ones.
    pub evictions: u64,
    /// How many programs it keeps.
    pub capacity: usize,
}

/// The programs of a function.
type Programs<A, R> = Cache<Arc<Compiled<A, R>>>;

/// Programs by the arguments they are for, the last used first.
struct Cache<C> {
    entries: VecDeque<(Tree, C)>,
    hits: u64,
    misses: u64,
    evictions: u64,
    capacity: usize,
}

impl<C: Clone> Cache<C> {
    fn find(&mut self, args: &Tree) -> Option<C> {
        let at = self.entries.iter().position(|(tree, _)| tree == args)?;
        self.hits += 1;
        let entry = self.entries.remove(at)?;
        let found = entry.1.clone();
        self.entries.push_front(entry);
        Some(found)
    }

    fn insert(&mut self, args: Tree, compiled: C) {
        self.misses += 1;
        // Two threads may have compiled the same at once.
        self.entries.retain(|(tree, _)| *tree != args);
        self.entries.push_front((args, compiled));
        while self.entries.len() > self.capacity {
            self.entries.pop_back();
            self.evictions += 1;
        }
    }
}

/// A function that is compiled when it is called, for each shape once. See [`Jit`].
pub fn jit<F: Function<M>, M>(f: F) -> Jit<F, M> {
    let cache = Cache {
        entries: VecDeque::new(),
        hits: 0,
        misses: 0,
        evictions: 0,
        capacity: DEFAULT_CAPACITY,
    };
    Jit { f, cache: Mutex::new(cache), marker: PhantomData }
}

impl<F: Function<M>, M> Jit<F, M> {
    /// Keeps at most so many programs (16 by default); with 0 each call compiles.
    pub fn with_capacity(self, capacity: usize) -> Self {
        self.locked().capacity = capacity;
        self
    }

    /// The function itself.
    pub(crate) fn into_function(self) -> F {
        self.f
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Programs<F::Args, F::Out>> {
        // Nothing in the cache is ever half done.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program for arguments of these shapes. It is not kept.
    #[track_caller]
    pub fn compile(&self, shapes: impl Shapes<F::Args>) -> Result<Compiled<F::Args, F::Out>> {
        let location = std::panic::Location::caller();
        let compiled = shapes.tree().and_then(|tree| Compiled::new(&self.f, tree));
        compiled.map_err(|error| error.at(location))
    }

    /// As [`compile`](Jit::compile), until the deadline of the options, or until somebody cancels.
    #[track_caller]
    pub fn compile_with(
        &self,
        options: &RunOptions,
        shapes: impl Shapes<F::Args>,
    ) -> Result<Compiled<F::Args, F::Out>> {
        let location = std::panic::Location::caller();
        let compile = || shapes.tree().and_then(|tree| Compiled::new(&self.f, tree));
        cotan_ir::within(options.watch(), compile).map_err(|error| error.at(location))
    }

    /// The program for arguments like these. It is kept, and found by later calls.
    #[track_caller]
    pub fn compile_like(&self, args: impl Feed<F::Args>) -> Result<Arc<Compiled<F::Args, F::Out>>> {
        let location = std::panic::Location::caller();
        self.compiled(args.feed().tree).map_err(|error| error.at(location))
    }

    fn compiled(&self, args: Tree) -> Result<Arc<Compiled<F::Args, F::Out>>> {
        if let Some(found) = self.locked().find(&args) {
            return Ok(found);
        }
        // Not while locked: staging runs the function, which may call this one again.
        let compiled = Arc::new(Compiled::new(&self.f, args.clone())?);
        self.locked().insert(args, compiled.clone());
        Ok(compiled)
    }

    /// The results at arguments, compiling first if they are of new shapes.
    #[track_caller]
    pub fn call(&self, args: impl Feed<F::Args>) -> Result<<F::Out as Arrays>::Concrete> {
        let location = std::panic::Location::caller();
        let fed = args.feed();
        let compiled = self.compiled(fed.tree.clone()).map_err(|error| error.at(location))?;
        compiled.call_fed(&RunOptions::default(), fed).map_err(|error| error.at(location))
    }

    /// As [`call`](Jit::call), with a deadline, a cancel token or a limit on memory. Deadline and
    /// token hold for compiling, too.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    ///
    /// use cotan::{ErrorKind, RunOptions, prelude::*};
    ///
    /// let squares = jit(|x: Arr<f64>| (x * x).sum());
    /// let now = Instant::now();
    /// let soon = RunOptions { deadline: Some(now + Duration::from_secs(60)), ..RunOptions::default() };
    /// assert_eq!(squares.call_with(&soon, [3.0, 4.0])?, 25.0);
    /// let past = RunOptions { deadline: Some(now), ..RunOptions::default() };
    /// let error = squares.call_with(&past, [3.0, 4.0, 5.0]).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Stopped);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn call_with(
        &self,
        options: &RunOptions,
        args: impl Feed<F::Args>,
    ) -> Result<<F::Out as Arrays>::Concrete> {
        let location = std::panic::Location::caller();
        let fed = args.feed();
        let compiled = cotan_ir::within(options.watch(), || self.compiled(fed.tree.clone()));
        let compiled = compiled.map_err(|error| error.at(location))?;
        compiled.call_fed(options, fed).map_err(|error| error.at(location))
    }

    /// The function at arguments inside another function that is staged or run eagerly.
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// // The second derivative as the gradient of a gradient, written out.
    /// let cube = |x: Arr<f64>| x * x * x;
    /// let second = grad(move |x: Arr<f64>| grad(cube).at(x));
    /// assert_eq!(second.call(2.0)?, 12.0);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[track_caller]
    pub fn at(&self, args: F::Args) -> F::Out {
        recovered(self.f.apply(args))
    }

    /// The programs it holds.
    pub fn cache(&self) -> CacheInfo {
        let cache = self.locked();
        CacheInfo {
            entries: cache.entries.iter().map(|(tree, _)| tree.clone()).collect(),
            hits: cache.hits,
            misses: cache.misses,
            evictions: cache.evictions,
            capacity: cache.capacity,
        }
    }

    /// Forgets all programs.
    pub fn clear_cache(&self) {
        self.locked().entries.clear();
    }
}

impl<F: Function<M>, M> fmt::Debug for Jit<F, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Jit({:?})", self.cache())
    }
}

/// Marks what is made of functions, with the marker that says the arguments.
#[derive(Clone, Copy, Debug)]
pub struct Via<M>(PhantomData<M>);

#[diagnostic::do_not_recommend]
impl<M: HasArg<N>, const N: usize> HasArg<N> for Via<M> {
    type Arg = M::Arg;
}

#[diagnostic::do_not_recommend]
impl<F: Function<M>, M> Function<Via<M>> for Jit<F, M> {
    type Args = F::Args;
    type Out = F::Out;
    const SEVERAL: bool = F::SEVERAL;

    fn apply(&self, args: F::Args) -> Result<F::Out> {
        self.f.apply(args)
    }
}
