//! Do two files say the same? Spans, comments, redundant parentheses and quotes do not count.

use crate::ast::{
    Access, Arg, Binding, ExprId, ExprKind, Ident, IndexItem, Item, Literal, Module, PatId,
    PatternKind, TypeId, TypeKind,
};

impl Module {
    /// The same declarations, up to spans, comments and redundant parentheses.
    pub fn same_meaning(&self, other: &Module) -> bool {
        let mut pairs = Pairs { left: self, right: other, todo: Vec::new() };
        pairs.each(&self.items, &other.items, Pairs::items) && pairs.finish()
    }
}

/// Two nodes that must say the same.
#[derive(Clone, Copy)]
enum Pair {
    Exprs(ExprId, ExprId),
    Types(TypeId, TypeId),
    Patterns(PatId, PatId),
}

/// Compares with a list of what is left to compare, so the depth of the trees does not matter. Each
/// method compares two nodes without their children, and puts the children on the list.
struct Pairs<'m> {
    left: &'m Module,
    right: &'m Module,
    todo: Vec<Pair>,
}

impl Pairs<'_> {
    fn finish(&mut self) -> bool {
        while let Some(pair) = self.todo.pop() {
            let same = match pair {
                Pair::Exprs(a, b) => self.expr_kinds(a, b),
                Pair::Types(a, b) => self.type_kinds(a, b),
                Pair::Patterns(a, b) => self.pattern_kinds(a, b),
            };
            if !same {
                return false;
            }
        }
        true
    }

    fn each<T>(
        &mut self,
        a: &[T],
        b: &[T],
        mut same: impl FnMut(&mut Self, &T, &T) -> bool,
    ) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(self, a, b))
    }

    fn option<T>(
        &mut self,
        a: &Option<T>,
        b: &Option<T>,
        same: impl FnOnce(&mut Self, &T, &T) -> bool,
    ) -> bool {
        match (a, b) {
            (Some(a), Some(b)) => same(self, a, b),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    fn expr(&mut self, a: &ExprId, b: &ExprId) -> bool {
        self.todo.push(Pair::Exprs(*a, *b));
        true
    }

    fn ty(&mut self, a: &TypeId, b: &TypeId) -> bool {
        self.todo.push(Pair::Types(*a, *b));
        true
    }

    fn pattern(&mut self, a: &PatId, b: &PatId) -> bool {
        self.todo.push(Pair::Patterns(*a, *b));
        true
    }

    fn ident(&mut self, a: &Ident, b: &Ident) -> bool {
        a.name == b.name
    }

    fn items(&mut self, a: &Item, b: &Item) -> bool {
        match (a, b) {
            (Item::Import(a), Item::Import(b)) => {
                a.path == b.path && self.option(&a.alias, &b.alias, Pairs::ident)
            }
            (Item::Type(a), Item::Type(b)) => {
                self.ident(&a.name, &b.name)
                    && self.each(&a.sizes, &b.sizes, Pairs::ident)
                    && self.ty(&a.ty, &b.ty)
            }
            (Item::Def(a), Item::Def(b)) => {
                self.ident(&a.name, &b.name)
                    && self.each(&a.sizes, &b.sizes, Pairs::ident)
                    && self.each(&a.params, &b.params, |pairs, a, b| {
                        pairs.ident(&a.name, &b.name) && pairs.ty(&a.ty, &b.ty)
                    })
                    && self.option(&a.result, &b.result, Pairs::ty)
                    && self.expr(&a.body, &b.body)
            }
            (Item::Import(_) | Item::Type(_) | Item::Def(_), _) => false,
        }
    }

    fn expr_kinds(&mut self, a: ExprId, b: ExprId) -> bool {
        use ExprKind::*;
        let (left, right) = (self.left, self.right);
        match (&left.ast[a].kind, &right.ast[b].kind) {
            (Literal(a), Literal(b)) => same_literal(a, b),
            (Name(a), Name(b)) => a == b,
            (Unary { op: p, operand: a }, Unary { op: q, operand: b }) => p == q && self.expr(a, b),
            (Binary { op: p, lhs: a, rhs: c, .. }, Binary { op: q, lhs: b, rhs: d, .. }) => {
                p == q && self.expr(a, b) && self.expr(c, d)
            }
            (Call { callee: f, args: a }, Call { callee: g, args: b }) => {
                self.expr(f, g) && self.each(a, b, Pairs::arg)
            }
            (Index { base: a, items: i }, Index { base: b, items: j }) => {
                self.expr(a, b) && self.each(i, j, Pairs::index_item)
            }
            (Field { base: a, field: v }, Field { base: b, field: w }) => {
                self.ident(v, w) && self.expr(a, b)
            }
            (Proj { base: a, index: i, .. }, Proj { base: b, index: j, .. }) => {
                i == j && self.expr(a, b)
            }
            (Tuple(a), Tuple(b)) | (Array(a), Array(b)) => self.each(a, b, Pairs::expr),
            (Record(a), Record(b)) => {
                self.each(a, b, |pairs, (v, a), (w, b)| pairs.ident(v, w) && pairs.expr(a, b))
            }
            (Lambda { params: p, body: a }, Lambda { params: q, body: b }) => {
                self.each(p, q, Pairs::pattern) && self.expr(a, b)
            }
            (Build { sizes: k, body: a }, Build { sizes: l, body: b }) => {
                self.each(k, l, Pairs::expr) && self.expr(a, b)
            }
            (With { base: a, path: p, value: v, .. }, With { base: b, path: q, value: w, .. }) => {
                self.expr(a, b) && self.each(&p.steps, &q.steps, Pairs::access) && self.expr(v, w)
            }
            (If { arms: p, otherwise: a }, If { arms: q, otherwise: b }) => {
                self.each(p, q, |pairs, (p, a), (q, b)| pairs.expr(p, q) && pairs.expr(a, b))
                    && self.expr(a, b)
            }
            (Let { bindings: p, body: a }, Let { bindings: q, body: b }) => {
                self.each(p, q, Pairs::binding) && self.expr(a, b)
            }
            (Error, Error) => true,
            (
                Literal(_)
                | Name(_)
                | Unary { .. }
                | Binary { .. }
                | Call { .. }
                | Index { .. }
                | Field { .. }
                | Proj { .. }
                | Tuple(_)
                | Record(_)
                | Array(_)
                | Lambda { .. }
                | Build { .. }
                | With { .. }
                | If { .. }
                | Let { .. }
                | Error,
                _,
            ) => false,
        }
    }

    fn arg(&mut self, a: &Arg, b: &Arg) -> bool {
        self.option(&a.name, &b.name, |pairs, a, b| pairs.ident(a, b))
            && self.expr(&a.value, &b.value)
    }

    fn access(&mut self, a: &Access, b: &Access) -> bool {
        match (a, b) {
            (Access::Index(a, _), Access::Index(b, _)) => self.each(a, b, Pairs::index_item),
            (Access::Field(a), Access::Field(b)) => self.ident(a, b),
            (Access::Component(a, _), Access::Component(b, _)) => a == b,
            (Access::Index(..) | Access::Field(_) | Access::Component(..), _) => false,
        }
    }

    fn index_item(&mut self, a: &IndexItem, b: &IndexItem) -> bool {
        match (a, b) {
            (IndexItem::At(a), IndexItem::At(b)) => self.expr(a, b),
            (
                IndexItem::Slice { lo: a, hi: c, step: e, .. },
                IndexItem::Slice { lo: b, hi: d, step: f, .. },
            ) => {
                self.option(a, b, Pairs::expr)
                    && self.option(c, d, Pairs::expr)
                    && self.option(e, f, Pairs::expr)
            }
            (IndexItem::At(_) | IndexItem::Slice { .. }, _) => false,
        }
    }

    fn binding(&mut self, a: &Binding, b: &Binding) -> bool {
        self.pattern(&a.pattern, &b.pattern)
            && self.option(&a.ty, &b.ty, Pairs::ty)
            && self.expr(&a.value, &b.value)
    }

    fn pattern_kinds(&mut self, a: PatId, b: PatId) -> bool {
        use PatternKind::*;
        let (left, right) = (self.left, self.right);
        match (&left.ast[a].kind, &right.ast[b].kind) {
            (Name(a), Name(b)) => a == b,
            (Tuple(a), Tuple(b)) => self.each(a, b, Pairs::pattern),
            (Wildcard, Wildcard) | (Error, Error) => true,
            (Name(_) | Tuple(_) | Wildcard | Error, _) => false,
        }
    }

    fn type_kinds(&mut self, a: TypeId, b: TypeId) -> bool {
        use TypeKind::*;
        let (left, right) = (self.left, self.right);
        match (&left.ast[a].kind, &right.ast[b].kind) {
            (Scalar(a), Scalar(b)) => a == b,
            (Array { sizes: k, element: a }, Array { sizes: l, element: b }) => {
                self.each(k, l, Pairs::expr) && self.ty(a, b)
            }
            (Tuple(a), Tuple(b)) => self.each(a, b, Pairs::ty),
            (Record(a), Record(b)) => {
                self.each(a, b, |pairs, (v, a), (w, b)| pairs.ident(v, w) && pairs.ty(a, b))
            }
            (Alias { module: m, name: a, sizes: k }, Alias { module: n, name: b, sizes: l }) => {
                self.option(m, n, Pairs::ident) && self.ident(a, b) && self.each(k, l, Pairs::expr)
            }
            (Function { params: p, result: a }, Function { params: q, result: b }) => {
                self.each(p, q, Pairs::ty) && self.ty(a, b)
            }
            (Error, Error) => true,
            (
                Scalar(_)
                | Array { .. }
                | Tuple(_)
                | Record(_)
                | Alias { .. }
                | Function { .. }
                | Error,
                _,
            ) => false,
        }
    }
}

fn same_literal(a: &Literal, b: &Literal) -> bool {
    match (a, b) {
        (Literal::Bool(a), Literal::Bool(b)) => a == b,
        (Literal::Int { value: a, suffix: s }, Literal::Int { value: b, suffix: t }) => {
            a == b && s == t
        }
        (Literal::Float { value: a, suffix: s }, Literal::Float { value: b, suffix: t }) => {
            a.to_bits() == b.to_bits() && s == t
        }
        (Literal::Bool(_) | Literal::Int { .. } | Literal::Float { .. }, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use cotan_ir::FileId;

    use crate::parse;

    fn same(a: &str, b: &str) -> bool {
        let body = |text: &str| parse(FileId(0), &format!("def f(x: f64) = {text}")).module;
        body(a).same_meaning(&body(b))
    }

    #[test]
    fn only_what_is_said_counts() {
        for (a, b) in [
            ("(a + b) + c", "a +  # one\n b + c"),
            ("let x = 1; let y = 2 in x", "let x = 1 in let y = 2 in x"),
            ("build(n, i => a[i])", "build n ((`i`) => (a)[i])"),
            ("build((m, n), (i, j) => 0)", "build (m, n) ((i, j) => 0)"),
            ("nan", "-nan"),
            ("1e3", "1000.0"),
        ] {
            assert!(same(a, b), "{a} and {b}");
        }
        for (a, b) in [
            ("a + (b + c)", "a + b + c"),
            ("0.0", "-0.0"),
            ("1", "1i64"),
            ("1.0", "1.0f64"),
            ("f(x)", "f(x = x)"),
            ("a[1]", "a[1:]"),
            ("a[1:]", "a[:1]"),
            ("(a,)", "a"),
            ("if a then b else (if c then d else e)", "if a then b else if c then d else e"),
            ("((x, y)) => x", "(x, y) => x"),
            ("_ => 1", "x => 1"),
            ("{a = 1}", "{b = 1}"),
            ("t.0", "t.1"),
            ("let x: f64 = 1 in x", "let x = 1 in x"),
        ] {
            assert!(!same(a, b), "{a} and {b}");
        }
    }
}
