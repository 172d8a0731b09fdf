//! Changed bytes, for feeding readers what almost makes sense.

use crate::Rng;

/// Bytes that mean something to one of our readers.
const TOKENS: [&[u8]; 24] = [
    b"(",
    b")",
    b"[",
    b"]",
    b"{",
    b"}",
    b"=>",
    b"let ",
    b"in ",
    b"def ",
    b"build ",
    b",",
    b"#",
    b"`",
    b"-9223372036854775808",
    b"1e999",
    b"\n",
    b"'",
    b"\x93NUMPY",
    b"(1000000000000,)",
    b"'<f8'",
    b"PK\x03\x04",
    b"\xff\xff\xff\xff",
    b"\xc3\xa9",
];

/// `bytes` with one to eight changes: bytes flipped, removed, doubled, moved or put in.
pub fn mutate(rng: &mut Rng, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + rng.below(8) {
        let at = rng.below(bytes.len() + 1);
        let end = at + rng.below((bytes.len() - at).min(40) + 1);
        match rng.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let copy = bytes[at..end].to_vec();
                let to = rng.below(bytes.len() + 1);
                bytes.splice(to..to, copy);
            }
            3 => {
                let token = *rng.pick(&TOKENS);
                bytes.splice(at..at, token.iter().copied());
            }
            4 if at < bytes.len() => bytes[at] = rng.below(256) as u8,
            _ => bytes.truncate(end),
        }
    }
    bytes
}
