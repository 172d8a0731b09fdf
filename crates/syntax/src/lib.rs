//! The text language `.ct`.
//!
//! Text becomes tokens ([`lex`]), tokens become a syntax tree ([`mod@parse`], [`ast`]). What is wrong
//! on the way is collected as [`Diagnostics`], each with a stable [`Code`], and shown by [`render`];
//! the formatter ([`fmt`]) writes a tree back in the one canonical layout.
//!
//! ```
//! use cotan_ir::SourceMap;
//! use cotan_syntax::render::{Style, render_all};
//!
//! let mut sources = SourceMap::new();
//! let text = "def area(r: f64) = 3.14 * r ^ 2";
//! let file = sources.add("area.ct", text);
//! let parsed = cotan_syntax::parse(file, text);
//! let shown = render_all(&parsed.diagnostics, &sources, Style::Plain);
//! assert!(shown.starts_with("error[E0001]: unexpected character '^'\n --> area.ct:1:29"));
//! assert!(shown.contains("powers are written `**`"));
//!
//! let formatted = cotan_syntax::format(file, "def area(r:f64)=3.14*r**2");
//! assert_eq!(formatted.as_deref(), Ok("def area(r: f64) = 3.14 * r ** 2\n"));
//! ```
//!
//! A file with what it imports is loaded by [`load`], and a function of it at given types becomes a
//! program by [`instantiate`]; [`parse_program`] reads a printed program, and [`check()`] looks at
//! every definition of a file. The builtin functions are one table, [`builtins`].
//!
//! No text makes this crate panic, overflow a stack of 2 MiB, or take more than linear time.

#![deny(missing_docs)]

pub mod ast;
mod check;
mod code;
pub mod diagnostic;
mod elab;
mod endless;
mod equal;
pub mod fmt;
mod instantiate;
mod interface;
pub mod lex;
mod load;
mod loader;
pub mod parse;
mod precedence;
pub mod render;
mod session;
mod sizes;

pub use check::{Declaration, check, check_at, sample};
pub use code::{Code, Severity};
pub use diagnostic::{Diagnostic, Diagnostics, Label, abbreviated};
pub use elab::library::{Builtin, Group, builtins};
pub use elab::tree::TypeTree;
pub use fmt::format;
pub use instantiate::{ArgSpec, Instance, instantiate, parse_program};
pub use interface::{Interface, Leaf, Parameter};
pub use load::{Failure, FunctionInfo, Modules, load, load_expression, load_text};
pub use loader::{FileLoader, Loader, MAX_TEXT, MemoryLoader, read_text};
pub use parse::{Parsed, parse};
pub use session::{Session, Variable};
