//! Positions of extremes, and sorting.

use cotan_array::Dtype;
use cotan_ir::scalar::Scalar;
use cotan_ir::{Extreme, Result, TermId};

use crate::emit::Emitter;
use crate::value::{Along, Profile, Ty, Val};
use crate::write::scattered;
use crate::writer::Writer;

impl Emitter<'_> {
    /// The first position of the extreme along the outermost axis, of the first NaN if there is one,
    /// 0 if there is nothing: the extreme, which is NaN if any element is, and the first position
    /// that has it. Two reductions of one array each are faster than one of pairs.
    pub(crate) fn arg_extreme(&mut self, ty: &Ty, extreme: Extreme, t: TermId) -> Result<Val> {
        let source = self.keys(t)?;
        if source.ty.is_empty() {
            return Ok(self.w.zeros(ty));
        }
        let w = &mut self.w;
        let (place, best) = match row_length(&source.ty.dims) {
            Some(length) => first_in_rows(w, &source, extreme, length),
            None => {
                let best = reduced(w, &source, extreme, 0);
                (first_place(w, &source, &best), best)
            }
        };
        if best.ty.dtype == self.program.dtype(t) {
            self.extremes.insert(place.name.clone(), (source, best));
        }
        Ok(place)
    }

    /// An array at the position of its extreme: the extreme, where that has been computed.
    pub(crate) fn read_extreme(&self, source: &Val, at: &[Val]) -> Option<Val> {
        let [at] = at else { return None };
        let (of, best) = self.extremes.get(&at.name)?;
        (of.name == source.name && best.ty.rank() == 0).then(|| best.clone())
    }

    /// The same along one axis, at all positions of the others.
    pub(crate) fn gathered_extreme(
        &self,
        source: &Val,
        at: &[Val],
        sizes: &[usize],
    ) -> Option<Val> {
        let (of, best) = at.iter().find_map(|i| self.extremes.get(&i.name))?;
        let ((base, order), (of_base, of_order)) =
            (self.w.untransposed(source), self.w.untransposed(of));
        if base.name != of_base.name || at.len() != order.len() || best.ty.dims != sizes {
            return None;
        }
        // The component along an axis of the array that has the extremes.
        let along = |axis: usize| at.get(order.iter().position(|&k| k == of_order[axis])?);
        let position = |axis: usize| Along { axis, what: Profile::Position };
        let others = 1..of_order.len();
        let is_place = self.extremes.get(&along(0)?.name).is_some_and(|(_, y)| y.name == best.name);
        let own = |n: usize| along(n).is_some_and(|i| i.along == Some(position(n - 1)));
        (is_place && others.into_iter().all(own)).then(|| best.clone())
    }

    /// For each of `k` segments the position of its extreme, as [`arg_extreme`](Emitter::arg_extreme)
    /// finds it; the size of the outermost axis where there is none: the extremes, and the first position
    /// that has each. Two scatters of one array each run in parallel where one of pairs does not.
    pub(crate) fn segment_arg(
        &mut self,
        ty: &Ty,
        extreme: Extreme,
        t: TermId,
        ids: TermId,
    ) -> Result<Val> {
        let (source, ids) = (self.keys(t)?, self.value(ids)?);
        let w = &mut self.w;
        let none = Scalar::I64(source.ty.dims[0] as i64);
        let no_places = w.fill(none, &ty.dims);
        if source.ty.is_empty() {
            return Ok(no_places);
        }
        let sizes = source.ty.dims.clone();
        let no_keys = w.fill(worst(source.ty.dtype, extreme), &ty.dims);
        let mut at = vec![ids];
        at.extend((1..sizes.len()).map(|axis| w.iota(axis, &sizes)));
        let best = scattered(w, operation(extreme), &no_keys, &at, &source, &sizes);
        // What is out of range reads anything, and is not written.
        let best = self.read_at(&best, &at, &sizes, &vec![true; at.len()]);
        let w = &mut self.w;
        let chosen = is_best(w, &source, &best);
        let (places, after) = (w.iota(0, &sizes), w.fill(none, &sizes));
        let places = w.select(&chosen, &places, &after);
        Ok(scattered(w, "minimum", &no_places, &at, &places, &sizes))
    }

    /// The stable permutation that sorts along the outermost axis, NaNs last.
    pub(crate) fn arg_sort(&mut self, ty: &Ty, t: TermId) -> Result<Val> {
        let source = self.keys(t)?;
        let w = &mut self.w;
        let places = w.iota(0, &source.ty.dims);
        let name = w.fresh();
        w.open(format_args!(
            "{name}:2 = \"stablehlo.sort\"({source}, {places}) <{{dimension = 0 : i64, is_stable = true}}> ({{"
        ));
        let (element, integer) = (source.ty.element(), Ty::integer());
        let [a, b, i, j] = [(); 4].map(|()| w.fresh());
        w.bare(format_args!(
            "^bb0({a}: {element}, {b}: {element}, {i}: {integer}, {j}: {integer}):"
        ));
        let (a, b) = (Val::new(a, element.clone()), Val::new(b, element.clone()));
        let mut less = w.compare("LT", &a, &b);
        if element.dtype.is_float() {
            let (number, last) = (w.compare("EQ", &a, &a), w.is_nan(&b));
            let before = w.binary("and", &number, &last);
            less = w.binary("or", &less, &before);
        }
        w.give(&[less]);
        let (source, places) = (&source.ty, &places.ty);
        w.close(format_args!("}}) : ({source}, {places}) -> ({source}, {places})"));
        Ok(Val::new(format!("{name}#1"), ty.clone()))
    }

    /// What is compared: truth values as integers.
    fn keys(&mut self, t: TermId) -> Result<Val> {
        let source = self.value(t)?;
        Ok(match source.ty.dtype {
            Dtype::Bool => self.w.convert(&source, Dtype::I64),
            Dtype::F64 | Dtype::F32 | Dtype::I64 => source,
        })
    }
}

/// Rows of up to this many elements are searched for the extreme of a vector.
const MAX_ROW: usize = 512;
const MIN_ROW: usize = 16;

/// The length of the rows that a long vector is cut into, if it can be cut evenly.
fn row_length(dims: &[usize]) -> Option<usize> {
    let &[length] = dims else { return None };
    let long = length >= MIN_ROW * MAX_ROW;
    (MIN_ROW..=MAX_ROW).rev().find(|row| long && length % row == 0)
}

/// The first position of the extreme of a vector, and the extreme: the row that has it, and then the
/// place in that row, so that only the extremes of rows look at everything.
fn first_in_rows(w: &mut Writer, source: &Val, extreme: Extreme, length: usize) -> (Val, Val) {
    let rows = w.reshape(source, &[source.ty.dims[0] / length, length]);
    let of_rows = reduced(w, &rows, extreme, 1);
    let best = reduced(w, &of_rows, extreme, 0);
    let row = first_place(w, &of_rows, &best);
    let by = w.index(length);
    let start = w.binary("multiply", &row, &by);
    let elements = w.dynamic_slice(source, std::slice::from_ref(&start), &[length]);
    let within = first_place(w, &elements, &best);
    (w.binary("add", &start, &within), best)
}

/// The first position along the outermost axis that has the extreme, which is NaN if anything is.
fn first_place(w: &mut Writer, source: &Val, best: &Val) -> Val {
    let dims = source.ty.dims.clone();
    let axes: Vec<usize> = (1..dims.len()).collect();
    let best = w.broadcast(best, &axes, &dims);
    let chosen = is_best(w, source, &best);
    let (places, after) = (w.iota(0, &dims), w.fill(Scalar::I64(i64::MAX), &dims));
    let places = w.select(&chosen, &places, &after);
    let after = w.fill(Scalar::I64(i64::MAX), &[]);
    w.reduce("minimum", &places, &after, &[0])
}

/// Which elements are the extreme, or NaN.
fn is_best(w: &mut Writer, source: &Val, best: &Val) -> Val {
    let chosen = w.compare("EQ", source, best);
    if !source.ty.dtype.is_float() {
        return chosen;
    }
    let odd = w.is_nan(source);
    w.binary("or", &chosen, &odd)
}

/// The extreme along an axis, NaN if anything is.
fn reduced(w: &mut Writer, source: &Val, extreme: Extreme, axis: usize) -> Val {
    let start = w.fill(worst(source.ty.dtype, extreme), &[]);
    w.reduce(operation(extreme), source, &start, &[axis])
}

fn operation(extreme: Extreme) -> &'static str {
    match extreme {
        Extreme::Max => "maximum",
        Extreme::Min => "minimum",
    }
}

/// An element that is no better than any other.
fn worst(dtype: Dtype, extreme: Extreme) -> Scalar {
    let sign = match extreme {
        Extreme::Max => -1.0,
        Extreme::Min => 1.0,
    };
    match dtype {
        Dtype::F64 => Scalar::F64(sign * f64::INFINITY),
        Dtype::F32 => Scalar::F32(sign as f32 * f32::INFINITY),
        Dtype::I64 | Dtype::Bool => match extreme {
            Extreme::Max => Scalar::I64(i64::MIN),
            Extreme::Min => Scalar::I64(i64::MAX),
        },
    }
}
