//! The kernels of a plan as a list: what each computes, how much of it, and for which terms.

use cotan_ir::TermId;
use cotan_nest::{BufferId, Instr, Nest, Role, Step, Touches};

use crate::contract::form::Axis;
use crate::contract::{Contraction, Product};
use crate::group::{Group, Member};
use crate::schedule::{Schedule, Scheduled};

/// A step of a plan, or a part of one that is run for each block.
#[derive(Clone, Debug)]
pub struct KernelInfo {
    /// Its number in the text of the kernels, if it is one: other steps fill, copy and repeat.
    pub number: Option<usize>,
    /// What it is: `nest`, `product`, `loop`.
    pub kind: &'static str,
    /// What it goes over: `i0 < 10, sum over i1 < 20`.
    pub over: String,
    /// Scalar operations of a run of the whole plan.
    pub operations: u64,
    /// The bytes of all arrays that it touches, times how often it is run. What is read several times
    /// counts once.
    pub bytes: u64,
    /// How often a run of the plan runs it: the lengths of the loops around it. A loop without a
    /// bound counts once.
    pub runs: u64,
    /// How many loops and conditions are around it.
    pub depth: usize,
    /// Into how many blocks it is cut.
    pub blocks: usize,
    /// The bytes of temporary arrays that are alive while it runs, those of loops being alive for as
    /// long as the whole loop.
    pub alive: u64,
    /// The terms of the program that it stores.
    pub terms: Vec<TermId>,
    /// Where it lies in memory, which a profile tells kernels by; only while the plan is there.
    pub key: usize,
}

impl KernelInfo {
    /// What it is, in a few words.
    pub fn title(&self) -> String {
        let blocks = match self.blocks {
            0 | 1 => String::new(),
            n => format!(", in {n} blocks"),
        };
        let runs = if self.runs > 1 { format!(", {} times", self.runs) } else { String::new() };
        let over = if self.over.is_empty() { String::new() } else { format!(" {}", self.over) };
        format!("{}{over}{blocks}{runs}", self.kind)
    }
}

impl<C: Scheduled> Schedule<C> {
    /// The kernels and other steps in their order, those of a loop below it.
    pub fn list(&self) -> Vec<KernelInfo> {
        let mut list = List { plan: self, found: Vec::new(), numbers: 0, depth: 0, runs: 1 };
        for (step, alive) in self.steps.iter().zip(self.alive()) {
            let first = list.found.len();
            list.steps(std::slice::from_ref(step));
            list.found[first..].iter_mut().for_each(|info| info.alive = alive);
        }
        list.found
    }

    /// The bytes of temporary arrays that are alive at each step.
    fn alive(&self) -> Vec<u64> {
        let mut life = vec![(usize::MAX, 0); self.buffers.len()];
        for (n, step) in self.steps.iter().enumerate() {
            step.for_each_buffer(&mut |b| {
                let (first, last) = &mut life[b.index()];
                (*first, *last) = ((*first).min(n), n);
            });
        }
        let mut change = vec![0i128; self.steps.len() + 1];
        for (buffer, &(first, last)) in self.buffers.iter().zip(&life) {
            if first <= last && matches!(buffer.role, Role::Temporary(_)) {
                change[first] += buffer.bytes() as i128;
                change[last + 1] -= buffer.bytes() as i128;
            }
        }
        let mut now = 0;
        let steps = change.iter().take(self.steps.len());
        steps
            .map(|change| {
                now += change;
                u64::try_from(now).unwrap_or(u64::MAX)
            })
            .collect()
    }
}

struct List<'a, C: Scheduled> {
    plan: &'a Schedule<C>,
    found: Vec<KernelInfo>,
    numbers: usize,
    depth: usize,
    runs: u64,
}

/// How much a kernel does in one run.
struct Work {
    operations: usize,
    bytes: usize,
}

impl<C: Scheduled> List<'_, C> {
    fn add(&mut self, kind: &'static str, over: String, work: Work, key: usize) -> &mut KernelInfo {
        self.found.push(KernelInfo {
            number: None,
            kind,
            over,
            operations: (work.operations as u64).saturating_mul(self.runs),
            bytes: (work.bytes as u64).saturating_mul(self.runs),
            runs: self.runs,
            depth: self.depth,
            blocks: 1,
            alive: 0,
            terms: Vec::new(),
            key,
        });
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    fn bytes(&self, buffers: &[BufferId]) -> usize {
        let mut seen = buffers.to_vec();
        seen.sort_unstable_by_key(|b| b.0);
        seen.dedup();
        let sizes = seen.iter().map(|b| self.plan.buffers[b.index()].bytes());
        sizes.fold(0, usize::saturating_add)
    }

    fn touched(&self, touches: &impl Touches) -> usize {
        let mut buffers = Vec::new();
        touches.for_each_buffer(&mut |b| buffers.push(b));
        self.bytes(&buffers)
    }

    fn inside(&mut self, steps: &[Step<C>], times: usize) {
        let runs = self.runs;
        self.runs = runs.saturating_mul(times as u64);
        self.depth += 1;
        self.steps(steps);
        self.depth -= 1;
        self.runs = runs;
    }

    fn steps(&mut self, steps: &[Step<C>]) {
        for step in steps {
            let key = std::ptr::from_ref(step) as usize;
            let moved = |bytes: usize| Work { operations: 0, bytes };
            match step {
                Step::Compute(compute) => self.group(compute.group()),
                Step::Contract(contraction) => self.contraction(contraction, 1, key),
                Step::Scalars(scalars) => {
                    let packed = C::packed(scalars);
                    let operations = packed.instrs().len();
                    let terms = packed.stores().iter().filter_map(|s| s.source).collect();
                    let work = Work { operations, bytes: 8 * packed.stores().len() };
                    self.add("scalars", String::new(), work, key).terms = terms;
                }
                Step::Zero(b) => {
                    let bytes = self.bytes(&[*b]);
                    self.add("fill", String::new(), moved(bytes), key);
                }
                Step::Copy { from, to } => {
                    let bytes = self.bytes(&[*from, *to]);
                    self.add("copy", String::new(), moved(bytes), key);
                }
                Step::ArgSort { from, to, room } => {
                    let bytes = self.bytes(&[*from, *to, *room]);
                    let n = self.plan.buffers[from.index()].shape.numel();
                    let depth = n.max(2).next_power_of_two().trailing_zeros() as usize;
                    let work = Work { operations: n.saturating_mul(depth), bytes };
                    self.add("sort", format!("{n} elements"), work, key);
                }
                Step::SegmentArg(segments) => {
                    let bytes = self.bytes(&[segments.to, segments.ids.buffer]);
                    let n = self.plan.buffers[segments.ids.buffer.index()].shape.numel();
                    let work = Work { operations: n, bytes };
                    self.add("segments", format!("{n} elements"), work, key);
                }
                Step::Routine(routine) => {
                    let mut buffers = routine.results.clone();
                    buffers.extend(routine.operands.iter().map(|cells| cells.buffer));
                    let batch = routine.batch.iter().fold(1usize, |n, &k| n.saturating_mul(k));
                    let n = routine.rows;
                    let operations =
                        n.saturating_mul(n).saturating_mul(n.max(routine.columns)) / 3 * batch;
                    let work = Work { operations, bytes: self.bytes(&buffers) };
                    self.add(routine.routine.name(), format!("{batch} of size {n}"), work, key);
                }
                Step::Loop(l) => {
                    let bytes = Work { operations: 0, bytes: 0 };
                    self.add("loop", format!("{} steps", l.length), bytes, key);
                    self.inside(&l.steps, l.length);
                }
                Step::While(w) => {
                    let over = w.bound.map_or(String::new(), |n| format!("at most {n} steps"));
                    self.add("while", over, Work { operations: 0, bytes: 0 }, key);
                    self.inside(&w.before, w.bound.unwrap_or(1));
                    self.inside(&w.body.steps, w.bound.unwrap_or(1));
                }
                Step::If(branches) => {
                    self.add("if", String::new(), Work { operations: 0, bytes: 0 }, key);
                    self.inside(&branches.then, 1);
                    self.inside(&branches.otherwise, 1);
                }
            }
        }
    }

    fn group(&mut self, group: &Group<C::Kernel>) {
        let blocks = group.blocks();
        for member in &group.members {
            let key = std::ptr::from_ref(member) as usize;
            match member {
                Member::Nest(kernel) => self.nest((**kernel).as_ref(), blocks, key),
                Member::Wedged(wedged) => {
                    if let Some(kernel) = wedged.kernels.first() {
                        self.nest(kernel.as_ref(), blocks, key);
                    }
                }
                Member::Contraction(contraction) => self.contraction(contraction, blocks, key),
            }
        }
    }

    fn nest(&mut self, nest: &Nest, blocks: usize, key: usize) {
        self.numbers += 1;
        let number = self.numbers;
        let positions = nest.extents.iter().fold(1usize, |n, &k| n.saturating_mul(k));
        let operations =
            nest.instrs.iter().filter(|i| matches!(i, Instr::Op(..) | Instr::MulAdd { .. }));
        let parallel = nest.extents.len() - nest.reduced;
        let dims = nest.extents.iter().enumerate();
        let over: Vec<String> = dims
            .map(|(dim, k)| {
                format!("{}i{dim} < {k}", if dim < parallel { "" } else { "sum over " })
            })
            .collect();
        let sums = usize::from(nest.reduced > 0);
        let operations = (operations.count() + sums).saturating_mul(positions);
        let work = Work { operations, bytes: self.touched(nest) };
        let terms = nest.source.into_iter().chain(nest.also.iter().filter_map(|also| also.source));
        let terms = terms.collect();
        let info = self.add("nest", over.join(", "), work, key);
        (info.number, info.blocks, info.terms) = (Some(number), blocks, terms);
    }

    fn contraction(&mut self, product: &Contraction<C::Kernel>, blocks: usize, key: usize) {
        self.numbers += 1;
        let number = self.numbers;
        let sizes = [Axis::Batch, Axis::Rows, Axis::Columns, Axis::Depth]
            .map(|axis| product.product.count(axis));
        let [batch, rows, columns, depth] = sizes;
        // Of a range it is the part of one block.
        let times = if product.ranged.is_some() { blocks } else { 1 };
        let products = sizes.iter().fold(times, |n, &k| n.saturating_mul(k));
        let batch = if batch > 1 { format!("{batch} times ") } else { String::new() };
        let over = format!("{batch}{rows}×{depth} by {depth}×{columns}");
        let bytes = {
            let Product { target, left, right, .. } = &product.product;
            self.bytes(&[*target, left.buffer, right.buffer])
        };
        let work = Work { operations: products.saturating_mul(2), bytes };
        let mut terms: Vec<TermId> = product.source.into_iter().collect();
        if let Some((after, _)) = &product.after {
            terms.extend((**after).as_ref().source);
        }
        let info = self.add("product", over, work, key);
        (info.number, info.blocks, info.terms) = (Some(number), blocks, terms);
    }
}
