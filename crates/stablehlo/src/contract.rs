//! Sums of products of which each factor lacks an axis: matrix products.

use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{Node, Program, Result, TermId, use_counts};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::affine::{self, Axis};
use crate::emit::Emitter;
use crate::value::{Ty, Val};
use crate::writer::{Writer, list};

/// An array seen through repetitions and transposes.
#[derive(Clone, Debug)]
struct View {
    base: TermId,
    /// Of each axis of the view the axis of the base; none if it is repeated along it.
    axes: Vec<Option<usize>>,
}

/// A sum over some axes of a product of two views.
#[derive(Clone, Debug)]
pub(crate) struct Contraction {
    op: Op,
    factors: [View; 2],
    /// Of each axis of the product the axis of the result; none if it is summed.
    places: Vec<Option<usize>>,
    /// From the factors to the sum, operands before their users: the same without a matrix product.
    plain: Vec<TermId>,
}

/// The contractions of a program, by their sums, and the nodes that nothing else needs.
#[derive(Debug, Default)]
pub(crate) struct Contractions {
    pub of: FxHashMap<TermId, Contraction>,
    pub inside: FxHashSet<TermId>,
}

impl Contractions {
    pub fn new(program: &Program) -> Contractions {
        let uses = use_counts(program);
        let mut found = Contractions::default();
        // From the last sum on, so that a sum of a sum is met first.
        for t in program.terms().rev() {
            if uses[t.index()] == 0 || found.inside.contains(&t) {
                continue;
            }
            if let Some(contraction) = contraction(program, t, &uses) {
                found.note_inside(program, t, &contraction, &uses);
                found.of.insert(t, contraction);
            }
        }
        found
    }

    fn note_inside(&mut self, program: &Program, root: TermId, c: &Contraction, uses: &[u32]) {
        let mut inner: FxHashMap<TermId, u32> = FxHashMap::default();
        for &t in c.plain.iter().rev() {
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

fn contraction(program: &Program, root: TermId, uses: &[u32]) -> Option<Contraction> {
    let mut t = root;
    let mut places: Vec<Option<usize>> = (0..program.shape(root).rank()).map(Some).collect();
    let mut plain = Vec::new();
    loop {
        match program.node(t) {
            // A sum that others use, too, is taken once, for all of them.
            Node::SumOuter(_) | Node::Transpose(..) if t != root && uses[t.index()] > 1 => {
                return None;
            }
            Node::SumOuter(u) => {
                places.insert(0, None);
                plain.push(t);
                t = *u;
            }
            Node::Transpose(perm, u) => {
                let mut moved = places.clone();
                for (n, &k) in perm.iter().enumerate() {
                    moved[usize::from(k)] = places[n];
                }
                places = moved;
                plain.push(t);
                t = *u;
            }
            _ => break,
        }
    }
    let Node::Op(op @ (Op::Mul | Op::Scale | Op::StrongMul), args) = program.node(t) else {
        return None;
    };
    if !places.contains(&None) || !program.dtype(t).is_float() || program.shape(t).numel() == 0 {
        return None;
    }
    plain.push(t);
    let factors = [view(program, args[0], &mut plain)?, view(program, args[1], &mut plain)?];
    plain.sort();
    plain.dedup();
    let [a, b] = &factors;
    let mut contracted = false;
    for (n, place) in places.iter().enumerate() {
        match (a.axes[n].is_some(), b.axes[n].is_some()) {
            (true, true) => contracted |= place.is_none(),
            (true, false) | (false, true) if place.is_some() => {}
            (true, false) | (false, true) | (false, false) => return None,
        }
    }
    let lacks = |view: &View| view.axes.contains(&None);
    let useful = contracted && (lacks(a) || lacks(b));
    useful.then_some(Contraction { op: *op, factors, places, plain })
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
        let mut operand = None;
        program.node(base).for_each_operand(|u| operand = operand.or(Some(u)));
        base = operand?;
    }
    // What no axis of the view goes along must be a single position.
    let dims = program.shape(base).dims();
    let seen = |k: usize| axes.contains(&Some(k));
    let alone = (0..dims.len()).all(|k| dims[k] == 1 || seen(k));
    alone.then_some(View { base, axes })
}

/// How axes correspond if only axes of one position come and go.
fn without_ones(to: &[usize], from: &[usize]) -> Option<Vec<Option<usize>>> {
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

impl Emitter<'_> {
    /// A sum of products as a matrix product. Where a zero has to annihilate what is infinite, the
    /// factor it meets is looked through first, and the plain sum is taken if it is not finite.
    pub(crate) fn contraction(&mut self, ty: &Ty, c: &Contraction) -> Result<Val> {
        let [a, b] = &c.factors;
        let (left, right) = (self.value(a.base)?, self.value(b.base)?);
        let looked_at: &[&Val] = match c.op {
            _ if self.options.assume_finite => &[],
            Op::Scale => &[&right],
            Op::StrongMul => &[&left, &right],
            _ => &[],
        };
        let mut finite: Option<Val> = None;
        for value in looked_at.iter().filter(|v| !is_finite_constant(v)) {
            let all = all_finite(&mut self.w, value);
            finite = Some(match finite {
                Some(others) => self.w.binary("and", &others, &all),
                None => all,
            });
        }
        let Some(finite) = finite else {
            return Ok(product(&mut self.w, &left, &right, c));
        };
        let fast = |e: &mut Self| Ok(vec![product(&mut e.w, &left, &right, c)]);
        let plain = |e: &mut Self| {
            for &t in &c.plain {
                e.node(t, true)?;
            }
            Ok(vec![e.value(c.plain[c.plain.len() - 1])?])
        };
        Ok(self.if_else(&finite, std::slice::from_ref(ty), fast, plain)?.remove(0))
    }
}

fn is_finite_constant(value: &Val) -> bool {
    match value.known {
        Some(Scalar::F64(x)) => x.is_finite(),
        Some(Scalar::F32(x)) => x.is_finite(),
        Some(Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_)) | None => false,
    }
}

fn all_finite(w: &mut Writer, value: &Val) -> Val {
    let ty = value.ty.with_dtype(cotan_array::Dtype::Bool);
    let body = format!("stablehlo.is_finite {value} : ({}) -> {ty}", value.ty);
    let finite = w.define(ty, body);
    w.all(&finite)
}

/// The bases without what no axis goes along, multiplied.
fn product(w: &mut Writer, left: &Val, right: &Val, c: &Contraction) -> Val {
    let [a, b] = &c.factors;
    let (left, a) = squeezed(w, left, &a.axes);
    let (right, b) = squeezed(w, right, &b.axes);
    let rank = a.len();
    let both = |n: &usize| a[*n].is_some() && b[*n].is_some();
    let (summed, kept): (Vec<usize>, Vec<usize>) =
        (0..rank).filter(both).partition(|&n| c.places[n].is_none());
    let only = |x: &[Option<usize>], y: &[Option<usize>]| -> Vec<usize> {
        (0..rank).filter(|&n| x[n].is_some() && y[n].is_none()).collect()
    };
    let (rows, columns) = (only(&a, &b), only(&b, &a));
    let order: Vec<usize> = kept.iter().chain(&rows).chain(&columns).copied().collect();
    let size = |n: usize| {
        let axis = |x: &[Option<usize>], v: &Val| x[n].map(|k| v.ty.dims[k]);
        axis(&a, &left).or_else(|| axis(&b, &right)).unwrap_or(1)
    };
    let dims: Vec<usize> = order.iter().map(|&n| size(n)).collect();
    let pick = |x: &[Option<usize>], axes: &[usize]| list(axes.iter().filter_map(|&n| x[n]));
    let batch = match kept.is_empty() {
        true => String::new(),
        false => format!("batching_dims = [{}] x [{}], ", pick(&a, &kept), pick(&b, &kept)),
    };
    let ty = left.ty.with_dims(&dims);
    let body = format!(
        "stablehlo.dot_general {left}, {right}, {batch}contracting_dims = [{}] x [{}], precision = [HIGHEST, HIGHEST] : ({}, {}) -> {ty}",
        pick(&a, &summed),
        pick(&b, &summed),
        left.ty,
        right.ty
    );
    let found = w.define(ty, body);
    let mut perm: Vec<usize> = (0..order.len()).collect();
    perm.sort_by_key(|&n| c.places[order[n]]);
    w.transpose(&found, &perm)
}

/// The base without the axes that the view does not go along, and the axes renumbered.
fn squeezed(w: &mut Writer, base: &Val, axes: &[Option<usize>]) -> (Val, Vec<Option<usize>>) {
    let kept: Vec<usize> = (0..base.ty.rank()).filter(|&k| axes.contains(&Some(k))).collect();
    let dims: Vec<usize> = kept.iter().map(|&k| base.ty.dims[k]).collect();
    let renumbered = axes.iter().map(|axis| axis.and_then(|k| kept.iter().position(|&n| n == k)));
    (w.reshape(base, &dims), renumbered.collect())
}
