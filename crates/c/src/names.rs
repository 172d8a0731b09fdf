//! Names of C.

use rustc_hash::FxHashSet;

/// Words of C11 and of the headers that are included, and words of C++, whose programs may include
/// the header.
const RESERVED: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "compl",
    "const",
    "const_cast",
    "constexpr",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "int64_t",
    "long",
    "main",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "ptrdiff_t",
    "public",
    "register",
    "reinterpret_cast",
    "restrict",
    "return",
    "short",
    "signed",
    "size_t",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "uint32_t",
    "uint64_t",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "NULL",
    "work",
    "workspace",
];

/// Names of variables in generated functions, which parameters must not have.
const LOCAL: &[&str] = &[
    "at", "best", "c", "champion", "column", "columns", "copy", "count", "depth", "from", "id",
    "ids", "j", "key", "keys", "l", "left", "n", "number", "other", "pack", "panel", "place", "r",
    "room", "row", "rows", "s", "sorted", "sums", "to", "v",
];

/// Functions of the standard library: a program must not define another one of that name. Those of
/// numbers are there with an `f` or an `l` at their end, too.
const LIBRARY: &str = "
abort abs acos acosh asin asinh atan atan2 atanh atexit atof atoi atol bsearch cabs calloc carg
cbrt ceil cexp cimag clock clog conj copysign cos cosh cpow cproj creal csin csqrt difftime div
erf erfc exit exp exp2 expm1 fabs fclose fdim fflush floor fma fmax fmin fmod fopen fprintf
fputc fputs fread free frexp fscanf fseek ftell fwrite getc getchar getenv gets gmtime hypot
ilogb isalnum isalpha isdigit islower isspace isupper labs ldexp ldiv lgamma llabs lldiv llrint
llround localtime log log10 log1p log2 logb longjmp lrint lround malloc memchr memcmp memcpy
memmove memset mktime modf nan nearbyint nextafter nexttoward perror pow printf putc putchar
puts qsort raise rand realloc remainder remove remquo rename rewind rint round scalbln scalbn
scanf signal sin sinh snprintf sprintf sqrt srand sscanf strcat strchr strcmp strcpy strlen
strncmp strncpy strstr strtod strtol strtoul system tan tanh tgamma time tmpfile tolower toupper
trunc ungetc";

/// Whether a name is a word of the language, or one of ours.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name) || name.starts_with("cotan_") || name.starts_with("COTAN_")
}

/// Why a name cannot be that of a function, if so.
pub(crate) fn refusal(name: &str) -> Option<&'static str> {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    let mut chars = name.chars();
    if !chars.next().is_some_and(letter) || !chars.all(|c| letter(c) || c.is_ascii_digit()) {
        return Some("is no identifier of C");
    }
    if name == "main" {
        return Some("is where a C program begins");
    }
    let short = name.strip_suffix(['f', 'l']).unwrap_or(name);
    if LIBRARY.split_ascii_whitespace().any(|known| known == name || known == short) {
        return Some("is a function of the standard library");
    }
    if RESERVED.contains(&name) {
        return Some("is a word of C or C++");
    }
    if name.starts_with('_') || is_reserved(name) {
        return Some("is reserved for others");
    }
    None
}

/// A text as an identifier: what may not stand in one is an underscore.
pub(crate) fn identifier(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut name: String = text.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
    if name.is_empty() {
        name.push_str("value");
    }
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.starts_with('_') {
        name.insert(0, 'p');
    }
    name
}

/// Whether a name is one that the code makes for itself: one of some letters and a number.
fn is_generated(name: &str) -> bool {
    let rest = name.strip_prefix(['c', 'i', 'k', 'n', 'p', 's', 't', 'v']).unwrap_or_default();
    !rest.is_empty() && rest.bytes().all(|c| c.is_ascii_digit())
}

/// Names of parameters, each once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: FxHashSet<String>,
}

impl Names {
    /// A name like the text that is not taken yet.
    pub(crate) fn fresh(&mut self, text: &str) -> String {
        let mut name = identifier(text);
        let ours = |name: &str| is_reserved(name) || is_generated(name) || LOCAL.contains(&name);
        while ours(&name) || self.taken.contains(&name) {
            name.push('_');
        }
        self.taken.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers_and_different() {
        let mut names = Names::default();
        let made: Vec<String> = ["x", "x", "grad.x", "i0", "2d", "double", "", "größe", "row"]
            .map(|n| names.fresh(n))
            .into();
        let expected = ["x", "x_", "grad_x", "i0_", "p2d", "double_", "value", "gr__e", "row_"];
        assert_eq!(made, expected);
    }

    #[test]
    fn some_names_are_refused() {
        for name in ["", "2d", "a-b", "int", "class", "main", "_x", "cotan_exp", "sin", "powf"] {
            assert!(refusal(name).is_some(), "{name}");
        }
        assert_eq!(refusal("loss_2"), None);
        assert_eq!(refusal("model"), None);
    }
}
