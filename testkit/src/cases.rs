//! Running a property on many random cases, with the seed in every failure.
//!
//! Two environment variables scale every random test:
//!
//! * `COTAN_CASES=100` runs 100 times as many cases, `COTAN_CASES=0.01` a hundredth of them, for
//!   slow machines such as emulators;
//! * `COTAN_SEED=17` starts from seed 17 instead of the test's own seed. Case `n` of a run uses the
//!   seed `start + n`, so the seed printed by a failure reproduces it as the first case.
//!
//! `COTAN_TALLY=FILE` appends a line to a file for each property that was run: its name, the first
//! seed, and how many cases passed; `FILE.at` holds the seed of the case that is being run, for
//! crashes that say nothing. `cotan-soak` counts by them.

use std::fs::File;
use std::io::{Seek, Write};
use std::str::FromStr;

use crate::Rng;

/// Runs `property` on `count` cases (times `COTAN_CASES`), each with its own seed.
///
/// Panics at the first case that fails, naming the property and the seed; a panic inside the
/// property prints both on standard error.
pub fn for_each_case(
    name: &str,
    count: usize,
    mut property: impl FnMut(&mut Rng) -> Result<(), String>,
) {
    let first = first_seed(name);
    let mut tally = Tally { name, first, passed: 0 };
    let mut current = std::env::var("COTAN_TALLY").ok().map(|path| noted(&format!("{path}.at")));
    for seed in (first..).take(scaled(count)) {
        let blame = Blame { name, seed };
        if let Some(file) = &mut current {
            let written = file.rewind().and_then(|()| writeln!(file, "{seed}"));
            written.unwrap_or_else(|error| fail(&format!("the seed cannot be noted: {error}")));
        }
        let outcome = property(&mut Rng::new(seed));
        std::mem::forget(blame);
        if let Err(message) = outcome {
            fail(&format!("{name} fails for COTAN_SEED={seed}\n{message}"));
        }
        tally.passed += 1;
    }
}

/// The file that the seed of the current case is written to.
fn noted(path: &str) -> File {
    File::create(path).unwrap_or_else(|error| fail(&format!("{path}: {error}")))
}

/// The seed of the first case of a test: `COTAN_SEED`, or one of its own.
pub(crate) fn first_seed(name: &str) -> u64 {
    setting("COTAN_SEED").unwrap_or_else(|| seed_of(name))
}

/// `count` times `COTAN_CASES`, and at least 1.
pub fn scaled(count: usize) -> usize {
    times(count, setting("COTAN_CASES").unwrap_or(1.0))
}

fn times(count: usize, factor: f64) -> usize {
    // A product that is no number of cases saturates.
    ((count as f64 * factor).ceil() as usize).max(1)
}

/// Ends a test: the one place where the kit panics.
#[expect(clippy::panic, reason = "a test fails by panicking")]
#[track_caller]
pub fn fail(message: &str) -> ! {
    panic!("{message}")
}

/// The value of an environment variable that must be a number.
fn setting<T: FromStr>(variable: &str) -> Option<T> {
    let text = std::env::var(variable).ok()?;
    match text.trim().parse() {
        Ok(value) => Some(value),
        Err(_) => fail(&format!("{variable} must be a number, not `{text}`")),
    }
}

/// Different tests see different programs.
fn seed_of(name: &str) -> u64 {
    let hash = |h: u64, byte: u8| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    // Small enough to be typed.
    name.bytes().fold(0xcbf2_9ce4_8422_2325, hash) % 1_000_000
}

/// Records how many cases have passed, also when the next one panics.
struct Tally<'a> {
    name: &'a str,
    first: u64,
    passed: usize,
}

impl Drop for Tally<'_> {
    fn drop(&mut self) {
        let Ok(path) = std::env::var("COTAN_TALLY") else { return };
        let line = format!("{}\t{}\t{}\n", self.name, self.first, self.passed);
        // One write of a line, so that properties on several threads do not mix.
        let mut options = std::fs::OpenOptions::new();
        let file = options.append(true).create(true).open(&path);
        if let Err(error) = file.and_then(|mut file| file.write_all(line.as_bytes())) {
            eprintln!("{path}: {error}");
        }
    }
}

/// Prints the seed when the property panics instead of returning an error.
struct Blame<'a> {
    name: &'a str,
    seed: u64,
}

impl Drop for Blame<'_> {
    fn drop(&mut self) {
        eprintln!("{} panics for COTAN_SEED={}", self.name, self.seed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_its_own_seed() {
        let mut first = Vec::new();
        for_each_case("distinct seeds", 50, |rng| {
            first.push(rng.bits());
            Ok(())
        });
        assert_eq!(first.len(), scaled(50));
        first.sort();
        first.dedup();
        assert_eq!(first.len(), scaled(50));
    }

    #[test]
    fn numbers_of_cases_grow_and_shrink() {
        assert_eq!(times(300, 1.0), 300);
        assert_eq!(times(300, 100.0), 30_000);
        assert_eq!(times(300, 0.01), 3);
        assert_eq!(times(300, 0.001), 1);
        assert_eq!(times(300, 0.0), 1);
    }

    #[test]
    #[should_panic(expected = "always false fails for COTAN_SEED=")]
    fn a_failure_names_its_seed() {
        for_each_case("always false", 3, |_| Err("no".into()));
    }
}
