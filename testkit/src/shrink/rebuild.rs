//! A program with one edit made, through the typed constructors.

use cotan_array::{Array, Dtype, Element, Shape};
use cotan_ir::{
    Builder, Custom, Error, Literal, MapAccum, Node, Output, Param, Program, RegionId, Result,
    Scopes, TermId, Type, While, live_nodes,
};

use super::edit::{Edit, parts};
use crate::ending::most_steps;

/// The program after an edit, without dead nodes; an error when the edit does not fit.
pub(super) fn rebuild(source: &Program, edit: &Edit) -> Result<Program> {
    let keep = |n: usize| match edit {
        Edit::KeepOutput(k) => n == *k,
        Edit::DropOutput(k) => n != *k,
        _ => true,
    };
    let kept = source.outputs().iter().enumerate().filter(|(n, _)| keep(*n)).map(|(_, o)| o);
    let mut outputs: Vec<Output> = kept.cloned().collect();
    match edit {
        Edit::Output(n, u) => outputs[*n].term = *u,
        Edit::Parts(n) => {
            let whole = outputs.remove(*n).term;
            add_parts(source, whole, &mut outputs);
        }
        Edit::Cut(t) => add_parts(source, *t, &mut outputs),
        _ => {}
    }
    if outputs.is_empty() {
        return Err(Error::internal("a program without outputs has no faults"));
    }
    let scopes = Scopes::of(source, &outputs);
    let images = vec![None; source.len()];
    let mut rebuilder = Rebuilder { source, scopes: &scopes, edit, b: Builder::new(), images };
    rebuilder.inputs(&outputs)?;
    rebuilder.scope(scopes.top().order())?;
    let mut rebuilt = Vec::with_capacity(outputs.len());
    for output in outputs {
        rebuilt.push(Output { name: output.name, term: rebuilder.image(output.term)? });
    }
    rebuilder.b.finish(rebuilt)?.normalised()
}

/// Makes what a term is made from further outputs, named if others are.
fn add_parts(source: &Program, whole: TermId, outputs: &mut Vec<Output>) {
    let named = source.outputs().iter().any(|o| !o.name.is_empty());
    for term in parts(source, &Scopes::new(source), whole) {
        let taken: Vec<&str> = outputs.iter().map(|o| o.name.as_str()).collect();
        let name = if named { unused("o", &taken) } else { String::new() };
        outputs.push(Output { name, term });
    }
}

/// `prefix` with the first number that gives a name not taken.
fn unused(prefix: &str, taken: &[&str]) -> String {
    let free = |name: &String| !taken.contains(&name.as_str());
    (0..).map(|n| format!("{prefix}{n}")).find(free).unwrap_or_default()
}

struct Rebuilder<'a> {
    source: &'a Program,
    scopes: &'a Scopes,
    edit: &'a Edit,
    b: Builder,
    images: Vec<Option<TermId>>,
}

impl Rebuilder<'_> {
    fn image(&self, t: TermId) -> Result<TermId> {
        let missing = || Error::internal("a replacement is out of scope");
        self.images[t.index()].ok_or_else(missing)
    }

    fn all(&self, ts: &[TermId]) -> Result<Vec<TermId>> {
        ts.iter().map(|&t| self.image(t)).collect()
    }

    fn size(&self, k: usize) -> usize {
        match self.edit {
            Edit::Resize { from, to } if *from == k => *to,
            _ => k,
        }
    }

    fn dims(&self, shape: &Shape) -> Vec<usize> {
        shape.dims().iter().map(|&k| self.size(k)).collect()
    }

    fn ty(&self, ty: &Type) -> Result<Type> {
        Ok(Type::new(ty.dtype, Shape::new("shrink", &self.dims(&ty.shape))?))
    }

    fn inputs(&mut self, outputs: &[Output]) -> Result<()> {
        let live = live_nodes(self.source, outputs.iter().map(|o| o.term));
        for t in self.source.terms() {
            let Node::Input(k) = self.source.node(t) else { continue };
            if *self.edit == Edit::DropInput(*k as usize) && !live[t.index()] {
                continue;
            }
            let input = &self.source.inputs()[*k as usize];
            let ty = self.ty(&input.ty)?;
            self.images[t.index()] = Some(self.b.input(input.name.clone(), ty)?);
        }
        Ok(())
    }

    fn scope(&mut self, order: &[TermId]) -> Result<()> {
        for &t in order {
            if self.images[t.index()].is_none() {
                self.images[t.index()] = Some(self.edited(t)?);
            }
        }
        Ok(())
    }

    /// The image of a node whose dependencies have images.
    fn edited(&mut self, t: TermId) -> Result<TermId> {
        match self.edit {
            Edit::Zero(u) | Edit::Cut(u) if *u == t => {
                let ty = self.source.ty(t);
                self.b.constant(&Array::zeros(ty.dtype, ty.shape.clone())?)
            }
            Edit::Input(u) if *u == t => {
                let taken: Vec<&str> = self.b.inputs().iter().map(|i| i.name.as_str()).collect();
                let name = unused("z", &taken);
                self.b.input(name, self.source.ty(t).clone())
            }
            Edit::Replace(u, by) if *u == t => self.image(*by),
            Edit::FirstIndex(u) if *u == t => self.first_index(t),
            _ => self.remake(t),
        }
    }

    fn remake(&mut self, t: TermId) -> Result<TermId> {
        let source = self.source;
        match source.node(t) {
            Node::Const(literal) => {
                let array = self.cut(literal)?;
                self.b.constant(&array)
            }
            Node::Input(_) | Node::Var { .. } => self.image(t),
            Node::Cond(p, u, v) => {
                let (p, u, v) = (self.image(*p)?, self.image(*u)?, self.image(*v)?);
                self.b.cond(p, u, v)
            }
            Node::Op(op, args) => {
                let args = self.all(args)?;
                self.b.op(*op, &args)
            }
            Node::Index(u, ix) => {
                let (u, ix) = (self.image(*u)?, self.all(ix)?);
                self.b.index(u, &ix)
            }
            Node::SumOuter(u) => self.b.sum_outer(self.image(*u)?),
            Node::Gather(u, r) => {
                let (u, region) = (self.image(*u)?, self.region(*r)?);
                self.b.gather(u, region)
            }
            Node::Scatter(sh, u, r) => {
                let (u, region) = (self.image(*u)?, self.region(*r)?);
                self.b.scatter(&self.dims(sh), u, region)
            }
            Node::Stack(ts) => {
                let mut ts = self.all(ts)?;
                ts.truncate(self.size(ts.len()));
                self.b.stack(&ts)
            }
            Node::Replicate(k, u) => self.b.replicate(self.size(*k), self.image(*u)?),
            Node::Transpose(perm, u) => {
                let perm: Vec<usize> = perm.iter().map(|&k| usize::from(k)).collect();
                self.b.transpose(&perm, self.image(*u)?)
            }
            Node::Reshape(sh, u) => self.b.reshape(&self.dims(sh), self.image(*u)?),
            Node::Build1(r) => {
                let region = self.region(*r)?;
                self.b.build1(region)
            }
            Node::Iota(k) => self.b.iota(self.size(*k)),
            Node::OneHot(sh, v, ix) => {
                let (v, ix) = (self.image(*v)?, self.all(ix)?);
                self.b.one_hot(&self.dims(sh), v, &ix)
            }
            Node::ArgExtreme(extreme, u) => self.b.arg_extreme(*extreme, self.image(*u)?),
            Node::ArgSort(u) => self.b.arg_sort(self.image(*u)?),
            Node::SegmentArg(extreme, k, u, ids) => {
                let (u, ids) = (self.image(*u)?, self.image(*ids)?);
                self.b.segment_arg(*extreme, self.size(*k), u, ids)
            }
            Node::Routine(routine, ts) => {
                let ts = self.all(ts)?;
                self.b.routine(*routine, &ts)
            }
            Node::MapAccum(m) => self.map_accum(t, m),
            Node::While(w) => self.while_accum(t, w),
            Node::Custom(c) => {
                let (args, region) = (self.all(&c.args)?, self.region(c.region)?);
                let (kind, outputs) = (c.kind, c.outputs);
                self.b.custom(Custom { kind, args: args.into(), outputs, region })
            }
            Node::Result(m, n) => {
                let n = *n as usize;
                let shift = match self.edit {
                    Edit::DropResult(u, dropped) if u == m => usize::from(n > *dropped),
                    _ => 0,
                };
                self.b.result(self.image(*m)?, n - shift)
            }
        }
    }

    fn map_accum(&mut self, t: TermId, m: &MapAccum) -> Result<TermId> {
        let (mut init, mut inputs) = (self.all(&m.init)?, self.all(&m.inputs)?);
        let states = init.len();
        let (mut fixed, mut dropped) = (None, None);
        match self.edit {
            Edit::DropResult(u, n) if *u == t => {
                dropped = Some(*n);
                // A state that goes is replaced in the step by what it starts from.
                fixed = (*n < states).then(|| (*n, init.remove(*n)));
            }
            Edit::DropStepInput(u, n) if *u == t => {
                let ty = self.source.ty(self.source.region(m.step).params()[states + n]);
                let zeros = self.b.constant(&Array::zeros(ty.dtype, ty.shape.clone())?)?;
                inputs.remove(*n);
                fixed = Some((states + n, zeros));
            }
            _ => {}
        }
        let step = self.step(m.step, fixed, dropped)?;
        let reverse = m.reverse && *self.edit != Edit::Forwards(t);
        let (init, inputs) = (init.into(), inputs.into());
        self.b.map_accum(MapAccum { length: self.size(m.length), reverse, init, inputs, step })
    }

    /// A loop that may not end is refused: it would fail every test.
    fn while_accum(&mut self, t: TermId, w: &While) -> Result<TermId> {
        let mut init = self.all(&w.init)?;
        let (mut fixed, mut dropped) = (None, None);
        if let Edit::DropResult(u, n) = self.edit
            && *u == t
        {
            // The condition comes first.
            dropped = Some(n + 1);
            fixed = (*n < init.len()).then(|| (*n, init.remove(*n)));
        }
        let step = self.step(w.step, fixed, dropped)?;
        let bound = w.bound.map(|bound| self.size(bound));
        let made = While { bound, init: init.into(), step };
        match most_steps(&self.b, &made) {
            Some(_) => self.b.while_accum(made),
            None => Err(Error::type_error("while_accum", "the loop may not end")),
        }
    }

    /// A region with the same parameters and results.
    fn region(&mut self, r: RegionId) -> Result<RegionId> {
        self.step(r, None, None)
    }

    /// A region; `fixed` is a parameter that is not one any more and what stands for it, `dropped`
    /// a result left out.
    fn step(
        &mut self,
        r: RegionId,
        fixed: Option<(usize, TermId)>,
        dropped: Option<usize>,
    ) -> Result<RegionId> {
        let (source, scopes) = (self.source, self.scopes);
        let region = source.region(r);
        let mut params = Vec::new();
        for (n, &p) in region.params().iter().enumerate() {
            let Node::Var { param, .. } = source.node(p) else { continue };
            if fixed.is_none_or(|(at, _)| at != n) {
                params.push(match &**param {
                    Param::Index(k) => Param::Index(self.size(*k)),
                    Param::Value(ty) => Param::Value(self.ty(ty)?),
                });
            }
        }
        let vars = self.b.open(&params)?;
        let mut vars = vars.into_iter();
        for (n, &p) in region.params().iter().enumerate() {
            let fixed = fixed.filter(|&(at, _)| at == n).map(|(_, t)| t);
            self.images[p.index()] = fixed.or_else(|| vars.next());
        }
        self.scope(scopes.region(r).order())?;
        let kept = region.results().iter().enumerate().filter(|(n, _)| dropped != Some(*n));
        let results: Result<Vec<TermId>> = kept
            .map(|(n, &t)| match self.edit {
                Edit::Body(region, at, u) if (*region, *at) == (r, n) => self.image(*u),
                _ => self.image(t),
            })
            .collect();
        self.forget(r);
        self.b.close(&results?)
    }

    /// Another region may use the same nodes with other variables.
    fn forget(&mut self, r: RegionId) {
        let params = self.source.region(r).params();
        for &t in self.scopes.region(r).order().iter().chain(params) {
            self.images[t.index()] = None;
        }
    }

    /// `replicate k t[0/i]` for `build k (i => t)`.
    fn first_index(&mut self, t: TermId) -> Result<TermId> {
        let Node::Build1(r) = self.source.node(t) else { return self.remake(t) };
        let (source, scopes) = (self.source, self.scopes);
        let region = source.region(*r);
        let zero = self.b.scalar(0i64)?;
        for p in region.params() {
            self.images[p.index()] = Some(zero);
        }
        self.scope(scopes.region(*r).order())?;
        let body = region.results().first().map(|&u| self.image(u));
        self.forget(*r);
        let body = body.unwrap_or_else(|| Err(Error::internal("a build without a body")))?;
        let k = source.index_sizes(*r).first().copied().unwrap_or(0);
        self.b.replicate(k, body)
    }

    /// A literal, cut to its new sizes.
    fn cut(&self, literal: &Literal) -> Result<Array> {
        fn cut<T: Element>(array: &Array, dims: &[usize]) -> Result<Array> {
            let element = |ix: &[usize]| array.get::<T>(ix).unwrap_or_default();
            Ok(Array::from_fn(Shape::new("shrink", dims)?, element)?)
        }
        let dims = self.dims(literal.shape());
        match literal.dtype() {
            Dtype::F64 => cut::<f64>(literal, &dims),
            Dtype::F32 => cut::<f32>(literal, &dims),
            Dtype::I64 => cut::<i64>(literal, &dims),
            Dtype::Bool => cut::<bool>(literal, &dims),
        }
    }
}
