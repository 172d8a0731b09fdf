//! Switches of the transform.

use cotan_ir::{CancelToken, Limits};

/// How to transform. The defaults are what users want; the switches exist so that tests can compare
/// the transform with each group of rules off.
#[derive(Clone, Debug)]
pub struct Options {
    /// Push `index` into computations (Fig. bot-rules-index). Off: they are read from memory.
    pub push_index: bool,
    /// Keep what does not depend on a build's index out of it where a rule would copy it.
    pub keep_invariants: bool,
    /// Normalise affine index terms.
    pub normalise_affine: bool,
    /// Drop guards that repeat what an out-of-range read does anyway.
    pub drop_guards: bool,
    /// Write simple index terms into index functions. Off: they are read from memory.
    pub inline_indices: bool,
    /// Record every firing.
    pub trace: bool,
    /// Limits on the result.
    pub limits: Limits,
    /// Stops the work.
    pub cancel: CancelToken,
    /// A deliberate fault, to test the tests. Has no effect unless the crate is built with the
    /// feature `faults`.
    pub fault: Option<Fault>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            push_index: true,
            keep_invariants: true,
            normalise_affine: true,
            drop_guards: true,
            inline_indices: true,
            trace: false,
            limits: Limits::default(),
            cancel: CancelToken::new(),
            fault: None,
        }
    }
}

cotan_ir::listed! {
    /// A deliberate fault in one rule.
    pub enum Fault {
        BuildVarOffByOne "build/var gives iota shifted by one.",
        BuildCondSwapped "build/cond takes the other branch.",
        BuildCondInvariantSwapped "build/cond-invariant takes the other branch.",
        BuildOpSwapped "build/op2 exchanges its operands.",
        BuildSumWrongAxis "build/sumOuter sums the build's axis.",
        BuildGatherDropsIndex "build/gather reads lane 0 instead of its own.",
        BuildGatherInvariantSwapped "build/gather-invariant puts its own index last.",
        BuildScatterDropsIndex "build/scatter writes to lane 0.",
        BuildStackReversed "build/stack reverses its elements.",
        BuildReplicateNotTransposed "build/replicate forgets to exchange the axes.",
        BuildTransposeSwapped "build/transpose exchanges its last two axes.",
        BuildReshapeReversed "build/reshape reads the lanes in reverse.",
        BuildOneHotDropsIndex "build/oneHot writes to lane 0.",
        BuildArgExtremeFlipped "build/argExtreme looks for the other extreme.",
        BuildArgSortNotTransposed "build/argSort sorts along the build's axis.",
        BuildSegmentArgFlipped "build/segmentArg looks for the other extreme.",
        BuildRoutineReversed "build/routine reads the lanes of its last operand in reverse.",
        BuildMapAccumDirection "build/mapAccum runs the other way.",
        BuildLoopInvariantState "build/mapAccum and build/while take every state with an invariant start as invariant.",
        BuildWhileFirstLane "build/while runs as long as the first lane does.",
        BuildWhileNoMask "build/while moves the states of lanes that have ended.",
        BuildWhileOutputsNoMask "build/while keeps the outputs of lanes that have ended.",
        IndexIndexSwapped "index/index exchanges inner and outer index.",
        IndexCondSwapped "index/cond takes the other branch.",
        IndexOpNoMask "index/op forgets its mask.",
        IndexOpSwapped "index/op2 exchanges its operands.",
        IndexSumWrongPermutation "index/sumOuter moves the wrong axis.",
        IndexStackFirst "index/stack drops an index of its elements.",
        IndexReplicateNoMask "index/replicate forgets its mask.",
        IndexTransposeInverse "index/transpose uses the inverse permutation.",
        IndexReshapeWrongStrides "index/reshape uses the strides of the other shape.",
        IndexGatherNoMask "index/gather-cons forgets its mask.",
        IndexGatherLastVariable "index/gather-cons substitutes the last variable.",
        IndexIotaNoMask "index/iota forgets its mask.",
        IndexOneHotNoRange "index/oneHot forgets that an out-of-range position is dropped.",
        IndexArgSortNoMask "index/argSort forgets its mask.",
        IndexSegmentArgNoMask "index/segmentArg forgets its mask.",
        IndexRoutineNoMask "index/routine forgets its mask.",
        IndexStackStaticOffByOne "index/stack-static takes the neighbour.",
        MaskUpperOffByOne "masks let the first index beyond the end through.",
        MaskLowerMissing "masks let negative indices through.",
        BuildIndexDropsIndex "build-index reads lane 0 instead of its own.",
        BuildIndexVarSwapped "build-index/var exchanges the first two indices.",
        CaptureFirstLane "captured scalars are read at lane 0.",
        AffineWrongSign "normalisation flips the sign of negative coefficients.",
        AffineDropsConstant "normalisation loses the constant.",
        GuardReadAlways "guard/read drops every guard of a read.",
        GuardNestedAlways "guard/nested drops every inner guard.",
        GuardEqualOffByOne "guard/equal takes the index beside the right one.",
    }
}
