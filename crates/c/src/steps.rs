//! The steps of a plan: functions for nests, and the calls of these.

use std::fmt::Write as _;

use cotan_array::{Dtype, Shape};
use cotan_ir::{Extreme, Program, TermId};
use cotan_nest::{
    Buffer, BufferId, Draft, Instr, Loop, Nest, Plan, Role, SegmentStep, Step, Touches, WhileStep,
};
use rustc_hash::FxHashMap;

use crate::contract::{Tiles, write_sums};
use crate::layout::Layout;
use crate::literal::{suffix, type_of};
use crate::names::identifier;
use crate::nest::write_nest;
use crate::scalar::Library;
use crate::writer::Writer;

/// A function of C in the making, with those that it calls.
pub(crate) struct Emitter<'a> {
    /// The name of the function.
    pub(crate) name: &'a str,
    pub(crate) program: &'a Program,
    pub(crate) plan: &'a Plan,
    pub(crate) layout: &'a Layout,
    pub(crate) in_order: bool,
    pub(crate) library: &'a mut Library,
    /// The names of the parameters for inputs and results.
    pub(crate) inputs: &'a [String],
    pub(crate) outputs: &'a [String],
    /// Static functions, before the function itself.
    pub(crate) functions: Writer,
    /// Buffers that a loop points to somewhere: their names.
    pub(crate) pointers: FxHashMap<BufferId, String>,
    /// How many names were made.
    pub(crate) count: usize,
}

impl Emitter<'_> {
    fn buffer(&self, b: BufferId) -> &Buffer {
        &self.plan.buffers[b.index()]
    }

    fn numel(&self, b: BufferId) -> usize {
        self.buffer(b).shape.numel()
    }

    fn ty(&self, b: BufferId) -> &'static str {
        type_of(self.buffer(b).dtype)
    }

    /// Where a buffer is, as an expression.
    fn place(&self, b: BufferId) -> String {
        if let Some(name) = self.pointers.get(&b) {
            return name.clone();
        }
        let buffer = self.buffer(b);
        match &buffer.role {
            Role::Input(k) if self.program.inputs()[*k].ty.shape.rank() == 0 => {
                format!("&{}", self.inputs[*k])
            }
            Role::Input(k) => self.inputs[*k].clone(),
            Role::Constant(_) => constant_name(self.name, b),
            Role::Temporary(_) | Role::Local(_) => self.layout.place(b.index(), buffer.dtype),
            Role::Output => {
                let at = self.plan.outputs.iter().position(|&o| o == b);
                at.map_or("NULL".into(), |at| self.outputs[at].clone())
            }
            // A loop around has given it a name.
            Role::View => "NULL".into(),
        }
    }

    /// What a buffer is called inside of a function of a step.
    fn parameter(&self, b: BufferId) -> String {
        match &self.buffer(b).role {
            Role::Input(k) => self.inputs[*k].clone(),
            Role::Constant(_) => format!("c{}", b.0),
            Role::Output => {
                let at = self.plan.outputs.iter().position(|&o| o == b);
                at.map_or(format!("t{}", b.0), |at| self.outputs[at].clone())
            }
            Role::Temporary(_) | Role::Local(_) => format!("t{}", b.0),
            Role::View => format!("p{}", b.0),
        }
    }

    /// What a term is in the program, for a comment.
    fn place_in_source(&self, t: Option<TermId>) -> Option<String> {
        let span = self.program.span(t?);
        let sources = self.program.sources();
        let position = sources.position(span)?;
        let (name, text) = (sources.name(span.file), sources.slice(span));
        let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
        Some(format!("{file}:{}:{}: {text}", position.line, position.column))
    }

    fn fresh(&mut self) -> String {
        self.count += 1;
        format!("{}_step{}", self.name, self.count)
    }

    pub(crate) fn steps(&mut self, steps: &[Step<Nest>], w: &mut Writer) {
        steps.iter().for_each(|step| self.step(step, w));
    }

    fn step(&mut self, step: &Step<Nest>, w: &mut Writer) {
        match step {
            Step::Compute(nest) => self.nest(nest, w),
            Step::Scalars(packed) => {
                if let Some(nest) = packed.unpack() {
                    self.nest(&nest, w);
                }
            }
            Step::Contract(draft) => self.contract(draft, w),
            Step::Zero(b) => {
                let (numel, place) = (self.numel(*b), self.place(*b));
                let zero = crate::literal::of_bits(0, self.buffer(*b).dtype);
                if numel > 0 {
                    w.open(format_args!("for (ptrdiff_t n = 0; n < {numel}; ++n)"));
                    w.line(format_args!("({place})[n] = {zero};"));
                    w.depart();
                }
            }
            Step::Copy { from, to } => {
                let numel = self.numel(*from).min(self.numel(*to));
                let (from, to) = (self.place(*from), self.place(*to));
                copy(&from, &to, numel, w);
            }
            Step::ArgSort { from, to, room } => self.arg_sort(*from, *to, *room, w),
            Step::SegmentArg(step) => self.segments(step, w),
            // `plan` refuses programs with routines.
            Step::Routine(step) => w.line(format_args!("#error {}", step.routine.name())),
            Step::Loop(l) => self.repeat(l, w),
            Step::While(turns) => self.repeat_while(turns, w),
            Step::If(branches) => {
                let condition = self.place(branches.condition);
                w.open(format_args!("if (*({condition})) {{"));
                self.steps(&branches.then, w);
                if !branches.otherwise.is_empty() {
                    w.turn("} else {");
                    self.steps(&branches.otherwise, w);
                }
                w.close("}");
            }
        }
    }

    /// A function of the loops of a nest, and the call of it.
    fn nest(&mut self, nest: &Nest, w: &mut Writer) {
        let nest = nest.clone().without_dead();
        let source = self.place_in_source(nest.source);
        let mut body = Writer::default().nested(1);
        let names = self.names_of(&nest);
        let name = |b: BufferId| names.get(&b).cloned().unwrap_or_default();
        write_nest(&nest, self.in_order, self.library, &name, &mut body);
        self.call(&nest, &body, source, None, w);
    }

    /// What the buffers of a step are called inside of its function.
    fn names_of(&self, step: &dyn Touches) -> FxHashMap<BufferId, String> {
        let mut names = FxHashMap::default();
        step.for_each_buffer(&mut |b| {
            names.entry(b).or_insert_with(|| self.parameter(b));
        });
        names
    }

    /// Puts a body into a function of the buffers of a nest, and calls it.
    fn call(
        &mut self,
        nest: &Nest,
        body: &Writer,
        source: Option<String>,
        room: Option<Dtype>,
        w: &mut Writer,
    ) {
        if body.is_empty() {
            return;
        }
        let written = |b: BufferId| b == nest.target || nest.also.iter().any(|a| a.target == b);
        let mut list: Vec<BufferId> = Vec::new();
        nest.for_each_buffer(&mut |b| list.push(b));
        // What is read first, then what is written, each by its number.
        list.sort_unstable_by_key(|&b| (written(b), b));
        list.dedup();
        list.retain(|&b| body.mentions(&self.parameter(b)));
        let (mut parameters, mut arguments) = (String::new(), String::new());
        for &b in &list {
            let constant = if written(b) { "" } else { "const " };
            let comma = if parameters.is_empty() { "" } else { ", " };
            let (ty, name) = (self.ty(b), self.parameter(b));
            let _ = write!(parameters, "{comma}{constant}{ty} *restrict {name}");
            let _ = write!(arguments, "{comma}{}", self.place(b));
        }
        if let Some(dtype) = room {
            let _ = write!(parameters, ", {} *restrict pack", type_of(dtype));
            let _ = write!(arguments, ", work->pack_{}", suffix(dtype));
        }
        let name = self.fresh();
        if let Some(source) = source {
            self.functions.comment(&source);
        }
        self.functions.line(format_args!("static void {name}({parameters})"));
        self.functions.line("{");
        self.functions.append(body);
        self.functions.line("}");
        self.functions.line("");
        w.line(format_args!("{name}({arguments});"));
    }

    /// A sum of products; where an operand has to be finite and is not, the nest it stands for.
    fn contract(&mut self, draft: &Draft, w: &mut Writer) {
        let source = self.place_in_source(draft.core.source);
        let finite: Vec<BufferId> = finite_operands(draft);
        if !finite.is_empty() {
            let tests: Vec<String> = finite.iter().map(|&b| self.is_finite(b)).collect();
            w.open(format_args!("if ({}) {{", tests.join(" && ")));
        }
        let (core, _) = draft.core.clone().collapse(None);
        let mut body = Writer::default().nested(1);
        let names = self.names_of(&draft.core);
        let name = |b: BufferId| names.get(&b).cloned().unwrap_or_default();
        let tiles = Tiles::of(draft, &core);
        match &tiles {
            Some(tiles) => tiles.write(self.library, &name, &mut body),
            None => write_sums(draft, self.library, &name, &mut body),
        }
        let room = tiles.map(|tiles| tiles.dtype());
        self.call(&draft.core, &body, source, room, w);
        if let Some(after) = &draft.after {
            self.nest(after, w);
        }
        if !finite.is_empty() {
            w.turn("} else {");
            self.nest(&draft.whole, w);
            w.close("}");
        }
    }

    /// The call that says whether all elements of a buffer are finite.
    fn is_finite(&mut self, b: BufferId) -> String {
        let (dtype, numel, place) = (self.buffer(b).dtype, self.numel(b), self.place(b));
        self.library.need(if dtype == Dtype::F32 { "finite_f32" } else { "finite_f64" });
        format!("cotan_finite_{}({place}, {numel})", suffix(dtype))
    }

    fn arg_sort(&mut self, from: BufferId, to: BufferId, room: BufferId, w: &mut Writer) {
        let buffer = self.buffer(from);
        let (dtype, (outer, inner)) = (buffer.dtype, split(&buffer.shape));
        if outer == 0 || inner == 0 {
            return;
        }
        let (ty, kind) = (type_of(dtype), suffix(dtype));
        self.library.need("sort");
        self.library.need(match dtype {
            Dtype::F64 => "key_f64",
            Dtype::F32 => "key_f32",
            Dtype::I64 => "key_i64",
            Dtype::Bool => "key_bool",
        });
        let [from, to, room] = [from, to, room].map(|b| self.place(b));
        w.open("{");
        w.line(format_args!("const {ty} *const from = {from};"));
        w.line(format_args!("int64_t *const to = {to}, *const room = {room};"));
        w.line(format_args!("uint64_t *const keys = (uint64_t *)(room + {outer});"));
        w.open(format_args!("for (ptrdiff_t column = 0; column < {inner}; ++column) {{"));
        w.open(format_args!("for (ptrdiff_t row = 0; row < {outer}; ++row)"));
        w.line(format_args!("keys[row] = cotan_key_{kind}(from[row * {inner} + column]);"));
        w.depart();
        if inner == 1 {
            w.line(format_args!("cotan_sort(keys, to, room, {outer});"));
        } else {
            w.line(format_args!("int64_t *const sorted = room + {};", 3 * outer));
            w.line(format_args!("cotan_sort(keys, sorted, room, {outer});"));
            w.open(format_args!("for (ptrdiff_t row = 0; row < {outer}; ++row)"));
            w.line(format_args!("to[row * {inner} + column] = sorted[row];"));
            w.depart();
        }
        w.close("}");
        w.close("}");
    }

    fn segments(&mut self, step: &SegmentStep, w: &mut Writer) {
        let SegmentStep { rows, columns, segments, ids, .. } = step;
        let places = segments * columns;
        if places == 0 {
            return;
        }
        w.open("{");
        w.line(format_args!("const int64_t *const ids = {};", self.place(ids.buffer)));
        w.line(format_args!("int64_t *const best = {};", self.place(step.to)));
        if let Some(keys) = step.keys {
            let ty = type_of(step.dtype);
            w.line(format_args!("const {ty} *const keys = {};", self.place(keys.buffer)));
        }
        w.open(format_args!("for (ptrdiff_t n = 0; n < {places}; ++n)"));
        w.line(format_args!("best[n] = {rows};"));
        w.depart();
        w.open(format_args!("for (ptrdiff_t row = 0; row < {rows}; ++row)"));
        w.open(format_args!("for (ptrdiff_t column = 0; column < {columns}; ++column) {{"));
        w.line(format_args!(
            "const int64_t id = ids[{} * row + {} * column];",
            ids.row, ids.column
        ));
        w.open(format_args!("if ((uint64_t)id >= {segments}u)"));
        w.line("continue;");
        w.depart();
        w.line(format_args!("int64_t *const place = best + id * {columns} + column;"));
        let largest = step.extreme == Extreme::Max;
        match step.keys {
            None if largest => w.line("*place = row;"),
            None => {
                w.open(format_args!("if (*place == {rows})"));
                w.line("*place = row;");
                w.depart();
            }
            Some(keys) => {
                w.open(format_args!("if (*place == {rows}) {{"));
                w.line("*place = row;");
                w.line("continue;");
                w.close("}");
                let ty = type_of(step.dtype);
                let (r, c) = (keys.row, keys.column);
                w.line(format_args!("const {ty} key = keys[{r} * row + {c} * column];"));
                w.line(format_args!("const {ty} champion = keys[{r} * *place + {c} * column];"));
                let better = if largest { ">" } else { "<" };
                let wins = match step.dtype.is_float() {
                    true => {
                        format!("key {better} champion || (key != key && champion == champion)")
                    }
                    false => format!("key {better} champion"),
                };
                w.open(format_args!("if ({wins})"));
                w.line("*place = row;");
                w.depart();
            }
        }
        w.close("}");
        w.depart();
        w.close("}");
    }

    /// Declares a pointer, and lets it stand for a buffer until the loop ends.
    fn point(&mut self, b: BufferId, kind: &str) -> String {
        self.count += 1;
        let name = format!("{kind}{}", self.count);
        self.pointers.insert(b, name.clone());
        name
    }

    fn repeat(&mut self, l: &Loop<Nest>, w: &mut Writer) {
        w.open("{");
        let before = self.pointers.clone();
        let states = self.begin(l, w);
        let (t, length) = (self.counter(), l.length);
        let at = if l.reverse { self.counter() } else { t.clone() };
        let mut body = w.nested(1);
        self.turn(l, &at, &states, &mut body);
        w.open(format_args!("for (ptrdiff_t {t} = 0; {t} < {length}; ++{t}) {{"));
        if l.reverse && body.mentions(&at) {
            let last = length.saturating_sub(1);
            w.line(format_args!("const ptrdiff_t {at} = {last} - {t};"));
        }
        w.append(&body);
        w.close("}");
        self.end(&states, before, w);
        w.close("}");
    }

    fn repeat_while(&mut self, turns: &WhileStep<Nest>, w: &mut Writer) {
        w.open("{");
        let before = self.pointers.clone();
        let states = self.begin(&turns.body, w);
        let t = self.counter();
        let mut body = w.nested(1);
        self.steps(&turns.before, &mut body);
        let condition = self.place(turns.condition);
        body.open(format_args!("if (!*({condition}))"));
        body.line("break;");
        body.depart();
        self.turn(&turns.body, &t, &states, &mut body);
        match turns.bound {
            Some(bound) => {
                w.open(format_args!("for (ptrdiff_t {t} = 0; {t} < {bound}; ++{t}) {{"));
            }
            None if body.mentions(&t) => w.open(format_args!("for (ptrdiff_t {t} = 0;; ++{t}) {{")),
            None => w.open("for (;;) {"),
        }
        w.append(&body);
        w.close("}");
        self.end(&states, before, w);
        w.close("}");
    }

    /// The name of a number of turns.
    fn counter(&mut self) -> String {
        self.count += 1;
        format!("n{}", self.count)
    }

    /// Begins the states of a loop. One that exchanges its memory with the next is read where it
    /// begins, and goes to the place from which the last step brings it to its own.
    fn begin(&mut self, l: &Loop<Nest>, w: &mut Writer) -> Vec<State> {
        for (&(init, state, _), _) in l.states.iter().zip(&l.exchanged).filter(|(_, e)| !**e) {
            if init != state {
                let (from, to, numel) = (self.place(init), self.place(state), self.numel(state));
                copy(&from, &to, numel, w);
            }
        }
        let mut states = Vec::new();
        for (&(init, state, next), _) in l.states.iter().zip(&l.exchanged).filter(|(_, e)| **e) {
            let (from, own) = (self.place(init), self.place(state));
            let collected = l.collected.iter().any(|&(_, part)| part == next);
            let other = if collected { own.clone() } else { self.place(next) };
            let ty = self.ty(state);
            let now = self.point(state, "s");
            w.line(format_args!("const {ty} *{now} = {from};"));
            let then = match collected {
                // Each step points it to the part that it fills.
                true => None,
                false => {
                    let then = self.point(next, "s");
                    let first = if l.length % 2 == 1 { &own } else { &other };
                    w.line(format_args!("{ty} *{then} = {first};"));
                    Some(then)
                }
            };
            states.push(State { state, next, own, other, now, then });
        }
        states
    }

    /// One step: the parts that it reads and writes, what is computed, and the next states.
    fn turn(&mut self, l: &Loop<Nest>, at: &str, states: &[State], w: &mut Writer) {
        let mut parts = Vec::new();
        for (list, constant) in [(&l.inputs, "const "), (&l.collected, "")] {
            for &(whole, part) in list {
                let (numel, ty, from) = (self.numel(part), self.ty(part), self.place(whole));
                let name = self.point(part, "p");
                let line = format!("{constant}{ty} *const {name} = {from} + {numel} * {at};");
                parts.push((name, line));
            }
        }
        let mut body = w.nested(0);
        self.turned(l, at, states, &mut body);
        for (_, line) in parts.iter().filter(|(name, _)| body.mentions(name)) {
            w.line(line);
        }
        w.append(&body);
    }

    /// What a step computes, and the next states.
    fn turned(&mut self, l: &Loop<Nest>, at: &str, states: &[State], w: &mut Writer) {
        self.steps(&l.steps, w);
        for &(part, whole) in &l.outputs {
            let (numel, from, to) = (self.numel(part), self.place(part), self.place(whole));
            copy(&from, &format!("{to} + {numel} * {at}"), numel, w);
        }
        for state in states {
            let State { own, other, now, .. } = state;
            match &state.then {
                None => w.line(format_args!("{now} = {};", self.place(state.next))),
                Some(then) => {
                    w.line(format_args!("{now} = {then};"));
                    w.line(format_args!("{then} = {then} == {own} ? {other} : {own};"));
                }
            }
        }
        let moved = l.states.iter().zip(&l.exchanged).filter(|(_, exchanged)| !**exchanged);
        for (&(_, state, next), _) in moved.filter(|((_, state, next), _)| state != next) {
            let (from, to) = (self.place(next), self.place(state));
            copy(&from, &to, self.numel(next).min(self.numel(state)), w);
        }
    }

    /// Brings states that have exchanged memory with the next ones back to their own.
    fn end(&mut self, states: &[State], before: FxHashMap<BufferId, String>, w: &mut Writer) {
        self.pointers = before;
        for State { state, own, now, .. } in states {
            let numel = self.numel(*state);
            w.open(format_args!("if ({now} != {own})"));
            w.open(format_args!("for (ptrdiff_t n = 0; n < {numel}; ++n)"));
            w.line(format_args!("({own})[n] = {now}[n];"));
            w.depart();
            w.depart();
        }
    }
}

/// A state that exchanges its memory with the next.
struct State {
    state: BufferId,
    next: BufferId,
    /// The places of both.
    own: String,
    other: String,
    /// The pointers to both.
    now: String,
    then: Option<String>,
}

/// What a constant of a function is called.
pub(crate) fn constant_name(function: &str, b: BufferId) -> String {
    format!("{}_c{}", identifier(function), b.0)
}

fn copy(from: &str, to: &str, numel: usize, w: &mut Writer) {
    if numel == 0 || from == to {
        return;
    }
    if numel == 1 {
        w.line(format_args!("*({to}) = *({from});"));
        return;
    }
    w.open(format_args!("for (ptrdiff_t n = 0; n < {numel}; ++n)"));
    w.line(format_args!("({to})[n] = ({from})[n];"));
    w.depart();
}

/// The size of the outermost axis, and that of what is left.
fn split(shape: &Shape) -> (usize, usize) {
    let outer = shape.dims().first().copied().unwrap_or(0);
    (outer, shape.dims().iter().skip(1).product())
}

/// The operands of a sum of products that must be finite.
fn finite_operands(draft: &Draft) -> Vec<BufferId> {
    let Instr::Op(_, args) = &draft.core.instrs[draft.core.value.index()] else {
        return Vec::new();
    };
    let operands = args.iter().zip(draft.finite).filter(|(_, finite)| *finite);
    let buffers = operands.filter_map(|(v, _)| match &draft.core.instrs[v.index()] {
        Instr::Load { buffer, .. } | Instr::LoadAt { buffer, .. } => Some(*buffer),
        Instr::Const(_) | Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => None,
    });
    let mut buffers: Vec<BufferId> = buffers.collect();
    buffers.dedup();
    buffers
}
