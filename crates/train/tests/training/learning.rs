use cotan::optim::{Optimizer, Sgd};
use cotan::structure::zip_tensors;
use cotan_train::{End, Goal, Step};

use super::*;

#[test]
fn a_network_learns() {
    let run = trainer().epochs(200).run(start(), &batches()).unwrap();
    assert_eq!((run.end, run.steps, run.rows.len()), (End::Finished, 800, 200));
    let (first, last) = (run.rows[0].loss, run.last_loss().unwrap());
    assert!(last < 0.05 * first, "{first} to {last}");
}

#[test]
fn every_row_occurs_once_in_an_epoch() {
    let data = Tensor::from((0..50).map(f64::from).collect::<Vec<f64>>());
    let batches = Batches::of(data, 16).unwrap().shuffled(Key::new(9));
    let epoch = |epoch| {
        let parts: Vec<f64> = (0..batches.per_epoch())
            .flat_map(|n| batches.get(epoch, n).unwrap().to_vec())
            .collect();
        parts
    };
    let (first, second) = (epoch(0), epoch(1));
    assert_ne!(first, second);
    for mut order in [first, second] {
        order.sort_by(f64::total_cmp);
        assert!(order.iter().copied().eq((0..50).map(f64::from)));
    }
    let dropping = batches.clone().drop_last();
    assert_eq!((batches.per_epoch(), dropping.per_epoch()), (4, 3));
    assert!(dropping.get(0, 3).is_err());
    assert_eq!(Batches::of(Tensor::from([1.0]), 16).unwrap().drop_last().per_epoch(), 1);
}

#[test]
fn gradients_of_several_batches_are_one_step() {
    // Four batches of equal size make the step that one of all rows makes, up to rounding.
    let data = || {
        Batches::of((points().0.slice(s![..48]).unwrap(), points().1.slice(s![..48]).unwrap()), 12)
    };
    let whole = Batches::of(data().unwrap().data().clone(), 48).unwrap();
    let objective = value_and_grad(loss);
    let trainer =
        || Trainer::new(Sgd::new(0.1), |net, (x, y), _: &Step| objective.call((net, x, y))).quiet();
    let parts = trainer().accumulate(4).epochs(5).run(start(), &data().unwrap()).unwrap();
    let one = trainer().epochs(5).run(start(), &whole).unwrap();
    assert_eq!((parts.steps, one.steps), (5, 5));
    let far = |x: f64, y: f64| (x - y).abs();
    let difference = zip_tensors(&parts.params, &one.params, far).unwrap();
    let largest = cotan::structure::flat_floats(&difference).into_iter().fold(0.0, f64::max);
    assert!(largest < 1e-12, "{largest}");
    // Three of four batches, then the one that is left.
    assert_eq!(trainer().accumulate(3).epochs(2).run(start(), &data().unwrap()).unwrap().steps, 4);
}

#[test]
fn large_gradients_are_scaled() {
    let steep = |x: &Tensor<f64>, _: &Tensor<f64>, _: &Step| Ok((1.0, x.map(|_| 1000.0)));
    let data = Batches::of(Tensor::from([0.0]), 1).unwrap();
    let run = Trainer::new(Sgd::new(1.0), steep).clip_norm(0.5).quiet();
    assert_eq!(run.run(Tensor::from([3.0]), &data).unwrap().params.to_vec(), [2.5]);
}

#[test]
fn a_run_without_progress_ends() {
    // The values that the evaluation gives, one after the other.
    let values = [0.1, 0.3, 0.2, 0.3, 0.4, 0.1, 0.2, 0.3, 0.9];
    let reports = std::cell::Cell::new(0);
    let objective = value_and_grad(loss);
    let run = Trainer::new(Adam::new(0.01), |net, (x, y), _| objective.call((net, x, y)))
        .epochs(values.len() as u64)
        .evaluate(["accuracy"], |_| {
            reports.set(reports.get() + 1);
            Ok([values[reports.get() - 1]])
        })
        .early_stopping("accuracy", Goal::Largest, 3)
        .quiet()
        .run(start(), &batches())
        .unwrap();
    assert_eq!((run.end, run.rows.len()), (End::Early, 8));
    // After the fifth report, the parameters were those of a run of five epochs.
    let five = Trainer::new(Adam::new(0.01), |net, (x, y), _| objective.call((net, x, y)))
        .epochs(5)
        .quiet()
        .run(start(), &batches())
        .unwrap();
    assert_eq!(run.best.unwrap(), five.params);
}

#[test]
fn the_steps_are_those_of_a_loop() {
    let adam = Adam::new(0.01);
    let mut params = start();
    let mut state = adam.init(&params).unwrap();
    let objective = value_and_grad(loss);
    for epoch in 0..3 {
        for n in 0..4 {
            let (x, y) = batches().get(epoch, n).unwrap();
            let (_, gradient) = objective.call((&params, &x, &y)).unwrap();
            params = adam.step(&mut state, &params, &gradient).unwrap();
        }
    }
    let run = Trainer::new(adam, |net, (x, y), _| objective.call((net, x, y))).epochs(3).quiet();
    let run = run.run(start(), &batches()).unwrap();
    assert_eq!((run.params, run.state), (params, state));
}
