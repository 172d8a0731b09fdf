//! The machine: runs a program scope by scope on arrays of dual numbers.

use std::rc::Rc;

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, Scalar, ScalarExpr, eval};
use cotan_ir::{Error, ErrorKind, Node, Program, RegionId, Result, Scopes, TermId};
use rustc_hash::FxHashMap;

use super::super::delta::Real;
use super::numbers::{Derivative, Number};

/// A number and its derivative. That of an integer or boolean is always zero.
#[derive(Clone, Debug)]
pub(super) struct Dual<D> {
    pub(super) x: Scalar,
    pub(super) d: D,
}

/// An array: its elements in row-major order. The program knows the shape.
pub(super) type Elements<D> = Rc<Vec<Dual<D>>>;

/// What a node has been computed to.
pub(super) enum Slot<D> {
    One(Elements<D>),
    /// Of a former with several results.
    Several(Vec<Elements<D>>),
}

/// The state of a run.
pub(super) struct Machine<'a, M: Derivative> {
    pub(super) program: &'a Program,
    scopes: &'a Scopes,
    mode: M,
    values: Vec<Option<Slot<M::D>>>,
    /// The parsed partial derivatives of the operations met so far.
    partials: FxHashMap<Op, Rc<[ScalarExpr]>>,
    /// The node being computed, for messages.
    at: Option<TermId>,
    work: u64,
    max_work: u64,
}

impl<'a, M: Derivative> Machine<'a, M> {
    pub(super) fn new(program: &'a Program, scopes: &'a Scopes, mode: M, max_work: u64) -> Self {
        Machine {
            program,
            scopes,
            mode,
            values: std::iter::repeat_with(|| None).take(program.len()).collect(),
            partials: FxHashMap::default(),
            at: None,
            work: 0,
            max_work,
        }
    }

    /// Gives the inputs their elements.
    pub(super) fn define_inputs(&mut self, inputs: Vec<Vec<Dual<M::D>>>) -> Result<()> {
        let inputs: Vec<Elements<M::D>> = inputs.into_iter().map(Rc::new).collect();
        for t in self.program.terms() {
            if let Node::Input(k) = self.program.node(t)
                && let Some(elements) = inputs.get(*k as usize)
            {
                self.spend(elements.len())?;
                self.define(t, Rc::clone(elements));
            }
        }
        Ok(())
    }

    /// Runs the program: the elements of each output.
    pub(super) fn run(&mut self) -> Result<Vec<Elements<M::D>>> {
        self.compute_all(self.scopes.top().order())?;
        self.program.outputs().iter().map(|output| self.value(output.term)).collect()
    }

    /// Computes the nodes of one scope. What a lambda captures comes before the node it belongs to,
    /// so only the nesting of lambdas recurses.
    fn compute_all(&mut self, order: &[TermId]) -> Result<()> {
        for &t in order {
            // Inputs and variables have been defined.
            if !matches!(self.program.node(t), Node::Input(_) | Node::Var { .. }) {
                self.at = Some(t);
                self.spend(1)?;
                let slot = self.compute(t)?;
                self.values[t.index()] = Some(slot);
            }
        }
        Ok(())
    }

    /// Runs a lambda. Its nodes get new values at each run; those of lambdas around it stay.
    pub(super) fn call(
        &mut self,
        r: RegionId,
        args: impl IntoIterator<Item = Elements<M::D>>,
    ) -> Result<Vec<Elements<M::D>>> {
        // Also a lambda that computes nothing takes its time.
        self.spend(1)?;
        let at = self.at;
        let region = self.program.region(r);
        for (&param, arg) in region.params().iter().zip(args) {
            self.define(param, arg);
        }
        self.compute_all(self.scopes.region(r).order())?;
        self.at = at;
        region.results().iter().map(|&t| self.value(t)).collect()
    }

    /// Runs a lambda of index variables at one position.
    pub(super) fn call_at(&mut self, r: RegionId, is: &[usize]) -> Result<Vec<Elements<M::D>>> {
        let args: Vec<_> = is.iter().map(|&i| Rc::new(vec![self.integer(i)])).collect();
        self.call(r, args)
    }

    fn define(&mut self, t: TermId, elements: Elements<M::D>) {
        self.values[t.index()] = Some(Slot::One(elements));
    }

    /// The elements of a node computed before.
    pub(super) fn value(&self, t: TermId) -> Result<Elements<M::D>> {
        match &self.values[t.index()] {
            Some(Slot::One(elements)) => Ok(Rc::clone(elements)),
            Some(Slot::Several(_)) | None => Err(self.internal("an operand has no value")),
        }
    }

    /// One result of a node with several.
    pub(super) fn result(&self, t: TermId, n: usize) -> Result<Elements<M::D>> {
        match &self.values[t.index()] {
            Some(Slot::Several(results)) if n < results.len() => Ok(Rc::clone(&results[n])),
            Some(_) | None => Err(self.internal("an operand has no such result")),
        }
    }

    /// The elements of several nodes.
    pub(super) fn all(&self, ts: &[TermId]) -> Result<Vec<Elements<M::D>>> {
        ts.iter().map(|&t| self.value(t)).collect()
    }

    // ---- dual numbers -------------------------------------------------------------------------

    /// `(x, Zero)`
    pub(super) fn plain(&self, x: Scalar) -> Dual<M::D> {
        Dual { x: M::R::admit(x), d: self.mode.zero() }
    }

    /// Zero, or `false`.
    pub(super) fn zero(&self, dtype: Dtype) -> Dual<M::D> {
        self.plain(Scalar::zero(dtype, false))
    }

    /// An index.
    pub(super) fn integer(&self, i: usize) -> Dual<M::D> {
        // Sizes of axes fit in i64 by the invariant of shapes.
        self.plain(Scalar::I64(i as i64))
    }

    /// `D[op(t1, .., tn)]`: the result, with its partial derivatives times the derivatives of the
    /// arguments.
    pub(super) fn apply(
        &mut self,
        op: Op,
        args: &[&Dual<M::D>],
        result: Dtype,
    ) -> Result<Dual<M::D>> {
        self.spend(1)?;
        // A selection hands one of its arguments through, also its derivative: a factor of 0 for
        // the other one would turn an infinite cotangent into NaN.
        if let (Op::Select, [c, a, b]) = (op, args) {
            return Ok(if c.x == Scalar::Bool(true) { (*a).clone() } else { (*b).clone() });
        }
        let xs: Vec<Scalar> = args.iter().map(|arg| arg.x).collect();
        let y = eval(op, &xs).map(M::R::admit);
        let y = y.ok_or_else(|| self.internal("arguments do not fit the operation"))?;
        let constant = !result.is_float() || args.iter().all(|arg| M::is_zero(&arg.d));
        if constant {
            return Ok(self.plain(y));
        }
        let partials = self.partials(op)?;
        let mut terms = Vec::with_capacity(args.len());
        for (k, (arg, partial)) in args.iter().zip(&*partials).enumerate() {
            if M::is_zero(&arg.d) || partial.is_number(0.0) {
                continue;
            }
            let r = if partial.is_number(1.0) {
                None
            } else {
                let r = partial.eval(&xs, y, result).and_then(M::R::of);
                Some(r.ok_or_else(|| self.internal("a partial derivative does not fit"))?)
            };
            // Zeros of a factor that is a derivative annihilate, and what was not chosen gets
            // nothing.
            let strong = matches!((op, k), (Op::Scale, 1) | (Op::StrongMul, _));
            if r == Some(M::R::ZERO) && (strong || partial.as_choice().is_some()) {
                continue;
            }
            terms.push((r, arg.d.clone()));
        }
        Ok(Dual { x: y, d: self.mode.combine(terms) })
    }

    fn partials(&mut self, op: Op) -> Result<Rc<[ScalarExpr]>> {
        if let Some(partials) = self.partials.get(&op) {
            return Ok(Rc::clone(partials));
        }
        let parsed = op.partials().map_err(|e| Error::internal(e.to_string()))?;
        let partials: Rc<[ScalarExpr]> = parsed.into();
        self.partials.insert(op, Rc::clone(&partials));
        Ok(partials)
    }

    // ---- limits and faults --------------------------------------------------------------------

    /// Takes note of work before it is done and before memory is taken for it.
    pub(super) fn spend(&mut self, n: usize) -> Result<()> {
        self.work = self.work.saturating_add(n as u64);
        if self.work <= self.max_work {
            return Ok(());
        }
        let op = self.at.map_or("input", |t| self.program.node(t).name());
        let span = self.at.map_or(cotan_ir::Span::NONE, |t| self.program.span(t));
        let message = format!("more than {} elements and operations", self.max_work);
        let error = Error::new(ErrorKind::Limit, op, message).with_span(span);
        Err(error.with_hint("use a smaller program, or raise `max_work`"))
    }

    pub(super) fn internal(&self, message: &str) -> Error {
        let op = self.at.map_or("input", |t| self.program.node(t).name());
        Error::internal(format!("{op}: {message}"))
    }
}
