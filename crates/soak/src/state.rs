//! What was run so far, kept in a file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// Cases of a test per chunk, as a multiple of its own, before it is known how long they take.
const FIRST_TIMES: f64 = 1.0;

/// What is known of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// The first seed that was not tried.
    pub seed: u64,
    pub seconds: f64,
    pub chunks: u64,
    /// The multiple of the test's own number of cases that makes a good chunk.
    pub times: f64,
    pub failures: u64,
    /// Whether it has no random cases.
    pub fixed: bool,
}

/// What a soak has run.
#[derive(Clone, Debug)]
pub struct State {
    path: PathBuf,
    /// The first seed of all.
    pub seed: u64,
    pub seconds: f64,
    pub failures: u64,
    pub tests: BTreeMap<String, Progress>,
    /// The cases that passed, by package and property.
    pub passed: BTreeMap<String, u64>,
}

impl State {
    /// The state of earlier soaks in a folder, or a new one.
    pub fn open(dir: &Path, fresh: bool, seed: Option<u64>) -> Result<State, String> {
        fs::create_dir_all(dir.join("failures")).map_err(|e| format!("{}: {e}", dir.display()))?;
        let path = dir.join("state.json");
        if !fresh && path.exists() {
            let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let unreadable =
                || format!("{} is no state of a soak; --fresh begins a new one", path.display());
            let state = State::read(&text, path.clone()).ok_or_else(unreadable)?;
            return match seed {
                Some(_) => Err("--seed is for new soaks: add --fresh, or leave it out".into()),
                None => Ok(state),
            };
        }
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |t| t.as_secs());
        // Far from those of other soaks, and still easy to type.
        let seed = seed.unwrap_or(clock % 1_000_000 * 1_000_000_000);
        let (tests, passed) = (BTreeMap::new(), BTreeMap::new());
        Ok(State { path, seed, seconds: 0.0, failures: 0, tests, passed })
    }

    /// What is known of a test.
    pub fn progress(&mut self, key: &str) -> &mut Progress {
        let new = Progress {
            seed: self.seed,
            seconds: 0.0,
            chunks: 0,
            times: FIRST_TIMES,
            failures: 0,
            fixed: false,
        };
        self.tests.entry(key.into()).or_insert(new)
    }

    /// All cases that passed.
    pub fn cases(&self) -> u64 {
        self.passed.values().sum()
    }

    /// Writes the file anew, whole or not at all.
    pub fn save(&self) -> Result<(), String> {
        let new = self.path.with_extension("new");
        let wrong = |e: std::io::Error| format!("{}: {e}", self.path.display());
        fs::write(&new, self.text()).map_err(wrong)?;
        fs::rename(&new, &self.path).map_err(wrong)
    }

    fn text(&self) -> String {
        let test = |p: &Progress| {
            json!({
                "seed": p.seed, "seconds": p.seconds, "chunks": p.chunks, "times": p.times,
                "failures": p.failures, "fixed": p.fixed,
            })
        };
        let tests: serde_json::Map<String, Value> =
            self.tests.iter().map(|(key, progress)| (key.clone(), test(progress))).collect();
        let state = json!({
            "seed": self.seed, "seconds": self.seconds, "failures": self.failures,
            "tests": tests, "passed": self.passed,
        });
        format!("{state:#}\n")
    }

    fn read(text: &str, path: PathBuf) -> Option<State> {
        let value: Value = serde_json::from_str(text).ok()?;
        let test = |v: &Value| -> Option<Progress> {
            Some(Progress {
                seed: v.get("seed")?.as_u64()?,
                seconds: v.get("seconds")?.as_f64()?,
                chunks: v.get("chunks")?.as_u64()?,
                times: v.get("times")?.as_f64()?,
                failures: v.get("failures")?.as_u64()?,
                fixed: v.get("fixed")?.as_bool()?,
            })
        };
        let tests = value.get("tests")?.as_object()?.iter();
        let passed = value.get("passed")?.as_object()?.iter();
        Some(State {
            path,
            seed: value.get("seed")?.as_u64()?,
            seconds: value.get("seconds")?.as_f64()?,
            failures: value.get("failures")?.as_u64()?,
            tests: tests.map(|(key, v)| Some((key.clone(), test(v)?))).collect::<Option<_>>()?,
            passed: passed
                .map(|(key, v)| Some((key.clone(), v.as_u64()?)))
                .collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn a_soak_goes_on_where_it_was() {
        let dir = std::env::temp_dir().join(format!("cotan-soak-{}", std::process::id()));
        let mut state = State::open(&dir, true, Some(17)).unwrap();
        state.progress("a b c").seconds = 1.5;
        state.progress("a b c").seed = u64::MAX;
        state.passed.insert("a p".into(), 12);
        state.save().unwrap();
        let again = State::open(&dir, false, None).unwrap();
        assert_eq!((again.seed, again.cases()), (17, 12));
        assert_eq!(again.tests, state.tests);
        assert!(State::open(&dir, false, Some(3)).is_err());
        assert_eq!(State::open(&dir, true, Some(3)).unwrap().cases(), 0);
        fs::write(dir.join("state.json"), "{").unwrap();
        assert!(State::open(&dir, false, None).unwrap_err().contains("--fresh"));
        fs::remove_dir_all(&dir).unwrap();
    }
}
