//! Modules of StableHLO run by XLA, in one Python process for a whole test.

use std::io::{BufRead, BufReader, Error, ErrorKind, Result, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use cotan_array::{Array, npz};
use cotan_stablehlo::RUNNER;
use serde_json::{Value as Json, json};

use crate::fail;

/// The runner of modules, in the Python with jaxlib that `COTAN_XLA_PYTHON` names.
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
        match Server::with(&python, test) {
            Ok(server) => Some(server),
            Err(error) => fail(&format!("COTAN_XLA_PYTHON={python}: {error}")),
        }
    }

    fn with(python: &str, test: &str) -> Result<Server> {
        let folder = std::env::temp_dir().join(format!("cotan-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let runner = folder.join("cotan_xla.py");
        std::fs::write(&runner, RUNNER)?;
        let mut child = Command::new(python)
            .arg(&runner)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let pipe = || Error::new(ErrorKind::BrokenPipe, "no pipe to the process");
        let to = child.stdin.take().ok_or_else(pipe)?;
        let from = BufReader::new(child.stdout.take().ok_or_else(pipe)?);
        Ok(Server { child, to, from, folder })
    }

    /// The results of a module, by `xla`, `reference` or `iree`; or what the engine says is wrong.
    pub fn run(
        &mut self,
        engine: &str,
        module: &str,
        inputs: &[Array],
    ) -> std::result::Result<Vec<Array>, String> {
        self.ask(engine, module, inputs).unwrap_or_else(|error| {
            fail(&format!("the runner of modules: {error}\n{module}"));
        })
    }

    fn ask(
        &mut self,
        engine: &str,
        module: &str,
        inputs: &[Array],
    ) -> Result<std::result::Result<Vec<Array>, String>> {
        let path = |name: &str| self.folder.join(name);
        std::fs::write(path("module.mlir"), module)?;
        let numbered: Vec<(String, Array)> =
            inputs.iter().enumerate().map(|(n, x)| (n.to_string(), x.clone())).collect();
        npz::write_file(path("in.npz"), &numbered).map_err(Error::other)?;
        let request = json!({
            "engine": engine,
            "module": path("module.mlir"),
            "inputs": path("in.npz"),
            "outputs": path("out.npz"),
        });
        writeln!(self.to, "{request}")?;
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        let answer: Json = serde_json::from_str(&line)?;
        if let Some(error) = answer["error"].as_str() {
            return Ok(Err(format!("{error}\n{module}")));
        }
        let mut found = npz::read_file(path("out.npz")).map_err(Error::other)?;
        found.sort_by_key(|(name, _)| name.parse::<usize>().unwrap_or(usize::MAX));
        Ok(Ok(found.into_iter().map(|(_, array)| array).collect()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing is lost if it has ended, or its files are gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
