//! Contractions: sums of products as matrix products.
//!
//! A nest that adds up products of two elements computes
//! $$c_{bij} = f \sum_k a_{bik} b_{bkj},$$
//! where $b$, $i$, $j$ and $k$ each stand for any number of its dimensions. All places are affine,
//! so each is a sum of a part for every group of dimensions: transposed, strided and batched
//! products and convolutions differ in nothing but these parts. Elements are packed in the order
//! in which they are needed, and tiles of the result are made in registers. Small products whose
//! operands already lie in a good order are not packed.
//!
//! The order of additions depends on the shapes and on the instruction set, on nothing else.

mod draft;
mod form;
mod pack;
mod run;
#[cfg(test)]
mod tests;
mod tile;
mod vector;

use cotan_array::Dtype;
use cotan_ir::scalar::Op;

use crate::isa::Isa;
use crate::nest::{Affine, BufferId, Instr, Nest, Val, Write};
use crate::plan::{Compute, Contract};
use crate::vm::Kernel;
pub(crate) use draft::{Cut, Draft};
use form::{Extents, Form, Group, Groups, Operand};
use run::Blocking;

/// A sum of products, ready to run.
#[derive(Debug)]
pub(crate) struct Contraction {
    dtype: Dtype,
    isa: Isa,
    extents: Extents,
    left: Operand,
    right: Operand,
    target: BufferId,
    place: Form,
    /// What the sums are multiplied by.
    factor: f64,
    /// Whether operands are read where they lie.
    direct: bool,
    blocking: Blocking,
    /// Whether the left operand is the second factor.
    swapped: bool,
    /// Factors that must be finite, in the order of the nest: where 0 times anything has to be 0.
    finite: [bool; 2],
    /// What to run instead of all this if they are not.
    fallback: Option<Box<Kernel>>,
    /// What to run with the sums, and whether that is cut into the same blocks.
    after: Option<(Box<Kernel>, bool)>,
    /// The ranges of a dimension that it is run for, if it is not run as a whole.
    ranged: Option<Ranged>,
    /// Room for packed operands and offsets.
    scratch: Option<BufferId>,
}

/// Ranges of a dimension, one after the other.
#[derive(Debug)]
struct Ranged {
    /// How many positions a range has.
    positions: usize,
    /// The elements from a position to the next: of the target and of the factors of the nest.
    steps: [i64; 3],
    /// The same contraction for a last range of fewer positions.
    rest: Option<Box<Contraction>>,
}

/// A load with its checks.
struct Load<'a> {
    buffer: BufferId,
    at: &'a Affine,
    checks: &'a [(Affine, i64)],
}

impl Load<'_> {
    fn of(nest: &Nest, v: Val) -> Option<Load<'_>> {
        match &nest.instrs[v.index()] {
            Instr::Load { buffer, at, checks } => Some(Load { buffer: *buffer, at, checks }),
            _ => None,
        }
    }

    fn depends(&self, dim: usize) -> bool {
        self.at.coeffs[dim] != 0 || self.checks.iter().any(|(check, _)| check.coeffs[dim] != 0)
    }

    /// The first and the last element that is read; `None` if that may be outside of the buffer.
    fn ends(&self, extents: &[usize], length: usize) -> Option<(usize, usize)> {
        if !self.checks.is_empty() {
            return Some((0, length.checked_sub(1)?));
        }
        let (lo, hi) = self.at.range(extents)?;
        let (lo, hi) = (usize::try_from(lo).ok()?, usize::try_from(hi).ok()?);
        (hi < length).then_some((lo, hi))
    }
}

impl Contraction {
    /// The contraction that a nest is, if it sums products of two loads: `a * b`, `scale(a, b)` or
    /// `strong_mul(a, b)`.
    /// `length` says how many elements a buffer has.
    pub(crate) fn recognise(
        nest: &Nest,
        isa: Isa,
        length: impl Fn(BufferId) -> usize,
    ) -> Option<Contraction> {
        let Write::Sum(at) = &nest.write else { return None };
        let dtype = nest.dtypes[nest.value.index()];
        if !matches!(dtype, Dtype::F64 | Dtype::F32) {
            return None;
        }
        let Instr::Op(op, args) = &nest.instrs[nest.value.index()] else { return None };
        // A factor that zeros of the other annihilate has to be finite.
        let finite = match op {
            Op::Mul => [false, false],
            Op::Scale => [false, true],
            Op::StrongMul => [true, true],
            _ => return None,
        };
        let [a, b] = args[..] else { return None };
        let (a, b) = (Load::of(nest, a)?, Load::of(nest, b)?);
        let total = nest.extents.iter().try_fold(1usize, |n, &k| n.checked_mul(k))?;
        if total == 0 || nest.reduced == 0 {
            return None;
        }
        let (lo, hi) = at.range(&nest.extents)?;
        if lo < 0 || usize::try_from(hi).ok()? >= length(nest.target) {
            return None;
        }
        let mut groups = Groups::default();
        let parallel = nest.extents.len() - nest.reduced;
        for dim in 0..nest.extents.len() {
            let group = match (a.depends(dim), b.depends(dim)) {
                _ if dim >= parallel => Group::Depth,
                (true, true) => Group::Batch,
                (true, false) => Group::Rows,
                (false, _) => Group::Columns,
            };
            groups.of(group).push(dim);
        }
        let lanes = lanes(isa, dtype);
        let mut contraction = if columns_on_the_left(nest, &mut groups, at, lanes) {
            let rows = std::mem::take(groups.of(Group::Rows));
            *groups.of(Group::Rows) = std::mem::replace(groups.of(Group::Columns), rows);
            Contraction::new(nest, isa, [&b, &a], true, &groups, &length)?
        } else {
            Contraction::new(nest, isa, [&a, &b], false, &groups, &length)?
        };
        if finite.contains(&true) {
            let whole = Kernel::new(nest.clone().collapse(None).0, false, None);
            contraction.set_finite(finite, whole);
        }
        Some(contraction)
    }

    fn new(
        nest: &Nest,
        isa: Isa,
        [a, b]: [&Load; 2],
        swapped: bool,
        groups: &Groups,
        length: &impl Fn(BufferId) -> usize,
    ) -> Option<Contraction> {
        let Write::Sum(at) = &nest.write else { return None };
        let mut affines = vec![at, a.at, b.at];
        affines.extend(a.checks.iter().chain(b.checks).map(|(check, _)| check));
        let (extents, forms) = groups.merge(&nest.extents, &affines);
        let mut forms = forms.into_iter();
        let (place, a_place, b_place) = (forms.next()?, forms.next()?, forms.next()?);
        let mut operand = |load: &Load, place: Form| {
            let size = length(load.buffer);
            let mut checks: Vec<(Form, i64)> =
                load.checks.iter().map(|(_, size)| *size).zip(forms.by_ref()).map(swap).collect();
            if !checks.is_empty() {
                checks.push((place.clone(), i64::try_from(size).ok()?));
            }
            let ends = load.ends(&nest.extents, size)?;
            Some(Operand { buffer: load.buffer, place, checks, ends })
        };
        let (left, right) = (operand(a, a_place)?, operand(b, b_place)?);
        let dtype = nest.dtypes[nest.value.index()];
        let blocking = Blocking::new(isa, dtype, &extents, [&left, &right]);
        let mut contraction = Contraction {
            dtype,
            isa,
            extents,
            left,
            right,
            target: nest.target,
            place,
            factor: 1.0,
            direct: false,
            blocking,
            swapped,
            finite: [false; 2],
            fallback: None,
            after: None,
            ranged: None,
            scratch: None,
        };
        contraction.direct = contraction.direct_pays();
        Some(contraction)
    }

    /// What belongs to the factors of the nest, for the left operand and the right one. A last block
    /// of few positions may have them the other way round than the others.
    fn operands<T>(&self, [a, b]: [T; 2]) -> [T; 2] {
        if self.swapped { [b, a] } else { [a, b] }
    }

    fn count(&self, group: Group) -> usize {
        self.extents.count(group)
    }

    /// Whether the elements of operands lie at equal distances.
    fn is_regular(&self) -> bool {
        let single = |group| self.extents.of(group).len() <= 1;
        [Group::Rows, Group::Columns, Group::Depth].into_iter().all(single)
            && self.left.checks.is_empty()
            && self.right.checks.is_empty()
    }

    /// Whether operands can be read where they lie: at equal distances, columns as neighbours.
    fn direct_works(&self) -> bool {
        self.is_regular()
            && (self.right.place.step(Group::Columns) == 1 || self.count(Group::Columns) == 1)
    }

    /// The operand, as an instruction of the nest, that is better copied with neighbours along a
    /// dimension: then both can be read where they lie, and it is small.
    pub(crate) fn to_turn(&self, nest: &Nest) -> Option<(usize, usize)> {
        let [rows, columns, depth] =
            [Group::Rows, Group::Columns, Group::Depth].map(|group| self.count(group));
        let bytes = columns * depth * self.dtype.size();
        let turns = !self.direct && self.is_regular() && rows >= TURN_ROWS;
        if !turns || columns < 2 || bytes > SMALL_OPERAND {
            return None;
        }
        let Instr::Op(_, args) = &nest.instrs[nest.value.index()] else { return None };
        let [left, right] = self.operands([args[0], args[1]]);
        let (left, other) = (Load::of(nest, left)?, Load::of(nest, right)?);
        let parallel = nest.extents.len() - nest.reduced;
        let own = |&dim: &usize| nest.extents[dim] > 1 && other.depends(dim) && !left.depends(dim);
        let mut dims = (0..parallel).filter(own);
        let (column, several) = (dims.next()?, dims.next().is_some());
        (!several).then_some((right.index(), column))
    }

    /// Whether reading them there is faster than packing them.
    fn direct_pays(&self) -> bool {
        let right = self.count(Group::Columns) * self.count(Group::Depth) * self.dtype.size();
        let few_rows = self.count(Group::Rows) <= 4 * self.blocking.rows;
        self.direct_works() && (few_rows || right <= SMALL_OPERAND)
    }

    /// Whether it is faster than the ordinary kernel of the nest.
    pub(crate) fn pays(&self) -> bool {
        let [rows, columns, depth] =
            [Group::Rows, Group::Columns, Group::Depth].map(|group| self.count(group));
        // A single row is not worth packing, a single column leaves vectors empty.
        if depth < 2 || columns < 2 || rows < 2 && !self.direct || columns * depth < 8 {
            return false;
        }
        let work = rows.saturating_mul(columns).saturating_mul(depth);
        // Lanes over the batch suit the ordinary kernel best.
        let apart = self.place.steps(Group::Columns).last() != Some(&1);
        match (self.direct, apart) {
            (true, false) => work >= SMALLEST_DIRECT,
            (true, true) | (false, false) => work >= SMALLEST_PACKED,
            (false, true) => work >= SMALLEST_SCATTERED,
        }
    }

    /// The bytes of scratch memory that a thread needs.
    pub(crate) fn scratch_bytes(&self) -> usize {
        let own = if self.direct { 0 } else { self.blocking.bytes };
        let rest = self.ranged.as_ref().and_then(|ranged| ranged.rest.as_ref());
        own.max(rest.map_or(0, |rest| rest.scratch_bytes()))
    }

    /// Says that it is made for a block of a dimension of a nest, and what is to be run for a last
    /// block of fewer positions.
    fn set_blocks(&mut self, nest: &Nest, cut: Cut, rest: Option<Contraction>) {
        let Write::Sum(at) = &nest.write else { return };
        let Instr::Op(_, args) = &nest.instrs[nest.value.index()] else { return };
        let step = |v: Val| Load::of(nest, v).map_or(0, |load| load.at.coeffs[cut.dim]);
        let steps = [at.coeffs[cut.dim], step(args[0]), step(args[1])];
        self.ranged = Some(Ranged { positions: cut.block, steps, rest: rest.map(Box::new) });
    }

    /// Says where the scratch memory is.
    pub(crate) fn set_scratch(&mut self, scratch: BufferId) {
        self.scratch = Some(scratch);
    }

    /// Multiplies the sums.
    pub(crate) fn set_factor(&mut self, factor: f64) {
        self.factor = factor;
    }

    /// Says which factor of the nest has to be finite, and what to run if it is not.
    fn set_finite(&mut self, finite: [bool; 2], fallback: Kernel) {
        self.finite = finite;
        self.fallback = Some(Box::new(fallback));
    }

    /// What it computes, in a line.
    pub(crate) fn describe(&self, name: &dyn Fn(BufferId) -> String) -> String {
        let [batch, rows, columns, depth] =
            [Group::Batch, Group::Rows, Group::Columns, Group::Depth].map(|g| self.count(g));
        let [to, a, b] = [self.target, self.left.buffer, self.right.buffer].map(name);
        let operations = batch * rows * columns * depth;
        let how = if self.direct { "where they lie" } else { "packed" };
        let factor = if self.factor == 1.0 { String::new() } else { format!("{} ", self.factor) };
        format!(
            "{operations} multiplications\n{to} = {factor}{a} * {b}, {batch} times \
             {rows} x {depth} by {depth} x {columns}, {how}"
        )
    }

    /// The nests beside the products.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn kernels_mut(&mut self) -> impl Iterator<Item = &mut Kernel> {
        let after = self.after.as_mut().map(|(after, _)| &mut **after);
        [self.fallback.as_deref_mut(), after].into_iter().flatten()
    }

    /// Says what to run with the sums, and whether for the same blocks or for all each time.
    fn set_after(&mut self, after: Kernel, blocks: bool) {
        self.after = Some((Box::new(after), blocks));
    }
}

impl Contract for Contraction {
    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        [self.target, self.left.buffer, self.right.buffer].into_iter().for_each(&mut *f);
        self.scratch.into_iter().for_each(&mut *f);
        let after = self.after.as_ref().map(|(after, _)| after);
        let kernels = self.fallback.iter().chain(after);
        kernels.for_each(|kernel| kernel.nest.for_each_buffer(f));
    }
}

/// A right operand of at most so many bytes is near enough where it lies, as measured.
const SMALL_OPERAND: usize = 96 << 10;

/// An operand that is multiplied by so many rows may be copied to another order first.
const TURN_ROWS: usize = 16;

/// Multiplications below which the ordinary kernel is faster, as measured: for operands that are
/// read where they lie, for packed ones, and for a result whose columns are no neighbours.
const SMALLEST_DIRECT: usize = 16;
const SMALLEST_PACKED: usize = 256;
const SMALLEST_SCATTERED: usize = 4096;

/// The parts of a pair in the other order.
fn swap<A, B>((a, b): (A, B)) -> (B, A) {
    (b, a)
}

/// The elements of a vector.
fn lanes(isa: Isa, dtype: Dtype) -> usize {
    Blocking::lanes(isa, dtype)
}

/// Whether the dimensions of the rows should be columns, which run along vectors: those with
/// neighbours in the result, unless they would leave most of a vector empty.
fn columns_on_the_left(nest: &Nest, groups: &mut Groups, at: &Affine, lanes: usize) -> bool {
    let count = |dims: &[usize]| dims.iter().map(|&dim| nest.extents[dim]).product::<usize>();
    let unit = |dims: &[usize]| dims.iter().any(|&dim| at.coeffs[dim] == 1);
    let (rows, columns) = (groups.of(Group::Rows).clone(), groups.of(Group::Columns).clone());
    let (m, n) = (count(&rows), count(&columns));
    let cost = |rows: usize, columns: usize| rows.saturating_mul(columns.next_multiple_of(lanes));
    let (as_is, swapped) = (cost(m, n), cost(n, m));
    match (unit(&rows), unit(&columns)) {
        (true, false) => swapped < as_is.saturating_mul(2),
        (false, true) => as_is >= swapped.saturating_mul(2),
        _ => swapped < as_is,
    }
}
