//! The same Delta run forwards: the derivative along given tangents of the inputs.

use cotan_ir::scalar::Op;
use cotan_ir::{Error, Result};

use crate::algebra::Algebra;
use crate::delta::{Delta, DeltaId, Deltas};
use crate::map_accum::forward_loop;
use crate::while_loop::forward_while;

/// The tangent of every term, none where it is zero, from tangents of the inputs.
pub fn forward_pass<A: Algebra>(
    deltas: &Deltas<A>,
    tangents: &[Option<A::T>],
    a: &mut A,
) -> Result<Vec<Option<A::T>>> {
    let mut values: Vec<Option<A::T>> = Vec::with_capacity(deltas.len());
    let mut results: Vec<Vec<Option<A::T>>> = Vec::with_capacity(deltas.len());
    for d in deltas.ids() {
        let mut of_loop = Vec::new();
        let value = match deltas.get(d) {
            Delta::MapAccum(m) => {
                if let Some(inputs) = moving(&m.deltas, &values) {
                    of_loop = forward_loop(a, m, &inputs)?;
                }
                None
            }
            Delta::While(w) => {
                if let Some(inputs) = moving(&w.deltas, &values) {
                    of_loop = forward_while(a, w, &inputs)?;
                }
                None
            }
            Delta::Custom(c) => {
                if let Some(inputs) = moving(&c.deltas, &values) {
                    of_loop = c.forward(a, &inputs)?;
                }
                None
            }
            Delta::Result(loop_, n) => results[loop_.index()].get(*n).cloned().flatten(),
            _ => eval(deltas, d, tangents, &values, a)?,
        };
        values.push(value);
        results.push(of_loop);
    }
    Ok(values)
}

/// The tangents of some terms, if any of them moves.
fn moving<T: Clone>(deltas: &[Option<DeltaId>], values: &[Option<T>]) -> Option<Vec<Option<T>>> {
    let tangents: Vec<Option<T>> =
        deltas.iter().map(|d| d.and_then(|d| values[d.index()].clone())).collect();
    tangents.iter().any(|t| t.is_some()).then_some(tangents)
}

/// The meaning of each constructor: that of the former it is named after.
fn eval<A: Algebra>(
    deltas: &Deltas<A>,
    d: DeltaId,
    tangents: &[Option<A::T>],
    values: &[Option<A::T>],
    a: &mut A,
) -> Result<Option<A::T>> {
    let at = |d: &DeltaId| values[d.index()].as_ref();
    let ty = deltas.ty(d);
    Ok(match deltas.get(d) {
        Delta::Input(k) => tangents.get(*k).cloned().flatten(),
        Delta::Add(d1, d2) => a.plus(at(d1).cloned(), at(d2).cloned())?,
        Delta::Scale(factor, d) => at(d).map(|x| a.scale(x, factor)).transpose()?,
        Delta::StrongScale(factor, d) => at(d).map(|x| a.strong_scale(x, factor)).transpose()?,
        Delta::Index(d, ix) => at(d).map(|x| a.index(x, ix)).transpose()?,
        Delta::SumOuter(d) => at(d).map(|x| a.sum_outer(x)).transpose()?,
        Delta::Gather(d, f) => at(d).map(|x| a.gather(x, f)).transpose()?,
        Delta::Scatter(sh, d, f) => at(d).map(|x| a.scatter(sh.dims(), x, f)).transpose()?,
        Delta::LitArray(ds) => {
            if ds.iter().flatten().all(|d| at(d).is_none()) {
                return Ok(None);
            }
            let element = crate::algebra::element(ty);
            let mut parts = Vec::with_capacity(ds.len());
            for d in ds {
                parts.push(match d.as_ref().and_then(at) {
                    Some(x) => x.clone(),
                    None => a.number(0.0, &element)?,
                });
            }
            Some(a.stack(&parts)?)
        }
        Delta::Replicate(k, d) => at(d).map(|x| a.replicate(*k, x)).transpose()?,
        Delta::Transpose(perm, d) => at(d).map(|x| a.transpose(perm, x)).transpose()?,
        Delta::Reshape(d) => at(d).map(|x| a.reshape(ty.shape.dims(), x)).transpose()?,
        Delta::Cast(d) => {
            let op = if ty.dtype == cotan_array::Dtype::F32 { Op::ToF32 } else { Op::ToF64 };
            at(d).map(|x| a.op(op, std::slice::from_ref(x))).transpose()?
        }
        Delta::Select(b, d1, d2) | Delta::Cond(b, d1, d2) => {
            let (x, y) = (d1.as_ref().and_then(at), d2.as_ref().and_then(at));
            if x.is_none() && y.is_none() {
                return Ok(None);
            }
            let zero = a.number(0.0, ty)?;
            let (x, y) = (x.unwrap_or(&zero).clone(), y.unwrap_or(&zero).clone());
            Some(match deltas.get(d) {
                Delta::Cond(..) => a.cond(b, &x, &y)?,
                _ => a.op(Op::Select, &[b.clone(), x, y])?,
            })
        }
        Delta::OneHot(place, d) => {
            at(d).map(|x| a.one_hot(place.0.dims(), x, &place.1)).transpose()?
        }
        Delta::Routine(of, d) => match at(d) {
            Some(x) => {
                let (routine, fixed) = &**of;
                let operands: Vec<A::T> = fixed.iter().chain([x]).cloned().collect();
                Some(a.routine(*routine, &operands)?)
            }
            None => None,
        },
        Delta::MapAccum(_) | Delta::While(_) | Delta::Custom(_) | Delta::Result(..) => {
            return Err(Error::internal("a term with several results is run as a whole"));
        }
    })
}
