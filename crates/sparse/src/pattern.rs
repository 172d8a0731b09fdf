//! Where a matrix has entries, in compressed rows.

use std::fmt;

use cotan_ad::pattern::Rows;

/// Rows and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape2 {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
}

/// Where a matrix has entries: for each row its columns, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    columns: usize,
    rows: Rows,
}

impl Pattern {
    /// The pattern with these rows; all columns are less than `columns`.
    pub(crate) fn new(rows: Rows, columns: usize) -> Pattern {
        Pattern { columns, rows }
    }

    /// The pattern whose rows have these columns, in any order.
    pub(crate) fn of_rows(mut rows: Vec<Vec<u32>>, columns: usize) -> Pattern {
        for row in &mut rows {
            row.sort_unstable();
            row.dedup();
        }
        Pattern { columns, rows: Rows::from_sorted(&rows) }
    }

    /// The pattern with an entry also where the transposed one has one; it must be square.
    pub(crate) fn symmetrised(&self) -> Pattern {
        let other = self.transposed();
        if other == *self {
            return other;
        }
        let both = |r: usize| [self.row(r), other.row(r)].concat();
        Pattern::of_rows((0..self.rows.len()).map(both).collect(), self.columns)
    }

    /// Rows and columns.
    pub fn shape(&self) -> Shape2 {
        Shape2 { rows: self.rows.len(), columns: self.columns }
    }

    /// The number of entries.
    pub fn entries(&self) -> usize {
        self.rows.entries()
    }

    /// The columns of a row, ascending.
    pub fn row(&self, r: usize) -> &[u32] {
        self.rows.row(r)
    }

    /// Where each row begins among the entries, and where the last one ends (`indptr`).
    pub fn row_starts(&self) -> &[usize] {
        self.rows.starts()
    }

    /// The column of each entry (`indices`).
    pub fn column_indices(&self) -> &[u32] {
        self.rows.columns()
    }

    /// The row of each entry.
    pub fn row_indices(&self) -> Vec<u32> {
        let rows = 0..self.rows.len();
        rows.flat_map(|r| std::iter::repeat_n(r as u32, self.row(r).len())).collect()
    }

    /// The pattern of the transposed matrix.
    pub fn transposed(&self) -> Pattern {
        Pattern { columns: self.rows.len(), rows: self.rows.transposed(self.columns) }
    }

    /// How far entries are below and above the diagonal, at most.
    pub fn bandwidths(&self) -> (usize, usize) {
        let (mut below, mut above) = (0, 0);
        for r in 0..self.rows.len() {
            if let (Some(&first), Some(&last)) = (self.row(r).first(), self.row(r).last()) {
                below = below.max(r.saturating_sub(first as usize));
                above = above.max((last as usize).saturating_sub(r));
            }
        }
        (below, above)
    }
}

/// In one line: `5 x 5, 13 entries (52 %), bands 1 below and 1 above the diagonal`.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape2 { rows, columns } = self.shape();
        let all = rows as f64 * columns as f64;
        let share = if all > 0.0 { 100.0 * self.entries() as f64 / all } else { 0.0 };
        let entries = self.entries();
        write!(f, "{rows} x {columns}, {entries} entries ({share:.3} %)")?;
        let (below, above) = self.bandwidths();
        if entries > 0 && (below + above + 1) * 4 <= columns {
            write!(f, ", bands {below} below and {above} above the diagonal")?;
        }
        Ok(())
    }
}
