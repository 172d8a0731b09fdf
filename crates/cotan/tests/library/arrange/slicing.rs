//! Slices, and writing to them.

use super::*;

/// Positions of a range as Python has them, found by walking.
fn walked(k: i64, start: Option<i64>, stop: Option<i64>, step: i64) -> Vec<usize> {
    let wrapped = |i: i64| if i < 0 { i + k } else { i };
    let (lo, hi) = if step > 0 { (0, k) } else { (-1, k - 1) };
    let (first, end) = if step > 0 { (0, k) } else { (k - 1, -1) };
    let mut i = start.map_or(first, |i| wrapped(i).max(lo).min(hi));
    let stop = stop.map_or(end, |i| wrapped(i).max(lo).min(hi));
    let mut found = Vec::new();
    while if step > 0 { i < stop } else { i > stop } {
        found.push(usize::try_from(i).unwrap());
        i += step;
    }
    found
}

/// A random part of an axis, and the positions it takes; `None` if the axis goes with it.
fn random_part(rng: &mut Rng, k: usize) -> (Slice, Vec<usize>, bool) {
    if k > 0 && rng.chance(25) {
        let i = rng.below(k);
        let given = if rng.chance(50) { i as i64 } else { i as i64 - k as i64 };
        return (Slice::from(given), vec![i], false);
    }
    let end = |rng: &mut Rng| if rng.chance(40) { None } else { Some(rng.between(-5, 5)) };
    let (start, stop) = (end(rng), end(rng));
    let step = *rng.pick(&[1, 1, 2, 3, -1, -2]);
    let slice = Slice::Range { start, stop, inclusive: false, step };
    (slice, walked(k as i64, start, stop, step), true)
}

#[test]
fn slices_take_what_python_takes() {
    let mut rng = Rng::new(21);
    for _ in 0..4 {
        for dims in shapes(&mut rng, 0) {
            let x = random(&mut rng, &dims);
            let named = rng.below(dims.len() + 1);
            let parts: Vec<(Slice, Vec<usize>, bool)> =
                dims.iter().take(named).map(|&k| random_part(&mut rng, k)).collect();
            let slices: Vec<Slice> = parts.iter().map(|part| part.0).collect();
            let mut sizes: Vec<usize> =
                parts.iter().filter(|part| part.2).map(|part| part.1.len()).collect();
            sizes.extend(&dims[named..]);
            let source = |is: &[usize]| -> Vec<usize> {
                let mut is = is.iter();
                let taken = parts.iter().map(|(_, positions, stays)| match stays {
                    true => positions[*is.next().unwrap()],
                    false => positions[0],
                });
                let mut ix: Vec<usize> = taken.collect();
                ix.extend(is);
                ix
            };
            expect(|a| a.slice(&slices), &x, &rearranged(&x, &sizes, |is| Some(source(is))));

            // Writing: the same positions get the values.
            let values = random(&mut rng, &sizes);
            let written = |add: bool| {
                let mut elements: Vec<(Vec<usize>, f64)> = Vec::new();
                values
                    .iter()
                    .zip(indices(&sizes))
                    .for_each(|(v, is)| elements.push((source(&is), v)));
                Tensor::from_fn(&dims, |is| {
                    let old = x.get(is).unwrap();
                    let new = elements.iter().find(|(ix, _)| ix == is).map(|&(_, v)| v);
                    new.map_or(old, |v| if add { old + v } else { v })
                })
                .unwrap()
            };
            let set = |x: Arr<f64>, v: Arr<f64>| x.slice_set(&slices, v);
            let add = |x: Arr<f64>, v: Arr<f64>| x.slice_add(&slices, v);
            assert_eq!(jit(set).call((&x, &values)).unwrap(), written(false));
            assert_eq!(jit(add).call((&x, &values)).unwrap(), written(true));
            check(set, (&x, &values));
            check(add, (&x, &values));
        }
    }
}

/// All indices of a shape in row-major order.
fn indices(dims: &[usize]) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    Tensor::from_fn(dims, |is| {
        all.push(is.to_vec());
        0.0
    })
    .unwrap();
    all
}

#[test]
fn the_macro_says_what_it_means() {
    let x = Tensor::from_fn([4, 3, 2], |is| (100 * is[0] + 10 * is[1] + is[2]) as f64).unwrap();
    let sliced = |f: Unary| jit(f).call(&x).unwrap();
    assert_eq!(sliced(|x| x.slice(s![])), x);
    assert_eq!(sliced(|x| x.slice(s![...])), x);
    assert_eq!(sliced(|x| x.slice(s![1, 2, 1])), 121.0);
    assert_eq!(sliced(|x| x.slice(s![-1, 0, ..])), Tensor::from([300.0, 301.0]));
    assert_eq!(sliced(|x| x.slice(s![1..3, 0, 0])), Tensor::from([100.0, 200.0]));
    assert_eq!(sliced(|x| x.slice(s![1..=3, 0, 0])), Tensor::from([100.0, 200.0, 300.0]));
    assert_eq!(sliced(|x| x.slice(s![..=-2, 0, 0])), Tensor::from([0.0, 100.0, 200.0]));
    assert_eq!(sliced(|x| x.slice(s![..; -2, 0, 0])), Tensor::from([300.0, 100.0]));
    assert_eq!(sliced(|x| x.slice(s![3..=1; -1, 0, 0,])), Tensor::from([300.0, 200.0, 100.0]));
    assert_eq!(sliced(|x| x.slice(s![..., 1, 0])), Tensor::from([10.0, 110.0, 210.0, 310.0]));
    assert_eq!(sliced(|x| x.slice(s![0, ..., 1])), Tensor::from([1.0, 11.0, 21.0]));
    assert_eq!(sliced(|x| x.slice(s![7.., 0, 0])).shape(), [0]);
    let n = 2usize;
    let f = jit(move |x: Arr<f64>| x.slice(s![n.., ..n, Slice::NewAxis, 0]));
    assert_eq!(f.call(&x).unwrap(), Tensor::from([[[200.0], [210.0]], [[300.0], [310.0]]]));
}

#[test]
fn positions_known_late_are_read_and_written() {
    let read = |x: Arr<f64>, i: Arr<i64>| x.slice(s![1.., i]);
    let write = |x: Arr<f64>, i: Arr<i64>| x.slice_set(s![1.., i], 9.0);
    let x = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
    assert_eq!(jit(read).call((x, 1)).unwrap(), Tensor::from([4.0, 6.0]));
    assert_eq!(jit(read).call((x, 2)).unwrap(), Tensor::from([0.0, 0.0]));
    let expected = Tensor::from([[1.0, 2.0], [9.0, 4.0], [9.0, 6.0]]);
    assert_eq!(jit(write).call((x, 0)).unwrap(), expected);
    assert_eq!(jit(write).call((x, -1)).unwrap(), Tensor::from(x));
    for i in -1..=2 {
        check(read, (x, i));
        check(write, (x, i));
    }
}

#[test]
fn dynamic_slices_begin_anywhere() {
    let mut rng = Rng::new(22);
    for dims in shapes(&mut rng, 0) {
        let x = random(&mut rng, &dims);
        let named = rng.below(dims.len() + 1);
        let start: Vec<i64> = (0..named).map(|_| rng.between(-2, 3)).collect();
        let sizes: Vec<usize> = (0..named).map(|_| rng.below(4)).collect();
        let result = [&sizes[..], &dims[named..]].concat();
        let expected = rearranged(&x, &result, |is| {
            let ix: Vec<i64> = is
                .iter()
                .enumerate()
                .map(|(n, &i)| i as i64 + start.get(n).unwrap_or(&0))
                .collect();
            let inside = ix.iter().zip(&dims).all(|(&i, &k)| (0..k as i64).contains(&i));
            inside.then(|| ix.iter().map(|&i| i as usize).collect())
        });
        expect(|a| a.dynamic_slice(start.clone(), &sizes), &x, &expected);
    }
}

#[test]
fn ends_of_nothing_are_zero() {
    let f = jit(|x: Arr<f64>| (x.first(), x.last()));
    let empty = Tensor::<f64>::zeros([0, 2]).unwrap();
    assert_eq!(f.call(&empty).unwrap(), (Tensor::from([0.0; 2]), Tensor::from([0.0; 2])));
    check(|x: Arr<f64>| (x.first(), x.last()), [[1.0, 2.0], [3.0, 4.0]]);
}
