use std::fs;

use cotan::optim::Sgd;
use cotan_train::{Goal, last_checkpoint};

use super::*;

#[test]
fn a_loss_that_is_not_finite_is_traced() {
    // The second step takes the logarithm of a negative number.
    let bad = |w: Arr<f64>, x: Arr<f64>| (w * x).log().mean();
    let objective = value_and_grad(bad);
    let traced = jit(bad);
    let data = Batches::of(Tensor::from([1.0, 2.0]), 2).unwrap();
    let run = || Trainer::new(Sgd::new(2.0), |w, x, _| objective.call((w, x))).epochs(3).quiet();
    let error = run().run(Tensor::from(1.0), &data).unwrap_err().to_string();
    assert!(error.contains("the loss is NaN in step 1 (epoch 2)"), "{error}");
    assert!(error.contains("hint: `Trainer::trace_nan` says which operation made it"), "{error}");
    let error = run()
        .trace_nan(|w, x| traced.compile_like((w, x))?.trace_nan((w, x)))
        .run(Tensor::from(1.0), &data)
        .unwrap_err()
        .to_string();
    assert!(error.contains("ln(-1.0)") || error.contains("log(-1.0)"), "{error}");
}

#[test]
fn a_gradient_that_is_not_finite_ends_a_run() {
    let root = value_and_grad(|w: Arr<f64>, _: Arr<f64>| w.sqrt().sum());
    let data = Batches::of(Tensor::from([1.0]), 1).unwrap();
    let run = Trainer::new(Sgd::new(1.0), |w, x, _| root.call((w, x))).quiet();
    let error = run.run(Tensor::from([0.0]), &data).unwrap_err().to_string();
    assert!(error.contains("the gradient is not finite in step 0 (epoch 1)"), "{error}");
}

#[test]
fn other_batches_are_refused() {
    let folder = folder("other");
    trainer().checkpoints(&folder).run(start(), &batches()).unwrap();
    let resumed = |batches: &Batches<Points>| {
        let run = trainer().checkpoints(&folder).resume(true).epochs(2);
        run.run(start(), batches).map(|run| run.steps)
    };
    let error = resumed(&Batches::of(points(), 10).unwrap()).unwrap_err().to_string();
    assert!(error.contains("it is of 50 rows, 16 in a batch, 4 batches, 1 in a step"), "{error}");
    assert!(error.contains("this run has 50 rows, 10 in a batch, 5 batches"), "{error}");
    assert_eq!(resumed(&batches()).unwrap(), 8);

    // A model of another size, and a file that was cut off.
    let [hidden, last] = Key::new(2).split_into();
    let wide =
        Net { hidden: Dense::init(hidden, 2, 9).unwrap(), last: Dense::init(last, 9, 1).unwrap() };
    let run = trainer().checkpoints(&folder).resume(true).run(wide, &batches());
    let error = run.unwrap_err().to_string();
    assert!(error.contains("`params.hidden.weights` is [2, 8]f64, not [2, 9]f64"), "{error}");
    let path = last_checkpoint(&folder).unwrap().unwrap();
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let error = resumed(&batches()).unwrap_err().to_string();
    assert!(error.contains("step-000000000008.safetensors"), "{error}");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |result: cotan::Result<Run>, wanted: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    };
    let early = trainer().early_stopping("acuracy", Goal::Largest, 3);
    refused(early.run(start(), &batches()), "early stopping by `acuracy`, which is not reported");
    let text = trainer().metrics("metrics.txt");
    refused(text.run(start(), &batches()), "metrics.txt is neither .csv nor .jsonl");
    refused(trainer().epochs(u64::MAX).run(start(), &batches()), "more steps than can be counted");
    let several = |_: &Params, _: &Points, _: &_| Ok((Tensor::from([1.0, 2.0]), start()));
    let several = Trainer::new(Adam::new(0.1), several).quiet();
    refused(several.run(start(), &batches()), "the loss has several elements");
    assert!(Batches::of(points(), 0).is_err());
    assert!(Batches::of(Tensor::<f64>::zeros([0, 2]).unwrap(), 4).is_err());
    let error =
        Batches::of((Tensor::from([1.0]), Tensor::from([1.0, 2.0])), 4).unwrap_err().to_string();
    assert!(error.contains("`1` is [2]f64, but `0` has 1 rows"), "{error}");
    assert_eq!(trainer().epochs(0).run(start(), &batches()).unwrap().steps, 0);
}
