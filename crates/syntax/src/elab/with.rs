//! `x with [i] = v`: a structure with another part.
//!
//! Of an array it is `build n (j => if j == i then v else x[j])`, in loops an update in place. An
//! index out of range replaces nothing.

use cotan_ir::scalar::Op;
use cotan_ir::{Span, TermId};

use super::index::{Entry, Selection};
use super::ops::Operand;
use super::value::Value;
use super::{Elab, R, Reported};
use crate::ast::{Access, Ident};
use crate::diagnostic::{Code, Diagnostic};

/// The positions along an axis that are replaced.
#[derive(Clone, Copy)]
enum Place {
    At(TermId),
    /// Known ones.
    Range {
        start: usize,
        count: usize,
        step: usize,
    },
    /// So many from one on that is known at run time only.
    Window {
        start: TermId,
        count: usize,
        step: i64,
    },
}

/// A step on the way to a part, evaluated.
enum Step<'m> {
    Field(&'m Ident),
    Component(usize),
    Index(Vec<Entry>, Span),
}

impl Elab<'_> {
    /// `base with path = value`: down to the part that is replaced, and back.
    pub(super) fn with(
        &mut self,
        base: &Operand,
        path: &[Access],
        value: &Operand,
        span: Span,
    ) -> R<Value> {
        let (mut here, place) = base.clone();
        let mut way = Vec::new();
        for (n, access) in path.iter().enumerate() {
            let (part, step) = match access {
                Access::Field(field) => (self.field_of(&here, place, field)?, Step::Field(field)),
                Access::Component(index, at) => {
                    (self.projection(&here, *index, *at)?, Step::Component(*index as usize))
                }
                Access::Index(items, at) => {
                    let entries = self.entries(items)?;
                    // Only parts of elements are read.
                    let part = match n + 1 == path.len() {
                        true => Value::Error,
                        false => self.index_by(&here, place, &entries, *at)?,
                    };
                    (part, Step::Index(entries, *at))
                }
            };
            way.push((std::mem::replace(&mut here, part), step));
        }
        let mut new = match way.last() {
            Some((_, Step::Index(..))) => value.0.clone(),
            _ => self.instead(&(here, place), value)?,
        };
        while let Some((old, step)) = way.pop() {
            new = match (step, &old) {
                (Step::Index(entries, at), _) => {
                    self.replaced(&(old, place), &entries, &(new, value.1), at)?
                }
                (Step::Field(field), Value::Record(record)) => {
                    let mut fields = record.items.clone();
                    let named = fields.iter_mut().find(|(name, _)| *name == field.name);
                    if let Some((_, part)) = named {
                        *part = new;
                    }
                    self.bounded(Value::record(fields), span)?
                }
                (Step::Component(index), Value::Tuple(tuple)) => {
                    let mut items = tuple.items.clone();
                    if let Some(item) = items.get_mut(index) {
                        *item = new;
                    }
                    self.bounded(Value::tuple(items), span)?
                }
                (Step::Field(_) | Step::Component(_), _) => return Err(Reported),
            };
        }
        Ok(new)
    }

    /// A value that takes the place of another one, and so has its type.
    fn instead(&mut self, old: &Operand, new: &Operand) -> R<Value> {
        let tree = self.tree_of(&old.0);
        if let Some(fits) = tree.as_ref().and_then(|tree| self.fit(&new.0, tree)) {
            return Ok(fits);
        }
        if let Some(tree) = &tree {
            self.unless_fits(&new.0, tree);
        }
        let (mine, theirs) = (self.describe(&new.0), self.describe(&old.0));
        let message = format!("{theirs} is replaced by {mine}");
        Err(self.report(
            Diagnostic::new(Code::TypeMismatch, new.1, message)
                .label(format!("this is {mine}"))
                .also(old.1, format!("the part that is replaced is {theirs}"))
                .hint("a part keeps its type"),
        ))
    }

    /// The arrays of a structure with other elements at an index.
    fn replaced(
        &mut self,
        base: &Operand,
        entries: &[Entry],
        value: &Operand,
        span: Span,
    ) -> R<Value> {
        if let Value::Function(_) = base.0 {
            let message = "a function has no elements to replace";
            return Err(self.report(Diagnostic::new(Code::NotAnArray, base.1, message)));
        }
        let both = vec![base.clone(), value.clone()];
        let new = self.over_structures("with", both, span, &mut |this, args| {
            let [(old, place), new] = args.as_slice() else { return Err(Reported) };
            let t = this.term(old, *place)?;
            let v = this.term_as(&new.0, this.b.dtype(t), new.1)?;
            this.update(t, (v, new.1), entries, (*place, span)).map(Value::Term)
        })?;
        if self.leaves(&new, span)?.len() == self.leaves(&base.0, base.1)?.len() {
            return Ok(new);
        }
        let (mine, theirs) = (self.describe(&value.0), self.describe(&base.0));
        let message = format!("elements of {theirs} cannot be replaced by {mine}");
        let diagnostic = Diagnostic::new(Code::TypeMismatch, value.1, message);
        Err(self.report(diagnostic.also(base.1, format!("this is {theirs}"))))
    }

    /// An array with other elements at an index.
    fn update(
        &mut self,
        t: TermId,
        (v, value_span): (TermId, Span),
        entries: &[Entry],
        (base_span, span): (Span, Span),
    ) -> R<TermId> {
        self.enough_axes(t, entries.len(), base_span, span)?;
        let dims = self.b.shape(t).dims().to_vec();
        let (outer, inner) = dims.split_at(entries.len());
        let mut places = Vec::new();
        for (entry, &k) in entries.iter().zip(outer) {
            places.push(self.place(entry, k, span)?);
        }
        let counts = places.iter().filter_map(|place| match place {
            Place::At(_) => None,
            Place::Range { count, .. } | Place::Window { count, .. } => Some(*count),
        });
        let part: Vec<usize> = counts.chain(inner.iter().copied()).collect();
        let v = self.part_like(t, v, &part, (base_span, value_span))?;
        let built = self.build_over(outer, span, |this, js| {
            let made = this.element(t, v, &places, outer, js);
            this.lift(made, span).map(Value::Term)
        })?;
        self.term(&built, span)
    }

    /// A value stretched to the part of an array that it replaces.
    fn part_like(
        &mut self,
        t: TermId,
        v: TermId,
        part: &[usize],
        (base_span, span): (Span, Span),
    ) -> R<TermId> {
        let (mine, theirs) = (self.b.ty(v).clone(), self.b.ty(t).clone());
        if mine.dtype == theirs.dtype
            && let Ok(fits) = self.b.broadcast_to(v, part)
        {
            return Ok(fits);
        }
        let shape = match part {
            [] => String::new(),
            part => format!("{part:?}"),
        };
        let message = format!("{shape}{} is replaced by {mine}", theirs.dtype);
        let code = match mine.dtype == theirs.dtype {
            true => Code::ShapeMismatch,
            false => Code::TypeMismatch,
        };
        if code == Code::ShapeMismatch && mine.shape.rank() <= part.len() {
            self.unless_stretches(mine.shape.dims(), part);
        }
        Err(self.report(
            Diagnostic::new(code, span, message)
                .label(format!("this is {mine}"))
                .also(base_span, format!("this is {theirs}")),
        ))
    }

    /// `if all of js are at the places then v[..] else t[js]`.
    fn element(
        &mut self,
        t: TermId,
        v: TermId,
        places: &[Place],
        sizes: &[usize],
        js: &[TermId],
    ) -> cotan_ir::Result<TermId> {
        let b = &mut self.b;
        let (mut conditions, mut ix) = (Vec::new(), Vec::new());
        for ((place, &k), &j) in places.iter().zip(sizes).zip(js) {
            let (start, count, step) = match *place {
                Place::At(i) => {
                    conditions.push(b.op(Op::Eq, &[j, i])?);
                    continue;
                }
                Place::Range { start: 0, count, step: 1 } if count == k => {
                    ix.push(j);
                    continue;
                }
                Place::Range { start, count, step } => {
                    (b.scalar(start as i64)?, count, step as i64)
                }
                Place::Window { start, count, step } => (start, count, step),
            };
            let length = b.scalar((count as i64).saturating_mul(step))?;
            let end = b.op(Op::Add, &[start, length])?;
            conditions.push(b.op(Op::Ge, &[j, start])?);
            conditions.push(b.op(Op::Lt, &[j, end])?);
            let mut at = b.op(Op::Sub, &[j, start])?;
            if step > 1 {
                let (zero, step) = (b.scalar(0i64)?, b.scalar(step)?);
                let rest = b.op(Op::Rem, &[at, step])?;
                conditions.push(b.op(Op::Eq, &[rest, zero])?);
                at = b.op(Op::FloorDiv, &[at, step])?;
            }
            ix.push(at);
        }
        let new = if ix.is_empty() { v } else { b.index(v, &ix)? };
        let mut all: Option<TermId> = None;
        for condition in conditions {
            all = Some(match all {
                Some(all) => b.op(Op::And, &[all, condition])?,
                None => condition,
            });
        }
        match all {
            Some(all) => {
                let old = b.index(t, js)?;
                b.cond(all, new, old)
            }
            None => Ok(new),
        }
    }

    /// What an entry between the brackets replaces on an axis of size `k`.
    fn place(&mut self, entry: &Entry, k: usize, span: Span) -> R<Place> {
        if let Entry::NewAxis = entry {
            let message = "a new axis is no part of the array";
            return Err(self.report(Diagnostic::new(Code::BadIndex, span, message)));
        }
        Ok(match self.selection(entry, k, "nothing is replaced")? {
            Selection::At(i) => Place::At(i),
            Selection::Range { start, count, step } => Place::Range { start, count, step },
            Selection::Window { start, count, step } => Place::Window { start, count, step },
        })
    }
}
