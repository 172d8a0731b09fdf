//! Running programs by XLA: a module, its inputs and a request in a folder, and Python processes that
//! run it.

use std::fs;
use std::io::{ErrorKind, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cotan_array::{Array, npz};
use cotan_ir::Program;
use cotan_stablehlo::{Options, RUNNER, Sharding};
use serde_json::{Value as Json, json};

use crate::args::{EngineArgs, LimitArgs};
use crate::export::{module, sharding};
use crate::failure::{Failure, Outcome};
use crate::inputs::Within;
use crate::limits::{out_of_time, raise_to};
use crate::progress::watched;
use crate::units::show_bytes;

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
    let mut job = Job::start(&python, args.processes)?;
    job.write(&text, inputs)?;
    let mut request = request(&program, &job.folder, options.sharding.as_ref());
    request["limit"] = json!(within.limits.limit_bytes);
    drop(program);
    watched(within.terminal, "running", || job.run(&request, args, within))?;
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

/// What Python runs: the runner, which comes as the first line.
const START: &str = "import json, sys; \
    exec(compile(json.loads(sys.stdin.readline()), 'cotan_xla.py', 'exec'))";

/// Processes of Python, and a folder with everything that they need. Both go away in the end: when we are
/// interrupted or killed, the processes see the end of their input and remove the folder. So they are there
/// before it is.
struct Job {
    folder: PathBuf,
    module: String,
    workers: Vec<Child>,
}

impl Job {
    fn start(python: &Path, count: usize) -> Outcome<Job> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("cotan-xla-{}-{}", std::process::id(), now.as_nanos());
        let folder = std::env::temp_dir().join(name);
        let mut job = Job { folder, module: String::new(), workers: Vec::new() };
        for _ in 0..count {
            let mut command = Command::new(python);
            command.args(["-c", START, "job"]).arg(&job.folder);
            command.stdin(Stdio::piped()).stdout(Stdio::null());
            // An interrupt from the terminal is for us alone.
            #[cfg(unix)]
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
            let worker = command.spawn().map_err(|error| {
                Failure::data(format_args!("cannot start `{}`: {error}", python.display()))
                    .hint(format_args!("{PYTHON} names the Python to use"))
            })?;
            job.workers.push(worker);
        }
        for worker in &mut job.workers {
            tell(worker, &json!(RUNNER))?;
        }
        Ok(job)
    }

    fn write(&mut self, module: &str, inputs: &[Array]) -> Outcome {
        let failed = |error: std::io::Error| {
            Failure::data(format_args!("cannot write into `{}`: {error}", self.folder.display()))
        };
        fs::create_dir(&self.folder).map_err(failed)?;
        fs::write(self.path("module.mlir"), module).map_err(failed)?;
        let numbered: Vec<(String, Array)> =
            inputs.iter().enumerate().map(|(n, x)| (n.to_string(), x.clone())).collect();
        npz::write_file(self.path("in.npz"), &numbered).map_err(Failure::data)?;
        module.clone_into(&mut self.module);
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Has all processes run, until each has answered, one fails, or time is up.
    fn run(&mut self, request: &Json, args: &EngineArgs, within: &Within<'_>) -> Outcome {
        let coordinator = format!("127.0.0.1:{}", free_port()?);
        let path = |kind: &str, n: usize| self.path(&format!("{kind}-{n}"));
        let requests: Vec<Json> = (0..self.workers.len())
            .map(|process| {
                let mut request = request.clone();
                request["process"] = json!(process);
                request["processes"] = json!(args.processes);
                request["coordinator"] = json!(coordinator);
                request["local_devices"] = json!(args.devices / args.processes);
                request["answer"] = json!(path("answer", process));
                request["log"] = json!(path("log", process));
                request
            })
            .collect();
        for (worker, request) in self.workers.iter_mut().zip(&requests) {
            tell(worker, request)?;
        }
        let deadline = within.limits.deadline(within.begin);
        let mut waiting: Vec<usize> = (0..self.workers.len()).collect();
        while !waiting.is_empty() {
            let mut still = Vec::new();
            for process in waiting {
                // Asked in this order: whoever ends may have answered before.
                let ended = self.workers[process].try_wait().map_err(Failure::internal)?;
                match (self.answer(process), ended) {
                    (Some(answer), _) if answer["ok"] == true => {}
                    (None, None) => still.push(process),
                    (answer, ended) => {
                        return Err(self.failure(process, answer, ended, within.limits));
                    }
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

    /// What a process has answered, as soon as it has.
    fn answer(&self, process: usize) -> Option<Json> {
        let text = fs::read_to_string(self.path(&format!("answer-{process}"))).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Why a process failed: what it answered, with the place in the user's program, or how it ended.
    fn failure(
        &self,
        process: usize,
        answer: Option<Json>,
        ended: Option<ExitStatus>,
        limits: &LimitArgs,
    ) -> Failure {
        let who = match self.workers.len() {
            1 => "XLA".to_owned(),
            count => format!("process {process} of {count}"),
        };
        let Some(answer) = answer else {
            return self.without_answer(process, &who, ended);
        };
        let line = answer["line"].as_u64().and_then(|line| usize::try_from(line).ok());
        let line = line.and_then(|line| self.module.lines().nth(line.checked_sub(1)?));
        let place = line.and_then(|line| line.rsplit_once(" // ")).map(|(_, place)| place);
        if answer["memory"].is_object() {
            return short_of_memory(&answer, place, limits);
        }
        let message = answer["error"].as_str().unwrap_or("failed");
        let failure = Failure::data(format_args!("{who}: {message}"));
        match place {
            Some(place) => failure.note(format_args!("this was written at {place}")),
            None => failure,
        }
    }

    fn without_answer(&self, process: usize, who: &str, ended: Option<ExitStatus>) -> Failure {
        let how = ended.map(|status| format!(" ({status})")).unwrap_or_default();
        let log = fs::read_to_string(self.path(&format!("log-{process}"))).unwrap_or_default();
        // Not the addresses of functions that were being called.
        let words = log.lines().filter(|line| !line.trim_start().starts_with("@ "));
        let last: Vec<&str> = words.rev().take(5).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        let mut failure = Failure::data(format_args!("{who} ended without an answer{how}"))
            .note("no output was written, and the other processes were ended");
        if !last.is_empty() {
            failure = failure.note(format_args!("its last words:\n{}", last.join("\n")));
        }
        match ended.is_some_and(is_killed) {
            true => failure.hint(
                "systems kill processes when memory is short: use smaller arrays, or a lower \
                 --limit-bytes to be told before",
            ),
            false => failure,
        }
    }

    fn outputs(&self) -> Outcome<Vec<Array>> {
        let mut found = npz::read_file(self.path("out.npz")).map_err(Failure::data)?;
        found.sort_by_key(|(name, _)| name.parse::<usize>().unwrap_or(usize::MAX));
        Ok(found.into_iter().map(|(_, array)| array).collect())
    }
}

/// The folder first, so that somebody removes it whenever we are interrupted.
impl Drop for Job {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
        for worker in &mut self.workers {
            let _ = worker.kill();
            let _ = worker.wait();
        }
        // A process may have written into it in between.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Writes a line to a process. Whether it still reads is seen where answers are waited for.
fn tell(worker: &mut Child, what: &Json) -> Outcome {
    let Some(input) = &mut worker.stdin else { return Ok(()) };
    match writeln!(input, "{what}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::data(format_args!("cannot talk to Python: {error}")))
        }
        _ => Ok(()),
    }
}

/// The failure of a run that needs more memory than it may have, or than there is.
fn short_of_memory(answer: &Json, place: Option<&str>, limits: &LimitArgs) -> Failure {
    let memory = &answer["memory"];
    let show = |bytes: &Json| show_bytes(bytes.as_u64().unwrap_or_default());
    let sizes = memory["sizes"].as_object().into_iter().flatten();
    let sizes: Vec<String> =
        sizes.map(|(kind, size)| format!("{} for {kind}", show(size))).collect();
    let (needed, sizes) = (show(&memory["needed"]), sizes.join(", "));
    let over = answer["over"] == true;
    let what = match over {
        true => format!("the limit is {}", show_bytes(limits.limit_bytes)),
        false => "there is not so much".to_owned(),
    };
    let mut failure =
        Failure::limit(format!("error: XLA needs {needed} of memory ({sizes}), and {what}"));
    if let Some(largest) = memory["largest"].as_str() {
        let place = place.map(|place| format!(", is from {place}")).unwrap_or_default();
        failure = failure.note(format_args!("the largest array in between, {largest}{place}"));
    }
    match over {
        true => failure.hint(raise_to(memory["needed"].as_u64().unwrap_or_default())),
        false => failure.hint("use smaller arrays, or a machine with more memory"),
    }
}

#[cfg(unix)]
fn is_killed(status: ExitStatus) -> bool {
    std::os::unix::process::ExitStatusExt::signal(&status) == Some(9)
}

#[cfg(not(unix))]
fn is_killed(_: ExitStatus) -> bool {
    false
}

/// A port that nobody uses.
fn free_port() -> Outcome<u16> {
    let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    port.map(|address| address.port())
        .map_err(|error| Failure::data(format_args!("there is no port for the processes: {error}")))
}
