//! What elaboration tells [`crate::sizes`] about the sizes it meets. Without a trace these do nothing.

use cotan_ir::Span;
use cotan_ir::scalar::{Op, Scalar};

use super::Elab;
use super::tree::TypeTree;
use super::value::{Known, Value};
use crate::diagnostic::{Code, Diagnostic};
use crate::sizes::{Condition, Event, Origin, Poly, Trace};

/// More ways out of an error are not looked at.
const MAX_OPTIONS: usize = 32;

impl Elab<'_> {
    /// A size as a static integer.
    pub(crate) fn size_known(&mut self, k: i64) -> Value {
        let origin = match &mut self.trace {
            Some(trace) => {
                let p = trace.of(k);
                trace.int(p)
            }
            None => Origin::Constant,
        };
        Value::Known(Known { origin, ..Known::new(Scalar::I64(k), true) })
    }

    /// A static integer is about to be used as a number.
    pub(crate) fn track_known(&mut self, known: Known, value: i64) {
        if let Some(trace) = &mut self.trace {
            let p = trace.poly(known.origin, value);
            trace.register(value, p);
        }
    }

    /// A number that is used as a static integer, and from which sizes it comes is not known.
    pub(crate) fn track_unknown(&mut self, value: i64) {
        if let Some(trace) = &mut self.trace {
            trace.register(value, None);
        }
    }

    /// A size that is an expression of others.
    pub(crate) fn track(&mut self, k: usize, expression: impl FnOnce(&mut Trace) -> Option<Poly>) {
        if let (Some(trace), Ok(k)) = (&mut self.trace, i64::try_from(k)) {
            let p = expression(trace);
            trace.register(k, p);
        }
    }

    /// A size that is the sum of others.
    pub(crate) fn track_sum(&mut self, parts: &[usize]) {
        let Some(total) = parts.iter().try_fold(0usize, |n, &k| n.checked_add(k)) else { return };
        self.track(total, |trace| {
            let mut sum = Poly::default();
            for &part in parts {
                sum = sum.add(&trace.of_size(part)?)?;
            }
            Some(sum)
        });
    }

    /// A size that is the product of others.
    pub(crate) fn track_product(&mut self, dims: &[usize]) {
        if let Some(count) = count(dims) {
            self.track(count, |trace| trace.product(dims));
        }
    }

    /// Sizes that are the same for all sizes of the arguments.
    pub(crate) fn track_constants(&mut self, dims: &[usize]) {
        for &k in dims {
            self.track(k, |_| Some(Poly::constant(k as i128)));
        }
    }

    /// A position that counts from the end of an axis.
    pub(crate) fn track_from_end(&mut self, bound: i64, k: usize) {
        if let Some(trace) = &mut self.trace {
            let p = trace.of_size(k).and_then(|p| p.add(&Poly::constant(i128::from(bound))));
            trace.register(bound.saturating_add(k as i64), p);
        }
    }

    /// There are at least as many elements as steps, which must hold for all sizes.
    pub(crate) fn must_be_at_most(&mut self, steps: usize, found: Option<usize>, place: Span) {
        let Some(found) = found.filter(|&found| steps <= found) else { return };
        self.must_not_be_negative(
            |trace| {
                vec![trace.of_size(found).zip(trace.of_size(steps)).and_then(|(f, s)| f.sub(&s))]
            },
            || {
                let message =
                    format!("{steps} steps are asked for, but the arrays have length {found}");
                Diagnostic::new(Code::SizeConflict, place, message)
            },
        );
    }

    /// The next error is one only as long as there are more steps than elements.
    pub(crate) fn unless_at_most(&mut self, steps: usize, found: usize) {
        self.unless(|trace| {
            let (found, steps) = (trace.of_size(found)?, trace.of_size(steps)?);
            Some(vec![vec![Condition::at_least(&found, &steps)?]])
        });
    }

    /// The origin of an operation on static values.
    pub(crate) fn origin(&mut self, op: Op, args: &[Known]) -> Origin {
        if args.iter().all(|known| known.origin == Origin::Constant) {
            return Origin::Constant;
        }
        let Some(trace) = &mut self.trace else { return Origin::Constant };
        let ints: Option<Vec<(Origin, i64)>> =
            args.iter().map(|k| Some((k.origin, k.value.as_i64()?))).collect();
        if let Some(ints) = ints {
            return trace.fold(op, &ints);
        }
        let flags: Option<Vec<(Origin, bool)>> = args
            .iter()
            .map(|k| match k.value {
                Scalar::Bool(flag) => Some((k.origin, flag)),
                _ => None,
            })
            .collect();
        flags.map_or(Origin::Unknown, |flags| trace.logic(op, &flags))
    }

    /// The program depends on a static truth value.
    pub(crate) fn decided(&mut self, known: Known) {
        if let Some(trace) = &mut self.trace {
            trace.decide(known.origin);
        }
    }

    // ---- conditions ---------------------------------------------------------------------------

    /// Each number is not negative, which must hold for all sizes.
    pub(crate) fn must_not_be_negative(
        &mut self,
        parts: impl FnOnce(&mut Trace) -> Vec<Option<Poly>>,
        error: impl FnOnce() -> Diagnostic,
    ) {
        let conditions = |p: Poly| p.as_constant().is_none().then_some(Condition::NotNegative(p));
        self.must_hold(
            |trace| parts(trace).into_iter().flatten().filter_map(conditions).collect(),
            error,
        );
    }

    /// Conditions that hold here must hold for all sizes.
    pub(crate) fn must_hold(
        &mut self,
        conditions: impl FnOnce(&mut Trace) -> Vec<Condition>,
        error: impl FnOnce() -> Diagnostic,
    ) {
        let Some(trace) = &mut self.trace else { return };
        let mut conditions = conditions(trace);
        conditions.retain(|condition| trace.is_new(condition));
        if conditions.is_empty() {
            return;
        }
        let error = self.with_calls(error());
        if let Some(trace) = &mut self.trace {
            for condition in conditions {
                trace.push(Event::Need(condition, Box::new(error.clone())));
            }
        }
    }

    /// The next error is one only as long as none of the options holds.
    pub(crate) fn unless(
        &mut self,
        options: impl FnOnce(&mut Trace) -> Option<Vec<Vec<Condition>>>,
    ) {
        if let Some(trace) = &mut self.trace {
            let options = options(trace);
            trace.unless(options);
        }
    }

    /// The next error is one only as long as some sizes differ.
    pub(crate) fn unless_equal(&mut self, pairs: &[(usize, usize)]) {
        self.unless(|trace| {
            let mut choices = Vec::new();
            for &(a, b) in pairs.iter().filter(|(a, b)| a != b) {
                let difference = trace.of_size(a)?.sub(&trace.of_size(b)?)?;
                choices.push(zeros(&difference));
            }
            combine(&choices)
        });
    }

    /// The next error is one only as long as shapes do not broadcast.
    pub(crate) fn unless_broadcast(&mut self, a: &[usize], b: &[usize]) {
        self.unless(|trace| {
            let (one, mut choices) = (Poly::constant(1), Vec::new());
            for (&j, &k) in a.iter().rev().zip(b.iter().rev()) {
                if j != k && j != 1 && k != 1 {
                    let (j, k) = (trace.of_size(j)?, trace.of_size(k)?);
                    choices.push(vec![
                        Condition::equal(&j, &k)?,
                        Condition::equal(&j, &one)?,
                        Condition::equal(&k, &one)?,
                    ]);
                }
            }
            combine(&choices)
        });
    }

    /// The next error is one only as long as the numbers of elements of two shapes differ.
    pub(crate) fn unless_as_many(&mut self, a: &[usize], b: &[usize]) {
        self.track_product(a);
        self.track_product(b);
        if count(a) != count(b) {
            self.unless(|trace| {
                let difference = trace.product(a)?.sub(&trace.product(b)?)?;
                combine(&[zeros(&difference)])
            });
        }
    }

    /// The next error is one only as long as a shape is not to be stretched to another.
    pub(crate) fn unless_stretches(&mut self, own: &[usize], to: &[usize]) {
        self.unless(|trace| {
            let (one, mut choices) = (Poly::constant(1), Vec::new());
            for (&j, &k) in own.iter().rev().zip(to.iter().rev()) {
                if j != k && j != 1 {
                    let (j, k) = (trace.of_size(j)?, trace.of_size(k)?);
                    choices.push(vec![Condition::equal(&j, &k)?, Condition::equal(&j, &one)?]);
                }
            }
            combine(&choices)
        });
    }

    /// The next error is one only as long as the sizes of arrays differ from those of a type; if
    /// more than sizes differs, for all sizes.
    pub(crate) fn unless_fits(&mut self, value: &Value, tree: &TypeTree) {
        if self.trace.is_some()
            && let Some(own) = self.tree_of(value)
        {
            let mut pairs = Vec::new();
            if paired(&own, tree, &mut pairs) {
                self.unless_equal(&pairs);
            }
        }
    }
}

impl Trace {
    /// The product of sizes.
    pub(crate) fn product(&self, dims: &[usize]) -> Option<Poly> {
        let mut product = Poly::constant(1);
        for &k in dims {
            product = product.mul(&self.of_size(k)?)?;
        }
        Some(product)
    }
}

/// The number of elements of a shape.
fn count(dims: &[usize]) -> Option<usize> {
    dims.iter().try_fold(1usize, |n, &k| n.checked_mul(k))
}

/// The ways for a polynomial to be 0: a factor is.
pub(crate) fn zeros(p: &Poly) -> Vec<Condition> {
    match p.common_factors() {
        Some((factors, rest)) => {
            let mut ways = vec![Condition::Zero(rest)];
            for atom in factors {
                let way = Condition::Zero(Poly::atom(atom));
                if !ways.contains(&way) {
                    ways.push(way);
                }
            }
            ways
        }
        None => vec![Condition::Zero(p.clone())],
    }
}

/// One way for each.
pub(crate) fn combine(choices: &[Vec<Condition>]) -> Option<Vec<Vec<Condition>>> {
    let mut all = vec![Vec::new()];
    for ways in choices {
        let extended = |done: &Vec<Condition>| -> Vec<Vec<Condition>> {
            ways.iter().map(|way| [&done[..], std::slice::from_ref(way)].concat()).collect()
        };
        all = all.iter().flat_map(extended).collect();
        if all.len() > MAX_OPTIONS {
            return None;
        }
    }
    Some(all)
}

/// The sizes of two types side by side, if nothing else differs.
fn paired(a: &TypeTree, b: &TypeTree, pairs: &mut Vec<(usize, usize)>) -> bool {
    match (a, b) {
        (TypeTree::Array(a), TypeTree::Array(b)) => {
            pairs.extend(a.shape.dims().iter().copied().zip(b.shape.dims().iter().copied()));
            a.dtype == b.dtype && a.shape.rank() == b.shape.rank()
        }
        (TypeTree::Tuple(a), TypeTree::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| paired(a, b, pairs))
        }
        (TypeTree::Record(a), TypeTree::Record(b)) => {
            let part = |(name, a): &(String, TypeTree)| {
                b.iter().find(|(other, _)| other == name).is_some_and(|(_, b)| paired(a, b, pairs))
            };
            a.len() == b.len() && a.iter().all(part)
        }
        _ => false,
    }
}
