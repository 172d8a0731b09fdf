//! The tables of the documents: what stands in their columns, as code.

/// A row of a table that has a column for Rust.
pub struct Row {
    /// The other library's names.
    pub theirs: Vec<String>,
    /// Expressions of the text language; none where the table has no such column.
    pub text: Vec<String>,
    pub rust: Vec<String>,
}

/// All rows of all tables with a column headed `Rust`.
pub fn rows(document: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut lines = document.lines().peekable();
    while let Some(line) = lines.next() {
        if !lines.peek().is_some_and(|next| next.starts_with("|---")) {
            continue;
        }
        let titles = columns(line);
        let column = |title: &str| titles.iter().position(|t| t == title);
        let (text, Some(rust)) = (column("text"), column("Rust")) else { continue };
        while let Some(line) = lines.next_if(|line| line.starts_with('|')) {
            let cells = columns(line);
            if line.starts_with("|---") {
                continue;
            }
            assert_eq!(cells.len(), titles.len(), "{line}");
            let text = text.map_or(Vec::new(), |column| code(&cells[column]));
            rows.push(Row { theirs: code(&cells[0]), text, rust: code(&cells[rust]) });
        }
    }
    rows
}

/// The cells of a line, without the backslashes before `|`.
fn columns(line: &str) -> Vec<String> {
    let inside = line.trim().trim_start_matches('|');
    let mut cells = vec![String::new()];
    let mut chars = inside.chars().peekable();
    while let Some(char) = chars.next() {
        let cell = cells.last_mut().expect("there is always one");
        match char {
            '\\' if chars.next_if_eq(&'|').is_some() => cell.push('|'),
            '|' => cells.push(String::new()),
            _ => cell.push(char),
        }
    }
    assert_eq!(cells.pop().as_deref(), Some(""), "a row ends with a bar: {line}");
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// What stands between backquotes.
fn code(cell: &str) -> Vec<String> {
    assert_eq!(cell.matches('`').count() % 2, 0, "{cell}");
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A name with alternatives in braces, written out: `{r,s}map` is `rmap` and `smap`.
pub fn written_out(name: &str) -> Vec<String> {
    let split = name.strip_prefix('{').and_then(|rest| rest.split_once('}'));
    match split {
        Some((letters, rest)) => {
            letters.split(',').map(|letter| format!("{letter}{rest}")).collect()
        }
        None => vec![name.to_owned()],
    }
}

/// The names before an opening parenthesis in an expression.
pub fn called(expression: &str) -> Vec<&str> {
    let pieces = expression.split('(').collect::<Vec<_>>();
    let (_, before) = pieces.split_last().expect("a split gives something");
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let last_name = |piece: &&'_ str| piece.len() - piece.trim_end_matches(is_name).len();
    let names = before.iter().map(|piece| &piece[piece.len() - last_name(piece)..]);
    names.filter(|name| !name.is_empty()).collect()
}

/// The code blocks of a document in a language.
pub fn blocks<'a>(document: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let after = document.split(fence.as_str()).skip(1);
    after.map(|rest| rest.split_once("\n```").expect("an end of the block").0).collect()
}

/// Rust functions that hold every entry of the column `Rust`: what stands inside of functions, with
/// the expression of the text language that has the same value, and what has a `?` outside.
pub fn as_rust(document: &str, path: &str) -> String {
    let (mut inside, mut outside) = (String::new(), String::new());
    for row in rows(document) {
        let paired = row.text.len() == row.rust.len();
        for (n, rust) in row.rust.iter().enumerate() {
            if rust.contains('?') {
                outside += &format!("    let _ = {rust};\n");
            } else if paired {
                inside += &format!("    same.add({:?}, {rust});\n", row.text[n]);
            } else {
                inside += &format!("    let _ = {rust};\n");
            }
        }
    }
    format!(
        "// Made of the tables of {path}: `COTAN_BLESS=1 cargo test --test equivalents` makes it again.

pub fn inside(vars: Staged, same: &mut Same) {{
    let Vars {{ a, b, c, i, j, k, x, y, v, m, w, t, img, ker }} = vars;
    let (p, q) = ((x, a), (y, b));
{inside}}}

pub fn outside(vars: Concrete) -> cotan::Result<()> {{
    let Vars {{ a, b, c, i, j, k, x, y, v, m, w, t, img, ker }} = vars;
    let (key, dx) = (random::Key::new(1), y.clone());
    let mut sgd_state = optim::Sgd::new(0.1).init(&x)?;
    let mut adam_state = optim::Adam::new(0.1).init(&x)?;
{outside}    Ok(())
}}
"
    )
}
