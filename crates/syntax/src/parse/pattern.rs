//! Patterns.

use cotan_ir::Span;

use super::Parser;
use crate::ast::{PatId, Pattern, PatternKind};
use crate::lex::TokenKind;

impl Parser<'_> {
    /// `x`, `_`, `(p, q)`
    pub(super) fn pattern(&mut self) -> PatId {
        if !self.enter() {
            return self.add_pattern(PatternKind::Error, self.token().start);
        }
        let start = self.token().start;
        let pattern = match self.peek() {
            TokenKind::Name | TokenKind::QuotedName => {
                let token = self.bump();
                let name = self.name_of(token);
                self.add_pattern(PatternKind::Name(name), start)
            }
            TokenKind::Underscore => {
                self.bump();
                self.add_pattern(PatternKind::Wildcard, start)
            }
            TokenKind::OpenParen => {
                let list = self.list(Parser::pattern);
                match list.elements.as_slice() {
                    [inner] if !list.trailing_comma => *inner,
                    _ => self.add_pattern(PatternKind::Tuple(list.elements.into()), start),
                }
            }
            _ => {
                self.expected("a name, `_`, or a tuple of these in parentheses");
                self.add_pattern(PatternKind::Error, start)
            }
        };
        self.leave();
        pattern
    }

    fn add_pattern(&mut self, kind: PatternKind, start: u32) -> PatId {
        let span = match kind {
            PatternKind::Error => Span::new(self.file, start, start),
            PatternKind::Name(_) | PatternKind::Tuple(_) | PatternKind::Wildcard => {
                self.since(start)
            }
        };
        self.ast.add_pattern(Pattern { kind, span })
    }
}
