//! What the section claims of its code transformation, and what is refused.

use cotan_array::Dtype;
use cotan_ir::scalar::Op;

use crate::section2::delta::IdGen;
use crate::section2::error::Error;
use crate::section2::examples::*;
use crate::section2::extent::MAX_DEPTH;
use crate::section2::run::{MAX_STEPS, run};
use crate::section2::syntax::*;
use crate::section2::transform::{Sharing, transform, transform_type};
use crate::section2::types::{Type, type_of};
use crate::section2::value::Value;
use crate::section2::wrapper::{named, reconstruct, run_dual, wrapper};

/// The examples with the type of their input.
fn examples() -> Vec<(Term, Type)> {
    let three = Type::pair(Type::pair(Type::Real, Type::Real), Type::Real);
    vec![
        (doublings(5), Type::Real),
        (shared_expression(), Type::Real),
        (three_inputs(), three),
        (higher_order(), Type::Real),
        (power(4), Type::Real),
        (newton_square_root(), Type::Real),
        (with_a_branch(), Type::Real),
        (nested_sines(3), Type::Real),
    ]
}

// ---- the code transformation ------------------------------------------------------------------

#[test]
fn rules_are_those_of_the_figures() {
    let (s, t) = (var("s"), var("t"));
    let naive = |t: &Term| transform(t, Sharing::Naive).unwrap().to_string();
    let shared = |t: &Term| transform(t, Sharing::Ids).unwrap().to_string();
    let bound = "let p1 = s in let p2 = t in";
    assert_eq!(naive(&real(2.5)), "(2.5, Zero)");
    assert_eq!(
        naive(&(&s + &t)),
        format!("{bound} let p3 = add(fst p1, fst p2) in (p3, Add (snd p1) (snd p2))")
    );
    let product = "Add (Scale (fst p2) (snd p1)) (Scale (fst p1) (snd p2))";
    assert_eq!(
        naive(&(&s * &t)),
        format!("{bound} let p3 = mul(fst p1, fst p2) in (p3, {product})")
    );
    assert_eq!(
        shared(&(&s * &t)),
        format!("{bound} let p3 = mul(fst p1, fst p2) in (p3, Share genId ({product}))")
    );
    assert_eq!(shared(&pair(s.clone(), int(3))), "(s, 3)");
    assert_eq!(shared(&fst(s.clone())), "fst s");
    assert_eq!(shared(&let_in("s", real(1.0), t.clone())), "let s = (1.0, Zero) in t");
    assert_eq!(shared(&lambda("s", Type::Real, s.clone())), "\\(s : (R, Delta)). s");
    assert_eq!(shared(&apply(s.clone(), t.clone())), "s t");
    assert_eq!(
        shared(&if_positive(s.clone(), t.clone(), real(0.0))),
        "if fst s > 0 then t else (0.0, Zero)"
    );
    // Operations on integers stay, and round : R -> Int forgets the derivative.
    assert_eq!(shared(&int_op(Op::Mul, [s.clone(), t])), "let p1 = s in let p2 = t in mul(p1, p2)");
    assert_eq!(shared(&real_op(Op::ToI64, [s])), "let p1 = s in to_i64(fst p1)");
}

/// `G |- t : u` implies `D[G] |- D[t] : D[u]`.
#[test]
fn transformed_terms_have_the_transformed_type() {
    for (t, input) in examples() {
        assert_eq!(type_of(&mut vec![("x".into(), input.clone())], &t), Ok(Type::Real), "{t}");
        for sharing in [Sharing::Naive, Sharing::Ids] {
            let d = transform(&t, sharing).unwrap();
            let mut context = vec![("x".into(), transform_type(&input))];
            assert_eq!(type_of(&mut context, &d), Ok(transform_type(&Type::Real)), "{d}");
        }
    }
    let f = Type::function(Type::Int, Type::pair(Type::Real, Type::Bool));
    assert_eq!(transform_type(&f).to_string(), "Int -> ((R, Delta), Bool)");
}

/// Every operation of the table on reals and integers has a derivative that type-checks.
#[test]
fn every_row_can_be_transformed() {
    let mut rows = 0;
    for o in Op::all() {
        for args in o.typings() {
            if args.contains(&Dtype::F32) || o.result_dtype(&args) == Some(Dtype::F32) {
                continue;
            }
            let name = |k: usize| Name::from(["a", "b", "c"][k]);
            let t = op(o, &args, (0..args.len()).map(|k| var(name(k))).collect());
            let types = args.iter().map(|&d| Type::of_dtype(d).unwrap());
            let mut context: Vec<(Name, Type)> =
                types.enumerate().map(|(k, ty)| (name(k), ty)).collect();
            let result = type_of(&mut context, &t).unwrap();
            for (_, ty) in &mut context {
                *ty = transform_type(ty);
            }
            let d = transform(&t, Sharing::Ids).unwrap();
            assert_eq!(type_of(&mut context, &d), Ok(transform_type(&result)), "{d}");
            rows += 1;
        }
    }
    assert!(rows > 80);
}

/// Fig. dn-ad-wrapper.
#[test]
fn inputs_are_named_from_left_to_right_and_reconstructed() {
    let inputs: Value = ((7.0, 3.1), 8.0).into();
    let dual = named(&inputs);
    assert_eq!(dual.to_string(), "(((7.0, Input 0), (3.1, Input 1)), (8.0, Input 2))");
    let grad = [(0, 10.0), (2, 30.0)].into();
    assert_eq!(reconstruct(&grad, &dual).to_string(), "((10.0, 0.0), 30.0)");
    let (value, gradient) = wrapper("x", &three_inputs(), &inputs, 2.0).unwrap();
    assert_eq!((value, gradient.to_string().as_str()), (7.0 * 3.1 + 8.0, "((6.2, 14.0), 2.0)"));
}

#[test]
fn inputs_that_do_not_matter_have_a_zero_gradient_and_integers_stay() {
    let inputs = ((1.0, 2.0), 5i64).into();
    let (_, gradient) = wrapper("x", &fst(fst(var("x"))), &inputs, 1.0).unwrap();
    assert_eq!(gradient.to_string(), "((1.0, 0.0), 5)");
}

/// The ids of Fig. dn-ad-terms: an operation draws its id after its arguments, from left to right.
#[test]
fn ids_follow_the_order_of_evaluation() {
    let (s, t) = (real_op(Op::Sin, [var("x")]), real_op(Op::Cos, [var("x")]));
    let (_, d) = run_dual("x", &(s + t), &0.0.into(), Sharing::Ids).unwrap();
    let (sin, cos) = ("(Share 1 (Scale 1.0 (Input 0)))", "(Share 2 (Scale -0.0 (Input 0)))");
    assert_eq!(d.to_string(), format!("Share 3 (Add {sin} {cos})"));
}

// ---- what is refused --------------------------------------------------------------------------

fn refused(t: &Term) -> String {
    wrapper("x", t, &1.0.into(), 1.0).unwrap_err().to_string()
}

#[test]
fn errors_say_what_and_where() {
    let x = || var("x");
    assert_eq!(refused(&var("y")), "`y` is not bound; bind it by a let, a lambda or the inputs");
    assert_eq!(refused(&fst(x())), "fst needs a pair, not R");
    assert_eq!(refused(&apply(x(), x())), "only functions can be applied, not R");
    assert_eq!(refused(&(x() + int(1))), "argument 2 of add must be of type R, not Int");
    assert_eq!(
        refused(&pair(x(), x())),
        "a program to differentiate must be of type R, but is of type (R, R)"
    );
    assert_eq!(
        refused(&op(Op::Sin, &[Dtype::I64], vec![int(1)])),
        "sin takes one argument of type f64 or f32 (of f64, i64, bool), not [I64]"
    );
    assert_eq!(refused(&op(Op::Sin, &[Dtype::F64], vec![])).split(' ').next(), Some("sin"));
    let unary = op(Op::Sin, &[Dtype::F64], vec![x(), x()]);
    assert!(matches!(transform(&unary, Sharing::Ids), Err(Error::Operation(_))));
    let d = transform(&x(), Sharing::Ids).unwrap();
    assert_eq!(transform(&scale(d, zero()), Sharing::Ids).unwrap_err(), Error::NotSource);
    let function = lambda("y", Type::Real, var("y"));
    assert_eq!(
        run(&function, &[], &mut IdGen::new()).unwrap_err().to_string(),
        "inputs and result must not contain functions, but there is R -> R"
    );
    let target = named(&1.0.into());
    assert_eq!(wrapper("x", &fst(x()), &target, 1.0).unwrap_err(), Error::NotSource);
}

#[test]
fn what_is_too_deep_or_too_large_is_refused_at_once() {
    let sine = |t| real_op(Op::Sin, [t]);
    let deep = (0..1_000_000).fold(var("x"), |t, _| sine(t));
    assert!(refused(&deep).contains("nested too deep"));
    // As a tree this has 2^400 formers.
    let wide = (0..400).fold(var("x"), |t, _| &t + &t);
    assert!(refused(&wide).contains("too large"));
    // This one is small, but its type is not.
    let pairs = |t, _| let_in("x", pair(var("x"), var("x")), t);
    assert!(refused(&(0..100).fold(real(1.0), pairs)).contains("too large"));
    let nested = (0..1_000_000).fold(Value::Int(1), |v, _| Value::pair(v, Value::Int(0)));
    assert_eq!(wrapper("x", &real(1.0), &nested, 1.0).unwrap_err(), Error::NotSource);
    let ty = (0..1_000_000).fold(Type::Real, |t, _| Type::function(t, Type::Real));
    assert!(refused(&lambda("y", ty, real(1.0))).contains("too large"));
}

/// As deep as is allowed, everything may recurse, on the small stack of a test thread.
#[test]
fn the_deepest_terms_fit_the_stack() {
    let x = || var("x");
    let rec = || Rec {
        function: "f".into(),
        parameter: "p".into(),
        argument: Type::Real,
        result: Type::Real,
    };
    // Each wraps a term of type R.
    let wraps: [&dyn Fn(Term) -> Term; 10] = [
        &|t| let_in("y", t, x()),
        &|t| let_in("y", x(), t),
        &|t| let_rec(rec(), t, x()),
        &|t| let_rec(rec(), x(), t),
        &|t| fst(pair(t, x())),
        &|t| snd(pair(x(), t)),
        &|t| apply(lambda("y", Type::Real, t), x()),
        &|t| if_positive(x(), t, x()),
        &|t| real_op(Op::Sin, [t]),
        &|t| x() + t,
    ];
    for wrap in wraps {
        // The derivative may be somewhat deeper than the term.
        let shallow = (0..MAX_DEPTH / 4).fold(x(), |t, _| wrap(t));
        assert!(wrapper("x", &shallow, &1.0.into(), 1.0).is_ok(), "{shallow}");
        let mut deepest = shallow;
        loop {
            let deeper = wrap(deepest.clone());
            if matches!(deeper.node(), Node::TooLarge) {
                break;
            }
            deepest = deeper;
        }
        assert!(deepest.to_string().len() > MAX_DEPTH as usize);
        match wrapper("x", &deepest, &1.0.into(), 1.0) {
            Ok((value, _)) => assert!(value.is_finite()),
            Err(error) => assert_eq!(error, Error::TooLarge),
        }
    }
}

#[test]
fn recursion_without_end_is_stopped() {
    let head = Rec {
        function: "f".into(),
        parameter: "p".into(),
        argument: Type::Real,
        result: Type::Real,
    };
    let forever = let_rec(head, apply(var("f"), var("p")), apply(var("f"), var("x")));
    let e = wrapper("x", &forever, &1.0.into(), 1.0).unwrap_err();
    assert_eq!(e, Error::TooManySteps(MAX_STEPS));
}
