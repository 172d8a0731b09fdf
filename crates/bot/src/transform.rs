//! The walk over the source: scope by scope, an image for every node.

use cotan_array::{Array, Dtype};
use cotan_ir::rewrite::Report;
use cotan_ir::scalar::Op;
use cotan_ir::{
    Args, Builder, Error, Node, Output, Param, Program, RegionId, Result, Scopes, TermId, TermSet,
    Type, use_counts,
};

use crate::options::Options;
use crate::order::Captures;
use crate::rules::RULES;

/// How often the transform is repeated at most: a second round pushes indices into computations
/// that lost their other users in the first.
const MAX_ROUNDS: usize = 8;

/// The program without `build1`, with every `index` in normal form, and which rules fired.
pub fn bulk(program: &Program, options: &Options) -> Result<(Program, Report)> {
    let mut report = Report::new(RULES.iter().map(|rule| rule.name), options.trace);
    let mut current = round(program, options, &mut report)?;
    for _ in 1..MAX_ROUNDS {
        if !options.push_index || crate::normal_form(&current).is_ok() {
            break;
        }
        current = round(&current, options, &mut report)?;
    }
    Ok((current, report))
}

fn round(program: &Program, options: &Options, report: &mut Report) -> Result<Program> {
    let scopes = Scopes::new(program);
    let mut bot = Bot {
        b: Builder::with_limits(options.limits, options.cancel.clone()),
        source: program,
        scopes: &scopes,
        counts: use_counts(program),
        images: vec![None; program.len()],
        shared: TermSet::new(),
        captures: Captures::default(),
        options,
        report,
    };
    bot.b.reserve(program.len());
    for (t, input) in bot.b.inputs_of(program)? {
        bot.images[t.index()] = Some(input);
    }
    bot.scope(scopes.top().order())?;
    let mut outputs = Vec::with_capacity(program.outputs().len());
    for output in program.outputs() {
        outputs.push(Output { name: output.name.clone(), term: bot.image(output.term)? });
    }
    bot.b.finish_with_sources(outputs, program.sources().clone())?.normalised()
}

/// The state of the transform: the source, and the result as far as it is made.
pub(crate) struct Bot<'a> {
    /// The result.
    pub(crate) b: Builder,
    pub(crate) source: &'a Program,
    scopes: &'a Scopes,
    counts: Vec<u32>,
    /// What stands for each node of the source.
    images: Vec<Option<TermId>>,
    /// Terms of the result that more than one place uses: the report's variables.
    pub(crate) shared: TermSet,
    pub(crate) captures: Captures,
    pub(crate) options: &'a Options,
    pub(crate) report: &'a mut Report,
}

/// Whether an index is in range: known, or by a condition.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Range {
    Inside,
    Outside,
    If(TermId),
}

/// Fires a rule of the table: `rule!(bot, "name", before, type, after)`.
macro_rules! rule {
    ($bot:expr, $name:literal, $before:expr, $expected:expr, $after:expr) => {{
        let rule = cotan_ir::rule_number!(crate::rules::RULES, $name);
        let (after, before, expected) = ($after, $before, $expected);
        $bot.report.fire(rule, &mut $bot.b, before, Some(&expected), after)
    }};
}
pub(crate) use rule;

impl Bot<'_> {
    pub(crate) fn image(&self, t: TermId) -> Result<TermId> {
        let missing = || Error::internal(format!("node {} has no image", t.index()));
        self.images[t.index()].ok_or_else(missing)
    }

    pub(crate) fn images(&self, ts: &[TermId]) -> Result<Args> {
        ts.iter().map(|&t| self.image(t)).collect()
    }

    /// Images for the nodes of a scope, in order.
    fn scope(&mut self, order: &[TermId]) -> Result<()> {
        for &t in order {
            if self.images[t.index()].is_some() {
                continue;
            }
            self.b.set_span(self.source.span(t));
            let image = self.node(t)?;
            self.images[t.index()] = Some(image);
            self.b.also_from(image, self.source.span(t));
            if self.counts[t.index()] > 1 && !self.b.is_atom(image) {
                self.shared.insert(image);
            }
        }
        Ok(())
    }

    /// The image of one node whose dependencies have images.
    fn node(&mut self, t: TermId) -> Result<TermId> {
        let node = self.source.node(t);
        match node {
            Node::Build1(r) => self.build(*r),
            Node::Index(u, ix) => {
                let (u, ix) = (self.image(*u)?, self.images(ix)?);
                self.push_index(u, &ix)
            }
            Node::Op(Op::Select, args) => match self.drop_guard(args[0], args[1], args[2])? {
                Some(image) => Ok(image),
                None => {
                    let (p, u, v) = self.choice(args[0], args[1], args[2])?;
                    self.b.op(Op::Select, &[p, u, v])
                }
            },
            Node::Cond(p, u, v) => match self.drop_guard(*p, *u, *v)? {
                Some(image) => Ok(image),
                None => {
                    let (p, u, v) = self.choice(*p, *u, *v)?;
                    self.b.cond(p, u, v)
                }
            },
            Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Op(..) => {
                self.remake(node, None)
            }
            Node::SumOuter(_) | Node::Stack(_) | Node::Replicate(..) | Node::Transpose(..) => {
                self.remake(node, None)
            }
            Node::Reshape(..) | Node::Iota(_) | Node::OneHot(..) | Node::ArgExtreme(..) => {
                self.remake(node, None)
            }
            Node::ArgSort(_) | Node::SegmentArg(..) | Node::Routine(..) | Node::Result(..) => {
                self.remake(node, None)
            }
            Node::Gather(_, r) | Node::Scatter(_, _, r) => {
                let region = self.region(*r, true)?;
                self.remake(node, Some(region))
            }
            Node::MapAccum(m) => {
                let region = self.region(m.step, false)?;
                self.remake(node, Some(region))
            }
            Node::While(w) => {
                let region = self.region(w.step, false)?;
                self.remake(node, Some(region))
            }
            Node::Custom(c) => {
                let region = self.region(c.region, false)?;
                self.remake(node, Some(region))
            }
        }
    }

    /// The images of a condition and its branches.
    fn choice(&mut self, p: TermId, u: TermId, v: TermId) -> Result<(TermId, TermId, TermId)> {
        let (p, u, v) = (self.image(p)?, self.image(u)?, self.image(v)?);
        let (u, v) = self.at_equal(p, u, v)?.unwrap_or((u, v));
        Ok((p, u, v))
    }

    fn remake(&mut self, node: &Node, region: Option<RegionId>) -> Result<TermId> {
        let images = &self.images;
        self.b.remake(node, region, |t| {
            images[t.index()].ok_or_else(|| Error::internal("an operand has no image"))
        })
    }

    /// The image of a region that stays a region. Recursive over the nesting of regions only.
    fn region(&mut self, r: RegionId, index_function: bool) -> Result<RegionId> {
        let results = self.open_body(r)?;
        let results = if index_function { self.normalise_all(&results)?.into() } else { results };
        self.forget_body(r);
        self.b.close(&results)
    }

    /// `build1 k (\i -> t)`: the body first, then it is vectorised.
    fn build(&mut self, r: RegionId) -> Result<TermId> {
        let k = self.source.index_sizes(r).first().copied().unwrap_or(0);
        let results = self.open_body(r)?;
        self.forget_body(r);
        self.b.abandon();
        let level = self.b.depth() as u8 + 1;
        match results.as_slice() {
            &[body] => self.vectorise(level, k, body),
            _ => Err(Error::internal("a build without one result")),
        }
    }

    /// Opens the image of a region and transforms its nodes; the images of its results.
    fn open_body(&mut self, r: RegionId) -> Result<Args> {
        let region = self.source.region(r);
        let mut params = Vec::with_capacity(region.params().len());
        for &p in region.params() {
            match self.source.node(p) {
                Node::Var { param, .. } => params.push((**param).clone()),
                _ => return Err(Error::internal("a parameter that is not a variable")),
            }
        }
        let vars = self.b.open(&params)?;
        for (&p, &var) in region.params().iter().zip(&vars) {
            self.images[p.index()] = Some(var);
        }
        self.scope(self.scopes.region(r).order())?;
        self.images(region.results())
    }

    /// Forgets the images of a region's nodes: a sibling may use them with other variables.
    fn forget_body(&mut self, r: RegionId) {
        let region = self.source.region(r);
        for &t in self.scopes.region(r).order().iter().chain(region.params()) {
            self.images[t.index()] = None;
        }
    }

    // ---- small terms ----------------------------------------------------------------------------

    /// Zero (or `false`) of a type.
    pub(crate) fn zeros(&mut self, ty: &Type) -> Result<TermId> {
        let zero = match ty.dtype {
            Dtype::F64 => Array::scalar(0.0f64),
            Dtype::F32 => Array::scalar(0.0f32),
            Dtype::I64 => Array::scalar(0i64),
            Dtype::Bool => Array::scalar(false),
        };
        let zero = self.b.constant(&zero)?;
        self.broadcast(zero, ty.shape.dims())
    }

    /// A scalar repeated to a shape.
    pub(crate) fn broadcast(&mut self, t: TermId, dims: &[usize]) -> Result<TermId> {
        let mut t = t;
        for &k in dims.iter().rev() {
            t = self.b.replicate(k, t)?;
        }
        Ok(t)
    }

    /// Whether an index lies in `0 .. size`, as far as its interval does not say.
    pub(crate) fn in_range(&mut self, index: TermId, size: usize) -> Result<Range> {
        let bounds = self.b.bounds(index);
        if bounds.is_empty() {
            return Ok(Range::Inside);
        }
        if bounds.hi < 0 || i128::from(bounds.lo) >= size as i128 {
            return Ok(Range::Outside);
        }
        let mut range = Range::Inside;
        if bounds.lo < 0 {
            let zero = self.b.scalar(0i64)?;
            range = Range::If(self.b.op(Op::Ge, &[index, zero])?);
        }
        if i128::from(bounds.hi) >= size as i128 {
            let size = self.b.scalar(size as i64)?;
            let below = Range::If(self.b.op(Op::Lt, &[index, size])?);
            range = self.both(range, below)?;
        }
        Ok(range)
    }

    /// The conjunction.
    pub(crate) fn both(&mut self, a: Range, b: Range) -> Result<Range> {
        Ok(match (a, b) {
            (Range::Outside, _) | (_, Range::Outside) => Range::Outside,
            (Range::Inside, other) | (other, Range::Inside) => other,
            (Range::If(a), Range::If(b)) => Range::If(self.b.op(Op::And, &[a, b])?),
        })
    }

    /// `mask(c, t)`: `t` where the condition holds, zeros elsewhere.
    pub(crate) fn mask(&mut self, range: Range, t: TermId) -> Result<TermId> {
        let ty = self.b.ty(t).clone();
        match range {
            Range::Inside => Ok(t),
            Range::Outside => self.zeros(&ty),
            Range::If(_) if self.is_zero(t) => Ok(t),
            Range::If(condition) => {
                let zeros = self.zeros(&ty)?;
                match ty.shape.rank() {
                    0 => self.b.op(Op::Select, &[condition, t, zeros]),
                    _ => self.b.cond(condition, t, zeros),
                }
            }
        }
    }

    /// The type with one more outermost axis.
    pub(crate) fn batched(&self, k: usize, ty: &Type) -> Result<Type> {
        Ok(Type::new(ty.dtype, ty.shape.cons("build", k)?))
    }

    /// The parameter specifications of index variables.
    pub(crate) fn index_params(sizes: &[usize]) -> Vec<Param> {
        sizes.iter().map(|&k| Param::Index(k)).collect()
    }
}
