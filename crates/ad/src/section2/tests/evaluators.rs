//! The evaluators against each other and against Fig. eval-share-visits.

use std::collections::BTreeMap;
use std::rc::Rc;

use cotan_ir::scalar::Fp;
use cotan_testkit::{Rng, for_each_case};

use crate::section2::delta::{Delta, IdGen, Real};
use crate::section2::eval::{Visit, eval_0, eval_1, eval_2, eval_3, eval_3_visiting};
use crate::section2::examples::{doublings, shared_expression};
use crate::section2::reverse_pass::{reverse_pass_4, reverse_pass_from};
use crate::section2::transform::Sharing;
use crate::section2::wrapper::run_dual;

/// Random Delta terms over inputs below `n`, each made of earlier ones, as a program would.
fn random_deltas(rng: &mut Rng, n: usize) -> Vec<Rc<Delta<Fp>>> {
    let mut ids = IdGen::new();
    let mut made = vec![Rc::new(Delta::Zero)];
    made.extend((0..n).map(|v| Rc::new(Delta::Input(v))));
    for _ in 0..1 + rng.below(14) {
        // The last parts come up more often, so that terms get deep.
        let mut part = || Rc::clone(&made[made.len() - 1 - rng.below(made.len().min(5))]);
        let (d1, d2) = (part(), part());
        let r = Fp::from_u64(rng.bits());
        let d = match rng.below(3) {
            0 => Delta::Add(d1, d2),
            1 => Delta::Scale(r, d1),
            _ => Delta::Share(ids.fresh(), Rc::new(Delta::Add(Rc::new(Delta::Scale(r, d1)), d2))),
        };
        made.push(Rc::new(d));
    }
    made
}

fn dense(grad: &BTreeMap<usize, Fp>, n: usize) -> Vec<Fp> {
    (0..n).map(|v| grad.get(&v).copied().unwrap_or(Fp::ZERO)).collect()
}

#[test]
fn all_evaluators_agree_exactly() {
    for_each_case("evaluators", 3000, |rng| {
        let n = 1 + rng.below(4);
        let deltas = random_deltas(rng, n);
        let d = &deltas[deltas.len() - 1];
        let gradient = eval_1(d, n);
        let direction: Vec<Fp> = (0..n).map(|_| Fp::from_u64(rng.bits())).collect();
        let along = gradient.iter().zip(&direction).fold(Fp::ZERO, |sum, (&g, &e)| sum + g * e);
        assert_eq!(eval_0(d, &direction), along, "{d}");

        // eval_1 d = eval_2 d 0, and eval_2 d v = eval_3 1 d v for any v.
        let mut tg = vec![Fp::ZERO; n];
        eval_2(d, &mut tg);
        assert_eq!(tg, gradient, "{d}");
        let (mut second, mut third) = (direction.clone(), direction.clone());
        eval_2(d, &mut second);
        eval_3(Fp::ONE, d, &mut third);
        assert_eq!(second, third, "{d}");

        let c = Fp::from_u64(rng.bits());
        let mut tg = vec![Fp::ZERO; n];
        eval_3(c, d, &mut tg);
        assert_eq!(dense(&reverse_pass_4(c, d), n), tg, "{d}");

        // Several results at once, which may share parts: the sum of their gradients.
        let e = rng.pick(&deltas);
        eval_3(Fp::ONE, e, &mut tg);
        let both = reverse_pass_from([(c, &**d), (Fp::ONE, &**e)], &mut |_| {});
        assert_eq!(dense(&both, n), tg, "{d}\n{e}");
        Ok(())
    });
}

/// `eval_2 (Scale r d) = (r *) . eval_2 d` multiplies what was there before.
#[test]
fn the_printed_rule_for_scale_loses_what_was_before() {
    fn printed(d: &Delta<f64>, tg: f64) -> f64 {
        match d {
            Delta::Zero => tg,
            Delta::Input(_) => tg + 1.0,
            Delta::Add(d1, d2) => printed(d2, printed(d1, tg)),
            Delta::Scale(r, d) => r * printed(d, tg),
            Delta::Share(_, d) => printed(d, tg),
        }
    }
    let x = Rc::new(Delta::Input(0));
    let d = Delta::Add(Rc::clone(&x), Rc::new(Delta::Scale(3.0, x)));
    assert_eq!(printed(&d, 0.0), 6.0);
    let mut tg = vec![0.0];
    eval_2(&d, &mut tg);
    assert_eq!((tg, eval_1(&d, 1)), (vec![4.0], vec![4.0]));
}

#[test]
fn the_factors_are_multiplied_from_the_other_end() {
    // Scale r1 (Scale r2 (Input 0)), in floats where the order shows: r1 * r2 overflows, and
    // r2 * (what flows) does not.
    let inner = Rc::new(Delta::Scale(1e200, Rc::new(Delta::Input(0))));
    let d = Delta::Scale(1e200, inner);
    assert_eq!(eval_0(&d, &[1e-200]), 1e200);
    let mut tg = vec![0.0];
    eval_3(1.0, &d, &mut tg);
    assert_eq!(tg, [f64::INFINITY]);
}

/// Fig. eval-share-visits: the Delta term, and the two orders of visits.
#[test]
fn visits_are_as_drawn() {
    let (x, y) = (2.0f64, 2.0f64.exp());
    let (value, d) = run_dual("x", &shared_expression(), &x.into(), Sharing::Ids).unwrap();
    assert!((value - (y + x.tan())).abs() < 1e-14);

    // The shape of the term, without the factors.
    let skeleton: String = d.to_string().split(' ').filter(|word| !is_number(word)).collect();
    let nested = "(Share5(Add(Scale(Share3(Scale(Share2(Scale(Share1..))))))\
                  (Scale(Share4(Scale(Share2..))))))";
    let expected = format!("Share6(Add(Share1(Scale(Input0))){nested})");
    assert_eq!(skeleton, expected.replace(' ', ""));

    const PLUS: Visit = Visit::Share(6);
    const DIVIDED: Visit = Visit::Share(5);
    const COS: Visit = Visit::Share(4);
    const SIN: Visit = Visit::Share(3);
    const LOG: Visit = Visit::Share(2);
    const EXP: Visit = Visit::Share(1);
    const X: Visit = Visit::Input(0);

    let (mut naive, mut tg) = (Vec::new(), [0.0]);
    eval_3_visiting(1.0, &d, &mut tg, &mut |visit| naive.push(visit));
    assert_eq!(naive, [PLUS, EXP, X, DIVIDED, SIN, LOG, EXP, X, COS, LOG, EXP, X]);
    // exp: 2, 7, 11; x: 3, 8, 12; log: 6, 10, counted from 1 as in the figure.
    let times =
        |node| naive.iter().enumerate().filter(|(_, v)| **v == node).map(|(n, _)| n + 1).collect();
    let (exp, input, log): (Vec<_>, Vec<_>, Vec<_>) = (times(EXP), times(X), times(LOG));
    assert_eq!((exp, input, log), (vec![2, 7, 11], vec![3, 8, 12], vec![6, 10]));

    let mut aware = Vec::new();
    let grad = reverse_pass_from([(1.0, &*d)], &mut |visit| aware.push(visit));
    assert_eq!(aware, [PLUS, DIVIDED, COS, SIN, LOG, EXP, X]);

    // y + tan (log y) for y = exp x: the derivative by x is exp x + 1 / cos^2 x.
    let expected = y + 1.0 / x.cos().powi(2);
    assert!((grad[&0] - expected).abs() < 1e-13 && (tg[0] - expected).abs() < 1e-13);

    fn is_number(word: &str) -> bool {
        word.contains('.') && word.trim_matches(['(', ')']).parse::<f64>().is_ok()
    }
}

/// `P_1` without ids takes `2^n` visits; with ids `n + 2`.
#[test]
fn sharing_turns_exponential_into_linear() {
    for n in [1, 4, 16] {
        let (_, d) = run_dual("x", &doublings(n), &1.0.into(), Sharing::Naive).unwrap();
        assert_eq!(d.size(), n + 1);
        let (mut visits, mut tg) = (0usize, [0.0]);
        eval_3_visiting(1.0, &d, &mut tg, &mut |_| visits += 1);
        assert_eq!((visits, tg[0]), (1 << n, f64::from(1 << n)));
    }
    for n in [1, 4, 16, 60, 240] {
        let (_, d) = run_dual("x", &doublings(n), &1.0.into(), Sharing::Ids).unwrap();
        let mut visits = 0;
        let grad = reverse_pass_from([(1.0, &*d)], &mut |_| visits += 1);
        // One visit of each Share; the first sum, x + x, has x twice.
        assert_eq!((visits, grad[&0]), (n + 2, 2f64.powi(n as i32)));
    }
}

#[test]
fn chains_of_a_hundred_thousand_nodes_need_no_deep_stack() {
    const N: usize = 100_000;
    let mut chain = Rc::new(Delta::Input(0));
    let mut shared = Rc::new(Delta::Input(0));
    for i in 0..N as u64 {
        let one = Rc::new(Delta::Input(0));
        chain = Rc::new(match i % 2 {
            0 => Delta::Add(chain, one),
            _ => Delta::Scale(1.0, chain),
        });
        // Three paths to each: far too many without ids.
        let twice = Rc::new(Delta::Add(Rc::clone(&shared), Rc::clone(&shared)));
        let sum = Rc::new(Delta::Add(twice, Rc::new(Delta::Scale(-1.0, Rc::clone(&shared)))));
        shared = Rc::new(Delta::Share(i + 1, sum));
    }
    let paths = (N / 2 + 1) as f64;
    assert_eq!(eval_0(&chain, &[1.0]), paths);
    assert_eq!(eval_1(&chain, 1), [paths]);
    let (mut second, mut third) = (vec![0.0], [0.0]);
    eval_2(&chain, &mut second);
    eval_3(1.0, &chain, &mut third);
    assert_eq!((second[0], third[0]), (paths, paths));
    assert_eq!(reverse_pass_4(1.0, &chain)[&0], paths);
    assert_eq!(reverse_pass_4(1.0, &shared)[&0], 1.0);
}

#[test]
fn inputs_beyond_the_vector_are_dropped() {
    let d = Delta::Add(Rc::new(Delta::Input(0)), Rc::new(Delta::Input(7)));
    assert_eq!(eval_0(&d, &[3.0]), 3.0);
    assert_eq!(eval_1(&d, 1), [1.0]);
    assert_eq!(reverse_pass_4(f64::ONE, &d).len(), 2);
}
