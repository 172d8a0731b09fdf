//! Products of matrices that are subtracted from others: tiles and packing are those of the
//! contractions.

use cotan_schedule::Room;

use crate::contract::{Source, TileFunctions, TileJob, scattered};
use crate::isa;

use super::Ran;
use super::matrix::{Matrix, Number};

const ROWS: usize = Room::ROWS;
const COLUMNS: usize = Room::COLUMNS;
const DEPTH: usize = Room::DEPTH;

/// Packed operands begin at multiples of so many bytes.
const LINE: usize = 64;

/// What products need: the functions of the machine, and room for packed operands.
pub(super) struct Products<'a, E: Number> {
    machine: &'static TileFunctions<E>,
    left: *mut E,
    right: *mut E,
    pub(super) go_on: &'a mut dyn FnMut(usize) -> bool,
}

impl<'a, E: Number> Products<'a, E> {
    /// Products in some room, and what is left of it.
    ///
    /// # Safety
    /// The room has as many numbers of 8 bytes as [`Room::elements`] says, and what comes after.
    pub(super) unsafe fn new(
        room: *mut u8,
        rows: usize,
        columns: usize,
        go_on: &'a mut dyn FnMut(usize) -> bool,
    ) -> (Products<'a, E>, *mut u8) {
        let block = Room::new(rows, columns);
        let left = room.wrapping_add(room.align_offset(LINE));
        let size = (block.rows * block.depth * size_of::<E>()).next_multiple_of(LINE);
        let (left, right) = (left.cast(), left.wrapping_add(size).cast());
        let products = Products { machine: E::machine(isa::best()), left, right, go_on };
        (products, room.wrapping_add(block.elements() * size_of::<f64>()))
    }

    /// `c -= a b`, where `a` has `depth` columns.
    ///
    /// # Safety
    /// The matrices have these elements; `c` is apart from the others.
    pub(super) unsafe fn subtract(
        &mut self,
        c: Matrix<E>,
        a: Matrix<E>,
        b: Matrix<E>,
        (rows, columns, depth): (usize, usize, usize),
    ) -> Ran {
        let machine = self.machine;
        let (tile_rows, tile_columns) = (machine.rows, machine.columns(machine.rows));
        let deep = machine.depth.min(DEPTH);
        let high = ROWS / tile_rows * tile_rows;
        let wide = COLUMNS / tile_columns * tile_columns;
        let offsets = |count: usize, step: usize, to: &mut [i64]| {
            to.iter_mut().take(count).enumerate().for_each(|(n, at)| *at = (n * step) as i64);
        };
        let (mut depths, mut sides) = ([0i64; DEPTH], [0i64; COLUMNS]);
        let mut to_rows = [0i64; ROWS];
        offsets(ROWS.min(rows), c.row, &mut to_rows);
        for k in (0..depth).step_by(deep) {
            let deep = deep.min(depth - k);
            for j in (0..columns).step_by(wide) {
                let wide = wide.min(columns - j);
                self.go_on(deep * wide)?;
                offsets(deep, b.row, &mut depths);
                offsets(wide, b.column, &mut sides);
                let source = Source {
                    from: b.at(k, j).cast_const(),
                    rows: &sides[..wide],
                    depth: &depths[..deep],
                    checks: &[],
                };
                // SAFETY: elements of the matrix; there is room for a block.
                unsafe { (machine.pack_columns)(&source, self.right) };
                for i in (0..rows).step_by(high) {
                    let high = high.min(rows - i);
                    self.go_on(high * wide * deep / 4)?;
                    offsets(deep, a.column, &mut depths);
                    offsets(high, a.row, &mut sides);
                    let source = Source {
                        from: a.at(i, k).cast_const(),
                        rows: &sides[..high],
                        depth: &depths[..deep],
                        checks: &[],
                    };
                    // SAFETY: elements of the matrices; there is room for a block.
                    unsafe {
                        (machine.pack_rows)(&source, self.left);
                        self.block_of(c.from(i, j), &to_rows[..high], wide, deep);
                    }
                }
            }
        }
        Ok(())
    }

    /// The product of the packed operands.
    ///
    /// # Safety
    /// The target has the rows and columns, the operands are packed.
    unsafe fn block_of(&self, c: Matrix<E>, to_rows: &[i64], columns: usize, depth: usize) {
        let machine = self.machine;
        let (tile_rows, tile_columns) = (machine.rows, machine.columns(machine.rows));
        for j in (0..columns).step_by(tile_columns) {
            let wide = tile_columns.min(columns - j);
            for (strip, rows) in to_rows.chunks(tile_rows).enumerate() {
                let (tile, tail) = machine.tile(rows.len(), wide);
                let job = TileJob {
                    depth,
                    left: self.left.wrapping_add(strip * tile_rows * depth).cast_const(),
                    left_row: 1,
                    left_depth: tile_rows as i64,
                    right: self.right.wrapping_add(j * depth).cast_const(),
                    right_depth: tile_columns as i64,
                    to: c.at(0, j),
                    to_rows: rows.as_ptr(),
                    tail,
                    accumulate: true,
                    factor: E::of(-1.0),
                };
                // SAFETY: by the contract.
                unsafe {
                    if c.column == 1 {
                        tile(&job);
                    } else {
                        let step = |v: usize| (v * c.column) as i64;
                        scattered(job, tile, rows.len(), wide, step);
                    }
                }
            }
        }
    }
}
