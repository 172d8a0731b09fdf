//! Affine terms over the variables of a region.

use smallvec::SmallVec;

use crate::scalar::Op;
use crate::term::{Arena, Node, Param, TermId};

/// Terms of more than so many summands and factors are not taken apart.
const MAX_STEPS: usize = 64;

/// $c_0 + \sum_k a_k i_k + \sum_n c_n x_n$ over the index variables $i$ of a region, and terms $x$ that
/// depend on none of them.
///
/// Arithmetic on `i64` wraps, so it is arithmetic in a ring, and the form has the value of the term.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affine {
    /// The coefficients of the variables.
    pub vars: SmallVec<[i64; 4]>,
    /// Other terms with their coefficients, one for each occurrence.
    pub others: SmallVec<[(TermId, i64); 2]>,
    /// The constant.
    pub constant: i64,
}

impl Arena {
    /// The affine form of a term over the `vars` index variables of the region of a level; none if it
    /// is not affine, or too large.
    pub fn affine(&self, level: u8, vars: usize, root: TermId) -> Option<Affine> {
        let others = SmallVec::new();
        let mut form = Affine { vars: SmallVec::from_elem(0, vars), others, constant: 0 };
        let mut stack: SmallVec<[(TermId, i64); 8]> = SmallVec::from_slice(&[(root, 1)]);
        for _ in 0..MAX_STEPS {
            let Some((t, c)) = stack.pop() else { return Some(form) };
            if let Some(x) = self.constant_index(t) {
                form.constant = form.constant.wrapping_add(c.wrapping_mul(x));
                continue;
            }
            if !self.free(t).contains(level) {
                form.others.push((t, c));
                continue;
            }
            match self.node(t) {
                Node::Var { position, param, .. } if let Param::Index(size) = &**param => {
                    // A variable of one value is 0.
                    if *size != 1 {
                        let x = form.vars.get_mut(*position as usize)?;
                        *x = x.wrapping_add(c);
                    }
                }
                Node::Op(Op::Add, args) => stack.extend(args.iter().map(|&u| (u, c))),
                Node::Op(Op::Sub, args) => {
                    stack.extend([(args[0], c), (args[1], c.wrapping_neg())]);
                }
                Node::Op(Op::Neg, args) => stack.push((args[0], c.wrapping_neg())),
                Node::Op(Op::Mul, args) => {
                    let (t, x) = match (self.constant_index(args[0]), self.constant_index(args[1]))
                    {
                        (Some(x), _) => (args[1], x),
                        (_, Some(x)) => (args[0], x),
                        _ => return None,
                    };
                    stack.push((t, c.wrapping_mul(x)));
                }
                _ => return None,
            }
        }
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::{Builder, Result, Type};
    use cotan_array::Dtype;

    /// The form of a term over the variables of sizes 5, 7 and 1, and a scalar from outside.
    fn form(make: impl FnOnce(&mut Builder, &[TermId]) -> Result<TermId>) -> Option<Affine> {
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
        let found = found.unwrap();
        assert_eq!((&found.vars[..], found.constant), (&[3, -1, 0][..], -3));
        assert_eq!(found.others.len(), 1);
    }

    #[test]
    fn products_of_variables_are_not() {
        assert_eq!(form(|b, v| b.op(Op::Mul, &[v[0], v[1]])), None);
        assert_eq!(form(|b, v| b.op(Op::Mul, &[v[0], v[3]])), None);
        assert_eq!(form(|b, v| b.op(Op::FloorDiv, &[v[0], v[3]])), None);
    }

    #[test]
    fn long_terms_are_not_taken_apart() {
        let sum = |count: usize| {
            form(|b, v| (0..count).try_fold(v[0], |sum, _| b.op(Op::Add, &[sum, v[1]])))
        };
        assert_eq!(sum(20).unwrap().vars[1], 20);
        assert_eq!(sum(MAX_STEPS), None);
    }
}
