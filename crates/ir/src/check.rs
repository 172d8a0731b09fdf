//! The checker: verifies a whole program again from nothing.
//!
//! [`Builder`](crate::Builder) makes only programs that pass, so a failure is a fault of the code
//! that made the program. The two share no rule: the typing rules of Fig. core-typing are written
//! out here a second time, and everything the builder keeps beside a node is computed again.

use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bounds;
use crate::span::Span;
use crate::term::{Arena, Levels, MAX_NESTING, Node, Output, Program, Region, RegionId, TermId};

#[cfg(test)]
mod tests;
mod typing;

/// The part of a program that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A node, and the name of its former.
    Node(TermId, &'static str),
    /// A region.
    Region(RegionId),
    /// An input, by its position.
    Input(usize),
    /// An output, by its position.
    Output(usize),
    /// The tables as a whole.
    Tables,
}

/// Why a program is not well-formed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckError(Box<(Place, Span, String)>);

impl CheckError {
    /// The part that breaks the rule.
    pub fn place(&self) -> &Place {
        &self.0.0
    }

    /// Where it was written, or [`Span::NONE`].
    pub fn span(&self) -> Span {
        self.0.1
    }

    /// The broken rule.
    pub fn message(&self) -> &str {
        &self.0.2
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place() {
            Place::Node(t, name) => write!(f, "node {} ({name}): ", t.index())?,
            Place::Region(r) => write!(f, "region {}: ", r.index())?,
            Place::Input(n) => write!(f, "input {n}: ")?,
            Place::Output(n) => write!(f, "output {n}: ")?,
            Place::Tables => f.write_str("tables: ")?,
        }
        f.write_str(self.message())
    }
}

impl std::error::Error for CheckError {}

impl From<CheckError> for crate::Error {
    fn from(error: CheckError) -> crate::Error {
        crate::Error::internal(format!("ill-formed program: {error}")).with_span(error.span())
    }
}

impl Program {
    /// Verifies everything that holds of the programs a [`Builder`](crate::Builder) makes:
    ///
    /// * operands, and the parameters and results of lambdas, come before their users;
    /// * every node has the type that Fig. core-typing gives it;
    /// * the free variables and the interval of every node are those of its operands;
    /// * a lambda lies deeper than all it captures and uses no other lambda's variables;
    /// * no two nodes and no two regions are equal;
    /// * outputs are closed arrays, inputs and outputs have distinct names.
    ///
    /// Linear in the program times the nesting of its lambdas, without recursion.
    pub fn check(&self) -> Result<(), CheckError> {
        let mut checker = Checker::new(self);
        checker.tables()?;
        checker.inputs()?;
        for r in 0..self.region_count() as u32 {
            checker.region_itself(RegionId(r))?;
        }
        for t in self.terms() {
            checker.node(t)?;
        }
        for r in 0..self.region_count() as u32 {
            checker.region_in_context(RegionId(r))?;
        }
        checker.bound_variables()?;
        checker.uniqueness()?;
        checker.outputs(self.outputs())
    }
}

/// A broken rule, before its place is known.
type Broken = String;

struct Checker<'a> {
    arena: &'a Arena,
    /// One more than the largest region used by a node or what it depends on; 0 for none.
    regions_below: Vec<u32>,
}

impl<'a> Checker<'a> {
    fn new(arena: &'a Arena) -> Checker<'a> {
        Checker { arena, regions_below: Vec::with_capacity(arena.len()) }
    }

    // ---- one part each ------------------------------------------------------------------------

    /// There is one record for each node, and the types they refer to exist, once each.
    fn tables(&self) -> Result<(), CheckError> {
        let Arena { nodes, kind_of, kinds, types, .. } = self.arena;
        let fail = |message: &str| Err(self.error(Place::Tables, message));
        if kind_of.len() != nodes.len() {
            return fail("as many records as nodes are needed");
        }
        if kind_of.iter().any(|&kind| kind as usize >= kinds.len()) {
            return fail("a node refers to a kind that does not exist");
        }
        if kinds.iter().any(|kind| kind.ty as usize >= types.len()) {
            return fail("a node refers to a type that does not exist");
        }
        if types.iter().collect::<FxHashSet<_>>().len() != types.len() {
            return fail("a type is listed twice");
        }
        Ok(())
    }

    /// Names are distinct, and each input has its node.
    fn inputs(&self) -> Result<(), CheckError> {
        let mut names = FxHashSet::default();
        let mut has_node = vec![false; self.arena.inputs.len()];
        for node in &self.arena.nodes {
            if let Node::Input(k) = node
                && let Some(seen) = has_node.get_mut(*k as usize)
            {
                *seen = true;
            }
        }
        for (n, input) in self.arena.inputs.iter().enumerate() {
            if !names.insert(input.name.as_str()) {
                let message = format!("the name `{}` is taken", input.name);
                return Err(self.error(Place::Input(n), message));
            }
            if !has_node[n] {
                return Err(self.error(Place::Input(n), "there is no node for it"));
            }
        }
        Ok(())
    }

    /// The parameters are the variables of the region's level in order; the results are arrays.
    fn region_itself(&self, r: RegionId) -> Result<(), CheckError> {
        let Region { level, params, results } = self.arena.region(r);
        let fail = |message: String| Err(self.error(Place::Region(r), message));
        if *level == 0 || usize::from(*level) > MAX_NESTING {
            return fail(format!("level {level} is not between 1 and {MAX_NESTING}"));
        }
        for (n, x) in params.iter().enumerate() {
            match self.arena.nodes.get(x.index()) {
                Some(Node::Var { level: l, position, .. })
                    if l == level && *position as usize == n => {}
                _ => return fail(format!("parameter {n} is not variable {n} of level {level}")),
            }
        }
        for (n, t) in results.iter().enumerate() {
            match self.arena.nodes.get(t.index()) {
                None => return fail(format!("result {n} does not exist")),
                Some(node) if node.has_results() => {
                    return fail(format!("result {n} is not one array"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The node's operands come before it, and what is kept beside it is right.
    fn node(&mut self, t: TermId) -> Result<(), CheckError> {
        let arena = self.arena;
        let node = arena.node(t);
        let broken = |message: Broken| self.error(Place::Node(t, node.name()), message);
        let ty = self.type_of(t, node).map_err(broken)?;
        if *arena.ty(t) != ty {
            return Err(broken(format!("has type {ty}, but is recorded as {}", arena.ty(t))));
        }
        let free = self.free_variables(node);
        if arena.free(t) != free {
            let message = format!("free levels are {free:?}, but recorded {:?}", arena.free(t));
            return Err(broken(message));
        }
        if let Some(r) = node.region()
            && arena.region(r).level <= free.innermost()
        {
            let message =
                format!("its lambda has level {}, within {free:?}", arena.region(r).level);
            return Err(broken(message));
        }
        let interval = bounds::of_node(arena, node, ty.dtype);
        if arena.bounds(t) != interval {
            let message = format!("lies in {interval:?}, but is recorded {:?}", arena.bounds(t));
            return Err(broken(message));
        }
        let mut below = 0;
        node.for_each_operand(|u| below = below.max(self.regions_below[u.index()]));
        if let Some(r) = node.region() {
            let results = arena.region(r).results.iter();
            let inside = results.map(|u| self.regions_below[u.index()]).max().unwrap_or(0);
            below = below.max(inside).max(r.0 + 1);
        }
        self.regions_below.push(below);
        Ok(())
    }

    /// The results depend on no deeper variable, and the regions inside come first.
    fn region_in_context(&self, r: RegionId) -> Result<(), CheckError> {
        let region = self.arena.region(r);
        for (n, t) in region.results.iter().enumerate() {
            if self.arena.free(*t).innermost() > region.level {
                let message = format!("result {n} depends on a variable of a deeper lambda");
                return Err(self.error(Place::Region(r), message));
            }
            if self.regions_below[t.index()] > r.0 {
                let message = format!("result {n} uses a region that does not come before");
                return Err(self.error(Place::Region(r), message));
            }
        }
        Ok(())
    }

    /// A variable of a region's level in its body is one of its parameters, not one of another
    /// lambda of the same level. Regions with the same parameters are walked together, so that
    /// what they share is walked once.
    fn bound_variables(&self) -> Result<(), CheckError> {
        let mut alike: FxHashMap<(u8, &[TermId]), Vec<RegionId>> = FxHashMap::default();
        let mut order = Vec::new();
        for (r, region) in self.arena.regions.iter().enumerate() {
            let group = alike.entry((region.level, &region.params)).or_default();
            if group.is_empty() {
                order.push((region.level, &region.params));
            }
            group.push(RegionId(r as u32));
        }
        let mut visited = vec![u32::MAX; self.arena.len()];
        let mut stack: Vec<TermId> = Vec::new();
        for (walk, (level, params)) in order.into_iter().enumerate() {
            for &r in &alike[&(level, &**params)] {
                stack.extend(&self.arena.region(r).results);
                while let Some(t) = stack.pop() {
                    let done = std::mem::replace(&mut visited[t.index()], walk as u32);
                    if done == walk as u32 || !self.arena.free(t).contains(level) {
                        continue;
                    }
                    let node = self.arena.node(t);
                    if let Node::Var { level: l, position, .. } = node
                        && *l == level
                        && params.get(*position as usize) != Some(&t)
                    {
                        let message = format!("uses node {}, not one of its variables", t.index());
                        return Err(self.error(Place::Region(r), message));
                    }
                    node.for_each_operand(|u| stack.push(u));
                    if let Some(r) = node.region() {
                        stack.extend(&self.arena.region(r).results);
                    }
                }
            }
        }
        Ok(())
    }

    /// Equal nodes are one node, equal regions are one region.
    fn uniqueness(&self) -> Result<(), CheckError> {
        let mut nodes: FxHashMap<&Node, TermId> = FxHashMap::default();
        for t in self.arena.terms() {
            if let Some(first) = nodes.insert(self.arena.node(t), t) {
                let place = Place::Node(t, self.arena.node(t).name());
                return Err(self.error(place, format!("is equal to node {}", first.index())));
            }
        }
        let mut regions: FxHashMap<&Region, usize> = FxHashMap::default();
        for (r, region) in self.arena.regions.iter().enumerate() {
            if let Some(first) = regions.insert(region, r) {
                let place = Place::Region(RegionId(r as u32));
                return Err(self.error(place, format!("is equal to region {first}")));
            }
        }
        Ok(())
    }

    /// Outputs are single arrays without free variables; all have distinct names or none has one.
    fn outputs(&self, outputs: &[Output]) -> Result<(), CheckError> {
        let mut names = FxHashSet::default();
        let named = outputs.iter().any(|o| !o.name.is_empty());
        for (n, output) in outputs.iter().enumerate() {
            let fail = |message: &str| Err(self.error(Place::Output(n), message));
            match self.arena.nodes.get(output.term.index()) {
                None => return fail("does not exist"),
                Some(node) if node.has_results() => return fail("is not one array"),
                Some(_) if self.arena.free(output.term) != Levels::NONE => {
                    return fail("depends on a variable outside its lambda");
                }
                Some(_) => {}
            }
            if named && (output.name.is_empty() || !names.insert(output.name.as_str())) {
                return fail("needs a name of its own, since some outputs have names");
            }
        }
        Ok(())
    }

    /// `FV(t)`: those of the operands, and those of the lambda but its own.
    fn free_variables(&self, node: &Node) -> Levels {
        if let Node::Var { level, .. } = node {
            return Levels::just(*level);
        }
        let mut free = Levels::NONE;
        if let Some(r) = node.region() {
            let region = self.arena.region(r);
            for &t in &region.results {
                free = free.union(self.arena.free(t));
            }
            free = free.without(region.level);
        }
        node.for_each_operand(|u| free = free.union(self.arena.free(u)));
        free
    }

    fn error(&self, place: Place, message: impl Into<String>) -> CheckError {
        let span = match place {
            Place::Node(t, _) => self.arena.span(t),
            Place::Region(_) | Place::Input(_) | Place::Output(_) | Place::Tables => Span::NONE,
        };
        CheckError(Box::new((place, span, message.into())))
    }
}
