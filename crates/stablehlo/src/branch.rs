//! Which nodes belong to a branch of a condition, and in which order everything is written.
//!
//! A condition is a selection, unless a branch has a loop that nothing else needs: that loop must not
//! run where the branch is not taken, since it may not end there. Then the condition is an operation
//! with two blocks, and what only one branch needs stands in its block. Conditions on one truth value
//! are one such operation, so a loop with several results, each under its own condition, is run once.

use cotan_ir::{Node, Program, Scopes, TermId};
use rustc_hash::FxHashMap;

/// Blocks within blocks beyond this are selections.
const MAX_DEPTH: usize = 24;

/// What to write next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Node(TermId),
    /// A position among the groups.
    Branch(usize),
}

/// Conditions on one truth value that are written as one operation.
#[derive(Debug)]
pub(crate) struct Group {
    pub predicate: TermId,
    pub conditions: Vec<TermId>,
    /// The nodes of the block that is run if it holds, and of the other one.
    pub blocks: [Vec<Item>; 2],
}

/// The order of a scope.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub items: Vec<Item>,
    pub groups: Vec<Group>,
}

/// A block: 0 for the scope itself, then two for each group.
type Home = usize;

impl Plan {
    /// The plan of the nodes of a scope, operands before their users, of which some are its results.
    pub fn new(program: &Program, scopes: &Scopes, order: &[TermId], results: &[TermId]) -> Plan {
        let is_cond = |t: &TermId| matches!(program.node(*t), Node::Cond(..));
        if !order.iter().any(is_cond) || !order.iter().any(|&t| is_loop(program, t)) {
            return Plan {
                items: order.iter().map(|&t| Item::Node(t)).collect(),
                groups: Vec::new(),
            };
        }
        let mut planner = Planner::new(program, scopes, order);
        // Results are used by whatever the scope is for.
        results.iter().for_each(|&t| planner.used(t, 0));
        planner.find_homes();
        planner.lift();
        planner.schedule()
    }
}

/// Whether a node may take long, or not end.
fn is_loop(program: &Program, t: TermId) -> bool {
    match program.node(t) {
        Node::MapAccum(_) | Node::While(_) | Node::Custom(_) | Node::Build1(_) => true,
        Node::Const(_) | Node::Input(_) | Node::Var { .. } | Node::Iota(_) | Node::Cond(..) => {
            false
        }
        Node::Op(..) | Node::Index(..) | Node::SumOuter(_) | Node::Gather(..) => false,
        Node::Scatter(..) | Node::Stack(_) | Node::Replicate(..) | Node::Transpose(..) => false,
        Node::Reshape(..) | Node::OneHot(..) | Node::ArgExtreme(..) | Node::ArgSort(_) => false,
        Node::Routine(..) => true,
        Node::SegmentArg(..) => false,
        Node::Result(..) => false,
    }
}

struct Planner<'a> {
    program: &'a Program,
    scopes: &'a Scopes,
    order: &'a [TermId],
    /// How many conditions there are, one after the other, on the way to a node. Those that are
    /// equally many do not depend on each other.
    rank: FxHashMap<TermId, usize>,
    home: FxHashMap<TermId, Home>,
    /// The group of each condition that has one.
    group: FxHashMap<TermId, usize>,
    groups: Vec<Draft>,
}

struct Draft {
    predicate: TermId,
    home: Home,
    depth: usize,
    conditions: Vec<TermId>,
    /// Whether a loop stands in one of its blocks.
    needed: bool,
}

impl<'a> Planner<'a> {
    fn new(program: &'a Program, scopes: &'a Scopes, order: &'a [TermId]) -> Planner<'a> {
        let mut rank: FxHashMap<TermId, usize> = FxHashMap::default();
        for &t in order {
            let mut most = 0;
            scopes.for_each_dependency(program, t, |u| {
                most = most.max(rank.get(&u).copied().unwrap_or(0));
            });
            let cond = matches!(program.node(t), Node::Cond(..));
            rank.insert(t, most + usize::from(cond));
        }
        let (home, group) = (FxHashMap::default(), FxHashMap::default());
        Planner { program, scopes, order, rank, home, group, groups: Vec::new() }
    }

    /// The innermost block around all uses of each node: users come before what they use.
    fn find_homes(&mut self) {
        let mut made: FxHashMap<(TermId, Home, usize), usize> = FxHashMap::default();
        for &t in self.order.iter().rev() {
            let home = self.home.get(&t).copied().unwrap_or(0);
            self.home.insert(t, home);
            let depth = self.depth(home);
            if let Node::Cond(p, u, v) = self.program.node(t)
                && depth < MAX_DEPTH
            {
                let key = (*p, home, self.rank.get(&t).copied().unwrap_or(0));
                let n = *made.entry(key).or_insert_with(|| {
                    let conditions = Vec::new();
                    let draft =
                        Draft { predicate: *p, home, depth: depth + 1, conditions, needed: false };
                    self.groups.push(draft);
                    self.groups.len() - 1
                });
                self.groups[n].conditions.push(t);
                self.group.insert(t, n);
                self.used(*p, home);
                self.used(*u, 1 + 2 * n);
                self.used(*v, 2 + 2 * n);
                continue;
            }
            let mut operands = Vec::new();
            self.scopes.for_each_dependency(self.program, t, |u| operands.push(u));
            operands.into_iter().for_each(|u| self.used(u, home));
        }
    }

    /// Notes a use of `t`.
    fn used(&mut self, t: TermId, at: Home) {
        let home = self.home.get(&t).map_or(at, |&other| self.common(at, other));
        self.home.insert(t, home);
    }

    fn parent(&self, home: Home) -> Home {
        match home.checked_sub(1) {
            Some(n) => self.groups[n / 2].home,
            None => 0,
        }
    }

    fn depth(&self, home: Home) -> usize {
        home.checked_sub(1).map_or(0, |n| self.groups[n / 2].depth)
    }

    /// The innermost block around both.
    fn common(&self, mut a: Home, mut b: Home) -> Home {
        while a != b {
            if self.depth(a) >= self.depth(b) {
                a = self.parent(a);
            } else {
                b = self.parent(b);
            }
        }
        a
    }

    /// Takes nodes out of blocks without loops.
    fn lift(&mut self) {
        for &t in self.order {
            let mut home = self.home.get(&t).copied().unwrap_or(0);
            if is_loop(self.program, t) {
                while home > 0 {
                    self.groups[(home - 1) / 2].needed = true;
                    home = self.parent(home);
                }
            }
        }
        for &t in self.order {
            let mut home = self.home.get(&t).copied().unwrap_or(0);
            while home > 0 && !self.groups[(home - 1) / 2].needed {
                home = self.parent(home);
            }
            self.home.insert(t, home);
        }
    }

    /// Of equally many conditions on the way, the conditions come first: they depend on what has
    /// fewer.
    fn schedule(self) -> Plan {
        let key = |t: &TermId| {
            let cond = matches!(self.program.node(*t), Node::Cond(..));
            (self.rank.get(t).copied().unwrap_or(0), !cond)
        };
        let mut order = self.order.to_vec();
        order.sort_by_key(key);
        let mut blocks: Vec<Vec<Item>> = vec![Vec::new(); 1 + 2 * self.groups.len()];
        let mut written = vec![false; self.groups.len()];
        for t in order {
            let home = self.home.get(&t).copied().unwrap_or(0);
            let group = self.group.get(&t).copied().filter(|&n| self.groups[n].needed);
            match group {
                Some(n) if std::mem::replace(&mut written[n], true) => {}
                Some(n) => blocks[home].push(Item::Branch(n)),
                None => blocks[home].push(Item::Node(t)),
            }
        }
        let mut blocks = blocks.into_iter();
        let items = blocks.next().unwrap_or_default();
        let groups = self.groups.into_iter().map(|draft| Group {
            predicate: draft.predicate,
            conditions: draft.conditions,
            blocks: [blocks.next().unwrap_or_default(), blocks.next().unwrap_or_default()],
        });
        Plan { items, groups: groups.collect() }
    }
}
