//! Sums of products as matrix products, or as sums of what is multiplied element by element.

use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{Error, Result};

use crate::contract::{Contraction, Factor, Product, Summed};
use crate::emit::Emitter;
use crate::scalar::elementwise;
use crate::value::{Ty, Val};
use crate::writer::{Writer, list};

/// Sums of more products are not taken all at once.
const AT_ONCE: usize = 1 << 24;

/// Two arrays that are multiplied, without axes of one position that the product does not have.
pub(crate) struct Factors<'a> {
    op: Op,
    left: Val,
    right: Val,
    /// Of each axis of the product the axis of the factor; none if it is repeated along it.
    a: Vec<Option<usize>>,
    b: Vec<Option<usize>>,
    /// Of each axis of the product the axis of the result; none if it is summed.
    places: &'a [Option<usize>],
}

impl Emitter<'_> {
    /// A sum of products and other terms.
    pub(crate) fn contraction(&mut self, ty: &Ty, c: &Contraction) -> Result<Val> {
        let mut sum: Option<Val> = None;
        for term in &c.terms {
            let value = match &term.what {
                Summed::Product(product) => self.product(ty, product)?,
                Summed::Other(t) => {
                    let value = self.value(*t)?;
                    let order: Vec<usize> = (0..term.places.len()).collect();
                    summed(&mut self.w, &value, &order, &term.places)
                }
            };
            sum = Some(match sum {
                Some(sum) if term.negated => self.w.binary("subtract", &sum, &value),
                Some(sum) => self.w.binary("add", &sum, &value),
                None if term.negated => self.w.unary("negate", &value),
                None => value,
            });
        }
        Ok(sum.unwrap_or_else(|| self.w.zeros(ty)))
    }

    /// A sum of products as a matrix product. Where a zero has to annihilate what is infinite, the
    /// result is looked through: only if it is not finite can such a product have been among them,
    /// and then the sum is taken element by element. At the top of a program that is done once, for
    /// all of it, since what an inner branch would need has to be kept in memory for it.
    fn product(&mut self, ty: &Ty, product: &Product) -> Result<Val> {
        let finite = self.options.assume_finite || self.is_finite_product(product)?;
        if self.exact && !finite {
            return self.as_written(product);
        }
        let found = match product.leaves() {
            2 => {
                let factors = self.factors(product)?;
                let summed = factors.summed_first(&mut self.w);
                if summed.is_weighted_sum() {
                    return summed.elementwise(&mut self.w);
                }
                summed.matrix_product(&mut self.w)
            }
            _ => self.reordered(product)?,
        };
        self.checked(ty, found, finite, |e| e.as_written(product))
    }

    /// A result that is what is meant if it is finite, and `plain` otherwise.
    pub(crate) fn checked(
        &mut self,
        ty: &Ty,
        found: Val,
        finite: bool,
        plain: impl FnOnce(&mut Self) -> Result<Val>,
    ) -> Result<Val> {
        if finite {
            return Ok(found);
        }
        let all = all_finite(&mut self.w, &found);
        if self.collecting {
            self.finite.push(all);
            return Ok(found);
        }
        let types = std::slice::from_ref(ty);
        Ok(self.if_else(&all, types, |_| Ok(vec![found]), |e| Ok(vec![plain(e)?]))?.remove(0))
    }

    /// Whether a product needs no look at its result: no zero annihilates an infinity, and the order
    /// of multiplications stays as it is, in which nothing overflows that is meant not to.
    fn is_finite_product(&self, product: &Product) -> Result<bool> {
        let known = |factor: &Factor| match factor.inner {
            Some(_) => Ok(false),
            None => self.value(factor.view.base).map(|value| is_finite_constant(&value)),
        };
        let [a, b] = &product.factors;
        let alone = a.inner.is_none() && b.inner.is_none();
        Ok(alone
            && match product.op {
                Op::Scale => known(b)?,
                Op::StrongMul => known(a)? && known(b)?,
                _ => true,
            })
    }

    /// The sum element by element, inner sums first.
    fn as_written(&mut self, product: &Product) -> Result<Val> {
        let factors = self.factors(product)?;
        self.one_by_one(&factors)
    }

    fn factors<'a>(&mut self, product: &'a Product) -> Result<Factors<'a>> {
        let mut sides = Vec::with_capacity(2);
        for factor in &product.factors {
            let value = match &factor.inner {
                Some(inner) => self.as_written(inner)?,
                None => self.value(factor.view.base)?,
            };
            sides.push(squeezed(&mut self.w, &value, &factor.view.axes));
        }
        let [(left, a), (right, b)] =
            <[_; 2]>::try_from(sides).map_err(|_| Error::internal("a product of two factors"))?;
        Ok(Factors { op: product.op, left, right, a, b, places: &product.places })
    }

    /// The sum element by element; in steps along the longest axis that is summed if there are many.
    fn one_by_one(&mut self, factors: &Factors<'_>) -> Result<Val> {
        let axes = 0..factors.places.len();
        let numel = axes.clone().map(|n| factors.size(n)).fold(1usize, usize::saturating_mul);
        let summed = axes.filter(|&n| factors.places[n].is_none());
        let Some(longest) = summed.max_by_key(|&n| factors.size(n)).filter(|_| numel > AT_ONCE)
        else {
            return factors.elementwise(&mut self.w);
        };
        let mut kept: Vec<usize> =
            (0..factors.places.len()).filter(|&n| factors.places[n].is_some()).collect();
        kept.sort_by_key(|&n| factors.places[n]);
        let dims: Vec<usize> = kept.iter().map(|&n| factors.size(n)).collect();
        let start = self.w.zeros(&factors.left.ty.with_dims(&dims));
        let sums = self.repeated(factors.size(longest), &[start], |e, at, sums| {
            let (left, a) = at_position(&mut e.w, &factors.left, &factors.a, longest, at);
            let (right, b) = at_position(&mut e.w, &factors.right, &factors.b, longest, at);
            let part = Factors { op: factors.op, left, right, a, b, places: factors.places };
            let part = part.elementwise(&mut e.w)?;
            Ok(vec![e.w.binary("add", &sums[0], &part)])
        })?;
        sums.into_iter().next().ok_or_else(|| Error::internal("a loop without a result"))
    }
}

impl<'a> Factors<'a> {
    /// A product in which no zero has to annihilate anything.
    pub fn plain(
        left: &Val,
        right: &Val,
        a: Vec<Option<usize>>,
        b: Vec<Option<usize>>,
        places: &'a [Option<usize>],
    ) -> Factors<'a> {
        Factors { op: Op::Mul, left: left.clone(), right: right.clone(), a, b, places }
    }

    /// The sum of products, in whichever way is fast.
    pub fn multiplied(&self, w: &mut Writer) -> Result<Val> {
        let summed = self.summed_first(w);
        match summed.is_weighted_sum() {
            true => summed.elementwise(w),
            false => Ok(summed.matrix_product(w)),
        }
    }

    /// The axes of the product that both factors have, those only of the left, only of the right.
    fn axes(&self) -> [Vec<usize>; 3] {
        let having = |left: bool, right: bool| -> Vec<usize> {
            let has = |n: &usize| self.a[*n].is_some() == left && self.b[*n].is_some() == right;
            (0..self.places.len()).filter(has).collect()
        };
        [having(true, true), having(true, false), having(false, true)]
    }

    /// Each factor summed over the axes that only it has and the result has not.
    fn summed_first(&self, w: &mut Writer) -> Factors<'_> {
        let [_, rows, columns] = self.axes();
        let reduced = |w: &mut Writer, value: &Val, axes: &[Option<usize>], own: &[usize]| {
            let gone = own.iter().filter(|&&n| self.places[n].is_none());
            let gone: Vec<usize> = gone.filter_map(|&n| axes[n]).collect();
            let left = |k: usize| gone.iter().filter(|&&n| n < k).count();
            let axes = axes.iter().map(|axis| axis.filter(|k| !gone.contains(k)));
            (w.sum(value, &gone), axes.map(|axis| axis.map(|k| k - left(k))).collect())
        };
        let (left, a) = reduced(w, &self.left, &self.a, &rows);
        let (right, b) = reduced(w, &self.right, &self.b, &columns);
        Factors { op: self.op, left, right, a, b, places: self.places }
    }

    /// Whether nothing is left to sum, or one factor only weighs the elements of the other, in parts:
    /// many small products of a matrix and a vector, which are slow as such and have no element used
    /// twice.
    fn is_weighted_sum(&self) -> bool {
        let [both, rows, columns] = self.axes();
        let kept = both.iter().filter(|&&n| self.places[n].is_some()).count();
        kept == both.len() || kept > 0 && (rows.is_empty() || columns.is_empty())
    }

    fn size(&self, n: usize) -> usize {
        let axis = |x: &[Option<usize>], v: &Val| x[n].map(|k| v.ty.dims[k]);
        axis(&self.a, &self.left).or_else(|| axis(&self.b, &self.right)).unwrap_or(1)
    }

    /// Which factor comes first decides how the result lies: as it is wanted, if one of the two does
    /// that.
    fn matrix_product(&self, w: &mut Writer) -> Val {
        let exchanged = self.exchanged();
        let fits =
            |x: &Factors<'_>| x.product_axes().concat().iter().map(|&n| self.places[n]).is_sorted();
        match !fits(self) && fits(&exchanged) {
            true => exchanged.ordered_product(w),
            false => self.ordered_product(w),
        }
    }

    fn exchanged(&self) -> Factors<'_> {
        let (left, right) = (self.right.clone(), self.left.clone());
        let (a, b) = (self.b.clone(), self.a.clone());
        Factors { op: self.op, left, right, a, b, places: self.places }
    }

    /// The axes of the result of a matrix product, in order: of both factors, and of one each as they
    /// lie there.
    fn product_axes(&self) -> [Vec<usize>; 3] {
        let kept = |n: &usize| self.places[*n].is_some();
        let [both, mut rows, mut columns] = self.axes();
        rows.sort_by_key(|&n| self.a[n]);
        columns.sort_by_key(|&n| self.b[n]);
        [both.into_iter().filter(kept).collect(), rows, columns]
    }

    fn ordered_product(&self, w: &mut Writer) -> Val {
        let [both, _, _] = self.axes();
        let summed: Vec<usize> = both.into_iter().filter(|&n| self.places[n].is_none()).collect();
        let [kept, rows, columns] = self.product_axes();
        let order: Vec<usize> = kept.iter().chain(&rows).chain(&columns).copied().collect();
        let dims: Vec<usize> = order.iter().map(|&n| self.size(n)).collect();
        let (left, right) = (&self.left, &self.right);
        let pick = |x: &[Option<usize>], axes: &[usize]| list(axes.iter().filter_map(|&n| x[n]));
        let pair =
            |axes: &[usize]| format!("[{}] x [{}]", pick(&self.a, axes), pick(&self.b, axes));
        let batch = match kept.is_empty() {
            true => String::new(),
            false => format!("batching_dims = {}, ", pair(&kept)),
        };
        let ty = left.ty.with_dims(&dims);
        let body = format!(
            "stablehlo.dot_general {left}, {right}, {batch}contracting_dims = {}, precision = [HIGHEST, HIGHEST] : ({}, {}) -> {ty}",
            pair(&summed),
            left.ty,
            right.ty
        );
        let found = w.define(ty, body);
        placed(w, &found, &order, self.places)
    }

    /// The same, element by element, with the axes as they lie in the larger factor.
    fn elementwise(&self, w: &mut Writer) -> Result<Val> {
        let numel = |v: &Val| v.ty.dims.iter().product::<usize>();
        let larger = if numel(&self.left) >= numel(&self.right) { &self.a } else { &self.b };
        let [both, rows, columns] = self.axes();
        let mut order = [both, rows, columns].concat();
        order.sort_unstable();
        // Those that it lacks have none, which is less than any axis.
        order.sort_by_key(|&n| larger[n]);
        let dims: Vec<usize> = order.iter().map(|&n| self.size(n)).collect();
        let left = spread(w, &self.left, &self.a, &order, &dims);
        let right = spread(w, &self.right, &self.b, &order, &dims);
        let product = elementwise(w, self.op, &[left, right])?;
        Ok(summed(w, &product, &order, self.places))
    }
}

/// A factor repeated along the axes of the product that it lacks. `order` are the axes of the
/// product as they are to lie.
fn spread(
    w: &mut Writer,
    value: &Val,
    axes: &[Option<usize>],
    order: &[usize],
    dims: &[usize],
) -> Val {
    let perm: Vec<usize> = order.iter().filter_map(|&n| axes[n]).collect();
    let at: Vec<usize> = (0..order.len()).filter(|&k| axes[order[k]].is_some()).collect();
    let value = w.transpose(value, &perm);
    w.broadcast(&value, &at, dims)
}

/// A factor at a position along an axis of the product, which is gone then.
fn at_position(
    w: &mut Writer,
    value: &Val,
    axes: &[Option<usize>],
    axis: usize,
    at: &Val,
) -> (Val, Vec<Option<usize>>) {
    let Some(own) = axes[axis] else { return (value.clone(), axes.to_vec()) };
    let (mut starts, mut sizes) = (vec![w.index(0); value.ty.rank()], value.ty.dims.clone());
    starts[own] = at.clone();
    sizes[own] = 1;
    let part = w.dynamic_slice(value, &starts, &sizes);
    sizes.remove(own);
    let moved = |k: usize| if k > own { k - 1 } else { k };
    let axes = axes.iter().map(|axis| axis.filter(|&k| k != own).map(moved));
    (w.reshape(&part, &sizes), axes.collect())
}

/// The sum over the axes without a place, the others in their places. `order` are the axes of the
/// value, among those that have places.
fn summed(w: &mut Writer, value: &Val, order: &[usize], places: &[Option<usize>]) -> Val {
    let axes: Vec<usize> = (0..order.len()).filter(|&k| places[order[k]].is_none()).collect();
    let sum = w.sum(value, &axes);
    let kept: Vec<usize> = order.iter().copied().filter(|&n| places[n].is_some()).collect();
    placed(w, &sum, &kept, places)
}

/// A value with its axes in their places.
fn placed(w: &mut Writer, value: &Val, order: &[usize], places: &[Option<usize>]) -> Val {
    let mut perm: Vec<usize> = (0..order.len()).collect();
    perm.sort_by_key(|&n| places[order[n]]);
    w.transpose(value, &perm)
}

/// The base without the axes that the view does not go along, as it lies in memory, and the axes
/// renumbered.
pub(crate) fn squeezed(
    w: &mut Writer,
    base: &Val,
    axes: &[Option<usize>],
) -> (Val, Vec<Option<usize>>) {
    let (base, perm) = w.untransposed(base);
    let axes: Vec<Option<usize>> = axes.iter().map(|axis| axis.map(|k| perm[k])).collect();
    let kept: Vec<usize> = (0..base.ty.rank()).filter(|&k| axes.contains(&Some(k))).collect();
    let dims: Vec<usize> = kept.iter().map(|&k| base.ty.dims[k]).collect();
    let renumbered = axes.iter().map(|axis| axis.and_then(|k| kept.iter().position(|&n| n == k)));
    (w.reshape(&base, &dims), renumbered.collect())
}

fn is_finite_constant(value: &Val) -> bool {
    match value.known {
        Some(Scalar::F64(x)) => x.is_finite(),
        Some(Scalar::F32(x)) => x.is_finite(),
        Some(Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_)) | None => false,
    }
}

/// Whether all elements are finite, by their sum: that is not, if one of them is not. A sum that
/// overflows says so of finite elements, which costs time only.
fn all_finite(w: &mut Writer, value: &Val) -> Val {
    let (value, _) = w.untransposed(value);
    let axes: Vec<usize> = (0..value.ty.rank()).collect();
    let sum = w.sum(&value, &axes);
    let ty = sum.ty.with_dtype(cotan_array::Dtype::Bool);
    w.define(ty.clone(), format_args!("stablehlo.is_finite {sum} : ({}) -> {ty}", sum.ty))
}
