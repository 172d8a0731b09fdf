//! Diagonals, triangles, ranges and grids.

use super::*;

#[test]
fn diagonals_are_read_and_written() {
    let mut rng = Rng::new(61);
    for dims in shapes(&mut rng, 2) {
        let x = random(&mut rng, &dims);
        let (batch, matrix) = dims.split_at(dims.len() - 2);
        for k in -4i64..=4 {
            let on: Vec<[usize; 2]> = (0..matrix[0])
                .filter_map(|i| Some([i, usize::try_from(i as i64 + k).ok()?]))
                .filter(|&[_, j]| j < matrix[1])
                .collect();
            let sizes = [batch, &[on.len()]].concat();
            let expected = rearranged(&x, &sizes, |is| {
                let (outer, i) = is.split_at(batch.len());
                Some([outer, &on[i[0]]].concat())
            });
            expect(|a| a.diagonal(k), &x, &expected);
            let keep = |kept: &dyn Fn(i64) -> bool| {
                rearranged(&x, &dims, |is| {
                    let [.., i, j] = is else { return None };
                    kept(*j as i64 - *i as i64).then(|| is.to_vec())
                })
            };
            expect(|a| a.tril(k), &x, &keep(&|d| d <= k));
            expect(|a| a.triu(k), &x, &keep(&|d| d >= k));
        }
        let sums = Tensor::from_fn(batch, |is| {
            (0..matrix[0].min(matrix[1])).map(|i| x.get(&[is, &[i, i]].concat()).unwrap()).sum()
        });
        expect(|a| a.trace(), &x, &sums.unwrap());
    }
}

#[test]
fn vectors_become_diagonals() {
    let mut rng = Rng::new(62);
    for n in 0..4 {
        for k in -3i64..=3 {
            let x = random(&mut rng, &[n]);
            let size = n + k.unsigned_abs() as usize;
            let expected = rearranged(&x, &[size, size], |is| {
                let on = is[1] as i64 - is[0] as i64 == k;
                on.then(|| vec![is[0].min(is[1])])
            });
            expect(|a| a.diag(k), &x, &expected);
            expect(|a| a.diag(k).diag(k), &x, &x);
        }
    }
}

#[test]
fn matrices_of_ones() {
    for [n, m] in [[0, 0], [0, 2], [1, 1], [2, 3], [3, 2]] {
        let f = jit(move |_: Arr<f64>| (eye::<f64>([n, m]), eye::<i64>(n), eye::<bool>(m)));
        let (wide, square, flags) = f.call(0.0).unwrap();
        let unit = |is: &[usize]| is[0] == is[1];
        assert_eq!(wide, Tensor::from_fn([n, m], |is| f64::from(u8::from(unit(is)))).unwrap());
        assert_eq!(square, Tensor::from_fn([n, n], |is| i64::from(unit(is))).unwrap());
        assert_eq!(flags, Tensor::from_fn([m, m], unit).unwrap());
        for k in -3..=3 {
            let below = jit(move |_: Arr<f64>| tri::<bool>(n, m, k)).call(0.0).unwrap();
            let expected = Tensor::from_fn([n, m], |is| is[1] as i64 - is[0] as i64 <= k);
            assert_eq!(below, expected.unwrap());
        }
    }
}

#[test]
fn ranges_have_as_many_elements_as_fit() {
    for start in -3..=3i64 {
        for stop in -3..=3i64 {
            for step in [-3, -2, -1, 1, 2, 3i64] {
                let mut expected = Vec::new();
                let mut i = start;
                while if step > 0 { i < stop } else { i > stop } {
                    expected.push(i);
                    i += step;
                }
                let f = jit(move |_: Arr<f64>| {
                    (arange(start, stop, step), arange(start as f64, stop as f64, step as f64))
                });
                let (whole, real) = f.call(0.0).unwrap();
                assert_eq!(whole, Tensor::from(expected));
                assert_eq!(real, whole.map(|i| i as f64));
            }
        }
    }
    let f = jit(|_: Arr<f64>| arange(i64::MIN, i64::MAX, i64::MAX));
    assert_eq!(f.call(0.0).unwrap(), Tensor::from([i64::MIN, -1, i64::MAX - 1]));
}

#[test]
fn spaces_include_both_ends() {
    for n in 0..6 {
        let f = move |a: Arr<f64>, b: Arr<f64>| linspace(a, b, n);
        let y = jit(f).call((-1.0, 2.0)).unwrap();
        assert_eq!(y.shape(), [n]);
        for (i, y) in y.iter().enumerate() {
            let expected = -1.0 + 3.0 * i as f64 / (n.max(2) - 1) as f64;
            assert!((y - expected).abs() < 1e-15, "{y} instead of {expected}");
        }
        if n > 1 {
            assert_eq!((y.get(&[0]), y.get(&[n - 1])), (Some(-1.0), Some(2.0)));
        }
        check(f, (-1.0, 2.0));
        check(f, ([0.5, 1.5], [[1.0, 2.0], [3.0, 4.0]]));
    }
    let f = jit(|a: Arr<f64>, b: Arr<f64>| linspace(a, b, 2));
    let y = f.call(([1.0, 2.0], 5.0)).unwrap();
    assert_eq!(y, Tensor::from([[1.0, 2.0], [5.0, 5.0]]));
}

#[test]
fn grids_have_every_pair() {
    let mut rng = Rng::new(63);
    for lengths in [vec![], vec![3], vec![2, 3], vec![2, 0], vec![2, 1, 3]] {
        let vectors: Vec<Tensor<f64>> = lengths.iter().map(|&k| random(&mut rng, &[k])).collect();
        let f = |vs: Vec<Arr<f64>>| meshgrid(&vs);
        let grid = jit(f).call(&vectors).unwrap();
        assert_eq!(grid.len(), vectors.len());
        for (axis, (grid, vector)) in grid.iter().zip(&vectors).enumerate() {
            assert_eq!(grid, &rearranged(vector, &lengths, |is| Some(vec![is[axis]])));
        }
        check(f, &vectors);
    }
}

#[test]
fn arrays_like_others() {
    let f = |x: Arr<f64>, v: Arr<f64>| (x.zeros_like(), x.ones_like(), x.full_like(v));
    let args = ([[1.0, 2.0]], 3.0);
    let expected = (Tensor::from([[0.0; 2]]), Tensor::from([[1.0; 2]]), Tensor::from([[3.0; 2]]));
    assert_eq!(jit(f).call(args).unwrap(), expected);
    check(f, args);
}
