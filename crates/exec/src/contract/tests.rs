//! Contractions against the ordinary kernels of the same nests, and in the plans of programs.

mod nests;
mod plans;
mod speed;
