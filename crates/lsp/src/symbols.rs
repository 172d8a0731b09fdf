//! The outline of a file, and what its words are.

use cotan_syntax::Diagnostics;
use cotan_syntax::ast::Item;
use cotan_syntax::lex::{TokenKind, lex};
use lsp_types::{
    DocumentSymbol, SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokensLegend,
    SymbolKind,
};

use crate::document::{Document, FILE};
use crate::hover::name_of;
use crate::names::Kind;

/// The declarations of a file.
pub fn outline(document: &Document) -> Vec<DocumentSymbol> {
    let text = &document.text;
    let symbol = |item: &Item| {
        let (kind, head) = match item {
            Item::Def(def) => (SymbolKind::FUNCTION, def.head_span),
            Item::Type(def) => (SymbolKind::STRUCT, def.span),
            Item::Import(import) => (SymbolKind::MODULE, import.span),
        };
        let (name, place) = match (name_of(item), item) {
            (Some(name), _) => (name.name.to_string(), name.span),
            (None, Item::Import(import)) => (import.path.clone(), import.path_span),
            (None, _) => return None,
        };
        let detail = text.get(head.range()).unwrap_or_default();
        #[allow(deprecated, reason = "the protocol wants the field")]
        Some(DocumentSymbol {
            name: if name.is_empty() { "?".to_owned() } else { name },
            detail: Some(detail.split_whitespace().collect::<Vec<_>>().join(" ")),
            kind,
            tags: None,
            deprecated: None,
            range: document.lines.range(text, item.span()),
            selection_range: document.lines.range(text, place),
            children: None,
        })
    };
    document.parsed.module.items.iter().filter_map(symbol).collect()
}

/// The kinds of words, in the order of their numbers.
const TYPES: [SemanticTokenType; 11] = [
    SemanticTokenType::FUNCTION,
    SemanticTokenType::TYPE,
    SemanticTokenType::PARAMETER,
    SemanticTokenType::VARIABLE,
    SemanticTokenType::TYPE_PARAMETER,
    SemanticTokenType::NAMESPACE,
    SemanticTokenType::KEYWORD,
    SemanticTokenType::NUMBER,
    SemanticTokenType::STRING,
    SemanticTokenType::COMMENT,
    SemanticTokenType::OPERATOR,
];
const KEYWORD: u32 = 6;
const NUMBER: u32 = 7;
const STRING: u32 = 8;
const COMMENT: u32 = 9;
const OPERATOR: u32 = 10;
/// What words are besides: defined here, of the language.
const DEFINITION: u32 = 1;
const LIBRARY: u32 = 2;

/// What the numbers of tokens mean.
pub fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: TYPES.to_vec(),
        token_modifiers: vec![
            SemanticTokenModifier::DEFINITION,
            SemanticTokenModifier::DEFAULT_LIBRARY,
        ],
    }
}

/// The words that begin between two bytes, each with its place relative to the one before.
pub fn words(document: &Document, from: usize, to: usize) -> Vec<SemanticToken> {
    let text = &document.text;
    let lexed = lex(FILE, text, &mut Diagnostics::new());
    let wanted = |start: u32| from <= start as usize && (start as usize) < to;
    let mut words: Vec<(u32, u32, u32, u32)> = lexed
        .comments
        .iter()
        .map(|comment| (comment.span.start, comment.span.end, COMMENT, 0))
        .filter(|word| wanted(word.0))
        .collect();
    let names = document.occurrences();
    for token in lexed.tokens.iter().filter(|token| wanted(token.start)) {
        let written = text.get(token.start as usize..token.end as usize).unwrap_or_default();
        let name = names.binary_search_by_key(&token.start, |name| name.span.start);
        let (kind, more) = match (token.kind, name.ok().and_then(|at| names.get(at))) {
            (TokenKind::Name | TokenKind::QuotedName, Some(name)) => {
                let kind = match name.kind {
                    Kind::Function | Kind::Builtin => 0,
                    Kind::Type => 1,
                    Kind::Parameter => 2,
                    Kind::Variable | Kind::Unknown => 3,
                    Kind::Size => 4,
                    Kind::Module => 5,
                };
                let more = if name.defines { DEFINITION } else { 0 };
                (kind, more | if name.kind == Kind::Builtin { LIBRARY } else { 0 })
            }
            (TokenKind::Name | TokenKind::QuotedName, None) => match written {
                "f64" | "f32" | "i64" | "bool" => (1, LIBRARY),
                _ => continue,
            },
            (TokenKind::Number, _) => (NUMBER, 0),
            (TokenKind::Text, _) => (STRING, 0),
            (TokenKind::End | TokenKind::Bad, _) => continue,
            _ if written.starts_with(|c: char| c.is_ascii_lowercase()) => (KEYWORD, 0),
            _ if written.starts_with(['(', ')', '[', ']', '{', '}', ',', '.', ':']) => continue,
            _ => (OPERATOR, 0),
        };
        words.push((token.start, token.end, kind, more));
    }
    words.sort_unstable();
    let mut before = lsp_types::Position::new(0, 0);
    let relative = |(start, end, token_type, token_modifiers_bitset): (u32, u32, u32, u32)| {
        let place = document.lines.position(text, start as usize);
        let written = text.get(start as usize..end as usize).unwrap_or_default();
        let delta_line = place.line - before.line;
        let delta_start =
            if delta_line == 0 { place.character - before.character } else { place.character };
        before = place;
        let length = written.encode_utf16().count() as u32;
        SemanticToken { delta_line, delta_start, length, token_type, token_modifiers_bitset }
    };
    words.into_iter().map(relative).collect()
}
