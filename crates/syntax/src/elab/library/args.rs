//! What the arguments of a builtin are: arrays, sizes, axes, element types, functions.

use cotan_array::Dtype;
use cotan_ir::scalar::Scalar;
use cotan_ir::{Span, TermId};
use smallvec::SmallVec;

use super::{Arg, Call};
use crate::ast::ExprKind;
use crate::diagnostic::{Code, Diagnostic};
use crate::elab::call::Applied;
use crate::elab::ops::Operand;
use crate::elab::value::{Callable, Known, Value};
use crate::elab::{Elab, R};

/// Longer lists are arrays, not sizes or axes.
const MAX_SIZES: usize = 16;

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

    /// Where arguments stand, and the items of those that are written as lists.
    pub(super) fn places<'a>(&self, args: impl Iterator<Item = &'a Arg>) -> SmallVec<[Span; 4]> {
        let mut places = SmallVec::new();
        for arg in args {
            places.push(self.arg_span(arg));
            if let Arg::Expr(expr) = arg
                && let ExprKind::Array(items) | ExprKind::Tuple(items) = &self.ast()[*expr].kind
                && items.len() <= MAX_SIZES
            {
                places.extend(items.iter().map(|&item| self.span_of(item)));
            }
        }
        places
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
        call.arg(slot).map_or(Ok(false), |arg| self.flag_of(arg))
    }

    /// The static truth value that an argument is.
    pub(super) fn flag_of(&mut self, arg: &Arg) -> R<bool> {
        match self.arg_value(arg) {
            (Value::Known(Known { value: Scalar::Bool(flag), .. }), _) => Ok(flag),
            (Value::Error, _) => Err(crate::elab::Reported),
            (value, span) => {
                let message =
                    format!("`true` or `false` is needed here, not {}", self.describe(&value));
                Err(self.wrong_kind(Diagnostic::new(Code::NotStatic, span, message)))
            }
        }
    }

    /// The items of a list: `[2, 3]`, `(2, 3)` or `2`.
    fn list_items(&mut self, arg: &Arg) -> Vec<Operand> {
        let items = match arg {
            Arg::Expr(expr) => match &self.ast()[*expr].kind {
                ExprKind::Array(items) | ExprKind::Tuple(items) => {
                    items.iter().map(|&item| (self.elab(item), self.span_of(item))).collect()
                }
                _ => vec![self.arg_value(arg)],
            },
            Arg::Value(..) => vec![self.arg_value(arg)],
        };
        let mut flat = Vec::new();
        for (value, span) in items {
            match &value {
                Value::Tuple(tuple) => {
                    flat.extend(tuple.items.iter().map(|item| (item.clone(), span)));
                }
                _ => flat.push((value, span)),
            }
        }
        flat
    }

    /// A list of static integers.
    pub(super) fn int_list(&mut self, arg: &Arg) -> R<Vec<(i64, Span)>> {
        let items = self.list_items(arg);
        items.into_iter().map(|(value, span)| Ok((self.static_int(&value, span)?, span))).collect()
    }

    /// The sizes at `slot` of a call, where `first` is the array before them. A call with the two
    /// swapped is told so.
    pub(super) fn sizes_after(&mut self, call: &Call, first: &Value, slot: usize) -> R<Vec<usize>> {
        let Some(arg) = call.arg(slot) else { return Err(self.internal("a missing argument")) };
        let items = self.list_items(arg);
        let like_sizes = match first {
            Value::Known(_) | Value::Tuple(_) => true,
            Value::Term(t) => self.b.dtype(*t) == Dtype::I64 && self.b.shape(*t).rank() <= 1,
            Value::Record(_) | Value::Function(_) | Value::Error => false,
        };
        let array = items.iter().filter(|_| like_sizes).find(|(value, _)| match value {
            Value::Known(known) => known.value.as_i64().is_none(),
            Value::Term(t) => self.b.dtype(*t) != Dtype::I64 || self.b.shape(*t).rank() > 0,
            Value::Tuple(_) | Value::Record(_) => true,
            Value::Function(_) | Value::Error => false,
        });
        if let Some((value, _)) = array {
            let message = format!("sizes are needed here, not {}", self.describe(value));
            let hint = format!("`{}`: the array comes first", call.builtin.signature);
            let diagnostic = Diagnostic::new(Code::WrongArguments, self.arg_span(arg), message);
            return Err(self.report(diagnostic.hint(hint)));
        }
        let sizes = items.into_iter().map(|(value, span)| {
            let size = self.static_int(&value, span)?;
            self.size_from(size, span)
        });
        sizes.collect()
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
        call.arg(slot).map_or(Ok(default), |arg| self.dtype_of(arg))
    }

    /// The element type that an argument is.
    pub(super) fn dtype_of(&mut self, arg: &Arg) -> R<Dtype> {
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
        Err(self.wrong_kind(Diagnostic::new(Code::WrongArguments, span, message)))
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
