//! Plans as files: `tests/files/*.nest`.
//!
//! Comments say what is expected: `# input TYPE = ELEMENTS` and `# output TYPE = ELEMENTS` of what the
//! interpreter gives, or `# fault MESSAGE` of what the checker says. Each file is written as the
//! printer writes it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::path::Path;

use cotan_array::Array;
use cotan_nest::{ParseError, Plan, Role};

/// The arrays in comments that begin with a word.
fn arrays(text: &str, word: &str) -> Vec<Array> {
    let found = text.lines().filter_map(|line| line.strip_prefix("# ")?.strip_prefix(word));
    // Constants of a plan are written in the same way.
    let declared = found.enumerate().map(|(n, array)| format!("a{n}: constant{array}\n"));
    let plan: Plan = (declared.collect::<String>() + "return").parse().unwrap();
    let array = |role: &Role| match role {
        Role::Constant(array) => (**array).clone(),
        role => panic!("{role:?}"),
    };
    plan.buffers.iter().map(|buffer| array(&buffer.role)).collect()
}

/// What is wrong with a file.
fn wrong(text: &str) -> Result<(), String> {
    let plan: Plan = text.parse().map_err(|error: ParseError| error.to_string())?;
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let same = |found: String, expected: String| match found == expected {
        true => Ok(()),
        false => Err(format!("{found}\ninstead of\n{expected}")),
    };
    same(plan.to_string().trim_end().to_owned(), lines.join("\n"))?;
    let fault = text.lines().find_map(|line| line.strip_prefix("# fault "));
    match (plan.check(), fault) {
        (Err(found), fault) => same(found.to_string(), fault.unwrap_or("no fault").to_owned()),
        (Ok(()), Some(fault)) => Err(format!("nothing is found instead of\n{fault}")),
        (Ok(()), None) => {
            let found = plan.interpret(&arrays(text, "input"), 10_000);
            let found = found.map_err(|error| error.to_string())?;
            same(format!("{found:?}"), format!("{:?}", arrays(text, "output")))
        }
    }
}

#[test]
fn files_do_what_they_say() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let (mut count, mut all) = (0, String::new());
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
        if let Err(message) = wrong(&text) {
            all += &format!("{}: {message}\n", path.display());
        }
        count += 1;
    }
    assert!(all.is_empty(), "{all}");
    assert!(count >= 20, "{count}");
}

/// Errors say where, and what is expected there.
#[test]
fn errors_of_the_parser_carry_their_place() {
    let mut wrong = Vec::new();
    let head = "x: input 0 f64[4]\ny: output f64[4]\n";
    for (body, expected) in [
        ("", "2:1: a plan ends with `return` and the buffers of its results"),
        ("return z", "3:8: there is no buffer `z`"),
        ("return y\nreturn y", "4:1: nothing comes after `return`"),
        ("x: output f64[]", "3:1: there are two buffers `x`"),
        ("i0: output f64[]", "3:1: `i0` cannot name a buffer"),
        (
            "z: outptu f64[]",
            "3:4: `input`, `constant`, `temporary`, `local`, `output` or `view` is expected here",
        ),
        ("z: output f16[]", "3:11: `f64`, `f32`, `i64` or `bool` is expected here"),
        ("z: output f64[4", "3:16: `,` is expected here"),
        ("z: output f64[99999999999, 99999999999]", "3:14: "),
        ("z: constant f64[2] = 1.0", "3:25: `,` is expected here"),
        ("z: constant f64[1] = 1", "3:22: a number of type f64 is expected here"),
        ("y = copy", "3:9: the name of a buffer is expected here"),
        ("y = zero", "3:5: `0`, `copy`, `argsort` or `segment_arg..` is expected"),
        ("   y = 0", "3:4: blocks are two spaces deeper than what they belong to"),
        ("y = 0\n  y = 0", "4:3: this is deeper than its block"),
        ("nest\n  for i1 < 4", "4:7: `i0` is expected here"),
        ("nest\n  for i0 < 4\n  %1 = x[i0]", "5:4: `%0` is expected here"),
        ("nest\n  for i0 < 4\n  %0 = x[i1]", "5:10: there is no loop over i1 in this nest"),
        ("nest\n  for i0 < 4\n  %0 = x[i0]\n  %1 = ad(%0, %0)", "6:11: there is no operation `ad`"),
        ("nest\n  for i0 < 4\n  %0 = x[i0]\n  %1 = add(%0)", "6:12: `add` has 2 operands"),
        ("nest\n  for i0 < 4\n  %0 = x[i0]\n  %1 = logical_and(%0, %0)", "6:8: "),
        ("nest\n  for i0 < 4\n  y[i0] = %0", "5:11: `%0` has not been computed yet"),
        ("nest\n  for i0 < 4\n  %0 = x[i0]\nreturn y", "4:3: this nest writes nothing"),
        (
            "nest\n  over i0 < 4\n  %0 = x[i0]\n  y[0] = sum %0",
            "4:3: `sum over` goes with a value that is written as `sum`",
        ),
        (
            "nest\n  for i0 < 4\n  y[i0] = 99999999999999999999",
            "5:11: a number that fits is expected here",
        ),
        ("loop of 3 steps\n  state x", "4:10: `=` is expected here"),
        ("if x\n  y = 0 0", "4:9: the line should end here"),
    ] {
        let error = format!("{head}{body}").parse::<Plan>().unwrap_err().to_string();
        if !error.starts_with(expected) {
            wrong.push(format!("{body:?} gives {error}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let deep: String = (0..1000).map(|n| format!("{:n$}if x\n", "", n = 2 * n)).collect();
    let error = format!("{head}{deep}").parse::<Plan>().unwrap_err();
    assert!(error.message.contains("deep"), "{error}");
}
