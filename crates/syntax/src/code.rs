//! The codes of messages. A code never changes its meaning and is never used again.

use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The program has no meaning.
    Error,
    /// The program has a meaning, but perhaps not the one intended.
    Warning,
    /// The program is all right under a condition.
    Note,
}

macro_rules! codes {
    ($($code:ident = $severity:ident $number:literal, $title:literal, $explanation:literal;)*) => {
        /// What a message is about. Shown as `E0007` (errors), `W0301` (warnings) or `N0401` (notes).
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

            /// Error, warning or note.
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
    UnknownName = Error 101, "A name that means nothing here.",
"Names are parameters, sizes, `let`s, definitions of this file and of files imported without `as`,
and builtin functions. The message suggests the nearest one. A definition of a file imported with
`as lib` is written `lib.name`.
";
    DuplicateDefinition = Error 102, "Two definitions with one name.",
"A file may define a name once, and may not import a second definition of it. Give the import a name
of its own, `import \"lib/linear.ct\" as lin`, and write `lin.dot`.
";
    CannotImport = Error 104, "A file that cannot be read.",
"The path of an import is relative to the file that the import stands in. Imports are regular files
whose names end with `.ct`, in the folder of the program or below it; `--allow-imports DIR` allows
another folder. A program has at most 64 MiB of text together with what it imports.
";
    ImportCycle = Error 105, "Files that import each other.",
"Imports must not lead back to where they started. Move what both files need into a third one.
";
    DuplicateName = Error 106, "One name twice in a list of parameters, a pattern or a record.",
"Each name may be bound once in a list: `(x, x) => …` does not say which `x` is meant. Write `_` for
a component that is not needed.
";
    RecursiveType = Error 107, "A type that contains itself.",
"A type alias is an abbreviation. It cannot contain itself, directly or by way of others.
";
    TypeMismatch = Error 201, "A value of another type than the one that is needed.",
"The message shows the type that is needed, the one that was found, and both places. Conversions
between element types are written out: `f64(x)`, `i64(x)`.
";
    MixedTypes = Error 202, "An operation on different element types.",
"Operands must have the same element type. Only literals without a suffix adapt: `2 * x` works for
every numeric `x`, and `0.5 * x` for `f64` and `f32`. Convert others: `f64(i) * x`.
";
    ShapeMismatch = Error 203, "Arrays whose shapes do not fit together.",
"Elementwise operations fit shapes from the last axis back: sizes must be equal, or one of them 1 or
missing. So `[3]` fits `[2, 3]` and `[2, 1]` fits `[1, 3]`, but `[2]` does not fit `[2, 3]`.
";
    SizeConflict = Error 204, "A size with two different values.",
"A size name stands for one number in a call. In `def dot(a: [n]f64, b: [n]f64)` both arguments must
have the same length; the message shows which argument gave which value. Sizes inside expressions
are solved for: `x: [2 * h]f64` takes no array of length 5, because no whole `h` makes `2 * h = 5`.
";
    SizeUnknown = Error 205, "A size whose value does not follow from anything.",
"Size parameters are found from the shapes of the arguments, also inside expressions: `[2 * n]f64` of
size 6 makes `n` 3, and `[n + m]f64` with `[n - m]f64` gives both. One that occurs only in the
result, or does not follow from the shapes, as in `[n + m]f64` alone, is declared in brackets and
given in the call:

    def split[n](x: [n + m]f64) = x[:n]
    def first_two(x: [5]f64) = split[2](x)

On the command line it is given with `--size n=2`.
";
    NotStatic = Error 206, "A number that must be known at compile time.",
"Sizes, axes, shapes and bounds of slices are fixed before a program runs: literals, size names,
`len(a)`, `shape(a, k)`, and arithmetic on these. Data can be used as an index, but not as a size.
An integer parameter of the function that is run may be used as a size: its value is given with
`--arg k=2`, or with `--size k=2` where the others are not given.
";
    WrongArguments = Error 207, "Arguments that do not match the parameters.",
"There are too many, too few, or one whose name is not that of a parameter. The message shows the
signature.
";
    NotAFunction = Error 208, "A call of something that is not a function, or the other way round.",
"Elements of arrays are read with brackets, `a[i]`; parentheses call functions.
";
    NotAnArray = Error 209, "A tuple, record or function where an array is needed.",
"Operators and most builtins work on arrays. Take a component of a tuple, `t.0`, or a field of a
record, `r.w`.
";
    BadIndex = Error 210, "An index or slice that does not fit the array.",
"There may be at most as many indices as axes. An index is a scalar `i64`; a slice `lo:hi:step` has
static bounds within the axis and a positive step. Use `take(a, ix)` for many positions at once and
`reverse(a)` to go backwards.
";
    NoSuchField = Error 211, "A field or component that is not there.",
"Records have named fields, `r.w`; tuples have components from 0, `t.0`; arrays have elements,
`a[0]`.
";
    BadOperand = Error 212, "An operation on an element type that it does not take.",
"For example, `/` and `sin` need floats, and `and` needs bool or integers. Integers are divided by
`//`.
";
    BadPattern = Error 213, "A pattern that does not fit the value.",
"`let (x, y) = e` needs a tuple of two. Elements of arrays and fields of records are not taken apart
by patterns.
";
    BadSize = Error 214, "A size or axis that cannot be.",
"Sizes are not negative; axes lie between `-rank` and `rank - 1`, and are named once.
";
    BadArrayLiteral = Error 215, "An array literal without elements.",
"`[]` says nothing about its type. Write `empty([0], f64)`.
";
    RecursionTooDeep = Error 216, "Calls that nest without end.",
"Functions are inlined, so recursion must end at compile time: by an `if` whose condition
is static.

    def power(x: f64, n: i64): f64 = if n == 0 then 1.0 else x * power(x, n - 1)

works for `power(y, 3)`, and on the command line with `--arg n=3`. At most 1000 calls nest: use
`fold` for longer loops, and for those that depend on data.
";
    LimitExceeded = Error 217, "A program that is too large.",
"There are limits on the number of nodes of a program, on the nesting of loops and of structures, on
time, and on the memory of a run. Arrays have fewer than 2^60 elements; intermediate arrays of such
sizes are allowed, since most of them are never stored. If nothing else is wrong, every command
exits with code 4.
";
    CannotInstantiate = Error 218, "A function that cannot be made into a program as asked.",
"The function does not exist, or takes or returns a function. Define another function that calls it.
";
    NotDifferentiable = Error 219, "A derivative that does not exist.",
"Only floats have derivatives, with respect to floats; integers, truth values and functions have
none. Name the arguments to differentiate with respect to by their positions, counted from 0:

    grad(loss, wrt = 0)(weights, labels)

`grad`, `value_and_grad`, `hvp` and `hessian` are for functions whose result is a scalar. Sum the
result, or use `jacobian(f)`, `vjp(f)` or `jvp(f)`. A function that returns more than its loss
returns a pair `(loss, rest)` and is differentiated with `aux = true`.
";
    IndexOutOfRange = Warning 301, "A constant index outside its axis.",
"A read outside an array gives 0 (`false`). That is well defined, but a constant index that always
reads outside is probably a mistake. Indices count from 0; only a negative literal, as in `x[-1]`,
counts from the end.
";
    SizeCondition = Note 401, "A definition that is right for some sizes only.",
"`cotan check` looks at each definition for all sizes at once. What is wrong for all of them is an
error; what is wrong for some is a note with the condition that the sizes have to satisfy:

    def head(x: [n]f64) = x[:10]                         # needs n >= 10
    def heads(x: [d]f64) = reshape(x, [8, d // 8])       # needs d divisible by 8
    def same(x: [n]f64, y: [m]f64) = x + y               # needs n = m, or one of them 1

A note needs no action: calls with sizes that violate the condition are errors. If the definition
should work for all sizes, it needs to be changed; if the condition is intended, state it in the
types: both parameters `[n]f64`, or `x: [8 * k]f64`.
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
            Severity::Note => 'N',
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
