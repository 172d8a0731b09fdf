//! Text and programs.

pub mod ast;
mod code;
pub mod diagnostic;
mod equal;
pub mod fmt;
pub mod lex;
pub mod parse;
mod precedence;
pub mod render;

pub use code::{Code, Severity};
pub use diagnostic::{Diagnostic, Diagnostics, Label};
pub use fmt::format;
pub use parse::{Parsed, parse};
