//! Results that programs promise in their comments.

/// What the lines `#>` of a program promise.
pub fn promised(text: &str) -> String {
    let lines = text.lines().filter_map(|line| line.strip_prefix("#>"));
    lines.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect()
}

/// Whether two texts say the same, with numbers that differ by rounding at most: the machine adds
/// up in an order of its own.
pub fn alike(a: &str, b: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let apart = text.replace(['[', ']', ',', '(', ')'], " ");
        apart.split_whitespace().map(str::to_owned).collect()
    };
    let same = |(a, b): (&String, &String)| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => x == y || (x - y).abs() <= 1e-9 * x.abs().max(y.abs()).max(1e-3),
        _ => a == b,
    };
    let (a, b) = (words(a), words(b));
    a.len() == b.len() && a.iter().zip(&b).all(same)
}
