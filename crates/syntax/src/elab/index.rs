//! Indexing and slicing.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{OutOfRange, Param, Span, TermId};

use super::value::Value;
use super::{Elab, R, Reported};
use crate::ast::{ExprId, IndexItem};
use crate::diagnostic::{Code, Diagnostic};
use crate::sizes::{Condition, Poly, Trace};

/// One entry between the brackets, evaluated.
#[derive(Clone)]
enum Entry {
    /// One position.
    At(Value, Span),
    /// `lo:hi:step` with any part left out.
    Slice { lo: Option<i64>, hi: Option<i64>, step: i64, span: Span },
}

/// What an entry selects on its axis.
#[derive(Clone, Copy)]
enum Selection {
    At(TermId),
    Range { start: usize, count: usize, step: usize },
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
        let mut entries = Vec::new();
        let mut failed = matches!(base, Value::Error);
        for item in items {
            match self.entry(item) {
                Ok(entry) => entries.push(entry),
                Err(Reported) => failed = true,
            }
        }
        if failed {
            return Err(Reported);
        }
        if let Value::Function(_) = base {
            let message = "a function cannot be indexed";
            let hint = "explicit sizes stand before the arguments: `f[3](x)`";
            return Err(
                self.report(Diagnostic::new(Code::NotAnArray, base_span, message).hint(hint))
            );
        }
        if let (Value::Tuple(_), [Entry::At(Value::Known(_), _)]) = (base, entries.as_slice())
            && self.leaves(base, base_span)?.iter().any(|&t| self.b.shape(t).rank() == 0)
        {
            let message = format!("this is a tuple, {}, not an array", self.describe(base));
            let hint = "a component of a tuple is `t.0`";
            return Err(self.report(Diagnostic::new(Code::BadIndex, base_span, message).hint(hint)));
        }
        self.map_leaves(base, base_span, &mut |this, t| {
            this.index_term(t, &entries, base_span, span)
        })
    }

    fn entry(&mut self, item: &IndexItem) -> R<Entry> {
        match item {
            IndexItem::At(expr) => {
                let value = self.try_elab(*expr)?;
                Ok(Entry::At(value, self.span_of(*expr)))
            }
            IndexItem::Slice { lo, hi, step, span } => {
                let mut bound = |part: Option<ExprId>| -> R<Option<i64>> {
                    let Some(part) = part else { return Ok(None) };
                    let value = self.try_elab(part)?;
                    self.static_int(&value, self.span_of(part)).map(Some)
                };
                let (lo, hi, step) = (bound(*lo)?, bound(*hi)?, bound(*step)?.unwrap_or(1));
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

    fn index_term(
        &mut self,
        t: TermId,
        entries: &[Entry],
        base_span: Span,
        span: Span,
    ) -> R<TermId> {
        let dims = self.b.shape(t).dims().to_vec();
        if entries.len() > dims.len() {
            let given = match entries.len() {
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
        let mut selections = Vec::new();
        for (entry, &k) in entries.iter().zip(&dims) {
            selections.push(self.selection(entry, k)?);
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
                Selection::Range { .. } => None,
            })
            .collect();
        if let Some(positions) = positions {
            let made = self.b.index(t, &positions);
            return self.lift(made, span);
        }
        self.slice(t, &selections, span)
    }

    /// `gather (\is -> ..) t` with a variable for each range.
    fn slice(&mut self, t: TermId, selections: &[Selection], span: Span) -> R<TermId> {
        let params: Vec<Param> = selections
            .iter()
            .filter_map(|selection| match selection {
                Selection::At(_) => None,
                Selection::Range { count, .. } => Some(Param::Index(*count)),
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

    fn selection(&mut self, entry: &Entry, k: usize) -> R<Selection> {
        match entry {
            Entry::At(value, span) => {
                if let Some(fault) = value.known_int().and_then(|i| OutOfRange::of(i, k)) {
                    self.out_of_range(fault, *span);
                }
                self.index_scalar(value, *span).map(Selection::At)
            }
            Entry::Slice { lo, hi, step, span } => {
                let (lo, hi, step) = (lo.unwrap_or(0), hi.unwrap_or(k as i64), *step);
                let bounds = usize::try_from(lo).ok().zip(usize::try_from(hi).ok());
                let outside = || {
                    let message =
                        format!("the slice {lo}:{hi} does not lie within an axis of size {k}");
                    let hint = if lo < 0 || hi < 0 {
                        "bounds do not count from the end: write `len(a) - 1`"
                    } else {
                        "bounds must be in order and at most the size"
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

    fn out_of_range(&mut self, fault: OutOfRange, span: Span) {
        let message = format!("{fault}, so this reads 0");
        let hint = if fault.index < 0 {
            "indices do not count from the end: write `a[len(a) - 1]`"
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
