//! Arithmetic on tensors: operators, and their forms that give a `Result`.

use std::ops::{
    Add, AddAssign, BitAnd, BitOr, BitXor, Div, DivAssign, Mul, MulAssign, Neg, Not, Rem,
    RemAssign, Sub, SubAssign,
};

use cotan_array::Shape;
use cotan_ir::{Type, broadcast_dims};

use super::Tensor;
use crate::element::{Arithmetic, Element, Number};
use crate::error::{Error, Result};

/// What stands beside a tensor of `T` in its arithmetic: a tensor, a reference to one, or a number.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand beside a tensor of `{T}`",
    label = "not a tensor or number of `{T}`",
    note = "element types do not mix: convert a tensor by `.cast::<{T}>()`, and write numbers as \
            those of the element type, `2.0` for floats and `2` for integers"
)]
pub trait Beside<T: Element> {
    /// The tensor.
    fn tensor(self) -> Tensor<T>;
}

impl<T: Element> Beside<T> for Tensor<T> {
    fn tensor(self) -> Tensor<T> {
        self
    }
}

impl<T: Element> Beside<T> for &Tensor<T> {
    fn tensor(self) -> Tensor<T> {
        self.clone()
    }
}

impl<T: Element> Beside<T> for T {
    fn tensor(self) -> Tensor<T> {
        self.into()
    }
}

/// Two shapes that do not fit.
fn unfit<T: Element, U: Element>(op: &str, a: &Tensor<T>, b: &Tensor<U>) -> Error {
    let (a, b) = (Type::of(a.as_array()), Type::of(b.as_array()));
    Error::type_error(op, format!("shapes that do not fit: {a} and {b}"))
        .with_hint("shapes fit when, from the last axis back, sizes are equal, 1 or missing")
}

/// Element by element, under shapes that fit as those of staged arrays do.
pub(super) fn zipped<T: Element, U: Element, V: Element>(
    op: &'static str,
    a: &Tensor<T>,
    b: &Tensor<U>,
    mut f: impl FnMut(T, U) -> V,
) -> Result<Tensor<V>> {
    let Some(dims) = broadcast_dims(a.shape(), b.shape()) else { return Err(unfit(op, a, b)) };
    let shape = Shape::new(op, &dims)?;
    let elements: Vec<V> = match (a.as_slice(), b.as_slice(), a.item(), b.item()) {
        (Some(a), Some(b), _, _) if a.len() == b.len() => {
            a.iter().zip(b).map(|(&x, &y)| f(x, y)).collect()
        }
        (_, _, _, Some(y)) if a.size() == shape.numel() => a.iter().map(|x| f(x, y)).collect(),
        (_, _, Some(x), _) if b.size() == shape.numel() => b.iter().map(|y| f(x, y)).collect(),
        _ => {
            let (a, b) = (a.broadcast_to(&dims)?, b.broadcast_to(&dims)?);
            a.iter().zip(b.iter()).map(|(x, y)| f(x, y)).collect()
        }
    };
    Ok(Tensor::wrap(V::wrap(shape, elements)))
}

/// The result of an operator, which has no other way to tell an error.
#[track_caller]
#[allow(clippy::panic, reason = "operators give no `Result`; their `try_` forms do")]
fn settled<T>(result: Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

macro_rules! binary {
    ($($trait:ident $method:ident $try_method:ident $assign:ident $assign_method:ident $f:ident
       $symbol:literal;)*) => { $(
        impl<T: Number> Tensor<T> {
            #[doc = concat!("`self ", $symbol, " other`, element by element. An error if the shapes \
                            do not fit, where the operator panics.")]
            pub fn $try_method(&self, other: impl Beside<T>) -> Result<Tensor<T>> {
                zipped(stringify!($method), self, &other.tensor(), T::$f)
            }
        }

        /// Element by element. Panics if the shapes do not fit.
        impl<T: Number, O: Beside<T>> $trait<O> for Tensor<T> {
            type Output = Tensor<T>;
            #[track_caller]
            fn $method(self, other: O) -> Tensor<T> {
                settled(self.$try_method(other))
            }
        }

        /// Element by element. Panics if the shapes do not fit.
        impl<T: Number, O: Beside<T>> $trait<O> for &Tensor<T> {
            type Output = Tensor<T>;
            #[track_caller]
            fn $method(self, other: O) -> Tensor<T> {
                settled(self.$try_method(other))
            }
        }

        /// Element by element. Panics if the shapes do not fit, and if the result has another shape.
        impl<T: Number, O: Beside<T>> $assign<O> for Tensor<T> {
            #[track_caller]
            fn $assign_method(&mut self, other: O) {
                settled(self.assign(stringify!($assign_method), other.tensor(), T::$f));
            }
        }

        binary!(@left $trait $method $f: f64 f32 i64);
    )* };
    (@left $trait:ident $method:ident $f:ident: $($t:ty)*) => { $(
        /// The number with each element.
        impl $trait<Tensor<$t>> for $t {
            type Output = Tensor<$t>;
            fn $method(self, other: Tensor<$t>) -> Tensor<$t> {
                other.map(|x| self.$f(x))
            }
        }

        /// The number with each element.
        impl $trait<&Tensor<$t>> for $t {
            type Output = Tensor<$t>;
            fn $method(self, other: &Tensor<$t>) -> Tensor<$t> {
                other.map(|x| self.$f(x))
            }
        }
    )* };
}

binary! {
    Add add try_add AddAssign add_assign plus "+";
    Sub sub try_sub SubAssign sub_assign minus "-";
    Mul mul try_mul MulAssign mul_assign times "*";
    Div div try_div DivAssign div_assign over "/";
    Rem rem try_rem RemAssign rem_assign modulo "%";
}

macro_rules! logical {
    ($($trait:ident $method:ident;)*) => { $(
        /// Element by element. Panics if the shapes do not fit.
        impl<O: Beside<bool>> $trait<O> for Tensor<bool> {
            type Output = Tensor<bool>;
            #[track_caller]
            fn $method(self, other: O) -> Tensor<bool> {
                settled(zipped(stringify!($method), &self, &other.tensor(), $trait::$method))
            }
        }

        /// Element by element. Panics if the shapes do not fit.
        impl<O: Beside<bool>> $trait<O> for &Tensor<bool> {
            type Output = Tensor<bool>;
            #[track_caller]
            fn $method(self, other: O) -> Tensor<bool> {
                settled(zipped(stringify!($method), self, &other.tensor(), $trait::$method))
            }
        }
    )* };
}

logical! {
    BitAnd bitand;
    BitOr bitor;
    BitXor bitxor;
}

impl Not for Tensor<bool> {
    type Output = Tensor<bool>;
    fn not(self) -> Tensor<bool> {
        self.map(|x| !x)
    }
}

impl Not for &Tensor<bool> {
    type Output = Tensor<bool>;
    fn not(self) -> Tensor<bool> {
        self.map(|x| !x)
    }
}

impl<T: Number> Neg for Tensor<T> {
    type Output = Tensor<T>;
    fn neg(self) -> Tensor<T> {
        self.map(T::negated)
    }
}

impl<T: Number> Neg for &Tensor<T> {
    type Output = Tensor<T>;
    fn neg(self) -> Tensor<T> {
        self.map(T::negated)
    }
}

impl<T: Element> Tensor<T> {
    /// Changes the elements where they lie, if nothing else shares them.
    fn assign(&mut self, op: &'static str, other: Tensor<T>, f: fn(T, T) -> T) -> Result<()> {
        if broadcast_dims(self.shape(), other.shape()).as_deref() != Some(self.shape()) {
            return Err(unfit(op, self, &other));
        }
        let other = other.broadcast_to(self.shape())?;
        for (x, y) in self.as_mut_slice().iter_mut().zip(other.iter()) {
            *x = f(*x, y);
        }
        Ok(())
    }

    /// Each pair of elements of two tensors by a function, under shapes that fit as those of
    /// operators do: from the last axis back, sizes are equal, 1 or missing.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// let (a, b) = (Tensor::from([[1.0, 5.0], [7.0, 3.0]]), Tensor::from([4.0, 4.0]));
    /// assert_eq!(a.zip(&b, f64::max)?, Tensor::from([[4.0, 5.0], [7.0, 4.0]]));
    /// let error = a.zip(&Tensor::from([1.0, 2.0, 3.0]), f64::max).unwrap_err();
    /// assert_eq!(error.message(), "shapes that do not fit: [2, 2]f64 and [3]f64");
    /// # Ok::<(), cotan::Error>(())
    /// ```
    pub fn zip<U: Element, V: Element>(
        &self,
        other: &Tensor<U>,
        f: impl FnMut(T, U) -> V,
    ) -> Result<Tensor<V>> {
        zipped("zip", self, other, f)
    }
}

macro_rules! comparisons {
    ($($method:ident $symbol:tt;)*) => {
        /// Comparisons, element by element. `==` and `!=` compare tensors as a whole.
        impl<T: Element> Tensor<T> { $(
            #[doc = concat!("Where `self ", stringify!($symbol), " other`. An error if the shapes \
                            do not fit.")]
            pub fn $method(&self, other: impl Beside<T>) -> Result<Tensor<bool>> {
                zipped(stringify!($method), self, &other.tensor(), |x, y| x $symbol y)
            }
        )* }
    };
}

comparisons! {
    lt <;
    le <=;
    gt >;
    ge >=;
    equal ==;
    not_equal !=;
}

impl<T: Element> Tensor<T> {
    /// Whether the shapes are equal and each element is within a tolerance of the other's:
    /// $|x - y| \le a + r\,|y|$, with the relative tolerance $r$ and the absolute one $a$. Equal
    /// elements are, also infinite ones; NaN is close to nothing.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// let (a, b) = (Tensor::from([1.0, 2.0]), Tensor::from([1.0, 2.0 + 1e-9]));
    /// assert!(a.all_close(&b, 1e-8, 0.0) && a != b);
    /// assert!(!a.all_close(&Tensor::from(1.0), 1e-8, 0.0));
    /// ```
    #[doc(alias = "allclose")]
    pub fn all_close(&self, other: &Tensor<T>, relative: f64, absolute: f64) -> bool {
        let close = |x: T, y: T| {
            let (a, b) = (x.to_f64(), y.to_f64());
            x == y || (a - b).abs() <= absolute + relative * b.abs()
        };
        self.shape() == other.shape() && self.iter().zip(other.iter()).all(|(x, y)| close(x, y))
    }
}

impl Tensor<bool> {
    /// `a` where this holds, `b` elsewhere; an error if the shapes do not fit.
    ///
    /// ```
    /// use cotan::Tensor;
    ///
    /// let x = Tensor::from([1.0, -2.0, 3.0]);
    /// assert_eq!(x.gt(0.0)?.select(&x, 0.0)?, Tensor::from([1.0, 0.0, 3.0]));
    /// # Ok::<(), cotan::Error>(())
    /// ```
    #[doc(alias = "where")]
    pub fn select<T: Element>(&self, a: impl Beside<T>, b: impl Beside<T>) -> Result<Tensor<T>> {
        let (a, b) = (a.tensor(), b.tensor());
        let common = broadcast_dims(a.shape(), b.shape()).ok_or_else(|| unfit("select", &a, &b))?;
        let (a, b) = (a.broadcast_to(&common)?, b.broadcast_to(&common)?);
        let dims =
            broadcast_dims(self.shape(), &common).ok_or_else(|| unfit("select", self, &a))?;
        let (mask, a, b) =
            (self.broadcast_to(&dims)?, a.broadcast_to(&dims)?, b.broadcast_to(&dims)?);
        let pairs = a.iter().zip(b.iter());
        let chosen = mask.iter().zip(pairs).map(|(holds, (a, b))| if holds { a } else { b });
        Tensor::new(dims, chosen.collect())
    }
}
