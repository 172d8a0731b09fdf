//! A Python process that runs modules, and programs to run with it.
#![allow(dead_code, reason = "each test needs a part of it")]

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use cotan_array::{Array, npz};
use cotan_interp::Value;
use cotan_ir::Program;
use cotan_pipeline::{Derivative, Pass, Pipeline, derive};
use cotan_stablehlo::{Options, export};

/// A Python with jaxlib: what `COTAN_XLA_PYTHON` names.
pub struct Server {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    folder: PathBuf,
}

impl Server {
    /// Starts the runner; `None`, with a message, where there is no Python for it.
    pub fn start(test: &str) -> Option<Server> {
        let Ok(python) = std::env::var("COTAN_XLA_PYTHON") else {
            eprintln!(
                "{test} is skipped: COTAN_XLA_PYTHON names no Python with jaxlib (scripts/xla makes one)"
            );
            return None;
        };
        let folder = std::env::temp_dir().join(format!("cotan-xla-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let runner = concat!(env!("CARGO_MANIFEST_DIR"), "/runner/cotan_xla.py");
        let mut child = Command::new(&python)
            .args([runner, "serve"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("COTAN_XLA_PYTHON={python}: {error}"));
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Some(Server { child, to, from: BufReader::new(from), folder })
    }

    /// The results of a module.
    pub fn run(
        &mut self,
        engine: &str,
        text: &str,
        inputs: &[Array],
    ) -> Result<Vec<Array>, String> {
        let [module, given, found] =
            ["module.mlir", "in.npz", "out.npz"].map(|name| self.folder.join(name));
        std::fs::write(&module, text).unwrap();
        let numbered: Vec<(String, Array)> =
            inputs.iter().enumerate().map(|(n, x)| (n.to_string(), x.clone())).collect();
        npz::write_file(&given, &numbered).unwrap();
        let request = format!(
            "{{\"module\": {module:?}, \"inputs\": {given:?}, \"outputs\": {found:?}, \"engine\": {engine:?}}}"
        );
        writeln!(self.to, "{request}").unwrap();
        let mut answer = String::new();
        self.from.read_line(&mut answer).unwrap();
        if !answer.contains("\"ok\": true") {
            return Err(format!("{answer}\n{text}"));
        }
        let outputs = npz::read_file(&found).unwrap();
        Ok((0..outputs.len())
            .map(|n| outputs.iter().find(|(name, _)| *name == n.to_string()).unwrap().1.clone())
            .collect())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub fn arrays(values: &[Value]) -> Vec<Array> {
    values.iter().map(|v| v.to_array().unwrap()).collect()
}

pub fn text(program: &Program) -> Result<String, String> {
    export(program, &Options::default()).map_err(|e| e.to_string())
}

/// A program in bulk operations.
pub fn bulk(program: &Program) -> Result<Program, String> {
    Pipeline::new(&[Pass::BULK]).run(program).map_err(|e| e.to_string())
}

/// The derivative by all floats; the program itself where there is none.
pub fn derived(program: &Program, kind: Derivative) -> Result<Program, String> {
    let floats = program.inputs().iter().any(|input| input.ty.dtype.is_float());
    let results = program.outputs().iter().any(|o| program.dtype(o.term).is_float());
    if !floats || !results {
        return bulk(program);
    }
    derive(program, kind, None).map_err(|e| e.to_string())
}

/// What the machine would run.
pub fn optimised(program: &Program) -> Result<Program, String> {
    Pipeline::new(&[Pass::OPTIMISE]).run(program).map_err(|e| e.to_string())
}
