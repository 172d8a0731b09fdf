//! The source language: a simply-typed lambda calculus on numbers.
//!
//! ```text
//! s, t  ::=  R | Int | (s, t) | s -> t                                                    types
//! s, t, u, v  ::=  r | k | x | let x = s in t | (s, t) | fst t | snd t                    terms
//!               |  \x. t | s t | if t > 0 then u else v | op(t1, .., tn)
//! ```
//!
//! `let` may be recursive, with [`let_rec`]. Operations are rows of the scalar table at a typing:
//! `+_R` and `+_Int` are two. Some partial derivatives compare numbers, so there are booleans, too.
//!
//! The code transformation maps into a larger language, with the type `Delta` and its constructors:
//! [`Node::Zero`], [`Node::Add`], [`Node::Scale`] and [`Node::Share`].
//!
//! Terms, types and values are trees of bounded depth and size ([`super::extent`]), so
//! that functions on them may simply recurse. What would be larger becomes a `TooLarge`, which
//! everything refuses.

use std::fmt;
use std::ops;
use std::rc::Rc;

use cotan_array::Dtype;
use cotan_ir::scalar::Op;

use super::extent::Extent;
use super::types::Type;

/// The name of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// One that someone wrote.
    Given(Rc<str>),
    /// One that the code transformation made, different from all that were written.
    Made(u32),
}

impl From<&str> for Name {
    fn from(name: &str) -> Name {
        Name::Given(name.into())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Given(name) => f.write_str(name),
            Name::Made(n) => write!(f, "p{n}"),
        }
    }
}

/// A term: a former with its parts.
#[derive(Clone, Debug)]
pub struct Term {
    node: Rc<Node>,
    extent: Extent,
}

/// The term formers, those of the source language first.
#[derive(Clone, Debug)]
pub enum Node {
    /// `r`
    Real(f64),
    /// `k`
    Int(i64),
    /// `x`
    Var(Name),
    /// `let x = s in t`
    Let(Name, Term, Term),
    /// `let rec f (x : s) : t = u in v`
    LetRec(Rec, Term, Term),
    /// `(s, t)`
    Pair(Term, Term),
    /// `fst t`
    Fst(Term),
    /// `snd t`
    Snd(Term),
    /// `\(x : s). t`
    Lambda(Name, Type, Term),
    /// `s t`
    Apply(Term, Term),
    /// `if t > 0 then u else v`
    If(Term, Term, Term),
    /// `op(t1, .., tn)`
    Op(Prim, Vec<Term>),

    /// `Zero`, only in the target language, as all below.
    Zero,
    /// `Add d1 d2`
    Add(Term, Term),
    /// `Scale r d`
    Scale(Term, Term),
    /// `do id <- genId; return (Share id d)`
    Share(Term),

    /// A term deeper or larger than the limits.
    TooLarge,
}

/// The head `f (x : argument) : result` of a recursive function.
#[derive(Clone, Debug, PartialEq)]
pub struct Rec {
    /// Its name.
    pub function: Name,
    /// The name of its argument.
    pub parameter: Name,
    /// The type of its argument.
    pub argument: Type,
    /// The type of its result.
    pub result: Type,
}

/// A row of the scalar table at a typing.
#[derive(Clone, Debug, PartialEq)]
pub struct Prim {
    /// The operation.
    pub op: Op,
    /// The types of its arguments.
    pub args: Vec<Dtype>,
}

impl Term {
    /// The former.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The term of a former.
    fn new(node: Node) -> Term {
        let types = node.types().map(Type::extent);
        match Extent::around(node.parts().map(|t| t.extent).chain(types)) {
            Some(extent) => Term { node: Rc::new(node), extent },
            None => Term { node: Rc::new(Node::TooLarge), extent: Extent::TOO_LARGE },
        }
    }
}

impl Node {
    /// The terms in it, in order.
    fn parts(&self) -> impl Iterator<Item = &Term> {
        let (few, many): ([Option<&Term>; 3], &[Term]) = match self {
            Node::Real(_) | Node::Int(_) | Node::Var(_) | Node::Zero => ([None; 3], &[]),
            Node::TooLarge => ([None; 3], &[]),
            Node::Fst(t) | Node::Snd(t) | Node::Lambda(_, _, t) | Node::Share(t) => {
                ([Some(t), None, None], &[])
            }
            Node::Let(_, s, t) | Node::LetRec(_, s, t) | Node::Pair(s, t) | Node::Apply(s, t) => {
                ([Some(s), Some(t), None], &[])
            }
            Node::Add(s, t) | Node::Scale(s, t) => ([Some(s), Some(t), None], &[]),
            Node::If(t, u, v) => ([Some(t), Some(u), Some(v)], &[]),
            Node::Op(_, ts) => ([None; 3], ts),
        };
        few.into_iter().flatten().chain(many)
    }

    /// The types written in it.
    fn types(&self) -> impl Iterator<Item = &Type> {
        match self {
            Node::Lambda(_, s, _) => [Some(s), None],
            Node::LetRec(head, _, _) => [Some(&head.argument), Some(&head.result)],
            Node::Real(_) | Node::Int(_) | Node::Var(_) | Node::Let(..) => [None; 2],
            Node::Pair(..) | Node::Fst(_) | Node::Snd(_) | Node::Apply(..) => [None; 2],
            Node::If(..) | Node::Op(..) | Node::TooLarge => [None; 2],
            Node::Zero | Node::Add(..) | Node::Scale(..) | Node::Share(_) => [None; 2],
        }
        .into_iter()
        .flatten()
    }
}

/// `r`
pub fn real(r: f64) -> Term {
    Term::new(Node::Real(r))
}

/// `k`
pub fn int(k: i64) -> Term {
    Term::new(Node::Int(k))
}

/// `x`
pub fn var(x: impl Into<Name>) -> Term {
    Term::new(Node::Var(x.into()))
}

/// `let x = s in t`
pub fn let_in(x: impl Into<Name>, s: Term, t: Term) -> Term {
    Term::new(Node::Let(x.into(), s, t))
}

/// `let rec f (x : s) : t = u in v`
pub fn let_rec(head: Rec, u: Term, v: Term) -> Term {
    Term::new(Node::LetRec(head, u, v))
}

/// `(s, t)`
pub fn pair(s: Term, t: Term) -> Term {
    Term::new(Node::Pair(s, t))
}

/// `fst t`
pub fn fst(t: Term) -> Term {
    Term::new(Node::Fst(t))
}

/// `snd t`
pub fn snd(t: Term) -> Term {
    Term::new(Node::Snd(t))
}

/// `\(x : s). t`
pub fn lambda(x: impl Into<Name>, s: Type, t: Term) -> Term {
    Term::new(Node::Lambda(x.into(), s, t))
}

/// `s t`
pub fn apply(s: Term, t: Term) -> Term {
    Term::new(Node::Apply(s, t))
}

/// `if t > 0 then u else v`
pub fn if_positive(t: Term, u: Term, v: Term) -> Term {
    Term::new(Node::If(t, u, v))
}

/// `op(t1, .., tn)` at the given types of the arguments.
pub fn op(op: Op, args: &[Dtype], ts: Vec<Term>) -> Term {
    Term::new(Node::Op(Prim { op, args: args.to_vec() }, ts))
}

/// `op(t1, .., tn)` on reals.
pub fn real_op<const N: usize>(o: Op, ts: [Term; N]) -> Term {
    op(o, &[Dtype::F64; N], ts.into())
}

/// `op(t1, .., tn)` on integers.
pub fn int_op<const N: usize>(o: Op, ts: [Term; N]) -> Term {
    op(o, &[Dtype::I64; N], ts.into())
}

/// `Zero`
pub fn zero() -> Term {
    Term::new(Node::Zero)
}

/// `Add d1 d2`
pub fn add(d1: Term, d2: Term) -> Term {
    Term::new(Node::Add(d1, d2))
}

/// `Scale r d`
pub fn scale(r: Term, d: Term) -> Term {
    Term::new(Node::Scale(r, d))
}

/// `do id <- genId; return (Share id d)`
pub fn share(d: Term) -> Term {
    Term::new(Node::Share(d))
}

/// Arithmetic on terms is arithmetic on reals.
macro_rules! real_arithmetic {
    ($($trait:ident $method:ident $op:ident),*) => {$(
        impl ops::$trait for Term {
            type Output = Term;
            fn $method(self, other: Term) -> Term {
                real_op(Op::$op, [self, other])
            }
        }
        impl ops::$trait for &Term {
            type Output = Term;
            fn $method(self, other: &Term) -> Term {
                real_op(Op::$op, [self.clone(), other.clone()])
            }
        }
    )*};
}
real_arithmetic!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div);

/// One line, with parentheses around everything but names, numbers, pairs and calls.
impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node() {
            Node::Real(r) => write!(f, "{r:?}"),
            Node::Int(k) => write!(f, "{k}"),
            Node::Var(x) => write!(f, "{x}"),
            Node::Let(x, s, t) => write!(f, "let {x} = {s} in {t}"),
            Node::LetRec(Rec { function, parameter, argument, result }, u, v) => {
                write!(f, "let rec {function} ({parameter} : {argument}) : {result} = {u} in {v}")
            }
            Node::Pair(s, t) => write!(f, "({s}, {t})"),
            Node::Fst(t) => write!(f, "fst {}", Inner(t)),
            Node::Snd(t) => write!(f, "snd {}", Inner(t)),
            Node::Lambda(x, s, t) => write!(f, "\\({x} : {s}). {t}"),
            Node::Apply(s, t) => write!(f, "{} {}", Inner(s), Inner(t)),
            Node::If(t, u, v) => write!(f, "if {t} > 0 then {u} else {v}"),
            Node::Op(prim, ts) => {
                write!(f, "{}(", prim.op.name())?;
                for (n, t) in ts.iter().enumerate() {
                    write!(f, "{}{t}", if n == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
            Node::Zero => f.write_str("Zero"),
            Node::Add(d1, d2) => write!(f, "Add {} {}", Inner(d1), Inner(d2)),
            Node::Scale(r, d) => write!(f, "Scale {} {}", Inner(r), Inner(d)),
            Node::Share(d) => write!(f, "Share genId {}", Inner(d)),
            Node::TooLarge => f.write_str("(too large)"),
        }
    }
}

/// A term as the argument of another.
struct Inner<'a>(&'a Term);

impl fmt::Display for Inner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.node() {
            Node::Real(_) | Node::Int(_) | Node::Var(_) | Node::Pair(..) | Node::Op(..) => {
                write!(f, "{}", self.0)
            }
            Node::Zero | Node::TooLarge => write!(f, "{}", self.0),
            Node::Let(..) | Node::LetRec(..) | Node::Fst(_) | Node::Snd(_) | Node::Lambda(..) => {
                write!(f, "({})", self.0)
            }
            Node::Apply(..) | Node::If(..) | Node::Add(..) | Node::Scale(..) | Node::Share(_) => {
                write!(f, "({})", self.0)
            }
        }
    }
}
