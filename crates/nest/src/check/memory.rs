//! Where temporaries lie.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::PlanFault;
use crate::plan::{Buffer, Compute, Role, Step};

/// Whether temporaries that are needed at the same time lie apart, within so many bytes, each where
/// its elements may lie. One is needed from the first step of the outermost list that touches it to
/// the last one. A plan that needs `usize::MAX` bytes needs more than there are addresses
/// ([`place_temporaries`](crate::place_temporaries)): no run gets them, so its places mean nothing.
pub fn check_memory<C: Compute>(
    buffers: &[Buffer],
    steps: &[Step<C>],
    arena: usize,
) -> Result<(), PlanFault> {
    let mut lives: Vec<Option<(usize, usize)>> = vec![None; buffers.len()];
    let mut unknown = None;
    for (n, step) in steps.iter().enumerate() {
        step.for_each_buffer(&mut |b| match lives.get_mut(b.index()) {
            Some(Some((_, last))) => *last = n,
            Some(life) => *life = Some((n, n)),
            None => unknown = Some((n, b.0)),
        });
    }
    let fault = |n: usize, message: String| Err(PlanFault { step: vec![n + 1], message });
    if let Some((n, b)) = unknown {
        return fault(n, format!("there is no buffer {b}"));
    }
    if arena == usize::MAX {
        return Ok(());
    }
    let mut order: Vec<(usize, usize, usize)> = Vec::new();
    for (k, (buffer, life)) in buffers.iter().zip(&lives).enumerate() {
        if let (Role::Temporary(_), Some((first, last)), true) =
            (&buffer.role, life, buffer.bytes() > 0)
        {
            order.push((*first, *last, k));
        }
    }
    order.sort_unstable();
    // What is needed now: by offset, and by the last step.
    let mut live: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    let mut ends: BinaryHeap<Reverse<(usize, usize)>> = BinaryHeap::new();
    for (first, last, k) in order {
        while let Some(&Reverse((end, offset))) = ends.peek()
            && end < first
        {
            live.remove(&offset);
            ends.pop();
        }
        let Role::Temporary(offset) = buffers[k].role else { continue };
        let end = offset.saturating_add(buffers[k].bytes());
        if end > arena {
            return fault(first, format!("buffer {k} ends at byte {end}, of {arena}"));
        }
        if offset % buffers[k].dtype.size() != 0 {
            return fault(first, format!("buffer {k} begins at byte {offset}, within an element"));
        }
        if let Some((_, &(before, other))) = live.range(..end).next_back()
            && before > offset
        {
            return fault(first, format!("buffers {other} and {k} overlap, and both are needed"));
        }
        live.insert(offset, (end, k));
        ends.push(Reverse((last, offset)));
    }
    Ok(())
}
