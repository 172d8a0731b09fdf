//! Index functions that are affine, and what they read or write along each axis.

use cotan_ir::scalar::Op;
use cotan_ir::{Node, Param, Program, RegionId, TermId};

/// Terms of more summands and factors are not taken apart.
const MAX_STEPS: usize = 64;

/// $c + \sum_k a_k i_k$ over the variables of an index function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub factors: Vec<i64>,
    pub constant: i64,
}

/// The forms of the components of an index function, if all are affine and cannot wrap.
pub(crate) fn forms(program: &Program, r: RegionId) -> Option<Vec<Form>> {
    forms_of(program, r, program.region(r).results())
}

/// The forms of terms over the variables of an index function, alike.
pub(crate) fn forms_of(program: &Program, r: RegionId, terms: &[TermId]) -> Option<Vec<Form>> {
    let region = program.region(r);
    let sizes = program.index_sizes(r);
    let form = |&t: &TermId| {
        form(program, region.level(), sizes.len(), t).filter(|form| form.is_small(&sizes))
    };
    terms.iter().map(form).collect()
}

fn form(program: &Program, level: u8, count: usize, root: TermId) -> Option<Form> {
    let mut form = Form { factors: vec![0; count], constant: 0 };
    let mut stack = vec![(root, 1i64)];
    for _ in 0..MAX_STEPS {
        let Some((t, c)) = stack.pop() else { return Some(form) };
        match program.node(t) {
            Node::Const(x) => {
                let x: i64 = x.item()?;
                form.constant = form.constant.checked_add(c.checked_mul(x)?)?;
            }
            Node::Var { level: at, position, param }
                if *at == level
                    && let Param::Index(size) = &**param =>
            {
                // A variable of one value is 0.
                if *size != 1 {
                    let factor = form.factors.get_mut(*position as usize)?;
                    *factor = factor.checked_add(c)?;
                }
            }
            Node::Op(Op::Add, args) => stack.extend(args.iter().map(|&u| (u, c))),
            Node::Op(Op::Sub, args) => {
                stack.extend([(args[0], c), (args[1], c.checked_neg()?)]);
            }
            Node::Op(Op::Neg, args) => stack.push((args[0], c.checked_neg()?)),
            Node::Op(Op::Mul, args) => {
                let integer = |t: TermId| match program.node(t) {
                    Node::Const(x) => x.item::<i64>(),
                    _ => None,
                };
                let (t, x) = match (integer(args[0]), integer(args[1])) {
                    (Some(x), _) => (args[1], x),
                    (_, Some(x)) => (args[0], x),
                    _ => return None,
                };
                stack.push((t, c.checked_mul(x)?));
            }
            _ => return None,
        }
    }
    None
}

impl Form {
    /// Whether no position overflows, nor any that differs by the size of an array.
    fn is_small(&self, sizes: &[usize]) -> bool {
        let reach = |(&c, &k): (&i64, &usize)| i128::from(c).abs() * k as i128;
        let parts = self.factors.iter().zip(sizes).map(reach);
        parts.sum::<i128>() + i128::from(self.constant).abs() < 1 << 60
    }

    /// The variables it depends on.
    pub fn vars(&self) -> impl Iterator<Item = usize> + '_ {
        self.factors.iter().enumerate().filter(|(_, c)| **c != 0).map(|(k, _)| k)
    }

    /// The same with a number in place of a variable.
    pub fn at(&self, var: usize, value: usize) -> Form {
        let mut form = self.clone();
        let c = std::mem::take(&mut form.factors[var]);
        form.constant += c * value as i64;
        form
    }
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
pub(crate) fn axes(forms: &[Form]) -> Option<Vec<Axis>> {
    let mut used: Vec<usize> = Vec::new();
    let axis = |form: &Form| {
        let mut vars = form.vars();
        let Some(var) = vars.next() else { return Some(Axis::Fixed(form.constant)) };
        if vars.next().is_some() || used.contains(&var) {
            return None;
        }
        used.push(var);
        Some(Axis::Moves { var, step: form.factors[var], start: form.constant })
    };
    forms.iter().map(axis).collect()
}

/// A component that is the position in row-major order within several variables, as reshaping makes
/// it, becomes these variables, each a component of its own. Gives the sizes of the axes that the
/// array has then, and their forms.
pub(crate) fn split(forms: &[Form], dims: &[usize], sizes: &[usize]) -> (Vec<Form>, Vec<usize>) {
    let (mut parts, mut shape) = (Vec::new(), Vec::new());
    for (form, &size) in forms.iter().zip(dims) {
        match radix(form, size, sizes) {
            Some(vars) => {
                for var in vars {
                    let mut factors = vec![0; sizes.len()];
                    factors[var] = 1;
                    parts.push(Form { factors, constant: 0 });
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
fn radix(form: &Form, size: usize, sizes: &[usize]) -> Option<Vec<usize>> {
    let mut vars: Vec<usize> = form.vars().collect();
    if vars.len() < 2 || form.constant != 0 {
        return None;
    }
    vars.sort_by_key(|&k| std::cmp::Reverse(form.factors[k]));
    let mut stride = 1i64;
    for &k in vars.iter().rev() {
        if form.factors[k] != stride {
            return None;
        }
        stride = stride.checked_mul(i64::try_from(sizes[k]).ok()?)?;
    }
    (usize::try_from(stride) == Ok(size)).then_some(vars)
}

/// Windows of up to so many positions are read or written one position at a time.
const MAX_WINDOW: usize = 64;

/// A variable to try all values of, so that the index function falls apart into simpler ones: one
/// that shares a component with another, and the shortest of these.
pub(crate) fn window(forms: &[Form], sizes: &[usize]) -> Option<usize> {
    let shared = forms.iter().filter(|form| form.vars().count() > 1);
    let vars: Vec<usize> = shared.flat_map(Form::vars).collect();
    let shortest = vars.into_iter().min_by_key(|&k| sizes[k])?;
    (sizes[shortest] <= MAX_WINDOW).then_some(shortest)
}

/// Whether trying all values of windows makes index functions of axes that depend on one variable
/// each, and not too many of them.
pub(crate) fn falls_apart(forms: &[Form], sizes: &[usize]) -> bool {
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
