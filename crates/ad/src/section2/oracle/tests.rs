//! The oracle against closed forms, the interpreter, finite differences, and itself forwards.

use cotan_array::{Array, Dtype, Shape};
use cotan_interp::Mode;
use cotan_ir::scalar::{Fp, Op, Scalar};
use cotan_ir::{Builder, ErrorKind, MapAccum, Param, Program, TermId, Type};
use cotan_testkit::{
    Config, Former, InputKind, Rng, for_each_case, generate, inputs_for, run_program, value_of,
};

use super::*;

// ---- closed forms -----------------------------------------------------------------------------

fn vector(dtype: Dtype, k: usize) -> Type {
    Type::new(dtype, Shape::new("test", &[k]).unwrap())
}

fn f64s(xs: &[f64]) -> Vec<Scalar> {
    xs.iter().map(|&x| Scalar::F64(x)).collect()
}

fn i64s(xs: &[i64]) -> Vec<Scalar> {
    xs.iter().map(|&x| Scalar::I64(x)).collect()
}

/// A program of vectors `x0, x1, ..` of these types with one result.
fn program(types: &[Type], make: impl FnOnce(&mut Builder, &[TermId]) -> TermId) -> Program {
    let mut b = Builder::new();
    let inputs: Vec<TermId> = types
        .iter()
        .enumerate()
        .map(|(k, ty)| b.input(format!("x{k}"), ty.clone()).unwrap())
        .collect();
    let result = make(&mut b, &inputs);
    b.finish_one(result).unwrap()
}

/// The gradients of the only output with a cotangent.
fn gradients(p: &Program, inputs: &[Vec<Scalar>], c: &[f64]) -> Vec<Option<Vec<Scalar>>> {
    gradient_by_scalars(p, inputs, &[Some(f64s(c))], &Options::default()).unwrap().gradients
}

#[test]
fn a_gather_out_of_range_is_constant_and_a_repeated_one_adds_up() {
    // build 5 (\i -> a[ix[i]])
    let p = program(&[vector(Dtype::F64, 3), vector(Dtype::I64, 5)], |b, x| {
        let r = b.index_function(&[5], |b, i| Ok(vec![b.index(x[1], i)?])).unwrap();
        b.gather(x[0], r).unwrap()
    });
    let inputs = [f64s(&[1.0, 2.0, 3.0]), i64s(&[0, 2, 7, -1, 2])];
    let seeds = [Some(f64s(&[1.0, 10.0, 100.0, 1000.0, 10000.0]))];
    let got = gradient_by_scalars(&p, &inputs, &seeds, &Options::default()).unwrap();
    assert_eq!(got.outputs[0], f64s(&[1.0, 3.0, 0.0, 0.0, 3.0]));
    assert_eq!(got.gradients, [Some(f64s(&[1.0, 0.0, 10010.0])), None]);
}

#[test]
fn a_scatter_is_the_transpose_of_that_gather() {
    let p = program(&[vector(Dtype::F64, 5), vector(Dtype::I64, 5)], |b, x| {
        let r = b.index_function(&[5], |b, i| Ok(vec![b.index(x[1], i)?])).unwrap();
        b.scatter(&[3], x[0], r).unwrap()
    });
    let inputs = [f64s(&[1.0, 10.0, 100.0, 1000.0, 10000.0]), i64s(&[0, 2, 7, -1, 2])];
    let seeds = [Some(f64s(&[1.0, 2.0, 3.0]))];
    let got = gradient_by_scalars(&p, &inputs, &seeds, &Options::default()).unwrap();
    assert_eq!(got.outputs[0], f64s(&[1.0, 0.0, 10010.0]));
    assert_eq!(got.gradients, [Some(f64s(&[1.0, 3.0, 0.0, 0.0, 3.0])), None]);
}

#[test]
fn a_loop_with_state_carries_derivatives_in_both_directions() {
    // s = s * x[k] + w with outputs s * s, s0 = 2: captures w, which is differentiable.
    for reverse in [false, true] {
        let scalar = Type::scalar(Dtype::F64);
        let p = program(&[vector(Dtype::F64, 3), scalar.clone()], |b, x| {
            let params = [Param::Value(scalar.clone()), Param::Value(scalar)];
            let w = x[1];
            let body = |b: &mut Builder, v: &[TermId]| {
                let product = b.op(Op::Mul, v)?;
                let next = b.op(Op::Add, &[product, w])?;
                Ok(vec![next, b.op(Op::Mul, &[v[0], v[0]])?])
            };
            let step = b.lambda(&params, body).unwrap();
            let init = [b.scalar(2.0).unwrap()].into();
            let m = MapAccum { length: 3, reverse, init, inputs: [x[0]].into(), step };
            let m = b.map_accum(m).unwrap();
            let (last, squares) = (b.result(m, 0).unwrap(), b.result(m, 1).unwrap());
            let stacked = b.stack(&[last, last]).unwrap();
            let squares = b.sum_outer(squares).unwrap();
            let pair = b.stack(&[last, squares]).unwrap();
            b.op(Op::Add, &[stacked, pair]).unwrap()
        });
        // By hand, with the steps in the order a, b, c: s1 = 2a + w, s2 = s1 b + w,
        // s3 = s2 c + w; the result is [2 s3, s3 + 4 + s1^2 + s2^2].
        let (a, b, c, w) = (3.0, 5.0, 7.0, 11.0);
        let (s1, s2) = (2.0 * a + w, (2.0 * a + w) * b + w);
        let order = |xs: [f64; 3]| if reverse { [xs[2], xs[1], xs[0]] } else { xs };
        let inputs = [f64s(&order([a, b, c])), f64s(&[w])];
        let first = gradients(&p, &inputs, &[1.0, 0.0]);
        let by_x = order([2.0 * 2.0 * b * c, 2.0 * s1 * c, 2.0 * s2]);
        assert_eq!(first, [Some(f64s(&by_x)), Some(f64s(&[2.0 * (b * c + c + 1.0)]))]);
        let second = gradients(&p, &inputs, &[0.0, 1.0]);
        let s2_bar = c + 2.0 * s2;
        let s1_bar = s2_bar * b + 2.0 * s1;
        let by_x = order([2.0 * s1_bar, s1 * s2_bar, s2]);
        assert_eq!(second, [Some(f64s(&by_x)), Some(f64s(&[s1_bar + s2_bar + 1.0]))]);
    }
}

#[test]
fn reading_in_sorted_order_permutes_the_cotangents() {
    let p = program(&[vector(Dtype::F64, 4)], |b, x| {
        let order = b.arg_sort(x[0]).unwrap();
        let r = b.index_function(&[4], |b, i| Ok(vec![b.index(order, i)?])).unwrap();
        b.gather(x[0], r).unwrap()
    });
    let got = gradients(&p, &[f64s(&[3.0, f64::NAN, 1.0, 3.0])], &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(got, [Some(f64s(&[2.0, 4.0, 1.0, 3.0]))]);
}

#[test]
fn the_branch_not_taken_contributes_nothing() {
    // where(x > 0, log x, 0) and cond likewise, at 0: also for an infinite cotangent.
    for lazy in [false, true] {
        let p = program(&[Type::scalar(Dtype::F64)], |b, x| {
            let zero = b.scalar(0.0).unwrap();
            let (positive, log) =
                (b.op(Op::Gt, &[x[0], zero]).unwrap(), b.op(Op::Log, &[x[0]]).unwrap());
            if lazy {
                b.cond(positive, log, zero).unwrap()
            } else {
                b.op(Op::Select, &[positive, log, zero]).unwrap()
            }
        });
        for c in [1.0, 0.0, f64::INFINITY] {
            assert_eq!(gradients(&p, &[f64s(&[0.0])], &[c]), [Some(f64s(&[0.0]))]);
        }
        assert_eq!(gradients(&p, &[f64s(&[4.0])], &[1.0]), [Some(f64s(&[0.25]))]);
    }
}

#[test]
fn a_zero_cotangent_annihilates() {
    // 1 / x at 0, where the partial derivative is infinite: with the cotangent 0 nothing flows.
    let p = program(&[Type::scalar(Dtype::F64)], |b, x| b.op(Op::Recip, &[x[0]]).unwrap());
    assert_eq!(gradients(&p, &[f64s(&[0.0])], &[0.0]), [Some(f64s(&[0.0]))]);
    assert_eq!(gradients(&p, &[f64s(&[0.0])], &[1.0]), [Some(f64s(&[f64::NEG_INFINITY]))]);
    let tangents = [Some(f64s(&[0.0]))];
    let got = jvp_by_scalars(&p, &[f64s(&[0.0])], &tangents, &Options::default()).unwrap();
    assert_eq!(got.tangents, [Some(f64s(&[0.0]))]);
}

#[test]
fn casts_keep_the_derivative_between_floats_and_end_it_at_integers() {
    // y = to_f64(x * x) + to_f64(to_i64(x)) for x of type f32
    let p = program(&[Type::scalar(Dtype::F32)], |b, x| {
        let square = b.op(Op::Mul, &[x[0], x[0]]).unwrap();
        let (wide, whole) =
            (b.op(Op::ToF64, &[square]).unwrap(), b.op(Op::ToI64, &[x[0]]).unwrap());
        let whole = b.op(Op::ToF64, &[whole]).unwrap();
        b.op(Op::Add, &[wide, whole]).unwrap()
    });
    let got = gradient_by_scalars(
        &p,
        &[vec![Scalar::F32(2.5)]],
        &[Some(f64s(&[3.0]))],
        &Options::default(),
    )
    .unwrap();
    assert_eq!(got.outputs[0], f64s(&[8.25]));
    assert_eq!(got.gradients, [Some(vec![Scalar::F32(15.0)])]);
}

#[test]
fn empty_arrays_and_unused_inputs_have_gradients() {
    let p =
        program(&[vector(Dtype::F64, 0), vector(Dtype::F64, 2)], |b, x| b.sum_outer(x[0]).unwrap());
    let got = gradients(&p, &[vec![], f64s(&[1.0, 2.0])], &[1.0]);
    assert_eq!(got, [Some(vec![]), Some(f64s(&[0.0, 0.0]))]);
}

#[test]
fn the_field_is_exact() {
    // 1 / x has the derivative -1 / x^2.
    let p = program(&[Type::scalar(Dtype::F64)], |b, x| b.op(Op::Recip, &[x[0]]).unwrap());
    let x = Fp::from_u64(123_456_789);
    let one = [Some(vec![Scalar::Fp(Fp::ONE)])];
    let got = gradient_by_scalars(&p, &[vec![Scalar::Fp(x)]], &one, &Options::field()).unwrap();
    assert_eq!(got.gradients, [Some(vec![Scalar::Fp(-(x * x).recip())])]);
}

#[test]
fn long_programs_need_no_deep_stack() {
    let p = program(&[Type::scalar(Dtype::F64)], |b, x| {
        (0..100_000).fold(x[0], |y, _| {
            let y = b.op(Op::Add, &[y, x[0]]).unwrap();
            b.op(Op::Sin, &[y]).unwrap()
        })
    });
    let (inputs, one) = ([f64s(&[0.5])], [Some(f64s(&[1.0]))]);
    let reverse = gradient_by_scalars(&p, &inputs, &one, &Options::default()).unwrap();
    let forward = jvp_by_scalars(&p, &inputs, &one, &Options::default()).unwrap();
    assert!(close(&reverse.gradients, &forward.tangents, 1e-10));
}

// ---- what is refused --------------------------------------------------------------------------

#[test]
fn limits_end_a_run_before_memory_is_taken() {
    let p = program(&[Type::scalar(Dtype::F64)], |b, x| {
        let wide = b.replicate(1 << 30, x[0]).unwrap();
        b.sum_outer(wide).unwrap()
    });
    let one = [Some(f64s(&[1.0]))];
    let e = gradient_by_scalars(&p, &[f64s(&[1.0])], &one, &Options::default()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Limit);
    assert_eq!(
        e.to_string(),
        "replicate: more than 8388608 elements and operations \
         (use a smaller program, or raise `max_work`)"
    );
}

#[test]
fn endless_loops_over_nothing_are_stopped_too() {
    const LONG: usize = 1 << 40;
    let empty = [vec![]];
    let seeds = [Some(vec![])];
    // The result is empty: nothing to do.
    let p = program(&[vector(Dtype::F64, 0)], |b, x| b.replicate(LONG, x[0]).unwrap());
    let got = gradient_by_scalars(&p, &empty, &seeds, &Options::default()).unwrap();
    assert_eq!(got.gradients, [Some(vec![])]);
    // A loop with an empty state.
    let p = program(&[vector(Dtype::F64, 0)], |b, x| {
        let step = b.lambda(&[Param::Value(vector(Dtype::F64, 0))], |_, s| Ok(s.to_vec())).unwrap();
        let init = [x[0]].into();
        let m = MapAccum { length: LONG, reverse: false, init, inputs: Box::default(), step };
        let m = b.map_accum(m).unwrap();
        b.result(m, 0).unwrap()
    });
    let e = gradient_by_scalars(&p, &empty, &seeds, &Options::default()).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Limit);
}

/// The figure given at [`Options::max_work`]: an element, and the Delta term of a binary operation
/// with the two counts of each `Rc`.
#[test]
fn a_unit_of_work_is_as_small_as_said() {
    let constructor = size_of::<Delta<f64>>() + 2 * size_of::<usize>();
    assert!(size_of::<Dual<Rc<Delta<f64>>>>() + 4 * constructor <= 200);
}

#[test]
fn inputs_and_seeds_must_fit() {
    let p = program(&[vector(Dtype::F64, 2), vector(Dtype::I64, 2)], |_, x| x[0]);
    let options = Options::default();
    let message = |inputs: &[Vec<Scalar>], seeds: &Seeds| {
        let e = gradient_by_scalars(&p, inputs, seeds, &options).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Type);
        e.to_string()
    };
    let good = [f64s(&[1.0, 2.0]), i64s(&[0, 0])];
    assert_eq!(message(&good[..1], &[None]), "input: 1 inputs for 2 declared ones");
    let short = [f64s(&[1.0]), i64s(&[0, 0])];
    assert_eq!(message(&short, &[None]), "input `x0`: 1 elements given for [2]f64");
    let field = [vec![Scalar::Fp(Fp::ONE); 2], i64s(&[0, 0])];
    assert_eq!(
        message(&field, &[None]),
        "input `x0`: element 0 is not of type f64: Fp(Fp(1)) \
         (elements of the test field need Numbers::Field)"
    );
    assert_eq!(
        message(&good, &[]),
        "cotangent: 0 given where 1 are needed (`None` stands for zeros)"
    );
    let e = jvp_by_scalars(&p, &good, &[None, Some(i64s(&[1, 1]))], &options).unwrap_err();
    assert_eq!(e.to_string(), "tangent 1: there are no tangents of type [2]i64 (give `None`)");
}

// ---- random programs --------------------------------------------------------------------------

/// Random elements for each of some types: `None` for integers and booleans.
fn random_seeds(types: &[Type], rng: &mut Rng, kind: InputKind) -> Vec<Option<Vec<Scalar>>> {
    let seed = |ty: &Type| {
        ty.dtype.is_float().then(|| value_of(ty, rng, kind).unwrap().elements().to_vec())
    };
    types.iter().map(seed).collect()
}

fn output_types(p: &Program) -> Vec<Type> {
    p.outputs().iter().map(|o| p.ty(o.term).clone()).collect()
}

fn input_types(p: &Program) -> Vec<Type> {
    p.inputs().iter().map(|i| i.ty.clone()).collect()
}

fn real(x: Scalar) -> f64 {
    match x {
        Scalar::F64(x) => x,
        Scalar::F32(x) => f64::from(x),
        Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => panic!("{x:?} is no float"),
    }
}

/// Whether all floats agree up to a tolerance relative to the largest.
fn close(a: &Seeds, b: &Seeds, tolerance: f64) -> bool {
    let flat = |seeds: &Seeds| -> Vec<f64> {
        seeds.iter().flatten().flatten().map(|&x| real(x)).collect()
    };
    let (a, b) = (flat(a), flat(b));
    let scale = a.iter().chain(&b).fold(1.0f64, |m, x| m.max(x.abs()));
    a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| (x - y).abs() <= tolerance * scale)
}

#[test]
fn primals_are_those_of_the_interpreter_to_the_last_bit() {
    // Routines add up in an order of their own.
    let config = Config::default().without(&[Former::Routine]);
    for_each_case("oracle primals", 1000, |rng| {
        let p = generate(&config, rng).map_err(|e| e.to_string())?;
        let trials = [
            (InputKind::Special, Mode::Ieee, Options::default()),
            (InputKind::Field, Mode::Field, Options::field()),
        ];
        for (kind, mode, options) in trials {
            let values = inputs_for(&p, rng, kind).map_err(|e| e.to_string())?;
            let inputs: Vec<_> = values.iter().map(|v| v.elements().to_vec()).collect();
            let expected = run_program(&p, &values, mode).map_err(|e| e.to_string())?;
            let seeds = vec![None; p.outputs().len()];
            let reverse = gradient_by_scalars(&p, &inputs, &seeds, &options)
                .map_err(|e| format!("{e}\n{p}"))?;
            let seeds = vec![None; p.inputs().len()];
            let forward =
                jvp_by_scalars(&p, &inputs, &seeds, &options).map_err(|e| format!("{e}\n{p}"))?;
            for outputs in [&reverse.outputs, &forward.outputs] {
                for (expected, got) in expected.iter().zip(outputs) {
                    let same = expected.elements().iter().zip(got).all(|(a, b)| a.same(*b));
                    if expected.elements().len() != got.len() || !same {
                        return Err(format!("{expected}\nagainst {got:?}\n{p}"));
                    }
                }
            }
        }
        Ok(())
    });
}

/// `<c, jvp v> = <vjp c, v>`, exactly: in the field, for every former and every operation, also
/// those that are only stand-ins there.
#[test]
fn forwards_and_backwards_agree_exactly_in_the_field() {
    fn dot(a: &Seeds, b: &Seeds) -> Fp {
        let element = |x: &Scalar| if let Scalar::Fp(x) = x { *x } else { panic!("{x:?}") };
        let pairs = a.iter().flatten().flatten().zip(b.iter().flatten().flatten());
        pairs.fold(Fp::ZERO, |sum, (x, y)| sum + element(x) * element(y))
    }
    let mut moved = 0;
    for (name, config) in [("ring", Config::ring()), ("every op", Config::default())] {
        for_each_case(&format!("oracle transposition, {name}"), 1500, |rng| {
            let p = generate(&config, rng).map_err(|e| e.to_string())?;
            let values = inputs_for(&p, rng, InputKind::Field).map_err(|e| e.to_string())?;
            let inputs: Vec<_> = values.iter().map(|v| v.elements().to_vec()).collect();
            let v = random_seeds(&input_types(&p), rng, InputKind::Field);
            let c = random_seeds(&output_types(&p), rng, InputKind::Field);
            let options = Options::field();
            let reverse =
                gradient_by_scalars(&p, &inputs, &c, &options).map_err(|e| e.to_string())?;
            let forward = jvp_by_scalars(&p, &inputs, &v, &options).map_err(|e| e.to_string())?;
            let (left, right) = (dot(&c, &forward.tangents), dot(&reverse.gradients, &v));
            moved += usize::from(left != Fp::ZERO);
            if left == right { Ok(()) } else { Err(format!("{left:?} against {right:?}\n{p}")) }
        });
    }
    // Not all programs have float inputs that reach an output; enough must.
    assert!(moved > 800, "only {moved} programs have a derivative");
}

/// Where a program is smooth, the derivative in a direction is that of finite differences.
#[test]
fn derivatives_are_those_of_finite_differences() {
    let mut compared = 0;
    let mut config = Config::smooth();
    // The derivative of a stopped gradient is 0 by decree, and f32 rounds away small differences.
    let narrow = |dtypes: &[Dtype]| dtypes.contains(&Dtype::F32);
    config
        .ops
        .retain(|row| row.op != Op::StopGradient && !narrow(&row.args) && !narrow(&[row.result]));
    for_each_case("oracle differences", 1000, |rng| {
        let p = generate(&config, rng).map_err(|e| e.to_string())?;
        let values = inputs_for(&p, rng, InputKind::Generic).map_err(|e| e.to_string())?;
        let inputs: Vec<_> = values.iter().map(|v| v.elements().to_vec()).collect();
        let v = random_seeds(&input_types(&p), rng, InputKind::Generic);
        let c = random_seeds(&output_types(&p), rng, InputKind::Generic);
        let options = Options::default();
        let reverse = gradient_by_scalars(&p, &inputs, &c, &options).map_err(|e| e.to_string())?;
        let forward = jvp_by_scalars(&p, &inputs, &v, &options).map_err(|e| e.to_string())?;
        let (backwards, forwards) = (dot(&reverse.gradients, &v), dot(&c, &forward.tangents));
        let f = |h: f64| -> Result<f64> {
            let moved: Vec<_> =
                inputs.iter().zip(&v).map(|(x, v)| step(x, v.as_deref(), h)).collect();
            let tangents = vec![None; inputs.len()];
            let outputs = jvp_by_scalars(&p, &moved, &tangents, &options)?.outputs;
            Ok(dot(&outputs.into_iter().map(Some).collect::<Vec<_>>(), &c))
        };
        let difference = |h: f64| -> Result<f64> { Ok((f(h)? - f(-h)?) / (2.0 * h)) };
        let (coarse, fine) = (
            difference(1e-4).map_err(|e| e.to_string())?,
            difference(5e-5).map_err(|e| e.to_string())?,
        );
        // Richardson: the error of second order cancels. Where it is not small to begin with, the
        // program is too wild for differences to say anything.
        let estimate = (4.0 * fine - coarse) / 3.0;
        let scale = forwards.abs().max(f(0.0).map_err(|e| e.to_string())?.abs()).max(1.0);
        let flawed = |x: f64, tolerance: f64| (x - forwards).abs() > tolerance * scale;
        if !forwards.is_finite() || scale > 1e6 || (coarse - fine).abs() > 1e-6 * scale {
            return Ok(());
        }
        compared += usize::from(forwards != 0.0);
        if flawed(estimate, 1e-5) {
            return Err(format!("difference {estimate}, forwards {forwards}\n{p}"));
        }
        if flawed(backwards, 1e-10) {
            return Err(format!("backwards {backwards}, forwards {forwards}\n{p}"));
        }
        Ok(())
    });
    assert!(compared > 300, "only {compared} programs could be compared");

    /// The sum of the products of float elements.
    fn dot(a: &Seeds, b: &Seeds) -> f64 {
        let both = a.iter().zip(b).filter_map(|(a, b)| Some((a.as_ref()?, b.as_ref()?)));
        both.flat_map(|(a, b)| a.iter().zip(b)).map(|(&x, &y)| real(x) * real(y)).sum()
    }
    /// `x + h v`
    fn step(x: &[Scalar], v: Option<&[Scalar]>, h: f64) -> Vec<Scalar> {
        let Some(v) = v else { return x.to_vec() };
        let moved = x.iter().zip(v).map(|(&x, &v)| match x {
            Scalar::F64(a) => Scalar::F64(a + h * real(v)),
            Scalar::F32(_) | Scalar::I64(_) | Scalar::Bool(_) | Scalar::Fp(_) => x,
        });
        moved.collect()
    }
}

#[test]
fn literal_arrays_are_constants() {
    let p = program(&[vector(Dtype::F64, 2)], |b, x| {
        let c = Array::from_vec(Shape::new("test", &[2]).unwrap(), vec![3.0, 4.0]).unwrap();
        let c = b.constant(&c).unwrap();
        b.op(Op::Mul, &[x[0], c]).unwrap()
    });
    assert_eq!(gradients(&p, &[f64s(&[1.0, 1.0])], &[1.0, 2.0]), [Some(f64s(&[3.0, 8.0]))]);
}
