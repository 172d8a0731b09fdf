//! Numbers.

use cotan_array::Dtype;

use super::Parser;
use crate::ast::{ExprId, ExprKind, Literal};
use crate::diagnostic::{Code, Diagnostic};
use crate::lex::TokenKind;

/// Why a text is not a number: the code, what is wrong, what to do.
type NumberError = (Code, &'static str, &'static str);

impl Parser<'_> {
    pub(super) fn at_number(&self) -> bool {
        use TokenKind::{Inf, InfF32, Nan, NanF32, Number};
        matches!(self.peek(), Number | Inf | Nan | InfF32 | NanF32)
    }

    /// A number, whose minus, if it is negative, has been taken; `start` is where it begins.
    pub(super) fn number(&mut self, negative: bool, start: u32) -> ExprId {
        let token = self.bump();
        let literal = match token.kind {
            TokenKind::Inf => Ok(float(f64::INFINITY, None)),
            TokenKind::InfF32 => Ok(float(f64::INFINITY, Some(Dtype::F32))),
            TokenKind::Nan => Ok(float(f64::NAN, None)),
            TokenKind::NanF32 => Ok(float(f64::NAN, Some(Dtype::F32))),
            _ => read(self.text_of(token), negative),
        };
        let span = self.since(start);
        let kind = match literal {
            Ok(Literal::Float { value, suffix }) if negative && !value.is_nan() => {
                ExprKind::Literal(float(-value, suffix))
            }
            Ok(literal) => ExprKind::Literal(literal),
            Err((code, message, hint)) => {
                let message = format!("`{}` {message}", self.text_of(token));
                self.report(Diagnostic::new(code, span, message).hint(hint));
                ExprKind::Error
            }
        };
        self.add(kind, span)
    }

    /// `.5`
    pub(super) fn number_without_start(&mut self) -> ExprId {
        let start = self.bump().start;
        let digits = self.bump();
        let place = self.since(start);
        let digits = self.text_of(digits);
        self.report(
            Diagnostic::new(Code::BadNumber, place, "a number begins with a digit")
                .hint(format!("write `0.{digits}`")),
        );
        self.add(ExprKind::Error, place)
    }
}

fn float(value: f64, suffix: Option<Dtype>) -> Literal {
    Literal::Float { value, suffix }
}

/// Reads digits, a fraction, an exponent and a suffix. Of an integer the sign is applied, since the
/// least one has no positive counterpart; a float comes without its sign.
fn read(text: &str, negative: bool) -> Result<Literal, NumberError> {
    let (number, suffix) = text.split_at(number_length(text));
    let fractional = number.contains(['.', 'e', 'E']);
    let dtype = match suffix {
        "" => None,
        "f64" => Some(Dtype::F64),
        "f32" => Some(Dtype::F32),
        "i64" if fractional => {
            return Err((Code::BadNumber, "is not an integer", "leave out the suffix `i64`"));
        }
        "i64" => Some(Dtype::I64),
        _ => {
            let hint = "numbers are decimal; the suffixes are `i64`, `f64` and `f32`";
            return Err((Code::BadNumber, "is not a number", hint));
        }
    };
    let sign = if negative && !fractional { "-" } else { "" };
    let digits: String = sign.chars().chain(number.chars().filter(|&c| c != '_')).collect();
    let too_large = (
        Code::NumberTooLarge,
        "is too large",
        "integers have 64 bits, floats end near 1.8e308 (f64) and 3.4e38 (f32); see also `inf`",
    );
    if !fractional && matches!(dtype, None | Some(Dtype::I64)) {
        let value = digits.parse().map_err(|_| too_large)?;
        return Ok(Literal::Int { value, suffix: dtype.is_some() });
    }
    let digits = digits.trim_start_matches('-');
    let value = match dtype {
        Some(Dtype::F32) => digits.parse::<f32>().map(f64::from),
        _ => digits.parse::<f64>(),
    };
    match value {
        Ok(value) if value.is_finite() => Ok(float(value, dtype)),
        _ => Err(too_large),
    }
}

/// How much of the text is the number; the rest is the suffix.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| {
        text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_').len()
    };
    let mut length = digits(text);
    if let Some(fraction) = text.get(length..).and_then(|rest| rest.strip_prefix('.')) {
        length += 1 + digits(fraction);
    }
    if let Some(exponent) = text.get(length..).and_then(|rest| rest.strip_prefix(['e', 'E'])) {
        let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if unsigned.starts_with(|c: char| c.is_ascii_digit()) {
            length += 1 + (exponent.len() - unsigned.len()) + digits(unsigned);
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_reach_both_ends() {
        let int = |text, negative| match read(text, negative) {
            Ok(Literal::Int { value, suffix }) => (value, suffix),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(int("1_000", false), (1000, false));
        assert_eq!(int("7i64", false), (7, true));
        assert_eq!(int("9223372036854775807", false), (i64::MAX, false));
        assert_eq!(int("9223372036854775808", true), (i64::MIN, false));
        assert!(matches!(read("9223372036854775808", false), Err((Code::NumberTooLarge, ..))));
        assert!(matches!(read("9223372036854775809", true), Err((Code::NumberTooLarge, ..))));
    }

    #[test]
    fn floats_are_rounded_once() {
        let value = |text| match read(text, false) {
            Ok(Literal::Float { value, suffix }) => (value, suffix),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(value("1.5"), (1.5, None));
        assert_eq!(value("1_0.2_5e-1f64"), (1.025, Some(Dtype::F64)));
        assert_eq!(value("2f32"), (2.0, Some(Dtype::F32)));
        assert_eq!(value("1e3"), (1000.0, None));
        // Just above the middle of two f32; the nearest f64 is the middle, which rounds down.
        let text = "1.00000005960464477539062500001f32";
        assert_eq!(value(text), (f64::from(1.0f32 + f32::EPSILON), Some(Dtype::F32)));
    }

    #[test]
    fn other_texts_are_not_numbers() {
        for text in ["0x1F", "1e", "2f16", "3u8", "1.5i64", "1abc"] {
            assert!(matches!(read(text, false), Err((Code::BadNumber, ..))), "{text}");
        }
        for text in ["1e999", "1e39f32"] {
            assert!(matches!(read(text, false), Err((Code::NumberTooLarge, ..))), "{text}");
        }
    }
}
