//! Loops of random updates: versions of states that are made of each other, read before and after.

use cotan_testkit::{Rng, for_each_case};

use crate::{compare, derivatives, source};

/// Positions in a step `i`, some of them out of range now and then.
const PLACES: &[&str] = &["i", "i - 1", "i + 2", "(3 * i + 1) % n", "n - 1 - i", "2 * i"];

/// A number made of elements of some arrays, smaller than these: errors of rounding must not grow.
fn number(rng: &mut Rng, arrays: &[String]) -> String {
    let mut element = || format!("{}[{}]", rng.pick(arrays), rng.pick(PLACES));
    let (a, b) = (element(), element());
    match rng.below(4) {
        0 => format!("0.4 * sin({a})"),
        1 => format!("0.3 * {a} + 0.2 * {b}"),
        2 => format!("0.4 * cos({a}) * sin({b})"),
        _ => "0.0".to_owned(),
    }
}

/// An array that differs from another in a few elements.
fn changed(rng: &mut Rng, base: &str, arrays: &[String]) -> String {
    let place = *rng.pick(PLACES);
    let v = number(rng, arrays);
    match rng.below(7) {
        0 | 1 => format!("{base} with [{place}] = {v}"),
        2 => format!("build n (j => {base}[j] + (if j == {place} then 0.5 * sin({v}) else 0.0))"),
        3 => format!("if {base}[i] > 0.4 then {base} with [{place}] = {v} else {base}"),
        4 => {
            format!("{base} with [{place}:{place} + 2] = build 2 (j => {v} + 0.3 * {base}[i + j])")
        }
        5 => {
            let w = number(rng, arrays);
            format!("{base} with [{place}] = {v} with [{}] = {w}", rng.pick(PLACES))
        }
        _ => {
            format!("fold({base}, iota(3), (u, m) => u with [{place} + m] = 0.3 * u[i + m] + {v})")
        }
    }
}

/// A loop over two arrays and a number.
fn random_loop(rng: &mut Rng) -> String {
    let mut arrays: Vec<String> = ["s", "t", "x"].map(str::to_owned).into();
    // The newest versions of both.
    let mut newest = ["s".to_owned(), "t".to_owned()];
    let mut lines = String::new();
    for k in 0..1 + rng.below(4) {
        let which = rng.below(2);
        let value = changed(rng, &newest[which], &arrays);
        lines += &format!("    let v{k} = {value}\n");
        newest[which] = format!("v{k}");
        arrays.push(format!("v{k}"));
    }
    let more = number(rng, &arrays);
    let begin = *rng.pick(&["0.5 * x", "zeros([n])"]);
    let [s, t] = newest;
    format!(
        "def f(x: [n]f64) =
  let r = fold((x, {begin}, 0.0), iota(n), (q, i) =>
    let s = q.0
    let t = q.1
{lines}    in ({s}, {t}, 0.5 * q.2 + {more}))
  in sum(r.0 * r.0) + sum(sin(r.1)) * r.2"
    )
}

#[test]
fn random_updates_are_those_of_the_interpreter() {
    for_each_case("random updates", 60, |rng| {
        let text = random_loop(rng);
        for (what, program) in derivatives(&source(&text, &[("n", 100)])) {
            compare(&format!("{what} of\n{text}"), &program, 1e-6);
        }
        Ok(())
    });
}
