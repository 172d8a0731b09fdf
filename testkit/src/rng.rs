//! Seeded random numbers, the same on every platform: xoshiro256**, seeded by splitmix64.

/// A stream of random numbers. Equal seeds give equal streams, on every platform and for ever.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
    /// Choices taken from outside, last first; used up before the stream begins.
    bytes: Vec<u8>,
}

/// One step of splitmix64: turns neighbouring seeds into unrelated states.
fn splitmix(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Rng {
        let mut seed = seed;
        Rng { state: std::array::from_fn(|_| splitmix(&mut seed)), bytes: Vec::new() }
    }

    /// A stream whose choices follow `bytes`, one byte a small choice, and the stream of seed 0
    /// after them: a fuzzer that changes one byte changes one choice.
    pub fn from_bytes(bytes: &[u8]) -> Rng {
        Rng { bytes: bytes.iter().rev().copied().collect(), ..Rng::new(0) }
    }

    /// A new stream, unrelated to what this one goes on to give.
    pub fn fork(&mut self) -> Rng {
        Rng::new(self.bits())
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        if !self.bytes.is_empty() {
            let byte = |bytes: &mut Vec<u8>| u64::from(bytes.pop().unwrap_or(0));
            return (0..8).fold(0, |x, _| x << 8 | byte(&mut self.bytes));
        }
        let [a, b, c, d] = &mut self.state;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// A number from 0 to (excluding) `n`; 0 when `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n <= 1 {
            return 0;
        }
        if n <= 256
            && let Some(byte) = self.bytes.pop()
        {
            return usize::from(byte) % n;
        }
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// An integer from `lo` to `hi`, both included.
    pub fn between(&mut self, lo: i64, hi: i64) -> i64 {
        lo + self.below((hi - lo) as usize + 1) as i64
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A number from 0 to (excluding) 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// One of `items`, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// The position of one of `weights`, each as likely as its weight; `None` when all are 0.
    pub fn weighted(&mut self, weights: impl Iterator<Item = usize> + Clone) -> Option<usize> {
        let mut at = self.below(weights.clone().sum());
        for (n, weight) in weights.enumerate() {
            if at < weight {
                return Some(n);
            }
            at -= weight;
        }
        None
    }

    /// Puts `items` into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for n in (1..items.len()).rev() {
            items.swap(n, self.below(n + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        let mut rng = Rng::new(1);
        let first: Vec<u64> = (0..3).map(|_| rng.bits()).collect();
        assert_eq!(first, [0xb3f2_af6d_0fc7_10c5, 0x853b_5596_4736_4cea, 0x92f8_9756_082a_4514]);
        assert_ne!(Rng::new(2).bits(), first[0]);
    }

    #[test]
    fn choices_are_even() {
        let mut rng = Rng::new(7);
        let mut counts = [0; 6];
        for _ in 0..60_000 {
            counts[rng.below(6)] += 1;
        }
        assert!(counts.iter().all(|&n| (9_500..10_500).contains(&n)), "{counts:?}");
        assert!((0..1000).all(|_| (-2..=3).contains(&rng.between(-2, 3))));
        assert!((0..1000).all(|_| (0.0..1.0).contains(&rng.unit())));
        assert_eq!(rng.weighted([0, 0].into_iter()), None);
        assert!((0..100).all(|_| rng.weighted([0, 3, 0].into_iter()) == Some(1)));
    }

    #[test]
    fn bytes_steer_the_choices_and_then_run_out() {
        let mut rng = Rng::from_bytes(&[3, 255, 12]);
        assert_eq!((rng.below(10), rng.below(256), rng.below(5)), (3, 255, 2));
        assert_eq!(rng.bits(), Rng::new(0).bits());
    }

    #[test]
    fn shuffling_keeps_the_items() {
        let mut items: Vec<usize> = (0..20).collect();
        Rng::new(3).shuffle(&mut items);
        assert_ne!(items, (0..20).collect::<Vec<_>>());
        items.sort();
        assert_eq!(items, (0..20).collect::<Vec<_>>());
    }
}
