//! What a fuzzer runs: each takes any bytes and panics when a promise is broken.
//!
//! The folder `fuzz` gives these to libFuzzer; the tests of the kit run each on a few thousand
//! inputs of their own.

use cotan_array::{Array, npy, npz};
use cotan_ir::SourceMap;
use cotan_syntax::render::{Style, render_all};

use crate::fail;

/// A target by name.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const ALL: [Target; 2] = [("parse", parse), ("npy", read_npy)];

/// Any text parses or is refused with diagnostics that can be shown; what parses can be formatted,
/// and formatting it again changes nothing.
pub fn parse(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut sources = SourceMap::new();
    let file = sources.add("fuzz.ct", text.as_ref());
    let parsed = cotan_syntax::parse(file, &text);
    let shown = render_all(&parsed.diagnostics, &sources, Style::Plain);
    if parsed.diagnostics.has_errors() {
        if shown.is_empty() {
            fail("an error without text");
        }
        return;
    }
    let once = match cotan_syntax::format(file, &text) {
        Ok(once) => once,
        Err(e) => fail(&format!("parses but does not format: {e}\n{text}")),
    };
    match cotan_syntax::format(file, &once) {
        Ok(twice) if twice == once => {}
        Ok(twice) => fail(&format!("formatting twice changes\n{once}to\n{twice}")),
        Err(e) => fail(&format!("formatted text does not format: {e}\n{once}")),
    }
}

/// Any bytes are an array file or are refused; what was read can be written and read again.
pub fn read_npy(data: &[u8]) {
    if let Ok(array) = npy::read(data) {
        check_written(&array);
    }
    if let Ok(arrays) = npz::read(data) {
        arrays.iter().for_each(|(_, array)| check_written(array));
    }
}

fn check_written(array: &Array) {
    let again = npy::write(array).and_then(|bytes| npy::read(&bytes));
    match again {
        Ok(again) if again.bits_eq(array) => {}
        Ok(_) => fail("an array changes when it is written and read"),
        Err(e) => fail(&format!("an array that was read cannot be written and read: {e}")),
    }
}
