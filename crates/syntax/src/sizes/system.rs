//! Conditions on sizes: linear equations and inequalities over the integers.

use std::collections::{BTreeMap, BTreeSet};

use super::inequalities::{Feasible, Inequalities};
use super::poly::Poly;
use super::space::{Atom, Meaning, Space};

/// A condition on sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// `p = 0`
    Zero(Poly),
    /// `p >= 0`
    NotNegative(Poly),
}

impl Condition {
    /// `a = b`
    pub(crate) fn equal(a: &Poly, b: &Poly) -> Option<Condition> {
        a.sub(b).map(Condition::Zero)
    }

    /// `a >= b`
    pub(crate) fn at_least(a: &Poly, b: &Poly) -> Option<Condition> {
        a.sub(b).map(Condition::NotNegative)
    }

    /// Conditions of which one holds if and only if this does not.
    pub(crate) fn negations(&self) -> Option<Vec<Condition>> {
        let minus_one = Poly::constant(-1);
        match self {
            Condition::Zero(p) => {
                let (above, below) = (p.add(&minus_one)?, p.scale(-1)?.add(&minus_one)?);
                Some(vec![Condition::NotNegative(above), Condition::NotNegative(below)])
            }
            Condition::NotNegative(p) => {
                Some(vec![Condition::NotNegative(p.scale(-1)?.add(&minus_one)?)])
            }
        }
    }

    /// This and its negations: exactly one holds.
    pub(crate) fn cases(&self) -> Option<Vec<Condition>> {
        let negations = self.negations()?;
        Some(std::iter::once(self.clone()).chain(negations).collect())
    }

    pub(crate) fn poly(&self) -> &Poly {
        match self {
            Condition::Zero(p) | Condition::NotNegative(p) => p,
        }
    }

    /// Whether it holds for these sizes.
    pub(crate) fn holds(&self, space: &Space, param: &dyn Fn(&str) -> Option<i128>) -> bool {
        match self {
            Condition::Zero(p) => space.eval(p, param) == Some(0),
            Condition::NotNegative(p) => space.eval(p, param).is_some_and(|v| v >= 0),
        }
    }
}

/// No integers satisfy the equations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contradiction;

/// Linear equations in solved form: some atoms are expressions of the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Equations {
    solved: BTreeMap<Atom, Poly>,
}

impl Equations {
    /// What an atom is, if the equations say more than itself.
    pub(crate) fn solution(&self, atom: Atom) -> Option<&Poly> {
        self.solved.get(&atom)
    }

    pub(crate) fn substitute(&self, p: &Poly) -> Option<Poly> {
        p.substitute(&mut |atom| {
            Some(self.solved.get(&atom).cloned().unwrap_or_else(|| Poly::atom(atom)))
        })
    }

    /// Adds `p = 0`. `Ok(false)` if it is not linear, or has numbers that are too large.
    ///
    /// An atom with coefficient 1 is solved for. Otherwise that with the least coefficient `a` is
    /// replaced by a new one, `t = x + (c // a) y + ..`, which leaves remainders below `a` at the
    /// others: Euclid's algorithm, on all coefficients at once.
    pub(crate) fn require_zero(
        &mut self,
        p: &Poly,
        space: &mut Space,
    ) -> Result<bool, Contradiction> {
        loop {
            let Some(p) = self.substitute(p) else { return Ok(false) };
            let Some(terms) = p.linear_terms() else { return Ok(false) };
            let Some((atom, a)) = terms
                .iter()
                .copied()
                .min_by_key(|(x, c)| (c.unsigned_abs(), std::cmp::Reverse(*x)))
            else {
                return if p.is_zero() { Ok(true) } else { Err(Contradiction) };
            };
            if p.constant_term().checked_rem(p.content()) != Some(0) {
                return Err(Contradiction);
            }
            let Some(p) = p.divide_exactly(p.content()) else { return Ok(false) };
            let a = a / p_content(&terms);
            let value = if a.abs() == 1 {
                // a x + rest = 0, so x = -a rest
                let mut rest = p;
                if rest.add_term(vec![atom], -a).is_none() {
                    return Ok(false);
                }
                rest.scale(-a)
            } else {
                let (mut value, scale) = (Poly::atom(space.free()), p_content(&terms));
                for (other, c) in &terms {
                    let quotient = (c / scale).div_euclid(a);
                    if *other != atom && value.add_term(vec![*other], -quotient).is_none() {
                        return Ok(false);
                    }
                }
                Some(value)
            };
            let done = a.abs() == 1;
            let Some(value) = value else { return Ok(false) };
            if !self.solve_for(atom, value) {
                return Ok(false);
            }
            if done {
                return Ok(true);
            }
        }
    }

    fn solve_for(&mut self, atom: Atom, value: Poly) -> bool {
        let mut put =
            |other: Atom| Some(if other == atom { value.clone() } else { Poly::atom(other) });
        let replaced: Option<BTreeMap<Atom, Poly>> =
            self.solved.iter().map(|(k, p)| Some((*k, p.substitute(&mut put)?))).collect();
        match replaced {
            Some(solved) => {
                self.solved = solved;
                self.solved.insert(atom, value);
                true
            }
            None => false,
        }
    }
}

fn p_content(terms: &[(Atom, i128)]) -> i128 {
    terms.iter().fold(0, |g, (_, c)| super::poly::gcd(g, *c))
}

/// How large the sizes of a sample are, where nothing else is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// So large and far apart that different expressions have different values.
    Generic,
    /// Small enough to compute with.
    Small,
}

/// Everything that is assumed of the sizes of a definition.
#[derive(Clone, Debug, Default)]
pub(crate) struct System {
    equations: Equations,
    /// Each at least 0.
    bounds: Vec<Poly>,
    /// What is not linear: only tried out.
    opaque: Vec<Condition>,
    /// The atoms whose meaning is part of the system.
    defined: BTreeSet<Atom>,
    contradiction: bool,
}

impl System {
    /// The atoms of an expression mean what they do.
    fn define(&mut self, p: &Poly, space: &mut Space) {
        let mut atoms: Vec<Atom> = p.terms().flat_map(|(factors, _)| factors.to_vec()).collect();
        while let Some(atom) = atoms.pop() {
            if !self.defined.insert(atom) {
                continue;
            }
            let (dividend, c) = match space.meaning(atom) {
                Some(Meaning::Param(_)) => {
                    self.bounds.push(Poly::atom(atom));
                    continue;
                }
                Some(Meaning::Quotient(p, c) | Meaning::Remainder(p, c)) => (p.clone(), *c),
                Some(Meaning::Free) | None => continue,
            };
            atoms.extend(dividend.terms().flat_map(|(factors, _)| factors.to_vec()));
            let Some((q, r)) = space.divide(&dividend, c) else { continue };
            let rest = q.scale(c).and_then(|p| p.add(&r)).and_then(|p| p.sub(&dividend));
            let below = Poly::constant(c - 1).sub(&r);
            self.bounds.push(r);
            self.bounds.extend(below);
            if let Some(rest) = rest {
                self.contradiction |= self.equations.require_zero(&rest, space).is_err();
            }
        }
    }

    /// Assumes a condition.
    pub(crate) fn assume(&mut self, condition: &Condition, space: &mut Space) {
        self.define(condition.poly(), space);
        match condition {
            Condition::Zero(p) => match self.equations.require_zero(p, space) {
                Ok(true) => {}
                Ok(false) => self.opaque.push(condition.clone()),
                Err(Contradiction) => self.contradiction = true,
            },
            Condition::NotNegative(p) => match self.equations.substitute(p) {
                Some(linear) if linear.linear_terms().is_some() => self.bounds.push(p.clone()),
                _ => self.opaque.push(condition.clone()),
            },
        }
    }

    /// The work of a question about it, more or less.
    pub(crate) fn effort(&self) -> usize {
        self.bounds.len().pow(2)
    }

    pub(crate) fn with(&self, conditions: &[Condition], space: &mut Space) -> System {
        let mut system = self.clone();
        conditions.iter().for_each(|condition| system.assume(condition, space));
        system
    }

    fn inequalities(&self) -> Inequalities {
        Inequalities::new(self.bounds.iter().filter_map(|p| self.equations.substitute(p)))
    }

    /// Whether certainly no sizes satisfy it.
    pub(crate) fn is_contradiction(&self) -> bool {
        self.contradiction || self.inequalities().feasible() == Feasible::No
    }

    /// Whether a condition certainly follows.
    pub(crate) fn implies(&self, condition: &Condition, space: &mut Space) -> bool {
        let mut system = self.clone();
        system.define(condition.poly(), space);
        if let Condition::Zero(p) = condition
            && system.equations.substitute(p).is_some_and(|p| p.is_zero())
        {
            return true;
        }
        if let Condition::NotNegative(p) = condition
            && (p.terms().all(|(factors, c)| c >= 0 && factors.iter().all(|a| space.is_size(*a)))
                || system.equations.substitute(p).is_some_and(|p| p.is_zero()))
        {
            return true;
        }
        let linear =
            |p: &Poly| system.equations.substitute(p).is_some_and(|p| p.linear_terms().is_some());
        let Some(otherwise) = condition.negations().filter(|_| linear(condition.poly())) else {
            return false;
        };
        otherwise.iter().all(|no| system.with(std::slice::from_ref(no), space).is_contradiction())
    }

    /// An expression with everything put in that is known about its sizes.
    pub(crate) fn reduce(&mut self, p: &Poly, space: &mut Space) -> Option<Poly> {
        self.define(p, space);
        self.equations.substitute(p)
    }

    /// Values of the parameters that satisfy everything, in general position.
    pub(crate) fn sample(
        &self,
        space: &Space,
        seed: u64,
        scale: Scale,
    ) -> Option<BTreeMap<Atom, i128>> {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let system = self.inequalities();
        let tries = if self.opaque.is_empty() { 8 } else { 400 };
        for attempt in 0..tries {
            // Equations that are not linear are met by chance, sooner among small numbers.
            let (base, width) = match (scale, self.opaque.is_empty(), space.params().count()) {
                (Scale::Generic, true, 0..=2) => (211, 600),
                (Scale::Generic, true, 3..=4) => (97, 300),
                (Scale::Generic, true, _) => (41, 120),
                (Scale::Generic, false, _) => (0, 4 + attempt / 20),
                (Scale::Small, ..) => (2, 5 + attempt / 20),
            };
            let mut choose = |_: Atom, low: Option<i128>, high: Option<i128>| {
                let wanted = base + random.below(width);
                Some(match (low, high) {
                    (Some(low), Some(high)) if wanted < low || wanted > high => {
                        low + random.below((high - low).min(width) + 1)
                    }
                    (Some(low), None) if wanted < low => low + random.below(width),
                    (None, Some(high)) if wanted > high => high - random.below(width),
                    _ => wanted,
                })
            };
            let Some(mut free) = system.point(&mut choose) else { continue };
            let mut values = BTreeMap::new();
            for (atom, _) in space.params() {
                let p = self.equations.solution(atom).cloned().unwrap_or_else(|| Poly::atom(atom));
                let value = p.eval(&mut |a| {
                    Some(*free.entry(a).or_insert_with(|| base + random.below(width)))
                });
                values.extend(value.map(|v| (atom, v)));
            }
            let of = |name: &str| {
                let (atom, _) = space.params().find(|(_, known)| &***known == name)?;
                values.get(&atom).copied()
            };
            let good = self.opaque.iter().all(|condition| condition.holds(space, &of));
            if good && values.len() == space.params().count() && values.values().all(|v| *v >= 0) {
                return Some(values);
            }
        }
        None
    }
}

/// Xorshift: any numbers will do that are in no relation.
struct Random(u64);

impl Random {
    fn below(&mut self, n: i128) -> i128 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        i128::from(self.0 >> 11) % n.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linear(space: &mut Space, terms: &[(&str, i128)], constant: i128) -> Poly {
        let mut p = Poly::constant(constant);
        for (name, c) in terms {
            let atom = space.param(&(*name).into());
            p.add_term(vec![atom], *c).unwrap();
        }
        p
    }

    #[test]
    fn equations_have_their_integer_solutions() {
        let mut space = Space::default();
        let mut system = System::default();
        // 6 a + 10 b = 15 c + 1 has solutions, 6 a + 10 b = 15 has none.
        let p = linear(&mut space, &[("a", 6), ("b", 10), ("c", -15)], -1);
        system.assume(&Condition::Zero(p.clone()), &mut space);
        assert!(!system.is_contradiction());
        let odd = linear(&mut space, &[("a", 6), ("b", 10)], -15);
        assert!(System::default().with(&[Condition::Zero(odd)], &mut space).is_contradiction());
        for seed in 0..20 {
            let at = system.sample(&space, seed, Scale::Generic).unwrap();
            let value = p.eval(&mut |atom| at.get(&atom).copied());
            assert_eq!(value, Some(0), "{at:?}");
        }
    }

    #[test]
    fn quotients_and_remainders_are_linear() {
        let mut space = Space::default();
        let d = linear(&mut space, &[("d", 1)], 0);
        let (q, r) = space.divide(&d, 8).unwrap();
        let whole = Condition::Zero(d.sub(&q.scale(8).unwrap()).unwrap());
        let mut system = System::default();
        assert!(!system.implies(&whole, &mut space));
        assert!(system.implies(&Condition::at_least(&d, &q).unwrap(), &mut space));
        assert!(!system.implies(&Condition::at_least(&q, &d).unwrap(), &mut space));
        system.assume(&Condition::Zero(r), &mut space);
        assert!(system.implies(&whole, &mut space));
        for seed in 0..20 {
            let at = system.sample(&space, seed, Scale::Generic).unwrap();
            assert!(at.values().all(|v| v % 8 == 0), "{at:?}");
        }
        // (d // 2) // 2 is d // 4.
        let (half, _) = space.divide(&d, 2).unwrap();
        assert_eq!(space.divide(&half, 2).unwrap().0, space.divide(&d, 4).unwrap().0);
    }
}
