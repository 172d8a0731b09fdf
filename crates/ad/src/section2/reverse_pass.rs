//! The evaluator that sees sharing: `reversePass_4`, `backprop_4`, `eval_4`
//! (Fig. ad-efficient-eval).
//!
//! `eval_3` walks a Delta term as if it were a tree, and so visits a part as often as there are
//! paths to it. This one stops at every `Share`: it keeps the part under it for later and adds up
//! the cotangents that arrive there. Ids decrease towards the inputs, so when the largest id that
//! is waiting is taken up, all that will ever flow into it has arrived. Sharing in the primal
//! becomes addition in the dual, and every part is visited once.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::delta::{DVarName, Delta, Id, Real};
use super::eval::Visit;

/// The state of an evaluation.
struct EState<R> {
    /// Input cotangents: will collect the final gradient.
    grad: BTreeMap<DVarName, R>,
    /// Delta fragments: what is under the `Share`s that were met and not visited yet.
    dfrag: BTreeMap<Id, Rc<Delta<R>>>,
    /// Accumulated node cotangents, for the same ids.
    accum: BTreeMap<Id, R>,
}

/// `reversePass_4 c d = grad (backprop_4 (eval_4 c d (EState {} {} {})))`: the cotangent of each
/// input that `d` depends on, given the cotangent `c` of `d`.
pub fn reverse_pass_4<R: Real>(c: R, d: &Delta<R>) -> BTreeMap<DVarName, R> {
    reverse_pass_from([(c, d)], &mut |_| {})
}

/// The reverse pass of several results at once: the gradient of their sum, each weighed with its
/// cotangent. Calls `visit` on each node in the order of Fig. eval-share-visits.
pub fn reverse_pass_from<'a, R: Real + 'a>(
    results: impl IntoIterator<Item = (R, &'a Delta<R>)>,
    visit: &mut impl FnMut(Visit),
) -> BTreeMap<DVarName, R> {
    let mut s = EState { grad: BTreeMap::new(), dfrag: BTreeMap::new(), accum: BTreeMap::new() };
    for (c, d) in results {
        eval_4(c, d, &mut s, visit);
    }
    backprop_4(&mut s, visit);
    s.grad
}

/// Visits the waiting fragments, from the highest id to the lowest. Those that `eval_4` adds have
/// lower ids than the one it visits.
fn backprop_4<R: Real>(s: &mut EState<R>, visit: &mut impl FnMut(Visit)) {
    // case Map.maxViewWithKey (accum s) of Just ((i, c), acc') -> let d = dfrag s ! i ..
    while let Some((i, c)) = s.accum.pop_last() {
        if let Some(d) = s.dfrag.remove(&i) {
            visit(Visit::Share(i));
            eval_4(c, &d, s, visit);
        }
    }
}

/// Interprets one fragment, up to the `Share`s in it. `Add` follows its left part first, the right
/// ones wait on a stack.
fn eval_4<R: Real>(c: R, d: &Delta<R>, s: &mut EState<R>, visit: &mut impl FnMut(Visit)) {
    let mut stack = vec![(c, d)];
    while let Some((c, d)) = stack.pop() {
        match d {
            // eval_4 c Zero = id
            Delta::Zero => {}
            // eval_4 c (Input v) = \s -> s { grad = Map.insertWith (+) v c (grad s) }
            Delta::Input(v) => {
                visit(Visit::Input(*v));
                insert_with_plus(&mut s.grad, *v, c);
            }
            // eval_4 c (Add d1 d2) = eval_4 c d2 . eval_4 c d1
            Delta::Add(d1, d2) => stack.extend([(c, &**d2), (c, &**d1)]),
            // eval_4 c (Scale r d) = eval_4 (c * r) d
            Delta::Scale(r, d) => stack.push((c.times(*r), d)),
            // eval_4 c (Share i d) = \s -> s { dfrag = Map.insert i d (dfrag s)
            //                                , accum = Map.insertWith (+) i c (accum s) }
            Delta::Share(i, d) => {
                s.dfrag.entry(*i).or_insert_with(|| Rc::clone(d));
                insert_with_plus(&mut s.accum, *i, c);
            }
        }
    }
}

/// `Map.insertWith (+) k c m`.
fn insert_with_plus<K: Ord, R: Real>(m: &mut BTreeMap<K, R>, k: K, c: R) {
    m.entry(k).and_modify(|sum| *sum = sum.plus(c)).or_insert(c);
}
