//! Profiles and pages.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use cotan_array::Array;
use cotan_cpu::RunLimits;
use cotan_ir::{FileId, Limits, Program};
use cotan_syntax::{instantiate, load_text};
use cotan_view::{
    MachineLimits, Measure, Options, Story, flame_graph, page, profile_json, profile_text,
};
use serde_json::Value;

const MODEL: &str = "\
# </script> must not end the script.
def main(w: [n, n]f64, x: [n]f64) =
  let h = tanh(matmul(w, x)) in
  sum(h * h)
";

/// A story with a profile.
fn story(n: usize) -> Story {
    let modules = load_text("model.ct", MODEL).expect("the program is right");
    let core = || {
        let made = instantiate(&modules, "main", &[], &[("n", n)], &Limits::default());
        Ok::<_, cotan_ir::Error>(made.expect("the program is right").program)
    };
    let arguments = |program: &Program| -> Option<Vec<Array>> {
        let full = |input: &cotan_ir::Input| Array::full(input.ty.shape.clone(), 0.5).ok();
        program.inputs().iter().map(full).collect()
    };
    let limits = RunLimits::default();
    let time = Duration::from_millis(200);
    let measure = Some(Measure { time, arguments: &arguments, limits: &limits });
    Story::of(core, &Options { measure, ..Options::default() }).unwrap()
}

#[test]
fn the_time_of_a_run_is_that_of_its_kernels() {
    let story = story(400);
    let part = story.profile.as_ref().unwrap();
    let known: f64 = part.profile.kernels.iter().map(|kernel| kernel.seconds).sum();
    assert!(part.profile.looks > 0, "{}", part.profile.looks);
    assert!(known > 0.5 * part.profile.seconds && known < 1.01 * part.profile.seconds);
    // The products of matrices are most of the work.
    let of_product: f64 = part
        .profile
        .kernels
        .iter()
        .filter(|kernel| kernel.info.operations > 100_000)
        .map(|kernel| kernel.seconds)
        .sum();
    assert!(of_product > 0.5 * known, "{of_product} of {known}");
}

#[test]
fn profiles_are_told_in_three_ways() {
    let story = story(50);
    let parts = std::slice::from_ref(story.profile.as_ref().unwrap());
    let limits = MachineLimits { operations: 1e10, bytes: 1e10 };
    let text = profile_text(parts, &story.record, &story.sources, limits);
    for part in ["value and gradient", "line", "let h = tanh", "The machine: 10.0 G"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = profile_json(parts, &story.record, &story.sources, limits);
    let kernels = json["parts"][0]["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), story.stage("kernel").unwrap().lines.len());
    assert!(kernels.iter().any(|k| k["lines"].as_array().unwrap().contains(&3.into())), "{json}");
    let flame = flame_graph(parts, &story.record, &story.sources);
    assert!(flame.starts_with("<svg") && flame.ends_with("</svg>\n"), "{flame}");
    assert_eq!(flame.matches("<g>").count(), flame.matches("</g>").count());
}

#[test]
fn a_page_needs_nothing_else() {
    let story = story(20);
    let html = page(&story, FileId(0));
    assert_eq!(html.matches("</script>").count(), 2, "a text ended a script");
    for remote in ["src=\"http", "href=", "@import", "fetch("] {
        assert!(!html.contains(remote), "{remote}");
    }
    let begin = html.find("application/json\">").unwrap() + "application/json\">".len();
    let end = begin + html[begin..].find("</script>").unwrap();
    let data: Value = serde_json::from_str(&html[begin..end]).unwrap();
    assert_eq!(data["source"][0], "# </script> must not end the script.");
    let names: Vec<&str> =
        data["stages"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["core", "bulk", "delta", "gradient", "optimised", "kernel"]);
    for stage in data["stages"].as_array().unwrap() {
        let lines = stage["lines"].as_array().unwrap();
        for line in lines {
            for user in line["uses"].as_array().unwrap() {
                assert!((user.as_u64().unwrap() as usize) < lines.len());
            }
        }
        // What the third line computes is somewhere in every stage.
        let of_third = |line: &Value| line["src"].as_array().unwrap().contains(&3.into());
        assert!(lines.iter().any(of_third), "{}", stage["name"]);
    }
    assert!(!data["profile"].as_array().unwrap().is_empty());
}
