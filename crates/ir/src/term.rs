//! Programs: an arena of nodes in dependency order, and regions for lambdas.
//!
//! The report's core grammar (Fig. core-grammar) with `let` left out: a node is its own name, so
//! sharing is never lost and printing introduces the `let`s again.
//!
//! **Variables are named by nesting.** A region opened under `d` other regions has level `d + 1`,
//! and its parameters are the nodes [`Node::Var`] of that level. Lambdas at the same depth thus use
//! the same variables, and equal ones are one region. The free variables of a node are the set of
//! levels it depends on ([`Levels`]), so `i` not in `FV(t)` is one bit test, and whatever does not
//! depend on a region's parameters lies outside it: loop-invariant code is hoisted by construction.

use std::fmt;
use std::num::NonZeroU32;
use std::ops::Deref;

use cotan_array::{Array, Dtype, Shape};
use smallvec::SmallVec;

use crate::bounds::Interval;
use crate::custom::Checkpoint;
use crate::literal::Literal;
use crate::operands::Operands;
use crate::routine::Routine;
use crate::scalar::Op;
use crate::span::{SourceMap, Span, Spans};

/// The deepest nesting of regions.
pub const MAX_NESTING: usize = 60;

/// A node of a program.
///
/// Tables may have one for each node of a program, or none: none takes no more room.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TermId(NonZeroU32);

impl TermId {
    /// The node at a position, which is not the greatest number.
    pub(crate) const fn new(position: u32) -> TermId {
        match NonZeroU32::new(position.wrapping_add(1)) {
            Some(next) => TermId(next),
            None => TermId(NonZeroU32::MAX),
        }
    }

    /// The position in the arena.
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl fmt::Debug for TermId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TermId({})", self.index())
    }
}

/// A region of a program: the body of a lambda.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(pub(crate) u32);

impl RegionId {
    /// The position among the regions.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// `Array sh rho`: an element type and a static shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// The element type.
    pub dtype: Dtype,
    /// The shape.
    pub shape: Shape,
}

impl Type {
    /// An array type.
    pub fn new(dtype: Dtype, shape: Shape) -> Type {
        Type { dtype, shape }
    }

    /// A scalar type.
    pub fn scalar(dtype: Dtype) -> Type {
        Type { dtype, shape: Shape::scalar() }
    }

    /// The type of an array.
    pub fn of(array: &Array) -> Type {
        Type { dtype: array.dtype(), shape: array.shape().clone() }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.shape.rank() > 0 {
            write!(f, "{}", self.shape)?;
        }
        write!(f, "{}", self.dtype)
    }
}

/// A set of region levels: the free variables of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Levels(u64);

impl Levels {
    /// No free variables.
    pub const NONE: Levels = Levels(0);

    /// The variables of one level.
    pub fn just(level: u8) -> Levels {
        Levels(1 << level)
    }

    /// All in either.
    pub fn union(self, other: Levels) -> Levels {
        Levels(self.0 | other.0)
    }

    /// All but one level.
    pub fn without(self, level: u8) -> Levels {
        Levels(self.0 & !(1 << level))
    }

    /// Whether the variables of `level` are free.
    pub fn contains(self, level: u8) -> bool {
        self.0 >> level & 1 == 1
    }

    /// The innermost level, 0 when closed.
    pub fn innermost(self) -> u8 {
        63u32.saturating_sub(self.0.leading_zeros()) as u8
    }
}

/// A list of terms that is most often short.
pub type Args = SmallVec<[TermId; 3]>;

/// A list of terms, such as an index.
pub type Terms = Box<[TermId]>;

/// The term formers. Made only by [`crate::Builder`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// `c`, a literal array.
    Const(Literal),
    /// An input of the program.
    Input(u32),
    /// A parameter of the enclosing region of this level.
    Var {
        /// The level of the region.
        level: u8,
        /// The position among its parameters.
        position: u32,
        /// What it stands for.
        param: Box<Param>,
    },
    /// `cond b u v`: one of two arrays, by a scalar.
    Cond(TermId, TermId, TermId),
    /// `op t ..`, elementwise on arrays of one shape.
    Op(Op, Operands),
    /// `index t ix`: the sub-array at a position; 0 out of range.
    Index(TermId, Terms),
    /// `sumOuter t`: the sum along the outermost axis.
    SumOuter(TermId),
    /// `gather sh t (\is -> ix)`: at each position `is` the sub-array of `t` at `ix`; 0 out of range.
    Gather(TermId, RegionId),
    /// `scatter sh t (\is -> ix)`: each sub-array of `t` at `is` added to zeros at `ix`; dropped out
    /// of range. The shape is the leading sizes of the result, one for each component of `ix`.
    Scatter(Box<Shape>, TermId, RegionId),
    /// `[t1, .., tn]`: equal-shaped arrays, at least one, along a new outermost axis.
    Stack(Terms),
    /// `replicate k t`: `k` copies along a new outermost axis.
    Replicate(usize, TermId),
    /// `tr [k1, .., km] t`: axis `n` of the result is axis `kn` of `t`; further axes stay.
    Transpose(Box<[u8]>, TermId),
    /// `reshape sh t`: the same elements in row-major order.
    Reshape(Box<Shape>, TermId),
    /// `build1 k (\i -> t)`.
    Build1(RegionId),
    /// `[0, 1, .., k - 1]`.
    Iota(usize),
    /// `oneHot sh v ix`: `v` at position `ix` of zeros with leading sizes `sh`; zeros out of range.
    OneHot(Box<Shape>, TermId, Box<Terms>),
    /// The position of the extreme element along the outermost axis: the first among equals, the
    /// first NaN if there is one, 0 if the axis is empty.
    ArgExtreme(Extreme, TermId),
    /// The stable permutation that sorts along the outermost axis ascending, NaNs last.
    ArgSort(TermId),
    /// `segmentArg k t ids`: for each of `k` segments and each place of the inner axes, the position
    /// along the outermost axis of the extreme element of `t` there whose id, in the array `ids` of
    /// the same shape, is that segment: the first among equals, the first NaN if there is one, the
    /// size of the axis if no element has the id. Elements with other ids are left out.
    SegmentArg(Extreme, usize, TermId, TermId),
    /// A numerical routine of operands with the same leading axes; see [`Routine`].
    Routine(Routine, Terms),
    /// A loop with state; see [`MapAccum`]. Its results are read by [`Node::Result`].
    MapAccum(Box<MapAccum>),
    /// A loop as long as a condition holds; see [`While`]. Its results are read by
    /// [`Node::Result`].
    While(Box<While>),
    /// A function with a derivative of its own; see [`Custom`]. Its results are read by
    /// [`Node::Result`].
    Custom(Box<Custom>),
    /// One result of a former with several.
    Result(TermId, u32),
}

/// Which extreme an [`Node::ArgExtreme`] or [`Node::SegmentArg`] looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extreme {
    /// The largest element.
    Max,
    /// The smallest element.
    Min,
}

/// `mapAccum n (\s x -> (s', y)) s0 xs`: runs `n` steps, first to last or in reverse; step `k` maps
/// the state and the `k`-th sub-arrays of `xs` to the next state and the `k`-th sub-arrays of the
/// outputs. Its results are the final states, then the outputs.
///
/// The region's parameters are the states, then the sub-arrays of the inputs; its results are the
/// next states, then the outputs. It may refer to any outer term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MapAccum {
    /// The number of steps.
    pub length: usize,
    /// Whether it runs from the last index to the first.
    pub reverse: bool,
    /// The initial states.
    pub init: Terms,
    /// The arrays stepped through, each with outermost size `length`.
    pub inputs: Terms,
    /// The step.
    pub step: RegionId,
}

/// `while (\s -> (b, s', y)) s0`: as long as the scalar `b` of the states holds, the next states are
/// `s'`. Its results are the final states, then the outputs `y` of every step along a new outermost
/// axis of size `bound`, zeros where there was no step.
///
/// The region's parameters are the states; its results are the condition, the next states, then the
/// outputs. Condition and step stand in one region, so they share what both compute. It may refer
/// to any outer term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct While {
    /// The most steps: the loop ends after these even if the condition still holds. Outputs need it.
    pub bound: Option<usize>,
    /// The initial states, at least one.
    pub init: Terms,
    /// Condition and step.
    pub step: RegionId,
}

/// What stands beside a function for its derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CustomKind {
    /// From cotangents of the float results to cotangents of the float arguments.
    Vjp,
    /// From tangents of the float arguments to tangents of the float results.
    Jvp,
    /// An equation of which the results, all floats, are the solution, `g(x) = 0`. Beside the
    /// function stand, for an unknown `x` and a right side `r`, both like the results: the residual
    /// `g(x)`, and the solutions `v` of `g'(x) v = r` and of `g'(x)^T v = r`. Unlike a rule it counts
    /// for what is captured, too.
    Implicit,
    /// No rule: the derivative is that of the function, by what it captures, too. The checkpoint says
    /// what reverse mode keeps for it.
    Checkpoint(Checkpoint),
}

/// A function and its derivative, side by side in one region.
///
/// The region's parameters are the arguments, then what the rule takes (see [`CustomKind`]); its
/// results are those of the function, which do not depend on the latter, then those of the rule,
/// which are linear in them; solutions beside an equation are linear in the right side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Custom {
    /// What the rule takes and gives.
    pub kind: CustomKind,
    /// The arguments.
    pub args: Terms,
    /// The number of results of the function.
    pub outputs: usize,
    /// Function and rule.
    pub region: RegionId,
}

/// What a region's parameter stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Param {
    /// An index from 0 to (excluding) this size: an `i64` scalar.
    Index(usize),
    /// Any array of a type.
    Value(Type),
}

/// The body of a lambda.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    pub(crate) level: u8,
    pub(crate) params: Terms,
    pub(crate) results: Terms,
}

impl Region {
    /// One more than the number of regions around it when it was made.
    pub fn level(&self) -> u8 {
        self.level
    }

    /// Its parameters, each a [`Node::Var`].
    pub fn params(&self) -> &[TermId] {
        &self.params
    }

    /// What it computes.
    pub fn results(&self) -> &[TermId] {
        &self.results
    }
}

impl Node {
    /// Calls `f` on each operand, in order. Terms inside regions are not operands.
    pub fn for_each_operand(&self, mut f: impl FnMut(TermId)) {
        match self {
            Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Iota(_) => {}
            Node::Build1(_) => {}
            Node::Cond(t, u, v) => [*t, *u, *v].into_iter().for_each(f),
            Node::Op(_, args) => args.iter().copied().for_each(f),
            Node::Index(t, ix) => {
                f(*t);
                ix.iter().copied().for_each(f);
            }
            Node::OneHot(_, t, ix) => {
                f(*t);
                ix.iter().copied().for_each(f);
            }
            Node::SumOuter(t) | Node::Gather(t, _) | Node::Scatter(_, t, _) => f(*t),
            Node::Replicate(_, t) | Node::Transpose(_, t) | Node::Reshape(_, t) => f(*t),
            Node::ArgExtreme(_, t) | Node::ArgSort(t) | Node::Result(t, _) => f(*t),
            Node::SegmentArg(_, _, t, ids) => [*t, *ids].into_iter().for_each(f),
            Node::Stack(ts) | Node::Routine(_, ts) => ts.iter().copied().for_each(f),
            Node::MapAccum(m) => m.init.iter().chain(m.inputs.iter()).copied().for_each(f),
            Node::While(w) => w.init.iter().copied().for_each(f),
            Node::Custom(c) => c.args.iter().copied().for_each(f),
        }
    }

    /// The same node of other operands, and with the same region.
    pub fn with_operands(&self, image: impl Fn(TermId) -> TermId) -> Node {
        let mut node = self.clone();
        let set = |t: &mut TermId| *t = image(*t);
        match &mut node {
            Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Iota(_) => {}
            Node::Build1(_) => {}
            Node::Cond(t, u, v) => [t, u, v].into_iter().for_each(set),
            Node::Op(_, args) => args.iter_mut().for_each(set),
            Node::Index(t, ix) => std::iter::once(t).chain(ix).for_each(set),
            Node::OneHot(_, t, ix) => std::iter::once(t).chain(ix.iter_mut()).for_each(set),
            Node::SumOuter(t) | Node::Gather(t, _) | Node::Scatter(_, t, _) => set(t),
            Node::Replicate(_, t) | Node::Transpose(_, t) | Node::Reshape(_, t) => set(t),
            Node::ArgExtreme(_, t) | Node::ArgSort(t) | Node::Result(t, _) => set(t),
            Node::SegmentArg(_, _, t, ids) => [t, ids].into_iter().for_each(set),
            Node::Stack(ts) | Node::Routine(_, ts) => ts.iter_mut().for_each(set),
            Node::MapAccum(m) => m.init.iter_mut().chain(&mut m.inputs).for_each(set),
            Node::While(w) => w.init.iter_mut().for_each(set),
            Node::Custom(c) => c.args.iter_mut().for_each(set),
        }
        node
    }

    /// The region of a binder.
    pub fn region(&self) -> Option<RegionId> {
        match self {
            Node::Gather(_, r) | Node::Scatter(_, _, r) | Node::Build1(r) => Some(*r),
            Node::MapAccum(m) => Some(m.step),
            Node::While(w) => Some(w.step),
            Node::Custom(c) => Some(c.region),
            Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Iota(_) => None,
            Node::Cond(..) | Node::Op(..) | Node::Index(..) | Node::OneHot(..) => None,
            Node::SumOuter(_) | Node::Replicate(..) | Node::Transpose(..) => None,
            Node::Reshape(..) | Node::ArgExtreme(..) | Node::ArgSort(_) => None,
            Node::SegmentArg(..) | Node::Stack(_) | Node::Routine(..) | Node::Result(..) => None,
        }
    }

    /// Whether it has several results, read by [`Node::Result`], and is no array itself.
    pub fn has_results(&self) -> bool {
        matches!(self, Node::MapAccum(_) | Node::While(_) | Node::Custom(_))
    }

    /// The former's name, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Node::Const(_) => "const",
            Node::Input(_) => "input",
            Node::Var { .. } => "variable",
            Node::Cond(..) => "cond",
            Node::Op(op, _) => op.name(),
            Node::Index(..) => "index",
            Node::SumOuter(_) => "sum_outer",
            Node::Gather(..) => "gather",
            Node::Scatter(..) => "scatter",
            Node::Stack(_) => "stack",
            Node::Replicate(..) => "replicate",
            Node::Transpose(..) => "transpose",
            Node::Reshape(..) => "reshape",
            Node::Build1(_) => "build",
            Node::Iota(_) => "iota",
            Node::OneHot(..) => "one_hot",
            Node::ArgExtreme(Extreme::Max, _) => "argmax_outer",
            Node::ArgExtreme(Extreme::Min, _) => "argmin_outer",
            Node::ArgSort(_) => "argsort_outer",
            Node::SegmentArg(Extreme::Max, ..) => "segment_argmax_outer",
            Node::SegmentArg(Extreme::Min, ..) => "segment_argmin_outer",
            Node::Routine(routine, _) => routine.name(),
            Node::MapAccum(_) => "map_accum",
            Node::While(_) => "while_accum",
            Node::Custom(c) => match c.kind {
                CustomKind::Vjp => "with_vjp",
                CustomKind::Jvp => "with_jvp",
                CustomKind::Implicit => "with_equation",
                CustomKind::Checkpoint(_) => "with_checkpoint",
            },
            Node::Result(..) => "result",
        }
    }
}

/// A declared input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// A result of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its name; empty when it has none.
    pub name: String,
    /// What it is.
    pub term: TermId,
}

/// What is known of a node beside the node itself, as most nodes have it in common with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Kind {
    /// Index into the types. For formers with several results it means nothing.
    pub(crate) ty: u32,
    pub(crate) free: Levels,
    pub(crate) bounds: Interval,
}

/// Nodes, regions and inputs: what a [`Program`] and a [`crate::Builder`] have in common.
#[derive(Clone, Debug, Default)]
pub struct Arena {
    pub(crate) nodes: Vec<Node>,
    /// For each node its kind: an index into the kinds.
    pub(crate) kind_of: Vec<u32>,
    pub(crate) spans: Spans,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) types: Vec<Type>,
    pub(crate) regions: Vec<Region>,
    pub(crate) inputs: Vec<Input>,
}

impl Arena {
    /// Gives back what a long program has reserved and not needed.
    pub(crate) fn shrink(&mut self) {
        const LONG: usize = 1 << 12;
        if self.nodes.len() >= LONG {
            self.nodes.shrink_to_fit();
            self.kind_of.shrink_to_fit();
            self.spans.of.shrink_to_fit();
            self.spans.spans.shrink_to_fit();
        }
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes, operands before the nodes that use them.
    pub fn terms(&self) -> impl DoubleEndedIterator<Item = TermId> + use<> {
        (0..self.nodes.len() as u32).map(TermId::new)
    }

    /// A node.
    pub fn node(&self, t: TermId) -> &Node {
        &self.nodes[t.index()]
    }

    /// The type of a node with one result. For a former with several results it means nothing: ask
    /// [`Arena::result_types`].
    pub fn ty(&self, t: TermId) -> &Type {
        &self.types[self.kind(t).ty as usize]
    }

    pub(crate) fn kind(&self, t: TermId) -> Kind {
        self.kinds[self.kind_of[t.index()] as usize]
    }

    /// The shape of a node.
    pub fn shape(&self, t: TermId) -> &Shape {
        &self.ty(t).shape
    }

    /// The element type of a node.
    pub fn dtype(&self, t: TermId) -> Dtype {
        self.ty(t).dtype
    }

    /// The free variables of a node.
    pub fn free(&self, t: TermId) -> Levels {
        self.kind(t).free
    }

    /// An interval that holds every element of a node of type `i64` or `bool` (0 and 1).
    pub fn bounds(&self, t: TermId) -> Interval {
        self.kind(t).bounds
    }

    /// The place of a node in the source.
    pub fn span(&self, t: TermId) -> Span {
        self.spans.get(t)
    }

    /// A region.
    pub fn region(&self, r: RegionId) -> &Region {
        &self.regions[r.index()]
    }

    /// The number of regions. A region inside another comes before it.
    pub fn region_count(&self) -> usize {
        self.regions.len()
    }

    /// All regions, inner ones before outer ones.
    pub fn regions(&self) -> impl DoubleEndedIterator<Item = RegionId> + use<> {
        (0..self.regions.len() as u32).map(RegionId)
    }

    /// The declared inputs.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The sizes of a region's parameters, all of which are indices.
    pub fn index_sizes(&self, r: RegionId) -> SmallVec<[usize; 4]> {
        let size = |t: &TermId| match self.node(*t) {
            Node::Var { param, .. } if let Param::Index(k) = &**param => Some(*k),
            _ => None,
        };
        self.region(r).params.iter().filter_map(size).collect()
    }

    /// The number of results of a former with several, or `None` for other nodes.
    pub fn result_count(&self, t: TermId) -> Option<usize> {
        match self.node(t) {
            Node::MapAccum(m) => Some(self.region(m.step).results.len()),
            Node::While(w) => Some(self.region(w.step).results.len().saturating_sub(1)),
            Node::Custom(c) => Some(c.outputs),
            _ => None,
        }
    }

    /// The type of result `n` of a former with several.
    pub fn result_type(&self, t: TermId, n: usize) -> Option<Type> {
        if n >= self.result_count(t)? {
            return None;
        }
        let result = |r: RegionId, n: usize| self.region(r).results.get(n).map(|&t| self.ty(t));
        let (ty, states, steps) = match self.node(t) {
            Node::MapAccum(m) => (result(m.step, n)?, m.init.len(), m.length),
            // The condition comes first.
            Node::While(w) => (result(w.step, n + 1)?, w.init.len(), w.bound.unwrap_or(0)),
            Node::Custom(c) => return result(c.region, n).cloned(),
            _ => return None,
        };
        if n < states {
            return Some(ty.clone());
        }
        // The builder has checked that this shape exists.
        let shape = ty.shape.cons(self.node(t).name(), steps).unwrap_or_default();
        Some(Type::new(ty.dtype, shape))
    }

    /// The types of the results of a former with several, or `None` for other nodes.
    pub fn result_types(&self, t: TermId) -> Option<Vec<Type>> {
        let count = self.result_count(t)?;
        Some((0..count).filter_map(|n| self.result_type(t, n)).collect())
    }
}

/// A closed program: inputs to outputs.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) arena: Arena,
    pub(crate) outputs: Vec<Output>,
    pub(crate) sources: std::sync::Arc<SourceMap>,
}

impl Deref for Program {
    type Target = Arena;
    fn deref(&self) -> &Arena {
        &self.arena
    }
}

impl Program {
    /// The results.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// Gives the outputs other names, as many as there are names. Names must differ.
    pub fn rename_outputs(&mut self, names: impl IntoIterator<Item = String>) {
        for (output, name) in self.outputs.iter_mut().zip(names) {
            output.name = name;
        }
    }

    /// Whether another program has the same nodes, inputs and results at the same positions.
    pub fn is_same(&self, other: &Program) -> bool {
        let (a, b) = (&self.arena, &other.arena);
        a.nodes == b.nodes
            && a.inputs == b.inputs
            && a.regions == b.regions
            && self.terms().all(|t| self.ty(t) == other.ty(t))
            && self.outputs == other.outputs
    }

    /// The program without its nodes and regions, which are most of its memory. What is left knows
    /// inputs and outputs, types and places in the source; nobody may ask it for a node.
    pub fn outline(mut self) -> Program {
        self.arena.nodes = Vec::new();
        self.arena.regions = Vec::new();
        self
    }

    /// Where its nodes come from, for a program that is not needed any more.
    pub fn into_spans(self) -> Spans {
        self.arena.spans
    }

    /// The texts that spans refer to.
    pub fn sources(&self) -> &std::sync::Arc<SourceMap> {
        &self.sources
    }
}
