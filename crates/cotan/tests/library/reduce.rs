//! Reductions: values against plain Rust, derivatives by the oracles, corner cases, errors.

use crate::support::plain::{SHAPES, assert_close, choices, groups, scattered, text};
use crate::support::{check, check_rough};
use cotan::prelude::*;
use cotan_interp::{Interp, Value};
use cotan_testkit::Rng;

/// Checks the three forms of a reduction of floats on all shapes and all choices of axes.
macro_rules! reduction {
    ($test:ident: $all:ident $axis:ident $keep:ident ($($arg:expr),*), $plain:expr) => {
        #[test]
        fn $test() {
            let plain: fn(&[f64]) -> f64 = $plain;
            let mut rng = Rng::new(17);
            for shape in SHAPES {
                let x = scattered(shape, &mut rng);
                let found = jit(|x: Arr<f64>| x.$all($($arg),*).cast::<f64>()).call(&x).unwrap();
                assert_eq!(found.rank(), 0);
                assert_close(&found.to_vec(), &[plain(&x.to_vec())]);
                for axes in choices(shape.len()) {
                    let (sizes, lines) = groups(&x, &axes);
                    let wanted: Vec<f64> = lines.iter().map(|line| plain(line)).collect();
                    // From the end, and in another order.
                    let axes: Vec<i32> =
                        axes.iter().rev().map(|&axis| axis as i32 - shape.len() as i32).collect();
                    let given = axes.clone();
                    let f = move |x: Arr<f64>| x.$axis(given.clone(), $($arg),*);
                    let found = jit(&f).call(&x).unwrap();
                    assert_eq!(found.shape(), sizes);
                    assert_close(&found.iter().map(|y| y as f64).collect::<Vec<_>>(), &wanted);
                    // What is not finite, of too few elements, has no differences.
                    match wanted.iter().all(|y| y.is_finite()) {
                        true => check(&f, &x),
                        false => check_rough(&f, &x),
                    }
                    let given = axes.clone();
                    let found = jit(move |x: Arr<f64>| x.$keep(given.clone(), $($arg),*));
                    let found = found.call(&x).unwrap();
                    let mut kept = shape.to_vec();
                    axes.iter().for_each(|axis| kept[(axis + shape.len() as i32) as usize] = 1);
                    assert_eq!(found.shape(), kept);
                    assert_close(&found.iter().map(|y| y as f64).collect::<Vec<_>>(), &wanted);
                }
            }
        }
    };
}

fn mean(v: &[f64]) -> f64 {
    v.iter().sum::<f64>() / v.len() as f64
}

fn squares(v: &[f64]) -> f64 {
    v.iter().map(|x| (x - mean(v)).powi(2)).sum()
}

fn variance(v: &[f64], ddof: usize) -> f64 {
    if v.len() > ddof { squares(v) / (v.len() - ddof) as f64 } else { f64::NAN }
}

fn power_sum(v: &[f64], p: f64) -> f64 {
    v.iter().map(|x| x.abs().powf(p)).sum()
}

fn quantile(v: &[f64], q: f64) -> f64 {
    let mut v = v.to_vec();
    v.sort_by(f64::total_cmp);
    let Some(last) = v.len().checked_sub(1) else { return f64::NAN };
    let place = q * last as f64;
    let (below, above) = (v[place as usize], v[(place.ceil() as usize).min(last)]);
    below + (above - below) * place.fract()
}

/// The first position of an extreme.
fn first(v: &[f64], better: fn(f64, f64) -> bool) -> f64 {
    (1..v.len()).fold(0, |best, k| if better(v[k], v[best]) { k } else { best }) as f64
}

reduction!(sums: sum sum_axis sum_keep(), |v| v.iter().sum());
reduction!(products: prod prod_axis prod_keep(), |v| v.iter().product());
reduction!(means: mean mean_axis mean_keep(), mean);
reduction!(variances: var var_axis var_keep(0), |v| variance(v, 0));
reduction!(unbiased_variances: var var_axis var_keep(1), |v| variance(v, 1));
reduction!(maxima: max max_axis max_keep(), |v| v.iter().copied().fold(f64::NEG_INFINITY, f64::max));
reduction!(minima: min min_axis min_keep(), |v| v.iter().copied().fold(f64::INFINITY, f64::min));
reduction!(norms: norm norm_axis norm_keep(), |v| power_sum(v, 2.0).sqrt());
reduction!(norms_1: norm_p norm_p_axis norm_p_keep(1.0), |v| power_sum(v, 1.0));
reduction!(norms_3: norm_p norm_p_axis norm_p_keep(3.0), |v| power_sum(v, 3.0).cbrt());
reduction!(norms_inf: norm_p norm_p_axis norm_p_keep(f64::INFINITY),
    |v| v.iter().fold(0.0, |m, x| x.abs().max(m)));
reduction!(log_sums: logsumexp logsumexp_axis logsumexp_keep(),
    |v| v.iter().map(|x| x.exp()).sum::<f64>().ln());
reduction!(medians: median median_axis median_keep(), |v| quantile(v, 0.5));
reduction!(quantiles: quantile quantile_axis quantile_keep(0.3), |v| quantile(v, 0.3));
reduction!(positions_of_maxima: argmax argmax_axis argmax_keep(), |v| first(v, |a, b| a > b));
reduction!(positions_of_minima: argmin argmin_axis argmin_keep(), |v| first(v, |a, b| a < b));
reduction!(counts: count_nonzero count_nonzero_axis count_nonzero_keep(), |v| v.len() as f64);

#[test]
fn deviations() {
    // Not of single elements: the root has a kink at 0.
    let mut rng = Rng::new(5);
    for shape in [&[4][..], &[3, 2], &[2, 2, 3]] {
        let x = scattered(shape, &mut rng);
        let (_, lines) = groups(&x, &[0]);
        let wanted: Vec<f64> = lines.iter().map(|line| variance(line, 1).sqrt()).collect();
        let f = |x: Arr<f64>| x.std_axis(0, 1);
        assert_close(&jit(f).call(&x).unwrap().to_vec(), &wanted);
        check(f, &x);
    }
    let f = |x: Arr<f64>| x.std(0);
    assert_eq!(grad(f).call([2.0]).unwrap().to_vec(), [0.0]);
    assert_eq!(hessian(f).call([2.0, 2.0]).unwrap().to_vec(), [0.0; 4]);
}

#[test]
fn truth_values() {
    let table = Tensor::from([[true, false, true], [true, false, false]]);
    let f = jit(|x: Arr<bool>| (x.all_axis(0), x.any_axis(0), x.count_nonzero_axis(-1)));
    let (all, any, count) = f.call(&table).unwrap();
    assert_eq!(all.to_vec(), [true, false, false]);
    assert_eq!(any.to_vec(), [true, false, true]);
    assert_eq!(count.to_vec(), [2, 1]);
    let f = jit(|x: Arr<bool>| (x.all(), x.any(), x.count_nonzero()));
    let (all, any, count) = f.call(Tensor::zeros([0]).unwrap()).unwrap();
    assert_eq!((all.item(), any.item(), count.item()), (Some(true), Some(false), Some(0)));
    let f = jit(|x: Arr<bool>| (x.all_keep([0, 1]), x.any_keep(1)));
    let (all, any) = f.call(&table).unwrap();
    assert_eq!((all.shape(), any.shape()), (&[1, 1][..], &[2, 1][..]));
}

#[test]
fn integers_and_narrow_floats() {
    let f = jit(|x: Arr<i64>| (x.sum(), x.prod(), x.max(), x.argmin(), x.min_axis(1)));
    let (sum, prod, max, argmin, min) = f.call([[3, -2], [5, 1]]).unwrap();
    assert_eq!((sum.item(), prod.item(), max.item()), (Some(7), Some(-30), Some(5)));
    assert_eq!((argmin.item(), min.to_vec()), (Some(1), vec![-2, 1]));
    let none = f.call(Tensor::zeros([2, 0]).unwrap()).unwrap();
    assert_eq!((none.1.item(), none.2.item()), (Some(1), Some(i64::MIN)));
    assert_eq!(none.4.to_vec(), [i64::MAX; 2]);
    let f = jit(|x: Arr<f32>| (x.mean(), x.norm(), x.logsumexp(), x.median()));
    let (mean, norm, lse, median) = f.call([3f32, 4.0]).unwrap();
    assert_eq!((mean.item(), norm.item(), median.item()), (Some(3.5), Some(5.0), Some(3.5)));
    assert!((lse.item().unwrap() - (3f32.exp() + 4f32.exp()).ln()).abs() < 1e-6);
}

#[test]
fn corners() {
    let nan = f64::NAN;
    let f = jit(|x: Arr<f64>| (x.max(), x.min(), x.argmax(), x.median(), x.norm()));
    let (max, min, at, median, norm) = f.call([1.0, nan, 3.0, nan]).unwrap();
    assert!([max, min, median, norm].iter().all(|y| y.item().unwrap().is_nan()));
    assert_eq!(at.item(), Some(1));
    // The derivative of an extreme goes to the first of equals.
    let ties = [2.0, 7.0, 7.0, 2.0];
    assert_eq!(grad(|x: Arr<f64>| x.max()).call(ties).unwrap().to_vec(), [0.0, 1.0, 0.0, 0.0]);
    assert_eq!(grad(|x: Arr<f64>| x.min()).call(ties).unwrap().to_vec(), [1.0, 0.0, 0.0, 0.0]);
    // Infinities of logsumexp.
    let inf = f64::INFINITY;
    let f = |x: Arr<f64>| x.logsumexp();
    for (x, y) in [([-inf, -inf], -inf), ([inf, 0.0], inf), ([inf, -inf], inf), ([-inf, 2.0], 2.0)]
    {
        assert_eq!(jit(f).call(x).unwrap(), y);
    }
    assert_eq!(grad(f).call([-inf, -inf]).unwrap().to_vec(), [0.0, 0.0]);
    assert_eq!(grad(f).call([-inf, 2.0]).unwrap().to_vec(), [0.0, 1.0]);
    assert_eq!(jit(f).call(Vec::<f64>::new()).unwrap(), -inf);
    // Norms at zeros.
    for p in [0.5, 1.0, 1.5, 2.0, 3.0] {
        let f = move |x: Arr<f64>| x.norm_p(p);
        assert_eq!(grad(f).call([0.0, 0.0]).unwrap().to_vec(), [0.0, 0.0], "{p}");
        assert_eq!(grad(f).call([0.0, -2.0]).unwrap().to_vec()[0], 0.0, "{p}");
    }
    let f = |p: f64| jit(move |x: Arr<f64>| x.norm_p(p)).call([3.0, 0.0, -4.0]).unwrap();
    assert_eq!((f(0.0).item(), f(-inf).item(), f(-1.0).item()), (Some(2.0), Some(0.0), Some(0.0)));
    assert_eq!(hessian(|x: Arr<f64>| x.norm()).call([0.0, 0.0]).unwrap().to_vec(), [0.0; 4]);
    // Quantiles at infinities.
    let f = jit(|x: Arr<f64>| x.quantile(0.75));
    assert_eq!(f.call([inf, inf, 1.0]).unwrap(), inf);
}

#[test]
fn reductions_nest_under_build() {
    check(
        |x: Arr<f64>| build(x.len(), |i| x.at(i).logsumexp() * x.at(i).max() + x.at(i).prod()),
        [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]],
    );
}

type Map = fn(Arr<f64>) -> Arr<f64>;

/// The value of an expression of the text language in `x`.
fn in_text(expression: &str, x: &Tensor<f64>) -> Vec<f64> {
    let text = format!("def main(x: {:?}f64) = f64({expression})", x.shape());
    interpreted(&cotan_syntax::parse_program(&text).unwrap(), x)
}

fn interpreted(program: &cotan_ir::Program, x: &Tensor<f64>) -> Vec<f64> {
    let run = Interp::new(program).run(&[Value::from(x.as_array())]).unwrap();
    Tensor::<f64>::from_array(run.outputs[0].to_array().unwrap()).unwrap().to_vec()
}

#[test]
fn the_text_language_gives_the_same_bits() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let mut rng = Rng::new(31);
    let special = Tensor::from([[[inf, -inf], [-0.0, 0.0]], [[nan, 1e300], [-inf, -inf]]]);
    for x in [scattered(&[2, 2, 2], &mut rng), special, scattered(&[2, 0, 3], &mut rng)] {
        let cases: &[(&str, Map)] = &[
            ("sum(x)", |x| x.sum()),
            ("sum(x, axis = 1)", |x| x.sum_axis(1)),
            ("mean(x, axis = (0, 2))", |x| x.mean_axis([0, 2])),
            ("prod(x, axis = -1)", |x| x.prod_axis(-1)),
            ("max(x)", |x| x.max()),
            ("max(x, axis = (0, 1))", |x| x.max_axis([0, 1])),
            ("min(x, axis = 1)", |x| x.min_axis(1)),
            ("norm(x, axis = 0)", |x| x.norm_axis(0)),
            ("logsumexp(x)", |x| x.logsumexp()),
            ("logsumexp(x, axis = 0)", |x| x.logsumexp_axis(0)),
            ("logsumexp(x, axis = (1, 2))", |x| x.logsumexp_axis([1, 2])),
            ("argmax(x, axis = 2)", |x| x.argmax_axis(2).cast()),
            ("argmin(x, axis = 0)", |x| x.argmin_axis(0).cast()),
            ("all(x > 0.0, axis = 1)", |x| x.gt(0.0).all_axis(1).cast()),
            ("any(x > 0.0, axis = 2)", |x| x.gt(0.0).any_axis(2).cast()),
            ("cumsum(x, axis = 1)", |x| x.cumsum(1)),
            ("cumprod(x, axis = 2)", |x| x.cumprod(2)),
            ("sort(x, axis = 0)", |x| x.sort(0)),
            ("argsort(x)", |x| x.argsort(-1).cast()),
        ];
        for (text, f) in cases {
            // The interpreter for both: the machine adds up in an order of its own.
            let compiled = compile_like(f, &x).unwrap();
            let (found, wanted) = (interpreted(compiled.source(), &x), in_text(text, &x));
            let same =
                |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            let equal = found.len() == wanted.len() && found.iter().zip(&wanted).all(same);
            assert!(equal, "{text}: {found:?} is not {wanted:?}");
        }
    }
}

#[test]
fn errors_say_what_to_do() {
    let missing = compile(|x: Arr<f64>| x.max_axis(2), [2, 3]);
    assert_eq!(
        text(missing, file!()),
        "max_axis: there is no axis 2 in 2 axes\n  at FILE:LINE\n  \
         hint: axes are 0 to 1, or -2 to -1 from the end"
    );
    let twice = compile(|x: Arr<f64>| x.mean_keep([0, -2]), [2, 3]);
    assert_eq!(text(twice, file!()), "mean_keep: axis 0 is named twice\n  at FILE:LINE");
    let share = compile(|x: Arr<f64>| x.quantile(1.5), [3]);
    assert_eq!(
        text(share, file!()),
        "quantile: a share of 1.5 of the elements\n  at FILE:LINE\n  \
         hint: shares are from 0.0 to 1.0"
    );
}
