//! Delta terms (Fig. array-dn-ad): the second component of a dual array.
//!
//! A Delta is a program that computes the forward derivative, linear in the derivatives of the
//! inputs. Deltas live in an arena in which operands come before the terms that use them: the
//! report's `Share` ids are the positions, every term is shared, and ids decrease towards the inputs.

use std::num::NonZeroU32;
use std::sync::Arc;

use cotan_array::Shape;
use cotan_ir::{Routine, Span, Type};

use crate::algebra::Algebra;
use crate::binomial::Rerun;
use crate::custom::DeltaCustom;
use crate::linear::Linear;
use crate::step::Step;
use crate::while_loop::DeltaWhile;

/// A Delta term of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeltaId(NonZeroU32);

impl DeltaId {
    /// The term at a position, which is not the greatest number.
    fn new(position: u32) -> DeltaId {
        DeltaId(NonZeroU32::MIN.saturating_add(position))
    }

    /// The position among the terms of its arena, from 0.
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The constructors: the report's, without `Zero` (a missing Delta) and `Share` (every term is
/// shared), and those of our further formers.
pub enum Delta<A: Algebra + ?Sized> {
    /// The derivative of an input.
    Input(usize),
    /// The sum of two.
    Add(DeltaId, DeltaId),
    /// The elementwise product with an array.
    Scale(A::T, DeltaId),
    /// The elementwise product with an array that is a derivative itself.
    StrongScale(A::T, DeltaId),
    /// `index`
    Index(DeltaId, Box<[A::T]>),
    /// `sumOuter`
    SumOuter(DeltaId),
    /// `gather`
    Gather(DeltaId, A::F),
    /// `scatter` to the given leading sizes
    Scatter(Box<Shape>, DeltaId, A::F),
    /// `[t1, .., tn]`, some of them zero
    LitArray(Box<[Option<DeltaId>]>),
    /// `replicate`
    Replicate(usize, DeltaId),
    /// `tr`
    Transpose(Box<[usize]>, DeltaId),
    /// `reshape`
    Reshape(DeltaId),
    /// Conversion between float types.
    Cast(DeltaId),
    /// Elementwise choice by an array of conditions; a missing branch is zero.
    Select(A::T, Option<DeltaId>, Option<DeltaId>),
    /// Choice by one condition; a missing branch is zero.
    Cond(A::T, Option<DeltaId>, Option<DeltaId>),
    /// `oneHot`
    OneHot(Box<Place<A>>, DeltaId),
    /// A routine that is linear in its last operand, of the given others.
    Routine(Box<(Routine, Vec<A::T>)>, DeltaId),
    /// The derivative of a loop, whose results are read by [`Delta::Result`].
    MapAccum(Box<DeltaLoop<A>>),
    /// The derivative of a loop as long as a condition holds, whose results are read by
    /// [`Delta::Result`].
    While(Box<DeltaWhile<A>>),
    /// The rule of a function with a derivative of its own, whose results are read by
    /// [`Delta::Result`].
    Custom(Box<DeltaCustom<A>>),
    /// One result of a loop or of a function with a derivative of its own.
    Result(DeltaId, usize),
}

/// The leading sizes and the index of a `oneHot`.
pub type Place<A> = (Shape, Vec<<A as Algebra>::T>);

/// The derivative of a `map_accum`.
pub struct DeltaLoop<A: Algebra + ?Sized> {
    /// The number of steps.
    pub length: usize,
    /// Whether the primal ran from the last index to the first.
    pub reverse: bool,
    /// The primal step.
    pub step: Arc<Step>,
    /// The derivative of the step.
    pub linear: Arc<Linear>,
    /// What that needs of every step.
    pub saved: Vec<A::T>,
    /// The arrays stepped through that it reads.
    pub inputs: Vec<A::T>,
    /// What it reads of what the step captures.
    pub captures: Vec<A::T>,
    /// The derivatives of initial states, inputs and captures, in the order of the step's inputs.
    pub deltas: Vec<Option<DeltaId>>,
    /// Which of the step's inputs have a derivative inside the loop.
    pub active_inputs: Vec<bool>,
    /// Which of the step's outputs have a derivative.
    pub active_outputs: Vec<bool>,
    /// The types of the loop's results.
    pub result_types: Vec<Type>,
    /// If nothing was saved, what it takes to run the loop again.
    pub again: Option<Box<Rerun<A::T>>>,
}

impl<A: Algebra + ?Sized> DeltaLoop<A> {
    /// The arrays that it mentions.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = &A::T> {
        let again = self.again.iter().flat_map(|again| again.arrays());
        self.saved.iter().chain(&self.inputs).chain(&self.captures).chain(again)
    }
}

/// An arena of Delta terms.
pub struct Deltas<A: Algebra + ?Sized> {
    terms: Vec<Delta<A>>,
    /// The position of each term's type among the types.
    type_of: Vec<u32>,
    /// Those of neighbours are different.
    types: Vec<Type>,
    loops: bool,
    /// The place of each term, if places are followed, and the present one.
    spans: Option<Vec<Span>>,
    span: Span,
}

impl<A: Algebra + ?Sized> Default for Deltas<A> {
    fn default() -> Deltas<A> {
        Deltas::following(false)
    }
}

impl<A: Algebra + ?Sized> Deltas<A> {
    /// No terms; the places of terms are kept if they are of interest.
    pub(crate) fn following(places: bool) -> Deltas<A> {
        Deltas {
            terms: Vec::new(),
            type_of: Vec::new(),
            types: Vec::new(),
            loops: false,
            spans: places.then(Vec::new),
            span: Span::NONE,
        }
    }

    /// The next terms are derivatives of what comes from this place.
    pub(crate) fn at(&mut self, span: Span) {
        if !span.is_none() {
            self.span = span;
        }
    }

    /// The place of a term, if places are followed.
    pub(crate) fn span(&self, d: DeltaId) -> Span {
        let span = self.spans.as_ref().and_then(|spans| spans.get(d.index()));
        span.copied().unwrap_or(Span::NONE)
    }

    /// Adds a term for the derivative of an array of the given type.
    pub(crate) fn push(&mut self, delta: Delta<A>, ty: Type) -> DeltaId {
        let id = DeltaId::new(self.terms.len() as u32);
        self.terms.push(delta);
        if let Some(spans) = &mut self.spans {
            spans.push(self.span);
        }
        // Most terms have the type of the one before.
        if self.types.last() != Some(&ty) {
            self.types.push(ty);
        }
        self.type_of.push((self.types.len() - 1) as u32);
        id
    }

    /// Notes that there is a loop in what the terms are the derivative of.
    pub(crate) fn meet_loop(&mut self) {
        self.loops = true;
    }

    /// Whether there are loops in what the terms are the derivative of.
    pub fn has_loops(&self) -> bool {
        self.loops
    }

    /// The number of terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether there are no terms.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// All terms, operands first.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = DeltaId> + use<A> {
        (0..self.terms.len() as u32).map(DeltaId::new)
    }

    /// A term.
    pub fn get(&self, d: DeltaId) -> &Delta<A> {
        &self.terms[d.index()]
    }

    /// The type of what the term is the derivative of (`shapeDelta`, in constant time).
    pub fn ty(&self, d: DeltaId) -> &Type {
        &self.types[self.type_of[d.index()] as usize]
    }
}
