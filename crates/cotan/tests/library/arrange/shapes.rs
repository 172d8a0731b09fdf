//! Reshaping, repeating, moving axes, reordering along axes.

use super::*;

/// The elements in row-major order, in another shape.
fn in_shape(x: &Tensor<f64>, dims: &[usize]) -> Tensor<f64> {
    Tensor::new(dims, x.to_vec()).unwrap()
}

/// An index with one component changed.
fn with(is: &[usize], axis: usize, i: usize) -> Vec<usize> {
    let mut ix = is.to_vec();
    ix[axis] = i;
    ix
}

#[test]
fn reshapes_keep_the_order() {
    let mut rng = Rng::new(1);
    for dims in shapes(&mut rng, 0) {
        let x = random(&mut rng, &dims);
        let mut shuffled = dims.clone();
        rng.shuffle(&mut shuffled);
        shuffled.insert(rng.below(shuffled.len() + 1), 1);
        expect(|a| a.reshape(&shuffled), &x, &in_shape(&x, &shuffled));
        expect(|a| a.flatten(), &x, &in_shape(&x, &[x.size()]));
        let twice: Vec<usize> = dims.iter().flat_map(|&k| [1, k]).collect();
        let even: Vec<i32> = (0..dims.len() as i32).map(|axis| 2 * axis).collect();
        expect(|a| a.expand_dims(even.clone()), &x, &in_shape(&x, &twice));
        expect(|a| a.expand_dims(even.clone()).squeeze(even.clone()), &x, &x);
        expect(|a| a.expand_dims(-1), &x, &in_shape(&x, &[&dims[..], &[1]].concat()));
    }
}

#[test]
fn axes_move() {
    let mut rng = Rng::new(2);
    for dims in shapes(&mut rng, 0) {
        let rank = dims.len();
        let x = random(&mut rng, &dims);
        // Axis `n` of the result is axis `order[n]`.
        let moved = |order: &[usize]| {
            let sizes: Vec<usize> = order.iter().map(|&axis| dims[axis]).collect();
            rearranged(&x, &sizes, |is| {
                let mut ix = vec![0; rank];
                order.iter().zip(is).for_each(|(&axis, &i)| ix[axis] = i);
                Some(ix)
            })
        };
        let mut order: Vec<usize> = (0..rank).collect();
        expect(|a| a.transpose(), &x, &moved(&order.iter().rev().copied().collect::<Vec<_>>()));
        rng.shuffle(&mut order);
        let axes: Vec<i32> = order.iter().map(|&axis| axis as i32 - rank as i32).collect();
        expect(|a| a.permute(axes.clone()), &x, &moved(&order));
        if rank > 0 {
            let (a, b) = (rng.below(rank), rng.below(rank));
            let mut swapped: Vec<usize> = (0..rank).collect();
            swapped.swap(a, b);
            expect(|x| x.swap_axes(a, b), &x, &moved(&swapped));
            let mut rest: Vec<usize> = (0..rank).collect();
            rest.remove(a);
            rest.insert(b, a);
            expect(|x| x.move_axis(a, b as i32 - rank as i32), &x, &moved(&rest));
        }
    }
}

#[test]
fn several_axes_move_to_their_places() {
    let f = compile(|x: Arr<f64>| x.move_axis([3, 0], [0, 2]), [2, 3, 4, 5]).unwrap();
    assert_eq!(f.call(Tensor::zeros([2, 3, 4, 5]).unwrap()).unwrap().shape(), [5, 3, 2, 4]);
}

#[test]
fn arrays_stretch() {
    let mut rng = Rng::new(3);
    for dims in shapes(&mut rng, 0) {
        let missing = rng.below(2).min(dims.len());
        let own: Vec<usize> =
            dims[missing..].iter().map(|&k| if rng.chance(50) { 1 } else { k }).collect();
        let x = random(&mut rng, &own);
        let stretched = rearranged(&x, &dims, |is| {
            Some(
                is[missing..].iter().zip(&own).map(|(&i, &k)| if k == 1 { 0 } else { i }).collect(),
            )
        });
        expect(|a| a.broadcast_to(&dims), &x, &stretched);
        let copies = rng.below(3);
        let copied = rearranged(&x, &[&[copies], &own[..]].concat(), |is| Some(is[1..].to_vec()));
        expect(|a| a.replicate(copies), &x, &copied);
    }
}

#[test]
fn arrays_repeat() {
    let mut rng = Rng::new(4);
    for dims in shapes(&mut rng, 0) {
        let (rank, x) = (dims.len(), random(&mut rng, &dims));
        let counts: Vec<usize> = (0..rng.below(5)).map(|_| rng.below(4)).collect();
        let all = rank.max(counts.len());
        let padded = |sizes: &[usize]| [&vec![1; all - sizes.len()], sizes].concat();
        let sizes: Vec<usize> =
            padded(&dims).iter().zip(padded(&counts)).map(|(&k, c)| k * c).collect();
        let tiled = rearranged(&x, &sizes, |is| {
            Some(is[all - rank..].iter().zip(&dims).map(|(&i, &k)| i % k).collect())
        });
        expect(|a| a.tile(&counts), &x, &tiled);
        if rank > 0 {
            let (axis, k) = (rng.below(rank), rng.below(4));
            let sizes = with(&dims, axis, dims[axis] * k);
            let repeated = rearranged(&x, &sizes, |is| Some(with(is, axis, is[axis] / k)));
            expect(|a| a.repeat(k, axis), &x, &repeated);
        }
    }
}

#[test]
fn elements_change_their_order() {
    let mut rng = Rng::new(5);
    for dims in shapes(&mut rng, 1) {
        let (rank, x) = (dims.len(), random(&mut rng, &dims));
        let axes: Vec<i32> = (0..rank as i32).filter(|_| rng.chance(60)).collect();
        let flipped = rearranged(&x, &dims, |is| {
            let ends = is.iter().zip(&dims).enumerate();
            Some(
                ends.map(
                    |(axis, (&i, &k))| {
                        if axes.contains(&(axis as i32)) { k - 1 - i } else { i }
                    },
                )
                .collect(),
            )
        });
        expect(|a| a.flip(axes.clone()), &x, &flipped);
        let (axis, shift) = (rng.below(rank), rng.between(-5, 5));
        let rolled = rearranged(&x, &dims, |is| {
            let k = dims[axis] as i64;
            Some(with(is, axis, (is[axis] as i64 - shift).rem_euclid(k) as usize))
        });
        expect(|a| a.roll(shift, axis), &x, &rolled);
    }
}

#[test]
fn planes_turn() {
    let mut rng = Rng::new(6);
    for dims in shapes(&mut rng, 2) {
        let x = random(&mut rng, &dims);
        let turned = [&[dims[1], dims[0]], &dims[2..]].concat();
        // The last column becomes the first row.
        let once =
            rearranged(&x, &turned, |is| Some([&[is[1], dims[1] - 1 - is[0]], &is[2..]].concat()));
        expect(|a| a.rot90(1), &x, &once);
        let twice = rearranged(&x, &dims, |is| {
            Some([&[dims[0] - 1 - is[0], dims[1] - 1 - is[1]], &is[2..]].concat())
        });
        expect(|a| a.rot90(-2), &x, &twice);
        expect(|a| a.rot90(3).rot90(1), &x, &x);
        expect(|a| a.rot90(4), &x, &x);
    }
}
