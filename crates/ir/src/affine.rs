//! Affine forms: what there is to know of index terms that are sums of multiples.
//!
//! There is one analysis, [`Arena::linear`], and two forms: [`Linear`] over terms, and [`Affine`] over
//! the indices of a lambda or of loops. Arithmetic on `i64` wraps, so it is arithmetic in a ring, and a
//! term equals its form exactly.

use smallvec::SmallVec;

use crate::scalar::Op;
use crate::term::{Arena, Node, Param, TermId};

/// Terms of more than so many summands and factors are not taken apart.
const MAX_STEPS: usize = 64;

/// $c + \sum_k c_k i_k$ over indices $i$: of a lambda, or of the loops of a nest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Affine {
    /// $c$.
    pub constant: i64,
    /// $c_k$, for every index.
    pub coeffs: SmallVec<[i64; 4]>,
}

impl Affine {
    /// A number, as a form over so many indices.
    pub fn constant(c: i64, dims: usize) -> Affine {
        Affine { constant: c, coeffs: SmallVec::from_elem(0, dims) }
    }

    /// An index.
    pub fn index(dim: usize, dims: usize) -> Affine {
        let mut affine = Affine::constant(0, dims);
        affine.coeffs[dim] = 1;
        affine
    }

    /// The value, when it does not depend on the indices.
    pub fn known(&self) -> Option<i64> {
        self.coeffs.iter().all(|&c| c == 0).then_some(self.constant)
    }

    /// `self + factor * other`, unless that overflows.
    pub fn plus(&self, factor: i64, other: &Affine) -> Option<Affine> {
        let scaled = |c: i64| c.checked_mul(factor);
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(scaled(other.constant)?)?;
        for (c, &d) in sum.coeffs.iter_mut().zip(&other.coeffs) {
            *c = c.checked_add(scaled(d)?)?;
        }
        Some(sum)
    }

    /// The least and the greatest value over the space; `None` when it is empty or they overflow.
    pub fn range(&self, extents: &[usize]) -> Option<(i64, i64)> {
        let (mut lo, mut hi) = (self.constant, self.constant);
        for (&c, &k) in self.coeffs.iter().zip(extents) {
            let last = i64::try_from(k).ok()?.checked_sub(1).filter(|&last| last >= 0)?;
            let end = c.checked_mul(last)?;
            lo = lo.checked_add(end.min(0))?;
            hi = hi.checked_add(end.max(0))?;
        }
        Some((lo, hi))
    }
}

/// Questions about forms that may be over different numbers of indices: there are coefficients of 0.
impl Affine {
    /// The indices that it depends on.
    pub fn indices(&self) -> impl Iterator<Item = usize> + '_ {
        self.coeffs.iter().enumerate().filter(|(_, c)| **c != 0).map(|(k, _)| k)
    }

    /// The coefficient of an index.
    pub fn coeff(&self, index: usize) -> i64 {
        self.coeffs.get(index).copied().unwrap_or(0)
    }

    /// Whether it is the same function.
    pub fn same(&self, other: &Affine) -> bool {
        let most = self.coeffs.len().max(other.coeffs.len());
        self.constant == other.constant && (0..most).all(|k| self.coeff(k) == other.coeff(k))
    }

    /// The form with forms in place of its indices, unless that overflows.
    pub fn composed(&self, indices: &[Affine]) -> Option<Affine> {
        let most = indices.iter().map(|form| form.coeffs.len()).max().unwrap_or(0);
        let mut found = Affine::constant(self.constant, most);
        for (&c, form) in self.coeffs.iter().zip(indices).filter(|(c, _)| **c != 0) {
            found = found.plus(c, form)?;
        }
        Some(found)
    }

    /// The least and the largest value over indices of these sizes, none of which is 0.
    pub fn bounds(&self, sizes: &[usize]) -> (i128, i128) {
        let mut bounds = (i128::from(self.constant), i128::from(self.constant));
        for (&c, &size) in self.coeffs.iter().zip(sizes) {
            let reach = i128::from(c) * (size as i128 - 1);
            bounds.0 += reach.min(0);
            bounds.1 += reach.max(0);
        }
        bounds
    }

    /// The same with a number in place of an index.
    pub fn at(&self, index: usize, value: usize) -> Affine {
        let mut form = self.clone();
        let c = std::mem::take(&mut form.coeffs[index]);
        form.constant += c * value as i64;
        form
    }
}

/// $c_0 + \sum_n c_n x_n$ over terms $x$, which are distinct and in order; no $c_n$ is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linear {
    /// The terms with their coefficients.
    pub terms: SmallVec<[(TermId, i64); 2]>,
    /// The constant.
    pub constant: i64,
}

impl Linear {
    /// A number.
    pub fn constant(c: i64) -> Linear {
        Linear { terms: SmallVec::new(), constant: c }
    }

    /// A term that is not taken apart.
    pub fn atom(t: TermId) -> Linear {
        Linear { terms: SmallVec::from_slice(&[(t, 1)]), constant: 0 }
    }

    /// $a + c\,b$.
    pub fn plus(&self, b: &Linear, c: i64) -> Linear {
        let mut sum = self.clone();
        sum.constant = sum.constant.wrapping_add(c.wrapping_mul(b.constant));
        sum.terms.extend(b.terms.iter().map(|&(t, x)| (t, c.wrapping_mul(x))));
        sum.in_order()
    }

    /// The same form, of terms in any order that may occur several times.
    fn in_order(mut self) -> Linear {
        self.terms.sort_unstable_by_key(|&(t, _)| t);
        self.terms.dedup_by(|(t, x), (u, sum)| {
            let same = t == u;
            if same {
                *sum = sum.wrapping_add(*x);
            }
            same
        });
        self.terms.retain(|(_, c)| *c != 0);
        self
    }
}

impl Arena {
    /// The form of an integer term, looking into sums and multiples where `open` allows that; `None` if
    /// it is too large.
    pub fn linear(&self, root: TermId, open: impl Fn(TermId) -> bool) -> Option<Linear> {
        let mut form = Linear::default();
        let mut stack: SmallVec<[(TermId, i64); 8]> = SmallVec::from_slice(&[(root, 1)]);
        for _ in 0..MAX_STEPS {
            let Some((t, c)) = stack.pop() else { return Some(form.in_order()) };
            if let Some(x) = self.constant_index(t) {
                form.constant = form.constant.wrapping_add(c.wrapping_mul(x));
                continue;
            }
            match self.node(t) {
                Node::Op(Op::Add, args) if open(t) => stack.extend(args.iter().map(|&u| (u, c))),
                Node::Op(Op::Sub, args) if open(t) => {
                    stack.extend([(args[0], c), (args[1], c.wrapping_neg())]);
                }
                Node::Op(Op::Neg, args) if open(t) => stack.push((args[0], c.wrapping_neg())),
                Node::Op(Op::Mul, args) if open(t) => {
                    match (self.constant_index(args[0]), self.constant_index(args[1])) {
                        (Some(x), _) => stack.push((args[1], c.wrapping_mul(x))),
                        (_, Some(x)) => stack.push((args[0], c.wrapping_mul(x))),
                        (None, None) => form.terms.push((t, c)),
                    }
                }
                _ => form.terms.push((t, c)),
            }
        }
        None
    }

    /// A term as a form over the `indices` index variables of the region of a level, and a sum of terms
    /// that depend on none of them; `None` if it is not affine, or too large.
    pub fn affine(&self, level: u8, indices: usize, root: TermId) -> Option<(Affine, Linear)> {
        let depends = |t: TermId| self.free(t).contains(level);
        let Linear { terms, constant } = self.linear(root, depends)?;
        let mut form = Affine::constant(constant, indices);
        let mut others = Linear::default();
        for (t, c) in terms {
            match self.node(t) {
                _ if !depends(t) => others.terms.push((t, c)),
                Node::Var { position, param, .. } if let Param::Index(size) = &**param => {
                    // An index of one value is 0.
                    if *size != 1 {
                        *form.coeffs.get_mut(*position as usize)? = c;
                    }
                }
                _ => return None,
            }
        }
        Some((form, others))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::{Builder, Result, Type};
    use cotan_array::Dtype;

    /// The form of a term over the variables of sizes 5, 7 and 1, and a scalar from outside.
    fn form(
        make: impl FnOnce(&mut Builder, &[TermId]) -> Result<TermId>,
    ) -> Option<(Affine, Linear)> {
        let mut b = Builder::new();
        let n = b.input("n", Type::scalar(Dtype::I64)).unwrap();
        let mut vars = b.open(&[5, 7, 1].map(Param::Index)).unwrap();
        vars.push(n);
        let t = make(&mut b, &vars).unwrap();
        b.affine(1, 3, t)
    }

    #[test]
    fn sums_and_multiples_are_affine() {
        let found = form(|b, v| {
            let three = b.scalar(3i64)?;
            let x = b.op(Op::Mul, &[v[0], three])?;
            let y = b.op(Op::Sub, &[x, v[1]])?;
            let z = b.op(Op::Add, &[y, v[2]])?;
            let minus = b.op(Op::Neg, &[v[3]])?;
            let z = b.op(Op::Add, &[z, minus])?;
            b.op(Op::Sub, &[z, three])
        });
        let (found, others) = found.unwrap();
        assert_eq!((&found.coeffs[..], found.constant), (&[3, -1, 0][..], -3));
        assert_eq!(others.terms.len(), 1);
    }

    #[test]
    fn products_of_variables_are_not() {
        assert_eq!(form(|b, v| b.op(Op::Mul, &[v[0], v[1]])), None);
        assert_eq!(form(|b, v| b.op(Op::Mul, &[v[0], v[3]])), None);
        assert_eq!(form(|b, v| b.op(Op::FloorDiv, &[v[0], v[3]])), None);
    }

    #[test]
    fn what_cancels_is_left_out() {
        let mut b = Builder::new();
        let [x, y] = ["x", "y"].map(|name| b.input(name, Type::scalar(Dtype::I64)).unwrap());
        let xy = b.op(Op::Mul, &[x, y]).unwrap();
        let sum = b.op(Op::Add, &[xy, y]).unwrap();
        let three = b.scalar(3i64).unwrap();
        let tripled = b.op(Op::Mul, &[sum, three]).unwrap();
        let form = b.linear(tripled, |_| true).unwrap();
        let mut expected = [(xy, 3), (y, 3)];
        expected.sort_unstable();
        assert_eq!(form.terms.as_slice(), &expected);
        let rest = form.plus(&Linear::atom(xy), -3).plus(&Linear::constant(7), 2);
        assert_eq!((rest.terms.as_slice(), rest.constant), (&[(y, 3)][..], 14));
        assert_eq!(b.linear(tripled, |_| false), Some(Linear::atom(tripled)));
    }

    #[test]
    fn long_terms_are_not_taken_apart() {
        let sum = |count: usize| {
            form(|b, v| (0..count).try_fold(v[0], |sum, _| b.op(Op::Add, &[sum, v[1]])))
        };
        assert_eq!(sum(20).unwrap().0.coeffs[1], 20);
        assert_eq!(sum(MAX_STEPS), None);
    }
}
