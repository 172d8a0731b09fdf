//! The modules of GradBench in cotan, and the protocol by which they are asked for.
//!
//! GradBench compares tools for automatic differentiation: an *eval* sends messages, one line of JSON
//! each, and the *tool* answers each with a line. [`serve`] is such a tool. The modules are programs
//! in the text language, in the folder `examples/gradbench`; what they take and give is read from
//! their types, so nothing here knows any of them.
//!
//! ```
//! use cotan_gradbench::{Options, serve};
//!
//! let asked = concat!(
//!     r#"{"id": 0, "kind": "start", "eval": "hello"}"#, "\n",
//!     r#"{"id": 1, "kind": "define", "module": "hello"}"#, "\n",
//!     r#"{"id": 2, "kind": "evaluate", "module": "hello", "function": "double", "input": 3.0}"#, "\n",
//! );
//! let mut answers = Vec::new();
//! serve(asked.as_bytes(), &mut answers, &Options::default())?;
//! let answers = String::from_utf8(answers)?;
//! let last = answers.lines().last().unwrap();
//! assert!(last.contains(r#""output":6.0"#), "{last}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(missing_docs)]

mod arguments;
mod axes;
mod failure;
mod function;
mod json;
mod library;
mod message;
mod output;
mod serve;
mod tool;

pub use library::{LibraryModule, library};
pub use serve::{Options, serve};
