//! Functions that take functions and solve something: equations, linear systems given by products,
//! differential equations, integrals.
//!
//! A function comes as a closed program with its captures ([`Extracted`]), as the operators of
//! reductions do. Structures are packed into one vector here, and the derivatives that a solver needs
//! (Jacobians, products with them) are derived here, so front ends only take structures apart.
//!
//! **Derivatives** of solutions are those of the implicit function theorem
//! ([`CustomKind::Implicit`](cotan_ir::CustomKind)), to any order and in both modes; no derivative goes
//! through the steps of a solver. **No convergence** is NaN: every loop has a bound, and what it ends with
//! is looked at.

mod equation;
mod krylov;
mod ode;
mod quadrature;

use cotan_array::Dtype;
use cotan_ir::{Builder, Error, Extracted, Output, Param, Result, TermId, Type, While};
use cotan_pipeline::{Derivative, derive};

use crate::arrange::concatenated;
use crate::context::Context;
use crate::term::Term;

pub use equation::{fixed_point, minimize, root};
pub use krylov::{Krylov, linear_solve};
pub use ode::{Method, Ode, odeint};
pub use quadrature::{gauss_legendre, quadrature};

/// When a solver ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stop {
    /// The accuracy wanted; 1e-10 of f64 and 1e-5 of f32 if not given.
    pub tolerance: Option<f64>,
    /// The most steps; a number of each solver's own if not given.
    pub at_most: Option<usize>,
}

impl Stop {
    fn tolerance(self, dtype: Dtype) -> f64 {
        self.tolerance.unwrap_or(if dtype == Dtype::F32 { 1e-5 } else { 1e-10 })
    }

    fn at_most(self, default: usize) -> usize {
        self.at_most.unwrap_or(default)
    }
}

/// How a structure lies in one vector.
struct Packing {
    dtype: Dtype,
    parts: Vec<Vec<usize>>,
}

impl Packing {
    fn new(c: &Context, xs: &[Term<'_>]) -> Packing {
        let dtype = xs.first().map_or(Dtype::F64, |x| x.dtype());
        if xs.is_empty() {
            c.wrong("nothing to solve for", "the unknown has at least one array");
        }
        for x in xs {
            if !x.dtype().is_float() || x.dtype() != dtype {
                let message = format!("{} among the unknowns", x.shown());
                c.wrong(message, "all are f64, or all f32: convert them, `f64(…)`");
            }
        }
        Packing { dtype, parts: xs.iter().map(|x| x.dims()).collect() }
    }

    fn sizes(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().map(|dims| dims.iter().product())
    }

    fn len(&self) -> usize {
        self.sizes().sum()
    }

    fn vector(&self) -> Type {
        vector(self.dtype, self.len())
    }

    fn pack<'c>(&self, c: &'c Context, xs: &[Term<'c>]) -> Term<'c> {
        let flat: Vec<Term<'c>> = xs.iter().map(|x| x.reshape(&[x.size()])).collect();
        match flat[..] {
            [x] => x,
            _ => concatenated(c, &flat, 0),
        }
    }

    /// The parts of a vector; of several vectors along leading axes.
    fn unpack<'c>(&self, x: Term<'c>) -> Vec<Term<'c>> {
        let mut batch = x.dims();
        batch.pop();
        let (mut parts, mut first) = (Vec::new(), 0);
        for (dims, size) in self.parts.iter().zip(self.sizes()) {
            let part = match self.parts.len() {
                1 => x,
                _ => x.along(batch.len(), size, |i| i.affine(1, first)),
            };
            parts.push(part.reshape(&[&batch[..], dims].concat()));
            first += i64::try_from(size).unwrap_or(0);
        }
        parts
    }
}

fn vector(dtype: Dtype, n: usize) -> Type {
    let shape = cotan_array::Shape::new("solve", &[n]).unwrap_or_default();
    Type::new(dtype, shape)
}

/// A closed program with its captures.
struct Closed(Extracted);

impl Closed {
    /// A program of the given inputs, and of what a function captures.
    fn new(
        c: &Context,
        inputs: &[Type],
        f: &Extracted,
        make: impl for<'d> FnOnce(&'d Context, &[Term<'d>], &[Term<'d>]) -> Vec<Term<'d>>,
    ) -> Option<Closed> {
        let first = f.program.inputs().len().checked_sub(f.captures.len())?;
        let captured = f.program.inputs()[first..].iter().map(|input| input.ty.clone());
        let made = (|| {
            let mut b = Builder::new();
            let mut ids = Vec::new();
            for (n, ty) in inputs.iter().cloned().chain(captured).enumerate() {
                ids.push(b.input(format!("x{n}"), ty)?);
            }
            let (results, _) = Context::with(&mut b, |d| {
                let terms: Vec<Term<'_>> = ids.iter().map(|&t| d.term(t)).collect();
                let (own, captures) = terms.split_at(inputs.len());
                let made = make(d, own, captures).into_iter().map(|x| x.id());
                made.collect::<Option<Vec<_>>>().ok_or_else(nothing)
            });
            let output = |term| Output { name: String::new(), term };
            b.finish(results?.into_iter().map(output).collect())
        })();
        match made {
            Ok(program) => Some(Closed(Extracted { program, captures: f.captures.clone() })),
            Err(error) => {
                c.fail(error);
                None
            }
        }
    }

    /// A function of a structure as one of its vector, after some inputs that stay as they are.
    fn packed(
        c: &Context,
        f: &Extracted,
        before: &[Type],
        from: &Packing,
        to: Option<&Packing>,
    ) -> Option<Closed> {
        let inputs: Vec<Type> = before.iter().cloned().chain([from.vector()]).collect();
        Closed::new(c, &inputs, f, |d, own, captures| {
            let Some((x, before)) = own.split_last() else { return Vec::new() };
            let parts = from.unpack(*x);
            let results = inlined(d, f, &[before, &parts, captures].concat());
            match to {
                Some(to) => vec![to.pack(d, &results)],
                None => results,
            }
        })
    }

    /// A derivative by one of the inputs.
    fn derived(&self, c: &Context, derivative: Derivative, wrt: &[usize]) -> Option<Closed> {
        match derive(&self.0.program, derivative, Some(wrt)) {
            Ok(program) => Some(Closed(Extracted { program, captures: self.0.captures.clone() })),
            Err(error) => {
                c.fail(error);
                None
            }
        }
    }

    /// The last results, at arguments, captures and directions, in this order; nothing after an
    /// error.
    fn all<'c>(
        &self,
        c: &'c Context,
        args: &[Term<'c>],
        captures: &[Term<'c>],
        directions: &[Term<'c>],
    ) -> Vec<Term<'c>> {
        inlined(c, &self.0, &[args, captures, directions].concat())
    }

    /// The captures, as terms of the function that is made.
    fn captures<'c>(&self, c: &'c Context) -> Vec<Term<'c>> {
        self.0.captures.iter().map(|&t| c.term(t)).collect()
    }

    /// The same program with other captures.
    fn with(&self, captures: &[Term<'_>]) -> Option<Closed> {
        let captures: Option<Vec<TermId>> = captures.iter().map(|x| x.id()).collect();
        Some(Closed(Extracted { program: self.0.program.clone(), captures: captures? }))
    }

    /// The last result at arguments.
    fn at<'c>(&self, c: &'c Context, args: &[Term<'c>]) -> Term<'c> {
        self.along(c, args, &[])
    }

    /// The last result at arguments and directions.
    fn along<'c>(&self, c: &'c Context, args: &[Term<'c>], directions: &[Term<'c>]) -> Term<'c> {
        let made = self.all(c, args, &self.captures(c), directions);
        made.last().copied().unwrap_or_else(|| Term::new(c, None))
    }
}

fn nothing() -> Error {
    Error::internal("nothing was made")
}

/// The results of a program at terms.
fn inlined<'c>(c: &'c Context, f: &Extracted, args: &[Term<'c>]) -> Vec<Term<'c>> {
    let ids: Option<Vec<TermId>> = args.iter().map(|x| x.id()).collect();
    let made = ids.and_then(|ids| c.change(|b| b.inline(&f.program, &ids)));
    match made {
        Some(made) => made.into_iter().map(|t| c.term(t)).collect(),
        None => vec![Term::new(c, None); f.program.outputs().len()],
    }
}

/// A loop as long as a condition holds: the last states.
fn run_while<'c>(
    c: &'c Context,
    at_most: usize,
    init: &[Term<'c>],
    step: impl FnOnce(&[Term<'c>]) -> (Term<'c>, Vec<Term<'c>>),
) -> Vec<Term<'c>> {
    let types = init.iter().map(|x| x.ty().unwrap_or_else(|| Type::scalar(Dtype::F64)));
    let params: Vec<Param> = types.map(Param::Value).collect();
    let region = c.region(&params, |state| {
        let (holds, next) = step(state);
        std::iter::once(holds).chain(next).collect()
    });
    let ids: Option<Vec<TermId>> = init.iter().map(|x| x.id()).collect();
    let made = region.zip(ids).and_then(|(step, init)| {
        c.change(|b| {
            let count = init.len();
            let node = b.while_accum(While { bound: Some(at_most), init: init.into(), step })?;
            (0..count).map(|n| b.result(node, n)).collect::<Result<Vec<_>>>()
        })
    });
    match made {
        Some(results) => results.into_iter().map(|t| c.term(t)).collect(),
        None => init.iter().map(|x| x.nothing()).collect(),
    }
}

/// The Euclidean length.
fn length(x: Term<'_>) -> Term<'_> {
    dot(x, x).sqrt()
}

fn dot<'c>(x: Term<'c>, y: Term<'c>) -> Term<'c> {
    (x * y).total()
}

/// The array where a condition holds, NaN otherwise; so are its derivatives.
fn unless_failed<'c>(ok: Term<'c>, x: Term<'c>) -> Term<'c> {
    ok.choose(x, x * f64::NAN)
}

fn epsilon(dtype: Dtype) -> f64 {
    if dtype == Dtype::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON }
}

/// The solution of a square system.
fn lu<'c>(matrix: Term<'c>, right: Term<'c>) -> Term<'c> {
    match matrix.id() {
        Some(a) => right.map(|b, r| b.solve(a, r)),
        None => right.nothing(),
    }
}

fn transposed(matrix: Term<'_>) -> Term<'_> {
    matrix.permute(&[1, 0])
}

fn terms<'c>(c: &'c Context, ids: &[TermId]) -> Vec<Term<'c>> {
    ids.iter().map(|&t| c.term(t)).collect()
}

/// What a solver gives, its errors in its name.
fn call(
    b: &mut Builder,
    name: &'static str,
    f: impl for<'c> FnOnce(&'c Context) -> Option<Vec<Term<'c>>>,
) -> Result<Vec<TermId>> {
    let (made, _) = Context::with(b, |c| {
        let ids = f(c).and_then(|made| made.into_iter().map(|x| x.id()).collect());
        ids.ok_or_else(nothing)
    });
    made.map_err(|error| match error.op() {
        "" => {
            let named = Error::new(error.kind(), name, error.message());
            error.hint().map_or(named.clone(), |hint| named.with_hint(hint))
        }
        _ => error,
    })
}
