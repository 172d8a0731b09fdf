//! What the tests share.
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]
#![allow(dead_code, reason = "not every test file uses all of it")]

pub mod evaluate;

use cotan_array::Dtype;
use cotan_ir::FileId;
use cotan_syntax::ast::{
    Access, Ast, ExprId, ExprKind, IndexItem, Item, Literal, Module, PatId, PatternKind, UnaryOp,
};
use cotan_syntax::{Code, parse};

/// Runs on a thread with a stack of 2 MiB, the least a user has.
pub fn on_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work).expect("a thread");
    thread.join().expect("the work panicked");
}

/// The codes of the messages about a text.
pub fn codes(text: &str) -> Vec<Code> {
    parse(FileId(0), text).diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

/// Parses a text that has no errors.
pub fn parse_ok(text: &str) -> Module {
    let parsed = parse(FileId(0), text);
    assert!(parsed.diagnostics.is_empty(), "{}", parsed.diagnostics);
    parsed.module
}

/// The tree of an expression, as a list in prefix form; or `error`, with the codes.
pub fn shape(text: &str) -> String {
    let parsed = parse(FileId(0), &format!("def f() = {text}"));
    if !parsed.diagnostics.is_empty() {
        let codes: Vec<_> = parsed.diagnostics.iter().map(|d| d.code.to_string()).collect();
        return format!("error {}", codes.join(" "));
    }
    match parsed.module.items.as_slice() {
        [Item::Def(def)] => show(&parsed.module.ast, def.body),
        items => panic!("{items:?}"),
    }
}

fn show(ast: &Ast, expr: ExprId) -> String {
    let all = |ids: &[ExprId]| ids.iter().map(|id| show(ast, *id)).collect::<Vec<_>>();
    let list = |head: &str, parts: Vec<String>| {
        let words: Vec<_> = std::iter::once(head.to_string()).chain(parts).collect();
        format!("({})", words.join(" "))
    };
    match &ast[expr].kind {
        ExprKind::Literal(Literal::Bool(value)) => value.to_string(),
        ExprKind::Literal(Literal::Int { value, suffix }) => {
            format!("{value}{}", if *suffix { "i64" } else { "" })
        }
        ExprKind::Literal(Literal::Float { value, suffix }) => {
            format!("{value:?}{}", suffix.map_or("", Dtype::name))
        }
        ExprKind::Name(name) => name.to_string(),
        ExprKind::Unary { op, operand } => {
            let name = match op {
                UnaryOp::Neg => "neg",
                UnaryOp::Not => "not",
            };
            list(name, vec![show(ast, *operand)])
        }
        ExprKind::Binary { op, lhs, rhs, .. } => list(op.text(), all(&[*lhs, *rhs])),
        ExprKind::Call { callee, args } => {
            let shown = args.iter().map(|arg| match &arg.name {
                Some(name) => format!("{}={}", name.name, show(ast, arg.value)),
                None => show(ast, arg.value),
            });
            list("call", std::iter::once(show(ast, *callee)).chain(shown).collect())
        }
        ExprKind::Index { base, items } => {
            let part = |part: &Option<ExprId>| part.map_or(String::new(), |id| show(ast, id));
            let shown = items.iter().map(|item| match item {
                IndexItem::At(at) => show(ast, *at),
                IndexItem::Slice { lo, hi, step, .. } => {
                    format!("{}:{}:{}", part(lo), part(hi), part(step))
                }
            });
            list("index", std::iter::once(show(ast, *base)).chain(shown).collect())
        }
        ExprKind::Field { base, field } => list(&format!(".{}", field.name), all(&[*base])),
        ExprKind::Proj { base, index, .. } => list(&format!(".{index}"), all(&[*base])),
        ExprKind::Tuple(items) => list("tuple", all(items)),
        ExprKind::Array(items) => list("array", all(items)),
        ExprKind::Record(fields) => {
            let shown = fields.iter().map(|(name, id)| format!("{}={}", name.name, show(ast, *id)));
            list("record", shown.collect())
        }
        ExprKind::Lambda { params, body } => {
            let params = params.iter().map(|pattern| show_pattern(ast, *pattern));
            list("fn", params.chain([show(ast, *body)]).collect())
        }
        ExprKind::With { base, path, value, .. } => {
            let part = |part: &Option<ExprId>| part.map_or(String::new(), |id| show(ast, id));
            let item = |item: &IndexItem| match item {
                IndexItem::At(at) => show(ast, *at),
                IndexItem::Slice { lo, hi, step, .. } => {
                    format!("{}:{}:{}", part(lo), part(hi), part(step))
                }
            };
            let path = path.steps.iter().map(|step| match step {
                Access::Index(items, _) => list("at", items.iter().map(item).collect()),
                Access::Field(field) => format!(".{}", field.name),
                Access::Component(n, _) => format!(".{n}"),
            });
            let parts = std::iter::once(show(ast, *base)).chain(path);
            list("with", parts.chain([show(ast, *value)]).collect())
        }
        ExprKind::Build { sizes, body } => {
            list("build", all(sizes).into_iter().chain([show(ast, *body)]).collect())
        }
        ExprKind::If { arms, otherwise } => {
            let shown = arms.iter().flat_map(|(c, a)| all(&[*c, *a]));
            list("if", shown.chain([show(ast, *otherwise)]).collect())
        }
        ExprKind::Let { bindings, body } => {
            let shown = bindings.iter().map(|binding| {
                format!("{}={}", show_pattern(ast, binding.pattern), show(ast, binding.value))
            });
            list("let", shown.chain([show(ast, *body)]).collect())
        }
        ExprKind::Error => "error".to_string(),
    }
}

fn show_pattern(ast: &Ast, pattern: PatId) -> String {
    match &ast[pattern].kind {
        PatternKind::Name(name) => name.to_string(),
        PatternKind::Tuple(items) => {
            let shown: Vec<_> = items.iter().map(|item| show_pattern(ast, *item)).collect();
            format!("({})", shown.join(" "))
        }
        PatternKind::Wildcard => "_".to_string(),
        PatternKind::Error => "error".to_string(),
    }
}

/// A small generator of numbers (xorshift), the same on every run.
pub struct Rng(u64);

impl Rng {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % bound as u64) as usize
    }
}
