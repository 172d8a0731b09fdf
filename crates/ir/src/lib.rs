//! The core language.

pub mod span;

pub use span::{FileId, SourceMap, Span};
