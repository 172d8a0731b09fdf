//! `Series<A>`: Taylor mode. An array and its coefficients as a function of one number `t`, up to a
//! known order.
//!
//! A linear former acts on each coefficient. Of an operation $y = f(x_1, \ldots)$ with partial
//! derivatives $p_k$, which are series again,
//! $$ y' = \sum_k p_k\, x_k', \qquad n\, y_n = \sum_k \sum_{j = 1}^n j\, x_{k, j}\, p_{k, n - j}, $$
//! so a coefficient needs those of the partial derivatives up to one order less. These are made of
//! operations on `x` and `y` themselves, whose coefficients are computed as they are asked for, and
//! equal operations of equal arrays are one series: the sine asks for the cosine, which asks for the
//! sine. So a row of the table of scalar operations needs nothing new, and products, which end the
//! recursion, have their own sums. Order `n` costs about `n^2` products for each operation.
//!
//! Products of coefficients are those of derivatives: where a coefficient is exactly 0, the product
//! is, however infinite the other factor is.

mod loops;

use std::sync::Arc;

use cotan_array::Array;
use cotan_ir::scalar::{Op, Rule};
use cotan_ir::{CustomKind, Error, ErrorKind, Extreme, Result, Routine, TermId, Type};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::algebra::{Algebra, Lambda, Loop, interpret};
use crate::custom::CustomFunction;
use crate::partials::{Partial, emit, partials};
use crate::while_loop::WhileLoop;

/// A series, by its number in [`Series`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SeriesId(usize);

/// What is known of a series.
struct Node<T> {
    /// The first coefficients; none is zero. The value is always there.
    known: Vec<Option<T>>,
    /// How to compute those after these; all are zero if there is nothing here.
    more: Option<More>,
}

/// An operation on series.
struct More {
    op: Op,
    args: SmallVec<[SeriesId; 3]>,
    factors: Option<Vec<Factor>>,
}

/// A partial derivative as a series.
#[derive(Clone, Copy)]
enum Factor {
    Zero,
    One,
    Where(SeriesId, bool),
    Times { factor: SeriesId, strong: bool },
}

/// Series over `A`.
pub struct Series<'a, A: Algebra> {
    a: &'a mut A,
    order: usize,
    nodes: Vec<Node<A::T>>,
    made: FxHashMap<(Op, SmallVec<[SeriesId; 3]>), SeriesId>,
    /// Whether coefficients wait until they are asked for.
    lazy: bool,
}

impl<'a, A: Algebra> Series<'a, A> {
    /// Series up to an order.
    pub fn new(a: &'a mut A, order: usize) -> Series<'a, A> {
        Series { a, order, nodes: Vec::new(), made: FxHashMap::default(), lazy: false }
    }

    /// The series of a value and of coefficients from the first order on; none is zero.
    pub fn series(&mut self, value: A::T, coefficients: Vec<Option<A::T>>) -> SeriesId {
        let known = std::iter::once(Some(value)).chain(coefficients).collect();
        self.nodes.push(Node { known, more: None });
        SeriesId(self.nodes.len() - 1)
    }

    /// A series that does not depend on `t`.
    fn fixed(&mut self, value: A::T) -> SeriesId {
        self.series(value, Vec::new())
    }

    /// The value.
    pub fn value(&self, x: SeriesId) -> &A::T {
        match self.nodes[x.0].known.first() {
            Some(Some(value)) => value,
            // Every series is made with one.
            _ => unreachable!("a series without a value"),
        }
    }

    fn values(&self, xs: &[SeriesId]) -> Vec<A::T> {
        xs.iter().map(|&x| self.value(x).clone()).collect()
    }

    /// Whether it depends on `t`.
    fn moves(&self, x: SeriesId) -> bool {
        let node = &self.nodes[x.0];
        node.more.is_some() || node.known.iter().skip(1).any(|c| c.is_some())
    }

    /// A coefficient; none is zero.
    pub fn coefficient(&mut self, x: SeriesId, n: usize) -> Result<Option<A::T>> {
        while self.nodes[x.0].more.is_some() && self.nodes[x.0].known.len() <= n {
            let next = self.nodes[x.0].known.len();
            let made = self.next_coefficient(x, next)?;
            self.nodes[x.0].known.push(made);
        }
        Ok(self.nodes[x.0].known.get(n).cloned().flatten())
    }

    /// The coefficients from the first order on.
    pub fn coefficients(&mut self, x: SeriesId) -> Result<Vec<Option<A::T>>> {
        (1..=self.order).map(|n| self.coefficient(x, n)).collect()
    }

    /// The product of coefficients, by their numbers, of the factors of a multiplication. Those of a
    /// number above 0 are derivatives, and so is the first factor of `scale` and both of `strong_mul`.
    fn product(&mut self, op: Op, x: (usize, &A::T), y: (usize, &A::T)) -> Result<A::T> {
        let first = x.0 > 0 || matches!(op, Op::Scale | Op::StrongMul);
        let second = y.0 > 0 || op == Op::StrongMul;
        match (first, second) {
            (false, false) => self.a.op(op, &[x.1.clone(), y.1.clone()]),
            (true, false) => self.a.scale(x.1, y.1),
            (false, true) => self.a.scale(y.1, x.1),
            (true, true) => self.a.op(Op::StrongMul, &[x.1.clone(), y.1.clone()]),
        }
    }

    /// The sum of `x[j] y[n - j]` for `j` from a first one on.
    fn convolved(
        &mut self,
        op: Op,
        (x, y): (SeriesId, SeriesId),
        first: usize,
        n: usize,
    ) -> Result<Option<A::T>> {
        let mut sum = None;
        for j in first..=n {
            let (Some(a), Some(b)) = (self.coefficient(x, j)?, self.coefficient(y, n - j)?) else {
                continue;
            };
            let term = self.product(op, (j, &a), (n - j, &b))?;
            sum = self.a.plus(sum, Some(term))?;
        }
        Ok(sum)
    }

    fn next_coefficient(&mut self, y: SeriesId, n: usize) -> Result<Option<A::T>> {
        let Some(More { op, args, .. }) = &self.nodes[y.0].more else { return Ok(None) };
        let (op, args) = (*op, args.clone());
        match (op, &args[..]) {
            (Op::Mul | Op::Scale | Op::StrongMul, &[a, b]) => self.convolved(op, (a, b), 0, n),
            // a = y b, so y[n] = (a[n] - the sum of b[j] y[n - j] over j > 0) / b[0].
            (Op::Div, &[a, b]) => {
                let above = self.coefficient(a, n)?;
                let rest = self.convolved(Op::Mul, (b, y), 1, n)?;
                let rest = rest.map(|rest| self.a.op(Op::Neg, &[rest])).transpose()?;
                let Some(sum) = self.a.plus(above, rest)? else { return Ok(None) };
                let below = self.value(b).clone();
                let ty = self.a.ty(&below);
                let one = self.a.number(1.0, &ty)?;
                let factor = self.a.op(Op::Div, &[one, below])?;
                self.a.scale(&sum, &factor).map(Some)
            }
            _ => self.by_partials(y, op, &args, n),
        }
    }

    /// The coefficient of an operation of which only the partial derivatives are known.
    fn by_partials(
        &mut self,
        y: SeriesId,
        op: Op,
        args: &[SeriesId],
        n: usize,
    ) -> Result<Option<A::T>> {
        let ty = self.a.ty(self.value(y));
        match (op.row().rule, args) {
            (Rule::Select, &[c, u, v]) => {
                let (u, v) = (self.coefficient(u, n)?, self.coefficient(v, n)?);
                return self.chosen(c, u, v, &ty);
            }
            (Rule::Cast(_), &[x]) => {
                let x = self.coefficient(x, n)?;
                return x.map(|x| self.a.op(op, &[x])).transpose();
            }
            _ => {}
        }
        let (mut whole, mut sum) = (None, None);
        for (k, factor) in self.factors(y, op, args)?.into_iter().enumerate() {
            let x = args[k];
            match factor {
                Factor::Zero => {}
                Factor::One => {
                    let own = self.coefficient(x, n)?;
                    whole = self.a.plus(whole, own)?;
                }
                Factor::Where(c, holds) => {
                    if let Some(own) = self.coefficient(x, n)? {
                        let (yes, no) = if holds { (Some(own), None) } else { (None, Some(own)) };
                        let own = self.chosen(c, yes, no, &ty)?;
                        whole = self.a.plus(whole, own)?;
                    }
                }
                // With a constant factor there is one term.
                Factor::Times { factor, strong } if !self.moves(factor) => {
                    if let Some(own) = self.coefficient(x, n)? {
                        let factor = self.value(factor).clone();
                        let term = match strong {
                            true => self.a.strong_scale(&own, &factor)?,
                            false => self.a.scale(&own, &factor)?,
                        };
                        whole = self.a.plus(whole, Some(term))?;
                    }
                }
                Factor::Times { factor, .. } => {
                    for j in 1..=n {
                        let Some(own) = self.coefficient(x, j)? else { continue };
                        let Some(p) = self.coefficient(factor, n - j)? else { continue };
                        let term = self.product(Op::Mul, (j, &own), (n - j, &p))?;
                        let term = match j {
                            1 => term,
                            _ => {
                                let times = self.a.number(j as f64, &ty)?;
                                self.a.scale(&term, &times)?
                            }
                        };
                        sum = self.a.plus(sum, Some(term))?;
                    }
                }
            }
        }
        let sum = match sum {
            Some(sum) if n > 1 => {
                let over = self.a.number(n as f64, &ty)?;
                Some(self.a.op(Op::Div, &[sum, over])?)
            }
            sum => sum,
        };
        self.a.plus(whole, sum)
    }

    /// The partial derivatives of an operation, made when they are first needed.
    fn factors(&mut self, y: SeriesId, op: Op, args: &[SeriesId]) -> Result<Vec<Factor>> {
        if let Some(More { factors: Some(factors), .. }) = &self.nodes[y.0].more {
            return Ok(factors.clone());
        }
        let before = std::mem::replace(&mut self.lazy, true);
        let mut made = Vec::with_capacity(args.len());
        for (&x, partial) in args.iter().zip(partials(op)?) {
            if !self.moves(x) {
                made.push(Factor::Zero);
                continue;
            }
            let mut emitted = |expr| emit(self, expr, args, &y);
            made.push(match partial {
                Partial::Zero => Factor::Zero,
                Partial::One => Factor::One,
                Partial::Where(condition, holds) => Factor::Where(emitted(condition)?, *holds),
                Partial::Times(expr) => Factor::Times { factor: emitted(expr)?, strong: false },
                Partial::TimesDerivative(expr) => {
                    Factor::Times { factor: emitted(expr)?, strong: true }
                }
            });
        }
        self.lazy = before;
        if let Some(More { factors, .. }) = &mut self.nodes[y.0].more {
            *factors = Some(made.clone());
        }
        Ok(made)
    }

    /// One of two derivatives.
    fn chosen(
        &mut self,
        condition: SeriesId,
        u: Option<A::T>,
        v: Option<A::T>,
        ty: &Type,
    ) -> Result<Option<A::T>> {
        if u.is_none() && v.is_none() {
            return Ok(None);
        }
        let zero = self.a.number(0.0, ty)?;
        let (u, v) = (u.unwrap_or_else(|| zero.clone()), v.unwrap_or(zero));
        let condition = self.value(condition).clone();
        self.a.op(Op::Select, &[condition, u, v]).map(Some)
    }

    /// A linear function of a series: the same on each coefficient.
    fn linear(
        &mut self,
        x: SeriesId,
        mut f: impl FnMut(&mut A, &A::T) -> Result<A::T>,
    ) -> Result<SeriesId> {
        let value = f(self.a, &self.value(x).clone())?;
        if !self.moves(x) {
            return Ok(self.fixed(value));
        }
        let mut coefficients = Vec::with_capacity(self.order);
        for c in self.coefficients(x)? {
            coefficients.push(c.map(|c| f(self.a, &c)).transpose()?);
        }
        Ok(self.series(value, coefficients))
    }

    /// A linear function of several series.
    fn linear_in_all(
        &mut self,
        xs: &[SeriesId],
        mut f: impl FnMut(&mut A, &[A::T]) -> Result<A::T>,
    ) -> Result<SeriesId> {
        let values = self.values(xs);
        let value = f(self.a, &values)?;
        let mut coefficients = Vec::with_capacity(self.order);
        for n in 1..=self.order {
            let own: Vec<Option<A::T>> =
                xs.iter().map(|&x| self.coefficient(x, n)).collect::<Result<_>>()?;
            if own.iter().all(|c| c.is_none()) {
                coefficients.push(None);
                continue;
            }
            let mut filled = Vec::with_capacity(xs.len());
            for (c, value) in own.into_iter().zip(&values) {
                let ty = self.a.ty(value);
                filled.push(match c {
                    Some(c) => c,
                    None => self.a.number(0.0, &ty)?,
                });
            }
            coefficients.push(Some(f(self.a, &filled)?));
        }
        Ok(self.series(value, coefficients))
    }
}

impl<A: Algebra> Algebra for Series<'_, A> {
    type T = SeriesId;
    type F = A::F;

    fn ty(&self, x: &SeriesId) -> Type {
        self.a.ty(self.value(*x))
    }

    fn constant(&mut self, c: &Array) -> Result<SeriesId> {
        let value = self.a.constant(c)?;
        Ok(self.fixed(value))
    }

    fn number(&mut self, x: f64, ty: &Type) -> Result<SeriesId> {
        let value = self.a.number(x, ty)?;
        Ok(self.fixed(value))
    }

    fn cond(&mut self, b: &SeriesId, u: &SeriesId, v: &SeriesId) -> Result<SeriesId> {
        let b = self.value(*b).clone();
        self.linear_in_all(&[*u, *v], |a, ts| a.cond(&b, &ts[0], &ts[1]))
    }

    fn op(&mut self, op: Op, args: &[SeriesId]) -> Result<SeriesId> {
        let key = (op, SmallVec::from_slice(args));
        if let Some(&known) = self.made.get(&key) {
            return Ok(known);
        }
        let values = self.values(args);
        let value = self.a.op(op, &values)?;
        let float = self.a.ty(&value).dtype.is_float();
        let depends = |k: usize| match op.row().rule {
            Rule::Select => k > 0,
            Rule::Cast(_) => true,
            _ => partials(op).is_ok_and(|all| !matches!(all.get(k), None | Some(Partial::Zero))),
        };
        let moves = float && (0..args.len()).any(|k| depends(k) && self.moves(args[k]));
        let more = moves.then(|| More { op, args: key.1.clone(), factors: None });
        self.nodes.push(Node { known: vec![Some(value)], more });
        let y = SeriesId(self.nodes.len() - 1);
        self.made.insert(key, y);
        if !self.lazy {
            // So nothing waits for a chain of others.
            self.coefficient(y, self.order)?;
        }
        Ok(y)
    }

    fn index(&mut self, t: &SeriesId, ix: &[SeriesId]) -> Result<SeriesId> {
        let ix = self.values(ix);
        self.linear(*t, |a, t| a.index(t, &ix))
    }

    fn sum_outer(&mut self, t: &SeriesId) -> Result<SeriesId> {
        self.linear(*t, |a, t| a.sum_outer(t))
    }

    fn index_function(&mut self, f: Lambda<'_>, captures: &[(TermId, SeriesId)]) -> Result<A::F> {
        let captures: Vec<(TermId, A::T)> =
            captures.iter().map(|&(t, x)| (t, self.value(x).clone())).collect();
        self.a.index_function(f, &captures)
    }

    fn index_table(&mut self, tables: &[SeriesId]) -> Result<A::F> {
        let tables = self.values(tables);
        self.a.index_table(&tables)
    }

    fn index_rank(&self, f: &A::F) -> usize {
        self.a.index_rank(f)
    }

    fn gather(&mut self, t: &SeriesId, f: &A::F) -> Result<SeriesId> {
        self.linear(*t, |a, t| a.gather(t, f))
    }

    fn scatter(&mut self, outer: &[usize], t: &SeriesId, f: &A::F) -> Result<SeriesId> {
        self.linear(*t, |a, t| a.scatter(outer, t, f))
    }

    fn stack(&mut self, ts: &[SeriesId]) -> Result<SeriesId> {
        self.linear_in_all(ts, |a, ts| a.stack(ts))
    }

    fn replicate(&mut self, k: usize, t: &SeriesId) -> Result<SeriesId> {
        self.linear(*t, |a, t| a.replicate(k, t))
    }

    fn transpose(&mut self, perm: &[usize], t: &SeriesId) -> Result<SeriesId> {
        self.linear(*t, |a, t| a.transpose(perm, t))
    }

    fn reshape(&mut self, dims: &[usize], t: &SeriesId) -> Result<SeriesId> {
        self.linear(*t, |a, t| a.reshape(dims, t))
    }

    fn iota(&mut self, k: usize) -> Result<SeriesId> {
        let value = self.a.iota(k)?;
        Ok(self.fixed(value))
    }

    fn one_hot(&mut self, outer: &[usize], v: &SeriesId, ix: &[SeriesId]) -> Result<SeriesId> {
        let ix = self.values(ix);
        self.linear(*v, |a, v| a.one_hot(outer, v, &ix))
    }

    fn arg_extreme(&mut self, extreme: Extreme, t: &SeriesId) -> Result<SeriesId> {
        let value = self.a.arg_extreme(extreme, &self.value(*t).clone())?;
        Ok(self.fixed(value))
    }

    fn arg_sort(&mut self, t: &SeriesId) -> Result<SeriesId> {
        let value = self.a.arg_sort(&self.value(*t).clone())?;
        Ok(self.fixed(value))
    }

    fn segment_arg(
        &mut self,
        extreme: Extreme,
        k: usize,
        t: &SeriesId,
        ids: &SeriesId,
    ) -> Result<SeriesId> {
        let (t, ids) = (self.value(*t).clone(), self.value(*ids).clone());
        let value = self.a.segment_arg(extreme, k, &t, &ids)?;
        Ok(self.fixed(value))
    }

    /// A routine that is linear in the only operand that moves.
    fn routine(&mut self, routine: Routine, operands: &[SeriesId]) -> Result<SeriesId> {
        let values = self.values(operands);
        let (last, fixed) = match operands.split_last() {
            Some((&last, fixed)) => (last, fixed),
            None => return Err(Error::internal("a routine of nothing")),
        };
        if !self.moves(last) && fixed.iter().all(|&x| !self.moves(x)) {
            let value = self.a.routine(routine, &values)?;
            return Ok(self.fixed(value));
        }
        if !routine.row().linear || fixed.iter().any(|&x| self.moves(x)) {
            let message = format!("`{}` of what moves has no series yet", routine.name());
            return Err(Error::new(ErrorKind::Limit, "jet", message)
                .with_hint("nested `jvp`s have its derivatives of any order"));
        }
        self.linear(last, |a, t| {
            let mut operands = values.clone();
            if let Some(last) = operands.last_mut() {
                *last = t.clone();
            }
            a.routine(routine, &operands)
        })
    }

    fn map_accum(&mut self, m: &Loop<SeriesId>) -> Result<Vec<SeriesId>> {
        self.series_loop(m)
    }

    fn while_accum(&mut self, w: &WhileLoop<SeriesId>) -> Result<Vec<SeriesId>> {
        self.series_while(w)
    }

    fn custom(&mut self, c: &Arc<CustomFunction>, args: &[SeriesId]) -> Result<Vec<SeriesId>> {
        if let CustomKind::Checkpoint(_) = c.kind {
            return interpret(&c.function, args, self);
        }
        let values = self.values(args);
        if args.iter().any(|&x| self.moves(x)) {
            let message = "a function with a derivative of its own has no series";
            return Err(Error::new(ErrorKind::Limit, "jet", message)
                .with_hint("its rule is of the first order: nested `jvp`s follow it"));
        }
        let made = self.a.custom(c, &values)?;
        Ok(made.into_iter().map(|value| self.fixed(value)).collect())
    }

    fn is_finite(&mut self, x: &SeriesId) -> bool {
        let value = self.value(*x).clone();
        self.a.is_finite(&value)
    }
}
