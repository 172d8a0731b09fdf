//! Reading and writing at many positions; searching.

use super::*;

/// The index as positions within a shape, if it lies within.
fn within(ix: &[i64], dims: &[usize]) -> Option<Vec<usize>> {
    let inside = ix.iter().zip(dims).all(|(&i, &k)| (0..k as i64).contains(&i));
    inside.then(|| ix.iter().map(|&i| i as usize).collect())
}

#[test]
fn index_arrays_are_read() {
    let mut rng = Rng::new(41);
    for dims in shapes(&mut rng, 1) {
        for common in shapes(&mut rng, 0).into_iter().filter(|sizes| sizes.len() < 3) {
            let count = 1 + rng.below(dims.len());
            let x = random(&mut rng, &dims);
            let index: Vec<Tensor<i64>> = (0..count)
                .map(|axis| match common.is_empty() {
                    // A single constant position has to lie inside.
                    true => Tensor::from(rng.below(dims[axis].max(1)) as i64),
                    false => positions(&mut rng, &common, -1, 4),
                })
                .collect();
            let result = [&common[..], &dims[count..]].concat();
            let expected = rearranged(&x, &result, |is| {
                let (outer, inner) = is.split_at(common.len());
                let ix: Vec<i64> = index.iter().map(|i| i.get(outer).unwrap()).collect();
                Some([within(&ix, &dims)?, inner.to_vec()].concat())
            });
            expect(|a| a.gather(index.iter().map(constant_of).collect::<Vec<_>>()), &x, &expected);
        }
    }
    // Index arrays stretch to a common shape.
    let f = |x: Arr<f64>, i: Arr<i64>, j: Arr<i64>| x.gather((i, j));
    let args = ([[1.0, 2.0], [3.0, 4.0]], [[1], [0]], [0, 1, 1]);
    let expected = Tensor::from([[3.0, 4.0, 4.0], [1.0, 2.0, 2.0]]);
    assert_eq!(jit(f).call(args).unwrap(), expected);
    check(f, args);
}

fn constant_of(t: &Tensor<i64>) -> Arr<i64> {
    constant(t)
}

#[test]
fn positions_of_an_axis_are_taken() {
    let mut rng = Rng::new(42);
    for dims in shapes(&mut rng, 1) {
        for sizes in [vec![], vec![3], vec![2, 2], vec![0]] {
            let (axis, x) = (rng.below(dims.len()), random(&mut rng, &dims));
            let at = match sizes.is_empty() {
                // A single constant position has to lie inside.
                true => Tensor::from(rng.below(dims[axis].max(1)) as i64),
                false => positions(&mut rng, &sizes, -1, 4),
            };
            let result = [&dims[..axis], &sizes, &dims[axis + 1..]].concat();
            let expected = rearranged(&x, &result, |is| {
                let (outer, rest) = is.split_at(axis);
                let (middle, inner) = rest.split_at(sizes.len());
                let i = within(&[at.get(middle).unwrap()], &dims[axis..])?;
                Some([outer, &i, inner].concat())
            });
            expect(|a| a.take(&at, axis), &x, &expected);
        }
    }
}

#[test]
fn every_line_is_taken_by_itself() {
    let mut rng = Rng::new(43);
    for dims in shapes(&mut rng, 1) {
        let axis = rng.below(dims.len());
        // Either side may have size 1 off the axis.
        let (mut own, mut given, mut result) = (dims.clone(), dims.clone(), dims.clone());
        for a in 0..dims.len() {
            match rng.below(4) {
                _ if a == axis => (given[a], result[a]) = (3, 3),
                0 => own[a] = 1,
                1 => given[a] = 1,
                _ => {}
            }
        }
        let (x, at) = (random(&mut rng, &own), positions(&mut rng, &given, -1, 4));
        let stretched = |is: &[usize], sizes: &[usize]| -> Vec<usize> {
            is.iter().zip(sizes).map(|(&i, &k)| if k == 1 { 0 } else { i }).collect()
        };
        for (a, size) in result.iter_mut().enumerate() {
            if a != axis {
                *size = if own[a] == 1 { given[a] } else { own[a] };
            }
        }
        let expected = rearranged(&x, &result, |is| {
            let i = at.get(&stretched(is, &given)).unwrap();
            let mut ix = stretched(is, &own);
            ix[axis] = within(&[i], &own[axis..])?[0];
            Some(ix)
        });
        expect(|a| a.take_along(&at, axis), &x, &expected);
    }
}

#[test]
fn index_arrays_are_written() {
    let mut rng = Rng::new(44);
    for dims in shapes(&mut rng, 1) {
        for common in shapes(&mut rng, 0).into_iter().filter(|sizes| sizes.len() < 3) {
            let count = 1 + rng.below(dims.len());
            let (inner, x) = (&dims[count..], random(&mut rng, &dims));
            // Small ranges: positions repeat, and some lie outside.
            let index: Vec<Tensor<i64>> =
                (0..count).map(|_| positions(&mut rng, &common, -1, 3)).collect();
            let updates = random(&mut rng, &[&common[..], inner].concat());
            let (mut added, mut set) = (vec![0.0; x.size()], x.to_vec());
            Tensor::from_fn(updates.shape(), |is| {
                let (outer, rest) = is.split_at(common.len());
                let ix: Vec<i64> = index.iter().map(|i| i.get(outer).unwrap()).collect();
                if let Some(ix) = within(&ix, &dims) {
                    let at = [ix, rest.to_vec()].concat();
                    let at = at.iter().zip(&dims).fold(0, |n, (&i, &k)| n * k + i);
                    added[at] += updates.get(is).unwrap();
                    set[at] = updates.get(is).unwrap();
                }
                0.0
            })
            .unwrap();
            let constants = || index.iter().map(constant_of).collect::<Vec<_>>();
            let sizes = dims.clone();
            let scatter = |u: Arr<f64>| scatter_add(&sizes, constants(), u);
            expect(scatter, &updates, &Tensor::new(&dims, added.clone()).unwrap());
            let index_add = |x: Arr<f64>, u: Arr<f64>| x.index_add(constants(), u);
            let sums = x.iter().zip(&added).map(|(x, y)| x + y).collect();
            let y = jit(index_add).call((&x, &updates)).unwrap();
            assert_eq!(y, Tensor::new(&dims, sums).unwrap());
            check(index_add, (&x, &updates));
            let index_set = |x: Arr<f64>, u: Arr<f64>| x.index_set(constants(), u);
            let y = jit(index_set).call((&x, &updates)).unwrap();
            assert_eq!(y, Tensor::new(&dims, set).unwrap());
            check(index_set, (&x, &updates));
        }
    }
}

#[test]
fn flags_are_written() {
    let f = jit(|x: Arr<bool>, i: Arr<i64>| x.index_set(i, true));
    assert_eq!(f.call(([false; 3], [1, 5])).unwrap(), Tensor::from([false, true, false]));
}

#[test]
fn only_the_last_update_of_a_position_counts() {
    let f = |u: Arr<f64>| {
        (constant([0.0, 0.0]).index_set(constant([1, 1, 0]), u) * constant([2.0, 3.0])).sum()
    };
    assert_eq!(grad(f).call([5.0, 6.0, 7.0]).unwrap(), Tensor::from([0.0, 3.0, 2.0]));
}

#[test]
fn one_position_in_a_loop_is_updated_where_it_lies() {
    let f = |x: Arr<f64>| fold(x, iota(x.len()), |s, i| s.index_set(i, s.at(i) * s.at(i - 1)));
    let y = jit(f).call([2.0, 3.0, 5.0]).unwrap();
    assert_eq!(y, Tensor::from([0.0, 0.0, 0.0]));
    check(
        |x: Arr<f64>| fold(x, iota(3) + 1, |s, i| s.index_set(i, s.at(i) * s.at(i - 1))),
        [2.0, 3.0, 5.0],
    );
    // A gradient that copied the state in every step would take 8 MB.
    let n = 1000;
    let squared =
        move |x: Arr<f64>| fold(x, iota(n), |s, i| s.index_set(i, s.at(i) * s.at(i))).sum();
    let x = Tensor::from_fn(&[n], |is| is[0] as f64).unwrap();
    let slopes = grad(squared).compile([n]).unwrap();
    assert!(slopes.cost().peak_bytes < 200_000, "{:?}", slopes.cost());
    let expected = Tensor::from_fn(&[n], |is| 2.0 * is[0] as f64).unwrap();
    assert_eq!(slopes.call(&x).unwrap(), expected);
}

#[test]
fn ids_are_counted_and_marked() {
    let mut rng = Rng::new(45);
    for dims in shapes(&mut rng, 0) {
        for n in [0, 1, 4] {
            let ids = positions(&mut rng, &dims, -2, 6);
            let f =
                jit(move |i: Arr<i64>| (i.bincount(n), i.one_hot::<f32>(n), i.one_hot::<bool>(n)));
            let (counts, marks, flags) = f.call(&ids).unwrap();
            let expected: Vec<i64> =
                (0..n as i64).map(|id| ids.iter().filter(|&i| i == id).count() as i64).collect();
            assert_eq!(counts, Tensor::from(expected));
            let hit = |is: &[usize]| ids.get(&is[..dims.len()]) == Some(is[dims.len()] as i64);
            let sizes = [&dims[..], &[n]].concat();
            assert_eq!(flags, Tensor::from_fn(&sizes, hit).unwrap());
            assert_eq!(marks, flags.map(|hit| f32::from(u8::from(hit))));
            assert_eq!(marks.shape(), sizes);
        }
    }
}

#[test]
fn sorted_arrays_are_searched() {
    let mut rng = Rng::new(46);
    for n in (0..10).chain([31, 32, 33]) {
        let mut sorted: Vec<f64> = (0..n).map(|_| rng.between(0, 6) as f64).collect();
        sorted.sort_by(f64::total_cmp);
        if n > 4 {
            sorted[n - 1] = f64::NAN;
        }
        for dims in [vec![], vec![9], vec![2, 3]] {
            let values = Tensor::from_fn(&dims, |_| match rng.below(8) {
                0 => f64::NAN,
                1 => f64::INFINITY,
                _ => rng.between(-1, 7) as f64,
            })
            .unwrap();
            let f = jit(|x: Arr<f64>, v: Arr<f64>| (x.searchsorted(v), x.searchsorted_right(v)));
            let (left, right) = f.call((&sorted, &values)).unwrap();
            let less = |a: f64, b: f64| a < b || (!a.is_nan() && b.is_nan());
            let count = |before: &dyn Fn(f64, f64) -> bool| {
                values.map(|v| sorted.iter().filter(|&&x| before(x, v)).count() as i64)
            };
            assert_eq!(left, count(&less), "{values} in {sorted:?}");
            assert_eq!(right, count(&|x, v| !less(v, x)), "{values} in {sorted:?}");
        }
    }
    let f = jit(|x: Arr<i64>| build(3, move |i| x.searchsorted(2 * i)));
    assert_eq!(f.call([1, 2, 3]).unwrap(), Tensor::from([0, 1, 3]));
}
