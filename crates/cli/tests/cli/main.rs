//! Sessions at the command line: every command, every exit code, good and bad input.

// Clippy takes only functions marked as tests for tests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod check;
mod examples;
mod explain;
mod fmt;
mod inputs;
mod readme;
mod reference;
mod run;
mod session;
