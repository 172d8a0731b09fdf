//! Nests cut along their dimensions where conditions on the indices change.
//!
//! Joined arrays, borders and padding are conditions such as $i < c$ and reads that are 0 out of
//! range. Within a box of indices where none of them changes they are decided when the nest is
//! made, and the box that has most of the elements needs none. Where there would be many boxes,
//! there is the largest one, and what is around it.

use cotan_ir::scalar::Op;
use cotan_nest::{Affine, Instr, Nest};

/// The first index and the number of indices along each dimension.
pub(super) type IndexBox = Vec<(usize, usize)>;

/// The boxes that a nest without sums is cut into, if it has `large` positions and that helps: at most
/// so many, or the largest one and what is around it.
pub(super) fn boxes(nest: &Nest, large: usize, most: usize) -> Option<Vec<IndexBox>> {
    let positions = nest.extents.iter().try_fold(1usize, |n, &k| n.checked_mul(k))?;
    if positions < large || nest.reduced > 0 {
        return None;
    }
    let mut cuts: Vec<Vec<usize>> = nest.extents.iter().map(|&k| vec![0, k]).collect();
    for instr in &nest.instrs {
        match instr {
            Instr::Op(op, args) => {
                let affine = |n: usize| match args.get(n).map(|v| &nest.instrs[v.index()]) {
                    Some(Instr::Affine(affine)) => Some(affine),
                    _ => None,
                };
                if let (Some(a), Some(b)) = (affine(0), affine(1))
                    && let Some(difference) = a.plus(-1, b)
                {
                    compare(*op, &difference, &nest.extents, &mut cuts);
                }
            }
            Instr::Load { checks, .. } => {
                for (at, size) in checks {
                    compare(Op::Ge, at, &nest.extents, &mut cuts);
                    let mut beyond = at.clone();
                    beyond.constant = beyond.constant.saturating_sub(*size);
                    compare(Op::Ge, &beyond, &nest.extents, &mut cuts);
                }
            }
            Instr::LoadAt { .. } | Instr::Const(_) | Instr::Affine(_) | Instr::MulAdd { .. } => {}
        }
    }
    let count = cuts.iter().fold(1usize, |n, cuts| n.saturating_mul(cuts.len() - 1));
    match count {
        0 | 1 => None,
        count if count <= most => Some(all_boxes(&cuts)),
        _ => largest_box(&cuts, positions),
    }
}

/// Every box.
fn all_boxes(cuts: &[Vec<usize>]) -> Vec<IndexBox> {
    let mut boxes: Vec<IndexBox> = vec![Vec::new()];
    for cuts in cuts {
        let mut longer = Vec::with_capacity(boxes.len() * (cuts.len() - 1));
        for part in &boxes {
            for ends in cuts.windows(2) {
                let mut part = part.clone();
                part.push((ends[0], ends[1] - ends[0]));
                longer.push(part);
            }
        }
        boxes = longer;
    }
    boxes
}

/// The largest box, and for each dimension what is before and after it, as far as other dimensions
/// leave it; `None` if it is not most of the space.
fn largest_box(cuts: &[Vec<usize>], positions: usize) -> Option<Vec<IndexBox>> {
    let longest = |cuts: &Vec<usize>| {
        let ends = cuts.windows(2).max_by_key(|ends| ends[1] - ends[0])?;
        Some((ends[0], ends[1] - ends[0]))
    };
    let largest: IndexBox = cuts.iter().map(longest).collect::<Option<_>>()?;
    let inside = largest.iter().fold(1usize, |n, (_, k)| n.saturating_mul(*k));
    if inside < positions / 4 * 3 {
        return None;
    }
    let whole: IndexBox = cuts.iter().map(|cuts| (0, cuts.last().copied().unwrap_or(0))).collect();
    let mut boxes = Vec::new();
    for (dim, &(first, count)) in largest.iter().enumerate() {
        let end = first + count;
        for piece in [(0, first), (end, whole[dim].1 - end)].into_iter().filter(|piece| piece.1 > 0)
        {
            let mut part = largest[..dim].to_vec();
            part.push(piece);
            part.extend_from_slice(&whole[dim + 1..]);
            boxes.push(part);
        }
    }
    boxes.push(largest);
    Some(boxes)
}

/// Cuts the dimension of which alone the sign of a difference depends, where it changes.
fn compare(op: Op, difference: &Affine, extents: &[usize], cuts: &mut [Vec<usize>]) {
    let mut dims = difference.coeffs.iter().enumerate().filter(|(_, c)| **c != 0);
    let (Some((dim, &c)), None) = (dims.next(), dims.next()) else { return };
    // The difference is c (i - zero).
    let zero = match c {
        1 => difference.constant.checked_neg(),
        -1 => Some(difference.constant),
        _ => None,
    };
    let Some(zero) = zero else { return };
    // The condition changes before the index that is 0, or after it.
    let (before, after) = match (op, c > 0) {
        (Op::Lt | Op::Ge, true) | (Op::Le | Op::Gt, false) => (true, false),
        (Op::Le | Op::Gt, true) | (Op::Lt | Op::Ge, false) => (false, true),
        (Op::Eq | Op::Ne, _) => (true, true),
        _ => (false, false),
    };
    for (changes, at) in [(before, Some(zero)), (after, zero.checked_add(1))] {
        let Some(at) = at.filter(|_| changes).and_then(|at| usize::try_from(at).ok()) else {
            continue;
        };
        if at < extents[dim]
            && let Err(n) = cuts[dim].binary_search(&at)
        {
            cuts[dim].insert(n, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use cotan_array::Dtype;
    use cotan_nest::{BufferId, Val, Write};
    use smallvec::smallvec;

    use super::*;

    /// A nest over 6 rows of 8 that does `instr` with the column, plus `constant`, and 3.
    fn nest(constant: i64, sign: i64, instr: impl Fn(Affine) -> Instr) -> Nest {
        let column = Affine { constant, coeffs: smallvec![0, sign] };
        let instrs = vec![
            Instr::Affine(column.clone()),
            Instr::Affine(Affine::constant(3, 2)),
            instr(column),
        ];
        Nest {
            extents: vec![6, 8],
            reduced: 0,
            dtypes: vec![Dtype::I64, Dtype::I64, Dtype::Bool],
            instrs,
            value: Val(2),
            target: BufferId(0),
            write: Write::Store(Affine { constant: 0, coeffs: smallvec![8, 1] }),
            also: Vec::new(),
            source: None,
        }
    }

    /// Where a nest is cut along its columns.
    fn cuts(nest: &Nest) -> Vec<usize> {
        let parts = boxes(nest, 0, 9).unwrap_or_default();
        assert!(parts.iter().all(|part| part[0] == (0, 6)), "rows are never cut");
        parts.iter().map(|part| part[1].0).collect()
    }

    #[test]
    fn nests_are_cut_where_a_comparison_changes() {
        // From (column + constant) or (constant - column), compared with 3.
        for (op, rising, falling) in [
            (Op::Lt, [0, 2].as_slice(), [0, 3].as_slice()),
            (Op::Ge, &[0, 2], &[0, 3]),
            (Op::Le, &[0, 3], &[0, 2]),
            (Op::Gt, &[0, 3], &[0, 2]),
            (Op::Eq, &[0, 2, 3], &[0, 2, 3]),
            (Op::Ne, &[0, 2, 3], &[0, 2, 3]),
            (Op::Add, &[], &[]),
        ] {
            let compare = |_| Instr::Op(op, smallvec![Val(0), Val(1)]);
            assert_eq!(cuts(&nest(1, 1, compare)), rising, "{op:?}");
            assert_eq!(cuts(&nest(5, -1, compare)), falling, "{op:?}");
            // Never or always the case.
            assert!(
                cuts(&nest(-8, 1, compare)).is_empty() && cuts(&nest(20, 1, compare)).is_empty()
            );
            assert!(cuts(&nest(1, 2, compare)).is_empty(), "a step of two");
        }
    }

    #[test]
    fn nests_are_cut_where_reads_leave_the_array() {
        let read =
            |at: Affine| Instr::Load { buffer: BufferId(1), checks: vec![(at.clone(), 4)], at };
        assert_eq!(cuts(&nest(-2, 1, read)), [0, 2, 6]);
        assert_eq!(cuts(&nest(0, 1, read)), [0, 4]);
        assert!(boxes(&nest(0, 1, read), 49, 9).is_none(), "few positions");
    }

    /// Boxes must have every position once.
    fn cover(cuts: &[Vec<usize>], boxes: &[IndexBox]) {
        let sizes: Vec<usize> = cuts.iter().map(|cuts| *cuts.last().unwrap()).collect();
        let mut seen = vec![0u8; sizes.iter().product()];
        for part in boxes {
            let count: usize = part.iter().map(|(_, k)| k).product();
            for n in 0..count {
                let (mut rest, mut at, mut stride) = (n, 0, 1);
                for (&(first, k), &size) in part.iter().zip(&sizes).rev() {
                    at += (first + rest % k) * stride;
                    rest /= k;
                    stride *= size;
                }
                seen[at] += 1;
            }
        }
        assert!(seen.iter().all(|&n| n == 1), "{seen:?}");
    }

    #[test]
    fn boxes_have_every_position_once() {
        let cuts = [vec![0, 1, 9, 10], vec![0, 12, 13], vec![0, 7]];
        cover(&cuts, &all_boxes(&cuts));
        assert_eq!(all_boxes(&cuts).len(), 6);
        let cuts = [vec![0, 1, 2, 38, 39, 40], vec![0, 1, 29, 30], vec![0, 20]];
        let boxes = largest_box(&cuts, 40 * 30 * 20).unwrap();
        cover(&cuts, &boxes);
        assert_eq!(boxes.last(), Some(&vec![(2, 36), (1, 28), (0, 20)]));
        assert_eq!(boxes.len(), 5);
        // Most of the space is elsewhere.
        assert!(largest_box(&[vec![0, 1, 2, 3, 4]], 4).is_none());
    }
}
