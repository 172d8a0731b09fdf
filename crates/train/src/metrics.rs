//! Metrics in a file: a row for each report.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use cotan::{Error, ErrorKind, Result};
use cotan_array::{open_file, replace_file};
use serde_json::{Map, Value, json};

use crate::checkpoint::refused;

/// What a run reports: after each epoch, or every so many steps.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Row {
    /// How many steps were taken.
    pub step: u64,
    /// How many epochs, in parts.
    pub epoch: f64,
    /// The mean loss since the last report.
    pub loss: f64,
    /// How long the run has taken, in seconds, with what was resumed.
    pub seconds: f64,
    /// Rows of data in a second, since the last report.
    pub rows_per_second: f64,
    /// The results of the evaluation.
    pub values: Vec<f64>,
}

/// The columns that are always there.
const COLUMNS: [&str; 5] = ["step", "epoch", "loss", "seconds", "rows_per_second"];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    Csv,
    Json,
}

/// A file of rows.
#[derive(Debug)]
pub(crate) struct Metrics {
    path: PathBuf,
    format: Format,
    names: Vec<String>,
    file: File,
}

impl Metrics {
    /// A file with the rows of a run up to a step, if it is resumed, and these.
    pub(crate) fn open(
        path: &Path,
        names: &[String],
        resumed: Option<u64>,
    ) -> Result<(Metrics, Vec<Row>)> {
        let format = format_of(path)?;
        let mut rows = match resumed {
            Some(_) if path.exists() => read(path, format, names)?,
            _ => Vec::new(),
        };
        rows.retain(|row| resumed.is_some_and(|step| row.step <= step));
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| refused(parent, &error))?;
        }
        let mut text = match format {
            Format::Csv => format!("{}\n", header(names).map(quoted).collect::<Vec<_>>().join(",")),
            Format::Json => String::new(),
        };
        text.extend(rows.iter().map(|row| line(row, format, names)));
        replace_file(path, |output| output.write_all(text.as_bytes()))
            .map_err(|error: std::io::Error| refused(path, &error))?;
        let file = OpenOptions::new().append(true).open(path);
        let file = file.map_err(|error| refused(path, &error))?;
        Ok((Metrics { path: path.to_owned(), format, names: names.to_vec(), file }, rows))
    }

    pub(crate) fn write(&mut self, row: &Row) -> Result<()> {
        let line = line(row, self.format, &self.names);
        // A line is written at once, so that a reader never sees half of it.
        self.file.write_all(line.as_bytes()).map_err(|error| refused(&self.path, &error))
    }
}

fn format_of(path: &Path) -> Result<Format> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Ok(Format::Csv),
        Some("jsonl" | "json" | "ndjson") => Ok(Format::Json),
        _ => {
            let message = format!("{} is neither .csv nor .jsonl", path.display());
            Err(Error::new(ErrorKind::Data, "metrics", message)
                .with_hint("the end of the name says the format"))
        }
    }
}

fn header(names: &[String]) -> impl Iterator<Item = &str> {
    COLUMNS.into_iter().chain(names.iter().map(String::as_str))
}

fn quoted(name: &str) -> String {
    match name.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name.to_owned(),
    }
}

fn numbers(row: &Row) -> impl Iterator<Item = f64> + '_ {
    [row.epoch, row.loss, row.seconds, row.rows_per_second].into_iter().chain(row.values.clone())
}

fn line(row: &Row, format: Format, names: &[String]) -> String {
    match format {
        Format::Csv => {
            let rest: Vec<String> = numbers(row).map(|x| x.to_string()).collect();
            format!("{},{}\n", row.step, rest.join(","))
        }
        Format::Json => {
            let step = [("step".to_owned(), json!(row.step))];
            // What is not finite has no number in JSON, and is null.
            let rest = header(names).skip(1).map(str::to_owned).zip(numbers(row).map(|x| json!(x)));
            let object: Map<String, Value> = step.into_iter().chain(rest).collect();
            format!("{}\n", Value::Object(object))
        }
    }
}

/// The rows of a file that a run has written. A last line that was cut off does not count.
fn read(path: &Path, format: Format, names: &[String]) -> Result<Vec<Row>> {
    let differs = |message: String| {
        Error::new(ErrorKind::Data, "metrics", format!("{}: {message}", path.display()))
            .with_hint("a run that is resumed goes on with its own metrics; name another file")
    };
    let mut text = String::new();
    let mut file = open_file(path).map_err(|error| refused(path, &error))?;
    std::io::Read::read_to_string(&mut file, &mut text).map_err(|error| refused(path, &error))?;
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let row = |numbers: Vec<f64>| match *numbers {
        [step, epoch, loss, seconds, rows_per_second, ref values @ ..]
            if values.len() == names.len() =>
        {
            Some(Row {
                step: step as u64,
                epoch,
                loss,
                seconds,
                rows_per_second,
                values: values.to_vec(),
            })
        }
        _ => None,
    };
    match format {
        Format::Csv => {
            let mut reader = csv::Reader::from_reader(whole.as_bytes());
            let found = reader.headers().map_err(|error| differs(error.to_string()))?;
            if !found.iter().eq(header(names)) {
                let (found, wanted): (Vec<_>, Vec<_>) =
                    (found.iter().collect(), header(names).collect());
                return Err(differs(format!("columns {found:?}, not {wanted:?}")));
            }
            let records = reader.records().map(|record| {
                let record = record.map_err(|error| differs(error.to_string()))?;
                let numbers: Option<Vec<f64>> = record.iter().map(|x| x.parse().ok()).collect();
                numbers.and_then(row).ok_or_else(|| differs(format!("no row: {record:?}")))
            });
            records.collect()
        }
        Format::Json => {
            let lines = whole.lines().map(|line| {
                let object: Map<String, Value> =
                    serde_json::from_str(line).map_err(|error| differs(error.to_string()))?;
                let number = |name: &str| match object.get(name) {
                    Some(Value::Null) => Some(f64::NAN),
                    Some(value) => value.as_f64(),
                    None => None,
                };
                let numbers: Option<Vec<f64>> = header(names).map(number).collect();
                numbers.and_then(row).ok_or_else(|| differs(format!("no row: {line}")))
            });
            lines.collect()
        }
    }
}
