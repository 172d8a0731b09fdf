//! Memory for code: written first, then made executable, never both.

use memmap2::{Mmap, MmapMut};

/// Code that can be run. It never changes.
#[derive(Debug)]
pub(crate) struct CodeMemory(Mmap);

impl CodeMemory {
    /// Executable memory with these bytes; `None` where the system refuses.
    pub(super) fn new(bytes: &[u8]) -> Option<CodeMemory> {
        let mut writable = MmapMut::map_anon(bytes.len().max(1)).ok()?;
        writable.get_mut(..bytes.len())?.copy_from_slice(bytes);
        writable.make_exec().ok().map(CodeMemory)
    }

    /// The address of a byte.
    pub(super) fn at(&self, offset: usize) -> Option<*const u8> {
        self.0.get(offset).map(std::ptr::from_ref)
    }
}
