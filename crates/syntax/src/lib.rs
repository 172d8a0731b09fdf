//! Text and programs.

pub mod ast;
mod code;
pub mod diagnostic;
pub mod lex;
pub mod render;

pub use code::{Code, Severity};
pub use diagnostic::{Diagnostic, Diagnostics, Label};
