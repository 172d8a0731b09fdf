//! `build`: an array from its elements, one at a time.

use crate::arr::Arr;
use crate::stage;
use crate::structure::{Arrays, raws, refilled};

/// Over what `build` runs: a size, or an array or tuple of sizes.
pub trait Extent {
    /// What the closure gets: an index, or an array or tuple of indices.
    type Index;
    /// The sizes, outermost first.
    fn extents(&self) -> Vec<usize>;
    /// The indices in their form.
    fn index(&self, variables: &[Arr<i64>]) -> Self::Index;
}

fn variable(variables: &[Arr<i64>], n: usize) -> Arr<i64> {
    variables.get(n).copied().unwrap_or_else(Arr::nothing)
}

impl Extent for usize {
    type Index = Arr<i64>;

    fn extents(&self) -> Vec<usize> {
        vec![*self]
    }

    fn index(&self, variables: &[Arr<i64>]) -> Arr<i64> {
        variable(variables, 0)
    }
}

impl<const R: usize> Extent for [usize; R] {
    type Index = [Arr<i64>; R];

    fn extents(&self) -> Vec<usize> {
        self.to_vec()
    }

    fn index(&self, variables: &[Arr<i64>]) -> [Arr<i64>; R] {
        std::array::from_fn(|n| variable(variables, n))
    }
}

impl Extent for (usize, usize) {
    type Index = (Arr<i64>, Arr<i64>);

    fn extents(&self) -> Vec<usize> {
        vec![self.0, self.1]
    }

    fn index(&self, variables: &[Arr<i64>]) -> Self::Index {
        (variable(variables, 0), variable(variables, 1))
    }
}

impl Extent for (usize, usize, usize) {
    type Index = (Arr<i64>, Arr<i64>, Arr<i64>);

    fn extents(&self) -> Vec<usize> {
        vec![self.0, self.1, self.2]
    }

    fn index(&self, variables: &[Arr<i64>]) -> Self::Index {
        (variable(variables, 0), variable(variables, 1), variable(variables, 2))
    }
}

impl Extent for Vec<usize> {
    type Index = Vec<Arr<i64>>;

    fn extents(&self) -> Vec<usize> {
        self.clone()
    }

    fn index(&self, variables: &[Arr<i64>]) -> Vec<Arr<i64>> {
        variables.to_vec()
    }
}

/// The array whose element at index `i` is `f(i)`; over several sizes, with as many leading axes.
///
/// The elements may be arrays, whose axes come last, and structures, which become structures of
/// arrays. What does not depend on the index is computed once.
///
/// ```
/// use cotan::prelude::*;
///
/// let hilbert = |n: usize| build([n, n], |[i, j]| 1.0 / (i + j + 1).cast::<f64>());
/// let f = compile(move |x: Arr<f64>| (x, hilbert(2)), ())?;
/// assert_eq!(f.call(0.0)?.1.to_vec(), [1.0, 0.5, 0.5, 1.0 / 3.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[track_caller]
pub fn build<E: Extent, R: Arrays<Staged = R>>(extent: E, f: impl FnOnce(E::Index) -> R) -> R {
    let sizes = extent.extents();
    let mut element: Option<R> = None;
    let built = stage::build_over("build", &sizes, |vars| {
        let variables: Vec<Arr<i64>> = vars.iter().map(|&raw| Arr::from_raw(raw)).collect();
        raws(element.insert(f(extent.index(&variables))))
    });
    refilled(element, built)
}
