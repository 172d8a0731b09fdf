//! Small pictures: grey images as PNG, curves and points as SVG. Written to `runs/`, which git ignores.
#![allow(dead_code, reason = "each example uses a part")]

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use cotan::prelude::*;

/// Where pictures go.
pub fn path(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runs");
    std::fs::create_dir_all(&folder)?;
    Ok(folder.canonicalize()?.join(name))
}

/// Writes images side by side, black for `low` and white for `high`, each pixel as a square of 4.
pub fn write_png(
    name: &str,
    images: &[&Tensor<f64>],
    [low, high]: [f64; 2],
) -> Result<(), Box<dyn Error>> {
    const ZOOM: u32 = 4;
    const GAP: u32 = 8;
    let sizes: Vec<[u32; 2]> =
        images.iter().map(|image| [image.shape()[0] as u32, image.shape()[1] as u32]).collect();
    let width = sizes.iter().map(|[_, w]| w * ZOOM + GAP).sum::<u32>() - GAP;
    let height = sizes.iter().map(|[h, _]| h * ZOOM).max().unwrap_or(1);
    let mut picture = image::GrayImage::from_pixel(width, height, image::Luma([255]));
    let mut left = 0;
    for (image, [h, w]) in images.iter().zip(sizes) {
        for (i, j) in (0..h * ZOOM).flat_map(|i| (0..w * ZOOM).map(move |j| (i, j))) {
            let value = image.get(&[(i / ZOOM) as usize, (j / ZOOM) as usize]).unwrap_or(low);
            let grey = 255.0 * ((value - low) / (high - low)).clamp(0.0, 1.0);
            picture.put_pixel(left + j, i, image::Luma([grey.round() as u8]));
        }
        left += w * ZOOM + GAP;
    }
    let path = path(name)?;
    picture.save(&path)?;
    println!("picture: {}", path.display());
    Ok(())
}

/// A plot of curves and points in one pair of axes.
pub struct Plot {
    x: [f64; 2],
    y: [f64; 2],
    width: f64,
    height: f64,
    body: String,
}

impl Plot {
    /// Axes from `x[0]` to `x[1]` and from `y[0]` to `y[1]`, on so many pixels.
    pub fn new(x: [f64; 2], y: [f64; 2], width: f64, height: f64) -> Plot {
        Plot { x, y, width, height, body: String::new() }
    }

    fn place(&self, x: f64, y: f64) -> [f64; 2] {
        let across = (x - self.x[0]) / (self.x[1] - self.x[0]);
        let up = (y - self.y[0]) / (self.y[1] - self.y[0]);
        [across * self.width, (1.0 - up) * self.height]
    }

    /// A curve through points.
    pub fn curve(mut self, points: impl IntoIterator<Item = [f64; 2]>, colour: &str) -> Plot {
        let _ = write!(
            self.body,
            r#"<polyline fill="none" stroke="{colour}" stroke-width="1.5" points=""#
        );
        for [x, y] in points {
            let [x, y] = self.place(x, y);
            let _ = write!(self.body, "{x:.1},{y:.1} ");
        }
        self.body += "\"/>\n";
        self
    }

    /// Discs at points.
    pub fn points(mut self, points: impl IntoIterator<Item = [f64; 2]>, colour: &str) -> Plot {
        for [x, y] in points {
            let [x, y] = self.place(x, y);
            let _ =
                writeln!(self.body, r#"<circle cx="{x:.1}" cy="{y:.1}" r="3" fill="{colour}"/>"#);
        }
        self
    }

    /// An arrow from a point along a direction.
    pub fn arrow(mut self, [x, y]: [f64; 2], [dx, dy]: [f64; 2], colour: &str) -> Plot {
        let ([x0, y0], [x1, y1]) = (self.place(x, y), self.place(x + dx, y + dy));
        let (u, v) = (x1 - x0, y1 - y0);
        let length = u.hypot(v).max(1e-9);
        let (u, v) = (5.0 * u / length, 5.0 * v / length);
        let _ = writeln!(
            self.body,
            r#"<path fill="none" stroke="{colour}" stroke-width="1.5" d="M{x0:.1},{y0:.1}L{x1:.1},{y1:.1}M{:.1},{:.1}L{x1:.1},{y1:.1}L{:.1},{:.1}"/>"#,
            x1 - u - 0.6 * v,
            y1 - v + 0.6 * u,
            x1 - u + 0.6 * v,
            y1 - v - 0.6 * u,
        );
        self
    }

    /// A line of text at the top left.
    pub fn title(mut self, text: &str) -> Plot {
        let style = r##"x="8" y="20" font-family="sans-serif" font-size="14" fill="#57606a""##;
        let _ = writeln!(self.body, "<text {style}>{text}</text>");
        self
    }

    /// The picture of one or several plots side by side.
    pub fn svg(plots: &[Plot]) -> String {
        let width: f64 = plots.iter().map(|plot| plot.width).sum();
        let height = plots.iter().map(|plot| plot.height).fold(0.0, f64::max);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        let mut left = 0.0;
        for plot in plots {
            let _ = writeln!(text, "<g transform=\"translate({left})\">\n{}</g>", plot.body);
            left += plot.width;
        }
        text + "</svg>\n"
    }

    /// Writes plots side by side.
    pub fn write(name: &str, plots: &[Plot]) -> Result<(), Box<dyn Error>> {
        let path = path(name)?;
        std::fs::write(&path, Plot::svg(plots))?;
        println!("picture: {}", path.display());
        Ok(())
    }
}
