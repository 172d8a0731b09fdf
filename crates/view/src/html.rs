//! A story as one page that needs nothing else.

use cotan_ir::{FileId, Span};
use serde_json::{Value, json};

use cotan_ir::provenance::Pass;
use rustc_hash::FxHashMap;

use crate::cost::{bytes, count};
use crate::profile::{escaped, flame_graph};
use crate::story::{Line, Story};

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// So many lines of a stage are on a page, and so many events: browsers are slow with more.
const MOST_LINES: usize = 4000;
const MOST_EVENTS: usize = 4000;

/// The page: the source and all stages side by side, the graph, the rules, the profile and the memory.
/// `file` is the text that is shown.
pub fn page(story: &Story, file: FileId) -> String {
    let data = data(story, file).to_string();
    // A text in a program must not end the script that it is in.
    let data = data.replace('<', "\\u003c").replace('\u{2028}', "\\u2028");
    PAGE.replace("@TITLE@", &escaped(story.sources.name(file)))
        .replace("@CSS@", STYLE)
        .replace("@JS@", SCRIPT)
        .replace("@DATA@", &data)
}

/// Numbers of places, in the order in which they were met.
#[derive(Default)]
struct Places {
    numbers: FxHashMap<Span, usize>,
}

impl Places {
    fn numbers(&mut self, spans: &[Span]) -> Vec<usize> {
        let number = |span: &Span| {
            let next = self.numbers.len();
            *self.numbers.entry(*span).or_insert(next)
        };
        spans.iter().map(number).collect()
    }
}

fn data(story: &Story, file: FileId) -> Value {
    let mut places = Places::default();
    let of_file = |span: Span| -> Vec<u32> {
        let lines = story.source_lines(span).into_iter();
        lines.filter(|(of, _)| *of == file).map(|(_, line)| line).collect()
    };
    let mut line = |l: &Line| {
        let known = story.record.places(l.span);
        let (stage, number) = l.id.split_once(':').unwrap_or(("", &l.id));
        let label = match stage {
            "delta" => format!("d{number}"),
            "kernel" => number.to_owned(),
            _ => format!("%{number}"),
        };
        let reverse = story.record.pass(l.span) == Some(Pass::Reverse) && stage != "kernel";
        json!({
            "id": l.id,
            "label": label,
            "text": l.text,
            "ty": l.ty,
            "src": of_file(l.span),
            "places": places.numbers(&known),
            "events": story.record.events(l.span),
            "uses": l.uses.iter().filter(|&&u| u < MOST_LINES).collect::<Vec<_>>(),
            "operations": l.cost.operations,
            "bytes": l.cost.bytes,
            "depth": l.depth,
            "results": l.results,
            "reverse": reverse,
            "given": l.given,
        })
    };
    let mut stages = Vec::new();
    let kernels = story.profile.as_ref().map(|part| &part.profile.kernels);
    for stage in &story.stages {
        let mut lines: Vec<Value> = stage.lines.iter().take(MOST_LINES).map(&mut line).collect();
        if let ("kernel", Some(kernels)) = (stage.name, kernels) {
            for (line, kernel) in lines.iter_mut().zip(kernels) {
                line["seconds"] = json!(kernel.seconds);
            }
        }
        let left = stage.lines.len().saturating_sub(MOST_LINES);
        let title = match left {
            0 => stage.title.to_owned(),
            left => format!("{}; {} not shown", stage.title, count(left, "line")),
        };
        let why = if stage.name == "kernel" { story.no_kernels } else { None };
        stages.push(json!({"name": stage.name, "title": title, "lines": lines, "why": why}));
    }
    let event = |event: &cotan_ir::provenance::Event| {
        json!({
            "stage": event.stage,
            "rule": event.rule,
            "src": of_file(event.from),
            "before": event.before,
            "after": event.after,
        })
    };
    let events: Vec<Value> =
        story.record.all_events().iter().take(MOST_EVENTS).map(event).collect();
    let mut memory = story.memory.clone();
    if !story.residuals.is_empty() {
        memory += "\nKept for the reverse pass, the largest first:\n";
        for residual in &story.residuals {
            let size = bytes(residual.ty.shape.bytes(residual.ty.dtype));
            let from = match residual.input {
                Some(_) => "an argument".to_owned(),
                None => format!("`{}`", residual.op),
            };
            memory += &format!("{size:>10}  {} from {from}\n", residual.ty);
        }
    }
    let mut data = json!({
        "name": story.sources.name(file),
        "source": story.sources.text(file).lines().collect::<Vec<_>>(),
        "stages": stages,
        "events": events,
        "memory": memory,
    });
    if let Some(part) = &story.profile {
        let kernels: Vec<Value> = part
            .profile
            .kernels
            .iter()
            .enumerate()
            .map(|(n, kernel)| {
                let span = part.place(n);
                json!({
                    "text": kernel.info.title(),
                    "seconds": kernel.seconds,
                    "operations": kernel.info.operations,
                    "bytes": kernel.info.bytes,
                    "src": of_file(span),
                })
            })
            .collect();
        let profile = &part.profile;
        data["profile"] = json!(kernels);
        data["seconds"] = json!(profile.seconds);
        data["profile_note"] = json!(format!(
            "{}: {:.3} ms a run, of {} runs; {} looks. Arguments that were not given are random.",
            part.name,
            1e3 * profile.seconds,
            profile.runs,
            profile.looks
        ));
        let flame = flame_graph(std::slice::from_ref(part), &story.record, &story.sources);
        data["flame"] = json!(flame);
    }
    data
}
