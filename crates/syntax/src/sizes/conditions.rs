//! What a definition needs of its sizes, as notes.

use super::explore::{Explored, Tree};
use super::space::Space;
use super::system::Condition;
use crate::diagnostic::{Code, Diagnostic};

/// A condition that sizes must satisfy.
struct Requirement<'t> {
    /// The condition in words.
    needs: String,
    /// Where it matters.
    cases: Vec<String>,
    /// What is wrong otherwise.
    error: &'t Diagnostic,
}

impl Explored {
    /// A note for each condition, if there are sizes without errors.
    pub(crate) fn notes(&self, function: &str) -> Vec<Diagnostic> {
        let note = |requirement: Requirement<'_>| {
            let Requirement { needs, mut cases, error } = requirement;
            cases.reverse();
            let cases = match cases.is_empty() {
                true => String::new(),
                false => format!(" where {}", cases.join(" and ")),
            };
            let message = format!("`{function}` needs {needs}{cases}");
            let mut note = Diagnostic { message, code: Code::SizeCondition, ..error.clone() };
            note.notes.insert(0, format!("otherwise: {}", error.message));
            note
        };
        requirements(&self.tree, &self.space).into_iter().map(note).collect()
    }
}

fn requirements<'t>(tree: &'t Tree, space: &Space) -> Vec<Requirement<'t>> {
    match tree {
        Tree::Void | Tree::Good(..) | Tree::Bad(_) | Tree::Unknown(_) => Vec::new(),
        Tree::Need { condition, diagnostic, rest } => {
            let own =
                Requirement { needs: space.say(condition), cases: Vec::new(), error: diagnostic };
            std::iter::once(own).chain(requirements(rest, space)).collect()
        }
        Tree::Fit { options, diagnostic } => {
            let good = || options.iter().filter(|(_, tree)| !tree.is_bad());
            let open: Vec<Vec<Condition>> = good().map(|(option, _)| option.clone()).collect();
            let needs = space.say_any(&open);
            let own = Requirement { needs, cases: Vec::new(), error: diagnostic };
            let rest = good().next().map(|(_, tree)| requirements(tree, space));
            std::iter::once(own).chain(rest.into_iter().flatten()).collect()
        }
        Tree::Decide(branches) => decided(branches, space),
    }
}

fn decided<'t>(branches: &'t [(Condition, Tree)], space: &Space) -> Vec<Requirement<'t>> {
    let real = || branches.iter().filter(|(_, tree)| !matches!(tree, Tree::Void));
    let good = || real().filter(|(_, tree)| !tree.is_bad());
    let mut bad = real().filter(|(_, tree)| tree.is_bad());
    let mut all = Vec::new();
    if let (Some((condition, tree)), true) = (bad.next(), good().next().is_some())
        && let Some(error) = tree.errors().first()
    {
        let needs = match bad.next() {
            None => space.say_not(condition),
            Some(_) => {
                let open: Vec<Vec<Condition>> = good().map(|(l, _)| vec![l.clone()]).collect();
                space.say_any(&open)
            }
        };
        all.push(Requirement { needs, cases: Vec::new(), error });
    }
    let found: Vec<(&Condition, Vec<Requirement<'t>>)> =
        good().map(|(condition, tree)| (condition, requirements(tree, space))).collect();
    // What every part needs, it needs whatever is decided.
    let key = |r: &Requirement<'_>| (r.needs.clone(), r.cases.clone(), r.error.primary.span);
    let in_part = |part: &[Requirement<'_>], wanted: &Requirement<'_>| {
        part.iter().any(|requirement| key(requirement) == key(wanted))
    };
    let everywhere: Vec<_> = found.first().map_or(Vec::new(), |(_, first)| {
        let common = first.iter().filter(|r| found.iter().all(|(_, part)| in_part(part, r)));
        common.map(key).collect()
    });
    for (n, (condition, part)) in found.into_iter().enumerate() {
        for mut requirement in part {
            match everywhere.contains(&key(&requirement)) {
                true if n > 0 => continue,
                true => {}
                false => requirement.cases.push(space.say(condition)),
            }
            all.push(requirement);
        }
    }
    all
}
