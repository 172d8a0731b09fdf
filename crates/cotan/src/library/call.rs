//! Calls of the standard library, which all front ends share.

use cotan_array::Dtype;
use cotan_library::{Arg, Function, Given};

use crate::arr::Arr;
use crate::element::Element;
use crate::stage::{Raw, emit_all};

/// An argument of a function of the library.
pub(crate) enum In {
    Array(Raw),
    Arrays(Vec<Raw>),
    Known(Arg),
}

impl<T: Element> From<Arr<T>> for In {
    fn from(x: Arr<T>) -> In {
        In::Array(x.raw)
    }
}

impl<T: Element> From<&[Arr<T>]> for In {
    fn from(xs: &[Arr<T>]) -> In {
        In::Arrays(xs.iter().map(|x| x.raw).collect())
    }
}

/// What is not given is the default.
impl<I: Into<In>> From<Option<I>> for In {
    fn from(arg: Option<I>) -> In {
        arg.map_or(In::Known(Arg::Default), Into::into)
    }
}

macro_rules! known {
    ($($ty:ty: |$x:ident| $arg:expr;)*) => { $(
        impl From<$ty> for In {
            fn from($x: $ty) -> In {
                In::Known($arg)
            }
        }
    )* };
}

/// A number that is too large for an integer is too large for a size.
fn int(k: usize) -> i64 {
    i64::try_from(k).unwrap_or(i64::MAX)
}

known! {
    bool: |x| Arg::Flag(x);
    f64: |x| Arg::Real(x);
    i64: |x| Arg::Int(x);
    i32: |x| Arg::Int(i64::from(x));
    u32: |x| Arg::Int(i64::from(x));
    usize: |x| Arg::Int(int(x));
    Vec<i64>: |x| Arg::Ints(x);
    Vec<usize>: |x| Arg::Ints(x.into_iter().map(int).collect());
    Dtype: |x| Arg::Dtype(x);
    &str: |x| Arg::Word(x.to_owned());
}

/// The arrays that a function of the library makes of arguments by their names; `None` after an
/// error, which gets the name under which the function was called.
#[track_caller]
pub(crate) fn call_all(
    name: &'static str,
    function: &Function,
    args: Vec<(&'static str, In)>,
) -> Option<Vec<Raw>> {
    let mut operands = Vec::new();
    for (_, arg) in &args {
        match arg {
            In::Array(x) => operands.push(*x),
            In::Arrays(xs) => operands.extend(xs),
            In::Known(_) => {}
        }
    }
    emit_all(name, &operands, |b, ts| {
        let mut slots = vec![Arg::Default; function.params.len()];
        let mut terms = ts.iter().copied();
        for (param, arg) in args {
            let Some(slot) = function.params.iter().position(|p| p.name == param) else {
                let message = format!("`{}` has no parameter `{param}`", function.name);
                return Err(cotan_ir::Error::internal(message));
            };
            slots[slot] = match arg {
                In::Array(_) => terms.next().map_or(Arg::Default, Arg::Array),
                In::Arrays(xs) => Arg::Arrays(terms.by_ref().take(xs.len()).collect()),
                In::Known(arg) => arg,
            };
        }
        Ok(match function.call(b, &slots).0? {
            Given::One(t) => vec![t],
            Given::Several(ts) => ts,
            Given::Complex(parts) => parts.to_vec(),
        })
    })
}

/// [`call_all`] of a function that gives one array.
#[track_caller]
pub(crate) fn call<T: Element>(
    name: &'static str,
    function: &Function,
    args: Vec<(&'static str, In)>,
) -> Arr<T> {
    let made = call_all(name, function, args);
    made.and_then(|made| made.first().map(|&raw| Arr::from_raw(raw))).unwrap_or_else(Arr::nothing)
}

/// `library!("sum_axis", sum(x = self, axis = axes))`: the function `sum` of the library, called
/// under the name `sum_axis`.
macro_rules! library {
    ($name:expr, $f:ident($($param:ident = $arg:expr),* $(,)?)) => {
        $crate::library::call::call(
            $name,
            &cotan_library::functions::$f,
            vec![$((stringify!($param), $crate::library::call::In::from($arg))),*],
        )
    };
}

pub(crate) use library;
