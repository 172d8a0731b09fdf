//! Figures as tables and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::function::Engine;
use crate::measure::Times;
use crate::run::{Figured, Figures};

/// Milliseconds with three digits.
pub fn milliseconds(seconds: f64) -> String {
    three_digits(seconds * 1e3)
}

/// A number with about three digits.
pub fn three_digits(x: f64) -> String {
    if !x.is_finite() {
        return "-".to_owned();
    }
    let digits = match x.abs() {
        x if x >= 100.0 => 0,
        x if x >= 10.0 => 1,
        x if x >= 1.0 => 2,
        x if x >= 0.1 => 3,
        _ => 4,
    };
    format!("{x:.digits$}")
}

/// Bytes in a unit that suits them.
pub fn bytes(n: usize) -> String {
    match n as f64 {
        n if n >= 1e9 => format!("{} GB", three_digits(n / 1e9)),
        n if n >= 1e6 => format!("{} MB", three_digits(n / 1e6)),
        n if n >= 1e3 => format!("{} kB", three_digits(n / 1e3)),
        n => format!("{n} B"),
    }
}

/// The median, marked where it is far from the fastest block.
fn cell(times: &Times) -> String {
    let (median, least) = (times.median(), times.least());
    let noisy = if median > 1.25 * least { " ~" } else { "" };
    format!("{}{noisy}", milliseconds(median))
}

/// A case as it was run, or why it was not.
pub type Line = (String, std::result::Result<Figured, String>);

/// The head of the table.
pub fn head(peers: &[&str]) -> String {
    let mut text = String::from(
        "| benchmark | error | compile | objective | gradient | ratio | threads x 2 | memory | by hand | ours / by hand |",
    );
    for name in peers {
        let columns = ["compile", "objective", "gradient", "gradient / ours"];
        columns.iter().for_each(|column| {
            let _ = write!(text, " {name} {column} |");
        });
    }
    text += "\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|";
    text += &"--:|--:|--:|--:|".repeat(peers.len());
    text
}

/// A line of the table.
pub fn line((name, line): &Line) -> String {
    match line {
        Ok(figured) => row(name, figured),
        Err(why) => format!("| {name} | **{}** |", why.lines().next().unwrap_or_default()),
    }
}

/// The geometric means of all cases.
pub fn means(lines: &[Line], peers: &[&str]) -> String {
    let figured = || lines.iter().filter_map(|(_, line)| line.as_ref().ok());
    let mut text = String::new();
    for name in peers {
        let ratio = |f: &Figured| {
            let (_, peer) = f.peers.iter().find(|(n, _)| n == name)?;
            Some(peer.as_ref().ok()?.gradient.median() / f.own.gradient.median())
        };
        if let Some((mean, count)) = geometric_mean(figured().filter_map(ratio)) {
            let mean = three_digits(mean);
            let _ = writeln!(text, "\n{name} / ours, geometric mean of {count} gradients: {mean}.");
        }
    }
    let by_hand =
        |f: &Figured| Some(f.own.gradient.median() / f.by_hand.as_ref()?.gradient.median());
    if let Some((mean, count)) = geometric_mean(figured().filter_map(by_hand)) {
        let mean = three_digits(mean);
        let _ = writeln!(text, "\nOurs / by hand, geometric mean of {count} gradients: {mean}.");
    }
    text
}

fn row(name: &str, f: &Figured) -> String {
    let own = f.own.gradient.median();
    let objective = f.own.objective.as_ref().map_or(f64::NAN, Times::median);
    let note = if f.engine == Engine::Interpreter { " (interpreter)" } else { "" };
    let mut text = format!(
        "| {name}{note} | {:.0e} | {} | {} | {} | {} | {} | {} |",
        f.own.deviation,
        f.own.compile.map_or("-".to_owned(), milliseconds),
        f.own.objective.as_ref().map_or("-".to_owned(), cell),
        cell(&f.own.gradient),
        three_digits(own / objective),
        f.threaded.as_ref().map_or("-".to_owned(), cell),
        f.workspace.map_or("-".to_owned(), bytes),
    );
    match &f.by_hand {
        Some(figures) => {
            let ratio = three_digits(own / figures.gradient.median());
            let _ = write!(text, " {} | {ratio} |", cell(&figures.gradient));
        }
        None => text += " - | - |",
    }
    for (_, peer) in &f.peers {
        match peer {
            Ok(figures) => {
                let ratio = three_digits(figures.gradient.median() / own);
                let _ = write!(
                    text,
                    " {} | {} | {} | {ratio} |",
                    figures.compile.map_or("-".to_owned(), milliseconds),
                    figures.objective.as_ref().map_or("-".to_owned(), cell),
                    cell(&figures.gradient),
                );
            }
            Err(_) => text += " - | - | - | - |",
        }
    }
    text
}

/// The geometric mean of positive numbers and how many there are, if any.
fn geometric_mean(xs: impl Iterator<Item = f64>) -> Option<(f64, usize)> {
    let logarithms: Vec<f64> = xs.filter(|x| x.is_finite()).map(f64::ln).collect();
    let n = logarithms.len();
    (n > 0).then(|| ((logarithms.iter().sum::<f64>() / n as f64).exp(), n))
}

fn times_json(times: &Times) -> Value {
    json!({"median_s": times.median(), "min_s": times.least(), "blocks": times.blocks()})
}

fn figures_json(figures: &Figures) -> Value {
    json!({
        "deviation": figures.deviation,
        "compile_s": figures.compile,
        "objective": figures.objective.as_ref().map(times_json),
        "gradient": times_json(&figures.gradient),
    })
}

/// A case as JSON.
pub fn json((name, line): &Line) -> Value {
    match line {
        Err(why) => json!({"benchmark": name, "error": why}),
        Ok(f) => {
            let peer = |(name, figures): &(&str, std::result::Result<Figures, String>)| {
                let value = figures.as_ref().map_or_else(|why| json!({"error": why}), figures_json);
                ((*name).to_owned(), value)
            };
            json!({
                "benchmark": name,
                "cotan": figures_json(&f.own),
                "threaded": f.threaded.as_ref().map(times_json),
                "workspace_bytes": f.workspace,
                "engine": format!("{:?}", f.engine).to_lowercase(),
                "by_hand": f.by_hand.as_ref().map(figures_json),
                "peers": f.peers.iter().map(peer).collect::<serde_json::Map<_, _>>(),
            })
        }
    }
}
