//! A schedule as text: the decisions that are taken of each group, in their order, and what they are
//! for each group and each nest.
//!
//! ```text
//! group: 1000 positions of 840 operations, blocks of 128, chunks of 1
//!   nest l4; i0 < 1000 blocks; i2 < 40 lanes; i1 < 20 summed
//!   nest t5; i1 < 1000 summed, lanes; products rounded with sums
//!   local l4: 40960 bytes, 320 a position
//!   sum of 8 parts t5 of 1 to y6
//! ```

use std::fmt::{self, Write as _};

use cotan_nest::{BufferId, Reduction, Role, Step};

use crate::contract::Contraction;
use crate::group::{GROUP_PASSES, Group, Local, Member, Partial};
use crate::order::LoopOrder;
use crate::schedule::Schedule;

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = ScheduleText { schedule: self, out: String::new(), depth: 0 };
        for (n, pass) in GROUP_PASSES.iter().enumerate() {
            text.line(format_args!("# {}. {}", n + 1, pass.name));
        }
        let local = self.local;
        text.line(format_args!("{local} bytes for each thread, {} shared", self.arena));
        text.steps(&self.steps);
        f.write_str(&text.out)
    }
}

struct ScheduleText<'a> {
    schedule: &'a Schedule,
    out: String,
    depth: usize,
}

impl ScheduleText<'_> {
    fn line(&mut self, text: fmt::Arguments<'_>) {
        let _ = writeln!(self.out, "{:indent$}{text}", "", indent = 2 * self.depth);
    }

    fn name(&self, b: BufferId) -> String {
        let role = match self.schedule.buffers.get(b.index()).map(|buffer| &buffer.role) {
            Some(Role::Input(_)) => 'x',
            Some(Role::Constant(_)) => 'c',
            Some(Role::Temporary(_)) => 't',
            Some(Role::Local(_)) => 'l',
            Some(Role::Output) => 'y',
            Some(Role::View) => 'v',
            None => '?',
        };
        format!("{role}{}", b.0)
    }

    fn below(&mut self, f: impl FnOnce(&mut Self)) {
        self.depth += 1;
        f(self);
        self.depth -= 1;
    }

    /// It recurses over the nesting of loops and branches.
    fn steps(&mut self, steps: &[Step<Group<LoopOrder>>]) {
        for step in steps {
            match step {
                Step::Compute(group) => self.group(group),
                Step::Contract(contraction) => self.contraction(contraction),
                Step::Scalars(_) => self.line(format_args!("operations on single elements")),
                Step::Zero(b) => self.line(format_args!("zeros {}", self.name(*b))),
                Step::Copy { from, to } => {
                    self.line(format_args!("copy {} to {}", self.name(*from), self.name(*to)));
                }
                Step::ArgSort { from, to, .. } => {
                    self.line(format_args!("sort {} to {}", self.name(*from), self.name(*to)));
                }
                Step::SegmentArg(step) => {
                    self.line(format_args!("extremes by segment to {}", self.name(step.to)));
                }
                Step::Routine(step) => {
                    let to: Vec<String> = step.results.iter().map(|&b| self.name(b)).collect();
                    self.line(format_args!("{} to {}", step.routine.name(), to.join(", ")));
                }
                Step::Loop(l) => {
                    let stream = match l.schedule.stream {
                        Some(rows) => format!(", all steps for {rows} rows, then for the next"),
                        None => String::new(),
                    };
                    self.line(format_args!("loop of {} steps{stream}:", l.length));
                    self.below(|text| text.steps(&l.steps));
                }
                Step::While(w) => {
                    self.line(format_args!("while {}, after:", self.name(w.condition)));
                    self.below(|text| text.steps(&w.before));
                    self.line(format_args!("do:"));
                    self.below(|text| text.steps(&w.body.steps));
                }
                Step::If(branches) => {
                    self.line(format_args!("if {}:", self.name(branches.condition)));
                    self.below(|text| text.steps(&branches.then));
                    self.line(format_args!("else:"));
                    self.below(|text| text.steps(&branches.otherwise));
                }
            }
        }
    }

    fn group(&mut self, group: &Group<LoopOrder>) {
        let Group { extent, block, per_chunk, cost, .. } = *group;
        let serial = if group.serial { ", in order" } else { "" };
        self.line(format_args!(
            "group: {extent} positions of {cost} operations, blocks of {block}, \
             chunks of {per_chunk}{serial}"
        ));
        self.below(|text| {
            group.members.iter().for_each(|member| text.member(member));
            if let Some(relaxed) = &group.relaxed {
                let arrays: Vec<String> = relaxed.moderate.iter().map(|&b| text.name(b)).collect();
                text.line(format_args!("where {} are of moderate size:", arrays.join(", ")));
                text.below(|text| {
                    relaxed.members.iter().flatten().for_each(|member| text.member(member));
                });
            }
            group.locals.iter().for_each(|local| text.local(local, block));
            group.partials.iter().for_each(|partial| text.partial(partial, group.chunks()));
        });
    }

    fn member(&mut self, member: &Member<LoopOrder>) {
        match member {
            Member::Nest(order) => self.order(order, ""),
            Member::Wedged(wedged) => {
                let panels = wedged.kernels.len();
                let how = format!("{}, in {panels} lengths", wedged.describe());
                // The first panel has everything.
                wedged.kernels.iter().take(1).for_each(|order| self.order(order, &how));
            }
            Member::Contraction(contraction) => self.contraction(contraction),
        }
    }

    /// The loops of a nest, outermost first.
    fn order(&mut self, order: &LoopOrder, how: &str) {
        let mut loops = String::new();
        for (n, &dim) in order.dims.iter().enumerate() {
            let kind = match (n >= order.first_reduced, Some(n) == order.lane_loop) {
                (false, false) if n == order.block => " blocks",
                (false, false) => "",
                (false, true) if n == order.block => " lanes, blocks",
                (false, true) => " lanes",
                (true, false) => " summed",
                (true, true) => " summed, lanes",
            };
            let jam = if Some(dim) == order.jam { " jammed" } else { "" };
            let _ = write!(loops, "; i{dim} < {}{kind}{jam}", order.nest.extents[dim]);
        }
        let fused = if order.product.is_some() { "; products rounded with sums" } else { "" };
        let mut to = self.name(order.nest.target);
        for also in &order.nest.also {
            let _ = write!(to, ", {}", self.name(also.target));
        }
        self.line(format_args!("nest {to}{loops}{fused}{how}"));
    }

    fn contraction(&mut self, contraction: &Contraction<LoopOrder>) {
        let each = match &contraction.ranged {
            Some(ranged) => format!(" for {} positions at a time", ranged.positions),
            None => String::new(),
        };
        let text = contraction.product.describe(&|b| self.name(b));
        for (n, line) in text.lines().enumerate() {
            match n {
                0 => self.line(format_args!("contraction{each}: {line}")),
                _ => self.line(format_args!("  {line}")),
            }
        }
        if let Some((after, _)) = &contraction.after {
            self.below(|text| text.order(after, ", with the sums"));
        }
        if let Some(fallback) = &contraction.fallback {
            self.below(|text| text.order(fallback, ", where an operand is not finite"));
        }
    }

    fn local(&mut self, local: &Local, block: usize) {
        let (name, bytes) = (self.name(local.buffer), local.bytes(block));
        self.line(format_args!("local {name}: {bytes} bytes, {} a position", local.stride));
    }

    fn partial(&mut self, partial: &Partial, chunks: usize) {
        let kind = match partial.reduction {
            Reduction::Sum => "sum",
            Reduction::Largest => "largest",
            Reduction::Smallest => "smallest",
        };
        let (parts, target) = (self.name(partial.parts), self.name(partial.target));
        let elements = partial.spread.numel();
        self.line(format_args!("{kind} of {chunks} parts {parts} of {elements} to {target}"));
    }
}
