//! Contractions against the ordinary kernels of the same nests, and in the plans of programs.

mod nests;
mod plans;
mod products;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod speed;
