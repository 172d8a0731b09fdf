//! Linear inequalities over the integers, by Fourier-Motzkin elimination.
//!
//! Systems are tiny: a few sizes, a few conditions. Elimination is over the rationals with the
//! constants rounded, so "no" is certain, and "yes" is confirmed by a point.

use std::collections::BTreeMap;

use super::poly::{Poly, gcd};
use super::space::Atom;

/// Beyond so many inequalities nothing is said.
const MAX_INEQUALITIES: usize = 120;

/// Inequalities `p >= 0`, by the coefficients of their atoms; of parallel ones the sharpest.
#[derive(Clone, Debug, Default)]
pub(super) struct Inequalities {
    rows: BTreeMap<Vec<(Atom, i128)>, i128>,
    /// There is one that no integers satisfy.
    contradiction: bool,
    /// There were too many, or numbers too large.
    overflow: bool,
}

/// What is known about a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feasible {
    No,
    /// Over the rationals.
    Yes,
    Unknown,
}

impl Inequalities {
    pub(super) fn new(all: impl IntoIterator<Item = Poly>) -> Inequalities {
        let mut system = Inequalities::default();
        for p in all {
            system.add(&p);
        }
        system
    }

    /// Adds `p >= 0`; what is not linear is left out.
    pub(super) fn add(&mut self, p: &Poly) {
        let Some(mut terms) = p.linear_terms() else { return };
        let mut constant = p.constant_term();
        let divisor = terms.iter().fold(0, |g, (_, c)| gcd(g, *c));
        if divisor == 0 {
            self.contradiction |= constant < 0;
            return;
        }
        terms.iter_mut().for_each(|(_, c)| *c /= divisor);
        constant = constant.div_euclid(divisor);
        let row = self.rows.entry(terms).or_insert(constant);
        *row = (*row).min(constant);
        self.overflow |= self.rows.len() > MAX_INEQUALITIES;
    }

    /// Whether some integers satisfy all.
    pub(super) fn feasible(&self) -> Feasible {
        let mut system = self.clone();
        while let Some(atom) = system.next() {
            system = system.eliminate(atom);
        }
        match (system.contradiction, system.overflow) {
            (true, _) => Feasible::No,
            (false, true) => Feasible::Unknown,
            (false, false) => Feasible::Yes,
        }
    }

    /// Integers that satisfy all; `choose` picks one between bounds. `None` if it has bad luck.
    pub(super) fn point(
        &self,
        choose: &mut dyn FnMut(Atom, Option<i128>, Option<i128>) -> Option<i128>,
    ) -> Option<BTreeMap<Atom, i128>> {
        let (mut stages, mut system) = (Vec::new(), self.clone());
        while let Some(atom) = system.next() {
            let rest = system.eliminate(atom);
            stages.push((atom, std::mem::replace(&mut system, rest)));
        }
        if system.contradiction || system.overflow {
            return None;
        }
        let mut values = BTreeMap::new();
        for (atom, stage) in stages.into_iter().rev() {
            let (low, high) = stage.bounds(atom, &values)?;
            if low.zip(high).is_some_and(|(low, high)| low > high) {
                return None;
            }
            values.insert(atom, choose(atom, low, high)?);
        }
        Some(values)
    }

    /// The atom whose elimination makes the fewest inequalities.
    fn next(&self) -> Option<Atom> {
        if self.contradiction || self.overflow {
            return None;
        }
        let mut counts: BTreeMap<Atom, (usize, usize)> = BTreeMap::new();
        for (atom, c) in self.rows.keys().flatten() {
            let (below, above) = counts.entry(*atom).or_default();
            *(if *c > 0 { below } else { above }) += 1;
        }
        counts
            .into_iter()
            .min_by_key(|(_, (a, b))| (a * b) as isize - (a + b) as isize)
            .map(|e| e.0)
    }

    fn eliminate(&self, atom: Atom) -> Inequalities {
        let mut rest = Inequalities { overflow: self.overflow, ..Inequalities::default() };
        rest.contradiction = self.contradiction;
        let (mut below, mut above) = (Vec::new(), Vec::new());
        for (terms, constant) in &self.rows {
            let Some(row) = as_poly(terms, *constant) else {
                rest.overflow = true;
                continue;
            };
            match terms.iter().find(|(a, _)| *a == atom) {
                None => rest.add(&row),
                Some((_, c)) if *c > 0 => below.push((*c, row)),
                Some((_, c)) => above.push((-*c, row)),
            }
        }
        for (a, low) in &below {
            for (b, high) in &above {
                match low.scale(*b).and_then(|p| p.add_scaled(high, *a)) {
                    Some(p) => rest.add(&p),
                    None => rest.overflow = true,
                }
                if rest.overflow {
                    return rest;
                }
            }
        }
        rest
    }

    /// The least and the largest value of an atom, given those of the others.
    fn bounds(
        &self,
        atom: Atom,
        values: &BTreeMap<Atom, i128>,
    ) -> Option<(Option<i128>, Option<i128>)> {
        let (mut low, mut high) = (None::<i128>, None::<i128>);
        for (terms, constant) in &self.rows {
            let (mut own, mut rest) = (0, *constant);
            for (other, c) in terms {
                if *other == atom {
                    own = *c;
                } else {
                    rest = rest.checked_add(c.checked_mul(*values.get(other)?)?)?;
                }
            }
            // own * x + rest >= 0
            if own > 0 {
                let least = -rest.div_euclid(own);
                low = Some(low.map_or(least, |l| l.max(least)));
            } else if own < 0 {
                let most = rest.div_euclid(-own);
                high = Some(high.map_or(most, |h| h.min(most)));
            }
        }
        Some((low, high))
    }
}

fn as_poly(terms: &[(Atom, i128)], constant: i128) -> Option<Poly> {
    let mut p = Poly::constant(constant);
    for (atom, c) in terms {
        p.add_term(vec![*atom], *c)?;
    }
    Some(p)
}

#[cfg(test)]
mod tests {
    use super::super::space::Space;
    use super::*;

    /// Random systems in three variables, against all points of a box.
    #[test]
    fn verdicts_agree_with_all_points_of_a_box() {
        let mut space = Space::default();
        let atoms = ["x", "y", "z"].map(|name| space.param(&name.into()));
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut draw = |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % n) as i128
        };
        let (mut yes, mut no) = (0, 0);
        for _ in 0..2000 {
            let mut rows = Vec::new();
            for _ in 0..=draw(4) {
                let mut p = Poly::constant(draw(13) - 6);
                atoms.iter().for_each(|a| p.add_term(vec![*a], draw(7) - 3).unwrap());
                rows.push(p);
            }
            let bounded = |a: &Atom| {
                let low = Poly::atom(*a);
                let high = Poly::constant(5).sub(&low);
                [Some(low), high]
            };
            rows.extend(atoms.iter().flat_map(bounded).flatten());
            let holds = |x: i128, y: i128, z: i128| {
                let mut value = |atom| {
                    let at = atoms.iter().position(|a| *a == atom)?;
                    [x, y, z].get(at).copied()
                };
                rows.iter().all(|p| p.eval(&mut value).is_some_and(|v| v >= 0))
            };
            let any = (0..216).any(|k| holds(k % 6, k / 6 % 6, k / 36));
            let system = Inequalities::new(rows.iter().cloned());
            match system.feasible() {
                Feasible::No => {
                    assert!(!any);
                    no += 1;
                }
                Feasible::Yes | Feasible::Unknown => yes += 1,
            }
            if let Some(at) = system.point(&mut |_, low, high| low.or(high)) {
                assert!(holds(at[&atoms[0]], at[&atoms[1]], at[&atoms[2]]));
            }
        }
        assert!(yes > 200 && no > 200, "{yes} {no}");
    }
}
