//! Equations, linear systems given by products, differential equations, integrals.

use cotan_ir::{Builder, Extracted, Param, TermId, Type};
use cotan_library::solve;
pub use cotan_library::solve::{Krylov, Method, Ode, Stop};

use super::replaced;
use crate::arr::Arr;
use crate::element::Float;
use crate::error::{Error, Result};
use crate::stage::{self, Raw, emit_all, lambda};
use crate::structure::{Arrays, Tree, raws};

/// The `x` with `f(x) = 0`, by Newton's method from `x0` on, a structure of floats of one type.
///
/// A step that does not bring the residual down is halved. The result is NaN where the method does not
/// converge in [`Stop::at_most`] steps, 100 if not given. Its derivatives by all that `f` uses are
/// those of the solution, in both modes and of any order, and cost linear systems with the Jacobian;
/// they are infinite or NaN where that is singular. By `x0` they are 0.
///
/// ```
/// use cotan::prelude::*;
/// use cotan::{Stop, root};
///
/// let f = |a: Arr<f64>| root(constant(1.0), Stop::default(), |x| x * x - a);
/// let (x, dx) = value_and_grad(f).call(4.0)?;
/// assert!((x.item().unwrap() - 2.0).abs() < 1e-12);
/// assert!((dx.item().unwrap() - 0.25).abs() < 1e-12);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn root<X: Arrays<Staged = X>>(x0: X, stop: Stop, f: impl FnOnce(X) -> X) -> X {
    stage::operation("root", || endomorphic("root", x0, f, |b, f, x| solve::root(b, f, x, stop)))
}

/// The `x` with `x = f(x)`, by `x = f(x)` from `x0` on, at most 1000 times if not given; NaN where that
/// does not converge. Derivatives are those of the solution, by the same iteration of the linearised
/// `f`.
///
/// ```
/// use cotan::prelude::*;
/// use cotan::{Stop, fixed_point};
///
/// let f = jit(|x: Arr<f64>| fixed_point(x, Stop::default(), |x| x.cos()));
/// assert!((f.call(1.0)?.item().unwrap() - 0.7390851332).abs() < 1e-9);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn fixed_point<X: Arrays<Staged = X>>(x0: X, stop: Stop, f: impl FnOnce(X) -> X) -> X {
    stage::operation("fixed_point", || {
        endomorphic("fixed_point", x0, f, |b, f, x| solve::fixed_point(b, f, x, stop))
    })
}

/// An `x` where the gradient of `f` is 0, by Newton's method with a line search downwards from `x0`, in
/// at most 200 steps if not given; NaN where that does not converge. Derivatives are those of the
/// stationary point.
///
/// ```
/// use cotan::prelude::*;
/// use cotan::{Stop, minimize};
///
/// let f = |a: Arr<f64>| minimize(constant(0.0), Stop::default(), |x: Arr<f64>| (x - a).cosh());
/// assert!((grad(f).call(3.0)?.item().unwrap() - 1.0).abs() < 1e-9);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn minimize<X: Arrays<Staged = X>, T: Float>(
    x0: X,
    stop: Stop,
    f: impl FnOnce(X) -> Arr<T>,
) -> X {
    stage::operation("minimize", || {
        let tree = x0.tree();
        let staged = extracted("minimize", types(&tree), |vars| {
            Ok(vec![stage::user_code(|| f(replaced(&tree, vars.to_vec()))).raw])
        });
        let made = staged.and_then(|f| {
            applied("minimize", f, raws(&x0), |b, f, x| solve::minimize(b, f, x, stop))
        });
        refilled(&tree, made, x0)
    })
}

/// The `x` with `a(x) = b`, where the function `a` is linear, by a Krylov method; at most ten times as
/// many steps as there are unknowns if not given. NaN where it does not converge to the tolerance
/// relative to `b`. Derivatives solve such systems with `a` and its transpose, which is derived.
///
/// ```
/// use cotan::prelude::*;
/// use cotan::{Krylov, Stop, linear_solve};
///
/// let f = jit(|b: Arr<f64>| {
///     linear_solve(Krylov::Cg, b, Stop::default(), |x: Arr<f64>| x * constant([2.0, 4.0]))
/// });
/// assert_eq!(f.call([2.0, 2.0])?.to_vec(), [1.0, 0.5]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn linear_solve<X: Arrays<Staged = X>>(
    method: Krylov,
    b: X,
    stop: Stop,
    a: impl FnOnce(X) -> X,
) -> X {
    stage::operation("linear_solve", || {
        endomorphic("linear_solve", b, a, |b, a, right| {
            solve::linear_solve(b, method, a, right, stop)
        })
    })
}

/// The solution of `y' = f(t, y)` at the times, `y0` at the first of them: the structure of `y0` with
/// one more outermost axis. See [`Ode`] for methods, accuracy and the two ways to derivatives. NaN from
/// the time on that is not reached in as many steps as are allowed.
///
/// ```
/// use cotan::prelude::*;
/// use cotan::{Method, Ode, Stop, odeint};
///
/// let ode = Ode { method: Method::Dopri5, stop: Stop::default(), continuous: false };
/// let decay = |rate: Arr<f64>| {
///     odeint(constant(1.0), constant([0.0, 1.0, 2.0]), ode, |_, y| -(rate * y)).at(2)
/// };
/// let (y, dy) = value_and_grad(decay).call(0.5)?;
/// assert!((y.item().unwrap() - (-1f64).exp()).abs() < 1e-7);
/// assert!((dy.item().unwrap() + 2.0 * (-1f64).exp()).abs() < 1e-6);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn odeint<Y: Arrays<Staged = Y>, T: Float>(
    y0: Y,
    times: Arr<T>,
    ode: Ode,
    f: impl FnOnce(Arr<T>, Y) -> Y,
) -> Y {
    let name = "odeint";
    stage::operation(name, || {
        let tree = y0.tree();
        let time = Tree::Leaf(Type::scalar(T::DTYPE));
        let all = [types(&time), types(&tree)].concat();
        let staged = extracted(name, all, |vars| {
            let (t, y) = vars.split_at(1);
            let t: Arr<T> = replaced(&time, t.to_vec());
            let slope = stage::user_code(|| f(t, replaced(&tree, y.to_vec())));
            expect_alike(name, &tree, &slope.tree())?;
            Ok(raws(&slope))
        });
        let operands = [raws(&y0), vec![times.raw]].concat();
        let made = staged.and_then(|f| {
            applied(name, f, operands, |b, f, ts| match ts {
                [y0 @ .., times] => solve::odeint(b, f, y0, *times, ode),
                [] => Err(cotan_ir::Error::internal("times are missing")),
            })
        });
        refilled(&tree, made, y0)
    })
}

/// The integral of `f` between two limits, by Kronrod's rule on intervals that are bisected at most 50
/// times if not given; NaN where that is not enough. Differentiable by the limits and by what `f` uses.
///
/// ```
/// use cotan::prelude::*;
/// use cotan::{Stop, quadrature};
///
/// let f = |b: Arr<f64>| quadrature(constant(0.0), b, Stop::default(), |x: Arr<f64>| x * x);
/// let (value, slope) = value_and_grad(f).call(3.0)?;
/// assert!((value.item().unwrap() - 9.0).abs() < 1e-12);
/// assert!((slope.item().unwrap() - 9.0).abs() < 1e-12);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn quadrature<T: Float, Y: Arrays<Staged = Y>>(
    a: Arr<T>,
    b: Arr<T>,
    stop: Stop,
    f: impl FnOnce(Arr<T>) -> Y,
) -> Y {
    stage::operation("quadrature", || {
        integral("quadrature", (a, b), f, |b, f, limits| solve::quadrature(b, f, limits, stop))
    })
}

/// The integral of `f` between two limits by Gauss' rule of so many points, exact for polynomials of a
/// degree below twice that.
///
/// ```
/// use cotan::prelude::*;
/// use cotan::gauss_legendre;
///
/// let f = jit(|b: Arr<f64>| gauss_legendre(constant(0.0), b, 2, |x: Arr<f64>| x * x * x));
/// assert!((f.call(2.0)?.item().unwrap() - 4.0).abs() < 1e-14);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn gauss_legendre<T: Float, Y: Arrays<Staged = Y>>(
    a: Arr<T>,
    b: Arr<T>,
    points: usize,
    f: impl FnOnce(Arr<T>) -> Y,
) -> Y {
    stage::operation("gauss_legendre", || {
        integral("gauss_legendre", (a, b), f, |b, f, limits| {
            solve::gauss_legendre(b, f, limits, points)
        })
    })
}

#[track_caller]
fn integral<T: Float, Y: Arrays<Staged = Y>>(
    name: &'static str,
    (a, b): (Arr<T>, Arr<T>),
    f: impl FnOnce(Arr<T>) -> Y,
    make: impl FnOnce(&mut Builder, &Extracted, (TermId, TermId)) -> cotan_ir::Result<Vec<TermId>>,
) -> Y {
    let scalar = Tree::Leaf(Type::scalar(T::DTYPE));
    let mut like = None;
    let staged = extracted(name, types(&scalar), |vars| {
        let value = stage::user_code(|| f(replaced(&scalar, vars.to_vec())));
        like = Some(value.tree());
        Ok(raws(&value))
    });
    let made = staged.and_then(|f| {
        applied(name, f, vec![a.raw, b.raw], |b, f, ts| match *ts {
            [from, to] => make(b, f, (from, to)),
            _ => Err(cotan_ir::Error::internal("limits are missing")),
        })
    });
    match (made, like) {
        (Ok(made), Some(tree)) => replaced(&tree, made),
        (Ok(_), None) => Y::nothing(),
        (Err(error), _) => {
            stage::fail(error);
            Y::nothing()
        }
    }
}

type Solver<'a> = &'a dyn Fn(&mut Builder, &Extracted, &[TermId]) -> cotan_ir::Result<Vec<TermId>>;

/// What a solver makes of a function of a structure to one like it.
#[track_caller]
fn endomorphic<X: Arrays<Staged = X>>(
    name: &'static str,
    x: X,
    f: impl FnOnce(X) -> X,
    make: impl Fn(&mut Builder, &Extracted, &[TermId]) -> cotan_ir::Result<Vec<TermId>>,
) -> X {
    let tree = x.tree();
    let staged = extracted(name, types(&tree), |vars| {
        let made = stage::user_code(|| f(replaced(&tree, vars.to_vec())));
        expect_alike(name, &tree, &made.tree())?;
        Ok(raws(&made))
    });
    let made = staged.and_then(|f| applied(name, f, raws(&x), &make as Solver<'_>));
    refilled(&tree, made, x)
}

fn types(tree: &Tree) -> Vec<Param> {
    tree.leaves("").into_iter().map(|(_, ty)| Param::Value(ty)).collect()
}

fn expect_alike(name: &'static str, wanted: &Tree, given: &Tree) -> Result<()> {
    match wanted.difference(given, "") {
        None => Ok(()),
        Some((_, wanted, given)) => {
            let message = format!("the function takes {wanted} and gives {given}");
            let hint = "it must give the structure and types that it takes";
            Err(Error::type_error(name, message).with_hint(hint))
        }
    }
}

/// A function as a program, and what it captures.
#[track_caller]
fn extracted(
    name: &'static str,
    params: Vec<Param>,
    body: impl FnOnce(&[Raw]) -> Result<Vec<Raw>>,
) -> Result<(cotan_ir::Program, Vec<Raw>)> {
    let region = lambda(name, &params, |vars| match body(vars) {
        Ok(results) => results,
        Err(error) => {
            stage::fail(error);
            Vec::new()
        }
    });
    stage::extract(region.ok_or_else(Error::recorded)?)
}

/// What a solver makes.
#[track_caller]
fn applied(
    name: &'static str,
    (program, captures): (cotan_ir::Program, Vec<Raw>),
    operands: Vec<Raw>,
    make: impl FnOnce(&mut Builder, &Extracted, &[TermId]) -> cotan_ir::Result<Vec<TermId>>,
) -> Result<Vec<Raw>> {
    let all = [&captures[..], &operands].concat();
    let made = emit_all(name, &all, |b, ts| {
        let (captures, operands) = ts.split_at(captures.len());
        make(b, &Extracted { program, captures: captures.to_vec() }, operands)
    });
    made.ok_or_else(Error::recorded)
}

/// The structure of results, or of the unknown after an error.
#[track_caller]
fn refilled<X: Arrays<Staged = X>>(tree: &Tree, made: Result<Vec<Raw>>, x: X) -> X {
    match made {
        Ok(made) => replaced(tree, made),
        Err(error) => {
            stage::fail(error);
            x
        }
    }
}
