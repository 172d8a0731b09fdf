//! Tables from terms to values: hashed while they hold a few of a program's terms, dense once they
//! hold many.
//!
//! Terms are numbered, so a table of many of them is best an array: what lies near in the program
//! lies near in the table, and a long walk through both stays within the caches. A table of a few
//! must not cost the size of the program, since there may be one for each of its lambdas.

use std::num::NonZeroU8;

use rustc_hash::FxHashMap;

use crate::term::TermId;

/// A table with fewer entries stays hashed.
const MIN_DENSE: usize = 64;
/// A dense table is at most this many times as long as it had entries when it became dense.
const MAX_SPARSITY: usize = 16;

/// A table from terms of one program to values.
///
/// The time of `n` insertions is linear in `n` and in the terms made meanwhile, whatever the size of
/// the program.
#[derive(Clone, Debug)]
pub struct TermMap<V> {
    few: FxHashMap<TermId, V>,
    /// Indexed by term; empty while the table is hashed.
    many: Vec<Option<V>>,
}

impl<V> Default for TermMap<V> {
    fn default() -> TermMap<V> {
        TermMap { few: FxHashMap::default(), many: Vec::new() }
    }
}

impl<V> TermMap<V> {
    /// A table without entries.
    pub fn new() -> TermMap<V> {
        TermMap::default()
    }

    /// The value of a term.
    pub fn get(&self, t: TermId) -> Option<&V> {
        if self.many.is_empty() {
            return self.few.get(&t);
        }
        self.many.get(t.index())?.as_ref()
    }

    /// The value of a term, to be changed.
    pub fn get_mut(&mut self, t: TermId) -> Option<&mut V> {
        if self.many.is_empty() {
            return self.few.get_mut(&t);
        }
        self.many.get_mut(t.index())?.as_mut()
    }

    /// Whether a term has a value.
    pub fn contains(&self, t: TermId) -> bool {
        self.get(t).is_some()
    }

    /// Gives a term a value; the one it had before.
    pub fn insert(&mut self, t: TermId, value: V) -> Option<V> {
        if self.is_hashed_with(t) {
            return self.few.insert(t, value);
        }
        self.slot(t).replace(value)
    }

    /// The value of a term, which is this one if it had none.
    pub fn get_or_insert(&mut self, t: TermId, value: V) -> &mut V {
        if self.is_hashed_with(t) {
            return self.few.entry(t).or_insert(value);
        }
        self.slot(t).get_or_insert(value)
    }

    /// Whether the table stays hashed with one more term. If not, it is dense from now on.
    fn is_hashed_with(&mut self, t: TermId) -> bool {
        if !self.many.is_empty() {
            return false;
        }
        let enough = (t.index() / MAX_SPARSITY).max(MIN_DENSE);
        if self.few.len() < enough {
            return true;
        }
        for (t, value) in std::mem::take(&mut self.few) {
            *self.slot(t) = Some(value);
        }
        false
    }

    /// The place of a term in the dense table.
    fn slot(&mut self, t: TermId) -> &mut Option<V> {
        if t.index() >= self.many.len() {
            self.many.resize_with(t.index() + 1, || None);
        }
        &mut self.many[t.index()]
    }

    /// Takes the value of a term away.
    pub fn remove(&mut self, t: TermId) -> Option<V> {
        if self.many.is_empty() {
            return self.few.remove(&t);
        }
        self.many.get_mut(t.index())?.take()
    }
}

/// A set of terms of one program; see [`TermMap`].
#[derive(Clone, Debug, Default)]
pub struct TermSet(TermMap<()>);

impl TermSet {
    /// A set without elements.
    pub fn new() -> TermSet {
        TermSet::default()
    }

    /// Whether a term is in the set.
    pub fn contains(&self, t: TermId) -> bool {
        self.0.contains(t)
    }

    /// Adds a term; whether it was not there before.
    pub fn insert(&mut self, t: TermId) -> bool {
        self.0.insert(t, ()).is_none()
    }
}

/// A count from here on is in the second table of [`TermCounts`].
const OFTEN: NonZeroU8 = NonZeroU8::MAX;

/// How often something holds for each term of a program: a few times for most, so that a byte
/// suffices; see [`TermMap`].
#[derive(Clone, Debug, Default)]
pub struct TermCounts {
    few: TermMap<NonZeroU8>,
    often: FxHashMap<TermId, u32>,
}

impl TermCounts {
    /// Counts that are all 0.
    pub fn new() -> TermCounts {
        TermCounts::default()
    }

    /// The count of a term.
    pub fn get(&self, t: TermId) -> u32 {
        match self.few.get(t) {
            None => 0,
            Some(&OFTEN) => self.often.get(&t).copied().unwrap_or(u32::from(OFTEN.get())),
            Some(&few) => u32::from(few.get()),
        }
    }

    /// Adds to the count of a term.
    pub fn add(&mut self, t: TermId, more: u32) {
        self.set(t, self.get(t).saturating_add(more));
    }

    /// Takes one from the count of a term, if it is not 0; what is left.
    pub fn take(&mut self, t: TermId) -> u32 {
        let left = self.get(t).saturating_sub(1);
        self.set(t, left);
        left
    }

    fn set(&mut self, t: TermId, count: u32) {
        let few = u8::try_from(count).unwrap_or(u8::MAX);
        match NonZeroU8::new(few) {
            None => drop(self.few.remove(t)),
            Some(OFTEN) => {
                self.few.insert(t, OFTEN);
                self.often.insert(t, count);
            }
            Some(few) => drop(self.few.insert(t, few)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same operations on a hash table and on this one, over keys below `bound`.
    fn agrees_with_a_hash_table(bound: u32, operations: usize) -> TermMap<usize> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = move |n: u32| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as u32 % n
        };
        let mut map = TermMap::new();
        let mut expected: FxHashMap<TermId, usize> = FxHashMap::default();
        for n in 0..operations {
            let t = TermId::new(next(bound));
            match next(6) {
                0 => assert_eq!(map.remove(t), expected.remove(&t)),
                1 => assert_eq!(map.get(t), expected.get(&t)),
                2 => assert_eq!(map.contains(t), expected.contains_key(&t)),
                3 => assert_eq!(map.get_or_insert(t, n), expected.entry(t).or_insert(n)),
                4 => assert_eq!(map.get_mut(t), expected.get_mut(&t)),
                _ => assert_eq!(map.insert(t, n), expected.insert(t, n)),
            }
        }
        map
    }

    #[test]
    fn hashed_and_dense_tables_are_tables() {
        let few = agrees_with_a_hash_table(40, 10_000);
        assert!(few.many.is_empty());
        let many = agrees_with_a_hash_table(2_000, 10_000);
        assert!(many.few.is_empty() && many.many.len() <= 2_000);
    }

    #[test]
    fn few_terms_of_a_large_program_cost_little() {
        let mut map = TermMap::new();
        for n in 0..1_000 {
            map.insert(TermId::new(100_000_000 - n), n);
        }
        assert!(map.many.is_empty());
        let mut set = TermSet::new();
        assert!(set.insert(TermId::new(u32::MAX - 1)) && !set.insert(TermId::new(u32::MAX - 1)));
        assert!(set.contains(TermId::new(u32::MAX - 1)) && !set.contains(TermId::new(0)));
    }

    #[test]
    fn counts_go_up_and_down_beyond_a_byte() {
        let (x, y) = (TermId::new(0), TermId::new(1));
        let mut counts = TermCounts::new();
        assert_eq!((counts.take(y), counts.get(x), counts.get(y)), (0, 0, 0));
        for (more, sum) in [(1, 1), (253, 254), (1, 255), (1, 256), (u32::MAX, u32::MAX)] {
            counts.add(y, more);
            assert_eq!((counts.get(x), counts.get(y)), (0, sum));
        }
        counts.add(x, 256);
        for left in (0..256).rev() {
            assert_eq!((counts.take(x), counts.get(x)), (left, left));
        }
    }
}
