//! The core language.
