//! A small eval of our own: every function of every module of GradBench, through the conversation that
//! its evals have with a tool, held against other ways to compute the same.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod algebra;
mod complex;
mod descent;
mod edges;
mod eval;
mod fitting;
mod mixture;
mod programs;
#[path = "../common/promised.rs"]
mod promised;
mod protocol;
mod sequences;
mod vision;
