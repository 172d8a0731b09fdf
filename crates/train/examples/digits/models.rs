//! The networks, of layers.

use cotan::Result;
use cotan::nn::{self, Conv, Pool};
use cotan::prelude::*;
use cotan::random::{Init, Key};
use cotan_train::layers::{Convolution, Dense, Gru, Norm, SelfAttention};

/// Digits that there are.
pub const CLASSES: usize = 10;
/// Rows and columns of an image.
pub const SIZE: usize = 28;
/// Neurons of the dense and of the recurrent network.
pub const HIDDEN: usize = 128;
/// Rows and columns of a piece of an image that the transformer looks at.
pub const PATCH: usize = 7;
/// Pieces of an image.
pub const PATCHES: usize = (SIZE / PATCH) * (SIZE / PATCH);
/// Features of each piece in the transformer.
pub const FEATURES: usize = 64;
/// Heads of the transformer's attention.
pub const HEADS: usize = 4;

type F = Tensor<f32>;

/// One layer of neurons between pixels and digits.
#[derive(Arrays, Clone, Copy, Debug)]
pub struct Dense2<A> {
    pub hidden: Dense<A>,
    pub last: Dense<A>,
}

pub fn dense(key: Key) -> Result<Dense2<F>> {
    let [hidden, last] = key.split_into();
    Ok(Dense2 {
        hidden: Dense::init_with(Init::HeNormal, hidden, SIZE * SIZE, HIDDEN)?,
        last: Dense::init(last, HIDDEN, CLASSES)?,
    })
}

impl Dense2<Arr<f32>> {
    pub fn logits(self, x: Arr<f32>) -> Arr<f32> {
        let pixels = x.reshape([x.len(), SIZE * SIZE]);
        self.last.apply(self.hidden.apply(pixels).relu())
    }
}

/// Two convolutions, each followed by the largest of four neighbours, and a dense layer.
#[derive(Arrays, Clone, Copy, Debug)]
pub struct Convolutional<A> {
    pub first: Convolution<A>,
    pub second: Convolution<A>,
    pub last: Dense<A>,
}

pub fn conv(key: Key) -> Result<Convolutional<F>> {
    let [first, second, last] = key.split_into();
    Ok(Convolutional {
        first: Convolution::init(first, 1, 8, [5, 5])?,
        second: Convolution::init(second, 8, 16, [5, 5])?,
        last: Dense::init(last, 16 * 4 * 4, CLASSES)?,
    })
}

impl Convolutional<Arr<f32>> {
    pub fn logits(self, x: Arr<f32>) -> Arr<f32> {
        let halved = |x: Arr<f32>| nn::max_pool(x.relu(), Pool::new([2, 2]));
        let x = halved(self.first.apply(x.expand_dims(1), Conv::<2>::new()));
        let x = halved(self.second.apply(x, Conv::<2>::new()));
        self.last.apply(x.reshape([x.len(), 16 * 4 * 4]))
    }
}

/// Reads an image row after row, and decides when it has seen all.
#[derive(Arrays, Clone, Copy, Debug)]
pub struct Recurrent<A> {
    pub rows: Gru<A>,
    pub last: Dense<A>,
}

pub fn recurrent(key: Key) -> Result<Recurrent<F>> {
    let [rows, last] = key.split_into();
    Ok(Recurrent {
        rows: Gru::init(rows, SIZE, HIDDEN)?,
        last: Dense::init(last, HIDDEN, CLASSES)?,
    })
}

impl Recurrent<Arr<f32>> {
    pub fn logits(self, x: Arr<f32>) -> Arr<f32> {
        let states = self.rows.apply(x.permute([1, 0, 2]));
        self.last.apply(states.slice(s![-1]))
    }
}

/// One block of a transformer over the pieces of an image.
#[derive(Arrays, Clone, Copy, Debug)]
pub struct Transformer<A> {
    pub embed: Dense<A>,
    pub positions: A,
    pub before: Norm<A>,
    pub attention: SelfAttention<A>,
    pub between: Norm<A>,
    pub wide: Dense<A>,
    pub narrow: Dense<A>,
    pub last: Dense<A>,
}

pub fn transformer(key: Key) -> Result<Transformer<F>> {
    let [embed, positions, attention, wide, narrow, last] = key.split_into();
    Ok(Transformer {
        embed: Dense::init(embed, PATCH * PATCH, FEATURES)?,
        positions: Init::Normal(0.0, 0.1).tensor(positions, [PATCHES, FEATURES])?,
        before: Norm::init(FEATURES)?,
        attention: SelfAttention::init(attention, FEATURES)?,
        between: Norm::init(FEATURES)?,
        wide: Dense::init(wide, FEATURES, 2 * FEATURES)?,
        narrow: Dense::init(narrow, 2 * FEATURES, FEATURES)?,
        last: Dense::init(last, FEATURES, CLASSES)?,
    })
}

impl Transformer<Arr<f32>> {
    pub fn logits(self, x: Arr<f32>) -> Arr<f32> {
        let (n, side) = (x.len(), SIZE / PATCH);
        let pieces = x.reshape([n, side, PATCH, side, PATCH]).permute([0, 1, 3, 2, 4]);
        let x = self.embed.apply(pieces.reshape([n, PATCHES, PATCH * PATCH])) + self.positions;
        let x = x + self.attention.apply(self.before.apply(x), HEADS, None);
        let x = x + self.narrow.apply(self.wide.apply(self.between.apply(x)).relu());
        self.last.apply(x.mean_axis(1))
    }
}
