//! The table of rules and the document made from it say the same.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail so")]

use cotan_bot::{Figure, RULES, Status};

#[test]
fn every_rule_stands_in_the_document_in_order() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules.md");
    let text = std::fs::read_to_string(file).unwrap();
    let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let names: Vec<&str> = headings.iter().filter_map(|h| h.split(' ').next()).collect();
    assert_eq!(names, RULES.iter().map(|rule| rule.name).collect::<Vec<_>>());
    for rule in RULES {
        for line in [rule.printed, rule.ours, rule.condition] {
            assert!(text.contains(line), "docs/rules.md lacks `{line}`: run `just rules`");
        }
    }
}

#[test]
fn the_table_tells_which_rules_are_the_report_s() {
    let printed = |figure| {
        RULES.iter().filter(|rule| rule.figure == figure && !rule.printed.is_empty()).count()
    };
    let counts = [Figure::Build, Figure::Index, Figure::BuildIndex, Figure::Guard].map(printed);
    assert_eq!(counts, [13, 13, 4, 0]);
    for rule in RULES {
        assert_eq!(rule.printed.is_empty(), rule.status == Status::Ours, "{}", rule.name);
    }
    let masked = RULES.iter().filter(|rule| rule.status == Status::MaskAdded).count();
    assert_eq!(masked, 4);
}
