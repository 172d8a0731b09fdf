//! One term of a given type, by former.

use cotan_array::{Array, Dtype, Element};
use cotan_ir::{Param, Result, TermId, Type};

use super::{Data, Former, Generator, array_type};
use crate::Rng;

/// How often each former is chosen where it fits.
const WEIGHTS: [(Former, usize); 19] = [
    (Former::Const, 1),
    (Former::Input, 2),
    (Former::Cond, 3),
    (Former::Op, 14),
    (Former::Index, 5),
    (Former::SumOuter, 4),
    (Former::Gather, 5),
    (Former::Scatter, 5),
    (Former::Stack, 3),
    (Former::Replicate, 2),
    (Former::Transpose, 5),
    (Former::Reshape, 2),
    (Former::Build1, 8),
    (Former::Iota, 14),
    (Former::OneHot, 2),
    (Former::ArgExtreme, 5),
    (Former::ArgSort, 8),
    (Former::SegmentArg, 8),
    (Former::Routine, 8),
];
/// The weight of `map_accum`, chosen together with the result that is read from it.
const MAP_ACCUM: usize = 4;
/// The weight of `while`, likewise.
const WHILE: usize = 3;
/// The weight of a function with a derivative of its own, likewise.
const CUSTOM: usize = 3;
/// The weight of a checkpoint, likewise.
const CHECKPOINT: usize = 3;

impl Generator<'_> {
    /// A former for a type, or `None` when only a leaf fits.
    pub(super) fn choose_former(&mut self, ty: &Type) -> Option<Former> {
        let several = [
            (Former::MapAccum, MAP_ACCUM),
            (Former::While, WHILE),
            (Former::Custom, CUSTOM),
            (Former::Checkpoint, CHECKPOINT),
        ];
        let all = || WEIGHTS.into_iter().chain(several);
        let weight = |former: Former, weight| match former {
            _ if !self.fits(former, ty) => 0,
            // Inside a lambda its indices should be used.
            Former::Index if !self.indices.is_empty() => 3 * weight,
            // There is little to permute.
            Former::Transpose if ty.shape.rank() < 2 => 1,
            _ => weight,
        };
        let weights: Vec<usize> = all().map(|(former, w)| weight(former, w)).collect();
        let chosen = self.rng.weighted(weights.iter().copied())?;
        all().nth(chosen).map(|(former, _)| former)
    }

    fn fits(&self, former: Former, ty: &Type) -> bool {
        let dims = ty.shape.dims();
        let outermost = dims.first().copied();
        let numeric = ty.dtype.is_numeric();
        let room = dims.len() < self.config.max_rank;
        let integer = ty.dtype == Dtype::I64;
        self.config.formers.contains(&former)
            && match former {
                Former::Const => true,
                Former::Input => self.b.inputs().len() < self.config.max_inputs,
                Former::Var | Former::Result => false,
                Former::Cond | Former::Index | Former::Reshape => true,
                Former::Op => self.config.ops.iter().any(|row| row.result == ty.dtype),
                Former::SumOuter => numeric && room,
                Former::Gather => self.may_open(dims.iter().product()),
                Former::Scatter => numeric && self.may_open(1),
                Former::Stack => outermost.is_some_and(|k| (1..=5).contains(&k)),
                Former::Replicate => outermost.is_some(),
                Former::Transpose => true,
                Former::Build1 => outermost.is_some_and(|k| self.may_open(k)),
                Former::Iota => integer && dims.len() == 1,
                Former::OneHot => numeric,
                Former::ArgExtreme => integer && room,
                Former::ArgSort | Former::SegmentArg => integer && outermost.is_some(),
                Former::Routine => self.routine_fits(ty),
                Former::MapAccum | Former::While => self.may_open(1),
                Former::Custom | Former::Checkpoint => self.may_open(1),
            }
    }

    /// A term of a type with this former outermost.
    pub(super) fn make(&mut self, former: Former, ty: &Type, size: usize) -> Result<TermId> {
        let dims = ty.shape.dims();
        let element = || Type::new(ty.dtype, ty.shape.drop_outer(1));
        match former {
            Former::Const => self.constant(ty),
            Former::Input => self.input(ty),
            Former::Var | Former::Result => self.leaf(ty),
            Former::Cond => {
                let [b, u, v] = self.three(size);
                let b = self.term(&Type::scalar(Dtype::Bool), b)?;
                let (u, v) = (self.term(ty, u)?, self.term(ty, v)?);
                self.b.cond(b, u, v)
            }
            Former::Op => self.operation(ty, size),
            Former::Index => {
                let count = 1 + self.rng.below(3);
                // Now and then an index without components.
                let count = if self.rng.chance(5) { 0 } else { count };
                let sizes = self.more_axes(count, dims);
                let t = self.term(&array_type(ty.dtype, &sizes, dims)?, size / 2)?;
                let ix = self.index(&sizes, size / 2)?;
                let read = self.b.index(t, &ix)?;
                if ix.is_empty() || !self.rng.chance(self.config.guarded_reads) {
                    return Ok(read);
                }
                self.guarded_read(read, &ix, &sizes)
            }
            Former::SumOuter => {
                let sizes = self.more_axes(1, dims);
                if sizes.is_empty() {
                    return self.leaf(ty);
                }
                let t = self.term(&array_type(ty.dtype, &sizes, dims)?, size)?;
                self.b.sum_outer(t)
            }
            Former::Gather => self.gather(ty, size),
            Former::Scatter => self.scatter(ty, size),
            Former::Stack => {
                let parts = self.split(size, dims[0]);
                let ts: Result<Vec<TermId>> =
                    parts.into_iter().map(|part| self.term(&element(), part)).collect();
                self.b.stack(&ts?)
            }
            Former::Replicate => {
                let t = self.term(&element(), size)?;
                self.b.replicate(dims[0], t)
            }
            Former::Transpose => {
                let mut perm: Vec<usize> = (0..self.rng.below(dims.len() + 1)).collect();
                if self.rng.chance(50) {
                    perm = (0..dims.len()).collect();
                }
                self.rng.shuffle(&mut perm);
                let mut source = dims.to_vec();
                for (n, &k) in perm.iter().enumerate() {
                    source[k] = dims[n];
                }
                let t = self.term(&array_type(ty.dtype, &source, &[])?, size)?;
                self.b.transpose(&perm, t)
            }
            Former::Reshape => {
                let source = self.same_count(dims);
                let t = self.term(&array_type(ty.dtype, &source, &[])?, size)?;
                self.b.reshape(dims, t)
            }
            Former::Build1 => {
                let k = dims[0];
                let body = |g: &mut Self, _: &[TermId]| Ok(vec![g.fresh(&element(), size)?]);
                let region = self.lambda(&[Param::Index(k)], k, body)?;
                self.b.build1(region)
            }
            Former::Iota => self.b.iota(dims[0]),
            Former::OneHot => {
                let (outer, inner) = dims.split_at(self.rng.below(dims.len() + 1));
                let v = self.term(&array_type(ty.dtype, inner, &[])?, size / 2)?;
                let ix = self.index(outer, size / 2)?;
                self.b.one_hot(outer, v, &ix)
            }
            Former::ArgExtreme => {
                let sizes = self.more_axes(1, dims);
                if sizes.is_empty() {
                    return self.leaf(ty);
                }
                let source = array_type(self.ordered_dtype(), &sizes, dims)?;
                let t = self.term(&source, size)?;
                let extreme = self.extreme();
                self.b.arg_extreme(extreme, t)
            }
            Former::ArgSort => {
                let source = array_type(self.ordered_dtype(), dims, &[])?;
                let t = self.term(&source, size)?;
                self.b.arg_sort(t)
            }
            Former::SegmentArg => self.segment_arg(ty, size),
            Former::Routine => self.routine(ty, size),
            Former::MapAccum => self.map_accum(ty, size),
            Former::While => self.while_accum(ty, size),
            Former::Custom => self.custom(ty, size),
            Former::Checkpoint => self.checkpoint(ty, size),
        }
    }

    /// The element type of something to be compared: no float when the result must be smooth.
    pub(super) fn ordered_dtype(&mut self) -> Dtype {
        if self.config.smooth { Dtype::I64 } else { *self.rng.pick(&Dtype::ALL) }
    }

    /// The sizes of three operands.
    fn three(&mut self, size: usize) -> [usize; 3] {
        let mut left = size;
        std::array::from_fn(|_| {
            let some = self.rng.below(left + 1);
            left -= some;
            some
        })
    }

    /// An existing term, an input, or a constant; inside a lambda often read by its index.
    pub(super) fn leaf(&mut self, ty: &Type) -> Result<TermId> {
        if !self.indices.is_empty() && self.rng.chance(40) && self.fits(Former::Index, ty) {
            return self.read_by_variable(ty);
        }
        self.plain_leaf(ty)
    }

    /// `t[i]` for an index variable `i`.
    fn read_by_variable(&mut self, ty: &Type) -> Result<TermId> {
        let (i, k) = self.index_variable()?;
        let scalar = ty.shape.rank() == 0;
        if scalar && ty.dtype == Dtype::I64 && self.rng.chance(50) {
            return Ok(i);
        }
        let rows = array_type(ty.dtype, &[k], ty.shape.dims())?;
        if rows.shape.rank() > self.config.max_rank || rows.shape.numel() > self.config.max_elements
        {
            return self.plain_leaf(ty);
        }
        let t = self.plain_leaf(&rows)?;
        self.pool.add(&self.b, t);
        self.b.index(t, &[i])
    }

    fn plain_leaf(&mut self, ty: &Type) -> Result<TermId> {
        let terms = self.pool.of_type(ty);
        if !terms.is_empty() && self.rng.chance(60) {
            return Ok(*self.rng.pick(terms));
        }
        if self.b.inputs().len() < self.config.max_inputs && self.rng.chance(60) {
            return self.input(ty);
        }
        self.constant(ty)
    }

    /// A new input.
    fn input(&mut self, ty: &Type) -> Result<TermId> {
        let n = self.b.inputs().len();
        // Some names that only a careful printer gets right.
        let name = match self.rng.below(12) {
            0 => format!("p.w{n}"),
            1 => format!("in {n}"),
            2 => format!("x{n}'"),
            _ => format!("x{n}"),
        };
        let t = self.b.input(name, ty.clone())?;
        self.pool.add(&self.b, t);
        Ok(t)
    }

    /// A constant.
    pub(super) fn constant(&mut self, ty: &Type) -> Result<TermId> {
        let data = self.config.data;
        match ty.dtype {
            Dtype::F64 => self.literal(ty, |rng| float(rng, data)),
            Dtype::F32 => self.literal(ty, |rng| float(rng, data) as f32),
            Dtype::I64 => self.literal(ty, |rng| integer(rng, data)),
            Dtype::Bool => self.literal(ty, |rng| rng.chance(50)),
        }
    }

    fn literal<T: Element>(
        &mut self,
        ty: &Type,
        mut element: impl FnMut(&mut Rng) -> T,
    ) -> Result<TermId> {
        let array = Array::from_fn(ty.shape.clone(), |_| element(self.rng))?;
        self.b.constant(&array)
    }
}

/// A float of the given kind.
pub(crate) fn float(rng: &mut Rng, data: Data) -> f64 {
    const SPECIAL: [f64; 16] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.0 + f64::EPSILON,
        1.0 - f64::EPSILON / 2.0,
        f64::MIN_POSITIVE,
        5e-324,
        -5e-324,
        f64::MAX,
        f64::MIN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        0.1,
    ];
    match data {
        Data::SmallIntegers => rng.between(-3, 3) as f64,
        Data::Special if rng.chance(35) => *rng.pick(&SPECIAL),
        Data::Special | Data::Moderate => (rng.unit() * 4.0 - 2.0) * 2f64.powi(rng.below(3) as i32),
    }
}

/// An integer of the given kind: often one that may serve as an index.
pub(crate) fn integer(rng: &mut Rng, data: Data) -> i64 {
    const SPECIAL: [i64; 6] = [i64::MIN, i64::MIN + 1, i64::MAX, 1 << 53, -1, 1 << 32];
    match data {
        Data::Special if rng.chance(10) => *rng.pick(&SPECIAL),
        Data::Special | Data::Moderate | Data::SmallIntegers => rng.between(-2, 6),
    }
}
