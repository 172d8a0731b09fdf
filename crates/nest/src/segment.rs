//! Extremes by segment.

use cotan_array::Dtype;
use cotan_ir::Extreme;

use crate::nest::BufferId;

/// An array of rows and columns that lies somewhere in a buffer: copies are not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strided {
    /// Where its elements are.
    pub buffer: BufferId,
    /// How many elements further the next row is.
    pub row: usize,
    /// How many elements further the next column is.
    pub column: usize,
}

/// For each segment and column, the row of the extreme element whose id is the segment; the number
/// of rows if there is none.
///
/// Of equal elements the first counts, and the first NaN before all else.
#[derive(Clone, Debug)]
pub struct SegmentStep {
    /// The largest, or the smallest.
    pub extreme: Extreme,
    /// What is compared; nothing if it is the number of the row.
    pub keys: Option<Strided>,
    /// The type of the keys.
    pub dtype: Dtype,
    /// Integers; those that are no segments count for none.
    pub ids: Strided,
    /// Integers, a row for each segment.
    pub to: BufferId,
    /// How many rows there are.
    pub rows: usize,
    /// How many columns there are.
    pub columns: usize,
    /// How many segments there are.
    pub segments: usize,
}

impl SegmentStep {
    /// The buffers that it touches.
    pub fn for_each_buffer(&self, f: &mut dyn FnMut(BufferId)) {
        self.keys.iter().chain([&self.ids]).for_each(|array| f(array.buffer));
        f(self.to);
    }

    /// The same, to change them.
    pub fn for_each_buffer_mut(&mut self, f: &dyn Fn(&mut BufferId)) {
        self.keys.iter_mut().chain([&mut self.ids]).for_each(|array| f(&mut array.buffer));
        f(&mut self.to);
    }
}
