//! Which results of a loop's step depend smoothly on which of its inputs.

use cotan_ir::scalar::Op;
use cotan_ir::{CustomKind, Node, Program, Scopes, TermId};
use rustc_hash::FxHashMap;

use crate::step::Step;

/// Which inputs and outputs of a loop's step have a derivative, when the marked inputs have one at
/// the start: a state also when it comes to depend on something that has. Errs towards yes.
///
/// One walk along the uses of what is active; a next state that becomes active makes the state so.
/// Linear in the step, however the states depend on each other.
pub(crate) fn active_in_loop(step: &Step, start: &[bool]) -> (Vec<bool>, Vec<bool>) {
    let program = &step.program;
    let uses = Uses::new(program);
    let mut next_states: FxHashMap<TermId, Vec<usize>> = FxHashMap::default();
    for (k, output) in program.outputs().iter().enumerate().take(step.states) {
        next_states.entry(output.term).or_default().push(k);
    }
    let mut inputs = start.to_vec();
    let mut active = vec![false; program.len()];
    let mut pending: Vec<TermId> =
        (0..inputs.len()).filter(|&k| inputs[k]).filter_map(|k| uses.inputs[k]).collect();
    while let Some(t) = pending.pop() {
        if std::mem::replace(&mut active[t.index()], true) {
            continue;
        }
        pending.extend(uses.of(t).iter().filter(|u| passes_on(program, **u)));
        for &k in next_states.get(&t).into_iter().flatten() {
            if !std::mem::replace(&mut inputs[k], true) {
                pending.extend(uses.inputs[k]);
            }
        }
    }
    let outputs = program.outputs().iter().enumerate();
    // A loop of no steps returns the initial state.
    let outputs =
        outputs.map(|(k, o)| if k < step.states { inputs[k] } else { active[o.term.index()] });
    (inputs.clone(), outputs.collect())
}

/// Whether a node has a derivative if an operand has. A loop's is that of its results.
fn passes_on(program: &Program, t: TermId) -> bool {
    match program.node(t) {
        Node::Op(Op::StopGradient, _) => false,
        Node::MapAccum(_) | Node::While(_) | Node::Custom(_) => true,
        _ => program.dtype(t).is_float(),
    }
}

/// Who uses what, smoothly or not: operands, and captures of loops. (What an index function captures
/// is an integer to it.)
struct Uses {
    /// The uses of node `t` are `users[first[t]..first[t + 1]]`.
    first: Vec<usize>,
    users: Vec<TermId>,
    /// The node of each input.
    inputs: Vec<Option<TermId>>,
}

impl Uses {
    fn new(program: &Program) -> Uses {
        let scopes = Scopes::new(program);
        let order = scopes.top().order();
        let mut inputs = vec![None; program.inputs().len()];
        let mut first = vec![0; program.len() + 1];
        let for_each_use = |f: &mut dyn FnMut(TermId, TermId)| {
            for &t in order {
                match program.node(t) {
                    Node::MapAccum(_) | Node::While(_) => {
                        scopes.for_each_dependency(program, t, |u| f(u, t))
                    }
                    Node::Custom(c)
                        if matches!(c.kind, CustomKind::Implicit | CustomKind::Checkpoint(_)) =>
                    {
                        scopes.for_each_dependency(program, t, |u| f(u, t))
                    }
                    node => node.for_each_operand(|u| f(u, t)),
                }
            }
        };
        for_each_use(&mut |u, _| first[u.index() + 1] += 1);
        for k in 1..first.len() {
            first[k] += first[k - 1];
        }
        let mut filled = first.clone();
        let mut users = vec![None; first[program.len()]];
        for_each_use(&mut |u, t| {
            users[filled[u.index()]] = Some(t);
            filled[u.index()] += 1;
        });
        for t in program.terms() {
            if let Node::Input(k) = program.node(t)
                && let Some(slot) = inputs.get_mut(*k as usize)
            {
                *slot = Some(t);
            }
        }
        Uses { first, users: users.into_iter().flatten().collect(), inputs }
    }

    fn of(&self, t: TermId) -> &[TermId] {
        &self.users[self.first[t.index()]..self.first[t.index() + 1]]
    }
}
