//! Declarations.

use cotan_ir::Span;

use super::Parser;
use crate::ast::{Def, Ident, Import, Item, Param, TypeDef, TypeKind};
use crate::diagnostic::{Code, Diagnostic};
use crate::lex::TokenKind;

impl Parser<'_> {
    /// All declarations of the file.
    pub(super) fn items(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        loop {
            self.recovering = false;
            self.found_too_deep = false;
            let start = self.token().start;
            let item = match self.peek() {
                TokenKind::End => return items,
                TokenKind::Import => self.import(start).map(Item::Import),
                TokenKind::Type => self.type_def(start).map(Item::Type),
                TokenKind::Def => self.def(start).map(Item::Def),
                _ => {
                    self.not_an_item();
                    None
                }
            };
            items.extend(item);
            self.expect_item();
        }
    }

    /// `def main() = EXPR`, of which only the expression is written.
    pub(super) fn only_expression(&mut self) -> Item {
        let body = self.expr();
        let hint = match self.peek() {
            TokenKind::Name | TokenKind::Number | TokenKind::QuotedName => {
                Some(self.hint_between())
            }
            _ => None,
        };
        if self.peek() != TokenKind::End {
            self.expected_with("an operator or the end", hint);
        }
        let start = Span::new(self.file, 0, 0);
        let name = Ident { name: "main".into(), span: start };
        let span = self.since(0);
        Item::Def(Def {
            name,
            sizes: Vec::new(),
            params: Vec::new(),
            result: None,
            body,
            doc: None,
            head_span: start,
            span,
        })
    }

    /// What is probably meant by two expressions side by side.
    fn hint_between(&self) -> String {
        let before = self.before();
        match self.text_of(before) {
            "for" | "while" | "loop" | "do" => {
                "loops are `build`, `map`, `fold`, `scan` and `while_loop`".to_owned()
            }
            "return" => "there is no `return`: the body is the result".to_owned(),
            "lambda" | "fn" => "a function is written `x => …`".to_owned(),
            name if before.kind == TokenKind::Name && name.len() <= 40 => {
                format!("an operator is missing before it, or parentheses: `{name}(…)`")
            }
            _ => "an operator, a comma or an `in` is missing before it".to_owned(),
        }
    }

    /// Complains about what is left of a declaration, and goes to the next.
    fn expect_item(&mut self) {
        if self.peek() == TokenKind::Let && !self.recovering {
            return; // More likely a misplaced declaration than a part of this one.
        }
        if !self.at_item() {
            let hint = match self.peek() {
                TokenKind::Name | TokenKind::Number | TokenKind::QuotedName => {
                    Some(self.hint_between())
                }
                _ => None,
            };
            self.expected_with("an operator or the next declaration", hint);
        }
        while !self.at_item() {
            self.bump();
        }
    }

    fn not_an_item(&mut self) {
        let found = self.describe_next();
        let message = format!("expected a declaration, found {found}");
        let comment = self.comment_hint();
        let hint = match self.peek() {
            _ if comment.is_some() => "comments begin with `#`",
            TokenKind::Let => "at the top level, write `def name() = value` instead of `let`",
            _ => "declarations begin with `def`, `type` or `import`",
        };
        let place = self.here();
        self.fail(Diagnostic::new(Code::MisplacedDeclaration, place, message).hint(hint));
    }

    fn import(&mut self, start: u32) -> Option<Import> {
        self.bump();
        let token = self.token();
        if !self.eat(TokenKind::Text) {
            let hint = "write for instance `import \"lib/linear.ct\"`".to_string();
            self.expected_with("the path of a file in double quotes", Some(hint));
            return None;
        }
        let path = self.text_of(token).trim_matches('"').to_string();
        let aliased = self.peek() == TokenKind::Name && self.text_of(self.token()) == "as";
        let alias = if aliased {
            self.bump();
            self.ident("a name for the import")
        } else {
            None
        };
        Some(Import { path, path_span: self.span_of(token), alias, span: self.since(start) })
    }

    fn type_def(&mut self, start: u32) -> Option<TypeDef> {
        let doc = self.doc_before(start);
        self.bump();
        let name = self.ident("the name of the type")?;
        let sizes = self.size_params();
        self.expect(TokenKind::Eq, "`=` and the type");
        let ty = self.ty();
        Some(TypeDef { name, sizes, ty, doc, span: self.since(start) })
    }

    fn def(&mut self, start: u32) -> Option<Def> {
        let doc = self.doc_before(start);
        self.bump();
        let name = self.ident("the name of the function")?;
        let sizes = self.size_params();
        let params = if self.peek() == TokenKind::OpenParen {
            self.list(Parser::param).elements.into_iter().flatten().collect()
        } else {
            let hint = format!("a definition without parameters is `def {}() = …`", name.name);
            self.expected_with("`(` and the parameters", Some(hint));
            Vec::new()
        };
        let result = self.eat(TokenKind::Colon).then(|| self.ty());
        let head_span = self.since(start);
        self.expect(TokenKind::Eq, "`=` and the body");
        let body = self.expr();
        let span = self.since(start);
        Some(Def { name, sizes, params, result, body, doc, head_span, span })
    }

    fn size_params(&mut self) -> Vec<Ident> {
        if self.peek() != TokenKind::OpenBracket {
            return Vec::new();
        }
        let list = self.list(|parser| parser.ident("the name of a size"));
        list.elements.into_iter().flatten().collect()
    }

    fn param(&mut self) -> Option<Param> {
        let name = self.ident("the name of a parameter")?;
        if self.eat(TokenKind::Colon) {
            let ty = self.ty();
            return Some(Param { name, ty });
        }
        if matches!(self.peek(), TokenKind::Comma | TokenKind::CloseParen) {
            let message = format!("the parameter `{}` has no type", name.name);
            self.report(
                Diagnostic::new(Code::MissingType, name.span, message)
                    .hint(format!("write for instance `{}: f64`", name.name)),
            );
        } else {
            self.expected("`:` and the type of the parameter");
        }
        let ty = self.add_type(TypeKind::Error, name.span.end);
        Some(Param { name, ty })
    }

    /// The comment lines that end on the line before `start`, without `#` and one space.
    fn doc_before(&self, start: u32) -> Option<String> {
        let mut below = start;
        let before = self.comments.partition_point(|comment| comment.span.start < start);
        let mut lines = Vec::new();
        for comment in self.comments.iter().take(before).rev() {
            let gap = self.text.get(comment.span.end as usize..below as usize)?;
            let line = self.text.get(..comment.span.start as usize)?;
            let line = line.rsplit('\n').next().unwrap_or("");
            let adjacent = gap.trim().is_empty() && gap.matches('\n').count() == 1;
            if !adjacent || !line.trim().is_empty() {
                break;
            }
            let text = self.text.get(comment.span.range())?.trim_start_matches('#');
            lines.push(text.strip_prefix(' ').unwrap_or(text));
            below = comment.span.start;
        }
        lines.reverse();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}
