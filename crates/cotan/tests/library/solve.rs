//! Linear systems: values against what they solve, derivatives, singular matrices, errors.

use crate::support::check;
use crate::support::plain::{assert_close, scattered, text};
use cotan::prelude::*;
use cotan_testkit::Rng;

type Matrix = Vec<Vec<f64>>;

/// The matrices of a stack.
fn matrices(x: &Tensor<f64>) -> Vec<Matrix> {
    let [.., n, m] = *x.shape() else { panic!("no matrix") };
    let rows: Vec<Vec<f64>> = x.to_vec().chunks(m.max(1)).map(<[f64]>::to_vec).collect();
    rows.chunks(n.max(1)).map(<[Vec<f64>]>::to_vec).collect()
}

fn multiplied(a: &Matrix, b: &Matrix) -> Vec<f64> {
    let columns = b.first().map_or(0, Vec::len);
    let element = |row: &Vec<f64>, j: usize| row.iter().zip(b).map(|(x, r)| x * r[j]).sum();
    a.iter().flat_map(|row| (0..columns).map(move |j| element(row, j))).collect()
}

/// By the first row, minor by minor.
fn determinant(a: &Matrix) -> f64 {
    let Some(first) = a.first() else { return 1.0 };
    let minor = |j: usize| -> Matrix {
        a[1..].iter().map(|row| [&row[..j], &row[j + 1..]].concat()).collect()
    };
    let sign = |j: usize| if j.is_multiple_of(2) { 1.0 } else { -1.0 };
    first.iter().enumerate().map(|(j, x)| sign(j) * x * determinant(&minor(j))).sum()
}

/// Matrices whose pivots are not on the diagonal.
fn regular(shape: &[usize], rng: &mut Rng) -> Tensor<f64> {
    let n = shape[shape.len() - 1];
    let noise = scattered(shape, rng);
    let mut elements = noise.to_vec();
    for (k, x) in elements.iter_mut().enumerate() {
        let (i, j) = (k / n % n, k % n);
        *x = 0.1 * *x + if (i + 1) % n == j { 3.0 + i as f64 } else { 0.0 };
    }
    Tensor::new(shape.to_vec(), elements).unwrap()
}

#[test]
fn systems_are_solved() {
    let mut rng = Rng::new(4);
    for (a, b) in [
        (&[1, 1][..], &[1][..]),
        (&[3, 3], &[3]),
        (&[3, 3], &[3, 2]),
        (&[4, 4], &[4, 1]),
        (&[0, 0], &[0, 2]),
        (&[2, 3, 3], &[2, 3, 1]),
    ] {
        let (a, b) = (regular(a, &mut rng), scattered(b, &mut rng));
        let f = |a: Arr<f64>, b: Arr<f64>| a.solve(b);
        let x = jit(f).call((&a, &b)).unwrap();
        assert_eq!(x.shape(), b.shape());
        let columns = |x: &Tensor<f64>| match x.rank() {
            1 => x.reshape([x.size(), 1]).unwrap(),
            _ => x.clone(),
        };
        let again: Vec<f64> = matrices(&a)
            .iter()
            .zip(&matrices(&columns(&x)))
            .flat_map(|(a, x)| multiplied(a, x))
            .collect();
        assert_close(&again, &b.to_vec());
        check(f, (&a, &b));
    }
    // Right sides and matrices are broadcast.
    let (a, b) = (regular(&[3, 3], &mut rng), scattered(&[2, 3, 1], &mut rng));
    let both = jit(|a: Arr<f64>, b: Arr<f64>| a.solve(b)).call((&a, &b)).unwrap();
    let second = Tensor::from(&b.to_vec()[3..]);
    let alone = jit(|a: Arr<f64>, b: Arr<f64>| a.solve(b)).call((&a, &second)).unwrap();
    assert_eq!((both.shape(), &both.to_vec()[3..]), (&[2, 3, 1][..], &alone.to_vec()[..]));
}

#[test]
fn triangular_systems_read_one_triangle() {
    let mut rng = Rng::new(12);
    let a = scattered(&[3, 3], &mut rng);
    let b = scattered(&[3, 2], &mut rng);
    for lower in [true, false] {
        let f = move |a: Arr<f64>, b: Arr<f64>| a.solve_triangular(b, lower);
        let x = jit(f).call((&a, &b)).unwrap();
        let mut triangle = matrices(&a)[0].clone();
        for (i, row) in triangle.iter_mut().enumerate() {
            for (j, x) in row.iter_mut().enumerate() {
                if if lower { j > i } else { j < i } {
                    *x = 0.0;
                }
            }
        }
        assert_close(&multiplied(&triangle, &matrices(&x)[0]), &b.to_vec());
        check(f, (&a, &b));
        // The other triangle counts for nothing, whatever is there.
        let mut odd = a.to_vec();
        odd[if lower { 1 } else { 3 }] = f64::NAN;
        let odd = Tensor::new([3, 3], odd).unwrap();
        assert_eq!(jit(f).call((&odd, &b)).unwrap(), x);
        let da = grad(move |a: Arr<f64>, b: Arr<f64>| a.solve_triangular(b, lower).sum());
        let da = da.call((&odd, &b)).unwrap();
        assert_eq!(da.get(if lower { &[0, 1] } else { &[1, 0] }), Some(0.0));
    }
}

#[test]
fn inverses() {
    let mut rng = Rng::new(13);
    for shape in [&[1, 1][..], &[3, 3], &[2, 2, 2]] {
        let a = regular(shape, &mut rng);
        let f = |a: Arr<f64>| a.inverse();
        let inverse = jit(f).call(&a).unwrap();
        let n = shape[shape.len() - 1];
        let identity: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k / n == k % n))).collect();
        for (a, inverse) in matrices(&a).iter().zip(&matrices(&inverse)) {
            assert_close(&multiplied(a, inverse), &identity);
        }
        check(f, &a);
    }
    let singular = jit(|a: Arr<f64>| a.inverse()).call([[1.0, 2.0], [2.0, 4.0]]).unwrap();
    assert!(singular.iter().any(|x| !x.is_finite()));
}

#[test]
fn determinants() {
    let mut rng = Rng::new(14);
    for shape in [&[0, 0][..], &[1, 1], &[2, 2], &[3, 3], &[4, 4], &[2, 3, 3]] {
        let a = scattered(shape, &mut rng);
        let f = |a: Arr<f64>| a.det();
        let wanted: Vec<f64> = match a.size() {
            0 => vec![1.0],
            _ => matrices(&a).iter().map(determinant).collect(),
        };
        assert_close(&jit(f).call(&a).unwrap().to_vec(), &wanted);
        check(f, &a);
    }
}

#[test]
fn determinants_of_singular_matrices_have_their_derivatives() {
    // The derivative is the matrix of the signed minors, here of ranks 2, 1 and 0.
    for (a, minors) in [
        ([[0.0, 1.0, 2.0], [0.0, 3.0, 5.0], [0.0, 7.0, 11.0]], [-2.0, 3.0, -1.0]),
        ([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]], [0.0, 0.0, 0.0]),
        ([[0.0; 3]; 3], [0.0, 0.0, 0.0]),
    ] {
        let (det, da) = value_and_grad(|a: Arr<f64>| a.det()).call(a).unwrap();
        assert_eq!(det, 0.0);
        let first_column: Vec<f64> = da.iter().step_by(3).collect();
        assert_close(&first_column, &minors);
        assert!(da.iter().all(f64::is_finite));
    }
}

#[test]
fn factors_of_cholesky() {
    let mut rng = Rng::new(15);
    for shape in [&[0, 0][..], &[1, 1], &[3, 3], &[2, 2, 2]] {
        let root = scattered(shape, &mut rng);
        let n = shape[shape.len() - 1];
        let positive = move |root: Arr<f64>| {
            let eye = build([n, n], |[i, j]| i.eq(j).cast::<f64>());
            einsum("...ik,...jk->...ij", &[root, root]) + eye
        };
        let (l, a) = jit(move |root: Arr<f64>| {
            let a = positive(root);
            (a.cholesky(), a)
        })
        .call(&root)
        .unwrap();
        for (l, a) in matrices(&l).iter().zip(&matrices(&a)) {
            let transposed: Matrix = (0..n).map(|j| l.iter().map(|row| row[j]).collect()).collect();
            assert_close(&multiplied(l, &transposed), &a.concat());
            assert!(l.iter().enumerate().all(|(i, row)| row[i + 1..].iter().all(|&x| x == 0.0)));
        }
        check(move |root: Arr<f64>| positive(root).cholesky(), &root);
    }
    let bad = jit(|a: Arr<f64>| a.cholesky()).call([[-1.0]]).unwrap();
    assert!(bad.item().unwrap().is_nan());
}

#[test]
fn errors_say_what_to_do() {
    let square = compile(|a: Arr<f64>| a.det(), [2, 3]);
    assert_eq!(
        text(square, file!()),
        "det: a square matrix is needed, not [2, 3]f64\n  at FILE:LINE"
    );
    let sides = compile(|a: Arr<f64>, b: Arr<f64>| a.solve(b), ([2, 2], [3]));
    assert_eq!(
        text(sides, file!()),
        "solve: a system [2, 2]f64 with the right sides [3]f64\n  at FILE:LINE\n  hint: right sides \
         are a vector, or the columns of matrices with as many rows; leading axes are broadcast"
    );
}
