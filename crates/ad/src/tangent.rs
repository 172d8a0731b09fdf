//! `Tangent<A>`: forward mode. An array and its derivative along one direction, no Delta between.

use std::sync::Arc;

use cotan_array::Array;
use cotan_ir::scalar::{Op, Rule};
use cotan_ir::{Extreme, Result, Routine, TermId, Type};

use crate::algebra::{Algebra, Lambda, Loop};
use crate::custom::CustomFunction;
use crate::partials::{Partial, emit, partials};
use crate::routine::{Derivatives, derivative};
use crate::while_loop::WhileLoop;

/// A primal and its tangent; none is zero.
pub struct TangentArray<A: Algebra> {
    /// The value.
    pub primal: A::T,
    /// The derivative along the direction.
    pub tangent: Option<A::T>,
}

impl<A: Algebra> Clone for TangentArray<A> {
    fn clone(&self) -> TangentArray<A> {
        TangentArray { primal: self.primal.clone(), tangent: self.tangent.clone() }
    }
}

/// Pairs of arrays and tangents over `A`.
pub struct Tangent<'a, A: Algebra> {
    /// Where both are computed.
    pub a: &'a mut A,
}

impl<'a, A: Algebra> Tangent<'a, A> {
    /// Forward mode over an algebra.
    pub fn new(a: &'a mut A) -> Tangent<'a, A> {
        Tangent { a }
    }

    fn primals(ts: &[TangentArray<A>]) -> Vec<A::T> {
        ts.iter().map(|t| t.primal.clone()).collect()
    }

    /// A linear operation: the same on primal and tangent.
    fn linear(
        &mut self,
        t: &TangentArray<A>,
        mut f: impl FnMut(&mut A, &A::T) -> Result<A::T>,
    ) -> Result<TangentArray<A>> {
        let primal = f(self.a, &t.primal)?;
        let tangent = t.tangent.as_ref().map(|dt| f(self.a, dt)).transpose()?;
        Ok(TangentArray { primal, tangent })
    }

    /// Two tangents of one type, zeros for a missing one; none if both are missing.
    fn both(
        &mut self,
        u: &Option<A::T>,
        v: &Option<A::T>,
        ty: &Type,
    ) -> Result<Option<(A::T, A::T)>> {
        Ok(match (u, v) {
            (None, None) => None,
            (Some(u), Some(v)) => Some((u.clone(), v.clone())),
            (Some(u), None) => Some((u.clone(), self.a.number(0.0, ty)?)),
            (None, Some(v)) => Some((self.a.number(0.0, ty)?, v.clone())),
        })
    }
}

impl<A: Algebra> Algebra for Tangent<'_, A> {
    type T = TangentArray<A>;
    type F = A::F;

    fn ty(&self, t: &TangentArray<A>) -> Type {
        self.a.ty(&t.primal)
    }

    fn constant(&mut self, c: &Array) -> Result<TangentArray<A>> {
        Ok(TangentArray { primal: self.a.constant(c)?, tangent: None })
    }

    fn cond(
        &mut self,
        b: &TangentArray<A>,
        u: &TangentArray<A>,
        v: &TangentArray<A>,
    ) -> Result<TangentArray<A>> {
        let primal = self.a.cond(&b.primal, &u.primal, &v.primal)?;
        let ty = self.a.ty(&primal);
        let tangent = match self.both(&u.tangent, &v.tangent, &ty)? {
            Some((du, dv)) => Some(self.a.cond(&b.primal, &du, &dv)?),
            None => None,
        };
        Ok(TangentArray { primal, tangent })
    }

    fn op(&mut self, op: Op, args: &[TangentArray<A>]) -> Result<TangentArray<A>> {
        let primals = Self::primals(args);
        let primal = self.a.op(op, &primals)?;
        let ty = self.a.ty(&primal);
        if !ty.dtype.is_float() || args.iter().all(|t| t.tangent.is_none()) {
            return Ok(TangentArray { primal, tangent: None });
        }
        let tangent = match (op.row().rule, args) {
            (Rule::Select, [c, u, v]) => {
                let tangent = match self.both(&u.tangent, &v.tangent, &ty)? {
                    Some((du, dv)) => Some(self.a.op(op, &[c.primal.clone(), du, dv])?),
                    None => None,
                };
                return Ok(TangentArray { primal, tangent });
            }
            (Rule::Cast(_), [t]) => {
                let dt = t.tangent.as_ref();
                let tangent = dt.map(|dt| self.a.op(op, std::slice::from_ref(dt))).transpose()?;
                return Ok(TangentArray { primal, tangent });
            }
            _ => {
                let mut sum = None;
                for (arg, partial) in args.iter().zip(partials(op)?) {
                    let Some(dt) = arg.tangent.clone() else { continue };
                    let mut emitted = |expr| emit(self.a, expr, &primals, &primal);
                    let term = match partial {
                        Partial::Zero => continue,
                        Partial::One => dt,
                        Partial::Where(p, holds) => {
                            let (p, zero) = (emitted(p)?, self.a.number(0.0, &ty)?);
                            let (yes, no) = if *holds { (dt, zero) } else { (zero, dt) };
                            self.a.op(Op::Select, &[p, yes, no])?
                        }
                        Partial::Times(factor) => {
                            let factor = emitted(factor)?;
                            self.a.scale(&dt, &factor)?
                        }
                        Partial::TimesDerivative(factor) => {
                            let factor = emitted(factor)?;
                            self.a.strong_scale(&dt, &factor)?
                        }
                    };
                    sum = self.a.plus(sum, Some(term))?;
                }
                sum
            }
        };
        Ok(TangentArray { primal, tangent })
    }

    fn index(&mut self, t: &TangentArray<A>, ix: &[TangentArray<A>]) -> Result<TangentArray<A>> {
        let ix = Self::primals(ix);
        self.linear(t, |a, t| a.index(t, &ix))
    }

    fn sum_outer(&mut self, t: &TangentArray<A>) -> Result<TangentArray<A>> {
        self.linear(t, |a, t| a.sum_outer(t))
    }

    fn index_function(
        &mut self,
        f: Lambda<'_>,
        captures: &[(TermId, TangentArray<A>)],
    ) -> Result<A::F> {
        let captures: Vec<(TermId, A::T)> =
            captures.iter().map(|(t, x)| (*t, x.primal.clone())).collect();
        self.a.index_function(f, &captures)
    }

    fn index_table(&mut self, tables: &[TangentArray<A>]) -> Result<A::F> {
        self.a.index_table(&Self::primals(tables))
    }

    fn index_rank(&self, f: &A::F) -> usize {
        self.a.index_rank(f)
    }

    fn gather(&mut self, t: &TangentArray<A>, f: &A::F) -> Result<TangentArray<A>> {
        self.linear(t, |a, t| a.gather(t, f))
    }

    fn scatter(
        &mut self,
        outer: &[usize],
        t: &TangentArray<A>,
        f: &A::F,
    ) -> Result<TangentArray<A>> {
        self.linear(t, |a, t| a.scatter(outer, t, f))
    }

    fn stack(&mut self, ts: &[TangentArray<A>]) -> Result<TangentArray<A>> {
        let primal = self.a.stack(&Self::primals(ts))?;
        if ts.iter().all(|t| t.tangent.is_none()) {
            return Ok(TangentArray { primal, tangent: None });
        }
        let mut tangents = Vec::with_capacity(ts.len());
        for t in ts {
            tangents.push(match &t.tangent {
                Some(dt) => dt.clone(),
                None => {
                    let ty = self.a.ty(&t.primal);
                    self.a.number(0.0, &ty)?
                }
            });
        }
        let tangent = self.a.stack(&tangents)?;
        Ok(TangentArray { primal, tangent: Some(tangent) })
    }

    fn replicate(&mut self, k: usize, t: &TangentArray<A>) -> Result<TangentArray<A>> {
        self.linear(t, |a, t| a.replicate(k, t))
    }

    fn transpose(&mut self, perm: &[usize], t: &TangentArray<A>) -> Result<TangentArray<A>> {
        self.linear(t, |a, t| a.transpose(perm, t))
    }

    fn reshape(&mut self, dims: &[usize], t: &TangentArray<A>) -> Result<TangentArray<A>> {
        self.linear(t, |a, t| a.reshape(dims, t))
    }

    fn iota(&mut self, k: usize) -> Result<TangentArray<A>> {
        Ok(TangentArray { primal: self.a.iota(k)?, tangent: None })
    }

    fn one_hot(
        &mut self,
        outer: &[usize],
        v: &TangentArray<A>,
        ix: &[TangentArray<A>],
    ) -> Result<TangentArray<A>> {
        let ix = Self::primals(ix);
        self.linear(v, |a, v| a.one_hot(outer, v, &ix))
    }

    fn arg_extreme(&mut self, extreme: Extreme, t: &TangentArray<A>) -> Result<TangentArray<A>> {
        Ok(TangentArray { primal: self.a.arg_extreme(extreme, &t.primal)?, tangent: None })
    }

    fn arg_sort(&mut self, t: &TangentArray<A>) -> Result<TangentArray<A>> {
        Ok(TangentArray { primal: self.a.arg_sort(&t.primal)?, tangent: None })
    }

    fn segment_arg(
        &mut self,
        extreme: Extreme,
        k: usize,
        t: &TangentArray<A>,
        ids: &TangentArray<A>,
    ) -> Result<TangentArray<A>> {
        let primal = self.a.segment_arg(extreme, k, &t.primal, &ids.primal)?;
        Ok(TangentArray { primal, tangent: None })
    }

    fn routine(
        &mut self,
        routine: Routine,
        operands: &[TangentArray<A>],
    ) -> Result<TangentArray<A>> {
        let primals = Self::primals(operands);
        let primal = self.a.routine(routine, &primals)?;
        let tangents: Vec<Option<A::T>> = operands.iter().map(|t| t.tangent.clone()).collect();
        let tangent = derivative(self, routine, &primals, &primal, &tangents)?;
        Ok(TangentArray { primal, tangent })
    }

    fn map_accum(&mut self, m: &Loop<TangentArray<A>>) -> Result<Vec<TangentArray<A>>> {
        self.tangent_loop(m)
    }

    fn while_accum(&mut self, w: &WhileLoop<TangentArray<A>>) -> Result<Vec<TangentArray<A>>> {
        self.tangent_while(w)
    }

    fn custom(
        &mut self,
        c: &Arc<CustomFunction>,
        args: &[TangentArray<A>],
    ) -> Result<Vec<TangentArray<A>>> {
        self.tangent_custom(c, args)
    }

    fn is_finite(&mut self, t: &TangentArray<A>) -> bool {
        self.a.is_finite(&t.primal)
    }
}

/// Tangents are arrays, and a linear function of them is computed.
impl<A: Algebra> Derivatives<A> for Tangent<'_, A> {
    type D = A::T;

    fn algebra(&mut self) -> &mut A {
        self.a
    }

    fn type_of(&self, d: &A::T) -> Type {
        self.a.ty(d)
    }

    fn add(&mut self, d: A::T, e: A::T) -> Result<A::T> {
        self.a.op(Op::Add, &[d, e])
    }

    fn scale(&mut self, factor: &A::T, d: A::T) -> Result<A::T> {
        self.a.scale(&d, factor)
    }

    fn only(&mut self, mask: &A::T, d: A::T) -> Result<A::T> {
        let ty = self.a.ty(&d);
        let zero = self.a.number(0.0, &ty)?;
        self.a.op(Op::Select, &[mask.clone(), d, zero])
    }

    fn replicate(&mut self, k: usize, d: A::T) -> Result<A::T> {
        self.a.replicate(k, &d)
    }

    fn sum_outer(&mut self, d: A::T) -> Result<A::T> {
        self.a.sum_outer(&d)
    }

    fn transpose(&mut self, perm: &[usize], d: A::T) -> Result<A::T> {
        self.a.transpose(perm, &d)
    }

    fn gather(&mut self, f: &A::F, d: A::T) -> Result<A::T> {
        self.a.gather(&d, f)
    }

    fn routine(&mut self, routine: Routine, fixed: &[A::T], d: A::T) -> Result<A::T> {
        let operands: Vec<A::T> = fixed.iter().cloned().chain([d]).collect();
        self.a.routine(routine, &operands)
    }
}
