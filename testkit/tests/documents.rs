//! The documents: every link leads somewhere, and every block of code is executed by a test, or is of a
//! kind that cannot be.
#![allow(clippy::unwrap_used, reason = "tests fail so")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// All pages, relative to the root.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for folder in ["", "docs", "docs/book", "record", "editors", "examples", "python", "tests"] {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        let paths = entries.map(|entry| Path::new(folder).join(entry.unwrap().file_name()));
        pages.extend(paths.filter(|path| path.extension().is_some_and(|ext| ext == "md")));
    }
    pages.sort();
    pages
}

fn text(page: &Path) -> String {
    fs::read_to_string(root().join(page)).unwrap().replace("\r\n", "\n")
}

/// The lines outside of blocks of code, and the blocks by what stands after their first fence.
fn parts(text: &str) -> (Vec<&str>, Vec<(&str, usize)>) {
    let (mut prose, mut blocks, mut inside) = (Vec::new(), Vec::new(), false);
    for (number, line) in text.lines().enumerate() {
        match line.trim_start().strip_prefix("```") {
            Some(info) if !inside => {
                blocks.push((info.trim(), number + 1));
                inside = true;
            }
            Some(_) => inside = false,
            // Four spaces make a block of code, too.
            None if !inside && !line.starts_with("    ") => prose.push(line),
            None => {}
        }
    }
    (prose, blocks)
}

/// The targets of the links of a line, without what stands between backquotes.
fn links(line: &str) -> Vec<String> {
    let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("x");
    let after = plain.split("](").skip(1);
    after.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

/// The anchors of the headings of a page, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = parts(text).0.into_iter().filter(|line| line.starts_with('#'));
    let slug = |line: &str| -> String {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(slug).collect()
}

/// `docs/../README.md` is `README.md`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

#[test]
fn links_lead_somewhere() {
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for page in pages() {
        let content = text(&page);
        for target in parts(&content).0.into_iter().flat_map(links) {
            if ["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme)) {
                continue;
            }
            checked += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = match file {
                "" => page.clone(),
                file => plain(&page.parent().unwrap().join(file)),
            };
            if !root().join(&path).exists() {
                wrong.push(format!("{}: {target} is not there", page.display()));
            } else if !anchor.is_empty() && !anchors(&text(&path)).contains(anchor) {
                wrong.push(format!("{}: {target} has no such heading", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 200, "only {checked} links were found");
}

#[test]
fn the_summary_has_every_page_of_the_documentation_once() {
    let summary = Path::new("docs/book/SUMMARY.md");
    let listed: Vec<PathBuf> = text(summary)
        .lines()
        .flat_map(links)
        .map(|target| plain(&summary.parent().unwrap().join(target)))
        .collect();
    let once: BTreeSet<&PathBuf> = listed.iter().collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice");
    for page in pages().iter().filter(|page| page.parent() == Some(Path::new("docs"))) {
        assert!(once.contains(page), "docs/book/SUMMARY.md lacks {}", page.display());
    }
}

/// What executes the blocks of a kind on a page, or why nothing does.
fn executed_by(page: &str, info: &str) -> Option<&'static str> {
    Some(match (page, info) {
        ("README.md" | "docs/from-jax.md" | "docs/from-horde-ad.md" | "docs/sparse.md", "rust") => {
            "doctests of cotan"
        }
        ("docs/tutorial.md" | "docs/recipes.md" | "docs/performance.md", "rust") => {
            "doctests of cotan-train"
        }
        ("README.md" | "docs/recipes.md" | "docs/performance.md", "ct" | "console") => {
            "crates/cli/tests/cli/readme.rs"
        }
        ("docs/language.md", "ct" | "ct error" | "ct check" | "text" | "ct file=lib/layers.ct")
        | ("docs/from-futhark.md", "ct") => "crates/syntax/tests/language_doc.rs",
        (
            "README.md" | "docs/python.md" | "docs/from-numpy.md" | "docs/from-pytorch.md",
            "python",
        ) => "python/tests/test_docs.py",
        ("README.md", "text") => "crates/cotan/tests/examples.rs",
        ("docs/tour.md", "") => "crates/pipeline/tests/tour.rs",
        ("docs/semantics.md", "") => "crates/interp/tests/corners.rs",
        ("docs/from-horde-ad.md", "ct") => "crates/cotan/tests/equivalents",
        // Of other systems, to be compared with.
        ("docs/from-jax.md", "python")
        | ("docs/from-horde-ad.md", "haskell")
        | ("docs/from-futhark.md" | "docs/from-pytorch.md", "") => "another system's",
        // Needs JAX; python/tests/test_jax.py has such functions.
        ("docs/python.md", "") => "python/tests/test_jax.py",
        // Times differ from run to run; crates/cli/tests/gradbench has such messages.
        ("docs/gradbench.md", "console") => "crates/cli/tests/gradbench",
        // Needs a file of numbers.
        ("docs/sparse.md", "console") => "crates/cli/tests/cli/grad.rs",
        // Parts of files, whose generators have tests.
        ("docs/c.md", "" | "c") | ("docs/xla.md" | "docs/tools.md", "") => "parts, not programs",
        ("docs/adding-an-op.md", "rust") | ("docs/benchmarks.md", "json") => "parts, not programs",
        // Commands of a shell; their names and options are checked by crates/cli/tests/cli/readme.rs.
        (_, "sh") => "shell",
        _ => return None,
    })
}

#[test]
fn blocks_are_executed() {
    for page in pages() {
        let name = page.to_string_lossy().replace('\\', "/");
        if name != "README.md" && !name.starts_with("docs/") {
            continue;
        }
        for (info, line) in parts(&text(&page)).1 {
            assert!(
                executed_by(&name, info).is_some(),
                "{name}:{line}: nothing executes this block of `{info}`: see `executed_by`"
            );
        }
    }
}
