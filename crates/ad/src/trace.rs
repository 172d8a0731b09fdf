//! Where a number that is not finite comes from.
//!
//! A program is run operation by operation in [`Eager`], which keeps a log of all of them. From a
//! result, or a derivative, that is NaN or infinite the log is followed back, element by element where
//! operations are elementwise, to the operation of which no operand is: that one made it. What is
//! masked on the way (a branch not taken, a factor that a zero annihilates) is not met.

use std::cell::RefCell;
use std::rc::Rc;

use cotan_interp::Value;
use cotan_ir::scalar::{Op, Scalar};
use cotan_ir::{Program, Result, Span, Type};
use rustc_hash::FxHashMap;

use crate::algebra::{Algebra, interpret};
use crate::dual::Dual;
use crate::eager::Eager;
use crate::transpose::reverse_pass;

/// What an operation took and gave.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    op: String,
    /// The scalar operation, if it is one.
    scalar: Option<Op>,
    span: Span,
    operands: Vec<Rc<Value>>,
}

/// All operations of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    span: Span,
    /// Which operation each value is the result of; the values are kept, so that their addresses stay
    /// theirs.
    made: FxHashMap<*const Value, (Rc<Value>, Entry)>,
}

impl Log {
    /// The next operations come from this place.
    pub(crate) fn at(&mut self, span: Span) {
        if !span.is_none() {
            self.span = span;
        }
    }

    /// Takes note of an operation.
    pub(crate) fn note(
        &mut self,
        (op, scalar): (String, Option<Op>),
        operands: &[Rc<Value>],
        results: &[Rc<Value>],
    ) {
        for result in results {
            let entry =
                Entry { op: op.clone(), scalar, span: self.span, operands: operands.to_vec() };
            self.made.insert(Rc::as_ptr(result), (Rc::clone(result), entry));
        }
    }
}

/// A result or derivative that is not finite, and where that comes from.
#[derive(Clone, Debug)]
pub struct NonFinite {
    /// Whether it is a derivative; a value otherwise.
    pub in_derivative: bool,
    /// The position of the output, or for a derivative of the input.
    pub number: usize,
    /// The element.
    pub index: Vec<usize>,
    /// What it is: NaN or an infinity.
    pub value: f64,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a number that is not finite comes from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// An argument has it.
    Input {
        /// The position of the input.
        number: usize,
        /// The element.
        index: Vec<usize>,
    },
    /// A constant of the program has it.
    Constant,
    /// An operation made it of operands that have none.
    Operation {
        /// The operation.
        op: String,
        /// Where it was written; for a derivative, where that of which it is the derivative was.
        span: Span,
        /// The element of its result.
        index: Vec<usize>,
        /// What it made.
        made: f64,
        /// The types of the operands, and their elements where the operation is elementwise.
        operands: Vec<(Type, Option<String>)>,
    },
}

fn real(x: Scalar) -> Option<f64> {
    match x {
        Scalar::F64(x) => Some(x),
        Scalar::F32(x) => Some(f64::from(x)),
        Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => None,
    }
}

fn text(x: Scalar) -> String {
    match x {
        Scalar::F64(x) => format!("{x:?}"),
        Scalar::F32(x) => format!("{x:?}"),
        Scalar::I64(x) => x.to_string(),
        Scalar::Bool(x) => x.to_string(),
        Scalar::Fp(x) => format!("{x:?}"),
    }
}

/// The number at a place, if it is not finite.
fn bad(value: &Value, place: usize) -> Option<f64> {
    value.elements().get(place).and_then(|&x| real(x)).filter(|x| !x.is_finite())
}

/// The first place with a NaN, or else with an infinity.
fn worst(value: &Value) -> Option<(usize, f64)> {
    let all = || (0..value.elements().len()).filter_map(|k| Some((k, bad(value, k)?)));
    all().find(|(_, x)| x.is_nan()).or_else(|| all().next())
}

fn index_of(ty: &Type, place: usize) -> Vec<usize> {
    let mut rest = place;
    let mut index: Vec<usize> = ty
        .shape
        .dims()
        .iter()
        .rev()
        .map(|&k| {
            let i = rest % k.max(1);
            rest /= k.max(1);
            i
        })
        .collect();
    index.reverse();
    index
}

impl Log {
    /// The operand that an element of a result that is not finite comes from, and the place there.
    fn step(&self, entry: &Entry, result: &Value, place: usize) -> Option<(Rc<Value>, usize)> {
        let is_nan = bad(result, place).is_some_and(f64::is_nan);
        // NaN comes from NaN; an infinity from either.
        let counts = |x: f64| x.is_nan() || !is_nan;
        if let Some(op) = entry.scalar {
            let chosen = |n: usize| match (op, entry.operands.first()) {
                // Only what was selected.
                (Op::Select, Some(mask)) => {
                    let yes = mask.elements().get(place) == Some(&Scalar::Bool(true));
                    n == if yes { 1 } else { 2 }
                }
                _ => true,
            };
            let operands = entry.operands.iter().enumerate().filter(|(n, _)| chosen(*n));
            let mut from = operands.filter(|(_, x)| bad(x, place).is_some_and(counts));
            return from.next().map(|(_, x)| (Rc::clone(x), place));
        }
        entry.operands.iter().find_map(|x| {
            let places = 0..x.elements().len();
            let first = places.clone().find(|&k| bad(x, k).is_some_and(f64::is_nan));
            let found = first.or_else(|| places.clone().find(|&k| bad(x, k).is_some_and(counts)));
            Some((Rc::clone(x), found?))
        })
    }

    fn origin(&self, inputs: &[Rc<Value>], value: &Rc<Value>, place: usize) -> Origin {
        let (mut value, mut place) = (Rc::clone(value), place);
        loop {
            let number = inputs.iter().position(|input| Rc::ptr_eq(input, &value));
            if let Some(number) = number {
                return Origin::Input { number, index: index_of(value.ty(), place) };
            }
            let Some((_, entry)) = self.made.get(&Rc::as_ptr(&value)) else {
                return Origin::Constant;
            };
            if entry.operands.is_empty() {
                return Origin::Constant;
            }
            match self.step(entry, &value, place) {
                Some(next) => (value, place) = next,
                None => {
                    let shown = |x: &Rc<Value>| {
                        let element = x.elements().get(place).filter(|_| entry.scalar.is_some());
                        (x.ty().clone(), element.map(|&x| text(x)))
                    };
                    return Origin::Operation {
                        op: entry.op.clone(),
                        span: entry.span,
                        index: index_of(value.ty(), place),
                        made: bad(&value, place).unwrap_or(f64::NAN),
                        operands: entry.operands.iter().map(shown).collect(),
                    };
                }
            }
        }
    }
}

/// Looks for a NaN or infinity among the results of a program of bulk operations, or, where these are
/// finite, among the derivatives of the sum of its results by the inputs `wrt`; and where it comes
/// from. `None` if all are finite.
pub fn trace_nan(program: &Program, wrt: &[usize], inputs: &[Value]) -> Result<Option<NonFinite>> {
    let log = Rc::new(RefCell::new(Log::default()));
    let mut engine = Eager { log: Some(Rc::clone(&log)), ..Eager::default() };
    let inputs: Vec<Rc<Value>> = inputs.iter().cloned().map(Rc::new).collect();
    let mut dual = Dual::new(&mut engine);
    let mut arguments = Vec::with_capacity(inputs.len());
    for (k, value) in inputs.iter().enumerate() {
        arguments.push(match wrt.contains(&k) {
            true => dual.input(k, Rc::clone(value)),
            false => dual.lift(Rc::clone(value)),
        });
    }
    let results = interpret(program, &arguments, &mut dual)?;
    let deltas = dual.deltas;
    let found = |in_derivative: bool, number: usize, value: &Rc<Value>| {
        let (place, number_there) = worst(value)?;
        Some(NonFinite {
            in_derivative,
            number,
            index: index_of(value.ty(), place),
            value: number_there,
            origin: log.borrow().origin(&inputs, value, place),
        })
    };
    let in_values = results.iter().enumerate().find_map(|(n, x)| found(false, n, &x.primal));
    if in_values.is_some() || wrt.is_empty() {
        return Ok(in_values);
    }
    let mut seeds = Vec::new();
    for result in &results {
        if let Some(delta) = result.delta {
            let ty: Type = engine.ty(&result.primal);
            seeds.push((delta, engine.number(1.0, &ty)?));
        }
    }
    let gradient = reverse_pass(&deltas, &seeds, inputs.len(), &mut engine)?;
    let mut gradients = gradient.iter().enumerate();
    Ok(gradients.find_map(|(k, x)| found(true, k, x.as_ref()?)))
}
