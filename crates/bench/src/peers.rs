//! Other systems, each in a process of its own that answers requests (`peers/*_peer.py`).

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Map, Value, json};

use crate::Result;
use crate::expected::Outcome;
use crate::measure::Clock;
use crate::suite::{Benchmark, Case};

/// Another system.
pub struct Peer {
    /// Its name.
    pub name: &'static str,
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// What a peer says of a case that it has loaded.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What it computes.
    pub outcome: Outcome,
    /// The seconds that it took to compile.
    pub compile: f64,
}

impl Peer {
    /// Starts JAX with a Python that has it.
    pub fn jax(python: &Path, threads: usize) -> Result<Peer> {
        let script: PathBuf = [env!("CARGO_MANIFEST_DIR"), "peers", "jax_peer.py"].iter().collect();
        let mut process = Command::new(python)
            .arg("-u")
            .arg(script)
            .args(["--threads", &threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("cannot start {}: {e}", python.display()))?;
        let requests = process.stdin.take();
        let answers = process.stdout.take().ok_or("the process has no output")?;
        Ok(Peer { name: "JAX", process, requests, answers: BufReader::new(answers) })
    }

    /// Loads a case whose inputs lie in a file.
    pub fn load(&mut self, benchmark: &Benchmark, case: &Case, inputs: &Path) -> Result<Loaded> {
        let sizes: Map<String, Value> =
            case.sizes.iter().map(|(name, size)| ((*name).to_owned(), json!(size))).collect();
        let request = json!({"load": benchmark.name, "inputs": inputs, "sizes": sizes});
        let answer = self.ask(&request)?;
        let outcome = Outcome::from_json(&answer).ok_or("its results cannot be read")?;
        Ok(Loaded { outcome, compile: answer["compile"].as_f64().unwrap_or(f64::NAN) })
    }

    /// The seconds that so many calls of `objective` or `gradient` take.
    pub fn run(&mut self, what: &str, calls: usize, clock: Clock) -> Result<f64> {
        let clock = match clock {
            Clock::Wall => "wall",
            Clock::Processor => "processor",
        };
        let answer = self.ask(&json!({"run": what, "calls": calls, "clock": clock}))?;
        answer["seconds"].as_f64().ok_or_else(|| "its times cannot be read".into())
    }

    fn ask(&mut self, request: &Value) -> Result<Value> {
        let requests = self.requests.as_mut().ok_or("it takes no requests")?;
        writeln!(requests, "{request}")?;
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(format!("{} has ended", self.name).into());
        }
        let answer: Value = serde_json::from_str(&line)?;
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(format!("{}: {error}", self.name).into()),
            None => Ok(answer),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The process ends when its requests do.
        drop(self.requests.take());
        let _ = self.process.wait();
    }
}
