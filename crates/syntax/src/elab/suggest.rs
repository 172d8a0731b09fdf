//! "Did you mean": the known name nearest to an unknown one.

/// The candidate nearest to `name`, if it is near enough to be a slip.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = match name.chars().count() {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    candidates
        .into_iter()
        .filter(|candidate| *candidate != name)
        .filter_map(|candidate| Some((distance(name, candidate, limit)?, candidate)))
        .min()
        .map(|(_, candidate)| candidate)
}

/// How many letters to insert, delete, replace or swap with a neighbour; `None` if above `limit`,
/// or if nothing of the name would be left.
fn distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit || a.len() > 64 {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &y) in b.iter().enumerate() {
            let replaced = above[j] + usize::from(!x.eq_ignore_ascii_case(&y));
            let mut least = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().filter(|&d| d <= limit && d < a.len().max(b.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = ["reshape", "replicate", "sum", "softmax", "transpose"];
        assert_eq!(nearest("resahpe", known), Some("reshape"));
        assert_eq!(nearest("Sum", known), Some("sum"));
        assert_eq!(nearest("sotfmax", known), Some("softmax"));
        assert_eq!(nearest("tranpose", known), Some("transpose"));
        assert_eq!(nearest("convolve", known), None);
        assert_eq!(nearest("x", ["y"]), None, "another letter is another name");
    }
}
