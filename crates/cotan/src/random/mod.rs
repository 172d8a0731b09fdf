//! Random numbers that are the same everywhere and always.
//!
//! A [`Key`] stands for a stream of random bits, and is a value like any other: what is drawn from
//! it is a function of the key, the shape and nothing else. Draw from a key once; for more, make new
//! keys by [`split`](Key::split) or [`fold_in`](Key::fold_in). Element `i` of a tensor depends on
//! the key and `i` alone, and all functions are computed in the same way on every machine, so
//! results are equal to the last bit, in whatever order or on however many threads they are drawn.
//!
//! ```
//! use cotan::random::{Init, Key};
//!
//! let [weights, noise] = Key::new(42).split_into();
//! let w = Init::HeNormal.tensor::<f32>(weights, [128, 64])?;
//! let x = noise.normal::<f32>([64])?;
//! assert_eq!((w.shape(), x.size()), (&[128, 64][..], 64));
//! // The same key, the same numbers.
//! assert_eq!(noise.normal::<f32>([64])?, x);
//! # Ok::<(), cotan::Error>(())
//! ```

mod discrete;
mod init;
mod orthogonal;
mod philox;
mod real;

use crate::element::Element;
use crate::error::{Error, Result};
use crate::sizes::Sizes;
use crate::tensor::Tensor;

pub use init::{Fans, Init};

/// What stands for a stream of random bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    key: [u32; 2],
    /// The half of the counter that does not count: with the key 128 bits, so keys that were split
    /// from others never meet.
    nonce: [u32; 2],
}

/// What a block is for: the blocks of different purposes are different ones.
#[derive(Clone, Copy)]
enum Purpose {
    Draw = 0,
    Split = 1,
    Fold = 2,
}

impl Key {
    /// The key of a seed.
    ///
    /// ```
    /// use cotan::random::Key;
    ///
    /// assert_ne!(Key::new(0).uniform::<f64>([4])?, Key::new(1).uniform::<f64>([4])?);
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn new(seed: u64) -> Key {
        Key { key: [seed as u32, (seed >> 32) as u32], nonce: [0, 0] }
    }

    /// New keys, unrelated to each other and to this one. The first ones are the same, however many
    /// are made.
    ///
    /// ```
    /// use cotan::random::Key;
    ///
    /// let key = Key::new(7);
    /// assert_eq!(key.split(2), key.split(5)[..2]);
    /// ```
    pub fn split(self, n: usize) -> Vec<Key> {
        (0..n as u64).map(|k| self.child(Purpose::Split, k)).collect()
    }

    /// New keys, as many as the pattern has: see [`split`](Key::split).
    ///
    /// ```
    /// use cotan::random::Key;
    ///
    /// let key = Key::new(7);
    /// let [a, b, _] = key.split_into();
    /// assert_eq!(vec![a, b], key.split(2));
    /// ```
    pub fn split_into<const N: usize>(self) -> [Key; N] {
        std::array::from_fn(|k| self.child(Purpose::Split, k as u64))
    }

    /// The key of a number: of a step, a layer, an epoch. Different from those that
    /// [`split`](Key::split) gives.
    ///
    /// ```
    /// use cotan::random::Key;
    ///
    /// let key = Key::new(7);
    /// assert_eq!(key.fold_in(3), key.fold_in(3));
    /// assert_ne!(key.fold_in(3), key.fold_in(4));
    /// assert_ne!(key.fold_in(0), key.split(1)[0]);
    /// ```
    pub fn fold_in(self, number: u64) -> Key {
        let low = self.child(Purpose::Fold, number & 0xffff_ffff);
        low.child(Purpose::Fold, number >> 32)
    }

    fn child(self, purpose: Purpose, index: u64) -> Key {
        let [a, b, c, d] = self.block(purpose, 0, index);
        Key { key: [a, b], nonce: [c, d] }
    }

    /// The block at an index below 2^48: more elements no tensor has.
    fn block(self, purpose: Purpose, attempt: u8, index: u64) -> [u32; 4] {
        let high = (index >> 32) as u32 & 0xffff;
        let place = high | u32::from(attempt) << 16 | (purpose as u32) << 24;
        philox::block(self.key, [index as u32, place, self.nonce[0], self.nonce[1]])
    }

    /// Two random numbers of 64 bits for an element and an attempt to draw it.
    fn pair(self, attempt: u8, index: u64) -> [u64; 2] {
        let [a, b, c, d] = self.block(Purpose::Draw, attempt, index);
        [u64::from(a) << 32 | u64::from(b), u64::from(c) << 32 | u64::from(d)]
    }

    /// 64 random bits for an element; two elements share a block.
    fn bits(self, index: u64) -> u64 {
        self.pair(0, index / 2)[(index % 2) as usize]
    }

    /// A tensor whose element `i` in row-major order is `draw(i)`.
    fn tensor<T: Element>(self, sizes: impl Sizes, draw: impl Fn(u64) -> T) -> Result<Tensor<T>> {
        let mut next = 0;
        Tensor::from_fn(sizes, |_| {
            let index = next;
            next += 1;
            draw(index)
        })
    }
}

/// An error of the parameters of a distribution.
fn bad_parameter(op: &str, message: String, hint: &str) -> Error {
    Error::type_error(op, message).with_hint(hint)
}
