//! Where the texts of files come from: the file system, or memory, so that tests and browsers need
//! no file system.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// The most text that a program may have, together with what it imports.
pub const MAX_TEXT: u64 = 64 << 20;

/// Where the texts of files come from.
pub trait Loader {
    /// The file that `path` means when it is written in the file `from` (`None`: by the user).
    /// Equal files must have equal names.
    fn resolve(&self, from: Option<&str>, path: &str) -> String;

    /// The text of a resolved file, or why there is none.
    fn read(&self, file: &str) -> Result<String, String>;

    /// What to do about a file that cannot be read.
    fn hint(&self, _file: &str) -> &str {
        "the path is relative to the file with the import"
    }
}

/// Files of the file system; paths are relative to the importing file.
///
/// A program may come from someone else, and messages quote the lines they are about. So imports are
/// read only if they are regular `.ct` files in the folder of the program or below it, also after
/// links have been followed, or in a folder that was [allowed](FileLoader::allow).
#[derive(Clone, Debug)]
pub struct FileLoader {
    entry: PathBuf,
    /// Where imports may lie: absolute, without links.
    folders: Vec<PathBuf>,
    /// Where imports are looked for that are not beside the importing file.
    search: Vec<PathBuf>,
}

impl FileLoader {
    /// For the program in the file `entry`, which itself may be any regular file.
    pub fn new(entry: impl AsRef<Path>) -> FileLoader {
        let entry = relative_to(None, &entry.as_ref().to_string_lossy());
        let folder = match entry.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        // A folder that is not there has no files that could be read.
        let folders = folder.canonicalize().into_iter().collect();
        FileLoader { entry, folders, search: Vec::new() }
    }

    /// The same, with imports looked for in this folder, too, after those before it: a library of
    /// one's own. A path that begins with `.` means a file beside the importing one.
    pub fn include(mut self, folder: &Path) -> io::Result<FileLoader> {
        self = self.allow(folder)?;
        self.search.push(folder.to_owned());
        Ok(self)
    }

    /// The same, with imports from this folder and below.
    pub fn allow(mut self, folder: &Path) -> io::Result<FileLoader> {
        self.folders.push(folder.canonicalize()?);
        Ok(self)
    }

    /// Whether a file lies where imports may lie.
    pub fn allows(&self, file: &str) -> bool {
        let path = Path::new(file).canonicalize();
        path.is_ok_and(|path| self.folders.iter().any(|folder| path.starts_with(folder)))
    }

    /// The file to read for an import, if it may be read.
    fn imported(&self, file: &str) -> Result<PathBuf, String> {
        let path = Path::new(file).canonicalize().map_err(|error| error.to_string())?;
        if !self.allows(file) {
            return Err("it is outside the folder of the program".to_owned());
        }
        let is_program = |path: &Path| path.extension().is_some_and(|extension| extension == "ct");
        if !is_program(Path::new(file)) || !is_program(&path) {
            return Err("the names of programs end with `.ct`".to_owned());
        }
        Ok(path)
    }
}

impl Loader for FileLoader {
    fn resolve(&self, from: Option<&str>, path: &str) -> String {
        let beside = relative_to(from, path);
        let searched = from.is_some() && !path.starts_with('.') && !beside.exists();
        let found = self.search.iter().filter(|_| searched).map(|folder| folder.join(path));
        let file = found.into_iter().find(|file| file.is_file()).unwrap_or(beside);
        file.to_string_lossy().into_owned()
    }

    fn read(&self, file: &str) -> Result<String, String> {
        let path = match Path::new(file) == self.entry {
            true => self.entry.clone(),
            false => self.imported(file)?,
        };
        let text = cotan_array::open_file(&path).and_then(read_text);
        text.map_err(|error| error.to_string())
    }
}

/// Reads the text of a program, which has to be UTF-8 without NUL and within [`MAX_TEXT`].
pub fn read_text(input: impl Read) -> io::Result<String> {
    let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidData, message);
    let mut bytes = Vec::new();
    input.take(MAX_TEXT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_TEXT {
        return Err(invalid(format!("more than {} MiB of text", MAX_TEXT >> 20)));
    }
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(invalid(format!("not text: byte {at} is 0")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        invalid(format!("not text: byte {} is not UTF-8", error.utf8_error().valid_up_to()))
    })?;
    // Some editors begin files with a byte order mark.
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
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
        let loader = FileLoader::new(here);
        let beside = loader.resolve(Some(here), "./core.ct");
        assert_eq!(beside, here);
        assert!(loader.read(&beside).is_ok_and(|text| text.contains("def")));
        assert!(loader.read("/no/such/file.ct").is_err());
    }

    #[test]
    fn imports_stay_in_folders_that_are_allowed() {
        let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
        let inside = format!("{tests}/samples/core.ct");
        let outside = FileLoader::new(format!("{tests}/none/main.ct"));
        let refused = outside.read(&inside).unwrap_err();
        assert_eq!(refused, "it is outside the folder of the program");
        let allowed = outside.allow(Path::new(tests)).unwrap();
        assert!(allowed.read(&inside).is_ok());
        assert!(FileLoader::new(format!("{tests}/main.ct")).read(&inside).is_ok(), "below");
        // A name that only begins like the folder.
        let beside = FileLoader::new(format!("{tests}/sample/main.ct"));
        assert!(beside.read(&inside).is_err());
        let other = FileLoader::new(format!("{tests}/../x.ct"));
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert_eq!(other.read(manifest).unwrap_err(), "the names of programs end with `.ct`");
        assert!(FileLoader::new(manifest).read(manifest).is_ok(), "but the program itself may");
    }

    #[test]
    fn imports_are_looked_for_along_a_path() {
        let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
        let main = format!("{tests}/none/main.ct");
        let loader =
            FileLoader::new(&main).include(Path::new(&format!("{tests}/samples"))).unwrap();
        let found = loader.resolve(Some(&main), "core.ct");
        assert_eq!(found, format!("{tests}/samples/core.ct"));
        assert!(loader.read(&found).is_ok());
        // Beside the importing file, and nowhere else.
        assert_eq!(loader.resolve(Some(&main), "./core.ct"), format!("{tests}/none/core.ct"));
        assert_eq!(loader.resolve(Some(&main), "other.ct"), format!("{tests}/none/other.ct"));
        assert!(FileLoader::new(&main).include(Path::new("/no/such/folder")).is_err());
    }

    #[test]
    fn texts_are_utf_8_and_end() {
        assert_eq!(read_text(&b"def f() = 1"[..]).unwrap(), "def f() = 1");
        assert_eq!(read_text("\u{feff}def".as_bytes()).unwrap(), "def");
        let error = |bytes: &[u8]| read_text(bytes).unwrap_err().to_string();
        assert_eq!(error(b"a\xff"), "not text: byte 1 is not UTF-8");
        assert_eq!(error(b"ab\0"), "not text: byte 2 is 0");
        let endless = read_text(io::repeat(b' ')).unwrap_err().to_string();
        assert_eq!(endless, "more than 64 MiB of text");
    }
}
