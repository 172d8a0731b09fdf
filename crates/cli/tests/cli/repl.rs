//! The prompt: texts from a pipe, and a person at a terminal.

use crate::session::{Ran, Session};

fn typed(session: &Session, text: &str) -> Ran {
    session.cotan_with(&["repl"], text, &[("COTAN_HISTORY", "")])
}

#[test]
fn expressions_definitions_and_values() {
    let session = Session::new();
    let text = "\
def f(x: f64) = x ** 2
f(3.0)
let a = [1.0, 2.0] let (n, s) = (3, {w = a, b = true})
sum(map(f, a)) + s.w[0]
iota(n)
it + 1
def f(x: f64) =
  x ** 3   # over two lines
f(2.0)
";
    typed(&session, text).gives(
        "9.0\na: [2]f64 = [1.0, 2.0]\nn: i64 = 3\ns.w: [2]f64 = [1.0, 2.0]\ns.b: bool = true\n6.0\n\
         [0, 1, 2]\n[1, 2, 3]\n8.0\n",
    );
}

#[test]
fn errors_have_places_and_do_not_end_the_session() {
    let ran = typed(&Session::new(), "1 + oops\n\n40 + 2\ndef g(x: f64) = x + [1, 2][true]\n");
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.out, "42\n");
    for part in ["unknown name `oops`", "--> input 1:1:5", "--> input 3:1:"] {
        assert!(ran.err.contains(part), "no {part:?} in {}", ran.err);
    }
    let ran = typed(&Session::new(), "let y = 2.0\ndef h(x: f64) = x * y\n");
    assert!(ran.err.contains("make it a parameter"), "{}", ran.err);
}

#[test]
fn commands() {
    let session = Session::new().with("lib.ct", "# Twice.\ndef twice(x: f64) = 2.0 * x\n");
    let ran = typed(
        &session,
        ":load lib.ct\n:type twice\n:type [twice(1.0)]\n:type tanh\n:list\n:grad twice\n:stages twice core\n\
         :save out.ct\n:plot twice -1 1\n:time twice(3.0)\n:help\n:quit\n1 + 1\n",
    )
    .succeeds();
    let parts = [
        "def twice(x: f64)",
        "Twice.",
        "[1]f64\n",
        "tanh(a)",
        "grad.x",
        "2.0 * x",
        "grad(twice)",
        "runs in",
        ":stages",
    ];
    for part in parts {
        assert!(ran.out.contains(part), "no {part:?} in {}", ran.out);
    }
    assert!(!ran.out.ends_with("2\n"), "`:quit` ends it");
    assert_eq!(session.read("out.ct"), "# Twice.\ndef twice(x: f64) = 2.0 * x\n");
    let bad = [
        (":nothing", "no command"),
        (":load none.ct", "cannot read"),
        (":save out.ct", "there is a file"),
        (":save out.txt", "end with .ct"),
        (":stages f", "no function `f`"),
        (":plot sin 3 1", "to a larger one"),
        (":plot x => [x, x]", "one number"),
        (":type", "say which"),
    ];
    for (text, part) in bad {
        let ran = typed(&session, text);
        assert!(ran.code == Some(1) && ran.err.contains(part), "{text}: {}", ran.err);
    }
}

#[test]
fn large_arrays_are_abbreviated() {
    let ran = typed(&Session::new(), "f64(iota(100000))\n").succeeds();
    assert!(
        ran.out.len() < 1000 && ran.out.contains('…') || ran.out.contains("..."),
        "{}",
        ran.out
    );
}

/// A person at a terminal.
#[cfg(unix)]
mod person {
    use std::path::Path;
    use std::process::Command;

    use rexpect::session::{PtySession, spawn_command};

    use crate::session::Session;

    fn at_terminal(history: &Path, colours: bool) -> PtySession {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cotan"));
        command.arg("repl").env("TERM", "xterm").env("COTAN_HISTORY", history);
        match colours {
            true => command.env_remove("NO_COLOR"),
            false => command.env("NO_COLOR", "1"),
        };
        spawn_command(command, Some(60_000)).unwrap()
    }

    /// Presses keys, without the one that ends a line.
    fn press(terminal: &mut PtySession, keys: &str) {
        terminal.send(keys).unwrap();
        terminal.flush().unwrap();
    }

    #[test]
    fn lines_completion_history_and_interruption() {
        let session = Session::new();
        let history = session.path("folder/history");
        let mut terminal = at_terminal(&history, false);
        terminal.exp_string(":help lists the commands").unwrap();
        terminal.exp_string("1> ").unwrap();
        // Lines that belong together.
        terminal.send_line("def zigzag(x: f64) =").unwrap();
        terminal.send_line("x * x").unwrap();
        terminal.exp_string("2> ").unwrap();
        // A tab completes the only name that fits.
        press(&mut terminal, "zigz\t(7.0)\r");
        terminal.exp_string("49.0").unwrap();
        terminal.exp_string("3> ").unwrap();
        // Ctrl-C ends what would go on for minutes, and only that.
        let long = "while_loop(x => x < 1.0e15, x => x + 0.5, 0.0)";
        terminal.send_line(long).unwrap();
        // The line was taken; when the evaluation begins is for the machine to say. To press it once
        // more does no harm: at the prompt it forgets a line.
        terminal.exp_string("\n").unwrap();
        let mut seen = String::new();
        for _ in 0..100 {
            std::thread::sleep(std::time::Duration::from_millis(200));
            terminal.send_control('c').unwrap();
            while let Some(c) = terminal.try_read() {
                seen.push(c);
            }
            if seen.contains("interrupted") {
                break;
            }
        }
        assert!(seen.contains("interrupted"), "{seen}");
        // At the prompt it forgets the line.
        press(&mut terminal, "1 + ");
        terminal.send_control('c').unwrap();
        terminal.exp_string("4> ").unwrap();
        terminal.send_line("6 * 7").unwrap();
        terminal.exp_string("42").unwrap();
        terminal.send_control('d').unwrap();
        terminal.exp_eof().unwrap();
        drop(terminal);
        let remembered = std::fs::read_to_string(&history).unwrap();
        assert!(remembered.contains("zigzag(7.0)") && remembered.contains("6 * 7"), "{remembered}");

        // The next time the last line is one key away; and there are colours.
        let mut terminal = at_terminal(&history, true);
        terminal.exp_string("\x1b[1;32m1> \x1b[0m").unwrap();
        press(&mut terminal, "\x1b[A\r");
        terminal.exp_string("\x1b[33m6\x1b[0m").unwrap();
        terminal.exp_string("42").unwrap();
        terminal.send_control('d').unwrap();
        terminal.exp_eof().unwrap();
    }
}
