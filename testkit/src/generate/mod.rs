//! Random well-typed programs.
//!
//! Programs are made backwards from the types of their results, through the typed constructors of
//! [`Builder`]. Every former and every row of the scalar table at every typing is reachable. What
//! makes them good at finding faults:
//!
//! * half of all places use a term that exists already: sharing is where faults live;
//! * each program has at most four sizes, often 0 and 1 among them, so that shapes meet;
//! * indices lie in, at and just beyond the bounds, and are made of index variables of all
//!   enclosing lambdas, captured integer arrays and arbitrary integer terms;
//! * partial operations are guarded by `cond` or `where` half of the time;
//! * formers meet in phrases (`phrases.rs`), as often as the configuration says.

mod config;
mod former;
mod index;
mod loops;
mod ops;
mod phrases;
mod pool;
mod routines;
mod segments;
mod shapes;
mod term;
mod updates;

use cotan_array::{Dtype, Shape};
use cotan_ir::{Builder, Output, Param, Program, Result, TermId, Type};

pub use config::{Config, Data, TypedOp};
pub use former::Former;

use crate::{Rng, exact};
use pool::Pool;
pub(crate) use term::{float, integer};

/// How often to try again for a program that never rounds.
const ATTEMPTS: usize = 20;

/// The number of nodes made in one go: bounds the recursion.
const PART: usize = 60;

/// A random program.
///
/// ```
/// use cotan_testkit::{Config, Rng, generate};
///
/// let program = generate(&Config::default(), &mut Rng::new(1))?;
/// assert!(!program.outputs().is_empty());
/// # Ok::<(), cotan_ir::Error>(())
/// ```
pub fn generate(config: &Config, rng: &mut Rng) -> Result<Program> {
    let mut max_nodes = config.max_nodes;
    for _ in 0..ATTEMPTS {
        let program = Generator::new(config, max_nodes, rng).program()?;
        if config.data != Data::SmallIntegers || exact::never_rounds(&program) {
            return Ok(program);
        }
        // Smaller programs multiply less.
        max_nodes -= max_nodes / 8;
    }
    Generator::new(config, 1, rng).program()
}

/// A program under construction.
struct Generator<'a> {
    b: Builder,
    rng: &'a mut Rng,
    config: &'a Config,
    /// About how many nodes to make.
    max_nodes: usize,
    /// The sizes of this program's axes.
    sizes: Vec<usize>,
    pool: Pool,
    /// The index variables in scope, innermost last, with their sizes.
    indices: Vec<(TermId, usize)>,
    /// How often the innermost open lambda runs.
    trips: usize,
}

impl<'a> Generator<'a> {
    fn new(config: &'a Config, max_nodes: usize, rng: &'a mut Rng) -> Generator<'a> {
        Generator {
            b: Builder::new(),
            sizes: shapes::size_pool(rng, config.max_size),
            rng,
            config,
            max_nodes,
            pool: Pool::default(),
            indices: Vec::new(),
            trips: 1,
        }
    }

    fn program(mut self) -> Result<Program> {
        let count = 1 + self.rng.below(self.config.max_outputs);
        let named = self.rng.chance(25);
        let mut outputs = Vec::with_capacity(count);
        let mut types = Vec::with_capacity(count);
        for _ in 0..count {
            types.push(self.any_type(self.config.max_rank.min(2))?);
        }
        // A large program is made in parts of a few types, so that later ones use earlier ones.
        for _ in 0..self.max_nodes {
            if self.b.len() + PART > self.max_nodes {
                break;
            }
            let ty = self.rng.pick(&types).clone();
            self.fresh(&ty, PART)?;
        }
        for (n, ty) in types.iter().enumerate() {
            let term = self.fresh(ty, (self.max_nodes / count).min(PART))?;
            outputs
                .push(Output { name: if named { format!("y{n}") } else { String::new() }, term });
        }
        self.b.finish(outputs)
    }

    /// A random type of at most so many axes.
    fn any_type(&mut self, max_rank: usize) -> Result<Type> {
        let dtype = *self.rng.pick(&self.config.dtypes);
        let dims = self.any_shape(max_rank);
        array_type(dtype, &dims, &[])
    }

    /// A term of a type: an existing one, or a new one of about `size` nodes.
    fn term(&mut self, ty: &Type, size: usize) -> Result<TermId> {
        // A large operand is seldom replaced, or programs would stay small.
        let reuse = if size > 8 { self.config.reuse / 4 } else { self.config.reuse };
        if self.rng.chance(reuse)
            && let terms = self.pool.of_type(ty)
            && !terms.is_empty()
        {
            return Ok(*self.rng.pick(terms));
        }
        self.fresh(ty, size)
    }

    /// A new term of a type, of about `size` nodes.
    fn fresh(&mut self, ty: &Type, size: usize) -> Result<TermId> {
        let exhausted = self.b.len() >= self.max_nodes * 2;
        if size > 3
            && !exhausted
            && self.config.updates > 0
            && self.rng.chance(self.config.updates)
            && let Some(t) = self.updated(ty, size - 3)?
        {
            self.pool.add(&self.b, t);
            return Ok(t);
        }
        if size > 3
            && !exhausted
            && self.config.phrases > 0
            && self.rng.chance(self.config.phrases)
            && let Some(t) = self.phrase(ty, size - 3)?
        {
            self.pool.add(&self.b, t);
            return Ok(t);
        }
        let former = if size <= 1 || exhausted { None } else { self.choose_former(ty) };
        let t = match former {
            None => self.leaf(ty)?,
            Some(former) => self.make(former, ty, size - 1)?,
        };
        self.pool.add(&self.b, t);
        Ok(t)
    }

    /// Splits a number of nodes among `parts` operands.
    fn split(&mut self, size: usize, parts: usize) -> Vec<usize> {
        let mut sizes = vec![0; parts];
        // In lumps, so that some operands get much and others nothing.
        let lump = (size / (2 * parts.max(1))).max(1);
        let mut left = size;
        while left > 0 && parts > 0 {
            let some = lump.min(left);
            sizes[self.rng.below(parts)] += some;
            left -= some;
        }
        sizes
    }

    /// Whether a lambda that runs `trips` times may be opened here.
    fn may_open(&self, trips: usize) -> bool {
        self.b.depth() < self.config.max_nesting
            && self.trips * trips.max(1) <= self.config.max_trips
    }

    /// Runs `body` inside a lambda that runs `trips` times, and returns the lambda.
    fn lambda(
        &mut self,
        params: &[Param],
        trips: usize,
        body: impl FnOnce(&mut Self, &[TermId]) -> Result<Vec<TermId>>,
    ) -> Result<cotan_ir::RegionId> {
        let (mark, indices) = (self.pool.mark(), self.indices.len());
        let outer_trips = self.trips;
        self.trips *= trips.max(1);
        let vars = self.b.open(params)?;
        for (&var, param) in vars.iter().zip(params) {
            self.pool.add(&self.b, var);
            if let Param::Index(k) = param {
                self.indices.push((var, *k));
            }
        }
        let results = body(self, &vars)?;
        let region = self.b.close(&results)?;
        self.pool.leave(&self.b, mark);
        self.indices.truncate(indices);
        self.trips = outer_trips;
        Ok(region)
    }
}

/// The type of arrays of shape `outer ++ inner`.
fn array_type(dtype: Dtype, outer: &[usize], inner: &[usize]) -> Result<Type> {
    Ok(Type::new(dtype, Shape::join("generate", outer, inner)?))
}
