//! Gradients kept small.

use crate::error::Result;
use crate::structure::{Arrays, dot_tensors, map_tensors};

/// A gradient scaled so that its norm, over all tensors, is `most` at most; and the norm it had. A
/// gradient whose norm is NaN stays as it is.
///
/// ```
/// use cotan::Tensor;
/// use cotan::optim::clip_by_norm;
///
/// let g = (Tensor::from([3.0]), Tensor::from([4.0]));
/// let (clipped, norm) = clip_by_norm(&g, 1.0)?;
/// assert_eq!((clipped.0.to_vec(), clipped.1.to_vec(), norm), (vec![0.6], vec![0.8], 5.0));
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn clip_by_norm<P: Arrays<Concrete = P>>(gradient: &P, most: f64) -> Result<(P, f64)> {
    let norm = libm::sqrt(dot_tensors(gradient, gradient)?);
    let clipped = match norm > most {
        true => map_tensors(gradient, |g| g * most / norm)?,
        false => map_tensors(gradient, |g| g)?,
    };
    Ok((clipped, norm))
}

/// A gradient with every element cut to what lies between `-most` and `most`. NaN stays NaN.
///
/// ```
/// use cotan::Tensor;
/// use cotan::optim::clip_by_value;
///
/// let clipped = clip_by_value(&Tensor::from([3.0, -0.5, -9.0]), 1.0)?;
/// assert_eq!(clipped.to_vec(), [1.0, -0.5, -1.0]);
/// # Ok::<(), cotan::Error>(())
/// ```
pub fn clip_by_value<P: Arrays<Concrete = P>>(gradient: &P, most: f64) -> Result<P> {
    let cut = |g: f64| {
        if g > most {
            most
        } else if g < -most {
            -most
        } else {
            g
        }
    };
    map_tensors(gradient, cut)
}
