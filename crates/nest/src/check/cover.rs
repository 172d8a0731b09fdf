//! Which elements of buffers have been written.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::nest::BufferId;

/// From the first element of an interval to the one behind it. No two touch.
type Runs = BTreeMap<i64, i64>;

/// What buffers have become, in their order.
pub(super) type Changes = Vec<(BufferId, Runs)>;

/// What has been written of every buffer, with what it was before.
pub(super) struct Covers {
    sizes: Vec<i64>,
    of: Vec<Runs>,
    /// In which frame each was noted last.
    noted: Vec<u32>,
    log: Vec<(usize, Runs, u32)>,
    frame: u32,
    frames: u32,
}

/// A place in the log to go back to.
pub(super) struct Mark {
    at: usize,
    frame: u32,
}

impl Covers {
    /// Of each buffer its size, and whether it is there from the beginning.
    pub fn new(buffers: impl Iterator<Item = (usize, bool)>) -> Covers {
        let mut covers = Covers {
            sizes: Vec::new(),
            of: Vec::new(),
            noted: Vec::new(),
            log: Vec::new(),
            frame: 0,
            frames: 0,
        };
        for (size, given) in buffers {
            let size = i64::try_from(size).unwrap_or(i64::MAX);
            covers.sizes.push(size);
            covers.of.push(if given { Runs::from([(0, size)]) } else { Runs::new() });
            covers.noted.push(0);
        }
        covers
    }

    /// The first element from `lo` to below `hi` that is not written.
    pub fn gap(&self, b: BufferId, lo: i64, hi: i64) -> Option<i64> {
        let runs = self.of.get(b.index())?;
        match runs.range(..=lo).next_back() {
            Some((_, &end)) if end >= hi => None,
            Some((_, &end)) if end > lo => Some(end),
            _ => (lo < hi).then_some(lo),
        }
    }

    /// The first element that is not written.
    pub fn missing(&self, b: BufferId) -> Option<i64> {
        self.gap(b, 0, *self.sizes.get(b.index())?)
    }

    /// Notes a buffer before it changes.
    fn note(&mut self, b: BufferId) {
        let k = b.index();
        if self.noted[k] != self.frame {
            self.log.push((k, self.of[k].clone(), self.noted[k]));
            self.noted[k] = self.frame;
        }
    }

    /// Elements from `lo` to below `hi` are written.
    pub fn add(&mut self, b: BufferId, mut lo: i64, mut hi: i64) {
        if b.index() >= self.of.len() || self.gap(b, lo, hi).is_none() {
            return;
        }
        self.note(b);
        let runs = &mut self.of[b.index()];
        while let Some((&start, &end)) = runs.range(..=hi).next_back()
            && end >= lo
        {
            runs.remove(&start);
            (lo, hi) = (lo.min(start), hi.max(end));
        }
        runs.insert(lo, hi);
    }

    /// All elements are written.
    pub fn add_all(&mut self, b: BufferId) {
        if let Some(&size) = self.sizes.get(b.index()) {
            self.add(b, 0, size);
        }
    }

    /// No element is.
    pub fn forget(&mut self, b: BufferId) {
        if b.index() < self.of.len() && !self.of[b.index()].is_empty() {
            self.note(b);
            self.of[b.index()].clear();
        }
    }

    /// Begins to note what changes.
    pub fn mark(&mut self) -> Mark {
        let mark = Mark { at: self.log.len(), frame: self.frame };
        self.frames += 1;
        self.frame = self.frames;
        mark
    }

    /// Leaves what has changed as it is.
    pub fn keep(&mut self, mark: &Mark) {
        self.frame = mark.frame;
        if mark.frame == 0 {
            self.log.clear();
        }
    }

    /// Makes everything what it was, and gives what it had become.
    pub fn undo(&mut self, mark: &Mark) -> Changes {
        let mut changed: BTreeMap<usize, Runs> = BTreeMap::new();
        for (k, before, noted) in self.log.drain(mark.at..).rev() {
            let after = std::mem::replace(&mut self.of[k], before);
            changed.entry(k).or_insert(after);
            self.noted[k] = noted;
        }
        self.frame = mark.frame;
        changed.into_iter().map(|(k, runs)| (BufferId(k as u32), runs)).collect()
    }

    /// What is written on two ways, each from here on.
    pub fn join(&mut self, one: &Changes, other: &Changes) {
        for (b, runs) in one {
            let Ok(at) = other.binary_search_by_key(b, |(b, _)| *b) else { continue };
            for (&lo, &hi) in runs {
                let common = other[at].1.range(..hi).map(|(&l, &h)| (l.max(lo), h.min(hi)));
                let common: Vec<(i64, i64)> = common.filter(|(l, h)| l < h).collect();
                common.into_iter().for_each(|(l, h)| self.add(*b, l, h));
            }
        }
    }
}

/// Under which truth values steps are run: the number of a way through branches.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct BranchPath(u32);

/// What branches have written, for later branches that are run exactly if these are.
#[derive(Default)]
pub(super) struct Conditional {
    /// The way that is being checked.
    here: BranchPath,
    /// From a way to that into a branch of it: on a buffer that was written so often, one side.
    branches: FxHashMap<(BranchPath, BufferId, u32, bool), BranchPath>,
    ways: u32,
    written: FxHashMap<(BranchPath, BufferId), Runs>,
    /// How often each buffer was written: another truth value is another condition.
    versions: FxHashMap<BufferId, u32>,
}

impl Conditional {
    /// What is known of a buffer here.
    pub fn of(&self, b: BufferId) -> impl Iterator<Item = (&i64, &i64)> {
        self.written.get(&(self.here, b)).into_iter().flatten()
    }

    /// Notes what was written here.
    pub fn note(&mut self, changes: &Changes) {
        for (b, runs) in changes {
            self.written.insert((self.here, *b), runs.clone());
        }
    }

    /// A buffer is written.
    pub fn changes(&mut self, b: BufferId) {
        *self.versions.entry(b).or_default() += 1;
    }

    fn next(&mut self) -> BranchPath {
        self.ways += 1;
        BranchPath(self.ways)
    }

    /// Goes into a branch; gives the way around it.
    pub fn enter_branch(&mut self, on: BufferId, holds: bool) -> BranchPath {
        let version = self.versions.get(&on).copied().unwrap_or(0);
        let key = (self.here, on, version, holds);
        let way = match self.branches.get(&key) {
            Some(&way) => way,
            None => {
                let way = self.next();
                self.branches.insert(key, way);
                way
            }
        };
        std::mem::replace(&mut self.here, way)
    }

    /// Goes into a loop, of which nothing is known outside; gives the way around it.
    pub fn enter_loop(&mut self) -> BranchPath {
        let way = self.next();
        std::mem::replace(&mut self.here, way)
    }

    /// Goes back.
    pub fn leave(&mut self, around: BranchPath) {
        self.here = around;
    }
}
