//! Where the time of runs goes.
//!
//! A run says what it is at by storing an address, which costs nothing that could be measured. Another
//! thread looks a thousand times a second. So kernels of a microsecond in loops are seen as well as
//! long ones, and runs take as long as they do without.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cotan_array::Array;
use cotan_schedule::KernelInfo;
use rustc_hash::FxHashMap;

use crate::limits::{RunLimits, Stop};
use crate::run::Executable;

/// The mean time between two looks.
const PERIOD: Duration = Duration::from_millis(1);
/// Runs with and without looks take turns of about so long.
const TURN: Duration = Duration::from_millis(40);

/// What a run is at.
#[derive(Clone, Debug, Default)]
pub struct Marker(Arc<AtomicUsize>);

impl Marker {
    #[inline]
    pub(crate) fn set(&self, place: usize) {
        self.0.store(place, Ordering::Relaxed);
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A kernel and its share of the time.
#[derive(Clone, Debug)]
pub struct KernelTime {
    /// The kernel.
    pub info: KernelInfo,
    /// How often it was seen at work.
    pub looks: u64,
    /// Its time in one run, in seconds.
    pub seconds: f64,
}

/// Where the time of runs goes.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The kernels and other steps in their order.
    pub kernels: Vec<KernelTime>,
    /// How many runs there were, half of them without looks.
    pub runs: u64,
    /// The time of a run without looks, in seconds: the median of many short turns.
    pub seconds: f64,
    /// The least time of a run.
    pub least: f64,
    /// How much longer runs with looks took, as a fraction of the time without: what measuring costs,
    /// and the noise of the machine.
    pub overhead: f64,
    /// How many looks there were, those between kernels included.
    pub looks: u64,
    /// How many threads were at work on average, where the system says so.
    pub busy: Option<f64>,
    /// The bytes that a run by one thread needs besides arguments and results.
    pub workspace: u64,
}

/// The times of runs.
#[derive(Default)]
struct Times {
    runs: u64,
    /// The mean of each turn.
    means: Vec<f64>,
    least: Option<f64>,
}

impl Times {
    /// The median of the turns: what else the machine does meanwhile disturbs some of them.
    fn median(&mut self) -> f64 {
        self.means.sort_unstable_by(f64::total_cmp);
        let (low, high) = (self.means.len().saturating_sub(1) / 2, self.means.len() / 2);
        let at = |n: usize| self.means.get(n).copied().unwrap_or(0.0);
        (at(low) + at(high)) / 2.0
    }
}

impl Executable {
    /// Runs the program on these inputs for about so long, at least twice, and says where the time
    /// goes.
    pub fn profile(
        &self,
        inputs: &[Array],
        limits: &RunLimits,
        time: Duration,
    ) -> Result<Profile, Stop> {
        let marker = Marker::default();
        let looking = RunLimits { marker: Some(marker.clone()), ..limits.clone() };
        // The first run asks the system for memory.
        let mut outputs = Vec::new();
        self.run_into(inputs, &mut outputs, limits)?;
        let (active, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        let [mut plain, mut watched] = [Times::default(), Times::default()];
        let begin = (Instant::now(), processor_time());
        let mut counts = FxHashMap::default();
        let done = thread::scope(|scope| {
            let sampler = scope.spawn(|| look(&marker, &active, &ended));
            let mut turns = || {
                while watched.runs == 0 || begin.0.elapsed() < time {
                    self.turn(inputs, &mut outputs, limits, &mut plain)?;
                    active.store(true, Ordering::Release);
                    sampler.thread().unpark();
                    let turn = self.turn(inputs, &mut outputs, &looking, &mut watched);
                    active.store(false, Ordering::Release);
                    marker.set(0);
                    turn?;
                }
                Ok(())
            };
            let done = turns();
            ended.store(true, Ordering::Release);
            sampler.thread().unpark();
            counts = sampler.join().unwrap_or_default();
            done
        });
        done?;
        let wall = begin.0.elapsed().as_secs_f64();
        let busy = processor_time().zip(begin.1).map(|(end, begin)| (end - begin) / wall);
        let looks: u64 = counts.values().sum();
        let seconds = plain.median();
        let kernels = self.list().into_iter().map(|info| {
            let seen = counts.get(&info.key).copied().unwrap_or(0);
            let seconds = seconds * seen as f64 / looks.max(1) as f64;
            KernelTime { info, looks: seen, seconds }
        });
        let least = [plain.least, watched.least].into_iter().flatten();
        Ok(Profile {
            kernels: kernels.collect(),
            runs: plain.runs + watched.runs,
            seconds,
            least: least.fold(f64::INFINITY, f64::min),
            overhead: watched.median() / seconds.max(1e-12) - 1.0,
            looks,
            busy,
            workspace: self.workspace_bytes() as u64,
        })
    }

    /// Runs for a short time, at least once.
    fn turn(
        &self,
        inputs: &[Array],
        outputs: &mut Vec<Array>,
        limits: &RunLimits,
        times: &mut Times,
    ) -> Result<(), Stop> {
        let begin = Instant::now();
        let mut runs = 0;
        loop {
            let now = Instant::now();
            self.run_into(inputs, outputs, limits)?;
            let took = now.elapsed().as_secs_f64();
            runs += 1;
            times.least = Some(times.least.map_or(took, |least| least.min(took)));
            if begin.elapsed() >= TURN {
                times.runs += runs;
                times.means.push(begin.elapsed().as_secs_f64() / runs as f64);
                return Ok(());
            }
        }
    }
}

/// Looks now and then at what is at work; gives how often each was.
fn look(marker: &Marker, active: &AtomicBool, ended: &AtomicBool) -> FxHashMap<usize, u64> {
    let mut counts = FxHashMap::default();
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    while !ended.load(Ordering::Acquire) {
        if !active.load(Ordering::Acquire) {
            thread::park_timeout(TURN);
            continue;
        }
        // Not at even times, which loops might keep step with.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        thread::sleep(PERIOD / 2 + PERIOD.mul_f64((random % 1024) as f64 / 1024.0));
        if active.load(Ordering::Acquire) {
            let at = marker.get();
            if at != 0 {
                *counts.entry(at).or_insert(0) += 1;
            }
        }
    }
    counts
}

/// The processor time of this process in seconds, where the system says so.
fn processor_time() -> Option<f64> {
    /// Ticks a second, on all Linux systems.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the command may have spaces and brackets of its own.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let [user, system] = [fields.next()?, fields.next()?].map(|n| n.parse::<f64>().ok());
    Some((user? + system?) / TICKS)
}
