//! Types and sizes.

use cotan_array::{Dtype, Shape};
use cotan_ir::Type;
use smallvec::SmallVec;

use super::{Checker, R};
use crate::draft::Draft;
use crate::nest::{Affine, BufferId, Component, Instr, Nest, Val, Write};
use crate::plan::{Loop, Role};
use crate::routine::{RoutineStep, family, fewest, is_read};
use crate::segment::{SegmentStep, Strided};

impl Checker<'_> {
    /// The types of a nest.
    pub(super) fn nest_types(&self, nest: &Nest) -> R<()> {
        if nest.reduced > nest.extents.len() {
            return Err(format!("{} dimensions are reduced, of fewer", nest.reduced));
        }
        if nest.instrs.len() != nest.dtypes.len() {
            return Err("there is not one type for each instruction".to_owned());
        }
        for (n, instr) in nest.instrs.iter().enumerate() {
            let found = self.instr_dtype(nest, n, instr).map_err(|e| format!("%{n}: {e}"))?;
            if found != nest.dtypes[n] {
                return Err(format!("%{n} is of type {found}, not {}", nest.dtypes[n]));
            }
        }
        for also in &nest.also {
            self.form(nest, &also.at)?;
            self.same(nest, also.value, also.target)?;
        }
        self.write_types(nest)
    }

    fn write_types(&self, nest: &Nest) -> R<()> {
        let value = value(nest, nest.instrs.len(), nest.value)?;
        let parallel = nest.extents.len() - nest.reduced;
        let of_target = self.buffer(nest.target)?.dtype;
        match &nest.write {
            Write::Extreme { .. } if of_target != Dtype::I64 => {
                return Err(format!("positions are written to a buffer of type {of_target}"));
            }
            Write::Extreme { .. } => {}
            _ => self.same(nest, nest.value, nest.target)?,
        }
        let needs = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
        if let Some(at) = nest.write.place() {
            self.form(nest, at)?;
            let varies = at.coeffs[parallel..].iter().any(|&c| c != 0);
            needs(!varies, "the place of a reduction depends on what is reduced")?;
        }
        let reduced = &nest.extents[parallel..];
        match &nest.write {
            Write::Store(_) => needs(nest.reduced == 0, "a store in a nest that reduces"),
            Write::Sum(_) => needs(value.is_numeric(), "a sum of truth values"),
            Write::Best { .. } => {
                needs(value.is_numeric(), "the largest of truth values")?;
                needs(!reduced.contains(&0), "the largest or smallest of nothing")
            }
            Write::Extreme { .. } => {
                needs(nest.reduced == 1, "a position along other than one dimension")
            }
            Write::Add { at, checks } => {
                needs(nest.reduced == 0, "an addition in a nest that reduces")?;
                needs(value.is_numeric(), "an addition of truth values")?;
                self.form(nest, at)?;
                checks.iter().try_for_each(|(at, _)| self.form(nest, at))
            }
            Write::AddAt(index) | Write::StoreAt(index) => {
                needs(nest.reduced == 0, "a computed place in a nest that reduces")?;
                let adds = matches!(nest.write, Write::AddAt(_));
                needs(!adds || value.is_numeric(), "an addition of truth values")?;
                self.index(nest, nest.instrs.len(), nest.target, index)
            }
        }
    }

    /// A value has the type of the buffer that it goes to.
    fn same(&self, nest: &Nest, v: Val, to: BufferId) -> R<()> {
        let (value, to_type) = (value(nest, nest.instrs.len(), v)?, self.buffer(to)?.dtype);
        match value == to_type {
            true => Ok(()),
            false => Err(format!("a value of type {value} goes to buffer {} of {to_type}", to.0)),
        }
    }

    /// A form has a coefficient for each dimension.
    fn form(&self, nest: &Nest, at: &Affine) -> R<()> {
        match at.coeffs.len() == nest.extents.len() {
            true => Ok(()),
            false => Err("a form over another number of dimensions".to_owned()),
        }
    }

    /// The type of an instruction, which may use those before it.
    fn instr_dtype(&self, nest: &Nest, n: usize, instr: &Instr) -> R<Dtype> {
        match instr {
            Instr::Const(bits) => {
                let dtype = nest.dtypes[n];
                let fits = match dtype {
                    Dtype::F64 | Dtype::I64 => true,
                    Dtype::F32 => *bits <= u64::from(u32::MAX),
                    Dtype::Bool => *bits < 2,
                };
                if fits { Ok(dtype) } else { Err(format!("not the bits of a number of {dtype}")) }
            }
            Instr::Affine(at) => self.form(nest, at).map(|()| Dtype::I64),
            Instr::Load { buffer, at, checks } => {
                self.form(nest, at)?;
                checks.iter().try_for_each(|(at, _)| self.form(nest, at))?;
                Ok(self.buffer(*buffer)?.dtype)
            }
            Instr::LoadAt { buffer, index } => {
                self.index(nest, n, *buffer, index)?;
                Ok(self.buffer(*buffer)?.dtype)
            }
            Instr::Op(op, args) => {
                let args: SmallVec<[Dtype; 3]> =
                    args.iter().map(|&v| value(nest, n, v)).collect::<R<_>>()?;
                op.result_dtype(&args).ok_or_else(|| format!("`{op}` takes {}", op.signature()))
            }
            Instr::MulAdd { args, .. } => {
                let [a, b, c] = [args[0], args[1], args[2]].map(|v| value(nest, n, v));
                let (a, b, c) = (a?, b?, c?);
                match a.is_float() && a == b && b == c {
                    true => Ok(a),
                    false => Err("`fma` takes three floats of one type".to_owned()),
                }
            }
        }
    }

    /// Components are integers, and positions in range are elements of the buffer.
    fn index(&self, nest: &Nest, before: usize, b: BufferId, index: &[Component]) -> R<()> {
        let mut last: i128 = 0;
        for c in index {
            if value(nest, before, c.value)? != Dtype::I64 {
                return Err("an index that is not an integer".to_owned());
            }
            if c.stride < 0 {
                return Err("an index with a negative stride".to_owned());
            }
            last = last.saturating_add((c.size as i128 - 1).saturating_mul(i128::from(c.stride)));
        }
        let numel = self.buffer(b)?.shape.numel() as i128;
        let nowhere = index.iter().any(|c| c.size == 0);
        match nowhere || last < numel {
            true => Ok(()),
            false => Err(format!("an index up to element {last} of buffer {}, of {numel}", b.0)),
        }
    }

    /// A contraction is one.
    pub(super) fn draft_types(&self, draft: &Draft) -> R<()> {
        let Draft { core, whole, after, .. } = draft;
        let loads = |v: &Val| matches!(core.instrs.get(v.index()), Some(Instr::Load { .. }));
        let product = match core.instrs.get(core.value.index()) {
            Some(Instr::Op(cotan_ir::scalar::Op::Mul, args)) => args.iter().all(loads),
            _ => false,
        };
        if !product || !matches!(core.write, Write::Sum(_)) || !core.also.is_empty() {
            return Err("a contraction that is no sum of products of two loads".to_owned());
        }
        let filled = after.as_ref().map_or(core.target, |after| after.target);
        if filled != whole.target {
            return Err("a contraction that fills another buffer than its nest".to_owned());
        }
        if after.as_ref().is_some_and(|after| !after.reads(|b| b == core.target)) {
            return Err("a contraction of which nothing is made".to_owned());
        }
        Ok(())
    }

    /// The sizes of a loop's states and of the arrays that it steps through; `length` if it is known.
    pub(super) fn loop_types(&self, l: &Loop<Nest>, length: Option<usize>) -> R<()> {
        if l.exchanged.len() != l.states.len() {
            return Err("it is not said of each state whether it is exchanged".to_owned());
        }
        for &(init, state, next) in &l.states {
            let [init, at, next] = [self.buffer(init)?, self.buffer(state)?, self.buffer(next)?];
            let same = |b: &crate::plan::Buffer| b.dtype == at.dtype && b.shape == at.shape;
            if !same(init) || !same(next) {
                return Err(format!("state {} changes its type", state.0));
            }
        }
        let copied = l.outputs.iter().map(|&(part, whole)| (whole, part));
        let views = l.inputs.iter().chain(&l.collected);
        for &(_, part) in views.clone() {
            if !matches!(self.buffer(part)?.role, Role::View) {
                return Err(format!("buffer {} is a part of another, but no view", part.0));
            }
        }
        for (whole, part) in views.copied().chain(copied) {
            let (all, one) = (self.buffer(whole)?, self.buffer(part)?);
            let dims = all.shape.dims();
            let steps = dims.first().copied();
            let fits = dims.get(1..) == Some(one.shape.dims())
                && all.dtype == one.dtype
                && length.is_none_or(|length| steps == Some(length));
            if !fits {
                return Err(format!("buffer {} is not what parts {} make", whole.0, part.0));
            }
        }
        Ok(())
    }

    /// One truth value.
    pub(super) fn condition(&self, b: BufferId) -> R<()> {
        let buffer = self.buffer(b)?;
        match buffer.dtype == Dtype::Bool && buffer.shape.numel() == 1 {
            true => Ok(()),
            false => Err(format!("buffer {} is a condition, but not one truth value", b.0)),
        }
    }

    /// Two buffers hold arrays of one type and size.
    pub(super) fn copied(&self, from: BufferId, to: BufferId) -> R<()> {
        let (from, to) = (self.buffer(from)?, self.buffer(to)?);
        match from.dtype == to.dtype && from.shape.numel() == to.shape.numel() {
            true => Ok(()),
            false => Err("a copy between arrays of different types".to_owned()),
        }
    }

    /// What is sorted, the rows in order, and room for what is sorted at a time: the rows of a column,
    /// its keys twice, and its result if there are several columns.
    pub(super) fn sort_types(&self, from: BufferId, to: BufferId, room: BufferId) -> R<()> {
        let [from, to, room] = [self.buffer(from)?, self.buffer(to)?, self.buffer(room)?];
        let rows = from.shape.dims().first().copied().unwrap_or(0);
        let columns: usize = from.shape.dims().iter().skip(1).product();
        let needed = rows.saturating_mul(3 + usize::from(columns > 1));
        let enough = from.shape.numel() == 0 || room.shape.numel() >= needed;
        let fits = from.shape == to.shape && from.shape.rank() > 0 && to.dtype == Dtype::I64;
        match fits && room.dtype == Dtype::I64 && enough {
            true => Ok(()),
            false => Err("a sort with wrong types, or without room".to_owned()),
        }
    }

    /// Keys and ids are arrays of rows and columns, and there is a place for each segment.
    pub(super) fn segment_types(&self, step: &SegmentStep) -> R<()> {
        let last = |a: &Strided| {
            let far = |k: usize, stride: usize| (k as u128).saturating_sub(1) * stride as u128;
            far(step.rows, a.row) + far(step.columns, a.column)
        };
        let some = step.rows > 0 && step.columns > 0;
        let fits = |a: &Strided, dtype: Dtype| {
            let buffer = self.buffer(a.buffer)?;
            let inside = !some || last(a) < buffer.shape.numel() as u128;
            Ok::<bool, String>(buffer.dtype == dtype && inside)
        };
        let keys = step.keys.as_ref().map_or(Ok(true), |keys| fits(keys, step.dtype))?;
        let to = self.buffer(step.to)?;
        let places = step.segments.checked_mul(step.columns) == Some(to.shape.numel());
        match keys && fits(&step.ids, Dtype::I64)? && places && to.dtype == Dtype::I64 {
            true => Ok(()),
            false => Err("extremes by segment with wrong types or sizes".to_owned()),
        }
    }
}

impl Checker<'_> {
    /// Operands, results and room of a routine have the types and sizes that its row says.
    pub(super) fn routine_types(&self, step: &RoutineStep) -> R<()> {
        let Some(&first) = family(step.routine).first() else { return Ok(()) };
        let cells = step.routine.row().operands;
        let known = |letter: u8| letter.is_ascii_digit() || b"nk".contains(&letter);
        if first != step.routine || cells.iter().any(|cell| !cell.axes.bytes().all(known)) {
            return Err(format!("`{}` is no step of its own", step.routine.name()));
        }
        if !step.dtype.is_float() {
            return Err(format!("a routine of {}", step.dtype));
        }
        let read = (0..cells.len()).filter(|&n| is_read(step.routine, n));
        if read.count() != step.operands.len() {
            return Err("a routine of another number of operands".to_owned());
        }
        let mut types = Vec::with_capacity(cells.len());
        for (n, cell) in cells.iter().enumerate() {
            let dims: Vec<usize> = step.batch.iter().copied().chain(step.dims(n)).collect();
            let shape = Shape::new("routine", &dims).map_err(|e| e.to_string())?;
            types.push(Type::new(if cell.integers { Dtype::I64 } else { step.dtype }, shape));
            let Some(read) = step.read(n) else { continue };
            let found = self.buffer(read.buffer)?.dtype;
            if found != types[n].dtype {
                return Err(format!("operand {n} of a routine is of type {found}"));
            }
            if read.batch.len() != step.batch.len() {
                return Err(format!("operand {n} of a routine has another batch"));
            }
        }
        let members = family(step.routine);
        // All of a factorisation, or the first alone.
        if ![fewest(step.routine), members.len()].contains(&step.results.len()) {
            return Err("a routine of another number of results".to_owned());
        }
        let operands: Vec<&Type> = types.iter().collect();
        for (member, &to) in members.iter().zip(&step.results) {
            let ty = member.result_type(&operands).map_err(|e| e.to_string())?;
            let buffer = self.buffer(to)?;
            if buffer.dtype != ty.dtype || buffer.shape.numel() != ty.shape.numel() {
                return Err(format!("the result {} goes to buffer {}", ty, to.0));
            }
        }
        let mut own: SmallVec<[BufferId; 4]> = step.results.iter().copied().collect();
        own.push(step.room);
        own.sort_unstable();
        if own.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err("a routine that writes two things to one buffer".to_owned());
        }
        let (room, needed) = (self.buffer(step.room)?, step.needed);
        match room.bytes() >= needed.saturating_mul(8) {
            true => Ok(()),
            false => Err(format!("a routine without room: {needed} numbers of 8 bytes")),
        }
    }
}

/// The type of a value that is computed before an instruction.
fn value(nest: &Nest, before: usize, v: Val) -> R<Dtype> {
    match nest.dtypes.get(v.index()) {
        Some(&dtype) if v.index() < before => Ok(dtype),
        _ => Err(format!("%{} is needed before it is computed", v.0)),
    }
}
