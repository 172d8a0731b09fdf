//! Memory, aligned as kernels like it.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Memory begins at multiples of this many bytes.
const ALIGNMENT: usize = 64;

/// A piece of memory, zero at first, aligned as kernels like it.
pub(crate) struct AlignedMemory {
    start: NonNull<u8>,
    /// What was allocated, if anything was.
    whole: Option<(NonNull<u8>, Layout)>,
}

// SAFETY: the memory is owned, and nothing but bytes.
unsafe impl Send for AlignedMemory {}

impl AlignedMemory {
    pub(crate) fn new(bytes: usize) -> Option<AlignedMemory> {
        if bytes == 0 {
            return Some(AlignedMemory { start: NonNull::dangling(), whole: None });
        }
        // Aligned by hand: pages that are zero until they are written come only without alignment.
        let layout = Layout::array::<u64>(bytes.checked_add(ALIGNMENT)?.div_ceil(8)).ok()?;
        // SAFETY: the layout has a size.
        let whole = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let offset = whole.as_ptr().align_offset(ALIGNMENT);
        // SAFETY: less than what was allocated in addition.
        let start = unsafe { whole.add(offset.min(ALIGNMENT)) };
        Some(AlignedMemory { start, whole: Some((whole, layout)) })
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

impl Drop for AlignedMemory {
    fn drop(&mut self) {
        if let Some((whole, layout)) = self.whole {
            // SAFETY: it was allocated with this layout, and is not used any more.
            unsafe { dealloc(whole.as_ptr(), layout) };
        }
    }
}
