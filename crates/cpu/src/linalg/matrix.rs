//! Matrices in memory, and what is done with their rows.

use std::ops::{Div, Sub};

use cotan_array::Dtype;

use crate::contract::HasTiles;
use crate::isa::for_each_isa;
use crate::vector::Real;

use super::product::Products;
use super::{Ran, Stopped};

/// Numbers that routines compute with.
pub(super) trait Number:
    HasTiles + Real + PartialOrd + Sub<Output = Self> + Div<Output = Self> + std::fmt::Debug
{
    const ONE: Self;
    const NAN: Self;
    /// The distance from 1 to the next number.
    const UNIT: f64;
    /// Columns up to this length, where the largest element is about 1, have no direction: their
    /// squares leave the range of the type.
    const VANISHING: f64;
    const DTYPE: Dtype;

    fn sqrt(self) -> Self;
    fn abs(self) -> Self;
    fn is_finite(self) -> bool;
    fn wide(self) -> f64;

    /// `to -= factor * from`, element by element.
    ///
    /// # Safety
    /// There are `n` elements at both places, which are apart.
    unsafe fn subtract(to: *mut Self, factor: Self, from: *const Self, n: usize);

    /// The sum of the products of `n` elements.
    ///
    /// # Safety
    /// There are so many at both places, and room for one at `sum`.
    unsafe fn dot(a: *const Self, b: *const Self, n: usize, sum: *mut Self);

    /// `x = cos x - sin y` and `y = sin x + cos y`, element by element, by the sine and the tangent of
    /// half the angle (Rutishauser 1966): what is added is small where the angle is, and so is its
    /// error. A rounded cosine would make both rows longer, by most rotations in the same direction:
    /// after hundreds of them that is more than rounding.
    ///
    /// # Safety
    /// There are `n` elements at both places, which are apart.
    unsafe fn rotate(x: *mut Self, y: *mut Self, sin: Self, half: Self, n: usize);

    /// `x[i] = (x[i] - the sum of t[i, j] x[j] over j before i) / t[i, i]`, for rows of `columns`
    /// elements.
    ///
    /// # Safety
    /// The rows and the matrix have these elements, and are apart.
    unsafe fn substitute(t: TriangularBlock<Self>, x: *mut Self, row: usize, columns: usize);
}

/// A small triangle.
#[derive(Clone, Copy)]
pub(super) struct TriangularBlock<E> {
    pub(super) matrix: Matrix<E>,
    pub(super) n: usize,
    pub(super) lower: bool,
    pub(super) unit: bool,
}

/// A matrix somewhere in memory.
#[derive(Clone, Copy)]
pub(super) struct Matrix<E> {
    pub(super) start: *mut E,
    /// How many elements further the next row is.
    pub(super) row: usize,
    /// How many elements further the next column is.
    pub(super) column: usize,
}

impl<E: Copy> Matrix<E> {
    /// A matrix whose rows lie one after the other.
    pub(super) fn dense(start: *mut E, columns: usize) -> Matrix<E> {
        Matrix { start, row: columns, column: 1 }
    }

    /// The place of an element.
    pub(super) fn at(self, i: usize, j: usize) -> *mut E {
        self.start.wrapping_add(i * self.row + j * self.column)
    }

    /// The part that begins at an element.
    pub(super) fn from(self, i: usize, j: usize) -> Matrix<E> {
        Matrix { start: self.at(i, j), ..self }
    }

    pub(super) fn transposed(self) -> Matrix<E> {
        Matrix { start: self.start, row: self.column, column: self.row }
    }

    /// # Safety
    /// The element exists.
    pub(super) unsafe fn get(self, i: usize, j: usize) -> E {
        // SAFETY: by the contract.
        unsafe { self.at(i, j).read() }
    }

    /// # Safety
    /// The element exists.
    pub(super) unsafe fn set(self, i: usize, j: usize, x: E) {
        // SAFETY: by the contract.
        unsafe { self.at(i, j).write(x) }
    }
}

/// Blocks of so many rows and columns are copied at once, so that memory is read along lines even
/// where the other matrix is transposed.
const COPIED: usize = 16;

/// Copies a matrix to another place.
///
/// # Safety
/// Both have these elements, and are apart; that which is written has neighbours in its rows.
pub(super) unsafe fn copy<E: Number>(
    products: &mut Products<'_, E>,
    from: Matrix<E>,
    to: Matrix<E>,
    rows: usize,
    columns: usize,
) -> Ran {
    for i in (0..rows).step_by(COPIED) {
        let high = COPIED.min(rows - i);
        products.go_on(high * columns)?;
        // SAFETY: by the contract.
        unsafe {
            if from.column == 1 {
                (i..i + high).for_each(|i| {
                    std::ptr::copy_nonoverlapping(from.at(i, 0), to.at(i, 0), columns);
                });
                continue;
            }
            for j in (0..columns).step_by(COPIED) {
                let wide = COPIED.min(columns - j);
                for i in i..i + high {
                    (j..j + wide).for_each(|j| to.set(i, j, from.get(i, j)));
                }
            }
        }
    }
    Ok(())
}

impl<E: Number> Products<'_, E> {
    /// Notes work that is about to be done, in additions.
    pub(super) fn go_on(&mut self, work: usize) -> Ran {
        if (self.go_on)(work) { Ok(()) } else { Err(Stopped) }
    }
}

/// Elements that are computed side by side, in registers.
const WIDE: usize = 32;

/// # Safety
/// As [`Number::substitute`], for some of the columns.
#[inline(always)]
unsafe fn substitute_some<E: Number, const W: usize>(
    t: TriangularBlock<E>,
    x: *mut E,
    row: usize,
    columns: usize,
) {
    for step in 0..t.n {
        let i = if t.lower { step } else { t.n - 1 - step };
        let before = if t.lower { 0..i } else { i + 1..t.n };
        // SAFETY: by the contract.
        unsafe {
            let own = x.add(i * row);
            let mut sums = [E::ZERO; W];
            for (l, sum) in sums.iter_mut().enumerate().take(columns) {
                *sum = own.add(l).read();
            }
            for j in before {
                let (factor, other) = (t.matrix.get(i, j), x.add(j * row));
                for (l, sum) in sums.iter_mut().enumerate().take(columns) {
                    *sum = *sum - factor * other.add(l).read();
                }
            }
            let divisor = if t.unit { E::ONE } else { t.matrix.get(i, i) };
            for (l, &sum) in sums.iter().enumerate().take(columns) {
                own.add(l).write(if t.unit { sum } else { sum / divisor });
            }
        }
    }
}

/// # Safety
/// As [`Number::substitute`].
#[inline(always)]
unsafe fn substitute<E: Number>(t: TriangularBlock<E>, x: *mut E, row: usize, columns: usize) {
    // SAFETY: by the contract.
    unsafe {
        let whole = columns / WIDE * WIDE;
        for first in (0..whole).step_by(WIDE) {
            substitute_some::<E, WIDE>(t, x.add(first), row, WIDE);
        }
        if whole < columns {
            substitute_some::<E, WIDE>(t, x.add(whole), row, columns - whole);
        }
    }
}

/// # Safety
/// As [`Number::subtract`].
#[inline(always)]
unsafe fn subtract<E: Number>(to: *mut E, factor: E, from: *const E, n: usize) {
    for l in 0..n {
        // SAFETY: by the contract.
        unsafe { to.add(l).write(to.add(l).read() - factor * from.add(l).read()) };
    }
}

/// # Safety
/// As [`Number::dot`].
#[inline(always)]
unsafe fn dot<E: Number>(a: *const E, b: *const E, n: usize, sum: *mut E) {
    let mut sums = [E::ZERO; WIDE];
    // SAFETY: by the contract.
    unsafe {
        let whole = n / WIDE * WIDE;
        for first in (0..whole).step_by(WIDE) {
            for (l, sum) in sums.iter_mut().enumerate() {
                *sum = *sum + a.add(first + l).read() * b.add(first + l).read();
            }
        }
        for (l, sum) in (whole..n).zip(&mut sums) {
            *sum = *sum + a.add(l).read() * b.add(l).read();
        }
        let mut half = WIDE / 2;
        while half > 0 {
            for l in 0..half {
                sums[l] = sums[l] + sums[l + half];
            }
            half /= 2;
        }
        sum.write(sums[0]);
    }
}

/// # Safety
/// As [`Number::rotate`].
#[inline(always)]
unsafe fn rotate<E: Number>(x: *mut E, y: *mut E, sin: E, half: E, n: usize) {
    for l in 0..n {
        // SAFETY: by the contract.
        unsafe {
            let (a, b) = (x.add(l).read(), y.add(l).read());
            x.add(l).write(a - sin * (b + half * a));
            y.add(l).write(b + sin * (a - half * b));
        }
    }
}

macro_rules! number {
    ($type:ident, $vanishing:literal, $dtype:expr, $subtract:ident, $dot:ident, $substitute:ident,
     $rotate:ident) => {
        for_each_isa! {
            /// # Safety
            /// As [`Number::rotate`].
            unsafe fn $rotate(x: *mut $type, y: *mut $type, sin: $type, half: $type, n: usize) {
                // SAFETY: by the contract.
                unsafe { rotate(x, y, sin, half, n) }
            }

            /// # Safety
            /// As [`Number::subtract`].
            unsafe fn $subtract(to: *mut $type, factor: $type, from: *const $type, n: usize) {
                // SAFETY: by the contract.
                unsafe { subtract(to, factor, from, n) }
            }

            /// # Safety
            /// As [`Number::dot`].
            unsafe fn $dot(a: *const $type, b: *const $type, n: usize, sum: *mut $type) {
                // SAFETY: by the contract.
                unsafe { dot(a, b, n, sum) }
            }

            /// # Safety
            /// As [`Number::substitute`].
            unsafe fn $substitute(t: TriangularBlock<$type>, x: *mut $type, row: usize, columns: usize) {
                // SAFETY: by the contract.
                unsafe { substitute(t, x, row, columns) }
            }
        }

        impl Number for $type {
            const ONE: $type = 1.0;
            const NAN: $type = <$type>::NAN;
            const UNIT: f64 = $type::EPSILON as f64;
            const VANISHING: f64 = $vanishing;
            const DTYPE: Dtype = $dtype;

            fn sqrt(self) -> $type {
                <$type>::sqrt(self)
            }

            fn abs(self) -> $type {
                <$type>::abs(self)
            }

            fn is_finite(self) -> bool {
                <$type>::is_finite(self)
            }

            fn wide(self) -> f64 {
                f64::from(self)
            }

            unsafe fn rotate(x: *mut $type, y: *mut $type, sin: $type, half: $type, n: usize) {
                // SAFETY: by the contract.
                unsafe { $rotate(x, y, sin, half, n) }
            }

            unsafe fn subtract(to: *mut $type, factor: $type, from: *const $type, n: usize) {
                // SAFETY: by the contract.
                unsafe { $subtract(to, factor, from, n) }
            }

            unsafe fn dot(a: *const $type, b: *const $type, n: usize, sum: *mut $type) {
                // SAFETY: by the contract.
                unsafe { $dot(a, b, n, sum) }
            }

            unsafe fn substitute(t: TriangularBlock<$type>, x: *mut $type, row: usize, columns: usize) {
                // SAFETY: by the contract.
                unsafe { $substitute(t, x, row, columns) }
            }
        }
    };
}

number!(f64, 1e-140, Dtype::F64, subtract_f64, dot_f64, substitute_f64, rotate_f64);
number!(f32, 1e-15, Dtype::F32, subtract_f32, dot_f32, substitute_f32, rotate_f32);
