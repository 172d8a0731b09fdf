//! Derivatives of whole programs: all ways of computing one agree, on random programs and on named
//! ones, exactly where arithmetic is exact.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed unwrap is a failed test"
)]
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "a NaN must fail the comparison")]

mod boundary;
mod checkpoints;
mod corners;
mod cost;
mod define_by_run;
mod exact;
mod float;
mod growth;
mod implicit;
mod jets;
mod oracles;
mod orders;
mod published_arrays;
mod rounding;
mod second_order;
mod sparsity;
mod support;
mod taylor;
mod ways;
mod while_loops;
