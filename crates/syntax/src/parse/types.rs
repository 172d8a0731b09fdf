//! Types.

use cotan_array::Dtype;

use super::Parser;
use crate::ast::{Ident, Type, TypeId, TypeKind};
use crate::diagnostic::{Code, Diagnostic};
use crate::lex::TokenKind;

impl Parser<'_> {
    /// A type: `T`, or a function type `T -> R`, `(T, U) -> R`.
    pub(super) fn ty(&mut self) -> TypeId {
        self.type_where(true)
    }

    /// A type; one of a function only where `functions` may stand.
    fn type_where(&mut self, functions: bool) -> TypeId {
        if !self.enter() {
            return self.add_type(TypeKind::Error, self.token().start);
        }
        let start = self.token().start;
        let ty = if self.peek() == TokenKind::OpenParen {
            let list = self.list(Parser::ty);
            match list.elements.as_slice() {
                _ if functions && self.peek() == TokenKind::Arrow => {
                    self.function(list.elements, start)
                }
                [inner] if !list.trailing_comma => *inner,
                _ => self.add_type(TypeKind::Tuple(list.elements), start),
            }
        } else {
            let ty = self.type_atom();
            match self.peek() {
                TokenKind::Arrow if functions => self.function(vec![ty], start),
                _ => ty,
            }
        };
        self.leave();
        ty
    }

    fn function(&mut self, params: Vec<TypeId>, start: u32) -> TypeId {
        self.bump();
        let result = self.ty();
        self.add_type(TypeKind::Function { params, result }, start)
    }

    fn type_atom(&mut self) -> TypeId {
        let start = self.token().start;
        match self.peek() {
            TokenKind::OpenBracket => {
                let list = self.list(Parser::expr);
                let sizes = list.elements;
                if sizes.is_empty() {
                    let message = "an array type names the sizes of its axes";
                    let hint = "write `[n]f64`, where `n` is any name, or `f64` for a scalar";
                    let diagnostic = Diagnostic::new(Code::UnexpectedToken, list.span, message);
                    self.report(diagnostic.hint(hint));
                }
                // `[n]T -> R` is `([n]T) -> R`.
                let element = self.type_where(false);
                self.add_type(TypeKind::Array { sizes, element }, start)
            }
            TokenKind::OpenBrace => {
                let list = self.list(|parser| {
                    let field = parser.ident("the name of a field")?;
                    parser.expect(TokenKind::Colon, "`:` and the type of the field");
                    Some((field, parser.ty()))
                });
                let fields = list.elements.into_iter().flatten().collect();
                self.add_type(TypeKind::Record(fields), start)
            }
            TokenKind::Name | TokenKind::QuotedName => self.named_type(start),
            _ => {
                self.expected("a type");
                self.add_type(TypeKind::Error, start)
            }
        }
    }

    fn named_type(&mut self, start: u32) -> TypeId {
        let plain = self.peek() == TokenKind::Name;
        let Some(first) = self.ident("a type") else {
            return self.add_type(TypeKind::Error, start);
        };
        let scalar = Dtype::ALL.into_iter().find(|dtype| plain && dtype.name() == &*first.name);
        if let Some(dtype) = scalar {
            return self.add_type(TypeKind::Scalar(dtype), start);
        }
        let (module, name): (Option<Ident>, Ident) = if self.eat(TokenKind::Dot) {
            let Some(name) = self.ident("the name of a type") else {
                return self.add_type(TypeKind::Error, start);
            };
            (Some(first), name)
        } else {
            (None, first)
        };
        let sizes = match self.peek() {
            TokenKind::OpenBracket => self.list(Parser::expr).elements,
            _ => Vec::new(),
        };
        self.add_type(TypeKind::Alias { module, name, sizes }, start)
    }

    pub(super) fn add_type(&mut self, kind: TypeKind, start: u32) -> TypeId {
        let span = self.since(start);
        self.ast.add_type(Type { kind, span })
    }
}
