//! The theorem about normal forms, as a predicate.
//!
//! After the transform (1) `build1` does not occur, and (2) every `index` reads a variable, a
//! constant, a stack at one index, or a scatter, at one index at least. A *variable* is an input, a
//! parameter, a result of a loop, or a computation that is used more than once or belongs to
//! an outer scope: what the report would bind with `let`. Replication, transposition, reshaping,
//! `iota`, `oneHot` and gathers with light index functions are never variables: an index goes
//! through them at no cost.

use std::fmt;

use crate::index_function::is_light;
use cotan_ir::{Node, Program, TermId, use_counts};

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
    let counts = use_counts(program);
    for t in program.terms() {
        // What nothing uses is not part of the program.
        if counts[t.index()] > 0 && !is_normal(program, &counts, t) {
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
        Node::Stack(_) | Node::ArgSort(_) | Node::SegmentArg(..) => ix.len() == 1 || bound,
        Node::Routine(routine, _) => program.shape(*u).rank() == routine.result_rank() || bound,
        Node::Cond(..) | Node::Op(..) | Node::SumOuter(_) | Node::ArgExtreme(..) => bound,
        Node::Gather(_, r) => bound && !is_light(program, *r),
        Node::Index(..) | Node::Replicate(..) | Node::Transpose(..) => false,
        Node::Reshape(..) | Node::Iota(_) | Node::OneHot(..) | Node::Build1(_) => false,
        Node::MapAccum(_) | Node::While(_) | Node::Custom(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotan_array::{Dtype, Shape};
    use cotan_ir::scalar::Op;
    use cotan_ir::{Builder, Result, Type};

    /// The program of one term over a matrix `a` and an integer `i`, and whether it is normal.
    fn is_normal(make: impl Fn(&mut Builder, TermId, TermId) -> Result<TermId>) -> bool {
        let mut b = Builder::new();
        let shape = Shape::new("test", &[3, 3]).unwrap();
        let a = b.input("a", Type::new(Dtype::F64, shape)).unwrap();
        let i = b.input("i", Type::scalar(Dtype::I64)).unwrap();
        let t = make(&mut b, a, i).unwrap();
        normal_form(&b.finish_one(t).unwrap()).is_ok()
    }

    #[test]
    fn the_forms_of_the_theorem_are_normal() {
        assert!(is_normal(|b, a, i| b.index(a, &[i])));
        assert!(is_normal(|b, a, i| {
            let both = b.stack(&[a, a])?;
            b.index(both, &[i])
        }));
        assert!(is_normal(|b, a, i| {
            let f = b.index_function(&[3], |_, is| Ok(is.to_vec()))?;
            let t = b.scatter(&[3], a, f)?;
            b.index(t, &[i, i])
        }));
        // A computation with two users is a variable.
        assert!(is_normal(|b, a, i| {
            let t = b.op(Op::Exp, &[a])?;
            let (row, all) = (b.index(t, &[i])?, b.sum_outer(t)?);
            b.op(Op::Add, &[row, all])
        }));
    }

    #[test]
    fn other_forms_are_not() {
        assert!(!is_normal(|b, a, _| b.build(3, |b, j| b.index(a, &[j]))));
        assert!(!is_normal(|b, a, _| b.index(a, &[])));
        assert!(!is_normal(|b, a, i| {
            let row = b.index(a, &[i])?;
            b.index(row, &[i])
        }));
        assert!(!is_normal(|b, a, i| {
            let both = b.stack(&[a, a])?;
            b.index(both, &[i, i])
        }));
        assert!(!is_normal(|b, a, i| {
            let t = b.op(Op::Exp, &[a])?;
            b.index(t, &[i])
        }));
        assert!(!is_normal(|b, a, i| {
            let t = b.transpose(&[1, 0], a)?;
            b.index(t, &[i])
        }));
        // Structure is no variable, however often it is used.
        assert!(!is_normal(|b, a, i| {
            let t = b.replicate(3, a)?;
            let (row, all) = (b.index(t, &[i])?, b.sum_outer(t)?);
            b.op(Op::Add, &[row, all])
        }));
        // In a lambda too.
        assert!(!is_normal(|b, a, i| {
            let f = b.index_function(&[3], |b, is| {
                let all = b.iota(3)?;
                Ok(vec![b.index(all, &[is[0]])?])
            })?;
            let t = b.gather(a, f)?;
            let row = b.index(a, &[i])?;
            let sum = b.sum_outer(t)?;
            b.op(Op::Add, &[row, sum])
        }));
    }
}
