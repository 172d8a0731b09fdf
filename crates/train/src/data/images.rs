//! Images in folders.

use std::fs;
use std::path::{Path, PathBuf};

use cotan::{Error, ErrorKind, Result, Tensor};

/// Images with the classes that their folders are.
#[derive(Clone, Debug, PartialEq)]
pub struct Images {
    /// Brightness from 0 to 1: shape `[images, channels, height, width]`, with one channel if all
    /// images are grey and three otherwise.
    pub images: Tensor<f32>,
    /// The class of each image, a position in `names`.
    pub labels: Tensor<i64>,
    /// The names of the classes, in alphabetical order.
    pub names: Vec<String>,
}

/// What the end of a name has to be.
const FORMATS: [&str; 3] = ["png", "jpg", "jpeg"];

/// Reads the images (`.png`, `.jpg`) of a folder that has a folder for each class. Files and folders
/// come in alphabetical order; all images have to be of one size.
pub fn read_images(folder: impl AsRef<Path>) -> Result<Images> {
    let folder = folder.as_ref();
    let mut names = Vec::new();
    let mut files: Vec<(PathBuf, i64)> = Vec::new();
    for class in sorted(folder)?.into_iter().filter(|path| path.is_dir()) {
        let label = names.len() as i64;
        names.push(class.file_name().unwrap_or_default().to_string_lossy().into_owned());
        let images = sorted(&class)?.into_iter().filter(|path| is_image(path));
        files.extend(images.map(|path| (path, label)));
    }
    let mut decoded = Vec::with_capacity(files.len());
    for (path, label) in files {
        let image = image::open(&path).map_err(|error| refused(&path, error))?;
        decoded.push((path, label, image));
    }
    let Some((first, _, image)) = decoded.first() else {
        return Err(refused(folder, "there are no images in its folders")
            .with_hint("the images of each class are in a folder of their own: cats/1.png"));
    };
    let (width, height) = (image.width(), image.height());
    let other =
        decoded.iter().find(|(_, _, image)| (image.width(), image.height()) != (width, height));
    if let Some((path, _, image)) = other {
        let message = format!(
            "{} x {}, but {} is {width} x {height}",
            image.width(),
            image.height(),
            first.display()
        );
        return Err(refused(path, message).with_hint("bring all images to one size first"));
    }
    let grey = decoded.iter().all(|(_, _, image)| !image.color().has_color());
    let channels = if grey { 1 } else { 3 };
    let (height, width) = (height as usize, width as usize);
    let mut elements = Vec::with_capacity(decoded.len() * channels * height * width);
    let mut labels = Vec::with_capacity(decoded.len());
    for (_, label, image) in decoded {
        labels.push(label);
        if grey {
            elements.extend(image.to_luma32f().into_raw());
        } else {
            // Pixel after pixel in the file, plane after plane in the tensor.
            let pixels = image.to_rgb32f().into_raw();
            for channel in 0..channels {
                elements.extend(pixels.iter().skip(channel).step_by(channels));
            }
        }
    }
    let images = Tensor::new([labels.len(), channels, height, width], elements)?;
    Ok(Images { images, labels: Tensor::from(labels), names })
}

fn is_image(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|found| FORMATS.iter().any(|format| found.eq_ignore_ascii_case(format)))
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| refused(folder, error))?;
    let paths: std::io::Result<Vec<PathBuf>> =
        entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(|error| refused(folder, error))?;
    paths.sort();
    Ok(paths)
}

fn refused(path: &Path, message: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Data, "read_images", format!("{}: {message}", path.display()))
}
