//! The core of the Rust library: staging, structures, data, derivatives, eager runs, loops.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

mod basics;
mod data;
mod eager;
mod misuse;
mod nested;
mod options;
mod structs;
#[path = "../support/mod.rs"]
mod support;
mod tensors;
mod while_loops;
