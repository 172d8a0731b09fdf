//! Tokens to syntax trees.
//!
//! Recursive descent, with precedence climbing for operators. The parser never fails: where the
//! text makes no sense it reports once, leaves an `Error` node and goes on at the next comma or
//! closing bracket of the list it is in, the next binding, or the next declaration.
//!
//! Time is linear in the text. The stack is bounded by [`MAX_NESTING`]; lists, runs of `let` and of
//! `else if`, and chains of left-associative operators are loops.

mod expr;
mod item;
mod literal;
mod pattern;
mod postfix;
mod types;

use cotan_array::Dtype;
use cotan_ir::{FileId, Span};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ast::{Ast, Comment, ExprId, ExprKind, Ident, Item, MAX_NESTING, Module, Name};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::lex::{self, Token, TokenKind, Tokens};

/// How many tokens are read until the limits are looked at: some tenths of a millisecond.
const TOKENS_BETWEEN_LOOKS: usize = 4096;

/// A parsed file. The module is whole where the diagnostics have no error; otherwise it has
/// `Error` nodes, and declarations may be missing.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The syntax tree.
    pub module: Module,
    /// What is wrong with the text, in the order of the text.
    pub diagnostics: Diagnostics,
}

/// Parses the text of a file.
pub fn parse(file: FileId, text: &str) -> Parsed {
    parse_by(file, text, Parser::items)
}

/// Parses a text that is one expression: the body of the only definition, `main`.
pub fn parse_expression(file: FileId, text: &str) -> Parsed {
    parse_by(file, text, |parser| vec![parser.only_expression()])
}

fn parse_by<'t>(
    file: FileId,
    text: &'t str,
    items: impl FnOnce(&mut Parser<'t>) -> Vec<Item>,
) -> Parsed {
    let mut diagnostics = Diagnostics::new();
    let lex::Lexed { tokens, comments } = lex::lex(file, text, &mut diagnostics);
    let closing = match_brackets(&tokens);
    let mut parser = Parser {
        file,
        text,
        tokens,
        closing,
        comments,
        at: 0,
        depth: 0,
        recovering: false,
        found_too_deep: false,
        stopped: None,
        ast: Ast::new(file),
        heights: Vec::new(),
        names: FxHashSet::default(),
        diagnostics,
    };
    let items = items(&mut parser);
    let Parser { ast, comments, mut diagnostics, stopped, .. } = parser;
    if let Some(diagnostic) = stopped {
        // Whatever else is said comes from the missing rest.
        diagnostics = Diagnostics::new();
        diagnostics.push(diagnostic);
    }
    diagnostics.sort();
    Parsed { module: Module { file, ast, items, comments }, diagnostics }
}

/// The opening brackets that are closed, in order, each with the token that closes it. A closing
/// bracket closes the innermost open one of its kind, and leaves those within it open for ever;
/// declarations leave all open.
fn match_brackets(tokens: &Tokens) -> Vec<(u32, u32)> {
    let mut closing = Vec::new();
    let mut open: Vec<(usize, TokenKind)> = Vec::new();
    let mut waiting: FxHashMap<TokenKind, usize> = FxHashMap::default();
    for (at, token) in tokens.iter().enumerate() {
        if let Some(close) = token.kind.closing() {
            open.push((at, close));
            *waiting.entry(close).or_default() += 1;
        } else if token.kind.begins_item() {
            open.clear();
            waiting.clear();
        } else if waiting.get(&token.kind).is_some_and(|&count| count > 0) {
            while let Some((opened, close)) = open.pop() {
                *waiting.entry(close).or_default() -= 1;
                if close == token.kind {
                    closing.push((opened as u32, at as u32));
                    break;
                }
            }
        }
    }
    closing.sort_unstable();
    closing
}

struct Parser<'t> {
    file: FileId,
    text: &'t str,
    tokens: Tokens,
    /// See [`match_brackets`].
    closing: Vec<(u32, u32)>,
    comments: Vec<Comment>,
    /// The next token.
    at: usize,
    /// How many expressions, types and patterns are being parsed, each within the one before.
    depth: usize,
    /// After an error, until a place is reached where parsing makes sense again: report nothing.
    recovering: bool,
    /// Once per declaration is enough.
    found_too_deep: bool,
    /// Why the rest of the text was not read.
    stopped: Option<Diagnostic>,
    ast: Ast,
    /// Per expression: how deep it is, as [`MAX_NESTING`] counts it.
    heights: Vec<u16>,
    names: FxHashSet<Name>,
    diagnostics: Diagnostics,
}

/// The elements of a bracketed list.
struct List<T> {
    elements: Vec<T>,
    /// Did a comma follow the last element?
    trailing_comma: bool,
    /// From the opening to the closing bracket.
    span: Span,
}

impl<'t> Parser<'t> {
    // Tokens.

    fn nth(&self, ahead: usize) -> TokenKind {
        self.tokens.kind(self.at + ahead).unwrap_or(TokenKind::End)
    }

    fn peek(&self) -> TokenKind {
        self.nth(0)
    }

    fn token(&self) -> Token {
        let end = self.text.len() as u32;
        self.tokens.get(self.at).unwrap_or(Token { kind: TokenKind::End, start: end, end })
    }

    /// Whether the last token was the name of an element type.
    fn after_dtype(&self) -> bool {
        let before = self.text_of(self.before());
        Dtype::ALL.iter().any(|dtype| dtype.name() == before)
    }

    /// The token before the next one.
    fn before(&self) -> Token {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        before.unwrap_or(Token { kind: TokenKind::End, start: 0, end: 0 })
    }

    fn bump(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::End {
            self.at += 1;
            if self.at.is_multiple_of(TOKENS_BETWEEN_LOOKS) {
                self.look(token);
            }
        }
        token
    }

    /// Goes to the end of the text if the work of [`cotan_ir::within`] has to end.
    fn look(&mut self, token: Token) {
        if let Err(error) = cotan_ir::look("parse") {
            let message = format!("`{}`: {}", error.op(), error.message());
            let place = self.span_of(token);
            self.stopped = Some(Diagnostic::new(Code::LimitExceeded, place, message));
            self.at = self.tokens.len();
        }
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.peek() == kind;
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, kind: TokenKind, what: &str) -> bool {
        let found = self.eat(kind);
        if !found {
            self.expected(what);
        }
        found
    }

    /// Is this the end of the file, or the beginning of a declaration?
    fn at_item(&self) -> bool {
        self.peek() == TokenKind::End || self.peek().begins_item()
    }

    /// The token that closes the bracket at a token.
    fn closing_of(&self, open: usize) -> Option<usize> {
        let found = self.closing.binary_search_by_key(&open, |bracket| bracket.0 as usize).ok()?;
        Some(self.closing[found].1 as usize)
    }

    fn at_closing_bracket(&self) -> bool {
        use TokenKind::{CloseBrace, CloseBracket, CloseParen};
        matches!(self.peek(), CloseParen | CloseBracket | CloseBrace)
    }

    // Places and names.

    fn span_of(&self, token: Token) -> Span {
        Span::new(self.file, token.start, token.end)
    }

    /// Just behind the last token taken.
    fn end_of_previous(&self) -> Span {
        let end = self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(0, |t| t.end);
        Span::new(self.file, end, end)
    }

    /// From a place to the end of the last token taken.
    fn since(&self, start: u32) -> Span {
        Span::new(self.file, start, self.end_of_previous().end.max(start))
    }

    /// The next token; at the end of the file, which is an empty line, the place behind the last.
    fn here(&self) -> Span {
        match self.peek() {
            TokenKind::End => self.end_of_previous(),
            _ => self.span_of(self.token()),
        }
    }

    fn text_of(&self, token: Token) -> &'t str {
        self.text.get(token.start as usize..token.end as usize).unwrap_or("")
    }

    fn name_of(&mut self, token: Token) -> Name {
        let text = self.text_of(token).trim_matches('`');
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        let name = Name::from(text);
        self.names.insert(name.clone());
        name
    }

    fn at_name(&self) -> bool {
        matches!(self.peek(), TokenKind::Name | TokenKind::QuotedName)
    }

    fn ident(&mut self, what: &str) -> Option<Ident> {
        if !self.at_name() {
            let word = self.text_of(self.token());
            let quotable = word.starts_with(|c: char| c.is_ascii_lowercase());
            let hint = quotable.then(|| format!("`{word}` is a keyword; choose another name"));
            self.expected_with(what, hint);
            return None;
        }
        let token = self.bump();
        Some(Ident { name: self.name_of(token), span: self.span_of(token) })
    }

    // Nodes.

    fn add(&mut self, kind: ExprKind, span: Span) -> ExprId {
        let id = self.ast.add_expr(kind, span);
        let left_operand = match &self.ast[id].kind {
            ExprKind::Binary { lhs, .. } => Some(*lhs),
            _ => None,
        };
        let mut height = 0;
        self.ast.for_each_child(id, |child| {
            let below = self.heights.get(child.index()).copied().unwrap_or(0);
            height = height.max(below + u16::from(Some(child) != left_operand));
        });
        self.heights.push(height);
        if usize::from(height) <= MAX_NESTING + 1 {
            return id;
        }
        self.too_deep(span);
        self.error_expr()
    }

    fn error_expr(&mut self) -> ExprId {
        let place = self.end_of_previous();
        self.add(ExprKind::Error, place)
    }

    // Depth.

    /// Goes one level down; `false`, with an error reported, at the limit. Pairs with `leave`.
    fn enter(&mut self) -> bool {
        if self.depth > MAX_NESTING {
            self.too_deep(self.here());
            return false;
        }
        self.depth += 1;
        true
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    fn too_deep(&mut self, span: Span) {
        self.recovering |= std::mem::replace(&mut self.found_too_deep, true);
        let message = format!("nested more than {MAX_NESTING} deep");
        self.fail(
            Diagnostic::new(Code::NestingTooDeep, span, message)
                .hint("name the inner parts with `let`"),
        );
    }

    // Errors.

    /// Reports an error after which the following tokens have no certain meaning. What is no token
    /// at all has been reported already.
    fn fail(&mut self, diagnostic: Diagnostic) {
        self.recovering |= self.peek() == TokenKind::Bad;
        if !self.recovering {
            self.diagnostics.push(diagnostic);
            self.recovering = true;
        }
    }

    /// Reports an error that does not disturb the parsing of what follows.
    fn report(&mut self, diagnostic: Diagnostic) {
        if !self.recovering {
            self.diagnostics.push(diagnostic);
        }
    }

    fn expected(&mut self, what: &str) {
        self.expected_with(what, None);
    }

    fn expected_with(&mut self, what: &str, hint: Option<String>) {
        let message = format!("expected {what}, found {}", self.describe_next());
        let diagnostic = Diagnostic::new(Code::UnexpectedToken, self.here(), message);
        let hint = self.comment_hint().or(hint).or_else(|| self.usual_hint());
        self.fail(hint.into_iter().fold(diagnostic, Diagnostic::hint));
    }

    /// What is wrong if the text from a `//` or `/*` on, in the line of the next token, is meant as
    /// a comment.
    fn comment_hint(&self) -> Option<String> {
        let line_start = self.text.get(..self.token().start as usize)?.rfind('\n');
        let line_start = line_start.map_or(0, |at| at + 1);
        let tokens = (0..=self.at).rev().map_while(|at| self.tokens.get(at));
        let mut line = tokens.take(200).take_while(|token| token.start as usize >= line_start);
        let marked = line.any(|token| match token.kind {
            TokenKind::SlashSlash => true,
            TokenKind::Slash => {
                self.text.get(token.end as usize..).is_some_and(|rest| rest.starts_with('*'))
            }
            _ => false,
        });
        marked.then(|| "comments begin with `#`; `//` divides".to_owned())
    }

    /// What people who know other languages are likely to have meant by the next token.
    fn usual_hint(&self) -> Option<String> {
        use TokenKind::*;
        let choice = "a choice is written `if c then a else b`";
        let hint = match (self.before().kind, self.peek(), self.nth(1)) {
            (CloseBracket, Eq, _) => {
                "a copy of `x` with another element is `x with [i] = v`; equality is written `==`"
            }
            (_, Eq, _) => {
                "equality is written `==`, and a name is bound by `let x = value in result`"
            }
            (_, Arrow, _) => "a function is written `x => …`; `->` stands in types only",
            (_, OpenBrace, _) => "there are no blocks: a body is one expression, after `=`",
            (_, OpenBracket, _) if self.after_dtype() => {
                "the sizes of an array type stand first: `[n]f64`"
            }
            (_, Text, _) => "text stands only after `import`",
            (_, Underscore, _) => "`_` is a pattern; it has no value",
            (Less, Less, _) => "bits are moved by `shift_left(a, b)`",
            (Greater, Greater, _) => "bits are moved by `shift_right(a, b)` or `shift_right_zero`",
            (_, Plus | Star | StarStar | Slash | Percent, Comma | CloseParen) => {
                "an operator is no function: write `(a, b) => a + b`"
            }
            (_, Dot, Dot) => "there is one entry for each axis: `a[:, :, None]`",
            (_, If, _) | (_, Colon, _) if self.in_choice() => choice,
            (_, Name, _) => match self.text_of(self.token()) {
                "lambda" => "a function is written `x => …`",
                "for" => "elements are computed by `build n (i => …)` or `map(f, xs)`",
                _ => return None,
            },
            _ => return None,
        };
        Some(hint.to_string())
    }

    /// Whether the next token is a word or colon where a choice of another language would have it:
    /// `a if c else b`, `if c: a`.
    fn in_choice(&self) -> bool {
        let before = (0..self.at).rev().take(20).map_while(|at| self.tokens.kind(at));
        self.peek() == TokenKind::If
            || before.take_while(|&k| k != TokenKind::Then).any(|k| k == TokenKind::If)
    }

    fn describe_next(&self) -> String {
        let token = self.token();
        match token.kind {
            TokenKind::End => "the end of the file".to_string(),
            TokenKind::QuotedName => format!("the name {}", self.text_of(token)),
            TokenKind::Text => "text".to_string(),
            _ => format!("`{}`", self.text_of(token)),
        }
    }

    // Lists.

    /// A list in brackets, from the opening one, which is the next token. After an error within,
    /// parsing makes sense again at the next comma or at the closing bracket.
    fn list<T>(&mut self, mut element: impl FnMut(&mut Self) -> T) -> List<T> {
        let open = self.at;
        let start = self.bump().start;
        let (mut elements, mut trailing_comma) = (Vec::new(), false);
        while !self.at_closing_bracket() && !self.at_item() {
            elements.push(element(self));
            trailing_comma = self.eat(TokenKind::Comma);
            if !trailing_comma {
                break;
            }
            self.recovering = false;
        }
        self.close(open);
        List { elements, trailing_comma, span: self.since(start) }
    }

    /// Takes the bracket that closes the one at token `open`, and what stands before it if
    /// anything does.
    fn close(&mut self, open: usize) {
        let Some(opened) = self.tokens.get(open) else { return };
        match self.closing_of(open) {
            Some(close) => {
                if self.at < close {
                    let bracket = self.tokens.get(close).map_or("", |token| self.text_of(token));
                    self.expected(&format!("`,` or `{bracket}`"));
                }
                self.at = close + 1;
                self.recovering = false;
            }
            None => {
                let bracket = self.text_of(opened);
                let message = format!("this `{bracket}` is never closed");
                let here = self.here();
                self.fail(
                    Diagnostic::new(Code::UnclosedBracket, self.span_of(opened), message)
                        .label("opened here")
                        .also(here, "not closed up to here")
                        .hint("add the closing bracket"),
                );
            }
        }
    }
}
