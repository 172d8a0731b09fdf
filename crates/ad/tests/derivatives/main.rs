//! Derivatives of whole programs: all ways of computing one agree, on random programs and on named
//! ones, exactly where arithmetic is exact.

mod boundary;
mod corners;
mod cost;
mod define_by_run;
mod exact;
mod faults;
mod float;
mod growth;
mod second_order;
mod support;
mod ways;
