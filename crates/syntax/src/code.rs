//! The codes of messages. A code never changes its meaning and is never used again.

use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The program has no meaning.
    Error,
    /// The program has a meaning, but perhaps not the one intended.
    Warning,
}

macro_rules! codes {
    ($($code:ident = $severity:ident $number:literal, $title:literal, $explanation:literal;)*) => {
        /// What a message is about. Shown as `E0007` (errors) or `W0301` (warnings).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $title] $code,)*
        }

        impl Code {
            /// All codes, by number.
            pub const ALL: &[Code] = &[$(Code::$code),*];

            /// The number: four digits when shown.
            pub const fn number(self) -> u16 {
                match self {
                    $(Code::$code => $number,)*
                }
            }

            /// Error or warning.
            pub const fn severity(self) -> Severity {
                match self {
                    $(Code::$code => Severity::$severity,)*
                }
            }

            /// One line: what it is about.
            pub const fn title(self) -> &'static str {
                match self {
                    $(Code::$code => $title,)*
                }
            }

            /// A longer text: when it happens, an example, and what to do.
            pub const fn explanation(self) -> &'static str {
                match self {
                    $(Code::$code => $explanation,)*
                }
            }
        }
    };
}

// Numbers: below 100 the text itself; every later stage of the front end has a hundred of its own.
codes! {
    UnexpectedCharacter = Error 1, "A character that the language does not use.",
"Programs are written in ASCII: letters, digits, `_` and `'` in names, and the operators
`+ - * / // % ** == != < <= > >= => -> = : , ; . ( ) [ ] { }`. Other characters may stand in
comments and between backquotes:

    def area(`größe`: f64): f64 = `größe` * `größe`    # √ is fine here
";
    Unterminated = Error 2, "A quoted name or a path that does not end on its line.",
"A name between backquotes and an import path between double quotes must end on the line on which
they begin:

    import \"lib/linear.ct\"

Neither may be empty.
";
    BadNumber = Error 3, "A number that is not written as the language wants it.",
"Numbers are decimal: `12`, `1_000`, `1.0`, `1e-3`, `2.5e10`. There is a digit before and after the
point: `0.5` and not `.5`, `1.0` and not `1.`. A suffix fixes the type: `2i64`, `2.0f64`, `2f32`.
";
    NumberTooLarge = Error 4, "A number that its type cannot hold.",
"Integers are 64 bits wide: from -9223372036854775808 to 9223372036854775807. A larger whole number
can be written as a float, `1e30`; a float beyond the largest finite one is written `inf`.
";
    UnexpectedToken = Error 5, "Something else should stand here.",
"The message says what was expected and what was found. Where two expressions stand side by side, an
operator, a comma or an `in` is missing between them.
";
    UnclosedBracket = Error 6, "A bracket that is never closed.",
"Every `(`, `[` and `{` needs its `)`, `]` or `}` before the next declaration begins. The message
points at the opening bracket and shows where the closing one was missed.
";
    NestingTooDeep = Error 7, "An expression that is nested too deeply.",
"Brackets, functions, prefix operators, … may stand within each other 256 deep. Name the inner parts
with `let`:

    let inner = f(g(h(x)))
    in p(q(r(inner)))

Long sums, long lists and long runs of `let` do not count as nesting.
";
    ChainedComparison = Error 8, "A comparison of a comparison.",
"`a < b < c` does not mean what it means in mathematics, so it is not allowed. Write
`a < b and b < c`.
";
    MissingIn = Error 9, "A `let` without `in` before the result.",
"After the last binding, `in` (or `;`) separates its value from the result:

    let y = x * x
    let z = y + 1.0
    in y * z

Without it `let f = g (x)` could be read in two ways.
";
    PositionalAfterNamed = Error 10, "An argument without a name after one with a name.",
"Arguments without a name are matched by their place, so they come first: `sum(x, axis = 0)`.
";
    BadBuild = Error 11, "A `build` without its sizes or its function.",
"`build` takes the sizes and a function from indices to an element:

    build n (i => a[i] * b[i])
    build (m, n) ((i, j) => a[i, j] + b[j, i])

A size that is more than a name, a number or a call stands in parentheses: `build (2 * n) (i => …)`.
";
    MissingType = Error 12, "A parameter of a definition without a type.",
"Every parameter of a `def` has a type: `def f(x: f64, a: [n]f64) = …`. The result type may be left
out, and so may the types of the parameters of a lambda.
";
    FileTooLarge = Error 13, "A file of 4 GiB or more.",
"Places in a file are counted with 32 bits. Split the file, and read large data from array files
rather than writing them out as literals.
";
    MisplacedDeclaration = Error 14, "Something at the top level that is not a declaration.",
"A file is a list of declarations, each beginning with `def`, `type` or `import`. A constant is a
definition without parameters: `def half() = 0.5`.
";
    Internal = Error 99, "A fault of cotan itself.",
"Something that should be impossible has happened. Nothing is wrong with the program; please report
it together with the message.
";
}

impl Code {
    /// The code with this number, as in [`Code::number`].
    pub fn from_number(number: u16) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.number() == number)
    }

    /// The code that is shown as `text`: `E0007`, in any case.
    pub fn parse(text: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.to_string().eq_ignore_ascii_case(text.trim()))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.severity() {
            Severity::Error => 'E',
            Severity::Warning => 'W',
        };
        write!(f, "{letter}{:04}", self.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_and_texts_are_whole() {
        assert!(Code::ALL.is_sorted_by(|a, b| a.number() < b.number()), "unique and in order");
        for &code in Code::ALL {
            assert!(code.title().ends_with('.') && !code.title().contains('\n'), "{code}");
            assert!(code.explanation().ends_with('\n'), "{code}");
            assert!(code.explanation().lines().all(|line| line.chars().count() <= 100), "{code}");
            assert_eq!(Code::parse(&code.to_string()), Some(code));
            assert_eq!(Code::from_number(code.number()), Some(code));
        }
        assert_eq!(Code::NestingTooDeep.to_string(), "E0007");
        assert_eq!(Code::parse("e0007 "), Some(Code::NestingTooDeep));
        assert_eq!(Code::parse("E9999"), None);
    }
}
