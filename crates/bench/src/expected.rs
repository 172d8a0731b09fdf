//! What results have to be, as a few numbers each: the value, and of every array its sum, its
//! length as a vector, and some elements.

use std::path::Path;

use cotan_array::{Array, Dtype};
use serde_json::{Map, Value, json};

use crate::Result;

/// The values that come with the suite, for the inputs that it makes. They were computed by another
/// system (`peers/jax_peer.py --reference`).
const OWN: &str = include_str!("../expected.json");

/// Some numbers about an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Its sizes.
    pub sizes: Vec<usize>,
    /// The sum of the elements.
    pub sum: f64,
    /// The square root of the sum of squares.
    pub norm: f64,
    /// Some elements by their positions in row-major order.
    pub entries: Vec<(usize, f64)>,
}

impl Summary {
    /// That of an array: the first and the last element, and three in between.
    pub fn of(array: &Array) -> Result<Summary> {
        let elements = array.cast(Dtype::F64)?.to_vec::<f64>()?;
        let n = elements.len();
        let mut places = vec![0, n / 4, n / 2, 3 * n / 4, n.saturating_sub(1)];
        places.dedup();
        let entry = |&at: &usize| elements.get(at).map(|&x| (at, x));
        Ok(Summary {
            sizes: array.shape().dims().to_vec(),
            sum: compensated_sum(&elements),
            norm: elements.iter().map(|x| x * x).sum::<f64>().sqrt(),
            entries: places.iter().filter_map(entry).collect(),
        })
    }

    /// The largest difference in relation to the size of the array, as a vector.
    ///
    /// A sum of n elements may deviate by the square root of n more than the vector does.
    pub fn deviation(&self, expected: &Summary) -> f64 {
        if self.sizes != expected.sizes {
            return f64::INFINITY;
        }
        let scale = expected.norm.max(f64::MIN_POSITIVE);
        let n = expected.sizes.iter().product::<usize>() as f64;
        let mut worst = relative((self.sum - expected.sum) / n.sqrt().max(1.0), scale);
        worst = worse(worst, relative(self.norm - expected.norm, scale));
        for (at, wanted) in &expected.entries {
            let found = self.entries.iter().find(|(n, _)| n == at).map_or(f64::NAN, |e| e.1);
            worst = worse(worst, relative(found - wanted, scale));
        }
        worst
    }

    fn to_json(&self) -> Value {
        let entries: Map<String, Value> =
            self.entries.iter().map(|(at, x)| (at.to_string(), json!(x))).collect();
        json!({"shape": self.sizes, "sum": self.sum, "l2": self.norm, "entries": entries})
    }

    fn from_json(value: &Value) -> Option<Summary> {
        let sizes = value["shape"].as_array()?.iter().map(|n| n.as_u64().map(|n| n as usize));
        let entries = value["entries"].as_object()?.iter();
        let entry = |(at, x): (&String, &Value)| Some((at.parse().ok()?, x.as_f64()?));
        Some(Summary {
            sizes: sizes.collect::<Option<_>>()?,
            sum: value["sum"].as_f64()?,
            norm: value["l2"].as_f64()?,
            entries: entries.map(entry).collect::<Option<_>>()?,
        })
    }
}

fn relative(difference: f64, scale: f64) -> f64 {
    difference.abs() / scale
}

/// The larger of two deviations, of which NaN is the largest.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// A sum that does not lose what is small (Neumaier's).
fn compensated_sum(elements: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0);
    for &x in elements {
        let next = sum + x;
        lost += if sum.abs() >= x.abs() { (sum - next) + x } else { (x - next) + sum };
        sum = next;
    }
    sum + lost
}

/// What a benchmark gives at a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The value of the objective.
    pub value: f64,
    /// The derivatives by name.
    pub derivatives: Vec<(String, Summary)>,
}

impl Outcome {
    /// The largest relative deviation, and what deviates so.
    pub fn deviation(&self, expected: &Outcome) -> (f64, String) {
        let scale = expected.value.abs().max(f64::MIN_POSITIVE);
        let mut worst = (relative(self.value - expected.value, scale), "value".to_owned());
        for (name, wanted) in &expected.derivatives {
            let found = self.derivatives.iter().find(|(n, _)| n == name);
            let deviation = found.map_or(f64::NAN, |(_, found)| found.deviation(wanted));
            if worse(worst.0, deviation) > worst.0 || (deviation.is_nan() && !worst.0.is_nan()) {
                worst = (deviation, name.clone());
            }
        }
        worst
    }

    /// The numbers as they stand in files.
    pub fn to_json(&self) -> Value {
        let derivatives: Map<String, Value> =
            self.derivatives.iter().map(|(name, s)| (name.clone(), s.to_json())).collect();
        json!({"value": self.value, "gradients": derivatives})
    }

    /// Reads such numbers.
    pub fn from_json(value: &Value) -> Option<Outcome> {
        let derivatives = value["gradients"].as_object()?.iter();
        let derivative = |(n, s): (&String, &Value)| Some((n.clone(), Summary::from_json(s)?));
        Some(Outcome {
            value: value["value"].as_f64()?,
            derivatives: derivatives.map(derivative).collect::<Option<_>>()?,
        })
    }
}

/// What is expected, by benchmark and case.
#[derive(Clone, Debug)]
pub struct Expected(Map<String, Value>);

impl Expected {
    /// What is expected of the inputs that the suite makes.
    pub fn own() -> Result<Expected> {
        Expected::parse(OWN)
    }

    /// Reads a file of such values: an object with an entry `BENCHMARK/CASE` for each, which has a
    /// `value` and `gradients`, each with `shape`, `sum`, `l2` and `entries`.
    pub fn read(path: &Path) -> Result<Expected> {
        Expected::parse(&std::fs::read_to_string(path)?)
    }

    fn parse(text: &str) -> Result<Expected> {
        match serde_json::from_str(text)? {
            Value::Object(entries) => Ok(Expected(entries)),
            _ => Err("expected values are an object by benchmark and case".into()),
        }
    }

    /// What is expected of a case.
    pub fn find(&self, benchmark: &str, case: &str) -> Option<Outcome> {
        Outcome::from_json(self.0.get(&format!("{benchmark}/{case}"))?)
    }
}
