//! What stands around an array, for windows that slide along its last axes.

/// What lies around an array when a window slides over its last `N` axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Padding<const N: usize> {
    /// Nothing: windows lie inside.
    #[default]
    Valid,
    /// As much as makes the result as large as the argument, with strides: the size divided by the
    /// stride, rounded up. If that is an odd number of positions, the larger part comes after.
    Same,
    /// So many positions before and after, for each axis.
    Explicit([(usize, usize); N]),
}

impl<const N: usize> Padding<N> {
    /// As the library takes it: pairs for the axes one after the other, and whether they follow from
    /// the sizes.
    pub(super) fn given(self) -> (Vec<usize>, bool) {
        match self {
            Padding::Valid => (vec![0], false),
            Padding::Same => (vec![0], true),
            Padding::Explicit(pairs) => {
                (pairs.into_iter().flat_map(|(before, after)| [before, after]).collect(), false)
            }
        }
    }
}
