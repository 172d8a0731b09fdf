//! A small network trained from end to end: initial values, layers, loss, optimiser.
use cotan::nn::{self, Conv, Pool};
use cotan::optim::{Adam, Optimizer, clip_by_norm};
use cotan::prelude::*;
use cotan::random::{Init, Key};

const SIZE: usize = 5;
const BATCH: usize = 16;
const STEPS: usize = 30;

/// Noisy images of a horizontal or a vertical bar at a random place, and which it is.
fn bars(key: Key) -> (Tensor<f32>, Tensor<i64>) {
    let [noise, places, kinds] = key.split_into();
    let noise = noise.normal::<f32>([BATCH, 1, SIZE, SIZE]).unwrap();
    let places = places.integers([BATCH], 0..SIZE as i64).unwrap();
    let kinds = kinds.integers([BATCH], 0..2).unwrap();
    let image = Tensor::from_fn([BATCH, 1, SIZE, SIZE], |ix| {
        let (place, kind) = (places.get(&[ix[0]]).unwrap(), kinds.get(&[ix[0]]).unwrap());
        let along = if kind == 0 { ix[2] } else { ix[3] };
        let bar = if along as i64 == place { 1.0 } else { 0.0 };
        bar + 0.1 * noise.get(ix).unwrap()
    });
    (image.unwrap(), kinds)
}

/// Kernels, biases of the channels, and a linear layer.
type Net<A> = (A, A, A, A);

fn logits((kernel, shift, w, b): Net<Arr<f32>>, image: Arr<f32>) -> Arr<f32> {
    let features = nn::conv2d(image, kernel, Conv::new().same());
    let (features, _, _) = nn::batch_norm(features, ones([4]), shift, 1e-5);
    let pooled = nn::global_avg_pool(nn::max_pool(features.relu(), Pool::new([2, 2])));
    build([pooled.len(), 2], |[n, c]| (pooled.at(n) * w.at(c)).sum() + b.at(c))
}

#[test]
fn a_network_learns_to_tell_bars_apart() {
    let [kernel, weights, steps] = Key::new(0).split_into();
    let mut net: Net<Tensor<f32>> = (
        Init::HeNormal.tensor(kernel, [4, 1, 3, 3]).unwrap(),
        Init::Zeros.tensor(kernel, [4]).unwrap(),
        Init::GlorotUniform.tensor(weights, [2, 4]).unwrap(),
        Init::Zeros.tensor(weights, [2]).unwrap(),
    );
    let loss = |net: Net<Arr<f32>>, image: Arr<f32>, labels: Arr<i64>| {
        nn::cross_entropy(logits(net, image), labels).sum() / BATCH as f32
    };
    let f = value_and_grad(loss);
    let adam = Adam::new(0.1);
    let mut state = adam.init(&net).unwrap();
    let mut losses = Vec::new();
    for step in 0..STEPS as u64 {
        let (images, labels) = bars(steps.fold_in(step));
        let (value, gradient) = f.call((&net, &images, &labels)).unwrap();
        let (gradient, norm) = clip_by_norm(&gradient, 5.0).unwrap();
        assert!(norm.is_finite());
        net = adam.step(&mut state, &net, &gradient).unwrap();
        losses.push(value.item().unwrap());
    }
    assert_eq!((f.cache().misses, state.step.item()), (1, Some(STEPS as i64)));
    let (first, last) = (losses[0], losses[STEPS - 1]);
    assert!(first > 0.4 && last < 0.1, "{losses:?}");

    let (images, labels) = bars(steps.fold_in(1000));
    let scores = jit(logits).call((&net, &images)).unwrap();
    let right = labels.iter().enumerate().filter(|&(n, label)| {
        let score = |c: usize| scores.get(&[n, c]).unwrap();
        (score(1) > score(0)) == (label == 1)
    });
    assert!(right.count() >= BATCH - 1);
}
