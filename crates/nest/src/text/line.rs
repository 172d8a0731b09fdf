//! A line of text, and a place in it.

use cotan_array::Dtype;

use super::parse::ParseError;

type R<T> = Result<T, ParseError>;

/// A line, without the comment at its end, and how far it has been read.
#[derive(Clone)]
pub(super) struct Line<'a> {
    text: &'a str,
    at: usize,
    number: usize,
    /// How deep it is: two spaces each.
    pub depth: usize,
}

/// The lines that say something.
pub(super) fn lines(text: &str) -> R<Vec<Line<'_>>> {
    let mut lines = Vec::new();
    for (n, whole) in text.lines().enumerate() {
        let text = whole.split('#').next().unwrap_or_default().trim_end();
        let at = text.len() - text.trim_start_matches(' ').len();
        let line = Line { text, at, number: n + 1, depth: at / 2 };
        if text.is_empty() {
            continue;
        }
        if at % 2 == 1 {
            return Err(line.error("blocks are two spaces deeper than what they belong to"));
        }
        lines.push(line);
    }
    Ok(lines)
}

impl<'a> Line<'a> {
    /// What is wrong at the place.
    pub fn error(&self, message: impl Into<String>) -> ParseError {
        let at = self.at + self.rest().len() - self.rest().trim_start().len();
        let column = self.text.get(..at).map_or(at, |before| before.chars().count()) + 1;
        ParseError { line: self.number, column, message: message.into() }
    }

    /// What is left.
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Goes on behind some symbols, if they are next.
    pub fn eat(&mut self, symbols: &str) -> bool {
        self.skip();
        let found = self.rest().starts_with(symbols);
        self.at += if found { symbols.len() } else { 0 };
        found
    }

    /// Goes on behind symbols that must be next.
    pub fn expect(&mut self, symbols: &str) -> R<()> {
        match self.eat(symbols) {
            true => Ok(()),
            false => Err(self.error(format!("`{symbols}` is expected here"))),
        }
    }

    /// The word that is next, if there is one.
    pub fn peek(&mut self) -> Option<&'a str> {
        self.skip();
        let rest = self.rest();
        let begins = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        begins.then(|| &rest[..end.unwrap_or(rest.len())])
    }

    /// Goes on behind a word, if it is next.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// Goes on behind a word that must be next.
    pub fn expect_word(&mut self, word: &str) -> R<()> {
        match self.eat_word(word) {
            true => Ok(()),
            false => Err(self.error(format!("`{word}` is expected here"))),
        }
    }

    /// The next word, whatever it is.
    pub fn word(&mut self, what: &str) -> R<&'a str> {
        let word = self.peek().ok_or_else(|| self.error(format!("{what} is expected here")))?;
        self.at += word.len();
        Ok(word)
    }

    /// Nothing must be left.
    pub fn end(&mut self) -> R<()> {
        self.skip();
        match self.rest() {
            "" => Ok(()),
            _ => Err(self.error("the line should end here")),
        }
    }

    fn digits(&mut self) -> &'a str {
        self.skip();
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// A number of things.
    pub fn count(&mut self) -> R<usize> {
        let before = self.clone();
        self.digits().parse().map_err(|_| before.error("a number that fits is expected here"))
    }

    /// An integer with its sign.
    pub fn integer(&mut self) -> R<i64> {
        let before = self.clone();
        let sign = if self.eat("-") { "-" } else { "" };
        let digits = self.digits();
        let number = format!("{sign}{digits}").parse();
        number.map_err(|_| before.error("an integer that fits is expected here"))
    }

    /// The number $n$ of the index `in`, if that is next.
    pub fn index(&mut self) -> Option<usize> {
        let word = self.peek()?;
        let n = word.strip_prefix('i')?.parse().ok()?;
        self.at += word.len();
        Some(n)
    }

    /// A constant that is not an affine integer, as bits of its type, if one is next.
    pub fn constant(&mut self) -> R<Option<(u64, Dtype)>> {
        let before = self.clone();
        if let Some(bits) = self.bits()? {
            return Ok(Some(bits));
        }
        let negative = self.eat("-");
        let float = |x: f64, dtype: Dtype| match dtype {
            Dtype::F32 => u64::from((x as f32).to_bits()),
            _ => x.to_bits(),
        };
        let named = match self.peek() {
            Some("true") if !negative => Some((1, Dtype::Bool)),
            Some("false") if !negative => Some((0, Dtype::Bool)),
            Some("nan") if !negative => Some((float(f64::NAN, Dtype::F64), Dtype::F64)),
            Some("nanf32") if !negative => Some((float(f64::NAN, Dtype::F32), Dtype::F32)),
            Some("inf") => Some((float(infinite(negative), Dtype::F64), Dtype::F64)),
            Some("inff32") => Some((float(infinite(negative), Dtype::F32), Dtype::F32)),
            _ => None,
        };
        if let (Some(constant), Some(word)) = (named, self.peek()) {
            self.at += word.len();
            return Ok(Some(constant));
        }
        let start = self.at;
        let whole = !self.digits().is_empty();
        let mut fraction = false;
        if whole && self.rest().starts_with('.') {
            self.at += 1;
            self.digits();
            fraction = true;
        }
        if whole && self.rest().starts_with('e') {
            self.at += 1;
            self.at += usize::from(self.rest().starts_with(['-', '+']));
            self.digits();
            fraction = true;
        }
        let digits = self.text.get(start..self.at).unwrap_or_default().trim_start();
        let sign = if negative { "-" } else { "" };
        let text = format!("{sign}{digits}");
        let wrong = || before.error("a number is expected here");
        if whole && self.rest().starts_with("f32") {
            self.at += 3;
            let x: f32 = text.parse().map_err(|_| wrong())?;
            return Ok(Some((u64::from(x.to_bits()), Dtype::F32)));
        }
        if whole && !fraction && self.rest().starts_with("i64") {
            self.at += 3;
            let x: i64 = text.parse().map_err(|_| wrong())?;
            return Ok(Some((x as u64, Dtype::I64)));
        }
        if fraction {
            let x: f64 = text.parse().map_err(|_| wrong())?;
            return Ok(Some((x.to_bits(), Dtype::F64)));
        }
        *self = before;
        Ok(None)
    }

    /// The bits of a number, as `f64(0x7ff8000000000001)`.
    fn bits(&mut self) -> R<Option<(u64, Dtype)>> {
        let before = self.clone();
        let Some(dtype) = self.peek().and_then(dtype_of) else { return Ok(None) };
        self.at += dtype.name().len();
        self.expect("(0x")?;
        let rest = self.rest();
        let digits = &rest[..rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len())];
        self.at += digits.len();
        self.expect(")")?;
        let bits = u64::from_str_radix(digits, 16);
        let bits = bits.map_err(|_| before.error("at most 16 hexadecimal digits"))?;
        Ok(Some((bits, dtype)))
    }

    /// The name of a type.
    pub fn dtype(&mut self) -> R<Dtype> {
        let before = self.clone();
        let word = self.word("the name of a type")?;
        dtype_of(word).ok_or_else(|| before.error("`f64`, `f32`, `i64` or `bool` is expected here"))
    }
}

fn infinite(negative: bool) -> f64 {
    if negative { f64::NEG_INFINITY } else { f64::INFINITY }
}

fn dtype_of(word: &str) -> Option<Dtype> {
    Dtype::ALL.into_iter().find(|dtype| dtype.name() == word)
}
