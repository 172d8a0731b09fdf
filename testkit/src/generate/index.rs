//! Index terms: in, at and just beyond the bounds.

use cotan_array::Dtype;
use cotan_ir::{Result, TermId, Type, scalar::Op};

use super::{Data, Former, Generator, array_type};

/// Two integer arguments.
const I64S: [Dtype; 2] = [Dtype::I64; 2];

impl Generator<'_> {
    /// An index into axes of the given sizes.
    pub(super) fn index(&mut self, sizes: &[usize], size: usize) -> Result<Vec<TermId>> {
        let parts = self.split(size, sizes.len());
        sizes.iter().zip(parts).map(|(&k, part)| self.index_into(k, part)).collect()
    }

    /// An index into an axis of size `k`.
    fn index_into(&mut self, k: usize, size: usize) -> Result<TermId> {
        let choice =
            if self.indices.is_empty() { 5 + self.rng.below(5) } else { self.rng.below(10) };
        match choice {
            0 | 1 => Ok(self.index_variable()?.0),
            2..=4 => self.affine_index(k),
            5 | 6 => self.constant_index(k),
            7 if size > 1 && self.config.formers.contains(&Former::Index) => {
                self.looked_up_index(size)
            }
            8 if size > 1 && self.config.allows(Op::Rem, &I64S) => {
                let t = self.term(&Type::scalar(Dtype::I64), size - 1)?;
                let k = self.b.scalar(k as i64)?;
                self.b.op(Op::Rem, &[t, k])
            }
            _ => self.term(&Type::scalar(Dtype::I64), size),
        }
    }

    /// An index variable in scope and its size, more often an inner one; 0 when there is none.
    pub(super) fn index_variable(&mut self) -> Result<(TermId, usize)> {
        let count = self.indices.len();
        let at = self.rng.below(count).max(self.rng.below(count));
        match self.indices.get(at) {
            Some(&found) => Ok(found),
            None => Ok((self.b.scalar(0i64)?, 1)),
        }
    }

    /// `i + c`, `k - 1 - i`, `2 * i`, `i // 2`, `i + j`, `i % k`, or `i` where those may not be used.
    fn affine_index(&mut self, k: usize) -> Result<TermId> {
        let (i, _) = self.index_variable()?;
        let op =
            *self.rng.pick(&[Op::Add, Op::Add, Op::Sub, Op::Sub, Op::Mul, Op::FloorDiv, Op::Rem]);
        if !self.config.allows(op, &I64S) {
            return Ok(i);
        }
        let k = k as i64;
        let other = match op {
            Op::Add if self.rng.chance(50) => return self.sum_with_variable(i),
            Op::Add => self.rng.between(-2, 2),
            Op::Sub if self.rng.chance(60) => {
                let last = self.b.scalar(k - 1)?;
                return self.b.op(Op::Sub, &[last, i]);
            }
            Op::Sub => self.rng.between(-1, 2),
            Op::Rem => *self.rng.pick(&[k, k - 1, 2]),
            _ => 2,
        };
        let other = self.b.scalar(other)?;
        self.b.op(op, &[i, other])
    }

    /// `i + j` for another variable `j`.
    fn sum_with_variable(&mut self, i: TermId) -> Result<TermId> {
        let (j, _) = self.index_variable()?;
        self.b.op(Op::Add, &[i, j])
    }

    fn constant_index(&mut self, k: usize) -> Result<TermId> {
        let k = k as i64;
        let far = self.config.data == Data::Special;
        let value = match self.rng.below(12) {
            0 => 0,
            1 => k - 1,
            2 => -1,
            3 => k,
            4 => self.rng.between(k, k + 3),
            5 if far => *self.rng.pick(&[i64::MIN, i64::MAX, -k, 1 << 32]),
            _ => self.rng.below(k.unsigned_abs() as usize) as i64,
        };
        self.b.scalar(value)
    }

    /// A read under a condition that asks whether its index is in range, or nearly so:
    /// `where(0 <= i and i < k, t[i], 0)` and its relatives.
    pub(super) fn guarded_read(
        &mut self,
        read: TermId,
        ix: &[TermId],
        sizes: &[usize],
    ) -> Result<TermId> {
        let comparisons = [Op::Ge, Op::Lt, Op::Le, Op::Gt];
        let logic = [Op::And, Op::Or].map(|op| (op, [Dtype::Bool; 2]));
        if !comparisons.iter().all(|&op| self.config.allows(op, &I64S))
            || !logic.iter().all(|(op, types)| self.config.allows(*op, types))
        {
            return Ok(read);
        }
        // Sometimes one element alone, `where(i == k, t[i], 0)`: by the length of the program, since a
        // number drawn here would change what is drawn for all known seeds.
        if let (Some(&i), Some(&k)) = (ix.first(), sizes.first())
            && self.b.len().is_multiple_of(4)
            && self.config.allows(Op::Eq, &I64S)
        {
            let middle = self.b.scalar(k as i64 / 2)?;
            let here = self.b.op(Op::Eq, &[i, middle])?;
            let zero = self.full_like(read, 0.0)?;
            return self.b.cond(here, read, zero);
        }
        let outside = self.rng.chance(25);
        let mut asked = None;
        for (&i, &k) in ix.iter().zip(sizes) {
            // Now and then a bound is off by one, or missing.
            let mut slip = || if self.rng.chance(10) { self.rng.between(-1, 1) } else { 0 };
            let (lo, hi) = (slip(), k as i64 + slip());
            let (lo_term, hi_term) = (self.b.scalar(lo)?, self.b.scalar(hi)?);
            let above = match (outside, self.rng.chance(50)) {
                (false, false) => self.b.op(Op::Ge, &[i, lo_term])?,
                (false, true) => self.b.op(Op::Le, &[lo_term, i])?,
                (true, _) => self.b.op(Op::Lt, &[i, lo_term])?,
            };
            let below = match (outside, self.rng.chance(50)) {
                (false, false) => self.b.op(Op::Lt, &[i, hi_term])?,
                (false, true) => self.b.op(Op::Gt, &[hi_term, i])?,
                (true, _) => self.b.op(Op::Ge, &[i, hi_term])?,
            };
            let join = if outside { Op::Or } else { Op::And };
            for part in [above, below] {
                if self.rng.chance(85) {
                    asked = Some(match asked {
                        Some(before) => self.b.op(join, &[before, part])?,
                        None => part,
                    });
                }
            }
        }
        let Some(asked) = asked else { return Ok(read) };
        let zero = self.full_like(read, 0.0)?;
        let (yes, no) = if outside { (zero, read) } else { (read, zero) };
        if self.b.shape(read).rank() > 0 || self.rng.chance(30) {
            return self.b.cond(asked, yes, no);
        }
        let guarded = self.b.op(Op::Select, &[asked, yes, no])?;
        if outside || self.rng.chance(60) {
            return Ok(guarded);
        }
        // The same condition twice: where(asked and c, where(asked, -read, 0), v).
        let negated = match self.config.allows(Op::Neg, &[self.b.dtype(read)]) {
            true => self.b.op(Op::Neg, &[read])?,
            false => read,
        };
        let inner = self.b.op(Op::Select, &[asked, negated, zero])?;
        let other = self.leaf(&Type::scalar(Dtype::Bool))?;
        let both = self.b.op(Op::And, &[asked, other])?;
        self.b.op(Op::Select, &[both, inner, guarded])
    }

    /// An element of an integer array, often one from outside the lambda.
    fn looked_up_index(&mut self, size: usize) -> Result<TermId> {
        let is_table = |t: &&TermId| {
            let ty = self.b.ty(**t);
            ty.dtype == Dtype::I64 && (1..=2).contains(&ty.shape.rank())
        };
        let tables: Vec<TermId> = self.pool.all().iter().filter(is_table).copied().collect();
        let table = if !tables.is_empty() && self.rng.chance(70) {
            *self.rng.pick(&tables)
        } else {
            let k = self.any_size();
            self.term(&array_type(Dtype::I64, &[k], &[])?, size / 2)?
        };
        let dims = self.b.shape(table).dims().to_vec();
        let ix = self.index(&dims, size / 4)?;
        self.b.index(table, &ix)
    }
}
