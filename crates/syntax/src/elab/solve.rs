//! Sizes inside expressions: `[2 * h, w + 1]` against a shape is a system of linear equations.

use cotan_ir::Span;

use super::types::Size;
use super::unify::{SizeFact, Sizes, Waiting};
use super::{Elab, R};
use crate::ast::Name;
use crate::diagnostic::{Code, Diagnostic};
use crate::sizes::{Atom, Condition, Poly, Space};

/// More unknown sizes in one call are not solved for.
const MAX_UNKNOWN: usize = 64;

/// `terms = value`, where the terms are multiples of unknown sizes.
#[derive(Clone)]
struct Equation {
    terms: Vec<(Atom, i128)>,
    value: i128,
    /// The value as an expression of the sizes around, where these are followed.
    symbolic: Option<Poly>,
    /// The equations it is made of.
    from: Vec<usize>,
}

impl Equation {
    fn coefficient(&self, atom: Atom) -> i128 {
        self.terms.iter().find(|(a, _)| *a == atom).map_or(0, |(_, c)| *c)
    }

    /// `self` without `atom`, by means of an equation that has it.
    fn eliminate(&self, atom: Atom, pivot: &Equation) -> Option<Equation> {
        let (own, other) = (self.coefficient(atom), pivot.coefficient(atom));
        let mut atoms: Vec<Atom> = self.terms.iter().chain(&pivot.terms).map(|(a, _)| *a).collect();
        atoms.sort_unstable();
        atoms.dedup();
        let mut terms = Vec::new();
        for a in atoms {
            let left = self.coefficient(a).checked_mul(other)?;
            let c = left.checked_sub(pivot.coefficient(a).checked_mul(own)?)?;
            terms.extend((c != 0).then_some((a, c)));
        }
        let left = self.value.checked_mul(other)?;
        let value = left.checked_sub(pivot.value.checked_mul(own)?)?;
        let symbolic = match (&self.symbolic, &pivot.symbolic) {
            (Some(a), Some(b)) => a.scale(other).and_then(|a| a.add_scaled(b, -own)),
            _ => None,
        };
        let mut from = [&self.from[..], &pivot.from[..]].concat();
        from.sort_unstable();
        from.dedup();
        Some(Equation { terms, value, symbolic, from })
    }
}

impl Elab<'_> {
    /// Finds the sizes that follow from those of arguments: all that are determined by linear
    /// equations. `other` gives the values of names that are not sizes.
    pub(super) fn solve_sizes(
        &mut self,
        sizes: &mut Sizes<'_>,
        other: &dyn Fn(&str) -> Option<i64>,
    ) -> R<()> {
        loop {
            let mut space = Space::default();
            let mut equations = Vec::new();
            for (n, wait) in sizes.waiting.iter().enumerate() {
                let value = |name: &str| sizes.get(name).or_else(|| other(name));
                let mut names = wait.size.names();
                let open = names.any(|name| value(name).is_none() && sizes.may_bind(name));
                if !open || space.params().count() > MAX_UNKNOWN {
                    continue;
                }
                let atoms: Vec<(Name, Atom)> = wait
                    .size
                    .names()
                    .filter(|name| value(name).is_none() && sizes.may_bind(name))
                    .map(|name| (name.clone(), space.param(name)))
                    .collect();
                let term = |name: &str| match value(name) {
                    Some(k) => Some(Poly::constant(i128::from(k))),
                    None => {
                        let atom = atoms.iter().find(|(known, _)| &**known == name)?;
                        Some(Poly::atom(atom.1))
                    }
                };
                let mut scratch = Space::default();
                let Some(p) = wait.size.poly(term, &mut scratch) else { continue };
                let Some(terms) = p.linear_terms().filter(|_| scratch.is_empty()) else { continue };
                let value = wait.actual as i128 - p.constant_term();
                // What is known on the left side is a number here, and moves to the right.
                let symbolic = self.right_side(&wait.size, wait.actual, sizes, other);
                equations.push(Equation { terms, value, symbolic, from: vec![n] });
            }
            let solved = self.solve_equations(equations, &space, sizes)?;
            if solved == 0 {
                return Ok(());
            }
        }
    }

    /// The right side of an equation as an expression of the sizes around.
    fn right_side(
        &mut self,
        size: &Size,
        actual: usize,
        sizes: &Sizes<'_>,
        other: &dyn Fn(&str) -> Option<i64>,
    ) -> Option<Poly> {
        let trace = self.trace.as_mut()?;
        let actual = trace.of_size(actual)?;
        let known: Option<Vec<(Name, Poly)>> = size
            .names()
            .map(|name| {
                let p = match sizes.get(name).or_else(|| other(name)) {
                    Some(k) => trace.of(k)?,
                    None => Poly::default(),
                };
                Some((name.clone(), p))
            })
            .collect();
        let known = known?;
        let find =
            |name: &str| known.iter().find(|(known, _)| &**known == name).map(|(_, p)| p.clone());
        actual.sub(&size.poly(find, &mut trace.space)?)
    }

    fn solve_equations(
        &mut self,
        equations: Vec<Equation>,
        space: &Space,
        sizes: &mut Sizes<'_>,
    ) -> R<usize> {
        let mut pivots: Vec<(Atom, Equation)> = Vec::new();
        for mut equation in equations {
            for (atom, pivot) in &pivots {
                if equation.coefficient(*atom) != 0 {
                    match equation.eliminate(*atom, pivot) {
                        Some(reduced) => equation = reduced,
                        None => return Ok(0),
                    }
                }
            }
            let Some(&(atom, _)) = equation.terms.iter().min_by_key(|(_, c)| c.unsigned_abs())
            else {
                self.agrees(&equation, sizes)?;
                continue;
            };
            for (_, pivot) in &mut pivots {
                if pivot.coefficient(atom) != 0 {
                    match pivot.eliminate(atom, &equation) {
                        Some(reduced) => *pivot = reduced,
                        None => return Ok(0),
                    }
                }
            }
            pivots.push((atom, equation));
        }
        let mut solved = 0;
        for (atom, equation) in pivots {
            let (&[(_, c)], Some(name)) = (equation.terms.as_slice(), space.name(atom)) else {
                continue;
            };
            let value = self.quotient(&equation, c, name, sizes)?;
            let Some(wait) = equation.from.first().and_then(|n| sizes.waiting.get(*n)) else {
                continue;
            };
            let fact = SizeFact { value, span: wait.span, why: wait.why() };
            sizes.known.insert(name.clone(), fact);
            solved += 1;
        }
        Ok(solved)
    }

    /// An equation without unknowns must hold.
    fn agrees(&mut self, equation: &Equation, sizes: &Sizes<'_>) -> R<()> {
        if equation.value == 0 {
            return Ok(());
        }
        if self.trace.is_some() {
            let symbolic = equation.symbolic.clone();
            self.unless(|_| Some(vec![vec![Condition::Zero(symbolic?)]]));
        }
        Err(self.no_solution(equation, "no sizes satisfy", sizes))
    }

    /// The size in `c * size = value`.
    fn quotient(&mut self, equation: &Equation, c: i128, name: &Name, sizes: &Sizes<'_>) -> R<i64> {
        // Over `|c|`, with the sign on the value.
        let signed = |p: &Poly| p.scale(c.signum());
        let divided = match (&mut self.trace, &equation.symbolic) {
            (Some(trace), Some(p)) => signed(p).and_then(|p| trace.space.divide(&p, c.abs())),
            _ => None,
        };
        let value = equation.value.checked_rem(c).filter(|r| *r == 0).map(|_| equation.value / c);
        let size = value.and_then(|value| i64::try_from(value).ok());
        let conditions = |(q, r): (Poly, Poly)| vec![Condition::Zero(r), Condition::NotNegative(q)];
        let what = match size {
            Some(size) if size >= 0 => {
                if let Some((q, r)) = divided {
                    self.track(size as usize, |_| Some(q.clone()));
                    let all = conditions((q, r)).into_iter();
                    let open: Vec<Condition> =
                        all.filter(|l| l.poly().as_constant().is_none()).collect();
                    let error = self.unsolved(equation, "no sizes satisfy", sizes);
                    self.must_hold(|_| open, || error);
                } else {
                    self.track_unknown(size);
                }
                return Ok(size);
            }
            Some(negative) => format!("`{name}` would be {negative} by"),
            None => format!("there is no size `{name}` with"),
        };
        self.unless(|_| Some(vec![conditions(divided?)]));
        Err(self.no_solution(equation, &what, sizes))
    }

    fn no_solution(
        &mut self,
        equation: &Equation,
        what: &str,
        sizes: &Sizes<'_>,
    ) -> super::Reported {
        let diagnostic = self.unsolved(equation, what, sizes);
        self.report(diagnostic)
    }

    fn unsolved(&self, equation: &Equation, what: &str, sizes: &Sizes<'_>) -> Diagnostic {
        let waits: Vec<&Waiting> =
            equation.from.iter().filter_map(|n| sizes.waiting.get(*n)).collect();
        let equations: Vec<String> = waits.iter().map(|wait| wait.equation()).collect();
        let message = format!("{what} {}", equations.join(" and "));
        let last = waits.last();
        let mut diagnostic =
            Diagnostic::new(Code::SizeConflict, last.map_or(Span::NONE, |w| w.span), message);
        if let Some(wait) = last {
            diagnostic = diagnostic.label(wait.why());
        }
        for wait in &waits {
            if Some(wait.span) != last.map(|last| last.span) {
                diagnostic = diagnostic.also(wait.span, wait.why());
            }
            diagnostic = diagnostic.also(wait.size.span, "declared here");
        }
        diagnostic
    }
}
