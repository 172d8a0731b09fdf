//! Index functions under a build: the build's index becomes one more variable.

use cotan_ir::scalar::Op;
use cotan_ir::{Arena, Args, Error, Node, Param, RegionId, Result, TermId, TermMap};
use smallvec::SmallVec;

use crate::build::{Batch, Image, is_discrete_scalar};
use crate::order::{all_dependencies, post_order};
use crate::transform::Bot;

/// Index terms of at most this many operations are written into index functions; larger ones are
/// computed once a lane and read from memory. This bounds the recomputation.
const MAX_INLINE_OPERATIONS: usize = 8;
/// The same for terms that would be computed more than once a lane: by several index functions, or
/// by one for several positions.
const MAX_REPEATED_OPERATIONS: usize = 3;
/// Index functions of at most this many nodes are light.
const MAX_LIGHT: usize = 32;

/// For how many positions an index function is computed in each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Positions {
    One,
    Several,
}

pub(crate) fn positions_of(sizes: &[usize]) -> Positions {
    if sizes.iter().product::<usize>() > 1 { Positions::Several } else { Positions::One }
}

impl Bot<'_> {
    /// `\(i ::: is) -> i ::: ix` for the index function `\is -> ix` of a region inside a build, or
    /// `\(i ::: is) -> ix`.
    pub(crate) fn vectorise_index_function(
        &mut self,
        batch: &Batch,
        r: RegionId,
        lead: bool,
    ) -> Result<RegionId> {
        let region = self.b.region(r).clone();
        let sizes = self.b.index_sizes(r);
        let sizes: Vec<usize> = std::iter::once(batch.k).chain(sizes).collect();
        self.batch_function(batch, &sizes, region.params(), region.results(), lead)
    }

    /// `\[i] -> i ::: ix`, or `\[i] -> ix`, for an index inside a build.
    pub(crate) fn lane_function(
        &mut self,
        batch: &Batch,
        ix: &[TermId],
        lead: bool,
    ) -> Result<RegionId> {
        self.batch_function(batch, &[batch.k], &[], ix, lead)
    }

    fn batch_function(
        &mut self,
        batch: &Batch,
        sizes: &[usize],
        params: &[TermId],
        results: &[TermId],
        lead: bool,
    ) -> Result<RegionId> {
        let vars = self.b.open(&Bot::index_params(sizes))?;
        let positions = positions_of(sizes.get(1..).unwrap_or_default());
        let made = self.batch_results(batch, &vars, params, results, positions);
        let made = made
            .and_then(|made| self.normalise_all(&made))
            .map(|made| if lead { [&vars[..1], made.as_slice()].concat() } else { made });
        match made {
            Ok(made) => self.b.close(&made),
            Err(error) => {
                self.b.abandon();
                Err(error)
            }
        }
    }

    /// The results of an index function with the build's index and the function's own variables
    /// replaced by the new ones. Terms of the build that are not simple are read at the lane.
    fn batch_results(
        &mut self,
        batch: &Batch,
        vars: &[TermId],
        params: &[TermId],
        results: &[TermId],
        positions: Positions,
    ) -> Result<Vec<TermId>> {
        let mut images: TermMap<TermId> = TermMap::new();
        for (&p, &var) in params.iter().zip(&vars[1..]) {
            images.insert(p, var);
        }
        let own = params.first().map(|&p| self.b.free(p).innermost());
        let lane = vars[0];
        // A term of the build itself, not of the index function.
        let outer = |bot: &Self, t: TermId| own.is_none_or(|own| !bot.b.free(t).contains(own));
        // Terms of the build that are read from memory, in the order in which they are met.
        let mut reads: Vec<TermId> = Vec::new();
        let mut captures = std::mem::take(&mut self.captures);
        let order = post_order(
            results,
            |t| {
                if self.b.free(t).innermost() < batch.level || images.contains(t) {
                    return false;
                }
                let read = outer(self, t) && !self.is_simple(batch, t, positions);
                if read {
                    reads.push(t);
                }
                !read
            },
            |t, found| all_dependencies(&self.b, &mut captures, t, found),
        );
        self.captures = captures;
        for t in reads {
            let image = match self.lookup(batch, t)? {
                Image::One(u) => u,
                Image::Many(v) => self.push_index(v, &[lane])?,
            };
            images.insert(t, image);
        }
        for t in order {
            // The only variable left is the build's own index.
            let image = match self.b.node(t) {
                Node::Var { .. } => vars[0],
                _ => self.copy_node(t, &mut images)?,
            };
            images.insert(t, image);
        }
        results
            .iter()
            .map(|&t| match images.get(t) {
                Some(&image) => Ok(image),
                None if self.b.free(t).innermost() < batch.level => Ok(t),
                None => Err(Error::internal("an index without an image")),
            })
            .collect()
    }

    /// Whether a term of the build is cheap enough to be computed again wherever it is used: a
    /// small tree of integer operations on the build's index and on scalars from outside. All parts
    /// of a simple term are simple: an index function that computes it reads none of them.
    pub(crate) fn is_simple(&self, batch: &Batch, t: TermId, positions: Positions) -> bool {
        let repeated = positions == Positions::Several || self.shared.contains(t);
        let allowed = match (self.options.inline_indices, repeated) {
            (false, _) => 0,
            (true, true) => MAX_REPEATED_OPERATIONS,
            (true, false) => MAX_INLINE_OPERATIONS,
        };
        let mut operations = 0;
        let mut stack = vec![t];
        while let Some(t) = stack.pop() {
            if !is_discrete_scalar(&self.b, t) {
                return false;
            }
            if self.b.free(t).innermost() < batch.level {
                continue;
            }
            match self.b.node(t) {
                Node::Var { level, position: 0, param }
                    if *level == batch.level && matches!(**param, Param::Index(_)) => {}
                Node::Op(op, args) if is_cheap(*op) => {
                    operations += 1;
                    stack.extend(args.iter());
                }
                _ => return false,
            }
            if operations > allowed || (self.shared.contains(t) && self.is_long(batch, t)) {
                return false;
            }
        }
        true
    }

    /// Whether a tree of operations is too large to be computed more than once a lane.
    fn is_long(&self, batch: &Batch, t: TermId) -> bool {
        let mut operations = 0;
        let mut stack = vec![t];
        while let Some(t) = stack.pop() {
            if self.b.free(t).innermost() >= batch.level
                && let Node::Op(_, args) = self.b.node(t)
            {
                operations += 1;
                stack.extend(args.iter());
            }
            if operations > MAX_REPEATED_OPERATIONS {
                return true;
            }
        }
        false
    }

    /// A copy of a node of this builder with images in place of operands; those without an image
    /// stay. Regions are copied to the present depth.
    pub(crate) fn copy_node(&mut self, t: TermId, images: &mut TermMap<TermId>) -> Result<TermId> {
        let node = self.b.node(t).clone();
        if let Node::Index(u, ix) = &node {
            let image = |t: &TermId| images.get(*t).copied().unwrap_or(*t);
            let (u, ix): (TermId, Args) = (image(u), ix.iter().map(image).collect());
            return self.push_index(u, &ix);
        }
        let region = match node.region() {
            Some(r) => Some(self.copy_region(r, images)?),
            None => None,
        };
        self.b.remake(&node, region, |u| Ok(images.get(u).copied().unwrap_or(u)))
    }

    /// A copy of a region at the present depth. Recursive over the nesting of regions only.
    fn copy_region(&mut self, r: RegionId, images: &mut TermMap<TermId>) -> Result<RegionId> {
        let region = self.b.region(r).clone();
        let mut params = Vec::with_capacity(region.params().len());
        for &p in region.params() {
            if let Node::Var { param, .. } = self.b.node(p) {
                params.push((**param).clone());
            }
        }
        let vars = self.b.open(&params)?;
        for (&p, &var) in region.params().iter().zip(&vars) {
            images.insert(p, var);
        }
        let made = self.copy_results(&region, images);
        match made {
            Ok(results) => self.b.close(&results),
            Err(error) => {
                self.b.abandon();
                Err(error)
            }
        }
    }

    /// Copies of a region's results, its parameters having images.
    pub(crate) fn copy_results(
        &mut self,
        region: &cotan_ir::Region,
        images: &mut TermMap<TermId>,
    ) -> Result<Vec<TermId>> {
        let (b, captures) = (&self.b, &mut self.captures);
        let order = post_order(
            region.results(),
            |t| b.free(t).innermost() >= region.level() && !images.contains(t),
            |t, found| all_dependencies(b, captures, t, found),
        );
        for &t in &order {
            let image = self.copy_node(t, images)?;
            images.insert(t, image);
        }
        let results =
            region.results().iter().map(|t| images.get(*t).copied().unwrap_or(*t)).collect();
        // Another copy may give the variables other images.
        for t in order.iter().chain(region.params()) {
            images.remove(*t);
        }
        Ok(results)
    }
}

/// Whether an index function is cheap enough to be computed again wherever it is used, rather than
/// its results read from memory: a few operations, no lambdas.
pub(crate) fn is_light(arena: &Arena, r: RegionId) -> bool {
    let level = arena.region(r).level();
    let mut stack: SmallVec<[TermId; MAX_LIGHT]> = arena.region(r).results().into();
    let mut seen: SmallVec<[TermId; MAX_LIGHT]> = SmallVec::new();
    while let Some(t) = stack.pop() {
        if !arena.free(t).contains(level) || seen.contains(&t) {
            continue;
        }
        let node = arena.node(t);
        if seen.len() == MAX_LIGHT || node.region().is_some() {
            return false;
        }
        seen.push(t);
        node.for_each_operand(|u| stack.push(u));
    }
    true
}

/// Integer operations that index arithmetic is made of.
fn is_cheap(op: Op) -> bool {
    use Op::{Abs, Add, And, Eq, FloorDiv, Ge, Gt, Le, Lt, Max, Min, Mul, Ne, Neg, Not, Or};
    use Op::{Rem, Select, Sign, Sub, ToI64, Xor};
    matches!(op, Add | Sub | Mul | Neg | Abs | Sign | Min | Max | FloorDiv | Rem | Select | ToI64)
        || matches!(op, Eq | Ne | Lt | Le | Gt | Ge | And | Or | Xor | Not)
}
