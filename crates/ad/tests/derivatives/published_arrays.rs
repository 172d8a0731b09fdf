//! Larger numbers that another implementation of the report gives in its tests: determinants as sums
//! over all permutations, and neighbours added up along a million elements.

use cotan_ad::{grad, value_and_grad};
use cotan_interp::{Interp, Value};
use cotan_ir::{Program, Result};

use crate::support::*;

/// The Leibniz formula over tables of all permutations and of their numbers of inversions.
const DETERMINANT: &str = "
def determinant(a: [n, n]f64, columns: [m, n]i64, inversions: [m]i64): f64 =
  sum(build m (k => powi(-1.0, inversions[k])
    * fold(1.0, gather(a, [n], i => [i, columns[k, i]]), (x, y) => x * y)))
";

/// All permutations of `0..n` in the order of the alphabet, with their numbers of inversions.
fn permutations(n: i64) -> (Vec<i64>, Vec<i64>) {
    let factorial: i64 = (1..=n).product();
    let (mut columns, mut inversions) = (Vec::new(), Vec::new());
    for k in 0..factorial {
        let (mut rest, mut base, mut inverted) = (k, factorial, 0);
        let mut free: Vec<i64> = (0..n).collect();
        for size in (1..=n).rev() {
            base /= size;
            let digit = rest / base;
            rest %= base;
            // As many smaller columns are still to come.
            inverted += digit;
            columns.push(free.remove(digit as usize));
        }
        inversions.push(inverted);
    }
    (columns, inversions)
}

/// The results of a program, however long it takes.
fn results(program: Result<Program>, inputs: &[Value]) -> Vec<Vec<f64>> {
    let program = checked(program).expect("a program");
    Interp::new(&program).run(inputs).expect("a run").outputs.iter().map(floats).collect()
}

fn square(n: usize, elements: &[f64]) -> Value {
    Value::of(&[n, n], elements.to_vec()).expect("a matrix")
}

/// The inverse and the determinant by elimination, which shares nothing with the Leibniz formula.
fn inverse_and_determinant(n: usize, elements: &[f64]) -> (Vec<f64>, f64) {
    let mut rows: Vec<Vec<f64>> = elements.chunks(n.max(1)).map(<[f64]>::to_vec).collect();
    for (i, row) in rows.iter_mut().enumerate() {
        row.extend((0..n).map(|j| if i == j { 1.0 } else { 0.0 }));
    }
    let mut determinant = 1.0;
    for k in 0..n {
        let largest = |&i: &usize, &j: &usize| rows[i][k].abs().total_cmp(&rows[j][k].abs());
        let pivot = (k..n).max_by(largest).expect("a row");
        if pivot != k {
            rows.swap(pivot, k);
            determinant = -determinant;
        }
        let scale = rows[k][k];
        determinant *= scale;
        rows[k].iter_mut().for_each(|x| *x /= scale);
        let done = rows[k].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let factor = row[k];
            row.iter_mut().zip(&done).for_each(|(x, y)| *x -= factor * y);
        }
    }
    (rows.iter().flat_map(|row| row[n..].to_vec()).collect(), determinant)
}

/// With the tables as constants of the program.
#[test]
fn determinant_of_a_matrix_of_six() {
    let (columns, inversions) = permutations(6);
    let rows: Vec<&[i64]> = columns.chunks(6).collect();
    let text =
        format!("{DETERMINANT}def f(a: [6, 6]f64) = determinant(a, {rows:?}, {inversions:?})");
    #[rustfmt::skip]
    let at = [
        40.1, 32.1, 40.1, 32.1, 40.1, 22.0,
        9.71, 58.8943200001, 18.1, 29.1, 32.1, 40.1,
        55.8943200001, 1.0, -2.0, 0.97, 58.200001, 1.0,
        40.1, 29.0, 53.99432, 7.1, 58.8943200001, 18.1,
        32.1, 40.1, 29.0, 53.99432, 2.971, 58.8943200001,
        40.1, 32.0, 53.99432, 0.97, 25.8943200001, 5.0,
    ]
    .map(|x| 0.01 * x);
    #[rustfmt::skip]
    let expected = [
        -4.869053606042778e-3, 5.097805950791719e-4, 2.8429105389292052e-3,
        2.7764540017998364e-2, 4.728231081593177e-3, -2.4786176657837146e-2,
        -2.3469141678115176e-3, 1.1152144353350756e-2, -5.653171988563392e-3,
        -2.9237121329780706e-3, 1.9330615364900276e-3, -9.47499409844526e-4,
        8.025631739575951e-3, 1.532840697726606e-3, -7.047121923697899e-3,
        -4.305940089911722e-3, 1.4834586948324607e-4, 1.9922535230070225e-3,
        -8.022565662650867e-3, -1.2603575569596842e-2, 8.144948602197404e-3,
        -9.343418236792108e-3, 8.06305133890595e-3, 1.7102844846324558e-2,
        4.888906896881243e-3, -4.884300437195866e-3, 4.144990592410334e-4,
        -4.765756648788264e-3, -4.741976230085896e-3, 1.3056977293001447e-2,
        1.0096879396193574e-2, 1.1166653675142208e-2, -1.279846251614077e-4,
        -7.896243314270949e-3, -9.67019219688691e-3, -5.316279354872351e-3,
    ];
    let program = function(&text, &[]);
    let found = results(value_and_grad(&program, None), &[square(6, &at)]);
    for (x, y) in found[1].iter().zip(expected) {
        assert!((x - y).abs() <= 1e-14, "{x}, not {y}");
    }
    assert_eq!(found[1].len(), expected.len());
    // The gradient of a determinant is the determinant times the transposed inverse.
    let (inverse, determinant) = inverse_and_determinant(6, &at);
    assert!((found[0][0] - determinant).abs() <= 1e-13 * determinant.abs());
    for (k, x) in found[1].iter().enumerate() {
        let y = determinant * inverse[k % 6 * 6 + k / 6];
        assert!((x - y).abs() <= 1e-14, "{x}, not {y}");
    }
}

/// The tables are inputs here: integers, which have no gradient.
fn determinant_by_tables(n: usize) -> (Program, [Value; 2]) {
    let text = format!(
        "{DETERMINANT}def f(a: [n, n]f64, columns: [m, n]i64, inversions: [m]i64) =
           determinant(a, columns, inversions)"
    );
    let (columns, inversions) = permutations(n as i64);
    let m = inversions.len();
    let tables = [
        Value::of(&[m, n], columns).expect("a table"),
        Value::of(&[m], inversions).expect("a table"),
    ];
    (function(&text, &[("n", n), ("m", m)]), tables)
}

/// Rows 2 and 6 are equal, so only their cofactors are not zero. The others, published as numbers
/// between 0.1 and 236, are what rounding leaves of sums of terms of up to 1e17, here as there.
///
/// 3,628,800 permutations take minutes and gigabytes:
/// `cargo test -p cotan-ad --test derivatives -- --ignored matrix_of_ten`
#[test]
#[ignore = "runs for minutes"]
fn determinant_of_a_matrix_of_ten() {
    #[rustfmt::skip]
    let at = [
        7.0, 0.92, 0.1, -0.2, 13.1, 9.0, 8.0, -4.0, 34.0, 2.99432,
        7.0, 25.8, 8.1, 29.1, 32.1, 40.1, 32.1, 40.1, 292.0, 53.99432,
        7.0, 40.1, 32.1, 40.1, 89.0, 53.99432, 97.1, 56.8200001, 97.1, 52.843201,
        7.0, 97.1, 55.8943200001, 97.1, 85.894001, 97.1, 85.801, 18.1, 29.1, 32.1,
        7.0, 40.1, 32.1, 40.1, 32.1, 40.1, 22.0, 53.99432, 97.1, 82.8943200001,
        7.0, 97.1, 22.8943200001, 97.1, 58.8943200001, 18.1, 29.1, 32.1, 40.1, 32.1,
        7.0, 40.1, 32.1, 40.1, 89.0, 53.99432, 97.1, 56.8200001, 97.1, 52.843201,
        7.0, 97.1, 55.8943200001, 1.0, -2.0, 97.1, 58.200001, 97.1, 55.894320, 97.1,
        7.0, 29.1, 32.1, 40.1, 29.0, 53.99432, 97.1, 58.8943200001, 18.1, 29.1,
        7.0, 32.1, 40.1, 32.0, 53.99432, 97.1, 25.8943200001, 5.0, 2.0, 6.0,
    ];
    #[rustfmt::skip]
    let row: [f64; 10] = [
        4.102272751895559e15, -7.306139851602269e13, 1.6344669707400714e16,
        -2.0387070048459585e15, 1.1609737081775948e14, -5.972802872324755e15,
        -8.292337523172424e14, 6.612381495486813e14, 1.3074134839774018e15,
        -4.551880458211714e15,
    ];
    let (program, [columns, inversions]) = determinant_by_tables(10);
    let inputs = [square(10, &at), columns, inversions];
    let found = results(grad(&program, None), &inputs).concat();
    assert_eq!(found.len(), at.len());
    for (k, &x) in found.iter().enumerate() {
        let (expected, tolerance) = match (k / 10, row[k % 10]) {
            (2, y) => (y, 1e-10 * y.abs()),
            (6, y) => (-y, 1e-10 * y.abs()),
            _ => (0.0, 1000.0),
        };
        assert!((x - expected).abs() <= tolerance, "{k}: {x}, not {expected}");
    }
}

/// Determinants in between, against elimination.
#[test]
fn determinants_against_elimination() {
    let largest = if cotan_testkit::scaled(1) > 1 { 8 } else { 7 };
    for n in 0..=largest {
        let at: Vec<f64> = (0..n * n).map(|k| (1.3 * k as f64).sin() + (k as f64).cos()).collect();
        let (program, [columns, inversions]) = determinant_by_tables(n);
        let inputs = [square(n, &at), columns, inversions];
        let found = results(value_and_grad(&program, None), &inputs);
        let (inverse, determinant) = inverse_and_determinant(n, &at);
        let near = |x: f64, y: f64| assert!((x - y).abs() <= 1e-11 * (1.0 + y.abs()), "{x} {y}");
        near(found[0][0], determinant);
        assert_eq!(found[1].len(), n * n);
        for (k, &x) in found[1].iter().enumerate() {
            near(x, determinant * inverse[k % n * n + k / n]);
        }
    }
}

/// Three arrays added up, the second moved to the left by one and the third to the right: joined
/// from slices, and element by element with conditions.
const SHIFTED_SUMS: &str = "
def joined(a: [n]f64, b: [n]f64, c: [n]f64): [n]f64 =
  concat([a[0] + b[1]], a[1:n - 1] + b[2:] + c[:n - 2], [a[n - 1] + c[n - 2]])
def built(a: [n]f64, b: [n]f64, c: [n]f64): [n]f64 =
  build n (i =>
    if i == 0 then a[0] + b[1]
    else if i == n - 1 then a[n - 1] + c[n - 2]
    else a[i] + b[i + 1] + c[i - 1])
";

/// A function of the three arrays at a size.
fn shifted_sums(body: &str, n: usize) -> Program {
    let text = format!("{SHIFTED_SUMS}def f(a: [n]f64, b: [n]f64, c: [n]f64) = {body}");
    function(&text, &[("n", n)])
}

fn multiples_of_iota(n: usize) -> [Value; 3] {
    [1.0, 2.0, 3.0].map(|x| vector(&(0..n).map(|k| x * k as f64).collect::<Vec<_>>()))
}

#[test]
fn shifted_sums_of_ten() {
    let expected = [2.0, 5.0, 11.0, 17.0, 23.0, 29.0, 35.0, 41.0, 47.0, 33.0];
    for body in ["joined(a, b, c)", "built(a, b, c)"] {
        let program = shifted_sums(body, 10);
        assert_eq!(results(Ok(program.clone()), &multiples_of_iota(10)), [expected], "{body}");
        let constants = [1.0, 2.0, 3.0].map(|x| vector(&[x; 10]));
        let sums = [3.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 4.0];
        assert_eq!(results(Ok(program), &constants), [sums], "{body}");
    }
}

/// Both forms give the same elements, and the same gradients of the sum of their squares.
fn both_forms_agree(n: usize) {
    let at = multiples_of_iota(n);
    let both = shifted_sums("(joined(a, b, c), built(a, b, c))", n);
    let values = results(Ok(both), &at);
    assert!(values[0] == values[1], "the forms differ");
    let middle = |k: usize| (k + 2 * (k + 1) + 3 * (k - 1)) as f64;
    let found = &values[0];
    assert!((1..n - 1).all(|k| found[k] == middle(k)));
    assert_eq!((found[0], found[n - 1]), (2.0, (n - 1 + 3 * (n - 2)) as f64));

    let gradient = |form: &str| {
        let program = shifted_sums(&format!("sum({form}(a, b, c) ** 2)"), n);
        results(grad(&program, None), &at)
    };
    let joined = gradient("joined");
    assert!(joined == gradient("built"), "the gradients differ");
    // Element k of `b` went to place k - 1.
    assert!((2..n - 1).all(|k| joined[1][k] == 2.0 * found[k - 1]));
}

#[test]
fn shifted_sums_of_twenty_thousand() {
    both_forms_agree(20_000);
}

/// The published size:
/// `cargo test -p cotan-ad --test derivatives -- --ignored shifted_sums_of_a_million`
#[test]
#[ignore = "runs for a minute"]
fn shifted_sums_of_a_million() {
    both_forms_agree(1_000_000);
}
