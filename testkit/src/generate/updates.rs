//! Loops whose steps change parts of a state: elements, rows and slices at computed positions.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{MapAccum, Param, Result, TermId, Type, While};

use super::{Generator, array_type};

/// The state of a loop while a step is being written: `n` rows of a type.
struct Rows<'t> {
    row: &'t Type,
    n: usize,
    now: TermId,
}

impl Generator<'_> {
    /// A row, or the sum of the rows, of a state that each step changes in some places.
    pub(super) fn updated(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let d = ty.dtype;
        let comparisons = [Op::Eq, Op::Ge, Op::Lt, Op::Sub, Op::Add];
        let integers = comparisons.iter().all(|&op| self.may(op, Dtype::I64));
        let (n, length) = (8 + self.rng.below(9), 1 + self.rng.below(6));
        let state = array_type(d, &[n], ty.shape.dims())?;
        let fits = state.shape.rank() <= self.config.max_rank.min(3)
            && state.shape.numel() <= 2 * self.config.max_elements;
        let selects = self.config.allows(Op::Select, &[Dtype::Bool, d, d]);
        if !integers || !selects || !fits || !self.may_open(length) {
            return Ok(None);
        }
        let init = self.term(&state, size / 4)?;
        let positions = self.positions(n, length)?;
        let values = self.term(&array_type(d, &[length], ty.shape.dims())?, size / 4)?;
        let counted = self.rng.chance(30);
        let bound = if self.rng.chance(50) { Some(length) } else { None };
        let mut params = vec![Param::Value(state.clone()), Param::Value(Type::scalar(Dtype::I64))];
        if !counted {
            params.push(Param::Value(ty.clone()));
        }
        let step = self.lambda(&params, length, |g, vars| {
            // A while has a counter, which it reads its arrays at.
            let (position, value) = match counted {
                true => (g.b.index(positions, &[vars[1]])?, g.b.index(values, &[vars[1]])?),
                false => (vars[1], vars[2]),
            };
            let mut rows = Rows { row: ty, n, now: vars[0] };
            for _ in 0..1 + g.rng.below(3) {
                g.update(&mut rows, position, value, size / 4)?;
            }
            if !counted {
                let read = g.b.index(vars[0], &[position])?;
                return Ok(vec![rows.now, read]);
            }
            let (limit, one) = (g.b.scalar(length as i64)?, g.b.scalar(1i64)?);
            let goes_on = g.b.op(Op::Lt, &[vars[1], limit])?;
            Ok(vec![goes_on, rows.now, g.b.op(Op::Add, &[vars[1], one])?])
        })?;
        let done = if counted {
            let init = vec![init, self.b.scalar(0i64)?].into();
            self.b.while_accum(While { bound, init, step })?
        } else {
            let (reverse, init) = (self.rng.chance(50), vec![init].into());
            let inputs = vec![positions, values].into();
            let done = self.b.map_accum(MapAccum { length, reverse, init, inputs, step })?;
            let read = self.b.result(done, 1)?;
            self.pool.add(&self.b, read);
            done
        };
        let last = self.b.result(done, 0)?;
        self.pool.add(&self.b, last);
        if d.is_numeric() && self.may(Op::Add, d) && self.rng.chance(50) {
            return self.b.sum_outer(last).map(Some);
        }
        let at = self.b.scalar(self.rng.below(n) as i64)?;
        self.b.index(last, &[at]).map(Some)
    }

    /// As many positions among `n`, and just outside.
    fn positions(&mut self, n: usize, length: usize) -> Result<TermId> {
        if self.rng.chance(25) {
            return self.term(&array_type(Dtype::I64, &[length], &[])?, 3);
        }
        let mut all = Vec::with_capacity(length);
        for _ in 0..length {
            all.push(self.b.scalar(self.rng.below(n + 2) as i64 - 1)?);
        }
        self.b.stack(&all)
    }

    /// One more change of some rows.
    fn update(
        &mut self,
        rows: &mut Rows<'_>,
        position: TermId,
        value: TermId,
        size: usize,
    ) -> Result<()> {
        let d = rows.row.dtype;
        let offset = self.b.scalar(self.rng.below(5) as i64 - 2)?;
        let near = self.b.op(Op::Add, &[position, offset])?;
        let (to, from) = match self.rng.below(4) {
            0 => (near, position),
            1 => (position, near),
            2 => (position, position),
            _ => (near, self.b.scalar(self.rng.below(rows.n) as i64)?),
        };
        let read = self.b.index(rows.now, &[from])?;
        let new = match self.rng.below(4) {
            0 => read,
            1 if d.is_numeric() && self.may(Op::Mul, d) => self.b.op(Op::Mul, &[read, value])?,
            2 => self.term(rows.row, size)?,
            _ => value,
        };
        let adds = d.is_numeric() && self.may(Op::Add, d);
        rows.now = match self.rng.below(4) {
            0 if adds => {
                let change = self.b.one_hot(&[rows.n], new, &[to])?;
                self.b.op(Op::Add, &[rows.now, change])?
            }
            1 => self.slice(rows, to, size)?,
            2 if self.may(Op::Ne, Dtype::I64) => {
                let others = self.compared(Op::Ne, rows, to)?;
                let copies = self.b.replicate(rows.n, new)?;
                self.b.op(Op::Select, &[others, rows.now, copies])?
            }
            _ => {
                let here = self.compared(Op::Eq, rows, to)?;
                let copies = self.b.replicate(rows.n, new)?;
                self.b.op(Op::Select, &[here, copies, rows.now])?
            }
        };
        Ok(())
    }

    /// Two or three rows from a position on, taken from an array or from other rows.
    fn slice(&mut self, rows: &Rows<'_>, start: TermId, size: usize) -> Result<TermId> {
        let length = 1 + self.rng.below(3);
        let new = match self.rng.chance(50) {
            true => {
                let shift = self.b.scalar(self.rng.below(4) as i64)?;
                let f = self.b.index_function(&[length], |b, is| {
                    let at = b.op(Op::Add, &[is[0], start])?;
                    Ok(vec![b.op(Op::Sub, &[at, shift])?])
                })?;
                self.b.gather(rows.now, f)?
            }
            false => {
                self.term(&array_type(rows.row.dtype, &[length], rows.row.shape.dims())?, size)?
            }
        };
        let more = self.b.scalar(length as i64)?;
        let end = self.b.op(Op::Add, &[start, more])?;
        let (from, to) = (self.compared(Op::Ge, rows, start)?, self.compared(Op::Lt, rows, end)?);
        let both = self.b.op(Op::And, &[from, to])?;
        let f =
            self.b.index_function(&[rows.n], |b, is| Ok(vec![b.op(Op::Sub, &[is[0], start])?]))?;
        let placed = self.b.gather(new, f)?;
        self.b.op(Op::Select, &[both, placed, rows.now])
    }

    /// Which rows' numbers compare with an integer, for every element of them.
    fn compared(&mut self, op: Op, rows: &Rows<'_>, with: TermId) -> Result<TermId> {
        let (numbers, other) = (self.b.iota(rows.n)?, self.b.replicate(rows.n, with)?);
        let mut mask = self.b.op(op, &[numbers, other])?;
        for (axis, &k) in rows.row.shape.dims().iter().enumerate() {
            // The new axis goes behind those that are there.
            mask = self.b.replicate(k, mask)?;
            let turned: Vec<usize> = (1..axis + 2).chain([0]).collect();
            mask = self.b.transpose(&turned, mask)?;
        }
        Ok(mask)
    }
}
