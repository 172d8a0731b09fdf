//! Concatenating, stacking, splitting.

use super::*;

/// A function of several arrays.
type Several = fn(Vec<Arr<f64>>) -> Arr<f64>;

#[test]
fn arrays_are_joined() {
    let mut rng = Rng::new(11);
    for dims in shapes(&mut rng, 1) {
        for count in 1..=5 {
            let axis = rng.below(dims.len());
            let equal = rng.chance(30);
            let parts: Vec<Tensor<f64>> = (0..count)
                .map(|_| {
                    let mut sizes = dims.clone();
                    sizes[axis] = if equal { dims[axis] } else { rng.below(4) };
                    random(&mut rng, &sizes)
                })
                .collect();
            // Position by position: the part and the place in it.
            let places: Vec<(usize, usize)> = parts
                .iter()
                .enumerate()
                .flat_map(|(n, part)| (0..part.shape()[axis]).map(move |i| (n, i)))
                .collect();
            let mut sizes = dims.clone();
            sizes[axis] = places.len();
            let expected = Tensor::from_fn(&sizes, |is| {
                let (mut ix, (n, i)) = (is.to_vec(), places[is[axis]]);
                ix[axis] = i;
                parts[n].get(&ix).unwrap()
            })
            .unwrap();
            let f = move |xs: Vec<Arr<f64>>| concat(&xs, axis);
            let joined = compile_like::<_, Several>(f, &parts).unwrap().call(&parts).unwrap();
            assert_eq!(joined, expected);
            assert_eq!(joined.shape(), expected.shape());
            check::<_, Several>(f, &parts);
        }
    }
}

#[test]
fn arrays_are_stacked_and_unstacked() {
    let mut rng = Rng::new(12);
    for dims in shapes(&mut rng, 0) {
        let (axis, count) = (rng.below(dims.len() + 1), 1 + rng.below(3));
        let parts: Vec<Tensor<f64>> = (0..count).map(|_| random(&mut rng, &dims)).collect();
        let mut sizes = dims.clone();
        sizes.insert(axis, count);
        let expected = Tensor::from_fn(&sizes, |is| {
            let mut ix = is.to_vec();
            let n = ix.remove(axis);
            parts[n].get(&ix).unwrap()
        })
        .unwrap();
        let f = move |xs: Vec<Arr<f64>>| stack(&xs, axis);
        let stacked = compile_like::<_, Several>(f, &parts).unwrap().call(&parts).unwrap();
        assert_eq!(stacked, expected);
        assert_eq!(stacked.shape(), expected.shape());
        check::<_, Several>(f, &parts);
        let apart = jit(move |x: Arr<f64>| x.unstack(axis)).call(&stacked).unwrap();
        assert_eq!(apart, parts);
        check(move |x: Arr<f64>| x.unstack(axis), &stacked);
    }
}

#[test]
fn arrays_are_split() {
    let mut rng = Rng::new(13);
    for dims in shapes(&mut rng, 1) {
        let axis = rng.below(dims.len());
        let mut sections = Vec::new();
        let mut left = dims[axis];
        while left > 0 {
            let size = rng.below(left + 1);
            left -= size;
            sections.push(size);
        }
        let x = random(&mut rng, &dims);
        let sizes = sections.clone();
        let parts = jit(move |x: Arr<f64>| x.split(sizes.clone(), axis)).call(&x).unwrap();
        assert_eq!(parts.len(), sections.len());
        let mut begin = 0;
        for (part, &size) in parts.iter().zip(&sections) {
            let mut expected = dims.clone();
            expected[axis] = size;
            let expected = rearranged(&x, &expected, |is| {
                let mut ix = is.to_vec();
                ix[axis] += begin;
                Some(ix)
            });
            assert_eq!(part, &expected);
            begin += size;
        }
        check(move |x: Arr<f64>| x.split(sections.clone(), axis), &x);
    }
    let thirds =
        jit(|x: Arr<f64>| x.split(3, -1)).call([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).unwrap();
    assert_eq!(thirds[1], Tensor::from([[2.0], [5.0]]));
    assert_eq!(thirds.len(), 3);
}

#[test]
fn joining_many_needs_few_operations() {
    // One array more adds a constant: what is joined is never joined again and again.
    let cost = |count: usize| {
        let shapes: Vec<[usize; 1]> = (0..count).map(|n| [1 + n % 2]).collect();
        let f = |xs: Vec<Arr<f64>>| concat(&xs, 0);
        compile::<_, Several>(f, shapes).unwrap().source().len()
    };
    assert!(cost(64) <= 2 * cost(32) + 20, "{} {}", cost(64), cost(32));
}
