//! Operands of contractions at shapes of their own.
//!
//! What overlapping windows read depends on sums of indices: $x_{i+u}$ has as many elements as there
//! are values of $i + u$, not one for each $i$ and each $u$. Dimensions that every form of an operand
//! adds up in one ratio go along one axis of it; what is computed, and the zeros around it, are then
//! stored once for each position of the axes, and windows are read there without checks.

use cotan_nest::{Affine, Instr, Nest};
use smallvec::SmallVec;

use super::part::needed;
use super::product::{Factor, plain_load};
use crate::target::Target;

/// The axes of an operand.
pub(super) struct OwnAxes {
    axes: SmallVec<[OwnAxis; 4]>,
}

/// An axis: the position along it is $\sum_d s_d d - l$.
struct OwnAxis {
    /// Dimensions of the nest, with their steps: each appears along one axis only.
    dims: Steps,
    /// The least of the sums.
    lowest: i64,
    /// How many positions there are.
    extent: usize,
}

/// Dimensions with their steps.
type Steps = SmallVec<[(usize, i64); 2]>;

impl OwnAxes {
    /// One axis for each of some dimensions.
    pub(super) fn separate(nest: &Nest, dims: &[usize]) -> OwnAxes {
        let axis = |&dim: &usize| OwnAxis {
            dims: SmallVec::from_slice(&[(dim, 1)]),
            lowest: 0,
            extent: nest.extents[dim],
        };
        OwnAxes { axes: dims.iter().map(axis).collect() }
    }

    /// As few axes as what computes some factors allows. The dimensions are all that it depends on.
    pub(super) fn of(nest: &Nest, factors: &[Factor], dims: &[usize]) -> Option<OwnAxes> {
        let forms = forms(nest, factors);
        // Dimensions whose coefficients in all forms have one ratio.
        let mut together: SmallVec<[(SmallVec<[i64; 4]>, Steps); 4]> = SmallVec::new();
        for &dim in dims {
            let mut ratio: SmallVec<[i64; 4]> = forms.iter().map(|form| form.coeffs[dim]).collect();
            let divisor = ratio.iter().fold(0, |d, c| gcd(d, c.unsigned_abs()));
            let first = ratio.iter().find(|c| **c != 0).copied().unwrap_or(1);
            let step = i64::try_from(divisor.max(1)).ok()?.checked_mul(first.signum())?;
            ratio.iter_mut().for_each(|c| *c /= step);
            match together.iter_mut().find(|(other, _)| *other == ratio) {
                Some((_, steps)) => steps.push((dim, step)),
                None => together.push((ratio, SmallVec::from_slice(&[(dim, step)]))),
            }
        }
        let mut axes = SmallVec::new();
        for (_, mut steps) in together {
            steps.sort_by_key(|&(_, step)| std::cmp::Reverse(step.unsigned_abs()));
            // The digits of a number do not overlap: all that follows is less than a step.
            let mut begin = 0;
            for end in 1..=steps.len() {
                if divisor(&steps[begin..end]) > reach(&nest.extents, &steps[end..])? {
                    axes.push(OwnAxis::new(&nest.extents, &steps[begin..end])?);
                    begin = end;
                }
            }
        }
        Some(OwnAxes { axes })
    }

    /// The axes along which reads are farther apart first.
    pub(super) fn sort_by(&mut self, strides: &[u64]) {
        let stride = |axis: &OwnAxis| {
            axis.dims.iter().map(|&(dim, step)| strides[dim] / step.unsigned_abs()).max()
        };
        self.axes.sort_by_key(|axis| std::cmp::Reverse((stride(axis), axis.extent)));
    }

    /// How many positions there are.
    pub(super) fn positions(&self) -> usize {
        self.axes.iter().fold(1, |n, axis| n.saturating_mul(axis.extent))
    }

    /// How many positions there are along each axis.
    pub(super) fn extents(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.extent).collect()
    }

    /// A form over the dimensions of the nest as one over the axes.
    pub(super) fn along(&self, affine: &Affine) -> Option<Affine> {
        let mut own = Affine::constant(affine.constant, self.axes.len());
        let mut left = affine.coeffs.clone();
        for (axis, to) in self.axes.iter().zip(&mut own.coeffs) {
            let &(dim, step) = axis.dims.first()?;
            let factor = affine.coeffs[dim].checked_div(step)?;
            for &(dim, step) in &axis.dims {
                if factor.checked_mul(step) != Some(std::mem::take(&mut left[dim])) {
                    return None;
                }
            }
            own.constant = own.constant.checked_add(factor.checked_mul(axis.lowest)?)?;
            *to = factor;
        }
        left.iter().all(|&c| c == 0).then_some(own)
    }

    /// The places of the positions in row-major order: by the axes, and by the dimensions of a nest
    /// of so many.
    pub(super) fn places(&self, rank: usize) -> Option<(Affine, Affine)> {
        let mut place = Affine::constant(0, self.axes.len());
        let mut at = Affine::constant(0, rank);
        let mut stride = 1i64;
        for (n, axis) in self.axes.iter().enumerate().rev() {
            place.coeffs[n] = stride;
            for &(dim, step) in &axis.dims {
                at.coeffs[dim] = stride.checked_mul(step)?;
            }
            at.constant = at.constant.checked_sub(stride.checked_mul(axis.lowest)?)?;
            stride = stride.checked_mul(i64::try_from(axis.extent).ok()?)?;
        }
        Some((place, at))
    }
}

impl OwnAxis {
    fn new(extents: &[usize], steps: &[(usize, i64)]) -> Option<OwnAxis> {
        // Steps have no divisor in common, or positions would be left out.
        let divisor = i64::try_from(divisor(steps)).ok()?;
        let dims: Steps = steps.iter().map(|&(dim, step)| (dim, step / divisor)).collect();
        let mut lowest = 0i64;
        for &(dim, step) in dims.iter().filter(|(_, step)| *step < 0) {
            let last = i64::try_from(extents[dim].checked_sub(1)?).ok()?;
            lowest = lowest.checked_add(step.checked_mul(last)?)?;
        }
        let extent = usize::try_from(reach(extents, &dims)?.checked_add(1)?).ok()?;
        Some(OwnAxis { dims, lowest, extent })
    }
}

/// The greatest number that divides some steps.
fn divisor(steps: &[(usize, i64)]) -> u64 {
    steps.iter().fold(0, |d, (_, step)| gcd(d, step.unsigned_abs())).max(1)
}

/// How far it is from the first position of some dimensions to the last.
fn reach(extents: &[usize], steps: &[(usize, i64)]) -> Option<u64> {
    steps.iter().try_fold(0u64, |sum, &(dim, step)| {
        let last = u64::try_from(extents[dim].checked_sub(1)?).ok()?;
        sum.checked_add(step.unsigned_abs().checked_mul(last)?)
    })
}

/// The axes of an operand whose windows overlap, if it is better stored along these: what is computed
/// is stored anyway, what is read with checks would be packed faster without.
pub(super) fn windows(
    nest: &Nest,
    factors: &[Factor],
    dims: &[usize],
    target: &Target,
) -> Option<OwnAxes> {
    let uses = match plain_load(nest, factors) {
        Some(Instr::Load { checks, .. }) if checks.is_empty() => return None,
        Some(_) => target.gains.min_padded_uses,
        None => target.gains.min_window_uses,
    };
    let axes = OwnAxes::of(nest, factors, dims)?;
    let all = dims.iter().fold(1usize, |n, &dim| n.saturating_mul(nest.extents[dim]));
    let own = axes.positions();
    (own > 0 && own <= target.gains.max_operand_elements && all / own >= uses).then_some(axes)
}

/// Every affine form in what computes some factors.
fn forms<'a>(nest: &'a Nest, factors: &[Factor]) -> Vec<&'a Affine> {
    let needed = needed(nest, factors.iter().map(|f| f.value));
    let mut forms = Vec::new();
    for (instr, _) in nest.instrs.iter().zip(needed).filter(|(_, needed)| *needed) {
        match instr {
            Instr::Affine(affine) => forms.push(affine),
            Instr::Load { at, checks, .. } => {
                forms.push(at);
                forms.extend(checks.iter().map(|(check, _)| check));
            }
            Instr::Const(_) | Instr::LoadAt { .. } | Instr::Op(..) | Instr::MulAdd { .. } => {}
        }
    }
    forms
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use cotan_array::Dtype;
    use cotan_nest::{BufferId, Val, Write};

    use super::super::product::Zeros;
    use super::*;

    /// The axes of a read at sums of indices, with the checks that go with it.
    fn axes(extents: &[usize], forms: &[(i64, &[i64])]) -> (Nest, OwnAxes) {
        let affine = |&(constant, coeffs): &(i64, &[i64])| Affine {
            constant,
            coeffs: SmallVec::from_slice(coeffs),
        };
        let at = affine(&forms[0]);
        let checks = forms[1..].iter().map(|form| (affine(form), 8)).collect();
        let nest = Nest {
            extents: extents.to_vec(),
            reduced: 0,
            instrs: vec![Instr::Load { buffer: BufferId(0), at, checks }],
            dtypes: vec![Dtype::F64],
            value: Val(0),
            target: BufferId(1),
            write: Write::Store(Affine::constant(0, extents.len())),
            also: Vec::new(),
            source: None,
        };
        let factor = Factor { value: Val(0), dims: 0, zeros: Zeros::Plain };
        let dims: Vec<usize> = (0..extents.len()).collect();
        let found = OwnAxes::of(&nest, &[factor], &dims).unwrap();
        (nest, found)
    }

    /// Whether the place of each position holds what the read reads there.
    fn agrees(nest: &Nest, found: &OwnAxes) {
        let Instr::Load { at, checks, .. } = &nest.instrs[0] else { unreachable!() };
        let (place, own) = found.places(nest.extents.len()).unwrap();
        let all: Vec<&Affine> = [at].into_iter().chain(checks.iter().map(|c| &c.0)).collect();
        let forms: Vec<Affine> = all.iter().map(|form| found.along(form).unwrap()).collect();
        let value = |form: &Affine, index: &[usize]| {
            form.constant + form.coeffs.iter().zip(index).map(|(c, &i)| c * i as i64).sum::<i64>()
        };
        let mut stored = std::collections::HashMap::new();
        each(&found.extents(), &mut |index| {
            let read: Vec<i64> = forms.iter().map(|form| value(form, index)).collect();
            assert!(stored.insert(value(&place, index), read).is_none(), "a place is used twice");
        });
        assert_eq!(stored.len(), found.positions());
        each(&nest.extents, &mut |index| {
            let wanted: Vec<i64> = all.iter().map(|form| value(form, index)).collect();
            assert_eq!(stored.get(&value(&own, index)), Some(&wanted), "{index:?}");
        });
    }

    fn each(extents: &[usize], f: &mut impl FnMut(&[usize])) {
        for n in 0..extents.iter().product() {
            let mut rest = n;
            let mut index = vec![0; extents.len()];
            for (i, &k) in index.iter_mut().zip(extents).rev() {
                (*i, rest) = (rest % k, rest / k);
            }
            f(&index);
        }
    }

    #[test]
    fn windows_share_axes() {
        // Rows and columns of an image of 6 x 7, with windows of 3 x 3 around each element.
        let place: (i64, &[i64]) = (-8, &[7, 1, 7, 1]);
        let checks: [(i64, &[i64]); 2] = [(-1, &[1, 0, 1, 0]), (-1, &[0, 1, 0, 1])];
        let (nest, found) = axes(&[6, 7, 3, 3], &[place, checks[0], checks[1]]);
        assert_eq!(found.extents(), [8, 9]);
        agrees(&nest, &found);
        // The place alone has two digits as well, if the windows are narrower than the array.
        let (nest, found) = axes(&[4, 5, 3, 3], &[(0, &[7, 1, 7, 1])]);
        assert_eq!(found.extents(), [6, 7]);
        agrees(&nest, &found);
        let (nest, found) = axes(&[4, 6, 3, 3], &[(0, &[7, 1, 7, 1])]);
        assert_eq!(found.extents(), [7 * 3 + 5 + 7 * 2 + 2 + 1]);
        agrees(&nest, &found);
    }

    #[test]
    fn steps_keep_their_ratios() {
        for (strides, wanted) in
            [([2, 1], 14), ([1, 3], 15), ([2, 4], 12), ([-1, 1], 9), ([3, -2], 22)]
        {
            let (nest, found) = axes(&[6, 4], &[(40, &strides), (1, &strides)]);
            assert_eq!(found.extents(), [wanted], "{strides:?}");
            agrees(&nest, &found);
        }
    }

    #[test]
    fn other_ratios_are_other_axes() {
        let (nest, found) = axes(&[6, 4], &[(0, &[2, 1]), (0, &[1, 1])]);
        assert_eq!(found.extents(), [6, 4]);
        agrees(&nest, &found);
        // A matrix of which a part is read.
        let (nest, found) = axes(&[6, 4], &[(3, &[100, 1])]);
        assert_eq!(found.extents(), [6, 4]);
        agrees(&nest, &found);
    }
}
