//! Polynomials in sizes with integer coefficients: the normal form of size expressions.

use std::collections::BTreeMap;

use super::space::Atom;

/// How many terms a polynomial may have, and how many factors a term; beyond, nothing is known.
const MAX_TERMS: usize = 64;
const MAX_FACTORS: usize = 16;

/// A polynomial. No coefficient is 0 and the factors of each term are in order, so equal polynomials
/// are equal values.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Poly {
    terms: BTreeMap<Vec<Atom>, i128>,
}

impl Poly {
    pub(crate) fn constant(value: i128) -> Poly {
        Poly { terms: [(Vec::new(), value)].into_iter().filter(|(_, c)| *c != 0).collect() }
    }

    pub(crate) fn atom(atom: Atom) -> Poly {
        Poly { terms: [(vec![atom], 1)].into_iter().collect() }
    }

    /// The terms, each a product of atoms and its coefficient.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (&[Atom], i128)> {
        self.terms.iter().map(|(factors, coefficient)| (&**factors, *coefficient))
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// The term without atoms.
    pub(crate) fn constant_term(&self) -> i128 {
        self.terms.get(&Vec::new()).copied().unwrap_or(0)
    }

    /// The value, if it has no atoms.
    pub(crate) fn as_constant(&self) -> Option<i128> {
        self.terms.keys().all(Vec::is_empty).then(|| self.constant_term())
    }

    /// The coefficients of the atoms, if no term has several.
    pub(crate) fn linear_terms(&self) -> Option<Vec<(Atom, i128)>> {
        let linear = self.terms.iter().filter(|(factors, _)| !factors.is_empty());
        linear
            .map(|(factors, c)| match factors[..] {
                [atom] => Some((atom, *c)),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn add(&self, other: &Poly) -> Option<Poly> {
        self.add_scaled(other, 1)
    }

    pub(crate) fn sub(&self, other: &Poly) -> Option<Poly> {
        self.add_scaled(other, -1)
    }

    /// `self + factor * other`; `None` if it is too large.
    pub(crate) fn add_scaled(&self, other: &Poly, factor: i128) -> Option<Poly> {
        let mut sum = self.clone();
        for (factors, c) in &other.terms {
            sum.add_term(factors.clone(), c.checked_mul(factor)?)?;
        }
        (sum.terms.len() <= MAX_TERMS).then_some(sum)
    }

    pub(crate) fn scale(&self, factor: i128) -> Option<Poly> {
        Poly::default().add_scaled(self, factor)
    }

    pub(crate) fn mul(&self, other: &Poly) -> Option<Poly> {
        let mut product = Poly::default();
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                let mut factors = [&left[..], &right[..]].concat();
                factors.sort_unstable();
                product.add_term(factors, a.checked_mul(*b)?)?;
                if product.terms.len() > MAX_TERMS {
                    return None;
                }
            }
        }
        Some(product)
    }

    pub(crate) fn add_term(&mut self, factors: Vec<Atom>, c: i128) -> Option<()> {
        if factors.len() > MAX_FACTORS {
            return None;
        }
        let sum = self.terms.get(&factors).copied().unwrap_or(0).checked_add(c)?;
        match sum {
            0 => self.terms.remove(&factors),
            _ => self.terms.insert(factors, sum),
        };
        Some(())
    }

    /// The quotient by an integer, if it divides every coefficient.
    pub(crate) fn divide_exactly(&self, divisor: i128) -> Option<Poly> {
        let exact = self.terms.values().all(|c| c.checked_rem(divisor) == Some(0));
        exact.then(|| Poly {
            terms: self.terms.iter().map(|(factors, c)| (factors.clone(), c / divisor)).collect(),
        })
    }

    /// The part whose coefficients are multiples of an integer, and the rest.
    pub(crate) fn split_multiples(&self, of: i128) -> (Poly, Poly) {
        let (mut multiples, mut rest) = (Poly::default(), Poly::default());
        for (factors, &c) in &self.terms {
            let remainder = c.rem_euclid(of);
            if c != remainder {
                multiples.terms.insert(factors.clone(), c - remainder);
            }
            if remainder != 0 {
                rest.terms.insert(factors.clone(), remainder);
            }
        }
        (multiples, rest)
    }

    /// The atoms that are factors of every term, and what is left without one of each; `None` if
    /// there are none.
    pub(crate) fn common_factors(&self) -> Option<(Vec<Atom>, Poly)> {
        let mut common = self.terms.keys().next()?.clone();
        for factors in self.terms.keys() {
            let mut left = factors.clone();
            common.retain(|atom| match left.iter().position(|a| a == atom) {
                Some(at) => {
                    left.remove(at);
                    true
                }
                None => false,
            });
        }
        if common.is_empty() {
            return None;
        }
        let without = |factors: &Vec<Atom>| {
            let mut left = factors.clone();
            for atom in &common {
                if let Some(at) = left.iter().position(|a| a == atom) {
                    left.remove(at);
                }
            }
            left
        };
        let rest = Poly { terms: self.terms.iter().map(|(f, c)| (without(f), *c)).collect() };
        Some((common, rest))
    }

    /// The greatest common divisor of the coefficients of atoms; 0 if there are none.
    pub(crate) fn content(&self) -> i128 {
        let of_atoms = self.terms.iter().filter(|(factors, _)| !factors.is_empty());
        of_atoms.fold(0, |g, (_, c)| gcd(g, *c))
    }

    /// The polynomial with atoms replaced; `None` if it becomes too large.
    pub(crate) fn substitute(&self, value: &mut dyn FnMut(Atom) -> Option<Poly>) -> Option<Poly> {
        let mut whole = Poly::default();
        for (factors, c) in &self.terms {
            let mut term = Poly::constant(*c);
            for atom in factors {
                term = term.mul(&value(*atom)?)?;
            }
            whole = whole.add(&term)?;
        }
        Some(whole)
    }

    /// The value, given those of the atoms.
    pub(crate) fn eval(&self, value: &mut dyn FnMut(Atom) -> Option<i128>) -> Option<i128> {
        let mut sum = 0i128;
        for (factors, c) in &self.terms {
            let mut term = *c;
            for atom in factors {
                term = term.checked_mul(value(*atom)?)?;
            }
            sum = sum.checked_add(term)?;
        }
        Some(sum)
    }
}

pub(crate) fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i128::try_from(a).unwrap_or(i128::MAX)
}
