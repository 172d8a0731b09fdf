//! Text and programs.

pub mod ast;
