//! Functions made of others.

pub mod nn;
