//! Reads at the position of an extreme: the extreme itself.
//!
//! $$ x[\operatorname{argmax}_k x[k, j], j] = \max_k x[k, j], $$
//! which needs neither the positions nor a second look at $x$. The core language has no reduction by
//! `max`, but a loop is one: $s' = \max(s, x_k)$ over the rows of $x$, beginning with the first, which
//! the executor runs as a reduction. Of few rows it is written out. The first of equals stays, and NaN
//! wins, in both; a search of nothing has no such form, and is left alone.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Extreme, MapAccum, Node, Param, Result, TermId, Type};
use smallvec::SmallVec;

use crate::pass::Opt;
use crate::view::view;

/// So many rows are compared one by one, without a loop.
const FEW: usize = 4;

/// A read at the position of an extreme: the extremes are those of the rows of `rows`, and the one
/// that is read is at `at`.
pub(crate) struct ExtremeRead {
    extreme: Extreme,
    rows: TermId,
    pub at: Vec<TermId>,
}

impl Opt<'_> {
    /// Whether `t[ix]` is an extreme of some rows, found by a search whose positions nothing else
    /// needs.
    ///
    /// One component is the result of the search `argmax(u)[js]`, and with `k` in its place `t[ix]` is
    /// `u[k, js]`.
    pub(crate) fn extreme_read(&self, t: TermId, ix: &[TermId]) -> Option<ExtremeRead> {
        let (place, search, js) =
            ix.iter().enumerate().find_map(|(n, &i)| match self.b.node(i) {
                Node::ArgExtreme(..) => Some((n, i, &[][..])),
                Node::Index(search, js) if matches!(self.b.node(*search), Node::ArgExtreme(..)) => {
                    Some((n, *search, &js[..]))
                }
                _ => None,
            })?;
        let Node::ArgExtreme(extreme, u) = *self.b.node(search) else { return None };
        let (dims, searched) = (self.b.shape(t).dims(), self.b.shape(u).dims());
        let number = self.b.dtype(u) != Dtype::Bool;
        let whole = ix.len() == dims.len() && js.len() + 1 == searched.len();
        let here = self.b.free(u).innermost() as usize <= self.b.depth();
        if !number || !whole || !here || searched.first() == Some(&0) || !self.read_once(search) {
            return None;
        }
        // The rows that are searched are a view of the array that is read.
        let v = view(&self.b, u);
        let mut found = SmallVec::<[bool; 6]>::from_elem(false, dims.len());
        for (n, axis) in v.map.iter().enumerate() {
            let component = n.checked_sub(1).map(|n| js[n]);
            match (axis, component) {
                // The same place in all rows, or row `k` at the component that was found.
                (Some(axis), Some(j)) if ix.get(*axis) == Some(&j) => found[*axis] = true,
                (Some(axis), None) if *axis == place => found[*axis] = true,
                // A copy, which is there if it is in range.
                (None, Some(j)) if self.b.bounds(j).within(searched[n]) => {}
                _ => return None,
            }
        }
        let all = v.base == t && found.iter().all(|&found| found);
        all.then(|| ExtremeRead { extreme, rows: u, at: js.to_vec() })
    }

    /// The extremes that a read is one of; none if there is no better way to find them than the
    /// search.
    pub(crate) fn extremes(&mut self, read: &ExtremeRead) -> Result<Option<TermId>> {
        let max = read.extreme == Extreme::Max;
        let op = if max { Op::Max } else { Op::Min };
        let (dims, dtype) = (self.dims(read.rows), self.b.dtype(read.rows));
        let Some((&length, row)) = dims.split_first() else { return Ok(None) };
        let first = self.row(read.rows, 0)?;
        if length <= FEW {
            let mut best = first;
            for k in 1..length {
                let next = self.row(read.rows, k)?;
                best = self.op(op, &[best, next])?;
            }
            return Ok(Some(best));
        }
        // Where the first row is something else than a row, such as a part of a stack, there are no
        // rows to run over.
        if !matches!(self.b.node(first), Node::Index(t, _) if *t == read.rows) {
            return Ok(None);
        }
        let shape = cotan_array::Shape::new("a row", row)?;
        let param = || Param::Value(Type::new(dtype, shape.clone()));
        let step = self.b.lambda(&[param(), param()], |b, vars| Ok(vec![b.op(op, vars)?]))?;
        let (init, inputs) = (vec![first].into(), vec![read.rows].into());
        let found = self.b.map_accum(MapAccum { length, reverse: false, init, inputs, step })?;
        self.b.result(found, 0).map(Some)
    }

    fn row(&mut self, t: TermId, k: usize) -> Result<TermId> {
        let k = self.b.scalar(k as i64)?;
        self.index(t, &[k])
    }
}
