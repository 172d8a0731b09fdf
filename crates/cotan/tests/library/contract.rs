//! Products of arrays: values against sums over all indices in plain Rust, derivatives, errors.

use std::collections::BTreeMap;

use crate::support::check;
use crate::support::plain::{assert_close, indices, scattered, text};
use cotan::prelude::*;
use cotan_testkit::Rng;

/// The sum over all letters that the result lacks, one index after another.
fn plain(inputs: &[&str], output: &str, arrays: &[Tensor<f64>]) -> Tensor<f64> {
    let mut sizes: BTreeMap<char, usize> = BTreeMap::new();
    for (letters, array) in inputs.iter().zip(arrays) {
        letters
            .chars()
            .zip(array.shape())
            .for_each(|(c, &size)| assert!(sizes.insert(c, size).is_none_or(|s| s == size)));
    }
    let letters: Vec<char> = sizes.keys().copied().collect();
    let all: Vec<usize> = sizes.values().copied().collect();
    let place = |c: char| letters.iter().position(|&l| l == c).unwrap();
    let shape: Vec<usize> = output.chars().map(|c| sizes[&c]).collect();
    let assignments = indices(&all);
    Tensor::from_fn(shape, |out| {
        let fits = |ix: &&Vec<usize>| output.chars().zip(out).all(|(c, &i)| ix[place(c)] == i);
        let product = |ix: &Vec<usize>| -> f64 {
            let element = |(letters, array): (&&str, &Tensor<f64>)| {
                let at: Vec<usize> = letters.chars().map(|c| ix[place(c)]).collect();
                array.get(&at).unwrap()
            };
            inputs.iter().zip(arrays).map(element).product()
        };
        assignments.iter().filter(fits).map(product).sum()
    })
    .unwrap()
}

/// Checks `einsum` with explicit and, where it is the same, implicit result.
fn compare(subscripts: &'static str, shapes: &[&[usize]]) {
    let mut rng = Rng::new(41);
    let arrays: Vec<Tensor<f64>> = shapes.iter().map(|shape| scattered(shape, &mut rng)).collect();
    let (inputs, output) = subscripts.split_once("->").unwrap();
    let inputs: Vec<&str> = inputs.split(',').collect();
    let wanted = plain(&inputs, output, &arrays);
    let f = move |arrays: Vec<Arr<f64>>| einsum(subscripts, &arrays);
    let found = jit(f).call(&arrays).unwrap();
    assert_eq!(found.shape(), wanted.shape(), "{subscripts}");
    assert_close(&found.to_vec(), &wanted.to_vec());
    check(f, &arrays);
}

#[test]
fn einsum_sums_over_what_the_result_lacks() {
    compare("->", &[&[]]);
    compare(",->", &[&[], &[]]);
    compare("i->", &[&[4]]);
    compare("i->i", &[&[0]]);
    compare("ij->ji", &[&[2, 3]]);
    compare("ij->j", &[&[2, 3]]);
    compare("ijk->kij", &[&[2, 3, 4]]);
    compare("i,i->", &[&[3], &[3]]);
    compare("i,j->ij", &[&[3], &[2]]);
    compare("i,j->ji", &[&[3], &[2]]);
    compare("ij,jk->ik", &[&[2, 3], &[3, 4]]);
    compare("ij,jk->ki", &[&[2, 0], &[0, 4]]);
    compare("bij,bjk->bik", &[&[2, 2, 3], &[2, 3, 1]]);
    compare("ij,ij->", &[&[2, 3], &[2, 3]]);
    compare("ij,kl->ik", &[&[2, 3], &[2, 2]]);
    compare("ij,jk,kl->il", &[&[2, 3], &[3, 2], &[2, 2]]);
    compare("i,i,i->i", &[&[3], &[3], &[3]]);
    compare("ai,bi,ci->abc", &[&[2, 2], &[1, 2], &[2, 2]]);
    compare("i,ij,j->", &[&[2], &[2, 3], &[3]]);
    compare("ijkl,jl->ki", &[&[2, 1, 3, 2], &[1, 2]]);
}

#[test]
fn einsum_reads_diagonals() {
    compare("ii->", &[&[3, 3]]);
    compare("ii->i", &[&[3, 3]]);
    compare("iji->j", &[&[2, 3, 2]]);
    compare("iii->i", &[&[2, 2, 2]]);
    compare("iij,jkk->ik", &[&[2, 2, 3], &[3, 2, 2]]);
    compare("ii->i", &[&[0, 0]]);
}

#[test]
fn einsum_has_dots_and_implicit_results() {
    // The same as written out, and dots in any place.
    for (short, full, shapes) in [
        ("ba", "ba->ab", &[&[2, 3][..]][..]),
        ("ij,jk", "ij,jk->ik", &[&[2, 3], &[3, 2]]),
        ("ki,kj", "ki,kj->ij", &[&[2, 3], &[2, 2]]),
        ("ii", "ii->", &[&[3, 3]]),
        ("...j->j...", "aj->ja", &[&[2, 3]]),
        ("i...->...", "iab->ab", &[&[2, 3, 2]]),
        ("i...j", "iabj->abij", &[&[2, 3, 2, 2]]),
        ("...ij,...jk->...ik", "aij,ajk->aik", &[&[2, 2, 3], &[2, 3, 2]]),
        ("...ij,...jk", "ij,jk->ik", &[&[2, 3], &[3, 2]]),
        ("...,...", "ab,ab->ab", &[&[2, 3], &[2, 3]]),
        (" i j , j -> i ", "ij,j->i", &[&[2, 3], &[3]]),
    ] {
        let mut rng = Rng::new(2);
        let arrays: Vec<Tensor<f64>> =
            shapes.iter().map(|shape| scattered(shape, &mut rng)).collect();
        let f = move |arrays: Vec<Arr<f64>>| (einsum(short, &arrays), einsum(full, &arrays));
        let (short, full) = jit(f).call(&arrays).unwrap();
        assert_eq!(short, full);
    }
    // Dots are broadcast.
    let mut rng = Rng::new(3);
    let (a, b) = (scattered(&[2, 1, 2, 3], &mut rng), scattered(&[4, 3, 2], &mut rng));
    let f = |a: Arr<f64>, b: Arr<f64>| einsum("...ij,...jk->...ik", &[a, b]);
    let wanted = Tensor::from_fn([2, 4, 2, 2], |ix| {
        (0..3)
            .map(|j| a.get(&[ix[0], 0, ix[2], j]).unwrap() * b.get(&[ix[1], j, ix[3]]).unwrap())
            .sum()
    })
    .unwrap();
    let found = jit(f).call((&a, &b)).unwrap();
    assert_eq!(found.shape(), [2, 4, 2, 2]);
    assert_close(&found.to_vec(), &wanted.to_vec());
    check(f, (&a, &b));
}

#[test]
fn a_chain_costs_what_it_costs_by_hand() {
    let n = 12;
    let chain = |a: Arr<f64>, b: Arr<f64>, c: Arr<f64>| einsum("ij,jk,kl->il", &[a, b, c]);
    let by_hand = |a: Arr<f64>, b: Arr<f64>, c: Arr<f64>| a.matmul(b).matmul(c);
    let cost = compile(chain, ([n, n], [n, n], [n, n])).unwrap().cost();
    let wanted = compile(by_hand, ([n, n], [n, n], [n, n])).unwrap().cost();
    assert_eq!(cost.operations, wanted.operations);
}

type Product = fn(Arr<f64>, Arr<f64>) -> Arr<f64>;

/// Checks a product of two arrays against a sum written out.
fn product(f: Product, a: &[usize], b: &[usize], letters: (&str, &str, &str)) {
    let mut rng = Rng::new(6);
    let (a, b) = (scattered(a, &mut rng), scattered(b, &mut rng));
    let wanted = plain(&[letters.0, letters.1], letters.2, &[a.clone(), b.clone()]);
    let found = jit(f).call((&a, &b)).unwrap();
    assert_eq!(found.shape(), wanted.shape(), "{letters:?}");
    assert_close(&found.to_vec(), &wanted.to_vec());
    check(f, (&a, &b));
}

#[test]
fn products_of_vectors_and_matrices() {
    product(Arr::matmul, &[3], &[3], ("k", "k", ""));
    product(Arr::matmul, &[2, 3], &[3], ("ik", "k", "i"));
    product(Arr::matmul, &[3], &[3, 2], ("k", "kj", "j"));
    product(Arr::matmul, &[2, 3], &[3, 4], ("ik", "kj", "ij"));
    product(Arr::matmul, &[2, 0], &[0, 3], ("ik", "kj", "ij"));
    product(Arr::matmul, &[0, 2], &[2, 3], ("ik", "kj", "ij"));
    product(Arr::matmul, &[2, 2, 3], &[2, 3, 1], ("bik", "bkj", "bij"));
    product(Arr::matmul, &[2, 2, 3], &[3, 2], ("bik", "kj", "bij"));
    product(Arr::matmul, &[2, 3], &[2, 1, 3, 2], ("ik", "abkj", "abij"));
    product(Arr::matmul, &[2, 2, 3], &[3], ("bik", "k", "bi"));
    product(Arr::dot, &[3], &[3], ("k", "k", ""));
    product(Arr::dot, &[], &[3], ("", "k", "k"));
    product(Arr::dot, &[2, 3], &[2, 3, 2], ("ik", "akj", "iaj"));
    product(Arr::dot, &[2, 2, 3], &[3], ("aik", "k", "ai"));
    product(Arr::vecdot, &[2, 3], &[2, 3], ("ik", "ik", "i"));
    product(Arr::vecdot, &[2, 3], &[3], ("ik", "k", "i"));
    product(Arr::inner, &[2, 3], &[4, 3], ("ik", "jk", "ij"));
    product(Arr::inner, &[3], &[], ("k", "", "k"));
    product(Arr::outer, &[2], &[3], ("i", "j", "ij"));
    product(|a, b| tensordot(a, b, [0, 2], [1, 0]), &[2, 3, 4], &[4, 2], ("ijk", "ki", "j"));
    product(|a, b| tensordot(a, b, -1, 0), &[2, 3], &[3, 2], ("ik", "kj", "ij"));
    product(|a, b| tensordot(a, b, [0; 0], [0; 0]), &[2], &[3], ("i", "j", "ij"));
}

#[test]
fn kronecker_and_cross_products() {
    let mut rng = Rng::new(8);
    for (a, b) in [(&[2, 3][..], &[3, 2][..]), (&[2], &[2, 2]), (&[], &[2]), (&[2, 0], &[1, 3])] {
        let (a, b) = (scattered(a, &mut rng), scattered(b, &mut rng));
        let f = |a: Arr<f64>, b: Arr<f64>| a.kron(b);
        let found = jit(f).call((&a, &b)).unwrap();
        let rank = a.rank().max(b.rank());
        let padded = |x: &Tensor<f64>| [vec![1; rank - x.rank()], x.shape().to_vec()].concat();
        let (wide_a, wide_b) = (a.reshape(padded(&a)).unwrap(), b.reshape(padded(&b)).unwrap());
        let sizes: Vec<usize> =
            wide_a.shape().iter().zip(wide_b.shape()).map(|(a, b)| a * b).collect();
        let wanted = Tensor::from_fn(sizes, |ix| {
            let split = |of: fn(usize, usize) -> usize| -> Vec<usize> {
                ix.iter().zip(wide_b.shape()).map(|(&i, &k)| of(i, k)).collect()
            };
            wide_a.get(&split(|i, k| i / k)).unwrap() * wide_b.get(&split(|i, k| i % k)).unwrap()
        })
        .unwrap();
        assert_eq!(found, wanted);
        check(f, (&a, &b));
    }
    let (a, b) = (scattered(&[2, 3], &mut rng), scattered(&[3], &mut rng));
    let f = |a: Arr<f64>, b: Arr<f64>| a.cross(b);
    let (x, y) = (a.to_vec(), b.to_vec());
    let cross = |x: &[f64]| {
        [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
    };
    let found = jit(f).call((&a, &b)).unwrap();
    assert_eq!(found.shape(), [2, 3]);
    assert_close(&found.to_vec(), &[cross(&x[..3]), cross(&x[3..])].concat());
    check(f, (&a, &b));
}

#[test]
fn powers_of_matrices() {
    let mut rng = Rng::new(9);
    let a = scattered(&[2, 3, 3], &mut rng);
    for n in 0..6 {
        let f = move |a: Arr<f64>| a.matrix_power(n);
        let found = jit(f).call(&a).unwrap();
        let mut wanted =
            Tensor::from_fn([2, 3, 3], |ix| f64::from(u8::from(ix[1] == ix[2]))).unwrap();
        for _ in 0..n {
            wanted = plain(&["bij", "bjk"], "bik", &[wanted, a.clone()]);
        }
        assert_close(&found.to_vec(), &wanted.to_vec());
        check(f, &a);
    }
}

#[test]
fn errors_name_letters_and_sizes() {
    let einsum_error = |subscripts: &'static str, shapes: Vec<Vec<usize>>| {
        text(compile(move |xs: Vec<Arr<f64>>| einsum(subscripts, &xs), shapes), file!())
    };
    assert_eq!(
        einsum_error("ij,jk->ik", vec![vec![2, 3], vec![4, 5]]),
        "einsum: the letter `j` is 3 in [2, 3]f64 and 4 in [4, 5]f64\n  at FILE:LINE\n  \
         hint: axes with the same letter must have the same size"
    );
    assert_eq!(
        einsum_error("ij->ik", vec![vec![2, 3]]),
        "einsum: the result has the letter `k`, which no operand has\n  at FILE:LINE"
    );
    assert_eq!(
        einsum_error("ij->ii", vec![vec![2, 3]]),
        "einsum: the result has the letter `i` twice\n  at FILE:LINE"
    );
    assert_eq!(
        einsum_error("ij,j", vec![vec![2, 3]]),
        "einsum: `ij,j` is for 2 arrays, not 1\n  at FILE:LINE"
    );
    assert_eq!(
        einsum_error("i", vec![vec![2, 3]]),
        "einsum: operand 0 names 1 axis, but is [2, 3]f64\n  at FILE:LINE\n  \
         hint: every axis needs a letter; `...` stands for any number of axes"
    );
    assert_eq!(
        einsum_error("ijk...", vec![vec![2, 3]]),
        "einsum: operand 0 names 3 axes, but is [2, 3]f64\n  at FILE:LINE\n  \
         hint: every axis needs a letter; `...` stands for any number of axes"
    );
    assert_eq!(
        einsum_error("i1", vec![vec![2, 3]]),
        "einsum: `1` in `i1`\n  at FILE:LINE\n  \
         hint: axes are named by the letters a-z and A-Z, and `...`"
    );
    assert_eq!(
        einsum_error("...i...", vec![vec![2, 3]]),
        "einsum: `...` stands twice in `...i...`\n  at FILE:LINE"
    );
    assert_eq!(
        einsum_error("...i->i", vec![vec![2, 3]]),
        "einsum: the result does not say where the axes of `...` are\n  at FILE:LINE\n  \
         hint: write `...` in the result, or sum these axes before"
    );
    assert_eq!(
        einsum_error("...i,...i", vec![vec![2, 3], vec![4, 3]]),
        "einsum: `...` is [2] in the operands before and [4] in [4, 3]f64\n  at FILE:LINE\n  \
         hint: shapes fit when, from the last axis back, sizes are equal, 1 or missing"
    );
    let product = |f: Product, a: Vec<usize>, b: Vec<usize>| text(compile(f, (a, b)), file!());
    assert_eq!(
        product(|a, b| a.matmul(b), vec![2, 3], vec![2, 3]),
        "matmul: [2, 3]f64 and [2, 3]f64\n  at FILE:LINE\n  hint: the last size of the first must \
         be the last but one of the second, the only one of a vector"
    );
    assert_eq!(
        product(|a, b| a.matmul(b), vec![2, 3, 3], vec![4, 3, 3]),
        "matmul: [2, 3, 3]f64 and [4, 3, 3]f64\n  at FILE:LINE\n  \
         hint: leading axes fit when, from the last back, sizes are equal, 1 or missing"
    );
    assert_eq!(
        product(|a, b| a.cross(b), vec![2], vec![3]),
        "cross: [2]f64 and [3]f64\n  at FILE:LINE\n  hint: the last axes must have size 3"
    );
    assert_eq!(
        product(|a, b| a.vecdot(b), vec![2], vec![3]),
        "vecdot: [2]f64 and [3]f64\n  at FILE:LINE\n  hint: the last sizes must be equal"
    );
    assert_eq!(
        product(|a, b| tensordot(a, b, 0, [0, 1]), vec![2], vec![2, 3]),
        "tensordot: 1 axes of the first and 2 of the second\n  at FILE:LINE\n  \
         hint: axes are summed in pairs"
    );
    assert_eq!(
        product(|a, b| tensordot(a, b, 0, 1), vec![2], vec![2, 3]),
        "tensordot: [2]f64 and [2, 3]f64\n  at FILE:LINE\n  \
         hint: axis 0 of the first and axis 1 of the second must be of one size"
    );
    assert_eq!(
        product(|a, _| a.matrix_power(2), vec![2, 3], vec![]),
        "matrix_power: a square matrix is needed, not [2, 3]f64\n  at FILE:LINE"
    );
}
