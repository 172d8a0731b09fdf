//! Expressions: operators, `let`, `if`, lambdas, and what begins with a word or a bracket.

use super::Parser;
use crate::ast::{BinaryOp, Binding, ExprId, ExprKind, Ident, Literal, PatId, Path, UnaryOp};
use crate::diagnostic::{Code, Diagnostic};
use crate::lex::TokenKind;
use crate::precedence::{self, Assoc};

impl Parser<'_> {
    /// An expression.
    pub(super) fn expr(&mut self) -> ExprId {
        self.expr_from(precedence::LOOSEST)
    }

    /// An expression whose operators outside of brackets bind at least as tightly as `loosest`.
    pub(super) fn expr_from(&mut self, loosest: u8) -> ExprId {
        if !self.enter() {
            return self.error_expr();
        }
        let mut lhs = self.operand();
        while let Some(op) = infix(self.peek()) {
            if precedence::of_binary(op) < loosest {
                break;
            }
            lhs = self.infix(lhs, op);
        }
        if loosest == precedence::LOOSEST {
            lhs = self.updates(lhs);
        }
        self.leave();
        lhs
    }

    /// `x with [i] = v`, of what stands before; several lean to the left. The word is a name
    /// elsewhere: after an expression no name can follow.
    fn updates(&mut self, mut base: ExprId) -> ExprId {
        let mut entered = 0;
        while !self.recovering && self.at_with() && self.enter() {
            entered += 1;
            let token = self.bump();
            let with_span = self.span_of(token);
            let path = self.path();
            if path.is_empty() {
                let hint = "write `x with [i] = value` or `p with .field = value`";
                self.expected_with("the part that is replaced", Some(hint.to_string()));
            }
            self.expect(TokenKind::Eq, "`=` and the value of the part");
            let value = self.expr_from(precedence::OR);
            let span = self.ast.span(base).join(self.ast.span(value));
            let path = Box::new(Path { with_span, steps: path });
            base = self.add(ExprKind::With { base, path, value }, span);
        }
        (0..entered).for_each(|_| self.leave());
        base
    }

    fn at_with(&self) -> bool {
        self.peek() == TokenKind::Name && self.text_of(self.token()) == "with"
    }

    fn infix(&mut self, lhs: ExprId, op: BinaryOp) -> ExprId {
        let token = self.bump();
        let op_span = self.span_of(token);
        let level = precedence::of_binary(op);
        let loosest = match precedence::assoc(op) {
            Assoc::Left => level + 1,
            Assoc::Right => level,
            Assoc::None => {
                self.forbid_chain(lhs, op);
                level + 1
            }
        };
        let rhs = self.expr_from(loosest);
        let span = self.ast.span(lhs).join(self.ast.span(rhs));
        self.add(ExprKind::Binary { op, op_span, lhs, rhs }, span)
    }

    /// `a < b` before another comparison is an error.
    fn forbid_chain(&mut self, lhs: ExprId, op: BinaryOp) {
        let ExprKind::Binary { op: first, op_span, .. } = self.ast[lhs].kind else { return };
        if self.ast.has_parens(lhs) || precedence::of_binary(first) != precedence::of_binary(op) {
            return;
        }
        let (first, second) = (first.text(), op.text());
        let message = "comparisons cannot be chained";
        let place = self.since(op_span.start);
        self.report(
            Diagnostic::new(Code::ChainedComparison, place, message)
                .hint(format!("write `a {first} b and b {second} c`")),
        );
    }

    fn operand(&mut self) -> ExprId {
        match self.peek() {
            TokenKind::Minus => self.minus(),
            TokenKind::Not => {
                let token = self.bump();
                self.prefix(UnaryOp::Not, token.start)
            }
            TokenKind::Let => self.let_run(),
            TokenKind::If => self.if_chain(),
            _ if self.at_lambda() => self.lambda(),
            _ => self.postfix(),
        }
    }

    fn prefix(&mut self, op: UnaryOp, start: u32) -> ExprId {
        let operand = self.expr_from(precedence::of_unary(op));
        let span = self.since(start);
        self.add(ExprKind::Unary { op, operand }, span)
    }

    /// A minus directly before a number belongs to the number, unless something that binds more
    /// tightly follows: `-2 ** 2` is `-(2 ** 2)`.
    fn minus(&mut self) -> ExprId {
        use TokenKind::{Dot, OpenBracket, OpenParen, StarStar};
        let token = self.bump();
        let tighter = matches!(self.nth(1), StarStar | OpenBracket | OpenParen | Dot);
        if self.at_number() && !tighter {
            self.number(true, token.start)
        } else {
            self.prefix(UnaryOp::Neg, token.start)
        }
    }

    /// What is neither an operator nor applied to anything.
    pub(super) fn atom(&mut self) -> ExprId {
        let token = self.token();
        match token.kind {
            TokenKind::Name | TokenKind::QuotedName => {
                self.bump();
                let name = self.name_of(token);
                let span = self.span_of(token);
                self.add(ExprKind::Name(name), span)
            }
            TokenKind::True | TokenKind::False => {
                self.bump();
                let value = Literal::Bool(token.kind == TokenKind::True);
                let span = self.span_of(token);
                self.add(ExprKind::Literal(value), span)
            }
            TokenKind::OpenParen => self.paren(),
            TokenKind::OpenBracket => {
                let list = self.list(Parser::expr);
                self.add(ExprKind::Array(list.elements.into()), list.span)
            }
            TokenKind::OpenBrace => self.record(),
            TokenKind::Build => self.build(),
            _ if self.at_number() => self.number(false, token.start),
            TokenKind::Dot if self.nth(1) == TokenKind::Number => self.number_without_start(),
            _ => {
                self.expected("an expression");
                self.error_expr()
            }
        }
    }

    fn paren(&mut self) -> ExprId {
        let list = self.list(Parser::expr);
        match list.elements.as_slice() {
            [inner] if !list.trailing_comma => {
                self.ast.set_parens(*inner, list.span);
                *inner
            }
            _ => self.add(ExprKind::Tuple(list.elements.into()), list.span),
        }
    }

    fn record(&mut self) -> ExprId {
        let list = self.list(|parser| {
            let field = parser.ident("the name of a field")?;
            if !parser.eat(TokenKind::Eq) {
                let hint = format!("write `{} = value`", field.name);
                parser.expected_with("`=` and the value of the field", Some(hint));
            }
            Some((field, parser.expr()))
        });
        let fields = list.elements.into_iter().flatten().collect::<Vec<(Ident, ExprId)>>();
        self.add(ExprKind::Record(fields.into()), list.span)
    }

    // `let`

    /// A run of bindings and the result. `let p = e in let q = f in …` is the same as
    /// `let p = e let q = f in …`.
    fn let_run(&mut self) -> ExprId {
        let start = self.token().start;
        let mut bindings = Vec::new();
        while self.peek() == TokenKind::Let {
            bindings.push(self.binding());
            self.recover_in_let();
            if !self.end_of_binding() {
                self.missing_in();
                self.recover_in_let();
                self.end_of_binding();
            }
        }
        let body = self.expr();
        let span = self.since(start);
        self.add(ExprKind::Let { bindings: bindings.into(), body }, span)
    }

    fn binding(&mut self) -> Binding {
        let start = self.bump().start;
        let pattern = self.pattern();
        let ty = self.eat(TokenKind::Colon).then(|| self.ty());
        self.expect(TokenKind::Eq, "`=` and the value");
        let value = self.expr();
        Binding { pattern, ty, value, span: self.since(start) }
    }

    /// After an error in a binding, goes on at the next binding or at the result.
    fn recover_in_let(&mut self) {
        while self.recovering && !self.at_item() && !self.at_closing_bracket() {
            match self.peek() {
                TokenKind::Let | TokenKind::In | TokenKind::Semicolon => self.recovering = false,
                _ => match self.closing_of(self.at) {
                    Some(close) => self.at = close + 1,
                    None => self.at += 1,
                },
            }
        }
    }

    /// Takes the `in` or `;` (or both) after a binding; the `let` of the next one will do as well.
    fn end_of_binding(&mut self) -> bool {
        let semicolon = self.eat(TokenKind::Semicolon);
        self.eat(TokenKind::In) || semicolon || self.peek() == TokenKind::Let
    }

    fn missing_in(&mut self) {
        let found = self.describe_next();
        let message = format!("expected `in` before the result of the `let`, found {found}");
        let place = self.here();
        self.fail(
            Diagnostic::new(Code::MissingIn, place, message)
                .hint("write `let x = value in result`"),
        );
    }

    // `if`

    fn if_chain(&mut self) -> ExprId {
        let start = self.token().start;
        let mut arms = Vec::new();
        while self.eat(TokenKind::If) {
            let condition = self.expr();
            self.expect(TokenKind::Then, "`then`");
            let branch = self.expr();
            arms.push((condition, branch));
            if !self.eat(TokenKind::Else) {
                let hint = "an `if` is an expression: it has both branches";
                self.expected_with("`else`", Some(hint.to_string()));
            }
        }
        let otherwise = self.expr();
        let span = self.since(start);
        self.add(ExprKind::If { arms: arms.into(), otherwise }, span)
    }

    // Functions

    fn at_lambda(&self) -> bool {
        match self.peek() {
            TokenKind::Name | TokenKind::QuotedName | TokenKind::Underscore => {
                self.nth(1) == TokenKind::FatArrow
            }
            TokenKind::OpenParen => {
                let close = self.closing_of(self.at);
                let after = close.and_then(|close| self.tokens.kind(close + 1));
                after == Some(TokenKind::FatArrow)
            }
            _ => false,
        }
    }

    fn lambda(&mut self) -> ExprId {
        let start = self.token().start;
        let params: Vec<PatId> = match self.peek() {
            TokenKind::OpenParen => self.list(Parser::pattern).elements,
            _ => vec![self.pattern()],
        };
        self.expect(TokenKind::FatArrow, "`=>`");
        let body = self.expr();
        let span = self.since(start);
        self.add(ExprKind::Lambda { params: params.into(), body }, span)
    }
}

fn infix(token: TokenKind) -> Option<BinaryOp> {
    Some(match token {
        TokenKind::Or => BinaryOp::Or,
        TokenKind::Xor => BinaryOp::Xor,
        TokenKind::And => BinaryOp::And,
        TokenKind::EqEq => BinaryOp::Eq,
        TokenKind::NotEq => BinaryOp::Ne,
        TokenKind::Less => BinaryOp::Lt,
        TokenKind::LessEq => BinaryOp::Le,
        TokenKind::Greater => BinaryOp::Gt,
        TokenKind::GreaterEq => BinaryOp::Ge,
        TokenKind::Plus => BinaryOp::Add,
        TokenKind::Minus => BinaryOp::Sub,
        TokenKind::Star => BinaryOp::Mul,
        TokenKind::Slash => BinaryOp::Div,
        TokenKind::SlashSlash => BinaryOp::FloorDiv,
        TokenKind::Percent => BinaryOp::Rem,
        TokenKind::StarStar => BinaryOp::Pow,
        _ => return None,
    })
}
