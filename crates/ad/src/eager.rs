//! `Eager`: the algebra whose arrays are values. Interpreting into it runs.
//!
//! Each operation is a program of one node, run by the reference interpreter: plain and slow, and
//! right because that is.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use cotan_array::Array;
use cotan_interp::{Interp, Mode, Value};
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{
    Builder, Copier, Error, ErrorKind, Extreme, Node, Output, Result, Routine, Span, TermId, Type,
};

use crate::algebra::{Algebra, Lambda, Loop, interpret};
use crate::custom::CustomFunction;
use crate::trace::Log;
use crate::unroll::{map_accum_by_steps, while_by_steps};
use crate::while_loop::WhileLoop;

/// Runs operations as they come.
#[derive(Clone, Debug, Default)]
pub struct Eager {
    /// Which numbers stand for floats.
    pub mode: Mode,
    /// All operations, if they are wanted.
    pub(crate) log: Option<Rc<RefCell<Log>>>,
}

/// An index function, tabulated: for each component of the index an array over the positions.
#[derive(Clone, Debug)]
pub struct Table {
    sizes: Vec<usize>,
    components: Vec<Rc<Value>>,
}

impl Eager {
    /// With these numbers for floats.
    pub fn new(mode: Mode) -> Eager {
        Eager { mode, log: None }
    }

    /// Runs what `body` makes of the given values.
    fn run(
        &self,
        values: &[Rc<Value>],
        body: impl FnOnce(&mut Builder, &[TermId]) -> Result<Vec<TermId>>,
    ) -> Result<Vec<Rc<Value>>> {
        let mut b = Builder::new();
        let mut inputs = Vec::with_capacity(values.len());
        for (n, value) in values.iter().enumerate() {
            inputs.push(b.input(format!("v{n}"), value.ty().clone())?);
        }
        let outputs = body(&mut b, &inputs)?;
        let made = self.log.as_ref().and_then(|_| outputs.first()).map(|&t| named(&b, t));
        let outputs =
            outputs.into_iter().map(|term| Output { name: String::new(), term }).collect();
        let program = b.finish(outputs)?;
        let operands = values;
        let values: Vec<Value> = values.iter().map(|v| Value::clone(v)).collect();
        let run = Interp::new(&program).with_mode(self.mode).run(&values);
        let run = run.map_err(|e| Error::new(ErrorKind::Internal, "eager", e.to_string()))?;
        let results: Vec<Rc<Value>> = run.outputs.into_iter().map(Rc::new).collect();
        if let (Some(log), Some(made)) = (&self.log, made) {
            log.borrow_mut().note(made, operands, &results);
        }
        Ok(results)
    }

    fn one(
        &self,
        values: &[Rc<Value>],
        body: impl FnOnce(&mut Builder, &[TermId]) -> Result<TermId>,
    ) -> Result<Rc<Value>> {
        let results = self.run(values, |b, ts| Ok(vec![body(b, ts)?]))?;
        results.into_iter().next().ok_or_else(|| Error::internal("a run without a result"))
    }

    /// `values` and the components of a table, and the index function over them.
    fn with_table(
        &self,
        t: &Rc<Value>,
        f: &Table,
        body: impl FnOnce(&mut Builder, TermId, cotan_ir::RegionId) -> Result<TermId>,
    ) -> Result<Rc<Value>> {
        let values: Vec<Rc<Value>> = std::iter::once(t).chain(&f.components).cloned().collect();
        self.one(&values, |b, ts| {
            let region = b.index_function(&f.sizes, |b, is| {
                ts[1..].iter().map(|&table| b.index(table, is)).collect()
            })?;
            body(b, ts[0], region)
        })
    }
}

impl Algebra for Eager {
    type T = Rc<Value>;
    type F = Table;

    fn at(&mut self, span: Span) {
        if let Some(log) = &self.log {
            log.borrow_mut().at(span);
        }
    }

    fn follows_places(&self) -> bool {
        self.log.is_some()
    }

    fn ty(&self, t: &Rc<Value>) -> Type {
        t.ty().clone()
    }

    fn constant(&mut self, c: &Array) -> Result<Rc<Value>> {
        self.one(&[], |b, _| b.constant(c))
    }

    fn cond(&mut self, p: &Rc<Value>, u: &Rc<Value>, v: &Rc<Value>) -> Result<Rc<Value>> {
        self.one(&[p.clone(), u.clone(), v.clone()], |b, ts| b.cond(ts[0], ts[1], ts[2]))
    }

    fn op(&mut self, op: Op, args: &[Rc<Value>]) -> Result<Rc<Value>> {
        self.one(args, |b, ts| b.op(op, ts))
    }

    fn index(&mut self, t: &Rc<Value>, ix: &[Rc<Value>]) -> Result<Rc<Value>> {
        let values: Vec<Rc<Value>> = std::iter::once(t).chain(ix).cloned().collect();
        self.one(&values, |b, ts| b.index(ts[0], &ts[1..]))
    }

    fn sum_outer(&mut self, t: &Rc<Value>) -> Result<Rc<Value>> {
        self.one(std::slice::from_ref(t), |b, ts| b.sum_outer(ts[0]))
    }

    fn index_function(&mut self, f: Lambda<'_>, captures: &[(TermId, Rc<Value>)]) -> Result<Table> {
        let sizes = f.program.index_sizes(f.region).to_vec();
        let values: Vec<Rc<Value>> = captures.iter().map(|(_, v)| v.clone()).collect();
        let region = f.program.region(f.region);
        let components = self.run(&values, |b, ts| {
            let mut components = Vec::with_capacity(region.results().len());
            for n in 0..region.results().len() {
                let mut copier = Copier::new(f.program, f.scopes);
                for ((t, _), &image) in captures.iter().zip(ts) {
                    copier.set(*t, image);
                }
                components.push(tabulate(b, &mut copier, &f, &sizes, n)?);
            }
            Ok(components)
        })?;
        Ok(Table { sizes, components })
    }

    fn index_table(&mut self, tables: &[Rc<Value>]) -> Result<Table> {
        let k = tables.first().and_then(|t| t.shape().dims().first().copied());
        let k = k.ok_or_else(|| Error::internal("an index function without components"))?;
        Ok(Table { sizes: vec![k], components: tables.to_vec() })
    }

    fn index_rank(&self, f: &Table) -> usize {
        f.components.len()
    }

    fn gather(&mut self, t: &Rc<Value>, f: &Table) -> Result<Rc<Value>> {
        self.with_table(t, f, |b, t, region| b.gather(t, region))
    }

    fn scatter(&mut self, outer: &[usize], t: &Rc<Value>, f: &Table) -> Result<Rc<Value>> {
        self.with_table(t, f, |b, t, region| b.scatter(outer, t, region))
    }

    fn stack(&mut self, ts: &[Rc<Value>]) -> Result<Rc<Value>> {
        self.one(ts, |b, ts| b.stack(ts))
    }

    fn replicate(&mut self, k: usize, t: &Rc<Value>) -> Result<Rc<Value>> {
        self.one(std::slice::from_ref(t), |b, ts| b.replicate(k, ts[0]))
    }

    fn transpose(&mut self, perm: &[usize], t: &Rc<Value>) -> Result<Rc<Value>> {
        self.one(std::slice::from_ref(t), |b, ts| b.transpose(perm, ts[0]))
    }

    fn reshape(&mut self, dims: &[usize], t: &Rc<Value>) -> Result<Rc<Value>> {
        self.one(std::slice::from_ref(t), |b, ts| b.reshape(dims, ts[0]))
    }

    fn iota(&mut self, k: usize) -> Result<Rc<Value>> {
        self.one(&[], |b, _| b.iota(k))
    }

    fn one_hot(&mut self, outer: &[usize], v: &Rc<Value>, ix: &[Rc<Value>]) -> Result<Rc<Value>> {
        let values: Vec<Rc<Value>> = std::iter::once(v).chain(ix).cloned().collect();
        self.one(&values, |b, ts| b.one_hot(outer, ts[0], &ts[1..]))
    }

    fn arg_extreme(&mut self, extreme: Extreme, t: &Rc<Value>) -> Result<Rc<Value>> {
        self.one(std::slice::from_ref(t), |b, ts| b.arg_extreme(extreme, ts[0]))
    }

    fn arg_sort(&mut self, t: &Rc<Value>) -> Result<Rc<Value>> {
        self.one(std::slice::from_ref(t), |b, ts| b.arg_sort(ts[0]))
    }

    fn segment_arg(
        &mut self,
        extreme: Extreme,
        k: usize,
        t: &Rc<Value>,
        ids: &Rc<Value>,
    ) -> Result<Rc<Value>> {
        let operands = [t.clone(), ids.clone()];
        self.one(&operands, |b, ts| b.segment_arg(extreme, k, ts[0], ts[1]))
    }

    fn routine(&mut self, routine: Routine, operands: &[Rc<Value>]) -> Result<Rc<Value>> {
        self.one(operands, |b, ts| b.routine(routine, ts))
    }

    fn custom(&mut self, c: &Arc<CustomFunction>, args: &[Rc<Value>]) -> Result<Vec<Rc<Value>>> {
        interpret(&c.function, args, self)
    }

    fn map_accum(&mut self, m: &Loop<Rc<Value>>) -> Result<Vec<Rc<Value>>> {
        map_accum_by_steps(self, m)
    }

    fn while_accum(&mut self, w: &WhileLoop<Rc<Value>>) -> Result<Vec<Rc<Value>>> {
        while_by_steps(self, w, |_, c| Ok(c.elements().first() == Some(&Scalar::Bool(true))))
    }
}

/// What a term is, for the log.
fn named(b: &Builder, t: TermId) -> (String, Option<Op>) {
    match b.node(t) {
        Node::Op(op, _) => (op.name().to_owned(), Some(*op)),
        node => (node.name().to_owned(), None),
    }
}

/// Component `n` of an index function as an array over its positions.
fn tabulate(
    b: &mut Builder,
    copier: &mut Copier<'_>,
    f: &Lambda<'_>,
    sizes: &[usize],
    n: usize,
) -> Result<TermId> {
    let region = f.program.region(f.region);
    let (mut opened, mut vars) = (0, Vec::new());
    let mut made = Ok(());
    for &k in sizes {
        match b.open(&[cotan_ir::Param::Index(k)]) {
            Ok(var) => vars.extend(var),
            Err(error) => {
                made = Err(error);
                break;
            }
        }
        opened += 1;
    }
    let made = made.and_then(|()| {
        for (&p, &var) in region.params().iter().zip(&vars) {
            copier.set(p, var);
        }
        copier.scope(b, f.scopes.region(f.region))?;
        copier.image(region.results()[n])
    });
    let mut t = match made {
        Ok(t) => t,
        Err(error) => {
            (0..opened).for_each(|_| b.abandon());
            return Err(error);
        }
    };
    for _ in 0..opened {
        let region = b.close(&[t])?;
        t = b.build1(region)?;
    }
    Ok(t)
}
