//! Which results of a program depend smoothly on which inputs.

use cotan_ir::scalar::Op;
use cotan_ir::{Node, Program, Scopes};

use crate::step::Step;

/// Whether each output may have a derivative, when the marked inputs have one. Errs towards yes.
pub(crate) fn active_outputs(program: &Program, active: &[bool]) -> Vec<bool> {
    let scopes = Scopes::new(program);
    let mut on = vec![false; program.len()];
    for &t in scopes.top().order() {
        let node = program.node(t);
        let mut any = false;
        match node {
            Node::Input(k) => any = active.get(*k as usize) == Some(&true),
            Node::Op(Op::StopGradient, _) => {}
            Node::MapAccum(m) => {
                node.for_each_operand(|u| any |= on[u.index()]);
                any |= scopes.region(m.step).captures().iter().any(|u| on[u.index()]);
                on[t.index()] = any;
                continue;
            }
            Node::Custom(c) => {
                on[t.index()] = c.args.iter().any(|u| on[u.index()]);
                continue;
            }
            _ => node.for_each_operand(|u| any |= on[u.index()]),
        }
        on[t.index()] = any && program.dtype(t).is_float();
    }
    program.outputs().iter().map(|o| on[o.term.index()]).collect()
}

/// Which inputs and outputs of a loop's step have a derivative, when the marked inputs have one at
/// the start: a state also when it comes to depend on something that has.
pub(crate) fn active_in_loop(step: &Step, start: &[bool]) -> (Vec<bool>, Vec<bool>) {
    let mut inputs = start.to_vec();
    loop {
        let mut outputs = active_outputs(&step.program, &inputs);
        let mut grown = false;
        for k in 0..step.states {
            grown |= outputs[k] && !inputs[k];
            inputs[k] |= outputs[k];
            // A loop of no steps returns the initial state.
            outputs[k] = inputs[k];
        }
        if !grown {
            return (inputs, outputs);
        }
    }
}
