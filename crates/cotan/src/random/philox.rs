//! Philox4x32-10, a counter-based generator: Salmon, Moraes, Dror and Shaw, *Parallel Random
//! Numbers: As Easy as 1, 2, 3*, SC 2011.
//!
//! A block of four words is a bijection of the counter, chosen by the key: ten rounds of
//! multiplications whose high and low halves change places. There is no state, so every block can be
//! had at once, in any order.

const MULTIPLIERS: [u32; 2] = [0xd251_1f53, 0xcd9e_8d57];
/// The golden ratio and the square root of 3, less 1, as fractions of 2^32.
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
const ROUNDS: usize = 10;

/// The block of a key at a counter.
pub(super) fn block(key: [u32; 2], counter: [u32; 4]) -> [u32; 4] {
    let (mut key, mut words) = (key, counter);
    for _ in 0..ROUNDS {
        let [a, b, c, d] = words;
        let (high0, low0) = multiply(MULTIPLIERS[0], a);
        let (high1, low1) = multiply(MULTIPLIERS[1], c);
        words = [high1 ^ b ^ key[0], low1, high0 ^ d ^ key[1], low0];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    words
}

/// The high and the low half of a product.
fn multiply(a: u32, b: u32) -> (u32, u32) {
    let product = u64::from(a) * u64::from(b);
    ((product >> 32) as u32, product as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers that the authors publish with their library.
    #[test]
    fn known_answers() {
        assert_eq!(block([0; 2], [0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let ones = u32::MAX;
        assert_eq!(
            block([ones; 2], [ones; 4]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        // The digits of pi.
        assert_eq!(
            block([0xa409_3822, 0x299f_31d0], [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }
}
