//! The benchmarks: which there are, and at which sizes they are run.

use cotan_pipeline::Derivative;

/// What is measured of a program besides its value.
#[derive(Clone, Copy, Debug)]
pub enum Measured {
    /// Value and gradient of `objective`.
    Gradient,
    /// The Hessian of `objective` times the direction `v_NAME`.
    HessianVector,
    /// The Hessian of `objective`.
    Hessian,
    /// Another function of the text.
    Function(&'static str),
}

impl Measured {
    /// The derivative of the objective, unless it is a function of its own.
    pub fn derivative(self) -> Option<Derivative> {
        match self {
            Measured::Gradient => Some(Derivative::ValueAndGrad),
            Measured::HessianVector => Some(Derivative::Hvp),
            Measured::Hessian => Some(Derivative::Hessian),
            Measured::Function(_) => None,
        }
    }

    /// Whether the first result is the value of the objective.
    pub fn gives_value(self) -> bool {
        matches!(self, Measured::Gradient)
    }
}

/// A size of a case, by name.
pub type Size = (&'static str, usize);

/// A benchmark at some sizes.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name, such as `n256`.
    pub name: &'static str,
    /// The sizes that its inputs are made from.
    pub sizes: &'static [Size],
}

impl Case {
    /// The size of a name; 0 if there is none.
    pub fn size(&self, name: &str) -> usize {
        self.sizes.iter().find(|(n, _)| *n == name).map_or(0, |&(_, size)| size)
    }
}

/// A benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// Its name.
    pub name: &'static str,
    /// A: the problems of ADBench. B: steps of training. C: kernels. D: second order. E: problems of
    /// GradBench. F: programs of other kinds, for which nothing was tuned.
    pub group: char,
    /// The text of the program.
    pub text: &'static str,
    /// The function of the text that is the objective.
    pub objective: &'static str,
    /// What is measured.
    pub measured: Measured,
    /// The inputs to differentiate by.
    pub by: &'static [&'static str],
    /// The names of the derivatives, in the order of the results.
    pub results: &'static [&'static str],
    /// The size parameters of the objective that no input tells.
    pub statics: &'static [&'static str],
    /// The largest relative deviation from what is expected.
    pub tolerance: f64,
    /// Where it is measured.
    pub cases: &'static [Case],
    /// Where it is tested.
    pub small: Case,
}

const F64: f64 = 1e-10;
const F32: f64 = 2e-4;

macro_rules! case {
    ($name:literal: $($size:ident = $value:expr),*) => {
        Case { name: $name, sizes: &[$((stringify!($size), $value)),*] }
    };
}

macro_rules! benchmark {
    ($name:literal $group:literal $text:literal $measured:expr, [$($by:literal),*] -> [$($result:literal),*],
     $tolerance:ident, [$($case:expr),* $(,)?], $small:expr $(, statics: $statics:expr)?) => {
        Benchmark {
            name: $name,
            group: $group,
            text: include_str!(concat!("../programs/", $text, ".ct")),
            objective: "objective",
            measured: $measured,
            by: &[$($by),*],
            results: &[$($result),*],
            statics: benchmark!(@statics $($statics)?),
            tolerance: $tolerance,
            cases: &[$($case),*],
            small: $small,
        }
    };
    (@statics) => { &[] };
    (@statics $statics:expr) => { $statics };
}

use Measured::{Function, Gradient, Hessian, HessianVector};

/// What programs of the suite import, by name.
pub const LIBRARY: &[(&str, &str)] =
    &[("hand_model.ct", include_str!("../programs/hand_model.ct"))];

const HAND: [Case; 4] = [
    case!("simple_c100": c = 100, v = 544),
    case!("simple_c800": c = 800, v = 544),
    case!("complicated_c100": c = 100, v = 544, t = 1084),
    case!("complicated_c800": c = 800, v = 544, t = 1084),
];

/// Every benchmark.
pub const ALL: &[Benchmark] = &[
    benchmark!("dot" 'C' "dot" Gradient, ["a", "b"] -> ["a", "b"], F64,
        [case!("n1e6": n = 1_000_000)], case!("small": n = 37)),
    benchmark!("selfrev" 'C' "selfrev" Gradient, ["a"] -> ["a"], F64,
        [case!("n1e6": n = 1_000_000)], case!("small": n = 38)),
    benchmark!("matmul" 'C' "matmul" Gradient, ["A", "B"] -> ["A", "B"], F64,
        [case!("n256": n = 256), case!("n512": n = 512)], case!("small": n = 7)),
    benchmark!("stencil" 'C' "stencil" Gradient, ["u"] -> ["u"], F64,
        [case!("n1000_t10": n = 1000, steps = 10)], case!("small": n = 9, steps = 3),
        statics: &["steps"]),
    benchmark!("histogram" 'C' "histogram" Gradient, ["v"] -> ["v"], F64,
        [case!("n1e6_b1000": n = 1_000_000, bins = 1000)], case!("small": n = 50, bins = 7),
        statics: &["bins"]),
    benchmark!("binmax" 'C' "binmax" Gradient, ["v"] -> ["v"], F64,
        [case!("n1e6_b1000": n = 1_000_000, bins = 1000), case!("n1e6_b1e6": n = 1_000_000, bins = 1_000_000)],
        case!("small": n = 50, bins = 30), statics: &["bins"]),
    benchmark!("lj" 'C' "lj" Gradient, ["pos"] -> ["pos"], F64,
        [case!("n1000": side = 10)], case!("small": side = 2)),
    benchmark!("kmeans" 'C' "kmeans" Gradient, ["c"] -> ["c"], F64,
        [case!("n10000_k10_d32": n = 10_000, k = 10, d = 32)], case!("small": n = 20, k = 3, d = 4)),
    benchmark!("logsumexp" 'C' "logsumexp" Gradient, ["X"] -> ["X"], F64,
        [case!("1000x1000": m = 1000, n = 1000)], case!("small": m = 6, n = 9)),
    benchmark!("conv1d" 'C' "conv1d" Gradient, ["x", "w"] -> ["x", "w"], F64,
        [case!("n2000_k200": n = 2000, k = 200)], case!("small": n = 13, k = 4)),
    benchmark!("mlp" 'B' "mlp" Gradient, ["W0", "b0", "W1", "b1", "W2", "b2"]
            -> ["W0", "b0", "W1", "b1", "W2", "b2"], F32,
        [case!("b128": batch = 128, i = 784, h = 300, g = 100, o = 10)],
        case!("small": batch = 4, i = 6, h = 5, g = 4, o = 3)),
    benchmark!("cnn" 'B' "cnn" Gradient, ["k1", "b1", "k2", "b2", "W", "b"]
            -> ["k1", "b1", "k2", "b2", "W", "b"], F32,
        [case!("b64": batch = 64, s = 4, t = 4, c = 16, e = 32)],
        case!("small": batch = 2, s = 1, t = 2, c = 2, e = 3),
        statics: &["s", "t"]),
    benchmark!("rnn" 'B' "rnn" Gradient, ["Wx", "Wh", "bh", "Wo", "bo"]
            -> ["Wx", "Wh", "bh", "Wo", "bo"], F32,
        [case!("b64": batch = 64, steps = 28, i = 28, h = 128)],
        case!("small": batch = 3, steps = 4, i = 5, h = 6)),
    benchmark!("hvp_gmm" 'D' "gmm" HessianVector, ["alphas", "means", "icf"]
            -> ["alphas", "means", "icf"], F64,
        [case!("1k_d10_K25": n = 1000, d = 10, k = 25), case!("10k_d10_K50": n = 10_000, d = 10, k = 50)],
        case!("small": n = 5, d = 3, k = 2)),
    benchmark!("hessian_logreg" 'D' "logreg" Hessian, ["w"] -> ["H"], F64,
        [case!("n1000_d100": n = 1000, d = 100)], case!("small": n = 12, d = 4)),
    benchmark!("gmm" 'A' "gmm" Gradient, ["alphas", "means", "icf"] -> ["alphas", "means", "icf"], F64,
        [
            case!("1k_d2_K5": n = 1000, d = 2, k = 5),
            case!("1k_d10_K25": n = 1000, d = 10, k = 25),
            case!("1k_d64_K50": n = 1000, d = 64, k = 50),
            case!("10k_d10_K50": n = 10_000, d = 10, k = 50),
            case!("10k_d20_K100": n = 10_000, d = 20, k = 100),
            case!("10k_d32_K200": n = 10_000, d = 32, k = 200),
            case!("10k_d64_K25": n = 10_000, d = 64, k = 25),
        ],
        case!("small": n = 6, d = 3, k = 2)),
    benchmark!("lstm" 'A' "lstm" Gradient, ["main", "extra"] -> ["main", "extra"], F64,
        [
            case!("l2_c1024": l = 2, c = 1024, b = 14),
            case!("l4_c1024": l = 4, c = 1024, b = 14),
            case!("l2_c4096": l = 2, c = 4096, b = 14),
            case!("l4_c4096": l = 4, c = 4096, b = 14),
        ],
        case!("small": l = 2, c = 5, b = 3), statics: &["l"]),
    Benchmark {
        objective: "errors",
        ..benchmark!("ba" 'A' "ba" Function("jacobian_blocks"), [] -> ["J_reproj", "J_w"], F64,
            [
                case!("ba1": n = 49, m = 7776, p = 31_843),
                case!("ba2": n = 21, m = 11_315, p = 36_455),
                case!("ba3": n = 161, m = 48_126, p = 182_072),
                case!("ba4": n = 372, m = 47_423, p = 204_472),
                case!("ba5": n = 257, m = 65_132, p = 225_911),
            ],
            case!("small": n = 3, m = 4, p = 6))
    },
    benchmark!("ba_grad" 'A' "ba" Gradient, ["cams", "X", "w"] -> ["cams", "X", "w"], F64,
        [
            case!("ba1": n = 49, m = 7776, p = 31_843),
            case!("ba5": n = 257, m = 65_132, p = 225_911),
        ],
        case!("small": n = 3, m = 4, p = 6)),
    Benchmark {
        objective: "errors",
        ..benchmark!("hand" 'A' "hand_simple" Function("jacobian_dense"), [] -> ["J"], F64,
            [HAND[0], HAND[1]], case!("simple_small": c = 3, v = 5))
    },
    Benchmark {
        objective: "errors",
        ..benchmark!("hand" 'A' "hand_complicated" Function("jacobian_dense"), [] -> ["J"], F64,
            [HAND[2], HAND[3]], case!("complicated_small": c = 3, v = 5, t = 4))
    },
    benchmark!("hand_grad" 'A' "hand_simple" Gradient, ["theta"] -> ["theta"], F64,
        [HAND[0], HAND[1]], case!("simple_small": c = 3, v = 5)),
    benchmark!("hand_grad" 'A' "hand_complicated" Gradient, ["us", "theta"] -> ["us", "theta"], F64,
        [HAND[2], HAND[3]], case!("complicated_small": c = 3, v = 5, t = 4)),
    benchmark!("lse" 'E' "lse" Gradient, ["x"] -> ["x"], F64,
        [case!("n10000": n = 10_000), case!("n1280000": n = 1_280_000)], case!("small": n = 11)),
    benchmark!("llsq" 'E' "llsq" Gradient, ["x"] -> ["x"], F64,
        [case!("n16392_m128": n = 16_392, m = 128)], case!("small": n = 9, m = 4), statics: &["n"]),
    benchmark!("wavenet" 'F' "wavenet" Gradient, ["w", "v"] -> ["w", "v"], F32,
        [case!("b4_c32_t1024": b = 4, c = 32, t = 1024)], case!("small": b = 2, c = 3, t = 19)),
    benchmark!("mobile" 'F' "mobile" Gradient, ["k1", "m1", "k2", "m2"] -> ["k1", "m1", "k2", "m2"], F32,
        [case!("b16_c16_hw32": b = 16, c = 16, o = 32, p = 64, h = 32, w = 32)],
        case!("small": b = 2, c = 2, o = 3, p = 4, h = 8, w = 12)),
    benchmark!("autoencoder" 'F' "autoencoder" Gradient, ["k1", "k2"] -> ["k1", "k2"], F64,
        [case!("b4_c8_hw32": b = 4, c = 8, o = 16, h = 32, w = 32)],
        case!("small": b = 2, c = 2, o = 3, h = 6, w = 8)),
    benchmark!("graph_attention" 'F' "graph_attention" Gradient, ["w", "a", "b"] -> ["w", "a", "b"], F64,
        [case!("n5000_e50000_d32": n = 5000, e = 50_000, d = 32)],
        case!("small": n = 7, e = 20, d = 3)),
    benchmark!("skipgram" 'F' "skipgram" Gradient, ["U", "V"] -> ["U", "V"], F32,
        [case!("w10000_d64_p5000": words = 10_000, d = 64, p = 5000, k = 5)],
        case!("small": words = 11, d = 5, p = 9, k = 2)),
    benchmark!("alignment" 'F' "alignment" Gradient, ["table", "gap"] -> ["table", "gap"], F64,
        [case!("n150_m150": letters = 20, n = 150, m = 150)],
        case!("small": letters = 4, n = 6, m = 5)),
    benchmark!("filters" 'F' "filters" Gradient, ["b", "a"] -> ["b", "a"], F64,
        [case!("t2000_c8": t = 2000, c = 8)], case!("small": t = 12, c = 3)),
    benchmark!("warp" 'F' "warp" Gradient, ["map", "moving"] -> ["map", "moving"], F64,
        [case!("hw200": h = 200, w = 200)], case!("small": h = 9, w = 8)),
];
