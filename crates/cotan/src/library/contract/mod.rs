//! Sums of products of arrays: the core of `einsum` and of all matrix products.
//!
//! Every axis of an operand has a label. Axes with equal labels run together; what the result has
//! not is summed. Operands are taken from the left, two at a time, and what no later operand and not
//! the result needs is summed at once: so a product of matrices costs what it costs by hand.

mod einsum;
mod products;

use super::axes::{permuted, reshaped};
use crate::arr::Arr;
use crate::element::{Element, Number};
use crate::stage::emit;

pub use einsum::einsum;
pub(super) use products::not_square;
pub use products::tensordot;

/// The name of an index: a position in [`Labels`].
type Label = usize;

/// The sizes of all labels.
#[derive(Debug, Default)]
struct Labels(Vec<usize>);

impl Labels {
    fn fresh(&mut self, size: usize) -> Label {
        self.0.push(size);
        self.0.len() - 1
    }

    fn fresh_all(&mut self, sizes: &[usize]) -> Vec<Label> {
        sizes.iter().map(|&size| self.fresh(size)).collect()
    }

    fn size(&self, label: Label) -> usize {
        self.0.get(label).copied().unwrap_or(1)
    }
}

/// An array with a label for each axis, all different.
#[derive(Clone)]
struct Labelled<T> {
    x: Arr<T>,
    labels: Vec<Label>,
}

impl<T: Number> Labelled<T> {
    /// The array, with the axes `batch` (positions of its own) broadcast to the `common` labels: they
    /// are aligned at the last, and those of size 1 go where the common size is another.
    fn broadcast(
        x: Arr<T>,
        own: Vec<Option<Label>>,
        batch: std::ops::Range<usize>,
        common: &[Label],
        all: &Labels,
    ) -> Labelled<T> {
        let sizes = x.shape();
        let missing = common.len().saturating_sub(batch.len());
        let mut labels = Vec::with_capacity(sizes.len());
        let mut kept = Vec::with_capacity(sizes.len());
        for (axis, &size) in sizes.iter().enumerate() {
            let label = match own.get(axis).copied().flatten() {
                Some(label) => Some(label),
                None => {
                    let common = common.get(missing + axis.saturating_sub(batch.start)).copied();
                    common.filter(|&label| all.size(label) == size)
                }
            };
            if let Some(label) = label {
                labels.push(label);
                kept.push(size);
            }
        }
        Labelled { x: reshaped(x, &kept), labels }
    }

    /// Sums what `keep` does not hold.
    fn summed(self, keep: impl Fn(Label) -> bool) -> Labelled<T> {
        let gone: Vec<usize> = (0..self.labels.len())
            .filter(|&k| !self.labels.get(k).is_some_and(|&l| keep(l)))
            .collect();
        if gone.is_empty() {
            return self;
        }
        let rest = (0..self.labels.len()).filter(|k| !gone.contains(k));
        let order: Vec<usize> = gone.iter().copied().chain(rest).collect();
        let labels = self.labels.iter().copied().filter(|&label| keep(label)).collect();
        Labelled { x: sum_outer(permuted(self.x, &order), gone.len()), labels }
    }

    /// The array spread over the labels of a larger space.
    fn spread(&self, space: &[Label], all: &Labels) -> Arr<T> {
        let place = |label: &Label| space.iter().position(|other| other == label).unwrap_or(0);
        let places: Vec<usize> = self.labels.iter().map(place).collect();
        let sizes: Vec<usize> = space.iter().map(|&label| all.size(label)).collect();
        Arr::from_raw(emit("spread", &[self.x.raw], |b, ts| b.spread(ts[0], &places, &sizes)))
    }
}

fn sum_outer<T: Number>(x: Arr<T>, axes: usize) -> Arr<T> {
    Arr::from_raw(emit("sum", &[x.raw], |b, ts| (0..axes).try_fold(ts[0], |t, _| b.sum_outer(t))))
}

/// The product of the operands, summed over all labels but those of the result, in their order.
/// Every label of the result is one of an operand.
fn contract<T: Number>(operands: Vec<Labelled<T>>, out: &[Label], all: &Labels) -> Arr<T> {
    // The last operand that has each label.
    let mut last = vec![0; all.0.len()];
    for (n, operand) in operands.iter().enumerate() {
        for &label in &operand.labels {
            if let Some(last) = last.get_mut(label) {
                *last = n;
            }
        }
    }
    let count = operands.len();
    let mut product: Option<Labelled<T>> = None;
    for (n, operand) in operands.into_iter().enumerate() {
        let later =
            |label: Label| out.contains(&label) || last.get(label).is_some_and(|&last| last > n);
        product = Some(match product {
            None => operand.summed(later),
            Some(product) => {
                let product_labels = product.labels.clone();
                let operand =
                    operand.summed(|label| later(label) || product_labels.contains(&label));
                multiply(&product, &operand, later, (n + 1 == count).then_some(out), all)
            }
        });
    }
    let Some(product) = product else { return Arr::nothing() };
    let place = |label: &Label| product.labels.iter().position(|other| other == label);
    permuted(product.x, &out.iter().filter_map(place).collect::<Vec<_>>())
}

/// The product of two, summed over what is not needed later; in the order of `out` if that is
/// given.
fn multiply<T: Number>(
    a: &Labelled<T>,
    b: &Labelled<T>,
    later: impl Fn(Label) -> bool,
    out: Option<&[Label]>,
    all: &Labels,
) -> Labelled<T> {
    let of_b = b.labels.iter().filter(|label| !a.labels.contains(label));
    let both: Vec<Label> = a.labels.iter().chain(of_b).copied().collect();
    let gone = both.iter().copied().filter(|&label| !later(label));
    let kept: Vec<Label> = match out {
        Some(out) => out.to_vec(),
        None => both.iter().copied().filter(|&label| later(label)).collect(),
    };
    let space: Vec<Label> = gone.chain(kept.iter().copied()).collect();
    let product = a.spread(&space, all) * b.spread(&space, all);
    Labelled { x: sum_outer(product, space.len() - kept.len()), labels: kept }
}

/// The array read along the diagonals of axes with equal labels.
fn diagonal<T: Element>(x: Arr<T>, labels: &[Label], all: &Labels) -> (Arr<T>, Vec<Label>) {
    let mut distinct: Vec<Label> = Vec::with_capacity(labels.len());
    for &label in labels {
        if !distinct.contains(&label) {
            distinct.push(label);
        }
    }
    if distinct.len() == labels.len() {
        return (x, distinct);
    }
    let sizes: Vec<usize> = distinct.iter().map(|&label| all.size(label)).collect();
    let read = Arr::from_raw(emit("diagonal", &[x.raw], |b, ts| {
        let region = b.index_function(&sizes, |_, is| {
            let at = |label: &Label| distinct.iter().position(|other| other == label);
            Ok(labels.iter().filter_map(at).filter_map(|k| is.get(k).copied()).collect())
        })?;
        b.gather(ts[0], region)
    }));
    (read, distinct)
}
