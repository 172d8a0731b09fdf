//! The header: a Python dictionary of three known keys, read without recursion.

use smallvec::SmallVec;

use crate::{MAX_RANK, Shape};

use super::NpyError;
use super::descr::{Descr, structured};

/// What the header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) descr: Descr,
    pub(super) fortran_order: bool,
    pub(super) shape: Shape,
}

impl Header {
    /// Reads the text of a header, which starts at byte `start` of the file.
    pub(super) fn parse(text: &[u8], start: usize) -> Result<Header, NpyError> {
        let mut input = Input { text, rest: text, start };
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        input.token(b"{", "'{'")?;
        while !input.takes(b"}") {
            let at = input.at();
            let key = input.string("a key in quotes or '}'")?;
            input.token(b":", "':'")?;
            match key {
                b"descr" => once(&mut descr, at, "descr", input.descr()?)?,
                b"fortran_order" => {
                    once(&mut fortran_order, at, "fortran_order", input.boolean()?)?;
                }
                b"shape" => once(&mut shape, at, "shape", input.shape()?)?,
                _ => return Err(NpyError::UnknownKey { at, key: excerpt(key) }),
            }
            if !input.takes(b",") {
                input.token(b"}", "',' or '}'")?;
                break;
            }
        }
        input.end()?;
        let missing = |key| NpyError::MissingKey { key };
        Ok(Header {
            descr: descr.ok_or(missing("descr"))?,
            fortran_order: fortran_order.ok_or(missing("fortran_order"))?,
            shape: shape.ok_or(missing("shape"))?,
        })
    }
}

fn once<T>(slot: &mut Option<T>, at: usize, key: &'static str, value: T) -> Result<(), NpyError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(NpyError::DuplicateKey { at, key }),
    }
}

/// The beginning of a text that may be anything, fit for a message.
fn excerpt(text: &[u8]) -> String {
    const SHOWN: usize = 24;
    let mut shown = String::new();
    for &b in text.iter().take(SHOWN) {
        match b {
            b'\'' => shown.push('\''),
            _ => shown.extend(b.escape_ascii().map(char::from)),
        }
    }
    if text.len() > SHOWN {
        shown.push_str("...");
    }
    shown
}

/// The part of the text that has not been read yet.
struct Input<'a> {
    text: &'a [u8],
    rest: &'a [u8],
    start: usize,
}

impl<'a> Input<'a> {
    /// The position in the file.
    fn at(&self) -> usize {
        self.start.saturating_add(self.text.len().saturating_sub(self.rest.len()))
    }

    fn error<T>(&self, expected: &'static str) -> Result<T, NpyError> {
        Err(NpyError::Syntax { at: self.at(), expected, found: excerpt(self.rest) })
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// Reads `token` if it comes next.
    fn takes(&mut self, token: &[u8]) -> bool {
        self.skip_blanks();
        let after = self.rest.strip_prefix(token);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn token(&mut self, token: &[u8], expected: &'static str) -> Result<(), NpyError> {
        if self.takes(token) { Ok(()) } else { self.error(expected) }
    }

    fn end(&mut self) -> Result<(), NpyError> {
        self.skip_blanks();
        if self.rest.is_empty() { Ok(()) } else { self.error("blanks to the end of the header") }
    }

    /// Reads as far as `wanted` holds.
    fn take_while(&mut self, wanted: impl Fn(&u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|b| !wanted(b)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, &[]));
        self.rest = rest;
        taken
    }

    /// A string in single or double quotes. Nothing that is read needs an escape.
    fn string(&mut self, expected: &'static str) -> Result<&'a [u8], NpyError> {
        self.skip_blanks();
        let Some(&quote @ (b'\'' | b'"')) = self.rest.first() else {
            return self.error(expected);
        };
        let opening = self.rest;
        self.takes(&[quote]);
        let text = self.take_while(|&b| b != quote && b != b'\\' && b != b'\n');
        if self.rest.first() == Some(&quote) {
            self.takes(&[quote]);
            return Ok(text);
        }
        self.rest = opening;
        self.error("a string closed by its quote, without escapes")
    }

    fn boolean(&mut self) -> Result<bool, NpyError> {
        if self.takes(b"True") {
            return Ok(true);
        }
        self.token(b"False", "True or False").map(|()| false)
    }

    fn descr(&mut self) -> Result<Descr, NpyError> {
        self.skip_blanks();
        if let Some(b'[' | b'(') = self.rest.first() {
            return Err(structured(excerpt(self.rest)));
        }
        let at = self.at();
        let text = self.string("an element type in quotes, such as '<f8'")?;
        match std::str::from_utf8(text) {
            Ok(text) if text.is_ascii() => Descr::parse(text),
            _ => Err(NpyError::Syntax { at, expected: "an ASCII string", found: excerpt(text) }),
        }
    }

    /// `()`, `(3,)`, `(3, 4)`; also `(3L, 4L)`, as Python 2 wrote them.
    fn shape(&mut self) -> Result<Shape, NpyError> {
        let mut dims: SmallVec<[usize; 4]> = SmallVec::new();
        let mut rank = 0usize;
        self.token(b"(", "a tuple of sizes, such as (3, 4)")?;
        while !self.takes(b")") {
            let k = self.size()?;
            rank = rank.saturating_add(1);
            // A header has room for thousands of axes; those beyond the limit are only counted.
            if rank <= MAX_RANK {
                dims.push(k);
            }
            if !self.takes(b",") {
                if rank == 1 {
                    return self.error("',': a tuple of one size is written (3,)");
                }
                self.token(b")", "',' or ')'")?;
                break;
            }
        }
        if rank > MAX_RANK {
            return Err(NpyError::TooManyAxes { rank });
        }
        Ok(Shape::new("npy", &dims)?)
    }

    fn size(&mut self) -> Result<usize, NpyError> {
        self.skip_blanks();
        let at = self.at();
        let text = self.take_while(|b| b.is_ascii_digit() || *b == b'-');
        if text.is_empty() {
            return self.error("a size or ')'");
        }
        let size = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i64>().ok());
        self.rest = self.rest.strip_prefix(b"L").unwrap_or(self.rest);
        match size.map(usize::try_from) {
            Some(Ok(size)) => Ok(size),
            _ => Err(NpyError::BadSize { at, text: excerpt(text) }),
        }
    }
}
