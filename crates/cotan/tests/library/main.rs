//! The functions of the library: values against plain Rust, derivatives against the oracles.
//!
//! One binary for all: each would link everything again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod arrange;
mod contract;
mod control;
mod elementary;
mod nn_layers;
mod nn_loss;
mod nn_scalar;
mod nn_support;
mod nn_training;
mod nn_windows;
mod operators;
mod optim;
mod random;
mod reduce;
mod solve;
mod solvers;
mod sort;
#[path = "../support/mod.rs"]
mod support;
