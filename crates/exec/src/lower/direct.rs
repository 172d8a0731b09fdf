//! Copies that are not made: what is computed only to be put into its place in a larger array, such
//! as a part of a concatenation, is written there at once.
//!
//! A nest that reads all of an array, each element once, and stores what it reads is a map from
//! places to places: a place is a number in mixed radix, whose digits are the indices of the nest.
//! An access that runs through each digit without carrying is affine on the other side, too.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::nest::{Affine, BufferId, Instr, Nest, Write};
use crate::plan::{Buffer, Role, Step};

/// An array of more elements keeps elements that are neighbours together: writing to places that
/// lie apart is dearer than a copy of neighbours.
const SMALL: usize = 1 << 14;

/// An array that more steps touch is copied.
const MOST_USERS: usize = 64;

/// Drops copies from a list of steps, and from the loops in it. What is `kept` stays in memory.
pub(super) fn write_in_place(
    steps: &mut Vec<Step<Nest>>,
    buffers: &[Buffer],
    kept: &FxHashSet<BufferId>,
) {
    for step in steps.iter_mut() {
        if let Step::Loop(l) = step {
            let states = l.states.iter().flat_map(|&(init, state, next)| [init, state, next]);
            let arrays = l.inputs.iter().chain(&l.outputs).flat_map(|&(whole, part)| [whole, part]);
            let kept = states.chain(arrays).collect();
            write_in_place(&mut l.steps, buffers, &kept);
        }
    }
    let mut users: FxHashMap<BufferId, Vec<usize>> = FxHashMap::default();
    for (n, step) in steps.iter().enumerate() {
        step.for_each_buffer(&mut |b| {
            let users = users.entry(b).or_default();
            if users.last() != Some(&n) {
                users.push(n);
            }
        });
    }
    let mut dropped = vec![false; steps.len()];
    for n in (0..steps.len()).rev() {
        let Step::Compute(nest) = &steps[n] else { continue };
        let Some(copy) = Copy::of(nest, buffers) else { continue };
        if kept.contains(&copy.from) {
            continue;
        }
        let Some(moved) = copy.moved_users(steps, n, &users) else { continue };
        let (from, to) = (copy.from, copy.to);
        let mut all = users.remove(&to).unwrap_or_default();
        for (k, nest) in moved {
            steps[k] = Step::Compute(Box::new(nest));
            all.push(k);
        }
        all.retain(|&k| k != n);
        all.sort_unstable();
        all.dedup();
        users.insert(to, all);
        users.remove(&from);
        dropped[n] = true;
    }
    let mut dropped = dropped.into_iter();
    steps.retain(|_| dropped.next() != Some(true));
}

/// A copy of all elements of an array to places in another.
struct Copy {
    from: BufferId,
    to: BufferId,
    /// The digits of a place, the last first: the stride and the radix of each, and the stride on
    /// the other side.
    digits: SmallVec<[(i64, i64, i64); 4]>,
    /// The place on the other side of the first element.
    start: i64,
    /// Whether neighbours must stay neighbours.
    large: bool,
}

impl Copy {
    fn of(nest: &Nest, buffers: &[Buffer]) -> Option<Copy> {
        let Instr::Load { buffer, at, checks } = &nest.instrs[nest.value.index()] else {
            return None;
        };
        let Write::Store(to) = &nest.write else { return None };
        let source = &buffers[buffer.index()];
        let temporary = matches!(source.role, Role::Temporary(_));
        if *buffer == nest.target || !checks.is_empty() || at.constant != 0 || !temporary {
            return None;
        }
        let mut digits: SmallVec<[(i64, i64, i64); 4]> = SmallVec::new();
        for (dim, &extent) in nest.extents.iter().enumerate().filter(|(_, extent)| **extent != 1) {
            digits.push((at.coeffs[dim], i64::try_from(extent).ok()?, to.coeffs[dim]));
        }
        digits.sort_unstable();
        let mut reach = 1i64;
        for &(stride, radix, _) in &digits {
            if stride != reach {
                return None;
            }
            reach = reach.checked_mul(radix)?;
        }
        let elements = source.shape.numel();
        if i64::try_from(elements) != Ok(reach) {
            return None;
        }
        // Digits that are one on the other side as well.
        digits.dedup_by(|next, digit| {
            let one = digit.2.checked_mul(digit.1) == Some(next.2);
            digit.1 *= if one { next.1 } else { 1 };
            one
        });
        let large = elements > SMALL;
        Some(Copy { from: *buffer, to: nest.target, digits, start: to.constant, large })
    }

    /// The nests that write and read the array, but for the copy at position `n`, as nests that
    /// write and read the other one.
    fn moved_users(
        &self,
        steps: &[Step<Nest>],
        n: usize,
        users: &FxHashMap<BufferId, Vec<usize>>,
    ) -> Option<Vec<(usize, Nest)>> {
        let mine = users.get(&self.from).filter(|users| users.len() <= MOST_USERS)?;
        // Before the copy the other one is only written to.
        for &k in users.get(&self.to)?.iter().take_while(|&&k| k < n) {
            let Step::Compute(nest) = &steps[k] else { return None };
            if !matches!(nest.write, Write::Store(_)) || reads(nest, self.to) {
                return None;
            }
        }
        let mut moved = Vec::with_capacity(mine.len());
        let mut written = false;
        for &k in mine.iter().filter(|&&k| k != n) {
            let Step::Compute(nest) = &steps[k] else { return None };
            let mut nest = (**nest).clone();
            if nest.target == self.from {
                if k > n {
                    return None;
                }
                let (Write::Store(at) | Write::Sum(at) | Write::Extreme { at, .. }) =
                    &mut nest.write
                else {
                    return None;
                };
                *at = self.moved(at, &nest.extents)?;
                nest.target = self.to;
                written = true;
            }
            for instr in &mut nest.instrs {
                match instr {
                    Instr::Load { buffer, at, .. } if *buffer == self.from => {
                        *at = self.moved(at, &nest.extents)?;
                        *buffer = self.to;
                    }
                    Instr::LoadAt { buffer, .. } if *buffer == self.from => return None,
                    Instr::Load { .. } | Instr::LoadAt { .. } | Instr::Const(_) => {}
                    Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => {}
                }
            }
            moved.push((k, nest));
        }
        written.then_some(moved)
    }

    /// A place in the array as a place in the other one.
    fn moved(&self, at: &Affine, extents: &[usize]) -> Option<Affine> {
        let mut to = Affine::constant(self.start, at.coeffs.len());
        // The largest value of each digit.
        let mut most: SmallVec<[i64; 4]> = SmallVec::from_elem(0, self.digits.len());
        let mut rest = Some(at.constant).filter(|&c| c >= 0)?;
        for (&(stride, _, other), most) in self.digits.iter().zip(&mut most).rev() {
            *most = rest / stride;
            rest %= stride;
            to.constant = to.constant.checked_add(most.checked_mul(other)?)?;
        }
        if rest != 0 {
            return None;
        }
        for (dim, &extent) in extents.iter().enumerate().filter(|(_, extent)| **extent != 1) {
            let c = at.coeffs[dim];
            if c == 0 {
                continue;
            }
            let digit = self.digits.iter().rposition(|digit| digit.0 <= c)?;
            let (stride, _, other) = self.digits[digit];
            let last = i64::try_from(extent).ok()?.checked_sub(1)?;
            if c % stride != 0 {
                return None;
            }
            most[digit] = most[digit].checked_add((c / stride).checked_mul(last)?)?;
            to.coeffs[dim] = (c / stride).checked_mul(other)?;
            if self.large && c == 1 && to.coeffs[dim] != 1 {
                return None;
            }
        }
        let fits = self.digits.iter().zip(&most).all(|(digit, &most)| most < digit.1);
        fits.then_some(to)
    }
}

fn reads(nest: &Nest, buffer: BufferId) -> bool {
    nest.instrs.iter().any(|instr| match instr {
        Instr::Load { buffer: b, .. } | Instr::LoadAt { buffer: b, .. } => *b == buffer,
        Instr::Const(_) | Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn affine(constant: i64, coeffs: &[i64]) -> Affine {
        Affine { constant, coeffs: SmallVec::from_slice(coeffs) }
    }

    /// Of 4 x 22 elements to 22 x 4 of them.
    fn transposition() -> Copy {
        let (from, to) = (BufferId(0), BufferId(1));
        Copy {
            from,
            to,
            digits: SmallVec::from_slice(&[(1, 22, 4), (22, 4, 1)]),
            start: 0,
            large: false,
        }
    }

    #[test]
    fn places_are_moved_digit_by_digit() {
        let copy = transposition();
        assert_eq!(copy.moved(&affine(44, &[1]), &[22]), Some(affine(2, &[4])));
        assert_eq!(copy.moved(&affine(0, &[22, 1]), &[4, 22]), Some(affine(0, &[1, 4])));
        assert_eq!(copy.moved(&affine(1, &[2]), &[11]), Some(affine(4, &[8])));
        assert_eq!(copy.moved(&affine(0, &[2]), &[11]), Some(affine(0, &[8])));
    }

    #[test]
    fn what_carries_is_not_moved() {
        let copy = transposition();
        assert_eq!(copy.moved(&affine(0, &[1]), &[88]), None);
        assert_eq!(copy.moved(&affine(21, &[1]), &[2]), None);
        assert_eq!(copy.moved(&affine(3, &[11]), &[2]), Some(affine(12, &[44])));
        assert_eq!(copy.moved(&affine(0, &[-1]), &[2]), None);
    }
}
