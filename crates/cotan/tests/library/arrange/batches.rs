//! The library inside `build`: every function for a batch of arrays at once.

use super::*;
use cotan::PadMode;

/// Checks that a function built over a batch is the function of each part.
#[track_caller]
fn batched(f: Unary) {
    let mut rng = Rng::new(71);
    let x = random(&mut rng, &[3, 2, 4]);
    let all = move |x: Arr<f64>| build(x.len(), move |i| f(x.at(i)));
    let together = jit(all).call(&x).unwrap();
    let each = jit(f);
    for i in 0..3 {
        let part = rearranged(&x, &[2, 4], |is| Some(vec![i, is[0], is[1]]));
        let alone = each.call(&part).unwrap();
        let mut at = together.iter().skip(i * alone.size()).take(alone.size());
        assert!(alone.iter().all(|y| at.next() == Some(y)), "{together}: part {i} is {alone}");
    }
    check::<_, Unary>(all, &x);
}

#[test]
fn arranging() {
    batched(|x| x.transpose().reshape([2, 4]));
    batched(|x| x.tile([2, 1]).repeat(2, 1));
    batched(|x| x.flip([0, 1]).roll(1, 1));
    batched(|x| concat(&[x, x.slice(s![..1])], 0));
    batched(|x| stack(&[x, 2.0 * x], 1));
    batched(|x| x.slice_set(s![.., ..; 2], 1.0));
    batched(|x| x.pad_with((1, 0), x.at((0, 0))).pad_mode(2, PadMode::Reflect));
    batched(|x| x.sliding_window(2, 1, 1));
}

#[test]
fn indexing() {
    batched(|x| x.take(constant([3, 0, 7]), 1));
    batched(|x| x.index_set(constant([1, 1]), constant([[1.0; 4], [2.0; 4]])));
    batched(|x| scatter_add([2, 4], (constant([1, 0, 1]), constant([0, 3, 0])), x.at((0, 0))));
    batched(|x| x.segment_max(constant([1, 1]), 3).maximum(-9.0));
    batched(|x| x.segment_min(constant([1, 0]), 2));
    batched(|x| x.diagonal(1));
    batched(|x| x.at(0).diag(-1).tril(0));
}

#[test]
fn positions_may_depend_on_the_index() {
    let f = |x: Arr<f64>| build(4, move |i| (x.roll(i, 0), x.slice(s![i]), x.index_set(i, 0.0)));
    let (rolled, read, covered) = jit(f).call([1.0, 2.0, 3.0]).unwrap();
    assert_eq!(rolled.to_vec(), [1., 2., 3., 3., 1., 2., 2., 3., 1., 1., 2., 3.]);
    assert_eq!(read.to_vec(), [1.0, 2.0, 3.0, 0.0]);
    assert_eq!(covered.to_vec(), [0., 2., 3., 1., 0., 3., 1., 2., 0., 1., 2., 3.]);
    check(f, [1.0, 2.0, 3.0]);
}
