//! Curves as SVG.

use std::fmt::Write as _;

use super::axis::{Axis, RIGHT, begin, end};
use super::terminal::Curve;
use crate::profile::escaped;

/// Curves over increasing points, the second and further ones dashed, with measured points as dots.
/// `None` where no value is finite.
pub fn curves_svg(
    title: &str,
    points: &[f64],
    curves: &[Curve],
    dots: &[(f64, f64)],
) -> Option<String> {
    let (first, last) = (*points.first()?, *points.last()?);
    let x = Axis::horizontal(first, last);
    let values = curves.iter().flat_map(|curve| curve.values.iter().copied());
    let y = Axis::around(values.chain(dots.iter().map(|dot| dot.1)))?;
    let mut out = begin(title, &x, &y, true);
    out += "<g clip-path=\"url(#inside)\" fill=\"none\" stroke-width=\"2\">\n";
    for (k, curve) in curves.iter().enumerate() {
        let mut path = String::new();
        let mut pen = 'M';
        for (&at, &value) in points.iter().zip(&curve.values) {
            // What is not finite is a gap.
            if value.is_finite() {
                let _ = write!(path, "{pen}{:.1} {:.1}", x.at(at), y.at(value));
                pen = 'L';
            } else {
                pen = 'M';
            }
        }
        let dashed = if k > 0 { " stroke-dasharray=\"6 4\"" } else { "" };
        let _ = writeln!(out, "<path class=\"c{}\" d=\"{path}\"{dashed}/>", k % 2);
    }
    for &(at, value) in dots.iter().filter(|(a, b)| a.is_finite() && b.is_finite()) {
        let (at, value) = (x.at(at), y.at(value));
        let _ = writeln!(out, "<circle class=\"dot\" cx=\"{at:.1}\" cy=\"{value:.1}\" r=\"3\"/>");
    }
    out += "</g>\n";
    for (k, curve) in curves.iter().enumerate() {
        let (name, at) = (escaped(&curve.name), RIGHT - 150.0 * (curves.len() - k) as f64);
        let dashed = if k > 0 { " stroke-dasharray=\"6 4\"" } else { "" };
        let _ = writeln!(
            out,
            "<line class=\"c{}\" stroke-width=\"2\" x1=\"{at}\" x2=\"{}\" y1=\"16\" y2=\"16\"{dashed}/>\
             <text class=\"text\" x=\"{}\" y=\"20\">{name}</text>",
            k % 2,
            at + 24.0,
            at + 30.0
        );
    }
    out += &end();
    Some(out)
}
