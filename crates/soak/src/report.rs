//! What people see.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use crate::state::State;

/// A line of progress: one that is written over on a terminal, new ones now and then elsewhere.
pub fn progress(state: &State, passed: Duration, whole: Duration) {
    use std::io::IsTerminal;
    let mut error = std::io::stderr().lock();
    let left = whole.saturating_sub(passed).as_secs();
    let chunks: u64 = state.tests.values().map(|p| p.chunks).sum();
    let line = format!(
        "{} cases, {} failures, {} chunks, {}:{:02} min left",
        grouped(state.cases()),
        state.failures,
        chunks,
        left / 60,
        left % 60
    );
    // A line that cannot be written is no reason to stop.
    let _ = if error.is_terminal() {
        write!(error, "\r\x1b[K{line}").and_then(|()| error.flush())
    } else if chunks.is_multiple_of(50) {
        writeln!(error, "{line}")
    } else {
        Ok(())
    };
}

/// The counts of each property, as a table in Markdown.
pub fn table(state: &State) -> String {
    let mut text = String::from("| package | property | cases |\n|---|---|---:|\n");
    let mut packages: Vec<(&str, u64)> = Vec::new();
    for (key, count) in &state.passed {
        let (package, property) = key.split_once(' ').unwrap_or(("", key));
        let _ = writeln!(text, "| {package} | {property} | {} |", grouped(*count));
        match packages.last_mut() {
            Some((last, sum)) if *last == package => *sum += count,
            _ => packages.push((package, *count)),
        }
    }
    for (package, sum) in packages {
        let _ = writeln!(text, "| {package} | all | {} |", grouped(sum));
    }
    let _ = writeln!(
        text,
        "\n{} cases from seed {} on, {} failures, {:.1} processor hours.",
        grouped(state.cases()),
        state.seed,
        state.failures,
        state.seconds / 3600.0
    );
    text
}

/// A number with commas.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(
            [0, 17, 999, 1000, 5_000_000].map(grouped),
            ["0", "17", "999", "1,000", "5,000,000"]
        );
    }
}
