//! Files made by hand, and a seeded generator, for the tests of the readers.
#![allow(dead_code, reason = "each test binary uses its part")]

/// The contents of an `.npy` file with this version, header text and data, unpadded.
pub fn npy(version: [u8; 2], header: &[u8], data: &[u8]) -> Vec<u8> {
    let length = header.len() as u32;
    let length = length.to_le_bytes();
    let length = if version == [1, 0] { &length[..2] } else { &length[..] };
    [b"\x93NUMPY", &version[..], length, header, data].concat()
}

/// The same of version 1.0.
pub fn npy1(header: impl AsRef<[u8]>, data: &[u8]) -> Vec<u8> {
    npy([1, 0], header.as_ref(), data)
}

/// The header of an array in C order.
pub fn header(descr: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n")
}

/// Xorshift.
pub struct Rng(pub u64);

impl Rng {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `n`, or 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n.max(1)
    }

    /// A file like `bytes`, with a few bytes changed, inserted, removed, copied or cut off.
    pub fn mutate(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut mutant = bytes.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(mutant.len());
            match self.below(7) {
                0 if !mutant.is_empty() => mutant[at] = self.next() as u8,
                1 if !mutant.is_empty() => mutant[at] ^= 1 << self.below(8),
                2 if !mutant.is_empty() => {
                    mutant[at] = *b"(){}[]':,<>|=-0189TFL\0\xff".get(self.below(23)).unwrap_or(&0)
                }
                3 => mutant.insert(at, self.next() as u8),
                4 if !mutant.is_empty() => drop(mutant.remove(at)),
                5 => mutant.truncate(at),
                _ => {
                    let piece =
                        mutant[at..].iter().take(self.below(16)).copied().collect::<Vec<_>>();
                    let to = self.below(mutant.len());
                    mutant.splice(to..to, piece);
                }
            }
        }
        mutant
    }
}
