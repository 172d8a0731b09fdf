//! The memory of large results, kept for the next ones.
//!
//! A result belongs to numpy, and its memory comes back when the last reference to it is gone: with
//! most programs before the next call has made its own. From the system the next one would get pages
//! that are new, and to make a page can cost more than to compute what is written into it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;

/// Blocks of fewer bytes are left to the system, which keeps them as well.
const LARGE: usize = 1 << 20;
/// How many bytes are kept at most.
const MOST: usize = 64 << 20;
/// How many blocks are kept at most.
const BLOCKS: usize = 16;

struct Block {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: a block that is kept is nobody else's.
unsafe impl Send for Block {}

/// Blocks that were given back, the last one last.
struct Kept {
    blocks: [Option<Block>; BLOCKS],
    bytes: usize,
}

impl Kept {
    fn take(&mut self, layout: Layout) -> Option<*mut u8> {
        let same = |slot: &Option<Block>| slot.as_ref().is_some_and(|b| b.layout == layout);
        let block = self.blocks[self.blocks.iter().rposition(same)?].take()?;
        self.bytes -= layout.size();
        Some(block.start)
    }

    /// Takes out the block that was given back first, where there is no room for one more.
    fn evict_for(&mut self, bytes: usize) -> Option<Block> {
        let full = self.blocks.iter().all(Option::is_some) || self.bytes + bytes > MOST;
        let oldest = full.then(|| self.blocks.iter_mut().find_map(Option::take)).flatten()?;
        self.bytes -= oldest.layout.size();
        Some(oldest)
    }

    fn keep(&mut self, block: Block) {
        // Those that were there before stay in order, in front of it.
        let mut next = 0;
        for k in 0..BLOCKS {
            if self.blocks[k].is_some() {
                self.blocks.swap(next, k);
                next += 1;
            }
        }
        self.bytes += block.layout.size();
        self.blocks[next.min(BLOCKS - 1)] = Some(block);
    }
}

/// The allocator of the package: that of the system, which keeps some large blocks.
pub struct Recycling(Mutex<Kept>);

impl Recycling {
    /// Nothing is kept yet.
    pub const fn new() -> Recycling {
        Recycling(Mutex::new(Kept { blocks: [const { None }; BLOCKS], bytes: 0 }))
    }
}

// SAFETY: all memory is the system's. A block is kept with the layout it was allocated with, after it
// was given back, and leaves the list before it is used again or freed. Nothing here allocates or
// waits: where another thread holds the list (or held it when the process was forked) the system is
// asked.
unsafe impl GlobalAlloc for Recycling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LARGE
            && let Ok(mut kept) = self.0.try_lock()
            && let Some(start) = kept.take(layout)
        {
            return start;
        }
        // SAFETY: by the contract of this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if (LARGE..=MOST).contains(&layout.size())
            && let Ok(mut kept) = self.0.try_lock()
        {
            while let Some(block) = kept.evict_for(layout.size()) {
                // SAFETY: it was allocated with this layout, and is in the list no more.
                unsafe { System.dealloc(block.start, block.layout) };
            }
            return kept.keep(Block { start, layout });
        }
        // SAFETY: by the contract of this function.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // Pages that are new are zero without being written.
        // SAFETY: by the contract of this function.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: by the contract of this function.
        unsafe { System.realloc(start, layout, size) }
    }
}
