//! What a word may become.

use cotan_syntax::ast::{Item, Module, TypeId, TypeKind};
use cotan_syntax::builtins;
use lsp_types::{CompletionItem, CompletionItemKind, Documentation, MarkupContent, MarkupKind};
use rustc_hash::FxHashSet;

use crate::document::{Document, Texts};
use crate::hover::{described, described_builtin, imported, name_of};
use crate::names::{Kind, item_at};

const KEYWORDS: [&str; 17] = [
    "and", "as", "build", "def", "else", "false", "if", "import", "in", "let", "not", "or", "then",
    "true", "type", "with", "xor",
];
const ELEMENTS: [&str; 4] = ["bool", "f32", "f64", "i64"];

/// What may stand at a byte, where a word may have been begun.
pub fn complete(document: &Document, offset: usize, texts: &Texts) -> Vec<CompletionItem> {
    let before = document.text.get(..offset).unwrap_or_default();
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    let stem = before.trim_end_matches(is_part);
    let typed = before.get(stem.len()..).unwrap_or_default();
    let line = stem.rsplit('\n').next().unwrap_or_default();
    if line.contains('#') {
        return Vec::new();
    }
    if let Some(base) = stem.strip_suffix('.') {
        // A number with a point is no structure.
        let name = base.get(base.trim_end_matches(is_part).len()..).unwrap_or_default();
        let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        return if is_name { members(name, document, offset, texts) } else { Vec::new() };
    }
    if typed.starts_with(|c: char| c.is_ascii_digit()) {
        return Vec::new();
    }
    names(document, offset, texts)
}

/// Names without a point before them.
fn names(document: &Document, offset: usize, texts: &Texts) -> Vec<CompletionItem> {
    let mut items = Vec::new();
    let mut known: FxHashSet<String> = FxHashSet::default();
    let mut add = |item: CompletionItem| {
        if known.insert(item.label.clone()) {
            items.push(item);
        }
    };
    let module = &document.parsed.module;
    if let Some(span) = item_at(module, offset).map(Item::span) {
        let local = |o: &&crate::names::Occurrence| {
            let kinds = [Kind::Parameter, Kind::Variable, Kind::Size];
            o.defines
                && kinds.contains(&o.kind)
                && span.start <= o.span.start
                && (o.span.end as usize) < offset
        };
        for name in document.occurrences().iter().filter(local) {
            let kind = match name.kind {
                Kind::Size => CompletionItemKind::TYPE_PARAMETER,
                _ => CompletionItemKind::VARIABLE,
            };
            add(plain(&name.name, kind));
        }
    }
    for item in &module.items {
        if let Some(made) = of_item(item, &document.text) {
            add(made);
        }
    }
    for (alias, _, text) in imported(document, texts) {
        if alias.is_none() {
            of_text(&text).into_iter().for_each(&mut add);
        }
    }
    for builtin in builtins() {
        let kind = match builtin.is_constant() {
            true => CompletionItemKind::CONSTANT,
            false => CompletionItemKind::FUNCTION,
        };
        add(CompletionItem {
            detail: Some(builtin.signature.clone()),
            documentation: Some(markdown(described_builtin(builtin))),
            ..plain(builtin.name, kind)
        });
    }
    KEYWORDS.iter().for_each(|word| add(plain(word, CompletionItemKind::KEYWORD)));
    ELEMENTS.iter().for_each(|word| add(plain(word, CompletionItemKind::STRUCT)));
    items
}

/// What may follow a name and a point: definitions of an import, or fields of a parameter.
fn members(name: &str, document: &Document, offset: usize, texts: &Texts) -> Vec<CompletionItem> {
    let found =
        imported(document, texts).into_iter().find(|(alias, ..)| alias.as_deref() == Some(name));
    if let Some((_, _, text)) = found {
        return of_text(&text);
    }
    let module = &document.parsed.module;
    let mut before = module.items.iter().filter(|item| item.span().start as usize <= offset);
    let Some(Item::Def(def)) = before.next_back() else { return Vec::new() };
    let Some(param) = def.params.iter().find(|param| *param.name.name == *name) else {
        return Vec::new();
    };
    let field = |(field, ty): (String, TypeId)| CompletionItem {
        detail: document.text.get(module.ast[ty].span.range()).map(str::to_owned),
        ..plain(&field, CompletionItemKind::FIELD)
    };
    fields(module, param.ty).into_iter().map(field).collect()
}

/// The fields of a record type, or of the type that a name stands for.
fn fields(module: &Module, mut ty: TypeId) -> Vec<(String, TypeId)> {
    // Types that stand for each other in a circle are an error, of which this is not the place to tell.
    for _ in 0..32 {
        match &module.ast[ty].kind {
            TypeKind::Record(fields) => {
                return fields.iter().map(|(name, ty)| (name.name.to_string(), *ty)).collect();
            }
            TypeKind::Alias { module: None, name, .. } => {
                let alias = module.items.iter().find_map(|item| match item {
                    Item::Type(def) if def.name.name == name.name => Some(def.ty),
                    _ => None,
                });
                match alias {
                    Some(alias) => ty = alias,
                    None => return Vec::new(),
                }
            }
            _ => return Vec::new(),
        }
    }
    Vec::new()
}

/// What another file defines.
fn of_text(text: &str) -> Vec<CompletionItem> {
    let parsed = cotan_syntax::parse(crate::document::FILE, text);
    let own = parsed.module.items.iter().filter(|item| !matches!(item, Item::Import(_)));
    own.filter_map(|item| of_item(item, text)).collect()
}

fn of_item(item: &Item, text: &str) -> Option<CompletionItem> {
    let name = &name_of(item)?.name;
    let (kind, span) = match item {
        Item::Def(def) => (CompletionItemKind::FUNCTION, def.head_span),
        Item::Type(def) => (CompletionItemKind::STRUCT, def.span),
        Item::Import(import) => (CompletionItemKind::MODULE, import.span),
    };
    let head = text.get(span.range()).unwrap_or_default();
    let head = head.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(CompletionItem {
        detail: Some(head),
        documentation: Some(markdown(described(item, text))),
        ..plain(name, kind)
    })
}

fn plain(label: &str, kind: CompletionItemKind) -> CompletionItem {
    CompletionItem { label: label.to_owned(), kind: Some(kind), ..CompletionItem::default() }
}

fn markdown(value: String) -> Documentation {
    Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value })
}
