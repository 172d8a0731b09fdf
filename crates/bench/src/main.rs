//! `cotan-bench`: runs the benchmarks and shows their figures.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use cotan_bench::Result;
use cotan_bench::expected::Expected;
use cotan_bench::function::{Engine, Function};
use cotan_bench::inputs::generate;
use cotan_bench::measure::{Clock, Effort};
use cotan_bench::peers::Peer;
use cotan_bench::report::{self, Line, three_digits};
use cotan_bench::run::{Settings, run};
use cotan_bench::suite::{ALL, Benchmark, Case};
use cotan_bench::{overhead, roofline};

/// Runs the benchmarks of cotan: checks their results, then measures them.
///
/// Times are in milliseconds, medians of blocks in which all contenders took turns; `~` marks those
/// whose median is more than 1.25 times the fastest block. Progress goes to standard error, the
/// table to standard output. It fails if a result is wrong.
#[derive(Parser)]
#[command(name = "cotan-bench", version)]
struct Args {
    /// What to run: names of benchmarks or cases or parts of them, `roofline`, `overhead`; all if
    /// none are given
    filters: Vec<String>,

    /// Only these groups: A (ADBench), B (training), C (kernels), D (second order), E (GradBench), F
    /// (other kinds)
    #[arg(long, value_name = "LETTERS")]
    groups: Option<String>,

    /// List the cases and end
    #[arg(long)]
    list: bool,

    /// Less time for each, for a look
    #[arg(long)]
    quick: bool,

    /// Inputs from files DIR/BENCHMARK.CASE.npz (arrays p_NAME and d_NAME) in place of our own
    #[arg(long, value_name = "DIR", requires = "reference")]
    inputs: Option<PathBuf>,

    /// What results have to be, in place of what is expected of our own inputs
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,

    /// Compare with JAX, run by this Python (see scripts/peers)
    #[arg(long, value_name = "PYTHON")]
    peers: Option<PathBuf>,

    /// How many threads to use; where the machine has twice as many, gradients are measured with
    /// these as well
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,

    /// Measure the time that the processor gives to a thread in place of the time that passes: for a
    /// machine with other work
    #[arg(long, conflicts_with = "threads")]
    processor_time: bool,

    /// Show the loop nests that run each gradient, and end
    #[arg(long)]
    kernels: bool,

    /// Write the figures to a file, an object for each case on a line
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Run programs with the reference interpreter
    #[arg(long)]
    interpreter: bool,

    /// Write our own inputs to a folder and end
    #[arg(long, value_name = "DIR")]
    dump_inputs: Option<PathBuf>,
}

impl Args {
    fn wants(&self, benchmark: &Benchmark, case: &Case) -> bool {
        let name = format!("{}/{}", benchmark.name, case.name);
        let named = |filter: &String| name == *filter || name.contains(filter.as_str());
        self.groups.as_ref().is_none_or(|groups| groups.contains(benchmark.group))
            && (self.filters.is_empty() || self.filters.iter().any(named))
    }

    /// Whether something that is not a benchmark is wanted.
    fn wants_also(&self, name: &str) -> bool {
        let all = self.filters.is_empty() && self.groups.is_none();
        all || self.filters.iter().any(|filter| filter == name)
    }

    fn cases(&self) -> Vec<(&'static Benchmark, &'static Case)> {
        let all = ALL.iter().flat_map(|b| b.cases.iter().map(move |c| (b, c)));
        all.filter(|(b, c)| self.wants(b, c)).collect()
    }
}

fn main() -> ExitCode {
    match try_main(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything was right.
fn try_main(args: &Args) -> Result<bool> {
    let cases = args.cases();
    if args.list {
        for (benchmark, case) in cases {
            println!("{} {}/{}", benchmark.group, benchmark.name, case.name);
        }
        return Ok(true);
    }
    if let Some(folder) = &args.dump_inputs {
        std::fs::create_dir_all(folder)?;
        for (benchmark, case) in cases {
            let file = format!("{}.{}.npz", benchmark.name, case.name);
            generate(benchmark, case)?.write(&folder.join(file))?;
        }
        return Ok(true);
    }
    if args.kernels {
        for (benchmark, case) in cases {
            let inputs = generate(benchmark, case)?;
            let function = Function::measured(benchmark, case, &inputs, Engine::Machine)?;
            println!("# {}/{}\n{}", benchmark.name, case.name, function.kernels());
        }
        return Ok(true);
    }
    let mut effort = if args.quick { Effort::QUICK } else { Effort::FULL };
    if args.processor_time {
        effort.clock = Clock::Processor;
    }
    let scratch = std::env::temp_dir().join(format!("cotan-bench-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let settings = Settings {
        effort,
        inputs: args.inputs.clone(),
        expected: match &args.reference {
            Some(path) => Expected::read(path)?,
            None => Expected::own()?,
        },
        engine: if args.interpreter { Engine::Interpreter } else { Engine::Machine },
        threads: args.threads.max(1),
        scratch: scratch.clone(),
    };
    let outcome = measure(args, &cases, &settings);
    std::fs::remove_dir_all(&scratch)?;
    outcome
}

fn measure(
    args: &Args,
    cases: &[(&'static Benchmark, &'static Case)],
    settings: &Settings,
) -> Result<bool> {
    if args.wants_also("roofline") {
        eprintln!("what the machine can do");
        println!("| limit of the machine | |\n|---|--:|");
        for limit in roofline::probe(settings.effort)? {
            println!("| {} | {} {} |", limit.name, three_digits(limit.giga), limit.unit);
        }
        println!();
    }
    if args.wants_also("overhead") {
        eprintln!("what a call costs");
        println!("| value and gradient | microseconds a call |\n|---|--:|");
        for (name, seconds) in overhead::measure(settings.effort)? {
            println!("| {name} | {} |", three_digits(seconds * 1e6));
        }
        println!();
    }
    let mut peers = match &args.peers {
        Some(python) if !cases.is_empty() => vec![Peer::jax(python, settings.threads)?],
        _ => Vec::new(),
    };
    let names: Vec<&str> = peers.iter().map(|peer| peer.name).collect();
    let mut file = match &args.json {
        Some(path) => Some(std::fs::File::create(path)?),
        None => None,
    };
    let mut lines: Vec<Line> = Vec::new();
    if !cases.is_empty() {
        println!("{}", report::head(&names));
    }
    for (n, (benchmark, case)) in cases.iter().enumerate() {
        let name = format!("{}/{}", benchmark.name, case.name);
        eprintln!("{} of {}: {name}", n + 1, cases.len());
        let figured = run(benchmark, case, settings, &mut peers).map_err(|e| e.to_string());
        if let Err(why) = &figured {
            eprintln!("{name}: {why}");
        }
        for (peer, figures) in figured.iter().flat_map(|figured| &figured.peers) {
            if let Err(why) = figures {
                eprintln!("{name}: {peer} took no part: {why}");
            }
        }
        let line = (name, figured);
        println!("{}", report::line(&line));
        if let Some(file) = &mut file {
            writeln!(file, "{}", report::json(&line))?;
        }
        lines.push(line);
    }
    print!("{}", report::means(&lines, &names));
    Ok(lines.iter().all(|(_, line)| line.is_ok()))
}
