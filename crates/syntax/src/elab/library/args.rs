//! What the arguments of a builtin are: arrays, sizes, axes, element types, functions.

use cotan_array::Dtype;
use cotan_ir::scalar::Scalar;
use cotan_ir::{Span, TermId};

use super::{Arg, Call};
use crate::ast::ExprKind;
use crate::diagnostic::{Code, Diagnostic};
use crate::elab::call::Applied;
use crate::elab::ops::Operand;
use crate::elab::value::{Callable, Known, Value};
use crate::elab::{Elab, R};

impl Call {
    /// The first argument at a place.
    pub(super) fn arg(&self, slot: usize) -> Option<&Arg> {
        self.slots.get(slot).and_then(|args| args.first())
    }

    /// All arguments at a place.
    pub(super) fn args(&self, slot: usize) -> &[Arg] {
        self.slots.get(slot).map_or(&[], Vec::as_slice)
    }

    /// How many arguments had no name.
    pub(super) fn positional(&self) -> usize {
        self.positional
    }
}

impl Elab<'_> {
    /// Where an argument stands.
    pub(super) fn arg_span(&self, arg: &Arg) -> Span {
        match arg {
            Arg::Expr(expr) => self.span_of(*expr),
            Arg::Value(_, span) => *span,
        }
    }

    /// The value of an argument; [`Value::Error`] after a message.
    pub(super) fn arg_value(&mut self, arg: &Arg) -> Operand {
        match arg {
            Arg::Expr(expr) => (self.elab(*expr), self.span_of(*expr)),
            Arg::Value(value, span) => (value.clone(), *span),
        }
    }

    /// The values of all arguments.
    pub(super) fn all_values(&mut self, call: &Call) -> Vec<Operand> {
        call.slots.iter().flatten().map(|arg| self.arg_value(arg)).collect()
    }

    /// The value of a parameter that must be there.
    pub(super) fn value_at(&mut self, call: &Call, slot: usize) -> Operand {
        call.arg(slot).map_or((Value::Error, call.span), |arg| self.arg_value(arg))
    }

    /// The array at a parameter that must be there.
    pub(super) fn term_at(&mut self, call: &Call, slot: usize) -> R<TermId> {
        let (value, span) = self.value_at(call, slot);
        self.term(&value, span)
    }

    /// The static integer at a parameter.
    pub(super) fn int_at(&mut self, call: &Call, slot: usize) -> R<Option<(i64, Span)>> {
        let Some(arg) = call.arg(slot) else { return Ok(None) };
        let (value, span) = self.arg_value(arg);
        Ok(Some((self.static_int(&value, span)?, span)))
    }

    /// The static size at a parameter that must be there.
    pub(super) fn size_at(&mut self, call: &Call, slot: usize) -> R<usize> {
        let (value, span) = self.value_at(call, slot);
        let size = self.static_int(&value, span)?;
        self.size_from(size, span)
    }

    /// The static truth value at a parameter, `false` when it is not given.
    pub(super) fn flag_at(&mut self, call: &Call, slot: usize) -> R<bool> {
        let Some(arg) = call.arg(slot) else { return Ok(false) };
        match self.arg_value(arg) {
            (Value::Known(Known { value: Scalar::Bool(flag), .. }), _) => Ok(flag),
            (Value::Error, _) => Err(crate::elab::Reported),
            (value, span) => {
                let message =
                    format!("`true` or `false` is needed here, not {}", self.describe(&value));
                Err(self.report(Diagnostic::new(Code::NotStatic, span, message)))
            }
        }
    }

    /// A list of static integers: `[2, 3]`, `(2, 3)` or `2`.
    fn int_list(&mut self, arg: &Arg) -> R<Vec<(i64, Span)>> {
        let items: Vec<Operand> = match arg {
            Arg::Expr(expr) => match &self.ast()[*expr].kind {
                ExprKind::Array(items) | ExprKind::Tuple(items) => {
                    items.iter().map(|&item| (self.elab(item), self.span_of(item))).collect()
                }
                _ => vec![self.arg_value(arg)],
            },
            Arg::Value(..) => vec![self.arg_value(arg)],
        };
        let mut ints = Vec::new();
        for (value, span) in items {
            match &value {
                Value::Tuple(tuple) => {
                    for item in &tuple.items {
                        ints.push((self.static_int(item, span)?, span));
                    }
                }
                _ => ints.push((self.static_int(&value, span)?, span)),
            }
        }
        Ok(ints)
    }

    /// The sizes at a parameter that must be there.
    pub(super) fn sizes_at(&mut self, call: &Call, slot: usize) -> R<Vec<usize>> {
        let Some(arg) = call.arg(slot) else { return Err(self.internal("a missing argument")) };
        let ints = self.int_list(arg)?;
        ints.into_iter().map(|(k, span)| self.size_from(k, span)).collect()
    }

    /// The axes at a parameter, in order; negative ones count from the end.
    pub(super) fn axes_at(
        &mut self,
        call: &Call,
        slot: usize,
        rank: usize,
    ) -> R<Option<Vec<usize>>> {
        let Some(arg) = call.arg(slot) else { return Ok(None) };
        let mut axes = Vec::new();
        for (axis, span) in self.int_list(arg)? {
            let axis = self.axis(axis, rank, span)?;
            if axes.contains(&axis) {
                let message = format!("the axis {axis} is given twice");
                return Err(self.report(Diagnostic::new(Code::BadSize, span, message)));
            }
            axes.push(axis);
        }
        Ok(Some(axes))
    }

    /// One axis, or a default.
    pub(super) fn axis_at(
        &mut self,
        call: &Call,
        slot: usize,
        rank: usize,
        default: i64,
    ) -> R<usize> {
        let (axis, span) = self.int_at(call, slot)?.unwrap_or((default, call.span));
        self.axis(axis, rank, span)
    }

    fn axis(&mut self, axis: i64, rank: usize, span: Span) -> R<usize> {
        let from_start = if axis < 0 { axis + rank as i64 } else { axis };
        match usize::try_from(from_start) {
            Ok(axis) if axis < rank => Ok(axis),
            _ => {
                let message = format!("there is no axis {axis} in an array of {rank} axes");
                let hint = "axes count from 0, and from -1 backwards";
                Err(self.report(Diagnostic::new(Code::BadSize, span, message).hint(hint)))
            }
        }
    }

    /// The element type at a parameter, or a default.
    pub(super) fn dtype_at(&mut self, call: &Call, slot: usize, default: Dtype) -> R<Dtype> {
        let Some(arg) = call.arg(slot) else { return Ok(default) };
        let (value, span) = self.arg_value(arg);
        if let Value::Function(function) = &value
            && let Callable::Builtin(builtin) = &function.callable
            && let Some(dtype) = Dtype::ALL.into_iter().find(|dtype| dtype.name() == builtin.name)
        {
            return Ok(dtype);
        }
        if matches!(value, Value::Error) {
            return Err(crate::elab::Reported);
        }
        let message = "an element type is needed here: f64, f32, i64 or bool";
        Err(self.report(Diagnostic::new(Code::TypeMismatch, span, message)))
    }

    /// The function at a parameter that must be there.
    pub(super) fn function_arg(&mut self, call: &Call, slot: usize) -> R<Applied> {
        match call.arg(slot) {
            Some(Arg::Expr(expr)) => self.function_at(*expr),
            Some(Arg::Value(value, span)) => self.function_of(&value.clone(), *span),
            None => Err(self.internal("a missing argument")),
        }
    }

    /// The components of an index given as a list: `[i, j]`.
    pub(super) fn index_arg(&mut self, call: &Call, slot: usize) -> R<Vec<TermId>> {
        let components = match call.arg(slot) {
            Some(Arg::Expr(expr)) => self.index_list(*expr)?,
            Some(Arg::Value(value, span)) => vec![(value.clone(), *span)],
            None => return Err(self.internal("a missing argument")),
        };
        components.into_iter().map(|(value, span)| self.index_scalar(&value, span)).collect()
    }
}
