//! Types, and the rules that give terms their types.
//!
//! The source language is simply typed; a lambda says the type of its argument. The same rules
//! cover the target language, so that what the code transformation promises,
//!
//! ```text
//! x1 : t1, .., xn : tn |- t : u   ~>   x1 : D[t1], .., xn : D[tn] |- D[t] : D[u]
//! ```
//!
//! can be checked and not only proved.

use std::fmt;
use std::rc::Rc;

use cotan_array::Dtype;

use super::error::{Error, Result};
use super::extent::{Both, Extent};
use super::syntax::{Name, Node, Prim, Rec, Term};

/// A type of the source or target language.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// `R`: floating-point numbers.
    Real,
    /// `Int`
    Int,
    /// Truth values.
    Bool,
    /// `(s, t)`
    Pair(Rc<Both<Type>>),
    /// `s -> t`
    Function(Rc<Both<Type>>),
    /// `Delta`, only in the target language.
    Delta,
    /// Deeper or larger than the limits.
    TooLarge,
}

impl Type {
    /// `(s, t)`
    pub fn pair(s: Type, t: Type) -> Type {
        Both::of(s, t, Type::extent).map_or(Type::TooLarge, Type::Pair)
    }

    /// `s -> t`
    pub fn function(s: Type, t: Type) -> Type {
        Both::of(s, t, Type::extent).map_or(Type::TooLarge, Type::Function)
    }

    pub(super) fn extent(&self) -> Extent {
        match self {
            Type::Real | Type::Int | Type::Bool | Type::Delta => Extent::LEAF,
            Type::Pair(both) | Type::Function(both) => both.extent(),
            Type::TooLarge => Extent::TOO_LARGE,
        }
    }

    /// The type of scalars of an element type, if the language has it.
    pub fn of_dtype(dtype: Dtype) -> Option<Type> {
        match dtype {
            Dtype::F64 => Some(Type::Real),
            Dtype::I64 => Some(Type::Int),
            Dtype::Bool => Some(Type::Bool),
            Dtype::F32 => None,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Real => f.write_str("R"),
            Type::Int => f.write_str("Int"),
            Type::Bool => f.write_str("Bool"),
            Type::Pair(both) => write!(f, "({}, {})", both.left(), both.right()),
            Type::Function(both) => match both.left() {
                Type::Function(_) => write!(f, "({}) -> {}", both.left(), both.right()),
                _ => write!(f, "{} -> {}", both.left(), both.right()),
            },
            Type::Delta => f.write_str("Delta"),
            Type::TooLarge => f.write_str("(too large)"),
        }
    }
}

/// The types of the variables in scope, innermost last.
pub type Context = Vec<(Name, Type)>;

/// `context |- t : u`: the type `u` of a term.
///
/// One function for each rule keeps the stack small when this recurses.
pub fn type_of(context: &mut Context, t: &Term) -> Result<Type> {
    match t.node() {
        Node::Real(_) => Ok(Type::Real),
        Node::Int(_) => Ok(Type::Int),
        Node::Var(x) => variable(context, x),
        Node::Let(x, s, t) => let_in(context, x, s, t),
        Node::LetRec(head, u, v) => let_rec(context, head, u, v),
        Node::Pair(s, t) => pair(context, s, t),
        Node::Fst(t) => Ok(components("fst", context, t)?.left().clone()),
        Node::Snd(t) => Ok(components("snd", context, t)?.right().clone()),
        Node::Lambda(x, s, t) => lambda(context, x, s, t),
        Node::Apply(s, t) => apply(context, s, t),
        Node::If(t, u, v) => if_positive(context, t, u, v),
        Node::Op(prim, ts) => op(context, prim, ts),
        Node::Zero => Ok(Type::Delta),
        Node::Add(d1, d2) => delta(context, &[("Add", Type::Delta, d1), ("Add", Type::Delta, d2)]),
        Node::Scale(r, d) => {
            delta(context, &[("the factor of Scale", Type::Real, r), ("Scale", Type::Delta, d)])
        }
        Node::Share(d) => delta(context, &[("Share", Type::Delta, d)]),
        Node::TooLarge => Err(Error::TooLarge),
    }
}

// x : t in context
// ----------------
// context |- x : t
fn variable(context: &Context, x: &Name) -> Result<Type> {
    let found = context.iter().rev().find(|(y, _)| y == x);
    found.map(|(_, ty)| ty.clone()).ok_or_else(|| Error::Unbound(x.clone()))
}

// context |- s : u    context, x : u |- t : v
// -------------------------------------------
// context |- let x = s in t : v
fn let_in(context: &mut Context, x: &Name, s: &Term, t: &Term) -> Result<Type> {
    let s = type_of(context, s)?;
    under(context, [(x, s)], t)
}

// context, f : s -> t, x : s |- u : t    context, f : s -> t |- v : w
// -------------------------------------------------------------------
// context |- let rec f (x : s) : t = u in v : w
fn let_rec(context: &mut Context, head: &Rec, u: &Term, v: &Term) -> Result<Type> {
    let Rec { function, parameter, argument, result } = head;
    let f = Type::function(argument.clone(), result.clone());
    let body = under(context, [(function, f.clone()), (parameter, argument.clone())], u)?;
    expect("the body of a recursive function", result, body)?;
    under(context, [(function, f)], v)
}

// context |- s : u    context |- t : v
// ------------------------------------
// context |- (s, t) : (u, v)
fn pair(context: &mut Context, s: &Term, t: &Term) -> Result<Type> {
    let s = type_of(context, s)?;
    small(Type::pair(s, type_of(context, t)?))
}

// context |- t : (u, v)
// -------------------------------------------
// context |- fst t : u,   context |- snd t : v
fn components(what: &'static str, context: &mut Context, t: &Term) -> Result<Rc<Both<Type>>> {
    match type_of(context, t)? {
        Type::Pair(both) => Ok(both),
        got => Err(Error::NotAPair { what, got }),
    }
}

// context, x : s |- t : u
// --------------------------------
// context |- \(x : s). t : s -> u
fn lambda(context: &mut Context, x: &Name, s: &Type, t: &Term) -> Result<Type> {
    let t = under(context, [(x, s.clone())], t)?;
    small(Type::function(s.clone(), t))
}

// context |- s : u -> v    context |- t : u
// -----------------------------------------
// context |- s t : v
fn apply(context: &mut Context, s: &Term, t: &Term) -> Result<Type> {
    let f = match type_of(context, s)? {
        Type::Function(both) => both,
        got => return Err(Error::NotAFunction(got)),
    };
    expect("the argument of a function", f.left(), type_of(context, t)?)?;
    Ok(f.right().clone())
}

// context |- t : R    context |- u : w    context |- v : w
// --------------------------------------------------------
// context |- if t > 0 then u else v : w
fn if_positive(context: &mut Context, t: &Term, u: &Term, v: &Term) -> Result<Type> {
    expect("what is compared with 0", &Type::Real, type_of(context, t)?)?;
    let u = type_of(context, u)?;
    expect("the second branch", &u, type_of(context, v)?)?;
    Ok(u)
}

// op : t1, .., tn -> u in the table    context |- s1 : t1  ..  context |- sn : tn
// -------------------------------------------------------------------------------
// context |- op(s1, .., sn) : u
fn op(context: &mut Context, prim: &Prim, ts: &[Term]) -> Result<Type> {
    let result = prim.op.result_dtype(&prim.args).filter(|_| prim.args.len() == ts.len());
    let wrong = || Error::Operation(prim.clone());
    let ground = |dtype| Type::of_dtype(dtype).ok_or_else(wrong);
    for (n, (&dtype, t)) in prim.args.iter().zip(ts).enumerate() {
        let (expected, got) = (ground(dtype)?, type_of(context, t)?);
        if expected != got {
            return Err(Error::Argument { op: prim.op, position: n + 1, expected, got });
        }
    }
    ground(result.ok_or_else(wrong)?)
}

/// The type of a constructor of Delta terms, given what its parts must be.
fn delta(context: &mut Context, parts: &[(&'static str, Type, &Term)]) -> Result<Type> {
    for (what, expected, t) in parts {
        expect(what, expected, type_of(context, t)?)?;
    }
    Ok(Type::Delta)
}

/// The type of a term under some more variables.
fn under<const N: usize>(
    context: &mut Context,
    variables: [(&Name, Type); N],
    t: &Term,
) -> Result<Type> {
    let outer = context.len();
    for (x, ty) in variables {
        context.push((x.clone(), small(ty)?));
    }
    let ty = type_of(context, t);
    context.truncate(outer);
    ty
}

fn expect(what: &'static str, expected: &Type, got: Type) -> Result<()> {
    if *expected == got {
        return Ok(());
    }
    Err(Error::Mismatch { what, expected: expected.clone(), got })
}

fn small(ty: Type) -> Result<Type> {
    if ty == Type::TooLarge { Err(Error::TooLarge) } else { Ok(ty) }
}
