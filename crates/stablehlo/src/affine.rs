//! Index functions that are affine, and what they read or write along each axis.

use cotan_ir::{Affine, Node, Program, RegionId, TermId};
use rustc_hash::FxHashSet;

/// The forms of the components of an index function, if all are affine and cannot wrap.
pub(crate) fn forms(program: &Program, r: RegionId) -> Option<Vec<Affine>> {
    forms_of(program, r, program.region(r).results())
}

/// The forms of terms over the variables of an index function, alike.
pub(crate) fn forms_of(program: &Program, r: RegionId, terms: &[TermId]) -> Option<Vec<Affine>> {
    let level = program.region(r).level();
    let sizes = program.index_sizes(r);
    let form = |&t: &TermId| {
        let (form, others) = program.affine(level, sizes.len(), t)?;
        (others.terms.is_empty() && is_small(&form, &sizes)).then_some(form)
    };
    terms.iter().map(form).collect()
}

/// Whether no position overflows, nor any that differs by the size of an array.
fn is_small(form: &Affine, sizes: &[usize]) -> bool {
    let reach = |(&c, &k): (&i64, &usize)| i128::from(c).abs() * k as i128;
    let parts = form.coeffs.iter().zip(sizes).map(reach);
    parts.sum::<i128>() + i128::from(form.constant).abs() < 1 << 60
}

/// What an affine index function does along one axis of the array it reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    /// One position.
    Fixed(i64),
    /// The position `start + step * i` for the variable `i`, which no other axis depends on.
    Moves { var: usize, step: i64, start: i64 },
}

/// The axes of an index function, if each depends on one variable at most and no variable is used
/// twice.
pub(crate) fn axes(forms: &[Affine]) -> Option<Vec<Axis>> {
    let mut used: Vec<usize> = Vec::new();
    let axis = |form: &Affine| {
        let mut vars = form.indices();
        let Some(var) = vars.next() else { return Some(Axis::Fixed(form.constant)) };
        if vars.next().is_some() || used.contains(&var) {
            return None;
        }
        used.push(var);
        Some(Axis::Moves { var, step: form.coeffs[var], start: form.constant })
    };
    forms.iter().map(axis).collect()
}

/// A component that is the position in row-major order within several variables, as reshaping makes
/// it, becomes these variables, each a component of its own. Gives the sizes of the axes that the
/// array has then, and their forms.
pub(crate) fn split(
    forms: &[Affine],
    dims: &[usize],
    sizes: &[usize],
) -> (Vec<Affine>, Vec<usize>) {
    let (mut parts, mut shape) = (Vec::new(), Vec::new());
    for (form, &size) in forms.iter().zip(dims) {
        match radix(form, size, sizes) {
            Some(vars) => {
                for var in vars {
                    parts.push(Affine::index(var, sizes.len()));
                    shape.push(sizes[var]);
                }
            }
            None => {
                parts.push(form.clone());
                shape.push(size);
            }
        }
    }
    (parts, shape)
}

/// The variables of a form that counts through `size` positions, outermost first.
fn radix(form: &Affine, size: usize, sizes: &[usize]) -> Option<Vec<usize>> {
    let mut vars: Vec<usize> = form.indices().collect();
    if vars.len() < 2 || form.constant != 0 {
        return None;
    }
    vars.sort_by_key(|&k| std::cmp::Reverse(form.coeffs[k]));
    let mut stride = 1i64;
    for &k in vars.iter().rev() {
        if form.coeffs[k] != stride {
            return None;
        }
        stride = stride.checked_mul(i64::try_from(sizes[k]).ok()?)?;
    }
    (usize::try_from(stride) == Ok(size)).then_some(vars)
}

/// How many of the last components of an index function are the last variables themselves, each along
/// the whole of its axis and nowhere else: whole sub-arrays are read or written then.
pub(crate) fn whole_axes(program: &Program, r: RegionId, dims: &[usize]) -> usize {
    let (region, sizes) = (program.region(r), program.index_sizes(r));
    let (results, level) = (region.results(), region.level());
    let is_var = |t: TermId, k: usize| {
        matches!(program.node(t), Node::Var { level: at, position, .. }
            if *at == level && *position as usize == k)
    };
    let most = results.len().min(sizes.len());
    let same = |n: &usize| {
        let (component, var) = (results.len() - n, sizes.len() - n);
        dims[component] == sizes[var] && is_var(results[component], var)
    };
    let count = (1..=most).take_while(same).count();
    // The others must not depend on these variables.
    let uses = |n: usize| {
        let var = sizes.len() - n;
        let others = &results[..results.len() - n];
        reaches(program, others, |t| is_var(t, var))
    };
    (1..=count).take_while(|&n| !uses(n)).count()
}

/// Whether a node that fulfils a condition is among terms or what they are made of.
fn reaches(program: &Program, terms: &[TermId], holds: impl Fn(TermId) -> bool) -> bool {
    let (mut stack, mut seen) = (terms.to_vec(), FxHashSet::default());
    while let Some(t) = stack.pop() {
        if holds(t) {
            return true;
        }
        if seen.insert(t) {
            program.node(t).for_each_operand(|u| stack.push(u));
        }
    }
    false
}

/// Windows of up to so many positions are read or written one position at a time.
const MAX_WINDOW: usize = 64;

/// A variable to try all values of, so that the index function falls apart into simpler ones: one
/// that shares a component with another, and the shortest of these.
fn window(forms: &[Affine], sizes: &[usize]) -> Option<usize> {
    let shared = forms.iter().filter(|form| form.indices().count() > 1);
    let vars: Vec<usize> = shared.flat_map(Affine::indices).collect();
    let shortest = vars.into_iter().min_by_key(|&k| sizes[k])?;
    (sizes[shortest] <= MAX_WINDOW).then_some(shortest)
}

/// Whether trying all values of windows makes index functions of axes that depend on one variable
/// each, and not too many of them.
fn falls_apart(forms: &[Affine], sizes: &[usize]) -> bool {
    let (mut forms, mut parts) = (forms.to_vec(), 1usize);
    while axes(&forms).is_none() {
        let Some(var) = window(&forms, sizes) else { return false };
        parts = parts.saturating_mul(sizes[var]);
        if parts > MAX_WINDOW {
            return false;
        }
        forms = forms.iter().map(|form| form.at(var, 0)).collect();
    }
    true
}

/// An index function with every value of one variable in its place.
pub(crate) struct Parts {
    /// The variable.
    pub var: usize,
    /// The sizes of the variables, with 1 in its place.
    pub sizes: Vec<usize>,
    /// The index function for each of its values.
    pub forms: Vec<Vec<Affine>>,
}

/// The parts of an index function of which these, or parts of these, are simple, if there are not too
/// many.
pub(crate) fn parts(forms: &[Affine], sizes: &[usize]) -> Option<Parts> {
    if !falls_apart(forms, sizes) {
        return None;
    }
    let var = window(forms, sizes)?;
    let at = |value: usize| forms.iter().map(|form| form.at(var, value)).collect();
    let forms = (0..sizes[var]).map(at).collect();
    let mut sizes = sizes.to_vec();
    sizes[var] = 1;
    Some(Parts { var, sizes, forms })
}
