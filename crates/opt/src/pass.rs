//! The walk over the source: scope by scope, an image for every node, simplified as it is made.
//!
//! Every constructor of [`Opt`] makes the node as it stands and asks the rules of its former for a
//! better one. Operands are simplified already, so one walk reaches most of the fixed point; what it
//! misses, as it depends on how often something is used, later rounds find.

use std::borrow::Cow;

use cotan_ir::magnitude::Magnitudes;
use cotan_ir::rewrite::Report;
use cotan_ir::scalar::Op;
use cotan_ir::{
    Builder, Error, Limits, Node, Output, Param, Program, RegionId, Result, Scopes, TermCounts,
    TermId, TermSet, use_counts,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::merge::{Merged, merged};
use crate::options::Options;
use crate::rules::RULES;
use crate::stored::{LoopStores, stored};

/// How often the walk is repeated at most.
const MAX_ROUNDS: usize = 8;

/// Rules that lead to rules do so at most this deep. Far more than any chain of rules needs.
const MAX_DEPTH: usize = 48;

/// A program of the same meaning that does less work, and which rules fired.
///
/// The program is meant to be run, not to be differentiated: functions with a derivative of their own
/// are replaced by what they compute. Takes programs of bulk operations and leaves what is under a
/// `build` alone.
///
/// The only change of values is that of rounding, where the table of rules says so; programs that
/// compute without rounding give the same results.
pub fn optimise(program: &Program, options: &Options) -> Result<(Program, Report)> {
    rounds(Cow::Borrowed(program), options)
}

/// As [`optimise`], for a program that nobody needs any more: its memory is free as soon as it was
/// walked through.
pub fn optimise_owned(program: Program, options: &Options) -> Result<(Program, Report)> {
    rounds(Cow::Owned(program), options)
}

fn rounds(program: Cow<'_, Program>, options: &Options) -> Result<(Program, Report)> {
    let mut report = Report::new(RULES.iter().map(|rule| rule.name), options.trace);
    let mut current = program;
    for n in 0..MAX_ROUNDS {
        let before = report.total();
        let next = round(&current, options, &mut report)?;
        if n > 0 && report.total() == before {
            break;
        }
        drop(current);
        current = Cow::Owned(next.normalised()?);
    }
    Ok((current.into_owned(), report))
}

/// The program after one walk, with what nothing uses any more.
fn round(program: &Program, options: &Options, report: &mut Report) -> Result<Program> {
    let scopes = Scopes::new(program);
    let merged = merged(program, &scopes, options);
    let limits = Limits { deadline: options.deadline, ..Limits::default() };
    let mut opt = Opt {
        b: Builder::with_limits(limits, options.cancel.clone()),
        source: program,
        scopes: &scopes,
        counts: counts(program),
        gathers: gather_counts(program),
        searches: read_once(program),
        images: vec![None; program.len()],
        results: FxHashMap::default(),
        used_results: used_results(program),
        stored: stored(program, &scopes, &merged, options),
        merged,
        made_before: FxHashSet::default(),
        kept: FxHashMap::default(),
        uses: TermCounts::new(),
        gathered: FxHashMap::default(),
        searched: TermSet::new(),
        simple: TermSet::new(),
        done: FxHashMap::default(),
        depth: 0,
        magnitudes: Magnitudes::default(),
        options,
        report,
    };
    opt.b.reserve(program.len());
    for (t, input) in opt.b.inputs_of(program)? {
        opt.images[t.index()] = Some(input);
    }
    opt.scope(scopes.top().order())?;
    let mut outputs = Vec::with_capacity(program.outputs().len());
    for output in program.outputs() {
        outputs.push(Output { name: output.name.clone(), term: opt.image(output.term)? });
    }
    opt.b.finish_with_sources(outputs, program.sources().clone())
}

/// How often each node of a program is used.
fn counts(program: &Program) -> TermCounts {
    let mut counts = TermCounts::new();
    for (t, uses) in program.terms().zip(use_counts(program)) {
        counts.add(t, uses);
    }
    counts
}

/// Gathers from an array.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reads {
    pub count: u32,
    /// How many elements they read together.
    pub elements: u64,
}

impl Reads {
    fn and(self, other: Reads) -> Reads {
        Reads {
            count: self.count.saturating_add(other.count),
            elements: self.elements.saturating_add(other.elements),
        }
    }
}

/// The gathers from each node.
fn gather_counts(program: &Program) -> FxHashMap<TermId, Reads> {
    let live = cotan_ir::live_nodes(program, program.outputs().iter().map(|o| o.term));
    let mut counts: FxHashMap<TermId, Reads> = FxHashMap::default();
    for t in program.terms().filter(|t| live[t.index()]) {
        if let Node::Gather(u, _) = program.node(t) {
            let elements = program.shape(t).numel() as u64;
            let reads = counts.entry(*u).or_default();
            *reads = reads.and(Reads { count: 1, elements });
        }
    }
    counts
}

/// The searches whose positions are read at one place: a component of one index function or index.
fn read_once(program: &Program) -> TermSet {
    let live = cotan_ir::live_nodes(program, program.outputs().iter().map(|o| o.term));
    // A region that several nodes have counts for each of them.
    let mut uses = use_counts(program);
    let mut seen = vec![false; program.region_count()];
    for t in program.terms().filter(|t| live[t.index()]) {
        if let Some(r) = program.node(t).region()
            && std::mem::replace(&mut seen[r.index()], true)
        {
            program.region(r).results().iter().for_each(|u| uses[u.index()] += 1);
        }
    }
    let mut found = TermSet::new();
    for t in program.terms().filter(|t| live[t.index()]) {
        let Node::Index(u, ix) = program.node(t) else { continue };
        let once = |t: TermId| uses[t.index()] == 1 && is_search(program, t);
        for &i in ix.iter().filter(|&&i| once(i)) {
            found.insert(i);
        }
        if once(*u) && uses[t.index()] == 1 {
            found.insert(*u);
        }
    }
    found
}

fn is_search(program: &Program, t: TermId) -> bool {
    matches!(program.node(t), Node::ArgExtreme(..))
}

/// Which results of each loop are read.
fn used_results(program: &Program) -> FxHashMap<TermId, Vec<bool>> {
    let live = cotan_ir::live_nodes(program, program.outputs().iter().map(|o| o.term));
    let mut used: FxHashMap<TermId, Vec<bool>> = FxHashMap::default();
    for t in program.terms().filter(|t| live[t.index()]) {
        if let Node::Result(u, n) = program.node(t) {
            let count = program.result_count(*u).unwrap_or(0);
            let slots = used.entry(*u).or_insert_with(|| vec![false; count]);
            if let Some(slot) = slots.get_mut(*n as usize) {
                *slot = true;
            }
        }
    }
    used
}

/// The state of the optimiser: the source, and the result as far as it is made.
pub(crate) struct Opt<'a> {
    /// The result.
    pub b: Builder,
    pub source: &'a Program,
    pub scopes: &'a Scopes,
    /// How often each node of the source is used.
    counts: TermCounts,
    /// The gathers from each node of the source.
    gathers: FxHashMap<TermId, Reads>,
    /// The searches of the source whose positions are read at one place.
    searches: TermSet,
    /// What stands for each node of the source.
    images: Vec<Option<TermId>>,
    /// What stands for the results of each loop of the source; none for those that nothing reads.
    pub results: FxHashMap<TermId, Vec<Option<TermId>>>,
    pub used_results: FxHashMap<TermId, Vec<bool>>,
    /// Loops of the source that become one.
    pub merged: Merged,
    /// Those of the scope at hand that were made with an earlier one.
    pub made_before: FxHashSet<TermId>,
    /// What loops of the source store for each other.
    pub stored: LoopStores,
    /// What stands for it: by the loop, and the term of its step.
    pub kept: FxHashMap<(TermId, TermId), TermId>,
    /// How often nodes of the result are used, as far as the source says.
    uses: TermCounts,
    /// The gathers from them.
    gathered: FxHashMap<TermId, Reads>,
    /// Those that stand for searches whose positions are read at one place.
    searched: TermSet,
    /// Nodes of the result that rules have nothing to say about, and what others were simplified to.
    simple: TermSet,
    done: FxHashMap<TermId, TermId>,
    depth: usize,
    /// How large the elements of the result may be.
    pub magnitudes: Magnitudes,
    pub options: &'a Options,
    pub report: &'a mut Report,
}

/// A rule that fired, and what it made.
pub(crate) type Fired = Option<(usize, TermId)>;

/// The number of a rule of the table; a name that is not there does not compile.
macro_rules! rule {
    ($name:literal) => {
        cotan_ir::rule_number!(crate::rules::RULES, $name)
    };
}
pub(crate) use rule;

impl Opt<'_> {
    /// What stands for a node of the source.
    pub fn image(&self, t: TermId) -> Result<TermId> {
        let image = self.images.get(t.index()).copied().flatten();
        image.ok_or_else(|| Error::internal(format!("node {} has no image", t.index())))
    }

    /// What stands for nodes of the source.
    pub fn all_images(&self, ts: &[TermId]) -> Result<Vec<TermId>> {
        ts.iter().map(|&t| self.image(t)).collect()
    }

    /// Whether something stands for a node of the source.
    pub fn has_image(&self, t: TermId) -> bool {
        self.images.get(t.index()).is_some_and(Option::is_some)
    }

    /// Lets `image` stand for a node of the source.
    pub fn set_image(&mut self, t: TermId, image: TermId) {
        if let Some(slot) = self.images.get_mut(t.index()) {
            *slot = Some(image);
        }
        self.b.also_from(image, self.source.span(t));
        self.uses.add(image, self.counts.get(t));
        if let Some(&gathers) = self.gathers.get(&t) {
            let before = self.gathered.entry(image).or_default();
            *before = before.and(gathers);
        }
        if self.searches.contains(t) {
            self.searched.insert(image);
        }
    }

    /// Forgets images, as another region may use the same nodes with other variables.
    pub fn forget(&mut self, ts: &[TermId]) {
        for t in ts {
            if let Some(slot) = self.images.get_mut(t.index()) {
                *slot = None;
            }
            if !self.made_before.is_empty() {
                self.made_before.remove(t);
            }
        }
    }

    /// Whether at most one place uses a term, as far as is known.
    pub fn used_once(&self, t: TermId) -> bool {
        self.use_count(t) <= 1
    }

    /// Whether the positions that a search finds are read at one place, as far as is known.
    pub fn read_once(&self, search: TermId) -> bool {
        self.used_once(search) && self.searched.contains(search)
    }

    /// How many places use a term, as far as is known.
    pub fn use_count(&self, t: TermId) -> u32 {
        self.uses.get(t)
    }

    /// The gathers from a term, if it is used for nothing else, as far as is known.
    pub fn only_gathered(&self, t: TermId) -> Option<Reads> {
        let gathered = self.gathered.get(&t).copied().filter(|reads| reads.count > 0)?;
        (self.use_count(t) == gathered.count).then_some(gathered)
    }

    /// Images for all nodes of a scope.
    pub fn scope(&mut self, order: &[TermId]) -> Result<()> {
        for &t in order {
            if self.images[t.index()].is_some() {
                continue;
            }
            let before = self.b.set_span(self.source.span(t));
            let image = self.node(t);
            self.b.set_span(before);
            if let Some(image) = image? {
                self.set_image(t, image);
            }
        }
        Ok(())
    }

    /// The image of a node whose operands have images; none for a loop, which has several results.
    fn node(&mut self, t: TermId) -> Result<Option<TermId>> {
        let source = self.source;
        match source.node(t) {
            Node::MapAccum(m) => self.map_accum(t, m)?,
            Node::While(w) => self.while_loop(t, w)?,
            Node::Custom(c) => self.custom(t, c)?,
            Node::Result(u, n) => {
                let image = self.results.get(u).and_then(|r| r.get(*n as usize)).copied().flatten();
                let missing = || Error::internal("a result of a loop that is not there");
                return image.ok_or_else(missing).map(Some);
            }
            node @ (Node::Gather(_, r) | Node::Scatter(_, _, r) | Node::Build1(r)) => {
                let region = Some(self.region(*r)?);
                let images = &self.images;
                let raw = self.b.remake(node, region, |u| {
                    images[u.index()].ok_or_else(|| Error::internal("an operand has no image"))
                })?;
                return self.simplify(raw).map(Some);
            }
            node @ (Node::Const(_)
            | Node::Cond(..)
            | Node::Op(..)
            | Node::Index(..)
            | Node::SumOuter(_)
            | Node::Stack(_)
            | Node::Replicate(..)
            | Node::Transpose(..)
            | Node::Reshape(..)
            | Node::Iota(_)
            | Node::OneHot(..)
            | Node::ArgExtreme(..)
            | Node::ArgSort(_)
            | Node::SegmentArg(..)
            | Node::Routine(..)) => {
                let images = &self.images;
                let raw = self.b.remake(node, None, |u| {
                    images[u.index()].ok_or_else(|| Error::internal("an operand has no image"))
                })?;
                return self.simplify(raw).map(Some);
            }
            Node::Input(_) | Node::Var { .. } => {
                return Err(Error::internal("an input or variable has no image"));
            }
        }
        Ok(None)
    }

    /// The image of a region whose parameters stay. Recursive over the nesting of regions only.
    fn region(&mut self, r: RegionId) -> Result<RegionId> {
        let region = self.source.region(r);
        let vars = self.b.open(&self.params(region.params()))?;
        for (&p, &var) in region.params().iter().zip(&vars) {
            self.set_image(p, var);
        }
        let results = self
            .scope(self.scopes.region(r).order())
            .and_then(|()| self.all_images(region.results()));
        self.forget(self.scopes.region(r).order());
        self.forget(region.params());
        match results {
            Ok(results) => self.b.close(&results),
            Err(error) => {
                self.b.abandon();
                Err(error)
            }
        }
    }

    /// What parameters of the source stand for.
    pub fn params(&self, params: &[TermId]) -> Vec<Param> {
        let param = |p: &TermId| match self.source.node(*p) {
            Node::Var { param, .. } => Some((**param).clone()),
            _ => None,
        };
        params.iter().filter_map(param).collect()
    }

    /// What the rules make of a node whose operands are simplified.
    pub fn simplify(&mut self, raw: TermId) -> Result<TermId> {
        if self.simple.contains(raw) {
            return Ok(raw);
        }
        if let Some(&t) = self.done.get(&raw) {
            return Ok(t);
        }
        if self.depth >= MAX_DEPTH {
            return Ok(raw);
        }
        self.depth += 1;
        let fired = self.rules_of(raw);
        self.depth -= 1;
        let after = match fired? {
            Some((_, after)) if after == raw => raw,
            Some((rule, after)) => self.report.fire(rule, &mut self.b, raw, None, after)?,
            None => raw,
        };
        match after == raw {
            true => drop(self.simple.insert(raw)),
            false => drop(self.done.insert(raw, after)),
        }
        Ok(after)
    }

    fn rules_of(&mut self, raw: TermId) -> Result<Fired> {
        match self.b.node(raw).clone() {
            Node::Const(c) => self.const_rules(&c),
            Node::Op(op, args) => self.op_rules(raw, op, &args),
            Node::Cond(p, u, v) => self.cond_rules(p, u, v),
            Node::Index(t, ix) => self.index_rules(raw, t, &ix),
            Node::SumOuter(t) => self.sum_rules(raw, t),
            Node::Gather(t, r) => self.gather_rules(raw, t, r),
            Node::Scatter(outer, t, r) => self.scatter_rules(raw, &outer, t, r),
            Node::Stack(ts) => self.stack_rules(&ts),
            Node::Replicate(..) => self.view_rules(raw, rule!("view/replicate")),
            Node::Transpose(..) => self.view_rules(raw, rule!("view/transpose")),
            Node::Reshape(_, t) => self.reshape_rules(raw, t),
            Node::OneHot(_, v, ix) => self.one_hot_rules(raw, v, &ix),
            Node::Input(_) | Node::Var { .. } | Node::Iota(_) | Node::Build1(_) => Ok(None),
            Node::ArgExtreme(..) | Node::ArgSort(_) | Node::SegmentArg(..) => Ok(None),
            Node::Routine(..) => Ok(None),
            Node::MapAccum(_) | Node::While(_) | Node::Custom(_) | Node::Result(..) => Ok(None),
        }
    }

    // ---- constructors -------------------------------------------------------------------------

    pub fn op(&mut self, op: Op, args: &[TermId]) -> Result<TermId> {
        let raw = self.b.op(op, args)?;
        self.simplify(raw)
    }

    pub fn index(&mut self, t: TermId, ix: &[TermId]) -> Result<TermId> {
        let raw = self.b.index(t, ix)?;
        self.simplify(raw)
    }

    pub fn sum(&mut self, t: TermId) -> Result<TermId> {
        let raw = self.b.sum_outer(t)?;
        self.simplify(raw)
    }

    pub fn gather(&mut self, t: TermId, r: RegionId) -> Result<TermId> {
        let raw = self.b.gather(t, r)?;
        self.simplify(raw)
    }

    pub fn scatter(&mut self, outer: &[usize], t: TermId, r: RegionId) -> Result<TermId> {
        let raw = self.b.scatter(outer, t, r)?;
        self.simplify(raw)
    }

    pub fn reshape(&mut self, dims: &[usize], t: TermId) -> Result<TermId> {
        let raw = self.b.reshape(dims, t)?;
        self.simplify(raw)
    }

    pub fn one_hot(&mut self, outer: &[usize], v: TermId, ix: &[TermId]) -> Result<TermId> {
        let raw = self.b.one_hot(outer, v, ix)?;
        self.simplify(raw)
    }

    /// An index function of variables of the given sizes.
    pub fn index_function(
        &mut self,
        sizes: &[usize],
        body: impl FnOnce(&mut Self, &[TermId]) -> Result<Vec<TermId>>,
    ) -> Result<RegionId> {
        let params: Vec<Param> = sizes.iter().map(|&k| Param::Index(k)).collect();
        let vars = self.b.open(&params)?;
        match body(self, &vars) {
            Ok(results) => self.b.close(&results),
            Err(error) => {
                self.b.abandon();
                Err(error)
            }
        }
    }
}
