//! Sparse matrices: what sparse derivatives give.

use std::fmt;
use std::sync::Arc;

use cotan_sparse::Pattern;

use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// A matrix by its entries, row after row (CSR).
///
/// The three arrays are those of other libraries: [`row_starts`](SparseMatrix::row_starts) (`indptr`),
/// [`columns`](SparseMatrix::columns) (`indices`) and [`values`](SparseMatrix::values) (`data`). The
/// pattern is shared among the matrices of one function; an entry of it may be 0.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseMatrix {
    pattern: Arc<Pattern>,
    values: Vec<f64>,
}

impl SparseMatrix {
    pub(super) fn new(pattern: Arc<Pattern>, values: Vec<f64>) -> SparseMatrix {
        SparseMatrix { pattern, values }
    }

    /// The numbers of rows and columns.
    pub fn shape(&self) -> [usize; 2] {
        let shape = self.pattern.shape();
        [shape.rows, shape.columns]
    }

    /// Where it has entries.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Where each row begins among the entries, and where the last one ends.
    pub fn row_starts(&self) -> &[usize] {
        self.pattern.row_starts()
    }

    /// The column of each entry; ascending in each row.
    pub fn columns(&self) -> &[u32] {
        self.pattern.column_indices()
    }

    /// The entries.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Row, column and value of each entry, row after row.
    pub fn triplets(&self) -> impl Iterator<Item = (usize, usize, f64)> {
        (0..self.shape()[0]).flat_map(move |r| {
            let range = self.row_starts()[r]..self.row_starts()[r + 1];
            range.map(move |e| (r, self.columns()[e] as usize, self.values[e]))
        })
    }

    /// The element at a row and a column, 0 where there is no entry.
    pub fn get(&self, row: usize, column: usize) -> Option<f64> {
        let [rows, columns] = self.shape();
        if row >= rows || column >= columns {
            return None;
        }
        let at = self.pattern.row(row).binary_search(&(column as u32));
        Some(at.map_or(0.0, |at| self.values[self.row_starts()[row] + at]))
    }

    /// The product with a vector.
    pub fn times(&self, x: &[f64]) -> Result<Vec<f64>> {
        let [rows, columns] = self.shape();
        self.expect("times", columns, x.len())?;
        let mut y = vec![0.0; rows];
        for (r, y) in y.iter_mut().enumerate() {
            let range = self.row_starts()[r]..self.row_starts()[r + 1];
            let entries = self.columns()[range.clone()].iter().zip(&self.values[range]);
            *y = entries.map(|(&c, v)| v * x[c as usize]).sum();
        }
        Ok(y)
    }

    /// The product of the transposed matrix with a vector.
    pub fn transposed_times(&self, y: &[f64]) -> Result<Vec<f64>> {
        let [rows, columns] = self.shape();
        self.expect("transposed_times", rows, y.len())?;
        let mut x = vec![0.0; columns];
        for (r, c, v) in self.triplets() {
            x[c] += v * y[r];
        }
        Ok(x)
    }

    /// The matrix in full.
    pub fn to_dense(&self) -> Result<Tensor<f64>> {
        let [rows, columns] = self.shape();
        let mut all = Vec::new();
        let reserved = rows.checked_mul(columns).map(|n| (n, all.try_reserve_exact(n)));
        let Some((elements, Ok(()))) = reserved else {
            let message = format!("there is no memory for all of {rows} x {columns} elements");
            return Err(Error::type_error("to_dense", message));
        };
        all.resize(elements, 0.0);
        for (r, c, v) in self.triplets() {
            all[r * columns + c] = v;
        }
        Tensor::new([rows, columns], all)
    }

    fn expect(&self, op: &'static str, wanted: usize, given: usize) -> Result<()> {
        if wanted == given {
            return Ok(());
        }
        let [rows, columns] = self.shape();
        let message = format!("a vector of {given} elements for a matrix {rows} x {columns}");
        Err(Error::type_error(op, message).with_hint(format!("it takes {wanted} elements")))
    }
}

/// Shape, entries and the first of them.
impl fmt::Display for SparseMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 20;
        write!(f, "{}", self.pattern)?;
        for (r, c, v) in self.triplets().take(SHOWN) {
            write!(f, "\n({r}, {c}) {v}")?;
        }
        if self.values.len() > SHOWN {
            write!(f, "\n.. {} more", self.values.len() - SHOWN)?;
        }
        Ok(())
    }
}
