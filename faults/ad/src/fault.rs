//! Deliberate faults, to test the tests: one rule, arm or partial derivative at a time goes wrong.

use cotan_ir::scalar::Op;
use cotan_ir::{Result, listed};

use crate::algebra::Algebra;

listed! {
    /// What happens to a derivative that meets a fault.
    pub enum Change {
        Negated "It changes its sign.",
        Lost "It is taken for zero.",
    }
}

listed! {
    /// Where derivatives are made.
    pub enum Stage {
        Dual "The rules of `D`.",
        Transpose "The reverse pass.",
        Forward "The Delta run forwards.",
        Tangent "Forward mode.",
    }
}

listed! {
    /// The constructors of Delta, and the formers they are named after.
    pub enum Kind {
        Input "`Input`",
        Add "`Add`",
        Scale "`Scale`",
        Index "`Index`",
        SumOuter "`SumOuter`",
        Gather "`Gather`",
        Scatter "`Scatter`",
        LitArray "`LitArray`",
        Replicate "`Replicate`",
        Transpose "`Transpose`",
        Reshape "`Reshape`",
        Cast "`Cast`",
        Select "`Select`",
        Cond "`Cond`",
        OneHot "`OneHot`",
        Routine "`Routine`",
        Result "`Result`, and the loop that it belongs to",
    }
}

listed! {
    /// Faults of another kind.
    pub enum Point {
        CondSwapped "The transpose of a conditional sends cotangents to the other branch.",
        SelectSwapped "The transpose of a selection sends cotangents to the other branch.",
        ForwardBranchesSwapped "A Delta run forwards takes the tangent of the other branch.",
        TangentCondSwapped "Forward mode takes the tangent of the other branch of a conditional.",
        TangentSelectSwapped "Forward mode takes the tangent of the other branch of a selection.",
        PermutationNotInverted "The transpose of `tr` permutes in the same direction.",
        WeakZero "A zero cotangent times infinity is NaN.",
        WeakZeroFactor "In a product of two derivatives zeros of the second one do not annihilate.",
        WeakZeroTangent "In a product of two derivatives zeros of the first one do not annihilate.",
        DeadZeroFactor "A zero factor annihilates the derivatives of the other also where they are finite.",
        CotangentOverwritten "The last of several cotangents wins.",
        ReadsAtFirstPlace "Many reads of an array send their cotangents where the first one read.",
        ReadsLoseLast "The last of many reads of an array sends nothing.",
        LoopDirection "A transposed loop runs in the direction of the loop.",
        LoopForwardDirection "A loop's Delta runs forwards in the other direction.",
        LoopTangentDirection "Forward mode runs a loop in the other direction.",
        LoopIgnoresOutputs "A transposed loop takes no cotangents of outputs.",
        LoopIgnoresFinalStates "A transposed loop takes no cotangents of final states.",
        LoopLosesCaptures "A transposed loop sends nothing to what the step captures.",
        LoopKeepsLastCapture "Of what a step sends to its captures the last step's wins.",
        LoopLosesElements "A transposed loop sends nothing to the arrays stepped through.",
        LoopSavesNextStates "Each step saves the states it returns, not those it was given.",
        LoopForwardLosesElements "A loop's Delta ignores the tangents of the arrays stepped through.",
        LoopTangentLosesCaptures "Forward mode ignores the tangents of what a step captures.",
        WhileStartsLate "A transposed `while` leaves out the last step.",
        WhileIgnoresOutputs "A transposed `while` takes no cotangents of outputs.",
        WhileIgnoresFinalStates "A transposed `while` takes no cotangents of final states.",
        WhileLosesCaptures "A transposed `while` sends nothing to what it captures.",
        WhileReplaysNothing "A transposed `while` takes the nearest saved state for that of a block.",
        WhileForwardStartsLate "The Delta of a `while` leaves out the first step.",
        WhileTangentLosesCaptures "Forward mode ignores the tangents of what a `while` captures.",
        ActivityForgetsStates "A state that starts as a constant is taken for one.",
        StopGradientPasses "`stop_gradient` passes derivatives on.",
        GradientsReversed "Gradients come in the order opposite to that of the inputs.",
        CotangentsReversed "Cotangents go to the outputs in the opposite order.",
        TangentsReversed "Tangents go to the inputs in the opposite order.",
    }
}

/// A deliberate fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// In what a stage does with one former.
    At(Stage, Kind, Change),
    /// In a partial derivative of an operation, by one of its arguments.
    Partial(Op, usize, Change),
    /// Another one.
    Point(Point),
}

mod switch {
    use std::cell::Cell;

    use cotan_ir::scalar::Op;

    use super::{Change, Fault, Kind, Point, Stage};

    thread_local! {
        static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    impl Fault {
        /// Every fault that there is.
        pub fn all() -> Vec<Fault> {
            let mut all = Vec::new();
            for &change in Change::ALL {
                for &stage in Stage::ALL {
                    let has = |kind: &&Kind| match (stage, kind) {
                        (Stage::Dual | Stage::Tangent, Kind::Input | Kind::Add | Kind::Scale) => {
                            false
                        }
                        (Stage::Dual | Stage::Tangent | Stage::Transpose | Stage::Forward, _) => {
                            true
                        }
                    };
                    let kinds = Kind::ALL.iter().filter(has);
                    all.extend(kinds.map(|&kind| Fault::At(stage, kind, change)));
                }
                for op in Op::all() {
                    let partials = crate::partials::partials(op).unwrap_or_default();
                    let smooth = !matches!(op, Op::Select | Op::ToF64 | Op::ToF32);
                    for (k, partial) in partials.iter().enumerate() {
                        if smooth && !matches!(partial, crate::partials::Partial::Zero) {
                            all.push(Fault::Partial(op, k, change));
                        }
                    }
                }
            }
            all.extend(Point::ALL.iter().map(|&point| Fault::Point(point)));
            all
        }

        /// What `body` gives with this fault.
        pub fn while_in<T>(self, body: impl FnOnce() -> T) -> T {
            struct Restore(Option<Fault>);
            impl Drop for Restore {
                fn drop(&mut self) {
                    FAULT.set(self.0);
                }
            }
            let _restore = Restore(FAULT.replace(Some(self)));
            body()
        }
    }

    fn change(of: impl Fn(Change) -> Fault) -> Option<Change> {
        let now = FAULT.get()?;
        Change::ALL.iter().copied().find(|&c| of(c) == now)
    }

    pub(crate) fn faulty(point: Point) -> bool {
        FAULT.get() == Some(Fault::Point(point))
    }

    pub(crate) fn change_at(stage: Stage, kind: Kind) -> Option<Change> {
        change(|c| Fault::At(stage, kind, c))
    }

    pub(crate) fn change_of_partial(op: Op, argument: usize) -> Option<Change> {
        change(|c| Fault::Partial(op, argument, c))
    }
}

pub(crate) use switch::{change_at, change_of_partial, faulty};

/// A derivative after a fault, if there is one: none when it was lost.
pub(crate) fn disturb<A: Algebra>(
    a: &mut A,
    change: Option<Change>,
    t: A::T,
) -> Result<Option<A::T>> {
    Ok(match change {
        None => Some(t),
        Some(Change::Negated) => Some(a.op(Op::Neg, &[t])?),
        Some(Change::Lost) => None,
    })
}
