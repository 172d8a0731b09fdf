//! `Dual<A>`: dual arrays over an algebra (Figs. ad-rules-dual-arrays, ad-rules-dual-arrays-op).
//!
//! $D[\mathrm{Array}\ sh\ \mathbb{R}] = (\mathrm{Array}\ sh\ \mathbb{R}, \Delta\ sh)$, and integers,
//! truth values and index functions are not differentiated ($D'$): they are those of `A`. Over
//! [`crate::Eager`] this is define-by-run; over [`crate::Staged`] the Delta is built at compile time.

use std::sync::Arc;

use cotan_array::{Array, Dtype, Shape};
use cotan_ir::provenance::{Pass, made_by};
use cotan_ir::scalar::{Op, Rule};
use cotan_ir::{Extreme, Keep, Result, Routine, Span, TermId, Type};

use crate::algebra::{Algebra, Lambda, Loop, batched, element};
use crate::custom::CustomFunction;
use crate::delta::{Delta, DeltaId, Deltas};
use crate::partials::{Partial, emit, partials};
use crate::routine::{Derivatives, derivative};
use crate::while_loop::WhileLoop;

/// A primal and its derivative; no Delta is the report's `Zero`.
pub struct DualArray<A: Algebra> {
    /// The value.
    pub primal: A::T,
    /// The derivative.
    pub delta: Option<DeltaId>,
}

impl<A: Algebra> Clone for DualArray<A> {
    fn clone(&self) -> DualArray<A> {
        DualArray { primal: self.primal.clone(), delta: self.delta }
    }
}

/// Dual arrays over `A`.
pub struct Dual<'a, A: Algebra> {
    /// Where the primals are computed.
    pub a: &'a mut A,
    /// The derivatives.
    pub deltas: Deltas<A>,
    /// What loops of known length may keep, if not all that their derivatives need.
    pub(crate) budget: Option<Keep>,
}

impl<'a, A: Algebra> Dual<'a, A> {
    /// Dual arrays over an algebra.
    pub fn new(a: &'a mut A) -> Dual<'a, A> {
        let deltas = Deltas::following(a.follows_places());
        Dual { a, deltas, budget: None }
    }

    /// An input whose derivative is wanted, by number; a discrete one has none.
    pub fn input(&mut self, k: usize, primal: A::T) -> DualArray<A> {
        let ty = self.a.ty(&primal);
        let delta = ty.dtype.is_float().then(|| self.deltas.push(Delta::Input(k), ty));
        DualArray { primal, delta }
    }

    /// A value taken as constant.
    pub fn lift(&self, primal: A::T) -> DualArray<A> {
        DualArray { primal, delta: None }
    }

    /// A result of the given primal whose Delta is made from that of `t`, if it has one.
    fn linear(
        &mut self,
        t: &DualArray<A>,
        primal: A::T,
        delta: impl FnOnce(DeltaId) -> Delta<A>,
    ) -> Result<DualArray<A>> {
        let delta = t.delta.map(|d| self.record(delta(d), &primal));
        Ok(DualArray { primal, delta })
    }

    /// Adds a Delta for an array.
    pub(crate) fn record(&mut self, delta: Delta<A>, primal: &A::T) -> DeltaId {
        let ty = self.a.ty(primal);
        self.deltas.push(delta, ty)
    }

    /// The results of a former with several, those that are active with a part of its Delta.
    pub(crate) fn several(
        &mut self,
        delta: Delta<A>,
        results: Vec<A::T>,
        active: &[bool],
    ) -> Result<Vec<DualArray<A>>> {
        // It is no array itself: its type means nothing.
        let whole = self.deltas.push(delta, Type::scalar(Dtype::F64));
        let mut duals = Vec::with_capacity(results.len());
        for (n, primal) in results.into_iter().enumerate() {
            let delta = match active[n] {
                true => Some(self.record(Delta::Result(whole, n), &primal)),
                false => None,
            };
            duals.push(DualArray { primal, delta });
        }
        Ok(duals)
    }

    fn primals(ts: &[DualArray<A>]) -> Vec<A::T> {
        ts.iter().map(|t| t.primal.clone()).collect()
    }

    /// The sum of the partial derivatives times the derivatives of the arguments.
    fn chain_rule(
        &mut self,
        op: Op,
        args: &[DualArray<A>],
        primals: &[A::T],
        primal: &A::T,
        ty: &Type,
    ) -> Result<Option<DeltaId>> {
        let mut sum: Option<DeltaId> = None;
        for (arg, partial) in args.iter().zip(partials(op)?) {
            let Some(d) = arg.delta else { continue };
            let mut emitted = |expr| emit(self.a, expr, primals, primal);
            let term = match partial {
                Partial::Zero => continue,
                Partial::One => None,
                Partial::Where(p, true) => Some(Delta::Select(emitted(p)?, Some(d), None)),
                Partial::Where(p, false) => Some(Delta::Select(emitted(p)?, None, Some(d))),
                Partial::Times(factor) => Some(Delta::Scale(emitted(factor)?, d)),
                Partial::TimesDerivative(factor) => Some(Delta::StrongScale(emitted(factor)?, d)),
            };
            let term = term.map_or(d, |term| self.deltas.push(term, ty.clone()));
            sum = Some(match sum {
                Some(sum) => self.deltas.push(Delta::Add(sum, term), ty.clone()),
                None => term,
            });
        }
        Ok(sum)
    }
}

impl<A: Algebra> Algebra for Dual<'_, A> {
    type T = DualArray<A>;
    type F = A::F;

    fn at(&mut self, span: Span) {
        self.a.at(made_by(Pass::Forward, span));
        self.deltas.at(span);
    }

    fn ty(&self, t: &DualArray<A>) -> Type {
        self.a.ty(&t.primal)
    }

    // D[c] = (c, Zero)
    fn constant(&mut self, c: &Array) -> Result<DualArray<A>> {
        let primal = self.a.constant(c)?;
        Ok(self.lift(primal))
    }

    // D[cond b u v] = (cond b u v, Cond b du dv)
    fn cond(
        &mut self,
        b: &DualArray<A>,
        u: &DualArray<A>,
        v: &DualArray<A>,
    ) -> Result<DualArray<A>> {
        let primal = self.a.cond(&b.primal, &u.primal, &v.primal)?;
        let active = u.delta.is_some() || v.delta.is_some();
        let choice = Delta::Cond(b.primal.clone(), u.delta, v.delta);
        let delta = active.then(|| self.record(choice, &primal));
        Ok(DualArray { primal, delta })
    }

    // D[op t u] = (op t u, Add (Scale (d1 op t u) dt) (Scale (d2 op t u) du))
    fn op(&mut self, op: Op, args: &[DualArray<A>]) -> Result<DualArray<A>> {
        let primals = Self::primals(args);
        let primal = self.a.op(op, &primals)?;
        let ty = self.a.ty(&primal);
        let active = ty.dtype.is_float() && args.iter().any(|t| t.delta.is_some());
        let delta = match (op.row().rule, args) {
            _ if !active => None,
            (Rule::Select, [c, u, v]) => {
                Some(self.record(Delta::Select(c.primal.clone(), u.delta, v.delta), &primal))
            }
            (Rule::Cast(_), [t]) => {
                let same = self.a.ty(&t.primal).dtype == ty.dtype;
                match t.delta {
                    Some(d) if !same => Some(self.record(Delta::Cast(d), &primal)),
                    other => other,
                }
            }
            _ => self.chain_rule(op, args, &primals, &primal, &ty)?,
        };
        Ok(DualArray { primal, delta })
    }

    // D[index t ix] = (index t ix, Index dt ix)
    fn index(&mut self, t: &DualArray<A>, ix: &[DualArray<A>]) -> Result<DualArray<A>> {
        let ix = Self::primals(ix);
        let primal = self.a.index(&t.primal, &ix)?;
        self.linear(t, primal, |d| Delta::Index(d, ix.into()))
    }

    // D[sumOuter t] = (sumOuter t, SumOuter dt)
    fn sum_outer(&mut self, t: &DualArray<A>) -> Result<DualArray<A>> {
        let primal = self.a.sum_outer(&t.primal)?;
        self.linear(t, primal, Delta::SumOuter)
    }

    // D'[\is -> ix]: captures stand for their primals.
    fn index_function(
        &mut self,
        f: Lambda<'_>,
        captures: &[(TermId, DualArray<A>)],
    ) -> Result<A::F> {
        let captures: Vec<(TermId, A::T)> =
            captures.iter().map(|(t, x)| (*t, x.primal.clone())).collect();
        self.a.index_function(f, &captures)
    }

    fn index_table(&mut self, tables: &[DualArray<A>]) -> Result<A::F> {
        self.a.index_table(&Self::primals(tables))
    }

    fn index_rank(&self, f: &A::F) -> usize {
        self.a.index_rank(f)
    }

    // D[gather sh t f] = (gather sh t f, Gather dt f)
    fn gather(&mut self, t: &DualArray<A>, f: &A::F) -> Result<DualArray<A>> {
        let primal = self.a.gather(&t.primal, f)?;
        self.linear(t, primal, |d| Delta::Gather(d, f.clone()))
    }

    // D[scatter sh t f] = (scatter sh t f, Scatter dt f)
    fn scatter(&mut self, outer: &[usize], t: &DualArray<A>, f: &A::F) -> Result<DualArray<A>> {
        let primal = self.a.scatter(outer, &t.primal, f)?;
        let sh = Shape::new("scatter", outer)?;
        self.linear(t, primal, |d| Delta::Scatter(Box::new(sh), d, f.clone()))
    }

    // D[[t1, .., tn]] = ([t1, .., tn], LitArray [d1, .., dn])
    fn stack(&mut self, ts: &[DualArray<A>]) -> Result<DualArray<A>> {
        let primal = self.a.stack(&Self::primals(ts))?;
        let deltas: Box<[Option<DeltaId>]> = ts.iter().map(|t| t.delta).collect();
        let active = deltas.iter().any(|d| d.is_some());
        let delta = active.then(|| self.record(Delta::LitArray(deltas), &primal));
        Ok(DualArray { primal, delta })
    }

    // D[replicate k t] = (replicate k t, Replicate k dt)
    fn replicate(&mut self, k: usize, t: &DualArray<A>) -> Result<DualArray<A>> {
        let primal = self.a.replicate(k, &t.primal)?;
        self.linear(t, primal, |d| Delta::Replicate(k, d))
    }

    // D[tr perm t] = (tr perm t, Transpose perm dt)
    fn transpose(&mut self, perm: &[usize], t: &DualArray<A>) -> Result<DualArray<A>> {
        let primal = self.a.transpose(perm, &t.primal)?;
        self.linear(t, primal, |d| Delta::Transpose(perm.into(), d))
    }

    // D[reshape sh t] = (reshape sh t, Reshape dt)
    fn reshape(&mut self, dims: &[usize], t: &DualArray<A>) -> Result<DualArray<A>> {
        let primal = self.a.reshape(dims, &t.primal)?;
        self.linear(t, primal, Delta::Reshape)
    }

    // D[iota k] = iota k, and likewise the other discrete results.
    fn iota(&mut self, k: usize) -> Result<DualArray<A>> {
        let primal = self.a.iota(k)?;
        Ok(self.lift(primal))
    }

    // D[oneHot sh v ix] = (oneHot sh v ix, OneHot sh dv ix)
    fn one_hot(
        &mut self,
        outer: &[usize],
        v: &DualArray<A>,
        ix: &[DualArray<A>],
    ) -> Result<DualArray<A>> {
        let ix = Self::primals(ix);
        let primal = self.a.one_hot(outer, &v.primal, &ix)?;
        let sh = Shape::new("one_hot", outer)?;
        self.linear(v, primal, |d| Delta::OneHot(Box::new((sh, ix)), d))
    }

    fn arg_extreme(&mut self, extreme: Extreme, t: &DualArray<A>) -> Result<DualArray<A>> {
        let primal = self.a.arg_extreme(extreme, &t.primal)?;
        Ok(self.lift(primal))
    }

    fn arg_sort(&mut self, t: &DualArray<A>) -> Result<DualArray<A>> {
        let primal = self.a.arg_sort(&t.primal)?;
        Ok(self.lift(primal))
    }

    fn segment_arg(
        &mut self,
        extreme: Extreme,
        k: usize,
        t: &DualArray<A>,
        ids: &DualArray<A>,
    ) -> Result<DualArray<A>> {
        let primal = self.a.segment_arg(extreme, k, &t.primal, &ids.primal)?;
        Ok(self.lift(primal))
    }

    // D[routine t ..] = (routine t .., its derivative in closed form): see `routine.rs`.
    fn routine(&mut self, routine: Routine, operands: &[DualArray<A>]) -> Result<DualArray<A>> {
        let primals = Self::primals(operands);
        let primal = self.a.routine(routine, &primals)?;
        let deltas: Vec<Option<DeltaId>> = operands.iter().map(|t| t.delta).collect();
        let delta = derivative(self, routine, &primals, &primal, &deltas)?;
        Ok(DualArray { primal, delta })
    }

    // D[mapAccum]: see `map_accum.rs`.
    fn map_accum(&mut self, m: &Loop<DualArray<A>>) -> Result<Vec<DualArray<A>>> {
        self.deltas.meet_loop();
        self.dual_loop(m)
    }

    // D[while]: see `while_loop.rs`.
    fn while_accum(&mut self, w: &WhileLoop<DualArray<A>>) -> Result<Vec<DualArray<A>>> {
        self.deltas.meet_loop();
        self.dual_while(w)
    }

    fn custom(
        &mut self,
        c: &Arc<CustomFunction>,
        args: &[DualArray<A>],
    ) -> Result<Vec<DualArray<A>>> {
        self.dual_custom(c, args)
    }

    fn is_finite(&mut self, t: &DualArray<A>) -> bool {
        self.a.is_finite(&t.primal)
    }
}

/// A linear function of Deltas is a Delta.
impl<A: Algebra> Derivatives<A> for Dual<'_, A> {
    type D = DeltaId;

    fn algebra(&mut self) -> &mut A {
        self.a
    }

    fn type_of(&self, d: &DeltaId) -> Type {
        self.deltas.ty(*d).clone()
    }

    fn add(&mut self, d: DeltaId, e: DeltaId) -> Result<DeltaId> {
        let ty = self.deltas.ty(d).clone();
        Ok(self.deltas.push(Delta::Add(d, e), ty))
    }

    fn scale(&mut self, factor: &A::T, d: DeltaId) -> Result<DeltaId> {
        let ty = self.deltas.ty(d).clone();
        Ok(self.deltas.push(Delta::Scale(factor.clone(), d), ty))
    }

    fn only(&mut self, mask: &A::T, d: DeltaId) -> Result<DeltaId> {
        let ty = self.deltas.ty(d).clone();
        Ok(self.deltas.push(Delta::Select(mask.clone(), Some(d), None), ty))
    }

    fn replicate(&mut self, k: usize, d: DeltaId) -> Result<DeltaId> {
        let ty = batched(k, self.deltas.ty(d))?;
        Ok(self.deltas.push(Delta::Replicate(k, d), ty))
    }

    fn sum_outer(&mut self, d: DeltaId) -> Result<DeltaId> {
        let ty = element(self.deltas.ty(d));
        Ok(self.deltas.push(Delta::SumOuter(d), ty))
    }

    fn transpose(&mut self, perm: &[usize], d: DeltaId) -> Result<DeltaId> {
        let ty = self.deltas.ty(d);
        let dims: Vec<usize> = perm.iter().map(|&k| ty.shape.dims()[k]).collect();
        let ty = Type::new(ty.dtype, Shape::new("transpose", &dims)?);
        Ok(self.deltas.push(Delta::Transpose(perm.into(), d), ty))
    }

    // The index function has a position for each place of the array.
    fn gather(&mut self, f: &A::F, d: DeltaId) -> Result<DeltaId> {
        let ty = self.deltas.ty(d).clone();
        Ok(self.deltas.push(Delta::Gather(d, f.clone()), ty))
    }

    fn routine(&mut self, routine: Routine, fixed: &[A::T], d: DeltaId) -> Result<DeltaId> {
        // The result is like the last operand.
        let ty = self.deltas.ty(d).clone();
        Ok(self.deltas.push(Delta::Routine(Box::new((routine, fixed.to_vec())), d), ty))
    }
}
