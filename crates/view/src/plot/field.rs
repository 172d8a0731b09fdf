//! Functions of two numbers: colours, level sets, and arrows along the gradient.

use std::fmt::Write as _;

use super::axis::{Axis, begin, end, number};
use super::contour::pieces;

/// How many level sets are drawn.
const LEVELS: usize = 12;
/// How many arrows in each direction.
const ARROWS: usize = 18;
/// From low to high in the terminal.
const SHADES: [char; 10] = [' ', '.', ':', '-', '=', '+', '*', '#', '%', '@'];

/// A function of two numbers on a grid.
#[derive(Clone, Debug)]
pub struct Field {
    /// What it is called, and its arguments.
    pub names: [String; 3],
    /// From where to where the arguments go.
    pub ranges: [(f64, f64); 2],
    /// Points in each direction.
    pub size: usize,
    /// Values, row after row, the first argument along a row.
    pub values: Vec<f64>,
    /// Gradients at the same points; empty if there are none.
    pub gradients: Vec<[f64; 2]>,
}

impl Field {
    /// The range of the finite values.
    fn range(&self) -> Option<(f64, f64)> {
        let start = (f64::INFINITY, f64::NEG_INFINITY);
        let finite = self.values.iter().filter(|v| v.is_finite());
        let (low, high) = finite.fold(start, |(a, b), v| (a.min(*v), b.max(*v)));
        (low <= high).then_some((low, high))
    }

    /// Where levels are: so that between two of them lie as many points as between others, as
    /// functions grow fast towards the edges of a picture.
    fn levels(&self) -> Vec<f64> {
        let mut sorted: Vec<f64> = self.values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let level = |k: usize| sorted.get(k * sorted.len() / (LEVELS + 1)).copied();
        let mut levels: Vec<f64> = (1..=LEVELS).filter_map(level).collect();
        levels.dedup();
        levels
    }

    /// Which band between levels a value is in, from 0 to 1.
    fn band(levels: &[f64], value: f64) -> f64 {
        levels.partition_point(|level| *level <= value) as f64 / levels.len().max(1) as f64
    }

    fn title(&self) -> String {
        let [name, x, y] = &self.names;
        let (low, high) = self.range().unwrap_or((0.0, 0.0));
        format!("{name}({x}, {y}), from {} to {}", number(low), number(high))
    }
}

/// A function of two numbers as SVG. `None` where no value is finite.
pub fn field_svg(field: &Field) -> Option<String> {
    field.range()?;
    let n = field.size;
    let [(x0, x1), (y0, y1)] = field.ranges;
    let (x, y) = (Axis::horizontal(x0, x1), Axis::vertical(y0, y1));
    let last = n.saturating_sub(1).max(1) as f64;
    let place = |i: f64, j: f64| (x.at(x0 + i / last * (x1 - x0)), y.at(y0 + j / last * (y1 - y0)));
    let levels = field.levels();
    let mut out = begin(&field.title(), &x, &y, false);
    out += "<g clip-path=\"url(#inside)\" shape-rendering=\"crispEdges\">\n";
    let (step_x, step_y) =
        (place(1.0, 0.0).0 - place(0.0, 0.0).0, place(0.0, 0.0).1 - place(0.0, 1.0).1);
    for (k, value) in field.values.iter().enumerate().filter(|(_, v)| v.is_finite()) {
        let (cx, cy) = place((k % n) as f64, (k / n) as f64);
        let part = Field::band(&levels, *value);
        let (hue, light) = (250.0 - 200.0 * part, 38.0 + 34.0 * part);
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
             fill=\"hsl({hue:.0},55%,{light:.0}%)\"/>",
            cx - step_x / 2.0,
            cy - step_y / 2.0,
            step_x + 0.3,
            step_y + 0.3
        );
    }
    out += "</g>\n<g clip-path=\"url(#inside)\" fill=\"none\">\n";
    for level in &levels {
        let mut path = String::new();
        for [(ai, aj), (bi, bj)] in pieces(&field.values, n, *level) {
            let ((ax, ay), (bx, by)) = (place(ai, aj), place(bi, bj));
            let _ = write!(path, "M{ax:.1} {ay:.1}L{bx:.1} {by:.1}");
        }
        let title = number(*level);
        let _ = writeln!(
            out,
            "<path class=\"level\" stroke-width=\"0.8\" opacity=\"0.7\" d=\"{path}\"><title>{title}</title></path>"
        );
    }
    out += &arrows(field, &place);
    out += "</g>\n";
    out += &end();
    Some(out)
}

/// Arrows along the gradient, as long as the square root of it: steep places do not hide the others.
fn arrows(field: &Field, place: &dyn Fn(f64, f64) -> (f64, f64)) -> String {
    let n = field.size;
    let longest = field.gradients.iter().map(|[a, b]| a.hypot(*b)).filter(|g| g.is_finite());
    let longest = longest.fold(0.0, f64::max);
    let mut out = String::new();
    if longest <= 0.0 || n < ARROWS {
        return out;
    }
    let (right, up) = {
        let ((ax, ay), (bx, by)) = (place(0.0, 0.0), place(1.0, 1.0));
        let [(x0, x1), (y0, y1)] = field.ranges;
        let last = (n - 1) as f64;
        ((bx - ax) * last / (x1 - x0), (by - ay) * last / (y1 - y0))
    };
    for b in 0..ARROWS {
        for a in 0..ARROWS {
            let (i, j) = ((2 * a + 1) * n / (2 * ARROWS), (2 * b + 1) * n / (2 * ARROWS));
            let Some([gx, gy]) = field.gradients.get(j * n + i) else { continue };
            let size = gx.hypot(*gy);
            // In the picture the direction of steepest ascent depends on the scales of the axes.
            let (dx, dy) = (gx * right, gy * up);
            let length = dx.hypot(dy);
            if !(size.is_finite() && length > 0.0 && length.is_finite()) {
                continue;
            }
            let long = 3.0 + 15.0 * (size / longest).sqrt();
            let (ux, uy) = (dx / length * long, dy / length * long);
            let (x, y) = place(i as f64, j as f64);
            let (ex, ey) = (x + ux, y + uy);
            let _ = writeln!(
                out,
                "<path class=\"arrow\" stroke-width=\"1.1\" d=\"M{x:.1} {y:.1}L{ex:.1} {ey:.1}M{:.1} {:.1}L{ex:.1} {ey:.1}L{:.1} {:.1}\"/>",
                ex - 0.35 * ux + 0.2 * uy,
                ey - 0.35 * uy - 0.2 * ux,
                ex - 0.35 * ux - 0.2 * uy,
                ey - 0.35 * uy + 0.2 * ux
            );
        }
    }
    out
}

/// A function of two numbers for the terminal: shades from low to high, and arrows along the gradient.
pub fn field_text(field: &Field) -> String {
    const WIDTH: usize = 64;
    const HEIGHT: usize = 24;
    if field.range().is_none() || field.size == 0 {
        return "no value is finite there\n".to_owned();
    }
    let n = field.size;
    let levels = field.levels();
    let [(x0, x1), (y0, y1)] = field.ranges;
    let mut out = String::new();
    for row in (0..HEIGHT).rev() {
        let label = match row {
            r if r == HEIGHT - 1 => number(y1),
            0 => number(y0),
            _ => String::new(),
        };
        let _ = write!(out, "{label:>10} ");
        let mut line = String::new();
        for column in 0..WIDTH {
            let at = row * (n - 1) / (HEIGHT - 1) * n + column * (n - 1) / (WIDTH - 1);
            let arrow =
                (column % 8 == 4 && row % 4 == 2).then(|| field.gradients.get(at)).flatten();
            line.push(match (arrow.and_then(direction), field.values[at]) {
                (Some(arrow), _) => arrow,
                (None, v) if v.is_finite() => {
                    let part = Field::band(&levels, v);
                    SHADES[(part * (SHADES.len() - 1) as f64).round() as usize]
                }
                (None, _) => '?',
            });
        }
        out += line.trim_end();
        out.push('\n');
    }
    let (from, to) = (number(x0), number(x1));
    let _ = writeln!(out, "{:11}{from}{to:>1$}", "", WIDTH.saturating_sub(from.len()));
    let arrows = if field.gradients.is_empty() { "" } else { "; arrows point uphill" };
    let _ = writeln!(out, "{:11}{}{arrows}", "", field.title());
    out
}

/// One of eight arrows.
fn direction([x, y]: &[f64; 2]) -> Option<char> {
    if !(x.is_finite() && y.is_finite()) || (*x == 0.0 && *y == 0.0) {
        return None;
    }
    let eighth = (y.atan2(*x) / std::f64::consts::FRAC_PI_4).round() as i64;
    let arrows = ['→', '↗', '↑', '↖', '←', '↙', '↓', '↘'];
    arrows.get(eighth.rem_euclid(8) as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bowl(size: usize, value: impl Fn(f64, f64) -> f64) -> Field {
        let at = |k: usize| -2.0 + 4.0 * k as f64 / (size - 1) as f64;
        let points = || (0..size * size).map(|k| (at(k % size), at(k / size)));
        Field {
            names: ["f", "x", "y"].map(str::to_owned),
            ranges: [(-2.0, 2.0); 2],
            size,
            values: points().map(|(x, y)| value(x, y)).collect(),
            gradients: points().map(|(x, y)| [2.0 * x, 2.0 * y]).collect(),
        }
    }

    #[test]
    fn a_bowl_has_levels_and_arrows_that_point_outwards() {
        let field = bowl(60, |x, y| x * x + y * y);
        let svg = field_svg(&field).unwrap_or_default();
        assert_eq!(svg.matches("class=\"level\"").count(), LEVELS);
        assert!(svg.matches("class=\"arrow\"").count() > 300 && svg.ends_with("</svg>\n"));
        let text = field_text(&field);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].contains('↖') && lines[1].contains('↗'), "{text}");
        assert!(lines[21].contains('↙') && lines[21].contains('↘'), "{text}");
    }

    #[test]
    fn odd_values_do_not_matter() {
        for value in [f64::NAN, f64::INFINITY, 0.0, f64::MAX, -1e-300] {
            let field = bowl(20, |_, _| value);
            assert_eq!(field_svg(&field).is_some(), value.is_finite());
            assert!(!field_text(&field).is_empty());
        }
        let mixed = bowl(30, |x, y| if x > 0.0 { f64::NAN } else { y / x });
        assert!(field_svg(&mixed).is_some_and(|svg| !svg.contains("NaN") && !svg.contains("inf")));
    }
}
