//! Where the texts of files come from: the file system, or memory, so that tests and browsers need
//! no file system.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Where the texts of files come from.
pub trait Loader {
    /// The file that `path` means when it is written in the file `from` (`None`: by the user).
    /// Equal files must have equal names.
    fn resolve(&self, from: Option<&str>, path: &str) -> String;

    /// The text of a resolved file, or why there is none.
    fn read(&self, file: &str) -> Result<String, String>;
}

/// Files of the file system; paths are relative to the importing file.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileLoader;

impl Loader for FileLoader {
    fn resolve(&self, from: Option<&str>, path: &str) -> String {
        relative_to(from, path).to_string_lossy().into_owned()
    }

    fn read(&self, file: &str) -> Result<String, String> {
        std::fs::read_to_string(file).map_err(|error| error.to_string())
    }
}

/// Files in memory, by name.
#[derive(Clone, Debug, Default)]
pub struct MemoryLoader {
    files: BTreeMap<String, String>,
}

impl MemoryLoader {
    /// No files.
    pub fn new() -> MemoryLoader {
        MemoryLoader::default()
    }

    /// The same with one more file.
    pub fn with(mut self, name: impl Into<String>, text: impl Into<String>) -> MemoryLoader {
        self.files.insert(name.into(), text.into());
        self
    }
}

impl Loader for MemoryLoader {
    fn resolve(&self, from: Option<&str>, path: &str) -> String {
        relative_to(from, path).to_string_lossy().replace('\\', "/")
    }

    fn read(&self, file: &str) -> Result<String, String> {
        self.files.get(file).cloned().ok_or_else(|| "there is no such file".to_owned())
    }
}

/// `path` beside the file `from`, without `.` and `a/..`.
fn relative_to(from: Option<&str>, path: &str) -> PathBuf {
    let base = from.and_then(|from| Path::new(from).parent()).unwrap_or(Path::new(""));
    let mut clean = PathBuf::new();
    for component in base.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(clean.components().next_back(), Some(Component::Normal(_))) =>
            {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_importing_file_and_have_one_name() {
        let resolve = |from, path| MemoryLoader::new().resolve(from, path);
        assert_eq!(resolve(None, "main.ct"), "main.ct");
        assert_eq!(resolve(None, "./a/../main.ct"), "main.ct");
        assert_eq!(resolve(Some("a/b/main.ct"), "lib.ct"), "a/b/lib.ct");
        assert_eq!(resolve(Some("a/b/main.ct"), "../c/lib.ct"), "a/c/lib.ct");
        assert_eq!(resolve(Some("main.ct"), "../../lib.ct"), "../../lib.ct");
        assert_eq!(resolve(Some("a/main.ct"), "/lib/x.ct"), "/lib/x.ct");
    }

    #[test]
    fn files_are_read_from_the_file_system() {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/core.ct");
        let beside = FileLoader.resolve(Some(here), "./core.ct");
        assert_eq!(beside, here);
        assert!(FileLoader.read(&beside).is_ok_and(|text| text.contains("def")));
        assert!(FileLoader.read("/no/such/file.ct").is_err());
    }
}
