//! Files that are no files, that are too much, or that are somewhere else.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::session::Session;

/// A file of one program that nothing but its folder may import.
const LIBRARY: &str = "def twice(x: f64) = 2.0 * x\n";

#[cfg(unix)]
fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_refused_and_not_waited_for() {
    let session = Session::new()
        .with("a.ct", "def main(x: [n]f64) = sum(x)")
        .with("import.ct", "import \"pipe.ct\"\ndef main() = 1")
        .with("zero.ct", "import \"zeros.ct\"\ndef main() = 1");
    for name in ["pipe.ct", "pipe.npy", "pipe.npz"] {
        pipe(&session.path(name));
    }
    std::os::unix::fs::symlink("/dev/zero", session.path("zeros.ct")).unwrap();
    let begin = Instant::now();
    session.cotan("run /dev/zero").fails(3, &["`/dev/zero`: a device, not a regular file", "`-`"]);
    session.cotan("check pipe.ct").fails(3, &["a pipe, not a regular file", "`-`"]);
    session.cotan("fmt pipe.ct").fails(3, &["a pipe, not a regular file"]);
    session.cotan("check import.ct").fails(1, &["E0104", "`pipe.ct`: a pipe", "import.ct:1:8"]);
    session.cotan("check zero.ct").fails(1, &["E0104", "outside the folder of the program"]);
    session.cotan("check zero.ct --allow-imports /dev").fails(1, &["E0104", "end with `.ct`"]);
    session.cotan("run a.ct --arg x=@pipe.npy").fails(3, &["pipe.npy: a pipe"]);
    session.cotan("run a.ct --npz pipe.npz").fails(3, &["pipe.npz: a pipe"]);
    session.cotan("run a.ct --arg x=@/dev/zero").fails(3, &["/dev/zero: a device"]);
    session.cotan("run a.ct --arg x=[1] --out pipe.npy").fails(3, &["--out pipe.npy: a pipe"]);
    assert!(begin.elapsed() < Duration::from_secs(60));
}

#[cfg(unix)]
#[test]
fn standard_input_that_does_not_end_is_cut_off() {
    let session = Session::new();
    let ran = Command::new(env!("CARGO_BIN_EXE_cotan"))
        .args(["check", "-"])
        .stdin(fs::File::open("/dev/zero").unwrap())
        .output()
        .unwrap();
    let message = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(3), "{message}");
    assert!(message.contains("standard input: more than 64 MiB of text"), "{message}");
    let large = " ".repeat((64 << 20) + 1);
    let session = session.with("large.ct", &large).with("i.ct", "import \"large.ct\"");
    session.cotan("check large.ct").fails(3, &["`large.ct`: more than 64 MiB of text"]);
    session.cotan("check i.ct").fails(1, &["E0104", "more than 64 MiB"]);
    let session = session.with("large.ct", &large[..32 << 20]).with("b.ct", &large[..33 << 20]);
    let session = session.with("i.ct", "import \"large.ct\"\nimport \"b.ct\"");
    session.cotan("check i.ct").fails(1, &["E0104", "more than 64 MiB", "i.ct:2:8"]);
}

#[test]
fn imports_stay_in_the_folder_of_the_program_unless_others_are_allowed() {
    let session = Session::new().with("lib.ct", LIBRARY);
    for folder in ["src", "src/deep"] {
        fs::create_dir(session.path(folder)).unwrap();
    }
    let up = "import \"../lib.ct\"\ndef main() = twice(21.0)";
    let session = session
        .with("src/main.ct", up)
        .with("src/deep/in.ct", LIBRARY)
        .with("src/down.ct", "import \"deep/in.ct\" as d\ndef main() = d.twice(4.0)")
        .with("top.ct", "import \"src/deep/in.ct\" as d\ndef main() = d.twice(5.0)");
    session.cotan("run src/down.ct").gives("8.0\n");
    session.cotan("run top.ct").gives("10.0\n");
    let parts = ["E0104", "`lib.ct`", "outside the folder of the program", "--allow-imports DIR"];
    for command in ["run", "check", "test", "grad", "explain"] {
        session.cotan(&format!("{command} src/main.ct")).fails(1, &parts);
    }
    session.cotan("run src/main.ct --allow-imports .").gives("42.0\n");
    session.cotan("check src/main.ct --allow-imports .").gives("src/main.ct: no errors\n");
    session.cotan("run src/main.ct --allow-imports src/deep").fails(1, &parts);
    session.cotan("run src/main.ct --allow-imports nope").fails(3, &["--allow-imports nope: "]);
    // Standard input is a program in the current folder.
    let here = "import \"lib.ct\"\ndef main() = twice(1.0)";
    session.cotan_with(&["run", "-"], here, &[]).gives("2.0\n");
    let out = "import \"../lib.ct\"\ndef main() = twice(1.0)";
    session.cotan_with(&["run", "-"], out, &[]).fails(1, &["E0104"]);
}

#[cfg(unix)]
#[test]
fn what_is_no_program_is_not_shown() {
    use std::os::unix::fs::symlink;
    let session = Session::new()
        .with("secret.txt", "password: swordfish\n")
        .with("a.ct", "import \"secret.txt\"")
        .with("b.ct", "import \"link.ct\"")
        .with("c.ct", "import \"away.ct\"")
        .with("binary.ct", b"PK\x03\x04\0swordfish\xff")
        .with("d.ct", "import \"binary.ct\"");
    symlink("secret.txt", session.path("link.ct")).unwrap();
    symlink("/etc/passwd", session.path("away.ct")).unwrap();
    for (file, why) in [
        ("a.ct", "end with `.ct`"),
        ("b.ct", "end with `.ct`"),
        ("c.ct", "outside the folder"),
        ("d.ct", "not text: byte 4 is 0"),
    ] {
        let ran = session.cotan(&format!("check {file}"));
        ran.fails(1, &["E0104", why]);
        assert!(!ran.err.contains("swordfish") && !ran.err.contains("root:"), "{}", ran.err);
    }
    session.cotan("run binary.ct").fails(3, &["not text: byte 4 is 0"]);
}

#[test]
fn odd_but_honest_texts_are_programs() {
    let session = Session::new()
        .with("bom.ct", "\u{feff}def main() = 1")
        .with("crlf.ct", "def main() =\r\n  1 +\r\n  2\r\n")
        .with("empty.ct", "")
        .with("import.ct", "import \"bom.ct\" as b\ndef main() = b.main()");
    session.cotan("run bom.ct").gives("1\n");
    session.cotan("run import.ct").gives("1\n");
    session.cotan("run crlf.ct").gives("3\n");
    session.cotan("check empty.ct").gives("empty.ct: no errors\n");
    session.cotan("run empty.ct").fails(2, &["defines no function"]);
}

#[test]
fn messages_stay_short() {
    let (digits, line) = ("1".repeat(1_000_000), "1 + ".repeat(1000));
    let session = Session::new()
        .with("number.ct", format!("def main() = {digits}"))
        .with("float.ct", format!("def main() = {digits}.5e"))
        .with("name.ct", format!("def main() = {}", "a".repeat(1_000_000)))
        .with("import.ct", format!("import \"{}.ct\"", "a".repeat(1_000_000)))
        .with("line.ct", format!("def main() = {line} x + {line} 1"));
    for (name, part) in [
        ("number", "11…11"),
        ("float", "11…1"),
        ("name", "aa…aa"),
        ("import", "aa…aa"),
        ("line", "unknown name `x`"),
    ] {
        let ran = session.cotan(&format!("run {name}.ct"));
        ran.fails(1, &["error[E0", part]);
        assert!(ran.err.len() < 2000, "{name}: {} bytes", ran.err.len());
    }
    let long = "f".repeat(100_000);
    let ran = session.cotan_with(&["run", "line.ct", "--fn", &long], "", &[]);
    assert!(ran.err.len() < 2000, "{} bytes", ran.err.len());
}

#[cfg(unix)]
#[test]
fn results_follow_links_and_leave_protected_files_alone() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let session = Session::new().with("a.ct", "def main() = [1.0, 2.0]").with("x.npy", "old");
    symlink("x.npy", session.path("link.npy")).unwrap();
    symlink("new.npz", session.path("link.npz")).unwrap();
    session.cotan("run a.ct --out link.npy").gives("");
    session.cotan("run a.ct --out link.npz").gives("");
    assert!(fs::symlink_metadata(session.path("link.npy")).unwrap().is_symlink());
    assert!(fs::read(session.path("x.npy")).unwrap().starts_with(b"\x93NUMPY"));
    assert!(session.path("new.npz").is_file());
    fs::set_permissions(session.path("x.npy"), fs::Permissions::from_mode(0o444)).unwrap();
    for path in ["x.npy", "link.npy"] {
        session.cotan(&format!("run a.ct --out {path}")).fails(3, &[path, "is read-only"]);
    }
    fs::create_dir(session.path("folder.npz")).unwrap();
    session.cotan("run a.ct --out folder.npz").fails(3, &["--out folder.npz: a folder"]);
    let files = ["a.ct", "folder.npz", "link.npy", "link.npz", "new.npz", "x.npy"];
    assert_eq!(session.files(), files);
}

/// A full disk is an error with words, and whoever reads only the beginning makes no error.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written() {
    let session = Session::new().with("a.ct", "def main() = iota(900)");
    let program = session.path("a.ct");
    let run = |stdout: Stdio| {
        let mut cotan = Command::new(env!("CARGO_BIN_EXE_cotan"));
        cotan.args(["run".as_ref(), program.as_os_str()]).stdout(stdout);
        cotan.stderr(Stdio::piped()).spawn().unwrap()
    };
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran = run(full.into()).wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(3));
    assert!(String::from_utf8(ran.stderr).unwrap().contains("cannot write the output: No space"));
    let mut closed = run(Stdio::piped());
    drop(closed.stdout.take());
    let ran = closed.wait_with_output().unwrap();
    assert_eq!((ran.status.code(), ran.stderr.as_slice()), (Some(0), &b""[..]));
}

/// Whenever a run is interrupted, what was there is there, or what was to be written, and no more.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_write_leaves_nothing_behind() {
    let session =
        Session::new().with("a.ct", "def main[n]() = full([n], 1.5)").with("x.npy", "old");
    let whole = 128 + 8 * 8_000_000;
    let (mut killed, mut complete) = (0, 0);
    for delay in 0..40 {
        fs::write(session.path("x.npy"), "old").unwrap();
        let mut cotan = Command::new(env!("CARGO_BIN_EXE_cotan"))
            .args(["run", "a.ct", "--size", "n=8000000", "--out", "x.npy"])
            .current_dir(session.path("."))
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(5 * delay));
        let signal = ["INT", "TERM", "KILL"][delay as usize % 3];
        let pid = cotan.id().to_string();
        let _ = Command::new("kill").args([&format!("-{signal}"), &pid]).status();
        match cotan.wait().unwrap().code() {
            None => killed += 1,
            Some(_) => complete += 1,
        }
        assert_eq!(session.files(), ["a.ct", "x.npy"]);
        let length = fs::metadata(session.path("x.npy")).unwrap().len();
        assert!(length == 3 || length == whole, "{length}");
        if complete > 3 {
            break;
        }
    }
    assert!(killed > 3, "{killed} killed, {complete} complete");
}

#[cfg(unix)]
#[test]
fn files_that_may_not_be_read_are_named() {
    use std::os::unix::fs::PermissionsExt;
    let session = Session::new().with("a.ct", "def main() = 1").with("x.ct", "def f() = 1");
    fs::set_permissions(session.path("x.ct"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(session.path("x.ct")).is_err() {
        session.cotan("run x.ct").fails(3, &["`x.ct`: Permission denied"]);
    }
    session.cotan("run a.ct/b.ct").fails(3, &["`a.ct/b.ct`"]);
    session.cotan("run no/a.ct").fails(3, &["`no/a.ct`: No such file"]);
    let session = Session::new();
    use std::os::unix::ffi::OsStrExt;
    let odd = std::ffi::OsStr::from_bytes(b"\xff.ct");
    fs::write(session.path(".").join(odd), "def main() = 7").unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_cotan"))
        .args(["run".as_ref(), odd])
        .current_dir(session.path("."))
        .output()
        .unwrap();
    assert_eq!((ran.status.code(), ran.stdout.as_slice()), (Some(0), &b"7\n"[..]));
}
