//! One benchmark, from its inputs to its figures.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use cotan_array::{Array, Dtype};

use crate::Result;
use crate::expected::{Expected, Outcome, Summary};
use crate::function::{Engine, Function};
use crate::inputs::{Inputs, generate};
use crate::measure::{Clock, Contender, Effort, Times, race};
use crate::peers::Peer;
use crate::reference;
use crate::suite::{Benchmark, Case};

/// How to run benchmarks.
pub struct Settings {
    /// How much time to spend.
    pub effort: Effort,
    /// A folder of inputs in place of our own, `BENCHMARK.CASE.npz`.
    pub inputs: Option<PathBuf>,
    /// What is expected.
    pub expected: Expected,
    /// What runs programs.
    pub engine: Engine,
    /// How many threads to use.
    pub threads: usize,
    /// A folder for files that other systems read.
    pub scratch: PathBuf,
}

/// The figures of one contender.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The largest relative deviation of its results.
    pub deviation: f64,
    /// The seconds to compile.
    pub compile: Option<f64>,
    /// The times of the objective alone.
    pub objective: Option<Times>,
    /// The times of what is measured.
    pub gradient: Times,
}

/// The figures of a case.
#[derive(Clone, Debug)]
pub struct Figured {
    /// The benchmark.
    pub benchmark: &'static str,
    /// The case.
    pub case: &'static str,
    /// Our own figures.
    pub own: Figures,
    /// The times of what is measured with twice as many threads, where the machine has them.
    pub threaded: Option<Times>,
    /// The bytes that a call needs besides arguments and results.
    pub workspace: Option<usize>,
    /// What ran it.
    pub engine: Engine,
    /// The figures of the gradient written by hand.
    pub by_hand: Option<Figures>,
    /// The figures of other systems, or why there are none.
    pub peers: Vec<(&'static str, std::result::Result<Figures, String>)>,
}

/// The value and derivatives of a case as our programs compute them.
pub struct Computed {
    /// The objective.
    pub objective: Function,
    /// What is measured.
    pub measured: Function,
    /// The arguments of both.
    pub arguments: (Vec<Array>, Vec<Array>),
    /// What they give.
    pub outcome: Outcome,
}

impl Computed {
    /// Compiles the programs of a case and runs them once.
    pub fn new(
        benchmark: &Benchmark,
        case: &Case,
        inputs: &Inputs,
        engine: Engine,
    ) -> Result<Computed> {
        let measured = Function::measured(benchmark, case, inputs, engine)?;
        let objective = Function::objective(benchmark, case, inputs, engine)?;
        let arguments = (objective.arguments(inputs)?, measured.arguments(inputs)?);
        let values = objective.call(&arguments.0)?;
        let results = measured.call(&arguments.1)?;
        let outcome = outcome(benchmark, &values, &results)?;
        Ok(Computed { objective, measured, arguments, outcome })
    }
}

/// What the arrays that the programs give say.
fn outcome(benchmark: &Benchmark, values: &[Array], results: &[Array]) -> Result<Outcome> {
    let value = value_of(values)?;
    let skip = usize::from(benchmark.measured.gives_value());
    if results.len() != skip + benchmark.results.len() {
        let (found, names) = (results.len() - skip, benchmark.results.len());
        return Err(format!("{found} derivatives were computed, {names} have names").into());
    }
    if skip == 1 {
        let again = value_of(&results[..1])?;
        if (again - value).abs() > benchmark.tolerance * value.abs() {
            return Err(format!("the value is {value} alone, {again} with the gradient").into());
        }
    }
    let named = benchmark.results.iter().zip(&results[skip..]);
    let summary = |(name, array): (&&str, &Array)| Ok(((*name).to_owned(), Summary::of(array)?));
    Ok(Outcome { value, derivatives: named.map(summary).collect::<Result<_>>()? })
}

/// The value of a scalar objective; half the sum of squares of one that gives arrays.
fn value_of(values: &[Array]) -> Result<f64> {
    if let [value] = values
        && value.rank() == 0
    {
        return Ok(value.cast(Dtype::F64)?.item::<f64>().unwrap_or(f64::NAN));
    }
    let norms = values.iter().map(|array| Ok(Summary::of(array)?.norm));
    let squares: Result<f64> = norms.map(|norm: Result<f64>| norm.map(|norm| norm * norm)).sum();
    Ok(0.5 * squares?)
}

/// A program that writes its results into the same arrays again and again.
fn contender<'a>(function: &'a Function, arguments: &'a [Array], threads: usize) -> Contender<'a> {
    let mut results = Vec::new();
    Contender::function(move || {
        function.call_into(arguments, &mut results, threads)?;
        std::hint::black_box(&mut results);
        Ok(())
    })
}

/// Runs a case: checks every contender, then lets them take turns.
pub fn run(
    benchmark: &'static Benchmark,
    case: &'static Case,
    settings: &Settings,
    peers: &mut [Peer],
) -> Result<Figured> {
    let file = format!("{}.{}.npz", benchmark.name, case.name);
    let (inputs, path) = match &settings.inputs {
        Some(folder) => (Inputs::read(&folder.join(&file))?, folder.join(&file)),
        None => (generate(benchmark, case)?, settings.scratch.join(&file)),
    };
    let Some(expected) = settings.expected.find(benchmark.name, case.name) else {
        return Err("there are no expected values".into());
    };
    let checked = |found: &Outcome| -> Result<f64> {
        let (deviation, what) = found.deviation(&expected);
        if deviation <= benchmark.tolerance {
            return Ok(deviation);
        }
        Err(format!("wrong: `{what}` deviates by {deviation:.1e}").into())
    };

    let own = Computed::new(benchmark, case, &inputs, settings.engine)?;
    let own_deviation = checked(&own.outcome)?;
    let mut by_hand = reference::by_name(benchmark.name, case, &inputs)?;
    let by_hand_deviation = match &mut by_hand {
        Some(gradient) => {
            let found = gradient.outcome()?;
            Some(checked(&found).map_err(|e| format!("written by hand, {e}"))?)
        }
        None => None,
    };
    let peers = load_peers(peers, benchmark, case, (&inputs, &path), &checked);

    let mut contenders = vec![
        contender(&own.objective, &own.arguments.0, settings.threads),
        contender(&own.measured, &own.arguments.1, settings.threads),
    ];
    let twice = 2 * settings.threads;
    // What the processors give to several threads together says nothing about how long they take.
    let can_be_threaded = settings.effort.clock == Clock::Wall
        && own.measured.engine() == Engine::Machine
        && std::thread::available_parallelism().is_ok_and(|n| n.get() >= twice);
    if can_be_threaded {
        contenders.push(contender(&own.measured, &own.arguments.1, twice));
    }
    if let Some(gradient) = &mut by_hand {
        contenders.push(Contender::function(|| {
            std::hint::black_box(gradient.run());
            Ok(())
        }));
    }
    for (peer, loaded) in &peers {
        if loaded.is_ok() {
            for what in ["objective", "gradient"] {
                contenders.push(Contender::new(Box::new(|calls, clock| {
                    peer.borrow_mut().run(what, calls, clock)
                })));
            }
        }
    }
    race(&mut contenders, settings.effort)?;

    let mut times = contenders.into_iter().map(|contender| contender.times);
    let mut next = || times.next().ok_or("a contender has no times");
    let own_figures = Figures {
        deviation: own_deviation,
        compile: Some(own.measured.compile.as_secs_f64()),
        objective: Some(next()?),
        gradient: next()?,
    };
    let threaded = if can_be_threaded { Some(next()?) } else { None };
    let by_hand = match by_hand_deviation {
        Some(deviation) => {
            Some(Figures { deviation, compile: None, objective: None, gradient: next()? })
        }
        None => None,
    };
    let mut peer_figures = Vec::new();
    for (peer, loaded) in &peers {
        let figures = match loaded {
            Ok((deviation, compile)) => Ok(Figures {
                deviation: *deviation,
                compile: Some(*compile),
                objective: Some(next()?),
                gradient: next()?,
            }),
            Err(why) => Err(why.clone()),
        };
        peer_figures.push((peer.borrow().name, figures));
    }
    Ok(Figured {
        benchmark: benchmark.name,
        case: case.name,
        own: own_figures,
        threaded,
        workspace: own.measured.workspace_bytes(),
        engine: own.measured.engine(),
        by_hand,
        peers: peer_figures,
    })
}

/// A peer with what it says of a case: its deviation and the seconds to compile.
type Ready<'a> = (RefCell<&'a mut Peer>, std::result::Result<(f64, f64), String>);

/// Lets peers load a case. One that cannot, or is wrong, takes no part.
fn load_peers<'a>(
    peers: &'a mut [Peer],
    benchmark: &Benchmark,
    case: &Case,
    (inputs, path): (&Inputs, &Path),
    checked: &impl Fn(&Outcome) -> Result<f64>,
) -> Vec<Ready<'a>> {
    let load = |peer: &mut Peer| -> Result<(f64, f64)> {
        if !path.exists() {
            inputs.write(path)?;
        }
        let loaded = peer.load(benchmark, case, path)?;
        Ok((checked(&loaded.outcome)?, loaded.compile))
    };
    let ready = |peer: &'a mut Peer| {
        let loaded = load(peer).map_err(|e| e.to_string());
        (RefCell::new(peer), loaded)
    };
    peers.iter_mut().map(ready).collect()
}
