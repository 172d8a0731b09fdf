//! The room of a step, cut into arrays.

/// Room that is left.
pub(super) struct Rest {
    at: *mut u8,
}

impl Rest {
    pub(super) fn new(at: *mut u8) -> Rest {
        Rest { at }
    }

    /// The place of so many elements of at most 8 bytes.
    pub(super) fn take<E>(&mut self, count: usize) -> *mut E {
        let start = self.at.cast();
        self.at = self.at.wrapping_add(count * size_of::<f64>());
        start
    }

    /// So many elements, all the same.
    ///
    /// # Safety
    /// There is room for them, which nothing else uses as long as the slice is used.
    pub(super) unsafe fn filled<'a, E: Copy>(&mut self, count: usize, x: E) -> &'a mut [E] {
        let start = self.take::<E>(count);
        // SAFETY: by the contract.
        unsafe {
            (0..count).for_each(|i| start.add(i).write(x));
            std::slice::from_raw_parts_mut(start, count)
        }
    }
}
