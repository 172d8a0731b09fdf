//! Types between the lines: of names that are bound without one, and of results.

use cotan_ir::Span;
use cotan_syntax::ast::{ExprId, ExprKind, Item, Module, PatId, PatternKind};
use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel};
use rustc_hash::FxHashMap;

use crate::document::Document;

/// The hints that belong between two bytes.
pub fn hints(
    document: &Document,
    from: usize,
    to: usize,
    types: &[(Span, String)],
) -> Vec<InlayHint> {
    let module = &document.parsed.module;
    let types: FxHashMap<Span, &str> =
        types.iter().map(|(span, ty)| (*span, ty.as_str())).collect();
    let mut hints = Vec::new();
    let mut add = |at: u32, ty: &str| {
        if (from..=to).contains(&(at as usize)) {
            hints.push(InlayHint {
                position: document.lines.position(&document.text, at as usize),
                label: InlayHintLabel::String(format!(": {ty}")),
                kind: Some(InlayHintKind::TYPE),
                text_edits: None,
                tooltip: None,
                padding_left: None,
                padding_right: None,
                data: None,
            });
        }
    };
    for item in &module.items {
        let Item::Def(def) = item else { continue };
        if (def.span.end as usize) < from || to < def.span.start as usize {
            continue;
        }
        if let (None, Some(ty)) = (def.result, types.get(&module.ast.span(def.body))) {
            let head = document.text.get(def.head_span.range()).unwrap_or_default();
            let head = head.trim_end().trim_end_matches('=').trim_end();
            add(def.head_span.start + head.len() as u32, ty);
        }
        for name in bound(module, def.body) {
            if let Some(ty) = types.get(&name) {
                add(name.end, ty);
            }
        }
    }
    hints.sort_by_key(|hint| hint.position);
    hints
}

/// The names in an expression that are bound by a `let` without a type.
fn bound(module: &Module, body: ExprId) -> Vec<Span> {
    let ast = &module.ast;
    let mut names = Vec::new();
    let mut todo = vec![body];
    while let Some(expr) = todo.pop() {
        if let ExprKind::Let { bindings, .. } = &ast[expr].kind {
            let mut patterns: Vec<PatId> =
                bindings.iter().filter(|b| b.ty.is_none()).map(|b| b.pattern).collect();
            while let Some(pattern) = patterns.pop() {
                match &ast[pattern].kind {
                    PatternKind::Name(_) => names.push(ast[pattern].span),
                    PatternKind::Tuple(items) => patterns.extend(items),
                    PatternKind::Wildcard | PatternKind::Error => {}
                }
            }
        }
        ast.for_each_child(expr, |child| todo.push(child));
    }
    names
}
