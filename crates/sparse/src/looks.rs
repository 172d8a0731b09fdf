//! Long work on patterns looks whether it has to end.

use cotan_ir::Result;

/// So many small pieces of work are done between two looks: less than a millisecond.
const BETWEEN: usize = 1 << 14;

/// Counts the work since the last look.
pub(crate) struct Looks {
    what: &'static str,
    done: usize,
}

impl Looks {
    /// For work that errors call so.
    pub(crate) fn new(what: &'static str) -> Looks {
        Looks { what, done: 0 }
    }

    /// Notes so many pieces of work. Fails where the work of [`cotan_ir::within`] has to end.
    pub(crate) fn after(&mut self, work: usize) -> Result<()> {
        self.done += work;
        if self.done < BETWEEN {
            return Ok(());
        }
        self.done = 0;
        cotan_ir::look(self.what)
    }
}
