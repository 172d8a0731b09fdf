//! The derivative of a loop's step before its direction is known, and what a loop saves for it.
//!
//! The Deltas of a step mention arrays: factors, indices, conditions, what inner loops have saved.
//! Those are functions of the states, elements and captures of the step, and all that the
//! derivative needs of it. Saving the states is one way to have them, and the right one where a
//! step uses all of its state. Where it reads a few elements of a large one,
//! $$ s_{k+1} = s_k \text{ with } s_k[i_k] \text{ replaced by } \sin s_k[j_k], $$
//! saving $s_k[j_k]$ is enough: one number a step instead of an array.
//!
//! What is saved is the cheapest cut between the states and those arrays. A state costs its size,
//! anything else twice that: it needs work and code of its own, so it has to be less than half of
//! what it stands for. Elements and captures cost nothing, they are in memory anyway. The rest is
//! computed again from what was saved.

use std::sync::Arc;

use cotan_ir::{
    Arena, Builder, Copier, Node, Output, Program, RegionId, Result, Scopes, TermId, TermMap,
    TermSet, Type,
};

use crate::algebra::interpret;
use crate::cut::{Graph, NEVER};
use crate::delta::{Delta, Deltas};
use crate::dual::{Dual, DualArray};
use crate::forward::forward_pass;
use crate::map_accum::{Transposed, Writer, input_types, or_zero};
use crate::staged::Staged;
use crate::step::Step;

/// A step with its Deltas.
pub struct Linear {
    step: Arc<Step>,
    /// The primal, of the step's inputs.
    w: Writer,
    given: Vec<TermId>,
    /// The step's results and their derivatives.
    results: Vec<DualArray<Staged>>,
    deltas: Deltas<Staged>,
    /// What is saved.
    saved: Vec<TermId>,
    /// Which inputs the Deltas need beside what is saved: no states.
    read: Vec<bool>,
}

impl Linear {
    /// The Deltas of a step by the marked inputs, and the least to save for them.
    pub(crate) fn new(step: &Arc<Step>, active_inputs: &[bool]) -> Result<Linear> {
        let types = input_types(step);
        let mut w = Writer::default();
        let given = w.inputs(&types)?;
        let mut dual = Dual::new(&mut w.staged);
        let duals: Vec<_> = given
            .iter()
            .zip(active_inputs)
            .enumerate()
            .map(|(k, (&x, &active))| if active { dual.input(k, x) } else { dual.lift(x) })
            .collect();
        let results = interpret(&step.program, &duals, &mut dual)?;
        let deltas = dual.deltas;
        let mut linear = Linear {
            step: step.clone(),
            w,
            given,
            results,
            deltas,
            saved: Vec::new(),
            read: vec![false; types.len()],
        };
        linear.choose()?;
        Ok(linear)
    }

    /// Of the arrays that a loop steps through or captures, those that the Deltas read, given the
    /// number of the first among the step's inputs.
    pub(crate) fn reads<'t, T>(
        &'t self,
        first: usize,
        arrays: &'t [T],
    ) -> impl Iterator<Item = &'t T> {
        arrays.iter().zip(&self.read[first..]).filter(|(_, read)| **read).map(|(t, _)| t)
    }

    /// Decides what to save.
    fn choose(&mut self) -> Result<()> {
        let needed = self.deltas.needed_by(&self.results, &self.w.staged.b);
        let primals = self.results.iter().map(|r| r.primal);
        let program = finished(self.w.staged.b.clone(), primals.chain(needed.iter().copied()))?;
        let scopes = Scopes::new(&program);
        let states = self.step.states;
        let least = cheapest(&program, &scopes, states, &needed);
        self.saved = least.unwrap_or_else(|| self.given[..states].to_vec());
        for t in closure(&program, &scopes, &needed, &self.saved) {
            if let Node::Input(k) = program.node(t) {
                self.read[*k as usize] = true;
            }
        }
        Ok(())
    }

    /// `(s; x; c) -> (s'; y, r)`: the step that also gives what is to be saved.
    pub(crate) fn saving_step(&self) -> Result<Arc<Step>> {
        let Step { states, inputs, .. } = *self.step;
        let saved = self.saved.clone();
        let program = finished(self.w.staged.b.clone(), saved.iter().copied())?;
        let scopes = Scopes::new(&program);
        let mut b = Builder::new();
        let types = input_types(&self.step);
        let declared = declare(&mut b, &types)?;
        // Loops that give something to save are those of the primal.
        let shares = closure(&program, &scopes, &saved, &self.given);
        let loops = shares.iter().any(|&t| program.node(t).has_results());
        let mut results = match loops {
            false => b.inline(&self.step.program, &declared)?,
            true => Vec::new(),
        };
        let own = self.results.iter().map(|r| r.primal).filter(|_| loops);
        let wanted: Vec<TermId> = own.chain(saved).collect();
        let images = self.given.iter().copied().zip(declared).collect::<Vec<_>>();
        let program = finished(self.w.staged.b.clone(), wanted.iter().copied())?;
        results.extend(copied(&mut b, &program, &images, &wanted)?);
        Ok(Arc::new(Step { program: finished(b, results.into_iter())?, states, inputs }))
    }

    /// `(s_bar, c_bar; r, x, y_bar; c) -> (s_bar', c_bar'; x_bar)`, of what was saved, and of the
    /// elements and captures that are read.
    pub(crate) fn transposed(&self, t: &Transposed<'_>) -> Result<Arc<Step>> {
        let types = input_types(&self.step);
        let mut w = self.w.clone();
        let s_bar = w.inputs(t.states.iter().map(|&k| &types[k]))?;
        let c_bar = w.inputs(t.captures.iter().map(|&k| &types[k]))?;
        let y_bar = w.inputs(t.seeded_types)?;
        let (derived, given) =
            ((&self.results[..], &self.deltas), (&s_bar[..], &c_bar[..], &y_bar[..]));
        let outputs = t.cotangents(derived, given, &types, &mut w.staged)?;
        self.of_saved(w, &[s_bar, c_bar].concat(), &y_bar, &[], &outputs)
    }

    /// `(ds; r, x, dx; c, dc) -> (ds'; dy)`, of what was saved, and of the elements and captures
    /// that are read. By number, which states, elements and captures move, and which outputs.
    pub(crate) fn forward(
        &self,
        active_states: &[usize],
        elements: &[usize],
        captures: &[usize],
        outputs: &[usize],
    ) -> Result<Arc<Step>> {
        let types = input_types(&self.step);
        let mut w = self.w.clone();
        let mut tangents: Vec<Option<TermId>> = vec![None; types.len()];
        let mut moved = |w: &mut Writer, ks: &[usize]| -> Result<Vec<TermId>> {
            let inputs = w.inputs(ks.iter().map(|&k| &types[k]))?;
            ks.iter().zip(&inputs).for_each(|(&k, &t)| tangents[k] = Some(t));
            Ok(inputs)
        };
        let ds = moved(&mut w, active_states)?;
        let dx = moved(&mut w, elements)?;
        let dc = moved(&mut w, captures)?;
        let staged = &mut w.staged;
        let values = forward_pass(&self.deltas, &tangents, staged)?;
        let mut written = Vec::new();
        for &k in active_states.iter().chain(outputs) {
            let ty = staged.b.ty(self.results[k].primal).clone();
            let value = self.results[k].delta.and_then(|d| values[d.index()]);
            written.push(or_zero(staged, value, &ty)?);
        }
        self.of_saved(w, &ds, &dx, &dc, &written)
    }

    /// The step `(carried; r, x, elements; c, captures) -> outputs` of terms that were written on
    /// top of the primal.
    fn of_saved(
        &self,
        w: Writer,
        carried: &[TermId],
        elements: &[TermId],
        captures: &[TermId],
        outputs: &[TermId],
    ) -> Result<Arc<Step>> {
        let Step { states, inputs, .. } = *self.step;
        let (own, outer) = self.given[states..].split_at(inputs);
        let read: Vec<TermId> = self.reads(states, own).copied().collect();
        let captured: Vec<TermId> = self.reads(states + inputs, outer).copied().collect();
        let order = [carried, &self.saved, &read, elements, &captured, captures].concat();
        let program = finished(w.staged.b, outputs.iter().copied())?;
        let types: Vec<Type> = order.iter().map(|&t| program.ty(t).clone()).collect();
        let mut b = Builder::new();
        let declared = declare(&mut b, &types)?;
        let images: Vec<(TermId, TermId)> = order.into_iter().zip(declared).collect();
        let results = copied(&mut b, &program, &images, outputs)?;
        let inputs = self.saved.len() + read.len() + elements.len();
        let program = finished(b, results.into_iter())?;
        Ok(Arc::new(Step { program, states: carried.len(), inputs }))
    }
}

pub(crate) fn declare(b: &mut Builder, types: &[Type]) -> Result<Vec<TermId>> {
    let named = types.iter().enumerate();
    named.map(|(n, ty)| b.input(format!("v{}", n + 1), ty.clone())).collect()
}

pub(crate) fn finished(b: Builder, outputs: impl Iterator<Item = TermId>) -> Result<Program> {
    b.finish(outputs.map(|term| Output { name: String::new(), term }).collect())
}

/// What some terms need, themselves included, without what is behind the borders: operands first.
pub(crate) fn closure(
    program: &Program,
    scopes: &Scopes,
    terms: &[TermId],
    borders: &[TermId],
) -> Vec<TermId> {
    let mut closed = TermSet::new();
    for &t in borders {
        closed.insert(t);
    }
    let (mut found, mut stack) = (Vec::new(), terms.to_vec());
    while let Some(t) = stack.pop() {
        if closed.insert(t) {
            found.push(t);
            scopes.for_each_dependency(program, t, |u| stack.push(u));
        }
    }
    found.sort_unstable();
    found
}

/// Some terms of a program in a builder, in which something stands for others.
pub(crate) fn copied(
    b: &mut Builder,
    program: &Program,
    images: &[(TermId, TermId)],
    terms: &[TermId],
) -> Result<Vec<TermId>> {
    let scopes = Scopes::new(program);
    let mut copier = Copier::new(program, &scopes);
    let borders: Vec<TermId> = images.iter().map(|image| image.0).collect();
    images.iter().for_each(|&(t, image)| copier.set(t, image));
    for t in closure(program, &scopes, terms, &borders) {
        let image = copier.copy(b, t)?;
        copier.set(t, image);
    }
    terms.iter().map(|&t| copier.image(t)).collect()
}

/// The least to save of what depends on the states, such that the needed terms can be computed
/// from it.
fn cheapest(
    program: &Program,
    scopes: &Scopes,
    states: usize,
    needed: &[TermId],
) -> Option<Vec<TermId>> {
    let mut numbers: TermMap<usize> = TermMap::new();
    let mut nodes: Vec<TermId> = Vec::new();
    let mut graph = Graph::default();
    let mut before: Vec<usize> = Vec::new();
    for t in closure(program, scopes, needed, &[]) {
        before.clear();
        scopes.for_each_dependency(program, t, |u| before.extend(numbers.get(u).copied()));
        let is_state = matches!(program.node(t), Node::Input(k) if (*k as usize) < states);
        if before.is_empty() && !is_state {
            continue;
        }
        let n = nodes.len();
        numbers.insert(t, n);
        nodes.push(t);
        before.sort_unstable();
        before.dedup();
        graph.edges.extend(before.iter().map(|&m| (m, n)));
        let size = |t: TermId| program.shape(t).numel() as u64;
        graph.costs.push(match is_state {
            true => size(t),
            false if program.node(t).has_results() => NEVER,
            false => size(t).saturating_mul(2),
        });
        if is_state {
            graph.sources.push(n);
        }
    }
    graph.sinks = needed.iter().filter_map(|&t| numbers.get(t).copied()).collect();
    let cut = graph.cheapest_cut()?;
    Some(cut.into_iter().map(|n| nodes[n]).collect())
}

/// The terms outside a region that it uses.
pub(crate) fn for_each_capture(arena: &Arena, r: RegionId, f: &mut impl FnMut(TermId)) {
    let level = arena.region(r).level();
    let mut seen = TermSet::new();
    let mut stack: Vec<TermId> = arena.region(r).results().to_vec();
    while let Some(t) = stack.pop() {
        if !seen.insert(t) {
            continue;
        }
        if arena.free(t).innermost() < level {
            f(t);
            continue;
        }
        let node = arena.node(t);
        node.for_each_operand(|u| stack.push(u));
        stack.extend(node.region().iter().flat_map(|&r| arena.region(r).results()));
    }
}

impl Deltas<Staged> {
    /// The arrays that the Deltas of some results mention, each once.
    pub(crate) fn needed_by(&self, results: &[DualArray<Staged>], arena: &Arena) -> Vec<TermId> {
        let mut reached = vec![false; self.len()];
        results.iter().filter_map(|r| r.delta).for_each(|d| reached[d.index()] = true);
        let mut needed = TermSet::new();
        let mut found = Vec::new();
        // Operands have lower numbers.
        for d in self.ids().rev() {
            if !reached[d.index()] {
                continue;
            }
            let delta = self.get(d);
            delta.for_each_operand(|d| reached[d.index()] = true);
            delta.for_each_array(arena, &mut |t| {
                if needed.insert(t) {
                    found.push(t);
                }
            });
        }
        found
    }
}

impl Delta<Staged> {
    /// The arrays that it mentions.
    fn for_each_array(&self, arena: &Arena, f: &mut impl FnMut(TermId)) {
        match self {
            Delta::Input(_) | Delta::Add(..) | Delta::SumOuter(_) | Delta::LitArray(_) => {}
            Delta::Replicate(..) | Delta::Transpose(..) | Delta::Reshape(_) => {}
            Delta::Cast(_) | Delta::Result(..) => {}
            Delta::Scale(t, _) | Delta::StrongScale(t, _) => f(*t),
            Delta::Select(t, ..) | Delta::Cond(t, ..) => f(*t),
            Delta::Index(_, ix) => ix.iter().copied().for_each(f),
            Delta::OneHot(place, _) => place.1.iter().copied().for_each(f),
            Delta::Gather(_, r) | Delta::Scatter(_, _, r) => for_each_capture(arena, *r, f),
            Delta::Routine(of, _) => of.1.iter().copied().for_each(f),
            Delta::MapAccum(m) => m.arrays().copied().for_each(f),
            Delta::While(w) => w.arrays().copied().for_each(f),
            Delta::Custom(c) => c.inputs.iter().copied().for_each(f),
        }
    }
}
