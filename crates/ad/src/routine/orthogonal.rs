//! The derivatives of `A = Q R` and of pseudoinverses.

use cotan_ir::scalar::Op;
use cotan_ir::{Result, Routine};

use super::{
    Derivatives, difference, multiplied, negated, product, swapped, times, triangle_mask, turned,
};
use crate::algebra::Algebra;

/// $A = Q R$. With $X = \dot A R^{-1}$, $C = Q^T X$ and $M = \mathrm{triu}(C) + \mathrm{stril}(C)^T$,
/// which is $\dot R R^{-1}$,
/// $$ \dot R = M R, \qquad \dot Q = X - Q M. $$
/// Where the columns of $A$ are linearly dependent, $R$ has no inverse and $Q$ no derivative.
pub(super) fn qr<A: Algebra, L: Derivatives<A>>(
    l: &mut L,
    routine: Routine,
    matrix: &A::T,
    da: L::D,
) -> Result<L::D> {
    let a = l.algebra();
    let q = a.routine(Routine::QrQ, std::slice::from_ref(matrix))?;
    let r = a.routine(Routine::QrR, std::slice::from_ref(matrix))?;
    let (q_turned, r_turned) = (swapped(a, &q)?, swapped(a, &r)?);
    let da = turned(l, da)?;
    let x = l.routine(Routine::SolveLower, &[r_turned], da)?;
    let x = turned(l, x)?;
    let c = product(l, &q_turned, x.clone())?;
    let ty = l.type_of(&c);
    let (below, rest) =
        (triangle_mask(l.algebra(), Op::Gt, &ty)?, triangle_mask(l.algebra(), Op::Le, &ty)?);
    let lower = l.only(&below, c.clone())?;
    let lower = turned(l, lower)?;
    let upper = l.only(&rest, c)?;
    let m = l.add(upper, lower)?;
    if routine == Routine::QrR {
        return times(l, m, &r);
    }
    let along = product(l, &q, m)?;
    difference(l, x, along)
}

/// $P = A^+$, for matrices of the same rank near $A$ (Golub and Pereyra):
/// $$ \dot P = -P \dot A P + P P^T \dot A^T (I - A P) + (I - P A)\, \dot A^T P^T P. $$
pub(super) fn pinv<A: Algebra, L: Derivatives<A>>(
    l: &mut L,
    matrix: &A::T,
    p: &A::T,
    da: L::D,
) -> Result<L::D> {
    let p_turned = swapped(l.algebra(), p)?;
    let square = multiplied(l.algebra(), p, &p_turned)?;
    let left = product(l, p, da.clone())?;
    let inner = times(l, left, p)?;
    let inner = negated(l, inner)?;
    let da = turned(l, da)?;
    let rows = product(l, &square, da.clone())?;
    let seen = times(l, rows.clone(), matrix)?;
    let seen = times(l, seen, p)?;
    let rows = difference(l, rows, seen)?;
    let columns = times(l, da, &p_turned)?;
    let columns = times(l, columns, p)?;
    let seen = product(l, matrix, columns.clone())?;
    let seen = product(l, p, seen)?;
    let columns = difference(l, columns, seen)?;
    let outer = l.add(rows, columns)?;
    l.add(inner, outer)
}
