//! The innermost part of a product: a tile of the result in registers.
//!
//! One body, in as many instances as there are instruction sets, rows and columns of a tile.

use cotan_schedule::TileShape;

use super::pack::{self, Pack};
use crate::isa::Isa;

use crate::vector::{Plain, Real, Vector};

/// Rows of a tile at most, on any machine.
pub(super) const MOST_ROWS: usize = 8;

/// Columns of a tile at most, on any machine.
pub(super) const MOST_COLUMNS: usize = 128;

/// What a tile is made of. Distances are in elements.
pub(crate) struct TileJob<E> {
    /// How many products are added up.
    pub depth: usize,
    /// The first element of the left operand, how far the next row is, and the next column.
    pub left: *const E,
    pub left_row: i64,
    pub left_depth: i64,
    /// The first element of the right operand, and how far the next row is; columns are neighbours.
    pub right: *const E,
    pub right_depth: i64,
    /// Where the tile goes, and how far from there its rows begin; columns are neighbours.
    pub to: *mut E,
    pub to_rows: *const i64,
    /// The elements of the last vector of a row.
    pub tail: usize,
    /// Whether the tile is added to what is there.
    pub accumulate: bool,
    /// What the sums are multiplied by.
    pub factor: E,
}

/// Makes a tile.
pub(crate) type MakeTile<E> = unsafe fn(&TileJob<E>);

/// Asks for a line of memory that is needed soon.
#[inline(always)]
fn prefetch<E>(at: *const E) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, at any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// `COUNT` vectors in each of `ROWS` rows; the last vector has `tail` elements if `PART`.
///
/// # Safety
/// The operands and the target have the elements that the job speaks of; the machine has the
/// instructions of the vectors.
#[inline(always)]
unsafe fn tile<V: Vector, const ROWS: usize, const COUNT: usize, const PART: bool>(
    job: &TileJob<V::Element>,
) {
    // SAFETY: by the contract. Pointers beyond the last position are made, but not read.
    unsafe {
        let mut sums = [[V::splat(V::Element::ZERO); COUNT]; ROWS];
        for r in 0..ROWS {
            prefetch(job.to.wrapping_offset(job.to_rows.add(r).read() as isize));
        }
        let (mut left, mut right) = (job.left, job.right);
        for _ in 0..job.depth {
            let mut row = [V::splat(V::Element::ZERO); COUNT];
            for (v, x) in row.iter_mut().enumerate() {
                let from = right.add(v * V::LANES);
                *x = if PART && v + 1 == COUNT {
                    V::load_some(from, job.tail)
                } else {
                    V::load(from)
                };
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let x = V::splat(left.offset(r as isize * job.left_row as isize).read());
                for (sum, &y) in sums.iter_mut().zip(&row) {
                    *sum = x.mul_add(y, *sum);
                }
            }
            left = left.wrapping_offset(job.left_depth as isize);
            right = right.wrapping_offset(job.right_depth as isize);
        }
        let factor = V::splat(job.factor);
        for (r, sums) in sums.iter().enumerate() {
            let to = job.to.offset(job.to_rows.add(r).read() as isize);
            for (v, &sum) in sums.iter().enumerate() {
                let (to, part) = (to.add(v * V::LANES), PART && v + 1 == COUNT);
                let before = match (job.accumulate, part) {
                    (false, _) => V::splat(V::Element::ZERO),
                    (true, false) => V::load(to),
                    (true, true) => V::load_some(to, job.tail),
                };
                let x = sum.mul_add(factor, before);
                if part {
                    x.store_some(to, job.tail)
                } else {
                    x.store(to)
                };
            }
        }
    }
}

/// # Safety
/// As [`tile`].
unsafe fn plain<V: Vector, const ROWS: usize, const COUNT: usize, const PART: bool>(
    job: &TileJob<V::Element>,
) {
    // SAFETY: by the contract.
    unsafe { tile::<V, ROWS, COUNT, PART>(job) }
}

/// # Safety
/// As [`tile`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<V: Vector, const ROWS: usize, const COUNT: usize, const PART: bool>(
    job: &TileJob<V::Element>,
) {
    // SAFETY: by the contract.
    unsafe { tile::<V, ROWS, COUNT, PART>(job) }
}

/// # Safety
/// As [`tile`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
unsafe fn avx512<V: Vector, const ROWS: usize, const COUNT: usize, const PART: bool>(
    job: &TileJob<V::Element>,
) {
    // SAFETY: by the contract.
    unsafe { tile::<V, ROWS, COUNT, PART>(job) }
}

/// The functions for one instruction set and one type of elements.
pub(crate) struct TileFunctions<E: 'static> {
    /// The rows of a full tile.
    pub rows: usize,
    /// The elements of a vector.
    pub lanes: usize,
    /// How many products are added up at once: so that the columns of a tile and its rows, so
    /// deep, stay in the first cache.
    pub depth: usize,
    /// By rows, vectors, and whether the last vector is partly used.
    tiles: &'static [&'static [[MakeTile<E>; 2]]],
    /// Packs rows of the left operand for full tiles.
    pub pack_rows: Pack<E>,
    /// Packs columns of the right operand for full tiles.
    pub pack_columns: Pack<E>,
}

impl<E> TileFunctions<E> {
    /// The most columns of a tile of so many rows.
    pub(crate) fn columns(&self, rows: usize) -> usize {
        self.lanes * self.tiles[rows - 1].len()
    }

    /// The function for a tile of so many rows and columns, and the elements of its last vector.
    pub(crate) fn tile(&self, rows: usize, columns: usize) -> (MakeTile<E>, usize) {
        let vectors = columns.div_ceil(self.lanes);
        let tail = columns - (vectors - 1) * self.lanes;
        (self.tiles[rows - 1][vectors - 1][usize::from(tail != self.lanes)], tail)
    }
}

/// The tiles are listed by rows, each with the numbers of vectors in a row. Registers must hold the
/// sums, a row of the right operand, an element of the left one, and one more: compilers move
/// registers around when none is free.
macro_rules! machine {
    ($name:ident = $entry:ident, $vector:ty, $element:ty, $rows:literal x $columns:literal,
     $depth:literal deep, { $($r:literal: $($v:literal)*;)* }) => {
        static $name: TileFunctions<$element> = TileFunctions {
            rows: $rows,
            lanes: <$vector as Vector>::LANES,
            depth: $depth,
            tiles: &[$(
                &[$([$entry::<$vector, $r, $v, false>, $entry::<$vector, $r, $v, true>]),*]
            ),*],
            pack_rows: pack::by_isa::$entry::<$element, $rows>,
            pack_columns: pack::by_isa::$entry::<$element, $columns>,
        };
    };
}

machine!(PLAIN_F64 = plain, Plain<f64, 2>, f64, 4 x 4, 256 deep,
    { 1: 1 2 3 4 5 6; 2: 1 2 3 4; 3: 1 2; 4: 1 2; });
machine!(PLAIN_F32 = plain, Plain<f32, 4>, f32, 4 x 8, 256 deep,
    { 1: 1 2 3 4 5 6; 2: 1 2 3 4; 3: 1 2; 4: 1 2; });

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use crate::vector::x86::{F32x8, F32x16, F64x4, F64x8};

    // Sixteen registers.
    machine!(AVX2_F64 = avx2, F64x4, f64, 6 x 8, 256 deep,
        { 1: 1 2 3 4 5 6; 2: 1 2 3 4; 3: 1 2; 4: 1 2; 5: 1 2; 6: 1 2; });
    machine!(AVX2_F32 = avx2, F32x8, f32, 6 x 16, 256 deep,
        { 1: 1 2 3 4 5 6; 2: 1 2 3 4; 3: 1 2; 4: 1 2; 5: 1 2; 6: 1 2; });
    // Thirty-two registers.
    machine!(AVX512_F64 = avx512, F64x8, f64, 8 x 24, 192 deep,
        { 1: 1 2 3 4 5 6 7 8; 2: 1 2 3 4 5 6; 3: 1 2 3; 4: 1 2 3; 5: 1 2 3; 6: 1 2 3; 7: 1 2 3;
          8: 1 2 3; });
    machine!(AVX512_F32 = avx512, F32x16, f32, 8 x 48, 192 deep,
        { 1: 1 2 3 4 5 6 7 8; 2: 1 2 3 4 5 6; 3: 1 2 3; 4: 1 2 3; 5: 1 2 3; 6: 1 2 3; 7: 1 2 3;
          8: 1 2 3; });

    pub(super) fn wide(isa: Isa) -> &'static TileFunctions<f64> {
        match isa {
            Isa::Plain => &PLAIN_F64,
            Isa::Avx2 => &AVX2_F64,
            Isa::Avx512 => &AVX512_F64,
        }
    }

    pub(super) fn narrow(isa: Isa) -> &'static TileFunctions<f32> {
        match isa {
            Isa::Plain => &PLAIN_F32,
            Isa::Avx2 => &AVX2_F32,
            Isa::Avx512 => &AVX512_F32,
        }
    }
}

/// Elements for which there are machines.
pub(crate) trait HasTiles: Real {
    /// The functions for an instruction set that the machine has.
    fn machine(isa: Isa) -> &'static TileFunctions<Self>;
}

impl HasTiles for f64 {
    fn machine(isa: Isa) -> &'static TileFunctions<f64> {
        #[cfg(target_arch = "x86_64")]
        return x86::wide(isa);
        #[cfg(not(target_arch = "x86_64"))]
        match isa {
            Isa::Plain | Isa::Avx2 | Isa::Avx512 => &PLAIN_F64,
        }
    }
}

impl HasTiles for f32 {
    fn machine(isa: Isa) -> &'static TileFunctions<f32> {
        #[cfg(target_arch = "x86_64")]
        return x86::narrow(isa);
        #[cfg(not(target_arch = "x86_64"))]
        match isa {
            Isa::Plain | Isa::Avx2 | Isa::Avx512 => &PLAIN_F32,
        }
    }
}

/// The tiles of an instruction set, for elements of eight bytes and of four.
pub(crate) fn tile_shapes(isa: Isa) -> [TileShape; 2] {
    fn shape<E>(machine: &TileFunctions<E>) -> TileShape {
        let TileFunctions { rows, lanes, depth, .. } = *machine;
        TileShape { lanes, rows, columns: machine.columns(rows), depth }
    }
    [shape(f64::machine(isa)), shape(f32::machine(isa))]
}
