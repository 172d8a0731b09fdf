//! Positions of extremes, and sorting.

use cotan_array::Dtype;
use cotan_ir::scalar::Scalar;
use cotan_ir::{Extreme, Result, TermId};

use crate::emit::Emitter;
use crate::value::{Ty, Val};
use crate::writer::Writer;

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
        let integer = Ty::integer();
        let pair = |w: &mut Writer, ty: &Ty| {
            (Val::new(w.fresh(), ty.clone()), Val::new(w.fresh(), ty.clone()))
        };
        let ((a, b), (i, j)) = (pair(w, &element), pair(w, &integer));
        w.open(format_args!(
            " reducer({a}: {element}, {b}: {element}) ({i}: {integer}, {j}: {integer}) {{"
        ));
        let better = match extreme {
            Extreme::Max => "GT",
            Extreme::Min => "LT",
        };
        let (more, same) = (w.compare(better, &a, &b), w.compare("EQ", &a, &b));
        let first = w.compare("LT", &i, &j);
        let earlier = w.binary("and", &same, &first);
        let mut wins = w.binary("or", &more, &earlier);
        if element.dtype.is_float() {
            // A NaN wins against everything but an earlier one.
            let (odd, other) = (w.is_nan(&a), w.is_nan(&b));
            let before = w.select(&other, &first, &odd);
            let against = w.binary("and", &odd, &before);
            let plain = w.unary("not", &other);
            let wins_plain = w.binary("and", &wins, &plain);
            wins = w.binary("or", &against, &wins_plain);
        }
        let (value, place) = (w.select(&wins, &a, &b), w.select(&wins, &i, &j));
        w.give(&[value, place]);
        w.close("}");
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
