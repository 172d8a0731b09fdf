//! The term formers by name, for choosing and counting them.

use cotan_ir::{CustomKind, Node};

/// A former of [`Node`], without its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is the variant of `Node` of the same name")]
pub enum Former {
    Const,
    Input,
    Var,
    Cond,
    Op,
    Index,
    SumOuter,
    Gather,
    Scatter,
    Stack,
    Replicate,
    Transpose,
    Reshape,
    Build1,
    Iota,
    OneHot,
    ArgExtreme,
    ArgSort,
    SegmentArg,
    Routine,
    MapAccum,
    While,
    Custom,
    /// A `Custom` without a rule.
    Checkpoint,
    Result,
}

impl Former {
    /// All formers, in the order of [`Node`].
    pub const ALL: [Former; 25] = [
        Former::Const,
        Former::Input,
        Former::Var,
        Former::Cond,
        Former::Op,
        Former::Index,
        Former::SumOuter,
        Former::Gather,
        Former::Scatter,
        Former::Stack,
        Former::Replicate,
        Former::Transpose,
        Former::Reshape,
        Former::Build1,
        Former::Iota,
        Former::OneHot,
        Former::ArgExtreme,
        Former::ArgSort,
        Former::SegmentArg,
        Former::Routine,
        Former::MapAccum,
        Former::While,
        Former::Custom,
        Former::Checkpoint,
        Former::Result,
    ];

    /// The former of a node.
    pub fn of(node: &Node) -> Former {
        match node {
            Node::Const(_) => Former::Const,
            Node::Input(_) => Former::Input,
            Node::Var { .. } => Former::Var,
            Node::Cond(..) => Former::Cond,
            Node::Op(..) => Former::Op,
            Node::Index(..) => Former::Index,
            Node::SumOuter(_) => Former::SumOuter,
            Node::Gather(..) => Former::Gather,
            Node::Scatter(..) => Former::Scatter,
            Node::Stack(_) => Former::Stack,
            Node::Replicate(..) => Former::Replicate,
            Node::Transpose(..) => Former::Transpose,
            Node::Reshape(..) => Former::Reshape,
            Node::Build1(_) => Former::Build1,
            Node::Iota(_) => Former::Iota,
            Node::OneHot(..) => Former::OneHot,
            Node::ArgExtreme(..) => Former::ArgExtreme,
            Node::ArgSort(_) => Former::ArgSort,
            Node::SegmentArg(..) => Former::SegmentArg,
            Node::Routine(..) => Former::Routine,
            Node::MapAccum(_) => Former::MapAccum,
            Node::While(_) => Former::While,
            Node::Custom(c) if matches!(c.kind, CustomKind::Checkpoint(_)) => Former::Checkpoint,
            Node::Custom(_) => Former::Custom,
            Node::Result(..) => Former::Result,
        }
    }
}
