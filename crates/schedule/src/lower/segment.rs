//! Extremes by segment: where what they read lies.

use cotan_ir::{Extreme, Node, TermId};
use cotan_nest::{BufferId, Nest, SegmentStep, Step, Strided};
use smallvec::SmallVec;

use super::split;
use super::{Lowering, R};

/// An array as rows and columns of another one, which lies in memory as a whole.
struct Seen {
    base: TermId,
    /// How many elements further the next row is, and the next column.
    row: usize,
    column: usize,
}

impl Lowering<'_> {
    /// What must be in memory for extremes by segment.
    pub(super) fn segment_bases(&self, keys: TermId, ids: TermId) -> SmallVec<[TermId; 2]> {
        let keys = Some(self.seen(keys)).filter(|keys| !self.is_row_number(keys));
        keys.iter().chain([&self.seen(ids)]).map(|seen| seen.base).collect()
    }

    /// Extremes by segment, as a step.
    pub(super) fn segment_step(
        &mut self,
        (extreme, segments): (Extreme, usize),
        keys: TermId,
        ids: TermId,
        to: BufferId,
    ) -> R<Step<Nest>> {
        let (rows, columns) = split(self.program.shape(keys));
        let dtype = self.program.dtype(keys);
        let keys = self.seen(keys);
        let keys = if self.is_row_number(&keys) { None } else { Some(self.strided(&keys)?) };
        let ids = self.strided(&self.seen(ids))?;
        let step = SegmentStep { extreme, keys, dtype, ids, to, rows, columns, segments };
        Ok(Step::SegmentArg(Box::new(step)))
    }

    fn strided(&mut self, seen: &Seen) -> R<Strided> {
        Ok(Strided { buffer: self.buffer_of(seen.base)?, row: seen.row, column: seen.column })
    }

    /// Whether each element is the number of its row.
    fn is_row_number(&self, seen: &Seen) -> bool {
        matches!(self.program.node(seen.base), Node::Iota(_)) && (seen.row, seen.column) == (1, 0)
    }

    /// An array below copies and transpositions, if its columns are equally far apart there.
    fn seen(&self, t: TermId) -> Seen {
        let program = self.program;
        let dims = program.shape(t).dims();
        let (mut base, mut axes): (TermId, SmallVec<[Option<usize>; 8]>) =
            (t, (0..dims.len()).map(Some).collect());
        loop {
            match program.node(base) {
                Node::Replicate(_, u) => {
                    axes.iter_mut().for_each(|axis| *axis = axis.and_then(|k| k.checked_sub(1)));
                    base = *u;
                }
                Node::Transpose(perm, u) => {
                    for axis in axes.iter_mut().flatten() {
                        *axis = perm.get(*axis).map_or(*axis, |&k| usize::from(k));
                    }
                    base = *u;
                }
                _ => break,
            }
        }
        let own = program.shape(base).dims();
        let stride = |axis: &Option<usize>| match axis {
            Some(k) => own[k + 1..].iter().product(),
            None => 0,
        };
        let strides: SmallVec<[usize; 8]> = axes.iter().map(stride).collect();
        let mut inner = dims.iter().zip(&strides).skip(1).filter(|(size, _)| **size != 1);
        // Outer columns are so many inner ones apart.
        let even = inner
            .clone()
            .zip(inner.clone().skip(1))
            .all(|(outer, next)| next.1.checked_mul(*next.0) == Some(*outer.1));
        let column = inner.next_back().map_or(0, |(_, stride)| *stride);
        match even && !dims.is_empty() {
            true => Seen { base, row: strides[0], column },
            false => Seen { base: t, row: split(program.shape(t)).1, column: 1 },
        }
    }
}
