//! The test kit: random programs and inputs, exact comparison, shrinking, checking of rules.
//!
//! * [`Rng`], [`for_each_case`]: seeded random numbers and properties over many seeds;
//! * [`generate`], [`Config`]: random well-typed programs; [`inputs_for`]: inputs for them;
//! * [`Oracle`]: comparison of two programs; [`check_transform`]: of every generated program with
//!   what a pass makes of it;
//! * [`bulk`], [`derived`]: passes as tests apply them;
//! * [`check_gradients`]: the derivatives of one program against each other and differences;
//! * [`shrink`]: smaller programs that fail in the same way;
//! * [`rules`]: checking of rewrite rules one by one;
//! * [`families`]: programs that grow without bound;
//! * [`exact`]: which programs compute on floats without rounding;
//! * [`files`]: programs with what is expected of them in their comments;
//! * [`xla`]: modules of StableHLO run by XLA;
//! * [`fuzz_targets`]: what the fuzzer and a short test of it run; [`mutate`]: changed bytes.

mod cases;
mod ending;
pub mod exact;
pub mod families;
pub mod files;
pub mod fuzz_targets;
mod generate;
mod gradients;
mod inputs;
mod mutate;
mod oracle;
mod passes;
mod rng;
pub mod rules;
mod shrink;
pub mod xla;

pub use cases::{fail, for_each_case, scaled};
pub use generate::{Config, Data, Former, TypedOp, generate};
pub use gradients::{check_gradients, field_dot};
pub use inputs::{InputKind, inputs_for, value_of};
pub use mutate::mutate;
pub use oracle::{
    Difference, Equality, Fault, Mismatch, Oracle, Trial, check_transform, first_difference,
    run_program, ulps_apart,
};
pub use passes::{bulk, derived};
pub use rng::Rng;
pub use shrink::shrink;
