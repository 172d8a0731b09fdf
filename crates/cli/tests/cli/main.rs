//! Sessions at the command line: every command, every exit code, good and bad input.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

mod build;
mod check;
mod examples;
mod explain;
mod export;
mod files;
mod fmt;
mod grad;
mod inputs;
mod limits;
#[cfg(feature = "lsp")]
mod lsp;
mod mistakes;
#[path = "../common/promised.rs"]
mod promised;
mod readme;
mod reference;
#[cfg(feature = "repl")]
mod repl;
mod right_and_wrong;
mod run;
mod session;
mod test;
mod tools;
