//! Functions with derivatives of their own.

use std::marker::PhantomData;

use cotan_ir::{Custom, CustomKind, Param, Type};

use crate::error::{Error, Result};
use crate::function::Function;
use crate::jit::{Jit, Via, jit};
use crate::stage::{self, Raw, emit_all};
use crate::structure::{Arrays, Leaves, Tree, raws};

/// A function with a rule for its reverse derivative: what [`custom_vjp`] gives, inside a [`Jit`].
pub struct CustomVjp<F, R, M> {
    f: F,
    rule: R,
    marker: PhantomData<fn(M)>,
}

/// A function with a rule for its forward derivative: what [`custom_jvp`] gives, inside a [`Jit`].
pub struct CustomJvp<F, R, M> {
    f: F,
    rule: R,
    marker: PhantomData<fn(M)>,
}

impl<F, R, M> std::fmt::Debug for CustomVjp<F, R, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CustomVjp")
    }
}

impl<F, R, M> std::fmt::Debug for CustomJvp<F, R, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CustomJvp")
    }
}

/// `f` with a derivative of its own: `rule` takes the arguments (a tuple of several) and the
/// cotangent of the result, and gives the cotangents of the arguments, in their structure.
///
/// The rule must be linear in the cotangent; forward derivatives are its transpose, and it can itself
/// be differentiated. Where the result or an argument is not a float, the rule is given the value in
/// place of a cotangent, and what it gives does not count. Function and rule may use arrays from
/// around them, but no derivative passes to these.
///
/// ```
/// use cotan::prelude::*;
///
/// // The identity, whose gradient is clipped.
/// let clipped = |x: Arr<f64>| {
///     custom_vjp(|x: Arr<f64>| x, |_: Arr<f64>, ct: Arr<f64>| ct.clamp(-1.0, 1.0)).at(x)
/// };
/// let f = |x: Arr<f64>| (clipped(x) * constant([0.5, 7.0])).sum();
/// assert_eq!(grad(f).call([1.0, 1.0])?.to_vec(), [0.5, 1.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn custom_vjp<F, M, R>(f: F, rule: R) -> Jit<CustomVjp<F, R, M>, Via<M>>
where
    F: Function<M>,
    R: Fn(F::Args, F::Out) -> F::Args,
{
    jit(CustomVjp { f, rule, marker: PhantomData })
}

/// `f` with a derivative of its own: `rule` takes the arguments (a tuple of several) and their
/// tangents, in the same structure, and gives the tangent of the result.
///
/// The rule must be linear in the tangents; reverse derivatives are its transpose, and it can itself
/// be differentiated. Where an argument or the result is not a float, the rule is given the value in
/// place of a tangent, and what it gives does not count. Function and rule may use arrays from around
/// them, but no derivative passes to these.
///
/// ```
/// use cotan::prelude::*;
///
/// // `log(1 + exp(x))`, whose derivative does not overflow.
/// let softplus = custom_jvp(
///     |x: Arr<f64>| x.exp().log1p(),
///     |x: Arr<f64>, dx: Arr<f64>| x.logistic() * dx,
/// );
/// assert_eq!(grad(softplus).call(1000.0)?, 1.0);
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn custom_jvp<F, M, R>(f: F, rule: R) -> Jit<CustomJvp<F, R, M>, Via<M>>
where
    F: Function<M>,
    R: Fn(F::Args, F::Args) -> F::Out,
{
    jit(CustomJvp { f, rule, marker: PhantomData })
}

#[diagnostic::do_not_recommend]
impl<F, R, M> Function<Via<M>> for CustomVjp<F, R, M>
where
    F: Function<M>,
    R: Fn(F::Args, F::Out) -> F::Args,
{
    type Args = F::Args;
    type Out = F::Out;
    const SEVERAL: bool = F::SEVERAL;

    fn apply(&self, args: F::Args) -> Result<F::Out> {
        let name = "custom_vjp";
        let tree = args.tree();
        // The cotangents are like the results: find those first.
        let mut out: Option<Result<Tree>> = None;
        let region = stage::lambda(name, &params(&tree), |vars| {
            let value = called(&self.f, &tree, vars);
            let results = value.as_ref().map(raws).unwrap_or_default();
            out = Some(value.map(|value| value.tree()));
            results
        });
        let out = out.unwrap_or_else(|| Err(Error::internal("a function was not run")))?;
        region.ok_or_else(Error::recorded)?;
        custom::<F, M>(name, CustomKind::Vjp, &self.f, &args, &out, |own, value, taken| {
            let args = F::Args::unflatten(&tree, &mut Leaves::staged(own.to_vec()))?;
            let cotangent = in_place_of_floats(value, taken);
            let cotangent = F::Out::unflatten(&value.tree(), &mut Leaves::staged(cotangent))?;
            let given = stage::user_code(|| (self.rule)(args, cotangent));
            expect_alike(name, "cotangent", "argument", &tree, &given.tree())?;
            Ok(raws(&given))
        })
    }
}

#[diagnostic::do_not_recommend]
impl<F, R, M> Function<Via<M>> for CustomJvp<F, R, M>
where
    F: Function<M>,
    R: Fn(F::Args, F::Args) -> F::Out,
{
    type Args = F::Args;
    type Out = F::Out;
    const SEVERAL: bool = F::SEVERAL;

    fn apply(&self, args: F::Args) -> Result<F::Out> {
        let name = "custom_jvp";
        let tree = args.tree();
        custom::<F, M>(name, CustomKind::Jvp, &self.f, &args, &tree, |own, value, taken| {
            let args = F::Args::unflatten(&tree, &mut Leaves::staged(own.to_vec()))?;
            let tangent = in_place_of_floats(&args, taken);
            let tangent = F::Args::unflatten(&tree, &mut Leaves::staged(tangent))?;
            let given = stage::user_code(|| (self.rule)(args, tangent));
            expect_alike(name, "tangent", "result", &value.tree(), &given.tree())?;
            Ok(raws(&given))
        })
    }
}

fn params(tree: &Tree) -> Vec<Param> {
    tree.leaves("").into_iter().map(|(_, ty)| Param::Value(ty)).collect()
}

/// The function at variables.
fn called<F: Function<M>, M>(f: &F, args: &Tree, vars: &[Raw]) -> Result<F::Out> {
    let args = F::Args::unflatten(args, &mut Leaves::staged(vars.to_vec()))?;
    stage::user_code(|| f.apply(args))
}

fn is_float(raw: Raw) -> bool {
    stage::type_of(raw).is_some_and(|ty| ty.dtype.is_float())
}

/// The leaves of a structure, the float ones replaced.
fn in_place_of_floats<A: Arrays>(structure: &A, floats: &[Raw]) -> Vec<Raw> {
    let mut floats = floats.iter().copied();
    let leaf = |raw| if is_float(raw) { floats.next().unwrap_or(raw) } else { raw };
    raws(structure).into_iter().map(leaf).collect()
}

/// Checks what a rule gives.
fn expect_alike(
    name: &'static str,
    what: &str,
    whose: &str,
    wanted: &Tree,
    given: &Tree,
) -> Result<()> {
    match wanted.difference(given, "") {
        None => Ok(()),
        Some((path, wanted, given)) => {
            let part = match path.trim_start_matches('.') {
                "" => String::new(),
                path => format!(" `{path}`"),
            };
            let message =
                format!("the rule gives a {what} {given} for the {whose}{part}, which is {wanted}");
            Err(Error::type_error(name, message))
        }
    }
}

/// The node of a function with its rule. What the rule takes is like the float leaves of `taken`;
/// `rule` gets the variables of the arguments, the value, and the variables it takes.
pub(super) fn custom<F: Function<M>, M>(
    name: &'static str,
    kind: CustomKind,
    f: &F,
    args: &F::Args,
    taken: &Tree,
    rule: impl FnOnce(&[Raw], &F::Out, &[Raw]) -> Result<Vec<Raw>>,
) -> Result<F::Out> {
    let tree = args.tree();
    let count = tree.leaf_count();
    let float = |(_, ty): (String, Type)| ty.dtype.is_float().then_some(Param::Value(ty));
    let mut all = params(&tree);
    all.extend(taken.leaves("").into_iter().filter_map(float));
    let mut out: Option<Result<Tree>> = None;
    let region = stage::lambda(name, &all, |vars| {
        let (own, taken) = vars.split_at(count.min(vars.len()));
        let mut results = Vec::new();
        out = Some(called(f, &tree, own).and_then(|value| {
            results = raws(&value);
            let given = rule(own, &value, taken)?;
            results.extend(given.into_iter().filter(|&raw| is_float(raw)));
            Ok(value.tree())
        }));
        results
    });
    let out = out.unwrap_or_else(|| Err(Error::internal("a function was not run")))?;
    let region = region.ok_or_else(Error::recorded)?;
    let outputs = out.leaf_count();
    let made = emit_all(name, &raws(args), |b, ts| {
        let args = ts.to_vec().into();
        let node = b.custom(Custom { kind, args, outputs, region })?;
        (0..outputs).map(|n| b.result(node, n)).collect()
    });
    F::Out::unflatten(&out, &mut Leaves::staged(made.ok_or_else(Error::recorded)?))
}
