//! Affine index functions: $c_0 + \sum_k a_k i_k + \sum_r b_r p_r + \sum_n c_n x_n$ over the variables
//! $i$ of a scatter, the positions $p$ of its result, and terms $x$ that depend on neither.
//!
//! Arithmetic on `i64` wraps, so it is arithmetic in a ring, and everything here is exact.

use cotan_ir::scalar::Op;
use cotan_ir::{Arena, RegionId, Result, TermId};
use smallvec::SmallVec;

use crate::pass::Opt;

/// An affine form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScatterForm {
    /// The coefficients of the variables.
    pub vars: SmallVec<[i64; 4]>,
    /// The coefficients of the positions.
    pub positions: SmallVec<[i64; 4]>,
    /// Other terms with their coefficients.
    pub others: SmallVec<[(TermId, i64); 2]>,
    pub constant: i64,
}

impl ScatterForm {
    pub fn zero(vars: usize, positions: usize) -> ScatterForm {
        ScatterForm {
            vars: SmallVec::from_elem(0, vars),
            positions: SmallVec::from_elem(0, positions),
            others: SmallVec::new(),
            constant: 0,
        }
    }

    /// Adds $c\,f$.
    pub fn add(&mut self, f: &ScatterForm, c: i64) {
        for (x, &y) in self.vars.iter_mut().zip(&f.vars) {
            *x = x.wrapping_add(c.wrapping_mul(y));
        }
        for (x, &y) in self.positions.iter_mut().zip(&f.positions) {
            *x = x.wrapping_add(c.wrapping_mul(y));
        }
        for &(t, y) in &f.others {
            self.add_other(t, c.wrapping_mul(y));
        }
        self.constant = self.constant.wrapping_add(c.wrapping_mul(f.constant));
    }

    fn add_other(&mut self, t: TermId, c: i64) {
        match self.others.iter_mut().find(|(u, _)| *u == t) {
            Some((_, x)) => *x = x.wrapping_add(c),
            None => self.others.push((t, c)),
        }
        self.others.retain(|(_, x)| *x != 0);
    }

    /// Puts an affine form in place of a variable.
    pub fn substitute(&mut self, k: usize, f: &ScatterForm) {
        let c = std::mem::take(&mut self.vars[k]);
        if c != 0 {
            self.add(f, c);
        }
    }

    /// Whether the form is 0.
    pub fn is_zero(&self) -> bool {
        let none = |cs: &[i64]| cs.iter().all(|&c| c == 0);
        self.constant == 0 && self.others.is_empty() && none(&self.vars) && none(&self.positions)
    }

    /// The only variable, if the form is nothing else.
    pub fn only_var(&self) -> Option<usize> {
        if self.constant != 0 || !self.others.is_empty() || self.positions.iter().any(|&c| c != 0) {
            return None;
        }
        let k = self.vars.iter().position(|&c| c != 0)?;
        let alone = self.vars[k] == 1 && self.vars.iter().skip(k + 1).all(|&c| c == 0);
        alone.then_some(k)
    }
}

/// The affine forms of the results of an index function; none for those that are not affine.
pub(crate) fn forms(arena: &Arena, r: RegionId, positions: usize) -> Vec<Option<ScatterForm>> {
    let region = arena.region(r);
    let vars = region.params().len();
    region.results().iter().map(|&t| form(arena, region.level(), vars, positions, t)).collect()
}

/// The affine forms of terms over the variables of an index function.
pub(crate) fn forms_of(arena: &Arena, r: RegionId, ts: &[TermId]) -> Vec<Option<ScatterForm>> {
    let region = arena.region(r);
    let vars = region.params().len();
    ts.iter().map(|&t| form(arena, region.level(), vars, 0, t)).collect()
}

fn form(
    arena: &Arena,
    level: u8,
    vars: usize,
    positions: usize,
    root: TermId,
) -> Option<ScatterForm> {
    let (of_vars, rest) = arena.affine(level, vars, root)?;
    let (vars, constant) = (of_vars.coeffs, of_vars.constant);
    Some(ScatterForm { vars, constant, others: rest.terms, ..ScatterForm::zero(0, positions) })
}

impl Opt<'_> {
    /// The scalar term of a form: positive summands, then negative ones, then the constant.
    pub(crate) fn form_term(
        &mut self,
        form: &ScatterForm,
        vars: &[TermId],
        positions: &[TermId],
    ) -> Result<TermId> {
        let all: Vec<(TermId, i64)> = positions
            .iter()
            .copied()
            .zip(form.positions.iter().copied())
            .chain(vars.iter().copied().zip(form.vars.iter().copied()))
            .chain(form.others.iter().copied())
            .filter(|&(_, c)| c != 0)
            .collect();
        self.weighted_sum(&all, form.constant, &[])
    }

    /// $c_0 + \sum_n c_n t_n$ over arrays of the given sizes.
    pub(crate) fn weighted_sum(
        &mut self,
        summands: &[(TermId, i64)],
        constant: i64,
        dims: &[usize],
    ) -> Result<TermId> {
        let mut sum: Option<TermId> = None;
        let (first, then): (Vec<_>, Vec<_>) = summands.iter().copied().partition(|&(_, c)| c > 0);
        if first.is_empty() {
            sum = Some(self.integers(constant, dims)?);
        }
        for (t, c) in first.iter().chain(&then).copied() {
            let part = match c.wrapping_abs() {
                1 => t,
                size => {
                    let size = self.integers(size, dims)?;
                    self.op(Op::Mul, &[t, size])?
                }
            };
            sum = Some(match sum {
                Some(sum) => self.op(if c > 0 { Op::Add } else { Op::Sub }, &[sum, part])?,
                None => part,
            });
        }
        match sum {
            Some(sum) if !first.is_empty() && constant != 0 => {
                let op = if constant < 0 { Op::Sub } else { Op::Add };
                let constant = self.integers(constant.wrapping_abs(), dims)?;
                self.op(op, &[sum, constant])
            }
            Some(sum) => Ok(sum),
            None => self.integers(constant, dims),
        }
    }

    fn integers(&mut self, x: i64, dims: &[usize]) -> Result<TermId> {
        let x = self.b.scalar(x)?;
        self.fill(x, dims)
    }
}
