//! The terms made so far that may be used again, by type.

use cotan_ir::{Builder, TermId, Type};
use rustc_hash::{FxHashMap, FxHashSet};

/// Terms in scope. Terms of a closed lambda are forgotten unless they do not depend on it.
#[derive(Default)]
pub(super) struct Pool {
    by_type: FxHashMap<Type, Vec<TermId>>,
    present: FxHashSet<TermId>,
    /// Everything present, in the order of adding.
    log: Vec<TermId>,
}

/// The state of a pool when a lambda was opened.
pub(super) struct Mark(usize);

impl Pool {
    pub fn add(&mut self, b: &Builder, t: TermId) {
        if self.present.insert(t) {
            self.by_type.entry(b.ty(t).clone()).or_default().push(t);
            self.log.push(t);
        }
    }

    /// Forgets a term added since the last mark.
    pub fn remove(&mut self, b: &Builder, t: TermId) {
        if self.present.remove(&t) {
            if let Some(terms) = self.by_type.get_mut(b.ty(t)) {
                terms.retain(|&u| u != t);
            }
            self.log.retain(|&u| u != t);
        }
    }

    pub fn of_type(&self, ty: &Type) -> &[TermId] {
        self.by_type.get(ty).map_or(&[], Vec::as_slice)
    }

    /// Everything, in the order of making.
    pub fn all(&self) -> &[TermId] {
        &self.log
    }

    pub fn mark(&self) -> Mark {
        Mark(self.log.len())
    }

    /// Forgets what was added since the mark and depends on a lambda that is closed by now.
    pub fn leave(&mut self, b: &Builder, mark: Mark) {
        let inner = self.log.split_off(mark.0);
        for t in inner.iter().rev() {
            self.present.remove(t);
            if let Some(terms) = self.by_type.get_mut(b.ty(*t)) {
                terms.pop();
            }
        }
        for t in inner {
            if usize::from(b.free(t).innermost()) <= b.depth() {
                self.add(b, t);
            }
        }
    }
}
