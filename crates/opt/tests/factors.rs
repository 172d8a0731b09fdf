//! Factors of floats: how large numbers become on the way, signs, infinities and zeros, what is not
//! joined as it would be rounded, and the work that it takes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail so")]

use cotan_array::{Array, Dtype, Shape};
use cotan_interp::{Interp, Mode, Value};
use cotan_ir::scalar::Op;
use cotan_ir::{Builder, Program, Result, TermId, Type};
use cotan_opt::{Options, optimise};
use cotan_testkit::run_program;

fn shape(dims: &[usize]) -> Shape {
    Shape::new("test", dims).unwrap()
}

/// Copies of a number.
fn full(dtype: Dtype, dims: &[usize], x: f64) -> Array {
    let n = shape(dims).numel();
    match dtype {
        Dtype::F32 => Array::from_vec(shape(dims), vec![x as f32; n]).unwrap(),
        _ => Array::from_vec(shape(dims), vec![x; n]).unwrap(),
    }
}

fn times(b: &mut Builder, t: TermId, c: f64) -> Result<TermId> {
    let ty = b.ty(t).clone();
    let c = match ty.dtype {
        Dtype::F32 => b.scalar(c as f32)?,
        _ => b.scalar(c)?,
    };
    let c = ty.shape.dims().iter().rev().try_fold(c, |c, &k| b.replicate(k, c))?;
    b.op(Op::Mul, &[t, c])
}

fn elements(program: &Program, inputs: &[Value]) -> Vec<f64> {
    let results = run_program(program, inputs, Mode::Ieee).unwrap();
    let array = results[0].to_array().unwrap();
    match array.dtype() {
        Dtype::F32 => array.to_vec::<f32>().unwrap().into_iter().map(f64::from).collect(),
        _ => array.to_vec::<f64>().unwrap(),
    }
}

type Body<'a> = &'a dyn Fn(&mut Builder, &[TermId]) -> Result<TermId>;

/// A program, and what it becomes.
fn both(inputs: &[Array], body: Body) -> [Program; 2] {
    let mut b = Builder::new();
    let names = (0..inputs.len()).map(|n| format!("x{n}"));
    let xs: Vec<TermId> =
        inputs.iter().zip(names).map(|(x, name)| b.input(name, Type::of(x)).unwrap()).collect();
    let result = body(&mut b, &xs).unwrap();
    let program = b.finish_one(result).unwrap();
    let (optimised, _) = optimise(&program, &Options::default()).unwrap();
    [program, optimised]
}

/// The elements that a program gives, and those of what it becomes.
fn results(inputs: &[Array], body: Body) -> [Vec<f64>; 2] {
    let values: Vec<Value> = inputs.iter().map(Value::from).collect();
    both(inputs, body).map(|program| elements(&program, &values))
}

/// The largest relative difference between them.
fn difference(inputs: &[Array], body: Body) -> f64 {
    let [before, after] = results(inputs, body);
    let differences = before.iter().zip(&after).map(|(x, y)| ((x - y) / x).abs());
    differences.fold(0.0, |most, d| if d > most || d.is_nan() { d } else { most })
}

/// The same numbers, up to the sign of a zero.
fn assert_same(inputs: &[Array], body: Body, of: &str) {
    let [before, after] = results(inputs, body);
    let same = |(x, y): (&f64, &f64)| x == y || x.is_nan() && y.is_nan();
    assert!(before.iter().zip(&after).all(same), "{of}: {before:?} became {after:?}");
}

/// $\prod_k c\,x_k$ with $c\,x_k = 1$.
#[test]
fn products_of_many_multiples() {
    for (dtype, n, rounding) in [(Dtype::F32, 40, 1e-5), (Dtype::F64, 400, 1e-12)] {
        for c in [10_000.0, 1e-4, 65536.0, -3000.0, 7.0] {
            let inputs: Vec<Array> = (0..n).map(|_| full(dtype, &[2], 1.0 / c)).collect();
            for nested_left in [true, false] {
                let difference = difference(&inputs, &|b, xs| {
                    let mut product = times(b, xs[0], c)?;
                    for &x in &xs[1..] {
                        let next = times(b, x, c)?;
                        let args = if nested_left { [product, next] } else { [next, product] };
                        product = b.op(Op::Mul, &args)?;
                    }
                    Ok(product)
                });
                assert!(difference < rounding, "{dtype:?}, {c}: {difference}");
            }
        }
    }
}

/// Steps $v \mapsto c\,A\,v$ with matrices of which all elements are $1 / (3 c)$.
#[test]
fn many_sums_of_products() {
    for (dtype, n, rounding) in [(Dtype::F32, 40, 1e-4), (Dtype::F64, 200, 1e-12)] {
        for (c, outside) in [(1e4, true), (1e4, false), (1e-4, true), (1e-4, false), (6e4, true)] {
            let matrix = full(dtype, &[3, 3], 1.0 / (3.0 * c));
            let vector = full(dtype, &[3], 1.0);
            let difference = difference(&[matrix, vector], &|b, xs| {
                let mut v = xs[1];
                for _ in 0..n {
                    if !outside {
                        v = times(b, v, c)?;
                    }
                    let rows = b.replicate(3, v)?;
                    let products = b.op(Op::Mul, &[xs[0], rows])?;
                    let columns = b.transpose(&[1, 0], products)?;
                    v = b.sum_outer(columns)?;
                    if outside {
                        v = times(b, v, c)?;
                    }
                }
                Ok(v)
            });
            assert!(difference < rounding, "{dtype:?}, {c}, {outside}: {difference}");
        }
    }
}

/// What is large or small is not moved past what makes up for it.
#[test]
fn constants_of_any_size() {
    let tiny = full(Dtype::F64, &[2], 1e-200);
    assert_same(
        &[tiny.clone(), tiny],
        &|b, xs| {
            let first = times(b, xs[0], 1e200)?;
            b.op(Op::Mul, &[first, xs[1]])
        },
        "(x * 1e200) * y",
    );
    // Neither of two constants that cannot be joined is moved past the other factor.
    let tiny = full(Dtype::F32, &[2], 1e-20);
    let far = difference(&[tiny.clone(), tiny], &|b, xs| {
        let (first, second) = (times(b, xs[0], 1e4)?, times(b, xs[1], 1e4)?);
        b.op(Op::Mul, &[first, second])
    });
    assert!(far < 1e-6, "(x * 1e4) * (y * 1e4): {far}");
    let [x, y] = [1e-300, 1e200].map(|x| full(Dtype::F64, &[2], x));
    assert_same(
        &[x, y],
        &|b, xs| {
            let once = b.op(Op::Scale, &[xs[0], xs[1]])?;
            b.op(Op::Scale, &[once, xs[1]])
        },
        "scale(scale(x, y), y)",
    );
}

/// Constants whose product is rounded, or large, stay apart.
#[test]
fn constants_are_joined_exactly() {
    let numbers: Vec<f64> = (1..200).map(|k| f64::from(k) / 7.0).collect();
    let doubles = Array::from_vec(shape(&[199]), numbers.clone()).unwrap();
    let singles: Vec<f32> = numbers.iter().map(|&x| x as f32).collect();
    let singles = Array::from_vec(shape(&[199]), singles).unwrap();
    let next = f64::from(1.0f32.next_up());
    for (x, c, d) in [(&doubles, 0.1, 0.3), (&doubles, 60_000.1, 60_000.7), (&singles, next, next)]
    {
        let of = format!("{c}, {d}");
        assert_same(
            std::slice::from_ref(x),
            &|b, xs| {
                let once = times(b, xs[0], c)?;
                times(b, once, d)
            },
            &of,
        );
    }
}

/// Every way to add and subtract two multiples of a term and another one, of numbers that are not
/// rounded.
#[test]
fn signs_of_multiples() {
    let x = Array::from_vec(shape(&[3]), vec![1.0, -2.0, 5.0]).unwrap();
    let y = Array::from_vec(shape(&[3]), vec![100.0, 1000.0, -70.0]).unwrap();
    let multiple = |b: &mut Builder, t: TermId, c: f64| match c {
        1.0 => Ok(t),
        -1.0 => b.op(Op::Neg, &[t]),
        c => times(b, t, c),
    };
    let constants = [1.0, -1.0, 3.0, -3.0, 0.5];
    let ops = [Op::Add, Op::Sub];
    for (c, d) in constants.iter().flat_map(|&c| constants.map(|d| (c, d))) {
        for (first, second) in ops.iter().flat_map(|&first| ops.map(|second| (first, second))) {
            for way in 0..5 {
                let of = format!("{c}, {d}, {first:?}, {second:?}, way {way}");
                assert_same(
                    &[x.clone(), y.clone()],
                    &|b, xs| {
                        let (p, q) = (multiple(b, xs[0], c)?, multiple(b, xs[0], d)?);
                        match way {
                            0 => b.op(first, &[p, q]),
                            1 => b.op(first, &[p, xs[1]]).and_then(|t| b.op(second, &[t, q])),
                            2 => b.op(first, &[xs[1], p]).and_then(|t| b.op(second, &[t, q])),
                            3 => b.op(first, &[p, xs[1]]).and_then(|t| b.op(second, &[q, t])),
                            _ => b.op(first, &[xs[1], p]).and_then(|t| b.op(second, &[q, t])),
                        }
                    },
                    &of,
                );
            }
        }
    }
}

/// Infinity less infinity is no number, and 0 annihilates what it scales, not what scales it.
#[test]
fn infinities_and_zeros() {
    let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0, 1e300, 2.0];
    let all = special.iter().flat_map(|&x| special.map(|y| (x, y)));
    let (x, y): (Vec<f64>, Vec<f64>) = all.unzip();
    let [x, y] = [x, y].map(|v| Array::from_vec(shape(&[36]), v).unwrap());
    let inputs = [x, y];
    assert_same(
        &inputs,
        &|b, xs| {
            let more = times(b, xs[0], 3.0)?;
            b.op(Op::Sub, &[more, xs[0]])
        },
        "x * 3 - x",
    );
    for second in [true, false] {
        let scaled = |b: &mut Builder, xs: &[TermId]| {
            let multiple = times(b, xs[0], 0.5)?;
            b.op(Op::Scale, &if second { [xs[1], multiple] } else { [multiple, xs[1]] })
        };
        assert_same(&inputs, &scaled, "a factor that is scaled");
        // Of a sum with zeros only one summand counts.
        assert_same(
            &inputs,
            &|b, xs| {
                let zero = b.scalar(0.0)?;
                let zeros = b.replicate(36, zero)?;
                let tables: Vec<TermId> =
                    xs.iter().map(|&x| b.stack(&[x, zeros])).collect::<Result<_>>()?;
                let waves: Vec<TermId> =
                    tables.iter().map(|&t| b.op(Op::Abs, &[t])).collect::<Result<_>>()?;
                let products = scaled(b, &waves)?;
                b.sum_outer(products)
            },
            "a sum of what is scaled",
        );
    }
}

fn work(program: &Program, inputs: &[Array]) -> u64 {
    let inputs: Vec<Value> = inputs.iter().map(Value::from).collect();
    Interp::new(program).run(&inputs).unwrap().counts.work()
}

/// The factor that is scaled is not exchanged with the other one, also where it is taken out of a sum
/// and is copied.
#[test]
fn zeros_in_sums_of_copies() {
    let x = Array::from_vec(shape(&[2]), vec![f64::INFINITY, 1.0]).unwrap();
    let y = Array::from_vec(shape(&[2, 3]), vec![0.0, 2.0, 0.0, 0.0, 0.0, 5.0]).unwrap();
    for second in [true, false] {
        let summed = |b: &mut Builder, xs: &[TermId]| {
            let multiple = times(b, xs[0], 3.0)?;
            let copies = b.replicate(3, multiple)?;
            let copies = b.transpose(&[1, 0], copies)?;
            let args = if second { [xs[1], copies] } else { [copies, xs[1]] };
            let products = b.op(Op::Scale, &args)?;
            b.sum_outer(products)
        };
        assert_same(&[x.clone(), y.clone()], &summed, &format!("second: {second}"));
    }
}

/// What is used elsewhere, or copied, is not made a second time without its constant.
#[test]
fn work_does_not_grow() {
    let [x, y] = [[40, 40], [40, 40]].map(|dims| full(Dtype::F64, &dims, 2.0));
    let v = full(Dtype::F64, &[40], 2.0);
    let inputs = [x, y, v];
    // The product of copies of a multiple and an array, whose rows are summed.
    let product = |b: &mut Builder, xs: &[TermId]| -> Result<[TermId; 2]> {
        let multiple = times(b, xs[2], 3.0)?;
        let copies = b.replicate(40, multiple)?;
        let product = b.op(Op::Mul, &[copies, xs[0]])?;
        Ok([product, b.transpose(&[1, 0], product)?])
    };
    let programs: [(&str, Body); 7] = [
        ("a summed product that is used twice", &|b, xs| {
            let [product, rows] = product(b, xs)?;
            let sin = b.op(Op::Sin, &[product])?;
            let (first, second) = (b.sum_outer(rows)?, b.sum_outer(sin)?);
            b.op(Op::Max, &[first, second])
        }),
        ("a summed sum of a product that is used twice", &|b, xs| {
            let [product, rows] = product(b, xs)?;
            let sin = b.op(Op::Sin, &[product])?;
            let other = times(b, xs[1], 3.0)?;
            let both = b.op(Op::Add, &[rows, other])?;
            let (first, second) = (b.sum_outer(both)?, b.sum_outer(sin)?);
            b.op(Op::Max, &[first, second])
        }),
        ("copies of a multiple", &|b, xs| {
            let multiple = times(b, xs[2], 3.0)?;
            let copies = b.replicate(40, multiple)?;
            b.op(Op::Mul, &[copies, xs[0]])
        }),
        ("a multiple that is used twice", &|b, xs| {
            let multiple = times(b, xs[0], 3.0)?;
            let (sin, product) = (b.op(Op::Sin, &[multiple])?, b.op(Op::Mul, &[multiple, xs[1]])?);
            b.op(Op::Max, &[sin, product])
        }),
        ("a sum that is used twice", &|b, xs| {
            let inner = b.op(Op::Add, &[xs[0], xs[1]])?;
            let outer = b.op(Op::Add, &[inner, xs[0]])?;
            b.op(Op::Max, &[inner, outer])
        }),
        ("a product that is used twice", &|b, xs| {
            let square = b.op(Op::Mul, &[xs[1], xs[1]])?;
            let once = b.op(Op::Scale, &[xs[0], xs[1]])?;
            let twice = b.op(Op::Scale, &[once, xs[1]])?;
            let first = b.op(Op::Max, &[square, once])?;
            b.op(Op::Max, &[first, twice])
        }),
        ("choices that are used twice", &|b, xs| {
            let condition = b.op(Op::Lt, &[xs[0], xs[1]])?;
            let zero = b.scalar(0.0)?;
            let zero = b.replicate(40, zero).and_then(|t| b.replicate(40, t))?;
            let first = b.op(Op::Select, &[condition, xs[0], zero])?;
            let second = b.op(Op::Select, &[condition, xs[1], zero])?;
            let both = b.op(Op::Add, &[first, second])?;
            let larger = b.op(Op::Max, &[first, second])?;
            b.op(Op::Max, &[larger, both])
        }),
    ];
    for (of, body) in programs {
        let [before, after] = both(&inputs, body);
        let (source, made) = (work(&before, &inputs), work(&after, &inputs));
        assert!(made <= source, "{of}: {source} became {made}\n{before}became\n{after}");
    }
}

/// Terms that only look like those of a rule.
#[test]
fn other_factors_stay() {
    let numbers = |dims: &[usize], add: i32| {
        let all = (0..shape(dims).numel()).map(|k| f64::from((k as i32 + add) % 5 + 1));
        Array::from_vec(shape(dims), all.collect()).unwrap()
    };
    let inputs = [numbers(&[6, 4], 0), numbers(&[6, 4], 2), numbers(&[6, 4], 3)];
    let programs: [(&str, Body); 4] = [
        ("scale(scale(x, z), y) beside y * y", &|b, xs| {
            let square = b.op(Op::Mul, &[xs[1], xs[1]])?;
            let once = b.op(Op::Scale, &[xs[0], xs[2]])?;
            let twice = b.op(Op::Scale, &[once, xs[1]])?;
            b.op(Op::Sub, &[square, twice])
        }),
        ("(1 / z) / y", &|b, xs| {
            let one = b.scalar(1.0)?;
            let ones = b.replicate(4, one).and_then(|t| b.replicate(6, t))?;
            let reciprocal = b.op(Op::Div, &[ones, xs[2]])?;
            b.op(Op::Div, &[reciprocal, xs[1]])
        }),
        ("sum(x * 3 + y * -3)", &|b, xs| {
            let (first, second) = (times(b, xs[0], 3.0)?, times(b, xs[1], -3.0)?);
            let sum = b.op(Op::Add, &[first, second])?;
            b.sum_outer(sum)
        }),
        ("where(p, x, 0) + where(q, y, 0)", &|b, xs| {
            let zero = b.scalar(0.0)?;
            let zeros = b.replicate(4, zero).and_then(|t| b.replicate(6, t))?;
            let (p, q) = (b.op(Op::Lt, &[xs[0], xs[1]])?, b.op(Op::Lt, &[xs[1], xs[2]])?);
            let first = b.op(Op::Select, &[p, xs[0], zeros])?;
            let second = b.op(Op::Select, &[q, xs[1], zeros])?;
            b.op(Op::Add, &[first, second])
        }),
    ];
    for (of, body) in programs {
        assert_same(&inputs, body, of);
    }
}
