//! Numbers that tests begin with.

/// One of each kind that operations treat in a way of its own.
pub(crate) const SPECIAL: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.75,
    3.0,
    1e300,
    -1e-300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    9_007_199_254_740_993.0,
    9.3e18,
    1e-310,
];
