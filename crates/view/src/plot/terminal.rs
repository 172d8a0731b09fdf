//! Curves drawn with characters: each shows two columns and four rows of points.

use std::fmt::Write;

use super::axis::number;

/// Characters across and down.
const WIDTH: usize = 72;
const HEIGHT: usize = 18;
/// Points in a character.
const ACROSS: usize = 2;
const DOWN: usize = 4;
/// Which bit of a braille character each point is, by column and row.
const BITS: [[u32; DOWN]; ACROSS] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

const COLOURS: [&str; 2] = ["\x1b[36m", "\x1b[33m"];
const RESET: &str = "\x1b[0m";

/// A function at the points of a plot.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What it is called.
    pub name: String,
    /// Its value at each point.
    pub values: Vec<f64>,
}

/// One character of the picture: the points of it that are set, and which curve set one last.
#[derive(Clone, Copy, Default)]
struct Cell {
    bits: u32,
    curve: usize,
}

/// The curves over increasing points. Without colours, all but the first are dotted.
pub fn draw(points: &[f64], curves: &[Curve], colours: bool) -> String {
    let finite = || curves.iter().flat_map(|c| &c.values).copied().filter(|v| v.is_finite());
    let (low, high) =
        finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    if low > high {
        return "no value is finite there\n".to_owned();
    }
    // A constant is drawn in the middle.
    let (low, high) = if high > low { (low, high) } else { (low - 1.0, high + 1.0) };
    let row = |value: f64| -> usize {
        let rows = (HEIGHT * DOWN - 1) as f64;
        ((high / 2.0 - value / 2.0) / (high / 2.0 - low / 2.0) * rows).round() as usize
    };
    let mut cells = vec![[Cell::default(); WIDTH]; HEIGHT];
    let mut set = |column: usize, row: usize, curve: usize| {
        if let Some(cell) = cells.get_mut(row / DOWN).and_then(|r| r.get_mut(column / ACROSS)) {
            cell.bits |= BITS[column % ACROSS][row % DOWN];
            cell.curve = curve;
        }
    };
    for (k, curve) in curves.iter().enumerate().rev() {
        let mut before: Option<usize> = None;
        for column in 0..WIDTH * ACROSS {
            let at = column * (points.len().max(1) - 1) / (WIDTH * ACROSS - 1);
            let value = curve.values.get(at).copied().filter(|v| v.is_finite());
            let here = value.map(row);
            if let Some(here) = here {
                // Steep curves are lines, too.
                let from = before.unwrap_or(here);
                let dotted = k > 0 && !colours;
                for row in from.min(here)..=from.max(here) {
                    if !dotted || (column + row) % 3 == 0 {
                        set(column, row, k);
                    }
                }
            }
            before = here;
        }
    }
    let zero = (low <= 0.0 && high >= 0.0).then(|| row(0.0) / DOWN);
    let mut text = String::new();
    for (r, line) in cells.iter().enumerate() {
        let label = match r {
            0 => number(high),
            r if r == HEIGHT - 1 => number(low),
            r if Some(r) == zero => "0".to_owned(),
            _ => String::new(),
        };
        let _ = write!(text, "{label:>10} ");
        for cell in line {
            match (cell.bits, Some(r) == zero) {
                (0, true) => text.push('─'),
                (0, false) => text.push(' '),
                (bits, _) => {
                    let shown = char::from_u32(0x2800 + bits).unwrap_or(' ');
                    match COLOURS.get(cell.curve).filter(|_| colours) {
                        Some(colour) => text += &format!("{colour}{shown}{RESET}"),
                        None => text.push(shown),
                    }
                }
            }
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    let (from, to) = (points.first().copied(), points.last().copied());
    let (from, to) = (number(from.unwrap_or(0.0)), number(to.unwrap_or(0.0)));
    let _ = writeln!(text, "{:11}{from}{to:>1$}", "", WIDTH.saturating_sub(from.len()));
    let names = curves.iter().enumerate().map(|(k, curve)| match (colours, k) {
        (true, k) => format!("{}{}{RESET}", COLOURS.get(k).unwrap_or(&""), curve.name),
        (false, 0) => curve.name.clone(),
        (false, _) => format!("{} (dotted)", curve.name),
    });
    let _ = writeln!(text, "{:11}{}", "", names.collect::<Vec<_>>().join(", "));
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail so")]
mod tests {
    use super::*;

    fn curve(values: Vec<f64>) -> Curve {
        Curve { name: "f".to_owned(), values }
    }

    #[test]
    fn a_line_goes_from_corner_to_corner() {
        let points: Vec<f64> = (0..100).map(f64::from).collect();
        let picture = draw(&points, &[curve(points.clone())], false);
        let lines: Vec<&str> = picture.lines().collect();
        assert_eq!(lines.len(), HEIGHT + 2);
        assert!(
            lines[0].starts_with("        99 ") && lines[HEIGHT - 1].starts_with("         0 ")
        );
        let marks: Vec<usize> = lines[..HEIGHT]
            .iter()
            .map(|l| l.chars().skip(11).position(|c| c >= '\u{2801}').unwrap())
            .collect();
        assert!(marks.windows(2).all(|pair| pair[0] > pair[1]), "{marks:?}\n{picture}");
    }

    #[test]
    fn odd_values_do_not_matter() {
        let points: Vec<f64> = (0..10).map(f64::from).collect();
        for values in [
            vec![f64::NAN; 10],
            vec![f64::INFINITY; 10],
            vec![0.0; 10],
            vec![f64::MAX, -f64::MAX, f64::NAN, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            vec![1e-300; 10],
            Vec::new(),
        ] {
            assert!(!draw(&points, &[curve(values)], true).is_empty());
        }
    }
}
