//! Kernels in machine code, as functions to call.

use std::any::Any;
use std::sync::Arc;

use super::Frame;

/// A kernel as a function: the first byte of each buffer, and the range of the run. Neither the range
/// nor any dimension is empty.
pub(crate) type Entry = unsafe extern "sysv64" fn(*const *mut u8, usize, usize);

/// A kernel in machine code.
#[derive(Clone, Debug)]
pub(crate) struct Native {
    pub entry: Entry,
    /// What the code lies in.
    _code: Arc<dyn Any + Send + Sync>,
}

impl Native {
    /// A function, and what has to live as long as it.
    pub(crate) fn new(entry: Entry, code: Arc<dyn Any + Send + Sync>) -> Native {
        Native { entry, _code: code }
    }
}

/// A kernel in machine code with all that it takes to run it, for those that are short.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    native: Native,
    /// The positions of the kernel, at least one.
    positions: usize,
}

impl Call {
    /// A call for all positions; `None` if there are none.
    pub(crate) fn new(native: Native, positions: usize) -> Option<Call> {
        (positions > 0).then_some(Call { native, positions })
    }

    /// Runs the kernel.
    ///
    /// # Safety
    /// The buffers of the frame are those that the code was made for.
    pub(crate) unsafe fn run(&self, frame: &Frame) {
        // SAFETY: by the contract, and the range is not empty.
        unsafe { (self.native.entry)(frame.pointers.as_ptr(), 0, self.positions) };
    }
}

/// The steps of a loop, if each is nothing but calls of machine code.
#[derive(Debug)]
pub(crate) struct Tight {
    pub calls: Vec<Call>,
    /// The element operations of a step.
    pub cost: usize,
    /// A range of steps at once, if they are of scalars. The states are then in their own memory.
    pub whole: Option<Native>,
}
