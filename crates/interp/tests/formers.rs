//! Every former at ranks 0 to 3 and sizes 0 to 3, against its defining equation as a function of
//! multi-indices.

mod common;

use common::*;
use cotan_array::Dtype;
use cotan_interp::{Interp, Value};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Extreme, MapAccum, Param, Result, TermId, While};

const SIZES: [usize; 4] = [0, 1, 2, 3];

/// An element that tells its index: `1 + i + 10 j + 100 k`.
fn digits(ix: &[usize]) -> f64 {
    1.0 + ix.iter().rev().fold(0.0, |x, &i| 10.0 * x + i as f64)
}

/// An element with many ties.
fn tied(ix: &[usize]) -> f64 {
    ((7 * ix.iter().sum::<usize>() + 3 * ix.first().copied().unwrap_or(0)) % 3) as f64
}

/// `digits` as an array, read as zero out of range.
fn read(dims: &[usize], ix: &[i64]) -> f64 {
    let inside = ix.iter().zip(dims).all(|(&i, &k)| 0 <= i && i < k as i64);
    if inside { digits(&ix.iter().map(|&i| i as usize).collect::<Vec<_>>()) } else { 0.0 }
}

fn wide(ix: &[usize]) -> Vec<i64> {
    ix.iter().map(|&i| i as i64).collect()
}

/// Component `c` of an index function: it leaves the bounds on both sides.
fn affine(c: usize, is: &[i64]) -> i64 {
    is.iter().enumerate().fold(c as i64 - 1, |x, (n, &i)| x + (1 + (n + c) as i64 % 2) * i)
}

/// The same as a term.
fn affine_term(b: &mut Builder, c: usize, is: &[TermId]) -> Result<TermId> {
    let mut x = b.scalar(c as i64 - 1)?;
    for (n, &i) in is.iter().enumerate() {
        let factor = b.scalar(1 + (n + c) as i64 % 2)?;
        let term = b.op(Op::Mul, &[factor, i])?;
        x = b.op(Op::Add, &[x, term])?;
    }
    Ok(x)
}

#[test]
fn constants_and_inputs_are_themselves() {
    for dims in shapes(3, &SIZES) {
        let a = tabulate(&dims, digits);
        let array = a.to_array().unwrap();
        assert_same(&eval(&[], |b, _| b.constant(&array)), &a);
        assert_same(&eval(std::slice::from_ref(&a), |_, xs| Ok(xs[0])), &a);
    }
}

#[test]
fn operations_are_elementwise() {
    for dims in shapes(3, &SIZES) {
        let (a, b) = (tabulate(&dims, digits), tabulate(&dims, |ix| 2.0 * tied(ix)));
        let c = tabulate_ints(&dims, |ix| tied(ix) as i64);
        let got = run(&[a, b, c], |m, xs| {
            let larger = m.op(Op::ToBool, &[xs[2]])?;
            Ok(vec![
                m.op(Op::Neg, &[xs[0]])?,
                m.op(Op::Mul, &[xs[0], xs[1]])?,
                m.op(Op::Select, &[larger, xs[0], xs[1]])?,
            ])
        });
        assert_same(&got.outputs[0], &tabulate(&dims, |ix| -digits(ix)));
        assert_same(&got.outputs[1], &tabulate(&dims, |ix| digits(ix) * (2.0 * tied(ix))));
        let select = |ix: &[usize]| if tied(ix) != 0.0 { digits(ix) } else { 2.0 * tied(ix) };
        assert_same(&got.outputs[2], &tabulate(&dims, select));
    }
}

#[test]
fn cond_is_one_of_two() {
    for dims in shapes(3, &SIZES) {
        let (a, b) = (tabulate(&dims, digits), tabulate(&dims, tied));
        for truth in [true, false] {
            let inputs = [Value::scalar(truth), a.clone(), b.clone()];
            let got = eval(&inputs, |m, xs| m.cond(xs[0], xs[1], xs[2]));
            assert_same(&got, if truth { &a } else { &b });
        }
    }
}

#[test]
fn index_reads_a_sub_array_or_zeros() {
    for dims in shapes(3, &SIZES) {
        for m in 0..=dims.len() {
            let mut types = vec![ty(Dtype::F64, &dims)];
            types.extend(vec![ty(Dtype::I64, &[]); m]);
            let p = program(&types, |b, xs| Ok(vec![b.index(xs[0], &xs[1..])?]));
            for ix in indices(&vec![5; m]) {
                let ix: Vec<i64> = ix.iter().map(|&i| i as i64 - 1).collect();
                let mut inputs = vec![tabulate(&dims, digits)];
                inputs.extend(ix.iter().map(|&i| Value::scalar(i)));
                let got = Interp::new(&p).run(&inputs).unwrap();
                let expected =
                    tabulate(&dims[m..], |js| read(&dims, &[&ix[..], &wide(js)].concat()));
                assert_same(&got.outputs[0], &expected);
            }
        }
    }
}

#[test]
fn sum_outer_adds_along_the_outermost_axis() {
    for dims in shapes(3, &SIZES).into_iter().filter(|dims| !dims.is_empty()) {
        let got = eval(&[tabulate(&dims, digits)], |b, xs| b.sum_outer(xs[0]));
        let sum = |is: &[usize]| (0..dims[0]).map(|k| digits(&[&[k], is].concat())).sum();
        // Sums in floats of small integers are exact, also the empty sum of the standard library,
        // but for its sign.
        assert_same(&got, &tabulate(&dims[1..], |is| f64::abs(sum(is))));
    }
}

#[test]
fn gather_is_a_build_of_index() {
    for dims in shapes(3, &SIZES) {
        for m in 0..=dims.len() {
            for sizes in shapes(2, &[0, 2, 3]) {
                let a = tabulate(&dims, digits);
                let got = run(&[a], |b, xs| {
                    let index = |b: &mut Builder, is: &[TermId]| -> Result<Vec<TermId>> {
                        (0..m).map(|c| affine_term(b, c, is)).collect()
                    };
                    let r = b.index_function(&sizes, index)?;
                    let gathered = b.gather(xs[0], r)?;
                    let built = match sizes.as_slice() {
                        [] => {
                            let ix = index(b, &[])?;
                            b.index(xs[0], &ix)?
                        }
                        &[k] => b.build(k, |b, i| {
                            let ix = index(b, &[i])?;
                            b.index(xs[0], &ix)
                        })?,
                        &[k, l] => b.build(k, |b, i| {
                            b.build(l, |b, j| {
                                let ix = index(b, &[i, j])?;
                                b.index(xs[0], &ix)
                            })
                        })?,
                        _ => unreachable!(),
                    };
                    Ok(vec![gathered, built])
                });
                let expected = tabulate(&[&sizes, &dims[m..]].concat(), |place| {
                    let (is, js) = place.split_at(sizes.len());
                    let ix: Vec<i64> = (0..m).map(|c| affine(c, &wide(is))).collect();
                    read(&dims, &[&ix[..], &wide(js)].concat())
                });
                assert_same(&got.outputs[0], &expected);
                assert_same(&got.outputs[1], &expected);
            }
        }
    }
}

#[test]
fn scatter_adds_what_is_sent_to_a_place() {
    for dims in shapes(3, &SIZES) {
        for m in 0..=dims.len() {
            for outer in shapes(2, &[0, 2, 3]) {
                let got = eval(&[tabulate(&dims, digits)], |b, xs| {
                    let r = b.index_function(&dims[..m], |b, is| {
                        (0..outer.len()).map(|c| affine_term(b, c, is)).collect()
                    })?;
                    b.scatter(&outer, xs[0], r)
                });
                let expected = tabulate(&[&outer, &dims[m..]].concat(), |place| {
                    let (ks, js) = place.split_at(outer.len());
                    let mut sum = 0.0;
                    for is in indices(&dims[..m]) {
                        let target: Vec<i64> =
                            (0..outer.len()).map(|c| affine(c, &wide(&is))).collect();
                        if target == wide(ks) {
                            sum += digits(&[&is[..], js].concat());
                        }
                    }
                    sum
                });
                assert_same(&got, &expected);
            }
        }
    }
}

/// The example in the report's section on gather and scatter.
#[test]
fn the_scatter_of_the_report() {
    let nine: Vec<f64> = (1..=9).map(f64::from).collect();
    let got = eval(&[floats(&nine)], |b, xs| {
        let two = b.scalar(2i64)?;
        let r = b.index_function(&[9], |b, is| Ok(vec![b.op(Op::FloorDiv, &[is[0], two])?]))?;
        b.scatter(&[6], xs[0], r)
    });
    assert_same(&got, &floats(&[3.0, 7.0, 11.0, 15.0, 9.0, 0.0]));
}

#[test]
fn stack_and_replicate_add_an_axis() {
    for dims in shapes(3, &SIZES) {
        let (a, b) = (tabulate(&dims, digits), tabulate(&dims, tied));
        for k in SIZES {
            let got = eval(std::slice::from_ref(&a), |b, xs| b.replicate(k, xs[0]));
            assert_same(&got, &tabulate(&[&[k], &dims[..]].concat(), |ix| digits(&ix[1..])));
        }
        let got = eval(&[a, b], |m, xs| m.stack(&[xs[0], xs[1], xs[0]]));
        let pick = |ix: &[usize]| if ix[0] == 1 { tied(&ix[1..]) } else { digits(&ix[1..]) };
        assert_same(&got, &tabulate(&[&[3], &dims[..]].concat(), pick));
    }
}

#[test]
fn transpose_permutes_leading_axes() {
    for dims in shapes(3, &SIZES) {
        for m in 0..=dims.len() {
            for perm in permutations(m) {
                let got = eval(&[tabulate(&dims, digits)], |b, xs| b.transpose(&perm, xs[0]));
                let mut turned = dims.clone();
                for (n, &k) in perm.iter().enumerate() {
                    turned[n] = dims[k];
                }
                let expected = tabulate(&turned, |is| {
                    let mut js = is.to_vec();
                    for (n, &k) in perm.iter().enumerate() {
                        js[k] = is[n];
                    }
                    digits(&js)
                });
                assert_same(&got, &expected);
            }
        }
    }
    // The report's example: an array of shape [5, 3, 6, 9] turned by [3, 0, 1, 2].
    let got = eval(&[tabulate(&[5, 3, 6, 9], digits)], |b, xs| b.transpose(&[3, 0, 1, 2], xs[0]));
    assert_eq!(got.shape().dims(), [9, 5, 3, 6]);
    let at = |ix: &[usize]| digits(&[ix[1], ix[2], ix[3], ix[0]]);
    assert_same(&got, &tabulate(&[9, 5, 3, 6], at));
}

#[test]
fn reshape_keeps_the_row_major_order() {
    let all = shapes(3, &SIZES);
    for dims in &all {
        let numel: usize = dims.iter().product();
        let order: Vec<f64> = indices(dims).iter().map(|ix| digits(ix)).collect();
        for other in all.iter().filter(|sh| sh.iter().product::<usize>() == numel) {
            let got = eval(&[tabulate(dims, digits)], |b, xs| b.reshape(other, xs[0]));
            assert_same(&got, &Value::of(other, order.clone()).unwrap());
        }
    }
}

#[test]
fn build_tabulates() {
    for dims in shapes(2, &SIZES) {
        for k in SIZES {
            // build k (\i -> a * i)
            let got = eval(&[tabulate(&dims, digits)], |b, xs| {
                b.build(k, |b, i| {
                    let mut factor = b.op(Op::ToF64, &[i])?;
                    for &k in dims.iter().rev() {
                        factor = b.replicate(k, factor)?;
                    }
                    b.op(Op::Mul, &[xs[0], factor])
                })
            });
            let expected =
                tabulate(&[&[k], &dims[..]].concat(), |ix| digits(&ix[1..]) * ix[0] as f64);
            assert_same(&got, &expected);
        }
    }
}

#[test]
fn iota_counts() {
    for k in SIZES {
        assert_same(&eval(&[], |b, _| b.iota(k)), &tabulate_ints(&[k], |ix| ix[0] as i64));
    }
}

#[test]
fn one_hot_is_zero_elsewhere() {
    for dims in shapes(2, &SIZES) {
        for outer in shapes(2, &[0, 1, 3]) {
            for ix in indices(&vec![5; outer.len()]) {
                let ix: Vec<i64> = ix.iter().map(|&i| i as i64 - 1).collect();
                let mut inputs = vec![tabulate(&dims, digits)];
                inputs.extend(ix.iter().map(|&i| Value::scalar(i)));
                let got = eval(&inputs, |b, xs| b.one_hot(&outer, xs[0], &xs[1..]));
                let expected = tabulate(&[&outer, &dims[..]].concat(), |place| {
                    let (is, js) = place.split_at(outer.len());
                    if wide(is) == ix { digits(js) } else { 0.0 }
                });
                assert_same(&got, &expected);
            }
        }
    }
}

#[test]
fn arg_extremes_are_the_first_of_the_best() {
    for dims in shapes(3, &SIZES).into_iter().filter(|dims| !dims.is_empty()) {
        let got = run(&[tabulate(&dims, tied)], |b, xs| {
            Ok(vec![b.arg_extreme(Extreme::Max, xs[0])?, b.arg_extreme(Extreme::Min, xs[0])?])
        });
        let first = |is: &[usize], better: fn(f64, f64) -> bool| {
            let lane: Vec<f64> = (0..dims[0]).map(|k| tied(&[&[k], is].concat())).collect();
            let best = |k: &usize| lane.iter().all(|&x| !better(x, lane[*k]));
            (0..dims[0]).find(best).unwrap_or(0) as i64
        };
        let max = tabulate_ints(&dims[1..], |is| first(is, |x, y| x > y));
        let min = tabulate_ints(&dims[1..], |is| first(is, |x, y| x < y));
        assert_same(&got.outputs[0], &max);
        assert_same(&got.outputs[1], &min);
    }
}

#[test]
fn argsort_is_the_stable_permutation() {
    for dims in shapes(3, &SIZES).into_iter().filter(|dims| !dims.is_empty()) {
        let got = eval(&[tabulate(&dims, tied)], |b, xs| b.arg_sort(xs[0]));
        // The rank of an element is the number of those before it in the sorted order.
        let expected = tabulate_ints(&dims, |ix| {
            let (r, is) = (ix[0], &ix[1..]);
            let key = |k: usize| (tied(&[&[k], is].concat()), k);
            let rank = |k: usize| (0..dims[0]).filter(|&j| key(j) < key(k)).count();
            (0..dims[0]).find(|&k| rank(k) == r).unwrap() as i64
        });
        assert_same(&got, &expected);
    }
}

#[test]
fn segments_have_the_first_extreme_of_their_elements() {
    for dims in shapes(3, &SIZES).into_iter().filter(|dims| !dims.is_empty()) {
        for segments in SIZES {
            for extreme in [Extreme::Max, Extreme::Min] {
                // Some ids are below the range, and some above.
                let id = |ix: &[usize]| ix.iter().sum::<usize>() as i64 % 5 - 1;
                let inputs = [tabulate(&dims, tied), tabulate_ints(&dims, id)];
                let got = eval(&inputs, |b, xs| b.segment_arg(extreme, segments, xs[0], xs[1]));
                let found = [&[segments], &dims[1..]].concat();
                let expected = tabulate_ints(&found, |ix| {
                    let at = |k: usize| [&[k], &ix[1..]].concat();
                    let own = |k: &usize| id(&at(*k)) == ix[0] as i64;
                    let beats = |j: usize, k: usize| match extreme {
                        Extreme::Max => tied(&at(j)) > tied(&at(k)),
                        Extreme::Min => tied(&at(j)) < tied(&at(k)),
                    };
                    let best = (0..dims[0])
                        .filter(own)
                        .find(|&k| !(0..dims[0]).filter(own).any(|j| beats(j, k)));
                    best.unwrap_or(dims[0]) as i64
                });
                assert_same(&got, &expected);
            }
        }
    }
}

/// `s' = 2 s + x`, `y = s - x`, both ways, with an outer array captured by the step.
#[test]
fn map_accum_steps_through() {
    for inner in shapes(2, &SIZES) {
        for n in SIZES {
            for reverse in [false, true] {
                let dims = [&[n], &inner[..]].concat();
                let inputs = [tabulate(&inner, tied), tabulate(&dims, digits)];
                let got = run(&inputs, |b, xs| {
                    let element = Param::Value(ty(Dtype::F64, &inner));
                    let step = b.lambda(&[element.clone(), element], |b, v| {
                        let double = b.op(Op::Add, &[v[0], v[0]])?;
                        let next = b.op(Op::Add, &[double, v[1]])?;
                        let y = b.op(Op::Sub, &[v[0], v[1]])?;
                        Ok(vec![next, y, xs[0]])
                    })?;
                    let m = b.map_accum(MapAccum {
                        length: n,
                        reverse,
                        init: [xs[0]].into(),
                        inputs: [xs[1]].into(),
                        step,
                    })?;
                    (0..3).map(|k| b.result(m, k)).collect()
                });
                let place = |step: usize| if reverse { n - 1 - step } else { step };
                let state = |steps: usize, is: &[usize]| {
                    let x = |step| digits(&[&[place(step)], is].concat());
                    (0..steps).fold(tied(is), |s, step| 2.0 * s + x(step))
                };
                assert_same(&got.outputs[0], &tabulate(&inner, |is| state(n, is)));
                let expected = tabulate(&dims, |ix| state(place(ix[0]), &ix[1..]) - digits(ix));
                assert_same(&got.outputs[1], &expected);
                assert_same(&got.outputs[2], &tabulate(&dims, |ix| tied(&ix[1..])));
            }
        }
    }
}

#[test]
fn while_runs_as_long_as_its_condition_holds_and_no_longer_than_its_bound() {
    for steps in 0..5i64 {
        for bound in [None, Some(0), Some(2), Some(3), Some(9)] {
            let got = outputs_of(bound, steps);
            let made = bound.map_or(steps as usize, |bound| bound.min(steps as usize));
            let power = |n: usize| 2f64.powi(n as i32) + 1.0;
            assert_same(&got[0], &Value::scalar(power(made)));
            assert_same(&got[1], &Value::scalar(made as i64));
            if let Some(bound) = bound {
                let rows = tabulate(&[bound], |ix| if ix[0] < made { power(ix[0]) } else { 0.0 });
                assert_same(&got[2], &rows);
            }
        }
    }
}

/// `while n < steps: (x, n) = (2 x - 1, n + 1)` from 2, with each `x` as output if there is a bound.
fn outputs_of(bound: Option<usize>, steps: i64) -> Vec<Value> {
    run(&[Value::scalar(2.0), Value::scalar(steps)], |b, xs| {
        let (zero, one) = (b.scalar(0i64)?, b.scalar(1.0)?);
        let params = [xs[0], zero].map(|t| Param::Value(b.ty(t).clone()));
        let step = b.lambda(&params, |b, v| {
            let running = b.op(Op::Lt, &[v[1], xs[1]])?;
            let double = b.op(Op::Add, &[v[0], v[0]])?;
            let by_one = b.op(Op::ToI64, &[one])?;
            let mut results = vec![running, b.op(Op::Sub, &[double, one])?];
            results.push(b.op(Op::Add, &[v[1], by_one])?);
            results.extend(bound.map(|_| v[0]));
            Ok(results)
        })?;
        let w = b.while_accum(While { bound, init: [xs[0], zero].into(), step })?;
        (0..b.result_count(w).unwrap_or(0)).map(|n| b.result(w, n)).collect()
    })
    .outputs
}
