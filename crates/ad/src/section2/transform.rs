//! The code transformation `D` (Figs. naive-dn-ad, naive-dn-ad-terms and dn-ad-terms).
//!
//! `D` maps a source term of type `t` to a target term of type `D[t]`, in which every real number
//! has become a dual number: a pair of the number itself, the *primal*, and a Delta term that
//! describes its derivative. The only place where it does something is where the program computes
//! on real numbers. All else it leaves in place: that is why it accepts functions of functions
//! without any work.
//!
//! The figures write the right-hand sides in a monad that hands out ids. Here the evaluation order
//! of the target language does so: arguments are evaluated before the operation, from left to
//! right, and [`Node::Share`] draws the next id when its part has been evaluated.
//!
//! ```
//! use cotan_ad::section2::syntax::{real_op, var};
//! use cotan_ad::section2::transform::{Sharing, transform};
//! use cotan_ir::scalar::Op;
//!
//! let t = real_op(Op::Sin, [var("x")]);
//! assert_eq!(
//!     transform(&t, Sharing::Ids)?.to_string(),
//!     "let p1 = x in let p2 = sin(fst p1) in (p2, Share genId (Scale cos(fst p1) (snd p1)))",
//! );
//! # Ok::<(), cotan_ad::section2::error::Error>(())
//! ```

use cotan_array::Dtype;
use cotan_ir::scalar::{Op, ScalarTarget};

use super::error::{Error, Result};
use super::syntax::{self, Name, Node, Prim, Rec, Term};
use super::types::Type;

/// Whether Delta terms say what they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// They do not: Fig. naive-dn-ad-terms.
    Naive,
    /// Each operation gives its Delta term an id: Fig. dn-ad-terms.
    Ids,
}

/// `D[t]` of a type: the upper half of Fig. naive-dn-ad.
pub fn transform_type(t: &Type) -> Type {
    match t {
        // D[R] = (R, Delta)
        Type::Real => Type::pair(Type::Real, Type::Delta),
        // D[Int] = Int
        Type::Int => Type::Int,
        // D[Bool] = Bool
        Type::Bool => Type::Bool,
        // D[(s, t)] = (D[s], D[t])
        Type::Pair(both) => Type::pair(transform_type(both.left()), transform_type(both.right())),
        // D[s -> t] = D[s] -> D[t]; the IdGen monad around D[t] is an effect of evaluation.
        Type::Function(both) => {
            Type::function(transform_type(both.left()), transform_type(both.right()))
        }
        Type::Delta => Type::Delta,
        Type::TooLarge => Type::TooLarge,
    }
}

/// The head of a recursive function, transformed.
fn transform_head(head: &Rec) -> Rec {
    let (argument, result) = (transform_type(&head.argument), transform_type(&head.result));
    Rec { argument, result, ..head.clone() }
}

/// `D[t]` of a term.
pub fn transform(t: &Term, sharing: Sharing) -> Result<Term> {
    Transform { sharing, names: 0 }.term(t)
}

struct Transform {
    sharing: Sharing,
    names: u32,
}

impl Transform {
    fn term(&mut self, t: &Term) -> Result<Term> {
        use syntax::{apply, fst, int, let_in, let_rec, pair, real, snd, var};
        match t.node() {
            // Primitive operations on real numbers include derivative computations:

            // D[r] = return (r, Zero)
            Node::Real(r) => Ok(pair(real(*r), syntax::zero())),
            Node::Op(prim, ts) => {
                let duals = self.each(ts)?;
                self.op(prim, duals)
            }

            // Everything else is structure-preserving:

            // D[x] = return x
            Node::Var(x) => Ok(var(x.clone())),
            // D[k] = return k
            Node::Int(k) => Ok(int(*k)),
            // D[(s, t)] = do x <- D[s]; y <- D[t]; return (x, y)
            Node::Pair(s, t) => self.both(s, t, pair),
            // D[fst t] = do x <- D[t]; return (fst x)
            Node::Fst(t) => Ok(fst(self.term(t)?)),
            // D[snd t] = do x <- D[t]; return (snd x)
            Node::Snd(t) => Ok(snd(self.term(t)?)),
            // D[let x = s in t] = do x <- D[s]; D[t]
            Node::Let(x, s, t) => self.both(s, t, |s, t| let_in(x.clone(), s, t)),
            // the same, recursive
            Node::LetRec(head, u, v) => self.both(u, v, |u, v| let_rec(transform_head(head), u, v)),
            // D[\x. t] = return (\x. D[t])
            Node::Lambda(x, s, t) => {
                Ok(syntax::lambda(x.clone(), transform_type(s), self.term(t)?))
            }
            // D[s t] = do f <- D[s]; x <- D[t]; f x
            Node::Apply(s, t) => self.both(s, t, apply),
            // D[if t > 0 then u else v] = if fst D[t] > 0 then D[u] else D[v]
            // (the report prints `else v`, which has not the type of D[u])
            Node::If(t, u, v) => self.if_positive(t, u, v),

            Node::Zero | Node::Add(..) | Node::Scale(..) | Node::Share(_) => Err(Error::NotSource),
            Node::TooLarge => Err(Error::TooLarge),
        }
    }

    /// A term made of two transformed ones.
    fn both(&mut self, s: &Term, t: &Term, make: impl Fn(Term, Term) -> Term) -> Result<Term> {
        let s = self.term(s)?;
        Ok(make(s, self.term(t)?))
    }

    fn if_positive(&mut self, t: &Term, u: &Term, v: &Term) -> Result<Term> {
        let t = syntax::fst(self.term(t)?);
        let u = self.term(u)?;
        Ok(syntax::if_positive(t, u, self.term(v)?))
    }

    fn each(&mut self, ts: &[Term]) -> Result<Vec<Term>> {
        ts.iter().map(|t| self.term(t)).collect()
    }

    // D[op(t1, .., tn)] = do
    //   (x1, d1) <- D[t1]; ..; (xn, dn) <- D[tn]
    //   y = op(x1, .., xn)
    //   id <- genId
    //   return (y, Share id (Add (Scale (dop/dx1) d1) (Add .. (Scale (dop/dxn) dn))))
    // Arguments that are no reals are no pairs, and a result that is no real has no derivative.
    fn op(&mut self, prim: &Prim, duals: Vec<Term>) -> Result<Term> {
        let wrong = || Error::Operation(prim.clone());
        if duals.len() != prim.args.len() {
            return Err(wrong());
        }
        let mut bindings = Vec::with_capacity(duals.len() + 1);
        let mut xs = Vec::with_capacity(duals.len());
        let mut ds = Vec::with_capacity(duals.len());
        for (&dtype, t) in prim.args.iter().zip(duals) {
            let p = self.fresh();
            let dual = syntax::var(p.clone());
            bindings.push((p, t));
            if dtype == Dtype::F64 {
                xs.push(Typed { term: syntax::fst(dual.clone()), dtype });
                ds.push(Some(syntax::snd(dual)));
            } else {
                xs.push(Typed { term: dual, dtype });
                ds.push(None);
            }
        }
        let result = prim.op.result_dtype(&prim.args).ok_or_else(wrong)?;
        let y = syntax::op(prim.op, &prim.args, xs.iter().map(|x| x.term.clone()).collect());
        let value = if result == Dtype::F64 {
            let p = self.fresh();
            let name = Typed { term: syntax::var(p.clone()), dtype: result };
            bindings.push((p, y));
            let d = self.delta(prim.op, &xs, &name, ds)?;
            syntax::pair(name.term, d)
        } else {
            y
        };
        let binding = |t, (x, s)| syntax::let_in(x, s, t);
        Ok(bindings.into_iter().rev().fold(value, binding))
    }

    /// The Delta term of an operation. A factor of 1 is left out, and a part with the factor 0.
    fn delta(&self, op: Op, xs: &[Typed], y: &Typed, ds: Vec<Option<Term>>) -> Result<Term> {
        let partials = op.partials().map_err(|_| Error::Internal("a partial derivative"))?;
        let mut parts = Vec::with_capacity(ds.len());
        for (partial, d) in partials.iter().zip(ds) {
            let Some(d) = d else { continue };
            if partial.is_number(0.0) {
                continue;
            }
            if partial.is_number(1.0) {
                parts.push(d);
                continue;
            }
            let factor = partial.emit(&mut Emit, xs, y, Dtype::F64)?;
            let factor = factor.ok_or(Error::Internal("a partial derivative does not fit"))?;
            parts.push(syntax::scale(factor.term, d));
        }
        let sum = parts.into_iter().rev().reduce(|sum, d| syntax::add(d, sum));
        Ok(match (sum, self.sharing) {
            (None, _) => syntax::zero(),
            (Some(d), Sharing::Naive) => d,
            (Some(d), Sharing::Ids) => syntax::share(d),
        })
    }

    fn fresh(&mut self) -> Name {
        self.names += 1;
        Name::Made(self.names)
    }
}

/// A term of a ground type.
#[derive(Clone)]
struct Typed {
    term: Term,
    dtype: Dtype,
}

/// Writes the partial derivatives of the table as terms.
struct Emit;

impl ScalarTarget for Emit {
    type Value = Typed;
    type Error = Error;

    fn number(&mut self, x: f64, dtype: Dtype) -> Result<Typed> {
        let term = match dtype {
            Dtype::F64 => syntax::real(x),
            Dtype::I64 => syntax::int(x as i64),
            Dtype::F32 | Dtype::Bool => return Err(Error::Internal("a number of the table")),
        };
        Ok(Typed { term, dtype })
    }

    fn dtype(&self, x: &Typed) -> Dtype {
        x.dtype
    }

    fn apply(&mut self, op: Op, args: &[Typed]) -> Result<Typed> {
        let dtypes: Vec<Dtype> = args.iter().map(|x| x.dtype).collect();
        let dtype = op.result_dtype(&dtypes);
        let dtype = dtype.ok_or(Error::Internal("an operation of the table"))?;
        let term = syntax::op(op, &dtypes, args.iter().map(|x| x.term.clone()).collect());
        Ok(Typed { term, dtype })
    }
}
