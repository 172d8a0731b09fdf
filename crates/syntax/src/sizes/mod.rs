//! Sizes as expressions of size parameters.
//!
//! Elaboration computes with numbers. What holds for *all* sizes is found by elaborating at a
//! generic point, where sizes are so chosen that different expressions have different values: an
//! equality that holds there is an identity, and a number that does not fit is traced back to the
//! expression it came from ([`Trace`]). The condition under which it would fit, and every comparison
//! that went well but need not, splits the sizes into parts, which are looked at one by one
//! ([`explore`]). Conditions are linear over the integers ([`System`]); `d // 8` is a variable `q`
//! with `d = 8 q + r` and `0 <= r < 8`.

#[cfg(test)]
mod agreement;
mod conditions;
mod explore;
mod inequalities;
mod poly;
mod space;
mod system;
mod trace;
mod words;

pub(crate) use explore::{Explored, explore, names, rename};
pub(crate) use poly::Poly;
pub(crate) use space::{Atom, Space};
pub(crate) use system::{Condition, Scale, System};
pub(crate) use trace::{Event, Origin, Trace};
