//! Sets of columns, one for each element of an array, in compressed rows.

use cotan_ir::{Error, ErrorKind, Result, look};

/// For each element of an array, in row-major order, the columns that it depends on, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Row `k` is `columns[starts[k]..starts[k + 1]]`.
    starts: Vec<usize>,
    columns: Vec<u32>,
}

/// So many rows are made between two looks at whether the work has to end.
const BETWEEN_LOOKS: usize = 1 << 13;

/// Rows on the way, of bounded size.
pub(super) struct Writer {
    rows: Rows,
    limit: usize,
}

impl Rows {
    /// Row `k` has the one column `first + k`.
    pub(super) fn identity(first: usize, len: usize) -> Rows {
        let columns = (first..first + len).map(|c| c as u32).collect();
        Rows { starts: (0..=len).collect(), columns }
    }

    /// Rows whose columns are ascending and different.
    pub fn from_sorted(rows: &[Vec<u32>]) -> Rows {
        let mut starts = vec![0];
        let mut end = 0;
        for row in rows {
            end += row.len();
            starts.push(end);
        }
        Rows { starts, columns: rows.concat() }
    }

    /// The rows of several arrays, one after the other.
    pub fn joined(parts: &[&Rows]) -> Rows {
        let mut all = Rows { starts: vec![0], columns: Vec::new() };
        for part in parts {
            let first = all.columns.len();
            all.starts.extend(part.starts[1..].iter().map(|end| first + end));
            all.columns.extend_from_slice(&part.columns);
        }
        all
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of entries.
    pub fn entries(&self) -> usize {
        self.columns.len()
    }

    /// The columns of a row.
    pub fn row(&self, k: usize) -> &[u32] {
        &self.columns[self.starts[k]..self.starts[k + 1]]
    }

    /// Where each row begins among the columns of all rows, and where the last one ends.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The columns of all rows, one row after the other.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The rows by columns: row `c` of the result has `r` where row `r` has `c`.
    pub fn transposed(&self, columns: usize) -> Rows {
        let mut starts = vec![0; columns + 1];
        for &c in &self.columns {
            starts[c as usize + 1] += 1;
        }
        for c in 0..columns {
            starts[c + 1] += starts[c];
        }
        let mut next = starts.clone();
        let mut out = vec![0u32; self.columns.len()];
        for r in 0..self.len() {
            for &c in self.row(r) {
                out[next[c as usize]] = r as u32;
                next[c as usize] += 1;
            }
        }
        Rows { starts, columns: out }
    }
}

impl Writer {
    /// Room for so many rows, which may have `limit` entries together.
    pub(super) fn new(rows: usize, limit: usize) -> Writer {
        let mut starts = Vec::with_capacity(rows + 1);
        starts.push(0);
        Writer { rows: Rows { starts, columns: Vec::new() }, limit }
    }

    /// A row that is there already, or an empty one.
    pub(super) fn copy(&mut self, row: &[u32]) -> Result<()> {
        self.rows.columns.extend_from_slice(row);
        self.end_row()
    }

    /// The union of some rows.
    pub(super) fn union(&mut self, rows: &[&[u32]]) -> Result<()> {
        match rows {
            [] => self.copy(&[]),
            [row] => self.copy(row),
            [a, b] => {
                merge(a, b, &mut self.rows.columns);
                self.end_row()
            }
            _ => {
                let begin = self.rows.columns.len();
                rows.iter().for_each(|row| self.rows.columns.extend_from_slice(row));
                self.rows.columns[begin..].sort_unstable();
                let mut kept = begin;
                for k in begin..self.rows.columns.len() {
                    if k == begin || self.rows.columns[k] != self.rows.columns[kept - 1] {
                        self.rows.columns[kept] = self.rows.columns[k];
                        kept += 1;
                    }
                }
                self.rows.columns.truncate(kept);
                self.end_row()
            }
        }
    }

    fn end_row(&mut self) -> Result<()> {
        let entries = self.rows.columns.len();
        if entries > self.limit {
            let message = format!(
                "the sparsity pattern of an array on the way has more than {} entries: this \
                 derivative is not sparse enough, take the dense one",
                self.limit
            );
            return Err(Error::new(ErrorKind::Limit, "sparse", message));
        }
        self.rows.starts.push(entries);
        match self.rows.starts.len().is_multiple_of(BETWEEN_LOOKS) {
            true => look("sparse"),
            false => Ok(()),
        }
    }

    pub(super) fn finish(self) -> Rows {
        self.rows
    }
}

/// The union of two ascending lists, appended.
fn merge(a: &[u32], b: &[u32], out: &mut Vec<u32>) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        out.push(x.min(y));
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    out.extend_from_slice(&a[i..]);
    out.extend_from_slice(&b[j..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(all: &[&[u32]]) -> Rows {
        Rows::from_sorted(&all.iter().map(|row| row.to_vec()).collect::<Vec<_>>())
    }

    #[test]
    fn unions_are_ascending_sets() {
        let mut w = Writer::new(4, 100);
        w.union(&[]).unwrap();
        w.union(&[&[2, 5]]).unwrap();
        w.union(&[&[1, 2, 9], &[2, 3]]).unwrap();
        w.union(&[&[4, 7], &[1, 4], &[7, 8]]).unwrap();
        assert_eq!(w.finish(), rows(&[&[], &[2, 5], &[1, 2, 3, 9], &[1, 4, 7, 8]]));
    }

    #[test]
    fn transposing_twice_changes_nothing() {
        let r = rows(&[&[0, 2], &[], &[1, 2, 3]]);
        assert_eq!(r.transposed(4), rows(&[&[0], &[2], &[0, 2], &[2]]));
        assert_eq!(r.transposed(4).transposed(3), r);
    }

    #[test]
    fn too_many_entries_are_an_error() {
        let mut w = Writer::new(2, 3);
        w.copy(&[1, 2]).unwrap();
        assert!(w.copy(&[1, 2]).unwrap_err().to_string().contains("more than 3 entries"));
    }
}
