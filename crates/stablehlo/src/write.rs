//! Writes: sums at computed positions, and single elements. What is out of range is dropped.

use cotan_array::Shape;
use cotan_ir::{Affine, Node, RegionId, Result, TermId};

use crate::affine::{self, Axis, Parts};
use crate::emit::Emitter;
use crate::read::{Hints, in_range, positions, window_at};
use crate::value::{Ty, Val};
use crate::writer::{Writer, list};

impl Emitter<'_> {
    /// `scatter sh t (\is -> ix)`
    pub(crate) fn scatter(&mut self, ty: &Ty, t: TermId, r: RegionId) -> Result<Val> {
        let source = self.value(t)?;
        if source.ty.is_empty() {
            return Ok(self.w.zeros(ty));
        }
        let sizes = self.program.index_sizes(r).to_vec();
        let forms = affine::forms(self.program, r);
        if let Some(forms) = &forms {
            let (parts, mut dims) = affine::split(forms, &ty.dims, &sizes);
            dims.extend(&ty.dims[forms.len()..]);
            let written = affine_write(&mut self.w, &source, &parts, &sizes, &ty.with_dims(&dims));
            if let Some(y) = written {
                return Ok(self.w.reshape(&y, &ty.dims));
            }
        }
        let whole = self.whole_axes(r, &ty.dims);
        let (inner, at) = self.index_arrays(r, whole)?;
        let zero = self.w.zeros(ty);
        Ok(scattered(&mut self.w, "add", &zero, &at, &source, &inner))
    }

    /// `oneHot sh v ix`
    pub(crate) fn one_hot(
        &mut self,
        ty: &Ty,
        outer: &Shape,
        v: TermId,
        ix: &[TermId],
    ) -> Result<Val> {
        let zero = self.w.zeros(ty);
        let (part, starts) = self.one_part(ty, outer, v, ix)?;
        Ok(if starts.is_empty() {
            part
        } else {
            self.w.dynamic_update_slice(&zero, &part, &starts)
        })
    }

    /// A sum with an array of one element (or sub-array) that is not 0: a change at one place.
    pub(crate) fn add_one_hot(&mut self, args: &[TermId]) -> Result<Option<Val>> {
        let one = |t: TermId| match self.program.node(t) {
            Node::OneHot(outer, v, ix) if !ix.is_empty() => Some((outer, *v, ix)),
            _ => None,
        };
        let [a, b] = args else { return Ok(None) };
        let found = one(*b).map(|x| (*a, x)).or_else(|| one(*a).map(|x| (*b, x)));
        let Some((other, (outer, v, ix))) = found else { return Ok(None) };
        let sum = self.value(other)?;
        let (part, starts) = self.one_part(&sum.ty, outer, v, ix)?;
        let before = self.w.dynamic_slice(&sum, &starts, &part.ty.dims);
        let after = self.w.binary("add", &before, &part);
        Ok(Some(self.w.dynamic_update_slice(&sum, &after, &starts)))
    }

    /// What a one-hot array has at its place, 0 if that is out of range, and where that is.
    fn one_part(
        &mut self,
        ty: &Ty,
        outer: &Shape,
        v: TermId,
        ix: &[TermId],
    ) -> Result<(Val, Vec<Val>)> {
        let part = self.value(v)?;
        let at = self.values(ix)?;
        let ranges: Vec<bool> =
            ix.iter().zip(outer.dims()).map(|(&i, &k)| self.program.bounds(i).within(k)).collect();
        let w = &mut self.w;
        let (starts, sizes) = window_at(w, &at, &ty.dims);
        let part = w.reshape(&part, &sizes);
        let part = match in_range(w, &at, outer.dims(), &ranges) {
            Some(inside) => {
                let zero = w.zeros(&part.ty);
                w.select(&inside, &part, &zero)
            }
            None => part,
        };
        Ok((part, starts))
    }
}

/// The sub-arrays of `source` written into `into`, joined with what is there by an operation whose order
/// does not matter, at positions given by arrays of these sizes, one for each component.
pub(crate) fn scattered(
    w: &mut Writer,
    op: &str,
    into: &Val,
    at: &[Val],
    source: &Val,
    sizes: &[usize],
) -> Val {
    let Hints { sorted, unique } = Hints::new(at, sizes);
    let places = positions(w, at, sizes);
    let name = w.fresh();
    w.open(format_args!(
        "{name} = \"stablehlo.scatter\"({into}, {places}, {source}) <{{indices_are_sorted = {sorted}, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{}], inserted_window_dims = [{axes}], scatter_dims_to_operand_dims = [{axes}], index_vector_dim = {}>, unique_indices = {unique}}}> ({{",
        list(sizes.len()..source.ty.rank()),
        sizes.len(),
        axes = list(0..at.len()),
    ));
    let element = into.ty.element();
    let (a, b) = (Val::new(w.fresh(), element.clone()), Val::new(w.fresh(), element.clone()));
    w.bare(format_args!("^bb0({a}: {element}, {b}: {element}):"));
    let joined = w.binary(op, &a, &b);
    w.give(&[joined]);
    w.close(format_args!("}}) : ({}, {}, {}) -> {}", into.ty, places.ty, source.ty, into.ty));
    Val::new(name, into.ty.clone())
}

/// A scatter by an affine index function as sums, transposes, and zeros around and between elements,
/// if it is made of few.
fn affine_write(
    w: &mut Writer,
    source: &Val,
    forms: &[Affine],
    sizes: &[usize],
    ty: &Ty,
) -> Option<Val> {
    if let Some(axes) = affine::axes(forms) {
        return Some(placed(w, source, &axes, sizes, ty));
    }
    let Parts { var, sizes, forms } = affine::parts(forms, sizes)?;
    let mut sum: Option<Val> = None;
    for (value, forms) in forms.iter().enumerate() {
        let mut ranges: Vec<_> = source.ty.dims.iter().map(|&k| (0, k, 1)).collect();
        ranges[var] = (value, value + 1, 1);
        let part = w.slice(source, &ranges);
        let part = affine_write(w, &part, forms, &sizes, ty)?;
        sum = Some(match sum {
            Some(sum) => w.binary("add", &sum, &part),
            None => part,
        });
    }
    sum
}

/// A scatter of which each axis of the result depends on a variable of its own.
fn placed(w: &mut Writer, source: &Val, axes: &[Axis], sizes: &[usize], ty: &Ty) -> Val {
    let var_of = |axis: &Axis| match *axis {
        Axis::Moves { var, .. } => Some(var),
        Axis::Fixed(_) => None,
    };
    let vars: Vec<usize> = axes.iter().filter_map(var_of).collect();
    let unused: Vec<usize> = (0..sizes.len()).filter(|k| !vars.contains(k)).collect();
    let sum = w.sum(source, &unused);
    // What is left are the used variables in ascending order, then the inner axes.
    let rank_of = |var: usize| vars.iter().filter(|&&other| other < var).count();
    let perm: Vec<usize> =
        vars.iter().map(|&var| rank_of(var)).chain(vars.len()..sum.ty.rank()).collect();
    let part = w.transpose(&sum, &perm);
    let inner = &ty.dims[axes.len()..];
    let dims: Vec<usize> = axes
        .iter()
        .map(|axis| var_of(axis).map_or(1, |var| sizes[var]))
        .chain(inner.iter().copied())
        .collect();
    let part = w.reshape(&part, &dims);
    let (mut widths, mut reversed) = (Vec::new(), Vec::new());
    for (n, (axis, &k)) in axes.iter().zip(&ty.dims).enumerate() {
        let size = k as i64;
        let (first, count, by) = match *axis {
            Axis::Fixed(at) => (at, 1, 1),
            Axis::Moves { var, step, start } => {
                let count = sizes[var] as i64;
                let first = if step < 0 { start + step * (count - 1) } else { start };
                if step < 0 {
                    reversed.push(n);
                }
                (first, count, step.abs())
            }
        };
        let last = first + by * (count - 1);
        if last < 0 || first >= size {
            return w.zeros(ty);
        }
        widths.push((first, size - 1 - last, by - 1));
    }
    widths.extend(inner.iter().map(|_| (0, 0, 0)));
    let part = w.reverse(&part, &reversed);
    w.pad(&part, &widths)
}
