//! The derivatives of routines, in closed form: never through the elimination.
//!
//! The derivative of a routine is a linear function of those of its operands, made of matrix
//! products, triangles, transpositions and routines that are linear in their last operand. It is
//! written once, over [`Derivatives`]: forward mode runs it on tangents, reverse mode records Deltas.
//! Everything it multiplies by is an array of the algebra, made of routines and products again, so
//! derivatives of any order follow.

mod orthogonal;
mod spectral;

use cotan_array::{Array, Dtype};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Error, Result, Routine, Scopes, Type};

use crate::algebra::{Algebra, Lambda};

/// What the rules do with derivatives: the linear operations that they need, of an algebra `A`.
pub(crate) trait Derivatives<A: Algebra> {
    /// A derivative of an array.
    type D: Clone;

    /// Where arrays are computed.
    fn algebra(&mut self) -> &mut A;
    /// The type of what it is the derivative of.
    fn type_of(&self, d: &Self::D) -> Type;
    /// The sum of two.
    fn add(&mut self, d: Self::D, e: Self::D) -> Result<Self::D>;
    /// The elementwise product with an array.
    fn scale(&mut self, factor: &A::T, d: Self::D) -> Result<Self::D>;
    /// The derivative where an array of conditions holds, 0 elsewhere.
    fn only(&mut self, mask: &A::T, d: Self::D) -> Result<Self::D>;
    /// `k` copies along a new outermost axis.
    fn replicate(&mut self, k: usize, d: Self::D) -> Result<Self::D>;
    /// The sum along the outermost axis.
    fn sum_outer(&mut self, d: Self::D) -> Result<Self::D>;
    /// Axis `n` of the result is axis `perm[n]`.
    fn transpose(&mut self, perm: &[usize], d: Self::D) -> Result<Self::D>;
    /// The elements at the places of an index function.
    fn gather(&mut self, f: &A::F, d: Self::D) -> Result<Self::D>;
    /// A routine that is linear in its last operand, which the derivative is; the others are given.
    fn routine(&mut self, routine: Routine, fixed: &[A::T], d: Self::D) -> Result<Self::D>;
}

/// The derivative of a routine at operands, of their derivatives; none is zero.
pub(crate) fn derivative<A: Algebra, L: Derivatives<A>>(
    l: &mut L,
    routine: Routine,
    operands: &[A::T],
    result: &A::T,
    derivatives: &[Option<L::D>],
) -> Result<Option<L::D>> {
    let of = |n: usize| derivatives.get(n).cloned().flatten();
    let fixed = operands.split_last().map_or(&[][..], |(_, fixed)| fixed);
    let triangle = match routine {
        Routine::Cholesky => return of(0).map(|da| cholesky(l, result, da)).transpose(),
        Routine::LuFactors => return of(0).map(|da| lu(l, &operands[0], result, da)).transpose(),
        Routine::LuRows => return Ok(None),
        // Linear, with nothing beside its operand.
        Routine::Dft | Routine::DftConjugate => {
            return of(0).map(|dz| l.routine(routine, fixed, dz)).transpose();
        }
        Routine::QrQ | Routine::QrR => {
            return of(0).map(|da| orthogonal::qr(l, routine, &operands[0], da)).transpose();
        }
        Routine::EighValues | Routine::EighVectors => {
            return of(0).map(|da| spectral::eigh(l, routine, &operands[0], da)).transpose();
        }
        Routine::SvdLeft | Routine::SvdValues | Routine::SvdRight => {
            return of(0).map(|da| spectral::svd(l, routine, &operands[0], da)).transpose();
        }
        Routine::Pseudoinverse => {
            return of(0).map(|da| orthogonal::pinv(l, &operands[0], result, da)).transpose();
        }

        // A X = B, so dX = A^-1 (dB - dA X); the same with A^T.
        Routine::LuSolve => return solved(l, routine, fixed, result, of(0), of(3)),
        Routine::LuSolveTransposed => {
            let da = of(0).map(|da| turned(l, da)).transpose()?;
            return solved(l, routine, fixed, result, da, of(3));
        }
        // The same with T, the triangle that is read.
        Routine::SolveLower => Op::Ge,
        Routine::SolveUpper => Op::Le,
        Routine::SolveUnitLower => Op::Gt,
        Routine::SolveUnitUpper => Op::Lt,
    };
    let dt = match of(0) {
        Some(dt) => {
            let ty = l.type_of(&dt);
            let mask = triangle_mask(l.algebra(), triangle, &ty)?;
            Some(l.only(&mask, dt)?)
        }
        None => None,
    };
    solved(l, routine, fixed, result, dt, of(1))
}

/// `dX = T^-1 (dB - dT X)`
fn solved<A: Algebra, L: Derivatives<A>>(
    l: &mut L,
    routine: Routine,
    fixed: &[A::T],
    x: &A::T,
    dt: Option<L::D>,
    db: Option<L::D>,
) -> Result<Option<L::D>> {
    let moved = match dt {
        Some(dt) => {
            let product = times(l, dt, x)?;
            Some(negated(l, product)?)
        }
        None => None,
    };
    let right = match (db, moved) {
        (Some(db), Some(moved)) => l.add(db, moved)?,
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => return Ok(None),
    };
    l.routine(routine, fixed, right).map(Some)
}

/// $L L^T = A$, of the lower triangle of $A$. With $\Phi(M)$ the lower triangle of $M$, half of its
/// diagonal,
/// $$ \dot L = L\, \Phi(L^{-1} \dot A L^{-T}). $$
fn cholesky<A: Algebra, L: Derivatives<A>>(l: &mut L, factor: &A::T, da: L::D) -> Result<L::D> {
    let ty = l.type_of(&da);
    let symmetric = mirrored(l, da)?;
    let left = l.routine(Routine::SolveLower, std::slice::from_ref(factor), symmetric)?;
    let left = turned(l, left)?;
    let both = l.routine(Routine::SolveLower, std::slice::from_ref(factor), left)?;
    let half = half_triangle(l.algebra(), &ty)?;
    let phi = l.scale(&half, both)?;
    product(l, factor, phi)
}

/// $P A = L U$. With $X = L^{-1} P \dot A$ and $M = \mathrm{stril}(X U^{-1})$,
/// $$ \dot L = L M, \qquad \dot U = \mathrm{triu}(X - M U), $$
/// and the factors are both in one matrix. $M$ does not depend on the last pivot, which stands for 1
/// there: factors of a singular matrix that has no other pivot of 0 have their derivatives.
fn lu<A: Algebra, L: Derivatives<A>>(
    l: &mut L,
    matrix: &A::T,
    factors: &A::T,
    da: L::D,
) -> Result<L::D> {
    let ty = l.type_of(&da);
    let a = l.algebra();
    let rows = a.routine(Routine::LuRows, std::slice::from_ref(matrix))?;
    let order = row_order(a, &rows)?;
    let (below, above) = (triangle_mask(a, Op::Gt, &ty)?, triangle_mask(a, Op::Le, &ty)?);
    let (zeros, ones) = (a.number(0.0, &ty)?, a.number(1.0, &ty)?);
    let diagonal = triangle_mask(a, Op::Eq, &ty)?;
    let rest = a.op(Op::Select, &[diagonal, ones.clone(), zeros.clone()])?;
    let lower = a.op(Op::Select, &[below.clone(), factors.clone(), rest])?;
    let upper = a.op(Op::Select, &[above.clone(), factors.clone(), zeros])?;
    let last = last_pivot(a, &ty)?;
    let regular = a.op(Op::Select, &[last, ones, upper.clone()])?;
    let regular_turned = swapped(a, &regular)?;

    let permuted = l.gather(&order, da)?;
    let x = l.routine(Routine::SolveUnitLower, std::slice::from_ref(factors), permuted)?;
    let x_turned = turned(l, x.clone())?;
    let both = l.routine(Routine::SolveLower, &[regular_turned], x_turned)?;
    let both = turned(l, both)?;
    let m = l.only(&below, both)?;
    let of_lower = product(l, &lower, m.clone())?;
    let taken = times(l, m, &upper)?;
    let left = difference(l, x, taken)?;
    let of_upper = l.only(&above, left)?;
    l.add(of_lower, of_upper)
}

/// Where the last pivot is, in the matrices of a type.
fn last_pivot<A: Algebra>(a: &mut A, ty: &Type) -> Result<A::T> {
    let (batch, [n, m]) = matrix_sizes(ty)?;
    let ends = |a: &mut A, k: usize| {
        let positions = a.iota(k)?;
        let last = a.number(k.saturating_sub(1) as f64, &a.ty(&positions))?;
        a.op(Op::Eq, &[positions, last])
    };
    let (row, column) = (ends(a, n)?, ends(a, m)?);
    let row = a.replicate(m, &row)?;
    let row = a.transpose(&[1, 0], &row)?;
    let column = a.replicate(n, &column)?;
    let mut mask = a.op(Op::And, &[row, column])?;
    for &k in batch.iter().rev() {
        mask = a.replicate(k, &mask)?;
    }
    Ok(mask)
}

// ---- matrices -------------------------------------------------------------------------------------

/// The transpose of a routine that is linear in its last operand, at a cotangent.
pub(crate) fn transposed_routine<A: Algebra>(
    a: &mut A,
    routine: Routine,
    fixed: &[A::T],
    c: A::T,
) -> Result<A::T> {
    let Some((other, turn)) = routine.transposed() else {
        return Err(Error::internal("the transpose of a routine that is not linear"));
    };
    let mut operands = fixed.to_vec();
    if turn && let Some(first) = operands.first_mut() {
        *first = swapped(a, first)?;
    }
    operands.push(c);
    a.routine(other, &operands)
}

/// The axes with the last two exchanged.
fn exchange(rank: usize) -> Vec<usize> {
    let mut perm: Vec<usize> = (0..rank).collect();
    perm.swap(rank - 2, rank - 1);
    perm
}

/// The transposes of matrices of derivatives.
fn turned<A: Algebra, L: Derivatives<A>>(l: &mut L, d: L::D) -> Result<L::D> {
    let perm = exchange(l.type_of(&d).shape.rank());
    l.transpose(&perm, d)
}

/// The transposes of matrices.
fn swapped<A: Algebra>(a: &mut A, t: &A::T) -> Result<A::T> {
    let perm = exchange(a.ty(t).shape.rank());
    a.transpose(&perm, t)
}

/// $\dot X - \dot Y$
fn difference<A: Algebra, L: Derivatives<A>>(l: &mut L, x: L::D, y: L::D) -> Result<L::D> {
    let y = negated(l, y)?;
    l.add(x, y)
}

fn negated<A: Algebra, L: Derivatives<A>>(l: &mut L, d: L::D) -> Result<L::D> {
    let ty = l.type_of(&d);
    let minus = l.algebra().number(-1.0, &ty)?;
    l.scale(&minus, d)
}

/// The products $M \dot X$ of matrices on the last two axes.
fn product<A: Algebra, L: Derivatives<A>>(l: &mut L, m: &A::T, d: L::D) -> Result<L::D> {
    let (of_m, of_d) = (l.algebra().ty(m), l.type_of(&d));
    let rank = of_m.shape.rank();
    let (rows, columns) = (of_m.shape.dims()[rank - 2], of_d.shape.dims()[rank - 1]);
    let batch = 1..rank - 1;
    // From [columns, batch, rows, depth] to [depth, batch, rows, columns].
    let perm: Vec<usize> = [rank].into_iter().chain(batch.clone()).chain([rank - 1, 0]).collect();
    let a = l.algebra();
    let copies = a.replicate(columns, m)?;
    let factor = a.transpose(&perm, &copies)?;
    // From [rows, batch, depth, columns] to the same.
    let perm: Vec<usize> = [rank - 1].into_iter().chain(batch).chain([0, rank]).collect();
    let copies = l.replicate(rows, d)?;
    let moved = l.transpose(&perm, copies)?;
    let products = l.scale(&factor, moved)?;
    l.sum_outer(products)
}

/// The products of matrices of the algebra.
fn multiplied<A: Algebra>(a: &mut A, x: &A::T, y: &A::T) -> Result<A::T> {
    let (of_x, of_y) = (a.ty(x), a.ty(y));
    let rank = of_x.shape.rank();
    let (rows, columns) = (of_x.shape.dims()[rank - 2], of_y.shape.dims()[rank - 1]);
    let batch = 1..rank - 1;
    let perm: Vec<usize> = [rank].into_iter().chain(batch.clone()).chain([rank - 1, 0]).collect();
    let copies = a.replicate(columns, x)?;
    let left = a.transpose(&perm, &copies)?;
    let perm: Vec<usize> = [rank - 1].into_iter().chain(batch).chain([0, rank]).collect();
    let copies = a.replicate(rows, y)?;
    let right = a.transpose(&perm, &copies)?;
    let products = a.op(Op::Mul, &[left, right])?;
    a.sum_outer(&products)
}

/// The products $\dot X M$.
fn times<A: Algebra, L: Derivatives<A>>(l: &mut L, d: L::D, m: &A::T) -> Result<L::D> {
    let m = swapped(l.algebra(), m)?;
    let d = turned(l, d)?;
    let product = product(l, &m, d)?;
    turned(l, product)
}

/// The symmetric matrix with the given lower triangle.
fn mirrored<A: Algebra, L: Derivatives<A>>(l: &mut L, d: L::D) -> Result<L::D> {
    let ty = l.type_of(&d);
    let (lower, upper) =
        (triangle_mask(l.algebra(), Op::Ge, &ty)?, triangle_mask(l.algebra(), Op::Lt, &ty)?);
    let below = l.only(&lower, d.clone())?;
    let above = turned(l, d)?;
    let above = l.only(&upper, above)?;
    l.add(below, above)
}

/// Whether the number of the row compares so with that of the column, for the matrices of a type.
fn triangle_mask<A: Algebra>(a: &mut A, op: Op, ty: &Type) -> Result<A::T> {
    let (batch, [n, m]) = matrix_sizes(ty)?;
    let (rows, columns) = (a.iota(n)?, a.iota(m)?);
    let rows = a.replicate(m, &rows)?;
    let rows = a.transpose(&[1, 0], &rows)?;
    let columns = a.replicate(n, &columns)?;
    let mut mask = a.op(op, &[rows, columns])?;
    for &k in batch.iter().rev() {
        mask = a.replicate(k, &mask)?;
    }
    Ok(mask)
}

/// 1 below the diagonal, 1/2 on it, 0 above.
fn half_triangle<A: Algebra>(a: &mut A, ty: &Type) -> Result<A::T> {
    let (below, diagonal) = (triangle_mask(a, Op::Gt, ty)?, triangle_mask(a, Op::Eq, ty)?);
    let [zeros, half, ones] = [0.0, 0.5, 1.0].map(|x| a.number(x, ty));
    let rest = a.op(Op::Select, &[diagonal, half?, zeros?])?;
    a.op(Op::Select, &[below, ones?, rest])
}

fn matrix_sizes(ty: &Type) -> Result<(&[usize], [usize; 2])> {
    match ty.shape.dims() {
        [batch @ .., n, m] => Ok((batch, [*n, *m])),
        _ => Err(Error::internal("a routine of something that is no matrix")),
    }
}

/// `\(is ++ [i]) -> is ++ [rows[is ++ [i]]]`: the rows of matrices in the given order.
fn row_order<A: Algebra>(a: &mut A, rows: &A::T) -> Result<A::F> {
    let ty = a.ty(rows);
    let mut b = Builder::new();
    let captured = b.input("rows", ty.clone())?;
    let region = b.index_function(ty.shape.dims(), |b, is| {
        let row = b.index(captured, is)?;
        let batch = is.len().saturating_sub(1);
        Ok(is[..batch].iter().copied().chain([row]).collect())
    })?;
    let zeros = Array::zeros(Dtype::F64, ty.shape)?;
    let zeros = b.constant(&zeros)?;
    let gathered = b.gather(zeros, region)?;
    let program = b.finish_one(gathered)?;
    let scopes = Scopes::new(&program);
    let lambda = Lambda { program: &program, scopes: &scopes, region };
    a.index_function(lambda, &[(captured, rows.clone())])
}
