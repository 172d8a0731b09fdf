//! Arithmetic with about 104 bits: a number is a sum of two, the second a rounding error of the
//! first.

use std::ops::{Add, Div, Mul, Neg, Sub};

#[derive(Clone, Copy, Debug)]
pub struct Dd {
    pub hi: f64,
    pub lo: f64,
}

fn sum(a: f64, b: f64) -> Dd {
    let hi = a + b;
    let part = hi - a;
    Dd { hi, lo: (a - (hi - part)) + (b - part) }
}

fn product(a: f64, b: f64) -> Dd {
    let hi = a * b;
    Dd { hi, lo: a.mul_add(b, -hi) }
}

impl Dd {
    pub const fn new(hi: f64, lo: f64) -> Dd {
        Dd { hi, lo }
    }

    pub fn abs(self) -> Dd {
        if self.hi < 0.0 { -self } else { self }
    }

    pub fn sqrt(self) -> Dd {
        if self.hi == 0.0 {
            return self;
        }
        let root = Dd::from(self.hi.sqrt());
        root + (self - root * root) / (root + root)
    }

    /// Times a power of two that changes no bits.
    pub fn times_power(self, by: f64) -> Dd {
        Dd { hi: self.hi * by, lo: self.lo * by }
    }
}

impl From<f64> for Dd {
    fn from(x: f64) -> Dd {
        Dd { hi: x, lo: 0.0 }
    }
}

impl Neg for Dd {
    type Output = Dd;
    fn neg(self) -> Dd {
        Dd { hi: -self.hi, lo: -self.lo }
    }
}

impl<T: Into<Dd>> Add<T> for Dd {
    type Output = Dd;
    fn add(self, other: T) -> Dd {
        let other = other.into();
        let (hi, lo) = (sum(self.hi, other.hi), sum(self.lo, other.lo));
        let y = sum(hi.hi, hi.lo + lo.hi);
        sum(y.hi, y.lo + lo.lo)
    }
}

impl<T: Into<Dd>> Sub<T> for Dd {
    type Output = Dd;
    fn sub(self, other: T) -> Dd {
        self + -other.into()
    }
}

impl<T: Into<Dd>> Mul<T> for Dd {
    type Output = Dd;
    fn mul(self, other: T) -> Dd {
        let other = other.into();
        let y = product(self.hi, other.hi);
        sum(y.hi, y.lo + (self.hi * other.lo + self.lo * other.hi))
    }
}

impl<T: Into<Dd>> Div<T> for Dd {
    type Output = Dd;
    fn div(self, other: T) -> Dd {
        let other = other.into();
        let first = self.hi / other.hi;
        let rest = self - other * first;
        let second = rest.hi / other.hi;
        let rest = rest - other * second;
        sum(first, second) + rest.hi / other.hi
    }
}
