//! The section's examples, its claims, and random programs.

mod claims;
mod evaluators;
mod programs;
