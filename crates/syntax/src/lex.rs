//! Text to tokens.
//!
//! Comments are kept beside the tokens, for the formatter and for the documentation of
//! definitions. Nothing fails: what is not a token is reported and left out.

use cotan_ir::{FileId, Span};
use logos::Logos;
use rustc_hash::FxHashMap;

use crate::ast::Comment;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};

/// The kinds of tokens.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[logos(skip r"[ \t\r\n\x0C]+")]
pub enum TokenKind {
    /// A name.
    #[regex("[A-Za-z_][A-Za-z0-9_']*")]
    Name,
    /// A name between backquotes.
    #[regex("`[^`\n]+`")]
    QuotedName,
    /// A number, well-formed or not: `12`, `1.5e-3f32`, `2abc`.
    #[regex(r"[0-9][0-9_]*(\.[0-9][0-9_]*)?([eE][+-]?[0-9][0-9_]*)?[A-Za-z0-9_]*")]
    Number,
    /// Text between double quotes.
    #[regex("\"[^\"\n]+\"")]
    Text,
    #[doc(hidden)]
    #[regex("#[^\n]*", allow_greedy = true)]
    Comment,
    #[doc(hidden)]
    #[regex("`[^`\n]*", priority = 1)]
    #[regex("\"[^\"\n]*", priority = 1)]
    #[token("``")]
    #[token("\"\"")]
    BadQuote,
    #[doc(hidden)]
    #[regex(r"[\p{L}_][\p{L}\p{M}\p{N}_']*", priority = 1)]
    ForeignName,
    /// Characters without meaning, which have been reported.
    Bad,
    /// `def`
    #[token("def")]
    Def,
    /// `type`
    #[token("type")]
    Type,
    /// `import`
    #[token("import")]
    Import,
    /// `let`
    #[token("let")]
    Let,
    /// `in`
    #[token("in")]
    In,
    /// `if`
    #[token("if")]
    If,
    /// `then`
    #[token("then")]
    Then,
    /// `else`
    #[token("else")]
    Else,
    /// `build`
    #[token("build")]
    Build,
    /// `and`
    #[token("and")]
    And,
    /// `or`
    #[token("or")]
    Or,
    /// `xor`
    #[token("xor")]
    Xor,
    /// `not`
    #[token("not")]
    Not,
    /// `true`
    #[token("true")]
    True,
    /// `false`
    #[token("false")]
    False,
    /// `inf`
    #[token("inf")]
    Inf,
    /// `nan`, also as `NaN`
    #[token("nan")]
    #[token("NaN")]
    Nan,
    /// `inff32`
    #[token("inff32")]
    InfF32,
    /// `nanf32`
    #[token("nanf32")]
    NanF32,
    /// `_`
    #[token("_", priority = 3)]
    Underscore,
    /// `+`
    #[token("+")]
    Plus,
    /// `-`
    #[token("-")]
    Minus,
    /// `*`
    #[token("*")]
    Star,
    /// `/`
    #[token("/")]
    Slash,
    /// `//`
    #[token("//")]
    SlashSlash,
    /// `%`
    #[token("%")]
    Percent,
    /// `**`
    #[token("**")]
    StarStar,
    /// `==`
    #[token("==")]
    EqEq,
    /// `!=`
    #[token("!=")]
    NotEq,
    /// `<`
    #[token("<")]
    Less,
    /// `<=`
    #[token("<=")]
    LessEq,
    /// `>`
    #[token(">")]
    Greater,
    /// `>=`
    #[token(">=")]
    GreaterEq,
    /// `=>`
    #[token("=>")]
    FatArrow,
    /// `->`
    #[token("->")]
    Arrow,
    /// `=`
    #[token("=")]
    Eq,
    /// `:`
    #[token(":")]
    Colon,
    /// `,`
    #[token(",")]
    Comma,
    /// `;`
    #[token(";")]
    Semicolon,
    /// `.`
    #[token(".")]
    Dot,
    /// `(`
    #[token("(")]
    OpenParen,
    /// `)`
    #[token(")")]
    CloseParen,
    /// `[`
    #[token("[")]
    OpenBracket,
    /// `]`
    #[token("]")]
    CloseBracket,
    /// `{`
    #[token("{")]
    OpenBrace,
    /// `}`
    #[token("}")]
    CloseBrace,
    /// The end of the file.
    End,
}

impl TokenKind {
    /// The closing bracket, for an opening one.
    pub fn closing(self) -> Option<TokenKind> {
        match self {
            TokenKind::OpenParen => Some(TokenKind::CloseParen),
            TokenKind::OpenBracket => Some(TokenKind::CloseBracket),
            TokenKind::OpenBrace => Some(TokenKind::CloseBrace),
            _ => None,
        }
    }

    /// Does a declaration begin with it? Such a word stands nowhere else.
    pub fn begins_item(self) -> bool {
        matches!(self, TokenKind::Def | TokenKind::Type | TokenKind::Import)
    }
}

/// A token where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its first byte.
    pub start: u32,
    /// One past its last byte.
    pub end: u32,
}

/// Tokens in order. A long text has millions of them: one takes six bytes here.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    kinds: Vec<TokenKind>,
    starts: Vec<u32>,
    /// The length of each, or `LONG`.
    lengths: Vec<u8>,
    /// The lengths of the long ones.
    long: FxHashMap<u32, u32>,
}

/// A token of so many bytes or more has its length in a table of its own.
const LONG: u8 = u8::MAX;

impl Tokens {
    /// The token at a position.
    pub fn get(&self, at: usize) -> Option<Token> {
        let (kind, start) = (self.kind(at)?, *self.starts.get(at)?);
        let length = match *self.lengths.get(at)? {
            LONG => *self.long.get(&(at as u32))?,
            length => u32::from(length),
        };
        Some(Token { kind, start, end: start + length })
    }

    /// The kind of the token at a position.
    pub fn kind(&self, at: usize) -> Option<TokenKind> {
        self.kinds.get(at).copied()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = Token> {
        (0..self.len()).map_while(|at| self.get(at))
    }

    fn push(&mut self, Token { kind, start, end }: Token) {
        let length = u8::try_from(end - start).unwrap_or(LONG);
        if length == LONG {
            self.long.insert(self.kinds.len() as u32, end - start);
        }
        self.kinds.push(kind);
        self.starts.push(start);
        self.lengths.push(length);
    }

    fn pop(&mut self) -> Option<Token> {
        let last = self.get(self.len().checked_sub(1)?)?;
        self.kinds.pop();
        self.starts.pop();
        self.lengths.pop();
        Some(last)
    }
}

/// The tokens of a file.
#[derive(Clone, Debug)]
pub struct Lexed {
    /// The tokens; the last one is [`TokenKind::End`].
    pub tokens: Tokens,
    /// The comments.
    pub comments: Vec<Comment>,
}

/// Is this name written without quotes?
pub fn is_plain_name(name: &str) -> bool {
    let mut tokens = TokenKind::lexer(name);
    tokens.next() == Some(Ok(TokenKind::Name)) && tokens.span() == (0..name.len())
}

/// Splits a text into tokens.
pub fn lex(file: FileId, text: &str, diagnostics: &mut Diagnostics) -> Lexed {
    let (mut tokens, mut comments) = (Tokens::default(), Vec::new());
    if u32::try_from(text.len()).is_err() {
        let message = "the file has 4 GiB or more";
        diagnostics.push(
            Diagnostic::new(Code::FileTooLarge, Span::new(file, 0, 0), message)
                .hint("split the file; read large data from array files"),
        );
        tokens.push(Token { kind: TokenKind::End, start: 0, end: 0 });
        return Lexed { tokens, comments };
    }
    let mut lexer = TokenKind::lexer(text);
    while let Some(result) = lexer.next() {
        let range = lexer.span();
        let span = Span::new(file, range.start as u32, range.end as u32);
        // What is nearly a name or a path goes on as one, so that it is the only thing wrong.
        let kind = match result {
            Ok(TokenKind::Comment) => {
                let end = span.start + lexer.slice().trim_end().len() as u32;
                comments.push(Comment { span: Span { end, ..span } });
                continue;
            }
            Ok(TokenKind::BadQuote) => {
                diagnostics.push(bad_quote(span, lexer.slice()));
                if lexer.slice().starts_with('`') { TokenKind::QuotedName } else { TokenKind::Text }
            }
            Ok(TokenKind::ForeignName) => {
                diagnostics.push(foreign_name(span, lexer.slice()));
                TokenKind::Name
            }
            Ok(kind) => kind,
            Err(()) => TokenKind::Bad,
        };
        let mut token = Token { kind, start: span.start, end: span.end };
        // A run of what has no meaning is one.
        let last = tokens.len().checked_sub(1).and_then(|at| tokens.get(at));
        if let Some(last) = last
            && [last.kind, kind] == [TokenKind::Bad; 2]
            && last.end == span.start
        {
            token.start = last.start;
            tokens.pop();
        }
        tokens.push(token);
    }
    for token in tokens.iter().filter(|token| token.kind == TokenKind::Bad) {
        diagnostics.push(bad(Span::new(file, token.start, token.end), text));
    }
    let end = text.len() as u32;
    tokens.push(Token { kind: TokenKind::End, start: end, end });
    Lexed { tokens, comments }
}

fn bad(span: Span, text: &str) -> Diagnostic {
    let first = text.get(span.range()).and_then(|found| found.chars().next()).unwrap_or_default();
    let hint = match first {
        '&' | '|' | '!' => "logical operators are the words `and`, `or`, `not`",
        '\\' => "a function is written `x => …`",
        '^' => "powers are written `**`, exclusive or is written `xor`",
        '?' => "a choice is written `if c then a else b`",
        '~' => "negation is written `not x`, an approximate comparison `abs(a - b) < 1e-9`",
        '$' => "a function is called with parentheses: `f(x)`",
        '@' => "matrix products are written `matmul(a, b)`",
        '\'' => "text stands only after `import`, in double quotes",
        _ => "remove it",
    };
    let message = format!("unexpected character {first:?}");
    Diagnostic::new(Code::UnexpectedCharacter, span, message).hint(hint)
}

fn foreign_name(span: Span, name: &str) -> Diagnostic {
    let message = "names consist of ASCII letters, digits, `_` and `'`";
    let diagnostic = Diagnostic::new(Code::UnexpectedCharacter, span, message);
    match name {
        "π" => diagnostic.hint("write `pi`"),
        _ => diagnostic.hint(format!("write it between backquotes: `` `{name}` ``")),
    }
}

fn bad_quote(span: Span, found: &str) -> Diagnostic {
    let (what, quote) = if found.starts_with('`') { ("a quoted name", '`') } else { ("text", '"') };
    if found.len() == 2 && found.ends_with(quote) {
        return Diagnostic::new(Code::Unterminated, span, format!("{what} must not be empty"))
            .hint(format!("write something between the two {quote}"));
    }
    Diagnostic::new(Code::Unterminated, span, format!("{what} does not end on its line"))
        .label(format!("begins with {quote}"))
        .hint(format!("add the closing {quote}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        let mut diagnostics = Diagnostics::new();
        let lexed = lex(FileId(0), text, &mut diagnostics);
        assert!(diagnostics.is_empty(), "{diagnostics}");
        lexed.tokens.iter().map(|token| token.kind).collect()
    }

    fn codes(text: &str) -> Vec<Code> {
        let mut diagnostics = Diagnostics::new();
        lex(FileId(0), text, &mut diagnostics);
        diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
    }

    #[test]
    fn longest_token_wins() {
        use TokenKind::*;
        assert_eq!(
            kinds("a**b//c=>d->e"),
            [Name, StarStar, Name, SlashSlash, Name, FatArrow, Name, Arrow, Name, End]
        );
        assert_eq!(kinds("define in' _x _ inff32"), [Name, Name, Name, Underscore, InfF32, End]);
        assert_eq!(kinds("1.5e-3f32 1_000i64 2f32"), [Number, Number, Number, End]);
        assert_eq!(kinds("t.0.w 1.x"), [Name, Dot, Number, Dot, Name, Number, Dot, Name, End]);
        assert_eq!(kinds("--1"), [Minus, Minus, Number, End]);
        assert_eq!(kinds("`p.w` \"a b\""), [QuotedName, Text, End]);
    }

    #[test]
    fn comments_are_kept_apart() {
        let text = "a # one \r\n# two √";
        let lexed = lex(FileId(0), text, &mut Diagnostics::new());
        let found: Vec<_> = lexed.comments.iter().map(|c| &text[c.span.range()]).collect();
        assert_eq!(found, ["# one", "# two √"]);
        assert_eq!(lexed.tokens.len(), 2);
    }

    #[test]
    fn noise_is_reported_once_per_run() {
        assert_eq!(codes("a §§§ b ßß"), [Code::UnexpectedCharacter; 2]);
        assert_eq!(codes("`abc\n\"def\n`` \"\""), [Code::Unterminated; 4]);
    }

    #[test]
    fn plain_names_need_no_quotes() {
        assert!(is_plain_name("x'") && is_plain_name("_a1"));
        for name in ["p.w", "let", "_", "", "1a", "a b", "inff32", "a "] {
            assert!(!is_plain_name(name), "{name}");
        }
    }
}
