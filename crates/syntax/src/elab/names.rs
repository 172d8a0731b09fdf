//! What names mean, and which of them a lambda uses.

use std::rc::Rc;

use cotan_ir::Span;
use rustc_hash::FxHashSet;

use super::value::{Callable, Function, Value};
use super::{Elab, R, Reported, library};
use super::{foreign, suggest};
use crate::ast::{ExprId, ExprKind, Ident, Name, TypeId, TypeKind};
use crate::diagnostic::{Code, Diagnostic};
use crate::load::DefId;

impl Elab<'_> {
    pub(super) fn name(&mut self, name: &Name, span: Span) -> R<Value> {
        if let Some(value) = self.env.get(name) {
            return match value {
                Value::Error => Err(Reported),
                value => Ok(value),
            };
        }
        let Some(callable) = self.function_called(name) else {
            return Err(self.unknown_name(name, span));
        };
        if let Callable::Builtin(builtin) = callable
            && builtin.is_constant()
        {
            return library::call(self, builtin, Vec::new(), span);
        }
        let function = Function::new(callable);
        self.bounded(function, span).map(|f| Value::Function(Rc::new(f)))
    }

    /// The function that a name means where no variable has it: a definition, else a builtin.
    pub(super) fn function_called(&self, name: &str) -> Option<Callable> {
        match self.modules.files[self.file].defs.get(name) {
            Some(&id) => Some(Callable::Def(id)),
            None => library::find(name).map(Callable::Builtin),
        }
    }

    fn unknown_name(&mut self, name: &str, span: Span) -> Reported {
        let file = &self.modules.files[self.file];
        let message = format!("unknown name `{name}`");
        let mut diagnostic = Diagnostic::new(Code::UnknownName, span, message);
        let foreign = foreign::advice(name);
        let before = self.modules.sources.text(span.file).get(..span.start as usize);
        let comment = before.is_some_and(|text| text.trim_end_matches(' ').ends_with("//"));
        // A name that other languages know is no misspelling of a builtin or of a short name (`np`
        // of `n`), and neither is the first word of a comment.
        let near = {
            let own = self.env.names().chain(file.defs.keys().map(|name| &**name));
            match foreign {
                _ if comment => None,
                Some(_) => suggest::nearest(name, own.filter(|own| own.len() > 2)),
                None => suggest::nearest(name, own.chain(library::names())),
            }
        };
        if file.aliases.contains_key(name) {
            diagnostic = diagnostic.hint(format!("`{name}` is an import: write `{name}.f(…)`"));
        } else {
            diagnostic = foreign.into_iter().fold(diagnostic, Diagnostic::hint);
            if let Some(near) = near {
                diagnostic = diagnostic.hint(format!("did you mean `{near}`?"));
            }
        }
        if comment {
            diagnostic = diagnostic.hint("comments begin with `#`; `//` divides");
        }
        self.report(diagnostic)
    }

    /// The definition that `alias.name` means, if `base` is the alias of an import.
    pub(super) fn imported(&mut self, base: ExprId, field: &Ident) -> R<Option<DefId>> {
        let ExprKind::Name(alias) = &self.ast()[base].kind else { return Ok(None) };
        if self.env.get(alias).is_some() {
            return Ok(None);
        }
        let modules = self.modules;
        let Some(&target) = modules.files[self.file].aliases.get(alias) else { return Ok(None) };
        let defs = modules.files.get(target).map(|f| &f.defs);
        if let Some(&id) = defs.and_then(|defs| defs.get(&field.name)) {
            return Ok(Some(id));
        }
        let message = format!("the import `{alias}` has no function `{}`", field.name);
        let mut diagnostic = Diagnostic::new(Code::UnknownName, field.span, message);
        let candidates = defs.into_iter().flat_map(|defs| defs.keys().map(|name| &**name));
        if let Some(near) = suggest::nearest(&field.name, candidates) {
            diagnostic = diagnostic.hint(format!("did you mean `{alias}.{near}`?"));
        }
        Err(self.report(diagnostic))
    }

    /// The variables that a lambda uses, with their values now.
    pub(super) fn capture(&mut self, lambda: ExprId) -> Rc<[(Name, Value)]> {
        enum Visit {
            Expr(ExprId),
            Type(TypeId),
        }
        let ast = self.ast();
        let mut seen: FxHashSet<&Name> = FxHashSet::default();
        let mut captured = Vec::new();
        let mut todo = vec![Visit::Expr(lambda)];
        while let Some(visit) = todo.pop() {
            match visit {
                Visit::Expr(expr) => {
                    ast.for_each_child(expr, |child| todo.push(Visit::Expr(child)));
                    match &ast[expr].kind {
                        ExprKind::Name(name) => {
                            if seen.insert(name)
                                && let Some(value) = self.env.get(name)
                            {
                                captured.push((name.clone(), value));
                            }
                        }
                        ExprKind::Let { bindings, .. } => {
                            todo.extend(bindings.iter().filter_map(|b| b.ty).map(Visit::Type));
                        }
                        _ => {}
                    }
                }
                Visit::Type(ty) => match &ast[ty].kind {
                    TypeKind::Array { sizes, element } => {
                        todo.extend(sizes.iter().map(|&size| Visit::Expr(size)));
                        todo.push(Visit::Type(*element));
                    }
                    TypeKind::Tuple(items) => {
                        todo.extend(items.iter().map(|&item| Visit::Type(item)))
                    }
                    TypeKind::Record(fields) => {
                        todo.extend(fields.iter().map(|(_, field)| Visit::Type(*field)))
                    }
                    TypeKind::Alias { sizes, .. } => {
                        todo.extend(sizes.iter().map(|&size| Visit::Expr(size)))
                    }
                    TypeKind::Function { .. } | TypeKind::Scalar(_) | TypeKind::Error => {}
                },
            }
        }
        captured.into()
    }
}
