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
pub(crate) mod form;

use cotan_array::Dtype;
use cotan_ir::TermId;
use cotan_ir::scalar::Op;
use cotan_nest::{Affine, BufferId, Instr, Nest, Touches, Val, Write};

use crate::order::LoopOrder;
use crate::target::{Target, TileShape};
pub(crate) use draft::{Cut, Cuts};
use form::{Axis, Extents, Groups, Operand, PlaceForm};

/// A product of matrices: what of a contraction is the same for every machine, and its blocks.
#[derive(Clone, Debug)]
pub struct Product {
    /// The type of the elements.
    pub dtype: Dtype,
    /// How many elements a vector has on the machine that this is for.
    pub lanes: usize,
    /// The dimensions, as rows, columns, depth and batch.
    pub extents: Extents,
    /// The operand whose rows are those of the result.
    pub left: Operand,
    /// The operand whose columns are those of the result.
    pub right: Operand,
    /// What it fills.
    pub target: BufferId,
    /// The places of the result.
    pub place: PlaceForm,
    /// What the sums are multiplied by.
    pub factor: f64,
    /// Whether operands are read where they lie.
    pub direct: bool,
    /// The sizes of tiles and blocks.
    pub blocking: Blocking,
    /// Whether the left operand is the second factor.
    swapped: bool,
}

/// A sum of products with what is run besides, by kernels of some kind.
#[derive(Debug)]
pub struct Contraction<K> {
    /// The product of matrices, for a full range if it is not run as a whole.
    pub product: Product,
    /// Factors that must be finite, in the order of the nest: where 0 times anything has to be 0.
    pub finite: [bool; 2],
    /// What to run instead of all this if they are not.
    pub fallback: Option<Box<K>>,
    /// What to run with the sums, and whether that is cut into the same blocks.
    pub after: Option<(Box<K>, bool)>,
    /// The ranges of a dimension that it is run for, if it is not run as a whole.
    pub ranged: Option<Ranged>,
    /// Room for packed operands and offsets.
    pub scratch: Option<BufferId>,
    /// The term that it is computed for.
    pub source: Option<TermId>,
}

/// Ranges of a dimension, one after the other.
#[derive(Clone, Debug)]
pub struct Ranged {
    /// How many positions a range has.
    pub positions: usize,
    /// The elements from a position to the next: of the target and of the factors of the nest.
    pub steps: [i64; 3],
    /// The same product for a last range of fewer positions.
    pub rest: Option<Box<Product>>,
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

impl Product {
    /// The product that a nest is, if it sums products of two loads: `a * b`, `scale(a, b)` or
    /// `strong_mul(a, b)`.
    /// `length` says how many elements a buffer has.
    pub fn recognise(
        nest: &Nest,
        target: &Target,
        length: impl Fn(BufferId) -> usize,
    ) -> Option<Product> {
        let Write::Sum(at) = &nest.write else { return None };
        let dtype = nest.dtypes[nest.value.index()];
        if !matches!(dtype, Dtype::F64 | Dtype::F32) {
            return None;
        }
        let Instr::Op(op, args) = &nest.instrs[nest.value.index()] else { return None };
        factors_to_be_finite(*op)?;
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
                _ if dim >= parallel => Axis::Depth,
                (true, true) => Axis::Batch,
                (true, false) => Axis::Rows,
                (false, _) => Axis::Columns,
            };
            groups.of(group).push(dim);
        }
        let lanes = target.tile(dtype).lanes;
        if columns_on_the_left(nest, &mut groups, at, lanes) {
            let rows = std::mem::take(groups.of(Axis::Rows));
            *groups.of(Axis::Rows) = std::mem::replace(groups.of(Axis::Columns), rows);
            Product::new(nest, target, [&b, &a], true, &groups, &length)
        } else {
            Product::new(nest, target, [&a, &b], false, &groups, &length)
        }
    }

    fn new(
        nest: &Nest,
        target: &Target,
        [a, b]: [&Load; 2],
        swapped: bool,
        groups: &Groups,
        length: &impl Fn(BufferId) -> usize,
    ) -> Option<Product> {
        let Write::Sum(at) = &nest.write else { return None };
        let mut affines = vec![at, a.at, b.at];
        affines.extend(a.checks.iter().chain(b.checks).map(|(check, _)| check));
        let (extents, forms) = groups.merge(&nest.extents, &affines);
        let mut forms = forms.into_iter();
        let (place, a_place, b_place) = (forms.next()?, forms.next()?, forms.next()?);
        let mut operand = |load: &Load, place: PlaceForm| {
            let size = length(load.buffer);
            let mut checks: Vec<(PlaceForm, i64)> =
                load.checks.iter().map(|(_, size)| *size).zip(forms.by_ref()).map(swap).collect();
            if !checks.is_empty() {
                checks.push((place.clone(), i64::try_from(size).ok()?));
            }
            let ends = load.ends(&nest.extents, size)?;
            Some(Operand { buffer: load.buffer, place, checks, ends })
        };
        let (left, right) = (operand(a, a_place)?, operand(b, b_place)?);
        let dtype = nest.dtypes[nest.value.index()];
        let blocking = Blocking::new(target, dtype, &extents, [&left, &right]);
        let mut product = Product {
            dtype,
            lanes: target.tile(dtype).lanes,
            extents,
            left,
            right,
            target: nest.target,
            place,
            factor: 1.0,
            direct: false,
            blocking,
            swapped,
        };
        product.direct = product.direct_pays(target);
        Some(product)
    }

    /// What belongs to the factors of the nest, for the left operand and the right one. A last block
    /// of few positions may have them the other way round than the others.
    pub fn operands<T>(&self, [a, b]: [T; 2]) -> [T; 2] {
        if self.swapped { [b, a] } else { [a, b] }
    }

    /// How many positions a group of dimensions has.
    pub fn count(&self, group: Axis) -> usize {
        self.extents.count(group)
    }

    /// Whether the elements of operands lie at equal distances.
    fn is_regular(&self) -> bool {
        let single = |group| self.extents.of(group).len() <= 1;
        [Axis::Rows, Axis::Columns, Axis::Depth].into_iter().all(single)
            && self.left.checks.is_empty()
            && self.right.checks.is_empty()
    }

    /// Whether operands can be read where they lie: at equal distances, columns as neighbours.
    pub fn direct_works(&self) -> bool {
        self.is_regular()
            && (self.right.place.step(Axis::Columns) == 1 || self.count(Axis::Columns) == 1)
    }

    /// The operand, as an instruction of the nest, that is better copied with neighbours along a
    /// dimension: then both can be read where they lie, and it is small.
    pub(crate) fn to_turn(&self, nest: &Nest, target: &Target) -> Option<(usize, usize)> {
        let [rows, columns, depth] =
            [Axis::Rows, Axis::Columns, Axis::Depth].map(|group| self.count(group));
        let bytes = columns * depth * self.dtype.size();
        let turns = !self.direct && self.is_regular() && rows >= target.turned_rows;
        if !turns || columns < 2 || bytes > target.near_operand_bytes {
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
    fn direct_pays(&self, target: &Target) -> bool {
        let right = self.count(Axis::Columns) * self.count(Axis::Depth) * self.dtype.size();
        let few_rows = self.count(Axis::Rows) <= 4 * self.blocking.rows;
        self.direct_works() && (few_rows || right <= target.near_operand_bytes)
    }

    /// Whether it is faster than the ordinary kernel of the nest.
    pub(crate) fn pays(&self, target: &Target) -> bool {
        let [rows, columns, depth] =
            [Axis::Rows, Axis::Columns, Axis::Depth].map(|group| self.count(group));
        // A single row is not worth packing, a single column leaves vectors empty.
        if depth < 2 || columns < 2 || rows < 2 && !self.direct || columns * depth < 8 {
            return false;
        }
        let work = rows.saturating_mul(columns).saturating_mul(depth);
        // Lanes over the batch suit the ordinary kernel best.
        let apart = self.place.steps(Axis::Columns).last() != Some(&1);
        match (self.direct, apart) {
            (true, false) => work >= target.min_direct_products,
            (true, true) | (false, false) => work >= target.min_packed_products,
            (false, true) => work >= target.min_scattered_products,
        }
    }

    fn scratch_bytes(&self) -> usize {
        if self.direct { 0 } else { self.blocking.bytes }
    }

    /// What it computes, in a line.
    pub fn describe(&self, name: &dyn Fn(BufferId) -> String) -> String {
        let [batch, rows, columns, depth] =
            [Axis::Batch, Axis::Rows, Axis::Columns, Axis::Depth].map(|g| self.count(g));
        let [to, a, b] = [self.target, self.left.buffer, self.right.buffer].map(name);
        let operations = batch * rows * columns * depth;
        let how = if self.direct { "where they lie" } else { "packed" };
        let factor = if self.factor == 1.0 { String::new() } else { format!("{} ", self.factor) };
        format!(
            "{operations} multiplications\n{to} = {factor}{a} * {b}, {batch} times \
             {rows} x {depth} by {depth} x {columns}, {how}"
        )
    }
}

impl<K> Contraction<K> {
    /// The bytes of scratch memory that a thread needs.
    pub fn scratch_bytes(&self) -> usize {
        let rest = self.ranged.as_ref().and_then(|ranged| ranged.rest.as_ref());
        self.product.scratch_bytes().max(rest.map_or(0, |rest| rest.scratch_bytes()))
    }

    /// The nests beside the products.
    pub fn kernels_mut(&mut self) -> impl Iterator<Item = &mut K> {
        let after = self.after.as_mut().map(|(after, _)| &mut **after);
        [self.fallback.as_deref_mut(), after].into_iter().flatten()
    }

    /// The same with other kernels.
    pub fn map<L>(self, f: &mut impl FnMut(K) -> L) -> Contraction<L> {
        let Contraction { product, finite, fallback, after, ranged, scratch, source } = self;
        let fallback = fallback.map(|kernel| Box::new(f(*kernel)));
        let after = after.map(|(kernel, blocks)| (Box::new(f(*kernel)), blocks));
        Contraction { product, finite, fallback, after, ranged, scratch, source }
    }
}

impl Contraction<LoopOrder> {
    /// The contraction that a nest is, in one piece. `length` says how many elements a buffer has.
    pub fn recognise(
        nest: &Nest,
        target: &Target,
        length: impl Fn(BufferId) -> usize,
    ) -> Option<Contraction<LoopOrder>> {
        let product = Product::recognise(nest, target, length)?;
        let Instr::Op(op, _) = &nest.instrs[nest.value.index()] else { return None };
        let finite = factors_to_be_finite(*op)?;
        let whole = || Box::new(LoopOrder::new(nest.clone().collapse(None).0, false, None, target));
        let fallback = finite.contains(&true).then(whole);
        let source = nest.source;
        let (after, ranged, scratch) = (None, None, None);
        Some(Contraction { product, finite, fallback, after, ranged, scratch, source })
    }
}

impl<K: Touches> Touches for Contraction<K> {
    fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        let Product { target, left, right, .. } = &self.product;
        [*target, left.buffer, right.buffer].into_iter().for_each(&mut *f);
        self.scratch.into_iter().for_each(&mut *f);
        let after = self.after.as_ref().map(|(after, _)| after);
        self.fallback.iter().chain(after).for_each(|kernel| kernel.for_each_buffer(f));
    }
}

/// The factors of a product that have to be finite: those that zeros of the other annihilate. `None`
/// if the operation is no product.
fn factors_to_be_finite(op: Op) -> Option<[bool; 2]> {
    match op {
        Op::Mul => Some([false, false]),
        Op::Scale => Some([false, true]),
        Op::StrongMul => Some([true, true]),
        _ => None,
    }
}

/// The sizes of tiles and blocks.
#[derive(Clone, Copy, Debug)]
pub struct Blocking {
    /// The rows of a full tile.
    pub rows: usize,
    /// The columns of a full tile.
    pub columns: usize,
    /// The rows of a block.
    pub row_block: usize,
    /// The columns of a block.
    pub column_block: usize,
    /// How many products are added up at once.
    pub depth_block: usize,
    /// The bytes of the left operand of a block, packed.
    pub left: usize,
    /// The bytes of the right operand of a block, packed.
    pub right: usize,
    /// The bytes of scratch memory: both operands, and the offsets of their elements.
    pub bytes: usize,
}

impl Blocking {
    fn new(
        target: &Target,
        dtype: Dtype,
        extents: &Extents,
        [left, right]: [&Operand; 2],
    ) -> Blocking {
        let TileShape { rows, columns, depth, .. } = *target.tile(dtype);
        // Blocks of about equal size.
        let equal = |count: usize, most: usize, multiple: usize| {
            count.div_ceil(count.div_ceil(most).max(1)).max(1).next_multiple_of(multiple)
        };
        let row_block = equal(extents.count(Axis::Rows), target.block_rows, rows);
        let most_columns = target.block_columns / columns * columns;
        let column_block = equal(extents.count(Axis::Columns), most_columns, columns);
        let depth_block = equal(extents.count(Axis::Depth), depth, 1);
        let line = target.caches.line_bytes;
        let packed = |count: usize| (count * depth_block * dtype.size()).next_multiple_of(line);
        let offsets = (1 + left.checks.len()) * (row_block + depth_block)
            + (1 + right.checks.len()) * (column_block + depth_block)
            + row_block
            + column_block;
        let (left, right) = (packed(row_block), packed(column_block));
        Blocking {
            rows,
            columns,
            row_block,
            column_block,
            depth_block,
            left,
            right,
            bytes: left + right + (offsets * size_of::<i64>()).next_multiple_of(line),
        }
    }
}

/// The parts of a pair in the other order.
fn swap<A, B>((a, b): (A, B)) -> (B, A) {
    (b, a)
}

/// Whether the dimensions of the rows should be columns, which run along vectors: those with
/// neighbours in the result, unless they would leave most of a vector empty.
fn columns_on_the_left(nest: &Nest, groups: &mut Groups, at: &Affine, lanes: usize) -> bool {
    let count = |dims: &[usize]| dims.iter().map(|&dim| nest.extents[dim]).product::<usize>();
    let unit = |dims: &[usize]| dims.iter().any(|&dim| at.coeffs[dim] == 1);
    let (rows, columns) = (groups.of(Axis::Rows).clone(), groups.of(Axis::Columns).clone());
    let (m, n) = (count(&rows), count(&columns));
    let cost = |rows: usize, columns: usize| rows.saturating_mul(columns.next_multiple_of(lanes));
    let (as_is, swapped) = (cost(m, n), cost(n, m));
    match (unit(&rows), unit(&columns)) {
        (true, false) => swapped < as_is.saturating_mul(2),
        (false, true) => as_is >= swapped.saturating_mul(2),
        _ => swapped < as_is,
    }
}
