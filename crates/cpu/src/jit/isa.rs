//! The instruction sets that there is code for.

use crate::isa;

/// An instruction set with vectors and masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Isa {
    Avx2,
    Avx512,
}

impl Isa {
    /// The bytes of a vector.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Isa::Avx2 => 32,
            Isa::Avx512 => 64,
        }
    }

    /// How many vector registers there are.
    pub(crate) fn registers(self) -> usize {
        match self {
            Isa::Avx2 => 16,
            Isa::Avx512 => 32,
        }
    }
}

/// The best of this machine that may be used.
pub(crate) fn best() -> Option<Isa> {
    match isa::best() {
        isa::Isa::Plain => None,
        isa::Isa::Avx2 => Some(Isa::Avx2),
        isa::Isa::Avx512 => Some(Isa::Avx512),
    }
}
