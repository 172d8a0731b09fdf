//! Profiles as text, as JSON, and as flame graphs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cotan_cpu::{KernelTime, Profile};
use cotan_ir::provenance::Record;
use cotan_ir::{FileId, Program, SourceMap, Span};
use serde_json::{Value, json};

use crate::cost::bytes;
use crate::kernels;

/// What the machine can do at most, a second.
#[derive(Clone, Copy, Debug)]
pub struct MachineLimits {
    /// Scalar operations.
    pub operations: f64,
    /// Bytes of memory.
    pub bytes: f64,
}

/// A program and where its time goes.
#[derive(Debug)]
pub struct Part {
    /// What it computes: `value`, `value and gradient`.
    pub name: &'static str,
    /// The profile.
    pub profile: Profile,
    /// The bytes of arguments and results.
    pub interface: u64,
    /// Where each kernel comes from.
    places: Vec<Span>,
}

impl Part {
    /// The profile of a program that runs. To know all lines that kernels come from, the program was
    /// made in a record that is still being made.
    pub fn new(name: &'static str, program: &Program, profile: Profile) -> Part {
        let infos: Vec<_> = profile.kernels.iter().map(|kernel| kernel.info.clone()).collect();
        let places = kernels::places(program, &infos);
        let inputs = program.inputs().iter().map(|input| &input.ty);
        let types = inputs.chain(program.outputs().iter().map(|output| program.ty(output.term)));
        let interface = types.map(|ty| ty.shape.bytes(ty.dtype)).fold(0, u64::saturating_add);
        Part { name, profile, interface, places }
    }

    /// Where a kernel comes from.
    pub(crate) fn place(&self, n: usize) -> Span {
        self.places.get(n).copied().unwrap_or_default()
    }

    /// The lines that a kernel comes from.
    fn lines(&self, n: usize, record: &Record, sources: &SourceMap) -> Vec<(FileId, u32)> {
        let places = record.places(self.places[n]);
        let mut lines: Vec<_> = places
            .iter()
            .filter_map(|span| Some((span.file, sources.position(*span)?.line)))
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// The time of the kernels that come from each line, in seconds.
    fn by_line(&self, record: &Record, sources: &SourceMap) -> BTreeMap<(FileId, u32), f64> {
        let mut lines = BTreeMap::new();
        for (n, kernel) in self.profile.kernels.iter().enumerate() {
            for line in self.lines(n, record, sources) {
                *lines.entry(line).or_insert(0.0) += kernel.seconds;
            }
        }
        lines
    }

    /// The time of a run that no kernel was seen in: beginning, ending, what is between kernels.
    fn rest(&self) -> f64 {
        let known: f64 = self.profile.kernels.iter().map(|kernel| kernel.seconds).sum();
        (self.profile.seconds - known).max(0.0)
    }
}

/// A time in the unit that fits.
fn time(x: f64) -> String {
    match x {
        0.0 => "-".to_owned(),
        x if x < 1e-6 => format!("{:.1} ns", x * 1e9),
        x if x < 1e-3 => format!("{:.2} us", x * 1e6),
        x if x < 1.0 => format!("{:.2} ms", x * 1e3),
        x => format!("{x:.2} s"),
    }
}

/// What a kernel does a second as shares of what the machine can do: operations, and bytes.
fn shares(kernel: &KernelTime, limits: MachineLimits) -> Option<(f64, f64)> {
    let rate = |n: u64| n as f64 / kernel.seconds;
    let (operations, bytes) = (rate(kernel.info.operations), rate(kernel.info.bytes));
    (kernel.seconds > 0.0).then_some((operations / limits.operations, bytes / limits.bytes))
}

/// The profiles for people.
pub fn profile_text(
    parts: &[Part],
    record: &Record,
    sources: &SourceMap,
    limits: MachineLimits,
) -> String {
    let mut out = String::new();
    for part in parts {
        let Profile { seconds, least, runs, overhead, looks, busy, workspace, .. } = part.profile;
        let _ = writeln!(
            out,
            "{}: {} a run, {} at least, of {runs} runs",
            part.name,
            time(seconds),
            time(least)
        );
        let busy = busy.map_or(String::new(), |n| format!("{n:.1} threads at work; "));
        let (between, given) = (bytes(workspace), bytes(part.interface));
        let _ =
            writeln!(out, "  {busy}memory: arguments and results {given}, in between {between}");
        let _ = writeln!(
            out,
            "  {looks} looks, with which runs took {:+.1} % longer\n",
            100.0 * overhead
        );
        let _ = writeln!(
            out,
            "  {:>10} {:>6}  {:>8} {:>7}  {:>8} {:>7}  {:>8}  kernel",
            "time", "share", "Gop/s", "of most", "GB/s", "of most", "alive"
        );
        for (n, kernel) in part.profile.kernels.iter().enumerate() {
            let info = &kernel.info;
            let share = 100.0 * kernel.seconds / seconds.max(1e-12);
            let figures = match shares(kernel, limits) {
                Some((operations, moved)) => {
                    let rate = |share: f64, limit: f64| share * limit / 1e9;
                    let (ops, gb) =
                        (rate(operations, limits.operations), rate(moved, limits.bytes));
                    // What several threads share or caches hold may be faster than memory.
                    let (operations, moved) = (100.0 * operations, 100.0 * moved);
                    format!("{ops:8.2} {operations:6.1}%  {gb:8.2} {moved:6.1}%")
                }
                None => format!("{:>8} {:>7}  {:>8} {:>7}", "-", "-", "-", "-"),
            };
            let indent = "  ".repeat(info.depth);
            let lines = shown_lines(&part.lines(n, record, sources));
            let (title, alive) = (info.title(), bytes(info.alive));
            let spent = time(kernel.seconds);
            let _ = writeln!(
                out,
                "  {spent:>10} {share:5.1}%  {figures}  {alive:>8}  {indent}{title}{lines}"
            );
        }
        let rest = 100.0 * part.rest() / seconds.max(1e-12);
        let _ = writeln!(out, "  {:>10} {rest:5.1}%  between kernels", time(part.rest()));
        out.push('\n');
    }
    out += &lines_text(parts, record, sources);
    let _ = writeln!(
        out,
        "The machine: {:.1} G operations/s, {:.1} GB/s. A time from few looks is rough: of 100 looks, a \
         tenth.",
        limits.operations / 1e9,
        limits.bytes / 1e9
    );
    out
}

/// `, lines 3 and 7`.
fn shown_lines(lines: &[(FileId, u32)]) -> String {
    let numbers: Vec<String> = lines.iter().take(6).map(|(_, line)| line.to_string()).collect();
    let more = if lines.len() > 6 { ", .." } else { "" };
    match numbers.as_slice() {
        [] => String::new(),
        [one] => format!(", line {one}"),
        many => format!(", lines {}{more}", many.join(", ")),
    }
}

fn lines_text(parts: &[Part], record: &Record, sources: &SourceMap) -> String {
    let by_line: Vec<_> = parts.iter().map(|part| part.by_line(record, sources)).collect();
    let mut lines: Vec<(FileId, u32)> = by_line.iter().flat_map(|m| m.keys().copied()).collect();
    lines.sort_unstable();
    lines.dedup();
    let mut out = String::from("By line, the time of the kernels that it is a part of:\n");
    for part in parts {
        let _ = write!(out, "  {:>20}", part.name);
    }
    out.push('\n');
    for (file, line) in lines {
        for (part, of) in parts.iter().zip(&by_line) {
            let seconds = of.get(&(file, line)).copied().unwrap_or(0.0);
            let share = 100.0 * seconds / part.profile.seconds.max(1e-12);
            let _ = write!(out, "  {:>11} {share:6.1} %", time(seconds));
        }
        let text = sources.text(file).lines().nth(line as usize - 1).unwrap_or("").trim_end();
        let _ = writeln!(out, "  {line:4} | {text}");
    }
    out.push('\n');
    out
}

/// The profiles for programs.
pub fn profile_json(
    parts: &[Part],
    record: &Record,
    sources: &SourceMap,
    limits: MachineLimits,
) -> Value {
    let part = |part: &Part| {
        let profile = &part.profile;
        let kernel = |(n, kernel): (usize, &KernelTime)| {
            let info = &kernel.info;
            let share = shares(kernel, limits);
            let lines: Vec<u32> =
                part.lines(n, record, sources).iter().map(|(_, line)| *line).collect();
            json!({
                "kernel": info.title(),
                "kind": info.kind,
                "depth": info.depth,
                "seconds": kernel.seconds,
                "looks": kernel.looks,
                "runs": info.runs,
                "operations": info.operations,
                "bytes": info.bytes,
                "alive_bytes": info.alive,
                "operations_share": share.map(|(operations, _)| operations),
                "bytes_share": share.map(|(_, bytes)| bytes),
                "lines": lines,
            })
        };
        let lines: Vec<Value> = part
            .by_line(record, sources)
            .into_iter()
            .map(|((file, line), seconds)| {
                json!({"file": sources.name(file), "line": line, "seconds": seconds})
            })
            .collect();
        json!({
            "name": part.name,
            "seconds": profile.seconds,
            "least": profile.least,
            "runs": profile.runs,
            "looks": profile.looks,
            "overhead": profile.overhead,
            "busy_threads": profile.busy,
            "workspace_bytes": profile.workspace,
            "interface_bytes": part.interface,
            "between_kernels": part.rest(),
            "kernels": profile.kernels.iter().enumerate().map(kernel).collect::<Vec<_>>(),
            "lines": lines,
        })
    };
    let machine = json!({"operations": limits.operations, "bytes": limits.bytes});
    json!({"machine": machine, "parts": parts.iter().map(part).collect::<Vec<_>>()})
}

const WIDTH: f64 = 1200.0;
const ROW: f64 = 22.0;

/// A frame of a flame graph.
struct Frame {
    title: String,
    depth: usize,
    seconds: f64,
    start: f64,
    hue: u32,
}

/// The kernels of each part as wide as their time, those of loops above them, as an SVG document.
pub fn flame_graph(parts: &[Part], record: &Record, sources: &SourceMap) -> String {
    let whole: f64 = parts.iter().map(|part| part.profile.seconds).sum::<f64>().max(1e-12);
    let mut frames = Vec::new();
    let mut at = 0.0;
    for (k, part) in parts.iter().enumerate() {
        frames.push(Frame {
            title: format!("{}: {} a run", part.name, time(part.profile.seconds)),
            depth: 0,
            seconds: part.profile.seconds,
            start: at,
            hue: 205 + 55 * k as u32,
        });
        frames.extend(nested(part, at, record, sources));
        at += part.profile.seconds;
    }
    let depth = frames.iter().map(|frame| frame.depth).max().unwrap_or(0) + 1;
    let height = ROW * depth as f64 + 34.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"monospace\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"8\" y=\"20\" fill=\"#333\">time of a run, by kernel</text>\n"
    );
    for Frame { title, depth, seconds, start, hue } in &frames {
        let (x, width) = (start / whole * WIDTH, seconds / whole * WIDTH);
        if width < 0.3 {
            continue;
        }
        let y = 28.0 + ROW * *depth as f64;
        let share = 100.0 * seconds / whole;
        let light = 78 - 4 * (*depth as u32 % 3);
        let fits = (width / 7.4) as usize;
        let label: String = title.chars().take(fits).collect();
        let (title, label) = (escaped(title), escaped(&label));
        let _ = writeln!(
            out,
            "<g><title>{title} ({share:.1} %)</title><rect x=\"{x:.2}\" y=\"{y}\" \
             width=\"{width:.2}\" height=\"{}\" fill=\"hsl({hue},65%,{light}%)\" stroke=\"#fff\"/>\
             <text x=\"{:.2}\" y=\"{}\" fill=\"#222\">{label}</text></g>",
            ROW - 1.0,
            x + 4.0,
            y + 15.0
        );
    }
    out += "</svg>\n";
    out
}

/// The frames of the kernels of a part; a loop is as long as what is in it and itself.
fn nested(part: &Part, begin: f64, record: &Record, sources: &SourceMap) -> Vec<Frame> {
    let kernels = &part.profile.kernels;
    let mut whole: Vec<f64> = kernels.iter().map(|kernel| kernel.seconds).collect();
    let mut parents = vec![None; kernels.len()];
    let mut open: Vec<usize> = Vec::new();
    for (n, kernel) in kernels.iter().enumerate() {
        open.truncate(kernel.info.depth);
        parents[n] = open.last().copied();
        open.push(n);
    }
    for n in (0..kernels.len()).rev() {
        if let Some(parent) = parents[n] {
            whole[parent] += whole[n];
        }
    }
    // What is inside begins where its loop does, after the loop's own time.
    let mut next = vec![0.0; kernels.len()];
    let mut top = begin;
    let mut frames = Vec::new();
    for (n, kernel) in kernels.iter().enumerate() {
        let cursor = match parents[n] {
            Some(parent) => &mut next[parent],
            None => &mut top,
        };
        let start = *cursor;
        *cursor += whole[n];
        next[n] = start + kernel.seconds;
        let lines = shown_lines(&part.lines(n, record, sources));
        frames.push(Frame {
            title: format!("{}{lines}: {}", kernel.info.title(), time(whole[n])),
            depth: kernel.info.depth + 1,
            seconds: whole[n],
            start,
            hue: 20 + (n as u32 * 37) % 50,
        });
    }
    frames
}

/// A text within XML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
