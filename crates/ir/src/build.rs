//! Typed smart constructors: the only way to make a node.
//!
//! Each constructor checks the report's typing rule (Fig. core-typing) and the limits, and returns
//! the existing node when there is an equal one. None of them simplifies.

mod make;

use std::hash::BuildHasher;
use std::sync::Arc;

use cotan_array::{Array, Dtype, Element, Shape};
use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::error::{Error, ErrorKind, Result};
use crate::limits::{CancelToken, Limits};
use crate::operands::Operands;
use crate::provenance;
use crate::routine::Routine;
use crate::span::{SourceMap, Span};
use crate::term::{
    Arena, Input, Kind, Levels, MAX_NESTING, Node, Output, Param, Program, Region, RegionId,
    TermId, Type,
};

/// Makes programs.
///
/// ```
/// use cotan_array::{Dtype, Shape};
/// use cotan_ir::{Builder, Type, scalar::Op};
///
/// let mut b = Builder::new();
/// let a = b.input("a", Type::new(Dtype::F64, Shape::new("example", &[5])?))?;
/// let squares = b.op(Op::Mul, &[a, a])?;
/// let sum = b.sum_outer(squares)?;
/// let program = b.finish_one(sum)?;
/// assert_eq!(program.to_string(), "def main(a: [5]f64) = sum_outer(a * a)\n");
/// # Ok::<(), cotan_ir::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    arena: Arena,
    node_table: HashTable<TermId>,
    region_table: HashTable<RegionId>,
    type_table: FxHashMap<Type, u32>,
    kind_table: FxHashMap<Kind, u32>,
    input_names: FxHashSet<String>,
    open: Vec<Vec<TermId>>,
    limits: Limits,
    cancel: CancelToken,
    span: Span,
    /// The calls around what is made, while they are recorded.
    calls: Span,
}

impl std::ops::Deref for Builder {
    type Target = Arena;
    fn deref(&self) -> &Arena {
        &self.arena
    }
}

impl Builder {
    /// A builder of an empty program, with default limits.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// A builder of an empty program.
    pub fn with_limits(limits: Limits, cancel: CancelToken) -> Builder {
        Builder { limits, cancel, ..Builder::default() }
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Nodes made from now on come from this place. Returns the place before.
    pub fn set_span(&mut self, span: Span) -> Span {
        std::mem::replace(&mut self.span, span)
    }

    /// Where nodes made from now on come from.
    pub fn place(&self) -> Span {
        self.span
    }

    /// Nodes made from now on come from a call at this place as well, if places are recorded. Returns
    /// the calls before, for [`set_calls`](Builder::set_calls).
    pub fn enter_call(&mut self, span: Span) -> Span {
        let before = self.calls;
        if provenance::is_recording() {
            self.calls = provenance::join(before, span);
        }
        before
    }

    /// Nodes made from now on come from these calls.
    pub fn set_calls(&mut self, calls: Span) {
        self.calls = calls;
    }

    /// A node that is there comes from this place as well, if places are recorded.
    #[inline]
    pub fn also_from(&mut self, t: TermId, span: Span) {
        if provenance::is_recording() {
            let span = provenance::join(span, self.calls);
            self.arena.spans.add(t, span);
        }
    }

    /// Ends the program with named results (empty names for none).
    pub fn finish(self, outputs: Vec<Output>) -> Result<Program> {
        self.finish_with_sources(outputs, Arc::default())
    }

    /// Ends the program with one unnamed result.
    pub fn finish_one(self, term: TermId) -> Result<Program> {
        self.finish(vec![Output { name: String::new(), term }])
    }

    /// Ends the program, keeping the texts that its spans refer to.
    pub fn finish_with_sources(
        self,
        outputs: Vec<Output>,
        sources: Arc<SourceMap>,
    ) -> Result<Program> {
        if !self.open.is_empty() {
            return Err(Error::internal("a region is still open at the end of the program"));
        }
        let named = outputs.iter().filter(|o| !o.name.is_empty()).count();
        if named != 0 && named != outputs.len() {
            return Err(Error::type_error("output", "either all results have names or none has"));
        }
        let mut names: FxHashSet<&str> = FxHashSet::default();
        for (n, output) in outputs.iter().enumerate() {
            self.operand("output", output.term)?;
            if named > 0 && !names.insert(&output.name) {
                let message = format!("two results are called `{}`", output.name);
                return Err(Error::type_error("output", message));
            }
            if self.free(output.term) != Levels::NONE {
                return Err(Error::type_error(
                    "output",
                    format!("result {n} depends on a variable outside its lambda"),
                ));
            }
        }
        let mut arena = self.arena;
        arena.shrink();
        Ok(Program { arena, outputs, sources })
    }

    // ---- leaves -------------------------------------------------------------------------------

    /// Declares the next input.
    pub fn input(&mut self, name: impl Into<String>, ty: Type) -> Result<TermId> {
        let name = name.into();
        if !self.input_names.insert(name.clone()) {
            return Err(Error::type_error("input", format!("two inputs are called `{name}`")));
        }
        let k = self.arena.inputs.len() as u32;
        self.arena.inputs.push(Input { name, ty: ty.clone() });
        self.make(Node::Input(k), ty)
    }

    /// `c`, a literal array.
    pub fn constant(&mut self, array: &Array) -> Result<TermId> {
        let literal = crate::Literal::new(array).map_err(|e| self.at(e.into()))?;
        self.literal(literal)
    }

    /// `c`, a literal of another program.
    pub(crate) fn literal(&mut self, literal: crate::Literal) -> Result<TermId> {
        let ty = Type::of(&literal);
        self.make(Node::Const(literal), ty)
    }

    /// A literal scalar.
    pub fn scalar<T: Element>(&mut self, x: T) -> Result<TermId> {
        self.constant(&Array::scalar(x))
    }

    /// `[0, .., k - 1]`.
    pub fn iota(&mut self, k: usize) -> Result<TermId> {
        let shape = Shape::new("iota", &[k]).map_err(|e| self.at(e.into()))?;
        self.make(Node::Iota(k), Type::new(Dtype::I64, shape))
    }

    // ---- elementwise --------------------------------------------------------------------------

    /// `op t ..`: all arguments of one shape.
    pub fn op(&mut self, op: crate::scalar::Op, args: &[TermId]) -> Result<TermId> {
        if args.len() != op.arity() {
            let message = format!("takes {} arguments, not {}", op.arity(), args.len());
            return Err(self.at(Error::type_error(op.name(), message)));
        }
        let mut dtypes = smallvec::SmallVec::<[Dtype; 3]>::new();
        for &t in args {
            self.operand(op.name(), t)?;
            dtypes.push(self.dtype(t));
            if self.type_id(t) != self.type_id(args[0]) && self.shape(t) != self.shape(args[0]) {
                let message = format!(
                    "arguments of different shapes, {} and {}",
                    self.ty(args[0]),
                    self.ty(t)
                );
                let hint = "elementwise operations need equal shapes: replicate the smaller one";
                return Err(self.at(Error::type_error(op.name(), message).with_hint(hint)));
            }
        }
        let Some(dtype) = op.result_dtype(&dtypes) else {
            let types: Vec<String> = args.iter().map(|&t| self.ty(t).to_string()).collect();
            let message = format!("does not take {}", types.join(" and "));
            let hint = format!("it takes {}", op.signature());
            return Err(self.at(Error::type_error(op.name(), message).with_hint(hint)));
        };
        let node = Node::Op(op, Operands::new(args));
        // Most often the type is that of an argument; `where` has its own in the last two.
        match args.iter().rev().find(|&&t| self.dtype(t) == dtype) {
            Some(&t) => self.make_typed(node, self.type_id(t)),
            None => self.make(node, Type::new(dtype, self.shape(args[0]).clone())),
        }
    }

    /// `cond b u v`.
    pub fn cond(&mut self, b: TermId, u: TermId, v: TermId) -> Result<TermId> {
        for t in [b, u, v] {
            self.operand("cond", t)?;
        }
        self.expect_scalar("cond", "the condition", b, Dtype::Bool)?;
        if self.type_id(u) != self.type_id(v) {
            let message = format!("branches of different types, {} and {}", self.ty(u), self.ty(v));
            return Err(self.at(Error::type_error("cond", message)));
        }
        self.make_typed(Node::Cond(b, u, v), self.type_id(u))
    }

    // ---- indexing -----------------------------------------------------------------------------

    /// `index t ix`.
    pub fn index(&mut self, t: TermId, ix: &[TermId]) -> Result<TermId> {
        self.operand("index", t)?;
        self.expect_index("index", t, ix)?;
        for &i in ix {
            self.operand("index", i)?;
        }
        let ty = Type::new(self.dtype(t), self.shape(t).drop_outer(ix.len()));
        self.make(Node::Index(t, ix.into()), ty)
    }

    /// `gather sh t (\is -> ix)`; the sizes `sh` are those of the region's parameters.
    pub fn gather(&mut self, t: TermId, region: RegionId) -> Result<TermId> {
        self.operand("gather", t)?;
        let sizes = self.expect_index_function("gather", region)?;
        let ix = self.region(region).results.clone();
        self.expect_index("gather", t, &ix)?;
        let inner = self.shape(t).drop_outer(ix.len());
        let ty = Type::new(self.dtype(t), self.join("gather", &sizes, inner.dims())?);
        self.make(Node::Gather(t, region), ty)
    }

    /// `scatter sh t (\is -> ix)`; `outer` is the leading sizes of the result, as many as `ix` has
    /// components.
    pub fn scatter(&mut self, outer: &[usize], t: TermId, region: RegionId) -> Result<TermId> {
        self.operand("scatter", t)?;
        self.expect_numeric("scatter", t)?;
        let sizes = self.expect_index_function("scatter", region)?;
        let rank = self.region(region).results.len();
        if rank != outer.len() {
            let message =
                format!("an index of {rank} components for {} leading sizes", outer.len());
            return Err(self.at(Error::type_error("scatter", message)));
        }
        if self.shape(t).dims().get(..sizes.len()) != Some(&sizes) {
            let message = format!(
                "index variables of sizes {sizes:?} do not range over the leading axes of {}",
                self.ty(t)
            );
            return Err(self.at(Error::type_error("scatter", message)));
        }
        let inner = self.shape(t).drop_outer(sizes.len());
        let ty = Type::new(self.dtype(t), self.join("scatter", outer, inner.dims())?);
        let outer = Shape::new("scatter", outer).map_err(|e| self.at(e.into()))?;
        self.make(Node::Scatter(Box::new(outer), t, region), ty)
    }

    /// `oneHot sh v ix`.
    pub fn one_hot(&mut self, outer: &[usize], v: TermId, ix: &[TermId]) -> Result<TermId> {
        self.operand("one_hot", v)?;
        self.expect_numeric("one_hot", v)?;
        if ix.len() != outer.len() {
            let message =
                format!("an index of {} components for {} leading sizes", ix.len(), outer.len());
            return Err(self.at(Error::type_error("one_hot", message)));
        }
        for &i in ix {
            self.operand("one_hot", i)?;
            self.expect_scalar("one_hot", "an index", i, Dtype::I64)?;
        }
        let ty = Type::new(self.dtype(v), self.join("one_hot", outer, self.shape(v).dims())?);
        let outer = Shape::new("one_hot", outer).map_err(|e| self.at(e.into()))?;
        self.make(Node::OneHot(Box::new(outer), v, Box::new(ix.into())), ty)
    }

    // ---- whole arrays -------------------------------------------------------------------------

    /// `sumOuter t`.
    pub fn sum_outer(&mut self, t: TermId) -> Result<TermId> {
        self.operand("sum_outer", t)?;
        self.expect_numeric("sum_outer", t)?;
        let (_, inner) = self.expect_axis("sum_outer", t)?;
        self.make(Node::SumOuter(t), Type::new(self.dtype(t), inner))
    }

    /// `[t1, .., tn]`.
    pub fn stack(&mut self, ts: &[TermId]) -> Result<TermId> {
        let Some(&first) = ts.first() else {
            let hint = "an array without elements is a constant";
            let error = Error::type_error("stack", "nothing to stack").with_hint(hint);
            return Err(self.at(error));
        };
        for (n, &t) in ts.iter().enumerate() {
            self.operand("stack", t)?;
            if self.type_id(t) != self.type_id(first) {
                let message = format!(
                    "elements of different types: the first is {}, number {} is {}",
                    self.ty(first),
                    n + 1,
                    self.ty(t)
                );
                return Err(self.at(Error::type_error("stack", message)));
            }
        }
        let shape = self.join("stack", &[ts.len()], self.shape(first).dims())?;
        self.make(Node::Stack(ts.into()), Type::new(self.dtype(first), shape))
    }

    /// `replicate k t`.
    pub fn replicate(&mut self, k: usize, t: TermId) -> Result<TermId> {
        self.operand("replicate", t)?;
        let shape = self.join("replicate", &[k], self.shape(t).dims())?;
        self.make(Node::Replicate(k, t), Type::new(self.dtype(t), shape))
    }

    /// `tr [k1, .., km] t`: axis `n` of the result is axis `kn` of `t`.
    pub fn transpose(&mut self, perm: &[usize], t: TermId) -> Result<TermId> {
        self.operand("transpose", t)?;
        let dims = self.shape(t).dims();
        let mut seen = vec![false; perm.len()];
        let valid = perm.len() <= dims.len()
            && perm.iter().all(|&k| k < seen.len() && !std::mem::replace(&mut seen[k], true));
        if !valid {
            let message = format!("{perm:?} does not permute the leading axes of {}", self.ty(t));
            return Err(self.at(Error::type_error("transpose", message)));
        }
        let permuted: Vec<usize> = perm.iter().map(|&k| dims[k]).collect();
        let shape = self.join("transpose", &permuted, &dims[perm.len()..])?;
        let perm = perm.iter().map(|&k| k as u8).collect();
        self.make(Node::Transpose(perm, t), Type::new(self.dtype(t), shape))
    }

    /// `reshape sh t`.
    pub fn reshape(&mut self, dims: &[usize], t: TermId) -> Result<TermId> {
        self.operand("reshape", t)?;
        let shape = self.join("reshape", dims, &[])?;
        if shape.numel() != self.shape(t).numel() {
            let message = format!(
                "{} has {} elements, {shape} has {}",
                self.ty(t),
                self.shape(t).numel(),
                shape.numel()
            );
            return Err(self.at(Error::type_error("reshape", message)));
        }
        self.make(Node::Reshape(Box::new(shape.clone()), t), Type::new(self.dtype(t), shape))
    }

    /// The position of the largest or smallest element along the outermost axis.
    pub fn arg_extreme(&mut self, extreme: crate::Extreme, t: TermId) -> Result<TermId> {
        let node = Node::ArgExtreme(extreme, t);
        self.operand(node.name(), t)?;
        let (_, inner) = self.expect_axis(node.name(), t)?;
        self.make(node, Type::new(Dtype::I64, inner))
    }

    /// The permutation that sorts along the outermost axis.
    pub fn arg_sort(&mut self, t: TermId) -> Result<TermId> {
        self.operand("argsort_outer", t)?;
        self.expect_axis("argsort_outer", t)?;
        self.make(Node::ArgSort(t), Type::new(Dtype::I64, self.shape(t).clone()))
    }

    /// For each of `k` segments, the position along the outermost axis of the largest or smallest
    /// element that has it as its id, or the size of that axis.
    pub fn segment_arg(
        &mut self,
        extreme: crate::Extreme,
        k: usize,
        t: TermId,
        ids: TermId,
    ) -> Result<TermId> {
        let node = Node::SegmentArg(extreme, k, t, ids);
        let name = node.name();
        self.operand(name, t)?;
        self.operand(name, ids)?;
        let (_, inner) = self.expect_axis(name, t)?;
        if self.dtype(ids) != Dtype::I64 || self.shape(ids) != self.shape(t) {
            let message = format!("ids {} for the elements of {}", self.ty(ids), self.ty(t));
            let hint = "there must be an i64 for each element";
            return Err(self.at(Error::type_error(name, message).with_hint(hint)));
        }
        let dims = [&[k], inner.dims()].concat();
        let shape = Shape::new(name, &dims)?;
        self.make(node, Type::new(Dtype::I64, shape))
    }

    /// A numerical routine, applied to each element of the leading axes.
    pub fn routine(&mut self, routine: Routine, operands: &[TermId]) -> Result<TermId> {
        for &t in operands {
            self.operand(routine.name(), t)?;
        }
        let types: Vec<&Type> = operands.iter().map(|&t| self.ty(t)).collect();
        let ty = routine.result_type(&types).map_err(|e| self.at(e))?;
        self.make(Node::Routine(routine, operands.into()), ty)
    }

    // ---- binders ------------------------------------------------------------------------------

    /// `build1 k (\i -> t)`; the region has one index parameter and one result.
    pub fn build1(&mut self, region: RegionId) -> Result<TermId> {
        let sizes = self.expect_index_function_params("build", region)?;
        let (&[k], &[t]) = (sizes.as_slice(), &*self.region(region).results) else {
            return Err(self.at(Error::type_error("build", "needs one index and one result")));
        };
        let ty = Type::new(self.dtype(t), self.join("build", &[k], self.shape(t).dims())?);
        self.make(Node::Build1(region), ty)
    }

    /// `mapAccum`; see [`crate::MapAccum`]. Its results are read by [`Builder::result`].
    pub fn map_accum(&mut self, m: crate::MapAccum) -> Result<TermId> {
        let op = "map_accum";
        let step = self.region(m.step).clone();
        let expected = m.init.len() + m.inputs.len();
        if step.params.len() != expected || step.results.len() < m.init.len() {
            let message = format!(
                "a step of {} parameters and {} results for {} states and {} inputs",
                step.params.len(),
                step.results.len(),
                m.init.len(),
                m.inputs.len()
            );
            return Err(self.at(Error::type_error(op, message)));
        }
        for (n, &s) in m.init.iter().enumerate() {
            self.operand(op, s)?;
            for (what, t) in [("parameter", step.params[n]), ("next value", step.results[n])] {
                if self.type_id(t) != self.type_id(s) {
                    let message = format!(
                        "state {n} starts as {}, but its {what} in the step is {}",
                        self.ty(s),
                        self.ty(t)
                    );
                    let hint = "a state keeps its type from step to step";
                    return Err(self.at(Error::type_error(op, message).with_hint(hint)));
                }
            }
        }
        for (n, &x) in m.inputs.iter().enumerate() {
            self.operand(op, x)?;
            let (k, inner) = self.expect_axis(op, x)?;
            if k != m.length {
                let message =
                    format!("input {n} is {}, but there are {} steps", self.ty(x), m.length);
                return Err(self.at(Error::type_error(op, message)));
            }
            let element = Type::new(self.dtype(x), inner);
            let param = step.params[m.init.len() + n];
            if *self.ty(param) != element {
                let message = format!(
                    "input {n} has elements {element}, but the step takes {}",
                    self.ty(param)
                );
                return Err(self.at(Error::type_error(op, message)));
            }
        }
        for &y in &step.results[m.init.len()..] {
            self.join(op, &[m.length], self.shape(y).dims())?;
        }
        self.make(Node::MapAccum(Box::new(m)), Type::scalar(Dtype::F64))
    }

    /// Result `n` of a former with several: of `mapAccum` the final states, then the outputs.
    pub fn result(&mut self, t: TermId, n: usize) -> Result<TermId> {
        let Some(ty) = self.result_type(t, n) else {
            let message = format!("{} has no result {n}", self.node(t).name());
            return Err(self.at(Error::type_error("result", message)));
        };
        self.make(Node::Result(t, n as u32), ty)
    }

    /// Opens a region and returns its parameters. Until [`Builder::close`], terms may use them.
    pub fn open(&mut self, params: &[Param]) -> Result<Vec<TermId>> {
        if self.open.len() >= MAX_NESTING {
            let message = format!("lambdas nested deeper than {MAX_NESTING}");
            return Err(self.at(Error::new(ErrorKind::Limit, "lambda", message)));
        }
        let level = self.open.len() as u8 + 1;
        let mut vars = Vec::with_capacity(params.len());
        for (position, param) in params.iter().enumerate() {
            let ty = match param {
                Param::Index(_) => Type::scalar(Dtype::I64),
                Param::Value(ty) => ty.clone(),
            };
            let param = Box::new(param.clone());
            let node = Node::Var { level, position: position as u32, param };
            vars.push(self.make(node, ty)?);
        }
        self.open.push(vars.clone());
        Ok(vars)
    }

    /// Closes the innermost open region with its results. It is closed also when this fails.
    pub fn close(&mut self, results: &[TermId]) -> Result<RegionId> {
        let level = self.open.len() as u8;
        let checked = results.iter().try_for_each(|&t| self.operand("lambda", t));
        let Some(params) = self.open.pop() else {
            return Err(Error::internal("no region is open"));
        };
        checked?;
        let region = Region { level, params: params.into(), results: results.into() };
        let hash = FxBuildHasher.hash_one(&region);
        let regions = &self.arena.regions;
        if let Some(&r) = self.region_table.find(hash, |r| regions[r.index()] == region) {
            return Ok(r);
        }
        let r = RegionId(regions.len() as u32);
        self.arena.regions.push(region);
        let regions = &self.arena.regions;
        self.region_table.insert_unique(hash, r, |r| FxBuildHasher.hash_one(&regions[r.index()]));
        Ok(r)
    }

    /// Abandons the innermost open region, for recovery from an error inside it.
    pub fn abandon(&mut self) {
        self.open.pop();
    }

    /// The number of open regions.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// A region from a function of its parameters.
    pub fn lambda(
        &mut self,
        params: &[Param],
        body: impl FnOnce(&mut Builder, &[TermId]) -> Result<Vec<TermId>>,
    ) -> Result<RegionId> {
        let vars = self.open(params)?;
        match body(self, &vars) {
            Ok(results) => self.close(&results),
            Err(error) => {
                self.abandon();
                Err(error)
            }
        }
    }

    /// An index function: index variables of the given sizes to an index.
    pub fn index_function(
        &mut self,
        sizes: &[usize],
        body: impl FnOnce(&mut Builder, &[TermId]) -> Result<Vec<TermId>>,
    ) -> Result<RegionId> {
        let params: Vec<Param> = sizes.iter().map(|&k| Param::Index(k)).collect();
        self.lambda(&params, body)
    }

    /// `build1 k (\i -> t)` from a function of the index.
    pub fn build(
        &mut self,
        k: usize,
        body: impl FnOnce(&mut Builder, TermId) -> Result<TermId>,
    ) -> Result<TermId> {
        let region = self.index_function(&[k], |b, is| Ok(vec![body(b, is[0])?]))?;
        self.build1(region)
    }

    // ---- checks -------------------------------------------------------------------------------

    /// The error, at the current place.
    pub(crate) fn at(&self, error: Error) -> Error {
        error.with_span(self.span)
    }

    /// A term that may stand as an operand: it exists and is one array.
    pub(crate) fn operand(&self, op: &'static str, t: TermId) -> Result<()> {
        match self.arena.nodes.get(t.index()) {
            None => Err(Error::internal(format!("{op}: a term of another program"))),
            Some(node) if node.has_results() => {
                let message = format!("{} has several results; pick one", node.name());
                Err(self.at(Error::type_error(op, message)))
            }
            Some(_) if self.free(t).innermost() as usize > self.open.len() => Err(self
                .at(Error::type_error(op, "a variable is used outside the lambda that binds it"))),
            Some(_) => Ok(()),
        }
    }

    pub(crate) fn join(&self, op: &'static str, outer: &[usize], inner: &[usize]) -> Result<Shape> {
        Shape::join(op, outer, inner).map_err(|e| self.at(e.into()))
    }

    fn expect_scalar(&self, op: &'static str, what: &str, t: TermId, dtype: Dtype) -> Result<()> {
        let ty = self.ty(t);
        if ty.dtype == dtype && ty.shape.rank() == 0 {
            return Ok(());
        }
        Err(self.at(Error::type_error(op, format!("{what} must be a scalar {dtype}, not {ty}"))))
    }

    fn expect_numeric(&self, op: &'static str, t: TermId) -> Result<()> {
        if self.dtype(t).is_numeric() {
            return Ok(());
        }
        let message = format!("cannot add elements of {}", self.ty(t));
        let hint = "convert it to a numeric type first";
        Err(self.at(Error::type_error(op, message).with_hint(hint)))
    }

    /// The outermost size and the remaining shape.
    fn expect_axis(&self, op: &'static str, t: TermId) -> Result<(usize, Shape)> {
        match self.shape(t).dims().first() {
            Some(&k) => Ok((k, self.shape(t).drop_outer(1))),
            None => Err(self.at(Error::type_error(op, format!("{} has no axes", self.ty(t))))),
        }
    }

    fn expect_index(&self, op: &'static str, t: TermId, ix: &[TermId]) -> Result<()> {
        if ix.len() > self.shape(t).rank() {
            let message = format!("{} indices for {}", ix.len(), self.ty(t));
            return Err(self.at(Error::type_error(op, message)));
        }
        for &i in ix {
            if self.arena.nodes.get(i.index()).is_none() {
                return Err(Error::internal(format!("{op}: a term of another program")));
            }
            self.expect_scalar(op, "an index", i, Dtype::I64)?;
        }
        Ok(())
    }

    /// The sizes of a region whose parameters are all indices.
    fn expect_index_function_params(&self, op: &'static str, r: RegionId) -> Result<Vec<usize>> {
        if self.arena.regions.get(r.index()).is_none() {
            return Err(Error::internal(format!("{op}: a region of another program")));
        }
        let sizes = self.index_sizes(r);
        if sizes.len() != self.region(r).params.len() {
            return Err(self.at(Error::type_error(op, "a parameter is not an index")));
        }
        Ok(sizes.to_vec())
    }

    fn expect_index_function(&self, op: &'static str, r: RegionId) -> Result<Vec<usize>> {
        let sizes = self.expect_index_function_params(op, r)?;
        for &i in &self.region(r).results {
            self.expect_scalar(op, "an index", i, Dtype::I64)?;
        }
        Ok(sizes)
    }
}
