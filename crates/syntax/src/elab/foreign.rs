//! Names of other languages and libraries, with what to write here: **one table**.
//!
//! People who come from NumPy, JAX, PyTorch, Python, Julia, Haskell or Futhark type what they know.
//! The nearest spelling of a builtin would be no help to them: `clip` is not `ceil`.

/// Names that mean the same, separated by spaces, and what to write instead. Code stands between
/// backquotes, and is an expression of the language (the tests parse it).
const NAMES: &[(&str, &str)] = &[
    // Modules.
    (
        "np numpy jnp jax torch lax tf math nn Math scipy Base",
        "functions are written without a module: `sum(x)`, `exp(x)`, `grad(f)`",
    ),
    // Making arrays.
    ("range", "write `iota(n)` for the integers from 0, `f64(iota(n))` for floats"),
    ("array asarray tensor Tensor vec vector list fromlist", "an array is written `[1.0, 2.0]`"),
    ("zerosLike", "write `zeros(shape(x))`"),
    ("fill", "write `full(shape(x), v)`"),
    ("empty_like", "there is no memory without values: write `zeros(shape(x))`"),
    ("identity", "write `eye(n)` for the unit matrix, `x => x` for the function"),
    ("tabulate generate", "write `build n (i => f(i))`"),
    (
        "rand randn random normal uniform seed PRNGKey",
        "programs draw no random numbers: pass them as an argument, `noise: [n]f64`",
    ),
    // Arranging.
    ("cat hstack append", "write `concat(a, b)`, with `axis = k` along another axis"),
    ("vstack", "write `stack(a, b)` for a new axis, `concat(a, b)` along the first one"),
    ("view resize", "write `reshape(a, [m, n])`"),
    ("T", "write `transpose(a)` or `transpose(a, [1, 0])`"),
    ("newaxis", "write `x[:, None]` or `x[None]`"),
    ("reversed fliplr flipud rev", "write `reverse(a)` or `reverse(a, axis = 1)`"),
    ("rotate circshift", "write `roll(x, k)`"),
    ("chunk", "write `split(x, k)`, or take slices: `x[:k]`, `x[k:]`"),
    ("index_select gather_nd", "write `take(a, ix)`, or `build n (i => a[i, ix[i]])`"),
    ("dynamic_slice", "write `x[i : i + 3]`: the length of a slice is static"),
    (
        "histogram scatter_add index_add hist",
        "write `segment_sum(x, ix, bins)`, or `bincount(ix, bins)` to count",
    ),
    (
        "segment_prod scatter_max scatter_min scatter_reduce index_reduce",
        "write `segment_max(x, ix, bins)`, `segment_min` or `segment_sum`",
    ),
    ("head first", "write `xs[0]`"),
    ("last", "write `xs[-1]`"),
    ("tail", "write `xs[1:]`"),
    ("drop", "write `xs[k:]`"),
    ("length numel nelements", "write `len(a)` for the outermost size, `size(a)` for all elements"),
    ("ndim rank ndims dims", "write `shape(a)`, the tuple of all sizes"),
    ("fst", "write `t.0`"),
    ("snd", "write `t.1`"),
    // Reductions.
    ("foldl foldl1 accumulate", "write `fold(0.0, xs, (s, x) => s + x)`; sums are `sum(xs)`"),
    ("foldr", "write `fold(0.0, xs, (s, x) => s + x, reverse = true)`"),
    ("scanl", "write `scan(0.0, xs, (s, x) => s + x)`"),
    ("amax nanmax", "write `max(x, axis = 0)`"),
    ("amin nanmin", "write `min(x, axis = 0)`"),
    ("nansum", "write `sum(where(x == x, x, 0.0))`"),
    ("average", "write `mean(x)`"),
    ("stdev", "write `std(x)`"),
    ("tr", "write `trace(a)`"),
    // Products.
    ("vdot", "write `dot(a, b)`"),
    ("mm bmm mv", "write `matmul(a, b)`"),
    ("correlate", "write `build n (i => sum(build k (j => x[i + j] * w[j])))`"),
    ("inv", "write `inverse(a)`, or `solve(a, b)` for systems"),
    ("cho_solve solve_cholesky", "write `cholesky_solve(l, b)`"),
    ("logdet", "write `slogdet(a)`, a pair of the sign and the logarithm"),
    // Elementwise.
    ("absolute fabs", "write `abs(x)`"),
    ("sgn signum", "write `sign(x)`"),
    ("power", "write `a ** b`"),
    ("sqr", "write `square(x)`"),
    ("rsqrt", "write `1.0 / sqrt(x)`"),
    ("reciprocal", "write `1.0 / x`"),
    ("ln", "write `log(x)`"),
    ("expit", "write `sigmoid(x)`"),
    ("arcsin", "write `asin(x)`"),
    ("arccos", "write `acos(x)`"),
    ("arctan", "write `atan(x)`"),
    ("arctan2", "write `atan2(y, x)`"),
    ("arcsinh", "write `asinh(x)`"),
    ("arccosh", "write `acosh(x)`"),
    ("arctanh", "write `atanh(x)`"),
    ("gammaln loggamma", "write `lgamma(x)`"),
    ("psi", "write `digamma(x)`"),
    ("ceiling", "write `ceil(x)`"),
    ("rint", "write `round(x)`"),
    ("fix truncate", "write `trunc(x)`"),
    ("multiply times", "write `a * b`"),
    ("subtract minus", "write `a - b`"),
    ("divide true_divide truediv", "write `a / b`; integers are divided by `a // b`"),
    ("floor_divide quot", "write `a // b`"),
    ("mod fmod remainder", "write `a % b`"),
    ("negative negate", "write `-x`"),
    ("equal", "write `a == b`"),
    ("not_equal", "write `a != b`"),
    ("greater", "write `a > b`"),
    ("greater_equal", "write `a >= b`"),
    ("less", "write `a < b`"),
    ("less_equal", "write `a <= b`"),
    ("nan_to_num", "write `where(x == x, x, 0.0)`"),
    ("ifelse select", "write `if c then a else b`, or `where(c, a, b)` element by element"),
    ("tau", "write `2.0 * pi`"),
    ("e euler E", "write `exp(x)`, or `exp(1.0)` for the number"),
    ("Inf Infinity infinity infty", "write `inf`"),
    ("NAN", "write `nan`"),
    ("True", "write `true`"),
    ("False", "write `false`"),
    (
        "None null nil Nothing",
        "there is no such value: leave the argument out, or pass a `bool` with it",
    ),
    ("eps epsilon", "write the number: `2.220446049250313e-16` for f64"),
    // Conversions and types.
    ("float double float64 Float64 real fromIntegral", "write `f64(x)`"),
    (
        "float32 Float32 single half float16 f16 bfloat16",
        "write `f32(x)`: floats are `f64` and `f32`",
    ),
    (
        "int int64 Int64 long integer Int int32 Int32 i32 i16 i8 u8 u16 u32 u64 uint8 toInt",
        "write `i64(x)`: integers are `i64`",
    ),
    ("boolean Bool", "write `bool(x)`"),
    ("astype cast convert", "write `f64(x)`, `f32(x)`, `i64(x)` or `bool(x)`"),
    ("str string print println show format", "programs have no text: what they return is printed"),
    // Functions and loops.
    ("jit compile njit", "every program is compiled before it runs: just call `f(x)`"),
    ("vmap pmap map1 fmap", "write `map(f, xs)`, or `build n (i => f(xs[i]))`"),
    (
        "for while loop repeat_until until iterate",
        "write `build n (i => f(i))`, `fold(init, xs, (s, x) => s + x)` or `while_loop(c, f, init)`",
    ),
    ("return yield", "a body is one expression, whose value is the result"),
    ("switch case match", "write `if c then a else if d then b else e`"),
    ("zip zipWith zip_with map2 map3 vectorize", "write `map((x, y) => x + y, xs, ys)`"),
    ("enumerate", "write `map((i, x) => f(i, x), iota(n), xs)`"),
    ("filter nonzero argwhere", "sizes are static: keep all and mask, `where(x > 0.0, x, 0.0)`"),
    ("fori_loop for_loop foreach", "write `fold(init, iota(n), (s, i) => f(s, i))`"),
    ("lambda fn fun function", "a function is written `x => x + 1`"),
    ("begin", "names are bound by `let x = 1 in x + 1`"),
    ("elif elseif elsif", "write `if a then x else if b then y else z`"),
    ("reduce_comm", "write `reduce(init, xs, f)`"),
    ("compose", "write `x => f(g(x))`"),
    // Derivatives.
    ("gradient derivative deriv autograd", "write `grad(f)(x)`"),
    ("jac", "write `jacobian(f)(x)`"),
    ("pullback vjp2 backward", "write `vjp(f)(x, cotangent)`"),
    ("pushforward jvp2", "write `jvp(f)(x, tangent)`"),
    (
        "requires_grad requires_grad_",
        "write `grad(f)(x)`: derivatives are with respect to arguments",
    ),
    ("detach no_grad stop_grad", "write `stop_gradient(x)`"),
    ("remat", "write `checkpoint(f)(x)`"),
];

/// Likewise for names of types.
const TYPES: &[(&str, &str)] = &[
    ("float double float64 Float64 Float Double real Real number", "write `f64`"),
    ("float32 Float32 single half float16 f16 bfloat16", "write `f32`: floats are `f64` and `f32`"),
    (
        "int int64 Int64 long integer Int Integer int32 Int32 i32 i16 i8 u8 u16 u32 u64 uint8 nat",
        "write `i64`: integers are `i64`",
    ),
    ("boolean Bool Boolean", "write `bool`"),
    (
        "array Array ndarray tensor Tensor list List Vec vector Vector matrix Matrix",
        "an array type is written `[n]f64`, `[m, n]f64`",
    ),
    ("str string String char", "programs have no text"),
    ("complex Complex complex128", "a complex number is a record: `{re: f64, im: f64}`"),
];

/// What to write instead of a name that other languages know.
pub(crate) fn advice(name: &str) -> Option<&'static str> {
    look_up(NAMES, name)
}

/// What to write instead of a type that other languages know.
pub(crate) fn type_advice(name: &str) -> Option<&'static str> {
    look_up(TYPES, name)
}

/// Names of parameters that mean the same, the parameter here that takes their place, and advice where
/// there is none.
const PARAMS: &[(&str, &str, &str)] = &[
    ("dim axes dims", "axis", ""),
    ("keepdims keepdim", "keep", ""),
    ("argnums argnum", "wrt", ""),
    ("has_aux", "aux", ""),
    ("dtype", "", "convert the result: `f32(x)`"),
    ("maxiter max_iter max_steps", "at_most", ""),
];

/// What to write instead of a parameter of another language or library, to a builtin with these
/// parameters.
pub(crate) fn param_advice(name: &str, params: &[&str]) -> Option<String> {
    let known = |names: &str| names.split(' ').any(|known| known == name);
    let (_, here, advice) = PARAMS.iter().find(|(names, ..)| known(names))?;
    if params.contains(here) {
        return Some(format!("it is called `{here}` here"));
    }
    (!advice.is_empty()).then(|| (*advice).to_owned())
}

fn look_up(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    let row = table.iter().find(|(names, _)| names.split(' ').any(|known| known == name));
    row.map(|(_, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elab::library;
    use cotan_ir::FileId;
    use rustc_hash::FxHashSet;

    fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
        NAMES.iter().flat_map(|(names, advice)| names.split(' ').map(move |name| (name, *advice)))
    }

    #[test]
    fn every_name_is_foreign_and_stands_once() {
        let mut seen = FxHashSet::default();
        for (name, _) in names() {
            assert!(seen.insert(name), "{name} twice");
            assert!(library::find(name).is_none(), "{name} is a builtin");
            assert!(crate::lex::is_plain_name(name), "{name} is no name");
            assert!(advice(name).is_some(), "{name}");
        }
        assert!(seen.len() > 150, "{}", seen.len());
    }

    #[test]
    fn advice_on_types_is_a_type() {
        for (names, advice) in TYPES {
            assert!(names.split(' ').all(|name| type_advice(name).is_some()), "{names}");
            for code in advice.split('`').skip(1).step_by(2) {
                let parsed = crate::parse(FileId(0), &format!("type T = {code}"));
                assert!(parsed.diagnostics.is_empty(), "{code}\n{}", parsed.diagnostics);
            }
        }
        assert_eq!(type_advice("f64"), None);
    }

    #[test]
    fn parameters_of_others_are_explained_where_they_make_sense() {
        let is_param = |name: &str| {
            let words = |text: &str| {
                text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == name)
            };
            library::builtins().iter().any(|builtin| words(&builtin.signature))
        };
        for (names, here, advice) in PARAMS {
            assert!(here.is_empty() != advice.is_empty(), "{names}");
            assert!(here.is_empty() || is_param(here), "{here} is no parameter");
        }
        assert_eq!(param_advice("dim", &["a", "axis"]).unwrap(), "it is called `axis` here");
        assert_eq!(param_advice("dim", &["a"]), None);
        assert_eq!(param_advice("keepdims", &["x", "keep"]).unwrap(), "it is called `keep` here");
    }

    /// Code in advice parses, and calls only what exists.
    #[test]
    fn advice_is_in_the_language() {
        for (name, advice) in names() {
            for code in advice.split('`').skip(1).step_by(2) {
                if code == "bool" || code.starts_with("axis =") || code.starts_with("noise:") {
                    continue;
                }
                let text = format!("def f() = {code}");
                let parsed = crate::parse(FileId(0), &text);
                assert!(parsed.diagnostics.is_empty(), "{name}: {code}\n{}", parsed.diagnostics);
                for called in code.split(|c: char| !(c.is_alphanumeric() || "_(".contains(c))) {
                    let Some((called, _)) = called.split_once('(') else { continue };
                    let known = called.len() < 2 || called == "build" || called == "in";
                    assert!(known || library::find(called).is_some(), "{name}: {called} in {code}");
                }
            }
        }
    }
}
