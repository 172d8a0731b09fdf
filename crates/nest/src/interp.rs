//! The meaning of a plan: a slow and plain interpreter.
//!
//! Every buffer has memory of its own, and every element of it is a number or nothing: reading an
//! element that nobody has written, or one that is not there, is an error, not a number. Positions
//! of a nest are taken in row-major order, and sums begin with 0 and go from the first element to
//! the last. Where memory lies is not looked at, unless one asks for that
//! ([`Plan::interpret_placed`]).

mod memory;
mod nest;

use std::cmp::Ordering;
use std::fmt;

use cotan_array::{Array, Dtype};
use cotan_ir::scalar::{Op, Scalar, eval};
use cotan_ir::{CellValue, Extreme};

use crate::draft::Draft;
use crate::nest::{BufferId, Instr, Nest};
use crate::plan::{Loop, Plan, Role, Step, WhileStep};
use crate::routine::RoutineStep;
use crate::segment::{SegmentStep, Strided};
use memory::BufferValues;

/// Why a plan cannot be interpreted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterpretError {
    /// It does what no plan may do, and what that is.
    Fault(String),
    /// It takes more element operations than it may.
    Limit,
}

impl fmt::Display for InterpretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InterpretError::Fault(message) => f.write_str(message),
            InterpretError::Limit => f.write_str("it takes more operations than it may"),
        }
    }
}

impl std::error::Error for InterpretError {}

type R<T> = Result<T, InterpretError>;

fn fault<T>(message: impl Into<String>) -> R<T> {
    Err(InterpretError::Fault(message.into()))
}

impl Plan {
    /// The results for some inputs, in at most `limit` element operations.
    pub fn interpret(&self, inputs: &[Array], limit: u64) -> R<Vec<Array>> {
        self.run(BufferValues::new(self, inputs)?, limit)
    }

    /// The same with temporaries where the memory plan puts them: what is written to one is lost to
    /// all others that lie there.
    pub fn interpret_placed(&self, inputs: &[Array], limit: u64) -> R<Vec<Array>> {
        self.run(BufferValues::new(self, inputs)?.placed(), limit)
    }

    fn run(&self, memory: BufferValues<'_>, limit: u64) -> R<Vec<Array>> {
        let mut run = Run { memory, left: limit };
        run.steps(&self.steps)?;
        self.outputs.iter().map(|&b| run.memory.array(b)).collect()
    }
}

struct Run<'a> {
    memory: BufferValues<'a>,
    /// The element operations that may still be done.
    left: u64,
}

impl Run<'_> {
    fn spend(&mut self, operations: usize) -> R<()> {
        self.left = self.left.checked_sub(operations as u64).ok_or(InterpretError::Limit)?;
        Ok(())
    }

    fn steps(&mut self, steps: &[Step<Nest>]) -> R<()> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &Step<Nest>) -> R<()> {
        self.spend(1)?;
        match step {
            Step::Compute(nest) => self.nest(nest),
            Step::Scalars(packed) => match packed.unpack() {
                Some(nest) => self.nest(&nest),
                None => fault("operations on single elements that store nothing"),
            },
            Step::Contract(draft) => self.contract(draft),
            Step::Zero(b) => {
                self.spend(self.memory.numel(*b))?;
                self.memory.fill_zero(*b)
            }
            Step::Copy { from, to } => self.copy(*from, *to),
            Step::ArgSort { from, to, room } => {
                self.memory.forget(*room);
                self.arg_sort(*from, *to)
            }
            Step::SegmentArg(step) => self.segment_arg(step),
            Step::Routine(step) => self.routine(step),
            Step::Loop(l) => self.repeated(l),
            Step::While(w) => self.while_it_holds(w),
            Step::If(branches) => {
                let holds = self.memory.read(branches.condition, 0)? == Scalar::Bool(true);
                self.steps(if holds { &branches.then } else { &branches.otherwise })
            }
        }
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> R<()> {
        let count = self.memory.numel(to);
        self.spend(count)?;
        if self.memory.numel(from) != count {
            return fault("a copy between arrays of different sizes");
        }
        for at in 0..count as i64 {
            let x = self.memory.read(from, at)?;
            self.memory.write(to, at, x)?;
        }
        Ok(())
    }

    /// The sums, times the factor, and what is done with them; or the nest that all of it stands
    /// for, where an operand is not as finite as it has to be.
    fn contract(&mut self, draft: &Draft) -> R<()> {
        let core = &draft.core;
        let Some(Instr::Op(_, args)) = core.instrs.get(core.value.index()) else {
            return fault("a contraction that does not sum products");
        };
        for (&v, _) in args.iter().zip(draft.finite).filter(|(_, finite)| *finite) {
            if !self.is_finite(core, v)? {
                return self.nest(&draft.whole);
            }
        }
        self.scaled_nest(core, draft.factor)?;
        draft.after.as_ref().map_or(Ok(()), |after| self.nest(after))
    }

    fn arg_sort(&mut self, from: BufferId, to: BufferId) -> R<()> {
        let dims = self.memory.dims(from)?.to_vec();
        let rows = dims.first().copied().unwrap_or(0);
        let columns: usize = dims.iter().skip(1).product();
        self.spend(rows.saturating_mul(columns).saturating_mul(8))?;
        for column in 0..columns {
            let keys: Vec<Scalar> = (0..rows)
                .map(|row| self.memory.read(from, (row * columns + column) as i64))
                .collect::<R<_>>()?;
            let mut order: Vec<usize> = (0..rows).collect();
            // Stable; NaNs last.
            order.sort_by(|&a, &b| match (is_nan(keys[a]), is_nan(keys[b])) {
                (false, false) => keys[a].compare(keys[b]).unwrap_or(Ordering::Equal),
                (a, b) => a.cmp(&b),
            });
            for (row, &k) in order.iter().enumerate() {
                self.memory.write(to, (row * columns + column) as i64, Scalar::I64(k as i64))?;
            }
        }
        Ok(())
    }

    fn segment_arg(&mut self, step: &SegmentStep) -> R<()> {
        self.spend(step.rows.saturating_mul(step.columns).saturating_mul(8))?;
        self.spend(step.segments.saturating_mul(step.columns))?;
        let place = |a: &Strided, row: usize, column: usize| {
            (row.saturating_mul(a.row).saturating_add(column.saturating_mul(a.column))) as i64
        };
        let better = if step.extreme == Extreme::Max { Ordering::Greater } else { Ordering::Less };
        for column in 0..step.columns {
            let mut best: Vec<Option<usize>> = vec![None; step.segments];
            let key = |run: &Self, row: usize| match &step.keys {
                Some(keys) => run.memory.read(keys.buffer, place(keys, row, column)),
                None => Ok(Scalar::I64(row as i64)),
            };
            for row in 0..step.rows {
                let id = self.memory.read(step.ids.buffer, place(&step.ids, row, column))?;
                let id = id.as_i64().and_then(|id| usize::try_from(id).ok());
                let Some(id) = id.filter(|&id| id < step.segments) else { continue };
                let wins = match best[id] {
                    None => true,
                    Some(champion) => {
                        let (x, champion) = (key(self, row)?, key(self, champion)?);
                        // The first NaN stays.
                        let beaten = is_nan(x) || x.compare(champion) == Some(better);
                        beaten && !is_nan(champion)
                    }
                };
                if wins {
                    best[id] = Some(row);
                }
            }
            for (segment, best) in best.into_iter().enumerate() {
                let row = Scalar::I64(best.unwrap_or(step.rows) as i64);
                self.memory.write(step.to, (segment * step.columns + column) as i64, row)?;
            }
        }
        Ok(())
    }

    /// Each element of the batch by the schoolbook.
    fn routine(&mut self, step: &RoutineStep) -> R<()> {
        let mut at = vec![0; step.batch.len()];
        for n in 0..step.batch.iter().product() {
            for (k, &to) in step.results.iter().enumerate() {
                let routine = step.member(k);
                let mut cells = Vec::new();
                for operand in 0..routine.row().operands.len() {
                    let dims = step.dims(operand);
                    let Some(cell) = step.read(operand) else {
                        cells.push(CellValue::new(&dims, Vec::new()));
                        continue;
                    };
                    let offset: usize = at.iter().zip(&cell.batch).map(|(i, s)| i * s).sum();
                    let (rows, columns) = match dims[..] {
                        [rows, columns] => (rows, columns),
                        _ => (1, dims.iter().product()),
                    };
                    let mut elements = Vec::new();
                    for i in 0..rows {
                        for j in 0..columns {
                            let place = offset + i * cell.row + j * cell.column;
                            elements.push(self.memory.read(cell.buffer, place as i64)?);
                        }
                    }
                    cells.push(CellValue::new(&dims, elements));
                }
                let dtype = if routine.row().result.integers { Dtype::I64 } else { step.dtype };
                let zero = Scalar::zero(dtype, false);
                self.spend(
                    step.rows.saturating_pow(2).saturating_mul(step.columns.max(step.rows)),
                )?;
                let found = routine.by_the_book(&cells, zero, &mut |op, args| apply(op, args))?;
                let first = n * found.len();
                for (place, x) in found.into_iter().enumerate() {
                    self.memory.write(to, (first + place) as i64, x)?;
                }
            }
            for (i, &size) in at.iter_mut().zip(&step.batch).rev() {
                *i += 1;
                if *i < size {
                    break;
                }
                *i = 0;
            }
        }
        Ok(())
    }

    fn repeated(&mut self, l: &Loop<Nest>) -> R<()> {
        self.begin(l)?;
        for n in 0..l.length {
            self.turn(l, if l.reverse { l.length - 1 - n } else { n })?;
        }
        self.end(l);
        Ok(())
    }

    fn while_it_holds(&mut self, w: &WhileStep<Nest>) -> R<()> {
        self.begin(&w.body)?;
        let mut taken = 0;
        while w.bound.is_none_or(|bound| taken < bound) {
            self.steps(&w.before)?;
            if self.memory.read(w.condition, 0)? != Scalar::Bool(true) {
                break;
            }
            self.turn(&w.body, taken)?;
            taken += 1;
        }
        self.end(&w.body);
        Ok(())
    }

    /// The states begin.
    fn begin(&mut self, l: &Loop<Nest>) -> R<()> {
        for &(init, state, _) in l.states.iter().filter(|(init, state, _)| init != state) {
            self.copy(init, state)?;
        }
        self.exchange(l);
        Ok(())
    }

    /// One step of a loop, which reads and writes part `at` of arrays.
    fn turn(&mut self, l: &Loop<Nest>, at: usize) -> R<()> {
        self.spend(1)?;
        for &(whole, part) in &l.inputs {
            let (count, first) = self.part(part, at);
            for k in 0..count {
                let x = self.memory.read(whole, first + k)?;
                self.memory.write(part, k, x)?;
            }
        }
        l.collected.iter().for_each(|&(_, part)| self.memory.forget(part));
        self.steps(&l.steps)?;
        let collected = l.collected.iter().map(|&(whole, part)| (part, whole));
        for (part, whole) in collected.chain(l.outputs.iter().copied()) {
            let (count, first) = self.part(part, at);
            self.spend(count as usize)?;
            for k in 0..count {
                let x = self.memory.read(part, k)?;
                self.memory.write(whole, first + k, x)?;
            }
        }
        for &(_, state, next) in l.states.iter().filter(|(_, state, next)| state != next) {
            self.copy(next, state)?;
        }
        self.exchange(l);
        Ok(())
    }

    /// The memory that a next state gets in exchange has nothing that is worth anything.
    fn exchange(&mut self, l: &Loop<Nest>) {
        let exchanged = l.states.iter().zip(&l.exchanged).filter(|(_, e)| **e).map(|(s, _)| s.2);
        exchanged.for_each(|next| self.memory.forget(next));
    }

    /// After a loop its views are nothing.
    fn end(&mut self, l: &Loop<Nest>) {
        let views = l.inputs.iter().chain(&l.collected).map(|&(_, part)| part);
        views.for_each(|b| self.memory.forget(b));
    }

    /// How many elements a part has, and the place of the first in the whole.
    fn part(&self, part: BufferId, at: usize) -> (i64, i64) {
        let count = self.memory.numel(part) as i64;
        (count, (at as i64).saturating_mul(count))
    }
}

fn is_nan(x: Scalar) -> bool {
    match x {
        Scalar::F64(x) => x.is_nan(),
        Scalar::F32(x) => x.is_nan(),
        Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => false,
    }
}

/// The value of an operation.
fn apply(op: Op, args: &[Scalar]) -> R<Scalar> {
    match eval(op, args) {
        Some(x) => Ok(x),
        None => fault(format!("`{op}` of operands of other types than it has")),
    }
}

/// Whether a plan may write to a buffer of a role.
fn is_written(role: &Role) -> bool {
    match role {
        Role::Input(_) | Role::Constant(_) => false,
        Role::Temporary(_) | Role::Local(_) | Role::Output | Role::View => true,
    }
}
