//! The syntax tree of one file.
//!
//! Expressions, types and patterns live in an arena, [`Ast`], and refer to each other by id, so a
//! tree of any shape is dropped by freeing three vectors.
//!
//! **Depth.** The parser bounds how deep a tree can be, [`MAX_NESTING`], with one exception: chains
//! of binary operators, `a + b + c + …`, lean to the left and may be as long as the file. So a
//! traversal may recurse on every child except [`ExprKind::Binary`]'s `lhs`, which it must follow
//! in a loop; [`Ast::spine`] does that. Runs of `let` and of `else if` are one flat node each.

use std::ops::Index;
use std::sync::Arc;

use cotan_array::Dtype;
use cotan_ir::{FileId, Span};
use rustc_hash::FxHashSet;

/// How deep brackets, lambdas, operators of rising precedence, … may nest in a file.
///
/// No tree is more than one level higher than that, where a node is one higher than its highest
/// child, but [`ExprKind::Binary`] no higher than its `lhs`.
pub const MAX_NESTING: usize = 256;

/// A name, shared between its occurrences in a file. Quoted names have lost their quotes.
pub type Name = Arc<str>;

/// A name where it stands.
#[derive(Clone, Debug)]
pub struct Ident {
    /// The name.
    pub name: Name,
    /// Where, with the quotes if there are any.
    pub span: Span,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $id:ident => $node:ident in $arena:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $id(u32);

        impl $id {
            /// The place in the arena, for tables beside it.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl Index<$id> for Ast {
            type Output = $node;

            fn index(&self, id: $id) -> &$node {
                &self.$arena[id.0 as usize]
            }
        }
    )*};
}

ids! {
    /// An expression of an [`Ast`].
    ExprId => Expr in exprs;
    /// A type of an [`Ast`].
    TypeId => Type in types;
    /// A pattern of an [`Ast`].
    PatId => Pattern in patterns;
}

/// The arena: every expression, type and pattern of one file.
#[derive(Clone, Debug)]
pub struct Ast {
    file: FileId,
    exprs: Vec<Expr>,
    /// The expressions that stand in parentheses, redundant or needed.
    in_parens: FxHashSet<ExprId>,
    types: Vec<Type>,
    patterns: Vec<Pattern>,
}

/// One parsed file.
#[derive(Clone, Debug)]
pub struct Module {
    /// Which file.
    pub file: FileId,
    /// The nodes.
    pub ast: Ast,
    /// The declarations, in order.
    pub items: Vec<Item>,
    /// The comments, in order.
    pub comments: Vec<Comment>,
}

/// A `# …` to the end of its line.
#[derive(Clone, Copy, Debug)]
pub struct Comment {
    /// From the `#` to the end of the line, without the newline.
    pub span: Span,
}

/// A declaration.
#[derive(Clone, Debug)]
pub enum Item {
    /// `import "path" as alias`
    Import(Import),
    /// `type Name[n] = T`
    Type(TypeDef),
    /// `def name[n](x: T): R = e`
    Def(Def),
}

impl Item {
    /// The whole declaration.
    pub fn span(&self) -> Span {
        match self {
            Item::Import(import) => import.span,
            Item::Type(def) => def.span,
            Item::Def(def) => def.span,
        }
    }
}

/// `import "path"`, whose definitions come into scope, or `import "path" as alias`, for `alias.f`.
#[derive(Clone, Debug)]
pub struct Import {
    /// The path as written, without the quotes.
    pub path: String,
    /// Where the path stands, with the quotes.
    pub path_span: Span,
    /// The name after `as`.
    pub alias: Option<Ident>,
    /// The whole declaration.
    pub span: Span,
}

/// `type Name[n, …] = T`
#[derive(Clone, Debug)]
pub struct TypeDef {
    /// The name of the alias.
    pub name: Ident,
    /// Its size parameters.
    pub sizes: Vec<Ident>,
    /// What it stands for.
    pub ty: TypeId,
    /// The comment lines directly above, without `#`.
    pub doc: Option<String>,
    /// The whole declaration.
    pub span: Span,
}

/// `def name[n, …](x: T, …): R = body`
#[derive(Clone, Debug)]
pub struct Def {
    /// The name of the function.
    pub name: Ident,
    /// The size parameters declared in `[ ]`; others may occur in the parameter types.
    pub sizes: Vec<Ident>,
    /// The parameters.
    pub params: Vec<Param>,
    /// The result type, where given.
    pub result: Option<TypeId>,
    /// The body.
    pub body: ExprId,
    /// The comment lines directly above, without `#`.
    pub doc: Option<String>,
    /// From `def` up to the `=`: the part that an error about the signature shows.
    pub head_span: Span,
    /// The whole declaration.
    pub span: Span,
}

/// `x: T`
#[derive(Clone, Debug)]
pub struct Param {
    /// The name.
    pub name: Ident,
    /// The type.
    pub ty: TypeId,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// The bytes of the file where it stands; see [`Ast::span`].
    start: u32,
    end: u32,
}

/// The kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// `1`, `2.5f32`, `true`, `-inf`: also with a minus directly before a number.
    Literal(Literal),
    /// A variable, function, size, import alias or builtin.
    Name(Name),
    /// `-e`, `not e`
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        operand: ExprId,
    },
    /// `a + b`, `a and b`, … Chains lean to the left: follow `lhs` in a loop ([`Ast::spine`]).
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Where the operator stands.
        op_span: Span,
        /// The left operand.
        lhs: ExprId,
        /// The right operand.
        rhs: ExprId,
    },
    /// `f(x, name = y)`. Explicit sizes, `f[3](x)`, are a callee of kind [`ExprKind::Index`];
    /// a function of an import alias, `lin.dot(a, b)`, one of kind [`ExprKind::Field`].
    Call {
        /// What is called.
        callee: ExprId,
        /// The arguments: positional ones first.
        args: Box<[Arg]>,
    },
    /// `a[i, 1:3]`, `a[]`
    Index {
        /// What is indexed.
        base: ExprId,
        /// One entry per leading axis.
        items: Box<[IndexItem]>,
    },
    /// `r.w`
    Field {
        /// The record (or import alias).
        base: ExprId,
        /// The field.
        field: Box<Ident>,
    },
    /// `t.0`
    Proj {
        /// The tuple.
        base: ExprId,
        /// Which component, from 0.
        index: u32,
        /// Where the number stands.
        index_span: Span,
    },
    /// `(a, b)`, `(a,)`, `()`
    Tuple(Box<[ExprId]>),
    /// `{w = a, b = c}`
    Record(Box<[(Ident, ExprId)]>),
    /// `[a, b]`
    Array(Box<[ExprId]>),
    /// `x => e`, `(x, (y, z)) => e`, `() => e`: one pattern per parameter.
    Lambda {
        /// The parameters.
        params: Box<[PatId]>,
        /// The body.
        body: ExprId,
    },
    /// `build n (i => e)`, `build (m, n) ((i, j) => e)`
    Build {
        /// The sizes, one per index.
        sizes: Box<[ExprId]>,
        /// A function of the indices: nearly always a [`ExprKind::Lambda`].
        body: ExprId,
    },
    /// `x with [i] = v`, `p with .w[0] = v`: a structure with another part.
    With {
        /// The structure.
        base: ExprId,
        /// The way to the part.
        path: Box<Path>,
        /// What is there instead.
        value: ExprId,
    },
    /// `if c then a else if d then b else e`: an unparenthesised `else if` is a further arm.
    If {
        /// Conditions with their branches, at least one.
        arms: Box<[(ExprId, ExprId)]>,
        /// The last branch.
        otherwise: ExprId,
    },
    /// `let p = e let q = f in body`: a whole run of bindings.
    Let {
        /// The bindings, at least one, each in scope of the next.
        bindings: Box<[Binding]>,
        /// The result.
        body: ExprId,
    },
    /// What could not be parsed; an error has been reported.
    Error,
}

/// A literal.
#[derive(Clone, Copy, Debug)]
pub enum Literal {
    /// `true`, `false`
    Bool(bool),
    /// `12`, `12i64`
    Int {
        /// The value.
        value: i64,
        /// Is there a suffix `i64`, so that it does not adapt?
        suffix: bool,
    },
    /// `1.5`, `1e3f32`, `inf`, `nan`. The value of an `f32` is rounded once, to `f32`.
    Float {
        /// The value; NaN is the canonical one.
        value: f64,
        /// The suffix, `f64` or `f32`; without one the literal adapts.
        suffix: Option<Dtype>,
    },
}

/// An argument of a call: `x` or `name = x`.
#[derive(Clone, Debug)]
pub struct Arg {
    /// The name before `=`.
    pub name: Option<Box<Ident>>,
    /// The value.
    pub value: ExprId,
}

/// One entry between the brackets of `a[…]`.
#[derive(Clone, Debug)]
pub enum IndexItem {
    /// `i`
    At(ExprId),
    /// `lo:hi`, `lo:hi:step`, with any part left out.
    Slice {
        /// The first position.
        lo: Option<ExprId>,
        /// One past the last position.
        hi: Option<ExprId>,
        /// The step.
        step: Option<ExprId>,
        /// Where it stands.
        span: Span,
    },
}

impl IndexItem {
    /// Calls `visit` with every expression in it.
    fn for_each_part(&self, visit: &mut impl FnMut(ExprId)) {
        match self {
            IndexItem::At(at) => visit(*at),
            IndexItem::Slice { lo, hi, step, .. } => {
                [lo, hi, step].into_iter().flatten().for_each(|part| visit(*part));
            }
        }
    }
}

/// The way to a part of a structure, after a `with`.
#[derive(Clone, Debug)]
pub struct Path {
    /// Where the `with` stands.
    pub with_span: Span,
    /// The steps, at least one.
    pub steps: Vec<Access>,
}

/// A step on the way to a part of a structure, after a `with`.
#[derive(Clone, Debug)]
pub enum Access {
    /// `[i, 1:3]`
    Index(Vec<IndexItem>, Span),
    /// `.w`
    Field(Ident),
    /// `.0`
    Component(u32, Span),
}

/// `p = e` or `p: T = e` after a `let`.
#[derive(Clone, Debug)]
pub struct Binding {
    /// What is bound.
    pub pattern: PatId,
    /// The annotation, where given.
    pub ty: Option<TypeId>,
    /// The value.
    pub value: ExprId,
    /// From `let` to the end of the value.
    pub span: Span,
}

/// A pattern: of a `let` or of a parameter of a lambda.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// What it is.
    pub kind: PatternKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of patterns.
#[derive(Clone, Debug)]
pub enum PatternKind {
    /// `x`
    Name(Name),
    /// `(p, q)`, `(p,)`, `()`
    Tuple(Box<[PatId]>),
    /// `_`
    Wildcard,
    /// What could not be parsed; an error has been reported.
    Error,
}

/// A type as written.
#[derive(Clone, Debug)]
pub struct Type {
    /// What it is.
    pub kind: TypeKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of types.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// `f64`, `f32`, `i64`, `bool`
    Scalar(Dtype),
    /// `[n, 2 * d]T`
    Array {
        /// The sizes.
        sizes: Vec<ExprId>,
        /// The type of an element.
        element: TypeId,
    },
    /// `(T, U)`, `(T,)`, `()`
    Tuple(Vec<TypeId>),
    /// `{w: T, b: U}`
    Record(Vec<(Ident, TypeId)>),
    /// `Params[n]`, `lin.Params[n]`
    Alias {
        /// The import alias.
        module: Option<Ident>,
        /// The name.
        name: Ident,
        /// The size arguments.
        sizes: Vec<ExprId>,
    },
    /// `T -> R`, `(T, U) -> R`, `() -> R`
    Function {
        /// The parameters.
        params: Vec<TypeId>,
        /// The result.
        result: TypeId,
    },
    /// What could not be parsed; an error has been reported.
    Error,
}

/// Prefix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `not`
    Not,
}

impl UnaryOp {
    /// The operator as written.
    pub const fn text(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Not => "not",
        }
    }
}

macro_rules! binary_ops {
    ($($op:ident $text:literal;)*) => {
        /// Infix operators.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum BinaryOp {
            $(#[doc = concat!("`", $text, "`")] $op,)*
        }

        impl BinaryOp {
            /// All operators, from the loosest to the tightest.
            pub const ALL: &[BinaryOp] = &[$(BinaryOp::$op),*];

            /// The operator as written.
            pub const fn text(self) -> &'static str {
                match self {
                    $(BinaryOp::$op => $text,)*
                }
            }
        }
    };
}

binary_ops! {
    Or "or";
    Xor "xor";
    And "and";
    Eq "==";
    Ne "!=";
    Lt "<";
    Le "<=";
    Gt ">";
    Ge ">=";
    Add "+";
    Sub "-";
    Mul "*";
    Div "/";
    FloorDiv "//";
    Rem "%";
    Pow "**";
}

impl Ast {
    /// The arena of a file, without nodes.
    pub fn new(file: FileId) -> Ast {
        let (exprs, types, patterns) = (Vec::new(), Vec::new(), Vec::new());
        Ast { file, exprs, in_parens: FxHashSet::default(), types, patterns }
    }

    /// Adds an expression at a place of the file; its children are in the arena already.
    pub fn add_expr(&mut self, kind: ExprKind, span: Span) -> ExprId {
        self.exprs.push(Expr { kind, start: span.start, end: span.end });
        ExprId((self.exprs.len() - 1) as u32)
    }

    /// Adds a type; its children are in the arena already.
    pub fn add_type(&mut self, node: Type) -> TypeId {
        self.types.push(node);
        TypeId((self.types.len() - 1) as u32)
    }

    /// Adds a pattern, likewise.
    pub fn add_pattern(&mut self, node: Pattern) -> PatId {
        self.patterns.push(node);
        PatId((self.patterns.len() - 1) as u32)
    }

    /// Where an expression stands, with its parentheses if it has any.
    pub fn span(&self, expr: ExprId) -> Span {
        let Expr { start, end, .. } = self[expr];
        Span::new(self.file, start, end)
    }

    /// Whether an expression was written in (redundant or needed) parentheses.
    pub fn has_parens(&self, expr: ExprId) -> bool {
        self.in_parens.contains(&expr)
    }

    /// The chain of binary operators that ends in `expr`: its innermost, leftmost operand, and the
    /// [`ExprKind::Binary`] nodes above it from the inside out (the last one is `expr` itself).
    ///
    /// For `a + b * c - d`: the operand `a`, then `a + b * c`, then the whole. No nodes for an
    /// expression that is not binary.
    pub fn spine(&self, expr: ExprId) -> (ExprId, Vec<ExprId>) {
        let (mut at, mut chain) = (expr, Vec::new());
        while let ExprKind::Binary { lhs, .. } = &self[at].kind {
            chain.push(at);
            at = *lhs;
        }
        chain.reverse();
        (at, chain)
    }

    /// Calls `visit` with every expression directly within `expr`, in the order of the text. Sizes in
    /// the annotations of a `let` are not among them.
    pub fn for_each_child(&self, expr: ExprId, mut visit: impl FnMut(ExprId)) {
        match &self[expr].kind {
            ExprKind::Literal(_) | ExprKind::Name(_) | ExprKind::Error => {}
            ExprKind::Unary { operand, .. } => visit(*operand),
            ExprKind::Binary { lhs, rhs, .. } => {
                visit(*lhs);
                visit(*rhs);
            }
            ExprKind::Call { callee, args } => {
                visit(*callee);
                args.iter().for_each(|arg| visit(arg.value));
            }
            ExprKind::Index { base, items } => {
                visit(*base);
                items.iter().for_each(|item| item.for_each_part(&mut visit));
            }
            ExprKind::With { base, path, value, .. } => {
                visit(*base);
                for step in &path.steps {
                    if let Access::Index(items, _) = step {
                        items.iter().for_each(|item| item.for_each_part(&mut visit));
                    }
                }
                visit(*value);
            }
            ExprKind::Field { base, .. } | ExprKind::Proj { base, .. } => visit(*base),
            ExprKind::Tuple(items) | ExprKind::Array(items) => {
                items.iter().for_each(|item| visit(*item));
            }
            ExprKind::Record(fields) => fields.iter().for_each(|(_, value)| visit(*value)),
            ExprKind::Lambda { body, .. } => visit(*body),
            ExprKind::Build { sizes, body } => {
                sizes.iter().for_each(|size| visit(*size));
                visit(*body);
            }
            ExprKind::If { arms, otherwise } => {
                for (condition, branch) in arms {
                    visit(*condition);
                    visit(*branch);
                }
                visit(*otherwise);
            }
            ExprKind::Let { bindings, body } => {
                bindings.iter().for_each(|binding| visit(binding.value));
                visit(*body);
            }
        }
    }

    /// Notes that `expr` stands in parentheses, which are at `span`.
    pub(crate) fn set_parens(&mut self, expr: ExprId, span: Span) {
        if let Some(node) = self.exprs.get_mut(expr.index()) {
            (node.start, node.end) = (span.start, span.end);
            self.in_parens.insert(expr);
        }
    }

    /// How many expressions there are; ids are below it.
    pub fn expr_count(&self) -> usize {
        self.exprs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A long program has millions of them.
    #[test]
    fn nodes_are_small() {
        assert!(size_of::<Expr>() <= 32, "{}", size_of::<Expr>());
        assert!(size_of::<Pattern>() <= 40, "{}", size_of::<Pattern>());
        assert!(size_of::<Binding>() <= 32, "{}", size_of::<Binding>());
        assert!(size_of::<Arg>() <= 16, "{}", size_of::<Arg>());
    }
}
