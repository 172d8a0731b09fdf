//! Memory between the passes of long programs.

use cotan_cpu::give_back_free_memory;

/// The nodes from which on a program is long. Looking through the heap for pages to give back takes
/// milliseconds, the passes over so many nodes a tenth of a second.
const LONG: usize = 100_000;

/// Gives back what a pass over so many nodes has left in the heap of the allocator, if they are many.
pub(crate) fn give_back_after(nodes: usize) {
    if nodes >= LONG {
        give_back_free_memory();
    }
}
