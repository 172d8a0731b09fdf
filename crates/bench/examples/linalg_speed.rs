//! Linear algebra beside LAPACK (OpenBLAS, by NumPy and SciPy) and a Gaussian process beside JAX, which
//! take turns with us, one thread each, by the time that the processor gives:
//! `cargo run --release -p cotan-bench --example linalg_speed -- --python PYTHON [--quick] [NAME ..]`,
//! where the Python has NumPy, SciPy and JAX.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use cotan_array::{Array, Shape, npy};
use cotan_bench::Result;
use cotan_bench::measure::{Clock, Contender, Effort, race};
use cotan_cpu::{Executable, RunLimits};
use cotan_ir::Type;
use cotan_pipeline::{CompileOptions, compile};
use cotan_syntax::{ArgSpec, instantiate, load_text};
use serde_json::{Value, json};

const PROGRAMS: &str = include_str!("../programs/linalg.ct");

/// What is compared, and what it takes.
const FUNCTIONS: &[(&str, &[&str])] = &[
    ("cholesky", &["definite"]),
    ("solve_triangular", &["lower", "right"]),
    ("lu", &["a"]),
    ("solve", &["a", "right"]),
    ("inverse", &["a"]),
    ("qr", &["a"]),
    ("eigh", &["symmetric"]),
    ("eigvalsh", &["symmetric"]),
    ("svd", &["a"]),
    ("svdvals", &["a"]),
    ("lstsq", &["tall", "rows"]),
    ("expm", &["a"]),
    ("gp", &["ls", "lv", "ln", "X", "y"]),
];

fn main() -> Result<()> {
    let (mut names, mut sizes): (Vec<String>, Vec<usize>) = (Vec::new(), Vec::new());
    let (mut effort, mut python) = (Effort::FULL, PathBuf::from("python3"));
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => effort = Effort::QUICK,
            "--python" => python = arguments.next().ok_or("--python names a Python")?.into(),
            number if number.parse::<usize>().is_ok() => sizes.push(number.parse()?),
            _ => names.push(argument),
        }
    }
    effort.clock = Clock::Processor;
    let folder = std::env::temp_dir().join(format!("cotan-linalg-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut peer = Peer::start(&python)?;
    println!("| function | n | ours, ms | peer, ms | ours / peer |\n|---|--:|--:|--:|--:|");
    for (name, inputs) in FUNCTIONS {
        if !names.is_empty() && !names.iter().any(|n| n == name) {
            continue;
        }
        let usual: &[usize] = if *name == "gp" { &[200, 1000] } else { &[100, 500, 2000] };
        for &n in usual.iter().filter(|n| sizes.is_empty() || sizes.contains(n)) {
            let (ours, theirs) = compare(name, inputs, n, &mut peer, &folder, effort)?;
            let ratio = ours / theirs;
            println!("| {name} | {n} | {:.3} | {:.3} | {ratio:.2} |", ours * 1e3, theirs * 1e3);
        }
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// The seconds of a call, ours and theirs.
fn compare(
    name: &str,
    inputs: &[&str],
    n: usize,
    peer: &mut Peer,
    folder: &Path,
    effort: Effort,
) -> Result<(f64, f64)> {
    let arrays: Vec<Array> = inputs.iter().map(|input| make(input, n)).collect::<Result<_>>()?;
    for (input, array) in inputs.iter().zip(&arrays) {
        npy::write_file(folder.join(format!("{input}.npy")), array)?;
    }
    let executable = executable(name, &arrays)?;
    let limits = RunLimits { threads: Some(1), ..RunLimits::default() };
    let mut results = Vec::new();
    let mut call = || {
        let run = executable.run_into(&arrays, &mut results, &limits);
        run.map_err(|stop| format!("the run ended early: {stop:?}").into())
    };
    call()?;
    let answer = peer.ask(&json!({"load": name, "folder": folder, "inputs": inputs}))?;
    let theirs = |calls: usize, _: Clock| {
        let answer = peer.ask(&json!({"run": calls}))?;
        answer["seconds"].as_f64().ok_or_else(|| "the peer says no time".into())
    };
    let mut contenders = [Contender::function(call), Contender::new(Box::new(theirs))];
    race(&mut contenders, effort)?;
    let [ours, theirs] = contenders.map(|contender| contender.times.least());
    agree(name, &results, &answer)?;
    Ok((ours, theirs))
}

/// The sizes of results do not depend on signs or the order of rows.
fn agree(name: &str, results: &[Array], answer: &Value) -> Result<()> {
    let size = |array: &Array| -> Result<f64> {
        Ok(array.to_vec::<f64>()?.iter().map(|x| x * x).sum::<f64>().sqrt())
    };
    let sizes = answer["sizes"].as_array().ok_or("the peer says no sizes")?;
    for (array, theirs) in results.iter().zip(sizes) {
        let (ours, theirs) = (size(array)?, theirs.as_f64().unwrap_or(f64::NAN));
        let close = (ours - theirs).abs() <= 1e-6 * theirs.abs();
        if !close {
            return Err(format!("{name}: results of the sizes {ours} and {theirs}").into());
        }
    }
    Ok(())
}

fn executable(name: &str, arrays: &[Array]) -> Result<Executable> {
    let modules = load_text("linalg.ct", PROGRAMS).map_err(|e| e.to_string())?;
    let ty = |array: &Array| Type::new(array.dtype(), array.shape().clone());
    let specs: Vec<ArgSpec> = arrays.iter().map(|a| ArgSpec::Leaves(vec![ty(a)])).collect();
    let made = instantiate(&modules, &format!("f_{name}"), &specs, &[], &Default::default());
    let program = made.map_err(|e| e.to_string())?.program;
    let options = CompileOptions::new(cotan_cpu::Engine::chosen().into());
    let compiled = compile(Cow::Owned(program), &options)?;
    compiled.executable.ok_or_else(|| format!("{name} is interpreted").into())
}

/// Numbers between -1 and 1, always the same.
fn noise(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// The array of a name.
fn make(name: &str, n: usize) -> Result<Array> {
    let square = || noise(n * n, 7);
    let symmetric = |diagonal: f64| {
        let a = square();
        let at = |i: usize, j: usize| a[i.max(j) * n + i.min(j)];
        let shift = |i: usize, j: usize| if i == j { diagonal } else { 0.0 };
        (0..n * n).map(|k| at(k / n, k % n) + shift(k / n, k % n)).collect()
    };
    let (dims, elements): (Vec<usize>, Vec<f64>) = match name {
        "a" => (vec![n, n], square()),
        "symmetric" => (vec![n, n], symmetric(0.0)),
        "definite" => (vec![n, n], symmetric(4.0 * (n as f64).sqrt())),
        "lower" => {
            let a = square();
            let small = 1.0 / n as f64;
            let at = |k: usize| if k / n == k % n { 2.0 } else { small * a[k] };
            (vec![n, n], (0..n * n).map(at).collect())
        }
        "right" => (vec![n, n], noise(n * n, 11)),
        "tall" => (vec![2 * n, n], noise(2 * n * n, 5)),
        "rows" => (vec![2 * n], noise(2 * n, 3)),
        "X" => (vec![n, 4], noise(4 * n, 13)),
        "y" => (vec![n], noise(n, 17)),
        "ls" => (vec![4], noise(4, 19)),
        _ => (vec![], vec![if name == "ln" { -1.0 } else { 0.3 }]),
    };
    Ok(Array::from_vec(Shape::new("input", &dims)?, elements)?)
}

/// The process that answers.
struct Peer {
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    fn start(python: &Path) -> Result<Peer> {
        let script: PathBuf =
            [env!("CARGO_MANIFEST_DIR"), "peers", "linalg_peer.py"].iter().collect();
        let mut process = Command::new(python)
            .arg("-u")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("cannot start {}: {e}", python.display()))?;
        let requests = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().ok_or("the process has no output")?);
        Ok(Peer { process, requests, answers })
    }

    fn ask(&mut self, request: &Value) -> Result<Value> {
        let requests = self.requests.as_mut().ok_or("the process takes nothing")?;
        writeln!(requests, "{request}")?;
        requests.flush()?;
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err("the peer ended".into());
        }
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.requests.take());
        let _ = self.process.wait();
    }
}
