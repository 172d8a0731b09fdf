//! `Laplace`: Laplacians forward in one pass.
//!
//! Beside each array are its derivatives along all directions, on a new outermost axis, and the sum of
//! its second derivatives along them. Linear formers act on all three. Of an operation
//! $y = f(x_1, \ldots)$ with partial derivatives $p_a$
//! $$ \partial_k y = \sum_a p_a\, \partial_k x_a, \qquad
//!    \Delta y = \sum_a \Bigl(p_a\, \Delta x_a + \sum_k \partial_k p_a\, \partial_k x_a\Bigr), $$
//! so what is of the second order is computed once, not once for each direction: a series along each
//! unit vector takes two products of matrices for each direction where this takes one.
//!
//! Products are those of derivatives, as in [`Series`](crate::series::Series).

use std::sync::Arc;

use cotan_array::Array;
use cotan_ir::scalar::{Op, Rule};
use cotan_ir::{Error, Extreme, RegionId, Result, Routine, TermId, Type};

use crate::algebra::{Algebra, Lambda, Loop};
use crate::custom::CustomFunction;
use crate::partials::{Partial, emit, partials};
use crate::staged::Staged;
use crate::while_loop::WhileLoop;

/// An array and what is beside it; what is missing is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside {
    pub value: TermId,
    /// The derivatives along the directions, on a new outermost axis.
    pub slopes: Option<TermId>,
    /// The sum of the second derivatives.
    pub sum: Option<TermId>,
}

impl Beside {
    pub(crate) fn fixed(value: TermId) -> Beside {
        Beside { value, slopes: None, sum: None }
    }

    fn moves(&self) -> bool {
        self.slopes.is_some() || self.sum.is_some()
    }
}

/// The algebra, over emitted terms.
pub(crate) struct Laplace<'a> {
    a: &'a mut Staged,
    /// The number of directions.
    directions: usize,
    /// Up to which order operations are differentiated: partial derivatives are needed to one less.
    order: usize,
}

impl<'a> Laplace<'a> {
    pub(crate) fn new(a: &'a mut Staged, directions: usize) -> Laplace<'a> {
        Laplace { a, directions, order: 2 }
    }

    /// A value for each direction.
    fn spread(&mut self, t: TermId) -> Result<TermId> {
        self.a.replicate(self.directions, &t)
    }

    /// The outermost axis moved behind so many others.
    fn moved_in(&mut self, t: TermId, behind: usize) -> Result<TermId> {
        let perm: Vec<usize> = (1..=behind).chain([0]).collect();
        self.a.b.permute(t, &perm)
    }

    /// The axis behind so many others moved to the outside.
    fn moved_out(&mut self, t: TermId, behind: usize) -> Result<TermId> {
        let perm: Vec<usize> = [behind].into_iter().chain(0..behind).collect();
        self.a.b.permute(t, &perm)
    }

    /// A linear former, given what it makes of an array and of the derivatives along all directions.
    fn linear(
        &mut self,
        x: &Beside,
        mut f: impl FnMut(&mut Staged, &TermId) -> Result<TermId>,
        along: impl FnOnce(&mut Self, TermId, TermId) -> Result<TermId>,
    ) -> Result<Beside> {
        let value = f(self.a, &x.value)?;
        let slopes = x.slopes.map(|slopes| along(self, slopes, value)).transpose()?;
        let sum = x.sum.map(|sum| f(self.a, &sum)).transpose()?;
        Ok(Beside { value, slopes, sum })
    }

    /// Terms, and zeros like others where there is none; nothing if there is none at all.
    fn filled(&mut self, terms: &[Option<TermId>], like: &[Type]) -> Result<Option<Vec<TermId>>> {
        if terms.iter().all(Option::is_none) {
            return Ok(None);
        }
        let mut made = Vec::with_capacity(terms.len());
        for (term, ty) in terms.iter().zip(like) {
            made.push(match term {
                Some(term) => *term,
                None => self.a.number(0.0, ty)?,
            });
        }
        Ok(Some(made))
    }

    /// One of two derivatives, at the shape of a condition.
    fn chosen(
        &mut self,
        condition: TermId,
        u: Option<TermId>,
        v: Option<TermId>,
    ) -> Result<Option<TermId>> {
        let Some(one) = u.or(v) else { return Ok(None) };
        let ty = self.a.ty(&one);
        let Some(sides) = self.filled(&[u, v], &[ty.clone(), ty])? else { return Ok(None) };
        self.a.op(Op::Select, &[condition, sides[0], sides[1]]).map(Some)
    }

    /// The partial derivatives of an operation with their own derivatives, to one order less.
    fn factors(
        &mut self,
        op: Op,
        args: &[Beside],
        y: &Beside,
        order: usize,
    ) -> Result<Vec<Option<(Factor, Beside)>>> {
        let before = std::mem::replace(&mut self.order, order);
        let made = args.iter().zip(partials(op)?).map(|(x, partial)| {
            if !x.moves() {
                return Ok(None);
            }
            let (factor, expr) = match partial {
                Partial::Zero => return Ok(None),
                Partial::One => return Ok(Some((Factor::One, *x))),
                Partial::Where(expr, holds) => (Factor::Where(*holds), expr),
                Partial::Times(expr) => (Factor::Times, expr),
                Partial::TimesDerivative(expr) => (Factor::TimesDerivative, expr),
            };
            Ok(Some((factor, emit(self, expr, args, y)?)))
        });
        let made = made.collect();
        self.order = before;
        made
    }

    /// A derivative of an argument times a partial derivative, or a condition, of its shape.
    fn times(&mut self, factor: Factor, own: TermId, p: TermId) -> Result<Option<TermId>> {
        match factor {
            Factor::One => Ok(Some(own)),
            Factor::Where(true) => self.chosen(p, Some(own), None),
            Factor::Where(false) => self.chosen(p, None, Some(own)),
            Factor::Times => self.a.scale(&own, &p).map(Some),
            Factor::TimesDerivative => self.a.strong_scale(&own, &p).map(Some),
        }
    }

    fn slopes_of(&mut self, op: Op, args: &[Beside], y: &Beside) -> Result<Option<TermId>> {
        let factors = self.factors(op, args, y, 0)?;
        let mut slopes = None;
        for (x, factor) in args.iter().zip(factors) {
            let (Some((factor, p)), Some(own)) = (factor, x.slopes) else { continue };
            let p = if factor == Factor::One { p.value } else { self.spread(p.value)? };
            let term = self.times(factor, own, p)?;
            slopes = self.a.plus(slopes, term)?;
        }
        Ok(slopes)
    }

    fn sum_of(&mut self, op: Op, args: &[Beside], y: &Beside) -> Result<Option<TermId>> {
        let factors = self.factors(op, args, y, 1)?;
        let mut sum = None;
        for (x, factor) in args.iter().zip(factors) {
            let Some((factor, p)) = factor else { continue };
            if let Some(own) = x.sum {
                let term = self.times(factor, own, p.value)?;
                sum = self.a.plus(sum, term)?;
            }
            if let (Factor::Times | Factor::TimesDerivative, Some(own), Some(slopes)) =
                (factor, x.slopes, p.slopes)
            {
                let products = self.a.op(Op::StrongMul, &[own, slopes])?;
                let term = self.a.sum_outer(&products)?;
                sum = self.a.plus(sum, Some(term))?;
            }
        }
        Ok(sum)
    }
}

/// How a derivative of an argument enters that of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Factor {
    One,
    Where(bool),
    Times,
    TimesDerivative,
}

/// What has no place here: such programs are differentiated by series, one direction after the other.
fn foreign<T>(what: &str) -> Result<T> {
    Err(Error::internal(format!("{what} in a Laplacian in one pass")))
}

impl Algebra for Laplace<'_> {
    type T = Beside;
    type F = RegionId;

    fn ty(&self, x: &Beside) -> Type {
        self.a.ty(&x.value)
    }

    fn constant(&mut self, c: &Array) -> Result<Beside> {
        self.a.constant(c).map(Beside::fixed)
    }

    fn number(&mut self, x: f64, ty: &Type) -> Result<Beside> {
        self.a.number(x, ty).map(Beside::fixed)
    }

    fn cond(&mut self, b: &Beside, u: &Beside, v: &Beside) -> Result<Beside> {
        let mut side = |u: Option<TermId>, v: Option<TermId>| -> Result<Option<TermId>> {
            let Some(one) = u.or(v) else { return Ok(None) };
            let ty = self.a.ty(&one);
            let Some(sides) = self.filled(&[u, v], &[ty.clone(), ty])? else { return Ok(None) };
            self.a.cond(&b.value, &sides[0], &sides[1]).map(Some)
        };
        let (slopes, sum) = (side(u.slopes, v.slopes)?, side(u.sum, v.sum)?);
        let value = self.a.cond(&b.value, &u.value, &v.value)?;
        Ok(Beside { value, slopes, sum })
    }

    fn op(&mut self, op: Op, args: &[Beside]) -> Result<Beside> {
        let values: Vec<TermId> = args.iter().map(|x| x.value).collect();
        let mut y = Beside::fixed(self.a.op(op, &values)?);
        if self.order == 0 || !self.a.ty(&y.value).dtype.is_float() {
            return Ok(y);
        }
        match (op.row().rule, args) {
            (Rule::Select, [c, u, v]) => {
                if u.slopes.is_some() || v.slopes.is_some() {
                    let each = self.spread(c.value)?;
                    y.slopes = self.chosen(each, u.slopes, v.slopes)?;
                }
                y.sum = self.chosen(c.value, u.sum, v.sum)?;
            }
            (Rule::Cast(_), [x]) => {
                y.slopes = x.slopes.map(|t| self.a.op(op, &[t])).transpose()?;
                y.sum = x.sum.map(|t| self.a.op(op, &[t])).transpose()?;
            }
            _ if args.iter().any(Beside::moves) => {
                y.slopes = self.slopes_of(op, args, &y)?;
                if self.order > 1 {
                    y.sum = self.sum_of(op, args, &y)?;
                }
            }
            _ => {}
        }
        Ok(y)
    }

    fn index(&mut self, t: &Beside, ix: &[Beside]) -> Result<Beside> {
        let ix: Vec<TermId> = ix.iter().map(|x| x.value).collect();
        let along = |l: &mut Self, slopes, _| {
            let turned = l.moved_in(slopes, ix.len())?;
            l.a.index(&turned, &ix)
        };
        self.linear(t, |a, t| a.index(t, &ix), along)
    }

    fn sum_outer(&mut self, t: &Beside) -> Result<Beside> {
        let along = |l: &mut Self, slopes, _| {
            let turned = l.moved_in(slopes, 1)?;
            l.a.sum_outer(&turned)
        };
        self.linear(t, |a, t| a.sum_outer(t), along)
    }

    fn index_function(&mut self, f: Lambda<'_>, captures: &[(TermId, Beside)]) -> Result<RegionId> {
        let captures: Vec<(TermId, TermId)> = captures.iter().map(|&(t, x)| (t, x.value)).collect();
        self.a.index_function(f, &captures)
    }

    fn index_table(&mut self, tables: &[Beside]) -> Result<RegionId> {
        let tables: Vec<TermId> = tables.iter().map(|x| x.value).collect();
        self.a.index_table(&tables)
    }

    fn index_rank(&self, f: &RegionId) -> usize {
        self.a.index_rank(f)
    }

    fn gather(&mut self, t: &Beside, f: &RegionId) -> Result<Beside> {
        let (taken, rank) = (self.a.index_rank(f), self.ty(t).shape.rank());
        let along = |l: &mut Self, slopes, value| {
            let turned = l.moved_in(slopes, taken)?;
            let made = l.a.gather(&turned, f)?;
            let given = l.a.ty(&value).shape.rank() + taken - rank;
            l.moved_out(made, given)
        };
        self.linear(t, |a, t| a.gather(t, f), along)
    }

    fn scatter(&mut self, outer: &[usize], t: &Beside, f: &RegionId) -> Result<Beside> {
        let rank = self.ty(t).shape.rank();
        let along = |l: &mut Self, slopes, value| {
            let taken = rank + outer.len() - l.a.ty(&value).shape.rank();
            let turned = l.moved_in(slopes, taken)?;
            let made = l.a.scatter(outer, &turned, f)?;
            l.moved_out(made, outer.len())
        };
        self.linear(t, |a, t| a.scatter(outer, t, f), along)
    }

    fn stack(&mut self, ts: &[Beside]) -> Result<Beside> {
        let values: Vec<TermId> = ts.iter().map(|t| t.value).collect();
        let like: Vec<Type> = values.iter().map(|t| self.a.ty(t)).collect();
        let value = self.a.stack(&values)?;
        let sums: Vec<Option<TermId>> = ts.iter().map(|t| t.sum).collect();
        let sum = match self.filled(&sums, &like)? {
            Some(sums) => Some(self.a.stack(&sums)?),
            None => None,
        };
        let slopes: Vec<Option<TermId>> = ts.iter().map(|t| t.slopes).collect();
        let Some(some) = slopes.iter().flatten().next() else {
            return Ok(Beside { value, slopes: None, sum });
        };
        let like = vec![self.a.ty(some); ts.len()];
        let slopes = match self.filled(&slopes, &like)? {
            Some(slopes) => {
                let stacked = self.a.stack(&slopes)?;
                Some(self.moved_out(stacked, 1)?)
            }
            None => None,
        };
        Ok(Beside { value, slopes, sum })
    }

    fn replicate(&mut self, k: usize, t: &Beside) -> Result<Beside> {
        let along = |l: &mut Self, slopes, _| {
            let made = l.a.replicate(k, &slopes)?;
            l.moved_out(made, 1)
        };
        self.linear(t, |a, t| a.replicate(k, t), along)
    }

    fn transpose(&mut self, perm: &[usize], t: &Beside) -> Result<Beside> {
        let along = |l: &mut Self, slopes: TermId, _| {
            let perm: Vec<usize> = [0].into_iter().chain(perm.iter().map(|&k| k + 1)).collect();
            l.a.transpose(&perm, &slopes)
        };
        self.linear(t, |a, t| a.transpose(perm, t), along)
    }

    fn reshape(&mut self, dims: &[usize], t: &Beside) -> Result<Beside> {
        let along = |l: &mut Self, slopes: TermId, _| {
            let dims: Vec<usize> = [l.directions].into_iter().chain(dims.iter().copied()).collect();
            l.a.reshape(&dims, &slopes)
        };
        self.linear(t, |a, t| a.reshape(dims, t), along)
    }

    fn iota(&mut self, k: usize) -> Result<Beside> {
        self.a.iota(k).map(Beside::fixed)
    }

    fn one_hot(&mut self, outer: &[usize], v: &Beside, ix: &[Beside]) -> Result<Beside> {
        let ix: Vec<TermId> = ix.iter().map(|x| x.value).collect();
        let along = |l: &mut Self, slopes: TermId, _| {
            let made = l.a.one_hot(outer, &slopes, &ix)?;
            l.moved_out(made, outer.len())
        };
        self.linear(v, |a, v| a.one_hot(outer, v, &ix), along)
    }

    fn arg_extreme(&mut self, extreme: Extreme, t: &Beside) -> Result<Beside> {
        self.a.arg_extreme(extreme, &t.value).map(Beside::fixed)
    }

    fn arg_sort(&mut self, t: &Beside) -> Result<Beside> {
        self.a.arg_sort(&t.value).map(Beside::fixed)
    }

    fn segment_arg(
        &mut self,
        extreme: Extreme,
        k: usize,
        t: &Beside,
        ids: &Beside,
    ) -> Result<Beside> {
        self.a.segment_arg(extreme, k, &t.value, &ids.value).map(Beside::fixed)
    }

    fn routine(&mut self, _: Routine, _: &[Beside]) -> Result<Beside> {
        foreign("a routine")
    }

    fn map_accum(&mut self, _: &Loop<Beside>) -> Result<Vec<Beside>> {
        foreign("a loop")
    }

    fn while_accum(&mut self, _: &WhileLoop<Beside>) -> Result<Vec<Beside>> {
        foreign("a loop")
    }

    fn custom(&mut self, _: &Arc<CustomFunction>, _: &[Beside]) -> Result<Vec<Beside>> {
        foreign("a function with a derivative of its own")
    }

    fn is_finite(&mut self, x: &Beside) -> bool {
        self.a.is_finite(&x.value)
    }
}
