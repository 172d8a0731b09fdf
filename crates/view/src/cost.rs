//! Numbers for people.

/// A count with a unit of thousands: `12.3 k`.
pub(crate) fn short(n: u64) -> String {
    let x = n as f64;
    match n {
        0..10_000 => n.to_string(),
        10_000..10_000_000 => format!("{:.1} k", x / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} M", x / 1e6),
        _ => format!("{:.1} G", x / 1e9),
    }
}

/// A number of bytes.
pub(crate) fn bytes(n: u64) -> String {
    let text = short(n);
    match text.contains(' ') {
        true => format!("{text}B"),
        false => format!("{text} B"),
    }
}

/// A number of things: `1 node`, `2 nodes`.
pub(crate) fn count(n: usize, of: &str) -> String {
    if n == 1 { format!("1 {of}") } else { format!("{n} {of}s") }
}
