//! The partial derivatives of the table, from text to something that can be run or emitted.
//!
//! ```text
//! e ::= a | b | c | y | number | name(e, ..) | e op e | -e | (e)
//! ```
//! Operators and names are those of the table, plus `to_float(e)`, the conversion to the element
//! type of the result. A number takes the type its neighbours ask for.

use cotan_array::Dtype;

use super::{Notation, Op, Rule, Scalar, eval};

/// One step of an expression in postfix order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Push an argument of the operation.
    Arg(usize),
    /// Push the result of the operation.
    Result,
    /// Push a number, of whichever type fits.
    Number(f64),
    /// Apply an operation to the topmost values.
    Apply(Op),
    /// Convert the topmost value to the float type of the result.
    ToFloat,
}

/// An expression over the arguments and the result of an operation, in postfix order.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarExpr(Vec<Step>);

/// Why a text is not a [`ScalarExpr`], or does not fit its operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("partial derivative {text:?}: {message}")]
pub struct ScalarExprError {
    text: String,
    message: String,
}

/// Where an expression is evaluated: on scalars, or by emitting terms.
pub trait ScalarTarget {
    /// A value.
    type Value: Clone;
    /// What may go wrong.
    type Error;
    /// The number `x` of element type `dtype`.
    fn number(&mut self, x: f64, dtype: Dtype) -> Result<Self::Value, Self::Error>;
    /// The element type of a value.
    fn dtype(&self, x: &Self::Value) -> Dtype;
    /// An operation applied to values.
    fn apply(&mut self, op: Op, args: &[Self::Value]) -> Result<Self::Value, Self::Error>;
}

impl ScalarExpr {
    /// Parses an expression.
    pub fn parse(text: &str) -> Result<ScalarExpr, ScalarExprError> {
        let mut parser = Parser { text, rest: text, steps: Vec::new() };
        parser.expression(0)?;
        if !parser.rest.trim().is_empty() {
            return Err(parser.error("does not end here"));
        }
        Ok(ScalarExpr(parser.steps))
    }

    /// The steps in postfix order.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Whether it is the number `x`.
    pub fn is_number(&self, x: f64) -> bool {
        self.0 == [Step::Number(x)]
    }

    /// The condition of `where(p, 1, 0)` or `where(p, 0, 1)`, and whether it is 1 where that holds.
    pub fn as_choice(&self) -> Option<(ScalarExpr, bool)> {
        let (condition, last) = self.0.split_at(self.0.len().checked_sub(3)?);
        let holds = match last {
            [Step::Number(1.0), Step::Number(0.0), Step::Apply(Op::Select)] => true,
            [Step::Number(0.0), Step::Number(1.0), Step::Apply(Op::Select)] => false,
            _ => return None,
        };
        Some((ScalarExpr(condition.to_vec()), holds))
    }

    /// The value in `target`; `args` and `result` are the operation's own, and `float` is the
    /// element type that the expression has.
    pub fn emit<T: ScalarTarget>(
        &self,
        target: &mut T,
        args: &[T::Value],
        result: &T::Value,
        float: Dtype,
    ) -> Result<Option<T::Value>, T::Error> {
        /// A value, or a number still waiting for its type.
        enum Operand<V> {
            Typed(V),
            Number(f64),
        }
        let mut stack: Vec<Operand<T::Value>> = Vec::new();
        for step in &self.0 {
            match *step {
                Step::Arg(k) => match args.get(k) {
                    Some(x) => stack.push(Operand::Typed(x.clone())),
                    None => return Ok(None),
                },
                Step::Result => stack.push(Operand::Typed(result.clone())),
                Step::Number(x) => stack.push(Operand::Number(x)),
                Step::ToFloat => match stack.pop() {
                    Some(Operand::Typed(x)) => {
                        let op = if float == Dtype::F32 { Op::ToF32 } else { Op::ToF64 };
                        stack.push(Operand::Typed(target.apply(op, &[x])?));
                    }
                    Some(number @ Operand::Number(_)) => stack.push(number),
                    None => return Ok(None),
                },
                Step::Apply(op) => {
                    let Some(start) = stack.len().checked_sub(op.arity()) else { return Ok(None) };
                    let operands: Vec<_> = stack.drain(start..).collect();
                    // The type numbers take: that of a typed operand in a like position.
                    let like = operands.iter().enumerate().find_map(|(k, x)| match x {
                        Operand::Typed(x) if op.shares_type(k) => Some(target.dtype(x)),
                        Operand::Typed(_) | Operand::Number(_) => None,
                    });
                    let mut values = Vec::with_capacity(operands.len());
                    for (k, x) in operands.into_iter().enumerate() {
                        values.push(match x {
                            Operand::Typed(x) => x,
                            Operand::Number(x) if op.shares_type(k) => {
                                target.number(x, like.unwrap_or(float))?
                            }
                            Operand::Number(x) => target.number(x, Dtype::I64)?,
                        });
                    }
                    stack.push(Operand::Typed(target.apply(op, &values)?));
                }
            }
        }
        Ok(match (stack.pop(), stack.is_empty()) {
            (Some(Operand::Typed(x)), true) => Some(x),
            (Some(Operand::Number(x)), true) => Some(target.number(x, float)?),
            _ => None,
        })
    }

    /// The value on scalars, or `None` if the expression does not fit them.
    pub fn eval(&self, args: &[Scalar], result: Scalar, float: Dtype) -> Option<Scalar> {
        struct Eager {
            field: bool,
        }
        impl ScalarTarget for Eager {
            type Value = Scalar;
            type Error = ();
            fn number(&mut self, x: f64, dtype: Dtype) -> Result<Scalar, ()> {
                let x = super::cast(Scalar::F64(x), dtype);
                Ok(if self.field { x.into_field() } else { x })
            }
            fn dtype(&self, x: &Scalar) -> Dtype {
                match x {
                    Scalar::F64(_) | Scalar::Fp(_) => Dtype::F64,
                    Scalar::F32(_) => Dtype::F32,
                    Scalar::I64(_) => Dtype::I64,
                    Scalar::Bool(_) => Dtype::Bool,
                }
            }
            fn apply(&mut self, op: Op, args: &[Scalar]) -> Result<Scalar, ()> {
                let y = eval(op, args).ok_or(())?;
                Ok(if self.field { y.into_field() } else { y })
            }
        }
        let field = matches!(result, Scalar::Fp(_));
        self.emit(&mut Eager { field }, args, &result, float).ok().flatten()
    }
}

impl Op {
    /// Whether argument `k` has the type that the operation is generic in.
    fn shares_type(self, k: usize) -> bool {
        match self.row().rule {
            Rule::Numeric1(..) | Rule::Numeric2(..) | Rule::Real1(..) | Rule::Real2(..) => true,
            Rule::Compare(_) | Rule::Logic1(..) | Rule::Logic2(..) | Rule::Cast(_) => true,
            Rule::Int1(_) | Rule::Int2(_) | Rule::ToBits | Rule::FromBits => false,
            Rule::RealInt(..) => k == 0,
            Rule::IntReal(..) | Rule::Select => k > 0,
        }
    }

    /// The partial derivative by each argument, parsed; empty when the result is discrete.
    pub fn partials(self) -> Result<Vec<ScalarExpr>, ScalarExprError> {
        self.row().partials.iter().map(|text| ScalarExpr::parse(text)).collect()
    }
}

/// Recursive over the nesting of a table cell, which is ours and small.
struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    steps: Vec<Step>,
}

impl Parser<'_> {
    fn error(&self, message: &str) -> ScalarExprError {
        let at = self.text.len() - self.rest.len();
        ScalarExprError { text: self.text.to_string(), message: format!("{message} (at {at})") }
    }

    fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        let found = self.rest.strip_prefix(token);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn expect(&mut self, token: &str) -> Result<(), ScalarExprError> {
        if self.eat(token) { Ok(()) } else { Err(self.error(&format!("expected `{token}`"))) }
    }

    fn expression(&mut self, above: u8) -> Result<(), ScalarExprError> {
        self.operand()?;
        'chain: loop {
            self.rest = self.rest.trim_start();
            // Longest operators first, so that `<=` is not read as `<`.
            for length in [2, 1] {
                for op in Op::all() {
                    if let Notation::Infix(sign, strength) = op.row().notation
                        && sign.len() == length
                        && strength > above
                        && self.eat(sign)
                    {
                        self.expression(strength)?;
                        self.steps.push(Step::Apply(op));
                        continue 'chain;
                    }
                }
            }
            return Ok(());
        }
    }

    fn operand(&mut self) -> Result<(), ScalarExprError> {
        if self.eat("(") {
            self.expression(0)?;
            return self.expect(")");
        }
        if self.eat("-") {
            self.operand()?;
            match self.steps.last_mut() {
                Some(Step::Number(x)) => *x = -*x,
                _ => self.steps.push(Step::Apply(Op::Neg)),
            }
            return Ok(());
        }
        self.rest = self.rest.trim_start();
        let digits = self.rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, after) = self.rest.split_at(digits.unwrap_or(self.rest.len()));
        if let Ok(x) = number.parse() {
            self.rest = after;
            self.steps.push(Step::Number(x));
            return Ok(());
        }
        let letters = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, after) = self.rest.split_at(letters.unwrap_or(self.rest.len()));
        self.rest = after;
        if !self.eat("(") {
            self.steps.push(match name {
                "a" => Step::Arg(0),
                "b" => Step::Arg(1),
                "c" => Step::Arg(2),
                "y" => Step::Result,
                _ => return Err(self.error(&format!("unknown name `{name}`"))),
            });
            return Ok(());
        }
        let (step, arity) = match Op::from_name(name) {
            _ if name == "to_float" => (Step::ToFloat, 1),
            Some(op) => (Step::Apply(op), op.arity()),
            None => return Err(self.error(&format!("unknown operation `{name}`"))),
        };
        for k in 0..arity {
            if k > 0 {
                self.expect(",")?;
            }
            self.expression(0)?;
        }
        self.expect(")")?;
        self.steps.push(step);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Domain;
    use super::*;

    fn samples(domain: Domain) -> Vec<f64> {
        match domain {
            Domain::Any => vec![-1.7, -0.4, 0.3, 1.1, 2.6],
            Domain::Positive => vec![0.2, 0.9, 1.6, 3.3],
            Domain::NonZero => vec![-2.2, -0.6, 0.7, 1.9],
            Domain::Unit => vec![-0.8, -0.3, 0.1, 0.7],
            Domain::AboveOne => vec![1.2, 2.5, 4.1],
            Domain::BetweenSteps => vec![-3.3, -0.73, 0.31, 2.17],
            Domain::SmallNatural => vec![0.0, 1.0, 2.0, 3.0],
        }
    }

    /// The fault this is for: a wrong partial that merely has the right type.
    #[test]
    fn partials_are_the_slopes() {
        for op in Op::all() {
            let partials = op.partials().unwrap();
            let Some(types) = op.typings().into_iter().find(|t| t.contains(&Dtype::F64)) else {
                continue;
            };
            if partials.is_empty() {
                assert!(!op.result_dtype(&types).unwrap().is_float(), "{op}");
                continue;
            }
            assert_eq!(partials.len(), op.arity(), "{op}");
            let mut points = vec![vec![]];
            for &domain in op.row().domains {
                points = points
                    .iter()
                    .flat_map(|p: &Vec<f64>| {
                        samples(domain).into_iter().map(move |x| [&p[..], &[x]].concat())
                    })
                    .collect();
            }
            for point in points {
                check_slopes(op, &types, &partials, &point);
            }
        }
    }

    fn check_slopes(op: Op, types: &[Dtype], partials: &[ScalarExpr], point: &[f64]) {
        let typed = |point: &[f64]| -> Vec<Scalar> {
            let cast = |(x, d): (&f64, &Dtype)| super::super::cast(Scalar::F64(*x), *d);
            point.iter().zip(types).map(cast).collect()
        };
        let value = |point: &[f64]| eval(op, &typed(point)).unwrap();
        let as_f64 = |x: Scalar| match super::super::cast(x, Dtype::F64) {
            Scalar::F64(x) => x,
            other => panic!("{other:?}"),
        };
        for (k, partial) in partials.iter().enumerate() {
            if !types[k].is_float() {
                assert!(partial.is_number(0.0), "{op}: discrete argument {k}");
                continue;
            }
            if op == Op::StopGradient {
                continue; // says 0 on purpose
            }
            if op.arity() == 2 && op.row().name.starts_with('m') && point[0] == point[1] {
                continue; // the kink of min and max
            }
            // Conversion to f32 is linear but coarse.
            let h = if op == Op::ToF32 { 0.25 } else { 1e-5 };
            let tolerance = if op == Op::ToF32 { 1e-6 } else { 1e-8 };
            let moved = |by: f64| {
                let mut p = point.to_vec();
                p[k] += by;
                as_f64(value(&p))
            };
            // Richardson: error O(h^4).
            let slope =
                (8.0 * (moved(h) - moved(-h)) - (moved(2.0 * h) - moved(-2.0 * h))) / (12.0 * h);
            let got = partial.eval(&typed(point), value(point), Dtype::F64).unwrap();
            let got = as_f64(got);
            assert!(
                (got - slope).abs() <= tolerance * (1.0 + slope.abs()),
                "{op} by argument {k} at {point:?}: {got} against {slope}"
            );
        }
    }

    #[test]
    fn every_typing_of_every_partial_types() {
        for op in Op::all() {
            for types in op.typings() {
                let d = op.result_dtype(&types).unwrap();
                for partial in op.partials().unwrap() {
                    if !d.is_float() {
                        continue;
                    }
                    let zeros: Vec<Scalar> =
                        types.iter().map(|&t| Scalar::zero(t, false)).collect();
                    let y = eval(op, &zeros).unwrap();
                    assert!(partial.eval(&zeros, y, d).is_some(), "{op} {types:?} {partial:?}");
                }
            }
        }
    }

    #[test]
    fn malformed_cells_are_errors() {
        for text in ["", "a +", "sin(a", "sin(a, b)", "q", "f(a)", "a b", "(a", "1.2.3"] {
            assert!(ScalarExpr::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn precedence_is_the_tables() {
        let e = ScalarExpr::parse("1 + a * -b").unwrap();
        let y = e.eval(&[Scalar::F64(2.0), Scalar::F64(3.0)], Scalar::F64(0.0), Dtype::F64);
        assert_eq!(y, Some(Scalar::F64(-5.0)));
        let e = ScalarExpr::parse("a - b - 1").unwrap();
        let y = e.eval(&[Scalar::F64(2.0), Scalar::F64(3.0)], Scalar::F64(0.0), Dtype::F64);
        assert_eq!(y, Some(Scalar::F64(-2.0)));
    }
}
