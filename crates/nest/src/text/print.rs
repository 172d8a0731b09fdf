//! Writing plans.

use std::fmt::{self, Write as _};

use cotan_array::{Array, Dtype, Element};
use cotan_ir::{Extreme, TermId};

use super::literal::number;
use crate::draft::Draft;
use crate::nest::{BufferId, Nest};
use crate::packed::Packed;
use crate::plan::{Buffer, Compute, Loop, Plan, Role, Step};
use crate::routine::Cells;
use crate::segment::Strided;

/// How what computes is written, for the printer of the steps around it.
pub trait Show<C: Compute> {
    /// Writes what computes elements.
    fn compute(compute: &C, printer: &mut Printer<'_>);

    /// Writes a contraction.
    fn contract(contract: &C::Contract, printer: &mut Printer<'_>);

    /// Writes operations on single elements.
    fn scalars(scalars: &C::Scalars, printer: &mut Printer<'_>);

    /// What is said of a loop behind its length.
    fn loop_note(schedule: &C::LoopSchedule) -> String;
}

/// Writes steps, line by line, each block deeper than its head.
pub struct Printer<'a> {
    buffers: &'a [Buffer],
    names: &'a dyn Fn(BufferId) -> String,
    terms: &'a dyn Fn(TermId) -> String,
    /// Whether it is said how much is copied.
    sizes: bool,
    out: String,
    depth: usize,
    /// How many kernels have been numbered.
    kernels: usize,
}

impl<'a> Printer<'a> {
    /// Nothing so far, about some buffers with some names.
    pub fn new(buffers: &'a [Buffer], names: &'a dyn Fn(BufferId) -> String) -> Printer<'a> {
        let terms = &|_| String::new();
        Printer { buffers, names, terms, sizes: false, out: String::new(), depth: 0, kernels: 0 }
    }

    /// For people only: with something to say of the terms that nests come from, and with how much
    /// is copied.
    pub fn with_notes(self, terms: &'a dyn Fn(TermId) -> String) -> Printer<'a> {
        Printer { terms, sizes: true, ..self }
    }

    /// How many elements a buffer has, if that is to be said.
    fn size(&self, b: BufferId) -> String {
        match self.buffer(b).filter(|_| self.sizes) {
            Some(buffer) => format!(", {} elements", buffer.shape.numel()),
            None => String::new(),
        }
    }

    /// What there is to say of a term.
    pub fn term(&self, t: TermId) -> String {
        (self.terms)(t)
    }

    /// The number of the next kernel, from 1.
    pub fn number(&mut self) -> usize {
        self.kernels += 1;
        self.kernels
    }

    /// What has been written.
    pub fn finish(self) -> String {
        self.out
    }

    /// The name of a buffer.
    pub fn name(&self, b: BufferId) -> String {
        (self.names)(b)
    }

    /// A buffer, if it is there.
    pub fn buffer(&self, b: BufferId) -> Option<&'a Buffer> {
        self.buffers.get(b.index())
    }

    /// One line.
    pub fn line(&mut self, text: fmt::Arguments<'_>) {
        let _ = writeln!(self.out, "{:indent$}{text}", "", indent = 2 * self.depth);
    }

    /// What `f` writes, deeper.
    pub fn deeper(&mut self, f: impl FnOnce(&mut Self)) {
        self.depth += 1;
        f(self);
        self.depth -= 1;
    }

    /// All of some steps.
    pub fn steps<C: Compute, S: Show<C>>(&mut self, steps: &[Step<C>]) {
        for step in steps {
            match step {
                Step::Compute(compute) => S::compute(compute, self),
                Step::Scalars(scalars) => S::scalars(scalars, self),
                Step::Contract(contract) => S::contract(contract, self),
                Step::Zero(b) => {
                    let (to, size) = (self.name(*b), self.size(*b));
                    self.line(format_args!("{to} = 0{size}"));
                }
                Step::Copy { from, to } => {
                    let size = self.size(*to);
                    let [from, to] = [from, to].map(|b| self.name(*b));
                    self.line(format_args!("{to} = copy {from}{size}"));
                }
                Step::ArgSort { from, to, room } => {
                    let [from, to, room] = [from, to, room].map(|b| self.name(*b));
                    self.line(format_args!("{to} = argsort {from} using {room}"));
                }
                Step::SegmentArg(step) => {
                    let which = match step.extreme {
                        Extreme::Max => "segment_argmax",
                        Extreme::Min => "segment_argmin",
                    };
                    let array = |a: &Strided| {
                        format!("{}[{} row + {} column]", self.name(a.buffer), a.row, a.column)
                    };
                    let keys = step.keys.as_ref().map_or("row".to_owned(), array);
                    let (to, ids) = (self.name(step.to), array(&step.ids));
                    let (rows, columns, segments) = (step.rows, step.columns, step.segments);
                    self.line(format_args!(
                        "{to} = {which} {keys} of {} by {ids} for row < {rows}, column < {columns}, \
                         segment < {segments}",
                        step.dtype
                    ));
                }
                Step::Routine(step) => {
                    let to: Vec<String> = step.results.iter().map(|b| self.name(*b)).collect();
                    let cells = |c: &Cells| {
                        format!(
                            "{}[{} row + {} column + {:?}]",
                            self.name(c.buffer),
                            c.row,
                            c.column,
                            c.batch
                        )
                    };
                    let of: Vec<String> = step.operands.iter().map(cells).collect();
                    self.line(format_args!(
                        "routine {} of {} ({}) to ({}) for {:?}, {} rows, {} columns using {} of {}",
                        step.routine.name(),
                        step.dtype,
                        of.join(", "),
                        to.join(", "),
                        step.batch,
                        step.rows,
                        step.columns,
                        self.name(step.room),
                        step.needed
                    ));
                }
                Step::Loop(l) => {
                    let order = if l.reverse { ", last to first" } else { "" };
                    let note = S::loop_note(&l.schedule);
                    self.line(format_args!("loop of {} steps{order}{note}", l.length));
                    self.deeper(|p| p.body::<C, S>(l));
                }
                Step::While(w) => {
                    let most = w.bound.map_or(String::new(), |n| format!(", at most {n} times"));
                    self.line(format_args!("while {}{most}", self.name(w.condition)));
                    self.deeper(|p| {
                        p.line(format_args!("test"));
                        p.deeper(|p| p.steps::<C, S>(&w.before));
                        p.body::<C, S>(&w.body);
                    });
                }
                Step::If(branches) => {
                    self.line(format_args!("if {}", self.name(branches.condition)));
                    self.deeper(|p| p.steps::<C, S>(&branches.then));
                    self.line(format_args!("else"));
                    self.deeper(|p| p.steps::<C, S>(&branches.otherwise));
                }
            }
        }
    }

    /// The states of a loop, the arrays that it steps through, and its steps.
    fn body<C: Compute, S: Show<C>>(&mut self, l: &Loop<C>) {
        for (n, &(init, state, next)) in l.states.iter().enumerate() {
            let exchanged = l.exchanged.get(n) == Some(&true);
            let how = if exchanged { ", exchanged" } else { "" };
            let mut note = String::new();
            if self.sizes && !exchanged && init != state {
                note = format!("{} copied at first", self.size(state));
            }
            if self.sizes && !exchanged && state != next {
                note += &format!("{} copied in each step", self.size(state));
            }
            let [init, state, next] = [init, state, next].map(|b| self.name(b));
            self.line(format_args!("state {state} = {init} then {next}{how}{note}"));
        }
        for &(whole, part) in &l.inputs {
            self.line(format_args!("part {} = {}[step]", self.name(part), self.name(whole)));
        }
        for &(whole, part) in &l.collected {
            self.line(format_args!("collect {} = {}[step]", self.name(part), self.name(whole)));
        }
        for &(part, whole) in &l.outputs {
            let size = self.size(part);
            let (whole, part) = (self.name(whole), self.name(part));
            self.line(format_args!("store {whole}[step] = {part}{size}"));
        }
        self.line(format_args!("do"));
        self.deeper(|p| p.steps::<C, S>(&l.steps));
    }
}

/// Writes nests in full.
struct Nests;

impl Show<Nest> for Nests {
    fn compute(nest: &Nest, printer: &mut Printer<'_>) {
        printer.line(format_args!("nest"));
        printer.deeper(|p| p.nest(nest, |_| String::new()));
    }

    fn contract(draft: &Draft, printer: &mut Printer<'_>) {
        let finite = match draft.finite {
            [false, false] => "",
            [true, false] => ", left finite",
            [false, true] => ", right finite",
            [true, true] => ", both finite",
        };
        let factor = number(draft.factor.to_bits(), Dtype::F64);
        printer.line(format_args!("contract times {factor}{finite}"));
        let after = draft.after.as_ref().map(|after| ("after", after));
        let parts = [("core", &draft.core), ("whole", &draft.whole)].into_iter().chain(after);
        printer.deeper(|p| {
            for (name, nest) in parts {
                p.line(format_args!("{name}"));
                p.deeper(|p| p.nest(nest, |_| String::new()));
            }
        });
    }

    fn scalars(packed: &Packed, printer: &mut Printer<'_>) {
        printer.line(format_args!("scalars"));
        if let Some(nest) = packed.unpack() {
            printer.deeper(|p| p.nest(&nest, |_| String::new()));
        }
    }

    fn loop_note((): &()) -> String {
        String::new()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |b: BufferId| {
            let role = match self.buffers.get(b.index()).map(|buffer| &buffer.role) {
                Some(Role::Input(_)) => 'x',
                Some(Role::Constant(_)) => 'c',
                Some(Role::Temporary(_)) => 't',
                Some(Role::Local(_)) => 'l',
                Some(Role::Output) => 'y',
                Some(Role::View) => 'v',
                None => '?',
            };
            format!("{role}{}", b.0)
        };
        for (n, buffer) in self.buffers.iter().enumerate() {
            let ty = format!("{}{}", buffer.dtype, buffer.shape);
            write!(f, "{}: ", names(BufferId(n as u32)))?;
            match &buffer.role {
                Role::Input(k) => write!(f, "input {k} {ty}")?,
                Role::Constant(array) => write!(f, "constant {ty} = {}", elements(array))?,
                Role::Temporary(offset) => write!(f, "temporary {ty} at {offset}")?,
                Role::Local(offset) => write!(f, "local {ty} at {offset}")?,
                Role::Output => write!(f, "output {ty}")?,
                Role::View => write!(f, "view {ty}")?,
            }
            writeln!(f)?;
        }
        let mut printer = Printer::new(&self.buffers, &names);
        printer.steps::<Nest, Nests>(&self.steps);
        f.write_str(&printer.finish())?;
        let outputs: Vec<String> = self.outputs.iter().map(|&b| names(b)).collect();
        writeln!(f, "return {}", outputs.join(", "))
    }
}

/// The elements of a constant, one after the other.
fn elements(array: &Array) -> String {
    fn all<T: Element>(array: &Array, text: impl Fn(T) -> String) -> String {
        let elements = array.iter::<T>().into_iter().flatten();
        elements.map(text).collect::<Vec<_>>().join(", ")
    }
    match array.dtype() {
        Dtype::F64 => all(array, |x: f64| number(x.to_bits(), Dtype::F64)),
        Dtype::F32 => all(array, |x: f32| number(u64::from(x.to_bits()), Dtype::F32)),
        Dtype::I64 => all(array, |x: i64| x.to_string()),
        Dtype::Bool => all(array, |x: bool| x.to_string()),
    }
}
