//! Delta terms: the derivative of a number, as a data structure (Fig. naive-dn-ad).
//!
//! A dual number is a pair of a number, the *primal*, and a [`Delta`]: a term of a tiny language
//! of linear combinations of the inputs. It is a forward derivative with its functions made data:
//! run it on a direction and it gives the derivative in that direction, or walk it backwards once
//! and it gives the whole gradient. The evaluators of [`super::eval`] and [`super::reverse_pass`]
//! are ways of doing so.
//!
//! Delta terms are directed acyclic graphs in memory. [`Delta::Share`] makes the sharing visible
//! to an evaluator by giving what may be shared a name, under two invariants:
//!
//! 1. in `Share i d`, every id inside `d` is smaller than `i`;
//! 2. of `Share i d1` and `Share i d2`, both with the same id, `d1` and `d2` are one object.
//!
//! [`IdGen`] gives ids in increasing order, so a term that is made after its parts keeps both.

use std::fmt;
use std::rc::Rc;

use cotan_ir::scalar::Fp;

/// The name of an input scalar.
pub type DVarName = usize;

/// The name of a shared part of a Delta term.
pub type Id = u64;

/// The numbers that derivatives are made of.
pub trait Real: Copy + PartialEq + fmt::Debug {
    /// The neutral element of addition.
    const ZERO: Self;
    /// The neutral element of multiplication.
    const ONE: Self;

    /// `self + other`.
    fn plus(self, other: Self) -> Self;

    /// A tangent or cotangent times a partial derivative. Zero is strong: where nothing flows, an
    /// infinite or undefined partial derivative does no harm.
    fn times(self, partial: Self) -> Self;
}

impl Real for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;

    fn plus(self, other: f64) -> f64 {
        self + other
    }

    fn times(self, partial: f64) -> f64 {
        if self == 0.0 { 0.0 } else { self * partial }
    }
}

impl Real for Fp {
    const ZERO: Fp = Fp::ZERO;
    const ONE: Fp = Fp::ONE;

    fn plus(self, other: Fp) -> Fp {
        self + other
    }

    fn times(self, partial: Fp) -> Fp {
        self * partial
    }
}

/// A linear combination of the inputs (Fig. naive-dn-ad, and `Share` of the section on sharing).
///
/// Cloning is shallow: the parts stay shared.
#[derive(Clone)]
pub enum Delta<R> {
    /// Depends on no input.
    Zero,
    /// An input.
    Input(DVarName),
    /// The sum of two.
    Add(Rc<Delta<R>>, Rc<Delta<R>>),
    /// A multiple.
    Scale(R, Rc<Delta<R>>),
    /// A part that may occur more than once, with its name.
    Share(Id, Rc<Delta<R>>),
}

impl<R> Delta<R> {
    /// The parts, in order.
    fn parts(&self) -> impl Iterator<Item = &Rc<Delta<R>>> {
        match self {
            Delta::Zero | Delta::Input(_) => [None, None],
            Delta::Scale(_, d) | Delta::Share(_, d) => [Some(d), None],
            Delta::Add(d1, d2) => [Some(d1), Some(d2)],
        }
        .into_iter()
        .flatten()
    }

    /// How many constructors the term has in memory, each object counted once.
    pub fn size(&self) -> usize {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut stack: Vec<&Rc<Delta<R>>> = self.parts().collect();
        while let Some(d) = stack.pop() {
            if seen.insert(Rc::as_ptr(d)) {
                stack.extend(d.parts());
            }
        }
        1 + seen.len()
    }
}

impl<R> Delta<R> {
    /// Whether no one else holds some part.
    fn is_last_owner(&self) -> bool {
        match self {
            Delta::Zero | Delta::Input(_) => false,
            Delta::Scale(_, d) | Delta::Share(_, d) => Rc::strong_count(d) == 1,
            Delta::Add(d1, d2) if Rc::ptr_eq(d1, d2) => Rc::strong_count(d1) == 2,
            Delta::Add(d1, d2) => Rc::strong_count(d1) == 1 || Rc::strong_count(d2) == 1,
        }
    }

    /// Puts `zero` in the place of the parts; those that were held by no one else go to `orphans`.
    fn let_go(&mut self, zero: &Rc<Delta<R>>, orphans: &mut Vec<Delta<R>>) {
        let mut swap = |part: &mut Rc<Delta<R>>| {
            orphans.extend(Rc::into_inner(std::mem::replace(part, Rc::clone(zero))));
        };
        match self {
            Delta::Zero | Delta::Input(_) => {}
            Delta::Scale(_, d) | Delta::Share(_, d) => swap(d),
            Delta::Add(d1, d2) => {
                swap(d1);
                swap(d2);
            }
        }
    }
}

/// A chain of a million parts must not be dropped by a million nested calls.
impl<R> Drop for Delta<R> {
    fn drop(&mut self) {
        if !self.is_last_owner() {
            return;
        }
        let zero = Rc::new(Delta::Zero);
        let mut orphans = Vec::new();
        self.let_go(&zero, &mut orphans);
        while let Some(mut d) = orphans.pop() {
            d.let_go(&zero, &mut orphans);
        }
    }
}

/// The most constructors that are written out: without `Share` a small term can be long.
const MAX_WRITTEN: usize = 10_000;

/// Written as the report writes them: `Add (Scale 2.0 (Input 0)) (Input 1)`. What is under a
/// `Share` met before is left out, and so is the rest of a very long term.
impl<R: fmt::Debug> fmt::Display for Delta<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        enum Piece<'a, R> {
            Term(&'a Delta<R>, bool),
            Text(&'static str),
        }
        let mut seen = rustc_hash::FxHashSet::default();
        let mut written = 0;
        let mut pieces = vec![Piece::Term(self, false)];
        while let Some(piece) = pieces.pop() {
            let (d, inner) = match piece {
                Piece::Text(text) => {
                    f.write_str(text)?;
                    continue;
                }
                Piece::Term(d, inner) => (d, inner),
            };
            written += 1;
            if written > MAX_WRITTEN {
                f.write_str("..")?;
                continue;
            }
            if inner && !matches!(d, Delta::Zero) {
                f.write_str("(")?;
                pieces.push(Piece::Text(")"));
            }
            match d {
                Delta::Zero => f.write_str("Zero")?,
                Delta::Input(v) => write!(f, "Input {v}")?,
                Delta::Add(d1, d2) => {
                    f.write_str("Add ")?;
                    pieces.extend([Piece::Term(d2, true), Piece::Text(" "), Piece::Term(d1, true)]);
                }
                Delta::Scale(r, d) => {
                    write!(f, "Scale {r:?} ")?;
                    pieces.push(Piece::Term(d, true));
                }
                Delta::Share(i, d) if seen.insert(*i) => {
                    write!(f, "Share {i} ")?;
                    pieces.push(Piece::Term(d, true));
                }
                Delta::Share(i, _) => write!(f, "Share {i} ..")?,
            }
        }
        Ok(())
    }
}

impl<R: fmt::Debug> fmt::Debug for Delta<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The state of the report's `IdGen` monad: gives 1, 2, 3 and so on.
#[derive(Clone, Debug, Default)]
pub struct IdGen {
    last: Id,
}

impl IdGen {
    /// Starts after the id 0.
    pub fn new() -> IdGen {
        IdGen::default()
    }

    /// `genId`: an id larger than all before.
    pub fn fresh(&mut self) -> Id {
        self.last += 1;
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_chains_are_measured_written_and_dropped_in_constant_stack() {
        let mut d = Rc::new(Delta::Input(0));
        for n in 0..200_000u64 {
            d = Rc::new(match n % 3 {
                0 => Delta::Scale(1.0, d),
                1 => Delta::Add(Rc::clone(&d), d),
                _ => Delta::Share(n, d),
            });
        }
        assert_eq!(d.size(), 200_001);
        assert!(d.to_string().len() < 20 * MAX_WRITTEN);
        let d = Rc::new(Delta::Share(1, Rc::new(Delta::Scale(2.0, Rc::new(Delta::Input(7))))));
        let twice = Delta::Add(Rc::clone(&d), d);
        assert_eq!(twice.to_string(), "Add (Share 1 (Scale 2.0 (Input 7))) (Share 1 ..)");
        assert_eq!(twice.size(), 4);
    }

    #[test]
    fn a_dropped_term_leaves_what_others_hold() {
        let kept = Rc::new(Delta::Scale(3.0, Rc::new(Delta::Input(1))));
        drop(Delta::Add(Rc::clone(&kept), Rc::clone(&kept)));
        assert_eq!(kept.to_string(), "Scale 3.0 (Input 1)");
    }

    #[test]
    fn zero_is_strong_and_ids_grow() {
        assert_eq!(0.0.times(f64::INFINITY), 0.0);
        assert_eq!((-0.0).times(f64::NAN), 0.0);
        assert!(1.0.times(f64::NAN).is_nan());
        let mut ids = IdGen::new();
        assert_eq!([ids.fresh(), ids.fresh(), ids.fresh()], [1, 2, 3]);
    }
}
