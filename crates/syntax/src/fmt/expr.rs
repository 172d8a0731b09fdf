//! Expressions.
//!
//! The tree came from a text, so the parentheses that it needs are the ones it has. Only `build`,
//! which is always written `build SIZES (FUNCTION)`, may need new ones.

use cotan_ir::Span;
use logos::Logos;

use super::Printer;
use super::layout::{Breaks, Event};
use crate::ast::{
    Access, Arg, Binding, Expr, ExprId, ExprKind, IndexItem, PatId, PatternKind, UnaryOp,
};
use crate::lex::TokenKind;
use crate::precedence;

impl<'m> Printer<'m> {
    pub(super) fn expr(&mut self, expr: ExprId) {
        self.enclosed(expr, Printer::bare);
    }

    /// The body of a definition: a `let` takes a line for each binding.
    pub(super) fn body(&mut self, expr: ExprId) {
        match &self.get(expr).kind {
            ExprKind::Let { bindings, body } if self.is_let(expr) => self.let_run(bindings, *body),
            _ => self.expr(expr),
        }
    }

    /// A `let` that is not in parentheses.
    pub(super) fn is_let(&self, expr: ExprId) -> bool {
        matches!(self.get(expr).kind, ExprKind::Let { .. }) && !self.has_parens(expr)
    }

    fn get(&self, expr: ExprId) -> &'m Expr {
        &self.module.ast[expr]
    }

    fn span(&self, expr: ExprId) -> Span {
        self.module.ast.span(expr)
    }

    fn has_parens(&self, expr: ExprId) -> bool {
        self.module.ast.has_parens(expr)
    }

    fn start(&self, expr: ExprId) -> u32 {
        self.span(expr).start
    }

    /// Where an expression begins within its parentheses (or a tuple within its own).
    fn inner_start(&self, expr: ExprId) -> u32 {
        let span = self.span(expr);
        if !self.has_parens(expr) {
            return span.start;
        }
        let mut tokens = TokenKind::lexer(self.text.get(span.range()).unwrap_or(""));
        while let Some(Ok(TokenKind::OpenParen | TokenKind::Comment)) = tokens.next() {}
        span.start + tokens.span().start as u32
    }

    /// With the parentheses of the text.
    fn enclosed(&mut self, expr: ExprId, content: impl FnOnce(&mut Self, ExprId)) {
        let span = self.span(expr);
        if !self.has_parens(expr) {
            return content(self, expr);
        }
        self.token(span.start, "(");
        content(self, expr);
        self.token(span.end.saturating_sub(1), ")");
    }

    fn bare(&mut self, expr: ExprId) {
        let (kind, span) = (&self.get(expr).kind, self.span(expr));
        let (start, end) = (self.inner_start(expr), span.end.saturating_sub(1));
        match kind {
            ExprKind::Literal(_) => self.literal(span),
            ExprKind::Name(name) => self.name(start, name),
            ExprKind::Unary { op, operand } => {
                self.token(start, op.text());
                if *op == UnaryOp::Not {
                    self.put(" ");
                }
                self.expr(*operand);
            }
            ExprKind::Binary { .. } => self.chain(expr),
            ExprKind::Call { callee, args } => {
                self.expr(*callee);
                self.args(args, end);
            }
            ExprKind::Index { base, items } => {
                self.expr(*base);
                self.list(("[", "]"), end, Breaks::All, items, Printer::index_item);
            }
            ExprKind::Field { base, field } => {
                self.expr(*base);
                self.put(".");
                self.ident(field);
            }
            ExprKind::Proj { base, index_span, .. } => {
                self.expr(*base);
                self.put(".");
                let index = self.text.get(index_span.range()).unwrap_or("");
                self.token(index_span.start, index);
            }
            ExprKind::Tuple(items) => {
                self.comments_before(span.start);
                let close = if items.len() == 1 { ",)" } else { ")" };
                self.list(("(", close), end, Breaks::All, items, |printer, item| {
                    printer.expr(*item);
                });
            }
            ExprKind::Array(items) => self.array(items, span),
            ExprKind::Record(fields) => {
                self.comments_before(span.start);
                self.list(("{", "}"), end, Breaks::All, fields, |printer, (field, value)| {
                    printer.ident(field);
                    printer.put(" = ");
                    printer.expr(*value);
                });
            }
            ExprKind::Lambda { params, body } => self.lambda(params, *body),
            ExprKind::Build { sizes, body } => self.build(sizes, *body, start, end),
            ExprKind::With { base, path, value } => {
                self.expr(*base);
                self.events.extend([Event::Open(Breaks::All), Event::Indent]);
                self.comments_before(path.with_span.start);
                self.line();
                self.put("with ");
                path.steps.iter().for_each(|step| self.access(step));
                self.put(" = ");
                self.expr(*value);
                self.events.extend([Event::Dedent, Event::Close]);
            }
            ExprKind::If { arms, otherwise } => self.if_chain(arms, *otherwise, start),
            ExprKind::Let { bindings, body } => self.inner_let(bindings, *body),
            ExprKind::Error => {}
        }
    }

    /// A literal as it is written in the text. Its span may hold parentheses and comments too.
    fn literal(&mut self, span: Span) {
        let text = self.text.get(span.range()).unwrap_or("");
        let mut tokens = TokenKind::lexer(text);
        while let Some(token) = tokens.next() {
            let start = span.start + tokens.span().start as u32;
            match token {
                Ok(TokenKind::OpenParen | TokenKind::CloseParen | TokenKind::Comment) => {}
                _ => self.token(start, tokens.slice()),
            }
        }
    }

    fn array(&mut self, items: &'m [ExprId], span: Span) {
        self.comments_before(span.start);
        let literal = |item: &ExprId| matches!(self.get(*item).kind, ExprKind::Literal(_));
        let breaks = if items.iter().all(literal) { Breaks::Fill } else { Breaks::All };
        let end = span.end.saturating_sub(1);
        self.list(("[", "]"), end, breaks, items, |printer, item| printer.expr(*item));
    }

    fn index_item(&mut self, item: &'m IndexItem) {
        match item {
            IndexItem::At(at) => self.expr(*at),
            IndexItem::Slice { lo, hi, step, span } => {
                self.comments_before(span.start);
                lo.iter().for_each(|lo| self.expr(*lo));
                self.put(":");
                hi.iter().for_each(|hi| self.expr(*hi));
                if let Some(step) = step {
                    self.put(":");
                    self.expr(*step);
                }
            }
        }
    }

    fn access(&mut self, step: &'m Access) {
        match step {
            Access::Index(items, span) => {
                let end = span.end.saturating_sub(1);
                self.list(("[", "]"), end, Breaks::All, items, Printer::index_item);
            }
            Access::Field(field) => {
                self.put(".");
                self.ident(field);
            }
            Access::Component(_, span) => {
                self.put(".");
                let index = self.text.get(span.range()).unwrap_or("");
                self.token(span.start, index);
            }
        }
    }

    // Operators

    /// A chain of operators that leans to the left, in a loop. Operators that bind equally tightly
    /// form one group, and break together.
    fn chain(&mut self, expr: ExprId) {
        let (first, nodes) = self.module.ast.spine(expr);
        let level = |printer: &Self, node: ExprId| precedence::of_expr(&printer.get(node).kind);
        // From the outside in: which nodes begin a group of their own?
        let mut outer = None;
        let mut begins = vec![false; nodes.len()];
        for (begin, &node) in begins.iter_mut().zip(&nodes).rev() {
            let inner_parens = self.has_parens(node) && node != expr;
            let this = level(self, node);
            *begin = inner_parens || outer != Some(this);
            outer = Some(this);
            if inner_parens {
                self.token(self.start(node), "(");
            }
            if *begin {
                self.events.extend([Event::Open(Breaks::All), Event::Indent]);
            }
        }
        self.expr(first);
        for (begin, &node) in begins.iter().zip(&nodes) {
            if let ExprKind::Binary { op, op_span, rhs, .. } = &self.get(node).kind {
                self.comments_before(op_span.start);
                self.line();
                self.put(op.text());
                self.put(" ");
                self.expr(*rhs);
            }
            if *begin {
                self.events.extend([Event::Dedent, Event::Close]);
            }
            if self.has_parens(node) && node != expr {
                self.token(self.span(node).end.saturating_sub(1), ")");
            }
        }
    }

    // Functions

    /// Arguments; a last one that has brackets or a body of its own begins on the line of the call.
    fn args(&mut self, args: &'m [Arg], end: u32) {
        let hugged = args.split_last().is_some_and(|(last, before)| {
            self.can_hug(last.value, before.is_empty())
                && before.iter().all(|arg| self.is_short(arg.value))
        });
        if !hugged {
            self.list(("(", ")"), end, Breaks::All, args, Printer::arg);
            return;
        }
        self.put("(");
        for (at, arg) in args.iter().enumerate() {
            if at > 0 {
                self.put(", ");
            }
            self.arg(arg);
        }
        self.token(end, ")");
    }

    fn arg(&mut self, arg: &'m Arg) {
        if let Some(name) = &arg.name {
            self.ident(name);
            self.put(" = ");
        }
        self.expr(arg.value);
    }

    fn can_hug(&self, expr: ExprId, alone: bool) -> bool {
        use ExprKind::{Array, Build, Call, Lambda, Record, Tuple};
        match self.get(expr).kind {
            Lambda { .. } | Build { .. } => true,
            Call { .. } | Tuple(_) | Array(_) | Record(_) => alone,
            _ => false,
        }
    }

    /// So small that no line need break in it. The text must not decide, or formatting twice could
    /// differ from formatting once.
    fn is_short(&self, expr: ExprId) -> bool {
        const FEW: usize = 8;
        let (mut todo, mut seen) = (vec![expr], 0);
        while let Some(expr) = todo.pop() {
            seen += 1;
            let open_ended = precedence::of_expr(&self.get(expr).kind) == precedence::LOOSEST;
            if seen > FEW || open_ended || matches!(self.get(expr).kind, ExprKind::Build { .. }) {
                return false;
            }
            let room = FEW + 1 - seen;
            self.module.ast.for_each_child(expr, |child| {
                if todo.len() <= room {
                    todo.push(child);
                }
            });
        }
        true
    }

    fn lambda(&mut self, params: &'m [PatId], body: ExprId) {
        let single = match params {
            [param] => !matches!(self.module.ast[*param].kind, PatternKind::Tuple(_)),
            _ => false,
        };
        if single {
            params.iter().for_each(|param| self.pattern(*param));
        } else {
            self.put("(");
            for (at, param) in params.iter().enumerate() {
                if at > 0 {
                    self.put(", ");
                }
                self.pattern(*param);
            }
            self.put(")");
        }
        self.put(" =>");
        self.on_new_line_if_needed(body);
    }

    /// Behind what stands before if it fits there, or else indented on the next line.
    fn on_new_line_if_needed(&mut self, expr: ExprId) {
        self.group(Breaks::All, |printer| {
            printer.indented(|printer| {
                printer.line();
                printer.expr(expr);
            });
        });
    }

    fn is_lambda(&self, expr: ExprId) -> bool {
        matches!(self.get(expr).kind, ExprKind::Lambda { .. })
    }

    fn build(&mut self, sizes: &'m [ExprId], body: ExprId, start: u32, end: u32) {
        self.token(start, "build ");
        let sizes_end = self.start(body);
        match sizes {
            [size] if !matches!(self.get(*size).kind, ExprKind::Tuple(_)) => {
                self.lone_size(*size, sizes_end);
            }
            _ => {
                let close = if sizes.len() == 1 { ",)" } else { ")" };
                self.list(
                    ("(", close),
                    sizes_end,
                    Breaks::All,
                    sizes,
                    |printer, size| match printer.is_lambda(*size) {
                        true => printer.in_parens(*size, printer.span(*size).end),
                        false => printer.expr(*size),
                    },
                );
            }
        }
        self.put(" ");
        self.in_parens(body, end);
    }

    /// In exactly one pair of parentheses; `end` is where the closing one stands, or would.
    fn in_parens(&mut self, expr: ExprId, end: u32) {
        self.token(self.start(expr), "(");
        if self.has_parens(expr) {
            self.bare(expr)
        } else {
            self.expr(expr)
        }
        self.token(end, ")");
    }

    /// The only size of a `build`, in parentheses if it could be taken for something else.
    fn lone_size(&mut self, size: ExprId, end: u32) {
        let mut at = size;
        let plain = loop {
            at = match &self.get(at).kind {
                _ if self.has_parens(at) => break true,
                ExprKind::Name(_) => break true,
                ExprKind::Literal(literal) => break !precedence::is_negative(literal),
                ExprKind::Index { base, .. }
                | ExprKind::Field { base, .. }
                | ExprKind::Proj { base, .. } => *base,
                ExprKind::Call { callee, args } => match &args[..] {
                    [Arg { name: None, value }] if self.is_lambda(*value) => break false,
                    _ => *callee,
                },
                _ => break false,
            };
        };
        if plain { self.expr(size) } else { self.in_parens(size, end) }
    }

    // `if` and `let`

    fn if_chain(&mut self, arms: &'m [(ExprId, ExprId)], otherwise: ExprId, start: u32) {
        self.comments_before(start);
        self.group(Breaks::All, |printer| {
            for (at, (condition, branch)) in arms.iter().enumerate() {
                if at > 0 {
                    printer.comments_before(printer.start(*condition));
                    printer.line();
                    printer.put("else ");
                }
                printer.put("if ");
                printer.expr(*condition);
                printer.put(" then");
                printer.branch(*branch);
            }
            printer.comments_before(printer.start(otherwise));
            printer.line();
            printer.put("else");
            printer.branch(otherwise);
        });
    }

    fn branch(&mut self, branch: ExprId) {
        self.indented(|printer| {
            printer.line();
            printer.expr(branch);
        });
    }

    /// A `let` within an expression: on one line if it has one binding and fits.
    fn inner_let(&mut self, bindings: &'m [Binding], body: ExprId) {
        if let [binding] = bindings {
            self.group(Breaks::All, |printer| {
                printer.binding(binding);
                printer.comments_before(printer.start(body));
                printer.line();
                printer.put("in ");
                printer.expr(body);
            });
        } else {
            self.let_run(bindings, body);
        }
    }

    fn let_run(&mut self, bindings: &'m [Binding], body: ExprId) {
        for (at, binding) in bindings.iter().enumerate() {
            if at > 0 {
                self.new_line(binding.span.start);
            }
            self.binding(binding);
        }
        self.comments_before(self.start(body));
        self.events.push(Event::HardLine { blank: false });
        self.put("in ");
        self.expr(body);
    }

    fn binding(&mut self, binding: &'m Binding) {
        use ExprKind::{Binary, If, Let, Unary};
        self.token(binding.span.start, "let ");
        self.pattern(binding.pattern);
        if let Some(ty) = binding.ty {
            self.put(": ");
            self.ty(ty);
        }
        self.put(" =");
        match self.get(binding.value).kind {
            Binary { .. } | If { .. } | Let { .. } | Unary { .. } => {
                self.on_new_line_if_needed(binding.value);
            }
            _ => {
                self.put(" ");
                self.expr(binding.value);
            }
        }
    }
}
