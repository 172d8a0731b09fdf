//! The language server: what editors ask about `.ct` programs.
//!
//! # Overview
//!
//! * `server` speaks the protocol: one thread answers requests, in order, from the text as it is then.
//! * `analysis` checks declarations on another thread, as you type: those that did not change, nor
//!   anything they use, are not checked again.
//! * `names` finds out what every name of a file means; `places` counts as editors do.
//! * `hover`, `complete`, `symbols`, `edits` and `hints` make the answers.
//!
//! Nothing here knows the language but through `cotan-syntax`.

#![deny(missing_docs)]

mod analysis;
mod complete;
mod document;
mod edits;
mod explain;
mod gradient;
mod hints;
mod hover;
mod names;
mod places;
mod server;
mod symbols;

pub use server::{serve, serve_on};
