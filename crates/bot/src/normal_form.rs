//! The theorem about normal forms, as a predicate.
//!
//! After the transform (1) `build1` does not occur, and (2) every `index` reads a variable, a
//! constant, a stack at one index, or a scatter, at one index at least. A *variable* is an input, a
//! parameter, a result of `map_accum`, or a computation that is used more than once or belongs to
//! an outer scope: what the report would bind with `let`.

use std::fmt;

use cotan_ir::{Node, Program, Scopes, TermId, use_counts};

/// Where a program is not in normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The offending node.
    pub term: TermId,
    text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not in normal form: {}", self.text)
    }
}

impl std::error::Error for Violation {}

/// Whether the program is in normal form; the first violation if not.
pub fn normal_form(program: &Program) -> Result<(), Violation> {
    let scopes = Scopes::new(program);
    let counts = use_counts(program);
    let in_regions = program.regions().flat_map(|r| scopes.region(r).order().iter());
    for &t in scopes.top().order().iter().chain(in_regions) {
        if !is_normal(program, &counts, t) {
            return Err(Violation { term: t, text: program.show(t).to_string() });
        }
    }
    Ok(())
}

fn is_normal(program: &Program, counts: &[u32], t: TermId) -> bool {
    let Node::Index(u, ix) = program.node(t) else {
        return !matches!(program.node(t), Node::Build1(_));
    };
    if ix.is_empty() {
        return false;
    }
    let bound =
        counts[u.index()] > 1 || program.free(*u).innermost() != program.free(t).innermost();
    match program.node(*u) {
        Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Result(..) => true,
        Node::Scatter(..) => true,
        Node::Stack(_) | Node::ArgSort(_) => ix.len() == 1 || bound,
        Node::Cond(..) | Node::Op(..) | Node::SumOuter(_) | Node::ArgExtreme(..) => bound,
        Node::Index(..) | Node::Gather(..) | Node::Replicate(..) | Node::Transpose(..) => false,
        Node::Reshape(..) | Node::Iota(_) | Node::OneHot(..) | Node::Build1(_) => false,
        Node::MapAccum(_) | Node::Custom(_) => false,
    }
}
