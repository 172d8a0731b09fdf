//! What is found for all sizes agrees with what elaboration says at each.

use std::fmt::Write;

use cotan_ir::Limits;

use crate::check::{check, explored};
use crate::elab::Elab;
use crate::instantiate::Request;
use crate::load::{Modules, load_text};

/// The sizes that are tried for every parameter.
const SIZES: std::ops::RangeInclusive<i64> = 0..=6;

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    /// An affine size.
    fn size(&mut self, names: &[&str]) -> String {
        let (a, b) = (self.of(names), self.of(names));
        let c = self.below(4);
        match self.below(12) {
            0..=4 => a.to_owned(),
            5 => format!("{a} + {c}"),
            6 => format!("2 * {a}"),
            7 => format!("{a} + {b}"),
            8 => c.to_string(),
            9 => format!("{a} - {c}"),
            10 => format!("2 * {a} + 1"),
            _ => format!("{a} // 2"),
        }
    }

    fn shape(&mut self, names: &[&str], rank: usize) -> String {
        let sizes: Vec<String> = (0..rank).map(|_| self.size(names)).collect();
        sizes.join(", ")
    }

    /// A vector.
    fn vector(&mut self, names: &[&str], vectors: &[&str], depth: usize) -> String {
        if depth == 0 {
            return self.of(vectors).to_owned();
        }
        let one = |this: &mut Random| this.vector(names, vectors, depth - 1);
        match self.below(14) {
            0..=2 => format!("({} + {})", one(self), one(self)),
            3 => format!("concat({}, {})", one(self), one(self)),
            4 => format!("{}[{}:]", one(self), self.size(names)),
            5 => format!("{}[:{}]", one(self), self.size(names)),
            6 => {
                let (lo, hi) = (self.size(names), self.size(names));
                format!("{}[{lo}:{hi}:{}]", one(self), 1 + self.below(3))
            }
            7 => format!("flatten(reshape({}, [{}]))", one(self), self.shape(names, 2)),
            8 => format!("zeros([{}])", self.size(names)),
            9 => {
                let (a, b) = (self.size(names), self.size(names));
                let relation = self.of(&["<", "<=", "==", "!=", ">"]);
                format!("(if {a} {relation} {b} then {} else {})", one(self), one(self))
            }
            10 => format!("half({})", one(self)),
            11 => format!("join({}, {})", one(self), one(self)),
            12 => format!("matmul(m, {})", one(self)),
            _ => format!("build ({}) (i => sum({}))", self.size(names), one(self)),
        }
    }

    fn program(&mut self) -> (String, usize) {
        let count = 1 + self.below(3);
        let names = &["n", "m", "k"][..count];
        let depth = 1 + self.below(3);
        let mut text = String::from(
            "def half(x: [2 * h]f64): [h]f64 = x[:h] + x[h:]\n\
             def join(x: [a + b]f64, y: [a - b]f64): [a]f64 = build a (i => x[i] + y[i])\n",
        );
        let (x, y, z) = (self.size(names), self.size(names), self.shape(names, 2));
        // Every name must occur, so that it is a size.
        let all = names.join(", ");
        let body = self.vector(names, &["x", "y"], depth);
        let result = match self.below(3) {
            0 => format!(": [{}]f64", self.size(names)),
            _ => String::new(),
        };
        let _ =
            writeln!(text, "def f[{all}](x: [{x}]f64, y: [{y}]f64, m: [{z}]f64){result} = {body}");
        // `m` is a size and a matrix: two names.
        let text = text.replace("m: [", "w: [").replace("matmul(m,", "matmul(w,");
        (text, count)
    }
}

/// Whether `f` has no errors at these sizes; `None` if there are no such arguments.
fn valid(modules: &Modules, sizes: &[(&str, usize)]) -> Option<bool> {
    let id = *modules.files[0].defs.get("f")?;
    let mut elab = Elab::new(modules, Limits::default());
    let signature = elab.signature(id).ok()?;
    let lookup = |name: &str| sizes.iter().find(|(n, _)| *n == name).map(|(_, k)| *k as i64);
    for (_, spec) in &signature.params {
        let mut negative = false;
        spec.for_each_size(&mut |size| negative |= size.eval(lookup).is_ok_and(|k| k < 0));
        if negative {
            return None;
        }
    }
    let request = Request { function: "f", args: &[], sizes };
    Some(request.make(&mut elab, id).is_ok() && !elab.finish().1.has_errors())
}

#[test]
fn verdicts_agree_with_all_small_sizes() {
    let cases = std::env::var("COTAN_CASES").ok().and_then(|c| c.parse::<f64>().ok());
    let cases = (400.0 * cases.unwrap_or(1.0)) as u64;
    let seed: u64 = std::env::var("COTAN_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let (mut points, mut unknown, mut good) = (0, 0, 0);
    for case in 0..cases {
        let mut random = Random((seed + case).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (text, count) = random.program();
        let Ok(modules) = load_text("f.ct", &text) else { panic!("{text}") };
        let Some(explored) = explored(&modules, "f") else { panic!("{text}") };
        let found = check(&modules, &Limits::default());
        let mut any = false;
        for at in 0..7usize.pow(count as u32) {
            let values = [at % 7, at / 7 % 7, at / 49];
            debug_assert!(values.iter().all(|v| SIZES.contains(&(*v as i64))));
            let sizes: Vec<(&str, usize)> =
                ["n", "m", "k"].into_iter().zip(values).take(count).collect();
            let Some(valid) = valid(&modules, &sizes) else { continue };
            let param =
                |name: &str| sizes.iter().find(|(n, _)| *n == name).map(|(_, k)| *k as i128);
            any |= valid;
            points += 1;
            match explored.tree.accepts(&explored.space, &param) {
                None => unknown += 1,
                Some(verdict) => {
                    assert_eq!(
                        verdict, valid,
                        "case {case} of seed {seed}, {sizes:?}\n{text}\n{found}"
                    );
                }
            }
        }
        good += usize::from(any);
        assert!(!any || !found.has_errors(), "case {case} of seed {seed}\n{text}\n{found}");
    }
    assert!(unknown * 10 < points, "{unknown} of {points} are not known");
    assert!(good as u64 * 4 > cases && (good as u64) < cases, "{good} of {cases} have good sizes");
}
