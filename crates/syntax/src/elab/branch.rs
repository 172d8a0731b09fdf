//! Conditionals, and values that must have one type.

use cotan_array::Dtype;
use cotan_ir::scalar::Scalar;
use cotan_ir::{Span, TermId};

use super::arrays::common_literal_dtype;
use super::ops::Operand;
use super::value::{Known, Value};
use super::{Elab, R, Reported};
use crate::ast::ExprId;
use crate::diagnostic::{Code, Diagnostic};

impl Elab<'_> {
    pub(super) fn conditional(
        &mut self,
        arms: &[(ExprId, ExprId)],
        otherwise: ExprId,
        span: Span,
    ) -> R<Value> {
        let mut open: Vec<(TermId, Operand)> = Vec::new();
        let mut last = otherwise;
        for &(condition, branch) in arms {
            let place = self.span_of(condition);
            match self.try_elab(condition)? {
                Value::Known(known @ Known { value: Scalar::Bool(chosen), .. }) => {
                    self.decided(known);
                    if chosen {
                        last = branch;
                        break;
                    }
                }
                value => {
                    let c = self.scalar_bool(&value, place)?;
                    let value = self.elab(branch);
                    open.push((c, (value, self.span_of(branch))));
                }
            }
        }
        let mut result = (self.elab(last), self.span_of(last));
        while let Some((c, branch)) = open.pop() {
            let value = self.choose(c, branch, result, span)?;
            result = (value, span);
        }
        match result.0 {
            Value::Error => Err(Reported),
            value => Ok(value),
        }
    }

    /// A condition.
    pub(super) fn scalar_bool(&mut self, value: &Value, span: Span) -> R<TermId> {
        let t = self.term(value, span)?;
        let ty = self.b.ty(t);
        if ty.dtype == Dtype::Bool && ty.shape.rank() == 0 {
            return Ok(t);
        }
        let message = format!("a condition is a scalar bool; this is {ty}");
        let hint = match ty.dtype {
            Dtype::Bool => "to choose element by element, use `where(c, a, b)`",
            _ => "compare it: `x != 0`",
        };
        Err(self.report(Diagnostic::new(Code::TypeMismatch, span, message).hint(hint)))
    }

    /// `cond c a b` of structures of one type.
    pub(super) fn choose(&mut self, c: TermId, a: Operand, b: Operand, span: Span) -> R<Value> {
        let (a_span, b_span) = (a.1, b.1);
        let (a, b) = self.same_type("branches", a, b, span)?;
        let mut others = self.leaves(&b, b_span)?.into_iter();
        self.map_leaves(&a, a_span, &mut |this, u| match others.next() {
            Some(v) => {
                let made = this.b.cond(c, u, v);
                this.lift(made, span)
            }
            None => Err(this.internal("branches of different structures")),
        })
    }

    /// Two values at one type: literals adapt, fields take the order of the first.
    pub(super) fn same_type(
        &mut self,
        what: &str,
        a: Operand,
        b: Operand,
        span: Span,
    ) -> R<(Value, Value)> {
        if matches!(a.0, Value::Error) || matches!(b.0, Value::Error) {
            return Err(Reported);
        }
        if let Some(pair) = self.reconcile(&a.0, &b.0) {
            return Ok(pair);
        }
        if let Some(tree) = self.tree_of(&b.0) {
            self.unless_fits(&a.0, &tree);
        }
        let (left, right) = (self.describe(&a.0), self.describe(&b.0));
        let message = format!("{what} of different types: {left} and {right}");
        let place = if b.1 == a.1 { span } else { b.1 };
        Err(self.report(
            Diagnostic::new(Code::TypeMismatch, place, message)
                .label(format!("this is {right}"))
                .also(a.1, format!("this is {left}"))
                .hint(format!("{what} must have the same type; `broadcast` and `f64(…)` convert")),
        ))
    }

    fn reconcile(&self, a: &Value, b: &Value) -> Option<(Value, Value)> {
        match (a, b) {
            (Value::Known(x), Value::Known(y)) => {
                let dtype = common_literal_dtype(&[*x, *y])?;
                Some((Value::Known(x.adapt(dtype)?), Value::Known(y.adapt(dtype)?)))
            }
            (Value::Known(x), Value::Term(t)) => {
                let ty = self.b.ty(*t);
                let fits = ty.shape.rank() == 0;
                Some((Value::Known(x.adapt(ty.dtype).filter(|_| fits)?), b.clone()))
            }
            (Value::Term(_), Value::Known(_)) => self.reconcile(b, a).map(|(b, a)| (a, b)),
            (Value::Term(t), Value::Term(u)) => {
                (self.b.ty(*t) == self.b.ty(*u)).then(|| (a.clone(), b.clone()))
            }
            (Value::Tuple(x), Value::Tuple(y)) if x.items.len() == y.items.len() => {
                let pairs: Option<Vec<_>> =
                    x.items.iter().zip(&y.items).map(|(a, b)| self.reconcile(a, b)).collect();
                let (left, right): (Vec<_>, Vec<_>) = pairs?.into_iter().unzip();
                Some((Value::tuple(left).ok()?, Value::tuple(right).ok()?))
            }
            (Value::Record(x), Value::Record(y)) if x.items.len() == y.items.len() => {
                let (mut left, mut right) = (Vec::new(), Vec::new());
                for (name, a) in &x.items {
                    let (_, b) = y.items.iter().find(|(other, _)| other == name)?;
                    let (a, b) = self.reconcile(a, b)?;
                    left.push((name.clone(), a));
                    right.push((name.clone(), b));
                }
                Some((Value::record(left).ok()?, Value::record(right).ok()?))
            }
            _ => None,
        }
    }
}
