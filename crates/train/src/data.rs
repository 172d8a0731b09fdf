//! Data sets from files.

use std::path::Path;

use cotan::{Element, Error, ErrorKind, Float, Result, Tensor};
use cotan_array::open_file;

#[cfg(feature = "images")]
mod images;
#[cfg(feature = "images")]
pub use images::{Images, read_images};

/// A table of numbers with named columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table<T: Element> {
    /// The names of the columns, from the first line.
    pub names: Vec<String>,
    /// The rows: shape `[rows, columns]`.
    pub values: Tensor<T>,
}

impl<T: Element> Table<T> {
    /// Some of the columns, in the given order: shape `[rows, names.len()]`.
    pub fn columns(&self, names: &[&str]) -> Result<Tensor<T>> {
        let places: Result<Vec<usize>> = names.iter().map(|name| self.place(name)).collect();
        self.values.take(places?, 1)
    }

    /// One column: shape `[rows]`.
    pub fn column(&self, name: &str) -> Result<Tensor<T>> {
        self.values.take(Tensor::from(self.place(name)? as i64), 1)
    }

    fn place(&self, name: &str) -> Result<usize> {
        self.names.iter().position(|column| column == name).ok_or_else(|| {
            let message = format!("there is no column `{name}`");
            Error::new(ErrorKind::Data, "read_csv", message)
                .with_hint(format!("the columns are {:?}", self.names))
        })
    }
}

/// Reads a `.csv` file of numbers, the first line of which names the columns. Spaces around numbers
/// do not count; an empty field is NaN.
///
/// ```
/// use cotan_train::data::read_csv;
///
/// let path = std::env::temp_dir().join("cotan-example-points.csv");
/// std::fs::write(&path, "x,y,class\n0.5,1,0\n-2, 3.5,1\n")?;
/// let table = read_csv::<f64>(&path)?;
/// assert_eq!(table.columns(&["y", "x"])?.to_vec(), [1.0, 0.5, 3.5, -2.0]);
/// assert_eq!(table.column("class")?.cast::<i64>().to_vec(), [0, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_csv<T: Float>(path: impl AsRef<Path>) -> Result<Table<T>> {
    let path = path.as_ref();
    let refused = |message: String| {
        Error::new(ErrorKind::Data, "read_csv", format!("{}: {message}", path.display()))
    };
    let file = open_file(path).map_err(|error| refused(error.to_string()))?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(file);
    let names: Vec<String> = match reader.headers() {
        Ok(names) => names.iter().map(str::to_owned).collect(),
        Err(error) => return Err(refused(error.to_string())),
    };
    let mut values = Vec::new();
    let mut rows = 0;
    for record in reader.records() {
        let record = record.map_err(|error| refused(error.to_string()))?;
        for (name, field) in names.iter().zip(&record) {
            let value = match field {
                "" => f64::NAN,
                field => field.parse().map_err(|_| {
                    let line = record.position().map_or(0, csv::Position::line);
                    refused(format!("line {line}: `{name}` is `{field}`, which is not a number"))
                        .with_hint("columns of words have to be made numbers first")
                })?,
            };
            values.push(T::of(value));
        }
        rows += 1;
    }
    let values = Tensor::new([rows, names.len()], values)?;
    Ok(Table { names, values })
}
