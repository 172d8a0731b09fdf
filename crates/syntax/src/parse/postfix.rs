//! Calls, indices, projections, and `build`.

use cotan_ir::Span;

use super::Parser;
use crate::ast::{Access, Arg, ExprId, ExprKind, IndexItem, Literal};
use crate::diagnostic::{Code, Diagnostic};
use crate::lex::{Token, TokenKind};

impl Parser<'_> {
    /// Something with everything that is applied to it: `f(x)[i].w.0`.
    pub(super) fn postfix(&mut self) -> ExprId {
        let mut base = self.atom();
        while !self.recovering {
            base = match self.peek() {
                TokenKind::OpenParen => {
                    let (args, span) = self.args();
                    self.apply(base, span, |callee| ExprKind::Call { callee, args: args.into() })
                }
                TokenKind::OpenBracket => self.index(base),
                TokenKind::Dot => self.project(base),
                _ => break,
            };
        }
        base
    }

    fn apply(&mut self, base: ExprId, end: Span, kind: impl FnOnce(ExprId) -> ExprKind) -> ExprId {
        let span = self.ast.span(base).join(end);
        self.add(kind(base), span)
    }

    fn args(&mut self) -> (Vec<Arg>, Span) {
        let list = self.list(|parser| {
            let named = parser.at_name() && parser.nth(1) == TokenKind::Eq;
            let name = if named { parser.ident("a name") } else { None };
            if named {
                parser.bump();
            }
            Arg { name: name.map(Box::new), value: parser.expr() }
        });
        let first_named = list.elements.iter().position(|arg| arg.name.is_some());
        let after = first_named.and_then(|at| list.elements.get(at..)).unwrap_or(&[]);
        if let Some(misplaced) = after.iter().find(|arg| arg.name.is_none()) {
            let place = self.ast.span(misplaced.value);
            let message = "an argument without a name stands after one with a name";
            self.report(
                Diagnostic::new(Code::PositionalAfterNamed, place, message)
                    .hint("put the arguments without a name first, or give it its name"),
            );
        }
        (list.elements, list.span)
    }

    fn index(&mut self, base: ExprId) -> ExprId {
        let list = self.list(Parser::index_item);
        self.apply(base, list.span, |base| ExprKind::Index { base, items: list.elements.into() })
    }

    fn index_item(&mut self) -> IndexItem {
        let start = self.token().start;
        let lo = (self.peek() != TokenKind::Colon).then(|| self.expr());
        match lo {
            Some(at) if self.peek() != TokenKind::Colon => return IndexItem::At(at),
            _ => {}
        }
        self.bump();
        let hi = self.slice_part();
        let step = if self.eat(TokenKind::Colon) { self.slice_part() } else { None };
        IndexItem::Slice { lo, hi, step, span: self.since(start) }
    }

    /// What follows a colon in an index, if anything does.
    fn slice_part(&mut self) -> Option<ExprId> {
        use TokenKind::{CloseBracket, Colon, Comma};
        (!matches!(self.peek(), Colon | Comma | CloseBracket)).then(|| self.expr())
    }

    fn project(&mut self, base: ExprId) -> ExprId {
        self.bump();
        let token = self.token();
        match token.kind {
            TokenKind::Name | TokenKind::QuotedName => {
                let Some(field) = self.ident("a field") else { return base };
                self.apply(base, field.span, |base| ExprKind::Field {
                    base,
                    field: Box::new(field),
                })
            }
            TokenKind::Dot => {
                let hint = "the integers below `n` are `iota(n)`; a slice is `x[lo:hi]`";
                self.expected_with("a field or the number of a component", Some(hint.to_string()));
                base
            }
            _ if self.is_bare_number(base) => {
                let place = self.since(self.ast.span(base).start);
                self.report(
                    Diagnostic::new(Code::BadNumber, place, "a number ends with a digit")
                        .hint("write for instance `1.0`"),
                );
                self.eat(TokenKind::Number);
                base
            }
            TokenKind::Number => {
                self.bump();
                self.components(base, token)
            }
            _ => {
                self.field_expected(token);
                base
            }
        }
    }

    /// The way to a part of a structure: `.w[i].0`.
    pub(super) fn path(&mut self) -> Vec<Access> {
        let mut path = Vec::new();
        while !self.recovering {
            match self.peek() {
                TokenKind::OpenBracket => {
                    let list = self.list(Parser::index_item);
                    path.push(Access::Index(list.elements, list.span));
                }
                TokenKind::Dot => {
                    self.bump();
                    let token = self.token();
                    match token.kind {
                        TokenKind::Name | TokenKind::QuotedName => {
                            path.extend(self.ident("a field").map(Access::Field));
                        }
                        TokenKind::Number => {
                            self.bump();
                            self.numbered(token, &mut path);
                        }
                        _ => self.field_expected(token),
                    }
                }
                // `.5` is one token, and so is `.0` after a name.
                TokenKind::Number if self.text_of(self.token()).starts_with('.') => {
                    let token = self.bump();
                    self.numbered(Token { start: token.start + 1, ..token }, &mut path);
                }
                _ => break,
            }
        }
        path
    }

    /// `0`, and `0.1`, which is one token.
    fn numbered(&mut self, token: Token, path: &mut Vec<Access>) {
        let mut start = token.start;
        for part in self.text_of(token).split('.') {
            let span = Span::new(self.file, start, start + part.len() as u32);
            match part.parse().ok().filter(|_| !part.starts_with('+')) {
                Some(index) => path.push(Access::Component(index, span)),
                None => self.no_component(part.to_owned(), span),
            }
            start = span.end + 1;
        }
    }

    fn no_component(&mut self, part: String, span: Span) {
        let message = format!("`{part}` is not the number of a component");
        self.report(
            Diagnostic::new(Code::BadNumber, span, message)
                .hint("components are counted from 0: `t.0`, `t.1`"),
        );
    }

    fn is_bare_number(&self, expr: ExprId) -> bool {
        let kind = &self.ast[expr].kind;
        let number = matches!(kind, ExprKind::Literal(Literal::Int { .. } | Literal::Float { .. }));
        number && !self.ast.has_parens(expr)
    }

    fn field_expected(&mut self, token: Token) {
        let what = "the name of a field or the number of a component";
        let word = self.text_of(token);
        if word.starts_with(|c: char| c.is_ascii_lowercase()) {
            let message = format!("expected {what}, found the keyword `{word}`");
            let place = self.span_of(token);
            self.report(
                Diagnostic::new(Code::UnexpectedToken, place, message)
                    .hint(format!("choose another name, or write `` .`{word}` ``")),
            );
            self.bump();
        } else {
            self.expected(what);
        }
    }

    /// `t.0`, and `t.0.1`, whose `0.1` is one token.
    fn components(&mut self, mut base: ExprId, token: Token) -> ExprId {
        let mut start = token.start;
        for part in self.text_of(token).split('.') {
            let index_span = Span::new(self.file, start, start + part.len() as u32);
            let Some(index) = part.parse().ok().filter(|_| !part.starts_with('+')) else {
                self.no_component(part.to_owned(), index_span);
                return self.apply(base, index_span, |_| ExprKind::Error);
            };
            base = self.apply(base, index_span, |base| ExprKind::Proj { base, index, index_span });
            start = index_span.end + 1;
        }
        base
    }

    /// `build SIZES (FUNCTION)` or `build(SIZES, FUNCTION)`.
    ///
    /// In the first form the sizes look as if they were called: the argument list that is a lone
    /// lambda, or after which no further argument list follows, is the function.
    pub(super) fn build(&mut self) -> ExprId {
        let start = self.bump().start;
        if !self.enter() {
            return self.error_expr();
        }
        let mut sizes = self.atom();
        self.leave();
        if let ExprKind::Tuple(items) = &self.ast[sizes].kind
            && let &[only_sizes, body] = &items[..]
            && (self.is_bare_lambda(body) || self.peek() != TokenKind::OpenParen)
        {
            return self.finish_build(start, only_sizes, body);
        }
        while !self.recovering {
            sizes = match self.peek() {
                TokenKind::OpenParen => {
                    let (args, span) = self.args();
                    match args.as_slice() {
                        [Arg { name: None, value }]
                            if self.is_lambda(*value) || self.peek() != TokenKind::OpenParen =>
                        {
                            return self.finish_build(start, sizes, *value);
                        }
                        _ => self.apply(sizes, span, |callee| ExprKind::Call {
                            callee,
                            args: args.into(),
                        }),
                    }
                }
                TokenKind::OpenBracket => self.index(sizes),
                TokenKind::Dot => self.project(sizes),
                _ => break,
            };
        }
        let (place, found) = (self.since(start), self.describe_next());
        let message = format!("expected the function of the `build`, found {found}");
        self.fail(
            Diagnostic::new(Code::BadBuild, place, message)
                .label("these are the sizes")
                .hint("write `build n (i => …)` or `build (m, n) ((i, j) => …)`"),
        );
        self.add(ExprKind::Error, place)
    }

    fn is_lambda(&self, expr: ExprId) -> bool {
        matches!(self.ast[expr].kind, ExprKind::Lambda { .. })
    }

    fn is_bare_lambda(&self, expr: ExprId) -> bool {
        self.is_lambda(expr) && !self.ast.has_parens(expr)
    }

    fn finish_build(&mut self, start: u32, sizes: ExprId, body: ExprId) -> ExprId {
        let sizes = match &self.ast[sizes].kind {
            ExprKind::Tuple(sizes) => sizes.clone(),
            _ => [sizes].into(),
        };
        let span = self.since(start);
        self.add(ExprKind::Build { sizes, body }, span)
    }
}
