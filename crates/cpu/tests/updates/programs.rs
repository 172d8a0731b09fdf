//! Loops that change parts of their states.

/// What is done, how many elements are changed or read for each of the `n`, and how.
pub const PROGRAMS: &[(&str, usize, &str)] = &[
    (
        "one element a step",
        1,
        "def f(x: [n]f64) = sum(fold(x, iota(n), (s, i) => s with [i] = sin(s[i - 1]) + s[i]))",
    ),
    (
        "one element a step, written as a build",
        1,
        "def f(x: [n]f64) = sum(fold(x, iota(n), (s, i) => build n (j => if j == i then sin(s[i - 1]) + s[i] else s[j])))",
    ),
    (
        "one element a step, of a branch that reads the element of the build",
        1,
        "def f(x: [n]f64) = sum(fold(x, iota(n), (s, i) => build n (j => if j == i then sin(s[j - 1]) + s[j] * s[j] else s[j])))",
    ),
    (
        "prefix sums, half of them out of range",
        1,
        "def f(x: [n]f64) = let y = fold(x, iota(n), (s, i) => s with [2 * i] = s[2 * i] + s[2 * i - 1] * 0.5) in sum(y * y)",
    ),
    (
        "the Thomas algorithm",
        1,
        "def f(a: [n]f64, b: [n]f64, c: [n]f64, d: [n]f64) =
          let fwd = fold((c, d), iota(n), (s, i) =>
            let m = 1.0 / (b[i] + 4.0 - a[i] * s.0[i - 1])
            in (s.0 with [i] = s.0[i] * m, s.1 with [i] = (s.1[i] - a[i] * s.1[i - 1]) * m))
          let x = fold(fwd.1, iota(n), (x, k) => let i = n - 1 - k in x with [i] = x[i] - fwd.0[i] * x[i + 1])
          in sum(x * x)",
    ),
    (
        "swaps",
        1,
        "def f(x: [n]f64) =
          let y = fold(x, iota(n), (s, i) =>
            let j = (7 * i + 3) % n
            in build n (k => if k == i then s[j] else if k == j then s[i] else s[k]))
          in sum(build n (i => sin(y[i]) * to_f64(i)))",
    ),
    (
        "additions at computed places",
        1,
        "def f(x: [n]f64) =
          let y = fold(x, (x, iota(n)), (s, (v, i)) =>
            let j = i * i % n
            in build n (k => s[k] + (if k == j then v * s[i] else 0.0)))
          in sum(y * y)",
    ),
    (
        "slices of three",
        1,
        "def f(x: [n]f64) =
          let y = fold(x, iota(n), (s, i) =>
            let a = 3 * i % n
            in s with [a:a + 3] = build 3 (j => s[a + j] * s[a + 1]))
          in sum(y)",
    ),
    (
        "one element a step, as long as a condition holds, with a limit",
        1,
        "def f(x: [n]f64) =
          let y = while_loop((s, i) => i < n and s[i] < 100.0,
            (s, i) => (s with [i] = 0.5 * sin(s[i - 1]) + s[i] * s[i], i + 1), (x, 0), at_most = n).0
          in sum(y * y)",
    ),
    (
        "rows of a matrix, as long as a condition holds, with a limit",
        4,
        "def f(x: [n, 4]f64) =
          let y = while_loop((s, i) => i < n and s[i][0] < 100.0,
            (s, i) => (s with [i] = s[i] * (1.0 + s[i - 1]), i + 1), (x, 0), at_most = n).0
          in sum(y * y)",
    ),
    (
        "one element a step, as long as a condition holds",
        1,
        "def f(x: [n]f64) =
          let y = while_loop((s, i) => i < n and s[i] < 100.0,
            (s, i) => (s with [i] = 0.5 * sin(s[i - 1]) + s[i] * s[i], i + 1), (x, 0)).0
          in sum(y * y)",
    ),
    (
        "a table of numbers, each from two before",
        1,
        "def f(x: [n]f64) =
          let t = fold(zeros([n]), iota(n), (t, i) => t with [i] = if i < 2 then x[i] else 0.6 * t[i - 1] + 0.3 * sin(t[i - 2]))
          in sum(t * t)",
    ),
    (
        "a table of rows, each from the one before",
        20,
        "def f(x: [20]f64, y: [n]f64) =
          let t = fold(zeros([n, 20]), iota(n), (t, i) => t with [i] =
            if i == 0 then x else build 20 (j => sin(t[i - 1][j]) + y[i] * t[i - 1][j - 1]))
          in sum(t * t)",
    ),
    (
        "sweeps of Gauss and Seidel, a loop in a loop",
        3,
        "def f(x: [n]f64) =
          let t = fold(x, iota(3), (t, k) =>
            fold(t, iota(n), (t, i) => t with [i] = 0.25 * (t[i - 1] + t[i + 1]) + 0.5 * sin(x[i])))
          in sum(t * t)",
    ),
    (
        "five reads of a state",
        1,
        "def f(x: [n]f64) =
          let t = fold(x, iota(n), (t, i) => t with [i] =
            sin(t[i - 1]) + sin(t[i + 1]) * t[i - 2] + 0.3 * t[i + 2] * t[i])
          in sum(t * t)",
    ),
    (
        "a state that is read after it was changed",
        1,
        "def f(x: [n]f64) =
          let t = fold((x, 0.0), iota(n), (s, i) =>
            let t = s.0 with [i] = sin(s.0[i - 1]) + x[i]
            in (t, s.1 + t[i] * t[7 * i % n]))
          in sum(t.0 * t.0) + t.1",
    ),
    (
        "changes under a condition",
        1,
        "def f(x: [n]f64) =
          let t = fold(x, iota(n), (t, i) =>
            let j = 3 * i % n
            in if t[i] > 0.5 then t with [j] = t[j] * t[i] else t)
          in sum(t * t)",
    ),
    (
        "unions of neighbours",
        1,
        "def f(x: [n]f64) =
          let t = fold(x, iota(n), (t, i) =>
            let j = (5 * i + 1) % n
            let m = 0.5 * sin(t[i] + t[j])
            in t with [i] = m with [j] = m)
          in sum(t * t * t)",
    ),
    (
        "an edit distance",
        8,
        "def f(a: [n]f64, b: [8]f64) =
          let t = fold(build (n + 1, 9) ((i, j) => to_f64(i + j)), iota(8 * n), (t, p) =>
            let i = p // 8
            let j = p % 8
            let c = (a[i] - b[j]) ** 2.0
            in t with [i + 1, j + 1] = min(min(t[i, j + 1] + 1.0, t[i + 1, j] + 1.0), t[i, j] + c))
          in t[n, 8] * t[n, 7]",
    ),
    (
        "an edit distance, a loop in a loop",
        8,
        "def f(a: [n]f64, b: [8]f64) =
          let t = fold(build (n + 1, 9) ((i, j) => to_f64(i + j)), iota(n), (t, i) =>
            fold(t, iota(8), (t, j) =>
              let c = (a[i] - b[j]) ** 2.0
              in t with [i + 1, j + 1] = min(min(t[i, j + 1] + 1.0, t[i + 1, j] + 1.0), t[i, j] + c)))
          in t[n, 8] * t[n, 7]",
    ),
    (
        "soft dynamic time warping",
        8,
        "def f(a: [n]f64, b: [8]f64) =
          let t = fold(build (n + 1, 9) ((i, j) => if i + j == 0 then 0.0 else 9.0), iota(8 * n), (t, p) =>
            let i = p // 8
            let j = p % 8
            let m = min(min(t[i, j + 1], t[i + 1, j]), t[i, j])
            let s = exp(m - t[i, j + 1]) + exp(m - t[i + 1, j]) + exp(m - t[i, j])
            in t with [i + 1, j + 1] = (a[i] - b[j]) ** 2.0 + m - log(s))
          in t[n, 8]",
    ),
    (
        "fourteen reads of a state",
        14,
        "def f(x: [n]f64) =
          let t = fold(x, iota(n), (t, i) => t with [i] = 0.05 * (
            sin(t[i - 7]) + sin(t[i - 6]) * t[i - 5] + sin(t[i - 4]) + t[i - 3] * t[i - 2] + sin(t[i - 1])
            + t[i] * t[i + 1] + sin(t[i + 2]) + t[i + 3] * t[i + 4] + sin(t[i + 5]) * t[i + 6]))
          in sum(t * t)",
    ),
    (
        "forty reads at computed places",
        40,
        "def f(x: [n]f64) =
          let t = fold(x, iota(n), (t, i) => t with [i] =
            0.5 * t[i] + 0.01 * sum(build 40 (k => sin(t[(7 * i + k * k) % n]) * x[(i + k) % n])))
          in sum(t * t)",
    ),
    (
        "additions to forty computed places",
        40,
        "def f(x: [n]f64) =
          let t = fold(x, iota(n), (t, i) =>
            t + scatter(build 40 (k => 0.01 * sin(t[i + k])), [n], k => [(7 * i + k * k) % n]))
          in sum(t * t)",
    ),
];

/// The same of programs of which only the value is computed in time and memory for what changes:
/// derivatives of loops in branches copy the state.
pub const VALUES: &[(&str, usize, &str)] = &[
    (
        "a loop in a branch",
        3,
        "def f(x: [n]f64) =
          let t = fold(x, iota(n), (t, i) =>
            if t[i] > 0.5 then fold(t, iota(3), (u, m) => u with [i + m] = 0.9 * sin(u[i + m]) + 0.01 * x[i]) else t)
          in sum(t * t)",
    ),
    (
        "loops in both branches",
        3,
        "def f(x: [n]f64) =
          let t = fold(x, iota(n), (t, i) =>
            if t[i] > 0.5
            then fold(t, iota(3), (u, m) => u with [i + m] = 0.9 * sin(u[i + m]))
            else fold(t with [i + 1] = 0.5, iota(2), (u, m) => u with [i - m] = u[i - m] * cos(x[i])))
          in sum(t * t)",
    ),
];
