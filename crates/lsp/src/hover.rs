//! What is at a place: types, signatures, documentation; and where it is defined.

use std::path::Path;

use cotan_ir::Span;
use cotan_syntax::ast::{Item, Module};
use cotan_syntax::{Builtin, Loader, Parsed, builtins, parse};

use crate::document::{Document, FILE, Open, Texts};
use crate::names::{Occurrence, Target};

/// A definition in some file.
pub struct Definition {
    /// The file, as imports name it.
    pub file: String,
    pub text: String,
    pub parsed: Parsed,
    /// Which declaration.
    pub item: usize,
}

impl Definition {
    pub fn item(&self) -> Option<&Item> {
        self.parsed.module.items.get(self.item)
    }

    /// Where the name stands.
    pub fn place(&self) -> Option<Span> {
        self.item().and_then(name_of).map(|name| name.span)
    }
}

/// The name that a declaration defines.
pub fn name_of(item: &Item) -> Option<&cotan_syntax::ast::Ident> {
    match item {
        Item::Def(def) => Some(&def.name),
        Item::Type(def) => Some(&def.name),
        Item::Import(import) => import.alias.as_ref(),
    }
}

/// The files that a file imports, with the names they are imported as.
pub fn imported(document: &Document, texts: &Texts) -> Vec<(Option<String>, String, String)> {
    let loader = Open::new(&document.path, document.text.clone(), texts.clone());
    let mut files = Vec::new();
    for item in &document.parsed.module.items {
        let Item::Import(import) = item else { continue };
        let file = loader.resolve(Some(loader.entry()), &import.path);
        if let Ok(text) = loader.read(&file) {
            files.push((import.alias.as_ref().map(|alias| alias.name.to_string()), file, text));
        }
    }
    files
}

/// What a name that this file does not define stands for, in the files that it imports.
pub fn elsewhere(target: &Target, document: &Document, texts: &Texts) -> Option<Definition> {
    let (wanted_alias, wanted) = match target {
        Target::Here(_) => return None,
        Target::Of { alias, name } => (Some(alias.to_string()), name),
        Target::Global(name) => (None, name),
    };
    for (alias, file, text) in imported(document, texts) {
        if alias != wanted_alias {
            continue;
        }
        let parsed = parse(FILE, &text);
        let item = parsed.module.items.iter().position(|item| {
            !matches!(item, Item::Import(_)) && name_of(item).is_some_and(|n| n.name == *wanted)
        });
        if let Some(item) = item {
            return Some(Definition { file, text, parsed, item });
        }
    }
    None
}

/// A builtin function or constant.
pub fn builtin(name: &str) -> Option<&'static Builtin> {
    builtins().iter().find(|builtin| builtin.name == name)
}

/// The head and the documentation of a declaration, as Markdown.
pub fn described(item: &Item, text: &str) -> String {
    let (head, doc) = match item {
        Item::Def(def) => (text.get(def.head_span.range()), def.doc.as_deref()),
        Item::Type(def) => (text.get(def.span.range()), def.doc.as_deref()),
        Item::Import(import) => (text.get(import.span.range()), None),
    };
    let head = head.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let doc = doc.map_or(String::new(), |doc| format!("\n\n{doc}"));
    format!("{}{doc}", code(head.trim_end_matches('=').trim_end()))
}

/// A builtin, as Markdown.
pub fn described_builtin(builtin: &Builtin) -> String {
    let example = match builtin.example {
        "" => String::new(),
        example => format!("\n\n{}", code(example)),
    };
    format!("{}\n\n{}{example}", code(&builtin.signature), builtin.doc)
}

/// Text of the language, as Markdown.
pub fn code(text: &str) -> String {
    format!("```cotan\n{text}\n```")
}

/// What is shown at a byte, and about which place.
pub fn hover(
    document: &Document,
    offset: usize,
    texts: &Texts,
    types: &[(Span, String)],
) -> Option<(String, Span)> {
    let text = &document.text;
    let type_at = |span: Span| types.iter().find(|(place, _)| *place == span).map(|(_, ty)| ty);
    if let Some(name) = document.name_at(offset) {
        return name_hover(name, document, texts, type_at(name.span))
            .map(|shown| (shown, name.span));
    }
    // The smallest expression around it, unless it stands between expressions.
    let inside = |span: &Span| span.start as usize <= offset && offset < span.end as usize;
    let blank = text.get(offset..).is_none_or(|rest| rest.starts_with(char::is_whitespace));
    let smallest = types
        .iter()
        .filter(|(span, _)| inside(span) && !blank)
        .min_by_key(|(span, _)| span.end - span.start)?;
    Some((code(&smallest.1), smallest.0))
}

fn name_hover(
    name: &Occurrence,
    document: &Document,
    texts: &Texts,
    ty: Option<&String>,
) -> Option<String> {
    let shown = &name.name;
    match &name.target {
        Target::Here(place) => {
            let item = document
                .parsed
                .module
                .items
                .iter()
                .find(|item| name_of(item).is_some_and(|ident| ident.span == *place));
            if let Some(item) = item {
                return Some(described(item, &document.text));
            }
            if let Some(ty) = ty {
                return Some(code(&format!("{shown}: {ty}")));
            }
            let module = &document.parsed.module;
            match declared(module, *place) {
                Some(ty) => {
                    let ty = document.text.get(ty.range()).unwrap_or_default();
                    Some(code(&format!("{shown}: {ty}")))
                }
                None => match name.kind {
                    crate::names::Kind::Size => Some(format!("{}\n\na size", code(shown))),
                    _ => None,
                },
            }
        }
        target => {
            if let Some(found) = elsewhere(target, document, texts) {
                let from = Path::new(&found.file).file_name().map(|name| name.to_string_lossy());
                let from = from.map_or(String::new(), |from| format!("\n\nfrom `{from}`"));
                return found.item().map(|item| described(item, &found.text) + &from);
            }
            match target {
                Target::Global(name) => builtin(name).map(described_builtin),
                Target::Here(_) | Target::Of { .. } => None,
            }
        }
    }
}

/// Where the type of a parameter is written that is declared at a place.
pub fn declared(module: &Module, place: Span) -> Option<Span> {
    module.items.iter().find_map(|item| match item {
        Item::Def(def) => {
            let param = def.params.iter().find(|param| param.name.span == place)?;
            Some(module.ast[param.ty].span)
        }
        Item::Type(_) | Item::Import(_) => None,
    })
}
