//! Answers about a line of the source, and about a node.

use std::fmt::Write as _;

use cotan_ir::FileId;
use cotan_ir::provenance::Pass;
use cotan_pipeline::Cost;

use crate::cost::{bytes, count, short};
use crate::story::{Line, Story};

/// So many nodes of a stage are shown.
const MOST: usize = 40;

/// What a line of a file, from 1, becomes at every stage, what it and its derivative cost, and what is
/// stored for it. An error says which lines there is something to say about.
///
/// A node belongs to every line on which the text of one of its places begins, calls included.
pub fn line_report(story: &Story, file: FileId, line: u32) -> Result<String, String> {
    let text = story.sources.text(file).lines().nth(line.saturating_sub(1) as usize);
    let Some(text) = text.filter(|_| line > 0) else {
        let lines = story.sources.text(file).lines().count();
        return Err(format!("there is no line {line}: the program has {}", count(lines, "line")));
    };
    let belongs = |l: &Line| story.source_lines(l.span).contains(&(file, line)) && !l.given;
    let mut out = format!("{line:4} | {}\n", text.trim_end());
    let mut found = false;
    for stage in &story.stages {
        let lines: Vec<&Line> = stage.lines.iter().filter(|l| belongs(l)).collect();
        found |= !lines.is_empty();
        let what = match stage.name {
            "delta" => "term",
            "kernel" => "kernel",
            _ => "node",
        };
        let all = lines.iter().fold(Cost::default(), |sum, l| sum.plus(l.cost));
        let costs = match stage.name {
            "delta" => String::new(),
            _ if lines.is_empty() => String::new(),
            _ => format!(", {} operations, {}", short(all.operations), bytes(all.bytes)),
        };
        let _ = writeln!(out, "\n{}: {}{costs}", stage.name, count(lines.len(), what));
        for l in lines.iter().take(MOST) {
            let reverse = is_reverse(story, l) && stage.name != "kernel";
            let _ = writeln!(out, "  {}{}", shown(l), if reverse { "   (reverse)" } else { "" });
        }
        if lines.len() > MOST {
            let _ = writeln!(out, "  and {} more", lines.len() - MOST);
        }
    }
    if !found {
        return Err(nothing(story, file, line));
    }
    out += &costs(story, &belongs);
    out += &stored(story, file, line);
    Ok(out)
}

/// Whether only the derivative needs it.
fn is_reverse(story: &Story, line: &Line) -> bool {
    story.record.pass(line.span) == Some(Pass::Reverse)
}

/// `%12: [3]f64 = exp(%11)`.
fn shown(l: &Line) -> String {
    let number = l.id.split_once(':').map_or("", |(_, number)| number);
    match l.id.split_once(':').map(|(stage, _)| stage) {
        Some("kernel") => format!("kernel {number}: {}", l.text),
        Some("delta") => format!("d{number}: {} = {}", l.ty, l.text),
        _ => {
            let results = match l.results.is_empty() {
                true => String::new(),
                false => format!("   -> {}", l.results.join(", ")),
            };
            format!("%{number}: {} = {}{results}", l.ty, l.text)
        }
    }
}

fn nothing(story: &Story, file: FileId, line: u32) -> String {
    let mut lines: Vec<u32> = story.stages[0]
        .lines
        .iter()
        .flat_map(|l| story.source_lines(l.span))
        .filter(|(of, _)| *of == file)
        .map(|(_, line)| line)
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines.sort_by_key(|n| n.abs_diff(line));
    lines.truncate(8);
    lines.sort_unstable();
    let near: Vec<String> = lines.iter().map(u32::to_string).collect();
    match near.is_empty() {
        true => format!("nothing is computed on line {line}, nor on any other of this program"),
        false => format!(
            "nothing of this function is computed on line {line}; near it there is something on \
             {}",
            near.join(", ")
        ),
    }
}

/// What the line and its derivative cost as they run.
fn costs(story: &Story, belongs: &dyn Fn(&Line) -> bool) -> String {
    let Some(stage) = story.stage("optimised") else { return String::new() };
    let (mut forward, mut reverse, mut all) = (Cost::default(), Cost::default(), Cost::default());
    let mut shared = 0;
    for l in &stage.lines {
        all = all.plus(l.cost);
        if !belongs(l) {
            continue;
        }
        shared += usize::from(story.source_lines(l.span).len() > 1);
        match is_reverse(story, l) {
            true => reverse = reverse.plus(l.cost),
            false => forward = forward.plus(l.cost),
        }
    }
    let line = |what: &str, cost: Cost| {
        let share = 100.0 * cost.operations as f64 / all.operations.max(1) as f64;
        format!(
            "  {what:15} {:>9} operations ({share:.1} %), {:>9} of arrays\n",
            short(cost.operations),
            bytes(cost.bytes)
        )
    };
    let mut text = String::from("\nIn the program that runs:\n");
    text += &line("its value", forward);
    if story.no_derivative.is_none() {
        text += &line("its derivative", reverse);
    }
    if shared > 0 {
        let nodes = count(shared, "node");
        let _ = writeln!(text, "  of this, {nodes} also come from other lines");
    }
    text
}

/// What is kept between the forward and the reverse pass that the line computes.
fn stored(story: &Story, file: FileId, line: u32) -> String {
    if story.no_derivative.is_some() {
        return String::new();
    }
    let mut text = String::from("\nKept for the reverse pass:\n");
    let mut found = false;
    for residual in &story.residuals {
        let made = residual.input.is_none();
        if made && story.source_lines(residual.span).contains(&(file, line)) {
            found = true;
            let size = bytes(residual.ty.shape.bytes(residual.ty.dtype));
            let _ = writeln!(text, "  {size:>9}  {}, the result of `{}`", residual.ty, residual.op);
        }
    }
    if !found {
        text += "  nothing that this line makes\n";
    }
    text
}

/// Where a node comes from and the rules that made it; `node` is `bulk:12`, or a number alone for the
/// program that runs.
pub fn why(story: &Story, node: &str) -> Result<String, String> {
    let id = match node.contains(':') {
        true => node.replace("%", ""),
        false => format!("optimised:{}", node.trim_start_matches('%')),
    };
    let mut lines = story.stages.iter().flat_map(|stage| &stage.lines);
    let Some(line) = lines.find(|l| l.id == id) else {
        let stages: Vec<&str> = story.stages.iter().map(|stage| stage.name).collect();
        return Err(format!(
            "there is no node `{node}`; name one as `--line` shows it, with its stage, one of {}",
            stages.join(", ")
        ));
    };
    let mut out = format!("{}\n\nIt comes from:\n", shown(line));
    let places = story.record.places(line.span);
    for span in &places {
        let at = match story.sources.position(*span) {
            Some(at) => format!("{}:{}:{}", story.sources.name(span.file), at.line, at.column),
            None => "somewhere".to_owned(),
        };
        let source = story.sources.slice(*span).split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(out, "  {at}: {}", cut(&source, 72));
    }
    if places.is_empty() {
        out += "  nothing that was written: the system made it\n";
    }
    let events = story.record.events(line.span);
    let rules = events.iter().map(|&n| (n, &story.record.all_events()[n]));
    let _ = writeln!(out, "\nWhat happened on the way: {}", count(events.len(), "event"));
    for (n, event) in rules {
        match event.before.is_empty() {
            true => drop(writeln!(out, "  {n:4} {}: {}", event.stage, event.rule)),
            false => {
                let (before, after) = (cut(&event.before, 88), cut(&event.after, 88));
                let _ = writeln!(out, "  {n:4} {}: {}", event.stage, event.rule);
                let _ = writeln!(out, "         {before}\n      ~> {after}");
            }
        }
    }
    if story.record.is_full(line.span) {
        out += "There may be more: a node remembers a limited number of places and events.\n";
    }
    Ok(out)
}

/// The beginning of a text on one line.
fn cut(text: &str, most: usize) -> String {
    let line = text.replace('\n', " ");
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}..", &line[..at]),
        None => line,
    }
}
