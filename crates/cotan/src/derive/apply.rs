//! A derivative at arguments, inside the function being staged.

use std::marker::PhantomData;

use cotan_array::Dtype;
use cotan_ir::scalar::Op;
use cotan_ir::{Param, Program, Type};
use cotan_pipeline::{Derivative, Taylor, derive_owned, derive_taylor};

use crate::error::{Error, Result};
use crate::function::{Choice, Function};
use crate::stage::{self, Raw};
use crate::structure::{Arrays, Leaves, Tree, raws};

/// The arrays that a derivative gave, on their way into structures.
pub(super) struct Applied<F, M, W> {
    point: Tree,
    out: Tree,
    leaves: std::vec::IntoIter<Raw>,
    types: PhantomData<fn(F, M, W)>,
}

/// Applies a derivative of `f`; `directions` are the cotangents or tangents that it takes.
pub(super) fn apply_derivative<F, M, W>(
    name: &'static str,
    derivative: Derivative,
    f: &F,
    args: F::Args,
    directions: &[Raw],
) -> Result<Applied<F, M, W>>
where
    F: Function<M>,
    W: Choice<F, M>,
{
    apply_series(name, (derivative, None), f, args, directions)
}

/// The same by series, if so wished, which take and give what the derivative does.
pub(super) fn apply_series<F, M, W>(
    name: &'static str,
    (derivative, taylor): (Derivative, Option<Taylor>),
    f: &F,
    args: F::Args,
    directions: &[Raw],
) -> Result<Applied<F, M, W>>
where
    F: Function<M>,
    W: Choice<F, M>,
{
    let tree = args.tree();
    let (point, chosen) = W::of(&tree);
    let request = Request {
        name,
        derivative,
        args: &tree,
        leaves: &raws(&args),
        chosen: &chosen,
        directions,
        taylor,
    };
    let (out, leaves) = request.apply(&point, &mut |leaves| {
        let args = F::Args::unflatten(&tree, &mut Leaves::staged(leaves.iter().copied()))?;
        let out = stage::user_code(|| f.apply(args))?;
        Ok((out.tree(), raws(&out)))
    })?;
    Ok(Applied { point, out, leaves: leaves.into_iter(), types: PhantomData })
}

/// Applies a derivative of a function of leaves: the tree of its result, and what the derivative
/// consists of. It is by series, if so wished, as in [`apply_series`].
pub(crate) fn apply_untyped(
    (name, derivative, taylor): (&'static str, Derivative, Option<Taylor>),
    (args, leaves): (&Tree, &[Raw]),
    (point, chosen): (&Tree, &[usize]),
    directions: &[Raw],
    f: stage::Body<'_>,
) -> Result<(Tree, Vec<Raw>)> {
    let request = Request { name, derivative, args, leaves, chosen, directions, taylor };
    request.apply(point, &mut |leaves| stage::user_code(|| f(leaves)))
}

/// Which derivative, and where.
struct Request<'a> {
    name: &'static str,
    derivative: Derivative,
    args: &'a Tree,
    /// The arrays of the arguments.
    leaves: &'a [Raw],
    /// Those to differentiate by.
    chosen: &'a [usize],
    /// The cotangents or tangents.
    directions: &'a [Raw],
    /// By series, in the place of the derivative.
    taylor: Option<Taylor>,
}

impl Request<'_> {
    /// The tree of the function's result, and the arrays of the derivative.
    fn apply(&self, point: &Tree, f: stage::Body<'_>) -> Result<(Tree, Vec<Raw>)> {
        let Request { name, derivative, leaves, chosen, directions, .. } = *self;
        let params = differentiable(name, self.args, chosen)?;
        let at: Vec<Raw> = chosen.iter().filter_map(|&k| leaves.get(k).copied()).collect();
        // The function at variables in the place of the chosen leaves.
        let (out, program, captures) = program_at(name, &at, &params, &mut |vars| {
            let mut inner = leaves.to_vec();
            for (&k, &var) in chosen.iter().zip(vars) {
                if let Some(leaf) = inner.get_mut(k) {
                    *leaf = var;
                }
            }
            f(&inner)
        })?;
        expect_float_results(name, derivative, &out)?;
        expect_directions(name, derivative, directions, point, &out)?;

        let operands: Vec<Raw> = at.iter().chain(&captures).chain(directions).copied().collect();
        let wrt: Vec<usize> = (0..at.len()).collect();
        let made = stage::unplaced(name, || {
            stage::emit_all(name, &operands, |b, ts| {
                let derived = match self.taylor {
                    Some(taylor) => derive_taylor(&program, taylor, Some(&wrt))?,
                    None => derive_owned(program, derivative, Some(&wrt))?,
                };
                b.inline(&derived, ts)
            })
        });
        Ok((out, made.ok_or_else(Error::recorded)?))
    }
}

/// A function at arguments as a program of its variables and captures: of what it does there if it
/// runs eagerly.
pub(crate) fn program_at(
    name: &'static str,
    at: &[Raw],
    params: &[Param],
    body: stage::Body<'_>,
) -> Result<(Tree, Program, Vec<Raw>)> {
    if !stage::traces_here() {
        return staged_region(name, params, body);
    }
    let traced = stage::trace(at, body)?;
    Ok((traced.result, traced.program, traced.captures))
}

/// A function as a program of its variables and captures, by a region of its own.
fn staged_region(
    name: &'static str,
    params: &[Param],
    body: stage::Body<'_>,
) -> Result<(Tree, Program, Vec<Raw>)> {
    let mut result: Option<Result<Tree>> = None;
    let region = stage::unplaced(name, || {
        stage::lambda(name, params, |vars| match body(vars) {
            Ok((tree, raws)) => {
                result = Some(Ok(tree));
                raws
            }
            Err(error) => {
                result = Some(Err(error));
                Vec::new()
            }
        })
    });
    let out = result.unwrap_or_else(|| Err(Error::internal("a function was not run")))?;
    let region = region.ok_or_else(Error::recorded)?;
    let (program, captures) = stage::extract(region)?;
    Ok((out, program, captures))
}

/// The types of the chosen leaves, which must be floats and different ones.
pub(crate) fn differentiable(
    name: &'static str,
    args: &Tree,
    chosen: &[usize],
) -> Result<Vec<Param>> {
    let leaves = args.leaves("");
    let mut taken = vec![false; leaves.len()];
    let mut params = Vec::with_capacity(chosen.len());
    for &k in chosen {
        let (Some((path, ty)), Some(taken)) = (leaves.get(k), taken.get_mut(k)) else {
            return Err(Error::internal("an argument is missing"));
        };
        let part = if path.is_empty() { String::new() } else { format!(" `{path}`") };
        if std::mem::replace(taken, true) {
            let message = format!("the argument{part} is chosen twice");
            return Err(Error::type_error(name, message).with_hint("name it once in `wrt`"));
        }
        if !ty.dtype.is_float() {
            let message = format!("cannot differentiate by the argument{part}, which is {ty}");
            let hint = "only f64 and f32 have derivatives: choose other arguments by `wrt`";
            return Err(Error::type_error(name, message).with_hint(hint));
        }
        params.push(Param::Value(ty.clone()));
    }
    if params.is_empty() {
        return Err(Error::type_error(name, "there is nothing to differentiate by")
            .with_hint("the argument has no arrays in it: choose another by `wrt`"));
    }
    Ok(params)
}

/// Checks that what is differentiated are floats.
fn expect_float_results(name: &'static str, derivative: Derivative, out: &Tree) -> Result<()> {
    let leaves = out.leaves("");
    let differentiated = match derivative {
        // Further results are auxiliary.
        Derivative::Grad | Derivative::ValueAndGrad | Derivative::Hvp | Derivative::Hessian => 1,
        Derivative::Vjp | Derivative::Jvp => leaves.len(),
        Derivative::JacRev | Derivative::JacFwd | Derivative::Jacobian => leaves.len(),
    };
    match leaves.iter().take(differentiated).find(|(_, ty)| !ty.dtype.is_float()) {
        None => Ok(()),
        Some((path, ty)) => {
            let part = if path.is_empty() { String::new() } else { format!(" `{path}`") };
            let message = format!("cannot differentiate the result{part}, which is {ty}");
            let hint = "only f64 and f32 have derivatives: leave it out, or convert it";
            Err(Error::type_error(name, message).with_hint(hint))
        }
    }
}

/// Checks cotangents and tangents against what they belong to.
fn expect_directions(
    name: &'static str,
    derivative: Derivative,
    directions: &[Raw],
    point: &Tree,
    out: &Tree,
) -> Result<()> {
    let (owner, what, whose) = match derivative {
        Derivative::Vjp => (out, "cotangent", "result"),
        Derivative::Jvp | Derivative::Hvp => (point, "tangent", "argument"),
        Derivative::Grad | Derivative::ValueAndGrad | Derivative::Hessian => return Ok(()),
        Derivative::JacRev | Derivative::JacFwd | Derivative::Jacobian => return Ok(()),
    };
    let leaves = owner.leaves("");
    if leaves.len() != directions.len() {
        let message = format!("{} {what}s for {} {whose}s", directions.len(), leaves.len());
        return Err(Error::type_error(name, message));
    }
    for ((path, ty), &raw) in leaves.iter().zip(directions) {
        let Some(given) = stage::type_of(raw) else { return Err(Error::recorded()) };
        if given != *ty {
            let part = if path.is_empty() { String::new() } else { format!(" `{path}`") };
            let message = format!("a {what} {given} for the {whose}{part}, which is {ty}");
            return Err(Error::type_error(name, message));
        }
    }
    Ok(())
}

impl<F: Function<M>, M, W: Choice<F, M>> Applied<F, M, W> {
    /// The next arrays in the structure of the result.
    pub(super) fn out(&mut self) -> Result<F::Out> {
        let tree = self.out.clone();
        self.next(&tree)
    }

    /// The next arrays in the structure of the result, with one more axis in front.
    pub(super) fn rows_of_out(&mut self, rows: usize) -> Result<F::Out> {
        let mut failed = None;
        let tree = self.out.map_leaves(&mut |ty| {
            Tree::Leaf(match ty.shape.cons("jet", rows) {
                Ok(shape) => Type::new(ty.dtype, shape),
                Err(error) => {
                    failed = Some(error);
                    ty.clone()
                }
            })
        });
        match failed {
            Some(error) => Err(error.into()),
            None => self.next(&tree),
        }
    }

    /// The next arrays in the structure of what was differentiated by.
    pub(super) fn point(&mut self) -> Result<W::Point> {
        let tree = self.point.clone();
        self.next(&tree)
    }

    /// For each result the structure of the point.
    pub(super) fn jacobian(&mut self) -> Result<<F::Out as Arrays>::Of<W::Point>> {
        let tree = product(&self.out, &self.point)?;
        self.next(&tree)
    }

    /// For each part of the point the structure of the point.
    pub(super) fn hessian(&mut self) -> Result<<W::Point as Arrays>::Of<W::Point>> {
        let tree = product(&self.point, &self.point)?;
        self.next(&tree)
    }

    fn next<A: Arrays>(&mut self, tree: &Tree) -> Result<A> {
        let wanted = tree.leaves("");
        let taken: Vec<Raw> = self.leaves.by_ref().take(wanted.len()).collect();
        let converted = taken.iter().zip(&wanted).map(|(&raw, (_, ty))| convert(raw, ty));
        A::unflatten(tree, &mut Leaves::staged(converted.collect::<Vec<_>>()))
    }
}

/// The array in the element type that its place in a structure has: the derivative of an `f64` by
/// an `f32` stands where there is an `f32`.
fn convert(raw: Raw, wanted: &Type) -> Raw {
    let op = match (stage::type_of(raw).map(|ty| ty.dtype), wanted.dtype) {
        (Some(found), wanted) if found == wanted => return raw,
        (None, _) => return raw,
        (Some(_), Dtype::F32) => Op::ToF32,
        (Some(_), Dtype::F64 | Dtype::I64 | Dtype::Bool) => Op::ToF64,
    };
    stage::emit("convert", &[raw], |b, ts| b.op(op, ts))
}

/// A tree with `inner` at each leaf of `outer`, whose axes come first.
fn product(outer: &Tree, inner: &Tree) -> Result<Tree> {
    let mut failed = None;
    let tree = outer.map_leaves(&mut |row| {
        inner.map_leaves(&mut |column| {
            let shape = cotan_array::Shape::join("jacobian", row.shape.dims(), column.shape.dims());
            Tree::Leaf(match shape {
                Ok(shape) => Type::new(column.dtype, shape),
                Err(error) => {
                    failed = Some(error);
                    column.clone()
                }
            })
        })
    });
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(tree),
    }
}
