//! When two results count as equal, and where they first differ.

use std::fmt;

use cotan_interp::Value;
use cotan_ir::scalar::Scalar;

/// When two scalars count as equal. All NaNs are one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Equality {
    /// To the last bit: also the signs of zeros agree.
    Bits,
    /// As numbers: 0 equals -0.
    Values,
    /// Floats at most so many representable numbers apart.
    Ulps(u64),
    /// Floats at most so many ulps of the largest finite element of their output apart: for sums
    /// that cancel.
    ScaledUlps(u64),
}

/// The first place where two lists of results differ.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// There are more on one side.
    Count {
        /// Results on the left.
        left: usize,
        /// Results on the right.
        right: usize,
    },
    /// The types differ.
    Type {
        /// The position among the results.
        output: usize,
        /// The type on the left.
        left: String,
        /// The type on the right.
        right: String,
    },
    /// An element differs.
    Element {
        /// The position among the results.
        output: usize,
        /// The index of the element.
        index: Vec<usize>,
        /// The element on the left.
        left: Scalar,
        /// The element on the right.
        right: Scalar,
    },
}

/// Where two lists of results first differ, if they do.
pub fn first_difference(left: &[Value], right: &[Value], equality: Equality) -> Option<Difference> {
    if left.len() != right.len() {
        return Some(Difference::Count { left: left.len(), right: right.len() });
    }
    left.iter().zip(right).enumerate().find_map(|(output, (l, r))| {
        if l.ty() != r.ty() {
            let (left, right) = (l.ty().to_string(), r.ty().to_string());
            return Some(Difference::Type { output, left, right });
        }
        let scale = match equality {
            Equality::ScaledUlps(_) => largest(l).max(largest(r)),
            Equality::Bits | Equality::Values | Equality::Ulps(_) => 0.0,
        };
        let mut pairs = l.elements().iter().zip(r.elements());
        let at = pairs.position(|(&a, &b)| !equal(a, b, equality, scale))?;
        let (left, right) = (*l.elements().get(at)?, *r.elements().get(at)?);
        Some(Difference::Element { output, index: unravel(at, l.shape().dims()), left, right })
    })
}

/// The multi-index of a position in row-major order.
fn unravel(position: usize, dims: &[usize]) -> Vec<usize> {
    let mut rest = position;
    let mut index: Vec<usize> = dims
        .iter()
        .rev()
        .map(|&k| {
            let i = rest % k.max(1);
            rest /= k.max(1);
            i
        })
        .collect();
    index.reverse();
    index
}

fn real(x: Scalar) -> Option<f64> {
    match x {
        Scalar::F64(x) => Some(x),
        Scalar::F32(x) => Some(f64::from(x)),
        Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => None,
    }
}

/// The largest magnitude of a finite element.
fn largest(value: &Value) -> f64 {
    let floats = value.elements().iter().filter_map(|&x| real(x)).filter(|x| x.is_finite());
    floats.fold(0.0, |m, x| m.max(x.abs()))
}

fn equal(a: Scalar, b: Scalar, equality: Equality, scale: f64) -> bool {
    if a.same(b) {
        return true;
    }
    let (Some(x), Some(y)) = (real(a), real(b)) else { return false };
    match equality {
        Equality::Bits => false,
        Equality::Values => x == y,
        Equality::Ulps(n) => ulps_apart(a, b).is_some_and(|d| d <= n),
        Equality::ScaledUlps(n) => {
            let ulp =
                if matches!(a, Scalar::F32(_)) { f64::from(f32::EPSILON) } else { f64::EPSILON };
            x == y || (x - y).abs() <= scale * ulp * n as f64
        }
    }
}

/// How many representable numbers lie between two floats of one type, the second included;
/// `None` when either is NaN or they are no floats of one type.
pub fn ulps_apart(a: Scalar, b: Scalar) -> Option<u64> {
    // Floats in order are integers in order, once negative ones are mirrored.
    let mirrored = |bits: i64, min: i64| if bits < 0 { min.wrapping_sub(bits) } else { bits };
    let (x, y) = match (a, b) {
        (Scalar::F64(x), Scalar::F64(y)) if !x.is_nan() && !y.is_nan() => {
            let key = |x: f64| mirrored(x.to_bits() as i64, i64::MIN);
            (key(x), key(y))
        }
        (Scalar::F32(x), Scalar::F32(y)) if !x.is_nan() && !y.is_nan() => {
            let key = |x: f32| mirrored(i64::from(x.to_bits() as i32), i64::from(i32::MIN));
            (key(x), key(y))
        }
        _ => return None,
    };
    Some(x.abs_diff(y))
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Count { left, right } => write!(f, "{left} results against {right}"),
            Difference::Type { output, left, right } => {
                write!(f, "result {output} is {left} against {right}")
            }
            Difference::Element { output, index, left, right } => {
                write!(f, "result {output} at {index:?} is {left:?} against {right:?}")?;
                match ulps_apart(*left, *right) {
                    Some(ulps) => write!(f, ", {ulps} ulps apart"),
                    None => Ok(()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(a: f64, b: f64, equality: Equality) -> bool {
        first_difference(&[Value::scalar(a)], &[Value::scalar(b)], equality).is_some()
    }

    #[test]
    fn each_equality_draws_its_line() {
        let next = 1.0 + f64::EPSILON;
        assert!(differ(0.0, -0.0, Equality::Bits) && !differ(0.0, -0.0, Equality::Values));
        assert!(!differ(f64::NAN, -f64::NAN, Equality::Bits));
        assert!(differ(1.0, next, Equality::Values) && !differ(1.0, next, Equality::Ulps(1)));
        assert!(differ(1.0, next + f64::EPSILON, Equality::Ulps(1)));
        assert!(!differ(0.0, -0.0, Equality::Ulps(0)));
        assert!(differ(f64::NAN, 1.0, Equality::Ulps(u64::MAX)));
        assert!(differ(f64::INFINITY, 1.0, Equality::ScaledUlps(1000)));
    }

    #[test]
    fn distances_count_representable_numbers() {
        let apart = |a: f64, b: f64| ulps_apart(Scalar::F64(a), Scalar::F64(b));
        assert_eq!(apart(5e-324, -5e-324), Some(2));
        assert_eq!(apart(1.0, 2.0), Some(1 << 52));
        assert_eq!(apart(f64::MAX, f64::INFINITY), Some(1));
        assert_eq!(apart(f64::INFINITY, f64::NEG_INFINITY), Some(2 * 0x7ff0_0000_0000_0000));
        assert_eq!(ulps_apart(Scalar::F32(-1.0), Scalar::F32(-2.0)), Some(1 << 23));
        assert_eq!(ulps_apart(Scalar::F32(1.0), Scalar::F64(1.0)), None);
    }

    #[test]
    fn cancelled_sums_are_judged_by_the_size_of_their_output() {
        let value = |x: f64| vec![Value::of(&[2], vec![1e6, x]).unwrap()];
        let (a, b) = (value(1e-10), value(0.0));
        assert!(first_difference(&a, &b, Equality::Ulps(1000)).is_some());
        assert!(first_difference(&a, &b, Equality::ScaledUlps(1)).is_none());
    }

    #[test]
    fn the_first_differing_element_is_named() {
        let a = Value::of(&[2, 3], vec![1i64, 2, 3, 4, 5, 6]).unwrap();
        let b = Value::of(&[2, 3], vec![1i64, 2, 3, 4, 0, 0]).unwrap();
        let found = first_difference(&[a.clone(), a.clone()], &[a.clone(), b], Equality::Bits);
        let text = found.unwrap().to_string();
        assert_eq!(text, "result 1 at [1, 1] is I64(5) against I64(0)");
        let other = Value::of(&[6], vec![1i64, 2, 3, 4, 5, 6]).unwrap();
        let found = first_difference(std::slice::from_ref(&a), &[other], Equality::Bits);
        assert_eq!(found.unwrap().to_string(), "result 0 is [2, 3]i64 against [6]i64");
        assert!(first_difference(&[a], &[], Equality::Bits).is_some());
    }
}
