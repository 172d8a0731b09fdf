//! Checkpoints: parts of a program of which reverse mode keeps little, and computes the rest again.
//!
//! A checkpoint is a function, and its derivatives are the function's. What differs is where the
//! reverse pass has the numbers from that it needs. With $y = f(x)$, the reverse pass is given $x$
//! (as far as it is read), what [`Keep`] says is kept of what $f$ computes on the way, and $\bar y$.
//! It computes the rest again from these, in a function of its own that the optimiser does not put in
//! place: so nothing there is found to be equal to what the forward pass computed.
//!
//! That function is a checkpoint, too, as is what forward mode makes of one; so derivatives of any
//! order keep little.
//!
//! **What is kept** is a cut between the inputs and what the Deltas mention, and the policies are its
//! prices. For a budget, an array costs its bytes if it is kept, and its work if it is computed
//! again; then what its work needs has to be kept or computed, too. The cheapest choice is a minimal
//! cut, and the price of a byte is raised until the choice fits into the budget.

use std::sync::Arc;

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{
    Checkpoint, CustomKind, Keep, Node, Program, Result, Scopes, TermId, TermMap, TermSet, Type,
};

use crate::algebra::{Algebra, interpret};
use crate::custom::{CustomFunction, DeltaCustom};
use crate::cut::{Graph, NEVER};
use crate::delta::{Delta, DeltaId, Deltas};
use crate::derive::{jvp, select_outputs};
use crate::dual::{Dual, DualArray};
use crate::linear::{closure, copied, declare, finished};
use crate::map_accum::Writer;
use crate::staged::Staged;
use crate::tangent::{Tangent, TangentArray};
use crate::transpose::reverse_pass;

/// A checkpoint with its Deltas.
pub struct CheckpointPart {
    keep: Keep,
    w: Writer,
    given: Vec<TermId>,
    results: Vec<DualArray<Staged>>,
    deltas: Deltas<Staged>,
    /// What is kept.
    kept: Vec<TermId>,
    /// The inputs that the reverse pass reads.
    read: Vec<usize>,
    args: usize,
}

impl CheckpointPart {
    /// The Deltas of a function by the marked inputs, and what to keep for them.
    fn new(custom: &CustomFunction, keep: Keep, active: &[bool]) -> Result<CheckpointPart> {
        let mut w = Writer::default();
        let given = w.inputs(custom.function.inputs().iter().map(|input| &input.ty))?;
        let mut dual = Dual::new(&mut w.staged);
        dual.budget = match keep {
            Keep::Bytes(_) | Keep::States(_) => Some(keep),
            Keep::Nothing | Keep::Everything | Keep::Contractions => None,
        };
        let duals: Vec<_> = given
            .iter()
            .zip(active)
            .enumerate()
            .map(|(k, (&x, &active))| if active { dual.input(k, x) } else { dual.lift(x) })
            .collect();
        let results = interpret(&custom.function, &duals, &mut dual)?;
        let deltas = dual.deltas;
        let args = custom.args;
        let (kept, read) = (Vec::new(), Vec::new());
        let mut part = CheckpointPart { keep, w, given, results, deltas, kept, read, args };
        part.choose()?;
        Ok(part)
    }

    fn choose(&mut self) -> Result<()> {
        let needed = self.deltas.needed_by(&self.results, &self.w.staged.b);
        let primals = self.results.iter().map(|r| r.primal);
        let program = finished(self.w.staged.b.clone(), primals.chain(needed.iter().copied()))?;
        let scopes = Scopes::new(&program);
        self.kept = kept(&program, &scopes, self.keep, &needed);
        for t in closure(&program, &scopes, &needed, &self.kept) {
            if let Node::Input(k) = program.node(t) {
                self.read.push(*k as usize);
            }
        }
        Ok(())
    }

    /// The function that also gives what is kept.
    fn forward(&self, custom: &Arc<CustomFunction>) -> Result<Arc<CustomFunction>> {
        if self.kept.is_empty() {
            return Ok(custom.clone());
        }
        let wanted: Vec<TermId> =
            self.results.iter().map(|r| r.primal).chain(self.kept.iter().copied()).collect();
        let function = self.part(&self.given, &wanted, &self.w)?;
        Ok(Arc::new(CustomFunction::without_rule(custom.kind, function, self.args)?))
    }

    /// Some terms as a program of others.
    fn part(&self, given: &[TermId], wanted: &[TermId], w: &Writer) -> Result<Program> {
        let program = finished(w.staged.b.clone(), wanted.iter().copied())?;
        let mut b = cotan_ir::Builder::new();
        let types: Vec<Type> = given.iter().map(|&t| program.ty(t).clone()).collect();
        let declared = declare(&mut b, &types)?;
        let images: Vec<(TermId, TermId)> = given.iter().copied().zip(declared).collect();
        let results = copied(&mut b, &program, &images, wanted)?;
        finished(b, results.into_iter())
    }

    /// The cotangents of the inputs from those of the results, which are computed again from `at`:
    /// the inputs, then what was kept.
    pub(crate) fn pull<A: Algebra>(
        &self,
        a: &mut A,
        at: &[A::T],
        cotangents: &[Option<A::T>],
    ) -> Result<Vec<Option<A::T>>> {
        let mut w = self.w.clone();
        let mut seeds = Vec::new();
        let mut operands = Vec::new();
        for (result, c) in self.results.iter().zip(cotangents) {
            if let (Some(d), Some(c)) = (result.delta, c) {
                seeds.push((d, w.input(&a.ty(c))?));
                operands.push(c.clone());
            }
        }
        let mut gradient = reverse_pass(&self.deltas, &seeds, self.given.len(), &mut w.staged)?;
        let wanted: Vec<TermId> = gradient.iter().flatten().copied().collect();
        if wanted.is_empty() {
            return Ok(vec![None; gradient.len()]);
        }
        let read = self.read.iter().map(|&k| self.given[k]);
        let given: Vec<TermId> =
            read.chain(self.kept.iter().copied()).chain(seeds.iter().map(|&(_, t)| t)).collect();
        let function = self.part(&given, &wanted, &w)?;
        let read = self.read.iter().map(|&k| at[k].clone());
        let kept = at[self.given.len()..].iter().cloned();
        let operands: Vec<A::T> = read.chain(kept).chain(operands).collect();
        let kind = CustomKind::Checkpoint(Checkpoint { keep: self.keep, again: true });
        let again = CustomFunction::without_rule(kind, function, operands.len())?;
        let mut results = a.custom(&Arc::new(again), &operands)?.into_iter();
        Ok(gradient.drain(..).map(|t| t.and_then(|_| results.next())).collect())
    }
}

impl CustomFunction {
    /// A checkpoint: a function alone.
    fn without_rule(kind: CustomKind, function: Program, args: usize) -> Result<CustomFunction> {
        let rule = select_outputs(&function, |_| false)?;
        Ok(CustomFunction { kind, function, rule, args })
    }

    /// The values and tangents of a checkpoint, or its tangents alone, from its inputs and tangents
    /// of some of them, by number.
    fn pushed(&self, moved: &[usize], values: bool) -> Result<CustomFunction> {
        let both = jvp(&self.function, Some(moved))?;
        let skip = if values { 0 } else { self.function.outputs().len() };
        let function = select_outputs(&both, |k| k >= skip)?;
        let args = function.inputs().len();
        CustomFunction::without_rule(self.kind, function, args)
    }
}

/// The positions of those of the float inputs that move, and their tangents.
fn moving<T>(
    floats: Vec<usize>,
    tangents: impl Iterator<Item = Option<T>>,
) -> (Vec<usize>, Vec<T>) {
    floats.into_iter().zip(tangents).filter_map(|(k, t)| t.map(|t| (k, t))).unzip()
}

impl<A: Algebra> Dual<'_, A> {
    /// `D` of a checkpoint: the function, and a Delta that computes again what it needs.
    pub(crate) fn dual_checkpoint(
        &mut self,
        custom: &Arc<CustomFunction>,
        keep: Keep,
        args: &[DualArray<A>],
    ) -> Result<Vec<DualArray<A>>> {
        let mut inputs: Vec<A::T> = args.iter().map(|t| t.primal.clone()).collect();
        let active: Vec<bool> = args.iter().map(|t| t.delta.is_some()).collect();
        let deltas: Vec<Option<DeltaId>> =
            custom.float_args().into_iter().map(|k| args[k].delta).collect();
        if !active.contains(&true) {
            let results = self.a.custom(custom, &inputs)?;
            return Ok(results.into_iter().map(|t| self.lift(t)).collect());
        }
        // In a branch that is not taken nothing is computed again: a loop there might not end.
        self.deltas.meet_loop();
        let part = CheckpointPart::new(custom, keep, &active)?;
        let mut results = self.a.custom(&part.forward(custom)?, &inputs)?;
        inputs.extend(results.split_off(part.results.len()));
        let moves: Vec<bool> = part.results.iter().map(|r| r.delta.is_some()).collect();
        let part = Some(Arc::new(part));
        let delta = DeltaCustom { custom: custom.clone(), inputs, deltas, part };
        self.several(Delta::Custom(Box::new(delta)), results, &moves)
    }
}

impl<A: Algebra> DeltaCustom<A> {
    /// The cotangents of the float inputs of a checkpoint.
    pub(crate) fn transpose_part(
        &self,
        a: &mut A,
        part: &CheckpointPart,
        results: &[Option<A::T>],
    ) -> Result<Vec<Option<A::T>>> {
        let count = self.custom.function.outputs().len();
        let cotangents: Vec<Option<A::T>> =
            (0..count).map(|k| results.get(k).cloned().flatten()).collect();
        let gradient = part.pull(a, &self.inputs, &cotangents)?;
        Ok(self.custom.float_args().into_iter().map(|k| gradient[k].clone()).collect())
    }

    /// The tangents of the results of a checkpoint from those of its float inputs.
    pub(crate) fn forward_part(
        &self,
        a: &mut A,
        tangents: &[Option<A::T>],
    ) -> Result<Vec<Option<A::T>>> {
        let (moved, tangents) = moving(self.custom.float_args(), tangents.iter().cloned());
        let own = self.custom.function.inputs().len();
        let pushed = self.custom.pushed(&moved, false)?;
        let inputs: Vec<A::T> = self.inputs[..own].iter().cloned().chain(tangents).collect();
        let made = a.custom(&Arc::new(pushed), &inputs)?;
        let mut results = vec![None; self.custom.function.outputs().len()];
        for (k, t) in self.custom.float_results().into_iter().zip(made) {
            results[k] = Some(t);
        }
        Ok(results)
    }
}

impl<A: Algebra> Tangent<'_, A> {
    /// A checkpoint of values and tangents.
    pub(crate) fn tangent_checkpoint(
        &mut self,
        custom: &Arc<CustomFunction>,
        args: &[TangentArray<A>],
    ) -> Result<Vec<TangentArray<A>>> {
        let floats = custom.float_args();
        let tangents: Vec<Option<A::T>> = floats.iter().map(|&k| args[k].tangent.clone()).collect();
        let (moved, tangents) = moving(floats, tangents.into_iter());
        let mut inputs: Vec<A::T> = args.iter().map(|t| t.primal.clone()).collect();
        let still = |primal| TangentArray { primal, tangent: None };
        if moved.is_empty() {
            return Ok(self.a.custom(custom, &inputs)?.into_iter().map(still).collect());
        }
        inputs.extend(tangents);
        let mut made = self.a.custom(&Arc::new(custom.pushed(&moved, true)?), &inputs)?;
        let tangents = made.split_off(custom.function.outputs().len());
        let mut results: Vec<_> = made.into_iter().map(still).collect();
        for (k, tangent) in custom.float_results().into_iter().zip(tangents) {
            results[k].tangent = Some(tangent);
        }
        Ok(results)
    }
}

/// What to keep such that the needed terms can be computed from it and the inputs.
fn kept(program: &Program, scopes: &Scopes, keep: Keep, needed: &[TermId]) -> Vec<TermId> {
    let given = |t: TermId| matches!(program.node(t), Node::Input(_) | Node::Const(_));
    match keep {
        Keep::Nothing | Keep::States(_) => Vec::new(),
        Keep::Everything => {
            let mut seen = TermSet::new();
            let arrays = needed.iter().map(|&t| viewed(program, t));
            arrays.filter(|&t| !given(t) && !is_cheap(program, t) && seen.insert(t)).collect()
        }
        Keep::Contractions => contractions(program, scopes, needed),
        Keep::Bytes(budget) => within_budget(program, scopes, budget, needed),
    }
}

/// The array of which another is only a view.
fn viewed(program: &Program, mut t: TermId) -> TermId {
    while let Node::Transpose(_, u) | Node::Reshape(_, u) | Node::Replicate(_, u) = program.node(t)
    {
        t = *u;
    }
    t
}

/// Whether an array follows from nothing but its sizes.
fn is_cheap(program: &Program, t: TermId) -> bool {
    matches!(program.node(t), Node::Iota(_))
}

/// The nearest results of contractions and routines that the needed terms follow from.
fn contractions(program: &Program, scopes: &Scopes, needed: &[TermId]) -> Vec<TermId> {
    let (mut seen, mut stack, mut found) = (TermSet::new(), needed.to_vec(), Vec::new());
    while let Some(t) = stack.pop() {
        if !seen.insert(t) {
            continue;
        }
        match is_contraction(program, t) {
            true => found.push(t),
            false => scopes.for_each_dependency(program, t, |u| stack.push(u)),
        }
    }
    found.sort_unstable();
    found
}

/// Whether an array is a sum of products, or what a routine makes.
fn is_contraction(program: &Program, mut t: TermId) -> bool {
    if matches!(program.node(t), Node::Routine(..)) {
        return true;
    }
    let mut sums = 0;
    loop {
        t = match program.node(t) {
            Node::SumOuter(u) => {
                sums += 1;
                *u
            }
            Node::Transpose(_, u) | Node::Reshape(_, u) if sums > 0 => *u,
            Node::Op(op, _) => {
                return sums > 0 && matches!(op, Op::Mul | Op::Scale | Op::StrongMul);
            }
            _ => return false,
        }
    }
}

/// The bytes of an array.
fn bytes(program: &Program, t: TermId) -> u64 {
    let ty = program.ty(t);
    (ty.shape.numel() as u64).saturating_mul(ty.dtype.size() as u64)
}

/// Rounds of the search for the price of a byte: powers of two between 2^-32 and 2^32.
const PRICES: std::ops::RangeInclusive<i32> = -32..=32;

/// What saves the most work among arrays of so many bytes.
fn within_budget(
    program: &Program,
    scopes: &Scopes,
    budget: u64,
    needed: &[TermId],
) -> Vec<TermId> {
    let candidates = Candidates::of(program, scopes, needed);
    let total =
        |kept: &[TermId]| kept.iter().fold(0u64, |n, &t| n.saturating_add(bytes(program, t)));
    // The least price at which the choice fits, and what is chosen at half of it.
    let (mut low, mut high) = (*PRICES.start(), *PRICES.end());
    let Some(mut over) = candidates.cheapest(low) else { return Vec::new() };
    if total(&over) <= budget {
        return over;
    }
    let mut fits = Vec::new();
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        let Some(chosen) = candidates.cheapest(middle) else { break };
        if total(&chosen) <= budget {
            (high, fits) = (middle, chosen);
        } else {
            (low, over) = (middle, chosen);
        }
    }
    // Between two prices there may be much, as in equal layers: as many of it as there is room for.
    let mut room = budget.saturating_sub(total(&fits));
    let mut chosen = TermSet::new();
    fits.iter().for_each(|&t| _ = chosen.insert(t));
    for t in over {
        let size = bytes(program, t);
        if size <= room && chosen.insert(t) {
            room -= size;
            fits.push(t);
        }
    }
    fits.sort_unstable();
    fits
}

/// The arrays that may be kept or computed again, as a graph: of each array two nodes, that it is
/// kept, and that it is computed.
struct Candidates {
    terms: Vec<TermId>,
    bytes: Vec<u64>,
    work: Vec<u64>,
    edges: Vec<(usize, usize)>,
    sources: Vec<usize>,
}

impl Candidates {
    fn of(program: &Program, scopes: &Scopes, needed: &[TermId]) -> Candidates {
        let mut numbers: TermMap<usize> = TermMap::new();
        let mut found = Candidates {
            terms: Vec::new(),
            bytes: Vec::new(),
            work: Vec::new(),
            edges: Vec::new(),
            sources: Vec::new(),
        };
        for t in closure(program, scopes, needed, &[]) {
            if matches!(program.node(t), Node::Input(_) | Node::Const(_) | Node::Iota(_)) {
                continue;
            }
            let n = found.terms.len();
            numbers.insert(t, n);
            found.terms.push(t);
            let size = if program.node(t).has_results() { NEVER } else { bytes(program, t) };
            found.bytes.push(size);
            found.work.push(work(program, scopes, t));
            found.edges.push((2 * n, 2 * n + 1));
            scopes.for_each_dependency(program, t, |u| {
                // It has to be there to compute `t`.
                found.edges.extend(numbers.get(u).map(|&m| (2 * n, 2 * m)));
            });
        }
        found.sources = needed.iter().filter_map(|&t| numbers.get(t).map(|&n| 2 * n)).collect();
        found
    }

    /// What is kept if a byte costs as much as `2^price` operations; none if that takes too long to
    /// find.
    fn cheapest(&self, price: i32) -> Option<Vec<TermId>> {
        let scaled = |x: u64, shift: i32| match x >= NEVER >> shift.max(0) {
            true => NEVER,
            false => x << shift.max(0),
        };
        let costs = self.bytes.iter().zip(&self.work);
        let costs = costs.flat_map(|(&bytes, &work)| [scaled(bytes, price), scaled(work, -price)]);
        let graph = Graph {
            costs: costs.collect(),
            edges: self.edges.clone(),
            sources: self.sources.clone(),
            sinks: (0..self.terms.len()).map(|n| 2 * n + 1).collect(),
        };
        let cut = graph.cheapest_cut()?;
        Some(cut.into_iter().filter(|n| n % 2 == 0).map(|n| self.terms[n / 2]).collect())
    }
}

/// About how many operations a node takes. It recurses over the nesting of lambdas.
fn work(program: &Program, scopes: &Scopes, t: TermId) -> u64 {
    let elements = |t: TermId| program.shape(t).numel() as u64;
    let inside = |times: usize| {
        let region = program.node(t).region();
        let order = region.map_or(&[][..], |r| scopes.region(r).order());
        let once = order.iter().fold(0u64, |n, &u| n.saturating_add(work(program, scopes, u)));
        once.saturating_mul(times as u64)
    };
    match program.node(t) {
        Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Iota(_) => 0,
        Node::Result(..) | Node::Reshape(..) => 0,
        // Views; they are read through, but not for nothing.
        Node::Transpose(..) | Node::Replicate(..) | Node::Index(..) => 1,
        Node::Op(op, _) => elements(t).saturating_mul(u64::from(op.cost()).max(1)),
        Node::Cond(..) | Node::Stack(_) | Node::OneHot(..) => elements(t),
        Node::Gather(..) => elements(t).saturating_add(inside(1)),
        Node::SumOuter(u) | Node::Scatter(_, u, _) | Node::ArgExtreme(_, u) => elements(*u),
        Node::SegmentArg(_, _, u, _) => elements(*u),
        Node::ArgSort(u) => elements(*u).saturating_mul(16),
        Node::Routine(_, ts) => {
            // Matrices: their elements times their rows.
            let most = ts.iter().map(|&u| elements(u)).max().unwrap_or(0);
            let rows = program.shape(t).dims().last().copied().unwrap_or(1) as u64;
            most.saturating_mul(rows.max(1))
        }
        Node::Build1(_) => {
            let region = program.node(t).region();
            inside(region.map_or(1, |r| program.index_sizes(r).iter().product()))
        }
        Node::MapAccum(m) => inside(m.length),
        Node::While(w) => inside(w.bound.unwrap_or(1)),
        Node::Custom(_) => inside(1),
    }
}

/// How many states of a loop with steps of so many bytes may be kept at a time, if not what its
/// derivative needs of all of them.
pub(crate) fn states_kept(
    keep: Option<Keep>,
    length: usize,
    states: &[Type],
    saved: &[&Type],
) -> Option<usize> {
    let size = |ty: &Type| (ty.shape.numel() as u64).saturating_mul(ty.dtype.size() as u64);
    match keep? {
        Keep::States(count) => {
            let count = (count as usize).max(1);
            (length > count).then_some(count)
        }
        Keep::Bytes(budget) => {
            let saved = saved.iter().fold(0u64, |n, ty| n.saturating_add(size(ty)));
            let states = states.iter().fold(0u64, |n, ty| n.saturating_add(size(ty)));
            if saved.saturating_mul(length as u64) <= budget {
                return None;
            }
            // Beside each state stands the number of its step.
            let each = states.saturating_add(Dtype::I64.size() as u64);
            let count = usize::try_from(budget / each).unwrap_or(usize::MAX).max(1);
            (length > count).then_some(count)
        }
        Keep::Nothing | Keep::Everything | Keep::Contractions => None,
    }
}
