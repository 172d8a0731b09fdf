//! The wrapper: what a user calls (Fig. dn-ad-wrapper).
//!
//! Names every input scalar, runs the transformed program on dual numbers, walks the Delta term
//! of the result backwards, and puts the cotangents in the places of the inputs.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::delta::{DVarName, Delta, IdGen};
use super::error::{Error, Result};
use super::reverse_pass::reverse_pass_4;
use super::run::run;
use super::syntax::{Name, Term};
use super::transform::{Sharing, transform};
use super::types::{Type, type_of};
use super::value::Value;

/// A dual number as a result of a program: the primal and the Delta term.
pub type Dual = (f64, Rc<Delta<f64>>);

/// `wrapper t inp ctg`: for `x : s |- t : R`, the value of `t` at `x = inp` and the gradient, of
/// the shape of `inp`, times the cotangent `ctg` of the result.
///
/// Integers and booleans have no derivative: their places in the gradient hold what they were.
///
/// ```
/// use cotan_ad::section2::{syntax::{fst, snd, var}, wrapper::wrapper};
///
/// // x1 * x1 + x2 at (3, 4)
/// let (x1, x2) = (fst(var("x")), snd(var("x")));
/// let t = &(&x1 * &x1) + &x2;
/// let (value, gradient) = wrapper("x", &t, &(3.0, 4.0).into(), 1.0)?;
/// assert_eq!(value, 13.0);
/// assert_eq!(gradient.to_string(), "(6.0, 1.0)");
/// # Ok::<(), cotan_ad::section2::error::Error>(())
/// ```
pub fn wrapper(x: impl Into<Name>, t: &Term, inp: &Value, ctg: f64) -> Result<(f64, Value)> {
    // (_, d) = runIdGen (let x = named inp in D[t]) 0
    let (value, d) = run_dual(x, t, inp, Sharing::Ids)?;
    let grad = reverse_pass_4(ctg, &d);
    Ok((value, reconstruct(&grad, &named(inp))))
}

/// `D[t]` run at `x = named inp`: the dual number of the result.
pub fn run_dual(x: impl Into<Name>, t: &Term, inp: &Value, sharing: Sharing) -> Result<Dual> {
    let x = x.into();
    if !is_source(inp) {
        return Err(Error::NotSource);
    }
    match type_of(&mut vec![(x.clone(), inp.ty())], t)? {
        Type::Real => {}
        got => {
            let what = "a program to differentiate";
            return Err(Error::Mismatch { what, expected: Type::Real, got });
        }
    }
    match run(&transform(t, sharing)?, &[(x, named(inp))], &mut IdGen::new())? {
        Value::Pair(both) => match (both.left(), both.right()) {
            (Value::Real(r), Value::Delta(d)) => Ok((*r, Rc::clone(d))),
            _ => Err(Error::Internal("no dual number")),
        },
        _ => Err(Error::Internal("no dual number")),
    }
}

/// Whether a value belongs to the source language.
fn is_source(v: &Value) -> bool {
    match v {
        Value::Real(_) | Value::Int(_) | Value::Bool(_) => true,
        Value::Pair(both) => is_source(both.left()) && is_source(both.right()),
        Value::Delta(_) | Value::TooLarge => false,
    }
}

/// `named :: s -> D[s]`: pairs each real with an `Input`, from left to right.
pub fn named(inp: &Value) -> Value {
    fn go(inp: &Value, next: &mut DVarName) -> Value {
        match inp {
            Value::Real(_) => {
                let name = *next;
                *next += 1;
                Value::pair(inp.clone(), Value::Delta(Rc::new(Delta::Input(name))))
            }
            Value::Pair(both) => {
                let left = go(both.left(), next);
                Value::pair(left, go(both.right(), next))
            }
            Value::Int(_) | Value::Bool(_) | Value::Delta(_) | Value::TooLarge => inp.clone(),
        }
    }
    go(inp, &mut 0)
}

/// `reconstruct :: Map DVarName R -> D[s] -> s`: the cotangent of each input in its place.
///
/// The report looks every name up (`grad ! 0`), but the gradient holds only the inputs that the
/// result depends on: the others have the cotangent 0.
pub fn reconstruct(grad: &BTreeMap<DVarName, f64>, dual_inp: &Value) -> Value {
    match dual_inp {
        Value::Pair(both) => match (both.left(), both.right()) {
            (Value::Real(_), Value::Delta(d)) => match **d {
                Delta::Input(name) => Value::Real(grad.get(&name).copied().unwrap_or(0.0)),
                Delta::Zero | Delta::Add(..) | Delta::Scale(..) | Delta::Share(..) => {
                    Value::Real(0.0)
                }
            },
            (left, right) => Value::pair(reconstruct(grad, left), reconstruct(grad, right)),
        },
        Value::Real(_) | Value::Int(_) | Value::Bool(_) | Value::Delta(_) | Value::TooLarge => {
            dual_inp.clone()
        }
    }
}
