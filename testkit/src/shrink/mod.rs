//! Smaller programs that fail in the same way.
//!
//! Edits are tried one after the other, those that may remove most first: dropping outputs,
//! replacing a node by zero, by a term below it or by an input, running a loop or a build only at
//! its first index, making sizes smaller. An edit is kept when the program still fails. Every kept
//! edit makes the program smaller by one measure, so that the search ends.

mod edit;
mod rebuild;

use cotan_ir::{Node, Program};

use edit::edits;
use rebuild::rebuild;

/// The smallest program found that `fails`, starting from one that does and trying at most
/// `budget` others.
///
/// ```
/// use cotan_ir::Node;
/// use cotan_testkit::{Config, Rng, generate, shrink};
///
/// let has_sum = |p: &cotan_ir::Program| p.terms().any(|t| matches!(p.node(t), Node::SumOuter(_)));
/// let program = (0..).find_map(|seed| {
///     generate(&Config::default(), &mut Rng::new(seed)).ok().filter(has_sum)
/// }).unwrap();
/// // The sum of a constant is left.
/// assert_eq!(shrink(&program, 1000, has_sum).len(), 2);
/// ```
pub fn shrink(
    program: &Program,
    budget: usize,
    mut fails: impl FnMut(&Program) -> bool,
) -> Program {
    let mut left = budget;
    let mut best = program.clone();
    // Where to go on among the edits after one was kept: earlier ones have just failed.
    let mut start = 0;
    'search: loop {
        let all = edits(&best);
        let count = all.len();
        for n in 0..count {
            let at = (start + n) % count;
            let Ok(candidate) = rebuild(&best, &all[at]) else { continue };
            if measure(&candidate) >= measure(&best) {
                continue;
            }
            if left == 0 {
                return best;
            }
            left -= 1;
            if fails(&candidate) {
                best = candidate;
                start = at;
                continue 'search;
            }
        }
        return best;
    }
}

/// What an edit must make smaller: nodes, then elements and sizes, then how much there is to read.
fn measure(program: &Program) -> (usize, usize, usize) {
    // Sizes count of their own: an array without elements may still be large.
    let extent = |t| program.shape(t).numel() + program.shape(t).dims().iter().sum::<usize>();
    let elements = program.terms().map(extent).sum();
    let detail = program.terms().map(|t| match program.node(t) {
        Node::Const(literal) if edit::is_zero(literal) => 0,
        Node::Const(literal) => 1 + literal.numel(),
        Node::While(w) => 2 + w.bound.unwrap_or(0),
        Node::MapAccum(m) => 1 + m.length + usize::from(m.reverse),
        _ => 1,
    });
    (program.len(), elements, detail.sum::<usize>() + program.outputs().len())
}
