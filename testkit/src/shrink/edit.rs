//! The edits of a program, those that may remove most first.

use std::collections::{BTreeSet, VecDeque};

use cotan_array::Array;
use cotan_ir::{Levels, Node, Param, Program, RegionId, Scopes, TermId};

/// One change of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    /// Leave only this output.
    KeepOutput(usize),
    /// Leave out this output.
    DropOutput(usize),
    /// A term below an output becomes the output, of whatever type.
    Output(usize, TermId),
    /// What an output is made from becomes the outputs in its place.
    Parts(usize),
    /// A new input stands for a closed term.
    Input(TermId),
    /// Zeros (`false`) of its type stand for a node.
    Zero(TermId),
    /// Zeros stand for a closed term, and what it was made from becomes further outputs.
    Cut(TermId),
    /// The second stands for the first.
    Replace(TermId, TermId),
    /// `replicate k t[0/i]` stands for `build k (i => t)`.
    FirstIndex(TermId),
    /// A term below a result of a lambda becomes the result, of whatever type.
    Body(RegionId, usize, TermId),
    /// One result of a loop less, which nothing reads; a state stays as it is at the start.
    DropResult(TermId, usize),
    /// One array less that a loop steps through; zeros stand for its elements.
    DropStepInput(TermId, usize),
    /// A loop runs forwards.
    Forwards(TermId),
    /// Sizes that are one number become another.
    Resize { from: usize, to: usize },
    /// An input less, which nothing reads.
    DropInput(usize),
}

/// How far below a node to look for a replacement of its type.
const BELOW: usize = 40;

/// All edits worth trying.
pub(super) fn edits(program: &Program) -> Vec<Edit> {
    let mut edits = Vec::new();
    let outputs = program.outputs().len();
    if outputs > 1 {
        edits.extend((0..outputs).map(Edit::KeepOutput));
        edits.extend((0..outputs).map(Edit::DropOutput));
    }
    for (n, output) in program.outputs().iter().enumerate() {
        let closed = |u: &TermId| program.free(*u) == Levels::NONE;
        let single = |u: &TermId| program.result_types(*u).is_none();
        let terms = dependencies(program, output.term);
        edits.extend(terms.into_iter().filter(closed).filter(single).map(|u| Edit::Output(n, u)));
    }
    edits.extend((0..outputs).map(Edit::Parts));
    let read = read_results(program);
    for t in program.terms().rev() {
        let node = program.node(t);
        match node {
            Node::Input(_) | Node::Var { .. } => continue,
            Node::Const(literal) if is_zero(literal) => continue,
            Node::MapAccum(m) => {
                let count = program.region(m.step).results().len();
                let unread = (0..count).filter(|&n| !read.contains(&(t, n)));
                edits.extend(unread.map(|n| Edit::DropResult(t, n)));
                edits.extend((0..m.inputs.len()).map(|n| Edit::DropStepInput(t, n)));
                if m.reverse {
                    edits.push(Edit::Forwards(t));
                }
                // States keep their types; outputs may have any.
                edits.extend(bodies(program, m.step, m.init.len()));
                continue;
            }
            Node::While(w) => {
                let count = program.result_count(t).unwrap_or(0);
                let unread = (0..count).filter(|&n| !read.contains(&(t, n)));
                edits.extend(unread.map(|n| Edit::DropResult(t, n)));
                // The condition and states keep their types; outputs may have any.
                edits.extend(bodies(program, w.step, 1 + w.init.len()));
                continue;
            }
            Node::Custom(_) => continue,
            Node::Build1(r) => {
                edits.push(Edit::FirstIndex(t));
                edits.extend(bodies(program, *r, 0));
            }
            Node::Const(_) | Node::Cond(..) | Node::Op(..) | Node::Index(..) => {}
            Node::SumOuter(_) | Node::Gather(..) | Node::Scatter(..) | Node::Stack(_) => {}
            Node::Replicate(..) | Node::Transpose(..) | Node::Reshape(..) | Node::Iota(_) => {}
            Node::OneHot(..) | Node::ArgExtreme(..) | Node::ArgSort(_) => {}
            Node::SegmentArg(..) | Node::Routine(..) | Node::Result(..) => {}
        }
        edits.push(Edit::Zero(t));
        if program.free(t) == Levels::NONE {
            edits.push(Edit::Input(t));
        }
        edits.extend(below(program, t).into_iter().map(|u| Edit::Replace(t, u)));
        if program.free(t) == Levels::NONE {
            edits.push(Edit::Cut(t));
        }
    }
    for k in sizes(program) {
        let smaller = BTreeSet::from([0, 1, 2, k.saturating_sub(1)]);
        let smaller = smaller.into_iter().filter(|&to| to < k);
        edits.extend(smaller.map(|to| Edit::Resize { from: k, to }));
    }
    edits.extend((0..program.inputs().len()).map(Edit::DropInput));
    edits
}

/// Other bodies of a lambda, for its results from number `first` on.
fn bodies(program: &Program, r: RegionId, first: usize) -> Vec<Edit> {
    let results = program.region(r).results().iter().enumerate().skip(first);
    let below = |(n, &t): (usize, &TermId)| {
        let terms = dependencies(program, t).into_iter();
        let single = terms.filter(|u| program.result_types(*u).is_none());
        single.map(move |u| Edit::Body(r, n, u)).collect::<Vec<_>>()
    };
    results.flat_map(below).collect()
}

/// The results of loops that something reads.
fn read_results(program: &Program) -> BTreeSet<(TermId, usize)> {
    let read = |t: TermId| match program.node(t) {
        Node::Result(m, n) => Some((*m, *n as usize)),
        _ => None,
    };
    program.terms().filter_map(read).collect()
}

/// The first terms that `t` depends on, those in its scope only.
fn dependencies(program: &Program, t: TermId) -> BTreeSet<TermId> {
    let mut seen = BTreeSet::new();
    let mut queue = VecDeque::from([t]);
    while let Some(u) = queue.pop_front() {
        if seen.len() > BELOW {
            break;
        }
        let mut visit = |v: TermId| {
            // What does not depend on a lambda's variables may stand outside it.
            let in_scope = program.free(v).innermost() <= program.free(t).innermost();
            if in_scope && seen.insert(v) {
                queue.push_back(v);
            }
        };
        let node = program.node(u);
        node.for_each_operand(&mut visit);
        if let Some(r) = node.region() {
            program.region(r).results().iter().copied().for_each(visit);
        }
    }
    seen
}

/// The closed arrays that a term is made from: its operands and what its lambda captures.
pub(super) fn parts(program: &Program, scopes: &Scopes, t: TermId) -> Vec<TermId> {
    let (mut parts, mut queue) = (Vec::new(), vec![t]);
    while let Some(u) = queue.pop() {
        scopes.for_each_dependency(program, u, |v| {
            if program.result_types(v).is_some() {
                // A loop is no array: go on to what it is made from.
                queue.push(v);
            } else if program.free(v) == Levels::NONE && !parts.contains(&v) {
                parts.push(v);
            }
        });
    }
    parts
}

/// Terms that `t` depends on, of its type and in its scope, and inputs of its type.
fn below(program: &Program, t: TermId) -> BTreeSet<TermId> {
    let fits = |u: &TermId| program.result_types(*u).is_none() && program.ty(*u) == program.ty(t);
    let input = |u: &TermId| matches!(program.node(*u), Node::Input(_));
    let mut found = dependencies(program, t);
    found.extend(program.terms().filter(input));
    found.retain(fits);
    found
}

/// The sizes that occur in a program, largest first.
fn sizes(program: &Program) -> Vec<usize> {
    let mut sizes = BTreeSet::new();
    for t in program.terms() {
        sizes.extend(program.shape(t).dims());
        match program.node(t) {
            Node::Var { param, .. } if let Param::Index(k) = &**param => drop(sizes.insert(*k)),
            Node::MapAccum(m) => drop(sizes.insert(m.length)),
            Node::While(w) => sizes.extend(w.bound),
            _ => {}
        }
    }
    sizes.into_iter().rev().collect()
}

/// Whether all elements are zero or `false`.
pub(super) fn is_zero(array: &Array) -> bool {
    Array::zeros(array.dtype(), array.shape().clone()).is_ok_and(|zeros| zeros == *array)
}
