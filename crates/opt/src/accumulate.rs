//! States that are only added to: sums over the steps of a loop, taken after it.
//!
//! The cotangent of what every step uses, weights for example, is such a state: $s' = s + f$, most
//! often with $f$ a product of small arrays along different axes. Adding up $f$ in each step is a
//! walk through an array of its size; after the loop, $s_0 + \sum_i f_i$ is one sum, a matrix product
//! more often than not, of factors that were stored step by step:
//! $$ s' = s + u \otimes v \quad\leadsto\quad s_0 + \textstyle\sum_i u_i \otimes v_i. $$
//!
//! A factor is stored if it is at most half of $f$; inputs of the loop, and what no step changes,
//! need no storing. Everything else stays in the loop. So does a state whose factors, over all
//! steps, are more than the loop reads and writes already.

use cotan_ir::scalar::Op;
use cotan_ir::{Error, MapAccum, Node, Result, TermId, TermMap, TermSet};

use crate::loops::LoopBody;
use crate::pass::{Opt, rule};
use crate::view::AxisMap;

/// Summands of more nodes than this, down to their factors, stay in the loop.
const MAX_NODES: usize = 64;

/// A state that is only added to.
pub(crate) struct Accumulator {
    pub state: usize,
    /// What is added in each step, and whether it is subtracted instead.
    summands: Vec<(TermId, bool)>,
}

/// The sums that are taken after a loop.
#[derive(Default)]
pub(crate) struct SumsAfterLoop {
    pub sums: Vec<Accumulator>,
    /// What the loop has to store in each step for them: terms of the step.
    pub factors: Vec<TermId>,
}

/// What a node of the step is for a sum outside.
enum SummandRole {
    /// The same in every step.
    Fixed,
    /// Stored in each step, or an input.
    Factor,
    /// An elementwise operation or a view, made again of its operands.
    Made,
}

/// How a node of a step is used there.
#[derive(Clone, Copy)]
enum StepUse {
    /// Once, by this node.
    By(TermId),
    /// Once, as this result.
    Result(usize),
    Often,
}

impl Opt<'_> {
    /// The sums to take after the loop, of states that something needs after it.
    pub(crate) fn sums_outside(
        &self,
        m: &MapAccum,
        body: &LoopBody,
        used: &[bool],
    ) -> SumsAfterLoop {
        let mut outside = SumsAfterLoop::default();
        let size = |t: TermId| self.source.shape(t).numel();
        let mut found = self.accumulators(m, body, used);
        found.sort_by_key(|a| (std::cmp::Reverse(size(m.init[a.state])), a.state));
        // What the loop reads, and what is no longer a state, may be stored once more.
        let mut budget: usize = m.inputs.iter().map(|&x| size(x)).sum();
        let mut seen = TermSet::new();
        for accumulator in found {
            let state = size(m.init[accumulator.state]);
            let Some(factors) = self.factors(m, body, &accumulator, &seen) else { continue };
            let stored = |t: &&TermId| !self.is_input(m, body, **t);
            let new: usize = factors.iter().filter(stored).map(|&t| size(t)).sum();
            let Some(left) = budget.saturating_add(state).checked_sub(new.saturating_mul(m.length))
            else {
                continue;
            };
            budget = left;
            for t in factors {
                seen.insert(t);
                outside.factors.push(t);
            }
            outside.sums.push(accumulator);
        }
        outside
    }

    /// States whose next value is the state and some summands, and which nothing else reads.
    fn accumulators(&self, m: &MapAccum, body: &LoopBody, used: &[bool]) -> Vec<Accumulator> {
        let mut uses: TermMap<StepUse> = TermMap::new();
        let mut note = |t: TermId, at: StepUse| {
            let first = !uses.contains(t);
            uses.insert(t, if first { at } else { StepUse::Often });
        };
        for &t in &body.order {
            self.scopes.for_each_dependency(self.source, t, |u| note(u, StepUse::By(t)));
        }
        for (n, &t) in body.results.iter().enumerate() {
            note(t, StepUse::Result(n));
        }
        let mut found = Vec::new();
        for state in (0..m.init.len()).filter(|&k| used[k]) {
            let mut summands = Vec::new();
            let mut t = body.params[state];
            let sums = loop {
                match uses.get(t) {
                    Some(&StepUse::Result(n)) => break n == state && !summands.is_empty(),
                    Some(&StepUse::By(next)) if summands.len() < MAX_NODES => {
                        let Node::Op(op, args) = self.source.node(next) else { break false };
                        match (op, args.as_slice()) {
                            (Op::Add, &[x, f]) if x == t => summands.push((f, false)),
                            (Op::Add, &[f, x]) if x == t => summands.push((f, false)),
                            (Op::Sub, &[x, f]) if x == t => summands.push((f, true)),
                            _ => break false,
                        }
                        t = next;
                    }
                    Some(&(StepUse::By(_) | StepUse::Often)) | None => break false,
                }
            };
            if sums {
                found.push(Accumulator { state, summands });
            }
        }
        found
    }

    /// Whether a node of a step is what the loop reads in this step.
    fn is_input(&self, m: &MapAccum, body: &LoopBody, t: TermId) -> bool {
        let Node::Var { level, position, .. } = self.source.node(t) else { return false };
        *level == body.level && *position as usize >= m.init.len()
    }

    /// What a node is for a sum of size `whole`; none if it has to stay in the loop.
    fn part(
        &self,
        m: &MapAccum,
        body: &LoopBody,
        stored: impl Fn(TermId) -> bool,
        whole: usize,
        t: TermId,
    ) -> Option<SummandRole> {
        if !self.source.free(t).contains(body.level) {
            return Some(SummandRole::Fixed);
        }
        let small = self.source.shape(t).numel() <= whole / 2;
        if small || stored(t) || self.is_input(m, body, t) {
            return Some(SummandRole::Factor);
        }
        match self.source.node(t) {
            Node::Op(..) | Node::Replicate(..) | Node::Transpose(..) | Node::Reshape(..) => {
                Some(SummandRole::Made)
            }
            Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Cond(..) => None,
            Node::Index(..) | Node::SumOuter(_) | Node::Gather(..) | Node::Scatter(..) => None,
            Node::Stack(_) | Node::Build1(_) | Node::Iota(_) | Node::OneHot(..) => None,
            Node::ArgExtreme(..) | Node::ArgSort(_) | Node::SegmentArg(..) => None,
            Node::Routine(..) | Node::MapAccum(_) | Node::While(_) => None,
            Node::Custom(_) | Node::Result(..) => None,
        }
    }

    /// What an accumulator's summands are made of, less what is stored already; none if something
    /// has to stay in the loop.
    fn factors(
        &self,
        m: &MapAccum,
        body: &LoopBody,
        accumulator: &Accumulator,
        stored: &TermSet,
    ) -> Option<Vec<TermId>> {
        let whole = self.source.shape(m.init[accumulator.state]).numel();
        let (mut factors, mut seen) = (Vec::new(), TermSet::new());
        let mut count = 0;
        let mut stack: Vec<TermId> = accumulator.summands.iter().map(|&(f, _)| f).collect();
        while let Some(t) = stack.pop() {
            if !seen.insert(t) {
                continue;
            }
            count += 1;
            if count > MAX_NODES {
                return None;
            }
            match self.part(m, body, |t| stored.contains(t), whole, t)? {
                SummandRole::Fixed => {}
                SummandRole::Factor if stored.contains(t) => {}
                SummandRole::Factor => factors.push(t),
                SummandRole::Made => self.source.node(t).for_each_operand(|u| stack.push(u)),
            }
        }
        factors.sort();
        Some(factors)
    }

    /// The sum of an accumulator after the loop; `stored` are the factors of all steps.
    pub(crate) fn sum_outside(
        &mut self,
        m: &MapAccum,
        body: &LoopBody,
        accumulator: &Accumulator,
        stored: &TermMap<TermId>,
    ) -> Result<TermId> {
        self.report.count(rule!("loop/sum"));
        let start = m.init[accumulator.state];
        let whole = self.source.shape(start).numel();
        let mut sum = self.image(start)?;
        // The summands over all steps, operands first.
        let mut made: TermMap<TermId> = TermMap::new();
        let mut stack: Vec<TermId> = accumulator.summands.iter().map(|&(f, _)| f).collect();
        while let Some(&t) = stack.last() {
            if made.contains(t) {
                stack.pop();
                continue;
            }
            let over_steps = match self.part(m, body, |t| stored.contains(t), whole, t) {
                Some(SummandRole::Fixed) => {
                    let fixed = self.image(t)?;
                    let inner = self.dims(fixed);
                    let map: AxisMap =
                        std::iter::once(None).chain((0..inner.len()).map(Some)).collect();
                    self.view_of(fixed, &map, &[&[m.length], inner.as_slice()].concat())?
                }
                Some(SummandRole::Factor) => {
                    *stored.get(t).ok_or_else(|| Error::internal("a factor that is not stored"))?
                }
                Some(SummandRole::Made) | None => {
                    let before = stack.len();
                    self.source.node(t).for_each_operand(|u| {
                        if !made.contains(u) {
                            stack.push(u);
                        }
                    });
                    if stack.len() > before {
                        continue;
                    }
                    self.over_steps(m.length, t, &made)?
                }
            };
            made.insert(t, over_steps);
        }
        for &(f, negative) in &accumulator.summands {
            let all = *made.get(f).ok_or_else(|| Error::internal("a summand that is not made"))?;
            let all = self.sum(all)?;
            sum = self.op(if negative { Op::Sub } else { Op::Add }, &[sum, all])?;
        }
        Ok(sum)
    }

    /// An operation or view of a step, over all steps: one more axis in front.
    fn over_steps(&mut self, length: usize, t: TermId, made: &TermMap<TermId>) -> Result<TermId> {
        let missing = || Error::internal("an operand that is not made");
        let of = |u: TermId| made.get(u).copied().ok_or_else(missing);
        let inner = self.source.shape(t).dims().to_vec();
        let dims = [&[length], inner.as_slice()].concat();
        match self.source.node(t).clone() {
            Node::Op(op, args) => {
                let args = args.iter().map(|&u| of(u)).collect::<Result<Vec<_>>>()?;
                self.op(op, &args)
            }
            Node::Replicate(_, u) => {
                let axes = (1..inner.len()).map(Some);
                let map: AxisMap = [Some(0), None].into_iter().chain(axes).collect();
                self.view_of(of(u)?, &map, &dims)
            }
            Node::Transpose(perm, u) => {
                let turned = perm.iter().map(|&k| usize::from(k) + 1);
                let rest = perm.len() + 1..dims.len();
                let map: AxisMap = std::iter::once(0).chain(turned).chain(rest).map(Some).collect();
                self.view_of(of(u)?, &map, &dims)
            }
            Node::Reshape(_, u) => self.reshape(&dims, of(u)?),
            node @ (Node::Const(_)
            | Node::Input(_)
            | Node::Var { .. }
            | Node::Cond(..)
            | Node::Index(..)
            | Node::SumOuter(_)
            | Node::Gather(..)
            | Node::Scatter(..)
            | Node::Stack(_)
            | Node::Build1(_)
            | Node::Iota(_)
            | Node::OneHot(..)
            | Node::ArgExtreme(..)
            | Node::ArgSort(_)
            | Node::SegmentArg(..)
            | Node::Routine(..)
            | Node::MapAccum(_)
            | Node::While(_)
            | Node::Custom(_)
            | Node::Result(..)) => {
                Err(Error::internal(format!("{} in a sum over steps", node.name())))
            }
        }
    }
}
