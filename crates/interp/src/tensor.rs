//! The arrays of a run: row-major, each element with a flag, each array on the meter.

use std::cell::Cell;
use std::rc::Rc;

use cotan_array::release::release;
use cotan_ir::Type;
use cotan_ir::scalar::Scalar;

use crate::position::offset;

/// A scalar, and whether it depends on an out-of-range read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) value: Scalar,
    pub(crate) poisoned: bool,
}

impl Entry {
    /// A scalar that depends on nothing out of range.
    pub(crate) fn sound(value: Scalar) -> Entry {
        Entry { value, poisoned: false }
    }

    /// The same, depending also on something with the given flag.
    pub(crate) fn tainted_by(self, poisoned: bool) -> Entry {
        Entry { value: self.value, poisoned: self.poisoned || poisoned }
    }
}

/// An array.
#[derive(Debug)]
pub(crate) struct Tensor {
    pub(crate) ty: Type,
    pub(crate) entries: Vec<Entry>,
    hold: Hold,
}

/// When a run is stopped, what is large is given back by another thread: it would keep the caller.
impl Drop for Tensor {
    fn drop(&mut self) {
        if self.hold.meter.is_stopped() {
            let entries = std::mem::take(&mut self.entries);
            let bytes = entries.capacity() * size_of::<Entry>();
            release(entries, bytes);
        }
    }
}

impl Tensor {
    /// An array from its elements in row-major order.
    pub(crate) fn new(ty: Type, entries: Vec<Entry>, hold: Hold) -> Tensor {
        Tensor { ty, entries, hold }
    }

    pub(crate) fn dims(&self) -> &[usize] {
        self.ty.shape.dims()
    }

    /// The size of the outermost axis.
    pub(crate) fn outer(&self) -> usize {
        self.dims().first().copied().unwrap_or(0)
    }

    /// The element at an index within the shape.
    pub(crate) fn at(&self, ix: impl IntoIterator<Item = usize>) -> Entry {
        self.entries[offset(self.dims(), ix.into_iter())]
    }

    /// The only element of a scalar.
    pub(crate) fn item(&self) -> Entry {
        self.at([])
    }
}

/// The bytes in use, and the most there were.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter(Rc<Gauge>);

#[derive(Debug, Default)]
struct Gauge {
    in_use: Cell<u64>,
    peak: Cell<u64>,
    stopped: Cell<bool>,
}

impl Meter {
    pub(crate) fn in_use(&self) -> u64 {
        self.0.in_use.get()
    }

    pub(crate) fn peak(&self) -> u64 {
        self.0.peak.get()
    }

    /// Notes that the run has to come back soon.
    pub(crate) fn stop(&self) {
        self.0.stopped.set(true);
    }

    fn is_stopped(&self) -> bool {
        self.0.stopped.get()
    }

    /// Puts bytes on the meter until the hold is dropped.
    pub(crate) fn hold(&self, bytes: u64) -> Hold {
        let now = self.in_use().saturating_add(bytes);
        self.0.in_use.set(now);
        self.0.peak.set(self.peak().max(now));
        Hold { bytes, meter: self.clone() }
    }
}

/// Bytes on the meter.
#[derive(Debug)]
pub(crate) struct Hold {
    bytes: u64,
    meter: Meter,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.meter.0.in_use.set(self.meter.in_use().saturating_sub(self.bytes));
    }
}
