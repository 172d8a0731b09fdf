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
pub fn type_of(context: &mut Context, t: &Term) -> Result<Type> {
    Ok(match t.node() {
        Node::Real(_) => Type::Real,
        Node::Int(_) => Type::Int,
        Node::Var(x) => {
            let found = context.iter().rev().find(|(y, _)| y == x);
            found.map(|(_, ty)| ty.clone()).ok_or_else(|| Error::Unbound(x.clone()))?
        }
        Node::Let(x, s, t) => {
            let s = type_of(context, s)?;
            under(context, [(x, s)], t)?
        }
        Node::LetRec(Rec { function, parameter, argument, result }, u, v) => {
            let f = Type::function(argument.clone(), result.clone());
            let body = under(context, [(function, f.clone()), (parameter, argument.clone())], u)?;
            expect("the body of a recursive function", result, body)?;
            under(context, [(function, f)], v)?
        }
        Node::Pair(s, t) => small(Type::pair(type_of(context, s)?, type_of(context, t)?))?,
        Node::Fst(t) => components("fst", type_of(context, t)?)?.left().clone(),
        Node::Snd(t) => components("snd", type_of(context, t)?)?.right().clone(),
        Node::Lambda(x, s, t) => {
            let t = under(context, [(x, s.clone())], t)?;
            small(Type::function(s.clone(), t))?
        }
        Node::Apply(s, t) => {
            let f = match type_of(context, s)? {
                Type::Function(both) => both,
                got => return Err(Error::NotAFunction(got)),
            };
            expect("the argument of a function", f.left(), type_of(context, t)?)?;
            f.right().clone()
        }
        Node::If(t, u, v) => {
            expect("what is compared with 0", &Type::Real, type_of(context, t)?)?;
            let u = type_of(context, u)?;
            expect("the second branch", &u, type_of(context, v)?)?;
            u
        }
        Node::Op(prim, ts) => {
            let result = prim_type(prim, ts.len())?;
            for (n, (&dtype, t)) in prim.args.iter().zip(ts).enumerate() {
                let (expected, got) = (ground(prim, dtype)?, type_of(context, t)?);
                if expected != got {
                    return Err(Error::Argument { op: prim.op, position: n + 1, expected, got });
                }
            }
            result
        }
        Node::Zero => Type::Delta,
        Node::Add(d1, d2) => {
            expect("Add", &Type::Delta, type_of(context, d1)?)?;
            expect("Add", &Type::Delta, type_of(context, d2)?)?;
            Type::Delta
        }
        Node::Scale(r, d) => {
            expect("the factor of Scale", &Type::Real, type_of(context, r)?)?;
            expect("Scale", &Type::Delta, type_of(context, d)?)?;
            Type::Delta
        }
        Node::Share(d) => {
            expect("Share", &Type::Delta, type_of(context, d)?)?;
            Type::Delta
        }
        Node::TooLarge => return Err(Error::TooLarge),
    })
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

/// The components of a type of pairs.
fn components(what: &'static str, ty: Type) -> Result<Rc<Both<Type>>> {
    match ty {
        Type::Pair(both) => Ok(both),
        got => Err(Error::NotAPair { what, got }),
    }
}

fn small(ty: Type) -> Result<Type> {
    if ty == Type::TooLarge { Err(Error::TooLarge) } else { Ok(ty) }
}

/// The type of the result of an operation on so many arguments.
fn prim_type(prim: &Prim, arguments: usize) -> Result<Type> {
    let result = prim.op.result_dtype(&prim.args).filter(|_| prim.args.len() == arguments);
    let result = result.ok_or_else(|| Error::Operation(prim.clone()))?;
    ground(prim, result)
}

fn ground(prim: &Prim, dtype: Dtype) -> Result<Type> {
    Type::of_dtype(dtype).ok_or_else(|| Error::Operation(prim.clone()))
}
