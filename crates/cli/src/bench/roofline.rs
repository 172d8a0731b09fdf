//! What the machine can do at most: arithmetic, and passes over memory. Measured with programs of our
//! own, so it is what kernels that do nothing else reach; kept in a file between runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use cotan_array::{Array, Shape};
use cotan_syntax::{instantiate, load_text};
use serde_json::{Value, json};

use crate::args::{Backend, LimitArgs};
use crate::failure::{Failure, Outcome};
use crate::folders;
use crate::machine::Prepared;
use crate::terminal::Terminal;

/// How long each of them is measured, and how often at least: a busy machine leaves few turns alone.
const TIME: Duration = Duration::from_secs(1);
const RUNS: usize = 10;

/// Operations and bytes a second, at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    pub operations: f64,
    pub bytes: f64,
    /// Whether the machine was busy when they were measured: then they are too low.
    pub doubtful: bool,
}

/// A program that does nothing but one thing, its size, and how much it does.
struct Probe {
    text: &'static str,
    n: usize,
    amount: fn(f64) -> f64,
}

/// A polynomial of degree 8 at points that fit the first cache: a chain of 16 operations for each.
const POLYNOMIAL: Probe = Probe {
    text: "def main(x: [n]f64) = build n (i => let a = x[i] in \
           ((((((((0.1 * a + 0.2) * a + 0.3) * a + 0.4) * a + 0.5) * a + 0.6) * a + 0.7) * a + 0.8) \
           * a + 0.9))",
    n: 2048,
    amount: |n| 16.0 * n,
};
/// A product of matrices.
const PRODUCT: Probe =
    Probe { text: "def main(x: [n, n]f64) = matmul(x, x)", n: 512, amount: |n| 2.0 * n * n * n };
/// A scaled copy of far more than caches hold.
const COPY: Probe =
    Probe { text: "def main(x: [n]f64) = 1.5 * x", n: 1 << 22, amount: |n| 16.0 * n };

impl Limits {
    /// As they were measured before on this machine, or measured now.
    pub fn of_machine(again: bool, limits: &LimitArgs, terminal: &Terminal) -> Outcome<Limits> {
        let file = folders::cache().map(|folder| folder.join("limits.json"));
        let known = file.as_deref().filter(|_| !again).and_then(Limits::read);
        let before = load();
        // What was measured on a busy machine is measured again on a quiet one.
        let limits = match known.filter(|known| before >= QUIET || !known.doubtful) {
            Some(known) => known,
            None => {
                terminal.complain("measuring what the machine can do; this is kept");
                let rate = |probe: &Probe| probe.rate(limits, terminal);
                let operations = rate(&POLYNOMIAL)?.max(rate(&PRODUCT)?);
                let doubtful = before > BUSY;
                let measured = Limits { operations, bytes: rate(&COPY)?, doubtful };
                if let Some(file) = file {
                    measured.write(file);
                }
                measured
            }
        };
        if limits.doubtful {
            terminal.complain(
                "the machine was busy when its limits were measured, so they are too low and shares \
                 too high; they are measured again when it is quiet",
            );
        }
        Ok(limits)
    }

    fn read(file: &Path) -> Option<Limits> {
        let value: Value = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
        let number = |name: &str| value.get(name)?.as_f64().filter(|x| x.is_finite() && *x > 0.0);
        let same = value.get("machine")?.as_str()? == machine();
        let doubtful = value.get("doubtful").and_then(Value::as_bool).unwrap_or(true);
        let (operations, bytes) = (number("operations")?, number("bytes")?);
        let known = Limits { operations, bytes, doubtful };
        same.then_some(known)
    }

    /// Without a place for it, it is measured again.
    fn write(self, file: PathBuf) {
        if let Some(folder) = file.parent() {
            let _ = fs::create_dir_all(folder);
        }
        let Limits { operations, bytes, doubtful } = self;
        let value = json!({
            "machine": machine(), "operations": operations, "bytes": bytes, "doubtful": doubtful,
        });
        let _ = fs::write(file, format!("{value:#}\n"));
    }
}

impl Probe {
    /// How much it does a second.
    fn rate(&self, limits: &LimitArgs, terminal: &Terminal) -> Outcome<f64> {
        let modules = load_text("limits.ct", self.text).map_err(Failure::internal)?;
        let sizes = [("n", self.n)];
        let making = limits.making(Instant::now());
        let program =
            instantiate(&modules, "main", &[], &sizes, &making).map_err(Failure::internal)?.program;
        let shape = program.inputs().first().map(|input| input.ty.shape.clone());
        let shape = shape.unwrap_or_else(Shape::scalar);
        let input = [Array::full(shape, 0.5).map_err(Failure::internal)?];
        let prepared = Prepared::new(program, Backend::Jit, limits, terminal)?;
        let begin = Instant::now();
        let (mut least, mut runs) = (f64::INFINITY, 0);
        while runs < RUNS || begin.elapsed() < TIME {
            let turn = Instant::now();
            prepared.run(&input, limits, begin, terminal)?;
            least = least.min(turn.elapsed().as_secs_f64());
            runs += 1;
        }
        Ok((self.amount)(self.n as f64) / least.max(1e-12))
    }
}

/// A load above which a machine is busy, and one below which it is quiet again: apart, so that what we
/// measure ourselves does not change the answer.
const BUSY: f64 = 1.5;
const QUIET: f64 = 0.75;

/// How many threads were at work on this machine in the last minute, on average; 0 where the system
/// does not say.
fn load() -> f64 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0.0)
}

/// What tells machines apart, and how we use them.
fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(": ")).map_or("", |(_, name)| name);
    let threads = match std::env::var("COTAN_THREADS") {
        Ok(said) => said,
        Err(_) => thread::available_parallelism().map_or(1, |n| n.get()).to_string(),
    };
    let version = env!("CARGO_PKG_VERSION");
    format!("{} {model}, {threads} threads, cotan {version}", std::env::consts::ARCH)
}
