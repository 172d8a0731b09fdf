//! Products of more than two arrays: the order in which they are multiplied.
//!
//! $\sum_b w_{vb} \sum_j p_{vj}\, m_{bkj}$ may be taken as it is written, or as the matrix product of
//! $m$ and all $w_{vb}\, p_{vj}$, which costs less where `k` is long. All orders of few arrays are
//! compared by a cost.

use cotan_ir::{Error, Result};

use crate::contract::{Factor, Product};
use crate::emit::Emitter;
use crate::product::{Factors, squeezed};
use crate::value::Val;

/// How many multiplications of a matrix product take as long as an element that is stored.
const MULTIPLICATIONS_PER_ELEMENT: usize = 8;

/// An array with the index that each of its axes goes along.
#[derive(Clone)]
struct Operand {
    value: Val,
    axes: Vec<usize>,
}

/// Which arrays are multiplied next, at positions among those that are left; the product is the last.
type Order = Vec<(usize, usize)>;

/// The sizes of the indices, and which of them the result has.
struct Indices {
    sizes: Vec<usize>,
    /// In the order of the axes of the result.
    kept: Vec<usize>,
}

impl Emitter<'_> {
    /// A product of several arrays in the cheapest order.
    pub(crate) fn reordered(&mut self, product: &Product) -> Result<Val> {
        let mut indices = Indices { sizes: vec![1; product.places.len()], kept: Vec::new() };
        let mut kept: Vec<usize> =
            (0..product.places.len()).filter(|&n| product.places[n].is_some()).collect();
        kept.sort_by_key(|&n| product.places[n]);
        indices.kept = kept;
        let outer: Vec<Option<usize>> = (0..product.places.len()).map(Some).collect();
        let mut operands = Vec::new();
        self.operands(product, &outer, &mut indices, &mut operands)?;
        let axes: Vec<Vec<usize>> = operands.iter().map(|x| x.axes.clone()).collect();
        let order = cheapest(&axes, &indices);
        for (n, &(i, j)) in order.iter().enumerate() {
            let (b, a) = (operands.remove(j), operands.remove(i));
            let last = n + 1 == order.len();
            let others: Vec<Vec<usize>> = operands.iter().map(|x| x.axes.clone()).collect();
            let axes = match last {
                true => indices.kept.clone(),
                false => remaining(&a.axes, &b.axes, &others, &indices),
            };
            let value = multiplied(self, &a, &b, &axes)?;
            operands.push(Operand { value, axes });
        }
        let only = operands.pop().ok_or_else(|| Error::internal("a product of nothing"))?;
        Ok(only.value)
    }

    /// The arrays of a product. `ids` are the indices of its axes; none of an axis of one position.
    fn operands(
        &mut self,
        product: &Product,
        ids: &[Option<usize>],
        indices: &mut Indices,
        found: &mut Vec<Operand>,
    ) -> Result<()> {
        for Factor { view, inner } in &product.factors {
            match inner {
                None => {
                    let value = self.value(view.base)?;
                    let (value, axes) = squeezed(&mut self.w, &value, &view.axes);
                    let mut own = vec![None; value.ty.rank()];
                    for (n, axis) in axes.iter().enumerate() {
                        if let Some(k) = axis {
                            own[*k] = ids[n];
                        }
                    }
                    // An axis of one position may have no index.
                    let kept: Vec<usize> = (0..own.len()).filter(|&k| own[k].is_some()).collect();
                    let dims: Vec<usize> = kept.iter().map(|&k| value.ty.dims[k]).collect();
                    let value = self.w.reshape(&value, &dims);
                    let axes: Vec<usize> = own.into_iter().flatten().collect();
                    for (&id, &size) in axes.iter().zip(&dims) {
                        indices.sizes[id] = size;
                    }
                    found.push(Operand { value, axes });
                }
                Some(inner) => {
                    let own: Vec<Option<usize>> = inner
                        .places
                        .iter()
                        .map(|place| match place {
                            Some(k) => {
                                let at = view.axes.iter().position(|axis| *axis == Some(*k));
                                at.and_then(|n| ids[n])
                            }
                            None => {
                                indices.sizes.push(1);
                                Some(indices.sizes.len() - 1)
                            }
                        })
                        .collect();
                    self.operands(inner, &own, indices, found)?;
                }
            }
        }
        Ok(())
    }
}

/// The indices that a product of two arrays keeps: those of the result and of the other arrays, in the
/// order in which a matrix product has them.
fn remaining(a: &[usize], b: &[usize], others: &[Vec<usize>], indices: &Indices) -> Vec<usize> {
    let needed = |id: &usize| indices.kept.contains(id) || others.iter().any(|x| x.contains(id));
    let both = a.iter().filter(|id| b.contains(id));
    let left = a.iter().filter(|id| !b.contains(id));
    let right = b.iter().filter(|id| !a.contains(id));
    both.chain(left).chain(right).copied().filter(needed).collect()
}

/// The order of the least cost; ties go to the first.
fn cheapest(operands: &[Vec<usize>], indices: &Indices) -> Order {
    let mut best: Option<(usize, Order)> = None;
    let mut open: Vec<(usize, Order, Vec<Vec<usize>>)> = vec![(0, Vec::new(), operands.to_vec())];
    while let Some((spent, order, left)) = open.pop() {
        if best.as_ref().is_some_and(|(least, _)| *least <= spent) {
            continue;
        }
        if left.len() == 1 {
            best = Some((spent, order));
            continue;
        }
        for i in 0..left.len() {
            for j in i + 1..left.len() {
                let mut rest = left.clone();
                let (b, a) = (rest.remove(j), rest.remove(i));
                let result = remaining(&a, &b, &rest, indices);
                let cost = spent.saturating_add(cost(&a, &b, &result, indices));
                rest.push(result);
                open.push((cost, [order.as_slice(), &[(i, j)]].concat(), rest));
            }
        }
    }
    best.map(|(_, order)| order).unwrap_or_default()
}

/// The time of a product of two arrays, in elements that are stored.
fn cost(a: &[usize], b: &[usize], result: &[usize], indices: &Indices) -> usize {
    let size = |ids: &mut dyn Iterator<Item = &usize>| {
        ids.map(|&id| indices.sizes[id]).fold(1usize, usize::saturating_mul)
    };
    let multiplications = size(&mut a.iter().chain(b.iter().filter(|id| !a.contains(id))));
    let stored = size(&mut result.iter());
    let is_matrix = |own: &[usize], other: &[usize]| own.iter().any(|id| !other.contains(id));
    let matrices = is_matrix(a, b) && is_matrix(b, a) && stored < multiplications;
    let per_element = if matrices { MULTIPLICATIONS_PER_ELEMENT } else { 1 };
    (multiplications / per_element).saturating_add(stored)
}

/// The product of two arrays with these axes.
fn multiplied(e: &mut Emitter<'_>, a: &Operand, b: &Operand, axes: &[usize]) -> Result<Val> {
    let mut ids = a.axes.clone();
    ids.extend(b.axes.iter().filter(|id| !a.axes.contains(id)));
    let within = |all: &[usize]| -> Vec<Option<usize>> {
        ids.iter().map(|id| all.iter().position(|other| other == id)).collect()
    };
    let places = within(axes);
    Factors::plain(&a.value, &b.value, within(&a.axes), within(&b.axes), &places)
        .multiplied(&mut e.w)
}
