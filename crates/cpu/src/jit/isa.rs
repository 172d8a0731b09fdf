//! The instruction sets that there is code for.

use crate::isa;

/// An instruction set with vectors and masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum VectorIsa {
    Avx2,
    Avx512,
}

impl VectorIsa {
    /// The bytes of a vector.
    pub(crate) fn bytes(self) -> usize {
        match self {
            VectorIsa::Avx2 => 32,
            VectorIsa::Avx512 => 64,
        }
    }

    /// How many vector registers there are.
    pub(crate) fn registers(self) -> usize {
        match self {
            VectorIsa::Avx2 => 16,
            VectorIsa::Avx512 => 32,
        }
    }
}

/// The best of this machine that may be used.
pub(crate) fn best() -> Option<VectorIsa> {
    match isa::best() {
        isa::Isa::Plain => None,
        isa::Isa::Avx2 => Some(VectorIsa::Avx2),
        isa::Isa::Avx512 => Some(VectorIsa::Avx512),
    }
}
