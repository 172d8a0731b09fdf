//! Reads: single positions, and arrays of them. Out of range there are zeros.

use cotan_ir::{Affine, RegionId, Result, TermId};

use crate::affine::{self, Axis, Parts};
use crate::emit::Emitter;
use crate::through::read_through;
use crate::value::{Along, Profile, Ty, Val};
use crate::writer::{Writer, list};

impl Emitter<'_> {
    /// `index t ix`
    pub(crate) fn read(&mut self, ty: &Ty, t: TermId, ix: &[TermId]) -> Result<Val> {
        let source = self.value(t)?;
        let at = self.values(ix)?;
        if let Some(extreme) = self.read_extreme(&source, &at) {
            return Ok(extreme);
        }
        let dims = source.ty.dims.clone();
        let known: Option<Vec<i64>> = at.iter().map(Val::integer).collect();
        if let Some(known) = known {
            let forms: Vec<Axis> = known.into_iter().map(Axis::Fixed).collect();
            return Ok(strided(&mut self.w, &source, &forms, &[], ty));
        }
        if dims.contains(&0) {
            return Ok(self.w.zeros(ty));
        }
        let (starts, sizes) = window_at(&mut self.w, &at, &dims);
        let part = self.w.dynamic_slice(&source, &starts, &sizes);
        let part = self.w.reshape(&part, &ty.dims);
        let ranges: Vec<bool> =
            ix.iter().zip(&dims).map(|(&i, &k)| self.program.bounds(i).within(k)).collect();
        Ok(self.masked(&at, &dims, &ranges, &part))
    }

    /// `gather sh t (\is -> ix)`
    pub(crate) fn gather(&mut self, ty: &Ty, t: TermId, r: RegionId) -> Result<Val> {
        let source = self.value(t)?;
        let sizes = self.program.index_sizes(r).to_vec();
        if let Some(forms) = affine::forms(self.program, r) {
            let inner = source.ty.dims[forms.len()..].to_vec();
            let (forms, mut dims) = affine::split(&forms, &source.ty.dims, &sizes);
            dims.extend(inner);
            let source = self.w.reshape(&source, &dims);
            if let Some(y) = affine_read(&mut self.w, &source, &forms, &sizes, ty) {
                return Ok(y);
            }
        }
        if source.ty.is_empty() {
            return Ok(self.w.zeros(ty));
        }
        let whole = self.whole_axes(r, &source.ty.dims);
        let (sizes, at) = self.index_arrays(r, whole)?;
        let ranges: Vec<bool> = self.program.region(r).results()[..at.len()]
            .iter()
            .zip(&source.ty.dims)
            .map(|(&i, &k)| self.program.bounds(i).within(k))
            .collect();
        if let Some(extreme) = self.gathered_extreme(&source, &at, &sizes) {
            return Ok(extreme);
        }
        if let Some(found) = read_through(&mut self.w, &source, &at, &sizes)? {
            let dims = source.ty.dims[..at.len()].to_vec();
            return Ok(self.masked(&at, &dims, &ranges, &found));
        }
        Ok(self.read_at(&source, &at, &sizes, &ranges))
    }

    /// The sub-arrays at positions given by arrays of these sizes, one for each component. `ranges`
    /// says which components are known to be in range.
    pub(crate) fn read_at(
        &mut self,
        source: &Val,
        at: &[Val],
        sizes: &[usize],
        ranges: &[bool],
    ) -> Val {
        let found = positions_read(&mut self.w, source, at, sizes);
        let dims = source.ty.dims[..at.len()].to_vec();
        self.masked(at, &dims, ranges, &found)
    }

    /// `found` where the positions are in range, zeros elsewhere. The positions lie along the first
    /// axes of `found`.
    fn masked(&mut self, at: &[Val], dims: &[usize], ranges: &[bool], found: &Val) -> Val {
        let w = &mut self.w;
        let Some(inside) = in_range(w, at, dims, ranges) else { return found.clone() };
        let inside = match inside.ty.rank() {
            0 => inside,
            rank => w.broadcast(&inside, &(0..rank).collect::<Vec<_>>(), &found.ty.dims),
        };
        let zero = w.zeros(&found.ty);
        w.select(&inside, found, &zero)
    }
}

/// The first position of a window of one element along the axes of `at`, and of everything along the
/// others; and its sizes.
pub(crate) fn window_at(w: &mut Writer, at: &[Val], dims: &[usize]) -> (Vec<Val>, Vec<usize>) {
    let mut starts = at.to_vec();
    if at.len() < dims.len() {
        let zero = w.index(0);
        starts.resize(dims.len(), zero);
    }
    let sizes = vec![1; at.len()].into_iter().chain(dims[at.len()..].iter().copied()).collect();
    (starts, sizes)
}

/// Whether positions are in range, unless that is known of all.
pub(crate) fn in_range(w: &mut Writer, at: &[Val], dims: &[usize], ranges: &[bool]) -> Option<Val> {
    let mut inside: Option<Val> = None;
    for ((i, &k), _) in at.iter().zip(dims).zip(ranges).filter(|(_, known)| !**known) {
        let (zero, end) = (w.int(0, i), w.int(i64::try_from(k).unwrap_or(i64::MAX), i));
        let (low, high) = (w.compare("GE", i, &zero), w.compare("LT", i, &end));
        let both = w.binary("and", &low, &high);
        inside = Some(match inside {
            Some(others) => w.binary("and", &others, &both),
            None => both,
        });
    }
    inside
}

/// What is known of positions, given by arrays of these sizes, one for each component.
pub(crate) struct Hints {
    /// They ascend, the first component first, in row-major order.
    pub sorted: bool,
    /// None occurs twice.
    pub unique: bool,
}

impl Hints {
    pub fn new(at: &[Val], sizes: &[usize]) -> Hints {
        let axis = |i: &Val| match i.along {
            Some(Along { axis, what: Profile::Position }) => Some(axis),
            Some(Along { what: Profile::Step { .. }, .. }) | None => None,
        };
        let long: Vec<usize> = (0..sizes.len()).filter(|&k| sizes[k] > 1).collect();
        // As far as components count through the axes in their order, they decide.
        let leading: Vec<usize> = at.iter().map_while(axis).filter(|k| long.contains(k)).collect();
        let unique = long.iter().all(|&k| at.iter().any(|i| axis(i) == Some(k)));
        Hints { sorted: leading.starts_with(&long), unique }
    }
}

/// The sub-arrays at positions given by arrays of these sizes, each moved into the array where it is not
/// inside.
pub(crate) fn positions_read(w: &mut Writer, source: &Val, at: &[Val], sizes: &[usize]) -> Val {
    let inner = &source.ty.dims[at.len()..];
    let Hints { sorted, .. } = Hints::new(at, sizes);
    let places = positions(w, at, sizes);
    let ty = source.ty.with_dims(&[sizes, inner].concat());
    let window: Vec<usize> = vec![1; at.len()].into_iter().chain(inner.iter().copied()).collect();
    let body = format!(
        "\"stablehlo.gather\"({source}, {places}) <{{dimension_numbers = #stablehlo.gather<offset_dims = [{}], collapsed_slice_dims = [{}], start_index_map = [{}], index_vector_dim = {}>, indices_are_sorted = {sorted}, slice_sizes = array<i64: {}>}}> : ({}, {}) -> {ty}",
        list(sizes.len()..sizes.len() + inner.len()),
        list(0..at.len()),
        list(0..at.len()),
        sizes.len(),
        list(&window),
        source.ty,
        places.ty,
    );
    w.define(ty, body)
}

/// Components of positions along a new last axis.
pub(crate) fn positions(w: &mut Writer, at: &[Val], sizes: &[usize]) -> Val {
    let column: Vec<usize> = sizes.iter().copied().chain([1]).collect();
    let columns: Vec<Val> = at.iter().map(|i| w.reshape(i, &column)).collect();
    w.concatenate(&columns, sizes.len())
}

/// A read by an affine index function as slices, reversals, transposes and zeros around them, if it
/// is made of few.
pub(crate) fn affine_read(
    w: &mut Writer,
    source: &Val,
    forms: &[Affine],
    sizes: &[usize],
    ty: &Ty,
) -> Option<Val> {
    if let Some(axes) = affine::axes(forms) {
        return Some(strided(w, source, &axes, sizes, ty));
    }
    let Parts { var, sizes, forms } = affine::parts(forms, sizes)?;
    let mut dims = ty.dims.clone();
    dims[var] = 1;
    let ty = ty.with_dims(&dims);
    let parts: Option<Vec<Val>> =
        forms.iter().map(|forms| affine_read(w, source, forms, &sizes, &ty)).collect();
    Some(w.concatenate(&parts?, var))
}

/// A read of which each axis depends on a variable of its own.
pub(crate) fn strided(
    w: &mut Writer,
    source: &Val,
    axes: &[Axis],
    sizes: &[usize],
    ty: &Ty,
) -> Val {
    let (mut ranges, mut widths) = (Vec::new(), Vec::new());
    let (mut reversed, mut vars) = (Vec::new(), Vec::new());
    for (n, (axis, &k)) in axes.iter().zip(&source.ty.dims).enumerate() {
        match *axis {
            Axis::Fixed(at) => {
                let Ok(at) = usize::try_from(at) else { return w.zeros(ty) };
                if at >= k {
                    return w.zeros(ty);
                }
                ranges.push((at, at + 1, 1));
                widths.push((0, 0, 0));
            }
            Axis::Moves { var, step, start } => {
                let Some(run) = Run::new(step, start, sizes[var], k) else { return w.zeros(ty) };
                ranges.push(run.range);
                widths.push((run.before as i64, run.after as i64, 0));
                if step < 0 {
                    reversed.push(n);
                }
                vars.push(var);
            }
        }
    }
    let inner = source.ty.dims[axes.len()..].to_vec();
    ranges.extend(inner.iter().map(|&k| (0, k, 1)));
    widths.extend(inner.iter().map(|_| (0, 0, 0)));
    let part = w.slice(source, &ranges);
    let part = w.reverse(&part, &reversed);
    let part = w.pad(&part, &widths);
    let dims: Vec<usize> = vars.iter().map(|&k| sizes[k]).chain(inner.iter().copied()).collect();
    let part = w.reshape(&part, &dims);
    // The variables in their order, then the inner axes.
    let mut order: Vec<usize> = (0..vars.len()).collect();
    order.sort_by_key(|&n| vars[n]);
    let perm: Vec<usize> = order.iter().copied().chain(vars.len()..dims.len()).collect();
    let part = w.transpose(&part, &perm);
    let places: Vec<usize> =
        order.iter().map(|&n| vars[n]).chain((0..inner.len()).map(|n| sizes.len() + n)).collect();
    w.broadcast(&part, &places, &ty.dims)
}

/// The part of the positions `start + step * i` that lies within an axis.
struct Run {
    /// From, to (excluded) and by, upwards whatever the step.
    range: (usize, usize, usize),
    /// How many positions before and after are out of range.
    before: usize,
    after: usize,
}

impl Run {
    /// `None` if no position is in range.
    fn new(step: i64, start: i64, count: usize, size: usize) -> Option<Run> {
        let (step, start) = (i128::from(step), i128::from(start));
        let (last, end) = (count as i128 - 1, size as i128 - 1);
        let by = step.abs();
        // The first and the last `i` in range.
        let (first, most) = match step > 0 {
            true => (-(start.div_euclid(by)), (end - start).div_euclid(by)),
            false => (-((end - start).div_euclid(by)), start.div_euclid(by)),
        };
        let (first, most) = (first.max(0), most.min(last));
        if first > most {
            return None;
        }
        let (a, b) = (start + step * first, start + step * most);
        let index = |x: i128| usize::try_from(x).ok();
        Some(Run {
            range: (index(a.min(b))?, index(a.max(b) + 1)?, index(by)?),
            before: index(first)?,
            after: index(last - most)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the definition, for all small runs.
    #[test]
    fn runs_are_the_positions_in_range() {
        for step in (-3..=3).filter(|&step| step != 0) {
            for start in -7..=7 {
                for count in 1..5usize {
                    for size in 0..5usize {
                        let at = |i: usize| start + step * i as i64;
                        let inside = |i: &usize| at(*i) >= 0 && at(*i) < size as i64;
                        let found: Vec<usize> = (0..count).filter(inside).collect();
                        let Some(run) = Run::new(step, start, count, size) else {
                            assert!(found.is_empty(), "{step} {start} {count} {size}");
                            continue;
                        };
                        let (from, to, by) = run.range;
                        let mut read: Vec<usize> = (from..to).step_by(by).collect();
                        if step < 0 {
                            read.reverse();
                        }
                        let wanted: Vec<usize> = found.iter().map(|&i| at(i) as usize).collect();
                        assert_eq!(read, wanted, "{step} {start} {count} {size}");
                        assert_eq!(Some(&run.before), found.first());
                        assert_eq!(count - run.after, found.last().unwrap() + 1);
                    }
                }
            }
        }
    }
}
