//! What can be looked up: error codes, scalar operations, builtin functions, rules.

use std::fmt::Write;

use cotan_bot::{Figure, RULES, Rule, Status};
use cotan_ir::scalar::{Notation, Op};
use cotan_opt::RuleGroup;
use cotan_syntax::{Code, Group, Severity, builtins as all_builtins};

use crate::args::{ErrorArgs, NamesArgs, RulesArgs};
use crate::failure::{Failure, Outcome};
use crate::terminal::Terminal;

/// `cotan error`
pub fn error(args: &ErrorArgs, terminal: &Terminal) -> Outcome {
    let Some(wanted) = &args.code else {
        let line = |code: &Code| format!("{code}  {}\n", code.title());
        return terminal.write(&Code::ALL.iter().map(line).collect::<String>());
    };
    let code = Code::parse(wanted).ok_or_else(|| {
        Failure::usage(format_args!("there is no error code `{wanted}`"))
            .hint("codes look like E0007; `cotan error` lists them all")
    })?;
    let severity = match code.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    terminal.write(&format!("{severity} {code}: {}\n\n{}", code.title(), code.explanation()))
}

/// Those of a list that were asked for, or all; an error for a name that is not in it.
fn selected<T>(
    all: impl Iterator<Item = T>,
    names: &[String],
    what: &str,
    name: impl Fn(&T) -> &str,
) -> Outcome<Vec<T>> {
    let all: Vec<T> = all.collect();
    if let Some(unknown) = names.iter().find(|wanted| all.iter().all(|item| name(item) != **wanted))
    {
        return Err(Failure::usage(format_args!("there is no {what} `{unknown}`"))
            .hint(format_args!("`cotan {what}s` without a name lists them all")));
    }
    let wanted = |item: &T| names.is_empty() || names.iter().any(|wanted| wanted == name(item));
    Ok(all.into_iter().filter(wanted).collect())
}

/// `cotan operations`
pub fn operations(args: &NamesArgs, terminal: &Terminal) -> Outcome {
    let mut text = String::new();
    for op in selected(Op::all(), &args.names, "operation", |op| op.name())? {
        let row = op.row();
        let letters = &["a", "b", "c"][..op.arity().min(3)];
        let call = format!("{}({})", row.name, letters.join(", "));
        let written = match row.notation {
            Notation::Call => call,
            Notation::Infix(symbol, _) => format!("a {symbol} b  or  {call}"),
            Notation::Prefix(symbol, _) => format!("{symbol} a  or  {call}"),
        };
        let _ = writeln!(text, "{written}\n    {}", row.doc);
        let _ = writeln!(text, "    Takes {}.", op.signature());
        let partials = letters.iter().zip(row.partials);
        let partials: Vec<String> = partials.map(|(x, dx)| format!("d/d{x} = {dx}")).collect();
        let derivatives = if partials.is_empty() { "discrete".into() } else { partials.join("; ") };
        let _ = writeln!(text, "    Derivative: {derivatives}.\n");
    }
    terminal.write(&text)
}

/// `cotan builtins`
pub fn builtins(args: &NamesArgs, terminal: &Terminal) -> Outcome {
    let mut text = String::new();
    let mut group = None;
    for builtin in selected(all_builtins().iter(), &args.names, "builtin", |builtin| builtin.name)?
    {
        if group != Some(builtin.group) {
            group = Some(builtin.group);
            let _ = writeln!(
                text,
                "{}# {}",
                if text.is_empty() { "" } else { "\n" },
                title(builtin.group)
            );
        }
        let _ = writeln!(text, "{}\n    {}", builtin.signature, builtin.doc);
        if !builtin.example.is_empty() {
            let _ = writeln!(text, "    Example: {}", builtin.example);
        }
    }
    terminal.write(&text)
}

fn title(group: Group) -> &'static str {
    match group {
        Group::Making => "Making arrays",
        Group::Sizes => "Sizes",
        Group::Arranging => "Other arrangements of the same elements",
        Group::Reducing => "Sums and other reductions",
        Group::Sorting => "Sorting and searching",
        Group::Linear => "Products of vectors and matrices",
        Group::Fourier => "Fourier transforms",
        Group::Loops => "Loops",
        Group::Solvers => "Equations, differential equations and integrals",
        Group::Derivatives => "Derivatives of functions",
        Group::Elementwise => "Conversions and small formulas",
        Group::Neural => "Neural networks",
        Group::Losses => "Losses",
        Group::Core => "The core language, as programs print it",
        Group::Scalar => "Scalar operations, elementwise on arrays (see `cotan operations`)",
    }
}

/// `cotan rules`
pub fn rules(args: &RulesArgs, terminal: &Terminal) -> Outcome {
    terminal.write(&match (args.optimiser, args.markdown) {
        (false, false) => rules_text(),
        (false, true) => rules_document(),
        (true, false) => optimiser_text(),
        (true, true) => optimiser_document(),
    })
}

const GROUPS: [RuleGroup; 6] = [
    RuleGroup::Algebra,
    RuleGroup::Views,
    RuleGroup::Scatters,
    RuleGroup::Factors,
    RuleGroup::Sums,
    RuleGroup::Loops,
];

fn rules_of_group(group: RuleGroup) -> impl Iterator<Item = &'static cotan_opt::Rule> {
    cotan_opt::RULES.iter().filter(move |rule| rule.group == group)
}

fn optimiser_text() -> String {
    let mut text = String::new();
    for group in GROUPS {
        let _ = writeln!(text, "{}\n", group.title());
        for rule in rules_of_group(group) {
            let _ = writeln!(
                text,
                "  {} ({})\n      {}",
                rule.name,
                rule.exactness.describe(),
                rule.line
            );
            if !rule.condition.is_empty() {
                let _ = writeln!(text, "      if {}", rule.condition);
            }
        }
        text += "\n";
    }
    text
}

/// `docs/optimiser.md`, which `just rules` writes and a test compares with this.
fn optimiser_document() -> String {
    let mut text = "# The rules of the optimiser\n\n\
        Written by `cotan rules --optimiser --markdown` from the table in `crates/opt/src/rules.rs`. \
        The optimiser takes a program of bulk operations that is about to be run. Each group has a \
        switch. NaN and infinities are kept, and so is every bit, but for what the last column says; \
        [semantics.md](semantics.md) says what that means. `cotan explain --stage optimised --trace` \
        shows every firing.\n"
        .to_owned();
    for group in GROUPS {
        let _ =
            writeln!(text, "\n## {}\n\n| rule | | if | values |\n|---|---|---|---|", group.title());
        for rule in rules_of_group(group) {
            let line = rule.line.replace('|', "\\|");
            let (condition, values) = (rule.condition, rule.exactness.describe());
            let _ = writeln!(text, "| {} | `{line}` | {condition} | {values} |", rule.name);
        }
    }
    text
}

fn rules_of(figure: Figure) -> impl Iterator<Item = &'static Rule> {
    RULES.iter().filter(move |rule| rule.figure == figure)
}

const FIGURES: [Figure; 4] = [Figure::Build, Figure::Index, Figure::BuildIndex, Figure::Guard];

fn rules_text() -> String {
    let mut text = String::new();
    for figure in FIGURES {
        let _ = writeln!(text, "{}\n", figure.title());
        for rule in rules_of(figure) {
            let _ = writeln!(text, "  {} ({})\n      {}", rule.name, status(rule), rule.ours);
            if !rule.condition.is_empty() {
                let _ = writeln!(text, "      if {}", rule.condition);
            }
        }
        text += "\n";
    }
    text
}

fn status(rule: &Rule) -> &'static str {
    match rule.status {
        Status::AsPrinted => "as printed",
        Status::ByConstruction => "by construction",
        Status::MaskAdded => "mask added",
        Status::Changed(_) => "changed",
        Status::Ours => "ours",
    }
}

/// `docs/rules.md`, which `just rules` writes and a test compares with this.
fn rules_document() -> String {
    let mut text = "# The rules of the bulk-operation transform\n\n\
        Written by `cotan rules --markdown` from the table in `crates/bot/src/rules.rs`. For each rule, \
        the report's line if it has one, and ours below it. `mask(c, t)` is `where(c, t, 0)`, left out \
        where intervals show `c` to hold. [errata.md](errata.md) says why some rules differ.\n"
        .to_owned();
    for figure in FIGURES {
        let _ = writeln!(text, "\n## {}", figure.title());
        for rule in rules_of(figure) {
            let _ = writeln!(text, "\n### {} ({})\n", rule.name, status(rule));
            if !rule.printed.is_empty() {
                let _ = writeln!(text, "$${}$$\n", rule.printed);
            }
            let _ = writeln!(text, "`{}`", rule.ours);
            if !rule.condition.is_empty() {
                let _ = writeln!(text, "\nSide condition: {}.", rule.condition);
            }
            if let Status::Changed(reason) = rule.status {
                let _ = writeln!(text, "\nReason: {reason}.");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_of_the_rules_is_up_to_date() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules.md");
        let committed = std::fs::read_to_string(file).unwrap().replace("\r\n", "\n");
        assert!(committed == rules_document(), "docs/rules.md is out of date: run `just rules`");
    }

    #[test]
    fn the_document_of_the_optimiser_is_up_to_date() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/optimiser.md");
        let committed = std::fs::read_to_string(file).unwrap().replace("\r\n", "\n");
        assert!(
            committed == optimiser_document(),
            "docs/optimiser.md is out of date: run `just rules`"
        );
        assert_eq!(GROUPS.into_iter().flat_map(rules_of_group).count(), cotan_opt::RULES.len());
    }

    #[test]
    fn every_rule_stands_in_a_figure() {
        assert_eq!(FIGURES.into_iter().flat_map(rules_of).count(), RULES.len());
    }
}
