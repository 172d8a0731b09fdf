//! Attention.

use cotan::random::Key;
use cotan::{Arr, Arrays, Float, Result, Tensor, nn};

use super::dense::Dense;

/// Attention of the positions of a sequence to each other, by several heads.
///
/// ```
/// use cotan::prelude::*;
/// use cotan::random::Key;
/// use cotan_train::layers::SelfAttention;
///
/// let layer = SelfAttention::<Tensor<f32>>::init(Key::new(0), 16)?;
/// // No position sees what comes after it.
/// let f = jit(|layer: SelfAttention<Arr<f32>>, x: Arr<f32>| layer.apply_causal(x, 4));
/// let x = Key::new(1).normal::<f32>([2, 10, 16])?;
/// let mut other = x.clone();
/// other.as_mut_slice()[9 * 16..10 * 16].fill(7.0);
/// let (y, changed) = (f.call((&layer, &x))?, f.call((&layer, &other))?);
/// assert_eq!(y.slice(s![0, ..9])?, changed.slice(s![0, ..9])?);
/// assert_ne!(y.slice(s![0, 9])?, changed.slice(s![0, 9])?);
/// # Ok::<(), cotan::Error>(())
/// ```
#[derive(Arrays, Clone, Copy, Debug, PartialEq)]
pub struct SelfAttention<A> {
    /// What a position looks for.
    pub query: Dense<A>,
    /// What it is found by.
    pub key: Dense<A>,
    /// What it has to say.
    pub value: Dense<A>,
    /// What becomes of the answers of all heads.
    pub out: Dense<A>,
}

impl<T: Float> SelfAttention<Tensor<T>> {
    /// Of so many features, which all heads share.
    pub fn init(key: Key, features: usize) -> Result<Self> {
        let [query, keys, value, out] = key.split_into();
        Ok(SelfAttention {
            query: Dense::init(query, features, features)?,
            key: Dense::init(keys, features, features)?,
            value: Dense::init(value, features, features)?,
            out: Dense::init(out, features, features)?,
        })
    }
}

impl<T: Float> SelfAttention<Arr<T>> {
    /// `[batch, positions, features]` to the same shape. The features are divided among the heads; a
    /// mask says for each pair of positions whether the first may look at the second.
    #[track_caller]
    pub fn apply(self, x: Arr<T>, heads: usize, mask: Option<Arr<bool>>) -> Arr<T> {
        let [batch, positions, features] = x.dims();
        // As many heads as do not divide the features leave some over, which `reshape` refuses.
        let apart = |part: Dense<Arr<T>>| {
            let sizes = [batch, positions, heads, features / heads.max(1)];
            part.apply(x).reshape(sizes).permute([0, 2, 1, 3])
        };
        let answers = nn::attention(apart(self.query), apart(self.key), apart(self.value), mask);
        self.out.apply(answers.permute([0, 2, 1, 3]).reshape([batch, positions, features]))
    }

    /// The same where each position looks at itself and those before it.
    #[track_caller]
    pub fn apply_causal(self, x: Arr<T>, heads: usize) -> Arr<T> {
        let [_, positions, _] = x.dims();
        self.apply(x, heads, Some(nn::causal_mask(positions, positions)))
    }
}
