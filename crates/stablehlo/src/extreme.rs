//! Positions of extremes, and sorting.

use cotan_array::Dtype;
use cotan_ir::scalar::Scalar;
use cotan_ir::{Extreme, Result, TermId};

use crate::emit::Emitter;
use crate::read::positions;
use crate::value::{Ty, Val};
use crate::writer::{Writer, list};

impl Emitter<'_> {
    /// The first position of the extreme along the outermost axis, of the first NaN if there is one,
    /// 0 if there is nothing: a reduction of pairs of an element and its position.
    pub(crate) fn arg_extreme(&mut self, ty: &Ty, extreme: Extreme, t: TermId) -> Result<Val> {
        let source = self.keys(t)?;
        let w = &mut self.w;
        if source.ty.is_empty() {
            return Ok(w.zeros(ty));
        }
        let places = w.iota(0, &source.ty.dims);
        let element = source.ty.element();
        let start = w.fill(worst(element.dtype, extreme), &[]);
        let after = w.fill(Scalar::I64(i64::MAX), &[]);
        let name = w.fresh();
        let (kept, kept_places) = (ty.with_dtype(element.dtype), ty);
        w.line(format_args!(
            "{name}:2 = stablehlo.reduce({source} init: {start}), ({places} init: {after}) across dimensions = [0] : ({}, {}, {}, {}) -> ({kept}, {kept_places})",
            source.ty, places.ty, start.ty, after.ty
        ));
        let (first, second) = candidates(w, &element);
        w.open(format_args!(
            " reducer({}: {element}, {}: {element}) ({}: {integer}, {}: {integer}) {{",
            first.key,
            second.key,
            first.place,
            second.place,
            integer = Ty::integer(),
        ));
        give_winner(w, extreme, &first, &second);
        w.close("}");
        Ok(Val::new(format!("{name}#1"), ty.clone()))
    }

    /// For each of `k` segments the position of its extreme, as [`arg_extreme`](Emitter::arg_extreme)
    /// finds it; the size of the outermost axis where there is none. A scatter of pairs of an element
    /// and its position that keeps the better one.
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
        let (sizes, element) = (source.ty.dims.clone(), source.ty.element());
        let no_keys = w.fill(worst(element.dtype, extreme), &ty.dims);
        let mut at = vec![ids];
        at.extend((1..sizes.len()).map(|axis| w.iota(axis, &sizes)));
        let targets = positions(w, &at, &sizes);
        let places = w.iota(0, &sizes);
        let name = w.fresh();
        w.open(format_args!(
            "{name}:2 = \"stablehlo.scatter\"({no_keys}, {no_places}, {targets}, {source}, {places}) <{{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [{axes}], scatter_dims_to_operand_dims = [{axes}], index_vector_dim = {}>, unique_indices = false}}> ({{",
            sizes.len(),
            axes = list(0..sizes.len()),
        ));
        let (first, second) = candidates(w, &element);
        w.bare(format_args!(
            "^bb0({}: {element}, {}: {integer}, {}: {element}, {}: {integer}):",
            first.key,
            first.place,
            second.key,
            second.place,
            integer = Ty::integer(),
        ));
        give_winner(w, extreme, &first, &second);
        w.close(format_args!(
            "}}) : ({keys}, {ty}, {}, {}, {}) -> ({keys}, {ty})",
            targets.ty,
            source.ty,
            places.ty,
            keys = no_keys.ty,
        ));
        Ok(Val::new(format!("{name}#1"), ty.clone()))
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

/// An element with its position.
struct Candidate {
    key: Val,
    place: Val,
}

fn candidates(w: &mut Writer, element: &Ty) -> (Candidate, Candidate) {
    let mut candidate = || Candidate {
        key: Val::new(w.fresh(), element.clone()),
        place: Val::new(w.fresh(), Ty::integer()),
    };
    (candidate(), candidate())
}

/// Ends a region with the better one: the extreme, the earlier among equals, a NaN before all else.
fn give_winner(w: &mut Writer, extreme: Extreme, first: &Candidate, second: &Candidate) {
    let (a, b) = (&first.key, &second.key);
    let better = match extreme {
        Extreme::Max => "GT",
        Extreme::Min => "LT",
    };
    let (more, same) = (w.compare(better, a, b), w.compare("EQ", a, b));
    let before = w.compare("LT", &first.place, &second.place);
    let earlier = w.binary("and", &same, &before);
    let mut wins = w.binary("or", &more, &earlier);
    if a.ty.dtype.is_float() {
        // A NaN wins against everything but an earlier one.
        let (odd, other) = (w.is_nan(a), w.is_nan(b));
        let first_odd = w.select(&other, &before, &odd);
        let against = w.binary("and", &odd, &first_odd);
        let plain = w.unary("not", &other);
        let wins_plain = w.binary("and", &wins, &plain);
        wins = w.binary("or", &against, &wins_plain);
    }
    let key = w.select(&wins, a, b);
    let place = w.select(&wins, &first.place, &second.place);
    w.give(&[key, place]);
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
