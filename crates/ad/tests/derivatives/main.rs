//! Derivatives of whole programs: all ways of computing one agree, on random programs and on named
//! ones, exactly where arithmetic is exact.

mod exact;
mod support;
mod ways;
