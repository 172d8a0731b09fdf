//! The README and pages of the documentation: their programs are saved, their commands are run, their
//! outputs are compared.

use super::session::Session;

/// A command of the README and what it should show.
struct Step {
    command: String,
    shown: String,
}

/// The programs by name, and the steps in order.
fn parts(text: &str) -> (Vec<(String, String)>, Vec<Step>) {
    let (mut programs, mut steps) = (Vec::new(), Vec::new());
    let mut blocks = text.split("```");
    // Text and blocks alternate, and text comes first.
    while let (Some(_), Some(block)) = (blocks.next(), blocks.next()) {
        if let Some(program) = block.strip_prefix("ct\n") {
            let name = program.lines().next().unwrap().trim_start_matches("# ");
            programs.push((name.to_owned(), program.to_owned()));
        } else if let Some(session) = block.strip_prefix("console\n") {
            for step in session.split("$ ").skip(1) {
                let (command, shown) = step.split_once('\n').unwrap();
                steps.push(Step { command: command.to_owned(), shown: shown.to_owned() });
            }
        }
    }
    (programs, steps)
}

/// The words of a command, with single quotes as in a shell.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (n, part) in command.split('\'').enumerate() {
        let quoted = n % 2 == 1;
        for (k, piece) in part.split(' ').enumerate() {
            match words.last_mut() {
                Some(last) if k == 0 => last.push_str(piece),
                Some(last) if quoted => *last += &format!(" {piece}"),
                _ => words.push(piece.to_owned()),
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Saves the programs of a page, and runs its commands in order. With `COTAN_BLESS` in the environment
/// the page is written with what the commands show.
fn run_page(page: &str, least: usize) -> Session {
    let file = format!("{}/../../{page}", env!("CARGO_MANIFEST_DIR"));
    let mut text = std::fs::read_to_string(&file).unwrap().replace("\r\n", "\n");
    let (programs, steps) = parts(&text);
    assert!(steps.len() >= least, "{} commands in {page}", steps.len());
    let mut session = Session::new();
    for (name, text) in &programs {
        session = session.with(name, text);
    }
    for step in steps {
        let words = words(&step.command);
        assert_eq!(words[0], "cotan", "{}", step.command);
        let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let ran = session.cotan_with(&args, "", &[]);
        let shown = ran.out + &ran.err;
        if std::env::var_os("COTAN_BLESS").is_some() {
            let (was, is) = (format!("$ {}\n{}", step.command, step.shown), shown);
            text = text.replace(&was, &format!("$ {}\n{is}", step.command));
        } else {
            assert_eq!(shown, step.shown, "{page}: {}", step.command);
        }
    }
    if std::env::var_os("COTAN_BLESS").is_some() {
        std::fs::write(&file, text).unwrap();
    }
    session
}

#[test]
fn first_steps_work() {
    let session = run_page("README.md", 7);
    assert!(session.files().contains(&"c.npy".to_owned()));
}

#[test]
fn pages_with_commands_are_true() {
    run_page("docs/performance.md", 3);
    let session = run_page("docs/recipes.md", 1);
    assert!(session.path("out").join("spring.c").exists());
}

#[test]
fn its_commands_are_there() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let text = std::fs::read_to_string(file).unwrap();
    let commands: Vec<&str> = text.lines().filter(|line| line.starts_with("cargo ")).collect();
    let run = "cargo run --release -p cotan-cli -- run --example matmul";
    let train = "cargo run --release -p cotan-train --example digits -- convolutional";
    let example = "cargo run --release -p cotan-examples --example heat";
    assert_eq!(commands, [run, "cargo test --workspace --all-features", example, train]);
}

/// Every `cotan ..` in a block of the documentation names a command and options that there are.
#[test]
fn commands_in_documents_exist() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
    let mut help = std::collections::BTreeMap::new();
    let mut checked = 0;
    let pages = std::fs::read_dir(format!("{root}docs")).unwrap().map(|page| page.unwrap().path());
    for page in pages.filter(|page| page.extension().is_some_and(|ext| ext == "md")) {
        let text = std::fs::read_to_string(&page).unwrap();
        for block in text.split("```").skip(1).step_by(2) {
            for line in block.lines() {
                let command = line.strip_prefix("$ ").unwrap_or(line);
                let Some(rest) = command.strip_prefix("cotan ") else { continue };
                let mut words = rest.split_whitespace().take_while(|word| *word != "#");
                let name = words.next().unwrap_or_default().to_owned();
                // Not what the command says of itself: `cotan 0.1.0`.
                if !name.chars().all(|c| c.is_ascii_lowercase()) {
                    continue;
                }
                let said = help.entry(name.clone()).or_insert_with(|| {
                    let ran = Session::new().cotan(&format!("{name} --help"));
                    assert_eq!(ran.code, Some(0), "{}: there is no `cotan {name}`", page.display());
                    ran.out
                });
                for option in words.filter(|word| word.starts_with("--")) {
                    assert!(said.contains(option), "{}: {command}", page.display());
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 10, "{checked}");
}
