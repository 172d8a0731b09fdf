//! Functions of one and of two numbers as pictures, for the terminal and as SVG.

mod axis;
mod contour;
mod curves;
mod field;
mod terminal;

pub use curves::curves_svg;
pub use field::{Field, field_svg, field_text};
pub use terminal::{Curve, draw};
