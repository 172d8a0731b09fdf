//! The machine: evaluates by demand, with an explicit stack inside a scope.
//!
//! A node is evaluated when something demands it, after its operands and after what its lambda
//! captures from outer scopes. So when a lambda runs, all it needs from outside is there, and the
//! native stack grows only with the nesting of lambdas, never with the length of a program.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use std::time::Instant;

use cotan_array::Dtype;
use cotan_array::release::settled;
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{Node, Program, RegionId, Scopes, Span, TermId, Type};

use crate::error::{Failure, InterpError, Result};
use crate::options::Options;
use crate::position::{advance, first};
use crate::report::{Access, Counts, OutOfRange};
use crate::tensor::{Entry, Hold, Meter, Tensor};

/// How often deadline and token are looked at, in units of work.
const POLL: u64 = 1 << 14;

/// How many elements are worked on at a time where work is not counted on the way.
pub(crate) const PART: usize = 1 << 14;

/// The value of a node.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    One(Rc<Tensor>),
    /// Of a former with several results.
    Several(Vec<Rc<Tensor>>),
}

/// What is left to do in a scope.
enum Task {
    /// Get the value of a node.
    Demand(TermId),
    /// The condition of this `cond` is known: demand its branch.
    Choose(TermId),
    /// All this node needs is there.
    Compute(TermId),
}

/// One turn of a loop.
pub(crate) struct Turn {
    /// Whether its condition depends on an out-of-range read.
    pub(crate) poisoned: bool,
    /// Next states and outputs; `None` if the condition fails.
    pub(crate) results: Option<Vec<Rc<Tensor>>>,
}

/// The state of a run.
pub(crate) struct Machine<'a> {
    pub(crate) program: &'a Program,
    pub(crate) options: &'a Options,
    pub(crate) counts: Counts,
    pub(crate) out_of_range: BTreeMap<TermId, OutOfRange>,
    scopes: &'a Scopes,
    values: Vec<Option<Slot>>,
    meter: Meter,
    /// The node being computed.
    at: Option<TermId>,
    work: u64,
    next_poll: u64,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(program: &'a Program, scopes: &'a Scopes, options: &'a Options) -> Self {
        Machine {
            program,
            options,
            counts: Counts::default(),
            out_of_range: BTreeMap::new(),
            scopes,
            values: vec![None; program.len()],
            meter: Meter::default(),
            at: None,
            work: 0,
            next_poll: 0,
        }
    }

    // ---- demand -------------------------------------------------------------------------------

    /// Gives a node its value from outside: an input.
    pub(crate) fn define(&mut self, t: TermId, value: Tensor) {
        self.values[t.index()] = Some(Slot::One(Rc::new(value)));
    }

    /// Evaluates `roots` and what they need in their scope. Returns the nodes evaluated.
    pub(crate) fn demand(&mut self, roots: &[TermId]) -> Result<Vec<TermId>> {
        let mut computed = Vec::new();
        let mut tasks: Vec<Task> = roots.iter().rev().map(|&t| Task::Demand(t)).collect();
        while let Some(task) = tasks.pop() {
            match task {
                Task::Demand(t) if self.values[t.index()].is_some() => {}
                Task::Demand(t) => {
                    let node = self.program.node(t);
                    if let Node::Cond(condition, _, _) = node
                        && !self.options.strict
                    {
                        tasks.extend([Task::Choose(t), Task::Demand(*condition)]);
                        continue;
                    }
                    tasks.push(Task::Compute(t));
                    self.scopes.for_each_dependency(self.program, t, |u| {
                        tasks.push(Task::Demand(u));
                    });
                }
                Task::Choose(t) => {
                    if let Node::Cond(condition, yes, no) = self.program.node(t) {
                        let branch = if self.truth(*condition)? { *yes } else { *no };
                        tasks.extend([Task::Compute(t), Task::Demand(branch)]);
                    }
                }
                Task::Compute(t) => {
                    self.at = Some(t);
                    self.counts.nodes += 1;
                    self.spend(1)?;
                    let value = self.compute(t)?;
                    self.values[t.index()] = Some(value);
                    computed.push(t);
                }
            }
        }
        Ok(computed)
    }

    /// Runs a lambda once.
    pub(crate) fn call(&mut self, r: RegionId, args: Vec<Rc<Tensor>>) -> Result<Vec<Rc<Tensor>>> {
        self.call_first(r, args, self.program.region(r).results().len())
    }

    /// Runs a lambda for its first `count` results, which need no parameters beyond the arguments.
    pub(crate) fn call_first(
        &mut self,
        r: RegionId,
        args: Vec<Rc<Tensor>>,
        count: usize,
    ) -> Result<Vec<Rc<Tensor>>> {
        self.counts.steps += 1;
        self.spend(1)?;
        let at = self.at;
        let region = self.program.region(r);
        for (&x, value) in region.params().iter().zip(args) {
            self.values[x.index()] = Some(Slot::One(value));
        }
        let wanted = region.results().get(..count).unwrap_or_default();
        let computed = self.demand(wanted)?;
        let results = wanted.iter().map(|&t| self.value(t)).collect();
        // Other lambdas of this depth share these nodes: nothing may stay.
        for t in computed.iter().chain(region.params()) {
            self.values[t.index()] = None;
        }
        self.at = at;
        results
    }

    /// Runs a lambda for its first result, a condition, and for the others if that holds.
    pub(crate) fn call_while(&mut self, r: RegionId, args: Vec<Rc<Tensor>>) -> Result<Turn> {
        self.counts.steps += 1;
        self.spend(1)?;
        let at = self.at;
        let region = self.program.region(r);
        let Some((&condition, others)) = region.results().split_first() else {
            return Err(self.internal("a loop without a condition"));
        };
        for (&x, value) in region.params().iter().zip(args) {
            self.values[x.index()] = Some(Slot::One(value));
        }
        let mut computed = self.demand(&[condition])?;
        let mut results = None;
        if self.truth(condition)? {
            computed.extend(self.demand(others)?);
            results = Some(others.iter().map(|&t| self.value(t)).collect::<Result<_>>()?);
        }
        let poisoned = self.value(condition)?.item().poisoned;
        // Other lambdas of this depth share these nodes: nothing may stay.
        for t in computed.iter().chain(region.params()) {
            self.values[t.index()] = None;
        }
        self.at = at;
        Ok(Turn { poisoned, results })
    }

    /// Runs a lambda of index variables at one position.
    pub(crate) fn call_at(&mut self, r: RegionId, is: &[usize]) -> Result<Vec<Rc<Tensor>>> {
        let mut args = Vec::with_capacity(is.len());
        for &i in is {
            args.push(Rc::new(self.integer(i)?));
        }
        self.call(r, args)
    }

    // ---- values -------------------------------------------------------------------------------

    /// The value of a node that has been demanded.
    pub(crate) fn value(&self, t: TermId) -> Result<Rc<Tensor>> {
        match &self.values[t.index()] {
            Some(Slot::One(value)) => Ok(Rc::clone(value)),
            Some(Slot::Several(_)) => Err(self.internal("several results where one is needed")),
            None => Err(self.internal("an operand has no value")),
        }
    }

    /// One result of a node with several that has been demanded.
    pub(crate) fn result(&self, t: TermId, n: usize) -> Result<Rc<Tensor>> {
        match &self.values[t.index()] {
            Some(Slot::Several(values)) => {
                values.get(n).cloned().ok_or_else(|| self.internal("no such result"))
            }
            Some(Slot::One(_)) | None => Err(self.internal("an operand has no results")),
        }
    }

    /// The value of a scalar `bool`.
    fn truth(&self, t: TermId) -> Result<bool> {
        let condition = self.value(t)?.item().value;
        condition.as_bool().ok_or_else(|| self.internal("a condition is not a bool"))
    }

    /// An `i64` scalar.
    fn integer(&self, i: usize) -> Result<Tensor> {
        let i = i64::try_from(i).map_err(|_| self.internal("an index beyond i64"))?;
        let (mut entries, hold) = self.reserve(&Type::scalar(Dtype::I64))?;
        entries.push(Entry::sound(Scalar::I64(i)));
        Ok(Tensor::new(Type::scalar(Dtype::I64), entries, hold))
    }

    /// Room for the elements of an array, within the limit.
    fn reserve(&self, ty: &Type) -> Result<(Vec<Entry>, Hold)> {
        let (op, span, numel) = (self.op(), self.span(), ty.shape.numel());
        let bytes = (numel as u64).saturating_mul(size_of::<Entry>() as u64);
        let (needed, limit) = (self.meter.in_use().saturating_add(bytes), self.options.max_bytes);
        if needed > limit {
            return Err(Failure::Memory { op, span, ty: ty.clone(), needed, limit }.into());
        }
        if !settled(usize::try_from(bytes).unwrap_or(usize::MAX), || self.look().is_ok()) {
            self.look()?;
        }
        let mut entries = Vec::new();
        if entries.try_reserve_exact(numel).is_err() {
            return Err(Failure::OutOfMemory { op, span, ty: ty.clone() }.into());
        }
        Ok((entries, self.meter.hold(bytes)))
    }

    /// An array made element after element in row-major order: `fill` adds all of them.
    pub(crate) fn make(
        &mut self,
        ty: &Type,
        fill: impl FnOnce(&mut Self, &mut Vec<Entry>) -> Result<()>,
    ) -> Result<Tensor> {
        let (entries, hold) = self.reserve(ty)?;
        let mut tensor = Tensor::new(ty.clone(), entries, hold);
        fill(self, &mut tensor.entries)?;
        if tensor.entries.len() != ty.shape.numel() {
            return Err(self.internal("elements and shape disagree"));
        }
        Ok(tensor)
    }

    /// The array whose element at index `is` is `f(is)`.
    pub(crate) fn tabulate(
        &mut self,
        ty: &Type,
        mut f: impl FnMut(&mut Self, &[usize]) -> Result<Entry>,
    ) -> Result<Tensor> {
        self.make(ty, |m, entries| {
            m.each_position(ty.shape.dims(), |m, is| {
                m.writes(1)?;
                entries.push(f(m, is)?);
                Ok(())
            })
        })
    }

    /// Calls `f` on every index within `dims`, in row-major order.
    pub(crate) fn each_position(
        &mut self,
        dims: &[usize],
        mut f: impl FnMut(&mut Self, &[usize]) -> Result<()>,
    ) -> Result<()> {
        let Some(mut is) = first(dims) else { return Ok(()) };
        loop {
            f(self, &is)?;
            if !advance(&mut is, dims) {
                return Ok(());
            }
        }
    }

    // ---- scalars ------------------------------------------------------------------------------

    /// One scalar operation.
    pub(crate) fn scalar(&mut self, op: Op, args: &[Scalar]) -> Result<Scalar> {
        self.scalar_ops(1)?;
        let y = self.options.mode.eval(op, args);
        y.ok_or_else(|| self.internal("arguments do not fit the operation"))
    }

    /// `a + b`.
    pub(crate) fn add(&mut self, a: Entry, b: Entry) -> Result<Entry> {
        let value = self.scalar(Op::Add, &[a.value, b.value])?;
        Ok(Entry::sound(value).tainted_by(a.poisoned || b.poisoned))
    }

    /// Zero, or `false`.
    pub(crate) fn zero(&self, dtype: Dtype) -> Entry {
        Entry::sound(self.options.mode.zero(dtype))
    }

    // ---- accounts -----------------------------------------------------------------------------

    pub(crate) fn scalar_ops(&mut self, n: u64) -> Result<()> {
        self.counts.scalar_ops += n;
        self.spend(n)
    }

    pub(crate) fn reads(&mut self, n: u64) -> Result<()> {
        self.counts.reads += n;
        self.spend(n)
    }

    pub(crate) fn writes(&mut self, n: u64) -> Result<()> {
        self.counts.writes += n;
        self.spend(n)
    }

    /// Takes note of work, and looks now and then whether to stop.
    fn spend(&mut self, n: u64) -> Result<()> {
        self.work = self.work.saturating_add(n);
        if self.work > self.options.max_work {
            let (op, span, limit) = (self.op(), self.span(), self.options.max_work);
            return Err(Failure::Work { op, span, limit }.into());
        }
        if self.work >= self.next_poll {
            self.next_poll = self.work.saturating_add(POLL);
            self.look()?;
        }
        Ok(())
    }

    /// Looks whether to stop.
    pub(crate) fn look(&self) -> Result<()> {
        #[cfg(test)]
        let cancelled = crate::polls::look();
        #[cfg(not(test))]
        let cancelled = false;
        let failure = if cancelled || self.options.cancel.is_cancelled() {
            Failure::Cancelled
        } else if self.options.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Failure::Deadline
        } else {
            return Ok(());
        };
        self.meter.stop();
        Err(failure.into())
    }

    /// Does what is counted elsewhere, or not at all, for `n` elements: some at a time, with a look
    /// whether to stop before each part.
    pub(crate) fn in_parts(&self, n: usize, mut f: impl FnMut(Range<usize>)) -> Result<()> {
        (0..n).step_by(PART).try_for_each(|start| {
            self.look()?;
            f(start..n.min(start + PART));
            Ok(())
        })
    }

    /// Takes note that the node being computed used an index outside an array of type `ty`.
    pub(crate) fn report_out_of_range(&mut self, access: Access, ix: &[i64], ty: &Type) {
        let Some(term) = self.at else { return };
        let (op, span) = (self.op(), self.span());
        let entry = self.out_of_range.entry(term).or_insert_with(|| OutOfRange {
            term,
            op,
            span,
            access,
            first: ix.to_vec(),
            shape: ty.shape.clone(),
            count: 0,
        });
        entry.count += 1;
    }

    /// The most bytes held at once so far.
    pub(crate) fn peak_bytes(&self) -> u64 {
        self.meter.peak()
    }

    fn op(&self) -> &'static str {
        self.at.map_or("input", |t| self.program.node(t).name())
    }

    fn span(&self) -> Span {
        self.at.map_or(Span::NONE, |t| self.program.span(t))
    }

    pub(crate) fn internal(&self, message: &'static str) -> InterpError {
        Failure::Internal { op: self.op(), message }.into()
    }
}
