//! What lines of the source become, and why nodes are there.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use cotan_ir::{FileId, Limits};
use cotan_syntax::{instantiate, load_text};
use cotan_view::{Line, Options, Story, line_report, why};

const MODEL: &str = "\
def layer(w: [m, n]f64, x: [n]f64): [m]f64 =
  tanh(matmul(w, x))

def main(w: [m, n]f64, x: [n]f64, y: [m]f64) =
  let h = layer(w, x) in
  let d = h - y in
  let z = build m (i => d[i] * d[i] * 1.0) in
  sum(z) / 2.0
";

fn story(text: &str, sizes: &[(&str, usize)]) -> Story {
    let modules = load_text("model.ct", text).expect("the program is right");
    let core = || {
        let made = instantiate(&modules, "main", &[], sizes, &Limits::default());
        Ok::<_, cotan_ir::Error>(made.expect("the program is right").program)
    };
    Story::of(core, &Options::default()).unwrap()
}

fn of_line<'a>(story: &'a Story, stage: &str, line: u32) -> Vec<&'a Line> {
    let lines = &story.stage(stage).unwrap().lines;
    lines.iter().filter(|l| story.source_lines(l.span).contains(&(FileId(0), line))).collect()
}

#[test]
fn a_line_is_found_at_every_stage() {
    let story = story(MODEL, &[("m", 3), ("n", 4)]);
    for stage in ["core", "bulk", "delta", "gradient", "optimised", "kernel"] {
        for line in [2, 5, 6, 7] {
            assert!(!of_line(&story, stage, line).is_empty(), "{stage} has nothing of {line}");
        }
        // What a function computes comes from its text and from the call.
        let inside: Vec<&str> = of_line(&story, stage, 2).iter().map(|l| &*l.id).collect();
        let call: Vec<&str> = of_line(&story, stage, 5).iter().map(|l| &*l.id).collect();
        assert_eq!(inside, call, "{stage}");
    }
    // Nothing is computed where functions and their parameters are declared.
    assert!(of_line(&story, "optimised", 4).is_empty());
    let tanh: Vec<&Line> = of_line(&story, "optimised", 2)
        .into_iter()
        .filter(|l| l.text.starts_with("tanh"))
        .collect();
    assert_eq!(tanh.len(), 1);
}

#[test]
fn every_node_that_runs_has_a_place() {
    let story = story(MODEL, &[("m", 3), ("n", 4)]);
    for stage in &story.stages {
        for line in stage.lines.iter().filter(|l| !l.given) {
            // Only the seed of the reverse pass is of nobody's making.
            let known = !story.record.places(line.span).is_empty();
            assert!(known || line.text.contains("1.0"), "{} {}", line.id, line.text);
        }
    }
}

#[test]
fn a_report_tells_costs_and_what_is_kept() {
    let story = story(MODEL, &[("m", 3), ("n", 4)]);
    let text = line_report(&story, FileId(0), 2).unwrap();
    for part in ["tanh(", "(reverse)", "its derivative", "the result of `mul`", "kernel 1: nest"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(line_report(&story, FileId(0), 4).unwrap_err().contains("near it"));
    assert!(line_report(&story, FileId(0), 99).unwrap_err().contains("8 lines"));
    assert!(line_report(&story, FileId(0), 0).is_err());
}

#[test]
fn rules_that_made_a_node_are_told() {
    let story = story(MODEL, &[("m", 3), ("n", 4)]);
    let square =
        of_line(&story, "optimised", 7).into_iter().find(|l| l.text.starts_with("mul")).unwrap();
    let text = why(&story, &square.id).unwrap();
    assert!(text.contains("bulk: build/"), "{text}");
    assert!(text.contains("optimised: "), "{text}");
    assert!(text.contains("model.ct:7:"), "{text}");
    let number = square.id.trim_start_matches("optimised:");
    assert_eq!(why(&story, number).unwrap(), text);
    assert!(why(&story, "core:99999").unwrap_err().contains("there is no node"));
}

#[test]
fn programs_without_derivatives_have_a_story() {
    let story = story("def main(n: i64) = n + 1\n", &[]);
    assert!(story.no_derivative.is_some() && story.stage("delta").is_none());
    assert!(line_report(&story, FileId(0), 1).unwrap().contains("its value"));
}

#[test]
fn long_programs_take_no_more_than_their_length() {
    let mut text = String::from("def main(x: f64) =\n");
    for n in 0..3000 {
        let before = if n == 0 { "x".to_owned() } else { format!("y{}", n - 1) };
        text += &format!("  let y{n} = sin({before}) * 1.0 + 0.0 * {before} in\n");
    }
    text += "  y2999\n";
    let begin = std::time::Instant::now();
    let story = story(&text, &[]);
    assert!(of_line(&story, "optimised", 2000).len() > 1);
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}
