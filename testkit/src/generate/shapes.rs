//! Sizes and shapes.

use super::Generator;
use crate::Rng;

/// The largest of the sizes that every program may have.
const SMALL: usize = 5;

/// At most four sizes; 0 and 1, where faults hide, come up more often than others.
pub(super) fn size_pool(rng: &mut Rng, longest: usize) -> Vec<usize> {
    let mut sizes = Vec::new();
    if rng.chance(25) {
        sizes.push(0);
    }
    if rng.chance(50) {
        sizes.push(1);
    }
    let count = 2 + rng.below(3 - sizes.len());
    for _ in 0..count {
        sizes.push(*rng.pick(&[2, 2, 3, 3, 3, 4, 5]));
    }
    sizes.truncate(4);
    if longest > SMALL && rng.chance(80) {
        let long = long_size(rng, longest);
        let at = rng.below(sizes.len());
        sizes[at] = long;
        // As likely as all the others together.
        sizes.extend(std::iter::repeat_n(long, sizes.len().saturating_sub(2)));
    }
    sizes
}

/// A size from 6 to `longest`, each power of two as likely as the next; half of them lie beside one,
/// where blocks and vectors end.
fn long_size(rng: &mut Rng, longest: usize) -> usize {
    let doublings = longest.ilog2().saturating_sub(2) as usize;
    let power = 8usize << rng.below(doublings.max(1));
    let size = if rng.chance(50) {
        power.saturating_add_signed(rng.between(-1, 1) as isize)
    } else {
        power / 2 + 1 + rng.below(power)
    };
    size.clamp(SMALL + 1, longest)
}

impl Generator<'_> {
    /// One of the sizes of this program.
    pub(super) fn any_size(&mut self) -> usize {
        *self.rng.pick(&self.sizes)
    }

    /// A shape of at most so many axes.
    pub(super) fn any_shape(&mut self, max_rank: usize) -> Vec<usize> {
        let rank = self.rng.below(max_rank + 1);
        self.more_axes(rank, &[])
    }

    /// Up to `count` sizes of axes that may stand before those of `inner`.
    pub(super) fn more_axes(&mut self, count: usize, inner: &[usize]) -> Vec<usize> {
        let mut elements: usize = inner.iter().product();
        let mut axes = Vec::new();
        for _ in 0..count.min(self.config.max_rank.saturating_sub(inner.len())) {
            let k = self.any_size();
            if elements * k > self.config.max_elements {
                break;
            }
            elements *= k;
            axes.push(k);
        }
        axes
    }

    /// Another shape with as many elements.
    pub(super) fn same_count(&mut self, dims: &[usize]) -> Vec<usize> {
        let mut dims = dims.to_vec();
        if dims.contains(&0) && self.rng.chance(50) {
            dims = self.any_shape(self.config.max_rank - 1);
            dims.insert(self.rng.below(dims.len() + 1), 0);
            return dims;
        }
        for _ in 0..1 + self.rng.below(3) {
            match self.rng.below(4) {
                0 if dims.len() < self.config.max_rank => {
                    dims.insert(self.rng.below(dims.len() + 1), 1);
                }
                1 if dims.len() >= 2 => {
                    let n = self.rng.below(dims.len() - 1);
                    let k = dims.remove(n);
                    dims[n] *= k;
                }
                2 if !dims.is_empty() && dims.len() < self.config.max_rank => {
                    let n = self.rng.below(dims.len());
                    let factor = *self.rng.pick(&[2, 3, dims[n].max(1)]);
                    if dims[n].is_multiple_of(factor) {
                        dims[n] /= factor;
                        dims.insert(n + self.rng.below(2), factor);
                    }
                }
                _ => self.rng.shuffle(&mut dims),
            }
        }
        dims
    }
}
