//! Loops that certainly end.

use cotan_ir::scalar::Op;
use cotan_ir::{Arena, Node, TermId, While};

/// The most steps a loop can make: its bound, or the limit of a state that counts from 0 in steps of
/// 1 as long as the condition holds. `None` if nothing of the kind is seen.
pub(crate) fn most_steps(arena: &Arena, w: &While) -> Option<usize> {
    w.bound.or_else(|| {
        let (&condition, next) = arena.region(w.step).results().split_first()?;
        let mut conjuncts = vec![condition];
        let mut limit: Option<i64> = None;
        while let Some(t) = conjuncts.pop() {
            match arena.node(t) {
                Node::Op(Op::And, args) => conjuncts.extend(args.iter().copied()),
                Node::Op(Op::Lt, args) => {
                    let params = arena.region(w.step).params();
                    let counter = params.iter().position(|p| args.first() == Some(p));
                    let counts = counter.filter(|&n| {
                        w.init.get(n).and_then(|&s| integer(arena, s)) == Some(0)
                            && next.get(n).is_some_and(|&t| is_successor(arena, t, params[n]))
                    });
                    let bound = args.get(1).and_then(|&t| integer(arena, t));
                    // All conjuncts hold, so the least bound does.
                    let bound = counts.and(bound);
                    limit = limit.min(bound).or(limit).or(bound);
                }
                _ => {}
            }
        }
        limit.map(|k| usize::try_from(k).unwrap_or(0))
    })
}

/// The value of a literal integer.
fn integer(arena: &Arena, t: TermId) -> Option<i64> {
    match arena.node(t) {
        Node::Const(c) => c.get::<i64>(&[]),
        _ => None,
    }
}

/// Whether `t` is `x + 1`.
fn is_successor(arena: &Arena, t: TermId, x: TermId) -> bool {
    matches!(arena.node(t), Node::Op(Op::Add, args)
        if args[0] == x && integer(arena, args[1]) == Some(1))
}
