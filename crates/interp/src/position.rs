//! Multi-indices: all of a shape in row-major order, and the place of one among them.

/// Calls `f` on every index within `dims`, in row-major order: the last component runs fastest.
pub(crate) fn positions(dims: &[usize], mut f: impl FnMut(&[usize])) {
    let Some(mut ix) = first(dims) else { return };
    loop {
        f(&ix);
        if !advance(&mut ix, dims) {
            return;
        }
    }
}

/// The first index within `dims`, or `None` if there is none.
pub(crate) fn first(dims: &[usize]) -> Option<Vec<usize>> {
    if dims.contains(&0) { None } else { Some(vec![0; dims.len()]) }
}

/// Moves on to the next index in row-major order; `false` after the last.
pub(crate) fn advance(ix: &mut [usize], dims: &[usize]) -> bool {
    for (i, &k) in ix.iter_mut().zip(dims).rev() {
        *i += 1;
        if *i < k {
            return true;
        }
        *i = 0;
    }
    false
}

/// How many indices within `dims` come before `ix`.
pub(crate) fn offset(dims: &[usize], ix: impl Iterator<Item = usize>) -> usize {
    dims.iter().zip(ix).fold(0, |n, (&k, i)| n * k + i)
}

/// The index within `dims` that so many come before, if there is one.
pub(crate) fn index(dims: &[usize], mut before: usize) -> Option<Vec<usize>> {
    let mut ix = first(dims)?;
    for (i, &k) in ix.iter_mut().zip(dims).rev() {
        (*i, before) = (before % k, before / k);
    }
    (before == 0).then_some(ix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_row_major() {
        let all = |dims: &[usize]| {
            let mut seen = Vec::new();
            positions(dims, |ix| seen.push(ix.to_vec()));
            seen
        };
        assert_eq!(all(&[2, 2]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(all(&[]), [[0usize; 0]]);
        assert!(all(&[3, 0, 2]).is_empty());
        for dims in [&[2usize, 3, 4][..], &[1, 1], &[5]] {
            for (n, ix) in all(dims).into_iter().enumerate() {
                assert_eq!(index(dims, n).as_ref(), Some(&ix));
                assert_eq!(offset(dims, ix.into_iter()), n);
            }
            assert_eq!(index(dims, dims.iter().product()), None);
        }
    }
}
