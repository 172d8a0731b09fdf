//! The kinds of derivatives: what each takes and gives.

use cotan_pipeline::{Derivative, Taylor};

use super::apply::{Applied, apply_derivative, apply_series};
use crate::arr::Arr;
use crate::element::Float;
use crate::error::Result;
use crate::function::{Choice, Function};
use crate::structure::{Arrays, raws};

/// A kind of derivative of `F` by the arguments `W`.
pub trait Kind<F: Function<M>, M, W: Choice<F, M>> {
    /// What the derivative takes.
    type Args: Arrays;
    /// What the derivative gives.
    type Out: Arrays;
    /// A marker of the arguments.
    type Signature;
    /// Whether it takes several arguments.
    const SEVERAL: bool;
    /// The derivative at arguments.
    fn apply(f: &F, args: Self::Args) -> Result<Self::Out>;
}

/// A result that has a gradient: one array of floats.
#[diagnostic::on_unimplemented(
    message = "a function that gives `{Self}` has no gradient: it must give one array of floats",
    label = "this gives `{Self}`, not `Arr<f64>` or `Arr<f32>`",
    note = "for a function of several results take `vjp` or `jacobian`; where all but the first are \
            extra results, `grad_aux`"
)]
pub trait Loss: Arrays {}

#[diagnostic::do_not_recommend]
impl<T: Float> Loss for Arr<T> {}

/// Results of which the first has a gradient, and the others come along.
#[diagnostic::on_unimplemented(
    message = "a function that gives `{Self}` has no gradient with extra results: it must give a \
               pair of one array of floats and the rest",
    label = "this gives `{Self}`, not a pair `(Arr<f64>, rest)`"
)]
pub trait LossAndAux: Arrays {
    /// The rest.
    type Aux: Arrays;

    /// The rest.
    fn aux(self) -> Self::Aux;
}

#[diagnostic::do_not_recommend]
impl<T: Float, X: Arrays> LossAndAux for (Arr<T>, X) {
    type Aux = X;

    fn aux(self) -> X {
        self.1
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $kind;
    )* };
}

kinds! {
    /// See [`grad`](crate::grad).
    Grad
    /// See [`value_and_grad`](crate::value_and_grad).
    ValueAndGrad
    /// See [`grad_aux`](crate::grad_aux).
    GradAux
    /// See [`value_and_grad_aux`](crate::value_and_grad_aux).
    ValueAndGradAux
    /// See [`vjp`](crate::vjp).
    Vjp
    /// See [`jvp`](crate::jvp).
    Jvp
    /// See [`jacrev`](crate::jacrev).
    JacRev
    /// See [`jacfwd`](crate::jacfwd).
    JacFwd
    /// See [`jacobian`](crate::jacobian).
    Jacobian
    /// See [`hvp`](crate::hvp).
    Hvp
    /// See [`hessian`](crate::hessian).
    Hessian
}

impl<F, M, W> Kind<F, M, W> for Grad
where
    F: Function<M>,
    F::Out: Loss,
    W: Choice<F, M>,
{
    type Args = F::Args;
    type Out = W::Point;
    type Signature = M;
    const SEVERAL: bool = F::SEVERAL;

    fn apply(f: &F, args: F::Args) -> Result<W::Point> {
        let mut applied = apply_derivative::<F, M, W>("grad", Derivative::Grad, f, args, &[])?;
        applied.point()
    }
}

impl<F, M, W> Kind<F, M, W> for ValueAndGrad
where
    F: Function<M>,
    F::Out: Loss,
    W: Choice<F, M>,
{
    type Args = F::Args;
    type Out = (F::Out, W::Point);
    type Signature = M;
    const SEVERAL: bool = F::SEVERAL;

    fn apply(f: &F, args: F::Args) -> Result<Self::Out> {
        let derivative = Derivative::ValueAndGrad;
        let mut applied = apply_derivative::<F, M, W>("value_and_grad", derivative, f, args, &[])?;
        Ok((applied.out()?, applied.point()?))
    }
}

impl<F, M, W> Kind<F, M, W> for GradAux
where
    F: Function<M>,
    F::Out: LossAndAux,
    W: Choice<F, M>,
{
    type Args = F::Args;
    type Out = (W::Point, <F::Out as LossAndAux>::Aux);
    type Signature = M;
    const SEVERAL: bool = F::SEVERAL;

    fn apply(f: &F, args: F::Args) -> Result<Self::Out> {
        let derivative = Derivative::ValueAndGrad;
        let mut applied = apply_derivative::<F, M, W>("grad_aux", derivative, f, args, &[])?;
        let aux = applied.out()?.aux();
        Ok((applied.point()?, aux))
    }
}

impl<F, M, W> Kind<F, M, W> for ValueAndGradAux
where
    F: Function<M>,
    F::Out: LossAndAux,
    W: Choice<F, M>,
{
    type Args = F::Args;
    type Out = (F::Out, W::Point);
    type Signature = M;
    const SEVERAL: bool = F::SEVERAL;

    fn apply(f: &F, args: F::Args) -> Result<Self::Out> {
        let derivative = Derivative::ValueAndGrad;
        let name = "value_and_grad_aux";
        let mut applied = apply_derivative::<F, M, W>(name, derivative, f, args, &[])?;
        Ok((applied.out()?, applied.point()?))
    }
}

impl<F, M, W> Kind<F, M, W> for Vjp
where
    F: Function<M>,
    W: Choice<F, M>,
{
    type Args = (F::Args, F::Out);
    type Out = (F::Out, W::Point);
    type Signature = fn(F::Args, F::Out) -> Self::Out;
    const SEVERAL: bool = true;

    fn apply(f: &F, (args, cotangent): Self::Args) -> Result<Self::Out> {
        let seeds = raws(&cotangent);
        let mut applied: Applied<F, M, W> =
            apply_derivative("vjp", Derivative::Vjp, f, args, &seeds)?;
        Ok((applied.out()?, applied.point()?))
    }
}

impl<F, M, W> Kind<F, M, W> for Jvp
where
    F: Function<M>,
    W: Choice<F, M>,
{
    type Args = (F::Args, W::Point);
    type Out = (F::Out, F::Out);
    type Signature = fn(F::Args, W::Point) -> Self::Out;
    const SEVERAL: bool = true;

    fn apply(f: &F, (args, tangent): Self::Args) -> Result<Self::Out> {
        let tangents = raws(&tangent);
        let mut applied: Applied<F, M, W> =
            apply_derivative("jvp", Derivative::Jvp, f, args, &tangents)?;
        Ok((applied.out()?, applied.out()?))
    }
}

/// See [`jet`](crate::jet).
#[derive(Clone, Copy, Debug)]
pub struct Jet<const ORDER: usize>;

impl<F, M, W, const ORDER: usize> Kind<F, M, W> for Jet<ORDER>
where
    F: Function<M>,
    W: Choice<F, M>,
{
    type Args = (F::Args, W::Point);
    type Out = (F::Out, F::Out);
    type Signature = fn(F::Args, W::Point) -> Self::Out;
    const SEVERAL: bool = true;

    fn apply(f: &F, (args, direction): Self::Args) -> Result<Self::Out> {
        let directions = raws(&direction);
        let how = (Derivative::Jvp, Some(Taylor::Jet(ORDER)));
        let mut applied: Applied<F, M, W> = apply_series("jet", how, f, args, &directions)?;
        Ok((applied.out()?, applied.rows_of_out(ORDER)?))
    }
}

/// See [`laplacian`](crate::laplacian).
#[derive(Clone, Copy, Debug)]
pub struct Laplacian;

impl<F, M, W> Kind<F, M, W> for Laplacian
where
    F: Function<M>,
    W: Choice<F, M>,
{
    type Args = F::Args;
    type Out = F::Out;
    type Signature = M;
    const SEVERAL: bool = F::SEVERAL;

    fn apply(f: &F, args: F::Args) -> Result<Self::Out> {
        let how = (Derivative::JacFwd, Some(Taylor::Laplacian));
        let mut applied: Applied<F, M, W> = apply_series("laplacian", how, f, args, &[])?;
        applied.out()
    }
}

macro_rules! jacobians {
    ($($kind:ident $name:literal;)*) => { $(
        impl<F, M, W> Kind<F, M, W> for $kind
        where
            F: Function<M>,
            W: Choice<F, M>,
        {
            type Args = F::Args;
            type Out = <F::Out as Arrays>::Of<W::Point>;
            type Signature = M;
            const SEVERAL: bool = F::SEVERAL;

            fn apply(f: &F, args: F::Args) -> Result<Self::Out> {
                let mut applied: Applied<F, M, W> =
                    apply_derivative($name, Derivative::$kind, f, args, &[])?;
                applied.jacobian()
            }
        }
    )* };
}

jacobians! {
    JacRev "jacrev";
    JacFwd "jacfwd";
    Jacobian "jacobian";
}

impl<F, M, W> Kind<F, M, W> for Hvp
where
    F: Function<M>,
    F::Out: Loss,
    W: Choice<F, M>,
{
    type Args = (F::Args, W::Point);
    type Out = W::Point;
    type Signature = fn(F::Args, W::Point) -> Self::Out;
    const SEVERAL: bool = true;

    fn apply(f: &F, (args, tangent): Self::Args) -> Result<Self::Out> {
        let tangents = raws(&tangent);
        let mut applied: Applied<F, M, W> =
            apply_derivative("hvp", Derivative::Hvp, f, args, &tangents)?;
        applied.point()
    }
}

impl<F, M, W> Kind<F, M, W> for Hessian
where
    F: Function<M>,
    F::Out: Loss,
    W: Choice<F, M>,
{
    type Args = F::Args;
    type Out = <W::Point as Arrays>::Of<W::Point>;
    type Signature = M;
    const SEVERAL: bool = F::SEVERAL;

    fn apply(f: &F, args: F::Args) -> Result<Self::Out> {
        let mut applied: Applied<F, M, W> =
            apply_derivative("hessian", Derivative::Hessian, f, args, &[])?;
        applied.hessian()
    }
}
