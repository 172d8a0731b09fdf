//! Deflated data as a stream, so that nothing is inflated that nobody asked for.

use std::io::{self, Read};

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

/// The most bytes that one byte of deflated data can stand for: the shortest code, of two bits,
/// stands for 258 bytes.
pub(super) const MAX_RATIO: u64 = 1032;

/// Deflated bytes read at a time.
const CHUNK: usize = 4 << 10;

/// Reads what `input`, to its end, inflates to. Takes about 45 KiB.
pub(super) struct Inflate<R> {
    input: R,
    state: Box<InflateState>,
    chunk: [u8; CHUNK],
    /// The part of `chunk` that has not been inflated yet.
    start: usize,
    end: usize,
}

impl<R: Read> Inflate<R> {
    pub(super) fn new(input: R) -> Inflate<R> {
        let state = InflateState::new_boxed(DataFormat::Raw);
        Inflate { input, state, chunk: [0; CHUNK], start: 0, end: 0 }
    }

    /// Whether there is more: inflated data, or input beyond the end of the deflated data.
    pub(super) fn goes_on(&mut self) -> io::Result<bool> {
        Ok(has_byte(self)? || self.start < self.end || has_byte(&mut self.input)?)
    }
}

fn has_byte(input: &mut impl Read) -> io::Result<bool> {
    Ok(io::copy(&mut input.take(1), &mut io::sink())? > 0)
}

impl<R: Read> Read for Inflate<R> {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.start == self.end {
                // Empty also if reading fails: a read that was interrupted is tried again.
                (self.start, self.end) = (0, 0);
                self.end = self.input.read(&mut self.chunk)?;
            }
            let pending = self.chunk.get(self.start..self.end).unwrap_or_default();
            let result = inflate(&mut self.state, pending, output, MZFlush::None);
            self.start = self.start.saturating_add(result.bytes_consumed);
            match result.status {
                Ok(MZStatus::StreamEnd) => return Ok(result.bytes_written),
                Ok(_) if result.bytes_written > 0 || output.is_empty() => {
                    return Ok(result.bytes_written);
                }
                Ok(_) | Err(MZError::Buf) if result.bytes_consumed > 0 => {}
                Ok(_) | Err(MZError::Buf) => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the deflated data are cut off",
                    ));
                }
                Err(_) => {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "the deflated data are damaged",
                    ));
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a failed slice is a failed test")]
mod tests {
    use super::*;
    use miniz_oxide::deflate::compress_to_vec;

    fn sample() -> Vec<u8> {
        (0..200_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect()
    }

    #[test]
    fn inflates_in_pieces_of_any_size() {
        let deflated = compress_to_vec(&sample(), 6);
        for size in [1, 7, 4096, 1 << 20] {
            let mut stream = Inflate::new(&deflated[..]);
            let (mut all, mut piece) = (Vec::new(), vec![0; size]);
            loop {
                let n = stream.read(&mut piece).unwrap();
                if n == 0 {
                    break;
                }
                all.extend_from_slice(&piece[..n]);
            }
            assert!(all == sample() && !stream.goes_on().unwrap());
        }
    }

    #[test]
    fn cut_off_damaged_and_extended_data_are_told_apart() {
        let deflated = compress_to_vec(&sample(), 6);
        for end in [0, 1, deflated.len() / 2, deflated.len() - 1] {
            let e = Inflate::new(&deflated[..end]).read_to_end(&mut Vec::new()).unwrap_err();
            assert_eq!(e.to_string(), "the deflated data are cut off", "{end}");
        }
        let e = Inflate::new(&[0xff; 9][..]).read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(e.to_string(), "the deflated data are damaged");
        let extended = [&deflated[..], &[0]].concat();
        let mut stream = Inflate::new(&extended[..]);
        assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), 200_000);
        assert!(stream.goes_on().unwrap());
    }

    #[test]
    fn an_interrupted_read_loses_nothing() {
        struct Interrupted<'a>(&'a [u8], bool);
        impl Read for Interrupted<'_> {
            fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
                self.1 = !self.1;
                if self.1 { Err(io::ErrorKind::Interrupted.into()) } else { self.0.read(output) }
            }
        }
        let deflated = compress_to_vec(&sample(), 6);
        let (mut all, mut stream) = (Vec::new(), Inflate::new(Interrupted(&deflated, false)));
        stream.read_to_end(&mut all).unwrap();
        assert!(all == sample() && !stream.goes_on().unwrap());
    }

    #[test]
    fn no_stream_inflates_beyond_the_ratio() {
        let zeros = vec![0; 8 << 20];
        let deflated = compress_to_vec(&zeros, 9).len() as u64;
        assert!(zeros.len() as u64 <= deflated * MAX_RATIO);
        assert!(zeros.len() as u64 > deflated * 900, "the bound is not idle: {deflated}");
    }
}
