//! What a text that was typed is, and whether there is more to come.

use std::collections::HashSet;

use cotan_ir::{FileId, SourceMap};
use cotan_syntax::ast::{ExprKind, Item, Module, PatId, PatternKind};
use cotan_syntax::lex::{TokenKind, lex};
use cotan_syntax::parse::parse_expression;
use cotan_syntax::{Code, Diagnostics, Severity, parse};

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub enum Input<'t> {
    /// Blanks and comments.
    Nothing,
    /// `:name rest`
    Command(&'t str, &'t str),
    /// `def`, `type`, `import`
    Declarations(&'t str),
    /// `let x = 1`, without `in`, and the names that it binds.
    Bindings(&'t str, Vec<String>),
    /// An expression, or what is meant as one.
    Expression(&'t str),
}

impl<'t> Input<'t> {
    /// What a text is.
    pub fn of(text: &'t str) -> Input<'t> {
        let trimmed = text.trim();
        if trimmed.starts_with(':') {
            let end = trimmed.find(char::is_whitespace).unwrap_or(trimmed.len());
            let (name, rest) = trimmed.split_at(end);
            return Input::Command(name, rest.trim());
        }
        let file = file(text);
        match lex(file, text, &mut Diagnostics::new()).tokens.kind(0) {
            None | Some(TokenKind::End) => Input::Nothing,
            Some(kind) if kind.begins_item() => Input::Declarations(text),
            Some(TokenKind::Let) => match bindings(text) {
                Some(names) => Input::Bindings(text, names),
                None => Input::Expression(text),
            },
            Some(_) => Input::Expression(text),
        }
    }
}

/// Whether a text can stand as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// It can, or it is wrong in a way that no more text makes right.
    Whole,
    /// Something is missing at its end.
    Open,
}

/// Whether a text is whole. An empty line ends any.
pub fn completeness(text: &str) -> Completeness {
    let ended = text.trim_end_matches([' ', '\t', '\r']);
    let ended = ended.strip_suffix('\n').unwrap_or(ended);
    if ended.trim_end_matches([' ', '\t', '\r']).ends_with('\n') {
        return Completeness::Whole;
    }
    let file = file(text);
    let found = match Input::of(text) {
        Input::Nothing | Input::Command(..) | Input::Bindings(..) => return Completeness::Whole,
        Input::Declarations(_) => parse(file, text).diagnostics,
        Input::Expression(_) => parse_expression(file, text).diagnostics,
    };
    let end = text.trim_end().len();
    let open = found.iter().filter(|d| d.severity() == Severity::Error).any(|error| {
        let at_end = error.primary.span.end as usize >= end && error.message.contains("end of");
        at_end || error.code == Code::UnclosedBracket
    });
    if open { Completeness::Open } else { Completeness::Whole }
}

/// The names that bindings without a body bind; `None` if it is something else.
fn bindings(text: &str) -> Option<Vec<String>> {
    let file = file(text);
    if !parse_expression(file, text).diagnostics.has_errors() {
        return None;
    }
    let whole = format!("{text}\nin ()");
    let parsed = parse_expression(file, &whole);
    if parsed.diagnostics.has_errors() {
        return None;
    }
    let module: &Module = &parsed.module;
    let Some(Item::Def(main)) = module.items.first() else { return None };
    let ExprKind::Let { bindings, .. } = &module.ast[main.body].kind else { return None };
    let mut names: Vec<String> = Vec::new();
    let mut todo: Vec<PatId> = bindings.iter().rev().map(|b| b.pattern).collect();
    while let Some(pattern) = todo.pop() {
        match &module.ast[pattern].kind {
            PatternKind::Name(name) => {
                names.retain(|known| **known != **name);
                names.push(name.to_string());
            }
            PatternKind::Tuple(items) => todo.extend(items.iter().rev()),
            PatternKind::Wildcard | PatternKind::Error => {}
        }
    }
    (!names.is_empty()).then_some(names)
}

/// The names that occur in a text.
pub fn names_in(text: &str) -> HashSet<&str> {
    let tokens = lex(file(text), text, &mut Diagnostics::new()).tokens;
    let word = |token: cotan_syntax::lex::Token| {
        text.get(token.start as usize..token.end as usize).unwrap_or_default().trim_matches('`')
    };
    tokens.iter().map(word).collect()
}

fn file(text: &str) -> FileId {
    SourceMap::new().add("input", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_told_apart() {
        assert_eq!(Input::of("  # only a remark\n"), Input::Nothing);
        assert_eq!(Input::of(":type  1 + 2 "), Input::Command(":type", "1 + 2"));
        assert!(matches!(Input::of("# what it does\ndef f() = 1"), Input::Declarations(_)));
        let names = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
        let text = "let x = 1 let (y, (_, z)) = (x, (2, 3))";
        assert_eq!(Input::of(text), Input::Bindings(text, names(&["x", "y", "z"])));
        assert!(matches!(Input::of("let x = 1 in x"), Input::Expression(_)));
        assert!(matches!(Input::of("let = 3"), Input::Expression(_)));
    }

    #[test]
    fn a_text_is_open_where_something_is_missing_at_its_end() {
        for open in ["1 +", "f(1,", "def f(x: f64) =", "[1, 2", "if true then", "x =>", "let x =\n"]
        {
            assert_eq!(completeness(open), Completeness::Open, "{open}");
        }
        let whole = ["1 + 2", "def f(x: f64) = x", ":help (", "", "1 + )", "let x = 3", "f(1,\n\n"];
        for text in whole {
            assert_eq!(completeness(text), Completeness::Whole, "{text}");
        }
    }
}
