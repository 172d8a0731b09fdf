//! A program as lines, one for each node, those of a region above and within what has it.

use cotan_ir::{Node, Program, RegionId, Scope, Scopes, TermId, provenance};
use cotan_pipeline::Cost;
use rustc_hash::FxHashMap;

use crate::story::Line;

/// The lines of a program. Constants, inputs and variables are written where they are used; inputs have
/// a line, too.
pub(crate) fn lines(program: &Program, prefix: &str) -> Vec<Line> {
    let scopes = Scopes::new(program);
    let costs = Cost::by_node(program);
    let mut listing = Listing {
        program,
        scopes: &scopes,
        costs,
        prefix,
        lines: Vec::new(),
        at: FxHashMap::default(),
    };
    listing.scope(scopes.top(), 0);
    let mut lines = listing.lines;
    for output in program.outputs() {
        if let Some(&n) = listing.at.get(&output.term) {
            let name = if output.name.is_empty() { "result" } else { &output.name };
            lines[n].results.push(name.to_owned());
        }
    }
    lines
}

struct Listing<'a> {
    program: &'a Program,
    scopes: &'a Scopes,
    costs: Vec<Cost>,
    prefix: &'a str,
    lines: Vec<Line>,
    /// The line of each node; of a node in several regions the last.
    at: FxHashMap<TermId, usize>,
}

impl Listing<'_> {
    /// Recursive over the nesting of regions only.
    fn scope(&mut self, scope: &Scope, depth: usize) {
        for &t in scope.order() {
            let node = self.program.node(t);
            if matches!(node, Node::Const(_) | Node::Var { .. }) {
                continue;
            }
            if let Some(r) = node.region() {
                self.scope(self.scopes.region(r), depth + 1);
            }
            self.line(t, depth);
        }
    }

    fn line(&mut self, t: TermId, depth: usize) {
        let program = self.program;
        let node = program.node(t);
        let mut uses: Vec<usize> = Vec::new();
        node.for_each_operand(|u| uses.extend(self.at.get(&u)));
        if let Some(r) = node.region() {
            uses.extend(program.region(r).results().iter().filter_map(|u| self.at.get(u)));
        }
        uses.sort_unstable();
        uses.dedup();
        let ty = match program.result_types(t) {
            Some(types) => {
                let types: Vec<String> = types.iter().map(|ty| ty.to_string()).collect();
                format!("({})", types.join(", "))
            }
            None => program.ty(t).to_string(),
        };
        self.at.insert(t, self.lines.len());
        // What stands in a region comes from there, and the node that has it as well.
        let mut span = program.span(t);
        if span.is_none()
            && let Some(r) = node.region()
        {
            let results = program.region(r).results();
            span = results.iter().fold(span, |span, &u| provenance::join(span, program.span(u)));
        }
        self.lines.push(Line {
            id: format!("{}{}", self.prefix, t.index()),
            former: node.name(),
            text: self.text(t),
            ty,
            span,
            cost: self.costs[t.index()],
            depth,
            uses,
            results: Vec::new(),
            given: matches!(node, Node::Input(_)),
        });
    }

    fn name(&self, t: TermId) -> String {
        match self.program.node(t) {
            Node::Const(_) | Node::Input(_) | Node::Var { .. } => self.program.show(t).to_string(),
            _ => format!("%{}", t.index()),
        }
    }

    fn names(&self, ts: &[TermId]) -> String {
        let names: Vec<String> = ts.iter().take(12).map(|&t| self.name(t)).collect();
        let more = if ts.len() > names.len() { ", .." } else { "" };
        format!("{}{more}", names.join(", "))
    }

    fn lambda(&self, r: RegionId) -> String {
        let region = self.program.region(r);
        let (params, results) = (self.names(region.params()), self.names(region.results()));
        format!("({params}) => [{results}]")
    }

    fn text(&self, t: TermId) -> String {
        let node = self.program.node(t);
        let name = node.name();
        match node {
            Node::Const(_) | Node::Input(_) | Node::Var { .. } => self.name(t),
            Node::Op(op, args) => format!("{op}({})", self.names(args)),
            Node::Index(u, ix) => format!("{}[{}]", self.name(*u), self.names(ix)),
            Node::Gather(u, r) => format!("gather({}, {})", self.name(*u), self.lambda(*r)),
            Node::Scatter(_, u, r) => format!("scatter({}, {})", self.name(*u), self.lambda(*r)),
            Node::Stack(ts) => format!("[{}]", self.names(ts)),
            Node::Build1(r) => {
                let k = self.program.index_sizes(*r).first().copied().unwrap_or(0);
                format!("build {k} ({})", self.lambda(*r))
            }
            Node::Result(u, k) => format!("{}.{k}", self.name(*u)),
            Node::Replicate(k, u) => format!("replicate({}, {k})", self.name(*u)),
            Node::Transpose(perm, u) => format!("transpose({}, {perm:?})", self.name(*u)),
            Node::MapAccum(m) => {
                let (init, over) = (self.names(&m.init), self.names(&m.inputs));
                format!("map_accum {} ({init}) over ({over}) {}", m.length, self.lambda(m.step))
            }
            Node::While(w) => {
                format!("while_accum ({}) {}", self.names(&w.init), self.lambda(w.step))
            }
            Node::Custom(c) => format!("{name}({})", self.names(&c.args)),
            Node::SumOuter(_)
            | Node::Reshape(..)
            | Node::Iota(_)
            | Node::OneHot(..)
            | Node::Cond(..)
            | Node::ArgExtreme(..)
            | Node::ArgSort(_)
            | Node::SegmentArg(..)
            | Node::Routine(..) => {
                let mut operands = Vec::new();
                node.for_each_operand(|u| operands.push(u));
                let name = match node {
                    Node::Routine(routine, _) => routine.name(),
                    _ => name,
                };
                format!("{name}({})", self.names(&operands))
            }
        }
    }
}
