//! Contenders that take turns, and their times.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::Result;

/// Runs something so many times and gives the seconds that it took by a clock.
pub type Block<'a> = Box<dyn FnMut(usize, Clock) -> Result<f64> + 'a>;

/// What counts as time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The time that passes.
    Wall,
    /// The time that the processor gives to the thread: for machines that have other work, too. On
    /// Linux only.
    Processor,
}

impl Clock {
    /// Seconds from some point in time on.
    pub fn now(self) -> Result<f64> {
        static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
        match self {
            Clock::Wall => Ok(BEGIN.elapsed().as_secs_f64()),
            Clock::Processor => {
                // The kernel counts up to now when it is asked to choose who runs next.
                std::thread::yield_now();
                let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
                let nanoseconds = text.split(' ').next().and_then(|n| n.parse::<u64>().ok());
                let nanoseconds = nanoseconds.ok_or("the kernel does not say the time used")?;
                Ok(nanoseconds as f64 * 1e-9)
            }
        }
    }
}

/// How much time to spend.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How long a contender runs when it is its turn, at least one call.
    pub block: Duration,
    /// How often each has its turn.
    pub rounds: usize,
    /// How long all turns may take together; then fewer rounds are run, at least three.
    pub budget: Duration,
    /// What is measured.
    pub clock: Clock,
}

impl Effort {
    /// For figures to rely on.
    pub const FULL: Effort = Effort {
        block: Duration::from_millis(20),
        rounds: 15,
        budget: Duration::from_secs(12),
        clock: Clock::Wall,
    };
    /// For a look.
    pub const QUICK: Effort = Effort {
        block: Duration::from_millis(5),
        rounds: 5,
        budget: Duration::from_secs(2),
        clock: Clock::Wall,
    };
}

/// The times of one contender, in seconds per call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times(Vec<f64>);

impl Times {
    /// The median of the blocks.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// The fastest block.
    pub fn least(&self) -> f64 {
        self.0.iter().copied().fold(f64::NAN, f64::min)
    }

    /// How many blocks there were.
    pub fn blocks(&self) -> usize {
        self.0.len()
    }
}

/// One of those whose times are compared.
pub struct Contender<'a> {
    run: Block<'a>,
    calls: usize,
    /// The times so far.
    pub times: Times,
}

impl<'a> Contender<'a> {
    /// What a block of calls does.
    pub fn new(run: Block<'a>) -> Contender<'a> {
        Contender { run, calls: 1, times: Times::default() }
    }

    /// A function of this process.
    pub fn function(mut call: impl FnMut() -> Result<()> + 'a) -> Contender<'a> {
        Contender::new(Box::new(move |calls, clock| {
            let begin = clock.now()?;
            for _ in 0..calls {
                call()?;
            }
            Ok(clock.now()? - begin)
        }))
    }

    /// Calls it until caches, pages and branches are warm, and finds out how many calls fill a block.
    /// Returns the seconds that a turn takes.
    fn warm_up(&mut self, effort: Effort) -> Result<f64> {
        let (block, clock) = (effort.block.as_secs_f64(), effort.clock);
        (self.run)(1, clock)?;
        let mut seconds = (self.run)(1, clock)?;
        while seconds < 0.5 * block {
            let wanted = self.calls as f64 * 1.2 * block / seconds.max(1e-9);
            self.calls = (wanted as usize).clamp(self.calls + 1, 100 * self.calls);
            seconds = (self.run)(self.calls, clock)?;
        }
        let each = seconds / self.calls as f64;
        self.calls = ((block / each) as usize).max(1);
        Ok(each * (self.calls + 1) as f64)
    }

    /// A turn: one call to bring its data back into the caches, and the block that counts.
    fn turn(&mut self, clock: Clock) -> Result<()> {
        (self.run)(1, clock)?;
        let seconds = (self.run)(self.calls, clock)?;
        self.times.0.push(seconds / self.calls as f64);
        Ok(())
    }
}

/// Lets contenders take turns, so that what disturbs the machine disturbs them alike.
pub fn race(contenders: &mut [Contender<'_>], effort: Effort) -> Result<()> {
    let mut round = 0.0;
    for contender in &mut *contenders {
        round += contender.warm_up(effort)?;
    }
    let affordable = (effort.budget.as_secs_f64() / round.max(1e-9)) as usize;
    for _ in 0..affordable.clamp(3, effort.rounds.max(3)) {
        for contender in &mut *contenders {
            contender.turn(effort.clock)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_minima() {
        let times = Times(vec![3.0, 1.0, 2.0, 9.0, 4.0]);
        assert_eq!((times.median(), times.least(), times.blocks()), (3.0, 1.0, 5));
        assert!(Times::default().median().is_nan());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn sleep_takes_no_time_of_the_processor() {
        let times = [Clock::Processor, Clock::Wall].map(|clock| {
            let begin = clock.now().unwrap();
            std::thread::sleep(Duration::from_millis(30));
            clock.now().unwrap() - begin
        });
        assert!(times[0] < 0.02 && times[1] >= 0.03, "{times:?}");
    }

    #[test]
    fn all_have_equally_many_turns() {
        let counts = [std::cell::Cell::new(0), std::cell::Cell::new(0)];
        let mut contenders: Vec<Contender<'_>> = counts
            .iter()
            .map(|count| {
                Contender::function(|| {
                    count.set(count.get() + 1);
                    std::thread::sleep(Duration::from_micros(100));
                    Ok(())
                })
            })
            .collect();
        let effort = Effort {
            block: Duration::from_micros(500),
            rounds: 4,
            budget: Duration::from_secs(10),
            clock: Clock::Wall,
        };
        race(&mut contenders, effort).unwrap();
        for (contender, count) in contenders.iter().zip(&counts) {
            assert_eq!(contender.times.blocks(), 4);
            assert!(contender.times.least() >= 100e-6 && count.get() >= 4);
        }
    }
}
