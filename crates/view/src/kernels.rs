//! The kernels of a plan as lines: each comes from all nodes that are computed in it.

use cotan_ir::{Node, Program, Span, TermId, TermSet, provenance};
use cotan_pipeline::Cost;
use cotan_schedule::KernelInfo;

use crate::story::Line;

/// A line for each kernel.
pub(crate) fn lines(program: &Program, kernels: &[KernelInfo]) -> Vec<Line> {
    let spans = places(program, kernels);
    let line = |(n, info): (usize, &KernelInfo)| Line {
        id: format!("kernel:{}", n + 1),
        former: info.kind,
        text: format!("{}{}", info.title(), stored(info)),
        ty: info.terms.first().map_or(String::new(), |&t| program.ty(t).to_string()),
        span: spans[n],
        cost: Cost { operations: info.operations, bytes: info.bytes },
        depth: info.depth,
        uses: Vec::new(),
        results: Vec::new(),
        given: false,
    };
    kernels.iter().enumerate().map(line).collect()
}

/// The nodes that a kernel stores.
fn stored(info: &KernelInfo) -> String {
    let nodes: Vec<String> = info.terms.iter().map(|t| format!("%{}", t.index())).collect();
    if nodes.is_empty() { String::new() } else { format!(" -> {}", nodes.join(", ")) }
}

/// Where each kernel comes from: the nodes that it stores, and their operands as far as no other
/// kernel stores them.
pub(crate) fn places(program: &Program, kernels: &[KernelInfo]) -> Vec<Span> {
    let mut stored = TermSet::new();
    for &t in kernels.iter().flat_map(|info| &info.terms) {
        stored.insert(t);
    }
    let place = |info: &KernelInfo| {
        let mut span = Span::NONE;
        let mut seen = TermSet::new();
        let mut open: Vec<TermId> = info.terms.clone();
        while let Some(t) = open.pop() {
            if !seen.insert(t) {
                continue;
            }
            span = provenance::join(span, program.span(t));
            let node = program.node(t);
            // Loops are steps of their own, and so is what is stored.
            let within = |u: &TermId| {
                let step = matches!(program.node(*u), Node::MapAccum(_) | Node::While(_));
                !stored.contains(*u) && !step
            };
            node.for_each_operand(|u| open.extend(Some(u).filter(within)));
            if let Some(r) = node.region() {
                open.extend(program.region(r).results().iter().copied().filter(within));
            }
        }
        span
    };
    kernels.iter().map(place).collect()
}
