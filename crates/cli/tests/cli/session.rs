//! Running the command in a folder of its own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that goes away at the end of the test, and the command run in it.
pub struct Session {
    folder: PathBuf,
}

/// What the command did.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Session {
    pub fn new() -> Session {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("cotan-session-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Session { folder }
    }

    /// With a file.
    pub fn with(self, name: &str, text: impl AsRef<[u8]>) -> Session {
        fs::write(self.path(name), text).unwrap();
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names of the files that are there, sorted.
    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs `cotan` with arguments separated by spaces.
    pub fn cotan(&self, args: &str) -> Ran {
        self.cotan_with(&args.split_whitespace().collect::<Vec<_>>(), "", &[])
    }

    /// Runs `cotan` with arguments, standard input and environment.
    pub fn cotan_with(&self, args: &[&str], input: &str, env: &[(&str, &str)]) -> Ran {
        let mut child = Command::new(env!("CARGO_BIN_EXE_cotan"))
            .args(args)
            .envs(env.iter().copied())
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The command may end without reading its input.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Ran {
    /// Success with exactly this output, and nothing to complain about.
    #[track_caller]
    pub fn gives(&self, out: &str) {
        assert_eq!((self.code, self.out.as_str(), self.err.as_str()), (Some(0), out, ""));
    }

    /// Success; the output, which messages may accompany.
    #[track_caller]
    pub fn succeeds(self) -> Ran {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// Failure with this exit code, no results, and a message that says all of this.
    #[track_caller]
    pub fn fails(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert_eq!(self.out, "", "{self:#?}");
        for part in parts {
            assert!(self.err.contains(part), "no {part:?} in {}", self.err);
        }
    }
}

/// The folder of the examples.
pub fn examples() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"))
}
