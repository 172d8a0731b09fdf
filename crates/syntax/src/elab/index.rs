//! Indexing and slicing.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{OutOfRange, Param, Span, TermId};

use super::value::Value;
use super::{Elab, R, Reported};
use crate::ast::{ExprId, ExprKind, IndexItem, Literal};
use crate::diagnostic::{Code, Diagnostic};
use crate::sizes::{Condition, Poly, Trace};

/// One entry between the brackets, evaluated.
#[derive(Clone)]
pub(super) enum Entry {
    /// One position.
    At(Value, Span),
    /// A negative literal: so many positions before the end.
    FromEnd(i64, Span),
    /// `lo:hi:step` with any part left out.
    Slice { lo: Option<Bound>, hi: Option<Bound>, step: i64, span: Span },
    /// `i : i + 3`: a static number of positions from one known at run time only.
    Window { start: TermId, count: usize, step: i64 },
    /// `None`: a new axis of size 1.
    NewAxis,
}

/// A bound of a slice as written.
struct Part {
    value: Value,
    span: Span,
    from_end: bool,
}

/// A static bound of a slice; negative literals count from the end.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    value: i64,
    from_end: bool,
}

/// What an entry selects on its axis.
#[derive(Clone, Copy)]
pub(super) enum Selection {
    At(TermId),
    Range { start: usize, count: usize, step: usize },
    Window { start: TermId, count: usize, step: i64 },
}

impl Elab<'_> {
    /// `base[items]`; of a structure, each of its arrays indexed.
    pub(super) fn index(
        &mut self,
        base: &Value,
        base_span: Span,
        items: &[IndexItem],
        span: Span,
    ) -> R<Value> {
        let entries = self.entries(items)?;
        self.index_by(base, base_span, &entries, span)
    }

    /// What stands between the brackets, with the faults of all entries reported.
    pub(super) fn entries(&mut self, items: &[IndexItem]) -> R<Vec<Entry>> {
        let entries: Vec<R<Entry>> = items.iter().map(|item| self.entry(item)).collect();
        entries.into_iter().collect()
    }

    /// `base` at entries that have been evaluated.
    pub(super) fn index_by(
        &mut self,
        base: &Value,
        base_span: Span,
        entries: &[Entry],
        span: Span,
    ) -> R<Value> {
        if let Value::Error = base {
            return Err(Reported);
        }
        if let Value::Function(_) = base {
            let message = "a function cannot be indexed";
            let hint = "explicit sizes stand before the arguments: `f[3](x)`";
            return Err(
                self.report(Diagnostic::new(Code::NotAnArray, base_span, message).hint(hint))
            );
        }
        if let (Value::Tuple(_), [Entry::At(Value::Known(_), _)]) = (base, entries)
            && self.leaves(base, base_span)?.iter().any(|&t| self.b.shape(t).rank() == 0)
        {
            let message = format!("this is a tuple, {}, not an array", self.describe(base));
            let hint = "a component of a tuple is `t.0`";
            return Err(self.report(Diagnostic::new(Code::BadIndex, base_span, message).hint(hint)));
        }
        self.map_leaves(base, base_span, &mut |this, t| {
            this.index_term(t, entries, base_span, span)
        })
    }

    fn entry(&mut self, item: &IndexItem) -> R<Entry> {
        match item {
            IndexItem::At(expr) => {
                let span = self.span_of(*expr);
                if let ExprKind::Name(name) = &self.ast()[*expr].kind
                    && &**name == "None"
                    && self.env.get(name).is_none()
                {
                    return Ok(Entry::NewAxis);
                }
                if let Some(i) = self.negative_literal(*expr) {
                    return Ok(Entry::FromEnd(i, span));
                }
                let value = self.try_elab(*expr)?;
                Ok(Entry::At(value, span))
            }
            IndexItem::Slice { lo, hi, step, span } => {
                let step = match step {
                    Some(step) => {
                        let value = self.try_elab(*step)?;
                        self.static_int(&value, self.span_of(*step))?
                    }
                    None => 1,
                };
                let (lo, hi) = (self.slice_part(*lo)?, self.slice_part(*hi)?);
                if let (Some(lo), Some(hi)) = (&lo, &hi)
                    && let Some(window) = self.window(lo, hi, step)?
                {
                    return Ok(window);
                }
                let (lo, hi) = (self.slice_bound(lo)?, self.slice_bound(hi)?);
                if step <= 0 {
                    let message = format!("the step of a slice must be positive, not {step}");
                    let hint = "to go backwards, use `reverse(a, axis = 0)`";
                    return Err(
                        self.report(Diagnostic::new(Code::BadIndex, *span, message).hint(hint))
                    );
                }
                Ok(Entry::Slice { lo, hi, step, span: *span })
            }
        }
    }

    fn slice_part(&mut self, part: Option<ExprId>) -> R<Option<Part>> {
        let Some(part) = part else { return Ok(None) };
        let from_end = self.negative_literal(part).is_some();
        let (value, span) = (self.try_elab(part)?, self.span_of(part));
        Ok(Some(Part { value, span, from_end }))
    }

    /// The number, if an expression is a negative literal without a suffix.
    fn negative_literal(&self, expr: ExprId) -> Option<i64> {
        match self.ast()[expr].kind {
            ExprKind::Literal(Literal::Int { value, suffix: false }) if value < 0 => Some(value),
            _ => None,
        }
    }

    /// The scalar integer that a value is, if it is known at run time only.
    pub(super) fn dynamic_int(&self, value: &Value) -> Option<TermId> {
        match value {
            Value::Term(t) if self.b.dtype(*t) == Dtype::I64 => Some(*t)
                .filter(|&t| self.b.shape(t).rank() == 0)
                .filter(|&t| self.b.bounds(t).singleton().is_none()),
            _ => None,
        }
    }

    /// A static bound of a slice.
    fn slice_bound(&mut self, part: Option<Part>) -> R<Option<Bound>> {
        let Some(Part { value, span, from_end }) = part else { return Ok(None) };
        if self.dynamic_int(&value).is_some() {
            let message = "the length of this slice is not known when the program is compiled";
            let hint = "write both bounds with a known distance, `x[i : i + 3]`";
            return Err(self.report(Diagnostic::new(Code::NotStatic, span, message).hint(hint)));
        }
        Ok(Some(Bound { value: self.static_int(&value, span)?, from_end }))
    }

    /// `i : i + 3`, if the bounds are not known but their distance is.
    fn window(&mut self, lo: &Part, hi: &Part, step: i64) -> R<Option<Entry>> {
        let (Some(start), Some(end)) = (self.dynamic_int(&lo.value), self.dynamic_int(&hi.value))
        else {
            return Ok(None);
        };
        let length = self.difference(end, start);
        let Some(length) = length.filter(|_| step > 0) else { return Ok(None) };
        let Ok(length) = usize::try_from(length) else {
            let message = format!("this slice has the length {length}");
            let hint = "the second bound must not be below the first";
            let span = lo.span.join(hi.span);
            return Err(self.report(Diagnostic::new(Code::BadIndex, span, message).hint(hint)));
        };
        Ok(Some(Entry::Window { start, count: length.div_ceil(step as usize), step }))
    }

    /// `a - b`, if that is the same whatever the values of the terms in them.
    fn difference(&self, a: TermId, b: TermId) -> Option<i64> {
        let whole = |t: TermId| self.b.linear(t, |_| true);
        let difference = whole(a)?.plus(&whole(b)?, -1);
        difference.terms.is_empty().then_some(difference.constant)
    }

    /// `t` at the entries: positions and slices first, then the new axes.
    fn index_term(
        &mut self,
        t: TermId,
        entries: &[Entry],
        base_span: Span,
        span: Span,
    ) -> R<TermId> {
        if !entries.iter().any(|entry| matches!(entry, Entry::NewAxis)) {
            return self.select(t, entries, base_span, span);
        }
        let selecting: Vec<Entry> =
            entries.iter().filter(|e| !matches!(e, Entry::NewAxis)).cloned().collect();
        let selected =
            if selecting.is_empty() { t } else { self.select(t, &selecting, base_span, span)? };
        let mut rest = self.b.shape(selected).dims().to_vec().into_iter();
        let mut dims = Vec::new();
        for entry in entries {
            match entry {
                Entry::NewAxis => dims.push(1),
                Entry::Slice { .. } | Entry::Window { .. } => dims.extend(rest.next()),
                Entry::At(..) | Entry::FromEnd(..) => {}
            }
        }
        dims.extend(rest);
        let made = self.b.reshape(&dims, selected);
        self.lift(made, span)
    }

    fn select(&mut self, t: TermId, entries: &[Entry], base_span: Span, span: Span) -> R<TermId> {
        let dims = self.b.shape(t).dims().to_vec();
        self.enough_axes(t, entries.len(), base_span, span)?;
        let mut selections = Vec::new();
        for (entry, &k) in entries.iter().zip(&dims) {
            selections.push(self.selection(entry, k, "this reads 0")?);
        }
        let whole = |selection: &Selection, k: usize| matches!(selection, Selection::Range { start: 0, count, step: 1 } if *count == k);
        let slices = !selections.is_empty();
        while let (Some(last), Some(&k)) =
            (selections.last(), dims.get(selections.len().saturating_sub(1)))
            && whole(last, k)
        {
            selections.pop();
        }
        if selections.is_empty() && slices {
            return Ok(t);
        }
        let positions: Option<Vec<TermId>> = selections
            .iter()
            .map(|selection| match selection {
                Selection::At(i) => Some(*i),
                Selection::Range { .. } | Selection::Window { .. } => None,
            })
            .collect();
        if let Some(positions) = positions {
            let made = self.b.index(t, &positions);
            return self.lift(made, span);
        }
        self.slice(t, &selections, span)
    }

    /// An array has at least so many axes.
    pub(super) fn enough_axes(
        &mut self,
        t: TermId,
        count: usize,
        base_span: Span,
        span: Span,
    ) -> R<()> {
        let dims = self.b.shape(t).dims().to_vec();
        if count > dims.len() {
            let given = match count {
                1 => "an index".to_owned(),
                n => format!("{n} indices"),
            };
            let has = match dims.len() {
                0 => "is a scalar".to_owned(),
                1 => "has one axis".to_owned(),
                n => format!("has {n} axes"),
            };
            let message = format!("{given} for {}, which {has}", self.b.ty(t));
            return Err(self.report(
                Diagnostic::new(Code::BadIndex, span, message).also(base_span, "this array"),
            ));
        }
        Ok(())
    }

    /// The first `k` elements along the outermost axis.
    pub(super) fn first(&mut self, t: TermId, k: usize, span: Span) -> R<TermId> {
        self.slice(t, &[Selection::Range { start: 0, count: k, step: 1 }], span)
    }

    /// `gather (\is -> ..) t` with a variable for each range.
    fn slice(&mut self, t: TermId, selections: &[Selection], span: Span) -> R<TermId> {
        let params: Vec<Param> = selections
            .iter()
            .filter_map(|selection| match selection {
                Selection::At(_) => None,
                Selection::Range { count, .. } | Selection::Window { count, .. } => {
                    Some(Param::Index(*count))
                }
            })
            .collect();
        let region = self.region(&params, span, |this, vars| {
            let mut vars = vars.iter();
            let mut ix = Vec::new();
            for selection in selections {
                match *selection {
                    Selection::At(i) => ix.push(i),
                    Selection::Range { start, step, .. } => {
                        if let Some(&var) = vars.next() {
                            ix.push(this.affine(var, step as i64, start as i64, span)?);
                        }
                    }
                    Selection::Window { start, step, .. } => {
                        if let Some(&var) = vars.next() {
                            let offset = this.affine(var, step, 0, span)?;
                            let made = this.b.op(Op::Add, &[start, offset]);
                            ix.push(this.lift(made, span)?);
                        }
                    }
                }
            }
            Ok(ix)
        })?;
        let made = self.b.gather(t, region);
        self.lift(made, span)
    }

    /// `step * i + start`.
    pub(super) fn affine(&mut self, i: TermId, step: i64, start: i64, span: Span) -> R<TermId> {
        let mut term = i;
        for (op, constant, unit) in [(Op::Mul, step, 1), (Op::Add, start, 0)] {
            if constant != unit {
                let made = self.b.scalar(constant).and_then(|c| self.b.op(op, &[term, c]));
                term = self.lift(made, span)?;
            }
        }
        Ok(term)
    }

    /// What an entry selects on an axis of size `k`, and what is said of positions outside of it.
    pub(super) fn selection(&mut self, entry: &Entry, k: usize, otherwise: &str) -> R<Selection> {
        match entry {
            Entry::At(value, span) => {
                if let Some(fault) = value.known_int().and_then(|i| OutOfRange::of(i, k)) {
                    self.out_of_range(fault, otherwise, *span);
                }
                self.index_scalar(value, *span).map(Selection::At)
            }
            Entry::FromEnd(i, span) => {
                let from_start = i.saturating_add(k as i64);
                if from_start < 0 {
                    self.out_of_range(OutOfRange { index: *i, size: k }, otherwise, *span);
                }
                self.index_scalar(&Value::int(from_start), *span).map(Selection::At)
            }
            Entry::Window { start, count, step } => {
                Ok(Selection::Window { start: *start, count: *count, step: *step })
            }
            Entry::NewAxis => Err(self.internal("a new axis selects nothing")),
            Entry::Slice { lo, hi, step, span } => {
                let from_start = |bound: Bound| match bound.from_end {
                    true => bound.value.saturating_add(k as i64),
                    false => bound.value,
                };
                for bound in [lo, hi].into_iter().flatten().filter(|bound| bound.from_end) {
                    self.track_from_end(bound.value, k);
                }
                let step = *step;
                let computed = [lo, hi].into_iter().flatten().any(|b| !b.from_end && b.value < 0);
                let (lo, hi) = (lo.map_or(0, from_start), hi.map_or(k as i64, from_start));
                let bounds = usize::try_from(lo).ok().zip(usize::try_from(hi).ok());
                let outside = || {
                    let message =
                        format!("the slice {lo}:{hi} does not lie within an axis of size {k}");
                    let hint = match computed {
                        true => "only negative literals count from the end: write `len(a) - 1`",
                        false => "bounds must be in order and at most the size",
                    };
                    Diagnostic::new(Code::BadIndex, *span, message).hint(hint)
                };
                let margins = |trace: &mut Trace| {
                    let (low, high, size) = (trace.of(lo), trace.of(hi), trace.of_size(k));
                    let within = high.as_ref().zip(low.as_ref()).and_then(|(h, l)| h.sub(l));
                    let below = size.zip(high).and_then(|(k, h)| k.sub(&h));
                    vec![low, within, below]
                };
                let Some((start, end)) = bounds.filter(|&(start, end)| start <= end && end <= k)
                else {
                    self.unless(|trace| {
                        let all: Option<Vec<Condition>> = margins(trace)
                            .into_iter()
                            .map(|margin| margin.map(Condition::NotNegative))
                            .collect();
                        Some(vec![all?])
                    });
                    return Err(self.report(outside()));
                };
                self.must_not_be_negative(margins, outside);
                let count = (end - start).div_ceil(step as usize);
                self.track(count, |trace| {
                    let length = trace.of(hi)?.sub(&trace.of(lo)?)?;
                    let rounded = length.add(&Poly::constant(i128::from(step - 1)))?;
                    trace.space.divide(&rounded, i128::from(step)).map(|(q, _)| q)
                });
                Ok(Selection::Range { start, count, step: step as usize })
            }
        }
    }

    fn out_of_range(&mut self, fault: OutOfRange, otherwise: &str, span: Span) {
        let message = format!("{fault}, so {otherwise}");
        let hint = if fault.index < 0 {
            "literals count from the end, from -1 to minus the size; other negative indices do not: \
             write `a[len(a) - 1]`"
        } else {
            "indices count from 0"
        };
        self.report(Diagnostic::new(Code::IndexOutOfRange, span, message).hint(hint));
    }

    /// An index: a scalar `i64`.
    pub(super) fn index_scalar(&mut self, value: &Value, span: Span) -> R<TermId> {
        let t = self.term(value, span)?;
        let ty = self.b.ty(t);
        if ty.dtype == Dtype::I64 && ty.shape.rank() == 0 {
            return Ok(t);
        }
        let message = format!("an index is a scalar i64; this is {ty}");
        let hint = match (ty.dtype, ty.shape.rank()) {
            (Dtype::I64, _) => "to read at many positions, use `take(a, ix)`",
            (_, 0) => "convert it: `i64(…)`",
            _ => "index by one scalar for each axis",
        };
        Err(self.report(Diagnostic::new(Code::BadIndex, span, message).hint(hint)))
    }
}
