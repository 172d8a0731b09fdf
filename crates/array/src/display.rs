//! Arrays as text: nested brackets, aligned columns, large ones elided in the middle.

use std::fmt;

use crate::array::with_element;
use crate::{Array, Element};

/// Arrays of more elements than this are shown by their edges only.
const SHOW_ALL: usize = 1000;
/// Lines are broken here.
const LINE_WIDTH: usize = 80;

/// Nested brackets. Above 1000 elements each axis shows at most three elements at either end,
/// or fewer when the rank is high; the [`Summary`](crate::Summary) stands in when even one is
/// too many.
impl fmt::Display for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(edge) = edge(self.shape().dims()) else {
            return self.summary().fmt(f);
        };
        with_element!(self.dtype(), T => Text::of::<T>(self, edge).write(f))
    }
}

/// The element type, the shape and the elements as in `Display`.
impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} {self}", self.dtype(), self.shape())
    }
}

/// How many elements to show at either end of an axis, or `None` to show none at all.
fn edge(dims: &[usize]) -> Option<usize> {
    // An axis of size 0 counts as 1: the brackets around it are shown all the same.
    let shown = |edge: usize| {
        let sizes = dims.iter().map(|&k| k.clamp(1, edge.saturating_mul(2)));
        sizes.fold(1usize, usize::saturating_mul)
    };
    [usize::MAX, 3, 2, 1].into_iter().find(|&edge| shown(edge) <= SHOW_ALL)
}

/// The indices to show of an axis of size `k`, with `None` for those left out.
fn shown(k: usize, edge: usize) -> Vec<Option<usize>> {
    if k <= edge.saturating_mul(2) {
        return (0..k).map(Some).collect();
    }
    (0..edge).map(Some).chain([None]).chain((k - edge..k).map(Some)).collect()
}

/// The elements to show, formatted, with what is needed to lay them out.
struct Text<'a> {
    dims: &'a [usize],
    edge: usize,
    /// In row-major order of what is shown.
    cells: std::vec::IntoIter<String>,
    width: usize,
}

impl<'a> Text<'a> {
    fn of<T: Element>(array: &'a Array, edge: usize) -> Text<'a> {
        let dims = array.shape().dims();
        let mut indices = vec![Vec::new()];
        for &k in dims {
            let axis: Vec<usize> = shown(k, edge).into_iter().flatten().collect();
            let extend = |ix: Vec<usize>| {
                axis.iter().map(move |&i| ix.iter().copied().chain([i]).collect::<Vec<_>>())
            };
            indices = indices.into_iter().flat_map(extend).collect();
        }
        // `{:?}` writes the shortest text that reads back as the same number.
        // NaN is written as programs write it.
        let cell = |ix: Vec<usize>| {
            let text = format!("{:?}", array.get::<T>(&ix)?);
            Some(if text == "NaN" { "nan".to_owned() } else { text })
        };
        let cells: Vec<String> = indices.into_iter().filter_map(cell).collect();
        let width = cells.iter().map(String::len).max().unwrap_or(0);
        Text { dims, edge, cells: cells.into_iter(), width }
    }

    fn write(mut self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dims.is_empty() { self.write_cell(f) } else { self.write_axis(f, 0) }
    }

    /// Axes number at most `MAX_RANK`, which bounds the recursion.
    fn write_axis(&mut self, f: &mut fmt::Formatter<'_>, axis: usize) -> fmt::Result {
        let Some(&k) = self.dims.get(axis) else { return Ok(()) };
        let inner_axes = self.dims.len() - axis - 1;
        let indent = axis + 1;
        let per_line = (LINE_WIDTH.saturating_sub(indent) / (self.width + 2)).max(1);
        f.write_str("[")?;
        for (n, i) in shown(k, self.edge).into_iter().enumerate() {
            // Rows stand on lines of their own, with a blank line for each further axis between.
            let line_breaks =
                if inner_axes > 0 { inner_axes } else { usize::from(n % per_line == 0) };
            match (n, line_breaks) {
                (0, _) => {}
                (_, 0) => f.write_str(", ")?,
                _ => write!(f, ",{}{:indent$}", "\n".repeat(line_breaks), "")?,
            }
            match i {
                None => f.write_str("...")?,
                Some(_) if inner_axes == 0 => self.write_cell(f)?,
                Some(_) => self.write_axis(f, axis + 1)?,
            }
        }
        f.write_str("]")
    }

    fn write_cell(&mut self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>1$}", self.cells.next().unwrap_or_default(), self.width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dtype, Shape};

    fn counting(dims: &[usize]) -> Array {
        let mut n = -1.0;
        let next = |_: &[usize]| {
            n += 1.0;
            n
        };
        Array::from_fn(Shape::new("t", dims).unwrap(), next).unwrap()
    }

    #[test]
    fn scalars_and_small_arrays() {
        assert_eq!(Array::scalar(1.5).to_string(), "1.5");
        assert_eq!(Array::scalar(1e300).to_string(), "1e300");
        assert_eq!(Array::scalar(true).to_string(), "true");
        assert_eq!(Array::scalar(f32::NAN).to_string(), "nan");
        assert_eq!(counting(&[0]).to_string(), "[]");
        assert_eq!(counting(&[2, 0]).to_string(), "[[],\n []]");
        assert_eq!(counting(&[3]).to_string(), "[0.0, 1.0, 2.0]");
        let a = counting(&[2, 6]).slice(1, 1, 2, 4).unwrap();
        assert_eq!(a.to_string(), "[[ 1.0,  5.0],\n [ 7.0, 11.0]]");
        assert_eq!(format!("{a:?}"), "f64[2, 2] [[ 1.0,  5.0],\n [ 7.0, 11.0]]");
        let cube = "[[[0.0],\n  [1.0]],\n\n [[2.0],\n  [3.0]]]";
        assert_eq!(counting(&[2, 2, 1]).to_string(), cube);
    }

    #[test]
    fn large_arrays_are_elided() {
        let a = counting(&[1001]).cast(Dtype::I64).unwrap();
        assert_eq!(a.to_string(), "[   0,    1,    2, ...,  998,  999, 1000]");
        let a = counting(&[500, 3]).cast(Dtype::I64).unwrap().to_string();
        let rows =
            ["[[   0,    1,    2],", " [   3,    4,    5],", " [   6,    7,    8],", " ...,"];
        assert_eq!(a.lines().take(4).collect::<Vec<_>>(), rows);
        assert_eq!(a.lines().count(), 7);
        assert!(a.ends_with(" [1497, 1498, 1499]]"), "{a}");
    }

    #[test]
    fn no_shape_makes_much_text() {
        assert!(counting(&[4; 8]).to_string().len() < 20_000);
        let many = Array::scalar(1i64).reshape(Shape::new("t", &[1; 10]).unwrap()).unwrap();
        let many = (0..20).try_fold(many, |a, _| a.replicate(2)).unwrap();
        assert_eq!(many.to_string(), format!("i64{}: min 1, max 1, mean 1.0", many.shape()));
        let empty = Array::zeros(Dtype::F64, Shape::new("t", &[1 << 40, 0]).unwrap()).unwrap();
        assert_eq!(empty.to_string(), "[[],\n [],\n [],\n ...,\n [],\n [],\n []]");
    }

    #[test]
    fn long_rows_wrap() {
        let text = counting(&[40]).to_string();
        assert!(text.lines().count() > 1 && text.lines().all(|line| line.len() <= LINE_WIDTH));
        assert!(text.lines().skip(1).all(|line| line.starts_with(' ')));
    }
}
