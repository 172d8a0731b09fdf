//! Text and programs.
