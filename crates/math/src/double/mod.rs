//! The functions in double precision, for machines of [`Precision::Double`](crate::Precision).

mod circular;
mod error;
mod exp;
mod hyperbolic;
mod inverse;
mod large;
mod log;
mod power;

pub use circular::{cos, sin, tan};
pub(crate) use circular::{cos_of, sin_of, tan_of};
pub use error::{erf, erfc};
pub use exp::{exp, exp2, expm1, logistic};
pub use hyperbolic::{acosh, asinh, atanh, cosh, sinh, tanh};
pub use inverse::{acos, asin, atan, atan2};
pub use large::reduce_large;
pub use log::{log, log1p, log2, log10};
pub use power::{cbrt, pow};

const LN2: f64 = std::f64::consts::LN_2;
const LN2_LOW: f64 = 2.3190468138462996e-17;
const LOG2E: f64 = std::f64::consts::LOG2_E;
const LOG2E_LOW: f64 = 2.0355273740931033e-17;
