//! The axes of a type as it is written: `[2 * l, b]f64`.

/// What the text of an axis says about its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis<'t> {
    /// `3`
    Known(usize),
    /// `n`, or `2 * n`: a multiple of a size parameter.
    Multiple(usize, &'t str),
    /// Any other expression.
    Other,
}

/// The axes of an array type.
pub(crate) fn axes(ty: &str) -> Vec<Axis<'_>> {
    let inside = ty.trim_start().strip_prefix('[').and_then(|rest| rest.rsplit_once(']'));
    match inside {
        Some((axes, _)) => axes.split(',').map(|text| axis(text.trim())).collect(),
        None => Vec::new(),
    }
}

fn axis(text: &str) -> Axis<'_> {
    if let Ok(size) = text.parse() {
        return Axis::Known(size);
    }
    let (factor, name) = match text.split_once('*') {
        Some((factor, name)) => (factor.trim().parse().ok(), name.trim()),
        None => (Some(1), text),
    };
    let is_name = name.starts_with(|c: char| c.is_alphabetic())
        && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '\'');
    match factor {
        Some(factor) if factor > 0 && is_name => Axis::Multiple(factor, name),
        _ => Axis::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_numbers_and_multiples_of_names() {
        assert_eq!(axes("f64"), []);
        assert_eq!(axes("[n]f64"), [Axis::Multiple(1, "n")]);
        let lstm = [Axis::Multiple(2, "l"), Axis::Multiple(4, "b")];
        assert_eq!(axes("[2 * l, 4 * b]f64"), lstm);
        assert_eq!(axes("[3, d * (d - 1) // 2]f64"), [Axis::Known(3), Axis::Other]);
        assert_eq!(axes("[ell * ell]f64"), [Axis::Other]);
    }
}
