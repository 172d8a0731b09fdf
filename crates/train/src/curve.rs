//! The loss as a picture.

use std::fmt::Write;

use crate::metrics::Row;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
/// What is left, right, above and below the curve.
const MARGINS: [f64; 4] = [64.0, 16.0, 16.0, 40.0];
/// From this ratio of the largest to the smallest loss on, the axis is logarithmic.
const LOGARITHMIC_RATIO: f64 = 20.0;
/// About so many lines of the grid along an axis.
const GRID_LINES: f64 = 5.0;

/// The losses of a run over its steps, as SVG. Losses that are not finite are gaps.
pub(crate) fn svg(rows: &[Row]) -> String {
    let points: Vec<(f64, f64)> = rows.iter().map(|row| (row.step as f64, row.loss)).collect();
    let finite = || points.iter().map(|&(_, y)| y).filter(|y| y.is_finite());
    let (low, high) =
        (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    let logarithmic = low > 0.0 && high / low >= LOGARITHMIC_RATIO;
    let scaled = |y: f64| if logarithmic { y.log10() } else { y };
    let x_axis = Axis::new(0.0, points.last().map_or(1.0, |&(x, _)| x));
    let y_axis = Axis::new(scaled(low), scaled(high));
    let [left, right, above, below] = MARGINS;
    let place = |x: f64, y: f64| {
        let x = left + x_axis.part(x) * (WIDTH - left - right);
        let y = HEIGHT - below - y_axis.part(y) * (HEIGHT - above - below);
        (x, y)
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>loss</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    let mut text = |x: f64, y: f64, anchor: &str, label: &str| {
        // Writing into a string does not fail.
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#444\">{label}</text>"
        );
    };
    text(WIDTH / 2.0, HEIGHT - 6.0, "middle", "step");
    for x in x_axis.ticks() {
        let (at, _) = place(x, y_axis.low);
        text(at, HEIGHT - below + 16.0, "middle", &short(x));
    }
    for y in y_axis.ticks() {
        let (_, at) = place(x_axis.low, y);
        text(left - 6.0, at + 4.0, "end", &short(if logarithmic { 10f64.powf(y) } else { y }));
    }
    for y in y_axis.ticks() {
        let (_, at) = place(x_axis.low, y);
        let end = WIDTH - right;
        let _ = writeln!(out, "<path d=\"M{left} {at:.1}H{end}\" stroke=\"#ddd\"/>");
    }
    let mut path = String::new();
    let mut drawing = false;
    for (x, y) in points {
        if y.is_finite() {
            let (x, y) = place(x, scaled(y));
            let _ = write!(path, "{}{x:.1} {y:.1}", if drawing { "L" } else { "M" });
        }
        drawing = y.is_finite();
    }
    let _ =
        writeln!(out, "<path d=\"{path}\" fill=\"none\" stroke=\"#1f6feb\" stroke-width=\"2\"/>");
    out.push_str("</svg>\n");
    out
}

/// An axis from one number to another.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// One that has a length, whatever the numbers are.
    fn new(low: f64, high: f64) -> Axis {
        match low < high {
            true => Axis { low, high },
            false if low.is_finite() => Axis { low: low - 0.5, high: low + 0.5 },
            false => Axis { low: 0.0, high: 1.0 },
        }
    }

    /// Where a number is, from 0 to 1.
    fn part(&self, x: f64) -> f64 {
        (x - self.low) / (self.high - self.low)
    }

    /// Round numbers on the axis: multiples of 1, 2 or 5 times a power of ten.
    fn ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / GRID_LINES;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&step| step >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.low / step).ceil();
        (0..=2 * GRID_LINES as usize)
            .map(|n| (first + n as f64) * step)
            .take_while(|&x| x <= self.high + 1e-9 * step)
            .collect()
    }
}

/// A number with few digits.
fn short(x: f64) -> String {
    let large = x != 0.0 && !(1e-3..1e6).contains(&x.abs());
    if large {
        return format!("{x:.1e}");
    }
    let rounded = format!("{x:.3}");
    rounded.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(step: u64, loss: f64) -> Row {
        Row { step, epoch: 0.0, loss, seconds: 0.0, rows_per_second: 0.0, values: Vec::new() }
    }

    #[test]
    fn ticks_are_round_and_on_the_axis() {
        assert_eq!(Axis::new(0.0, 100.0).ticks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(Axis::new(0.13, 0.62).ticks().len(), 5);
        assert_eq!(Axis::new(3.0, 3.0).ticks().len(), 5);
        assert!(!Axis::new(f64::INFINITY, f64::NEG_INFINITY).ticks().is_empty());
    }

    #[test]
    fn a_loss_that_is_not_finite_is_a_gap() {
        let text = svg(&[row(1, 3.0), row(2, f64::NAN), row(3, 1.0), row(4, 2.0)]);
        let path = text.lines().find(|line| line.contains("#1f6feb")).unwrap_or_default();
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 1), "{path}");
        assert!(!text.contains("NaN"), "{text}");
    }

    #[test]
    fn there_is_a_picture_of_nothing() {
        for rows in [vec![], vec![row(1, f64::NAN)], vec![row(1, 0.0)]] {
            let text = svg(&rows);
            assert!(text.ends_with("</svg>\n") && !text.contains("NaN") && !text.contains("inf"));
        }
    }

    #[test]
    fn losses_of_many_sizes_have_a_logarithmic_axis() {
        let text = svg(&[row(1, 100.0), row(2, 1.0), row(3, 0.01)]);
        assert!(text.contains(">0.01<") && text.contains(">100<"), "{text}");
    }
}
