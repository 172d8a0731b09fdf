//! Scalar operations on values: literals adapt, known operands fold, shapes broadcast.

use cotan_array::Dtype;
use cotan_ir::scalar::{self, Op, Rule, Scalar};
use cotan_ir::{Span, TermId, broadcast_dims};

use super::value::{Known, Value};
use super::{Elab, R, Reported};
use crate::ast::{BinaryOp, UnaryOp};
use crate::diagnostic::{Code, Diagnostic};

/// An operand and where it stands.
pub(crate) type Operand = (Value, Span);

/// What an operation is called in messages, and where it stands.
#[derive(Clone, Copy)]
struct Site<'a> {
    shown: &'a str,
    span: Span,
}

impl Elab<'_> {
    /// `a op b`: folded when both are known.
    pub(crate) fn infix(&mut self, op: BinaryOp, a: Operand, b: Operand, span: Span) -> R<Value> {
        let site = Site { shown: op.text(), span };
        self.over_structures(op.text(), vec![a, b], span, &mut |this, mut args| match (
            op,
            args.len(),
        ) {
            (BinaryOp::Pow, 2) => {
                let b = args.remove(1);
                this.power(args.remove(0), b, site)
            }
            _ => this.fold_or_apply(row_of(op), &args, site),
        })
    }

    /// `-a`, `not a`: folded when known.
    pub(crate) fn prefix(&mut self, op: UnaryOp, a: Operand, span: Span) -> R<Value> {
        let row = match op {
            UnaryOp::Neg => Op::Neg,
            UnaryOp::Not => Op::Not,
        };
        let site = Site { shown: op.text(), span };
        self.over_structures(op.text(), vec![a], span, &mut |this, args| {
            this.fold_or_apply(row, &args, site)
        })
    }

    /// `name(a, ..)`: the node itself, never folded.
    pub(crate) fn row(&mut self, op: Op, args: &[Operand], span: Span) -> R<Value> {
        let site = Site { shown: op.name(), span };
        self.over_structures(op.name(), args.to_vec(), span, &mut |this, args| {
            this.apply_row(op, &args, site).map(Value::Term)
        })
    }

    fn fold_or_apply(&mut self, op: Op, args: &[Operand], site: Site<'_>) -> R<Value> {
        let known: Option<Vec<Known>> = args
            .iter()
            .map(|(value, _)| match value {
                Value::Known(known) => Some(*known),
                _ => None,
            })
            .collect();
        let Some(known) = known else {
            return self.apply_row(op, args, site).map(Value::Term);
        };
        let dtypes = self.operand_dtypes(op, args, site)?;
        let operands: Option<Vec<Scalar>> =
            known.iter().zip(&dtypes).map(|(k, &dtype)| k.adapt(dtype).map(|k| k.value)).collect();
        match operands.and_then(|operands| scalar::eval(op, &operands)) {
            Some(value) => {
                let origin = self.origin(op, &known);
                Ok(Value::Known(Known { value, adapts: known.iter().all(|k| k.adapts), origin }))
            }
            None => Err(self.wrong_operands(op, args, site)),
        }
    }

    /// `a ** b`: an integer power where `b` is an integer.
    fn power(&mut self, a: Operand, b: Operand, site: Site<'_>) -> R<Value> {
        if let (Some(base), Some(exponent)) = (a.0.known_int(), b.0.known_int())
            && let Ok(exponent) = u32::try_from(exponent)
        {
            let adapts =
                matches!((&a.0, &b.0), (Value::Known(a), Value::Known(b)) if a.adapts && b.adapts);
            let value = Scalar::I64(base.wrapping_pow(exponent));
            let mut known = Known::new(value, adapts);
            if let (Value::Known(a), Value::Known(b)) = (&a.0, &b.0) {
                known.origin = self.origin(Op::Powi, &[*a, *b]);
            }
            return Ok(Value::Known(known));
        }
        let integer = |value: &Value| self.is_dtype(value, Dtype::I64);
        // Of two literals, a negative exponent gives a float: `2 ** -1` is 0.5.
        let literals = matches!((&a.0, &b.0), (Value::Known(a), Value::Known(_)) if a.adapts);
        let op = match (integer(&a.0), integer(&b.0)) {
            (true, true) if !literals => Op::IntPow,
            (_, true) => Op::Powi,
            (_, false) => Op::Pow,
        };
        self.fold_or_apply(op, &[a, b], site)
    }

    fn apply_row(&mut self, op: Op, args: &[Operand], site: Site<'_>) -> R<TermId> {
        let dtypes = self.operand_dtypes(op, args, site)?;
        let mut terms = Vec::with_capacity(args.len());
        for ((value, span), dtype) in args.iter().zip(&dtypes) {
            terms.push((self.term_as(value, *dtype, *span)?, *span));
        }
        if op.result_dtype(&dtypes).is_none() {
            return Err(self.wrong_operands(op, args, site));
        }
        let terms = self.broadcast_all(&terms, site)?;
        let made = self.b.op(op, &terms);
        self.lift(made, site.span)
    }

    /// The element type that each operand takes.
    fn operand_dtypes(&mut self, op: Op, args: &[Operand], site: Site<'_>) -> R<Vec<Dtype>> {
        let own = |this: &mut Self, (value, span): &Operand| -> R<Dtype> {
            match value {
                Value::Known(known) => Ok(known.dtype()),
                Value::Term(_)
                | Value::Tuple(_)
                | Value::Record(_)
                | Value::Function(_)
                | Value::Error => {
                    let t = this.term(value, *span)?;
                    Ok(this.b.dtype(t))
                }
            }
        };
        Ok(match (op.row().rule, args) {
            (Rule::Numeric2(..) | Rule::Compare(_) | Rule::Logic2(..), [_, _]) => {
                vec![self.common_dtype(args, false, site)?; 2]
            }
            (Rule::Real2(..), [_, _]) => vec![self.common_dtype(args, true, site)?; 2],
            (Rule::Real1(..), [_]) => vec![self.common_dtype(args, true, site)?],
            (Rule::RealInt(..), [a, n]) => {
                vec![self.common_dtype(std::slice::from_ref(a), true, site)?, own(self, n)?]
            }
            (Rule::IntReal(_), [n, a]) => {
                vec![own(self, n)?, self.common_dtype(std::slice::from_ref(a), true, site)?]
            }
            (Rule::Select, [c, branches @ ..]) => {
                let c = own(self, c)?;
                let common = self.common_dtype(branches, false, site)?;
                vec![c, common, common]
            }
            _ => args.iter().map(|arg| own(self, arg)).collect::<R<_>>()?,
        })
    }

    /// The one element type of several operands: that of the arrays, to which literals adapt.
    /// `real`: integer literals alone become `f64`.
    fn common_dtype(&mut self, args: &[Operand], real: bool, site: Site<'_>) -> R<Dtype> {
        let mut fixed: Option<(Dtype, Span)> = None;
        let mut loose: Option<Dtype> = None;
        for (value, span) in args {
            let dtype = match value {
                Value::Known(known) if known.adapts => {
                    let own = known.dtype();
                    let float = own == Dtype::F64 && loose.is_none_or(|l| l == Dtype::I64);
                    if loose.is_none() || float {
                        loose = Some(own);
                    }
                    continue;
                }
                Value::Known(known) => known.dtype(),
                Value::Term(_)
                | Value::Tuple(_)
                | Value::Record(_)
                | Value::Function(_)
                | Value::Error => {
                    let t = self.term(value, *span)?;
                    self.b.dtype(t)
                }
            };
            match fixed {
                Some((before, place)) if before != dtype => {
                    return Err(self.mixed(args, (before, place), (dtype, *span), site));
                }
                _ => fixed = Some((dtype, *span)),
            }
        }
        let common = match (fixed, loose) {
            (Some((dtype, _)), _) => dtype,
            (None, Some(Dtype::I64)) if real => Dtype::F64,
            (None, Some(dtype)) => dtype,
            (None, None) => Dtype::F64,
        };
        for (value, span) in args {
            if let Value::Known(known) = value
                && known.adapt(common).is_none()
            {
                let other = fixed.map_or(site.span, |(_, place)| place);
                return Err(self.mixed(args, (common, other), (known.dtype(), *span), site));
            }
        }
        Ok(common)
    }

    fn mixed(
        &mut self,
        args: &[Operand],
        a: (Dtype, Span),
        b: (Dtype, Span),
        site: Site<'_>,
    ) -> Reported {
        let shown: Vec<String> = args.iter().map(|(value, _)| self.describe(value)).collect();
        let message =
            format!("`{}` does not mix element types: {}", site.shown, shown.join(" and "));
        let hint = match (a.0, b.0) {
            (Dtype::Bool, _) | (_, Dtype::Bool) => {
                "compare or convert: `x != 0`, `f64(flag)`".to_owned()
            }
            (float, Dtype::I64) | (Dtype::I64, float) => {
                format!("convert the integers: `{float}(…)`")
            }
            (to, from) => format!("convert one of them: `{to}(…)` or `{from}(…)`"),
        };
        self.report(
            Diagnostic::new(Code::MixedTypes, b.1, message)
                .label(format!("this is {}", b.0))
                .also(a.1, format!("this is {}", a.0))
                .hint(hint),
        )
    }

    fn wrong_operands(&mut self, op: Op, args: &[Operand], site: Site<'_>) -> Reported {
        let mut shown = Vec::new();
        for (value, span) in args {
            match self.operand_text(value, *span) {
                Ok(text) => shown.push(text),
                Err(reported) => return reported,
            }
        }
        let message = format!("`{}` does not take {}", site.shown, shown.join(" and "));
        let integers = args.iter().all(|(value, _)| self.is_dtype(value, Dtype::I64));
        let hint = match op {
            Op::Div if integers => {
                "integers are divided by `//`; or convert them: `f64(…)`".to_owned()
            }
            _ => format!("it takes {}", op.signature()),
        };
        self.report(Diagnostic::new(Code::BadOperand, site.span, message).hint(hint))
    }

    fn operand_text(&mut self, value: &Value, span: Span) -> R<String> {
        self.term(value, span)?;
        Ok(self.describe(value))
    }

    fn is_dtype(&self, value: &Value, dtype: Dtype) -> bool {
        match value {
            Value::Known(known) => known.dtype() == dtype,
            Value::Term(t) => self.b.dtype(*t) == dtype,
            Value::Tuple(_) | Value::Record(_) | Value::Function(_) | Value::Error => false,
        }
    }

    /// The array that a value is, a literal in the given element type.
    pub(crate) fn term_as(&mut self, value: &Value, dtype: Dtype, span: Span) -> R<TermId> {
        match value {
            Value::Known(known) => {
                let known = known.adapt(dtype).unwrap_or(*known);
                self.constant(known, span)
            }
            _ => self.term(value, span),
        }
    }

    // ---- broadcasting -------------------------------------------------------------------------

    fn broadcast_all(&mut self, terms: &[(TermId, Span)], site: Site<'_>) -> R<Vec<TermId>> {
        let mut common: Vec<usize> = Vec::new();
        for (n, (t, span)) in terms.iter().enumerate() {
            match broadcast_dims(&common, self.b.shape(*t).dims()) {
                Some(dims) => common = dims,
                None => {
                    let (mine, other) = (self.b.ty(*t).to_string(), terms.iter().take(n));
                    let clash = other
                        .filter(|(u, _)| {
                            broadcast_dims(self.b.shape(*u).dims(), self.b.shape(*t).dims())
                                .is_none()
                        })
                        .map(|(u, place)| (self.b.ty(*u).to_string(), *place))
                        .next_back();
                    let (theirs, place) = clash.unwrap_or((format!("{common:?}"), site.span));
                    let dims = self.b.shape(*t).dims().to_vec();
                    self.unless_broadcast(&common, &dims);
                    let message = format!(
                        "`{}` of arrays whose shapes do not fit: {theirs} and {mine}",
                        site.shown
                    );
                    let hint = "shapes fit when, from the last axis back, the sizes are equal, 1 or missing";
                    return Err(self.report(
                        Diagnostic::new(Code::ShapeMismatch, *span, message)
                            .label(format!("this is {mine}"))
                            .also(place, format!("this is {theirs}"))
                            .hint(hint),
                    ));
                }
            }
        }
        terms.iter().map(|&(t, span)| self.broadcast_to(t, &common, span)).collect()
    }

    /// `t` stretched to a shape that it fits: missing leading axes and axes of size 1 are repeated.
    pub(crate) fn broadcast_to(&mut self, t: TermId, dims: &[usize], span: Span) -> R<TermId> {
        let made = self.b.broadcast_to(t, dims);
        self.lift(made, span)
    }

    /// `t` with its axes at the given places of a larger shape, repeated along the other axes.
    pub(crate) fn spread(
        &mut self,
        t: TermId,
        places: &[usize],
        dims: &[usize],
        span: Span,
    ) -> R<TermId> {
        let made = self.b.spread(t, places, dims);
        self.lift(made, span)
    }

    /// `tr perm t`, without its fixed last axes, and nothing where nothing moves.
    pub(crate) fn permute(&mut self, t: TermId, perm: &[usize], span: Span) -> R<TermId> {
        let made = self.b.permute(t, perm);
        self.lift(made, span)
    }
}

fn row_of(op: BinaryOp) -> Op {
    match op {
        BinaryOp::Or => Op::Or,
        BinaryOp::Xor => Op::Xor,
        BinaryOp::And => Op::And,
        BinaryOp::Eq => Op::Eq,
        BinaryOp::Ne => Op::Ne,
        BinaryOp::Lt => Op::Lt,
        BinaryOp::Le => Op::Le,
        BinaryOp::Gt => Op::Gt,
        BinaryOp::Ge => Op::Ge,
        BinaryOp::Add => Op::Add,
        BinaryOp::Sub => Op::Sub,
        BinaryOp::Mul => Op::Mul,
        BinaryOp::Div => Op::Div,
        BinaryOp::FloorDiv => Op::FloorDiv,
        BinaryOp::Rem => Op::Rem,
        BinaryOp::Pow => Op::Pow,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotan_ir::scalar::Notation;

    #[test]
    fn operators_are_the_rows_with_their_notation() {
        for &op in BinaryOp::ALL {
            let row = row_of(op).row();
            assert!(
                matches!(row.notation, Notation::Infix(text, _) if text == op.text()),
                "{op:?}"
            );
        }
    }
}
