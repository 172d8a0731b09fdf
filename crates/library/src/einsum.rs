//! `einsum`: sums of products in the notation of Einstein.

use cotan_ir::{Error, Result, broadcast_dims};
use rustc_hash::FxHashMap;

use crate::context::{Context, Fact};
use crate::contract::{Label, Labelled, Labels, contract};
use crate::term::Term;

/// The sum of products that the subscripts say.
pub(crate) fn summed_by<'c>(c: &'c Context, subscripts: &str, operands: &[Term<'c>]) -> Term<'c> {
    run(c, subscripts, operands).unwrap_or_else(|error| c.fail(error))
}

/// The axes of an operand or of the result.
#[derive(Debug, Default)]
struct Subscripts {
    before: Vec<char>,
    /// The letters after `...`, if that stands there.
    after: Option<Vec<char>>,
}

impl Subscripts {
    fn parse(text: &str) -> Result<Subscripts> {
        let mut term = Subscripts::default();
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            if let Some(after) = rest.strip_prefix("...") {
                if term.after.is_some() {
                    return Err(wrong(format!("`...` stands twice in `{text}`")));
                }
                term.after = Some(Vec::new());
                rest = after;
                continue;
            }
            if !letter.is_ascii_alphabetic() {
                let hint = "axes are named by the letters a-z and A-Z, and `...`";
                return Err(wrong(format!("`{letter}` in `{text}`")).with_hint(hint));
            }
            term.after.as_mut().unwrap_or(&mut term.before).push(letter);
            rest = rest.strip_prefix(letter).unwrap_or_default();
        }
        Ok(term)
    }

    fn letters(&self) -> impl Iterator<Item = char> + '_ {
        self.before.iter().chain(self.after.iter().flatten()).copied()
    }

    /// The positions of the axes that `...` stands for.
    fn dots(&self, rank: usize) -> std::ops::Range<usize> {
        let after = self.after.as_ref().map_or(0, Vec::len);
        self.before.len()..rank.saturating_sub(after).max(self.before.len())
    }
}

fn wrong(message: String) -> Error {
    Error::type_error("", message)
}

fn run<'c>(c: &'c Context, subscripts: &str, operands: &[Term<'c>]) -> Result<Term<'c>> {
    let text: String = subscripts.chars().filter(|c| !c.is_whitespace()).collect();
    let (inputs, output) = match text.split_once("->") {
        Some((inputs, output)) => (inputs, Some(Subscripts::parse(output)?)),
        None => (text.as_str(), None),
    };
    let terms: Vec<Subscripts> = inputs.split(',').map(Subscripts::parse).collect::<Result<_>>()?;
    if terms.len() != operands.len() {
        let message = format!("`{inputs}` is for {} arrays, not {}", terms.len(), operands.len());
        return Err(wrong(message));
    }

    let mut labels = Labels::default();
    let letters = letters_of(&terms, operands, &mut labels)?;
    let dots = dots_of(&terms, operands)?;
    let dots = labels.fresh_all(&dots);
    let label = |letter: char| letters.get(&letter).map(|&(label, _)| label);

    let mut labelled = Vec::with_capacity(operands.len());
    for (term, &x) in terms.iter().zip(operands) {
        let range = term.dots(x.rank());
        let mut own: Vec<Option<Label>> = term.before.iter().map(|&c| label(c)).collect();
        own.extend(range.clone().map(|_| None));
        own.extend(term.after.iter().flatten().map(|&c| label(c)));
        labelled.push(Labelled::broadcast(x, &own, range, &dots, &labels).diagonal(&labels));
    }
    let out = out_labels(output, &terms, &letters, &dots)?;
    Ok(contract(c, labelled, &out, &labels))
}

/// The letters with their labels, and an array that has each.
fn letters_of<'c>(
    terms: &[Subscripts],
    operands: &[Term<'c>],
    labels: &mut Labels,
) -> Result<FxHashMap<char, (Label, Term<'c>)>> {
    let mut letters: FxHashMap<char, (Label, Term<'c>)> = FxHashMap::default();
    let c = operands.first().map(|x| x.context());
    for (n, (term, &x)) in terms.iter().zip(operands).enumerate() {
        let sizes = x.dims();
        let count = term.letters().count();
        if count > sizes.len() || (term.after.is_none() && count < sizes.len()) {
            let axes = if count == 1 { "axis" } else { "axes" };
            let message = format!("operand {n} names {count} {axes}, but is {}", x.shown());
            let hint = "every axis needs a letter; `...` stands for any number of axes";
            return Err(wrong(message).with_hint(hint));
        }
        let dots = term.dots(sizes.len());
        let named = sizes.iter().enumerate().filter(|(axis, _)| !dots.contains(axis));
        for (letter, (_, &size)) in term.letters().zip(named) {
            let &mut (label, first) =
                letters.entry(letter).or_insert_with(|| (labels.fresh(size), x));
            let before = labels.size(label);
            if before != size {
                if let Some(c) = c {
                    c.note(Fact::UnlessEqual(vec![(before, size)]));
                }
                let (first, here) = (first.shown(), x.shown());
                let message =
                    format!("the letter `{letter}` is {before} in {first} and {size} in {here}");
                let hint = "axes with the same letter must have the same size";
                return Err(wrong(message).with_hint(hint));
            }
        }
    }
    Ok(letters)
}

/// The sizes that `...` stands for.
fn dots_of<'c>(terms: &[Subscripts], operands: &[Term<'c>]) -> Result<Vec<usize>> {
    let mut common: Vec<usize> = Vec::new();
    for (term, &x) in terms.iter().zip(operands) {
        let sizes = x.dims();
        let own = sizes.get(term.dots(sizes.len())).unwrap_or_default();
        common = broadcast_dims(&common, own).ok_or_else(|| {
            let message =
                format!("`...` is {common:?} in the operands before and {own:?} in {}", x.shown());
            let hint = "shapes fit when, from the last axis back, sizes are equal, 1 or missing";
            wrong(message).with_hint(hint)
        })?;
    }
    Ok(common)
}

/// The labels of the result.
fn out_labels<'c>(
    output: Option<Subscripts>,
    terms: &[Subscripts],
    letters: &FxHashMap<char, (Label, Term<'c>)>,
    dots: &[Label],
) -> Result<Vec<Label>> {
    let output = output.unwrap_or_else(|| {
        let all: Vec<char> = terms.iter().flat_map(Subscripts::letters).collect();
        let once = |letter: &char| all.iter().filter(|&other| other == letter).count() == 1;
        let mut after: Vec<char> = all.iter().copied().filter(once).collect();
        after.sort_unstable();
        Subscripts { before: Vec::new(), after: Some(after) }
    });
    if output.after.is_none() && !dots.is_empty() {
        let message = "the result does not say where the axes of `...` are".to_owned();
        return Err(wrong(message).with_hint("write `...` in the result, or sum these axes before"));
    }
    let mut seen: Vec<char> = Vec::new();
    let mut label = |letter: &char| {
        if seen.contains(letter) {
            return Err(wrong(format!("the result has the letter `{letter}` twice")));
        }
        seen.push(*letter);
        letters.get(letter).map(|&(label, _)| label).ok_or_else(|| {
            wrong(format!("the result has the letter `{letter}`, which no operand has"))
        })
    };
    let mut out: Vec<Label> = output.before.iter().map(&mut label).collect::<Result<_>>()?;
    if let Some(after) = &output.after {
        out.extend(dots);
        for letter in after {
            out.push(label(letter)?);
        }
    }
    Ok(out)
}
