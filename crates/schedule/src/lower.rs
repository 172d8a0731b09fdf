//! From programs to plans: which arrays are made, and the nests that make them.
//!
//! An array is a function from indices to scalars until something forces it into memory: a result,
//! a loop, a search, a sum, many users of something dear. What is not forced is expanded into the
//! nests of its users.

use std::sync::Arc;

use cotan_array::{Dtype, Shape};
use cotan_ir::{Node, Program, RegionId, Scope, Scopes, TermId, TermMap, Type};
use cotan_nest::{Buffer, BufferId, Loop, Nest, Plan, Role, Step, WhileStep};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::target::Target;

mod arrange;
mod branch;
mod contract;
mod expand;
mod fold;
mod join;
mod order;
mod part;
mod placement;
mod places;
mod plan;
mod product;
mod repeat;
mod routine;
mod scalars;
mod segment;
mod split;
mod sums;
mod twice;
mod update;
mod window;

use branch::Side;
pub(crate) use expand::row_major;
use placement::{MadeOperands, NOWHERE, ScopePlacements};
pub use placement::{Placement, Placements};
pub use plan::PlanDraft;

/// Why a program has no plan: something in it is for the interpreter only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported(pub &'static str);

impl Unsupported {
    /// The work of [`cotan_ir::within`] had to end before there was a plan.
    pub const STOPPED: Unsupported = Unsupported("planning was stopped");
}

/// Stops planning where the work of [`cotan_ir::within`] has to end.
pub fn look() -> R<()> {
    cotan_ir::look("plan").map_err(|_| Unsupported::STOPPED)
}

pub(crate) type R<T> = Result<T, Unsupported>;

/// Where the value of a node is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Buffer(BufferId),
    /// In several buffers: those at this position of [`Lowering::several`].
    Several(u32),
    /// Nowhere: it is expanded into its users.
    Inline,
}

pub(crate) struct Lowering<'a> {
    pub(crate) program: &'a Program,
    pub(crate) scopes: &'a Scopes,
    pub(crate) buffers: Vec<Buffer>,
    /// The types of the buffers.
    types: FxHashMap<Type, Arc<Type>>,
    pub(crate) places: TermMap<Place>,
    /// The buffers of what has several results.
    several: Vec<Vec<BufferId>>,
    /// Results of one factorisation.
    relatives: routine::Relatives,
    /// Constants that have a buffer.
    constants: FxHashMap<TermId, BufferId>,
    /// Whether sums are taken from the first element to the last.
    pub(crate) in_order: bool,
    /// The machine that the plan is for.
    pub(crate) target: &'a Target,
    /// The level of the scope that is being lowered.
    level: u8,
    /// For each list of steps in the making the arrays that are made in it for some nests only, and
    /// are gone with it.
    lists: Vec<FxHashMap<TermId, BufferId>>,
    /// Whether nests are surveyed for what should be in memory for them.
    surveys: bool,
    /// In such a survey: what should be.
    wanted: Option<MadeOperands>,
}

/// The plan of a program: the nests that make what is made. `in_order` keeps the order of additions.
pub fn lower(program: &Program, in_order: bool, target: &Target) -> R<Plan> {
    Ok(PlanDraft::of(program, in_order, target)?.finish(target))
}

fn drafted(program: &Program, placements: &Placements, target: &Target) -> R<PlanDraft> {
    let Placements { scopes, top, in_order } = placements;
    let mut lowering = Lowering::new(program, scopes, *in_order, target);
    lowering.relatives = routine::relatives(program);
    let mut steps = Vec::new();
    let results: Vec<TermId> = program.outputs().iter().map(|output| output.term).collect();
    let mut compact = scalars::Compact::new(target);
    lowering.lists.push(FxHashMap::default());
    lowering.scope(scopes.top(), top, &mut steps, |steps| compact.look(steps))?;
    let mut outputs = Vec::with_capacity(results.len());
    let mut taken: FxHashSet<BufferId> = FxHashSet::default();
    for &t in &results {
        let made = lowering.buffer_of(t)?;
        let own = matches!(lowering.buffers[made.index()].role, Role::Temporary(_));
        let buffer = if own && taken.insert(made) {
            made
        } else {
            let to = lowering.temporary(program.ty(t));
            steps.push(Step::Copy { from: made, to });
            to
        };
        lowering.buffers[buffer.index()].role = Role::Output;
        outputs.push(buffer);
    }
    Ok(PlanDraft { buffers: lowering.buffers, steps, outputs, compact, in_order: *in_order })
}

impl<'a> Lowering<'a> {
    fn new(
        program: &'a Program,
        scopes: &'a Scopes,
        in_order: bool,
        target: &'a Target,
    ) -> Lowering<'a> {
        Lowering {
            program,
            scopes,
            buffers: Vec::new(),
            types: FxHashMap::default(),
            places: TermMap::new(),
            several: Vec::new(),
            relatives: routine::Relatives::default(),
            constants: FxHashMap::default(),
            in_order,
            target,
            level: 0,
            lists: Vec::new(),
            surveys: false,
            wanted: None,
        }
    }

    fn buffer(&mut self, dtype: Dtype, shape: Shape, role: Role) -> BufferId {
        let ty = Type::new(dtype, shape);
        let ty = self.types.entry(ty).or_insert_with_key(|ty| Arc::new(ty.clone()));
        self.buffers.push(Buffer::of(ty.clone(), role));
        BufferId((self.buffers.len() - 1) as u32)
    }

    pub(crate) fn temporary(&mut self, ty: &Type) -> BufferId {
        self.buffer(ty.dtype, ty.shape.clone(), Role::Temporary(0))
    }

    fn view(&mut self, ty: &Type) -> BufferId {
        self.buffer(ty.dtype, ty.shape.clone(), Role::View)
    }

    /// The place of what has several results.
    fn several(&mut self, buffers: Vec<BufferId>) -> Place {
        self.several.push(buffers);
        Place::Several((self.several.len() - 1) as u32)
    }

    /// The buffer of an array that is in memory.
    fn buffer_of(&mut self, t: TermId) -> R<BufferId> {
        match self.places.get(t) {
            Some(Place::Buffer(b)) => Ok(*b),
            _ => match self.program.node(t) {
                Node::Const(_) => Ok(self.constant_buffer(t)),
                _ => Err(Unsupported("an array that is not in memory")),
            },
        }
    }

    /// The buffer of a constant.
    pub(crate) fn constant_buffer(&mut self, t: TermId) -> BufferId {
        if let Some(&b) = self.constants.get(&t) {
            return b;
        }
        if self.wanted.is_some() {
            return NOWHERE;
        }
        let ty = self.program.ty(t).clone();
        let array = match self.program.node(t) {
            Node::Const(c) => c.contiguous().unwrap_or_else(|_| (**c).clone()),
            _ => cotan_array::Array::scalar(0.0),
        };
        let b = self.buffer(ty.dtype, ty.shape, Role::Constant(Arc::new(array)));
        self.constants.insert(t, b);
        b
    }

    /// Where an array is, if it is in memory.
    fn held(&self, t: TermId) -> Option<BufferId> {
        if let Some(Place::Buffer(b)) = self.places.get(t) {
            return Some(*b);
        }
        match &self.wanted {
            Some(wanted) => wanted.contains(&t).then_some(NOWHERE),
            None => self.lists.iter().rev().find_map(|list| list.get(&t).copied()),
        }
    }

    /// The steps of a scope. What was made so far is shown from time to time.
    fn scope(
        &mut self,
        scope: &Scope,
        placements: &ScopePlacements,
        steps: &mut Vec<Step<Nest>>,
        mut show: impl FnMut(&mut Vec<Step<Nest>>),
    ) -> R<()> {
        for (n, &t) in scope.order().iter().enumerate() {
            if n.is_multiple_of(self.target.search.nodes_per_look) {
                look()?;
                show(steps);
            }
            if placements.sides.of(t) == Side::ALWAYS {
                let place = self.node(t, placements, steps)?;
                self.places.insert(t, place);
            }
        }
        show(steps);
        Ok(())
    }

    /// The steps of a region whose results end up in memory.
    fn region(
        &mut self,
        r: RegionId,
        placements: &ScopePlacements,
        steps: &mut Vec<Step<Nest>>,
    ) -> R<()> {
        let outer = std::mem::replace(&mut self.level, self.program.region(r).level());
        self.lists.push(FxHashMap::default());
        self.scope(self.scopes.region(r), placements, steps, |_| {})?;
        self.lists.pop();
        self.level = outer;
        Ok(())
    }

    /// Makes what a node reads at computed positions, and before it what that reads so.
    fn make_operands(
        &mut self,
        operands: Option<&MadeOperands>,
        placements: &ScopePlacements,
        steps: &mut Vec<Step<Nest>>,
    ) -> R<()> {
        let Some(operands) = operands else { return Ok(()) };
        let mut open: Vec<(TermId, bool)> = operands.iter().rev().map(|&t| (t, false)).collect();
        while let Some((t, ready)) = open.pop() {
            if self.held(t).is_some() {
                continue;
            }
            let below = placements.operands.get(&t).filter(|_| !ready);
            if let Some(below) = below {
                open.push((t, true));
                open.extend(below.iter().rev().map(|&u| (u, false)));
                continue;
            }
            let to = self.temporary(self.program.ty(t));
            let nests = match self.program.node(t) {
                Node::Stack(ts) => {
                    let part = |(n, &part)| self.store_nest(part, to, n);
                    ts.iter().enumerate().map(part).collect::<R<Vec<Nest>>>()?
                }
                _ => self.array_nests(t, to, None)?,
            };
            nests.into_iter().for_each(|nest| push(nest, steps));
            if let Some(list) = self.lists.last_mut() {
                list.insert(t, to);
            }
        }
        Ok(())
    }

    fn node(
        &mut self,
        t: TermId,
        placements: &ScopePlacements,
        steps: &mut Vec<Step<Nest>>,
    ) -> R<Place> {
        let program = self.program;
        let ty = program.ty(t);
        if let Some(sides) = placements.sides.of_condition(t) {
            return self.condition(t, sides, placements, steps);
        }
        let placement = placements.chosen(t);
        // Those of others are made when they are.
        if !matches!(placement, Placement::Operand | Placement::Factor { .. }) {
            self.make_operands(placements.operands.get(&t), placements, steps)?;
        }
        Ok(match program.node(t) {
            Node::Input(k) => {
                Place::Buffer(self.buffer(ty.dtype, ty.shape.clone(), Role::Input(*k as usize)))
            }
            // Bound by the loop around.
            Node::Var { .. } => match self.places.get(t) {
                Some(&place) => place,
                None => return Err(Unsupported("a variable without a place")),
            },
            Node::Const(_) if ty.shape.rank() > 0 || placements.forced.contains(&t) => {
                Place::Buffer(self.constant_buffer(t))
            }
            Node::SumOuter(_) => match placement {
                Placement::Stored => self.sum(t, placements, steps)?,
                Placement::Joined(factor) => self.join(t, factor, placements, steps)?,
                Placement::StoredUnrolled => self.array(t, placements, steps)?,
                _ => Place::Inline,
            },
            Node::Scatter(..) => {
                let to = self.temporary(ty);
                let nest = self.scatter_nest(t, to)?;
                steps.push(Step::Zero(to));
                self.scatter_steps(nest, steps);
                Place::Buffer(to)
            }
            Node::Stack(ts) if placement == Placement::Stored => {
                let to = self.temporary(ty);
                for (n, &part) in ts.iter().enumerate() {
                    let nest = self.store_nest(part, to, n)?;
                    push(nest, steps);
                }
                Place::Buffer(to)
            }
            Node::Stack(_) => Place::Inline,
            Node::ArgExtreme(..) => {
                let to = self.temporary(ty);
                let nest = self.extreme_nest(t, to)?;
                push(nest, steps);
                Place::Buffer(to)
            }
            Node::ArgSort(u) => {
                let (from, to) = (self.buffer_of(*u)?, self.temporary(ty));
                let room = self.buffer(Dtype::I64, sorting_room(&ty.shape)?, Role::Temporary(0));
                steps.push(Step::ArgSort { from, to, room });
                Place::Buffer(to)
            }
            Node::SegmentArg(extreme, segments, u, ids) => {
                let to = self.temporary(ty);
                let step = self.segment_step((*extreme, *segments), *u, *ids, to)?;
                steps.push(step);
                Place::Buffer(to)
            }
            Node::Routine(..) => self.routine_step(t, steps)?,
            Node::MapAccum(m) if let Some(fold) = self.fold(m) => {
                let to = self.temporary(self.program.ty(fold.init));
                let (nest, begins) = self.fold_nest(t, &fold, to)?;
                push(nest, steps);
                if begins {
                    return Ok(self.several(vec![to]));
                }
                let all = self.temporary(self.program.ty(fold.init));
                let nest = self.fold_init(t, &fold, to, all)?;
                push(nest, steps);
                self.several(vec![all])
            }
            Node::MapAccum(m) => {
                let step = self.program.region(m.step).clone();
                let (states, mut inputs) = (self.states(step.params(), &m.init)?, Vec::new());
                for (n, &x) in m.inputs.iter().enumerate() {
                    let whole = self.buffer_of(x)?;
                    let param = step.params()[m.init.len() + n];
                    let part = self.view(program.ty(param));
                    self.places.insert(param, Place::Buffer(part));
                    inputs.push((whole, part));
                }
                let mut inner = Vec::new();
                let first = self.buffers.len();
                let inside = inside(placements, t, 0)?;
                self.region(m.step, inside, &mut inner)?;
                let mut outputs = Vec::new();
                let types = program.result_types(t).unwrap_or_default();
                let mut several: Vec<BufferId> = states.iter().map(|s| s.1).collect();
                for (n, &y) in step.results().iter().enumerate().skip(m.init.len()) {
                    let collected = self.temporary(&types[n]);
                    outputs.push((self.buffer_of(y)?, collected));
                    several.push(collected);
                }
                let mut states = self.next_states(&states, step.results(), &mut inner)?;
                self.update_in_place(&mut states, &m.init, &mut outputs, &mut inner);
                self.forget(m.step);
                let mut repeated = Loop {
                    length: m.length,
                    reverse: m.reverse,
                    exchanged: self.exchanged(&states),
                    states,
                    inputs,
                    outputs,
                    collected: Vec::new(),
                    steps: inner,
                    schedule: (),
                };
                steps.append(&mut repeat::take_invariant(&mut repeated, first));
                repeated.collected = self.collect_in_place(first, &mut repeated.outputs);
                steps.push(Step::Loop(Box::new(repeated)));
                self.several(several)
            }
            Node::While(w) => {
                let step = self.program.region(w.step).clone();
                let states = self.states(step.params(), &w.init)?;
                let (&condition, rest) = step
                    .results()
                    .split_first()
                    .ok_or(Unsupported("a loop without a condition"))?;
                // The step runs only if the condition holds; what both need is computed once.
                let (mut before, mut inner) = (Vec::new(), Vec::new());
                let mut done = FxHashSet::default();
                let inside_test = inside(placements, t, 0)?;
                self.function((w.step, &[condition]), inside_test, &mut done, &mut before)?;
                let condition = self.buffer_of(condition)?;
                let inside_step = inside(placements, t, 1)?;
                self.function((w.step, rest), inside_step, &mut done, &mut inner)?;
                let types = program.result_types(t).unwrap_or_default();
                let mut several: Vec<BufferId> = states.iter().map(|s| s.1).collect();
                let mut outputs = Vec::new();
                for (n, &y) in rest.iter().enumerate().skip(states.len()) {
                    let collected = self.temporary(&types[n]);
                    steps.push(Step::Zero(collected));
                    outputs.push((self.buffer_of(y)?, collected));
                    several.push(collected);
                }
                let mut states = self.next_states(&states, rest, &mut inner)?;
                self.update_in_place(&mut states, &w.init, &mut outputs, &mut inner);
                self.forget(w.step);
                steps.push(Step::While(Box::new(WhileStep {
                    bound: w.bound,
                    before,
                    condition,
                    body: Loop {
                        length: 0,
                        reverse: false,
                        exchanged: self.exchanged(&states),
                        states,
                        inputs: Vec::new(),
                        outputs,
                        collected: Vec::new(),
                        steps: inner,
                        schedule: (),
                    },
                })));
                self.several(several)
            }
            Node::Custom(c) => {
                let region = program.region(c.region).clone();
                for (&param, &arg) in region.params().iter().zip(&c.args) {
                    let b = self.buffer_of(arg)?;
                    self.places.insert(param, Place::Buffer(b));
                }
                let results: Vec<TermId> =
                    region.results().iter().take(c.outputs).copied().collect();
                let (inside, mut done) = (inside(placements, t, 0)?, FxHashSet::default());
                self.function((c.region, &results), inside, &mut done, steps)?;
                let several: R<Vec<BufferId>> =
                    results.iter().map(|&y| self.buffer_of(y)).collect();
                self.forget(c.region);
                self.several(several?)
            }
            Node::Result(u, n) => match self.places.get(*u) {
                Some(&Place::Several(k)) => match self.several[k as usize].get(*n as usize) {
                    Some(&b) => Place::Buffer(b),
                    None => return Err(Unsupported("a result that is not there")),
                },
                _ => return Err(Unsupported("a result of nothing")),
            },
            _ if placement == Placement::Stored => self.array(t, placements, steps)?,
            _ => Place::Inline,
        })
    }

    /// The parts that an array is made in.
    fn parts(
        &self,
        t: TermId,
        placements: &ScopePlacements,
    ) -> impl Iterator<Item = Option<usize>> + use<> {
        let most = self.target.inlining.max_stack_parts;
        parts(self.program.ty(t), placements.stacked.contains(&t), most)
    }

    /// Makes an array at its own shape.
    fn array(
        &mut self,
        t: TermId,
        placements: &ScopePlacements,
        steps: &mut Vec<Step<Nest>>,
    ) -> R<Place> {
        let to = self.temporary(self.program.ty(t));
        for part in self.parts(t, placements) {
            for nest in self.array_nests(t, to, part)? {
                push(nest, steps);
            }
        }
        Ok(Place::Buffer(to))
    }

    /// Makes a sum at its own shape.
    fn sum(
        &mut self,
        t: TermId,
        placements: &ScopePlacements,
        steps: &mut Vec<Step<Nest>>,
    ) -> R<Place> {
        let to = self.temporary(self.program.ty(t));
        for part in self.parts(t, placements) {
            let nest = self.sum_nest(t, to, part, None, placements)?;
            self.sum_steps(nest, steps);
        }
        Ok(Place::Buffer(to))
    }

    /// The states of a loop: where each begins, and where it is during a step.
    fn states(&mut self, params: &[TermId], init: &[TermId]) -> R<Vec<(BufferId, BufferId)>> {
        let mut states = Vec::with_capacity(init.len());
        for (&param, &init) in params.iter().zip(init) {
            let (from, state) = (self.buffer_of(init)?, self.temporary(self.program.ty(init)));
            self.places.insert(param, Place::Buffer(state));
            states.push((from, state));
        }
        Ok(states)
    }

    /// The states of a loop: where each begins, where it is, and where the step puts the next.
    ///
    /// The next states become the states one after the other, so none of them may be the place of a
    /// state that is overwritten: such a one is copied at the end of the step.
    fn next_states(
        &mut self,
        states: &[(BufferId, BufferId)],
        results: &[TermId],
        steps: &mut Vec<Step<Nest>>,
    ) -> R<Vec<(BufferId, BufferId, BufferId)>> {
        let mut moved = Vec::with_capacity(states.len());
        for (&(init, state), &next) in states.iter().zip(results) {
            moved.push((init, state, self.buffer_of(next)?));
        }
        let overwritten: FxHashSet<BufferId> =
            moved.iter().filter(|(_, state, next)| state != next).map(|s| s.1).collect();
        for ((_, state, next), &t) in moved.iter_mut().zip(results) {
            if state != next && overwritten.contains(next) {
                let copy = self.temporary(self.program.ty(t));
                steps.push(Step::Copy { from: *next, to: copy });
                *next = copy;
            }
        }
        Ok(moved)
    }

    /// Which states of a loop may exchange their memory with the next: those whose next was made
    /// after the states were, that is, in the step, for nothing else.
    fn exchanged(&self, states: &[(BufferId, BufferId, BufferId)]) -> Vec<bool> {
        let before = states.iter().map(|s| s.1).max();
        let mine = |next: BufferId| {
            let made = matches!(self.buffers[next.index()].role, Role::Temporary(_));
            let once = states.iter().filter(|s| s.2 == next).count() == 1;
            made && once && before.is_some_and(|last| next > last)
        };
        states.iter().map(|s| mine(s.2)).collect()
    }

    /// The part of a region that some of its results need, without what is `done` already.
    fn function(
        &mut self,
        (r, results): (RegionId, &[TermId]),
        placements: &ScopePlacements,
        done: &mut FxHashSet<TermId>,
        steps: &mut Vec<Step<Nest>>,
    ) -> R<()> {
        let scope = self.scopes.region(r);
        let mut needed: FxHashSet<TermId> = results.iter().copied().collect();
        for &t in scope.order().iter().rev() {
            if needed.contains(&t) {
                self.scopes.for_each_dependency(self.program, t, |u| {
                    needed.insert(u);
                });
            }
        }
        let outer = std::mem::replace(&mut self.level, self.program.region(r).level());
        self.lists.push(FxHashMap::default());
        for &t in scope.order() {
            let here = needed.contains(&t) && placements.sides.of(t) == Side::ALWAYS;
            if here && !done.contains(&t) {
                let place = self.node(t, placements, steps)?;
                if matches!(place, Place::Buffer(_) | Place::Several(_)) {
                    done.insert(t);
                }
                self.places.insert(t, place);
            }
        }
        // What other results need of a side, they have to compute again.
        self.lists.pop();
        for t in placements.sides.inside() {
            self.places.remove(t);
        }
        self.level = outer;
        Ok(())
    }

    /// Forgets the places of the nodes of a region: its siblings may have the same nodes.
    fn forget(&mut self, r: RegionId) {
        for t in self.scopes.region(r).order().iter().chain(self.program.region(r).params()) {
            self.places.remove(*t);
        }
    }
}

/// Adds a nest to some steps.
fn push(mut nest: Nest, steps: &mut Vec<Step<Nest>>) {
    nest.instrs.shrink_to_fit();
    steps.push(Step::Compute(Box::new(nest)));
}

/// The placements in one of the scopes inside of a loop.
fn inside(placements: &ScopePlacements, t: TermId, n: usize) -> R<&ScopePlacements> {
    placements.inside(t).get(n).ok_or(Unsupported("a loop without placements"))
}

/// The parts along the outermost axis that an array is made in, if not in one: then stacks in it
/// are read at known positions.
fn parts(ty: &Type, stacked: bool, most: usize) -> impl Iterator<Item = Option<usize>> + use<> {
    let first = match ty.shape.dims() {
        [first, rest @ ..] if stacked && *first <= most && !rest.is_empty() => Some(*first),
        _ => None,
    };
    let whole = first.is_none().then_some(None);
    whole.into_iter().chain((0..first.unwrap_or(0)).map(Some))
}

/// The size of the outermost axis, and that of what is left.
pub fn split(shape: &Shape) -> (usize, usize) {
    let outer = shape.dims().first().copied().unwrap_or(0);
    (outer, shape.dims().iter().skip(1).product())
}

/// How many columns there must be room for, to sort so many: the rows of one in the making, its keys
/// twice, and where it is sorted if that is not where it is to be.
pub fn columns_of_room(inner: usize) -> usize {
    3 * inner.min(1) + usize::from(inner > 1)
}

/// The memory that is needed to sort an array of this shape.
fn sorting_room(shape: &Shape) -> R<Shape> {
    let (outer, inner) = split(shape);
    let numel = outer.checked_mul(columns_of_room(inner));
    let shape = numel.and_then(|n| Shape::new("a part of a plan", &[n]).ok());
    shape.ok_or(Unsupported("more rows to sort than there are numbers"))
}
