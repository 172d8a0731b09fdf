//! Amounts as people write them: `2GiB`, `500ms`.

use std::time::Duration;

/// Bytes: a number with an optional `K`, `M`, `G` or `T` (of 1024, `KiB` and so on alike).
pub fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let power = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        "t" | "tb" | "tib" => 4,
        _ => return Err(format!("unknown unit `{unit}`; write bytes, or K, M, G, T: `500M`")),
    };
    let number: u64 = number.parse().map_err(|_| "write a whole number: `500M`".to_owned())?;
    number.checked_mul(1 << (10 * power)).ok_or_else(|| "more bytes than there can be".to_owned())
}

/// A time: a number of seconds, or one with `ms`, `s`, `m` or `h`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let seconds = match unit {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("unknown unit `{unit}`; write seconds, or ms, m, h: `90s`")),
    };
    let number: f64 = number.parse().map_err(|_| "write a number: `1.5s`".to_owned())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| "not a possible time".to_owned())
}

/// A number of bytes for people.
pub fn show_bytes(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let power = (bytes.max(1).ilog2() / 10).min(4) as usize;
    match units.get(power) {
        Some(unit) if power > 0 => {
            format!("{:.1} {unit}", bytes as f64 / (1u64 << (10 * power)) as f64)
        }
        _ => format!("{bytes} bytes"),
    }
}

/// A number of bytes, or a few more, as [`bytes`] reads it.
pub fn enough_bytes(bytes: u64) -> String {
    let units = ["", "K", "M", "G", "T"];
    // Three digits at least, so that it is not much more.
    let power = (bytes.max(1).ilog10().saturating_sub(2) / 3).min(4) as usize;
    let number = bytes.div_ceil(1 << (10 * power));
    format!("{number}{}", units.get(power).copied().unwrap_or_default())
}

/// `NAME=VALUE`.
pub fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.rfind(|c: char| c.is_ascii_digit() || c == '.').map_or(0, |at| at + 1);
    let (number, unit) = text.split_at(end);
    (number, unit.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units_of_1024() {
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("2GiB"), Ok(2 << 30));
        assert_eq!(bytes("500 m"), Ok(500 << 20));
        assert!(bytes("2 furlongs").is_err());
        assert!(bytes("-1").is_err());
        assert!(bytes("").is_err());
        assert!(bytes("99999999999T").unwrap_err().contains("more bytes"));
        assert_eq!(show_bytes(0), "0 bytes");
        assert_eq!(show_bytes(1023), "1023 bytes");
        assert_eq!(show_bytes(3 << 29), "1.5 GiB");
        assert_eq!(show_bytes(u64::MAX), "16777216.0 TiB");
    }

    #[test]
    fn a_limit_that_is_suggested_is_enough_and_not_much_more() {
        for power in 0..64 {
            for needed in [0u64, 1, 2, 1 << 20].map(|more| (1u64 << power).saturating_add(more)) {
                let read = bytes(&enough_bytes(needed)).unwrap();
                assert!(read >= needed && read - needed <= needed / 50, "{needed}: {read}");
            }
        }
    }

    #[test]
    fn times_are_seconds_unless_they_say_otherwise() {
        assert_eq!(duration("2"), Ok(Duration::from_secs(2)));
        assert_eq!(duration("1.5 s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert!(duration("soon").is_err());
        assert!(duration("-1s").is_err());
        assert!(duration("1e400").is_err());
    }

    #[test]
    fn assignments_have_a_name() {
        assert_eq!(assignment("p.w = [1, 2]"), Ok(("p.w".into(), "[1, 2]".into())));
        assert_eq!(assignment("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert!(assignment("=1").is_err());
        assert!(assignment("a").is_err());
    }
}
