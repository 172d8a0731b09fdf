//! One run of one test, over a range of seeds.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::binaries::Test;

/// Environments that programs are run in, one after the other: what the machine offers, fewer
/// instructions, no machine code, several threads.
const SETTINGS: [&[(&str, &str)]; 5] = [
    &[],
    &[("COTAN_ISA", "avx2")],
    &[("COTAN_BACKEND", "vm")],
    &[("COTAN_THREADS", "2")],
    &[("COTAN_BACKEND", "vm"), ("COTAN_ISA", "plain")],
];

/// What to run.
pub struct Chunk<'a> {
    pub test: &'a Test,
    /// The first seed.
    pub seed: u64,
    /// How many times as many cases as the test has by itself.
    pub times: f64,
    /// How many chunks of this test were run before: chooses the environment.
    pub turn: usize,
    /// After so long it counts as one that does not end.
    pub patience: Duration,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// The cases that passed, by property.
    pub passed: Vec<(String, u64)>,
    /// The first seed that was not tried.
    pub next_seed: u64,
    pub seconds: f64,
    pub failure: Option<Failure>,
}

/// A test that failed, or did not end.
#[derive(Debug)]
pub struct Failure {
    /// The seed of the case, if one is known.
    pub seed: Option<u64>,
    /// What to put before the command that reproduces it.
    pub environment: String,
    pub output: String,
}

impl Chunk<'_> {
    /// Runs the test in a process of its own; its files are in `dir`, named by `job`.
    pub fn run(&self, dir: &Path, job: usize) -> Result<Outcome, String> {
        let tally = dir.join(format!("tally{job}"));
        let at = dir.join(format!("tally{job}.at"));
        let log = dir.join(format!("log{job}"));
        for old in [&tally, &at] {
            if old.exists() {
                fs::remove_file(old).map_err(|e| format!("{}: {e}", old.display()))?;
            }
        }
        let output = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        let errors = output.try_clone().map_err(|e| format!("{}: {e}", log.display()))?;
        let settings = SETTINGS[self.turn % SETTINGS.len()];
        let begin = Instant::now();
        let mut child = Command::new(&self.test.binary.path)
            .args(["--exact", &self.test.name, "--test-threads", "1"])
            .env("COTAN_SEED", self.seed.to_string())
            .env("COTAN_CASES", self.times.to_string())
            .env("COTAN_TALLY", &tally)
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .map_err(|e| format!("{}: {e}", self.test.binary.path.display()))?;
        let ended = loop {
            match child.try_wait().map_err(|e| e.to_string())? {
                Some(status) => break Some(status),
                None if begin.elapsed() > self.patience => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
                None => thread::sleep(Duration::from_millis(20)),
            }
        };
        let tallies = fs::read_to_string(&tally).unwrap_or_default();
        let (passed, tried) = read_tallies(&tallies, self.seed);
        let mut outcome = Outcome {
            passed,
            next_seed: tried,
            seconds: begin.elapsed().as_secs_f64(),
            failure: None,
        };
        if ended.is_none_or(|status| !status.success()) {
            let mut text =
                String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
            match ended {
                None => text.push_str("\nthe test did not end\n"),
                Some(status) => text.push_str(&format!("\nthe test ended: {status}\n")),
            }
            // A crash says nothing, but the seed at hand was noted before.
            let current = || fs::read_to_string(&at).ok()?.trim().parse().ok();
            let seed = named_seed(&text).or_else(current);
            outcome.next_seed = outcome.next_seed.max(seed.map_or(0, |seed| seed + 1));
            let environment =
                settings.iter().map(|(name, value)| format!("{name}={value} ")).collect();
            outcome.failure = Some(Failure { seed, environment, output: text });
        }
        Ok(outcome)
    }
}

/// The cases that passed by property, and the first seed beyond all of them.
fn read_tallies(text: &str, first: u64) -> (Vec<(String, u64)>, u64) {
    let mut passed: Vec<(String, u64)> = Vec::new();
    let mut next = first;
    for line in text.lines() {
        let mut fields = line.rsplitn(3, '\t');
        let mut number = || fields.next().and_then(|field| field.parse::<u64>().ok());
        let (Some(count), Some(seed)) = (number(), number()) else { continue };
        let Some(name) = fields.next() else { continue };
        next = next.max(seed + count);
        match passed.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += count,
            None => passed.push((name.into(), count)),
        }
    }
    (passed, next)
}

/// The seed that a failed property has named.
fn named_seed(output: &str) -> Option<u64> {
    let (_, rest) = output.split_once(" for COTAN_SEED=")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_add_up() {
        let text = "a\t100\t20\nb c\t100\t5\na\t100\t7\ncut o";
        let (passed, next) = read_tallies(text, 100);
        assert_eq!(passed, [("a".to_string(), 27), ("b c".to_string(), 5)]);
        assert_eq!(next, 120);
        assert_eq!(read_tallies("", 7), (vec![], 7));
    }

    #[test]
    fn failures_name_their_seeds() {
        assert_eq!(named_seed("exec.bulk fails for COTAN_SEED=17\nof"), Some(17));
        assert_eq!(named_seed("exec.bulk panics for COTAN_SEED=18"), Some(18));
        assert_eq!(named_seed("test result: FAILED"), None);
    }
}
