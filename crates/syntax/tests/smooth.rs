//! The gradient of every builtin function against central differences, at random shapes and points.
#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod common;

use common::Rng;
use cotan_interp::{Interp, Value};
use cotan_ir::Program;
use cotan_ir::scalar::{Domain, Op, Rule, Scalar};
use cotan_syntax::{Group, builtins, instantiate, load_text};

/// A builtin, parameters, and an array that depends on them by way of it. Sizes are drawn anew for
/// each run; floats lie between 0.5 and 2.
const CASES: &[(&str, &str, &str)] = &[
    ("zeros", "x: [n]f64", "x * zeros([n])"),
    ("ones", "x: [n]f64", "x * ones([n])"),
    ("full", "x: f64, y: [n]f64", "full([2], x) * full([2], sum(y))"),
    ("full", "y: [n]f64", "full([2], y)"),
    ("eye", "x: [n, n]f64", "x * eye(n)"),
    ("len", "x: [n]f64", "x * len(x)"),
    ("shape", "x: [m, n]f64", "x * shape(x, 1)"),
    ("size", "x: [m, n]f64", "x / size(x)"),
    ("broadcast", "x: [m, 1]f64", "broadcast(x, [2, m, 3])"),
    ("flatten", "x: [m, n]f64", "flatten(x)"),
    ("concat", "x: [m, n]f64, y: [m, k]f64", "concat(x, y, x, axis = 1)"),
    ("reverse", "x: [m, n]f64", "reverse(x, axis = -1) * x"),
    ("overwrite", "x: [n]f64, y: [m, 2]f64", "overwrite(x, y, (i, j) => [(i + j) // 2]) * x[0]"),
    (
        "tree_map",
        "x: [n]f64, y: f64",
        "tree_map((a, b) => sum(a * b), {a = x, b = y}, {b = x, a = y}).b",
    ),
    ("take", "x: [n]f64", "take(x, [0, 2, 0, 9])"),
    ("sum", "x: [m, n, k]f64", "sum(x * x, axis = (0, 2))"),
    ("mean", "x: [m, n]f64", "mean(x * x, axis = 0)"),
    ("prod", "x: [m, n]f64", "prod(x, axis = 1)"),
    ("max", "x: [m, n]f64", "max(x, axis = 0)"),
    ("max", "x: [m, n]f64, y: [n]f64", "max(x, y)"),
    ("min", "x: [m, n]f64", "min(x)"),
    ("logsumexp", "x: [m, n]f64", "logsumexp(x, axis = 1)"),
    ("softmax", "x: [m, n]f64", "softmax(x, axis = 0)"),
    ("norm", "x: [m, n]f64", "norm(x, axis = 0)"),
    ("cumsum", "x: [m, n]f64", "cumsum(x * x, axis = 1)"),
    ("cumprod", "x: [m, n]f64", "cumprod(x, axis = 0)"),
    ("segment_sum", "x: [n, m]f64", "segment_sum(x * x, iota(n) % 2, 3)"),
    ("segment_mean", "x: [n, m]f64", "segment_mean(x * x, iota(n) % 2, 1)"),
    ("segment_max", "x: [n, m]f64", "max(segment_max(x, 1 - iota(n) // 2, 3), 0.0)"),
    ("segment_min", "x: [n]f64", "min(segment_min(x, iota(n) % 2, 2), 9.0)"),
    ("segment_argmax", "x: [n]f64", "take(x, segment_argmax(x, iota(n) // 2, 3))"),
    ("segment_argmin", "x: [n]f64", "take(x, segment_argmin(x, iota(n) // 2, 3))"),
    ("argmax", "x: [n]f64", "x[argmax(x)]"),
    ("argmin", "x: [n]f64", "x[argmin(x)]"),
    ("sort", "x: [m, n]f64", "sort(x, axis = 0) * f64(iota(n))"),
    ("argsort", "x: [n]f64", "take(x, argsort(x))"),
    ("dot", "x: [n]f64, y: [n]f64", "dot(x, y)"),
    ("matmul", "x: [m, k]f64, y: [2, k, n]f64", "matmul(x, y)"),
    ("solve", "x: [n, n]f64, y: [2, n, k]f64", "solve(x + 3.0 * eye(n), y)"),
    ("solve_triangular", "x: [n, n]f64, y: [n]f64", "solve_triangular(x, y, lower = false)"),
    ("cholesky_solve", "x: [n, n]f64, y: [n]f64", "cholesky_solve(x, y)"),
    ("inverse", "x: [n, n]f64", "inverse(x + 3.0 * eye(n))"),
    ("det", "x: [n, n]f64", "det(x)"),
    ("det", "x: [4, 4]f64", "det(x + 3.0 * eye(4))"),
    ("slogdet", "x: [n, n]f64", "slogdet(x + 3.0 * eye(n)).1"),
    ("cholesky", "x: [n, m]f64", "cholesky(matmul(x, transpose(x)) + eye(n))"),
    ("solve_lower", "x: [n, n]f64, y: [n, k]f64", "solve_lower(x, y)"),
    ("solve_upper", "x: [n, n]f64, y: [n, k]f64", "solve_upper(x, y)"),
    ("solve_unit_lower", "x: [n, n]f64, y: [n, k]f64", "solve_unit_lower(x, y)"),
    ("solve_unit_upper", "x: [n, n]f64, y: [n, k]f64", "solve_unit_upper(x, y)"),
    ("lu_factors", "x: [n, n]f64", "lu_factors(x + 3.0 * eye(n))"),
    ("qr_q", "x: [n, n]f64", "qr_q(x + diag(9.0 * f64(iota(n) + 1)))"),
    ("qr_r", "x: [2, n, n]f64", "qr_r(x + diag(9.0 * f64(iota(n) + 1)))"),
    ("eigh_values", "x: [n, n]f64", "eigh_values(x + diag(9.0 * f64(iota(n) + 1)))"),
    ("eigh_vectors", "x: [n, n]f64", "eigh_vectors(x + diag(9.0 * f64(iota(n) + 1)))"),
    ("svd_left", "x: [n, n]f64", "svd_left(x + diag(9.0 * f64(iota(n) + 1)))"),
    ("svd_left", "x: [n, 2]f64, y: f64", "svd_left(concat(x, [[9.0 * y, 0.0], [0.0, 19.0]]))"),
    ("svd_values", "x: [n, n]f64", "svd_values(x + diag(9.0 * f64(iota(n) + 1)))"),
    ("svd_right", "x: [n, n]f64", "svd_right(x + diag(9.0 * f64(iota(n) + 1)))"),
    (
        "pinv_by",
        "x: [n, n]f64",
        "let a = x + 3.0 * eye(n) in pinv_by(a, svd_left(a), svd_values(a), svd_right(a))",
    ),
    ("lu", "x: [n, n]f64", "let f = lu(x + 3.0 * eye(n)) in matmul(f.0, 2.0 * f.1 + f.2)"),
    (
        "qr",
        "x: [m, n]f64",
        "let f = qr(x + 5.0 * eye([m, n])) in matmul(f.0, matmul(f.1, transpose(f.1)))",
    ),
    ("qr", "x: [2, 4]f64", "let f = qr(x + 5.0 * eye([2, 4])) in matmul(f.0, f.1 * f.1)"),
    ("eigh", "x: [n, n]f64", "let f = eigh(x + diag(9.0 * f64(iota(n) + 1))) in f.0 * f.1"),
    ("eigvalsh", "x: [2, n, n]f64", "eigvalsh(x)"),
    (
        "svd",
        "x: [2, n, n]f64",
        "let f = svd(x + diag(9.0 * f64(iota(n) + 1))) in matmul(f.0, f.2) * f.1[:, :, None]",
    ),
    ("svdvals", "x: [2, n, n]f64", "svdvals(x + diag(9.0 * f64(iota(n) + 1)))"),
    ("pinv", "x: [m, n]f64", "pinv(x + 4.0 * eye([m, n]))"),
    ("pinv", "x: [3]f64, y: [2]f64", "pinv(x[:, None] * y)"),
    ("lstsq", "x: [m, n]f64, y: [m, k]f64", "lstsq(x + 4.0 * eye([m, n]), y)"),
    ("lstsq", "x: [5, 2]f64, y: [5]f64", "lstsq(x + 4.0 * eye([5, 2]), y)"),
    ("matrix_norm", "x: [m, n]f64", "matrix_norm(x) + matrix_norm(x + 4.0 * eye([m, n]), nuc)"),
    ("matrix_norm", "x: [m, n]f64", "matrix_norm(x, `1`) + matrix_norm(x, `-inf`)"),
    ("cond_number", "x: [n, n]f64", "cond_number(x + diag(9.0 * f64(iota(n) + 1)))"),
    ("matrix_rank", "x: [n, n]f64", "x * f64(matrix_rank(x + 3.0 * eye(n)))"),
    ("expm", "x: [n, n]f64", "expm(x)"),
    ("expm", "x: [2, n, n]f64", "expm(-5.0 * x)"),
    ("lu_rows", "x: [n, n]f64", "x * f64(lu_rows(x + 3.0 * eye(n)))"),
    (
        "lu_solve",
        "x: [n, n]f64, y: [n, k]f64",
        "let a = x + 3.0 * eye(n) in lu_solve(a, lu_factors(a), lu_rows(a), y)",
    ),
    (
        "lu_solve_transposed",
        "x: [n, n]f64, y: [n, k]f64",
        "let a = x + 3.0 * eye(n) in lu_solve_transposed(a, lu_factors(a), lu_rows(a), y)",
    ),
    ("map", "x: [m, n]f64", "map(row => row / sum(row), x)"),
    ("fold", "x: [n]f64, y: f64", "fold(y, x, (s, c) => sin(s) * c + y)"),
    (
        "fold",
        "x: [n]f64, y: f64",
        "fold(y, x, (s, c) => sin(s) * c + y, length = i64(2.5 + 0.0 * y))",
    ),
    (
        "fold",
        "x: [n]f64, y: f64",
        "fold(y, x, (s, c) => sin(s) * c, length = i64(2.5 + 0.0 * y), reverse = true)",
    ),
    ("scan", "x: [n]f64, y: f64", "scan(y, x, (s, c) => sin(s) * c, length = i64(1.5 + 0.0 * y))"),
    ("scan", "x: [n]f64, y: f64", "scan(y, x, (s, c) => sin(s) * c, reverse = true)"),
    ("map_accum", "x: [n]f64", "map_accum(1.0, x, (s, c) => (s * c, s + c)).1"),
    (
        "while_loop",
        "x: [n]f64, y: f64",
        "while_loop((i, s) => i < n, (i, s) => (i + 1, sin(s) * x[i] + y), (0, y)).1",
    ),
    (
        "while_loop",
        "x: [n]f64",
        "while_loop(s => sum(s * s) > 0.3, s => 0.9 * s * x / (1.0 + x), x)",
    ),
    (
        "while_loop",
        "x: f64, y: f64",
        "while_loop((i, s) => i < 7, (i, s) => (i + 1, sin(s) * x + y), (0, y), at_most = 9, checkpoint = 2).1",
    ),
    (
        "while_accum",
        "x: [n]f64, y: f64",
        "while_accum((0, y), ((i, s)) => (i < n, (i + 1, sin(s) * x[i]), s * y), at_most = 4).1",
    ),
    ("grad", "x: [n]f64", "grad(y => sum(y * y * y) * x[0])(x)"),
    ("value_and_grad", "x: [n]f64", "let (v, g) = value_and_grad(y => sum(y * y * y))(x) in v * g"),
    ("vjp", "x: [n]f64", "vjp(y => sin(y))(x, x).1"),
    ("jvp", "x: [n]f64", "jvp(y => sin(y))(x, x).1"),
    ("linearize", "x: [n]f64", "(let (y, df) = linearize(y => sin(y), x) in y * df(x))"),
    ("jacobian", "x: [n]f64", "jacobian(y => sin(y) * sum(y))(x)"),
    ("jacrev", "x: [n]f64", "jacrev(y => build n (i => y[i] * y[n - 1 - i]))(x)"),
    ("jacfwd", "x: [n]f64", "jacfwd(y => build n (i => y[i] * y[n - 1 - i]))(x)"),
    ("hvp", "x: [n]f64", "hvp(y => sum(exp(y)) * y[0])(x, x)"),
    ("hessian", "x: [n]f64", "hessian(y => sum(build n (i => y[i] * y[n - 1 - i] * y[i])))(x)"),
    ("custom_vjp", "x: [n]f64", "custom_vjp(x => x * x, (x, ct) => 2.0 * x * ct, x)"),
    ("custom_jvp", "x: [n]f64", "custom_jvp(x => x * x, (x, dx) => 2.0 * x * dx, x)"),
    (
        "with_vjp",
        "x: [n]f64",
        "with_vjp((x,), (x,), ((x,), (ct,)) => ((x * x,), (2.0 * x * ct,))).0",
    ),
    (
        "with_jvp",
        "x: [n]f64",
        "with_jvp((x,), (x,), ((x,), (dx,)) => ((x * x,), (2.0 * x * dx,))).0",
    ),
    ("f64", "x: [n]f64", "f64(x) * x"),
    ("clamp", "x: [n]f64", "clamp(x, 0.8, 1.6) * x"),
    ("square", "x: [n]f64", "square(x)"),
    ("relu", "x: [n]f64", "relu(x - 1.0) * x"),
    ("sigmoid", "x: [n]f64", "sigmoid(x)"),
    ("maximum", "x: [n]f64, y: f64", "maximum(x, y)"),
    ("minimum", "x: [n]f64, y: f64", "minimum(x, y)"),
    ("pi", "x: [n]f64", "sin(pi * x)"),
    ("cond", "x: f64, y: f64", "cond(x > y, x * y, y)"),
    ("sum_outer", "x: [m, n]f64", "sum_outer(x * x)"),
    ("segment_argmax_outer", "x: [n]f64", "take(x, segment_argmax_outer(x, iota(n) // 2, 3))"),
    ("segment_argmin_outer", "x: [n]f64", "take(x, segment_argmin_outer(x, iota(n) // 2, 3))"),
    ("gather", "x: [n]f64", "gather(x, [2, n], (i, j) => [j - i])"),
    ("scatter", "x: [m, n]f64", "scatter(x, [3], (i, j) => [(i + j) // 2])"),
    ("stack", "x: [n]f64, y: [n]f64", "stack(x, y, x * y)"),
    ("replicate", "x: [n]f64", "replicate(x, 3)"),
    ("transpose", "x: [m, n, k]f64", "transpose(x, [2, 0, 1])"),
    ("reshape", "x: [m, n]f64", "reshape(x, [n, m])"),
    ("iota", "x: [n]f64", "x * f64(iota(n))"),
    ("one_hot", "x: [n]f64", "one_hot(x, [2, 3], [1, 2])"),
    ("argmax_outer", "x: [n]f64", "x[argmax_outer(x)]"),
    ("argmin_outer", "x: [n]f64", "x[argmin_outer(x)]"),
    ("argsort_outer", "x: [n]f64", "take(x, argsort_outer(x))"),
    ("arange", "x: [n]f64", "x[0] * arange(0.5, 2.0, 0.5)"),
    ("linspace", "x: f64, y: f64", "linspace(x, y, 4)"),
    ("tri", "x: [m, n]f64", "x * tri(m, n)"),
    ("zeros_like", "x: [n]f64", "x + zeros_like(x)"),
    ("ones_like", "x: [n]f64", "x * ones_like(x)"),
    ("full_like", "x: [n]f64, y: f64", "x * full_like(x, y)"),
    ("take_along", "x: [2, m]f64", "take_along(x, [[0], [5]], axis = -1)"),
    ("tile", "x: [m, n]f64", "tile(x, [2, 3])"),
    ("repeat", "x: [m, n]f64", "repeat(x, 2, axis = 1)"),
    ("roll", "x: [m, n]f64", "roll(x, 3, axis = 1) * x"),
    ("rot90", "x: [m, n]f64", "rot90(x, 3)"),
    ("permute", "x: [m, n, k]f64", "permute(x, [1, 2, 0])"),
    ("swap_axes", "x: [m, n, k]f64", "swap_axes(x, 0, -1)"),
    ("move_axis", "x: [m, n, k]f64", "move_axis(x, 0, -1)"),
    ("expand_dims", "x: [m, n]f64", "expand_dims(x, (0, -1))"),
    ("squeeze", "x: [1, n]f64", "squeeze(x, 0)"),
    ("diagonal", "x: [m, n]f64", "diagonal(x)"),
    ("diag", "x: [n]f64", "diag(x, k = -1)"),
    ("tril", "x: [m, n]f64", "tril(x, k = 1)"),
    ("triu", "x: [m, n]f64", "triu(x)"),
    ("split", "x: [4, n]f64", "let (a, b) = split(x, [1, 3]) in a * b"),
    ("meshgrid", "x: [n]f64, y: [m]f64", "let (a, b) = meshgrid(x, y) in a * b"),
    ("masked_fill", "x: [3]f64, y: f64", "masked_fill(x, [true, false, true], y)"),
    ("pad", "x: [m, n]f64", "pad(x, [1, 2])"),
    ("pad", "x: [3]f64", "pad(x, 2, mode = reflect) * pad(x, 2, mode = symmetric)"),
    ("pad", "x: [3]f64", "pad(x, 2, mode = wrap) * pad(x, 2, mode = edge)"),
    ("pad_with", "x: [m, n]f64, y: f64", "pad_with(x, 1, y)"),
    ("sliding_window", "x: [4, n]f64", "sliding_window(x, 2)"),
    ("var", "x: [3, n]f64", "var(x, axis = 0, ddof = 1)"),
    ("std", "x: [3, n]f64", "std(x, axis = 0)"),
    ("median", "x: [4, n]f64", "median(x, axis = 0, keep = true)"),
    ("quantile", "x: [4]f64", "quantile(x, 0.3)"),
    ("norm", "x: [m, n]f64", "norm(x, axis = 1, p = 3) + norm(x, p = inf)"),
    ("log_softmax", "x: [m, n]f64", "log_softmax(x, axis = (0, 1))"),
    ("cumsum", "x: [m, n]f64", "cumsum(x * x, reverse = true)"),
    ("cummax", "x: [m, n]f64", "cummax(x)"),
    ("cummin", "x: [m, n]f64", "cummin(x, axis = 1)"),
    ("cumlogsumexp", "x: [m, n]f64", "cumlogsumexp(x, axis = -1)"),
    ("diff", "x: [4, n]f64", "diff(x)"),
    ("logaddexp", "x: [m, n]f64, y: [n]f64", "logaddexp(x, y)"),
    ("hypot", "x: [m, n]f64, y: [n]f64", "hypot(x, y)"),
    ("top_k", "x: [4]f64", "top_k(x, 2).0"),
    ("sort_by_key", "x: [n]f64", "sort_by_key(x, -iota(n)) * f64(iota(n))"),
    ("vecdot", "x: [m, n]f64, y: [n]f64", "vecdot(x, y)"),
    ("inner", "x: [m, n]f64, y: [k, n]f64", "inner(x, y)"),
    ("outer", "x: [m]f64, y: [n]f64", "outer(x, y)"),
    ("kron", "x: [m, 2]f64, y: [n]f64", "kron(x, y)"),
    ("cross", "x: [m, 3]f64, y: [3]f64", "cross(x, y)"),
    ("tensordot", "x: [m, n, k]f64, y: [n, m]f64", "tensordot(x, y, [0, 1], [1, 0])"),
    ("matrix_power", "x: [n, n]f64", "matrix_power(x, 3)"),
    ("einsum", "x: [m, n]f64, y: [n, k]f64", "einsum(`ij,jk->ki`, x, y)"),
    ("einsum", "x: [n, n]f64", "einsum(`ii->i`, x)"),
    ("trace", "x: [2, n, n]f64", "trace(x)"),
    ("leaky_relu", "x: [n]f64, y: f64", "leaky_relu(x - 1.0, y)"),
    ("elu", "x: [n]f64, y: f64", "elu(x - 1.0, y)"),
    ("selu", "x: [n]f64", "selu(x - 1.0)"),
    ("gelu", "x: [n]f64", "gelu(x - 1.0)"),
    ("gelu_tanh", "x: [n]f64", "gelu_tanh(x - 1.0)"),
    ("silu", "x: [n]f64", "silu(x - 1.0)"),
    ("softplus", "x: [n]f64", "softplus(x - 1.0)"),
    ("softsign", "x: [n]f64", "softsign(x - 1.0)"),
    ("hard_tanh", "x: [n]f64", "hard_tanh(x - 1.0)"),
    ("log_sigmoid", "x: [n]f64", "log_sigmoid(x - 1.0)"),
    ("mish", "x: [n]f64", "mish(x - 1.0)"),
    ("reduce", "x: [m, n]f64", "reduce(ones([n]), x, (a, b) => a * b)"),
    ("reduce", "x: [n]f64, y: f64", "reduce(0.0, x, (a, b) => a + b + y * a * b)"),
    (
        "reduce",
        "x: [n, 2, 2]f64",
        "reduce(eye(2), x, (a, b) => matmul(a, b)) + reduce(zeros([2, 2]), x, max)",
    ),
    (
        "reduce",
        "x: [n]f64, y: [n]f64",
        "let (a, b) = reduce((1.0, 0.0), (x, y), ((a, b), (c, d)) => (a * c, b * c + d)) in a * b",
    ),
    ("associative_scan", "x: [n]f64, y: f64", "associative_scan(x, (a, b) => a + b + y * a * b)"),
    (
        "associative_scan",
        "x: [n]f64, y: [n]f64",
        "associative_scan((x, y), ((a, b), (c, d)) => (a * c, b * c + d), reverse = true).1",
    ),
    ("associative_scan", "x: [m, n]f64", "associative_scan(x, mul) * associative_scan(x, max)"),
    ("reduce_by_index", "x: [n]f64", "reduce_by_index(1.0, 3, iota(n) % 2, x, (a, b) => a * b)"),
    (
        "reduce_by_index",
        "x: [n]f64, y: f64",
        "reduce_by_index(0.0, 2, iota(n) // 2, x, (a, b) => a + b + y * a * b)",
    ),
    (
        "reduce_by_index",
        "x: [n, m]f64, y: [n]f64",
        "reduce_by_index((zeros([m]), 1.0), 2, iota(n) % 3, (x, y), ((a, b), (c, d)) => (a + c, b * d)).0",
    ),
    ("partition", "x: [3, n]f64", "partition(x, [false, true, false]).0"),
    ("glu", "x: [m, 4]f64", "glu(x)"),
    ("standardize", "x: [m, 3]f64", "standardize(x)"),
    ("layer_norm", "x: [m, 3]f64, y: [3]f64, z: [3]f64", "layer_norm(x, y, z)"),
    ("rms_norm", "x: [m, 3]f64, y: [3]f64", "rms_norm(x, y)"),
    ("batch_norm", "x: [3, n]f64, y: [n]f64, z: [n]f64", "batch_norm(x, y, z).0"),
    (
        "batch_norm_with",
        "x: [m, n]f64, a: [n]f64, b: [n]f64, y: [n]f64, z: [n]f64",
        "batch_norm_with(x, a, b, y, z)",
    ),
    ("dropout", "x: [3]f64", "dropout(x, [true, false, true], 0.25)"),
    ("attention", "q: [m, 2]f64, k: [n, 2]f64, v: [n, 3]f64", "attention(q, k, v)"),
    (
        "attention",
        "q: [m, 2]f64, k: [m, 2]f64, v: [m, 3]f64",
        "attention(q, k, v, mask = causal_mask(m, m))",
    ),
    ("embedding", "x: [m, n]f64", "embedding(x, [0, 3, 0])"),
    ("conv", "x: [1, 2, 5]f64, y: [3, 2, 2]f64", "conv(x, y, stride = 2, padding = 1)"),
    ("conv", "x: [1, 4, 3, 3]f64, y: [2, 2, 2, 2]f64", "conv(x, y, groups = 2, same = true)"),
    ("conv_transpose", "x: [1, 2, 3]f64, y: [2, 1, 2]f64", "conv_transpose(x, y, stride = 2)"),
    ("max_pool", "x: [m, 4]f64", "max_pool(x, 2, stride = 1, padding = 1)"),
    ("avg_pool", "x: [m, 4]f64", "avg_pool(x, 3, same = true, count_padding = false)"),
    ("global_avg_pool", "x: [m, n, 3]f64", "global_avg_pool(x)"),
    ("global_max_pool", "x: [m, n, 3]f64", "global_max_pool(x)"),
    ("squared_error", "x: [n]f64, y: [n]f64", "squared_error(x, y)"),
    ("mse", "x: [n]f64, y: [n]f64", "mse(x, y)"),
    ("absolute_error", "x: [n]f64, y: [n]f64", "absolute_error(x, y)"),
    ("mae", "x: [n]f64, y: [n]f64", "mae(x, y)"),
    ("huber", "x: [n]f64, y: [n]f64", "huber(x, y, delta = 0.4)"),
    ("smooth_l1", "x: [n]f64, y: [n]f64", "smooth_l1(x, y, beta = 0.4)"),
    ("hinge", "x: [n]f64, y: [n]f64", "hinge(x, y - 1.0)"),
    ("cosine_similarity", "x: [m, n]f64, y: [n]f64", "cosine_similarity(x, y)"),
    (
        "binary_cross_entropy_with_logits",
        "x: [n]f64, y: [n]f64",
        "binary_cross_entropy_with_logits(x, y / 3.0)",
    ),
    ("binary_cross_entropy", "x: [n]f64, y: [n]f64", "binary_cross_entropy(x / 3.0, y / 3.0)"),
    ("cross_entropy", "x: [2, 3]f64", "cross_entropy(x, [2, 0])"),
    ("nll", "x: [2, 3]f64", "nll(log(x), [2, 0])"),
    (
        "cross_entropy_with_probabilities",
        "x: [m, n]f64, y: [m, n]f64",
        "cross_entropy_with_probabilities(x, y)",
    ),
    ("kl_divergence", "x: [m, n]f64, y: [m, n]f64", "kl_divergence(x, y)"),
    ("fft", "x: [n]f64, y: [n]f64", "let z = fft({re = x, im = y}) in z.re + 2.0 * z.im"),
    ("ifft", "x: [n]f64, y: [n]f64", "let z = ifft({re = x, im = y}) in z.re * z.im"),
    ("fftn", "x: [m, n]f64", "let z = fftn(x) in z.re + 2.0 * z.im"),
    ("ifftn", "x: [m, n]f64, y: [m, n]f64", "ifftn({re = x, im = y}).im"),
    ("fft2", "x: [2, m, n]f64", "fft2(x).re"),
    ("ifft2", "x: [m, n]f64, y: [m, n]f64", "ifft2({re = x, im = y}).re"),
    ("rfft", "x: [n]f64", "let z = rfft(x) in z.re * z.im + z.re"),
    ("irfft", "x: [3]f64, y: [3]f64", "irfft({re = x, im = y}, 5)"),
    ("fftshift", "x: [m, n]f64", "x * fftshift(x)"),
    ("ifftshift", "x: [m, n]f64", "x * ifftshift(x)"),
    ("convolve", "x: [n]f64, y: [m]f64", "convolve(x, y)"),
    ("convolve", "x: [n]f64, y: [m]f64", "convolve(x, y, mode = same, method = fft)"),
    ("root", "x: f64, y: f64", "root(z => z * z * z + y * z - x, 1.0)"),
    ("fixed_point", "x: f64", "fixed_point(z => 0.3 * cos(z) + x, 1.0, tolerance = 1e-14)"),
    ("minimize", "x: f64, y: f64", "minimize(z => (z - x) ** 2 + 0.1 * y * z ** 4, 1.0)"),
    ("cg", "x: [n]f64, y: [n]f64", "cg(v => y * v, x, tolerance = 1e-13)"),
    ("bicgstab", "x: [n]f64, y: [n]f64", "bicgstab(v => y * v, x, tolerance = 1e-13)"),
    ("gmres", "x: [n]f64, y: [n]f64", "gmres(v => y * v, x, tolerance = 1e-13)"),
    ("odeint", "x: f64, y: f64", "odeint((t, z) => -x * z * z, y, [0.0, 0.5, 1.0], method = rk4)"),
    ("quadrature", "x: f64, y: f64", "quadrature(t => exp(-x * t), 0.0, y)"),
    ("gauss_legendre", "x: f64, y: f64", "gauss_legendre(t => exp(-x * t), 0.0, y)"),
    (
        "jet",
        "x: [n]f64, y: [n]f64",
        "let (value, series) = jet(z => sin(z * z), 2)(x, y) in value + series[0] + series[1]",
    ),
    ("laplacian", "x: [n]f64", "laplacian(z => sum(z * z * z * z))(x)"),
    (
        "with_equation",
        "x: f64",
        "with_equation((x,), (0.0, 0.0), ((p,), (z, r)) => ((sqrt(p),), (z * z - p, r / (2.0 * z), r / (2.0 * z)))).0",
    ),
    ("checkpoint", "x: [n]f64", "checkpoint(z => sin(z) * z)(x)"),
    ("with_checkpoint", "x: [n]f64", "with_checkpoint((x,), ((z,)) => (sin(z) * z,)).0"),
    ("dft", "x: [m, 2, n]f64", "dft(x)"),
    ("dft_conjugate", "x: [m, 2, n]f64", "dft_conjugate(x)"),
];

/// Builtins whose results have no derivatives, or none to speak of.
const DISCRETE: &[(&str, &str)] = &[
    ("any", "of truth values"),
    ("all", "of truth values"),
    ("i64", "to integers"),
    ("bool", "to truth values"),
    ("f32", "differences in single precision say little"),
    ("empty", "without elements"),
    ("count_nonzero", "to integers"),
    ("expand", "of integers"),
    ("searchsorted", "to integers"),
    ("bincount", "of integers"),
    ("one_hot_of", "of integers"),
    ("causal_mask", "of sizes"),
    ("fftfreq", "of sizes"),
    ("rfftfreq", "of sizes"),
    ("is_nan", "to truth values"),
    ("is_inf", "to truth values"),
    ("is_finite", "to truth values"),
];

fn program(text: &str, function: &str, sizes: &[(&str, usize)]) -> Program {
    let modules = load_text("smooth.ct", text).unwrap_or_else(|e| panic!("{text}\n{e}"));
    let made = instantiate(&modules, function, &[], sizes, &Default::default());
    made.unwrap_or_else(|e| panic!("{text}\n{e}")).program
}

fn run(program: &Program, inputs: &[Value]) -> Vec<Value> {
    Interp::new(program).run(inputs).expect("the program runs").outputs
}

fn real(x: Scalar) -> f64 {
    match x {
        Scalar::F64(x) => x,
        other => panic!("{other:?}"),
    }
}

/// Holds the gradient of `sum(sin(body))` by all parameters against differences.
fn check(params: &str, body: &str, sizes: &[(&str, usize)], mut draw: impl FnMut(usize) -> f64) {
    // What stands before a colon: types have none.
    let before: Vec<&str> = params.split(": ").collect();
    let names: Vec<&str> =
        before[..before.len() - 1].iter().filter_map(|part| part.split(' ').next_back()).collect();
    let all = names.join(", ");
    let text = format!(
        "def loss({params}): f64 = sum(sin({body}))\ndef it({params}) = grad(loss)({all})\n"
    );
    let used: Vec<(&str, usize)> = sizes
        .iter()
        .copied()
        .filter(|(name, _)| {
            let inside = |part: &str| part.split([',', ' ']).any(|word| word == *name);
            params.split(['[', ']']).skip(1).step_by(2).any(inside)
        })
        .collect();
    let (loss, gradient) = (program(&text, "loss", &used), program(&text, "it", &used));
    let types: Vec<_> = loss.inputs().iter().map(|input| input.ty.clone()).collect();
    let inputs: Vec<Value> = types
        .iter()
        .enumerate()
        .map(|(k, ty)| Value::from_fn(ty.clone(), |_| Scalar::F64(draw(k))).expect("a value"))
        .collect();
    let value = |inputs: &[Value]| real(run(&loss, inputs)[0].elements()[0]);
    let found = run(&gradient, &inputs);
    assert_eq!(found.len(), inputs.len(), "{text}");
    for (k, slope) in found.iter().enumerate() {
        for n in 0..inputs[k].elements().len() {
            let at = |h: f64| {
                let mut moved = inputs.clone();
                let mut elements = inputs[k].elements().to_vec();
                elements[n] = Scalar::F64(real(elements[n]) + h);
                moved[k] = Value::new(types[k].clone(), elements).expect("a value");
                value(&moved)
            };
            let difference = |h: f64| (at(h) - at(-h)) / (2.0 * h);
            let h = 1e-4;
            let expected = (4.0 * difference(h / 2.0) - difference(h)) / 3.0;
            let slope = real(slope.elements()[n]);
            assert!(
                (slope - expected).abs() <= 1e-7 * expected.abs().max(1.0),
                "{text}sizes {used:?}: by {} at {n}: {slope}, but differences give {expected}",
                names[k]
            );
        }
    }
}

#[test]
fn every_builtin_is_differentiated_as_differences_say() {
    let mut rng = Rng::new(7);
    for (name, params, body) in CASES {
        assert!(body.contains(name), "{name}");
        for _ in 0..4 {
            let sizes = ["m", "n", "k"].map(|size| (size, 1 + rng.below(4)));
            check(params, body, &sizes, |_| {
                0.5 + 1.5 * rng.below(1 << 20) as f64 / (1 << 20) as f64
            });
        }
    }
}

#[test]
fn the_table_names_every_builtin() {
    let other_name = |doc: &str| doc.starts_with("Another name for");
    for builtin in builtins().iter().filter(|b| b.group != Group::Scalar && !other_name(&b.doc)) {
        let tested = CASES.iter().any(|(name, ..)| *name == builtin.name);
        let discrete = DISCRETE.iter().any(|(name, _)| *name == builtin.name);
        assert!(tested != discrete, "{}", builtin.name);
    }
}

#[test]
fn every_scalar_operation_is_differentiated_as_differences_say() {
    let mut rng = Rng::new(11);
    for op in Op::all() {
        let floats: &[bool] = match op.row().rule {
            Rule::Real1(..) | Rule::Numeric1(..) | Rule::Cast(cotan_array::Dtype::F64) => &[true],
            Rule::Real2(..) | Rule::Numeric2(..) => &[true, true],
            Rule::RealInt(..) => &[true, false],
            Rule::IntReal(_) => &[false, true],
            Rule::Select
            | Rule::Compare(_)
            | Rule::Logic1(..)
            | Rule::Logic2(..)
            | Rule::Int1(_)
            | Rule::Int2(_)
            | Rule::ToBits
            | Rule::FromBits
            | Rule::Cast(_) => {
                continue;
            }
        };
        // Constant by definition.
        if op == Op::StopGradient {
            continue;
        }
        let names = ["a", "b"];
        let params: Vec<String> = names
            .iter()
            .zip(floats)
            .filter(|(_, float)| **float)
            .map(|(n, _)| format!("{n}: [n]f64"))
            .collect();
        let args: Vec<&str> =
            names.iter().zip(floats).map(|(name, float)| if *float { name } else { "2" }).collect();
        let domains: Vec<Domain> = op
            .row()
            .domains
            .iter()
            .zip(floats)
            .filter(|(_, float)| **float)
            .map(|(d, _)| *d)
            .collect();
        let body = format!("{}({})", op.name(), args.join(", "));
        for _ in 0..3 {
            check(&params.join(", "), &body, &[("n", 3)], |k| {
                let unit = rng.below(1 << 20) as f64 / (1 << 20) as f64;
                let sign = if rng.below(2) == 0 { 1.0 } else { -1.0 };
                match domains[k] {
                    Domain::Any => 4.0 * unit - 2.0,
                    Domain::Positive | Domain::SmallNatural => 0.5 + 1.5 * unit,
                    Domain::NonZero => sign * (0.5 + 1.5 * unit),
                    Domain::Unit => 1.6 * unit - 0.8,
                    Domain::AboveOne => 1.2 + unit,
                    Domain::BetweenSteps => sign * (0.1 + 0.3 * unit + rng.below(3) as f64),
                }
            });
        }
    }
}
