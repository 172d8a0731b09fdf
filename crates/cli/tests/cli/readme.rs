//! The README: its programs are saved, its commands are run, its outputs are compared.

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

#[test]
fn first_steps_work() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let (programs, steps) = parts(&std::fs::read_to_string(file).unwrap().replace("\r\n", "\n"));
    assert!(programs.len() >= 3 && steps.len() >= 7);
    let mut session = Session::new();
    for (name, text) in &programs {
        session = session.with(name, text);
    }
    for step in steps {
        let words = words(&step.command);
        assert_eq!(words[0], "cotan", "{}", step.command);
        let args: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let ran = session.cotan_with(&args, "", &[]);
        assert_eq!(ran.out + &ran.err, step.shown, "{}", step.command);
    }
    assert!(session.files().contains(&"c.npy".to_owned()));
}

#[test]
fn its_commands_are_there() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let text = std::fs::read_to_string(file).unwrap();
    let commands: Vec<&str> = text.lines().filter(|line| line.starts_with("cargo ")).collect();
    let run = "cargo run --release -p cotan-cli -- run --example matmul";
    let train = "cargo run --release -p cotan-train --example digits -- convolutional";
    assert_eq!(commands, [run, "cargo test --workspace --all-features", train]);
}
