//! Affine forms as expressions of C.

use cotan_nest::Affine;

use crate::literal::integer;
use crate::scalar::Library;

/// The name of the index of a dimension.
pub(crate) fn index(dim: usize) -> String {
    format!("i{dim}")
}

/// A sum of products, `term` saying how an index is written.
fn sum(affine: &Affine, term: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for (dim, &c) in affine.coeffs.iter().enumerate().filter(|(_, c)| **c != 0) {
        let size = c.unsigned_abs();
        if text.is_empty() {
            text.push_str(if c < 0 { "-" } else { "" });
        } else {
            text.push_str(if c < 0 { " - " } else { " + " });
        }
        match i64::try_from(size) {
            Ok(1) => text.push_str(&term(dim)),
            Ok(size) => text.push_str(&format!("{} * {}", integer(size), term(dim))),
            Err(_) => text.push_str(&format!("UINT64_C({size}) * {}", term(dim))),
        }
    }
    match affine.constant {
        c if text.is_empty() => return integer(c),
        0 => {}
        c if c > i64::MIN => {
            let sign = if c < 0 { " - " } else { " + " };
            text.push_str(&format!("{sign}{}", integer(c.saturating_abs())));
        }
        c => text.push_str(&format!(" + {}", integer(c))),
    }
    text
}

/// A place in memory, which there is.
pub(crate) fn place(affine: &Affine) -> String {
    sum(affine, index)
}

/// A form as an integer of 64 bits, on machines of any size; it wraps where it has to.
pub(crate) fn value(affine: &Affine, extents: &[usize], library: &mut Library) -> String {
    /// Forms up to this size are computed with indices of 32 bits.
    const NARROW: i64 = 1 << 31;
    match affine.range(extents) {
        Some((lo, hi)) if lo > -NARROW && hi < NARROW => sum(affine, index),
        Some(_) => sum(affine, |dim| format!("(int64_t){}", index(dim))),
        None => {
            library.need("i64");
            let mut text = format!("(uint64_t){}", integer(affine.constant));
            for (dim, &c) in affine.coeffs.iter().enumerate().filter(|(_, c)| **c != 0) {
                text.push_str(&format!(" + (uint64_t){} * (uint64_t)i{dim}", integer(c)));
            }
            format!("cotan_i64({text})")
        }
    }
}

/// Whether forms lie between 0 and below their sizes.
pub(crate) fn checks(checks: &[(Affine, i64)], extents: &[usize], library: &mut Library) -> String {
    let mut tests = Vec::with_capacity(checks.len());
    for (form, size) in checks {
        let (text, size) = (value(form, extents, library), integer(*size));
        let simple = form.constant == 0 && form.coeffs.iter().filter(|c| **c != 0).count() == 1;
        let text = if simple { text } else { format!("({text})") };
        tests.push(match form.range(extents) {
            Some((0.., _)) => format!("({text} < {size})"),
            Some((_, hi)) if integer(hi.saturating_add(1)) == size || hi < 0 => {
                format!("({text} >= 0)")
            }
            _ => format!("({text} >= 0) & ({text} < {size})"),
        });
    }
    tests.join(" & ")
}
