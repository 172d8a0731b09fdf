//! Control flow and functions made of functions: values, derivatives, structures, errors.

use crate::support::plain::{assert_close, scattered, text};
use crate::support::{check, check_rough};
use cotan::prelude::*;
use cotan_testkit::Rng;

#[test]
fn conditions_choose_structures() {
    let f = |x: Arr<f64>, y: Arr<f64>| {
        cond(x.sum().gt(0.0), || (x * y, vec![y.sum()]), || (x - y, vec![x.prod()]))
    };
    check(f, ([1.0, 2.0], [3.0, 4.0]));
    check(f, ([-1.0, -2.0], [3.0, 4.0]));
    let (a, b) = jit(f).call(([-1.0, -2.0], [3.0, 4.0])).unwrap();
    assert_eq!((a.to_vec(), b[0].item()), (vec![-4.0, -6.0], Some(2.0)));
    // What is not taken leaves no trace in the derivative.
    let f = |x: Arr<f64>| cond(x.gt(0.0), || x.log(), || x * 3.0);
    assert_eq!(grad(f).call(0.0).unwrap(), 3.0);
    // Under `build` it is a choice for each element.
    let f = |x: Arr<f64>| build(x.len(), |i| cond(x.at(i).gt(0.0), || x.at(i), || x.at(i) * 0.1));
    assert_eq!(jit(f).call([1.0, -1.0]).unwrap().to_vec(), [1.0, -0.1]);
    check(f, [1.0, -1.0, 2.5]);
}

#[test]
fn switches_choose_among_many() {
    let f = |i: Arr<i64>, x: Arr<f64>| {
        switch(i, &[&|| (x.sin(), x.sum()), &|| (x * x, x.prod()), &|| (x.log(), x.max())])
    };
    let x = [0.5, 2.0, 1.5];
    for (i, wanted, total) in [
        (-3, x.map(f64::sin), 4.0),
        (0, x.map(f64::sin), 4.0),
        (1, x.map(|x| x * x), 1.5),
        (2, x.map(f64::ln), 2.0),
        (i64::MAX, x.map(f64::ln), 2.0),
    ] {
        let (each, all) = jit(f).call((i, x)).unwrap();
        assert_close(&each.to_vec(), &wanted);
        assert_close(&all.to_vec(), &[total]);
        check(f, (i, x));
    }
    // What is not taken leaves no trace in the derivative.
    let f = |x: Arr<f64>, i: Arr<i64>| switch(i, &[&|| x.log(), &|| x * 3.0, &|| x.sqrt()]);
    assert_eq!(grad(f).call((0.0, 1)).unwrap(), 3.0);
    // A single branch; and under `build` a choice for each element.
    assert_eq!(jit(|x: Arr<f64>| switch(5, &[&|| x + 1.0])).call(1.0).unwrap(), 2.0);
    let f = |x: Arr<f64>| {
        build(x.len(), |i| switch(i, &[&|| x.at(i), &|| x.at(i).square(), &|| -x.at(i)]))
    };
    assert_eq!(jit(f).call([2.0, 3.0, 4.0, 5.0]).unwrap().to_vec(), [2.0, 9.0, -4.0, -5.0]);
    check(f, [2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn folds_and_scans_run_over_structures() {
    let mut rng = Rng::new(1);
    for length in [0, 1, 4] {
        let (xs, ys) = (scattered(&[length, 2], &mut rng), scattered(&[length], &mut rng));
        let f = |xs: Arr<f64>, ys: Arr<f64>| {
            let init = (constant([0.5, 0.25]), vec![constant(1.0)]);
            fold(init, (xs, ys), |(s, p), (x, y)| (s * 0.5 + x * y, vec![p[0] * (1.0 + y)]))
        };
        let (mut s, mut p) = (vec![0.5, 0.25], 1.0);
        for (x, y) in xs.to_vec().chunks(2).zip(ys.iter()) {
            s = s.iter().zip(x).map(|(s, x)| s * 0.5 + x * y).collect();
            p *= 1.0 + y;
        }
        let (found_s, found_p) = jit(f).call((&xs, &ys)).unwrap();
        assert_close(&found_s.to_vec(), &s);
        assert_close(&found_p[0].to_vec(), &[p]);
        check(f, (&xs, &ys));

        // States to the left and to the right, and outputs, with a captured variable.
        let f = |a: Arr<f64>, ys: Arr<f64>| {
            let step = |s: Arr<f64>, y: Arr<f64>| a * s + y;
            let left = scan(constant(1.0), ys, step);
            let right = scan_right(constant(1.0), ys, step);
            let last = fold_right(constant(1.0), ys, step);
            let (_, out) = map_accum_right(constant(1.0), ys, |s, y| (step(s, y), (s * y, s)));
            let (state, kept) = map_accum(constant(1.0), ys, |s, y| (step(s, y), s.sin()));
            (left, right, last, out, state, kept)
        };
        let a = 0.7;
        let run = |ys: &[f64]| -> Vec<f64> {
            let mut s = 1.0;
            ys.iter()
                .map(|y| {
                    s = a * s + y;
                    s
                })
                .collect()
        };
        let values = ys.to_vec();
        let back: Vec<f64> = values.iter().rev().copied().collect();
        let left = run(&values);
        let mut right = run(&back);
        right.reverse();
        let (l, r, last, (products, before), state, kept) = jit(f).call((a, &ys)).unwrap();
        assert_close(&l.to_vec(), &left);
        assert_close(&r.to_vec(), &right);
        assert_close(&last.to_vec(), &[right.first().copied().unwrap_or(1.0)]);
        let wanted: Vec<f64> =
            (0..length).map(|k| right.get(k + 1).copied().unwrap_or(1.0)).collect();
        assert_close(&before.to_vec(), &wanted);
        let wanted: Vec<f64> = wanted.iter().zip(&values).map(|(s, y)| s * y).collect();
        assert_close(&products.to_vec(), &wanted);
        assert_close(&state.to_vec(), &[left.last().copied().unwrap_or(1.0)]);
        let wanted: Vec<f64> =
            (0..length).map(|k| if k == 0 { 1f64.sin() } else { left[k - 1].sin() }).collect();
        assert_close(&kept.to_vec(), &wanted);
        check(f, (a, &ys));
    }
}

#[test]
fn loops_count() {
    let f = |x: Arr<f64>| {
        for_loop(4, (x, constant(0)), |i, (x, n)| (x * (i + 1).cast::<f64>() * 0.5, n + i))
    };
    let (y, n) = jit(f).call([1.0, -2.0]).unwrap();
    assert_eq!((y.to_vec(), n.item()), (vec![1.5, -3.0], Some(6)));
    check(f, [1.0, -2.0]);
    assert_eq!(jit(|x: Arr<f64>| for_loop(0, x, |_, x| x + 1.0)).call(3.0).unwrap(), 3.0);
    // The program does not grow with the number of steps.
    let size = |n: usize| {
        let f = move |x: Arr<f64>| for_loop(n, x, |_, x| x.sin());
        compile(f, ()).unwrap().program().len()
    };
    assert_eq!(size(10), size(1_000_000));
}

#[test]
fn maps_and_zips() {
    let f = |a: Arr<f64>, b: Arr<f64>| map((a, b), |(a, b)| (a * b.sum(), a + 1.0));
    let (products, sums) = jit(f).call(([1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]])).unwrap();
    assert_eq!((products.to_vec(), sums.to_vec()), (vec![3.0, 14.0], vec![2.0, 3.0]));
    check(f, ([1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]));
    let none = jit(f).call((Vec::<f64>::new(), &Tensor::zeros([0, 3]).unwrap())).unwrap();
    assert_eq!((none.0.shape(), none.1.shape()), (&[0][..], &[0][..]));
}

#[test]
fn associative_scans_equal_scans() {
    let mut rng = Rng::new(2);
    for length in 0..18 {
        let (a, b) = (scattered(&[length], &mut rng), scattered(&[length, 2], &mut rng));
        // Affine maps: not commutative.
        let f = |a: Arr<f64>, b: Arr<f64>| {
            associative_scan((a, b), |(a, b), (c, d)| (a * c, b * c + d))
        };
        let (mut p, mut s) = (1.0, [0.0, 0.0]);
        let (mut products, mut sums) = (Vec::new(), Vec::new());
        for (a, b) in a.iter().zip(b.to_vec().chunks(2)) {
            p *= a;
            s = [s[0] * a + b[0], s[1] * a + b[1]];
            products.push(p);
            sums.extend(s);
        }
        let (found_p, found_s) = jit(f).call((&a, &b)).unwrap();
        assert_eq!((found_p.shape(), found_s.shape()), (&[length][..], &[length, 2][..]));
        assert_close(&found_p.to_vec(), &products);
        assert_close(&found_s.to_vec(), &sums);
        if length < 8 {
            check(f, (&a, &b));
        }
    }
    // As long as a scan, but in logarithmic depth: the program grows with the logarithm only.
    let size = |n: usize| {
        let f = |x: Arr<f64>| associative_scan(x, |a, b| a.maximum(b));
        compile(f, [n]).unwrap().program().len()
    };
    let (small, large) = (size(1 << 8), size(1 << 16));
    assert!(large < 3 * small, "{small} {large}");
    let f = jit(|x: Arr<f64>| associative_scan(x, |a, b| a + b));
    let cost = f.compile([1 << 12]).unwrap().cost().operations;
    assert!(cost < 20 << 12, "{cost}");
}

#[test]
fn functions_are_mapped() {
    let f = |x: Arr<f64>, y: Arr<f64>| (x * y).sum();
    let (x, y) = ([[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]);
    assert_eq!(vmap(f).call((x, y)).unwrap().to_vec(), [17.0, 53.0]);
    let columns = vmap(f).in_axes([Some(1), Some(-2)]);
    assert_eq!(
        columns.call((x, y)).unwrap().to_vec(),
        [1.0 * 5.0 + 3.0 * 6.0, 2.0 * 7.0 + 4.0 * 8.0]
    );
    let all_pairs = vmap(vmap(f).in_axes([None, Some(0)])).in_axes([Some(0), None]);
    assert_eq!(all_pairs.call((x, y)).unwrap().to_vec(), [17.0, 23.0, 39.0, 53.0]);
    // In every order with derivatives.
    let cube = |x: Arr<f64>| x * x * x;
    assert_eq!(vmap(grad(cube)).call([1.0, 2.0]).unwrap().to_vec(), [3.0, 12.0]);
    assert_eq!(vmap(grad(grad(cube))).call([1.0, 2.0]).unwrap().to_vec(), [6.0, 12.0]);
    let total = grad(move |x: Arr<f64>| vmap(grad(cube)).at(x).sum());
    assert_eq!(total.call([1.0, 2.0]).unwrap().to_vec(), [6.0, 12.0]);
    let second = grad(vmap(f)).wrt(Arg::<1>);
    assert!(second.call((x, y)).is_err(), "the result is not a scalar");
    let weights =
        grad(move |w: Arr<f64>, x: Arr<f64>| vmap(f).in_axes([None, Some(0)]).at((w, x)).sum());
    assert_eq!(weights.wrt(Arg::<0>).call(([1.0, 1.0], x)).unwrap().to_vec(), [4.0, 6.0]);
    check(
        move |x: Arr<f64>, y: Arr<f64>| vmap(f).in_axes([Some(1), None]).at((x, y)),
        (x, [5.0, 6.0]),
    );
    // Structures of arguments and results.
    let g = |(a, b): (Arr<f64>, Vec<Arr<f64>>)| vec![(a * b[0], a + b[1])];
    let out = vmap(g).call(([1.0, 2.0], vec![[3.0, 4.0], [5.0, 6.0]])).unwrap();
    assert_eq!((out[0].0.to_vec(), out[0].1.to_vec()), (vec![3.0, 8.0], vec![6.0, 8.0]));
}

#[test]
fn rules_take_the_place_of_derivatives() {
    // Rules that are wrong on purpose, to be seen.
    let f = custom_vjp(
        |x: Arr<f64>, y: Arr<f64>| (x * y).sum(),
        |(x, y): (Arr<f64>, Arr<f64>), ct: Arr<f64>| (ct * y * 10.0, ct * x * 100.0),
    );
    let (x, y) = ([1.0, 2.0], [3.0, 4.0]);
    assert_eq!(f.call((x, y)).unwrap(), 11.0);
    let (value, (dx, dy)) = value_and_grad(f).wrt(AllArgs).call((x, y)).unwrap();
    assert_eq!(value, 11.0);
    assert_eq!((dx.to_vec(), dy.to_vec()), (vec![30.0, 40.0], vec![100.0, 200.0]));

    let g = || custom_jvp(|x: Arr<f64>| x.sin(), |x: Arr<f64>, dx: Arr<f64>| 5.0 * x.cos() * dx);
    assert_eq!(grad(g()).call(0.0).unwrap(), 5.0);
    assert_eq!(jvp(g()).call((0.0, 2.0)).unwrap().1, 10.0);
    // The rule is differentiated for second derivatives, and mapped.
    assert_eq!(grad(grad(g())).call(1.0).unwrap(), -5.0 * 1f64.sin());
    assert_eq!(vmap(grad(g())).call([0.0, 0.0]).unwrap().to_vec(), [5.0, 5.0]);
    assert_eq!(
        grad(|x: Arr<f64>| vmap(g()).at(x).sum()).call([0.0, 0.0]).unwrap().to_vec(),
        [5.0; 2]
    );

    // A rule that is right passes all oracles, with results and arguments that are not floats.
    let h = |x: Arr<f64>| {
        let scaled = custom_vjp(
            |x: Arr<f64>, k: Arr<i64>| (x * k.cast::<f64>(), k + 1),
            |(_, k): (Arr<f64>, Arr<i64>), (ct, _): (Arr<f64>, Arr<i64>)| (ct * k.cast::<f64>(), k),
        );
        let (y, k) = scaled.at((x, constant(3)));
        y * k.cast::<f64>()
    };
    assert_eq!(grad(h).call(1.0).unwrap(), 12.0);
    check(h, 0.5);
    // To what is captured no derivative passes.
    let captured = grad(|a: Arr<f64>| {
        custom_jvp(move |x: Arr<f64>| a * x, move |_: Arr<f64>, dx: Arr<f64>| a * dx).at(a)
    });
    assert_eq!(captured.call(3.0).unwrap(), 3.0);
}

#[test]
fn functions_are_linearised() {
    let f = |x: Arr<f64>, y: Arr<f64>| ((x * y).sin(), (x * x).sum());
    let point = ([0.5, -1.0], [2.0, 0.25]);
    let ((value, total), push) = linearize(f).call(point).unwrap();
    assert_close(&value.to_vec(), &[1f64.sin(), (-0.25f64).sin()]);
    assert_eq!(total, 1.25);
    for tangent in [([1.0, 0.0], [0.0, 0.0]), ([0.3, -2.0], [1.5, 4.0])] {
        let (dvalue, dtotal) = push.call(tangent).unwrap();
        let both = jvp(f).wrt(AllArgs).call((point, tangent)).unwrap().1;
        assert_close(&dvalue.to_vec(), &both.0.to_vec());
        assert_close(&dtotal.to_vec(), &both.1.to_vec());
    }
    // Inside another function, with a captured variable and a loop, and differentiated again.
    let f = |x: Arr<f64>, dx: Arr<f64>| {
        let a = x.sum();
        let (y, push) = linearize(move |x: Arr<f64>| x.cumprod(0) * a).at(x);
        (y, push.at(dx), push.at(dx * 2.0))
    };
    let (_, once, twice) = jit(f).call(([0.5, 2.0, 1.0], [1.0, 0.0, -1.0])).unwrap();
    // d(x0, x0 x1, x0 x1 x2) = (1, 2, 2 - 1), times the sum 3.5.
    assert_close(&once.to_vec(), &[3.5, 7.0, 3.5]);
    assert_close(&twice.to_vec(), &[7.0, 14.0, 7.0]);
    check(f, ([0.5, 2.0, 1.0], [1.0, 0.0, -1.0]));
}

#[test]
fn everything_runs_eagerly() {
    // A function that asks for values is linearised where it is.
    let halved = |x: Arr<f64>| -> cotan::Result<Arr<f64>> {
        let mut y = x;
        while y.item()? > 1.0 {
            y = y * 0.5;
        }
        Ok(y)
    };
    let f = move |x: Arr<f64>| {
        let (y, push) = linearize(halved).at(x);
        y + push.at(constant(1.0))
    };
    assert_eq!(cotan::eager::run(f, 6.0).unwrap(), 0.75 + 0.125);
    let g = |xs: Arr<f64>| -> cotan::Result<Arr<f64>> {
        let scale = if xs.max().item()? > 2.0 { 0.5 } else { 1.0 };
        let (last, all) = map_accum(constant(0.0), xs, |s, x| (s + x * scale, s * x));
        let swish = custom_jvp(
            |x: Arr<f64>| x * x.logistic(),
            |x: Arr<f64>, dx: Arr<f64>| {
                let s = x.logistic();
                (s + x * s * (1.0 - s)) * dx
            },
        );
        Ok(last + all.sort(0).sum() + vmap(swish).at(xs).sum())
    };
    let x = [1.0, -0.5, 3.0];
    let (y, dx) = cotan::eager::value_and_grad(g, x).unwrap();
    let staged = |xs: Arr<f64>| {
        let before = xs.cumsum(0) - xs;
        (0.5 * xs).sum() + (0.5 * before * xs).sum() + (xs * xs.logistic()).sum()
    };
    let (wanted, wanted_dx) = value_and_grad(staged).call(x).unwrap();
    assert_close(&y.to_vec(), &wanted.to_vec());
    assert_close(&dx.to_vec(), &wanted_dx.to_vec());
}

#[test]
fn constants_of_structures() {
    let f = |x: Arr<f64>| {
        let (a, n, b) = stop_gradient((x * x, constant(2), vec![x]));
        x * a + n.cast::<f64>() * b[0] + x
    };
    assert_eq!(grad(f).call(3.0).unwrap(), 10.0);
    check_rough(f, 3.0);
}

#[test]
fn loops_nest_with_everything() {
    // A gradient in a loop: descent on a parabola, differentiated by its start and its rate.
    let descend = |x: Arr<f64>, rate: Arr<f64>| {
        for_loop(3, x, |_, x| x - rate * grad(|x: Arr<f64>| (x * x).sum()).at(x))
    };
    check(descend, ([1.0, -2.0], 0.1));
    // A loop in a loop in a map.
    check(
        |xs: Arr<f64>| {
            map(xs, |row| {
                fold(constant(0.1), row, |s, x| for_loop(2, s, move |_, s| (s * x).sin() + s))
            })
        },
        [[0.5, 1.0], [-0.5, 0.25]],
    );
}

#[test]
fn errors_say_what_to_do() {
    let state = compile(|xs: Arr<f64>| fold(constant(0.0), xs, |_, x| x), [2, 3]);
    assert_eq!(
        text(state, file!()),
        "fold: the state is f64 at first, and [3]f64 after a step\n  at FILE:LINE\n  \
         hint: a state keeps its structure and types from step to step"
    );
    let part = compile(
        |xs: Arr<f64>| scan((constant(0), vec![xs]), xs, |(n, v), _| (n, vec![v[0].sum()])).0,
        [2],
    );
    assert_eq!(
        text(part, file!()),
        "scan: the state at `1.0` is [2]f64 at first, and f64 after a step\n  at FILE:LINE\n  \
         hint: a state keeps its structure and types from step to step"
    );
    let lengths = compile(|a: Arr<f64>, b: Arr<f64>| map((a, b), |(a, b)| a + b), ([2], [3]));
    assert_eq!(
        text(lengths, file!()),
        "map: arrays of different lengths, [2]f64 and [3]f64\n  at FILE:LINE\n  \
         hint: all arrays to run along must have the same outermost size"
    );
    let scalar = compile(|a: Arr<f64>| fold(a, a, |s, x| s + x), ());
    assert_eq!(
        text(scalar, file!()),
        "fold: the scalar f64 has no axis to run along\n  at FILE:LINE\n  \
         hint: what does not change from step to step is simply used in the function"
    );
    let nothing = compile(|a: Arr<f64>| fold(a, (), |s, ()| s), ());
    assert_eq!(
        text(nothing, file!()),
        "fold: there is no array to run along\n  at FILE:LINE\n  \
         hint: for a number of steps use `for_loop`"
    );
    let branches = compile(|a: Arr<f64>| cond(true, || (a, a), || (a, a.sum())), [2]);
    assert_eq!(
        text(branches, file!()),
        "cond: part `1` of the result is [2]f64 in the first branch and f64 in the second\n  \
         at FILE:LINE\n  hint: both branches give the same structure of the same types"
    );
    let many = compile(|a: Arr<f64>| cond(a.gt(0.0), || a, || a), [2]);
    assert_eq!(
        text(many, file!()),
        "cond: the condition must be a scalar, not [2]bool\n  at FILE:LINE\n  \
         hint: `select` chooses element by element; `any` and `all` make one of many"
    );
    let branches = compile(|i: Arr<i64>| switch(i, &[&|| (i, i), &|| (i, i.replicate(2))]), ());
    assert_eq!(
        text(branches, file!()),
        "switch: part `1` of the result is [2]i64 in branch 1 and i64 in branch 0\n  at FILE:LINE\n  \
         hint: all branches give the same structure of the same types"
    );
    let many = compile(|i: Arr<i64>| switch(i, &[&|| i, &|| i]), [3]);
    assert_eq!(
        text(many, file!()),
        "switch: the index must be a scalar, not [3]i64\n  at FILE:LINE\n  \
         hint: for an index at each element, `stack` the results and `take_along` it"
    );
    let none = compile(|i: Arr<i64>| switch::<Arr<i64>>(i, &[]), ());
    assert_eq!(
        text(none, file!()),
        "switch: there is no branch\n  at FILE:LINE\n  \
         hint: give one closure for each value of the index"
    );
    let combined = compile(|a: Arr<f64>| associative_scan(a, |a, b| (a + b).sum()), [2, 3]);
    assert_eq!(
        text(combined, file!()),
        "associative_scan: the combination of two [3]f64 is f64\n  at FILE:LINE\n  \
         hint: it must have the structure and types of what is combined"
    );
    let axes = vmap(|a: Arr<f64>, b: Arr<f64>| a + b).in_axes([Some(0)]).call(([1.0], [2.0]));
    assert_eq!(
        text(axes, file!()),
        "vmap: 1 axes for 2 arguments\n  at FILE:LINE\n  \
         hint: `in_axes` has an axis or `None` for each argument"
    );
    let unmapped = vmap(|a: Arr<f64>| a).in_axes([None]).call([1.0]);
    assert_eq!(
        text(unmapped, file!()),
        "vmap: no argument is mapped over\n  at FILE:LINE\n  \
         hint: at least one entry of `in_axes` must be an axis"
    );
    let rule = custom_vjp(|x: Arr<f64>| x.sum(), |_: Arr<f64>, ct: Arr<f64>| ct).call([1.0, 2.0]);
    assert_eq!(
        text(rule, file!()),
        "custom_vjp: the rule gives a cotangent f64 for the argument, which is [2]f64\n  at FILE:LINE"
    );
    let integers = linearize(|x: Arr<i64>| x).call([1]);
    assert_eq!(
        text(integers, file!()),
        "linearize: the argument is [1]i64\n  at FILE:LINE\n  \
         hint: only f64 and f32 have derivatives: capture it, or convert it"
    );
    // An error in the caller's function is told where that is, in its own name.
    let inner = compile(|xs: Arr<f64>| fold(xs, xs, |s, _| s + constant([1.0, 2.0, 3.0])), [2]);
    assert_eq!(
        text(inner, file!()),
        "add: shapes that do not fit: [2]f64 and [3]f64\n  at FILE:LINE\n  \
         hint: shapes fit when, from the last axis back, sizes are equal, 1 or missing"
    );
}
