//! Where temporaries lie: those that are never needed at the same time may share a place.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use crate::plan::{Buffer, Compute, Role, Step};

/// The bytes of the place of one element, whatever its type.
const SCALAR_BYTES: usize = 8;

/// Where buffers may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// At multiples of this many bytes.
    pub bytes: usize,
    /// .. but where there are more temporaries of one element than this, those lie side by side: so
    /// many bytes for each would be most of what a long program of scalars takes to run.
    pub max_aligned_scalars: usize,
}

/// Gives temporaries their places, and says how many bytes they need together.
///
/// What a loop touches is needed from its beginning to its end. The time is that of sorting. Sizes
/// saturate: a plan that needs more bytes than there are addresses needs `usize::MAX` of them,
/// which no run can get.
pub fn place_temporaries<C: Compute>(
    buffers: &mut [Buffer],
    steps: &[Step<C>],
    alignment: Alignment,
) -> usize {
    // Numbers of buffers and of steps, of which a long program has millions.
    let mut first = vec![u32::MAX; buffers.len()];
    let mut last = vec![0u32; buffers.len()];
    for (n, step) in (0u32..).zip(steps) {
        step.for_each_buffer(&mut |b| {
            let k = b.index();
            first[k] = first[k].min(n);
            last[k] = last[k].max(n);
        });
    }
    let is_placed =
        |k: usize| matches!(buffers[k].role, Role::Temporary(_)) && first[k] != u32::MAX;
    let mut order: Vec<u32> =
        (0..buffers.len()).filter(|&k| is_placed(k)).map(|k| k as u32).collect();
    order.sort_unstable_by_key(|&k| (first[k as usize], k));
    let is_scalar = |buffer: &Buffer| buffer.bytes() <= SCALAR_BYTES;
    let scalars = order.iter().filter(|&&k| is_scalar(&buffers[k as usize])).count();
    let apart = scalars > alignment.max_aligned_scalars;
    // The memory of a buffer, and how many bytes it takes there. The places of scalars, if they are
    // apart, come after the others.
    let needs = |buffer: &Buffer| {
        let which = usize::from(apart && is_scalar(buffer));
        let unit = [alignment.bytes, SCALAR_BYTES][which];
        (which, buffer.bytes().max(1).div_ceil(unit).saturating_mul(unit))
    };
    let mut memories = [FreeSpace::default(), FreeSpace::default()];
    // Buffers that have a place, the one that is needed shortest on top, with the last step.
    let mut live: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    for &k in &order {
        while let Some(&Reverse((end, done))) = live.peek()
            && end < first[k as usize]
        {
            let (which, bytes) = needs(&buffers[done as usize]);
            if let Role::Temporary(offset) = buffers[done as usize].role {
                memories[which].release(offset, bytes);
            }
            live.pop();
        }
        let (which, bytes) = needs(&buffers[k as usize]);
        let offset = memories[which].take(bytes);
        live.push(Reverse((last[k as usize], k)));
        buffers[k as usize].role = Role::Temporary(offset);
    }
    let [others, scalars] = memories;
    for k in order.into_iter().filter(|_| apart).map(|k| k as usize) {
        let scalar = is_scalar(&buffers[k]);
        if let Role::Temporary(offset) = &mut buffers[k].role
            && scalar
        {
            *offset = others.end.saturating_add(*offset);
        }
    }
    others.end.saturating_add(scalars.end)
}

/// Memory from 0 to `end`, with holes.
#[derive(Default)]
struct FreeSpace {
    end: usize,
    /// From the offset of each hole to its bytes. No two touch.
    holes: BTreeMap<usize, usize>,
    /// The same holes by bytes, then offset.
    by_size: BTreeSet<(usize, usize)>,
}

impl FreeSpace {
    /// A place of so many bytes: in the smallest hole that has them, of several the first, or else
    /// at the end.
    fn take(&mut self, bytes: usize) -> usize {
        match self.by_size.range((bytes, 0)..).next().copied() {
            Some((size, offset)) => {
                self.remove(offset, size);
                if size > bytes {
                    self.insert(offset + bytes, size - bytes);
                }
                offset
            }
            None => {
                // A hole that touches the end grows.
                let hole = self.holes.last_key_value().map(|(&offset, &size)| (offset, size));
                let offset = match hole {
                    Some((offset, size)) if offset + size == self.end => {
                        self.remove(offset, size);
                        offset
                    }
                    _ => self.end,
                };
                self.end = offset.saturating_add(bytes);
                offset
            }
        }
    }

    /// Makes a hole of a place, one with those beside it.
    fn release(&mut self, mut offset: usize, bytes: usize) {
        let mut bytes = bytes.min(self.end - offset);
        let before = self.holes.range(..offset).next_back().map(|(&at, &size)| (at, size));
        if let Some((at, size)) = before
            && at + size == offset
        {
            self.remove(at, size);
            (offset, bytes) = (at, size + bytes);
        }
        let after = offset + bytes;
        if let Some(&size) = self.holes.get(&after) {
            self.remove(after, size);
            bytes += size;
        }
        self.insert(offset, bytes);
    }

    fn insert(&mut self, offset: usize, bytes: usize) {
        self.holes.insert(offset, bytes);
        self.by_size.insert((bytes, offset));
    }

    fn remove(&mut self, offset: usize, bytes: usize) {
        self.holes.remove(&offset);
        self.by_size.remove(&(bytes, offset));
    }
}

#[cfg(test)]
mod tests {
    use cotan_array::{Dtype, Shape};
    use cotan_testkit::Rng;

    use super::*;
    use crate::nest::{BufferId, Nest};

    const LINES: Alignment = Alignment { bytes: 64, max_aligned_scalars: 4096 };

    fn temporary(n: usize) -> Buffer {
        let shape = Shape::new("test", &[n]).unwrap();
        Buffer::new(Dtype::F64, shape, Role::Temporary(0))
    }

    /// Where a temporary begins and ends.
    fn place(buffer: &Buffer) -> (usize, usize) {
        match buffer.role {
            Role::Temporary(offset) => (offset, offset + buffer.bytes()),
            _ => panic!("not a temporary"),
        }
    }

    /// Copies from each buffer to another at random times.
    fn random_steps(rng: &mut Rng, buffers: usize, steps: usize) -> Vec<Step<Nest>> {
        let mut any = || BufferId(rng.below(buffers) as u32);
        (0..steps).map(|_| Step::Copy { from: any(), to: any() }).collect()
    }

    #[test]
    fn what_is_needed_together_lies_apart() {
        let mut rng = Rng::new(1);
        for _ in 0..200 {
            let count = 1 + rng.below(20);
            let steps_count = rng.below(40);
            let mut buffers: Vec<Buffer> = (0..count).map(|_| temporary(rng.below(40))).collect();
            let steps = random_steps(&mut rng, count, steps_count);
            let arena = place_temporaries(&mut buffers, &steps, LINES);
            let life = |k: usize| {
                let mut at = Vec::new();
                for (n, step) in steps.iter().enumerate() {
                    step.for_each_buffer(&mut |b| {
                        if b.index() == k {
                            at.push(n)
                        }
                    });
                }
                at.first().copied().zip(at.last().copied())
            };
            for (a, buffer) in buffers.iter().enumerate() {
                let Some((from, to)) = life(a) else { continue };
                let (begin, end) = place(buffer);
                assert!(begin % LINES.bytes == 0 && end <= arena);
                for (b, other) in buffers[..a].iter().enumerate() {
                    let Some((other_from, other_to)) = life(b) else { continue };
                    let (other_begin, other_end) = place(other);
                    let apart = end <= other_begin || other_end <= begin;
                    assert!(apart || to < other_from || other_to < from, "{a} and {b}");
                }
            }
        }
    }

    #[test]
    fn a_chain_needs_two_places() {
        let mut buffers: Vec<Buffer> = (0..100).map(|_| temporary(8)).collect();
        let link = |n: u32| Step::Copy { from: BufferId(n), to: BufferId(n + 1) };
        let steps: Vec<Step<Nest>> = (0..99).map(link).collect();
        assert_eq!(place_temporaries(&mut buffers, &steps, LINES), 128);
    }

    #[test]
    fn holes_that_touch_are_one() {
        // The second of three places is left first, or the first, or the last: then one buffer has
        // all three.
        for order in [[1, 0, 2], [1, 2, 0], [0, 1, 2], [2, 1, 0], [0, 2, 1], [2, 0, 1]] {
            let mut buffers: Vec<Buffer> = (0..3).map(|_| temporary(8)).collect();
            buffers.push(temporary(24));
            let made = (0..3).map(|n| Step::Zero(BufferId(n)));
            let left = order.map(|n| Step::Zero(BufferId(n)));
            let steps: Vec<Step<Nest>> =
                made.chain(left).chain([Step::Zero(BufferId(3))]).collect();
            assert_eq!(place_temporaries(&mut buffers, &steps, LINES), 3 * 64, "{order:?}");
        }
    }

    #[test]
    fn many_scalars_lie_side_by_side() {
        let mut buffers: Vec<Buffer> =
            (0..3 * LINES.max_aligned_scalars).map(|_| temporary(1)).collect();
        buffers.push(temporary(9));
        let all = || (0..buffers.len() as u32).map(|n| Step::Zero(BufferId(n)));
        let steps: Vec<Step<Nest>> = all().chain(all()).collect();
        assert_eq!(
            place_temporaries(&mut buffers, &steps, LINES),
            128 + 3 * LINES.max_aligned_scalars * SCALAR_BYTES
        );
        let mut places: Vec<(usize, usize)> = buffers.iter().map(place).collect();
        places.sort_unstable();
        assert!(places.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    }

    #[test]
    fn more_bytes_than_addresses() {
        let mut buffers: Vec<Buffer> = (0..6).map(|_| temporary(1 << 59)).collect();
        let all: Vec<Step<Nest>> =
            (0..6).flat_map(|_| (0..6).map(|n| Step::Zero(BufferId(n)))).collect();
        let arena = place_temporaries(&mut buffers, &all, LINES);
        assert_eq!(arena, usize::MAX);
        // Where they are said to lie they would overlap, but nobody can run this.
        assert!(crate::check_memory(&buffers, &all, arena).is_ok());
        assert!(crate::check_memory(&buffers, &all, arena - 1).is_err());
    }
}
