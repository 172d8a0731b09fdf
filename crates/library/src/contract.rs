//! Sums of products of arrays: the core of `einsum` and of all matrix products.
//!
//! Every axis of an operand has a label. Axes with equal labels run together; what the result has
//! not is summed. Operands are taken from the left, two at a time, and what no later operand and not
//! the result needs is summed at once: so a product of matrices costs what it costs by hand.

use cotan_ir::broadcast_dims;

use crate::context::Context;
use crate::term::Term;

/// The name of an axis.
pub(crate) type Label = usize;

/// The sizes of all labels.
#[derive(Debug, Default)]
pub(crate) struct Labels(Vec<usize>);

impl Labels {
    pub(crate) fn fresh(&mut self, size: usize) -> Label {
        self.0.push(size);
        self.0.len() - 1
    }

    pub(crate) fn fresh_all(&mut self, sizes: &[usize]) -> Vec<Label> {
        sizes.iter().map(|&size| self.fresh(size)).collect()
    }

    pub(crate) fn size(&self, label: Label) -> usize {
        self.0.get(label).copied().unwrap_or(1)
    }
}

/// An array whose axes have labels.
#[derive(Clone)]
pub(crate) struct Labelled<'c> {
    pub(crate) x: Term<'c>,
    pub(crate) labels: Vec<Label>,
}

impl<'c> Labelled<'c> {
    /// An operand whose axes in `batch` are broadcast to the labels in `common`, from the last back:
    /// axes of size 1 where the common size is another go.
    pub(crate) fn broadcast(
        x: Term<'c>,
        own: &[Option<Label>],
        batch: std::ops::Range<usize>,
        common: &[Label],
        all: &Labels,
    ) -> Labelled<'c> {
        let missing = common.len().saturating_sub(batch.len());
        let (mut labels, mut kept) = (Vec::new(), Vec::new());
        for (axis, size) in x.dims().into_iter().enumerate() {
            let label = own.get(axis).copied().flatten().or_else(|| {
                let common = common.get(missing + axis.saturating_sub(batch.start)).copied();
                common.filter(|&label| all.size(label) == size)
            });
            if let Some(label) = label {
                labels.push(label);
                kept.push(size);
            }
        }
        Labelled { x: x.reshape(&kept), labels }
    }

    /// Its diagonal along axes of one label.
    pub(crate) fn diagonal(self, all: &Labels) -> Labelled<'c> {
        let mut distinct: Vec<Label> = Vec::with_capacity(self.labels.len());
        for &label in &self.labels {
            if !distinct.contains(&label) {
                distinct.push(label);
            }
        }
        if distinct.len() == self.labels.len() {
            return self;
        }
        let sizes: Vec<usize> = distinct.iter().map(|&label| all.size(label)).collect();
        let x = self.x.gather(&sizes, |is| {
            let at = |label: &Label| distinct.iter().position(|other| other == label);
            self.labels.iter().filter_map(at).filter_map(|k| is.get(k).copied()).collect()
        });
        Labelled { x, labels: distinct }
    }

    fn summed(self, keep: impl Fn(Label) -> bool) -> Labelled<'c> {
        let (rest, gone): (Vec<usize>, Vec<usize>) =
            (0..self.labels.len()).partition(|&k| keep(self.labels[k]));
        if gone.is_empty() {
            return self;
        }
        let order = [&gone[..], &rest].concat();
        let labels = self.labels.iter().copied().filter(|&label| keep(label)).collect();
        Labelled { x: self.x.permute(&order).sum_outer(gone.len()), labels }
    }

    fn spread(&self, space: &[Label], all: &Labels) -> Term<'c> {
        let place = |label: &Label| space.iter().position(|other| other == label).unwrap_or(0);
        let places: Vec<usize> = self.labels.iter().map(place).collect();
        let sizes: Vec<usize> = space.iter().map(|&label| all.size(label)).collect();
        self.x.spread(&places, &sizes)
    }
}

/// The sum of products that has the labels `out`, in this order.
pub(crate) fn contract<'c>(
    c: &'c Context,
    operands: Vec<Labelled<'c>>,
    out: &[Label],
    all: &Labels,
) -> Term<'c> {
    // The last operand that has each label.
    let mut last = vec![0; all.0.len()];
    for (n, operand) in operands.iter().enumerate() {
        for &label in &operand.labels {
            last[label] = n;
        }
    }
    let count = operands.len();
    let mut product: Option<Labelled<'c>> = None;
    for (n, operand) in operands.into_iter().enumerate() {
        let later = |label: Label| out.contains(&label) || last[label] > n;
        product = Some(match product {
            None => operand.summed(later),
            Some(product) => {
                let operand =
                    operand.summed(|label| later(label) || product.labels.contains(&label));
                multiply(&product, &operand, later, (n + 1 == count).then_some(out), all)
            }
        });
    }
    let Some(product) = product else { return c.wrong("there are no arrays", "") };
    let place = |label: &Label| product.labels.iter().position(|other| other == label);
    product.x.permute(&out.iter().filter_map(place).collect::<Vec<_>>())
}

fn multiply<'c>(
    a: &Labelled<'c>,
    b: &Labelled<'c>,
    later: impl Fn(Label) -> bool,
    out: Option<&[Label]>,
    all: &Labels,
) -> Labelled<'c> {
    let of_b = b.labels.iter().filter(|label| !a.labels.contains(label));
    let both: Vec<Label> = a.labels.iter().chain(of_b).copied().collect();
    let gone = both.iter().copied().filter(|&label| !later(label));
    let kept: Vec<Label> = match out {
        Some(out) => out.to_vec(),
        None => both.iter().copied().filter(|&label| later(label)).collect(),
    };
    let space: Vec<Label> = gone.chain(kept.iter().copied()).collect();
    let product = a.spread(&space, all) * b.spread(&space, all);
    Labelled { x: product.sum_outer(space.len() - kept.len()), labels: kept }
}

/// A product of two operands whose last axes have labels, and whose leading ones are broadcast;
/// `None` where these do not fit.
pub(crate) fn batched<'c>(
    (a, a_own): (Term<'c>, &[Label]),
    (b, b_own): (Term<'c>, &[Label]),
    out: &[Label],
    mut all: Labels,
) -> Option<Term<'c>> {
    let leading = |x: Term<'c>, own: &[Label]| {
        let mut dims = x.dims();
        dims.truncate(dims.len().saturating_sub(own.len()));
        dims
    };
    let (a_leading, b_leading) = (leading(a, a_own), leading(b, b_own));
    let common = all.fresh_all(&broadcast_dims(&a_leading, &b_leading)?);
    let labelled = |x: Term<'c>, batch: usize, own: &[Label]| {
        let labels: Vec<Option<Label>> =
            (0..batch).map(|_| None).chain(own.iter().copied().map(Some)).collect();
        Labelled::broadcast(x, &labels, 0..batch, &common, &all)
    };
    let operands = vec![labelled(a, a_leading.len(), a_own), labelled(b, b_leading.len(), b_own)];
    let out: Vec<Label> = common.iter().chain(out).copied().collect();
    Some(contract(a.context(), operands, &out, &all))
}
