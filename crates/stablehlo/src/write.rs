//! Writes: sums at computed positions, and single elements. What is out of range is dropped.

use cotan_array::Shape;
use cotan_ir::{RegionId, Result, TermId};

use crate::affine::{self, Axis, Form};
use crate::emit::Emitter;
use crate::read::{in_range, positions, window_at};
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
        let at = self.index_arrays(r)?;
        let unique = forms.is_some_and(|forms| hits_once(&forms, &sizes));
        Ok(self.add_at(ty, &source, &at, &sizes, unique))
    }

    /// The sum of the sub-arrays of `source` at positions given by arrays of these sizes, one for
    /// each component. `unique` if no position occurs twice.
    fn add_at(&mut self, ty: &Ty, source: &Val, at: &[Val], sizes: &[usize], unique: bool) -> Val {
        let w = &mut self.w;
        let places = positions(w, at, sizes);
        let zero = w.zeros(ty);
        let name = w.fresh();
        w.open(format_args!(
            "{name} = \"stablehlo.scatter\"({zero}, {places}, {source}) <{{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{}], inserted_window_dims = [{}], scatter_dims_to_operand_dims = [{}], index_vector_dim = {}>, unique_indices = {unique}}}> ({{",
            list(sizes.len()..source.ty.rank()),
            list(0..at.len()),
            list(0..at.len()),
            sizes.len(),
        ));
        let element = ty.element();
        let (a, b) = (Val::new(w.fresh(), element.clone()), Val::new(w.fresh(), element.clone()));
        w.bare(format_args!("^bb0({a}: {element}, {b}: {element}):"));
        let sum = w.binary("add", &a, &b);
        w.give(&[sum]);
        w.close(format_args!("}}) : ({}, {}, {}) -> {ty}", zero.ty, places.ty, source.ty));
        Val::new(name, ty.clone())
    }

    /// `oneHot sh v ix`
    pub(crate) fn one_hot(
        &mut self,
        ty: &Ty,
        outer: &Shape,
        v: TermId,
        ix: &[TermId],
    ) -> Result<Val> {
        let part = self.value(v)?;
        let at = self.values(ix)?;
        let ranges: Vec<bool> =
            ix.iter().zip(outer.dims()).map(|(&i, &k)| self.program.bounds(i).within(k)).collect();
        let w = &mut self.w;
        let zero = w.zeros(ty);
        let (starts, sizes) = window_at(w, &at, &ty.dims);
        let part = w.reshape(&part, &sizes);
        let written =
            if starts.is_empty() { part } else { w.dynamic_update_slice(&zero, &part, &starts) };
        Ok(match in_range(w, &at, outer.dims(), &ranges) {
            Some(inside) => w.select(&inside, &written, &zero),
            None => written,
        })
    }
}

/// Whether an affine index function takes no position twice: each variable alone in a component.
fn hits_once(forms: &[Form], sizes: &[usize]) -> bool {
    let alone = |k: usize| forms.iter().any(|form| form.vars().eq([k]));
    (0..sizes.len()).all(|k| sizes[k] == 1 || alone(k))
}

/// A scatter by an affine index function as sums, transposes, and zeros around and between elements,
/// if it is made of few.
fn affine_write(
    w: &mut Writer,
    source: &Val,
    forms: &[Form],
    sizes: &[usize],
    ty: &Ty,
) -> Option<Val> {
    if let Some(axes) = affine::axes(forms) {
        return Some(placed(w, source, &axes, sizes, ty));
    }
    if !affine::falls_apart(forms, sizes) {
        return None;
    }
    let var = affine::window(forms, sizes)?;
    let mut one = sizes.to_vec();
    one[var] = 1;
    let mut sum: Option<Val> = None;
    for value in 0..sizes[var] {
        let mut ranges: Vec<_> = source.ty.dims.iter().map(|&k| (0, k, 1)).collect();
        ranges[var] = (value, value + 1, 1);
        let part = w.slice(source, &ranges);
        let forms: Vec<Form> = forms.iter().map(|form| form.at(var, value)).collect();
        let part = affine_write(w, &part, &forms, &one, ty)?;
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
