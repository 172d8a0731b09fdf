//! What a fuzzer runs: each takes any bytes and panics when a promise is broken.
//!
//! The folder `fuzz` gives these to libFuzzer; the tests of the kit run each on a few thousand
//! inputs of their own.

use cotan_array::{Array, npy, npz};
use cotan_ir::{Program, SourceMap};
use cotan_syntax::parse_program;
use cotan_syntax::render::{Style, render_all};

use crate::{Config, Rng, fail, generate};

/// A target by name.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const ALL: [Target; 3] = [("parse", parse), ("roundtrip", roundtrip), ("npy", read_npy)];

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

/// Bytes steer the generator: the program passes the checker, and its text means the same program
/// and is printed the same again.
pub fn roundtrip(data: &[u8]) {
    let program = match generate(&Config::default(), &mut Rng::from_bytes(data)) {
        Ok(program) => program,
        Err(e) => fail(&format!("the generator failed: {e}")),
    };
    if let Err(e) = program.check() {
        fail(&format!("{e}\n{program}"));
    }
    if let Err(message) = reads_back(&program) {
        fail(&message);
    }
}

/// Whether the text of a program means the same program, and that of its normal form is printed the
/// same again. (Lambdas made at different depths may be equal up to the names of their variables;
/// only normal forms have just one of them.)
pub fn reads_back(program: &Program) -> Result<(), String> {
    let read = |text: &str| parse_program(text).map_err(|e| format!("{e}\nreading\n{text}"));
    let text = program.to_string();
    let again = read(&text)?;
    if again != *program {
        return Err(format!("\n{text}is read as another program:\n{again}"));
    }
    let text = program.normalised().map_err(|e| e.to_string())?.to_string();
    let twice = read(&text)?.to_string();
    if twice == text { Ok(()) } else { Err(format!("\n{text}is printed again as\n{twice}")) }
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
