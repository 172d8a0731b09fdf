//! Definitions whose calls cannot end, whatever their arguments are.
//!
//! A definition can end if the calls that it certainly makes can, where of the branches of an `if`
//! one is enough. The least solution is found by counting what is still missing, in linear time: the
//! definitions outside of it call each other for ever.
//!
//! In doubt a definition can end: calls inside lambdas may not happen, and a name that is bound
//! anywhere in a definition may not be the function of that name. Imports have no cycles, so all
//! calls of a cycle stand in one file.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ast::{Ast, BinaryOp, Def, ExprId, ExprKind, Item, Module, Name, PatId, PatternKind};

/// The positions among a file's items of the definitions that cannot end.
pub(crate) fn endless(module: &Module) -> FxHashSet<usize> {
    let mut solver = Solver { ast: &module.ast, defs: FxHashMap::default(), nodes: Vec::new() };
    let mut defs = Vec::new();
    for (item, declaration) in module.items.iter().enumerate() {
        if let Item::Def(def) = declaration {
            let node = solver.node(0);
            // Of two definitions of a name the first counts, and the second is an error.
            solver.defs.entry(&def.name.name).or_insert(node);
            defs.push((item, def, node));
        }
    }
    for (_, def, node) in &defs {
        let bound = solver.bound_names(def);
        solver.calls(def.body, *node, &bound);
    }
    let can_end = solver.solve();
    defs.iter().filter(|(_, _, node)| !can_end[*node]).map(|(item, ..)| *item).collect()
}

/// A statement that is true once `missing` of those it depends on are.
struct Node {
    missing: usize,
    /// The statements that depend on it.
    dependents: Vec<usize>,
}

struct Solver<'m> {
    ast: &'m Ast,
    /// The statements that definitions can end.
    defs: FxHashMap<&'m Name, usize>,
    nodes: Vec<Node>,
}

impl<'m> Solver<'m> {
    fn node(&mut self, missing: usize) -> usize {
        self.nodes.push(Node { missing, dependents: Vec::new() });
        self.nodes.len() - 1
    }

    /// Makes `node` depend on one more.
    fn require(&mut self, node: usize, needed: usize) {
        self.nodes[node].missing += 1;
        self.nodes[needed].dependents.push(node);
    }

    /// Makes `node` depend on all calls that evaluating `expr` certainly makes.
    fn calls(&mut self, expr: ExprId, node: usize, bound: &FxHashSet<&Name>) {
        let ast = self.ast;
        let (operand, chain) = ast.spine(expr);
        for at in chain {
            match &ast[at].kind {
                // The left side may decide.
                ExprKind::Binary { op: BinaryOp::And | BinaryOp::Or, .. } => {}
                ExprKind::Binary { rhs, .. } => self.calls(*rhs, node, bound),
                _ => {}
            }
        }
        match &ast[operand].kind {
            ExprKind::If { arms, otherwise } => {
                let mut node = node;
                for (condition, branch) in arms {
                    self.calls(*condition, node, bound);
                    let (taken, rest) = (self.node(0), self.node(0));
                    self.calls(*branch, taken, bound);
                    let either = self.node(1);
                    self.nodes[taken].dependents.push(either);
                    self.nodes[rest].dependents.push(either);
                    self.require(node, either);
                    node = rest;
                }
                self.calls(*otherwise, node, bound);
            }
            ExprKind::Lambda { .. } => {}
            kind => {
                if let ExprKind::Call { callee, .. } = kind
                    && let Some(name) = self.called(*callee)
                    && !bound.contains(name)
                    && let Some(&def) = self.defs.get(name)
                {
                    self.require(node, def);
                }
                ast.for_each_child(operand, |child| self.calls(child, node, bound));
            }
        }
    }

    /// The name in `f(..)` or `f[n](..)`.
    fn called(&self, callee: ExprId) -> Option<&'m Name> {
        let ast = self.ast;
        let base = match &ast[callee].kind {
            ExprKind::Index { base, .. } => *base,
            _ => callee,
        };
        match &ast[base].kind {
            ExprKind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// Every name that a definition binds somewhere.
    fn bound_names(&self, def: &'m Def) -> FxHashSet<&'m Name> {
        let ast = self.ast;
        let mut names: FxHashSet<&Name> = def.params.iter().map(|param| &param.name.name).collect();
        let mut patterns: Vec<PatId> = Vec::new();
        let mut exprs = vec![def.body];
        while let Some(expr) = exprs.pop() {
            match &ast[expr].kind {
                ExprKind::Let { bindings, .. } => {
                    patterns.extend(bindings.iter().map(|binding| binding.pattern));
                }
                ExprKind::Lambda { params, .. } => patterns.extend(params),
                _ => {}
            }
            ast.for_each_child(expr, |child| exprs.push(child));
        }
        while let Some(pattern) = patterns.pop() {
            match &ast[pattern].kind {
                PatternKind::Name(name) => drop(names.insert(name)),
                PatternKind::Tuple(parts) => patterns.extend(parts),
                PatternKind::Wildcard | PatternKind::Error => {}
            }
        }
        names
    }

    /// Which statements are true.
    fn solve(mut self) -> Vec<bool> {
        let mut holds: Vec<bool> = self.nodes.iter().map(|node| node.missing == 0).collect();
        let mut ready: Vec<usize> = (0..holds.len()).filter(|&node| holds[node]).collect();
        while let Some(node) = ready.pop() {
            for dependent in std::mem::take(&mut self.nodes[node].dependents) {
                let missing = &mut self.nodes[dependent].missing;
                *missing = missing.saturating_sub(1);
                if *missing == 0 && !std::mem::replace(&mut holds[dependent], true) {
                    ready.push(dependent);
                }
            }
        }
        holds
    }
}

#[cfg(test)]
mod tests {
    use super::endless;
    use crate::load::load_text;

    fn names(text: &str) -> Vec<String> {
        let modules = load_text("test.ct", text).map_err(|e| e.to_string());
        let modules = match modules {
            Ok(modules) => modules,
            Err(message) => return vec![message],
        };
        let found = endless(&modules.files[0].module);
        let names = modules.functions().enumerate().filter(|(item, _)| found.contains(item));
        names.map(|(_, info)| info.name.to_owned()).collect()
    }

    #[test]
    fn calls_without_end_are_seen_whatever_the_arguments() {
        for (text, expected) in [
            ("def f(n: i64): f64 = f(n + 1)", &["f"][..]),
            ("def f(g: f64 -> f64, x: f64): f64 = g(f(g, x))", &["f"]),
            ("def f[n](x: [n]f64): f64 = 1.0 + 2.0 * f[n](x)", &["f"]),
            (
                "def f(n: i64): f64 = g(n) def g(n: i64): f64 = -f(n) def h(n: i64): f64 = g(n)",
                &["f", "g", "h"],
            ),
            ("def f(n: i64): f64 = if n == 0 then f(1) else if n == 1 then f(2) else f(3)", &["f"]),
            ("def f(n: i64): f64 = if f(n) > 0.0 then 1.0 else 2.0", &["f"]),
            ("def f(n: i64): f64 = let y = f(n) in 1.0", &["f"]),
            // One way out is enough.
            ("def f(n: i64): f64 = if n == 5 then 1.0 else f(n - 1)", &[]),
            (
                "def f(n: i64): f64 = if n > 5 then f(n - 1) else if n > 2 then f(n - 2) else 0.0",
                &[],
            ),
            ("def f(n: i64): f64 = g(n) def g(n: i64): f64 = if n > 0 then f(n - 1) else 0.0", &[]),
            // What is not certain.
            ("def f(n: i64): f64 = let g = m => f(m) in 1.0", &[]),
            ("def f(n: i64): bool = n > 0 and f(n - 1)", &[]),
            ("def f(f: f64 -> f64, x: f64): f64 = f(x)", &[]),
            ("def f(x: f64): f64 = let f = y => y * x in f(x)", &[]),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }

    #[test]
    fn long_chains_of_calls_take_linear_time() {
        let n = 20_000;
        let link = |k: usize| format!("def f{k}(x: f64): f64 = f{}(x) + f{}(x)\n", k + 1, k + 1);
        let open: String = (0..n).map(link).collect();
        assert_eq!(names(&format!("{open}def f{n}(x: f64): f64 = x")).len(), 0);
        assert_eq!(names(&format!("{open}def f{n}(x: f64): f64 = f0(x)")).len(), n + 1);
    }
}
