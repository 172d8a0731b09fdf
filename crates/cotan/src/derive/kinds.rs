//! The kinds of derivatives: what each takes and gives.

use cotan_pipeline::Derivative;

use super::apply::{Applied, apply_derivative};
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

impl<F, M, W, T> Kind<F, M, W> for Grad
where
    T: Float,
    F: Function<M, Out = Arr<T>>,
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

impl<F, M, W, T> Kind<F, M, W> for ValueAndGrad
where
    T: Float,
    F: Function<M, Out = Arr<T>>,
    W: Choice<F, M>,
{
    type Args = F::Args;
    type Out = (Arr<T>, W::Point);
    type Signature = M;
    const SEVERAL: bool = F::SEVERAL;

    fn apply(f: &F, args: F::Args) -> Result<Self::Out> {
        let derivative = Derivative::ValueAndGrad;
        let mut applied = apply_derivative::<F, M, W>("value_and_grad", derivative, f, args, &[])?;
        Ok((applied.out()?, applied.point()?))
    }
}

impl<F, M, W, T, X> Kind<F, M, W> for GradAux
where
    T: Float,
    X: Arrays,
    F: Function<M, Out = (Arr<T>, X)>,
    W: Choice<F, M>,
{
    type Args = F::Args;
    type Out = (W::Point, X);
    type Signature = M;
    const SEVERAL: bool = F::SEVERAL;

    fn apply(f: &F, args: F::Args) -> Result<Self::Out> {
        let derivative = Derivative::ValueAndGrad;
        let mut applied = apply_derivative::<F, M, W>("grad_aux", derivative, f, args, &[])?;
        let (_, aux) = applied.out()?;
        Ok((applied.point()?, aux))
    }
}

impl<F, M, W, T, X> Kind<F, M, W> for ValueAndGradAux
where
    T: Float,
    X: Arrays,
    F: Function<M, Out = (Arr<T>, X)>,
    W: Choice<F, M>,
{
    type Args = F::Args;
    type Out = ((Arr<T>, X), W::Point);
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

impl<F, M, W, T> Kind<F, M, W> for Hvp
where
    T: Float,
    F: Function<M, Out = Arr<T>>,
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

impl<F, M, W, T> Kind<F, M, W> for Hessian
where
    T: Float,
    F: Function<M, Out = Arr<T>>,
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
