//! Declarations, types and patterns.

use super::Printer;
use super::layout::{Breaks, Event};
use crate::ast::{Def, ExprId, Ident, Import, Item, PatId, PatternKind, TypeDef, TypeId, TypeKind};

impl<'m> Printer<'m> {
    pub(super) fn module(&mut self) {
        for item in &self.module.items {
            self.new_line(item.span().start);
            match item {
                Item::Import(import) => self.import(import),
                Item::Type(def) => self.type_def(def),
                Item::Def(def) => self.def(def),
            }
        }
        self.comments_before(u32::MAX);
    }

    fn import(&mut self, import: &'m Import) {
        self.put("import ");
        let path = self.text.get(import.path_span.range()).unwrap_or("");
        self.token(import.path_span.start, path);
        if let Some(alias) = &import.alias {
            self.put(" as ");
            self.ident(alias);
        }
    }

    fn type_def(&mut self, def: &'m TypeDef) {
        self.put("type ");
        self.ident(&def.name);
        self.size_params(&def.sizes);
        self.put(" = ");
        self.ty(def.ty);
    }

    fn def(&mut self, def: &'m Def) {
        self.put("def ");
        self.ident(&def.name);
        self.size_params(&def.sizes);
        // The comments after the last parameter stay with it.
        let params_end = match def.result {
            Some(result) => self.module.ast[result].span.start,
            None => def.head_span.end,
        };
        self.list(("(", ")"), params_end, Breaks::All, &def.params, |printer, param| {
            printer.ident(&param.name);
            printer.put(": ");
            printer.ty(param.ty);
        });
        if let Some(result) = def.result {
            self.put(": ");
            self.ty(result);
        }
        self.put(" =");
        self.group(Breaks::All, |printer| {
            printer.indented(|printer| {
                if printer.is_let(def.body) {
                    printer.events.push(Event::HardLine { blank: false });
                } else {
                    printer.line();
                }
                printer.body(def.body);
            });
        });
    }

    fn size_params(&mut self, sizes: &'m [Ident]) {
        if let Some(last) = sizes.last() {
            self.list(("[", "]"), last.span.end, Breaks::All, sizes, Printer::ident);
        }
    }

    pub(super) fn ident(&mut self, ident: &'m Ident) {
        self.name(ident.span.start, &ident.name);
    }

    pub(super) fn pattern(&mut self, pattern: PatId) {
        let pattern = &self.module.ast[pattern];
        match &pattern.kind {
            PatternKind::Name(name) => self.name(pattern.span.start, name),
            PatternKind::Wildcard => self.token(pattern.span.start, "_"),
            PatternKind::Tuple(items) => {
                self.comments_before(pattern.span.start);
                let close = if items.len() == 1 { ",)" } else { ")" };
                let end = pattern.span.end.saturating_sub(1);
                self.list(("(", close), end, Breaks::All, items, |printer, item| {
                    printer.pattern(*item);
                });
            }
            PatternKind::Error => {}
        }
    }

    pub(super) fn ty(&mut self, ty: TypeId) {
        let ty = &self.module.ast[ty];
        let (start, end) = (ty.span.start, ty.span.end.saturating_sub(1));
        self.comments_before(start);
        match &ty.kind {
            TypeKind::Scalar(dtype) => self.token(start, dtype.name()),
            TypeKind::Array { sizes, element } => {
                self.sizes(sizes, self.module.ast[*element].span.start);
                match self.module.ast[*element].kind {
                    TypeKind::Function { .. } => self.type_list(&[*element], end, ")"),
                    _ => self.ty(*element),
                }
            }
            TypeKind::Tuple(items) => {
                self.type_list(items, end, if items.len() == 1 { ",)" } else { ")" });
            }
            TypeKind::Record(fields) => {
                self.list(("{", "}"), end, Breaks::All, fields, |printer, (field, ty)| {
                    printer.ident(field);
                    printer.put(": ");
                    printer.ty(*ty);
                });
            }
            TypeKind::Alias { module, name, sizes } => {
                if let Some(module) = module {
                    self.ident(module);
                    self.put(".");
                }
                self.ident(name);
                if !sizes.is_empty() {
                    self.sizes(sizes, end);
                }
            }
            TypeKind::Function { params, result } => {
                let is_list = |id: &TypeId| {
                    let kind = &self.module.ast[*id].kind;
                    matches!(kind, TypeKind::Tuple(_) | TypeKind::Function { .. })
                };
                match params.as_slice() {
                    [param] if !is_list(param) => self.ty(*param),
                    _ => self.type_list(params, self.module.ast[*result].span.start, ")"),
                }
                self.put(" -> ");
                self.ty(*result);
            }
            TypeKind::Error => {}
        }
    }

    fn sizes(&mut self, sizes: &'m [ExprId], end: u32) {
        self.list(("[", "]"), end, Breaks::All, sizes, |printer, size| printer.expr(*size));
    }

    fn type_list(&mut self, types: &[TypeId], end: u32, close: &'m str) {
        self.put("(");
        self.group(Breaks::All, |printer| {
            printer.indented(|printer| {
                for (at, ty) in types.iter().enumerate() {
                    if at == 0 {
                        printer.soft_line();
                    } else {
                        printer.put(",");
                        printer.line();
                    }
                    printer.ty(*ty);
                }
                printer.comments_before(end);
            });
            printer.soft_line();
        });
        self.put(close);
    }
}
