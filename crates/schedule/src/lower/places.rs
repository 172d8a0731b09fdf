//! Elements of an array that move to other places.
//!
//! A place is a number in mixed radix, and each of its digits has a stride on the other side: that
//! describes transpositions, and parts of larger arrays. An access that runs through each digit
//! without carrying is affine on the other side, too.

use cotan_nest::{Affine, BufferId, Component, Instr, Nest};
use smallvec::SmallVec;

/// A digit of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Digit {
    pub stride: i64,
    pub radix: i64,
    /// The stride on the other side.
    pub to: i64,
}

/// Where the elements of an array go.
#[derive(Debug)]
pub(super) struct Relayout {
    /// The last digit first.
    digits: SmallVec<[Digit; 4]>,
    /// The place of the first element on the other side.
    start: i64,
}

impl Relayout {
    /// By the digits in any order, if each of so many elements is a number of such digits.
    pub(super) fn new(
        mut digits: SmallVec<[Digit; 4]>,
        start: i64,
        elements: usize,
    ) -> Option<Relayout> {
        digits.retain(|digit| digit.radix != 1);
        digits.sort_unstable();
        let mut reach = 1i64;
        for digit in &digits {
            if digit.stride != reach {
                return None;
            }
            reach = reach.checked_mul(digit.radix)?;
        }
        if i64::try_from(elements) != Ok(reach) {
            return None;
        }
        // Digits that are one on the other side as well.
        digits.dedup_by(|next, digit| {
            let one = digit.to.checked_mul(digit.radix) == Some(next.to);
            digit.radix *= if one { next.radix } else { 1 };
            one
        });
        Some(Relayout { digits, start })
    }

    /// The digit that multiples of a stride change, and which multiple it is.
    fn digit(&self, stride: i64) -> Option<(usize, i64)> {
        let digit = self.digits.iter().rposition(|digit| digit.stride <= stride)?;
        let own = self.digits[digit].stride;
        (stride % own == 0).then_some((digit, stride / own))
    }

    /// An affine place on the other side.
    pub(super) fn moved(&self, at: &Affine, extents: &[usize]) -> Option<Affine> {
        let mut to = Affine::constant(self.start, at.coeffs.len());
        // The largest value of each digit.
        let mut most: SmallVec<[i64; 4]> = SmallVec::from_elem(0, self.digits.len());
        let mut rest = Some(at.constant).filter(|&c| c >= 0)?;
        for (digit, most) in self.digits.iter().zip(&mut most).rev() {
            *most = rest / digit.stride;
            rest %= digit.stride;
            to.constant = to.constant.checked_add(most.checked_mul(digit.to)?)?;
        }
        if rest != 0 {
            return None;
        }
        let moving = |dim: &usize| extents[*dim] != 1 && at.coeffs[*dim] != 0;
        for dim in (0..extents.len()).filter(moving) {
            let (digit, factor) = self.digit(at.coeffs[dim])?;
            let last = i64::try_from(extents[dim]).ok()?.checked_sub(1)?;
            most[digit] = most[digit].checked_add(factor.checked_mul(last)?)?;
            to.coeffs[dim] = factor.checked_mul(self.digits[digit].to)?;
        }
        self.holds(&most).then_some(to)
    }

    /// The components of a computed place on the other side.
    fn moved_components(&self, index: &[Component]) -> Option<Vec<Component>> {
        if self.start != 0 {
            return None;
        }
        let mut most: SmallVec<[i64; 4]> = SmallVec::from_elem(0, self.digits.len());
        let mut moved = index.to_vec();
        for component in moved.iter_mut().filter(|c| c.size != 1) {
            let (digit, factor) = self.digit(component.stride)?;
            let last = i64::try_from(component.size).ok()?.checked_sub(1)?;
            most[digit] = most[digit].checked_add(factor.checked_mul(last)?)?;
            component.stride = factor.checked_mul(self.digits[digit].to)?;
        }
        self.holds(&most).then_some(moved)
    }

    /// Whether no digit carries.
    fn holds(&self, most: &[i64]) -> bool {
        self.digits.iter().zip(most).all(|(digit, &most)| most < digit.radix)
    }

    /// The nest with another buffer in the place of one.
    pub(super) fn moved_nest(&self, nest: &Nest, from: BufferId, to: BufferId) -> Option<Nest> {
        if nest.also.iter().any(|also| also.target == from) {
            return None;
        }
        let mut nest = nest.clone();
        if nest.target == from {
            let at = nest.write.place_mut()?;
            *at = self.moved(at, &nest.extents)?;
            nest.target = to;
        }
        for instr in &mut nest.instrs {
            match instr {
                Instr::Load { buffer, at, .. } if *buffer == from => {
                    *at = self.moved(at, &nest.extents)?;
                    *buffer = to;
                }
                Instr::LoadAt { buffer, index } if *buffer == from => {
                    *index = self.moved_components(index)?;
                    *buffer = to;
                }
                Instr::Load { .. } | Instr::LoadAt { .. } | Instr::Const(_) => {}
                Instr::Affine(_) | Instr::Op(..) | Instr::MulAdd { .. } => {}
            }
        }
        Some(nest)
    }
}

#[cfg(test)]
mod tests {
    use cotan_nest::Val;

    use super::*;

    fn affine(constant: i64, coeffs: &[i64]) -> Affine {
        Affine { constant, coeffs: SmallVec::from_slice(coeffs) }
    }

    fn digits(digits: &[(i64, i64, i64)]) -> SmallVec<[Digit; 4]> {
        digits.iter().map(|&(stride, radix, to)| Digit { stride, radix, to }).collect()
    }

    /// From 4 x 22 elements to 22 x 4 of them.
    fn transposition() -> Relayout {
        Relayout::new(digits(&[(22, 4, 1), (1, 22, 4)]), 0, 88).unwrap()
    }

    #[test]
    fn places_are_moved_digit_by_digit() {
        let places = transposition();
        assert_eq!(places.moved(&affine(44, &[1]), &[22]), Some(affine(2, &[4])));
        assert_eq!(places.moved(&affine(0, &[22, 1]), &[4, 22]), Some(affine(0, &[1, 4])));
        assert_eq!(places.moved(&affine(1, &[2]), &[11]), Some(affine(4, &[8])));
        assert_eq!(places.moved(&affine(3, &[11]), &[2]), Some(affine(12, &[44])));
        let component = |size, stride| Component { value: Val(0), size, stride };
        let moved = places.moved_components(&[component(4, 22), component(22, 1)]);
        assert_eq!(moved, Some(vec![component(4, 1), component(22, 4)]));
    }

    #[test]
    fn what_carries_is_not_moved() {
        let places = transposition();
        assert_eq!(places.moved(&affine(0, &[1]), &[88]), None);
        assert_eq!(places.moved(&affine(21, &[1]), &[2]), None);
        assert_eq!(places.moved(&affine(88, &[0]), &[1]), None);
        assert_eq!(places.moved(&affine(0, &[-1]), &[2]), None);
    }

    #[test]
    fn digits_that_stay_together_are_one() {
        let places = Relayout::new(digits(&[(22, 4, 22), (1, 22, 1)]), 100, 88).unwrap();
        assert_eq!(places.moved(&affine(0, &[1]), &[88]), Some(affine(100, &[1])));
        assert_eq!(places.moved(&affine(21, &[1]), &[2]), Some(affine(121, &[1])));
    }

    #[test]
    fn every_element_is_a_number_of_the_digits() {
        assert!(Relayout::new(digits(&[(22, 4, 1), (1, 11, 4)]), 0, 88).is_none());
        assert!(Relayout::new(digits(&[(22, 4, 1)]), 0, 88).is_none());
        assert!(Relayout::new(digits(&[(1, 22, 1), (22, 3, 22)]), 0, 88).is_none());
    }
}
