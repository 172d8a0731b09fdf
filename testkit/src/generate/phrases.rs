//! Phrases: several formers together, as people write them and transforms make them.
//!
//! Formers that are chosen one by one seldom meet in the way that a rule waits for. A phrase is such
//! a meeting: the operands are random terms, the sizes are random, and whatever else is in the
//! program is as likely to be around it as around anything.

use cotan_array::{Array, Dtype, Shape};
use cotan_ir::scalar::Op;
use cotan_ir::{MapAccum, Param, RegionId, Result, TermId, Type};

use super::{Generator, array_type};

/// A term of a type, of about so many nodes; none where the phrase does not fit.
type Phrase<'a> = fn(&mut Generator<'a>, &Type, usize) -> Result<Option<TermId>>;

/// So many phrases are tried for a type.
const TRIES: usize = 3;

/// More elements than this are not read at computed places.
const FEW: usize = 12;

impl<'a> Generator<'a> {
    /// A random phrase, if one fits.
    pub(super) fn phrase(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let phrases: [Phrase<'a>; 36] = [
            Self::neutral,
            Self::divided_twice,
            Self::multiples,
            Self::masked_alike,
            Self::constant_factors,
            Self::factor_again,
            Self::power,
            Self::scaled,
            Self::choice_again,
            Self::denied_twice,
            Self::clamped,
            Self::counted,
            Self::part_of_stack,
            Self::copies_of_turned,
            Self::few_of_sums,
            Self::often_of_sums,
            Self::added_in_windows,
            Self::looked_up_in_windows,
            Self::put_in_windows,
            Self::put_together,
            Self::put_together,
            Self::selected,
            Self::sorted_into_places,
            Self::sums_in_turn,
            Self::sum_of_all,
            Self::sum_of_put,
            Self::sum_of_put,
            Self::loop_of_copies,
            Self::loops_again,
            Self::loops_again,
            Self::put_parts,
            Self::best,
            Self::best_of_rows,
            Self::best_by_segment,
            Self::updated,
            Self::updated,
        ];
        for _ in 0..TRIES {
            let phrase = *self.rng.pick(&phrases);
            if let found @ Some(_) = phrase(self, ty, size)? {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Whether an operation may be used on arguments of one type.
    pub(super) fn may(&self, op: Op, dtype: Dtype) -> bool {
        let count = op.arity();
        self.config.allows(op, &vec![dtype; count])
    }

    /// An operand with some axes before those of a type, if it is not too large.
    fn rows(&mut self, ty: &Type, outer: &[usize], size: usize) -> Result<Option<TermId>> {
        let rows = array_type(ty.dtype, outer, ty.shape.dims())?;
        if rows.shape.rank() > self.config.max_rank || rows.shape.numel() > self.config.max_elements
        {
            return Ok(None);
        }
        self.fresh(&rows, size).map(Some)
    }

    /// Zeros of a type.
    fn nothing(&mut self, ty: &Type) -> Result<TermId> {
        self.b.constant(&Array::zeros(ty.dtype, ty.shape.clone())?)
    }

    fn integers(&mut self, dims: &[usize], size: usize) -> Result<TermId> {
        self.term(&array_type(Dtype::I64, dims, &[])?, size)
    }

    /// The index function `is => is[0] + is[1]`, or a table there.
    fn window(&mut self, sizes: [usize; 2], table: Option<TermId>) -> Result<RegionId> {
        self.b.index_function(&sizes, |b, is| {
            let sum = b.op(Op::Add, is)?;
            Ok(vec![match table {
                Some(table) => b.index(table, &[sum])?,
                None => sum,
            }])
        })
    }

    /// `x * 1`, `x / 1`, `x * 0`.
    fn neutral(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let divide = if ty.dtype.is_float() { Op::Div } else { Op::FloorDiv };
        if !ty.dtype.is_numeric() || !self.may(Op::Mul, ty.dtype) {
            return Ok(None);
        }
        let x = self.term(ty, size)?;
        let one = self.full_like(x, 1.0)?;
        match self.rng.below(6) {
            0 => self.b.op(Op::Mul, &[x, one]).map(Some),
            1 => self.b.op(Op::Mul, &[one, x]).map(Some),
            2 | 3 if self.may(divide, ty.dtype) => self.b.op(divide, &[x, one]).map(Some),
            _ if ty.dtype == Dtype::I64 => {
                let zero = self.full_like(x, 0.0)?;
                self.b.op(Op::Mul, &[x, zero]).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// `(1 / x) / x`.
    fn divided_twice(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        if !ty.dtype.is_float() || !self.may(Op::Div, ty.dtype) {
            return Ok(None);
        }
        let x = self.term(ty, size)?;
        let one = self.full_like(x, 1.0)?;
        let reciprocal = self.b.op(Op::Div, &[one, x])?;
        self.b.op(Op::Div, &[reciprocal, x]).map(Some)
    }

    /// `x * 2 + x`, `(x + y) + x * 2`, `-x - x`.
    fn multiples(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let d = ty.dtype;
        let all = [Op::Mul, Op::Add, Op::Sub, Op::Neg].iter().all(|&op| self.may(op, d));
        if !d.is_float() || !all {
            return Ok(None);
        }
        let (x, y) = (self.term(ty, size / 2)?, self.term(ty, size / 2)?);
        let two = self.full_like(x, 2.0)?;
        let twice = self.b.op(Op::Mul, &[x, two])?;
        match self.rng.below(3) {
            0 => self.b.op(Op::Add, &[twice, x]).map(Some),
            1 => {
                let minus = self.b.op(Op::Neg, &[x])?;
                self.b.op(Op::Sub, &[minus, x]).map(Some)
            }
            _ => {
                let op = if self.rng.chance(50) { Op::Add } else { Op::Sub };
                let inner = self.b.op(op, &[x, y])?;
                let args = if self.rng.chance(50) { [inner, twice] } else { [twice, inner] };
                self.b.op(Op::Add, &args).map(Some)
            }
        }
    }

    /// `where(p, x, 0) - where(p, y, 0)`, `where(p, x, 0) + where(p, 0, y)`.
    fn masked_alike(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let d = ty.dtype;
        let select = self.config.allows(Op::Select, &[Dtype::Bool, d, d]);
        let op = if self.rng.chance(50) { Op::Add } else { Op::Sub };
        if !d.is_numeric() || !select || !self.may(op, d) {
            return Ok(None);
        }
        let p = self.term(&Type::new(Dtype::Bool, ty.shape.clone()), size / 3)?;
        let (x, y) = (self.term(ty, size / 3)?, self.term(ty, size / 3)?);
        let zero = self.full_like(x, 0.0)?;
        let x = self.b.op(Op::Select, &[p, x, zero])?;
        let choice = if self.rng.chance(40) { [p, zero, y] } else { [p, y, zero] };
        let y = self.b.op(Op::Select, &choice)?;
        let args = if self.rng.chance(50) { [x, y] } else { [y, x] };
        self.b.op(op, &args).map(Some)
    }

    /// `scale(x * c, y)`, `(x * c) * c`, and sums of the first.
    fn constant_factors(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let d = ty.dtype;
        if !d.is_float() || ![Op::Mul, Op::Scale, Op::Sub].iter().all(|&op| self.may(op, d)) {
            return Ok(None);
        }
        let way = self.rng.below(4);
        let k = 1 + self.rng.below(3);
        let (x, y) = if way < 2 {
            let (Some(x), Some(y)) =
                (self.rows(ty, &[k], size / 2)?, self.rows(ty, &[k], size / 2)?)
            else {
                return Ok(None);
            };
            (x, y)
        } else {
            (self.term(ty, size / 2)?, self.term(ty, size / 2)?)
        };
        let constant = [3.0, -2.0, 0.5][self.rng.below(3)];
        let c = self.full_like(x, constant)?;
        let multiple = self.b.op(Op::Mul, &[c, x])?;
        match way {
            0 => {
                let product = self.b.op(Op::Scale, &[y, multiple])?;
                self.b.sum_outer(product).map(Some)
            }
            1 => {
                let other = self.b.op(Op::Mul, &[c, y])?;
                let less = self.b.op(Op::Sub, &[multiple, other])?;
                self.b.sum_outer(less).map(Some)
            }
            2 => self.b.op(Op::Scale, &[multiple, y]).map(Some),
            _ => self.b.op(Op::Mul, &[multiple, c]).map(Some),
        }
    }

    /// `scale(scale(x, y), y) - y * y`.
    fn factor_again(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let d = ty.dtype;
        if !d.is_float() || ![Op::Mul, Op::Scale, Op::Sub].iter().all(|&op| self.may(op, d)) {
            return Ok(None);
        }
        let (x, y) = (self.term(ty, size / 2)?, self.term(ty, size / 2)?);
        let square = self.b.op(Op::Mul, &[y, y])?;
        let once = self.b.op(Op::Scale, &[x, y])?;
        let twice = self.b.op(Op::Scale, &[once, y])?;
        self.b.op(Op::Sub, &[square, twice]).map(Some)
    }

    /// `x ** 2`.
    fn power(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        if !self.config.allows(Op::Powi, &[ty.dtype, Dtype::I64]) {
            return Ok(None);
        }
        let x = self.term(ty, size)?;
        let (exponents, exponent) = (self.b.scalar(0i64)?, self.rng.between(0, 3) as f64);
        let mut n = self.full_like(exponents, exponent)?;
        for &k in ty.shape.dims().iter().rev() {
            n = self.b.replicate(k, n)?;
        }
        self.b.op(Op::Powi, &[x, n]).map(Some)
    }

    /// `scale(c, x)`, `scale(where(p, c, 0), x)`, `scale(where(p, c, 0) * c, x)`.
    fn scaled(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let d = ty.dtype;
        let select = self.config.allows(Op::Select, &[Dtype::Bool, d, d]);
        if !d.is_float() || !self.may(Op::Scale, d) || !select {
            return Ok(None);
        }
        let x = self.term(ty, size / 2)?;
        let mut factor = self.full_like(x, 2.0)?;
        if self.rng.chance(50) {
            let p = self.term(&Type::new(Dtype::Bool, ty.shape.clone()), size / 2)?;
            let zero = self.full_like(x, 0.0)?;
            let mask = self.b.op(Op::Select, &[p, factor, zero])?;
            let again = self.may(Op::Mul, d) && self.rng.chance(50);
            factor = if again { self.b.op(Op::Mul, &[mask, factor])? } else { mask };
        }
        self.b.op(Op::Scale, &[factor, x]).map(Some)
    }

    /// `where(not p, x, y)`, `where(p, where(p, x, y), z)`.
    fn choice_again(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let d = ty.dtype;
        if !self.config.allows(Op::Select, &[Dtype::Bool, d, d]) || !self.may(Op::Not, Dtype::Bool)
        {
            return Ok(None);
        }
        let p = self.term(&Type::new(Dtype::Bool, ty.shape.clone()), size / 3)?;
        let (x, y) = (self.term(ty, size / 3)?, self.term(ty, size / 3)?);
        if self.rng.chance(50) {
            let denied = self.b.op(Op::Not, &[p])?;
            return self.b.op(Op::Select, &[denied, x, y]).map(Some);
        }
        let z = self.term(ty, size / 4)?;
        let inner = self.b.op(Op::Select, &[p, x, y])?;
        let args = if self.rng.chance(50) { [p, inner, z] } else { [p, z, inner] };
        self.b.op(Op::Select, &args).map(Some)
    }

    /// `not not p`.
    fn denied_twice(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        if ty.dtype != Dtype::Bool || !self.may(Op::Not, Dtype::Bool) {
            return Ok(None);
        }
        let p = self.term(ty, size)?;
        let denied = self.b.op(Op::Not, &[p])?;
        self.b.op(Op::Not, &[denied]).map(Some)
    }

    /// `max(x % 5, 0)`, which is `x % 5`.
    fn clamped(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let all = [Op::Rem, Op::Max, Op::Min].iter().all(|&op| self.may(op, Dtype::I64));
        if ty.dtype != Dtype::I64 || !all {
            return Ok(None);
        }
        let x = self.term(ty, size)?;
        let five = self.full_like(x, 5.0)?;
        let rest = self.b.op(Op::Rem, &[x, five])?;
        let (op, bound) = if self.rng.chance(50) { (Op::Max, 0.0) } else { (Op::Min, 4.0) };
        let bound = self.full_like(x, bound)?;
        self.b.op(op, &[rest, bound]).map(Some)
    }

    /// `sum(iota(k))`, `iota(k)[i % k]`.
    fn counted(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        if ty.dtype != Dtype::I64 || ty.shape.rank() > 0 || !self.may(Op::Rem, Dtype::I64) {
            return Ok(None);
        }
        let k = 1 + self.rng.below(5);
        let numbers = self.b.iota(k)?;
        if self.rng.chance(50) {
            return self.b.sum_outer(numbers).map(Some);
        }
        let (x, k) = (self.term(ty, size)?, self.b.scalar(k as i64)?);
        let i = self.b.op(Op::Rem, &[x, k])?;
        self.b.index(numbers, &[i]).map(Some)
    }

    /// `[x, y][1]`.
    fn part_of_stack(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let parts = [self.term(ty, size / 2)?, self.term(ty, size / 2)?];
        let (both, at) = (self.b.stack(&parts)?, self.rng.below(2));
        let at = self.b.scalar(at as i64)?;
        self.b.index(both, &[at]).map(Some)
    }

    /// Copies of a transposed array times others, added up.
    fn copies_of_turned(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let dims = ty.shape.dims();
        let multiplies = ty.dtype.is_numeric() && self.may(Op::Mul, ty.dtype);
        if dims.len() < 2 || dims.len() >= self.config.max_rank || !multiplies {
            return Ok(None);
        }
        let mut source = dims.to_vec();
        source.swap(0, 1);
        let t = self.term(&array_type(ty.dtype, &source, &[])?, size / 2)?;
        let turned = self.b.transpose(&[1, 0], t)?;
        let copies = self.b.replicate(2, turned)?;
        let Some(others) = self.rows(ty, &[2], size / 2)? else { return Ok(None) };
        let both = self.b.op(Op::Mul, &[copies, others])?;
        self.b.sum_outer(both).map(Some)
    }

    /// A few elements of sums, or of what is made of sums.
    fn few_of_sums(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let Some((&n, rest)) = ty.shape.dims().split_first() else { return Ok(None) };
        let ring = [Op::Add, Op::Mul].iter().all(|&op| self.may(op, ty.dtype));
        if n == 0 || n > FEW || !ty.dtype.is_numeric() || !ring || !self.may_open(n) {
            return Ok(None);
        }
        let row = array_type(ty.dtype, rest, &[])?;
        let Some(summands) = self.rows(&row, &[2, 2 * n], size)? else { return Ok(None) };
        let mut sums = self.b.sum_outer(summands)?;
        if self.rng.chance(50) {
            let other = self.b.op(Op::Mul, &[summands, summands])?;
            let other = self.b.sum_outer(other)?;
            sums = self.b.op(Op::Add, &[sums, other])?;
        }
        let f = self.b.index_function(&[n], |b, is| {
            let two = b.scalar(2i64)?;
            Ok(vec![b.op(Op::Mul, &[is[0], two])?])
        })?;
        self.b.gather(sums, f).map(Some)
    }

    /// Sums that are read more often than there are some, along their axes in another order.
    fn often_of_sums(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let &[n, m] = ty.shape.dims() else { return Ok(None) };
        if !ty.dtype.is_numeric() || n < 2 || m < 2 || n * m > FEW || !self.may_open(2 * n * m) {
            return Ok(None);
        }
        let scalar = Type::scalar(ty.dtype);
        let Some(summands) = self.rows(&scalar, &[2, m - 1, n], size)? else { return Ok(None) };
        let sums = self.b.sum_outer(summands)?;
        let f = self
            .b
            .index_function(&[2, n, m], |b, is| Ok(vec![b.op(Op::Sub, &[is[2], is[0]])?, is[1]]))?;
        let windows = self.b.gather(sums, f)?;
        self.b.sum_outer(windows).map(Some)
    }

    /// `scatter(t, [n], (i, j) => i + j)`.
    fn added_in_windows(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let Some((&n, rest)) = ty.shape.dims().split_first() else { return Ok(None) };
        if !ty.dtype.is_numeric() || !(3..=FEW).contains(&n) || !self.may_open(3 * n) {
            return Ok(None);
        }
        let row = array_type(ty.dtype, rest, &[])?;
        let Some(t) = self.rows(&row, &[n - 1, 2], size)? else { return Ok(None) };
        let f = self.window([n - 1, 2], None)?;
        self.b.scatter(&[n], t, f).map(Some)
    }

    /// The sum of `t[places[i + j]]`.
    fn looked_up_in_windows(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let n = self.any_size();
        let fits = ty.shape.numel() * 16 <= self.config.max_elements && self.may_open(16);
        let room = ty.shape.rank() + 2 <= self.config.max_rank;
        if !ty.dtype.is_numeric() || !fits || !room {
            return Ok(None);
        }
        let Some(t) = self.rows(ty, &[n], size / 2)? else { return Ok(None) };
        let places = self.integers(&[7], size / 2)?;
        let f = self.window([4, 4], Some(places))?;
        let windows = self.b.gather(t, f)?;
        let once = self.b.sum_outer(windows)?;
        self.b.sum_outer(once).map(Some)
    }

    /// `scatter(t, [n], (i, j) => places[i + j])`.
    fn put_in_windows(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let Some((&n, rest)) = ty.shape.dims().split_first() else { return Ok(None) };
        if !ty.dtype.is_numeric() || !self.may_open(16) {
            return Ok(None);
        }
        let row = array_type(ty.dtype, rest, &[])?;
        let Some(t) = self.rows(&row, &[4, 4], size / 2)? else { return Ok(None) };
        let places = self.integers(&[7], size / 2)?;
        let f = self.window([4, 4], Some(places))?;
        self.b.scatter(&[n], t, f).map(Some)
    }

    /// Two scatters to the same places, added.
    fn put_together(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let Some((&n, rest)) = ty.shape.dims().split_first() else { return Ok(None) };
        let m = 1 + self.rng.below(4);
        if !ty.dtype.is_numeric() || !self.may(Op::Add, ty.dtype) || !self.may_open(m) {
            return Ok(None);
        }
        let row = array_type(ty.dtype, rest, &[])?;
        let (t, u) = (self.rows(&row, &[m], size / 3)?, self.rows(&row, &[m], size / 3)?);
        let (Some(t), Some(u)) = (t, u) else { return Ok(None) };
        let places = self.integers(&[m], size / 3)?;
        let f = self.b.index_function(&[m], |b, is| Ok(vec![b.index(places, is)?]))?;
        let (t, u) = (self.b.scatter(&[n], t, f)?, self.b.scatter(&[n], u, f)?);
        self.b.op(Op::Add, &[t, u]).map(Some)
    }

    /// The sum over `j` of `where(k == j, t[j], 0)`.
    fn selected(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let n = 2 + self.rng.below(4);
        if !ty.dtype.is_numeric() || !self.may(Op::Eq, Dtype::I64) || !self.may_open(n) {
            return Ok(None);
        }
        let Some(t) = self.rows(ty, &[n], size / 2)? else { return Ok(None) };
        let k = self.term(&Type::scalar(Dtype::I64), size / 2)?;
        let nothing = self.nothing(ty)?;
        let chosen = self.b.build(n, |b, j| {
            let (here, row) = (b.op(Op::Eq, &[k, j])?, b.index(t, &[j])?);
            b.cond(here, row, nothing)
        })?;
        self.b.sum_outer(chosen).map(Some)
    }

    /// The squares of the sums over `i` of `where(places[i] == j, t[i, j], 0)`, added up.
    fn sorted_into_places(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let (m, n) = (8 + self.rng.below(2), 8 + self.rng.below(3));
        let fits = ty.shape.rank() == 0 && self.may_open(m * n);
        let ring = ty.dtype.is_numeric() && self.may(Op::Mul, ty.dtype);
        if !ring || !fits || !self.may(Op::Eq, Dtype::I64) {
            return Ok(None);
        }
        let Some(t) = self.rows(ty, &[m, n], size / 2)? else { return Ok(None) };
        let (places, nothing) = (self.integers(&[m], size / 2)?, self.nothing(ty)?);
        let masked = self.b.build(m, |b, i| {
            let place = b.index(places, &[i])?;
            b.build(n, |b, j| {
                let (here, x) = (b.op(Op::Eq, &[place, j])?, b.index(t, &[i, j])?);
                b.cond(here, x, nothing)
            })
        })?;
        let sums = self.b.sum_outer(masked)?;
        let squares = self.b.op(Op::Mul, &[sums, sums])?;
        self.b.sum_outer(squares).map(Some)
    }

    /// The sum over `j` of the sums over `i` of `a[i] * b[i, j]`.
    fn sums_in_turn(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let (m, n) = (2 + self.rng.below(2), 2 + self.rng.below(2));
        if !ty.dtype.is_numeric() || !self.may(Op::Mul, ty.dtype) {
            return Ok(None);
        }
        let Some(t) = self.rows(ty, &[m, n], size / 2)? else { return Ok(None) };
        let Some(a) = self.rows(ty, &[m], size / 2)? else { return Ok(None) };
        let copies = self.b.replicate(n, a)?;
        let copies = self.b.transpose(&[1, 0], copies)?;
        let products = self.b.op(Op::Mul, &[copies, t])?;
        let once = self.b.sum_outer(products)?;
        self.b.sum_outer(once).map(Some)
    }

    /// All elements of the first axes, added up: turned, or in one axis.
    fn sum_of_all(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        if !ty.dtype.is_numeric() {
            return Ok(None);
        }
        let (m, n) = (2 + self.rng.below(2), 2 + self.rng.below(2));
        let Some(t) = self.rows(ty, &[m, n], size)? else { return Ok(None) };
        if self.rng.chance(50) {
            let turned = self.b.transpose(&[1, 0], t)?;
            let once = self.b.sum_outer(turned)?;
            return self.b.sum_outer(once).map(Some);
        }
        let dims = [&[m * n], ty.shape.dims()].concat();
        let flat = self.b.reshape(&dims, t)?;
        self.b.sum_outer(flat).map(Some)
    }

    /// The sum of an array into which rows are put, at `[p % m, p]` for `p` in a table.
    fn sum_of_put(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let Some((&n, rest)) = ty.shape.dims().split_first() else { return Ok(None) };
        let m = 2 + self.rng.below(2);
        let fits = ty.shape.numel() * m <= self.config.max_elements && self.may_open(m);
        let room = ty.shape.rank() < self.config.max_rank && self.may(Op::Rem, Dtype::I64);
        if !ty.dtype.is_numeric() || !room || !fits {
            return Ok(None);
        }
        let row = array_type(ty.dtype, rest, &[])?;
        let Some(t) = self.rows(&row, &[m], size / 2)? else { return Ok(None) };
        let places = self.integers(&[m], size / 2)?;
        let f = self.b.index_function(&[m], |b, is| {
            let (place, m) = (b.index(places, is)?, b.scalar(m as i64)?);
            Ok(vec![b.op(Op::Rem, &[place, m])?, place])
        })?;
        let put = self.b.scatter(&[m, n], t, f)?;
        self.b.sum_outer(put).map(Some)
    }

    /// A loop one of whose inputs is copies, and one of whose outputs is an input.
    fn loop_of_copies(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let Some((&length, rest)) = ty.shape.dims().split_first() else { return Ok(None) };
        let ring = [Op::Add, Op::Mul].iter().all(|&op| self.may(op, ty.dtype));
        if !ty.dtype.is_numeric() || !ring || length < 2 || !self.may_open(length) {
            return Ok(None);
        }
        let row = array_type(ty.dtype, rest, &[])?;
        let (init, x) = (self.term(&row, size / 3)?, self.term(&row, size / 3)?);
        let copies = self.b.replicate(length, x)?;
        let other = self.term(ty, size / 3)?;
        let param = || Param::Value(row.clone());
        let step = self.b.lambda(&[param(), param(), param()], |b, vars| {
            let product = b.op(Op::Mul, &[vars[0], vars[1]])?;
            Ok(vec![b.op(Op::Add, &[product, vars[2]])?, vars[2], product])
        })?;
        let (init, inputs) = (vec![init].into(), vec![copies, other].into());
        let done = self.b.map_accum(MapAccum { length, reverse: false, init, inputs, step })?;
        let (copied, made) = (self.b.result(done, 1)?, self.b.result(done, 2)?);
        self.b.op(Op::Add, &[copied, made]).map(Some)
    }

    /// Two loops that go through the same states, and one that computes again what they have computed;
    /// or the second begins elsewhere, or the third reads something else.
    fn loops_again(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let Some((&length, rest)) = ty.shape.dims().split_first() else { return Ok(None) };
        let ring = [Op::Add, Op::Mul].iter().all(|&op| self.may(op, ty.dtype));
        if !ty.dtype.is_numeric() || !ring || length < 2 || !self.may_open(length) {
            return Ok(None);
        }
        let row = array_type(ty.dtype, rest, &[])?;
        let (init, xs) = (self.term(&row, size / 3)?, self.term(ty, size / 3)?);
        let param = || Param::Value(row.clone());
        let begin = if self.rng.chance(25) { self.fresh(&row, size / 4)? } else { init };
        let mut collected = Vec::with_capacity(2);
        for (saved, init) in [(true, init), (false, begin)] {
            let step = self.b.lambda(&[param(), param()], |b, vars| {
                let product = b.op(Op::Mul, &[vars[0], vars[1]])?;
                let next = b.op(Op::Add, &[product, vars[1]])?;
                Ok(vec![next, if saved { vars[0] } else { product }])
            })?;
            let (init, inputs) = (vec![init].into(), vec![xs].into());
            let done = self.b.map_accum(MapAccum { length, reverse: false, init, inputs, step })?;
            collected.push(self.b.result(done, 1)?);
        }
        let params: Vec<Param> = (0..4).map(|_| param()).collect();
        let step = self.b.lambda(&params, |b, vars| {
            let product = b.op(Op::Mul, &[vars[1], vars[3]])?;
            let again = b.op(Op::Add, &[product, vars[3]])?;
            let next = b.op(Op::Mul, &[again, vars[0]])?;
            Ok(vec![next, b.op(Op::Add, &[next, vars[2]])?])
        })?;
        let read = if self.rng.chance(25) { self.fresh(ty, size / 4)? } else { xs };
        let (init, inputs) = (vec![init].into(), [&collected[..], &[read]].concat().into());
        let reverse = self.rng.chance(50);
        let done = self.b.map_accum(MapAccum { length, reverse, init, inputs, step })?;
        self.b.result(done, 1).map(Some)
    }

    /// Parts of an array, each at a place that is a number.
    fn put_parts(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let Some((&n, rest)) = ty.shape.dims().split_first() else { return Ok(None) };
        let count = n.div_ceil(2) + 1;
        if !ty.dtype.is_numeric() || !self.may(Op::Add, ty.dtype) || !self.may_open(count) {
            return Ok(None);
        }
        let row = array_type(ty.dtype, rest, &[])?;
        let mut parts = Vec::with_capacity(count);
        for _ in 0..count {
            parts.push(self.term(&row, size / count)?);
        }
        // One past the end is dropped.
        let places: Vec<i64> = (0..count).map(|_| self.rng.below(n + 1) as i64).collect();
        let places = Array::from_vec(Shape::new("places", &[count])?, places)?;
        let (t, places) = (self.b.stack(&parts)?, self.b.constant(&places)?);
        let f = self.b.index_function(&[count], |b, is| Ok(vec![b.index(places, is)?]))?;
        self.b.scatter(&[n], t, f).map(Some)
    }

    /// Whether the largest or smallest of elements of a type may be looked for.
    fn may_compare(&self, ty: &Type) -> bool {
        ty.dtype.is_numeric() && !(self.config.smooth && ty.dtype.is_float())
    }

    /// `t[argmax(t)]`.
    fn best(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        if !self.may_compare(ty) || ty.shape.rank() > 0 {
            return Ok(None);
        }
        let n = 1 + self.rng.below(8);
        let Some(t) = self.rows(ty, &[n], size)? else { return Ok(None) };
        let extreme = self.extreme();
        let position = self.b.arg_extreme(extreme, t)?;
        self.b.index(t, &[position]).map(Some)
    }

    /// The largest or smallest along the first axis, or the last.
    fn best_of_rows(&mut self, ty: &Type, size: usize) -> Result<Option<TermId>> {
        let dims = ty.shape.dims().to_vec();
        let fits = self.may_open(ty.shape.numel()) && !dims.is_empty();
        if !self.may_compare(ty) || !fits {
            return Ok(None);
        }
        let n = 1 + self.rng.below(6);
        let last = self.rng.chance(50);
        let extreme = self.extreme();
        let Some(t) = (match last {
            false => self.rows(ty, &[n], size)?,
            true => self.rows(&array_type(ty.dtype, &[n], &[])?, &dims, size)?,
        }) else {
            return Ok(None);
        };
        let rows = match last {
            false => t,
            true => {
                let axes = std::iter::once(dims.len()).chain(0..dims.len()).collect::<Vec<_>>();
                self.b.transpose(&axes, t)?
            }
        };
        let position = self.b.arg_extreme(extreme, rows)?;
        let f = self.b.index_function(&dims, |b, is| {
            let at = b.index(position, is)?;
            Ok(if last { [is, &[at]].concat() } else { [&[at], is].concat() })
        })?;
        self.b.gather(t, f).map(Some)
    }
}
