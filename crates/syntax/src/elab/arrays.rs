//! Array literals, stacks and `build`.

use cotan_array::{Array, Dtype};
use cotan_ir::scalar::{Scalar, cast};
use cotan_ir::{Param, Span, TermId};

use super::expr::known_literal;
use super::ops::Operand;
use super::value::{Known, Value};
use super::{Elab, R};
use crate::ast::{ExprId, ExprKind};
use crate::diagnostic::{Code, Diagnostic};

impl Elab<'_> {
    /// `[[1.0, 2.0], [3.0, 4.0]]`: nested brackets around literals only are one constant.
    pub(super) fn literal_array(&mut self, expr: ExprId) -> R<Option<Value>> {
        let ast = self.ast();
        let (mut dims, mut at) = (Vec::new(), expr);
        while let ExprKind::Array(items) = &ast[at].kind {
            let Some(&first) = items.first() else { return Ok(None) };
            dims.push(items.len());
            at = first;
        }
        // The brackets must nest as regularly as the first ones; anything else is not our business.
        let mut literals: Vec<Known> = Vec::new();
        let mut todo = vec![(expr, 0)];
        while let Some((item, depth)) = todo.pop() {
            match (&ast[item].kind, dims.get(depth)) {
                (ExprKind::Array(items), Some(&k)) if items.len() == k => {
                    todo.extend(items.iter().rev().map(|&item| (item, depth + 1)));
                }
                (ExprKind::Literal(literal), None) => literals.push(known_literal(*literal)),
                _ => return Ok(None),
            }
        }
        let span = ast.span(expr);
        let Some(dtype) = common_literal_dtype(&literals) else { return Ok(None) };
        self.constant_array(&dims, &literals, dtype, span).map(Some)
    }

    fn constant_array(
        &mut self,
        dims: &[usize],
        literals: &[Known],
        dtype: Dtype,
        span: Span,
    ) -> R<Value> {
        self.track_constants(dims);
        let shape = self.shape(dims, span)?;
        let scalars = literals.iter().map(|known| cast(known.value, dtype));
        macro_rules! collect {
            ($variant:ident) => {
                Array::from_vec(
                    shape,
                    scalars
                        .filter_map(|x| if let Scalar::$variant(x) = x { Some(x) } else { None })
                        .collect(),
                )
            };
        }
        let array = match dtype {
            Dtype::F64 => collect!(F64),
            Dtype::F32 => collect!(F32),
            Dtype::I64 => collect!(I64),
            Dtype::Bool => collect!(Bool),
        };
        let array = self.lift(array.map_err(cotan_ir::Error::from), span)?;
        let made = self.b.constant(&array);
        self.lift(made, span).map(Value::Term)
    }

    /// `[a, b, ..]` of values: one constant if all are known, otherwise a stack.
    pub(super) fn array_of(&mut self, values: &[Operand], span: Span) -> R<Value> {
        if values.is_empty() {
            let message = "the type of an array without elements is not known";
            let hint = "write `empty([0], f64)`, with its shape and element type";
            return Err(
                self.report(Diagnostic::new(Code::BadArrayLiteral, span, message).hint(hint))
            );
        }
        let known: Option<Vec<Known>> = values
            .iter()
            .map(|(value, _)| if let Value::Known(known) = value { Some(*known) } else { None })
            .collect();
        if let Some(known) = known
            && let Some(dtype) = common_literal_dtype(&known)
        {
            return self.constant_array(&[known.len()], &known, dtype, span);
        }
        self.stack_values(values, span)
    }

    /// A stack of values of one type; of structures, a structure of stacks.
    pub(super) fn stack_values(&mut self, values: &[Operand], span: Span) -> R<Value> {
        let Some(((first, first_span), rest)) = values.split_first() else {
            let message = "nothing to stack";
            return Err(self.report(Diagnostic::new(Code::WrongArguments, span, message)));
        };
        let mut rows: Vec<Value> = vec![first.clone()];
        for (value, value_span) in rest {
            let previous = rows.last().cloned().unwrap_or(Value::Error);
            let (_, row) = self.same_type(
                "elements",
                (previous, *first_span),
                (value.clone(), *value_span),
                span,
            )?;
            rows.push(row);
        }
        // Literals adapt to what comes later, too.
        let last = rows.last().cloned().unwrap_or(Value::Error);
        let mut columns: Vec<Vec<TermId>> = Vec::new();
        for (row, (_, row_span)) in rows.into_iter().zip(values) {
            let (row, _) =
                self.same_type("elements", (row, *row_span), (last.clone(), *row_span), span)?;
            for (k, leaf) in self.leaves(&row, *row_span)?.into_iter().enumerate() {
                match columns.get_mut(k) {
                    Some(column) => column.push(leaf),
                    None => columns.push(vec![leaf]),
                }
            }
        }
        self.track_constants(&[values.len()]);
        let mut columns = columns.into_iter();
        self.map_leaves(&last, span, &mut |this, _| {
            let made = this.b.stack(&columns.next().unwrap_or_default());
            this.lift(made, span)
        })
    }

    /// `build (k, ..) f`.
    pub(super) fn build(&mut self, sizes: &[ExprId], body: ExprId, span: Span) -> R<Value> {
        let mut dims = Vec::new();
        for &size in sizes {
            dims.push(self.static_size(size)?);
        }
        let function = self.function_at(body)?;
        self.build_over(&dims, span, |this, vars| {
            let args = vars.iter().map(|&i| (Value::Term(i), span)).collect();
            this.apply(&function, args, span)
        })
    }

    /// Nested `build1`s: one for each array of the structure that `body` makes from the indices.
    pub(super) fn build_over(
        &mut self,
        dims: &[usize],
        span: Span,
        body: impl FnOnce(&mut Self, &[TermId]) -> R<Value>,
    ) -> R<Value> {
        let open_all = |this: &mut Self| -> R<Vec<TermId>> {
            let mut vars = Vec::new();
            for (opened, &k) in dims.iter().enumerate() {
                let made = this.b.open(&[Param::Index(k)]);
                match this.lift(made, span) {
                    Ok(var) => vars.extend(var),
                    Err(reported) => {
                        (0..opened).for_each(|_| this.b.abandon());
                        return Err(reported);
                    }
                }
            }
            Ok(vars)
        };
        let vars = open_all(self)?;
        let element =
            body(self, &vars).and_then(|value| self.map_leaves(&value, span, &mut |_, t| Ok(t)));
        dims.iter().for_each(|_| self.b.abandon());
        let element = element?;
        self.map_leaves(&element, span, &mut |this, leaf| {
            open_all(this)?;
            let mut term = leaf;
            for level in (0..dims.len()).rev() {
                let made = this.b.close(&[term]).and_then(|region| this.b.build1(region));
                match this.lift(made, span) {
                    Ok(built) => term = built,
                    Err(reported) => {
                        (0..level).for_each(|_| this.b.abandon());
                        return Err(reported);
                    }
                }
            }
            Ok(term)
        })
    }
}

/// The element type of an array of literals, or `None` when they do not go together.
pub(super) fn common_literal_dtype(literals: &[Known]) -> Option<Dtype> {
    let fixed = literals.iter().find(|known| !known.adapts).map(|known| known.dtype());
    let any_float = literals.iter().any(|known| known.dtype() == Dtype::F64);
    let common = match fixed {
        Some(dtype) => dtype,
        None if any_float => Dtype::F64,
        None => literals.first()?.dtype(),
    };
    literals.iter().all(|known| known.adapt(common).is_some()).then_some(common)
}
