//! How many states a loop without a bound saves.

/// The slots of the loops that are differentiated on this thread.
#[cfg(feature = "slots")]
mod slots_of_thread {
    use std::cell::Cell;

    thread_local! {
        static SLOTS: Cell<usize> = const { Cell::new(crate::CHECKPOINTS) };
    }

    /// What `body` gives if loops without a bound save that many states, at least 2, in place of
    /// [`crate::CHECKPOINTS`]: so that short loops can stand for long ones in tests.
    pub fn with_slots<T>(slots: usize, body: impl FnOnce() -> T) -> T {
        struct Restore(usize);
        impl Drop for Restore {
            fn drop(&mut self) {
                SLOTS.set(self.0);
            }
        }
        let _restore = Restore(SLOTS.replace(slots));
        body()
    }

    pub(crate) fn slots() -> usize {
        SLOTS.get()
    }
}

#[cfg(not(feature = "slots"))]
mod slots_of_thread {
    #[inline(always)]
    pub(crate) fn slots() -> usize {
        crate::CHECKPOINTS
    }
}

pub(crate) use slots_of_thread::slots;
#[cfg(feature = "slots")]
pub use slots_of_thread::with_slots;
