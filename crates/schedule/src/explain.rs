//! A plan as text: every kernel as a loop nest, and the memory over time.

use std::cmp::Reverse;
use std::fmt::{self, Write as _};

use cotan_array::Dtype;
use cotan_ir::{Extreme, Program, TermId, Type};
use cotan_nest::{
    Affine, Buffer, BufferId, Component, Instr, Loop, Nest, Reduction, Role, Step, Touches, Write,
};

use crate::contract::Contraction;
use crate::group::{Group, Member, Wedged};
use crate::schedule::{Schedule, Scheduled};

impl<C: Scheduled> Schedule<C> {
    /// The kernels as loop nests, with what they compute, how much of it, and where it comes from.
    pub fn kernels(&self, program: &Program) -> String {
        let mut text = KernelText { plan: self, program, out: String::new(), numbers: 0, depth: 0 };
        text.steps(&self.steps);
        text.out
    }

    /// The arrays in memory, step by step: which live together, and where they lie.
    pub fn memory(&self, program: &Program) -> String {
        let plan = self;
        let text = KernelText { plan, program, out: String::new(), numbers: 0, depth: 0 };
        let mut life = vec![(usize::MAX, 0); plan.buffers.len()];
        for (n, step) in plan.steps.iter().enumerate() {
            step.for_each_buffer(&mut |b| {
                let (first, last) = &mut life[b.index()];
                (*first, *last) = ((*first).min(n), n);
            });
        }
        let mut out = String::new();
        let (arena, local) = (bytes(plan.arena), bytes(plan.local));
        let _ = writeln!(out, "temporaries: {arena}, and {local} for each thread");
        for (n, buffer) in plan.buffers.iter().enumerate() {
            let (name, size) = (text.name(BufferId(n as u32)), bytes(buffer.bytes()));
            let ty = format!("{}{}", buffer.dtype, buffer.shape);
            let (first, last) = life[n];
            let line = match &buffer.role {
                Role::Temporary(at) if first <= last => {
                    format!("steps {} to {}, at byte {at}", first + 1, last + 1)
                }
                Role::Temporary(_) => continue,
                Role::Local(at) => format!("a block of it at byte {at} of each thread"),
                Role::Input(_) => "input".to_string(),
                Role::Constant(_) => "constant".to_string(),
                Role::Output => "result".to_string(),
                Role::View => "a part of another array".to_string(),
            };
            let _ = writeln!(out, "{name}: {ty}, {size}: {line}");
        }
        out
    }

    /// The largest array that a run makes, and the term of the program that it is computed for, where
    /// that is known.
    pub fn largest(&self) -> Option<(Type, Option<TermId>)> {
        let plan = self;
        let made = |b: &Buffer| matches!(b.role, Role::Temporary(_) | Role::Output);
        let numbered = plan.buffers.iter().enumerate().filter(|(_, b)| made(b));
        let (n, buffer) = numbered.max_by_key(|(n, b)| (b.bytes(), Reverse(*n)))?;
        let ty = Type::new(buffer.dtype, buffer.shape.clone());
        Some((ty, source(&plan.steps, BufferId(n as u32))))
    }
}

/// The term that a buffer is computed for.
fn source<C: Scheduled>(steps: &[Step<C>], b: BufferId) -> Option<TermId> {
    let collected = |l: &Loop<C>| {
        let copied = l.outputs.iter().map(|&(part, whole)| (whole, part));
        let mut collected = l.collected.iter().copied().chain(copied);
        let part = collected.find(|(whole, _)| *whole == b).map_or(b, |(_, part)| part);
        source(&l.steps, part)
    };
    steps.iter().find_map(|step| match step {
        Step::Compute(compute) => {
            let group = compute.group();
            let parts = group.partials.iter().find(|p| p.target == b).map(|p| p.parts);
            let of = |nest: &Nest| {
                let filled = |target: BufferId| target == b || Some(target) == parts;
                let also = nest.also.iter().find(|also| filled(also.target));
                also.map_or_else(|| nest.source.filter(|_| filled(nest.target)), |also| also.source)
            };
            group.members.iter().find_map(|member| match member {
                Member::Nest(kernel) => of((**kernel).as_ref()),
                Member::Wedged(wedged) => {
                    wedged.kernels.first().and_then(|kernel| of(kernel.as_ref()))
                }
                Member::Contraction(_) => None,
            })
        }
        Step::Loop(l) => collected(l),
        Step::While(w) => source(&w.before, b).or_else(|| collected(&w.body)),
        Step::If(branches) => source(&branches.then, b).or_else(|| source(&branches.otherwise, b)),
        // The room that sorting takes belongs to what is sorted.
        Step::ArgSort { from, room, .. } if *room == b => source(steps, *from),
        Step::Scalars(scalars) => C::packed(scalars).source(b),
        Step::Contract(_) | Step::Zero(_) | Step::Copy { .. } => None,
        Step::ArgSort { .. } | Step::SegmentArg(_) | Step::Routine(_) => None,
    })
}

/// A number of bytes for people.
fn bytes(n: usize) -> String {
    match n {
        0..10_000 => format!("{n} B"),
        10_000..10_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        _ => format!("{:.1} MB", n as f64 / 1e6),
    }
}

struct KernelText<'a, C: Scheduled> {
    plan: &'a Schedule<C>,
    program: &'a Program,
    out: String,
    numbers: usize,
    depth: usize,
}

impl<C: Scheduled> KernelText<'_, C> {
    fn line(&mut self, text: fmt::Arguments<'_>) {
        let _ = writeln!(self.out, "{:indent$}{text}", "", indent = 2 * self.depth);
    }

    fn name(&self, b: BufferId) -> String {
        match &self.plan.buffers[b.index()].role {
            Role::Input(k) => match self.program.inputs().get(*k) {
                Some(input) => input.name.to_string(),
                None => format!("input{k}"),
            },
            Role::Constant(_) => format!("c{}", b.0),
            Role::Temporary(_) => format!("t{}", b.0),
            Role::Local(_) => format!("b{}", b.0),
            Role::Output => match self.plan.outputs.iter().position(|&o| o == b) {
                Some(n) => format!("result{n}"),
                None => format!("t{}", b.0),
            },
            Role::View => format!("v{}", b.0),
        }
    }

    /// How much is copied or filled.
    fn elements(&self, b: BufferId) -> String {
        format!("{} elements", self.plan.buffers[b.index()].shape.numel())
    }

    fn steps(&mut self, steps: &[Step<C>]) {
        for step in steps {
            match step {
                Step::Compute(compute) => self.group(compute.group()),
                Step::Contract(contraction) => self.contraction(contraction, 1),
                Step::Scalars(scalars) => {
                    let (packed, mut stored) = (C::packed(scalars), Vec::new());
                    packed.for_each_written(&mut |b| stored.push(self.name(b)));
                    let (count, stored) = (packed.instrs().len(), stored.join(", "));
                    self.line(format_args!("{stored} = {count} operations on single elements"));
                }
                Step::Zero(b) => {
                    let (b, elements) = (self.name(*b), self.elements(*b));
                    self.line(format_args!("{b} = 0, {elements}"));
                }
                Step::Copy { from, to } => {
                    let elements = self.elements(*to);
                    let (from, to) = (self.name(*from), self.name(*to));
                    self.line(format_args!("{to} = a copy of {from}, {elements}"));
                }
                Step::ArgSort { from, to, .. } => {
                    let (from, to) = (self.name(*from), self.name(*to));
                    self.line(format_args!("{to} = argsort {from}"));
                }
                Step::SegmentArg(step) => {
                    let extreme = match step.extreme {
                        Extreme::Max => "segment_argmax",
                        Extreme::Min => "segment_argmin",
                    };
                    let keys = match step.keys {
                        Some(keys) => self.name(keys.buffer),
                        None => "iota".to_owned(),
                    };
                    let (ids, to) = (self.name(step.ids.buffer), self.name(step.to));
                    self.line(format_args!("{to} = {extreme} {keys} by {ids}"));
                }
                Step::Routine(step) => {
                    let to: Vec<String> = step.results.iter().map(|&b| self.name(b)).collect();
                    let of: Vec<String> =
                        step.operands.iter().map(|cells| self.name(cells.buffer)).collect();
                    let (to, of) = (to.join(", "), of.join(", "));
                    let (name, n) = (step.routine.name(), step.rows);
                    let times: usize = step.batch.iter().product();
                    self.line(format_args!("{to} = {name} {of}, {times} times of size {n}"));
                }
                Step::Loop(l) => {
                    let order = if l.reverse { " from the last to the first" } else { "" };
                    let rows = match C::loop_schedule(&l.schedule).stream {
                        Some(rows) => format!(", for {rows} rows at a time"),
                        None => String::new(),
                    };
                    self.line(format_args!("loop of {} steps{order}{rows}:", l.length));
                    self.repeated(l);
                }
                Step::While(w) => {
                    let condition = self.name(w.condition);
                    let most = match w.bound {
                        Some(bound) => format!(" at most {bound} times,"),
                        None => String::new(),
                    };
                    self.line(format_args!("while {condition},{most} which is:"));
                    self.indented(&w.before);
                    self.line(format_args!("do:"));
                    self.repeated(&w.body);
                }
                Step::If(branches) => {
                    let condition = self.name(branches.condition);
                    self.line(format_args!("if {condition}:"));
                    self.indented(&branches.then);
                    self.line(format_args!("else:"));
                    self.indented(&branches.otherwise);
                }
            }
        }
    }

    fn indented(&mut self, steps: &[Step<C>]) {
        self.depth += 1;
        self.steps(steps);
        self.depth -= 1;
    }

    fn repeated(&mut self, l: &Loop<C>) {
        self.depth += 1;
        for (&(init, state, _), &exchanged) in l.states.iter().zip(&l.exchanged) {
            let elements = self.elements(state);
            let same = init == state;
            let (init, state) = (self.name(init), self.name(state));
            match exchanged || same {
                true if same => self.line(format_args!("{state} goes on from where it is")),
                true => self.line(format_args!("{state} begins as {init}")),
                false => self.line(format_args!("{state} begins as a copy of {init}, {elements}")),
            }
        }
        for &(whole, part) in &l.inputs {
            let (whole, part) = (self.name(whole), self.name(part));
            self.line(format_args!("{part} = {whole}[step]"));
        }
        for &(whole, part) in &l.collected {
            let (whole, part) = (self.name(whole), self.name(part));
            self.line(format_args!("{part} lies at {whole}[step]"));
        }
        self.steps(&l.steps);
        for &(part, whole) in &l.outputs {
            let elements = self.elements(part);
            let (part, whole) = (self.name(part), self.name(whole));
            self.line(format_args!("{whole}[step] = a copy of {part}, {elements}"));
        }
        for (&(_, state, next), &exchanged) in l.states.iter().zip(&l.exchanged) {
            let elements = self.elements(state);
            let copied = !exchanged && state != next;
            let (state, next) = (self.name(state), self.name(next));
            match copied {
                true => self.line(format_args!("{state} = a copy of {next}, {elements}")),
                false => self.line(format_args!("{state} = {next}")),
            }
        }
        self.depth -= 1;
    }

    fn group(&mut self, group: &Group<C::Kernel>) {
        let several = group.members.len() > 1;
        if several {
            let (blocks, block) = (group.blocks(), group.block);
            self.line(format_args!("{blocks} blocks of {block} of {} rows:", group.extent));
            self.depth += 1;
        }
        for member in &group.members {
            match member {
                Member::Nest(kernel) => self.nest((**kernel).as_ref(), None),
                Member::Wedged(wedged) => {
                    // The first panel has everything.
                    if let Some(kernel) = wedged.kernels.first() {
                        self.nest(kernel.as_ref(), Some(wedged));
                    }
                }
                Member::Contraction(contraction) => self.contraction(contraction, group.blocks()),
            }
        }
        if several {
            self.depth -= 1;
        }
        if let Some(relaxed) = &group.relaxed {
            let arrays: Vec<String> = relaxed.moderate.iter().map(|&b| self.name(b)).collect();
            let arrays = arrays.join(", ");
            self.line(format_args!(
                "scale is mul where the elements of {arrays} are of moderate size"
            ));
        }
        for partial in &group.partials {
            let (parts, target) = (self.name(partial.parts), self.name(partial.target));
            let of = match partial.reduction {
                Reduction::Sum => "sum",
                Reduction::Largest => "largest",
                Reduction::Smallest => "smallest",
            };
            let all = self.plan.buffers[partial.target.index()].shape.numel();
            let part = if partial.spread.numel() < all { "a part of " } else { "" };
            self.line(format_args!("{part}{target} = {of} of the blocks of {parts}"));
        }
    }

    fn contraction(&mut self, contraction: &Contraction<C::Kernel>, blocks: usize) {
        self.numbers += 1;
        let number = self.numbers;
        let text = contraction.product.describe(&|b| self.name(b));
        let each = if blocks > 1 { " for each block" } else { "" };
        for (n, line) in text.lines().enumerate() {
            match n {
                0 => self.line(format_args!("kernel {number}: {line}{each}")),
                _ => self.line(format_args!("  {line}")),
            }
        }
    }

    fn nest(&mut self, nest: &Nest, wedged: Option<&Wedged<C::Kernel>>) {
        self.numbers += 1;
        let number = self.numbers;
        let positions = nest.extents.iter().fold(1usize, |n, &k| n.saturating_mul(k));
        let operations = nest
            .instrs
            .iter()
            .filter(|i| matches!(i, Instr::Op(..) | Instr::MulAdd { .. }))
            .count();
        let mut seen: Vec<BufferId> = Vec::new();
        nest.for_each_buffer(&mut |b| {
            if !seen.contains(&b) {
                seen.push(b);
            }
        });
        let touched: usize = seen.iter().map(|b| self.plan.buffers[b.index()].bytes()).sum();
        let span = nest.source.map(|t| self.program.span(t));
        let place = span.and_then(|span| self.program.sources().position(span));
        let place = place.map_or(String::new(), |p| format!(", line {}", p.line));
        let operations = operations.saturating_mul(positions);
        let touched = bytes(touched);
        self.line(format_args!("kernel {number}: {operations} operations, {touched}{place}"));
        self.depth += 1;
        let parallel = nest.extents.len() - nest.reduced;
        for (dim, extent) in nest.extents.iter().enumerate() {
            let how = match &nest.write {
                _ if dim < parallel => "for",
                Write::Best { .. } | Write::Extreme { .. } => "over",
                _ => "sum over",
            };
            let part = wedged.filter(|w| w.wedge.dim == dim).map(|wedged| wedged.describe());
            self.line(format_args!("{how} i{dim} < {extent}{}", part.unwrap_or_default()));
        }
        for (n, instr) in nest.instrs.iter().enumerate() {
            if let Some(text) = self.instruction(nest, n, instr) {
                self.line(format_args!("%{n} = {text}"));
            }
        }
        for also in &nest.also {
            let (value, target) = (operand(nest, also.value.index()), self.name(also.target));
            self.line(format_args!("{target}[{}] = {value}", affine(&also.at)));
        }
        let (value, target) = (operand(nest, nest.value.index()), self.name(nest.target));
        let text = match &nest.write {
            Write::Store(at) => format!("{target}[{}] = {value}", affine(at)),
            Write::Sum(at) => format!("{target}[{}] = sum {value}", affine(at)),
            Write::Best { at, largest } => {
                let which = if *largest { "largest" } else { "smallest" };
                format!("{target}[{}] = {which} {value}", affine(at))
            }
            Write::Extreme { at, largest } => {
                let which = if *largest { "largest" } else { "smallest" };
                format!("{target}[{}] = position of the {which} {value}", affine(at))
            }
            Write::Add { at, checks } => {
                format!("{target}[{}] += {value}{}", affine(at), conditions(checks))
            }
            Write::AddAt(index) => format!("{target}[{}] += {value}", components(nest, index)),
            Write::StoreAt(index) => format!("{target}[{}] = {value}", components(nest, index)),
        };
        self.line(format_args!("{text}"));
        self.depth -= 1;
    }

    /// What an instruction computes; `None` for what is written where it is used.
    fn instruction(&self, nest: &Nest, n: usize, instr: &Instr) -> Option<String> {
        Some(match instr {
            Instr::Const(_) | Instr::Affine(_) => return None,
            Instr::Load { buffer, at, checks } => {
                format!("{}[{}]{}", self.name(*buffer), affine(at), conditions(checks))
            }
            Instr::LoadAt { buffer, index } => {
                format!("{}[{}]", self.name(*buffer), components(nest, index))
            }
            Instr::Op(op, args) => {
                let args: Vec<String> = args.iter().map(|v| operand(nest, v.index())).collect();
                format!("{op}({})", args.join(", "))
            }
            Instr::MulAdd { args, minus_product, minus_addend } => {
                let [a, b, c] = args.map(|v| operand(nest, v.index()));
                let sign = |minus: bool| if minus { "-" } else { "" };
                format!("fma({}{a}, {b}, {}{c})", sign(*minus_product), sign(*minus_addend))
            }
        })
        .filter(|_| n < nest.instrs.len())
    }
}

/// A value as an operand: constants and indices as they are.
fn operand(nest: &Nest, n: usize) -> String {
    match (&nest.instrs[n], nest.dtypes[n]) {
        (Instr::Const(bits), Dtype::F64) => format!("{:?}", f64::from_bits(*bits)),
        (Instr::Const(bits), Dtype::F32) => format!("{:?}", f32::from_bits(*bits as u32)),
        (Instr::Const(bits), Dtype::Bool) => format!("{}", *bits != 0),
        (Instr::Const(bits), Dtype::I64) => format!("{}", *bits as i64),
        (Instr::Affine(at), _) => affine(at),
        _ => format!("%{n}"),
    }
}

fn affine(at: &Affine) -> String {
    let mut text = String::new();
    for (dim, &c) in at.coeffs.iter().enumerate() {
        let sign = match (text.is_empty(), c < 0) {
            _ if c == 0 => continue,
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        let _ = match c.unsigned_abs() {
            1 => write!(text, "{sign}i{dim}"),
            c => write!(text, "{sign}{c} i{dim}"),
        };
    }
    let _ = match at.constant {
        c if text.is_empty() => write!(text, "{c}"),
        0 => Ok(()),
        c if c < 0 => write!(text, " - {}", c.unsigned_abs()),
        c => write!(text, " + {c}"),
    };
    text
}

fn conditions(checks: &[(Affine, i64)]) -> String {
    let checks: Vec<String> =
        checks.iter().map(|(at, size)| format!("0 <= {} < {size}", affine(at))).collect();
    if checks.is_empty() { String::new() } else { format!(" if {}", checks.join(" and ")) }
}

fn components(nest: &Nest, index: &[Component]) -> String {
    let index: Vec<String> = index.iter().map(|c| operand(nest, c.value.index())).collect();
    index.join(", ")
}
