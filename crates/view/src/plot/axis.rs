//! Axes: from numbers to places on a picture, with marks at round numbers.

use std::fmt::Write as _;

/// The picture.
pub(crate) const WIDTH: f64 = 760.0;
pub(crate) const HEIGHT: f64 = 480.0;
/// Where curves are drawn.
pub(crate) const LEFT: f64 = 64.0;
pub(crate) const RIGHT: f64 = WIDTH - 20.0;
pub(crate) const TOP: f64 = 34.0;
pub(crate) const BOTTOM: f64 = HEIGHT - 40.0;

/// An axis from one number to a larger one, between two places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    begin: f64,
    end: f64,
}

impl Axis {
    pub(crate) fn horizontal(low: f64, high: f64) -> Axis {
        Axis { low, high, begin: LEFT, end: RIGHT }
    }

    /// Numbers grow upwards.
    pub(crate) fn vertical(low: f64, high: f64) -> Axis {
        Axis { low, high, begin: BOTTOM, end: TOP }
    }

    /// Around all of the finite numbers, with some room.
    pub(crate) fn around(numbers: impl Iterator<Item = f64>) -> Option<Axis> {
        let start = (f64::INFINITY, f64::NEG_INFINITY);
        let finite = numbers.filter(|x| x.is_finite());
        let (low, high) = finite.fold(start, |(a, b), x| (a.min(x), b.max(x)));
        if low > high {
            return None;
        }
        // Halves, so that the difference of the largest numbers is still one.
        let room = match high / 2.0 - low / 2.0 {
            half if half > 0.0 => 0.08 * half,
            _ => low.abs().max(1.0) / 2.0,
        };
        let (low, high) = ((low - room).max(-f64::MAX), (high + room).min(f64::MAX));
        Some(Axis::vertical(low, high))
    }

    /// The place of a number; places far outside are brought nearer, so that they stay numbers.
    pub(crate) fn at(&self, x: f64) -> f64 {
        let part = (x / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        self.begin + part.clamp(-9.0, 10.0) * (self.end - self.begin)
    }

    /// Round numbers on it, about so many.
    pub(crate) fn marks(&self, about: usize) -> Vec<f64> {
        let wide = (self.high - self.low) / about.max(1) as f64;
        if !wide.is_finite() || wide <= 0.0 {
            return Vec::new();
        }
        let power = 10f64.powf(wide.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|k| k * power >= wide).unwrap_or(10.0);
        let step = step * power;
        let first = (self.low / step).ceil();
        let marks = (0..4 * about).map(|k| (first + k as f64) * step);
        marks.take_while(|x| *x <= self.high).map(|x| x + 0.0).collect()
    }
}

/// The beginning of a picture: colours for dark and light, the frame, marks and a title.
pub(crate) fn begin(title: &str, x: &Axis, y: &Axis, grid: bool) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n\
         <style>\
         .back{{fill:#fff}}.text{{fill:#333}}.grid{{stroke:#e3e5e8}}.frame{{fill:none;stroke:#999}}\
         .c0{{stroke:#2563eb}}.c1{{stroke:#d97706}}.arrow{{stroke:#111;fill:none}}.level{{stroke:#333}}\
         .dot{{fill:#dc2626}}\
         @media (prefers-color-scheme: dark){{.back{{fill:#14161a}}.text{{fill:#dde1e6}}\
         .grid{{stroke:#2b3038}}.frame{{stroke:#667}}.c0{{stroke:#60a5fa}}.c1{{stroke:#fbbf24}}\
         .arrow{{stroke:#fff}}.level{{stroke:#ccc}}.dot{{fill:#f87171}}}}</style>\n\
         <rect class=\"back\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"text\" x=\"{LEFT}\" y=\"20\" font-size=\"14\">{}</text>\n",
        crate::profile::escaped(title)
    );
    for mark in x.marks(8) {
        let (at, mark) = (x.at(mark), number(mark));
        if grid {
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>"
            );
        }
        let below = BOTTOM + 18.0;
        let _ = writeln!(
            out,
            "<text class=\"text\" x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{mark}</text>"
        );
    }
    for mark in y.marks(6) {
        let (at, mark) = (y.at(mark), number(mark));
        if grid {
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>"
            );
        }
        let (left, at) = (LEFT - 6.0, at + 4.0);
        let _ = writeln!(
            out,
            "<text class=\"text\" x=\"{left}\" y=\"{at:.1}\" text-anchor=\"end\">{mark}</text>"
        );
    }
    out += &format!(
        "<clipPath id=\"inside\"><rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"/></clipPath>\n",
        RIGHT - LEFT,
        BOTTOM - TOP
    );
    out
}

/// The end of a picture: the frame.
pub(crate) fn end() -> String {
    format!(
        "<rect class=\"frame\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"/>\n</svg>\n",
        RIGHT - LEFT,
        BOTTOM - TOP
    )
}

/// A number in few characters.
pub(crate) fn number(x: f64) -> String {
    let size = x.abs();
    if x != 0.0 && !(1e-3..1e5).contains(&size) {
        return format!("{x:.2e}");
    }
    let text = format!("{x:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_round_and_inside() {
        assert_eq!(Axis::horizontal(-3.0, 3.0).marks(6), [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(Axis::horizontal(0.0, 0.1).marks(5).len(), 6);
        for (low, high) in [(-f64::MAX, f64::MAX), (0.0, 5e-324), (1e300, 1.0001e300)] {
            assert!(Axis::horizontal(low, high).marks(6).len() <= 24);
        }
    }

    #[test]
    fn odd_numbers_have_an_axis() {
        assert!(Axis::around([f64::NAN, f64::INFINITY].into_iter()).is_none());
        for numbers in [[2.0, 2.0], [0.0, 0.0], [-f64::MAX, f64::MAX], [0.0, 5e-324]] {
            let axis = Axis::around(numbers.into_iter());
            assert!(axis.is_some_and(|axis| axis.at(numbers[0]).is_finite()), "{numbers:?}");
        }
    }
}
