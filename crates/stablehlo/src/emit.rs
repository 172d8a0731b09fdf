//! Programs node by node: one function for each former, here or in the file of its kind.

use cotan_ir::scalar::Op;
use cotan_ir::{
    Custom, CustomKind, Error, Literal, Node, Program, RegionId, Result, Scopes, TermId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::branch::{Item, Plan};
use crate::contract::Contractions;
use crate::options::Options;
use crate::scalar::elementwise;
use crate::value::{Ty, Val, array_literal};
use crate::writer::{Writer, list};

/// Writes the nodes of a program.
pub(crate) struct Emitter<'a> {
    pub program: &'a Program,
    pub options: &'a Options,
    pub scopes: Scopes,
    pub w: Writer,
    /// Sums of products are taken as they are meant, at any price.
    pub exact: bool,
    /// Whether what is found out about matrix products is collected in `finite`, to be looked at in
    /// the end; not in a block that may not run.
    pub collecting: bool,
    /// Whether the results of matrix products are finite, so that they are what is meant.
    pub finite: Vec<Val>,
    /// Whether the steps of a loop are being written one after the other.
    pub unrolling: bool,
    pub contractions: Contractions,
    /// Of positions of extremes, by their names, the array and the extreme.
    pub extremes: FxHashMap<String, (Val, Val)>,
    /// The values of nodes in the open blocks, the innermost last. Lambdas at one depth share their
    /// variables, so the values of a lambda are gone when it ends.
    frames: Vec<FxHashMap<TermId, Vec<Val>>>,
}

impl<'a> Emitter<'a> {
    /// `exact` if sums of products are to be taken as they are meant, at any price.
    pub fn new(program: &'a Program, options: &'a Options, exact: bool, w: Writer) -> Emitter<'a> {
        Emitter {
            program,
            options,
            scopes: Scopes::new(program),
            w,
            exact,
            collecting: true,
            finite: Vec::new(),
            unrolling: false,
            contractions: Contractions::new(program, exact, options.small_products),
            extremes: FxHashMap::default(),
            frames: vec![FxHashMap::default()],
        }
    }

    /// Writes the whole program; gives its outputs.
    pub fn run(&mut self) -> Result<Vec<Val>> {
        let order = self.scopes.top().order().to_vec();
        let results: Vec<TermId> = self.program.outputs().iter().map(|o| o.term).collect();
        self.in_order(&order, &results)?;
        self.values(&results)
    }

    // ---- values -------------------------------------------------------------------------------

    /// The value of a node with one result.
    pub fn value(&self, t: TermId) -> Result<Val> {
        self.result(t, 0)
    }

    pub fn values(&self, ts: &[TermId]) -> Result<Vec<Val>> {
        ts.iter().map(|&t| self.value(t)).collect()
    }

    fn result(&self, t: TermId, n: usize) -> Result<Val> {
        let found = self.frames.iter().rev().find_map(|frame| frame.get(&t));
        found.and_then(|values| values.get(n)).cloned().ok_or_else(|| {
            let name = self.program.node(t).name();
            Error::internal(format!("`{name}` is used before it is written"))
        })
    }

    fn set(&mut self, t: TermId, values: Vec<Val>) {
        if let Some(frame) = self.frames.last_mut() {
            frame.insert(t, values);
        }
    }

    // ---- blocks -------------------------------------------------------------------------------

    /// The given results of a lambda at arguments, written in the current block.
    pub fn call(&mut self, r: RegionId, args: &[Val], results: &[TermId]) -> Result<Vec<Val>> {
        let order = self.needed(r, results);
        self.frames.push(FxHashMap::default());
        for (&param, arg) in self.program.region(r).params().iter().zip(args) {
            self.set(param, vec![arg.clone()]);
        }
        self.in_order(&order, results)?;
        let found = self.values(results);
        self.frames.pop();
        found
    }

    /// The nodes of a lambda that some of its results need, variables left out.
    fn needed(&self, r: RegionId, results: &[TermId]) -> Vec<TermId> {
        let is_var = |t: &TermId| matches!(self.program.node(*t), Node::Var { .. });
        let all = self.needed_with_variables(r, results);
        all.into_iter().filter(|t| !is_var(t)).collect()
    }

    pub fn needed_with_variables(&self, r: RegionId, results: &[TermId]) -> Vec<TermId> {
        let order = self.scopes.region(r).order();
        let mut needed: FxHashSet<TermId> = results.iter().copied().collect();
        for &t in order.iter().rev() {
            if needed.contains(&t) {
                self.scopes.for_each_dependency(self.program, t, |u| {
                    needed.insert(u);
                });
            }
        }
        order.iter().copied().filter(|t| needed.contains(t)).collect()
    }

    fn in_order(&mut self, order: &[TermId], results: &[TermId]) -> Result<()> {
        let plan = Plan::new(self.program, &self.scopes, order, results);
        self.items(&plan, &plan.items)
    }

    fn items(&mut self, plan: &Plan, items: &[Item]) -> Result<()> {
        for item in items {
            match *item {
                Item::Node(t) => self.node(t)?,
                Item::Branch(n) => self.branch(plan, n)?,
            }
        }
        Ok(())
    }

    /// Conditions on one truth value, with what only one of the branches needs in its block.
    fn branch(&mut self, plan: &Plan, n: usize) -> Result<()> {
        let group = &plan.groups[n];
        let holds = self.value(group.predicate)?;
        let types: Vec<Ty> =
            group.conditions.iter().map(|&t| Ty::from(self.program.ty(t))).collect();
        let block = |which: usize| {
            let conditions = &group.conditions;
            move |e: &mut Self| {
                e.items(plan, &group.blocks[which])?;
                let chosen = |&t: &TermId| match e.program.node(t) {
                    Node::Cond(_, u, v) => e.value(if which == 0 { *u } else { *v }),
                    _ => Err(Error::internal("a group of something else than conditions")),
                };
                conditions.iter().map(chosen).collect()
            }
        };
        let values = self.if_else(&holds, &types, block(0), block(1))?;
        for (&t, value) in group.conditions.iter().zip(values) {
            self.set(t, vec![value]);
        }
        Ok(())
    }

    /// One of two blocks by a scalar.
    pub fn if_else(
        &mut self,
        holds: &Val,
        types: &[Ty],
        first: impl FnOnce(&mut Self) -> Result<Vec<Val>>,
        second: impl FnOnce(&mut Self) -> Result<Vec<Val>>,
    ) -> Result<Vec<Val>> {
        let name = self.w.fresh();
        let definition = self.w.definition(&name, types.len());
        self.w.open(format_args!("{definition} = \"stablehlo.if\"({holds}) ({{"));
        self.block(first)?;
        self.w.turn("}, {");
        self.block(second)?;
        self.w.close(format_args!("}}) : ({}) -> ({})", holds.ty, list(types)));
        Ok(self.w.results(&name, types))
    }

    fn block(&mut self, body: impl FnOnce(&mut Self) -> Result<Vec<Val>>) -> Result<()> {
        self.frames.push(FxHashMap::default());
        let collecting = std::mem::replace(&mut self.collecting, false);
        let values = body(self)?;
        self.collecting = collecting;
        self.frames.pop();
        self.w.give(&values);
        Ok(())
    }

    // ---- nodes --------------------------------------------------------------------------------

    /// Writes a node, unless a matrix product stands for it.
    fn node(&mut self, t: TermId) -> Result<()> {
        if self.contractions.inside.contains(&t) {
            return Ok(());
        }
        let span = self.program.span(t);
        let sources = self.program.sources();
        let place = sources.position(span).map(|at| {
            let file = one_line(sources.name(span.file));
            format!("{file}:{}:{}", at.line, at.column)
        });
        // What is written for a part without a place belongs to what is around it.
        let around = self.w.place.clone();
        if place.is_some() {
            self.w.place = place;
        }
        let values = if let Some(convolution) = self.contractions.convolutions.get(&t).cloned() {
            self.convolved(t, &convolution).map(|value| vec![value])
        } else if let Some(contraction) = self.contractions.of.get(&t).cloned() {
            let ty = Ty::from(self.program.ty(t));
            self.contraction(&ty, &contraction).map(|value| vec![value])
        } else {
            self.former(t)
        };
        self.w.place = around;
        self.set(t, values.map_err(|error| error.with_span(span))?);
        Ok(())
    }

    /// A node for which something else stands, written as it is: with the nodes on the way to it that
    /// have not been written.
    pub fn expanded(&mut self, t: TermId, through: &[TermId]) -> Result<Val> {
        let mut hidden: Vec<TermId> = through.to_vec();
        hidden.retain(|u| *u != t && self.contractions.inside.contains(u));
        hidden.sort();
        hidden.dedup();
        self.frames.push(FxHashMap::default());
        for u in hidden {
            let values = self.former(u)?;
            self.set(u, values);
        }
        let found = self.former(t)?.pop();
        self.frames.pop();
        found.ok_or_else(|| Error::internal("a sum without a value"))
    }

    /// The values of a node: one, but for formers with several results.
    fn former(&mut self, t: TermId) -> Result<Vec<Val>> {
        let program = self.program;
        let node = program.node(t);
        let ty = match node {
            Node::MapAccum(m) => return self.map_accum(t, m),
            Node::While(w) => return self.while_accum(t, w),
            Node::Custom(c) => return self.custom(c),
            _ => Ty::from(program.ty(t)),
        };
        if ty.is_empty() {
            return Ok(vec![self.w.zeros(&ty)]);
        }
        Ok(vec![match node {
            Node::Const(c) => self.constant(c),
            Node::Input(n) => Val::new(format!("%arg{n}"), ty),
            Node::Var { .. } => return Err(Error::internal("a variable outside its lambda")),
            Node::Cond(p, u, v) => {
                let [p, u, v] = [*p, *u, *v].map(|u| self.value(u));
                self.w.select(&p?, &u?, &v?)
            }
            Node::Op(Op::Add, args) if let Some(y) = self.add_one_hot(args)? => y,
            Node::Op(op, args) => {
                let args = self.values(args)?;
                elementwise(&mut self.w, *op, &args)?
            }
            Node::Index(u, ix) => self.read(&ty, *u, ix)?,
            Node::SumOuter(u) => {
                let source = self.value(*u)?;
                self.w.sum(&source, &[0])
            }
            Node::Gather(u, r) => self.gather(&ty, *u, *r)?,
            Node::Scatter(_, u, r) => self.scatter(&ty, *u, *r)?,
            Node::Stack(ts) => self.stack(ts)?,
            Node::Replicate(_, u) => {
                let source = self.value(*u)?;
                let axes: Vec<usize> = (1..ty.rank()).collect();
                self.w.broadcast(&source, &axes, &ty.dims)
            }
            Node::Transpose(perm, u) => {
                let source = self.value(*u)?;
                let moved = perm.iter().map(|&k| usize::from(k));
                let axes: Vec<usize> = moved.chain(perm.len()..ty.rank()).collect();
                self.w.transpose(&source, &axes)
            }
            Node::Reshape(_, u) => {
                let source = self.value(*u)?;
                self.w.reshape(&source, &ty.dims)
            }
            Node::Build1(r) => {
                let size = program.index_sizes(*r).to_vec();
                self.tabulated(*r, &size, program.region(*r).results())?.remove(0)
            }
            Node::Iota(_) => self.w.iota(0, &ty.dims),
            Node::OneHot(outer, v, ix) => self.one_hot(&ty, outer, *v, ix)?,
            Node::ArgExtreme(extreme, u) => self.arg_extreme(&ty, *extreme, *u)?,
            Node::ArgSort(u) => self.arg_sort(&ty, *u)?,
            Node::SegmentArg(extreme, _, u, ids) => self.segment_arg(&ty, *extreme, *u, *ids)?,
            Node::Routine(routine, ts) => self.routine(&ty, *routine, ts)?,
            Node::Result(u, n) => self.result(*u, *n as usize)?,
            Node::MapAccum(_) | Node::While(_) | Node::Custom(_) => {
                return Err(Error::internal("a former with several results"));
            }
        }])
    }

    /// The function; its rule is for derivatives.
    fn custom(&mut self, c: &Custom) -> Result<Vec<Val>> {
        let mut args = self.values(&c.args)?;
        if matches!(c.kind, CustomKind::Checkpoint(checkpoint) if checkpoint.again) {
            args = self.w.barrier(&args);
        }
        let results = &self.program.region(c.region).results()[..c.outputs];
        self.call(c.region, &args, results)
    }

    fn constant(&mut self, c: &Literal) -> Val {
        let (literal, known) = array_literal(c);
        let dims = c.shape().dims();
        if let Some(x) = known {
            return self.w.fill(x, dims);
        }
        let flat = Ty::new(c.dtype(), &[c.numel()]);
        let body = format!("stablehlo.constant dense<{literal}> : {flat}");
        let flat = self.w.define(flat, body);
        self.w.reshape(&flat, dims)
    }

    /// Equal-shaped arrays along a new outermost axis.
    fn stack(&mut self, ts: &[TermId]) -> Result<Val> {
        let parts = self.values(ts)?;
        let row = |v: &Val| [&[1], v.ty.dims.as_slice()].concat();
        let rows: Vec<Val> = parts.iter().map(|v| self.w.reshape(v, &row(v))).collect();
        Ok(self.w.concatenate(&rows, 0))
    }
}

/// A name that stays on the line of its comment.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
