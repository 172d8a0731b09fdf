//! Recurrent layers, over sequences with axes time, batch and features.

use cotan::random::{Fans, Init, Key};
use cotan::{Arr, Arrays, Float, Result, Tensor, scan, zeros};

/// A gated recurrent unit (Cho et al., 2014). With $[r_x, z_x, n_x] = x W + b$ and
/// $[r_h, z_h, n_h] = h U$: $r = \sigma(r_x + r_h)$, $z = \sigma(z_x + z_h)$,
/// $n = \tanh(n_x + r \odot n_h)$, and $h \leftarrow (1 - z) \odot n + z \odot h$.
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct Gru<A> {
    /// $W$, of shape `[inputs, 3 * hidden]`.
    pub input: A,
    /// $U$, of shape `[hidden, 3 * hidden]`.
    pub recurrent: A,
    /// $b$, of shape `[3 * hidden]`.
    pub bias: A,
}

/// A long short-term memory (Hochreiter and Schmidhuber, 1997). With
/// $[i, f, g, o] = x W + h U + b$: $c \leftarrow \sigma(f) \odot c + \sigma(i) \odot \tanh(g)$ and
/// $h \leftarrow \sigma(o) \odot \tanh(c)$.
///
/// ```
/// use cotan::prelude::*;
/// use cotan::random::Key;
/// use cotan_train::layers::Lstm;
///
/// let layer = Lstm::<Tensor<f32>>::init(Key::new(0), 5, 8)?;
/// // The states after the last step, of a batch of 3 sequences.
/// let f = jit(|layer: Lstm<Arr<f32>>, x: Arr<f32>| layer.apply(x).slice(s![-1]));
/// assert_eq!(f.call((&layer, Tensor::<f32>::zeros([20, 3, 5])?))?.shape(), [3, 8]);
/// # Ok::<(), cotan::Error>(())
/// ```
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct Lstm<A> {
    /// $W$, of shape `[inputs, 4 * hidden]`.
    pub input: A,
    /// $U$, of shape `[hidden, 4 * hidden]`.
    pub recurrent: A,
    /// $b$, of shape `[4 * hidden]`.
    pub bias: A,
}

/// Weights of `gates` gates, for inputs and for states.
fn weights<T: Float>(
    key: Key,
    inputs: usize,
    hidden: usize,
    gates: usize,
) -> Result<(Tensor<T>, Tensor<T>)> {
    let [input, recurrent] = key.split_into();
    let sizes = |rows| [rows, gates * hidden];
    // Each gate is a layer of its own.
    let fans = |inputs| Fans { inputs, outputs: hidden };
    let input = Init::GlorotUniform.with_fans(input, sizes(inputs), fans(inputs))?;
    let recurrent = Init::GlorotUniform.with_fans(recurrent, sizes(hidden), fans(hidden))?;
    Ok((input, recurrent))
}

impl<T: Float> Gru<Tensor<T>> {
    /// Random weights (see [`Init::GlorotUniform`]) and a bias of 0.
    pub fn init(key: Key, inputs: usize, hidden: usize) -> Result<Self> {
        let (input, recurrent) = weights(key, inputs, hidden, 3)?;
        Ok(Gru { input, recurrent, bias: Tensor::zeros([3 * hidden])? })
    }
}

impl<T: Float> Gru<Arr<T>> {
    /// The states after each step, from 0: `[time, batch, inputs]` to `[time, batch, hidden]`.
    #[track_caller]
    pub fn apply(self, x: Arr<T>) -> Arr<T> {
        let [_, batch, _] = x.dims();
        let [hidden, _] = self.recurrent.dims();
        // What does not depend on the states is one product for all steps.
        let inputs = x.matmul(self.input) + self.bias;
        scan(zeros([batch, hidden]), inputs, |h: Arr<T>, x: Arr<T>| {
            let (x, y) = (x.split(3, -1), h.matmul(self.recurrent).split(3, -1));
            let [r_x, z_x, n_x] = three(&x, h);
            let [r_h, z_h, n_h] = three(&y, h);
            let (r, z) = ((r_x + r_h).sigmoid(), (z_x + z_h).sigmoid());
            let n = (n_x + r * n_h).tanh();
            n + z * (h - n)
        })
    }
}

impl<T: Float> Lstm<Tensor<T>> {
    /// Random weights (see [`Init::GlorotUniform`]) and a bias of 0, but 1 for the gate of forgetting,
    /// so that at first a state is kept.
    pub fn init(key: Key, inputs: usize, hidden: usize) -> Result<Self> {
        let (input, recurrent) = weights(key, inputs, hidden, 4)?;
        let forgetting = hidden..2 * hidden;
        let bias = Tensor::from_fn([4 * hidden], |ix| {
            if forgetting.contains(&ix[0]) { T::ONE } else { T::default() }
        })?;
        Ok(Lstm { input, recurrent, bias })
    }
}

impl<T: Float> Lstm<Arr<T>> {
    /// The states $h$ after each step, from 0: `[time, batch, inputs]` to `[time, batch, hidden]`.
    #[track_caller]
    pub fn apply(self, x: Arr<T>) -> Arr<T> {
        let [_, batch, _] = x.dims();
        let [hidden, _] = self.recurrent.dims();
        let inputs = x.matmul(self.input) + self.bias;
        let begin: Arr<T> = zeros([batch, hidden]);
        let (states, _) = scan((begin, begin), inputs, |(h, c): (Arr<T>, Arr<T>), x: Arr<T>| {
            let gates = (x + h.matmul(self.recurrent)).split(4, -1);
            let [i, f, g, o] = <[Arr<T>; 4]>::try_from(gates).unwrap_or([h; 4]);
            let c = f.sigmoid() * c + i.sigmoid() * g.tanh();
            (o.sigmoid() * c.tanh(), c)
        });
        states
    }
}

/// Three parts; where an error was found there may be fewer, and nothing counts.
fn three<T: Float>(parts: &[Arr<T>], otherwise: Arr<T>) -> [Arr<T>; 3] {
    <[Arr<T>; 3]>::try_from(parts).unwrap_or([otherwise; 3])
}
