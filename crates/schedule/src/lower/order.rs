//! The order of dimensions that are summed over: that of memory.
//!
//! Sums of sums come in the order in which a program takes them, for a gradient often the batch
//! innermost. Their order is free, and along the elements of memory it is best: dimensions that
//! follow each other there become one, and a vector holds neighbours.

use cotan_nest::{Affine, BufferId, Instr, Nest, Write};

use super::part::{NestPart, needed, projected};

/// A nest that sums, with the summed dimensions in the order of memory, the largest steps first.
/// `None` if it is so already, or if some read depends on a part of them only: then their order
/// decides how often things are computed.
pub(super) fn sorted_sum(nest: &Nest, length: impl Fn(BufferId) -> usize) -> Option<Nest> {
    let Write::Sum(at) = &nest.write else { return None };
    let parallel = nest.extents.len() - nest.reduced;
    let depends = |affine: &Affine| affine.coeffs[parallel..].iter().filter(|&&c| c != 0).count();
    let needed = needed(nest, std::iter::once(nest.value));
    for (instr, _) in nest.instrs.iter().zip(&needed).filter(|(_, needed)| **needed) {
        let uniform = match instr {
            Instr::Load { at, checks, .. } => {
                checks.is_empty() && [0, nest.reduced].contains(&depends(at))
            }
            Instr::Affine(affine) => depends(affine) == 0,
            Instr::LoadAt { .. } => false,
            Instr::Const(_) | Instr::Op(..) | Instr::MulAdd { .. } => true,
        };
        if !uniform {
            return None;
        }
    }
    let summed = (parallel..nest.extents.len()).collect();
    let sorted = by_steps(nest, &needed, summed, length);
    if sorted.is_sorted() {
        return None;
    }
    let dims: Vec<usize> = (0..parallel).chain(sorted).collect();
    let mut part = NestPart::new(nest.source);
    let value = *part.take(nest, &dims, std::iter::once(nest.value))?.first()?;
    let extents = dims.iter().map(|&dim| nest.extents[dim]).collect();
    let write = Write::Sum(projected(at, &dims)?);
    Some(Nest { reduced: nest.reduced, ..part.finish(extents, value, nest.target, write) })
}

/// Sorts dimensions by their steps in the largest buffer that is read, the first of equals; as they
/// are if there is none that depends on all of them.
fn by_steps(
    nest: &Nest,
    needed: &[bool],
    mut dims: Vec<usize>,
    length: impl Fn(BufferId) -> usize,
) -> Vec<usize> {
    let mut largest: Option<(usize, &Affine)> = None;
    for (n, instr) in nest.instrs.iter().enumerate() {
        let Instr::Load { buffer, at, .. } = instr else { continue };
        if !needed[n] || dims.iter().any(|&dim| at.coeffs[dim] == 0) {
            continue;
        }
        if largest.is_none_or(|(size, _)| length(*buffer) > size) {
            largest = Some((length(*buffer), at));
        }
    }
    if let Some((_, at)) = largest {
        dims.sort_by_key(|&dim| std::cmp::Reverse(at.coeffs[dim].unsigned_abs()));
    }
    dims
}
