//! Level sets of values on a grid: marching squares.

/// A piece of a level set, from one point to another, in steps of the grid.
pub(crate) type Piece = [(f64, f64); 2];

/// The pieces of the level set at `level` of values on a grid of `columns`, row after row. Squares with a
/// corner that is not finite have none.
pub(crate) fn pieces(values: &[f64], columns: usize, level: f64) -> Vec<Piece> {
    let rows = values.len().checked_div(columns).unwrap_or(0);
    let mut found = Vec::new();
    for j in 1..rows {
        for i in 1..columns {
            let at = |di: usize, dj: usize| values[(j - 1 + dj) * columns + i - 1 + di];
            let corners = [at(0, 0), at(1, 0), at(1, 1), at(0, 1)];
            if corners.iter().all(|v| v.is_finite()) {
                square(corners, level, (i - 1) as f64, (j - 1) as f64, &mut found);
            }
        }
    }
    found
}

/// The pieces in one square, whose corners are given around it.
fn square(corners: [f64; 4], level: f64, x: f64, y: f64, found: &mut Vec<Piece>) {
    const PLACES: [(f64, f64); 4] = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)];
    let mut crossed = Vec::with_capacity(4);
    for k in 0..4 {
        let (a, b) = (corners[k], corners[(k + 1) % 4]);
        if (a < level) != (b < level) {
            let part = ((level / 2.0 - a / 2.0) / (b / 2.0 - a / 2.0)).clamp(0.0, 1.0);
            let ((ax, ay), (bx, by)) = (PLACES[k], PLACES[(k + 1) % 4]);
            crossed.push((x + ax + part * (bx - ax), y + ay + part * (by - ay)));
        }
    }
    match crossed[..] {
        [a, b] => found.push([a, b]),
        [a, b, c, d] => {
            // A saddle: the middle says which corners belong together.
            let middle = corners.iter().map(|v| v / 4.0).sum::<f64>();
            if (middle < level) == (corners[0] < level) {
                found.extend([[a, b], [c, d]]);
            } else {
                found.extend([[d, a], [b, c]]);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_sets_of_a_bowl_are_circles() {
        let n = 41;
        let at = |k: usize| (k as f64 - 20.0) / 10.0;
        let values: Vec<f64> = (0..n * n).map(|k| at(k % n).powi(2) + at(k / n).powi(2)).collect();
        let found = pieces(&values, n, 1.0);
        assert!(found.len() > 40);
        for (x, y) in found.iter().flatten() {
            let radius = ((x - 20.0) / 10.0).hypot((y - 20.0) / 10.0);
            assert!((radius - 1.0).abs() < 0.01, "{radius}");
        }
        assert!(pieces(&values, n, -1.0).is_empty());
    }

    #[test]
    fn odd_grids_have_no_level_sets() {
        assert!(pieces(&[], 0, 0.0).is_empty() && pieces(&[1.0, 2.0], 2, 1.5).is_empty());
        assert!(pieces(&[f64::NAN, 0.0, 1.0, 2.0], 2, 0.5).is_empty());
        let extreme = [-f64::MAX, f64::MAX, -f64::MAX, f64::MAX];
        assert_eq!(pieces(&extreme, 2, 0.0), [[(0.5, 0.0), (0.5, 1.0)]]);
        assert_eq!(pieces(&[0.0, 1.0, 1.0, 0.0], 2, 0.4).len(), 2);
    }
}
