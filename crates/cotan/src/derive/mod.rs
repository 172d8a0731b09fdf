//! Derivatives of functions: `grad` and its relatives.
//!
//! A derivative is a function again, so derivatives nest in any order, stand under `build`, and are
//! compiled like any other. The function is applied to variables in a region of its own; the region
//! becomes a program, that is differentiated as a program, and the result stands where the
//! derivative was applied. There are no tags, and no perturbation to confuse.

mod apply;
mod kinds;

use std::marker::PhantomData;

use crate::error::Result;
use crate::function::{Arg, Choice, Function};
use crate::jit::{Jit, Via, jit};
pub(crate) use apply::{apply_untyped, differentiable, program_at};
pub use kinds::{
    Grad, GradAux, Hessian, Hvp, JacFwd, JacRev, Jacobian, Jet, Jvp, Kind, Laplacian, ValueAndGrad,
    ValueAndGradAux, Vjp,
};

/// A derivative of a function, itself a function.
pub struct Derived<D, F, M, W> {
    f: F,
    types: PhantomData<fn(D, M, W)>,
}

impl<D, F, M, W> std::fmt::Debug for Derived<D, F, M, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(std::any::type_name::<D>())
    }
}

/// A derivative that can be called: what [`grad`] and its relatives give.
pub type DerivedJit<D, F, M, W> = Jit<Derived<D, F, M, W>, Via<<D as Kind<F, M, W>>::Signature>>;

#[diagnostic::do_not_recommend]
impl<D, F, M, W> Function<Via<D::Signature>> for Derived<D, F, M, W>
where
    F: Function<M>,
    W: Choice<F, M>,
    D: Kind<F, M, W>,
{
    type Args = D::Args;
    type Out = D::Out;
    const SEVERAL: bool = D::SEVERAL;

    fn apply(&self, args: D::Args) -> Result<D::Out> {
        D::apply(&self.f, args)
    }
}

fn derived<D, F, M, W>(f: F) -> DerivedJit<D, F, M, W>
where
    F: Function<M>,
    W: Choice<F, M>,
    D: Kind<F, M, W>,
{
    jit(Derived { f, types: PhantomData })
}

impl<D, F, M, W, S> Jit<Derived<D, F, M, W>, S>
where
    F: Function<M>,
    Derived<D, F, M, W>: Function<S>,
{
    /// The same derivative by other arguments than the first: `Arg::<1>`, a tuple of several, or
    /// [`AllArgs`](crate::AllArgs).
    ///
    /// ```
    /// use cotan::prelude::*;
    ///
    /// let f = |x: Arr<f64>, y: Arr<f64>| x * x * y;
    /// assert_eq!(grad(f).call((3.0, 4.0))?, 24.0);
    /// assert_eq!(grad(f).wrt(Arg::<1>).call((3.0, 4.0))?, 9.0);
    /// let (dx, dy) = grad(f).wrt((Arg::<0>, Arg::<1>)).call((3.0, 4.0))?;
    /// assert_eq!((dx.item(), dy.item()), (Some(24.0), Some(9.0)));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn wrt<V>(self, _choice: V) -> DerivedJit<D, F, M, V>
    where
        V: Choice<F, M>,
        D: Kind<F, M, V>,
    {
        derived(self.into_function().f)
    }
}

// Written out: messages of the compiler show these bounds, and would show the whole macro. They show
// the comments, too: that is how one who left out the types of a closure learns what to write. The
// first line of that message, "type annotations needed" (E0283), is the compiler's own: the attributes
// `diagnostic::on_unimplemented` and its relatives speak where a type is known and lacks a trait, and
// here no type is known. A bound from which the type of the argument could be inferred would have to
// name one, and `grad` takes functions of arrays, tuples and structs of either precision.

/// The gradient of a function to a float scalar, by its first argument (see
/// [`wrt`](Jit::wrt)). It has the structure of that argument.
///
/// A closure says the types of its arguments, `|x: Arr<f64>|`: functions of any structure of arrays
/// are differentiated, so there is nothing from which Rust could infer them.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = |x: Arr<f64>| (x * x).sum();
/// assert_eq!(grad(f).call([1.0, 2.0, 3.0])?.to_vec(), [2.0, 4.0, 6.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn grad<F, M>(f: F) -> DerivedJit<Grad, F, M, Arg<0>>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>,
    Grad: Kind<F, M, Arg<0>>, // say the types of arguments: |x: Arr<f64>|
{
    derived(f)
}

/// The value of a function to a float scalar and its gradient.
///
/// ```
/// use cotan::prelude::*;
///
/// let (y, dx) = value_and_grad(|x: Arr<f64>| x.sin()).call(0.0)?;
/// assert_eq!((y.item(), dx.item()), (Some(0.0), Some(1.0)));
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn value_and_grad<F, M>(f: F) -> DerivedJit<ValueAndGrad, F, M, Arg<0>>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>,
    ValueAndGrad: Kind<F, M, Arg<0>>, // say the types of arguments: |x: Arr<f64>|
{
    derived(f)
}

/// The gradient of the first of two results, a float scalar; the second is handed through.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = |x: Arr<f64>| ((x * x).sum(), x + 1.0);
/// let (dx, aux) = grad_aux(f).call([1.0, 2.0])?;
/// assert_eq!((dx.to_vec(), aux.to_vec()), (vec![2.0, 4.0], vec![2.0, 3.0]));
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn grad_aux<F, M>(f: F) -> DerivedJit<GradAux, F, M, Arg<0>>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>,
    GradAux: Kind<F, M, Arg<0>>, // say the types of arguments: |x: Arr<f64>|
{
    derived(f)
}

/// Both results of a function, and the gradient of the first, a float scalar.
pub fn value_and_grad_aux<F, M>(f: F) -> DerivedJit<ValueAndGradAux, F, M, Arg<0>>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>,
    ValueAndGradAux: Kind<F, M, Arg<0>>, // say the types of arguments: |x: Arr<f64>|
{
    derived(f)
}

/// The value, and the product of a cotangent with the Jacobian: a function of two arguments, the
/// point and a cotangent of the result. Where `f` takes several arguments, the point is the
/// tuple of them.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = |x: Arr<f64>| x * x;
/// let (y, dx) = vjp(f).call(([1.0, 2.0], [1.0, 10.0]))?;
/// assert_eq!((y.to_vec(), dx.to_vec()), (vec![1.0, 4.0], vec![2.0, 40.0]));
///
/// let product = |x: Arr<f64>, y: Arr<f64>| x * y;
/// let (_, (dx, dy)) = vjp(product).wrt(AllArgs).call(((2.0, 3.0), 1.0))?;
/// assert_eq!((dx.item(), dy.item()), (Some(3.0), Some(2.0)));
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn vjp<F, M>(f: F) -> DerivedJit<Vjp, F, M, Arg<0>>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>,
    Vjp: Kind<F, M, Arg<0>>, // say the types of arguments: |x: Arr<f64>|
{
    derived(f)
}

/// The value, and the product of the Jacobian with a tangent: a function of two arguments, the
/// point and a tangent. Forward mode.
///
/// Where `f` takes several arguments, the point is the tuple of them. The tangent has the
/// structure of what is differentiated by, as the gradient has: by default the first argument,
/// with `wrt(AllArgs)` the tuple of all. So `jax.jvp(f, (x, y), (dx, dy))` is
/// `jvp(f).wrt(AllArgs).call(((x, y), (dx, dy)))`.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = |x: Arr<f64>| x * x;
/// let (y, dy) = jvp(f).call(([1.0, 2.0], [1.0, 10.0]))?;
/// assert_eq!((y.to_vec(), dy.to_vec()), (vec![1.0, 4.0], vec![2.0, 40.0]));
///
/// let product = |x: Arr<f64>, y: Arr<f64>| x * y;
/// let (_, along_x) = jvp(product).call(((2.0, 3.0), 1.0))?;
/// let (_, along_both) = jvp(product).wrt(AllArgs).call(((2.0, 3.0), (1.0, 10.0)))?;
/// assert_eq!((along_x.item(), along_both.item()), (Some(3.0), Some(23.0)));
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn jvp<F, M>(f: F) -> DerivedJit<Jvp, F, M, Arg<0>>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>,
    Jvp: Kind<F, M, Arg<0>>, // say the types of arguments: |x: Arr<f64>|
{
    derived(f)
}

/// The Taylor coefficients of a function along a line: a function of two arguments, the point `x` and
/// a direction `v`, that gives `f(x)` and the coefficients of `t` to the powers 1 to `ORDER` of
/// `f(x + t v)`, on a new first axis. The cost grows with the square of the order at most, where
/// nested derivatives double with each order. Point and direction are as for [`jvp`].
///
/// ```
/// use cotan::prelude::*;
///
/// let f = |x: Arr<f64>| x * x * x;
/// let (y, c) = jet::<3, _, _>(f).call((2.0, 1.0))?;
/// assert_eq!((y.item(), c.to_vec()), (Some(8.0), vec![12.0, 6.0, 1.0]));
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn jet<const ORDER: usize, F, M>(f: F) -> DerivedJit<Jet<ORDER>, F, M, Arg<0>>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>,
    Jet<ORDER>: Kind<F, M, Arg<0>>, // say the types of arguments: |x: Arr<f64>|
{
    derived(f)
}

/// The Laplacian of each result: the sum of its second derivatives by all elements of the argument, by
/// series of order 2 along all unit vectors in one program.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = |x: Arr<f64>| (x * x * x).sum();
/// assert_eq!(laplacian(f).call([1.0, 2.0])?, 18.0);
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn laplacian<F, M>(f: F) -> DerivedJit<Laplacian, F, M, Arg<0>>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>,
    Laplacian: Kind<F, M, Arg<0>>, // say the types of arguments: |x: Arr<f64>|
{
    derived(f)
}

/// The Jacobian in reverse mode: for each result the structure of the argument, with the axes
/// of the result before those of the argument. For few results and many arguments.
pub fn jacrev<F, M>(f: F) -> DerivedJit<JacRev, F, M, Arg<0>>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>,
    JacRev: Kind<F, M, Arg<0>>, // say the types of arguments: |x: Arr<f64>|
{
    derived(f)
}

/// The Jacobian in forward mode. For many results and few arguments.
pub fn jacfwd<F, M>(f: F) -> DerivedJit<JacFwd, F, M, Arg<0>>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>,
    JacFwd: Kind<F, M, Arg<0>>, // say the types of arguments: |x: Arr<f64>|
{
    derived(f)
}

/// The Jacobian, in the mode that needs fewer passes.
///
/// ```
/// use cotan::prelude::*;
///
/// let polar = |p: Arr<f64>| {
///     let (r, phi) = (p.at(0), p.at(1));
///     (r * phi.cos(), r * phi.sin())
/// };
/// let (dx, dy) = jacobian(polar).call([2.0, 0.0])?;
/// assert_eq!((dx.to_vec(), dy.to_vec()), (vec![1.0, 0.0], vec![0.0, 2.0]));
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn jacobian<F, M>(f: F) -> DerivedJit<Jacobian, F, M, Arg<0>>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>,
    Jacobian: Kind<F, M, Arg<0>>, // say the types of arguments: |x: Arr<f64>|
{
    derived(f)
}

/// The product of the Hessian of a function to a float scalar with a tangent: a function of two
/// arguments, the point and a tangent, as [`jvp`] is. The tangent and the product have the
/// structure of the gradient.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = |x: Arr<f64>| (x * x * x).sum();
/// assert_eq!(hvp(f).call(([1.0, 2.0], [1.0, 10.0]))?.to_vec(), [6.0, 120.0]);
///
/// // By one of several arguments, and by all.
/// let f = |x: Arr<f64>, y: Arr<f64>| x * x * y;
/// assert_eq!(hvp(f).call(((2.0, 3.0), 1.0))?, 6.0);
/// let (by_x, by_y) = hvp(f).wrt(AllArgs).call(((2.0, 3.0), (1.0, 0.0)))?;
/// assert_eq!((by_x.item(), by_y.item()), (Some(6.0), Some(4.0)));
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn hvp<F, M>(f: F) -> DerivedJit<Hvp, F, M, Arg<0>>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>,
    Hvp: Kind<F, M, Arg<0>>, // say the types of arguments: |x: Arr<f64>|
{
    derived(f)
}

/// The Hessian of a function to a float scalar: the structure of the argument in each leaf of
/// the structure of the argument.
///
/// ```
/// use cotan::prelude::*;
///
/// let f = |x: Arr<f64>| x.at(0) * x.at(0) * x.at(1);
/// assert_eq!(hessian(f).call([3.0, 5.0])?, Tensor::from([[10.0, 6.0], [6.0, 0.0]]));
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn hessian<F, M>(f: F) -> DerivedJit<Hessian, F, M, Arg<0>>
where
    F: Function<M>,
    Arg<0>: Choice<F, M>,
    Hessian: Kind<F, M, Arg<0>>, // say the types of arguments: |x: Arr<f64>|
{
    derived(f)
}
