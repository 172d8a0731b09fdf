//! Numbers that another implementation of the report gives in its tests: values, gradients and
//! directional derivatives of small functions.

use cotan_ad::{grad, jvp, value_and_grad};
use cotan_interp::{Mode, Value};

use crate::support::*;

const FOO_BAR: &str = "
def foo(x: f64, y: f64, z: f64): f64 = let w = x * sin(y) in atan2(z, w) + z * w
def bar(x: f64, y: f64): f64 = let w = foo(x, y, x) * sin(y) in atan2(x, w) + y * w
def relu(x: f64): f64 = if x > 0.0 then x else 0.0
";

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    let scale = expected.abs().max(f64::MIN_POSITIVE);
    assert!((found - expected).abs() <= tolerance * scale, "{found}, not {expected}");
}

/// All gradients of a function of `FOO_BAR` and the text, one after the other.
fn gradient(text: &str, inputs: &[Value]) -> Vec<f64> {
    numbers_of(grad(&function(&format!("{FOO_BAR}{text}"), &[]), None), inputs).concat()
}

/// The tangents of all outputs.
fn tangent(text: &str, inputs: &[Value]) -> Vec<f64> {
    let program = function(&format!("{FOO_BAR}{text}"), &[]);
    numbers_of(jvp(&program, None), inputs)[program.outputs().len()..].concat()
}

#[track_caller]
fn all_near(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    found.iter().zip(expected).for_each(|(&x, &y)| near(x, y, tolerance));
}

/// Close to the last digits.
const CLOSE: f64 = 1e-13;

fn scalars<const N: usize>(xs: [f64; N]) -> [Value; N] {
    xs.map(Value::scalar)
}

#[test]
fn foo_and_bar() {
    let at = scalars([1.1, 2.2, 3.3]);
    let f = "def f(x: f64, y: f64, z: f64) = foo(x, y, z)";
    let expected = [2.4396285219055063, -1.953374825727421, 0.9654825811012627];
    all_near(&gradient(f, &at), &expected, CLOSE);
    let both = numbers_of(value_and_grad(&function(&format!("{FOO_BAR}{f}"), &[]), None), &at);
    near(both[0][0], 4.242393641025528, CLOSE);

    let bar = "def f(x: f64, y: f64) = bar(x, y)";
    let expected = [3.1435239435581166, -1.1053869545195814];
    all_near(&gradient(bar, &scalars([1.1, 2.2])), &expected, CLOSE);
    all_near(&tangent(bar, &scalars([1.1, 2.2, 0.1, 0.2])), &[9.327500345189534e-2], 1e-12);
    let diagonal = "def f(x: f64) = bar(x, x)";
    all_near(&gradient(diagonal, &scalars([1.0])), &[3.6174114266850617], CLOSE);
    all_near(&tangent(diagonal, &scalars([1.0, 1.1])), &[3.9791525693535674], CLOSE);

    let baz = "def f(x: f64, y: f64, z: f64) =
      let v = foo(y, y, z) * sin(y) in
      let w = foo(7.0, 8.0, 9.0) * (atan2(z, v) + z * v) * sin(y) in
      atan2(z, w) + z * w";
    let found = gradient(baz, &at);
    assert_eq!(found[0], 0.0);
    all_near(&found[1..], &[-5219.20995030263, 2782.276274462047], CLOSE);
}

#[test]
fn foo_in_single_precision_and_on_matrices() {
    let text = "def f(x: f32, y: f32, z: f32) = let w = x * sin(y) in atan2(z, w) + z * w";
    let at = [1.1f32, 2.2, 3.3].map(Value::scalar);
    let expected = [2.4396284, -1.9533751, 0.96548253];
    all_near(&gradient(text, &at), &expected, 3e-7);

    let text = "def f(x: f64, y: f32, z: f64) =
      let w = x * to_f64(sin(y)) in to_f32(atan2(z, w) + z * w)";
    let at = [Value::scalar(1.1), Value::scalar(2.2f32), Value::scalar(3.3)];
    let expected = [2.439628436155373, -1.9533749, 0.9654825479484146];
    all_near(&gradient(text, &at), &expected, 3e-7);

    let text = "def f(x: [2, 2]f64, y: [2, 2]f64, z: [2, 2]f64) =
      sum(build (2, 2) ((i, j) => foo(x[i, j], y[i, j], z[i, j])))";
    let program = function(&format!("{FOO_BAR}{text}"), &[]);
    let at = [1.1, 2.2, 3.3].map(|x| Value::of(&[2, 2], vec![x; 4]).unwrap());
    let value = floats(&run(&program, &at, Mode::Ieee).unwrap()[0])[0];
    near(value, 16.96957456410211, CLOSE);
}

#[test]
fn rectified_bar() {
    let f = "def f(x: f64) = relu(bar(x, relu(x)))";
    all_near(&gradient(f, &scalars([1.1])), &[4.5309153191767395], CLOSE);
    let f = "def f(x: [2, 1, 2]f64) =
      build (2, 1, 2) ((i, j, k) => relu(bar(x[i, j, k], relu(x[i, j, k]))))";
    let at = Value::of(&[2, 1, 2], vec![1.1, 2.0, 3.0, 4.2]).unwrap();
    let along = Value::of(&[2, 1, 2], vec![0.1, 0.2, 0.3, 0.42]).unwrap();
    let sum = f.replacen("=", "= sum(", 1) + ")";
    let expected = [4.5309153191767395, 4.5302138998556, -9.39547533946234, 95.29759282497125];
    all_near(&gradient(&sum, std::slice::from_ref(&at)), &expected, 1e-12);
    let expected =
        [0.45309153191767404, 0.9060427799711201, -2.8186426018387007, 40.02498898648793];
    all_near(&tangent(f, &[at, along]), &expected, 1e-12);

    let f = "def f(t: [3, 4]f64, r: f64) =
      sum(build (3, 4) ((i, j) => relu(t[i, j] * r)))";
    let t = vec![1.1, -2.2, 0.0, 4.4, 5.5, 6.6, 7.7, 8.8, -9.9, -10.0, 11.0, 12.0];
    let found = gradient(f, &[Value::of(&[3, 4], t).unwrap(), Value::scalar(7.0)]);
    let on = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0];
    assert_eq!(found[..12], on.map(|x| 7.0 * x));
    near(found[12], 57.1, CLOSE);

    let piecewise = "def f(x: f64) = if x > 0.0 then 2.0 * x else 5.0 * x";
    assert_eq!(gradient(piecewise, &scalars([42.0])), [2.0]);
    assert_eq!(gradient(piecewise, &scalars([-42.0])), [5.0]);
}

#[test]
fn sums_of_builds() {
    let overleaf = "def f(v: [28]f64) = sum(build 50 (i => v[i % 28]))";
    let expected: Vec<f64> = (0..28).map(|i| if i < 22 { 2.0 } else { 1.0 }).collect();
    assert_eq!(gradient(overleaf, &[vector(&[1.0; 28])]), expected);

    let f1 = "def f(x: f64) = sum(build 10 (i => x * to_f64(i)))";
    all_near(&gradient(f1, &scalars([1.1])), &[45.0], CLOSE);
    let f2 = "def f(x: f64) =
      sum(build 10 (i => x * to_f64(i))) + sum(build 20 (i => x * to_f64(i)))
      + sum(build 10 (i => x * to_f64(i))) + sum(build 20 (i => (x + 1.0) * to_f64(i)))";
    all_near(&gradient(f2, &scalars([1.1])), &[470.0], CLOSE);
    all_near(&tangent(f2, &scalars([1.1, 0.1])), &[47.0], CLOSE);

    let braided = "def f(x: f64) =
      sum(build (3, 4) ((i, j) => [to_f64(j), 7.0, x, -0.2][i]))";
    assert_eq!(gradient(braided, &scalars([3.4])), [4.0]);

    let build = "def f(v: [4]f64) =
      let r = sum(v) in
      let low = min(v) in
      build 3 (i => r * foo(3.0, 5.0 * r, r * low * low) + bar(r, v[i + 1]))";
    let at = vector(&[1.1, 2.2, 3.3, 4.0]);
    let sum = build.replacen("=", "= sum(", 1) + ")";
    let expected =
        [-4521.201512195087, -5568.7163677622175, -5298.386349932494, -4907.349735554627];
    all_near(&gradient(&sum, std::slice::from_ref(&at)), &expected, 1e-10);
    let expected = [-296584.8166864211, -290062.472288043, -265770.1775742018];
    all_near(&tangent(build, &[at, vector(&[42.0; 4])]), &expected, 1e-10);
}

#[test]
fn folds_and_scans() {
    let at = scalars([1.1]);
    for (text, expected, tolerance) in [
        ("def f(x: f64) = fold(x, iota(5), (s, _) => sin(s))", 0.12389721944941383, CLOSE),
        // The other implementation's scan gives the first state, too.
        ("def f(x: f64) = x + sum(scan(x, iota(5), (s, _) => sin(s)))", 2.2207726343670955, CLOSE),
        (
            "def f(x: f64) = fold(2.0 * x, replicate(x, 3), (s, a) => atan2(sin(s), sin(a)))",
            -0.7053476446727861,
            CLOSE,
        ),
        (
            "def f(x: f64) =
               2.0 * x + sum(scan(2.0 * x, replicate(x, 3), (s, a) => atan2(sin(s), sin(a))))",
            -0.4458209450295252,
            CLOSE,
        ),
        (
            "def f(x: f64) = map_accum(x, iota(7), (s, _) => (sin(s), sin(s))).0",
            8.621412119476068e-2,
            CLOSE,
        ),
        (
            "def f(x: f64) = sum(map_accum(x, iota(7), (s, _) => (sin(s), sin(s))).1)",
            1.4091291405664697,
            CLOSE,
        ),
        (
            "def f(x: f64) = fold(x, replicate(x, 3), (s, a) =>
               fold(a, replicate(s, 7), (t, b) => 0.7 * t * b))",
            2.0504979297616553e-43,
            1e-11,
        ),
    ] {
        let found = gradient(text, &at);
        assert!((found[0] - expected).abs() <= tolerance * expected.abs(), "{text}: {found:?}");
    }
    let three = "def f(x: f64) = fold(x, replicate(x, 2), (s1, a1) =>
      fold(a1, replicate(s1, 2), (s2, a2) =>
        fold(a2, replicate(s2, 2), (s3, a3) => s3 + tan(a3))))";
    all_near(&gradient(three, &scalars([1e-4])), &[25.000016360009603], CLOSE);
}

#[test]
fn derivatives_of_sine() {
    let mut program = function("def f(x: f64) = sin(x)", &[]);
    for expected in [0.4535961214255773, -0.8912073600614354, -0.4535961214255773] {
        program = grad(&program, None).unwrap();
        let found = numbers_of(Ok(program.clone()), &scalars([1.1]));
        near(found[0][0], expected, 1e-15);
    }
    // The derivative of sine, applied twice.
    let mut b = cotan_ir::Builder::new();
    let first = grad(&function("def f(x: f64) = sin(x)", &[]), None).unwrap();
    let inputs = declare(&mut b, &first).unwrap();
    let once = inline(&mut b, &first, &inputs).unwrap();
    let twice = inline(&mut b, &first, &once).unwrap();
    near(numbers_of(Ok(one(b, twice[0])), &scalars([1.1]))[0][0], 0.8988770945225438, 1e-15);
}

/// A value used twice at every step, thousands of times.
#[test]
fn nothing_blows_up() {
    let blowup =
        |n: usize| format!("fold(v[0] / v[1], iota({n}), (y, _) => 0.499999985 * (y + y - 1e-9))");
    let at = [vector(&[2.0, 3.0])];
    let found = gradient(&format!("def f(v: [2]f64) = {}", blowup(2000)), &at);
    all_near(&found, &[0.3333133339329949, -0.22220888928866325], 1e-12);
    let found = gradient(&format!("def f(v: [2]f64) = {}", blowup(7000)), &at);
    all_near(&found, &[0.3332633406816766, -0.22217556045445108], 1e-12);
    let text = format!("def f(v: [2]f64) = sum(build 1000 (i => {}))", blowup(7000));
    all_near(&gradient(&text, &at), &[333.2633406816765, -222.175560454451], 1e-12);
}

/// Builds of builds, and builds beside each other.
const NESTED: &str = "
def foo_build(v: [n]f64) =
  let r = sum(v)
  let low = min(v)
  in build 3 (i => r * foo(3.0, 5.0 * r, r * low * low) + bar(r, v[i + 1]))
def nested_builds(r: f64) =
  let v = replicate(r, 177)
  let lows = build 5 (j => min(build 7 (i => v[i + j])))
  in map(x => x * sum(build 3 (i => bar(x, v[i])) + foo_build(replicate(x / x, 4))
       / map(y => y * x + 5, foo_build(replicate(x, 130)))), lows)
";

#[test]
fn builds_of_builds() {
    let guarded = "def f(v: [5]f64) =
      let r = sum(v)
      let capped = map(x => if x > r then r else x, v)
      in sum(build 3 (i => bar(3.14, bar(3.14, v[max(min(i + i64(floor(r)), 2), 0)]))
           + (if v[i * 2] <= 0 and 6 > abs(i) then r else 5 * r)) / capped[1:4])";
    let expected = [
        5.037878787878788,
        -14.394255484765257,
        43.23648655081373,
        -0.8403418295960368,
        5.037878787878788,
    ];
    all_near(&gradient(guarded, &[vector(&[1.1, 2.2, 3.3, 4.0, 5.0])]), &expected, 1e-12);

    let nested = format!("{NESTED}def f(r: f64) = sum(nested_builds(r))");
    all_near(&gradient(&nested, &scalars([1.1])), &[107.25984443006627], 1e-12);
    let sums = format!(
        "{NESTED}def f(v: [5]f64) =
           let s = sum(v)
           let numbers = sum(build 9 (i => f64(i)))
           let last = nested_builds(s)
           let row = (i, j) => [f64(i), numbers, sum(build 6 (_ => s)), v[j],
             sum(build 3 (k => sum(replicate(f64(k), 5))))]
           in sum(build 13 (i => sum(build 4 (j => s * row(i, j)[j])) + last[min(i, 4)]))"
    );
    let mut expected = [-14084.715065313612; 5];
    expected[3] = -14014.775065313623;
    all_near(&gradient(&sums, &[vector(&[1.1, 2.2, 3.3, 4.0, -5.22])]), &expected, 1e-11);
}

/// Reads beyond the ends of arrays, built together from parts.
#[test]
fn concatenations() {
    let one = "gather(replicate(r, 1), [5], i => [AT])";
    let at = |index: &str| one.replace("AT", index);
    let rows = |first: &str, second: &str| {
        format!("sum(build 7 (j => concat({first}, {second}, [f64(j)], replicate(r, 13))))")
    };
    let ends = "let a = [r, 1, 2, 3, 4] in sum(build 10 (i => if i < 5 then a[i] else a[AT]))";
    let twice = |part: String| format!("let a = {part} in sum(concat(a, a))");
    for (body, expected) in [
        ("sum(build 7 (i => concat(replicate(r, 5), [f64(i)], replicate(r, 13))))".into(), 126.0),
        (ends.replace("AT", "i - 5"), 2.0),
        (ends.replace("AT", "i - 5 + 1 // max(1, i - 5)"), 1.0),
        (twice(at("1 // (4 + i)")), 10.0),
        (twice(at("1 // (5 + i)")), 10.0),
        (rows(&at("1 // (100 * max(1, i - j))"), &at("1 // (4 + i)")), 161.0),
        (
            format!(
                "sum(build 10 (j => concat(replicate(r, 5), {})[j]))",
                at("1 // max(1, j - i)")
            ),
            10.0,
        ),
        (twice(at("1 // (5 - i)")), 8.0),
        // The other implementation gives 122: there 1 divided by 0 is no valid index; here it is 0.
        (rows(&at("1 // (100 * max(0, i - j))"), &at("1 // (4 - i)")), 154.0),
        (rows(&at("-1"), &at("10000")), 91.0),
        (format!("sum({})", at("-1")), 0.0),
        ("replicate(r, 1)[-1i64]".into(), 0.0),
    ] {
        let found = gradient(&format!("def f(r: f64): f64 = {body}"), &scalars([3.4]));
        assert_eq!(found, [expected], "{body}");
    }
}

#[test]
fn folds_of_matrices() {
    let wide = "def f(a: f64) = sum(fold(replicate(replicate(2 * a, 5), 2), replicate(a, 3),
      (x, y) => transpose(replicate(atan2(sum(sin(x), axis = 1), replicate(sin(7 * y), 2)), 5))))";
    for (text, expected) in [
        (
            "def f(a: f64) = fold(2 * a, replicate(replicate(replicate(a, 5), 2), 3), (x, y) =>
               sum(atan2(sin(replicate(x, 5)),
                 sum(sin(sum(transpose(replicate(y, 7), [1, 0]), axis = 0)), axis = 0))))",
            1.2992412552109085,
        ),
        (
            "def f(a: f64) = sum(fold(replicate(replicate(a, 1), 2), replicate(a, 2),
               (x, y) => x + y))",
            6.0,
        ),
        (
            "def f(a: f64) = sum(fold(replicate(replicate(a, 5), 2), replicate(a, 2),
               (x, _) => transpose(replicate(sum(x, axis = 1), 5))))",
            250.0,
        ),
        (wide, -2.200311410593445),
    ] {
        all_near(&gradient(text, &scalars([1.1])), &[expected], CLOSE);
    }
    let once = wide.replacen("def f", "def g", 1);
    let second = format!("{once}\ndef f(a: f64) = grad(g)(a)");
    all_near(&gradient(&second, &scalars([1.1])), &[98.72666469795736], 1e-12);
}
