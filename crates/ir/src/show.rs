//! One term as a short text, for traces and messages.

use std::fmt;

use crate::scalar::Notation;
use crate::term::{Arena, Node, Param, TermId};

/// Deeper parts are written `..`.
const DEPTH: usize = 4;

/// A term of an arena as a short text; see [`Arena::show`].
#[derive(Clone, Copy, Debug)]
pub struct Show<'a> {
    arena: &'a Arena,
    term: TermId,
    depth: usize,
}

impl Arena {
    /// The term as a short text: its outermost formers, the rest elided. For people only.
    pub fn show(&self, term: TermId) -> Show<'_> {
        Show { arena: self, term, depth: DEPTH }
    }

    /// An index function as a short text, `(i, j) => [j, i]`. For people only.
    pub fn show_index_function(&self, r: crate::RegionId) -> String {
        match self.region(r).results().first().or(self.region(r).params().first()) {
            Some(&term) => Show { arena: self, term, depth: DEPTH }.index_function(r),
            None => "() => []".to_owned(),
        }
    }
}

impl Show<'_> {
    fn at(&self, term: TermId) -> Show<'_> {
        Show { arena: self.arena, term, depth: self.depth - 1 }
    }

    fn list(&self, ts: &[TermId]) -> String {
        let shown: Vec<String> = ts.iter().take(4).map(|&t| self.at(t).to_string()).collect();
        let more = if ts.len() > 4 { ", .." } else { "" };
        format!("{}{more}", shown.join(", "))
    }

    fn lambda(&self, r: crate::RegionId, results: impl Fn(&Self, &[TermId]) -> String) -> String {
        let region = self.arena.region(r);
        let params: Vec<String> = region.params().iter().map(|&p| self.at(p).to_string()).collect();
        let params = match params.as_slice() {
            [one] => one.clone(),
            many => format!("({})", many.join(", ")),
        };
        format!("{params} => {}", results(self, region.results()))
    }

    fn index_function(&self, r: crate::RegionId) -> String {
        self.lambda(r, |show, ix| format!("[{}]", show.list(ix)))
    }
}

impl fmt::Display for Show<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arena = self.arena;
        let node = arena.node(self.term);
        if self.depth == 0 && !arena.is_atom(self.term) {
            return f.write_str("..");
        }
        match node {
            Node::Const(c) => write!(f, "{}", crate::print::short_constant(c)),
            Node::Input(k) => match arena.inputs().get(*k as usize) {
                Some(input) => f.write_str(&input.name),
                None => write!(f, "input {k}"),
            },
            Node::Var { level, position, param } => {
                let letters = if matches!(**param, Param::Index(_)) { "ijklmn" } else { "stuvwx" };
                let letter = letters.as_bytes()[(usize::from(*level) + 5) % 6] as char;
                match position {
                    0 => write!(f, "{letter}"),
                    n => write!(f, "{letter}{n}"),
                }
            }
            Node::Op(op, args) => match (op.row().notation, args.as_slice()) {
                (Notation::Infix(sign, _), &[a, b]) => {
                    write!(f, "({} {sign} {})", self.at(a), self.at(b))
                }
                _ => write!(f, "{op}({})", self.list(args)),
            },
            Node::Index(t, ix) => write!(f, "{}[{}]", self.at(*t), self.list(ix)),
            Node::Gather(t, r) => write!(
                f,
                "gather({}, {:?}, {})",
                self.at(*t),
                arena.index_sizes(*r),
                self.index_function(*r)
            ),
            Node::Scatter(sh, t, r) => {
                write!(f, "scatter({}, {sh}, {})", self.at(*t), self.index_function(*r))
            }
            Node::Stack(ts) => write!(f, "[{}]", self.list(ts)),
            Node::Replicate(k, t) => write!(f, "replicate({}, {k})", self.at(*t)),
            Node::Transpose(perm, t) => write!(f, "transpose({}, {perm:?})", self.at(*t)),
            Node::Reshape(sh, t) => write!(f, "reshape({}, {sh})", self.at(*t)),
            Node::Build1(r) => {
                let k = arena.index_sizes(*r).first().copied().unwrap_or(0);
                write!(f, "build {k} ({})", self.lambda(*r, |show, ts| show.list(ts)))
            }
            Node::Iota(k) => write!(f, "iota({k})"),
            Node::OneHot(sh, v, ix) => {
                write!(f, "one_hot({}, {sh}, [{}])", self.at(*v), self.list(ix))
            }
            Node::Cond(p, u, v) => write!(f, "cond({})", self.list(&[*p, *u, *v])),
            Node::SumOuter(t) | Node::ArgExtreme(_, t) | Node::ArgSort(t) => {
                write!(f, "{}({})", node.name(), self.at(*t))
            }
            Node::SegmentArg(_, k, t, ids) => {
                write!(f, "{}({}, {k})", node.name(), self.list(&[*t, *ids]))
            }
            Node::Routine(routine, ts) => write!(f, "{}({})", routine.name(), self.list(ts)),
            Node::MapAccum(m) => {
                write!(f, "map_accum(({}), ({}), ..)", self.list(&m.init), self.list(&m.inputs))
            }
            Node::While(w) => write!(f, "while_accum(({}), ..)", self.list(&w.init)),
            Node::Custom(c) => write!(f, "{}(({}), ..)", node.name(), self.list(&c.args)),
            Node::Result(t, k) => write!(f, "{}.{k}", self.at(*t)),
        }
    }
}
