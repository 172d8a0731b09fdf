//! What the names of a file mean.

use cotan_ir::Span;
use cotan_syntax::ast::{
    Access, Ast, Def, ExprId, ExprKind, Ident, IndexItem, Item, Module, Name, PatId, PatternKind,
    TypeId, TypeKind,
};
use rustc_hash::FxHashMap;

/// What sort of thing a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Function,
    Type,
    Parameter,
    Variable,
    Size,
    Module,
    Builtin,
    /// Nothing that this file defines: it may come from an import, or be wrong.
    Unknown,
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// What this file defines at a place.
    Here(Span),
    /// A definition of the file that is imported under an alias.
    Of { alias: Name, name: Name },
    /// What the language or an import brings, by name.
    Global(Name),
}

/// A name where it stands.
#[derive(Clone, Debug)]
pub struct Occurrence {
    pub span: Span,
    pub name: Name,
    pub kind: Kind,
    pub target: Target,
    /// Whether the name gets its meaning here.
    pub defines: bool,
}

/// All names of a file, in order. Names of fields are not among them.
pub fn occurrences(module: &Module, is_builtin: &dyn Fn(&str) -> bool) -> Vec<Occurrence> {
    let mut walk = Walk {
        ast: &module.ast,
        is_builtin,
        functions: FxHashMap::default(),
        types: FxHashMap::default(),
        aliases: FxHashMap::default(),
        scope: Vec::new(),
        bound: FxHashMap::default(),
        found: Vec::new(),
    };
    for item in &module.items {
        match item {
            Item::Def(def) => drop(walk.functions.insert(def.name.name.clone(), def)),
            Item::Type(def) => drop(walk.types.insert(def.name.name.clone(), def.name.span)),
            Item::Import(import) => {
                if let Some(alias) = &import.alias {
                    walk.aliases.insert(alias.name.clone(), alias.span);
                }
            }
        }
    }
    for item in &module.items {
        walk.item(item);
    }
    walk.found.sort_by_key(|occurrence| occurrence.span);
    walk.found
}

struct Walk<'m> {
    ast: &'m Ast,
    is_builtin: &'m dyn Fn(&str) -> bool,
    functions: FxHashMap<Name, &'m Def>,
    types: FxHashMap<Name, Span>,
    aliases: FxHashMap<Name, Span>,
    /// The local names that were bound, innermost last.
    scope: Vec<Name>,
    bound: FxHashMap<Name, Vec<(Span, Kind)>>,
    found: Vec<Occurrence>,
}

impl<'m> Walk<'m> {
    fn item(&mut self, item: &'m Item) {
        match item {
            Item::Import(import) => {
                if let Some(alias) = &import.alias {
                    self.define(alias, Kind::Module);
                }
            }
            Item::Type(def) => {
                self.define(&def.name, Kind::Type);
                let mark = self.scope.len();
                for size in &def.sizes {
                    self.bind(&size.name, size.span, Kind::Size);
                }
                self.ty(def.ty, false);
                self.leave(mark);
            }
            Item::Def(def) => {
                self.define(&def.name, Kind::Function);
                let mark = self.scope.len();
                for size in &def.sizes {
                    self.bind(&size.name, size.span, Kind::Size);
                }
                for param in &def.params {
                    self.bind(&param.name.name, param.name.span, Kind::Parameter);
                }
                for param in &def.params {
                    self.ty(param.ty, true);
                }
                if let Some(result) = def.result {
                    self.ty(result, false);
                }
                self.expr(def.body);
                self.leave(mark);
            }
        }
    }

    fn define(&mut self, ident: &Ident, kind: Kind) {
        self.note(ident.span, &ident.name, kind, Target::Here(ident.span), true);
    }

    fn note(&mut self, span: Span, name: &Name, kind: Kind, target: Target, defines: bool) {
        self.found.push(Occurrence { span, name: name.clone(), kind, target, defines });
    }

    fn bind(&mut self, name: &Name, span: Span, kind: Kind) {
        self.note(span, name, kind, Target::Here(span), true);
        self.bound.entry(name.clone()).or_default().push((span, kind));
        self.scope.push(name.clone());
    }

    fn leave(&mut self, mark: usize) {
        for name in self.scope.drain(mark..) {
            if let Some(bound) = self.bound.get_mut(&name) {
                bound.pop();
            }
        }
    }

    /// A name that is used.
    fn used(&mut self, name: &Name, span: Span) {
        let local = self.bound.get(name).and_then(|bound| bound.last()).copied();
        let (kind, target) = match (local, self.functions.get(name), self.aliases.get(name)) {
            (Some((place, kind)), ..) => (kind, Target::Here(place)),
            (None, Some(def), _) => (Kind::Function, Target::Here(def.name.span)),
            (None, None, Some(alias)) => (Kind::Module, Target::Here(*alias)),
            (None, None, None) => {
                let kind = if (self.is_builtin)(name) { Kind::Builtin } else { Kind::Unknown };
                (kind, Target::Global(name.clone()))
            }
        };
        self.note(span, name, kind, target, false);
    }

    /// A type. In the types of parameters names of sizes get their meanings.
    fn ty(&mut self, id: TypeId, declares: bool) {
        let ast = self.ast;
        match &ast[id].kind {
            TypeKind::Scalar(_) | TypeKind::Error => {}
            TypeKind::Array { sizes, element } => {
                sizes.iter().for_each(|&size| self.size(size, declares));
                self.ty(*element, declares);
            }
            TypeKind::Tuple(items) => items.iter().for_each(|&item| self.ty(item, declares)),
            TypeKind::Record(fields) => {
                fields.iter().for_each(|(_, field)| self.ty(*field, declares));
            }
            TypeKind::Alias { module, name, sizes } => {
                let target = match module {
                    Some(module) => {
                        self.used(&module.name, module.span);
                        Target::Of { alias: module.name.clone(), name: name.name.clone() }
                    }
                    None => match self.types.get(&name.name) {
                        Some(place) => Target::Here(*place),
                        None => Target::Global(name.name.clone()),
                    },
                };
                self.note(name.span, &name.name, Kind::Type, target, false);
                sizes.iter().for_each(|&size| self.size(size, declares));
            }
            TypeKind::Function { params, result } => {
                params.iter().for_each(|&param| self.ty(param, declares));
                self.ty(*result, declares);
            }
        }
    }

    fn size(&mut self, expr: ExprId, declares: bool) {
        if let (true, ExprKind::Name(name)) = (declares, &self.ast[expr].kind)
            && self.bound.get(name).is_none_or(Vec::is_empty)
        {
            self.bind(name, self.ast.span(expr), Kind::Size);
            return;
        }
        self.expr(expr);
    }

    fn pattern(&mut self, id: PatId, kind: Kind) {
        let ast = self.ast;
        match &ast[id].kind {
            PatternKind::Name(name) => self.bind(name, ast[id].span, kind),
            PatternKind::Tuple(items) => items.iter().for_each(|&item| self.pattern(item, kind)),
            PatternKind::Wildcard | PatternKind::Error => {}
        }
    }

    /// An expression. Recurses as deep as the parser allows; chains of operators are followed in a
    /// loop.
    fn expr(&mut self, id: ExprId) {
        let ast = self.ast;
        match &ast[id].kind {
            ExprKind::Name(name) => self.used(name, ast.span(id)),
            ExprKind::Binary { .. } => {
                let (first, links) = ast.spine(id);
                self.expr(first);
                for link in links {
                    if let ExprKind::Binary { rhs, .. } = &ast[link].kind {
                        self.expr(*rhs);
                    }
                }
            }
            ExprKind::Field { base, field } => {
                if let ExprKind::Name(alias) = &ast[*base].kind
                    && self.bound.get(alias).is_none_or(Vec::is_empty)
                    && self.aliases.contains_key(alias)
                {
                    self.used(alias, ast.span(*base));
                    let target = Target::Of { alias: alias.clone(), name: field.name.clone() };
                    self.note(field.span, &field.name, Kind::Function, target, false);
                    return;
                }
                self.expr(*base);
            }
            ExprKind::Call { callee, args } => {
                self.expr(*callee);
                let def = match &ast[*callee].kind {
                    ExprKind::Name(name) if self.bound.get(name).is_none_or(Vec::is_empty) => {
                        self.functions.get(name).copied()
                    }
                    _ => None,
                };
                for arg in args {
                    let param = arg.name.as_ref().zip(def).and_then(|(name, def)| {
                        def.params.iter().find(|param| param.name.name == name.name)
                    });
                    if let (Some(name), Some(param)) = (&arg.name, param) {
                        let target = Target::Here(param.name.span);
                        self.note(name.span, &name.name, Kind::Parameter, target, false);
                    }
                    self.expr(arg.value);
                }
            }
            ExprKind::Lambda { params, body } => {
                let mark = self.scope.len();
                params.iter().for_each(|&param| self.pattern(param, Kind::Parameter));
                self.expr(*body);
                self.leave(mark);
            }
            ExprKind::Let { bindings, body } => {
                let mark = self.scope.len();
                for binding in bindings {
                    if let Some(ty) = binding.ty {
                        self.ty(ty, false);
                    }
                    self.expr(binding.value);
                    self.pattern(binding.pattern, Kind::Variable);
                }
                self.expr(*body);
                self.leave(mark);
            }
            ExprKind::With { base, path, value } => {
                self.expr(*base);
                for step in &path.steps {
                    if let Access::Index(items, _) = step {
                        items.iter().for_each(|item| self.index(item));
                    }
                }
                self.expr(*value);
            }
            _ => {
                let mut children = Vec::new();
                ast.for_each_child(id, |child| children.push(child));
                children.into_iter().for_each(|child| self.expr(child));
            }
        }
    }

    fn index(&mut self, item: &IndexItem) {
        match item {
            IndexItem::At(at) => self.expr(*at),
            IndexItem::Slice { lo, hi, step, .. } => {
                [lo, hi, step].into_iter().flatten().for_each(|&part| self.expr(part));
            }
        }
    }
}

/// The declaration at a byte of a file.
pub fn item_at(module: &Module, offset: usize) -> Option<&Item> {
    module.items.iter().find(|item| {
        let span = item.span();
        span.start as usize <= offset && offset <= span.end as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cotan_ir::SourceMap;

    /// Each use with the text of the line and column that it goes to.
    fn links(text: &str) -> Vec<(String, u32, Option<u32>)> {
        let file = SourceMap::new().add("t.ct", text);
        let parsed = cotan_syntax::parse(file, text);
        assert!(!parsed.diagnostics.has_errors());
        let is_builtin = |name: &str| name == "sum";
        occurrences(&parsed.module, &is_builtin)
            .into_iter()
            .filter(|o| !o.defines)
            .map(|o| {
                let place = match o.target {
                    Target::Here(span) => Some(span.start),
                    Target::Of { .. } | Target::Global(_) => None,
                };
                (o.name.to_string(), o.span.start, place)
            })
            .collect()
    }

    #[test]
    fn names_are_resolved_by_scope() {
        let found =
            links("def f(x: [n]f64) = let x = sum(x) in n * x + g(y = x)\ndef g(y: f64) = f(y)");
        let expected = [
            ("sum", 27, None),
            ("x", 31, Some(6)),
            ("n", 37, Some(10)),
            ("x", 41, Some(23)),
            ("g", 45, Some(58)),
            ("y", 47, Some(60)),
            ("x", 51, Some(23)),
            ("f", 70, Some(4)),
            ("y", 72, Some(60)),
        ];
        let shown: Vec<_> = found.iter().map(|(n, at, to)| (n.as_str(), *at, *to)).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn types_and_imports_are_names_too() {
        let text =
            "import \"a.ct\" as a\ntype P[n] = [n]f64\ndef f(p: P[k], q: a.Q) = a.g(p)[k - 1]";
        let found = links(text);
        let names: Vec<(&str, bool)> =
            found.iter().map(|(name, _, to)| (name.as_str(), to.is_some())).collect();
        let expected = [
            ("n", true),
            ("P", true),
            ("a", true),
            ("Q", false),
            ("a", true),
            ("g", false),
            ("p", true),
            ("k", true),
        ];
        assert_eq!(names, expected);
    }
}
