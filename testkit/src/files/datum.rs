//! Values written in the comments of a test file.
//!
//! Read by a reader of its own, so that the tests do not depend on the parser they test.

use cotan_array::{Array, Dtype, Shape};
use cotan_interp::Value;
use cotan_ir::Type;
use cotan_ir::scalar::Scalar;

/// An argument or result: arrays in tuples and records.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// `2.0`, `[1, 2]`, `[[true], [false]]`, `empty([0, 3], f64)`
    Array(Value),
    /// `(a, b)`
    Tuple(Vec<Datum>),
    /// `{w = a, b = c}`
    Record(Vec<(String, Datum)>),
    /// `static 3`: an argument known when the program is made.
    Static(Scalar),
}

impl Datum {
    /// The arrays, in order.
    pub fn leaves(&self) -> Vec<&Value> {
        match self {
            Datum::Array(value) => vec![value],
            Datum::Tuple(items) => items.iter().flat_map(Datum::leaves).collect(),
            Datum::Record(fields) => fields.iter().flat_map(|(_, item)| item.leaves()).collect(),
            Datum::Static(_) => Vec::new(),
        }
    }

    /// Reads one value; nothing may follow it.
    pub fn parse(text: &str) -> Result<Datum, String> {
        let mut reader = Reader { rest: text.trim_start() };
        let datum = reader.datum()?;
        reader.end()?;
        Ok(datum)
    }
}

/// A call as the comments write it: `f(a, b)` or `f[n = 3](a)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function.
    pub function: String,
    /// The sizes given by name.
    pub sizes: Vec<(String, usize)>,
    /// The arguments.
    pub args: Vec<Datum>,
}

impl Call {
    /// Reads a call.
    pub fn parse(text: &str) -> Result<Call, String> {
        let mut reader = Reader { rest: text.trim_start() };
        let function = reader.name()?;
        let mut sizes = Vec::new();
        if reader.eat("[") {
            reader.list("]", |r| {
                let name = r.name()?;
                r.expect("=")?;
                let word = r.word();
                let size = word.parse().map_err(|_| format!("`{word}` is not a size"))?;
                sizes.push((name, size));
                Ok(())
            })?;
        }
        let mut args = Vec::new();
        if reader.eat("(") {
            reader.list(")", |r| {
                args.push(r.datum()?);
                Ok(())
            })?;
        }
        reader.end()?;
        Ok(Call { function, sizes, args })
    }
}

/// The elements of an array under construction.
struct Elements {
    dims: Vec<usize>,
    scalars: Vec<Scalar>,
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) { Ok(()) } else { Err(format!("`{token}` expected at `{}`", self.rest)) }
    }

    fn end(&self) -> Result<(), String> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(format!("nothing expected at `{}`", self.rest))
        }
    }

    /// Letters, digits and what numbers are made of.
    fn word(&mut self) -> &'a str {
        let part = |c: char| c.is_ascii_alphanumeric() || "_.+-'".contains(c);
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }

    fn name(&mut self) -> Result<String, String> {
        match self.word() {
            "" => Err(format!("a name expected at `{}`", self.rest)),
            name => Ok(name.to_owned()),
        }
    }

    /// Items between commas up to `close`; a comma may follow the last.
    fn list(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        while !self.eat(close) {
            item(self)?;
            if !self.eat(",") {
                return self.expect(close);
            }
        }
        Ok(())
    }

    fn datum(&mut self) -> Result<Datum, String> {
        if self.eat("(") {
            let mut items = Vec::new();
            self.list(")", |r| {
                items.push(r.datum()?);
                Ok(())
            })?;
            return Ok(Datum::Tuple(items));
        }
        if self.eat("{") {
            let mut fields = Vec::new();
            self.list("}", |r| {
                let name = r.name()?;
                r.expect("=")?;
                fields.push((name, r.datum()?));
                Ok(())
            })?;
            return Ok(Datum::Record(fields));
        }
        if self.eat("static ") {
            return scalar(self.word()).map(Datum::Static);
        }
        if self.eat("empty(") {
            return self.empty().map(Datum::Array);
        }
        let Elements { dims, scalars } = self.elements()?;
        let dtype = scalars.first().map_or(Dtype::F64, |&x| dtype_of(x));
        let shape = Shape::new("test", &dims).map_err(|e| e.to_string())?;
        let value = Value::new(Type::new(dtype, shape), scalars).map_err(|e| e.to_string())?;
        Ok(Datum::Array(value))
    }

    /// `[0, 3], f64)`
    fn empty(&mut self) -> Result<Value, String> {
        let mut dims: Vec<usize> = Vec::new();
        self.expect("[")?;
        self.list("]", |r| {
            let word = r.word();
            dims.push(word.parse().map_err(|_| format!("`{word}` is not a size"))?);
            Ok(())
        })?;
        self.expect(",")?;
        let name = self.word();
        let dtype = Dtype::ALL.into_iter().find(|d| d.name() == name);
        let dtype = dtype.ok_or_else(|| format!("`{name}` is not an element type"))?;
        self.expect(")")?;
        let shape = Shape::new("test", &dims).map_err(|e| e.to_string())?;
        if shape.numel() != 0 {
            return Err(format!("{shape} is not empty"));
        }
        let array = Array::zeros(dtype, shape).map_err(|e| e.to_string())?;
        Ok(Value::from(&array))
    }

    /// A scalar, or an array of equal-shaped arrays. Nested as deeply as the rank of an array.
    fn elements(&mut self) -> Result<Elements, String> {
        if !self.eat("[") {
            return Ok(Elements { dims: Vec::new(), scalars: vec![scalar(self.word())?] });
        }
        let (mut count, mut inner, mut scalars) = (0, None, Vec::new());
        self.list("]", |r| {
            let item = r.elements()?;
            if inner.get_or_insert_with(|| item.dims.clone()) != &item.dims {
                return Err(format!("rows of different shapes before `{}`", r.rest));
            }
            scalars.extend(item.scalars);
            count += 1;
            Ok(())
        })?;
        let Some(inner) = inner else { return Err("write `empty([0], f64)` for `[]`".into()) };
        Ok(Elements { dims: [vec![count], inner].concat(), scalars })
    }
}

fn dtype_of(x: Scalar) -> Dtype {
    match x {
        Scalar::F64(_) | Scalar::Fp(_) => Dtype::F64,
        Scalar::F32(_) => Dtype::F32,
        Scalar::I64(_) => Dtype::I64,
        Scalar::Bool(_) => Dtype::Bool,
    }
}

fn scalar(word: &str) -> Result<Scalar, String> {
    let wrong = || format!("`{word}` is not a number or truth value");
    if let Some(number) = word.strip_suffix("f32") {
        return number.parse().map(Scalar::F32).map_err(|_| wrong());
    }
    match word {
        "true" => Ok(Scalar::Bool(true)),
        "false" => Ok(Scalar::Bool(false)),
        "inf" | "-inf" | "nan" => word.parse().map(Scalar::F64).map_err(|_| wrong()),
        _ if word.contains(['.', 'e']) => word.parse().map(Scalar::F64).map_err(|_| wrong()),
        _ => word.parse().map(Scalar::I64).map_err(|_| wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match Datum::parse(text) {
            Ok(datum) => {
                let leaves: Vec<String> = datum.leaves().iter().map(|v| v.to_string()).collect();
                leaves.join(" ")
            }
            Err(e) => format!("error: {e}"),
        }
    }

    #[test]
    fn values_of_every_type() {
        assert_eq!(shown("2"), "i64 {2}");
        assert_eq!(shown("-2.5"), "f64 {-2.5}");
        assert_eq!(shown("1e-3"), "f64 {0.001}");
        assert_eq!(shown("[2.0f32, -inff32]"), "[2]f32 {2.0, -inf}");
        assert_eq!(shown("[[true, false]]"), "[1, 2]bool {true, false}");
        assert_eq!(shown("empty([0, 3], i64)"), "[0, 3]i64 {}");
        assert_eq!(shown("({w = nan, b = [1]}, 2)"), "f64 {NaN} [1]i64 {1} i64 {2}");
        assert_eq!(Datum::parse("static 3"), Ok(Datum::Static(Scalar::I64(3))));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in ["", "[]", "[1, 2.0]", "[[1], [1, 2]]", "2 3", "x", "(1", "empty([2], f64)"] {
            assert!(Datum::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn calls() {
        let call = Call::parse("f[n = 3, m = 2]([1.0, 2.0], (1,))").unwrap();
        assert_eq!(call.function, "f");
        assert_eq!(call.sizes, [("n".to_owned(), 3), ("m".to_owned(), 2)]);
        assert_eq!(call.args.len(), 2);
        assert!(Call::parse("f").unwrap().args.is_empty());
        assert!(Call::parse("f(1").is_err());
    }
}
