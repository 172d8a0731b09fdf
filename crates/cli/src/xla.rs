//! Running programs by XLA: a module, its inputs and a request in a folder, and Python processes that
//! run it.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cotan_array::{Array, npz};
use cotan_ir::Program;
use cotan_stablehlo::{Options, RUNNER, Sharding};
use serde_json::{Value as Json, json};

use crate::args::EngineArgs;
use crate::export::{module, sharding};
use crate::failure::{Failure, Outcome};
use crate::inputs::Within;
use crate::limits::out_of_time;
use crate::progress::watched;

/// The environment variable that names a Python with jaxlib.
const PYTHON: &str = "COTAN_XLA_PYTHON";
/// Where the documented command puts one, in the home folder.
const INSTALLED: &str = ".cotan/xla/bin/python";
/// How to get one.
const INSTALL: &str =
    "python3 -m venv ~/.cotan/xla && ~/.cotan/xla/bin/pip install jax jaxlib numpy";

/// The results of a program, by XLA.
pub fn compute(
    program: Program,
    inputs: &[Array],
    args: &EngineArgs,
    within: &Within<'_>,
) -> Outcome<Vec<Array>> {
    let python = python()?;
    let sharding = on_devices(args)?;
    let options = Options { sharding, ..Options::default() };
    let text = module(&program, &options, true, within)?;
    let job = Job::new(&text, inputs)?;
    let request = request(&program, &job.folder, options.sharding.as_ref());
    drop(program);
    watched(within.terminal, "running", || job.run(&python, &request, args, within))?;
    job.outputs()
}

/// The Python to use.
fn python() -> Outcome<PathBuf> {
    if let Some(python) = std::env::var_os(PYTHON) {
        return Ok(python.into());
    }
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let python = home.join(INSTALLED);
    match python.exists() {
        true => Ok(python),
        false => Err(Failure::usage("there is no Python with jaxlib for --engine xla").hint(
            format_args!(
                "install it with\n        {INSTALL}\n        or name one that has it in {PYTHON}"
            ),
        )),
    }
}

/// How arrays lie on the devices that the command line asks for.
fn on_devices(args: &EngineArgs) -> Outcome<Option<Sharding>> {
    let EngineArgs { devices, processes, shards, .. } = args;
    if *devices == 0 || *processes == 0 || devices % processes != 0 {
        return Err(Failure::usage(format_args!(
            "{processes} processes cannot share {devices} devices evenly"
        ))
        .hint(format_args!("use a multiple: --devices {}", processes.max(&1))));
    }
    if *devices == 1 && shards.mesh.is_empty() && shards.shard.is_empty() {
        return Ok(None);
    }
    let found = match shards.mesh.is_empty() {
        // One axis, called as the first cut calls it.
        true => {
            let cuts = shards.shard.iter().flat_map(|(_, cuts)| cuts);
            let axis = cuts.map(|(axis, _)| axis.clone()).next();
            let mesh = vec![(axis.unwrap_or_else(|| "devices".to_owned()), *devices)];
            Sharding { mesh, arrays: shards.shard.clone(), replicate_rest: true }
        }
        false => match sharding(shards)? {
            Some(sharding) => Sharding { replicate_rest: true, ..sharding },
            None => return Ok(None),
        },
    };
    match found.devices() == *devices {
        true => Ok(Some(found)),
        false => Err(Failure::usage(format_args!(
            "the mesh has {} devices, but --devices says {devices}",
            found.devices()
        ))
        .hint(format_args!("--devices {}", found.devices()))),
    }
}

/// What the runner is asked to do.
fn request(program: &Program, folder: &Path, sharding: Option<&Sharding>) -> Json {
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let mut request = json!({
        "module": path("module.mlir"),
        "inputs": path("in.npz"),
        "outputs": path("out.npz"),
        // Whoever interrupts us leaves it to the runner to clean up.
        "parent": std::process::id(),
        "temporary": folder.to_string_lossy(),
    });
    if let Some(sharding) = sharding {
        let cuts = |name: &str, rank: usize| -> Vec<Vec<&str>> {
            (0..rank).map(|axis| sharding.cuts(name, axis)).collect()
        };
        let inputs = program.inputs().iter().map(|x| cuts(&x.name, x.ty.shape.rank()));
        let outputs = program.outputs().iter().map(|y| {
            let shape = program.shape(y.term);
            json!([shape.dims(), cuts(&y.name, shape.rank())])
        });
        request["mesh"] = json!(sharding.mesh);
        request["in"] = json!(inputs.collect::<Vec<_>>());
        request["out"] = json!(outputs.collect::<Vec<_>>());
    }
    request
}

/// A folder with everything that a run needs; it goes away in the end.
struct Job {
    folder: PathBuf,
    module: String,
}

impl Job {
    fn new(module: &str, inputs: &[Array]) -> Outcome<Job> {
        let folder = std::env::temp_dir().join(format!("cotan-xla-{}", std::process::id()));
        let failed = |error: std::io::Error| {
            Failure::data(format_args!("cannot write into `{}`: {error}", folder.display()))
        };
        fs::create_dir_all(&folder).map_err(failed)?;
        let job = Job { folder: folder.clone(), module: module.to_owned() };
        fs::write(job.path("module.mlir"), module).map_err(failed)?;
        fs::write(job.path("cotan_xla.py"), RUNNER).map_err(failed)?;
        let numbered: Vec<(String, Array)> =
            inputs.iter().enumerate().map(|(n, x)| (n.to_string(), x.clone())).collect();
        npz::write_file(job.path("in.npz"), &numbered).map_err(Failure::data)?;
        Ok(job)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Runs all processes to their end. If one fails, or time is up, the others are ended too.
    fn run(
        &self,
        python: &Path,
        request: &Json,
        args: &EngineArgs,
        within: &Within<'_>,
    ) -> Outcome {
        let mut workers = Workers { children: Vec::new() };
        let coordinator = format!("127.0.0.1:{}", free_port()?);
        for process in 0..args.processes {
            let mut request = request.clone();
            request["process"] = json!(process);
            request["processes"] = json!(args.processes);
            request["coordinator"] = json!(coordinator);
            request["local_devices"] = json!(args.devices / args.processes);
            workers.children.push(self.start(python, process, &request)?);
        }
        let deadline = within.limits.deadline(within.begin);
        let mut waiting: Vec<usize> = (0..args.processes).collect();
        while !waiting.is_empty() {
            let mut still = Vec::new();
            for process in waiting {
                match workers.children[process].try_wait() {
                    Ok(None) => still.push(process),
                    Ok(Some(status)) if status.success() => {}
                    Ok(Some(status)) => {
                        let how = status.to_string();
                        return Err(self.failure(process, args.processes, &how));
                    }
                    Err(error) => return Err(Failure::internal(error)),
                }
            }
            waiting = still;
            if deadline.is_some_and(|end| Instant::now() >= end) {
                return Err(out_of_time(within.limits));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn start(&self, python: &Path, process: usize, request: &Json) -> Outcome<Child> {
        let name = format!("request-{process}.json");
        let failed = |error: std::io::Error| {
            Failure::data(format_args!("cannot start `{}`: {error}", python.display()))
                .hint(format_args!("{PYTHON} names the Python to use"))
        };
        fs::write(self.path(&name), request.to_string()).map_err(failed)?;
        let log =
            |kind: &str| File::create(self.path(&format!("{kind}-{process}"))).map_err(failed);
        let mut command = Command::new(python);
        command
            .arg(self.path("cotan_xla.py"))
            .arg("run")
            .arg(self.path(&name))
            .stdin(Stdio::null())
            .stdout(log("answer")?)
            .stderr(log("log")?);
        // An interrupt from the terminal is for us alone: the runner sees that we are gone.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().map_err(failed)
    }

    /// Why a process failed: what it answered, with the place in the user's program, or how it ended.
    fn failure(&self, process: usize, count: usize, how: &str) -> Failure {
        let text = |kind: &str| {
            fs::read_to_string(self.path(&format!("{kind}-{process}"))).unwrap_or_default()
        };
        // Libraries may write lines of their own before the answer.
        let answers = text("answer");
        let answer: Json = answers
            .lines()
            .rev()
            .find_map(|line| serde_json::from_str(line).ok())
            .unwrap_or(Json::Null);
        let who =
            if count > 1 { format!("process {process} of {count}") } else { "XLA".to_owned() };
        let Some(message) = answer["error"].as_str() else {
            let log = text("log");
            let last: Vec<&str> = log.lines().rev().take(5).collect();
            let last: Vec<&str> = last.into_iter().rev().collect();
            let failure = Failure::data(format_args!("{who} ended without an answer ({how})"))
                .note("no output was written, and the other processes were ended");
            return match last.is_empty() {
                true => failure,
                false => failure.note(format_args!("its last words:\n{}", last.join("\n"))),
            };
        };
        let failure = Failure::data(format_args!("{who}: {message}"));
        let line = answer["line"].as_u64().and_then(|line| usize::try_from(line).ok());
        let line = line.and_then(|line| self.module.lines().nth(line.checked_sub(1)?));
        match line.and_then(|line| line.rsplit_once(" // ")) {
            Some((_, place)) => failure.note(format_args!("this was written at {place}")),
            None => failure,
        }
    }

    fn outputs(&self) -> Outcome<Vec<Array>> {
        let mut found = npz::read_file(self.path("out.npz")).map_err(Failure::data)?;
        found.sort_by_key(|(name, _)| name.parse::<usize>().unwrap_or(usize::MAX));
        Ok(found.into_iter().map(|(_, array)| array).collect())
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Processes that do not outlive us.
struct Workers {
    children: Vec<Child>,
}

impl Drop for Workers {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A port that nobody uses.
fn free_port() -> Outcome<u16> {
    let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    port.map(|address| address.port())
        .map_err(|error| Failure::data(format_args!("there is no port for the processes: {error}")))
}
