//! The algebra of dependences: an array is the set of inputs that each of its elements depends on.

use std::rc::Rc;
use std::sync::Arc;

use cotan_array::Array;
use cotan_interp::Value;
use cotan_ir::scalar::{Op, Rule, Scalar};
use cotan_ir::{Builder, CustomKind, Error, Extreme, Result, Routine, TermId, Type};

use super::rows::{Rows, Writer};
use crate::algebra::{Algebra, Lambda, Loop, interpret};
use crate::custom::CustomFunction;
use crate::eager::{Eager, Table};
use crate::partials::{Partial, partials};
use crate::unroll::{map_accum_by_steps, while_by_steps};
use crate::while_loop::WhileLoop;

/// Which values are computed beside the dependences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Knowledge {
    /// Those that no float argument has a part in: positions, as a rule.
    Integers,
    /// All.
    Everything,
}

/// Which inputs of the program a value is computed from.
#[derive(Clone, Debug, Default)]
struct Sources(Option<Rc<Vec<bool>>>);

impl Sources {
    fn and(&self, other: &Sources) -> Sources {
        match (&self.0, &other.0) {
            (None, _) => other.clone(),
            (_, None) => self.clone(),
            (Some(a), Some(b)) if Rc::ptr_eq(a, b) => self.clone(),
            (Some(a), Some(b)) => {
                Sources(Some(Rc::new(a.iter().zip(&**b).map(|(x, y)| *x || *y).collect())))
            }
        }
    }
}

/// An array of dependences.
#[derive(Clone, Debug)]
pub(super) struct Dependent {
    ty: Type,
    /// The elements, where they are known.
    value: Option<Rc<Value>>,
    /// What each element depends on; nothing, if missing.
    pub(super) rows: Option<Rc<Rows>>,
    sources: Sources,
    /// Whether a float argument has a part in it.
    floating: bool,
}

/// Runs a program on sets of inputs.
pub(super) struct Dependence {
    eager: Eager,
    limit: usize,
    knowledge: Knowledge,
    decided_by: Vec<bool>,
    /// Whether a position was needed that is not known.
    pub(super) missed_a_value: bool,
}

impl Dependence {
    pub(super) fn new(limit: usize, knowledge: Knowledge, inputs: usize) -> Dependence {
        let decided_by = vec![false; inputs];
        Dependence { eager: Eager::default(), limit, knowledge, decided_by, missed_a_value: false }
    }

    /// An input of the program, which depends on nothing so far.
    pub(super) fn input(&self, k: usize, value: Rc<Value>) -> Dependent {
        let mut sources = vec![false; self.decided_by.len()];
        sources[k] = true;
        let ty = value.ty().clone();
        let floating = ty.dtype.is_float();
        let known = !floating || self.knowledge == Knowledge::Everything;
        let value = known.then_some(value);
        Dependent { ty, value, rows: None, sources: Sources(Some(Rc::new(sources))), floating }
    }

    /// The inputs on whose values the dependences depend.
    pub(super) fn decided_by(&self) -> Vec<bool> {
        self.decided_by.clone()
    }

    /// The rows of an array, empty ones if it depends on nothing.
    pub(super) fn rows_of(&self, t: &Dependent) -> Result<Rows> {
        match &t.rows {
            Some(rows) => Ok(Rows::clone(rows)),
            None => self.write(t.ty.shape.numel(), |w, _| w.copy(&[])),
        }
    }

    fn write(
        &self,
        rows: usize,
        mut row: impl FnMut(&mut Writer, usize) -> Result<()>,
    ) -> Result<Rows> {
        let mut w = Writer::new(rows, self.limit);
        for k in 0..rows {
            row(&mut w, k)?;
        }
        Ok(w.finish())
    }

    /// The value of an array that decides where something goes.
    fn position(&mut self, t: &Dependent) -> Result<Rc<Value>> {
        if let Some(sources) = &t.sources.0 {
            for (decides, from) in self.decided_by.iter_mut().zip(&**sources) {
                *decides |= from;
            }
        }
        t.value.clone().ok_or_else(|| {
            self.missed_a_value = true;
            Error::internal("a position that is not known")
        })
    }

    fn positions(&mut self, ts: &[Dependent]) -> Result<Vec<Rc<Value>>> {
        ts.iter().map(|t| self.position(t)).collect()
    }

    /// The type of what is made of arrays of some types.
    fn type_of(
        &self,
        types: &[&Type],
        body: impl FnOnce(&mut Builder, &[TermId]) -> Result<TermId>,
    ) -> Result<Type> {
        let mut b = Builder::new();
        let mut inputs = Vec::with_capacity(types.len());
        for (k, ty) in types.iter().enumerate() {
            inputs.push(b.input(format!("v{k}"), (*ty).clone())?);
        }
        let t = body(&mut b, &inputs)?;
        Ok(b.ty(t).clone())
    }

    /// What only moves elements: the same is done with the numbers of the elements, from 1 on, and 0
    /// is an element of no array.
    fn moved(
        &mut self,
        t: &Dependent,
        make: impl Fn(&mut Eager, &Rc<Value>) -> Result<Rc<Value>>,
    ) -> Result<Dependent> {
        let numbers = make(&mut self.eager, &numbers(t.ty.shape.dims())?)?;
        let value = t.value.as_ref().map(|v| make(&mut self.eager, v)).transpose()?;
        let rows = match &t.rows {
            Some(rows) => Some(Rc::new(self.picked(&numbers, rows)?)),
            None => None,
        };
        let ty = Type::new(t.ty.dtype, numbers.shape().clone());
        Ok(Dependent { ty, value, rows, sources: t.sources.clone(), floating: t.floating })
    }

    /// The rows that numbers name.
    fn picked(&self, numbers: &Value, rows: &Rows) -> Result<Rows> {
        let elements = numbers.elements();
        self.write(elements.len(), |w, k| match integer(&elements[k]) {
            0 => w.copy(&[]),
            number => w.copy(rows.row(number - 1)),
        })
    }

    /// Elementwise: the union of the sets of some arguments.
    fn united(&self, args: &[&Dependent]) -> Result<Option<Rc<Rows>>> {
        let all: Vec<&Rc<Rows>> = args.iter().filter_map(|t| t.rows.as_ref()).collect();
        match all.as_slice() {
            [] => Ok(None),
            [rows] => Ok(Some(Rc::clone(rows))),
            [first, rest @ ..] if rest.iter().all(|rows| Rc::ptr_eq(first, rows)) => {
                Ok(Some(Rc::clone(first)))
            }
            all => {
                let mut row: Vec<&[u32]> = Vec::with_capacity(all.len());
                let union = self.write(all[0].len(), |w, k| {
                    row.clear();
                    row.extend(all.iter().map(|rows| rows.row(k)));
                    w.union(&row)
                })?;
                Ok(Some(Rc::new(union)))
            }
        }
    }

    /// Elementwise: the sets of `t` where `keeps` holds of the element of `by`, which decides.
    fn kept(
        &mut self,
        t: &Dependent,
        by: &Dependent,
        keeps: impl Fn(&Scalar) -> bool,
    ) -> Result<Option<Rc<Rows>>> {
        let Some(rows) = &t.rows else { return Ok(None) };
        let by = self.position(by)?;
        let elements = by.elements();
        // One condition may stand for all elements.
        let at = |k: usize| if elements.len() == 1 { &elements[0] } else { &elements[k] };
        let rows =
            self.write(rows.len(), |w, k| w.copy(if keeps(at(k)) { rows.row(k) } else { &[] }))?;
        Ok(Some(Rc::new(rows)))
    }

    /// Whether an array may decide what depends on what: it is known, and the same at every point.
    fn decides(t: &Dependent) -> bool {
        t.value.is_some() && !t.floating
    }

    /// A choice between two arrays, exact where the condition decides.
    fn choice(&mut self, c: &Dependent, u: &Dependent, v: &Dependent) -> Result<Option<Rc<Rows>>> {
        if u.rows.is_none() && v.rows.is_none() {
            return Ok(None);
        }
        if !Self::decides(c) {
            return self.united(&[u, v]);
        }
        let is_true = |x: &Scalar| *x == Scalar::Bool(true);
        let u = Dependent { rows: self.kept(u, c, is_true)?, ..u.clone() };
        let v = Dependent { rows: self.kept(v, c, |x| !is_true(x))?, ..v.clone() };
        self.united(&[&u, &v])
    }

    /// What an operation depends on: each argument by which it has a derivative.
    fn operation(&mut self, op: Op, args: &[Dependent]) -> Result<Option<Rc<Rows>>> {
        match (op.row().rule, args) {
            (Rule::Select, [c, u, v]) => return self.choice(c, u, v),
            (Rule::Cast(_), [t]) => return Ok(t.rows.clone()),
            // A factor that is 0 at every point leaves nothing of the other.
            (_, [a, b]) if matches!(op, Op::Mul | Op::Scale | Op::StrongMul) => {
                let nonzero = |x: &Scalar| !is_zero(x);
                let part = |this: &mut Self, t: &Dependent, factor: &Dependent| {
                    let rows = match Self::decides(factor) {
                        true => this.kept(t, factor, nonzero)?,
                        false => t.rows.clone(),
                    };
                    Ok::<_, Error>(Dependent { rows, ..t.clone() })
                };
                let (a, b) = (part(self, a, b)?, part(self, b, a)?);
                return self.united(&[&a, &b]);
            }
            _ => {}
        }
        let mut smooth = Vec::with_capacity(args.len());
        for (arg, partial) in args.iter().zip(partials(op)?) {
            if !matches!(partial, Partial::Zero) {
                smooth.push(arg);
            }
        }
        self.united(&smooth)
    }

    /// `scatter` and `oneHot`: `targets` numbers the place of each block of `inner` elements, from 1.
    fn sent(&self, rows: &Rows, targets: &Value, places: usize, inner: usize) -> Result<Rows> {
        let blocks: Vec<usize> = targets.elements().iter().map(integer).collect();
        let mut first = vec![0; places + 2];
        for &place in &blocks {
            first[place + 1] += 1;
        }
        for place in 0..=places {
            first[place + 1] += first[place];
        }
        let mut next = first.clone();
        let mut order = vec![0; blocks.len()];
        for (block, &place) in blocks.iter().enumerate() {
            order[next[place]] = block;
            next[place] += 1;
        }
        let mut row: Vec<&[u32]> = Vec::new();
        self.write(places * inner, |w, k| {
            let (place, q) = (k / inner + 1, k % inner);
            row.clear();
            row.extend(order[first[place]..next[place]].iter().map(|b| rows.row(b * inner + q)));
            w.union(&row)
        })
    }

    /// The rows of the results of a function by its rule, for the rows of its arguments.
    fn by_rule(&mut self, c: &CustomFunction, args: &[Dependent]) -> Result<Vec<Option<Rc<Rows>>>> {
        let (from, to) = (c.float_args(), c.float_results());
        let still = |t: &Dependent| Dependent { rows: None, ..t.clone() };
        let mut inputs: Vec<Dependent> = args.iter().map(still).collect();
        let unknown = |ty: &Type, rows| Dependent {
            ty: ty.clone(),
            value: None,
            rows,
            sources: Sources::default(),
            floating: true,
        };
        let mut results = vec![None; c.function.outputs().len()];
        match c.kind {
            CustomKind::Jvp => {
                inputs.extend(from.iter().map(|&k| unknown(&args[k].ty, args[k].rows.clone())));
                for (k, t) in to.into_iter().zip(interpret(&c.rule, &inputs, self)?) {
                    results[k] = t.rows;
                }
            }
            // The rule takes cotangents of the results to those of the arguments: its rows are the
            // columns of what is wanted.
            CustomKind::Vjp => {
                let mut first = vec![0];
                for &k in &to {
                    let (begin, ty) = (first[first.len() - 1], c.result_type(k));
                    let len = ty.shape.numel();
                    inputs.push(unknown(ty, Some(Rc::new(Rows::identity(begin, len)))));
                    first.push(begin + len);
                }
                let total = first[first.len() - 1];
                let mut parts: Vec<Dependent> = Vec::new();
                for (k, t) in from.into_iter().zip(interpret(&c.rule, &inputs, self)?) {
                    let (Some(rows), Some(above)) = (&t.rows, &args[k].rows) else { continue };
                    let by_result = rows.transposed(total);
                    let mut row: Vec<&[u32]> = Vec::new();
                    let composed = self.write(total, |w, r| {
                        row.clear();
                        row.extend(by_result.row(r).iter().map(|&e| above.row(e as usize)));
                        w.union(&row)
                    })?;
                    parts.push(unknown(&t.ty, Some(Rc::new(composed))));
                }
                let parts: Vec<&Dependent> = parts.iter().collect();
                let Some(all) = self.united(&parts)? else { return Ok(results) };
                for (&k, range) in to.iter().zip(first.windows(2)) {
                    let rows =
                        self.write(range[1] - range[0], |w, r| w.copy(all.row(range[0] + r)))?;
                    results[k] = Some(Rc::new(rows));
                }
            }
            // A solution depends on whatever is in its equation. (Checkpoints have no rule.)
            CustomKind::Implicit | CustomKind::Checkpoint(_) => {
                let mut all: Vec<u32> = Vec::new();
                for rows in args.iter().filter_map(|t| t.rows.as_ref()) {
                    (0..rows.len()).for_each(|k| all.extend_from_slice(rows.row(k)));
                    all.sort_unstable();
                    all.dedup();
                }
                for k in to {
                    let count = c.result_type(k).shape.numel();
                    results[k] = Some(Rc::new(self.write(count, |w, _| w.copy(&all))?));
                }
            }
        }
        Ok(results)
    }

    /// An array of integers, which depends on nothing.
    fn discrete(&self, ty: Type, value: Option<Rc<Value>>, from: &[&Dependent]) -> Dependent {
        let sources = from.iter().fold(Sources::default(), |all, t| all.and(&t.sources));
        let floating = from.iter().any(|t| t.floating);
        Dependent { ty, value, rows: None, sources, floating }
    }
}

impl Algebra for Dependence {
    type T = Dependent;
    type F = Table;

    fn ty(&self, t: &Dependent) -> Type {
        t.ty.clone()
    }

    fn constant(&mut self, c: &Array) -> Result<Dependent> {
        let value = self.eager.constant(c)?;
        Ok(self.discrete(value.ty().clone(), Some(value), &[]))
    }

    fn cond(&mut self, c: &Dependent, u: &Dependent, v: &Dependent) -> Result<Dependent> {
        let rows = self.choice(c, u, v)?;
        let value = match (&c.value, &u.value, &v.value) {
            (Some(c), Some(u), Some(v)) => Some(self.eager.cond(c, u, v)?),
            _ => None,
        };
        Ok(Dependent { rows, ..self.discrete(u.ty.clone(), value, &[c, u, v]) })
    }

    fn op(&mut self, op: Op, args: &[Dependent]) -> Result<Dependent> {
        let known: Option<Vec<Rc<Value>>> = args.iter().map(|t| t.value.clone()).collect();
        let value = known.map(|args| self.eager.op(op, &args)).transpose()?;
        let ty = match &value {
            Some(value) => value.ty().clone(),
            None => {
                let types: Vec<&Type> = args.iter().map(|t| &t.ty).collect();
                self.type_of(&types, |b, ts| b.op(op, ts))?
            }
        };
        let smooth = ty.dtype.is_float() && args.iter().any(|t| t.rows.is_some());
        let rows = if smooth { self.operation(op, args)? } else { None };
        let args: Vec<&Dependent> = args.iter().collect();
        Ok(Dependent { rows, ..self.discrete(ty, value, &args) })
    }

    fn index(&mut self, t: &Dependent, ix: &[Dependent]) -> Result<Dependent> {
        let ix = self.positions(ix)?;
        self.moved(t, |eager, t| eager.index(t, &ix))
    }

    fn sum_outer(&mut self, t: &Dependent) -> Result<Dependent> {
        let ty = self.type_of(&[&t.ty], |b, ts| b.sum_outer(ts[0]))?;
        let value = t.value.as_ref().map(|v| self.eager.sum_outer(v)).transpose()?;
        let (inner, outer) = (ty.shape.numel(), t.ty.shape.dims().first().copied().unwrap_or(0));
        let rows = match &t.rows {
            Some(rows) => {
                let mut row: Vec<&[u32]> = Vec::with_capacity(outer);
                Some(Rc::new(self.write(inner, |w, q| {
                    row.clear();
                    row.extend((0..outer).map(|k| rows.row(k * inner + q)));
                    w.union(&row)
                })?))
            }
            None => None,
        };
        Ok(Dependent { rows, ..self.discrete(ty, value, &[t]) })
    }

    fn index_function(&mut self, f: Lambda<'_>, captures: &[(TermId, Dependent)]) -> Result<Table> {
        let mut known = Vec::with_capacity(captures.len());
        for (t, capture) in captures {
            known.push((*t, self.position(capture)?));
        }
        self.eager.index_function(f, &known)
    }

    fn index_table(&mut self, tables: &[Dependent]) -> Result<Table> {
        let tables = self.positions(tables)?;
        self.eager.index_table(&tables)
    }

    fn index_rank(&self, f: &Table) -> usize {
        self.eager.index_rank(f)
    }

    fn gather(&mut self, t: &Dependent, f: &Table) -> Result<Dependent> {
        self.moved(t, |eager, t| eager.gather(t, f))
    }

    fn scatter(&mut self, outer: &[usize], t: &Dependent, f: &Table) -> Result<Dependent> {
        let value = t.value.as_ref().map(|v| self.eager.scatter(outer, v, f)).transpose()?;
        let targets = self.eager.gather(&numbers(outer)?, f)?;
        let trailing = &t.ty.shape.dims()[targets.shape().rank()..];
        let dims: Vec<usize> = outer.iter().chain(trailing).copied().collect();
        let ty = Type::new(t.ty.dtype, cotan_array::Shape::new("scatter", &dims)?);
        let (places, inner) = (outer.iter().product(), trailing.iter().product());
        let rows = match &t.rows {
            Some(rows) if inner > 0 => Some(Rc::new(self.sent(rows, &targets, places, inner)?)),
            _ => None,
        };
        Ok(Dependent { rows, ..self.discrete(ty, value, &[t]) })
    }

    fn stack(&mut self, ts: &[Dependent]) -> Result<Dependent> {
        let known: Option<Vec<Rc<Value>>> = ts.iter().map(|t| t.value.clone()).collect();
        let value = known.map(|ts| self.eager.stack(&ts)).transpose()?;
        let types: Vec<&Type> = ts.iter().map(|t| &t.ty).collect();
        let ty = self.type_of(&types, |b, ts| b.stack(ts))?;
        let rows = if ts.iter().any(|t| t.rows.is_some()) {
            let inner = ts.first().map_or(0, |t| t.ty.shape.numel());
            Some(Rc::new(self.write(ty.shape.numel(), |w, k| {
                let rows = ts[k / inner].rows.as_ref();
                w.copy(rows.map_or(&[], |rows| rows.row(k % inner)))
            })?))
        } else {
            None
        };
        let ts: Vec<&Dependent> = ts.iter().collect();
        Ok(Dependent { rows, ..self.discrete(ty, value, &ts) })
    }

    fn replicate(&mut self, k: usize, t: &Dependent) -> Result<Dependent> {
        self.moved(t, |eager, t| eager.replicate(k, t))
    }

    fn transpose(&mut self, perm: &[usize], t: &Dependent) -> Result<Dependent> {
        self.moved(t, |eager, t| eager.transpose(perm, t))
    }

    fn reshape(&mut self, dims: &[usize], t: &Dependent) -> Result<Dependent> {
        self.moved(t, |eager, t| eager.reshape(dims, t))
    }

    fn iota(&mut self, k: usize) -> Result<Dependent> {
        let value = self.eager.iota(k)?;
        Ok(self.discrete(value.ty().clone(), Some(value), &[]))
    }

    fn one_hot(&mut self, outer: &[usize], v: &Dependent, ix: &[Dependent]) -> Result<Dependent> {
        let ix = self.positions(ix)?;
        let value = v.value.as_ref().map(|v| self.eager.one_hot(outer, v, &ix)).transpose()?;
        let target = self.eager.index(&numbers(outer)?, &ix)?;
        let dims: Vec<usize> = outer.iter().chain(v.ty.shape.dims()).copied().collect();
        let ty = Type::new(v.ty.dtype, cotan_array::Shape::new("one_hot", &dims)?);
        let (places, inner) = (outer.iter().product(), v.ty.shape.numel());
        let rows = match &v.rows {
            Some(rows) if inner > 0 => Some(Rc::new(self.sent(rows, &target, places, inner)?)),
            _ => None,
        };
        Ok(Dependent { rows, ..self.discrete(ty, value, &[v]) })
    }

    fn arg_extreme(&mut self, extreme: Extreme, t: &Dependent) -> Result<Dependent> {
        let value = t.value.as_ref().map(|t| self.eager.arg_extreme(extreme, t)).transpose()?;
        let ty = self.type_of(&[&t.ty], |b, ts| b.arg_extreme(extreme, ts[0]))?;
        Ok(self.discrete(ty, value, &[t]))
    }

    fn arg_sort(&mut self, t: &Dependent) -> Result<Dependent> {
        let value = t.value.as_ref().map(|t| self.eager.arg_sort(t)).transpose()?;
        let ty = self.type_of(&[&t.ty], |b, ts| b.arg_sort(ts[0]))?;
        Ok(self.discrete(ty, value, &[t]))
    }

    fn segment_arg(
        &mut self,
        extreme: Extreme,
        k: usize,
        t: &Dependent,
        ids: &Dependent,
    ) -> Result<Dependent> {
        let value = match (&t.value, &ids.value) {
            (Some(t), Some(ids)) => Some(self.eager.segment_arg(extreme, k, t, ids)?),
            _ => None,
        };
        let types = [&t.ty, &ids.ty];
        let ty = self.type_of(&types, |b, ts| b.segment_arg(extreme, k, ts[0], ts[1]))?;
        Ok(self.discrete(ty, value, &[t, ids]))
    }

    // Every element depends on all elements of the matrices.
    fn routine(&mut self, routine: Routine, operands: &[Dependent]) -> Result<Dependent> {
        let known: Option<Vec<Rc<Value>>> = operands.iter().map(|t| t.value.clone()).collect();
        let value = known.map(|ts| self.eager.routine(routine, &ts)).transpose()?;
        let types: Vec<&Type> = operands.iter().map(|t| &t.ty).collect();
        let ty = self.type_of(&types, |b, ts| b.routine(routine, ts))?;
        let rank = ty.shape.rank() - routine.result_rank();
        let cell = |ty: &Type| ty.shape.dims()[rank..].iter().product::<usize>();
        let size = cell(&ty);
        let smooth = ty.dtype.is_float() && operands.iter().any(|t| t.rows.is_some());
        let rows = if smooth && size > 0 {
            let of = |n: usize| {
                operands
                    .iter()
                    .filter_map(move |t| Some((t.rows.as_ref()?, cell(&t.ty))))
                    .flat_map(move |(rows, own)| (n * own..(n + 1) * own).map(move |k| rows.row(k)))
            };
            let mut all: Vec<&[u32]> = Vec::new();
            Some(Rc::new(self.write(ty.shape.numel(), |w, k| {
                all.clear();
                all.extend(of(k / size));
                w.union(&all)
            })?))
        } else {
            None
        };
        let operands: Vec<&Dependent> = operands.iter().collect();
        Ok(Dependent { rows, ..self.discrete(ty, value, &operands) })
    }

    fn map_accum(&mut self, m: &Loop<Dependent>) -> Result<Vec<Dependent>> {
        map_accum_by_steps(self, m)
    }

    fn while_accum(&mut self, w: &WhileLoop<Dependent>) -> Result<Vec<Dependent>> {
        while_by_steps(self, w, |a, condition| {
            let value = a.position(condition)?;
            Ok(value.elements().first() == Some(&Scalar::Bool(true)))
        })
    }

    fn custom(&mut self, c: &Arc<CustomFunction>, args: &[Dependent]) -> Result<Vec<Dependent>> {
        if let CustomKind::Checkpoint(_) = c.kind {
            return interpret(&c.function, args, self);
        }
        let rows = self.by_rule(c, args)?;
        let still: Vec<Dependent> =
            args.iter().map(|t| Dependent { rows: None, ..t.clone() }).collect();
        let results = interpret(&c.function, &still, self)?;
        Ok(results.into_iter().zip(rows).map(|(t, rows)| Dependent { rows, ..t }).collect())
    }
}

/// The numbers of the elements of an array from 1 on, row-major.
fn numbers(dims: &[usize]) -> Result<Rc<Value>> {
    let shape = cotan_array::Shape::new("sparse", dims)?;
    let elements = (1..=shape.numel()).map(|k| k as i64).collect();
    let array = Array::from_vec(shape, elements)?;
    Ok(Rc::new(Value::from(&array)))
}

fn integer(x: &Scalar) -> usize {
    match x {
        Scalar::I64(x) => usize::try_from(*x).unwrap_or(0),
        _ => 0,
    }
}

fn is_zero(x: &Scalar) -> bool {
    match x {
        Scalar::F64(x) => *x == 0.0,
        Scalar::F32(x) => *x == 0.0,
        Scalar::I64(x) => *x == 0,
        Scalar::Fp(_) | Scalar::Bool(_) => false,
    }
}
