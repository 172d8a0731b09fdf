//! Rows of buffers: which elements belong to a position of a dimension.
//!
//! Of a buffer with rows of stride $s$ and count $n$ the element at place $a$ belongs to row
//! $\lfloor a / s \rfloor \bmod n$: the rows are an axis of it, wherever that lies among the axes.

use cotan_nest::{Affine, BufferId, Component, Instr, Nest};

/// An axis of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub stride: i64,
    pub count: i64,
}

impl Rows {
    /// The elements from one position of an outer axis to the next.
    fn period(self) -> Option<i64> {
        self.stride.checked_mul(self.count)
    }

    /// Whether an array of so many elements consists of such rows.
    pub(super) fn all_of(self, elements: usize) -> bool {
        let period = self.period().and_then(|period| usize::try_from(period).ok());
        period.is_some_and(|period| period > 0 && elements.is_multiple_of(period))
    }
}

/// Whether an affine place is always in the row that a loop index says.
pub(super) fn aligned(at: &Affine, dim: usize, extents: &[usize], rows: Rows) -> bool {
    let Some(period) = rows.period().filter(|&period| period > 0) else { return false };
    if at.coeffs[dim] != rows.stride {
        return false;
    }
    // Within the row: what does not step over whole periods.
    let mut within = at.constant.rem_euclid(period);
    for (k, (&c, &extent)) in at.coeffs.iter().zip(extents).enumerate() {
        if k == dim || c % period == 0 || extent == 0 {
            continue;
        }
        let Some(end) = c.checked_mul(extent as i64 - 1).filter(|&end| end >= 0) else {
            return false;
        };
        within = within.saturating_add(end);
    }
    within < rows.stride
}

/// Whether a computed place, when it is in range, is in the row that a loop index says.
pub(super) fn aligned_components(nest: &Nest, index: &[Component], dim: usize, rows: Rows) -> bool {
    let Some(period) = rows.period().filter(|&period| period > 0) else { return false };
    let own = Affine::index(dim, nest.extents.len());
    let mut found = false;
    for component in index {
        let end = (component.size as i64).saturating_mul(component.stride);
        if component.stride == rows.stride && component.size as i64 == rows.count && !found {
            let instr = &nest.instrs[component.value.index()];
            found = matches!(instr, Instr::Affine(affine) if *affine == own);
            if !found {
                return false;
            }
        } else if component.stride % period != 0 && end > rows.stride {
            return false;
        }
    }
    found
}

/// Changes the accesses of a nest to a buffer such that there are `block` rows only.
pub(super) fn compact(nest: &mut Nest, buffer: BufferId, dim: usize, rows: Rows, block: usize) {
    let Some(period) = rows.period() else { return };
    let block = block as i64;
    let moved = |at: &mut Affine| {
        let outer = at.constant.div_euclid(period);
        at.constant = outer * rows.stride * block + at.constant.rem_euclid(period);
        for (k, c) in at.coeffs.iter_mut().enumerate() {
            if k != dim && *c % period == 0 {
                *c = *c / rows.count * block;
            }
        }
    };
    for instr in &mut nest.instrs {
        match instr {
            Instr::Load { buffer: b, at, .. } if *b == buffer => moved(at),
            Instr::LoadAt { buffer: b, index } if *b == buffer => {
                for component in index {
                    if component.stride % period == 0 {
                        component.stride = component.stride / rows.count * block;
                    }
                }
            }
            Instr::Load { .. } | Instr::LoadAt { .. } | Instr::Const(_) => {}
            Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => {}
        }
    }
    for also in nest.also.iter_mut().filter(|also| also.target == buffer) {
        moved(&mut also.at);
    }
    if nest.target == buffer
        && let Some(at) = nest.write.place_mut()
    {
        moved(at);
    }
}
