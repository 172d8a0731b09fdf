//! Sums of products of which each factor lacks an axis: matrix products.

use cotan_ir::scalar::Op;
use cotan_ir::{Node, Program, TermId, use_counts};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::affine::{self, Axis};
use crate::convolve::{Convolution, convolution};

/// An array seen through repetitions and transposes.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub base: TermId,
    /// Of each axis of the view the axis of the base; none if it is repeated along it.
    pub axes: Vec<Option<usize>>,
}

/// A sum over some axes, of products and other terms.
#[derive(Clone, Debug)]
pub(crate) struct Contraction {
    pub terms: Vec<Summand>,
    /// From the terms to the sum, without the terms that are no products.
    through: Vec<TermId>,
}

/// One of the terms that are summed.
#[derive(Clone, Debug)]
pub(crate) struct Summand {
    pub negated: bool,
    pub what: Summed,
    /// Of each axis of the term the axis of the result; none if it is summed.
    pub places: Vec<Option<usize>>,
}

#[derive(Clone, Debug)]
pub(crate) enum Summed {
    Product(Product),
    Other(TermId),
}

/// A product of two arrays, of which some axes may be summed.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub op: Op,
    pub factors: [Factor; 2],
    /// Of each axis of the product the axis of the result; none if it is summed.
    pub places: Vec<Option<usize>>,
}

/// A factor, which may be a sum of products itself that nothing else needs. Then the order in which
/// all of them are multiplied is free.
#[derive(Clone, Debug)]
pub(crate) struct Factor {
    pub view: View,
    pub inner: Option<Box<Product>>,
}

impl Product {
    /// The number of arrays that are multiplied.
    pub fn leaves(&self) -> usize {
        let leaves = |factor: &Factor| factor.inner.as_ref().map_or(1, |inner| inner.leaves());
        self.factors.iter().map(leaves).sum()
    }
}

/// The contractions of a program, by their sums, and the nodes that nothing else needs.
#[derive(Debug, Default)]
pub(crate) struct Contractions {
    pub of: FxHashMap<TermId, Contraction>,
    pub convolutions: FxHashMap<TermId, Convolution>,
    pub inside: FxHashSet<TermId>,
}

impl Contractions {
    /// `exact` if convolutions are to be taken element by element; sums of up to `small` products are in
    /// any case.
    pub fn new(program: &Program, exact: bool, small: usize) -> Contractions {
        let uses = use_counts(program);
        let mut found = Contractions::default();
        // From the last sum on, so that a sum of a sum is met first.
        for t in program.terms().rev() {
            if uses[t.index()] == 0 || found.inside.contains(&t) {
                continue;
            }
            if let Some(convolution) = convolution(program, t, &uses).filter(|_| !exact) {
                found.note_inside(program, t, &convolution.through, &uses);
                found.convolutions.insert(t, convolution);
            } else if let Some(contraction) = contraction(program, t, &uses, small) {
                // A term that is summed as it is may also be a view of a factor.
                let is_term = |t: TermId| {
                    let same = |s: &Summand| matches!(s.what, Summed::Other(u) if u == t);
                    contraction.terms.iter().any(same)
                };
                let mut through = contraction.through.clone();
                through.retain(|&t| !is_term(t));
                found.note_inside(program, t, &through, &uses);
                found.of.insert(t, contraction);
            }
        }
        found
    }

    /// Whether a node is written as a matrix product or a convolution.
    pub fn has(&self, t: &TermId) -> bool {
        self.of.contains_key(t) || self.convolutions.contains_key(t)
    }

    /// Notes which of the nodes on the way to a sum nothing else needs.
    fn note_inside(&mut self, program: &Program, root: TermId, through: &[TermId], uses: &[u32]) {
        let mut inner: FxHashMap<TermId, u32> = FxHashMap::default();
        let mut through = through.to_vec();
        through.sort();
        through.dedup();
        for &t in through.iter().rev() {
            let all = inner.get(&t).is_some_and(|&n| n == uses[t.index()]);
            if t == root || all {
                if t != root {
                    self.inside.insert(t);
                }
                program.node(t).for_each_operand(|u| *inner.entry(u).or_default() += 1);
            }
        }
    }
}

/// Sums of more terms are not taken apart.
const MAX_TERMS: usize = 16;

/// Products of more arrays are not taken apart.
const MAX_FACTORS: usize = 4;

/// A sum, through transposes and further sums, of products. A sum of sums and differences of terms
/// is the sum of each, so that every product among them may be a matrix product.
fn contraction(program: &Program, root: TermId, uses: &[u32], small: usize) -> Option<Contraction> {
    if !program.dtype(root).is_float() || program.shape(root).numel() == 0 {
        return None;
    }
    let places: Vec<Option<usize>> = (0..program.shape(root).rank()).map(Some).collect();
    let mut stack = vec![(root, places, false)];
    let (mut terms, mut through) = (Vec::new(), Vec::new());
    while let Some((t, mut places, negated)) = stack.pop() {
        // What others use, too, is computed once, for all of them.
        let own = t == root || uses[t.index()] == 1;
        let summed = places.contains(&None);
        match program.node(t) {
            Node::SumOuter(u) if own => {
                places.insert(0, None);
                stack.push((*u, places, negated));
            }
            Node::Transpose(perm, u) if own => {
                stack.push((*u, transposed(&places, perm), negated));
            }
            Node::Op(op @ (Op::Add | Op::Sub), args)
                if own && summed && terms.len() + stack.len() < MAX_TERMS =>
            {
                stack.push((args[1], places.clone(), negated != (*op == Op::Sub)));
                stack.push((args[0], places, negated));
            }
            Node::Op(Op::Neg, args) if own && summed => stack.push((args[0], places, !negated)),
            Node::Op(op @ (Op::Mul | Op::Scale | Op::StrongMul), args) => {
                let mut views = vec![t];
                let found = product(program, *op, args, &places, uses, MAX_FACTORS, &mut views);
                let large = program.shape(t).numel() > small;
                let what = match found.filter(|product| large && product.is_contraction()) {
                    Some(product) => {
                        through.append(&mut views);
                        Summed::Product(product)
                    }
                    None => Summed::Other(t),
                };
                terms.push(Summand { negated, what, places });
                continue;
            }
            _ => {
                terms.push(Summand { negated, what: Summed::Other(t), places });
                continue;
            }
        }
        through.push(t);
    }
    let useful = terms.iter().any(|term| matches!(term.what, Summed::Product(..)));
    useful.then_some(Contraction { terms, through })
}

/// A product of which some axes are summed, if along each axis goes one of its factors at least. Factors
/// that are products are taken apart, into `most` arrays altogether.
fn product(
    program: &Program,
    op: Op,
    args: &[TermId],
    places: &[Option<usize>],
    uses: &[u32],
    most: usize,
    through: &mut Vec<TermId>,
) -> Option<Product> {
    if program.shape(args[0]).numel() == 0 {
        return None;
    }
    let views = [view(program, args[0], through)?, view(program, args[1], through)?];
    let [a, b] = &views;
    let covered = (0..places.len()).all(|n| a.axes[n].is_some() || b.axes[n].is_some());
    if !covered {
        return None;
    }
    // What is computed outside of a loop stays there.
    let level = args.iter().map(|&u| program.free(u).innermost()).max();
    let near = |t: TermId| Some(program.free(t).innermost()) == level;
    let mut rest = most.saturating_sub(2);
    let factors = [(0, views[0].clone()), (1, views[1].clone())].map(|(n, view)| {
        let inner = match rest {
            1.. if near(view.base) => {
                inner_product(program, args[n], view.base, uses, rest + 1, through)
            }
            _ => None,
        };
        rest -= inner.as_ref().map_or(0, |inner| inner.leaves() - 1);
        Factor { view, inner: inner.map(Box::new) }
    });
    Some(Product { op, factors, places: places.to_vec() })
}

impl Product {
    /// Whether it is a product of matrices: something is summed, and along some axis goes one of the
    /// factors only.
    fn is_contraction(&self) -> bool {
        let [a, b] = &self.factors;
        let one = |n: usize| a.view.axes[n].is_some() != b.view.axes[n].is_some();
        (0..self.places.len()).any(one) && self.places.contains(&None)
    }

    /// Whether one of its factors is repeated, so that it has fewer elements than the product.
    fn repeats(&self) -> bool {
        self.factors.iter().any(|factor| factor.view.axes.contains(&None))
    }
}

/// A factor that is itself a product, summed or not, if nothing else needs it: `base` as `seen`
/// through views.
fn inner_product(
    program: &Program,
    seen: TermId,
    base: TermId,
    uses: &[u32],
    most: usize,
    through: &mut Vec<TermId>,
) -> Option<Product> {
    let mut own = Vec::new();
    let mut t = seen;
    // The views on the way have no other users either.
    while t != base {
        if uses[t.index()] != 1 {
            return None;
        }
        t = single_operand(program, t)?;
    }
    let mut places: Vec<Option<usize>> = (0..program.shape(base).rank()).map(Some).collect();
    loop {
        if uses[t.index()] != 1 {
            return None;
        }
        own.push(t);
        match program.node(t) {
            Node::SumOuter(u) => {
                places.insert(0, None);
                t = *u;
            }
            Node::Transpose(perm, u) => {
                places = transposed(&places, perm);
                t = *u;
            }
            Node::Op(op @ (Op::Mul | Op::Scale | Op::StrongMul), args) => {
                let found = product(program, *op, args, &places, uses, most, &mut own)?;
                if !found.repeats() {
                    return None;
                }
                through.append(&mut own);
                return Some(found);
            }
            _ => return None,
        }
    }
}

/// The places of the axes before a transpose.
fn transposed(places: &[Option<usize>], perm: &[u8]) -> Vec<Option<usize>> {
    let mut moved = places.to_vec();
    for (n, &k) in perm.iter().enumerate() {
        moved[usize::from(k)] = places[n];
    }
    moved
}

/// The array that a term is a view of; the views go to `through`.
fn view(program: &Program, root: TermId, through: &mut Vec<TermId>) -> Option<View> {
    let mut base = root;
    let mut axes: Vec<Option<usize>> = (0..program.shape(root).rank()).map(Some).collect();
    loop {
        let step: Vec<Option<usize>> = match program.node(base) {
            Node::Replicate(_, u) => {
                std::iter::once(None).chain((0..program.shape(*u).rank()).map(Some)).collect()
            }
            Node::Transpose(perm, u) => {
                let moved = perm.iter().map(|&k| usize::from(k));
                moved.chain(perm.len()..program.shape(*u).rank()).map(Some).collect()
            }
            Node::Gather(u, r) => {
                let sizes = program.index_sizes(*r);
                let whole = affine::forms(program, *r).and_then(|forms| affine::axes(&forms));
                let Some(parts) = whole else { break };
                let mut step = vec![None; sizes.len()];
                let dims = program.shape(*u).dims();
                let fits = parts.iter().enumerate().all(|(n, axis)| match *axis {
                    Axis::Moves { var, step: 1, start: 0 } if sizes[var] == dims[n] => {
                        step[var] = Some(n);
                        true
                    }
                    Axis::Fixed(0) => dims[n] == 1,
                    Axis::Moves { .. } | Axis::Fixed(_) => false,
                });
                if !fits {
                    break;
                }
                step.extend((parts.len()..dims.len()).map(Some));
                step
            }
            Node::Reshape(_, u) => {
                let Some(step) = without_ones(program.shape(base).dims(), program.shape(*u).dims())
                else {
                    break;
                };
                step
            }
            _ => break,
        };
        through.push(base);
        for axis in &mut axes {
            *axis = axis.and_then(|n| step[n]);
        }
        base = single_operand(program, base)?;
    }
    // What no axis of the view goes along must be a single position.
    let dims = program.shape(base).dims();
    let seen = |k: usize| axes.contains(&Some(k));
    let alone = (0..dims.len()).all(|k| dims[k] == 1 || seen(k));
    alone.then_some(View { base, axes })
}

/// The operand of a view.
pub(crate) fn single_operand(program: &Program, t: TermId) -> Option<TermId> {
    let mut operand = None;
    program.node(t).for_each_operand(|u| operand = operand.or(Some(u)));
    operand
}

/// How axes correspond if only axes of one position come and go.
pub(crate) fn without_ones(to: &[usize], from: &[usize]) -> Option<Vec<Option<usize>>> {
    let mut rest = (0..from.len()).filter(|&k| from[k] != 1);
    let step: Option<Vec<Option<usize>>> = to
        .iter()
        .map(|&k| match k {
            1 => Some(None),
            _ => rest.next().filter(|&n| from[n] == k).map(Some),
        })
        .collect();
    step.filter(|_| rest.next().is_none())
}
