//! Random orthogonal matrices.

use super::Key;
use crate::error::Result;

/// A matrix of `rows` by `columns`, row by row, whose rows are orthonormal, or its columns if these
/// are fewer.
///
/// Vectors of independent normal numbers have no preferred direction, so what the method of Gram and
/// Schmidt makes of them is distributed evenly over the orthogonal matrices (the measure of Haar).
pub(super) fn orthogonal(key: Key, rows: usize, columns: usize) -> Result<Vec<f64>> {
    let (count, length) = (rows.min(columns), rows.max(columns));
    let normal = key.normal::<f64>([count, length])?.to_vec();
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(count);
    for start in normal.chunks_exact(length.max(1)) {
        let mut vector = start.to_vec();
        // What rounding leaves of the earlier directions is removed by doing it twice.
        for _ in 0..2 {
            for other in &basis {
                let along = dot(&vector, other);
                vector.iter_mut().zip(other).for_each(|(x, y)| *x -= along * y);
            }
        }
        let norm = libm::sqrt(dot(&vector, &vector));
        vector.iter_mut().for_each(|x| *x /= norm);
        basis.push(vector);
    }
    let element = |row: usize, column: usize| {
        let (k, at) = if rows <= columns { (row, column) } else { (column, row) };
        basis.get(k).and_then(|vector| vector.get(at)).copied().unwrap_or(0.0)
    };
    Ok((0..rows)
        .flat_map(|row| (0..columns).map(move |column| (row, column)))
        .map(|(row, column)| element(row, column))
        .collect())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
