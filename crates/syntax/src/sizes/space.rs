//! What size expressions are made of: parameters, and quotients and remainders by constants.

use rustc_hash::FxHashMap;

use super::poly::Poly;
use crate::ast::Name;

/// Beyond so many quotients no more are followed, so that expressions do not nest deeply.
const MAX_QUOTIENTS: usize = 16;

/// A variable of size expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Atom(u32);

/// What an atom stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A parameter, not negative.
    Param(Name),
    /// `p // c`
    Quotient(Poly, i128),
    /// `p % c`, where `0 <= r < c`
    Remainder(Poly, i128),
    /// An integer that the solution of equations needs.
    Free,
}

/// The atoms of one definition; quotients of equal expressions are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Space {
    meanings: Vec<Meaning>,
    quotients: FxHashMap<(Poly, i128), (Atom, Atom)>,
}

impl Space {
    fn add(&mut self, meaning: Meaning) -> Atom {
        self.meanings.push(meaning);
        Atom((self.meanings.len() - 1) as u32)
    }

    pub(crate) fn param(&mut self, name: &Name) -> Atom {
        let found = self.params().find(|(_, known)| *known == name).map(|(atom, _)| atom);
        found.unwrap_or_else(|| self.add(Meaning::Param(name.clone())))
    }

    pub(crate) fn free(&mut self) -> Atom {
        self.add(Meaning::Free)
    }

    pub(crate) fn meaning(&self, atom: Atom) -> Option<&Meaning> {
        self.meanings.get(atom.0 as usize)
    }

    /// The parameters, in the order in which they were added.
    pub(crate) fn params(&self) -> impl Iterator<Item = (Atom, &Name)> {
        self.meanings.iter().enumerate().filter_map(|(k, meaning)| match meaning {
            Meaning::Param(name) => Some((Atom(k as u32), name)),
            Meaning::Quotient(..) | Meaning::Remainder(..) | Meaning::Free => None,
        })
    }

    /// The name of a parameter.
    pub(crate) fn name(&self, atom: Atom) -> Option<&Name> {
        match self.meaning(atom)? {
            Meaning::Param(name) => Some(name),
            Meaning::Quotient(..) | Meaning::Remainder(..) | Meaning::Free => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.meanings.is_empty()
    }

    /// All atoms with their meanings.
    pub(crate) fn atoms(&self) -> impl Iterator<Item = (Atom, &Meaning)> {
        self.meanings.iter().enumerate().map(|(k, meaning)| (Atom(k as u32), meaning))
    }

    /// Whether an atom is never negative.
    pub(crate) fn is_size(&self, atom: Atom) -> bool {
        matches!(self.meaning(atom), Some(Meaning::Param(_) | Meaning::Remainder(..)))
    }

    /// `p // c` and `p % c` for a positive `c`.
    pub(crate) fn divide(&mut self, p: &Poly, c: i128) -> Option<(Poly, Poly)> {
        if c <= 0 {
            return None;
        }
        let (multiples, rest) = p.split_multiples(c);
        let whole = multiples.divide_exactly(c)?;
        if let Some(r) = rest.as_constant() {
            return Some((whole, Poly::constant(r)));
        }
        // (x // a + k) // b is (x + a k) // (a b).
        if let Some([(atom, 1)]) = rest.linear_terms().as_deref()
            && let Some(Meaning::Quotient(x, a)) = self.meaning(*atom)
        {
            let (x, a) = (x.clone(), *a);
            let inner = x.add(&Poly::constant(a.checked_mul(rest.constant_term())?))?;
            let (q, _) = self.divide(&inner, a.checked_mul(c)?)?;
            let r = rest.sub(&q.scale(c)?)?;
            return Some((whole.add(&q)?, r));
        }
        let key = (rest, c);
        let (q, r) = match self.quotients.get(&key) {
            Some(&pair) => pair,
            None if self.quotients.len() >= MAX_QUOTIENTS => return None,
            None => {
                let q = self.add(Meaning::Quotient(key.0.clone(), c));
                let r = self.add(Meaning::Remainder(key.0.clone(), c));
                self.quotients.insert(key, (q, r));
                (q, r)
            }
        };
        Some((whole.add(&Poly::atom(q))?, Poly::atom(r)))
    }

    /// The value of an atom, given those of the parameters. Quotients are made of earlier atoms.
    pub(crate) fn value(&self, atom: Atom, param: &dyn Fn(&str) -> Option<i128>) -> Option<i128> {
        match self.meaning(atom)? {
            Meaning::Param(name) => param(name),
            Meaning::Quotient(p, c) => Some(self.eval(p, param)?.div_euclid(*c)),
            Meaning::Remainder(p, c) => Some(self.eval(p, param)?.rem_euclid(*c)),
            Meaning::Free => None,
        }
    }

    /// The value of an expression, given those of the parameters.
    pub(crate) fn eval(&self, p: &Poly, param: &dyn Fn(&str) -> Option<i128>) -> Option<i128> {
        p.eval(&mut |atom| self.value(atom, param))
    }
}
