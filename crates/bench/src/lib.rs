//! The benchmark suite: programs written one element at a time, their gradients, and how long they
//! take beside gradients written by hand and those of other systems.
//!
//! * [`suite`]: the benchmarks, their cases, and the programs (`programs/*.ct`);
//! * [`inputs`]: what they run on, made from seeds or read from files;
//! * [`function`]: programs made ready to run;
//! * [`expected`]: what the results have to be; nothing is timed before it is right;
//! * [`measure`]: contenders that take turns, and their times;
//! * [`mod@reference`]: gradients written by hand, as the limit of what can be expected;
//! * [`peers`]: other systems, each in a process of its own;
//! * [`roofline`], [`overhead`]: what the machine can do, and what a call costs;
//! * [`run`], [`report`]: one benchmark from input to figures, and the figures as a table.

pub mod expected;
pub mod function;
pub mod inputs;
pub mod measure;
pub mod overhead;
pub mod peers;
pub mod reference;
pub mod report;
pub mod roofline;
pub mod run;
pub mod suite;

/// What went wrong, for the person who runs the suite.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The result of what can fail.
pub type Result<T> = std::result::Result<T, Failure>;
